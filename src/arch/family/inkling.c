// SPDX-License-Identifier: Apache-2.0
// Inkling: a decoder whose keys, values and branches go through short convolutions along the text, each with what it is given
// added. Positions are a bias by how far back a key is, made of profiles that each token mixes; there is none beyond rel_extent,
// or the window. Shared experts take part in the sum that the chosen experts' weights are divided by.
//
//   ids -> tokens - norm -> layers - norm - head
//   layer:  x -+- norm - attention - conv -(+)-+- norm - experts - conv -(+)-
//              +----------------------------+  +---------------------------+
#include <math.h>
#include <string.h>

#include "arch/family/inkling.h"

// Which layers have a window, and which have experts.
static void resolve_layers(struct config *c, struct spec *s, struct arena *a)
{
	const json_t *words = config_get(c, "layer_types"), *ids = config_get(c, "local_layer_ids"),
		     *ffns = config_get(c, "mlp_layer_types");
	bool *sliding = ARENA_ARRAY(a, (size_t)s->layers + 1, bool), *sparse = ARENA_ARRAY(a, (size_t)s->layers + 1, bool),
	     *nope = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	int64_t dense = config_size(c, "dense_mlp_idx", 0);
	if ((words && json_array_size(words) != (size_t)s->layers) || (ffns && json_array_size(ffns) != (size_t)s->layers))
		config_fail(c, STATUS_BAD_INPUT, "layer_types and mlp_layer_types should name %lld layers", (long long)s->layers);
	for (size_t i = 0; i < (size_t)s->layers; i++) {
		const char *word = json_string_value(json_array_get(words, i)), *ffn = json_string_value(json_array_get(ffns, i));
		bool listed = false;
		for (size_t k = 0; k < json_array_size(ids); k++)
			listed |= json_integer_value(json_array_get(ids, k)) == (json_int_t)i;
		sliding[i] = words ? text_is(word, "hybrid_sliding") : ids ? listed : (i + 1) % 6 != 0;
		sparse[i] = ffns ? text_is(ffn, "sparse") : (int64_t)i >= dense;
		nope[i] = true;
		if (words && !sliding[i] && !text_is(word, "hybrid"))
			config_fail(c, STATUS_UNSUPPORTED, "layers of type %s are not supported yet", word ? word : "?");
	}
	s->sliding = sliding, s->sparse = sparse, s->nope = nope;
}

void inkling_resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct inkling *o = s->own = ARENA_NEW(a, struct inkling);
	resolve_transformer(c, s, false);
	if (c->error.status)
		return;
	resolve_layers(c, s, a);
	int64_t words = config_size(c, "unpadded_vocab_size", s->vocab_size);
	s->tied = false;
	s->sliding_window = config_size(c, "sliding_window", 512);
	s->window_heads.heads = config_size(c, "swa_num_attention_heads", 64);
	s->window_heads.kv_heads = config_size(c, "swa_num_key_value_heads", 16);
	s->window_heads.width = s->window_heads.value_width = config_size(c, "swa_head_dim", 128);
	*o = (struct inkling){ .relative = config_count(c, "d_rel", 16),
		.extent = config_size(c, "rel_extent", 1024),
		.floor = config_size(c, "log_scaling_n_floor", 0),
		.growth = config_real(c, "log_scaling_alpha", 0.1),
		.kernel = config_count(c, "conv_kernel", 4),
		.words = words < s->vocab_size ? words : s->vocab_size };
	const struct heads *w = &s->window_heads;
	if (!c->error.status &&
		(o->relative < 1 || o->extent < 1 || o->kernel < 1 || o->words < 1 || s->sliding_window < 1 || w->heads < 1 ||
			w->kv_heads < 1 || w->heads % w->kv_heads || w->width < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld heads with a window, %lld of them for keys", (long long)w->heads,
			(long long)w->kv_heads);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct moe *m = ARENA_NEW(a, struct moe);
	inkling_resolve(c, s, a);
	if (c->error.status)
		return;
	struct inkling *o = s->own;
	int64_t experts_width = config_size(c, "moe_intermediate_size", 3072);
	const json_t *dense = config_get(c, "dense_intermediate_size"); // then intermediate_size is that of the experts
	*m = (struct moe){ .experts = config_size(c, "n_routed_experts", 256),
		.top_k = config_size(c, "num_experts_per_tok", 6),
		.width = dense ? s->ffn_size : experts_width,
		.scale = config_real(c, "route_scale", 8) };
	s->ffn_size = dense ? config_size(c, "dense_intermediate_size", 0) : s->ffn_size;
	s->moe = m;
	double divisor = config_real(c, "logits_mup_width_multiplier", 24);
	s->logit_scale = divisor > 0 ? 1 / divisor : 0;
	o->shared = config_count(c, "n_shared_experts", 2);
	if (!config_bool(c, "shared_expert_sink", true))
		config_fail(c, STATUS_UNSUPPORTED, "shared_expert_sink: false is not supported yet");
	if (!c->error.status &&
		(o->shared < 1 || m->experts < 1 || m->top_k < 1 || m->top_k > m->experts || m->width < 1 || divisor <= 0))
		config_fail(c, STATUS_BAD_INPUT, "%lld of %lld experts, %lld shared", (long long)m->top_k, (long long)m->experts,
			(long long)o->shared);
	int64_t sparse = 0;
	for (int64_t i = 0; i < s->layers; i++)
		sparse += s->sparse[i];
	resolve_experts(c, s, m->experts, sparse);
}

