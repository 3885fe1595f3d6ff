// SPDX-License-Identifier: Apache-2.0
// What the rest of the program needs of model architectures: recognise a configuration, print what was understood, list
// the weights it wants, build its graph. spec.h holds the inside.
#ifndef ASSAY_ARCH_ARCH_H
#define ASSAY_ARCH_ARCH_H

#include <jansson.h>

#include "checkpoint/checkpoint.h"
#include "onnx/graph.h"

struct spec;

// A model is one graph or several. Every model has arch_whole, one forward pass of all of it, which is what `run` and `conform`
// build. A family declares the others beside what builds them (block/seq2seq.h, family/vlm.h); names and inputs are those of
// optimum-onnx and transformers.js.
struct arch_graph {
	const char *file; // "encoder_model.onnx"
	// What the loop of an encoder-decoder's generation runs it for: once for the source, once for the first tokens, then for
	// each further one, which goes on after a past. STEP_TRANSDUCE: a transducer's own loop, for each token, from the states
	// that the one before it gave. STEP_ALONE: a decoder by itself without anything to look at, for all tokens so far.
	enum arch_step { STEP_NONE, STEP_ENCODE, STEP_FIRST, STEP_NEXT, STEP_TRANSDUCE, STEP_ALONE } step;
	bool (*there)(const struct spec *s); // NULL: in every model of the family
	bool by_name;                        // `assay build` writes it only where it is named: few have a use for it
};
extern const struct arch_graph arch_whole; // model.onnx; causal models: past_key_values.* and present.*
const struct arch_graph *arch_graph_at(const struct spec *s, size_t i); // 0: arch_whole; NULL after the last that is there
const struct arch_graph *arch_graph_of(const struct spec *s, enum arch_step step); // NULL: there is none
// The graphs that its generation runs, in the order of their steps: one for the source and those of the decoder; or one alone,
// the whole model's unless a decoder by itself has one without a source.
enum { ARCH_STEPS_MOST = 3 };
size_t arch_graphs_of_loop(const struct spec *s, const struct arch_graph *out[ARCH_STEPS_MOST]);

// Why this model's cache cannot have the form CACHE_SHARED, a sentence; NULL: it can. Built with that form it is plain then.
const char *arch_unshared(const struct spec *s);

// Merges family defaults <- table row <- config.json <- which tensors exist. The spec lives in `a`.
// UNSUPPORTED names what is missing (type, head, activation, config key, an unread weight).
enum status arch_resolve(struct spec **out, struct arena *a, const struct checkpoint *c, struct error *err);
// Of a configuration whose type has no row: the type whose configuration is most like it, and what is not that type's.
struct arch_likeness {
	const char *type, *family; // NULL: it has no telling key in common with any type
	size_t keys, shared;       // of config.json, but those that no graph depends on; how many of them the type has, too
	const char *unknown;       // the keys that it has not, "a, b, c and 3 more"; NULL: none
	const char *parts;         // its parts that name a type: "text_config: llama, supported; ..."; NULL: none
	// Kinds of tensors, a number in a name being any number. Zero, where there are no weights here.
	size_t kinds, kinds_shared;
	const char *kinds_unknown; // those that the type has not; NULL: none
	const char *kinds_missing; // those that the type wants and the files lack; NULL: none
};
// Texts are in `a` and printable. Takes some milliseconds.
void arch_resemble(struct arch_likeness *out, struct arena *a, const struct checkpoint *c);
// The form without choices that this model has no use for: one without experts is built in no form of them.
void arch_settle_form(const struct spec *s, struct graph_form *form);
// Cuts the model to its first `layers` layers; false when it has fewer, or goes through them in cycles (HRM).
bool arch_shorten(struct spec *s, int64_t layers);
int64_t arch_layers(const struct spec *s);               // how many it has, of those that arch_shorten counts
int64_t arch_shortened_to(const struct spec *s);         // how many layers, where the configuration says more; 0: all
void arch_print(const struct spec *s, struct text *out); // "key: value" lines
json_t *arch_json(const struct spec *s);                 // the same as an object: type, family, dialect, head, traits, sizes

