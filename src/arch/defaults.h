// SPDX-License-Identifier: Apache-2.0
// defaults.jsonl as the build puts it into the program (tools/embed.c).
#ifndef ASSAY_ARCH_DEFAULTS_H
#define ASSAY_ARCH_DEFAULTS_H

#include <stddef.h>

struct arch_defaults {
	const char *name, *data;
	size_t size;
};
extern const struct arch_defaults arch_defaults_rows[];
extern const size_t arch_defaults_rows_count;

#endif
