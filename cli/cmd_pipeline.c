// SPDX-License-Identifier: Apache-2.0
// assay pipeline: a question in, an answer out.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/claim.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "chat/chat.h"
#include "cells.h"
#include "command.h"
#include "conform/answers.h"
#include "emit.h"
#include "hub/hub.h"
#include "onnx/precision.h"
#include "pipeline/pipeline.h"
#include "plan/answer.h"
#include "plan/plan.h"
#include "progress.h"
#include "show.h"
#include "show_answer.h"

struct asked {
	const char *task, *on, *precision, *save, *output, *db, *command;
	struct cli_list options;
	int64_t steps, seed; // -1: not given
	double timeout_s, memory_gib;
	bool json, chat, no_reference, no_db;
};

static enum status read_options(const struct cli_list *list, json_t **out, struct error *err)
{
	enum status st = STATUS_OK;

	*out = json_object();
	for (int i = 0; i < list->count && !st; i++)
		if ((st = pipeline_option_typed(*out, list->items[i], err)))
			error_prefix(err, "--option");
	return st;
}

// --steps and --seed are options of a task by a shorter name.
static enum status add_number(json_t *options, const char *flag, const char *key, int64_t n, struct error *err)
{
	const json_t *other = json_object_get(options, key);

	if (n < 0)
		return STATUS_OK;
	if (other && json_integer_value(other) != n)
		return error_set(err, STATUS_BAD_INPUT, "%s %lld and --option %s with another value: give one of them", flag,
			(long long)n, key);
	json_object_set_new(options, key, json_integer(n));
	return STATUS_OK;
}

static enum status add_numbers(const struct asked *q, json_t *options, struct error *err)
{
	enum status st = add_number(options, "--steps", "num_inference_steps", q->steps, err);

	return st ? st : add_number(options, "--seed", "seed", q->seed, err);
}

static void show_step(void *context, size_t done, size_t count)
{
	progress_line("%s: step %zu of %zu", (const char *)context, done, count);
}

// Which task it was, where nobody named one.
static void print_task(const json_t *task)
{
	const char *by = json_string_value(json_object_get(task, "by"));
	long long inputs = json_integer_value(json_object_get(task, "inputs"));
	struct text count = { 0 };

	if (inputs > 1)
		text_addf(&count, ", %lld inputs", inputs);
	if (by)
		emit_to(stderr, "%s (by the model's %s)%s; --task names another\n",
			json_string_value(json_object_get(task, "task")), by, text_get(&count));
	text_done(&count);
}

// Which graph ran where, where parts of it were asked for elsewhere.
static void print_places(const json_t *graphs)
{
	const json_t *g;
	size_t i;

	json_array_foreach(graphs, i, g)
	{
		const char *platform = json_string_value(json_object_get(g, "platform")),
			   *device = json_string_value(json_object_get(g, "device"));
		const bool told = device && platform && strcasecmp(device, platform) != 0;

		emit_to(stderr, "%s%s on %s%s%s%s", i ? "; " : "", json_string_value(json_object_get(g, "graph")), platform,
			told ? ":" : "", told ? device : "", json_is_true(json_object_get(g, "emulated")) ? " (software)" : "");
	}
	emit_to(stderr, "\n");
}

// Devices that stand in for hardware, and the null engine: what ran there says nothing of hardware.
static void print_software(const json_t *graphs)
{
	const char *told = NULL;
	const json_t *g;
	size_t i;

	json_array_foreach(graphs, i, g)
	{
		const char *name = json_string_value(json_object_get(g, "platform"));
		const bool is_null = platform_is_software(platform_named(name));

		if (text_is(name, told) || !(is_null || json_is_true(json_object_get(g, "emulated"))))
			continue;
		emit("%s: %s\n", name,
			is_null ? "nothing was computed: the answer means nothing"
				: "an EMULATED device, software in the place of hardware");
		told = name;
	}
}

