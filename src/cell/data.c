// SPDX-License-Identifier: Apache-2.0
#include "cell/data.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "artifact/identity.h"
#include "artifact/writes.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/tensor.h"
#include "base/text.h"
#include "preprocess/decode.h"
#include "stats/overlap.h"
#include "stats/word_error.h"

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

static struct data_item *add_item(struct data_set *out, struct error *err)
{
	if (out->count < DATA_EXAMPLES_MOST)
		return &out->items[out->count++];
	too_many(out->path, err);
	return NULL;
}

// What a line may say. An example has one source and at most one target.
static const struct key {
	const char *name;
	enum key_role { OF_SOURCE, OF_TARGET, OF_PAIR } role;
	bool is_file; // its text is a path
	bool is_text;
} keys[] = {
	{ "file", OF_SOURCE, true, true },
	{ "text", OF_SOURCE, false, true },
	{ "text_file", OF_SOURCE, true, true },
	{ "image", OF_SOURCE, true, true },
	{ "sound", OF_SOURCE, true, true },
	{ "text_pair", OF_PAIR, false, true },
	{ "label", OF_TARGET, false, false },
	{ "labels", OF_TARGET, false, false },
	{ "transcript", OF_TARGET, false, true },
	{ "boxes", OF_TARGET, false, false },
	{ "mask", OF_TARGET, true, true },
};
enum { KEYS = sizeof keys / sizeof *keys };

static const struct key *key_of(const char *name)
{
	for (size_t i = 0; i < KEYS; i++)
		if (text_is(keys[i].name, name))
			return &keys[i];
	return NULL;
}

// The file that a member of a line names, below the set's folder; NULL: it names none.
static const char *file_at(struct arena *a, const struct data_set *set, const json_t *line, const char *key)
{
	const char *name = json_string_value(json_object_get(line, key));

	return name ? arena_printf(a, "%s/%s", set->folder, name) : NULL;
}

static enum status check_file(
	const struct data_set *set, struct arena *a, const char *name, const char *where, uint64_t *sum, struct error *err)
{
	const char *path = arena_printf(a, "%s/%s", set->folder, name);
	enum status st;

	if (*name == '/')
		return error_set(err, STATUS_BAD_INPUT,
			"--data %s, %s: files are named as seen from the folder of %s, and not by a path from /", set->path,
			where, set->path);
	if ((st = look_at_file(path, arena_printf(a, "%s, %s: %s", set->path, where, name), sum, err)))
		return st;
	return model_has_inside(set->folder, path)
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "--data %s, %s: its file leads out of the folder", set->path, where);
}

// The words that are wanted: at least one, since their number is what errors are divided by.
static enum status check_transcript(const char *text, struct error *err)
{
	const size_t words = word_error_words(text);

	return !words ? error_set(err, STATUS_BAD_INPUT, "transcript has no word")
		: words > WORD_ERROR_WORDS_MOST
		? error_set(err, STATUS_BAD_INPUT, "transcript has more than %d words", WORD_ERROR_WORDS_MOST)
		: STATUS_OK;
}

static enum status check_boxes(const json_t *boxes, struct error *err)
{
	const json_t *one, *x;
	size_t i, k;

	if (!json_is_array(boxes) || json_array_size(boxes) > DATA_BOXES_MOST)
		return error_set(err, STATUS_BAD_INPUT, "boxes is no array of at most %d boxes", DATA_BOXES_MOST);
	json_array_foreach(boxes, i, one)
	{
		const json_t *box = json_object_get(one, "box"), *crowd = json_object_get(one, "crowd");
		bool good = json_array_size(box) == 4 && json_object_get(one, "label") && (!crowd || json_is_boolean(crowd)) &&
			json_object_size(one) == (crowd ? 3 : 2);

		json_array_foreach(box, k, x) good = good && json_is_number(x) &&
			fabs(json_number_value(x)) <= PICTURE_SIDE_MOST && (k < 2 || json_number_value(x) > 0);
		if (!good)
			return error_set(err, STATUS_BAD_INPUT,
				"box %zu: {\"label\": L, \"box\": [left, top, width, height]} of numbers up to %d is wanted, and "
				"\"crowd\": true where it is one",
				i + 1, PICTURE_SIDE_MOST);
	}
	return STATUS_OK;
}

