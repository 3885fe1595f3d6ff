// SPDX-License-Identifier: Apache-2.0
// Lumina2Pipeline: what the last layer but one of Gemma gives for the prompt behind an instruction, and a transformer whose time
// runs from noise at 0 to the picture at 1.
#include "pipeline/diffuse.h"

enum { LENGTH_USUAL = 256 };

// What stands before a prompt where system_prompt does not say it: the default of Lumina2Pipeline of diffusers, for a model that
// was trained behind it; and what parts the two.
static const char instruction[] = "You are an assistant designed to generate superior images with the superior degree of "
				  "image-text alignment based on textual prompts or user prompts.",
		  between[] = " <Prompt Start> ";

// [texts, tokens] of whole numbers
static void give_mask(struct diffusion *d, const struct tensor *mask)
{
	const size_t n = (size_t)(mask->dim[0] * mask->dim[1]);
	int64_t *all = ARENA_ARRAY(d->c->a, n + 1, int64_t);

	for (size_t i = 0; i < n; i++)
		all[i] = ((const float *)mask->data)[i] != 0;
	d->given[d->given_count++] = (struct tensor){ .name = "encoder_attention_mask",
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { mask->dim[0], mask->dim[1] },
		.data = all,
		.nbytes = n * sizeof *all };
}

static enum status give_texts(struct diffusion *d, int64_t length, struct error *err)
{
	static const struct diffuse_encoder gemma = { "text_encoder", "tokenizer", "text_encoder.onnx" };
	struct diffuse_output states = { "penultimate_hidden_state", 3, NULL };
	const char *texts[2], *before;
	struct tensor mask;
	enum status st = option_text(d->c, "system_prompt", instruction, &before, err);

	if (st || (st = diffuse_prompts(d, 0, texts, err)))
		return st;
	texts[1] = arena_printf(d->c->a, "%s%s%s", before, between, texts[1]);
	if ((st = diffuse_masked_texts(
		     d, &gemma, d->guided ? texts : texts + 1, d->guided ? 2 : 1, length, &states, &mask, err)) ||
		(st = diffuse_check_width(d, "cap_feat_dim", states.is->dim[2], gemma.name, err)))
		return st;
	diffuse_give(d, "encoder_hidden_states", 3, states.is->dim, states.is->data);
	give_mask(d, &mask);
	return STATUS_OK;
}

static enum status prepare(struct diffusion *d, struct error *err)
{
	int64_t length;
	enum status st = diffuse_map_shape(d, err);

	d->guided = d->guidance > 1;
	if (st || (st = option_integer(d->c, "max_sequence_length", 1, DIFFUSE_SEQUENCE_MOST, LENGTH_USUAL, &length, err)) ||
		(st = option_bool(d->c, "cfg_normalization", true, &d->normalises, err)) ||
		(st = option_real(d->c, "cfg_trunc_ratio", 1, &d->guided_share, err)) ||
		(st = diffuse_shift(d, d->channels, err))) // the class counts the channels for the tokens
		return st;
	return give_texts(d, length, err);
}

const struct diffusion_class diffuse_lumina = {
	.name = "Lumina2Pipeline",
	.components = { { "text_encoder", "Gemma2Model" }, { "tokenizer", NULL }, { "transformer", "Lumina2Transformer2DModel" },
		{ "vae", "AutoencoderKL" } },
	.options = "num_inference_steps guidance_scale height width seed negative_prompt max_sequence_length system_prompt "
		   "cfg_normalization cfg_trunc_ratio",
	.denoiser = "transformer",
	.sample = "hidden_states",
	.time_unit = 1000,
	.is_backward = true,
	.own_sigmas = true,
	.steps = 30,
	.guidance = 4,
	.max_shift = 1.15,
	.multiple = 2,
	.prepare = prepare,
};
