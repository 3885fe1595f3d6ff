// SPDX-License-Identifier: Apache-2.0
// Trajectory Transformer (Janner et al. 2021, https://arxiv.org/abs/2106.02039): a GPT over the numbers of a trajectory, each in
// one of vocab_size bins; the numbers of one transition have tables and output layers of their own. The last number of every
// transition, an estimate of its value, is not looked at.
//
//   bins + table of its place in the transition + position -> causal layers - norm -> the output layer of its place
#include "arch/block/block.h"

struct trajectory {
	int64_t numbers, joined; // numbers of a transition; of what attention takes for one
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct trajectory *o = s->own = ARENA_NEW(a, struct trajectory);
	resolve_transformer(c, s, false);
	s->max_positions = config_size(c, "block_size", -1);
	s->norm_eps = 1e-5; // whatever layer_norm_eps says
	s->act = ACT_GELU;
	s->ffn_size = 4 * s->hidden_size;
	int64_t seen = config_size(c, "observation_dim", 17), done = config_size(c, "action_dim", 6);
	o->numbers = config_count(c, "transition_dim", 25);
	o->joined = seen + done + 2;
	if (!c->error.status && (o->numbers < 1 || s->max_positions < 1 || s->vocab_size >= INT32_MAX / o->numbers))
		config_fail(c, STATUS_BAD_INPUT, "transition_dim %lld, block_size %lld", (long long)o->numbers,
			(long long)s->max_positions);
}

// Rows of the tables, one after the other; vocab_size itself ends a trajectory, wherever it stands.
static graph_value rows_of(struct build *b, graph_value bins, graph_value place)
{
	struct graph *g = b->g;
	const struct trajectory *o = b->s->own;
	graph_value size = graph_i64(g, b->s->vocab_size);
	graph_value row = op_add(g, bins, op_mul(g, place, size));
	return op_where(g, op_equal(g, bins, size), graph_i64(g, b->s->vocab_size * o->numbers), row);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct trajectory *o = s->own;
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "trajectories", DTYPE_I64, 2, shape) };
	graph_value at = places_of(g, io.ids), place = op_mod(g, at, graph_i64(g, o->numbers));
	graph_value x = embedding(b, "embed.word", rows_of(b, io.ids, place), s->vocab_size * o->numbers + 1, s->hidden_size);
	graph_value table = op_squeeze(g, WEIGHT(b, "embed.position", "", 1, s->max_positions, s->hidden_size), 0);
	x = op_add(g, x, op_gather(g, table, at, 0));
	graph_value estimate = op_equal(g, op_mod(g, at, graph_i64(g, o->joined)), graph_i64(g, o->joined - 1));
	graph_value seen = op_unsqueeze(g, op_cast(g, op_not(g, estimate), DTYPE_I64), 0); // [1, seq]
	prenorm_layers(b, &io, x, mask_causal(b, seen, x, 0));
	io.last = op_unsqueeze(g, layer_norm(b, "norm", io.last, s->hidden_size), 2); // [batch, seq, 1, hidden]
	// The output layer of each place: [seq, hidden, bins + 1]
	graph_value w = WEIGHT(b, "head.out", "weight", o->numbers, s->vocab_size + 1, s->hidden_size);
	w = op_transpose(g, op_gather(g, w, place, 0), 3, (int[]){ 0, 2, 1 });
	io.last = op_squeeze(g, op_matmul(g, io.last, w), 2);
	head_build(b, &io);
}

static void give(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", io->last); // [batch, seq, vocab_size + 1]
}

static const struct family_head heads[] = { { &head_model, give }, { 0 } };

const struct family trajectory = {
	.name = "trajectory",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
