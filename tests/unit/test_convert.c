// SPDX-License-Identifier: Apache-2.0
// Tier: engine
// Weights in another precision: the words, the blocks, the file in the cache (whole or not at all, shared, made again when
// damaged), the graph in 16 bits, and the product that ONNX Runtime's own MatMulNBits makes of what was written.
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "free_bytes.h"
#include "scratch.h"

#include "artifact/artifact.h"
#include "artifact/quantize.h"
#include "backend/backend.h"
#include "base/file.h"
#include "base/text.h"
#include "onnx/op.h"

static int setup(void **state)
{
	return scratch_make(state) || setenv("ASSAY_CACHE", path("cache"), 1) ? -1 : 0;
}

// ---- words ---------------------------------------------------------------------------------------------------------------

static void words(void **state)
{
	static const char *const bad[] = { "int5", "", "float16:block=32", "int4-weights:", "int4-weights:block=33",
		"int4-weights:block=8", "int4-weights:block=512", "int4-weights:accuracy=5", "int4-weights:head=float16",
		"int4-weights:zero=", "int4-weights:block", "int4-weights:block=32:", "int4" };
	struct precise p;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(precision_parse(&p, NULL, &e), STATUS_OK);
	assert_int_equal(p.precision, PRECISION_STORED);
	assert_int_equal(precision_parse(&p, "int4-weights", &e), STATUS_OK);
	assert_true(p.precision == PRECISION_INT4_WEIGHTS && p.block == 32 && p.accuracy == 4 && !p.asymmetric && !p.float_head);
	assert_int_equal(precision_parse(&p, "int8-weights:head=float32:block=64:accuracy=0:zero=stored", &e), STATUS_OK);
	assert_true(p.precision == PRECISION_INT8_WEIGHTS && p.block == 64 && p.accuracy == 0 && p.asymmetric && p.float_head);
	assert_int_equal(precision_parse(&p, "float16", &e), STATUS_OK);
	assert_true(p.precision == PRECISION_FLOAT16 && p.block == 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (precision_parse(&p, bad[i], &e) != STATUS_BAD_INPUT)
			fail_msg("\"%s\" was taken", bad[i]);
	precision_parse(&p, "int5", &e);
	assert_non_null(strstr(e.text, "int4-weights"));
	precision_parse(&p, "int4-weights:blocks=32", &e);
	assert_non_null(strstr(e.text, "blocks=32"));
	assert_int_equal(precision_find("int4-weights:block=64"), PRECISION_INT4_WEIGHTS);
	assert_int_equal(precision_find("int4"), PRECISION_COUNT);
}

// ---- blocks --------------------------------------------------------------------------------------------------------------

static int integer_at(const uint8_t *values, size_t i, int bits)
{
	return bits == 8 ? values[i] : i % 2 ? values[i / 2] >> 4 : values[i / 2] & 15;
}

static void blocks(void **state)
{
	float x[32] = { 0 };
	uint8_t q[32];

	(void)state;
	for (int bits = 4; bits <= 8; bits += 4)
		for (int asymmetric = 0; asymmetric < 2; asymmetric++)
			for (size_t n = 1; n <= 32; n++) {
				for (size_t i = 0; i < 32; i++)
					x[i] = i < n ? (float)((i * 37 + n * 11) % 64) / 16 - 1.5f
						     : 1e9f; // what lies behind n is not looked at
				struct block_scale s = quantize_block_scale(x, n, bits, asymmetric);
				quantize_block(x, n, bits, 32, s, q);
				float low = 0, high = 0;
				for (size_t i = 0; i < n; i++) {
					low = fminf(low, x[i]);
					high = fmaxf(high, x[i]);
				}
				for (size_t i = 0; i < 32; i++) {
					double back = ((double)integer_at(q, i, bits) - s.zero) * (double)s.scale,
					       step = fabs((double)s.scale);
					if (i >= n)
						assert_true(integer_at(q, i, bits) == s.zero);
					else if (fabs(back - (double)x[i]) > step * 1.001 ||
						(asymmetric && fabs(back - (double)x[i]) > step * 1.001))
						fail_msg("%d bits, %d, %zu of %zu: %g became %g, a step is %g", bits, asymmetric,
							i, n, (double)x[i], back, step);
				}
				if (!asymmetric) {
					// The largest magnitude is met exactly, and what is not at the far end is off by half a
					// step at most.
					size_t largest = 0;
					for (size_t i = 1; i < n; i++)
						largest = fabsf(x[i]) > fabsf(x[largest]) ? i : largest;
					assert_true(s.zero == 1 << (bits - 1));
					if (high != -low)
						assert_true(integer_at(q, largest, bits) == 0);
					for (size_t i = 0; i < n; i++)
						if (integer_at(q, i, bits) < (1 << bits) - 1)
							assert_true(
								fabs(((double)integer_at(q, i, bits) - s.zero) * (double)s.scale -
									(double)x[i]) <= fabs((double)s.scale) * 0.5001);
				}
			}
	// Zeros stay zeros; what is no number spoils nothing else.
	memset(x, 0, sizeof x);
	struct block_scale s = quantize_block_scale(x, 32, 4, false);
	quantize_block(x, 32, 4, 32, s, q);
	assert_true(s.scale == 0 && q[0] == 0x88);
	x[3] = NAN;
	x[4] = 1;
	s = quantize_block_scale(x, 32, 4, true);
	quantize_block(x, 32, 4, 32, s, q);
	assert_true(isfinite(s.scale) && integer_at(q, 3, 4) == s.zero && integer_at(q, 4, 4) == 15);
	x[5] = INFINITY;
	s = quantize_block_scale(x, 32, 8, false);
	assert_true(isfinite(s.scale));
	// By rows.
	int8_t r[4];
	const float row[4] = { -2, 1, 0.5f, 2 };
	quantize_row(row, 4, quantize_row_scale(row, 4), r);
	assert_true(r[0] == -127 && r[3] == 127 && (r[1] == 63 || r[1] == 64) && r[2] == 32);
}

// ---- a model of one linear layer -------------------------------------------------------------------------------------

enum { ROWS = 3 };

struct layer {
	struct checkpoint c;
	struct graph *g;
	struct conversion made;
	int64_t in, out;
	bool in_out;
	enum dtype dtype;
};

static float planted; // in the place of one weight, where it is not 0

static float weight_at(const struct layer *l, int64_t out, int64_t in)
{
	if (planted != 0 && out == 40 && in == 7)
		return planted;
	uint64_t z = splitmix64(5, (uint64_t)(out * l->in + in));
	float x = (float)splitmix64_unit(z);
	return l->dtype == DTYPE_F16 ? f32_of_f16(f16_of_f32(x)) : l->dtype == DTYPE_BF16 ? f32_of_bf16(bf16_of_f32(x)) : x;
}

static const char *make_checkpoint(struct layer *l, const char *name)
{
	size_t size = dtype_size(l->dtype), count = (size_t)(l->in * l->out);
	uint8_t *data = arena_alloc(&arena, count * size);
	for (int64_t n = 0; n < l->out; n++)
		for (int64_t k = 0; k < l->in; k++) {
			float x = weight_at(l, n, k);
			uint16_t half = l->dtype == DTYPE_F16 ? f16_of_f32(x) : bf16_of_f32(x);
			memcpy(data + (size_t)(l->in_out ? k * l->out + n : n * l->in + k) * size,
				size == 4 ? (void *)&x : (void *)&half, size);
		}
	struct tensor t = { .name = "w",
		.dtype = l->dtype,
		.rank = 2,
		.dim = { l->in_out ? l->in : l->out, l->in_out ? l->out : l->in },
		.data = data,
		.nbytes = count * size };
	struct error e = { 0 };
	const char *folder = path(name);
	if (file_mkdirs(folder, &e) || file_write(arena_printf(&arena, "%s/config.json", folder), "{}", 2, &e) ||
		safetensors_write(arena_printf(&arena, "%s/model.safetensors", folder), &t, 1, &e))
		fail_msg("%s", e.text);
	return folder;
}

static struct graph *build(const struct layer *l, const char *precision)
{
	struct graph_form form = { 0 };
	const struct weight *w = &l->c.weights[0];
	struct error e = { 0 };
	if (precision_parse(&form.precise, precision, &e))
		fail_msg("%s", e.text);
	static const struct linear_range range = { "w", -1.25f, 1.5f }; // of what multiply gives in
	form.ranges = &range;
	form.range_count = 1;
	struct graph *g = graph_new(&form);
	graph_value x = graph_input(g, "x", DTYPE_F32, 2, (int64_t[]){ ROWS, l->in });
	graph_value v =
		op_cast(g, graph_external(g, "w", w->dtype, 2, w->dim, w->shard->location, w->offset, w->nbytes), DTYPE_F32);
	graph_output(g, "y", l->in_out ? op_linear_in_out(g, x, v, NO_VALUE) : op_linear(g, x, v, NO_VALUE));
	if (graph_finish(g, &e))
		fail_msg("%s", e.text);
	return g;
}

// The weight as the file in the cache says it, dequantised.
static double stored_weight(const struct shard *shard, const struct weight *weights, size_t count, int bits, int block,
	int64_t blocks, int64_t out, int64_t in)
{
	const uint8_t *values = NULL, *zeros = NULL, *scales = NULL;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *data = shard->map + weights[i].offset;
		if (text_ends(weights[i].name, ".scales"))
			scales = data;
		else if (text_ends(weights[i].name, ".zeros"))
			zeros = data;
		else
			values = data;
	}
	int64_t at = in / block;
	float scale;
	memcpy(&scale, scales + 4 * (out * blocks + at), 4);
	int zero = zeros ? integer_at(zeros + out * ((blocks * bits + 7) / 8), (size_t)at, bits) : 1 << (bits - 1);
	return ((double)integer_at(values + (out * blocks + at) * block * bits / 8, (size_t)(in % block), bits) - zero) *
		(double)scale;
}

