// SPDX-License-Identifier: Apache-2.0
// What the formats of quantised weights share: tensors by name, the list of weights afterwards, numbers of any of them.
#include "checkpoint/computed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/tensor.h"
#include "checkpoint/computing.h"
#include "checkpoint/inside.h"

// ---- numbers ------------------------------------------------------------------------------------------------------------

void numbers_widen(const void *from, enum dtype t, size_t n, float *out)
{
	const uint8_t *p = from;
	uint16_t half;

	if (t == DTYPE_F32) {
		memcpy(out, p, n * sizeof *out);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (t != DTYPE_F16 && t != DTYPE_BF16) {
			out[i] = NAN;
			continue;
		}
		memcpy(&half, p + 2 * i, sizeof half); // files promise no alignment
		if (t == DTYPE_F16) {
			out[i] = f32_of_f16(half);
		} else {
			uint32_t bits = (uint32_t)half << 16; // f32_of_bf16, where the compiler sees it

			memcpy(&out[i], &bits, sizeof bits);
		}
	}
}

static void round_to(enum dtype t, size_t n, float *x)
{
	for (size_t i = 0; i < n && t == DTYPE_F16; i++)
		x[i] = f32_of_f16(f16_of_f32(x[i]));
	for (size_t i = 0; i < n && t == DTYPE_BF16; i++)
		x[i] = f32_of_bf16(bf16_of_f32(x[i]));
}

void weight_numbers(const struct weight *w, uint64_t first, size_t count, float *out)
{
	const struct computed *k = w->computed;

	if (!k) {
		numbers_widen((const uint8_t *)w->data + first * dtype_size(w->dtype), w->dtype, count, out);
		return;
	}
	for (size_t done = 0; done < count;) {
		int64_t row = (int64_t)((first + done) / (uint64_t)k->length),
			column = (int64_t)((first + done) % (uint64_t)k->length);
		size_t n = (size_t)(k->length - column) < count - done ? (size_t)(k->length - column) : count - done;

		k->read(k, row, column, n, out + done);
		done += n;
	}
	round_to(w->dtype, count, out);
}

float number_at(const struct weight *w, uint64_t i)
{
	const uint8_t *p = w->data;
	struct tensor t = weight_tensor(w);

	if (w->dtype == DTYPE_F8_E4M3)
		return f32_of_f8e4m3(p[i]);
	if (w->dtype == DTYPE_F8_E5M2)
		return f32_of_f8e5m2(p[i]);
	return (float)tensor_get(&t, (size_t)i);
}

int packed_at(const struct weight *w, uint64_t word, int at, int bits)
{
	uint32_t x;

	memcpy(&x, (const uint8_t *)w->data + 4 * word, sizeof x);
	return (int)(x >> (at * bits) & ((1u << bits) - 1));
}

// ---- what formats look at -----------------------------------------------------------------------------------------------

bool is_float(const struct weight *w)
{
	return w->dtype == DTYPE_F32 || w->dtype == DTYPE_F16 || w->dtype == DTYPE_BF16;
}

const char *computing_stem(struct computing *k, size_t i, const char *end)
{
	const char *name = k->c->weights[i].name;

	if (k->taken[i] || !text_ends(name, end))
		return NULL;
	return arena_strndup(&k->c->arena, name, strlen(name) - strlen(end));
}

const struct weight *computing_find(const struct computing *k, const char *stem, const char *end)
{
	char name[512];
	int n = snprintf(name, sizeof name, "%s%s", stem, end);
	const struct weight *w = n > 0 && (size_t)n < sizeof name ? checkpoint_find(k->c, name) : NULL;

	return w && !k->taken[w - k->c->weights] ? w : NULL;
}

enum status computing_check_modules(const struct computing *k, size_t count, struct error *err)
{
	return count <= COMPUTING_MODULES_MOST ? STATUS_OK
					       : error_set(err, STATUS_BAD_INPUT, "%s: lists %zu modules; at most %d are read",
							 k->file, count, COMPUTING_MODULES_MOST);
}

