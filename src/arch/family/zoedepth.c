// SPDX-License-Identifier: Apache-2.0
// ZoeDepth: metric depth from bins whose centres are pulled towards points at every size of the neck (Bhat et al. 2023,
// https://arxiv.org/abs/2302.12288). Of its heads this is the one for a single range of depths.
//
//   pixels -> backbone -> neck -> sums;  chosen sum -> 3x3 - twice the size - 3x3 - relu: features -> 1x1 - relu: relative depth
//   coarsest map -> 1x1 -> centres, embedding;  each sum -> embedding -> attractors -> centres move
//   features, relative depth, embedding -> binomial distribution over the bins;  depth: its mean over the centres
#include <math.h>

#include "arch/family/dpt.h"

enum { SIZES = 4, SEED = 256, PROJECTED = 128 }; // sums that pull; inner widths of the class

// spec.own of the family.
struct zoedepth {
	struct dpt dpt; // the readout and the neck
	int64_t bins, embedding, relative;
	const int64_t *attractors; // [SIZES]
	bool summed;               // pulls are added, not averaged
	double least, most;        // temperature
};

static void resolve_bins(struct config *c, struct zoedepth *o, struct arena *a)
{
	const json_t *bins = config_get(c, "bin_configurations");
	int64_t count = 0;
	if (bins && json_array_size(bins) != 1)
		config_fail(c, STATUS_UNSUPPORTED, "bin_configurations: several ranges of depths are not supported yet");
	if (!text_is(config_text(c, "bin_centers_type"), "softplus"))
		config_fail(c, STATUS_UNSUPPORTED, "bin_centers_type other than softplus is not supported yet");
	const json_t *said = json_object_get(json_array_get(bins, 0), "n_bins");
	o->bins = bins ? json_integer_value(said) : 64;
	o->embedding = config_size(c, "bin_embedding_dim", 128);
	o->relative = config_size(c, "num_relative_features", 32);
	o->attractors = config_sizes(c, "num_attractors", a, 0, &count);
	bool fits = o->bins > 1 && o->bins <= 1 << 16 && o->embedding > 0 && o->relative > 0 && o->attractors && count >= SIZES;
	for (int64_t i = 0; fits && i < SIZES; i++)
		fits = o->attractors[i] > 0;
	const char *kind = config_text(c, "attractor_kind");
	o->summed = text_is(kind, "sum");
	o->least = config_real(c, "min_temp", 0.0212);
	o->most = config_real(c, "max_temp", 50);
	if (!c->error.status && (!fits || (kind && !o->summed && !text_is(kind, "mean"))))
		config_fail(c, STATUS_BAD_INPUT,
			"bin_configurations, bin_embedding_dim, num_relative_features, num_attractors or "
			"attractor_kind cannot be so");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct zoedepth *o = ARENA_NEW(a, struct zoedepth);
	struct neck *n = &o->dpt.neck;
	*o = (struct zoedepth){ .dpt = { .backbone = true, .projected = config_bool(c, "add_projection", false) } };
	s->own = o;
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	resolve_neck(c, a, n, "neck_hidden_sizes");
	n->batch_norm = config_bool(c, "use_batch_norm_in_fusion_residual", false);
	n->bias = config_bool(c, "use_bias_in_fusion_residual", !n->batch_norm);
	resolve_bins(c, o, a);
	const char *readout = config_text(c, "readout_type");
	if (readout && !text_is(readout, "project"))
		config_fail(c, STATUS_UNSUPPORTED, "readout_type %s: the class itself cannot run so", readout);
	if (n->batch_norm && config_real(c, "batch_norm_eps", 1e-5) != 1e-5)
		config_fail(c, STATUS_UNSUPPORTED, "batch_norm_eps other than 1e-5 is not supported yet");
	if (!c->error.status &&
		(n->states != SIZES || config_size(c, "bottleneck_features", 256) != n->width ||
			(o->dpt.projected && n->width != 256)))
		config_fail(c, STATUS_BAD_INPUT,
			"four neck_hidden_sizes, and bottleneck_features as fusion_hidden_size (256 with "
			"add_projection) should be there");
	const char *const roots[] = { "backbone.", NULL };
	struct spec *p =
		c->error.status ? NULL : resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
	if (!p || !part_is_usual(c, s, "backbone"))
		return;
	if (p->out_count != n->states)
		config_fail(c, STATUS_BAD_INPUT, "a backbone of %lld states for %lld of neck_hidden_sizes",
			(long long)p->out_count, (long long)n->states);
	resolve_backbone_image(s, p);
}

static const struct zoedepth *own(const struct build *b)
{
	return b->s->own;
}

// Two 1x1 with relu between: STEM.1, STEM.2
static graph_value points(struct build *b, const char *stem, graph_value x, int64_t inner, int64_t out)
{
	struct arena *a = graph_arena(b->g);
	x = conv(b, arena_printf(a, "%s.1", stem), x, (struct conv){ .out = inner, .kernel = 1, .bias = true });
	x = op_relu(b->g, x);
	return conv(b, arena_printf(a, "%s.2", stem), x, (struct conv){ .out = out, .kernel = 1, .bias = true });
}

static graph_value fitted(struct build *b, graph_value x, graph_value like)
{
	return neck_resize(b, x, op_dim(b->g, like, 2), op_dim(b->g, like, 3));
}

