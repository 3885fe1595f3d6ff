// SPDX-License-Identifier: Apache-2.0
// preprocessor_config.json: what older versions of transformers wrote is read as newer ones read it (get_size_dict).
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "preprocess/inside.h"

static const char *const switch_keys[SWITCH_COUNT] = {
#define X(name, key) key,
	SWITCH_LIST(X)
#undef X
};

static const json_t *given(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_null(v) ? NULL : v;
}

static enum status not_this(const char *key, const char *wanted, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "%s: %s is wanted", key, wanted);
}

static enum status read_switches(struct settings *out, const json_t *o, struct error *err)
{
	for (int i = 0; i < SWITCH_COUNT; i++) {
		const json_t *v = json_object_get(o, switch_keys[i]);
		if (!v)
			continue;
		if (!json_is_boolean(v) && !json_is_null(v)) // None is in the default's place, and is not true
			return not_this(switch_keys[i], "true or false", err);
		out->on = json_is_true(v) ? out->on | 1u << i : out->on & ~(1u << i);
	}
	return STATUS_OK;
}

static enum status read_int(int *out, const json_t *v, const char *key, int64_t least, int64_t most, struct error *err)
{
	if (!v)
		return STATUS_OK;
	double x = json_number_value(v);
	if (!json_is_number(v) || x != floor(x) || !(x >= (double)least && x <= (double)most))
		return error_set(err, STATUS_BAD_INPUT, "%s: a whole number from %lld to %lld is wanted", key, (long long)least,
			(long long)most);
	*out = (int)x;
	return STATUS_OK;
}

static enum status read_real(double *out, const json_t *v, const char *key, double least, double most, struct error *err)
{
	if (!v)
		return STATUS_OK;
	if (!json_is_number(v) || !(json_number_value(v) >= least && json_number_value(v) <= most))
		return error_set(err, STATUS_BAD_INPUT, "%s: a number from %g to %g is wanted", key, least, most);
	*out = json_number_value(v);
	return STATUS_OK;
}

// An object of edges; a number: the shortest edge where `shortest`, else a square; a list: height and width, or the other way.
// "shortest_edge" and "longest_edge" of some classes are numbers of pixels, so their bound is not a side's.
static enum status read_edges(
	struct edges *out, const json_t *o, const char *key, bool shortest, bool reversed, struct error *err)
{
	static const char *const names[] = { "height", "width", "shortest_edge", "longest_edge", "max_height", "max_width" };
	const json_t *v = given(o, key);
	struct edges e = { 0 };
	int *const members[] = { &e.height, &e.width, &e.shortest, &e.longest, &e.max_height, &e.max_width };
	enum status s = STATUS_OK;

	if (!v)
		return STATUS_OK;
	if (json_is_object(v)) {
		for (int i = 0; i < 6 && s == STATUS_OK; i++)
			s = read_int(
				members[i], given(v, names[i]), key, 1, i == 2 || i == 3 ? INT32_MAX : PICTURE_SIDE_MOST, err);
	} else if (json_is_array(v)) {
		if (json_array_size(v) != 2)
			return not_this(key, "a list of two numbers", err);
		s = read_int(reversed ? &e.width : &e.height, json_array_get(v, 0), key, 1, PICTURE_SIDE_MOST, err);
		if (s == STATUS_OK)
			s = read_int(reversed ? &e.height : &e.width, json_array_get(v, 1), key, 1, PICTURE_SIDE_MOST, err);
	} else {
		s = read_int(shortest ? &e.shortest : &e.height, v, key, 1, PICTURE_SIDE_MOST, err);
		e.width = e.height;
	}
	if (s == STATUS_OK)
		*out = e;
	return s;
}

// Three numbers, or one for all.
static enum status read_three(double out[3], const json_t *o, const char *key, double least, struct error *err)
{
	const json_t *v = given(o, key);
	enum status s = STATUS_OK;

	if (!v)
		return STATUS_OK;
	if (json_is_array(v) && json_array_size(v) != 3)
		return not_this(key, "a list of three numbers", err);
	for (size_t i = 0; i < 3 && s == STATUS_OK; i++)
		s = read_real(&out[i], json_is_array(v) ? json_array_get(v, i) : v, key, least, 1e6, err);
	return s;
}

