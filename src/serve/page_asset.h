// SPDX-License-Identifier: Apache-2.0
// The page that a browser is given, inside the program. The table is generated at build time by tools/embed.c.
#ifndef ASSAY_SERVE_PAGE_ASSET_H
#define ASSAY_SERVE_PAGE_ASSET_H

#include <stddef.h>

struct page_asset {
	const char *name; // "index.html"
	const char *data; // zero-terminated; the zero is not counted
	size_t size;
};

extern const struct page_asset page_assets[];
extern const size_t page_assets_count;

#endif
