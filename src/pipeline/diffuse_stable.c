// SPDX-License-Identifier: Apache-2.0
// StableDiffusionPipeline: CLIP's states of the prompt, a UNet, and guidance without a classifier (Ho and Salimans 2022,
// https://arxiv.org/abs/2207.12598).
#include <string.h>

#include "pipeline/diffuse.h"

// Without one in the input or the options nothing: "" is what guidance goes away from.
static enum status negative_prompt(const struct diffusion *d, const char **out, struct error *err)
{
	if (call_has(d->c, "negative_prompt"))
		return call_text(d->c, "negative_prompt", out, err);
	return option_text(d->c, "negative_prompt", "", out, err);
}

static enum status prepare(struct diffusion *d, struct error *err)
{
	const json_t *config = d->denoiser->config, *channels = json_object_get(config, "in_channels");
	const char *texts[2];
	const struct tensor *states;
	int64_t length;
	enum status st;

	if (json_is_integer(channels) && json_integer_value(channels) != d->channels)
		return error_set(err, STATUS_UNSUPPORTED, "unet: %lld channels in, of latents of %lld: not supported yet",
			(long long)json_integer_value(channels), (long long)d->channels);
	d->guided = d->guidance > 1 && !json_is_integer(json_object_get(config, "time_cond_proj_dim"));
	d->rank = 4;
	memcpy(d->shape, (int64_t[]){ 1, d->channels, d->rows, d->columns }, sizeof d->shape);
	if ((st = negative_prompt(d, &texts[0], err)) || (st = call_text(d->c, "prompt", &texts[1], err)) ||
		(st = diffuse_length(d, "text_encoder", "tokenizer", &length, err)) ||
		(st = diffuse_texts(d, "text_encoder", "tokenizer", d->guided ? texts : texts + 1, d->guided ? 2 : 1, length,
			 "last_hidden_state", 3, &states, err)))
		return st;
	diffuse_give(d, "encoder_hidden_states", 3, states->dim, states->data);
	return STATUS_OK;
}

const struct diffusion_class diffuse_stable = {
	.name = "StableDiffusionPipeline",
	.components = { { "text_encoder", "CLIPTextModel" }, { "tokenizer", NULL }, { "unet", "UNet2DConditionModel" },
		{ "vae", "AutoencoderKL" } },
	.denoiser = "unet",
	.sample = "sample",
	.alone = "eta",
	.time = DTYPE_I64,
	.steps = 50,
	.guidance = 7.5,
	.multiple = 1,
	.prepare = prepare,
};
