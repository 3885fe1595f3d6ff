// SPDX-License-Identifier: Apache-2.0
// A model of a pipeline: its configuration, its tokenizer, its graphs. A graph is opened when it first runs, in the first form of
// the platform's row that the engine takes (cell/form.h), with open shapes: texts have all lengths. Where the platform takes
// fixed ones only, it is built for the shapes of what it is given, and anew when those change.
#include <math.h>
#include <string.h>

#include "artifact/identity.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cell/say.h"
#include "onnx/flow.h"
#include "pipeline/inside.h"

// ---- files ----------------------------------------------------------------------------------------------------------------

static void release_json(void *json)
{
	json_decref(json);
}

// Each file is read once: a list of modules may name one again and again.
static enum status folder_json(struct part *m, const char *folder, const char *file, const json_t **out, struct error *err)
{
	const char *path = arena_printf(m->p->arena, "%s/%s", folder, file);
	json_t *json = NULL;

	for (const struct json_read *r = m->p->read; r; r = r->before)
		if (text_is(r->path, path)) {
			*out = r->json;
			return STATUS_OK;
		}
	enum status st = file_exists(path) ? json_file(path, PIPELINE_JSON_MOST, &json, err) : STATUS_OK;

	if (!st && json && !json_is_object(json))
		st = error_set(err, STATUS_BAD_INPUT, "%s: no object", path);
	if (!json && !st)
		json = json_object();
	if (json)
		arena_defer(m->p->arena, release_json, json);
	if (!st) {
		struct json_read *r = ARENA_NEW(m->p->arena, struct json_read);

		*r = (struct json_read){ path, json, m->p->read };
		m->p->read = r;
	}
	*out = json;
	return st;
}

enum status part_json(struct part *m, const char *file, const json_t **out, struct error *err)
{
	return folder_json(m, m->folder, file, out, err);
}

static const char *words_of(const struct part *m)
{
	return m->words ? m->words : m->folder;
}

static enum status read_token_config(struct part *m, struct error *err)
{
	static const char *const files[] = { "special_tokens_map.json", "tokenizer_config.json" };
	json_t *all = json_object();
	enum status st = STATUS_OK;

	arena_defer(m->p->arena, release_json, all);
	for (size_t i = 0; i < sizeof files / sizeof *files && !st; i++) {
		const json_t *one;

		if (!(st = folder_json(m, words_of(m), files[i], &one, err)))
			json_object_update(all, (json_t *)(uintptr_t)one);
	}
	m->token_config = all;
	return st;
}

enum status part_words(struct part *m, const char *name, struct error *err)
{
	m->words = arena_printf(m->p->arena, "%s/%s", m->p->folder, name);
	return read_token_config(m, err);
}

const char *part_special(const struct part *m, const char *name)
{
	const json_t *x = json_object_get(m->token_config, name);

	return json_string_value(json_is_object(x) ? json_object_get(x, "content") : x);
}

enum status part_add_specials(struct part *m, struct tokenizer *t, struct error *err)
{
	static const char *const names[] = { "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
		"mask_token" };
	enum { NAMES = sizeof names / sizeof *names };
	const json_t *more = json_object_get(m->token_config, "additional_special_tokens"), *x;
	const char **texts = ARENA_ARRAY(m->p->arena, NAMES + json_array_size(more), const char *);
	size_t count = 0, i;

	for (i = 0; i < NAMES; i++)
		if ((texts[count] = part_special(m, names[i])))
			count++;
	json_array_foreach(more, i, x)
	{
		if ((texts[count] = json_string_value(json_is_object(x) ? json_object_get(x, "content") : x)))
			count++;
	}
	return tokenizer_add_special(t, texts, count, err);
}

enum status part_tokenizer(struct part *m, struct tokenizer **out, struct error *err)
{
	struct tokenizer *t = m->tokenizer;
	enum status st = t ? STATUS_OK : tokenizer_open(&t, m->p->arena, words_of(m), err);

