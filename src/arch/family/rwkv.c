// SPDX-License-Identifier: Apache-2.0
// RWKV-4 (Peng et al. 2023, https://arxiv.org/abs/2305.13048): attention that decays with the distance, as a recurrence over
// channels, and a feed-forward that looks at the token before too. It takes no notice of padding.
//
//   x -+- norm - mix - r, k, v - sigmoid(r) * wkv(k, v) - out -(+)-+- norm - mix - r, k - sigmoid(r) * value(relu(k)^2) -(+)-
//      +-------------------------------------------------------+  +------------------------------------------------------+
//
//   mix: m x_t + (1 - m) x_(t-1), with weights m of their own for each of r, k and v
//   wkv_t = (a + e^(u + k_t) v_t) / (c + e^(u + k_t))      a <- e^w a + e^k_t v_t      c <- e^w c + e^k_t,  w = -e^decay
//
// a and c are kept divided by e^p, the greatest power in them. States a layer: "conv", the last inputs of both mixes,
// [batch, hidden, 2]; "recurrent", a, c and p, [batch, 3, width].
#include <math.h>

#include "arch/block/block.h"

struct rwkv {
	int64_t width, rescale_every;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct rwkv *r = s->own = ARENA_NEW(a, struct rwkv);
	resolve_transformer(c, s, false);
	r->width = config_size(c, "attention_hidden_size", s->hidden_size);
	r->rescale_every = config_size(c, "rescale_every", 6);
	s->ffn_size = s->ffn_size ? s->ffn_size : 4 * s->hidden_size;
	if (!c->error.status && r->width < 1)
		config_fail(c, STATUS_BAD_INPUT, "attention_hidden_size 0");
}

// x and what stands one place before each token: first [batch, hidden, 1] before the first. *last: the last one, likewise.
static graph_value shifted(struct build *b, graph_value x, graph_value first, graph_value *last)
{
	struct graph *g = b->g;
	*last = op_transpose(g, op_slice(g, x, 1, -1, INT64_MAX), 3, (int[]){ 0, 2, 1 });
	graph_assume(g, *last, 2, 1);
	graph_value both = op_concat(g, 2, (graph_value[]){ op_transpose(g, first, 3, (int[]){ 0, 2, 1 }), x }, 1);
	graph_value before = op_slice(g, both, 1, 0, -1);
	graph_assume(g, before, 1, value_dim(g, x, 1));
	return before;
}

static graph_value mixed(struct build *b, const char *stem, graph_value x, graph_value before)
{
	struct graph *g = b->g;
	graph_value m = WEIGHT(b, stem, "", 1, 1, b->s->hidden_size);
	return op_add(g, op_mul(g, x, m), op_mul(g, before, op_sub(g, graph_f32(g, 1), m)));
}

// Row `i` of a state [batch, 3, width]
static graph_value row(struct graph *g, graph_value state, int64_t i)
{
	return op_squeeze(g, op_slice(g, state, 1, i, i + 1), 1);
}

// k, v [batch, seq, width] -> the same
static graph_value wkv(struct build *b, struct body *io, graph_value k, graph_value v)
{
	struct graph *g = b->g;
	int64_t width = ((const struct rwkv *)b->s->own)->width;
	graph_value decay = op_neg(g, op_exp(g, WEIGHT(b, "layers.decay", "", width)));
	graph_value shape[] = { op_dim(g, k, 0), op_dim(g, k, 1), graph_i64s(g, 1, &width) };
	decay = op_expand(g, decay, op_concat(g, 3, shape, 0)); // a body reads only what it is given
	graph_assume(g, decay, 0, value_dim(g, k, 0));
	graph_assume(g, decay, 1, value_dim(g, k, 1));
	struct scan s = { .state_count = 1,
		.first = { state_before(b, io, "recurrent", v, 2, (int64_t[]){ 3, width }) },
		.over_count = 4,
		.over = { k, op_add(g, k, WEIGHT(b, "layers.first", "", width)), v, decay },
		.axis = 1 };

	op_scan_begin(g, &s);
	graph_value a = row(g, s.state[0], 0), c = row(g, s.state[0], 1), p = row(g, s.state[0], 2);
	graph_value key = s.item[0], own = s.item[1], value = s.item[2], faded = op_add(g, p, s.item[3]);
	graph_value most = op_max(g, p, own), past = op_exp(g, op_sub(g, p, most)), now = op_exp(g, op_sub(g, own, most));
	graph_value y = op_div(g, op_add(g, op_mul(g, past, a), op_mul(g, now, value)), op_add(g, op_mul(g, past, c), now));
	most = op_max(g, faded, key);
	past = op_exp(g, op_sub(g, faded, most));
	now = op_exp(g, op_sub(g, key, most));
	graph_value rows[] = { op_add(g, op_mul(g, past, a), op_mul(g, now, value)), op_add(g, op_mul(g, past, c), now), most };
	for (int i = 0; i < 3; i++)
		rows[i] = op_unsqueeze(g, rows[i], 1);
	graph_value next = op_concat(g, 3, rows, 1);
	op_scan_end(g, &s, &next, 1, &y);
	state_after(b, io, "recurrent", s.last[0]);
	return s.all[0];
}

// Every so many layers the states are halved, and what later layers add to them by as much.
static graph_value halved(struct build *b, graph_value y)
{
	int64_t every = ((const struct rwkv *)b->s->own)->rescale_every, times = every > 0 ? b->layer / every : 0;
	return times ? op_scale(b->g, y, (float)pow(0.5, (double)times)) : y;
}

static graph_value layer(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct rwkv *r = s->own;
	int64_t h = s->hidden_size, w = r->width;
	graph_value first = state_before(b, io, "conv", x, 2, (int64_t[]){ h, 2 }), last[2];
	graph_value y = layer_norm(b, "layers.attn.norm", x, h), before = shifted(b, y, op_slice(g, first, 2, 0, 1), &last[0]);
	graph_value k = linear(b, "layers.attn.k", mixed(b, "layers.attn.mix_k", y, before), h, w, false);
	graph_value v = linear(b, "layers.attn.v", mixed(b, "layers.attn.mix_v", y, before), h, w, false);
	graph_value gate = op_sigmoid(g, linear(b, "layers.attn.r", mixed(b, "layers.attn.mix_r", y, before), h, w, false));
	y = linear(b, "layers.attn.o", op_mul(g, gate, wkv(b, io, k, v)), w, h, false);
	x = op_add(g, x, halved(b, y));
	y = layer_norm(b, "layers.ffn.norm", x, h);
	before = shifted(b, y, op_slice(g, first, 2, 1, 2), &last[1]);
	k = activate(b, ACT_RELU2, linear(b, "layers.ffn.up", mixed(b, "layers.ffn.mix_k", y, before), h, s->ffn_size, false));
	gate = op_sigmoid(g, linear(b, "layers.ffn.r", mixed(b, "layers.ffn.mix_r", y, before), h, h, false));
	x = op_add(g, x, halved(b, op_mul(g, gate, linear(b, "layers.ffn.down", k, s->ffn_size, h, false))));
	state_after(b, io, "conv", op_concat(g, 2, last, 2));
	return r->rescale_every > 0 && (b->layer + 1) % r->rescale_every == 0 ? op_scale(g, x, 0.5f) : x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, s->hidden_size);
	x = layer_norm(b, "embed.norm", x, s->hidden_size);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, io, x);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, s->hidden_size);
}

const struct family rwkv = {
	.name = "rwkv",
	.architecture = "state-space",
	.resolve = resolve,
	.build = recurrent_build,
	.body = body,
	.heads = recurrent_heads,
};
