// SPDX-License-Identifier: Apache-2.0
// The graphs of an encoder-decoder and the heads that stand on one; seq2seq.h has the contract. The halves themselves are the
// families'.
#include "arch/block/seq2seq.h"

#include <float.h>
#include <math.h>

static bool generates(const struct spec *s)
{
	const struct spec *of = part_of(s, "text") ? part_of(s, "text") : s; // where pictures stand in the text
	return part_of(of, "encoder") && part_of(of, "decoder") && s->head->generates;
}

static bool is_alone(const struct spec *s)
{
	return !part_of(s, "encoder") && s->head->predicts_next;
}

const struct arch_graph seq2seq_encoder = { "encoder_model.onnx", STEP_ENCODE, generates },
			seq2seq_first = { "decoder_model.onnx", STEP_FIRST, generates },
			seq2seq_next = { "decoder_with_past_model.onnx", STEP_NEXT, generates },
			seq2seq_merged = { "decoder_model_merged.onnx", STEP_NONE, generates },
			seq2seq_alone = { "decoder_alone_model.onnx", STEP_ALONE, is_alone };
const struct arch_graph *const seq2seq_graphs[] = { &seq2seq_encoder, &seq2seq_first, &seq2seq_next, &seq2seq_merged,
	&seq2seq_alone, NULL };

static const struct arch_graph *graph_at(const struct seq2seq *f, size_t i)
{
	return (f->graphs ? f->graphs : seq2seq_graphs)[i];
}

static const char *join(struct build *b, const char *stem, const char *word)
{
	return arena_printf(graph_arena(b->g), "%s.%s", stem, word);
}

// [batch, seq, heads * width] -> [batch, heads, seq, width]
static graph_value by_head(struct graph *g, graph_value x, int64_t heads, int64_t width)
{
	return op_transpose(g, op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width }), 4, (int[]){ 0, 2, 1, 3 });
}

static void keys_and_values(struct build *b, const char *stem, graph_value from, unsigned biases, graph_value *k, graph_value *v)
{
	struct graph *g = b->g;
	int64_t width = b->s->kv_heads * b->s->head_width, in = value_dim(g, from, -1);
	const char *both = join(b, stem, "kv");
	if (weight_named(b, both)) {
		graph_value kv = linear(b, both, from, in, 2 * width, biases & BIAS_K);
		*k = op_slice(g, kv, 2, 0, width);
		*v = op_slice(g, kv, 2, width, 2 * width);
		return;
	}
	*k = linear(b, join(b, stem, "k"), from, in, width, biases & BIAS_K);
	*v = linear(b, join(b, stem, "v"), from, in, width, biases & BIAS_V);
}

graph_value attend(struct build *b, const char *stem, graph_value x, graph_value from, graph_value bias, struct cache *cache,
	unsigned biases)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t e = s->head_width, width = s->heads * e;
	// Scores that nothing divides: such models are initialised with smaller queries instead (T5's init by d_kv^-0.5).
	b->gain = s->attention_scale == 1 ? 1 / sqrt((double)e) : 0;
	graph_value q = linear(b, join(b, stem, "q"), x, s->hidden_size, width, biases & BIAS_Q), k, v; // [batch, seq, heads*e]
	b->gain = 0;
	if (from.id || !cache) {                                // without either there was an error before
		keys_and_values(b, stem, from, biases, &k, &v); // [batch, keys, heads*e]
		if (cache && from.id == x.id)
			cache_extend(b, cache, &k, &v, s->kv_heads, e, e);
		else if (cache) {
			k = by_head(g, k, s->kv_heads, e);
			v = by_head(g, v, s->kv_heads, e);
			if (cache->past_key[b->layer].id) { // one of the two is empty
				k = op_concat(g, 2, (graph_value[]){ cache->past_key[b->layer], k }, 2);
				v = op_concat(g, 2, (graph_value[]){ cache->past_value[b->layer], v }, 2);
			}
			cache->key[b->layer] = k;
			cache->value[b->layer] = v;
		}
	} else {
		k = cache_past(b, cache, "key", s->kv_heads, e, "encoder_sequence");
		v = cache_past(b, cache, "value", s->kv_heads, e, "encoder_sequence");
	}
	double scale = s->attention_scale / (s->scale_by_layer ? (double)(b->layer + 1) : 1);
	graph_value y = op_attention(g,
		&(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .kv_heads = s->kv_heads, .scale = (float)scale,
			.softcap = (float)s->attention_softcap });
	return linear(b, join(b, stem, "o"), y, width, s->hidden_size, biases & BIAS_O);
}

