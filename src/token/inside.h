// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer. Private to token/.
#ifndef ASSAY_TOKEN_INSIDE_H
#define ASSAY_TOKEN_INSIDE_H

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "token/flow.h"
#include "token/pattern.h"
#include "token/token.h"
#include "token/vocab.h"

struct slice { // not NUL-terminated
	const char *s;
	size_t n;
};

// ---- chains ---------------------------------------------------------------------------------------------------------------
// A chain is a list of steps; each kind of step is a row of a table, and a Sequence is its parts one after the other.

struct strings { // what decoders work on
	struct arena *a;
	struct slice *items;
	size_t count;
	size_t room;         // bytes that may still be gone over and made, by all decoders together
	struct error failed; // sticky: the first reason
};
// False, and failed: beyond that.
bool strings_pay(struct strings *t, size_t nbytes);
struct parts { // what post-processors work on: a text's encoding, or those of a pair
	struct arena *a;
	struct encoding *items;
	size_t count;
	bool add_special;
};

struct step;
struct step_kind {
	const char *name; // "type" in tokenizer.json
	// The object's members into s->own, which stays NULL where there are none; NULL: nothing to read.
	enum status (*parse)(struct step *s, struct arena *a, const json_t *from, struct error *err);
	void (*flow)(struct flow *f, const void *own); // of normalizers and pre-tokenizers
	void (*decode)(struct strings *t, const void *own);
	enum status (*post)(struct parts *p, const void *own, struct error *err);
	size_t (*adds)(const void *own, bool pair); // how many tokens a post-processor adds
};
struct step {
	const struct step_kind *kind;
	void *own;
	struct pattern_list *patterns; // of the tokenizer; while it is parsed
};
struct chain {
	struct step *steps;
	size_t count;
	const struct step_kind *kinds; // the table; ends with a row without a name
	const char *list;              // the member of a Sequence: "normalizers"
	struct pattern_list *patterns; // of the tokenizer
};
extern const struct step_kind normalizer_kinds[], pretokenizer_kinds[], post_kinds[], decoder_kinds[];

// Adds the steps of `from` (null: none).
enum status chain_parse(struct chain *c, struct arena *a, const json_t *from, struct error *err);
void chain_flow(const struct chain *c, struct flow *f);

// Members of a step's object. Of what is absent *out stays as it was; BAD_INPUT for another type.
enum status member_bool(const json_t *o, const char *key, bool *out, struct error *err);
enum status member_size(const json_t *o, const char *key, size_t *out, struct error *err); // below 2^31
enum status member_text(const json_t *o, const char *key, struct arena *a, struct slice *out, struct error *err);
enum status member_char(const json_t *o, const char *key, uint32_t *out, struct error *err);
enum status member_needed(const json_t *o, const char *key, struct error *err);                                 // is it there?
enum status member_pattern(const json_t *o, struct pattern_list *all, struct pattern **out, struct error *err); // "pattern"
struct slice slice_copy(struct arena *a, struct slice s);
bool base64_read(struct arena *a, struct slice s, struct slice *out); // false: it has other characters
struct slice slice_text(const char *s);                               // of a NUL-terminated one

// ByteLevel: each byte is a character of its own.
uint32_t byte_to_character(unsigned char byte);
int character_to_byte(uint32_t code); // -1: of no byte
void bytes_to_characters(struct change *c, void *context);

struct metaspace {
	uint32_t replacement;
	char text[4]; // of it
	size_t nbytes;
	enum { PREPEND_ALWAYS, PREPEND_FIRST, PREPEND_NEVER } prepend;
	bool split;
};
enum status metaspace_parse(struct step *s, struct arena *a, const json_t *from, struct error *err);
// Replace is a normalizer and a decoder.
enum status replace_parse(struct step *s, struct arena *a, const json_t *from, struct error *err);
void replace_decode(struct strings *t, const void *own);
// ByteLevel is a pre-tokenizer, a post-processor and a decoder.
struct byte_level {
	bool prefix_space, trim, regex;
	struct pattern *pattern; // of words, as GPT-2 has it
};
enum status byte_level_parse(struct step *s, struct arena *a, const json_t *from, struct error *err);
// Precompiled's table from its bytes, which stay.
struct charsmap;
enum status charsmap_read(struct charsmap **out, struct arena *a, struct slice bytes, struct error *err);
// What the longest beginning of s that it has becomes, as sentencepiece looks; false: it has none.
bool charsmap_longest(const struct charsmap *m, const char *s, size_t n, struct slice *out, size_t *taken);

