// SPDX-License-Identifier: Apache-2.0
// The graph's inside, for the files of this folder only.
#ifndef ASSAY_ONNX_INSIDE_H
#define ASSAY_ONNX_INSIDE_H

#include "onnx/graph.h"

struct operator;

// VALUE_BODY: what a body is given at each of its runs.
enum value_kind { VALUE_INPUT, VALUE_NODE, VALUE_EXTERNAL, VALUE_CONSTANT, VALUE_BODY };

struct value_info {
	enum value_kind kind;
	const char *name;
	enum dtype dtype;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	int node;                // VALUE_NODE: who makes it
	int body;                // VALUE_NODE, VALUE_BODY: the body that it is in; 0: the graph itself
	struct tensor *constant; // VALUE_CONSTANT
	const char *location;    // VALUE_EXTERNAL
	uint64_t offset, nbytes;
	struct recipe *recipe; // VALUE_EXTERNAL whose bytes are to be made; NULL: they lie at `location`
	int uses;              // of a weight, by linear layers that are quantised
	graph_value rows;      // the same elements as [all but the last dimension, last]; NO_VALUE: not built yet
	bool live;             // set by graph_finish
};

enum attribute_kind { ATTRIBUTE_INT, ATTRIBUTE_FLOAT, ATTRIBUTE_INTS, ATTRIBUTE_TEXT, ATTRIBUTE_BODY }; // body: number i

struct attribute {
	const char *name;
	enum attribute_kind kind;
	int64_t i;
	float f;
	const int64_t *ints;
	int count;
	const char *text;
};

#define ATTR_I(n, x) ((struct attribute){ .name = (n), .kind = ATTRIBUTE_INT, .i = (x) })
#define ATTR_F(n, x) ((struct attribute){ .name = (n), .kind = ATTRIBUTE_FLOAT, .f = (x) })
#define ATTR_S(n, x) ((struct attribute){ .name = (n), .kind = ATTRIBUTE_TEXT, .text = (x) })
#define ATTR_BODY(n, x) ((struct attribute){ .name = (n), .kind = ATTRIBUTE_BODY, .i = (x) })
#define ATTR_IS(n, k, x) ((struct attribute){ .name = (n), .kind = ATTRIBUTE_INTS, .count = (k), .ints = (x) })

enum { NODE_OUTPUTS = 3 }; // the most that an operation built here has; Split has more

struct node {
	const struct operator* row;
	const char *name, *op, *domain; // domain "" is ONNX's own
	int input_count, attribute_count;
	graph_value *inputs; // NO_VALUE: an optional input left out
	struct attribute *attributes;
	int *outputs; // value ids, [output_count]
	int output_count;
	int body;  // the body that it is in; 0: the graph itself
	bool live; // one of its outputs is
};

// A graph within a node: nodes that run as often as that one says. Its nodes stand before that node. It reads what it is given,
// its own values, weights and constants; where it reads around, values of the graph that stand before it, too.
enum { BODY_VALUES = 8 };
struct body {
	bool reads_around;
	int inputs[BODY_VALUES], input_count;
	int outputs[BODY_VALUES], output_count;
};

// Of a hash table with open addressing.
struct slot {
	uint32_t hash, index; // index + 1; 0: free
};

struct name {
	const char *text;
	size_t length;
	int uses, value; // value: the one of that name that lies in a file, 0: none
};

struct named {
	const char *name;
	int number;
};

struct graph {
	struct arena arena;
	struct graph_form form;
	struct error error;
	bool failed, finished;
	int64_t values_most;   // 0: no limit
	int64_t layers;        // graph_set_layers
	size_t numbers_nbytes; // of tables in its arena, and of constants
	size_t looked_nbytes;  // the same, and of those that passed or were there
	int opset, ir_version;

	struct value_info *values; // [0] is NO_VALUE
	int value_count, value_capacity;
	struct node *nodes;
	int node_count, node_capacity;
	struct named *symbols;      // dim -1-i; number >= 0 when bound, name NULL for an unknown dimension
	graph_value *symbol_values; // i64 [1] holding that dimension at run time, NO_VALUE until asked for
	int symbol_count, symbol_capacity;

	struct text scope;
	size_t scope_ends[32];
	int scope_depth;

	int *inputs, input_count, input_capacity;
	int *outputs, output_count, output_capacity;
	int *constants, constant_count, constant_capacity;
	uint32_t *constant_slots; // open addressing by type, shape and bytes: index into `constants` + 1
	size_t constant_slot_count;
	const struct recipe **recipes; // of live values, set when they are asked for
	struct left_out *left_out;
	int left_out_count, left_out_capacity;
	bool is_head;        // the last layer is being built
	struct body *bodies; // [0] is none
	int body_count, body_capacity;
	int in_body;                 // the one that is being built; 0: none
	graph_value *symbols_around; // symbol_values before it began, [symbol_count_around]
	int symbol_count_around;
	struct tensor_type *input_types, *output_types;

