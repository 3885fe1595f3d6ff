// SPDX-License-Identifier: Apache-2.0
// A model type is a row: family (who builds), dialect (what this checkpoint calls things), traits (how it differs).
//
//	{ "mistral", &decoder, &llama_names },                               an alias costs one line
//	{ "qwen2",   &decoder, &llama_names, .traits.qkv_bias = true },
//
// arch_resolve merges family defaults <- row <- config.json (over its class's defaults) <- which tensors exist, into one
// flat struct spec. Families and blocks read only the spec; table.c alone knows model types.
#ifndef ASSAY_ARCH_SPEC_H
#define ASSAY_ARCH_SPEC_H

#include "arch/arch.h"
#include "arch/head.h"

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
enum qkv_layout { QKV_ROWS, QKV_BY_HEAD, QKV_FOUR_PARTS };
enum attention_gate { GATE_NONE, GATE_SIGMOID, GATE_HEADS_SOFTPLUS };
enum alibi { ALIBI_NONE, ALIBI_TOKENS, ALIBI_COLUMNS, ALIBI_BFLOAT16 };

// How a row differs from its family. ZERO MEANS THE COMMON CASE. One list makes the struct, what `assay inspect` prints and the
// mutants of tools/mutate: a trait that no conformance case misses is removed.
//	X(kind, name, meaning)      kind: FLAG (bool), ACT (enum activation), COUNT (int)
#define TRAIT_LIST(X) \
	X(FLAG, qkv_bias, "query, key and value have a bias (decoder; encoders and vit have)") \
	X(FLAG, out_bias, "the attention's output projection has a bias (decoder)") \
	X(FLAG, qk_norm, "RMS norm over each head of query and key") \
	X(FLAG, relative_buckets, "a learned bias by bucket of distance, shared by the layers") \
	X(COUNT, window_pattern, "where config.json lists no layer types: all layers but every Nth have the window") \
	X(FLAG, ffn_bias, "the feed-forward layers have a bias (decoder)") \
	X(FLAG, norm_plus_one, "RMS norm multiplies by 1 + weight") \
	X(FLAG, sandwich_norm, "a norm behind attention and feed-forward too, inside the residual") \
	X(FLAG, post_norm, "the norms stand behind attention and feed-forward only, inside the residual") \
	X(FLAG, norm_behind, "the norms stand behind the residual") \
	X(FLAG, no_last_norm, "no norm behind the last layer (decoder)") \
	X(FLAG, layer_norm, "layer norms, which take the mean away, instead of RMS norms (decoder)") \
	X(FLAG, norm_no_bias, "layer norms have no bias (decoder)") \
	X(FLAG, norm_no_weight, "norms have neither weight nor bias (decoder)") \
	X(FLAG, parallel, "attention and feed-forward side by side, from one norm") \
	X(FLAG, parallel_norms, "attention and feed-forward side by side, each from a norm of its own") \
	X(FLAG, plain_ffn, "the feed-forward has no gate: down(act(up)) (decoder)") \
	X(FLAG, interleaved_rope, "rotary pairs lie side by side (2i, 2i + 1), not half a head apart") \
	X(FLAG, reversed_rope, "rotary positions turn the other way") \
	X(FLAG, qk_norm_whole, "RMS norm over all heads of query and of key together") \
	X(FLAG, qk_norm_heads, "layer norm over each head of query and key, each with its own weight") \
	X(FLAG, inner_norm, "a norm before the last linear layer of attention and feed-forward") \
	X(FLAG, attention_sinks, "a learned score a head that takes part in the softmax and attends to nothing") \
	X(COUNT, attention_gate, \
		"the attention's result times a linear layer of its input: 1 its sigmoid, 2 its softplus, one a head") \
	X(COUNT, qkv_layout, "query, key and value in one tensor: 0 one behind the other, 1 by key head, 2 codegen's") \
	X(FLAG, transposed_weights, "the layers' weights lie as [in, out]") \
	X(COUNT, position_offset, "learned positions begin with this row (decoder, seq2seq)") \
	X(COUNT, alibi, "a bias linear in the position: 1 of tokens, 2 of columns, 3 falcon's") \
	X(FLAG, positions_of_mask, "learned positions count what the mask has, padding included as -1 (decoder)") \
	X(FLAG, sinusoids, "sines and cosines of the position are added to the embedding (decoder)") \
	X(FLAG, uncapped_scores, "attn_logit_softcapping has no effect") \
	X(FLAG, sigmoid_router, "experts are weighed by the sigmoid of their scores, not by their softmax") \
	X(FLAG, normalised_experts, "the chosen experts' weights sum to 1, whatever the configuration says") \
	X(FLAG, router_linear_bias, "the router has a bias") \
	X(FLAG, choice_bias_row, "the bias of the experts' choice lies as [1, experts]") \
	X(FLAG, sparse_mixer, "experts are chosen one by one, each weighed against those near it") \
	X(FLAG, experts_in_out, "the experts' weights lie as [experts, in, out]") \
	X(FLAG, clamped_swiglu, \
		"experts: (up + 1) * gate * sigmoid(alpha * gate), clamped, gate and up side by side, with biases") \
	X(COUNT, one_shared_expert, "shared experts where the configuration does not say how many") \
	X(FLAG, group_of_one, "a group of experts is worth its best one") \
	X(FLAG, lm_bias_too, "use_bias means the language model's head too") \
	X(FLAG, choice_of_logits, "experts are chosen by their scores before the sigmoid") \
	X(FLAG, window_until, "max_window_layers says where windows end, not where they begin") \
	X(FLAG, last_out_bias, "the attention's output projection has a bias in the last layer only") \
	X(FLAG, gelu_by_tanh, "gelu means its tanh approximation") \
	X(FLAG, unscaled_attention, "scores are not divided by the root of the head's width") \
	X(ACT, usual_act, "the activation where the configuration names none (decoder)") \
	X(FLAG, embedding_norm, "a norm behind the token embedding (decoder, seq2seq)") \
	X(FLAG, qk_norm_late, "the norm of query and key stands behind the rotation") \
	X(FLAG, may_look_ahead, "use_bidirectional_attention takes the causal mask away") \
	X(FLAG, qkv_bias_only, "attention_bias does not mean the output projection") \
	X(FLAG, window_rope, "only layers with a window have rotary positions") \
	X(FLAG, lm_bias, "the language model's head has a bias (decoder)") \
	X(FLAG, positions_from_pad, "positions count from pad_token_id + 1 and skip padding") \
	X(FLAG, always_projected, "from embedding_size to hidden_size even where they are equal") \
	X(FLAG, scaled_embedding, "token embeddings times sqrt(hidden)") \
	X(FLAG, distillation_token, "a second special token behind the class token (vit)") \
	X(FLAG, no_class_token, "patches only; a classifier reads their mean (vit)") \
	X(FLAG, deep_stem, "a stem of three convolutions, shortcuts by means of 2x2 (resnet)") \
	X(FLAG, response_norm, "channels by how much of them the whole map has (convnext)") \
	X(FLAG, no_key_bias, "where query and value have a bias, the key has none (vit)") \
	X(FLAG, any_size, "takes images of any size; its learned positions are resized to them (vit)") \
	X(FLAG, smooth_positions, "positions are resized with antialiasing (vit)") \
	X(FLAG, class_position, "no class token, but every patch has the position that it would have, beside its own (vit)") \
	X(FLAG, layer_scale, "each branch times a learned vector (vit)") \
	X(FLAG, norm_first, "norms before each branch and behind the last layer (seq2seq)") \
	X(FLAG, sine_positions, "positions are sines, not a table (seq2seq)") \
	X(FLAG, tokens_normed, "the decoder's embedding norm stands before the positions are added (seq2seq)") \
	X(FLAG, decoder_alone, "the class is a decoder by itself that looks at given states (seq2seq)") \
	X(FLAG, start_wraps, "a text read by both halves is shifted round, its last token to the front (seq2seq)") \
	X(FLAG, relative_each_layer, "every layer has its own bias by distance, not the first for all (t5)") \
	X(FLAG, unscaled_head, "a tied head reads the state as it is, not divided by sqrt(hidden) (t5)") \
	X(FLAG, shared_layers, "all layers of a group use the same weights") \
	X(FLAG, pool_is_norm, "the pooler output is the normalised class token itself") \
	X(FLAG, mean_patches, "the classifier reads class token and mean of the patches") \
	X(FLAG, causal_convolution, "the conformer's convolution sees the past only and is layer-normed (speech)") \
	X(FLAG, cosine_windows, "version 2 of windows: cosine attention, norms behind the branches (swin)") \
	X(FLAG, windows_always, "windows are cut and shifted even where one is as large as the grid (swin)") \
	X(FLAG, no_final_norm, "no norm behind the last layer (swin)") \
	X(FLAG, ends_highest, "a text is pooled at its greatest token id, whatever eos_token_id is (text tower)") \
	X(FLAG, last_token, "attention both ways; pooled is a linear layer over the last token (text tower)") \
	X(FLAG, attention_pool, "patches without class token, pooled by attention (vision tower)") \
	X(FLAG, compared_as_pooled, "no projections: what the towers pool is compared; the logits have a bias (dual)") \
	X(FLAG, pad_is_zero, "the padding token's embedding is zero, whatever the file has (encoder)") \
	X(FLAG, eos_as_said, "an eos_token_id of 2 is no mistake (text tower)") \
	X(FLAG, compares_first, "of a text the first token's state is compared, not what is pooled (dual)") \
	X(FLAG, rooted_towers, "the towers are whole models of any type, behind text_model. and vision_model. (dual)") \
	X(FLAG, projector_norm, "a norm before the projector, which always has biases and no class token (vision-language)") \
	X(FLAG, padding_zeroed, "the embedding of padding is zero (encoder)") \
	X(FLAG, branch_norm_bias, "the norms before the branches have a bias, the others none (rotary encoder)") \
	X(FLAG, first_unnormed, "the first layer's attention reads the embedding as it is (rotary encoder)") \
	X(FLAG, depth_scaled, "each branch is divided by the root of layers / 36 (rotary encoder)") \
	X(FLAG, down_bias, "of the feed-forward layers only the last has a bias (rotary encoder)") \
	X(FLAG, up_first, "gate and up in one tensor, up first (rotary encoder)") \
	X(FLAG, joined_by_head, "query, key and value in one tensor, head by head; each distance has a row (deberta)") \
	X(FLAG, fourier, "tokens are mixed by a Fourier transform instead of attention (encoder)") \
	X(FLAG, lm_gelu, "the language model's head has GELU, whatever hidden_act says (encoder)") \
	X(FLAG, head_hidden_act, "the sequence classifier's dense layer is followed by hidden_act") \
	X(ACT, head_act, "behind the dense layer of the sequence classifier")

