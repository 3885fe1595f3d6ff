// SPDX-License-Identifier: Apache-2.0
// Times and noise levels of the schedulers (scheduler.h). A class is a row of `classes`; what is done at a step is in step.c.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "denoise/inside.h"

enum { TRAIN_MOST = 100000, STEPS_MOST = 10000 };

// The arguments of each class, of diffusers 0.42.
#define CLIPPED " clip_sample clip_sample_range "
#define LIMITED " thresholding dynamic_thresholding_ratio sample_max_value "
#define RESPACED " use_karras_sigmas use_exponential_sigmas use_beta_sigmas "
#define RESCALED " rescale_betas_zero_snr "
#define SOLVER \
	LIMITED RESPACED RESCALED \
		" solver_order solver_type lower_order_final final_sigmas_type use_flow_sigmas flow_shift use_dynamic_shifting " \
		"time_shift_type "

static const struct scheduler_class classes[] = {
	{ "DDIMScheduler", step_ddim, 0.0001, 0.02, "linear", "leading", CLIPPED LIMITED RESCALED " set_alpha_to_one ",
		.clips = true, .ends_at_one = true, .rounds = true },
	{ "DDPMScheduler", step_ddpm, 0.0001, 0.02, "linear", "leading", CLIPPED LIMITED RESCALED " variance_type ",
		.clips = true, .rounds = true, .fresh_noise = true },
	{ "DPMSolverMultistepScheduler", step_dpm_solver, 0.0001, 0.02, "linear", "linspace",
		SOLVER " algorithm_type euler_at_final lambda_min_clipped use_lu_lambdas variance_type ", .has_sigmas = true,
		.rounds = true, .one_more = true },
	{ "EulerAncestralDiscreteScheduler", step_euler_ancestral, 0.0001, 0.02, "linear", "linspace", RESCALED,
		.has_sigmas = true, .scales = true, .fresh_noise = true },
	{ "EulerDiscreteScheduler", step_euler, 0.0001, 0.02, "linear", "linspace",
		RESPACED RESCALED " final_sigmas_type interpolation_type sigma_max sigma_min timestep_type ", .has_sigmas = true,
		.scales = true },
	{ "FlowMatchEulerDiscreteScheduler", step_flow,
		.keys = RESPACED " base_image_seq_len base_shift invert_sigmas max_image_seq_len max_shift shift shift_terminal "
				 "stochastic_sampling time_shift_type use_dynamic_shifting ",
		.has_sigmas = true },
	{ "HeunDiscreteScheduler", step_heun, 0.00085, 0.012, "linear", "linspace", CLIPPED RESPACED, .has_sigmas = true,
		.scales = true },
	{ "LCMScheduler", step_lcm, 0.00085, 0.012, "scaled_linear", "leading",
		CLIPPED LIMITED RESCALED " set_alpha_to_one original_inference_steps timestep_scaling ", .ends_at_one = true,
		.rounds = true, .fresh_noise = true },
	{ "PNDMScheduler", step_pndm, 0.0001, 0.02, "linear", "leading", " set_alpha_to_one skip_prk_steps ", .rounds = true },
	{ "UniPCMultistepScheduler", step_unipc, 0.0001, 0.02, "linear", "linspace",
		SOLVER " disable_corrector predict_x0 shift_terminal sigma_max sigma_min solver_p ", .has_sigmas = true,
		.rounds = true, .one_more = true },
};

struct reader {
	const struct scheduler_class *kind;
	const json_t *config;
	const struct scheduler_asked *asked;
	struct error *err;
	enum status st; // the first that is not OK counts
};

static void fail(struct reader *r, enum status st, const char *key, const char *why)
{
	if (!r->st)
		r->st = error_set(r->err, st, "scheduler_config.json: %s: %s", key, why);
}

static bool has_word(const char *words, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += n)
		if (at > words && at[-1] == ' ' && at[n] == ' ')
			return true;
	return false;
}

// What the class takes of the configuration. Saved ones keep the keys of the class that they were made from.
static const json_t *get(const struct reader *r, const char *key)
{
	static const char all[] =
		" num_train_timesteps beta_start beta_end beta_schedule trained_betas prediction_type steps_offset "
		"timestep_spacing ";

	return has_word(all, key) || has_word(r->kind->keys, key) ? json_object_get(r->config, key) : NULL;
}