static enum status read_pinpoints(struct settings *out, const json_t *o, struct error *err)
{
	static const char key[] = "image_grid_pinpoints";
	const json_t *v = given(o, key);
	enum status s = STATUS_OK;

	if (!v)
		return STATUS_OK;
	if (!json_is_array(v) || json_array_size(v) < 1 || json_array_size(v) > PINPOINTS_MOST)
		return not_this(key, "a list of pairs", err);
	out->pinpoint_count = (int)json_array_size(v);
	for (int i = 0; i < out->pinpoint_count && s == STATUS_OK; i++) {
		const json_t *pair = json_array_get(v, (size_t)i);
		if (json_array_size(pair) != 2)
			return not_this(key, "a list of pairs", err);
		s = read_int(&out->pinpoints[i][0], json_array_get(pair, 0), key, 1, PICTURE_SIDE_MOST, err);
		if (s == STATUS_OK)
			s = read_int(&out->pinpoints[i][1], json_array_get(pair, 1), key, 1, PICTURE_SIDE_MOST, err);
	}
	return s;
}

static enum status read_sizes(struct settings *out, const json_t *o, const struct processor_class *row, struct error *err)
{
	const json_t *size = given(o, "size"), *square = given(o, "default_to_square");
	enum status s;

	if (square && !json_is_boolean(square))
		return not_this("default_to_square", "true or false", err);
	if ((s = read_edges(
		     &out->size, o, "size", square ? json_is_false(square) : row->rectangular, row->size_is_reversed, err)) ||
		(s = read_edges(&out->crop, o, "crop_size", false, false, err)) ||
		(s = read_edges(&out->tile, o, "max_image_size", false, false, err)) ||
		(s = read_edges(&out->patch, o, "patch_size", false, false, err)))
		return s;
	if (given(o, "patch_size") && (!out->patch.height || !out->patch.width)) // what is divided by it
		return not_this("patch_size", "height and width, or a number", err);
	if (row->pad_size_is_divisor && json_is_number(given(o, "pad_size")))
		s = read_int(&out->size_divisor, given(o, "pad_size"), "pad_size", 1, PICTURE_SIDE_MOST, err);
	else
		s = read_edges(&out->pad, o, "pad_size", false, false, err);
	if (s == STATUS_OK && row->max_size && json_is_number(size)) {
		out->size.longest = row->max_size;
		s = read_int(&out->size.longest, given(o, "max_size"), "max_size", 1, PICTURE_SIDE_MOST, err);
	}
	// Qwen2-VL's bounds of pixels stood beside the size once.
	if (s == STATUS_OK && row->size == size_pixels &&
		!(s = read_int(&out->size.shortest, given(o, "min_pixels"), "min_pixels", 1, INT32_MAX, err)))
		s = read_int(&out->size.longest, given(o, "max_pixels"), "max_pixels", 1, INT32_MAX, err);
	return s;
}

static enum status read_numbers(struct settings *out, const json_t *o, struct error *err)
{
	enum { SMALL = 1024, PATCHES = 1 << 20 };
	int filter = (int)out->resample;
	enum status s;

	if ((s = read_int(&filter, given(o, "resample"), "resample", 0, FILTER_COUNT - 1, err)) ||
		(s = read_real(&out->rescale_factor, given(o, "rescale_factor"), "rescale_factor", 1e-9, 1e9, err)) ||
		(s = read_real(&out->crop_pct, given(o, "crop_pct"), "crop_pct", 1e-3, 1e3, err)) ||
		(s = read_int(&out->size_divisor, given(o, "size_divisor"), "size_divisor", 0, PICTURE_SIDE_MOST, err)) ||
		(s = read_int(
			 &out->multiple_of, given(o, "ensure_multiple_of"), "ensure_multiple_of", 1, PICTURE_SIDE_MOST, err)) ||
		(s = read_int(&out->temporal, given(o, "temporal_patch_size"), "temporal_patch_size", 1, SMALL, err)) ||
		(s = read_int(&out->merge, given(o, "merge_size"), "merge_size", 1, SMALL, err)) ||
		(s = read_int(&out->patches_most, given(o, "max_num_patches"), "max_num_patches", 1, PATCHES, err)) ||
		(s = read_int(&out->patches_most, given(o, "max_patches"), "max_patches", 1, PATCHES, err)) ||
		(s = read_int(&out->scan_side_least, given(o, "pan_and_scan_min_crop_size"), "pan_and_scan_min_crop_size", 1,
			 PICTURE_SIDE_MOST, err)) ||
		(s = read_int(&out->scan_crops_most, given(o, "pan_and_scan_max_num_crops"), "pan_and_scan_max_num_crops", 1,
			 SMALL, err)) ||
		(s = read_real(&out->scan_ratio_least, given(o, "pan_and_scan_min_ratio_to_activate"),
			 "pan_and_scan_min_ratio_to_activate", 0, 1e6, err)))
		return s;
	out->resample = (enum filter)filter;
	return STATUS_OK;
}

