// SPDX-License-Identifier: Apache-2.0
// Damaged copies of a trained checkpoint (tools/mutants), and how far in float64 the outputs of each are from those of the
// undamaged one.
//
//	mutants MODEL GOLDEN FOLDER [--short] [--some] [NAME...]
//
// MODEL is a folder with a BertModel, GOLDEN a safetensors file with its inputs (in.NAME) and what transformers makes of them
// (out.NAME). FOLDER gets a checkpoint for each mutant, sharded, where undamaged shards are hard links, and golden.safetensors.
// --short keeps the short rows of the golden file and drops their padding; --some makes only the mutants of the short list.
// Prints one JSON object a line: the undamaged model first, under the name "undamaged", then each mutant: is it equal, that is,
// no farther from the undamaged one in float64 than float32's own rounding took the golden file; can it be seen, by an output
// that the golden file has or one that is not finite; and the largest difference of each output. Exit code 1: something of this
// cannot be done, or the float64 outputs of the undamaged model are not those of the golden file.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "bert64.h"
#include "checkpoint/checkpoint.h"

enum kind {
	NOTHING,
	SCALE,     // all values times `by`
	SCALE_ROW, // those of one row (of a vector: one value)
	SCALE_COLUMN,
	SET,           // one value becomes `by`; `row` is its index in the tensor
	TRANSPOSE,     // of a square weight
	EXCHANGE,      // with the tensors whose names begin with `other`
	COPY,          // from those
	DROP,          // not in the files
	EXCHANGE_ROWS, // [row, row + count) with [other_row, other_row + count)
	EXCHANGE_COLUMNS,
	SHIFT_ROWS, // row i becomes what row i + 1 was; the last stays
	ROUND,      // to `by` bits: integers times the largest value / (2^(by-1) - 1)
	ROUND_F16,
	ROUND_BF16,
	CONFIG,    // the key `weight` of config.json becomes `other`, JSON
	MASK_ALL,  // of the inputs: padding is a token too
	MASK_LAST, // of the inputs: the last token of each row of more than two is padding
	TYPES,     // of the inputs: all tokens are of the second type
};

struct damage {
	enum kind kind;
	const char *weight, *other; // what the names begin with
	size_t row, other_row, count;
	double by;
};

struct mutant {
	const char *name, *what;
	bool some; // of the short list
	struct damage damage, more;
};

#define LAYER(n) "encoder.layer." #n "."
#define SELF(n) LAYER(n) "attention.self."
#define FFN_IN(n) LAYER(n) "intermediate.dense."
#define FFN_OUT(n) LAYER(n) "output.dense."
#define WORDS "embeddings.word_embeddings.weight"
#define POSITIONS "embeddings.position_embeddings.weight"
#define TYPE_ROWS "embeddings.token_type_embeddings.weight"

