// SPDX-License-Identifier: Apache-2.0
// EoMT: a vision transformer whose last layers have queries among the patches, which become masks with a class each (Kerssies et
// al. 2025, https://arxiv.org/abs/2503.19108).
//
//   pixels -> [class, registers, patches + positions] -> layers -> [queries, ..] -> last layers -> norm
//   query -> class; MLP(query) * patches, twice as large once or more -> mask
// VidEoMT (https://arxiv.org/abs/2602.17807): the same of a film; what a frame's queries became goes on to the next
// frame's: query + linear(query before).
//
// In a last layer whose share of training with masks, a number of the checkpoint, is above 0, a query looks only at patches where
// its mask so far is on. transformers takes shares between 0 and 1 for chances; here such a layer always does.
#include <float.h>
#include <math.h>

#include "arch/family/dinov3.h"
#include "arch/family/eomt.h"

struct eomt {
	struct dino dino;
	int64_t queries, last, scales; // last: so many of the layers have queries
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct eomt *o = ARENA_NEW(a, struct eomt);
	if (TRAITS_OF(s, eomt)->rotary)
		dino_resolve(c, s, a, &o->dino);
	else {
		resolve_transformer(c, s, true);
		resolve_image(c, s);
		o->dino.vit = (struct vit){ .classes = 1, .registers = config_size(c, "num_register_tokens", 0) };
		s->traits.qkv_bias = true;
	}
	if (TRAITS_OF(s, eomt)->films && !c->error.status) {
		int64_t first = s->layers - config_count(c, "num_blocks", 4); // counted from the end where it is negative
		first = first < 0 ? s->layers + first : first;
		o->last = s->layers - (first > 0 ? first : 0);
	}
	s->own = o;
	o->queries = config_size(c, "num_queries", 200);
	o->last = TRAITS_OF(s, eomt)->films ? o->last : config_count(c, "num_blocks", 4);
	o->scales = config_count(c, "num_upscale_blocks", 2);
	if (!c->error.status &&
		(o->last > s->layers || o->queries < 1 || s->image_size != s->image_width || s->patch_size != s->patch_width ||
			o->scales > 8))
		config_fail(c, STATUS_BAD_INPUT, "%lld of %lld layers with %lld queries, over pictures that should be square",
			(long long)o->last, (long long)s->layers, (long long)o->queries);
}

static const struct eomt *own(const struct build *b)
{
	return b->s->own;
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, p = s->patch_size, side = s->image_size / p, registers = vit_of(b)->registers, count = 0;
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p), tokens[3];
	graph_value x = op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), (int64_t[]){ p, p }, (int64_t[]){ 0, 0, 0, 0 },
		(int64_t[]){ 1, 1 }, 1);
	tokens[count++] = each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), pixels);
	if (registers)
		tokens[count++] = each_image(b, WEIGHT(b, "embed.registers", "", 1, registers, h), pixels);
	tokens[count++] = op_add(g, tokens_of(b, x), WEIGHT(b, "embed.position", "weight", side * side, h));
	return op_concat(g, (int)count, tokens, 1);
}

// Of normed states x [batch, queries + special + patches, hidden]: masks [batch, queries, height, width].
static graph_value masks(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct eomt *o = own(b);
	int64_t h = s->hidden_size, n = s->image_size / s->patch_size, layer = b->layer;
	graph_enter(g, "masks");
	graph_value q = op_slice(g, x, 1, 0, o->queries);
	q = activate(b, s->act, linear(b, "masks.1", q, h, h, true));
	q = activate(b, s->act, linear(b, "masks.2", q, h, h, true));
	q = linear(b, "masks.3", q, h, h, true);
	graph_value y = map_of_size(b, op_slice(g, x, 1, o->queries + vit_special(b), INT64_MAX), n, n);
	for (b->layer = 0; b->layer < o->scales && !graph_failed(g); b->layer++, n *= 2) {
		y = op_conv_transpose(g, y, WEIGHT(b, "scale", "weight", h, h, 2, 2), WEIGHT(b, "scale", "bias", h), 2,
			(int64_t[]){ 2, 2 }, (int64_t[]){ 0, 0, 0, 0 }, 1);
		y = conv(b, "scale.depth", activate(b, s->act, y), (struct conv){ .out = h, .kernel = 3, .group = h });
		y = map_norm(b, "scale.norm", y, 1e-6);
	}
	b->layer = layer;
	y = op_matmul(g, q, op_reshape(g, y, 3, (int64_t[]){ 0, h, n * n }));
	graph_leave(g);
	return op_reshape(g, y, 4, (int64_t[]){ 0, o->queries, n, n });
}

