// SPDX-License-Identifier: Apache-2.0
#include "run/shipped.h"

#include "base/text.h"

const char *shipped_golden(const char *digest)
{
	for (size_t i = 0; i < shipped_case_count; i++)
		if (text_is(shipped_cases[i].golden, digest))
			return shipped_cases[i].name;
	return NULL;
}

bool shipped_is(const char *folder)
{
	char digest[65];
	bool found = false;

	if (case_digest(digest, folder, NULL))
		return false;
	for (size_t i = 0; i < shipped_case_count && !found; i++)
		found = text_is(shipped_cases[i].whole, digest);
	return found;
}