static double real(struct reader *r, const char *key, double usual)
{
	const json_t *v = get(r, key);

	if (!v || json_is_null(v))
		return usual;
	if (!json_is_number(v))
		fail(r, STATUS_BAD_INPUT, key, "not a number");
	return json_number_value(v);
}

static bool yes(struct reader *r, const char *key, bool usual)
{
	const json_t *v = get(r, key);

	if (v && !json_is_null(v) && !json_is_boolean(v))
		fail(r, STATUS_BAD_INPUT, key, "neither true nor false");
	return json_is_boolean(v) ? json_is_true(v) : usual;
}

static const char *word(struct reader *r, const char *key, const char *usual)
{
	const json_t *v = get(r, key);

	if (v && !json_is_null(v) && !json_is_string(v))
		fail(r, STATUS_BAD_INPUT, key, "not a word");
	return json_is_string(v) ? json_string_value(v) : usual;
}

// Keys that change something that is not done here: they must be absent, null or false.
static void refuse_others(struct reader *r)
{
	static const char *const keys[] = { "thresholding", "trained_betas", "use_beta_sigmas", "use_lu_lambdas", "invert_sigmas",
		"solver_p", "euler_at_final" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *v = get(r, keys[i]);
		if (v && !json_is_null(v) && !json_is_false(v))
			fail(r, STATUS_UNSUPPORTED, keys[i], "is not supported yet");
	}
	if (json_is_number(get(r, "lambda_min_clipped"))) // usually minus infinity, which is no JSON
		fail(r, STATUS_UNSUPPORTED, "lambda_min_clipped", "is not supported yet");
	if (json_array_size(get(r, "disable_corrector")))
		fail(r, STATUS_UNSUPPORTED, "disable_corrector", "is not supported yet");
}

// alphas_cumprod: products of 1 - beta, beta between two numbers or between the squares of their roots, or by a cosine
// (Nichol and Dhariwal 2021, https://arxiv.org/abs/2102.09672).
static void keep(struct scheduler *s, struct reader *r)
{
	double first = real(r, "beta_start", s->kind->beta_start), last = real(r, "beta_end", s->kind->beta_end), product = 1;
	const char *schedule = word(r, "beta_schedule", s->kind->beta_schedule);
	bool scaled = text_is(schedule, "scaled_linear"), cosine = text_is(schedule, "squaredcos_cap_v2");

	if (!scaled && !cosine && !text_is(schedule, "linear"))
		fail(r, STATUS_UNSUPPORTED, "beta_schedule",
			"only linear, scaled_linear and squaredcos_cap_v2 are supported yet");
	if (!(first > 0) || !(last > 0) || !(first < 1) || !(last < 1))
		fail(r, STATUS_BAD_INPUT, "beta_start, beta_end", "not between 0 and 1");
	for (size_t i = 0; i < s->train; i++) {
		double at = s->train > 1 ? (double)i / (double)(s->train - 1) : 0, from = scaled ? sqrt(first) : first;
		double beta = from + at * ((scaled ? sqrt(last) : last) - from);

		if (cosine) {
			double now = cos(((double)i / (double)s->train + 0.008) / 1.008 * M_PI / 2),
			       next = cos((((double)i + 1) / (double)s->train + 0.008) / 1.008 * M_PI / 2);
			beta = fmin(1 - next * next / (now * now), 0.999);
		}
		product *= (double)(float)(1 - (float)(scaled ? (double)(float)beta * (float)beta : beta));
		s->kept[i] = (double)(float)product;
	}
	if (yes(r, "rescale_betas_zero_snr", false)) { // Lin et al. 2023 (https://arxiv.org/abs/2305.08891), algorithm 1
		double a = sqrt(s->kept[0]), b = sqrt(s->kept[s->train - 1]);

		for (size_t i = 0; i < s->train; i++)
			s->kept[i] = pow((sqrt(s->kept[i]) - b) * a / (a - b), 2);
		if (s->kind->has_sigmas)
			s->kept[s->train - 1] = 0x1p-24;
	}
	s->last_kept = yes(r, "set_alpha_to_one", s->kind->ends_at_one) ? 1 : s->kept[0];
}

