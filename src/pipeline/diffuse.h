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
	DIFFUSE_ENCODERS_MOST = 3,
};

struct diffusion;

// What a class reads pictures for.
enum diffuse_use {
	DIFFUSE_WITHOUT,
	DIFFUSE_VARIES,  // image: the latents begin as those of it, with noise
	DIFFUSE_FILLS,   // image, mask_image: what is black in the mask stays
	DIFFUSE_STEERED, // image: a ControlNet reads it at each step
};

// A class of model_index.json. Folders within the model's have the components' names.
struct diffusion_class {
	const char *name;
	struct {
		const char *name, *class_name; // class_name NULL: any
		bool optional;                 // null in model_index.json where it is not there
	} components[8];
	const char *options;  // of the task's, those that it has, a space between
	const char *denoiser; // the component that is asked at each step
	const char *graph;    // of it; NULL: the whole model's
	const char *sample;   // its input of the latents
	bool own_sigmas;      // the scheduler's noise levels are the class's, equal steps
	bool is_backward;     // its input timestep is 1 - that, and its answer the other way
	double time_unit;     // its input timestep counts the scheduler's times in these
	int64_t steps;        // num_inference_steps that is usual
	double guidance;
	double max_shift; // of flow matching, where the scheduler does not say it
	// Where sizes are binned (diffuse_bin): pixels of a side for one of sample_size, and between which sample_size is a power
	// of two. usual_size: pixels of a side that are usual whatever sample_size is; 0: none
	int64_t usual_pixels, samples[2], usual_size;
	bool learns_variance; // the denoiser may answer twice the channels, of which the second half is not read
	int64_t multiple;     // rows and columns of the latents are multiples of this
	bool packed;          // flux_pack
	enum diffuse_use use;
	double strength; // the share of the steps that is usual where latents begin as a picture's; 0: all are done
	bool part_steps; // with a strength, a step of which it takes a part is done
	// The class that is meant where the input has an image, or an image and a mask_image (AutoPipelineForImage2Image and
	// AutoPipelineForInpainting of diffusers); NULL: none
	const struct diffusion_class *with_image, *with_mask;
	// The latents' shape and what depends on it and on the texts: d->shape, d->given, and the scheduler's mu.
	enum status (*prepare)(struct diffusion *d, struct error *err);
};
extern const struct diffusion_class diffuse_stable, diffuse_stable_image, diffuse_stable_inpaint, diffuse_stable_control,
	diffuse_lcm, diffuse_xl, diffuse_xl_image, diffuse_xl_inpaint, diffuse_xl_control, diffuse_sd3, diffuse_flux,
	diffuse_pixart_alpha, diffuse_pixart_sigma, diffuse_sana, diffuse_sd3_image, diffuse_flux_image, diffuse_aura,
	diffuse_chroma, diffuse_lumina, diffuse_flux_inpaint;

#define DIFFUSE_CONTROL_OPTIONS "controlnet_conditioning_scale control_guidance_start control_guidance_end"
struct diffuse_control {
	struct part *net;
	struct tensor picture;  // controlnet_cond [rows, 3, height, width]
	double scale, from, to; // of what it gives; the shares of the steps between which it is asked
};

struct diffusion {
	struct call *c;
	const struct diffusion_class *kind;
	const json_t *index; // model_index.json
	struct part *denoiser, *vae;
	struct scheduler *scheduler;
	json_t *scheduler_config;
	double guidance, mu;
	double guided_share; // of the steps, in which guidance counts
	bool normalises;     // with guidance each row of the answer is as long as that with the prompt
	bool guided;         // two rows: without the prompt (or with the negative one), and with it
	int64_t steps, seed;
	double time_scale;                // the denoiser's timestep is the scheduler's times this
	int64_t asked_size[2];            // height and width that the answer has, where what is made is binned; else 0
	uint64_t drawn;                   // numbers of the seed that are used up
	int64_t channels, rows, columns;  // of the latents as the VAE reads them
	float latent_scale, latent_shift; // of the VAE: its latents are what is denoised / scale + shift
	int64_t factor;                   // pixels of a side of the picture for one of the latents'
	int64_t shape[4];                 // of the latents as the denoiser reads them, without the rows of guidance
	int rank;
	float *x; // latents, [n], as the denoiser reads them
	size_t n;
	struct picture image, mask; // as they were given
	double strength, eta;
	size_t left_out;         // of `steps`, by the strength
	size_t first;            // step of the scheduler that is begun with
	int64_t beside_channels; // maps that the denoiser reads beside the latents at each step; 0: none
	float *beside;           // [beside_channels, rows, columns]
	// Of a picture that is kept where the mask is black, [n] each: its latents, the first noise, which of them are made anew
	// (1), else 0; room for its latents at a step.
	float *clean, *noise, *chosen, *kept_now;
	struct diffuse_control control;
	struct tensor given[DIFFUSE_GIVEN_MOST]; // the denoiser's inputs that stay the same
	size_t given_count;
};

