// SPDX-License-Identifier: Apache-2.0
#include "serve/range.h"

#include <string.h>
#include <strings.h>

// Decimal digits up to something else; false when there is none or it does not fit. Saturates rather than wraps.
static bool digits(const char **at, uint64_t *out)
{
	const char *s = *at;
	uint64_t x = 0;

	while (*s >= '0' && *s <= '9') {
		uint64_t digit = (uint64_t)(*s++ - '0');

		x = x > (UINT64_MAX - digit) / 10 ? UINT64_MAX : 10 * x + digit;
	}
	if (s == *at)
		return false;
	*at = s;
	*out = x;
	return true;
}

enum range range_parse(const char *header, uint64_t nbytes, uint64_t *begin, uint64_t *count)
{
	uint64_t first = 0, last = UINT64_MAX;
	bool has_first, has_last;

	if (!header || strncasecmp(header, "bytes=", 6))
		return RANGE_ALL;
	header += 6;
	while (*header == ' ')
		header++;
	has_first = digits(&header, &first);
	if (*header++ != '-')
		return RANGE_ALL;
	has_last = digits(&header, &last);
	while (*header == ' ')
		header++;
	if (*header || (!has_first && !has_last) || (has_first && has_last && last < first))
		return RANGE_ALL;
	if (!has_first) { // the last so many bytes
		if (!last || !nbytes)
			return RANGE_NONE;
		*count = last < nbytes ? last : nbytes;
		*begin = nbytes - *count;
		return RANGE_PART;
	}
	if (first >= nbytes)
		return RANGE_NONE;
	*begin = first;
	*count = (last < nbytes ? last + 1 : nbytes) - first;
	return RANGE_PART;
}

bool path_parse(const char *path, const char *token, char *kind, size_t kind_size, const char **rest)
{
	size_t length = strlen(token), given = path[0] == '/' ? strcspn(path + 1, "/") : 0, n;
	unsigned unlike = given != length;

	for (size_t i = 0; i < length; i++)
		unlike |= (unsigned)(unsigned char)(i < given ? path[1 + i] : 0) ^ (unsigned char)token[i];
	if (unlike)
		return false;
	path += 1 + given;
	if (*path++ != '/')
		return false;
	n = strcspn(path, "/");
	if (!n || n >= kind_size || path[n] != '/')
		return false;
	memcpy(kind, path, n);
	kind[n] = 0;
	*rest = path += n + 1;
	if (strchr(path, '\\'))
		return false;
	for (const char *at = path; *at;) {
		n = strcspn(at, "/");
		if (!n || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += n;
		if (*at == '/' && at[1])
			at++;
		else if (*at == '/')
			return at[1] == 0; // a folder: "0/"
	}
	return true;
}
