// SPDX-License-Identifier: Apache-2.0
// gen.json of a conformance case: what transformers' generate() gave, greedily, token by token. The same tokens must come out
// here, with logits within the bound, and each must be what a run without a cache gives. All of it again with the cache in its
// shared form, where the platform has it and the model can, its padding moved after the prompt.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "conform/case.h"
#include "conform/stored.h"
#include "cell/generate.h"
#include "run/judge.h"

// A case is a stranger's file, and what is computed of it grows with these. Those that there are have 2 runs of 2 rows, 90 tokens
// of a prompt and 20 new ones.
enum { RUNS_MOST = 16, ROWS_MOST = 64, TOKENS_MOST = 4096, NEW_MOST = 256 };

static enum status integers(
	int64_t **out, int64_t *rows, int64_t *columns, const json_t *list, const char *what, struct arena *a, struct error *err)
{
	*rows = (int64_t)json_array_size(list);
	*columns = (int64_t)json_array_size(json_array_get(list, 0));
	if (!*rows || !*columns)
		return error_set(err, STATUS_BAD_INPUT, "gen.json: %s should be rows of integers", what);
	if (*rows > ROWS_MOST || *columns > TOKENS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "gen.json: %s of %lld by %lld tokens; at most %d by %d", what,
			(long long)*rows, (long long)*columns, ROWS_MOST, TOKENS_MOST);
	*out = ARENA_ARRAY(a, (size_t)(*rows * *columns), int64_t);
	for (int64_t i = 0; i < *rows; i++) {
		const json_t *row = json_array_get(list, (size_t)i);
		if ((int64_t)json_array_size(row) != *columns)
			return error_set(err, STATUS_BAD_INPUT, "gen.json: the rows of %s differ in length", what);
		for (int64_t k = 0; k < *columns; k++) {
			const json_t *x = json_array_get(row, (size_t)k);
			if (!json_is_integer(x))
				return error_set(err, STATUS_BAD_INPUT, "gen.json: %s should be rows of integers", what);
			(*out)[i * *columns + k] = json_integer_value(x);
		}
	}
	return STATUS_OK;
}

// The rows of `from` that the run names, or all.
static enum status take_rows(
	struct tensor *out, const struct weight *from, const json_t *rows, struct arena *a, struct error *err)
{
	size_t count = json_array_size(rows), each;
	*out = (struct tensor){ .name = from->name + 3, .dtype = from->dtype, .rank = from->rank };
	memcpy(out->dim, from->dim, sizeof out->dim);
	each = from->rank && from->dim[0] > 0 ? from->nbytes / (size_t)from->dim[0] : 0;
	if (!rows)
		count = from->rank ? (size_t)from->dim[0] : 0;
	size_t most = rows ? ROWS_MOST : TOKENS_MOST; // all of a tensor may be patches
	if (count > most)
		return error_set(err, STATUS_BAD_INPUT, "gen.json: %zu rows of %s; at most %zu", count, from->name, most);
	out->dim[0] = (int64_t)count;
	out->nbytes = count * each;
	if (!(out->data = arena_try(a, out->nbytes)))
		return error_set(err, STATUS_NO_MEMORY, "gen.json: not enough memory for the rows of %s", from->name);
	for (size_t i = 0; i < count; i++) {
		int64_t row = rows ? json_integer_value(json_array_get(rows, i)) : (int64_t)i;
		if (row < 0 || row >= from->dim[0])
			return error_set(err, STATUS_BAD_INPUT, "gen.json: %s has no row %lld", from->name, (long long)row);
		memcpy((char *)out->data + i * each, (const char *)from->data + (size_t)row * each, each);
	}
	return STATUS_OK;
}

static enum status read_prompt(struct prompt *p, const json_t *run, const char *folder, struct arena *a, struct error *err)
{
	const json_t *from = json_object_get(run, "from_io"), *decoder = json_object_get(run, "decoder_input_ids"),
		     *ids = decoder ? decoder : json_object_get(run, "input_ids");
	struct stored io;
	int64_t rows, columns, *data;
	struct tensor *inputs = ARENA_ARRAY(a, json_array_size(from) + 1, struct tensor);
	enum status st = stored_open(&io, a, arena_printf(a, "%s/io.safetensors", folder), err);