// Of a training step that may lie between two.
static double sigma_at(const struct scheduler *s, double time)
{
	double most = (double)s->train - 1, t = fmax(0, fmin(most, time)), low = floor(t), share = t - low;
	size_t i = (size_t)low, k = i + 1 < s->train ? i + 1 : i;
	double a = sqrt((1 - s->kept[i]) / s->kept[i]), b = sqrt((1 - s->kept[k]) / s->kept[k]);

	return a + share * (b - a);
}

// Back from a sigma to the training step, in between by the logarithm.
static double time_of(const struct scheduler *s, double sigma)
{
	double wanted = log(fmax(sigma, 1e-10));
	size_t low = 0;

	while (low + 2 < s->train && log(sigma_at(s, (double)low + 1)) <= wanted)
		low++;
	double a = log(sigma_at(s, (double)low)), b = log(sigma_at(s, (double)low + 1)), share = (a - wanted) / (a - b);
	return (double)low + fmax(0, fmin(1, share));
}

// The training steps that are asked for, the last first.
static void space(struct scheduler *s, struct reader *r)
{
	const char *how = word(r, "timestep_spacing", s->kind->spacing);
	size_t n = s->asked, parts = n + s->kind->one_more;
	double train = (double)s->train, offset = real(r, "steps_offset", 0);

	for (size_t i = 0; i < n; i++) {
		double back = (double)(parts - 1 - i);
		if (text_is(how, "linspace")) {
			double t = parts > 1 ? back * (train - 1) / (double)(parts - 1) : 0;
			s->time[i] = s->kind->rounds ? rint(t) : (double)(float)t;
		} else if (text_is(how, "leading")) {
			s->time[i] = back * floor(train / (double)parts) + offset;
		} else if (text_is(how, "trailing")) {
			s->time[i] = rint(train - (double)i * train / (double)n) - 1;
		} else {
			fail(r, STATUS_UNSUPPORTED, "timestep_spacing", "neither linspace, leading nor trailing");
		}
		if (s->time[i] < 0 || s->time[i] > train - 1)
			fail(r, STATUS_BAD_INPUT, "steps_offset",
				"there would be times that training had not, with this offset or so many steps: ask for fewer "
				"(--steps)");
	}
}

static void space_lcm(struct scheduler *s, struct reader *r)
{
	double original = real(r, "original_inference_steps", 50);

	if (!(original >= (double)s->asked) || original > (double)s->train) {
		fail(r, STATUS_BAD_INPUT, "original_inference_steps",
			"fewer than the steps asked for, or more than training had");
		return;
	}
	original = floor(original);
	for (size_t i = 0; i < s->asked; i++) {
		double at = floor((double)i * original / (double)s->asked);
		s->time[i] = (original - at) * floor((double)s->train / original) - 1;
	}
}

// Karras et al. 2022, formula 5 with rho 7, or equal steps of the logarithm, between the largest and the smallest.
static bool respace(struct scheduler *s, struct reader *r, double most, double least)
{
	bool karras = yes(r, "use_karras_sigmas", false), exponential = yes(r, "use_exponential_sigmas", false);

	most = real(r, "sigma_max", most), least = real(r, "sigma_min", least);
	if (karras && exponential)
		fail(r, STATUS_BAD_INPUT, "use_exponential_sigmas", "beside use_karras_sigmas, of which there may be one");
	if (!karras && !exponential)
		return false;
	for (size_t i = 0; i < s->asked; i++) {
		double at = s->asked > 1 ? (double)i / (double)(s->asked - 1) : 0, a = pow(most, 1.0 / 7),
		       b = pow(least, 1.0 / 7);
		s->sigma[i] = karras ? pow(a + at * (b - a), 7) : exp(log(most) + at * (log(least) - log(most)));
	}
	return true;
}

