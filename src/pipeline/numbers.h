// SPDX-License-Identifier: Apache-2.0
// Numbers and dates of a text, as TapasTokenizer of transformers 4.57 finds them: what ranks the cells of a column, and
// compares them with the numbers of a question.
#ifndef ASSAY_PIPELINE_NUMBERS_H
#define ASSAY_PIPELINE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

// A number, x[0]; or a date: year, month and day, of which 0 is one that it does not say.
struct quantity {
	bool is_date;
	double x[3];
};
struct quantities {
	struct quantity *items;
	size_t count;
};
// Of a text in UTF-8, in its order, in `a`. Of spans that lie in others only the longest counts; one may be a number and a date.
// Digits are those of ASCII.
void quantities_of(struct quantities *out, struct arena *a, const char *text);

// Do they have something to be compared by: all numbers, or dates that say a year, a month or a day, each of them?
// fields: of dates those that all of them say; of numbers the first.
bool quantities_compare(const struct quantity *const *items, size_t count, bool fields[3]);
int quantity_order(const struct quantity *x, const struct quantity *y, const bool fields[3]); // below 0, 0, above

// Has a text neither a letter nor a digit, or is it "n/a" or "nan"? Such a cell is empty.
bool quantity_text_empty(const char *text);

#endif
