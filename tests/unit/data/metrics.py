#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures that test_metrics.c holds src/stats to: what jiwer 4.0.0, pycocotools 2.0.11 and scikit-learn make of the same.

    python3 tests/unit/data/metrics.py > tests/unit/data/metrics.json

words   pairs of texts, the errors and words that jiwer counts, and its rate of all pairs
boxes   sets of pictures, each a list of rows [kind, label, score, left, top, width, height] (struct detection), and COCOeval's
        AP@[.50:.95] and AP@.50
masks   sets of pictures, each [classes as labelled, classes as answered], 255: ignored; scikit-learn's jaccard_score over all
        pixels that count, macro over the classes that occur, which is the definition of evaluate's mean_iou
"""
import contextlib
import io
import json
import random

import jiwer
import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn.metrics import jaccard_score

random.seed(7)


def words():
    vocabulary = ["der", "Hund", "läuft", "über", "the", "dog", "runs", "runs,", "日本", "a"]
    spaces = [" ", "  ", " \t", "\t", "\u00a0", "\u2003\u3000", "\n\n", "\u200b"]
    pairs = [["", "one word"], ["one word", "one word"], ["a b c d", "a x c"], ["a\tb", "a b"], ["  lead and trail \n", "lead and trail"],
             ["a\u00a0b", "a b"], ["A b", "a b"], ["kitten sitting", "sitting kitten"]]
    for _ in range(60):
        text = [random.choice(vocabulary) for _ in range(random.randrange(1, 14))]
        other = [w for w in text if random.random() > 0.2]
        other.insert(random.randrange(len(other) + 1), random.choice(vocabulary))
        pairs.append(["".join(w + random.choice(spaces[:1] * 6 + spaces) for w in x) for x in (other, text)])
    each = [jiwer.process_words(wanted, said) for said, wanted in pairs]
    return {"pairs": [p + [o.substitutions + o.deletions + o.insertions, o.substitutions + o.deletions + o.hits] for p, o in zip(pairs, each)],
            "rate": jiwer.wer([w for _, w in pairs], [s for s, _ in pairs])}


def picture(truths, classes, noise, more):
    rows = []
    for _ in range(truths):
        box = [random.randrange(80), random.randrange(80), random.randrange(4, 40), random.randrange(4, 40)]
        label = random.randrange(classes)
        rows.append([2 if random.random() < 0.1 else 1, label, 0.0] + [float(x) for x in box])
        for _ in range(random.choice([0, 1, 1, 2])):
            near = [x + round(random.uniform(-noise, noise), 2) for x in box[:2]] + [max(1, x + round(random.uniform(-noise, noise), 2)) for x in box[2:]]
            rows.append([0, label if random.random() < 0.85 else random.randrange(classes), round(random.random(), 2)] + near)
    rows += [[0, random.randrange(classes), round(random.random(), 2), random.randrange(80), random.randrange(80), 9.5, 7.25] for _ in range(more)]
    return rows


def coco(pictures):
    images, truths, found = [], [], []
    for i, rows in enumerate(pictures, 1):
        images.append({"id": i, "width": 200, "height": 200})
        for kind, label, score, *box in rows:
            if kind:
                truths.append({"id": len(truths) + 1, "image_id": i, "category_id": label + 1, "bbox": box, "area": box[2] * box[3],
                               "iscrowd": int(kind == 2)})
            else:
                found.append({"image_id": i, "category_id": label + 1, "bbox": box, "score": score})
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = {"images": images, "annotations": truths, "categories": [{"id": i + 1} for i in range(8)]}
        truth.createIndex()
        e = COCOeval(truth, truth.loadRes(found), "bbox")
        e.evaluate()
        e.accumulate()
        e.summarize()
    return {"pictures": pictures, "mean": float(e.stats[0]), "at_50": float(e.stats[1])}


def masks(pictures):
    wanted, is_ = (np.concatenate([np.array(p[i]) for p in pictures]) for i in (0, 1))
    counts = wanted != 255
    return {"pictures": pictures, "mean": float(jaccard_score(wanted[counts], is_[counts], average="macro"))}


def mask(classes, ignored):
    wanted = [255 if random.random() < ignored else random.randrange(classes) for _ in range(60)]
    return [wanted, [w if w != 255 and random.random() < 0.7 else random.randrange(classes + 1) for w in wanted]]


print(json.dumps({
    "words": words(),
    "boxes": [coco([picture(3, 2, 3, 1)]), coco([picture(5, 3, 4, 2) for _ in range(6)]), coco([picture(2, 1, 8, 0) for _ in range(9)]),
              coco([picture(6, 2, 2, 130)]), coco([picture(4, 4, 5, 3), [], picture(0, 4, 5, 4)])],
    "masks": [masks([mask(3, 0)]), masks([mask(5, 0.2) for _ in range(4)]), masks([mask(1, 0.5), mask(7, 0.1)])],
}, ensure_ascii=True))
