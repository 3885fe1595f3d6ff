// SPDX-License-Identifier: Apache-2.0
// SLANeXt: the HTML of a table in a picture, token by token (PaddleOCR 3.0, https://arxiv.org/abs/2507.05595; the loop is that of
// SLANet, https://arxiv.org/abs/2210.05391). The loop is in the graph: it ends when every picture's row has said the last word.
//
//   pixels -> vision tower -> 3x3 conv, stride 2 -> memory
//   step:  state, memory -> attention -> [what is found, word before] -> GRU cell -> state -> two linear layers -> word
#include "arch/block/image.h"

struct slanext {
	int64_t in, width, words, most; // of the tower, of the memory; words; tokens at most
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct slanext *o = ARENA_NEW(a, struct slanext);
	s->own = o;
	const struct spec *vision = resolve_part(
		c, s, a, "vision", "vision_config", NULL, NULL, (const char *const[]){ "backbone.vision_tower.", NULL });
	if (!vision || !part_is_usual(c, s, "vision"))
		return;
	s->hidden_size = config_size(c, "hidden_size", 512);
	o->in = config_size(c, "post_conv_in_channels", 256);
	o->width = config_size(c, "post_conv_out_channels", 512);
	o->words = config_size(c, "out_channels", 50);
	o->most = config_size(c, "max_text_length", 500) + 1;
	s->channels = vision->channels;
	s->image_size = vision->image_size, s->image_width = vision->image_width;
	if (s->hidden_size < 1 || o->in < 1 || o->width < 1 || o->words < 2)
		config_fail(c, STATUS_BAD_INPUT, "hidden_size, post_conv_in_channels, post_conv_out_channels or out_channels");
}

static const struct slanext *own(const struct build *b)
{
	return b->s->own;
}

// What a GRU makes of x [batch, in] and its state [batch, hidden].
static graph_value cell(struct build *b, graph_value x, graph_value state)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, in = own(b)->width + own(b)->words;
	graph_value given = op_linear(g, x, WEIGHT(b, "cell", "weight_ih", 3 * h, in), WEIGHT(b, "cell", "bias_ih", 3 * h)),
		    kept = op_linear(g, state, WEIGHT(b, "cell", "weight_hh", 3 * h, h), WEIGHT(b, "cell", "bias_hh", 3 * h));
	graph_value both = op_sigmoid(g, op_add(g, op_slice(g, given, 1, 0, 2 * h), op_slice(g, kept, 1, 0, 2 * h)));
	graph_value reset = op_slice(g, both, 1, 0, h), update = op_slice(g, both, 1, h, 2 * h);
	graph_value candidate = op_mul(g, reset, op_slice(g, kept, 1, 2 * h, 3 * h));
	candidate = op_tanh(g, op_add(g, op_slice(g, given, 1, 2 * h, 3 * h), candidate));
	return op_add(g, candidate, op_mul(g, update, op_sub(g, state, candidate)));
}

// The state after a word: state [batch, hidden], word i64 [batch], memory [batch, places, width], keys [batch, places, hidden].
static graph_value step(struct build *b, graph_value state, graph_value word, graph_value memory, graph_value keys)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = own(b)->words;
	graph_value query = op_unsqueeze(g, linear(b, "look.state", state, h, h, true), 1);
	graph_value scores = linear(b, "look.score", op_tanh(g, op_add(g, keys, query)), h, 1, false); // [batch, places, 1]
	graph_value found = op_matmul(g, op_transpose(g, op_softmax(g, scores, 1), 3, (int[]){ 0, 2, 1 }), memory);
	int64_t *every = GRAPH_TABLE(g, NULL, n, 1, int64_t);
	for (int64_t i = 0; every && i < n; i++)
		every[i] = i;
	graph_value is = op_equal(g, op_unsqueeze(g, word, 1), graph_constant(g, DTYPE_I64, 1, &n, every)); // [batch, words]
	graph_value x = op_concat(g, 2, (graph_value[]){ op_squeeze(g, found, 1), op_cast(g, is, DTYPE_F32) }, 1);
	return cell(b, x, state);
}

// [batch, tokens, words]
static graph_value say(struct build *b, graph_value memory)
{
	struct graph *g = b->g;
	const struct slanext *o = own(b);
	int64_t h = b->s->hidden_size, one = 1;
	graph_value batch = op_dim(g, memory, 0), keys = linear(b, "look.memory", memory, o->width, h, false);
	graph_value none = graph_constant(g, DTYPE_F32, 2, (int64_t[]){ 1, 1 }, &(float){ 0 }), n = graph_i64(g, o->words);
	none = op_expand(g, none, op_concat(g, 2, (graph_value[]){ batch, graph_i64s(g, 1, &h) }, 0));
	// The second state is the word before, [batch], and beyond the words in a row that has ended.
	graph_value zero = op_expand(g, graph_constant(g, DTYPE_I64, 1, &one, &(int64_t){ 0 }), batch);
	graph_assume(g, zero, 0, value_dim(g, memory, 0));
	graph_assume(g, none, 0, value_dim(g, memory, 0));
	struct loop l = { .runs = graph_i64(g, o->most), .state_count = 2, .first = { none, zero } };
	op_loop_begin(g, &l);
	graph_value had_ended = op_less_or_equal(g, n, l.state[1]), next[2];
	next[0] = step(b, l.state[0], op_mod(g, l.state[1], n), memory, keys);
	graph_value y = linear(b, "words.2", linear(b, "words.1", next[0], h, h, true), h, o->words, true);
	graph_value word = op_argmax(g, y, 1, false);
	graph_value ended = op_cast(g, op_or(g, had_ended, op_equal(g, word, graph_i64(g, o->words - 1))), DTYPE_I64);
	next[1] = op_add(g, word, op_mul(g, ended, n));
	graph_value again = op_less(g, op_reduce_min(g, ended, 0, false), graph_i64(g, 1));
	op_loop_end(g, &l, again, next, 1, &y);
	return op_softmax(g, op_transpose(g, l.all[0], 3, (int[]){ 1, 0, 2 }), -1);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body io = { .pixels = pixel_input(b, s->channels, s->image_size, s->image_width) };
	const struct spec *outer = part_enter(b, "vision");
	graph_enter(g, "vision");
	b->s->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	if (graph_failed(g))
		return;
	if (value_dim(g, io.last, 1) != own(b)->in)
		graph_fail(g, STATUS_BAD_INPUT, "config.json: post_conv_in_channels %lld, for a tower of %lld",
			(long long)own(b)->in, (long long)value_dim(g, io.last, 1));
	graph_value map = conv(b, "memory", io.last, (struct conv){ .out = own(b)->width, .kernel = 3, .stride = 2, .pad = 1 });
	graph_value memory = tokens_of(b, map);
	graph_assume(g, memory, 0, graph_symbol(g, "batch")); // windows have hidden it
	graph_output(g, "last_hidden_state", say(b, memory));
}

static const struct family_head heads[] = { { &head_table }, { 0 } };

const struct family slanext = {
	.name = "slanext",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
