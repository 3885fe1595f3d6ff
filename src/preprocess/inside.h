// SPDX-License-Identifier: Apache-2.0
// Between the files of this folder: a processor's settings, a row of the table of classes, and a job, which goes
//     pictures  --shape-->  pictures of the sizes that the model takes, one or several of each  --pack-->  tensors
#ifndef ASSAY_PREPROCESS_INSIDE_H
#define ASSAY_PREPROCESS_INSIDE_H

#include <stdbool.h>

#include <jansson.h>

#include "preprocess/preprocess.h"
#include "preprocess/resample.h"

// ---- settings -------------------------------------------------------------------------------------------------------------

// The switches of preprocessor_config.json, and their names there.
#define SWITCH_LIST(X) \
	X(RESIZE, "do_resize") \
	X(CROP, "do_center_crop") \
	X(RESCALE, "do_rescale") \
	X(NORMALIZE, "do_normalize") \
	X(PAD, "do_pad") \
	X(FLIP, "do_flip_channel_order") \
	X(THUMBNAIL, "do_thumbnail") \
	X(ALIGN, "do_align_long_axis") \
	X(SPLIT, "do_image_splitting") \
	X(SCAN, "do_pan_and_scan") \
	X(KEEP_ASPECT, "keep_aspect_ratio") \
	X(OFFSET, "rescale_offset") \
	X(INCLUDE_TOP, "include_top") \
	X(OCR, "apply_ocr") \
	X(VQA, "is_vqa")
enum {
#define X(name, key) SWITCH_##name,
	SWITCH_LIST(X)
#undef X
		SWITCH_COUNT
};
enum {
#define X(name, key) DO_##name = 1 << SWITCH_##name,
	SWITCH_LIST(X)
#undef X
};

struct edges { // 0: not given
	int height, width, shortest, longest, max_height, max_width;
};

enum { PINPOINTS_MOST = 256 };

struct settings {
	unsigned on;                               // DO_*
	struct edges size, crop, pad, tile, patch; // tile: "max_image_size"
	enum filter resample;
	double rescale_factor, mean[3], std[3], crop_pct;
	int size_divisor, multiple_of, temporal, merge, patches_most;
	int scan_side_least, scan_crops_most; // pan and scan
	double scan_ratio_least;
	int pinpoints[PINPOINTS_MOST][2], pinpoint_count; // height, width
	bool not_fused;      // x / 255, then (x - mean) / std, each rounded; else one step with mean and std of 0 .. 255
	bool crop_half_even; // the left edge of a crop is rounded half to even, as torchvision's CenterCrop does; else down
};

// `o` over the row's defaults. Keys that are absent or null leave them. BAD_INPUT: a value that is none, named by its key.
struct processor_class;
enum status settings_read(struct settings *out, const json_t *o, const struct processor_class *row, struct error *err);
// timm's pretrained_cfg.
enum status settings_read_timm(struct settings *out, const json_t *pretrained, struct error *err);

// ---- the table ------------------------------------------------------------------------------------------------------------

struct job;
struct group { // what became of one picture
	struct picture *pictures;
	size_t count, room;
	int height, width; // of the picture as it was given, in RGB
	struct picture_tiles tiles;
};
struct extent {
	int64_t height, width;
};

// A class of transformers without its ending (ImageProcessor, ImageProcessorFast, ImageProcessorPil, FeatureExtractor).
struct processor_class {
	const char *name;
	// The size that a picture of h x w is resized to; NULL: it is not.
	enum status (*size)(struct extent *out, const struct settings *s, int h, int w, struct error *err);
	enum status (*shape)(struct job *j, const struct picture *in, struct group *out, struct error *err); // NULL: shape_plain
	enum status (*pack)(struct job *j, struct error *err);                                               // NULL: pack_stack
	enum status (*whole)(struct job *j, struct error *err); // instead of all three: what is not done on 8 bits
	bool rectangular;                                       // "size": 224 is the shortest edge, else height and width
	bool size_is_reversed;                                  // "size": [w, h]
	bool pad_size_is_divisor;                               // an older name of size_divisor
	int max_size;                                           // the longest edge that goes with "size": 800; 0: none
	unsigned refused;                                       // DO_* that are not done here
	unsigned ignored;                                       // DO_* that the class does not look at
	unsigned reads;                                         // of DO_FLIP, DO_OFFSET and DO_INCLUDE_TOP those that it looks at
	struct settings with;
};

