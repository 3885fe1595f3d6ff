// SPDX-License-Identifier: Apache-2.0
// What one run of a built graph computes and moves, node by node, after graph_finish. Every dimension must be a number
// (graph_bind before building); where one is not, it counts as 1 and the node is marked. Nothing here knows an engine: what is
// fused moves less.
//
// Operations: an addition, a multiplication, a division, a comparison and an elementary function (exp, tanh, erf, sqrt) of floats
// are one each, so a multiply-add is two; integers of a quantised product count as floats do, integers of shapes and indices
// nothing. Bytes: what the node reads and writes, each once. Views (Reshape) and nodes of constants alone, which engines fold,
// cost nothing.
#ifndef ASSAY_ONNX_COST_H
#define ASSAY_ONNX_COST_H

#include "onnx/graph.h"

struct cost_value {
	int value;
	uint64_t nbytes;
}; // equal numbers are the same memory: a view is its input

struct node_cost {
	const char *name, *op; // of the graph: they live as long as it does
	uint64_t flops;
	uint64_t read_nbytes, written_nbytes;    // made by nodes or given by the caller
	uint64_t weight_nbytes;                  // of weights and other constants, in the type that the node reads
	const struct cost_value *reads, *writes; // the values of read_nbytes and written_nbytes
	int read_count, write_count;
	bool of_floats; // its result is a float, or an integer that stands for one
	bool unknown;   // a dimension was not a number
};
struct op_cost {
	const char *op;
	size_t nodes;
	uint64_t flops, nbytes;
};

struct graph_cost {
	uint64_t flops, nbytes, weight_nbytes; // nbytes: all three kinds of bytes, of all nodes
	uint64_t boundary_nbytes;              // the least that any engine moves: each weight once, inputs, outputs
	struct node_cost *nodes;               // live ones, in the order of building
	size_t node_count;
	struct op_cost *ops; // by kind of node, most operations first
	size_t op_count;
	int *uses; // of each value: how many nodes read it, and one more when the caller gets it
	bool unknown;
};

// Memory in `a`.
void graph_cost(const struct graph *g, struct arena *a, struct graph_cost *out);
// What is moved when these nodes, numbers of out->nodes, are computed as one: nothing that only they read.
uint64_t graph_cost_fused(const struct graph_cost *c, const size_t *members, size_t count);

#endif
