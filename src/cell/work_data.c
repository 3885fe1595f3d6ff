// SPDX-License-Identifier: Apache-2.0
// --data: all examples through the session that is open, one by one, in the phase "data". Their inputs have the shapes of the
// examples; where those of the graph are fixed, texts are padded to them and everything else must fit.
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cell/say.h"
#include "cell/score.h"
#include "cell/work.h"
#include "preprocess/preprocess.h"

// Types as the graph declares them, with what is open left open.
static const struct tensor_type *declared(const struct work *w, size_t *count)
{
	const struct artifact *art = &w->part->artifact;
	const struct session *s = &w->part->session;

	*count = art->inputs ? art->input_count : s->input_count;
	return art->inputs ? art->inputs : s->inputs;
}

// What the set's examples need to become scores.
struct asking {
	struct work *w;
	struct arena arena; // of `dictation`
	void *dictation;    // where the model writes (data_dictates), from the first sound on
	struct data_reader reader;
	struct scores *scores;
};

static enum status score_rules(struct score_rules *out, struct asking *x, const struct data_example *e, struct error *err)
{
	struct preparing *how = &x->reader.how;

	*out = (struct score_rules){ .predicts_next = x->w->hints.predicts_next,
		.processor = how->preprocessor ? preprocessor_class(how->preprocessor) : NULL };
	enum status st = e->transcript ? prepare_tokenizer(how, err) : STATUS_OK;

	out->tokenizer = how->tokenizer;
	return st;
}

// What is wrong with an example says nothing of the platform: the model was not asked.
static enum status not_asked(enum status st, struct error *err)
{
	return st == STATUS_BAD_INPUT ? (err->status = STATUS_NOT_ASKED) : st;
}

static enum status example_scores(struct asking *x, const struct data_example *e, const struct tensor *made, struct tensor *in,
	struct tensor *out, struct error *err)
{
	struct session *s = &x->w->part->session;
	struct score_rules rules;
	enum status st;

	if ((st = not_asked(score_rules(&rules, x, e, err), err)) ||
		(st = work_order(x->w, made, x->reader.type_count, in, err)) ||
		(st = session_run(s, in, s->input_count, out, s->output_count, err)))
		return st;
	return not_asked(scores_add(x->scores, &x->w->arena, e, out, s->output_count, &rules, err), err);
}

// Opened beside the session that is measured, whose one graph is no loop.
static enum status open_dictation(struct asking *x, struct error *err)
{
	struct work *w = x->w;
	struct target t = w->target;

	t.options = w->ask.options;
	if (x->dictation)
		return STATUS_OK;
	if (w->ask.dequantised)
		return error_set(
			err, STATUS_UNSUPPORTED, "weights in integers, dequantised, in a loop that writes are not supported yet");
	return w->dictation->open(&x->dictation, &x->arena, w->ask.path, &t, w->precise.precision ? w->ask.precision : NULL, err);
}

static enum status written_scores(struct asking *x, const struct data_example *e, struct arena *a, struct error *err)
{
	struct score_rules rules = { 0 };
	enum status st = open_dictation(x, err);

	if (st || (st = not_asked(x->w->dictation->hear(x->dictation, a, e->sound, &rules.said, err), err)))
		return st;
	return not_asked(scores_add(x->scores, &x->w->arena, e, NULL, 0, &rules, err), err);
}

static enum status run_example(struct asking *x, size_t i, struct error *err)
{
	struct arena a = { 0 };
	struct data_example e;
	const struct data_set *set = &x->w->data;
	const struct session *s = &x->w->part->session;
	struct data_reader *r = &x->reader;
	struct tensor *made = ARENA_ARRAY(&a, r->type_count + 1, struct tensor),
		      *in = ARENA_ARRAY(&a, s->input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(&a, s->output_count + 1, struct tensor);
	enum status st = not_asked(data_read(&e, &a, set, i, r, err), err);

	if (!st && e.sound) {
		if ((st = written_scores(x, &e, &a, err)))
			error_prefix(err, "--data, %s", set->items[i].name);
	} else if (!st) {
		st = not_asked(
			inputs_of(&a, r->types, r->type_count, e.inputs, e.input_count, set->items[i].name, made, NULL, err),
			err);
		if (st) // its words have the name
			error_prefix(err, "--data");
		else if ((st = example_scores(x, &e, made, in, out, err)))
			error_prefix(err, "--data, %s", set->items[i].name);
	}
	arena_done(&a);
	return st;
}

enum status work_data(struct work *w, struct scores *scores, struct error *err)
{
	struct asking x = { .w = w,
		.reader = { .how = { .model = w->ask.path,
				    .text_most = w->hints.max_sequence,
				    .pad_token_id = w->hints.pad_token_id },
			.config = w->checkpoint.config,
			.leaves_sounds = w->spec && data_dictates(arch_model_type(w->spec)) },
		.scores = scores };
	struct data_reader *r = &x.reader;
	enum status st = w->data.count ? STATUS_OK : not_asked(data_list(&w->data, &w->arena, w->ask.data, err), err);

	const bool has_masks = !st && data_has(&w->data, "mask");
	if (st || (has_masks && (st = not_asked(preprocessor_reduces_labels(&r->reduces_labels, w->ask.path, err), err))))
		return st;
	say_phase("data");
	r->types = declared(w, &r->type_count);
	for (size_t i = 0; i < r->type_count; i++)
		if (text_is(r->types[i].name, "input_ids") && r->types[i].rank == 2 && r->types[i].dim[1] > 0)
			r->how.text_length = r->types[i].dim[1];
	scores_begin(scores, &w->arena, w->data.count);
	for (size_t i = 0; i < w->data.count && !st; i++)
		st = run_example(&x, i, err);
	preparing_done(&r->how);
	arena_done(&x.arena);
	return st;
}