void computing_take(struct computing *k, const struct weight *w)
{
	if (w)
		k->taken[w - k->c->weights] = true;
}

enum status computing_refuse(const struct weight *w, enum status s, struct error *err, const char *format, ...)
{
	char why[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof why, format, ap);
	va_end(ap);
	return error_set(err, s, "%s: tensor \"%.200s\": %s", w->shard->path, w->name, why);
}

enum status computing_check(const struct weight *w, enum dtype t, int rank, const int64_t *dim, struct error *err)
{
	char wanted[128], found[128];

	if (w->dtype == t && w->rank == rank && (!rank || !memcmp(w->dim, dim, (size_t)rank * sizeof *dim)))
		return STATUS_OK;
	return computing_refuse(w, STATUS_BAD_INPUT, err, "%s %s, where %s %s is what the weight beside it needs",
		dtype_word(w->dtype), tensor_shape_text(w->rank, w->dim, found, sizeof found), dtype_word(t),
		tensor_shape_text(rank, dim, wanted, sizeof wanted));
}

enum status computing_count(const struct computing *k, const json_t *of, const char *key, int64_t usual, int64_t least,
	int64_t *out, struct error *err)
{
	const json_t *v = json_object_get(of, key);
	const json_int_t most = (json_int_t)1 << 31;

	*out = usual;
	if (!v || json_is_null(v))
		return STATUS_OK;
	if (!json_is_integer(v) || json_integer_value(v) < least || json_integer_value(v) > most)
		return error_set(
			err, STATUS_BAD_INPUT, "%s: \"%s\" is no number of at least %lld", k->file, key, (long long)least);
	*out = json_integer_value(v);
	return STATUS_OK;
}

// Of all weights of a checkpoint together, which may share one order: the largest that is published has 18 million. Copies stay
// as they were looked at, whatever becomes of the file; they have a size besides a 16th of the checkpoint's.
enum { COLUMNS_MOST = 1 << 27, COPIED_MOST = 64 << 20, COPIED_PART = 16 };

// Is each column of one of the groups? *plain: of those that lie in order. *odd: the first column that is of none.
static bool are_groups(const void *data, int64_t columns, int64_t groups, int64_t block, bool *plain, int64_t *odd)
{
	*plain = true;
	for (*odd = 0; *odd < columns; ++*odd) {
		int32_t g;

		memcpy(&g, (const uint8_t *)data + 4 * *odd, sizeof g);
		if (g < 0 || g >= groups)
			return false;
		*plain = *plain && g == *odd / block;
	}
	return true;
}

// The order in memory of its own, the last one again where it is the same; NULL: the copies are too large.
static const int32_t *copy_order(struct computing *k, const void *data, int64_t columns)
{
	const size_t nbytes = 4 * (size_t)columns;
	uint64_t most = COPIED_MOST;

	if (k->order.data == data && k->order.columns == columns && !memcmp(k->order.copy, data, nbytes))
		return k->order.copy;
	for (size_t i = 0; i < k->c->shard_count; i++)
		most += k->c->shards[i].nbytes / COPIED_PART;
	if ((k->copied += nbytes) > most)
		return NULL;
	int32_t *copy = ARENA_ARRAY(&k->c->arena, (size_t)columns, int32_t);
	memcpy(copy, data, nbytes);
	k->order.data = data;
	k->order.columns = columns;
	k->order.copy = copy;
	return copy;
}

