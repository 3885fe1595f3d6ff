// SPDX-License-Identifier: Apache-2.0
#include "answer/ctc.h"

#include <math.h>

#include "base/text.h"

void ctc_best(const float *logits, size_t frames, size_t labels, uint32_t *ids)
{
	for (size_t i = 0; i < frames; i++) {
		const float *row = logits + i * labels;

		ids[i] = 0;
		for (size_t k = 1; k < labels; k++)
			if (row[k] > row[ids[i]])
				ids[i] = (uint32_t)k;
	}
}

static const char *label_text(struct arena *a, const struct tokenizer *t, const struct ctc_labels *l, uint32_t id)
{
	size_t nbytes = 0;
	const char *text = tokenizer_token(t, id, &nbytes);

	return id == l->delimiter ? " " : text ? arena_strndup(a, text, nbytes) : "";
}

struct ctc_pieces ctc_characters(
	struct arena *a, const struct tokenizer *t, const struct ctc_labels *l, const uint32_t *ids, size_t frames)
{
	struct ctc_pieces out = { ARENA_ARRAY(a, frames + 1, struct ctc_piece), 0 };

	for (size_t i = 0, end; i < frames; i = end) {
		for (end = i + 1; end < frames && ids[end] == ids[i]; end++)
			;
		if (ids[i] != l->blank)
			out.items[out.count++] = (struct ctc_piece){ label_text(a, t, l, ids[i]), i, end };
	}
	return out;
}

struct ctc_pieces ctc_words(
	struct arena *a, const struct tokenizer *t, const struct ctc_labels *l, const uint32_t *ids, size_t frames)
{
	const struct ctc_pieces all = ctc_characters(a, t, l, ids, frames);
	struct ctc_pieces out = { ARENA_ARRAY(a, all.count + 1, struct ctc_piece), 0 };
	struct text word = { 0 };

	for (size_t i = 0, end; i < all.count; i = end + 1) {
		for (end = i; end < all.count && ids[all.items[end].first] != l->delimiter; end++)
			text_add(&word, all.items[end].text);
		if (end == i)
			continue;
		out.items[out.count++] = (struct ctc_piece){ arena_strndup(a, word.data, word.length), all.items[i].first,
			all.items[end - 1].end };
		word.length = 0;
	}
	text_done(&word);
	return out;
}

struct sound_window *sound_windows(struct arena *a, size_t length, size_t chunk, size_t left, size_t right, size_t *count)
{
	struct sound_window *out;

	*count = 0;
	if (left + right >= chunk)
		return NULL;
	size_t step = chunk - left - right;
	out = ARENA_ARRAY(a, length / step + 2, struct sound_window);
	for (size_t begin = 0; begin < length; begin += step) {
		bool last = chunk >= length - begin;
		struct sound_window w = { begin, last ? length - begin : chunk, begin ? left : 0, last ? 0 : right };

		if (w.length > w.left)
			out[(*count)++] = w;
		if (last)
			break;
	}
	return out;
}

void sound_window_frames(const struct sound_window *w, size_t align, size_t frames, size_t *first, size_t *end)
{
	double length = (double)w->length, total = rint(length * (1 / (double)align)),
	       left = rint((double)w->left / length * total), right = rint((double)w->right / length * total);
	double last = fmin(total - right, (double)frames);

	*first = (size_t)left;
	*end = last > left ? (size_t)last : *first;
}
