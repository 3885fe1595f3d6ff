// SPDX-License-Identifier: Apache-2.0
// Pictures that a pipeline of diffusers is given, and the latents that it begins with. A picture is begun with, with noise of a
// later time (Meng et al. 2021, https://arxiv.org/abs/2108.01073), or kept where a mask is black: by a denoiser that reads mask
// and picture beside the latents, or by putting the picture's latents back after each step (Lugmayr et al. 2022,
// https://arxiv.org/abs/2201.09865); or a ControlNet reads it.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "denoise/noise.h"
#include "pipeline/diffuse.h"
#include "pipeline/pictures.h"
#include "preprocess/resample.h"

enum { COLOURS = 3 };

// ---- what is given ----------------------------------------------------------------------------------------------------------

enum status diffuse_open_pictures(struct diffusion *d, struct error *err)
{
	static const char *const keys[] = { "image", "mask_image" };
	struct picture *const out[] = { &d->image, &d->mask };
	const size_t count = d->kind->use == DIFFUSE_WITHOUT ? 0 : d->kind->use == DIFFUSE_FILLS ? 2 : 1;
	enum status st = STATUS_OK;

	if (!count && call_asked(d->c, "strength")) // the class has others for pictures
		return error_set(err, STATUS_BAD_INPUT,
			"the option strength says how much of an image is changed: an image is needed beside the prompt");
	for (size_t i = 0; i < count && !st; i++)
		st = call_has(d->c, keys[i])
			? call_picture(d->c, keys[i], out[i], err)
			: error_set(err, STATUS_BAD_INPUT, "%s needs the input %s, a picture", d->kind->name, keys[i]);
	return st;
}

// In the size of the picture that is made, as Pillow resizes (VaeImageProcessor of diffusers).
static enum status sized(struct diffusion *d, const struct picture *in, struct picture *out, struct error *err)
{
	return picture_resize(
		out, d->c->a, in, (int)(d->rows * d->factor), (int)(d->columns * d->factor), FILTER_LANCZOS, LIBRARY_PILLOW, err);
}

// [3, height, width] of RGB, from 0 to 1, or from -1 to 1.
static float *colours_of(struct arena *a, const struct picture *p, bool centred)
{
	const size_t pixels = (size_t)p->width * (size_t)p->height;
	float *out = ARENA_ARRAY(a, COLOURS * pixels + 1, float);

	for (size_t i = 0; i < COLOURS * pixels; i++) {
		const float v = (float)p->pixels[i % pixels * COLOURS + i / pixels] / 255;

		out[i] = centred ? 2 * v - 1 : v;
	}
	return out;
}

// Which pixels are to be made anew: 1 where the grey of the mask is a half or more (Pillow's convert("L")), else 0.
static float *chosen_of(struct arena *a, const struct picture *mask)
{
	enum { RED = 19595, GREEN = 38470, BLUE = 7471, HALF = 1 << 15 };
	const size_t pixels = (size_t)mask->width * (size_t)mask->height;
	float *out = ARENA_ARRAY(a, pixels + 1, float);

	for (size_t i = 0; i < pixels; i++) {
		const uint8_t *c = mask->pixels + i * COLOURS;
		const int grey = (c[0] * RED + c[1] * GREEN + c[2] * BLUE + HALF) >> 16;

		out[i] = grey >= 128;
	}
	return out;
}

// ---- latents ----------------------------------------------------------------------------------------------------------------

// Latents [n] of a picture [3, height, width] in -1 .. 1: the VAE's mean + exp(logvar / 2) * the seed's next noise, scaled.
static enum status encode(struct diffusion *d, float *picture, float *out, struct error *err)
{
	const struct arch_graph *encoder = part_graph_named(d->vae, "vae_encoder.onnx");
	const int64_t height = d->rows * d->factor, width = d->columns * d->factor;
	struct tensor sample = { .name = "sample",
		.dtype = DTYPE_F32,
		.rank = 4,
		.dim = { 1, COLOURS, height, width },
		.data = picture,
		.nbytes = (size_t)(COLOURS * height * width) * sizeof *picture };
	const struct tensor *mean, *spread;
	struct outputs given;
	enum status st;

	if (!encoder)
		return error_set(err, STATUS_UNSUPPORTED, "vae: no encoder");
	if ((st = part_run(d->vae, encoder, &sample, 1, d->c->a, &given.items, &given.count, err)) ||
		(st = output_of(&given, "mean", 4, &mean, err)) || (st = output_of(&given, "logvar", 4, &spread, err)))
		return st;
	if (mean->nbytes != d->n * sizeof *out || spread->nbytes != mean->nbytes)
		return error_set(err, STATUS_UNSUPPORTED, "vae: latents of another size than its decoder reads");
	diffuse_draw_map(d, out);
	for (size_t i = 0; i < d->n; i++) {
		const float x = ((const float *)mean->data)[i] + expf(((const float *)spread->data)[i] / 2) * out[i];

		out[i] = (x - d->latent_shift) * d->latent_scale;
	}
	return STATUS_OK;
}

