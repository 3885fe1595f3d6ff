// SPDX-License-Identifier: Apache-2.0
// Heads that only this family has: several texts compared, a span that a token asks for, texts as vectors. head.c has the others.
#include "arch/family/encoder.h"

#include <float.h>

// How a text becomes one vector where there is no pooler.
static graph_value summary(struct build *b, graph_value hidden)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	graph_value x = e->summary == SUMMARY_FIRST ? first_token(b, hidden)
		: e->summary == SUMMARY_LAST        ? op_gather(g, hidden, graph_i64(g, -1), 1)
						    : op_reduce_mean(g, hidden, 1, false);
	if (e->summary_projected)
		x = linear(b, "head.choice.dense", x, s->hidden_size, s->hidden_size, true);
	return activate(b, e->summary_act, x);
}

// A page: its first token, and what its picture is on average, before the layers and after them.
static void classify_page(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value after = op_slice_to(g, io->last, 1, op_dim(g, io->ids, 1), op_dim(g, io->last, 1));
	graph_value part[] = { first_token(b, io->last), op_reduce_mean(g, io->features, 1, false),
		op_reduce_mean(g, after, 1, false) };
	graph_output(g, "logits", linear(b, "head.page", op_concat(g, 3, part, 1), 3 * s->hidden_size, s->labels, true));
}

static void build_sequence(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	if (weight_named(b, "head.page")) {
		classify_page(b, io);
		return;
	}
	if (weight_named(b, "head.sequence.dense")) {
		s->head->build(b, io);
		return;
	}
	graph_output(b->g, "logits",
		linear(b, "head.sequence.out", summary(b, io->last), s->hidden_size, s->labels, true)); // [batch, labels]
}

// One score for each of several texts: a dense layer over what the pooler gives, or a summary of the states.
static void build_choices(struct build *b, const struct body *io)
{
	graph_value choices = *(const graph_value *)io->own, hidden = io->last;
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x;
	graph_enter(g, "head");
	if (weight_named(b, "pooler"))
		x = op_tanh(g, linear(b, "pooler", first_token(b, hidden), s->hidden_size, s->hidden_size, true));
	else if (!weight_named(b, "head.choice.dense"))
		x = activate(b, s->traits.head_act,
			linear(b, "head.sequence.dense", first_token(b, hidden), s->hidden_size, s->hidden_size, true));
	else
		x = summary(b, hidden);
	x = linear(b, "head.choice.out", x, s->hidden_size, 1, true); // [batch*choices, 1]
	x = op_reshape_to(g, x, op_concat(g, 2, (graph_value[]){ op_dim(g, choices, 0), op_dim(g, choices, 1) }, 0));
	graph_leave(g);
	for (int i = 0; i < 2; i++)
		graph_assume(g, x, i, value_dim(g, choices, i));
	graph_output(g, "logits", x); // [batch, choices]
}

// The span that a question's token asks for, found by what the states at that token say of each place (Splinter: Ram et al.
// 2021, https://arxiv.org/abs/2101.00438): query' W states', of the start and of the end.
static graph_value asked_span(struct build *b, const char *word, graph_value asked, graph_value hidden)
{
	struct graph *g = b->g;
	int64_t n = b->s->hidden_size;
	struct arena *a = graph_arena(g);
	graph_value side[2] = { asked, hidden };
	for (int i = 0; i < 2; i++) {
		const char *stem = arena_printf(a, "head.asked.%s%s", i ? "" : "query_", word);
		graph_value x = activate(b, b->s->act, linear(b, arena_printf(a, "%s.dense", stem), side[i], n, n, true));
		side[i] = layer_norm(b, arena_printf(a, "%s.norm", stem), x, n);
	}
	graph_value scores = linear(b, arena_printf(a, "head.asked.%s.out", word), side[0], n, n, false); // [batch, 1, hidden]
	return op_squeeze(g, op_matmul(g, scores, op_transpose(g, side[1], 3, (int[]){ 0, 2, 1 })), 1);   // [batch, seq]
}

// A linear layer, or two where the dialect has a word for the first and there are ten labels or more.
static void build_token(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	int64_t n = s->hidden_size;
	if (!weight_named(b, "head.token.dense") || s->labels < 10) {
		s->head->build(b, io);
		return;
	}
	graph_value x = op_tanh(b->g, linear(b, "head.token.dense", io->last, n, n, true));
	graph_output(b->g, "logits", linear(b, "head.token.out", x, n, s->labels, true)); // [batch, seq, labels]
}

