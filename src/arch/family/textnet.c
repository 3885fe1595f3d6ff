// SPDX-License-Identifier: Apache-2.0
// TextNet, the backbone of the text detector FAST (Chen et al. 2021, https://arxiv.org/abs/2111.02394): layers as they were
// trained, with every branch.
//
//   pixels -> k x k conv - norm - act -> stages -> mean over places -> classes
//   layer:  x -+- h x w conv - norm -+- relu
//              +- h x 1 conv - norm -+            where w > 1
//              +- 1 x w conv - norm -+            where h > 1
//              +- norm --------------+            where neither width nor size changes
#include "arch/block/image.h"

// One layer: its kernel's height and width, and its step.
struct textnet_layer {
	int64_t kernel[2], stride;
};

// spec.own of the family.
struct textnet {
	int64_t stem, stem_kernel, stem_stride;
	const int64_t *widths;               // [stages + 1]: of the stem and of each stage
	int64_t *depths;                     // [stages]
	const struct textnet_layer **layers; // [stages][depth]
};

static int64_t number(const json_t *list, size_t i)
{
	const json_t *v = json_array_get(list, i);
	return json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) <= 4096 ? json_integer_value(v) : 0;
}

// Of each stage, of each of its layers: [height, width], and the step.
static int64_t layers(struct config *c, struct textnet *n, struct arena *a)
{
	const json_t *kernels = config_get(c, "conv_layer_kernel_sizes"), *strides = config_get(c, "conv_layer_strides");
	size_t stages = json_array_size(kernels), total = 0;
	bool bad = !stages || stages > CONFIG_COUNT_MOST || json_array_size(strides) < stages;
	n->depths = ARENA_ARRAY(a, stages + 1, int64_t);
	n->layers = ARENA_ARRAY(a, stages + 1, const struct textnet_layer *);
	for (size_t i = 0; i < stages && !bad; i++) {
		const json_t *k = json_array_get(kernels, i), *s = json_array_get(strides, i);
		size_t depth = json_array_size(k) < json_array_size(s) ? json_array_size(k) : json_array_size(s);
		struct textnet_layer *out = ARENA_ARRAY(a, depth + 1, struct textnet_layer);
		bad = !depth || (total += depth) > CONFIG_COUNT_MOST;
		for (size_t j = 0; j < depth && !bad; j++) {
			const json_t *size = json_array_get(k, j);
			out[j] = (struct textnet_layer){ { number(size, 0), number(size, 1) }, number(s, j) };
			bad = !out[j].kernel[0] || !out[j].kernel[1] || !out[j].stride;
		}
		n->depths[i] = (int64_t)depth;
		n->layers[i] = out;
	}
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"conv_layer_kernel_sizes and conv_layer_strides should have [height, width] and a step for each layer of "
			"each stage");
	return (int64_t)stages;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct textnet *n = ARENA_NEW(a, struct textnet);
	*n = (struct textnet){ .stem = config_size(c, "stem_out_channels", 64),
		.stem_kernel = config_size(c, "stem_kernel_size", 3),
		.stem_stride = config_size(c, "stem_stride", 2) };
	int64_t stages = layers(c, n, a);
	n->widths = resolve_stages(c, "hidden_sizes", a, stages + 1, 1);
	s->channels = config_size(c, "stem_num_channels", 3);
	const json_t *act = config_given(c, "stem_act_func");
	bool none = !act && json_object_get(c->given, "stem_act_func"); // null: none
	s->act = none ? ACT_NONE : config_activation(c, "stem_act_func", ACT_RELU);
	s->norm_eps = config_real(c, "batch_norm_eps", 1e-5);
	resolve_outputs(c, s, a, 4); // so many have names
	if (!c->error.status && (n->stem < 1 || n->stem_kernel < 1 || n->stem_stride < 1))
		config_fail(c, STATUS_BAD_INPUT, "a stem of %lld channels, kernel %lld, step %lld", (long long)n->stem,
			(long long)n->stem_kernel, (long long)n->stem_stride);
	for (int64_t i = 0; i < s->out_count && !c->error.status; i++)
		if (s->out_indices[i] > stages)
			config_fail(c, STATUS_BAD_INPUT, "out_features or out_indices name a stage that is not there");
	if (c->error.status)
		return;
	s->layers = s->layers_in_config = stages;
	s->hidden_size = n->widths[stages];
	s->own = n;
}

static graph_value branch(struct build *b, const char *conv_stem, const char *norm_stem, graph_value x, int64_t out,
	int64_t kernel[2], int64_t stride)
{
	const int64_t up = (kernel[0] - 1) / 2, left = (kernel[1] - 1) / 2, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, conv_stem, "weight", out, value_dim(b->g, x, 1), kernel[0], kernel[1]);
	graph_value y = op_conv(b->g, x, w, NO_VALUE, (int64_t[]){ stride, stride }, (int64_t[]){ up, left, up, left }, one, 1);
	return batch_norm(b, norm_stem, y, b->s->norm_eps);
}

static graph_value layer(struct build *b, graph_value x, const struct textnet_layer *l, int64_t out)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t in = value_dim(g, x, 1), h = l->kernel[0], w = l->kernel[1];
	graph_value y = branch(b, "layers.main", "layers.main.norm", x, out, (int64_t[]){ h, w }, l->stride);
	if (w != 1)
		y = op_add(g, y, branch(b, "layers.vertical", "layers.vertical.norm", x, out, (int64_t[]){ h, 1 }, l->stride));
	if (h != 1)
		y = op_add(
			g, y, branch(b, "layers.horizontal", "layers.horizontal.norm", x, out, (int64_t[]){ 1, w }, l->stride));
	if (in == out && l->stride == 1)
		y = op_add(g, y, batch_norm(b, "layers.identity.norm", x, b->s->norm_eps));
	return op_relu(g, y);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct textnet *n = b->s->own;
	int64_t k = n->stem_kernel;
	graph_value x = conv_norm(b, "stem.conv", "stem.norm", io->pixels,
		(struct conv){ .out = n->stem, .kernel = k, .stride = n->stem_stride, .pad = k / 2 ? k / 2 : PAD_NONE },
		b->s->norm_eps, b->s->act);
	states_begin(b, io, x);
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		graph_enter(g, "stages.%lld", (long long)b->stage);
		for (b->layer = 0; b->layer < n->depths[b->stage] && !graph_failed(g); b->layer++)
			x = layer(b, x, &n->layers[b->stage][b->layer], n->widths[b->stage + 1]);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static void build_bare(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);
	graph_output(b->g, "pooler_output", adaptive_pool(b, io->last, 2, 2)); // [batch, hidden, 2, 2]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 640, 640);
}

static const struct family_head heads[] = {
	{ &head_backbone, map_features },
	{ &head_model, build_bare },
	{ &head_image, map_classify },
	{ 0 },
};

const struct family textnet = {
	.name = "textnet",
	.architecture = "vision",
	.resolve = resolve,
	.build = map_build,
	.body = body,
	.hints = hints,
	.heads = heads,
};
