// SPDX-License-Identifier: Apache-2.0
// A page's words and its picture, one after the other, with biases by how far apart two of them are in the text and on the page
// (LayoutLMv3: Huang et al. 2022, https://arxiv.org/abs/2204.08387). LayoutLMv2 has no class token before the picture, and makes
// it of a pyramid's cells (encoder_pyramid.c).
//
//   words (+ type) (+ position) + [x0 y0 x1 y1 height width] - norm -+
//   patches - [class, patches] + positions - norm -------------------+- norm -> layers
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/encoder.h"

// The patches that are the picture, and their class token.
static void resolve_patches(struct config *c, struct spec *s, struct encoder *e)
{
	e->picture = config_bool(c, "visual_embed", true);
	s->image_size = config_size(c, "input_size", 224);
	s->patch_size = config_size(c, "patch_size", 16);
	int64_t channels = config_size(c, "num_channels", 3);
	s->channels = e->picture ? channels : 0;
	if (!config_bool(c, "text_embed", true))
		config_fail(c, STATUS_UNSUPPORTED, "text_embed: false is not supported yet");
	if (!e->text_buckets && e->page_buckets)
		e->page_buckets = 0; // the class looks at it beside the other only
	if (s->patch_size < 1 || s->image_size < s->patch_size || s->image_size > 1 << 14 || channels < 1 ||
		(e->picture && s->image_size / s->patch_size > CONFIG_COUNT_MOST)) {
		config_fail(c, STATUS_BAD_INPUT, "pictures of %lld in patches of %lld", (long long)s->image_size,
			(long long)s->patch_size);
		return;
	}
	e->rows = e->cols = s->image_size / s->patch_size;
}

void encoder_resolve_page(struct config *c, struct spec *s, struct encoder *e, struct arena *a)
{
	e->side_width = config_size(c, "coordinate_size", 0);
	if (!e->side_width)
		return;
	e->size_width = config_size(c, "shape_size", -1);
	e->text_farthest = config_size(c, "max_rel_pos", 128);
	int64_t text_buckets = config_size(c, "rel_pos_bins", 32), page_buckets = config_size(c, "rel_2d_pos_bins", 64);
	e->text_buckets = config_bool(c, "has_relative_attention_bias", true) ? text_buckets : 0;
	e->page_buckets = config_bool(c, "has_spatial_attention_bias", true) ? page_buckets : 0;
	e->page_farthest = config_size(c, "max_rel_2d_pos", 256);
	if (config_knows(c, "image_feature_pool_shape")) {
		e->picture = true;
		encoder_resolve_pyramid(c, s, e, a);
	} else
		resolve_patches(c, s, e);
	if (4 * e->side_width + 2 * e->size_width != s->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "coordinate_size %lld and shape_size %lld do not make a width of %lld",
			(long long)e->side_width, (long long)e->size_width, (long long)s->hidden_size);
}

// A class token comes before the patches.
static int64_t special(const struct encoder *e)
{
	return e->pyramid ? 0 : 1;
}

int64_t encoder_page_tokens(const struct encoder *e)
{
	return e->rows * e->cols + special(e);
}

// Parts side by side; heights and widths are kept between 0 and 1023: [batch, seq, hidden]
graph_value encoder_page_places(struct build *b, graph_value boxes)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	graph_value side[4], part[6], zero = graph_i64(g, 0), most = graph_i64(g, 1023);
	for (int i = 0; i < 4; i++) {
		side[i] = op_squeeze(g, op_slice(g, boxes, 2, i, i + 1), 2);
		part[i] = embedding(b, i % 2 ? "embed.y" : "embed.x", side[i], e->boxes, e->side_width);
	}
	for (int i = 0; i < 2; i++) {
		graph_value size = i ? op_sub(g, side[2], side[0]) : op_sub(g, side[3], side[1]);
		size = op_max(g, op_min(g, size, most), zero);
		part[4 + i] = embedding(b, i ? "embed.width" : "embed.height", size, e->boxes, e->size_width);
	}
	return op_concat(g, 6, part, 2);
}

