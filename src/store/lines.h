// SPDX-License-Identifier: Apache-2.0
// A file of lines of a folder that is imported, looked through before DuckDB's readers are: they need seconds for empty lines and
// hundreds of MB for names of columns. Inside src/store.
#ifndef ASSAY_STORE_LINES_H
#define ASSAY_STORE_LINES_H

#include <stdint.h>

#include "base/error.h"

enum {
	LINE_MOST = 2 << 20,    // bytes of a line; DuckDB's own limit for CSV
	HEADER_MOST = 64 << 10, // of the names of columns
	COLUMNS_MOST = 1024,
};

// BAD_INPUT with a sentence: more than `most` lines, besides the names of a .csv, or one that is longer than those of an export.
enum status lines_look(const char *path, int64_t most, struct error *err);

#endif
