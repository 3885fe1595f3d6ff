// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_CLI_SHOW_ANSWER_H
#define ASSAY_CLI_SHOW_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

// The files that were written of an answer: its pictures under their names with `before` in front, or the first one as `output`.
struct shown_files {
	const char *saved;
	const char *before, *output; // output NULL: none
};
// One of the answers of struct pipeline_told, for a person. Only files that were written are named.
void show_answer(const json_t *one, const struct shown_files *files);

#endif