	if (!st && !m->tokenizer && file_exists(arena_printf(m->p->arena, "%s/tokenizer.json", words_of(m))))
		st = part_add_specials(m, t, err);
	*out = m->tokenizer = st ? NULL : t;
	return st;
}

int64_t part_special_id(struct part *m, const char *name)
{
	const char *text = part_special(m, name);
	struct tokenizer *t;
	uint32_t id;

	return text && !part_tokenizer(m, &t, NULL) && tokenizer_id(t, text, strlen(text), &id) ? (int64_t)id : -1;
}

size_t part_max_length(const struct part *m)
{
	const json_t *x = json_object_get(m->token_config, "model_max_length");
	double n = json_number_value(x); // 1e30 where there is none

	return n >= 1 && n <= 1e9 ? (size_t)n : 0;
}

bool part_cleans_up(const struct part *m)
{
	return json_is_true(json_object_get(m->token_config, "clean_up_tokenization_spaces"));
}

static enum status resolve(struct part *m, struct error *err)
{
	const char *weights = m->folder == m->p->files ? m->p->folder : m->folder;
	enum status st = checkpoint_open(&m->checkpoint, weights, err);

	if (st)
		return st;
	m->config = m->checkpoint.config;
	if (!m->checkpoint.weight_count && !m->p->prompt)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: no weights are there; `assay synth %s -o %s` puts seeded random ones beside its config.json, whose "
			"answers mean nothing",
			m->folder, m->folder, m->folder);
	if (!(st = arch_resolve(&m->spec, m->p->arena, &m->checkpoint, err)))
		arch_input_hints(m->spec, &m->hints);
	return st;
}

bool part_is_within(const char *name)
{
	int deep = 1;

	for (const char *at = name; *at; at++) {
		if ((at == name || at[-1] == '/') && (*at == '.' || *at == '/'))
			return false;
		deep += *at == '/';
	}
	return *name && deep < MODEL_TREE_DEEP;
}

