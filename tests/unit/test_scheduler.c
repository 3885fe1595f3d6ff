// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Schedulers of diffusion: tables and latents after each step against what diffusers computed (tests/conform/schedulers); what a
// configuration may not say; a step that is wrong is found.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "conform/conform.h"
#include "denoise/scheduler.h"

static void golden(void **state)
{
	struct arena a = { 0 };
	const char *folder = arena_printf(&a, "%s/tests/conform/schedulers", TEST_SOURCE);
	DIR *d = opendir(folder);
	struct dirent *e;
	int cases = 0;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d))) {
		struct conform_case c = { .name = e->d_name, .folder = arena_printf(&a, "%s/%s", folder, e->d_name) };

		if (e->d_name[0] == '.')
			continue;
		assert_true(conform_is_scheduler(c.folder, &a));
		conform_scheduler(&c, &a);
		if (!c.passed)
			fail_msg("%s: %s", c.name, c.reason);
		cases++;
	}
	closedir(d);
	assert_int_equal(cases, 17);
	arena_done(&a);
}

static const char *const files[] = { "case.json", "io.safetensors", "scheduler_config.json" };
enum { CASE, IO, CONFIG, FILES };

// A copy of a folder in which `from` is `to` (of the same length, or in a text), or whose last stored value is not finite (NULL).
static void copy_changed(const char *scratch, const char *of, int file, const char *from, const char *to)
{
	struct arena a = { 0 };

	for (int k = 0; k < FILES; k++) {
		char *text, *at;
		size_t n;
		const char *path = arena_printf(&a, "%s/tests/conform/schedulers/%s/%s", TEST_SOURCE, of, files[k]);

		assert_int_equal(file_read(&a, path, 1 << 22, &text, &n, NULL), STATUS_OK);
		if (k == file && !from) {
			const float infinite = INFINITY;
			memcpy(text + n - sizeof infinite, &infinite, sizeof infinite);
		} else if (k == file) {
			assert_non_null(at = memmem(text, n, from, strlen(from)));
			if (strlen(from) == strlen(to)) {
				memcpy(at, to, strlen(to));
			} else {
				text = arena_printf(&a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
				n = strlen(text);
			}
		}
		assert_int_equal(file_write(arena_printf(&a, "%s/%s", scratch, files[k]), text, n, NULL), STATUS_OK);
	}
	arena_done(&a);
}

// A scheduler is not right because its configuration, what is stored of it or its case is not looked at.
static void differs(void **state)
{
	static const struct {
		const char *of;
		int file;
		const char *from, *to;
		enum verdict is;
	} rows[] = {
		{ "euler", CONFIG, "\"beta_end\": 0.012", "\"beta_end\": 0.013", VERDICT_WRONG },
		{ "dpmsolver-order3", CONFIG, "\"solver_order\": 3", "\"solver_order\": 2", VERDICT_WRONG },
		{ "flowmatch", CONFIG, "\"shift\": 3.0", "\"shift\": 2.0", VERDICT_WRONG },
		{ "unipc", CONFIG, "\"solver_type\": \"bh2\"", "\"solver_type\": \"bh1\"", VERDICT_WRONG },
		{ "ddpm", CONFIG, "\"clip_sample\": true", "\"clip_sample\": false", VERDICT_WRONG },
		{ "pndm", CONFIG, "\"steps_offset\": 1", "\"steps_offset\": 0", VERDICT_WRONG },
		{ "ddim", IO, NULL, NULL, VERDICT_WRONG },
		{ "ddim", IO, "\"step.4\"", "\"stop.4\"", VERDICT_FAILED },       // a step that is not there
		{ "ddim", IO, "\"add_noise\"", "\"add_noisy\"", VERDICT_FAILED }, // what nothing is compared with
		{ "euler", IO, "\"sigmas20\"", "\"sigmasXX\"", VERDICT_FAILED },  // likewise
		{ "euler", CASE, "\"timestep\": 801.0", "\"timestep\": 802.0", VERDICT_WRONG },
		{ "euler", CASE, "\"init_noise_sigma\": 5", "\"init_noise_sigma\": 6", VERDICT_WRONG },
		{ "euler", CASE, "EulerDiscreteScheduler", "HeunsDiscreteScheduler", VERDICT_FAILED },
	};
	char scratch[] = "/tmp/assay-scheduler-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(scratch));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct arena a = { 0 };
		struct conform_case c = { .name = "changed", .folder = scratch };

		copy_changed(scratch, rows[i].of, rows[i].file, rows[i].from, rows[i].to);
		conform_scheduler(&c, &a);
		if (c.verdict != rows[i].is || c.passed)
			fail_msg("%s, %s: %s: %s", rows[i].of, rows[i].from ? rows[i].from : "infinite", verdict_word(c.verdict),
				c.reason ? c.reason : "passed");
		arena_done(&a);
	}
	file_remove_tree(scratch, NULL);
}

