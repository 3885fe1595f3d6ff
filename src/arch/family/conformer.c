// SPDX-License-Identifier: Apache-2.0
// Conformers that read a spectrogram through convolutions which shorten it (Fast Conformer, Rekesh et al. 2023,
// https://arxiv.org/abs/2305.05084; LASR): by themselves, and with a head that gives letters for each frame (CTC).
//
//   mel [batch, frames, bins] -> shortened (* scale) -> layers (-> norm) (-> head)
//   layer:  x -(a*x + w*ffn)-(+ attention)-(c*x + d*convolution)-(a*x + w*ffn)- norm
#include "arch/family/conformer.h"

#include "arch/block/image.h"
#include "arch/block/sound.h"

#include <math.h>

struct conformer {
	int64_t bins, channels, kernel, stride, shortenings, depth_kernel;
	bool bias, conv_bias;
	bool rotary; // rotary positions, and time alone shortened; else relative ones, and bins too
	double scale, ffn_weights[2], conv_weights[2];
};

static void two_reals(struct config *c, const char *key, double out[2])
{
	const json_t *v = config_get(c, key);
	for (size_t i = 0; v && i < 2; i++) {
		const json_t *x = json_array_get(v, i);
		if (!json_is_number(x))
			config_fail(c, STATUS_BAD_INPUT, "%s should be a list of two numbers", key);
		out[i] = json_number_value(x);
	}
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct conformer *o = ARENA_NEW(a, struct conformer);
	s->own = o;
	resolve_transformer(c, s, true);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	*o = (struct conformer){ .ffn_weights = { 1, 0.5 }, .conv_weights = { 1, 1 } };
	o->bins = config_size(c, "num_mel_bins", -1);
	o->channels = config_size(c, "subsampling_conv_channels", -1);
	o->kernel = config_size(c, "subsampling_conv_kernel_size", -1);
	o->stride = config_size(c, "subsampling_conv_stride", -1);
	o->depth_kernel = config_size(c, "conv_kernel_size", -1);
	int64_t factor = config_size(c, "subsampling_factor", 4);
	o->bias = config_bool(c, "attention_bias", true);
	o->conv_bias = config_bool(c, "convolution_bias", true);
	o->scale = config_bool(c, "scale_input", false) ? sqrt((double)s->hidden_size) : 1;
	two_reals(c, "feed_forward_residual_weights", o->ffn_weights);
	two_reals(c, "conv_residual_weights", o->conv_weights);
	o->rotary = config_get(c, "rope_parameters") != NULL;
	if (o->rotary)
		resolve_rope(c, s, a);
	if (c->error.status)
		return;
	while (factor > 1)
		o->shortenings++, factor /= 2;
	if (o->bins < 1 || o->channels < 1 || o->kernel < 1 || o->stride < 1 || o->depth_kernel < 1 || o->shortenings < 1 ||
		o->shortenings > 16 || s->hidden_size % 2 || o->kernel > 1 << 12 || o->stride > 1 << 12)
		config_fail(c, STATUS_BAD_INPUT, "%lld bins shortened by kernels of %lld in steps of %lld", (long long)o->bins,
			(long long)o->kernel, (long long)o->stride);
}

// ---- what shortens ------------------------------------------------------------------------------------------------------

static graph_value masked_map(struct build *b, graph_value x, graph_value lengths) // x [batch, channels, frames, bins]
{
	struct graph *g = b->g;
	if (!lengths.id)
		return x;
	graph_value frames = sound_frames(b, op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 }), lengths, 1); // [batch, frames]
	return op_where(g, op_unsqueeze(g, op_unsqueeze(g, frames, 1), 3), x, graph_f32(g, 0));
}

// Over time and bins: a convolution, then depthwise and pointwise ones; what is padding is cleared after each.
static graph_value shortened_map(struct build *b, graph_value x, graph_value *lengths)
{
	const struct conformer *o = b->s->own;
	struct graph *g = b->g;
	int64_t pad = (o->kernel - 1) / 2, ch = o->channels;
	x = op_unsqueeze(g, x, 1);
	for (int64_t i = 0; i < o->shortenings; i++) {
		b->layer = i ? 3 * i - 1 : 0;
		int64_t stride[] = { o->stride, o->stride }, pads[] = { pad, pad, pad, pad }, none[] = { 0, 0, 0, 0 },
			one[] = { 1, 1 };
		graph_value w = WEIGHT(b, "short.layer", "weight", ch, 1, o->kernel, o->kernel);
		x = op_conv(g, x, w, WEIGHT(b, "short.layer", "bias", ch), stride, pads, one, i ? ch : 1);
		if (lengths->id)
			*lengths = sound_conv_length(g, *lengths, o->kernel - 2 * pad, o->stride);
		x = masked_map(b, x, *lengths);
		if (i) {
			b->layer++;
			w = WEIGHT(b, "short.layer", "weight", ch, ch, 1, 1);
			x = masked_map(b, op_conv(g, x, w, WEIGHT(b, "short.layer", "bias", ch), one, none, one, 1), *lengths);
		}
		x = op_relu(g, x);
	}
	if (graph_failed(g))
		return NO_VALUE;
	int64_t rest = value_dim(g, x, 3);
	x = op_reshape(g, op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, ch * rest });
	return linear(b, "short.out", x, ch * rest, b->s->hidden_size, true);
}

