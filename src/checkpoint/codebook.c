// SPDX-License-Identifier: Apache-2.0
// Codes that index a table, times a scale for each block of numbers.
//   bitsandbytes nf4, fp4   N u8: two numbers a byte, the first in the high half, in blocks of `blocksize` numbers over the whole
//       weight; N.quant_map f32 [16]; N.absmax f32 [blocks], or u8 with N.nested_quant_map f32 [256], N.nested_absmax f32
//       [blocks / nested_blocksize] and nested_offset; N.quant_state.bitsandbytes__nf4 (__fp4): these numbers as JSON, in u8
//   bitsandbytes int8       N i8 [out, in], S.SCB f32 [out], for N = S.weight
//   mxfp4                   N_blocks u8 [experts, out, blocks, 16]: two numbers a byte, the first in the low half; N_scales u8
//       [experts, out, blocks]: powers of two. The weight is [experts, in, out].
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "checkpoint/computing.h"

// ---- bitsandbytes -------------------------------------------------------------------------------------------------------

struct blocks {
	const struct weight *codes, *map, *scales;
	const struct weight *nested_map, *nested_scales; // NULL: scales are f32
	int64_t length, block, nested_block;
	float nested_offset;
};

static float block_scale(const struct blocks *b, int64_t block)
{
	const uint8_t *codes = b->scales->data;

	if (!b->nested_map)
		return number_at(b->scales, (uint64_t)block);
	return number_at(b->nested_map, codes[block]) * number_at(b->nested_scales, (uint64_t)(block / b->nested_block)) +
		b->nested_offset;
}

static void read_blocks(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct blocks *b = k->own;
	const uint8_t *codes = b->codes->data;
	int64_t known = -1;
	float scale = 0, map[16];

	numbers_widen(b->map->data, DTYPE_F32, 16, map);
	for (size_t i = 0; i < count; i++) {
		const int64_t at = row * b->length + column + (int64_t)i, block = at / b->block;

		if (block != known)
			scale = block_scale(b, known = block);
		out[i] = map[at % 2 ? codes[at / 2] & 15 : codes[at / 2] >> 4] * scale;
	}
}

static const struct weight *state_of(const struct computing *k, const char *name, const char **kind)
{
	static const char *const kinds[] = { "nf4", "fp4" };
	const struct weight *w = NULL;

	for (size_t i = 0; i < 2 && !w; i++) {
		*kind = kinds[i];
		w = computing_find(k, name, i ? ".quant_state.bitsandbytes__fp4" : ".quant_state.bitsandbytes__nf4");
	}
	return w;
}

// The library has the 16 numbers of a kind in its code (functional.py, get_4bit_type), whatever map lies in the file.
static bool is_map_of(const struct weight *map, const char *kind)
{
	static const float nf4[16] = { -1, -0.6961928f, -0.5250731f, -0.3949175f, -0.2844414f, -0.1847734f, -0.09105004f, 0,
		0.0795803f, 0.1609302f, 0.2461123f, 0.3379152f, 0.4407098f, 0.562617f, 0.7229568f, 1 };
	static const float fp4[16] = { 0, 0.005208333f, 2.0f / 3, 1, 1.0f / 3, 0.5f, 1.0f / 6, 0.25f, 0, -0.005208333f, -2.0f / 3,
		-1, -1.0f / 3, -0.5f, -1.0f / 6, -0.25f };
	const float *is = text_is(kind, "nf4") ? nf4 : fp4;

	for (uint64_t i = 0; i < 16; i++)
		if (!(fabsf(number_at(map, i) - is[i]) < 1e-6f))
			return false;
	return true;
}

