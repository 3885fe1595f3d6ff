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

enum status pattern_literal(struct pattern **out, struct arena *a, const char *text, size_t nbytes, struct error *err);
// BAD_INPUT with the reason: not valid, or in it what has no equivalent.
enum status pattern_regex(struct pattern **out, struct arena *a, const char *text, size_t nbytes, struct error *err);
// A flow_find: all of a text, which may be empty, as matches; f->failed where an expression takes too long.
void pattern_find(struct flow *f, const char *text, size_t nbytes, const void *pattern);

#endif
