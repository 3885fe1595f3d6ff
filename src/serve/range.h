// SPDX-License-Identifier: Apache-2.0
// What a client asks for, read as text from anybody: a Range header, and the path of an address.
#ifndef ASSAY_SERVE_RANGE_H
#define ASSAY_SERVE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// RANGE_ALL: no range, several, or one that cannot be read: the whole file is the answer (RFC 9110 allows it).
// RANGE_PART: bytes [*begin, *begin + *count). RANGE_NONE: it lies after the end: 416.
enum range { RANGE_ALL, RANGE_PART, RANGE_NONE };
enum range range_parse(const char *header, uint64_t nbytes, uint64_t *begin, uint64_t *count);

// "/TOKEN/KIND/REST" -> the kind and the rest, which has no empty, "." or ".." component and no backslash; false when the path is
// not of this form or the token is another. Takes the same time whatever token is given.
bool path_parse(const char *path, const char *token, char *kind, size_t kind_size, const char **rest);

#endif
