// SPDX-License-Identifier: Apache-2.0
// A model's folder and a task; one answer; where the time went.
#include "pipeline/choose.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/adapter.h"

bool words_have(const char *words, const char *word)
{
	size_t nbytes = word ? strlen(word) : 0;

	for (const char *at = words; at && nbytes && (at = strstr(at, word)); at += nbytes)
		if ((at == words || at[-1] == ' ') && (at[nbytes] == ' ' || !at[nbytes]))
			return true;
	return false;
}

static enum status class_of_gguf(const char *file, struct arena *a, const char **out, struct error *err)
{
	struct checkpoint c;
	enum status st = checkpoint_open(&c, file, err);

	if (st)
		return st;
	*out = arena_strdup(a, json_string_value(json_array_get(json_object_get(c.config, "architectures"), 0)));
	checkpoint_close(&c);
	return STATUS_OK;
}

static enum status class_of(const char *folder, struct arena *a, const char **out, struct error *err)
{
	const char *path = arena_printf(a, "%s/config.json", folder);
	json_t *config = NULL;
	enum status st;

	*out = NULL;
	if (text_ends(folder, ".gguf"))
		return class_of_gguf(folder, a, out, err);
	if (!file_exists(path))
		return STATUS_OK;
	if ((st = json_file(path, PIPELINE_JSON_MOST, &config, err)))
		return st;
	*out = arena_strdup(a, json_string_value(json_array_get(json_object_get(config, "architectures"), 0)));
	json_decref(config);
	return STATUS_OK;
}

static enum status cannot_be_told(const char *folder, const char *class_name, bool pictures, struct arena *a, struct error *err)
{
	const char *head = class_name ? arch_class_head(class_name) : NULL, *may = "";
	bool of_pictures = false;

	if (!class_name && file_is_dir(arena_printf(a, "%s/encoder", folder)) &&
		file_is_dir(arena_printf(a, "%s/decoder", folder)))
		may = "retrieval-augmented-generation";
	for (const struct pipeline_task *t = pipeline_tasks; t->name; t++) {
		of_pictures = of_pictures || (t->of_pictures && (words_have(t->heads, head) || words_have(t->maybe, head)));
		if (words_have(t->maybe, head) && t->of_pictures == pictures)
			may = arena_join(a, *may ? may : NULL, ", ", t->name);
	}
	if (!pictures && !*may && of_pictures)
		return error_set(err, STATUS_BAD_INPUT,
			"%s has no preprocessor_config.json, which says how the pictures of %s are prepared: put the model's own "
			"there",
			folder, class_name);
	return error_set(err, STATUS_BAD_INPUT, "which task %s is for cannot be told from its class%s%s: name it with --task%s%s",
		folder, class_name ? " " : "", class_name ? class_name : "", *may ? ", such as " : "", may);
}

// The row that names the class, else the first whose heads the class's is one of, and that is of the same kind of input.
static enum status choose(struct pipeline *p, struct arena *a, const char *folder, struct error *err)
{
	const char *class_name, *head;
	bool pictures = file_exists(arena_printf(a, "%s/preprocessor_config.json", folder)) ||
		file_exists(arena_printf(a, "%s/processor_config.json", folder));
	enum status st = class_of(folder, a, &class_name, err);

	if (st)
		return st;
	p->chosen_by = "files";
	p->task = file_exists(arena_printf(a, "%s/modules.json", folder))     ? pipeline_task_find("sentence-similarity")
		: file_exists(arena_printf(a, "%s/model_index.json", folder)) ? pipeline_task_find("text-to-image")
									      : NULL;
	if (p->task)
		return STATUS_OK;
	p->chosen_by = "class";
	head = class_name ? arch_class_head(class_name) : NULL;
	for (const struct pipeline_task *t = pipeline_tasks; !p->task && t->name; t++)
		if (words_have(t->classes, class_name))
			p->task = t;
	for (const struct pipeline_task *t = pipeline_tasks; !p->task && t->name; t++)
		if (words_have(t->heads, head) && t->of_pictures == pictures)
			p->task = t;
	return p->task ? STATUS_OK : cannot_be_told(folder, class_name, pictures, a, err);
}