// Rows of words: 101 is [CLS], 102 [SEP], 7592 "hello", 2088 "world", 2414 "london"; 20000 and 20001 are not in the golden file.
// Heads are 32 wide.
static const struct mutant mutants[] = {
	{ "query-bias-zero", "layer 1: bias of the queries is 0", false, { SCALE, SELF(1) "query.bias" } },
	{ "key-bias-zero", "layer 1: bias of the keys is 0", false, { SCALE, SELF(1) "key.bias" } },
	{ "value-bias-zero", "layer 1: bias of the values is 0", false, { SCALE, SELF(1) "value.bias" } },
	{ "attention-bias-zero", "layer 3: bias of the attention's output is 0", false,
		{ SCALE, LAYER(3) "attention.output.dense.bias" } },
	{ "ffn-in-bias-zero", "layer 2: bias of the FFN's first half is 0", false, { SCALE, FFN_IN(2) "bias" } },
	{ "ffn-out-bias-zero", "layer 5: bias of the FFN's second half is 0", true, { SCALE, FFN_OUT(5) "bias" } },
	{ "bias-value-10-percent", "layer 4: one value of the bias of the attention's output is 10 % larger", false,
		{ SCALE_ROW, LAYER(4) "attention.output.dense.bias", .row = 7, .by = 1.1 } },
	{ "bias-value-1e-6", "layer 4: the same value is a millionth larger", false,
		{ SCALE_ROW, LAYER(4) "attention.output.dense.bias", .row = 7, .by = 1.000001 } },
	{ "bias-value-sign", "layer 4: one value of the bias of the FFN's second half has the other sign", false,
		{ SCALE_ROW, FFN_OUT(4) "bias", .row = 7, .by = -1 } },
	{ "gelu-tanh", "config.json: hidden_act is gelu_new", true, { CONFIG, "hidden_act", "\"gelu_new\"" } },
	{ "relu", "config.json: hidden_act is relu", false, { CONFIG, "hidden_act", "\"relu\"" } },
	{ "silu", "config.json: hidden_act is silu", false, { CONFIG, "hidden_act", "\"silu\"" } },
	{ "epsilon-1e-2", "config.json: layer_norm_eps is 1e-2, not 1e-12", false, { CONFIG, "layer_norm_eps", "1e-2" } },
	{ "epsilon-1e-5", "config.json: layer_norm_eps is 1e-5, not 1e-12", false, { CONFIG, "layer_norm_eps", "1e-5" } },
	{ "heads-6", "config.json: 6 attention heads, not 12", false, { CONFIG, "num_attention_heads", "6" } },
	{ "heads-24", "config.json: 24 attention heads, not 12", false, { CONFIG, "num_attention_heads", "24" } },
	{ "layer-not-read", "config.json: 5 layers, not 6", false, { CONFIG, "num_hidden_layers", "5" } },
	{ "layer-left-out", "config.json: 5 layers, not 6, and no weights of the last", true,
		{ CONFIG, "num_hidden_layers", "5" }, { DROP, LAYER(5) } },
	{ "layers-exchanged", "layers 2 and 3 are exchanged", false, { EXCHANGE, LAYER(2), LAYER(3) } },
	{ "layer-twice", "layer 4 is a copy of layer 3", false, { COPY, LAYER(4), LAYER(3) } },
	{ "attention-not-scaled", "layer 0: scores are not divided by the square root of the head's width", false,
		{ SCALE, SELF(0) "query.", .by = 5.656854249492381 } },
	{ "scores-10-percent", "layer 2: scores are 10 % larger", false, { SCALE, SELF(2) "query.", .by = 1.1 } },
	{ "scores-moved", "layer 2: queries are twice, keys half as large", true, { SCALE, SELF(2) "query.", .by = 2 },
		{ SCALE, SELF(2) "key.", .by = 0.5 } },
	{ "heads-exchanged", "layer 1: heads 3 and 8 are exchanged in queries, keys and values, and not behind them", false,
		{ EXCHANGE_ROWS, SELF(1), .row = 96, .other_row = 256, .count = 32 } },
	{ "heads-exchanged-whole", "layer 1: heads 3 and 8 are exchanged everywhere", false,
		{ EXCHANGE_ROWS, SELF(1), .row = 96, .other_row = 256, .count = 32 },
		{ EXCHANGE_COLUMNS, LAYER(1) "attention.output.dense.weight", .row = 96, .other_row = 256, .count = 32 } },
	{ "query-transposed", "layer 3: weight of the queries is transposed", false, { TRANSPOSE, SELF(3) "query.weight" } },
	{ "attention-transposed", "layer 2: weight of the attention's output is transposed", false,
		{ TRANSPOSE, LAYER(2) "attention.output.dense.weight" } },
	{ "query-key-exchanged", "layer 4: queries and keys are exchanged", false,
		{ EXCHANGE, SELF(4) "query.", SELF(4) "key." } },
	{ "key-value-exchanged", "layer 5: keys and values are exchanged", false,
		{ EXCHANGE, SELF(5) "key.", SELF(5) "value." } },
	{ "query-of-next-layer", "layer 1 has the queries of layer 2", false, { COPY, SELF(1) "query.", SELF(2) "query." } },
	{ "mask-ignored", "inputs: padding is attended to and counted", false, { MASK_ALL } },
	{ "mask-short", "inputs: the last token of each row is taken for padding", false, { MASK_LAST } },
	{ "types-of-inputs", "inputs: every token is of the second type", false, { TYPES } },
	{ "types-exchanged", "the rows of the token types are exchanged", false,
		{ EXCHANGE_ROWS, TYPE_ROWS, .other_row = 1, .count = 1 } },
	{ "type-not-used", "the second token type, which no token has, is 0", false, { SCALE_ROW, TYPE_ROWS, .row = 1 } },
	{ "positions-off-by-one", "the position embeddings begin with the second", true, { SHIFT_ROWS, POSITIONS } },
	{ "positions-zero", "the position embeddings are 0", false, { SCALE, POSITIONS } },
	{ "positions-exchanged", "positions 1 and 2 are exchanged", false,
		{ EXCHANGE_ROWS, POSITIONS, .row = 1, .other_row = 2, .count = 1 } },
	{ "position-not-used", "the last position, which no token has, is NaN", false,
		{ SCALE_ROW, POSITIONS, .row = 511, .by = (double)NAN } },
	{ "words-exchanged", "the words \"hello\" and \"london\" are exchanged", false,
		{ EXCHANGE_ROWS, WORDS, .row = 7592, .other_row = 2414, .count = 1 } },
	{ "words-not-used", "two words that are not in the texts are exchanged", false,
		{ EXCHANGE_ROWS, WORDS, .row = 20000, .other_row = 20001, .count = 1 } },
	{ "separator-zero", "the word [SEP] is 0", false, { SCALE_ROW, WORDS, .row = 102 } },
	{ "word-nan", "the word \"world\" is NaN", false, { SCALE_ROW, WORDS, .row = 2088, .by = (double)NAN } },
	{ "weight-nan", "layer 2: one weight of the values is NaN", true,
		{ SET, SELF(2) "value.weight", .row = 1000, .by = (double)NAN } },
	{ "bias-nan", "layer 5: one bias of the FFN's second half is NaN", false,
		{ SET, FFN_OUT(5) "bias", .row = 300, .by = (double)NAN } },
	{ "norm-nan", "layer 5: one weight of the last layer norm is NaN", true,
		{ SET, LAYER(5) "output.LayerNorm.weight", .row = 5, .by = (double)NAN } },
	{ "weight-inf", "layer 1: one weight of the FFN's second half is infinite", true,
		{ SET, FFN_OUT(1) "weight", .row = 1000, .by = (double)INFINITY } },
	{ "weight-huge", "layer 3: one weight of the FFN's first half is 1e30", false,
		{ SET, FFN_IN(3) "weight", .row = 1000, .by = 1e30 } },
	{ "weight-100", "layer 3: one weight of the FFN's first half is 100", false,
		{ SET, FFN_IN(3) "weight", .row = 1000, .by = 100 } },
	{ "norm-weight-zero", "layer 0: weight of the attention's layer norm is 0", false,
		{ SCALE, LAYER(0) "attention.output.LayerNorm.weight" } },
	{ "norm-bias-zero", "layer 5: bias of the last layer norm is 0", false, { SCALE, LAYER(5) "output.LayerNorm.bias" } },
	{ "norms-exchanged", "layer 2: its two layer norms are exchanged", true,
		{ EXCHANGE, LAYER(2) "attention.output.LayerNorm.", LAYER(2) "output.LayerNorm." } },
	{ "embedding-norm-bias", "bias of the embeddings' layer norm is 0", false, { SCALE, "embeddings.LayerNorm.bias" } },
	{ "attention-zero", "layer 3: weight of the attention's output is 0", true,
		{ SCALE, LAYER(3) "attention.output.dense.weight" } },
	{ "ffn-zero", "layer 4: weight of the FFN's first half is 0", false, { SCALE, FFN_IN(4) "weight" } },
	{ "value-1.7", "layer 3: weight of the values times 1.7", false, { SCALE, SELF(3) "value.weight", .by = 1.7 } },
	{ "layer-1.7", "layer 1: everything times 1.7", false, { SCALE, LAYER(1), .by = 1.7 } },
	{ "ffn-1-percent", "layer 2: weight of the FFN's second half is 1 % larger", true,
		{ SCALE, FFN_OUT(2) "weight", .by = 1.01 } },
	{ "row-sign", "layer 2: one row of the FFN's second half has the other sign", false,
		{ SCALE_ROW, FFN_OUT(2) "weight", .row = 17, .by = -1 } },
	{ "column-zero", "layer 3: one column of the attention's output is 0", false,
		{ SCALE_COLUMN, LAYER(3) "attention.output.dense.weight", .row = 40 } },
	{ "neuron-zero", "layer 1: one column of the FFN's second half is 0", false,
		{ SCALE_COLUMN, FFN_OUT(1) "weight", .row = 700 } },
	{ "4-bits", "layer 2: weight of the FFN's first half rounded to 4 bits", false, { ROUND, FFN_IN(2) "weight", .by = 4 } },
	{ "8-bits", "layer 2: weight of the FFN's first half rounded to 8 bits", false, { ROUND, FFN_IN(2) "weight", .by = 8 } },
	{ "all-bfloat16", "all layers rounded to bfloat16", false, { ROUND_BF16, "encoder." } },
	{ "all-float16", "all layers rounded to float16", false, { ROUND_F16, "encoder." } },
	{ "pooler-zero", "weight of the pooler, whose output the golden file does not have, is 0", false,
		{ SCALE, "pooler.dense.weight" } },
	{ "pooler-nan", "one weight of the pooler, whose output the golden file does not have, is NaN", true,
		{ SET, "pooler.dense.weight", .row = 1000, .by = (double)NAN } },
};

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "mutants: %s: %s\n", what, why);
	exit(1);
}

