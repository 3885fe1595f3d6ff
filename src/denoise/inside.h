// SPDX-License-Identifier: Apache-2.0
// What scheduler.c (times and tables) and step.c (what an answer makes of the latents) share.
#ifndef ASSAY_DENOISE_INSIDE_H
#define ASSAY_DENOISE_INSIDE_H

#include "denoise/scheduler.h"

enum prediction { PREDICTS_NOISE, PREDICTS_SAMPLE, PREDICTS_VELOCITY, PREDICTS_FLOW };

enum { ANSWERS_MOST = 4 };

struct scheduler {
	const struct scheduler_class *kind;
	struct arena *a;
	size_t train, asked, steps;
	double *time, *sigma; // [steps], [steps + 1]
	double *kept;         // [train]: alphas_cumprod
	double last_kept;     // after the last step
	enum prediction predicts;
	double clip; // of the predicted sample; 0: none
	double eta;
	bool large_variance, log_variance; // DDPM
	bool flow_sigmas, stochastic;
	int order; // DPM-Solver, UniPC
	bool plus_plus, heun, lower_order_final, bh1;
	double time_scale; // LCM
	bool spread;       // sigmas begin at the largest, not at its root with 1
	// While it runs.
	float *answer[ANSWERS_MOST]; // the newest first; [n] each
	float *before, *slope;       // latents, derivative of the step before
	int answers, last_order;
	size_t first; // step that the loop begins with
};

struct scheduler_class {
	const char *name;
	void (*step)(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
	// The class's own defaults.
	double beta_start, beta_end;
	const char *beta_schedule, *spacing;
	const char *keys; // that it has besides those of all: what else a configuration holds, from another class, it passes over
	bool clips, ends_at_one;
	bool has_sigmas, scales; // scales: what the network reads is divided by sqrt(sigma^2 + 1)
	bool rounds, one_more;   // times are whole; spacing is that of one step more, the last of which is left out
	bool fresh_noise;        // each step takes noise
};

void step_ddim(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_ddpm(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_dpm_solver(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_euler(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_euler_ancestral(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_flow(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_heun(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_lcm(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_pndm(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
void step_unipc(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);

// Of a sigma as it is in s->sigma: how much of the clean latents is left, and how much noise there is.
double scheduler_alpha(const struct scheduler *s, double sigma);

#endif
