// SPDX-License-Identifier: Apache-2.0
// Conformers whose frames see those of their own block alone (Granite Speech, https://arxiv.org/abs/2505.08699), by learned
// vectors for each distance (Shaw et al. 2018, https://arxiv.org/abs/1803.02155). Halfway up, what a CTC head says of each frame
// goes back into it. Layers that shorten give one frame for two.
//
//   frames - linear -> layers, after half of them x + linear(softmax(head(x)))
//   layer:  x -(+ ffn / 2)-(+ attention)-(+ convolution)-(+ ffn / 2)- norm
#include "arch/family/block_conformer.h"

#include "arch/block/image.h"
#include "arch/block/sound.h"

struct blocks {
	int64_t width, block, wide, kernel; // of what comes in; frames of a block; inside convolutions
	bool ffn_bias;
	const bool *halves; // [layers]: does this layer give one frame for two
};

static const struct blocks *blocks_of(const struct build *b)
{
	return b->s->own;
}

// Which layers shorten: those that subsample_layers names, the first two where the class has the key and it is absent.
static const bool *resolve_halves(struct config *c, const struct spec *s, struct arena *a)
{
	bool *halves = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	int64_t count = 0, usual[] = { 0, 1 };
	const json_t *given = config_get(c, "subsample_layers");
	bool none = json_is_array(given) && !json_array_size(given);
	const int64_t *at = none ? NULL : config_sizes(c, "subsample_layers", a, 0, &count);
	if (!given && config_knows(c, "subsample_layers"))
		at = usual, count = 2;
	for (int64_t i = 0; at && i < count; i++)
		if (at[i] < s->layers)
			halves[at[i]] = true;
	return halves;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct blocks *o = ARENA_NEW(a, struct blocks);
	const struct block_conformer_traits *t = TRAITS_OF(s, block_conformer);
	s->own = o;
	resolve_transformer(c, s, true);
	s->norm_eps = 1e-5;
	s->act = config_activation(c, "hidden_act", ACT_SILU);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->max_positions = config_size(c, "max_position_embeddings", 512);
	int64_t times = config_size(c, "feedforward_mult", 0);
	o->width = config_size(c, "num_mel_bins", -1) * (t->stacked ? t->stacked : 1);
	o->block = config_size(c, "context_size", -1);
	o->wide = config_size(c, "conv_expansion_factor", 2) * s->hidden_size;
	o->kernel = config_size(c, "conv_kernel_size", -1);
	o->ffn_bias = config_bool(c, "attention_bias", true);
	if (c->error.status)
		return;
	s->ffn_size = times > 0 ? times * s->hidden_size : s->ffn_size;
	s->kv_heads = s->heads; // the class builds as many, whatever num_key_value_heads says
	o->halves = resolve_halves(c, s, a);
	if (o->width < 1 || o->block < 1 || o->block > s->max_positions || o->block > 1 << 12 || o->kernel < 1 || o->wide < 1 ||
		s->ffn_size < 1 || s->vocab_size < 1 || (o->kernel % 2 == 0 && !t->pointwise_kernels))
		config_fail(c, STATUS_BAD_INPUT, "%lld numbers a frame, blocks of %lld with %lld positions, kernels of %lld",
			(long long)o->width, (long long)o->block, (long long)s->max_positions, (long long)o->kernel);
}

static graph_value ffn(struct build *b, const char *norm_stem, const char *up, const char *down, graph_value x)
{
	const struct spec *s = b->s;
	bool bias = blocks_of(b)->ffn_bias;
	graph_value y = linear(b, up, layer_norm(b, norm_stem, x, s->hidden_size), s->hidden_size, s->ffn_size, bias);
	y = linear(b, down, activate(b, s->act, y), s->ffn_size, s->hidden_size, bias);
	return op_add(b->g, x, op_scale(b->g, y, 0.5f));
}

// Zeros fill up the last block: x [batch, frames, width] -> [batch * blocks, block, width]
static graph_value in_blocks(struct build *b, graph_value x, int64_t width)
{
	struct graph *g = b->g;
	int64_t n = blocks_of(b)->block;
	graph_value longer = op_pad(g, x, 1, 0, n - 1);
	graph_value whole = op_mul(g, op_div(g, op_dim(g, longer, 1), graph_i64(g, n)), graph_i64(g, n));
	x = op_slice_to(g, longer, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), whole);
	return op_reshape(g, x, 3, (int64_t[]){ -1, n, width });
}

