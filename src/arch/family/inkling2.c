// SPDX-License-Identifier: Apache-2.0
// Inkling 2: Inkling's convolutions and bias by distance, with experts in every layer. There is no residual sum over the whole
// depth: each branch reads what a learned query finds among earlier blocks of layers and the sum of its own block so far
// (attention over depth). Layers without a window look apart for queries, keys and values, and their convolutions are partly
// made by each token.
//
//   ids -> tokens - norm -> layers -> look - norm - head
//   layer:  sum, blocks - look - norm - attention - conv -(+)- look - norm - experts - conv -(+)-> sum
//           every so many layers the sum becomes a block, and a new one begins
#include <math.h>

#include "arch/family/inkling.h"

// Block sums before this one, normed: each [batch, seq, hidden].
struct depth {
	graph_value *block;
	int64_t count;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	inkling_resolve(c, s, a);
	if (c->error.status)
		return;
	struct moe *m = ARENA_NEW(a, struct moe);
	struct inkling *o = s->own;
	*m = (struct moe){ .experts = config_size(c, "n_routed_experts", 384),
		.top_k = config_size(c, "num_experts_per_tok", 8),
		.width = s->ffn_size,
		.scale = config_real(c, "route_scale", 8),
		.sigmoid = true,
		.normalise = true,
		.gate_cap = config_real(c, "mlp_gate_softcap", 4),
		.up_cap = config_real(c, "mlp_up_softcap", 25) };
	s->moe = m;
	s->logit_softcap = config_real(c, "final_logit_softcapping", 30);
	o->query_most = config_real(c, "qk_l2_clip_threshold", 22.627416997969522);
	o->profile_most = config_real(c, "rel_l2_clip_threshold", 8);
	o->block = config_size(c, "n_layers_per_attn_res_block", 6);
	const char *score = config_text(c, "scoring_func");
	if (score && !text_is(score, "sigmoid"))
		config_fail(c, STATUS_UNSUPPORTED, "scoring_func %s is not supported yet", score);
	if (o->block < 1 || m->experts < 1 || m->top_k < 1 || m->top_k > m->experts || m->gate_cap <= 0 || m->up_cap <= 0 ||
		s->logit_softcap <= 0 || o->query_most <= 0 || o->profile_most <= 0)
		config_fail(c, STATUS_BAD_INPUT, "%lld of %lld experts, blocks of %lld layers, or a softcap of 0",
			(long long)m->top_k, (long long)m->experts, (long long)o->block);
	resolve_experts(c, s, m->experts, s->layers);
}

// What `count` queries, each a vector of STEM, find among the blocks and the sum x: out[count], each [batch, seq, hidden].
static void look(struct build *b, const char *stem, const struct depth *d, graph_value x, int64_t count, graph_value *out)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value *all = ARENA_ARRAY(graph_arena(g), (size_t)d->count + 1, graph_value);
	for (int64_t i = 0; i <= d->count; i++) {
		graph_value y = i < d->count ? d->block[i] : op_rms_norm(g, x, ones_of(b, h), 1e-6f);
		all[i] = op_unsqueeze(g, y, 2);
	}
	graph_value seen = d->count ? op_concat(g, (int)d->count + 1, all, 2) : all[0]; // [batch, seq, sums, hidden]
	graph_value scores = count > 1 ? op_linear(g, seen, WEIGHT(b, stem, "", count, h), NO_VALUE)
				       : op_matmul(g, seen, op_unsqueeze(g, WEIGHT(b, stem, "", h), 1)); // [.., sums, count]
	scores = op_softmax(g, op_scale(g, scores, (float)(1 / sqrt((double)h))), 2);
	graph_value found = op_matmul(g, op_transpose(g, scores, 4, (int[]){ 0, 1, 3, 2 }), seen);
	for (int64_t i = 0; i < count; i++)
		out[i] = op_squeeze(g, op_slice(g, found, 2, i, i + 1), 2);
}

// x [.., width], shortened to `most` where it is longer
static graph_value clipped(struct build *b, graph_value x, double most)
{
	struct graph *g = b->g;
	graph_value length = op_add(g, op_reduce_l2(g, x, -1, true), graph_f32(g, 1e-6f));
	return op_mul(g, x, op_min(g, op_div(g, graph_f32(g, (float)most), length), graph_f32(g, 1)));
}

// STEM's heads of x, times a learned scale, clipped: [batch, seq, heads, width]
static graph_value scaled_heads(
	struct build *b, const char *stem, const char *scale, graph_value x, int64_t heads, int64_t width, double most)
{
	struct graph *g = b->g;
	x = linear(b, stem, x, b->s->hidden_size, heads * width, false);
	x = op_mul(g, op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width }), WEIGHT(b, scale, "", heads, width));
	return clipped(b, x, most);
}