static void must(enum status s, const struct error *err)
{
	if (s)
		fail(status_word(s), err->text);
}

static void link_file(const char *from, const char *to)
{
	if (link(from, to))
		fail(to, strerror(errno));
}

// ---- a model in memory
// ---------------------------------------------------------------------------------------------------------

struct model {
	struct tensor *weights;
	size_t count;
	json_t *config;
	struct checkpoint checkpoint; // of the one that was read: names and config lie there
};

static void copy_data(struct arena *a, struct tensor *t)
{
	void *copy = arena_alloc(a, t->nbytes);

	memcpy(copy, t->data, t->nbytes);
	t->data = copy;
}

static struct model read_model(struct arena *a, const char *folder)
{
	struct error err = { 0 };
	struct model m = { 0 };

	must(checkpoint_open(&m.checkpoint, folder, &err), &err);
	m.count = m.checkpoint.weight_count;
	m.weights = ARENA_ARRAY(a, m.count, struct tensor);
	m.config = m.checkpoint.config;
	for (size_t i = 0; i < m.count; i++) {
		const struct weight *w = &m.checkpoint.weights[i];

		m.weights[i] = (struct tensor){ .name = w->name, .dtype = w->dtype, .rank = w->rank, .nbytes = w->nbytes };
		m.weights[i].data = arena_alloc(a, w->nbytes);
		memcpy(m.weights[i].data, w->data, w->nbytes);
		memcpy(m.weights[i].dim, w->dim, sizeof w->dim);
	}
	return m;
}

