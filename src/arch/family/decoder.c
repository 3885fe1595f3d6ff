// SPDX-License-Identifier: Apache-2.0
// GPT, LLaMA and their kin: a causal transformer (Radford et al. 2019; Touvron et al. 2023, https://arxiv.org/abs/2302.13971;
// Mistral, https://arxiv.org/abs/2310.06825; Qwen2, https://arxiv.org/abs/2407.10671; Gemma 2, https://arxiv.org/abs/2408.00118).
// Positions are rotary, learned, or a linear bias; causal language models have a key-value cache; classifiers and bare models,
// which read a text once, have none.
//
//   ids -> tokens (+ positions) -> layers -> norm -> head
//   usual:     x -+- norm - attention -(norm)-(+)-+- norm - feed-forward -(norm)-(+)-
//                 +----------------------------+  +---------------------------+
//   reordered: x -+- attention - norm -(+)-+- feed-forward - norm -(+)-
//                 +---------------------+  +-----------------------+
//   post-norm: x -+- attention -(+)- norm -+- feed-forward -(+)- norm -
//                 +--------------+         +-----------------+
//   parallel:  x -+- norm -+- attention ----+
//                 |        +- feed-forward -+
//                 +------------------------(+)-
// In hybrids some layers have a recurrence or a convolution in the place of attention, or beside it.
#include <math.h>

#include "arch/block/recurrent.h"
#include "arch/block/seq2seq.h"
#include "arch/family/decoder.h"

// What all layers share: for layers without a window [0] and with one [1]. NO_VALUE where no layer needs it.
struct shared {
	graph_value mask[2], cos[2], sin[2], query_scale, column_scale, log_place;
	graph_value keys;      // the mask of all keys, i64 [batch, keys]
	graph_value positions; // i64 [batch or 1, seq], for attention to compressed entries
	graph_value beside;    // what the experts of a pair's first layer gave
	graph_value chosen;    // attention_extras
	graph_value tokens;    // mask_of_new
	graph_value embedded;  // what the first layer begins with
	graph_value each;      // of each token for each layer: [batch, seq, layers, token_width]
	struct kept *kept;
};

// Does this layer have attention?
static bool attends(const struct spec *s, int64_t layer)
{
	if (s->crossing && s->crossing[layer])
		return false;
	if (s->block_of)
		return s->block_of[layer] >= 0;
	return !s->mixers || s->mixers[layer] == MIX_ATTENTION || TRAITS_OF(s, decoder)->mixer_beside;
}

static bool is_rotary(const struct spec *s, int64_t layer)
{
	return !s->nope || !s->nope[layer];
}

static graph_value attention(struct build *b, graph_value x, struct shared *p, struct cache *cache)
{
	const struct spec *s = b->s;
	int window = s->sliding[b->layer];
	struct attention_extras e = { .bias = p->mask[window],
		.mask = p->keys,
		.positions = p->positions,
		.query_scale = p->query_scale,
		.log_place = p->log_place,
		.kept = p->kept,
		.chosen = &p->chosen };
	if (!is_rotary(s, b->layer) && p->column_scale.id)
		e.query_scale = p->column_scale;
	if (is_rotary(s, b->layer))
		e.cos = p->cos[window], e.sin = p->sin[window];
	if (s->attention_experts)
		return attention_of_experts(b, x, &e, cache);
	if (s->compressed)
		return compressed_attention(b, x, &e, cache);
	if (s->latent.key_rank)
		return latent_attention(b, x, &e, cache);
	return self_attention_with(b, x, &e, s->traits.qkv_bias, s->traits.out_bias, cache);
}

static graph_value times(struct build *b, graph_value x, double factor)
{
	return factor == 1 ? x : op_scale(b->g, x, (float)factor);
}