const char *arch_model_type(const struct spec *s); // "bert"
const char *arch_architecture(
	const struct spec *s); // its row of the compatibility matrix: "encoder-only", "vision", "decoder-only"
const char *arch_family(const struct spec *s);
const char *arch_head(const struct spec *s); // "masked-lm", ..., "model"

// A transducer's loop: src/cell/transduce.c.
struct transduction {
	int64_t blank, vocab_size; // logits: of the tokens, then of the durations
	int64_t durations;         // how many; 0: it gives none, and one frame is gone on by
	int64_t symbols_most;      // tokens at one frame, without durations
};

// What synthetic inputs must respect. Zero means that it does not apply, unless said otherwise.
struct input_hints {
	int64_t vocab_size, pad_token_id, type_vocab_size; // 0, -1, 0 where they do not apply
	int64_t max_sequence;                              // 0: no limit
	int64_t max_image;                                 // height and width of images or latents at most; 0: no limit
	const char *max_image_why;                         // the configuration's keys that say so
	// Rows of input_ids hold this token this often, after the first one: an image's features take its place.
	// -1: a mask says so.
	int64_t image_token_id, image_tokens;
	// Rows of input_ids end with this token and have it nowhere else: what pools there finds it.
	bool ends_with_eos;
	int64_t eos_token_id;
	// From this many tokens on, a cache that fewer made is of no use: the rotary frequencies are others (longrope). 0: never.
	int64_t cache_ends;
	bool predicts_next;    // logits at a place are about the token after it: a causal language model
	int64_t image_size[2]; // height and width that image_sizes tells
	int64_t image_grid[3]; // time, height and width that image_grid_thw or img_shapes tells
	int64_t place_unit[3]; // of video_coords: what a frame, a row and a column are counted in; 0: it has none
	const struct transduction *transduction; // of the loop of STEP_TRANSDUCE; NULL: there is none
	// Of a graph that assay did not build: how many rows the table has that an input indexes; 0: not found. In the order of
	// its inputs.
	const struct input_table {
		const char *name;
		int64_t rows;
	} * tables;
	size_t table_count;
	// Numbers for the family's own symbols in the shapes of inputs: {"frames", 8}, {"samples", 16000}.
	struct input_symbol {
		const char *name;
		int64_t number;
		bool each; // of each text
	} symbols[8];
};
// Does it look at images, and does it read tokens? What a size of images or a length of sequences means something to.
bool arch_takes_images(const struct spec *s);
bool arch_takes_tokens(const struct spec *s);
void arch_input_hints(const struct spec *s, struct input_hints *out);

// The weights of a checkpoint that is only a configuration: names, shapes, dtype `t`, sorted by name, in `a`.
enum status arch_plan_weights(
	const struct spec *s, struct arena *a, enum dtype t, struct weight **out, size_t *count, struct error *err);

// Of a mixture of experts: how many a layer has, and how many of them a token is given to.
struct arch_experts {
	int64_t experts, chosen;
};
// Is this tensor one of such experts' own weights, in a stack of all or by itself? Not a shared expert's, nor the router's; nor
// of a model some of whose experts have no weights, where how many with weights a token chooses is the token's matter.
bool arch_expert_weight(const struct spec *s, const char *name, struct arch_experts *out);

// Builds `which` into g and finishes it; every weight is external data in the checkpoint's shards. After arch_whole,
// unread weights that no dialect lists as ignorable are an error. A graph that does not fit together is a gap of
// the builder's, and UNSUPPORTED.
enum status arch_build(
	const struct spec *given, const struct checkpoint *c, const struct arch_graph *which, struct graph *g, struct error *err);

size_t arch_type_count(void);
const char *arch_type_name(size_t i); // sorted
const char *arch_type_family(size_t i);
const char *arch_type_dialect(size_t i);
const char *arch_type_architecture(size_t i);        // likewise
const char *arch_class_head(const char *class_name); // "masked-lm"; NULL for a class whose head is not known

#endif
