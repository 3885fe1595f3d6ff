// SPDX-License-Identifier: Apache-2.0
// StableDiffusionXLPipeline (Podell et al. 2023, https://arxiv.org/abs/2307.01952): two text encoders side by side, of the second
// the pooled text besides, and a UNet that is told which size the picture is said to have been cut from, and where.
#include <string.h>

#include "base/text.h"
#include "pipeline/diffuse.h"

enum { SIZE_MOST = 1 << 16, TIME_IDS = 6 };

// Two whole numbers; otherwise those in `out`.
static enum status option_pair(const struct diffusion *d, const char *key, int64_t out[2], struct error *err)
{
	const json_t *pair = json_object_get(d->c->options, key);

	if (!call_asked(d->c, key))
		return STATUS_OK;
	for (size_t i = 0; i < 2; i++) {
		const json_t *x = json_array_get(pair, i);

		out[i] = json_integer_value(x);
		if (json_array_size(pair) != 2 || !json_is_integer(x) || out[i] < 0 || out[i] > SIZE_MOST)
			return error_set(
				err, STATUS_BAD_INPUT, "the option %s is a list of 2 whole numbers from 0 to %d", key, SIZE_MOST);
	}
	return STATUS_OK;
}

// [rows, 6]: height and width that it is said to have had, where it was cut, height and width that it is to have.
static enum status give_sizes(struct diffusion *d, int64_t rows, struct error *err)
{
	int64_t height = d->rows * d->factor, width = d->columns * d->factor;
	int64_t sizes[TIME_IDS] = { height, width, 0, 0, height, width };
	float *all = ARENA_ARRAY(d->c->a, rows * TIME_IDS, float);
	enum status st;

	if ((st = option_pair(d, "original_size", sizes, err)) ||
		(st = option_pair(d, "crops_coords_top_left", sizes + 2, err)) ||
		(st = option_pair(d, "target_size", sizes + 4, err)))
		return st;
	for (int64_t i = 0; i < rows * TIME_IDS; i++)
		all[i] = (float)sizes[i % TIME_IDS];
	diffuse_give(d, "time_ids", 2, (int64_t[]){ rows, TIME_IDS }, all);
	return STATUS_OK;
}

// Zeros before what is there: [1, ...] becomes [2, ...].
static void zeros_first(struct arena *a, struct tensor *t)
{
	char *both = arena_alloc(a, 2 * t->nbytes + 1); // zeroed

	memcpy(both + t->nbytes, t->data, t->nbytes);
	t->data = both;
	t->nbytes *= 2;
	t->dim[0] = 2;
}

// The denoiser puts the sines of the sizes beside the pooled text.
static enum status check_pooled(const struct diffusion *d, int64_t width, struct error *err)
{
	const int64_t sines = json_integer_value(json_object_get(d->denoiser->config, "addition_time_embed_dim"));

	return diffuse_check_width(d, "projection_class_embeddings_input_dim", width + TIME_IDS * sines,
		"the pooled text and sizes of addition_time_embed_dim", err);
}

static enum status give_texts(struct diffusion *d, struct error *err)
{
	static const struct diffuse_encoder encoders[] = { { "text_encoder", "tokenizer", "text_encoder.onnx" },
		{ "text_encoder_2", "tokenizer_2", "text_encoder.onnx" } };
	static const bool pooled[] = { false, true };
	const bool is_told = call_has(d->c, "negative_prompt") || call_asked(d->c, "negative_prompt");
	const bool zeros = d->guided && !is_told && !json_is_false(json_object_get(d->index, "force_zeros_for_empty_prompt"));
	const size_t skipped = diffuse_has(d, "text_encoder") ? 0 : 1;
	struct tensor states, texts;
	enum status st;

	const size_t rows = d->guided && !zeros ? 2 : 1;
	if ((st = diffuse_clip(d, encoders + skipped, pooled + skipped, 2 - skipped, rows, &states, &texts, err)) ||
		(st = diffuse_check_width(d, "cross_attention_dim", states.dim[2],
			 skipped ? encoders[1].name : "text_encoder and text_encoder_2", err)) ||
		(st = check_pooled(d, texts.dim[1], err)))
		return st;
	if (zeros) {
		zeros_first(d->c->a, &states);
		zeros_first(d->c->a, &texts);
	}
	diffuse_give(d, "encoder_hidden_states", 3, states.dim, states.data);
	diffuse_give(d, "text_embeds", 2, texts.dim, texts.data);
	return give_sizes(d, states.dim[0], err);
}

static enum status prepare(struct diffusion *d, struct error *err)
{
	const bool words = diffuse_has(d, "tokenizer"), states = diffuse_has(d, "text_encoder");
	enum status st = diffuse_map_shape(d, err);

	if (words != states) // the class would pair what is left in another way
		return error_set(err, STATUS_UNSUPPORTED, "model_index.json: %s without %s is not supported yet",
			words ? "tokenizer" : "text_encoder", words ? "text_encoder" : "tokenizer");
	if (json_is_true(json_object_get(d->index, "requires_aesthetics_score")))
		return error_set(err, STATUS_UNSUPPORTED, "model_index.json: requires_aesthetics_score is not supported yet");
	if (json_is_array(json_object_get(d->vae->config, "latents_mean")))
		return error_set(err, STATUS_UNSUPPORTED, "vae: latents_mean is not supported yet");
	d->guided = d->guidance > 1 && !json_is_integer(json_object_get(d->denoiser->config, "time_cond_proj_dim"));
	return st || (st = diffuse_give_guidance(d, err)) ? st : give_texts(d, err);
}

// What the classes of Stable Diffusion XL have in common; ...: components of one beside theirs.
#define XL(...) \
	.components = { { "text_encoder", "CLIPTextModel", true }, { "text_encoder_2", "CLIPTextModelWithProjection" }, \
		{ "tokenizer", NULL, true }, { "tokenizer_2", NULL }, { "unet", "UNet2DConditionModel" }, \
		{ "vae", "AutoencoderKL" }, __VA_ARGS__ }, \
	.denoiser = "unet", .sample = "sample", .time_unit = 1, .steps = 50, .multiple = 1, .prepare = prepare
#define OPTIONS \
	"num_inference_steps guidance_scale seed negative_prompt eta prompt_2 negative_prompt_2 original_size " \
	"crops_coords_top_left target_size"

const struct diffusion_class diffuse_xl = { XL(), .name = "StableDiffusionXLPipeline",
	.options = OPTIONS " height width strength", .guidance = 5, .with_image = &diffuse_xl_image,
	.with_mask = &diffuse_xl_inpaint };

const struct diffusion_class diffuse_xl_image = { XL(), .name = "StableDiffusionXLImg2ImgPipeline",
	.options = OPTIONS " strength", .guidance = 5, .use = DIFFUSE_VARIES, .strength = 0.3, .with_mask = &diffuse_xl_inpaint };

const struct diffusion_class diffuse_xl_inpaint = { XL(), .name = "StableDiffusionXLInpaintPipeline",
	.options = OPTIONS " height width strength", .guidance = 7.5, .use = DIFFUSE_FILLS, .strength = 0.9999 };

const struct diffusion_class diffuse_xl_control = { XL({ "controlnet", "ControlNetModel" }),
	.name = "StableDiffusionXLControlNetPipeline", .options = OPTIONS " height width " DIFFUSE_CONTROL_OPTIONS, .guidance = 5,
	.graph = "model_controlled.onnx", .use = DIFFUSE_STEERED };