graph_value inkling_convolve(
	struct build *b, struct body *io, const char *stem, graph_value x, int which, const struct inkling_shared *p)
{
	const struct inkling *o = b->s->own;
	int64_t layer = b->layer;
	graph_value w = WEIGHT(b, stem, "weight", value_dim(b->g, x, 2), 1, o->kernel);
	b->layer = CONVS * layer + which; // whose state it is
	graph_value y = causal_convolution_of(b, io, w, NO_VALUE, op_mul(b->g, x, p->tokens), ACT_NONE);
	b->layer = layer;
	return y;
}

// x and its convolution
static graph_value with_convolution(
	struct build *b, struct body *io, const char *stem, graph_value x, int which, const struct inkling_shared *p)
{
	return op_add(b->g, x, inkling_convolve(b, io, stem, x, which, p));
}

static graph_value head_norm(struct build *b, const char *stem, graph_value x, int64_t heads, int64_t d)
{
	x = norm(b, stem, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, heads, d }), d);
	return op_reshape(b->g, x, 3, (int64_t[]){ 0, 0, heads * d });
}

graph_value inkling_bias(struct build *b, graph_value r, const struct inkling_shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct inkling *o = s->own;
	int64_t reach = s->sliding[b->layer] ? s->sliding_window : o->extent, heads = heads_of(s, b->layer).heads;
	r = op_transpose(g, r, 4, (int[]){ 0, 2, 1, 3 });
	r = op_matmul(g, r, WEIGHT(b, "layers.attn.profiles", "", o->relative, reach)); // [batch, heads, seq, reach]
	graph_value zero = graph_i64(g, 0), last = graph_i64(g, reach - 1);
	graph_value at = op_max(g, op_min(g, p->distance, last), zero),
		    size[] = { op_dim(g, r, 0), graph_i64s(g, 1, &heads), op_shape(g, p->distance) };
	r = op_gather_elements(g, r, op_expand(g, at, op_concat(g, 3, size, 0)), 3);
	graph_value in = op_and(g, op_less_or_equal(g, zero, p->distance), op_less_or_equal(g, p->distance, last));
	return op_where(g, in, r, graph_f32(g, 0));
}

static graph_value attention(struct build *b, struct body *io, graph_value x, const struct inkling_shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct inkling *o = s->own;
	const struct heads n = heads_of(s, b->layer);
	bool window = s->sliding[b->layer];
	int64_t h = s->hidden_size, keys = n.kv_heads * n.width;
	graph_value q =
		head_norm(b, "layers.attn.q_norm", linear(b, "layers.attn.q", x, h, n.heads * n.width, false), n.heads, n.width);
	graph_value k = with_convolution(b, io, "layers.attn.k_conv", linear(b, "layers.attn.k", x, h, keys, false), K_CONV, p);
	graph_value v = with_convolution(b, io, "layers.attn.v_conv", linear(b, "layers.attn.v", x, h, keys, false), V_CONV, p);
	k = head_norm(b, "layers.attn.k_norm", k, n.kv_heads, n.width);
	graph_value r = linear(b, "layers.attn.relative", x, h, n.heads * o->relative, false);
	graph_value bias = inkling_bias(b, op_reshape(g, r, 4, (int64_t[]){ 0, 0, n.heads, o->relative }), p);
	if (!window && p->growth.id) {
		q = op_mul(g, q, p->growth);
		bias = op_mul(g, bias, op_unsqueeze(g, p->growth, 1));
	}
	if (io->cache)
		cache_extend(b, io->cache, &k, &v, n.kv_heads, n.width, n.width);
	graph_value y = op_attention(g,
		&(struct attention){ q, k, v, .bias = op_add(g, bias, p->bias[window]), .heads = n.heads, .kv_heads = n.kv_heads,
			.scale = (float)(1 / (double)n.width) });
	return linear(b, "layers.attn.o", y, n.heads * n.width, h, false);
}

// Weights of the chosen and of all shared experts, by sigmoid scores that sum to 1: [batch, seq, experts + shared]
static graph_value route_with_shared(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct moe *m = b->s->moe;
	int64_t shared = ((const struct inkling *)b->s->own)->shared, all = m->experts + shared;
	graph_value scores = op_sigmoid(g, linear(b, "layers.moe.router", x, b->s->hidden_size, all, false));
	graph_value routed = op_slice(g, scores, 2, 0, m->experts);
	graph_value choice = op_add(g, routed, WEIGHT(b, "layers.moe.choice_bias", "", m->experts));
	routed = op_where(g, are_greatest(g, choice, m->top_k), routed, graph_f32(g, 0));
	scores = op_concat(g, 2, (graph_value[]){ routed, op_slice(g, scores, 2, m->experts, all) }, 2);
	scores = op_div(g, scores, op_reduce_sum(g, scores, -1, true));
	return op_mul(g, op_scale(g, scores, (float)m->scale), WEIGHT(b, "layers.moe.scale", "", 1));
}

