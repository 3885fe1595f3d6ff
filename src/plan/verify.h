// SPDX-License-Identifier: Apache-2.0
// Kinds of pipelines x platforms: `assay verify`. Of each kind the program carries a tiny pipeline
// (PREFIX/share/assay/conform/pipeline), which is asked two things on each platform:
//
//   graphs   one forward pass of each of its models, as `assay run --synthetic` asks for it: cells of a matrix, with rows
//   answer   the whole pipeline, from texts, pictures or sounds to the answer, held against what transformers answered, as
//            `assay conform` does it
//
//   verify_choose    which kinds; the folders of their models, which the matrix is planned for
//   (matrix_plan, matrix_run)
//   verify_answers   the second half
//   verify_entry     what stands in the grid
#ifndef ASSAY_PLAN_VERIFY_H
#define ASSAY_PLAN_VERIFY_H

#include "conform/conform.h"
#include "plan/matrix.h"

enum { VERIFY_MODELS_MOST = 4 };
struct verify_kind {
	const char *word; // "text", "vision", ...
	const char *form; // of text: "encoder", "decoder", "encoder-decoder"; NULL
	const char *pipeline;
	const char *models[VERIFY_MODELS_MOST]; // folders in the pipeline's, "." is itself; NULL: no more
};
const char *verify_kind_word(size_t i, const void *unused); // words, then forms; NULL after the last: as text_nearest asks
// "text, decoder", in `a`.
const char *verify_kind_name(struct arena *a, const struct verify_kind *kind);

enum verify_check { VERIFY_GRAPHS, VERIFY_ANSWER, VERIFY_CHECKS };
const char *verify_check_word(enum verify_check check); // "graphs", "answer"

struct verify {
	const struct verify_kind **kinds;
	size_t kind_count;
	const char **models; // of all kinds, each once: paths of folders
	size_t model_count;
	const char **folders;         // of the pipelines, [kind_count]
	struct conform_case *answers; // [kind_count x targets]; name NULL: not asked
	size_t target_count;
};
// The kinds that have one of the words as word or form; all of them without words. In `a`. BAD_INPUT: no kind is called so;
// UNAVAILABLE: the folders are not there.
enum status verify_choose(struct verify *v, const char *const *words, size_t count, struct arena *a, struct error *err);
// On every target of the plan. `each` is called as answers come. In the matrix' arena. An end by m->stop is no error.
enum status verify_answers(
	struct verify *v, struct matrix *m, void (*each)(void *, const struct conform_case *), void *context, struct error *err);

// Is the cell's model one of this kind's?
bool verify_is_of(const struct verify *v, size_t kind, const struct matrix_cell *cell);
struct verify_entry {
	enum verdict verdict;
	const char *cause; // NULL: right
	const char *model; // the one of several that the verdict is of; NULL: none is
};
// After matrix_run and verify_answers: of the graphs the worst of the models' verdicts. In the matrix' arena.
void verify_entry(struct verify_entry *out, const struct verify *v, struct matrix *m, size_t kind, const struct target *t,
	enum verify_check check);

#endif