static void levels(struct scheduler *s, struct reader *r)
{
	size_t n = s->asked;
	bool whole = s->kind->one_more; // the two multistep solvers respace all of training's
	const char *end = word(r, "final_sigmas_type", "zero");

	if (!text_is(word(r, "interpolation_type", "linear"), "linear") ||
		!text_is(word(r, "timestep_type", "discrete"), "discrete"))
		fail(r, STATUS_UNSUPPORTED, "interpolation_type, timestep_type", "only linear and discrete are supported yet");
	for (size_t i = 0; i < n; i++)
		s->sigma[i] = sigma_at(s, s->time[i]);
	if (respace(s, r, whole ? sigma_at(s, (double)s->train) : s->sigma[0], whole ? sigma_at(s, 0) : s->sigma[n - 1]))
		for (size_t i = 0; i < n; i++) {
			double t = time_of(s, s->sigma[i]);
			s->time[i] = whole ? (yes(r, "use_karras_sigmas", false) ? rint(t) : floor(t)) : (double)(float)t;
		}
	if (!text_is(end, "zero") && !text_is(end, "sigma_min"))
		fail(r, STATUS_UNSUPPORTED, "final_sigmas_type", "neither zero nor sigma_min");
	s->sigma[n] = text_is(end, "zero") ? 0 : sigma_at(s, 0);
	for (size_t i = 0; i <= n; i++)
		s->sigma[i] = (double)(float)s->sigma[i];
}

// Of a flow, for DPM-Solver: equal steps of the noise's share, shifted (use_flow_sigmas).
static void solver_flow_levels(struct scheduler *s, struct reader *r)
{
	const double shift = real(r, "flow_shift", 1), train = (double)s->train, n = (double)s->asked;

	if (!(shift > 0))
		fail(r, STATUS_BAD_INPUT, "flow_shift", "not above 0");
	for (size_t i = 0; i < s->asked; i++) {
		const double share = (n - (double)i) / n * (1 - 1 / train), sigma = shift * share / (1 + (shift - 1) * share);

		s->sigma[i] = (double)(float)sigma;
		s->time[i] = floor(sigma * train);
	}
}

static double shifted(struct reader *r, double t)
{
	double shift = real(r, "shift", 1), mu = r->asked->mu;

	if (!yes(r, "use_dynamic_shifting", false))
		return shift * t / (1 + (shift - 1) * t);
	return text_is(word(r, "time_shift_type", "exponential"), "linear") ? mu / (mu + 1 / t - 1)
									    : exp(mu) / (exp(mu) + 1 / t - 1);
}

static void flow_levels(struct scheduler *s, struct reader *r)
{
	size_t n = s->asked;
	bool dynamic = yes(r, "use_dynamic_shifting", false);
	double train = (double)s->train, terminal = real(r, "shift_terminal", 0), least = 1 / train;
	const char *type = word(r, "time_shift_type", "exponential");

	if (!text_is(type, "exponential") && !text_is(type, "linear"))
		fail(r, STATUS_BAD_INPUT, "time_shift_type", "neither exponential nor linear");
	if (!(real(r, "shift", 1) > 0))
		fail(r, STATUS_BAD_INPUT, "shift", "not above 0");
	if (!(terminal >= 0 && terminal < 1))
		fail(r, STATUS_UNSUPPORTED, "shift_terminal", "not from 0 to 1");
	if (!dynamic) // the class shifts its table, and what is taken from it once more
		least = shifted(r, least);
	for (size_t i = 0; i < n; i++) {
		double end = r->asked->own_sigmas ? 1 / (double)n : least, at = n > 1 ? (double)i / (double)(n - 1) : 0;
		s->sigma[i] = shifted(r, 1 + at * (end - 1));
	}
	if (terminal > 0 && terminal < 1) {
		double by = (1 - s->sigma[n - 1]) / (1 - terminal);
		for (size_t i = 0; i < n; i++)
			s->sigma[i] = 1 - (1 - s->sigma[i]) / by;
	}
	respace(s, r, s->sigma[0], s->sigma[n - 1]);
	for (size_t i = 0; i < n; i++) {
		s->sigma[i] = (double)(float)s->sigma[i];
		s->time[i] = s->sigma[i] * train;
	}
	s->sigma[n] = 0;
}

// Heun asks twice at each time but the first, PNDM at the second.
static void repeat(struct scheduler *s)
{
	bool heun = s->kind->step == step_heun, pndm = s->kind->step == step_pndm && s->asked > 1;
	size_t n = s->asked, k = 0;
	double *time = ARENA_ARRAY(s->a, 2 * n + 1, double), *sigma = ARENA_ARRAY(s->a, 2 * n + 2, double);

	s->steps = n;
	if (!heun && !pndm)
		return;
	for (size_t i = 0; i < n; i++)
		for (int twice = 0; twice < 1 + (heun ? i > 0 : i == 1); twice++, k++) {
			time[k] = s->time[i];
			sigma[k] = s->sigma[i];
		}
	sigma[k] = s->sigma[n];
	s->time = time, s->sigma = sigma, s->steps = k;
}

