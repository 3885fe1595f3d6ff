// SPDX-License-Identifier: Apache-2.0
// The graph builder: builds an ONNX graph and has never heard of a model.
//
//     struct graph *g = graph_new(&options);
//     value ids = graph_input(g, "input_ids", DTYPE_I64, 2, (int64_t[]){graph_symbol(g, "batch"), graph_symbol(g, "sequence")});
//     graph_enter(g, "layers.%d", i);
//         value y = op_linear(g, x, w, b);              // node "layers.0/MatMul"
//     graph_leave(g);
//     graph_output(g, "logits", y);
//     graph_finish(g, &err);                            // the first error of all, with its scope path
//
// A value is a small number passed and returned; there is no current state but the scope. Shape and type are inferred at
// once, so a wrong shape is reported where it was built. The error is sticky: the first is kept, later calls do nothing and
// return a dead value. Constants that come from shapes are folded while building: a static graph has no Shape nodes.
#ifndef ASSAY_ONNX_GRAPH_H
#define ASSAY_ONNX_GRAPH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/tensor.h"
#include "base/text.h"
#include "onnx/precision.h"

typedef struct {
	int id;
} graph_value; // 0: no value (an absent optional input, or the result after an error)
#define NO_VALUE ((graph_value){ 0 })

// Which form of an operation an engine is known to run best. The platform table chooses, `assay build --explain` prints.
enum linear_form { LINEAR_GEMM, LINEAR_FUSED_MATMUL, LINEAR_MATMUL_TRANSPOSED };
enum attention_form { ATTENTION_PLAIN, ATTENTION_MHA }; // MatMul/Softmax/MatMul; com.microsoft.MultiHeadAttention
enum gelu_form { GELU_ERF, GELU_OP, GELU_MICROSOFT };   // taken apart; Gelu of opset 20; com.microsoft.Gelu
enum norm_form { NORM_PLAIN_RMS, NORM_FUSED_RMS };      // RMS norm taken apart; ONNX Runtime's SimplifiedLayerNormalization
// Every expert computes every token, and the weight of a token decides; an expert computes the tokens that chose it.
enum expert_form { EXPERTS_ALL, EXPERTS_CHOSEN };
// The past and the new concatenated, by Concat; com.microsoft.GroupQueryAttention, which writes into a buffer of fixed
// length.
enum cache_form { CACHE_PLAIN, CACHE_SHARED };

struct linear_range {
	const char *name;
	float low, high;
}; // name: of the weight, with "#2" where it is used again

struct graph_form {
	enum linear_form linear;
	enum attention_form attention;
	enum gelu_form gelu;
	enum norm_form norm;
	bool is_static;        // every symbol has a number
	enum cache_form cache; // of causal language models
	enum expert_form experts;
	bool index32;       // Gather by int32 indices; the model's inputs stay int64
	bool sine_tables;   // rotary angles by tables, others by a polynomial: where Sin and Cos are not of float32's precision
	bool around_webgpu; // Cast and Conv are built around what ONNX Runtime's WebGPU computes wrong (op_cast, op_conv)
	bool corners_by_matmul; // what is resized with align_corners, where a Resize has no such attribute (op_resize_corners)
	bool around_qnn;        // sums and RMS norms are built around what QNN computes wrong (op_add, op_rms_norm)
	bool torch_ties;        // of equal numbers those that torch.topk has on a processor, by a Loop (op_choose)
	// A causal language model takes num_logits_to_keep i64 [] and gives the logits of so many last tokens; 0: of all.
	bool logits_chosen;
	// int8-static: between what the inputs of linear layers lie; NULL: not measured yet, the graph is for counting only.
	const struct linear_range *ranges;
	size_t range_count;
	bool watches_ranges;    // every linear layer's, as outputs: the graph that measures them
	struct precise precise; // what weights are stored and multiplied in; zero: as they lie in their files, in float32
};

// "static gemm plain gelu-erf rms-plain": one word a choice. In `a`.
const char *graph_form_text(struct arena *a, const struct graph_form *f);

struct graph;