// (x + its convolution) / sqrt(taps + 1)
static graph_value with_convolution(
	struct build *b, struct body *io, const char *stem, graph_value x, int which, const struct inkling_shared *p)
{
	double taps = (double)((const struct inkling *)b->s->own)->kernel;
	graph_value sum = op_add(b->g, inkling_convolve(b, io, stem, x, which, p), x);
	return op_scale(b->g, sum, (float)(1 / sqrt(taps + 1)));
}

// The same, whose taps are a channel's own plus what `maker` makes for all channels of a head: (x + it) / sqrt(2 taps + 1). Tap 0
// is of the token itself, tap 1 of the one before.
static graph_value with_made_convolution(struct build *b, struct body *io, const char *stem, graph_value x, graph_value maker,
	int which, const struct inkling_shared *p)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	const struct heads n = heads_of(b->s, b->layer);
	int64_t taps = ((const struct inkling *)b->s->own)->kernel, layer = b->layer, channels = n.kv_heads * n.width;
	graph_value made = WEIGHT(b, arena_printf(a, "%s.made", stem), "", n.kv_heads * taps, b->s->hidden_size);
	made = op_reshape(g, op_linear(g, maker, made, NO_VALUE), 4, (int64_t[]){ 0, 0, n.kv_heads, taps });
	graph_value fixed = WEIGHT(b, arena_printf(a, "%s.fixed", stem), "", taps, channels), sum = x;
	graph_value all = op_mul(g, x, p->tokens), seq = op_dim(g, x, 1);
	if (taps > 1) {
		b->layer = CONVS * layer + which; // whose state it is
		graph_value before = state_before(b, io, "conv", x, 2, (int64_t[]){ channels, taps - 1 });
		all = op_concat(g, 2, (graph_value[]){ op_transpose(g, before, 3, (int[]){ 0, 2, 1 }), all }, 1);
		graph_value last = op_slice(g, all, 1, 1 - taps, INT64_MAX);
		graph_assume(g, last, 1, taps - 1);
		state_after(b, io, "conv", op_transpose(g, last, 3, (int[]){ 0, 2, 1 }));
		b->layer = layer;
	}
	for (int64_t back = 0; back < taps && !graph_failed(g); back++) {
		graph_value from = graph_i64s(g, 1, (int64_t[]){ taps - 1 - back });
		graph_value window = op_slice_to(g, all, 1, from, op_add(g, from, seq));
		graph_assume(g, window, 1, value_dim(g, x, 1));
		graph_value own = op_reshape(g, op_slice(g, fixed, 0, back, back + 1), 2, (int64_t[]){ n.kv_heads, n.width });
		graph_value tap = op_add(g, op_slice(g, made, 3, back, back + 1), own); // [batch, seq, kv_heads, width]
		sum = op_add(g, sum, op_mul(g, window, op_reshape(g, tap, 3, (int64_t[]){ 0, 0, channels })));
	}
	return op_scale(g, sum, (float)(1 / sqrt((double)(2 * taps + 1))));
}

// Keys or values [batch, seq, kv_heads * width]; from [batch, seq, hidden], normed
static graph_value convolved(
	struct build *b, struct body *io, const char *stem, graph_value from, int which, const struct inkling_shared *p)
{
	const struct heads n = heads_of(b->s, b->layer);
	const char *conv = arena_printf(graph_arena(b->g), "%s_conv", stem);
	graph_value x = linear(b, stem, from, b->s->hidden_size, n.kv_heads * n.width, false);
	return b->s->sliding[b->layer] ? with_convolution(b, io, conv, x, which, p)
				       : with_made_convolution(b, io, conv, x, from, which, p);
}

// One more key of zeros for every query, with a bias that the token says: it takes a share and gives nothing.
static void add_sink(struct build *b, graph_value x, int64_t heads, graph_value *k, graph_value *v, graph_value *bias)
{
	struct graph *g = b->g;
	int axis = value_rank(g, *k) == 4 ? 2 : 1; // after a cache [batch, heads, keys, width]
	graph_value sink = linear(b, "layers.attn.sink", x, b->s->hidden_size, heads, false);
	sink = op_unsqueeze(g, op_transpose(g, sink, 3, (int[]){ 0, 2, 1 }), 3); // [batch, heads, seq, 1]
	graph_value zero = op_scale(g, op_slice(g, *k, axis, 0, 1), 0);
	*k = op_concat(g, 2, (graph_value[]){ *k, zero }, axis);
	*v = op_concat(g, 2, (graph_value[]){ *v, zero }, axis);
	*bias = op_concat(g, 2, (graph_value[]){ *bias, sink }, 3);
}