	struct slot *name_slots; // node and value names: into `names`
	size_t name_slot_count;
	struct name *names;
	size_t name_count, name_capacity;

	const struct operator* rows[64]; // found lately
	struct slot *node_slots;         // equal nodes are one
	size_t node_slot_count;
};

// Tensors of rank 3 and more that go through Gemm, which takes rank 2: what is elementwise or works on the last axis is built
// on the rows, so that an engine sees Gemm, Add and Gelu side by side and fuses them. The way back is a Reshape that nobody
// may need; graph_finish drops it then.
graph_value graph_rows(struct graph *g, graph_value x); // built when it is not there; x itself when its rank is 2
graph_value graph_from_rows(struct graph *g, graph_value rows, int rank, const int64_t *dim);
bool graph_has_rows(const struct graph *g, graph_value x);

#define VALUE(g, v) (&(g)->values[(v).id])

// The type and shape of what a node gives. `word` makes the names of all outputs but the first, NODE/WORD.
struct node_output {
	const char *word;
	enum dtype dtype;
	int rank;
	const int64_t *dim;
};
#define NODE_OUTPUT(...) ((struct node_output){ NULL, __VA_ARGS__ }) // dtype, rank, dim
// A new node of one output, or the value of an equal node built before. Attribute arrays and text are copied.
graph_value graph_node(struct graph *g, const char *op, const char *domain, const graph_value *inputs, int input_count,
	const struct attribute *attributes, int attribute_count, struct node_output output);
// The same for an operation of several outputs, which come in `out`. False after an error.
struct node_outputs {
	int count;
	const struct node_output *outputs;
	graph_value *out;
};
bool graph_node_of(struct graph *g, const char *op, const char *domain, const graph_value *inputs, int input_count,
	const struct attribute *attributes, int attribute_count, const struct node_outputs *made);
// A body begins, and everything that is built until graph_body_end is in it. Returns its number.
int graph_body_begin(struct graph *g, bool reads_around);
graph_value graph_body_input(struct graph *g, const char *word, enum dtype t, int rank, const int64_t *dim);
void graph_body_end(struct graph *g, const graph_value *outputs, int count);
bool graph_has_bodies(const struct node *n);
// What the bodies of a node read of the graph around them, each value once, small constants left out. How many; *out in `a`.
int graph_body_reads(const struct graph *g, const struct node *n, struct arena *a, int **out);
// The graph needs at least this opset. May be called at any time before graph_finish, which picks the forms of operators that
// differ between opsets; graph_node calls it with the opset of the operator's row.
void graph_need_opset(struct graph *g, int opset);
// For refusals, in the graph's arena: "f32[batch,sequence,8]" is a type and a shape; an unknown dimension is "?".
const char *graph_shape_text(struct graph *g, int rank, const int64_t *dim);  // "[batch,sequence,8]"
const char *graph_numbers_text(struct graph *g, int count, const int64_t *x); // "[0,-1]"
const char *graph_value_text(struct graph *g, graph_value v);                 // "layers.0/Add f32[batch,sequence,8]"
const char *graph_values_text(
	struct graph *g, const graph_value *v, int count); // "x f32[2,3] and y i64[3]"; absent ones are left out
// items [count] with room for one more; aborts without memory, which limits of a graph keep away.
void *graph_grow(void *items, int count, int *capacity, size_t size);
int64_t graph_unknown(struct graph *g);                    // a dimension that only the run knows
int64_t graph_counted(const struct graph *g, int64_t dim); // the number that it is, is bound to or is expected to be; -1: none
int64_t graph_expected(struct graph *g, int64_t n);       // likewise; costs and memory are counted as if it were n, -1: not known
bool graph_alive(struct graph *g, graph_value v);         // false after an error; NO_VALUE is an error here
int graph_axis(struct graph *g, graph_value v, int axis); // 0..rank-1; fails otherwise
void graph_shape_parts(
	struct graph *g, graph_value shape, int n, int64_t *out); // what is known of the n numbers in a shape: numbers, symbols
// (n + extra) / stride + 1, rounded down or up; for a symbol, the symbol of that name. -1: the window does not fit. op_image.c
int64_t graph_windows(struct graph *g, int64_t n, int64_t extra, int64_t stride, bool up);
// What an i64 scalar holds where it is known while building: a length, or the symbol that it was read off from. Else INT64_MIN.
int64_t graph_scalar_dim(const struct graph *g, graph_value v);
bool graph_ints(const struct graph *g, graph_value v, int64_t *out, int max, int *count); // contents of a small i64 constant

// memory.c: constant[i], of each value: an initializer, or made of initializers alone.
void graph_constants(const struct graph *g, bool *constant);
bool graph_is_view(const char *op); // memory.c: its result is its input's memory

#define DOMAIN_MICROSOFT "com.microsoft"

#endif