struct graph *graph_new(const struct graph_form *form);
void graph_free(struct graph *g); // NULL is fine
struct arena *graph_arena(struct graph *g);
const struct graph_form *graph_get_form(const struct graph *g);

// A graph is built by loops over counts that a file named. Limits, all sticky errors: `values` of it (0: no limit, the state of a
// new graph), GRAPH_NUMBERS_MOST bytes of tables and constants that are kept, and GRAPH_LOOKED_MOST of all that are made, which
// layers may have in common.
#define GRAPH_NUMBERS_MOST ((size_t)32 << 20)
#define GRAPH_LOOKED_MOST ((size_t)1 << 30)
void graph_limit(struct graph *g, int64_t values);
// Room for rows x columns numbers that a builder computes, zeroed, in `a` or, for NULL, in the graph's arena. NULL when it is
// more than a graph may have, and after any error; graph_constant takes that NULL.
void *graph_table(struct graph *g, struct arena *a, int64_t rows, int64_t columns, size_t size);
#define GRAPH_TABLE(g, a, rows, columns, type) ((type *)graph_table((g), (a), (rows), (columns), sizeof(type)))

// The file says that it is the first `layers` layers of a model: "assay.layers" of its metadata. 0, the state of a new graph:
// all.
void graph_set_layers(struct graph *g, int64_t layers);

