// SPDX-License-Identifier: Apache-2.0
// UDOP (Tang et al. 2022, https://arxiv.org/abs/2212.02623): T5 that reads a page. The patch that a word lies on is added to the
// word; those that no word lies on follow the words, in their order, and what is left of their places is padding.
//
//   word + patch below it -----------+- + [x0 y0 x1 y1] -> layers, with biases by distance in the text, between columns and rows
//   patches that no word lies on ----+
#include "arch/block/image.h"
#include "arch/family/t5.h"

static void resolve_bias(struct config *c, const json_t *row, struct t5_bias *bias)
{
	static const char *const kinds[] = { "1d", "horizontal", "vertical" };
	static const char *const inert[] = { "type", "augmentation", "level", "num_heads", "expand", NULL };
	const char *kind = json_string_value(json_object_get(row, "type")), *key;
	json_t *value, *copy = json_deep_copy(row);
	int by = 0;
	while (by < 3 && !text_is(kind, kinds[by]))
		by++;
	*bias = (struct t5_bias){ .buckets = 32, .farthest = by ? 100 : 128, .scale = 100 };
	if (by == 3)
		config_fail(c, STATUS_BAD_INPUT, "relative_bias_args: the type %s is not known", kind ? kind : "(none)");
	bias->by = by == 1 ? BY_COLUMN : by == 2 ? BY_ROW : BY_PLACE;
	json_object_foreach(copy, key, value)
	{
		bool fits = (text_is(key, "bidirectional") && json_is_true(value)) ||
			(text_is(key, "prefix_bucket") && json_is_false(value));
		for (size_t i = 0; inert[i]; i++)
			fits |= text_is(key, inert[i]);
		if (text_is(key, "relative_attention_num_buckets") && json_is_integer(value))
			bias->buckets = json_integer_value(value), fits = true;
		if (text_is(key, "max_distance") && json_is_integer(value))
			bias->farthest = json_integer_value(value), fits = true;
		if (text_is(key, "scaling_factor") && json_is_number(value))
			bias->scale = json_number_value(value), fits = by || bias->scale == 1;
		if (!fits)
			config_fail(c, STATUS_UNSUPPORTED, "relative_bias_args: this %s is not supported yet", key);
	}
	json_decref(copy);
	if (bias->buckets < 4 || bias->buckets > 1 << 16 || bias->farthest < 1 || bias->farthest > 1 << 20 || bias->scale <= 0)
		config_fail(c, STATUS_BAD_INPUT, "relative_bias_args: %lld buckets up to %lld", (long long)bias->buckets,
			(long long)bias->farthest);
}

// buckets: rows of the first layer's own table, which is that of the first bias.
const struct t5_page *t5_resolve_page(struct config *c, struct spec *s, struct arena *a, int64_t buckets)
{
	if (!config_knows(c, "max_2d_position_embeddings"))
		return NULL;
	struct t5_page *p = ARENA_NEW(a, struct t5_page);
	const json_t *list = config_get(c, "relative_bias_args");
	p->boxes = config_size(c, "max_2d_position_embeddings", 1024);
	s->image_size = config_size(c, "image_size", 224);
	s->patch_size = config_size(c, "patch_size", 16);
	s->channels = config_size(c, "num_channels", 3);
	if (json_is_array(list) && json_array_size(list) <= 3)
		for (size_t i = 0; i < json_array_size(list); i++)
			resolve_bias(c, json_array_get(list, i), &p->bias[p->bias_count++]);
	else {
		static const int by[] = { BY_PLACE, BY_COLUMN, BY_ROW };
		for (p->bias_count = 0; p->bias_count < 3; p->bias_count++)
			p->bias[p->bias_count] = (struct t5_bias){ by[p->bias_count], 32, p->bias_count ? 100 : 128, 100 };
	}
	if (list && (!json_is_array(list) || json_array_size(list) > 3))
		config_fail(c, STATUS_UNSUPPORTED, "relative_bias_args: more than three are not supported yet");
	if (p->bias_count && p->bias[0].buckets != buckets)
		config_fail(c, STATUS_UNSUPPORTED, "relative_attention_num_buckets %lld, where relative_bias_args have %lld",
			(long long)buckets, (long long)p->bias[0].buckets);
	bool fits = s->patch_size > 0 && s->channels > 0 && s->image_size >= s->patch_size && s->image_size <= 1 << 14;
	p->side = fits ? s->image_size / s->patch_size : 1;
	if (!fits || p->side > CONFIG_COUNT_MOST || s->image_size % s->patch_size || p->boxes < 2)
		config_fail(c, STATUS_BAD_INPUT, "image_size %lld in patches of %lld, max_2d_position_embeddings %lld",
			(long long)s->image_size, (long long)s->patch_size, (long long)p->boxes);
	return p;
}

