// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// One small call of each operation on every engine that is here, against figures that numpy and torch computed
// (data/operators.py): with open lengths in the least opset that it needs, with fixed ones in the latest, and brought to 16 bits.
// Engines run only in a child, as in the program.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"
#include "skips.h"

#include "backend/backend.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "onnx/inside.h"
#include "onnx/op.h"
#include "onnx/operator.h"

enum { VALUES_MOST = 12 };

struct call {
	struct graph *g;
	const json_t *in, *out, *weights; // the case's figures
	bool is_static;
	struct tensor given[VALUES_MOST];
	size_t given_count;
};

static struct tensor figure(const json_t *values, const char *name)
{
	const json_t *v = json_object_get(values, name), *data = json_object_get(v, "data"), *shape = json_object_get(v, "shape");
	struct tensor t = { .name = arena_strdup(&arena, name), .rank = (int)json_array_size(shape) };
	size_t count = json_array_size(data), wanted;

	if (!v)
		fail_msg("the figures have no %s", name);
	t.dtype = dtype_find(json_string_value(json_object_get(v, "type")));
	for (int i = 0; i < t.rank; i++)
		t.dim[i] = json_integer_value(json_array_get(shape, (size_t)i));
	assert_true(tensor_count(t.rank, t.dim, &wanted) && wanted == count);
	t.nbytes = count * dtype_size(t.dtype);
	t.data = arena_alloc(&arena, t.nbytes + 1);
	for (size_t i = 0; i < count; i++) {
		double x = json_number_value(json_array_get(data, i));

		if (t.dtype == DTYPE_F32)
			((float *)t.data)[i] = (float)x;
		else if (t.dtype == DTYPE_I64)
			((int64_t *)t.data)[i] = (int64_t)x;
		else
			((uint8_t *)t.data)[i] = x != 0;
	}
	return t;
}

// The input of this name. axes: for each axis a letter, which is its symbol, or a point: the graph has the number.
static graph_value given(struct call *c, const char *name, const char *axes)
{
	struct tensor t = figure(c->in, name);
	int64_t dim[TENSOR_MAX_RANK];

	assert_int_equal(strlen(axes), t.rank);
	for (int i = 0; i < t.rank; i++) {
		const char symbol[] = { axes[i], 0 };

		if (c->is_static && axes[i] != '.')
			graph_bind(c->g, symbol, t.dim[i]);
		dim[i] = axes[i] == '.' ? t.dim[i] : graph_symbol(c->g, symbol);
	}
	assert_true(c->given_count < VALUES_MOST);
	c->given[c->given_count++] = t;
	return graph_input(c->g, name, t.dtype, t.rank, dim);
}

static graph_value weight(struct call *c, const char *name)
{
	struct tensor t = figure(c->weights, name);

	return graph_constant(c->g, t.dtype, t.rank, t.dim, t.data);
}

static void gives(struct call *c, const char *name, graph_value y)
{
	graph_output(c->g, name, y);
}

// ---- the cases: data/operators.py has each under its name ---------------------------------------------------------------

static void gather_nd(struct call *c)
{
	gives(c, "y", op_gather_nd(c->g, given(c, "x", "bnw"), given(c, "i", "bk."), 1));
}

static void gather_elements(struct call *c)
{
	gives(c, "y", op_gather_elements(c->g, given(c, "x", "bnw"), given(c, "i", "bkw"), 1));
}

static void scatter_nd(struct call *c)
{
	gives(c, "y", op_scatter_nd(c->g, given(c, "x", "nmw"), given(c, "i", "k."), given(c, "u", "kw"), SCATTER_REPLACE));
}

static const struct {
	const char *word;
	enum scatter_sum sum;
} sums[] = { { "add", SCATTER_ADD }, { "mul", SCATTER_MULTIPLY }, { "max", SCATTER_MAX }, { "min", SCATTER_MIN } };

static void scatter_nd_sums(struct call *c)
{
	graph_value x = given(c, "x", "nw"), i = given(c, "i", "k."), u = given(c, "u", "kw");

	for (int k = 0; k < 4; k++)
		gives(c, sums[k].word, op_scatter_nd(c->g, x, i, u, sums[k].sum));
}

