// SPDX-License-Identifier: Apache-2.0
// text-to-image: a folder that diffusers saved. Texts go through the text encoders once, latents through the denoiser at each
// time of the scheduler, and the VAE's decoder makes them a picture: what the class in model_index.json does when it is called
// (diffusers 0.42). A safety checker is not run.
#include "pipeline/diffuse.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "denoise/noise.h"
#include "pipeline/choose.h"
#include "pipeline/pictures.h"
#include "preprocess/resample.h"

static const struct diffusion_class *const classes[] = { &diffuse_stable, &diffuse_stable_image, &diffuse_stable_inpaint,
	&diffuse_stable_control, &diffuse_lcm, &diffuse_xl, &diffuse_xl_image, &diffuse_xl_inpaint, &diffuse_xl_control,
	&diffuse_pixart_alpha, &diffuse_pixart_sigma, &diffuse_sana, &diffuse_sd3_image, &diffuse_flux_image, &diffuse_aura,
	&diffuse_chroma, &diffuse_lumina, &diffuse_flux_inpaint, &diffuse_sd3, &diffuse_flux };

// ---- the folder -------------------------------------------------------------------------------------------------------------

static void release_json(void *json)
{
	json_decref(json);
}

// An object, which dies with the answer.
static enum status read_object(struct diffusion *d, const char *name, json_t **out, struct error *err)
{
	const char *path = arena_printf(d->c->a, "%s/%s", d->c->p->folder, name);
	enum status st = json_file(path, PIPELINE_JSON_MOST, out, err);

	if (st)
		return st;
	arena_defer(d->c->a, release_json, *out);
	return json_is_object(*out) ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: no object", path);
}

const char *diffuse_class_of(const struct diffusion *d, const char *component)
{
	return json_string_value(json_array_get(json_object_get(d->index, component), 1));
}

bool diffuse_has(const struct diffusion *d, const char *component)
{
	return diffuse_class_of(d, component) != NULL;
}

static enum status check_component(
	const struct diffusion *d, const char *name, const char *wanted, bool optional, struct error *err)
{
	const char *is = diffuse_class_of(d, name);

	if (!is && optional)
		return STATUS_OK;
	if (!is)
		return error_set(
			err, STATUS_BAD_INPUT, "model_index.json: %s needs the part %s, which is not there", d->kind->name, name);
	if (wanted && !words_have(wanted, is))
		return error_set(err, STATUS_UNSUPPORTED, "model_index.json: %s: the class %.64s is not supported yet, but %s",
			name, is, wanted);
	if (!file_is_dir(arena_printf(d->c->a, "%s/%s", d->c->p->folder, name)))
		return error_set(
			err, STATUS_BAD_INPUT, "%s has no folder %s, which model_index.json names", d->c->p->folder, name);
	return STATUS_OK;
}

// Those components that have graphs: each has a class that is known.
static enum status check_parts(const struct diffusion *d, struct error *err)
{
	enum { MOST = sizeof d->kind->components / sizeof *d->kind->components };
	const char *names[MOST];
	size_t count = 0;

	for (size_t i = 0; i < MOST && d->kind->components[i].name; i++)
		if (d->kind->components[i].class_name && diffuse_has(d, d->kind->components[i].name))
			names[count++] = d->kind->components[i].name;
	return parts_known(d->c->p, names, count, err);
}

static enum status read_index(struct diffusion *d, struct error *err)
{
	const char *folder = d->c->p->folder, *name;
	json_t *index;
	enum status st;