static graph_value side_of(struct graph *g, graph_value boxes, int which)
{
	return op_squeeze(g, op_slice(g, boxes, 2, which, which + 1), 2);
}

// Along an axis, the patch that the middle of each box lies on: f32 [batch, seq]
static graph_value patch_below(struct build *b, const struct t5_page *p, graph_value boxes, int which)
{
	struct graph *g = b->g;
	graph_value sum = op_add(g, side_of(g, boxes, which), side_of(g, boxes, which + 2));
	graph_value at = op_floor(g, op_scale(g, op_scale(g, sum, 0.5f), (float)p->side));
	return op_min(g, op_max(g, at, graph_f32(g, 0)), graph_f32(g, (float)(p->side - 1)));
}

// The patches' own boxes: f32 [patches, 4]
static graph_value patch_boxes(struct build *b, const struct t5_page *p)
{
	struct graph *g = b->g;
	int64_t n = p->side * p->side, dim[] = { n, 4 };
	float *box = GRAPH_TABLE(g, NULL, n, 4, float);
	for (int64_t i = 0; box && i < n; i++)
		for (int k = 0; k < 4; k++)
			box[4 * i + k] = (float)((k % 2 ? i / p->side : i % p->side) + k / 2) / (float)p->side;
	return box ? graph_constant(g, DTYPE_F32, 2, dim, box) : NO_VALUE;
}

void t5_page_inputs(struct build *b, struct body *io, const struct t5_page *p, struct t5_seen *seen)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), 4 }, n = p->side * p->side;
	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	graph_value mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape),
		    boxes = graph_input(g, "bbox", DTYPE_F32, 3, shape), one = graph_f32(g, 1);
	seen->pixels = pixel_input(b, s->channels, s->image_size, s->image_size);
	graph_value on =
		op_add(g, patch_below(b, p, boxes, 0), op_scale(g, patch_below(b, p, boxes, 1), (float)p->side)); // [batch, seq]
	graph_value every = op_cast(g, op_range(g, graph_i64(g, 0), graph_i64(g, n), graph_i64(g, 1)), DTYPE_F32);
	graph_value meets = op_cast(g, op_equal(g, op_unsqueeze(g, on, 2), every), DTYPE_F32); // [batch, seq, patches]
	graph_value below = op_reduce_max(g, meets, 1, false);                                 // [batch, patches]
	op_topk_indices(g, op_add(g, op_scale(g, below, (float)n), every), n, 1, true, &seen->order);
	graph_value left = op_sub(g, graph_f32(g, (float)n), op_reduce_sum(g, below, 1, true)); // [batch, 1]
	graph_value is = op_less(g, every, left);                                               // [batch, patches]
	graph_value there = op_gather(g, patch_boxes(b, p), seen->order, 0);
	there = op_where(g, op_unsqueeze(g, is, 2), there, graph_f32(g, 0));
	seen->on = op_cast(g, on, DTYPE_I64);
	seen->nowhere = op_or(g, op_equal(g, op_reduce_max(g, op_abs(g, boxes), 2, false), graph_f32(g, 0)),
		op_equal(g, op_reduce_min(g, boxes, 2, false), one));
	seen->boxes = op_concat(g, 2, (graph_value[]){ boxes, there }, 1);
	io->mask = op_concat(g, 2, (graph_value[]){ mask, op_cast(g, is, DTYPE_I64) }, 1);
}

// floor(x * n) for x within 0 to 1 as if the product were exact: its upper 12 bits and the rest are multiplied by themselves.
static graph_value exact_floor(struct graph *g, graph_value x, int64_t n)
{
	graph_value upper = op_scale(g, op_floor(g, op_scale(g, x, 4096)), 1.0f / 4096), lower = op_sub(g, x, upper);
	graph_value product = op_scale(g, upper, (float)n), whole = op_floor(g, product);
	graph_value missing = op_sub(g, graph_f32(g, 1), op_sub(g, product, whole));
	graph_value carry = op_cast(g, op_less_or_equal(g, missing, op_scale(g, lower, (float)n)), DTYPE_F32);
	return op_add(g, whole, carry);
}

