// SPDX-License-Identifier: Apache-2.0
// Files that the HTML report carries inside itself: the charts' library and the report's own style, script and template.
// The table is generated at build time by tools/embed.c; which files go in is said in cmake/Generated.cmake.
#ifndef ASSAY_REPORT_WEB_ASSET_H
#define ASSAY_REPORT_WEB_ASSET_H

#include <stddef.h>

struct web_asset {
	const char *name; // base name: "uPlot.iife.min.js"
	const char *data; // zero-terminated; the zero is not counted
	size_t size;
};

extern const struct web_asset web_assets[];
extern const size_t web_assets_count;

#endif
