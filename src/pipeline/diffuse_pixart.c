// SPDX-License-Identifier: Apache-2.0
// Transformers over the latents' patches that attend to one encoder's text and its mask: PixArt-alpha and -Sigma (Chen et al.
// 2023, https://arxiv.org/abs/2310.00426; 2024, https://arxiv.org/abs/2403.04692), whose text is T5's, and Sana (Xie et al. 2024,
// https://arxiv.org/abs/2410.10629), whose text is Gemma's behind an instruction. A prompt is put in lower case, as these classes
// do without clean_caption.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pipeline/diffuse.h"
#include "token/unicode.h"

// ---- texts ------------------------------------------------------------------------------------------------------------------

// Lower case, without blanks at the ends.
static const char *lowered(struct arena *a, const char *text)
{
	const size_t nbytes = strlen(text);
	char *out = ARENA_ARRAY(a, nbytes * UNICODE_MOST * 4 + 1, char);
	size_t length = 0, end = 0;

	for (size_t i = 0, n; i < nbytes; i += n) {
		uint32_t code = utf8_next(text + i, &n), lower[UNICODE_MOST];
		const bool blank = unicode_is(code, UNICODE_SPACE);
		const size_t count = unicode_to_lower(code, lower);

		for (size_t k = 0; k < count && !(blank && !length); k++)
			length += utf8_put(out + length, lower[k]);
		end = blank ? end : length;
	}
	out[end] = 0;
	return out;
}

// The first and the last `length` - 1 of each row's tokens: of states [rows, tokens, width], or of a mask [rows, tokens].
static struct tensor ends_of(struct arena *a, const struct tensor *t, int64_t length)
{
	struct tensor out = *t;
	const size_t one = t->nbytes / (size_t)(t->dim[0] * t->dim[1]), rows = (size_t)t->dim[0], n = (size_t)length;
	char *all = out.data = arena_alloc(a, rows * n * one + 1);

	for (size_t r = 0; r < rows; r++, all += n * one) {
		const char *row = (const char *)t->data + r * (size_t)t->dim[1] * one;

		memcpy(all, row, one);
		memcpy(all + one, row + ((size_t)t->dim[1] - n + 1) * one, (n - 1) * one);
	}
	out.dim[1] = length;
	out.nbytes = rows * n * one;
	return out;
}

// Two of one shape, one row below the other.
static struct tensor below(struct arena *a, const struct tensor *first, const struct tensor *second)
{
	struct tensor out = *first;
	char *all = out.data = arena_alloc(a, first->nbytes + second->nbytes + 1);

	memcpy(all, first->data, first->nbytes);
	memcpy(all + first->nbytes, second->data, second->nbytes);
	out.dim[0] += second->dim[0];
	out.nbytes += second->nbytes;
	return out;
}

// One text's states [1, length, width] and mask [1, length]: of its first token and its last ones, where an instruction stands
// before it.
static enum status read_text(
	struct diffusion *d, const char *prompt, const char *before, int64_t length, struct tensor out[2], struct error *err)
{
	static const struct diffuse_encoder encoder = { "text_encoder", "tokenizer", "model.onnx" };
	const char *text = arena_printf(d->c->a, "%s%s", before, lowered(d->c->a, prompt));
	struct diffuse_output states = { "last_hidden_state", 3, NULL };
	int64_t all = length, tokens;
	enum status st;

	if (*before) {
		if ((st = diffuse_tokens(d, &encoder, before, &tokens, err)))
			return st;
		all += tokens > 2 ? tokens - 2 : 0;
	}
	if ((st = diffuse_masked_texts(d, &encoder, &text, 1, all, &states, &out[1], err)))
		return st;
	out[0] = *states.is;
	for (int i = 0; i < 2 && all != length; i++)
		out[i] = ends_of(d->c->a, &out[i], length);
	return STATUS_OK;
}

static enum status give_texts(struct diffusion *d, const char *before, int64_t length, struct error *err)
{
	const char *texts[2];
	struct tensor with[2], without[2];
	enum status st = diffuse_prompts(d, 0, texts, err);