static graph_value experts(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct moe *m = s->moe;
	int64_t shared = ((const struct inkling *)s->own)->shared, h = s->hidden_size;
	graph_value weights = route_with_shared(b, x), sum = weighed_experts(b, x, weights);
	for (b->item = 0; b->item < shared && !graph_failed(g); b->item++) {
		graph_value gate = op_linear(
			g, x, weight_item(b, "layers.moe.shared.gate", 3, (int64_t[]){ shared, m->width, h }), NO_VALUE);
		graph_value up =
			op_linear(g, x, weight_item(b, "layers.moe.shared.up", 3, (int64_t[]){ shared, m->width, h }), NO_VALUE);
		graph_value y = op_mul(g, op_mul(g, activate(b, s->act, gate), up),
			op_slice(g, weights, 2, m->experts + b->item, m->experts + b->item + 1));
		y = op_linear(g, y, weight_item(b, "layers.moe.shared.down", 3, (int64_t[]){ shared, h, m->width }), NO_VALUE);
		sum = op_add(g, sum, y);
	}
	return sum;
}

static graph_value layer(struct build *b, struct body *io, graph_value x, const struct inkling_shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "attn");
	graph_value y = attention(b, io, norm(b, "layers.attn.norm", x, h), p);
	x = op_add(g, x, with_convolution(b, io, "layers.attn.conv", y, ATTENTION_CONV, p));
	graph_leave(g);
	graph_enter(g, "ffn");
	y = norm(b, "layers.ffn.norm", x, h);
	if (s->sparse[b->layer])
		y = experts(b, y);
	else
		y = op_mul(g, ffn_of(b, "layers.ffn", y, s->ffn_size, false), WEIGHT(b, "layers.ffn.scale", "", 1));
	x = op_add(g, x, with_convolution(b, io, "layers.ffn.conv", y, FFN_CONV, p));
	graph_leave(g);
	return x;
}

struct inkling_shared inkling_share(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct inkling *o = b->s->own;
	graph_value zero = graph_i64(g, 0), one = graph_i64(g, 1), keys = op_squeeze(g, op_dim(g, io->mask, 1), 0),
		    seq = op_squeeze(g, op_dim(g, x, 1), 0);
	graph_value query = op_range(g, op_sub(g, keys, seq), keys, one); // columns, padding counted
	graph_assume(g, query, 0, value_dim(g, x, 1));
	struct inkling_shared p = { .tokens = mask_of_new(b, io, x) };
	for (int w = 0; w < 2; w++)
		p.bias[w] = mask_causal(b, io->mask, x, w ? b->s->sliding_window : 0);
	p.distance = op_sub(g, op_unsqueeze(g, query, 1), op_unsqueeze(g, op_range(g, zero, keys, one), 0));
	if (o->floor) { // 1 + growth * log(max((column + 1) / floor, 1))
		graph_value far = op_scale(g, op_cast(g, op_add(g, query, one), DTYPE_F32), (float)(1 / (double)o->floor));
		far = op_scale(g, op_log(g, op_max(g, far, graph_f32(g, 1))), (float)o->growth);
		p.growth = op_unsqueeze(g, op_unsqueeze(g, op_add(g, far, graph_f32(g, 1)), 0), 2);
	}
	return p;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = io->embeds.id
		? io->embeds
		: norm(b, "embed.norm", embedding(b, "embed.word", io->ids, s->vocab_size, s->hidden_size), s->hidden_size);
	struct inkling_shared p = inkling_share(b, io, x);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, io, x, &p);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = norm(b, "norm", x, s->hidden_size);
}

static void build(struct build *b)
{
	decoder_whole(b, CONVS * b->s->layers, body);
}

static void give_logits(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t words = ((const struct inkling *)s->own)->words;
	graph_value x = s->logit_scale > 0 ? op_scale(g, io->last, (float)s->logit_scale) : io->last;
	graph_value y = op_linear_last(g, x, WEIGHT(b, "head.lm.out", "weight", s->vocab_size, s->hidden_size), NO_VALUE);
	y = op_softcap(g, words < s->vocab_size ? op_slice(g, y, 2, 0, words) : y, (float)s->logit_softcap);
	graph_output(g, "logits", y);
}

const struct family_head inkling_heads[] = {
	{ &head_model, head_give_last },
	{ &head_causal_lm, give_logits },
	{ 0 },
};

const struct family inkling = {
	.name = "inkling",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = inkling_heads,
	.any_heads = true,
};