// The shape and the sizes of blocks.
static enum status read_state(const struct weight *state, const char *kind, struct blocks *b, int64_t dim[TENSOR_MAX_RANK],
	int *rank, struct error *err)
{
	const json_t *shape, *offset, *block, *nested;
	enum { STATE_MOST = 1024 }; // bytes; bitsandbytes writes some 200 for a weight, and all weights may share one
	json_t *v = NULL;
	if (state->nbytes > STATE_MOST)
		return computing_refuse(state, STATUS_BAD_INPUT, err, "has %llu bytes; at most %d are read",
			(unsigned long long)state->nbytes, STATE_MOST);
	enum status s = state->dtype == DTYPE_U8 ? json_bytes(state->name, state->data, (size_t)state->nbytes, &v, err)
						 : error_set(err, STATUS_BAD_INPUT, "%.200s: is no text", state->name);

	if (s)
		return error_prefix(err, "%s", state->shard->path);
	shape = json_object_get(v, "shape");
	offset = json_object_get(v, "nested_offset");
	block = json_object_get(v, "blocksize");
	nested = json_object_get(v, "nested_blocksize");
	*rank = (int)json_array_size(shape);
	bool fits = *rank >= 1 && *rank <= 4 && json_is_integer(block);
	for (int i = 0; i < *rank && fits; i++) {
		dim[i] = json_integer_value(json_array_get(shape, (size_t)i));
		fits = dim[i] >= 1 && dim[i] <= (int64_t)1 << 31;
	}
	b->block = json_integer_value(block);
	b->nested_block = nested ? json_integer_value(nested) : 1;
	b->nested_offset = (float)json_number_value(offset);
	fits = fits && text_is(json_string_value(json_object_get(v, "quant_type")), kind) &&
		(offset ? json_is_number(offset) && isfinite(b->nested_offset) : !nested) && b->block >= 1 &&
		b->nested_block >= 1 && b->block <= 1 << 20 && b->nested_block <= 1 << 20;
	json_decref(v);
	return fits ? STATUS_OK : computing_refuse(state, STATUS_BAD_INPUT, err, "says no shape and size of blocks of this kind");
}

static enum status take_4bit(
	struct computing *k, const struct weight *w, const struct weight *state, const char *kind, struct error *err)
{
	struct blocks *b = ARENA_NEW(&k->c->arena, struct blocks);
	int64_t dim[TENSOR_MAX_RANK] = { 0 };
	int rank;
	size_t count;
	enum status s = read_state(state, kind, b, dim, &rank, err);

	if (s)
		return s;
	b->codes = w;
	b->map = computing_find(k, w->name, ".quant_map");
	b->scales = computing_find(k, w->name, ".absmax");
	b->nested_map = computing_find(k, w->name, ".nested_quant_map");
	b->nested_scales = computing_find(k, w->name, ".nested_absmax");
	if (!b->map || !b->scales || !b->nested_map != !b->nested_scales || !tensor_count(rank, dim, &count) ||
		w->dtype != DTYPE_U8 || w->nbytes != (count + 1) / 2)
		return computing_refuse(
			w, STATUS_BAD_INPUT, err, "is not the codes of the weight that its quant_state describes");
	b->length = dim[rank - 1];
	int64_t blocks = ((int64_t)count + b->block - 1) / b->block, nested = (blocks + b->nested_block - 1) / b->nested_block;
	if ((s = computing_check(b->map, DTYPE_F32, 1, &(int64_t){ 16 }, err)) ||
		(s = computing_check(b->scales, b->nested_map ? DTYPE_U8 : DTYPE_F32, 1, &blocks, err)) ||
		(b->nested_map &&
			((s = computing_check(b->nested_map, DTYPE_F32, 1, &(int64_t){ 256 }, err)) ||
				(s = computing_check(b->nested_scales, DTYPE_F32, 1, &nested, err)))))
		return s;
	if (!is_map_of(b->map, kind))
		return computing_refuse(b->map, STATUS_UNSUPPORTED, err, "is not the numbers of %s", kind);
	const struct weight *const used[] = { w, state, b->map, b->scales, b->nested_map, b->nested_scales };
	for (size_t i = 0; i < sizeof used / sizeof *used; i++)
		computing_take(k, used[i]);
	return computing_add(k, w->name, rank, dim, read_blocks, w, b, err);
}

static void read_int8(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct weight *scales = k->own;
	const int8_t *codes = (const int8_t *)k->codes->data + row * k->length + column;
	const float scale = number_at(scales, (uint64_t)row);

	for (size_t i = 0; i < count; i++)
		out[i] = (float)codes[i] * scale * 7.874015718698502e-3f; // the library's 1 / 127
}

