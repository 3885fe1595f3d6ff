// SPDX-License-Identifier: Apache-2.0
// Any text as a Range header of files of several sizes, and as a path: a range lies inside of its file, a rest that is taken
// never climbs out of its folder.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "serve/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t sizes[] = { 0, 1, 10, 1 << 20, UINT64_MAX };
	char *text = malloc(size + 1), kind[8];
	const char *rest;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t begin = 0, count = 0;

		if (range_parse(text, sizes[i], &begin, &count) == RANGE_PART &&
			(!count || begin >= sizes[i] || count > sizes[i] - begin))
			abort();
	}
	if (path_parse(text, "token", kind, sizeof kind, &rest)) {
		if (strncmp(text, "/token/", 7) || strlen(kind) >= sizeof kind || strstr(rest, "/../") ||
			!strncmp(rest, "../", 3) || !strcmp(rest, "..") || rest[0] == '/')
			abort();
	}
	free(text);
	return 0;
}
