// SPDX-License-Identifier: Apache-2.0
// --data: all examples through the session that is open, one by one, in the phase "data". Their inputs have the shapes of the
// examples; where those of the graph are fixed, texts are padded to them and everything else must fit.
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cell/data.h"
#include "cell/say.h"
#include "cell/score.h"
#include "cell/work.h"

// Types as the graph declares them, with what is open left open.
static const struct tensor_type *declared(const struct work *w, size_t *count)
{
	const struct artifact *art = &w->part->artifact;
	const struct session *s = &w->part->session;

	*count = art->inputs ? art->input_count : s->input_count;
	return art->inputs ? art->inputs : s->inputs;
}

static enum status example_scores(struct work *w, const struct data_example *e, const struct tensor *made, struct tensor *in,
	struct tensor *out, size_t made_count, struct scores *scores, struct error *err)
{
	struct session *s = &w->part->session;
	enum status st = work_order(w, made, made_count, in, err);

	if (!st)
		st = session_run(s, in, s->input_count, out, s->output_count, err);
	return st ? st : scores_add(scores, &w->arena, e, out, s->output_count, w->hints.predicts_next, err);
}

static enum status run_example(
	struct work *w, const struct data_set *set, size_t i, struct data_reader *r, struct scores *scores, struct error *err)
{
	struct arena a = { 0 };
	struct data_example e;
	struct tensor *made = ARENA_ARRAY(&a, r->type_count + 1, struct tensor),
		      *in = ARENA_ARRAY(&a, w->part->session.input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(&a, w->part->session.output_count + 1, struct tensor);
	enum status st = data_read(&e, &a, set, i, r, err);

	if (!st) {
		st = inputs_of(&a, r->types, r->type_count, e.inputs, e.input_count, set->items[i].name, made, NULL, err);
		if (st) // its words have the name
			error_prefix(err, "--data");
		else if ((st = example_scores(w, &e, made, in, out, r->type_count, scores, err)))
			error_prefix(err, "--data, %s", set->items[i].name);
	}
	arena_done(&a);
	return st;
}

enum status work_data(struct work *w, struct scores *scores, struct error *err)
{
	struct data_reader r = { .model = w->ask.path,
		.config = w->checkpoint.config,
		.text_most = w->hints.max_sequence,
		.pad_token_id = w->hints.pad_token_id };
	struct data_set set;
	enum status st = data_list(&set, &w->arena, w->ask.data, err);

	if (st)
		return st;
	say_phase("data");
	r.types = declared(w, &r.type_count);
	for (size_t i = 0; i < r.type_count; i++)
		if (text_is(r.types[i].name, "input_ids") && r.types[i].rank == 2 && r.types[i].dim[1] > 0)
			r.text_length = r.types[i].dim[1];
	scores_begin(scores, &w->arena, set.count);
	for (size_t i = 0; i < set.count && !st; i++)
		st = run_example(w, &set, i, &r, scores, err);
	data_reader_done(&r);
	return st;
}
