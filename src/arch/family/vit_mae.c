// SPDX-License-Identifier: Apache-2.0
// Masked autoencoders: the encoder sees the patches whose noise is least, a small decoder guesses the pixels of all (He et al.
// 2021, https://arxiv.org/abs/2111.06377). `noise` is an input, so that the same patches are masked everywhere.
//
//   pixels -> patches + positions -> those that are kept, after a class token -> layers -> norm
//   -> linear -> each at its place, a learned vector at the others + positions -> layers -> norm -> pixels of each patch
#include <math.h>

#include "arch/block/vit.h"

// spec.own of the family. It begins as vit's does, whose layers it has.
struct mae {
	struct vit vit;
	int64_t patches, kept;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mae *m = ARENA_NEW(a, struct mae);
	struct spec *d = ARENA_NEW(a, struct spec);
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	s->traits.qkv_bias = config_bool(c, "qkv_bias", true);
	double masked = config_real(c, "mask_ratio", 0.75);
	*m = (struct mae){ .vit = { .classes = 1 }, .patches = s->image_tokens - 1 };
	if (!(masked >= 0 && masked < 1)) {
		config_fail(c, STATUS_BAD_INPUT, "mask_ratio %g is not from 0 to 1", masked);
		return;
	}
	m->kept = (int64_t)((double)m->patches * (1 - masked));
	s->own = m;
	*d = *s; // the decoder: the same layers by other sizes
	d->hidden_size = config_size(c, "decoder_hidden_size", 512);
	d->layers = d->layers_in_config = config_count(c, "decoder_num_hidden_layers", 8);
	d->heads = d->kv_heads = config_size(c, "decoder_num_attention_heads", 16);
	d->ffn_size = config_size(c, "decoder_intermediate_size", 2048);
	d->prefix = "decoder.decoder_";
	if (!c->error.status && (d->heads < 1 || d->hidden_size % d->heads || !m->kept)) {
		config_fail(c, STATUS_BAD_INPUT, "a decoder of %lld in %lld heads, %lld patches kept", (long long)d->hidden_size,
			(long long)d->heads, (long long)m->kept);
		return;
	}
	if (c->error.status)
		return;
	d->head_width = d->hidden_size / d->heads;
	d->attention_scale = 1 / sqrt((double)d->head_width);
	part_set(s, "pixels", d);
}

// Where each patch stands by its noise, the least first: i64 [batch, patches]. Of equal ones the earlier comes first.
static graph_value places(struct build *b, graph_value noise)
{
	struct graph *g = b->g;
	int64_t n = ((const struct mae *)b->s->own)->patches;
	graph_value at = op_range(g, graph_i64(g, 0), graph_i64(g, n), graph_i64(g, 1));
	graph_value other = op_unsqueeze(g, noise, 1), own = op_unsqueeze(g, noise, 2); // [batch, 1, n], [batch, n, 1]
	graph_value earlier = op_less(g, op_unsqueeze(g, at, 0), op_unsqueeze(g, at, 1));
	graph_value less = op_or(g, op_less(g, other, own), op_and(g, op_equal(g, other, own), earlier)); // [batch, n, n]
	return op_reduce_sum(g, op_cast(g, less, DTYPE_I64), 2, false);
}

static graph_value layers(struct build *b, graph_value x)
{
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = vit_layer(b, x, NO_VALUE, 0);
		graph_leave(b->g);
	}
	return x;
}

static graph_value encode(struct build *b, graph_value pixels, graph_value place)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mae *m = s->own;
	int64_t h = s->hidden_size;
	const int64_t stride[] = { s->patch_size, s->patch_width }, none[4] = { 0 }, one[] = { 1, 1 };
	graph_value w = WEIGHT(b, "embed.patch", "weight", h, s->channels, s->patch_size, s->patch_width);
	graph_value x = tokens_of(b, op_conv(g, pixels, w, WEIGHT(b, "embed.patch", "bias", h), stride, none, one, 1));
	graph_value positions = WEIGHT(b, "embed.position", "", 1, m->patches + 1, h);
	x = op_add(g, x, op_slice(g, positions, 1, 1, INT64_MAX)); // [batch, patches, hidden]
	graph_value rank = op_range(g, graph_i64(g, 0), graph_i64(g, m->kept), graph_i64(g, 1));
	graph_value chosen = op_equal(g, op_unsqueeze(g, place, 1), op_unsqueeze(g, rank, 1)); // [batch, kept, patches]
	x = op_matmul(g, op_cast(g, chosen, DTYPE_F32), x);
	graph_value first = op_add(g, WEIGHT(b, "embed.class", "", 1, 1, h), op_slice(g, positions, 1, 0, 1));
	return layers(b, op_concat(g, 2, (graph_value[]){ each_image(b, first, pixels), x }, 1)); // [batch, 1 + kept, hidden]
}

static graph_value decode(struct build *b, graph_value x, graph_value place)
{
	struct graph *g = b->g;
	const struct spec *outer = b->s, *d = part_of(outer, "pixels");
	const struct mae *m = outer->own;
	int64_t h = d->hidden_size, p = d->patch_size;
	x = linear(b, "decoder.embed", x, outer->hidden_size, h, true);
	part_enter(b, "pixels");
	graph_value mask = each_image(b, WEIGHT(b, "decoder.mask", "", 1, 1, h), x);
	graph_value kept = op_concat(g, 2, (graph_value[]){ op_slice(g, x, 1, 1, INT64_MAX), mask }, 1); // the last: the mask
	graph_value from = op_min(g, place, graph_i64(g, m->kept));                                      // [batch, patches]
	graph_value all = op_gather_nd(g, kept, op_unsqueeze(g, from, 2), 1); // [batch, patches, width]
	x = op_concat(g, 2, (graph_value[]){ op_slice(g, x, 1, 0, 1), all }, 1);
	x = layers(b, op_add(g, x, WEIGHT(b, "decoder.position", "", 1, m->patches + 1, h)));
	x = linear(b, "decoder.pixels", layer_norm(b, "decoder.norm", x, h), h, p * p * d->channels, true);
	part_leave(b, outer);
	return op_slice(g, x, 1, 1, INT64_MAX);
}

struct mae_results {
	graph_value mask, place;
};

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mae *m = s->own;
	graph_value pixels = pixel_input(b, s->channels, s->image_size, s->image_width);
	graph_value noise = graph_input(g, "noise", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "batch"), m->patches });
	struct mae_results r = { .place = places(b, noise) };
	r.mask = op_cast(g, op_not(g, op_less(g, r.place, graph_i64(g, m->kept))), DTYPE_F32); // [batch, patches]
	struct body io = { .pixels = pixels, .own = &r };
	io.last = layer_norm(b, "norm", encode(b, pixels, r.place), s->hidden_size);
	head_build(b, &io);
}

static void build_pixels(struct build *b, const struct body *io)
{
	const struct mae_results *r = io->own;
	graph_output(b->g, "logits", decode(b, io->last, r->place)); // [batch, patches, patch*patch*channels]
	graph_output(b->g, "mask", r->mask);
	graph_output(b->g, "ids_restore", r->place);
}

static void build_bare(struct build *b, const struct body *io)
{
	const struct mae_results *r = io->own;
	graph_output(b->g, "last_hidden_state", io->last);
	graph_output(b->g, "mask", r->mask);
	graph_output(b->g, "ids_restore", r->place);
}

static const struct family_head heads[] = {
	{ &head_pretraining, build_pixels },
	{ &head_model, build_bare },
	{ 0 },
};

const struct family vit_mae = {
	.name = "vit_mae",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
