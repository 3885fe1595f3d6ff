// SPDX-License-Identifier: Apache-2.0
// A transducer's loop must find what its whole graph gives. The encoder runs once; then each token of the case goes into the step
// by itself, with the states that the step before it gave and all of the encoder's frames.
//
//   whole     decoder_input_ids [2, 7]                          -> logits [2, frames, 7, 99]
//   step 3    input_ids [2, 1], the fourth of them, and states  -> logits [2, frames, 1, 99] against those of the fourth
#include "conform/case.h"

#include <string.h>

#include "base/text.h"
#include "onnx/flow.h"

// Place `at` of an axis: [.., 1, ..].
static struct tensor place_of(const struct tensor *t, int axis, int64_t at, struct arena *a)
{
	struct tensor out = *t;
	size_t before = 1, after = dtype_size(t->dtype), n = (size_t)t->dim[axis];

	for (int i = 0; i < axis; i++)
		before *= (size_t)t->dim[i];
	for (int i = axis + 1; i < t->rank; i++)
		after *= (size_t)t->dim[i];
	out.dim[axis] = 1;
	out.nbytes = before * after;
	out.data = arena_alloc(a, out.nbytes + 1);
	for (size_t i = 0; i < before; i++)
		memcpy((char *)out.data + i * after, (const char *)t->data + (i * n + (size_t)at) * after, after);
	return out;
}

// Before the first token.
static struct tensor zeros_of(const struct tensor_type *type, int64_t batch, struct arena *a)
{
	struct tensor t = { .name = type->name, .dtype = type->dtype, .rank = type->rank, .nbytes = dtype_size(type->dtype) };

	for (int i = 0; i < t.rank; i++) {
		t.dim[i] = type->dim[i] >= 0 ? type->dim[i] : batch;
		t.nbytes *= (size_t)t.dim[i];
	}
	t.data = arena_alloc(a, t.nbytes + 1); // zeroed
	return t;
}

static enum status no_input(const char *name, struct error *err)
{
	return error_set(err, STATUS_FAILED, "nothing is there for the input %s", name);
}

static enum status encode(
	struct session *s, const struct tensor *in, size_t in_count, struct tensor *heard, struct arena *a, struct error *err)
{
	struct tensor *given = ARENA_ARRAY(a, s->input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(a, s->output_count + 1, struct tensor);
	enum status st;

	for (size_t i = 0; i < s->input_count; i++) {
		const struct tensor *t = tensor_named(in, in_count, s->inputs[i].name);

		if (!t)
			return no_input(s->inputs[i].name, err);
		given[i] = *t;
	}
	if ((st = session_run(s, given, s->input_count, out, s->output_count, err)))
		return st;
	for (size_t i = 0; i < s->output_count; i++)
		if (flow_output(s->outputs[i].name) == FLOW_ENCODED) {
			*heard = out[i];
			heard->name = flow_next(a, s->outputs[i].name);
		}
	return heard->name ? STATUS_OK : error_set(err, STATUS_FAILED, "the encoder gives nothing that a step takes");
}

// What step `at` takes: from the outputs of the one before, which are NULL at first.
static enum status give(const struct session *s, const struct tensor *ids, const struct tensor *heard, int64_t at,
	const struct tensor *before, struct tensor *in, struct arena *a, struct error *err)
{
	for (size_t i = 0; i < s->input_count; i++) {
		const char *name = s->inputs[i].name;
		bool is_state = flow_input(name) == FLOW_STATE, found = !before && is_state;

		if (text_is(name, "input_ids"))
			in[i] = place_of(ids, 1, at, a);
		else if (text_is(name, heard->name))
			in[i] = *heard;
		else if (found)
			in[i] = zeros_of(&s->inputs[i], ids->dim[0], a);
		for (size_t k = 0; is_state && before && k < s->output_count; k++) {
			const char *next = flow_next(a, s->outputs[k].name);

			if (next && text_is(next, name)) {
				in[i] = before[k];
				found = true;
			}
		}
		if (!found && !text_is(name, "input_ids") && !text_is(name, heard->name))
			return no_input(name, err);
		in[i].name = name;
	}
	return STATUS_OK;
}

static enum status judge_step(const struct session *s, const struct tensor *out, const struct tensor *whole, int64_t at,
	struct arena *a, bool *differs, struct error *err)
{
	for (size_t i = 0; i < s->output_count; i++) {
		struct check check = { .name = "logits" };

		if (!text_is(s->outputs[i].name, "logits"))
			continue;
		struct tensor part = place_of(whole, 2, at, a);
		judge_tensor(&out[i], &part, NULL, bound_for(DTYPE_F32), BY_GOLDEN, a, &check);
		*differs = !check.right;
		return check.right ? STATUS_OK
				   : error_set(err, STATUS_FAILED, "token %lld is not what it is in one run: %s", (long long)at,
					     check.cause);
	}
	return error_set(err, STATUS_FAILED, "a step gives no logits");
}

static enum status step_through(const struct conform_model *m, struct session *encoder, struct session *step,
	const struct tensor *in, const struct tensor *out, struct arena *a, bool *differs, struct error *err)
{
	const struct tensor *ids = tensor_named(in, m->whole->input_count, "decoder_input_ids"),
			    *whole = tensor_named(out, m->whole->output_count, "logits");
	struct tensor heard = { 0 }, *given = ARENA_ARRAY(a, step->input_count + 1, struct tensor),
		      *gives = ARENA_ARRAY(a, step->output_count + 1, struct tensor);
	enum status st;

	if (!ids || !whole || ids->rank != 2 || whole->rank != 4 || whole->dim[2] != ids->dim[1])
		return error_set(err, STATUS_BAD_INPUT, "the case has no tokens, or no logits of each");
	if ((st = encode(encoder, in, m->whole->input_count, &heard, a, err)))
		return st;
	for (int64_t at = 0; at < ids->dim[1] && !st; at++)
		if (!(st = give(step, ids, &heard, at, at ? gives : NULL, given, a, err)) &&
			!(st = session_run(step, given, step->input_count, gives, step->output_count, err)))
			st = judge_step(step, gives, whole, at, a, differs, err);
	return st;
}

enum status conform_steps(const struct conform_model *m, const struct tensor *in, const struct tensor *out, struct arena *a,
	bool *differs, struct error *err)
{
	struct conform_graph encoder = { 0 }, step = { 0 };
	enum status st = conform_graph_open(&encoder, m, arch_graph_of(m->spec, STEP_ENCODE), a, err);

	if (!st)
		st = conform_graph_open(&step, m, arch_graph_of(m->spec, STEP_TRANSDUCE), a, err);
	if (!st && (st = step_through(m, &encoder.session, &step.session, in, out, a, differs, err)))
		error_prefix(err, "step by step");
	conform_graph_close(&encoder);
	conform_graph_close(&step);
	return st;
}
