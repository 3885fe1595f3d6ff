#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures that test_operator_engines.c holds engines to: what numpy and torch compute for one small call of each operation.

    python3 tests/unit/data/operators.py > tests/unit/data/operators.json

Each case is a function; its name is the case's. It returns what goes in and what comes out, by name. Numbers that go in are
multiples of 1/8, so that both sides read the same ones.
"""
import json
import sys

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
    for number, function in enumerate(CASES):
        given, gives = function(np.random.default_rng(number))
        lines.append(f' "{function.__name__}": ' + json.dumps({"in": stored(given), "out": stored(gives)}))
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
