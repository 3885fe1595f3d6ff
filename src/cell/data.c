// SPDX-License-Identifier: Apache-2.0
#include "cell/data.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact/identity.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/tensor.h"
#include "base/text.h"
#include "preprocess/decode.h"
#include "preprocess/preprocess.h"
#include "preprocess/sound.h"
#include "token/token.h"

// ---- what there is -------------------------------------------------------------------------------------------------------

static enum status look_at_file(const char *path, const char *name, uint64_t *sum, struct error *err)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return error_errno(err, "--data: %s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, STATUS_BAD_INPUT, "--data: %s is no regular file", name);
	if ((uint64_t)st.st_size > DATA_EXAMPLE_BYTES_MOST)
		return error_set(err, STATUS_BAD_INPUT, "--data: %s has %lld bytes, an example at most %llu", name,
			(long long)st.st_size, (unsigned long long)DATA_EXAMPLE_BYTES_MOST);
	*sum += (uint64_t)st.st_size;
	return *sum <= DATA_BYTES_MOST ? STATUS_OK
				       : error_set(err, STATUS_BAD_INPUT, "--data: its files have more than %llu bytes together",
						 (unsigned long long)DATA_BYTES_MOST);
}

static enum status too_many(const char *path, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "--data %s: more than %d examples", path, DATA_EXAMPLES_MOST);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct data_item *)a)->name, ((const struct data_item *)b)->name);
}

static enum status list_folder(struct data_set *out, struct arena *a, struct error *err)
{
	DIR *dir = opendir(out->folder);
	uint64_t sum = 0;
	enum status st = STATUS_OK;

	if (!dir)
		return error_errno(err, "--data %s", out->path);
	out->items = ARENA_ARRAY(a, DATA_EXAMPLES_MOST, struct data_item);
	for (struct dirent *e; !st && (e = readdir(dir));) {
		if (!text_ends(e->d_name, ".safetensors"))
			continue;
		if (out->count == DATA_EXAMPLES_MOST) {
			st = too_many(out->path, err);
			break;
		}
		struct data_item *item = &out->items[out->count++];
		item->name = arena_strdup(a, e->d_name);
		item->path = arena_printf(a, "%s/%s", out->folder, e->d_name);
		st = look_at_file(item->path, item->name, &sum, err);
	}
	closedir(dir);
	if (!st)
		qsort(out->items, out->count, sizeof *out->items, by_name);
	return st;
}

static const char *const file_keys[] = { "file", "image", "sound" };

static bool is_key(const char *key)
{
	static const char *const others[] = { "text", "text_pair", "label", "labels" };

	for (size_t i = 0; i < sizeof file_keys / sizeof *file_keys; i++)
		if (text_is(file_keys[i], key))
			return true;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (text_is(others[i], key))
			return true;
	return false;
}

// The file that a line names, below the set's folder; NULL: it names none.
static const char *file_of(struct arena *a, const struct data_set *set, const json_t *line)
{
	for (size_t i = 0; i < sizeof file_keys / sizeof *file_keys; i++) {
		const char *name = json_string_value(json_object_get(line, file_keys[i]));

		if (name)
			return arena_printf(a, "%s/%s", set->folder, name);
	}
	return NULL;
}

