// SPDX-License-Identifier: Apache-2.0
// From a GGUF file to a checkpoint: its pairs become a configuration, its tensors the weights of transformers' class, by the row
// of its architecture (gguf_arch.h). What has no place in that row is refused: each key and tensor may change what is computed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "checkpoint/computing.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_arch.h"
#include "checkpoint/inside.h"

enum { WEIGHTS_MOST = 1 << 16, TEXT_MOST = 64, COUNT_MOST = 1 << 30, FACTORS_MOST = 1 << 12 };

struct model {
	struct checkpoint *c;
	struct gguf g;
	const struct gguf_arch *arch;
	struct computing k;
	int64_t heads, key_heads, width; // of a head
	size_t direct;                   // c->weights, so far: what is read as it lies
	size_t turned;                   // computed, though not quantised
	size_t of_type[64];              // tensors, by the id of their type
};

// ---- what the file says -------------------------------------------------------------------------------------------------

static enum status refuse(const struct model *m, enum status s, struct error *err, const char *why, const char *what)
{
	return error_set(err, s, "%s: %s%.200s", m->g.file->path, why, what);
}

static const struct gguf_tensor *tensor_find(const struct gguf *g, const char *name)
{
	for (size_t i = 0; i < g->tensor_count; i++)
		if (!strcmp(g->tensors[i].name, name))
			return &g->tensors[i];
	return NULL;
}

static bool has_tensor(const void *file, const char *name)
{
	return tensor_find(file, name) != NULL;
}

// ARCHITECTURE.key; NULL: the file has it not.
static const struct gguf_pair *own_pair(const struct model *m, const char *key)
{
	return gguf_find(&m->g, arena_printf(&m->c->arena, "%s.%s", m->arch->name, key));
}

static enum status own_number(const struct model *m, const char *key, double usual, double *out, struct error *err)
{
	const struct gguf_pair *p = own_pair(m, key);

	*out = usual;
	return !p || (gguf_number(p, out) && fabs(*out) <= 1e30)
		? STATUS_OK
		: error_set(err, STATUS_UNSUPPORTED, "%s: %s is no number, or not the same in all layers: that is not read yet",
			  m->g.file->path, p->key);
}

// A count of at least `least`.
static enum status own_count(
	const struct model *m, const char *key, int64_t usual, int64_t least, int64_t *out, struct error *err)
{
	double v;
	enum status s = own_number(m, key, (double)usual, &v, err);

	if (!s && (v != floor(v) || v < (double)least || v > COUNT_MOST))
		s = error_set(err, STATUS_BAD_INPUT, "%s: %s.%s is no count", m->g.file->path, m->arch->name, key);
	if (!s)
		*out = (int64_t)v;
	return s;
}

static json_t *number_json(const struct gguf_pair *p, double v)
{
	if (p->kind == GGUF_BOOL)
		return json_boolean(v != 0);
	return p->kind == GGUF_F32 || p->kind == GGUF_F64 || fabs(v) > 1e15 ? json_real(v) : json_integer((json_int_t)v);
}

// ---- the configuration --------------------------------------------------------------------------------------------------

static enum status put_key(struct model *m, const struct gguf_key *k, struct error *err)
{
	json_t *config = m->c->config;
	const bool of_tensor = strchr("@?!", k->from[0]) != NULL;
	const struct gguf_tensor *t = of_tensor ? tensor_find(&m->g, k->from + 1) : NULL;
	const struct gguf_pair *p = of_tensor ? NULL : own_pair(m, k->from);
	double v;

	if (!k->config)
		return STATUS_OK;
	if (k->from[0] == '?' || k->from[0] == '!') {
		json_object_set_new(config, k->config, json_boolean((k->from[0] == '?') == (t != NULL)));
	} else if (of_tensor) {
		if (t && k->axis < t->rank)
			json_object_set_new(config, k->config, json_integer(t->dim[k->axis]));
	} else if (p) {
		enum status s = own_number(m, k->from, 0, &v, err);

		if (s)
			return s;
		json_object_set_new(config, k->config, number_json(p, v));
	}
	return STATUS_OK;
}

static bool knows(const struct gguf_key *keys, const char *key)
{
	for (; keys->from; keys++)
		if (text_is(keys->from, key))
			return true;
	return false;
}

static enum status check_keys(const struct model *m, struct error *err)
{
	const size_t n = strlen(m->arch->name);

