// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Sweeps: the product and its order, where a series of batches ends, which cells may run beside each other, crossovers.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/schedule.h"
#include "plan/sweep.h"
#include "plan/together.h"
#include "stats/crossover.h"

static void product(void **state)
{
	const int64_t sorted[] = { 1, 4, 8 }, sequences[] = { 32, 16 };
	struct sweep_axes axes = { 0 };
	const struct question base = { .runs = 5, .threads = 3 };
	struct plan_model m = { .takes_images = true, .takes_tokens = true };
	struct arena a = { 0 };
	struct sweep_cell *cells;
	const char *left_out;
	size_t count;

	(void)state;
	assert_int_equal(sweep_add(&axes, &a, QUESTION_AT_sequence, "32,16", NULL), STATUS_OK);
	assert_int_equal(sweep_add(&axes, &a, QUESTION_AT_batch, "8,1", NULL), STATUS_OK);
	assert_int_equal(sweep_add(&axes, &a, QUESTION_AT_batch, "8,4", NULL), STATUS_OK); // a second --batch
	assert_int_equal(sweep_add(&axes, &a, QUESTION_AT_batch, "x,2", NULL), STATUS_BAD_INPUT);
	assert_true(text_is(sweep_words(&axes, &a), "seq 32,16, batch 8,1,4"));
	sweep_cells(&cells, &count, &left_out, &a, &axes, &base, &m);
	assert_true(count == 6 && !left_out && sweep_most(&axes) == 3);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(cells[i].question.batch, sorted[i % 3]);
		assert_int_equal(cells[i].question.sequence, sequences[i / 3]);
		assert_true(cells[i].series == i / 3 && cells[i].question.runs == 5 && cells[i].question.threads == 3);
	}
	assert_true(text_is(cells[4].label, "seq 16, batch 4"));
	m.takes_tokens = false;
	sweep_cells(&cells, &count, &left_out, &a, &axes, &base, &m);
	assert_true(count == 3 && text_is(left_out, "--seq") && cells[0].question.sequence == 0);
	sweep_cells(&cells, &count, &left_out, &a, &(struct sweep_axes){ 0 }, &base, &m);
	assert_true(count == 1 && !*cells[0].label && cells[0].question.batch == 0);
	arena_done(&a);
}

static const char *after(struct sweep_series *s, struct arena *a, int64_t batch, enum verdict v, double ms)
{
	struct row r;

	row_init(&r);
	r.batch = batch;
	r.latency_ms = ms;
	return sweep_take(s, a, batch, v, false, &r);
}

static void end_of_batches(void **state)
{
	struct sweep_series s = { 0 };
	struct arena a = { 0 };
	struct row r;

	(void)state;
	assert_true(!after(&s, &a, 1, VERDICT_RIGHT, 10) && !after(&s, &a, 2, VERDICT_RIGHT, 12));
	assert_true(!after(&s, &a, 4, VERDICT_RIGHT, 22.8)); // +5.3 %
	assert_true(text_is(after(&s, &a, 8, VERDICT_UNJUDGED, 44.7), "stopped at batch 8: +2.0 % samples/s by the median"));
	assert_true(text_is(after(&s, &a, 16, VERDICT_RIGHT, 100), "stopped at batch 16: -10.6 % samples/s by the median"));
	// No time, no decision; and none against it.
	assert_true(!after(&s, &a, 32, VERDICT_CRASHED, (double)NAN) && !after(&s, &a, 64, VERDICT_RIGHT, 1000));
	assert_true(text_is(after(&s, &a, 128, VERDICT_NO_MEMORY, (double)NAN), "stopped at batch 128: no_memory"));
	assert_true(text_is(after(&s, &a, 128, VERDICT_TIMEOUT, (double)NAN), "stopped at batch 128: timeout"));
	// What the protocol says of throughput goes before batch over latency.
	row_init(&r);
	r.batch = 4;
	r.latency_ms = 2;
	assert_true(fabs(row_per_s(&r) - 2000) < 1e-9);
	r.throughput_per_s = 1900;
	assert_true(fabs(row_per_s(&r) - 1900) < 1e-9);
	assert_true(text_is(sweep_take(&s, &a, 4, VERDICT_RIGHT, true, &r), "stopped at batch 4: no_memory"));
	// Times that did not settle end none, and are nothing to gain against.
	s = (struct sweep_series){ 0 };
	assert_true(!after(&s, &a, 1, VERDICT_RIGHT, 1));
	row_init(&r);
	r.batch = 2;
	r.latency_ms = 20;
	r.stability = "unstable";
	assert_true(!sweep_take(&s, &a, 2, VERDICT_RIGHT, false, &r) && !after(&s, &a, 4, VERDICT_RIGHT, 400));
	assert_true(after(&s, &a, 8, VERDICT_RIGHT, 800) != NULL);
	// One slow run in the mean ends no sweep: the medians are compared. A scenario's figure is its own.
	s = (struct sweep_series){ 0 };
	assert_true(!after(&s, &a, 1, VERDICT_RIGHT, 0.044));
	row_init(&r);
	r.batch = 2;
	r.latency_ms = 0.058;
	r.throughput_per_s = 2700;
	assert_true(!sweep_take(&s, &a, 2, VERDICT_RIGHT, false, &r));
	r.scenario = "offline";
	assert_non_null(sweep_take(&s, &a, 4, VERDICT_RIGHT, false, &r));
	arena_done(&a);
}