// Exactly one of file, text, image and sound, and no key that means nothing.
static enum status check_line(
	const struct data_set *set, struct arena *a, struct data_item *item, uint64_t *sum, struct error *err)
{
	json_t *line = json_line(item->line, strlen(item->line));
	const char *key, *path;
	json_t *value;
	size_t sources = 0;
	enum status st = STATUS_OK;

	if (!json_is_object(line))
		st = error_set(err, STATUS_BAD_INPUT, "--data %s, %s: no JSON object", set->path, item->name);
	json_object_foreach(line, key, value)
	{
		const bool is_label = text_starts(key, "label"), is_source = !is_label && !text_is(key, "text_pair");

		sources += is_source;
		if (!st && !is_key(key))
			st = error_set(err, STATUS_BAD_INPUT,
				"--data %s, %s: the key \"%.40s\" means nothing; file, text, text_pair, image, sound, label and "
				"labels "
				"do",
				set->path, item->name, key);
		if (!st && !is_label && !json_is_string(value))
			st = error_set(err, STATUS_BAD_INPUT, "--data %s, %s: %s is no text", set->path, item->name, key);
	}
	if (!st && json_object_get(line, "label") && json_object_get(line, "labels"))
		st = error_set(err, STATUS_BAD_INPUT, "--data %s, %s: it has both label and labels", set->path, item->name);
	if (!st && (sources != 1 || (json_object_get(line, "text_pair") && !json_object_get(line, "text"))))
		st = error_set(err, STATUS_BAD_INPUT, "--data %s, %s: one of file, text, image and sound is wanted", set->path,
			item->name);
	for (size_t i = 0; i < sizeof file_keys / sizeof *file_keys && !st; i++)
		if (text_starts(json_string_value(json_object_get(line, file_keys[i])), "/"))
			st = error_set(err, STATUS_BAD_INPUT,
				"--data %s, %s: files are named as seen from the folder of %s, and not by a path from /",
				set->path, item->name, set->path);
	if (!st && (path = file_of(a, set, line))) {
		st = look_at_file(
			path, arena_printf(a, "%s, %s: %s", set->path, item->name, path + strlen(set->folder) + 1), sum, err);
		if (!st && !model_has_inside(set->folder, path))
			st = error_set(
				err, STATUS_BAD_INPUT, "--data %s, %s: its file leads out of the folder", set->path, item->name);
		if (json_object_get(line, "file"))
			item->path = path;
	}
	json_decref(line);
	return st;
}

static enum status list_lines(struct data_set *out, struct arena *a, struct error *err)
{
	size_t nbytes, number = 0;
	uint64_t sum = 0;
	char *text;
	enum status st = file_read(a, out->path, DATA_FILE_MOST, &text, &nbytes, err);

	if (st)
		return st;
	if (memchr(text, 0, nbytes))
		return error_set(err, STATUS_BAD_INPUT, "--data %s: a byte 0 is in it", out->path);
	out->items = ARENA_ARRAY(a, DATA_EXAMPLES_MOST, struct data_item);
	for (char *at = text, *end; at < text + nbytes && !st; at = end + 1) {
		end = at + strcspn(at, "\n");
		number++;
		if ((size_t)(end - at) > DATA_LINE_MOST)
			return error_set(err, STATUS_BAD_INPUT, "--data %s, line %zu: more than %d bytes", out->path, number,
				DATA_LINE_MOST);
		if (strspn(at, " \t\r") >= (size_t)(end - at))
			continue;
		if (out->count == DATA_EXAMPLES_MOST)
			return too_many(out->path, err);
		struct data_item *item = &out->items[out->count++];
		item->name = arena_printf(a, "line %zu", number);
		item->line = arena_strndup(a, at, (size_t)(end - at));
		st = check_line(out, a, item, &sum, err);
	}
	return st;
}

enum status data_list(struct data_set *out, struct arena *a, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	const bool is_folder = file_is_dir(path);
	enum status st;

	*out = (struct data_set){ .path = path };
	out->folder = is_folder ? path : !slash ? "." : slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
	if (!is_folder && !file_exists(path))
		return error_set(err, STATUS_BAD_INPUT, "--data %s: no such file or folder", path);
	if (!is_folder && !text_ends(path, ".jsonl"))
		return error_set(
			err, STATUS_BAD_INPUT, "--data %s: a folder of .safetensors files is wanted, or a .jsonl file", path);
	st = is_folder ? list_folder(out, a, err) : list_lines(out, a, err);
	if (!st && !out->count)
		st = error_set(err, STATUS_BAD_INPUT, "--data %s: there is no %s in it", path,
			is_folder ? ".safetensors file" : "line with an example");
	return st;
}

