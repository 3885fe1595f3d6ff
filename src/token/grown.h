// SPDX-License-Identifier: Apache-2.0
// An array that grows: realloc, and the end of the process when the system has no memory, as with an arena.
#ifndef ASSAY_TOKEN_GROWN_H
#define ASSAY_TOKEN_GROWN_H

#include <stdlib.h>

#include "base/arena.h"

static inline void *grown(void *old, size_t count, size_t size)
{
	void *p = realloc(old, count * size);

	if (!p)
		out_of_memory(count * size);
	return p;
}

#endif