	if (!file_exists(arena_printf(d->c->a, "%s/model_index.json", folder)))
		return error_set(
			err, STATUS_BAD_INPUT, "%s has no model_index.json, which a folder for text-to-image has", folder);
	if ((st = read_object(d, "model_index.json", &index, err)))
		return st;
	d->index = index;
	name = json_string_value(json_object_get(index, "_class_name"));
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (text_is(name, classes[i]->name))
			d->kind = classes[i];
	if (!d->kind)
		return error_set(err, STATUS_UNSUPPORTED, "model_index.json: the class %.64s is not supported yet",
			name ? name : "without a name");
	if (call_has(d->c, "image") && call_has(d->c, "mask_image") && d->kind->with_mask)
		d->kind = d->kind->with_mask;
	else if (call_has(d->c, "image") && d->kind->with_image)
		d->kind = d->kind->with_image;
	const size_t most = sizeof d->kind->components / sizeof *d->kind->components;
	for (size_t i = 0; i < most && d->kind->components[i].name && !st; i++)
		st = check_component(
			d, d->kind->components[i].name, d->kind->components[i].class_name, d->kind->components[i].optional, err);
	if (!st && !(st = check_component(d, "scheduler", NULL, false, err)))
		st = read_object(d, "scheduler/scheduler_config.json", &d->scheduler_config, err);
	if (!st) // the class is the index's, as in diffusers, whatever class wrote the settings
		json_object_set_new(d->scheduler_config, "_class_name", json_string(diffuse_class_of(d, "scheduler")));
	return st ? st : check_parts(d, err);
}

// ---- what is asked --------------------------------------------------------------------------------------------------------

static double number(const json_t *config, const char *key, double usual)
{
	const json_t *x = json_object_get(config, key);

	return json_is_number(x) ? json_number_value(x) : usual;
}

// Of the VAE: how many pixels a side of its latents has.
static enum status read_vae(struct diffusion *d, struct error *err)
{
	const json_t *config;
	size_t stages;
	enum status st = part_open(d->c->p, "vae", &d->vae, err);

	if (st)
		return st;
	config = d->vae->config;
	const json_t *widths = json_object_get(config, "block_out_channels");
	stages = json_array_size(widths ? widths : json_object_get(config, "encoder_block_out_channels"));
	d->channels = json_integer_value(json_object_get(config, "latent_channels"));
	if (stages < 1 || stages > DIFFUSE_STAGES_MOST || d->channels < 1 || d->channels > DIFFUSE_CHANNELS_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "vae: %zu stages and %lld channels of latents", stages, (long long)d->channels);
	d->factor = (int64_t)1 << (stages - 1);
	d->latent_scale = (float)number(config, "scaling_factor", widths ? 0.18215 : 1);
	d->latent_shift = (float)number(config, "shift_factor", 0);
	if (!(d->latent_scale != 0))
		return error_set(err, STATUS_UNSUPPORTED, "vae: a scaling_factor of 0");
	return STATUS_OK;
}

// How many pixels of a side are usual, height (0) or width (1): those of the picture that is given, where it decides, else as the
// denoiser's sample_size says (a number, or [height, width]), else 128.
static int64_t usual_side(const struct diffusion *d, size_t i)
{
	enum { SAMPLE_USUAL = 128 };
	const json_t *usual = json_object_get(d->denoiser->config, "sample_size"),
		     *side = json_is_array(usual) ? json_array_get(usual, i) : usual;
	int64_t n = json_is_integer(side) ? json_integer_value(side) : SAMPLE_USUAL;

	if (d->kind->usual_size)
		return d->kind->usual_size;
	if (d->kind->use == DIFFUSE_STEERED || (d->kind->use == DIFFUSE_VARIES && !words_have(d->kind->options, "height")))
		n = (i ? d->image.width : d->image.height) / d->factor;
	return n > 0 && n <= DIFFUSE_SIDE_MOST ? n * d->factor : 0;
}

static enum status bin(struct diffusion *d, int64_t size[2], struct error *err)
{
	const int64_t sample = json_integer_value(json_object_get(d->denoiser->config, "sample_size"));

	if (sample < d->kind->samples[0] || sample > d->kind->samples[1] || (sample & (sample - 1)))
		return error_set(err, STATUS_BAD_INPUT,
			"%s: sizes are binned for a sample_size of %lld to %lld, a power of two, and it is %lld: "
			"use_resolution_binning=false makes the size that is asked for",
			d->kind->denoiser, (long long)d->kind->samples[0], (long long)d->kind->samples[1], (long long)sample);
	memcpy(d->asked_size, size, sizeof d->asked_size);
	diffuse_bin(sample * d->kind->usual_pixels, size);
	return STATUS_OK;
}

