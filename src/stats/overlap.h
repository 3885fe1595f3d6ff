// SPDX-License-Identifier: Apache-2.0
// Mean intersection over union of segmented pictures, as the metric mean_iou of Hugging Face's evaluate has it (and
// mmsegmentation before it): for each class the pixels that are its in both over those that are its in either, each summed over
// all pictures; the mean over the classes that occur in any picture's label or answer.
#ifndef ASSAY_STATS_OVERLAP_H
#define ASSAY_STATS_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

enum { OVERLAP_CLASSES_MOST = 65536, OVERLAP_IGNORED = 255 };

// A row of numbers: pixels of a class in one picture.
struct overlap {
	double label, both, either;
};

// NaN where there is no class.
double overlap_mean(const struct overlap *rows, size_t count);

#endif
