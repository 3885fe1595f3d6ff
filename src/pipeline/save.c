// SPDX-License-Identifier: Apache-2.0
// What of an answer is no JSON: told in figures, and written to files where they are asked for.
#include "base/file.h"
#include "base/text.h"
#include "pipeline/inside.h"
#include "preprocess/encode.h"
#include "preprocess/sound_write.h"

// Width, height, and of a mask (0 and 255 alone) the share of its pixels that is 255; null: it has other levels.
static json_t *picture_figures(const struct picture *p)
{
	size_t samples = (size_t)p->width * (size_t)p->height * (size_t)p->channels, set = 0, other = 0;

	for (size_t i = 0; i < samples; i++) {
		set += p->pixels[i] == 255;
		other += p->pixels[i] != 0 && p->pixels[i] != 255;
	}
	return json_pack("{s:i, s:i, s:o}", "width", p->width, "height", p->height, "share",
		other || p->channels != 1 ? json_null() : json_real((double)set / (double)samples));
}

json_t *answer_pictures(const struct pipeline_answer *answer)
{
	json_t *all = json_object();

	for (size_t i = 0; i < answer->picture_count; i++)
		json_object_set_new(all, answer->pictures[i].name, picture_figures(&answer->pictures[i].picture));
	return all;
}

static void add_file(json_t *list, const char *of, const char *file)
{
	json_array_append_new(list, json_pack("{s:s, s:s}", "of", of, "file", file));
}

json_t *answer_files(const struct pipeline_answer *answer, const char *folder, const char *before, const char *output)
{
	struct arena a = { 0 };
	json_t *list = json_array();

	for (size_t i = 0; folder && i < answer->picture_count; i++)
		add_file(list, answer->pictures[i].name, arena_printf(&a, "%s/%s%s", folder, before, answer->pictures[i].name));
	for (size_t i = 0; folder && i < answer->tensor_count; i++)
		add_file(list, answer->tensors[i].name, arena_printf(&a, "%s/%sanswer.safetensors", folder, before));
	if (folder && answer->rate)
		add_file(list, "audio", arena_printf(&a, "%s/%saudio.wav", folder, before));
	if (output)
		add_file(list, answer->rate ? "audio" : answer->pictures[0].name, output);
	arena_done(&a);
	return list;
}

enum status answer_save_sound(const struct pipeline_answer *answer, const char *path, struct error *err)
{
	const struct tensor *audio = tensor_named(answer->tensors, answer->tensor_count, "audio");

	return sound_save(audio->data, (size_t)audio->dim[0], answer->rate, path, err);
}

enum status answer_save(const struct pipeline_answer *answer, const char *folder, const char *before, struct error *err)
{
	struct arena a = { 0 };
	enum status st = answer->picture_count || answer->tensor_count ? file_mkdirs(folder, err) : STATUS_OK;

	for (size_t i = 0; i < answer->picture_count && !st; i++)
		st = picture_save(
			&answer->pictures[i].picture, arena_printf(&a, "%s/%s%s", folder, before, answer->pictures[i].name), err);
	if (!st && answer->tensor_count)
		st = safetensors_write_user(
			arena_printf(&a, "%s/%sanswer.safetensors", folder, before), answer->tensors, answer->tensor_count, err);
	if (!st && answer->rate)
		st = answer_save_sound(answer, arena_printf(&a, "%s/%saudio.wav", folder, before), err);
	arena_done(&a);
	return st;
}