static char sentence[4096];

// In a child: engines keep their threads there. NULL, or what is wrong.
static const char *multiply(const struct layer *l, const double *expected, double allowed)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct session s;
	struct tensor y;
	const void *bytes;
	struct artifact art = { .key = "none", .placed_by = "memory" };
	float *data = ARENA_ARRAY(&a, (size_t)(ROWS * l->in), float);

	for (int64_t i = 0; i < ROWS * l->in; i++)
		data[i] = (float)(i % 23) / 8 - 1.25f;
	struct tensor x = { .name = "x",
		.dtype = DTYPE_F32,
		.rank = 2,
		.dim = { ROWS, l->in },
		.data = data,
		.nbytes = (size_t)(ROWS * l->in) * sizeof *data };
	const struct tensor_type *types;
	if (graph_write(l->g, &bytes, &art.graph_nbytes, &e))
		return e.text[0] ? strcpy(sentence, e.text) : "graph_write";
	art.graph = bytes;
	art.input_count = graph_inputs(l->g, &types);
	art.inputs = types;
	art.output_count = graph_outputs(l->g, &types);
	art.outputs = types;
	graph_summarise(l->g, &art.summary);
	art.weights_nbytes = art.summary.external_nbytes;
	art.weights_dir = arena_strndup(&a, l->made.path, (size_t)(strrchr(l->made.path, '/') - l->made.path));
	if (session_open(&s, &backend_ort, NULL, NULL, "threads=1", &art, &e) || session_run(&s, &x, 1, &y, 1, &e))
		return strcpy(sentence, e.text);
	for (int64_t i = 0; i < ROWS * l->out; i++)
		if (!(fabs(tensor_get(&y, (size_t)i) - expected[i]) <= allowed)) {
			snprintf(sentence, sizeof sentence, "%lld: %g instead of %g, allowed %g", (long long)i,
				tensor_get(&y, (size_t)i), expected[i], allowed);
			return sentence;
		}
	session_close(&s);
	arena_done(&a);
	return NULL;
}