// An answer that is a picture or a sound, and nobody keeps it.
static void hint_file(const struct pipeline_told *told, const struct asked *q)
{
	const json_t *answer = json_object_get(json_array_get(told->answers, 0), "answer");
	const bool picture = json_object_get(answer, "png"), sound = json_object_get(answer, "sampling_rate");

	if ((picture || sound) && !q->save && !q->output)
		progress_notice(sound ? "the sound is not kept: -o FILE.wav writes it"
				      : "the picture is not kept: -o FILE.png writes it");
}

static void print_words(const struct pipeline_told *told, const struct asked *q, struct arena *a)
{
	const char *weights = json_string_value(json_object_get(told->facts, "weights"));
	const json_t *one;
	size_t i;
	bool several = json_array_size(told->answers) > 1;

	json_array_foreach(told->answers, i, one)
	{
		const bool is_written = json_array_size(json_object_get(one, "files")) > 0;

		if (i)
			emit("\n");
		show_answer(one,
			&(struct shown_files){ is_written ? q->save : NULL, several ? arena_printf(a, "%zu.", i) : "",
				is_written ? q->output : NULL });
	}
	if (text_is(weights, "synthetic"))
		emit("synthetic weights: seeded random numbers, not the trained ones; %s nothing\n",
			several ? "these answers mean" : "this answer means");
}

static void show_judging(void *context, const char *reference)
{
	(void)context;
	progress_line("the same of %s, to hold the answer against", reference);
}

struct showing {
	const struct asked *q;
	struct arena *a;
	bool has_parts, has_shown;
};

static void show_answered(void *context, const struct pipeline_told *told)
{
	struct showing *x = context;

	progress_clear();
	if (x->q->json)
		return;
	x->has_shown = true;
	print_task(told->task);
	print_words(told, x->q, x->a);
	print_software(json_object_get(json_object_get(told->facts, "placement"), "graphs"));
	if (x->has_parts)
		print_places(json_object_get(json_object_get(told->facts, "placement"), "graphs"));
	emit_flush();
	hint_file(told, x->q);
}

static int show_reading(void *context, uint64_t done, uint64_t total)
{
	(void)context;
	return progress_bytes((void *)(uintptr_t) "reading the model's files, to know what it is", done, total);
}

static void show_notice(void *context, const char *sentence)
{
	(void)context;
	progress_notice(sentence);
}

// "right: 3 of 3 labels the same, scores at most 1e-07 apart; against engine:openvino-f32; row 12 of assay.duckdb"
static void print_verdict(const struct answered *x, const struct asked *q, struct arena *a)
{
	const struct row *r = &x->result.row;
	const char *measures = answers_words(a, r->answer_measures), *out = verdict_word(x->result.verdict);

	if (!x->has_result || (q->no_db && (q->no_reference || !x->told.facts)))
		return;
	if (!x->told.facts) { // its cause is told as the program's error
		emit_to(stderr, "%s; row %lld of %s\n", out, (long long)r->row, q->db);
		return;
	}
	out = r->cause ? arena_printf(a, "%s: %s", out, r->cause) : out;
	out = arena_join(a, out, r->cause ? "; " : ": ", measures);
	out = r->reference ? arena_printf(a, "%s; against %s", out, r->reference) : out;
	if (r->row != ROW_NONE)
		out = arena_printf(a, "%s; row %lld of %s", out, (long long)r->row, q->db);
	emit_to(stderr, "%s\n", out);
}

static void print_json(const struct answered *x, const struct asked *q)
{
	json_t *o = answered_json(x, q->on, q->precision);

	show_json(o);
	json_decref(o);
}

static enum status read_standard(struct text *out, struct error *err)
{
	enum { INPUT_MOST = 256 << 20 };
	static char bytes[1 << 16];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
		if (out->length + (size_t)n > INPUT_MOST)
			return error_set(err, STATUS_BAD_INPUT, "standard input: more than %d MiB", INPUT_MOST >> 20);
		text_add_bytes(out, bytes, (size_t)n);
	}
	return n ? error_errno(err, "standard input") : STATUS_OK;
}

// "-" as an INPUT: what comes on standard input, as a file whose content says what it is, in the cache, which others do not read
// and where it does not outlive this process. The caller removes *file.
static enum status input_file(const char **file, struct arena *a, struct error *err)
{
	struct text data = { 0 };
	const char *folder;
	enum status st;

