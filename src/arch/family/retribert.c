// SPDX-License-Identifier: Apache-2.0
// Two texts as vectors that may be compared, by one BERT or one for each (RetriBERT: https://yjernite.github.io/lfqa.html). The
// class's forward gives a training loss only; what its users call, and what is built, are embed_questions and embed_answers.
//
//   ids -> BERT -> pooler -> project (no bias)
#include "arch/family/encoder.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	bool *shared = ARENA_NEW(a, bool);
	encoder.resolve(c, s, a);
	*shared = config_bool(c, "share_encoders", true);
	s->project_size = config_size(c, "projection_dim", 128);
	if (!c->error.status && s->project_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "projection_dim 0");
	struct spec *second = ARENA_NEW(a, struct spec);
	*second = *s;
	second->prefix = *shared ? s->prefix : "bert_doc.";
	part_set(s, "document", second);
}

// word: "query" or "doc"
static void embed(struct build *b, const char *word, const char *sequence)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	int64_t h = b->s->hidden_size, shape[] = { graph_symbol(g, "batch"), graph_symbol(g, sequence) };
	struct body io = { 0 };
	io.ids = b->ids = graph_input(g, arena_printf(a, "input_ids_%s", word), DTYPE_I64, 2, shape);
	io.mask = graph_input(g, arena_printf(a, "attention_mask_%s", word), DTYPE_I64, 2, shape);
	io.types = op_mul(g, io.ids, graph_i64(g, 0));
	graph_enter(g, "%s", word);
	encoder.body(b, &io);
	graph_value pooled = op_tanh(g, linear(b, "pooler", first_token(b, io.last), h, h, true));
	graph_value y = linear(b, arena_printf(a, "project.%s", word), pooled, h, b->s->project_size, false);
	graph_leave(g);
	graph_output(g, arena_printf(a, "%s_embeds", word), y); // [batch, project_size]
}

static void build(struct build *b)
{
	const struct spec *whole = b->s;
	embed(b, "query", "sequence");
	part_enter(b, "document");
	embed(b, "doc", "document_sequence");
	part_leave(b, whole);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ 0 },
};

const struct family retribert = {
	.name = "retribert",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