// What queries [all, block, heads * width] meet of the distances: [all, heads, block, block]
static graph_value distances(struct build *b, graph_value q)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t n = blocks_of(b)->block, rows = 2 * s->max_positions + 1, d = s->head_width, *at;
	at = ARENA_ARRAY(graph_arena(g), (size_t)(n * n), int64_t);
	for (int64_t i = 0; i < n * n; i++)
		at[i] = i / n - i % n + s->max_positions;
	graph_value pair = graph_constant(g, DTYPE_I64, 2, (int64_t[]){ n, n }, at);
	graph_value table = op_gather(g, WEIGHT(b, "layers.attn.distance", "weight", rows, d), pair, 0); // [query, key, width]
	q = op_reshape(g, q, 4, (int64_t[]){ 0, n, s->heads, d });
	q = op_reshape(g, op_transpose(g, q, 4, (int[]){ 1, 0, 2, 3 }), 3, (int64_t[]){ n, -1, d });
	graph_value met = op_matmul(g, q, op_transpose(g, table, 3, (int[]){ 0, 2, 1 })); // [query, all * heads, key]
	return op_transpose(g, op_reshape(g, met, 4, (int64_t[]){ n, -1, s->heads, n }), 4, (int[]){ 1, 2, 0, 3 });
}

// x [batch, frames, hidden], mask [batch, frames]
static graph_value attend(struct build *b, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, wide = s->heads * s->head_width;
	graph_value frames = op_dim(g, x, 1), all = in_blocks(b, x, h), q = linear(b, "layers.attn.q", all, h, wide, false), k, v;
	if (weight_named(b, "layers.attn.kv")) {
		graph_value both = linear(b, "layers.attn.kv", all, h, 2 * wide, false);
		k = op_slice(g, both, 2, 0, wide), v = op_slice(g, both, 2, wide, 2 * wide);
	} else
		k = linear(b, "layers.attn.k", all, h, wide, false), v = linear(b, "layers.attn.v", all, h, wide, false);
	graph_value there = in_blocks(b, op_unsqueeze(g, op_cast(g, mask, DTYPE_F32), 2), 1); // [all, block, 1]
	graph_value bias = op_scale(g, distances(b, q), (float)s->attention_scale);
	bias = op_add(g, bias, mask_bidirectional(b, op_cast(g, op_squeeze(g, there, 2), DTYPE_I64)));
	graph_value y = op_attention(
		g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	y = op_slice_to(g,
		op_reshape_to(g, y,
			op_concat(g, 3,
				(graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 1, (int64_t[]){ -1 }), graph_i64s(g, 1, &wide) },
				0)),
		1, graph_i64s(g, 1, (int64_t[]){ 0 }), frames);
	graph_assume(g, y, 1, value_dim(g, x, 1));
	return linear(b, "layers.attn.o", y, wide, h, true);
}

// A linear layer of each frame, which may lie as a convolution.
static graph_value pointwise(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out)
{
	if (!TRAITS_OF(b->s, block_conformer)->pointwise_kernels)
		return linear(b, stem, x, in, out, true);
	graph_value w = op_reshape(b->g, WEIGHT(b, stem, "weight", out, in, 1), 2, (int64_t[]){ out, in });
	return op_linear(b->g, x, w, WEIGHT(b, stem, "bias", out));
}

static graph_value convolve(struct build *b, graph_value x, graph_value mask, int64_t stride)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, n = blocks_of(b)->wide, k = blocks_of(b)->kernel, one = 1, pads[] = { k / 2, (k - 1) / 2 };
	graph_value y = pointwise(b, "layers.conv.in", layer_norm(b, "layers.conv.norm", x, h), h, 2 * n);
	y = sound_zeroed(b, sound_glu(g, y, 2, n), op_cast(g, mask, DTYPE_BOOL));
	y = op_transpose(g, y, 3, (int[]){ 0, 2, 1 });
	y = op_conv(g, y, WEIGHT(b, "layers.conv.depth", "weight", n, 1, k), NO_VALUE, &stride, pads, &one, n);
	y = op_silu(g, batch_norm(b, "layers.conv.batch_norm", y, 1e-5));
	return pointwise(b, "layers.conv.out", op_transpose(g, y, 3, (int[]){ 0, 2, 1 }), n, h);
}

