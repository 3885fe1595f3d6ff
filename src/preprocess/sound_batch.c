// SPDX-License-Identifier: Apache-2.0
// Settings, options, padding and masks: FeatureExtractionMixin and SequenceFeatureExtractor of the library.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "preprocess/sound_inside.h"

// ---- settings -------------------------------------------------------------------------------------------------------------

static void bad_setting(struct work *w, const char *key, const char *what)
{
	if (!w->status)
		w->status = error_set(w->err, STATUS_BAD_INPUT, "%s is not %s", key, what);
}

// NULL where it is absent or null.
static const json_t *setting(const struct work *w, const char *key)
{
	const json_t *value = json_object_get(w->config, key);

	return json_is_null(value) ? NULL : value;
}

double setting_number(struct work *w, const char *key, double fallback, double min, double max)
{
	const json_t *value = setting(w, key);
	double number = json_number_value(value);

	if (!value)
		return fallback;
	if (json_is_number(value) && number >= min && number <= max)
		return number;
	bad_setting(w, key, "a number that can be");
	return fallback;
}

int setting_whole(struct work *w, const char *key, int fallback, int min, int max)
{
	double number = setting_number(w, key, fallback, min, max);

	if (number == floor(number))
		return (int)number;
	bad_setting(w, key, "a whole number");
	return fallback;
}

bool setting_flag(struct work *w, const char *key, bool fallback)
{
	const json_t *value = setting(w, key);

	if (value && !json_is_boolean(value))
		bad_setting(w, key, "true or false");
	return json_is_boolean(value) ? json_is_true(value) : fallback;
}

const char *setting_word(struct work *w, const char *key, const char *fallback)
{
	const json_t *value = setting(w, key);

	if (value && !json_is_string(value))
		bad_setting(w, key, "a word");
	return json_is_string(value) ? json_string_value(value) : fallback;
}

// ---- the call -------------------------------------------------------------------------------------------------------------

static enum status bad_option(struct work *w, const char *key, const char *what)
{
	return error_set(w->err, STATUS_BAD_INPUT, "option %s is not %s", key, what);
}

static enum status read_choice(struct work *w, const char *key, enum choice *out)
{
	const json_t *value = json_object_get(w->options, key);

	if (value && !json_is_null(value) && !json_is_boolean(value))
		return bad_option(w, key, "true or false");
	if (json_is_boolean(value))
		*out = json_is_true(value) ? CHOICE_YES : CHOICE_NO;
	return STATUS_OK;
}

static enum status read_length(struct work *w, const char *key, size_t *out)
{
	const json_t *value = json_object_get(w->options, key);

	if (!value || json_is_null(value))
		return STATUS_OK;
	if (!json_is_integer(value) || json_integer_value(value) < 1 || (size_t)json_integer_value(value) > SOUND_MOST)
		return bad_option(w, key, "a length that can be");
	*out = (size_t)json_integer_value(value);
	return STATUS_OK;
}

static enum status read_padding(struct work *w)
{
	static const struct {
		const char *word;
		enum padding_rule rule;
	} words[] = { { "longest", PAD_LONGEST }, { "max_length", PAD_MAX_LENGTH }, { "do_not_pad", PAD_NOT } };
	const json_t *value = json_object_get(w->options, "padding");

	if (!value || json_is_null(value))
		return STATUS_OK;
	if (json_is_boolean(value)) {
		w->call.padding = json_is_true(value) ? PAD_LONGEST : PAD_NOT;
		return STATUS_OK;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (text_is(json_string_value(value), words[i].word)) {
			w->call.padding = words[i].rule;
			return STATUS_OK;
		}
	return bad_option(w, "padding", "true, false, \"longest\", \"max_length\" or \"do_not_pad\"");
}

static enum status check_names(struct work *w)
{
	static const char *const names[] = { "padding", "max_length", "truncation", "pad_to_multiple_of", "return_attention_mask",
		"do_normalize", "audio_target" };
	const size_t count = sizeof names / sizeof *names;
	json_t *value;
	const char *key;

	json_object_foreach((json_t *)w->options, key, value)
	{
		size_t i = 0;

		while (i < count && !text_is(key, names[i]))
			i++;
		if (i == count)
			return error_set(w->err, STATUS_BAD_INPUT, "option \"%s\" is not known", key);
	}
	return STATUS_OK;
}

enum status call_read(struct work *w)
{
	enum choice truncation = CHOICE_NONE, target = CHOICE_NONE;
	const char *side = setting_word(w, "padding_side", "right");

	w->call = w->class->call;
	w->call.value = (float)setting_number(w, "padding_value", 0, -1e30, 1e30);
	w->call.left = text_is(side, "left");
	if (!w->call.left && !text_is(side, "right"))
		bad_setting(w, "padding_side", "left or right");
	w->call.mask = w->call.normalize = CHOICE_NONE;
	enum status s = check_names(w);
	s = s ? s : read_length(w, "max_length", &w->call.max_length);
	s = s ? s : read_length(w, "pad_to_multiple_of", &w->call.multiple);
	s = s ? s : read_choice(w, "return_attention_mask", &w->call.mask);
	s = s ? s : read_choice(w, "do_normalize", &w->call.normalize);
	s = s ? s : read_choice(w, "audio_target", &target);
	w->call.target = target == CHOICE_YES;
	s = s ? s : w->status;
	if (s || w->class->features == features_clap) // its padding and truncation have words of their own
		return s;
	s = read_padding(w);
	s = s ? s : read_choice(w, "truncation", &truncation);
	if (truncation != CHOICE_NONE)
		w->call.truncation = truncation == CHOICE_YES;
	return s;
}

bool call_mask(struct work *w)
{
	if (w->call.mask != CHOICE_NONE)
		return w->call.mask == CHOICE_YES;
	return setting_flag(w, "return_attention_mask", w->class->mask == CHOICE_YES);
}

// ---- padding --------------------------------------------------------------------------------------------------------------

enum status too_many(struct work *w, size_t count, size_t length, size_t width)
{
	if (length <= SOUND_MOST && width <= SOUND_MOST && count <= SOUND_MOST && length * width <= SOUND_MOST &&
		length * width * count <= SOUND_MOST)
		return STATUS_OK;
	return error_set(w->err, STATUS_BAD_INPUT, "a tensor of %zu times %zu times %zu values: at most %zu can be", count,
		length, width, SOUND_MOST);
}

struct rows rows_make(struct work *w, size_t count, size_t width)
{
	return (struct rows){ count, width, ARENA_ARRAY(w->a, count, const float *), ARENA_ARRAY(w->a, count, size_t) };
}

struct rows rows_of_sounds(struct work *w)
{
	size_t channels = (size_t)w->sounds[0].channels;
	struct rows rows = rows_make(w, w->count * channels, 1);

