// SPDX-License-Identifier: Apache-2.0
// Word error rate of a recognised text, as jiwer 4 computes it with its default transforms: (substitutions + deletions +
// insertions) / words of the reference, the first three from the shortest edit (Levenshtein, 1966) over words. The rate of
// several texts is the sum of their errors over the sum of their words.
#ifndef ASSAY_STATS_WORD_ERROR_H
#define ASSAY_STATS_WORD_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum { WORD_ERROR_WORDS_MOST = 1 << 13 }; // of a text: the edit takes the product of two such

// Words: runs of two or more characters of white space (as Python's str.isspace has them) become one space, white space at both
// ends goes away, and what lies between spaces is a word. A single tab or line break parts no words. Nothing else is changed:
// neither case nor punctuation. `text` is UTF-8. WORD_ERROR_WORDS_MOST + 1: there are more than the bound.
size_t word_error_words(const char *text);

// *errors of `is` against `wanted`, which has *words words. False: one of them has more than WORD_ERROR_WORDS_MOST words.
bool word_error(const char *is, const char *wanted, size_t *errors, size_t *words);

#endif
