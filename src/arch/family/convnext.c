// SPDX-License-Identifier: Apache-2.0
// ConvNeXt: a convolution network with the transformer's habits (Liu et al. 2022, https://arxiv.org/abs/2201.03545; V2 with
// global response normalization: Woo et al. 2023, https://arxiv.org/abs/2301.00808; DINOv3's, https://arxiv.org/abs/2508.10104).
//
//   pixels -> patch conv - norm -> stages, from the second on after norm - 2x2 conv /2 -> mean over places - norm -> head
//   layer:  x -+- 7x7 conv by channel - norm - up - act (- response norm) - down (* scale) -(+)-
//              +---------------------------------------------------------------------------+
#include "arch/block/image.h"
#include "arch/family/convnext.h"

// spec.own of these families.
struct convnext {
	int64_t stages, patch;
	const int64_t *depths, *widths;
	bool scaled, response_norm;
	double inner_eps;
};

static void resolve_sizes(struct config *c, struct spec *s, struct arena *a, struct convnext *n)
{
	int64_t sizes = 0;
	n->depths = config_sizes(c, "depths", a, 0, &n->stages);
	n->widths = config_sizes(c, "hidden_sizes", a, 0, &sizes);
	n->patch = config_size(c, "patch_size", 4);
	n->scaled = config_real(c, "layer_scale_init_value", 0) > 0;
	s->channels = config_size(c, "num_channels", 3);
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-12);
	resolve_outputs(c, s, a, n->stages);
	if (!c->error.status && (!n->stages || sizes != n->stages || n->patch < 1))
		config_fail(c, STATUS_BAD_INPUT, "depths and hidden_sizes should be lists of the same length");
	if (c->error.status)
		return;
	for (int64_t i = 0; i < n->stages; i++)
		if (n->depths[i] > 10000 || n->widths[i] < 1)
			config_fail(c, STATUS_BAD_INPUT, "a stage of %lld layers of %lld channels", (long long)n->depths[i],
				(long long)n->widths[i]);
	s->layers = s->layers_in_config = n->stages;
	s->hidden_size = n->widths[n->stages - 1];
	s->own = n;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct convnext *n = ARENA_NEW(a, struct convnext);
	*n = (struct convnext){ .inner_eps = 1e-6 };
	resolve_sizes(c, s, a, n);
	n->response_norm = TRAITS_OF(s, convnext)->response_norm;
	n->scaled &= !n->response_norm;
}

static void resolve_dino(struct config *c, struct spec *s, struct arena *a)
{
	struct convnext *n = ARENA_NEW(a, struct convnext);
	*n = (struct convnext){ 0 };
	resolve_sizes(c, s, a, n);
	n->inner_eps = s->norm_eps;
	n->scaled = true;
}

// Each channel by how much of it the whole map has, compared with the other channels: x [batch, height, width, channels].
static graph_value response_norm(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t width = value_dim(g, x, 3);
	graph_value all =
		op_sqrt(g, op_reduce_sum(g, op_reduce_sum(g, op_mul(g, x, x), 1, true), 2, true)); // [batch, 1, 1, channels]
	graph_value share = op_div(g, all, op_add(g, op_reduce_mean(g, all, 3, true), graph_f32(g, 1e-6f)));
	graph_value y = op_mul(g, WEIGHT(b, "layers.response", "weight", 1, 1, 1, width), op_mul(g, x, share));
	return op_add(g, op_add(g, y, WEIGHT(b, "layers.response", "bias", 1, 1, 1, width)), x);
}