// The member that a line has of a role; *count of them.
static const char *member_of(const json_t *line, enum key_role role, size_t *count)
{
	const char *found = NULL;

	*count = 0;
	for (size_t i = 0; i < KEYS; i++)
		if (keys[i].role == role && json_object_get(line, keys[i].name)) {
			found = keys[i].name;
			++*count;
		}
	return found;
}

// Exactly one source, at most one target, which goes with it, and no key that means nothing.
static enum status check_members(json_t *line, struct error *err)
{
	const char *name, *source, *target;
	json_t *value;
	size_t sources, targets;

	if (!json_is_object(line))
		return error_set(err, STATUS_BAD_INPUT, "no JSON object");
	json_object_foreach(line, name, value)
	{
		const struct key *key = key_of(name);

		if (!key)
			return error_set(err, STATUS_BAD_INPUT,
				"the key \"%.40s\" means nothing; file, text, text_pair, text_file, image, sound, label, labels, "
				"transcript, boxes and mask do",
				name);
		if (key->is_text && !json_is_string(value))
			return error_set(err, STATUS_BAD_INPUT, "%s is no text", name);
	}
	source = member_of(line, OF_SOURCE, &sources);
	target = member_of(line, OF_TARGET, &targets);
	if (sources != 1 || (json_object_get(line, "text_pair") && !json_object_get(line, "text")))
		return error_set(err, STATUS_BAD_INPUT, "one of file, text, text_file, image and sound is wanted");
	if (json_object_get(line, "label") && json_object_get(line, "labels"))
		return error_set(err, STATUS_BAD_INPUT, "it has both label and labels");
	if (targets > 1)
		return error_set(err, STATUS_BAD_INPUT, "it has more than one of label, labels, transcript, boxes and mask");
	if ((text_is(target, "boxes") || text_is(target, "mask")) && !text_is(source, "image"))
		return error_set(err, STATUS_BAD_INPUT, "%s are of an image, and it has %s", target, source);
	if (text_is(target, "transcript"))
		return check_transcript(json_string_value(json_object_get(line, target)), err);
	return text_is(target, "boxes") ? check_boxes(json_object_get(line, target), err) : STATUS_OK;
}

static enum status check_line(
	const struct data_set *set, struct arena *a, struct data_item *item, uint64_t *sum, struct error *err)
{
	json_t *line = json_line(item->line, strlen(item->line));
	enum status st = check_members(line, err);

	if (st)
		error_prefix(err, "--data %s, %s", set->path, item->name);
	for (size_t i = 0; i < KEYS && !st; i++) {
		const char *name = keys[i].is_file ? json_string_value(json_object_get(line, keys[i].name)) : NULL;

		if (name) {
			item->names_files = true;
			st = check_file(set, a, name, item->name, sum, err);
		}
	}
	if (!st)
		item->path = file_at(a, set, line, "file");
	json_decref(line);
	return st;
}

static enum status list_lines(struct data_set *out, struct arena *a, struct error *err)
{
	size_t nbytes, number = 0, weight = 0;
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
		weight += json_weight(at, (size_t)(end - at), DATA_WEIGHT_MOST);
		if (weight > DATA_WEIGHT_MOST)
			return error_set(err, STATUS_BAD_INPUT,
				"--data %s, line %zu: with the lines before it, more values than are read at once (%d MiB in "
				"memory): part the set",
				out->path, number, DATA_WEIGHT_MOST >> 20);
		struct data_item *item = add_item(out, err);
		if (!item)
			return STATUS_BAD_INPUT;
		item->name = arena_printf(a, "line %zu", number);
		item->line = at;
		*end = 0; // a line's end, or the text's
		st = check_line(out, a, item, &sum, err);
	}
	return st;
}

// ---- folders -------------------------------------------------------------------------------------------------------------

