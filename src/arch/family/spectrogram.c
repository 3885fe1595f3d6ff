// SPDX-License-Identifier: Apache-2.0
// The audio spectrogram transformer (Gong et al. 2021, https://arxiv.org/abs/2104.01778): a vision transformer over patches of a
// spectrogram that overlap, with DeiT's two special tokens, whose mean is what the head reads.
//
//   mel [batch, frames, bins] -> patches -> [class, distillation, patches] + positions -> layers -> norm -> head
#include "arch/block/image.h"

struct spectrogram {
	int64_t frames, bins, patch, time_stride, frequency_stride;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct spectrogram *o = ARENA_NEW(a, struct spectrogram);
	s->own = o;
	resolve_transformer(c, s, true);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	*o = (struct spectrogram){ config_size(c, "max_length", -1), config_size(c, "num_mel_bins", -1),
		config_size(c, "patch_size", -1), config_size(c, "time_stride", -1), config_size(c, "frequency_stride", -1) };
	if (!c->error.status &&
		(o->patch < 1 || o->time_stride < 1 || o->frequency_stride < 1 || o->frames < o->patch || o->bins < o->patch ||
			o->frames > 1 << 20 || o->bins > 1 << 16))
		config_fail(c, STATUS_BAD_INPUT, "a spectrogram of %lld frames by %lld bins in patches of %lld",
			(long long)o->frames, (long long)o->bins, (long long)o->patch);
}

static graph_value layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "attn");
	graph_value y = self_attention(
		b, layer_norm(b, "layers.attn.norm", x, h), NO_VALUE, NO_VALUE, NO_VALUE, b->s->traits.qkv_bias, true, NULL);
	x = op_add(g, y, x);
	graph_leave(g);
	graph_enter(g, "ffn");
	x = op_add(g, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)), x);
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	const struct spectrogram *o = b->s->own;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, rows = (o->bins - o->patch) / o->frequency_stride + 1,
		cols = (o->frames - o->patch) / o->time_stride + 1;
	int64_t stride[] = { o->frequency_stride, o->time_stride }, none[] = { 0, 0, 0, 0 }, one[] = { 1, 1 };
	graph_enter(g, "embed");
	graph_value x = op_unsqueeze(g, op_transpose(g, io->features, 3, (int[]){ 0, 2, 1 }), 1); // [batch, 1, bins, frames]
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, 1, o->patch, o->patch);
	x = tokens_of(b, op_conv(g, x, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1));
	graph_value special[] = { each_image(b, WEIGHT(b, "embed.class", "", 1, 1, h), x),
		each_image(b, WEIGHT(b, "embed.distillation", "", 1, 1, h), x), x };
	x = op_add(g, op_concat(g, 3, special, 1), WEIGHT(b, "embed.position", "", 1, rows * cols + 2, h));
	graph_leave(g);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = layer_norm(b, "norm", x, h);
	graph_value pair = op_add(g, first_token(b, io->last), op_squeeze(g, op_slice(g, io->last, 1, 1, 2), 1));
	io->pooled = op_scale(g, pair, 0.5f); // [batch, hidden]
}

static void build_classes(struct build *b, const struct body *io)
{
	int64_t h = b->s->hidden_size;
	graph_value x = layer_norm(b, "head.audio.norm", io->pooled, h);
	graph_output(b->g, "logits", linear(b, "head.audio", x, h, b->s->labels, true));
}

static void build(struct build *b)
{
	const struct spectrogram *o = b->s->own;
	struct graph *g = b->g;
	struct body io = { .features = graph_input(g, "input_values", DTYPE_F32, 3,
				   (int64_t[]){ graph_symbol(g, "batch"), o->frames, o->bins }) };
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_audio, build_classes },
	{ 0 },
};

const struct family spectrogram = {
	.name = "spectrogram",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};