static struct model copy_model(struct arena *a, const struct model *m)
{
	struct model copy = {
		.weights = ARENA_ARRAY(a, m->count, struct tensor), .count = m->count, .config = json_deep_copy(m->config)
	};

	memcpy(copy.weights, m->weights, m->count * sizeof *m->weights);
	return copy;
}

// ---- damage
// --------------------------------------------------------------------------------------------------------------------

static double rounded(double x, enum kind kind)
{
	float f = (float)x;
	uint32_t bits;

	if (kind == ROUND_F16)
		return (double)(_Float16)f;
	memcpy(&bits, &f, sizeof bits);
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
	memcpy(&f, &bits, sizeof f);
	return (double)f;
}

static void round_to_bits(float *x, size_t n, double bits)
{
	double largest = 0, steps = exp2(bits - 1) - 1;

	for (size_t i = 0; i < n; i++)
		largest = fmax(largest, fabs((double)x[i]));
	for (size_t i = 0; i < n && largest > 0; i++)
		x[i] = (float)(round((double)x[i] / largest * steps) / steps * largest);
}

static void exchange(float *a, float *b)
{
	float x = *a;

	*a = *b;
	*b = x;
}

// A vector is a matrix of one column.
static void damage_tensor(const struct damage *d, struct tensor *t)
{
	float *x = t->data;
	size_t n = t->nbytes / sizeof *x, rows = (size_t)t->dim[0], columns = n / rows;

	for (size_t i = 0; i < n; i++) {
		size_t row = i / columns, column = i % columns;

		if (d->kind == SCALE || (d->kind == SCALE_ROW && row == d->row) || (d->kind == SCALE_COLUMN && column == d->row))
			x[i] = d->by == 0 ? 0 : (float)((double)x[i] * d->by);
		else if (d->kind == SET && i == d->row)
			x[i] = (float)d->by;
		else if (d->kind == TRANSPOSE && column > row)
			exchange(&x[i], &x[column * columns + row]);
		else if (d->kind == EXCHANGE_ROWS && row >= d->row && row < d->row + d->count)
			exchange(&x[i], &x[(row - d->row + d->other_row) * columns + column]);
		else if (d->kind == EXCHANGE_COLUMNS && column >= d->row && column < d->row + d->count)
			exchange(&x[i], &x[row * columns + column - d->row + d->other_row]);
		else if (d->kind == SHIFT_ROWS && row + 1 < rows)
			x[i] = x[i + columns];
		else if (d->kind == ROUND_F16 || d->kind == ROUND_BF16)
			x[i] = (float)rounded((double)x[i], d->kind);
	}
	if (d->kind == ROUND)
		round_to_bits(x, n, d->by);
}

