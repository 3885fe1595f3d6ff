// SPDX-License-Identifier: Apache-2.0
// assay preprocess: the inputs of a model from pictures or sounds, as the model's own processor makes them.
#include <math.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "checkpoint/checkpoint.h"
#include "command.h"
#include "emit.h"
#include "hub/hub.h"
#include "preprocess/decode.h"
#include "preprocess/preprocess.h"
#include "preprocess/sound.h"
#include "show.h"

// Least, most and mean of a tensor's values: enough to see that two files hold the same.
struct range {
	double least, most, mean;
};

static struct range range_of(const struct tensor *t)
{
	size_t count = t->nbytes / dtype_size(t->dtype);
	struct range r = { INFINITY, -INFINITY, 0 };

	for (size_t i = 0; i < count; i++) {
		double x = tensor_get(t, i);
		r.least = fmin(r.least, x);
		r.most = fmax(r.most, x);
		r.mean += x / (double)count;
	}
	return r;
}

static void print_words(const struct tensor *tensors, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct tensor *t = &tensors[i];
		struct range r = range_of(t);
		char shape[128];
		emit("%-22s %s %s", t->name, dtype_word(t->dtype), tensor_shape_text(t->rank, t->dim, shape, sizeof shape));
		if (t->nbytes)
			emit("  least %.6g, most %.6g, mean %.6g\n", r.least, r.most, r.mean);
		else
			emit("  no values\n");
	}
}

// in: what the files are, which is taken.
static void print_json(const char *processor, const char *what, json_t *in, const struct tensor *tensors, size_t count)
{
	json_t *outputs = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct tensor *t = &tensors[i];
		struct range r = range_of(t);
		json_t *shape = json_array();
		for (int k = 0; k < t->rank; k++)
			json_array_append_new(shape, json_integer(t->dim[k]));
		json_t *one = json_pack("{s:s, s:s, s:o}", "name", t->name, "dtype", dtype_word(t->dtype), "shape", shape);
		json_object_set_new(one, "least", t->nbytes ? json_real(r.least) : json_null());
		json_object_set_new(one, "most", t->nbytes ? json_real(r.most) : json_null());
		json_object_set_new(one, "mean", t->nbytes ? json_real(r.mean) : json_null());
		json_array_append_new(outputs, one);
	}
	json_t *o = json_pack("{s:s, s:o, s:o}", "processor", processor, what, in, "outputs", outputs);
	show_json(o);
	json_decref(o);
}

struct asked {
	const char *to;
	enum preprocess_backend backend;
	bool json;
	char **files;
	size_t count;
};

static enum status give(const struct asked *q, const char *processor, const char *what, json_t *in, struct tensor *tensors,
	size_t count, struct error *err)
{
	enum status s = q->to ? safetensors_write_user(q->to, tensors, count, err) : STATUS_OK;

	if (s == STATUS_OK && q->json)
		print_json(processor, what, json_incref(in), tensors, count);
	else if (s == STATUS_OK)
		print_words(tensors, count);
	json_decref(in);
	return s;
}

static enum status look(const struct asked *q, const char *folder, struct arena *a, struct error *err)
{
	struct picture *pictures = ARENA_ARRAY(a, q->count, struct picture);
	struct preprocessor *p;
	struct preprocessed out;
	json_t *in;
	enum status s = preprocessor_open(&p, a, folder, err);

	for (size_t i = 0; i < q->count && s == STATUS_OK; i++)
		s = picture_open(&pictures[i], a, q->files[i], err);
	if (s || (s = preprocessor_run(p, q->backend, pictures, q->count, a, &out, err)))
		return s;
	in = json_array();
	for (size_t i = 0; i < q->count; i++)
		json_array_append_new(in,
			json_pack("{s:o, s:i, s:i}", "file", visible_json_string(q->files[i]), "width", pictures[i].width,
				"height", pictures[i].height));
	return give(q, preprocessor_class(p), "pictures", in, out.tensors, out.count, err);
}

// Sounds that the class's call takes together only with padding are padded to the longest.
static enum status hear(const struct asked *q, const json_t *settings, struct arena *a, struct error *err)
{
	struct sound *sounds = ARENA_ARRAY(a, q->count, struct sound);
	struct sound_wanted wanted;
	struct sound_features out;
	json_t *padding, *in;
	struct error why;
	enum status s = sound_wanted(settings, NULL, &wanted, err);

