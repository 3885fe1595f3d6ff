// SPDX-License-Identifier: Apache-2.0
// How a row of the architecture table differs from its family. ZERO MEANS THE COMMON CASE. A trait that a block or several
// families read is in SHARED_TRAITS; one that a single family reads is in the list of that family, beside what builds it:
//
//	#define VIT_TRAITS(X, T) \                              family/vit.h
//		X(T, FLAG, any_size, "takes images of any size")
//	FAMILY_TRAITS(vit, VIT_TRAITS);
//
//	.traits = FAMILY_TRAIT_LIST(vit, VIT_TRAITS),           family/vit.c, in its struct family
//	if (TRAITS_OF(s, vit)->any_size)                        where it is read
//
//	{ "pixio", OF(vit, pixio_names, .any_size = true) },    table.c: of another family's row this does not compile
//
// A list makes the members that a row may set, what `assay inspect` prints, and the mutants of tools/mutate: a trait that no row
// sets or that no conformance case misses is removed. What config.json alone decides is a member of struct spec or of the
// family's own struct, not a trait.
#ifndef ASSAY_ARCH_TRAITS_H
#define ASSAY_ARCH_TRAITS_H

#include <stdbool.h>
#include <stddef.h>

enum activation {
	ACT_GELU,
	ACT_GELU_TANH,
	ACT_RELU,
	ACT_SILU,
	ACT_TANH,
	ACT_QUICK_GELU,
	ACT_NONE,
	ACT_RELU2,
	ACT_SIGMOID,
	ACT_MISH,
	ACT_LEAKY_RELU,
	ACT_RELU6,
	ACT_XIELU,
	ACT_HARD_SWISH,
	ACT_GELU_10,
	ACT_LAPLACE,
	ACT_SQRT_SOFTPLUS
};
enum qkv_layout { QKV_ROWS, QKV_BY_HEAD, QKV_FOUR_PARTS, QKV_AFTER_GATE };
enum attention_gate { GATE_NONE, GATE_SIGMOID, GATE_HEADS, GATE_BESIDE_QUERY, GATE_HEADS_SIGMOID };
enum alibi { ALIBI_NONE, ALIBI_TOKENS, ALIBI_COLUMNS, ALIBI_BFLOAT16 };

//	X(T, kind, name, meaning)      kind: FLAG (bool), ACT (enum activation), COUNT (int); T is handed through
#define SHARED_TRAITS(X, T) \
	X(T, FLAG, qkv_bias, "query, key and value have a bias (decoders; encoders and vision transformers have)") \
	X(T, FLAG, out_bias, "the attention's output projection has a bias (likewise)") \
	X(T, FLAG, last_out_bias, "the attention's output projection has a bias in the last layer only") \
	X(T, FLAG, ffn_bias, "the feed-forward layers have a bias (likewise)") \
	X(T, FLAG, lm_bias, "the language model's head has a bias") \
	X(T, FLAG, layer_norm, "layer norms, which take the mean away, instead of RMS norms") \
	X(T, FLAG, norm_no_bias, "layer norms have no bias") \
	X(T, FLAG, norm_no_weight, "norms have neither weight nor bias") \
	X(T, FLAG, norm_plus_one, "RMS norm multiplies by 1 + weight") \
	X(T, FLAG, norm_first, "pre-norm where the family is post-norm: before each branch and after the last layer") \
	X(T, FLAG, post_norm, "post-norm where the family is pre-norm: after each residual sum") \
	X(T, FLAG, embedding_norm, "a norm after the token embedding") \
	X(T, FLAG, inner_norm, "a norm before the last linear layer of attention and feed-forward") \
	X(T, FLAG, qk_norm, "RMS norm over each head of query and key") \
	X(T, FLAG, qk_norm_whole, "RMS norm over all heads of query and of key together") \
	X(T, FLAG, qk_norm_apart, \
		"layer norm over each head of query and key, each with its own weight and bias, of epsilon 1e-5") \
	X(T, FLAG, qk_norm_late, "the norm of query and key comes after the rotary embedding") \
	X(T, FLAG, qk_norm_rotary, "query and key are normed only where they have rotary positions") \
	X(T, FLAG, window_sinks, "attention_sinks in layers with a window only") \
	X(T, FLAG, differential, "half of the heads' results are taken from the other half's, over values twice as wide") \
	X(T, FLAG, value_norm, "RMS norm without a weight over each head of value") \
	X(T, FLAG, result_norm, "RMS norm without a weight over each head of what attention gives") \
	X(T, FLAG, plain_ffn, "the feed-forward has no gate: down(act(up))") \
	X(T, COUNT, attention_gate, \
		"the attention's result times a linear layer of its input: 1 its sigmoid, 2 its softplus, one a head, " \
		"3 its sigmoid, whose rows follow those of each head's query, 4 its sigmoid, one a head") \
	X(T, FLAG, attention_sinks, "a learned score a head that takes part in the softmax and attends to nothing") \
	X(T, COUNT, qkv_layout, \
		"query, key and value in one tensor: 0 concatenated, 1 by key head, 2 codegen's, 3 after a sigmoid gate of the " \
		"attention's result") \
	X(T, FLAG, up_first, "of a feed-forward's gate and up in one tensor up comes first") \
	X(T, FLAG, transposed_weights, "the layers' weights lie as [in, out]") \
	X(T, FLAG, interleaved_rope, "rotary pairs lie side by side (2i, 2i + 1), not half a head apart") \
	X(T, FLAG, reversed_rope, "rotary positions turn the other way") \
	X(T, COUNT, alibi, "a bias linear in the position: 1 of tokens, 2 of columns, 3 falcon's") \
	X(T, COUNT, position_offset, "learned positions begin with this row") \
	X(T, FLAG, positions_of_mask, "learned positions count what the mask has, padding included as -1") \
	X(T, FLAG, positions_from_pad, "positions count from pad_token_id + 1 and skip padding") \
	X(T, COUNT, window_pattern, "where config.json lists no layer types: all layers but every Nth have the window") \
	X(T, FLAG, window_until, "max_window_layers says where windows end, not where they begin") \
	X(T, FLAG, lm_gelu, "the masked language model's head has GELU, whatever hidden_act says") \
	X(T, FLAG, head_hidden_act, "the sequence classifier's dense layer is followed by hidden_act") \
	X(T, ACT, head_act, "after the dense layer of the sequence classifier")

