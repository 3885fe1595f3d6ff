// SPDX-License-Identifier: Apache-2.0
// BART and its kin, which read text: the transformer of Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762) with learned or
// sine positions (BART, https://arxiv.org/abs/1910.13461; mBART, https://arxiv.org/abs/2001.08210; Blenderbot,
// https://arxiv.org/abs/2004.13637; Pegasus, https://arxiv.org/abs/1912.08777; Marian, https://arxiv.org/abs/1804.00344; M2M-100,
// https://arxiv.org/abs/2010.11125; PLBART, https://arxiv.org/abs/2103.06333; BigBird-Pegasus with full attention,
// https://arxiv.org/abs/2007.14062).
//
//   ids -> tokens (* sqrt(hidden)) + positions -> (norm) -> layers -> head
#include <math.h>

#include "arch/block/seq2seq.h"
#include "arch/family/seq2seq.h"

struct seq2seq_own { // of the whole and of both halves
	bool one_table, scaled, bias;
	bool pads_masked;            // the decoder does not look at padding
	int64_t source;              // a decoder by itself: the width of what it looks at; 0: there is an encoder
	int64_t eos, start, longest; // longest: 0, or how long a text the encoder may read
};

// [seq, hidden], or [batch, seq, hidden] where padding does not count
static graph_value positions(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct seq2seq_own *o = s->own;
	graph_value query, key;
	decoder_places(b, io, &query, &key);
	graph_value at = op_squeeze(g, query, 1); // [seq]: 0, 1, .. after the past
	bool stored = !TRAITS_OF(s, seq2seq)->sine_positions ||
		(!b->plan && weight_exists(b, "embed.position", "weight")); // some files keep the sines
	if (stored && !s->traits.positions_from_pad) {
		if (o->longest && !io->cache && !io->memory.id) { // a longer text has no position
			graph_value table = WEIGHT(
				b, "embed.position", "weight", s->max_positions + s->traits.position_offset, s->hidden_size);
			return op_gather(g, op_slice(g, table, 0, 0, o->longest), at, 0);
		}
		if (s->traits.position_offset)
			at = op_add(g, at, graph_i64(g, s->traits.position_offset));
		return embedding(b, "embed.position", at, s->max_positions + s->traits.position_offset, s->hidden_size);
	}
	if (s->traits.positions_from_pad && !b->plan && weight_exists(b, "embed.position", "weight")) {
		graph_value place = positions_from_pad(b, io->ids); // [batch, seq]
		if (io->cache && io->cache->past_key[0].id)
			place = op_add(g, place, op_squeeze(g, op_dim(g, io->cache->past_key[0], 2), 0));
		return embedding(b, "embed.position", place, s->max_positions + s->pad_token_id + 1, s->hidden_size);
	}
	if (!s->traits.positions_from_pad)
		return sines(b, at, s->hidden_size, s->hidden_size / 2 - (TRAITS_OF(s, seq2seq)->sine_positions == 2));
	return sines_of_tokens(b, io, op_not(g, op_equal(g, io->ids, graph_i64(g, s->pad_token_id))));
}

static graph_value embed(struct build *b, const struct body *io, bool is_decoder)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool has_norm = s->traits.embedding_norm, early = has_norm && is_decoder && TRAITS_OF(s, seq2seq)->tokens_normed;
	graph_enter(g, "embed");
	graph_value x = early ? layer_norm(b, "embed.norm", io->embeds, s->hidden_size) : io->embeds;
	x = op_add(g, x, positions(b, io)); // [batch, seq, hidden]
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
	struct graph *g = b->g;
	if (((const struct seq2seq_own *)b->s->own)->pads_masked && !io->cache)
		io->mask = op_cast(g, op_not(g, op_equal(g, io->ids, graph_i64(g, b->s->pad_token_id))), DTYPE_I64);
	seq2seq_layers(b, io, embed(b, io, true), true, biases(b));
}

