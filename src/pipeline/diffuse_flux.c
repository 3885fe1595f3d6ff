// SPDX-License-Identifier: Apache-2.0
// FluxPipeline: T5's states of the prompt, CLIP's pooled one, and a transformer over packed latents that is told how much
// guidance is wanted. The noise levels are shifted by the number of its tokens. ChromaPipeline: T5's states alone, with a mask,
// and guidance without a classifier.
#include <string.h>

#include "pipeline/diffuse.h"

// The place of row r and column k of a channel in the packed latents.
static size_t packed_place(int64_t channels, int64_t columns, int64_t channel, int64_t r, int64_t k)
{
	return (size_t)(((r / 2 * (columns / 2) + k / 2) * channels + channel) * 4 + r % 2 * 2 + k % 2);
}

void flux_pack(const float *x, int64_t channels, int64_t rows, int64_t columns, float *out)
{
	for (int64_t i = 0; i < channels * rows * columns; i++)
		out[packed_place(channels, columns, i / columns / rows, i / columns % rows, i % columns)] = x[i];
}

void flux_unpack(const float *x, int64_t channels, int64_t rows, int64_t columns, float *out)
{
	for (int64_t i = 0; i < channels * rows * columns; i++)
		out[i] = x[packed_place(channels, columns, i / columns / rows, i / columns % rows, i % columns)];
}

// Of each token of the picture [0, row, column], of each of the text zeros.
static void give_places(struct diffusion *d, int64_t length)
{
	int64_t columns = d->columns / 2, tokens = d->rows / 2 * columns;
	float *picture = ARENA_ARRAY(d->c->a, 3 * tokens + 1, float), *text = ARENA_ARRAY(d->c->a, 3 * length + 1, float);

	for (int64_t i = 0; i < tokens; i++) {
		picture[3 * i + 1] = (float)(i / columns);
		picture[3 * i + 2] = (float)(i % columns);
	}
	diffuse_give(d, "img_ids", 2, (int64_t[]){ tokens, 3 }, picture);
	diffuse_give(d, "txt_ids", 2, (int64_t[]){ length, 3 }, text);
}

static enum status give_texts(struct diffusion *d, int64_t length, struct error *err)
{
	static const struct diffuse_encoder clip = { "text_encoder", "tokenizer", "model.onnx" },
					    t5 = { "text_encoder_2", "tokenizer_2", "model.onnx" };
	struct diffuse_output pooled = { "pooler_output", 2, NULL }, states = { "last_hidden_state", 3, NULL };
	const char *prompt[2], *second[2]; // the first of each, negative, is not asked of this class
	int64_t short_length;
	enum status st;

	if ((st = diffuse_prompts(d, 0, prompt, err)) || (st = diffuse_prompts(d, 1, second, err)) ||
		(st = diffuse_length(d, &clip, &short_length, err)) ||
		(st = diffuse_texts(d, &clip, prompt + 1, 1, short_length, &pooled, 1, err)) ||
		(st = diffuse_texts(d, &t5, second + 1, 1, length, &states, 1, err)))
		return st;
	diffuse_give(d, "pooled_projections", 2, pooled.is->dim, pooled.is->data);
	diffuse_give(d, "encoder_hidden_states", 3, states.is->dim, states.is->data);
	return STATUS_OK;
}

// The latents' shape; UNSUPPORTED: the transformer reads others than packed ones.
static enum status packed_shape(struct diffusion *d, struct error *err)
{
	const json_t *channels = json_object_get(d->denoiser->config, "in_channels");

	if (json_is_integer(channels) && json_integer_value(channels) != 4 * d->channels)
		return error_set(err, STATUS_UNSUPPORTED,
			"transformer: %lld channels in, of packed latents of %lld: not supported yet",
			(long long)json_integer_value(channels), (long long)(4 * d->channels));
	d->rank = 3;
	memcpy(d->shape, (int64_t[]){ 1, d->rows / 2 * (d->columns / 2), 4 * d->channels }, 3 * sizeof *d->shape);
	return diffuse_shift(d, d->shape[1], err);
}

static enum status prepare(struct diffusion *d, struct error *err)
{
	float *guidance = ARENA_ARRAY(d->c->a, 1, float);
	int64_t length;
	enum status st;

