#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only (needs torch): makes the files beside it, which tests/unit/test_torch.c reads. Run it in this folder.
import os, zipfile
import torch

a = torch.arange(12, dtype=torch.float32).reshape(3, 4)
state = {
    "a": a,
    "a.transposed": a.t(),                      # not row-major: copied
    "a.row": a[1],                              # a part of a shared storage, in place
    "a.steps": a[:, ::2],                       # not row-major
    "a.tied": a,
    "half": torch.tensor([0.5, -2.0, 1024.0], dtype=torch.float16),
    "brain": torch.tensor([1.5, -3.0], dtype=torch.bfloat16),
    "double": torch.tensor([[1e-300, 2.0]], dtype=torch.float64),
    "ids": torch.tensor([[-1, 2**40]], dtype=torch.int64),
    "flags": torch.tensor([True, False, True]),
    "bytes": torch.tensor([0, 255], dtype=torch.uint8),
    "scalar": torch.tensor(7.0),
    "empty": torch.zeros(0, 3),
    "ones": torch.ones(1, 1, 3).permute(1, 2, 0),       # dimensions of one make no difference
    "parameter": torch.nn.Parameter(torch.tensor([3.0, 4.0])),
}


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


torch.save(state, "zip.bin")
torch.save(state, "stream.bin", _use_new_zipfile_serialization=False)
model = torch.nn.Linear(2, 1, bias=False)
with torch.no_grad():
    model.weight.copy_(torch.tensor([[5.0, 6.0]]))
other = {"epoch": 3, "lr": 0.1, "big": 2**80, "list": [1, "x", None], "optimizer": {"state": {}}, "state_dict": model.state_dict()}
torch.save(other, "nested.bin")
torch.save(other, "nested-stream.bin", _use_new_zipfile_serialization=False)
torch.save({"w": torch.tensor([0, 1], dtype=torch.uint16), "f8": torch.ones(2).to(torch.float8_e4m3fn)}, "v3.bin")
torch.save({"w": torch.ones(2), "x": Evil()}, "evil.bin")
torch.save({"w": torch.ones(2), "x": Evil()}, "evil-stream.bin", _use_new_zipfile_serialization=False)
torch.save({"w": torch.ones(1).expand(1000000)}, "mountain.bin")
torch.save({"w": torch.ones(2)}, "protocol4.bin", pickle_protocol=4)
torch.save({"w": torch.zeros(2).to_sparse()}, "sparse.bin")
torch.save(torch.ones(2), "nameless.bin")
with zipfile.ZipFile("zip.bin") as old:
    with zipfile.ZipFile("packed.bin", "w", zipfile.ZIP_DEFLATED) as new:
        for e in old.infolist():
            new.writestr(e.filename, old.read(e))
    zipfile.ZIP64_LIMIT = 0                     # every number goes into its zip64 field
    zipfile.ZIP_FILECOUNT_LIMIT = 0
    with zipfile.ZipFile("zip64.bin", "w") as new:
        for e in old.infolist():
            with new.open(e.filename, "w", force_zip64=True) as f:
                f.write(old.read(e))
