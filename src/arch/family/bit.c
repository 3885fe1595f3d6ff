// SPDX-License-Identifier: Apache-2.0
// Big Transfer: residual networks whose kernels are standardised and whose norms look at groups of channels (Kolesnikov et al.
// 2019, https://arxiv.org/abs/1912.11370; https://arxiv.org/abs/1903.10520).
//
//   pixels -> 7x7 conv /2 (- norm - act) -> max pool /2 -> stages (- norm - act) -> mean over places -> classes
//   preactivation:  x - norm - act -+- 1x1 - norm - act - 3x3 - norm - act - 1x1 -(+)-
//                                   +- 1x1 conv in the first layer, else x -------+
//   bottleneck:     x -+- 1x1 - norm - act - 3x3 - norm - act - 1x1 - norm -(+)- act -
//                      +- 1x1 conv - norm in the first layer, else x -------+
#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct bit {
	int64_t stem, groups, output_stride;
	const int64_t *depths;
	int64_t *widths; // what each stage gives
	bool before;     // norm and activation come before each convolution
	bool same;       // padded as TensorFlow does
	bool padded_pool;
};

// As many eighths as are nearest, but not less than nine tenths of it.
static int64_t eighths(double x)
{
	int64_t n = (int64_t)(x + 4) / 8 * 8;
	n = n < 8 ? 8 : n;
	return (double)n < 0.9 * x ? n + 8 : n;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct bit *n = ARENA_NEW(a, struct bit);
	int64_t stages = 0, factor = config_size(c, "width_factor", 1);
	n->depths = config_sizes(c, "depths", a, 0, &stages);
	if (!c->error.status && (!n->depths || stages > CONFIG_COUNT_MOST))
		config_fail(c, STATUS_BAD_INPUT, "depths should have a number for each stage");
	const int64_t *sizes = resolve_stages(c, "hidden_sizes", a, stages, 1);
	n->depths = resolve_stages(c, "depths", a, stages, 0);
	n->stem = config_size(c, "embedding_size", 64);
	n->groups = config_size(c, "num_groups", 32);
	n->output_stride = config_size(c, "output_stride", 32);
	n->padded_pool = config_bool(c, "embedding_dynamic_padding", false);
	const char *kind = config_text(c, "layer_type"), *padding = config_text(c, "global_padding");
	n->before = !kind || text_is(kind, "preactivation");
	n->same = padding && (text_is(padding, "SAME") || text_is(padding, "same"));
	if (!n->before && !text_is(kind, "bottleneck"))
		config_fail(c, STATUS_BAD_INPUT, "layer_type %s is neither preactivation nor bottleneck", kind);
	if (padding && !n->same)
		config_fail(c, STATUS_UNSUPPORTED, "global_padding %s: a layer's branches do not meet", padding);
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_RELU);
	resolve_outputs(c, s, a, stages);
	if (!c->error.status && (n->stem < 1 || n->groups < 1 || factor < 1 || factor > 64 || n->output_stride < 1))
		config_fail(c, STATUS_BAD_INPUT, "embedding_size %lld, num_groups %lld, width_factor %lld, output_stride %lld",
			(long long)n->stem, (long long)n->groups, (long long)factor, (long long)n->output_stride);
	if (c->error.status)
		return;
	n->widths = ARENA_ARRAY(a, (size_t)stages, int64_t);
	for (int64_t i = 0; i < stages; i++)
		n->widths[i] = eighths((double)(sizes[i] * factor));
	s->layers = s->layers_in_config = stages;
	s->hidden_size = n->widths[stages - 1];
	s->own = n;
}

// Each output channel's kernel without its mean, by its deviation.
static graph_value standardised(struct build *b, graph_value w, double eps)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t dim[4];
	for (int i = 0; i < 4; i++)
		dim[i] = value_dim(g, w, i);
	graph_value rows = op_reshape(g, w, 2, (int64_t[]){ dim[0], -1 }); // [out, in*kernel*kernel]
	graph_value away = op_sub(g, rows, op_reduce_mean(g, rows, 1, true));
	graph_value variance = op_reduce_mean(g, op_mul(g, away, away), 1, true);
	return op_reshape(g, op_div(g, away, op_sqrt(g, op_add(g, variance, graph_f32(g, (float)eps)))), 4, dim);
}

static graph_value std_conv(struct build *b, const char *stem, graph_value x, struct conv c)
{
	struct graph *g = b->g;
	const struct bit *n = b->s->own;
	int64_t stride = c.stride ? c.stride : 1, dilation = c.dilation ? c.dilation : 1, reach = dilation * (c.kernel - 1);
	int64_t pad = (stride - 1 + reach) / 2;
	bool same = n->same && !(stride == 1 && reach % 2 == 0); // what is left over goes to the end
	if (graph_failed(g))
		return NO_VALUE;
	graph_value w = standardised(b, WEIGHT(b, stem, "weight", c.out, value_dim(g, x, 1), c.kernel, c.kernel), 1e-8);
	const int64_t strides[] = { stride, stride }, pads[] = { pad, pad, pad, pad }, dilations[] = { dilation, dilation };
	return op_conv(g, x, w, NO_VALUE, strides, same ? NULL : pads, dilations, 1);
}

