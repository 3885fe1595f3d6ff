// SPDX-License-Identifier: Apache-2.0
// RAG (Lewis et al. 2020, https://arxiv.org/abs/2005.11401), after retrieval: an encoder-decoder reads each question with each of
// its n_docs documents. The question's encoder and the index that it searches are no part of the graph.
//
//   contexts -> encoder -+
//   text, for each document -> decoder -> logits; RagToken: log(sum over documents d of p(d) p(word | d))
//
// RagToken sums where its call or do_marginalize asks for it; generate always does, whatever do_marginalize says (it is false in
// published configurations), and so does the graph.
#include "arch/family/seq2seq.h"

struct rag {
	int64_t documents; // of each question
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const inside[] = { "rag.generator.", "generator.", NULL }, *const bare[] = { "generator.", NULL },
				 *const questions[] = { "*question_encoder.*", NULL };
	struct rag *o = s->own = ARENA_NEW(a, struct rag);
	s->unused = questions;
	o->documents = config_count(c, "n_docs", 5);
	if (o->documents < 1)
		config_fail(c, STATUS_BAD_INPUT, "n_docs 0");
	struct spec *half =
		resolve_part(c, s, a, "generator", "generator", NULL, &head_conditional, s->head->bare ? bare : inside);
	if (!half || (!half->row->family->halves && !part_is_usual(c, s, "generator")))
		return;
	s->hidden_size = half->hidden_size;
	s->vocab_size = half->vocab_size;
	s->pad_token_id = half->pad_token_id;
	s->max_positions = half->max_positions;
}

static void hints(const struct spec *s, struct input_hints *out)
{
	out->symbols[0] = (struct input_symbol){ "contexts", ((const struct rag *)s->own)->documents, true };
}

// ids [batch, seq] -> [contexts, seq]: each row once for each document
static graph_value for_documents(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	int64_t times[] = { 1, ((const struct rag *)b->s->own)->documents, 1 };
	graph_value rows = op_expand(g, op_unsqueeze(g, ids, 1), graph_i64s(g, 3, times));
	graph_value shape[] = { graph_i64s(g, 1, (int64_t[]){ -1 }), op_dim(g, ids, 1) };
	rows = op_reshape_to(g, rows, op_concat(g, 2, shape, 0));
	graph_assume(g, rows, 0, graph_symbol(g, "contexts"));
	graph_assume(g, rows, 1, value_dim(g, ids, 1));
	return rows;
}

// log(sum(exp(x))) over an axis, which is kept
static graph_value log_sum(struct graph *g, graph_value x, int axis)
{
	graph_value most = op_reduce_max(g, x, axis, true);
	return op_add(g, op_log(g, op_reduce_sum(g, op_exp(g, op_sub(g, x, most)), axis, true)), most);
}

// logits [contexts, seq, vocab], scores of the documents [batch, documents] -> [batch, seq, vocab]
static graph_value over_documents(struct build *b, graph_value logits, graph_value scores)
{
	struct graph *g = b->g;
	int64_t documents = ((const struct rag *)b->s->own)->documents;
	graph_value shape[] = { graph_i64s(g, 2, (int64_t[]){ -1, documents }), op_dim(g, logits, 1), op_dim(g, logits, 2) };
	graph_value words = op_reshape_to(g, op_sub(g, logits, log_sum(g, logits, 2)), op_concat(g, 3, shape, 0));
	graph_value document = op_unsqueeze(g, op_unsqueeze(g, op_sub(g, scores, log_sum(g, scores, 1)), 2), 3);
	graph_value both = op_squeeze(g, log_sum(g, op_add(g, words, document), 1), 1);
	graph_assume(g, both, 0, graph_symbol(g, "batch"));
	graph_assume(g, both, 1, value_dim(g, logits, 1));
	return both;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	if (graph_get_form(g)->is_static && graph_symbol(g, "sequence") >= 0 && graph_symbol(g, "decoder_sequence") < 0)
		graph_bind(g, "decoder_sequence", graph_symbol(g, "sequence"));
	int64_t batch = graph_symbol(g, "batch"), shape[] = { graph_symbol(g, "contexts"), graph_symbol(g, "sequence") };
	struct body enc = { .ids = graph_input(g, "context_input_ids", DTYPE_I64, 2, shape) }, dec = { 0 };
	enc.mask = graph_input(g, "context_attention_mask", DTYPE_I64, 2, shape);
	graph_value mask = enc.mask;
	dec.ids = graph_input(g, "decoder_input_ids", DTYPE_I64, 2, (int64_t[]){ batch, graph_symbol(g, "decoder_sequence") });
	dec.ids = for_documents(b, dec.ids);
	b->ids = enc.ids;
	const struct spec *whole = part_enter(b, "generator");
	struct seq2seq f = b->s->row->family->halves(b);
	enc.own = dec.own = &f;
	seq2seq_run(b, &f, "encoder", &enc);
	dec.memory = enc.last;
	dec.memory_mask = mask;
	seq2seq_run(b, &f, "decoder", &dec);
	dec.last = seq2seq_scores(b, &f, dec.last);
	part_leave(b, whole);
	head_build(b, &dec);
}

static void give_all(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", io->last);
}

static void give_one(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const int64_t shape[] = { graph_symbol(g, "batch"), ((const struct rag *)b->s->own)->documents };
	graph_value scores = graph_input(g, "doc_scores", DTYPE_F32, 2, shape);
	graph_output(g, "logits", over_documents(b, io->last, scores));
}

static const struct family_head heads[] = {
	{ &head_model, give_all },
	{ &head_conditional, give_one },  // RagToken
	{ &head_text_to_text, give_all }, // RagSequence, which weighs whole texts after this
	{ 0 },
};

const struct family rag = {
	.name = "rag",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
