// SPDX-License-Identifier: Apache-2.0
// Members of a struct that a person sets by an option: one table says where each lies, what its option is called and what it
// takes. Parsing, `--help`, JSON and keys are made from such tables, so that none of them lists the members again.
#ifndef ASSAY_QUESTION_MEMBER_H
#define ASSAY_QUESTION_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum member_kind {
	MEMBER_TEXT,    // const char *
	MEMBER_INTEGER, // int64_t
	MEMBER_REAL,    // double
	MEMBER_FLAG,    // bool
	MEMBER_GIB,     // int64_t, bytes; its option takes GiB
};
#define MEMBER_TYPE_TEXT const char *
#define MEMBER_TYPE_INTEGER int64_t
#define MEMBER_TYPE_REAL double
#define MEMBER_TYPE_FLAG bool
#define MEMBER_TYPE_GIB int64_t

struct member {
	const char *name;     // in C, in JSON
	const char *option;   // "latency-bound" for --latency-bound; NULL: it has none
	const char *argument; // "MS" in the help; NULL for a flag
	const char *help;
	const char *standard; // another word for the default of a text; "": there is none
	enum member_kind kind;
	size_t offset;      // in its struct
	double least, most; // of a number
};

// `of` is the struct that the table is about, everywhere below. Zero, NULL, "" and the standard word are the default.
bool member_is_default(const struct member *m, const void *of);
bool member_is_same(const struct member *m, const void *x, const void *y);
// Equal for what is the same.
uint64_t member_hash(const struct member *m, const void *of);
// What its option would be given: "8", "int8-dynamic", "0.5"; "" for a flag that is set; NULL: the default. In `a` or of `of`.
const char *member_word(const struct member *m, struct arena *a, const void *of);
// The other way. A flag takes NULL or "" for yes. BAD_INPUT, in the words of the command line: "--batch wants a whole number from
// 1 to 65536, not 'x'". Text is not copied.
enum status member_set(const struct member *m, void *of, const char *word, struct error *err);
void member_clear(const struct member *m, void *of);
void member_copy(const struct member *m, void *to, const void *from);

#endif