static graph_value norm_act(struct build *b, const char *stem, graph_value x, enum activation act)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t w = value_dim(g, x, 1);
	graph_value scale = WEIGHT(b, stem, "weight", w);
	x = op_group_norm(g, x, ((const struct bit *)b->s->own)->groups, scale, WEIGHT(b, stem, "bias", w), 1e-5f);
	return activate(b, act, x);
}

// A zero on both sides of an axis, or as windows of 3 by steps of 2 need them: only at the end where the length is even.
// No Pad: ONNX Runtime makes it the padding of the max pool after it, which is the lowest number, and channels may be negative.
static graph_value zeros_around(struct build *b, graph_value x, int axis, bool as_needed)
{
	struct graph *g = b->g;
	graph_value zero = op_scale(g, op_slice(g, x, axis, 0, 1), 0), before = zero;
	if (as_needed) {
		graph_value odd = op_mod(g, op_dim(g, x, axis), graph_i64s(g, 1, (int64_t[]){ 2 }));
		before = op_slice_to(g, zero, axis, graph_i64s(g, 1, (int64_t[]){ 0 }), odd);
	}
	return op_concat(g, 3, (graph_value[]){ before, x, zero }, axis);
}

static graph_value stem(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct bit *n = b->s->own;
	const int64_t three[] = { 3, 3 }, two[] = { 2, 2 }, none[4] = { 0 };
	x = std_conv(b, "stem.conv", x, (struct conv){ .out = n->stem, .kernel = 7, .stride = 2 });
	if (!n->same)
		x = zeros_around(b, zeros_around(b, x, 2, false), 3, false);
	if (!n->before)
		x = norm_act(b, "stem.norm", x, b->s->act);
	if (n->padded_pool)
		x = zeros_around(b, zeros_around(b, x, 2, true), 3, true);
	return op_max_pool(g, x, 2, three, two, none, false);
}

static graph_value layer(struct build *b, graph_value x, int64_t out, int64_t stride, int64_t dilation)
{
	struct graph *g = b->g;
	const struct bit *n = b->s->own;
	enum activation act = b->s->act;
	int64_t inner = eighths((double)out / 4);
	const struct conv narrow = { .out = inner, .kernel = 1 }, wide = { .out = out, .kernel = 1 },
			  aside = { .out = out, .kernel = 1, .stride = stride };
	struct conv middle = { .out = inner, .kernel = 3, .stride = stride, .dilation = n->before ? 1 : dilation };
	graph_value shortcut = x, y;
	if (n->before) {
		y = norm_act(b, "layers.norm.1", x, act);
		shortcut = b->layer ? x : std_conv(b, "layers.shortcut", y, aside);
		y = norm_act(b, "layers.norm.2", std_conv(b, "layers.conv.1", y, narrow), act);
		y = norm_act(b, "layers.norm.3", std_conv(b, "layers.conv.2", y, middle), act);
		return op_add(g, std_conv(b, "layers.conv.3", y, wide), shortcut);
	}
	if (!b->layer)
		shortcut = norm_act(b, "layers.shortcut.norm", std_conv(b, "layers.shortcut", x, aside), ACT_NONE);
	y = norm_act(b, "layers.norm.1", std_conv(b, "layers.conv.1", x, narrow), act);
	y = norm_act(b, "layers.norm.2", std_conv(b, "layers.conv.2", y, middle), act);
	y = norm_act(b, "layers.norm.3", std_conv(b, "layers.conv.3", y, wide), ACT_NONE);
	return activate(b, act, op_add(g, y, shortcut));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct bit *n = b->s->own;
	graph_enter(g, "stem");
	graph_value x = stem(b, io->pixels);
	graph_leave(g);
	states_begin(b, io, x);
	int64_t reached = 4, dilation = 1;
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		int64_t stride = b->stage ? 2 : 1;
		if (reached >= n->output_stride) {
			dilation *= stride;
			stride = 1;
		}
		reached *= stride;
		int64_t before = dilation <= 2 ? 1 : 2; // the first layer's
		graph_enter(g, "stages.%lld", (long long)b->stage);
		for (b->layer = 0; b->layer < n->depths[b->stage] && !graph_failed(g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = layer(b, x, n->widths[b->stage], b->layer ? 1 : stride, b->layer ? dilation : before);
			graph_leave(g);
		}
		graph_leave(g);
		states_add(io, x);
	}
	io->last = n->before && !(b->s->head && b->s->head->gives_states) ? norm_act(b, "norm", x, b->s->act) : x;
}

const struct family bit = {
	.name = "bit",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = map_hints,
	.heads = map_heads,
};
