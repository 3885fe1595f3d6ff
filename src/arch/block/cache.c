// SPDX-License-Identifier: Apache-2.0
// The key-value cache. Names and layout are those of optimum-onnx and transformers.js.
//
//   plain      the past comes in, the past and the new come out: right for every batch and padding
//   shared     buffers with room for all tokens come in, and one operator writes the new ones after the past
//              (op_group_query_attention):
//              nothing else is moved. Rows must begin with a token; what that operator cannot say is built in the plain form.
#include "arch/block/block.h"

struct cache *cache_new(struct build *b, int64_t layers, const char *kind)
{
	struct arena *a = graph_arena(b->g);
	struct cache *c = ARENA_NEW(a, struct cache);
	graph_value *values = ARENA_ARRAY(a, 5 * ((size_t)layers + 1), graph_value);
	*c = (struct cache){ .kind = kind,
		.count = layers,
		.key = values,
		.value = values + layers + 1,
		.past_key = values + 2 * (layers + 1),
		.past_value = values + 3 * (layers + 1),
		.index = values + 4 * (layers + 1) };
	return c;
}

// [batch, seq, heads * width] -> [batch, heads, seq, width]
static graph_value by_head(struct graph *g, graph_value x, int64_t heads, int64_t width)
{
	return op_transpose(g, op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, width }), 4, (int[]){ 0, 2, 1, 3 });
}

graph_value cache_past(struct build *b, const struct cache *c, const char *word, int64_t heads, int64_t width, const char *length)
{
	int64_t shape[] = { graph_symbol(b->g, "batch"), heads, graph_symbol(b->g, length), width };
	graph_value *past =
		b->layer >= 0 && b->layer < c->count ? &(text_is(word, "key") ? c->past_key : c->past_value)[b->layer] : NULL;
	if (past && past->id)
		return *past;
	graph_value v = graph_input(b->g,
		arena_printf(graph_arena(b->g), "past_key_values.%lld.%s%s", (long long)b->layer, c->kind, word), DTYPE_F32, 4,
		shape);
	if (past)
		*past = v;
	return v;
}

int64_t cache_total(struct build *b)
{
	struct graph *g = b->g;
	int64_t past = graph_symbol(g, "past_sequence_length"), seq = graph_symbol(g, "sequence");
	return past == 0 ? seq : past > 0 && seq > 0 ? past + seq : graph_symbol(g, "total_sequence_length");
}

void cache_extend(
	struct build *b, struct cache *c, graph_value *k, graph_value *v, int64_t kv_heads, int64_t width, int64_t value_width)
{
	struct graph *g = b->g;
	int64_t total = cache_total(b);
	*k = by_head(g, *k, kv_heads, width);
	*v = by_head(g, *v, kv_heads, value_width);
	if (graph_symbol(g, "past_sequence_length") != 0) {
		*k = op_concat(g, 2, (graph_value[]){ cache_past(b, c, "key", kv_heads, width, "past_sequence_length"), *k }, 2);
		*v = op_concat(
			g, 2, (graph_value[]){ cache_past(b, c, "value", kv_heads, value_width, "past_sequence_length"), *v }, 2);
		graph_assume(g, *k, 2, total);
		graph_assume(g, *v, 2, total);
	}
	if (b->layer >= 0 && b->layer < c->count) {
		c->key[b->layer] = *k;
		c->value[b->layer] = *v;
	}
}

void cache_extend_index(struct build *b, struct cache *c, graph_value *k, int64_t width)
{
	struct graph *g = b->g;
	const int64_t shape[] = { graph_symbol(g, "batch"), 1, graph_symbol(g, "past_sequence_length"), width };
	*k = op_unsqueeze(g, *k, 1);
	if (shape[2] != 0) {
		const char *name = arena_printf(graph_arena(g), "past_key_values.%lld.%sindex", (long long)b->layer, c->kind);
		*k = op_concat(g, 2, (graph_value[]){ graph_input(g, name, DTYPE_F32, 4, shape), *k }, 2);
		graph_assume(g, *k, 2, cache_total(b));
	}
	if (b->layer >= 0 && b->layer < c->count)
		c->index[b->layer] = *k;
}

