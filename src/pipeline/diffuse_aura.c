// SPDX-License-Identifier: Apache-2.0
// AuraFlowPipeline: UMT5's states of the prompt, zero where it is padded, and a transformer in which picture and text attend to
// each other.
#include "pipeline/diffuse.h"

static enum status prepare(struct diffusion *d, struct error *err)
{
	struct diffuse_output states;
	struct tensor mask;
	enum status st = diffuse_map_shape(d, err);

	if (st || (st = diffuse_joint_texts(d, 256, &states, &mask, err)))
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