	if (*file)
		return error_set(err, STATUS_BAD_INPUT, "standard input is one INPUT: '-' stands there twice");
	if ((st = cache_part(&folder, a, "run", err)))
		return st;
	const char *name = arena_printf(a, "%s/%s-input", folder, claim_token());
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, "%s", name);
	close(fd);
	*file = name;
	if (!(st = read_standard(&data, err)))
		st = file_put(name, text_get(&data), data.length, err);
	text_done(&data);
	return st;
}

// One conversation, as the INPUT that it would be in JSON.
static enum status read_chat(json_t *inputs, char **words, size_t count, struct error *err)
{
	json_t *messages = json_array();
	enum status st = chat_typed(words, count, messages, err);
	char *text = st ? NULL : json_dumps(messages, JSON_COMPACT);

	if (text)
		json_array_append_new(inputs, json_string(text));
	free(text);
	json_decref(messages);
	return st;
}

// Braces that are no JSON are a text, which may be a mistake.
static void notice_braces(const char *word, size_t number, struct arena *a)
{
	json_t *json = *word == '{' ? json_parse(word) : NULL;

	if (*word == '{' && !json)
		progress_notice(arena_printf(a, "INPUT %zu begins with { and is no JSON: it is taken for a text", number));
	json_decref(json);
}

static enum status read_inputs(json_t *inputs, char **words, size_t count, const char **file, struct arena *a, struct error *err)
{
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count && !st; i++) {
		bool standard = text_is(words[i], "-");

		if (visible_not_utf8(words[i], strlen(words[i])) != strlen(words[i]))
			return error_set(err, STATUS_BAD_INPUT, "INPUT %zu, '%s': no UTF-8", i + 1, visible_short(a, words[i]));
		st = standard ? input_file(file, a, err) : STATUS_OK;
		notice_braces(words[i], i + 1, a);
		if (!st)
			json_array_append_new(inputs, visible_json_string(standard ? *file : words[i]));
	}
	return st;
}

// The file that stands for standard input has a name that says nothing.
static void name_standard(struct error *err, const char *file)
{
	const struct error said = *err;
	const char *at = strstr(said.text, file);

	if (at)
		error_set(err, said.status, "%.*sstandard input%s", (int)(at - said.text), said.text, at + strlen(file));
}

// What could be told only when everything has run: -o names a file that cannot be made, or a kind that is not written.
static enum status check_output(const char *path, struct arena *a, struct error *err)
{
	static const char *const others[] = { ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".mp3", ".flac", ".ogg" };
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	const char *folder = !slash ? "." : slash == path ? "/" : arena_printf(a, "%.*s", (int)(slash - path), path);
	struct stat is;

	for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
		if (!strcasecmp(dot, others[i]))
			return error_set(
				err, STATUS_BAD_INPUT, "-o %s: pictures are written as PNG files, sounds as WAV files", path);
	if (!stat(path, &is) && S_ISDIR(is.st_mode))
		return error_set(err, STATUS_BAD_INPUT, "-o %s is a folder", path);
	return access(folder, W_OK | X_OK) ? error_errno(err, "-o %s: %s", path, folder) : STATUS_OK;
}

// Is what lies at `path` in the folder, links followed?
static bool lies_in(const char *path, const char *folder)
{
	char *real = realpath(path, NULL), *of = realpath(folder, NULL);
	const size_t n = of ? strlen(of) : 0;
	const bool inside = real && of && !strncmp(real, of, n) && (real[n] == '/' || n == 1);

	free(real);
	free(of);
	return inside;
}

// A file that is there and lies in the model's folder, or that its folder there links to, is one of the model.
static enum status check_no_models(const char *path, const char *model, struct arena *a, struct error *err)
{
	const char *slash = strrchr(path, '/'), *above = slash ? arena_printf(a, "%.*s.", (int)(slash - path + 1), path) : ".";
	struct stat is;

	if (lstat(path, &is) ||
		!(lies_in(path, model) || lies_in(arena_printf(a, "%s/.", above), arena_printf(a, "%s/.", model))))
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT,
		"-o %s is a file in the model's own folder: name one that is not there yet, or elsewhere", path);
}

