// SPDX-License-Identifier: Apache-2.0
// Hiera (Ryali et al. 2023, https://arxiv.org/abs/2306.00989): stages of plain attention, the first ones within mask units of the
// grid, each stage beginning with queries that are the maxima of neighbours. Tokens are unrolled: those that a query takes the
// maximum of stand one stride apart, [maxima of the first stage, of the second, .., what is left of the grid], so that a maximum
// and a mask unit are both a cut of the sequence.
//
//   pixels -> patches + positions - unrolled -> stages -> mean over tokens - norm -> classes
//   layer:  x -+- norm - attention (of maxima) -------------------+(+)-+- norm - up - act - down -(+)-
//              +--(or, where it widens: norm - linear - maxima)---+   +--------------------------+
//   as a backbone: the states of the stages put back on their grids, each with a norm of its own
#include "arch/block/image.h"

#include <math.h>

struct hiera {
	int64_t stages, pooled_stages;
	const int64_t *depths, *heads, *widths; // [stages]
	const bool *masked;                     // [stages]: does attention stay within mask units
	int64_t kernel[2], step[2], pad[2], query[2], unit[2];
	int64_t rows, cols; // of patches
	double ratio;
};

static int64_t maxima_of(const struct hiera *o)
{
	return o->query[0] * o->query[1];
}

static const bool *flags(struct config *c, struct arena *a, const char *key, int64_t count)
{
	const json_t *list = config_get(c, key);
	bool *out = ARENA_ARRAY(a, (size_t)count + 1, bool);
	if (!c->error.status && (int64_t)json_array_size(list) < count)
		config_fail(c, STATUS_BAD_INPUT, "%s should have a value for each of %lld stages", key, (long long)count);
	for (int64_t i = 0; i < count; i++)
		out[i] = json_is_true(json_array_get(list, (size_t)i));
	return out;
}

static void resolve_widths(struct config *c, struct hiera *o, struct arena *a)
{
	int64_t first = config_size(c, "embed_dim", 96), *widths = ARENA_ARRAY(a, (size_t)o->stages + 1, int64_t);
	double factor = config_real(c, "embed_dim_multiplier", 2);
	for (int64_t i = 0; i < o->stages && !c->error.status; i++) {
		double w = (double)first * pow(factor, (double)i);
		widths[i] = w >= 1 && w <= 1 << 20 ? (int64_t)w : 0;
		if (widths[i] < 1 || widths[i] % o->heads[i])
			config_fail(c, STATUS_BAD_INPUT, "embed_dim %lld and embed_dim_multiplier %g do not go with num_heads",
				(long long)first, factor);
	}
	o->widths = widths;
}

// Tokens are cut by query strides before each stage but the first, whether its queries are maxima or not.
static void check_grid(struct config *c, const struct spec *s, const struct hiera *o)
{
	int64_t cut[2] = { 1, 1 };
	for (int64_t i = 1; i < o->stages; i++)
		for (int k = 0; k < 2; k++)
			cut[k] = cut[k] <= 1 << 14 ? cut[k] * o->query[k] : cut[k];
	bool bad = o->rows != s->image_size / o->step[0] || o->cols != s->image_width / o->step[1] || o->rows % cut[0] ||
		o->cols % cut[1] || o->unit[0] % cut[0];
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"image_size %lld by %lld, patch_stride, query_stride and masked_unit_size do not go together",
			(long long)s->image_size, (long long)s->image_width);
	else if (o->pooled_stages >= o->stages)
		config_fail(c, STATUS_BAD_INPUT, "num_query_pool %lld should be less than the number of stages",
			(long long)o->pooled_stages);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct hiera *o = ARENA_NEW(a, struct hiera);
	int64_t size[2];
	s->own = o;
	const int64_t *depths = config_sizes(c, "depths", a, 0, &o->stages);
	if (!c->error.status && (!depths || o->stages < 1 || o->stages > 16))
		config_fail(c, STATUS_BAD_INPUT, "depths should be a list of at most 16 numbers");
	if (c->error.status)
		return;
	o->depths = resolve_stages(c, "depths", a, o->stages, 1);
	o->heads = resolve_stages(c, "num_heads", a, o->stages, 1);
	o->masked = flags(c, a, "masked_unit_attention", o->stages);
	resolve_pair(c, a, "image_size", 224, 1, size);
	resolve_pair(c, a, "patch_size", 7, 1, o->kernel);
	resolve_pair(c, a, "patch_stride", 4, 1, o->step);
	resolve_pair(c, a, "patch_padding", 3, 0, o->pad);
	resolve_pair(c, a, "query_stride", 2, 1, o->query);
	resolve_pair(c, a, "masked_unit_size", 8, 1, o->unit);
	o->pooled_stages = config_size(c, "num_query_pool", 3);
	o->ratio = config_real(c, "mlp_ratio", 4);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-6);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	s->channels = config_size(c, "num_channels", 3);
	resolve_outputs(c, s, a, o->stages);
	if (c->error.status)
		return;
	resolve_widths(c, o, a);
	s->image_size = size[0], s->image_width = size[1];
	s->hidden_size = o->widths[o->stages - 1];
	o->rows = (size[0] + 2 * o->pad[0] - o->kernel[0]) / o->step[0] + 1;
	o->cols = (size[1] + 2 * o->pad[1] - o->kernel[1]) / o->step[1] + 1;
	if (!c->error.status && (o->rows < 1 || o->cols < 1 || !(o->ratio > 0 && o->ratio < 1024)))
		config_fail(c, STATUS_BAD_INPUT, "%lld by %lld patches, or mlp_ratio %g", (long long)o->rows, (long long)o->cols,
			o->ratio);
	if (!c->error.status)
		check_grid(c, s, o);
}

