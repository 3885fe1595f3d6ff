// SPDX-License-Identifier: Apache-2.0
// GPTQ and AWQ: unsigned integers packed into 32-bit words, a zero point and a scale for each group of inputs and each output.
//   gptq  qweight i32 [in * bits / 32, out]: 32 / bits inputs a word, the first in the lowest bits;
//         qzeros i32 [groups, out * bits / 32]; scales [groups, out]; g_idx i32 [in]: the group of an input (desc_act). In files
//         of the format "gptq", the usual one, zero points are stored less one.
//   awq   ("gemm") qweight i32 [in, out / 8], qzeros i32 [groups, out / 8]: of eight outputs those at 0, 2, 4, 6, 1, 3, 5, 7 lie
//         one after the other, from the lowest bits up.
// The weight is [out, in]: (q - zero) * scale.
#include <string.h>
#include <strings.h>

#include "checkpoint/computing.h"

struct packed_matrix {
	const struct weight *values, *zeros, *scales;
	const int32_t *group; // of each input; NULL: input / block
	int64_t out, block;
	int bits, zero_plus; // zero_plus: what is added to a stored zero point
	bool by_output;      // awq: words hold outputs, interleaved
};

// Where output `at` of eight lies in its word.
static int awq_place(int64_t at)
{
	return (int)(at % 2 * 4 + at / 2);
}

static int zero_at(const struct packed_matrix *m, int64_t group, int64_t output)
{
	const int64_t each = 32 / m->bits, words = m->out / each;
	const int at = m->by_output ? awq_place(output % each) : (int)(output % each);
	const int zero = packed_at(m->zeros, (uint64_t)(group * words + output / each), at, m->bits);

	return (zero + m->zero_plus) & ((1 << m->bits) - 1);
}

static void read_packed(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct packed_matrix *m = k->own;
	const int64_t each = 32 / m->bits;
	int64_t known = -1;
	float scale = 0;
	int zero = 0;

	for (size_t i = 0; i < count; i++) {
		const int64_t in = column + (int64_t)i, group = m->group ? m->group[in] : in / m->block;
		const int q = m->by_output
			? packed_at(m->values, (uint64_t)(in * (m->out / each) + row / each), awq_place(row % each), m->bits)
			: packed_at(m->values, (uint64_t)(in / each * m->out + row), (int)(in % each), m->bits);

		if (group != known) {
			scale = number_at(m->scales, (uint64_t)(group * m->out + row));
			zero = zero_at(m, group, row);
			known = group;
		}
		out[i] = (float)(q - zero) * scale;
	}
}

// The tensors of the layer called `stem`, m->bits, m->zero_plus and m->by_output being known; group_size -1: one group.
static enum status take_layer(
	struct computing *k, struct packed_matrix *m, const char *stem, int64_t group_size, int64_t dim[2], struct error *err)
{
	const struct weight *order = m->by_output ? NULL : computing_find(k, stem, ".g_idx");
	const int64_t each = 32 / m->bits;
	enum status s;

	m->zeros = computing_find(k, stem, ".qzeros");
	m->scales = computing_find(k, stem, ".scales");
	if (m->values->dtype != DTYPE_I32 || m->values->rank != 2 || !m->zeros || !m->scales)
		return computing_refuse(
			m->values, STATUS_BAD_INPUT, err, "is no matrix of i32, or has no qzeros and scales beside it");
	m->out = m->values->dim[1] * (m->by_output ? each : 1);
	dim[0] = m->out;
	dim[1] = m->values->dim[0] * (m->by_output ? 1 : each);
	m->block = group_size > 0 ? group_size : dim[1];
	int64_t groups = (dim[1] + m->block - 1) / m->block;
	if (!is_float(m->scales) || m->out % each)
		return computing_refuse(
			m->scales, STATUS_BAD_INPUT, err, "is no scale of a weight of %lld outputs", (long long)m->out);
	if ((s = computing_check(m->scales, m->scales->dtype, 2, (int64_t[]){ groups, m->out }, err)) ||
		(s = computing_check(m->zeros, DTYPE_I32, 2, (int64_t[]){ groups, m->out / each }, err)))
		return s;
	if (order && (s = computing_groups(k, order, dim[1], groups, m->block, &m->group, err)))
		return s;
	computing_take(k, m->values);
	computing_take(k, m->zeros);
	computing_take(k, m->scales);
	computing_take(k, order);
	return STATUS_OK;
}

// Of a layer that the configuration leaves out transformers has no quantised weight, nor any other of the file.
enum status gptq_converts(struct computing *k, const struct weight *w, const char *stem, struct error *err)
{
	const json_t *blocks = json_object_get(k->how, "modules_in_block_to_quantize"), *item, *block;
	bool named = !json_array_size(blocks);
	size_t i, j;

	json_array_foreach((json_t *)(uintptr_t)blocks, i, block)
	{
		enum { STEPS_A_BLOCK = 16, STEPS_A_WORD = 32 };
		enum status s = computing_step(k, STEPS_A_BLOCK + STEPS_A_WORD * (int64_t)json_array_size(block), err);

		if (s)
			return s;
		json_array_foreach(block, j, item)
		{
			const char *word = json_string_value(item);

			named = named || (word && json_string_length(item) <= strlen(stem) && text_ends(stem, word));
		}
	}
	return named ? computing_check_converted(k, w, stem, err)
		     : computing_refuse(
			       w, STATUS_UNSUPPORTED, err, "is quantised, and \"modules_in_block_to_quantize\" does not name it");
}

