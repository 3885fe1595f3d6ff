// SPDX-License-Identifier: Apache-2.0
// guess.h. What is usual for what a graph's inputs look like; no graph is read here, and no engine asked.
#include "cell/guess.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "cell/inputs.h"

// ---- what an input is ---------------------------------------------------------------------------------------------------

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; name && i < count; i++)
		if (!strcasecmp(name, names[i]))
			return true;
	return false;
}

bool guess_is_state(const struct tensor_type *t)
{
	static const char *const names[] = { "h", "c", "h0", "c0", "h_0", "c_0", "hn", "cn", "h_in", "c_in" };

	return inputs_is_float(t->dtype) &&
		(is_one_of(t->name, names, sizeof names / sizeof *names) || text_ends(t->name, "state") ||
			text_starts(t->name, "state"));
}

bool guess_is_rate(const struct tensor_type *t)
{
	static const char *const names[] = { "sr", "sample_rate", "sampling_rate", "samplerate", "orig_sr" };

	return !inputs_is_float(t->dtype) && (t->rank == 0 || (t->rank == 1 && t->dim[0] <= 1)) &&
		is_one_of(t->name, names, sizeof names / sizeof *names);
}

bool guess_is_scale(const struct tensor_type *t)
{
	return inputs_is_float(t->dtype) && text_is(t->name, "scale_factor");
}

// [batch, channels, height, width], or channels last; not the keys and values of a cache, and no mask.
static bool is_image(const struct tensor_type *t)
{
	return t->rank == 4 && !text_starts(t->name, "past_") && !strstr(t->name, "cache") && !text_ends(t->name, "mask") &&
		(inputs_is_float(t->dtype) || t->dtype == DTYPE_U8) && (t->dim[2] < 0 || t->dim[3] < 0 || t->dim[1] < 0);
}

static bool names_channels(const struct tensor_type *t, int axis)
{
	return t->dim[axis] == 1 || t->dim[axis] == 3 || t->dim[axis] == 4;
}

// [batch, samples] or [batch, 1, samples], by its name or by a rate beside it.
static bool is_sound(const struct tensor_type *t, bool has_rate, bool has_state)
{
	static const char *const parts[] = { "wav", "audio", "speech", "sound", "samples", "input_values", "pcm" };
	bool named = has_rate;

	if (!inputs_is_float(t->dtype) || guess_is_state(t) || (t->rank != 2 && !(t->rank == 3 && t->dim[1] == 1)) ||
		t->dim[t->rank - 1] >= 0)
		return false;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		named = named || strcasestr(t->name, parts[i]);
	// Numbers without features beside a state are a stream of samples.
	return named || (has_state && t->rank == 2 && text_is(t->name, "input"));
}

// ---- what is tried --------------------------------------------------------------------------------------------------------

struct size {
	int64_t height, width;
	const char *why;
};
static const struct size of_images[] = {
	{ 224, 224, "the usual size of images" },
	{ 48, 320, "a line of text" },
	{ 640, 640, "the usual size of detectors" },
	{ 256, 256, "a power of two" },
	{ 32, 128, "a line of text of older recognisers" },
	{ 112, 112, "the usual size of faces" },
	{ 299, 299, "the size of Inception" },
	{ 384, 384, "a usual size of images" },
};
// An output [.., length, classes] with as many classes as an alphabet has letters: a recogniser of text.
static const struct size of_lines[] = {
	{ 48, 320, "a line of text, because an output has a class for each letter of an alphabet" },
	{ 32, 128, "a line of text of older recognisers" },
	{ 64, 256, "a line of text" },
	{ 224, 224, "the usual size of images" },
};
enum { LETTERS_LEAST = 90, IMAGES = sizeof of_images / sizeof *of_images, LINES = sizeof of_lines / sizeof *of_lines };

static const int64_t of_sound[] = { GUESS_RATE, 512, 4 * GUESS_RATE, 400 }, of_stream[] = { 512, 576, 160, 480, GUESS_RATE },
		     of_length[] = { 128, 512, 64, 16, 1 }, of_text[] = { 128, 64, 16, 512 };
enum {
	SOUNDS = sizeof of_sound / sizeof *of_sound,
	STREAMS = sizeof of_stream / sizeof *of_stream,
	LENGTHS = sizeof of_length / sizeof *of_length,
	TEXTS = sizeof of_text / sizeof *of_text,
	FRAMES = 8,
	CHANNELS = 3
};

struct guessing {
	struct guess *g;
	struct arena *a;
	bool reads_lines, has_state, has_rate, keeps_length;
};

static void offers(struct guessing *x, size_t count)
{
	x->g->count = count > x->g->count ? count : x->g->count;
}

static size_t at_most(const struct guessing *x, size_t count)
{
	return x->g->number < count ? x->g->number : count - 1;
}

static void say(struct guessing *x, const struct tensor_type *t, const char *why)
{
	struct tensor_type shown = *t;
	char shape[128];

	if (shown.rank > 0 && shown.dim[0] < 0)
		shown.dim[0] = x->g->batch;

	x->g->words = arena_join(x->a, x->g->words, "; ",
		arena_printf(x->a, "%.60s: guessed %s, %s", t->name,
			tensor_shape_text(shown.rank, shown.dim, shape, sizeof shape), why));
}