static void scatter_elements(struct call *c)
{
	graph_value x = given(c, "x", "bn"), i = given(c, "i", "bk"), u = given(c, "u", "bk");

	gives(c, "y", op_scatter_elements(c->g, x, i, u, -1, SCATTER_REPLACE));
}

static void scatter_elements_sums(struct call *c)
{
	graph_value x = given(c, "x", "n."), i = given(c, "i", "k."), u = given(c, "u", "k.");

	for (int k = 0; k < 4; k++)
		gives(c, sums[k].word, op_scatter_elements(c->g, x, i, u, 0, sums[k].sum));
}

static void nonzero(struct call *c)
{
	gives(c, "y", op_nonzero(c->g, given(c, "x", "n.")));
	gives(c, "marked", op_nonzero(c->g, given(c, "mark", "n.")));
}

static void reductions(struct call *c)
{
	graph_value x = given(c, "x", "abc");

	gives(c, "prod", op_reduce_prod(c->g, x, 1, false));
	gives(c, "l2", op_reduce_l2(c->g, x, -1, true));
	gives(c, "min", op_reduce_min(c->g, x, 0, false));
}

static void acos_of(struct call *c)
{
	gives(c, "y", op_acos(c->g, given(c, "x", "ab")));
}

static void fmod_of(struct call *c)
{
	gives(c, "z", op_fmod(c->g, given(c, "x", "ab"), given(c, "y", "b")));
}

static void waves(struct call *c)
{
	graph_value x = given(c, "x", "n");

	gives(c, "sin", op_sin(c->g, x));
	gives(c, "cos", op_cos(c->g, x));
}

static void truncated(struct call *c)
{
	gives(c, "y", op_cast(c->g, given(c, "x", "n"), DTYPE_I64));
}

// Channels in threes, and groups of six.
static void conv_channels(struct call *c)
{
	static const int64_t one[] = { 1, 1 }, pad[] = { 1, 1, 1, 1 };

	gives(c, "threes", op_conv(c->g, given(c, "x", "n.hw"), weight(c, "w"), weight(c, "b"), one, pad, one, 1));
	gives(c, "groups", op_conv(c->g, given(c, "line", "n.w"), weight(c, "each"), weight(c, "d"), one, pad, one, 2));
	gives(c, "bare", op_conv(c->g, given(c, "other", "n.w"), weight(c, "each"), NO_VALUE, one, pad, one, 2));
}

static void resize_corners(struct call *c)
{
	graph_value x = given(c, "x", "nchw");
	graph_value sizes[] = { op_dim(c->g, x, 0), op_dim(c->g, x, 1), graph_i64s(c->g, 2, (int64_t[]){ 5, 9 }) };

	gives(c, "y", op_resize_corners(c->g, x, op_concat(c->g, 3, sizes, 0), "linear"));
}

static void sum_and_norm(struct call *c)
{
	graph_value x = given(c, "x", "bn."), p = weight(c, "p");

	gives(c, "y", op_layer_norm(c->g, op_add(c->g, x, p), weight(c, "w"), weight(c, "b"), 1e-5f));
	gives(c, "turned", op_add(c->g, op_unsqueeze(c->g, p, 0), x));
}

static void rms_norm_of(struct call *c)
{
	gives(c, "y", op_rms_norm(c->g, given(c, "x", "bnh."), weight(c, "w"), 1e-5f));
}

static void cumsum(struct call *c)
{
	graph_value x = given(c, "x", "ab");

	gives(c, "exclusive", op_cumsum_from(c->g, x, 1, true, false));
	gives(c, "reverse", op_cumsum_from(c->g, x, 0, false, true));
	gives(c, "both", op_cumsum_from(c->g, x, 0, true, true));
}

static void topk(struct call *c)
{
	graph_value x = given(c, "x", "b.w"), at;

	gives(c, "most", op_topk_indices(c->g, x, 2, 1, false, &at));
	gives(c, "most_at", at);
	gives(c, "least", op_topk_indices(c->g, x, 2, -1, true, &at));
	gives(c, "least_at", at);
}

