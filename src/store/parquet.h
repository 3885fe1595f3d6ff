// SPDX-License-Identifier: Apache-2.0
// A Parquet file that is imported, looked through before DuckDB's reader is: it crashes where columns lie in one another 20,000
// deep, takes a minute for 200,000 of them, and decompresses one page of 3 KB, which is 100 MiB, as often as the footer names it.
// The formats are those of parquet.thrift, in Thrift's compact protocol (both of Apache). Inside src/store.
#ifndef ASSAY_STORE_PARQUET_H
#define ASSAY_STORE_PARQUET_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	FOOTER_MOST = 256 << 10, // bytes, besides half of the file: one that assay writes has 15 to 40 KiB for each 8,192 rows
	PAGES_MOST = 64 << 20,   // bytes of all pages, decompressed, besides PAGES_A_BYTE for each of the file
	PAGES_A_BYTE = 64,
};

// BAD_INPUT with a sentence: the file is cut off or damaged, has more than COLUMNS_MOST columns (lines.h) or columns within
// columns, a footer or pages of more bytes than the above, values that stand for others' (encodings besides plain values and
// dictionaries, which assay does not write), or columns of another number of values than their group has rows.
enum status parquet_look(const char *path, struct error *err);
// The same of the bytes of a whole file.
enum status parquet_check(const uint8_t *data, size_t nbytes, struct error *err);

#endif
