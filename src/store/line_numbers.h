// SPDX-License-Identifier: Apache-2.0
// What the lines of a whole database in one .json file say of themselves at their beginning, as `assay export` writes it:
//     {"assay_table":"cell","id":1,...     {"assay_table":"sample","cell":1,"event":3,...
// Looked at in one pass, before a reader of JSON makes columns of every line: of 5 million equal ones that took 36 s and 1.1 GB.
#ifndef ASSAY_STORE_LINE_NUMBERS_H
#define ASSAY_STORE_LINE_NUMBERS_H

#include "base/error.h"

// BAD_INPUT with a sentence that names the line: it begins otherwise, a run, cell, event or measurement stands twice, there are
// more of them than are read, or rows name events that are not there. A regular file.
enum status line_numbers_look(const char *path, struct error *err);

#endif