static void conv_transpose(struct call *c)
{
	static const int64_t three[] = { 3 }, one[] = { 1, 1 }, two[] = { 2, 2 }, none[4] = { 0 };
	const struct conv_transpose all = { .stride = three, .pad = one, .dilation = two, .more = two, .group = 2 };
	graph_value x = given(c, "x", "b.n"), image = given(c, "image", "i.hw");

	gives(c, "y", op_conv_transpose_of(c->g, x, weight(c, "w"), weight(c, "b"), 1, &all));
	gives(c, "up", op_conv_transpose(c->g, image, weight(c, "kernel"), NO_VALUE, 2, two, none, 1));
}

static void recurrent(struct call *c, bool is_lstm, int directions, bool biased, bool stated)
{
	static const char *const suffix[] = { "", "_reverse" };
	struct rnn r = { .directions = directions };
	graph_value x = given(c, "x", "lb."), last[2];

	for (int d = 0; d < directions; d++) {
		r.of[d].input = weight(c, arena_printf(&arena, "weight_ih_l0%s", suffix[d]));
		r.of[d].hidden = weight(c, arena_printf(&arena, "weight_hh_l0%s", suffix[d]));
		r.of[d].input_bias = biased ? weight(c, arena_printf(&arena, "bias_ih_l0%s", suffix[d])) : NO_VALUE;
		r.of[d].hidden_bias = biased ? weight(c, arena_printf(&arena, "bias_hh_l0%s", suffix[d])) : NO_VALUE;
	}
	r.h = stated ? given(c, "h0", ".b.") : NO_VALUE;
	r.c = stated && is_lstm ? given(c, "c0", ".b.") : NO_VALUE;
	gives(c, "y", is_lstm ? op_lstm(c->g, x, &r, last) : op_gru(c->g, x, &r, last));
	gives(c, "h", last[0]);
	if (is_lstm)
		gives(c, "c", last[1]);
}

static void lstm(struct call *c)
{
	recurrent(c, true, 1, true, false);
}

static void lstm_both_ways(struct call *c)
{
	recurrent(c, true, 2, true, true);
}

static void lstm_unbiased(struct call *c)
{
	recurrent(c, true, 1, false, true);
}

static void gru(struct call *c)
{
	recurrent(c, false, 1, true, true);
}

static void gru_both_ways(struct call *c)
{
	recurrent(c, false, 2, false, false);
}

static void grid_sample(struct call *c)
{
	static const char *const modes[] = { "bilinear", "nearest", "bicubic" },
				 *const pads[] = { "zeros", "border", "reflection" };
	graph_value x = given(c, "x", "n.hw"), grid = given(c, "grid", "nab.");

	for (int i = 0; i < 9; i++)
		gives(c, arena_printf(&arena, "%s_%s", modes[i / 3], pads[i % 3]),
			op_grid_sample(c->g, x, grid, modes[i / 3], pads[i % 3], i % 3 == 1));
}

static void depth_and_space(struct call *c)
{
	graph_value x = given(c, "x", "n.hw"), wide = given(c, "wide", "b.ij");

	gives(c, "crd", op_depth_to_space(c->g, x, 2, true));
	gives(c, "dcr", op_depth_to_space(c->g, x, 2, false));
	gives(c, "depth", op_space_to_depth(c->g, wide, 2));
}

static void roi_align(struct call *c)
{
	graph_value x = given(c, "x", "b.hw"), rois = given(c, "rois", "r."), batch = given(c, "batch", "r");

	for (int aligned = 0; aligned < 2; aligned++)
		gives(c, aligned ? "aligned" : "plain",
			op_roi_align(c->g, x, rois, batch,
				&(struct roi_align){ .high = 2, .wide = 3, .samples = 2, .scale = 0.5f, .aligned = aligned }));
}

static void nms(struct call *c)
{
	gives(c, "y", op_nms(c->g, given(c, "boxes", "bn."), given(c, "scores", "bcn"), 3, 0.5f, 0.25f));
}