// What is added to the scores of the number-th of the last layers: [batch, 1, all, all]; before: of the one before it.
static graph_value looks(struct build *b, graph_value x, int64_t number, graph_value before)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct eomt *o = own(b);
	int64_t side = s->image_size / s->patch_size, all = o->queries + vit_special(b) + side * side;
	graph_value mask = masks(b, layer_norm(b, "norm", x, s->hidden_size));
	graph_value sizes = graph_i64s(g, 3, (int64_t[]){ o->queries, side, side });
	mask = op_resize(g, mask, op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), sizes }, 0), "linear");
	mask = op_reshape(g, mask, 4, (int64_t[]){ 0, 1, o->queries, side * side });
	float lowest = TRAITS_OF(s, eomt)->rotary ? -FLT_MAX : -1e9f;
	mask = op_where(g, op_greater(g, mask, graph_f32(g, 0)), graph_f32(g, 0), graph_f32(g, lowest));
	mask = op_pad(g, op_pad(g, mask, 3, all - side * side, 0), 2, 0, all - o->queries);
	graph_value share = op_slice(g, WEIGHT(b, "masks.share", "", o->last), 0, number, number + 1); // [1]
	return op_where(g, op_greater(g, share, graph_f32(g, 0)), mask, before.id ? before : graph_f32(g, 0));
}

static void give(struct build *b, graph_value x)
{
	const struct eomt *o = own(b);
	int64_t h = b->s->hidden_size;
	graph_output(b->g, "masks_queries_logits", masks(b, x));
	graph_output(b->g, "class_queries_logits",
		linear(b, "head.classes", op_slice(b->g, x, 1, 0, o->queries), h, b->s->labels + 1, true));
	graph_output(b->g, "last_hidden_state", x);
}

static graph_value layers(struct build *b, graph_value x, int64_t first, int64_t last)
{
	for (b->layer = first; b->layer < last && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, VIT_LAYER_SCALE);
		graph_leave(b->g);
	}
	return x;
}

// pixels [batch, frames, channels, size, size]; what comes out has the frames' batches one after another.
static void build_films(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct eomt *o = own(b);
	int64_t h = s->hidden_size, size = s->image_size, first = s->layers_in_config - o->last;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "frames"), s->channels, size, size };
	int64_t tokens = (size / s->patch_size) * (size / s->patch_size) + vit_special(b), each[] = { tokens, h };
	graph_value pixels = graph_input(g, "pixel_values_videos", DTYPE_F32, 5, shape);
	graph_value x = embed(b, op_reshape(g, pixels, 4, (int64_t[]){ -1, s->channels, size, size }));
	x = layers(b, x, 0, first);
	graph_value sizes[] = { op_dim(g, pixels, 0), op_dim(g, pixels, 1), graph_i64s(g, 2, each) };
	x = op_reshape_to(g, x, op_concat(g, 3, sizes, 0)); // [batch, frames, tokens, hidden]
	graph_value queries = op_unsqueeze(g, WEIGHT(b, "queries", "weight", o->queries, h), 0);
	struct scan frames = {
		.state_count = 1, .first = { each_image(b, queries, pixels) }, .over_count = 1, .over = { x }, .axis = 1
	};
	op_scan_begin(g, &frames);
	graph_value y = op_concat(g, 2, (graph_value[]){ frames.state[0], frames.item[0] }, 1);
	y = layers(b, y, first, s->layers_in_config);
	graph_value next = linear(b, "queries.next", op_slice(g, y, 1, 0, o->queries), h, h, true);
	next = op_add(g, next, op_unsqueeze(g, WEIGHT(b, "queries", "weight", o->queries, h), 0));
	y = layer_norm(b, "norm", y, h);
	op_scan_end(g, &frames, &next, 1, &y);
	y = op_transpose(g, frames.all[0], 4, (int[]){ 1, 0, 2, 3 });
	give(b, op_reshape(g, y, 3, (int64_t[]){ -1, o->queries + tokens, h }));
}

static void build(struct build *b)
{
	if (TRAITS_OF(b->s, eomt)->films) {
		build_films(b);
		return;
	}
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct eomt *o = own(b);
	bool rotary = TRAITS_OF(s, eomt)->rotary;
	int64_t h = s->hidden_size, first = s->layers_in_config - o->last;
	graph_value pixels = pixel_input(b, s->channels, s->image_size, s->image_width), map = NO_VALUE;
	graph_value x = rotary ? dino_embed(b, pixels, &map) : embed(b, pixels), cos = NO_VALUE, sin = NO_VALUE, bias = NO_VALUE;
	if (rotary)
		dino_tables(b, map, 0, &cos, &sin);
	for (b->layer = 0; b->layer < s->layers_in_config && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		if (b->layer == first) {
			graph_value queries = op_unsqueeze(g, WEIGHT(b, "queries", "weight", o->queries, h), 0);
			x = op_concat(g, 2, (graph_value[]){ each_image(b, queries, pixels), x }, 1);
			if (rotary)
				dino_tables(b, map, o->queries, &cos, &sin);
		}
		if (b->layer >= first)
			bias = looks(b, x, b->layer - first, bias);
		x = rotary ? dino_layer(b, x, bias, cos, sin) : vit_layer(b, x, bias, VIT_LAYER_SCALE);
		graph_leave(g);
	}
	give(b, layer_norm(b, "norm", x, h));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	if (TRAITS_OF(s, eomt)->films)
		input_hint(out, "frames", 2);
}

static const struct family_head heads[] = { { &head_segmentation }, { 0 } };

const struct family eomt = {
	.name = "eomt",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(eomt, EOMT_TRAITS),
};
