// SPDX-License-Identifier: Apache-2.0
// Rows chosen by words, with what a comparison needs of them: what was asked, what was measured, every timed run, and which
// program on which machine did it. Reads only; what is compared with what is decided above (analysis/contrast.c,
// analysis/history.c).
#ifndef ASSAY_STORE_SIDE_H
#define ASSAY_STORE_SIDE_H

#include "store/question.h"

// word, what it chooses; for help and messages. Terms are joined with "+": all of them must hold.
#define SIDE_LIST(X) \
	X("N, N..M, N,M", "rows by their numbers") \
	X("run:N", "rows of a run of the program, or of several: run:3..5") \
	X("version:V", "rows that this version of assay measured") \
	X("commit:C", "rows of a program built from this commit (its beginning is enough)") \
	X("machine:ID", "rows of a machine (the beginning of its id is enough)") \
	X("on:P", "rows on a platform, or on one of its devices: on:openvino:GPU") \
	X("model:M", "rows of a model, as it was asked for")

struct side_row {
	struct row row; // as measured; row.row is its number
	struct store_question question;
	enum verdict verdict;
	int64_t run;
	bool is_imported;
	const char *machine, *hostname, *version, *commit, *measured_at; // commit NULL: not known
	const char *asked_device;
	double *ms; // its timed runs in their order
	size_t ms_count;
};

struct side {
	const char *path, *words; // words NULL: all rows
	bool by_number;           // rows were named one by one
	bool by_platform;         // on: is one of the words
	struct side_row *rows;    // in the order of their numbers
	size_t count, imported;
	size_t unfinished, unreadable; // left out: running or interrupted; whose question is no JSON object
};

// Rows without a verdict and interrupted ones are left out.
// BAD_INPUT: a word that says nothing, a row that is not there, or too many rows or timed runs.
enum status store_side(
	struct store *s, struct arena *a, const char *words, bool with_samples, struct side *out, struct error *err);

#endif