// Neighbours that a query takes the maximum of become the sequence's first part, once for each stage after the first.
static graph_value unrolled(struct build *b, graph_value tokens)
{
	struct graph *g = b->g;
	const struct hiera *o = b->s->own;
	int64_t rows = o->rows, cols = o->cols, width = o->widths[0];
	graph_value x = op_reshape(g, tokens, 4, (int64_t[]){ -1, rows, cols, width });
	for (int64_t i = 1; i < o->stages; i++) {
		rows /= o->query[0], cols /= o->query[1];
		x = op_reshape(g, x, 6, (int64_t[]){ -1, rows, o->query[0], cols, o->query[1], width });
		x = op_transpose(g, x, 6, (int[]){ 0, 2, 4, 1, 3, 5 });
		x = op_reshape(g, x, 4, (int64_t[]){ -1, rows, cols, width });
	}
	x = op_reshape(g, x, 3, (int64_t[]){ -1, o->rows * o->cols, width });
	graph_assume(g, x, 0, value_dim(g, tokens, 0));
	return x;
}

// The way back after `taken` maxima: [batch, width, rows, cols]
static graph_value rolled(struct build *b, graph_value x, int64_t taken)
{
	struct graph *g = b->g;
	const struct hiera *o = b->s->own;
	int64_t rows = o->rows, cols = o->cols, width = value_dim(g, x, 2), batch = value_dim(g, x, 0);
	for (int64_t i = 1; i < o->stages; i++)
		rows /= o->query[0], cols /= o->query[1];
	x = op_reshape(g, x, 4, (int64_t[]){ -1, rows, cols, width });
	for (int64_t i = taken + 1; i < o->stages; i++) {
		x = op_reshape(g, x, 6, (int64_t[]){ -1, o->query[0], o->query[1], rows, cols, width });
		x = op_transpose(g, x, 6, (int[]){ 0, 3, 1, 4, 2, 5 });
		rows *= o->query[0], cols *= o->query[1];
		x = op_reshape(g, x, 4, (int64_t[]){ -1, rows, cols, width });
	}
	graph_assume(g, x, 0, batch);
	return op_transpose(g, x, 4, (int[]){ 0, 3, 1, 2 });
}

// x [batch, maxima * n, width] -> [batch, n, width]
static graph_value pooled(struct build *b, graph_value x, int64_t n, int64_t width)
{
	x = op_reshape(b->g, x, 4, (int64_t[]){ -1, maxima_of(b->s->own), n, width });
	return op_reduce_max(b->g, x, 1, false);
}

struct place { // of a layer
	int64_t in, out, heads, tokens, units;
	bool pools;
};

// x [batch, tokens, in] -> [batch, tokens or tokens / maxima, out]. The tokens of a mask unit stand `units` apart.
static graph_value attention(struct build *b, graph_value x, const struct place *p)
{
	struct graph *g = b->g;
	int64_t d = p->out, n = p->tokens / p->units;
	graph_value batch = op_dim(g, x, 0);
	int64_t rows = value_dim(g, x, 0);
	graph_value qkv = linear(b, "layers.attn.qkv", x, p->in, 3 * d, true);
	qkv = op_transpose(g, op_reshape(g, qkv, 4, (int64_t[]){ 0, n, p->units, 3 * d }), 4, (int[]){ 0, 2, 1, 3 });
	qkv = op_reshape(g, qkv, 3, (int64_t[]){ -1, n, 3 * d });
	graph_value q = op_slice(g, qkv, 2, 0, d);
	if (p->pools)
		q = pooled(b, q, n /= maxima_of(b->s->own), d);
	graph_value y = op_attention(g,
		&(struct attention){ q, op_slice(g, qkv, 2, d, 2 * d), op_slice(g, qkv, 2, 2 * d, 3 * d), .heads = p->heads,
			.scale = (float)(1 / sqrt((double)(d / p->heads))) });
	graph_value sizes = graph_i64s(g, 3, (int64_t[]){ p->units, n, d });
	y = op_reshape_to(g, y, op_concat(g, 2, (graph_value[]){ batch, sizes }, 0));
	y = op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, n * p->units, d });
	graph_assume(g, y, 0, rows);
	return linear(b, "layers.attn.o", y, d, d, true);
}

