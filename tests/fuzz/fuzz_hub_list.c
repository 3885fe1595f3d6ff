// SPDX-License-Identifier: Apache-2.0
// Any bytes as the Hub's list of files, and as an index of shards over a good list: refused with a sentence, or names that stay
// inside their folder, sorted, each once.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hub/fetch_inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char two[] = "{\"sha\": \"0123456789abcdef0123456789abcdef01234567\", \"siblings\": [{\"rfilename\": "
				  "\"a\"}, {\"rfilename\": \"b\"}]}";
	struct arena a = { 0 };
	struct error e = { 0 };
	struct fetch_listing l = { 0 }, known;
	const struct fetch_file **shards = NULL;
	size_t count = 0;
	fuzz_memory_begin();
	enum status s = fetch_list_parse(&l, &a, (const char *)data, size, &e);
	fuzz_memory_end(size, 16 << 10, 256);
	if (s)
		fuzz_refused(s, &e, "the list of files: ");
	if (!s != !!l.files)
		abort();
	for (size_t i = 0; i < l.count; i++)
		if (!fetch_path_is_safe(l.files[i].name) || l.files[i].size < -1 ||
			(i && strcmp(l.files[i - 1].name, l.files[i].name) >= 0) ||
			fetch_list_find(&l, l.files[i].name) != &l.files[i])
			abort();
	e = (struct error){ 0 };
	if (fetch_list_parse(&known, &a, two, sizeof two - 1, NULL))
		abort();
	fuzz_memory_begin();
	s = fetch_index_parse(&shards, &count, &a, &known, "index", (const char *)data, size, &e);
	fuzz_memory_end(size, 16 << 10, 256);
	if (s)
		fuzz_refused(s, &e, "index: ");
	if (s ? count : !count || count > 2)
		abort();
	arena_done(&a);
	return 0;
}
