// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "preprocess/inside.h"

enum { SETTINGS_MOST = 1 << 20 };

struct preprocessor {
	const struct processor_class *row;
	struct settings s;
	uint64_t most; // bytes of all tensors of a run; 0: PREPROCESS_MOST
};

// ---- opening --------------------------------------------------------------------------------------------------------------

static enum status open_class(struct preprocessor **out, struct arena *a, const json_t *o, struct error *err)
{
	const char *name = json_string_value(json_object_get(o, "image_processor_type"));
	struct preprocessor *p = ARENA_NEW(a, struct preprocessor);
	enum status s;

	if (!name)
		name = json_string_value(json_object_get(o, "feature_extractor_type"));
	if (!name)
		return error_set(err, STATUS_BAD_INPUT, "neither image_processor_type nor feature_extractor_type says a class");
	if (!(p->row = processor_class_find(name)))
		return error_set(err, STATUS_UNSUPPORTED, "%s is no processor that is known here", visible_copy(a, name));
	if ((s = settings_read(&p->s, o, p->row, err)))
		return s;
	*out = p;
	return STATUS_OK;
}

enum status preprocessor_parse(
	struct preprocessor **out, struct arena *a, const char *name, const char *text, size_t nbytes, struct error *err)
{
	json_t *o = NULL;
	enum status s = json_bytes(name, text, nbytes, &o, err);

	if (s)
		return s;
	s = open_class(out, a, o, err);
	json_decref(o);
	return s ? error_prefix(err, "%s", name) : s;
}

static enum status open_timm(struct preprocessor **out, struct arena *a, const json_t *config, struct error *err)
{
	struct preprocessor *p = ARENA_NEW(a, struct preprocessor);
	enum status s;

	p->row = processor_class_timm();
	p->s = p->row->with;
	if ((s = settings_read_timm(&p->s, json_object_get(config, "pretrained_cfg"), err)))
		return s;
	*out = p;
	return STATUS_OK;
}

// Reads FOLDER/FILE; absent is OK with *out NULL.
static enum status read_json(json_t **out, struct arena *a, const char *folder, const char *file, struct error *err)
{
	const char *path = arena_printf(a, "%s/%s", folder, file);

	*out = NULL;
	return file_exists(path) ? json_file(path, SETTINGS_MOST, out, err) : STATUS_OK;
}

// The settings of a folder, within `file`, which the caller owns; NULL and OK: there are none. `timm`: those of config.json, too.
static enum status find_settings(json_t **file, const json_t **settings, const char **path, struct arena *a, const char *folder,
	bool timm, struct error *err)
{
	static const struct {
		const char *file, *member; // NULL: the whole
	} places[] = { { "processor_config.json", "image_processor" }, { "preprocessor_config.json", NULL },
		{ "config.json", "pretrained_cfg" } }; // in the order of transformers 5

	*file = NULL;
	*settings = NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places - !timm; i++) {
		enum status s = read_json(file, a, folder, places[i].file, err);

		if (s)
			return s;
		*settings = places[i].member ? json_object_get(*file, places[i].member) : *file;
		*path = arena_printf(a, "%s/%s", folder, places[i].file);
		if (json_is_object(*settings))
			return STATUS_OK;
		json_decref(*file);
		*file = NULL;
		*settings = NULL;
	}
	return STATUS_OK;
}

enum status preprocessor_open(struct preprocessor **out, struct arena *a, const char *folder, struct error *err)
{
	const json_t *settings;
	const char *path;
	json_t *file;
	enum status s = find_settings(&file, &settings, &path, a, folder, true, err);

	if (s)
		return s;
	if (!settings)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: no preprocessor_config.json, no image_processor in processor_config.json, no pretrained_cfg in "
			"config.json",
			folder);
	s = text_ends(path, "/config.json") ? open_timm(out, a, file, err) : open_class(out, a, settings, err);
	json_decref(file);
	return s ? error_prefix(err, "%s", path) : s;
}

enum status preprocessor_reduces_labels(bool *out, const char *folder, struct error *err)
{
	struct arena a = { 0 };
	const json_t *settings;
	const char *path;
	json_t *file;
	enum status s = find_settings(&file, &settings, &path, &a, folder, false, err);
	const json_t *now = s ? NULL : json_object_get(settings, "do_reduce_labels"),
		     *old = s ? NULL : json_object_get(settings, "reduce_labels");

	*out = json_is_true(now ? now : old);
	json_decref(file);
	arena_done(&a);
	return s;
}

void preprocessor_bound(struct preprocessor *p, uint64_t nbytes)
{
	p->most = nbytes;
}

const char *preprocessor_class(const struct preprocessor *p)
{
	return p->row->name;
}

// ---- levels ---------------------------------------------------------------------------------------------------------------

// A sample in float32, by the operations of the class in their order.
static float level_of(const struct settings *s, int channel, float x)
{
	float mean = (float)s->mean[channel], std = (float)s->std[channel], scale = (float)s->rescale_factor;
	bool rescale = s->on & DO_RESCALE, normalize = s->on & DO_NORMALIZE, offset = s->on & DO_OFFSET;

	if (rescale && normalize && !s->not_fused && !offset) {
		float by = (float)(1 / s->rescale_factor);
		x = (x - mean * by) / (std * by);
	} else {
		if (rescale)
			x = s->not_fused ? x / (float)(1 / s->rescale_factor) : x * scale;
		if (rescale && offset)
			x -= 1;
		if (normalize)
			x = (x - mean) / std;
	}
	return s->on & DO_INCLUDE_TOP ? x / std : x;
}