static enum status read_size(struct diffusion *d, struct error *err)
{
	const char *const keys[] = { "height", "width" };
	int64_t size[2], unit = d->factor * d->kind->multiple;
	bool bins;
	enum status st = option_bool(d->c, "use_resolution_binning", d->kind->usual_pixels > 0, &bins, err);

	for (size_t i = 0; i < 2 && !st; i++)
		st = option_integer(d->c, keys[i], bins ? 1 : unit, DIFFUSE_SIDE_MOST, usual_side(d, i), &size[i], err);
	if (st || (bins && (st = bin(d, size, err))))
		return st;
	for (size_t i = 0; i < 2; i++)
		if (size[i] < unit || (!bins && size[i] > DIFFUSE_SIDE_MOST) || size[i] % unit)
			return error_set(err, STATUS_BAD_INPUT, "a %s of %lld: this model makes multiples of %lld, up to %d",
				keys[i], (long long)size[i], (long long)unit, DIFFUSE_SIDE_MOST);
	d->rows = size[0] / d->factor;
	d->columns = size[1] / d->factor;
	return d->rows * d->columns * d->channels <= DIFFUSE_LATENTS_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "%lld x %lld: more than %d numbers of latents", (long long)size[1],
			  (long long)size[0], DIFFUSE_LATENTS_MOST);
}

// Members of the input that this class does not read are refused, as options are.
static enum status check_members(const struct diffusion *d, struct error *err)
{
	const enum diffuse_use use = d->kind->use;
	const bool draws = use == DIFFUSE_VARIES || (use == DIFFUSE_FILLS && d->kind->packed); // always, of the seed
	const char *pictures = use == DIFFUSE_WITHOUT ? NULL : use == DIFFUSE_FILLS ? "image mask_image" : "image", *key;
	const json_t *value;

	json_object_foreach((json_t *)(uintptr_t)d->c->input, key, value)
	{
		if (!words_have(draws ? "prompt negative_prompt options" : "prompt negative_prompt latents options", key) &&
			!words_have(pictures, key) && !words_have(d->kind->options, key))
			return error_set(
				err, STATUS_UNSUPPORTED, "the input's %.100s of %s is not supported yet", key, d->kind->name);
	}
	return STATUS_OK;
}

static enum status open_scheduler(struct diffusion *d, struct error *err)
{
	const struct scheduler_asked asked = {
		.steps = d->steps, .mu = d->mu, .eta = d->eta, .own_sigmas = d->kind->packed || d->kind->own_sigmas
	};

	return d->scheduler ? STATUS_OK : scheduler_open(&d->scheduler, d->c->a, d->scheduler_config, &asked, err);
}

static enum status read_asked(struct diffusion *d, struct error *err)
{
	const struct call *c = d->c;
	enum status st;

	if ((st = options_known(d->kind->options, c->options, d->kind->name, err)) || (st = check_members(d, err)) ||
		(st = diffuse_open_pictures(d, err)) || (st = part_open(c->p, d->kind->denoiser, &d->denoiser, err)) ||
		(st = read_vae(d, err)) || (st = read_size(d, err)) ||
		(st = option_integer(c, "num_inference_steps", 1, DIFFUSE_STEPS_MOST, d->kind->steps, &d->steps, err)) ||
		(st = option_integer(c, "seed", 0, INT64_MAX, 0, &d->seed, err)) || (st = diffuse_read_strength(d, err)) ||
		(d->kind->use == DIFFUSE_STEERED && (st = diffuse_control_read(d, err))) ||
		(st = option_real(c, "eta", 0, &d->eta, err)))
		return st;
	if (!(d->eta >= 0 && d->eta <= 1))
		return error_set(err, STATUS_BAD_INPUT, "the option eta is from 0 to 1");
	if ((st = option_real(c, "guidance_scale", d->kind->guidance, &d->guidance, err)))
		return st;
	return d->kind->max_shift > 0 ? STATUS_OK : open_scheduler(d, err); // else `prepare` says by how much times are shifted
}

// ---- the denoiser's inputs -------------------------------------------------------------------------------------------------

