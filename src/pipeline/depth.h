// SPDX-License-Identifier: Apache-2.0
// The depth of each pixel of a picture, from the map that a model gives.
#ifndef ASSAY_PIPELINE_DEPTH_H
#define ASSAY_PIPELINE_DEPTH_H

#include "preprocess/resample.h"

// `map` [1, height, width] at the picture's size (bicubic, post_process_depth_estimation of DPTImageProcessor and
// GLPNImageProcessor), and as a grey picture: (d - least) / (most - least) * 255, cut to 8 bits; black where all is as far.
// In `a`.
enum status depth_of_picture(struct planes *depth, struct picture *grey, struct arena *a, const struct planes *map, int height,
	int width, struct error *err);

#endif
