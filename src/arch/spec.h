// SPDX-License-Identifier: Apache-2.0
// A model type is a row: family (who builds), dialect (what this checkpoint calls things), traits (how it differs).
//
//	{ "mistral", &decoder, &llama_names },                               an alias costs one line
//	{ "qwen2", OF(decoder, llama_names, .qkv_bias = true) },
//
// arch_resolve merges family defaults <- row <- config.json (over its class's defaults) <- which tensors exist, into one
// flat struct spec. Families and blocks read only the spec; table.c alone knows model types.
#ifndef ASSAY_ARCH_SPEC_H
#define ASSAY_ARCH_SPEC_H

#include "arch/arch.h"
#include "arch/head.h"
#include "arch/traits.h"

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
	int64_t section[3]; // angles by time, row and column, for three positions a token; 0: one position
	bool interleaved_sections;
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
	bool scales_inputs;                          // an expert's input is weighed, not what it gives
	int64_t identities;                          // experts after the others that give back what they get
	int64_t latent;                              // experts work between layers of this width; 0: on the hidden states
	bool unbiased_choice;                        // no bias of the choice, though the dialect has a word for it
	bool shared_average;                         // the mean of chosen and shared experts, not their sum
	// how the router weighs them, and how their weights lie: family/decoder.h
	bool sigmoid, by_logits, sparse_mixer, router_bias, choice_bias_row, in_out, clamped_swiglu, clamped_silu, halves;
	double scale, jitter, alpha, limit;
	double least_sum;   // of the chosen scores, which are divided by their sum; 0: 1e-20 is added
	double logit_scale; // of the router's scores; 0: none
	const bool *hashed; // [layers_in_config]: a table says which experts a token of the vocabulary has; NULL: in no layer
	bool silu;          // experts have it, whatever act the feed-forwards have
	bool activated;     // the router's scores are `score` of its logits
	enum activation score;
	double gate_cap, up_cap; // softcaps of what gate and up are in the product, beside the gate's own sigmoid; 0: none
};

int64_t moe_chosen(const struct moe *m); // experts that a token is given to

// Multi-head latent attention; key_rank 0: none.
struct latent {
	int64_t query_rank, key_rank, nope, rope, value;
	double eps, query_scale, key_scale; // scales of the latents; 0: none
	bool doubled;                       // queries are made of the latent, normed, and of the latent as it is
	bool joined;                        // without rotary positions `rope` is a part of `nope`, which each head has of its own
};

// Hyper-connections (block/hyper.c).
struct hyper {
	int64_t streams, rounds; // rounds of Sinkhorn's alternation; 0: streams are not mixed
	int64_t rank;            // of the gates by which a branch reads each element; 0: it reads a sum of whole streams
	double eps, magnitude;   // magnitude: of what a branch gives to a stream, at most
};

// What mixes a layer's tokens: attention, or what has a state of fixed size (block/recurrent.h), or nothing: the layer is a
// feed-forward, or experts, and no more.
enum mixer { MIX_ATTENTION, MIX_CONVOLUTION, MIX_MAMBA, MIX_MAMBA2, MIX_DELTA, MIX_RGLRU, MIX_NONE, MIX_EXPERTS, MIX_LIGHTNING };

// Recurrences and short convolutions. Mamba-2 and the delta rule have heads of channels / heads, and groups of heads, which share
// what is written and read: B and C, or key and query, `state` wide.
struct recurrence {
	int64_t channels, state, kernel, heads, groups;
	int64_t rank; // Mamba: of the time step
	bool conv_bias, in_bias, out_bias;
	bool apart;                   // Mamba: each of `heads` selects for itself (Zamba)
	bool normed_selection;        // Mamba: RMS norms over time step, B and C
	bool no_gated_norm;           // Mamba-2: what comes out is gated, and not normed
	bool gate_last;               // Mamba-2: the norm comes before the gate
	bool decay_each;              // delta rule: a decay for each element of a key
	double decay_floor;           // with decay_each: the decay is exp(floor * sigmoid(..)); 0: none
	bool beta_doubled;            // delta rule: beta is between 0 and 2
	enum activation gate_act;     // delta rule: of the gate
	enum activation act;          // after the convolution
	double eps;                   // of the norms within
	double least_step, most_step; // Mamba-2: of the time step
	int64_t block;                // lightning attention: tokens whose decay is in tables
	const double *part_scale;     // Mamba-2: [5], factors of gate, x, B, C and time step; NULL: none
};

