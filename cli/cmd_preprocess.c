// SPDX-License-Identifier: Apache-2.0
// assay preprocess: the inputs of a vision model from pictures, as the model's own processor makes them.
#include <math.h>

#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "checkpoint/checkpoint.h"
#include "command.h"
#include "emit.h"
#include "preprocess/decode.h"
#include "preprocess/preprocess.h"
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

static void print_words(const struct preprocessed *out)
{
	for (size_t i = 0; i < out->count; i++) {
		const struct tensor *t = &out->tensors[i];
		struct range r = range_of(t);
		char shape[128];
		emit("%-22s %s %s  least %.6g, most %.6g, mean %.6g\n", t->name, dtype_word(t->dtype),
			tensor_shape_text(t->rank, t->dim, shape, sizeof shape), r.least, r.most, r.mean);
	}
}

static void print_json(
	const struct preprocessor *p, char **files, const struct picture *pictures, size_t count, const struct preprocessed *out)
{
	json_t *in = json_array(), *outputs = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(in,
			json_pack("{s:o, s:i, s:i}", "file", visible_json_string(files[i]), "width", pictures[i].width, "height",
				pictures[i].height));
	for (size_t i = 0; i < out->count; i++) {
		const struct tensor *t = &out->tensors[i];
		struct range r = range_of(t);
		json_t *shape = json_array();
		for (int k = 0; k < t->rank; k++)
			json_array_append_new(shape, json_integer(t->dim[k]));
		json_array_append_new(outputs,
			json_pack("{s:s, s:s, s:o, s:f, s:f, s:f}", "name", t->name, "dtype", dtype_word(t->dtype), "shape",
				shape, "least", r.least, "most", r.most, "mean", r.mean));
	}
	json_t *o = json_pack("{s:s, s:o, s:o}", "processor", preprocessor_class(p), "pictures", in, "outputs", outputs);
	show_json(o);
	json_decref(o);
}

static enum status run_files(const char *model, enum preprocess_backend backend, const char *to, bool json, char **files,
	size_t count, struct arena *a, struct error *err)
{
	struct picture *pictures = ARENA_ARRAY(a, count, struct picture);
	struct preprocessor *p;
	struct preprocessed out;
	const char *folder;
	enum status s = cli_model_folder(&folder, a, model, "settings of a processor", err);

	if (s == STATUS_OK)
		s = preprocessor_open(&p, a, folder, err);
	for (size_t i = 0; i < count && s == STATUS_OK; i++)
		s = picture_open(&pictures[i], a, files[i], err);
	if (s == STATUS_OK)
		s = preprocessor_run(p, backend, pictures, count, a, &out, err);
	if (s == STATUS_OK && to)
		s = safetensors_write(to, out.tensors, out.count, err);
	if (s == STATUS_OK && json)
		print_json(p, files, pictures, count, &out);
	else if (s == STATUS_OK)
		print_words(&out);
	return s;
}

static int run(int argc, char **argv)
{
	const char *to = NULL, *backend = "torchvision";
	bool json = false;
	const struct cli_option options[] = {
		{ "o", CLI_TEXT, &to, "OUT", "the safetensors file to write; without it only what it would hold is printed" },
		{ "backend", CLI_TEXT, &backend, "NAME",
			"torchvision, what transformers 5 takes, or pil, its slow processors; default torchvision" },
		{ "json", CLI_FLAG, &json, NULL, "an object on standard output: processor, pictures, outputs" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay preprocess MODEL FILE... [-o inputs.safetensors] [--backend NAME] [--json]",
		.text = "MODEL is a folder, or a name that is in the Hub's cache, with preprocessor_config.json; else with\n"
			"image_processor in processor_config.json, or timm's pretrained_cfg in config.json. A FILE is a JPEG,\n"
			"PNG, WebP or GIF (its first frame), turned as its EXIF says, alpha dropped; together they are one\n"
			"batch, or the frames of one video. The tensors are those of the model's own processor in transformers,\n"
			"equal to the rounding of float32, under their names there (pixel_values, pixel_mask, ...). A line a\n"
			"tensor is printed: name, type, shape, and least, most and mean value.\n\n"
			"  assay preprocess google/vit-base-patch16-224 cat.jpg -o inputs.safetensors\n\n"
			"Exit codes: 0 done; 1 bad use, a picture or settings that cannot be read, a processor that is not "
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
	s = run_files(argv[1], text_is(backend, "pil") ? PREPROCESS_PIL : PREPROCESS_TORCHVISION, to, json, argv + 2,
		(size_t)words - 1, &a, &err);
	arena_done(&a);
	return s == STATUS_OK ? EXIT_GOOD : cli_error(&err);
}

const struct command command_preprocess = { "preprocess", "pictures to a model's inputs, by its own processor", run };
