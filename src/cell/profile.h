// SPDX-License-Identifier: Apache-2.0
// An engine's own nodes, with their times, mapped back to the nodes that were built: to their scopes, operations and bytes.
// Engines rename and fuse; what a name does not tell, the place in the order of execution may; what neither tells stays "not
// named" and is never dropped. Private to cell/.
#ifndef ASSAY_CELL_PROFILE_H
#define ASSAY_CELL_PROFILE_H

#include <jansson.h>

#include "backend/backend.h"
#include "backend/outline.h"
#include "onnx/cost.h"

#define COST_NONE SIZE_MAX

// MAPPED_NAME: it is called as a node of ours. MAPPED_PART: names of ours are parts of its name. MAPPED_PLACE: it ran between two
// nodes that are named, and between those something was built that no other node is called after. MAPPED_NOT: none of these.
enum mapped_how { MAPPED_NOT, MAPPED_NAME, MAPPED_PART, MAPPED_PLACE };

struct mapped_node {
	const struct profiled_node *ran;
	enum mapped_how how;
	const char *scope; // "layers.3/attn"; "" at the top; NULL: not named
	size_t *members,
		member_count; // numbers of built nodes; what was fused away belongs to the node that ran before it in its scope
	bool is_costed;       // what its members compute and move is known
	uint64_t flops, nbytes, weight_nbytes;
};

// cost_of: of each built node its number in `cost`, or COST_NONE; `cost` NULL: nothing is known. Returns profile->count nodes, in
// `a`.
struct mapped_node *profile_map(struct arena *a, const struct outline *built, const struct graph_cost *cost,
	const size_t *cost_of, const struct profile *p);

// Which node of `bound`, a graph with every dimension a number, is which of `built`, the same with open ones: the k-th float
// that an operator makes in a scope; the two differ in what computes shapes. COST_NONE where their numbers do not agree, and for
// what is no float.
size_t *profile_pair(struct arena *a, const struct graph_cost *built, const struct graph_cost *bound);

const char *profile_scope(struct arena *a, const char *name); // everything before the last slash
bool mapped_moves(const char *op);                            // it computes nothing: a view, a copy, a cast; words of engines too
const char *mapped_word(enum mapped_how how);                 // "name", "part", "place", "not"

#endif
