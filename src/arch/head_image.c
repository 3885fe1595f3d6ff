// SPDX-License-Identifier: Apache-2.0
// Heads of models whose states are maps [batch, channels, height, width].
#include "arch/block/image.h"

void build_map_head(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	if (text_is(s->head->name, "backbone")) {
		for (int64_t i = 0; i < s->out_count && s->out_indices[i] < io->state_count; i++) {
			graph_output(g, arena_printf(graph_arena(g), "feature_maps.%lld", (long long)i),
				io->states[s->out_indices[i]]);
		}
		return;
	}
	value pooled = io->pooled.id ? io->pooled : op_global_average_pool(g, io->last);
	if (text_is(s->head->name, "model")) {
		graph_output(g, "last_hidden_state", io->last);
		if (!s->traits.no_pooler)
			graph_output(g, "pooler_output", pooled);
	} else if (text_is(s->head->name, "image-classification") && !graph_failed(g)) {
		int64_t width = value_dim(g, pooled, 1);
		graph_output(g, "logits",
			linear(b, "head.image", op_reshape(g, pooled, 2, (int64_t[]){ 0, width }), width, s->labels, true));
	} else
		s->head->build(b, io->last);
}
