// SPDX-License-Identifier: Apache-2.0
// A folder of a diffusion scheduler: scheduler_config.json, case.json, and io.safetensors with the tables and the latents
// after each step that diffusers computed. Latents, the network's answers and the noise are streams by formula: element i of
// NAME is u of tests/conform/README.md, between -1 and 1.
#include "conform/case.h"
#include "conform/stored.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "denoise/scheduler.h"

// Those that there are have 7 steps of 256 elements. `elements`: of all steps together.
enum { JSON_LIMIT = 1 << 20, ELEMENTS_MOST = 1 << 21, TENSORS_MOST = 4096 };

struct run {
	struct arena a;
	struct error err;
	const char *folder, *stem; // of streams: "veuler"
	struct stored golden;
	size_t compared;
	struct scheduler *s;
	size_t n;             // of the latents
	double *wide;         // [n], of compare_floats
	double worst, square; // the largest error and the largest normalised mean squared error
	const char *differs;
};

bool conform_is_scheduler(const char *folder, struct arena *a)
{
	return file_exists(arena_printf(a, "%s/scheduler_config.json", folder));
}

static float *stream(struct run *r, const char *what, double scale, float *out)
{
	const char *name = arena_printf(&r->a, "%s%s", r->stem, what);
	uint64_t seed = fnv1a64_text(name);

	for (size_t i = 0; i < r->n; i++)
		out[i] = (float)(splitmix64_unit(splitmix64(seed, i)) * scale);
	return out;
}

// NaN, which is no error that is allowed, stays.
static double larger(double x, double y)
{
	return isnan(x) || x >= y ? x : y;
}

