// SPDX-License-Identifier: Apache-2.0
// Any bytes as the lines of a Hub's answer: what is taken of them is text that ends and can be shown, and numbers that are sizes.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hub/fetch_http.h"

static void check_text(const char *text, size_t size)
{
	if (strnlen(text, size) == size)
		abort();
	for (; *text; text++)
		if ((unsigned char)*text < 32 || *text == 127)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_answer x = { .linked_size = -1, .length = -1, .range_from = -1, .range_total = -1 };
	fuzz_memory_begin();
	for (size_t at = 0; at < size;) {
		const uint8_t *newline = memchr(data + at, '\n', size - at);
		size_t length = newline ? (size_t)(newline - data) + 1 - at : size - at;
		// Exactly as many bytes as the line has: curl's lines end with no NUL.
		char *line = malloc(length);
		if (!line)
			abort();
		memcpy(line, data + at, length);
		http_header(&x, line, length);
		free(line);
		at += length;
	}
	fuzz_memory_end(size, 1024, 2);
	check_text(x.etag, sizeof x.etag);
	check_text(x.linked_etag, sizeof x.linked_etag);
	check_text(x.commit, sizeof x.commit);
	check_text(x.error_code, sizeof x.error_code);
	check_text(x.error_message, sizeof x.error_message);
	if (x.linked_size < -1 || x.length < -1 || x.range_from < -1 || x.range_total < -1 || x.retry_after_s < 0)
		abort();
	return 0;
}