static struct tensor *find(struct tensor *tensors, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(tensors[i].name, name))
			return &tensors[i];
	fail("no such tensor", name);
}

static void damage_weights(const struct damage *d, struct model *m, struct arena *a)
{
	size_t length = strlen(d->weight), met = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct tensor *t = &m->weights[i], *other;

		if (strncmp(t->name, d->weight, length) || t->dtype != DTYPE_F32)
			continue;
		met++;
		if (d->kind == DROP) {
			t->data = NULL;
			continue;
		}
		if (d->kind == EXCHANGE || d->kind == COPY) {
			void *data = t->data;

			other = find(m->weights, m->count, arena_printf(a, "%s%s", d->other, t->name + length));
			t->data = other->data;
			other->data = d->kind == EXCHANGE ? data : other->data;
			continue;
		}
		copy_data(a, t);
		damage_tensor(d, t);
	}
	if (!met)
		fail("no such weight", d->weight);
}

// Inputs begin with "in."; what they are attended with is in the golden file only.
static bool is_of_inputs(const struct damage *d)
{
	return d->kind == MASK_ALL || d->kind == MASK_LAST || d->kind == TYPES;
}

static void damage_inputs(const struct damage *d, struct tensor *golden, size_t count, struct arena *a)
{
	struct tensor *t = find(golden, count, d->kind == TYPES ? "in.token_type_ids" : "in.attention_mask");
	int64_t columns = t->dim[1], *x;

	copy_data(a, t);
	x = t->data;
	for (int64_t i = 0; i < t->dim[0] * columns; i++) {
		int64_t row = i / columns, column = i % columns;

		if (d->kind != MASK_LAST)
			x[i] = 1;
		else if (column > 1 && (column + 1 == columns || !x[row * columns + column + 1]))
			x[i] = 0;
	}
}

