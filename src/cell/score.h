// SPDX-License-Identifier: Apache-2.0
// What the answers to a set of examples (data.h) are worth, example by example: what the metric is made of, and nothing that
// depends on how many examples there are. A run writes it into a file, and so does its reference in float32.
//
//   accuracy         `label`: one class for each row of logits [batch, classes]; the largest logit is the answer
//   token accuracy   `labels` [batch, seq] for logits [batch, seq, classes]; -100: not judged
//   perplexity       the same of a causal language model, labels as transformers takes them: the logits at a place are about the
//                    label after it. exp of the mean of -log softmax(logits)[label]. A text without labels is its own
//   cosine           golden outputs: cosine similarity, the worst output's of each example, and the largest relative error of
//                    values above a hundredth of the output's largest
#ifndef ASSAY_CELL_SCORE_H
#define ASSAY_CELL_SCORE_H

#include "cell/data.h"
#include "cell/output_file.h"

enum data_metric { DATA_ACCURACY, DATA_TOKEN_ACCURACY, DATA_PERPLEXITY, DATA_COSINE, DATA_METRICS };
const char *data_metric_word(enum data_metric m); // "token accuracy"

struct scores {
	enum data_metric metric;
	size_t count; // examples
	// Of each: right places; -log p in all; the cosine. Over `weight`: places, or 1.
	double *sum, *weight;
	double *relative;        // largest relative error; 0 of other metrics
	int64_t *first;          // [count + 1]: where its places begin
	int64_t *chosen, *label; // of each place that is judged; chosen -1: the logits there are not finite
	size_t places, room;
	int64_t broken, cut; // examples whose outputs are not finite; texts that were cut
};

void scores_begin(struct scores *s, struct arena *a, size_t examples);
// Outputs of one run, as the engine gave them; `next`: a causal language model's (input_hints.predicts_next). BAD_INPUT with a
// sentence: labels that do not go with the outputs, an output that is not there, another metric than that of the examples before.
enum status scores_add(struct scores *s, struct arena *a, const struct data_example *e, const struct tensor *out, size_t count,
	bool next, struct error *err);
// `made_from` as outputs_write has it.
enum status scores_write(const struct scores *s, struct arena *a, const char *path, const char *made_from, struct error *err);
// Of such a file; lives as long as the answer. BAD_INPUT: it is none, or does not hold together.
enum status scores_of(struct scores *out, const struct answer *x, struct error *err);

#endif