// Of one kind of layer.
struct heads {
	int64_t heads, kv_heads, width, value_width; // width: of query and key
};

// Attention to a window and to entries that are made of so many tokens (block/compress.c). rates: [layers_in_config], 0: there
// are none; overlaps: an entry is made of the tokens before its own, too, and an indexer chooses among entries.
struct compressed {
	const int64_t *rates;
	const bool *overlaps;
	int64_t groups, out_rank; // of the output: groups of heads, each to so many
};

// AltUp (gemma3n): a layer works on one of several states and corrects all by what it gives; laurel_rank: of the linear layers
// beside its attention.
struct altup {
	int64_t inputs, active, laurel_rank;
	bool scaled;
};

// Of sparse attention. shared: [layers_in_config]: does this layer take the choice of the one before; NULL: none does.
struct indexer {
	int64_t heads, width, top_k;
	int64_t block; // top_k blocks of so many tokens are chosen; 0: tokens one by one
	bool no_tail;  // the tokens behind the last whole block are not seen
	bool interleaved;
	const bool *shared;
	bool rope_last; // the end of a head is turned, not its beginning
	double eps;     // of the norm of its keys
};

// Factors at places of a layer (Falcon-H1).
struct multipliers {
	double attention_in, attention_out, mixer_in, mixer_out, ffn_gate, ffn_down;
};

// Factors of a branch's input, which is normed, and of what it gives, whose sum goes on (MiniMax).
struct weighed_sums {
	double attention[2], recurrence[2], ffn[2];
};

struct family;
struct dialect;

// A model made of models has parts: each is a spec of its own, with its own row, dialect and place among the file's names.
// A family names its parts: "text", "vision", "encoder", "decoder" are those of several.
enum { PARTS_MOST = 4 };
struct spec_part {
	const char *name;
	struct spec *spec; // NULL: there is none
};

struct arch {
	const char *model_type; // sorted, unique: a unit test says so
	const struct family *family;
	const struct dialect *dialect;
	const void *traits; // struct FAMILY_row, by OF (table.c); NULL: all zero
	struct {
		const char *part, *type;
	} part_types[PARTS_MOST]; // the types of parts whose configuration names none
};

