// SPDX-License-Identifier: Apache-2.0
// Reformer (Kitaev et al. 2020, https://arxiv.org/abs/2001.04451), over texts of at most a chunk, where neither its local
// attention nor the one that hashes sees less than all: longer ones would be hashed by numbers drawn at random. Layers are
// reversible: two streams, each added to by what is made of the other, which stand side by side at the end.
//
//   ids -> tokens + positions = x = y;  each layer: y += attention(norm(x)), x += feed-forward(norm(y));  norm([y, x]) -> head
#include <math.h>

#include "arch/block/block.h"
#include "arch/family/reformer.h"

struct reformer {
	const bool *hashed;        // [layers]: queries are keys, and no token looks at itself where it may look at another
	int64_t axis[2], width[2]; // of the two tables whose rows together are a position; 0: there is one table
	int64_t longest;
	bool causal;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct reformer *o = s->own = ARENA_NEW(a, struct reformer);
	const json_t *words = config_get(c, "attn_layers"), *shape = config_get(c, "axial_pos_shape"),
		     *dims = config_get(c, "axial_pos_embds_dim");
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->heads = s->kv_heads = config_size(c, "num_attention_heads", -1);
	s->head_width = config_size(c, "head_dim", -1);
	s->ffn_size = config_size(c, "intermediate_size", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-12);
	s->act = config_activation(c, "hidden_act", ACT_RELU);
	o->causal = config_bool(c, "is_decoder", false);
	bool axial = config_bool(c, "axial_pos_embds", true);
	int64_t chunk[] = { config_size(c, "local_attn_chunk_length", 64), config_size(c, "lsh_attn_chunk_length", 64) };
	int64_t listed = (int64_t)json_array_size(words);
	s->layers = s->layers_in_config =
		config_count(c, "num_hidden_layers", listed < CONFIG_COUNT_MOST ? listed : CONFIG_COUNT_MOST);
	if (!c->error.status && (s->layers < 1 || listed < s->layers))
		config_fail(c, STATUS_BAD_INPUT, "attn_layers should name %lld layers", (long long)s->layers);
	if (c->error.status)
		return;
	bool *hashed = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	int64_t longest = INT32_MAX;
	for (size_t i = 0; i < (size_t)s->layers; i++) {
		const char *word = json_string_value(json_array_get(words, i));
		hashed[i] = text_is(word, "lsh");
		if (!hashed[i] && !text_is(word, "local"))
			config_fail(c, STATUS_UNSUPPORTED, "layers of type %s are not supported yet", word ? word : "?");
		longest = chunk[hashed[i]] < longest ? chunk[hashed[i]] : longest;
	}
	o->hashed = hashed;
	for (size_t i = 0; i < 2 && axial; i++) {
		o->axis[i] = json_integer_value(json_array_get(shape, i));
		o->width[i] = json_integer_value(json_array_get(dims, i));
		if (o->axis[i] < 1 || o->width[i] < 1 || o->axis[i] > 1 << 20 || o->width[i] > 1 << 20)
			config_fail(c, STATUS_BAD_INPUT, "axial_pos_shape and axial_pos_embds_dim should have two numbers each");
	}
	if (!c->error.status &&
		(s->hidden_size < 1 || s->heads < 1 || s->head_width < 1 || s->ffn_size < 1 || s->vocab_size < 1 ||
			s->max_positions < 1 || longest < 1 || longest > 1 << 20 ||
			(axial && o->width[0] + o->width[1] != s->hidden_size)))
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld over %lld, chunks of %lld", (long long)s->heads,
			(long long)s->head_width, (long long)s->hidden_size, (long long)longest);
	if (axial)
		s->max_positions = o->axis[0] * o->axis[1];
	o->longest = longest < s->max_positions ? longest : s->max_positions;
	if (s->head && s->head->predicts_next && !o->causal)
		config_fail(c, STATUS_BAD_INPUT, "is_decoder: false of a causal language model");
}

static void hints(const struct spec *s, struct input_hints *out)
{
	out->max_sequence = ((const struct reformer *)s->own)->longest;
}

