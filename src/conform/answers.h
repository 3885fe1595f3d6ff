// SPDX-License-Identifier: Apache-2.0
// The answers of a pipeline on two platforms beside each other.
#ifndef ASSAY_CONFORM_ANSWERS_H
#define ASSAY_CONFORM_ANSWERS_H

#include "pipeline/pipeline.h"

struct answer_kept {
	const json_t *answer; // as transformers' pipeline has it
	const char *folder;   // of its pictures and tensors (struct pipeline_asked's KEEP/I); absent where it has none
	size_t prompt_tokens; // of its token_ids, which are not counted as tokens that are the same
};

// In the measures of tasks, over all answers that were compared. NaN, 0: nothing of this kind was there.
struct answer_likeness {
	int64_t labels, labels_same, tokens, tokens_same;
	int64_t empty;                      // nothing was found, by both
	int64_t words, word_errors;         // of texts: stats/word_error.h
	double score_difference;            // the largest
	double box_iou, mask_iou;           // intersection over union, the least
	double psnr_db;                     // of other pictures, the least; infinite: they are the same
	double max_abs_error, nmse, cosine; // of tensors, the worst
};
void answers_begin(struct answer_likeness *sum);

// One answer, added to *sum. OK: they are the same within the bounds of the task, of an engine that computes in `computes`.
// FAILED: they differ, and the sentence names the first member that does; else nothing can be said. Memory in `a`.
enum status answers_compare(const struct answer_kept *got, const struct answer_kept *want, const char *task, enum dtype computes,
	struct answer_likeness *sum, struct arena *a, struct error *err);
// Those bounds in words.
const char *answers_bound(struct arena *a, const char *task, enum dtype computes);

json_t *answers_json(const struct answer_likeness *sum); // column answer_measures of a row; owned by the caller
// "3 of 3 labels the same, scores at most 1e-07 apart" of that column; NULL: it says nothing.
const char *answers_words(struct arena *a, const char *measures);

#endif
