// SPDX-License-Identifier: Apache-2.0
// Any bytes as a chat template, over a small conversation with a tool: refused with a sentence that names it, or UTF-8 text.
#include <stdlib.h>

#include "base/json.h"
#include "base/visible.h"
#include "chat/chat.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static json_t *variables;
	struct arena a = { 0 };
	struct error e = { 0 };
	char *out;
	size_t n;

	if (!variables)
		variables = json_parse("{\"messages\": [{\"role\": \"user\", \"content\": \"a \\u00e9\"}, {\"role\": "
				       "\"assistant\", \"content\": null}],"
				       " \"tools\": [{\"name\": \"f\", \"p\": {\"x\": [1, 2.5, true]}}], \"bos_token\": \"<s>\","
				       " \"add_generation_prompt\": true}");
	fuzz_memory_begin();
	enum status s = chat_render(&a, "chat_template.jinja", (const char *)data, size, variables, 0, &out, &n, &e);
	fuzz_memory_end(size, 96 << 20, 0);
	if (s != STATUS_OK)
		fuzz_refused(s, &e, "chat_template.jinja: ");
	else if (visible_not_utf8(out, n) != n)
		abort();
	arena_done(&a);
	return 0;
}
