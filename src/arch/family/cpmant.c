// SPDX-License-Identifier: Apache-2.0
// CPM-Ant (https://github.com/OpenBMB/CPM-Live): a learned prompt before the text, and biases by distance within a segment and by
// the pair of segments across. All tokens see each other; padding stands on the left and has the id 0, whatever a mask says.
//
//   [prompt, ids] - embedding + segment -> layers -> norm -> without the prompt
//   layer:  x -+- norm - attention -(+)-+- norm - feed-forward -(+)-
//              +--------------------+  +-----------------------+
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

struct cpmant {
	int64_t prompt, rows;                // tokens of the prompt; rows of the table beyond the vocabulary
	int64_t segments, buckets, farthest; // of the table of biases: buckets of distances, then pairs of segments
};
enum { TEXT_SEGMENT = 2, TEXT_PROMPT = 2 }; // of the kinds of segments and prompts that the class knows it uses these

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct cpmant *p = s->own = ARENA_NEW(a, struct cpmant);
	resolve_transformer(c, s, false);
	s->norm_eps = config_real(c, "eps", 1e-6);
	s->act = ACT_GELU;
	s->tied = false; // the file has the head, a part of the table
	p->prompt = config_size(c, "prompt_length", 32);
	int64_t types = config_size(c, "prompt_types", 32);
	p->rows = types * p->prompt;
	p->segments = config_size(c, "segment_types", 32);
	p->buckets = config_size(c, "position_bias_num_buckets", 512);
	p->farthest = config_size(c, "position_bias_max_distance", 2048);
	if (!c->error.status &&
		(types <= TEXT_PROMPT || p->segments <= TEXT_SEGMENT || p->segments > 1 << 10 || p->prompt < 1 ||
			p->prompt > 1 << 16 || s->ffn_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "prompt_types %lld of %lld tokens and segment_types %lld do not go together",
			(long long)types, (long long)p->prompt, (long long)p->segments);
}

// value for the prompt's tokens, then x [batch, seq]: [batch, prompt + seq]
static graph_value after_prompt(struct build *b, graph_value value, graph_value x)
{
	struct graph *g = b->g;
	int64_t n = ((const struct cpmant *)b->s->own)->prompt;
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 1, &n) }, 0);
	return op_concat(g, 2, (graph_value[]){ op_expand(g, value, shape), x }, 1);
}

// Biases [batch, heads, n, n] and the lowest number where a query does not see a key.
static graph_value biases(struct build *b, graph_value ids, graph_value segment, graph_value *seen)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct cpmant *p = s->own;
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, segment, 1), 0), graph_i64(g, 1)); // [n]
	graph_value behind = op_sub(g, op_unsqueeze(g, at, 1), op_unsqueeze(g, at, 0));
	graph_value query = op_unsqueeze(g, segment, 2), key = op_unsqueeze(g, segment, 1); // [batch, n, 1] and [batch, 1, n]
	graph_value across = op_add(g, op_mul(g, query, graph_i64(g, p->segments)), key);
	graph_value row = op_where(g, op_equal(g, query, key), distance_buckets(b, behind, p->buckets, p->farthest, true),
		op_add(g, across, graph_i64(g, p->buckets)));
	graph_value table = WEIGHT(b, "attn.relative", "", p->segments * p->segments + p->buckets, s->heads);
	graph_value bias = op_transpose(g, op_gather(g, table, row, 0), 4, (int[]){ 0, 3, 1, 2 });
	// As many tokens count, from the right, as are not 0.
	graph_value is_token = op_cast(g, op_not(g, op_equal(g, ids, graph_i64(g, 0))), DTYPE_I64);
	graph_value length = op_reduce_sum(g, is_token, 1, true), count = op_squeeze(g, op_dim(g, ids, 1), 0);
	graph_value from_right = op_sub(g, op_sub(g, count, graph_i64(g, 1)), places_of(g, ids));
	*seen = after_prompt(b, graph_i64(g, 1), op_cast(g, op_less(g, from_right, length), DTYPE_I64));
	graph_value allowed = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, *seen, DTYPE_BOOL), 1), 1); // [batch, 1, 1, n]
	return op_where(g, allowed, bias, graph_f32(g, -FLT_MAX));
}

static graph_value layer(struct build *b, graph_value x, graph_value bias, graph_value seen)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, w = s->heads * s->head_width;
	graph_value y = norm(b, "layers.attn.norm", x, h);
	graph_value q = linear(b, "layers.attn.q", y, h, w, false), k = linear(b, "layers.attn.k", y, h, w, false),
		    v = linear(b, "layers.attn.v", y, h, w, false);
	y = op_attention(g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	y = op_mul(g, y, op_unsqueeze(g, op_cast(g, seen, DTYPE_F32), 2)); // padding sees nothing
	x = op_add(g, x, linear(b, "layers.attn.o", y, w, h, false));
	return op_add(g, x, ffn_of(b, "layers.ffn", norm(b, "layers.ffn.norm", x, h), s->ffn_size, false));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct cpmant *p = s->own;
	int64_t h = s->hidden_size, first = s->vocab_size + TEXT_PROMPT * p->prompt;
	graph_value zero = graph_i64(g, 0);
	graph_value prompt = op_range(g, graph_i64(g, first), graph_i64(g, first + p->prompt), graph_i64(g, 1));
	graph_value all = after_prompt(b, prompt, io->ids);
	graph_value segment = op_where(g, op_equal(g, io->ids, zero), zero, graph_i64(g, TEXT_SEGMENT)), seen;
	segment = after_prompt(b, zero, segment);
	graph_value x = embedding(b, "embed.word", all, s->vocab_size + p->rows, h);
	x = op_add(g, x, embedding(b, "embed.segment", segment, p->segments, h));
	graph_value bias = biases(b, io->ids, segment, &seen);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, bias, seen);
		graph_leave(g);
		states_add(io, x);
	}
	x = op_slice(g, norm(b, "norm", x, h), 1, p->prompt, INT64_MAX);
	graph_assume(g, x, 1, value_dim(g, io->ids, 1));
	io->last = x;
}

static void build_lm(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_output(b->g, "logits", linear(b, "head.lm.out", io->last, s->hidden_size, s->vocab_size, false));
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_causal_lm, build_lm },
	{ 0 },
};

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io.ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	body(b, &io);
	head_build(b, &io);
}

const struct family cpmant = {
	.name = "cpmant",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