struct spec {
	const struct arch *row;
	const struct head *head;
	const char *class_name;             // architectures[0]
	const char *key;                    // of a part: the object in config.json that it is in
	const char *root;                   // what every name of this part begins with: "" or "vision_tower."
	const char *prefix;                 // base-model prefix that this checkpoint's names have after it: "bert." or ""
	struct spec_part parts[PARTS_MOST]; // part_of
	const char *const *unused;          // globs of what files may hold of halves that this class has not; NULL: none
	void *own;                          // what only the family knows of; its resolve makes it
	enum dtype dtype;                   // what config.json says of the weights; DTYPE_NONE: nothing
	struct traits traits;               // the row's, then config.json's
	void *own_traits;                   // struct FAMILY_traits, likewise: TRAITS_OF
	int64_t vocab_size, hidden_size, layers, layers_in_config, layer_groups, heads, kv_heads, head_width, ffn_size;
	int64_t max_positions, type_vocab_size, embedding_size, pooler_size, labels, pad_token_id;
	int64_t output_size;   // what a decoder's language model's head gives; 0: vocab_size
	int64_t project_size;  // of a linear layer after a decoder's last norm; 0: there is none
	int64_t codebooks;     // a token is so many words, one of each codebook; 0: one word of the vocabulary
	bool gives_last;       // a language model gives its last states, too
	int64_t further_words; // of the vocabulary that lie in a tensor of their own
	const bool *unsaid;    // [vocab_size]: words that the language model's head never gives; NULL: there are none
	int64_t most_keys;     // of those that a token may see, by their values (Doge); 0: all
	int64_t cycles, low_cycles, stack_layers; // two stacks of layers go round (HRM); 0: there is one, and it does not
	int64_t lm_size;                          // what the masked language model's dense layer gives; 0: embedding_size
	int64_t image_size, image_width, patch_size, patch_width, channels,
		relative_buckets;   // image_size, patch_size: heights where they differ
	const int64_t *out_indices; // of a backbone: which states are its result, [out_count]
	int64_t out_count;
	int64_t image_tokens; // what a picture is in the tower's states: patches, class token, ..
	double norm_eps;
	double last_eps;  // of the last norm, a layer norm; 0: it is as the others
	double after_eps; // of norms after a branch; 0: norm_eps
	enum activation act, pooler_act;
	bool tied;                               // the output head is the token embedding
	bool swiglu;                             // vit: gated feed-forward
	bool rms_branches;                       // vit: RMS norms before the branches
	bool qk_norm_heads;                      // layer norm over each head of query and key, each with its own weight
	bool bidirectional;                      // of a decoder: without the causal mask
	double attention_scale;                  // 1 / sqrt(head_width) unless the configuration says otherwise
	double attention_softcap, logit_softcap; // 0: none
	int64_t sliding_window;                  // 0: none
	const bool *sliding;                     // [layers_in_config]: does this layer attend to a window only
	bool stable_embedding;                   // a layer norm after the token embedding, whatever norm the layers have
	bool lm_dense_bias;                      // of a decoder whose head has a dense layer
	enum activation lm_act;                  // after it
	const struct moe *moe;                   // NULL: none
	const bool *sparse;                      // [layers_in_config]: has this layer experts
	int64_t expert_layers;                   // experts times layers that have some: what a graph may grow with
	struct latent latent, window_latent;     // of layers with a window; key_rank 0: as the others'
	double window_scale;                     // attention_scale where window_latent is
	const struct hyper *hyper;               // NULL: one residual stream
	int64_t norm_rank;                   // of the gates of norms before branches with experts, and before attention; 0: none
	const struct indexer *indexer;       // NULL: none
	const struct compressed *compressed; // NULL: none
	const enum mixer *mixers;            // [layers_in_config]; NULL: attention in all layers
	const struct recurrence *recurrence; // of the layers without attention
	const struct multipliers *multipliers; // NULL: none
	const struct weighed_sums *weighed;    // NULL: x + y
	struct heads window_heads;             // of the layers with a window; width 0: as the others'
	int64_t value_width;                   // 0: head_width
	bool attention_experts;                // attention is a mixture of experts (block/attention_experts.c)
	double value_scale;                    // 0: none
	int64_t attention_in;                  // what query, key and value are made from; 0: hidden_size
	int64_t adapter_rank;                  // of what a layer has of its own on top of shared weights; 0: nothing
	bool attention_adapters;               // for query, key and value too
	const int64_t *block_of; // [layers_in_config]: the layer whose weights a block of attention and feed-forward before this
				 // layer's recurrence has; -1: there is no such block. NULL: in no layer
	bool keys_are_values;    // in layers without a window, before the norms
	const int64_t *keys_of;  // [layers_in_config]: the layer whose keys and values it takes; NULL: each has its own
	int64_t token_width, token_rows; // of an embedding of each token for each layer; 0: there is none
	const struct altup *altup;       // NULL: none
	const int64_t *ffn_sizes;        // [layers_in_config]; NULL: ffn_size in all
	double glu_alpha, glu_limit;     // of feed-forwards: clamped_glu; limit 0: they have s->act
	double gate_limit;      // of gated feed-forwards: the gate is at most that, up within it; 0: they are not clamped
	const double *sparsity; // [layers_in_config]: only what is this many deviations above the mean passes the gate; 0: all
	int64_t global_tokens, token_block; // learned tokens before an encoder's, which see all; the others see those and a block
	bool staggered;                     // blocks of every second layer begin half a block earlier
	const int64_t *attention_windows;   // [layers], around a token, of an encoder with tokens that see all; NULL: none
	int64_t chunk;                      // a window is a chunk of this many tokens, not the last sliding_window; 0: not
	double column_beta; // > 0: queries without rotary positions times 1 + column_beta * log(1 + (column + 1) / column_floor)
	int64_t column_floor;
	const bool *crossing;          // [layers_in_config]: it looks at body.memory and is left out without one; NULL: none does
	const bool *nope;              // [layers_in_config]: a NoPE layer: without rotary embedding; NULL: none is
	struct rope rope, window_rope; // of layers without and with a window
	double embedding_scale, residual_scale, logit_scale; // 0: there is none
	double gate_temperature;                             // of the gates of sums
	bool scale_by_layer;                                 // scores of layer n, from 1, are divided by n
	double alibi_max;                                    // the largest exponent of ALiBi's slopes
	double clip_qkv;                                     // query, key and value are kept within -c and c; 0: not
};

