// SPDX-License-Identifier: Apache-2.0
// DeBERTa (He et al. 2020, https://arxiv.org/abs/2006.03654) and its second and third version (https://arxiv.org/abs/2111.09543):
// what a token says and where it stands are attended to apart.
//
//   score[i, j] = (q_i k_j + q_i K[d] + k_j Q[d]) / sqrt(3 width),  d = bucket(i - j): a row of the table of distances
//   ids -> word (+ position) (+ type) (- project) - norm -> layers; after the first layer (+ convolution of the embedding)
#include <float.h>
#include <math.h>
#include <string.h>

#include "arch/block/block.h"
#include "arch/family/deberta.h"

struct deberta {
	bool relative, content_to_position, position_to_content;
	bool shared_keys; // the table goes through the layer's own query and key
	bool table_normed, positions, legacy;
	int64_t farthest, buckets; // of distances; buckets 0: each distance is one
	int64_t kernel, groups;    // of the convolution; kernel 0: there is none
	enum activation kernel_act, pooler_act;
};

static int64_t rows_of(const struct deberta *d)
{
	return d->buckets ? d->buckets : d->farthest;
}

static bool listed(const json_t *list, const char *word)
{
	bool found = json_is_string(list) && strstr(json_string_value(list), word); // "p2c|c2p"
	for (size_t i = 0; i < json_array_size(list); i++)
		found |= text_is(json_string_value(json_array_get(list, i)), word);
	return found;
}

void deberta_resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct deberta *d = s->own = ARENA_NEW(a, struct deberta);
	const json_t *kinds = config_get(c, "pos_att_type");
	const char *norm = config_text(c, "norm_rel_ebd");
	d->relative = config_bool(c, "relative_attention", false);
	d->content_to_position = listed(kinds, "c2p");
	d->position_to_content = listed(kinds, "p2c");
	d->shared_keys = config_bool(c, "share_att_key", false) && !TRAITS_OF(s, deberta)->joined_by_head;
	d->table_normed = norm && strstr(norm, "layer_norm");
	d->positions = config_bool(c, "position_biased_input", true);
	d->legacy = config_bool(c, "legacy", true);
	double farthest = config_real(c, "max_relative_positions", -1), buckets = config_real(c, "position_buckets", -1);
	d->farthest = farthest < 1 ? s->max_positions : (int64_t)farthest;
	d->buckets = buckets > 0 && !TRAITS_OF(s, deberta)->joined_by_head ? (int64_t)buckets : 0;
	d->kernel = config_size(c, "conv_kernel_size", 0);
	d->groups = config_size(c, "conv_groups", 1);
	d->kernel_act = config_activation(c, "conv_act", ACT_TANH);
	d->pooler_act = config_activation(c, "pooler_hidden_act", ACT_GELU);
	int64_t factor = 1 + d->content_to_position + d->position_to_content;
	s->attention_scale = 1 / sqrt((double)(s->head_width * factor));
	if (config_bool(c, "talking_head", false))
		config_fail(c, STATUS_UNSUPPORTED, "talking_head: true is not supported yet");
	if (config_size(c, "pooler_hidden_size", s->hidden_size) != s->hidden_size ||
		config_size(c, "attention_head_size", s->head_width) != s->head_width)
		config_fail(c, STATUS_UNSUPPORTED, "a pooler or heads of another width are not supported yet");
	if (d->farthest > 1 << 20 || d->farthest < 2 || (d->buckets && (d->buckets < 4 || d->buckets / 2 >= d->farthest - 1)) ||
		(d->kernel && d->groups < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld buckets of distances up to %lld", (long long)d->buckets,
			(long long)d->farthest);
	if (d->kernel && d->kernel % 2 == 0)
		config_fail(
			c, STATUS_UNSUPPORTED, "conv_kernel_size %lld: even ones are not supported yet", (long long)d->kernel);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, false);
	deberta_resolve(c, s, a);
}

// Exact up to half of the buckets, then by logarithm, in float32 and in the original's order.
static int64_t bucket_of(const struct deberta *d, int64_t distance)
{
	int64_t mid = d->buckets / 2;
	if (!d->buckets || distance <= mid)
		return distance;
	float ratio = logf((float)distance / (float)mid) / logf((float)((double)(d->farthest - 1) / (double)mid));
	return (int64_t)ceilf(ratio * (float)(mid - 1)) + mid;
}