	for (size_t i = 0; i < m->g.pair_count; i++) {
		const char *key = m->g.pairs[i].key;

		if (!strncmp(key, m->arch->name, n) && key[n] == '.' && !knows(gguf_common_keys, key + n + 1) &&
			!knows(m->arch->keys, key + n + 1))
			return refuse(m, STATUS_UNSUPPORTED, err,
				"assay does not know this key, so it cannot build what it changes: ", key);
	}
	return STATUS_OK;
}

// Heads, and how wide they are.
static enum status read_heads(struct model *m, struct error *err)
{
	int64_t hidden = 0, values = 0;
	enum status s;

	if ((s = own_count(m, "embedding_length", 0, 1, &hidden, err)) ||
		(s = own_count(m, "attention.head_count", 0, 1, &m->heads, err)) ||
		(s = own_count(m, "attention.head_count_kv", m->heads, 1, &m->key_heads, err)) ||
		(s = own_count(m, "attention.key_length", hidden / m->heads, 1, &m->width, err)) ||
		(s = own_count(m, "attention.value_length", m->width, 1, &values, err)))
		return s;
	if (values != m->width || m->heads % m->key_heads || (!(m->arch->flags & GGUF_HEAD_DIM) && m->width * m->heads != hidden))
		return refuse(m, STATUS_UNSUPPORTED, err, "heads of a width or number that is not read yet in ", m->arch->name);
	if (m->arch->flags & GGUF_HEAD_DIM)
		json_object_set_new(m->c->config, "head_dim", json_integer(m->width));
	return STATUS_OK;
}

// The numbers of a small tensor of one dimension, as an array; NULL: the file has it not, or it is no such tensor.
static json_t *factors_of(const struct model *m, const char *name, int64_t count)
{
	const struct gguf_tensor *t = tensor_find(&m->g, name);
	float x[FACTORS_MOST];
	json_t *out;

	if (!t || t->rank != 1 || t->dim[0] != count || count > FACTORS_MOST)
		return NULL;
	ggml_numbers(t->type, m->g.file->map + t->offset, 0, (size_t)count, x);
	out = json_array();
	for (int64_t i = 0; i < count; i++)
		json_array_append_new(out, json_real(isfinite(x[i]) ? (double)x[i] : 0));
	return out;
}

// Factors of each frequency, in tensors: of all lengths (llama3's scaling), or of short and long texts. With the same factors for
// both, transformers' longrope is the first. OK, and nothing set, where there are none.
static enum status put_factors(const struct model *m, json_t *rope, int64_t rotated, struct error *err)
{
	json_t *all = factors_of(m, "rope_freqs.weight", rotated / 2),
	       *below = factors_of(m, "rope_factors_short.weight", rotated / 2),
	       *above = factors_of(m, "rope_factors_long.weight", rotated / 2);
	double attention = 1;
	int64_t original = 0, longest = 0;
	enum status s = own_number(m, "rope.scaling.attn_factor", 1, &attention, err);

	if (!s && !(s = own_count(m, "context_length", 4096, 1, &longest, err)))
		s = own_count(m, "rope.scaling.original_context_length", longest, 1, &original, err);
	if (!s && (all || below || above) && !text_is(json_string_value(json_object_get(rope, "rope_type")), "default"))
		s = refuse(m, STATUS_UNSUPPORTED, err, "factors of rotary positions beside another scaling are not read yet", "");
	if (!s && (all || (below && above))) {
		json_object_set_new(rope, "rope_type", json_string("longrope"));
		json_object_set(rope, "short_factor", all ? all : below);
		json_object_set(rope, "long_factor", all ? all : above);
		json_object_set_new(rope, "attention_factor", json_real(attention));
		json_object_set_new(rope, "original_max_position_embeddings", json_integer(original));
		if (!all)
			json_object_set_new(m->c->config, "original_max_position_embeddings", json_integer(original));
	} else if (!s && attention != 1) {
		s = refuse(m, STATUS_UNSUPPORTED, err, "rope.scaling.attn_factor without factors is not read yet", "");
	}
	json_decref(all);
	json_decref(below);
	json_decref(above);
	return s;
}