struct spec *part_of(const struct spec *s, const char *name); // NULL: there is none
void part_set(struct spec *s, const char *name, struct spec *part);
const char *part_type(const struct arch *row, const char *name); // NULL: the row names none

struct build;

struct body;
struct config;

struct seq2seq; // block/seq2seq.h
struct family {
	const char *name, *architecture; // "encoder"; its row of the compatibility matrix
	// From config.json to the spec: resolve_transformer and its like, then what is the family's own.
	void (*resolve)(struct config *c, struct spec *s, struct arena *a);
	void (*build)(struct build *b); // the graph b->which: inputs, body, head, outputs
	// The body alone, for models that have it as a part; NULL: it cannot be one.
	void (*body)(struct build *b, struct body *io);
	// Encoder and decoder of an encoder-decoder, for models that have it as a part; NULL: they cannot be had one by one.
	struct seq2seq (*halves)(const struct build *b);
	// What a backbone gives of state `index`; NULL: the state itself.
	graph_value (*feature)(struct build *b, const struct body *io, int64_t index);
	const struct family_head *heads;                    // heads that are its own; ends with NULL; NULL: none
	const struct arch_graph *const *graphs;             // beside arch_whole; ends with NULL; NULL: none
	void (*sizes)(const struct spec *s, json_t *sizes); // adds what is the family's own, for printing; may be NULL
	// Adds what is the family's own to the hints that its text part, or else the model itself, gives; may be NULL.
	void (*hints)(const struct spec *s, struct input_hints *out);
	bool may_decode;          // is_decoder may be true: the same layers, seeing what is before only
	bool any_heads;           // heads need not fill hidden_size: their width is rounded down
	bool may_unturn;          // position_embedding_type may be nope: no positions
	bool shares_cache;        // a causal language model's cache may have the form CACHE_SHARED
	struct trait_list traits; // its own, by FAMILY_TRAIT_LIST; zero: none
};
// Families without traits of their own; the others are in family/*.h.
FAMILY(aimv2);
FAMILY(aimv2_text);
FAMILY(alt_text);
FAMILY(aura_flow);
FAMILY(autoencoder_dc);
FAMILY(autoencoder_kl);
FAMILY(autoencoder_tiny);
FAMILY(autoformer);
FAMILY(bark);
FAMILY(beit);
FAMILY(block_conformer_ctc);
FAMILY(blip);
FAMILY(blip_text);
FAMILY(bit);
FAMILY(chmv2);
FAMILY(chroma);
FAMILY(clap);
FAMILY(clap_audio);
FAMILY(clap_text);
FAMILY(clvp);
FAMILY(cog_video);
FAMILY(conditional_detr);
FAMILY(conformer);
FAMILY(conformer_ctc);
FAMILY(conformer_seq2seq);
FAMILY(connected_vision);
FAMILY(convnext_dino);
FAMILY(controlnet);
FAMILY(cpmant);
FAMILY(cvt);
FAMILY(dab_detr);
FAMILY(davit);
FAMILY(decision);
FAMILY(depth_pro);
FAMILY(detr);
FAMILY(dia);
FAMILY(dpt);
FAMILY(dinov3);
FAMILY(efficientformer);
FAMILY(dit);
FAMILY(efficient_loftr);
FAMILY(efficientnet);
FAMILY(evolla);
FAMILY(florence);
FAMILY(fastspeech);
FAMILY(flux);
FAMILY(focalnet);
FAMILY(forecast);
FAMILY(git);
FAMILY(grounding);
FAMILY(groupvit);
FAMILY(hgnet);
FAMILY(hiera);
FAMILY(hiera_det);
FAMILY(hiera_pyramid);
FAMILY(jukebox);
FAMILY(idefics);
FAMILY(levit);
FAMILY(lightglue);
FAMILY(llama4_vision);
FAMILY(lumina);
FAMILY(ltx_video);
FAMILY(lxmert);
FAMILY(mamba2);
FAMILY(mask2former);
FAMILY(maskformer);
FAMILY(mega);
FAMILY(mctct);
FAMILY(mgp_str);
FAMILY(mmdit);
FAMILY(mobilebert);
FAMILY(mobilenet_v1);
FAMILY(mobilenet_v2);
FAMILY(moonshine);
FAMILY(musicgen);
FAMILY(nat);
FAMILY(packed_vision);
FAMILY(patchtsmixer);
FAMILY(omdet);
FAMILY(patchtst);
FAMILY(pixart);
FAMILY(placed_vision);
FAMILY(pe_audio);
FAMILY(pix2struct);
FAMILY(poolformer);
FAMILY(prophetnet);
FAMILY(trajectory);
FAMILY(funnel);
FAMILY(canine);
FAMILY(gptsan);
FAMILY(graphormer);
FAMILY(perceiver_text);
FAMILY(inkling);
FAMILY(inkling2);
FAMILY(zaya);
FAMILY(transfo_xl);
FAMILY(qwen_image);
FAMILY(radio);
FAMILY(rag);
FAMILY(resampler);
FAMILY(resnet_timm);
FAMILY(rf_detr);
FAMILY(sam3);
FAMILY(sam3_pyramid);
FAMILY(sam3_vit);
FAMILY(seggpt);
FAMILY(sine_text);
FAMILY(retribert);
FAMILY(rwkv);
FAMILY(xlstm);
FAMILY(sana);
FAMILY(spectrogram);
FAMILY(slanext);
FAMILY(speech_to_text);
FAMILY(speecht5);
FAMILY(stacked_sound);
FAMILY(superglue);
FAMILY(superpoint);
FAMILY(swiftformer);
FAMILY(swin2sr);
FAMILY(textnet);
FAMILY(tiled_vision);
FAMILY(timesfm);
FAMILY(timesfm2_5);
FAMILY(timesformer);
FAMILY(tipsv2_dpt);
FAMILY(transducer);
FAMILY(tvp);
FAMILY(unet);
FAMILY(unet_plain);
FAMILY(univnet);
FAMILY(upernet);
FAMILY(van);
FAMILY(videomae);
FAMILY(vilt);
FAMILY(vitmatte);
FAMILY(vitpose);
FAMILY(vits);
FAMILY(vivit);
FAMILY(vit_hybrid);
FAMILY(vit_mae);
FAMILY(vjepa2);
FAMILY(vlm_aligned);
FAMILY(vlm_adapted);
FAMILY(vlm_asked);
FAMILY(vlm_convolved);
FAMILY(vlm_crossed);
FAMILY(vlm_grounded);
FAMILY(vlm_linear);
FAMILY(vlm_listed);
FAMILY(vlm_packed);
FAMILY(vlm_patches);
FAMILY(vlm_perceived);
FAMILY(vlm_pooled);
FAMILY(vlm_squared);
FAMILY(vlm_placed);
FAMILY(vlm_tokened);
FAMILY(vlm_unseen);
FAMILY(vlm_windows_heard);
FAMILY(vocoder);
FAMILY(wan);
FAMILY(whisper);
FAMILY(whisper_causal);
FAMILY(whisper_rotary);
FAMILY(xclip);
FAMILY(xclip_vision);
FAMILY(yolos);
FAMILY(zoedepth);

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
	bool keeps_buffers;                // the class takes buffers of positions from the file, where that has them
	const char *const *inert;          // globs of config keys that change nothing here; ends with NULL, or NULL: none
	const char *const *other_prefixes; // of other classes of the type; ends with NULL, or NULL: none
};