static json_t *words_json(char **words, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(out, visible_json_string(words[i]));
	return out;
}

// What is refused before anything is read; -1: go on.
static int check_asked(const struct asked *q, struct arena *a)
{
	const char *nearest;
	struct error err = { 0 };
	const int code = cli_cache_ready();

	if (code >= 0)
		return code;
	if (text_is(q->task, "mask-generation"))
		return cli_bad_use("mask-generation, all masks of a picture, is not supported yet: promptable-segmentation gives "
				   "those of points and boxes");
	if (q->task && !pipeline_task_known(q->task)) {
		nearest = text_nearest(q->task, pipeline_task_name, NULL);
		return cli_bad_use("the task %s is not supported yet%s%s%s", q->task, nearest ? "; did you mean " : "; ",
			nearest ? nearest : "`assay pipeline --help` lists them", nearest ? "?" : "");
	}
	return q->output && check_output(q->output, a, &err) ? cli_error(&err) : -1;
}

struct typed {
	const char *model;
	json_t *words;    // as typed
	json_t *inputs;   // as the pipeline takes them
	json_t *options;  // of the task
	const char *file; // that stands for standard input; NULL
};

static enum status ask(const struct asked *q, const struct typed *t, struct answered *out, struct arena *a, struct error *err)
{
	struct showing showing = { .q = q, .a = a };
	struct target target;
	const char *folder;
	enum status st = hub_folder(&folder, a, t->model, "a model", err);

	if (st || (q->output && (st = check_no_models(q->output, folder, a, err))) ||
		(st = plan_pipeline_target(&target, a, q->on, err)))
		return st;
	showing.has_parts = target.part_count;
	st = answer_ask(&(struct answer_asked){ .pipeline = { .folder = folder,
							.task = q->task,
							.target = &target,
							.words = t->inputs,
							.options = t->options,
							.precision = q->precision,
							.save = q->save,
							.timeout_s = q->timeout_s,
							.memory_bytes = (int64_t)(q->memory_gib * 0x1p30),
							.stop = &cli_stop,
							.output = q->output,
							.watch = show_step,
							.watch_context = (void *)(uintptr_t)visible_short(a, t->model) },
				.model = t->model,
				.typed = t->file ? t->words : NULL,
				.db = q->no_db ? NULL : q->db,
				.command = q->command,
				.no_reference = q->no_reference,
				.notice = show_notice,
				.reading = show_reading,
				.answered = show_answered,
				.judging = show_judging,
				.context = &showing },
		out, a, err);
	progress_clear();
	const bool is_part = st && json_array_size(out->told.answers) > 0; // what was answered before it failed
	if (!q->json && !showing.has_shown)
		print_task(out->told.task);
	if (!q->json && !showing.has_shown && is_part)
		print_words(&out->told, q, a);
	if (!q->json)
		print_verdict(out, q, a);
	else if (!st || out->has_result || is_part) {
		print_json(out, q);
		hint_file(&out->told, q);
	}
	return st;
}

static int answer(const struct asked *q, const char *model, char **words, size_t count, struct arena *a)
{
	struct typed t = { .model = model };
	struct answered answered = { 0 };
	struct error err = { 0 };
	int code = check_asked(q, a);

	if (code >= 0)
		return code;
	cli_catch_stop();
	t.words = words_json(words, count);
	t.inputs = json_array();
	enum status st = read_options(&q->options, &t.options, &err);
	if (!st)
		st = add_numbers(q, t.options, &err);
	if (!st)
		st = q->chat ? read_chat(t.inputs, words, count, &err) : read_inputs(t.inputs, words, count, &t.file, a, &err);
	if (!st)
		st = ask(q, &t, &answered, a, &err);
	if (t.file)
		unlink(t.file);
	json_decref(t.words);
	json_decref(t.inputs);
	json_decref(t.options);
	if (st && t.file)
		name_standard(&err, t.file);
	code = !st ? verdict_exit_code(answered.result.verdict) : cli_error(&err);
	if (st && answered.told.answers && answered.told.verdict != VERDICT_RIGHT && err.status != STATUS_BAD_INPUT)
		code = EXIT_VERDICT;
	if (!st && answered.told.file_error) {
		error_set(&err, STATUS_BAD_INPUT, "%s", answered.told.file_error);
		code = cli_error(&err);
	}
	if (answered.store)
		code = cli_error(&answered.store_error);
	pipeline_told_done(&answered.told);
	return code;
}