// Means of two: [batch, frames, width] -> [batch, frames / 2, width]
static graph_value halved(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	x = op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
	x = op_average_pool(g, x, 1, (int64_t[]){ 2 }, (int64_t[]){ 2 }, (int64_t[]){ 0, 0 }, false, false);
	return op_transpose(g, x, 3, (int[]){ 0, 2, 1 });
}

static graph_value layer(struct build *b, graph_value x, graph_value *mask)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	bool halves = blocks_of(b)->halves[b->layer];
	x = ffn(b, "layers.ffn1.norm", "layers.ffn1.up", "layers.ffn1.down", x);
	x = op_add(g, x, attend(b, layer_norm(b, "layers.attn.norm", x, h), *mask));
	graph_value y = convolve(b, x, *mask, halves ? 2 : 1);
	if (halves) {
		x = halved(b, x);
		y = op_slice_to(g, y, 1, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, x, 1));
		graph_value both = halved(b, op_unsqueeze(g, op_cast(g, *mask, DTYPE_F32), 2)); // 1 where both frames are there
		*mask = op_cast(g, op_floor(g, op_squeeze(g, both, 2)), DTYPE_I64);
	}
	graph_assume(g, y, 1, value_dim(g, x, 1));
	x = ffn(b, "layers.ffn2.norm", "layers.ffn2.up", "layers.ffn2.down", op_add(g, x, y));
	return layer_norm(b, "layers.norm", x, h);
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, n = s->vocab_size;
	graph_value x = linear(b, "embed.frame", io->features, blocks_of(b)->width, h, true), mask = io->mask;
	if (mask.id)
		x = sound_zeroed(b, x, op_cast(g, mask, DTYPE_BOOL));
	else { // all are there
		graph_value none = op_slice(g, op_scale(g, x, 0), 2, 0, 1);
		mask = op_cast(g, op_squeeze(g, op_exp(g, none), 2), DTYPE_I64);
	}
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &mask);
		if (b->layer + 1 == s->layers / 2) {
			graph_value said = op_softmax(g, linear(b, "said", x, h, n, true), -1);
			x = op_add(g, x, linear(b, "said.back", said, n, h, true));
		}
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

void block_conformer_inputs(struct build *b, struct body *io, const char *batch)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, batch), graph_symbol(g, "frames"), blocks_of(b)->width };
	io->features = graph_input(g, "input_features", DTYPE_F32, 3, shape);
	if (!TRAITS_OF(b->s, block_conformer)->unmasked)
		io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
}

static void build(struct build *b)
{
	struct body io = { 0 };
	block_conformer_inputs(b, &io, "batch");
	body(b, &io);
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_encoder }, { &head_model, head_give_last }, { 0 } };

const struct family block_conformer = {
	.name = "block-conformer",
	.architecture = "audio",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(block_conformer, BLOCK_CONFORMER_TRAITS),
};

// ---- with a head that gives letters -------------------------------------------------------------------------------------

static void resolve_ctc(struct config *c, struct spec *s, struct arena *a)
{
	struct spec *encoder =
		resolve_part(c, s, a, "encoder", "encoder_config", NULL, NULL, (const char *const[]){ "encoder.", NULL });
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->tied = config_bool(c, "tie_word_embeddings", true);
	resolve_refusals(c, s);
	if (encoder && part_is_usual(c, s, "encoder") && encoder->vocab_size != s->vocab_size)
		config_fail(c, STATUS_BAD_INPUT, "vocab_size should be the encoder's, %lld", (long long)encoder->vocab_size);
}

static void build_ctc(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { 0 };
	const struct spec *outer = part_enter(b, "encoder");
	int64_t h = b->s->hidden_size, n = outer->vocab_size;
	graph_value logits = NO_VALUE;
	block_conformer_inputs(b, &io, "batch");
	body(b, &io);
	if (outer->tied)
		logits = linear(b, "said", io.last, h, n, true);
	part_leave(b, outer);
	graph_output(g, "logits", outer->tied ? logits : linear(b, "head.ctc", io.last, h, n, true)); // [batch, frames, vocab]
}

static const struct family_head ctc_heads[] = { { &head_ctc }, { 0 } };

const struct family block_conformer_ctc = {
	.name = "block-conformer-ctc",
	.architecture = "audio",
	.resolve = resolve_ctc,
	.build = build_ctc,
	.heads = ctc_heads,
};
