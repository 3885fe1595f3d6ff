// SPDX-License-Identifier: Apache-2.0
// MobileViT: MobileNetV2's layers and, in the last three stages, transformers over the places that patches have in common (Mehta,
// Rastegari 2021, https://arxiv.org/abs/2110.02178; version 2, https://arxiv.org/abs/2206.02680).
//
//   pixels -> 3x3 conv /2 -> inverted residuals -> three stages (-> 1x1 conv) -> mean over places -> classes
//   stage:      x = inverted residual /2;  y = 1x1(k x k(x)) - transformer across patches - norm - 1x1
//               version 1: k x k(x and y side by side);  version 2: y
//   version 2's attention:  relu(value) * sum over patches of key * softmax over patches of query, one number a place
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/mobilevit.h"

enum { STAGES = 5, PLAIN = 2 }; // the first two have no transformer

// spec.own of the family.
struct mobilevit {
	int64_t stem, patch, kernel;
	int64_t widths[STAGES], hidden[STAGES], blocks[STAGES], dilations[STAGES];
	int64_t heads, expanded, pyramid; // expanded: what the last convolution gives, 0: there is none
	int64_t rates[3];
	double expand, ffn;
	bool qkv_bias;
};

static int64_t rounded(double x, int64_t divisor, int64_t least)
{
	int64_t n = (int64_t)(x + (double)divisor / 2) / divisor * divisor;
	n = n < least ? least : n;
	return (double)n < 0.9 * x ? n + divisor : n;
}

static void widths_of_lists(struct config *c, struct mobilevit *n, struct arena *a)
{
	const int64_t *neck = resolve_stages(c, "neck_hidden_sizes", a, STAGES + 2, 1),
		      *hidden = resolve_stages(c, "hidden_sizes", a, STAGES - PLAIN, 1);
	static const int64_t blocks[STAGES] = { 1, 3, 2, 4, 3 };
	for (int i = 0; i < STAGES && !c->error.status; i++) {
		n->widths[i] = neck[i + 1];
		n->hidden[i] = i < PLAIN ? 0 : hidden[i - PLAIN];
		n->blocks[i] = blocks[i];
	}
	n->stem = c->error.status ? 1 : neck[0];
	n->expanded = c->error.status ? 1 : neck[STAGES + 1];
	n->ffn = config_real(c, "mlp_ratio", 2);
}

static void widths_by_multiplier(struct config *c, struct mobilevit *n, struct arena *a)
{
	double by = config_real(c, "width_multiplier", 1), stem = 32 * by;
	static const double base[STAGES] = { 64, 128, 256, 384, 512 };
	const int64_t *hidden = resolve_stages(c, "base_attn_unit_dims", a, STAGES - PLAIN, 1),
		      *blocks = resolve_stages(c, "n_attn_blocks", a, STAGES - PLAIN, 0);
	n->ffn = (double)config_size(c, "ffn_multiplier", 2);
	if (!(by > 0 && by < 1e3))
		config_fail(c, STATUS_BAD_INPUT, "width_multiplier %g", by);
	if (c->error.status)
		return;
	n->stem = rounded(stem < 16 ? 16 : stem > 64 ? 64 : stem, 8, 16);
	for (int i = 0; i < STAGES; i++) {
		int64_t divisor = i ? 8 : 16;
		n->widths[i] = rounded(base[i] * by, divisor, divisor);
		n->hidden[i] = i < PLAIN ? 0 : rounded((double)hidden[i - PLAIN] * by, 8, 8);
		n->blocks[i] = i < PLAIN ? i + 1 : blocks[i - PLAIN];
	}
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mobilevit *n = ARENA_NEW(a, struct mobilevit);
	bool second = TRAITS_OF(s, mobilevit)->separable;
	(second ? widths_by_multiplier : widths_of_lists)(c, n, a);
	n->patch = config_size(c, "patch_size", 2);
	n->kernel = config_size(c, "conv_kernel_size", 3);
	n->expand = config_real(c, "expand_ratio", 4);
	n->heads = second ? 1 : config_size(c, "num_attention_heads", 4);
	n->qkv_bias = second || config_bool(c, "qkv_bias", true);
	n->pyramid = config_size(c, "aspp_out_channels", 256);
	int64_t stride = config_size(c, "output_stride", 32);
	const int64_t *rates = resolve_stages(c, "atrous_rates", a, 3, 1);
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_SILU);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	if (!c->error.status &&
		(n->patch < 1 || n->kernel < 1 || n->heads < 1 || n->pyramid < 1 || !(n->expand > 0 && n->expand < 1e3) ||
			!(n->ffn > 0 && n->ffn < 1e3)))
		config_fail(c, STATUS_BAD_INPUT, "patch_size %lld, conv_kernel_size %lld, %lld heads, expand_ratio %g",
			(long long)n->patch, (long long)n->kernel, (long long)n->heads, n->expand);
	for (int i = PLAIN; i < STAGES && !c->error.status; i++)
		if (n->hidden[i] % n->heads)
			config_fail(c, STATUS_BAD_INPUT, "%lld channels do not divide into %lld heads", (long long)n->hidden[i],
				(long long)n->heads);
	if (c->error.status)
		return;
	for (int i = 0; i < 3; i++)
		n->rates[i] = rates[i];
	for (int i = 0; i < STAGES; i++)
		n->dilations[i] = 1;
	n->dilations[3] = stride == 8 ? 2 : 1;
	n->dilations[4] = stride == 8 ? 4 : stride == 16 ? 2 : 1;
	n->expanded = s->head == &head_segments ? 0 : n->expanded;
	s->hidden_size = n->expanded ? n->expanded : n->widths[STAGES - 1];
	s->layers = s->layers_in_config = STAGES;
	s->own = n;
}

