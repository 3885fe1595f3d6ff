// SPDX-License-Identifier: Apache-2.0
// What `run`, `matrix`, `profile` and `ab` share: the options of a question and of a matrix, and a matrix (plan/matrix.h) whose
// events are shown.
#ifndef ASSAY_CLI_CELLS_H
#define ASSAY_CLI_CELLS_H

#include <stdio.h>

#include "command.h"
#include "plan/matrix.h"
#include "show.h"

struct cells { // CELLS_INIT
	struct matrix matrix;
	struct cli_list on;
	struct cli_list axes[QUESTION_COUNT]; // as typed
	const char *db;
	bool json, offline;
	// Set by the caller.
	bool fetch_nothing;      // what is not here is named and left out of the plan
	bool quiet;              // no summaries on standard output
	bool verbose;            // summaries with every fact
	bool counted;            // "[3/14]" and the time left on standard error
	int exit_code;           // of cells_run
	struct show_table table; // of the summaries
};
#define CELLS_INIT .matrix = MATRIX_INIT

// The command's own options (which end with CLI_END), then those of a question and of a matrix, then its last ones; one array in
// the matrix' arena. An option that both have is the command's.
const struct cli_option *cells_options(struct cells *c, const struct cli_option *first, const struct cli_option *last);
// After cli_parse: models are fetched where that is allowed, the matrix is planned. -1 to go on, else the exit code.
int cells_plan(struct cells *c, const char *const *models, size_t model_count);
// Runs every cell; the summary of each goes to standard output unless quiet. Sets exit_code; returns it.
int cells_run(struct cells *c);
// From which batch on the median of one platform is below another's, a line each; nothing without a sweep over batches.
void cells_print_crossovers(const struct cells *c, FILE *out);
void cells_done(struct cells *c);
// "assay run bert --on cpu": argv joined, for the run's row.
const char *cells_command(struct arena *a, int argc, char **argv);
// "5 right, 1 crashed; 2 finished before"
void cells_print_counts(const struct cells *c);
const char *cells_plural(size_t n, const char *one, const char *many);

#endif
