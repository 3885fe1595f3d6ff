#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures that test_operator_engines.c holds engines to: what numpy and torch compute for one small call of each operation.

    python3 tests/unit/data/operators.py > tests/unit/data/operators.json

Each case is a function; its name is the case's. It returns what goes in, what comes out and, where there are any, the weights, by
name.
"""
import json
import sys
import zlib

import numpy as np
import torch

CASES = []


def case(function):
    CASES.append(function)
    return function


def numbers(rng, *shape):
    return (rng.integers(-16, 17, shape) / 8).astype(np.float32)


def places(rng, count, *shape):
    return rng.integers(0, count, shape).astype(np.int64)


@case
def gather_nd(rng):
    x, i = numbers(rng, 2, 3, 4), places(rng, 3, 2, 5, 1)
    return {"x": x, "i": i}, {"y": np.stack([x[b][i[b, :, 0]] for b in range(2)])}


@case
def gather_elements(rng):
    x, i = numbers(rng, 2, 5, 3), places(rng, 5, 2, 4, 3)
    return {"x": x, "i": i}, {"y": np.take_along_axis(x, i, 1)}


@case
def scatter_nd(rng):
    """Places that differ: which of two updates of one place stays is not said."""
    x, u = numbers(rng, 4, 3, 2), numbers(rng, 3, 2)
    i = np.array([[0, 1], [3, 2], [2, 0]], np.int64)
    y = x.copy()
    y[i[:, 0], i[:, 1]] = u
    return {"x": x, "i": i, "u": u}, {"y": y}


@case
def scatter_nd_sums(rng):
    x, u, i = numbers(rng, 4, 2), numbers(rng, 6, 2), np.array([[1], [3], [1], [0], [1], [3]], np.int64)
    out = {}
    for word, op in (("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)):
        y = x.copy()
        op.at(y, i[:, 0], u)
        out[word] = y
    return {"x": x, "i": i, "u": u}, out


@case
def scatter_elements(rng):
    x, u, i = numbers(rng, 2, 5), numbers(rng, 2, 3), np.array([[4, 0, 2], [1, 3, 0]], np.int64)
    y = x.copy()
    np.put_along_axis(y, i, u, 1)
    return {"x": x, "i": i, "u": u}, {"y": y}


@case
def scatter_elements_sums(rng):
    """Two updates of one place, along the first axis."""
    x, u, i = (torch.from_numpy(a) for a in (numbers(rng, 4, 3), numbers(rng, 3, 3), places(rng, 2, 3, 3)))
    words = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    return {"x": x, "i": i, "u": u}, {w: x.scatter_reduce(0, i, u, r) for w, r in words.items()}


@case
def nonzero(rng):
    x = numbers(rng, 3, 4) * rng.integers(0, 2, (3, 4)).astype(np.float32)
    return {"x": x, "mark": x > 0}, {"y": np.stack(np.nonzero(x)).astype(np.int64), "marked": np.stack(np.nonzero(x > 0)).astype(np.int64)}


@case
def reductions(rng):
    x = numbers(rng, 2, 3, 4)
    return {"x": x}, {"prod": x.prod(1), "l2": np.sqrt((x * x).sum(-1, keepdims=True)), "min": x.min(0)}


@case
def fmod(rng):
    x, y = numbers(rng, 3, 4), np.array([0.75, -0.5, 1.25, -2], np.float32)
    return {"x": x, "y": y}, {"z": np.fmod(x, y)}


@case
def cumsum(rng):
    x = numbers(rng, 3, 4)
    before, after = x.cumsum(1), x[::-1].cumsum(0)[::-1]
    return {"x": x}, {"exclusive": before - x, "reverse": after, "both": after - x}


@case
def topk(rng):
    """No two are equal."""
    x = (rng.permutation(30).reshape(2, 5, 3) / 8).astype(np.float32)
    most, least = np.argsort(-x, 1)[:, :2], np.argsort(x, -1)[:, :, :2]
    return {"x": x}, {"most": np.take_along_axis(x, most, 1), "most_at": most, "least": np.take_along_axis(x, least, 2), "least_at": least}


@case
def conv_transpose(rng):
    x, w, b = (torch.from_numpy(a) for a in (numbers(rng, 2, 4, 5), numbers(rng, 4, 3, 3), numbers(rng, 6)))
    y = torch.nn.functional.conv_transpose1d(x, w, b, stride=3, padding=1, output_padding=2, groups=2, dilation=2)
    image, kernel = torch.from_numpy(numbers(rng, 1, 2, 3, 4)), torch.from_numpy(numbers(rng, 2, 3, 2, 2))
    return {"x": x, "image": image}, {"y": y, "up": torch.nn.functional.conv_transpose2d(image, kernel, stride=2)}, {"w": w, "b": b, "kernel": kernel}


@case
def waves(rng):
    x = np.concatenate([rng.uniform(-4, 4, 20), rng.uniform(-1e4, 1e4, 20), [0, np.pi / 2, -np.pi]]).astype(np.float32)
    return {"x": x}, {"sin": np.sin(x.astype(np.float64)).astype(np.float32), "cos": np.cos(x.astype(np.float64)).astype(np.float32)}


@case
def truncated(rng):
    x = np.array([-3, -1, -0.5, 0, 0.75, 2, 1e6, -1e6], np.float32)
    return {"x": x}, {"y": x.astype(np.int64)}


@case
def conv_channels(rng):
    x, w, b = (torch.from_numpy(numbers(rng, *shape)) for shape in ((2, 6, 4, 3), (8, 6, 3, 3), (8,)))
    line, other, each, d = (torch.from_numpy(numbers(rng, *shape)) for shape in ((2, 4, 5), (1, 4, 3), (12, 2, 3), (12,)))
    groups, bare = (torch.nn.functional.conv1d(a, each, bias, padding=1, groups=2) for a, bias in ((line, d), (other, None)))
    return {"x": x, "line": line, "other": other}, {"threes": torch.nn.functional.conv2d(x, w, b, padding=1), "groups": groups, "bare": bare}, {"w": w, "b": b, "each": each, "d": d}


@case
def resize_corners(rng):
    x = torch.from_numpy(numbers(rng, 2, 3, 3, 4))
    return {"x": x}, {"y": torch.nn.functional.interpolate(x, size=(5, 9), mode="bilinear", align_corners=True)}


@case
def sum_and_norm(rng):
    x, p, w, b = (torch.from_numpy(numbers(rng, *shape)) for shape in ((2, 3, 8), (3, 8), (8,), (8,)))
    return {"x": x}, {"y": torch.nn.functional.layer_norm(x + p, (8,), w, b), "turned": p + x}, {"p": p, "w": w, "b": b}


@case
def rms_norm(rng):
    x, w = torch.from_numpy(numbers(rng, 2, 5, 3, 8)), torch.from_numpy(numbers(rng, 8))
    return {"x": x}, {"y": torch.nn.functional.rms_norm(x, (8,), w, 1e-5)}, {"w": w}


def recurrent(rng, kind, directions, biased, stated):
    """By torch's own layer, with names of weights as in its state_dict."""
    layer = kind(5, 4, bias=biased, bidirectional=directions == 2)
    weights = {name: torch.from_numpy(numbers(rng, *w.shape) / 4) for name, w in layer.state_dict().items()}
    layer.load_state_dict(weights)
    x = torch.from_numpy(numbers(rng, 6, 2, 5))
    h, c = (torch.from_numpy(numbers(rng, directions, 2, 4)) for _ in "hc")
    first = ((h, c) if kind is torch.nn.LSTM else h) if stated else None
    y, last = layer(x, first)
    last = dict(zip("hc", last)) if kind is torch.nn.LSTM else {"h": last}
    given = {"x": x}
    if stated:
        given |= {"h0": h, "c0": c} if kind is torch.nn.LSTM else {"h0": h}
    return given, {"y": y, **last}, weights


