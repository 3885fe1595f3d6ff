// SPDX-License-Identifier: Apache-2.0
// Dia (Nari Labs 2025, https://github.com/nari-labs/dia): text to the words of a sound codec, of which each place has one from
// each of several channels. Both halves have rotary positions, RMS norms before each branch and a gated feed-forward; scores are
// not scaled.
//
//   text -> tokens -> layers -> norm -+
//          sum of a place's words -> layers, which look at that -> norm -> linear -> [batch * channels, seq, words]
//
// There is no loop of generation here: words of a place are taken at different steps (delay_pattern).
#include "arch/block/seq2seq.h"

struct dia {
	int64_t channels, words;
	struct heads cross; // of the decoder's attention to the encoder
};

static struct spec *resolve_one(struct config *c, struct spec *s, struct arena *a, const char *part, const char *within)
{
	struct spec *d = resolve_half(s, a, part, within);
	d->hidden_size = d->embedding_size = config_size(c, "hidden_size", -1);
	d->layers = d->layers_in_config = config_count(c, "num_hidden_layers", -1);
	d->heads = config_size(c, "num_attention_heads", -1);
	d->kv_heads = config_size(c, "num_key_value_heads", d->heads);
	d->head_width = config_size(c, "head_dim", d->heads > 0 ? d->hidden_size / d->heads : 0);
	d->ffn_size = config_size(c, "intermediate_size", -1);
	d->vocab_size = config_size(c, "vocab_size", -1);
	d->max_positions = config_size(c, "max_position_embeddings", -1);
	d->norm_eps = config_real(c, "norm_eps", 1e-5);
	d->act = config_activation(c, "hidden_act", ACT_SILU);
	d->attention_scale = 1;
	if (c->error.status)
		return d;
	if (d->hidden_size < 1 || d->layers < 1 || d->heads < 1 || d->kv_heads < 1 || d->heads % d->kv_heads ||
		d->head_width < 2 || d->head_width % 2 || d->ffn_size < 1 || d->vocab_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld, %lld of keys, over %lld", (long long)d->heads,
			(long long)d->head_width, (long long)d->kv_heads, (long long)d->hidden_size);
	else
		resolve_rope(c, d, a);
	return d;
}

static void resolve_decoder(struct config *c, struct spec *s, struct arena *a)
{
	struct dia *o = s->own;
	struct config sub;
	config_open_within(&sub, c, "decoder_config", a);
	struct spec *d = resolve_one(&sub, s, a, "decoder", "decoder.");
	o->channels = config_count(&sub, "num_channels", 9);
	o->words = d->vocab_size;
	o->cross = (struct heads){ config_size(&sub, "cross_num_attention_heads", -1),
		config_size(&sub, "cross_num_key_value_heads", -1), config_size(&sub, "cross_head_dim", -1), 0 };
	int64_t from = part_of(s, "encoder")->hidden_size, said = config_size(&sub, "cross_hidden_size", from);
	bool bad = o->channels < 1 || o->cross.heads < 1 || o->cross.kv_heads < 1 || o->cross.heads % o->cross.kv_heads ||
		o->cross.width < 1 || said != from;
	if (!sub.error.status && bad)
		config_fail(&sub, STATUS_BAD_INPUT, "%lld channels, %lld heads of %lld to states of %lld", (long long)o->channels,
			(long long)o->cross.heads, (long long)o->cross.width, (long long)said);
	config_close_within(&sub, c);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct config sub;
	s->own = ARENA_NEW(a, struct dia);
	config_open_within(&sub, c, "encoder_config", a);
	const struct spec *text = resolve_one(&sub, s, a, "encoder", "encoder.");
	config_close_within(&sub, c);
	if (c->error.status)
		return;
	resolve_decoder(c, s, a);
	const struct spec *sound = part_of(s, "decoder");
	s->hidden_size = sound->hidden_size;
	s->vocab_size = text->vocab_size < sound->vocab_size ? text->vocab_size : sound->vocab_size;
	s->max_positions = text->max_positions < sound->max_positions ? text->max_positions : sound->max_positions;
}