// The kind of an example that lies in the folder of its class, by the file's name; NULL: it is none.
static const char *kind_of(const char *name)
{
	static const struct {
		const char *ending, *key;
	} kinds[] = { { ".png", "image" }, { ".jpg", "image" }, { ".jpeg", "image" }, { ".webp", "image" }, { ".gif", "image" },
		{ ".wav", "sound" }, { ".flac", "sound" }, { ".mp3", "sound" }, { ".ogg", "sound" }, { ".txt", "text_file" } };
	const size_t n = strlen(name);

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const size_t k = strlen(kinds[i].ending);

		if (n > k && !strcasecmp(name + n - k, kinds[i].ending))
			return kinds[i].key;
	}
	return NULL;
}

// The line that says the same of a file in the folder of a class: a number where the folder's name is one.
static enum status class_line(
	struct data_item *item, struct arena *a, const char *class_name, const char *file, struct error *err)
{
	int64_t number;
	json_t *label = text_to_int(class_name, 0, INT32_MAX, &number) ? json_integer(number) : json_string(class_name),
	       *line = json_pack("{s:s, s:o}", kind_of(file), arena_printf(a, "%s/%s", class_name, file), "label", label);
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

	json_decref(line);
	if (!text)
		return error_set(err, STATUS_BAD_INPUT, "--data: a name in it is not UTF-8");
	item->line = arena_strdup(a, text);
	item->name = arena_printf(a, "%s/%s", class_name, file);
	free(text);
	return STATUS_OK;
}

static enum status list_class(struct data_set *out, struct arena *a, const char *class_name, uint64_t *sum, struct error *err)
{
	DIR *dir = opendir(arena_printf(a, "%s/%s", out->folder, class_name));
	enum status st = STATUS_OK;
	int code = 0;

	if (!dir)
		return error_errno(err, "--data %s/%s", out->path, class_name);
	for (struct dirent *e; !st && (e = file_next(dir, &code));) {
		struct data_item *item;

		if (*e->d_name == '.')
			continue;
		if (!kind_of(e->d_name))
			st = error_set(err, STATUS_BAD_INPUT,
				"--data %s: %s/%s is neither a picture nor a sound nor a text (*.txt) by its name", out->path,
				class_name, e->d_name);
		else if (!(item = add_item(out, err)))
			st = STATUS_BAD_INPUT;
		else if (!(st = class_line(item, a, class_name, e->d_name, err)))
			st = check_line(out, a, item, sum, err);
	}
	closedir(dir);
	errno = code;
	return st || !code ? st : error_errno(err, "--data %s/%s", out->path, class_name);
}

static enum status list_example(struct data_set *out, struct arena *a, const char *name, uint64_t *sum, struct error *err)
{
	enum { LEAST = 8 + 2 }; // the length of an empty header, and that header
	struct data_item *item = add_item(out, err);
	const uint64_t before = *sum;

	if (!item)
		return STATUS_BAD_INPUT;
	item->name = arena_strdup(a, name);
	item->path = arena_printf(a, "%s/%s", out->folder, name);
	enum status st = look_at_file(item->path, item->name, sum, err);
	if (!st && !model_has_inside(out->folder, item->path))
		st = error_set(err, STATUS_BAD_INPUT, "--data %s: %s leads out of the folder", out->path, name);
	if (!st && *sum - before < LEAST)
		st = error_set(err, STATUS_BAD_INPUT, "--data: %s has %d bytes, a safetensors file at least %d", name,
			(int)(*sum - before), LEAST);
	return st;
}

// Of a folder with a .safetensors file these, else what lies in its folders.
static enum status list_folder(struct data_set *out, struct arena *a, struct error *err)
{
	DIR *dir = opendir(out->folder);
	const char **classes = ARENA_ARRAY(a, DATA_CLASSES_MOST, const char *);
	size_t class_count = 0;
	uint64_t sum = 0;
	enum status st = STATUS_OK;
	int code = 0;

