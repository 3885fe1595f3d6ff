// SPDX-License-Identifier: Apache-2.0
// MusicGen (Copet et al. 2023, https://arxiv.org/abs/2306.05284): a text encoder, and a decoder of a codec's words, of which each
// place has one from each codebook. MusicGen Melody has a sound's chroma and the text before the decoder's own places, and no
// attention to the encoder. The codec itself is no part of the graph.
//
//   text -> encoder -> (linear) * mask -+
//             sum of codewords + sines -> layers, which look at that -> norm -> a head for each codebook
//   melody:  chroma, repeated -> (linear), text, sum of codewords  + sines -> layers -> norm -> heads
//
// decoder_input_ids and logits have a row for each codebook of each text: [batch * codebooks, seq, ..]. There is no loop of
// generation here: words of a place are taken at different steps.
#include <math.h>

#include "arch/block/seq2seq.h"

struct musicgen {
	int64_t codebooks, codes;
	int64_t chroma, chroma_length; // chroma 0: none
	bool projects;                 // the text's states, to the decoder's width
};

static void resolve_decoder(struct config *c, struct spec *s, struct arena *a)
{
	struct musicgen *o = s->own;
	struct config sub;
	config_open_within(&sub, c, "decoder", a);
	const struct spec *text = part_of(s, "encoder");
	struct spec *d = resolve_half(s, a, "decoder", "decoder.model.decoder.");
	d->hidden_size = d->embedding_size = config_size(&sub, "hidden_size", -1);
	d->layers = d->layers_in_config = config_count(&sub, "num_hidden_layers", -1);
	d->heads = d->kv_heads = config_size(&sub, "num_attention_heads", -1);
	d->ffn_size = config_size(&sub, "ffn_dim", -1);
	d->act = config_activation(&sub, "activation_function", ACT_GELU);
	d->norm_eps = 1e-5;
	d->traits.norm_first = true;
	o->codes = config_size(&sub, "vocab_size", -1);
	o->codebooks = config_count(&sub, "num_codebooks", 4);
	bool as_wide = config_size(&sub, "cross_attention_hidden_size", 0) > 0;
	bool bad = d->hidden_size < 4 || d->hidden_size % 2 || d->heads < 1 || d->hidden_size % d->heads || d->layers < 1 ||
		d->ffn_size < 1 || o->codes < 1 || o->codebooks < 1;
	if (!sub.error.status && bad)
		config_fail(&sub, STATUS_BAD_INPUT, "%lld heads over %lld, %lld codebooks of %lld", (long long)d->heads,
			(long long)d->hidden_size, (long long)o->codebooks, (long long)o->codes);
	config_close_within(&sub, c);
	if (c->error.status)
		return;
	d->head_width = d->hidden_size / d->heads;
	d->attention_scale = 1 / sqrt((double)d->head_width);
	d->vocab_size = o->codes + 1;
	o->projects = text->hidden_size != d->hidden_size && !as_wide;
	s->hidden_size = d->hidden_size;
	s->vocab_size = text->vocab_size < d->vocab_size ? text->vocab_size : d->vocab_size;
	s->pad_token_id = text->pad_token_id;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const roots[] = { "text_encoder.", NULL }, *const codec[] = { "audio_encoder.*", NULL };
	struct musicgen *o = s->own = ARENA_NEW(a, struct musicgen);
	s->unused = codec;
	if (!resolve_part(c, s, a, "encoder", "text_encoder", NULL, &head_encoder, roots) || !part_is_usual(c, s, "encoder"))
		return;
	if (config_knows(c, "num_chroma")) {
		o->chroma = config_size(c, "num_chroma", 12);
		o->chroma_length = config_size(c, "chroma_length", 235);
		if (!c->error.status && (o->chroma < 1 || o->chroma_length < 1))
			config_fail(c, STATUS_BAD_INPUT, "num_chroma %lld, chroma_length %lld", (long long)o->chroma,
				(long long)o->chroma_length);
	}
	if (!c->error.status)
		resolve_decoder(c, s, a);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct musicgen *o = s->own;
	out->symbols[0] = (struct input_symbol){ "code_rows", o->codebooks, true };
	out->symbols[1] = (struct input_symbol){ "frames", 8, false };
}

// What is heard, again and again until it is long enough: [batch, frames, chroma] -> [batch, chroma_length, hidden]
static graph_value heard(struct build *b)
{
	struct graph *g = b->g;
	const struct musicgen *o = b->s->own;
	int64_t h = b->s->hidden_size, *at = GRAPH_TABLE(g, NULL, o->chroma_length, 1, int64_t);
	for (int64_t i = 0; at && i < o->chroma_length; i++)
		at[i] = i;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "frames"), o->chroma };
	graph_value x = graph_input(g, "input_features", DTYPE_F32, 3, shape);
	graph_value place = op_mod(g, graph_constant(g, DTYPE_I64, 1, &o->chroma_length, at), op_dim(g, x, 1));
	x = o->chroma == h ? x : linear(b, "project.sound", x, o->chroma, h, true);
	return op_gather(g, x, place, 1);
}