struct traits {
#define TRAIT_FLAG bool
#define TRAIT_ACT enum activation
#define TRAIT_COUNT int
#define X(kind, name, meaning) TRAIT_##kind name;
	TRAIT_LIST(X)
#undef X
};

enum rope_kind { ROPE_DEFAULT, ROPE_LINEAR, ROPE_DYNAMIC, ROPE_LLAMA3, ROPE_YARN, ROPE_LONGROPE, ROPE_PROPORTIONAL };

struct rope {
	enum rope_kind kind;
	double theta, factor;
	double low_freq_factor, high_freq_factor;      // llama3
	double beta_fast, beta_slow, attention_factor; // yarn; attention_factor NaN: by formula
	double mscale, mscale_all_dim;                 // yarn; 0: absent
	bool truncate;
	const double *short_factors, *long_factors; // longrope, [factor_count]
	int64_t factor_count;
	int64_t original_max_positions;
	bool sections;        // angles by time, row and column: three positions a token
	double partial;       // proportional: the share of the head that is rotated
	int64_t dim;          // how much of a head is rotated; 0: all of it
	int64_t steps;        // frequencies are theta^(-2i/steps); 0: dim
	double position_beta; // > 0: queries times 1 + beta * log(1 + position / original_max_positions)
};

// Mixture of experts.
struct moe {
	int64_t experts, top_k, width, shared_width; // shared_width 0: no shared experts
	int64_t groups, top_groups;                  // groups 0 or 1: none
	bool group_of_two, normalise;                // a group is worth its two best experts; weights sum to 1
	bool shared_average;                         // the mean of chosen and shared experts, not their sum
	double scale, jitter, alpha, limit;
};