// Within 1e-5 of the largest value, and of 1; what is not finite is off.
static void compare(struct run *r, const char *name, const double *x, size_t n)
{
	const struct weight *w = stored_find(&r->golden, name);
	size_t stored = w ? stored_count(w) : 0;
	double most = 0, error = 0, sum = 0, all = 0;

	if (!w)
		return;
	r->compared++;
	if (stored != n || !n) {
		r->differs =
			r->differs ? r->differs : arena_printf(&r->a, "%s: %zu values are stored, %zu expected", name, stored, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		double y = stored_at(w, i), off = fabs(x[i] - y);

		most = fmax(most, isfinite(y) ? fabs(y) : 0);
		error = larger(error, off);
		sum += off * off;
		all += y * y;
	}
	r->worst = larger(r->worst, error);
	r->square = all == 0 ? r->square : larger(r->square, sum / all);
	if (!(error <= 1e-5 * fmax(1, most)) && !r->differs)
		r->differs = arena_printf(&r->a, "%s: %.3g off, allowed %.3g", name, error, 1e-5 * fmax(1, most));
}

static void compare_floats(struct run *r, const char *name, const float *x)
{
	for (size_t i = 0; i < r->n; i++)
		r->wide[i] = (double)x[i];
	compare(r, name, r->wide, r->n);
}

static void compare_tables(struct run *r, const struct scheduler *s, const char *times, const char *sigmas)
{
	size_t n = scheduler_steps(s), kept = 0;
	double *x = ARENA_ARRAY(&r->a, n + 2, double), *every;

	for (size_t i = 0; i < n; i++)
		x[i] = scheduler_time(s, i);
	compare(r, times, x, n);
	for (size_t i = 0; i <= n; i++)
		x[i] = scheduler_sigma(s, i);
	compare(r, sigmas, x, n + 1);
	if (s != r->s) // the same of both
		return;
	while (!isnan(scheduler_kept(s, kept)))
		kept++;
	every = ARENA_ARRAY(&r->a, kept / 50 + 2, double);
	for (size_t i = 0; i * 50 < kept; i++)
		every[i] = scheduler_kept(s, i * 50);
	compare(r, "alphas_cumprod_every_50", every, (kept + 49) / 50);
}

// Is every step there, and so small together that the loop is short? Before any memory is taken for them.
static enum status look_at_steps(struct run *r)
{
	const size_t steps = scheduler_steps(r->s);

	if (r->golden.count > TENSORS_MOST || !r->n || steps > ELEMENTS_MOST / r->n)
		return error_set(&r->err, STATUS_BAD_INPUT,
			"%s: %zu steps of %zu elements, in a file of %zu tensors; at most %d elements together and %d tensors",
			r->folder, steps, r->n, r->golden.count, ELEMENTS_MOST, TENSORS_MOST);
	for (size_t i = 0; i < steps; i++) {
		const struct weight *w = stored_find(&r->golden, arena_printf(&r->a, "step.%zu", i));
		if (!w)
			return error_set(&r->err, STATUS_BAD_INPUT, "%s: not every step is there to compare with", r->folder);
	}
	return STATUS_OK;
}

static void walk(struct run *r)
{
	float *x = ARENA_ARRAY(&r->a, r->n, float), *scaled = ARENA_ARRAY(&r->a, r->n, float),
	      *answer = ARENA_ARRAY(&r->a, r->n, float), *drawn = ARENA_ARRAY(&r->a, r->n, float);
	size_t draws = 0, steps = scheduler_steps(r->s);

	r->wide = ARENA_ARRAY(&r->a, r->n, double);
	if (steps > 2) {
		scheduler_add_noise(r->s, 2, stream(r, "latent", 1, x), stream(r, "noise0", 1, drawn), scaled, r->n);
		compare_floats(r, "add_noise", scaled);
	}
	stream(r, "latent", scheduler_begin(r->s), x);
	for (size_t i = 0; i < steps; i++) {
		const float *noise =
			scheduler_noisy(r->s, i) ? stream(r, arena_printf(&r->a, "noise%zu", draws++), 1, drawn) : NULL;

		scheduler_scale(r->s, i, x, scaled, r->n);
		compare_floats(r, arena_printf(&r->a, "scaled.%zu", i), scaled);
		scheduler_step(r->s, i, stream(r, arena_printf(&r->a, "eps%zu", i), 1, answer), noise, x, r->n);
		compare_floats(r, arena_printf(&r->a, "step.%zu", i), x);
	}
	compare_floats(r, arena_printf(&r->a, "denoised.%zu", steps - 1), x);
}

static enum status open(struct run *r, json_t **config, json_t **json)
{
	const char *path = arena_printf(&r->a, "%s/scheduler_config.json", r->folder);
	const struct weight *first;
	char *text;
	size_t nbytes;
	enum status st;

	if ((st = file_read(&r->a, path, JSON_LIMIT, &text, &nbytes, &r->err)) ||
		(st = checkpoint_json(path, text, nbytes, config, &r->err)) ||
		(st = json_file(arena_printf(&r->a, "%s/case.json", r->folder), JSON_LIMIT, json, &r->err)) ||
		(st = stored_open(&r->golden, &r->a, arena_printf(&r->a, "%s/io.safetensors", r->folder), &r->err)))
		return st;
	const char *latent = json_string_value(json_object_get(*json, "latent")), *quote = latent ? strchr(latent, '\'') : NULL,
		   *end = quote ? strstr(quote, "latent'") : NULL;
	if (!end || !(first = stored_find(&r->golden, "step.0")) || first->dtype != DTYPE_F32)
		return error_set(&r->err, STATUS_BAD_INPUT, "%s: no stream of latents, or no step.0", r->folder);
	r->stem = arena_printf(&r->a, "%.*s", (int)(end - quote - 1), quote + 1);
	r->n = (size_t)first->nbytes / sizeof(float);
	return STATUS_OK;
}

// What case.json says besides: the class, the times, and what the first noise is multiplied by.
static void compare_case(struct run *r, const json_t *json)
{
	const json_t *steps = json_object_get(json, "steps");
	double begin = json_number_value(json_object_get(json, "init_noise_sigma"));
	bool alike =
		json_array_size(steps) == scheduler_steps(r->s) && fabs(begin - scheduler_begin(r->s)) <= 1e-5 * fmax(1, begin);

	for (size_t i = 0; alike && i < scheduler_steps(r->s); i++) {
		const json_t *step = json_array_get(steps, i);
		double time = json_number_value(json_object_get(step, "timestep"));
		alike = fabs(time - scheduler_time(r->s, i)) <= 1e-5 * fmax(1, time) &&
			(json_array_size(json_object_get(step, "noise")) > 0) == scheduler_noisy(r->s, i);
	}
	if (!alike && !r->differs)
		r->differs = "case.json: its steps, their times or noise, or init_noise_sigma are not the scheduler's";
}

static enum status run(struct run *r, const json_t *config, const json_t *json)
{
	const json_t *options = json_object_get(json, "options"), *sigmas = json_object_get(options, "sigmas");
	struct scheduler_asked asked = { .steps = json_integer_value(json_object_get(json, "num_inference_steps")),
		.eta = json_number_value(json_object_get(options, "eta")),
		.mu = json_number_value(json_object_get(options, "mu")),
		.own_sigmas = text_is(json_string_value(sigmas), "linspace(1, 1/N, N)") };
	struct scheduler *long_one;
	enum status st;

	if (!text_is(
		    json_string_value(json_object_get(json, "class")), json_string_value(json_object_get(config, "_class_name"))))
		return error_set(&r->err, STATUS_BAD_INPUT, "%s: case.json is of another class", r->folder);
	if (sigmas && !asked.own_sigmas)
		return error_set(&r->err, STATUS_UNSUPPORTED, "%s: sigmas of this kind", r->folder);
	if ((st = scheduler_open(&r->s, &r->a, config, &asked, &r->err)))
		return st;
	if ((st = look_at_steps(r)))
		return st;
	compare_tables(r, r->s, "timesteps", "sigmas");
	walk(r);
	asked.steps = 20;
	if (stored_find(&r->golden, "timesteps20")) {
		if ((st = scheduler_open(&long_one, &r->a, config, &asked, &r->err)))
			return st;
		compare_tables(r, long_one, "timesteps20", "sigmas20");
	}
	if (r->compared != r->golden.count)
		return error_set(&r->err, STATUS_BAD_INPUT, "%s: io.safetensors holds what nothing is compared with", r->folder);
	compare_case(r, json);
	return STATUS_OK;
}

void conform_scheduler(struct conform_case *c, struct arena *a)
{
	struct run r = { .folder = c->folder };
	json_t *config = NULL, *json = NULL;
	enum status st = open(&r, &config, &json);

	if (!st)
		st = run(&r, config, json);
	c->verdict = st ? verdict_of_status(st) : r.differs ? VERDICT_WRONG : VERDICT_RIGHT;
	c->passed = c->verdict == VERDICT_RIGHT;
	c->reason = st ? arena_strdup(a, r.err.text) : r.differs ? arena_strdup(a, r.differs) : NULL;
	c->max_abs_error = st ? (double)NAN : r.worst;
	c->nmse = st ? (double)NAN : r.square;
	c->elsewhere = -1;
	json_decref(config);
	json_decref(json);
	arena_done(&r.a);
}