enum status computing_groups(struct computing *k, const struct weight *w, int64_t columns, int64_t groups, int64_t block,
	const int32_t **out, struct error *err)
{
	enum status s = computing_check(w, DTYPE_I32, 1, &columns, err);
	const int32_t *copy;
	int64_t odd;
	bool plain;

	*out = NULL;
	if (s)
		return s;
	if ((k->columns += columns) > COLUMNS_MOST)
		return computing_refuse(
			w, STATUS_BAD_INPUT, err, "with those before it orders more than %d columns", COLUMNS_MOST);
	if (!are_groups(w->data, columns, groups, block, &plain, &odd))
		return computing_refuse(w, STATUS_BAD_INPUT, err, "column %lld is of a group that is not there: there are %lld",
			(long long)odd, (long long)groups);
	if (plain)
		return STATUS_OK;
	if (!(copy = copy_order(k, w->data, columns)))
		return computing_refuse(w, STATUS_BAD_INPUT, err, "with those before it takes more than the file may");
	if (!are_groups(copy, columns, groups, block, &plain, &odd)) // what is used is what was looked at
		return computing_refuse(w, STATUS_BAD_INPUT, err, "was changed while it was read");
	*out = copy;
	return STATUS_OK;
}

enum { STEPS_MOST = 1000000000 }; // some 2 s; of 30,000 weights and 200 words of a large model a third

// Does an expression, of which only "." and ".*" mean more than themselves, match a name's beginning up to where a module begins
// or ends? Only its last ".*" need be tried again: what stands before it is matched as early as it can be.
static bool begins_module(const char *expression, const char *name, int64_t *steps)
{
	const char *at = name, *e = expression, *rest = NULL, *tried = NULL; // behind the last ".*", and where that was tried

	for (;; ++*steps) {
		const bool ends = !*e && ((at > name && at[-1] == '.') || *at == '.' || !*at);
		if (ends)
			return true;
		if (e[0] == '.' && e[1] == '*') {
			rest = e += 2;
			tried = at;
		} else if (*e && *at && (*e == '.' || *e == *at)) {
			e++;
			at++;
		} else if (rest && *tried) {
			e = rest;
			at = ++tried;
		} else {
			return false;
		}
	}
}

enum status computing_step(struct computing *k, int64_t steps, struct error *err)
{
	k->steps += steps;
	return k->steps <= STEPS_MOST ? STATUS_OK
				      : error_set(err, STATUS_BAD_INPUT,
						"%s: the lists of modules of its quantization_config take more than %d steps to "
						"be held against the weights",
						k->file, STEPS_MOST);
}

enum status computing_check_converted(struct computing *k, const struct weight *w, const char *stem, struct error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(k->how, "modules_to_not_convert"), i, item)
	{
		const char *word = json_string_value(item), *odd = word;

		if (!word)
			continue;
		while (*(odd += strcspn(odd, "\\^$*+?()[]{}|")) == '*' && odd > word && odd[-1] == '.')
			odd++;
		if (*odd)
			return computing_refuse(w, STATUS_UNSUPPORTED, err,
				"is quantised, and \"modules_to_not_convert\" has the expression \"%.60s\", which is not read "
				"yet",
				word);
		const char *own = computing_behind_prefix(word);
		int64_t steps = odd - word;
		if (text_starts(stem, word) || text_ends(stem, word) || begins_module(word, stem, &steps) ||
			(*own && text_starts(computing_behind_prefix(stem), own)))
			return computing_refuse(
				w, STATUS_UNSUPPORTED, err, "is quantised, and \"modules_to_not_convert\" names it");
		enum status s = computing_step(k, steps, err);
		if (s)
			return s;
	}
	return STATUS_OK;
}

const char *computing_behind_prefix(const char *module)
{
	static const char *const prefixes[] = { "model.", "language_model.", "transformer." };
	enum { PREFIXES_MOST = 2 };
	size_t i;

	for (int n = 0; n < PREFIXES_MOST; n++) {
		for (i = 0; i < sizeof prefixes / sizeof *prefixes && !text_starts(module, prefixes[i]); i++)
			;
		module += i < sizeof prefixes / sizeof *prefixes ? strlen(prefixes[i]) : 0;
	}
	return module;
}

static bool ends_with_any(const char *name, const char *const *ends, size_t count)
{
	bool is = false;

	for (size_t i = 0; i < count; i++)
		is = is || text_ends(name, ends[i]);
	return is;
}

bool computing_is_embedding(const char *module)
{
	static const char *const tables[] = { "embed_tokens", "wte", "word_embeddings", "embed_in" };

	return ends_with_any(module, tables, sizeof tables / sizeof *tables);
}

