// SPDX-License-Identifier: Apache-2.0
// What the answers to a set of examples (data.h) are worth, example by example: what the metric is made of, and nothing that
// depends on how many examples there are. A run writes it into a file, and so does its reference in float32.
//
//   accuracy         `label`: one class for each row of logits [batch, classes]; the largest logit is the answer
//   token accuracy   `labels` [batch, seq] for logits [batch, seq, classes]; -100: not judged
//   perplexity       the same of a causal language model, labels as transformers takes them: the logits at a place are about the
//                    label after it. exp of the mean of -log softmax(logits)[label]. A text without labels is its own
//   word error rate  `transcript`: words of the text that the labels of frames (CTC) spell, by the model's tokenizer, or that it
//                    writes (work_data.c); stats/word_error.h
//   mAP              `boxes`: what the processor's post_process_object_detection gives without a threshold; stats/detection.h
//   mean IoU         `mask`: what its post_process_semantic_segmentation gives, in the mask's size; stats/overlap.h
//   cosine           golden outputs: cosine similarity, the worst output's of each example, and the largest relative error of
//                    values above a hundredth of the output's largest
#ifndef ASSAY_CELL_SCORE_H
#define ASSAY_CELL_SCORE_H

#include "cell/data.h"
#include "cell/output_file.h"
#include "stats/detection.h"
#include "stats/overlap.h"

enum data_metric {
	DATA_ACCURACY,
	DATA_TOKEN_ACCURACY,
	DATA_PERPLEXITY,
	DATA_COSINE,
	DATA_WORD_ERROR,
	DATA_PRECISION,
	DATA_OVERLAP,
	DATA_METRICS
};
const char *data_metric_word(enum data_metric m); // "token accuracy"

struct scores {
	enum data_metric metric;
	size_t count; // examples
	// Of each: right places; -log p in all; the cosine; wrong words; mAP and mean IoU of the picture by itself. Over
	// `weight`: places, words of the transcript, or 1.
	double *sum, *weight;
	double *relative; // largest relative error; 0 of other metrics
	int64_t *first;   // [count + 1]: where its places begin
	int64_t *chosen,
		*label; // of each place that is judged; chosen -1: the logits there are not finite. Of words: hashes of texts
	int64_t *rank;  // of accuracy: how many logits come before the label's, the first of equal ones first
	size_t places, room;
	int64_t classes;     // of accuracy
	int64_t broken, cut; // examples whose outputs are not finite; texts that were cut
	// Of mAP and mean IoU: rows of struct detection or struct overlap, one behind the other. Else none.
	double *rows;
	int64_t *row_first; // [count + 1]
	size_t row_count, row_room;
};

// How outputs are read. All zero: as they are.
struct score_rules {
	bool predicts_next;          // a causal language model's (input_hints.predicts_next)
	struct tokenizer *tokenizer; // of a `transcript`
	const char *processor;       // of `boxes` and `mask`: the class (preprocessor_class)
	const char *said;            // of a `transcript`: the text that a model wrote; NULL: its outputs are labels of frames
};

void scores_begin(struct scores *s, struct arena *a, size_t examples);
// Outputs of one run, as the engine gave them. BAD_INPUT with a sentence: labels that do not go with the outputs, an output that
// is not there, another metric than that of the examples before. UNSUPPORTED: a processor whose boxes or masks are not
// known here.
enum status scores_add(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out, size_t count,
	const struct score_rules *rules, struct error *err);

// score_task.c: the three that a task's own rules make scores of. Private to score.c.
enum status scores_add_words(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct score_rules *rules, struct error *err);
enum status scores_add_boxes(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct score_rules *rules, struct error *err);
enum status scores_add_mask(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out,
	size_t count, const struct score_rules *rules, struct error *err);
enum status scores_place(
	struct scores *s, struct arena *a, int64_t chosen, int64_t label, int64_t rank, struct error *err); // one more
size_t scores_row_size(enum data_metric m); // numbers of a row; 0: it has none
// `made_from` as outputs_write has it.
enum status scores_write(const struct scores *s, struct arena *a, const char *path, const char *made_from, struct error *err);
// Of such a file; lives as long as the answer. BAD_INPUT: it is none, or does not hold together.
enum status scores_of(struct scores *out, const struct answer *x, struct error *err);

#endif