// Multi-head latent attention; key_rank 0: none.
struct latent {
	int64_t query_rank, key_rank, nope, rope, value;
	double eps;
};

struct family;
struct dialect;

// A model made of models has parts: each is a spec of its own, with its own row, dialect and place among the file's names.
enum part { PART_TEXT, PART_VISION, PART_AUDIO, PART_ENCODER, PART_DECODER, PART_BACKBONE, PART_COUNT };

struct arch {
	const char *model_type; // sorted, unique: a unit test says so
	const struct family *family;
	const struct dialect *dialect;
	struct traits traits;
	const char *part_type[PART_COUNT]; // the type of a part whose configuration names none
};

struct spec {
	const struct arch *row;
	const struct head *head;
	const char *class_name;              // architectures[0]
	const char *key;                     // of a part: the object in config.json that it is in
	const char *root;                    // what every name of this part begins with: "" or "vision_tower."
	const char *prefix;                  // base-model prefix that this checkpoint's names have after it: "bert." or ""
	const struct spec *part[PART_COUNT]; // NULL: there is none
	const char *const *unused;           // globs of what files may hold of halves that this class has not; NULL: none
	void *own;                           // what only the family knows of; its resolve makes it
	enum dtype dtype;                    // what config.json says of the weights; DTYPE_NONE: nothing
	struct traits traits;                // the row's, then config.json's
	int64_t vocab_size, hidden_size, layers, layers_in_config, layer_groups, heads, kv_heads, head_width, ffn_size;
	int64_t max_positions, type_vocab_size, embedding_size, pooler_size, labels, pad_token_id;
	int64_t lm_size; // what the masked language model's dense layer gives; 0: embedding_size
	int64_t image_size, image_width, patch_size, patch_width, channels,
		relative_buckets;   // image_size, patch_size: heights where they differ
	const int64_t *out_indices; // of a backbone: which states are its result, [out_count]
	int64_t out_count;
	int64_t image_tokens; // what a picture is in the tower's states: patches, class token, ..
	double norm_eps;
	enum activation act, pooler_act;
	bool tied;                               // the output head is the token embedding
	bool swiglu;                             // vit: gated feed-forward
	double attention_scale;                  // 1 / sqrt(head_width) unless the configuration says otherwise
	double attention_softcap, logit_softcap; // 0: none
	int64_t sliding_window;                  // 0: none
	const bool *sliding;                     // [layers_in_config]: does this layer attend to a window only
	const struct moe *moe;                   // NULL: none
	const bool *sparse;                      // [layers_in_config]: has this layer experts
	int64_t expert_layers;                   // experts times layers that have some: what a graph may grow with
	struct latent latent;
	const bool *nope;              // [layers_in_config]: a NoPE layer: without rotary embedding; NULL: none is
	struct rope rope, window_rope; // of layers without and with a window
	double embedding_scale, residual_scale, logit_scale; // 0: there is none
	bool scale_by_layer;                                 // scores of layer n, from 1, are divided by n
	double alibi_max;                                    // the largest exponent of ALiBi's slopes
	double clip_qkv;                                     // query, key and value are kept within -c and c; 0: not
};