static graph_value step(struct build *b, const char *stem, graph_value x, struct conv c, enum activation act)
{
	struct arena *a = graph_arena(b->g);
	return conv_norm(b, arena_printf(a, "%s.conv", stem), arena_printf(a, "%s.norm", stem), x, c, 1e-5, act);
}

static graph_value inverted(struct build *b, bool alone, graph_value x, int64_t out, int64_t stride, int64_t dilation)
{
	const struct mobilevit *n = b->s->own;
	if (graph_failed(b->g))
		return NO_VALUE;
	int64_t in = value_dim(b->g, x, 1), wide = rounded(rint((double)in * n->expand), 8, 8);
	enum activation act = b->s->act;
	graph_value y = step(b, alone ? "layers.wide" : "down.wide", x, (struct conv){ .out = wide, .kernel = 1 }, act);
	struct conv middle = { .out = wide, .kernel = 3, .stride = stride, .dilation = dilation, .group = wide };
	y = step(b, alone ? "layers.middle" : "down.middle", y, middle, act);
	y = step(b, alone ? "layers.narrow" : "down.narrow", y, (struct conv){ .out = out, .kernel = 1 }, ACT_NONE);
	return stride == 1 && in == out ? op_add(b->g, y, x) : y;
}

// i64 [1]: how many patches there are along an axis
static graph_value patch_count(struct build *b, graph_value x, int axis, bool up)
{
	int64_t p = ((const struct mobilevit *)b->s->own)->patch, rest = up ? p - 1 : 0;
	graph_value n = op_add(b->g, op_dim(b->g, x, axis), graph_i64s(b->g, 1, &rest));
	return op_div(b->g, n, graph_i64s(b->g, 1, &p));
}

static graph_value times(struct build *b, graph_value n, int64_t factor)
{
	return op_mul(b->g, n, graph_i64s(b->g, 1, &factor));
}

// x [batch, w, rows*p, cols*p] -> [batch, p, p, rows, cols, w] where `last`, else [batch, w, p*p, rows*cols]
static graph_value unfold(struct build *b, graph_value x, graph_value rows, graph_value cols, int64_t w, bool last)
{
	struct graph *g = b->g;
	int64_t p = ((const struct mobilevit *)b->s->own)->patch, area = p * p;
	graph_value each = graph_i64s(g, 1, &p), channels = graph_i64s(g, 1, &w), batch = op_dim(g, x, 0);
	x = op_reshape_to(g, x, op_concat(g, 6, (graph_value[]){ batch, channels, rows, each, cols, each }, 0));
	if (last) {
		x = op_transpose(g, x, 6, (int[]){ 0, 3, 5, 2, 4, 1 });
		graph_value shape[] = { times(b, batch, area), op_mul(g, rows, cols), channels };
		return op_reshape_to(g, x, op_concat(g, 3, shape, 0)); // [batch*p*p, patches, w]
	}
	x = op_transpose(g, x, 6, (int[]){ 0, 1, 3, 5, 2, 4 });
	graph_value shape[] = { batch, channels, graph_i64s(g, 1, &area), op_mul(g, rows, cols) };
	return op_reshape_to(g, x, op_concat(g, 4, shape, 0));
}