// What mixes the tokens of this layer; of a lone feed-forward: that.
static graph_value mix(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	static recurrent_mixer *const mixers[] = { [MIX_CONVOLUTION] = convolution_mixer,
		[MIX_MAMBA] = mamba_mixer,
		[MIX_MAMBA2] = mamba2_mixer,
		[MIX_DELTA] = delta_mixer,
		[MIX_RGLRU] = rglru_mixer,
		[MIX_EXPERTS] = NULL,
		[MIX_LIGHTNING] = lightning_mixer };
	const struct spec *s = b->s;
	const struct multipliers *m = s->multipliers;
	recurrent_mixer *mixer = s->mixers ? mixers[s->mixers[b->layer]] : NULL;
	if (!mixer)
		return attention(b, x, p, io->cache);
	graph_value y = mixer(b, io, m ? times(b, x, m->mixer_in) : x, p->tokens);
	if (!attends(s, b->layer))
		return y;
	graph_value z = attention(b, m ? times(b, x, m->attention_in) : x, p, io->cache);
	return m ? op_add(b->g, times(b, y, m->mixer_out), times(b, z, m->attention_out)) : op_add(b->g, y, z);
}

// x: normed; before: the sum that the norm was of.
static graph_value feed(struct build *b, graph_value x, graph_value before)
{
	const struct spec *s = b->s;
	bool sparse = s->moe && s->sparse[b->layer], beside = TRAITS_OF(s, decoder)->moe_beside;
	if (sparse && !beside)
		return mixture(b, x);
	graph_value y = ffn_of(b, "layers.ffn", x, s->ffn_sizes ? s->ffn_sizes[b->layer] : s->ffn_size, s->traits.ffn_bias);
	if (!sparse)
		return y;
	graph_value z = mixture_apart(b, before, norm(b, "layers.moe.before", before, s->hidden_size));
	y = norm(b, "layers.ffn.beside", y, s->hidden_size);
	return op_add(b->g, y, norm(b, "layers.moe.after", z, s->hidden_size));
}

// What this token means to this layer, let through by x: [batch, seq, hidden]
static graph_value token_of_layer(struct build *b, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = s->token_width;
	graph_value each = op_squeeze(g, op_slice(g, p->each, 2, b->layer, b->layer + 1), 2);
	graph_value y = activate(b, s->act, linear(b, "layers.token.gate", x, h, n, false));
	return norm(b, "layers.token.norm", linear(b, "layers.token.out", op_mul(g, y, each), n, h, false), h);
}

// A norm between a branch and the residual sum.
static graph_value norm_after(struct build *b, const char *stem, graph_value y)
{
	const struct spec *s = b->s;
	if (TRAITS_OF(s, decoder)->scales_first)
		return norm_scaled_first(b, stem, y, s->hidden_size);
	struct spec own = *s;
	own.norm_eps = s->after_eps > 0 ? s->after_eps : s->norm_eps;
	b->s = &own;
	y = norm(b, stem, y, s->hidden_size);
	b->s = s;
	return y;
}

// alpha x + beta y with beta = sigmoid(gate / temperature) and alpha^2 = 1 - beta^2, at least 1e-3 (Muse Spark)
static graph_value gated_sum(struct build *b, const char *stem, graph_value x, graph_value y)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value w = op_scale(g, WEIGHT(b, stem, "", s->hidden_size), (float)(1 / s->gate_temperature));
	graph_value beta = op_sigmoid(g, w), rest = op_sigmoid(g, op_neg(g, w));
	graph_value square = op_mul(g, rest, op_add(g, beta, graph_f32(g, 1)));
	graph_value alpha = op_sqrt(g, op_max(g, square, graph_f32(g, 1e-3f)));
	return op_add(g, op_mul(g, alpha, x), op_mul(g, beta, y));
}

// x + residual_scale * y, or as depth_scaled says, or weight * x + y where the dialect has a word for the weight
static graph_value residual(struct build *b, const char *stem, graph_value x, graph_value y)
{
	const struct spec *s = b->s;
	if (TRAITS_OF(s, decoder)->gated_residuals)
		return gated_sum(b, stem, x, y);
	if (TRAITS_OF(s, decoder)->depth_scaled) {
		double n = 2 * (double)(b->layer + 1) + text_is(stem, "layers.ffn.residual");
		return op_add(b->g, op_scale(b->g, x, (float)sqrt((n - 1) / n)), op_scale(b->g, y, (float)(1 / sqrt(n))));
	}
	if (weight_named(b, stem))
		x = op_mul(b->g, x, WEIGHT(b, stem, "", s->hidden_size));
	return op_add(b->g, x, s->residual_scale > 0 ? op_scale(b->g, y, (float)s->residual_scale) : y);
}

