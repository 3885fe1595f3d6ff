// SPDX-License-Identifier: Apache-2.0
// One line on standard error that says what is being done; nothing at all when that is no terminal.
#ifndef ASSAY_CLI_PROGRESS_H
#define ASSAY_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

// Replaces the line; the text is cut to the width of the terminal.
void progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Is there a terminal that shows it?
bool progress_is_shown(void);
// The same as progress_line, and where there is no terminal a line of its own: for steps of seconds, of which there are few.
void progress_step(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Takes the line away, so that something else can be printed.
void progress_clear(void);
// "assay: SENTENCE" on standard error, in place of the line.
void progress_notice(const char *sentence);
// For struct synth_options: `context` is what is written (const char *). Stops when cli_stop is set.
int progress_bytes(void *context, uint64_t done, uint64_t total);
// "12 s", "3 min", "2 h 10 min", into a static buffer.
const char *progress_duration(double seconds);

#endif