// llama.cpp multiplies what follows from the factor by yarn_attn_factor, and transformers has the product in its place.
static enum status put_yarn(const struct model *m, double factor, json_t *rope, struct error *err)
{
	static const struct {
		const char *from, *config;
		bool is_attention;
	} keys[] = { { "rope.scaling.yarn_attn_factor", "attention_factor", true },
		{ "rope.scaling.yarn_beta_fast", "beta_fast", false }, { "rope.scaling.yarn_beta_slow", "beta_slow", false } };
	const double by_factor = factor > 1 ? 1 + 0.1 * log(factor) : 1;
	double v;
	int64_t original = 0;
	enum status s = own_number(m, "rope.scaling.yarn_ext_factor", 1, &v, err);

	if (!s && v != 1)
		s = refuse(m, STATUS_UNSUPPORTED, err, "a yarn_ext_factor that is not 1 is not read yet", "");
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !s; i++)
		if (!(s = own_number(m, keys[i].from, 0, &v, err)) && own_pair(m, keys[i].from))
			json_object_set_new(rope, keys[i].config, json_real(keys[i].is_attention ? v * by_factor : v));
	if (!s)
		s = own_count(m, "rope.scaling.original_context_length", 0, 1, &original, err);
	if (!s)
		json_object_set_new(rope, "original_max_position_embeddings", json_integer(original));
	return s;
}

// rope_parameters of transformers 5.
static enum status read_rope(struct model *m, json_t *rope, struct error *err)
{
	struct arena *a = &m->c->arena;
	const char *type = gguf_text(&m->g, a, arena_printf(a, "%s.rope.scaling.type", m->arch->name), TEXT_MOST);
	double theta, factor;
	int64_t rotated = 0;
	enum status s;

	if ((s = own_number(m, "rope.freq_base", 10000, &theta, err)) ||
		(s = own_number(m, "rope.scaling.factor", 1, &factor, err)) ||
		(s = own_count(m, "rope.dimension_count", m->width, 2, &rotated, err)))
		return s;
	if (rotated > m->width || (rotated != m->width && !(m->arch->flags & GGUF_PARTIAL)))
		return refuse(m, STATUS_UNSUPPORTED, err, "rotary positions of a part of each head are not read yet in ",
			m->arch->name);
	json_object_set_new(rope, "rope_theta", json_real(theta));
	json_object_set_new(rope, "rope_type", json_string("default"));
	if (m->arch->flags & GGUF_PARTIAL)
		json_object_set_new(rope, "partial_rotary_factor", json_real((double)rotated / (double)m->width));
	if (!type && (own_pair(m, "rope.scaling.type") || factor != 1))
		return refuse(m, STATUS_UNSUPPORTED, err,
			"a rope.scaling.factor without rope.scaling.type, or one that is no text", "");
	if (text_is(type, "linear") || text_is(type, "yarn")) {
		json_object_set_new(rope, "rope_type", json_string(type));
		json_object_set_new(rope, "factor", json_real(factor));
		if (text_is(type, "yarn"))
			s = put_yarn(m, factor, rope, err);
	} else if (text_is(type, "longrope") && factor != 1) {
		s = refuse(m, STATUS_UNSUPPORTED, err, "a rope.scaling.factor of longrope is not read yet", "");
	} else if (type && !text_is(type, "none") && !text_is(type, "longrope")) {
		s = refuse(m, STATUS_UNSUPPORTED, err, "rotary scaling is not read yet: ", type);
	}
	return s ? s : put_factors(m, rope, rotated, err);
}

static enum status put_rope(struct model *m, struct error *err)
{
	json_t *rope = json_object();
	enum status s = read_rope(m, rope, err);
	double local;

	if (!s && own_pair(m, "rope.freq_base_swa") && !(s = own_number(m, "rope.freq_base_swa", 10000, &local, err)) &&
		local != 10000)
		s = refuse(m, STATUS_UNSUPPORTED, err, "a rope.freq_base_swa that is not 10000 is not read yet", "");
	if (!s && text_is(m->arch->type, "gemma3_text")) // layers with a window have positions of their own
		rope = json_pack("{s:o, s:{s:s, s:f}}", "full_attention", rope, "sliding_attention", "rope_type", "default",
			"rope_theta", 10000.0);
	if (!s)
		json_object_set(m->c->config, "rope_parameters", rope);
	json_decref(rope);
	return s;
}

