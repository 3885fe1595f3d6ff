// SPDX-License-Identifier: Apache-2.0
// The classes of processors: a class is a row. What its file leaves out is `with`, the class's own defaults in transformers.
#include <string.h>

#include "base/text.h"
#include "preprocess/inside.h"

#define HALF .mean = { 0.5, 0.5, 0.5 }, .std = { 0.5, 0.5, 0.5 }
#define IMAGENET .mean = { 0.485, 0.456, 0.406 }, .std = { 0.229, 0.224, 0.225 }
#define OPENAI .mean = { 0.48145466, 0.4578275, 0.40821073 }, .std = { 0.26862954, 0.26130258, 0.27577711 }
#define NO_MEANS .std = { 1, 1, 1 }

#define BY_255 .rescale_factor = 1 / 255.0
#define SQUARE(n) \
	{ \
		.height = n, .width = n \
	}
#define SHORTEST(n) \
	{ \
		.shortest = n \
	}
#define BOTH(low, high) \
	{ \
		.shortest = low, .longest = high \
	}

#define USUAL DO_RESIZE | DO_RESCALE | DO_NORMALIZE
#define CROPPED USUAL | DO_CROP
#define PADDED USUAL | DO_PAD

// Masked and padded to the largest of a batch.
#define DETECTION \
	.ignored = DO_CROP, .rectangular = true, .max_size = 1333, .pack = pack_masked, \
	.with = { .on = PADDED, .size = BOTH(800, 1333), .resample = FILTER_BILINEAR, BY_255, IMAGENET }
#define SEGMENTATION \
	.ignored = DO_CROP, .rectangular = true, .size = size_divided, .pack = pack_masked_always, \
	.with = { .on = USUAL, .size = BOTH(800, 1333), .resample = FILTER_BILINEAR, .size_divisor = 32, BY_255, IMAGENET }
// The shortest edge, then the middle.
#define SHORTEST_CROPPED(edge, side, filter, means) \
	.rectangular = true, \
	.with = { .on = CROPPED, .size = SHORTEST(edge), .crop = SQUARE(side), .resample = filter, BY_255, means }
#define SQUEEZED(side, filter, means) \
	.size = size_usual, .with = { .on = USUAL, .size = SQUARE(side), .resample = filter, BY_255, means }

// Tiles, the whole picture behind them.
#define TILED \
	.shape = shape_split, .pack = pack_split, \
	.with = { .on = PADDED | DO_SPLIT, \
		.size = { .longest = 4 * 364 }, \
		.tile = { .longest = 364 }, \
		.resample = FILTER_LANCZOS, \
		BY_255, \
		HALF }