void diffuse_give(struct diffusion *d, const char *name, int rank, const int64_t *dim, float *data)
{
	struct tensor *t = &d->given[d->given_count++];

	*t = (struct tensor){ .name = name, .dtype = DTYPE_F32, .rank = rank, .data = data, .nbytes = sizeof *data };
	for (int i = 0; i < rank; i++) {
		t->dim[i] = dim[i];
		t->nbytes *= (size_t)dim[i];
	}
}

enum status diffuse_map_shape(struct diffusion *d, struct error *err)
{
	const json_t *channels = json_object_get(d->denoiser->config, "in_channels");

	// One that fills reads the mask and the latents of what is kept beside them.
	if (d->kind->use == DIFFUSE_FILLS && json_integer_value(channels) == 2 * d->channels + 1)
		d->beside_channels = d->channels + 1;
	if (json_is_integer(channels) && json_integer_value(channels) != d->channels + d->beside_channels)
		return error_set(err, STATUS_UNSUPPORTED, "%s: %lld channels in, of latents of %lld: not supported yet",
			d->kind->denoiser, (long long)json_integer_value(channels), (long long)d->channels);
	d->rank = 4;
	memcpy(d->shape, (int64_t[]){ 1, d->channels, d->rows, d->columns }, sizeof d->shape);
	return STATUS_OK;
}

enum status diffuse_check_width(const struct diffusion *d, const char *key, int64_t width, const char *given, struct error *err)
{
	const json_t *wanted = json_object_get(d->denoiser->config, key);

	wanted = json_is_array(wanted) ? json_array_get(wanted, 0) : wanted;
	if (!json_is_integer(wanted) || json_integer_value(wanted) == width)
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT, "%s: its %s is %lld, and %s give%s %lld numbers", d->kind->denoiser, key,
		(long long)json_integer_value(wanted), given, strchr(given, ' ') ? "" : "s", (long long)width);
}

enum status diffuse_give_guidance(struct diffusion *d, struct error *err)
{
	enum { LEAST = 4, MOST = 1 << 14 };
	const json_t *asked = json_object_get(d->denoiser->config, "time_cond_proj_dim");
	const int64_t width = json_integer_value(asked), half = width / 2;

	if (!asked || json_is_null(asked))
		return STATUS_OK;
	if (width < LEAST || width > MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: time_cond_proj_dim is a whole number from %d to %d",
			d->kind->denoiser, LEAST, MOST);
	float *all = ARENA_ARRAY(d->c->a, width, float), rate = logf(10000) / (float)(half - 1);
	for (int64_t i = 0; i < half; i++) {
		const float angle = ((float)d->guidance - 1) * 1000 * expf((float)i * -rate); // rounded as the class does

		all[i] = sinf(angle);
		all[half + i] = cosf(angle);
	}
	diffuse_give(d, "timestep_cond", 2, (int64_t[]){ 1, width }, all);
	return STATUS_OK;
}

enum status diffuse_shift(struct diffusion *d, int64_t tokens, struct error *err)
{
	static const char *const keys[] = { "base_image_seq_len", "max_image_seq_len", "base_shift", "max_shift" };
	double v[] = { 256, 4096, 0.5, d->kind->max_shift };

	for (size_t i = 0; i < 4; i++)
		v[i] = number(d->scheduler_config, keys[i], v[i]);
	if (!(v[0] < v[1]))
		return error_set(
			err, STATUS_BAD_INPUT, "scheduler_config.json: base_image_seq_len is not below max_image_seq_len");
	double slope = (v[3] - v[2]) / (v[1] - v[0]);
	d->mu = (double)tokens * slope + v[2] - slope * v[0];
	return STATUS_OK;
}

// ---- latents ------------------------------------------------------------------------------------------------------------------

enum status diffuse_stored_latents(struct diffusion *d, float *out, struct error *err)
{
	const char *path;
	struct shard shard;
	struct weight *stored;
	size_t count;
	enum status st = call_file(d->c, "latents", &path, err);

