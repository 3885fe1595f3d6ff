// SPDX-License-Identifier: Apache-2.0
// What GGUF calls the parts of a model, as rows (gguf_arch.c): general.architecture, its keys and the names of its tensors, and
// what transformers' class has for them. The names are those of gguf-py, how rows were moved that of llama.cpp's
// converters.
#ifndef ASSAY_CHECKPOINT_GGUF_ARCH_H
#define ASSAY_CHECKPOINT_GGUF_ARCH_H

#include <stdbool.h>

// How a tensor of the file becomes the class's weight.
enum gguf_order {
	GGUF_AS_IT_IS,
	GGUF_PAIRS,     // queries: row 2 j + s of a head is the class's row s * half + j (rotary pairs side by side)
	GGUF_KEY_PAIRS, // the same of keys
	GGUF_BY_HEAD,   // rows of all queries, all keys, all values: the class has them by group of heads
	GGUF_TURNED,    // [out, in] where the class has [in, out]
	GGUF_PLUS_ONE,  // has one more in every number; biases have not
	GGUF_EACH,      // the first dimension counts weights of the class, * in their name
	GGUF_ROW,       // [n] where the class has [1, n]
};

// "blk.#.attn_q" and "model.layers.#.self_attn.q_proj"; ".weight" and ".bias" follow in both.
struct gguf_word {
	const char *gguf, *name;
	enum gguf_order order;
};

// A key of the configuration, from
//   "attention.head_count"   the value of ARCHITECTURE.attention.head_count, where the file has it
//   "@token_embd.weight"     a dimension of a tensor
//   "?blk.0.attn_q.bias"     whether there is this tensor
//   "!output.weight"         whether there is none
// `config` NULL: the key is known, and what it says stands elsewhere, too, or changes nothing.
struct gguf_key {
	const char *from, *config;
	int axis;
};

enum {
	GGUF_HEAD_DIM = 1, // the class has head_dim
	GGUF_ROTARY = 2,   // rope_parameters
	GGUF_PARTIAL = 4,  // of which a part of each head may be rotated
	GGUF_WINDOW = 8,   // sliding_window; without it a window is refused
	GGUF_HEAD_BIAS = 16,
};

struct gguf_arch {
	const char *name; // general.architecture
	const char *when; // a tensor that this row is for; NULL: all others
	const char *type, *class_name;
	unsigned flags;
	const struct gguf_key *keys; // behind those that all have
	const struct gguf_word *words;
	const char *more; // JSON: what the class's configuration says besides; or NULL
	// Attention's scale where the file leaves it out: query_pre_attn_scalar is the width of a head, but hidden / heads in the
	// model with so many layers (as llama.cpp has it). 0: the class has no such key.
	int scaled_layers;
};

// The row for an architecture; `has` says whether the file has a tensor. NULL: none.
const struct gguf_arch *gguf_arch_find(const char *name, bool (*has)(const void *file, const char *tensor), const void *file);
extern const struct gguf_key gguf_common_keys[]; // ends with a NULL

#endif