// Granite's: 0, or none, is no factor, of attention the square root (llama.cpp); the class would multiply with what it has, 1.
static void put_multipliers(const struct model *m)
{
	static const char *const keys[] = { "attention_multiplier", "embedding_multiplier", "residual_multiplier" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!(json_number_value(json_object_get(m->c->config, keys[i])) != 0))
			json_object_set_new(m->c->config, keys[i], json_real(i ? 1 : 1 / sqrt((double)m->width)));
}

// What is left: windows, the scale of attention, what nothing here may say.
static enum status put_attention(struct model *m, struct error *err)
{
	int64_t window = 0, layers = 0;
	double causal;
	enum status s;

	if ((s = own_count(m, "attention.sliding_window", 0, 0, &window, err)) ||
		(s = own_count(m, "block_count", 0, 1, &layers, err)) || (s = own_number(m, "attention.causal", 1, &causal, err)))
		return s;
	if (window && !(m->arch->flags & GGUF_WINDOW))
		return refuse(m, STATUS_UNSUPPORTED, err, "a sliding window is not read yet in ", m->arch->name);
	if (causal != 0 && own_pair(m, "attention.causal") && text_is(m->arch->type, "bert"))
		return refuse(m, STATUS_UNSUPPORTED, err, "causal attention is not read yet in ", m->arch->name);
	if (causal == 0 && !text_is(m->arch->type, "bert"))
		return refuse(m, STATUS_UNSUPPORTED, err, "attention that is not causal is not read yet in ", m->arch->name);
	if (window)
		json_object_set_new(m->c->config, "sliding_window", json_integer(window));
	if (text_is(m->arch->type, "granite"))
		put_multipliers(m);
	if (m->arch->scaled_layers)
		json_object_set_new(m->c->config, "query_pre_attn_scalar",
			layers == m->arch->scaled_layers
				? json_integer(json_integer_value(json_object_get(m->c->config, "hidden_size")) / m->heads)
				: json_integer(m->width));
	return STATUS_OK;
}

static void release_json(void *v)
{
	json_decref(v);
}

// A text's first or last token: for those who generate.
static void put_token(const struct model *m, const char *from, const char *config)
{
	double v;

	if (gguf_number(gguf_find(&m->g, from), &v) && v >= 0 && v < COUNT_MOST)
		json_object_set_new(m->c->config, config, json_integer((json_int_t)v));
}

static enum status put_config(struct model *m, struct error *err)
{
	json_t *more = m->arch->more ? json_parse(m->arch->more) : NULL;
	enum status s = check_keys(m, err);

	m->c->config = json_pack(
		"{s:s, s:[s], s:s}", "model_type", m->arch->type, "architectures", m->arch->class_name, "dtype", "float32");
	arena_defer(&m->c->arena, release_json, m->c->config);
	json_object_update(m->c->config, more);
	json_decref(more);
	for (const struct gguf_key *k = m->arch->keys; k->from && !s; k++)
		s = put_key(m, k, err);
	put_token(m, "tokenizer.ggml.bos_token_id", "bos_token_id");
	put_token(m, "tokenizer.ggml.eos_token_id", "eos_token_id");
	if (!s && !(s = read_heads(m, err)) && !(s = put_attention(m, err)) && (m->arch->flags & GGUF_ROTARY))
		s = put_rope(m, err);
	return s;
}

// ---- the weights --------------------------------------------------------------------------------------------------------

// What a weight is made of: rows of a tensor, from `at` in the file on.
struct part {
	const struct ggml_type *type;
	const uint8_t *at;
	int64_t length; // of a row
	enum gguf_order order;
	int64_t heads, key_heads, width;
};

static void part_numbers(const struct part *p, int64_t row, int64_t column, size_t count, float *out)
{
	ggml_numbers(p->type, p->at + row * (p->length / p->type->block) * p->type->nbytes, column, count, out);
}

// Which row of the file is this row of the weight?
static int64_t row_of(const struct part *p, int64_t row)
{
	const int64_t within = row % p->width, head = row / p->width, half = p->width / 2;

	if (p->order == GGUF_PAIRS || p->order == GGUF_KEY_PAIRS)
		return head * p->width + within % half * 2 + within / half;
	if (p->order != GGUF_BY_HEAD)
		return row;
	const int64_t queries = p->heads / p->key_heads, group = head / (queries + 2), slot = head % (queries + 2);

	return (slot < queries ? group * queries + slot : p->heads + (slot - queries) * p->key_heads + group) * p->width + within;
}