enum status part_open(struct pipeline *p, const char *name, struct part **out, struct error *err)
{
	for (size_t i = 0; i < p->part_count; i++)
		if (text_is(p->parts[i]->name, name)) {
			*out = p->parts[i];
			return STATUS_OK;
		}
	if (!text_is(name, ".") && !part_is_within(name))
		return error_set(err, STATUS_BAD_INPUT, "%s is no folder of the model's, at most %d deep and not hidden", name,
			MODEL_TREE_DEEP - 1);
	if (p->part_count == PIPELINE_PARTS_MOST)
		return error_set(err, STATUS_UNSUPPORTED, "a pipeline of more than %d models", PIPELINE_PARTS_MOST);
	struct part *m = *out = p->parts[p->part_count++] = ARENA_NEW(p->arena, struct part);
	m->p = p;
	m->name = arena_strdup(p->arena, name);
	const bool root = text_is(name, ".");
	m->folder = root ? p->files : arena_printf(p->arena, "%s/%s", p->folder, name);
	enum status st = resolve(m, err);
	if (!st)
		st = read_token_config(m, err);
	return st || !root ? st : parts_known_of(&m, 1, err);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------------

static void graph_close(struct part_graph *g)
{
	session_close(&g->session);
	graph_free(g->graph);
	g->graph = NULL;
	g->is_open = false;
}

void part_close(struct part *m)
{
	for (size_t i = 0; i < m->graph_count; i++)
		graph_close(&m->graphs[i]);
	m->graph_count = 0;
	checkpoint_close(&m->checkpoint);
}

// Height and width of the pictures that are given; false: there are none.
static bool picture_size(const struct tensor *in, size_t count, int64_t size[2])
{
	const struct tensor *pixels = tensor_named(in, count, "pixel_values");

	if (!pixels || pixels->rank != 4)
		return false;
	size[0] = pixels->dim[2];
	size[1] = pixels->dim[3];
	return true;
}

static const struct tensor_type *declared(const struct part_graph *g, const char *name)
{
	for (size_t i = 0; i < g->artifact.input_count; i++)
		if (text_is(g->artifact.inputs[i].name, name))
			return &g->artifact.inputs[i];
	return NULL;
}

const struct arch_graph *part_graph_named(const struct part *m, const char *file)
{
	const struct arch_graph *g;

	for (size_t i = 0; (g = arch_graph_at(m->spec, i)); i++)
		if (text_is(g->file, file))
			return g;
	return NULL;
}

bool part_takes(const struct part_graph *g, const char *input)
{
	return declared(g, input) != NULL;
}

// Was it built for pictures of another size than these?
static bool other_size(const struct part_graph *g, const int64_t size[2])
{
	const struct tensor_type *pixels = declared(g, "pixel_values");

	return pixels && pixels->rank == 4 &&
		((pixels->dim[2] >= 0 && pixels->dim[2] != size[0]) || (pixels->dim[3] >= 0 && pixels->dim[3] != size[1]));
}

// Was it built for other shapes than these?
static bool other_shapes(const struct part_graph *g, const struct tensor *in, size_t in_count)
{
	for (size_t i = 0; g->is_static && i < g->artifact.input_count; i++) {
		const struct tensor_type *type = &g->artifact.inputs[i];
		const struct tensor *t = tensor_named(in, in_count, type->name);

		if (t && (t->rank != type->rank || memcmp(t->dim, type->dim, (size_t)t->rank * sizeof *t->dim) != 0))
			return true;
	}
	return false;
}

// Every dimension that a graph with open shapes has a name for, by what it is given; without a past where none is.
static enum status bind_shapes(struct part *m, struct part_graph *g, const struct graph_form *form, const struct tensor *in,
	size_t in_count, struct error *err)
{
	struct graph_form open = *form;
	struct artifact named;

	if (!in_count)
		return error_set(err, STATUS_UNSUPPORTED,
			"%s takes graphs with fixed shapes only, and those of %s follow from its run", g->target->platform->name,
			g->which->file);
	open.is_static = false;
	struct graph *probe = graph_new(&open);
	enum status st = artifact_build(&named, m->p->arena, &m->checkpoint, m->spec, g->which, probe, err);
	graph_bind(g->graph, "past_sequence_length", 0);
	for (size_t i = 0; i < named.input_count && !st; i++) {
		const struct tensor *t = tensor_named(in, in_count, named.inputs[i].name);

		for (int axis = 0; t && axis < t->rank; axis++) {
			const char *symbol = graph_input_symbol(probe, i, axis);

			if (symbol)
				graph_bind(g->graph, symbol, t->dim[axis]);
		}
	}
	graph_free(probe);
	return st;
}

static enum status build(struct part *m, struct part_graph *g, const struct graph_form *form, const struct tensor *in,
	size_t in_count, struct error *err)
{
	enum status st;

	graph_free(g->graph);
	g->graph = graph_new(form);
	g->is_static = form->is_static;
	if (g->size[0]) {
		graph_bind(g->graph, "height", g->size[0]);
		graph_bind(g->graph, "width", g->size[1]);
	}
	if (form->is_static && (st = bind_shapes(m, g, form, in, in_count, err)))
		return st;
	const struct artifact_set one = { 1, &g->which, &g->graph, &g->artifact };
	struct conversion made;
	return artifact_build_all(&one, m->p->arena, &m->checkpoint, m->spec, &made, err);
}

static enum status open_form(struct part *m, struct part_graph *g, const struct graph_form *form, const struct tensor *in,
	size_t in_count, struct error *err)
{
	const struct target *t = g->target;
	const struct backend *b = route_backend(t->route);
	int64_t size[2];
	enum status st = build(m, g, form, in, in_count, err);

	if (!st && picture_size(in, in_count, size) && other_size(g, size)) {
		memcpy(g->size, size, sizeof size);
		st = build(m, g, form, in, in_count, err);
	}
	if (!st)
		st = backend_prepare(b, &g->artifact, m->p->arena, &m->checkpoint, err);
	if (!st)
		st = (m->p->is_untimed ? session_open_untimed : session_open)(
			&g->session, b, route_provider(t->route), t->device, t->options, &g->artifact, err);
	return st;
}

// Those with open shapes; of a platform that has none, those with fixed ones.
static void forms_of(const struct platform *p, struct forms *out)
{
	forms_begin(out, p, false, true);
	if (!out->count)
		forms_begin(out, p, false, false);
}

bool part_is_static(const struct part *m, const struct arch_graph *which)
{
	struct forms forms;

	forms_of(part_target(m, which)->platform, &forms);
	return forms.item[0].is_static;
}

static enum status open_graph(struct part *m, struct part_graph *g, const struct tensor *in, size_t in_count, struct error *err)
{
	struct pipeline *p = m->p;
	struct forms forms;
	struct error why = { 0 };
	enum status st = STATUS_OK;