	if (!dir)
		return error_errno(err, "--data %s", out->path);
	out->items = ARENA_ARRAY(a, DATA_EXAMPLES_MOST, struct data_item);
	for (struct dirent *e; !st && (e = file_next(dir, &code));) {
		if (text_ends(e->d_name, ".safetensors"))
			st = list_example(out, a, e->d_name, &sum, err);
		else if (*e->d_name != '.' && file_is_dir(arena_printf(a, "%s/%s", out->folder, e->d_name)) &&
			class_count < DATA_CLASSES_MOST)
			classes[class_count++] = arena_strdup(a, e->d_name);
	}
	closedir(dir);
	errno = code;
	if (!st && code)
		st = error_errno(err, "--data %s", out->path);
	if (!st && !out->count && class_count == DATA_CLASSES_MOST)
		st = error_set(err, STATUS_BAD_INPUT, "--data %s: %d folders and more", out->path, DATA_CLASSES_MOST);
	for (size_t i = 0; i < class_count && !st && (!out->count || out->items[0].line); i++)
		st = list_class(out, a, classes[i], &sum, err);
	if (!st && out->count)
		qsort(out->items, out->count, sizeof *out->items, by_name);
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
		return error_set(err, STATUS_BAD_INPUT,
			"--data %s: a folder of .safetensors files or of folders of classes is wanted, or a .jsonl file", path);
	st = is_folder ? list_folder(out, a, err) : list_lines(out, a, err);
	if (!st && !out->count)
		st = error_set(err, STATUS_BAD_INPUT, "--data %s: there is no %s in it", path,
			is_folder ? ".safetensors file and no folder of examples" : "line with an example");
	return st;
}

// Each file that an item names.
static bool add_files(struct hash *h, struct arena *a, const struct data_set *set, const struct data_item *item)
{
	json_t *line = item->names_files ? json_line(item->line, strlen(item->line)) : NULL;
	bool known = true;

	hash_add_text(h, item->line ? item->line : item->name);
	for (size_t i = 0; i < KEYS && known; i++) {
		const char *file = line && keys[i].is_file ? file_at(a, set, line, keys[i].name) : i == 0 ? item->path : NULL;
		const char *digest = file ? file_digest_key(a, file) : NULL;

		if (digest) {
			known = digest_is_known(digest);
			hash_add_text(h, digest);
		}
	}
	json_decref(line);
	return known;
}

const char *data_digest(struct arena *a, const char *path, const char *model)
{
	struct arena scratch = { 0 };
	struct data_set set;
	struct hash h;
	bool known = !data_list(&set, &scratch, path, NULL);
	char *hex = arena_alloc(a, 65);
	const char *name;

	hash_init(&h);
	for (size_t i = 0; known && i < set.count; i++)
		known = add_files(&h, &scratch, &set, &set.items[i]);
	const bool prepares = known && model && file_is_dir(model) && set.items[0].line;
	for (size_t i = 0; prepares && (name = prepare_file(i)); i++) {
		const char *file = arena_printf(&scratch, "%s/%s", model, name);

		if (file_exists(file)) {
			hash_add_text(&h, name);
			hash_add_text(&h, file_digest_key(&scratch, file));
		}
	}
	hash_hex(&h, hex);
	arena_done(&scratch);
	return known ? hex : digest_unknown(a);
}

void data_watch(int watch, const char *path)
{
	struct arena a = { 0 };
	struct data_set set;
	bool watched = writes_add(watch, path) && !data_list(&set, &a, path, NULL);

	for (size_t i = 0; watched && i < set.count; i++) {
		const struct data_item *item = &set.items[i];
		json_t *line = item->names_files ? json_line(item->line, strlen(item->line)) : NULL;

		watched = !item->path || writes_add(watch, item->path);
		for (size_t k = 0; line && k < KEYS && watched; k++) {
			const char *file = keys[k].is_file ? file_at(&a, &set, line, keys[k].name) : NULL;

			watched = !file || writes_add(watch, file);
		}
		json_decref(line);
	}
	arena_done(&a);
}

// ---- labels ---------------------------------------------------------------------------------------------------------------

enum { LABEL_IGNORED = -100 };

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

int64_t data_classes(const json_t *config)
{
	const size_t named = json_object_size(json_object_get(config, "id2label"));
	const int64_t count = json_integer_value(json_object_get(config, "num_labels"));

	return named ? (int64_t)named : count > 0 ? count : 0;
}

static enum status check_label(const json_t *given, const json_t *config, int64_t classes, struct error *err)
{
	int64_t number;
	enum status st = label_number(given, config, &number, err);

