// SPDX-License-Identifier: Apache-2.0
// ONNX's own tests of its operators, a case each: a folder with model.onnx, and in test_data_set_0 its inputs and outputs as
// ONNX's reference implementation computed them, in the order in which the graph declares them (input_0.pb, output_0.pb, ...).
#include "conform/case.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact.h"
#include "artifact/identity.h"
#include "backend/cause.h"
#include "backend/outline.h"
#include "base/file.h"
#include "base/text.h"
#include "onnx/tensor_file.h"

enum { DROPOUT_TRAINING = 3 }; // inputs: data, ratio, training_mode

bool conform_is_node(const char *folder, struct arena *a)
{
	return file_exists(arena_printf(a, "%s/model.onnx", folder));
}

// The operator of a graph: of its only node, else of the first of them.
static const char *op_of(struct arena *a, const char *folder)
{
	struct arena passing = { 0 };
	struct artifact art;
	struct outline o;
	const char *op = NULL;

	if (!artifact_open_onnx(&art, &passing, arena_printf(&passing, "%s/model.onnx", folder), NULL) &&
		!outline_read(&o, &passing, art.graph, art.graph_nbytes, NULL) && o.node_count)
		op = arena_strdup(a, o.nodes[0].op);
	arena_done(&passing);
	return op ? op : "(unreadable)";
}

static int by_op(const void *x, const void *y)
{
	const struct conform_case *a = x, *b = y;
	const int order = strcmp(a->op, b->op);

	return order ? order : strcmp(a->name, b->name);
}

enum status conform_nodes(struct conform_case **out, size_t *count, struct arena *a, const char *folder, struct error *err)
{
	static const char expanded[] = "_expanded";
	size_t n = 0, room = 256;
	struct conform_case *all = ARENA_ARRAY(a, room, struct conform_case);
	struct dirent *entry;
	DIR *dir = opendir(folder);
	int code;

	if (!dir)
		return error_errno(err, "%s", folder);
	while ((entry = file_next(dir, &code)) != NULL) {
		const char *name = entry->d_name, *part = strstr(name, expanded);
		const char *path = arena_printf(a, "%s/%s", folder, name);
		const char *base = part ? arena_printf(a, "%s/%.*s", folder, (int)(part - name), name) : path;

		if (*name == '.' || !conform_is_node(path, a))
			continue;
		if (n == room) {
			struct conform_case *more = ARENA_ARRAY(a, 2 * room, struct conform_case);

			memcpy(more, all, n * sizeof *all);
			all = more;
			room *= 2;
		}
		all[n++] = (struct conform_case){ .name = arena_strdup(a, name),
			.folder = path,
			.op = op_of(a, conform_is_node(base, a) ? base : path),
			.max_abs_error = (double)NAN,
			.nmse = (double)NAN };
	}
	closedir(dir);
	errno = code;
	if (code)
		return error_errno(err, "%s", folder);
	if (!n)
		return error_set(err, STATUS_BAD_INPUT,
			"%s holds no folder with model.onnx and test_data_set_0, as ONNX's tests of operators are", folder);
	qsort(all, n, sizeof *all, by_op);
	*out = all;
	*count = n;
	return STATUS_OK;
}

static enum status read_all(struct tensor *out, struct arena *a, const char *folder, const char *what,
	const struct tensor_type *types, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *path = arena_printf(a, "%s/test_data_set_0/%s_%zu.pb", folder, what, i);
		enum status st = types[i].dtype == DTYPE_NONE
			? error_set(err, STATUS_UNSUPPORTED, "its type is none that assay holds (texts, sequences, 4 bits, ...)")
			: tensor_file_read(&out[i], a, path, err);

		if (st)
			return error_prefix(err, "%s %s", what, types[i].name);
		out[i].name = types[i].name;
	}
	return STATUS_OK;
}