static void damage(const struct damage *d, struct model *m, struct tensor *golden, size_t golden_count, struct arena *a)
{
	struct error err = { 0 };
	json_t *value;

	if (d->kind == NOTHING)
		return;
	if (is_of_inputs(d)) {
		damage_inputs(d, golden, golden_count, a);
	} else if (d->kind == CONFIG) {
		must(json_bytes(d->weight, d->other, strlen(d->other), &value, &err), &err);
		json_object_set_new(m->config, d->weight, value);
	} else {
		damage_weights(d, m, a);
	}
}

// ---- files
// ---------------------------------------------------------------------------------------------------------------------

// The table of words, each layer, and the rest.
static const char *shard_of(struct arena *a, const char *name)
{
	if (text_is(name, WORDS))
		return "words.safetensors";
	if (strncmp(name, LAYER(0), sizeof "encoder.layer." - 1))
		return "rest.safetensors";
	return arena_printf(a, "layer-%.1s.safetensors", name + sizeof "encoder.layer." - 1);
}

static void write_json(struct arena *a, const char *folder, const char *name, json_t *value)
{
	struct error err = { 0 };
	char *text = json_dumps(value, JSON_INDENT(1));

	must(file_put(arena_printf(a, "%s/%s", folder, name), text, strlen(text), &err), &err);
	free(text);
	json_decref(value);
}

// The shard with the weight at `first`, unless an earlier weight wrote it.
static void write_shard(struct arena *a, const char *folder, const struct model *m, size_t first, const char *intact_folder,
	const struct model *intact)
{
	const char *shard = shard_of(a, m->weights[first].name), *path = arena_printf(a, "%s/%s", folder, shard);
	struct tensor *tensors = ARENA_ARRAY(a, m->count, struct tensor);
	struct error err = { 0 };
	bool damaged = !intact;
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		if (strcmp(shard_of(a, m->weights[i].name), shard))
			continue;
		if (i < first)
			return;
		if (m->weights[i].data)
			tensors[n++] = m->weights[i];
		damaged |= intact && m->weights[i].data != intact->weights[i].data;
	}
	if (damaged && n)
		must(safetensors_write(path, tensors, n, &err), &err);
	else if (n)
		link_file(arena_printf(a, "%s/%s", intact_folder, shard), path);
}

// A checkpoint in `folder`. Shards that are those of `intact` (NULL: there is none) are links to its files.
static void write_model(
	struct arena *a, const char *folder, const struct model *m, const char *intact_folder, const struct model *intact)
{
	struct error err = { 0 };
	json_t *map = json_object();

	must(file_mkdirs(folder, &err), &err);
	for (size_t i = 0; i < m->count; i++) {
		if (m->weights[i].data)
			json_object_set_new(map, m->weights[i].name, json_string(shard_of(a, m->weights[i].name)));
		write_shard(a, folder, m, i, intact_folder, intact);
	}
	write_json(a, folder, "model.safetensors.index.json", json_pack("{s:{}, s:o}", "metadata", "weight_map", map));
	write_json(a, folder, "config.json", json_incref(m->config));
}

struct golden {
	struct tensor *tensors;
	size_t count;
};

// The rows that `keep` names, of the first `tokens` tokens where the second axis counts them; of the cosines also these columns
// only.
static void keep_rows(struct arena *a, struct tensor *t, const size_t *keep, size_t rows, size_t tokens)
{
	bool square = text_is(t->name, "out.cosine"), of_tokens = !strncmp(t->name, "in.", 3);
	size_t columns = square ? rows : of_tokens ? tokens : (size_t)t->dim[1], size = dtype_size(t->dtype);
	uint8_t *data = arena_alloc(a, rows * columns * size);

	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < columns; c++)
			memcpy(data + (r * columns + c) * size,
				(uint8_t *)t->data + (keep[r] * (size_t)t->dim[1] + (square ? keep[c] : c)) * size, size);
	t->data = data;
	t->nbytes = rows * columns * size;
	t->dim[0] = (int64_t)rows;
	t->dim[1] = (int64_t)columns;
}