static void read_solver(struct scheduler *s, struct reader *r)
{
	const char *algorithm = word(r, "algorithm_type", "dpmsolver++"), *solver = word(r, "solver_type", NULL);
	bool dpm = s->kind->step == step_dpm_solver;
	double order = real(r, "solver_order", 2);

	if (order != 1 && order != 2 && order != 3)
		fail(r, STATUS_UNSUPPORTED, "solver_order", "not 1, 2 or 3");
	s->order = (int)order;
	s->lower_order_final = yes(r, "lower_order_final", true);
	s->plus_plus = !dpm || text_is(algorithm, "dpmsolver++");
	if (dpm && !s->plus_plus && !text_is(algorithm, "dpmsolver"))
		fail(r, STATUS_UNSUPPORTED, "algorithm_type", "only dpmsolver++ and dpmsolver are supported yet");
	s->heun = dpm && text_is(solver, "heun");
	s->bh1 = !dpm && text_is(solver, "bh1");
	if (solver && !s->heun && !s->bh1 && !text_is(solver, dpm ? "midpoint" : "bh2"))
		fail(r, STATUS_UNSUPPORTED, "solver_type", "is not supported yet");
	if (!yes(r, "predict_x0", true))
		fail(r, STATUS_UNSUPPORTED, "predict_x0", "false is not supported yet");
	s->flow_sigmas = yes(r, "use_flow_sigmas", false);
	if (s->flow_sigmas && (!dpm || !s->plus_plus || s->predicts != PREDICTS_FLOW))
		fail(r, STATUS_UNSUPPORTED, "use_flow_sigmas",
			"is supported yet for DPMSolverMultistepScheduler with dpmsolver++ and flow_prediction alone");
}

static void read_kind(struct scheduler *s, struct reader *r)
{
	static const char *const words[] = { "epsilon", "sample", "v_prediction", "flow_prediction" };
	bool flow = s->kind->step == step_flow;
	const char *predicts = word(r, "prediction_type", flow ? "flow_prediction" : "epsilon"),
		   *variance = word(r, "variance_type", NULL);
	int i = 0;

	while (i < 4 && !text_is(words[i], predicts))
		i++;
	const bool flows = flow || (s->kind->step == step_dpm_solver && yes(r, "use_flow_sigmas", false));
	if (i == 4 || (i == PREDICTS_FLOW && !flows))
		fail(r, STATUS_UNSUPPORTED, "prediction_type", "is not supported yet");
	s->predicts = (enum prediction)i;
	s->clip = yes(r, "clip_sample", s->kind->clips) ? real(r, "clip_sample_range", 1) : 0;
	s->eta = s->kind->step == step_ddim ? r->asked->eta : 0;
	s->time_scale = real(r, "timestep_scaling", 10);
	s->stochastic = yes(r, "stochastic_sampling", false);
	s->large_variance = text_is(variance, "fixed_large");
	// A model that learned it has twice the channels.
	const bool is_fixed =
		!variance || s->large_variance || text_is(variance, "fixed_small") || text_is(variance, "fixed_small_log");
	if ((s->kind->step == step_ddpm && !is_fixed) ||
		(s->kind->step == step_dpm_solver && variance && text_starts(variance, "learned")))
		fail(r, STATUS_UNSUPPORTED, "variance_type", "is not supported yet");
	if (s->kind->step == step_pndm && !yes(r, "skip_prk_steps", false))
		fail(r, STATUS_UNSUPPORTED, "skip_prk_steps", "false is not supported yet");
	if (s->kind->one_more)
		read_solver(s, r);
}

static void plan(struct scheduler *s, struct reader *r)
{
	size_t n = s->asked;

	s->time = ARENA_ARRAY(s->a, n + 1, double);
	s->sigma = ARENA_ARRAY(s->a, n + 1, double);
	read_kind(s, r);
	refuse_others(r);
	if (s->kind->step == step_flow) {
		flow_levels(s, r);
	} else {
		s->kept = ARENA_ARRAY(s->a, s->train + 1, double);
		keep(s, r);
		if (!r->st && s->kind->step == step_lcm)
			space_lcm(s, r);
		else if (!r->st)
			space(s, r);
		if (!r->st && s->kind->has_sigmas)
			levels(s, r);
		if (!r->st && s->flow_sigmas)
			solver_flow_levels(s, r);
		s->spread = !text_is(word(r, "timestep_spacing", s->kind->spacing), "leading");
	}
	repeat(s);
}