void diffuse_give(struct diffusion *d, const char *name, int rank, const int64_t *dim, float *data);
bool diffuse_has(const struct diffusion *d, const char *component);             // is it there, and not null in model_index.json?
const char *diffuse_class_of(const struct diffusion *d, const char *component); // NULL: it is not there
// Sets the latents' shape to [1, channels, rows, columns]. UNSUPPORTED: the denoiser reads another number of channels.
enum status diffuse_map_shape(struct diffusion *d, struct error *err);
// Is `width`, of what `given` give, what the denoiser's configuration has under this key, a number or a list that begins with it?
// BAD_INPUT: it is another; a key that is not there says nothing.
enum status diffuse_check_width(const struct diffusion *d, const char *key, int64_t width, const char *given, struct error *err);
// Where the denoiser's configuration has time_cond_proj_dim: its input timestep_cond [1, that], sines and cosines of
// guidance_scale - 1 (Luo et al. 2023, https://arxiv.org/abs/2310.04378; get_guidance_scale_embedding of diffusers). Such a one
// is asked once a step.
enum status diffuse_give_guidance(struct diffusion *d, struct error *err);
// The scheduler's mu for a picture of so many tokens (calculate_shift of diffusers): a line through (base_image_seq_len,
// base_shift) and (max_image_seq_len, max_shift).
enum status diffuse_shift(struct diffusion *d, int64_t tokens, struct error *err);

// The seed's next normal numbers, [channels, rows, columns], or as the denoiser reads latents, both [n].
void diffuse_draw_map(struct diffusion *d, float *out);
void diffuse_draw(struct diffusion *d, float *out);
// The input's latents, [n]. BAD_INPUT: a file of another shape.
enum status diffuse_stored_latents(struct diffusion *d, float *out, struct error *err);

// diffuse_picture.c
enum status diffuse_open_pictures(struct diffusion *d, struct error *err); // those that the class needs
enum status diffuse_read_strength(struct diffusion *d, struct error *err); // strength and left_out; needs steps
enum status diffuse_begin(struct diffusion *d, struct error *err);         // the first latents, by noise, a file or a picture
void diffuse_keep(struct diffusion *d, size_t step); // after a step: where the mask is black, the picture with the noise of now
enum status diffuse_control_read(struct diffusion *d, struct error *err); // its options
enum status diffuse_control_open(struct diffusion *d, struct error *err);
// What the ControlNet gives for the denoiser's inputs, under the names of the denoiser's inputs, in `a`.
enum status diffuse_control_run(struct diffusion *d, size_t step, const struct tensor *in, size_t count, struct arena *a,
	struct tensor **out, size_t *out_count, struct error *err);

// diffuse_text.c
// A component that reads texts, with its tokenizer's folder and the file of its graph; the encoders of these pipelines read the
// padding, too.
struct diffuse_encoder {
	const char *name, *tokenizer, *graph;
};
struct diffuse_output {
	const char *name; // of the encoder's graph
	int rank;
	const struct tensor *is; // what it gave, its first dimension the number of texts
};
// Texts, each padded or cut to `length` tokens, through an encoder: *out of the `out_count` outputs that are asked for.
enum status diffuse_texts(struct diffusion *d, const struct diffuse_encoder *encoder, const char *const *texts, size_t count,
	int64_t length, struct diffuse_output *out, size_t out_count, struct error *err);
// The same with the mask of padding, which the encoder reads, too: *mask [texts, tokens] in F32.
enum status diffuse_masked_texts(struct diffusion *d, const struct diffuse_encoder *encoder, const char *const *texts,
	size_t count, int64_t length, struct diffuse_output *out, struct tensor *mask, struct error *err);
// What a transformer of one encoder reads: the prompt's states, after those of the negative one where d->guided, which is set:
// *states [texts, max_sequence_length, joint_attention_dim], *mask as above. `usual`: max_sequence_length where none is asked.
enum status diffuse_joint_texts(
	struct diffusion *d, int64_t usual, struct diffuse_output *states, struct tensor *mask, struct error *err);
// How many tokens a text has, special ones included.
enum status diffuse_tokens(
	struct diffusion *d, const struct diffuse_encoder *encoder, const char *text, int64_t *out, struct error *err);
// How many tokens an encoder's texts have: the tokenizer's model_max_length, at most the encoder's own length. BAD_INPUT: neither
// is told.
enum status diffuse_length(struct diffusion *d, const struct diffuse_encoder *encoder, int64_t *out, struct error *err);
// Encoder `which` (from 0) of a pipeline reads texts[1], prompt_2 and so on where it is given, else prompt, and texts[0],
// negative_prompt_2 or negative_prompt likewise, else "": what guidance goes away from.
enum status diffuse_prompts(const struct diffusion *d, size_t which, const char *texts[2], struct error *err);
// Tensors of the same rank, all but the last dimension alike, side by side along the last, with zeros up to `least`.
struct tensor diffuse_beside(struct arena *a, const struct tensor *const *parts, size_t count, int64_t least);
// The prompts through CLIP's text encoders: what the layer before the last gives, side by side: *states [rows, length, width];
// and the projected texts of those that `pooled` says, side by side: *pooled_states [rows, width]. `rows` 2: without the prompt,
// with it; 1: with it.
enum status diffuse_clip(struct diffusion *d, const struct diffuse_encoder *encoders, const bool *pooled, size_t count,
	size_t rows, struct tensor *states, struct tensor *pooled_states, struct error *err);

// diffuse_pixart.c: of the sizes that PixArt and Sana were trained on, for pictures of side x side, that whose height / width is
// next to that of `size`, in its place.
void diffuse_bin(int64_t side, int64_t size[2]);

// diffuse_flux.c: Flux reads 2 x 2 places of the latents as one token: [channels, rows, columns] to [tokens, 4 * channels], and
// back.
void flux_pack(const float *x, int64_t channels, int64_t rows, int64_t columns, float *out);
void flux_unpack(const float *x, int64_t channels, int64_t rows, int64_t columns, float *out);

#endif