static graph_value cross_attention(struct build *b, graph_value x, graph_value memory, graph_value bias)
{
	const struct dia *o = b->s->own;
	const struct heads *n = &o->cross;
	int64_t h = b->s->hidden_size, from = value_dim(b->g, memory, 2);
	struct attention a = { .bias = bias, .heads = n->heads, .kv_heads = n->kv_heads, .scale = 1 };
	a.q = linear(b, "layers.cross.q", x, h, n->heads * n->width, false);
	a.k = linear(b, "layers.cross.k", memory, from, n->kv_heads * n->width, false);
	a.v = linear(b, "layers.cross.v", memory, from, n->kv_heads * n->width, false);
	return linear(b, "layers.cross.o", op_attention(b->g, &a), n->heads * n->width, h, false);
}

// Either half: x [batch, seq, hidden]; io->memory and memory_mask where it is the decoder
static graph_value stack(struct build *b, const struct body *io, graph_value x, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	struct attention_extras e = { .bias = bias };
	graph_value memory_bias = io->memory.id ? mask_bidirectional(b, io->memory_mask) : NO_VALUE;
	rope_tables(b, x, NO_VALUE, &e.cos, &e.sin);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = rms_norm(b, "layers.attn.norm", x, h);
		x = op_add(g, x, self_attention_with(b, y, &e, false, false, NULL));
		if (io->memory.id) {
			y = rms_norm(b, "layers.cross.norm", x, h);
			x = op_add(g, x, cross_attention(b, y, io->memory, memory_bias));
		}
		y = rms_norm(b, io->memory.id ? "layers.last.norm" : "layers.ffn.norm", x, h);
		x = op_add(g, x, ffn_of(b, "layers.ffn", y, s->ffn_size, false));
		graph_leave(g);
	}
	return rms_norm(b, "norm", x, h);
}

// The sum of a place's words; those of all channels are in one table. ids [batch, seq, channels]
static graph_value embed(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct dia *o = b->s->own;
	int64_t *begin = GRAPH_TABLE(g, NULL, o->channels, 1, int64_t);
	for (int64_t i = 0; begin && i < o->channels; i++)
		begin[i] = i * o->words;
	ids = op_add(g, ids, graph_constant(g, DTYPE_I64, 1, &o->channels, begin));
	graph_value table = WEIGHT(b, "embed.codes", "weight", o->channels * o->words, b->s->hidden_size);
	return op_reduce_sum(g, op_gather(g, table, ids, 0), 2, false);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct dia *o = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), shape[] = { batch, graph_symbol(g, "sequence") };
	graph_value ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape), query, key;
	struct body text = { .mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape) }, io = { 0 };
	io.ids = graph_input(
		g, "decoder_input_ids", DTYPE_I64, 3, (int64_t[]){ batch, graph_symbol(g, "decoder_sequence"), o->channels });
	graph_enter(g, "encoder");
	const struct spec *whole = part_enter(b, "encoder");
	graph_value x = embedding(b, "embed.word", ids, b->s->vocab_size, b->s->hidden_size);
	io.memory = stack(b, &text, x, mask_bidirectional(b, text.mask));
	io.memory_mask = text.mask;
	part_leave(b, whole);
	graph_leave(g);
	graph_enter(g, "decoder");
	part_enter(b, "decoder");
	io.embeds = embed(b, io.ids);
	decoder_places(b, &io, &query, &key);
	io.last = stack(b, &io, io.embeds, causal_bias(b, query, key));
	part_leave(b, whole);
	graph_leave(g);
	head_build(b, &io);
	graph_output(g, "encoder_last_hidden_state", io.memory);
}

static void give_logits(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct dia *o = b->s->own;
	graph_value x = linear(b, "head.lm.codes", io->last, b->s->hidden_size, o->channels * o->words, false);
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, o->channels, o->words });
	x = op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 });
	graph_value shape[] = { graph_i64s(g, 1, (int64_t[]){ -1 }), op_dim(g, io->last, 1), graph_i64s(g, 1, &o->words) };
	x = op_reshape_to(g, x, op_concat(g, 3, shape, 0));
	graph_assume(g, x, 1, value_dim(g, io->last, 1));
	graph_output(g, "logits", x);
}

static const struct family_head heads[] = {
	{ &head_conditional, give_logits },
	{ &head_model, head_give_last },
	{ 0 },
};

const struct family dia = {
	.name = "dia",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
