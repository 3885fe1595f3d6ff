// SPDX-License-Identifier: Apache-2.0
// FocalNet: instead of attention, each place times what its neighbourhoods of growing size say, each by a gate (Yang et al. 2022,
// https://arxiv.org/abs/2203.11926).
//
//   pixels -> patch conv - norm -> stages, a patch conv - norm after each but the last -> norm -> mean over places -> classes
//   layer:       x -+- norm - modulation (* scale) -(+)-+- norm - up - act - down (* scale) -(+)-     norms may come after
//                   +---------------------------------+ +----------------------------------+
//   modulation:  query, context, gates = linear(x);  c_0 = context, c_i = gelu(k_i x k_i by channel(c_i-1))
//                linear(query * 1x1(sum of c_i * gate_i, i from 1, + gelu(mean of the last) * the last gate))
#include "arch/block/image.h"

// spec.own of the family. Lists have a number for each stage.
struct focalnet {
	const int64_t *depths, *levels, *windows;
	int64_t width; // of the first stage; each next one has twice that
	double ratio;
	bool conv_patches, scaled, norm_after, norm_modulated, mean_modulator;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct focalnet *n = ARENA_NEW(a, struct focalnet);
	int64_t stages = 0;
	if (!config_sizes(c, "depths", a, 0, &stages) || stages > 32)
		config_fail(c, STATUS_BAD_INPUT, "depths should have a number for each stage");
	*n = (struct focalnet){ .depths = resolve_stages(c, "depths", a, stages, 0),
		.levels = resolve_stages(c, "focal_levels", a, stages, 0),
		.windows = resolve_stages(c, "focal_windows", a, stages, 1),
		.width = config_size(c, "embed_dim", 96),
		.ratio = config_real(c, "mlp_ratio", 4),
		.conv_patches = config_bool(c, "use_conv_embed", false),
		.scaled = config_bool(c, "use_layerscale", false),
		.norm_after = config_bool(c, "use_post_layernorm", false),
		.norm_modulated = config_bool(c, "use_post_layernorm_in_modulation", false),
		.mean_modulator = config_bool(c, "normalize_modulator", false) };
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	if (!c->error.status && (n->width < 1 || n->width > 1 << 20 || !(n->ratio > 0 && n->ratio < 1e4)))
		config_fail(c, STATUS_BAD_INPUT, "embed_dim %lld, mlp_ratio %g", (long long)n->width, n->ratio);
	for (int64_t i = 0; i < stages && !c->error.status; i++)
		if (n->levels[i] > CONFIG_COUNT_MOST || n->windows[i] % 2 == 0)
			config_fail(c, STATUS_BAD_INPUT, "%lld focal levels from windows of %lld", (long long)n->levels[i],
				(long long)n->windows[i]);
	if (c->error.status)
		return;
	s->hidden_size = n->width << (stages - 1);
	resolve_image(c, s);
	resolve_outputs(c, s, a, stages);
	s->layers = s->layers_in_config = stages;
	s->own = n;
	static const char *const norm[] = { "*layernorm.weight", "*layernorm.bias", NULL };
	if (s->head && s->head->gives_states)
		s->unused = norm;
}

// x [batch, channels, height, width] with zeros at its end, as much as patches of p x q leave over
static graph_value patches(struct build *b, const char *stem, graph_value x, int64_t out, struct conv c, int64_t p, int64_t q)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t height = value_dim(g, x, 2), width = value_dim(g, x, 3);
	if (height < 0 || width < 0) {
		graph_fail(g, STATUS_UNSUPPORTED, "patches are cut for images of a known size");
		return NO_VALUE;
	}
	x = op_pad(g, op_pad(g, x, 2, 0, (p - height % p) % p), 3, 0, (q - width % q) % q);
	if (c.kernel) {
		c.out = out;
		return conv(b, stem, x, c);
	}
	const int64_t stride[] = { p, q }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, stem, "weight", out, value_dim(g, x, 1), p, q);
	return op_conv(g, x, w, WEIGHT(b, stem, "bias", out), stride, none, one, 1);
}