	*p = (struct prompt){ .inputs = inputs };
	if (st || (st = integers(&data, &p->batch, &p->length, ids, "the prompt", a, err)))
		return st;
	p->ids = data;
	if (!decoder && json_object_get(run, "attention_mask")) {
		if ((st = integers(&data, &rows, &columns, json_object_get(run, "attention_mask"), "attention_mask", a, err)))
			return st;
		if (rows != p->batch || columns != p->length)
			return error_set(err, STATUS_BAD_INPUT, "gen.json: attention_mask is not of the prompt's size");
		p->mask = data;
	}
	bool by_axis = json_is_array(json_array_get(json_array_get(json_object_get(run, "position_ids"), 0), 0));
	if (json_object_get(run, "position_ids") && !by_axis) { // the graph makes those of three axes itself
		if ((st = integers(&data, &rows, &columns, json_object_get(run, "position_ids"), "position_ids", a, err)))
			return st;
		if (rows != p->batch || columns != p->length)
			return error_set(err, STATUS_BAD_INPUT, "gen.json: position_ids are not of the prompt's size");
		p->positions = data;
	}
	for (size_t i = 0; i < json_array_size(from); i++) {
		const char *name = json_string_value(json_array_get(from, i));
		const struct weight *stored = name ? stored_find(&io, name) : NULL;

		if (!stored || !text_starts(name, "in."))
			return error_set(err, STATUS_BAD_INPUT, "gen.json: io.safetensors has no %s", name ? name : "?");
		if (!text_is(name, "in.input_ids") && !text_is(name, "in.attention_mask")
				? (st = take_rows(&inputs[p->input_count++], stored, json_object_get(run, "rows"), a, err))
				: decoder &&
					(st = take_rows(&inputs[p->input_count++], stored, json_object_get(run, "rows"), a, err)))
			return st;
	}
	return STATUS_OK;
}

static enum status compare(const struct generation *g, const struct prompt *p, const json_t *run, struct error *err)
{
	struct bound bound = bound_for(DTYPE_F32);
	const json_t *wanted = json_object_get(run, "generated"), *top2 = json_object_get(run, "top2");
	for (int64_t row = 0; row < p->batch; row++)
		for (int64_t n = 0; n < g->new_tokens; n++) {
			int64_t at = row * g->new_tokens + n,
				id = json_integer_value(json_array_get(json_array_get(wanted, (size_t)row), (size_t)n));
			const json_t *two = json_array_get(json_array_get(top2, (size_t)row), (size_t)n);
			double best = json_number_value(json_array_get(two, 1)),
			       second = json_number_value(json_array_get(two, 3));
			if (json_array_size(two) != 4)
				return error_set(err, STATUS_BAD_INPUT, "gen.json: top2 should be four numbers a token");
			if (g->ids[at] != id)
				return error_set(err, STATUS_FAILED, "row %lld, token %lld is %lld, transformers generates %lld",
					(long long)row, (long long)n, (long long)g->ids[at], (long long)id);
			double limit = bound.max_abs * fmax(1, fabs(best));
			if (!(fabs((double)g->best[at] - best) <= limit) || !(fabs((double)g->second[at] - second) <= limit))
				return error_set(err, STATUS_FAILED,
					"row %lld, token %lld: the best logits are %g and %g, transformers' %g and %g",
					(long long)row, (long long)n, (double)g->best[at], (double)g->second[at], best, second);
		}
	return STATUS_OK;
}

// The same prompt with each row's padding after it.
static void pad_behind(struct prompt *p, struct arena *a)
{
	size_t nbytes = (size_t)(p->batch * p->length) * sizeof *p->ids;
	int64_t *ids = arena_alloc(a, nbytes), *mask = arena_alloc(a, nbytes);
	for (int64_t row = 0; row < p->batch; row++) {
		int64_t pads = 0, begin = row * p->length;
		while (pads < p->length - 1 && !p->mask[begin + pads])
			pads++;
		for (int64_t i = 0; i < p->length; i++) {
			bool is_token = i < p->length - pads;
			ids[begin + i] = p->ids[begin + (is_token ? i + pads : i - (p->length - pads))];
			mask[begin + i] = is_token;
		}
	}
	p->ids = ids;
	p->mask = mask;
}

// Are there as many tokens in each row as in the first, and the two best logits of each? Before anything is generated.
static enum status check_generated(const json_t *run, int64_t *new_tokens, struct error *err)
{
	const json_t *wanted = json_object_get(run, "generated"), *top2 = json_object_get(run, "top2");
	const size_t rows = json_array_size(wanted), count = json_array_size(json_array_get(wanted, 0));

	*new_tokens = (int64_t)count;
	if (!count || !json_is_integer(json_array_get(json_array_get(wanted, 0), 0)))
		return error_set(err, STATUS_BAD_INPUT, "gen.json: generated should be rows of integers");
	if (rows > ROWS_MOST || count > NEW_MOST)
		return error_set(err, STATUS_BAD_INPUT, "gen.json: %zu rows of %zu new tokens; at most %d of %d", rows, count,
			ROWS_MOST, NEW_MOST);
	for (size_t row = 0; row < rows; row++)
		if (json_array_size(json_array_get(wanted, row)) != count)
			return error_set(err, STATUS_BAD_INPUT, "gen.json: the rows of generated differ in length");
		else if (json_array_size(json_array_get(top2, row)) != count)
			return error_set(err, STATUS_BAD_INPUT, "gen.json: top2 should be four numbers a token");
	return STATUS_OK;
}