	return st || !classes || number == LABEL_IGNORED || (number >= 0 && number < classes)
		? st
		: error_set(
			  err, STATUS_BAD_INPUT, "the label %lld is none of %lld classes", (long long)number, (long long)classes);
}

static enum status check_labels(const json_t *line, const json_t *config, int64_t classes, struct error *err)
{
	const json_t *label = json_object_get(line, "label"), *given = label ? label : json_object_get(line, "labels"),
		     *boxes = json_object_get(line, "boxes"), *box;
	const bool is_list = json_is_array(given);
	int64_t number;
	size_t i;
	enum status st = STATUS_OK;

	for (size_t k = 0; given && !st && k < (is_list ? json_array_size(given) : 1); k++)
		st = check_label(is_list ? json_array_get(given, k) : given, config, classes, err);
	json_array_foreach(boxes, i, box) if (!st) st = label_number(json_object_get(box, "label"), config, &number, err);
	return st;
}

enum status data_check_labels(const struct data_set *set, const json_t *config, int64_t classes, struct error *err)
{
	enum status st = STATUS_OK;

	for (size_t i = 0; !st && i < set->count; i++) {
		const struct data_item *item = &set->items[i];
		json_t *line = item->line ? json_line(item->line, strlen(item->line)) : NULL;

		if ((st = check_labels(line, config, classes, err)))
			error_prefix(err, "--data %s, %s", set->path, item->name);
		json_decref(line);
	}
	return st;
}

bool data_dictates(const char *model_type)
{
	return text_is(model_type, "whisper");
}

bool data_has(const struct data_set *set, const char *member)
{
	bool found = false;

	for (size_t i = 0; !found && i < set->count; i++) {
		const char *text = set->items[i].line;
		const bool may_have = text && (strstr(text, member) || strchr(text, '\\'));
		json_t *line = may_have ? json_line(text, strlen(text)) : NULL;

		found = json_object_get(line, member) != NULL;
		json_decref(line);
	}
	return found;
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

static enum status read_labels(
	struct data_example *out, struct arena *a, const json_t *given, const struct data_reader *r, struct error *err)
{
	const bool is_list = json_is_array(given);
	const size_t count = is_list ? json_array_size(given) : 1,
		     room = is_list && r->how.text_length > (int64_t)count ? (size_t)r->how.text_length : count;
	int64_t *labels = ARENA_ARRAY(a, room + 1, int64_t);
	struct weight *w = ARENA_NEW(a, struct weight);
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count && !st; i++)
		st = label_number(is_list ? json_array_get(given, i) : given, r->config, &labels[i], err);
	for (size_t i = count; i < room; i++)
		labels[i] = LABEL_IGNORED; // of padding
	*w = (struct weight){ .name = "labels",
		.dtype = DTYPE_I64,
		.rank = is_list ? 2 : 1,
		.dim = { 1, (int64_t)room },
		.nbytes = room * sizeof *labels,
		.data = labels };
	out->labels = w;
	return st;
}

static enum status read_boxes(
	struct data_example *out, struct arena *a, const json_t *boxes, const json_t *config, struct error *err)
{
	const json_t *one;
	size_t i;
	enum status st = STATUS_OK;

	out->boxes = ARENA_ARRAY(a, json_array_size(boxes) + 1, struct detection);
	json_array_foreach(boxes, i, one)
	{
		struct detection *d = &out->boxes[out->box_count++];
		int64_t label;

		if ((st = label_number(json_object_get(one, "label"), config, &label, err)))
			return st;
		d->kind = json_is_true(json_object_get(one, "crowd")) ? DETECTION_CROWD : DETECTION_TRUTH;
		d->label = (double)label;
		for (size_t k = 0; k < 4; k++)
			d->box[k] = json_number_value(json_array_get(json_object_get(one, "box"), k));
	}
	return st;
}

// A PNG of grey, whose numbers are classes: what another format or a palette makes of them is not known.
static enum status read_mask(
	struct data_example *out, struct arena *a, const char *path, const struct data_reader *r, struct error *err)
{
	const uint8_t *data;
	size_t nbytes;
	enum status st;