void decoder_places(struct build *b, const struct body *io, graph_value *query, graph_value *key)
{
	struct graph *g = b->g;
	graph_value tokens = io->embeds.id ? io->embeds : io->ids; // [batch, seq, ..]
	graph_value zero = graph_i64(g, 0), one = graph_i64(g, 1), seq = op_squeeze(g, op_dim(g, tokens, 1), 0);
	bool has_past = io->cache && io->cache->past_key[0].id;
	graph_value past = has_past ? op_squeeze(g, op_dim(g, io->cache->past_key[0], 2), 0) : zero,
		    all = has_past ? op_add(g, past, seq) : seq;
	graph_value at = op_range(g, past, all, one), every = op_range(g, zero, all, one);
	graph_assume(g, at, 0, value_dim(g, tokens, 1));
	graph_assume(g, every, 0, has_past ? cache_total(b) : value_dim(g, tokens, 1));
	*query = op_unsqueeze(g, at, 1);
	*key = op_unsqueeze(g, every, 0);
}

graph_value causal_bias(struct build *b, graph_value query, graph_value key)
{
	return op_where(b->g, op_less_or_equal(b->g, key, query), graph_f32(b->g, 0), graph_f32(b->g, -FLT_MAX));
}

graph_value seq2seq_states_of(struct build *b, const struct body *io, graph_value lengths)
{
	struct graph *g = b->g;
	graph_value states = io->memory.id ? op_dim(g, io->memory, 1) : op_dim(g, io->cross->past_key[0], 2);
	if (b->which == &seq2seq_merged)
		states = op_add(g, states, op_dim(g, io->cross->past_key[0], 2));
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, states, 0), graph_i64(g, 1));
	at = op_unsqueeze(g, op_cast(g, at, DTYPE_F32), 0);
	return op_cast(g, op_less(g, at, op_unsqueeze(g, lengths, 1)), DTYPE_I64);
}

void seq2seq_begin(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value query, key, one = graph_i64(g, 1);
	decoder_places(b, io, &query, &key);
	graph_value row = op_add(g, op_mul(g, key, graph_i64(g, 0)), one); // [1, keys]
	graph_value column = op_add(g, op_mul(g, op_slice(g, io->ids, 1, 0, 1), graph_i64(g, 0)), one);
	io->mask = op_mul(g, column, row);
	io->positions = op_transpose(g, query, 2, (int[]){ 1, 0 });
	io->types = op_mul(g, io->ids, graph_i64(g, 0));
	if (io->memory_mask.id)
		io->memory_bias = mask_bidirectional(b, io->memory_mask);
}

// The part whose token table the half `part` reads, or, NULL, the output that is tied to one, and the table's stem there: the
// half's own, then the one they share, then the output's, then the other half's. Files differ in which of equal tables they
// keep, and of tables that differ transformers 5 ties none (modeling_utils.py, tie_weights).
static const struct spec *table_of(struct build *b, const struct seq2seq *f, const char *part, const char **stem)
{
	const struct spec *whole = b->s, *decoder = part_of(whole, "decoder"), *encoder = part_of(whole, "encoder"),
			  *found = NULL, *own = part && text_is(part, "encoder") ? encoder : decoder;
	const bool is_shared_first = !part && f->one_table;
	const struct {
		const struct spec *s;
		const char *stem;
	} places[] = { { is_shared_first ? whole : own, is_shared_first ? "embed.shared" : "embed.word" },
		{ is_shared_first ? own : whole, is_shared_first ? "embed.word" : "embed.shared" },
		{ part && whole->tied ? whole : NULL, "head.lm.out" }, { own == encoder ? decoder : encoder, "embed.word" } };

	*stem = "embed.word";
	if (b->plan) {
		*stem = f->one_table ? "embed.shared" : *stem;
		return f->one_table ? whole : own;
	}
	for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
		b->s = places[i].s;
		if (b->s && weight_named(b, places[i].stem) && weight_exists(b, places[i].stem, "weight")) {
			found = b->s;
			*stem = places[i].stem;
		}
	}
	b->s = whole;
	return found ? found : own;
}