static void shorten(struct arena *a, struct golden *g)
{
	enum { TOKENS = 16 };
	const struct tensor *mask = find(g->tensors, g->count, "in.attention_mask");
	size_t *keep = ARENA_ARRAY(a, (size_t)mask->dim[0], size_t), rows = 0, tokens = 0;

	for (int64_t r = 0; r < mask->dim[0]; r++) {
		size_t n = 0;

		for (int64_t c = 0; c < mask->dim[1]; c++)
			n += ((int64_t *)mask->data)[r * mask->dim[1] + c] != 0;
		if (n > TOKENS)
			continue;
		keep[rows++] = (size_t)r;
		tokens = n > tokens ? n : tokens;
	}
	for (size_t i = 0; i < g->count; i++)
		keep_rows(a, &g->tensors[i], keep, rows, tokens);
}

static struct golden read_golden(struct arena *a, const char *path, bool only_short)
{
	struct error err = { 0 };
	struct shard shard;
	struct weight *w;
	struct golden g = { 0 };

	must(safetensors_open(a, path, &shard, &w, &g.count, &err), &err);
	g.tensors = ARENA_ARRAY(a, g.count, struct tensor);
	for (size_t i = 0; i < g.count; i++) {
		g.tensors[i] =
			(struct tensor){ .name = w[i].name, .dtype = w[i].dtype, .rank = w[i].rank, .nbytes = w[i].nbytes };
		memcpy(g.tensors[i].dim, w[i].dim, sizeof w[i].dim);
		g.tensors[i].data = arena_alloc(a, w[i].nbytes);
		memcpy(g.tensors[i].data, w[i].data, w[i].nbytes);
		if (w[i].rank != 2 || w[i].dtype != (strncmp(w[i].name, "in.", 3) ? DTYPE_F32 : DTYPE_I64))
			fail(path, "tensors of another rank or type than a sentence transformer's");
	}
	if (only_short)
		shorten(a, &g);
	return g;
}

// ---- figures
// -------------------------------------------------------------------------------------------------------------------

static const char *const output_names[] = {
#define X(name) #name,
	BERT64_OUTPUTS(X)
#undef X
};

static struct bert64_result forward(struct arena *a, const struct model *m, const struct golden *g)
{
	const struct tensor *ids = find(g->tensors, g->count, "in.input_ids");
	struct bert64_model model = { m->weights, m->count, m->config };
	struct bert64_inputs in = { (size_t)ids->dim[0], (size_t)ids->dim[1], ids->data,
		find(g->tensors, g->count, "in.attention_mask")->data, find(g->tensors, g->count, "in.token_type_ids")->data };
	struct bert64_result out;
	const char *missing = bert64_run(&model, &in, a, &out);

	if (missing)
		fail("the forward pass in float64", missing);
	return out;
}

// The largest difference; NaN where one is not finite.
static double distance(const double *x, const double *y, size_t n)
{
	double largest = 0;

	for (size_t i = 0; i < n; i++) {
		double d = fabs(x[i] - y[i]);

		if (!isfinite(d))
			return (double)NAN;
		largest = fmax(largest, d);
	}
	return largest;
}

// How far the golden file, which was computed in float32, is from float64: what float32's own rounding does to these outputs. The
// pooler's output is not in the file and has the figure of the first token's values, which it is made from.
static void rounding(struct arena *a, double *out, const struct bert64_result *exact, const struct golden *g)
{
	for (int o = 0; o < BERT64_pooler_output; o++) {
		struct tensor *t = find(g->tensors, g->count, arena_printf(a, "out.%s", output_names[o]));
		double *x = ARENA_ARRAY(a, exact->count[o], double);

		if (t->nbytes != exact->count[o] * sizeof(float))
			fail(t->name, "another shape than the model's");
		for (size_t i = 0; i < exact->count[o]; i++)
			x[i] = tensor_get(t, i);
		out[o] = distance(x, exact->output[o], exact->count[o]);
	}
	out[BERT64_pooler_output] = out[BERT64_last_hidden_state_first_token];
}

static json_t *figures(const double *values)
{
	json_t *object = json_object();

	for (int o = 0; o < BERT64_OUTPUT_COUNT; o++)
		json_object_set_new(object, output_names[o], isfinite(values[o]) ? json_real(values[o]) : json_null());
	return object;
}