#define TRAIT_TYPE_FLAG bool
#define TRAIT_TYPE_ACT enum activation
#define TRAIT_TYPE_COUNT int
#define TRAIT_MEMBER(T, kind, name, meaning) TRAIT_TYPE_##kind name;

struct traits {
	SHARED_TRAITS(TRAIT_MEMBER, )
};

// A list as data; ends with a name of NULL. `offset` is that in struct traits or struct FAMILY_traits.
enum trait_kind { TRAIT_FLAG, TRAIT_ACT, TRAIT_COUNT };
struct trait {
	const char *name;
	enum trait_kind kind;
	size_t offset;
};
#define TRAIT_ENTRY(T, kind, name, meaning) { #name, TRAIT_##kind, offsetof(T, name) },
extern const struct trait shared_traits[];
int trait_get(const struct trait *t, const void *traits);
void trait_clear(const struct trait *t, void *traits);

// What a row of a family may set: the shared traits and, after them, its own. Without a list of its own: FAMILY(detr);
#define TRAITS_MOST 192 // bytes of a family's own: decoders' are most
#define TRAITS_OF_ALL \
	union { \
		struct traits shared; \
		struct { \
			SHARED_TRAITS(TRAIT_MEMBER, ) \
		}; \
	}
#define FAMILY(name) \
	extern const struct family name; \
	struct name##_row { \
		TRAITS_OF_ALL; \
	}
#define FAMILY_TRAITS(name, LIST) \
	extern const struct family name; \
	struct name##_traits { \
		LIST(TRAIT_MEMBER, ) \
	}; \
	struct name##_row { \
		TRAITS_OF_ALL; \
		union { \
			struct name##_traits own; \
			struct { \
				LIST(TRAIT_MEMBER, ) \
			}; \
		}; \
	}; \
	_Static_assert(sizeof(struct name##_traits) <= TRAITS_MOST, "TRAITS_MOST is too small"); \
	_Static_assert(offsetof(struct name##_row, own) == sizeof(struct traits), "own traits follow the shared ones")

struct trait_list {
	const struct trait *traits;
	size_t size; // of struct FAMILY_traits
};
#define FAMILY_TRAIT_LIST(name, LIST) \
	{ \
		(const struct trait[]){ LIST(TRAIT_ENTRY, struct name##_traits){ NULL } }, sizeof(struct name##_traits) \
	}

// The family's own traits of a spec, the row's and then config.json's; of a spec of another family they are zero.
#define TRAITS_OF(s, name) ((struct name##_traits *)traits_of((s), &name))
struct family;
struct spec;
void *traits_of(const struct spec *s, const struct family *f);

#endif