// [batch, 1 + patches, hidden]
graph_value encoder_page_picture(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, patch = s->patch_size, rows = s->image_size / patch;
	graph_value patches = tokens_of(b,
		conv(b, "embed.patch", pixels,
			(struct conv){ .out = h, .kernel = patch, .stride = patch, .pad = PAD_NONE, .bias = true }));
	graph_value class_token = each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels);
	graph_value x = op_concat(g, 2, (graph_value[]){ class_token, patches }, 1);
	x = op_add(g, x, WEIGHT(b, "embed.patch_position", "", 1, rows * rows + 1, h));
	return layer_norm_eps(b, "embed.picture_norm", x, 1e-6);
}

// STEM.weight [heads, buckets] of each bucket: [.., heads, query, key]
static graph_value bias_of(struct build *b, const char *stem, graph_value behind, int64_t buckets, int64_t farthest)
{
	struct graph *g = b->g;
	graph_value bucket = distance_buckets(b, behind, buckets, farthest, true);
	graph_value bias = op_gather(g, WEIGHT(b, stem, "weight", b->s->heads, buckets), bucket, 1);
	return value_rank(g, bias) == 4 ? op_transpose(g, bias, 4, (int[]){ 1, 0, 2, 3 }) : bias;
}

// x [batch, tokens] or [tokens] -> how far each key is behind each query
static graph_value behind(struct graph *g, graph_value x)
{
	int last = value_rank(g, x);
	return op_sub(g, op_unsqueeze(g, x, last), op_unsqueeze(g, x, last - 1));
}

// One side of each patch's box, left, upper, right or lower, a thousandth of the page a unit: i64 [1, patches]. The class token
// has the whole page.
graph_value encoder_page_side(struct build *b, int which)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	int64_t count = encoder_page_tokens(e), first = special(e);
	int64_t *at = GRAPH_TABLE(g, NULL, count, 1, int64_t);
	for (int64_t i = 0; at && i < count - first; i++)
		at[i + first] =
			which % 2 ? 1000 * (i / e->cols + which / 2) / e->rows : 1000 * (i % e->cols + which / 2) / e->cols;
	if (!at)
		return NO_VALUE;
	at[0] = !first ? at[0] : which < 2 ? 1 : 999;
	return op_unsqueeze(g, graph_i64s(g, (int)count, at), 0);
}

// With that of the patches after those of the words: i64 [batch, tokens]
static graph_value with_patches(struct build *b, graph_value side, int which)
{
	struct graph *g = b->g;
	graph_value batch = op_dim(g, side, 0), one = graph_i64s(g, 1, (int64_t[]){ 1 });
	graph_value picture = op_expand(g, encoder_page_side(b, which), op_concat(g, 2, (graph_value[]){ batch, one }, 0));
	return op_concat(g, 2, (graph_value[]){ side, picture }, 1);
}

// mask, with what is added to the scores for distances in the text and on the page
graph_value encoder_page_bias(struct build *b, graph_value ids, graph_value boxes, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	int64_t count = encoder_page_tokens(e);
	graph_value at = places_of(g, ids), sum = NO_VALUE;
	if (e->picture)
		at = op_concat(
			g, 2, (graph_value[]){ at, op_range(g, graph_i64(g, 0), graph_i64(g, count), graph_i64(g, 1)) }, 0);
	if (e->text_buckets)
		sum = bias_of(b, "attn.relative", behind(g, at), e->text_buckets, e->text_farthest);
	for (int i = 0; i < 2 && e->page_buckets; i++) { // the left side and the lower one
		graph_value side = op_squeeze(g, op_slice(g, boxes, 2, 3 * i, 3 * i + 1), 2);
		side = e->picture ? with_patches(b, side, 3 * i) : side;
		graph_value bias =
			bias_of(b, i ? "attn.relative_y" : "attn.relative_x", behind(g, side), e->page_buckets, e->page_farthest);
		sum = sum.id ? op_add(g, sum, bias) : bias;
	}
	if (sum.id && !e->pyramid)
		sum = op_scale(g, sum, (float)s->attention_scale);
	return sum.id ? op_add(g, sum, mask) : mask;
}