extern const struct arch arch_rows[];
extern const size_t arch_row_count;
const struct arch *arch_find(const char *model_type); // NULL if there is none

const char *activation_word(enum activation a);

// config.c: reading config.json over its class's defaults, and remembering which keys were read.
json_t *config_defaults(const char *model_type); // of its class, the caller's; NULL if none are known
void config_check_size(struct config *c);        // refuses more keys, and longer ones, than any configuration has
bool config_is_inert(const char *key);           // of training, generation, tokenizers: no graph depends on it in any type
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
// The object under a key, whose keys are this class's own words for something that is no model; over the class's defaults of it.
// What is not read there is an error at its close.
void config_open_within(struct config *sub, struct config *c, const char *key, struct arena *a);
void config_close_within(struct config *sub, struct config *c);
// A key is read by who uses it; a key without effect is in its dialect's list instead.
#define READ_FOR_USE __attribute__((warn_unused_result))
READ_FOR_USE const json_t *config_get(struct config *c, const char *key);   // NULL when absent or null
READ_FOR_USE const json_t *config_given(struct config *c, const char *key); // the same, without the class's defaults
READ_FOR_USE bool config_knows(
	const struct config *c, const char *key); // has the class such a key at all? Others have no effect on it
bool config_reads_unnamed(const char *key);       // read though the class names no such key: rope_theta, num_labels, ..
READ_FOR_USE int64_t config_size(
	struct config *c, const char *key, int64_t fallback); // 0 .. 2^31; fallback -1: the key is needed
