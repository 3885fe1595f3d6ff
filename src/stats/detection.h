// SPDX-License-Identifier: Apache-2.0
// Average precision of a detector over pictures, as COCO defines it and pycocotools (COCOeval, iouType "bbox", area "all",
// maxDets 100) computes it, AP@[.50:.95]:
//
//   overlap    of two boxes: area of the intersection over that of the union; with a crowd, over the area of the detection alone
//   match      of a picture's class, at a threshold: detections by falling score, the best 100, each takes the free truth that it
//              overlaps most and at least by the threshold; of a crowd, which is never taken up, only where there is no other
//   precision  of a class: all pictures' detections by falling score; right ones over all so far, made to never rise with recall,
//              read at the recalls 0, 0.01, .., 1 and averaged over these 101. What matches a crowd counts neither way
//   mAP        mean over the classes that have a truth which is no crowd, and over the thresholds 0.50, 0.55, .., 0.95
#ifndef ASSAY_STATS_DETECTION_H
#define ASSAY_STATS_DETECTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum { DETECTION_THRESHOLDS = 10, DETECTION_RECALLS = 101, DETECTION_MOST = 100 };

enum detection_kind { DETECTION_FOUND, DETECTION_TRUTH, DETECTION_CROWD };
// A row of numbers, so that rows lie in files as they are.
struct detection {
	double kind, label, score; // score: of DETECTION_FOUND; else 0
	double box[4];             // left, top, width, height
};

struct average_precision {
	double mean, at_50; // over all thresholds; at 0.50 alone. NaN: no truth that is no crowd
};
// Of pictures [count]; picture i has the rows first[i] up to first[i + 1]. Scratch memory in an arena of its own.
struct average_precision average_precision(const struct detection *rows, const int64_t *first, size_t count);

#endif
