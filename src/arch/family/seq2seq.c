// SPDX-License-Identifier: Apache-2.0
// BART and its kin, which read text: the transformer of Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762) with learned or sine
// positions (BART, https://arxiv.org/abs/1910.13461; mBART, https://arxiv.org/abs/2001.08210; Blenderbot, https://arxiv.org/abs/2004.13637;
// Pegasus, https://arxiv.org/abs/1912.08777; Marian, https://arxiv.org/abs/1804.00344; M2M-100, https://arxiv.org/abs/2010.11125; PLBART,
// https://arxiv.org/abs/2103.06333; BigBird-Pegasus with full attention, https://arxiv.org/abs/2007.14062).
//
//   ids -> tokens (* sqrt(hidden)) + positions -> (norm) -> layers -> head
#include <math.h>

#include "arch/block/seq2seq.h"

struct seq2seq_own {                 // of the whole and of both halves
	bool one_table, scaled, bias;
	int64_t eos, start, longest;         // longest: 0, or how long a text the encoder may read
};

// [seq, hidden], or [batch, seq, hidden] where padding does not count
static value positions(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct seq2seq_own *o = s->own;
	value query, key;
	decoder_places(b, io, &query, &key);
	value at = op_squeeze(g, query, 1);                                                                  // [seq]: 0, 1, .. behind the past
	bool stored = !s->traits.sine_positions || (!b->plan && weight_exists(b, "embed.position", "weight"));       // some files keep the sines
	if (stored && !s->traits.positions_from_pad) {
		if (o->longest && !io->cache && !io->memory.id) {                                            // a longer text has no position
			value table = WEIGHT(b, "embed.position", "weight", s->max_positions + s->traits.position_offset, s->hidden_size);
			return op_gather(g, op_slice(g, table, 0, 0, o->longest), at, 0);
		}
		if (s->traits.position_offset)
			at = op_add(g, at, graph_i64(g, s->traits.position_offset));
		return embedding(b, "embed.position", at, s->max_positions + s->traits.position_offset, s->hidden_size);
	}
	if (!s->traits.positions_from_pad)
		return sines(b, at, s->hidden_size, s->hidden_size / 2);
	// Tokens that are not padding are counted from pad_token_id + 1; padding is at pad_token_id, whose row is zero.
	value pad = graph_i64(g, s->pad_token_id), is_token = op_cast(g, op_not(g, op_equal(g, io->ids, pad)), DTYPE_I64);
	value count = op_cumsum(g, is_token, 1);
	if (io->cache && io->cache->past_key[0].id)
		count = op_add(g, count, op_squeeze(g, op_dim(g, io->cache->past_key[0], 2), 0));
	value y = sines(b, op_add(g, count, pad), s->hidden_size, s->hidden_size / 2 - 1);
	return op_mul(g, y, op_unsqueeze(g, op_cast(g, is_token, DTYPE_F32), 2));
}

static value embed(struct build *b, const struct body *io, bool is_decoder)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool has_norm = s->traits.embedding_norm, early = has_norm && is_decoder && s->traits.tokens_normed;
	graph_enter(g, "embed");
	value x = early ? layer_norm(b, "embed.norm", io->embeds, s->hidden_size) : io->embeds;
	x = op_add(g, x, positions(b, io));                                                                  // [batch, seq, hidden]
	if (has_norm && !early)
		x = layer_norm(b, "embed.norm", x, s->hidden_size);
	graph_leave(g);
	return x;
}

static unsigned biases(const struct build *b)
{
	return ((const struct seq2seq_own *)b->s->own)->bias ? BIAS_ALL : 0;
}

static void encode(struct build *b, struct body *io)
{
	seq2seq_layers(b, io, embed(b, io, false), false, biases(b));
}

static void decode(struct build *b, struct body *io)
{
	seq2seq_layers(b, io, embed(b, io, true), true, biases(b));
}

