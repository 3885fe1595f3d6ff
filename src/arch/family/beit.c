// SPDX-License-Identifier: Apache-2.0
// BEiT: a vision transformer whose scores have a learned bias by the distance of two patches (Bao et al. 2021,
// https://arxiv.org/abs/2106.08254; data2vec: Baevski et al. 2022, https://arxiv.org/abs/2202.03555).
//
//   pixels -> [class, patches] (+ positions) -> layers -> norm of the patches' mean, or norm and class token -> head
#include "arch/block/uper.h"
#include "arch/block/vit.h"

enum { READS_STATES = 1, FPN_MAPS = 4 }; // a head's flag; its maps

// spec.own of the family.
struct beit {
	bool absolute, relative, shared, mean, scaled;
	bool map_outputs; // of a backbone
	struct uper uper; // of the head for segments
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct beit *t = ARENA_NEW(a, struct beit);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = true;
	*t = (struct beit){ config_bool(c, "use_absolute_position_embeddings", false),
		config_bool(c, "use_relative_position_bias", false), config_bool(c, "use_shared_relative_position_bias", false),
		config_bool(c, "use_mean_pooling", true), config_real(c, "layer_scale_init_value", 0.1) > 0 };
	s->own = t;
	if (!s->head || !(s->head->gives_states || head_how(s) & READS_STATES))
		return;
	static const char *const norm[] = { "*layernorm.weight", "*layernorm.bias", NULL };
	s->unused = norm;
	resolve_outputs(c, s, a, s->layers);
	t->map_outputs = config_bool(c, "reshape_hidden_states", true);
	if (s->head->gives_states && config_bool(c, "add_fpn", false))
		config_fail(c, STATUS_UNSUPPORTED, "add_fpn: true is not supported yet");
	if (!(head_how(s) & READS_STATES))
		return;
	resolve_uper(c, a, &t->uper, s->hidden_size);
	if (!c->error.status && (s->out_count != FPN_MAPS || s->out_indices[0] < 1))
		config_fail(c, STATUS_BAD_INPUT, "out_indices should name four layers, from 1");
}

// Which row of the table belongs to a pair of places: by the patches' distance, row after row; the last three are for the class
// token looking at patches, patches looking at it, and it looking at itself.
static graph_value pair_rows(struct build *b, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols + 1, all = (2 * rows - 1) * (2 * cols - 1) + 3;
	int64_t *at = GRAPH_TABLE(b->g, NULL, n, n, int64_t);
	for (int64_t q = 0; at && q < n; q++)
		for (int64_t k = 0; k < n; k++) {
			int64_t down = (q - 1) / cols - (k - 1) / cols + rows - 1,
				right = (q - 1) % cols - (k - 1) % cols + cols - 1;
			at[q * n + k] = !q && !k ? all - 1 : !k ? all - 2 : !q ? all - 3 : down * (2 * cols - 1) + right;
		}
	return graph_constant(b->g, DTYPE_I64, 2, (int64_t[]){ n, n }, at);
}