// from: what queries, keys and values are made of, normed
static graph_value attention(struct build *b, struct body *io, const graph_value from[3], const struct inkling_shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct inkling *o = s->own;
	const struct heads n = heads_of(s, b->layer);
	bool window = s->sliding[b->layer];
	int64_t h = s->hidden_size, width = n.heads * n.width, keys = n.kv_heads * n.width;
	const int64_t by_head[] = { 0, 0, n.kv_heads, n.width };
	graph_value x = from[0];
	graph_value q = scaled_heads(b, "layers.attn.q", "layers.attn.q_clip", x, n.heads, n.width, o->query_most);
	q = op_reshape(g, q, 3, (int64_t[]){ 0, 0, width });
	graph_value k = convolved(b, io, "layers.attn.k", from[1], K_CONV, p),
		    v = convolved(b, io, "layers.attn.v", from[2], V_CONV, p);
	k = op_reshape(g, clipped(b, op_reshape(g, k, 4, by_head), o->query_most), 3, (int64_t[]){ 0, 0, keys });
	v = op_rms_norm(g, op_reshape(g, v, 4, by_head), ones_of(b, n.width), (float)s->norm_eps);
	v = op_reshape(g, v, 3, (int64_t[]){ 0, 0, keys });
	graph_value r =
		scaled_heads(b, "layers.attn.relative", "layers.attn.relative_clip", x, n.heads, o->relative, o->profile_most);
	graph_value bias = inkling_bias(b, r, p);
	if (!window && p->growth.id) {
		q = op_mul(g, q, p->growth);
		bias = op_mul(g, bias, op_unsqueeze(g, p->growth, 1));
	}
	if (io->cache)
		cache_extend(b, io->cache, &k, &v, n.kv_heads, n.width, n.width);
	bias = op_add(g, bias, p->bias[window]);
	add_sink(b, x, n.heads, &k, &v, &bias);
	graph_value y = op_attention(g,
		&(struct attention){ q, k, v, .bias = bias, .heads = n.heads, .kv_heads = n.kv_heads,
			.scale = (float)(1 / sqrt((double)n.width)) });
	y = op_mul(g, y, op_sigmoid(g, linear(b, "layers.attn.gate", x, h, width, false)));
	return linear(b, "layers.attn.o", y, width, h, false);
}

static graph_value attention_branch(
	struct build *b, struct body *io, graph_value x, const struct depth *d, const struct inkling_shared *p)
{
	int64_t h = b->s->hidden_size, layer = b->layer;
	bool window = b->s->sliding[layer];
	graph_value from[3] = { x, x, x };
	if (layer) {
		b->layer = layer - 1;
		look(b, "residual.attn", d, x, window ? 1 : 3, from);
		b->layer = layer;
	}
	static const char *const stems[] = { "layers.attn.norm_of_q", "layers.attn.norm_of_k", "layers.attn.norm_of_v" };
	for (int i = 0; i < 3 && !window; i++)
		from[i] = rms_norm(b, stems[i], from[i], h);
	if (window)
		from[0] = from[1] = from[2] = rms_norm(b, "layers.attn.norm", from[0], h);
	return with_convolution(b, io, "layers.attn.conv", attention(b, io, from, p), ATTENTION_CONV, p);
}

static graph_value layer(struct build *b, struct body *io, graph_value x, struct depth *d, const struct inkling_shared *p)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "attn");
	graph_value y = attention_branch(b, io, x, d, p);
	if (b->layer % ((const struct inkling *)b->s->own)->block == 0) {
		d->block[d->count++] = op_rms_norm(g, x, ones_of(b, h), 1e-6f);
		x = y;
	} else
		x = op_add(g, x, y);
	graph_leave(g);
	graph_enter(g, "ffn");
	look(b, "residual.ffn", d, x, 1, &y);
	y = rms_norm(b, "layers.ffn.norm", y, h);
	y = weighed_experts(b, y, route(b, "layers.moe", y));
	x = op_add(g, x, with_convolution(b, io, "layers.ffn.conv", y, FFN_CONV, p));
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	struct depth d = { .block = ARENA_ARRAY(graph_arena(g), (size_t)s->layers + 1, graph_value) };
	graph_value x =
		io->embeds.id ? io->embeds : rms_norm(b, "embed.norm", embedding(b, "embed.word", io->ids, s->vocab_size, h), h);
	struct inkling_shared p = inkling_share(b, io, x);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, io, x, &d, &p);
		graph_leave(g);
		states_add(io, x);
	}
	look(b, "residual.out", &d, x, 1, &x);
	io->last = rms_norm(b, "norm", x, h);
}

static void build(struct build *b)
{
	decoder_whole(b, CONVS * b->s->layers, body);
}

const struct family inkling2 = {
	.name = "inkling2",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = inkling_heads,
	.any_heads = true,
};