// What ONNX's own runner takes: every element within 1e-3 of its reference, and 1e-7. Expected outputs that were written by
// hand are rounded, which assay's bounds do not take.
static bool is_close(const struct tensor *x, const struct tensor *r)
{
	size_t count;

	if (x->rank != r->rank || memcmp(x->dim, r->dim, (size_t)r->rank * sizeof *r->dim) ||
		!tensor_count(r->rank, r->dim, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		const double a = tensor_get(x, i), b = tensor_get(r, i);

		if (isfinite(b) ? !(fabs(a - b) <= 1e-7 + 1e-3 * fabs(b)) : a != b && !(isnan(a) && isnan(b)))
			return false;
	}
	return true;
}

// Outputs are judged by the type that they have, whatever the engine computed in between.
static enum status judge(struct conform_node *n, const struct session *s, const struct tensor *out, const struct tensor *wanted,
	size_t count, struct arena *a, struct error *err)
{
	n->max_abs_error = n->nmse = 0;
	for (size_t i = 0; i < count; i++) {
		struct check check = { .name = wanted[i].name };
		size_t k = 0;

		while (k < s->output_count && !text_is(s->outputs[k].name, wanted[i].name))
			k++;
		if (k == s->output_count)
			return error_set(err, STATUS_FAILED, "the engine gives no output %s", wanted[i].name);
		if (out[k].dtype != wanted[i].dtype) {
			n->differs = true;
			return error_set(err, STATUS_FAILED, "%s is %s, and should be %s", wanted[i].name,
				dtype_word(out[k].dtype), dtype_word(wanted[i].dtype));
		}
		const enum dtype type = wanted[i].dtype;
		judge_tensor(&out[k], &wanted[i], NULL, bound_for(type == DTYPE_F16 || type == DTYPE_BF16 ? type : n->computes),
			BY_GOLDEN, a, &check);
		if (check.max_abs_error > n->max_abs_error)
			n->max_abs_error = check.max_abs_error;
		if (check.nmse > n->nmse)
			n->nmse = check.nmse;
		// Of what is no number in the reference, and of what rounding hides beside a large one, assay's bounds say
		// nothing; ONNX's runner does.
		if ((!check.right || check.not_judged || check.no_reference > 0) && !is_close(&out[k], &wanted[i])) {
			n->differs = true;
			return check.not_judged
				? error_set(err, STATUS_FAILED, "%s: further off than ONNX's runner takes (1e-3 of each), %s",
					  wanted[i].name, check.not_judged)
				: check.right
				? error_set(err, STATUS_FAILED, "%s: not the NaN and infinities of the reference", wanted[i].name)
				: error_set(err, STATUS_FAILED, "%s", check.cause);
		}
	}
	return STATUS_OK;
}

// An operator that draws random numbers has other outputs each time: only that it runs is asked.
static enum status run(struct conform_node *n, const struct target *t, const char *folder, struct artifact *art,
	struct session *s, struct arena *a, struct error *err)
{
	const struct backend *b = route_backend(t->route);
	struct outline_arithmetic what = { 0 };
	struct outline o = { 0 };
	const char *path = arena_printf(a, "%s/model.onnx", folder);
	enum status st = model_check_places(path, err);

	if (st) {
		n->untaken = true;
		return st;
	}
	if ((st = artifact_open_onnx(art, a, path, err)))
		return st;
	cause_set_file(art->graph_path); // before an engine speaks
	if ((st = artifact_identify(art, a, NULL, err)) || (st = outline_read(&o, a, art->graph, art->graph_nbytes, err)))
		return st;
	n->nodes = (int64_t)o.node_count;
	if (!o.output_count) {
		n->untaken = true;
		return error_set(err, STATUS_BAD_INPUT, "%s: a graph without outputs: nothing is compared", path);
	}
	outline_arithmetic(&what, &o, a, art->graph, art->graph_nbytes);
	struct tensor *given = ARENA_ARRAY(a, o.input_count + 1, struct tensor),
		      *wanted = ARENA_ARRAY(a, o.output_count + 1, struct tensor);
	if ((st = read_all(given, a, folder, "input", o.inputs, o.input_count, err)) ||
		(st = read_all(wanted, a, folder, "output", o.outputs, o.output_count, err))) {
		n->untaken = true;
		return st;
	}
	if ((st = backend_prepare(b, art, a, NULL, err)) ||
		(st = session_open_untimed(s, b, route_provider(t->route), t->device, t->options, art, err)))
		return st;
	struct tensor *in = ARENA_ARRAY(a, s->input_count + 1, struct tensor),
		      *out = ARENA_ARRAY(a, s->output_count + 1, struct tensor);
	for (size_t i = 0; i < s->input_count; i++) {
		const struct tensor *x = tensor_named(given, o.input_count, s->inputs[i].name);

		if (!x)
			return error_set(err, STATUS_FAILED, "the engine asks for an input %s, which the graph does not declare",
				s->inputs[i].name);
		in[i] = *x;
	}
	if ((st = session_run(s, in, s->input_count, out, s->output_count, err)))
		return st;
	if (what.draws) {
		n->untaken = true;
		return error_set(
			err, STATUS_UNSUPPORTED, "%s draws random numbers: it ran, and nothing can judge it", what.draws);
	}
	const char *computes = session_option(s, "compute_dtype");
	n->computes = computes ? dtype_find(computes) : DTYPE_F32;
	st = judge(n, s, out, wanted, o.output_count, a, err);
	if (n->differs && o.input_count == DROPOUT_TRAINING && text_is(o.nodes[0].op, "Dropout")) {
		n->differs = false;
		n->untaken = true;
		return error_set(
			err, STATUS_UNSUPPORTED, "Dropout in training draws random numbers: it ran, and nothing can judge it");
	}
	return st;
}

enum status conform_node_run(struct conform_node *n, const struct target *t, const char *folder, struct artifact *art,
	struct session *s, struct arena *a, struct error *err)
{
	*n = (struct conform_node){ .max_abs_error = (double)NAN, .nmse = (double)NAN };
	return run(n, t, folder, art, s, a, err);
}
