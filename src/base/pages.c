// SPDX-License-Identifier: Apache-2.0
#include "base/pages.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uintptr_t page_nbytes; // 0: they are not kept
static _Thread_local unsigned lost;
static _Thread_local char lost_words[1024];

void pages_keep(void)
{
	page_nbytes = (uintptr_t)sysconf(_SC_PAGESIZE);
}

unsigned pages_lost(void)
{
	return lost;
}

const char *pages_lost_words(void)
{
	return lost_words;
}

bool pages_lose(uintptr_t address, const char *path)
{
	const uintptr_t page = page_nbytes;
	const char *const parts[] = { path, PAGES_LOST_WORDS };
	size_t n = 0;

	if (page == 0 ||
		mmap((void *)(address / page * page), page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
			MAP_FAILED)
		return false;
	for (size_t i = 0; i < 2; i++)
		for (const char *p = parts[i]; *p != '\0' && n + 1 < sizeof lost_words; p++)
			lost_words[n++] = *p;
	lost_words[n] = '\0';
	lost++;
	return true;
}
