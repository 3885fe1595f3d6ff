// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_CLI_SHOW_ANSWER_H
#define ASSAY_CLI_SHOW_ANSWER_H

#include <jansson.h>

// One of the answers of struct pipeline_told, for a person.
void show_answer(const json_t *one);

#endif