	if (m->is_fixed)
		forms_begin(&forms, g->target->platform, true, false);
	else
		forms_of(g->target->platform, &forms);
	do {
		struct graph_form form = forms.item[forms.at];

		form.precise = p->precise;
		form.logits_chosen = m->logits_chosen && !form.is_static;
		graph_close(g);
		g->form = graph_form_text(p->arena, &form);
		st = open_form(m, g, &form, in, in_count, &why);
	} while (st && forms_refused(p->arena, g->target, true, &why) && forms_next(&forms, p->arena, g->target, g->form, &why));
	if (st)
		return error_copy(err, st, &why);
	g->session.keeps_outputs = g->which->step != STEP_ENCODE;
	g->is_open = true;
	return STATUS_OK;
}

static double mib_since(long long kib)
{
	const long long now = kib < 0 ? -1 : memory_anonymous_kib();

	return now < 0 ? (double)NAN : (double)(now - kib) / 1024;
}

enum status part_graph(struct part *m, const struct arch_graph *which, const struct tensor *in, size_t in_count,
	struct part_graph **out, struct error *err)
{
	struct part_graph *g = NULL;
	int64_t size[2];
	enum status st;

	if (m->p->prompt)
		return error_set(err, STATUS_UNSUPPORTED, "a prompt of %s: the model would have to run first", m->p->task->name);
	for (size_t i = 0; i < m->graph_count && !g; i++)
		if (m->graphs[i].which == which)
			g = &m->graphs[i];
	if (!g && m->graph_count == PIPELINE_GRAPHS_MOST)
		return error_set(err, STATUS_UNSUPPORTED, "a model of more than %d graphs", PIPELINE_GRAPHS_MOST);
	if (!g) {
		g = &m->graphs[m->graph_count++];
		g->which = which;
		g->target = part_target(m, which);
	}
	*out = g;
	if (g->is_open && !(picture_size(in, in_count, size) && other_size(g, size)) && !other_shapes(g, in, in_count))
		return STATUS_OK;
	pipeline_pause(m->p);
	bool (*meet)(void) = m->p->meet;
	m->p->meet = NULL;
	if (meet && !meet())
		return error_set(err, STATUS_NOT_ASKED, "it was not to answer");
	const long long before = memory_anonymous_kib();
	double began = clock_ms();
	st = open_graph(m, g, in, in_count, err);
	g->open_ms += clock_ms() - began;
	g->anonymous_mib = mib_since(before);
	pipeline_resume(m->p);
	return st;
}

// ---- runs -----------------------------------------------------------------------------------------------------------------

static bool is_past(const char *name)
{
	enum flow_kind kind = flow_input(name);

	return kind == FLOW_CACHE || kind == FLOW_STATE;
}

// Of an input that was not given: [rows, columns] as the ids have it, but for a past.
static enum status neutral(
	const struct tensor_type *type, const struct tensor *ids, struct arena *a, struct tensor *out, struct error *err)
{
	bool counts = text_is(type->name, "position_ids"), masks = text_ends(type->name, "attention_mask");

	*out = (struct tensor){ .name = type->name, .dtype = type->dtype, .rank = type->rank, .nbytes = dtype_size(type->dtype) };
	if (!ids ||
		!(is_past(type->name) ||
			((counts || masks || text_ends(type->name, "token_type_ids")) && type->rank == 2 &&
				type->dtype == DTYPE_I64)))
		return error_set(err, STATUS_UNSUPPORTED, "nothing is there for the model's input %s", type->name);
	for (int i = 0; i < type->rank; i++) {
		out->dim[i] = is_past(type->name) ? (type->dim[i] >= 0 ? type->dim[i] : i == 0 ? ids->dim[0] : 0) : ids->dim[i];
		out->nbytes *= (size_t)out->dim[i];
	}
	int64_t *data = arena_alloc(a, out->nbytes + 1); // zeroed
	out->data = data;
	for (int64_t i = 0; (counts || masks) && i < ids->dim[0] * ids->dim[1]; i++)
		data[i] = counts ? i % ids->dim[1] : 1;
	return STATUS_OK;
}

static enum status gather(const struct part_graph *g, const struct tensor *in, size_t in_count, struct tensor *given,
	struct arena *a, struct error *err)
{
	const struct tensor *ids = tensor_named(in, in_count, "input_ids");
	enum status st = STATUS_OK;

