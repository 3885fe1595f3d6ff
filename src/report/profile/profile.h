// SPDX-License-Identifier: Apache-2.0
// One profile, from its row and its nodes: where the time goes by layer, by kind of node and by single node, what the roofline
// says, and the bottlenecks in words. Nothing is left out of a sum: what is not named and what lies between nodes have lines of
// their own.
#ifndef ASSAY_REPORT_PROFILE_PROFILE_H
#define ASSAY_REPORT_PROFILE_PROFILE_H

#include <jansson.h>

#include "base/text.h"
#include "question/row.h"

struct profile_sum {
	double ms, roof_ms, costed_ms;  // costed_ms: of the nodes whose roof is known
	double at;                      // sum of ms times the number of the node: over ms, where in the run it lies
	double flops, bytes, memory_ms; // memory_ms: of roof_ms, where memory is the roof
	size_t nodes;
};

struct profile_node {
	const char *name, *op, *kernel, *scope;
	int built;
	struct profile_sum sum;
};

// "layers.0" to "layers.11" are one line "layers.*" with 12 instances. Lines go in the order in which their time lies in the run.
struct profile_scope {
	const char *path, *name; // "layers.*/attn", "attn"
	int depth;               // 0: the top
	struct profile_sum sum;
	size_t instances;
	double least_ms, most_ms;           // of one instance
	const char *first, *last, *slowest; // names of instances: "layers.0", "layers.11"
};

struct profile_kind {
	const char *op, *scope;
	struct profile_sum sum;
}; // scope NULL: anywhere

struct profile_view {
	struct arena *arena;
	const struct row *row;
	json_t *facts;                // row->profile, parsed; dies with the arena
	struct profile_node *nodes;   // in the order in which they ran
	size_t node_count, *slowest;  // numbers of nodes, slowest first
	struct profile_scope *scopes; // a line above its parts
	size_t scope_count;
	struct profile_kind *ops, *parts; // by kind; by kind and scope; most time first
	size_t op_count, part_count;
	double whole_ms, nodes_ms, between_ms, not_named_ms, overhead; // overhead: profiled over plain latency
	const char **sentences;
	size_t sentence_count;
};

// BAD_INPUT: the row holds no profile. In `a`; `r` must outlive it.
enum status profile_view(struct profile_view **out, struct arena *a, const struct row *r, const json_t *nodes, struct error *err);
void profile_view_text(const struct profile_view *v, size_t top, struct text *out);
json_t *profile_view_json(const struct profile_view *v);
// html.c: a page that needs nothing else, with the flame graph (wide is slow, below is inside).
void profile_view_html(const struct profile_view *v, struct text *out);
const char *profile_without_numbers(struct arena *a, const char *scope); // "layers.11/attn" -> "layers.*/attn"
void profile_sum_add(struct profile_sum *sum, const struct profile_sum *other);
// `amount` of it, flops or bytes, in billions a second; "" where that is not known.
const char *profile_rate(struct arena *a, const struct profile_sum *s, double amount);
double profile_share(const struct profile_sum *s); // of the roofline; NaN where no roof is known

#endif
