// SPDX-License-Identifier: Apache-2.0
// How much memory a cell needs, before anything of it is loaded and before a byte of synthetic weights is written: from the
// headers (or the plan) of the weights, the graph built with its shapes bound, and what each engine is known to do with weights
// (platform/memory.c). What does not fit is not tried: a machine that swaps or kills answers no question.
#ifndef ASSAY_CELL_PREDICT_H
#define ASSAY_CELL_PREDICT_H

#include "arch/arch.h"
#include "cell/inputs.h"
#include "platform/platform.h"

struct prediction {
	// What row.peak_resident_mib will say; 0: nothing is known of this engine, and the others are inputs and outputs.
	uint64_t resident_bytes;
	uint64_t anonymous_bytes; // of them, what no file stands behind: what --memory limits
	uint64_t required_bytes;  // the same and the mapped weights that every run reads: what must be free
	uint64_t run_bytes;       // of anonymous_bytes: what runs of these shapes take, beside the weights
	bool is_least;            // required_bytes is less than what is needed, and nothing else is known (predict_least)
	struct graph_memory graph;
};

// From what the graph asks for. Of the target: form, engine and options.
void predict_engine(struct prediction *out, const struct graph_memory *graph, const struct target *t);

// Builds the graph, or those of generation, with weights of that size: `precise` NULL is as they are stored. `c` has weights:
// those of files, or planned ones (predict_plan).
enum status predict_cell(struct prediction *out, const struct spec *s, const struct checkpoint *c, const struct target *t,
	const struct precise *precise, const struct input_shape *shape, bool generates, struct error *err);

// A configuration with the weights that it asks for, in `t` (DTYPE_NONE: as the configuration says), none of them anywhere.
// Lives in `a`; not to be closed; `config` must outlive it. predict_place: where they would lie in a file, which a graph asks
// for.
enum status predict_plan(struct checkpoint *out, struct arena *a, const struct checkpoint *config, const struct spec *s,
	enum dtype t, struct error *err);
enum status predict_place(struct checkpoint *plan, struct error *err);

// Of a plan with so many weights that its graph takes seconds and 500 MB: true when they alone are more than this machine has
// free, however an engine packs them, and then there is no need of the graph.
bool predict_least(struct prediction *out, const struct checkpoint *plan, const struct target *t, const struct machine *m);

// NO_MEMORY with a sentence: "not tried: it needs 27.1 GiB (predicted), and ...". `allowed`: anonymous bytes, 0 no limit.
enum status predict_fits(const struct prediction *p, const struct machine *m, int64_t allowed, struct error *err);
// What of the available memory is left alone, for everybody else.
uint64_t predict_margin(const struct machine *m);
// "512 MiB", "27.1 GiB".
const char *predict_amount(struct arena *a, uint64_t nbytes);

#endif