	for (size_t i = 0; i < g->session.input_count && !st; i++) {
		const struct tensor *t = tensor_named(in, in_count, g->session.inputs[i].name);

		if (t)
			given[i] = *t;
		else
			st = neutral(&g->session.inputs[i], ids && ids->rank == 2 ? ids : NULL, a, &given[i], err);
	}
	return st;
}

enum status part_run(struct part *m, const struct arch_graph *which, const struct tensor *in, size_t in_count, struct arena *a,
	struct tensor **out, size_t *out_count, struct error *err)
{
	struct part_graph *g;
	enum status st = part_graph(m, which, in, in_count, &g, err);

	if (st)
		return st;
	struct session *s = &g->session;
	struct tensor *given = ARENA_ARRAY(a, s->input_count + 1, struct tensor);
	*out = ARENA_ARRAY(a, s->output_count + 1, struct tensor);
	*out_count = s->output_count;
	if ((st = gather(g, in, in_count, given, a, err)))
		return st;
	pipeline_pause(m->p);
	const long long before = g->runs ? -1 : memory_anonymous_kib();
	double began = clock_ms();
	st = session_run(s, given, s->input_count, *out, s->output_count, err);
	g->run_ms += clock_ms() - began;
	if (!g->runs++)
		g->anonymous_mib += mib_since(before);
	pipeline_resume(m->p);
	for (size_t i = 0; i < s->output_count && !st; i++) {
		struct tensor *t = &(*out)[i];
		void *copy = arena_alloc(a, t->nbytes + 1);

		memcpy(copy, t->data, t->nbytes);
		t->data = copy;
		t->name = s->outputs[i].name;
	}
	return st;
}

bool all_finite(const struct tensor *t)
{
	size_t elements = 0;

	tensor_count(t->rank, t->dim, &elements);
	for (size_t i = 0; i < elements; i++)
		if (!isfinite(((const float *)t->data)[i]))
			return false;
	return true;
}

const struct tensor *part_output(const struct tensor *out, size_t count, const char *name, int rank, struct error *err)
{
	const struct tensor *t = tensor_named(out, count, name);

	if (t && t->rank == rank && t->dtype == DTYPE_F32) {
		if (all_finite(t))
			return t;
		error_set(err, STATUS_FAILED, "%s holds what is no number", name);
		return NULL;
	}
	error_set(err, STATUS_UNSUPPORTED, "the model gives no %s of %d dimensions in f32", name, rank);
	return NULL;
}