static void branches(struct call *c)
{
	struct graph *g = c->g;
	graph_value x = given(c, "x", "n."), w = weight(c, "w"), made = op_matmul(g, x, weight(c, "m"));
	static const char *const words[] = { "yes", "no" };

	for (int i = 0; i < 2; i++) {
		struct branches b = { .condition = given(c, words[i], "") };
		graph_value values[2];

		op_if_begin(g, &b);
		values[0] = op_mul(g, x, w);
		values[1] = op_reduce_sum(g, values[0], 1, false);
		op_if_else(g, &b, 2, values);
		values[0] = op_slice(g, made, 0, 0, 2);
		values[1] = op_reduce_min(g, x, 1, false);
		op_if_end(g, &b, values);
		gives(c, arena_printf(&arena, "y_%s", words[i]), b.given[0]);
		gives(c, arena_printf(&arena, "sum_%s", words[i]), b.given[1]);
	}
}

static void loop(struct call *c)
{
	struct graph *g = c->g;
	graph_value x = given(c, "x", "n."), w = weight(c, "w"), turned = op_tanh(g, x), runs = given(c, "runs", "");

	for (int i = 0; i < 2; i++) {
		struct loop l = { .runs = i ? runs : graph_i64(g, 4), .state_count = 1, .first = { x } };
		graph_value y;

		op_loop_begin(g, &l);
		y = op_add(g, op_scale(g, op_mul(g, l.state[0], w), 0.5f), turned);
		y = op_add(g, y, op_cast(g, l.number, DTYPE_F32));
		op_loop_end(g, &l, NO_VALUE, &y, 1, &y);
		gives(c, i ? "earlier" : "last", l.last[0]);
		gives(c, i ? "some" : "all", l.all[0]);
	}
}

static void loop_until(struct call *c)
{
	struct graph *g = c->g;
	graph_value x = given(c, "x", "n"), never = given(c, "never", "");

	for (int i = 0; i < 2; i++) {
		struct loop l = { .begins = i ? never : NO_VALUE, .state_count = 1, .first = { x } };
		graph_value y, most;

		op_loop_begin(g, &l);
		y = op_scale(g, l.state[0], 2);
		most = op_reduce_max(g, y, 0, false);
		op_loop_end(g, &l, op_less_or_equal(g, most, graph_f32(g, 40)), &y, 1, &y);
		gives(c, i ? "untouched" : "y", l.last[0]);
		if (!i)
			gives(c, "all", l.all[0]);
	}
}

// Of what is compared; behind that the lowest number stands.
static void choose(struct call *c)
{
	struct graph *g = c->g;
	graph_value scores = given(c, "scores", "b.sk"), count = given(c, "count", "b.s.");
	graph_value is = op_greater(g, scores, graph_f32(g, -1));

	c->g->form.torch_ties = true;
	gives(c, "topk_1", op_and(g, is, op_choose(g, scores, count, 1)));
	gives(c, "topk_4", op_and(g, is, op_choose(g, scores, count, 4)));
	gives(c, "topk_9", op_and(g, is, op_choose(g, scores, count, 9)));
	c->g->form.torch_ties = false;
	gives(c, "first_4", op_and(g, is, op_choose(g, scores, count, 4)));
}

static void dft(struct call *c)
{
	graph_value x = given(c, "x", "bn."), z = given(c, "z", "bkm.");

	gives(c, "real", op_dft(c->g, x, 1, false, false));
	gives(c, "half", op_dft(c->g, x, 1, false, true));
	gives(c, "forward", op_dft(c->g, z, 2, false, false));
	gives(c, "inverse", op_dft(c->g, z, -3, true, false));
}

static void stft(struct call *c)
{
	graph_value x = given(c, "x", "bn"), window = weight(c, "window");

	gives(c, "half", op_stft(c->g, x, window, 3, true));
	gives(c, "all", op_stft(c->g, x, window, 3, false));
}

static void einsum(struct call *c)
{
	graph_value q = given(c, "q", "b.i."), k = given(c, "k", "b.j."), w = weight(c, "w");

	gives(c, "scores", op_einsum(c->g, "bhid,bhjd->bhij", 2, (graph_value[]){ q, k }));
	gives(c, "joined", op_einsum(c->g, "bhid,hdm->bim", 2, (graph_value[]){ q, w }));
	gives(c, "split", op_einsum(c->g, "hdm,bhid->mhbi", 2, (graph_value[]){ w, q }));
	gives(c, "relative", op_einsum(c->g, "bhrd,lrd->bhlr", 2, (graph_value[]){ q, weight(c, "table") }));
	gives(c, "outer", op_einsum(c->g, "bhid,j->jbhid", 2, (graph_value[]){ q, weight(c, "row") }));
	gives(c, "alone", op_einsum(c->g, "bhid->hb", 1, &q));
	gives(c, "inner", op_einsum(c->g, "bhid,bhjd->", 2, (graph_value[]){ q, k }));
}