// The row of the table for query i and key j: i64 [seq, seq]
static graph_value rows_by_distance(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct deberta *d = b->s->own;
	int64_t rows = rows_of(d), n = d->farthest, *table = GRAPH_TABLE(g, NULL, 2 * n + 1, 1, int64_t);
	for (int64_t i = -n; table && i <= n; i++) {
		int64_t bucket = bucket_of(d, i < 0 ? -i : i), row = (i < 0 ? -bucket : bucket) + rows;
		table[i + n] = row < 0 ? 0 : row > 2 * rows - 1 ? 2 * rows - 1 : row;
	}
	graph_value at = places_of(g, x);
	graph_value far = op_sub(g, op_unsqueeze(g, at, 1), op_unsqueeze(g, at, 0));
	far = op_max(g, op_min(g, far, graph_i64(g, n)), graph_i64(g, -n));
	return op_gather(g, graph_constant(g, DTYPE_I64, 1, (int64_t[]){ 2 * n + 1 }, table), op_add(g, far, graph_i64(g, n)), 0);
}

// [batch, seq, heads*width] -> [batch, heads, seq, width]
static graph_value by_head(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	return op_transpose(b->g, op_reshape(b->g, x, 4, (int64_t[]){ 0, 0, s->heads, s->head_width }), 4, (int[]){ 0, 2, 1, 3 });
}

// x [batch, heads, seq, width] with each row of the table [rows, hidden], then of each pair the one of its distance:
// [batch, heads, seq, seq]
static graph_value against_table(struct build *b, graph_value x, graph_value table, graph_value rows)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value t = op_reshape(g, table, 3, (int64_t[]){ value_dim(g, table, 0), s->heads, s->head_width });
	graph_value scores = op_matmul(g, x, op_transpose(g, t, 3, (int[]){ 1, 2, 0 })); // [batch, heads, seq, rows]
	graph_value shape[] = { op_dim(g, x, 0), graph_i64s(g, 1, (int64_t[]){ s->heads }), op_dim(g, x, 2), op_dim(g, x, 2) };
	return op_gather_elements(g, scores, op_expand(g, rows, op_concat(g, 4, shape, 0)), 3);
}

struct shared {
	graph_value mask, table, rows;
};

static graph_value attention(struct build *b, graph_value x, const struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct deberta *d = s->own;
	int64_t n = s->hidden_size, w = s->head_width;
	graph_value q, k, v, bias = NO_VALUE;
	if (TRAITS_OF(s, deberta)->joined_by_head) { // by head: query, key, value; the key has no bias
		graph_value all =
			op_reshape(g, linear(b, "layers.attn.qkv", x, n, 3 * n, false), 4, (int64_t[]){ 0, 0, s->heads, 3 * w });
		q = op_reshape(g, op_slice(g, all, 3, 0, w), 3, (int64_t[]){ 0, 0, n });
		k = op_reshape(g, op_slice(g, all, 3, w, 2 * w), 3, (int64_t[]){ 0, 0, n });
		v = op_reshape(g, op_slice(g, all, 3, 2 * w, 3 * w), 3, (int64_t[]){ 0, 0, n });
		q = op_add(g, q, WEIGHT(b, "layers.attn.q_bias", "", n));
		v = op_add(g, v, WEIGHT(b, "layers.attn.v_bias", "", n));
	} else {
		q = linear(b, "layers.attn.q", x, n, n, true);
		k = linear(b, "layers.attn.k", x, n, n, true);
		v = linear(b, "layers.attn.v", x, n, n, true);
	}
	if (d->relative && d->content_to_position) {
		graph_value keys = linear(b, d->shared_keys ? "layers.attn.k" : "layers.attn.table_k", p->table, n, n,
			!TRAITS_OF(s, deberta)->joined_by_head);
		bias = against_table(b, by_head(b, q), keys, p->rows);
	}
	if (d->relative && d->position_to_content) {
		graph_value queries = linear(b, d->shared_keys ? "layers.attn.q" : "layers.attn.table_q", p->table, n, n, true);
		graph_value swapped = against_table(
			b, by_head(b, k), queries, op_transpose(g, p->rows, 2, (int[]){ 1, 0 })); // [.., key, query]
		swapped = op_transpose(g, swapped, 4, (int[]){ 0, 1, 3, 2 });
		bias = bias.id ? op_add(g, bias, swapped) : swapped;
	}
	bias = bias.id ? op_scale(g, bias, (float)s->attention_scale) : p->mask;
	if (p->mask.id && bias.id != p->mask.id)
		bias = op_add(g, bias, p->mask);
	graph_value y = op_attention(
		g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, n, n, true);
}

