// SPDX-License-Identifier: Apache-2.0
// What the tasks of pictures and sounds share: files to a model's inputs, by its own processor. Private to pipeline/.
#ifndef ASSAY_PIPELINE_PICTURES_H
#define ASSAY_PIPELINE_PICTURES_H

#include "pipeline/inside.h"
#include "preprocess/picture.h"
#include "preprocess/preprocess.h"
#include "preprocess/resample.h"
#include "preprocess/sound.h"

enum { CALL_TENSORS_MOST = 16 };

// Inputs of one run; [CALL_TENSORS_MOST] is room for a processor's and a text's.
struct inputs {
	struct tensor items[CALL_TENSORS_MOST];
	size_t count;
	const struct picture_tiles *tiles; // of the pictures in it (struct preprocessed); NULL
};
void inputs_add(struct inputs *in, const struct tensor *more, size_t count); // beyond the room they are left out

// The processor's tensors of `count` pictures, added to `in`. *class_name: the processor's, "Detr"; it may be NULL.
enum status pictures_inputs(struct call *c, struct part *m, const struct picture *pictures, size_t count, struct inputs *in,
	const char **class_name, struct error *err);
// The picture of the input's member "image", and its tensors.
enum status image_inputs(
	struct call *c, struct part *m, struct picture *image, struct inputs *in, const char **class_name, struct error *err);
enum status open_picture(const struct call *c, const char *file, struct picture *out, struct error *err); // of the input's folder
// Of a member of the input that names several files.
enum status call_pictures(const struct call *c, const char *key, struct picture **out, size_t *count, struct error *err);

// The sound in the file of the input's member "audio", as the model's feature extractor wants it; *settings are the extractor's,
// and die with the answer.
enum status call_sound(struct call *c, struct part *m, struct sound *out, const json_t **settings, struct error *err);
enum status sound_inputs(struct call *c, const json_t *settings, const struct sound *sound, struct inputs *in, struct error *err);

// The whole model over these inputs.
struct outputs {
	struct tensor *items;
	size_t count;
};
enum status whole_run(struct call *c, struct part *m, const struct inputs *in, struct outputs *out, struct error *err);
// An output of float32, of this rank (0: any), whose first dimension is 1, without an empty one; *out is never NULL then.
// UNSUPPORTED: there is none; FAILED: it holds what is no number.
enum status output_of(const struct outputs *given, const char *name, int rank, const struct tensor **out, struct error *err);
// Several texts at once, padded to the longest, or to `length` tokens (and cut to them) where it is not 0: input_ids and
// attention_mask [texts, tokens], added to `in`; token_type_ids are left out. The mask is all ones where the tokenizer does
// not give one (model_input_names).
enum status texts_inputs(struct call *c, struct part *m, const char *const *texts, size_t count, size_t length, struct inputs *in,
	struct error *err);
// The template with each label in place of the first "{}"; BAD_INPUT: it has none.
enum status labels_in_template(struct call *c, const char *const *labels, size_t count, const char *otherwise,
	const char *const **out, struct error *err);

#endif
