// SPDX-License-Identifier: Apache-2.0
// The inputs of a vision model from pictures, as the model's own processor in transformers makes them: by the class and the
// settings of preprocessor_config.json (old spellings too), else of "image_processor" in processor_config.json, else timm's
// pretrained_cfg in config.json. A class is a row of table.c.
#ifndef ASSAY_PREPROCESS_PREPROCESS_H
#define ASSAY_PREPROCESS_PREPROCESS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor.h"
#include "preprocess/picture.h"

// Which of a class's two implementations: transformers 5 takes torchvision's by default; Pillow's is that of the slow processors
// of transformers 4. They differ by a level of 255 here and there. timm has Pillow's alone, and it is taken for either.
enum preprocess_backend { PREPROCESS_TORCHVISION, PREPROCESS_PIL };

enum { PREPROCESS_TENSORS = 4 };
#define PREPROCESS_MOST ((uint64_t)4 << 30) // bytes of all tensors

// Into how many rows and columns of tiles a picture was cut, the whole picture as one more not among them; 0, 0: it was not.
struct picture_tiles {
	int rows, columns;
};
struct preprocessed { // tensors in the arena that was given
	struct tensor tensors[PREPROCESS_TENSORS];
	size_t count;
	const struct picture_tiles *tiles; // of each picture, by a class that cuts them so (Idefics3); NULL
};

struct preprocessor;
// The settings of a model's folder, in `a`. BAD_INPUT: there are none, or they are damaged; UNSUPPORTED: the class is not known
// here, or asks for what is not done here; the sentence has its name.
enum status preprocessor_open(struct preprocessor **out, struct arena *a, const char *folder, struct error *err);
// The same of the text of preprocessor_config.json; `name` is used in errors.
enum status preprocessor_parse(
	struct preprocessor **out, struct arena *a, const char *name, const char *text, size_t nbytes, struct error *err);
// Are classes of a mask one less than its pixels, and 0 none (do_reduce_labels; an older file calls it reduce_labels)? False
// where there are no settings.
enum status preprocessor_reduces_labels(bool *out, const char *folder, struct error *err);
// Less than PREPROCESS_MOST for all tensors of a run.
void preprocessor_bound(struct preprocessor *p, uint64_t nbytes);
// The class in the settings, without its ending: "ViT".
const char *preprocessor_class(const struct preprocessor *p);

// The tensors of a batch of `count` >= 1 pictures (of a video model: the frames of one video), in the order of the processor's
// output. Grey becomes RGB, RGBA is laid over white. pixel_values is float32; masks, sizes and grids are int64, but pix2struct's
// mask, which is float32. BAD_INPUT: sizes that do not go together, or beyond the bounds.
enum status preprocessor_run(const struct preprocessor *p, enum preprocess_backend backend, const struct picture *pictures,
	size_t count, struct arena *a, struct preprocessed *out, struct error *err);

#endif