static struct schedule_device device(const char *text, const json_t *platforms)
{
	struct schedule_device d;
	struct arena a = { 0 };
	struct target t;

	assert_true(platform_target(&t, &a, text, NULL) == STATUS_OK);
	schedule_device_of(&d, &t, platforms);
	arena_done(&a);
	return d;
}

static bool same(const char *x, const char *y, const json_t *platforms)
{
	const struct schedule_device a = device(x, platforms), b = device(y, platforms);

	assert_true(schedule_is_same(&a, &b) == schedule_is_same(&b, &a));
	return schedule_is_same(&a, &b);
}

static void devices(void **state)
{
	json_t *found = json_pack("[{s:s, s:[{s:s, s:b}, {s:s, s:b}]}, {s:s, s:[{s:s, s:b}]}]", "name", "webgpu", "devices",
		"name", "native", "emulated", 1, "name", "native.1", "emulated", 0, "name", "qnn", "devices", "name", "57",
		"emulated", 1);

	(void)state;
	assert_true(
		same("cpu", "openvino", found) && same("cpu", "xnnpack", found) && same("cpu:chromium", "openvino:CPU", found));
	assert_true(!same("cpu", "cuda", found) && !same("cuda", "rocm", found) && !same("openvino:NPU", "openvino:GPU", found));
	assert_true(same("cuda", "tensorrt", found) && same("cuda:1", "tensorrt:1", found) && !same("cuda:0", "cuda:1", found));
	assert_true(same("openvino:GPU", "cuda", found)); // which GPU is not known
	assert_true(same("openvino:HETERO:GPU,CPU", "cpu", found) && same("openvino:HETERO:GPU,CPU", "cuda", found));
	assert_true(same("webgpu:native", "cpu", found) && same("qnn", "cpu", found)); // emulated: the processor
	assert_true(same("webgpu:native.1", "cuda", found) && !same("webgpu:native.1", "cpu", found));
	assert_true(same("webgpu:native", "cpu", NULL) && same("webgpu:native", "cuda", NULL)); // not looked at: alone
	assert_true(!same("null", "cpu", found) && !same("null", "null:EMULATED", found) && same("null", "null", found));
	json_decref(found);
}

static void beside(void **state)
{
	const struct schedule_device processor = { SCHEDULE_PROCESSOR, "" }, gpu = { SCHEDULE_GPU, "nvidia:0" },
				     nothing = { SCHEDULE_NOTHING, "" }, any = { SCHEDULE_ANY, "" };
	struct schedule_line lines[4] = { { 0 } };
	struct schedule s = { .lines = lines, .count = 4, .workers = 2, .room_bytes = 100 };

	(void)state;
	schedule_ready(&s, 0, &processor, 60);
	schedule_ready(&s, 1, &processor, 0);
	schedule_ready(&s, 2, &gpu, 50);
	schedule_ready(&s, 3, &nothing, 0);
	assert_true(schedule_next(&s) == 0);
	assert_true(schedule_next(&s) == 3); // 1: the same device; 2: no room; 3 has no device
	assert_true(schedule_next(&s) == SIZE_MAX && schedule_running(&s) == 2); // two workers
	schedule_end(&s, 3);
	assert_true(schedule_next(&s) == SIZE_MAX);
	s.room_bytes = 200;
	assert_true(schedule_next(&s) == 2);
	// The GPU's cell is to be judged: it waits for the processor and then goes before who is ready.
	schedule_want(&s, 2);
	assert_true(schedule_grant(&s) == SIZE_MAX);
	schedule_end(&s, 0);
	assert_true(schedule_next(&s) == SIZE_MAX && schedule_grant(&s) == 2 && schedule_grant(&s) == SIZE_MAX);
	assert_true(schedule_next(&s) == SIZE_MAX); // 1 is ready, the processor is not free
	schedule_end(&s, 2);
	assert_true(schedule_next(&s) == 1);
	schedule_ready(&s, 0, &any, 0);
	assert_true(schedule_next(&s) == SIZE_MAX);
	schedule_end(&s, 1);
	schedule_ready(&s, 2, &gpu, 1000);
	assert_true(schedule_next(&s) == 0 && schedule_next(&s) == SIZE_MAX); // alone on the machine
	schedule_end(&s, 0);
	assert_true(schedule_next(&s) == 2); // larger than the room, but nobody is beside it
}

