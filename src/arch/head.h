// SPDX-License-Identifier: Apache-2.0
// Heads: what a class makes of a body's results. The suffix of architectures[0] says which head; what the rest of the program
// asks of a head is a member here, never its name. A head has a usual way of building; a family lists the heads that it has, with
// another way of building where it has one, and what its resolve or body depends on.
#ifndef ASSAY_ARCH_HEAD_H
#define ASSAY_ARCH_HEAD_H

#include <stdbool.h>

#include "onnx/graph.h"

struct build;
struct body;
struct config;
struct spec;

struct head {
	const char *name; // for people, and for rows in the database
	// From what the body gave to outputs, where the family has no way of its own.
	void (*build)(struct build *b, const struct body *io);
	const char *
		other_prefix; // besides the dialect's, what names of the base model may begin with in such a class; NULL: nothing
	bool bare;            // the model's own results: there are no weights of a head
	bool generates;       // of an encoder-decoder: may be run one token after another
	bool predicts_next;   // logits at a place are about the token after it: a decoder has a cache
	bool gives_states;    // the results are states on the way, not what stands after the last
	bool reads_memory;    // of a decoder that is a part: its layers look at body.memory too
	bool choices;         // reads several texts a row
};
extern const struct head head_audio, head_audio_frames, head_augmented_lm, head_backbone, head_backbone_classed, head_causal_lm,
	head_cells, head_conditional, head_ctc, head_depth, head_embedding, head_encoder, head_forecast, head_grounding,
	head_image, head_image_teacher, head_images_text, head_keypoints, head_masked_image, head_masked_lm, head_matches,
	head_matting, head_memory_lm, head_model, head_multiple_choice, head_next_sentence, head_objects, head_pose,
	head_pretraining, head_projection, head_reader, head_regression, head_retrieval, head_scene_text, head_segmentation,
	head_segments, head_sequence, head_series, head_span, head_super_resolution, head_table, head_token, head_transducer,
	head_video, head_speech, head_vocoder, head_x_vector, head_text_to_text;

// What a class's name ends with; the first row that fits counts.
struct head_class {
	const char *suffix;
	const struct head *head;
};
extern const struct head_class head_classes[]; // ends with NULL

// A head that a family has, and how it builds it; a model with another head is refused (head_refused).
struct family_head {
	const struct head *head;
	void (*build)(struct build *b, const struct body *io); // NULL: in the usual way
	unsigned how;                                          // the family's own flags, for its resolve and body
};

const struct family_head *head_row(const struct spec *s); // the family's row for this model's head; NULL: there is none
unsigned head_how(const struct spec *s);                  // its flags; 0 for a part without a head
bool head_reads_memory(const struct spec *s);             // false for a part without a head
// Refuses a head that the family, or this type of it, does not have.
void head_refused(struct config *c, const struct spec *s);

// Builds the model's head. io->last and what else the head reads are there.
void head_build(struct build *b, const struct body *io);
void head_unsupported(struct build *b);

// Ways of building that families share.
void head_give_states(struct build *b, const struct body *io); // last_hidden_state; pooler_output where the body pools
void head_give_last(struct build *b, const struct body *io);   // last_hidden_state only
void head_give_pooled(struct build *b, const struct body *io); // the same two, pooled by a dense layer over the first token
void head_lm(struct build *b, const struct body *io);          // a masked language model's
// The bias of its output, [vocab]. Of one beside the output and the output's own, which the class ties, it adds the output's
// own; many files have the other alone.
graph_value head_lm_bias(struct build *b);
void head_score_last(struct build *b, const struct body *io);      // classes by the last token that is not padding
void head_classify_pooled(struct build *b, const struct body *io); // "head.image" over io->pooled
// Classes by two heads, the second taught by another model: both and their mean.
void head_give_taught(struct build *b, graph_value own, graph_value taught);

// head_image.c: of models whose states are maps [batch, channels, height, width].
void map_features(struct build *b, const struct body *io);
void map_states(struct build *b, const struct body *io);
void map_classify(struct build *b, const struct body *io);
extern const struct family_head map_heads[]; // all three
extern const struct family_head vit_heads[]; // head_vit.c

#endif