static void close_all(void *handle)
{
	struct pipeline *p = handle;

	for (size_t i = 0; i < p->part_count; i++)
		part_close(p->parts[i]);
}

enum status pipeline_open(
	struct pipeline **out, struct arena *a, const char *folder, const char *task, const struct target *t, struct error *err)
{
	struct pipeline *p = *out = ARENA_NEW(a, struct pipeline);
	enum status st = STATUS_OK;

	*p = (struct pipeline){ .arena = a, .folder = arena_strdup(a, folder), .named = arena_strdup(a, task), .target = t };
	arena_defer(a, close_all, p);
	p->files = p->folder;
	if (adapter_is(folder) && (st = adapter_base(&p->files, a, folder, err)))
		return st;
	if (!task)
		st = choose(p, a, p->files, err);
	else if (!(p->task = pipeline_task_find(task)))
		st = error_set(err, STATUS_UNSUPPORTED, "the task %s is not supported yet", task);
	return st;
}

void pipeline_untimed(struct pipeline *p)
{
	p->is_untimed = true;
}

static enum status check_precision(const struct pipeline *p, const struct target *t, struct error *err)
{
	const struct precision_way *way = platform_precision(t->route, p->precise.precision);

	if (way->by == PRECISION_BY_NOBODY)
		return error_set(err, STATUS_UNSUPPORTED, "%s", way->why);
	if (way->by != PRECISION_BY_GRAPH || way->quantises || p->precise.precision == PRECISION_INT8_STATIC)
		return error_set(err, STATUS_UNSUPPORTED, "a pipeline in %s on %s is not supported yet: %s",
			precision_word(p->precise.precision), t->platform->name,
			p->precise.precision == PRECISION_INT8_STATIC ? "ranges of its activations would have to be measured"
								      : "the engine makes it, and not the graph");
	return STATUS_OK;
}

enum status pipeline_set_precision(struct pipeline *p, const char *precision, struct error *err)
{
	enum status st = precision_parse(&p->precise, precision, err);

	if (st || !p->precise.precision)
		return st;
	st = check_precision(p, p->target, err);
	for (size_t i = 0; i < p->target->part_count && !st; i++)
		st = check_precision(p, p->target->parts[i].target, err);
	return st;
}

const char *pipeline_task(const struct pipeline *p)
{
	return p->task->name;
}

void pipeline_set_watch(struct pipeline *p, pipeline_watch *watch, void *context)
{
	p->watch = watch;
	p->watch_context = context;
}

void pipeline_pause(struct pipeline *p)
{
	double now = clock_ms();

	*(p->ended > 0 ? &p->between_ms : &p->preprocess_ms) += now - (p->ended > 0 ? p->ended : p->began);
}

void pipeline_resume(struct pipeline *p)
{
	p->ended = clock_ms();
}

static const char *name_at(size_t i, const void *names)
{
	return ((const char *const *)names)[i];
}

// The name among `words` that was perhaps meant; NULL: none.
static const char *meant(const char *words, const char *key, struct arena *a)
{
	size_t count = 0;
	const char **names = ARENA_ARRAY(a, strlen(words) + 1, const char *);

	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		names[count++] = arena_strndup(a, at, n);
		at += n;
	}
	return text_nearest(key, name_at, names);
}

enum status options_known(const char *words, const json_t *options, const char *whose, struct error *err)
{
	const char *key, *near;
	const json_t *value;

	json_object_foreach((json_t *)(uintptr_t)options, key, value)
	{
		struct arena a = { 0 };

		if (words_have(words, key))
			continue;
		near = meant(words, key, &a);
		error_set(err, STATUS_UNSUPPORTED, "the option %.100s of %s is not supported yet%s%s%s", key, whose,
			near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
		arena_done(&a);
		return STATUS_UNSUPPORTED;
	}
	return STATUS_OK;
}

enum status pipeline_options_known(const struct pipeline *p, const json_t *options, struct error *err)
{
	enum status st = options_known(p->task->options, options, p->task->name, err);

