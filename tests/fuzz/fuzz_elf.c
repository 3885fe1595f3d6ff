// SPDX-License-Identifier: Apache-2.0
// Any bytes as a shared library: refused with a sentence, or names that end.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "platform/elf.h"

static volatile size_t sink;

static void touch(const char *s)
{
	if (!s)
		abort();
	sink += strlen(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct error e = { 0 };
	struct elf elf = { 0 };
	fuzz_memory_begin();
	enum status st = elf_read(&elf, &a, "input", data, size, &e);
	fuzz_memory_end(size, 4096, 8);

	if (st)
		fuzz_refused(st, &e, "input: ");
	if (st && (elf.needed || elf.wanted || elf.versions))
		abort();
	for (size_t i = 0; i < elf.needed_count; i++)
		touch(elf.needed[i]);
	for (size_t i = 0; i < elf.version_count; i++)
		touch(elf.versions[i]);
	for (size_t i = 0; i < elf.wanted_count; i++) {
		touch(elf.wanted[i].soname);
		touch(elf.wanted[i].version);
	}
	arena_done(&a);
	return 0;
}