	if ((st = file_map(a, path, &data, &nbytes, err)) ||
		(st = picture_decode(&out->mask, a, path, data, nbytes, DATA_MASK_MOST, err)))
		return st;
	const size_t pixels = (size_t)out->mask.width * (size_t)out->mask.height;
	if (nbytes < 8 || memcmp(data, "\x89PNG", 4))
		return error_set(err, STATUS_BAD_INPUT, "%s: a mask is a PNG file", path);
	if (out->mask.width != out->width || out->mask.height != out->height)
		return error_set(err, STATUS_BAD_INPUT, "%s: a mask of %d x %d for a picture of %d x %d", path, out->mask.width,
			out->mask.height, out->width, out->height);
	for (size_t i = 0; i < pixels; i++) {
		uint8_t *at = out->mask.pixels + 3 * i;

		if (at[0] != at[1] || at[1] != at[2])
			return error_set(err, STATUS_BAD_INPUT, "%s: a mask is a grey picture, and this one has colours", path);
		if (r->reduces_labels)
			at[0] = at[0] == 0 || at[0] == OVERLAP_IGNORED ? OVERLAP_IGNORED : at[0] - 1;
	}
	return STATUS_OK;
}

static enum status read_source(struct data_example *out, struct arena *a, const struct data_set *set, const json_t *line,
	struct data_reader *r, struct error *err)
{
	struct prepared *made = ARENA_NEW(a, struct prepared);
	const char *text = json_string_value(json_object_get(line, "text")),
		   *pair = json_string_value(json_object_get(line, "text_pair")), *file;
	enum status st = STATUS_OK;

	if (text)
		st = prepare_text(made, a, text, pair, &r->how, err);
	else if ((file = file_at(a, set, line, "text_file")))
		st = prepare_text_file(made, a, file, &r->how, err);
	else if ((file = file_at(a, set, line, "image")))
		st = prepare_image(made, a, file, &r->how, err);
	else if ((file = file_at(a, set, line, "sound")) && r->leaves_sounds && json_object_get(line, "transcript"))
		out->sound = file;
	else if (file)
		st = prepare_sound(made, a, file, &r->how, err);
	else
		return STATUS_OK; // a safetensors file, which is read already
	out->inputs = made->items;
	out->input_count = made->count;
	out->is_text = made->is_text;
	out->is_cut = made->is_cut;
	out->width = made->width;
	out->height = made->height;
	return st;
}

static enum status read_line(struct data_example *out, struct arena *a, const struct data_set *set, const json_t *line,
	struct data_reader *r, struct error *err)
{
	const json_t *label = json_object_get(line, "label"), *labels = json_object_get(line, "labels"),
		     *boxes = json_object_get(line, "boxes");
	const char *transcript = json_string_value(json_object_get(line, "transcript")), *mask = file_at(a, set, line, "mask");
	enum status st = read_source(out, a, set, line, r, err);

	if (st)
		return st;
	if ((label || labels || transcript) && (out->labels || out->golden_count))
		return error_set(err, STATUS_BAD_INPUT, "the line has %s, and its file %s: one of them is wanted",
			label            ? "label"
				: labels ? "labels"
					 : "transcript",
			out->labels ? "labels" : "outputs to be held against");
	out->transcript = arena_strdup(a, transcript);
	if (boxes)
		return read_boxes(out, a, boxes, r->config, err);
	if (mask)
		return read_mask(out, a, mask, r, err);
	return label || labels ? read_labels(out, a, label ? label : labels, r, err) : STATUS_OK;
}

enum status data_read(
	struct data_example *out, struct arena *a, const struct data_set *set, size_t i, struct data_reader *r, struct error *err)
{
	const struct data_item *item = &set->items[i];
	enum status st;

	*out = (struct data_example){ 0 };
	st = item->path ? read_file(out, a, item, r, err) : STATUS_OK;
	if (!st && out->labels && out->golden_count)
		st = error_set(err, STATUS_BAD_INPUT,
			"--data, %s: it has both labels and outputs to be held against: one of them is wanted", item->name);
	if (!st && item->line) {
		json_t *line = json_line(item->line, strlen(item->line));

		st = read_line(out, a, set, line, r, err);
		json_decref(line);
		if (st)
			return error_prefix(err, "--data %s, %s", set->path, item->name);
	}
	return st;
}