// ---- what they leave ----------------------------------------------------------------------------------------------------

enum status computing_add(struct computing *k, const char *name, int rank, const int64_t *dim, computed_read *read,
	const struct weight *codes, const void *own, struct error *err)
{
	struct arena *a = &k->c->arena;
	size_t count, nbytes;

	if (!tensor_count(rank, dim, &count) || !count || rank < 1 ||
		__builtin_mul_overflow(count, dtype_size(k->dtype), &nbytes))
		return computing_refuse(
			codes, STATUS_BAD_INPUT, err, "of a weight without numbers, or with more than memory has");
	if (k->count == k->capacity) {
		size_t capacity = k->capacity ? 2 * k->capacity : 64;
		struct weight *more = ARENA_ARRAY(a, capacity, struct weight);

		if (k->count)
			memcpy(more, k->made, k->count * sizeof *more);
		k->made = more;
		k->capacity = capacity;
	}
	struct computed *how = ARENA_NEW(a, struct computed);
	*how = (struct computed){ .read = read,
		.rows = (int64_t)(count / (size_t)dim[rank - 1]),
		.length = dim[rank - 1],
		.own = own,
		.codes = codes };
	struct weight *w = &k->made[k->count++];
	*w = (struct weight){ .name = arena_strdup(a, name),
		.dtype = k->dtype,
		.rank = rank,
		.nbytes = nbytes,
		.shard = codes->shard,
		.computed = how };
	memcpy(w->dim, dim, (size_t)rank * sizeof *dim);
	return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct weight *)a)->name, ((const struct weight *)b)->name);
}

enum status computing_replace(struct computing *k, struct error *err)
{
	struct checkpoint *c = k->c;
	struct weight *all = ARENA_ARRAY(&c->arena, c->weight_count + k->count, struct weight);
	size_t n = 0;

	for (size_t i = 0; i < c->weight_count; i++)
		if (!k->taken[i])
			all[n++] = c->weights[i];
	if (k->count)
		memcpy(all + n, k->made, k->count * sizeof *all);
	n += k->count;
	qsort(all, n, sizeof *all, by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(all[i - 1].name, all[i].name))
			return computing_refuse(&all[i], STATUS_BAD_INPUT, err, "is there twice, quantised and as it is");
	c->weights = all;
	c->weight_count = n;
	return STATUS_OK;
}

// Each computed weight gets a place in a file that is none, so that it can be named as weights in files are.
static enum status place(struct checkpoint *c, const char *facts, struct error *err)
{
	struct shard *shard = &c->shards[c->shard_count];
	uint64_t at = 0;
	struct hash h;
	char hex[65];

	hash_init(&h);
	hash_add_text(&h, "computed 1");
	hash_add_text(&h, facts);
	hash_hex(&h, hex);
	*shard = (struct shard){ .path = arena_printf(&c->arena, "%s/computed-weights", c->path),
		.location = "computed-weights",
		.computed = true,
		.identity = arena_printf(&c->arena, "computed:%s", hex) };
	shard->real_path = shard->path;
	for (size_t i = 0; i < c->weight_count; i++) {
		struct weight *w = &c->weights[i];

		if (!w->computed)
			continue;
		w->shard = shard;
		w->offset = at;
		if (__builtin_add_overflow(at, w->nbytes, &at) || at > INT64_MAX)
			return error_set(err, STATUS_BAD_INPUT, "%s: its weights are larger than any file", c->path);
		c->computed_count++;
	}
	shard->nbytes = (size_t)at;
	c->shard_count += c->computed_count > 0;
	return STATUS_OK;
}

// ---- the formats --------------------------------------------------------------------------------------------------------

