// SPDX-License-Identifier: Apache-2.0
// ZAYA: compressed convolutional attention (https://arxiv.org/abs/2510.04476) and experts in every layer. Queries and keys come
// out of two causal convolutions, the second within each head, beside which they are mixed with each other; half of the values
// are those of the token before. The router's own states go from layer to layer, and its last choice is to do nothing.
//
//   layer:  x -+- norm - attention -(+)-+- norm - experts -(+)-       sums: (y + b) w + (x + c) v
//              +---------------------+  +-------------------+
#include <float.h>
#include <math.h>

#include "arch/block/recurrent.h"
#include "arch/spec.h"

struct zaya {
	int64_t router, kernel[2]; // width of the router's states; of both convolutions
};

enum { MIXED, BEFORE, STATES }; // queries and keys, and what the values of the token before are made from

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct zaya *o = s->own = ARENA_NEW(a, struct zaya);
	struct moe *m = ARENA_NEW(a, struct moe);
	resolve_transformer(c, s, false);
	if (c->error.status)
		return;
	const json_t *words = config_get(c, "layer_types");
	bool *sliding = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	s->sliding_window = config_size(c, "sliding_window", 0);
	if (words && json_array_size(words) != (size_t)s->layers)
		config_fail(c, STATUS_BAD_INPUT, "layer_types should name %lld layers", (long long)s->layers);
	for (size_t i = 0; i < (size_t)s->layers && words; i++) {
		const char *word = json_string_value(json_array_get(words, i));
		sliding[i] = text_is(word, "hybrid_sliding");
		if (!sliding[i] && !text_is(word, "hybrid"))
			config_fail(c, STATUS_UNSUPPORTED, "layers of type %s are not supported yet", word ? word : "?");
		if (sliding[i] && s->sliding_window < 1)
			config_fail(c, STATUS_BAD_INPUT, "layers with a window, and no sliding_window");
	}
	s->sliding = sliding;
	resolve_rope(c, s, a);
	s->traits.qkv_bias = s->traits.out_bias = config_bool(c, "attention_bias", false);
	s->traits.lm_bias = config_bool(c, "lm_head_bias", false);
	*m = (struct moe){ .experts = config_size(c, "num_experts", 16),
		.top_k = config_size(c, "num_experts_per_tok", 1),
		.width = config_size(c, "moe_intermediate_size", 2048) };
	s->moe = m;
	*o = (struct zaya){ .router = config_size(c, "router_hidden_size", 256),
		.kernel = { config_count(c, "cca_time0", 2), config_count(c, "cca_time1", 2) } };
	if (!c->error.status &&
		(m->experts < 1 || m->top_k != 1 || m->width < 1 || o->router < 1 || o->kernel[0] < 1 || o->kernel[1] < 1 ||
			s->kv_heads * s->head_width % 2))
		config_fail(c, STATUS_BAD_INPUT, "%lld of %lld experts, convolutions over %lld and %lld", (long long)m->top_k,
			(long long)m->experts, (long long)o->kernel[0], (long long)o->kernel[1]);
	resolve_experts(c, s, m->experts, s->layers);
}

struct shared {
	graph_value bias[2], cos[2], sin[2]; // of layers without a window and with one
	graph_value tokens;                  // mask_of_new
};

// (y + bias) * scale + (x + bias) * scale
static graph_value residual(struct build *b, const char *stem, graph_value x, graph_value y)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	y = op_mul(g, op_add(g, y, WEIGHT(b, stem, "hidden_states_bias", h)), WEIGHT(b, stem, "hidden_states_scale", h));
	x = op_mul(g, op_add(g, x, WEIGHT(b, stem, "residual_bias", h)), WEIGHT(b, stem, "residual_scale", h));
	return op_add(g, y, x);
}