static const char *in_child(const struct layer *l, const double *expected, double allowed)
{
	int fds[2], status;
	ssize_t n, got = 0;
	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		const char *wrong = multiply(l, expected, allowed);
		if (wrong && write(fds[1], wrong, strlen(wrong)) < 0)
			_exit(2);
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], sentence + got, sizeof sentence - 1 - (size_t)got)) > 0)
		got += n;
	sentence[got] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("the child ended with status %#x: %s", (unsigned)status, sentence);
	return got ? sentence : NULL;
}

static bool engine_is_here(void)
{
	const char *found;
	struct error e = { 0 };
	if (!library_find(&arena, "onnxruntime", "libonnxruntime.so*", &found, &e))
		return true;
	print_message("not run: %s\n", e.text);
	return false;
}

static void products(void **state)
{
	static const struct {
		const char *precision;
		int bits, block;
	} forms[] = { { "int4-weights:accuracy=1", 4, 32 }, { "int4-weights:accuracy=1:zero=stored:block=16", 4, 16 },
		{ "int8-weights:accuracy=1", 8, 32 }, { "int8-weights:accuracy=1:zero=stored:block=64", 8, 64 },
		{ "int4-weights:block=128:accuracy=1", 4, 128 }, { "int4-weights:accuracy=4", 4, 32 } };
	static const int64_t inputs[] = { 128, 200 }; // the second is no multiple of a block
	static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
	bool runs = engine_is_here();

	(void)state;
	for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
		for (size_t k = 0; k < 4; k++) {
			struct layer l = { .in = inputs[k % 2], .out = 72, .in_out = k >= 2, .dtype = types[(f + k) % 3] };
			struct arena held = { 0 };
			struct error e = { 0 };
			if (checkpoint_open(&l.c, make_checkpoint(&l, arena_printf(&arena, "m%zu.%zu", f, k)), &e))
				fail_msg("%s", e.text);
			l.g = build(&l, forms[f].precision);
			if (convert_weights(&l.made, &held, &l.c, &l.g, 1, &e))
				fail_msg("%s", e.text);
			assert_true(l.made.ms >= 0 && l.made.nbytes > 0 && l.c.shard_count == 2);
			struct shard shard;
			struct weight *weights;
			size_t count;
			assert_int_equal(safetensors_open(&arena, l.made.path, &shard, &weights, &count, &e), STATUS_OK);
			int64_t blocks = (l.in + forms[f].block - 1) / forms[f].block;
			double *expected = ARENA_ARRAY(&arena, (size_t)(ROWS * l.out), double), largest = 0;
			for (int64_t n = 0; n < l.out; n++)
				for (int64_t i = 0; i < l.in; i++) {
					double w = stored_weight(
						       &shard, weights, count, forms[f].bits, forms[f].block, blocks, n, i),
					       off = fabs(w - (double)weight_at(&l, n, i));
					largest = fmax(largest, off);
					for (int64_t m = 0; m < ROWS; m++)
						expected[m * l.out + n] += w * (double)((float)((m * l.in + i) % 23) / 8 - 1.25f);
				}
			// |w| <= 1: a step is 1/8 of the largest at most, or 2/15 of the range; 1/128 and 2/255.
			assert_true(largest > 0 && largest <= (forms[f].bits == 4 ? 0.134 : 0.0079));
			const char *wrong =
				runs ? in_child(&l, expected, strstr(forms[f].precision, "accuracy=4") ? 0.35 : 2e-4) : NULL;
			if (wrong)
				fail_msg("%s, %lld inputs, %s: %s", forms[f].precision, (long long)l.in, dtype_word(l.dtype),
					wrong);
			graph_free(l.g);
			checkpoint_close(&l.c);
			arena_done(&held);
		}
}