// [1, heads, tokens, tokens]. The original takes the table's rows for its columns before it resizes it: without effect where an
// image is square.
static graph_value relative(struct build *b, const char *stem, graph_value pairs, int64_t rows, int64_t cols)
{
	struct graph *g = b->g;
	int64_t high = 2 * rows - 1, wide = 2 * cols - 1, heads = b->s->heads;
	graph_value table = WEIGHT(b, stem, "", high * wide + 3, heads);
	if (high != wide) {
		graph_value grid = op_transpose(g,
			op_reshape(g, op_slice(g, table, 0, 0, high * wide), 4, (int64_t[]){ 1, wide, high, heads }), 4,
			(int[]){ 0, 3, 1, 2 });
		grid = op_resize(g, grid, graph_i64s(g, 4, (int64_t[]){ 1, heads, high, wide }), "linear");
		grid = op_reshape(g, op_transpose(g, grid, 4, (int[]){ 0, 2, 3, 1 }), 2, (int64_t[]){ high * wide, heads });
		table = op_concat(g, 2, (graph_value[]){ grid, op_slice(g, table, 0, high * wide, INT64_MAX) }, 0);
	}
	return op_unsqueeze(g, op_transpose(g, op_gather(g, table, pairs, 0), 3, (int[]){ 2, 0, 1 }), 0);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct beit *t = s->own;
	int64_t h = s->hidden_size, rows = s->image_size / s->patch_size, cols = s->image_width / s->patch_width;
	graph_enter(g, "embed");
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width);
	const int64_t stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_value patches = tokens_of(b, op_conv(g, io->pixels, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1));
	graph_value x =
		op_concat(g, 2, (graph_value[]){ each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), io->pixels), patches }, 1);
	if (t->absolute)
		x = op_add(g, x, WEIGHT(b, "embed.position", "", 1, 1 + rows * cols, h));
	graph_leave(g);
	graph_value pairs = t->relative || t->shared ? pair_rows(b, rows, cols) : NO_VALUE;
	graph_value shared = t->shared ? relative(b, "relative", pairs, rows, cols) : NO_VALUE;
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value bias = t->relative ? relative(b, "layers.relative", pairs, rows, cols) : shared;
		if (t->relative && t->shared)
			bias = op_add(g, bias, shared);
		x = vit_layer(b, x, bias, VIT_NO_KEY_BIAS | (t->scaled ? VIT_LAYER_SCALE : 0));
		graph_leave(g);
		states_add(io, x);
	}
	if (s->head && (s->head->gives_states || head_how(s) & READS_STATES)) {
		io->last = x;
		return;
	}
	io->last = t->mean ? x : layer_norm(b, "norm", x, h);
	if (!t->mean)
		io->pooled = first_token(b, io->last);
	else if (weight_exists(b, "pooler.norm", "weight"))
		io->pooled = layer_norm(b, "pooler.norm", op_reduce_mean(g, op_slice(g, x, 1, 1, INT64_MAX), 1, false), h);
}

static graph_value feature(struct build *b, const struct body *io, int64_t index)
{
	const struct spec *s = b->s;
	graph_value x = io->states[index];
	return ((const struct beit *)s->own)->map_outputs
		? map_of_size(
			  b, op_slice(b->g, x, 1, 1, INT64_MAX), s->image_size / s->patch_size, s->image_width / s->patch_width)
		: x;
}

static graph_value twice(struct build *b, const char *stem, graph_value x)
{
	int64_t h = b->s->hidden_size;
	graph_value w = WEIGHT(b, stem, "weight", h, h, 2, 2);
	return op_conv_transpose(b->g, x, w, WEIGHT(b, stem, "bias", h), 2, (int64_t[]){ 2, 2 }, (int64_t[]){ 0, 0, 0, 0 }, 1);
}

// Four states, as maps of 4, 2, 1 and half times the grid of patches. Each is what the layer of that number begins with.
static void build_segments(struct build *b, const struct body *io)
{
	const struct beit *t = b->s->own;
	graph_value maps[FPN_MAPS];
	for (int i = 0; i < FPN_MAPS; i++)
		maps[i] = map_of_size(b, op_slice(b->g, io->states[b->s->out_indices[i] - 1], 1, 1, INT64_MAX),
			b->s->image_size / b->s->patch_size, b->s->image_width / b->s->patch_width);
	maps[0] = twice(b, "fpn.1", maps[0]);
	maps[0] = twice(b, "fpn.1.second", op_gelu(b->g, batch_norm(b, "fpn.1.norm", maps[0], 1e-5)));
	maps[1] = twice(b, "fpn.2", maps[1]);
	const int64_t two[] = { 2, 2 }, none[4] = { 0 };
	maps[3] = op_max_pool(b->g, maps[3], 2, two, two, none, false);
	graph_output(b->g, "logits", uper_classes(b, &t->uper, maps, FPN_MAPS)); // [batch, labels, 4*rows, 4*cols]
}

static void build(struct build *b)
{
	const struct spec *s = b->s;
	struct body io = { .pixels = pixel_input(b, s->channels, s->image_size, s->image_width) };
	if (value_dim(b->g, io.pixels, 2) != s->image_size || value_dim(b->g, io.pixels, 3) != s->image_width) {
		graph_fail(b->g, STATUS_UNSUPPORTED, "%s: images other than %lld by %lld are not supported yet", b->c->path,
			(long long)s->image_size, (long long)s->image_width);
		return;
	}
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_image, head_classify_pooled },
	{ &head_backbone, map_features },
	{ &head_segments, build_segments, READS_STATES },
	{ 0 },
};

const struct family beit = {
	.name = "beit",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.feature = feature,
	.heads = heads,
};