static enum status take_int8(struct computing *k, const struct weight *w, struct error *err)
{
	const char *stem = arena_strndup(&k->c->arena, w->name, strlen(w->name) - strlen("weight"));
	const struct weight *scales = computing_find(k, stem, "SCB");
	enum status s;

	if (!scales || w->rank != 2)
		return computing_refuse(w, STATUS_BAD_INPUT, err, "is i8 without a matrix's SCB");
	if ((s = computing_check(scales, DTYPE_F32, 1, w->dim, err)))
		return s;
	computing_take(k, w);
	computing_take(k, scales);
	const struct weight *format = computing_find(k, stem, "weight_format"); // 0: row by row; others are a device's order
	if (format && (!format->nbytes || format->nbytes > sizeof(int64_t) || number_at(format, 0) != 0))
		return computing_refuse(format, STATUS_UNSUPPORTED, err, "is not 0: the matrix does not lie row by row");
	computing_take(k, format);
	return computing_add(k, w->name, 2, w->dim, read_int8, w, scales, err);
}

enum status take_bitsandbytes(struct computing *k, struct error *err)
{
	const char *kind = NULL, *found = NULL;
	const struct weight *state;
	enum status s = STATUS_OK;

	for (size_t i = 0; i < k->c->weight_count && !s; i++) {
		const struct weight *w = &k->c->weights[i];

		if (k->taken[i])
			continue;
		if (w->dtype == DTYPE_U8 && (state = state_of(k, w->name, &kind))) {
			found = kind;
			s = take_4bit(k, w, state, kind, err);
		} else if (w->dtype == DTYPE_I8 && text_ends(w->name, ".weight")) {
			found = "int8";
			s = take_int8(k, w, err);
		}
	}
	text_addf(&k->format, "bitsandbytes, %s", found ? found : "nothing quantised");
	return s;
}

// ---- mxfp4 --------------------------------------------------------------------------------------------------------------

enum { MX_BLOCK = 32 };

struct microscaled {
	const struct weight *scales;
	int64_t in, out;
};

static void read_microscaled(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	static const float values[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6 };
	const struct microscaled *m = k->own;
	const uint8_t *codes = k->codes->data, *scales = m->scales->data;
	const int64_t expert = row / m->in, in = row % m->in;

	for (size_t i = 0; i < count; i++) {
		const int64_t line = expert * m->out + column + (int64_t)i, at = line * m->in + in;
		const int code = at % 2 ? codes[at / 2] >> 4 : codes[at / 2] & 15;

		out[i] = ldexpf(values[code], scales[line * (m->in / MX_BLOCK) + in / MX_BLOCK] - 127);
	}
}

static enum status take_experts(struct computing *k, const char *name, const struct weight *w, struct error *err)
{
	struct microscaled *m = ARENA_NEW(&k->c->arena, struct microscaled);
	enum status s;

	m->scales = computing_find(k, name, "_scales");
	if (!m->scales || w->dtype != DTYPE_U8 || w->rank != 4 || w->dim[3] != MX_BLOCK / 2)
		return computing_refuse(w, STATUS_BAD_INPUT, err, "is no u8 [experts, out, blocks, 16] with scales beside it");
	if ((s = computing_check_converted(k, w, name, err)) || (s = computing_check(m->scales, DTYPE_U8, 3, w->dim, err)))
		return s;
	m->out = w->dim[1];
	m->in = w->dim[2] * MX_BLOCK;
	computing_take(k, w);
	computing_take(k, m->scales);
	return computing_add(k, name, 3, (int64_t[]){ w->dim[0], m->in, m->out }, read_microscaled, w, m, err);
}

enum status take_mxfp4(struct computing *k, struct error *err)
{
	enum status s = computing_check_modules(k, json_array_size(json_object_get(k->how, "modules_to_not_convert")), err);
	const char *name;

	for (size_t i = 0; i < k->c->weight_count && !s; i++)
		if ((name = computing_stem(k, i, "_blocks")))
			s = take_experts(k, name, &k->c->weights[i], err);
	text_addf(&k->format, "mxfp4");
	return s;
}