// A norm before a branch, y; where it has a gate, y * sigmoid(STEM.up(silu(STEM.down(y)))).
static graph_value norm_before(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, rank = b->s->norm_rank;
	graph_value y = norm(b, stem, x, h);
	if (!rank)
		return y;
	graph_value gate = op_silu(g, linear(b, arena_printf(graph_arena(g), "%s.down", stem), y, h, rank, false));
	gate = linear(b, arena_printf(graph_arena(g), "%s.up", stem), gate, rank, h, false);
	return op_mul(g, y, op_sigmoid(g, gate));
}

static graph_value norm_before_ffn(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	return s->norm_rank && s->sparse[b->layer] ? norm_before(b, "layers.ffn.gated_norm", x)
						   : norm(b, "layers.ffn.norm", x, s->hidden_size);
}

static graph_value parallel_layer(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	bool two = TRAITS_OF(s, decoder)->parallel_norms, apart = two && weight_named(b, "layers.attn.norm_apart");
	graph_value normed = norm(b, apart ? "layers.attn.norm_apart" : "layers.attn.norm", x, s->hidden_size);
	graph_value y = mix(b, io, normed, p);
	graph_leave(g);
	graph_enter(g, "ffn");
	graph_value z =
		feed(b, two ? norm(b, apart ? "layers.ffn.norm_apart" : "layers.ffn.norm", x, s->hidden_size) : normed, x);
	graph_leave(g);
	return residual(b, "layers.ffn.residual", residual(b, "layers.attn.residual", x, y), z);
}

static graph_value lone_branch(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	enum mixer kind = b->s->mixers[b->layer];
	graph_value y = norm(b, "layers.norm", x, b->s->hidden_size);
	y = kind == MIX_NONE || kind == MIX_EXPERTS ? feed(b, y, x) : mix(b, io, y, p);
	return residual(b, "layers.residual", x, y);
}

// One of two layers of one number (LongCat-Flash): norms, attention and feed-forward are those of its place in the pair.
static graph_value paired_layer(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, place = b->layer % 2;
	b->item_name = arena_printf(graph_arena(g), "%lld", (long long)(b->layer / 2));
	b->item = place;
	x = op_add(g, x, mix(b, io, norm(b, "layers.attn.norm", x, h), p));
	graph_value y = norm(b, "layers.ffn.norm", x, h);
	x = op_add(g, x, ffn_of(b, "layers.ffn", y, s->ffn_size, s->traits.ffn_bias));
	if (place)
		return op_add(g, x, p->beside);
	p->beside = mixture(b, y);
	return x;
}

// x and the embedding -> norm -> attention -> norm -> feed-forward -> a linear layer
static graph_value shared_block(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	b->item_name = arena_printf(graph_arena(g), "%lld", (long long)s->block_of[b->layer]);
	b->item = 0; // how many such blocks come before
	for (int64_t i = 0; i < b->layer; i++)
		b->item += s->block_of[i] >= 0;
	graph_value y = norm(b, "layers.block.norm", op_concat(g, 2, (graph_value[]){ x, p->embedded }, 2), 2 * h);
	y = feed(b, norm(b, "layers.ffn.norm", attention(b, y, p, io->cache), h), x);
	return linear(b, "layers.block.out", y, h, h, false);
}

static graph_value blocked_layer(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value y = attends(s, b->layer) ? op_add(g, x, shared_block(b, io, x, p)) : x;
	y = norm(b, "layers.norm", y, s->hidden_size);
	y = s->mixers[b->layer] == MIX_MAMBA ? mamba_mixer(b, io, y, p->tokens) : mamba2_mixer(b, io, y, p->tokens);
	return op_add(g, x, y);
}