// x [batch, seq, width] behind the last `count` of the tokens before it, in the layer's state of this number
static graph_value behind(struct build *b, struct body *io, graph_value x, int64_t count, int which)
{
	struct graph *g = b->g;
	int64_t layer = b->layer, width = value_dim(g, x, 2);
	if (!count)
		return x;
	b->layer = STATES * layer + which;
	graph_value before = state_before(b, io, "conv", x, 2, (int64_t[]){ width, count });
	graph_value all = op_concat(g, 2, (graph_value[]){ op_transpose(g, before, 3, (int[]){ 0, 2, 1 }), x }, 1);
	graph_value last = op_transpose(g, op_slice(g, all, 1, -count, INT64_MAX), 3, (int[]){ 0, 2, 1 });
	graph_assume(g, last, 2, count);
	state_after(b, io, "conv", last);
	b->layer = layer;
	return all;
}

// Both convolutions of queries and keys side by side: [batch, seq, (heads + kv_heads) * width]
static graph_value convolved(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct zaya *o = s->own;
	int64_t all = s->heads + s->kv_heads, channels = all * s->head_width, seq = value_dim(g, x, 1);
	const int64_t one = 1, none[] = { 0, 0 };
	x = behind(b, io, x, o->kernel[0] + o->kernel[1] - 2, MIXED);
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	x = op_conv(g, x, WEIGHT(b, "layers.attn.each", "weight", channels, 1, o->kernel[0]),
		WEIGHT(b, "layers.attn.each", "bias", channels), &one, none, &one, channels);
	x = op_conv(g, x, WEIGHT(b, "layers.attn.heads", "weight", channels, s->head_width, o->kernel[1]),
		WEIGHT(b, "layers.attn.heads", "bias", channels), &one, none, &one, all);
	graph_assume(g, x, 2, seq);
	return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
}

// Each head of length sqrt(width): x [batch, seq, heads, width]
static graph_value of_length(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	graph_value length = op_max(g, op_reduce_l2(g, x, 3, true), graph_f32(g, FLT_EPSILON));
	return op_div(g, op_scale(g, x, (float)sqrt((double)b->s->head_width)), length);
}

// Queries and keys [batch, seq, heads * width], normed
static void queries_and_keys(struct build *b, struct body *io, graph_value x, graph_value *q, graph_value *k)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t d = s->head_width, h = s->hidden_size, wide = s->heads * d, narrow = s->kv_heads * d,
		group = s->heads / s->kv_heads;
	bool bias = s->traits.qkv_bias;
	graph_value a = linear(b, "layers.attn.q", x, h, wide, bias), c = linear(b, "layers.attn.k", x, h, narrow, bias);
	graph_value both = convolved(b, io, op_concat(g, 2, (graph_value[]){ a, c }, 2));
	// Each query with its key, and each key with the mean of those
	a = op_reshape(g, a, 5, (int64_t[]){ 0, 0, s->kv_heads, group, d });
	c = op_reshape(g, c, 5, (int64_t[]){ 0, 0, s->kv_heads, 1, d });
	graph_value mixed = op_scale(g, op_add(g, a, c), 0.5f), mean = op_reduce_mean(g, mixed, 3, false); // [batch, seq, kv, d]
	a = op_reshape(g, op_slice(g, both, 2, 0, wide), 4, (int64_t[]){ 0, 0, s->heads, d });
	c = op_reshape(g, op_slice(g, both, 2, wide, wide + narrow), 4, (int64_t[]){ 0, 0, s->kv_heads, d });
	a = of_length(b, op_add(g, a, op_reshape(g, mixed, 4, (int64_t[]){ 0, 0, s->heads, d })));
	c = op_mul(g, of_length(b, op_add(g, c, mean)), op_unsqueeze(g, WEIGHT(b, "layers.attn.key_scale", "", s->kv_heads), 1));
	*q = op_reshape(g, a, 3, (int64_t[]){ 0, 0, wide });
	*k = op_reshape(g, c, 3, (int64_t[]){ 0, 0, narrow });
}