// x [batch, places, w]
static graph_value modulation(struct build *b, graph_value x, graph_value like, int64_t w)
{
	struct graph *g = b->g;
	const struct focalnet *n = b->s->own;
	int64_t levels = n->levels[b->stage];
	graph_value all = map_of(b, linear(b, "layers.in", x, w, 2 * w + levels + 1, true), like);
	graph_value q = op_slice(g, all, 1, 0, w), context = op_slice(g, all, 1, w, 2 * w), sum = NO_VALUE;
	for (b->item = 0; b->item <= levels && !graph_failed(g); b->item++) {
		int64_t k = n->windows[b->stage] + 2 * b->item, gate = 2 * w + b->item;
		bool last = b->item == levels;
		graph_value seen = last ? op_global_average_pool(g, context)
					: conv(b, "layers.focal", context, (struct conv){ .out = w, .kernel = k, .group = w });
		context = op_gelu(g, seen);
		graph_value gated = op_mul(g, context, op_slice(g, all, 1, gate, gate + 1));
		sum = sum.id ? op_add(g, sum, gated) : gated;
	}
	sum = op_scale(g, sum, n->mean_modulator ? 1 / (float)(levels + 1) : 1);
	sum = op_mul(g, q, conv(b, "layers.context", sum, (struct conv){ .out = w, .kernel = 1, .bias = true }));
	graph_value y = tokens_of(b, sum);
	if (n->norm_modulated)
		y = layer_norm_eps(b, "layers.modulated.norm", y, b->s->norm_eps);
	return linear(b, "layers.out", y, w, w, true);
}

static graph_value layer(struct build *b, graph_value x, graph_value like, int64_t w)
{
	struct graph *g = b->g;
	const struct focalnet *n = b->s->own;
	double eps = b->s->norm_eps;
	int64_t inner = (int64_t)((double)w * n->ratio);
	bool after = n->norm_after;
	graph_value y = modulation(b, after ? x : layer_norm_eps(b, "layers.norm.1", x, eps), like, w);
	y = after ? layer_norm_eps(b, "layers.norm.1", y, eps) : y;
	x = op_add(g, x, n->scaled ? op_mul(g, y, WEIGHT(b, "layers.scale.1", "", w)) : y);
	y = linear(b, "layers.ffn.up", after ? x : layer_norm_eps(b, "layers.norm.2", x, eps), w, inner, true);
	y = linear(b, "layers.ffn.down", activate(b, b->s->act, y), inner, w, true);
	y = after ? layer_norm_eps(b, "layers.norm.2", y, eps) : y;
	return op_add(g, x, n->scaled ? op_mul(g, y, WEIGHT(b, "layers.scale.2", "", w)) : y);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct focalnet *n = s->own;
	struct conv stem = { 0 }, down = { 0 };
	if (n->conv_patches) {
		stem = (struct conv){ .kernel = 7, .stride = 4, .pad = 2, .bias = true };
		down = (struct conv){ .kernel = 3, .stride = 2, .pad = 1, .bias = true };
	}
	graph_value map = patches(b, "patch", io->pixels, n->width, stem, s->patch_size, s->patch_width);
	map = map_norm(b, "patch.norm", map, s->norm_eps);
	states_begin(b, io, map);
	for (b->stage = 0; b->stage < s->layers && !graph_failed(g); b->stage++) {
		int64_t w = n->width << b->stage;
		graph_enter(g, "stages.%lld", (long long)b->stage);
		graph_value x = tokens_of(b, map);
		for (b->layer = 0; b->layer < n->depths[b->stage] && !graph_failed(g); b->layer++) {
			graph_enter(g, "%lld", (long long)b->layer);
			x = layer(b, x, map, w);
			graph_leave(g);
		}
		b->layer = b->stage;
		map = map_of(b, x, map);
		if (b->stage < s->layers - 1)
			map = map_norm(b, "down.norm", patches(b, "down", map, 2 * w, down, 2, 2), s->norm_eps);
		graph_leave(g);
		states_add(io, map);
	}
	if (s->head && s->head->gives_states)
		return;
	io->last = layer_norm(b, "norm", tokens_of(b, map), s->hidden_size); // [batch, places, hidden]
	io->pooled = op_reduce_mean(g, io->last, 1, false);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_backbone, map_features },
	{ &head_image, head_classify_pooled },
	{ 0 },
};

const struct family focalnet = {
	.name = "focalnet",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
};