const struct processor_class *processor_class_find(const char *name); // with or without its ending; NULL: unknown
const struct processor_class *processor_class_timm(void);
const struct processor_class *processor_class_at(size_t i); // NULL after the last

// ---- a job ----------------------------------------------------------------------------------------------------------------

struct job {
	const struct processor_class *row;
	const struct settings *s;
	enum library library;
	struct arena *a;          // what is given back
	struct arena *keep;       // pictures of the groups
	struct arena *work;       // of one picture on its way; emptied behind each
	const struct picture *in; // [in_count], RGB
	size_t in_count;
	struct group *groups; // [in_count]
	float level[3][256];  // a sample of a channel as the model takes it
	struct preprocessed *out;
	uint64_t out_nbytes, most;
	uint64_t kept, worked; // pixels of the groups' pictures; of those made on the way of the picture that is at hand
};

// Of a picture that was made of the one at hand: BAD_INPUT above 2^28 pixels with those before.
enum status job_pixels(struct job *j, int64_t height, int64_t width, struct error *err);

// A tensor of zeros more in j->out. BAD_INPUT: more than j->most bytes with those before.
enum status job_tensor(
	struct tensor **out, struct job *j, const char *name, enum dtype dtype, int rank, const int64_t *dim, struct error *err);
// A copy of `p`. BAD_INPUT where those of all groups would take more than j->most as float32.
enum status group_add(struct group *g, struct job *j, const struct picture *p, struct error *err);
// The samples of a picture as float32 from `out` on, with the distances given: [channel, row, column].
void job_write(const struct job *j, const struct picture *p, float *out, size_t plane, size_t row, size_t column);

// sizes.c: row.size
enum status size_usual(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_limited(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_levit(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_divided(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_yolos(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_vilt(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_floor(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_longest(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_dpt(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_pixtral(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_pixels(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_patches(struct extent *out, const struct settings *s, int h, int w, struct error *err);
enum status size_idefics3(struct extent *out, const struct settings *s, int h, int w, struct error *err);

// shape.c: row.shape
enum status shape_plain(struct job *j, const struct picture *in, struct group *out, struct error *err);
enum status shape_convnext(struct job *j, const struct picture *in, struct group *out, struct error *err);
enum status shape_donut(struct job *j, const struct picture *in, struct group *out, struct error *err);
enum status shape_symmetric(struct job *j, const struct picture *in, struct group *out, struct error *err);
// tiles.c
enum status shape_pinpoints(struct job *j, const struct picture *in, struct group *out, struct error *err);
enum status shape_split(struct job *j, const struct picture *in, struct group *out, struct error *err);
enum status shape_scan(struct job *j, const struct picture *in, struct group *out, struct error *err);
// Resized by the settings' filter and the job's library; picture_crop. In j->work, counted by job_pixels.
enum status job_resize(
	struct picture *out, struct job *j, const struct picture *in, int64_t height, int64_t width, struct error *err);
enum status job_crop(struct picture *out, struct job *j, const struct picture *in, int left, int top, int width, int height,
	struct error *err);

// pack.c: row.pack
enum status pack_stack(struct job *j, struct error *err);
enum status pack_masked(struct job *j, struct error *err);
enum status pack_masked_always(struct job *j, struct error *err);
enum status pack_sam(struct job *j, struct error *err);
enum status pack_pixtral(struct job *j, struct error *err);
enum status pack_video(struct job *j, struct error *err);
enum status pack_pinpoints(struct job *j, struct error *err);
enum status pack_split(struct job *j, struct error *err);
enum status pack_scan(struct job *j, struct error *err);
// patches.c
enum status pack_grid(struct job *j, struct error *err);
enum status pack_patches(struct job *j, struct error *err);

// floats.c: row.whole
enum status whole_dinov3(struct job *j, struct error *err);
enum status whole_owlv2(struct job *j, struct error *err);
enum status whole_pix2struct(struct job *j, struct error *err);

#endif
