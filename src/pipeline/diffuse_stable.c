// SPDX-License-Identifier: Apache-2.0
// StableDiffusionPipeline: CLIP's states of the prompt, a UNet, and guidance without a classifier (Ho and Salimans 2022,
// https://arxiv.org/abs/2207.12598); its kin that begin with a picture, fill what a mask shows, or have a ControlNet (Zhang et
// al. 2023, https://arxiv.org/abs/2302.05543). LatentConsistencyModelPipeline: the same with a UNet that is told the guidance.
#include <string.h>

#include "base/text.h"
#include "pipeline/diffuse.h"

static enum status prepare(struct diffusion *d, struct error *err)
{
	static const struct diffuse_encoder clip = { "text_encoder", "tokenizer", "model.onnx" };
	struct diffuse_output states = { "last_hidden_state", 3, NULL };
	const char *texts[2];
	int64_t length;
	enum status st;

	d->guided = d->guidance > 1 && !json_is_integer(json_object_get(d->denoiser->config, "time_cond_proj_dim"));
	if ((st = diffuse_map_shape(d, err)) || (st = diffuse_give_guidance(d, err)) ||
		(st = diffuse_prompts(d, 0, texts, err)) || (st = diffuse_length(d, &clip, &length, err)) ||
		(st = diffuse_texts(d, &clip, d->guided ? texts : texts + 1, d->guided ? 2 : 1, length, &states, 1, err)) ||
		(st = diffuse_check_width(d, "cross_attention_dim", states.is->dim[2], clip.name, err)))
		return st;
	diffuse_give(d, "encoder_hidden_states", 3, states.is->dim, states.is->data);
	return STATUS_OK;
}

static enum status prepare_lcm(struct diffusion *d, struct error *err)
{
	if (call_has(d->c, "negative_prompt"))
		return error_set(err, STATUS_UNSUPPORTED, "%s has no negative_prompt", d->kind->name);
	if (!json_is_integer(json_object_get(d->denoiser->config, "time_cond_proj_dim")))
		return error_set(err, STATUS_BAD_INPUT, "unet: no time_cond_proj_dim, which %s needs", d->kind->name);
	if (!text_is(diffuse_class_of(d, "scheduler"), "LCMScheduler")) // the class asks it for what no other takes
		return error_set(err, STATUS_UNSUPPORTED,
			"model_index.json: %s with the scheduler %.64s, and only LCMScheduler goes with it", d->kind->name,
			diffuse_class_of(d, "scheduler"));
	return prepare(d, err);
}

// What the classes of Stable Diffusion 1 and 2 have in common; ...: components of one beside theirs.
#define STABLE(...) \
	.components = { { "text_encoder", "CLIPTextModel" }, { "tokenizer", NULL }, { "unet", "UNet2DConditionModel" }, \
		{ "vae", "AutoencoderKL" }, __VA_ARGS__ }, \
	.denoiser = "unet", .sample = "sample", .time_unit = 1, .steps = 50, .guidance = 7.5, .multiple = 1, .prepare = prepare
#define OPTIONS "num_inference_steps guidance_scale seed negative_prompt eta"

const struct diffusion_class diffuse_stable = { STABLE(), .name = "StableDiffusionPipeline",
	.options = OPTIONS " height width strength", .with_image = &diffuse_stable_image, .with_mask = &diffuse_stable_inpaint };

const struct diffusion_class diffuse_stable_image = { STABLE(), .name = "StableDiffusionImg2ImgPipeline",
	.options = OPTIONS " strength", .use = DIFFUSE_VARIES, .strength = 0.8, .with_mask = &diffuse_stable_inpaint };

const struct diffusion_class diffuse_stable_inpaint = { STABLE(), .name = "StableDiffusionInpaintPipeline",
	.options = OPTIONS " height width strength", .use = DIFFUSE_FILLS, .strength = 1 };

const struct diffusion_class diffuse_stable_control = { STABLE({ "controlnet", "ControlNetModel" }),
	.name = "StableDiffusionControlNetPipeline", .options = OPTIONS " height width " DIFFUSE_CONTROL_OPTIONS,
	.graph = "model_controlled.onnx", .use = DIFFUSE_STEERED };

const struct diffusion_class diffuse_lcm = {
	.name = "LatentConsistencyModelPipeline",
	.components = { { "text_encoder", "CLIPTextModel" }, { "tokenizer", NULL }, { "unet", "UNet2DConditionModel" },
		{ "vae", "AutoencoderKL" } },
	.options = "num_inference_steps guidance_scale height width seed",
	.denoiser = "unet",
	.sample = "sample",
	.time_unit = 1,
	.steps = 4,
	.guidance = 8.5,
	.multiple = 1,
	.prepare = prepare_lcm,
};
