// SPDX-License-Identifier: Apache-2.0
// Texts, pictures and sounds as a model's inputs: by its own tokenizer, image processor and feature extractor.
#ifndef ASSAY_CELL_PREPARE_H
#define ASSAY_CELL_PREPARE_H

#include "checkpoint/checkpoint.h"
#include "preprocess/picture.h"
#include "token/token.h"

// All zero but `model` at first; what is opened lives in `arena`, and opens when it is first needed.
struct preparing {
	const char *model; // folder
	struct arena arena;
	struct tokenizer *tokenizer;
	struct preprocessor *preprocessor;
	json_t *sound;
	int64_t text_most;   // tokens of a text at most; 0: no limit
	int64_t text_length; // texts are padded to so many; 0: as long as they are
	int64_t pad_token_id;
};

enum { PREPARED_MOST = 16, PREPARED_TEXT_MOST = 1 << 20 };
struct prepared {
	struct weight items[PREPARED_MOST]; // "in.NAME"
	size_t count;
	bool is_text;      // made of a text
	bool is_cut;       // that had more tokens than `text_most`
	int width, height; // of the picture, in pixels; 0: of none
};

// Added to *out, in `a`. BAD_INPUT: the folder does not bring what prepares it, or the text, picture or sound cannot be read;
// UNSUPPORTED: what prepares it is not known here.
enum status prepare_text(
	struct prepared *out, struct arena *a, const char *text, const char *pair, struct preparing *p, struct error *err);
// The text in a file of at most PREPARED_TEXT_MOST bytes of UTF-8, line breaks at its end left out.
enum status prepare_read_text(char **text, struct arena *a, const char *path, struct error *err);
enum status prepare_text_file(struct prepared *out, struct arena *a, const char *path, struct preparing *p, struct error *err);
enum status prepare_image(struct prepared *out, struct arena *a, const char *path, struct preparing *p, struct error *err);
enum status prepare_sound(struct prepared *out, struct arena *a, const char *path, struct preparing *p, struct error *err);
enum status prepare_tokenizer(struct preparing *p, struct error *err); // p->tokenizer is open afterwards
// int64 [1, count], named "in.NAME"; `ids` must live as long as it.
void prepared_ids(struct prepared *out, struct arena *a, const char *name, const int64_t *ids, size_t count);
void preparing_done(struct preparing *p);

// What the folder of a model brings to prepare them: names of files, one by one; NULL after the last.
const char *prepare_file(size_t i);

#endif
