// SPDX-License-Identifier: Apache-2.0
// Weights as small numbers and scales: each number less its zero point, times the scale of the block that it lies in.
//   f8 or i8 [.., out, in], scale [.., ceil(out / block rows), ceil(in / block)]: fp8, compressed-tensors
//   i32 [out, in * bits / 32], integers plus 2^(bits - 1), the first in the lowest bits: compressed-tensors' pack-quantized; its
//       zero points i32 [out * bits / 32, groups]
#include <string.h>

#include "checkpoint/computing.h"

enum { BLOCK_MOST = 1 << 30, GROUPS_MOST = 64 }; // a model has one to four groups

struct scaled {
	const struct weight *codes, *scales, *zeros; // zeros NULL: 0
	const int32_t *group;                        // of each column; NULL: column / block
	int64_t rows_each;                           // of a matrix: an expert's, of weights of three dimensions
	int64_t block_rows, block;
	int64_t grid_rows, grid_columns; // of the scales of a matrix
	int bits;                        // of packed integers; 0: they have a type of their own
	int64_t words;                   // of packed integers a row
};

static void read_codes(const struct scaled *s, int64_t row, int64_t column, size_t count, float *out)
{
	const int64_t each = s->bits ? 32 / s->bits : 0;
	const uint8_t *p = s->bits ? NULL : (const uint8_t *)s->codes->data + row * s->codes->dim[s->codes->rank - 1] + column;

	for (size_t i = 0; i < count; i++) {
		int64_t at = column + (int64_t)i;

		out[i] = s->bits
			? (float)(packed_at(s->codes, (uint64_t)(row * s->words + at / each), (int)(at % each), s->bits) -
				  (1 << (s->bits - 1)))
			: s->codes->dtype == DTYPE_I8      ? (float)(int8_t)p[i]
			: s->codes->dtype == DTYPE_F8_E4M3 ? f32_of_f8e4m3(p[i])
							   : f32_of_f8e5m2(p[i]);
	}
}

static float zero_at(const struct scaled *s, int64_t row, int64_t group)
{
	const int64_t each = s->bits ? 32 / s->bits : 0;

	if (!s->zeros)
		return 0;
	if (s->bits)
		return (float)(packed_at(s->zeros, (uint64_t)(row / each * s->grid_columns + group), (int)(row % each), s->bits) -
			(1 << (s->bits - 1)));
	return number_at(s->zeros, (uint64_t)(row * s->grid_columns + group));
}

static void read_scaled(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct scaled *s = k->own;
	int64_t matrix = row / s->rows_each, grid_row = matrix * s->grid_rows + row % s->rows_each / s->block_rows;
	int64_t known = -1;
	float scale = 0, zero = 0;

	read_codes(s, row, column, count, out);
	for (size_t i = 0; i < count; i++) {
		int64_t at = column + (int64_t)i, group = s->group ? s->group[at] : at / s->block;

		if (group != known) {
			scale = number_at(s->scales, (uint64_t)(grid_row * s->grid_columns + group));
			zero = zero_at(s, grid_row, group);
			known = group;
		}
		out[i] = (out[i] - zero) * scale;
	}
}

static void read_cast(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct scaled s = { .codes = k->codes };

	read_codes(&s, row, column, count, out);
}

// ---- what a scale belongs to --------------------------------------------------------------------------------------------

static bool is_f8(const struct weight *w)
{
	return w->dtype == DTYPE_F8_E4M3 || w->dtype == DTYPE_F8_E5M2;
}