	for (size_t i = 0; i < rows.count; i++) {
		const struct sound *s = &w->sounds[i / channels];
		rows.values[i] = s->samples + i % channels * s->length;
		rows.length[i] = s->length;
	}
	return rows;
}

static size_t rounded_up(size_t n, size_t multiple)
{
	return multiple ? (n + multiple - 1) / multiple * multiple : n;
}

// b->valid: of each row after truncation; b->length: of all after padding.
static enum status lengths(struct work *w, const struct rows *rows, const struct call *call, struct batch *b)
{
	size_t most = rounded_up(call->max_length, call->multiple), longest = 0;

	if (call->truncation && !most)
		return error_set(w->err, STATUS_BAD_INPUT, "truncation without a max_length");
	if (call->padding == PAD_MAX_LENGTH && !most)
		return error_set(w->err, STATUS_BAD_INPUT, "padding to max_length without a max_length");
	for (size_t i = 0; i < rows->count; i++) {
		b->valid[i] = call->truncation && rows->length[i] > most ? most : rows->length[i];
		longest = b->valid[i] > longest ? b->valid[i] : longest;
	}
	size_t padded = call->padding == PAD_NOT ? 0 : call->padding == PAD_LONGEST ? rounded_up(longest, call->multiple) : most;
	b->length = padded > longest ? padded : longest;
	for (size_t i = 0; i < rows->count; i++)
		if (b->valid[i] < longest && padded < longest)
			return error_set(w->err, STATUS_BAD_INPUT,
				"lengths of %zu and %zu make no tensor without padding to the longest", b->valid[i], longest);
	return STATUS_OK;
}

enum status rows_pad(struct work *w, const struct rows *rows, const struct call *call, struct batch *out)
{
	*out = (struct batch){ .count = rows->count, .width = rows->width, .left = call->left };
	out->valid = ARENA_ARRAY(w->a, rows->count, size_t);
	enum status s = w->status ? w->status : lengths(w, rows, call, out);
	s = s ? s : too_many(w, out->count, out->length, out->width);
	if (s)
		return s;
	out->values = ARENA_ARRAY(w->a, out->count * out->length * out->width, float);
	for (size_t i = 0; i < out->count; i++) {
		float *to = out->values + i * out->length * out->width;
		size_t all = out->length * out->width, used = out->valid[i] * out->width, begin = out->left ? all - used : 0;

		for (size_t k = 0; k < all; k++)
			to[k] = call->value;
		memcpy(to + begin, rows->values[i], used * sizeof *to);
	}
	return STATUS_OK;
}

// ---- normalisation --------------------------------------------------------------------------------------------------------

struct moments moments_of(const float *v, size_t n, size_t stride, double of, double freedom)
{
	struct moments m = { 0, 0 };

	for (size_t i = 0; i < n; i++)
		m.mean += v[i * stride];
	m.mean /= of;
	for (size_t i = 0; i < n; i++)
		m.variance += (v[i * stride] - m.mean) * (v[i * stride] - m.mean);
	m.variance /= of - freedom;
	return m;
}

// With padding before the sound the library takes the first values too, as many as are valid; so it is here.
void batch_normalize(struct work *w, struct batch *b, bool masked)
{
	for (size_t i = 0; i < b->count; i++) {
		float *row = b->values + i * b->length;
		size_t valid = masked ? b->valid[i] : b->length;
		struct moments m = moments_of(row, valid, 1, (double)valid, 0);
		double by = sqrt(m.variance + 1e-7);

		for (size_t k = 0; k < b->length; k++)
			row[k] = k < valid ? (float)((row[k] - m.mean) / by) : w->call.value;
	}
}

// ---- tensors --------------------------------------------------------------------------------------------------------------

void tensor_put(struct work *w, const char *name, enum dtype dtype, int rank, const int64_t *dim, void *data)
{
	struct tensor *t = &w->out->tensors[w->out->count++];
	size_t count = 1;

	*t = (struct tensor){ .name = name, .dtype = dtype, .rank = rank, .data = data };
	for (int i = 0; i < rank; i++) {
		t->dim[i] = dim[i];
		count *= (size_t)dim[i];
	}
	t->nbytes = count * dtype_size(dtype);
}

void mask_put(struct work *w, const char *name, const struct batch *b, size_t each, size_t first, size_t step, size_t length)
{
	size_t count = b->count / each;
	int64_t *mask = ARENA_ARRAY(w->a, count * length, int64_t);

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < length; k++) {
			size_t at = first + k * step, valid = b->valid[i * each];
			mask[i * length + k] = b->left ? at >= b->length - valid : at < valid;
		}
	tensor_put(w, name, DTYPE_I64, 2, (int64_t[]){ (int64_t)count, (int64_t)length }, mask);
}
