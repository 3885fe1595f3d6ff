// SPDX-License-Identifier: Apache-2.0
// Heads of models whose states are maps [batch, channels, height, width].
#include "arch/block/image.h"

void map_features(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	for (int64_t i = 0; i < s->out_count && s->out_indices[i] < io->state_count; i++) {
		int64_t at = s->out_indices[i];
		graph_value x = s->row->family->feature ? s->row->family->feature(b, io, at) : io->states[at];
		graph_output(g, arena_printf(graph_arena(g), "feature_maps.%lld", (long long)i), x);
	}
}

static graph_value pooled(struct build *b, const struct body *io)
{
	return io->pooled.id ? io->pooled : op_global_average_pool(b->g, io->last);
}

void map_states(struct build *b, const struct body *io)
{
	graph_value x = pooled(b, io);
	graph_output(b->g, "last_hidden_state", io->last);
	graph_output(b->g, "pooler_output", x);
}

void map_classify(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	graph_value x = pooled(b, io);
	if (graph_failed(g))
		return;
	int64_t width = value_dim(g, x, 1);
	graph_output(g, "logits", linear(b, "head.image", op_reshape(g, x, 2, (int64_t[]){ 0, width }), width, s->labels, true));
}

void head_give_taught(struct build *b, graph_value own, graph_value taught)
{
	struct graph *g = b->g;
	graph_output(g, "logits", op_scale(g, op_add(g, own, taught), 0.5f));
	graph_output(g, "cls_logits", own);
	graph_output(g, "distillation_logits", taught);
}

const struct family_head map_heads[] = {
	{ &head_backbone, map_features },
	{ &head_model, map_states },
	{ &head_image, map_classify },
	{ 0 },
};
