// SPDX-License-Identifier: Apache-2.0
// Folders that are of no model: which kind one is, and how it is run.
#include "conform/case.h"

static const struct kind {
	bool (*is)(const char *folder, struct arena *a);
	void (*run)(struct conform_case *c, struct arena *a);
} kinds[] = {
	{ conform_is_tokenizer, conform_tokenizer },
	{ conform_is_scheduler, conform_scheduler },
	{ conform_is_preprocessor, conform_preprocessor },
};

static const struct kind *kind_of(const char *folder, struct arena *a)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kinds[i].is(folder, a))
			return &kinds[i];
	return NULL;
}

bool conform_is_here(const char *folder, struct arena *a)
{
	return kind_of(folder, a) != NULL;
}

void conform_here(struct conform_case *c, struct arena *a)
{
	const struct kind *kind = kind_of(c->folder, a);

	if (kind) {
		kind->run(c, a);
		return;
	}
	c->verdict = VERDICT_FAILED;
	c->reason = "its files are gone";
	c->elsewhere = -1;
}
