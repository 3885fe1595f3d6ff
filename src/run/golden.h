// SPDX-License-Identifier: Apache-2.0
// Where golden outputs came from, as far as it is known.
#ifndef ASSAY_RUN_GOLDEN_H
#define ASSAY_RUN_GOLDEN_H

#include "base/arena.h"
#include "base/error.h"
#include "question/row.h"

// BAD_INPUT for more tensors than any model has inputs and outputs: they are looked for by name, one by one.
enum { GOLDEN_TENSORS_MOST = 10000 };
enum status golden_check(const char *path, struct error *err);

// Fills golden_file, golden_sha256, golden_case where assay ships these very bytes, and golden_word: what the file says of its
// maker (made_by, producer, generator or transformers of its metadata, else "transformers" of a case.json beside it), cut to 80
// bytes.
void golden_describe(struct row *r, const char *path, struct arena *a);

// What a row whose reference is "golden" agrees with, or does not: "transformers' outputs (case bert that assay ships)", else
// "the golden file NAME".
const char *golden_what(const struct row *r, struct arena *a);

#endif