static bool is_moved(enum gguf_order order)
{
	return order == GGUF_PAIRS || order == GGUF_KEY_PAIRS || order == GGUF_BY_HEAD;
}

static void read_part(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct part *p = k->own;

	if (p->order == GGUF_TURNED && k->rows > 1)
		for (size_t i = 0; i < count; i++)
			part_numbers(p, column + (int64_t)i, row, 1, out + i);
	else if (is_moved(p->order) && k->rows == 1) // a bias: its numbers are what rows are in a matrix
		for (size_t i = 0; i < count; i++)
			part_numbers(p, 0, row_of(p, column + (int64_t)i), 1, out + i);
	else
		part_numbers(p, row_of(p, row), column, count, out);
	for (size_t i = 0; i < count && p->order == GGUF_PLUS_ONE; i++)
		out[i] -= 1;
}

// A tensor, or a part of it, as it lies.
static struct weight stored(const struct model *m, const struct gguf_tensor *t, uint64_t offset, uint64_t nbytes)
{
	return (struct weight){ .name = t->name,
		.dtype = t->type->plain ? t->type->plain : DTYPE_U8,
		.rank = 1,
		.dim = { (int64_t)(t->type->plain ? nbytes / dtype_size(t->type->plain) : nbytes) },
		.shard = m->g.file,
		.offset = offset,
		.nbytes = nbytes,
		.data = m->g.file->map + offset };
}

// One that is computed of such a part, whose weight has this rank and these dimensions before it is turned.
static enum status add_computed(struct model *m, const char *name, const struct gguf_tensor *t, enum gguf_order order,
	uint64_t offset, uint64_t nbytes, int rank, int64_t *dim, struct error *err)
{
	const int64_t heads = order == GGUF_PAIRS ? m->heads
		: order == GGUF_KEY_PAIRS         ? m->key_heads
						  : m->heads + 2 * m->key_heads;
	struct part *p = ARENA_NEW(&m->c->arena, struct part);
	struct weight *codes = ARENA_NEW(&m->c->arena, struct weight);

	if (is_moved(order) && (rank > 2 || dim[0] != heads * m->width || (order != GGUF_BY_HEAD && m->width % 2)))
		return error_set(err, STATUS_BAD_INPUT, "%s: tensor \"%.200s\": %lld rows are not those of %lld heads",
			m->g.file->path, t->name, (long long)dim[0], (long long)heads);
	if (order == GGUF_TURNED && rank > 2)
		return refuse(m, STATUS_BAD_INPUT, err, "is no matrix: ", t->name);
	if (order == GGUF_TURNED && rank == 2) {
		dim[0] = t->dim[1];
		dim[1] = t->dim[0];
	}
	*p = (struct part){ t->type, m->g.file->map + offset, t->dim[t->rank - 1], order, m->heads, m->key_heads, m->width };
	*codes = stored(m, t, offset, nbytes);
	m->k.dtype = t->type->plain && order != GGUF_PLUS_ONE ? t->type->plain : DTYPE_F32;
	m->turned += t->type->plain != DTYPE_NONE;
	return computing_add(&m->k, name, rank, dim, read_part, codes, p, err);
}

// One weight from part `i` of `parts` of a tensor.
static enum status add_weight(struct model *m, const char *name, const struct gguf_tensor *t, enum gguf_order order, int64_t i,
	int64_t parts, struct error *err)
{
	const uint64_t nbytes = t->nbytes / (uint64_t)parts, offset = t->offset + (uint64_t)i * nbytes;
	int64_t dim[TENSOR_MAX_RANK] = { 1 };
	const int skipped = order == GGUF_EACH, added = order == GGUF_ROW && t->rank == 1, rank = t->rank - skipped + added;

	for (int k = 0; k < t->rank - skipped; k++)
		dim[k + added] = t->dim[k + skipped];
	if (t->type->plain && (order == GGUF_AS_IT_IS || order == GGUF_EACH || order == GGUF_ROW)) {
		struct weight *w = &m->c->weights[m->direct++];

		*w = stored(m, t, offset, nbytes);
		w->name = name;
		w->rank = rank;
		memcpy(w->dim, dim, sizeof dim);
		return STATUS_OK;
	}
	return add_computed(m, name, t, order, offset, nbytes, rank, dim, err);
}

