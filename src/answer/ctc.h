// SPDX-License-Identifier: Apache-2.0
// Speech by labels of frames (connectionist temporal classification): a label in a row counts once, the blank not at all. And
// long sounds in windows, as the pipeline automatic-speech-recognition of transformers has them.
#ifndef ASSAY_ANSWER_CTC_H
#define ASSAY_ANSWER_CTC_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "token/token.h"

struct ctc_labels {
	uint32_t blank, delimiter; // ids; the delimiter stands between words
};

// The best label of each frame of `logits` [frames, labels], into ids [frames].
void ctc_best(const float *logits, size_t frames, size_t labels, uint32_t *ids);

struct ctc_piece {
	const char *text;
	size_t first, end; // frames; `end` is the first one after it
};
struct ctc_pieces {
	struct ctc_piece *items;
	size_t count;
};
// Each label that is said, the delimiter as a blank; in `a`.
struct ctc_pieces ctc_characters(
	struct arena *a, const struct tokenizer *t, const struct ctc_labels *l, const uint32_t *ids, size_t frames);
// What lies between delimiters, each from its first label to its last one.
struct ctc_pieces ctc_words(
	struct arena *a, const struct tokenizer *t, const struct ctc_labels *l, const uint32_t *ids, size_t frames);

// A part of a long sound, in samples. The first `left` and the last `right` of it are only context: the frames that come of
// them are dropped.
struct sound_window {
	size_t begin, length, left, right;
};
// Windows of `chunk` samples, each overlapping the one before it by left + right; [*count] of them in `a`. NULL: left + right is
// not below chunk.
struct sound_window *sound_windows(struct arena *a, size_t length, size_t chunk, size_t left, size_t right, size_t *count);
// The frames that count, [*first, *end) of `frames`, where a frame is made of `align` samples.
void sound_window_frames(const struct sound_window *w, size_t align, size_t frames, size_t *first, size_t *end);

#endif