// `plain`: what a run without a cache is made on.
static enum status one_run(struct generation *g, struct session *plain, const json_t *run, const char *folder, struct arena *a,
	bool *differs, struct error *err)
{
	struct prompt p;
	int64_t differing;
	double error;
	enum status st;

	if ((st = check_generated(run, &g->new_tokens, err)) || (st = read_prompt(&p, run, folder, a, err)))
		return st;
	if (json_array_size(json_object_get(run, "generated")) != (size_t)p.batch)
		return error_set(err, STATUS_BAD_INPUT, "gen.json: generated has not the prompt's rows");
	if (g->shared && p.positions)
		return STATUS_OK; // they count the padding's columns
	if (g->shared && p.mask)
		pad_behind(&p, a);
	if ((st = generate_greedy(g, &p, NULL, a, err)))
		return st;
	if ((st = compare(g, &p, run, err))) {
		*differs = st == STATUS_FAILED; // else gen.json is at fault
		return st;
	}
	struct generation again = *g;
	again.first = plain;
	again.shared = false;
	if ((st = generate_check(&again, &p, &differing, &error, a, err)))
		return st;
	*differs = differing || !(error <= bound_for(DTYPE_F32).max_abs * 10);
	if (*differs)
		return error_set(err, STATUS_FAILED, "%lld tokens differ from a run without a cache, logits by %g",
			(long long)differing, error);
	return STATUS_OK;
}

enum status conform_graph_open(struct conform_graph *out, const struct conform_model *m, const struct arch_graph *which,
	struct arena *a, struct error *err)
{
	const struct target *t = m->target;
	const struct backend *b = route_backend(t->route);
	out->graph = graph_new(m->form);
	const char *io = arena_printf(a, "%s/io.safetensors", m->folder);
	enum status st = conform_build(&out->artifact, m, which, &out->graph, io, a, err);
	if (!st)
		st = backend_prepare(b, &out->artifact, a, m->checkpoint, err);
	if (!st)
		st = session_open(&out->session, b, route_provider(t->route), t->device, t->options, &out->artifact, err);
	if (st)
		error_prefix(err, "%s", which->file);
	out->session.keeps_outputs = which->step > STEP_ENCODE;
	return st;
}

void conform_graph_close(struct conform_graph *g)
{
	session_close(&g->session);
	graph_free(g->graph);
}

enum status conform_generate(const struct conform_model *m, struct arena *a, bool *differs, struct error *err)
{
	const struct spec *spec = m->spec;
	const struct target *t = m->target;
	const struct arch_graph *which[ARCH_STEPS_MOST];
	const size_t count = arch_graphs_of_loop(spec, which);
	const struct backend *b = route_backend(t->route);
	struct conform_graph graphs[ARCH_STEPS_MOST] = { 0 };
	struct generation g = { .first = m->whole, .next = m->whole };
	bool parted = count > 1;
	json_t *json;
	enum status st = json_file(arena_printf(a, "%s/gen.json", m->folder), 1 << 20, &json, err);

	if (st)
		return st;
	if (json_array_size(json_object_get(json, "runs")) < 1 || json_array_size(json_object_get(json, "runs")) > RUNS_MOST) {
		json_decref(json);
		return error_set(err, STATUS_BAD_INPUT, "gen.json should have 1 to %d runs", RUNS_MOST);
	}
	for (size_t i = 0; parted && i < count && !st; i++)
		st = conform_graph_open(&graphs[i], m, which[i], a, err);
	if (count == 1 && which[0] != &arch_whole) {
		st = conform_graph_open(&graphs[0], m, which[0], a, err);
		g.first = g.next = &graphs[0].session;
	}
	if (parted)
		g = (struct generation){
			.encoder = &graphs[0].session, .first = &graphs[1].session, .next = &graphs[count - 1].session
		};
	struct input_hints hints;
	arch_input_hints(spec, &hints);
	g.cache_ends = hints.cache_ends;
	g.transduction = hints.transduction;
	m->whole->keeps_outputs = true;
	const json_t *runs = json_object_get(json, "runs"), *run;
	size_t i;
	json_array_foreach(runs, i, run) if (!st && (st = one_run(&g, g.first, run, m->folder, a, differs, err)))
		error_prefix(err, "gen.json: %s", json_string_value(json_object_get(run, "name")));
	if (!st && !parted && t->platform->cache == CACHE_SHARED && (b->caps & BACKEND_WRITES_IN_PLACE) && !arch_unshared(spec)) {
		struct graph_form shared = *m->form;
		struct conform_model as = *m;
		shared.cache = CACHE_SHARED;
		shared.logits_chosen = true;
		as.form = &shared;
		if (!(st = conform_graph_open(&graphs[0], &as, &arch_whole, a, err)))
			st = session_share_cache(&graphs[0].session, err);
		g.first = g.next = &graphs[0].session;
		g.shared = true;
		json_array_foreach(runs, i, run) if (!st) st = one_run(&g, m->whole, run, m->folder, a, differs, err);
		if (st)
			error_prefix(err, "gen.json: the cache shared");
	}
	for (size_t k = 0; k < ARCH_STEPS_MOST; k++)
		conform_graph_close(&graphs[k]);
	json_decref(json);
	return st;
}