graph_value seq2seq_embed(struct build *b, const struct seq2seq *f, const char *part, graph_value ids)
{
	const struct spec *whole = b->s, *half = part_of(whole, part);
	const char *stem;
	b->s = table_of(b, f, part, &stem);
	graph_value x = embedding(b, stem, ids, half->vocab_size, half->embedding_size);
	b->s = whole;
	return f->embed_scale > 0 ? op_scale(b->g, x, f->embed_scale) : x;
}

// A dimension that only one graph knows has its own name, so that a static graph can give it a number.
void seq2seq_run(struct build *b, const struct seq2seq *f, const char *part, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *whole = b->s;
	graph_enter(g, "%s", part);
	if (text_is(part, "decoder") && f->remember && io->memory.id)
		io->memory = f->remember(b, io->memory);
	if (io->ids.id && !io->embeds.id && !f->whole_halves)
		io->embeds = seq2seq_embed(b, f, part, io->ids);
	part_enter(b, part);
	(text_is(part, "encoder") ? f->encode : f->decode)(b, io);
	part_leave(b, whole);
	graph_leave(g);
}

static void source(struct build *b, const struct seq2seq *f, struct body *io)
{
	struct graph *g = b->g;
	if (f->inputs) {
		f->inputs(b, io);
		return;
	}
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
}

// ids one place to the right, after the start token
static graph_value shifted(struct build *b, const struct seq2seq *f, graph_value ids)
{
	struct graph *g = b->g;
	if (f->start < 0 && !f->start_wraps)
		graph_fail(g, STATUS_BAD_INPUT,
			"config.json: decoder_start_token_id is missing: the decoder reads the text behind it");
	graph_value start; // [batch, 1]
	if (f->start_wraps) {
		graph_value is_token = op_cast(g, op_not(g, op_equal(g, ids, graph_i64(g, b->s->pad_token_id))), DTYPE_I64);
		start = op_gather_nd(g, ids, op_sub(g, op_reduce_sum(g, is_token, 1, true), graph_i64(g, 1)), 1);
		start = op_unsqueeze(g, start, 1);
	} else
		start = op_add(g, op_mul(g, op_slice(g, ids, 1, 0, 1), graph_i64(g, 0)), graph_i64(g, f->start));
	graph_value both = op_concat(g, 2, (graph_value[]){ start, op_slice(g, ids, 1, 0, -1) }, 1);
	graph_assume(g, both, 1, value_dim(g, ids, 1));
	return both;
}

graph_value seq2seq_scores(struct build *b, const struct seq2seq *f, graph_value hidden)
{
	struct graph *g = b->g;
	const struct spec *whole = b->s, *half = part_of(whole, "decoder");
	graph_enter(g, "head");
	if (f->head_scale > 0)
		hidden = op_scale(g, hidden, f->head_scale);
	const char *stem = "head.lm.out";
	if (whole->tied && (b->plan || !weight_exists(b, stem, "weight")))
		b->s = table_of(b, f, NULL, &stem);
	graph_value w = WEIGHT(b, stem, "weight", half->vocab_size, half->embedding_size);
	b->s = whole;
	graph_value bias = NO_VALUE;
	if (f->head_bias && weight_exists(b, "head.lm.bias", "")) // a buffer that some files leave out: zeros
		bias = op_reshape(g, WEIGHT(b, "head.lm.bias", "", 1, half->vocab_size), 1, (int64_t[]){ half->vocab_size });
	graph_value y = op_linear_output(g, hidden, w, bias);
	graph_leave(g);
	return y;
}