static const struct format {
	const char *method; // quant_method
	enum status (*take)(struct computing *k, struct error *err);
	computing_converts *converts; // of a class whose modules have no plain weight then; NULL: transformers takes that
	enum reach { LAYERS, ALL_BUT_HEAD, ALL } reach; // the linear layers that it converts
} formats[] = {
	{ "fp8", take_scaled, NULL, 0 },
	{ "compressed-tensors", take_compressed_tensors, compressed_tensors_converts, ALL },
	{ "gptq", take_gptq, gptq_converts, LAYERS },
	{ "awq", take_awq, gptq_converts, ALL_BUT_HEAD },
	{ "bitsandbytes", take_bitsandbytes, NULL, 0 },
	{ "mxfp4", take_mxfp4, NULL, 0 },
};

static enum dtype wanted_dtype(const json_t *config)
{
	const json_t *text = json_object_get(config, "text_config");
	const json_t *const of[] = { config, json_is_object(text) ? text : NULL };
	static const char *const keys[] = { "dtype", "torch_dtype" };

	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 2; k++) {
			enum dtype t = dtype_find(json_string_value(json_object_get(of[i], keys[k])));

			if (t == DTYPE_F16 || t == DTYPE_BF16)
				return t;
		}
	return DTYPE_F32;
}

static const struct format *format_of(const json_t *how)
{
	const char *method = json_string_value(json_object_get(how, "quant_method"));

	for (size_t i = 0; method && i < sizeof formats / sizeof *formats; i++)
		if (text_is(formats[i].method, method))
			return &formats[i];
	return NULL;
}

bool quantisation_is_read(const json_t *quantization_config)
{
	return format_of(quantization_config) != NULL;
}

// By name without its digits: what a module is called in each layer.
static int by_name_in_layers(const void *a, const void *b)
{
	const unsigned char *x = (const unsigned char *)((const struct weight *)a)->name;
	const unsigned char *y = (const unsigned char *)((const struct weight *)b)->name;

	for (;; x++, y++) {
		for (; *x >= '0' && *x <= '9'; x++)
			;
		for (; *y >= '0' && *y <= '9'; y++)
			;
		if (*x != *y || !*x)
			return *x - *y;
	}
}

// Of a module that is a linear layer in every class that has it? Of GPT-2's, whose matrices are [in, out], none is.
static bool is_linear(const struct weight *w)
{
#define WEIGHT_OF(module) "." module ".weight"
	static const char *const linear[] = { WEIGHT_OF("q_proj"), WEIGHT_OF("k_proj"), WEIGHT_OF("v_proj"), WEIGHT_OF("o_proj"),
		WEIGHT_OF("out_proj"), WEIGHT_OF("qkv_proj"), WEIGHT_OF("gate_proj"), WEIGHT_OF("up_proj"),
		WEIGHT_OF("down_proj"), WEIGHT_OF("gate_up_proj"), WEIGHT_OF("fc1"), WEIGHT_OF("fc2"),
		WEIGHT_OF("query_key_value"), WEIGHT_OF("dense_h_to_4h"), WEIGHT_OF("dense_4h_to_h"), WEIGHT_OF("query"),
		WEIGHT_OF("key"), WEIGHT_OF("value"), WEIGHT_OF("dense"), WEIGHT_OF("q_lin"), WEIGHT_OF("k_lin"),
		WEIGHT_OF("v_lin"), WEIGHT_OF("out_lin"), WEIGHT_OF("lin1"), WEIGHT_OF("lin2"), WEIGHT_OF("wi"),
		WEIGHT_OF("wi_0"), WEIGHT_OF("wi_1"), WEIGHT_OF("wo"), WEIGHT_OF("SelfAttention.q"), WEIGHT_OF("SelfAttention.k"),
		WEIGHT_OF("SelfAttention.v"), WEIGHT_OF("SelfAttention.o") };
	static const char *const either[] = { WEIGHT_OF("c_attn"), WEIGHT_OF("c_fc") };
#undef WEIGHT_OF
	return ends_with_any(w->name, linear, sizeof linear / sizeof *linear) ||
		(w->dim[0] > w->dim[1] && ends_with_any(w->name, either, sizeof either / sizeof *either));
}