enum { HELP_INDENT = 34, HELP_WIDTH = 105 };

// Words on new lines, behind an indent.
static void add_wrapped(struct text *t, const char *words, size_t indent)
{
	size_t column = HELP_WIDTH;

	while (*words) {
		size_t n = strcspn(words, " ");
		if (column + 1 + n > HELP_WIDTH) {
			text_addf(t, "\n%*s", (int)indent, "");
			column = indent;
		} else {
			text_add(t, " ");
			column++;
		}
		text_add_bytes(t, words, n);
		column += n;
		words += n + strspn(words + n, " ");
	}
}

static void list_tasks(struct text *t)
{
	const char *generate = pipeline_generate_options();

	for (size_t i = 0; i < pipeline_task_count(); i++) {
		const struct pipeline_input *in = pipeline_task_inputs(i);
		const char *options = pipeline_task_options(i);
		bool writes = text_starts(options, generate);

		text_addf(t, "  %-31s", pipeline_task_name(i, NULL));
		for (size_t k = 0; k < PIPELINE_INPUTS && in[k].key; k++)
			text_addf(t, in[k].optional ? " [%s]" : " %s", in[k].key);
		if (writes) {
			options += strlen(generate);
			text_addf(t, "\n%*sthose of a text that is written%s", HELP_INDENT, "", *options ? "; and" : "");
		}
		add_wrapped(t, options + strspn(options, " "), HELP_INDENT);
		text_add(t, "\n");
	}
	text_add(t, "Of a text that is written, as in generate() of transformers:");
	add_wrapped(t, generate, 2);
	text_add(t,
		"\nIt is the likeliest text, or, with do_sample=true, one whose tokens are drawn: token i by number i of the\n"
		"seed's sequence of splitmix64, from what the options leave (top_k is 50 without one, as in transformers).\n"
		"The same scores and seed give the same tokens; PyTorch's generators draw others. Whisper follows 5 texts\n"
		"(num_beams), as transformers' pipeline does, where neither it nor generation_config.json says another "
		"number.\n\n");
}