const char *data_digest(struct arena *a, const char *path, const char *model)
{
	static const char *const prepares[] = { "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
		"added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model", "tokenizer.model",
		"preprocessor_config.json", "processor_config.json" };
	struct arena scratch = { 0 };
	struct data_set set;
	struct hash h;
	bool known = !data_list(&set, &scratch, path, NULL);
	char *hex = arena_alloc(a, 65);

	hash_init(&h);
	for (size_t i = 0; known && i < set.count; i++) {
		const struct data_item *item = &set.items[i];
		json_t *line = item->line ? json_line(item->line, strlen(item->line)) : NULL;
		const char *file = line ? file_of(&scratch, &set, line) : item->path;

		json_decref(line);
		hash_add_text(&h, item->line ? item->line : item->name);
		if (file) {
			const char *digest = file_digest_key(&scratch, file);

			known = digest_is_known(digest);
			hash_add_text(&h, digest);
		}
	}
	for (size_t i = 0;
		known && model && file_is_dir(model) && text_ends(path, ".jsonl") && i < sizeof prepares / sizeof *prepares;
		i++) {
		const char *file = arena_printf(&scratch, "%s/%s", model, prepares[i]);

		if (file_exists(file)) {
			hash_add_text(&h, prepares[i]);
			hash_add_text(&h, file_digest_key(&scratch, file));
		}
	}
	hash_hex(&h, hex);
	arena_done(&scratch);
	return known ? hex : digest_unknown(a);
}

// ---- labels ---------------------------------------------------------------------------------------------------------------

// An integer, or a word of label2id.
static enum status label_number(const json_t *x, const json_t *config, int64_t *out, struct error *err)
{
	const json_t *id = json_is_string(x) ? json_object_get(json_object_get(config, "label2id"), json_string_value(x)) : x;

	*out = json_integer_value(id);
	return json_is_integer(id) ? STATUS_OK
		: json_is_string(x)
		? error_set(err, STATUS_BAD_INPUT, "the label \"%.60s\" is not in the configuration's label2id",
			  json_string_value(x))
		: error_set(err, STATUS_BAD_INPUT, "a label is an integer, a word of label2id, or an array of these");
}

enum status data_check_labels(const char *path, const json_t *config, struct error *err)
{
	struct arena a = { 0 };
	struct data_set set;
	enum status st = data_list(&set, &a, path, err);

	for (size_t i = 0; !st && i < set.count; i++) {
		const struct data_item *item = &set.items[i];
		json_t *line = item->line ? json_line(item->line, strlen(item->line)) : NULL;
		const json_t *label = json_object_get(line, "label"), *given = label ? label : json_object_get(line, "labels");
		const bool is_list = json_is_array(given);
		int64_t number;

		for (size_t k = 0; given && !st && k < (is_list ? json_array_size(given) : 1); k++)
			st = label_number(is_list ? json_array_get(given, k) : given, config, &number, err);
		if (st)
			error_prefix(err, "--data %s, %s", set.path, item->name);
		json_decref(line);
	}
	arena_done(&a);
	return st;
}

// ---- one of them ---------------------------------------------------------------------------------------------------------

static bool is_integer(enum dtype t)
{
	return t == DTYPE_I64 || t == DTYPE_I32 || t == DTYPE_I16 || t == DTYPE_I8 || t == DTYPE_U8;
}

static enum status check_finite(const struct weight *w, const char *name, struct error *err)
{
	const struct tensor t = weight_tensor(w);
	size_t count;

	if (is_integer(w->dtype) || w->dtype == DTYPE_BOOL || !tensor_count(w->rank, w->dim, &count))
		return STATUS_OK;
	for (size_t i = 0; i < count; i++)
		if (!isfinite(tensor_get(&t, i)))
			return error_set(
				err, STATUS_BAD_INPUT, "--data, %s: element %zu of %s is not a finite number", name, i, w->name);
	return STATUS_OK;
}

static bool is_input(const struct data_reader *r, const char *name)
{
	for (size_t i = 0; i < r->type_count; i++)
		if (text_is(r->types[i].name, name))
			return true;
	return false;
}

static enum status read_file(
	struct data_example *out, struct arena *a, const struct data_item *item, const struct data_reader *r, struct error *err)
{
	struct shard shard;
	struct weight *all;
	size_t count;
	enum status st = safetensors_open(a, item->path, &shard, &all, &count, err);

