// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: memory that a parser takes is counted and held against a bound, refusals are sentences, and a
// folder for parsers that open files by their names.
#ifndef ASSAY_FUZZ_H
#define ASSAY_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Between the two everything allocated is counted, in every thread. It is a finding, told on standard error with both numbers,
// when at one time more was held than `fixed` bytes and `each` for a byte of the input, or than FUZZ_MEMORY_MOST whatever the
// input is. Maps are not counted. Without the sanitizers nothing is: there is nobody to ask.
#define FUZZ_MEMORY_MOST ((size_t)100 << 20)
void fuzz_memory_begin(void);
void fuzz_memory_end(size_t size, size_t fixed, size_t each);

// A refusal: `e` was filled with this very status and with a sentence that begins so (NULL: with anything), one line of UTF-8
// without control characters. Aborts otherwise; STATUS_OK is no refusal.
void fuzz_refused(enum status s, const struct error *e, const char *begins);

// A folder of this process, by its real path; it and what is in it go at the end of the process.
const char *fuzz_folder(void);
// Writes a file of that folder, by its name there; its path stays the library's, and valid.
const char *fuzz_put(const char *name, const void *data, size_t size);

// Looks at every byte, so that the sanitizer sees one that is not there.
void fuzz_touch(const void *data, size_t nbytes);

#endif
