// SPDX-License-Identifier: Apache-2.0
// Inputs of a case that its file does not hold: some classes make them of arguments that are no tensors.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cell/inputs.h"
#include "conform/case.h"
#include "conform/stored.h"

enum { CASE_MOST = 4 << 20, SIDE_MOST = 1 << 16 };

// "NAME 3" among the words of a text; -1: it is not there.
static int64_t noted(const char *text, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = text; at && (at = strstr(at, name)); at += n) {
		const bool is_word = (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) && at[n] == ' ';

		if (is_word && isdigit((unsigned char)at[n + 1]))
			return strtoll(at + n, NULL, 10);
	}
	return -1;
}

// Frames, height and width, for as many places as the latents have.
static enum status read_sides(
	const char *folder, const struct weight *latents, struct arena *a, int64_t side[3], struct error *err)
{
	static const char *const names[] = { "num_frames", "height", "width" };
	const char *path = arena_printf(a, "%s/case.json", folder), *notes;
	json_t *file;
	enum status st = json_file(path, CASE_MOST, &file, err);

	if (st)
		return st;
	notes = json_string_value(json_object_get(file, "notes"));
	for (size_t i = 0; i < 3 && !st; i++) {
		side[i] = noted(notes, names[i]);
		if (side[i] < 1 || side[i] > SIDE_MOST)
			st = error_set(err, STATUS_BAD_INPUT,
				"%s/io.safetensors has no tensor in.video_coords, which the graph takes, and \"notes\" of "
				"case.json "
				"has no %s from 1 to %d to make it from",
				folder, names[i], SIDE_MOST);
	}
	json_decref(file);
	if (!st && (!latents || latents->rank != 3 || side[0] * side[1] * side[2] != latents->dim[1]))
		st = error_set(err, STATUS_BAD_INPUT, "%s: %lld frames of %lld by %lld are not the places of in.hidden_states",
			path, (long long)side[0], (long long)side[1], (long long)side[2]);
	return st;
}

// [batch, 3, places]: of each place its frame, its row and its column, in the class's units.
static enum status make_places(const char *folder, const struct spec *spec, const struct weight *latents, struct arena *a,
	struct weight *out, struct error *err)
{
	struct input_hints hints;
	int64_t side[3];
	enum status st = read_sides(folder, latents, a, side, err);

	if (st)
		return st;
	arch_input_hints(spec, &hints);
	const int64_t places = latents->dim[1], count = latents->dim[0] * 3 * places;
	float *data = ARENA_ARRAY(a, count + 1, float);
	for (int64_t i = 0; i < count; i++) {
		const int64_t axis = i / places % 3, place = i % places;
		const int64_t at[] = { place / (side[1] * side[2]), place / side[2] % side[1], place % side[2] };

		data[i] = (float)(at[axis] * hints.place_unit[axis]);
	}
	*out = (struct weight){ .name = "in.video_coords", .dtype = DTYPE_F32, .rank = 3, .data = (const void *)data };
	memcpy(out->dim, (int64_t[]){ latents->dim[0], 3, places }, 3 * sizeof *out->dim);
	out->nbytes = (uint64_t)count * sizeof *data;
	return STATUS_OK;
}

enum status conform_inputs(const char *folder, const struct spec *spec, const struct tensor_type *types, size_t count,
	struct arena *a, struct tensor *out, struct error *err)
{
	const char *io = arena_printf(a, "%s/io.safetensors", folder);
	struct stored s;
	enum status st = stored_open(&s, a, io, err);

	for (size_t i = 0; i < count && !st; i++) {
		if (!text_is(types[i].name, "video_coords") || stored_find(&s, "in.video_coords"))
			continue;
		struct weight *more = ARENA_ARRAY(a, s.count + 1, struct weight);
		memcpy(more, s.tensors, s.count * sizeof *more);
		st = make_places(folder, spec, stored_find(&s, "in.hidden_states"), a, &more[s.count], err);
		s.tensors = more;
		s.count++;
	}
	return st ? st : inputs_of(a, types, count, s.tensors, s.count, io, out, NULL, err);
}