static enum status opened(const char *config, int64_t steps, char *why)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct scheduler *s;
	json_t *json = json_parse(config);
	assert_non_null(json);
	enum status st = scheduler_open(&s, &a, json, &(struct scheduler_asked){ .steps = steps }, &err);
	if (why)
		memcpy(why, err.text, sizeof err.text);
	json_decref(json);
	arena_done(&a);
	return st;
}

#define FLOW "{\"_class_name\": \"FlowMatchEulerDiscreteScheduler\""

static void refusals(void **state)
{
	static const struct {
		const char *config, *why;
		enum status st;
	} rows[] = {
		{ "{}", "the scheduler without a name is not supported yet", STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"DEISMultistepScheduler\"}", "DEISMultistepScheduler is not supported",
			STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"DDIMScheduler\", \"num_train_timesteps\": 1e9}", "5 steps of 1e+09", STATUS_BAD_INPUT },
		{ "{\"_class_name\": \"DDIMScheduler\", \"num_train_timesteps\": 4}", "5 steps of 4", STATUS_BAD_INPUT },
		{ "{\"_class_name\": \"DDIMScheduler\", \"beta_end\": 2}", "beta_start, beta_end", STATUS_BAD_INPUT },
		{ "{\"_class_name\": \"DDIMScheduler\", \"beta_end\": \"x\"}", "beta_end: not a number", STATUS_BAD_INPUT },
		{ "{\"_class_name\": \"DDIMScheduler\", \"thresholding\": true}", "thresholding", STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"DDIMScheduler\", \"steps_offset\": 999}", "steps_offset", STATUS_BAD_INPUT },
		{ "{\"_class_name\": \"EulerDiscreteScheduler\", \"timestep_spacing\": \"x\"}", "timestep_spacing",
			STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"PNDMScheduler\", \"skip_prk_steps\": false}", "skip_prk_steps", STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"DPMSolverMultistepScheduler\", \"solver_order\": 4}", "solver_order", STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"UniPCMultistepScheduler\", \"use_flow_sigmas\": true}", "use_flow_sigmas",
			STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"LCMScheduler\", \"original_inference_steps\": 4}", "original_inference_steps",
			STATUS_BAD_INPUT },
		{ "{\"_class_name\": \"DDPMScheduler\", \"variance_type\": \"learned\"}", "variance_type", STATUS_UNSUPPORTED },
		{ FLOW ", \"time_shift_type\": \"foo\"}", "time_shift_type: neither exponential nor linear", STATUS_BAD_INPUT },
		{ FLOW ", \"shift\": -3.0}", "shift: not above 0", STATUS_BAD_INPUT },
		{ FLOW ", \"shift\": 0}", "shift: not above 0", STATUS_BAD_INPUT },
		{ FLOW ", \"shift_terminal\": 1.5}", "shift_terminal: not from 0 to 1", STATUS_UNSUPPORTED },
		{ FLOW ", \"use_karras_sigmas\": true, \"use_exponential_sigmas\": true}", "beside use_karras_sigmas",
			STATUS_BAD_INPUT },
		{ "{\"_class_name\": \"DPMSolverMultistepScheduler\", \"variance_type\": \"learned_range\"}", "variance_type",
			STATUS_UNSUPPORTED },
		{ "{\"_class_name\": \"EulerDiscreteScheduler\", \"use_beta_sigmas\": true}", "use_beta_sigmas",
			STATUS_UNSUPPORTED },
	};
	char why[sizeof(((struct error *)0)->text)];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(opened(rows[i].config, 5, why), rows[i].st);
		if (!strstr(why, rows[i].why))
			fail_msg("%s: %s", rows[i].config, why);
	}
	assert_int_equal(opened("{\"_class_name\": \"EulerDiscreteScheduler\"}", 0, NULL), STATUS_BAD_INPUT);
	assert_int_equal(opened("{\"_class_name\": \"EulerDiscreteScheduler\"}", 1, NULL), STATUS_OK);
	assert_int_equal(opened("{\"_class_name\": \"PNDMScheduler\", \"skip_prk_steps\": true}", 1, NULL), STATUS_OK);
	assert_int_equal(opened("{\"_class_name\": \"HeunDiscreteScheduler\"}", 1000, NULL), STATUS_OK);
	// Keys of another class, which a configuration keeps that was made from it.
	assert_int_equal(opened("{\"_class_name\": \"EulerAncestralDiscreteScheduler\", \"use_beta_sigmas\": true, "
				"\"thresholding\": true}",
				 5, NULL),
		STATUS_OK);
	assert_int_equal(opened(FLOW ", \"time_shift_type\": \"linear\", \"shift\": null}", 5, NULL), STATUS_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
		cmocka_unit_test(differs),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