// By name. A class of sound has its row here too: its name without FeatureExtractor, and `whole`.
static const struct processor_class classes[] = {
	{ "Beit", .size = size_usual,
		.with = { .on = USUAL, .size = SQUARE(224), .crop = SQUARE(224), .resample = FILTER_BICUBIC, BY_255, HALF } },
	{ "Bit", .size = size_usual, SHORTEST_CROPPED(224, 224, FILTER_BICUBIC, OPENAI) },
	{ "Blip", SQUEEZED(384, FILTER_BICUBIC, OPENAI) },
	{ "CLIP", .size = size_usual, SHORTEST_CROPPED(224, 224, FILTER_BICUBIC, OPENAI) },
	{ "Chameleon", .rectangular = true, .size = size_usual,
		.with = { .on = CROPPED,
			.size = SHORTEST(512),
			.crop = SQUARE(512),
			.resample = FILTER_LANCZOS,
			.rescale_factor = 0.0078,
			.mean = { 1, 1, 1 },
			.std = { 1, 1, 1 } } },
	{ "ChineseCLIP", .size = size_usual, SHORTEST_CROPPED(224, 224, FILTER_BICUBIC, OPENAI) },
	{ "ConditionalDetr", .size = size_limited, DETECTION },
	{ "ConvNext", .rectangular = true, .shape = shape_convnext, .refused = DO_CROP,
		.with = { .on = USUAL,
			.size = SHORTEST(384),
			.resample = FILTER_BICUBIC,
			.crop_pct = 224 / 256.0,
			BY_255,
			HALF } },
	{ "DINOv3ViT", .whole = whole_dinov3,
		.with = { .on = USUAL, .size = SQUARE(224), .resample = FILTER_BILINEAR, BY_255, IMAGENET } },
	{ "DPT", .size = size_dpt, .refused = DO_PAD,
		.with = { .on = USUAL, .size = SQUARE(384), .resample = FILTER_BICUBIC, .multiple_of = 1, BY_255, HALF } },
	{ "DeformableDetr", .size = size_limited, DETECTION },
	{ "DeiT", .size = size_usual,
		.with = { .on = CROPPED, .size = SQUARE(256), .crop = SQUARE(224), .resample = FILTER_BICUBIC, BY_255, HALF } },
	{ "Detr", .size = size_limited, DETECTION },
	{ "Donut", .shape = shape_donut, .size_is_reversed = true, .refused = DO_CROP,
		.with = { .on = PADDED | DO_THUMBNAIL,
			.size = { .height = 2560, .width = 1920 },
			.resample = FILTER_BILINEAR,
			BY_255,
			HALF } },
	{ "EfficientNet", .reads = DO_OFFSET | DO_INCLUDE_TOP, .size = size_usual,
		.with = { .on = USUAL | DO_INCLUDE_TOP,
			.size = SQUARE(346),
			.crop = SQUARE(289),
			.resample = FILTER_BICUBIC,
			BY_255,
			HALF } },
	{ "GLPN", .ignored = DO_CROP, .size = size_floor,
		.with = { .on = DO_RESIZE | DO_RESCALE, .resample = FILTER_BILINEAR, .size_divisor = 32, BY_255, NO_MEANS } },
	{ "Gemma3", .ignored = DO_CROP, .size = size_usual, .shape = shape_scan, .pack = pack_scan,
		.with = { .on = USUAL, .size = SQUARE(224), .resample = FILTER_BILINEAR, BY_255, HALF } },
	{ "GroundingDino", .size = size_limited, DETECTION },
	{ "Idefics", SQUEEZED(224, FILTER_BICUBIC, OPENAI) },
	{ "Idefics3", TILED },
	{ "LayoutLMv3", .size = size_usual, .refused = DO_OCR,
		.with = { .on = USUAL | DO_OCR, .size = SQUARE(224), .resample = FILTER_BILINEAR, BY_255, HALF } },
	{ "Levit", .size = size_levit, SHORTEST_CROPPED(224, 224, FILTER_BICUBIC, IMAGENET) },
	{ "LlavaNext", .rectangular = true, .size = size_usual, .shape = shape_pinpoints, .pack = pack_pinpoints,
		.with = { .on = CROPPED | DO_PAD,
			.size = SHORTEST(224),
			.crop = SQUARE(224),
			.resample = FILTER_BICUBIC,
			BY_255,
			OPENAI,
			.pinpoints = { { 336, 672 }, { 672, 336 }, { 672, 672 }, { 1008, 336 }, { 336, 1008 } },
			.pinpoint_count = 5 } },
	{ "Mask2Former", SEGMENTATION },
	{ "MaskFormer", SEGMENTATION },
	{ "MobileNetV1", .size = size_usual, SHORTEST_CROPPED(256, 224, FILTER_BILINEAR, HALF) },
	{ "MobileNetV2", .size = size_usual, SHORTEST_CROPPED(256, 224, FILTER_BILINEAR, HALF) },
	{ "MobileViT", .reads = DO_FLIP, .rectangular = true, .size = size_usual, .refused = DO_NORMALIZE,
		.with = { .on = DO_RESIZE | DO_CROP | DO_RESCALE | DO_FLIP,
			.size = SHORTEST(224),
			.crop = SQUARE(256),
			.resample = FILTER_BICUBIC,
			BY_255,
			NO_MEANS } },
	{ "OwlViT", .size = size_usual,
		.with = { .on = USUAL, .size = SQUARE(768), .crop = SQUARE(768), .resample = FILTER_BICUBIC, BY_255, OPENAI } },
	{ "Owlv2", .whole = whole_owlv2,
		.with = { .on = PADDED, .size = SQUARE(960), .resample = FILTER_BILINEAR, BY_255, OPENAI } },
	{ "Pix2Struct", .whole = whole_pix2struct, .refused = DO_VQA,
		.with = { .on = DO_NORMALIZE, .patch = SQUARE(16), .patches_most = 2048, BY_255, NO_MEANS } },
	{ "Pixtral", .size = size_pixtral, .pack = pack_pixtral,
		.with = { .on = PADDED,
			.size = { .longest = 1024 },
			.patch = SQUARE(16),
			.resample = FILTER_BICUBIC,
			BY_255,
			OPENAI } },
	{ "Pvt", SQUEEZED(224, FILTER_BICUBIC, IMAGENET) },
	{ "Qwen2VL", .rectangular = true, .size = size_pixels, .pack = pack_grid,
		.with = { .on = USUAL,
			.size = BOTH(56 * 56, 28 * 28 * 1280),
			.patch = SQUARE(14),
			.temporal = 2,
			.merge = 2,
			.resample = FILTER_BICUBIC,
			BY_255,
			OPENAI } },
	{ "RTDetr", .ignored = DO_CROP, .rectangular = true, .size = size_limited, .pack = pack_masked,
		.with = { .on = DO_RESIZE | DO_RESCALE, .size = SQUARE(640), .resample = FILTER_BILINEAR, BY_255, IMAGENET } },
	{ "Sam", .size = size_longest, .pack = pack_sam,
		.with = { .on = PADDED,
			.size = { .longest = 1024 },
			.pad = SQUARE(1024),
			.resample = FILTER_BILINEAR,
			BY_255,
			IMAGENET } },
	{ "Segformer", .ignored = DO_CROP, SQUEEZED(512, FILTER_BILINEAR, IMAGENET) },
	{ "Siglip", .rectangular = true, SQUEEZED(224, FILTER_BICUBIC, HALF) },
	{ "Siglip2", .ignored = DO_CROP, .size = size_patches, .pack = pack_patches,
		.with = { .on = USUAL, .patch = SQUARE(16), .patches_most = 256, .resample = FILTER_BILINEAR, BY_255, HALF } },
	{ "SmolVLM", TILED },
	{ "Swin2SR", .shape = shape_symmetric, .pad_size_is_divisor = true, .refused = DO_NORMALIZE,
		.with = { .on = DO_RESCALE | DO_PAD, .size_divisor = 8, BY_255, NO_MEANS } },
	{ "ViT", SQUEEZED(224, FILTER_BILINEAR, HALF) },
	{ "VideoMAE", .size = size_usual, SHORTEST_CROPPED(224, 224, FILTER_BILINEAR, HALF), .pack = pack_video },
	{ "Vilt", .ignored = DO_CROP, .rectangular = true, .size = size_vilt, .pack = pack_masked,
		.with = { .on = PADDED, .size = SHORTEST(384), .size_divisor = 32, .resample = FILTER_BICUBIC, BY_255, HALF } },
	{ "Yolos", .size = size_yolos, DETECTION },
};

// timm's transform for evaluation, on Pillow's pictures: Resize, CenterCrop, ToTensor, Normalize.
static const struct processor_class timm = { "timm", .size = size_usual,
	.with = { .on = CROPPED, .crop_pct = 0.875, BY_255, IMAGENET, .not_fused = true, .crop_half_even = true } };

const struct processor_class *processor_class_timm(void)
{
	return &timm;
}

const struct processor_class *processor_class_at(size_t i)
{
	return i < sizeof classes / sizeof *classes ? &classes[i] : NULL;
}

const struct processor_class *processor_class_find(const char *name)
{
	static const char *const endings[] = { "", "ImageProcessor", "ImageProcessorFast", "ImageProcessorPil",
		"FeatureExtractor" };

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		size_t length = strlen(classes[i].name);
		for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
			if (strncmp(name, classes[i].name, length) == 0 && text_is(name + length, endings[k]))
				return &classes[i];
	}
	return NULL;
}
