// SPDX-License-Identifier: Apache-2.0
// StableDiffusion3Pipeline (Esser et al. 2024, https://arxiv.org/abs/2403.03206): two of CLIP's text encoders side by side and
// T5's behind them, the pooled texts of CLIP's, and a transformer over patches. T5 may be missing: zeros stand for its states.
#include <string.h>

#include "pipeline/diffuse.h"

enum { PATCH = 2, WIDTH_MOST = 1 << 16, LENGTH_USUAL = 256, WIDTH_USUAL = 4096 };

// Two texts' states [rows, a, width] and [rows, b, width], one behind the other: [rows, a + b, width].
static struct tensor behind(struct arena *a, const struct tensor *first, const struct tensor *second)
{
	struct tensor out = *first;
	size_t rows = (size_t)first->dim[0], n = first->nbytes / rows, m = second->nbytes / rows;
	char *all = out.data = arena_alloc(a, first->nbytes + second->nbytes + 1);

	for (size_t r = 0; r < rows; r++) {
		memcpy(all + r * (n + m), (const char *)first->data + r * n, n);
		memcpy(all + r * (n + m) + n, (const char *)second->data + r * m, m);
	}
	out.dim[1] += second->dim[1];
	out.nbytes += second->nbytes;
	return out;
}

// [rows, length, width]
static enum status long_states(struct diffusion *d, size_t rows, int64_t length, struct tensor *out, struct error *err)
{
	static const struct diffuse_encoder t5 = { "text_encoder_3", "tokenizer_3", "model.onnx" };
	struct diffuse_output states = { "last_hidden_state", 3, NULL };
	const json_t *dim = json_object_get(d->denoiser->config, "joint_attention_dim");
	const int64_t width = dim ? json_integer_value(dim) : WIDTH_USUAL;
	const char *texts[2];
	enum status st;

	if (!diffuse_has(d, "text_encoder_3")) {
		if (width < 1 || width > WIDTH_MOST)
			return error_set(err, STATUS_BAD_INPUT, "transformer: a joint_attention_dim of %lld", (long long)width);
		*out = (struct tensor){ .rank = 3, .dim = { (int64_t)rows, length, width } };
		out->nbytes = rows * (size_t)(length * width) * sizeof(float);
		out->data = arena_alloc(d->c->a, out->nbytes); // zeroed
		return STATUS_OK;
	}
	if ((st = diffuse_prompts(d, 2, texts, err)) ||
		(st = diffuse_texts(d, &t5, texts + 2 - rows, rows, length, &states, 1, err)))
		return st;
	*out = *states.is;
	return STATUS_OK;
}

static enum status give_texts(struct diffusion *d, int64_t length, struct error *err)
{
	static const struct diffuse_encoder encoders[] = { { "text_encoder", "tokenizer", "text_encoder.onnx" },
		{ "text_encoder_2", "tokenizer_2", "text_encoder.onnx" } };
	static const bool pooled[] = { true, true };
	const size_t rows = d->guided ? 2 : 1;
	struct tensor clip, texts, t5;
	enum status st;

	if ((st = diffuse_clip(d, encoders, pooled, 2, rows, &clip, &texts, err)) ||
		(st = long_states(d, rows, length, &t5, err)))
		return st;
	if (clip.dim[2] > t5.dim[2])
		return error_set(err, STATUS_BAD_INPUT, "CLIP's states of %lld numbers are wider than T5's of %lld",
			(long long)clip.dim[2], (long long)t5.dim[2]);
	clip = diffuse_beside(d->c->a, (const struct tensor *[]){ &clip }, 1, t5.dim[2]);
	clip = behind(d->c->a, &clip, &t5);
	diffuse_give(d, "encoder_hidden_states", 3, clip.dim, clip.data);
	diffuse_give(d, "pooled_projections", 2, texts.dim, texts.data);
	return STATUS_OK;
}

static enum status prepare(struct diffusion *d, struct error *err)
{
	const json_t *patch = json_object_get(d->denoiser->config, "patch_size");
	int64_t length;
	enum status st;

	if (patch && json_integer_value(patch) != PATCH)
		return error_set(err, STATUS_UNSUPPORTED, "transformer: a patch_size of %lld, and only %d is supported yet",
			(long long)json_integer_value(patch), PATCH);
	d->guided = d->guidance > 1;
	if ((st = diffuse_map_shape(d, err)) ||
		(st = option_integer(d->c, "max_sequence_length", 1, DIFFUSE_SEQUENCE_MOST, LENGTH_USUAL, &length, err)) ||
		(st = diffuse_shift(d, d->rows / PATCH * (d->columns / PATCH), err)))
		return st;
	return give_texts(d, length, err);
}

#define SD3 \
	.components = { { "text_encoder", "CLIPTextModelWithProjection" }, { "text_encoder_2", "CLIPTextModelWithProjection" }, \
		{ "text_encoder_3", "T5EncoderModel", true }, { "tokenizer", NULL }, { "tokenizer_2", NULL }, \
		{ "tokenizer_3", NULL, true }, { "transformer", "SD3Transformer2DModel" }, { "vae", "AutoencoderKL" } }, \
	.denoiser = "transformer", .sample = "hidden_states", .time_unit = 1, .guidance = 7, .max_shift = 1.16, \
	.multiple = PATCH, .prepare = prepare
#define OPTIONS \
	"num_inference_steps guidance_scale height width seed negative_prompt max_sequence_length prompt_2 prompt_3 " \
	"negative_prompt_2 negative_prompt_3"

const struct diffusion_class diffuse_sd3 = { SD3, .name = "StableDiffusion3Pipeline", .options = OPTIONS " strength", .steps = 28,
	.with_image = &diffuse_sd3_image };

const struct diffusion_class diffuse_sd3_image = { SD3, .name = "StableDiffusion3Img2ImgPipeline", .options = OPTIONS " strength",
	.steps = 50, .use = DIFFUSE_VARIES, .strength = 0.6, .part_steps = true };
