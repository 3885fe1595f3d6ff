// SPDX-License-Identifier: Apache-2.0
// A vector for each token of a page or a question, compared one by one (late interaction; ColPali, Faysse et al. 2024,
// https://arxiv.org/abs/2407.01449). Any model that reads pictures and texts and whose family has a body:
//
//   pixels, ids -> the model -> last state - linear -> / length, 0 where there is no token
#include "arch/family/retrieval.h"
#include "arch/family/vlm.h"

struct retrieval {
	int64_t width;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct retrieval *r = ARENA_NEW(a, struct retrieval);
	struct spec *whole = resolve_part(c, s, a, "vlm", "vlm_config", NULL, NULL, (const char *const[]){ "vlm.", "", NULL });
	s->own = r;
	r->width = config_size(c, "embedding_dim", 128);
	if (!whole || c->error.status)
		return;
	if (!part_of(whole, "text") || !part_of(whole, "vision"))
		config_fail(c, STATUS_UNSUPPORTED, "vlm_config: %s does not read pictures and texts", whole->row->model_type);
	if (!c->error.status && r->width < 1)
		config_fail(c, STATUS_BAD_INPUT, "embedding_dim should be more than 0");
	if (TRAITS_OF(s, retrieval)->padded && part_is_usual(c, s, "vlm"))
		vlm_grid_padded(whole);
	part_set(s, "text", part_of(whole, "text"));
	part_set(s, "vision", part_of(whole, "vision"));
}

static void build(struct build *b)
{
	struct body io = { 0 };
	const struct spec *outer = part_enter(b, "vlm");
	b->s->row->family->body(b, &io);
	part_leave(b, outer);
	head_build(b, &io);
}

static void give(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "head");
	graph_value x = linear(
		b, "head.embedding", io->last, part_of(s, "text")->hidden_size, ((const struct retrieval *)s->own)->width, true);
	x = op_mul(g, unit_length(b, x), op_unsqueeze(g, op_cast(g, io->mask, DTYPE_F32), 2));
	graph_leave(g);
	graph_output(g, "embeddings", x);
}

static const struct family_head heads[] = { { &head_retrieval, give }, { 0 } };

const struct family retrieval = {
	.name = "retrieval",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(retrieval, RETRIEVAL_TRAITS),
};
