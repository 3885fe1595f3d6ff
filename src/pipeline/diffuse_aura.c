// SPDX-License-Identifier: Apache-2.0
// AuraFlowPipeline: UMT5's states of the prompt, zero where it is padded, and a transformer in which picture and text attend to
// each other.
#include "pipeline/diffuse.h"

enum { LENGTH_USUAL = 256 };

static enum status prepare(struct diffusion *d, struct error *err)
{
	static const struct diffuse_encoder encoder = { "text_encoder", "tokenizer", "model.onnx" };
	struct diffuse_output states = { "last_hidden_state", 3, NULL };
	const char *texts[2];
	struct tensor mask;
	int64_t length;
	enum status st = diffuse_map_shape(d, err);

	d->guided = d->guidance > 1;
	if (st || (st = option_integer(d->c, "max_sequence_length", 1, DIFFUSE_SEQUENCE_MOST, LENGTH_USUAL, &length, err)) ||
		(st = diffuse_prompts(d, 0, texts, err)) ||
		(st = diffuse_masked_texts(
			 d, &encoder, d->guided ? texts : texts + 1, d->guided ? 2 : 1, length, &states, &mask, err)) ||
		(st = diffuse_check_width(d, "joint_attention_dim", states.is->dim[2], encoder.name, err)))
		return st;
	float *x = states.is->data;
	for (int64_t i = 0; i < states.is->dim[0] * states.is->dim[1] * states.is->dim[2]; i++)
		x[i] *= ((const float *)mask.data)[i / states.is->dim[2]];
	diffuse_give(d, "encoder_hidden_states", 3, states.is->dim, x);
	return STATUS_OK;
}

const struct diffusion_class diffuse_aura = {
	.name = "AuraFlowPipeline",
	.components = { { "text_encoder", "UMT5EncoderModel" }, { "tokenizer", NULL },
		{ "transformer", "AuraFlowTransformer2DModel" }, { "vae", "AutoencoderKL" } },
	.options = "num_inference_steps guidance_scale height width seed negative_prompt max_sequence_length",
	.denoiser = "transformer",
	.sample = "hidden_states",
	.time_unit = 1000,
	.steps = 50,
	.guidance = 3.5,
	.usual_size = 1024,
	.multiple = 2,
	.prepare = prepare,
};