// The text's states as the decoder takes them; padding is 0.
static graph_value remembered(struct build *b, const struct body *text)
{
	struct graph *g = b->g;
	const struct musicgen *o = b->s->own;
	graph_value x = text->last, mask = op_unsqueeze(g, op_cast(g, text->mask, DTYPE_F32), 2);
	if (o->projects)
		x = linear(b, "project.text", x, part_of(b->s, "encoder")->hidden_size, b->s->hidden_size, true);
	return op_mul(g, x, mask);
}

// ids [batch * codebooks, seq] -> [batch, seq, hidden], the sum of a place's words
static graph_value embed(struct build *b, graph_value ids)
{
	struct graph *g = b->g;
	const struct musicgen *o = b->s->own;
	graph_value x = NO_VALUE;
	graph_value seq = op_dim(g, ids, 1), shape[] = { graph_i64s(g, 2, (int64_t[]){ -1, o->codebooks }), seq };
	graph_value rows = op_reshape_to(g, ids, op_concat(g, 2, shape, 0));
	graph_assume(g, rows, 0, graph_symbol(g, "batch"));
	graph_assume(g, rows, 2, value_dim(g, ids, 1));
	for (b->layer = 0; b->layer < o->codebooks && !graph_failed(g); b->layer++) {
		graph_value one = op_squeeze(g, op_slice(g, rows, 1, b->layer, b->layer + 1), 1);
		graph_value y = embedding(b, "embed.codes", one, o->codes + 1, b->s->hidden_size);
		x = x.id ? op_add(g, x, y) : y;
	}
	return x;
}

static void decode(struct build *b, struct body *io, graph_value before)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "embed");
	graph_value x = embed(b, io->ids);
	if (before.id)
		x = op_concat(g, 2, (graph_value[]){ before, x }, 1);
	graph_value at = sines(b, places_of(g, x), h, h / 2 - 1); // here the cosines come first
	at = op_concat(g, 2, (graph_value[]){ op_slice(g, at, 1, h / 2, h), op_slice(g, at, 1, 0, h / 2) }, 1);
	io->embeds = op_add(g, x, at);
	graph_leave(g);
	seq2seq_layers(b, io, io->embeds, true, FFN_NO_BIAS);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct musicgen *o = b->s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body text = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape),
		.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape) };
	graph_value sound = o->chroma ? heard(b) : NO_VALUE;
	graph_enter(g, "encoder");
	const struct spec *whole = part_enter(b, "encoder");
	b->s->row->family->body(b, &text);
	part_leave(b, whole);
	graph_leave(g);
	graph_value memory = remembered(b, &text);
	struct body io = { .ids = graph_input(g, "decoder_input_ids", DTYPE_I64, 2,
				   (int64_t[]){ graph_symbol(g, "code_rows"), graph_symbol(g, "decoder_sequence") }) };
	if (o->chroma)
		memory = op_concat(g, 2, (graph_value[]){ sound, memory }, 1);
	else {
		io.memory = memory;
		io.memory_mask = text.mask;
	}
	graph_enter(g, "decoder");
	part_enter(b, "decoder");
	decode(b, &io, o->chroma ? memory : NO_VALUE);
	part_leave(b, whole);
	graph_leave(g);
	head_build(b, &io);
	if (o->chroma)
		graph_output(g, "encoder_hidden_states", memory);
	else
		graph_output(g, "encoder_last_hidden_state", text.last);
}

static void give_logits(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct musicgen *o = b->s->own;
	graph_value *each = GRAPH_TABLE(g, NULL, o->codebooks, 1, graph_value), last = op_unsqueeze(g, io->last, 1);
	for (b->layer = 0; each && b->layer < o->codebooks && !graph_failed(g); b->layer++)
		each[b->layer] = linear(b, "head.lm.codes", last, b->s->hidden_size, o->codes, false);
	if (!each || graph_failed(g))
		return;
	graph_value y = op_concat(g, (int)o->codebooks, each, 1); // [batch, codebooks, seq, codes]
	graph_value shape[] = { graph_i64s(g, 1, (int64_t[]){ -1 }), op_dim(g, y, 2), graph_i64s(g, 1, &o->codes) };
	y = op_reshape_to(g, y, op_concat(g, 3, shape, 0));
	graph_assume(g, y, 0, graph_symbol(g, "code_rows"));
	graph_assume(g, y, 1, value_dim(g, io->last, 1));
	graph_output(g, "logits", y);
}

static const struct family_head heads[] = {
	{ &head_conditional, give_logits },
	{ 0 },
};

const struct family musicgen = {
	.name = "musicgen",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.hints = hints,
};