	if (st)
		return error_prefix(err, "--data");
	out->inputs = ARENA_ARRAY(a, count + 1, struct weight);
	out->golden = ARENA_ARRAY(a, count + 1, struct weight);
	for (size_t i = 0; i < count && !st; i++) {
		const char *name = all[i].name;
		const bool is_label = text_is(name, "label") || text_is(name, "labels");

		st = check_finite(&all[i], item->name, err);
		if (is_label && !is_input(r, name)) {
			if (!is_integer(all[i].dtype))
				st = error_set(err, STATUS_BAD_INPUT, "--data, %s: %s is %s: integers are wanted", item->name,
					name, dtype_word(all[i].dtype));
			if (!st && out->labels)
				st = error_set(err, STATUS_BAD_INPUT, "--data, %s: it has both label and labels", item->name);
			out->labels = &all[i];
		} else if (text_starts(name, "in.") || is_input(r, name)) {
			out->inputs[out->input_count] = all[i];
			out->inputs[out->input_count++].name = text_starts(name, "in.") ? name : arena_printf(a, "in.%s", name);
		} else {
			out->golden[out->golden_count] = all[i];
			out->golden[out->golden_count++].name = text_starts(name, "out.") ? name + 4 : name;
		}
	}
	return st;
}

static void add_input(struct data_example *out, struct arena *a, const struct tensor *t)
{
	struct weight *w = &out->inputs[out->input_count++];

	*w = (struct weight){ .name = arena_printf(a, "in.%s", t->name),
		.dtype = t->dtype,
		.rank = t->rank,
		.nbytes = t->nbytes,
		.data = t->data };
	memcpy(w->dim, t->dim, sizeof w->dim);
}

static void add_ids(struct data_example *out, struct arena *a, const char *name, const int64_t *ids, size_t count)
{
	const struct tensor t = { .name = name,
		.dtype = DTYPE_I64,
		.rank = 2,
		.dim = { 1, (int64_t)count },
		.data = (void *)(uintptr_t)ids,
		.nbytes = count * sizeof *ids };

	add_input(out, a, &t);
}

// As a tokenizer of transformers is called with truncation=True and, where the graph's length is fixed, padding="max_length".
static enum status read_text(
	struct data_example *out, struct arena *a, const json_t *line, struct data_reader *r, struct error *err)
{
	const char *text = json_string_value(json_object_get(line, "text")),
		   *pair = json_string_value(json_object_get(line, "text_pair"));
	const struct token_text in = { text, strlen(text), pair, pair ? strlen(pair) : 0 };
	const int64_t most = r->text_length > 0 ? r->text_length : r->text_most;
	const struct truncation cut = { .max_length = (size_t)most, .strategy = LONGEST_FIRST };
	const struct padding pad = {
		.length = (size_t)r->text_length, .id = r->pad_token_id > 0 ? (uint32_t)r->pad_token_id : 0, .token = ""
	};
	struct encoding e;
	enum status st = STATUS_OK;

	if (!r->tokenizer && (st = tokenizer_open(&r->tokenizer, &r->arena, r->model, err)))
		return error_prefix(err, "--data: the model's tokenizer");
	if ((st = tokenizer_encode_batch(
		     r->tokenizer, a, &in, 1, true, most > 0 ? &cut : NULL, r->text_length > 0 ? &pad : NULL, &e, err)))
		return st;
	if (!e.count)
		return error_set(err, STATUS_BAD_INPUT, "its text has no token");
	int64_t *ids = ARENA_ARRAY(a, e.count, int64_t), *types = ARENA_ARRAY(a, e.count, int64_t),
		*mask = ARENA_ARRAY(a, e.count, int64_t);
	for (size_t i = 0; i < e.count; i++) {
		ids[i] = e.tokens[i].id;
		types[i] = e.tokens[i].type;
		mask[i] = !(e.tokens[i].flags & TOKEN_PADDING);
	}
	out->is_text = true;
	out->is_cut = e.overflow_count > 0;
	add_ids(out, a, "input_ids", ids, e.count);
	add_ids(out, a, "attention_mask", mask, e.count);
	add_ids(out, a, "token_type_ids", types, e.count);
	return STATUS_OK;
}

static enum status read_image(
	struct data_example *out, struct arena *a, const char *path, struct data_reader *r, struct error *err)
{
	struct picture picture;
	struct preprocessed made;
	enum status st = STATUS_OK;

