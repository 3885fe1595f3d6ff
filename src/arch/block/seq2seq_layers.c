// SPDX-License-Identifier: Apache-2.0
// The layers of BART and its kin, of either half, and the sines that some have for positions.
//
//   layer:            x -+- attention -(+)- norm -[+- attention to the encoder -(+)- norm -]+- act(fc1) - fc2 -(+)- norm -
//                        +--------------+          +----------------------------+           +------------------+
//   with norm_first:  x -+- norm - attention -(+)-[+- norm - attention to the encoder -(+)-]+- norm - act(fc1) - fc2 -(+)- ... -
//   norm
#include <float.h>
#include <math.h>

#include "arch/block/seq2seq.h"

// windows: of each layer, where io->blocks are the tokens that see all; NULL: none
static graph_value attention(struct build *b, const char *stem, graph_value x, graph_value from, graph_value bias,
	struct cache *cache, unsigned biases, const struct body *io, const int64_t *windows)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const char *norm = arena_printf(graph_arena(g), "%s.norm", stem);
	bool first = s->traits.norm_first, alone = from.id == x.id;
	graph_value y = first ? layer_norm(b, norm, x, s->hidden_size) : x;
	y = windows ? global_attention(b, stem, y, io->mask, io->blocks, windows[b->layer])
		    : attend(b, stem, y, alone ? y : from, bias, cache, biases);
	x = op_add(g, x, y);
	return first ? x : layer_norm(b, norm, x, s->hidden_size);
}

static graph_value feed_forward(struct build *b, graph_value x, bool bias)
{
	const struct spec *s = b->s;
	bool first = s->traits.norm_first;
	graph_value y = first ? layer_norm(b, "layers.ffn.norm", x, s->hidden_size) : x;
	y = activate(b, s->act, linear(b, "layers.ffn.up", y, s->hidden_size, s->ffn_size, bias)); // [batch, seq, ffn]
	x = op_add(b->g, x, linear(b, "layers.ffn.down", y, s->ffn_size, s->hidden_size, bias));
	return first ? x : layer_norm(b, "layers.ffn.norm", x, s->hidden_size);
}

// Learned tokens before the others, which see all of them and are seen by all (PEGASUS-X: Phang et al. 2022,
// https://arxiv.org/abs/2208.04347). x [batch, seq, hidden] -> [batch, globals + seq, hidden]; *bias: of layers without and with
// staggered blocks.
static graph_value with_globals(struct build *b, const struct body *io, graph_value x, graph_value bias[2])
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->global_tokens;
	graph_value at = places_of(g, x), zero = graph_i64(g, 0), count = graph_i64s(g, 1, &n),
		    no = graph_i64s(g, 1, (int64_t[]){ -1 });
	graph_value batch = op_dim(g, x, 0), mask = op_cast(g, io->mask, DTYPE_I64);
	graph_value ones = op_expand(g, graph_i64(g, 1), op_concat(g, 2, (graph_value[]){ batch, count }, 0));
	mask = op_cast(g, op_concat(g, 2, (graph_value[]){ ones, mask }, 1), DTYPE_BOOL);
	graph_value key = op_unsqueeze(g, op_unsqueeze(g, mask, 1), 1); // [batch, 1, 1, globals + seq]
	for (int i = 0; i < 2; i++) {
		graph_value block =
			op_div(g, op_add(g, at, graph_i64(g, i ? s->token_block / 2 : 0)), graph_i64(g, s->token_block));
		block = op_concat(g, 2, (graph_value[]){ op_expand(g, no, count), block }, 0); // globals are of block -1
		graph_value query = op_unsqueeze(g, block, 1), other = op_unsqueeze(g, block, 0);
		graph_value allowed = op_or(g, op_equal(g, query, other), op_less(g, query, zero));
		allowed = op_or(g, allowed, op_less(g, other, zero));
		bias[i] = op_where(g, op_and(g, allowed, key), graph_f32(g, 0), graph_f32(g, -FLT_MAX));
	}
	graph_value table = op_unsqueeze(g, WEIGHT(b, "embed.global", "weight", n, s->hidden_size), 0);
	graph_value shape[] = { batch, graph_i64s(g, 2, (int64_t[]){ n, s->hidden_size }) };
	return op_concat(g, 2, (graph_value[]){ op_expand(g, table, op_concat(g, 2, shape, 0)), x }, 1);
}

