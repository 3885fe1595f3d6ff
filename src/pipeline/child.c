// SPDX-License-Identifier: Apache-2.0
// `assay cell --pipeline`: the child that opens a model and answers. Tensors of an answer are in its event as nested lists.
#include <string.h>
#include <unistd.h>

#include "backend/cause.h"
#include "base/json.h"
#include "base/text.h"
#include "cell/say.h"
#include "pipeline/inside.h"
#include "preprocess/encode.h"

enum { TENSOR_MOST = 1 << 19 }; // numbers of tensors in one event

static json_t *nested(const struct tensor *t, int axis, size_t *at)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < t->dim[axis]; i++)
		json_array_append_new(list, axis + 1 < t->rank ? nested(t, axis + 1, at) : json_real(tensor_get(t, (*at)++)));
	return list;
}

// Numbers of all tensors together, or null for each of those that are too many to be told.
static json_t *tensors_told(const struct pipeline_answer *answer)
{
	json_t *tensors = json_object();
	size_t numbers = 0;

	for (size_t i = 0; i < answer->tensor_count; i++) {
		const struct tensor *t = &answer->tensors[i];
		size_t at = 0, count = t->nbytes / dtype_size(t->dtype);
		bool told = count <= TENSOR_MOST - numbers;

		numbers += told ? count : 0;
		json_object_set_new(tensors, t->name,
			!told             ? json_null()
				: t->rank ? nested(t, 0, &at)
					  : json_real(tensor_get(t, 0)));
	}
	return tensors;
}

static void say_answer(const json_t *input, struct pipeline_answer *answer, json_t *files)
{
	say(json_pack("{s:s, s:O, s:o, s:o, s:o, s:o, s:I}", "event", "answer", "input", input, "answer", answer->json, "tensors",
		tensors_told(answer), "pictures", answer_pictures(answer), "files", files, "prompt_tokens",
		(json_int_t)answer->prompt_tokens));
}

// The picture or the sound of an answer as the file that was asked for.
static enum status write_output(const struct pipeline_answer *answer, const char *file, struct error *err)
{
	if (answer->rate && !text_ends(file, ".wav"))
		return error_set(err, STATUS_BAD_INPUT, "%s: a sound is written as a WAV file, whose name ends with .wav", file);
	if (answer->rate)
		return answer_save_sound(answer, file, err);
	if (!answer->picture_count)
		return error_set(err, STATUS_BAD_INPUT, "the answer has no picture and no sound that could be %s", file);
	if (text_ends(file, ".wav"))
		return error_set(
			err, STATUS_BAD_INPUT, "%s: a picture is written as a PNG file, and .wav is a sound's ending", file);
	if (answer->picture_count > 1)
		return error_set(err, STATUS_BAD_INPUT, "one file, and %zu pictures: --save FOLDER writes them all",
			answer->picture_count);
	return picture_save(&answer->pictures[0].picture, file, err);
}

static void say_task(const struct pipeline *p, size_t inputs)
{
	say(json_pack("{s:s, s:s, s:s?, s:I}", "event", "task", "task", pipeline_task(p), "by", p->chosen_by, "inputs",
		(json_int_t)inputs));
}

static void say_step(void *context, size_t done, size_t count)
{
	(void)context;
	say(json_pack("{s:s, s:I, s:I}", "event", "step", "done", (json_int_t)done, "of", (json_int_t)count));
}

// The row begins.
static bool meet_start(void)
{
	return say_meet("start");
}

// Files that were asked for. One that cannot be written costs the file, and not the answer.
static json_t *write_files(const struct pipeline_answer *answer, const char *save, const char *before, const char *output)
{
	struct error why;
	enum status st = save ? answer_save(answer, save, before, &why) : STATUS_OK;

	if (!st && output)
		st = write_output(answer, output, &why);
	if (st)
		say(json_pack("{s:s, s:s}", "event", "file", "error", why.text));
	return st ? json_array() : answer_files(answer, save, before, output);
}

static enum status answer_all(struct pipeline *p, const json_t *request, struct arena *arena, struct error *err)
{
	const char *save = json_string_value(json_object_get(request, "save")),
		   *output = json_string_value(json_object_get(request, "output")),
		   *keep = json_string_value(json_object_get(request, "keep"));
	json_t *inputs = NULL, *input;
	enum status st = pipeline_words(p, json_object_get(request, "words"), arena, &inputs, err);
	size_t i;