// The nearest of 255 steps each side, of a row by its largest; and of 256 between -1.25 and 1.5.
static double as_row(double x, float largest)
{
	float scale = largest / 127;
	return (double)(nearbyintf((float)x * (1 / scale)) * scale);
}

static double as_activation(double x)
{
	float scale = 2.75f / 255;
	return (double)(fminf(fmaxf(nearbyintf((float)x / scale), -116), 139) * scale); // in float: 1.375 is half a step, 127.5
}

static void integers(void **state)
{
	static const char *const precisions[] = { "int8-dynamic", "int8-static" };
	bool runs = engine_is_here();

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		struct layer l = { .in = 128, .out = 72, .in_out = k >= 2, .dtype = k % 2 ? DTYPE_BF16 : DTYPE_F32 };
		struct arena held = { 0 };
		struct error e = { 0 };
		double *expected = ARENA_ARRAY(&arena, (size_t)(ROWS * l.out), double), off = 0;
		const char *folder = make_checkpoint(&l, arena_printf(&arena, "i%zu", k));
		for (int64_t n = 0; n < l.out; n++) {
			float largest = 0;
			for (int64_t i = 0; i < l.in; i++)
				largest = fmaxf(largest, fabsf(weight_at(&l, n, i)));
			for (int64_t m = 0; m < ROWS; m++) {
				double exact = 0;
				for (int64_t i = 0; i < l.in; i++) {
					double x = (double)((float)((m * l.in + i) % 23) / 8 - 1.25f),
					       w = (double)weight_at(&l, n, i);
					expected[m * l.out + n] += as_row(w, largest) * as_activation(x);
					exact += w * x;
				}
				off = fmax(off, fabs(expected[m * l.out + n] - exact));
			}
		}
		for (size_t p = 0; p < 2; p++) {
			if (checkpoint_open(&l.c, folder, &e))
				fail_msg("%s", e.text);
			l.g = build(&l, precisions[p]);
			if (convert_weights(&l.made, &held, &l.c, &l.g, 1, &e))
				fail_msg("%s", e.text);
			// Far from what float32 gives: a product that was not made of integers would be seen.
			assert_true(off > 0.01);
			const char *wrong = runs ? in_child(&l, expected, 1e-3) : NULL;
			if (wrong)
				fail_msg("%s, in_out %d, %s: %s", precisions[p], l.in_out, dtype_word(l.dtype), wrong);
			graph_free(l.g);
			checkpoint_close(&l.c);
		}
		arena_done(&held);
	}
}

