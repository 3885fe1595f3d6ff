// SPDX-License-Identifier: Apache-2.0
// Attention at two resolutions (MRA: Zeng et al. 2022, https://arxiv.org/abs/2207.10284): the means of blocks of 32 tokens are
// compared; of the pairs of blocks that are most alike every query meets every key, and of the others the means stand for both.
//
//   low = mean(q) mean(k)^T      chosen: the greatest of low - max of its row
//   y   = (sum over chosen keys of e^(q k) v + sum over other blocks of 32 e^low mean(v)) / (the same without v, + 1e-6)
//
// Both sums are kept divided by e^max, each by its own, and brought together by the greater one. The class's kernels compute the
// chosen pairs alone; here all are computed, and what is not chosen is left out. It has no padding: of a mask, the class makes
// numbers beyond those of its integers.
#include "arch/family/encoder.h"

#include <math.h>

enum { BLOCK = 32 };
static const float NONE = -1e5f; // the greatest score of a query without chosen keys

// Of a longest text: how many pairs of blocks are chosen before all others, and how many rows have pairs besides.
static int64_t count_priors(const struct encoder *e, int64_t blocks, int64_t *rows)
{
	int64_t pairs = 0;
	*rows = 0;
	for (int64_t i = 0; i < blocks; i++) {
		int64_t of_row = 0;
		for (int64_t k = 0; k < blocks; k++) {
			int64_t far = i < k ? k - i : i - k;
			of_row += i < e->first_blocks || k < e->first_blocks ||
				(e->diagonal_blocks && far <= e->diagonal_blocks / 2);
		}
		pairs += of_row;
		*rows += of_row < blocks;
	}
	return pairs;
}

void encoder_resolve_blocks(struct config *c, struct spec *s, struct encoder *e)
{
	const char *mode = config_text(c, "approx_mode");
	int64_t blocks = s->max_positions / BLOCK, each = config_count(c, "block_per_row", 4);
	e->near_only = mode && text_is(mode, "sparse");
	e->first_blocks = config_count(c, "initial_prior_first_n_blocks", 0);
	e->diagonal_blocks = config_count(c, "initial_prior_diagonal_n_blocks", 0);
	e->near_blocks = blocks * (each < blocks ? each : blocks);
	if (mode && !e->near_only && !text_is(mode, "full"))
		config_fail(c, STATUS_BAD_INPUT, "approx_mode %s is neither full nor sparse", mode);
	if (!c->error.status && (e->near_blocks < 1 || blocks > 1 << 10))
		config_fail(c, STATUS_BAD_INPUT, "%lld blocks of %d tokens, %lld in each row", (long long)blocks, BLOCK,
			(long long)each);
	if (c->error.status)
		return;
	// The greatest of each row are all 0: where there is no room for all of them, which are taken is not defined.
	int64_t rows, left = e->near_blocks - count_priors(e, blocks, &rows);
	if (left > 0 && left < rows)
		config_fail(c, STATUS_UNSUPPORTED,
			"initial_prior_first_n_blocks %lld and initial_prior_diagonal_n_blocks %lld leave %lld of %lld pairs of "
			"blocks to %lld rows: which have one is not defined",
			(long long)e->first_blocks, (long long)e->diagonal_blocks, (long long)left, (long long)e->near_blocks,
			(long long)rows);
}

// The mean of each block: [batch, heads, seq, width] -> [batch, heads, blocks, width]
static graph_value means(struct graph *g, graph_value x)
{
	int64_t width = value_dim(g, x, 3);
	return op_reduce_mean(g, op_reshape(g, x, 5, (int64_t[]){ 0, 0, -1, BLOCK, width }), 3, false);
}

// Adds what is chosen before all others, in the class's order. low [batch, heads, blocks, blocks]
static graph_value with_priors(struct build *b, graph_value low, graph_value at)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	graph_value row = op_unsqueeze(g, at, 1), column = op_unsqueeze(g, at, 0), most = graph_f32(g, 5e3f);
	if (e->diagonal_blocks) {
		graph_value far = op_abs(g, op_cast(g, op_sub(g, row, column), DTYPE_F32));
		graph_value near = op_less_or_equal(g, far, graph_f32(g, (float)(e->diagonal_blocks / 2)));
		low = op_add(g, low, op_mul(g, op_cast(g, near, DTYPE_F32), most));
	}
	for (int i = 0; i < 2 && e->first_blocks; i++) {
		graph_value first = op_less(g, i ? column : row, graph_i64(g, e->first_blocks));
		low = op_add(g, low, op_mul(g, op_cast(g, first, DTYPE_F32), most));
	}
	return low;
}

