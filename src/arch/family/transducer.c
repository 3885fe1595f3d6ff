// SPDX-License-Identifier: Apache-2.0
// Transducers (Graves 2012, https://arxiv.org/abs/1211.3711): an encoder hears frames, a prediction network of LSTMs reads the
// tokens so far, and a joint network says what comes next for each frame after each token. A token-and-duration transducer (Xu et
// al. 2023, https://arxiv.org/abs/2304.06795) also says by how many frames to go on.
//
//   features -> encoder -> out -----------------------+
//                                                     (+)- act -> joint [batch, frames, tokens, vocab (+ durations)]
//   tokens -> embedding -> LSTM .. LSTM -> out -------+
//
// The graphs; B batch, T the encoder's frames, F some of them, U tokens, L each layer of the prediction network, D its width:
//
//   model.onnx           input_features, attention_mask, decoder_input_ids [B,U]
//                        ->  last_hidden_state [B,T,hidden], pooler_output [B,T,D], logits [B,T,U,..]
//   encoder_model.onnx   input_features, attention_mask  ->  last_hidden_state [B,T,hidden]
//   decoder_joint.onnx   input_ids [B,U], encoder_hidden_states [B,F,hidden], past_hidden.L and past_cell.L [B,D]
//                        ->  logits [B,F,U,..], present_hidden.L and present_cell.L [B,D]
//
// A loop gives decoder_joint the last token and the frame it is at. After a blank the states that came out are dropped and those
// that went in are given again, with the same token and the next frame.
#include "arch/family/conformer.h"

struct transducer {
	int64_t layers; // of the prediction network
	struct transduction loop;
};

static const struct arch_graph encoder_graph = { "encoder_model.onnx", STEP_ENCODE, NULL },
			       step_graph = { "decoder_joint.onnx", STEP_TRANSDUCE, NULL };
static const struct arch_graph *const graphs[] = { &encoder_graph, &step_graph, NULL };

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct transducer *o = s->own = ARENA_NEW(a, struct transducer);
	const json_t *durations = config_get(c, "durations");

	conformer_resolve_encoder(c, s, a, (const char *const[]){ "", NULL });
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->hidden_size = s->embedding_size = config_size(c, "decoder_hidden_size", -1);
	s->act = config_activation(c, "hidden_act", ACT_RELU);
	o->layers = config_count(c, "num_decoder_layers", -1);
	o->loop = (struct transduction){ .vocab_size = s->vocab_size,
		.durations = (int64_t)json_array_size(durations),
		.blank = config_size(c, "blank_token_id", -1),
		.symbols_most = config_size(c, "max_symbols_per_step", -1) };
	if (c->error.status)
		return;
	if (s->vocab_size < 1 || s->hidden_size < 1 || o->layers < 1 || (durations && !json_is_array(durations)))
		config_fail(c, STATUS_BAD_INPUT, "%lld tokens, %lld layers of %lld in the decoder, or durations that are no list",
			(long long)s->vocab_size, (long long)o->layers, (long long)s->hidden_size);
}

static void encode(struct build *b, struct body *io)
{
	const struct spec *outer = part_enter(b, "encoder");

	graph_enter(b->g, "encoder");
	conformer_inputs(b, io, true);
	b->s->row->family->body(b, io);
	graph_leave(b->g);
	part_leave(b, outer);
	graph_output(b->g, "last_hidden_state", io->last);
}

// x [tokens, batch, hidden] -> the same
static graph_value lstm(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	struct rnn r = { .directions = 1,
		.of = { { WEIGHT(b, "predict.input", "", 4 * h, h), WEIGHT(b, "predict.hidden", "", 4 * h, h),
			WEIGHT(b, "predict.input.bias", "", 4 * h), WEIGHT(b, "predict.hidden.bias", "", 4 * h) } } };
	graph_value last[2];

	if (io->states_after) {
		r.h = op_unsqueeze(g, state_before(b, io, "hidden", io->ids, 1, &h), 0);
		r.c = op_unsqueeze(g, state_before(b, io, "cell", io->ids, 1, &h), 0);
	}
	x = op_lstm(g, x, &r, last);
	if (io->states_after) {
		state_after(b, io, "hidden", op_squeeze(g, last[0], 0));
		state_after(b, io, "cell", op_squeeze(g, last[1], 0));
	}
	return x;
}

// io->ids [batch, tokens] -> [batch, tokens, hidden]
static graph_value predict(struct build *b, struct body *io)
{
	const struct transducer *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;

	graph_enter(g, "decoder");
	graph_value x = embedding(b, "predict.embed", op_transpose(g, io->ids, 2, (int[]){ 1, 0 }), b->s->vocab_size, h);
	for (b->layer = 0; b->layer < o->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = lstm(b, io, x);
		graph_leave(g);
	}
	x = linear(b, "predict.out", op_transpose(g, x, 3, (int[]){ 1, 0, 2 }), h, h, true);
	graph_leave(g);
	return x;
}

static void join(struct build *b, graph_value heard, graph_value predicted)
{
	const struct transducer *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = b->s->vocab_size + o->loop.durations;

	graph_enter(g, "joint");
	graph_value x = activate(b, b->s->act, op_add(g, op_unsqueeze(g, heard, 2), op_unsqueeze(g, predicted, 1)));
	x = op_linear_output(g, x, WEIGHT(b, "head.joint", "weight", n, h), WEIGHT(b, "head.joint", "bias", n));
	graph_leave(g);
	graph_output(g, "logits", x);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct transducer *o = b->s->own;
	struct body io = { 0 };
	int64_t batch = graph_symbol(g, "batch"), heard = part_of(b->s, "encoder")->hidden_size;
	bool steps = b->which == &step_graph;

	if (graph_get_form(g)->is_static && graph_symbol(g, "frames") < 0) // one at a time
		graph_bind(g, "frames", 1);
	if (graph_get_form(g)->is_static && graph_symbol(g, "decoder_sequence") < 0)
		graph_bind(g, "decoder_sequence", graph_symbol(g, "sequence"));
	if (!steps)
		encode(b, &io);
	if (b->which == &encoder_graph)
		return;
	io.ids = graph_input(g, steps ? "input_ids" : "decoder_input_ids", DTYPE_I64, 2,
		(int64_t[]){ batch, graph_symbol(g, steps ? "sequence" : "decoder_sequence") });
	if (steps) {
		io.last = graph_input(
			g, "encoder_hidden_states", DTYPE_F32, 3, (int64_t[]){ batch, graph_symbol(g, "frames"), heard });
		state_begin(b, &io, o->layers);
	}
	graph_value x = linear(b, "encoder.out", io.last, heard, b->s->hidden_size, true);
	if (!steps)
		graph_output(g, "pooler_output", x);
	join(b, x, predict(b, &io));
	if (steps)
		state_outputs(b, &io);
}

static void sizes(const struct spec *s, json_t *out)
{
	const struct transducer *o = s->own;

	json_object_set_new(out, "decoder_layers", json_integer(o->layers));
	json_object_set_new(out, "durations", json_integer(o->loop.durations));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct transducer *o = s->own;

	out->transduction = &o->loop;
}

static const struct family_head heads[] = { { &head_transducer }, { 0 } };

const struct family transducer = {
	.name = "transducer",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.graphs = graphs,
	.sizes = sizes,
	.hints = hints,
};