enum status diffuse_read_strength(struct diffusion *d, struct error *err)
{
	int64_t kept;
	enum status st = option_real(d->c, "strength", d->kind->strength, &d->strength, err);

	if (st || !(d->kind->strength > 0)) // a class without it
		return st;
	if (!(d->strength >= 0 && d->strength <= 1))
		return error_set(err, STATUS_BAD_INPUT, "the option strength is from 0 to 1");
	kept = (int64_t)((double)d->steps * d->strength);
	if (d->kind->part_steps) // as it is rounded in the class
		kept = d->steps - (int64_t)((double)d->steps - (double)d->steps * d->strength);
	if (kept < 1)
		return error_set(err, STATUS_BAD_INPUT, "a strength of %g leaves none of the %lld steps", d->strength,
			(long long)d->steps);
	d->left_out = (size_t)(d->steps - kept);
	return STATUS_OK;
}

// A map [channels, rows, columns] as the denoiser reads latents.
static float *packed_of(const struct diffusion *d, float *map)
{
	float *out = map;

	if (d->kind->packed) {
		out = ARENA_ARRAY(d->c->a, d->n + 1, float);
		flux_pack(map, d->channels, d->rows, d->columns, out);
	}
	return out;
}

static enum status vary(struct diffusion *d, struct error *err)
{
	float *clean = ARENA_ARRAY(d->c->a, d->n + 1, float), *noise = ARENA_ARRAY(d->c->a, d->n + 1, float);
	struct picture picture;
	enum status st = sized(d, &d->image, &picture, err);

	if (st || (st = encode(d, colours_of(d->c->a, &picture, true), clean, err)))
		return st;
	clean = packed_of(d, clean);
	diffuse_draw(d, noise);
	scheduler_add_noise(d->scheduler, d->first, clean, noise, d->x, d->n);
	return STATUS_OK;
}

// ---- a mask -----------------------------------------------------------------------------------------------------------------

// Of each of the latents whether its place is made anew: the pixel in its corner counts.
static float *chosen_latents(const struct diffusion *d, const float *chosen)
{
	float *out = ARENA_ARRAY(d->c->a, d->n + 1, float);

	for (int64_t i = 0; i < (int64_t)d->n; i++)
		out[i] = chosen[(i / d->columns % d->rows * d->columns * d->factor + i % d->columns) * d->factor];
	return out;
}

// The noise, and the latents that are begun with.
static enum status begin_filling(struct diffusion *d, float *picture, struct error *err)
{
	const bool is_whole = d->strength == 1, stored = call_has(d->c, "latents"); // NOLINT: as it was given
	enum status st = STATUS_OK;

	d->clean = ARENA_ARRAY(d->c->a, d->n + 1, float);
	d->noise = ARENA_ARRAY(d->c->a, d->n + 1, float);
	if ((!d->beside || !(stored || is_whole)) && (st = encode(d, picture, d->clean, err)))
		return st;
	d->clean = packed_of(d, d->clean);
	if (stored)
		st = diffuse_stored_latents(d, d->noise, err);
	else
		diffuse_draw(d, d->noise);
	if (stored || is_whole)
		for (size_t i = 0; i < d->n; i++)
			d->x[i] = (float)(d->noise[i] * scheduler_begin(d->scheduler));
	else
		scheduler_add_noise(d->scheduler, d->first, d->clean, d->noise, d->x, d->n);
	return st;
}

static enum status fill(struct diffusion *d, struct error *err)
{
	const size_t places = (size_t)(d->rows * d->columns), pixels = places * (size_t)(d->factor * d->factor);
	struct picture image, mask;
	float *picture, *chosen;
	enum status st;

	if ((st = sized(d, &d->image, &image, err)) || (st = sized(d, &d->mask, &mask, err)))
		return st;
	picture = colours_of(d->c->a, &image, true);
	chosen = chosen_of(d->c->a, &mask);
	d->beside = d->beside_channels ? ARENA_ARRAY(d->c->a, places + d->n + 1, float) : NULL;
	if ((st = begin_filling(d, picture, err)))
		return st;
	d->chosen = chosen_latents(d, chosen);
	if (!d->beside) {
		d->chosen = packed_of(d, d->chosen);
		d->drawn += d->n; // the class encodes what is kept, too, and does not read it
		return STATUS_OK;
	}
	for (size_t i = 0; i < COLOURS * pixels; i++)
		picture[i] = chosen[i % pixels] != 0 ? 0 : picture[i];
	memcpy(d->beside, d->chosen, places * sizeof *d->beside);
	return encode(d, picture, d->beside + places, err);
}