// A number of things that are built one by one (layers, blocks, experts): at most CONFIG_COUNT_MOST. A caller that loops over a
// number of config.json or makes an array of that length reads it here.
enum { CONFIG_COUNT_MOST = 1024 };
READ_FOR_USE int64_t config_count(struct config *c, const char *key, int64_t fallback);
// A list of such numbers, [*count] of them; a single number is a list of `single` equal ones (0: refused). NULL and 0: the key is
// absent.
READ_FOR_USE const int64_t *config_sizes(struct config *c, const char *key, struct arena *a, int64_t single, int64_t *count);
READ_FOR_USE double config_real(struct config *c, const char *key, double fallback);
READ_FOR_USE bool config_bool(struct config *c, const char *key, bool fallback);
READ_FOR_USE const char *config_text(struct config *c, const char *key);
READ_FOR_USE enum activation config_activation(struct config *c, const char *key, enum activation fallback);
READ_FOR_USE enum activation config_activation_word(
	struct config *c, const char *key, const char *word); // `word` stands in what `key` says
#undef READ_FOR_USE
void config_fail(struct config *c, enum status s, const char *format, ...) __attribute__((format(printf, 3, 4)));
// A key that was neither read nor is known to change nothing here is an error.
void config_check_unread(struct config *c);
// Every key that was read, and those inside of it, against the kind that the class's default has: what a reader does not take
// must be refused, and not be as if it were absent.
void config_check_kinds(struct config *c);

// traits.c: the row's traits into a new spec.
void traits_of_row(struct spec *s, struct arena *a);

bool has_word(const struct spec *s, const char *stem); // has the dialect a word for this weight?

// spec.c: what families' resolve functions are made of. Errors go into c->error.
// hidden_size, layers, heads, head_width, ffn_size, vocabulary and positions (needed unless is_image), activation, scale.
void resolve_transformer(struct config *c, struct spec *s, bool is_image);
// The size that pictures must have for this backbone; 0: they may have any, which its family then hints at.
void resolve_backbone_image(struct spec *s, const struct spec *backbone);
// A part of resolve_transformer: decoders, pruned heads, kinds of positions.
// A decoder that reads memory must be one that can.
void resolve_refusals(struct config *c, const struct spec *s);
// Height and width, each `least` or more: a list, or one number for both.
void resolve_pair(struct config *c, struct arena *a, const char *key, int64_t usual, int64_t least, int64_t out[2]);
void resolve_image(struct config *c, struct spec *s); // image_size, patch_size, channels, pooler
void resolve_outputs(struct config *c, struct spec *s, struct arena *a,
	int64_t stages); // out_indices, from out_features or out_indices; the last stage where neither is given