static graph_value fold(
	struct build *b, graph_value x, graph_value batch, graph_value rows, graph_value cols, int64_t w, bool last)
{
	struct graph *g = b->g;
	int64_t p = ((const struct mobilevit *)b->s->own)->patch;
	graph_value each = graph_i64s(g, 1, &p), channels = graph_i64s(g, 1, &w);
	graph_value apart[] = { batch, each, each, rows, cols, channels }, first[] = { batch, channels, each, each, rows, cols };
	x = op_reshape_to(g, x, op_concat(g, 6, last ? apart : first, 0));
	x = op_transpose(g, x, 6, last ? (int[]){ 0, 5, 3, 1, 4, 2 } : (int[]){ 0, 1, 4, 2, 5, 3 });
	graph_value shape[] = { batch, channels, times(b, rows, p), times(b, cols, p) };
	return op_reshape_to(g, x, op_concat(g, 4, shape, 0));
}

// Each of the p*p places within a patch is a sequence over the patches. A map that does not divide is resized.
static graph_value transformer(struct build *b, graph_value x, int64_t w, int64_t layers)
{
	struct graph *g = b->g;
	const struct mobilevit *n = b->s->own;
	int64_t inner = (int64_t)((double)w * n->ffn);
	double eps = b->s->norm_eps;
	graph_value like = x, batch = op_dim(g, x, 0), rows = patch_count(b, x, 2, true), cols = patch_count(b, x, 3, true);
	graph_value sizes[] = { batch, op_dim(g, x, 1), times(b, rows, n->patch), times(b, cols, n->patch) };
	x = unfold(b, op_resize(g, x, op_concat(g, 4, sizes, 0), "linear"), rows, cols, w, true);
	for (b->layer = 0; b->layer < layers && !graph_failed(g); b->layer++) {
		graph_value y = layer_norm_eps(b, "layers.attn.norm", x, eps),
			    q = linear(b, "layers.attn.q", y, w, w, n->qkv_bias),
			    k = linear(b, "layers.attn.k", y, w, w, n->qkv_bias),
			    v = linear(b, "layers.attn.v", y, w, w, n->qkv_bias);
		y = op_attention(
			g, &(struct attention){ q, k, v, .heads = n->heads, .scale = (float)sqrt((double)n->heads / (double)w) });
		x = op_add(g, x, linear(b, "layers.attn.o", y, w, w, true));
		y = linear(b, "layers.ffn.up", layer_norm_eps(b, "layers.ffn.norm", x, eps), w, inner, true);
		x = op_add(g, x, linear(b, "layers.ffn.down", activate(b, b->s->act, y), inner, w, true));
	}
	b->layer = b->stage;
	x = fold(b, layer_norm_eps(b, "norm", x, eps), batch, rows, cols, w, true);
	return resized_like(b, x, like, "linear");
}

static graph_value whole_norm(struct build *b, const char *stem, graph_value x, int64_t w)
{
	graph_value scale = WEIGHT(b, stem, "weight", w);
	return op_group_norm(b->g, x, 1, scale, WEIGHT(b, stem, "bias", w), (float)b->s->norm_eps);
}

// What patches leave over becomes zero.
static graph_value separable(struct build *b, graph_value x, int64_t w, int64_t layers)
{
	struct graph *g = b->g;
	const struct mobilevit *n = b->s->own;
	int64_t inner = w * (int64_t)n->ffn / 16 * 16;
	const struct conv back = { .out = w, .kernel = 1, .bias = true }, up = { .out = inner, .kernel = 1, .bias = true };
	graph_value batch = op_dim(g, x, 0), rows = patch_count(b, x, 2, false), cols = patch_count(b, x, 3, false),
		    zero = graph_i64s(g, 1, (int64_t[]){ 0 }), height = times(b, rows, n->patch),
		    width = times(b, cols, n->patch), nothing = op_scale(g, x, 0);
	graph_value y = op_slice_to(g, op_slice_to(g, x, 2, zero, height), 3, zero, width);
	y = unfold(b, y, rows, cols, w, false); // [batch, w, p*p, patches]
	for (b->layer = 0; b->layer < layers && !graph_failed(g); b->layer++) {
		graph_value qkv = conv(b, "layers.attn.qkv", whole_norm(b, "layers.attn.norm", y, w),
			(struct conv){ .out = 1 + 2 * w, .kernel = 1, .bias = true });
		graph_value share = op_softmax(g, op_slice(g, qkv, 1, 0, 1), 3);
		graph_value context =
			op_reduce_sum(g, op_mul(g, op_slice(g, qkv, 1, 1, 1 + w), share), 3, true); // [batch, w, p*p, 1]
		graph_value seen = op_mul(g, op_relu(g, op_slice(g, qkv, 1, 1 + w, 1 + 2 * w)), context);
		y = op_add(g, y, conv(b, "layers.attn.o", seen, back));
		graph_value z = activate(b, b->s->act, conv(b, "layers.ffn.up", whole_norm(b, "layers.ffn.norm", y, w), up));
		y = op_add(g, y, conv(b, "layers.ffn.down", z, back));
	}
	b->layer = b->stage;
	y = fold(b, whole_norm(b, "norm", y, w), batch, rows, cols, w, false);
	graph_value right = op_slice_to(g, op_slice_to(g, nothing, 2, zero, height), 3, width, op_dim(g, x, 3));
	y = op_concat(g, 2, (graph_value[]){ y, right }, 3);
	return op_concat(g, 2, (graph_value[]){ y, op_slice_to(g, nothing, 2, height, op_dim(g, x, 2)) }, 2);
}