graph_value t5_page_embed(struct build *b, const struct t5_page *p, const struct t5_seen *seen, graph_value words)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	if (weights_differ(b, "embed.patch", "embed.copy", "weight") || weights_differ(b, "embed.patch", "embed.copy", "bias"))
		graph_fail(g, STATUS_UNSUPPORTED,
			"patch_embed.proj and encoder.embed_patches.proj have other numbers, and the class reads both");
	graph_value zero = graph_f32(g, 0),
		    patch = tokens_of(b,
			    conv(b, "embed.patch", seen->pixels,
				    (struct conv){ .out = s->hidden_size,
					    .kernel = s->patch_size,
					    .stride = s->patch_size,
					    .pad = PAD_NONE,
					    .bias = true }));
	graph_value below = op_gather_nd(g, patch, op_unsqueeze(g, seen->on, 2), 1); // [batch, seq, hidden]
	words = op_add(g, words, op_where(g, op_unsqueeze(g, seen->nowhere, 2), zero, below));
	patch = op_gather_nd(g, patch, op_unsqueeze(g, seen->order, 2), 1);
	graph_value begin = op_dim(g, words, 1), is = op_slice_to(g, seen->boxes, 1, begin, op_dim(g, seen->boxes, 1));
	is = op_greater(g, op_reduce_max(g, is, 2, true), zero); // a patch has a lower side, padding has not
	patch = op_where(g, is, patch, zero);
	graph_value x = op_concat(g, 2, (graph_value[]){ words, patch }, 1), sum = NO_VALUE;
	graph_value kept = op_min(g, op_max(g, seen->boxes, zero), graph_f32(g, 1));
	for (int i = 0; i < 4; i++) {
		graph_value at = op_cast(g, exact_floor(g, side_of(g, kept, i), p->boxes - 1), DTYPE_I64);
		graph_value y = embedding(b, i % 2 ? "embed.y" : "embed.x", at, p->boxes, s->hidden_size);
		sum = i ? op_add(g, sum, y) : y;
	}
	return op_add(g, x, sum);
}

// a + b, and what its rounding left out (Knuth, The Art of Computer Programming, volume 2, 4.2.2)
static graph_value two_sum(struct graph *g, graph_value a, graph_value b, graph_value *rest)
{
	graph_value sum = op_add(g, a, b), of_b = op_sub(g, sum, a), of_a = op_sub(g, sum, of_b);
	*rest = op_add(g, op_sub(g, a, of_a), op_sub(g, b, of_b));
	return sum;
}

// How far the middle of each box is behind that of each other, in steps of 1 / scale, towards zero: i64 [batch, query, key]. The
// class computes middles and differences in 64 bits, and many lie on the edge of a step.
static graph_value boxes_behind(struct build *b, graph_value boxes, int which, double scale)
{
	struct graph *g = b->g;
	graph_value side[2], rest[4], part[2];
	for (int i = 0; i < 2; i++) {
		side[i] = side_of(g, boxes, which + 2 * i);
		part[i] = two_sum(g, op_unsqueeze(g, side[i], 2), op_neg(g, op_unsqueeze(g, side[i], 1)), &rest[i]);
	}
	graph_value sum = two_sum(g, part[0], part[1], &rest[2]);
	sum = op_add(g, sum, op_add(g, rest[2], op_add(g, rest[0], rest[1])));
	return op_cast(g, op_scale(g, op_scale(g, sum, 0.5f), (float)scale), DTYPE_I64);
}

graph_value t5_page_bias(struct build *b, const struct t5_page *p, graph_value boxes)
{
	struct graph *g = b->g;
	graph_value sum = NO_VALUE;
	int64_t layer = b->layer;
	graph_enter(g, "relative");
	for (int64_t i = 0; i < p->bias_count; i++) {
		const struct t5_bias *bias = &p->bias[i];
		graph_value behind, at = places_of(g, boxes); // [tokens]
		if (bias->by == BY_PLACE)
			behind = op_unsqueeze(g, op_sub(g, op_unsqueeze(g, at, 1), op_unsqueeze(g, at, 0)), 0);
		else
			behind = boxes_behind(b, boxes, bias->by == BY_ROW, bias->scale);
		graph_value bucket = distance_buckets(b, behind, bias->buckets, bias->farthest, true);
		b->layer = i;
		bool tied = !i && (b->plan || !weight_exists(b, "page.relative", "weight"));
		graph_value table =
			WEIGHT(b, tied ? "layers.attn.relative" : "page.relative", "weight", bias->buckets, b->s->heads);
		graph_value y = op_transpose(g, op_gather(g, table, bucket, 0), 4, (int[]){ 0, 3, 1, 2 });
		sum = sum.id ? op_add(g, sum, y) : y;
	}
	b->layer = layer;
	graph_leave(g);
	return sum;
}
