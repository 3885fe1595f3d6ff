// SPDX-License-Identifier: Apache-2.0
// Groups of values that lie close to each other and far from all others, and what errors do to the differences inside of them. A
// few offsets that many values share, or a few huge values, decide every figure over a whole; what the values of a group differ
// by is what they say beside that.
#ifndef ASSAY_STATS_GROUPS_H
#define ASSAY_STATS_GROUPS_H

#include <stddef.h>

struct groups_value {
	double value, error; // both finite
};

void groups_order(struct groups_value *v, size_t count); // by value

struct groups_figures {
	size_t groups;
	size_t values;  // in all of them
	double spread2; // sum over all groups: squared distances of the values from their group's mean
	double error2;  // likewise of the errors from their group's mean error
	double largest; // sum over all values of groups: the largest absolute value of their group
};
// A group: neighbours of `v` (ordered) of which each is at most `distance` from the next and whose neighbours outside are
// farther, that together span at most a quarter of it. Those of fewer than `least` values are left out: chance makes small ones.
struct groups_figures groups_at(const struct groups_value *v, size_t count, double distance, size_t least);

#endif