enum status scheduler_open(
	struct scheduler **out, struct arena *a, const json_t *config, const struct scheduler_asked *asked, struct error *err)
{
	struct scheduler *s = ARENA_NEW(a, struct scheduler);
	const char *name = json_string_value(json_object_get(config, "_class_name"));

	for (size_t i = 0; i < sizeof classes / sizeof *classes && !s->kind; i++)
		if (text_is(name, classes[i].name))
			s->kind = &classes[i];
	if (!s->kind)
		return error_set(err, STATUS_UNSUPPORTED, "scheduler_config.json: the scheduler %.64s is not supported yet",
			name ? name : "without a name");
	struct reader r = { s->kind, config, asked, err, STATUS_OK };
	double train = real(&r, "num_train_timesteps", 1000);
	if (!(train >= 2) || train > TRAIN_MOST || asked->steps < 1 || asked->steps > STEPS_MOST || (double)asked->steps > train)
		return error_set(err, STATUS_BAD_INPUT, "scheduler_config.json: %lld steps of %g in training",
			(long long)asked->steps, train);
	s->a = a;
	s->train = (size_t)train;
	s->asked = (size_t)asked->steps;
	plan(s, &r);
	*out = s;
	return r.st;
}

size_t scheduler_steps(const struct scheduler *s)
{
	return s->steps;
}

double scheduler_time(const struct scheduler *s, size_t i)
{
	return s->time[i];
}

double scheduler_sigma(const struct scheduler *s, size_t i)
{
	return s->kind->has_sigmas ? s->sigma[i] : (double)NAN;
}

double scheduler_kept(const struct scheduler *s, size_t t)
{
	return s->kept && t < s->train ? s->kept[t] : (double)NAN;
}

double scheduler_begin(const struct scheduler *s)
{
	double most = s->sigma[0];

	return !s->kind->scales ? 1 : s->spread ? most : sqrt(most * most + 1);
}

size_t scheduler_order(const struct scheduler *s)
{
	return s->kind->step == step_heun ? 2 : 1;
}

void scheduler_start(struct scheduler *s, size_t i)
{
	s->first = i;
}

bool scheduler_noisy(const struct scheduler *s, size_t i)
{
	return s->eta > 0 || s->stochastic ||
		(s->kind->step == step_lcm                   ? i + 1 < s->steps
				: s->kind->step == step_ddpm ? s->time[i] > 0
							     : s->kind->fresh_noise);
}

double scheduler_alpha(const struct scheduler *s, double sigma)
{
	return s->flow_sigmas ? 1 - sigma : 1 / sqrt(sigma * sigma + 1);
}

void scheduler_scale(const struct scheduler *s, size_t i, const float *x, float *out, size_t n)
{
	double by = s->kind->scales ? 1 / sqrt(s->sigma[i] * s->sigma[i] + 1) : 1;

	for (size_t k = 0; k < n; k++)
		out[k] = (float)(x[k] * by);
}

void scheduler_step(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n)
{
	if (!s->before) {
		s->before = ARENA_ARRAY(s->a, n + 1, float);
		s->slope = ARENA_ARRAY(s->a, n + 1, float);
		for (int k = 0; k < ANSWERS_MOST; k++)
			s->answer[k] = ARENA_ARRAY(s->a, n + 1, float);
	}
	s->kind->step(s, i, answer, noise, x, n);
}

void scheduler_add_noise(const struct scheduler *s, size_t i, const float *clean, const float *noise, float *out, size_t n)
{
	double alpha = 1, sigma = s->sigma[i];

	if (!s->kind->has_sigmas) {
		alpha = sqrt(s->kept[(size_t)s->time[i]]);
		sigma = sqrt(1 - alpha * alpha);
	} else if (s->kind->step == step_flow) {
		alpha = 1 - sigma;
	} else if (s->kind->one_more) {
		alpha = scheduler_alpha(s, sigma);
		sigma *= s->flow_sigmas ? 1 : alpha;
	}
	for (size_t k = 0; k < n; k++)
		out[k] = (float)(alpha * clean[k] + sigma * noise[k]);
}