	if (call_has(d->c, "negative_prompt"))
		return error_set(err, STATUS_UNSUPPORTED, "a negative_prompt of %s is not supported yet", d->kind->name);
	if ((st = packed_shape(d, err)) ||
		(st = option_integer(
			 d->c, "max_sequence_length", 1, DIFFUSE_SEQUENCE_MOST, DIFFUSE_SEQUENCE_MOST, &length, err)) ||
		(st = give_texts(d, length, err)))
		return st;
	give_places(d, length);
	*guidance = (float)d->guidance; // a model that is not told leaves it out
	diffuse_give(d, "guidance", 1, (int64_t[]){ 1 }, guidance);
	return STATUS_OK;
}

// Of the text's places those of its tokens and one more, and all of the picture's: [rows, places].
static void give_mask(struct diffusion *d, const struct tensor *mask)
{
	const int64_t rows = mask->dim[0], length = mask->dim[1], places = length + d->shape[1];
	const float *from = mask->data;
	float *all = ARENA_ARRAY(d->c->a, rows * places + 1, float);

	for (int64_t r = 0; r < rows; r++) {
		int64_t tokens = 0;

		for (int64_t i = 0; i < length; i++)
			tokens += from[r * length + i] != 0;
		for (int64_t i = 0; i < places; i++)
			all[r * places + i] = i <= tokens || i >= length;
	}
	diffuse_give(d, "attention_mask", 2, (int64_t[]){ rows, places }, all);
}

static enum status prepare_chroma(struct diffusion *d, struct error *err)
{
	struct diffuse_output states;
	struct tensor mask;
	enum status st = packed_shape(d, err);

	if (st || (st = diffuse_joint_texts(d, DIFFUSE_SEQUENCE_MOST, &states, &mask, err)))
		return st;
	diffuse_give(d, "encoder_hidden_states", 3, states.is->dim, states.is->data);
	give_mask(d, &mask);
	give_places(d, mask.dim[1]);
	return STATUS_OK;
}

#define FLUX \
	.components = { { "text_encoder", "CLIPTextModel" }, { "text_encoder_2", "T5EncoderModel" }, { "tokenizer", NULL }, \
		{ "tokenizer_2", NULL }, { "transformer", "FluxTransformer2DModel" }, { "vae", "AutoencoderKL" } }, \
	.denoiser = "transformer", .sample = "hidden_states", .time_unit = 1000, .steps = 28, .max_shift = 1.15, .multiple = 2, \
	.packed = true, .prepare = prepare
#define OPTIONS "num_inference_steps guidance_scale height width seed max_sequence_length"

const struct diffusion_class diffuse_flux = { FLUX, .name = "FluxPipeline", .options = OPTIONS " prompt_2 strength",
	.guidance = 3.5, .with_image = &diffuse_flux_image, .with_mask = &diffuse_flux_inpaint };

const struct diffusion_class diffuse_flux_image = { FLUX, .name = "FluxImg2ImgPipeline", .options = OPTIONS " prompt_2 strength",
	.guidance = 7, .use = DIFFUSE_VARIES, .strength = 0.6, .part_steps = true, .with_mask = &diffuse_flux_inpaint };

const struct diffusion_class diffuse_flux_inpaint = { FLUX, .name = "FluxInpaintPipeline",
	.options = OPTIONS " prompt_2 strength", .guidance = 7, .use = DIFFUSE_FILLS, .strength = 0.6, .part_steps = true };

const struct diffusion_class diffuse_chroma = {
	.name = "ChromaPipeline",
	.components = { { "text_encoder", "T5EncoderModel" }, { "tokenizer", NULL },
		{ "transformer", "ChromaTransformer2DModel" }, { "vae", "AutoencoderKL" } },
	.options = OPTIONS " negative_prompt",
	.denoiser = "transformer",
	.graph = "model_masked.onnx",
	.sample = "hidden_states",
	.time_unit = 1000,
	.steps = 35,
	.guidance = 5,
	.max_shift = 1.15,
	.multiple = 2,
	.packed = true,
	.prepare = prepare_chroma,
};