static void print_line(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(3));
	putchar('\n');
	fflush(stdout);
	json_decref(object);
}

struct work {
	const char *folder, *intact_folder;
	struct model intact;
	struct golden golden;
	struct bert64_result exact;
	double allowed[BERT64_OUTPUT_COUNT];
};

static void make(const struct mutant *m, const struct work *w)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct model model = copy_model(&a, &w->intact);
	struct golden golden = { ARENA_ARRAY(&a, w->golden.count, struct tensor), w->golden.count };
	const char *folder = arena_printf(&a, "%s/%s", w->folder, m->name), *file = "golden.safetensors";
	double far[BERT64_OUTPUT_COUNT];
	bool equal = true, seen = false;

	memcpy(golden.tensors, w->golden.tensors, golden.count * sizeof *golden.tensors);
	damage(&m->damage, &model, golden.tensors, golden.count, &a);
	damage(&m->more, &model, golden.tensors, golden.count, &a);
	write_model(&a, folder, &model, w->intact_folder, &w->intact);
	if (is_of_inputs(&m->damage)) {
		file = arena_printf(&a, "%s.safetensors", m->name);
		must(safetensors_write(arena_printf(&a, "%s/%s", w->folder, file), golden.tensors, golden.count, &err), &err);
	}
	struct bert64_result result = forward(&a, &model, &golden);
	for (int o = 0; o < BERT64_OUTPUT_COUNT; o++) {
		far[o] = distance(result.output[o], w->exact.output[o], result.count[o]);
		equal &= far[o] <= w->allowed[o];
		seen |= !(far[o] <= w->allowed[o]) && (o != BERT64_pooler_output || isnan(far[o]));
	}
	print_line(json_pack("{s:s, s:s, s:b, s:s, s:b, s:b, s:o}", "name", m->name, "what", m->what, "some", m->some, "golden",
		file, "equal", equal, "seen", seen, "distance", figures(far)));
	json_decref(model.config);
	arena_done(&a);
}

static bool is_wanted(const struct mutant *m, bool some, char **names)
{
	if (!*names)
		return m->some || !some;
	for (; *names; names++)
		if (!strcmp(*names, m->name))
			return true;
	return false;
}

static bool option(char ***argv, const char *word)
{
	if (!**argv || strcmp(**argv, word))
		return false;
	++*argv;
	return true;
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct work w = { 0 };

	if (argc < 4)
		fail("usage", "mutants MODEL GOLDEN FOLDER [--short] [--some] [NAME...]");
	w.folder = argv[3];
	w.intact_folder = arena_printf(&a, "%s/undamaged", w.folder);
	w.intact = read_model(&a, argv[1]);
	const char *golden = argv[2];
	argv += 4;
	w.golden = read_golden(&a, golden, option(&argv, "--short"));
	bool some = option(&argv, "--some");
	write_model(&a, w.intact_folder, &w.intact, NULL, NULL);
	must(safetensors_write(arena_printf(&a, "%s/golden.safetensors", w.folder), w.golden.tensors, w.golden.count, &err),
		&err);
	w.exact = forward(&a, &w.intact, &w.golden);
	rounding(&a, w.allowed, &w.exact, &w.golden);
	for (int o = 0; o < BERT64_OUTPUT_COUNT; o++)
		if (!(w.allowed[o] < 1e-5))
			fail(output_names[o], "float64 and the golden file do not agree; one of the two is another model");
	print_line(json_pack("{s:s, s:b, s:s, s:s, s:b, s:b, s:o}", "name", "undamaged", "some", true, "what",
		"the checkpoint as it is; the distance is that of the golden file", "golden", "golden.safetensors", "equal", true,
		"seen", false, "distance", figures(w.allowed)));
	for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
		if (is_wanted(&mutants[i], some, argv))
			make(&mutants[i], &w);
	checkpoint_close(&w.intact.checkpoint);
	arena_done(&a);
	return 0;
}