// Sums of a branch's normed input and of what it gives, each times a factor.
static graph_value weighed_layer(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const double *of_mixer = s->mixers[b->layer] == MIX_ATTENTION ? s->weighed->attention : s->weighed->recurrence;
	graph_enter(g, "attn");
	x = norm(b, "layers.attn.norm", x, s->hidden_size);
	x = op_add(g, times(b, x, of_mixer[0]), times(b, mix(b, io, x, p), of_mixer[1]));
	graph_leave(g);
	graph_enter(g, "ffn");
	x = norm(b, "layers.ffn.norm", x, s->hidden_size);
	x = op_add(g, times(b, x, s->weighed->ffn[0]), times(b, feed(b, x, x), s->weighed->ffn[1]));
	graph_leave(g);
	return x;
}

static graph_value layer(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct decoder_traits *t = TRAITS_OF(s, decoder);
	bool post = s->traits.post_norm;
	if (t->parallel || t->parallel_norms)
		return parallel_layer(b, io, x, p);
	bool recurrent = s->mixers && s->mixers[b->layer] != MIX_ATTENTION, reordered = t->reordered_norm && !recurrent;
	bool before = !reordered && !post, after = reordered || t->sandwich_norm;
	if (t->one_branch && s->mixers)
		return lone_branch(b, io, x, p);
	if (t->shared_block && s->block_of)
		return blocked_layer(b, io, x, p);
	if (s->weighed)
		return weighed_layer(b, io, x, p);
	if (t->paired)
		return paired_layer(b, io, x, p);
	graph_enter(g, "attn");
	bool unnormed = t->first_unnormed && b->layer == 0;
	graph_value y = before && !unnormed ? norm_before(b, "layers.attn.norm", x) : x;
	y = mix(b, io, y, p);
	x = residual(b, "layers.attn.residual", x, after ? norm_after(b, "layers.attn.after", y) : y);
	x = post ? norm(b, "layers.attn.norm", x, s->hidden_size) : x;
	graph_leave(g);
	if (head_reads_memory(s)) {
		graph_enter(g, "cross");
		y = norm(b, "layers.cross.norm", x, s->hidden_size);
		unsigned biases = (s->traits.qkv_bias ? BIAS_Q | BIAS_K | BIAS_V : 0) | (s->traits.out_bias ? BIAS_O : 0);
		y = attend(b, "layers.cross", y, io->memory, io->memory_bias, io->cross, biases);
		x = op_add(g, x, after ? norm_after(b, "layers.cross.after", y) : y);
		graph_leave(g);
	}
	graph_enter(g, "ffn");
	y = feed(b, before ? norm_before_ffn(b, x) : x, x);
	x = residual(b, "layers.ffn.residual", x, after ? norm_after(b, "layers.ffn.after", y) : y);
	x = post ? norm(b, "layers.ffn.norm", x, s->hidden_size) : x;
	graph_leave(g);
	if (s->token_width && !s->altup)
		x = op_add(g, x, token_of_layer(b, x, p));
	return weight_named(b, "layers.scale") ? op_mul(g, x, WEIGHT(b, "layers.scale", "", 1)) : x;
}

// Of several states (block/altup.c); LAuReL stands beside attention.
static graph_value altup_layer(struct build *b, struct body *io, graph_value states, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value predicted = altup_predict(b, states), x = altup_active(b, predicted);
	graph_enter(g, "attn");
	graph_value normed = norm(b, "layers.attn.norm", x, h);
	graph_value y = norm(b, "layers.attn.after", mix(b, io, normed, p), h);
	x = op_scale(g, op_add(g, op_add(g, x, y), altup_laurel(b, normed)), (float)sqrt(0.5));
	graph_leave(g);
	graph_enter(g, "ffn");
	y = feed(b, norm(b, "layers.ffn.norm", x, h), x);
	x = op_add(g, x, norm(b, "layers.ffn.after", y, h));
	graph_leave(g);
	states = altup_correct(b, predicted, x);
	x = altup_active(b, states);
	if (s->altup->scaled)
		x = op_mul(g, x, WEIGHT(b, "layers.altup.scale", "", h));
	return altup_add(b, states, token_of_layer(b, x, p));
}

// A norm of what a branch reads of several streams, where the dialect has a word for it.
static graph_value norm_if_named(struct build *b, const char *stem, graph_value x)
{
	return weight_named(b, stem) ? norm(b, stem, x, b->s->hidden_size) : x;
}

