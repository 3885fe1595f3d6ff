// SPDX-License-Identifier: Apache-2.0
// A text on its way: pieces of it, each with what became of it so far and, for each byte of that, the bytes of the text that it
// stands for. Private to token/.
#ifndef ASSAY_TOKEN_FLOW_H
#define ASSAY_TOKEN_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct span { // bytes of the text as it came
	uint32_t begin, end;
};
struct piece {
	uint32_t at, nbytes; // in flow.text
	uint32_t begin, end; // of the text as it came
	uint32_t id;
	bool is_token; // an added token: no step looks at it
};
struct match { // a text taken apart: what matched and what lies between
	uint32_t begin, end;
	bool matched;
};

struct flow {
	// What the pieces are of, each a run of bytes; a step that changes text writes into the other buffer.
	char *text, *other;
	struct span *align, *other_align;
	size_t used, room, other_room;
	struct piece *pieces, *other_pieces;
	size_t count, piece_room, other_piece_room;
	struct match *matches;
	size_t match_count, match_room;
	size_t limit;             // of bytes: a chain may double a text as often as it has steps
	size_t work, work_most;   // bytes that steps have gone over, and may
	double begun_ms, look_ms; // of expressions: the thread's time at the first one, and when the clock is looked at again
	struct error failed;      // sticky: the first reason; status OK until then
};

void flow_done(struct flow *f);
// One piece, the whole text. At most FLOW_MOST bytes.
enum { FLOW_MOST = 1 << 28 };
// Steps that go over all of a long text; tokenizers in use have some ten, and a file of 80 KB can have a thousand.
enum { FLOW_PASSES_MOST = 32 };
void flow_start(struct flow *f, const char *text, size_t nbytes);
void flow_fail(struct flow *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- changing text: of each piece that is no token
// Every piece through `step`, which says by `flow_put` what becomes of it.
struct change {
	struct flow *f;
	const struct piece *piece;
	const char *text; // of the piece
	const struct span *align;
	size_t nbytes;
	size_t at, from,
		until; // bytes: those from `from` to `until` are replaced, and what was put so far stands for those before `at`
};
void flow_each(struct flow *f, void (*step)(struct change *, void *), void *context);
// In the library's words: change 1: a character that is new; 0: one that takes the place of the next one; -N: .. of the next one
// and the N after it. The character that a new one is aligned with is the one before.
void flow_put(struct change *c, uint32_t code, long change);
// N characters at the beginning are dropped.
void flow_skip(struct change *c, size_t characters);
// For steps that count bytes themselves: as they are, with their alignment.
void flow_keep(struct change *c, size_t begin, size_t end);
void flow_put_at(struct change *c, const char *s, size_t nbytes, struct span at);
// The change is of the whole piece (what stands for nothing at its beginning, too): first of all.
void flow_whole(struct change *c);
// Everything stays.
void flow_keep_all(struct change *c);
bool piece_is_ascii(const char *s, size_t nbytes);

// ---- taking pieces apart
enum behaviour { REMOVED, ISOLATED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS };
// `find` adds matches of a piece's text, which is not empty, by flow_match: all of it, in order.
typedef void flow_find(struct flow *f, const char *text, size_t nbytes, const void *context);
void flow_split(struct flow *f, flow_find *find, const void *context, enum behaviour behaviour, bool invert);
void flow_match(struct flow *f, size_t begin, size_t end, bool matched);
// Characters for which is() says so are matches, one by one.
void flow_match_each(struct flow *f, const char *text, size_t nbytes, bool (*is)(uint32_t code));
// The same, written by hand: pieces that `cut` adds by flow_piece, of the bytes from begin to end of the piece.
void flow_cut(struct flow *f, void (*cut)(struct flow *, const struct piece *, void *), void *context);
void flow_piece(struct flow *f, const struct piece *of, size_t begin, size_t end);

#endif