static bool is_head(const char *name, bool is_tied)
{
	static const char *const heads[] = { "score.weight", "classifier.weight", "qa_outputs.weight" };

	return (text_is(name, "lm_head.weight") && !is_tied) || ends_with_any(name, heads, sizeof heads / sizeof *heads);
}

// A linear layer, or a module that is quantised in other layers, whose weight is plain: transformers makes it quantised, finds no
// scales of it in the file, and computes with what memory holds.
static enum status check_plain(struct computing *k, const struct format *format, struct error *err)
{
	static const char end[] = ".weight";
	const bool is_tied = json_is_true(json_object_get(k->c->config, "tie_word_embeddings"));
	enum status s = STATUS_OK;

	if (k->count)
		qsort(k->made, k->count, sizeof *k->made, by_name_in_layers);
	for (size_t i = 0; i < k->c->weight_count && !s; i++) {
		const struct weight *w = &k->c->weights[i];

		if (k->taken[i] || !is_float(w) || w->rank != 2 || !text_ends(w->name, end) || w->shard->synthetic)
			continue;
		const bool is_sibling = k->count && bsearch(w, k->made, k->count, sizeof *k->made, by_name_in_layers);
		if (!is_sibling && !(format->reach == ALL && is_head(w->name, is_tied)) &&
			!(is_linear(w) && (format->reach != LAYERS || !k->count)))
			continue;
		const char *module = arena_strndup(&k->c->arena, w->name, strlen(w->name) - strlen(end));
		s = format->converts(k, w, module, err);
		if (!s)
			return computing_refuse(w, STATUS_UNSUPPORTED, err,
				"is not quantised, and by the quantization_config of config.json it is: transformers finds no "
				"scales of it");
		s = s == STATUS_UNSUPPORTED ? STATUS_OK : s;
	}
	return s;
}

static enum status take(struct computing *k, struct error *err)
{
	const struct format *format = format_of(k->how);
	const char *method = json_string_value(json_object_get(k->how, "quant_method"));
	enum status s;

	if (!k->how)
		return take_scaled(k, err);
	if (!format)
		return error_set(err, STATUS_UNSUPPORTED, "%s: weights quantised by \"%.60s\" are not read yet", k->file,
			method ? method : "(no quant_method)");
	s = format->take(k, err);
	return s || !format->converts ? s : check_plain(k, format, err);
}

// What quantization_config says, where it does.
static enum status dequantise(struct checkpoint *c, struct text *facts, struct error *err)
{
	struct computing k = {
		.c = c, .how = json_object_get(c->config, "quantization_config"), .dtype = wanted_dtype(c->config)
	};

	k.how = json_is_object(k.how) ? k.how : NULL;
	k.file = arena_printf(&c->arena, "%s/config.json", c->path);
	k.taken = ARENA_ARRAY(&c->arena, c->weight_count, bool);
	enum status s = take(&k, err);
	if (!s && k.count) {
		char *text = k.how ? json_dumps(k.how, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

		c->weights_from = arena_printf(&c->arena, "%s, %zu weight%s dequantised to %s", text_get(&k.format), k.count,
			k.count == 1 ? "" : "s", dtype_word(k.dtype));
		s = computing_replace(&k, err);
		text_addf(facts, "%s %s", dtype_word(k.dtype), text ? text : "");
		free(text);
	}
	text_done(&k.format);
	return s;
}

enum status computed_find(struct checkpoint *c, const char *adapter, struct error *err)
{
	struct text facts = { 0 };
	enum status s = STATUS_OK;

	if (!c->weight_count)
		return adapter ? error_set(err, STATUS_BAD_INPUT, "%s: its base model %s has no weights here", adapter, c->path)
			       : STATUS_OK;
	if (c->weights_from) // a GGUF file's
		text_addf(&facts, "gguf 1 %s", c->weights_from);
	else
		s = dequantise(c, &facts, err);
	if (!s && adapter)
		s = adapter_apply(c, adapter, &facts, err);
	if (!s && c->weights_from)
		s = place(c, text_get(&facts), err);
	text_done(&facts);
	return s;
}