struct build;

struct body;
struct config;

struct family {
	const char *name, *architecture; // "encoder"; its row of the compatibility matrix
	// From config.json to the spec: resolve_transformer and its like, then what is the family's own.
	void (*resolve)(struct config *c, struct spec *s, struct arena *a);
	void (*build)(struct build *b); // the graph b->which: inputs, body, head, outputs
	// The body alone, for models that have it as a part; NULL: it cannot be one.
	void (*body)(struct build *b, struct body *io);
	const struct family_head *heads;                    // heads that are its own; ends with NULL; NULL: none
	const enum arch_graph *graphs;                      // beside ARCH_WHOLE, ends with ARCH_WHOLE; NULL: none
	void (*sizes)(const struct spec *s, json_t *sizes); // adds what is the family's own, for printing; may be NULL
	// Adds what is the family's own to the hints that its text part, or else the model itself, gives; may be NULL.
	void (*hints)(const struct spec *s, struct input_hints *out);
	bool may_decode;   // is_decoder may be true: the same layers, seeing what is before only
	bool any_heads;    // heads need not fill hidden_size: their width is rounded down
	bool shares_cache; // a causal language model's cache may have the form CACHE_SHARED
};
extern const struct family deberta, mobilebert, rotary_encoder;
extern const struct family clip_text, clip_vision, decoder, dual, encoder, seq2seq, moonshine, speech_to_text, t5, vit, whisper,
	xclip, xclip_vision;
extern const struct family resnet, resnet_timm, detr, conditional_detr, convnext, convnext_dino, mobilenet_v1, mobilenet_v2,
	yolos, segformer, poolformer, beit, videomae, vivit, dinov3, timesformer;
extern const struct family alt_text, vlm, vlm_aligned, vlm_linear, vlm_shuffled, vlm_tiles;

extern const struct family speech, swin, clap, clap_audio, clap_text, spectrogram, conformer, conformer_ctc, vocoder;

// Names. In `file`: @ is the base-model prefix, # the number of the layer (of its group, when layers are shared); of two #
// the first is the stage, of three the last is the item within the layer.
struct weight_name {
	const char *canonical, *file;
};
struct key_name {
	const char *canonical, *config;
};
struct dialect {
	const char *name, *prefix;
	const struct key_name
		*keys; // config keys whose name differs from the canonical one, which may have several; ends with NULL
	const struct weight_name *weights; // stems: "layers.attn.q" -> "@encoder.layer.#.attention.self.query"; ends with NULL
	const char *const *ignored;        // globs of tensors that may lie in the file unread; ends with NULL
	const char *const *inert;          // globs of config keys that change nothing here; ends with NULL, or NULL: none
	const char *const *other_prefixes; // of other classes of the type; ends with NULL, or NULL: none
};