// A side that is fixed says what the other one may be.
static void guess_image(struct guessing *x, struct tensor_type *t)
{
	const bool last = t->dim[1] != CHANNELS && t->dim[1] != 1 && t->dim[1] != 4 && names_channels(t, 3);
	int64_t *channels = &t->dim[last ? 3 : 1], *height = &t->dim[last ? 1 : 2], *width = &t->dim[last ? 2 : 3];
	const struct size *sizes = x->reads_lines ? of_lines : of_images;
	const size_t count = x->reads_lines ? LINES : IMAGES;
	const char *why;

	if (*channels < 0)
		*channels = CHANNELS;
	if (*height < 0 && *width < 0) {
		const struct size *size = &sizes[at_most(x, count)];

		offers(x, count);
		*height = size->height;
		*width = size->width;
		why = size->why;
	} else if (*width < 0) {
		const int64_t wide = *height <= 64 ? 4 * *height : *height;

		why = *height <= 64 ? "4 times as wide as high, a line of text" : "as wide as high";
		*width = wide;
	} else if (*height < 0) {
		*height = *width;
		why = "as high as wide";
	} else {
		why = "3 channels";
	}
	say(x, t, why);
}

// The last two dimensions of [batch, channels, frames, height, width] and of [batch, frames, channels, height, width].
static void guess_film(struct guessing *x, struct tensor_type *t)
{
	for (int k = 1; k < t->rank; k++)
		if (t->dim[k] < 0)
			t->dim[k] = k >= t->rank - 2 ? 224 : k == 1 && t->dim[2] != CHANNELS ? CHANNELS : FRAMES;
	say(x, t, "8 frames of 224 x 224 with 3 channels");
}

static void guess_sound(struct guessing *x, struct tensor_type *t)
{
	const size_t count = x->has_state ? STREAMS : SOUNDS;

	offers(x, count);
	t->dim[t->rank - 1] = (x->has_state ? of_stream : of_sound)[at_most(x, count)];
	say(x, t, x->has_state ? "a piece of a stream of sound, since a state is handed on" : "samples of sound at 16 kHz");
}

// What inputs_synthetic takes for the length of a text is the first guess here, too.
static void guess_length(struct guessing *x, struct tensor_type *t)
{
	const bool usual = t->rank >= 2 && t->rank <= 3 && t->dim[1] < 0;
	const int axis = usual ? 1 : t->rank - 1;

	if (t->rank < 2 || t->dim[axis] >= 0 || x->keeps_length)
		return;
	offers(x, LENGTHS);
	if (usual && x->g->number == 0)
		return;
	t->dim[axis] = of_length[at_most(x, LENGTHS)];
	say(x, t, "a usual length");
}

// All inputs of a text are as long as its ids: one number, which the caller gives them. Learned positions are fewer in small
// models.
static void guess_text(struct guessing *x, const struct tensor_type *t)
{
	if (t->rank != 2 || t->dim[1] >= 0 || !text_ends(t->name, "ids") || x->keeps_length || x->g->sequence > 0)
		return;
	offers(x, TEXTS);
	if (x->g->number == 0)
		return;
	x->g->sequence = of_text[at_most(x, TEXTS)];
	x->g->words = arena_join(
		x->a, x->g->words, "; ", arena_printf(x->a, "%.60s: guessed %lld tokens", t->name, (long long)x->g->sequence));
}

static void guess_state(struct guessing *x, struct tensor_type *t)
{
	bool any = false;

	for (int k = 0; k < t->rank; k++) {
		any = any || t->dim[k] < 0;
		t->dim[k] = t->dim[k] < 0 ? x->g->batch : t->dim[k];
	}
	if (any)
		say(x, t, "a state has the batch of the inputs");
}

static bool ends_in_letters(const struct tensor_type *t)
{
	return t->rank == 3 && t->dim[2] >= LETTERS_LEAST && t->dim[1] < 0;
}

void guess_dims(struct guess *g, struct arena *a, struct tensor_type *types, size_t count, const struct tensor_type *outputs,
	size_t output_count, bool keeps_length)
{
	struct guessing x = { .g = g, .a = a, .keeps_length = keeps_length };

	g->count = 1;
	g->words = NULL;
	g->sequence = 0;
	for (size_t i = 0; i < count; i++) {
		x.has_state = x.has_state || guess_is_state(&types[i]);
		x.has_rate = x.has_rate || guess_is_rate(&types[i]);
	}
	x.reads_lines = output_count == 1 && ends_in_letters(&outputs[0]);
	for (size_t i = 0; i < count; i++) {
		struct tensor_type *t = &types[i];

		if (guess_is_state(t))
			guess_state(&x, t);
		else if (is_image(t))
			guess_image(&x, t);
		else if (t->rank == 5 && inputs_is_float(t->dtype) && (t->dim[3] < 0 || t->dim[4] < 0))
			guess_film(&x, t);
		else if (!keeps_length && is_sound(t, x.has_rate, x.has_state))
			guess_sound(&x, t);
		else if (inputs_is_float(t->dtype) && t->rank <= 3)
			guess_length(&x, t);
		else if (!inputs_is_float(t->dtype))
			guess_text(&x, t);
	}
}