static graph_value layer(struct build *b, graph_value x, const struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	x = layer_norm(b, "layers.attn.norm", op_add(g, attention(b, x, p), x), s->hidden_size);
	graph_leave(g);
	graph_enter(g, "ffn");
	x = layer_norm(b, "layers.ffn.norm", op_add(g, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", x), x), s->hidden_size);
	graph_leave(g);
	return x;
}

static graph_value padding_zeroed(struct build *b, graph_value x, graph_value mask)
{
	return op_mul(b->g, x, op_unsqueeze(b->g, op_cast(b->g, mask, DTYPE_F32), 2));
}

static graph_value embed(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct deberta *d = s->own;
	graph_enter(g, "embed");
	graph_value x = embedding(b, "embed.word", io->ids, s->vocab_size, s->embedding_size);
	if (d->positions) {
		graph_value table = WEIGHT(b, "embed.position", "weight", s->max_positions, s->embedding_size);
		x = op_add(g, x, op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, io->ids, 1)));
	}
	if (s->type_vocab_size > 1)
		x = op_add(g, x, embedding(b, "embed.type", io->types, s->type_vocab_size, s->embedding_size));
	else if (s->type_vocab_size == 1)
		x = op_add(g, x, embedding(b, "embed.type", graph_i64s(g, 1, (int64_t[]){ 0 }), 1, s->embedding_size));
	if (s->embedding_size != s->hidden_size)
		x = linear(b, "embed.project", x, s->embedding_size, s->hidden_size, false);
	x = padding_zeroed(b, layer_norm(b, "embed.norm", x, s->hidden_size), io->mask);
	graph_leave(g);
	return x;
}

//   embedding - convolution - (zero at padding) - act -(+)- norm - (zero at padding)
//   first layer's result ------------------------------+
static graph_value convolved(struct build *b, graph_value embedded, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct deberta *d = s->own;
	int64_t one = 1, pad[] = { d->kernel / 2, d->kernel / 2 }, n = s->hidden_size;
	graph_enter(g, "conv");
	graph_value y = op_conv(g, op_transpose(g, embedded, 3, (int[]){ 0, 2, 1 }),
		WEIGHT(b, "conv", "weight", n, n / d->groups, d->kernel), WEIGHT(b, "conv", "bias", n), &one, pad, &one,
		d->groups);
	y = activate(b, d->kernel_act, padding_zeroed(b, op_transpose(g, y, 3, (int[]){ 0, 2, 1 }), mask));
	x = padding_zeroed(b, layer_norm(b, "conv.norm", op_add(g, x, y), n), mask);
	graph_leave(g);
	return x;
}

void deberta_layers(struct build *b, struct body *io, graph_value x, graph_value mask)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct deberta *d = s->own;
	struct shared p = { .mask = mask };
	graph_value embedded = x;
	if (d->relative) {
		graph_enter(g, "relative");
		p.table = WEIGHT(b, "distances", "weight", 2 * rows_of(d), s->hidden_size);
		p.table = d->table_normed ? layer_norm(b, "distances.norm", p.table, s->hidden_size) : p.table;
		p.rows = rows_by_distance(b, x);
		graph_leave(g);
	}
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, &p);
		x = d->kernel && !b->layer ? convolved(b, embedded, x, io->mask) : x;
		graph_leave(g);
		states_add(io, x);
	}
	io->last = x;
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	graph_value x = embed(b, io);
	// Padding sees nothing either.
	graph_value sees = op_cast(g, io->mask, DTYPE_BOOL);
	graph_value both = op_and(g, op_unsqueeze(g, sees, 1), op_unsqueeze(g, sees, 2));
	// [batch, 1, seq, seq]
	deberta_layers(b, io, x, op_unsqueeze(g, op_where(g, both, graph_f32(g, 0), graph_f32(g, -FLT_MAX)), 1));
}

static void build_sequence(struct build *b, const struct body *io)
{
	const struct deberta *d = b->s->own;
	int64_t n = b->s->hidden_size;
	graph_value x = activate(b, d->pooler_act, linear(b, "head.pooler", first_token(b, io->last), n, n, true));
	graph_output(b->g, "logits", linear(b, "head.token", x, n, b->s->labels, true));
}

static void build_lm(struct build *b, const struct body *io)
{
	const struct spec *s = b->s;
	const struct deberta *d = s->own;
	int64_t n = s->hidden_size;
	if (d->legacy) {
		head_lm(b, io);
		return;
	}
	graph_value x =
		layer_norm(b, "head.newer.norm", activate(b, s->act, linear(b, "head.newer.dense", io->last, n, n, true)), n);
	graph_value w = WEIGHT(b, "embed.word", "weight", s->vocab_size, n);
	graph_output(b->g, "logits", op_linear_output(b->g, x, w, WEIGHT(b, "head.newer", "bias", s->vocab_size)));
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_sequence, build_sequence },
	{ &head_token },
	{ &head_span },
	{ &head_masked_lm, build_lm },
	{ 0 },
};

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body io = { 0 };
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence") };
	io.ids = b->ids = graph_input(g, "input_ids", DTYPE_I64, 2, shape);
	io.mask = graph_input(g, "attention_mask", DTYPE_I64, 2, shape);
	io.types = s->type_vocab_size > 1 ? graph_input(g, "token_type_ids", DTYPE_I64, 2, shape) : NO_VALUE;
	body(b, &io);
	head_build(b, &io);
}

const struct family deberta = {
	.name = "deberta",
	.architecture = "encoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(deberta, DEBERTA_TRAITS),
};
