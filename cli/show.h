// SPDX-License-Identifier: Apache-2.0
// A row in words, for people. Every figure says what it is; what was not measured is left out or said not to be known.
#ifndef ASSAY_CLI_SHOW_H
#define ASSAY_CLI_SHOW_H

#include "base/text.h"
#include "question/cell.h"

// Every fact of a cell, about twenty lines on standard output. `label`: what was asked, "bert on cpu:chromium, batch 8"; `db`:
// the file that has the row, or NULL.
void show_result(const struct cell_result *r, const char *label, const char *db);

// Four lines: verdict and why, latency, memory, error; and one for what was asked beside these (a scenario, a leak).
void show_brief(const struct cell_result *r, const char *label);
// Of several cells a line each, its cells in the arena.
enum { SHOW_COLUMNS = 8 };
struct show_table {
	struct show_line {
		const char *of[SHOW_COLUMNS];
		struct show_line *next;
	} * first, *last;
};
void show_table_add(struct show_table *t, struct arena *a, const struct cell_result *r, const char *label);
void show_table_print(const struct show_table *t);

// The same in one line, without a newline: "right, 110.2 ms".
const char *show_short(struct arena *a, const struct cell_result *r);
// A JSON value and a newline on standard output.
void show_json(const json_t *json);
// {"file": path, "bytes"}: a file that was written. Owned by the caller.
json_t *show_written(const char *path);
// "418 MiB", "1.9 GiB" in the arena.
const char *show_size(struct arena *a, uint64_t nbytes);
// 0.123 -> "0.123", 12.3 -> "12.3", 1234 -> "1234": three or four digits that mean something.
const char *show_ms(struct arena *a, double x);
// With what qualifies the row, in parentheses.
const char *show_qualified(struct arena *a, const char *words, const struct row *r);
// The label, with EMULATED where that was not known before, and where it ran instead.
// Of a reduced precision, what it loses: "NMSE 0.03, cosine 0.98, top-1 agrees in 26 %, to float32"; NULL: nothing was compared.
const char *show_loss(struct arena *a, const struct row *r);
const char *show_title(struct arena *a, const char *label, const struct row *r);
// Who says that it is right or wrong: "engines agree", "agrees with transformers' outputs (...)"; NULL: nobody.
const char *show_agreement(struct arena *a, const struct row *r, enum verdict v);
void show_add_scenario(struct text *t, const struct row *r);
void show_add_energy(struct text *t, const struct row *r); // nothing where there is no figure
void show_add_together(struct text *t, struct arena *a, const struct row *r);
void show_add_switch(struct text *t, struct arena *a, const struct row *r);
void show_add_shipped(struct text *t, const struct row *r);
// "accuracy 0.91 (95 % interval 0.87 to 0.94) of 200 examples, float32's 0.915; 3 answered otherwise".
void show_add_data(struct text *t, const struct row *r);
void show_add_inputs(struct text *t, struct arena *a, const struct row *r);
void show_add_leak(struct text *t, const struct row *r);

#endif