// ---- synthetic weights made in a precision alone -------------------------------------------------------------------------

static void open_synthetic(
	struct checkpoint *out, struct spec **s, struct arena *a, const char *type, enum dtype t, const struct graph_form *form)
{
	const char *folder;
	struct checkpoint config;
	struct error e = { 0 };
	struct synth_options o = { .seed = 7, .dtype = t, .form = form };
	if (checkpoint_open(&config, arena_printf(a, TEST_SOURCE "/tests/conform/cases/%s", type), &e))
		fail_msg("%s", e.text);
	config.weight_count = config.shard_count = 0;
	if (synth_cached(&folder, a, &config, &o, &e) || checkpoint_open(out, folder, &e) || arch_resolve(s, a, out, &e))
		fail_msg("%s: %s", type, e.text);
	checkpoint_close(&config);
}

// What is made of weights that lie nowhere is, to the byte, what is made of the same weights written down; and no graph that
// reads them as they lie is built.
static void of_nothing(void **state)
{
	static const struct {
		const char *type, *precision;
		enum dtype dtype;
	} models[] = { { "llama", "int8-weights", DTYPE_BF16 }, { "gpt2", "int4-weights:zero=stored", DTYPE_F32 },
		{ "bert", "int8-dynamic", DTYPE_F16 } };

	(void)state;
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		struct graph_form form = { 0 };
		struct arena held = { 0 };
		struct error e = { 0 };
		struct checkpoint c[2];
		struct spec *s[2];
		struct conversion made[2];
		struct artifact art[2], plain;
		char *bytes[2];
		size_t nbytes[2];
		assert_int_equal(precision_parse(&form.precise, models[i].precision, &e), STATUS_OK);
		for (size_t k = 0; k < 2; k++) {
			const struct arch_graph *which;
			open_synthetic(&c[k], &s[k], &held, models[i].type, models[i].dtype, k ? &form : NULL);
			which = arch_graph_of(s[k], STEP_NONE);
			struct graph *g = graph_new(&form);
			const struct artifact_set set = { 1, &which, &g, &art[k] };
			if (artifact_build_all(&set, &held, &c[k], s[k], &made[k], &e) ||
				file_read(&held, made[k].path, 1 << 24, &bytes[k], &nbytes[k], &e))
				fail_msg("%s: %s", models[i].type, e.text);
			graph_free(g);
		}
		assert_true(nbytes[0] == nbytes[1] && made[0].nbytes > 1000 && !text_is(made[0].path, made[1].path));
		assert_memory_equal(bytes[0], bytes[1], nbytes[0]);
		assert_int_equal(art[0].weights_nbytes, art[1].weights_nbytes);
		struct graph *g = graph_new(NULL);
		assert_int_equal(artifact_build(&plain, &held, &c[0], s[0], arch_graph_of(s[0], STEP_NONE), g, &e), STATUS_OK);
		graph_free(g);
		g = graph_new(NULL);
		assert_int_equal(
			artifact_build(&plain, &held, &c[1], s[1], arch_graph_of(s[1], STEP_NONE), g, &e), STATUS_UNSUPPORTED);
		assert_non_null(strstr(e.text, "were made for another precision"));
		graph_free(g);
		for (size_t k = 0; k < 2; k++)
			checkpoint_close(&c[k]);
		arena_done(&held);
	}
}

