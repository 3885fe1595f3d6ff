// SPDX-License-Identifier: Apache-2.0
// The footer of a Parquet file that is imported, looked through before DuckDB's reader is: it crashes where columns lie in one
// another 20,000 deep, and takes a minute for 200,000 of them. Inside src/store.
#ifndef ASSAY_STORE_FOOTER_H
#define ASSAY_STORE_FOOTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { FOOTER_MOST = 256 << 10 }; // bytes, besides an eighth of the file; one that assay writes has 40 KiB for each 8,192 rows

// BAD_INPUT with a sentence: the file is cut off, its footer is no FileMetaData of Thrift's compact protocol (parquet.thrift of
// the format's specification), or has more than COLUMNS_MOST columns (lines.h), or columns within columns.
enum status footer_look(const char *path, struct error *err);
// The same for the bytes of a footer alone.
enum status footer_check(const uint8_t *data, size_t nbytes, struct error *err);

#endif
