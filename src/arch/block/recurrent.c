// SPDX-License-Identifier: Apache-2.0
// Recurrent states: names are those of transformers.js, what flows is onnx/flow.c's.
#include "arch/block/block.h"

enum { STATES_A_LAYER = 2 };

struct recurrent {
	int64_t count, capacity;
	struct {
		const char *name;
		graph_value value;
	} states[];
};

void state_begin(struct build *b, struct body *io, int64_t layers)
{
	struct recurrent *r = arena_alloc(graph_arena(b->g), sizeof *r + (size_t)(STATES_A_LAYER * layers) * sizeof *r->states);

	r->capacity = STATES_A_LAYER * layers;
	io->states_after = r;
}

void recurrent_inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t batch = graph_symbol(g, "batch"), seq = graph_symbol(g, "sequence");
	bool goes_on = b->s->head->predicts_next;

	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, (int64_t[]){ batch, seq });
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, (int64_t[]){ batch, goes_on ? cache_total(b) : seq });
	if (goes_on)
		state_begin(b, io, b->s->layers);
}

static graph_value zeros(struct graph *g, graph_value x, int rank, const int64_t *dim)
{
	graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, rank, dim) };

	return op_expand(g, graph_f32(g, 0), op_concat(g, 2, shape, 0));
}

graph_value state_before(struct build *b, const struct body *io, const char *kind, graph_value x, int rank, const int64_t *dim)
{
	struct graph *g = b->g;
	int64_t shape[TENSOR_MAX_RANK] = { graph_symbol(g, "batch") };

	if (!io->states_after || graph_symbol(g, "past_sequence_length") == 0)
		return zeros(g, x, rank, dim);
	for (int i = 0; i < rank; i++)
		shape[i + 1] = dim[i];
	return graph_input(
		g, arena_printf(graph_arena(g), "past_%s.%lld", kind, (long long)b->layer), DTYPE_F32, rank + 1, shape);
}

void state_after(struct build *b, struct body *io, const char *kind, graph_value state)
{
	struct recurrent *r = io->states_after;

	if (!r || graph_failed(b->g))
		return;
	if (r->count == r->capacity) {
		graph_fail(b->g, STATUS_FAILED, "more than %d states a layer", STATES_A_LAYER);
		return;
	}
	r->states[r->count].name = arena_printf(graph_arena(b->g), "present_%s.%lld", kind, (long long)b->layer);
	r->states[r->count++].value = state;
}

void state_outputs(struct build *b, const struct body *io)
{
	for (int64_t i = 0; io->states_after && i < io->states_after->count; i++)
		graph_output(b->g, io->states_after->states[i].name, io->states_after->states[i].value);
}

graph_value mask_of_new(struct build *b, const struct body *io, graph_value x)
{
	struct graph *g = b->g;
	graph_value end = op_dim(g, io->mask, 1), mask = op_slice_to(g, io->mask, 1, op_sub(g, end, op_dim(g, x, 1)), end);

	graph_assume(g, mask, 1, value_dim(g, x, 1));
	return op_unsqueeze(g, op_cast(g, mask, DTYPE_F32), 2);
}

graph_value causal_convolution(struct build *b, struct body *io, const char *stem, graph_value x, int64_t channels,
	int64_t kernel, bool bias, enum activation act)
{
	graph_value w = WEIGHT(b, stem, "weight", channels, 1, kernel);
	graph_value offset = bias ? WEIGHT(b, stem, "bias", channels) : NO_VALUE;

	return causal_convolution_of(b, io, w, offset, x, act);
}

graph_value causal_convolution_of(
	struct build *b, struct body *io, graph_value w, graph_value offset, graph_value x, enum activation act)
{
	struct graph *g = b->g;
	if (graph_failed(g))
		return NO_VALUE;
	int64_t one[] = { 1 }, none[] = { 0, 0 }, seq = value_dim(g, x, 1), channels = value_dim(g, w, 0),
		kernel = value_dim(g, w, 2);

	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 }); // [batch, channels, seq]
	if (kernel > 1) {
		x = op_concat(
			g, 2, (graph_value[]){ state_before(b, io, "conv", x, 2, (int64_t[]){ channels, kernel - 1 }), x }, 2);
		graph_value last = op_slice(g, x, 2, 1 - kernel, INT64_MAX);
		graph_assume(g, last, 2, kernel - 1);
		state_after(b, io, "conv", last);
	}
	x = op_conv(g, x, w, offset, one, none, one, channels);
	graph_assume(g, x, 2, seq);
	return activate(b, act, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }));
}

void recurrent_layers(struct build *b, struct body *io, recurrent_mixer *mixer)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = io->embeds.id ? io->embeds : embedding(b, "embed.word", io->ids, s->vocab_size, s->hidden_size);
	graph_value mask = mask_of_new(b, io, x);

	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = op_add(g, x, mixer(b, io, rms_norm(b, "layers.norm", x, s->hidden_size), mask));
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rms_norm(b, "norm", x, s->hidden_size);
}

void recurrent_build(struct build *b)
{
	struct body io = { 0 };

	recurrent_inputs(b, &io);
	b->s->row->family->body(b, &io);
	head_build(b, &io);
	state_outputs(b, &io);
}

const struct family_head recurrent_heads[] = {
	{ &head_model, head_give_last },
	{ &head_causal_lm },
	{ 0 },
};