static void build_span(struct build *b, const struct body *io)
{
	if (weight_named(b, "head.span.dense")) {
		struct body io_dense = *io;
		int64_t n = b->s->hidden_size;
		io_dense.last = op_tanh(b->g, linear(b, "head.span.dense", io->last, n, n, true));
		b->s->head->build(b, &io_dense);
		return;
	}
	if (!weight_named(b, "head.asked.start.out")) {
		b->s->head->build(b, io);
		return;
	}
	struct graph *g = b->g;
	const struct encoder *e = b->s->own;
	graph_enter(g, "head");
	graph_value question = op_cast(g, op_equal(g, io->ids, graph_i64(g, e->question_token)), DTYPE_I64);
	graph_value asked = op_gather_nd(g, io->last, op_argmax(g, question, 1, true), 1); // [batch, hidden]
	asked = op_unsqueeze(g, asked, 1);
	graph_value away = op_sub(g, graph_f32(g, 1), op_cast(g, io->mask, DTYPE_F32));
	away = op_mul(g, away, graph_f32(g, -FLT_MAX));
	graph_value start = op_add(g, asked_span(b, "start", asked, io->last), away),
		    end = op_add(g, asked_span(b, "end", asked, io->last), away);
	graph_leave(g);
	graph_output(g, "start_logits", start);
	graph_output(g, "end_logits", end);
}

// Dense retrieval (Karpukhin et al. 2020, https://arxiv.org/abs/2004.04906): a text is its first token's state; the reader says
// where an answer is and whether there is one.
static void build_embedding(struct build *b, const struct body *io)
{
	const struct encoder *e = b->s->own;
	if (weight_named(b, "head.retrieve") && weight_named(b, "pooler")) { // REALM (https://arxiv.org/abs/2002.08909)
		int64_t n = b->s->hidden_size;
		graph_value x = op_tanh(b->g, linear(b, "pooler", first_token(b, io->last), n, n, true));
		x = linear(b, "head.retrieve", x, n, e->retrieved, true);
		graph_output(b->g, "projected_score", layer_norm(b, "head.retrieve.norm", x, e->retrieved));
		return;
	}
	if (!weight_named(b, "head.relevance")) {
		head_unsupported(b);
		return;
	}
	graph_value first = first_token(b, io->last);
	graph_output(b->g, "pooler_output",
		e->out_size ? linear(b, "head.embed", first, b->s->hidden_size, e->out_size, true) : first);
}

// Of words, and of entities where there are some.
static void build_lm(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct encoder *e = s->own;
	head_lm(b, io);
	if (!io->features.id)
		return;
	graph_value x = activate(b, s->act, linear(b, "head.entity.dense", io->features, s->hidden_size, e->entity_width, true));
	x = layer_norm(b, "head.entity.norm", x, e->entity_width);
	graph_value w = WEIGHT(b, e->entities_tied ? "embed.entity" : "head.entity.out", "weight", e->entities, e->entity_width);
	graph_output(g, "entity_logits", op_linear_output(g, x, w, WEIGHT(b, "head.entity", "bias", e->entities)));
}

static void build_model(struct build *b, const struct body *io)
{
	head_give_states(b, io);
	if (io->features.id && !((const struct encoder *)b->s->own)->picture)
		graph_output(b->g, "entity_last_hidden_state", io->features);
}

static void build_reader(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	if (!weight_named(b, "head.relevance")) {
		head_unsupported(b);
		return;
	}
	graph_value first = first_token(b, io->last);
	head_span.build(b, io);
	graph_value relevance = linear(b, "head.relevance", first, b->s->hidden_size, 1, true);
	graph_output(g, "relevance_logits", op_squeeze(g, relevance, 1));
}

const struct family_head encoder_heads[] = {
	{ &head_model, build_model, HAS_ENTITIES },
	{ &head_encoder },
	{ &head_masked_lm, build_lm, HAS_ENTITIES },
	{ &head_augmented_lm },
	{ &head_pretraining },
	{ &head_next_sentence },
	{ &head_sequence, build_sequence, FIRST_SEES_ALL },
	{ &head_token, build_token, WORDS_ONLY },
	{ &head_multiple_choice, build_choices },
	{ &head_span, build_span, QUESTION_SEES_ALL | CELLS_APART },
	{ &head_cells, encoder_build_cells, SELECTS_COLUMN },
	{ &head_embedding, build_embedding },
	{ &head_reader, build_reader },
	{ &head_causal_lm, head_lm },
	{ &head_memory_lm, head_lm },
	{ 0 },
};
