// SPDX-License-Identifier: Apache-2.0
// GroupViT's vision tower: patches are assigned to a few groups, and these to fewer (Xu et al. 2022,
// https://arxiv.org/abs/2202.11094).
//
//   pixels -> patches - norm + positions -> stages -> norm -> mean
//   stage:  [x, group tokens (+ what the ones before become)] -> layers -> x and group tokens apart -> each of x to one group
#include <math.h>

#include "arch/block/image.h"

struct groups {
	int64_t stages;
	const int64_t *depths, *tokens, *out; // [stages]; tokens 0: nothing is grouped there
	double epsilon, ratios[2];
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct groups *o = ARENA_NEW(a, struct groups);
	s->own = o;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	o->depths = config_sizes(c, "depths", a, 0, &o->stages);
	if (!c->error.status && (!o->depths || o->stages < 1 || o->stages > 16))
		config_fail(c, STATUS_BAD_INPUT, "depths should be a list of at most 16 numbers");
	if (c->error.status)
		return;
	o->tokens = resolve_stages(c, "num_group_tokens", a, o->stages, 0);
	o->out = resolve_stages(c, "num_output_groups", a, o->stages, 0);
	o->epsilon = config_real(c, "assign_eps", 1);
	const json_t *ratios = config_get(c, "assign_mlp_ratio");
	for (size_t i = 0; i < 2; i++)
		o->ratios[i] = json_number_value(json_is_array(ratios) ? json_array_get(ratios, i) : ratios);
	for (int64_t i = 1; i < o->stages && !c->error.status; i++)
		if (o->tokens[i] && o->tokens[i - 1] != o->out[i - 1])
			config_fail(c, STATUS_BAD_INPUT, "stage %lld begins with %lld groups, after %lld group tokens",
				(long long)i, (long long)o->out[i - 1], (long long)o->tokens[i - 1]);
	int64_t all = 0;
	for (int64_t i = 0; i < o->stages && !c->error.status; i++)
		all += o->depths[i] <= CONFIG_COUNT_MOST ? o->depths[i] : CONFIG_COUNT_MOST + 1;
	if (!c->error.status &&
		(all != s->layers || s->patch_size != s->patch_width || !(o->ratios[0] > 0) || !(o->ratios[1] > 0)))
		config_fail(c, STATUS_BAD_INPUT, "%lld layers in depths, %lld in num_hidden_layers, or assign_mlp_ratio below 0",
			(long long)all, (long long)s->layers);
}

static graph_value mlp(struct build *b, const char *stem, graph_value x, int64_t in, int64_t inner, int64_t out)
{
	struct arena *a = graph_arena(b->g);
	x = activate(b, b->s->act, linear(b, arena_printf(a, "%s.up", stem), x, in, inner, true));
	return linear(b, arena_printf(a, "%s.down", stem), x, inner, out, true);
}

// The same over the tokens: x [batch, in, hidden] -> [batch, out, hidden]
static graph_value mix(struct build *b, const char *stem, graph_value x, int64_t in, int64_t inner, int64_t out)
{
	x = mlp(b, stem, op_transpose(b->g, x, 3, (int[]){ 0, 2, 1 }), in, inner, out);
	return op_transpose(b->g, x, 3, (int[]){ 0, 2, 1 });
}

static graph_value attend(struct build *b, const char *stem, graph_value x, graph_value from)
{
	struct arena *a = graph_arena(b->g);
	int64_t h = b->s->hidden_size;
	graph_value q = linear(b, arena_printf(a, "%s.q", stem), x, h, h, true),
		    k = linear(b, arena_printf(a, "%s.k", stem), from, h, h, true),
		    v = linear(b, arena_printf(a, "%s.v", stem), from, h, h, true);
	graph_value y =
		op_attention(b->g, &(struct attention){ q, k, v, .heads = b->s->heads, .scale = (float)b->s->attention_scale });
	return linear(b, arena_printf(a, "%s.o", stem), y, h, h, true);
}