// Centres [batch, bins, ..] at the size of `seen` [batch, embedding, height, width], each pulled towards the attractors there by
// d / (1 + 300 d^2), d the distance (formula 3).
static graph_value pulled(struct build *b, graph_value centres, graph_value seen)
{
	struct graph *g = b->g;
	graph_value towards = op_softplus(g, points(b, "metric.attract", seen, own(b)->embedding, own(b)->attractors[b->layer]));
	centres = fitted(b, centres, seen);
	graph_value far = op_sub(g, op_unsqueeze(g, towards, 2), op_unsqueeze(g, centres, 1)); // [batch, attractors, bins, ..]
	graph_value less = op_add(g, op_scale(g, op_mul(g, far, far), 300), graph_f32(g, 1));
	graph_value pull = op_div(g, far, less);
	pull = own(b)->summed ? op_reduce_sum(g, pull, 1, false) : op_reduce_mean(g, pull, 1, false);
	return op_add(g, centres, pull);
}

// The first of two channels' share of both, which are above 0: x [batch, 2, height, width] -> [batch, 1, height, width]
static graph_value share(struct graph *g, graph_value x)
{
	x = op_add(g, x, graph_f32(g, 1e-4f));
	return op_div(g, op_slice(g, x, 1, 0, 1), op_reduce_sum(g, x, 1, true));
}

static graph_value clamped_log(struct graph *g, graph_value x)
{
	return op_log(g, op_min(g, op_max(g, x, graph_f32(g, 1e-4f)), graph_f32(g, 1)));
}

// Shares of the bins, a binomial distribution with a temperature: [batch, bins, height, width]. The logarithm of "n over k" is
// Stirling's, with the class's own epsilons.
static graph_value distribution(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct zoedepth *o = own(b);
	int64_t n = o->bins, shape[] = { n, 1, 1 }, in = value_dim(g, x, 1);
	x = conv(b, "metric.shares.1", x, (struct conv){ .out = in / 2, .kernel = 1, .bias = true });
	x = conv(b, "metric.shares.2", op_gelu(g, x), (struct conv){ .out = 4, .kernel = 1, .bias = true });
	x = op_softplus(g, x);
	graph_value p = share(g, op_slice(g, x, 1, 0, 2)), heat = share(g, op_slice(g, x, 1, 2, 4));
	heat = op_add(g, op_scale(g, heat, (float)(o->most - o->least)), graph_f32(g, (float)o->least));
	float *chosen = GRAPH_TABLE(g, NULL, n, 1, float), *yes = GRAPH_TABLE(g, NULL, n, 1, float),
	      *no = GRAPH_TABLE(g, NULL, n, 1, float);
	for (int64_t k = 0; chosen && yes && no && k < n; k++) {
		float all = (float)(n - 1) + 1e-7f, some = (float)k + 1e-7f;
		yes[k] = (float)k, no[k] = (float)(n - 1 - k);
		chosen[k] = all * logf(all) - some * logf(some) - (all - some) * logf(all - some + 1e-7f);
	}
	graph_value y = op_mul(g, graph_constant(g, DTYPE_F32, 3, shape, yes), clamped_log(g, p));
	graph_value rest = clamped_log(g, op_sub(g, graph_f32(g, 1), p));
	y = op_add(g, graph_constant(g, DTYPE_F32, 3, shape, chosen), y);
	y = op_add(g, y, op_mul(g, graph_constant(g, DTYPE_F32, 3, shape, no), rest));
	return op_softmax(g, op_div(g, y, heat), 1);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct zoedepth *o = own(b);
	int64_t count, w = o->dpt.neck.width;
	graph_value pixels = pixel_input(b, s->channels, s->image_size, s->image_width), sums[SIZES], coarsest;
	const graph_value *states = backbone_features(b, "backbone", pixels, &count);
	if (graph_failed(g))
		return;
	if (value_rank(g, states[0]) != 3) {
		graph_fail(g, STATUS_UNSUPPORTED,
			"%s: backbone_config.reshape_hidden_states: true: the class itself cannot run so", b->c->path);
		return;
	}
	graph_value x = neck_fuse_all(b, &o->dpt.neck, dpt_maps(b, pixels, states), NO_VALUE, sums, &coarsest);
	if (graph_failed(g))
		return;
	if (o->dpt.projected)
		x = op_relu(g, conv(b, "head.project", x, (struct conv){ .out = w, .kernel = 3, .bias = true }));
	x = neck_doubled(b, conv(b, "head.depth.1", x, (struct conv){ .out = w / 2, .kernel = 3, .bias = true }));
	x = op_relu(g, conv(b, "head.depth.2", x, (struct conv){ .out = o->relative, .kernel = 3, .bias = true }));
	graph_value relative = op_relu(g, conv(b, "head.depth.3", x, (struct conv){ .out = 1, .kernel = 1, .bias = true }));
	graph_enter(g, "metric");
	graph_value seed = conv(b, "metric.conv", coarsest, (struct conv){ .out = w, .kernel = 1, .bias = true });
	graph_value centres = op_softplus(g, points(b, "metric.seed", seed, SEED, o->bins));
	graph_value before = points(b, "metric.seed.embed", seed, PROJECTED, o->embedding);
	for (b->layer = 0; b->layer < SIZES && !graph_failed(g); b->layer++) {
		graph_value now = points(b, "metric.embed", sums[b->layer], PROJECTED, o->embedding);
		centres = pulled(b, centres, op_add(g, now, fitted(b, before, now)));
		before = now;
	}
	graph_value all[] = { x, relative, fitted(b, before, x) };
	graph_value shares = distribution(b, op_concat(g, 3, all, 1));
	graph_value depth = op_reduce_sum(g, op_mul(g, shares, fitted(b, centres, x)), 1, false);
	graph_leave(g);
	graph_output(g, "predicted_depth", depth); // [batch, height, width]
}

static const struct family_head heads[] = { { &head_depth }, { 0 } };

const struct family zoedepth = {
	.name = "zoedepth",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
