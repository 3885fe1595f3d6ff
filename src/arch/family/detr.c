// SPDX-License-Identifier: Apache-2.0
// DETR: objects as a set, found by an encoder-decoder whose queries are learned (Carion et al. 2020,
// https://arxiv.org/abs/2005.12872; tables: Smock et al. 2021, https://arxiv.org/abs/2110.00061).
//
//   pixels -> backbone -> 1x1 conv -> tokens -> encoder -> memory -+
//   0, with learned positions -> decoder ------------------------(cross attention)-> norm -> classes, boxes (, masks)
//   decoder layer:  x -+- attention -(+)- norm -+- cross attention -(+)- norm -+- up - act - down -(+)- norm
//                      +--------------+         +--------------------+         +------------------+
#include "arch/block/detect.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct detect *d = ARENA_NEW(a, struct detect);
	*d = (struct detect){ 0 };
	if (head_how(s) & DETECT_WITHIN) {
		s->root = "detr.";
		s->prefix = "model.";
	}
	resolve_detector(c, s, a, d);
}

static graph_value decoder_layer(
	struct build *b, graph_value x, graph_value queries, graph_value memory, graph_value placed, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct detect *d = s->own;
	bool first = s->traits.norm_first;
	graph_value y = first ? layer_norm(b, "decoder.attn.norm", x, s->hidden_size) : x, q = op_add(g, y, queries);
	x = op_add(g, x, detect_attention(b, "decoder.attn", q, q, y, NO_VALUE, d->decoder_heads));
	x = first ? x : layer_norm(b, "decoder.attn.norm", x, s->hidden_size);
	y = first ? layer_norm(b, "decoder.cross.norm", x, s->hidden_size) : x;
	x = op_add(g, x, detect_attention(b, "decoder.cross", op_add(g, y, queries), placed, memory, bias, d->decoder_heads));
	x = first ? x : layer_norm(b, "decoder.cross.norm", x, s->hidden_size);
	y = first ? layer_norm(b, "decoder.ffn.norm", x, s->hidden_size) : x;
	x = op_add(g, x, detect_ffn(b, "decoder.ffn", y, d->decoder_ffn));
	return first ? x : layer_norm(b, "decoder.ffn.norm", x, s->hidden_size);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct detect *d = s->own;
	int64_t h = s->hidden_size, count;
	struct detect_inputs in = detect_inputs(b);
	const graph_value *maps = backbone_features(b, "backbone", in.pixels, &count);
	if (graph_failed(g))
		return;
	graph_value map = conv(b, "project", maps[count - 1], (struct conv){ .out = h, .kernel = 1, .bias = true });
	graph_value mask = detect_mask(b, in.mask, map), positions = detect_positions(b, mask, map),
		    bias = detect_mask_bias(b, mask);
	graph_value memory = detect_encoder(b, tokens_of(b, map), positions, bias); // [batch, height*width, hidden]
	graph_value queries = detect_queries(b, "queries", d->queries, h), placed = op_add(g, memory, positions);
	graph_value x = detect_zeros(b, in.pixels, d->queries, h),
		    *states = ARENA_ARRAY(graph_arena(g), (size_t)d->decoder_layers + 1, graph_value);
	int states_count = 0;
	for (b->layer = 0; b->layer < detect_layers(s, d->decoder_layers) && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "decoder.%lld", (long long)b->layer);
		x = decoder_layer(b, x, queries, memory, placed, bias);
		graph_leave(g);
		if (d->auxiliary)
			states[states_count++] = op_unsqueeze(g, x = layer_norm(b, "decoder.norm", x, h), 0);
	}
	x = layer_norm(b, "decoder.norm", x, h); // [batch, queries, hidden]
	struct detected found = { .memory = memory, .mask = mask, .map = map, .maps = maps, .map_count = count };
	found.states = states;
	found.state_count = states_count;
	head_build(b, &(struct body){ .last = x, .own = &found });
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct detected *found = io->own;
	graph_output(b->g, "last_hidden_state", io->last);
	graph_output(b->g, "encoder_last_hidden_state", found->memory);
	if (found->state_count)
		graph_output(b->g, "intermediate_hidden_states",
			op_concat(b->g, found->state_count, found->states, 0)); // [layers, batch, queries, hidden]
}

static void give_boxes(struct build *b, const struct body *io, bool segments)
{
	struct graph *g = b->g;
	const struct detected *found = io->own;
	int64_t h = b->s->hidden_size;
	graph_output(g, "logits", linear(b, "head.classes", io->last, h, b->s->labels + 1, true)); // one more: no object
	graph_output(g, "pred_boxes", op_sigmoid(g, detect_mlp(b, "head.boxes", io->last, 3, h, 4)));
	if (segments)
		graph_output(g, "pred_masks",
			detect_segments(b, io->last, found->memory, found->mask, found->map, found->maps, found->map_count));
	graph_output(g, "last_hidden_state", io->last);
	graph_output(g, "encoder_last_hidden_state", found->memory);
}

static void build_objects(struct build *b, const struct body *io)
{
	give_boxes(b, io, false);
}

static void build_segments(struct build *b, const struct body *io)
{
	give_boxes(b, io, true);
}

// What the published preprocessor makes of a photograph of 640 by 480.
static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 800, 1066);
}

static const struct family_head heads[] = {
	{ &head_model, build_bare },
	{ &head_objects, build_objects },
	{ &head_segmentation, build_segments, DETECT_WITHIN },
	{ 0 },
};

const struct family detr = {
	.name = "detr",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
