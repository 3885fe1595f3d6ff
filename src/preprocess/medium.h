// SPDX-License-Identifier: Apache-2.0
// What a person types for an input: a text, or the name of a file, which is known by its content.
#ifndef ASSAY_PREPROCESS_MEDIUM_H
#define ASSAY_PREPROCESS_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum medium { MEDIUM_TEXT, MEDIUM_PICTURE, MEDIUM_SOUND, MEDIUM_JSON };

// By the first bytes of a file; MEDIUM_TEXT: none that is known.
enum medium medium_of(const uint8_t *data, size_t nbytes);
// Does a text look like the name of a file: one of the usual endings, or a path that begins at a folder that is there?
bool medium_names_file(struct arena *a, const char *word);

#endif
