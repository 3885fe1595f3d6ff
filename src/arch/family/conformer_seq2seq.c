// SPDX-License-Identifier: Apache-2.0
// Encoder-decoders whose encoder is a conformer and whose decoder is a plain transformer with norms before its branches (Canary,
// Puvvada et al. 2024, https://arxiv.org/abs/2406.19674; Cohere Transcribe). The sounds of a batch are of one length: there is
// no mask.
//
//   mel [batch, frames, bins] -> conformer (-> linear) -+
//   ids -> tokens + positions -> norm -> layers --------+-> norm -> tokens, transposed, + bias
#include <math.h>

#include "arch/block/seq2seq.h"
#include "arch/family/conformer.h"

struct conformer_seq2seq { // of the whole and of its decoder
	const struct spec *whole;
	bool bias;
};

static void inputs(struct build *b, struct body *io)
{
	const struct spec *outer = part_enter(b, "encoder");
	conformer_inputs(b, io, false);
	part_leave(b, outer);
}

static void encode(struct build *b, struct body *io)
{
	b->s->row->family->body(b, io);
}

static void decode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct conformer_seq2seq *o = s->own;
	graph_value query, key, x;
	if (weight_named(b, "memory") && io->memory.id) {
		b->s = o->whole;
		io->memory = linear(b, "memory", io->memory, part_of(o->whole, "encoder")->hidden_size, s->hidden_size, true);
		b->s = s;
	}
	decoder_places(b, io, &query, &key);
	query = op_squeeze(g, query, 1); // [seq]
	if (weight_named(b, "embed.position"))
		x = op_gather(g, WEIGHT(b, "embed.position", "", s->max_positions, s->hidden_size), query, 0);
	else
		x = op_scale(g, sines(b, query, s->hidden_size, s->hidden_size / 2), (float)(1 / sqrt((double)s->hidden_size)));
	x = layer_norm(b, "embed.norm", op_add(g, io->embeds, x), s->hidden_size);
	seq2seq_layers(b, io, x, true, o->bias ? BIAS_ALL : 0);
}

static void logits(struct build *b, const struct body *io)
{
	const struct spec *whole = b->s, *half = part_of(whole, "decoder");
	int64_t n = half->vocab_size;
	bool tied = b->plan ? whole->tied : !weight_exists(b, "head.lm.out", "weight");
	graph_value bias = WEIGHT(b, "head.lm.out", "bias", n);
	b->s = half;
	graph_value w = WEIGHT(b, tied ? "embed.word" : "head.lm.out", "weight", n, half->hidden_size);
	b->s = whole;
	graph_output(b->g, "logits", op_linear_output(b->g, io->last, w, bias)); // [batch, seq, vocab]
}

// What the decoder says of itself: in decoder_config, or beside the encoder.
static void resolve_decoder(struct config *c, struct spec *s, struct conformer_seq2seq *o)
{
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->ffn_size = config_size(c, "intermediate_size", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	s->layers = s->layers_in_config = config_count(c, "num_hidden_layers", -1);
	s->heads = config_size(c, "num_attention_heads", -1);
	s->kv_heads = config_size(c, "num_key_value_heads", s->heads);
	s->act = config_activation(c, "hidden_act", ACT_RELU);
	s->norm_eps = 1e-5;
	s->traits.norm_first = true;
	o->bias = config_bool(c, "attention_bias", true);
	if (c->error.status)
		return;
	s->head_width = config_size(c, "head_dim", s->heads > 0 ? s->hidden_size / s->heads : 0);
	if (s->heads < 1 || s->kv_heads < 1 || s->heads % s->kv_heads || s->head_width < 1 || s->hidden_size < 4 ||
		s->hidden_size % 2 || s->layers < 1 || s->ffn_size < 1 || s->max_positions < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld heads, %lld of keys, over %lld", (long long)s->heads,
			(long long)s->kv_heads, (long long)s->hidden_size);
	s->attention_scale = 1 / sqrt((double)s->head_width);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const roots[] = { "model.", "", NULL };
	struct conformer_seq2seq *o = ARENA_NEW(a, struct conformer_seq2seq);
	const json_t *own = config_get(c, "decoder_config");
	o->whole = s;
	s->own = o;
	if (own) {
		struct config sub;
		config_open_within(&sub, c, "decoder_config", a);
		resolve_decoder(&sub, s, o);
		config_close_within(&sub, c);
	} else
		resolve_decoder(c, s, o);
	if (c->error.status)
		return;
	if (config_size(c, "vocab_size", s->vocab_size) != s->vocab_size)
		config_fail(c, STATUS_BAD_INPUT, "vocab_size is not that of decoder_config");
	conformer_resolve_encoder(c, s, a, roots);
	resolve_half(s, a, "decoder", "");
	const struct spec *encoder = part_of(s, "encoder");
	if (own && encoder && encoder->hidden_size != s->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "encoder_config.hidden_size %lld under a decoder of %lld",
			(long long)encoder->hidden_size, (long long)s->hidden_size);
}

static void build(struct build *b)
{
	struct seq2seq f = { .inputs = inputs, .encode = encode, .decode = decode, .sees_all = true };
	seq2seq_build(b, &f);
}

static const struct family_head heads[] = { { &head_conditional, logits }, { &head_model, head_give_last }, { 0 } };

const struct family conformer_seq2seq = {
	.name = "conformer-seq2seq",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.heads = heads,
};