// Of several residual streams (block/hyper.c).
static graph_value hyper_layer(struct build *b, struct body *io, graph_value streams, struct shared *p)
{
	struct graph *g = b->g;
	struct hyper_weights w;
	graph_enter(g, "attn");
	graph_value x = hyper_enter(b, "layers.attn.hyper", streams, &w);
	streams = hyper_leave(b, streams, mix(b, io, norm_if_named(b, "layers.attn.norm", x), p), &w);
	graph_leave(g);
	graph_enter(g, "ffn");
	x = hyper_enter(b, "layers.ffn.hyper", streams, &w);
	streams = hyper_leave(b, streams, feed(b, norm_if_named(b, "layers.ffn.norm", x), x), &w);
	graph_leave(g);
	return streams;
}

static graph_value any_layer(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	return (b->s->altup ? altup_layer : b->s->hyper ? hyper_layer : layer)(b, io, x, p);
}

// 1 + beta log(1 + floor((column + 1) / floor)) of the new tokens: [1, seq, 1]
static graph_value column_scale(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	graph_value end = op_squeeze(g, op_dim(g, io->mask, 1), 0), one = graph_i64(g, 1);
	graph_value at = op_range(g, op_sub(g, end, op_squeeze(g, op_dim(g, x, 1), 0)), end, one);
	graph_assume(g, at, 0, value_dim(g, x, 1));
	at = op_cast(g, op_div(g, op_add(g, at, one), graph_i64(g, b->s->column_floor)), DTYPE_F32);
	at = op_scale(g, op_log(g, op_add(g, at, graph_f32(g, 1))), (float)b->s->column_beta);
	return op_unsqueeze(g, op_unsqueeze(g, op_add(g, at, graph_f32(g, 1)), 0), 2);
}

// (1 + (position + 1) / 2048)^0.1: [batch or 1, seq, 1]
static graph_value scale_of_nope(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	graph_value at = io->positions.id ? io->positions : op_unsqueeze(g, places_of(g, x), 0), one = graph_f32(g, 1);
	at = op_scale(g, op_add(g, op_cast(g, at, DTYPE_F32), one), 1.0f / 2048);
	return op_unsqueeze(g, op_exp(g, op_scale(g, op_log(g, op_add(g, at, one)), 0.1f)), 2);
}

// log(1 + position): [batch or 1, seq, 1]
static graph_value log_place(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	graph_value at = io->positions.id ? io->positions : op_unsqueeze(g, places_of(g, x), 0);
	return op_unsqueeze(g, op_log(g, op_cast(g, op_add(g, at, graph_i64(g, 1)), DTYPE_F32)), 2);
}

static void make_shared(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool needed[2] = { false, false }, rotary[2] = { false, false };
	for (int64_t i = 0; i < s->layers; i++) {
		needed[s->sliding[i]] |= attends(s, i);
		rotary[s->sliding[i]] |= attends(s, i) && is_rotary(s, i);
	}
	p->keys = io->mask;
	if (s->compressed)
		p->positions = io->positions.id ? io->positions : op_unsqueeze(g, places_of(g, x), 0);
	if (s->mixers)
		p->tokens = mask_of_new(b, io, x);
	for (int w = 0; w < 2; w++) {
		if (!needed[w])
			continue;
		const struct rope *r = w ? &s->window_rope : &s->rope;
		int64_t width = w && s->window_heads.width ? s->window_heads.width : s->head_width;
		if (!rotary[w])
			;
		else if (io->axes.id)
			rope_tables_by_section(b, r, r->dim ? r->dim : width, x, io->axes, &p->cos[w], &p->sin[w]);
		else if (!s->traits.alibi && !TRAITS_OF(s, decoder)->sinusoids && !weight_named(b, "embed.position"))
			rope_tables_of(b, r, r->dim ? r->dim : width, x, io->positions, &p->cos[w], &p->sin[w]);
		int64_t window = w || s->compressed ? s->sliding_window : 0;
		if (w && s->chunk)
			p->mask[w] = mask_chunks(b, io->mask, x, s->chunk);
		else if (!s->bidirectional || io->blocks.id) // blocks say what sees later tokens
			p->mask[w] = mask_causal_blocks(b, io->mask, x, window, io->blocks);
		else
			p->mask[w] = w ? mask_window_both(b, io->mask, x, window) : mask_bidirectional(b, io->mask);
		if (s->traits.alibi)
			p->mask[w] = op_add(g, mask_alibi(b, io->mask), p->mask[w]);
	}
	if (s->column_beta > 0)
		p->column_scale = column_scale(b, io, x);
	if (TRAITS_OF(s, decoder)->scaled_nope)
		p->column_scale = scale_of_nope(b, io, x);
	if (weight_named(b, "layers.attn.log_scale"))
		p->log_place = log_place(b, io, x);
	if (s->rope.position_beta > 0)
		p->query_scale = rope_query_scale(b, &s->rope, x, io->positions);
}