	if (!r->preprocessor && (st = preprocessor_open(&r->preprocessor, &r->arena, r->model, err)))
		return error_prefix(err, "--data: the model's processor");
	if ((st = picture_open(&picture, a, path, err)) ||
		(st = preprocessor_run(r->preprocessor, PREPROCESS_TORCHVISION, &picture, 1, a, &made, err)))
		return st;
	for (size_t i = 0; i < made.count; i++)
		add_input(out, a, &made.tensors[i]);
	return STATUS_OK;
}

static enum status read_sound(
	struct data_example *out, struct arena *a, const char *path, struct data_reader *r, struct error *err)
{
	struct sound_wanted wanted;
	struct sound_features made;
	struct sound sound;
	enum status st = STATUS_OK;

	if (!r->sound && !(st = sound_settings(&r->sound, &r->arena, r->model, err)) && !r->sound)
		st = error_set(err, STATUS_BAD_INPUT, "the model has no feature extractor of sounds");
	if (st)
		return error_prefix(err, "--data");
	if ((st = sound_wanted(r->sound, NULL, &wanted, err)) || (st = sound_read(a, path, &wanted, &sound, err)) ||
		(st = sound_preprocess(a, r->sound, NULL, &sound, 1, NULL, &made, err)))
		return st;
	if (made.count > 8)
		return error_set(err, STATUS_UNSUPPORTED, "its processor gives %zu tensors", made.count);
	for (size_t i = 0; i < made.count; i++)
		add_input(out, a, &made.tensors[i]);
	return STATUS_OK;
}

static enum status read_labels(
	struct data_example *out, struct arena *a, const json_t *given, const struct data_reader *r, struct error *err)
{
	enum { IGNORED = -100 };
	const bool is_list = json_is_array(given);
	const size_t count = is_list ? json_array_size(given) : 1,
		     room = is_list && r->text_length > (int64_t)count ? (size_t)r->text_length : count;
	int64_t *labels = ARENA_ARRAY(a, room + 1, int64_t);
	struct weight *w = ARENA_NEW(a, struct weight);
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count && !st; i++)
		st = label_number(is_list ? json_array_get(given, i) : given, r->config, &labels[i], err);
	for (size_t i = count; i < room; i++)
		labels[i] = IGNORED; // of padding
	*w = (struct weight){ .name = "labels",
		.dtype = DTYPE_I64,
		.rank = is_list ? 2 : 1,
		.dim = { 1, (int64_t)room },
		.nbytes = room * sizeof *labels,
		.data = labels };
	out->labels = w;
	return st;
}

static enum status read_line(struct data_example *out, struct arena *a, const struct data_set *set, const json_t *line,
	struct data_reader *r, struct error *err)
{
	const char *path = file_of(a, set, line);
	const json_t *label = json_object_get(line, "label"), *labels = json_object_get(line, "labels");
	enum status st = STATUS_OK;

	if (!out->inputs)
		out->inputs = ARENA_ARRAY(a, 16, struct weight);
	if (json_object_get(line, "text"))
		st = read_text(out, a, line, r, err);
	else if (json_object_get(line, "image"))
		st = read_image(out, a, path, r, err);
	else if (json_object_get(line, "sound"))
		st = read_sound(out, a, path, r, err);
	if (!st && (label || labels))
		st = read_labels(out, a, label ? label : labels, r, err);
	return st;
}

enum status data_read(
	struct data_example *out, struct arena *a, const struct data_set *set, size_t i, struct data_reader *r, struct error *err)
{
	const struct data_item *item = &set->items[i];
	enum status st;

	*out = (struct data_example){ 0 };
	st = item->path ? read_file(out, a, item, r, err) : STATUS_OK;
	if (!st && item->line) {
		json_t *line = json_line(item->line, strlen(item->line));

		st = read_line(out, a, set, line, r, err);
		json_decref(line);
		if (st)
			return error_prefix(err, "--data %s, %s", set->path, item->name);
	}
	return st;
}

void data_reader_done(struct data_reader *r)
{
	json_decref(r->sound);
	arena_done(&r->arena);
}
