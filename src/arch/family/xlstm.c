// SPDX-License-Identifier: Apache-2.0
// xLSTM (Beck et al. 2024, https://arxiv.org/abs/2405.04517; xLSTM 7B, https://arxiv.org/abs/2503.13427): layers of mLSTM, a
// linear attention whose memory C of a head is a matrix that two exponential gates i and f write and fade. It takes no notice of
// padding.
//
//   C_t = f_t C_(t-1) + i_t k_t v_t^T      n_t = f_t n_(t-1) + i_t k_t      h_t = C_t^T q_t / max(|n_t^T q_t|, 1)
//
//   x -+- norm - q, k, v, gates - the above - norm of each head -(*)- out -(+)-+- norm - gated feed-forward -(+)-
//      |         +- sigmoid -------------------------------------+          |  +---------------------------+
//      +--------------------------------------------------------------------+
//
// Of new tokens it is computed at once, as attention is: with b_t the sum of log f up to t, token t has
// exp(b_t - b_j + log i_j) of token j, and exp(b_t) of what was there before. All is kept divided by e^m, the greatest power in
// it. States a layer: "recurrent", C and beside it n, [batch, heads, key width, value width + 1]; "ssm", m, [batch, heads, 1].
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

struct xlstm {
	int64_t key, value; // width of a head
	bool biased, fused; // fused: queries, keys, values and the output's gate are of one matrix, and so on
	double gate_cap, eps;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct xlstm *o = s->own = ARENA_NEW(a, struct xlstm);
	resolve_transformer(c, s, false);
	double wide = (double)s->hidden_size * config_real(c, "ffn_proj_factor", 2.667),
	       key = (double)s->hidden_size * config_real(c, "qk_dim_factor", 0.5),
	       value = (double)s->hidden_size * config_real(c, "v_dim_factor", 1);
	int64_t multiple = config_size(c, "ffn_round_up_to_multiple_of", 64);
	o->biased = config_bool(c, "use_bias", false);
	o->gate_cap = config_real(c, "gate_soft_cap", 15);
	o->eps = config_real(c, "eps", 1e-6);
	s->logit_softcap = config_real(c, "output_logit_soft_cap", 30);
	const char *mode = config_text(c, "weight_mode");
	o->fused = text_is(mode, "fused");
	if (mode && !o->fused && !text_is(mode, "single"))
		config_fail(c, STATUS_BAD_INPUT, "weight_mode %s is neither single nor fused", mode);
	if (c->error.status)
		return;
	const double most = 1 << 24;
	bool fits = multiple > 0 && wide > 0 && wide < most && key >= 1 && key < most && value >= 1 && value < most;
	if (!fits || (int64_t)key % s->heads || (int64_t)value % s->heads || o->gate_cap <= 0 || s->logit_softcap <= 0) {
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of keys of %.0f and values of %.0f, feed-forward %.0f",
			(long long)s->heads, key, value, wide);
		return;
	}
	s->ffn_size = (int64_t)floor((wide + (double)multiple - 1) / (double)multiple) * multiple;
	o->key = (int64_t)key / s->heads, o->value = (int64_t)value / s->heads;
}

static graph_value norm_of(struct build *b, const char *stem, graph_value x)
{
	x = rms_norm(b, stem, x, b->s->hidden_size);
	return ((const struct xlstm *)b->s->own)->biased ? op_add(b->g, x, WEIGHT(b, stem, "bias", b->s->hidden_size)) : x;
}

// [batch, seq, heads * width] -> [batch, heads, seq, width]
static graph_value by_head(struct build *b, graph_value x, int64_t width)
{
	x = op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, b->s->heads, width });
	return op_transpose(b->g, x, 4, (int[]){ 0, 2, 1, 3 });
}

// Logarithms of a gate [batch, seq, heads], capped -> [batch, heads, seq]
static graph_value gate_of(struct build *b, graph_value x)
{
	x = op_softcap(b->g, x, (float)((const struct xlstm *)b->s->own)->gate_cap);
	return op_transpose(b->g, x, 3, (int[]){ 0, 2, 1 });
}

// -inf's stand-in where a key comes after its query: x [batch, heads, query, key]
static graph_value causal(struct build *b, graph_value x, graph_value at)
{
	struct graph *g = b->g;
	graph_value is = op_less_or_equal(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1));
	return op_where(g, is, x, graph_f32(g, -FLT_MAX));
}