// Positions that count from pad_token_id + 1 and skip padding, whose is pad_token_id: [batch, seq]. Of further tokens all
// columns before count.
static graph_value counted_from_pad(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	graph_value pad = graph_i64(g, b->s->pad_token_id);
	if (!io->ids.id)
		return op_add(g, io->positions, op_add(g, pad, graph_i64(g, 1)));
	graph_value past = op_sub(g, op_dim(g, io->mask, 1), op_dim(g, x, 1)); // [1]
	graph_value is_token = op_cast(g, op_not(g, op_equal(g, io->ids, pad)), DTYPE_I64);
	return op_add(g, op_mul(g, op_add(g, op_cumsum(g, is_token, 1), past), is_token), pad);
}

// The sines of the place that pad_token_id names are zeros, whatever stands there.
static graph_value without_pad(struct build *b, graph_value at, graph_value y)
{
	struct graph *g = b->g;
	graph_value is_pad = op_equal(g, at, graph_i64(g, b->s->pad_token_id));
	return op_where(g, op_unsqueeze(g, is_pad, 2), graph_f32(g, 0), y);
}

// Learned positions: rows from position_offset on.
static graph_value add_positions(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t rows = s->max_positions + s->traits.position_offset;
	graph_value at = io->positions;
	if (s->traits.positions_of_mask) {
		graph_value count = op_sub(g, op_mul(g, op_cumsum(g, io->mask, 1), io->mask), graph_i64(g, 1)); // [batch, keys]
		at = op_slice_to(g, count, 1, op_sub(g, op_dim(g, io->mask, 1), op_dim(g, x, 1)), op_dim(g, io->mask, 1));
	} else if (s->traits.positions_from_pad)
		at = counted_from_pad(b, io, x);
	else if (!at.id)
		at = op_unsqueeze(g, places_of(g, x), 0);
	if (s->traits.position_offset)
		at = op_add(g, at, graph_i64(g, s->traits.position_offset));
	if (weight_named(b, "embed.segment")) // all is text
		x = op_add(g, x, op_slice(g, WEIGHT(b, "embed.segment", "weight", 2, s->hidden_size), 0, 0, 1));
	if (!TRAITS_OF(s, decoder)->sinusoids)
		return op_add(g, x, embedding(b, "embed.position", at, rows, s->hidden_size));
	int64_t half = s->hidden_size / 2;
	graph_value y = sines(b, at, s->hidden_size, TRAITS_OF(s, decoder)->sinusoids == 2 ? half : half - 1);
	bool meets_pad = TRAITS_OF(s, decoder)->sinusoids == 1 && s->pad_token_id >= s->traits.position_offset;
	return op_add(g, x, meets_pad ? without_pad(b, at, y) : y);
}