// ---- the file ------------------------------------------------------------------------------------------------------------

static struct layer open_layer(const char *folder, const struct layer *like, const char *precision)
{
	struct layer l = *like;
	struct error e = { 0 };
	l.c = (struct checkpoint){ 0 };
	if (checkpoint_open(&l.c, folder, &e))
		fail_msg("%s", e.text);
	l.g = build(&l, precision);
	return l;
}

static void close_layer(struct layer *l)
{
	graph_free(l->g);
	checkpoint_close(&l->c);
}

static void convert(struct layer *l, struct arena *a)
{
	struct error e = { 0 };
	if (convert_weights(&l->made, a, &l->c, &l->g, 1, &e))
		fail_msg("%s", e.text);
}

static void made_once(void **state)
{
	struct layer like = { .in = 64, .out = 48, .dtype = DTYPE_F32 }, l, other;
	struct arena a = { 0 }, b = { 0 };
	struct stat st;
	struct cache_usage u;
	struct error e = { 0 };
	uint64_t removed;
	char *good, *bad;
	size_t n, m;

	(void)state;
	const char *folder = make_checkpoint(&like, "once");
	l = open_layer(folder, &like, "int4-weights");
	convert(&l, &a);
	assert_true(l.made.ms >= 0);
	convert(&l, &a); // the same graph again: no second shard
	assert_true(isnan(l.made.ms) && l.c.shard_count == 2);
	assert_int_equal(file_read(&arena, l.made.path, 1 << 20, &good, &n, &e), STATUS_OK);
	other = open_layer(folder, &like, "int8-weights");
	convert(&other, &a);
	assert_true(other.made.ms >= 0 && strcmp(other.made.path, l.made.path));
	close_layer(&other);
	const char *file = arena_strdup(&arena, l.made.path);
	uint64_t header;
	memcpy(&header, good, sizeof header);
	const size_t middle = 8 + header + (n - 8 - header) / 2; // in a row that is neither first nor last

	// Cut off; with zeros at the end; a maker that died; another byte in the middle; no word of what it was.
	for (int damage = 0; damage < 5; damage++) {
		char *copy = arena_alloc(&arena, n);
		memcpy(copy, good, n);
		if (damage == 1)
			memset(copy + n - 64, 0, 64);
		if (damage == 3)
			copy[middle] ^= 1;
		char *key = arena_strndup(&arena, file, (size_t)(strrchr(file, '/') - file));
		if (damage == 4) {
			assert_int_equal(file_remove_tree(arena_printf(&arena, "%s/made.json", key), &e), STATUS_OK);
		} else if (damage == 2) {
			file_remove_tree(key, NULL);
			assert_int_equal(file_mkdirs(arena_printf(&arena, "%s.tmp", key), &e), STATUS_OK);
			assert_int_equal(file_write(arena_printf(&arena, "%s.tmp%s", key, strrchr(file, '/')), copy, n / 2, &e),
				STATUS_OK);
		} else {
			assert_int_equal(file_write(file, copy, damage ? n : n - 10, &e), STATUS_OK);
		}
		other = open_layer(folder, &like, "int4-weights");
		convert(&other, &a);
		assert_true(other.made.ms >= 0);
		assert_int_equal(file_read(&arena, file, 1 << 20, &bad, &m, &e), STATUS_OK);
		assert_true(n == m && !memcmp(good, bad, n));
		close_layer(&other);
	}

	// Counted and trimmed, but not while somebody uses it.
	assert_int_equal(cache_usage(&u, &e), STATUS_OK);
	assert_true(u.converted >= 2 && u.converted_bytes > n);
	assert_int_equal(cache_trim(0, &removed, &e), STATUS_OK);
	assert_int_equal(stat(file, &st), 0);
	close_layer(&l);
	arena_done(&a);
	assert_int_equal(cache_trim(0, &removed, &e), STATUS_OK);
	assert_true(removed >= n && stat(file, &st) != 0);
	cache_usage(&u, &e);
	assert_int_equal(u.converted + u.converted_bytes, 0);

	// No room.
	l = open_layer(folder, &like, "int4-weights");
	free_bytes = 100;
	assert_int_equal(convert_weights(&l.made, &b, &l.c, &l.g, 1, &e), STATUS_NO_SPACE);
	free_bytes = 0;
	assert_non_null(strstr(e.text, "are needed and"));
	assert_true(stat(file, &st) != 0);
	close_layer(&l);
	arena_done(&b);
}