// q, k [batch, heads, seq, key], v [.., value], in, forget [batch, heads, seq] -> [batch, heads, seq, value]
static graph_value remember(
	struct build *b, struct body *io, graph_value q, graph_value k, graph_value v, graph_value in, graph_value forget)
{
	struct graph *g = b->g;
	const struct xlstm *o = b->s->own;
	int64_t heads = b->s->heads;
	graph_value rows = op_transpose(g, q, 4, (int[]){ 0, 2, 1, 3 }), at = places_of(g, rows);
	graph_value before = state_before(b, io, "recurrent", rows, 3, (int64_t[]){ heads, o->key, o->value + 1 });
	graph_value power = state_before(b, io, "ssm", rows, 2, (int64_t[]){ heads, 1 }); // [batch, heads, 1]
	q = op_scale(g, q, (float)(1 / sqrt((double)o->key)));
	graph_value one = op_add(g, op_scale(g, op_slice(g, v, 3, 0, 1), 0), graph_f32(g, 1));
	v = op_concat(g, 2, (graph_value[]){ v, one }, 3);                                 // n beside C
	graph_value faded = op_cumsum(g, op_neg(g, op_softplus(g, op_neg(g, forget))), 2); // [batch, heads, seq]
	graph_value written = op_sub(g, in, faded);
	graph_value own = causal(b, op_add(g, op_unsqueeze(g, faded, 3), op_unsqueeze(g, written, 2)), at);
	graph_value past = op_add(g, faded, power), most = op_max(g, op_reduce_max(g, own, 3, false), past);
	graph_value scores = op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
	scores = op_mul(g, scores, op_exp(g, op_sub(g, own, op_unsqueeze(g, most, 3))));
	graph_value y = op_matmul(g, op_mul(g, q, op_unsqueeze(g, op_exp(g, op_sub(g, past, most)), 3)), before);
	y = op_add(g, y, op_matmul(g, scores, v)); // [batch, heads, seq, value + 1]
	graph_value least = op_exp(g, op_neg(g, op_unsqueeze(g, most, 3)));
	graph_value divisor = op_max(g, op_abs(g, op_slice(g, y, 3, o->value, o->value + 1)), least);
	y = op_div(g, op_slice(g, y, 3, 0, o->value), op_add(g, divisor, graph_f32(g, (float)o->eps)));
	if (!io->states_after)
		return y;
	graph_value last = op_slice(g, most, 2, -1, INT64_MAX), all = op_slice(g, faded, 2, -1, INT64_MAX); // [batch, heads, 1]
	graph_value share = op_exp(g, op_sub(g, op_add(g, written, all), last)); // of each token, [batch, heads, seq]
	graph_value sum = op_matmul(g, op_transpose(g, op_mul(g, k, op_unsqueeze(g, share, 3)), 4, (int[]){ 0, 1, 3, 2 }), v);
	graph_value left = op_exp(g, op_sub(g, op_add(g, all, power), last));
	graph_assume(g, last, 2, 1);
	state_after(b, io, "recurrent", op_add(g, op_mul(g, before, op_unsqueeze(g, left, 3)), sum));
	state_after(b, io, "ssm", last);
	return y;
}

static graph_value mixer(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct xlstm *o = s->own;
	int64_t h = s->hidden_size, n = s->heads, key = n * o->key, value = n * o->value;
	static const char *const stems[] = { "layers.q", "layers.k", "layers.v", "layers.gate", "layers.in", "layers.forget" };
	const int64_t widths[] = { key, key, value, value, n, n };
	graph_value part[6], all[2];
	if (o->fused) {
		all[0] = linear(b, "layers.qkvo", x, h, 2 * key + 2 * value, o->biased);
		all[1] = linear(b, "layers.gates", x, h, 2 * n, true);
	}
	for (int64_t i = 0, begin = 0; i < 6; begin += widths[i++]) {
		begin = i == 4 ? 0 : begin;
		part[i] = o->fused ? op_slice(g, all[i / 4], 2, begin, begin + widths[i])
				   : linear(b, stems[i], x, h, widths[i], i > 3 || o->biased);
	}
	graph_value y = remember(b, io, by_head(b, part[0], o->key), by_head(b, part[1], o->key), by_head(b, part[2], o->value),
		gate_of(b, part[4]), gate_of(b, part[5]));
	y = op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 });
	y = op_layer_norm(g, y, ones_of(b, o->value), NO_VALUE, (float)s->norm_eps);
	y = op_mul(g, op_reshape(g, y, 3, (int64_t[]){ 0, 0, value }), WEIGHT(b, "layers.head_norm", "weight", value));
	y = o->biased ? op_add(g, y, WEIGHT(b, "layers.head_norm", "bias", value)) : y;
	return linear(b, "layers.out", op_mul(g, op_sigmoid(g, part[3]), y), value, h, o->biased);
}

static graph_value feed_forward(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct xlstm *o = s->own;
	int64_t h = s->hidden_size, f = s->ffn_size;
	graph_value gate, up;
	if (o->fused) {
		graph_value both = linear(b, "layers.ffn.gate_up", x, h, 2 * f, o->biased);
		gate = op_slice(g, both, 2, 0, f), up = op_slice(g, both, 2, f, 2 * f);
	} else {
		gate = linear(b, "layers.ffn.gate", x, h, f, o->biased);
		up = linear(b, "layers.ffn.up", x, h, f, o->biased);
	}
	return linear(b, "layers.ffn.down", op_mul(g, activate(b, ACT_SILU, gate), up), f, h, o->biased);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, s->hidden_size);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = op_add(g, x, mixer(b, io, norm_of(b, "layers.norm", x)));
		x = op_add(g, x, feed_forward(b, norm_of(b, "layers.ffn.norm", x)));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rms_norm(b, "norm", x, s->hidden_size); // without a bias in any case
}

const struct family xlstm = {
	.name = "xlstm",
	.architecture = "state-space",
	.resolve = resolve,
	.build = recurrent_build,
	.body = body,
	.heads = recurrent_heads,
};