// What each token means to each layer, where it stands and, where the dialect has a word for that, by itself:
// [batch, seq, layers, token_width]
static graph_value tokens_of_layers(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->token_width, all = s->layers_in_config * n, rows = s->token_rows;
	const int64_t split[] = { 0, 0, s->layers_in_config, n };
	graph_value here =
		op_scale(g, linear(b, "token.project", x, s->hidden_size, all, false), (float)(1 / sqrt((double)s->hidden_size)));
	here = norm(b, "token.norm", op_reshape(g, here, 4, split), n);
	if (!weight_named(b, "token.embed"))
		return here;
	if (!io->ids.id) {
		graph_fail(g, STATUS_UNSUPPORTED, "embeddings for each layer want the tokens' ids");
		return NO_VALUE;
	}
	graph_value ids = io->ids;
	if (rows < s->vocab_size)
		ids = op_where(g, op_less(g, ids, graph_i64(g, rows)), ids, graph_i64(g, 0));
	graph_value token = op_scale(g, embedding(b, "token.embed", ids, rows, all), (float)sqrt((double)n));
	return op_scale(g, op_add(g, here, op_reshape(g, token, 4, split)), (float)sqrt(0.5));
}

// The sum of a token's words, each of a codebook; one after the other they lie in one table. ids [batch, seq, codebooks]
static graph_value codes_embedding(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t *begins = ARENA_ARRAY(graph_arena(g), (size_t)s->codebooks, int64_t);
	for (int64_t i = 0; i < s->codebooks; i++)
		begins[i] = i * s->vocab_size;
	graph_value at = op_add(g, ids, graph_constant(g, DTYPE_I64, 1, &s->codebooks, begins));
	graph_value table = WEIGHT(b, "embed.codes", "weight", s->codebooks * s->vocab_size, s->embedding_size);
	return op_reduce_sum(g, op_gather(g, table, at, 0), 2, false);
}

// Rows of the token embedding, which may lie in two tensors, one after the other.
static graph_value token_embedding(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t rows = s->vocab_size, first = rows;
	if (s->codebooks)
		return codes_embedding(b, ids);
	if (!weight_named(b, "embed.further"))
		return embedding(b, "embed.word", ids, rows, s->embedding_size);
	first = weight_rows(b, "embed.words", "", rows - s->further_words);
	first = first < 1 || first >= rows ? rows - s->further_words : first;
	graph_value table[] = { WEIGHT(b, "embed.words", "", first, s->embedding_size),
		WEIGHT(b, "embed.further", "", rows - first, s->embedding_size) };
	graph_value border = graph_i64(g, first), beyond = op_less_or_equal(g, border, ids), zero = graph_i64(g, 0);
	graph_value low = op_gather(g, table[0], op_where(g, beyond, zero, ids), 0);
	graph_value high = op_gather(g, table[1], op_where(g, beyond, op_sub(g, ids, border), zero), 0);
	return op_where(g, op_unsqueeze(g, beyond, 2), high, low);
}

static graph_value last_norm(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	if (s->last_eps > 0) {
		struct graph *g = b->g;
		graph_value bias = WEIGHT(b, "norm", "bias", s->hidden_size);
		return op_layer_norm(g, x, WEIGHT(b, "norm", "weight", s->hidden_size), bias, (float)s->last_eps);
	}
	if (!TRAITS_OF(s, decoder)->last_norm_plain)
		return norm(b, "norm", x, s->hidden_size);
	return op_rms_norm(b->g, x, WEIGHT(b, "norm", "weight", s->hidden_size), (float)s->norm_eps);
}

// Two stacks of layers, each with a state (hierarchical reasoning, https://arxiv.org/abs/2506.21734). The low one's, which begins
// as a learned row, goes round low_cycles times with the high one's added, then that once with the low one's, and so on. A layer
// has keys and values of its own in each round: b->layer counts rounds, item_name is the layer's place among the weights.
static graph_value cycled_layers(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->stack_layers, round = s->low_cycles + 1;
	graph_value high = x, low = WEIGHT(b, "state.low", "", s->hidden_size);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		int64_t place = b->layer % n;
		bool is_high = b->layer / n % round == s->low_cycles;
		if (place == 0)
			x = op_add(g, high, low);
		b->item_name = arena_printf(graph_arena(g), "%c_module.layers.%lld", is_high ? 'H' : 'L', (long long)place);
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, io, x, p);
		graph_leave(g);
		if (place == n - 1) {
			x = norm(b, "norm", x, s->hidden_size);
			*(is_high ? &high : &low) = x;
		}
	}
	return high;
}