// Of no effect in the classes as they are: what older programs wrote, and a second spelling of encoder_layers.
static void read_inert(struct config *c)
{
	static const char *const keys[] = { "add_bias_logits", "add_final_layer_norm", "decoder_layerdrop", "do_blenderbot_90_layernorm", "encoder_layerdrop",
		"extra_layer_norm", "extra_pos_embeddings", "force_bos_token_to_be_generated", "init_std", "layernorm_variant", "normalize_before",
		"normalize_embedding", "static_position_embeddings", "unk_token_id", "variant", "smoothing", "max_length_generation", "num_random_blocks", "block_size" };
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		config_get(c, keys[i]);
	json_object_set_new(c->read, "num_hidden_layers", json_true());
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct seq2seq_own *o = ARENA_NEW(a, struct seq2seq_own);
	s->own = o;
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->layers = s->layers_in_config = config_size(c, "num_hidden_layers", -1);
	s->heads = s->kv_heads = config_size(c, "encoder_attention_heads", -1);
	s->ffn_size = config_size(c, "encoder_ffn_dim", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	s->act = config_activation(c, "activation_function", ACT_GELU);
	s->norm_eps = 1e-5;
	int64_t decoder_layers = config_size(c, "num_decoder_layers", -1), decoder_heads = config_size(c, "decoder_attention_heads", -1);
	int64_t decoder_ffn = config_size(c, "decoder_ffn_dim", -1), decoder_vocab = config_size(c, "decoder_vocab_size", s->vocab_size);
	o->scaled = config_bool(c, "scale_embedding", false);
	o->one_table = config_bool(c, "share_encoder_decoder_embeddings", true);
	o->bias = config_bool(c, "use_bias", true);
	const json_t *eos = config_get(c, "eos_token_id");
	o->eos = json_is_integer(eos) ? config_size(c, "eos_token_id", 0) : json_is_array(eos) ? json_integer_value(json_array_get(eos, 0)) : 0;
	o->start = config_get(c, "decoder_start_token_id") ? config_size(c, "decoder_start_token_id", 0) : -1;
	if (text_is(config_text(c, "attention_type"), "block_sparse"))               // up to this length it is full attention
		o->longest = (5 + 2 * config_size(c, "num_random_blocks", 3)) * config_size(c, "block_size", 64);
	read_inert(c);
	if (!config_bool(c, "is_encoder_decoder", true) || config_bool(c, "is_decoder", false) || config_bool(c, "tie_encoder_decoder", false))
		config_fail(c, STATUS_UNSUPPORTED, "a decoder by itself or halves of one set of weights are not supported yet");
	if (s->traits.positions_from_pad && s->pad_token_id < 0)
		config_fail(c, STATUS_BAD_INPUT, "pad_token_id is missing: positions count from it");
	if (c->error.status)
		return;
	if (s->heads < 1 || decoder_heads < 1 || s->hidden_size % s->heads || s->hidden_size % decoder_heads || s->layers < 1 || decoder_layers < 1
		|| s->hidden_size < 4 || s->hidden_size % 2) {
		config_fail(c, STATUS_BAD_INPUT, "%lld and %lld heads over %lld", (long long)s->heads, (long long)decoder_heads, (long long)s->hidden_size);
		return;
	}
	o->longest = o->longest < s->max_positions ? o->longest : 0;
	s->head_width = s->hidden_size / s->heads;
	s->attention_scale = 1 / sqrt((double)s->head_width);
	resolve_half(s, a, PART_ENCODER, "encoder.");
	struct spec *second = resolve_half(s, a, PART_DECODER, "decoder.");
	second->layers = second->layers_in_config = decoder_layers;
	second->heads = second->kv_heads = decoder_heads;
	second->ffn_size = decoder_ffn;
	second->vocab_size = o->one_table ? s->vocab_size : decoder_vocab;
	second->head_width = s->hidden_size / decoder_heads;
	second->attention_scale = 1 / sqrt((double)second->head_width);
	if (o->longest)
		s->max_positions = o->longest;
}

static void draw(struct build *b)
{
	const struct seq2seq_own *o = b->s->own;
	struct seq2seq f = { .encode = encode, .decode = decode, .one_table = o->one_table && b->s->tied, .head_bias = weight_named(b, "head.lm.bias"),
		.start_wraps = b->s->traits.start_wraps, .eos = o->eos, .start = o->start };
	if (o->scaled)
		f.embed_scale = (float)sqrt((double)b->s->hidden_size);
	seq2seq_draw(b, &f);
}

const struct family seq2seq = { "seq2seq", "encoder-decoder", resolve, draw, NULL, seq2seq_graphs, NULL };