// Killed at some moment, again and again: what is there under the key is whole.
static void killed(void **state)
{
	struct layer like = { .in = 1024, .out = 1024, .dtype = DTYPE_F32 }, l;
	struct arena a = { 0 };
	char *first, *again;
	struct error e = { 0 };
	size_t n, m;

	(void)state;
	const char *folder = make_checkpoint(&like, "killed");
	l = open_layer(folder, &like, "int4-weights");
	convert(&l, &a);
	const char *file = arena_strdup(&arena, l.made.path);
	assert_int_equal(file_read(&arena, file, 1 << 22, &first, &n, &e), STATUS_OK);
	close_layer(&l);
	arena_done(&a);
	for (int i = 0; i < 12; i++) {
		file_remove_tree(arena_strndup(&arena, file, (size_t)(strrchr(file, '/') - file)), NULL);
		fflush(NULL);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			l = open_layer(folder, &like, "int4-weights");
			convert(&l, &a);
			_exit(0);
		}
		usleep((useconds_t)(i * i * 700));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (file_exists(file)) {
			assert_int_equal(file_read(&arena, file, 1 << 22, &again, &m, &e), STATUS_OK);
			assert_true(n == m && !memcmp(first, again, n));
		}
		l = open_layer(folder, &like, "int4-weights");
		convert(&l, &a);
		assert_int_equal(file_read(&arena, file, 1 << 22, &again, &m, &e), STATUS_OK);
		assert_true(n == m && !memcmp(first, again, n));
		close_layer(&l);
		arena_done(&a);
	}
}

// ---- 16 bits -------------------------------------------------------------------------------------------------------------

static void has(const struct graph *g, const char *wanted, bool there)
{
	struct text t = { 0 };
	graph_text(g, &t);
	if (!strstr(text_get(&t), wanted) == there) {
		for (const char *at = text_get(&t); *at; at += strcspn(at, "\n"), at += *at == '\n')
			print_message("%.*s\n", (int)strcspn(at, "\n"), at);
		fail_msg("%s\"%s\"", there ? "no " : "", wanted);
	}
	text_done(&t);
}

