// SPDX-License-Identifier: Apache-2.0
// What is known of a platform, a line a fact.
#ifndef ASSAY_CLI_SHOW_FACTS_H
#define ASSAY_CLI_SHOW_FACTS_H

#include <jansson.h>

#include "base/arena.h"

// All facts but the findings, on standard output.
void show_facts(struct arena *a, const char *indent, const json_t *facts);

#endif
