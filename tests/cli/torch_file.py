# SPDX-License-Identifier: Apache-2.0
# A conformance case as a folder with pytorch_model.bin, without torch: python3 torch_file.py CASE FOLDER zip|stream|views|sharded|evil
# The pickles are made by Python's own pickler from stand-ins that have the names of torch's functions.
import collections, io, json, math, os, pickle, shutil, struct, sys, types, zipfile

MASK = 2**64 - 1


def formula(name, shape):
    """tests/conform/README.md"""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001B3 & MASK
    f32 = struct.Struct("<f")
    rounded = lambda x: f32.unpack(f32.pack(x))[0]
    near_one = name.endswith("running_var") or (len(shape) == 1 and name.endswith(("weight", "gamma")))
    scale = math.sqrt(3.0 / math.prod(shape[1:])) if len(shape) >= 2 else 0.1
    values = []
    for i in range(math.prod(shape)):
        z = seed + (i + 1) * 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        z ^= z >> 31
        u = (z >> 40) * 2.0**-23 - 1
        values.append(rounded(rounded(u * 0.1) + 1) if near_one and len(shape) < 2 else rounded(u * scale))
    return values


torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules |= {"torch": torch, "torch._utils": utils}


def _rebuild_tensor_v2():
    pass


_rebuild_tensor_v2.__module__ = "torch._utils"
utils._rebuild_tensor_v2 = _rebuild_tensor_v2
FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
torch.FloatStorage = FloatStorage


class Storage:
    def __init__(self, key, values):
        self.key, self.values = key, values


class Tensor:
    def __init__(self, storage, size, stride):
        self.parts = storage, 0, size, stride, False, collections.OrderedDict()

    def __reduce__(self):
        return _rebuild_tensor_v2, self.parts


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


class Pickler(pickle.Pickler):
    zipped = True

    def persistent_id(self, x):
        if not isinstance(x, Storage):
            return None
        return ("storage", FloatStorage, x.key, "cpu", len(x.values)) + (() if self.zipped else (None,))


def dump(x, zipped=True):
    out = io.BytesIO()
    p = Pickler(out, 2)
    p.zipped = zipped
    p.dump(x)
    return out.getvalue()


def data(storage):
    return struct.pack(f"<{len(storage.values)}f", *storage.values)


def write_zip(path, state, storages):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("archive/data.pkl", dump(state))
        z.writestr("archive/byteorder", "little")
        for s in storages:
            z.writestr(f"archive/data/{s.key}", data(s))
        z.writestr("archive/version", "3\n")


def write_stream(path, state, storages):
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    with open(path, "wb") as f:
        for x in (0x1950A86A20F9469CFC6C, 1001, machine, state, [s.key for s in storages]):
            f.write(dump(x, False))
        for s in storages:
            f.write(struct.pack("<q", len(s.values)) + data(s))


def main():
    case, folder, how = sys.argv[1:]
    os.makedirs(folder)
    shutil.copy(f"{case}/config.json", folder)
    state, storages = collections.OrderedDict(), []
    with open(f"{case}/weights.tsv") as f:
        for line in f:
            name, dtype, shape = line.rstrip("\n").split("\t")
            assert dtype == "F32"
            size = tuple(int(d) for d in shape.split(",")) if shape else ()
            values = formula(name, size)
            stride = tuple(math.prod(size[i + 1:]) for i in range(len(size)))
            if how == "views" and len(size) == 2:       # column by column in the file
                values = [values[r * size[1] + c] for c in range(size[1]) for r in range(size[0])]
                stride = (1, size[0])
            storages.append(Storage(str(len(storages)), values))
            state[name] = Tensor(storages[-1], size, stride)
    if how == "evil":
        state["evil"] = Evil()
    if how == "sharded":
        names = list(state)
        parts, where = (names[::2], names[1::2]), {}
        for i, part in enumerate(parts):
            file = f"pytorch_model-{i + 1:05}-of-00002.bin"
            where |= {n: file for n in part}
            write_zip(f"{folder}/{file}", {n: state[n] for n in part}, [state[n].parts[0] for n in part])
        with open(f"{folder}/pytorch_model.bin.index.json", "w") as f:
            json.dump({"metadata": {}, "weight_map": where}, f)
        return
    (write_stream if how == "stream" else write_zip)(f"{folder}/pytorch_model.bin", {"state_dict": state, "epoch": 3} if how == "views" else state, storages)


if __name__ == "__main__":
    main()