// Of a decoder beside an encoder of another type.
static void resolve_part_keys(struct config *c)
{
	static const char *const must_be_true[] = { "is_decoder", "add_cross_attention" };
	for (size_t i = 0; i < 2; i++)
		if (!config_bool(c, must_be_true[i], true))
			config_fail(c, STATUS_UNSUPPORTED, "%s: false is not supported of a decoder beside an encoder",
				must_be_true[i]);
	if (config_bool(c, "is_encoder_decoder", false))
		config_fail(c, STATUS_UNSUPPORTED, "is_encoder_decoder: true is not supported of a decoder beside an encoder");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct seq2seq_own *o = ARENA_NEW(a, struct seq2seq_own);
	bool is_part = head_reads_memory(s);
	struct halves_sizes h = { .alone = TRAITS_OF(s, seq2seq)->decoder_alone || is_part };
	s->own = o;
	if (!s->head || (is_part && TRAITS_OF(s, seq2seq)->head_in_body)) {
		config_fail(
			c, STATUS_UNSUPPORTED, "the model type %s is not supported yet as a part of another", s->row->model_type);
		return;
	}
	if (h.alone ? !s->head->predicts_next && !s->head->bare
		    : s->head->predicts_next) // alone: there is no class without the head
		head_refused(c, s);
	resolve_halves_sizes(c, s, &h);
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	o->scaled = config_bool(c, "scale_embedding", false);
	o->one_table = config_bool(c, "share_encoder_decoder_embeddings", !TRAITS_OF(s, seq2seq)->head_in_body);
	// That class hides padding from a decoder without a cache only.
	o->pads_masked = TRAITS_OF(s, seq2seq)->head_in_body && !config_bool(c, "use_cache", true);
	int64_t decoder_vocab = config_size(c, "decoder_vocab_size", s->vocab_size);
	h.vocab_size = o->one_table ? s->vocab_size : decoder_vocab;
	o->bias = config_bool(c, "use_bias", true);
	s->global_tokens = config_count(c, "num_global_tokens", 0);
	if (s->global_tokens) {
		o->bias = false;
		s->token_block = config_size(c, "token_block", 512);
		s->staggered = config_bool(c, "stagger_local_blocks", true);
		if (s->token_block < 1 || (s->staggered && s->token_block % 2))
			config_fail(c, STATUS_BAD_INPUT, "block_size %lld should be even", (long long)s->token_block);
	}
	const json_t *eos = config_get(c, "eos_token_id");
	o->eos = json_is_integer(eos) ? config_size(c, "eos_token_id", 0)
		: json_is_array(eos)  ? json_integer_value(json_array_get(eos, 0))
				      : 0;
	o->start = config_get(c, "decoder_start_token_id") ? config_size(c, "decoder_start_token_id", 0) : -1;
	const char *attention = config_text(c, "attention_type");
	int64_t reach = (5 + 2 * config_size(c, "num_random_blocks", 3)) * config_size(c, "block_size", 64);
	if (text_is(attention, "block_sparse") && reach < s->max_positions) // up to this length it is full attention
		o->longest = reach;
	else if (attention && !text_is(attention, "original_full") && !text_is(attention, "block_sparse"))
		config_fail(c, STATUS_UNSUPPORTED, "attention_type %s is not supported yet", attention);
	if (config_bool(c, "use_prompt", false))
		config_fail(c, STATUS_UNSUPPORTED, "use_prompt: true is not supported yet");
	if (s->traits.positions_from_pad && s->pad_token_id < 0)
		config_fail(c, STATUS_BAD_INPUT, "pad_token_id is missing: positions count from it");
	if (json_object_size(config_get(c, "pruned_heads")))
		config_fail(c, STATUS_UNSUPPORTED, "pruned heads are not supported yet");
	if (is_part)
		resolve_part_keys(c);
	if (h.alone) {
		o->source = config_size(c, "cross_attention_hidden_size", s->hidden_size);
		o->one_table = false;
	}
	if (TRAITS_OF(s, seq2seq)->decoder_alone) {
		bool learned = config_knows(c, "use_learned_position_embeddings");
		s->traits.embedding_norm = config_bool(c, "layernorm_embedding", has_word(s, "embed.norm"));
		s->traits.positions_from_pad = !config_bool(c, "use_learned_position_embeddings", learned);
		if (s->traits.positions_from_pad && s->pad_token_id < 0)
			config_fail(c, STATUS_BAD_INPUT, "pad_token_id is missing: positions count from it");
	}
	s->attention_windows = resolve_attention_windows(c, s, a);
	if (config_size(c, "encoder_sparse_step", 0) || config_size(c, "decoder_sparse_step", 0))
		config_fail(c, STATUS_UNSUPPORTED, "layers with experts are not supported yet");
	if (c->error.status)
		return;
	resolve_halves(s, a, &h);
	if (!h.alone)
		((struct spec *)part_of(s, "decoder"))->max_positions = config_size(c, "max_decoder_positions", s->max_positions);
	if (o->longest)
		s->max_positions = o->longest; // what may be asked of it
}

static void source_with_global(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	io->blocks = graph_input(g, "global_attention_mask", DTYPE_I64, 2, shape);
}

struct seq2seq seq2seq_halves(const struct build *b)
{
	const struct seq2seq_own *o = b->s->own;
	struct seq2seq f = { .encode = encode,
		.decode = decode,
		.one_table = o->one_table && b->s->tied,
		.head_in_body = TRAITS_OF(b->s, seq2seq)->head_in_body,
		.head_bias = weight_named(b, "head.lm.bias") && !b->s->head->reads_memory,
		.source_size = o->source,
		.source_masked = TRAITS_OF(b->s, seq2seq)->source_masked,
		.start_wraps = TRAITS_OF(b->s, seq2seq)->start_wraps,
		.eos = o->eos,
		.start = o->start };
	if (b->s->attention_windows)
		f.inputs = source_with_global;
	if (o->scaled)
		f.embed_scale = (float)sqrt((double)b->s->hidden_size);
	return f;
}

static void build(struct build *b)
{
	struct seq2seq f = seq2seq_halves(b);
	seq2seq_build(b, &f);
}

// The decoder as a part.
static void body(struct build *b, struct body *io)
{
	struct seq2seq *f = ARENA_NEW(graph_arena(b->g), struct seq2seq);
	*f = seq2seq_halves(b);
	seq2seq_run(b, f, "decoder", io);
	io->own = f;
}

const struct family seq2seq = {
	.name = "seq2seq",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.body = body,
	.halves = seq2seq_halves,
	.graphs = seq2seq_graphs,
	.heads = seq2seq_heads,
	.traits = FAMILY_TRAIT_LIST(seq2seq, SEQ2SEQ_TRAITS),
};