static void split(struct call *c)
{
	graph_value piece[3];

	op_split(c->g, given(c, "x", "b.w"), 1, given(c, "lengths", "."), 3, piece);
	gives(c, "first", piece[0]);
	gives(c, "last", piece[2]);
	gives(c, "back", op_concat(c->g, 3, (graph_value[]){ piece[2], piece[1], piece[0] }, 1));
}

#define CASES(X) \
	X(gather_nd) \
	X(gather_elements) \
	X(scatter_nd) \
	X(scatter_nd_sums) \
	X(scatter_elements) \
	X(scatter_elements_sums) \
	X(nonzero) \
	X(reductions) \
	X(cumsum) \
	X(topk) \
	X(split) \
	X(conv_transpose) \
	X(lstm) \
	X(lstm_both_ways) \
	X(lstm_unbiased) \
	X(gru) \
	X(gru_both_ways) \
	X(grid_sample) \
	X(depth_and_space) \
	X(roi_align) \
	X(nms) \
	X(branches) \
	X(loop) \
	X(loop_until) \
	X(choose) \
	X(dft) \
	X(stft) \
	X(einsum)

static const struct test_case {
	const char *name;
	void (*build)(struct call *);
} cases[] = {
#define X(name) { #name, name },
	CASES(X)
#undef X
		{ "acos", acos_of },
	{ "fmod", fmod_of }, // the names are C's
	{ "waves", waves },
	{ "truncated", truncated },
	{ "conv_channels", conv_channels },
	{ "resize_corners", resize_corners },
	{ "sum_and_norm", sum_and_norm },
	{ "rms_norm", rms_norm_of },
};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

// ---- running them -------------------------------------------------------------------------------------------------------

static const struct way {
	const char *words;
	struct graph_form form;
	double bound; // of an error, relative above 1
} ways[] = {
	{ "open lengths", { .precise.precision = PRECISION_FLOAT32 }, 2e-5 },
	{ "fixed lengths", { .is_static = true, .precise.precision = PRECISION_FLOAT32 }, 2e-5 },
	{ "float16", { .precise.precision = PRECISION_FLOAT16 }, 1e-2 }, // of numbers of 11 bits, some sums of them
	{ "around what other engines get wrong",
		{ .is_static = true,
			.sine_tables = true,
			.around_webgpu = true,
			.corners_by_matmul = true,
			.around_qnn = true,
			.precise.precision = PRECISION_FLOAT32 },
		2e-5 },
};
enum { WAYS = sizeof ways / sizeof *ways };

static const char *differs(const struct tensor *got, const struct tensor *wanted, double bound)
{
	char a[80], b[80];

	if (got->dtype != wanted->dtype || got->rank != wanted->rank ||
		memcmp(got->dim, wanted->dim, (size_t)got->rank * sizeof *got->dim))
		return arena_printf(&arena, "%s is %s%s and not %s%s", wanted->name, dtype_word(got->dtype),
			tensor_shape_text(got->rank, got->dim, a, sizeof a), dtype_word(wanted->dtype),
			tensor_shape_text(wanted->rank, wanted->dim, b, sizeof b));
	for (size_t i = 0; i < wanted->nbytes / dtype_size(wanted->dtype); i++) {
		double x = tensor_get(got, i), y = tensor_get(wanted, i);

		if (!(fabs(x - y) <= bound * fmax(1, fabs(y))))
			return arena_printf(&arena, "%s[%zu] is %.9g and not %.9g", wanted->name, i, x, y);
	}
	return NULL;
}

