// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

#include <unistd.h>

#include "command.h"
#include "emit.h"
#include "progress.h"

#define READING_MEMORY ((int64_t)1536 << 20) // DuckDB's own and a result

void cli_give_up(const char *sentence)
{
	emit_error("assay: %s\n", sentence);
	_exit(EXIT_USE);
}

static void notice(void *context, const char *sentence)
{
	(void)context;
	progress_notice(sentence);
}

struct store cli_reading(void)
{
	return (struct store){ .notice = notice,
		.limits = { .memory_bytes = READING_MEMORY, .holds_memory = true, .give_up = cli_give_up } };
}