static graph_value attention(struct build *b, struct body *io, graph_value x, const struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool window = s->sliding[b->layer];
	int64_t h = s->hidden_size, half = s->kv_heads * s->head_width / 2;
	graph_value q, k;
	x = op_mul(g, x, p->tokens);
	queries_and_keys(b, io, x, &q, &k);
	q = rope_turn(b, q, p->cos[window], p->sin[window], s->heads);
	k = rope_turn(b, k, p->cos[window], p->sin[window], s->kv_heads);
	graph_value before = op_slice(g, behind(b, io, x, 1, BEFORE), 1, 0, -1);
	graph_assume(g, before, 1, value_dim(g, x, 1));
	graph_value v[] = { linear(b, "layers.attn.v", x, h, half, s->traits.qkv_bias),
		linear(b, "layers.attn.v_before", before, h, half, s->traits.qkv_bias) };
	graph_value both = op_concat(g, 2, v, 2);
	if (io->cache)
		cache_extend(b, io->cache, &k, &both, s->kv_heads, s->head_width, s->head_width);
	graph_value y = op_attention(g,
		&(struct attention){ q, k, both, .bias = p->bias[window], .heads = s->heads, .kv_heads = s->kv_heads,
			.scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, s->heads * s->head_width, h, s->traits.out_bias);
}

// *state: the router's of the layer before, and then of this one
static graph_value experts(struct build *b, graph_value x, graph_value *state)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = ((const struct zaya *)s->own)->router, all = s->moe->experts + 1;
	graph_value r = linear(b, "layers.moe.in", x, s->hidden_size, n, true);
	if (state->id)
		r = op_add(g, r, op_mul(g, *state, WEIGHT(b, "layers.moe.before_scale", "", n)));
	*state = r;
	r = activate(b, ACT_GELU, linear(b, "layers.moe.first", norm(b, "layers.moe.norm_in", r, n), n, n, true));
	r = activate(b, ACT_GELU, linear(b, "layers.moe.second", r, n, n, true));
	graph_value share = op_softmax(g, linear(b, "layers.moe.router", r, n, all, false), -1);
	graph_value bias = op_slice(g, WEIGHT(b, "layers.moe.choice_bias", "", all), 0, 0, all - 1),
		    none = op_unsqueeze(g, graph_f32(g, -1), 0);
	bias = op_concat(g, 2, (graph_value[]){ bias, none }, 0); // to do nothing: the class makes it -1, whatever the file has
	graph_value choice = op_add(g, share, bias);
	return weighed_experts(b, x, op_where(g, are_greatest(g, choice, 1), share, graph_f32(g, 0)));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value x = io->embeds.id ? io->embeds : embedding(b, "embed.word", io->ids, s->vocab_size, h), state = NO_VALUE;
	x = op_mul(g, op_add(g, x, WEIGHT(b, "embed.bias", "", h)), WEIGHT(b, "embed.scale", "", h));
	struct shared p = { .tokens = mask_of_new(b, io, x) };
	for (int w = 0; w < 2; w++) {
		const struct rope *r = w ? &s->window_rope : &s->rope;
		rope_tables_of(b, r, r->dim ? r->dim : s->head_width, x, io->positions, &p.cos[w], &p.sin[w]);
		p.bias[w] = mask_causal(b, io->mask, x, w ? s->sliding_window : 0);
	}
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = residual(b, "layers.attn.sum", x, attention(b, io, norm(b, "layers.attn.norm", x, h), &p));
		x = residual(b, "layers.ffn.sum", x, experts(b, norm(b, "layers.ffn.norm", x, h), &state));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = norm(b, "norm", x, h);
}

static void build(struct build *b)
{
	decoder_whole(b, STATES * b->s->layers, body);
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_causal_lm },
	{ 0 },
};

const struct family zaya = {
	.name = "zaya",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.any_heads = true,
};