	if (st || (st = safetensors_open(d->c->a, path, &shard, &stored, &count, err)))
		return st;
	if (count != 1 || stored->dtype != DTYPE_F32 || stored->rank != d->rank || stored->nbytes != d->n * sizeof *d->x ||
		memcmp(stored->dim, d->shape, (size_t)d->rank * sizeof *d->shape) != 0) {
		char wanted[128];

		return error_set(err, STATUS_BAD_INPUT, "%s: not one tensor of %s in F32", path,
			tensor_shape_text(d->rank, d->shape, wanted, sizeof wanted));
	}
	memcpy(out, stored->data, d->n * sizeof *out);
	return STATUS_OK;
}

void diffuse_draw_map(struct diffusion *d, float *out)
{
	noise_normal((uint64_t)d->seed, d->drawn, out, d->n);
	d->drawn += d->n;
}

void diffuse_draw(struct diffusion *d, float *out)
{
	float *noise = d->kind->packed ? ARENA_ARRAY(d->c->a, d->n + 1, float) : out;

	diffuse_draw_map(d, noise);
	if (d->kind->packed)
		flux_pack(noise, d->channels, d->rows, d->columns, out);
}

// ---- the loop -----------------------------------------------------------------------------------------------------------------

static struct tensor time_input(const struct diffusion *d, size_t step, struct arena *a)
{
	size_t rows = d->guided ? 2 : 1;
	float *time = ARENA_ARRAY(a, rows, float);

	for (size_t i = 0; i < rows; i++) {
		time[i] = (float)scheduler_time(d->scheduler, step) / (float)d->kind->time_unit * (float)d->time_scale;
		time[i] = d->kind->is_backward ? 1 - time[i] : time[i];
	}
	return (struct tensor){ .name = "timestep",
		.dtype = DTYPE_F32,
		.rank = 1,
		.dim = { (int64_t)rows },
		.data = time,
		.nbytes = rows * sizeof *time };
}

// The latents as the denoiser reads them at a step, a row for each text, the maps beside them behind each.
static struct tensor sample_input(struct diffusion *d, size_t step, struct arena *a)
{
	const size_t rows = d->guided ? 2 : 1, beside = (size_t)(d->beside_channels * d->rows * d->columns), n = d->n + beside;
	float *x = ARENA_ARRAY(a, rows * n + 1, float);
	struct tensor t = {
		.name = d->kind->sample, .dtype = DTYPE_F32, .rank = d->rank, .data = x, .nbytes = rows * n * sizeof *x
	};

	memcpy(t.dim, d->shape, (size_t)d->rank * sizeof *d->shape);
	t.dim[0] = (int64_t)rows;
	t.dim[1] += d->beside_channels;
	scheduler_scale(d->scheduler, step, d->x, x, d->n);
	if (beside)
		memcpy(x + d->n, d->beside, beside * sizeof *x);
	if (d->guided)
		memcpy(x + n, x, n * sizeof *x);
	return t;
}

// The denoiser's inputs at a step, in `a`.
static enum status inputs_at(
	struct diffusion *d, size_t step, struct arena *a, struct tensor **out, size_t *out_count, struct error *err)
{
	size_t count = 0, more_count = 0;
	struct tensor in[DIFFUSE_GIVEN_MOST + 2], *more = NULL;
	enum status st = STATUS_OK;

	in[count++] = sample_input(d, step, a);
	in[count++] = time_input(d, step, a);
	for (size_t i = 0; i < d->given_count; i++)
		in[count++] = d->given[i];
	if (d->control.net)
		st = diffuse_control_run(d, step, in, count, a, &more, &more_count, err);
	*out = ARENA_ARRAY(a, count + more_count, struct tensor);
	memcpy(*out, in, count * sizeof *in);
	if (more_count)
		memcpy(*out + count, more, more_count * sizeof *more);
	*out_count = count + more_count;
	return st;
}