static void fill_levels(struct job *j)
{
	for (int k = 0; k < 3; k++)
		for (int x = 0; x < 256; x++)
			j->level[k][x] = level_of(j->s, k, (float)x);
}

void job_write(const struct job *j, const struct picture *p, float *out, size_t plane, size_t row, size_t column)
{
	bool flip = j->s->on & DO_FLIP;

	for (int y = 0; y < p->height; y++) {
		const uint8_t *from = picture_at(p, 0, y);
		for (int x = 0; x < p->width; x++, from += 3)
			for (int k = 0; k < 3; k++)
				out[(size_t)k * plane + (size_t)y * row + (size_t)x * column] =
					j->level[k][from[flip ? 2 - k : k]];
	}
}

// ---- running --------------------------------------------------------------------------------------------------------------

enum status job_tensor(
	struct tensor **out, struct job *j, const char *name, enum dtype dtype, int rank, const int64_t *dim, struct error *err)
{
	struct tensor *t = &j->out->tensors[j->out->count];
	char shape[128];
	size_t count;

	*t = (struct tensor){ .name = name, .dtype = dtype, .rank = rank };
	memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
	if (!tensor_count(rank, dim, &count) || count > j->most / dtype_size(dtype) ||
		j->out_nbytes + count * dtype_size(dtype) > j->most)
		return error_set(err, STATUS_BAD_INPUT, "%s %s would take more than %llu MiB", name,
			tensor_shape_text(rank, dim, shape, sizeof shape), (unsigned long long)(j->most >> 20));
	t->nbytes = count * dtype_size(dtype);
	j->out_nbytes += t->nbytes;
	t->data = arena_try(j->a, t->nbytes ? t->nbytes : 1);
	if (!t->data)
		return error_set(
			err, STATUS_NO_MEMORY, "no memory for %s %s", name, tensor_shape_text(rank, dim, shape, sizeof shape));
	j->out->count++;
	*out = t;
	return STATUS_OK;
}

enum status job_pixels(struct job *j, int64_t height, int64_t width, struct error *err)
{
	enum { WORKED_MOST = 1 << 28 }; // 1,024 tiles of 256 x 256, cut out of what was resized and padded, are less

	if (height > 0 && width > 0)
		j->worked += (uint64_t)height * (uint64_t)width;
	return j->worked <= WORKED_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "what is made of one picture takes more than %d pixels", WORKED_MOST);
}

enum status group_add(struct group *g, struct job *j, const struct picture *p, struct error *err)
{
	j->kept += (uint64_t)p->height * (uint64_t)p->width;
	if (j->kept > j->most / (3 * sizeof(float)))
		return error_set(
			err, STATUS_BAD_INPUT, "the pictures would take more than %llu MiB", (unsigned long long)(j->most >> 20));
	if (g->count == g->room) {
		struct picture *more = ARENA_ARRAY(j->keep, g->room * 2 + 1, struct picture);
		if (g->count)
			memcpy(more, g->pictures, g->count * sizeof *more);
		g->pictures = more;
		g->room = g->room * 2 + 1;
	}
	return picture_crop(&g->pictures[g->count++], j->keep, p, 0, 0, p->width, p->height, err);
}

static enum status run_steps(struct job *j, struct error *err)
{
	enum status s = STATUS_OK;

	j->groups = ARENA_ARRAY(j->keep, j->in_count, struct group);
	for (size_t i = 0; i < j->in_count && s == STATUS_OK; i++) {
		j->worked = 0;
		j->groups[i].height = j->in[i].height;
		j->groups[i].width = j->in[i].width;
		s = (j->row->shape ? j->row->shape : shape_plain)(j, &j->in[i], &j->groups[i], err);
		if (s)
			error_prefix(err, "picture %zu", i + 1);
		arena_done(j->work);
	}
	return s ? s : (j->row->pack ? j->row->pack : pack_stack)(j, err);
}

enum status preprocessor_run(const struct preprocessor *p, enum preprocess_backend backend, const struct picture *pictures,
	size_t count, struct arena *a, struct preprocessed *out, struct error *err)
{
	struct arena keep = { 0 }, work = { 0 };
	struct picture *rgb = ARENA_ARRAY(&keep, count + 1, struct picture);
	struct job j = { .row = p->row,
		.s = &p->s,
		.a = a,
		.keep = &keep,
		.work = &work,
		.in = rgb,
		.in_count = count,
		.out = out,
		.most = p->most ? p->most : PREPROCESS_MOST };
	enum status s = count ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "no pictures");

	j.library = backend == PREPROCESS_PIL || p->row == processor_class_timm() ? LIBRARY_PILLOW : LIBRARY_TORCHVISION;
	*out = (struct preprocessed){ 0 };
	fill_levels(&j);
	for (size_t i = 0; i < count && s == STATUS_OK; i++)
		if ((s = picture_check(pictures[i].width, pictures[i].height, err)) == STATUS_OK)
			s = picture_rgb(&rgb[i], &keep, &pictures[i], err);
	if (s == STATUS_OK)
		s = p->row->whole ? p->row->whole(&j, err) : run_steps(&j, err);
	arena_done(&work);
	arena_done(&keep);
	return s;
}
