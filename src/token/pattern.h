// SPDX-License-Identifier: Apache-2.0
// What Split and Replace look for: a literal text or a regular expression. Expressions are Oniguruma's in its Ruby syntax, and
// run by PCRE2; pattern.c writes one as the other. Private to token/.
#ifndef ASSAY_TOKEN_PATTERN_H
#define ASSAY_TOKEN_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "token/flow.h"

struct pattern;

// The expressions of one tokenizer. The same text twice is one pattern, and together they have limits of what their making takes
// (pattern.c): a file may have thousands.
struct pattern_list {
	struct arena *a; // where they live
	struct pattern *first;
	size_t count, nbytes, expanded, jit_nbytes; // bytes: as they are written; as PCRE2 is given them; of its code
	uint64_t in_ranges;                         // characters
	size_t sets, property_count;                // computed
	// Kept while expressions may still come.
	struct property *properties;
	struct unicode_range *runs; // of general categories
	size_t run_count;
};
void pattern_list_done(struct pattern_list *all); // frees what is kept for further expressions; the patterns stay

struct pattern *pattern_literal(struct arena *a, const char *text, size_t nbytes);
// BAD_INPUT with the reason: not valid, in it what has no equivalent, or beyond the limits of the list.
enum status pattern_regex(struct pattern **out, struct pattern_list *all, const char *text, size_t nbytes, struct error *err);
// Where a walk over a text is; all zero: at its beginning.
struct pattern_walk {
	size_t from, done; // where the next match is looked for; the end of the last one
	struct match next; // where has_next is set: what follows what lay before it
	bool has_last, has_next;
};
// The next match, or what lies before it, of a text that is not empty; false: there is no more. f->failed as below.
bool pattern_walk(
	struct flow *f, const char *text, size_t nbytes, const struct pattern *p, struct pattern_walk *w, struct match *out);
// A flow_find: all of a text, which may be empty, as matches; f->failed where an expression takes too long.
void pattern_find(struct flow *f, const char *text, size_t nbytes, const void *pattern);

#endif