// x, the answer without the prompt, becomes that + guidance * (with it - that).
static void guide(const struct diffusion *d, size_t step, float *x, const float *with)
{
	const size_t width = (size_t)d->shape[d->rank - 1];

	if ((double)(step + 1) / (double)scheduler_steps(d->scheduler) > d->guided_share) {
		memcpy(x, with, d->n * sizeof *x);
		return;
	}
	for (size_t i = 0; i < d->n; i++)
		x[i] += (float)d->guidance * (with[i] - x[i]);
	for (size_t row = 0; d->normalises && row < d->n; row += width) {
		double is = 0, wanted = 0;

		for (size_t i = row; i < row + width; i++) {
			is += (double)x[i] * x[i];
			wanted += (double)with[i] * with[i];
		}
		for (size_t i = row; i < row + width; i++)
			x[i] *= (float)sqrt(wanted / is);
	}
}

// What the denoiser answers at a step, [n] in `a`; of two rows: without the prompt + guidance * (with it - without it).
static enum status ask(struct diffusion *d, size_t step, struct arena *a, float **out, struct error *err)
{
	const struct arch_graph *which = d->kind->graph ? part_graph_named(d->denoiser, d->kind->graph) : &arch_whole;
	size_t rows = d->guided ? 2 : 1, count, out_count;
	struct tensor *in, *given;
	const struct tensor *t;
	enum status st = inputs_at(d, step, a, &in, &count, err);

	if (st || (st = part_run(d->denoiser, which, in, count, a, &given, &out_count, err)))
		return st;
	if (!(t = part_output(given, out_count, "out_sample", d->rank, err)))
		return err->status;
	const size_t own = t->nbytes / sizeof **out / rows;
	if (own != d->n && !(d->kind->learns_variance && own == 2 * d->n))
		return error_set(err, STATUS_UNSUPPORTED,
			"%s: what it answers has not the shape of its latents: not supported yet", d->kind->denoiser);
	*out = t->data;
	if (d->guided)
		guide(d, step, *out, *out + own);
	for (size_t i = 0; d->kind->is_backward && i < d->n; i++)
		(*out)[i] = -(*out)[i];
	return STATUS_OK;
}

static double opened_ms(const struct part *m)
{
	double sum = 0;

	for (size_t i = 0; i < m->graph_count; i++)
		sum += m->graphs[i].open_ms;
	return sum;
}

static enum status denoise(struct diffusion *d, struct error *err)
{
	size_t steps = scheduler_steps(d->scheduler);
	const double began = clock_ms() - opened_ms(d->denoiser);
	float *noise = ARENA_ARRAY(d->c->a, d->n + 1, float), *answer;
	enum status st = STATUS_OK;

	for (size_t i = d->first; i < steps && !st; i++) {
		struct arena a = { 0 };

		if (!(st = ask(d, i, &a, &answer, err))) {
			bool noisy = scheduler_noisy(d->scheduler, i);

			if (noisy)
				diffuse_draw(d, noise);
			scheduler_step(d->scheduler, i, answer, noisy ? noise : NULL, d->x, d->n);
			diffuse_keep(d, i);
			d->c->p->steps++;
			if (d->c->p->watch)
				d->c->p->watch(d->c->p->watch_context, i + 1 - d->first, steps - d->first);
		}
		arena_done(&a);
	}
	d->c->p->steps_ms += clock_ms() - opened_ms(d->denoiser) - began;
	return st;
}

// ---- the picture --------------------------------------------------------------------------------------------------------------

// [1, 3, height, width] of the VAE's decoder.
static enum status decode(struct diffusion *d, const struct tensor **out, struct error *err)
{
	const struct arch_graph *decoder = part_graph_named(d->vae, "vae_decoder.onnx");
	float *x = ARENA_ARRAY(d->c->a, d->n + 1, float);
	struct tensor latent = { .name = "latent", .dtype = DTYPE_F32, .rank = 4, .data = x, .nbytes = d->n * sizeof *x };
	struct outputs given;
	enum status st;