	return st ? err->status = STATUS_BAD_INPUT : STATUS_OK;
}

static enum status check_input(const struct pipeline_task *t, const json_t *input, struct error *err)
{
	if (!json_is_object(input))
		return error_set(err, STATUS_BAD_INPUT, "an input is an object");
	for (size_t i = 0; i < PIPELINE_INPUTS && t->inputs[i].key; i++)
		if (!t->inputs[i].optional && !json_object_get(input, t->inputs[i].key))
			return error_set(err, STATUS_BAD_INPUT, "%s needs the input %s", t->name, t->inputs[i].key);
	return STATUS_OK;
}

enum status pipeline_answer(struct pipeline *p, const char *base, const json_t *input, const json_t *options, struct arena *a,
	struct pipeline_answer *out, struct error *err)
{
	struct call c = { .p = p, .a = a, .base = base, .input = input, .options = options };
	enum status st;

	*out = (struct pipeline_answer){ 0 };
	if ((st = options_known(p->task->options, options, p->task->name, err)) || (st = check_input(p->task, input, err)))
		return st;
	p->began = clock_ms();
	p->ended = 0;
	if (!(st = p->task->run(&c, out, err)) && !out->json)
		st = error_set(err, STATUS_BAD_INPUT, "the answer cannot be said in JSON: a text of it is no UTF-8");
	p->postprocess_ms += clock_ms() - (p->ended > 0 ? p->ended : p->began);
	if (st) {
		json_decref(out->json);
		out->json = NULL;
	}
	return st;
}

enum dtype pipeline_computes(const struct pipeline *p)
{
	enum dtype out = DTYPE_F32;