static graph_value positions(struct build *b, graph_value at)
{
	struct graph *g = b->g;
	const struct reformer *o = b->s->own;
	if (!o->axis[0])
		return embedding(b, "embed.position", at, b->s->max_positions, b->s->hidden_size);
	graph_value across = graph_i64(g, o->axis[1]);
	graph_value row =
		op_reshape(g, WEIGHT(b, "embed.row", "", o->axis[0], 1, o->width[0]), 2, (int64_t[]){ o->axis[0], o->width[0] });
	graph_value column = op_reshape(
		g, WEIGHT(b, "embed.column", "", 1, o->axis[1], o->width[1]), 2, (int64_t[]){ o->axis[1], o->width[1] });
	graph_value part[] = { op_gather(g, row, op_div(g, at, across), 0), op_gather(g, column, op_mod(g, at, across), 0) };
	return op_concat(g, 2, part, 1); // [seq, hidden]
}

// [batch, seq, heads * width] -> [batch, heads, seq, width]
static graph_value by_head(struct build *b, graph_value x)
{
	return op_transpose(
		b->g, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, b->s->heads, b->s->head_width }), 4, (int[]){ 0, 2, 1, 3 });
}

// seen: bool [batch, 1, seq, keys]; self: bool [seq, keys]
static graph_value attention(struct build *b, graph_value x, graph_value seen, graph_value self)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool hashed = ((const struct reformer *)s->own)->hashed[b->layer];
	int64_t h = s->hidden_size, n = s->heads * s->head_width;
	graph_value q = by_head(b, linear(b, hashed ? "layers.attn.qk" : "layers.attn.q", x, h, n, false)), k = q;
	if (hashed)
		k = op_rms_norm(g, q, ones_of(b, s->head_width), 1e-6f);
	else
		k = by_head(b, linear(b, "layers.attn.k", x, h, n, false));
	k = op_scale(g, k, (float)(1 / sqrt((double)s->head_width)));
	graph_value scores = op_matmul(g, q, op_transpose(g, k, 4, (int[]){ 0, 1, 3, 2 }));
	scores = op_where(g, seen, scores, graph_f32(g, -1e9f));
	scores = hashed ? op_where(g, self, graph_f32(g, -1e5f), scores) : scores;
	graph_value y = op_matmul(g, op_softmax(g, scores, 3), by_head(b, linear(b, "layers.attn.v", x, h, n, false)));
	y = op_reshape(g, op_transpose(g, y, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ 0, 0, n });
	return linear(b, "layers.attn.o", y, n, h, false);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct reformer *o = s->own;
	int64_t h = s->hidden_size;
	const int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	struct body io = { .ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape) };
	b->ids = io.ids;
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	// A longer text has no positions.
	graph_value every = op_range(g, graph_i64(g, 0), graph_i64(g, o->longest), graph_i64(g, 1));
	graph_value at = places_of(g, io.ids), query = op_unsqueeze(g, at, 1), key = op_unsqueeze(g, at, 0);
	graph_value seen = op_unsqueeze(g, op_unsqueeze(g, op_cast(g, io.mask, DTYPE_BOOL), 1), 1),
		    self = op_equal(g, query, key);
	if (o->causal)
		seen = op_and(g, seen, op_less_or_equal(g, key, query));
	graph_value x = op_add(g, embedding(b, "embed.word", io.ids, s->vocab_size, h), op_gather(g, positions(b, every), at, 0)),
		    y = x;
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		y = op_add(g, y, attention(b, layer_norm(b, "layers.attn.norm", x, h), seen, self));
		graph_value z = linear(b, "layers.ffn.up", layer_norm(b, "layers.ffn.norm", y, h), h, s->ffn_size, true);
		x = op_add(g, x, linear(b, "layers.ffn.down", activate(b, s->act, z), s->ffn_size, h, true));
		graph_leave(g);
	}
	io.last = layer_norm(b, "norm", op_concat(g, 2, (graph_value[]){ y, x }, 2), 2 * h);
	head_build(b, &io);
}

static void give_logits(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	graph_value w = WEIGHT(b, "head.lm.out", "weight", s->vocab_size, 2 * s->hidden_size);
	// Of a file without the layer's own bias the class makes zeros, though one lies beside it.
	bool biased = weight_exists(b, "head.lm.out", "bias");
	graph_value bias = biased ? WEIGHT(b, "head.lm.out", "bias", s->vocab_size) : NO_VALUE;
	graph_output(b->g, "logits", op_linear_output(b->g, io->last, w, bias));
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_causal_lm, give_logits },
	{ &head_masked_lm, give_logits },
	{ 0 },
};

const struct family reformer = {
	.name = "reformer",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