	if (!decoder)
		return error_set(err, STATUS_UNSUPPORTED, "vae: no decoder");
	if (d->kind->packed)
		flux_unpack(d->x, d->channels, d->rows, d->columns, x);
	else
		memcpy(x, d->x, d->n * sizeof *x);
	for (size_t i = 0; i < d->n; i++)
		x[i] = x[i] / d->latent_scale + d->latent_shift;
	memcpy(latent.dim, (int64_t[]){ 1, d->channels, d->rows, d->columns }, 4 * sizeof *latent.dim);
	if ((st = part_run(d->vae, decoder, &latent, 1, d->c->a, &given.items, &given.count, err)) ||
		(st = output_of(&given, "sample", 4, out, err)))
		return st;
	if ((*out)->dim[1] != 3 || (*out)->dim[2] != d->rows * d->factor || (*out)->dim[3] != d->columns * d->factor)
		return error_set(err, STATUS_UNSUPPORTED, "vae: no picture of 3 colours in the size that was asked for");
	return STATUS_OK;
}

// A picture that was made in another size than asked for: resized, and its middle cut out (resize_and_crop_tensor of diffusers).
static enum status fit(struct diffusion *d, const struct tensor **sample, struct error *err)
{
	const int64_t *dim = (*sample)->dim, height = d->asked_size[0], width = d->asked_size[1];
	const struct planes made = { 3, (int)dim[2], (int)dim[3], (*sample)->data };
	struct tensor *t = ARENA_NEW(d->c->a, struct tensor);
	struct planes whole;
	enum status st;

	if (!height || (height == dim[2] && width == dim[3]))
		return STATUS_OK;
	const double ratio = fmax((double)height / (double)dim[2], (double)width / (double)dim[3]);
	if ((st = planes_between(
		     &whole, d->c->a, &made, (int)((double)dim[2] * ratio), (int)((double)dim[3] * ratio), false, err)))
		return st;
	const int64_t above = (whole.height - height) / 2, before = (whole.width - width) / 2;
	float *x = ARENA_ARRAY(d->c->a, 3 * height * width + 1, float);
	for (int64_t i = 0; i < 3 * height; i++)
		memcpy(x + i * width, whole.data + (i / height * whole.height + above + i % height) * whole.width + before,
			(size_t)width * sizeof *x);
	*t = (struct tensor){ .dtype = DTYPE_F32,
		.rank = 4,
		.dim = { 1, 3, height, width },
		.data = x,
		.nbytes = (size_t)(3 * height * width) * sizeof *x };
	*sample = t;
	return STATUS_OK;
}

// clamp(x / 2 + 0.5, 0, 1), [height, width, 3], and in 8 bits.
static enum status answer_image(struct diffusion *d, const struct tensor *sample, struct pipeline_answer *out, struct error *err)
{
	int64_t height = sample->dim[2], width = sample->dim[3];
	size_t pixels = (size_t)(height * width);
	float *image = ARENA_ARRAY(d->c->a, 3 * pixels + 1, float);
	const float *x = sample->data;
	struct tensor t = { .dtype = DTYPE_F32, .rank = 3, .data = image, .nbytes = 3 * pixels * sizeof *image };
	struct picture picture;
	enum status st = picture_new(&picture, d->c->a, width, height, 3, err);

	if (st)
		return st;
	for (size_t i = 0; i < 3 * pixels; i++) {
		image[i] = fminf(fmaxf(x[i % 3 * pixels + i / 3] / 2 + 0.5F, 0), 1);
		picture.pixels[i] = (uint8_t)rintf(image[i] * 255);
	}
	memcpy(t.dim, (int64_t[]){ height, width, 3 }, 3 * sizeof *t.dim);
	out->json = json_pack("{s:o, s:o}", "image", answer_tensor(d->c, out, "image", &t), "png",
		answer_picture(d->c, out, "image.png", &picture));
	return STATUS_OK;
}

TASK(text_to_image)
{
	struct diffusion d = { .c = c, .time_scale = 1, .guided_share = 1 };
	const struct tensor *sample;
	enum status st;

	if ((st = read_index(&d, err)) || (st = read_asked(&d, err)) || (st = d.kind->prepare(&d, err)) ||
		(st = open_scheduler(&d, err)) || (d.kind->use == DIFFUSE_STEERED && (st = diffuse_control_open(&d, err))) ||
		(st = diffuse_begin(&d, err)) || (st = denoise(&d, err)) || (st = decode(&d, &sample, err)) ||
		(st = fit(&d, &sample, err)))
		return st;
	return answer_image(&d, sample, out, err);
}