static int64_t ceil_of(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

// Along one dimension: a scale for each, for all, or for each block of so many.
static bool settle_block(int64_t size, int64_t scales, int64_t block, int64_t *out)
{
	*out = scales == 1 ? size : scales == size ? 1 : block;
	return *out > 0 && ceil_of(size, *out) == scales;
}

// The shape of the scales of a weight [.., rows, columns] with blocks of block_rows x block where it is neither a number for all
// nor one for each row.
static enum status settle_grid(
	struct scaled *s, int rank, const int64_t *dim, int64_t block_rows, int64_t block, struct error *err)
{
	const struct weight *w = s->scales;
	int64_t rows = dim[rank - 2], columns = dim[rank - 1], matrices = 1;
	bool fits = is_float(w);
	char shape[128];

	s->rows_each = rows;
	for (int i = 0; i + 2 < rank; i++)
		matrices *= dim[i];
	if (fits && w->nbytes == dtype_size(w->dtype)) { // one for all: a matrix like one of its rows
		s->rows_each = s->block_rows = rows * matrices;
		s->block = columns;
		s->grid_rows = s->grid_columns = 1;
		return STATUS_OK;
	}
	int64_t of_rows = w->rank ? w->dim[w->rank == 1 ? 0 : w->rank - 2] : 0,
		of_columns = w->rank > 1 ? w->dim[w->rank - 1] : 1;
	fits = fits && (w->rank == rank || (w->rank == 1 && rank == 2)) &&
		settle_block(rows, of_rows, block_rows, &s->block_rows) && settle_block(columns, of_columns, block, &s->block);
	for (int i = 0; i + 2 < rank && fits; i++)
		fits = w->dim[i] == dim[i];
	s->grid_rows = of_rows;
	s->grid_columns = of_columns;
	if (fits)
		return STATUS_OK;
	return computing_refuse(w, STATUS_BAD_INPUT, err, "%s %s are no scales of a weight %s", dtype_word(w->dtype),
		tensor_shape_text(w->rank, w->dim, shape, sizeof shape), tensor_shape_text(rank, dim, (char[128]){ 0 }, 128));
}

static enum status cast_of(struct computing *k, const struct weight *w, struct error *err)
{
	computing_take(k, w);
	return computing_add(k, w->name, w->rank, w->dim, read_cast, w, NULL, err);
}

// ---- fp8 ----------------------------------------------------------------------------------------------------------------

// Does transformers scale this module's matrix? It does so of linear layers, and where the configuration has no list of those
// that it leaves out, not of the head.
static bool is_scaled(const struct computing *k, const char *module)
{
	static const char *const tables[] = { "wpe", "embed_positions", "position_embeddings", "token_type_embeddings",
		"shared" };
	static const char *const heads[] = { "lm_head", "embed_out" };
	bool is = !computing_is_embedding(module);

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		is = is && !text_ends(module, tables[i]);
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		is = is && !(text_ends(module, heads[i]) && !json_is_array(json_object_get(k->how, "modules_to_not_convert")));
	return is;
}

// Weight w of f8, its scale called NAME_scale_inv, with blocks as the configuration has them.
static enum status take_f8(struct computing *k, const struct weight *w, const int64_t block[2], struct error *err)
{
	static const char end[] = ".weight";
	struct scaled *s = ARENA_NEW(&k->c->arena, struct scaled);
	const char *stem = arena_strndup(&k->c->arena, w->name, strlen(w->name) - (text_ends(w->name, end) ? strlen(end) : 0));
	enum status st = computing_check_converted(k, w, stem, err);

	if (st)
		return st;
	s->codes = w;
	s->scales = computing_find(k, w->name, "_scale_inv");
	if (s->scales && (!is_scaled(k, stem) || w->rank > 3))
		return computing_refuse(
			w, STATUS_UNSUPPORTED, err, "has a scale, and is none of the linear layers that transformers scales");
	if (s->scales && !k->how) // transformers takes the codes for the numbers, and passes the scales over
		return computing_refuse(
			w, STATUS_UNSUPPORTED, err, "has a scale, and config.json no quantization_config that says so");
	if (!s->scales && !k->how)
		return cast_of(k, w, err);
	if (!s->scales)
		return computing_refuse(
			w, STATUS_BAD_INPUT, err, "is %s without %.200s_scale_inv", dtype_word(w->dtype), w->name);
	if (w->rank < 2)
		return computing_refuse(
			w, STATUS_BAD_INPUT, err, "is %s of %d dimensions, with a scale", dtype_word(w->dtype), w->rank);
	if ((st = settle_grid(s, w->rank, w->dim, block[0], block[1], err)))
		return st;
	computing_take(k, w);
	computing_take(k, s->scales);
	return computing_add(k, w->name, w->rank, w->dim, read_scaled, w, s, err);
}

// What such a layer has for its activations.
static void take_activation_scales(struct computing *k)
{
	static const char *const ends[] = { ".activation_scale", ".input_scale", ".input_zero_point", ".output_scale",
		".output_zero_point", ".k_scale", ".v_scale", ".q_scale" };

	for (size_t i = 0; i < k->c->weight_count; i++)
		for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
			if (text_ends(k->c->weights[i].name, ends[e]))
				k->taken[i] = true;
}

enum status take_scaled(struct computing *k, struct error *err)
{
	const json_t *size = json_object_get(k->how, "weight_block_size");
	int64_t block[2] = { 0, 0 };
	enum dtype dtype = DTYPE_NONE;
	enum status s = STATUS_OK;

	if (size && !json_is_null(size)) {
		for (size_t i = 0; i < 2; i++)
			block[i] = json_integer_value(json_array_get(size, i));
		if (json_array_size(size) != 2 || block[0] < 1 || block[1] < 1 || block[0] > BLOCK_MOST || block[1] > BLOCK_MOST)
			return error_set(err, STATUS_BAD_INPUT, "%s: \"weight_block_size\" is not two numbers", k->file);
	}
	s = computing_check_modules(k, json_array_size(json_object_get(k->how, "modules_to_not_convert")), err);
	for (size_t i = 0; i < k->c->weight_count && !s; i++) {
		const struct weight *w = &k->c->weights[i];

		if (k->taken[i] || !is_f8(w))
			continue;
		dtype = w->dtype;
		s = take_f8(k, w, block, err);
	}
	if (k->how)
		take_activation_scales(k);
	text_addf(&k->format, "%s%s%s", k->how ? "fp8, " : "", dtype_word(dtype), k->how ? "" : " without scales");
	if (block[0])
		text_addf(&k->format, " in blocks of %lld x %lld", (long long)block[0], (long long)block[1]);
	return s;
}

// ---- compressed-tensors -------------------------------------------------------------------------------------------------

// What the groups of config_groups have in common for a tensor of so many words a row.
struct weight_scheme {
	int bits;
	bool symmetric; // zero points are not read
	int64_t group_size, block[2];
};

static enum status read_scheme(const struct computing *k, const json_t *group, struct weight_scheme *out, struct error *err)
{
	const json_t *of = json_object_get(group, "weights"), *block = json_object_get(of, "block_structure");
	int64_t bits;
	enum status s;

	*out = (struct weight_scheme){ 0 };
	if ((s = computing_count(k, of, "num_bits", 8, 1, &bits, err)) ||
		(s = computing_count(k, of, "group_size", 0, -1, &out->group_size, err)))
		return s;
	out->bits = (int)bits;
	out->symmetric = !json_is_false(json_object_get(of, "symmetric"));
	out->block[1] = out->group_size;
	for (size_t i = 0; i < 2 && json_array_size(block) == 2; i++)
		if ((out->block[i] = json_integer_value(json_array_get(block, i))) < 1 || out->block[i] > BLOCK_MOST)
			return error_set(err, STATUS_BAD_INPUT, "%s: \"block_structure\" is not two sizes", k->file);
	return STATUS_OK;
}

static enum status packed_shape(const struct weight *w, const struct weight *shape, int64_t dim[2], struct error *err)
{
	const int64_t two = 2;

	if (!shape)
		return computing_refuse(w, STATUS_BAD_INPUT, err, "there is no weight_shape beside it");
	if (shape->dtype != DTYPE_I32) {
		enum status s = computing_check(shape, DTYPE_I64, 1, &two, err);

		if (s)
			return s;
	} else if (shape->rank != 1 || shape->dim[0] != 2) {
		return computing_refuse(shape, STATUS_BAD_INPUT, err, "is not two numbers");
	}
	for (uint64_t i = 0; i < 2; i++) {
		double n =
			(double)tensor_get(&(struct tensor){ .dtype = shape->dtype, .data = (void *)(uintptr_t)shape->data }, i);

		if (!(n >= 1 && n <= 1 << 30))
			return computing_refuse(shape, STATUS_BAD_INPUT, err, "has a size that is none");
		dim[i] = (int64_t)n;
	}
	return STATUS_OK;
}

// Does a list name this module: "Linear", the class of all that is quantised, the module itself, also as another version or the
// class calls it, or (by_expression) "re:" and an expression, which is not looked at?
static bool names_module(const json_t *list, const char *module, bool by_expression, int64_t *steps)
{
	enum { STEPS_A_LIST = 16, STEPS_A_WORD = 8, BYTES_A_STEP = 16 };
	const char *own = computing_behind_prefix(module);
	const json_t *item;
	size_t i;

	*steps += STEPS_A_LIST + (int64_t)json_array_size(list) * (STEPS_A_WORD + (int64_t)strlen(module) / BYTES_A_STEP);
	json_array_foreach((json_t *)(uintptr_t)list, i, item)
	{
		const char *word = json_string_value(item);

		if (word &&
			(text_is(word, "Linear") || (by_expression && text_starts(word, "re:")) ||
				text_is(computing_behind_prefix(word), own)))
			return true;
	}
	return false;
}

// Of a module that the configuration leaves out, and whose weight is quantised, transformers takes the codes for numbers, or has
// none. `is_plain`: of a weight that is not quantised; an expression then may name it in "ignore", and not in a group's targets.
static enum status check_named(struct computing *k, const struct weight *w, const char *stem, bool is_plain, struct error *err)
{
	const json_t *groups = json_object_get(k->how, "config_groups"), *targets;
	const char *name, *dot = strrchr(stem, '.'),
			  *module = dot ? arena_strndup(&k->c->arena, stem, (size_t)(dot - stem)) : stem;
	json_t *group;
	bool named = !is_plain && !json_object_size(groups);
	enum { STEPS_A_GROUP = 4 };
	int64_t steps = STEPS_A_GROUP * (int64_t)json_object_size(groups);

	json_object_foreach((json_t *)(uintptr_t)groups, name, group)
	{
		targets = json_object_get(group, "targets");
		if (json_is_object(json_object_get(group, "weights"))) // else its activations alone are quantised
			named = named || (!targets && !is_plain) || names_module(targets, module, !is_plain, &steps);
	}
	const bool left_out = names_module(json_object_get(k->how, "ignore"), module, is_plain, &steps);
	enum status s = computing_step(k, steps, err);

	if (s)
		return s;
	if (!named)
		return computing_refuse(w, STATUS_UNSUPPORTED, err, "is quantised, and no group's targets name it");
	if (left_out)
		return computing_refuse(w, STATUS_UNSUPPORTED, err, "is quantised, and \"ignore\" names it");
	return STATUS_OK;
}

enum status compressed_tensors_converts(struct computing *k, const struct weight *w, const char *stem, struct error *err)
{
	(void)stem;
	return text_is(json_string_value(json_object_get(k->how, "format")), "dense") ? STATUS_UNSUPPORTED
										      : check_named(k, w, w->name, true, err);
}

// Of groups of which more than one fits a tensor, `targets` decide, which are not read: they may only say the same.
static enum status take_scheme(
	const struct weight *w, const struct weight_scheme *one, bool *found, struct weight_scheme *out, struct error *err)
{
	if (*found &&
		(one->bits != out->bits || one->symmetric != out->symmetric || one->group_size != out->group_size ||
			one->block[0] != out->block[0] || one->block[1] != out->block[1]))
		return computing_refuse(w, STATUS_UNSUPPORTED, err,
			"more than one group of config_groups fits it, and they differ: their targets are not read yet");
	*found = true;
	*out = *one;
	return STATUS_OK;
}

// Which scheme a packed tensor is of: the one whose integers fill its rows.
static enum status packed_scheme(
	const struct computing *k, const struct weight *w, const int64_t dim[2], struct weight_scheme *out, struct error *err)
{
	const json_t *groups = json_object_get(k->how, "config_groups");
	const char *name;
	json_t *group;
	struct weight_scheme one;
	bool found = false;
	enum status s;

	json_object_foreach((json_t *)(uintptr_t)groups, name, group)
	{
		if ((s = read_scheme(k, group, &one, err)))
			return s;
		if (one.bits != 4 && one.bits != 8)
			return error_set(err, STATUS_UNSUPPORTED, "%s: compressed-tensors packs %d bits here; 4 and 8 are read",
				k->file, one.bits);
		if (w->rank == 2 && w->dim[0] == dim[0] && w->dim[1] == ceil_of(dim[1], 32 / one.bits) &&
			(s = take_scheme(w, &one, &found, out, err)))
			return s;
	}
	if (found)
		return STATUS_OK;
	return computing_refuse(w, STATUS_BAD_INPUT, err,
		"%lld x %lld integers do not fill it, as many bits as config_groups has", (long long)dim[0], (long long)dim[1]);
}

// transformers passes over the zero points of a symmetric scheme: older files have zeros there.
static void settle_zeros(struct computing *k, struct scaled *s, const struct weight_scheme *scheme)
{
	if (!s->zeros || !scheme->symmetric)
		return;
	computing_take(k, s->zeros);
	s->zeros = NULL;
}

static enum status take_packed(struct computing *k, const char *stem, const struct weight *w, struct error *err)
{
	struct scaled *s = ARENA_NEW(&k->c->arena, struct scaled);
	const struct weight *shape = computing_find(k, stem, "_shape"), *order = computing_find(k, stem, "_g_idx");
	struct weight_scheme scheme;
	int64_t dim[2];
	enum status st;

	*s = (struct scaled){
		.codes = w, .scales = computing_find(k, stem, "_scale"), .zeros = computing_find(k, stem, "_zero_point")
	};
	if (w->dtype != DTYPE_I32 || !s->scales)
		return computing_refuse(w, STATUS_BAD_INPUT, err, "is no i32, or has no %.200s_scale beside it", stem);
	if ((st = packed_shape(w, shape, dim, err)) || (st = packed_scheme(k, w, dim, &scheme, err)) ||
		(st = settle_grid(s, 2, dim, scheme.block[0], scheme.block[1], err)))
		return st;
	if ((st = check_named(k, w, stem, false, err)))
		return st;
	settle_zeros(k, s, &scheme);
	s->bits = scheme.bits;
	s->words = w->dim[1];
	if (s->zeros &&
		(st = computing_check(
			 s->zeros, DTYPE_I32, 2, (int64_t[]){ ceil_of(s->grid_rows, 32 / s->bits), s->grid_columns }, err)))
		return st;
	if (order && (st = computing_groups(k, order, dim[1], s->grid_columns, s->block, &s->group, err)))
		return st;
	computing_take(k, w);
	computing_take(k, s->scales);
	computing_take(k, s->zeros);
	computing_take(k, shape);
	computing_take(k, order);
	return computing_add(k, stem, 2, dim, read_scaled, w, s, err);
}

// A weight as it is called, of f8 or i8.
static enum status take_plain(struct computing *k, const struct weight *w, const struct weight_scheme *scheme, struct error *err)
{
	struct scaled *s = ARENA_NEW(&k->c->arena, struct scaled);
	const struct weight *order = computing_find(k, w->name, "_g_idx");
	enum status st;

	*s = (struct scaled){
		.codes = w, .scales = computing_find(k, w->name, "_scale"), .zeros = computing_find(k, w->name, "_zero_point")
	};
	if (!s->scales || w->rank < 2)
		return computing_refuse(w, STATUS_BAD_INPUT, err, "is %s without a matrix's scales", dtype_word(w->dtype));
	if ((st = settle_grid(s, w->rank, w->dim, scheme->block[0], scheme->block[1], err)) ||
		(st = check_named(k, w, w->name, false, err)))
		return st;
	settle_zeros(k, s, scheme);
	if (s->zeros && (s->zeros->nbytes / dtype_size(s->zeros->dtype) != s->scales->nbytes / dtype_size(s->scales->dtype)))
		return computing_refuse(s->zeros, STATUS_BAD_INPUT, err, "is not as many numbers as its scales are");
	if (order && (st = computing_groups(k, order, w->dim[w->rank - 1], s->grid_columns, s->block, &s->group, err)))
		return st;
	computing_take(k, w);
	computing_take(k, s->scales);
	computing_take(k, s->zeros);
	computing_take(k, order);
	return computing_add(k, w->name, w->rank, w->dim, read_scaled, w, s, err);
}

// Formats that pack in other ways have tensors by other names; without this their weights would be missing one by one.
static enum status check_formats(const struct computing *k, struct error *err)
{
	static const char *const known[] = { "float-quantized", "int-quantized", "naive-quantized", "pack-quantized",
		"mixed-precision", "dense" };
	const json_t *groups = json_object_get(k->how, "config_groups");
	const char *name, *format = json_string_value(json_object_get(k->how, "format"));
	json_t *group;
	size_t modules = json_array_size(json_object_get(k->how, "ignore"));
	bool fits = !format;
	enum status s;

	if (json_object_size(groups) > GROUPS_MOST) // each weight is held against each
		return error_set(err, STATUS_BAD_INPUT, "%s: config_groups has %zu groups; at most %d are read", k->file,
			json_object_size(groups), GROUPS_MOST);
	json_object_foreach((json_t *)(uintptr_t)groups, name, group) modules +=
		json_array_size(json_object_get(group, "targets"));
	if ((s = computing_check_modules(k, modules, err)))
		return s;
	for (size_t i = 0; i < sizeof known / sizeof *known && !fits; i++)
		fits = text_is(known[i], format);
	json_object_foreach((json_t *)(uintptr_t)groups, name, group)
	{
		const char *own = json_string_value(json_object_get(group, "format"));
		bool is_known = !own;

		for (size_t i = 0; i < sizeof known / sizeof *known && !is_known; i++)
			is_known = text_is(known[i], own) && !text_is(own, "dense"); // its weights are numbers as they are
		format = is_known ? format : own;
		fits = fits && is_known;
	}
	if (json_object_size(json_object_get(k->how, "transform_config")))
		return error_set(
			err, STATUS_UNSUPPORTED, "%s: compressed-tensors with a transform_config is not read yet", k->file);
	const char *sparse = json_string_value(json_object_get(json_object_get(k->how, "sparsity_config"), "format"));
	if (sparse && !text_is(sparse, "dense"))
		return error_set(err, STATUS_UNSUPPORTED, "%s: compressed-tensors in the sparse format \"%.60s\" is not read yet",
			k->file, sparse);
	return fits ? STATUS_OK
		    : error_set(err, STATUS_UNSUPPORTED, "%s: compressed-tensors in the format \"%.60s\" is not read yet",
			      k->file, format);
}

// Which scheme a tensor that is not packed is of: the one whose type is the tensor's.
static enum status plain_scheme(const struct computing *k, const struct weight *w, struct weight_scheme *out, struct error *err)
{
	const json_t *groups = json_object_get(k->how, "config_groups");
	const char *name, *wanted = is_f8(w) ? "float" : "int";
	json_t *group;
	struct weight_scheme one;
	bool found = false;
	enum status s;

	json_object_foreach((json_t *)(uintptr_t)groups, name, group)
	{
		const char *type = json_string_value(json_object_get(json_object_get(group, "weights"), "type"));

		if ((!type || text_is(wanted, type)) &&
			((s = read_scheme(k, group, &one, err)) || (s = take_scheme(w, &one, &found, out, err))))
			return s;
	}
	if (found)
		return STATUS_OK;
	return computing_refuse(w, STATUS_BAD_INPUT, err, "is %s, and no group of config_groups has weights of the type \"%s\"",
		dtype_word(w->dtype), wanted);
}

enum status take_compressed_tensors(struct computing *k, struct error *err)
{
	const json_t *groups = json_object_get(k->how, "config_groups");
	const char *format = json_string_value(json_object_get(k->how, "format")), *name, *stem;
	json_t *group, *first = NULL;
	struct weight_scheme scheme = { 0 }, own;
	enum status s = check_formats(k, err);

	json_object_foreach((json_t *)(uintptr_t)groups, name, group) first = first ? first : group;
	if (!s)
		s = read_scheme(k, first, &scheme, err);
	for (size_t i = 0; i < k->c->weight_count && !s; i++) {
		const struct weight *w = &k->c->weights[i];

		if ((stem = computing_stem(k, i, "_packed")))
			s = take_packed(k, stem, w, err);
		else if (!k->taken[i] && (is_f8(w) || w->dtype == DTYPE_I8) && text_ends(w->name, "weight"))
			s = (s = plain_scheme(k, w, &own, err)) ? s : take_plain(k, w, &own, err);
	}
	take_activation_scales(k);
	text_addf(&k->format, "compressed-tensors%s%s", format ? ", " : "", format ? format : "");
	if (!s)
		text_addf(&k->format, " (%d bits)", scheme.bits);
	return s;
}