// Where a model by itself reads a text for others: what model.onnx gives, and penultimate_hidden_state [batch, sequence, hidden]:
// what the last layer reads, without the last norm.
static bool reads_for_others(const struct spec *s)
{
	return s->head == &head_model && s->layers > 0 && !s->cycles;
}

static const struct arch_graph encoder_graph = { .file = "text_encoder.onnx", .there = reads_for_others, .by_name = true };
static const struct arch_graph *const graphs[] = { &encoder_graph, NULL };

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	if (head_reads_memory(s))
		seq2seq_begin(b, io);
	graph_value x = io->embeds.id ? io->embeds : token_embedding(b, io->ids); // [batch, seq, hidden]
	if (s->embedding_size != s->hidden_size && !io->embeds.id)
		x = linear(b, "embed.project", x, s->embedding_size, s->hidden_size, false);
	if (s->embedding_scale > 0 &&
		!(io->embeds.id && TRAITS_OF(s, decoder)->scaled_embedding)) // then the scale is the embedding's own
		x = op_scale(g, x, (float)s->embedding_scale);
	if (TRAITS_OF(s, decoder)->sinusoids || weight_named(b, "embed.position"))
		x = add_positions(b, io, x);
	if (s->traits.embedding_norm)
		x = weight_named(b, "embed.norm") ? norm(b, "embed.norm", x, s->hidden_size)
						  : op_rms_norm(g, x, ones_of(b, s->hidden_size), (float)s->norm_eps);
	if (s->stable_embedding)
		x = op_layer_norm(g, x, WEIGHT(b, "embed.norm", "weight", s->hidden_size),
			WEIGHT(b, "embed.norm", "bias", s->hidden_size), 1e-5f);
	struct shared p = { .embedded = x };
	make_shared(b, io, x, &p);
	if (s->keys_of)
		p.kept = ARENA_ARRAY(graph_arena(g), (size_t)s->layers + 1, struct kept);
	if (s->token_width)
		p.each = tokens_of_layers(b, io, x);
	states_begin(b, io, x);
	if (s->altup)
		x = altup_begin(b, x);
	if (s->hyper)
		x = hyper_begin(b, x);
	if (s->cycles)
		x = cycled_layers(b, io, x, &p);
	for (b->layer = s->cycles ? s->layers : 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		if (!s->crossing || !s->crossing[b->layer])
			x = any_layer(b, io, x, &p);
		else if (io->memory.id)
			x = crossing_layer(b, io, x);
		graph_leave(g);
		if (b->layer < io->deep_count)
			x = op_add(g, x, io->deep[b->layer]);
		states_add(io, s->altup ? altup_active(b, x) : x);
	}
	if (b->which == &encoder_graph && !graph_failed(g))
		graph_output(g, "penultimate_hidden_state", io->states[io->state_count - 2]);
	if (s->altup)
		x = altup_end(b, x);
	if (s->hyper)
		x = hyper_end(b, x);
	io->last = TRAITS_OF(s, decoder)->no_last_norm || s->cycles ? x : last_norm(b, x);
	if (s->project_size)
		io->last = linear(b, "project.last", io->last, s->hidden_size, s->project_size, false);
	if (s->embedding_size != s->hidden_size)
		io->last = linear(b, "project", io->last, s->hidden_size, s->embedding_size, false);
}

static void build(struct build *b)
{
	decoder_whole(b, 0, body);
}

// Classes by the mean of all tokens, padding too.
static void score_mean(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value mean = op_reduce_mean(b->g, io->last, 1, false);
	graph_output(b->g, "logits", linear(b, "head.score", mean, s->hidden_size, s->labels, false)); // [batch, labels]
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_causal_lm },
	{ &head_memory_lm },
	{ &head_sequence, head_score_last },
	{ &head_token },
	{ &head_span },
	{ &head_image, score_mean },
	{ 0 },
};

const struct family decoder = {
	.name = "decoder",
	.architecture = "decoder-only",
	.resolve = decoder_resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.graphs = graphs,
	.sizes = recurrence_sizes,
	.any_heads = true,
	.may_unturn = true,
	.shares_cache = true,
	.traits = FAMILY_TRAIT_LIST(decoder, DECODER_TRAITS),
};