// Attention whose learned tokens have a norm of their own.
static graph_value attention_with_globals(struct build *b, graph_value x, const graph_value bias[2])
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = s->global_tokens, h = s->hidden_size;
	graph_value part[] = { layer_norm(b, "layers.attn.norm_global", op_slice(g, x, 1, 0, n), h),
		layer_norm(b, "layers.attn.norm", op_slice(g, x, 1, n, INT64_MAX), h) };
	graph_value y = op_concat(g, 2, part, 1);
	return op_add(g, x, attend(b, "layers.attn", y, y, bias[s->staggered && b->layer % 2], NULL, 0));
}

graph_value seq2seq_stack(struct build *b, struct body *io, graph_value x, bool is_decoder, unsigned biases)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value own = NO_VALUE, cross = NO_VALUE, query, key;
	// One type has other words for the attention of its encoder.
	const char *stem = !is_decoder && weight_named(b, "layers.source.q") ? "layers.source" : "layers.attn";
	if (is_decoder) {
		decoder_places(b, io, &query, &key);
		own = io->mask.id ? mask_causal(b, io->mask, x, 0) : causal_bias(b, query, key);
	} else if (io->mask.id)
		own = mask_bidirectional(b, io->mask); // [batch, 1, 1, seq]
	if (io->memory_mask.id)
		cross = mask_bidirectional(b, io->memory_mask);
	bool globals = !is_decoder && s->global_tokens;
	graph_value blocks[2] = { NO_VALUE, NO_VALUE }, tokens = x;
	if (globals)
		x = with_globals(b, io, x, blocks);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_enter(g, "attn");
		x = globals ? attention_with_globals(b, x, blocks)
			    : attention(b, stem, x, x, own, io->cache, biases, io, is_decoder ? NULL : s->attention_windows);
		graph_leave(g);
		if (io->memory.id || io->cross) {
			graph_enter(g, "cross");
			x = attention(b, "layers.cross", x, io->memory, cross, io->cross, biases, io, NULL);
			graph_leave(g);
		}
		graph_enter(g, "ffn");
		x = feed_forward(b, x, !(biases & FFN_NO_BIAS));
		graph_leave(g);
		graph_leave(g);
		states_add(io, x);
	}
	if (globals) {
		x = op_slice(g, x, 1, s->global_tokens, INT64_MAX);
		graph_assume(g, x, 1, value_dim(g, tokens, 1));
	}
	return x;
}

void seq2seq_layers(struct build *b, struct body *io, graph_value x, bool is_decoder, unsigned biases)
{
	const struct spec *s = b->s;
	x = seq2seq_stack(b, io, x, is_decoder, biases);
	io->last = s->traits.norm_first ? layer_norm(b, "norm", x, s->hidden_size) : x;
	io->states[io->state_count - 1] = io->last;
}

graph_value sines_of_tokens(struct build *b, const struct body *io, graph_value is_token)
{
	struct graph *g = b->g;
	int64_t width = b->s->hidden_size;
	graph_value count = op_cumsum(g, op_cast(g, is_token, DTYPE_I64), 1); // [batch, seq]
	if (io->cache && io->cache->past_key[0].id)
		count = op_add(g, count, op_squeeze(g, op_dim(g, io->cache->past_key[0], 2), 0));
	graph_value y = sines(b, op_add(g, count, graph_i64(g, b->s->pad_token_id)), width, width / 2 - 1);
	return op_mul(g, y, op_unsqueeze(g, op_cast(g, is_token, DTYPE_F32), 2));
}

graph_value sines(struct build *b, graph_value positions, int64_t width, int64_t steps)
{
	struct graph *g = b->g;
	int64_t half = width / 2;
	float *f = GRAPH_TABLE(g, NULL, half + 1, 1, float);
	if (!f)
		return NO_VALUE;
	for (int64_t i = 0; i < half; i++)
		f[i] = (float)pow(10000, -(double)i / (double)(steps > 0 ? steps : 1));
	graph_value at = op_unsqueeze(g, op_cast(g, positions, DTYPE_F32), -1);
	graph_value angle = op_mul(g, at, graph_constant(g, DTYPE_F32, 1, (int64_t[]){ half }, f));
	return op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, -1); // [.., width]
}
