// SPDX-License-Identifier: Apache-2.0
// What matchers of keypoints read of their detector.
#ifndef ASSAY_ARCH_FAMILY_SUPERPOINT_H
#define ASSAY_ARCH_FAMILY_SUPERPOINT_H

#include "arch/spec.h"
#include "onnx/graph.h"

// Of each picture as many as of the one that has most; places behind a picture's last are 0.
struct keypoints {
	graph_value places;      // [batch, points, 2]: x and y as shares of the picture's width and height
	graph_value scores;      // [batch, points]
	graph_value descriptors; // [batch, points, width]
	graph_value there;       // bool [batch, points]
};
int64_t superpoint_width(const struct spec *s); // of descriptors

#endif