	for (size_t i = 0; i < p->part_count; i++)
		for (size_t k = 0; k < p->parts[i]->graph_count; k++) {
			const struct part_graph *g = &p->parts[i]->graphs[k];
			const char *word = g->is_open ? session_option(&g->session, "compute_dtype") : NULL;
			enum dtype t = word ? dtype_find(word) : DTYPE_F32;

			out = t == DTYPE_BF16 || (t == DTYPE_F16 && out != DTYPE_BF16) ? t : out;
		}
	return out;
}

bool pipeline_is_synthetic(const struct pipeline *p)
{
	for (size_t i = 0; i < p->part_count; i++)
		for (size_t k = 0; k < p->parts[i]->checkpoint.shard_count; k++)
			if (p->parts[i]->checkpoint.shards[k].synthetic)
				return true;
	return false;
}

static const char *graph_name(const struct part *m, const struct part_graph *g, struct arena *a)
{
	return text_is(m->name, ".") ? g->which->file : arena_printf(a, "%s/%s", m->name, g->which->file);
}

// Its times, and where it ran: `placed`, of pipeline_placed, without what that says of no graph in particular.
static json_t *part_of(const struct part *m, const struct part_graph *g, const json_t *placed)
{
	const char *name = graph_name(m, g, m->p->arena);
	json_t *out = json_pack("{s:s, s:f, s:I, s:f, s:o}", "graph", name, "open_ms", g->open_ms, "runs", (json_int_t)g->runs,
		"run_ms", g->run_ms, "anonymous_mib", isnan(g->anonymous_mib) ? json_null() : json_real(g->anonymous_mib));
	const json_t *one;
	size_t i;

	json_object_set_new(out, "form", g->form ? json_string(g->form) : json_null());
	json_array_foreach(placed, i, one) if (text_is(json_string_value(json_object_get(one, "graph")), name))
		json_object_update_missing(out, (json_t *)(uintptr_t)one);
	return out;
}

static json_t *mean_or_null(double sum, int64_t n)
{
	return n > 0 ? json_real(sum / (double)n) : json_null();
}

json_t *pipeline_columns(const struct pipeline *p, const struct pipeline_placement *placed)
{
	json_t *graphs = json_array();

	for (size_t i = 0; i < p->part_count; i++)
		for (size_t k = 0; k < p->parts[i]->graph_count; k++)
			json_array_append_new(graphs, part_of(p->parts[i], &p->parts[i]->graphs[k], placed->graphs));
	return json_pack("{s:{s:f, s:o, s:f, s:f}, s:o, s:o, s:o}", "answer_parts", "preprocess_ms", p->preprocess_ms, "graphs",
		graphs, "between_ms", p->between_ms, "postprocess_ms", p->postprocess_ms, "answer_first_token_ms",
		mean_or_null(p->first_ms, p->firsts), "answer_token_ms", mean_or_null(p->tokens_ms, p->tokens),
		"answer_steps_per_s", p->steps_ms > 0 ? json_real(1000 * (double)p->steps / p->steps_ms) : json_null());
}

json_t *pipeline_times(const struct pipeline *p)
{
	json_t *graphs = json_array();

	for (size_t i = 0; i < p->part_count; i++)
		for (size_t k = 0; k < p->parts[i]->graph_count; k++) {
			const struct part *m = p->parts[i];
			const struct part_graph *g = &m->graphs[k];

			json_array_append_new(graphs,
				json_pack("{s:s, s:f, s:I, s:f, s:s?}", "graph", graph_name(m, g, p->arena), "open_ms",
					g->open_ms, "runs", (json_int_t)g->runs, "run_ms", g->run_ms, "form", g->form));
		}
	return json_pack("{s:f, s:o, s:f, s:f}", "preprocess_ms", p->preprocess_ms, "graphs", graphs, "between_ms", p->between_ms,
		"postprocess_ms", p->postprocess_ms);
}

static void add_told(int64_t *sum, int64_t n)
{
	*sum = *sum < 0 || n < 0 ? -1 : *sum + n;
}

static void add_note(struct pipeline_placement *out, struct arena *a, const char *note)
{
	enum { NOTES_MOST = 4 << 10 };

	if (!out->note || strlen(out->note) + strlen(note) < NOTES_MOST)
		out->note = arena_join(a, out->note, "; ", note);
	else if (!text_ends(out->note, "; ..."))
		out->note = arena_printf(a, "%s; ...", out->note);
}

static void place_graph(const struct part *m, struct part_graph *g, bool is_only, struct arena *a, struct pipeline_placement *out)
{
	const int64_t nodes = (int64_t)g->artifact.summary.node_count;
	struct placement placed = { .arena = a, .on_platform = -1, .elsewhere = -1 };
	struct error why;

	if (session_explain(&g->session, &g->artifact, NULL, 0, &placed, &why))
		placed.on_platform = placed.elsewhere = -1; // not told is not held against it
	out->nodes += nodes;
	add_told(&out->on_platform, placed.on_platform);
	add_told(&out->elsewhere, placed.elsewhere);
	add_told(&out->fused, placed.on_platform < 0 ? -1 : placed.fused);
	if (placed.note && !is_only)
		add_note(out, a, arena_printf(a, "%s on %s: %s", graph_name(m, g, a), g->target->platform->name, placed.note));
	else if (placed.note)
		out->note = placed.note;
	if (placed.on_platform == 0 && placed.elsewhere > 0)
		out->took_none = g->target->platform->name;
	json_array_append_new(out->graphs,
		json_pack("{s:s, s:s, s:s?, s:b, s:I, s:I, s:I, s:s?}", "graph", graph_name(m, g, a), "platform",
			g->target->platform->name, "device", g->target->device, "emulated",
			g->session.emulated ? g->session.emulated > 0 : g->target->emulated, "nodes", (json_int_t)nodes,
			"on_platform", (json_int_t)placed.on_platform, "elsewhere", (json_int_t)placed.elsewhere, "note",
			placed.note));
}

static void release_json(void *json)
{
	json_decref(json);
}

void pipeline_placed(struct pipeline *p, struct arena *a, struct pipeline_placement *out)
{
	size_t opened = 0;

	*out = (struct pipeline_placement){ .graphs = json_array() };
	arena_defer(a, release_json, out->graphs);
	for (size_t i = 0; i < p->part_count; i++)
		for (size_t k = 0; k < p->parts[i]->graph_count; k++)
			opened += p->parts[i]->graphs[k].is_open;
	for (size_t i = 0; i < p->part_count; i++)
		for (size_t k = 0; k < p->parts[i]->graph_count; k++)
			if (p->parts[i]->graphs[k].is_open)
				place_graph(p->parts[i], &p->parts[i]->graphs[k], opened == 1 && !p->target->part_count, a, out);
}