// The state at the last end of sequence, through a dense layer
static graph_value classify(struct build *b, const struct seq2seq *f, graph_value hidden)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "head");
	graph_value is_end = op_cast(g, op_equal(g, b->ids, graph_i64(g, f->eos)), DTYPE_I64);
	graph_value at = places_of(g, b->ids);
	graph_value last = op_argmax(g, op_mul(g, is_end, at), 1, true); // [batch, 1]
	graph_value x = op_gather_nd(g, hidden, last, 1);                // [batch, hidden]
	x = op_tanh(g, linear(b, "head.sequence.dense", x, s->hidden_size, s->hidden_size, true));
	x = linear(b, "head.sequence.out", x, s->hidden_size, s->labels, true);
	graph_leave(g);
	return x; // [batch, labels]
}

void seq2seq_logits(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", seq2seq_scores(b, io->own, io->last));
}

static void give_model(struct build *b, const struct body *io)
{
	const struct seq2seq *f = io->own;
	graph_output(b->g, "last_hidden_state", f->head_in_body ? seq2seq_scores(b, f, io->last) : io->last);
}

void seq2seq_classify(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", classify(b, io->own, io->last));
}

const struct family_head seq2seq_heads[] = {
	{ &head_conditional, seq2seq_logits },
	{ &head_model, give_model },
	{ &head_sequence, seq2seq_classify, SEQ2SEQ_TWICE },
	{ &head_span, NULL, SEQ2SEQ_TWICE },
	{ &head_causal_lm, seq2seq_logits },
	{ &head_memory_lm, seq2seq_logits },
	{ 0 },
};
const struct family_head seq2seq_speech_heads[] = {
	{ &head_conditional, seq2seq_logits },
	{ &head_model, head_give_last },
	{ 0 },
};

// A class that is only the decoder, of another model's states or of none.
static void build_alone(struct build *b, const struct seq2seq *f)
{
	struct graph *g = b->g;
	int64_t batch = graph_symbol(g, "batch"), shape[] = { batch, graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) };
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	if (b->which == &arch_whole)
		io.memory = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3,
			(int64_t[]){ batch, graph_symbol(g, "encoder_sequence"), f->source_size });
	if (io.memory.id && f->source_masked)
		io.memory_mask = graph_input(
			g, "encoder_attention_mask", DTYPE_I64, 2, (int64_t[]){ batch, graph_symbol(g, "encoder_sequence") });
	seq2seq_run(b, f, "decoder", &io);
	io.own = f;
	seq2seq_logits(b, &io);
}

static void build_whole(struct build *b, const struct seq2seq *f)
{
	struct graph *g = b->g;
	struct body enc = { .own = f }, dec = { .own = f };
	source(b, f, &enc);
	bool twice = head_how(b->s) & SEQ2SEQ_TWICE;
	if (f->target)
		f->target(b, &dec);
	else if (part_of(b->s, "decoder") && !twice)
		dec.ids = graph_input(g, "decoder_input_ids", DTYPE_I64, 2,
			(int64_t[]){ graph_symbol(g, "batch"), graph_symbol(g, "decoder_sequence") });
	graph_value frames = enc.mask; // as given: an encoder may count it over
	seq2seq_run(b, f, "encoder", &enc);
	if (!part_of(b->s, "decoder")) {
		head_build(b, &enc);
		return;
	}
	if (twice)
		dec.ids = shifted(b, f, b->ids);
	dec.memory = enc.last;
	dec.memory_mask = f->sees_all ? NO_VALUE : frames;
	seq2seq_run(b, f, "decoder", &dec);
	head_build(b, &dec);
	graph_output(g, "encoder_last_hidden_state", f->gives_remembered ? dec.memory : enc.last);
}