// ---- models ---------------------------------------------------------------------------------------------------------------

struct model_token {
	uint32_t id, begin, end; // bytes of the piece
	struct slice text;       // s NULL: those bytes themselves
};
struct model_tokens {
	struct model_token *items;
	size_t count, room;
	uint64_t read,
		looked; // of one text: its bytes, and how many were compared with pieces, again for each place where one begins
	size_t most;    // tokens of one text that are of use
};
enum status model_too_many(size_t most, struct error *err); // BAD_INPUT, and says so
struct model_token *model_add(struct model_tokens *out);
// A text of one long word and pieces that are nearly as long would take the square of its length: beyond this it is refused.
enum { LOOKED_A_BYTE = 256, LOOKED_ANYWAY = 1 << 26 };
enum status model_looked(const struct model_tokens *out, struct error *err);

// Published prefixes and suffixes have two to four bytes ("##", "@@", "</w>"). With byte_fallback each byte is a token again.
enum { AFFIX_MOST = 16 };

enum model_kind { MODEL_NONE, MODEL_BPE, MODEL_UNIGRAM, MODEL_WORDPIECE, MODEL_WORDLEVEL };

struct merge { // of a pair of ids
	uint32_t left, right, rank, id;
};
struct symbol { // of a word that is being merged
	uint32_t id, nbytes;
	int32_t previous, next; // -1: none
};
struct queued { // a merge that may be done
	uint32_t rank, at, id;
};
struct word_cache;
struct trie;

struct model {
	enum model_kind kind;
	struct vocab vocab;
	bool has_unk;
	struct slice unk;
	uint32_t unk_entry; // VOCAB_NONE: not in the vocabulary
	bool fuse_unk, byte_fallback, ignore_merges;
	struct slice prefix, suffix; // n 0: none; at most AFFIX_MOST bytes
	size_t longest_word;         // WordPiece, characters
	uint32_t byte_entry[256];    // of "<0xNN>"; VOCAB_NONE
	double least_score;          // Unigram
	bool as_sentencepiece;       // .. sums in single precision, and an unknown piece has no text of its own
	// BPE
	struct merge *merges;
	size_t merge_mask;
	uint32_t last_made;        // entry, of the merge that was read last
	uint32_t *character_entry; // of the first characters of Unicode; VOCAB_NONE
	struct symbol *symbols;
	size_t symbol_room;
	struct queued *queue;
	size_t queue_room;
	struct word_cache *cache;
	// Unigram
	struct trie *trie;
	struct best *best;
	size_t best_room;
};
void model_done(struct model *m);
void model_bytes(struct model *m); // finds byte_entry
// An "id of the unknown token" that the model needs and has not is BAD_INPUT, as in the library.
enum status model_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err);
enum status bpe_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err);
// Merges come one by one, by rank; bpe_ready after the last.
enum status bpe_prepare(struct model *m, size_t merges, struct error *err);
enum status bpe_merge(struct model *m, struct slice left, struct slice right, uint32_t rank, struct error *err);
void bpe_join(struct model *m, uint32_t left, uint32_t right, uint32_t made, uint32_t rank); // .. by ids
void bpe_ready(struct model *m);
void bpe_done(struct model *m);
enum status unigram_ready(struct model *m, struct error *err);
enum status unigram_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err);
void unigram_done(struct model *m);
enum status wordpiece_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err);
enum status wordlevel_tokenize(struct model *m, const char *s, size_t nbytes, struct model_tokens *out, struct error *err);

// ---- added tokens ---------------------------------------------------------------------------------------------------------