// NULL, or what is wrong.
static const char *run_call(const struct backend *engine, struct call *c, double bound)
{
	struct artifact art = { .weights_dir = scratch, .graph_path = path("model.onnx") };
	static struct error err;
	struct tensor out[VALUES_MOST];
	const char *wrong = NULL;
	struct session s;

	if (graph_finish(c->g, &err) || graph_write(c->g, &art.graph, &art.graph_nbytes, &err))
		return err.text;
	graph_summarise(c->g, &art.summary);
	art.input_count = graph_inputs(c->g, &art.inputs);
	art.output_count = graph_outputs(c->g, &art.outputs);
	if (art.output_count != json_object_size(c->out) || art.input_count != json_object_size(c->in))
		return "the graph does not have the inputs and outputs that the figures have";
	if (file_write(art.graph_path, art.graph, art.graph_nbytes, &err) ||
		session_open(&s, engine, NULL, "cpu", "threads=1", &art, &err))
		return err.text;
	if (session_run(&s, c->given, c->given_count, out, art.output_count, &err))
		wrong = err.text;
	for (size_t i = 0; i < art.output_count && !wrong; i++) {
		struct tensor wanted = figure(c->out, art.outputs[i].name);

		wrong = differs(&out[i], &wanted, bound);
		// What the builder inferred holds.
		for (int k = 0; k < wanted.rank && !wrong; k++)
			if (art.outputs[i].rank != wanted.rank || art.outputs[i].dtype != wanted.dtype ||
				(art.outputs[i].dim[k] >= 0 && art.outputs[i].dim[k] != wanted.dim[k]))
				wrong = arena_printf(&arena, "%s: the builder has another shape", wanted.name);
	}
	session_close(&s);
	return wrong;
}

// In the child: every case, a line for each that is wrong.
static void run_cases(const struct backend *engine, const json_t *figures, struct text *said)
{
	const char *only = getenv("ONLY"); // one case, while it is written

	for (int i = 0; i < WAYS * CASE_COUNT; i++) {
		const struct test_case *k = &cases[i / WAYS];
		const struct way *way = &ways[i % WAYS];
		const json_t *of = json_object_get(figures, k->name);
		struct call c = { .is_static = way->form.is_static,
			.in = json_object_get(of, "in"),
			.out = json_object_get(of, "out"),
			.weights = json_object_get(of, "weights") };
		const char *wrong;

		if (only && !text_is(only, k->name))
			continue;
		c.g = graph_new(&way->form);
		if (c.is_static)
			graph_need_opset(c.g, OPSET_MOST);
		k->build(&c);
		wrong = run_call(engine, &c, way->bound);
		if (wrong)
			text_addf(said, "%s, %s: %s\n", k->name, way->words, wrong);
		graph_free(c.g);
	}
}

static bool is_here(const struct backend *engine, struct error *err)
{
	const char *found;

	return !library_find(&arena, engine->providers->build,
		engine == &backend_ort ? "libonnxruntime.so.*" : "libopenvino_c.so.*", &found, err);
}

static void on_engine(const struct backend *engine)
{
	struct error err = { 0 };
	json_t *figures;
	struct text said = { 0 };
	char buffer[4096];
	int fds[2], status;
	ssize_t got;
	pid_t pid;

	if (!is_here(engine, &err))
		SKIP_PART("%s: %s", engine->name, err.text);
	if (json_file(TEST_SOURCE "/tests/unit/data/operators.json", 1 << 20, &figures, &err))
		fail_msg("%s", err.text);
	assert_int_equal(json_object_size(figures), CASE_COUNT);
	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		run_cases(engine, figures, &said);
		_exit(said.length && write(fds[1], text_get(&said), said.length) < 0 ? 2 : 0);
	}
	close(fds[1]);
	while ((got = read(fds[0], buffer, sizeof buffer - 1)) > 0) {
		buffer[got] = 0;
		text_add(&said, buffer);
	}
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	json_decref(figures);
	if (!WIFEXITED(status) || WEXITSTATUS(status) || said.length)
		fail_msg("%s ended with status %#x\n%s", engine->name, (unsigned)status, text_get(&said));
	text_done(&said);
}

static void on_onnxruntime(void **state)
{
	(void)state;
	on_engine(&backend_ort);
}

static void on_openvino(void **state)
{
	(void)state;
	on_engine(&backend_openvino);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_onnxruntime),
		cmocka_unit_test(on_openvino),
	};
	return exit_code(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