static void halves(void **state)
{
	struct graph_form form = { .precise.precision = PRECISION_FLOAT16 };
	struct graph *g = graph_new(&form);
	struct error e = { 0 };
	const int64_t x_dim[2] = { 4, 8 }, past_dim[4] = { 1, 2, 3, 4 };
	const struct recipe *const *recipes;

	(void)state;
	graph_value x = graph_input(g, "x", DTYPE_F32, 2, x_dim), ids = graph_input(g, "ids", DTYPE_I64, 1, x_dim),
		    past = graph_input(g, "past_key_values.0.key", DTYPE_F32, 4, past_dim);
	graph_value w = graph_external(g, "w", DTYPE_F32, 2, (int64_t[]){ 8, 8 }, "f", 0, 256),
		    n = graph_external(g, "n", DTYPE_F32, 1, (int64_t[]){ 8 }, "f", 256, 32);
	graph_value h = graph_external(g, "h", DTYPE_F16, 2, (int64_t[]){ 8, 8 }, "f", 288, 128);
	graph_value y = op_rms_norm(g, op_linear(g, x, w, NO_VALUE), n, 1e-6f);
	graph_value mask = op_mul(g, op_cast(g, ids, DTYPE_F32), graph_f32(g, -3.4e38f));
	y = op_softmax(g, op_add(g, y, op_unsqueeze(g, mask, 1)), -1);
	y = op_linear(g, y, op_cast(g, h, DTYPE_F32), NO_VALUE);
	y = op_mul(g, y, op_unsqueeze(g, op_sin(g, op_cast(g, ids, DTYPE_F32)), 1));
	graph_output(g, "y", y);
	graph_output(g, "present.0.key", op_concat(g, 2, (graph_value[]){ past, past }, 2));
	assert_int_equal(graph_finish(g, &e), STATUS_OK);
	has(g, "input  x : f32[4,8]", true);
	has(g, "input  past_key_values.0.key : f16[1,2,3,4]", true);
	has(g, "weight w.f16 : f16[8,8]", true);
	has(g, "weight n.f16 : f16[8]", true);
	has(g, "weight w : ", false);
	has(g, "weight h : f16[8,8]", true); // as it lies
	has(g, "weight h.f16", false);
	has(g, "Pow(Gemm/Cast, ", true); // the sum of squares in float32
	has(g, "Gemm = Gemm(x/Cast, w.f16) transB=1 : f16[4,8]", true);
	has(g, "Max(Unsqueeze, ", true); // -3.4e38 would be -inf
	has(g, "{-65504}", true);
	has(g, "= Softmax(Add_1)", true);
	has(g, "Sin(Cast", true);
	has(g, "= Cast(y/f16) to=1 : f32[4,8]", true);
	has(g, "= Concat(past_key_values.0.key, past_key_values.0.key) axis=2 : f16", true);
	assert_int_equal(graph_recipes(g, &recipes), 2);
	assert_true(recipes[0]->kind == RECIPE_CAST && recipes[0]->dtype == DTYPE_F16);
	graph_free(g);
}

// A weight that is not finite is refused where integers would hide it; 16 bits keep it.
static void not_finite(void **state)
{
	static const float values[] = { NAN, INFINITY, -INFINITY };
	static const struct {
		const char *precision;
		bool refused;
	} forms[] = { { "int4-weights", true }, { "int8-weights", true }, { "int8-dynamic", true }, { "int8-static", true },
		{ "float16", false } };
	struct arena a = { 0 };

	(void)state;
	for (size_t v = 0; v < sizeof values / sizeof *values; v++)
		for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
			struct layer like = { .in = 64, .out = 48, .dtype = f % 2 ? DTYPE_F16 : DTYPE_F32, .in_out = v == 1 }, l;
			struct error e = { 0 };

			planted = values[v];
			l = open_layer(make_checkpoint(&like, "planted"), &like, forms[f].precision);
			enum status st = convert_weights(&l.made, &a, &l.c, &l.g, 1, &e);
			if (st != (forms[f].refused ? STATUS_UNSUPPORTED : STATUS_OK))
				fail_msg("%g in %s: %s", (double)planted, forms[f].precision, st ? e.text : "was converted");
			if (forms[f].refused) {
				assert_non_null(strstr(e.text, "NaN or infinite"));
				assert_null(l.made.path);
			}
			close_layer(&l);
		}
	planted = 0;
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(blocks),
		cmocka_unit_test(products),
		cmocka_unit_test(integers),
		cmocka_unit_test(of_nothing),
		cmocka_unit_test(made_once),
		cmocka_unit_test(killed),
		cmocka_unit_test(halves),
		cmocka_unit_test(not_finite),
	};

	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