static const char *crossing(
	struct arena *a, const struct crossover_point *x, size_t nx, const struct crossover_point *y, size_t ny)
{
	const struct crossover_side sides[2] = { { "A", x, nx }, { "B", y, ny } };
	struct crossover found;

	crossover_find(&found, a, sides);
	return crossover_sentence(a, sides, &found);
}

// Which share of timed runs had all others beside them.
static void shares(void **state)
{
	const struct together_span mine = { 100, 200 }, all = { 50, 300 }, late = { 150, 300 }, early = { 10, 175 },
				   gone = { 10, 90 }, none = { 0, 0 };

	(void)state;
	assert_true(fabs(together_share(mine, &all, 1) - 1) < 1e-12);
	assert_true(fabs(together_share(mine, (struct together_span[]){ all, late }, 2) - 0.5) < 1e-12);
	assert_true(fabs(together_share(mine, (struct together_span[]){ late, early }, 2) - 0.25) < 1e-12);
	assert_true(fabs(together_share(mine, (struct together_span[]){ all, gone }, 2)) < 1e-12);
	assert_true(fabs(together_share(mine, &none, 1)) < 1e-12);
	assert_true(isnan(together_share(none, &all, 1)));
}

#define NO_CLAIM " (one process a batch: no claim)"

static void crossovers(void **state)
{
	const double no = (double)NAN;
	const struct crossover_point x[] = { { 1, 3, 2.9, 3.1 }, { 2, 5, 4.9, 5.1 }, { 4, 9, 8, 10 }, { 8, 17, 16, 18 },
		{ 16, 33, no, no } };
	const struct crossover_point y[] = { { 1, 6, 5.9, 6.1 }, { 4, 9.2, 8.5, 9.5 }, { 8, 13, 12, 14 }, { 32, 40, no, no } };
	const struct crossover_point near[] = { { 1, 3.05, 2.95, 3.2 }, { 2, 5.05, 4.9, 5.2 } };
	const struct crossover_point slow[] = { { 1, 30, 29, 31 }, { 2, 50, 49, 51 }, { 4, 9.5, 9, 11 } };
	const struct crossover_point bare[] = { { 1, 30, no, no }, { 2, 50, no, no } };
	struct arena a = { 0 };

	(void)state;
	// 2 only A has; at 4 the intervals overlap; 16 and 32 nobody shares.
	assert_true(text_is(crossing(&a, x, 5, y, 4), "the median of B falls below that of A between batch 1 and 8" NO_CLAIM));
	assert_true(text_is(crossing(&a, y, 4, x, 5), "the median of A falls below that of B between batch 1 and 8" NO_CLAIM));
	assert_true(text_is(
		crossing(&a, x, 2, near, 2), "A against B: which has the lower median cannot be told at any batch from 1 to 2"));
	assert_true(text_is(crossing(&a, x, 2, slow, 2), "the median of A is below that of B from batch 1 to 2" NO_CLAIM));
	assert_true(text_is(crossing(&a, x, 3, slow, 3),
		"the median of A is below that of B from batch 1 to 2; at the others from 1 to 4 it cannot be told" NO_CLAIM));
	// A median without an interval says nothing, however far apart the two are.
	assert_true(text_is(
		crossing(&a, x, 2, bare, 2), "A against B: which has the lower median cannot be told at any batch from 1 to 2"));
	assert_true(!crossing(&a, x, 1, y, 4) && !crossing(&a, x, 0, y, 4));
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(product),
		cmocka_unit_test(end_of_batches),
		cmocka_unit_test(devices),
		cmocka_unit_test(beside),
		cmocka_unit_test(crossovers),
		cmocka_unit_test(shares),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