static int run(int argc, char **argv)
{
	struct asked q = { .on = "cpu", .steps = -1, .seed = -1, .db = cli_default_db() };
	const struct cli_option options[] = {
		{ "task", CLI_TEXT, &q.task, "PIPELINE",
			"what is asked of it: a task of those below; default by the model's class, and said on standard error" },
		{ "on", CLI_TEXT, &q.on, "PLATFORM,PART=PLATFORM,...",
			"cpu, openvino, openvino:GPU, ...; default cpu; parts of the model that run on another platform, as in "
			"cpu,unet=webgpu or openvino,decoder=cpu" },
		{ "precision", CLI_TEXT, &q.precision, "P",
			"of the weights in its graphs: float16, int8-weights, int4-weights, ...; default as stored" },
		{ "option", CLI_VALUES, &q.options, "KEY=VALUE", "an option of the task, such as top_k=3; may be repeated" },
		{ "save", CLI_TEXT, &q.save, "FOLDER", "pictures and tensors of the answers as files there: masks, depths, ..." },
		{ "o", CLI_TEXT, &q.output, "FILE",
			"the only picture of the answer as a PNG file, or its sound as a WAV file (--output FILE too)" },
		{ "output", CLI_TEXT, &q.output, "FILE", NULL },
		{ "chat", CLI_FLAG, &q.chat, NULL,
			"each INPUT is a message of one conversation, ROLE: TEXT, for a task that takes messages" },
		{ "steps", CLI_INTEGER, &q.steps, "N", "text-to-image: num_inference_steps", 1, 1000 },
		{ "seed", CLI_INTEGER, &q.seed, "N",
			"of what is drawn at random: noise of pictures and sounds, tokens with do_sample; default 0", 0, 9e15 },
		{ "timeout", CLI_REAL, &q.timeout_s, "S", "seconds; default none", 0.1, 1e6 },
		{ "memory", CLI_REAL, &q.memory_gib, "GIB",
			"limit of anonymous memory; default what is available, less a reserve", 0.01, 1e6 },
		{ "json", CLI_FLAG, &q.json, NULL,
			"an object on standard output: answers, weights (real or synthetic), times of the parts, where it ran, "
			"the "
			"row" },
		{ "no-reference", CLI_FLAG, &q.no_reference, NULL,
			"hold the answer against nothing; its verdict is unjudged; default: another platform answers, too" },
		{ "db", CLI_TEXT, &q.db, "FILE", "DuckDB file that gets the row; default $ASSAY_DB, else assay.duckdb" },
		{ "no-db", CLI_FLAG, &q.no_db, NULL, "keep no row" },
		{ .kind = CLI_END },
	};
	struct text help = { 0 };
	list_tasks(&help);
	struct arena a = { 0 };
	const struct cli_usage usage = {
		.synopsis = "assay pipeline MODEL INPUT... [--task PIPELINE] [--on PLATFORM,PART=PLATFORM,...] [options]",
		.text = arena_printf(&a,
			"MODEL is a folder, or a name that is in the Hub's cache, with weights, and with the files of its "
			"tokenizer\n"
			"or processor. `assay fetch MODEL` brings those; modules.json of a model of sentences, and folders of\n"
			"diffusers, come with --all.\n"
			"What the model makes of the INPUTs is printed as transformers' pipeline of that task\n"
			"answers. An INPUT is a text, or a file, known by its content: a picture, a sound, a text, or JSON, an\n"
			"object with the task's inputs by name, or a list of them; such JSON may also be typed as it is, and -\n"
			"is standard input. What looks like the name of a file that is not there is refused.\n"
			"candidate_labels are several INPUTs, a label each, or one with commas between them: sport,politics. A\n"
			"label with a comma alone is a list in JSON: [\"up, and away\"]. Of weights that assay made (assay "
			"synth)\n"
			"the answer is followed by a line that says so. Where one of several INPUTs fails, the answers before it "
			"are\n"
			"printed.\n\n"
			"text-to-image is asked of a folder that diffusers saved (model_index.json): StableDiffusionPipeline,\n"
			"StableDiffusionXLPipeline, StableDiffusion3Pipeline, LatentConsistencyModelPipeline, FluxPipeline,\n"
			"ChromaPipeline, PixArtAlphaPipeline, PixArtSigmaPipeline, SanaPipeline, AuraFlowPipeline and\n"
			"Lumina2Pipeline. Of Stable Diffusion, XL, 3 and Flux a picture (image) is begun with, of which\n"
			"strength, from 0 to 1, is changed; of all but 3 it is kept where a second one (mask_image) is black.\n"
			"Folders of their Img2Img, Inpaint and ControlNet classes need theirs; a ControlNet's image is what it\n"
			"reads, at controlnet_conditioning_scale.\n"
			"Without latents (a safetensors file, named in a JSON input) it begins with normal noise of the seed:\n"
			"splitmix64 and the transform of Box and Muller, in double precision, on every platform the same.\n"
			"PyTorch's seeds mean other noise. A safety checker in the folder is not run.\n\n"
			"text-to-audio is asked of VITS (MMS-TTS, whose tokenizer reads letters) and of SpeechT5, which needs\n"
			"its vocoder in the folder vocoder/ (unless output is \"spectrogram\") and speaker_embeddings, the name\n"
			"of a safetensors file with the vector of a voice, in a JSON input. What both draw at random is of the\n"
			"seed; VITS may be given it: a safetensors file with noise [1,frames,flow_size] and duration_noise\n"
			"[1,tokens,2].\n\n"
			"automatic-speech-recognition: return_timestamps (char or word), chunk_length_s and stride_length_s are\n"
			"of models that label the frames of a sound (CTC); language, task, generate_kwargs and those of a text\n"
			"that is written are of Whisper, whose sounds have 30 seconds at most and no times.\n\n"
			"retrieval-augmented-generation is asked of a folder with an encoder and a decoder in folders of their\n"
			"own, each with its tokenizer, and needs --task. The passages nearest to the question are put before "
			"it;\n"
			"the option retrieval is a JSON object:\n"
			"  passages           a list of texts, or the name of a JSON file with one in MODEL; needed\n"
			"  encoder, decoder   the folders' names; default encoder and decoder\n"
			"  template           what the decoder reads; default \"{context}\\n{question}\"\n"
			"  top_k, separator   how many passages are the context, and what is between them; default 1, \"\\n\"\n"
			"  pooling, normalize mean or cls, true or false: a text's vector; default mean, true\n"
			"  query_prefix, passage_prefix\n"
			"                     what the encoder reads before a question and a passage; default nothing\n\n"
			"Parts that --on may name: of such folders the components (text_encoder, unet, vae, ...); encoder and\n"
			"decoder of models that write a text after a source, of retrieval-augmented-generation and of SpeechT5,\n"
			"which has vocoder, too; else model, which Whisper has besides, for the language that it hears. Where a\n"
			"graph ran --json says, and standard error where parts are named.\n\n"
			"The question becomes a row of the database, as cells of `assay run` do, with the answer (of pictures a\n"
			"small copy), the times and the memory of its parts, steps or tokens a second; a pipeline that fails is "
			"a\n"
			"row with its cause. Its verdict comes from a second run, behind the answer, on the platform that "
			"judges\n"
			"cells of this one (of cpu openvino, of others cpu): right where both answer the same, within the "
			"bounds\n"
			"that the row has; how much alike they are is said in the measure of the task. Beyond them an answer in "
			"less\n"
			"than float32 is unjudged, for no bound of it through a whole pipeline is known.\n\n"
			"Tasks, their inputs and their options; sentiment-analysis, ner, vqa, image-to-text, "
			"text2text-generation\n"
			"(as translation), text-to-speech and translation_XX_to_YY are understood, too:\n%s"
			"  assay pipeline distilbert-base-uncased-finetuned-sst-2-english 'What a film!'\n"
			"  assay pipeline deepset/roberta-base-squad2 'Who wrote it?' notes.txt --option top_k=2\n"
			"  assay pipeline facebook/detr-resnet-50 photo.jpg --option threshold=0.9\n"
			"  assay pipeline openai/whisper-base speech.flac --task automatic-speech-recognition\n"
			"  assay pipeline Qwen/Qwen2-0.5B-Instruct --chat 'system: Be brief.' 'user: Hello'\n"
			"  assay pipeline gpt2 'Once upon a time' --option do_sample=true --option temperature=0.7 --seed 1\n"
			"  assay pipeline ./stable-diffusion 'a red fox' --steps 20 --seed 1 -o fox.png\n"
			"  assay pipeline ./stable-diffusion 'a red fox' --on cpu,unet=webgpu -o fox.png\n"
			"  assay pipeline ./stable-diffusion 'a red fox' photo.png mask.png --option strength=0.8 -o fox.png\n"
			"  assay pipeline facebook/mms-tts-eng 'Hello, world' -o hello.wav\n"
			"  assay pipeline ./rag 'When is the museum closed?' --task retrieval-augmented-generation \\\n"
			"    --option 'retrieval={\"passages\":\"passages.json\",\"top_k\":3}'\n\n"
			"Exit codes: 0 answered, right or unjudged; 1 bad use, a file that is missing, cannot be read or was "
			"not\n"
			"written; 2 the model is not supported, does not fit, or its process ended, or no node of a graph ran "
			"on\n"
			"its platform; 3 the answer is wrong.\n",
			text_get(&help)),
		.options = options,
		.min_words = 2,
		.max_words = -1,
	};
	int words, code = cli_parse(&usage, argc, argv, &words);

	text_done(&help);
	q.command = cells_command(&a, argc, argv);
	q.precision = precision_typed(&a, q.precision);
	if (code < 0)
		code = answer(&q, argv[1], argv + 2, (size_t)words - 1, &a);
	arena_done(&a);
	return code;
}

const struct command command_pipeline = { "pipeline", "a question in, an answer out, as transformers' pipelines answer", run };
