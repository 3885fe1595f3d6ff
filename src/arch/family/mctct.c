// SPDX-License-Identifier: Apache-2.0
// M-CTC-T, a multilingual speech recognizer (Lugosch et al. 2022, https://arxiv.org/abs/2111.00161): gated convolutions over mel
// frames, then post-norm layers without biases whose scores grow with a learned row by distance.
//
//   frames [batch, frames, bins] * w + b -> (conv, a * sigmoid(b)) .. -> layers -> letters
#include "arch/block/sound.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct sound *o = ARENA_NEW(a, struct sound);
	int64_t count = 0, strides = 0, channels = 0;
	s->own = o;
	resolve_transformer(c, s, false);
	int64_t layers = config_count(c, "num_conv_layers", 1), dimension = config_size(c, "conv_glu_dim", 1);
	o->conv_kernel = config_sizes(c, "conv_kernel", a, 0, &count);
	o->conv_stride = config_sizes(c, "conv_stride", a, 0, &strides);
	o->conv_dim = config_sizes(c, "conv_channels", a, 0, &channels);
	o->conv_count = count;
	o->feature_size = config_size(c, "input_feat_per_channel", -1) * config_size(c, "input_channels", 1);
	o->key_left = o->key_right = s->max_positions - 1;
	bool good = count >= 1 && count == layers && strides >= count && (count == 1 || channels >= count) &&
		o->feature_size > 0 && s->max_positions > 0 && s->ffn_size > 0;
	for (int64_t i = 0; i < count && good; i++)
		good = o->conv_kernel[i] > 0 && o->conv_stride[i] > 0 && (i == 0 || o->conv_dim[i - 1] == 2 * o->conv_dim[i]);
	if (!c->error.status && (!good || s->heads * s->head_width != s->hidden_size))
		config_fail(c, STATUS_BAD_INPUT, "the sizes of the convolutions, or those of the heads, do not go together");
	if (dimension != 1)
		config_fail(c, STATUS_UNSUPPORTED, "conv_glu_dim %lld is not supported yet", (long long)dimension);
}

// [batch, frames, bins] -> [batch, steps, hidden]. All padding is before the first convolution.
static graph_value stem(struct build *b, graph_value x)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	int64_t pad = 0, one[] = { 1 };
	for (int64_t i = 0; i < o->conv_count; i++)
		pad += o->conv_kernel[i] / 2;
	graph_enter(g, "stem");
	x = op_add(g, op_mul(g, x, WEIGHT(b, "stem.scale", "", 1)), WEIGHT(b, "stem.offset", "", 1));
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	for (b->layer = 0; b->layer < o->conv_count && !graph_failed(g); b->layer++) {
		int64_t i = b->layer, k = o->conv_kernel[i], in = i ? o->conv_dim[i] : o->feature_size,
			out = i < o->conv_count - 1 ? o->conv_dim[i] : 2 * b->s->hidden_size, own = i ? 0 : pad;
		x = op_conv(g, x, WEIGHT(b, "stem.conv", "weight", out, in, k), WEIGHT(b, "stem.conv", "bias", out),
			(int64_t[]){ o->conv_stride[i] }, (int64_t[]){ own, own }, one, 1);
		x = sound_glu(g, x, 1, out / 2);
	}
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	graph_leave(g);
	return x;
}

// Of each row, how many steps are of its frames: bool [batch, steps]
static graph_value heard(struct build *b, graph_value x, graph_value mask)
{
	const struct sound *o = sound_of(b);
	struct graph *g = b->g;
	graph_value n = op_cast(g, op_reduce_sum(g, mask, 1, false), DTYPE_F32);
	for (int64_t i = 0; i < o->conv_count; i++)
		n = sound_conv_length(g, op_add(g, n, graph_f32(g, (float)(2 * (o->conv_kernel[i] / 2)))), o->conv_kernel[i],
			o->conv_stride[i]);
	return sound_frames_to_last(b, x, n);
}

// A row by distance for each query; 0 farther away than there are rows. [batch, heads, steps, steps]
static graph_value by_distance(struct build *b, graph_value q, graph_value x)
{
	struct graph *g = b->g;
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, x, 1), 0), graph_i64(g, 1));
	graph_value away = op_abs(g, op_sub(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1)));
	graph_value has_row = op_less(g, away, graph_i64(g, b->s->max_positions));
	graph_value y = op_scale(g, sound_distance_bias(b, q, x, false), (float)b->s->attention_scale);
	return op_where(g, has_row, y, graph_f32(g, 0));
}

static graph_value layer(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "attn");
	graph_value q = linear(b, "layers.attn.q", x, h, h, false), k = linear(b, "layers.attn.k", x, h, h, false),
		    v = linear(b, "layers.attn.v", x, h, h, false);
	graph_value y = op_attention(g,
		&(struct attention){ q, k, v, .bias = op_add(g, by_distance(b, q, x), mask), .heads = s->heads,
			.scale = (float)s->attention_scale });
	x = layer_norm(b, "layers.attn.norm", op_add(g, linear(b, "layers.attn.o", y, h, h, false), x), h);
	graph_leave(g);
	graph_enter(g, "ffn");
	y = activate(b, s->act, linear(b, "layers.ffn.up", x, h, s->ffn_size, false));
	x = layer_norm(b, "layers.ffn.norm", op_add(g, linear(b, "layers.ffn.down", y, s->ffn_size, h, false), x), h);
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value x = stem(b, io->features);
	graph_value mask = mask_bidirectional(b, op_cast(g, heard(b, x, io->mask), DTYPE_I64));
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, mask);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "frames"), sound_of(b)->feature_size };
	struct body io = { .features = graph_input(g, "input_features", DTYPE_F32, 3, shape),
		.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape) };
	body(b, &io);
	head_build(b, &io);
}

static void build_letters(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_output(
		b->g, "logits", linear(b, "head.ctc", io->last, s->hidden_size, s->vocab_size, true)); // [batch, steps, vocab]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "frames", 40, false };
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_ctc, build_letters },
	{ 0 },
};

const struct family mctct = {
	.name = "mctct",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.hints = hints,
};
