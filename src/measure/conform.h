// SPDX-License-Identifier: Apache-2.0
// Conformance cases: tiny models whose outputs transformers computed (tests/conform/README.md). A case is a folder with
// config.json, weights.tsv (names, dtypes, shapes; contents by formula), case.json and io.safetensors.
#ifndef ASSAY_MEASURE_CONFORM_H
#define ASSAY_MEASURE_CONFORM_H

#include "measure/judge.h"
#include "platform/platform.h"

struct conform_case {
	const char *name, *folder, *model_type;
	bool passed;
	const char *reason;                  // NULL when passed
	double max_abs_error, nmse;          // the worst output's; NaN when it did not run
};

// A checkpoint folder made from a case, in the cache (CACHE/conform/KEY): config.json and model.safetensors.
enum status conform_materialise(const char **folder, struct arena *a, const char *case_folder, struct error *err);

// Runs the cases on a platform, many in one child; a child that dies fails the case it was at and the next starts anew.
// Every case gets an answer. `each` is called as answers come; may be NULL.
enum status conform_run(const struct target *t, struct conform_case *cases, size_t count, void (*each)(void *, const struct conform_case *), void *context,
	struct arena *a, struct error *err);
int conform_child(void);                     // `assay cell --conform`

// The cases of one type that the program carries (PREFIX/share/assay/conform, or the build's), run once a program, engine
// version, platform and type, kept in the cache: "8/8"; NULL when it carries none.
const char *conform_of_type(const char *model_type, const struct target *t, struct arena *a);

#endif
