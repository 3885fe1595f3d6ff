// SPDX-License-Identifier: Apache-2.0
// Kosmos-2 (Peng et al. 2023, https://arxiv.org/abs/2306.14824): learned rows ask a picture, and what they find stands in the
// text where a mask says so. Of Kosmos-2.5 (https://arxiv.org/abs/2309.11419) the text alone is built.
//
//   pixels -> tower -> all tokens, normed, of length 1 - linear -+- keys and values
//                                         learned rows -+--------+
//                                                       +- queries -> attention -> features
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/vlm.h"

static bool resolve_text_part(struct config *c, struct spec *s, struct arena *a)
{
	const struct head *head = head_how(s) & VLM_GENERATES ? &head_causal_lm : NULL;
	struct vlm *v = ARENA_NEW(a, struct vlm);
	s->own = v;
	v->image_token_id = -1; // a mask says where pictures stand
	v->queries = config_size(c, "latent_query_num", 64);
	bool tied = config_bool(c, "tie_word_embeddings", true);
	struct spec *text = resolve_part(
		c, s, a, "text", "text_config", NULL, head, (const char *const[]){ "text_model.", "model.text_model.", NULL });
	if (!text || !part_is_usual(c, s, "text"))
		return false;
	text->tied = text->tied || tied;
	if (v->queries < 1)
		config_fail(c, STATUS_BAD_INPUT, "latent_query_num 0");
	return !c->error.status;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const roots[] = { "vision_model.", "model.vision_model.", NULL };
	if (resolve_text_part(c, s, a) && resolve_part(c, s, a, "vision", "vision_config", NULL, NULL, roots))
		(void)part_is_usual(c, s, "vision"); // an error stays in c
}

static void resolve_unseen(struct config *c, struct spec *s, struct arena *a)
{
	(void)resolve_text_part(c, s, a); // an error stays in c
}

// [pictures, tokens, width] -> [pictures, queries, text]
static graph_value ask(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *text = part_of(s, "text");
	int64_t n = vlm_of(s)->queries, h = text->hidden_size, width = h / text->heads;
	x = linear(b, "projector", unit_length(b, x), part_of(s, "vision")->hidden_size, h, true);
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ n, h }) }, 0);
	graph_value rows = op_expand(g, WEIGHT(b, "projector.queries", "", n, h), shape);
	x = op_concat(g, 2, (graph_value[]){ x, rows }, 1);
	graph_value y = op_attention(g,
		&(struct attention){ .q = linear(b, "projector.q", rows, h, h, true),
			.k = linear(b, "projector.k", x, h, h, true),
			.v = linear(b, "projector.v", x, h, h, true),
			.heads = text->heads,
			.scale = (float)(1 / sqrt((double)width)) });
	return linear(b, "projector.o", y, h, h, true);
}

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision"), *outer = part_enter(b, "vision");
	int64_t picture[] = { graph_symbol(g, "image_batch"), tower->channels, tower->image_size, tower->image_width };
	struct body io = { .pixels = graph_input(g, "pixel_values", DTYPE_F32, 4, picture) };
	(void)text;
	graph_enter(g, "vision");
	b->s->row->family->body(b, &io);
	graph_value x = layer_norm(b, "norm", io.states[io.state_count - 1], tower->hidden_size);
	graph_leave(g);
	part_leave(b, outer);
	graph_enter(g, "projector");
	x = ask(b, x);
	graph_leave(g);
	if (!ids.id)
		return x;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") }, h = part_of(s, "text")->hidden_size;
	graph_value mask = graph_input(g, "image_embeds_position_mask", DTYPE_I64, 2, shape);
	graph_value is_image = op_not(g, op_equal(g, mask, graph_i64(g, 0))), one = op_cast(g, is_image, DTYPE_I64);
	graph_value row = op_reduce_sum(g, one, 1, true), before = op_sub(g, op_cumsum(g, row, 0), row);
	graph_value number = op_sub(g, op_add(g, op_cumsum(g, one, 1), before), graph_i64(g, 1));
	graph_output(g, "image_embeds", x);
	x = op_reshape(g, x, 2, (int64_t[]){ -1, h });
	return vlm_merge(b, ids, is_image, op_max(g, number, graph_i64(g, 0)), x);
}

static graph_value see_nothing(struct build *b, graph_value ids, struct body *text)
{
	(void)text;
	return vlm_embed(b, ids);
}

static void build(struct build *b)
{
	vlm_build(b, see);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = vlm_of(s)->queries;
}

static void build_unseen(struct build *b)
{
	vlm_build(b, see_nothing);
}

static const struct family_head heads[] = { { &head_model }, { &head_conditional, NULL, VLM_GENERATES }, { 0 } };

const struct family vlm_grounded = {
	.name = "vision-language-grounded",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = vlm_graphs,
	.hints = hints,
	.heads = heads,
};

const struct family vlm_unseen = {
	.name = "vision-language-text",
	.architecture = "multimodal",
	.resolve = resolve_unseen,
	.build = build_unseen,
	.heads = heads,
};