// Over time alone: linear, two convolutions, linear.
static graph_value shortened_sequence(struct build *b, graph_value x, graph_value *lengths)
{
	const struct conformer *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, none[] = { 0, 0 }, one = 1;
	x = op_transpose(g, op_relu(g, linear(b, "short.in", x, o->bins, h, true)), 3, (int[]){ 0, 2, 1 });
	for (b->layer = 0; b->layer < 2 && !graph_failed(b->g); b->layer++) {
		int64_t out = b->layer ? o->channels : h;
		graph_value w = WEIGHT(b, "short.layer", "weight", out, h, o->kernel);
		x = op_relu(g, op_conv(g, x, w, WEIGHT(b, "short.layer", "bias", out), &o->stride, none, &one, 1));
		if (lengths->id)
			*lengths = sound_conv_length(g, *lengths, o->kernel, o->stride);
	}
	return linear(b, "short.out", op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), o->channels, h, true);
}

// ---- layers -------------------------------------------------------------------------------------------------------------

static graph_value weighed(struct build *b, graph_value x, const double w[2], graph_value y)
{
	return op_add(b->g, op_scale(b->g, x, (float)w[0]), op_scale(b->g, y, (float)w[1]));
}

static graph_value half_ffn(struct build *b, const char *norm_stem, const char *up, const char *down, graph_value x)
{
	const struct spec *s = b->s;
	const struct conformer *o = s->own;
	graph_value y =
		activate(b, s->act, linear(b, up, norm(b, norm_stem, x, s->hidden_size), s->hidden_size, s->ffn_size, o->bias));
	return weighed(b, x, o->ffn_weights, linear(b, down, y, s->ffn_size, s->hidden_size, o->bias));
}

struct around {
	graph_value mask, frames, positions, cos, sin;
};

static graph_value attention(struct build *b, graph_value x, const struct around *e)
{
	const struct spec *s = b->s;
	const struct conformer *o = s->own;
	struct graph *g = b->g;
	if (o->rotary)
		return self_attention(b, x, e->mask, e->cos, e->sin, o->bias, o->bias, NULL);
	int64_t h = s->hidden_size, width = s->heads * s->head_width, kv = s->kv_heads * s->head_width;
	graph_value q = linear(b, "layers.attn.q", x, h, width, o->bias), k = linear(b, "layers.attn.k", x, h, kv, o->bias),
		    v = linear(b, "layers.attn.v", x, h, kv, o->bias);
	graph_value bias = op_scale(g, conformer_relative(b, q, e->positions, x), (float)s->attention_scale);
	if (e->mask.id)
		bias = op_add(g, bias, e->mask);
	q = op_add(g, q, op_reshape(g, WEIGHT(b, "layers.attn.u_bias", "", s->heads, s->head_width), 1, (int64_t[]){ width }));
	return linear(b, "layers.attn.o",
		op_attention(g,
			&(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .kv_heads = s->kv_heads,
				.scale = (float)s->attention_scale }),
		width, h, o->bias);
}

static graph_value convolution(struct build *b, graph_value x, graph_value frames)
{
	const struct conformer *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, k = o->depth_kernel, one = 1, none[] = { 0, 0 }, before = (k - 1) / 2;
	int64_t pads[] = { before, o->rotary ? k - 1 - before : before };
	graph_value frames_of = x;
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	graph_value w = WEIGHT(b, "layers.conv.in", "weight", 2 * h, h, 1),
		    bias = o->conv_bias ? WEIGHT(b, "layers.conv.in", "bias", 2 * h) : NO_VALUE;
	x = sound_glu(g, op_conv(g, x, w, bias, &one, none, &one, 1), 1, h);
	if (frames.id)
		x = op_where(g, op_unsqueeze(g, frames, 1), x, graph_f32(g, 0));
	w = WEIGHT(b, "layers.conv.depth", "weight", h, 1, k),
	bias = o->conv_bias ? WEIGHT(b, "layers.conv.depth", "bias", h) : NO_VALUE;
	x = activate(b, b->s->act, batch_norm(b, "layers.conv.batch_norm", op_conv(g, x, w, bias, &one, pads, &one, h), 1e-5));
	w = WEIGHT(b, "layers.conv.out", "weight", h, h, 1),
	bias = o->conv_bias ? WEIGHT(b, "layers.conv.out", "bias", h) : NO_VALUE;
	x = op_transpose(g, op_conv(g, x, w, bias, &one, none, &one, 1), 3, (int[]){ 0, 2, 1 });
	graph_assume(g, x, 1, value_dim(g, frames_of, 1));
	return x;
}