// Does the tensor's name, without its end, fit "blk.#.word"? *layer: the digits for #, or empty.
static bool fits(const char *pattern, const char *name, size_t nbytes, char layer[16])
{
	const char *mark = strchr(pattern, '#');
	const size_t head = mark ? (size_t)(mark - pattern) : strlen(pattern);

	layer[0] = 0;
	if (nbytes < head || strncmp(pattern, name, head))
		return false;
	if (!mark)
		return nbytes == head;
	const size_t digits = strspn(name + head, "0123456789"), rest = strlen(mark + 1);
	if (!digits || digits > 6 || (digits > 1 && name[head] == '0') || nbytes != head + digits + rest ||
		strncmp(mark + 1, name + head + digits, rest))
		return false;
	memcpy(layer, name + head, digits);
	layer[digits] = 0;
	return true;
}

// "model.layers.#.experts.*.up" with its numbers.
static const char *named(struct arena *a, const char *pattern, const char *layer, int64_t part, const char *end)
{
	struct text t = { 0 };

	for (; *pattern; pattern++)
		if (*pattern == '#')
			text_add(&t, layer);
		else if (*pattern == '*')
			text_addf(&t, "%lld", (long long)part);
		else
			text_add_bytes(&t, pattern, 1);
	text_add(&t, end);
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// Factors of frequencies are the configuration's.
static enum status check_factors(const struct model *m, const char *name, bool *are, struct error *err)
{
	static const char *const names[] = { "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight" };
	const json_t *rope = json_object_get(m->c->config, "rope_parameters");

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		*are = *are || text_is(names[i], name);
	return !*are || text_is("longrope", json_string_value(json_object_get(rope, "rope_type")))
		? STATUS_OK
		: refuse(m, STATUS_BAD_INPUT, err, "is no factor of each frequency, or lacks the other ones: ", name);
}

// The row for a tensor's name; NULL: none. *end: what follows, ".weight" or ".bias".
static const struct gguf_word *word_of(const struct model *m, const char *name, const char **end, char layer[16])
{
	*end = text_ends(name, ".weight") ? ".weight" : text_ends(name, ".bias") ? ".bias" : NULL;
	const size_t n = strlen(name) - (*end ? strlen(*end) : 0);

	for (const struct gguf_word *w = m->arch->words; w->gguf && *end; w++)
		if (fits(w->gguf, name, n, layer))
			return text_is(name, "output.bias") && !(m->arch->flags & GGUF_HEAD_BIAS) ? NULL : w;
	return NULL;
}

static int64_t parts_of(const struct gguf_word *w, const struct gguf_tensor *t)
{
	return w->order == GGUF_EACH && t->rank > 1 ? t->dim[0] : 1;
}

// Room for all; every tensor has a place.
static enum status count_weights(struct model *m, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < m->g.tensor_count; i++) {
		const struct gguf_tensor *t = &m->g.tensors[i];
		const char *end;
		char layer[16];
		bool is_factor = false;
		enum status s = check_factors(m, t->name, &is_factor, err);

		if (s || is_factor) {
			if (s)
				return s;
			continue;
		}
		const struct gguf_word *w = word_of(m, t->name, &end, layer);
		if (!w)
			return error_set(err, STATUS_UNSUPPORTED,
				"%s: tensor \"%.200s\" has no place in a model of %s that assay builds", m->g.file->path, t->name,
				m->arch->name);
		if (parts_of(w, t) > WEIGHTS_MOST || (count += (size_t)parts_of(w, t)) > WEIGHTS_MOST)
			return refuse(m, STATUS_BAD_INPUT, err, "more weights than any model has: ", t->name);
	}
	m->c->weights = ARENA_ARRAY(&m->c->arena, count, struct weight);
	return STATUS_OK;
}

static enum status add_tensor(struct model *m, const struct gguf_tensor *t, struct error *err)
{
	const char *end;
	char layer[16];
	const struct gguf_word *w = word_of(m, t->name, &end, layer);
	enum status s = STATUS_OK;

	if (!w) // factors
		return s;
	const int64_t parts = parts_of(w, t);
	const bool whole = (w->order == GGUF_EACH && t->rank < 2) || (w->order == GGUF_PLUS_ONE && text_is(".bias", end));
	const enum gguf_order order = whole ? GGUF_AS_IT_IS : w->order;
	m->of_type[t->type->id]++;
	for (int64_t i = 0; i < parts && !s; i++)
		s = add_weight(m, named(&m->c->arena, w->name, layer, i, end), t, order, i, parts, err);
	return s;
}