	say_task(p, json_array_size(inputs));
	if (!st)
		st = pipeline_options_known(p, json_object_get(request, "task_options"), err);
	if (!st && output && json_array_size(inputs) > 1)
		st = error_set(err, STATUS_BAD_INPUT,
			"-o %s is one file, and %zu inputs have %zu answers: ask for one at a time, or --save FOLDER writes them "
			"all",
			output, json_array_size(inputs), json_array_size(inputs));
	p->meet = json_is_true(json_object_get(request, "waits")) ? meet_start : NULL;
	say_phase("answer");
	pipeline_set_watch(p, say_step, NULL);
	json_array_foreach(inputs, i, input)
	{
		struct pipeline_answer answer;
		struct arena a = { 0 };
		const char *before = json_array_size(inputs) > 1 ? arena_printf(&a, "%zu.", i) : "";

		if (!st && !(st = pipeline_answer(p, NULL, input, json_object_get(request, "task_options"), &a, &answer, err))) {
			if (keep)
				st = answer_save(&answer, arena_printf(&a, "%s/%zu", keep, i), "", err);
			say_answer(input, &answer, write_files(&answer, save, before, output));
		}
		arena_done(&a);
	}
	json_decref(inputs);
	return st;
}

static json_t *known(int64_t n)
{
	return n < 0 ? json_null() : json_integer((json_int_t)n);
}

static bool any_emulated(const json_t *graphs)
{
	const json_t *one;
	size_t i;

	json_array_foreach(graphs, i, one) if (json_is_true(json_object_get(one, "emulated"))) return true;
	return false;
}

// Engine and device are those of the first platform; where each graph ran is in answer_parts.
static void say_row(const struct pipeline *p, const struct target *t, const struct device_list *devices,
	const struct pipeline_placement *placed)
{
	json_t *row = pipeline_columns(p, placed);

	json_object_update_new(row,
		json_pack("{s:s, s:s, s:s?, s:s, s:s?, s:b, s:s, s:s, s:s?}", "event", "row", "engine", t->route->engine,
			"engine_version", devices->version, "provider", route_provider(t->route)->name, "device", t->device,
			"emulated", (int)any_emulated(placed->graphs), "compute_dtype", dtype_word(pipeline_computes(p)),
			"weights", pipeline_is_synthetic(p) ? "synthetic" : "real", "model_type",
			p->part_count ? json_string_value(json_object_get(p->parts[0]->config, "model_type")) : NULL));
	json_object_update_new(row,
		json_pack("{s:o, s:o, s:o, s:o, s:s?}", "nodes", known(placed->nodes), "nodes_on_platform",
			known(placed->on_platform), "nodes_elsewhere", known(placed->elsewhere), "nodes_fused",
			known(placed->fused), "placement_note", placed->note));
	say(row);
}

static void say_pipeline(struct pipeline *p, const struct target *t, const struct device_list *devices, struct arena *a)
{
	struct pipeline_placement placed;

	pipeline_placed(p, a, &placed);
	say_row(p, t, devices, &placed);
	say(json_pack("{s:s, s:s, s:s, s:o, s:s?, s:{s:I, s:I, s:I, s:s?, s:O}}", "event", "pipeline", "task", pipeline_task(p),
		"weights", pipeline_is_synthetic(p) ? "synthetic" : "real", "times", pipeline_times(p), "took_none",
		placed.took_none, "placement", "nodes", (json_int_t)placed.nodes, "on_platform", (json_int_t)placed.on_platform,
		"elsewhere", (json_int_t)placed.elsewhere, "note", placed.note, "graphs", placed.graphs));
}

static enum status answer_request(const json_t *request, struct arena *a, struct error *err)
{
	struct device_list devices = { .arena = a };
	const char *folder = json_string_value(json_object_get(request, "folder"));
	struct target t;
	struct pipeline *p;
	enum status st;

	if (!folder)
		return error_set(err, STATUS_BAD_INPUT, "the request names no folder");
	say_phase("engine");
	if ((st = pipeline_target_read(&t, a, json_object_get(request, "on"), &devices, err)))
		return st;
	say_phase("model");
	if ((st = pipeline_open(&p, a, folder, json_string_value(json_object_get(request, "task")), &t, err)) ||
		(st = pipeline_set_precision(p, json_string_value(json_object_get(request, "precision")), err)) ||
		(st = answer_all(p, request, a, err)))
		return cause_in_the_way(t.route->engine, t.route->provider, st, err);
	say_memory("answer");
	say_phase("explain");
	say_pipeline(p, &t, &devices, a);
	return STATUS_OK;
}

int pipeline_child(void)
{
	static struct arena arena;
	struct text line = { 0 };
	struct error err = { 0 };
	json_t *request = NULL;
	enum status st = child_begin(&line, &err);

	if (!st)
		st = json_bytes("the request", text_get(&line), line.length, &request, &err);
	if (!st)
		st = answer_request(request, &arena, &err);
	if (st)
		say_error(&err);
	say_done();
	backend_end();
	_exit(0); // cell/work.c says why
}
