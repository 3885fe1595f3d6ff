// SPDX-License-Identifier: Apache-2.0
// Conditional DETR: DETR whose decoder looks around a reference point (Meng et al. 2021, https://arxiv.org/abs/2108.06152).
//
//   queries -> 2 linear layers -> sigmoid: reference point -> sines -(* from the state, but in the first layer)-+
//   self attention:   q = content + position, k = content + position, v = content
//   cross attention:  q = [content (+ position in the first layer) | sines], k = [memory (+ place) | place], by heads
//   boxes: 3 linear layers, the centre relative to the reference point -> sigmoid
#include <math.h>

#include "arch/block/deform.h"
#include "arch/family/conditional_detr.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct detect *d = ARENA_NEW(a, struct detect);
	*d = (struct detect){ 0 };
	if (head_how(s) & DETECT_WITHIN) {
		s->root = "conditional_detr.";
		s->prefix = "model.";
	}
	resolve_detector(c, s, a, d);
}

static graph_value square(struct build *b, const char *stem, graph_value x)
{
	return linear(b, stem, x, b->s->hidden_size, b->s->hidden_size, true);
}

// a and b [batch, n, hidden] side by side within each head: [batch, n, 2*hidden]
static graph_value by_heads(struct build *b, graph_value x, graph_value y, int64_t heads)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	const int64_t split[] = { 0, 0, heads, h / heads };
	return op_reshape(g, op_concat(g, 2, (graph_value[]){ op_reshape(g, x, 4, split), op_reshape(g, y, 4, split) }, 3), 3,
		(int64_t[]){ 0, 0, 2 * h });
}

graph_value conditional_layer(struct build *b, graph_value x, const struct conditional *in)
{
	struct graph *g = b->g;
	graph_value queries = in->queries, memory = in->memory;
	const struct spec *s = b->s;
	const struct detect *d = s->own;
	int64_t h = s->hidden_size, heads = d->decoder_heads;
	float scale = (float)sqrt((double)heads / (double)h);
	graph_value q = op_add(g, square(b, "decoder.attn.q", x), square(b, "decoder.attn.q.position", queries));
	graph_value k = op_add(g, square(b, "decoder.attn.k", x), square(b, "decoder.attn.k.position", queries));
	graph_value y =
		op_attention(g, &(struct attention){ q, k, square(b, "decoder.attn.v", x), .heads = heads, .scale = scale });
	x = layer_norm(b, "decoder.attn.norm", op_add(g, x, square(b, "decoder.attn.o", y)), h);

	graph_value place = square(b, "decoder.cross.k.position", in->positions);
	q = square(b, "decoder.cross.q", x);
	k = square(b, "decoder.cross.k", memory);
	if (in->placed) {
		q = op_add(g, q, square(b, "decoder.cross.q.position", queries));
		k = op_add(g, k, place);
	}
	q = by_heads(b, q, square(b, "decoder.cross.q.sines", in->sines), heads);
	y = op_attention(g,
		&(struct attention){ q, by_heads(b, k, place, heads), square(b, "decoder.cross.v", memory), .bias = in->bias,
			.heads = heads, .scale = scale * (float)M_SQRT1_2 });
	x = layer_norm(b, "decoder.cross.norm", op_add(g, x, square(b, "decoder.cross.o", y)), h);
	return layer_norm(b, "decoder.ffn.norm", op_add(g, x, detect_ffn(b, "decoder.ffn", x, d->decoder_ffn)), h);
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
	graph_value like = detect_zeros(b, in.pixels, d->queries, h);
	graph_value queries = op_add(g, detect_queries(b, "queries", d->queries, h), like); // [batch, queries, hidden]
	graph_enter(g, "reference");
	graph_value point = op_sigmoid(g, detect_mlp(b, "decoder.reference", queries, 2, h, 2)); // [batch, queries, 2]: x, y
	graph_value angle = op_mul(g, point, graph_f32(g, (float)(2 * M_PI)));
	graph_value y_sines = detect_sines(b, op_slice(g, angle, 2, 1, 2), h / 2, 10000),
		    x_sines = detect_sines(b, op_slice(g, angle, 2, 0, 1), h / 2, 10000);
	graph_value sines = op_concat(g, 2, (graph_value[]){ y_sines, x_sines }, 2);
	graph_leave(g);
	graph_value x = like, *states = ARENA_ARRAY(graph_arena(g), (size_t)d->decoder_layers + 1, graph_value);
	int states_count = 0;
	for (b->layer = 0; b->layer < detect_layers(s, d->decoder_layers) && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "decoder.%lld", (long long)b->layer);
		graph_value scaled = b->layer ? op_mul(g, sines, detect_mlp(b, "decoder.scale", x, 2, h, h)) : sines;
		x = conditional_layer(
			b, x, &(struct conditional){ queries, scaled, memory, positions, bias, .placed = !b->layer });
		graph_leave(g);
		if (d->auxiliary)
			states[states_count++] = op_unsqueeze(g, x = layer_norm(b, "decoder.norm", x, h), 0);
	}
	x = layer_norm(b, "decoder.norm", x, h);
	struct detected found = { .memory = memory, .mask = mask, .map = map, .point = point, .maps = maps, .map_count = count };
	found.states = states;
	found.state_count = states_count;
	head_build(b, &(struct body){ .last = x, .own = &found });
}

static void build_bare(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct detected *found = io->own;
	graph_output(g, "last_hidden_state", io->last);
	graph_output(g, "encoder_last_hidden_state", found->memory);
	graph_output(g, "reference_points", op_transpose(g, found->point, 3, (int[]){ 1, 0, 2 })); // [queries, batch, 2]
	if (found->state_count)
		graph_output(g, "intermediate_hidden_states", op_concat(g, found->state_count, found->states, 0));
}

static graph_value classes(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", linear(b, "head.classes", io->last, b->s->hidden_size, b->s->labels, true));
	return detect_mlp(b, "head.boxes", io->last, 3, b->s->hidden_size, 4);
}

static void build_objects(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct detected *found = io->own;
	graph_value box = classes(b, io), centre = op_add(g, op_slice(g, box, 2, 0, 2), inverse_sigmoid(g, found->point));
	box = op_concat(g, 2, (graph_value[]){ centre, op_slice(g, box, 2, 2, 4) }, 2);
	graph_output(g, "pred_boxes", op_sigmoid(g, box));
	graph_output(g, "last_hidden_state", io->last);
	graph_output(g, "encoder_last_hidden_state", found->memory);
}

// This one has the boxes where they are, whatever the point.
static void build_segments(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct detected *found = io->own;
	graph_output(g, "pred_boxes", op_sigmoid(g, classes(b, io)));
	graph_output(g, "pred_masks",
		detect_segments(b, io->last, found->memory, found->mask, found->map, found->maps, found->map_count));
	graph_output(g, "last_hidden_state", io->last);
	graph_output(g, "encoder_last_hidden_state", found->memory);
}

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

const struct family conditional_detr = {
	.name = "conditional-detr",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
