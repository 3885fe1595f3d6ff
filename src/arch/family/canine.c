// SPDX-License-Identifier: Apache-2.0
// CANINE (Clark et al. 2021, https://arxiv.org/abs/2103.06874): characters by their code points, through several hashes of each.
// A layer that looks within blocks, a convolution that makes one state of several characters, BERT's layers over those, and a
// last layer over characters again.
//
//   ids -> hashes + types + positions - norm - local layer -+- convolution - norm -> layers -> repeated -+- convolution
//                                                           +--------------------------------------------+  - norm - layer
#include <float.h>
#include <math.h>

#include "arch/block/block.h"

static const int64_t primes[] = { 31, 43, 59, 61, 73, 97, 103, 113, 137, 149, 157, 173, 181, 193, 211, 223 };
enum { HASHES_MOST = sizeof primes / sizeof primes[0], CODE_POINTS = 0x110000 };

struct canine {
	int64_t hashes, buckets, rate, kernel, block;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct canine *o = s->own = ARENA_NEW(a, struct canine);
	resolve_transformer(c, s, true);
	s->vocab_size = CODE_POINTS;
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	s->type_vocab_size = config_size(c, "type_vocab_size", 16);
	*o = (struct canine){ .hashes = config_count(c, "num_hash_functions", 8),
		.buckets = config_size(c, "num_hash_buckets", 16384),
		.rate = config_count(c, "downsampling_rate", 4),
		.kernel = config_count(c, "upsampling_kernel_size", 4),
		.block = config_size(c, "local_transformer_stride", 128) };
	if (!c->error.status &&
		(o->hashes < 1 || o->hashes > HASHES_MOST || s->hidden_size % o->hashes || o->buckets < 1 || o->rate < 1 ||
			o->kernel < 1 || o->block < 1 || s->ffn_size < 1 || s->type_vocab_size < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld hashes of %lld buckets over %lld, %lld characters a state",
			(long long)o->hashes, (long long)o->buckets, (long long)s->hidden_size, (long long)o->rate);
	if (s->max_positions > o->buckets) // the table of positions is as long as those of hashes
		s->max_positions = o->buckets;
}

static graph_value embed(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct canine *o = s->own;
	graph_value part[HASHES_MOST], one = graph_i64(g, 1), at = places_of(g, io->ids);
	for (b->item = 0; b->item < o->hashes; b->item++) {
		graph_value bucket = op_mul(g, op_add(g, io->ids, one), graph_i64(g, primes[b->item]));
		bucket = op_mod(g, bucket, graph_i64(g, o->buckets));
		part[b->item] = embedding(b, "embed.hash", bucket, o->buckets, s->hidden_size / o->hashes);
	}
	graph_value x = op_concat(g, (int)o->hashes, part, 2);
	x = op_add(g, x,
		io->types.id ? embedding(b, "embed.type", io->types, s->type_vocab_size, s->hidden_size)
			     : op_slice(g, WEIGHT(b, "embed.type", "weight", s->type_vocab_size, s->hidden_size), 0, 0, 1));
	x = op_add(g, x, embedding(b, "embed.position", at, o->buckets, s->hidden_size));
	return layer_norm(b, "embed.norm", x, s->hidden_size);
}

// Within blocks, [batch, 1, seq, seq]. Of a block of nothing but padding all of it is seen, and nothing of the others.
static graph_value mask_blocks(struct build *b, graph_value mask)
{
	struct graph *g = b->g;
	graph_value number = op_div(g, places_of(g, mask), graph_i64(g, ((const struct canine *)b->s->own)->block));
	graph_value same = op_equal(g, op_unsqueeze(g, number, 1), op_unsqueeze(g, number, 0));
	graph_value token = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, mask, DTYPE_BOOL), 1), 1);
	graph_value within = op_where(g, token, graph_f32(g, 0), graph_f32(g, -FLT_MAX / 2));
	return op_where(g, same, within, graph_f32(g, -FLT_MAX));
}

// BERT's, of the encoder of this name
static graph_value layers(struct build *b, const char *name, graph_value x, graph_value bias, int64_t count)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	b->item_name = name;
	graph_enter(g, "%s", name);
	for (b->layer = 0; b->layer < count && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = self_attention(b, x, bias, NO_VALUE, NO_VALUE, true, true, NULL);
		x = layer_norm(b, "layers.attn.norm", op_add(g, y, x), h);
		y = activate(b, s->act, linear(b, "layers.ffn.up", x, h, s->ffn_size, true));
		x = layer_norm(b, "layers.ffn.norm", op_add(g, linear(b, "layers.ffn.down", y, s->ffn_size, h, true), x), h);
		graph_leave(g);
	}
	graph_leave(g);
	return x;
}

// STEM.conv along the text, x [batch, seq, in] -> [batch, places, hidden], and an activation
static graph_value convolved(struct build *b, const char *stem, graph_value x, int64_t kernel, int64_t stride)
{
	struct graph *g = b->g;
	const int64_t none[] = { 0, 0 }, one = 1, in = value_dim(g, x, 2), h = b->s->hidden_size;
	x = op_conv(g, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), WEIGHT(b, stem, "weight", h, in, kernel),
		WEIGHT(b, stem, "bias", h), &stride, none, &one, 1);
	return activate(b, b->s->act, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct canine *o = s->own;
	int64_t h = s->hidden_size;
	const int64_t none[] = { 0, 0 };
	graph_value chars = layers(b, "initial_char_encoder", embed(b, io), mask_blocks(b, io->mask), 1);
	graph_value x = op_slice(g, convolved(b, "down", chars, o->rate, o->rate), 1, 0, -1);
	x = layer_norm(b, "down.norm", op_concat(g, 2, (graph_value[]){ op_slice(g, chars, 1, 0, 1), x }, 1), h);
	graph_value mask = op_unsqueeze(g, op_cast(g, io->mask, DTYPE_F32), 1);
	mask = op_squeeze(g, op_max_pool(g, mask, 1, &o->rate, &o->rate, none, false), 1);
	x = layers(b, "encoder", x, mask_bidirectional(b, mask), s->layers);
	io->pooled = op_tanh(g, linear(b, "pooler", first_token(b, x), h, h, true));
	// Each character the state behind its own, the last ones the last
	graph_value behind = op_add(g, op_div(g, places_of(g, io->ids), graph_i64(g, o->rate)), graph_i64(g, 1));
	graph_value last = op_sub(g, op_squeeze(g, op_dim(g, x, 1), 0), graph_i64(g, 1));
	x = op_concat(g, 2, (graph_value[]){ chars, op_gather(g, x, op_min(g, behind, last), 1) }, 2);
	x = op_pad(g, x, 1, (o->kernel - 1) / 2, o->kernel - 1 - (o->kernel - 1) / 2);
	x = convolved(b, "up", x, o->kernel, 1);
	graph_assume(g, x, 1, value_dim(g, io->ids, 1));
	x = layers(b, "final_char_encoder", layer_norm(b, "up.norm", x, h), mask_bidirectional(b, io->mask), 1);
	io->last = x;
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) };
	b->ids = io.ids;
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	if (b->s->type_vocab_size > 1)
		io.types = graph_input(g, "token_type_ids", DTYPE_I64, 2, shape);
	body(b, &io);
	head_build(b, &io);
}

static void classify(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", linear(b, "head.sequence", io->pooled, b->s->hidden_size, b->s->labels, true));
}

static const struct family_head heads[] = {
	{ &head_model, head_give_states },
	{ &head_sequence, classify },
	{ &head_token },
	{ &head_span },
	{ 0 },
};

const struct family canine = {
	.name = "canine",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