enum status settings_read(struct settings *out, const json_t *o, const struct processor_class *row, struct error *err)
{
	enum status s;

	*out = row->with;
	if ((s = read_switches(out, o, err)) || (s = read_sizes(out, o, row, err)) || (s = read_numbers(out, o, err)) ||
		(s = read_three(out->mean, o, "image_mean", -1e6, err)) ||
		(s = read_three(out->std, o, "image_std", 1e-6, err)) || (s = read_pinpoints(out, o, err)))
		return s;
	out->on &= ~(row->ignored | ((DO_FLIP | DO_OFFSET | DO_INCLUDE_TOP) & ~row->reads));
	for (int i = 0; i < SWITCH_COUNT; i++)
		if (out->on & row->refused & 1u << i)
			return error_set(
				err, STATUS_UNSUPPORTED, "%s of a %s processor is not done here", switch_keys[i], row->name);
	return STATUS_OK;
}

enum status settings_read_timm(struct settings *out, const json_t *pretrained, struct error *err)
{
	static const struct {
		const char *name;
		enum filter filter;
	} filters[] = { { "nearest", FILTER_NEAREST }, { "bilinear", FILTER_BILINEAR }, { "bicubic", FILTER_BICUBIC },
		{ "box", FILTER_BOX }, { "hamming", FILTER_HAMMING }, { "lanczos", FILTER_LANCZOS } };
	const json_t *size = given(pretrained, "input_size"), *name = given(pretrained, "interpolation"),
		     *mode = given(pretrained, "crop_mode");
	size_t i = 0, count = sizeof filters / sizeof *filters;
	enum status s;

	if (json_array_size(size) != 3 || json_integer_value(json_array_get(size, 0)) != 3)
		return not_this("pretrained_cfg: input_size", "[3, height, width]", err);
	if (mode && !text_is(json_string_value(mode), "center"))
		return error_set(err, STATUS_UNSUPPORTED, "pretrained_cfg: no crop_mode but center is done here");
	while (i < count && name && !text_is(json_string_value(name), filters[i].name))
		i++;
	if (i == count)
		return error_set(err, STATUS_UNSUPPORTED, "pretrained_cfg: an interpolation that is not done here");
	out->resample = name ? filters[i].filter : FILTER_BICUBIC;
	if ((s = read_int(&out->crop.height, json_array_get(size, 1), "input_size", 1, PICTURE_SIDE_MOST, err)) ||
		(s = read_int(&out->crop.width, json_array_get(size, 2), "input_size", 1, PICTURE_SIDE_MOST, err)) ||
		(s = read_real(&out->crop_pct, given(pretrained, "crop_pct"), "crop_pct", 1e-3, 1e3, err)) ||
		(s = read_three(out->mean, pretrained, "mean", -1e6, err)) ||
		(s = read_three(out->std, pretrained, "std", 1e-6, err)))
		return s;
	if (out->crop.height != out->crop.width)
		return error_set(err, STATUS_UNSUPPORTED, "pretrained_cfg: an input_size that is no square is not done here");
	out->size = (struct edges){ .shortest = (int)floor(out->crop.height / out->crop_pct) };
	return out->size.shortest <= PICTURE_SIDE_MOST ? STATUS_OK : not_this("pretrained_cfg: crop_pct", "a larger one", err);
}
