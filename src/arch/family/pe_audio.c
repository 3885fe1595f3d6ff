// SPDX-License-Identifier: Apache-2.0
// The sound half of Perception Encoder Audiovisual (Vyas et al. 2025, https://arxiv.org/abs/2512.19687): DAC's frames through two
// linear layers, a class token before them, a residual block of convolutions, and rotary layers that see both ways.
//
//   samples -> DAC's encoder -> narrow -> hidden -> [class, frames] - block -> layers - norm - linear -> class | frames
//   block:  x -+- group norm - silu - conv - group norm - silu - conv -(+)-
//              +----------------------------------------------------+
#include "arch/block/sound.h"
#include "arch/family/dac.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, true);
	s->max_positions = config_size(c, "max_position_embeddings", 0);
	s->traits.qkv_bias = s->traits.out_bias = config_bool(c, "attention_bias", false);
	resolve_rope(c, s, a);
	// So that names begin with embedder.dac_encoder: DAC's own begin with "encoder".
	resolve_part_fixed(c, s, a, "codec", "dac_config", NULL, NULL, (const char *const[]){ "embedder.dac_", NULL });
}

// x [batch, hidden, frames], mask f32 [batch, 1, frames]: a norm over all that is not padding, and a convolution.
static graph_value convolve(struct build *b, const char *stem, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	int64_t h = b->s->hidden_size, each[] = { h, 1 };
	const char *norm = arena_printf(a, "%s.norm", stem);
	graph_value count = op_scale(g, op_reduce_sum(g, mask, 2, true), (float)h); // [batch, 1, 1]
	graph_value sum = op_reduce_sum(g, op_reduce_sum(g, op_mul(g, x, mask), 2, true), 1, true);
	graph_value away = op_mul(g, op_sub(g, x, op_div(g, sum, count)), mask);
	graph_value square = op_reduce_sum(g, op_reduce_sum(g, op_mul(g, away, away), 2, true), 1, true);
	x = op_div(g, away, op_sqrt(g, op_add(g, op_div(g, square, count), graph_f32(g, 1e-5f))));
	x = op_mul(g, x, op_reshape(g, WEIGHT(b, norm, "weight", h), 2, each));
	x = op_mul(g, op_add(g, x, op_reshape(g, WEIGHT(b, norm, "bias", h), 2, each)), mask);
	return sound_conv(
		b, arena_printf(a, "%s.conv", stem), op_silu(g, x), &(struct sound_kernel){ .in = h, .out = h, .kernel = 3 });
}

// samples [batch, 1, n] -> [batch, 1 + frames, hidden]; *mask [batch, n] becomes i64 [batch, 1 + frames].
static graph_value embed(struct build *b, graph_value samples, graph_value *mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *codec = part_of(s, "codec");
	int64_t h = s->hidden_size, in = codec->hidden_size, narrow = dac_code_width(codec);
	struct body io = { .features = samples };
	const struct spec *outer = part_enter(b, "codec");
	graph_enter(g, "codec");
	codec->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_value w = op_reshape(g, WEIGHT(b, "embed.narrow", "weight", narrow, in, 1), 2, (int64_t[]){ narrow, in });
	graph_value x = op_linear(g, io.last, w, WEIGHT(b, "embed.narrow", "bias", narrow)), one = graph_i64(g, 1);
	x = linear(b, "embed.project", x, narrow, h, true);
	// Of a frame's samples the first says whether it is padding, and the first frame's says it of the class token.
	graph_value frames = op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, x, 1), 0), one);
	graph_value at = op_mul(g, frames, graph_i64(g, dac_hop(codec)));
	graph_value own = op_gather(g, *mask, op_min(g, at, op_sub(g, op_squeeze(g, op_dim(g, *mask, 1), 0), one)), 1);
	*mask = op_concat(g, 2, (graph_value[]){ op_slice(g, own, 1, 0, 1), own }, 1);
	graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ 1, h }) };
	graph_value token = op_expand(g, WEIGHT(b, "embed.class", "", 1, 1, h), op_concat(g, 2, shape, 0));
	return op_concat(g, 2, (graph_value[]){ token, x }, 1);
}

static graph_value layer(struct build *b, graph_value x, const struct attention_extras *e)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "attn");
	graph_value y = norm(b, "layers.attn.norm", x, h);
	x = op_add(g, x, self_attention_with(b, y, e, s->traits.qkv_bias, s->traits.out_bias, NULL));
	graph_leave(g);
	graph_enter(g, "ffn");
	x = op_add(g, x, ffn_of(b, "layers.ffn", norm(b, "layers.ffn.norm", x, h), s->ffn_size, false));
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value mask = io->mask, x = embed(b, io->features, &mask);
	graph_value y = sound_transposed(g, x), is = op_unsqueeze(g, op_cast(g, mask, DTYPE_F32), 1);
	y = convolve(b, "block.second", convolve(b, "block.first", y, is), is);
	x = op_add(g, x, sound_transposed(g, y));
	struct attention_extras e = { .bias = mask_bidirectional(b, mask) };
	io->mask = mask;
	rope_tables(b, x, NO_VALUE, &e.cos, &e.sin);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &e);
		graph_leave(g);
		states_add(io, x);
	}
	x = linear(b, "output", norm(b, "norm", x, h), h, h, false);
	io->last = op_slice(g, x, 1, 1, INT64_MAX);
	io->pooled = first_token(b, x);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	int64_t batch = graph_symbol(g, "batch"), samples = graph_symbol(g, "samples");
	struct body io = { .features = graph_input(g, "input_values", DTYPE_F32, 3, (int64_t[]){ batch, 1, samples }),
		.mask = graph_input(g, "padding_mask", DTYPE_I64, 2, (int64_t[]){ batch, samples }) };
	body(b, &io);
	head_build(b, &io);
}

static void give(struct build *b, const struct body *io)
{
	graph_output(b->g, "last_hidden_state", io->last);                            // [batch, frames, hidden]
	graph_output(b->g, "pooler_output", io->pooled);                              // [batch, hidden]
	graph_output(b->g, "output_mask", op_slice(b->g, io->mask, 1, 1, INT64_MAX)); // [batch, frames]
}

static void hints(const struct spec *s, struct input_hints *out)
{
	out->symbols[0] = (struct input_symbol){ "samples", 5 * dac_hop(part_of(s, "codec")), false };
}

static const struct family_head heads[] = { { &head_model, give }, { &head_encoder, give }, { 0 } };

const struct family pe_audio = {
	.name = "pe-audio",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.hints = hints,
};
