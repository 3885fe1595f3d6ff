// SPDX-License-Identifier: Apache-2.0
// Schedulers of diffusion models: at which times a denoising network is asked, and what its answers make of the latents. The
// formulas are those of diffusers' classes, each of which names its paper; tables are in double precision and rounded to float
// where those classes do.
//
//     if (scheduler_open(&s, &a, config, &(struct scheduler_asked){ .steps = 20 }, &err)) ...
//     for (size_t i = 0; i < x.count; i++) x.data[i] *= scheduler_begin(s);
//     for (size_t i = 0; i < scheduler_steps(s); i++) {
//         scheduler_scale(s, i, x.data, scaled, x.count);                // what the network reads, at scheduler_time(s, i)
//         scheduler_step(s, i, answer, scheduler_noisy(s, i) ? noise : NULL, x.data, x.count);
//     }
#ifndef ASSAY_DENOISE_SCHEDULER_H
#define ASSAY_DENOISE_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"

struct scheduler;

struct scheduler_asked {
	int64_t steps;   // of inference, at least 1
	double eta;      // DDIM: how much noise comes back, 0 .. 1
	double mu;       // flow matching with use_dynamic_shifting: by the size of the picture
	bool own_sigmas; // flow matching: from 1 to 1/steps in equal steps, before they are shifted
};

// config: scheduler_config.json. It and what it makes live in `a`. UNSUPPORTED names the class or the key.
enum status scheduler_open(
	struct scheduler **out, struct arena *a, const json_t *config, const struct scheduler_asked *asked, struct error *err);

size_t scheduler_steps(const struct scheduler *s); // may be more than were asked for: Heun and PNDM ask twice at some times
double scheduler_time(const struct scheduler *s, size_t i);
double scheduler_sigma(const struct scheduler *s, size_t i); // i at most scheduler_steps; NaN for a class without sigmas
double scheduler_kept(const struct scheduler *s, size_t t);  // alphas_cumprod at training step t; NaN for flow matching
double scheduler_begin(const struct scheduler *s);           // what the first noise is multiplied by
// Steps that a step of inference has: 2 where each time is asked twice (Heun), else 1.
size_t scheduler_order(const struct scheduler *s);
// Before the first step: the loop begins with step i, from latents of scheduler_add_noise.
void scheduler_start(struct scheduler *s, size_t i);
bool scheduler_noisy(const struct scheduler *s, size_t i);                                       // does step i take fresh noise
void scheduler_scale(const struct scheduler *s, size_t i, const float *x, float *out, size_t n); // out may be x
// Step i, in order from 0 or from where scheduler_start says. answer: the network's, [n];
// x: the latents, before and after; noise: standard normal, or NULL.
void scheduler_step(struct scheduler *s, size_t i, const float *answer, const float *noise, float *x, size_t n);
// The latents as they are at the time of step i, from clean ones: what is begun with where a picture is given.
void scheduler_add_noise(const struct scheduler *s, size_t i, const float *clean, const float *noise, float *out, size_t n);

#endif
