// SPDX-License-Identifier: Apache-2.0
// A detector's answer: scored boxes in pixels of the picture, from what its queries say. Nothing is suppressed: these detectors
// learn to answer once for each thing. The rules are those of each processor's post_process_object_detection in transformers.
#ifndef ASSAY_ANSWER_BOXES_H
#define ASSAY_ANSWER_BOXES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"

struct box {
	double score;
	int64_t label;
	float edge[4]; // left, top, right, bottom: pixels, parts of them too, and may lie outside of the picture
};
struct boxes {
	struct box *items;
	size_t count;
};

// What a detector gives for one picture.
struct detections {
	const double *logits; // [queries, classes]
	const float *boxes;   // [queries, 4]: centre x and y, width and height, as shares of the picture's width and height
	size_t queries, classes;
	int width, height; // of the picture, in pixels
};

size_t scores_best(const double *scores, size_t count); // the first of the largest

enum boxes_rule {
	BOXES_NO_OBJECT, // softmax, the last class: there is nothing; each query's best label, in the order of the queries
	BOXES_PAIRS,     // sigmoid; the best pairs of query and label, by falling score
	BOXES_QUERIES,   // sigmoid of each query's best label, in the order of the queries
};
// What the processor of a class (preprocessor_class) makes of the outputs; NULL: no such detector is known.
struct detector {
	const char *processor;
	enum boxes_rule rule;
	size_t most; // of BOXES_PAIRS; 0: as many as there are queries
};
const struct detector *detector_of(const char *processor);

// Those above `threshold`, in `a`. `most`: of BOXES_PAIRS, how many pairs are looked at; else not used.
struct boxes boxes_found(struct arena *a, const struct detections *d, enum boxes_rule rule, size_t most, double threshold);
void boxes_sort(struct arena *a, struct boxes *b); // by falling score; equal ones stay in their order

// {"score", "label", "box": {"xmin", "ymin", "xmax", "ymax"}}, whole pixels: cut towards zero.
json_t *box_answer(const struct box *b, const char *label);

#endif