static graph_value layer(struct build *b, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	const struct convnext *n = b->s->own;
	graph_value y = conv(b, "layers.conv", x, (struct conv){ .out = width, .kernel = 7, .group = width, .bias = true });
	y = layer_norm_eps(
		b, "layers.norm", op_transpose(g, y, 4, (int[]){ 0, 2, 3, 1 }), n->inner_eps); // [batch, height, width, channels]
	y = activate(b, b->s->act, linear(b, "layers.up", y, width, 4 * width, true));
	if (n->response_norm)
		y = response_norm(b, y);
	y = linear(b, "layers.down", y, 4 * width, width, true);
	if (n->scaled)
		y = op_mul(g, y, WEIGHT(b, "layers.scale", "", width));
	return op_add(g, x, op_transpose(g, y, 4, (int[]){ 0, 3, 1, 2 }));
}

static graph_value stages(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct convnext *n = b->s->own;
	for (b->stage = 0; b->stage < b->s->layers && !graph_failed(g); b->stage++) {
		int64_t width = n->widths[b->stage];
		graph_enter(g, "stages.%lld", (long long)b->stage);
		if (b->stage) {
			b->layer = b->stage;
			x = map_norm(b, "down.norm", x, n->inner_eps);
			x = conv(b, "down.conv", x,
				(struct conv){ .out = width, .kernel = 2, .stride = 2, .pad = PAD_NONE, .bias = true });
		}
		for (b->layer = 0; b->layer < n->depths[b->stage] && !graph_failed(b->g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = layer(b, x, width);
			graph_leave(g);
		}
		graph_leave(g);
		states_add(io, x);
	}
	return x;
}

static graph_value mean(struct build *b, graph_value x)
{
	if (graph_failed(b->g))
		return NO_VALUE;
	return op_reshape(b->g, op_global_average_pool(b->g, x), 2, (int64_t[]){ 0, value_dim(b->g, x, 1) });
}

static void body(struct build *b, struct body *io)
{
	const struct convnext *n = b->s->own;
	graph_enter(b->g, "stem");
	graph_value x = conv(b, "stem.conv", io->pixels,
		(struct conv){ .out = n->widths[0], .kernel = n->patch, .stride = n->patch, .pad = PAD_NONE, .bias = true });
	x = map_norm(b, "stem.norm", x, 1e-6);
	graph_leave(b->g);
	states_begin(b, io, x);
	io->last = stages(b, io, x);
	bool backbone = !b->s->head || b->s->head->gives_states;
	for (int64_t i = 0; backbone && i < b->s->out_count && !graph_failed(b->g); i++) { // its results are normed
		int64_t at = b->s->out_indices[i];
		b->layer = at;
		if (at < io->state_count)
			io->states[at] = map_norm(b, at ? "features.norm" : "features.norm.stem", io->states[at], 1e-6);
	}
	if (!backbone)
		io->pooled = layer_norm(b, "norm", mean(b, io->last), b->s->hidden_size);
}

// Tokens: the mean of the places, then the places.
static void body_dino(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct convnext *n = b->s->own;
	graph_enter(g, "stem");
	b->stage = 0;
	graph_value x = conv(b, "stem.conv", io->pixels,
		(struct conv){ .out = n->widths[0], .kernel = 4, .stride = 4, .pad = PAD_NONE, .bias = true });
	x = map_norm(b, "stem.norm", x, n->inner_eps);
	graph_leave(g);
	states_begin(b, io, io->pixels);
	x = stages(b, io, x);
	if (!b->s->head || b->s->head->gives_states)
		return;
	graph_value tokens = op_concat(g, 2, (graph_value[]){ op_unsqueeze(g, mean(b, x), 1), tokens_of(b, x) }, 1);
	io->last = layer_norm(b, "norm", tokens, b->s->hidden_size);
	io->pooled = first_token(b, io->last);
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, 0, 0) };
	b->s->row->family->body(b, &io);
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 224, 224);
}

const struct family convnext = {
	.name = "convnext",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = hints,
	.heads = map_heads,
	.traits = FAMILY_TRAIT_LIST(convnext, CONVNEXT_TRAITS),
};
const struct family convnext_dino = {
	.name = "convnext",
	.architecture = "vision",
	.resolve = resolve_dino,
	.build = build,
	.body = body_dino,
	.hints = hints,
	.heads = map_heads,
};
