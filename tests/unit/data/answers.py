#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures that test_answers.c holds src/pipeline to: what transformers' own processors make of a model's outputs.

    python3 tests/unit/data/answers.py > tests/unit/data/answers.json

Outputs are streams by formula (tests/conform/README.md), times a scale; masks are strings of hexadecimal digits, row by row.
"""
import json
import types

import numpy as np
import torch
from transformers import (ConditionalDetrImageProcessor, DetrImageProcessor, DPTImageProcessor, Mask2FormerImageProcessor,
                          MaskFormerImageProcessor, OwlViTImageProcessor, SamImageProcessor, SegformerImageProcessor)

HEIGHT, WIDTH = 23, 37
MASK = (1 << 64) - 1


def stream(name, scale, *shape):
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 & MASK
    out = np.empty(int(np.prod(shape)), np.float64)
    for i in range(out.size):
        z = seed + (i + 1) * 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        out[i] = ((z ^ z >> 31) >> 40) * 2.0**-23 - 1
    return torch.tensor((out * scale).astype(np.float32).reshape(shape))


def boxes(processor, name, **options):
    outputs = types.SimpleNamespace(logits=stream("logits", 4, 1, 9, 5), pred_boxes=stream("boxes", 0.5, 1, 9, 4) + 0.5)
    found = processor.post_process_object_detection(outputs, target_sizes=[(HEIGHT, WIDTH)], **options)[0]
    return {"rule": name, "scores": found["scores"].tolist(), "labels": found["labels"].tolist(), "boxes": found["boxes"].tolist()}


def hexadecimal(mask):
    return np.packbits(np.asarray(mask).astype(np.uint8).reshape(-1)).tobytes().hex()


def segments(result):
    return [{"label": s["label_id"], "score": s["score"], "mask": hexadecimal(result["segmentation"] == s["id"])}
            for s in result["segments_info"]]


def labels(result):
    return [{"label": int(i), "score": None, "mask": hexadecimal(result == i)} for i in np.unique(result)]


def of_queries(processor, threshold, mask_threshold, overlap):
    outputs = types.SimpleNamespace(class_queries_logits=stream("classes", 3, 1, 6, 5), masks_queries_logits=stream("masks", 5, 1, 6, 7, 9))
    size, asked = [(HEIGHT, WIDTH)], {"threshold": threshold, "mask_threshold": mask_threshold, "overlap_mask_area_threshold": overlap}
    # What the library leaves unsorted is sorted here, as its own selection does where there are 64 labels or more.
    topk, torch.Tensor.topk = torch.Tensor.topk, lambda self, k, sorted=True: topk(self, k)
    instances = processor.post_process_instance_segmentation(outputs, target_sizes=size, **asked)[0]
    torch.Tensor.topk = topk
    return {"semantic": labels(processor.post_process_semantic_segmentation(outputs, target_sizes=size)[0]),
            "panoptic": segments(processor.post_process_panoptic_segmentation(outputs, target_sizes=size, **asked)[0]),
            "instance": segments(instances)}


def depth():
    map = types.SimpleNamespace(predicted_depth=stream("depth", 2, 1, 8, 11))
    found = [DPTImageProcessor().post_process_depth_estimation(map, [size])[0]["predicted_depth"] for size in [(HEIGHT, WIDTH), (5, 4)]]
    grey = ((found[0] - found[0].min()) / (found[0].max() - found[0].min())).numpy()
    return {"enlarged": found[0].flatten().tolist(), "shrunk": found[1].flatten().tolist(), "grey": (grey * 255).astype("uint8").flatten().tolist()}


semantic = types.SimpleNamespace(logits=stream("map", 3, 1, 4, 6, 8))
sam = SamImageProcessor().post_process_masks(stream("sam", 3, 1, 1, 2, 16, 16), [(HEIGHT, WIDTH)], [(40, 64)],
                                             pad_size={"height": 64, "width": 64})[0]
print(json.dumps({
    "height": HEIGHT, "width": WIDTH,
    "boxes": [boxes(DetrImageProcessor(), "no object", threshold=0.6), boxes(ConditionalDetrImageProcessor(), "pairs", threshold=0.6, top_k=12),
              boxes(OwlViTImageProcessor(), "queries", threshold=0.8)],
    "labels": labels(SegformerImageProcessor().post_process_semantic_segmentation(semantic, target_sizes=[(HEIGHT, WIDTH)])[0]),
    "mask2former": of_queries(Mask2FormerImageProcessor(), 0.3, 0.4, 0.3),
    "maskformer": of_queries(MaskFormerImageProcessor(), 0.3, 0.4, 0.3),
    "depth": depth(),
    "unpadded": [hexadecimal(mask) for mask in sam[0]],
}))