static graph_value layer(struct build *b, graph_value x, const struct around *e)
{
	const struct conformer *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "ffn1");
	x = half_ffn(b, "layers.ffn1.norm", "layers.ffn1.up", "layers.ffn1.down", x);
	graph_leave(g);
	graph_enter(g, "attn");
	x = op_add(g, x, attention(b, norm(b, "layers.attn.norm", x, h), e));
	graph_leave(g);
	graph_enter(g, "conv");
	x = weighed(b, x, o->conv_weights, convolution(b, norm(b, "layers.conv.norm", x, h), e->frames));
	graph_leave(g);
	graph_enter(g, "ffn2");
	x = half_ffn(b, "layers.ffn2.norm", "layers.ffn2.up", "layers.ffn2.down", x);
	graph_leave(g);
	return norm(b, "layers.norm", x, h);
}

static void body(struct build *b, struct body *io)
{
	const struct spec *s = b->s;
	const struct conformer *o = s->own;
	struct graph *g = b->g;
	bool rotary = o->rotary;
	struct around e = { 0 };
	graph_value lengths = io->mask.id ? op_cast(g, op_reduce_sum(g, io->mask, 1, false), DTYPE_F32) : NO_VALUE;
	graph_enter(g, "short");
	graph_value x = rotary ? shortened_sequence(b, io->features, &lengths) : shortened_map(b, io->features, &lengths);
	x = op_scale(g, x, (float)o->scale); // [batch, frames, hidden]
	graph_leave(g);
	if (lengths.id) {
		e.frames = sound_frames(b, x, lengths, 1);
		graph_value pairs = op_unsqueeze(g, e.frames, 1); // [batch, 1, frames]
		if (rotary)
			e.mask = mask_bidirectional(b, e.frames);
		else { // padding attends to nothing, that is, to everything alike
			pairs = op_and(g, pairs, op_unsqueeze(g, e.frames, 2));
			e.mask = op_unsqueeze(g, op_where(g, pairs, graph_f32(g, 0), graph_f32(g, -3.40282347e+38f)), 1);
		}
	}
	if (rotary)
		rope_tables(b, x, NO_VALUE, &e.cos, &e.sin);
	else
		e.positions = conformer_positions(b, x);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &e);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rotary ? norm(b, "norm", x, s->hidden_size) : x;
}

void conformer_inputs(struct build *b, struct body *io, bool masked)
{
	const struct conformer *o = b->s->own;
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), o->bins };
	io->features = graph_input(g, "input_features", DTYPE_F32, 3, shape);
	if (masked)
		io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
}

static void build(struct build *b)
{
	struct body io = { 0 };
	conformer_inputs(b, &io, true);
	body(b, &io);
	graph_output(b->g, "last_hidden_state", io.last);
}

// ---- with a head --------------------------------------------------------------------------------------------------------

void conformer_resolve_encoder(struct config *c, struct spec *s, struct arena *a, const char *const *roots)
{
	const char *type = json_string_value(json_object_get(config_get(c, "encoder_config"), "model_type"));
	if (type && !text_is(type, part_type(s->row, "encoder")))
		config_fail(c, STATUS_UNSUPPORTED, "encoder_config.model_type %.64s: only %s is supported here yet", type,
			part_type(s->row, "encoder"));
	resolve_part_fixed(c, s, a, "encoder", "encoder_config", NULL, NULL, roots);
}

static void resolve_ctc(struct config *c, struct spec *s, struct arena *a)
{
	conformer_resolve_encoder(c, s, a, (const char *const[]){ "", NULL });
	s->vocab_size = config_size(c, "vocab_size", -1);
	resolve_refusals(c, s);
}

static void build_ctc(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	const struct spec *outer = part_enter(b, "encoder");
	conformer_inputs(b, &io, true);
	b->s->row->family->body(b, &io);
	int64_t h = b->s->hidden_size, n = outer->vocab_size;
	part_leave(b, outer);
	graph_value w = op_reshape(g, WEIGHT(b, "head.ctc", "weight", n, h, 1), 2, (int64_t[]){ n, h });
	graph_output(g, "logits", op_linear_output(g, io.last, w, WEIGHT(b, "head.ctc", "bias", n))); // [batch, frames, vocab]
}

static const struct family_head heads[] = { { &head_model }, { &head_encoder }, { 0 } };
static const struct family_head ctc_heads[] = { { &head_ctc }, { &head_model }, { 0 } }; // there is no class without the head

const struct family conformer = {
	.name = "conformer",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};
const struct family conformer_ctc = {
	.name = "conformer-ctc",
	.architecture = "encoder-only",
	.resolve = resolve_ctc,
	.build = build_ctc,
	.heads = ctc_heads,
};
