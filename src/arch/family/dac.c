// SPDX-License-Identifier: Apache-2.0
// DAC, a neural codec of sound (Kumar et al. 2023, https://arxiv.org/abs/2306.06546): convolutions with snake activations shorten
// the samples, a residual quantizer compares directions in a narrow space, and transposed convolutions lengthen again.
//
//   samples [batch, 1, n] - conv - [unit 1, 3, 9 - snake - conv / ratio].. - snake - conv -> [batch, hidden, frames]
//   quantizer: in - the codeword of the nearest direction - out; what is left of the frame goes to the next
//   - conv - [snake - conv * ratio - unit 1, 3, 9].. - snake - conv - tanh -> [batch, samples]
//   unit:  x -+- snake - conv, dilated - snake - conv -(+)-        snake(x) = x + sin(a x)^2 / a
#include "arch/block/block.h"
#include "arch/family/dac.h"

struct dac {
	int64_t encoder_width, decoder_width, codes, code_width, quantizers;
	int64_t down_steps, up_steps;
	const int64_t *down, *up; // ratios: [down_steps], [up_steps]
};

enum { RATIO_MOST = 1 << 10, STEPS_MOST = 16 };

static bool are_ratios(const int64_t *ratio, int64_t count)
{
	for (int64_t i = 0; i < count && count <= STEPS_MOST; i++)
		if (ratio[i] < 1 || ratio[i] > RATIO_MOST)
			return false;
	return count > 0 && count <= STEPS_MOST;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct dac *o = ARENA_NEW(a, struct dac);
	s->own = o;
	s->layers = s->layers_in_config = 1;
	o->encoder_width = config_size(c, "encoder_hidden_size", -1);
	o->decoder_width = config_size(c, "decoder_hidden_size", -1);
	o->down = config_sizes(c, "downsampling_ratios", a, 0, &o->down_steps);
	o->up = config_sizes(c, "upsampling_ratios", a, 0, &o->up_steps);
	o->codes = config_size(c, "codebook_size", -1);
	o->code_width = config_size(c, "codebook_dim", -1);
	o->quantizers = config_count(c, "n_codebooks", -1);
	s->hidden_size = config_size(c, "hidden_size", 0);
	if (c->error.status)
		return;
	int64_t *reversed = ARENA_ARRAY(a, STEPS_MOST, int64_t);
	bool right = are_ratios(o->down, o->down_steps);
	for (int64_t i = 0; right && i < o->down_steps; i++)
		reversed[i] = o->down[o->down_steps - 1 - i];
	if (!o->up_steps) {
		o->up = reversed;
		o->up_steps = o->down_steps;
	}
	right = right && are_ratios(o->up, o->up_steps) && o->encoder_width >= 1 && o->encoder_width <= 1 << 12 &&
		o->decoder_width >> o->up_steps >= 1 && o->codes >= 2 && o->code_width >= 1 && o->quantizers >= 1;
	if (!right)
		config_fail(c, STATUS_BAD_INPUT,
			"encoder_hidden_size, decoder_hidden_size, downsampling_ratios, upsampling_ratios and n_codebooks do not "
			"go together");
	else if (!s->hidden_size)
		s->hidden_size = o->encoder_width << o->down_steps;
}

static graph_value snake(struct build *b, const char *stem, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	graph_value a = WEIGHT(b, stem, "alpha", 1, width, 1), wave = op_sin(g, op_mul(g, a, x));
	return op_add(g, x, op_div(g, op_mul(g, wave, wave), op_add(g, a, graph_f32(g, 1e-9f))));
}

// As long as x: [batch, in, n] -> [batch, out, n]; the kernel is odd.
static graph_value convolve(
	struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t kernel, int64_t dilation)
{
	int64_t one = 1, pad = (kernel - 1) * dilation / 2;
	graph_value w = WEIGHT(b, stem, "weight", out, in, kernel);
	graph_value y = op_conv(b->g, x, w, WEIGHT(b, stem, "bias", out), &one, (int64_t[]){ pad, pad }, &dilation, 1);
	graph_assume(b->g, y, 2, value_dim(b->g, x, 2));
	return y;
}

static graph_value units(struct build *b, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	static const int64_t dilation[] = { 1, 3, 9 };
	for (int i = 0; i < 3 && !graph_failed(g); i++) {
		b->item = i + 1;
		graph_value y = convolve(b, "unit.dilated", snake(b, "unit.first", x, width), width, width, 7, dilation[i]);
		x = op_add(g, x, convolve(b, "unit.plain", snake(b, "unit.second", y, width), width, width, 1, 1));
	}
	return x;
}

static graph_value encode(struct build *b, graph_value x)
{
	const struct dac *o = b->s->own;
	struct graph *g = b->g;
	int64_t width = o->encoder_width, one = 1;
	b->item_name = "encoder";
	graph_enter(g, "encoder");
	x = convolve(b, "first", x, 1, width, 7, 1);
	for (b->layer = 0; b->layer < o->down_steps && !graph_failed(g); b->layer++, width *= 2) {
		int64_t ratio = o->down[b->layer], pad = (ratio + 1) / 2;
		graph_enter(g, "block.%lld", (long long)b->layer);
		x = snake(b, "block.snake", units(b, x, width), width);
		graph_value w = WEIGHT(b, "shorter", "weight", 2 * width, width, 2 * ratio);
		x = op_conv(g, x, w, WEIGHT(b, "shorter", "bias", 2 * width), &ratio, (int64_t[]){ pad, pad }, &one, 1);
		graph_leave(g);
	}
	x = convolve(b, "last", snake(b, "snake", x, width), width, b->s->hidden_size, 3, 1);
	graph_leave(g);
	return x;
}

