// SPDX-License-Identifier: Apache-2.0
// Comparisons that have a name: what is said to make models faster in a browser, each as two sides to be measured against each
// other. A row here is a question and says nothing about its answer; answers are lines of the table `comparison`.
#ifndef ASSAY_ANALYSIS_PRESET_H
#define ASSAY_ANALYSIS_PRESET_H

#include "analysis/ab.h"

struct preset_side {
	const char *on;      // as --on takes it; without a device it gets the browser that was asked for
	const char *options; // of the engine; NULL: none
	bool is_static, is_dynamic;
	const char *precision; // word of PRECISION_LIST; NULL: weights as they are stored
};

struct preset {
	const char *name, *what; // "layout": what --preset takes; a sentence
	struct preset_side a, b;
	unsigned metrics;    // bits of enum ab_metric
	const char *models;  // words of architectures that it is for; NULL: all
	const char *claim;   // what the original system said of it; NULL: nothing
	const char *why_not; // it cannot be measured, because; NULL: it can
};

size_t preset_count(void);
const struct preset *preset_get(size_t i);
const struct preset *preset_find(const char *name); // NULL if there is none
// Does it name its browsers itself?
bool preset_has_browser(const struct preset *p);
// "webgpu" and "firefox" -> "webgpu:firefox"; a text with a device stays.
const char *preset_on(struct arena *a, const struct preset_side *s, const char *browser);
bool preset_is_for(const struct preset *p, const char *architecture); // NULL: not known, so it may be

#endif