// Scopes: part of every node's name, "layers.0/attn/q_proj/MatMul".
void graph_enter(struct graph *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void graph_leave(struct graph *g);

// A symbolic dimension by name: a negative number, the same for the same name. With graph_bind before, its number instead.
int64_t graph_symbol(struct graph *g, const char *name);
void graph_bind(struct graph *g, const char *name, int64_t n);
const char *graph_symbol_name(const struct graph *g, int64_t dim); // NULL for a number

graph_value graph_input(struct graph *g, const char *name, enum dtype t, int rank, const int64_t *dim);
void graph_output(struct graph *g, const char *name, graph_value v);
// Data in another file: `location` is its name beside the graph. Nothing is read.
graph_value graph_external(struct graph *g, const char *name, enum dtype t, int rank, const int64_t *dim, const char *location,
	uint64_t offset, uint64_t nbytes);

// A weight in another form, whose bytes do not exist yet: how they are made from one that lies in a file (artifact/convert.h).
enum recipe_kind {
	RECIPE_CAST,         // each number in the new type
	RECIPE_BLOCK_VALUES, // com.microsoft.MatMulNBits: u8 [out, blocks, block * bits / 8]
	RECIPE_BLOCK_SCALES, // float [out * blocks]
	RECIPE_BLOCK_ZEROS,  // u8 [out * ceil(blocks * bits / 8)]
	RECIPE_ROW_VALUES,   // i8 [out, in]: symmetric, a scale for each output
	RECIPE_ROW_SCALES,   // float [out]
};
struct recipe {
	enum recipe_kind kind;
	int bits, block; // of blocks
	bool asymmetric; // of blocks: with zero points
	bool in_out;     // the source lies [in, out]; what is made is [out, in] all the same
	// What graph_derived fills in: the source in its file, and what is made.
	const char *location;
	uint64_t offset, source_nbytes;
	enum dtype source_dtype, dtype;
	int64_t outer, inner; // the source as a matrix: all dimensions but the last, the last
	const char *name;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	uint64_t nbytes;
	int value; // its id
};
// SOURCE.SUFFIX of this type and shape; `source`: a value of graph_external. The same name is the same value.
graph_value graph_derived(struct graph *g, graph_value source, const char *suffix, const struct recipe *how, enum dtype t,
	int rank, const int64_t *dim);
// The stored weight that v is, or is a float32 copy of; NO_VALUE: neither.
graph_value graph_stored(const struct graph *g, graph_value v);
// After graph_finish: what is read as it lies at this location, which is no file, is made too: a recipe of its own type.
void graph_make(struct graph *g, const char *location);
// After graph_finish: recipes of what is read, in the order of building; they live as long as the graph.
size_t graph_recipes(const struct graph *g, const struct recipe *const **out);
void graph_place(struct graph *g, const struct recipe *r, const char *location, uint64_t offset);
// After graph_finish: are bytes of this part of the file read as they lie, not through a recipe?
bool graph_reads(const struct graph *g, const char *location, uint64_t offset, uint64_t nbytes);
// Weights of linear layers that stayed as they are though a smaller form was asked for, and why.
struct left_out {
	const char *name, *why;
};
void graph_leave_out(struct graph *g, const char *name, const char *why);
size_t graph_left_out(const struct graph *g, const struct left_out **out);

// Small tensors inside the graph; equal constants are one initializer.
graph_value graph_constant(struct graph *g, enum dtype t, int rank, const int64_t *dim, const void *data);
graph_value graph_f32(struct graph *g, float x); // scalars
graph_value graph_i64(struct graph *g, int64_t x);
graph_value graph_i64s(struct graph *g, int count, const int64_t *x);

// What is known of a value. Dims: >= 0 a number, < 0 a symbol.
enum dtype value_dtype(const struct graph *g, graph_value v);
int value_rank(const struct graph *g, graph_value v);
int64_t value_dim(const struct graph *g, graph_value v, int axis);         // negative axis counts from the end
const struct tensor *value_constant(const struct graph *g, graph_value v); // NULL when not a constant held in the graph

// What only the drawer knows: this dimension of v, unknown so far, is that symbol or number.
void graph_assume(struct graph *g, graph_value v, int axis, int64_t dim);

// Family code refuses here: the first refusal or shape error stays. Later calls have no effect.
void graph_fail(struct graph *g, enum status s, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool graph_failed(const struct graph *g);

// Checks that there are outputs, drops unused nodes and initializers, fixes opset and IR version.
enum status graph_finish(struct graph *g, struct error *err);

struct graph_summary {
	size_t node_count, initializer_count, constant_nbytes;
	uint64_t external_nbytes;
	int opset, ir_version;
	bool uses_microsoft;
};
void graph_summarise(const struct graph *g, struct graph_summary *out);
size_t graph_inputs(const struct graph *g, const struct tensor_type **out);    // symbols are -1
const char *graph_input_symbol(const struct graph *g, size_t input, int axis); // of the input of that number; NULL for a number
size_t graph_outputs(const struct graph *g, const struct tensor_type **out);

// memory.c: what running the graph asks for, after graph_finish. Bytes of values count with the numbers that symbols are bound
// to.
struct graph_memory {
	uint64_t peak_nbytes;       // of what nodes make: the most that is alive at one time, in the order of building
	uint64_t peak_fused_nbytes; // the same where attention is one operation and holds no scores
	uint64_t input_nbytes, output_nbytes;
	uint64_t stored_nbytes;     // weights as they lie in their files, each once
	uint64_t in_place_nbytes;   // of them: read as they lie by nodes that run (norms, biases, a table that is multiplied with
				    // too)
	uint64_t gathered_nbytes;   // of the other tables: what is likely to be mapped by reading some of their rows
	uint64_t half_table_nbytes; // tables of float16
	uint64_t folded_from_nbytes;     // of them: read by nodes that are folded (casts)
	uint64_t folded_nbytes;          // what those make for the others
	uint64_t multiplied_nbytes;      // weights as MatMul, Gemm and Conv read them, in the type they compute in; once a node
	uint64_t half_multiplied_nbytes; // of them: of float16
	uint64_t largest_multiplied_nbytes;
	uint64_t block_nbytes; // scales and zero points of MatMulNBits, read beside its weights; they are in in_place_nbytes too
	uint64_t rescaled_nbytes; // of them: of convolutions whose result is multiplied with a constant, which engines fold into
				  // the weight
	bool unknown;             // some value has an unknown dimension; it counted as 1
};
void graph_memory(const struct graph *g, struct graph_memory *out);

// write.c: the ONNX ModelProto by protobuf-c. Bytes are in the graph's arena.
enum status graph_write(struct graph *g, const void **out, size_t *nbytes, struct error *err);
// text.c: one line a value, for golden tests and `assay build --text`. Deterministic.
void graph_text(const struct graph *g, struct text *out);

#endif
