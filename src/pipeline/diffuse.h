// SPDX-License-Identifier: Apache-2.0
// What the pipelines of diffusers have in common, and where they differ. Private to pipeline/.
#ifndef ASSAY_PIPELINE_DIFFUSE_H
#define ASSAY_PIPELINE_DIFFUSE_H

#include "denoise/scheduler.h"
#include "pipeline/inside.h"

enum {
	DIFFUSE_STEPS_MOST = 1000,
	DIFFUSE_SIDE_MOST = 4096, // pixels of a picture
	DIFFUSE_SEQUENCE_MOST = 512,
	DIFFUSE_STAGES_MOST = 8, // of the VAE: each but one halves
	DIFFUSE_CHANNELS_MOST = 64,
	DIFFUSE_LATENTS_MOST = 1 << 24, // numbers
	DIFFUSE_GIVEN_MOST = 6,
};

struct diffusion;

// A class of model_index.json. Folders within the model's have the components' names.
struct diffusion_class {
	const char *name;
	const char *components[6][2]; // name, class
	const char *denoiser;         // the component that is asked at each step
	const char *sample, *alone;   // its input of the latents; an option that only this class has
	enum dtype time;              // of its input timestep: I64 is the time as it is, F32 the share of 1000
	int64_t steps;                // num_inference_steps that is usual
	double guidance;
	int64_t multiple; // rows and columns of the latents are multiples of this
	bool packed;      // flux_pack
	// The latents' shape and what depends on it and on the texts: d->shape, d->given, and the scheduler's mu.
	enum status (*prepare)(struct diffusion *d, struct error *err);
};
extern const struct diffusion_class diffuse_stable, diffuse_flux;

struct diffusion {
	struct call *c;
	const struct diffusion_class *kind;
	const json_t *index; // model_index.json
	struct part *denoiser, *vae;
	struct scheduler *scheduler;
	json_t *scheduler_config;
	double guidance, mu;
	bool guided; // two rows: without the prompt (or with the negative one), and with it
	int64_t steps, seed;
	uint64_t drawn;                  // numbers of the seed that are used up
	int64_t channels, rows, columns; // of the latents as the VAE reads them
	int64_t factor;                  // pixels of a side of the picture for one of the latents'
	int64_t shape[4];                // of the latents as the denoiser reads them, without the rows of guidance
	int rank;
	float *x; // latents, [n], as the denoiser reads them
	size_t n;
	struct tensor given[DIFFUSE_GIVEN_MOST]; // the denoiser's inputs that stay the same
	size_t given_count;
};

void diffuse_give(struct diffusion *d, const char *name, int rank, const int64_t *dim, float *data);
// The states of texts, each padded or cut to `length` tokens, by an encoder with the tokenizer of a folder; the encoders of these
// pipelines read the padding, too. *out: the encoder's output of this name and rank, its first dimension `count`.
enum status diffuse_texts(struct diffusion *d, const char *encoder, const char *tokenizer, const char *const *texts, size_t count,
	int64_t length, const char *output, int rank, const struct tensor **out, struct error *err);
// How many tokens a tokenizer's texts have: model_max_length, at most the encoder's own length. BAD_INPUT: neither is told.
enum status diffuse_length(struct diffusion *d, const char *encoder, const char *tokenizer, int64_t *out, struct error *err);

// diffuse_flux.c: Flux reads 2 x 2 places of the latents as one token: [channels, rows, columns] to [tokens, 4 * channels], and
// back.
void flux_pack(const float *x, int64_t channels, int64_t rows, int64_t columns, float *out);
void flux_unpack(const float *x, int64_t channels, int64_t rows, int64_t columns, float *out);

#endif