static graph_value layer(struct build *b, graph_value x, const struct place *p)
{
	struct graph *g = b->g;
	const struct hiera *o = b->s->own;
	int64_t inner = (int64_t)((double)p->out * o->ratio), rows = value_dim(g, x, 0);
	graph_value y = layer_norm(b, "layers.attn.norm", x, p->in);
	if (p->in != p->out) {
		x = linear(b, "layers.project", y, p->in, p->out, true);
		x = p->pools ? pooled(b, x, p->tokens / maxima_of(o), p->out) : x;
		graph_assume(g, x, 0, rows);
	}
	x = op_add(g, x, attention(b, y, p));
	y = linear(b, "layers.ffn.up", layer_norm(b, "layers.ffn.norm", x, p->out), p->out, inner, true);
	return op_add(g, x, linear(b, "layers.ffn.down", activate(b, b->s->act, y), inner, p->out, true));
}

// Where the tokens of a mask unit are fewer than a stage divides by, there is no such model.
static int64_t units_of(struct build *b, const struct place *p, bool masked)
{
	const struct hiera *o = b->s->own;
	double area = (double)(o->unit[0] * o->unit[1]) * pow((double)maxima_of(o), (double)-b->stage);
	int64_t size = (int64_t)area * (p->pools ? maxima_of(o) : 1);
	if (!masked)
		return 1;
	if (size < 1 || p->tokens % size) {
		graph_fail(b->g, STATUS_BAD_INPUT, "%s: mask units of %lld tokens over %lld", b->c->path, (long long)size,
			(long long)p->tokens);
		return 1;
	}
	return p->tokens / size;
}

static graph_value stage(struct build *b, graph_value x, struct place *p)
{
	struct graph *g = b->g;
	const struct hiera *o = b->s->own;
	p->out = o->widths[b->stage], p->heads = o->heads[b->stage];
	for (b->layer = 0; b->layer < o->depths[b->stage] && !graph_failed(g); b->layer++) {
		bool first = !b->layer, lags = first && o->masked[b->stage ? b->stage - 1 : 0];
		p->pools = first && b->stage && b->stage <= o->pooled_stages;
		if (p->pools && p->in == p->out && maxima_of(o) > 1) // what is added to it is not pooled
			graph_fail(g, STATUS_BAD_INPUT, "%s: a stage is pooled and no wider than the one before", b->c->path);
		p->units = units_of(b, p, o->masked[b->stage] || lags);
		graph_enter(g, "%lld", (long long)b->layer);
		x = layer(b, x, p);
		graph_leave(g);
		p->tokens /= p->pools ? maxima_of(o) : 1;
		p->in = p->out;
	}
	return x;
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct hiera *o = s->own;
	int64_t h = o->widths[0], pads[] = { o->pad[0], o->pad[1], o->pad[0], o->pad[1] }, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, o->kernel[0], o->kernel[1]);
	graph_value x = tokens_of(b, op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), o->step, pads, one, 1));
	return op_add(g, x, WEIGHT(b, "embed.position", "", 1, o->rows * o->cols, h));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct hiera *o = s->own;
	struct place p = { .in = o->widths[0], .tokens = o->rows * o->cols };
	if (graph_failed(g))
		return;
	if (value_dim(g, io->pixels, 2) != s->image_size || value_dim(g, io->pixels, 3) != s->image_width) {
		graph_fail(g, STATUS_UNSUPPORTED, "%s: images other than %lld by %lld are not supported yet", b->c->path,
			(long long)s->image_size, (long long)s->image_width);
		return;
	}
	bool backbone = s->head && s->head->gives_states; // transformers' takes the rows of the grid for unrolled tokens
	graph_value x = embed(b, io->pixels);
	x = backbone ? x : unrolled(b, x);
	io->states = ARENA_ARRAY(graph_arena(g), (size_t)o->stages + 1, graph_value);
	io->state_count = 0;
	states_add(io, x);
	for (b->stage = 0; b->stage < o->stages && !graph_failed(g); b->stage++) {
		graph_enter(g, "stages.%lld", (long long)b->stage);
		x = stage(b, x, &p);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
	if (!backbone)
		io->pooled = layer_norm(b, "norm", op_reduce_mean(g, x, 1, false), s->hidden_size);
}

static graph_value feature(struct build *b, const struct body *io, int64_t index)
{
	const struct hiera *o = b->s->own;
	int64_t taken = index - 1 < o->pooled_stages ? index - 1 : o->pooled_stages;
	b->layer = index;
	graph_value x = layer_norm_eps(b, index ? "out.stage" : "out.stem", io->states[index], 1e-5);
	return rolled(b, x, index ? taken : 0);
}

// Not layers: a model of fewer stages would be another model.
static void sizes(const struct spec *s, json_t *out)
{
	const struct hiera *o = s->own;
	json_object_set_new(out, "stages", json_integer(o->stages));
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_image, head_classify_pooled },
	{ &head_backbone, map_features },
	{ 0 },
};

const struct family hiera = {
	.name = "hiera",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.feature = feature,
	.sizes = sizes,
	.heads = heads,
};
