// SPDX-License-Identifier: Apache-2.0
// Calibration for int8-static: between what the inputs of linear layers lie, over some seeded inputs of the cell's shape, by a
// graph in float32 that has them as outputs. Smallest and largest value, nothing cut off; the inputs are others than those that
// are judged. It runs in a child of its own, by one engine for all platforms, and stays in the cache under everything that
// decides it.
//
//     CACHE/reference/KEY.ranges.json    {"inputs": 8, "first_seed": 1, "method": "min-max", "engine": "ort 1.31.1",
//                                         "ranges": [{"name", "low", "high"}, ...],
//                                         "made_from", "sha256"}    as base/sealed.h has them
#include "cell/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/claim.h"
#include "base/json.h"
#include "base/sealed.h"
#include "cell/say.h"
#include "cell/scratch.h"

enum { RANGES_MOST_NBYTES = 16 << 20 };

static enum status path_of(struct work *w, const char **path, struct error *err)
{
	const char *folder, *key;
	json_t *facts = json_pack("{s:s, s:s?, s:s, s:s?, s:I, s:I, s:I, s:I, s:I}", "of", "ranges 2", "graph_and_weights",
		w->part->artifact.key, "engine", w->backend->name, "engine_version", w->devices.version, "seed",
		(json_int_t)w->ask.seed, "inputs", (json_int_t)w->ask.calibrate, "batch", (json_int_t)w->shape.batch, "sequence",
		(json_int_t)w->shape.sequence, "image_size", (json_int_t)w->ask.image_size);
	enum status st = sealed_key(&key, &w->made_from, &w->arena, facts, err);

	if (!st && !(st = cache_part(&folder, &w->arena, "reference", err)))
		*path = arena_printf(&w->arena, "%s/%s.ranges.json", folder, key);
	return st;
}

static bool is_kept(const char *path)
{
	json_t *all;
	bool good = !sealed_json_read(path, RANGES_MOST_NBYTES, &all, NULL);

	if (good)
		json_decref(all);
	return good;
}

// "low NAME" and "high NAME", as quantised_watch names them.
static enum status take(struct linear_range *ranges, size_t *count, struct arena *a, const struct tensor *out,
	size_t output_count, struct error *err)
{
	for (size_t i = 0; i < output_count; i++) {
		const char *space = strchr(out[i].name, ' ');
		bool low = text_starts(out[i].name, "low "), high = text_starts(out[i].name, "high ");
		size_t k = 0;

		if (!low && !high)
			continue;
		if (out[i].dtype != DTYPE_F32 || out[i].nbytes != sizeof(float))
			return error_set(err, STATUS_FAILED, "calibration: %s is not one float", out[i].name);
		float x = *(const float *)out[i].data;

		if (!(x - x == 0))
			return error_set(err, STATUS_FAILED, "calibration: the input of %s is not finite", space + 1);
		while (k < *count && !text_is(ranges[k].name, space + 1))
			k++;
		if (k == *count)
			ranges[(*count)++] = (struct linear_range){ arena_strdup(a, space + 1), x, x };
		ranges[k].low = x < ranges[k].low ? x : ranges[k].low;
		ranges[k].high = x > ranges[k].high ? x : ranges[k].high;
	}
	return STATUS_OK;
}

static enum status run_all(struct work *w, struct linear_range *ranges, size_t *count, struct error *err)
{
	enum status st = STATUS_OK;

	for (int64_t i = 0; i < w->ask.calibrate && !st; i++) {
		// The seed itself is that of the inputs that are judged.
		uint64_t seed = (uint64_t)w->ask.seed + 1 + (uint64_t)i;

		w->made_count = w->part->artifact.input_count;
		w->made = ARENA_ARRAY(&w->arena, w->made_count + 1, struct tensor);
		st = inputs_synthetic(
			&w->arena, w->part->artifact.inputs, w->made_count, &w->hints, &w->shape, seed, w->made, err);
		if (st || (st = work_order_inputs(w, err)) ||
			(st = session_run(&w->part->session, w->in, w->part->session.input_count, w->out,
				 w->part->session.output_count, err)))
			break;
		for (size_t k = 0; k < w->part->session.output_count; k++)
			w->out[k].name = w->part->session.outputs[k].name;
		st = take(ranges, count, &w->arena, w->out, w->part->session.output_count, err);
	}
	return st;
}

static enum status write_ranges(
	struct work *w, const char *path, const struct linear_range *ranges, size_t count, struct error *err)
{
	const char *temporary = arena_printf(&w->arena, "%s.%s.part", path, claim_token());
	json_t *list = json_array(), *all;
	enum status st;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:f, s:f}", "name", ranges[i].name, "low", (double)ranges[i].low, "high",
				(double)ranges[i].high));
	all = json_pack("{s:I, s:I, s:s, s:o, s:o}", "inputs", (json_int_t)w->ask.calibrate, "first_seed",
		(json_int_t)w->ask.seed + 1, "method", "min-max", "engine",
		json_sprintf("%s %s", w->backend->name, w->devices.version ? w->devices.version : ""), "ranges", list);
	st = all ? sealed_json_write(temporary, all, w->made_from, err)
		 : error_set(err, STATUS_FAILED, "%s: a name is not UTF-8", path);
	json_decref(all);
	if (!st && rename(temporary, path) < 0)
		return error_errno(err, "%s: cannot be renamed", temporary);
	return st;
}

enum status work_calibrate(struct work *w, struct error *err)
{
	const char *path;
	enum status st;
	bool cached;

	if ((st = work_open_engine(w, err)) || (st = work_build(w, err)) || (st = work_check_memory(w, err)))
		return st;
	if ((st = path_of(w, &path, err)))
		return st;
	cached = is_kept(path);
	if (!cached) {
		struct linear_range *ranges = ARENA_ARRAY(&w->arena, w->part->artifact.output_count + 1, struct linear_range);
		size_t count = 0;

		scratch_sweep();
		if ((st = work_load(w, err)))
			return st;
		say_phase("first");
		if ((st = run_all(w, ranges, &count, err)) || (st = write_ranges(w, path, ranges, count, err)))
			return st;
	}
	say(json_pack("{s:s, s:s, s:b}", "event", "reference", "path", path, "cached", (int)cached));
	return STATUS_OK;
}

enum status work_read_ranges(struct work *w, const char *path, struct error *err)
{
	json_t *all = NULL, *one;
	struct linear_range *ranges;
	size_t i;
	enum status st = sealed_json_read(path, RANGES_MOST_NBYTES, &all, err);

	if (st) { // trimmed meanwhile, or its disk fails
		err->status = STATUS_NOT_ASKED;
		return error_prefix(err, "the ranges of activations, which the cache held");
	}
	const json_t *list = json_object_get(all, "ranges");
	ranges = ARENA_ARRAY(&w->arena, json_array_size(list) + 1, struct linear_range);
	json_array_foreach(list, i, one)
	{
		const char *name = json_string_value(json_object_get(one, "name"));

		ranges[i] = (struct linear_range){ arena_strdup(&w->arena, name ? name : ""),
			(float)json_number_value(json_object_get(one, "low")),
			(float)json_number_value(json_object_get(one, "high")) };
	}
	w->ranges = ranges;
	w->range_count = json_array_size(list);
	json_object_del(all, "ranges");
	json_object_del(all, "made_from");
	json_object_del(all, "sha256");
	w->calibration = all;
	return STATUS_OK;
}
