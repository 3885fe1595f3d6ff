// SPDX-License-Identifier: Apache-2.0
// Segments of a picture from the maps that a model gives: one mask a label, or one a thing. The rules are those of the
// processors' post_process_*_segmentation in transformers, for one picture, resized to its height and width.
#ifndef ASSAY_ANSWER_MASKS_H
#define ASSAY_ANSWER_MASKS_H

#include <stddef.h>
#include <stdint.h>

#include "preprocess/resample.h"

// What the processor of a class (preprocessor_class) makes of the outputs: maps of labels, or queries with a mask each.
struct segmenter {
	const char *processor, *classes, *masks; // names of outputs; masks NULL: `classes` are maps
	int side;                                // of struct mask_queries
};
const struct segmenter *segmenter_of(const char *processor); // NULL: no such one is known

struct segment {
	double score; // NaN: it has none
	int64_t label;
	struct picture mask; // grey: 255 where it is, else 0
};
struct segments {
	struct segment *items;
	size_t count;
};

// Each pixel's label is the largest of `logits` [labels, height, width], resized (bilinear) to the picture's size: [height,
// width]. In `a`, as everything here.
enum status labels_of_pixels(
	int32_t **out, struct arena *a, const struct planes *logits, int height, int width, struct error *err);
// The same as a segment for each label that occurs, by rising index.
enum status segments_of_labels(
	struct segments *out, struct arena *a, const struct planes *logits, int height, int width, struct error *err);

// A model of queries, each with a label and a mask.
struct mask_queries {
	const double *classes; // [queries, labels + 1], logits; the last one: there is nothing
	struct planes masks;   // [queries, height, width], logits
	size_t labels;
	int side; // masks are brought to side x side first (mask2former: 384); 0: they stay as they are
};
struct mask_thresholds {
	double score, mask, overlap; // threshold, mask_threshold, overlap_mask_area_threshold of the library
};

// For each label the sum over the queries of label probability times mask probability, [labels, height, width].
enum status planes_of_queries(struct planes *out, struct arena *a, const struct mask_queries *q, struct error *err);
// Each pixel's label is the largest of these sums.
enum status segments_of_queries(
	struct segments *out, struct arena *a, const struct mask_queries *q, int height, int width, struct error *err);
// One segment a query: its best label's probability is above thresholds->score, and of the pixels where probability times score
// reaches thresholds->mask more than the share thresholds->overlap is won from the other queries. Scores have 6 digits.
enum status segments_panoptic(struct segments *out, struct arena *a, const struct mask_queries *q,
	const struct mask_thresholds *thresholds, int height, int width, struct error *err);
// The best pairs of query and label, as many as there are queries, by falling score; the score is the label's probability times
// the mean probability within the mask, at least thresholds->score. A later segment lies over an earlier one. (The library
// leaves the order of the pairs to its selection, which does not sort them where a model has fewer than 64 labels.)
enum status segments_of_instances(struct segments *out, struct arena *a, const struct mask_queries *q,
	const struct mask_thresholds *thresholds, int height, int width, struct error *err);

// A mask of sam's decoder: logits of the whole padded picture, [height, width]. Brought to `padded` (height, width), cut to the
// part that the picture takes there, and brought to the picture's size; 255 where it is above 0.
enum status mask_unpadded(struct picture *out, struct arena *a, const struct planes *logits, const int padded[2],
	const int taken[2], int height, int width, struct error *err);

#endif