	if (st || (st = read_text(d, texts[1], before, length, with, err)) ||
		(d->guided && (st = read_text(d, texts[0], "", length, without, err))) ||
		(st = diffuse_check_width(d, "caption_channels", with[0].dim[2], "text_encoder", err)))
		return st;
	for (int i = 0; i < 2 && d->guided; i++)
		with[i] = below(d->c->a, &without[i], &with[i]);
	diffuse_give(d, "encoder_hidden_states", 3, with[0].dim, with[0].data);
	diffuse_give(d, "encoder_attention_mask", 2, with[1].dim, with[1].data);
	return STATUS_OK;
}

// ---- sizes ------------------------------------------------------------------------------------------------------------------

void diffuse_bin(int64_t side, int64_t size[2])
{
	// Height and width in sixteenths of the side, in the order of height / width (ASPECT_RATIO_*_BIN of diffusers).
	enum { OF_SIDE = 16, LARGE_SIDE = 2048 };
	static const struct {
		uint8_t height, width;
		bool is_large; // of large pictures alone
	} sizes[] = { { 8, 32 }, { 8, 31, true }, { 8, 30, true }, { 8, 29 }, { 9, 28 }, { 9, 27 }, { 9, 26 }, { 10, 25 },
		{ 10, 24 }, { 11, 23 }, { 11, 22 }, { 11, 21 }, { 12, 21 }, { 12, 20 }, { 13, 19 }, { 13, 18 }, { 14, 18 },
		{ 14, 17 }, { 15, 17 }, { 15, 16 }, { 16, 16 }, { 16, 15 }, { 17, 15 }, { 17, 14 }, { 18, 14 }, { 18, 13 },
		{ 19, 13 }, { 20, 12 }, { 21, 12 }, { 22, 11 }, { 23, 11 }, { 24, 10 }, { 25, 10 }, { 26, 9, true }, { 27, 9 },
		{ 28, 9, true }, { 29, 8, true }, { 30, 8, true }, { 31, 8, true }, { 32, 8 } };
	const double wanted = (double)size[0] / (double)size[1];
	double least = INFINITY;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const double ratio = rint(100.0 * sizes[i].height / sizes[i].width) / 100; // the table's keys have two digits

		if ((sizes[i].is_large && side < LARGE_SIDE) || !(fabs(ratio - wanted) < least))
			continue;
		least = fabs(ratio - wanted);
		size[0] = sizes[i].height * side / OF_SIDE;
		size[1] = sizes[i].width * side / OF_SIDE;
	}
}

// ---- PixArt -----------------------------------------------------------------------------------------------------------------

// The size that is made, and its shape, for a transformer that is told.
static void give_sizes(struct diffusion *d)
{
	const int64_t rows = d->guided ? 2 : 1, height = d->rows * d->factor, width = d->columns * d->factor;
	float *size = ARENA_ARRAY(d->c->a, 2 * rows, float), *shape = ARENA_ARRAY(d->c->a, rows, float);

	for (int64_t i = 0; i < rows; i++) {
		size[2 * i] = (float)height;
		size[2 * i + 1] = (float)width;
		shape[i] = (float)((double)height / (double)width);
	}
	diffuse_give(d, "resolution", 2, (int64_t[]){ rows, 2 }, size);
	diffuse_give(d, "aspect_ratio", 2, (int64_t[]){ rows, 1 }, shape);
}

static enum status prepare_length(struct diffusion *d, const char *before, int64_t usual, struct error *err)
{
	int64_t length;
	enum status st = diffuse_map_shape(d, err);

	d->guided = d->guidance > 1;
	if (st || (st = option_integer(d->c, "max_sequence_length", 2, DIFFUSE_SEQUENCE_MOST, usual, &length, err)))
		return st;
	return give_texts(d, before, length, err);
}

static enum status prepare_alpha(struct diffusion *d, struct error *err)
{
	const json_t *side = json_object_get(d->denoiser->config, "sample_size");
	enum status st = prepare_length(d, "", 120, err);

	if (!st && json_integer_value(side) == 128)
		give_sizes(d);
	return st;
}

static enum status prepare_sigma(struct diffusion *d, struct error *err)
{
	return prepare_length(d, "", 300, err);
}

#define PIXART \
	.components = { { "text_encoder", "T5EncoderModel" }, { "tokenizer", NULL }, \
		{ "transformer", "PixArtTransformer2DModel Transformer2DModel" }, { "vae", "AutoencoderKL" } }, \
	.denoiser = "transformer", .sample = "hidden_states", .time_unit = 1, .steps = 20, .guidance = 4.5, .multiple = 2, \
	.learns_variance = true, .usual_pixels = 8, .options = OPTIONS