static graph_value stage(struct build *b, graph_value x)
{
	const struct mobilevit *n = b->s->own;
	bool second = TRAITS_OF(b->s, mobilevit)->separable;
	int64_t i = b->stage, w = n->widths[i], hidden = n->hidden[i], d = n->dilations[i];
	enum activation act = b->s->act;
	b->layer = i;
	x = inverted(b, false, x, w, d == 1 ? 2 : 1, d > 1 ? d / 2 : 1);
	graph_value y = step(b, "near", x, (struct conv){ .out = w, .kernel = n->kernel, .group = second ? w : 1 }, act);
	y = conv(b, "in", y, (struct conv){ .out = hidden, .kernel = 1 });
	y = (second ? separable : transformer)(b, y, hidden, n->blocks[i]);
	b->layer = i;
	y = step(b, "out", y, (struct conv){ .out = w, .kernel = 1 }, second ? ACT_NONE : act);
	if (second)
		return y;
	return step(
		b, "fused", op_concat(b->g, 2, (graph_value[]){ x, y }, 1), (struct conv){ .out = w, .kernel = n->kernel }, act);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct mobilevit *n = b->s->own;
	graph_value x = step(b, "stem", io->pixels, (struct conv){ .out = n->stem, .kernel = 3, .stride = 2 }, b->s->act);
	for (b->stage = 0; b->stage < STAGES && !graph_failed(g); b->stage++) {
		graph_enter(g, "stages.%lld", (long long)b->stage);
		if (b->stage >= PLAIN)
			x = stage(b, x);
		for (b->layer = 0; b->stage < PLAIN && b->layer < n->blocks[b->stage] && !graph_failed(g); b->layer++)
			x = inverted(b, true, x, n->widths[b->stage], b->stage && !b->layer ? 2 : 1, 1);
		graph_leave(g);
	}
	if (n->expanded)
		x = step(b, "last", x, (struct conv){ .out = n->expanded, .kernel = 1 }, b->s->act);
	io->last = x;
	io->pooled = op_reduce_mean(g, op_reduce_mean(g, x, 3, false), 2, false); // [batch, hidden]
}

// DeepLabV3's pyramid (Chen et al. 2017, https://arxiv.org/abs/1706.05587): convolutions of several reaches, and the mean.
static void build_segments(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct mobilevit *n = b->s->own;
	graph_value x = io->last, all[5];
	const struct conv point = { .out = n->pyramid, .kernel = 1 };
	for (b->layer = 0; b->layer < 4 && !graph_failed(g); b->layer++) {
		struct conv c =
			b->layer ? (struct conv){ .out = n->pyramid, .kernel = 3, .dilation = n->rates[b->layer - 1] } : point;
		all[b->layer] = step(b, "pyramid", x, c, ACT_RELU);
	}
	all[4] = resized_like(b, step(b, "pyramid.mean", op_global_average_pool(g, x), point, ACT_RELU), x, "linear");
	x = step(b, "pyramid.joined", op_concat(g, 5, all, 1), point, ACT_RELU);
	x = conv(b, "head.classes", x, (struct conv){ .out = b->s->labels, .kernel = 1, .bias = true });
	graph_output(g, "logits", x); // [batch, labels, height, width]
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	body(b, &io);
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 256, 256);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_image, head_classify_pooled },
	{ &head_segments, build_segments },
	{ 0 },
};

const struct family mobilevit = {
	.name = "mobilevit",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(mobilevit, MOBILEVIT_TRAITS),
};