static enum status take_all(
	struct computing *k, const struct packed_matrix *like, const char *method, int64_t group_size, struct error *err)
{
	const json_t *blocks = json_object_get(k->how, "modules_in_block_to_quantize"), *block;
	size_t at, modules = json_array_size(json_object_get(k->how, "modules_to_not_convert"));
	const char *stem;

	json_array_foreach((json_t *)(uintptr_t)blocks, at, block) modules += json_array_size(block);
	enum status s = computing_check_modules(k, modules, err);
	for (size_t i = 0; i < k->c->weight_count && !s; i++) {
		if (!(stem = computing_stem(k, i, ".qweight")))
			continue;
		struct packed_matrix *m = ARENA_NEW(&k->c->arena, struct packed_matrix);
		int64_t dim[2];

		*m = *like;
		m->values = &k->c->weights[i];
		if (!(s = gptq_converts(k, m->values, stem, err)) && !(s = take_layer(k, m, stem, group_size, dim, err)))
			s = computing_add(
				k, arena_printf(&k->c->arena, "%s.weight", stem), 2, dim, read_packed, m->values, m, err);
	}
	text_addf(&k->format, "%s, %d bits in groups of ", method, like->bits);
	if (group_size > 0)
		text_addf(&k->format, "%lld", (long long)group_size);
	else
		text_add(&k->format, "all inputs");
	return s;
}

static enum status bits_and_groups(struct computing *k, int64_t *bits, int64_t *group_size, struct error *err)
{
	enum status s = computing_count(k, k->how, "bits", 4, 1, bits, err);

	return s ? s : computing_count(k, k->how, "group_size", 128, -1, group_size, err);
}

// A word that the configuration has by its name of today or by one of before; NULL: it has none. transformers reads `format`.
static enum status word_of(const struct computing *k, const char *key, const char *before, const char **out, struct error *err)
{
	const json_t *now = json_object_get(k->how, key), *old = json_object_get(k->how, before);

	*out = NULL;
	if ((now && !json_is_null(now) && !json_is_string(now)) || (old && !json_is_null(old) && !json_is_string(old)))
		return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\" or \"%s\" is no text", k->file, key, before);
	*out = json_string_value(now) ? json_string_value(now) : json_string_value(old);
	if (json_string_value(now) && json_string_value(old) && strcasecmp(json_string_value(now), json_string_value(old)) != 0)
		return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\" and \"%s\" say two things", k->file, key, before);
	return STATUS_OK;
}

enum status take_gptq(struct computing *k, struct error *err)
{
	const char *format;
	int64_t bits, group_size;
	enum status s = bits_and_groups(k, &bits, &group_size, err);

	if (s || (s = word_of(k, "format", "checkpoint_format", &format, err)))
		return s;
	if (json_object_size(json_object_get(k->how, "dynamic")))
		return error_set(err, STATUS_UNSUPPORTED,
			"%s: gptq with \"dynamic\", other bits for some modules, is not read yet", k->file);
	if (bits != 2 && bits != 4 && bits != 8)
		return error_set(err, STATUS_UNSUPPORTED, "%s: gptq of %lld bits is not read yet; 2, 4 and 8 are", k->file,
			(long long)bits);
	if (format && !text_is(format, "gptq") && !text_is(format, "gptq_v2"))
		return error_set(err, STATUS_UNSUPPORTED, "%s: gptq in the format \"%.60s\" is not read yet", k->file, format);
	const struct packed_matrix like = { .bits = (int)bits, .zero_plus = !text_is(format, "gptq_v2") };
	return take_all(k, &like, "gptq", group_size, err);
}

enum status take_awq(struct computing *k, struct error *err)
{
	const json_t *zeros = json_object_get(k->how, "zero_point"), *backend = json_object_get(k->how, "backend");
	const char *version;
	int64_t bits, group_size;
	enum status s = bits_and_groups(k, &bits, &group_size, err);

	if (s || (s = word_of(k, "format", "version", &version, err)))
		return s;
	if (zeros && !json_is_null(zeros) && !json_is_boolean(zeros))
		return error_set(err, STATUS_BAD_INPUT, "%s: \"zero_point\" is no boolean", k->file);
	if (text_is(json_string_value(backend), "llm-awq"))
		return error_set(err, STATUS_UNSUPPORTED, "%s: awq as llm-awq packs it is not read yet", k->file);
	if (bits != 4)
		return error_set(
			err, STATUS_UNSUPPORTED, "%s: awq of %lld bits is not read yet; 4 are", k->file, (long long)bits);
	if (version && !text_is(version, "gemm") && !text_is(version, "GEMM"))
		return error_set(err, STATUS_UNSUPPORTED, "%s: awq in the format \"%.60s\" is not read yet", k->file, version);
	if (json_is_false(json_object_get(k->how, "zero_point")))
		return error_set(err, STATUS_UNSUPPORTED, "%s: awq without zero points is not read yet", k->file);
	const struct packed_matrix like = { .bits = 4, .by_output = true };
	return take_all(k, &like, "awq", group_size, err);
}
