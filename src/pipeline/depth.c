// SPDX-License-Identifier: Apache-2.0
#include "pipeline/depth.h"

#include <math.h>

enum status depth_of_picture(struct planes *depth, struct picture *grey, struct arena *a, const struct planes *map, int height,
	int width, struct error *err)
{
	float least = INFINITY, most = -INFINITY;
	enum status st;

	if ((st = planes_cubic(depth, a, map, height, width, err)) || (st = picture_new(grey, a, width, height, 1, err)))
		return st;
	size_t pixels = (size_t)height * (size_t)width;
	for (size_t i = 0; i < pixels; i++) {
		least = fminf(least, depth->data[i]);
		most = fmaxf(most, depth->data[i]);
	}
	for (size_t i = 0; i < pixels && most > least; i++)
		grey->pixels[i] = (uint8_t)((depth->data[i] - least) / (most - least) * 255);
	return STATUS_OK;
}