// decoder_model_merged: without use_cache_branch the past is cut to nothing; with it, the encoder's states are, since the past
// has their keys and values. So nothing branches.
static void merge(struct build *b, struct body *io, int64_t layers)
{
	struct graph *g = b->g;
	graph_value use = op_cast(g, graph_input(g, "use_cache_branch", DTYPE_BOOL, 1, (int64_t[]){ 1 }), DTYPE_I64),
		    zero = graph_i64s(g, 1, (int64_t[]){ 0 });
	for (int64_t i = 0; i < layers; i++) {
		graph_value *const past[] = { &io->cache->past_key[i], &io->cache->past_value[i], &io->cross->past_key[i],
			&io->cross->past_value[i] };
		for (int k = 0; k < 4; k++)
			*past[k] = op_slice_to(g, *past[k], 2, zero, op_mul(g, op_dim(g, *past[k], 2), use));
	}
	graph_value done = op_mul(g, op_dim(g, io->memory, 1), use), all = graph_i64s(g, 1, (int64_t[]){ INT64_MAX });
	io->memory = op_slice_to(g, io->memory, 1, done, all);
}

static void build_decoder(struct build *b, const struct seq2seq *f)
{
	struct graph *g = b->g;
	const struct spec *half = part_of(b->s, "decoder");
	int64_t batch = graph_symbol(g, "batch"),
		source_shape[] = { batch, graph_symbol(g, "encoder_sequence"), part_of(b->s, "encoder")->hidden_size };
	int64_t frames_shape[] = { batch, graph_symbol(g, "frames") };
	struct body io = { .cache = cache_new(b, half->layers, "decoder."), .cross = cache_new(b, half->layers, "encoder.") };
	bool first = b->which == graph_at(f, 1), merged = b->which == &seq2seq_merged;
	if (first)
		graph_bind(g, "past_sequence_length", 0);
	if (f->target)
		f->target(b, &io);
	else
		io.ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, (int64_t[]){ batch, graph_symbol(g, "sequence") });
	if (first || merged)
		io.memory = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3, source_shape);
	if (!f->sees_all)
		io.memory_mask = graph_input(g, "encoder_attention_mask", f->float_mask ? DTYPE_F32 : DTYPE_I64, 2,
			f->masks_frames ? frames_shape : source_shape);
	const struct spec *outer = part_enter(b, "decoder");
	for (b->layer = 0; !first && b->layer < half->layers && !graph_failed(b->g); b->layer++) {
		cache_past(b, io.cache, "key", half->kv_heads, half->head_width, "past_sequence_length");
		cache_past(b, io.cache, "value", half->kv_heads, half->head_width, "past_sequence_length");
		cache_past(b, io.cross, "key", half->kv_heads, half->head_width, "encoder_sequence");
		cache_past(b, io.cross, "value", half->kv_heads, half->head_width, "encoder_sequence");
	}
	part_leave(b, outer);
	if (merged)
		merge(b, &io, half->layers);
	io.own = f;
	seq2seq_run(b, f, "decoder", &io);
	head_build(b, &io);
	cache_outputs(b, io.cache);
	if (first || merged)
		cache_outputs(b, io.cross);
}

void seq2seq_build(struct build *b, const struct seq2seq *f)
{
	struct body io = { 0 };
	if (graph_get_form(b->g)->is_static) { // what has no number yet is as long as the text
		int64_t n = graph_symbol(b->g, "sequence");
		static const char *const others[] = { "decoder_sequence", "encoder_sequence", "frames" };
		for (size_t i = 0; i < 3 && n >= 0; i++)
			if (graph_symbol(b->g, others[i]) < 0)
				graph_bind(b->g, others[i], n);
	}
	if (b->which == graph_at(f, 0)) {
		io.own = f;
		source(b, f, &io);
		seq2seq_run(b, f, "encoder", &io);
		graph_output(b->g, "last_hidden_state", io.last);
		if (f->gives_mask)
			graph_output(b->g, "encoder_attention_mask", io.mask);
	} else if (!part_of(b->s, "encoder"))
		build_alone(b, f);
	else if (b->which == &arch_whole)
		build_whole(b, f);
	else
		build_decoder(b, f);
}