// Everything that a decoder adds to its scores but order, window and padding must be refused here.
const char *arch_unshared(const struct spec *s)
{
	const struct traits *t = &s->traits;
	if (!s->row->family->shares_cache || !s->head->predicts_next)
		return "it is not a decoder by itself";
	if (t->alibi)
		return "its scores have a bias by position";
	if (s->bidirectional)
		return "its tokens see those ahead";
	if (s->value_width || (s->window_heads.width && s->window_heads.value_width != s->window_heads.width))
		return "its values are not as wide as its keys";
	if (t->differential)
		return "its heads' results are taken from one another";
	if (s->attention_experts)
		return "its queries are those of experts";
	if (s->chunk)
		return "its windows are chunks";
	if (s->most_keys)
		return "its scores have a bias by the values";
	if (s->keys_of)
		return "some of its layers take the keys and values of others";
	if (s->mixers)
		return "some of its layers have a state in the place of a cache";
	if (s->indexer)
		return "an indexer has keys of its own";
	if (s->latent.key_rank)
		return "its keys and values come out of a latent and may differ in width";
	if (s->head_width % 8 || s->window_heads.width % 8)
		return "the width of its heads is not a multiple of 8";
	return NULL;
}

graph_value cache_attend(
	struct build *b, struct cache *c, graph_value q, graph_value k, graph_value v, graph_value sink, float scale)
{
	const struct spec *s = b->s;
	struct heads n = heads_of(s, b->layer);
	struct shared_attention a = { .q = q,
		.k = k,
		.v = v,
		.last = c->row_last,
		.total = c->row_most,
		.sink = sink,
		.heads = n.heads,
		.kv_heads = n.kv_heads,
		.window = s->sliding[b->layer] ? s->sliding_window : 0,
		.scale = scale,
		.softcap = (float)s->attention_softcap };
	a.past_key = cache_past(b, c, "key", n.kv_heads, n.width, "cache_length");
	a.past_value = cache_past(b, c, "value", n.kv_heads, n.width, "cache_length");
	return op_group_query_attention(b->g, &a, &c->key[b->layer], &c->value[b->layer]);
}

void cache_outputs(struct build *b, const struct cache *c)
{
	struct arena *a = graph_arena(b->g);
	for (int64_t i = 0; i < c->count; i++) {
		if (!c->key[i].id) // of a layer without attention
			continue;
		graph_output(b->g, arena_printf(a, "present.%lld.%skey", (long long)i, c->kind), c->key[i]);
		graph_output(b->g, arena_printf(a, "present.%lld.%svalue", (long long)i, c->kind), c->value[i]);
		if (c->index[i].id)
			graph_output(b->g, arena_printf(a, "present.%lld.%sindex", (long long)i, c->kind), c->index[i]);
	}
}

static bool needs_positions(const struct spec *s)
{
	bool no_rotary = s->nope != NULL;
	for (int64_t i = 0; i < s->layers && no_rotary; i++)
		no_rotary = s->nope[i];
	return !s->traits.alibi && !s->traits.positions_of_mask && !s->traits.positions_from_pad && !no_rotary;
}

void decoder_inputs(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t batch = graph_symbol(g, "batch"), shape[] = { batch, graph_symbol(g, "sequence") };
	bool cached = b->s->head->predicts_next;
	int64_t words[] = { batch, shape[1], b->s->codebooks };
	io->ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, b->s->codebooks ? 3 : 2, words);
	io->mask = graph_input(g, "attention_mask", DTYPE_I64, 2, (int64_t[]){ batch, cached ? cache_total(b) : shape[1] });
	if (!cached)
		return;
	if (needs_positions(b->s))
		io->positions = graph_input(g, "position_ids", DTYPE_I64, 2, shape);
	io->cache = cache_new(b, b->s->layers, "");
	if (b->s->mixers)
		state_begin(b, io, b->s->layers);
	if (graph_get_form(g)->cache != CACHE_SHARED || graph_symbol(g, "past_sequence_length") == 0 || arch_unshared(b->s))
		return;
	graph_value tokens = op_sub(g, op_reduce_sum(g, io->mask, 1, false), graph_i64(g, 1));
	io->cache->row_last = op_cast(g, tokens, DTYPE_I32); // [batch]
	io->cache->row_most = op_cast(g, op_squeeze(g, op_dim(g, io->mask, 1), 0), DTYPE_I32);
}

void states_begin(struct build *b, struct body *io, graph_value x)
{
	io->states = ARENA_ARRAY(graph_arena(b->g), (size_t)b->s->layers + 1, graph_value);
	io->state_count = 0;
	states_add(io, x);
}

void states_add(struct body *io, graph_value x)
{
	io->states[io->state_count++] = x;
}

void decoder_whole(struct build *b, int64_t states, void (*body)(struct build *b, struct body *io))
{
	struct body io = { 0 };
	decoder_inputs(b, &io);
	if (io.cache && states)
		state_begin(b, &io, states);
	body(b, &io);
	head_build(b, &io);
	if (io.cache)
		cache_outputs(b, io.cache);
	state_outputs(b, &io);
}