// Each of x goes to the group that it is most like, and a group is the mean of what came: groups [batch, n, hidden].
static graph_value assign(struct build *b, graph_value groups, graph_value x, int64_t n)
{
	struct graph *g = b->g;
	const struct groups *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value q = linear(b, "assign.q", groups, h, h, true), k = linear(b, "assign.k", x, h, h, true),
		    v = linear(b, "assign.v", x, h, h, true);
	graph_value scores = op_matmul(g, q, op_transpose(g, k, 3, (int[]){ 0, 2, 1 })); // [batch, n, tokens]
	graph_value best = op_argmax(g, scores, 1, true);                                // [batch, 1, tokens]
	int64_t *numbers = GRAPH_TABLE(g, NULL, n, 1, int64_t);
	for (int64_t i = 0; numbers && i < n; i++)
		numbers[i] = i;
	graph_value each = graph_constant(g, DTYPE_I64, 3, (int64_t[]){ 1, n, 1 }, numbers);
	graph_value share = op_cast(g, op_equal(g, best, each), DTYPE_F32);
	graph_value count = op_add(g, op_reduce_sum(g, share, -1, true), graph_f32(g, (float)o->epsilon));
	return linear(b, "assign.o", op_matmul(g, op_div(g, share, count), v), h, h, true);
}

static graph_value grouped(struct build *b, graph_value x, graph_value tokens, int64_t count, int64_t out)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct groups *o = s->own;
	int64_t h = s->hidden_size;
	graph_enter(g, "group");
	b->layer = b->stage; // stems with one number
	tokens = layer_norm(b, "group.norm", tokens, h);
	x = layer_norm(b, "group.x.norm", x, h);
	graph_value y = mix(b, "group.mix", tokens, count, (int64_t)(o->ratios[0] * (double)h), out);
	y = layer_norm(b, "group.mix.norm", y, h);
	y = op_add(g, y, attend(b, "look", y, x));
	y = op_add(g, y, mlp(b, "look", layer_norm(b, "look.norm", y, h), h, s->ffn_size, h));
	y = layer_norm(b, "look.last", y, h);
	y = op_add(g, assign(b, y, x, out), y);
	y = op_add(g, y, mlp(b, "group", layer_norm(b, "group.new.norm", y, h), h, (int64_t)(o->ratios[1] * (double)h), h));
	graph_leave(g);
	return y;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct groups *o = s->own;
	int64_t h = s->hidden_size, p = s->patch_size, patches = (s->image_size / p) * (s->image_width / p), before = 0;
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p), groups = NO_VALUE;
	graph_value x = op_conv(g, io->pixels, w, WEIGHT(b, "embed.patch", "bias", h), (int64_t[]){ p, p },
		(int64_t[]){ 0, 0, 0, 0 }, (int64_t[]){ 1, 1 }, 1);
	x = layer_norm(b, "embed.norm", tokens_of(b, x), h);
	x = op_add(g, x, WEIGHT(b, "embed.position", "", 1, patches, h));
	for (b->stage = 0; b->stage < o->stages && !graph_failed(g); b->stage++) {
		int64_t stage = b->stage, count = o->tokens[stage], length = patches;
		graph_enter(g, "stages.%lld", (long long)stage);
		if (count) {
			b->layer = stage;
			graph_value own = each_image(b, WEIGHT(b, "group.token", "", 1, count, h), x);
			if (before)
				own = op_add(g, own,
					mix(b, "group.before", layer_norm(b, "group.before.norm", groups, h), before, h / 2,
						count));
			x = op_concat(g, 2, (graph_value[]){ x, own }, 1);
		}
		for (b->layer = 0; b->layer < o->depths[stage] && !graph_failed(g); b->layer++) {
			graph_enter(g, "layers.%lld", (long long)b->layer);
			x = prenorm_layer(b, x, NO_VALUE);
			graph_leave(g);
		}
		groups = count ? op_slice(g, x, 1, length, length + count) : groups;
		if (count) {
			x = grouped(b, op_slice(g, x, 1, 0, length), groups, count, o->out[stage]);
			patches = o->out[stage];
		}
		before = count;
		graph_leave(g);
	}
	io->last = layer_norm(b, "norm", x, h);
	io->pooled = op_reduce_mean(g, io->last, 1, false);
}

static const struct family_head heads[] = { { &head_model }, { 0 } };

const struct family groupvit = {
	.name = "groupvit",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
};