void diffuse_keep(struct diffusion *d, size_t step)
{
	float *clean = d->clean;

	if (!d->chosen || d->beside)
		return;
	if (step + 1 < scheduler_steps(d->scheduler)) {
		clean = d->kept_now = d->kept_now ? d->kept_now : ARENA_ARRAY(d->c->a, d->n + 1, float);
		scheduler_add_noise(d->scheduler, step + 1, d->clean, d->noise, clean, d->n);
	}
	for (size_t i = 0; i < d->n; i++)
		d->x[i] = d->chosen[i] != 0 ? d->x[i] : clean[i];
}

enum status diffuse_begin(struct diffusion *d, struct error *err)
{
	enum status st = STATUS_OK;

	d->n = (size_t)(d->channels * d->rows * d->columns);
	d->x = ARENA_ARRAY(d->c->a, d->n + 1, float);
	d->first = d->left_out * scheduler_order(d->scheduler);
	if (d->kind->strength > 0)
		scheduler_start(d->scheduler, d->first);
	if (d->kind->use == DIFFUSE_VARIES)
		return vary(d, err);
	if (d->kind->use == DIFFUSE_FILLS)
		return fill(d, err);
	if (call_has(d->c, "latents"))
		st = diffuse_stored_latents(d, d->x, err);
	else
		diffuse_draw(d, d->x);
	for (size_t i = 0; i < d->n; i++)
		d->x[i] = (float)(d->x[i] * scheduler_begin(d->scheduler));
	return st;
}

// ---- a ControlNet -----------------------------------------------------------------------------------------------------------

enum status diffuse_control_read(struct diffusion *d, struct error *err)
{
	struct diffuse_control *k = &d->control;
	enum status st;

	if ((st = option_real(d->c, "controlnet_conditioning_scale", 1, &k->scale, err)) ||
		(st = option_real(d->c, "control_guidance_start", 0, &k->from, err)) ||
		(st = option_real(d->c, "control_guidance_end", 1, &k->to, err)))
		return st;
	if (!(k->from >= 0 && k->from < k->to && k->to <= 1))
		return error_set(err, STATUS_BAD_INPUT,
			"control_guidance_start and control_guidance_end are from 0 to 1, the start before the end");
	return STATUS_OK;
}

enum status diffuse_control_open(struct diffusion *d, struct error *err)
{
	const size_t rows = d->guided ? 2 : 1;
	const int64_t height = d->rows * d->factor, width = d->columns * d->factor;
	const size_t n = (size_t)(COLOURS * height * width);
	struct diffuse_control *k = &d->control;
	struct picture picture;
	float *all, *one;
	enum status st;

	if ((st = part_open(d->c->p, "controlnet", &k->net, err)) || (st = sized(d, &d->image, &picture, err)))
		return st;
	const size_t convolutions = json_array_size(json_object_get(k->net->config, "conditioning_embedding_out_channels"));
	if (convolutions && (int64_t)1 << (convolutions - 1) != d->factor)
		return error_set(err, STATUS_BAD_INPUT,
			"controlnet: %zu convolutions read its picture, and the VAE makes it %lld "
			"times smaller",
			convolutions, (long long)d->factor);
	one = colours_of(d->c->a, &picture, false);
	all = ARENA_ARRAY(d->c->a, rows * n + 1, float);
	for (size_t r = 0; r < rows; r++)
		memcpy(all + r * n, one, n * sizeof *all);
	k->picture = (struct tensor){ .name = "controlnet_cond",
		.dtype = DTYPE_F32,
		.rank = 4,
		.dim = { (int64_t)rows, COLOURS, height, width },
		.data = all,
		.nbytes = rows * n * sizeof *all };
	return STATUS_OK;
}

enum status diffuse_control_run(struct diffusion *d, size_t step, const struct tensor *in, size_t count, struct arena *a,
	struct tensor **out, size_t *out_count, struct error *err)
{
	const struct diffuse_control *k = &d->control;
	const double steps = (double)scheduler_steps(d->scheduler), at = (double)step;
	const float scale = at / steps < k->from || (at + 1) / steps > k->to ? 0 : (float)k->scale;
	struct tensor *all = ARENA_ARRAY(a, count + 1, struct tensor);
	enum status st;

	memcpy(all, in, count * sizeof *all);
	all[count] = k->picture;
	if ((st = part_run(k->net, &arch_whole, all, count + 1, a, out, out_count, err)))
		return st;
	for (size_t i = 0; i < *out_count; i++) {
		struct tensor *t = &(*out)[i];
		const bool is_middle = text_is(t->name, "mid");

		if (t->dtype != DTYPE_F32 || !(is_middle || text_starts(t->name, "down.")))
			return error_set(err, STATUS_UNSUPPORTED, "controlnet: an output %s", t->name);
		t->name = is_middle ? "mid_block_additional_residual"
				    : arena_printf(a, "down_block_additional_residuals%s", t->name + strlen("down"));
		for (size_t j = 0; j < t->nbytes / sizeof(float); j++)
			((float *)t->data)[j] *= scale;
	}
	return STATUS_OK;
}