// "gguf (Q4_K, Q6_K, F32), 15 weights dequantised to f32, 2 in another order".
static const char *say(const struct model *m)
{
	struct text t = { 0 };
	const size_t quantised = m->k.count - m->turned;
	const char *between = "";

	text_add(&t, "gguf (");
	for (uint32_t i = 0; i < sizeof m->of_type / sizeof *m->of_type; i++)
		if (m->of_type[i]) {
			text_addf(&t, "%s%s", between, ggml_type_name(i));
			between = ", ";
		}
	text_add(&t, ")");
	if (quantised)
		text_addf(&t, ", %zu weight%s dequantised to f32", quantised, quantised == 1 ? "" : "s");
	if (m->turned)
		text_addf(&t, ", %zu%s in another order", m->turned, quantised ? "" : m->turned == 1 ? " weight" : " weights");
	const char *out = arena_strdup(&m->c->arena, text_get(&t));
	text_done(&t);
	return out;
}

static enum status put_weights(struct model *m, struct error *err)
{
	enum status s = STATUS_OK;

	m->k = (struct computing){ .c = m->c, .file = m->g.file->path };
	s = count_weights(m, err);
	for (size_t i = 0; i < m->g.tensor_count && !s; i++)
		s = add_tensor(m, &m->g.tensors[i], err);
	if (s)
		return s;
	m->c->weight_count = m->direct;
	m->k.taken = ARENA_ARRAY(&m->c->arena, m->direct + 1, bool);
	m->c->weights_from = say(m);
	return computing_replace(&m->k, err);
}

// ---- the file -----------------------------------------------------------------------------------------------------------

// What converters make besides models says so; older files do not.
static enum status check_kind(const struct model *m, struct error *err)
{
	const char *kind = gguf_text(&m->g, &m->c->arena, "general.type", TEXT_MOST);

	if (!gguf_find(&m->g, "general.type") || text_is(kind, "model"))
		return STATUS_OK;
	if (text_is(kind, "adapter"))
		return refuse(
			m, STATUS_UNSUPPORTED, err, "an adapter (LoRA), and no model: it changes one that is another file", "");
	if (text_is(kind, "mmproj"))
		return refuse(m, STATUS_UNSUPPORTED, err,
			"what makes pictures or sounds into a model's embeddings (mmproj): the model is another file", "");
	return refuse(m, STATUS_UNSUPPORTED, err, "its general.type is not \"model\": ", kind ? kind : "(no text)");
}

static enum status find_arch(struct model *m, struct error *err)
{
	static const char *const numbers[] = { "split.count", "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
		NULL };
	const char *name = gguf_text(&m->g, &m->c->arena, "general.architecture", TEXT_MOST);
	double parts = 0;
	enum status s = check_kind(m, err);

	if (s || (s = gguf_check_numbers(&m->g, numbers, err)) || (s = gguf_check_tokens(&m->g, err)))
		return s;
	if (!name)
		return refuse(m, STATUS_BAD_INPUT, err, "names no general.architecture", "");
	if (gguf_number(gguf_find(&m->g, "split.count"), &parts) && parts > 1)
		return refuse(m, STATUS_UNSUPPORTED, err, "a model in several GGUF files is not read yet", "");
	if (!(m->arch = gguf_arch_find(name, has_tensor, &m->g)))
		return refuse(m, STATUS_UNSUPPORTED, err, "this architecture of GGUF is not read yet: ", name);
	return m->g.tensor_count ? STATUS_OK : refuse(m, STATUS_BAD_INPUT, err, "has no tensors", "");
}

enum status gguf_open(struct checkpoint *c, const char *path, struct error *err)
{
	struct model m = { .c = c };
	enum status s;

	c->path = arena_strdup(&c->arena, path);
	c->shards = ARENA_ARRAY(&c->arena, 1 + SHARDS_MORE, struct shard);
	if ((s = shard_open(&c->shards[0], &c->arena, path, err)))
		return s;
	c->shard_count = 1;
	s = gguf_parse(&m.g, &c->arena, &c->shards[0], err);
	c->shards[0].header_nbytes = m.g.header_nbytes;
	if (!s && !(s = find_arch(&m, err)) && !(s = put_config(&m, err)))
		s = put_weights(&m, err);
	return s;
}