#define OPTIONS \
	"num_inference_steps guidance_scale height width seed negative_prompt eta max_sequence_length use_resolution_binning"

const struct diffusion_class diffuse_pixart_alpha = { PIXART, .name = "PixArtAlphaPipeline", .samples = { 32, 128 },
	.prepare = prepare_alpha };

const struct diffusion_class diffuse_pixart_sigma = { PIXART, .name = "PixArtSigmaPipeline", .samples = { 32, 256 },
	.prepare = prepare_sigma };

// ---- Sana -------------------------------------------------------------------------------------------------------------------

// What stands before a prompt where complex_human_instruction does not say it: the default of SanaPipeline of diffusers, line by
// line, for a model that was trained behind it.
static const char *const instruction[] = {
	"Given a user prompt, generate an 'Enhanced prompt' that provides detailed visual descriptions suitable for image "
	"generation. Evaluate the level of detail in the user prompt:",
	"- If the prompt is simple, focus on adding specifics about colors, shapes, sizes, textures, and spatial relationships "
	"to "
	"create vivid and concrete scenes.",
	"- If the prompt is already detailed, refine and enhance the existing details slightly without overcomplicating.",
	"Here are examples of how to transform or refine prompts:",
	"- User Prompt: A cat sleeping -> Enhanced: A small, fluffy white cat curled up in a round shape, sleeping peacefully on "
	"a "
	"warm sunny windowsill, surrounded by pots of blooming red flowers.",
	"- User Prompt: A busy city street -> Enhanced: A bustling city street scene at dusk, featuring glowing street lamps, a "
	"diverse crowd of people in colorful clothing, and a double-decker bus passing by towering glass skyscrapers.",
	"Please generate only the enhanced description for the prompt below and avoid including any additional commentary or "
	"evaluations:",
	"User Prompt: ",
};

// The option is a list of lines, or null: none.
static enum status read_instruction(struct diffusion *d, const char **out, struct error *err)
{
	const json_t *asked = json_object_get(d->c->options, "complex_human_instruction"), *line;
	size_t i;

	*out = NULL;
	for (i = 0; !asked && i < sizeof instruction / sizeof *instruction; i++)
		*out = arena_join(d->c->a, *out, "\n", instruction[i]);
	if (asked && !json_is_null(asked) && !json_is_array(asked))
		return error_set(err, STATUS_BAD_INPUT, "the option complex_human_instruction is a list of texts, or null");
	json_array_foreach(asked, i, line)
	{
		if (!json_is_string(line))
			return error_set(
				err, STATUS_BAD_INPUT, "the option complex_human_instruction is a list of texts, or null");
		*out = arena_join(d->c->a, *out, "\n", json_string_value(line));
	}
	*out = *out ? *out : "";
	return STATUS_OK;
}

static enum status prepare_sana(struct diffusion *d, struct error *err)
{
	const json_t *scale = json_object_get(d->denoiser->config, "timestep_scale");
	const char *before, *scheduler = diffuse_class_of(d, "scheduler");
	enum status st = read_instruction(d, &before, err);

	// The class neither scales what the transformer reads nor what it begins with.
	if (!words_have("DPMSolverMultistepScheduler FlowMatchEulerDiscreteScheduler", scheduler))
		return error_set(err, STATUS_UNSUPPORTED, "model_index.json: %s with the scheduler %.64s is not supported yet",
			d->kind->name, scheduler);
	d->time_scale = json_is_number(scale) ? json_number_value(scale) : 1;
	return st ? st : prepare_length(d, before, 300, err);
}

const struct diffusion_class diffuse_sana = {
	.name = "SanaPipeline",
	.components = { { "text_encoder", "Gemma2Model" }, { "tokenizer", NULL }, { "transformer", "SanaTransformer2DModel" },
		{ "vae", "AutoencoderDC" } },
	.options = OPTIONS " complex_human_instruction",
	.denoiser = "transformer",
	.sample = "hidden_states",
	.time_unit = 1,
	.steps = 20,
	.guidance = 4.5,
	.multiple = 1,
	.learns_variance = true,
	.usual_pixels = 32,
	.usual_size = 1024,
	.samples = { 16, 128 },
	.prepare = prepare_sana,
};