// Which pairs of blocks are chosen, of equals the first, as 1 and 0; *apart: 0 where their means still have a part, which those
// have not that are as great as the least chosen. All [batch, heads, blocks, blocks]
static graph_value choose(struct build *b, graph_value low, graph_value *apart)
{
	struct graph *g = b->g;
	graph_value at, flat = op_reshape(g, low, 3, (int64_t[]){ 0, 0, -1 });
	graph_value best = op_topk_indices(g, flat, ((const struct encoder *)b->s->own)->near_blocks, 2, false, &at);
	graph_value least = op_unsqueeze(g, op_reduce_min(g, best, 2, true), 3);
	*apart = op_cast(g, op_not(g, op_less(g, low, least)), DTYPE_F32);
	graph_value one = op_add(g, op_scale(g, best, 0), graph_f32(g, 1));
	graph_value is = op_scatter_elements(g, op_scale(g, flat, 0), at, one, 2, SCATTER_REPLACE);
	return op_reshape_to(g, is, op_shape(g, low));
}

// What two sums are multiplied by, which are kept divided by e^low and e^high, to be divided by the greater one.
static void bring_together(struct graph *g, graph_value low, graph_value high, graph_value *of_low, graph_value *of_high)
{
	graph_value more = op_sub(g, low, high), zero = graph_f32(g, 0);
	*of_low = op_exp(g, op_min(g, more, zero));
	*of_high = op_exp(g, op_neg(g, op_max(g, more, zero)));
}

static graph_value by_head(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	x = op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, s->heads, s->head_width });
	return op_transpose(b->g, x, 4, (int[]){ 0, 2, 1, 3 });
}

// q, k, v [batch, heads, seq, width] -> the same
static graph_value attend_by_blocks(struct build *b, graph_value q, graph_value k, graph_value v)
{
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	int64_t width = b->s->head_width;
	float scale = (float)(1 / sqrt((double)(width < BLOCK ? BLOCK : width))); // narrow heads have zeros beside them
	const int swap[] = { 0, 1, 3, 2 };
	graph_value low = op_scale(g, op_matmul(g, means(g, q), op_transpose(g, means(g, k), 4, swap)), scale), apart;
	graph_value low_most = op_reduce_max(g, low, 3, true), away = op_sub(g, low, low_most);
	graph_value tokens = places_of(g, op_transpose(g, q, 4, (int[]){ 0, 2, 1, 3 }));
	graph_value block = op_div(g, tokens, graph_i64(g, BLOCK));
	graph_value count = op_squeeze(g, op_dim(g, low, 2), 0), at = op_range(g, graph_i64(g, 0), count, graph_i64(g, 1));
	graph_value near = op_gather(g, op_gather(g, choose(b, with_priors(b, away, at), &apart), block, 2), block, 3);
	near = op_greater(g, near, graph_f32(g, 0.5f)); // [batch, heads, seq, seq]

	graph_value scores = op_scale(g, op_matmul(g, q, op_transpose(g, k, 4, swap)), scale);
	graph_value most = op_reduce_max(g, op_where(g, near, scores, graph_f32(g, NONE)), 3, true);
	most = op_cast(g, op_cast(g, op_scale(g, most, 1000), DTYPE_I32), DTYPE_F32); // whole thousandths, as the kernel has it
	most = op_div(g, most, graph_f32(g, 1000));
	graph_value p = op_where(g, near, op_exp(g, op_sub(g, scores, most)), graph_f32(g, 0));
	graph_value sum = op_matmul(g, p, v), weight = op_reduce_sum(g, p, 3, true), little = graph_f32(g, 1e-6f);
	if (e->near_only)
		return op_div(g, sum, op_add(g, weight, little));
	p = op_exp(g, op_sub(g, away, op_scale(g, apart, 1e4f)));
	p = op_scale(g, p, BLOCK);
	graph_value low_sum = op_gather(g, op_matmul(g, p, means(g, v)), block, 2),
		    low_weight = op_gather(g, op_reduce_sum(g, p, 3, true), block, 2), of_low, of_high;
	bring_together(g, op_gather(g, low_most, block, 2), most, &of_low, &of_high);
	sum = op_add(g, op_mul(g, sum, of_high), op_mul(g, low_sum, of_low));
	weight = op_add(g, op_mul(g, weight, of_high), op_mul(g, low_weight, of_low));
	return op_div(g, sum, op_add(g, weight, little));
}

graph_value encoder_block_attention(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t n = b->s->hidden_size, pairs = ((const struct encoder *)b->s->own)->near_blocks, seq = value_dim(g, x, 1);
	int64_t blocks = seq / BLOCK;
	if (seq >= 0 && (seq % BLOCK || blocks * blocks < pairs)) {
		graph_fail(g, STATUS_UNSUPPORTED,
			"a text of %lld tokens: MRA reads multiples of %d, of at least %lld pairs of blocks", (long long)seq,
			BLOCK, (long long)pairs);
		return NO_VALUE;
	}
	graph_value q = by_head(b, linear(b, "layers.attn.q", x, n, n, true)),
		    k = by_head(b, linear(b, "layers.attn.k", x, n, n, true)),
		    v = by_head(b, linear(b, "layers.attn.v", x, n, n, true));
	graph_value y = op_transpose(g, attend_by_blocks(b, q, k, v), 4, (int[]){ 0, 2, 1, 3 });
	y = op_reshape(g, y, 3, (int64_t[]){ 0, 0, n });
	graph_assume(g, y, 1, seq);
	return linear(b, "layers.attn.o", y, n, n, true);
}