extern const struct arch arch_rows[];
extern const size_t arch_row_count;
const struct arch *arch_find(const char *model_type); // NULL if there is none

const char *activation_word(enum activation a);

// config.c: reading config.json over its class's defaults, and remembering which keys were read.
struct config {
	const json_t *given; // config.json
	json_t *defaults;    // of the class; NULL if none are known
	json_t *read;        // set of keys
	const struct dialect *dialect;
	struct error error;                  // sticky: the first key that is not what it should be
	const struct checkpoint *checkpoint; // for what depends on which tensors exist
	const char *within;                  // "" or "text_config.": for messages
};
void config_open(struct config *c, const json_t *given, const char *model_type, const struct dialect *d);
void config_close(struct config *c);
const json_t *config_get(struct config *c, const char *key);   // NULL when absent or null
const json_t *config_given(struct config *c, const char *key); // the same, without the class's defaults
bool config_knows(const struct config *c, const char *key);    // has the class such a key at all? Others have no effect on it
int64_t config_size(struct config *c, const char *key, int64_t fallback); // 0 .. 2^31; fallback -1: the key is needed
// A number of things that are built one by one (layers, blocks, experts): at most CONFIG_COUNT_MOST. A caller that loops over a
// number of config.json or makes an array of that length reads it here.
enum { CONFIG_COUNT_MOST = 1024 };
int64_t config_count(struct config *c, const char *key, int64_t fallback);
// A list of such numbers, [*count] of them; a single number is a list of `single` equal ones (0: refused). NULL and 0: the key is
// absent.
const int64_t *config_sizes(struct config *c, const char *key, struct arena *a, int64_t single, int64_t *count);
double config_real(struct config *c, const char *key, double fallback);
bool config_bool(struct config *c, const char *key, bool fallback);
const char *config_text(struct config *c, const char *key);
enum activation config_activation(struct config *c, const char *key, enum activation fallback);
enum activation config_activation_word(struct config *c, const char *key, const char *word); // `word` stands in what `key` says
void config_fail(struct config *c, enum status s, const char *format, ...) __attribute__((format(printf, 3, 4)));
// A key that was neither read nor is known to change nothing here is an error.
void config_check_unread(struct config *c);

// spec.c: what families' resolve functions are made of. Errors go into c->error.
// hidden_size, layers, heads, head_width, ffn_size, vocabulary and positions (needed unless is_image), activation, scale.
void resolve_transformer(struct config *c, struct spec *s, bool is_image);
void resolve_refusals(struct config *c, bool may_decode); // a part of resolve_transformer: decoders, pruned heads
void resolve_image(struct config *c, struct spec *s);     // image_size, patch_size, channels, pooler
void resolve_outputs(struct config *c, struct spec *s, struct arena *a,
	int64_t stages); // out_indices, from out_features or out_indices; the last stage where neither is given
void resolve_rope(struct config *c, struct spec *s, struct arena *a);
void resolve_window(struct config *c, struct spec *s, struct arena *a);
void resolve_moe(struct config *c, struct spec *s, struct arena *a);
// Every expert of every layer is built: DeepSeek-V3 has 14848 of them, Kimi-K2 23040.
enum { EXPERT_LAYERS_MOST = 1 << 15 };
void resolve_experts(struct config *c, struct spec *s, int64_t experts, int64_t layers);
void resolve_latent(struct config *c, struct spec *s); // before resolve_rope
void resolve_latent_scale(struct spec *s);             // after it
// A part: the object under `key` as a model of its own (model_type `type` where it says none; the class's whole default where
// the key is absent). `roots`: what its names may begin with in the file, first the one for a new file; ends with NULL.
// `type` NULL: what the row says. It has this head, or none for NULL. NULL after an error.
struct spec *resolve_part(struct config *c, struct spec *s, struct arena *a, enum part part, const char *key, const char *type,
	const struct head *head, const char *const *roots);
// The same for classes whose part is of one type whatever model_type says there.
struct spec *resolve_part_fixed(struct config *c, struct spec *s, struct arena *a, enum part part, const char *key,
	const char *type, const struct head *head, const char *const *roots);

#endif
