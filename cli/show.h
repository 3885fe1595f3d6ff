// SPDX-License-Identifier: Apache-2.0
// A row in words, for people. Every figure says what it is; what was not measured is left out or said not to be known.
#ifndef ASSAY_CLI_SHOW_H
#define ASSAY_CLI_SHOW_H

#include "question/cell.h"

// About ten lines on standard output. `db`: the file that has the row, or NULL.
void show_result(const struct cell_result *r, const char *db);
// The same in one line, without a newline: "right, 110.2 ms".
const char *show_short(struct arena *a, const struct cell_result *r);
// A JSON value and a newline on standard output.
void show_json(const json_t *json);
// "418 MiB", "1.9 GiB" in the arena.
const char *show_size(struct arena *a, uint64_t nbytes);

#endif