@case
def lstm(rng):
    return recurrent(rng, torch.nn.LSTM, 1, True, False)


@case
def lstm_both_ways(rng):
    return recurrent(rng, torch.nn.LSTM, 2, True, True)


@case
def lstm_unbiased(rng):
    return recurrent(rng, torch.nn.LSTM, 1, False, True)


@case
def gru(rng):
    return recurrent(rng, torch.nn.GRU, 1, True, True)


@case
def gru_both_ways(rng):
    return recurrent(rng, torch.nn.GRU, 2, False, False)


@case
def grid_sample(rng):
    """Some places lie outside."""
    x, grid = (torch.from_numpy(a) for a in (numbers(rng, 2, 3, 4, 5), numbers(rng, 2, 3, 2, 2) / np.float32(1.625)))
    out = {}
    for mode in "bilinear", "nearest", "bicubic":
        for padding in "zeros", "border", "reflection":
            out[f"{mode}_{padding}"] = torch.nn.functional.grid_sample(x, grid, mode, padding, align_corners=padding == "border")
    return {"x": x, "grid": grid}, out


@case
def depth_and_space(rng):
    x, wide = torch.from_numpy(numbers(rng, 1, 8, 2, 3)), torch.from_numpy(numbers(rng, 2, 3, 4, 6))
    # (n, c, h/2, a, w/2, b) -> (n, a, b, c, h/2, w/2)
    depth = wide.reshape(2, 3, 2, 2, 3, 2).permute(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3)
    rows = x.reshape(1, 2, 2, 2, 2, 3).permute(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
    return {"x": x, "wide": wide}, {"crd": torch.nn.functional.pixel_shuffle(x, 2), "dcr": rows, "depth": depth}


@case
def roi_align(rng):
    """As torchvision's: each cell is the mean of 2 x 2 samples, each of them bilinear."""
    x, batch = numbers(rng, 2, 2, 7, 6), np.array([1, 0], np.int64)
    rois = np.array([[0.5, 1, 8, 9.5], [2, 3, 10, 11]], np.float32)
    out = {}
    for name, shift in (("aligned", 0.5), ("plain", 0)):
        y = np.zeros((2, 2, 2, 3), np.float64)
        for r, (b, roi) in enumerate(zip(batch, rois * np.float64(0.5) - shift)):
            high, wide = (roi[3] - roi[1]) / 2, (roi[2] - roi[0]) / 3
            for i in range(2):
                for j in range(3):
                    for a in range(2):
                        for c in range(2):
                            at = roi[1] + (i + (a + 0.5) / 2) * high, roi[0] + (j + (c + 0.5) / 2) * wide
                            y[r, :, i, j] += bilinear(x[b], *at) / 4
        out[name] = y.astype(np.float32)
    return {"x": x, "rois": rois, "batch": batch}, out


def bilinear(x, top, left):
    if not (-1 <= top <= x.shape[1] and -1 <= left <= x.shape[2]):
        return 0
    top, left = min(max(top, 0), x.shape[1] - 1), min(max(left, 0), x.shape[2] - 1)
    i, j = int(top), int(left)
    k, l = min(i + 1, x.shape[1] - 1), min(j + 1, x.shape[2] - 1)
    p, q = top - i, left - j
    return (1 - p) * ((1 - q) * x[:, i, j] + q * x[:, i, l]) + p * ((1 - q) * x[:, k, j] + q * x[:, k, l])


@case
def nms(rng):
    """Greatest score first; a box that has more than half in common with one that was taken is left out."""
    corner, size = rng.random((2, 6, 2)) * 4, 1 + rng.random((2, 6, 2)) * 3
    boxes = np.concatenate((corner, corner + size), 2).astype(np.float32)
    scores = rng.permutation(24).reshape(2, 2, 6).astype(np.float32) / 24
    taken = []
    for b in range(2):
        for c in range(2):
            kept = []
            for i in np.argsort(-scores[b, c]):
                if scores[b, c, i] > 0.25 and len(kept) < 3 and all(overlap(boxes[b, i], boxes[b, k]) <= 0.5 for k in kept):
                    kept.append(i)
                    taken.append((b, c, i))
    return {"boxes": boxes, "scores": scores}, {"y": np.array(taken, np.int64)}


def overlap(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    common = sides.prod()
    return common / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - common)


@case
def branches(rng):
    """Each branch reads the graph around it; the lengths of what they give differ. In 16 bits, what one reads was made in them."""
    x, w, m = numbers(rng, 4, 3), numbers(rng, 3), numbers(rng, 3, 3)
    then, other = x * w, (x @ m)[:2]
    given = {"x": x, "yes": np.array(True), "no": np.array(False)}
    return given, {"y_yes": then, "sum_yes": then.sum(1), "y_no": other, "sum_no": x.min(1)}, {"w": w, "m": m}


@case
def loop(rng):
    """A number of runs that is known, and one that is given."""
    x, w = numbers(rng, 2, 3), numbers(rng, 3)
    states = [x]
    for number in range(4):
        states.append((states[-1] * w / np.float32(2) + np.tanh(x) + np.float32(number)).astype(np.float32))
    given = {"x": x, "runs": np.array(2, np.int64)}
    return given, {"last": states[4], "all": np.stack(states[1:]), "earlier": states[2], "some": np.stack(states[1:3])}, {"w": w}


@case
def loop_until(rng):
    """Doubled until a number of it exceeds 40; not at all where it shall not begin."""
    x = numbers(rng, 5)
    y, all_of = x, []
    while True:
        y = y * np.float32(2)
        all_of.append(y)
        if y.max() > 40:
            break
    return {"x": x, "never": np.array(False)}, {"y": y, "all": np.stack(all_of), "untouched": x}


def parts(z):
    return np.stack((z.real, z.imag), -1).astype(np.float32)


@case
def dft(rng):
    """One number on the last axis, or two; n that is no power of two."""
    x, z = numbers(rng, 2, 6, 1), numbers(rng, 2, 5, 3, 2)
    complex_z = z[..., 0].astype(np.float64) + 1j * z[..., 1]
    return {"x": x, "z": z}, {
        "real": parts(np.fft.fft(x[..., 0], axis=1)),
        "half": parts(np.fft.rfft(x[..., 0], axis=1)),
        "forward": parts(np.fft.fft(complex_z, axis=2)),
        "inverse": parts(np.fft.ifft(complex_z, axis=1)),
    }


@case
def stft(rng):
    x, window = torch.from_numpy(numbers(rng, 2, 19)), torch.hann_window(8)
    both = [torch.stft(x, 8, 3, 8, window, center=False, onesided=o, return_complex=True).numpy() for o in (True, False)]
    return {"x": x}, {"half": parts(both[0]), "all": parts(both[1])}, {"window": window}


@case
def einsum(rng):
    q, k, w = numbers(rng, 2, 4, 3, 5), numbers(rng, 2, 4, 6, 5), numbers(rng, 4, 5, 7)
    table, row = numbers(rng, 3, 6, 5), numbers(rng, 6)
    return {"q": q, "k": k}, {
        "scores": np.einsum("bhid,bhjd->bhij", q, k),
        "joined": np.einsum("bhid,hdm->bim", q, w),
        "split": np.einsum("hdm,bhid->mhbi", w, q),
        "relative": np.einsum("bhrd,lrd->bhlr", q, table.transpose(1, 0, 2)),
        "outer": np.einsum("bhid,j->jbhid", q, row),
        "alone": np.einsum("bhid->hb", q),
        "inner": np.einsum("bhid,bhjd->", q, k),
    }, {"w": w, "table": table.transpose(1, 0, 2), "row": row}


@case
def acos(rng):
    """Both ends of where it is defined, too."""
    x = np.append(rng.uniform(-1, 1, 7), [-1, 0, 1]).astype(np.float32).reshape(2, 5)
    return {"x": x}, {"y": np.arccos(x.astype(np.float64)).astype(np.float32)}


@case
def split(rng):
    """The second piece is empty."""
    x, lengths = numbers(rng, 2, 5, 3), np.array([2, 0, 3])
    pieces = np.split(x, np.cumsum(lengths)[:-1], 1)
    return {"x": x, "lengths": lengths}, {"first": pieces[0], "last": pieces[2], "back": np.concatenate(pieces[::-1], 1)}


@case
def choose(rng):
    """Scores of which many are 0 and no others are equal; of each row the first `count` are compared. topk_N: what torch.topk takes, first_4: of equals the first."""
    rows, keys = 50, 21
    count = rng.integers(1, keys + 1, (2, 1, rows // 2, 1))
    others = rng.permuted(np.tile(np.arange(1, keys + 1) - keys // 4, (rows, 1)), axis=1) / 8
    scores = np.where(rng.random((rows, keys)) < rng.random((rows, 1)), 0, others)
    scores = np.where(np.arange(keys) < count.reshape(rows, 1), scores, np.finfo(np.float32).min).astype(np.float32)
    out = {f"topk_{top}": np.zeros((rows, keys), bool) for top in (1, 4, 9)} | {"first_4": np.zeros((rows, keys), bool)}
    for row, n in enumerate(count.ravel()):
        for top in (1, 4, 9):
            out[f"topk_{top}"][row, torch.tensor(scores[row, :n]).topk(min(top, n)).indices.numpy()] = True
        out["first_4"][row, np.argsort(-scores[row, :n], kind="stable")[:4]] = True
    shape = (2, 1, rows // 2, keys)
    return {"scores": scores.reshape(shape), "count": count}, {name: y.reshape(shape) for name, y in out.items()}


TYPES = {"float32": "f32", "int64": "i64", "bool": "bool"}


def stored(values):
    out = {}
    for name, value in values.items():
        a = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
        data = [float(f"{v:.9g}") for v in a.ravel()] if a.dtype == np.float32 else a.ravel().astype(int).tolist()
        out[name] = {"type": TYPES[a.dtype.name], "shape": list(a.shape), "data": data}
    return out


def main():
    lines = []
    for function in CASES:
        given, gives, *weights = function(np.random.default_rng(zlib.crc32(function.__name__.encode())))
        lines.append(f' "{function.__name__}": ' + json.dumps({"in": stored(given), "out": stored(gives), "weights": stored(*weights or [{}])}))
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