// The same where the first result is that of stage `first`, not what comes before the stages.
void resolve_outputs_from(struct config *c, struct spec *s, struct arena *a, int64_t first, int64_t stages);
// A list with a number for each stage, `least` or more; a longer list is read from its beginning.
const int64_t *resolve_stages(struct config *c, const char *key, struct arena *a, int64_t stages, int64_t least);
void resolve_rope(struct config *c, struct spec *s, struct arena *a);
void resolve_qk_norm_type(struct config *c, struct spec *s); // by head or whole, in the words of qk_norm_type
void resolve_window(struct config *c, struct spec *s, struct arena *a);
int64_t resolve_window_size(struct config *c); // of layers that all have a window; 0: null, no window. 0 itself is refused
void resolve_moe(struct config *c, struct spec *s, struct arena *a);
// Every expert of every layer is built: DeepSeek-V3 has 14848 of them, Kimi-K2 23040.
enum { EXPERT_LAYERS_MOST = 1 << 15 };
void resolve_experts(struct config *c, struct spec *s, int64_t experts, int64_t layers);
// s->recurrence. Families of recurrences only, and after it resolve_mixers: s->mixers.
struct recurrence *resolve_recurrence(struct config *c, struct spec *s, struct arena *a, enum mixer kind);
// Which layers have attention, the others have `kind`. Where config.json says nothing it is every `usual`th; 0: none.
void resolve_mixers(struct config *c, struct spec *s, struct arena *a, enum mixer kind, int64_t usual);
// How many layers are listed by their kinds, where that is their number; 0: none are.
int64_t resolve_listed_layers(struct config *c);
void recurrence_sizes(const struct spec *s, json_t *sizes);                        // a family's `sizes`
void resolve_latent(struct config *c, struct spec *s);                             // before resolve_rope
void resolve_indexer(struct config *c, struct spec *s, struct arena *a);           // after resolve_latent
void resolve_window_latent(struct config *c, struct spec *s);                      // after resolve_window
void scale_latents(struct spec *s);                                                // by how much narrower they are: after that
void resolve_latent_sources(struct config *c, struct spec *s, struct arena *a);    // after resolve_nope
void resolve_compressed(struct config *c, struct spec *s, struct arena *a);        // before resolve_indexer
void resolve_compressed_layers(struct config *c, struct spec *s, struct arena *a); // after resolve_window
void resolve_compressed_rope(struct config *c, struct spec *s);                    // after resolve_rope
void resolve_block_indexer(struct config *c, struct spec *s, struct arena *a);     // after resolve_rope
void resolve_hyper(struct config *c, struct spec *s, struct arena *a);
void resolve_latent_scale(struct spec *s); // after it
// A part: the object under `key` as a model of its own (model_type `type` where it says none; the class's whole default where
// the key is absent). `roots`: what its names may begin with in the file, first the one for a new file; ends with NULL.
// `type` NULL: what the row says. It has this head, or none for NULL. NULL after an error.
struct spec *resolve_part(struct config *c, struct spec *s, struct arena *a, const char *part, const char *key, const char *type,
	const struct head *head, const char *const *roots);
// The same for classes whose part is of one type whatever model_type says there.
struct spec *resolve_part_fixed(struct config *c, struct spec *s, struct arena *a, const char *part, const char *key,
	const char *type, const struct head *head, const char *const *roots);
// Is this part of the family of the type that the row names for it? Refuses another. For a family that reads the part's `own`.
bool part_is_usual(struct config *c, const struct spec *s, const char *part);
// Refuses a part whose configuration says is_decoder, where the class sees all tokens of it whatever is said.
void resolve_part_sees_all(struct config *c, const char *key);

#endif
