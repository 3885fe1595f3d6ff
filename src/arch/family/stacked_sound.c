// SPDX-License-Identifier: Apache-2.0
// Encoders of sound that read several frames of a spectrogram as one (Nemotron 3 Diarization and Nemotron 3.5 Transcribe,
// nvidia/Nemotron-3-Diarization): pre-norm layers with rotary positions, in which all see all.
//
//   mel [batch, frames, bins] -> `stack` frames side by side - linear - norm -> layers -> norm
#include "arch/block/block.h"

struct stacked {
	int64_t bins, stack;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct stacked *o = ARENA_NEW(a, struct stacked);
	s->own = o;
	resolve_transformer(c, s, true);
	s->norm_eps = 1e-5;
	o->bins = config_size(c, "num_mel_bins", -1);
	o->stack = config_size(c, "subsampling_factor", 8);
	resolve_rope(c, s, a);
	if (!c->error.status && (o->bins < 1 || o->stack < 1 || o->stack > CONFIG_COUNT_MOST || s->ffn_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld bins, %lld frames read as one, a feed-forward %lld wide",
			(long long)o->bins, (long long)o->stack, (long long)s->ffn_size);
}

// Zeros fill up the last stack: x [batch, frames, width] -> [batch, ceil(frames / stack), stack * width]
static graph_value stack(struct build *b, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	int64_t n = ((const struct stacked *)b->s->own)->stack;
	graph_value long_enough = op_pad(g, x, 1, 0, n - 1), frames = op_dim(g, long_enough, 1);
	graph_value whole = op_mul(g, op_div(g, frames, graph_i64(g, n)), graph_i64(g, n));
	x = op_slice_to(g, long_enough, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), whole);
	return op_reshape(g, x, 3, (int64_t[]){ 0, -1, n * width });
}

static graph_value layer(struct build *b, graph_value x, graph_value mask, graph_value cos, graph_value sin)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "attn");
	x = op_add(g, x, self_attention(b, norm(b, "layers.attn.norm", x, h), mask, cos, sin, false, true, NULL));
	graph_leave(g);
	graph_enter(g, "ffn");
	x = op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", norm(b, "layers.ffn.norm", x, h)));
	graph_leave(g);
	return x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct stacked *o = s->own;
	int64_t h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value x = linear(b, "embed.stack", stack(b, io->features, o->bins), o->stack * o->bins, h, false), cos, sin;
	graph_leave(g);
	graph_value mask = op_cast(g, op_unsqueeze(g, io->mask, 2), DTYPE_F32); // a stack counts by its first frame
	mask = op_squeeze(g, op_slice(g, stack(b, mask, 1), 2, 0, 1), 2);
	mask = mask_bidirectional(b, op_cast(g, mask, DTYPE_I64));
	rope_tables(b, x, NO_VALUE, &cos, &sin);
	x = norm(b, "embed.norm", x, h);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, mask, cos, sin);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = norm(b, "norm", x, h);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), ((const struct stacked *)b->s->own)->bins };
	io.features = graph_input(g, "input_features", DTYPE_F32, 3, shape);
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { 0 } };

const struct family stacked_sound = {
	.name = "stacked-sound",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
};