struct added {
	struct slice content, normal; // normal: as the normalizer has it
	uint32_t id;
	bool single_word, lstrip, rstrip, normalized, special;
	bool replaced; // by a later one of the same id
};
struct added_node;
struct added_set { // those that are looked for in the same text
	struct added_node *nodes;
	uint8_t *labels; // of the node's edge from its parent
	size_t count;
	uint32_t from[256]; // the root's child; 0: none
};
struct added_hit { // the longest token that begins here
	uint32_t at, place;
};
struct added_tokens {
	struct added *items;
	size_t count, room;
	struct added_set raw, normal;
	struct added_hit *hits; // of a piece, from its end to its beginning
	size_t hit_room;
	uint32_t *slots; // by content: 1 + place in items; a power of two of them
	size_t slot_count;
	uint32_t *by_id; // 1 + place, of ids below id_count
	size_t id_count;
	size_t nbytes;         // of all, in their normal forms
	double normalizing_ms; // of the processor, for these
};
struct tokenizer;
// As the library adds them: the id is the vocabulary's where it has the text, else the next one.
enum status added_add(struct tokenizer *t, const struct added *one, struct error *err);
void added_ready(struct tokenizer *t); // after the last one
void added_cut(struct tokenizer *t, struct flow *f, bool normalized);
const struct added *added_at_id(const struct added_tokens *d, uint32_t id); // NULL: none
const struct added *added_find(const struct added_tokens *d, const char *s, size_t nbytes);
bool added_is_special(const struct added_tokens *d, struct slice text);
void added_done(struct added_tokens *d);

// ---- all of it ------------------------------------------------------------------------------------------------------------

struct tokenizer {
	struct arena *a; // what it lives in
	struct model model;
	struct added_tokens added;
	struct chain normalizers, pretokenizers, posts, decoders;
	struct pattern_list patterns;
	bool cuts, pads;
	bool ctc; // frames are decoded: of the same labels in a row one counts
	struct truncation truncation;
	struct padding padding;
	struct flow flow;
	struct model_tokens tokens;
	uint32_t *characters; // code points before each byte of the text
	size_t character_room;
	uint32_t next_added;
};
struct tokenizer *tokenizer_new(struct arena *a);

void encoding_push(struct encoding *e, struct arena *a, size_t *room, struct token t);
enum status encoding_merge(struct encoding *e, struct arena *a, const struct encoding *with, struct error *err);
enum status encoding_cut(struct encoding *e, struct arena *a, size_t most, const struct truncation *how, struct error *err);
enum status truncate_pair(struct encoding *one, struct encoding *two, struct arena *a, size_t most, const struct truncation *how,
	struct error *err);
enum status pad_all(struct encoding *all, size_t count, struct arena *a, const struct padding *how, struct error *err);
size_t encoding_tokens(const struct encoding *all, size_t count); // with what was cut off of them
// A small file can ask for any number of tokens of a short text: BAD_INPUT where more than TOKENS_MOST, far above any use, and
// four times its own are made.
enum status tokens_within(size_t made, size_t of, struct error *err);
enum status post_process(const struct chain *c, struct parts *p, struct encoding *out, struct error *err);
size_t post_adds(const struct chain *c, bool pair);

// spm.c: the bytes of a model of sentencepiece.
enum status spm_read(struct tokenizer *t, struct slice bytes, struct error *err);
// tiktoken.c: a vocabulary as tiktoken has it, into a model. `a`: while it is read.
bool tiktoken_is(struct slice file);
enum status tiktoken_read(struct model *m, struct arena *a, struct slice file, struct error *err);
// vits.c: the steps of VitsTokenizer of transformers 5, over a vocabulary that was read.
enum { VITS_TOKENS_MOST = 1 << 12, VITS_SPECIALS_MOST = 8 };
struct vits_rules {
	bool normalizes, blanks, romanizes, romanian;
	struct slice specials[VITS_SPECIALS_MOST]; // the unknown token first
	size_t special_count;
	// Made by vits_ready.
	const struct vocab *vocab;
	uint32_t characters; // entries of vocab.json; those behind are specials that it has not
};
// The rules are copied, the specials' texts are not. UNSUPPORTED: a vocabulary that is not one of characters.
enum status vits_ready(struct tokenizer *t, const struct vits_rules *rules, struct error *err);
// gguf.c. That of a GGUF file.
enum status gguf_tokenizer(struct tokenizer **out, struct arena *a, const char *path, struct error *err);
// files.c: a folder without tokenizer.json.
enum status files_open(struct tokenizer *t, const char *folder, struct error *err);

#endif