	size_t all = 0; // a batch is no larger than a sound may be
	for (size_t i = 0; i < q->count && s == STATUS_OK; i++) {
		s = sound_read(a, q->files[i], &wanted, &sounds[i], err);
		if (s == STATUS_OK && (all += sounds[i].length * (size_t)sounds[i].channels) > SOUND_MOST)
			s = error_set(err, STATUS_BAD_INPUT, "%s: more than %zu samples, with those before it", q->files[i],
				SOUND_MOST);
	}
	if (s == STATUS_OK && (s = sound_preprocess(a, settings, NULL, sounds, q->count, NULL, &out, err)) == STATUS_BAD_INPUT &&
		q->count > 1) {
		padding = json_pack("{s:b}", "padding", 1);
		if (sound_preprocess(a, settings, NULL, sounds, q->count, padding, &out, &why) == STATUS_OK)
			s = STATUS_OK;
		json_decref(padding);
	}
	if (s)
		return s;
	in = json_array();
	for (size_t i = 0; i < q->count; i++)
		json_array_append_new(in,
			json_pack("{s:o, s:i, s:I, s:i}", "file", visible_json_string(q->files[i]), "channels",
				sounds[i].channels, "samples", (json_int_t)sounds[i].length, "rate", sounds[i].rate));
	return give(q, json_string_value(json_object_get(settings, "feature_extractor_type")), "sounds", in, out.tensors,
		out.count, err);
}

static enum status run_files(const struct asked *q, const char *model, struct arena *a, struct error *err)
{
	json_t *settings = NULL;
	const char *folder;
	enum status s = hub_folder(&folder, a, model, "settings of a processor", err);

	if (s || (s = sound_settings(&settings, a, folder, err)))
		return s;
	s = settings ? hear(q, settings, a, err) : look(q, folder, a, err);
	json_decref(settings);
	return s;
}

static int run(int argc, char **argv)
{
	const char *to = NULL, *backend = "torchvision";
	bool json = false;
	const struct cli_option options[] = {
		{ "o", CLI_TEXT, &to, "OUT", "the safetensors file to write; without it only what it would hold is printed" },
		{ "backend", CLI_TEXT, &backend, "NAME",
			"of pictures: torchvision, what transformers 5 takes, or pil, its slow processors; default torchvision" },
		{ "json", CLI_FLAG, &json, NULL, "an object on standard output: processor, pictures or sounds, outputs" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay preprocess MODEL FILE... [-o inputs.safetensors] [--backend NAME] [--json]",
		.text = "MODEL is a folder, or a name that is in the Hub's cache, with image_processor or feature_extractor\n"
			"in processor_config.json; else with preprocessor_config.json, or timm's pretrained_cfg in "
			"config.json.\n"
			"A FILE is a JPEG, PNG, WebP or GIF (its first frame), turned as its EXIF says, alpha dropped; together\n"
			"they are one batch, or the frames of one video. For a model of sounds it is what libsndfile reads "
			"(WAV,\n"
			"FLAC, Ogg, MP3, ...), resampled to the model's rate, several padded to the longest. The tensors are\n"
			"those of the model's own processor in transformers, of pictures equal to the rounding of float32, "
			"under\n"
			"their names there (pixel_values, input_features, ...). A line a tensor is printed: name, type, shape,\n"
			"and least, most and mean value.\n\n"
			"  assay preprocess google/vit-base-patch16-224 cat.jpg -o inputs.safetensors\n"
			"  assay preprocess openai/whisper-tiny speech.wav -o inputs.safetensors\n\n"
			"Exit codes: 0 done; 1 bad use, a file or settings that cannot be read, a processor that is not "
			"known.\n",
		.options = options,
		.min_words = 2,
		.max_words = -1,
	};
	struct arena a = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);
	enum status s;

	if (code >= 0)
		return code;
	if (!text_is(backend, "torchvision") && !text_is(backend, "pil"))
		return cli_bad_use("--backend is torchvision or pil, not '%s'", backend);
	for (int i = 1; i < words; i++)
		if (to && file_is_same(to, argv[i + 1]))
			return cli_bad_use("-o %s is what it would be made from", to);
	s = run_files(&(struct asked){ to, text_is(backend, "pil") ? PREPROCESS_PIL : PREPROCESS_TORCHVISION, json, argv + 2,
			      (size_t)words - 1 },
		argv[1], &a, &err);
	arena_done(&a);
	return s == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

const struct command command_preprocess = { "preprocess", "pictures or sounds to a model's inputs, by its own processor", run };
