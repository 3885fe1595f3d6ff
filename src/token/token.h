// SPDX-License-Identifier: Apache-2.0
// Tokenizers: text to ids and back, as the crate `tokenizers` does it (the meaning of every step of tokenizer.json is its own,
// 0.23). tokenizer_open reads a folder; what has no tokenizer.json is read into the same structure (files.c).
//
// A text goes: added tokens that are not normalized are cut out; normalizer; added tokens that are; pre-tokenizer; model;
// truncation; post-processor; padding. Offsets are code points of the text as it came.
//
// A tokenizer serves one thread: it holds memory that it works in, and what it has seen.
#ifndef ASSAY_TOKEN_TOKEN_H
#define ASSAY_TOKEN_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct tokenizer;

// The folder's tokenizer.json, else that of its GGUF file (or `folder` is one), else spiece.model or tokenizer.model, vocab.json
// with merges.txt, vocab.txt. Released with the arena. BAD_INPUT: what the library refuses, too.
enum status tokenizer_open(struct tokenizer **out, struct arena *a, const char *folder, struct error *err);
// The same of the text of a tokenizer.json; `name` is used in errors. The text is not kept.
enum status tokenizer_parse(
	struct tokenizer **out, struct arena *a, const char *name, const char *json, size_t nbytes, struct error *err);
// Texts that are to be special tokens wherever they stand, before normalization: those that are added tokens already stay as they
// are, others have their id of the vocabulary, or a new one behind all. The texts must live as long as the tokenizer.
enum status tokenizer_add_special(struct tokenizer *t, const char *const *texts, size_t count, struct error *err);

enum { TOKEN_SPECIAL = 1, TOKEN_PADDING = 2 };

struct token {
	uint32_t id, type;
	uint32_t begin, end; // code points of its text; 0, 0 of what the post-processor or padding added
	uint32_t nbytes;
	uint32_t flags;
	const char *text; // not NUL-terminated; the vocabulary's, or of an added or unknown token what it stands for
};
struct encoding {
	struct token *tokens;
	size_t count;
	struct encoding *overflow; // what truncation cut off, in parts of the same length
	size_t overflow_count;
};

struct token_text {
	const char *text;
	size_t nbytes;
	const char *pair; // NULL: none
	size_t pair_nbytes;
	size_t most; // 0: any number; a text of more tokens, without those that are added, is BAD_INPUT as soon as that is known
};

// Bytes of a text that are tokenized for a model that takes so many tokens (0: any number). Tokenizing takes up to 250 times a
// text, so one that is far beyond what the model takes is refused before: texts have 4 bytes or so for a token, and here 64.
size_t tokenizer_bytes_most(size_t tokens);
enum status tokenizer_check_bytes(size_t nbytes, size_t tokens, struct error *err); // BAD_INPUT

enum truncation_strategy { LONGEST_FIRST, ONLY_FIRST, ONLY_SECOND };
struct truncation {
	size_t max_length, stride;
	enum truncation_strategy strategy;
	bool left;
};
struct padding {
	size_t length, multiple; // 0: the longest of the batch; no multiple
	uint32_t id, type;
	const char *token;
	bool left;
};

// In `a`. BAD_INPUT: a text that is no UTF-8 (a NUL is a character like any other), or what the library refuses: an unknown
// character where the model has no unknown token, a truncation that cannot be.
// tokenizer_encode_batch: truncation and padding as given, NULL: none. tokenizer_encode: as the file has them.
enum status tokenizer_encode(struct tokenizer *t, struct arena *a, const struct token_text *in, bool add_special,
	struct encoding *out, struct error *err);
enum status tokenizer_encode_batch(struct tokenizer *t, struct arena *a, const struct token_text *in, size_t count,
	bool add_special, const struct truncation *cut, const struct padding *pad, struct encoding *out, struct error *err);

// NUL-terminated in `a`, valid UTF-8. Ids that are no token's are left out, as the library does.
enum status tokenizer_decode(struct tokenizer *t, struct arena *a, const uint32_t *ids, size_t count, bool skip_special,
	char **text, size_t *nbytes, struct error *err);
// A CTC vocabulary: the text of the labels of frames, repeated ones taken once. Else the same as tokenizer_decode.
enum status tokenizer_decode_frames(struct tokenizer *t, struct arena *a, const uint32_t *ids, size_t count, bool skip_special,
	char **text, size_t *nbytes, struct error *err);

// The text of tokens that are given as the vocabulary has them ("Ġthe", "##ing"), or of any strings: what the decoders make of
// them. As tokenizer_decode.
enum status tokenizer_join(struct tokenizer *t, struct arena *a, const char *const *tokens, size_t count, char **text,
	size_t *nbytes, struct error *err);
// "##", of a vocabulary in which what goes on with a word begins so; false: it has none.
bool tokenizer_continues(const struct tokenizer *t);
bool tokenizer_merges(const struct tokenizer *t); // is its model BPE?

size_t tokenizer_size(const struct tokenizer *t); // of the vocabulary with added tokens
// NULL: no token has this id.
const char *tokenizer_token(const struct tokenizer *t, uint32_t id, size_t *nbytes);
bool tokenizer_id(const struct tokenizer *t, const char *token, size_t nbytes, uint32_t *id);

#endif