static graph_value decode(struct build *b, graph_value x)
{
	const struct dac *o = b->s->own;
	struct graph *g = b->g;
	int64_t width = o->decoder_width;
	b->item_name = "decoder";
	graph_enter(g, "decoder");
	x = convolve(b, "first", x, b->s->hidden_size, width, 7, 1);
	for (b->layer = 0; b->layer < o->up_steps && !graph_failed(g); b->layer++) {
		int64_t ratio = o->up[b->layer], pad = (ratio + 1) / 2, narrow = o->decoder_width >> (b->layer + 1);
		graph_enter(g, "block.%lld", (long long)b->layer);
		x = snake(b, "block.snake", x, width);
		graph_value w = WEIGHT(b, "longer", "weight", width, narrow, 2 * ratio);
		x = op_conv_transpose(g, x, w, WEIGHT(b, "longer", "bias", narrow), 1, &ratio, (int64_t[]){ pad, pad }, 1);
		width = narrow;
		x = units(b, x, width);
		graph_leave(g);
	}
	x = op_tanh(g, convolve(b, "last", snake(b, "snake", x, width), width, 1, 7, 1));
	graph_leave(g);
	return x;
}

static graph_value project(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	graph_value w = op_reshape(b->g, WEIGHT(b, stem, "weight", out, in, 1), 2, (int64_t[]){ out, in });
	return op_linear(b->g, x, w, WEIGHT(b, stem, "bias", out));
}

// x / max(|x|, 1e-12) over the last axis
static graph_value direction(struct graph *g, graph_value x)
{
	return op_div(g, x, op_max(g, op_reduce_l2(g, x, -1, true), graph_f32(g, 1e-12f)));
}

// left [batch, frames, hidden] -> what the nearest codeword stands for, likewise; *code [batch, 1, frames], *narrow [batch,
// frames, code_width]: what was looked up
static graph_value look_up(struct build *b, graph_value left, graph_value *code, graph_value *narrow)
{
	const struct dac *o = b->s->own;
	struct graph *g = b->g;
	graph_value words = WEIGHT(b, "codes", "weight", o->codes, o->code_width), each = direction(g, words);
	*narrow = project(b, "codes.in", left, b->s->hidden_size, o->code_width);
	graph_value half = op_scale(g, op_reduce_sum(g, op_mul(g, each, each), 1, false), 0.5f);
	graph_value likeness = op_matmul(g, direction(g, *narrow), op_transpose(g, each, 2, (int[]){ 1, 0 }));
	graph_value best = op_argmax(g, op_sub(g, likeness, half), -1, false);
	*code = op_unsqueeze(g, best, 1);
	return project(b, "codes.out", op_gather(g, words, best, 0), o->code_width, b->s->hidden_size);
}

static void give(struct build *b, const struct body *io)
{
	const struct dac *o = b->s->own;
	struct graph *g = b->g;
	graph_value *codes = GRAPH_TABLE(g, NULL, o->quantizers, 2, graph_value), *narrow = codes + o->quantizers;
	if (!codes)
		return;
	graph_value sum = NO_VALUE, left = op_transpose(g, encode(b, io->features), 3, (int[]){ 0, 2, 1 });
	graph_enter(g, "quantizer");
	for (b->layer = 0; b->layer < o->quantizers && !graph_failed(g); b->layer++) {
		graph_value word = look_up(b, left, &codes[b->layer], &narrow[b->layer]);
		left = op_sub(g, left, word);
		sum = sum.id ? op_add(g, sum, word) : word;
	}
	graph_value all = op_concat(g, (int)o->quantizers, codes, 1), latents = op_concat(g, (int)o->quantizers, narrow, 2);
	latents = op_transpose(g, latents, 3, (int[]){ 0, 2, 1 });
	sum = op_transpose(g, sum, 3, (int[]){ 0, 2, 1 });
	graph_leave(g);
	graph_value x = op_squeeze(g, decode(b, sum), 1); // [batch, samples]; with odd ratios fewer than were given
	x = op_slice_to(g, x, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->features, 2));
	graph_output(g, "audio_values", x);
	graph_output(g, "quantized_representation", sum);
	graph_output(g, "audio_codes", all);           // [batch, quantizers, frames]
	graph_output(g, "projected_latents", latents); // [batch, quantizers * code_width, frames]
}

static void body(struct build *b, struct body *io)
{
	io->last = op_transpose(b->g, encode(b, io->features), 3, (int[]){ 0, 2, 1 });
}

int64_t dac_code_width(const struct spec *s)
{
	return ((const struct dac *)s->own)->code_width;
}

int64_t dac_hop(const struct spec *s)
{
	const struct dac *o = s->own;
	int64_t hop = 1;
	for (int64_t i = 0; i < o->down_steps && hop < 1 << 20; i++)
		hop *= o->down[i];
	return hop;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), 1, graph_symbol(g, "samples") };
	struct body io = { .features = graph_input(g, "input_values", DTYPE_F32, 3, shape) };
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_model, give }, { 0 } };

const struct family dac = {
	.name = "dac",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};
