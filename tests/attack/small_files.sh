# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Small files that need much: each refusal is quick and small, whatever the file. The commands are those that a person gives a stranger's
# model. A bound on time or memory is that of the program, so the sanitizers are left out; tests/fuzz reads such bytes with them.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cd "$work" || exit 1
"$ASSAY" synth "$SOURCE/tests/conform/cases/clap_audio_model" -o places >/dev/null || fail "no weights of clap"
# Python keeps the memory of what it wrote for what comes next: a good part of the time went into taking it anew.
MALLOC_MMAP_THRESHOLD_=2000000000 MALLOC_TRIM_THRESHOLD_=4000000000 python3 - "$SOURCE" <<'PY' || exit 1
import json, os, struct, sys, zipfile
BERT = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8, "vocab_size": 16, "max_position_embeddings": 8}
MIB = 1 << 20
EMPTY = b'{},'


def folder(name, config=BERT):
    os.makedirs(name, exist_ok=True)
    json.dump(config, open(name + "/config.json", "w"))
    return name + "/"


def write(path, *parts):
    with open(path, "wb") as f:
        for part in parts:
            f.write(part)


def zeros(path, nbytes):                                 # at its end, and they take no disk
    os.truncate(path, os.path.getsize(path) + nbytes)


def safetensors(path, header, data=b""):
    write(path, struct.pack("<Q", len(header)), header, data)


# ---- JSON: a tree is 75 times its text
empties = b"[" + EMPTY * (2 * MIB) + b"{}]"
safetensors(folder("header-value") + "model.safetensors", b'{"a":' + empties + b"}")
# Entries that hold more than a tensor's.
heavy = lambda i: b'"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"x":[' % i + EMPTY * 21000 + b"{}]}"
safetensors(folder("header-entries") + "0.safetensors", b"{" + b",".join(heavy(i) for i in range(370)) + b"}")
for i in 1, 2:
    os.link("header-entries/0.safetensors", "header-entries/%d.safetensors" % i)
write("header-entries/model.safetensors.index.json", b'{"weight_map":{"0":"0.safetensors","a":"1.safetensors","b":"2.safetensors"}}')
numbers = [b"%x" % i for i in range(700000)]
members = b'{"' + b'":{},"'.join(numbers) + b'":{}}'
safetensors(folder("header-members") + "model.safetensors", members)
write(folder("index") + "model.safetensors.index.json", b'{"metadata":', empties, b',"weight_map":{"a":"b"}}')
write(folder("index-members") + "model.safetensors.index.json", b'{"weight_map":', b'{"' + b'":"a","'.join(numbers) + b'":"a"}', b"}")
write(folder("config") + "config.json", b'{"model_type":"bert","a":[' + EMPTY * (5 * MIB // 2) + b"{}]}")
os.makedirs("hub/api/models/a/b/revision")
write("hub/api/models/a/b/revision/main", b'{"sha":"%s","siblings":[' % (b"0" * 40), EMPTY * (5 * MIB), b"{}]}")
write("llama.json", b'[{"avg_ns":1,"n_prompt":1,"model_filename":"m"},', EMPTY * (2 * MIB), b"{}]")
write("llama-short.json", b'[{"avg_ns":1,"n_prompt":1,"n_gen":0,"model_filename":"m"},', EMPTY * 200000, b"{}]")
write("short.csv", b"a,b\n", b"1,2\n" * (2 * MIB))
write("newlines.csv", b"\n" * (8 * MIB))
write("commas.csv", b"," * (4 * MIB))
write("llama.csv", b"build_commit,avg_ns,n_prompt,model_filename\n", b"1,2,3,4\n" * MIB)
write("app.csv", b"Execution results\n", (b";\n".join(numbers) + b";\n") * 3)
listed = b",".join(b'{"rfilename":"%05x.model","size":0}' % i for i in range(60000))
os.makedirs("hub/api/models/a/c/revision")
write("hub/api/models/a/c/revision/main", b'{"sha":"%s","siblings":[%s,{"rfilename":"config.json","size":2}]}' % (b"0" * 40, listed))
write("many.jsonl", (b'{"text":"a","labels":[' + b"1," * (MIB // 2 - 50) + b"1]}\n") * 4)
safetensors("golden.safetensors", b'{"__metadata__":{"a":' + empties + b"}}")

# ---- pickles
TENSOR = (b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x10tQK\0K\x10\x85K\x01\x85\x89"
          b"ccollections\nOrderedDict\n)RtR")


def zipped(name, pickle):
    with zipfile.ZipFile(folder(name) + "pytorch_model.bin", "w", zipfile.ZIP_STORED) as z:
        z.writestr("archive/data.pkl", pickle)
        z.writestr("archive/version", "3\n")
        z.writestr("archive/data/0", b"\0" * 64)


def tensor(kind, key, *shape):                              # the whole storage
    many, steps = 1, []
    for d in reversed(shape):
        steps.insert(0, many)
        many *= d
    whole = lambda numbers: b"(" + b"".join(b"J" + struct.pack("<i", n) for n in numbers) + b"t"
    return (b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n" + kind + b"Storage\nX" + struct.pack("<I", len(key)) + key + b"X\x03\0\0\0cpuJ" + struct.pack("<i", many)
            + b"tQK\0" + whole(shape) + whole(steps) + b"\x89ccollections\nOrderedDict\n)RtR")


# A whole model, and 2,000 names of one tensor that its graph does not read.
data = open("places/model.safetensors", "rb").read()
begin = 8 + struct.unpack("<Q", data[:8])[0]
files, pickle, window = [], b"\x80\x02}(", 24


def named(text, kind, shape, content):
    files.append(content)
    return b"X" + struct.pack("<I", len(text)) + text.encode() + tensor(kind, b"%d" % (len(files) - 1), *shape)


for text, t in json.loads(data[8:begin]).items():
    if text != "__metadata__":
        pickle += named(text, {"F32": b"Float", "I64": b"Long"}[t["dtype"]], t["shape"], data[begin + t["data_offsets"][0]:begin + t["data_offsets"][1]])
of = [a // window * (2 * window - 1) + a % window for a in range(window ** 2)]
middle = (window - 1) * 2 * window
pickle += named("x.relative_position_index", b"Long", [window ** 2] * 2, b"".join(struct.pack("<%dq" % len(of), *[a - b + middle for b in of]) for a in of))
pickle += b"q\x01" + b"".join(b"X\x1d\0\0\0x%04d.relative_position_index" % i + b"h\x01" for i in range(2000)) + b"u."
os.remove("places/model.safetensors")
with zipfile.ZipFile("places/pytorch_model.bin", "w", zipfile.ZIP_STORED) as z:
    z.writestr("archive/data.pkl", pickle)
    z.writestr("archive/version", "3\n")
    for i, content in enumerate(files):
        z.writestr("archive/data/%d" % i, content)

# All weights share one order of columns: each was looked at and copied again, 4.7 GB of 1.9 MB.
gptq = {"quant_method": "gptq", "bits": 8, "group_size": 200000}
with zipfile.ZipFile(folder("columns", dict(BERT, quantization_config=gptq)) + "pytorch_model.bin", "w", zipfile.ZIP_STORED) as z:
    parts = {"qweight": (b"Int", b"0", 100000, 4), "g_idx": (b"Int", b"0", 400000), "scales": (b"Float", b"1", 2, 4), "qzeros": (b"Int", b"2", 2, 1)}
    memo = b"".join(tensor(*parts[part]) + b"q" + bytes([i]) + b"0" for i, part in enumerate(parts))
    name = lambda text: b"X" + struct.pack("<I", len(text)) + text.encode()
    z.writestr("archive/data.pkl", b"\x80\x02" + memo + b"}(" + b"".join(name("m.%d.%s" % (i, part)) + b"h" + bytes([k]) for i in range(400) for k, part in enumerate(parts)) + b"u.")
    z.writestr("archive/version", "3\n")
    for i, data in enumerate((struct.pack("<i", 1) * 200000 + b"\0" * 800000, b"\0" * 32, b"\0" * 8)):
        z.writestr("archive/data/%d" % i, data)
# Weights in a file that is called as one that assay makes beside a graph: those of the other were read, and "right".
for name, shard in ("named", "converted-0.safetensors"), ("computed", "computed-weights"):
    where = folder(name, dict(BERT, quantization_config={"quant_method": "fp8"}) if name == "computed" else BERT)
    of = {"m.weight": {"dtype": "F8_E4M3", "shape": [1, 1], "data_offsets": [0, 1]}}
    if name == "computed":
        of["m.weight_scale_inv"] = {"dtype": "F32", "shape": [1, 1], "data_offsets": [1, 5]}
    json.dump({"weight_map": {"k": shard, **{n: "a.safetensors" for n in of}}}, open(where + "model.safetensors.index.json", "w"))
    safetensors(where + "a.safetensors", json.dumps(of).encode(), b"\0" * (5 if name == "computed" else 1))
    if shard.endswith(".safetensors"):
        safetensors(where + shard, b'{"k":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"\0" * 4)
zipped("computed-torch", b"\x80\x02}(X\x01\0\0\0k" + TENSOR + b"u.")
os.rename("computed-torch/pytorch_model.bin", "computed/computed-weights")
# What stands beside a weight of bitsandbytes was parsed for each that shares it.
state = b'{"shape":[2,1],"x":[' + EMPTY * 1000 + b"{}]}"
safetensors(folder("state", dict(BERT, quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True})) + "model.safetensors",
            json.dumps({"m.weight": {"dtype": "U8", "shape": [1, 1], "data_offsets": [0, 1]},
                        "m.weight.quant_state.bitsandbytes__nf4": {"dtype": "U8", "shape": [len(state)], "data_offsets": [1, 1 + len(state)]}}).encode(), b"\0" + state)
# Words of a list that is held against each weight, each in quadratic time: 330 KB took 21 s.
words = ["." + "*" + "a" * 240 + "b"] * 1000
names = ["a" * 490 + "%d" % i for i in range(300)]
tensors = {n + ".weight": {"dtype": "F8_E4M3", "shape": [1, 1], "data_offsets": [i, i + 1]} for i, n in enumerate(names)}
tensors.update({n + ".weight_scale_inv": {"dtype": "F32", "shape": [1, 1], "data_offsets": [300 + 4 * i, 304 + 4 * i]} for i, n in enumerate(names)})
safetensors(folder("words", dict(BERT, quantization_config={"quant_method": "fp8", "modules_to_not_convert": words})) + "model.safetensors",
            json.dumps(tensors).encode(), b"\0" * 1500)
# The same of lists of lists: those that are empty were counted nowhere.
parts = (("qweight", "I32", [1, 8], 32), ("qzeros", "I32", [1, 1], 4), ("scales", "F16", [1, 8], 16))
places = [(i, 2000 * sum(p[3] for p in parts[:k]) + i * part[3], part) for k, part in enumerate(parts) for i in range(2000)]
safetensors(folder("blocks", dict(BERT, quantization_config={"quant_method": "gptq", "bits": 4, "group_size": -1, "modules_in_block_to_quantize": [[]] * 250000 + [[""]]}))
            + "model.safetensors", b"{" + b",".join(b'"m%d.%s":{"dtype":"%s","shape":[%d,%d],"data_offsets":[%d,%d]}' % (i, name.encode(), dtype.encode(), *shape, at, at + n) for i, at, (name, dtype, shape, n) in places) + b"}",
            b"\0" * (2000 * sum(p[3] for p in parts)))
zipped("zip-negated", b"\x80\x02}(X\x01\0\0\0k" + TENSOR[:-2] + b"}(X\x03\0\0\0neg\x88u" + TENSOR[-2:] + b"u.")
with zipfile.ZipFile(folder("zip-beside") + "pytorch_model.bin", "w", zipfile.ZIP_STORED) as z:
    for name in "A/DATA.PKL", "b/data.pkl", "b/data/0":
        z.writestr(name, b"}.")
zipped("zip-comment", b"\x80\x02}(X\x01\0\0\0k" + TENSOR + b"u.")
with open("zip-comment/pytorch_model.bin", "r+b") as f: # the comment of the end record is another one, whose own length is not its
    whole = f.read()
    f.seek(0)
    f.write(whole[:-2] + struct.pack("<H", 22) + whole[-22:-2] + struct.pack("<H", 7))
with zipfile.ZipFile(folder("zip-letters") + "pytorch_model.bin", "w", zipfile.ZIP_STORED) as z:
    for name in "archive/data.pkl", "archive/data/0", "archive/DATA.PKL":
        z.writestr(name, b"}.")


def shards(name, n):
    os.rename(name + "/pytorch_model.bin", name + "/0.bin")
    for i in range(1, n):
        os.link(name + "/0.bin", name + "/%d.bin" % i)
    json.dump({"weight_map": {str(i): "%d.bin" % i for i in range(n)}}, open(name + "/pytorch_model.bin.index.json", "w"))


zipped("pickle-key", b"\x80\x02}q\0" + TENSOR + b"q\x010X" + struct.pack("<I", MIB) + b"k" * MIB + b"q\x020(" + b"h\x02h\x01" * 8000 + b"u.")
# One pickle under 40 names: what its names take was counted a file, and not a checkpoint.
zipped("pickle-name", b"\x80\x02}(X" + struct.pack("<I", 8 * MIB) + b"k" * (8 * MIB) + TENSOR + b"u.")
key = lambda i: b"X" + struct.pack("<I", 4000) + (b"%04d" % i) * 1000
zipped("pickle-shards", b"\x80\x02}(" + key(0) + TENSOR + b"q\x01" + b"".join(key(i) + b"h\x01" for i in range(1, 5000)) + b"u.")
shards("pickle-shards", 40)
inner = b"}q\x05(" + b"K\x01K\x01" * 200000 + b"u0"
zipped("pickle-nested", b"\x80\x02" + inner + b"}(" + b"K\x01h\x05" * 200000 + b"u.")
part = b"\x80\x02(" + b"]" * 700000 + b"1"
write(folder("pickle-legacy") + "pytorch_model.bin", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.",
      part, b"}X\x0d\0\0\0little_endian\x88s.", part, b"}.", part, b"].")
count = 1 << 20
directory = b"PK\x01\x02" + b"\0" * 42
write(folder("zip") + "pytorch_model.bin", b"PK\x03\x04" + b"\0" * 26, directory * count,
      b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(directory) * count, 30),
      b"PK\x06\x07" + struct.pack("<IQI", 0, 30 + len(directory) * count, 1), b"PK\x05\x06" + b"\0" * 4 + b"\xff" * 12 + b"\0\0")

zipped("pickle-tensors", b"\x80\x02}(X\x01\0\0\0k" + TENSOR + b"q\x01" + b"".join(b"X\x80\0\0\0%0128dh\x01" % i for i in range(150000)) + b"u.")
folder("tensors")
for k in range(10):
    tensors = [b'"%d.%0130d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}' % (k, i * 7919 % 25000) for i in range(25000)]
    if k == 9:
        tensors.append(b'"z":{"dtype":"F32","shape":[1],"data_offsets":[0,0]}')
    safetensors("tensors/%d.safetensors" % k, b"{" + b",".join(tensors) + b"}")
json.dump({"weight_map": {"%d.%0130d" % (k, 0): "%d.safetensors" % k for k in range(10)}}, open("tensors/model.safetensors.index.json", "w"))

# One table of contents under 100 names: what it has was not counted at all. And names of what is no tensor, each said again in two bytes.
names = [b"a/data.pkl", b"a/version"] + [b"a/d/%06d" % (i * 7919 % 99990) for i in range(99990)]
local, directory, at = [], [], 0
for name in names:
    data = {b"a/data.pkl": b"\x80\x02}.", b"a/version": b"3\n"}.get(name, b"")
    local.append(struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, 0, 0, 0, 0, 0, len(data), len(data), len(name), 0) + name + data)
    directory.append(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, 0, 0, 0, 0, 0, len(data), len(data), len(name), 0, 0, 0, 0, 0, at) + name)
    at += len(local[-1])
directory = b"".join(directory)
write(folder("zip-shards") + "pytorch_model.bin", *local, directory,
      b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, len(names), len(names), len(directory), at),
      b"PK\x06\x07" + struct.pack("<IQI", 0, at + len(directory), 1), b"PK\x05\x06" + b"\0" * 4 + b"\xff" * 12 + b"\0\0")
shards("zip-shards", 100)
zipped("pickle-ignored", b"\x80\x02}(X" + struct.pack("<I", 190) + b"k" * 190 + b"q\0K\0" + b"h\0K\0" * 1000 + b"u.")
shards("pickle-ignored", 1500)

# ---- GGUF: many keys, an array of empty strings, many tensors, one that is many weights
string = lambda s: struct.pack("<Q", len(s)) + s
llama = string(b"general.architecture") + struct.pack("<I", 8) + string(b"llama")
sizes = b"".join(string(b"llama." + k) + struct.pack("<II", 4, n) for k, n in ((b"block_count", 1), (b"embedding_length", 8),
                                                                                (b"attention.head_count", 2), (b"feed_forward_length", 8)))
gguf = lambda name, tensors, pairs, *parts: write(name + ".gguf", b"GGUF", struct.pack("<IQQ", 3, tensors, pairs), *parts)
entry = lambda name, dims, at: string(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims) + struct.pack("<IQ", 0, at)
gguf("gguf-keys", 0, 65536, *(string(b"%0250d" % (i * 7919 % 65536)) + struct.pack("<IB", 0, 0) for i in range(65536)))
gguf("gguf-strings", 0, 1, string(b"a"), struct.pack("<IIQ", 9, 8, 1 << 24))
zeros("gguf-strings.gguf", 128 * MIB - 1)
gguf("gguf-tensors", 65536, 5, llama, sizes, *(entry(b"blk.%d.ffn_up.weight" % i, (1,), 32 * i) for i in range(65535)),
     entry(b"blk.0.none.weight", (1,), 32 * 65535), b"\0" * (32 * 65536 + 32))
gguf("gguf-experts", 1, 5, llama, sizes, entry(b"blk.0.ffn_gate_exps.weight", (1, 1, 65536), 0), b"\0" * (4 * 65536 + 64))

# ---- configurations
cases = sys.argv[1] + "/tests/conform/cases/"
read = lambda name: json.load(open(cases + name + "/config.json"))
folder("layers", dict(BERT, num_hidden_layers=100000))
folder("whisper", dict(read("whisper"), encoder_layers=2147483647))
folder("whisper-decoder", dict(read("whisper"), decoder_layers=2147483647))
folder("type", dict(BERT, model_type="\x1b[31m" * 400000))
folder("experts", dict(read("mixtral"), num_local_experts=100000, num_hidden_layers=1000))
detector = read("rt_detr")
detector["backbone_config"]["depths"][0] = 8193
folder("values", detector)
folder("experts-most", dict(read("mixtral"), num_local_experts=512, num_hidden_layers=64, hidden_size=4096, intermediate_size=4096))
folder("ones", dict(read("diffllama"), head_dim=1048576, num_hidden_layers=1024))
folder("window", dict(read("swin-pad"), window_size=1000, image_size=65536))
folder("distances", dict(read("t5"), relative_attention_max_distance=1 << 19, num_layers=40))
folder("deep", dict(read("deepseek_v3"), num_hidden_layers=1000))

# ---- sounds of very many samples: frames of FLAC that are all alike, and MP3 of little more than headers
def crc(data, bits, polynomial):
    value = 0
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = (value << 1 ^ (polynomial if value >> (bits - 1) else 0)) & ((1 << bits) - 1)
    return value.to_bytes(bits // 8, "big")


def frame(number):
    head = b"\xff\xf8\x70\x08" + chr(number).encode() + struct.pack(">H", 65534)
    head += crc(head, 8, 0x07) + bytes(3)
    return head + crc(head, 16, 0x8005)


info = struct.pack(">HH", 65535, 65535) + bytes(6) + (16000 << 44 | 15 << 36).to_bytes(8, "big") + bytes(16)
write("equal.flac", b"fLaC\x80\0\0\x22" + info, *(frame(i) for i in range(2400)))
write("tiny.mp3", (b"\xff\xe3\x18\xc4" + bytes(68)) * 100000)
write("long.flac", b"fLaC\x80\0\0\x22" + info[:10] + (16000 << 44 | 15 << 36 | 70000).to_bytes(8, "big") + bytes(16), frame(0))

# Ogg: headers of which libvorbis and libopus make what no sound needs, and what looks like pages.
def ogg(number, flags, packet):
    head = b"OggS\0" + bytes([flags]) + bytes(8) + struct.pack("<II", 1, number)
    lengths = bytes([255] * (len(packet) // 255) + [len(packet) % 255])
    rest = bytes([len(lengths)]) + lengths + packet
    return head + crc(head + bytes(4) + rest, 32, 0x04C11DB7)[::-1] + rest


def bits(*pairs):  # (number, of so many bits), the lowest bit first
    out = at = 0
    for value, count in pairs:
        out |= value << at
        at += count
    return out.to_bytes(at // 8 + 1, "little")


def vorbis(books, log, channels=1):
    head = b"\1vorbis" + struct.pack("<IBIiii", 0, channels, 16000, 0, 0, 0) + b"\x66\1"
    book = [(0x564342, 24), (1, 16), (1 << log, 24), (1, 1), (log - 1, 5), (1 << log, log + 1), (0, 4)]
    comments = b"\3vorbis" + struct.pack("<I", 0) + struct.pack("<I", 0) + b"\1"
    return ogg(0, 2, head) + ogg(1, 0, comments) + ogg(2, 0, b"\5vorbis" + bits((books - 1, 8), *book * books))


write("entries.ogg", vorbis(1, 22))
write("books.ogg", vorbis(256, 14))
write("channels.ogg", ogg(0, 2, b"OpusHead\1\xff" + struct.pack("<HIHBBB", 0, 48000, 0, 255, 255, 0) + bytes(range(255))))
write("pages.ogg", ogg(0, 2, b"\1vorbis" + bytes(23)), b"OggS\0\0" + bytes(20) + b"\xff" + b"\xff" * 255 + b"OggS" * 200000)
os.makedirs("hears")
json.dump({"feature_extractor_type": "WhisperFeatureExtractor"}, open("hears/preprocessor_config.json", "w"))

# ---- an adapter: each of its modules was looked for among all words of its configuration, a minute of 3 MB
os.makedirs("lora/base")
modules = ["m.%d" % i for i in range(3000)]
pairs = lambda names: json.dumps({n: {"dtype": "F32", "shape": [1, 1], "data_offsets": [4 * i, 4 * i + 4]} for i, n in enumerate(names)}).encode()
safetensors("lora/base/model.safetensors", pairs(m + ".weight" for m in modules), b"\0" * 12000)
json.dump({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 8}, open("lora/base/config.json", "w"))
safetensors("lora/adapter_model.safetensors", pairs("base_model.model." + m + end for m in modules for end in (".lora_A.weight", ".lora_B.weight")), b"\0" * 24000)
json.dump({"peft_type": "LORA", "r": 1, "lora_alpha": 1, "base_model_name_or_path": os.path.abspath("lora/base"), "target_modules": ["x"] * 150000 + modules}, open("lora/adapter_config.json", "w"))

# ---- a folder's own golden file, and holes
os.makedirs("own/.cache/huggingface")
folder("own")
header = json.dumps({"in.input_ids": {"dtype": "I64", "shape": [1, 16 * MIB], "data_offsets": [0, 128 * MIB]}}).encode()
safetensors("large.safetensors", header)
os.truncate("large.safetensors", 8 + len(header) + 128 * MIB)
entries = [b'"out.%d": {"dtype": "F32", "shape": [0], "data_offsets": [32, 32]}' % i for i in range(50000)]
safetensors("many.safetensors", b'{"in.input_ids": {"dtype": "I64", "shape": [1, 4], "data_offsets": [0, 32]}, ' + b", ".join(entries) + b"}", b"\0" * 32)
entries = {"in.input_ids": {"dtype": "I64", "shape": [1, 5000000], "data_offsets": [0, 40000000]},
           "out.last_hidden_state": {"dtype": "F32", "shape": [1], "data_offsets": [40000000, 40000004]}}
safetensors("long.safetensors", json.dumps(entries).encode())
zeros("long.safetensors", 40000004)
header = json.dumps({"in.input_ids": {"dtype": "I64", "shape": [1, 1 << 40], "data_offsets": [0, 1 << 43]}}).encode()
safetensors(folder("holes") + "model.safetensors", header)
os.truncate("holes/model.safetensors", 8 + len(header) + (1 << 43))
# Each below what is looked at by itself.
folder("holes-many")
json.dump({"weight_map": {"a%d" % i: "%d.safetensors" % i for i in range(3)}}, open("holes-many/model.safetensors.index.json", "w"))
for i in range(3):
    header = json.dumps({"a%d" % i: {"dtype": "F32", "shape": [1 << 27], "data_offsets": [0, 1 << 29]}}).encode()
    safetensors("holes-many/%d.safetensors" % i, header)
    os.truncate("holes-many/%d.safetensors" % i, 8 + len(header) + (1 << 29))

# ---- a graph: inputs that are initializers, by pairs
number = lambda n: (bytes([n & 127 | 128]) + number(n >> 7)) if n > 127 else bytes([n])
field = lambda key, data: bytes([key << 3 | 2]) + number(len(data)) + data
n = 40000
graph = b"".join(field(11, field(1, b"i%d" % i)) + field(5, field(8, b"i%d" % (n - 1 - i))) for i in range(n)) + field(12, field(1, b"out"))
write("pairs.onnx", field(7, graph))
weight = lambda place, name=b"w": field(5, field(8, name) + field(13, field(1, b"location") + field(2, place)))
names = b"".join(field(11, field(1, b"x%d" % i) + b"\x12\x0b\x0a\x09\x08\x01\x12\x05\x0a\x03\x12\x01b") for i in range(40000))
write("names.onnx", field(7, names + field(12, field(1, b"out"))))
write("endless.onnx", field(7, weight(b"/proc/self/pagemap")))
write("away.onnx", field(7, weight(b"../secret")))
# An address of the engine's memory, and a compiled context, whose file an attribute names.
write("address.onnx", field(7, weight(b"*/_ORT_MEM_ADDR_/*")))
os.makedirs("contexts")
os.symlink("../private", "contexts/link.bin")
write("contexts/context.onnx", field(7, field(1, field(4, b"EPContext") + field(7, b"com.microsoft") + field(5, field(1, b"ep_cache_context") + field(4, b"link.bin")))))
write("b", b"b" * MIB)
spelled = lambda i: b"".join(b"./" if i >> k & 1 else b"/" for k in range(15)).join([b"./", b"b"])
write("spelled.onnx", field(7, b"".join(weight(spelled(i), b"w%d" % i) for i in range(20000))))
write("functions.onnx", field(7, weight(b"0", b"w")) + b"\xca\x01\x00" * 150000) # each of which imports no operators
write("places.onnx", field(7, b"".join(weight(b"%x" % i, b"w%d" % i) for i in range(20000))))
write("fields.onnx", field(7, field(5, field(8, b"")) * (5 * MIB)))
write("operators.onnx", field(7, b"".join(field(1, field(4, b"o%d" % i) + field(7, b"d%d" % i)) for i in range(60000))))
write("wide.onnx", field(7, b"".join(field(12, field(1, b"o%d" % i)) for i in range(2000))))
write("deep.onnx", field(7, field(11, field(1, b"x") + field(2, field(1, field(2, field(1, b"\x08\x01") * MIB))))))
write("nodes.onnx", field(7, b"\x0a\0" * MIB))
nested = b""
for i in range(16):
    nested = b"\x0a\0" * 4500 + (field(1, field(5, field(6, nested))) if nested else b"")
write("nested.onnx", field(7, nested + field(12, field(1, b"y"))))
write("ports.onnx", field(7, field(1, b"\x12\0" * MIB) + field(12, field(1, b"y"))))
write("sparse.onnx", field(7, field(15, bytes([3 << 3]) + number(400000000)) + field(12, field(1, b"y"))))
write("empties.onnx", field(7, b"\x0a\0" * (5 * MIB) + b"\x5a\0" * (5 * MIB)))
# A number of a few bytes is multiplied by the shape of the input: 3 GB of ones. The engine knows that when it is too late.
text, varint = (lambda key, s: field(key, s.encode())), (lambda key, n: bytes([key << 3]) + number(n))
node = lambda kind, takes, gives: field(1, b"".join(text(1, t) for t in takes) + text(2, gives) + text(4, kind))
dims = lambda *names: field(2, field(1, varint(1, 1) + field(2, b"".join(field(1, text(2, d) if d else varint(1, 1)) for d in names))))
graph = (node("Shape", ["x"], "s") + node("Mul", ["s", "n"], "m") + node("ConstantOfShape", ["m"], "ones") + node("ReduceSum", ["ones"], "y") +
         text(2, "g") + field(5, varint(1, 1) + varint(2, 7) + text(8, "n") + field(9, struct.pack("<q", 750000000))) +
         field(11, text(1, "x") + dims("batch")) + field(12, text(1, "y") + dims("")))
relu = node("Relu", ["x"], "y") + text(2, "g") + field(11, text(1, "x") + dims("batch", "n")) + field(12, text(1, "y") + dims("batch", "n"))
write("relu.onnx", varint(1, 8), field(8, varint(2, 17)), field(7, relu))
write("computed.onnx", varint(1, 8), field(8, varint(2, 17)), field(7, graph))
# What an engine says of it is held against its own words: letters of its choice, and as many places where they begin.
odd = (field(1, text(1, "x") + text(2, "y") + text(4, " " + "a" * 900 + "b may be, cannot be read: ") + text(7, "in which a folder")) + text(2, "g") +
       field(11, text(1, "x") + dims("n")) + field(12, text(1, "y") + dims("n")))
write("letters.onnx", varint(1, 8), field(6, b"a" * (4 * MIB)), field(8, varint(2, 17)), field(8, text(1, "in which a folder") + varint(2, 1)), field(7, odd))
PY
run="run --on null --runs 1 --no-conform --no-db"

# Checkpoints that cannot be opened.
for name in header-value header-members index index-members config pickle-legacy zip holes holes-many; do
	bounded 1 2 100 "$ASSAY" inspect "$name"
done
has err 'holes-many.*files of 1610[0-9]* bytes, of which their disk holds [0-9]*: the rest was never written'
code 1 "$ASSAY" inspect zip-negated
has err 'a tensor with metadata'
code 1 "$ASSAY" inspect zip-beside
has err 'holds files beside the folder of data.pkl'
bounded 1 1 100 "$ASSAY" inspect columns
has err 'with those before it orders more than 134217728 columns'
for name in named computed; do
	code 1 "$ASSAY" inspect "$PWD/$name"
	has err 'one of its files of weights is called (converted-0.safetensors|computed-weights), as another one beside its graph is'
done
if [ -n "${ASSAY_LONG:-}" ]; then # by the same count as the next
	bounded 1 4 100 "$ASSAY" inspect words
	has err 'the lists of modules of its quantization_config take more than 1000000000 steps'
fi
bounded 1 4 100 "$ASSAY" inspect blocks
has err 'the lists of modules of its quantization_config take more than 1000000000 steps'
code 1 "$ASSAY" inspect state
has err 'quant_state.bitsandbytes__nf4": has [0-9]* bytes; at most 1024 are read'
code 1 "$ASSAY" inspect zip-comment
has err 'two tables of contents end in it'
code 1 "$ASSAY" inspect zip-letters
has err 'archive/data.pkl: is in it twice but for capital letters|archive/DATA.PKL: is in it twice but for capital letters'
bounded 1 2 100 "$ASSAY" inspect pickle-name
has err '8388608 bytes; at most 1048576'
for name in pickle-shards zip-shards pickle-ignored; do
	bounded 1 2 100 "$ASSAY" inspect $name
	has err 'bytes of headers'
done
# As many tensors as are read, with long names, in ten files and in one pickle: 152 MB, with the headers that had been read and each entry twice.
bounded 1 2 100 "$ASSAY" inspect tensors
has err 'tensor "z": \[1\] of F32 takes 4 bytes'
bounded 0 2 100 "$ASSAY" inspect pickle-tensors
for name in pickle-key pickle-nested; do                 # the tensor is there, and nothing reads it
	bounded 0 2 100 "$ASSAY" inspect "$name"
done
for name in keys strings tensors experts; do
	bounded 1 1 100 "$ASSAY" inspect gguf-$name.gguf
done
bounded 1 2 100 "$ASSAY" inspect header-entries
has err 'tensor "0": its entry in the header holds more'

# The Hub's list, and results of other tools.
(cd hub && exec python3 -m http.server --bind 127.0.0.1 0) >"$work/port" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do grep -q 'port [1-9]' "$work/port" && break; sleep 0.1; done
hub=http://127.0.0.1:$(grep -o 'port [0-9]*' "$work/port" | head -1 | cut -d' ' -f2)/
HF_HUB_OFFLINE='' no_proxy=127.0.0.1 HF_ENDPOINT=$hub bounded 1 2 100 "$ASSAY" fetch a/b
has err 'the list of files'
bounded 1 2 100 "$ASSAY" import llama.json
has err 'MiB of memory'
bounded 1 2 100 "$ASSAY" import llama-short.json
HF_HUB_OFFLINE='' no_proxy=127.0.0.1 HF_ENDPOINT=$hub bounded 1 2 100 "$ASSAY" fetch a/c --dry-run
has err 'neither model.safetensors'
bounded 1 2 100 "$ASSAY" import {short,newlines,llama,app,commas}.csv
for name in short newlines llama app; do
	has err "^assay: $name.csv: [0-9]+ lines; at most"
done
has err 'commas.csv: more than 2097152 cells'

# Names that no graph reads, and that share the bytes of one tensor: each was looked at, 22 s of 11 MB, and 134 s in a run.
bounded 1 1 100 "$ASSAY" build places -o places-built
has err 'tensors up to x[0-9]*.relative_position_index that ClapAudioModel does not compute with share its bytes more than 4 times'

# Configurations: a row, no abort.
refused()
{
	bounded 2 20 400 "$ASSAY" $run --synthetic "$1" --json
	json "d[0][\"verdict\"] == \"unsupported\" and \"$2\" in d[0][\"cause\"]"
}
# A name of 2 MB, of control characters, was printed.
for option in '' --json; do
	# shellcheck disable=SC2086
	bounded 2 20 400 "$ASSAY" inspect type $option
	[ "$(wc -c <"$work/out")" -lt 8000 ] || fail "inspect $option prints $(wc -c <"$work/out") bytes"
	has out '\(2000000 bytes\)'
done
# The last is none to refuse: 40 layers share one table of 4 MiB.
bounded 2 20 200 "$ASSAY" $run --synthetic layers whisper experts window ones distances --json
json '[r["verdict"] for r in d] == ["unsupported"] * 5 + ["right"] and all(w in r["cause"] for r, w in zip(d, ("num_hidden_layers: 100000; at most 1024",
	"encoder_layers: 2147483647; at most 1024", "1000 layers of 100000 experts", "tables of more than 32 MiB", "all layers together make tables of more than 1024 MiB")))'
[ -z "${ASSAY_LONG:-}" ] || refused whisper-decoder 'decoder_layers: 2147483647; at most 1024'
# As many experts as a graph may have, of which one layer alone is too large: the graph was built to learn that, 2 s and 350 MB of it.
bounded 0 2 100 "$ASSAY" inspect experts-most
bounded 1 1 100 "$ASSAY" inspect lora
has err '"target_modules" has 153000 entries for 6000 tensors: no adapter has as many'
# A graph that reaches the values that it may have: 129 MB.
bounded 2 2 100 "$ASSAY" inspect values
if [ -n "${ASSAY_LONG:-}" ] && has_platform cpu; then
	bounded 2 4 100 "$ASSAY" run --on cpu --runs 1 --no-conform --no-db --synthetic experts-most --json
	json 'd[0]["verdict"] == "no_memory" and "it needs more than 769" in d[0]["cause"]'
fi
# Planning is inside the timeout: a thousand layers of experts are built, and built again for what would fit.
if [ -n "${ASSAY_LONG:-}" ]; then
	bounded 2 60 1000 "$ASSAY" $run --synthetic deep --timeout 0.1 --memory 0.01 --json
	json 'd[0]["verdict"] == "timeout" and d[0]["cause"].startswith("plan: ")'
fi

# A child that says much: its parent keeps what fits, and ends it.
# And one whose own code gets no memory ends with a sentence, which is not a crash of the engine.
cat >talker <<'SH'
#!/bin/sh
case " $* " in
*' --plan '*) exec "$ASSAY" "$@" ;;          # the model is read by assay
esac
read -r asked
case $asked in
*bert-memory*)
	echo "assay: out of memory (1048576 bytes)" >&2
	exit 1 ;;
esac
exec python3 talker.py
SH
cat >talker.py <<'PY'
import os
line = b'{"event":"placement","nodes":[' + b'{},' * (3 << 20) + b'{}]}\n'
for _ in range(3):
    for at in range(0, len(line), 65536):
        os.write(3, line[at:at + 65536])
os.write(3, b'{"event":"error","status":"failed","text":"the end"}\n{"event":"done"}\n')
PY
chmod +x talker
"$ASSAY" conform --on null "$SOURCE/tests/conform/cases/bert" >/dev/null 2>&1          # writes the case's weights, which are nobody's synthetic ones
cp -r "$(dirname "$(ls "$ASSAY_CACHE"/conform/*/model.safetensors)")" bert || fail "no weights"
cp -r bert bert-memory
ASSAY_PROGRAM=$work/talker bounded 2 20 400 "$ASSAY" $run bert bert-memory --json
json 'd[0]["verdict"] == "failed" and "memory" in d[0]["cause"]'
json 'd[1]["verdict"] == "no_memory" and "an allocation failed" in d[1]["cause"]'

# What a download says of its own answers is not asked; what a file of inputs needs is predicted.
echo '{}' >bert/case.json && cp "$SOURCE/tests/conform/cases/bert/io.safetensors" bert/
cp -r bert bert-hub && mkdir -p bert-hub/.cache/huggingface clone/.git && cp -r bert clone/
cp -r bert bert-scope && touch bert-scope/.msc
bounded 0,2,3 20 400 "$ASSAY" $run bert-hub clone/bert bert bert-scope --json
json 'all(r["verdict"] == "right" and r["golden_file"] is None and r["reference"] != "golden" for r in (d[0], d[1], d[3]))'
json 'd[2]["golden_file"] == "io.safetensors"'
# One of inputs alone would say how large the question is, and no row named it.
python3 - bert/io.safetensors <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
open(sys.argv[1], "wb").write(data.replace(b'"out.', b'"was.'))
PY
bounded 0 20 400 "$ASSAY" $run bert --json
json 'd[0]["sequence"] == 64 and d[0]["inputs_note"] is None'
bounded 0 20 400 "$ASSAY" $run bert --golden bert/io.safetensors --json
json 'd[0]["sequence"] < 64 and "inputs from bert/io.safetensors, which holds no outputs" in d[0]["inputs_note"]'
bounded 2 20 400 "$ASSAY" $run bert --golden large.safetensors --memory 0.12 --json
json 'd[0]["verdict"] == "no_memory" and d[0]["cause"].startswith("not tried")'
bounded 1 20 400 "$ASSAY" $run bert --golden golden.safetensors
bounded 1 1 100 "$ASSAY" $run bert --data many.jsonl # each value was read six times
has err 'many.jsonl, line 4: with the lines before it, more values than are read at once'
bounded 1 8 400 "$ASSAY" $run bert --golden many.safetensors
has err '50001 tensors; at most 10000'
bounded 2 8 400 "$ASSAY" $run bert --golden long.safetensors --json
json 'd[0]["verdict"] == "unsupported" and "a sequence of 5000000 tokens: this model takes at most" in d[0]["cause"]'

# A folder's link to a file of the user's: build copied what it led to, for everybody to read. In a Hub cache links lead to blobs.
echo "a line of this machine" >private
"$ASSAY" synth "$SOURCE/tests/conform/cases/mt5" -o models--a--hubbed/snapshots/1 >/dev/null || fail "no weights of mt5"
mkdir models--a--hubbed/blobs && echo '{}' >models--a--hubbed/blobs/0 && ln -s ../../blobs/0 models--a--hubbed/snapshots/1/tokenizer.json
bounded 0 20 400 "$ASSAY" build models--a--hubbed/snapshots/1 -o built
[ "$(cat built/tokenizer.json)" = '{}' ] || fail "a file of the Hub cache is not copied"
ln -sf "$work/private" models--a--hubbed/snapshots/1/tokenizer.json
bounded 1 20 400 "$ASSAY" build models--a--hubbed/snapshots/1 -o built-2
has err 'leads outside of the model'
[ ! -e built-2/tokenizer.json ] || fail "a link's file was copied"

# A case whose gen.json repeats a row: 122 KB of it took 7.6 GB.
cp -r "$SOURCE/tests/conform/cases/llama" case-rows
python3 - case-rows/gen.json <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
for run in d if isinstance(d, list) else d.get("runs", [d]):
    run["input_ids"] = [run["input_ids"][0]] * 65
json.dump(d, open(sys.argv[1], "w"))
PY
if has_platform cpu; then
	bounded 2 20 600 "$ASSAY" conform --on cpu case-rows
	grep -q 'at most 64 by 4096' "$work/out" "$work/err" || fail "a prompt of 65 rows: $(cat "$work/out" "$work/err")"
fi

# Graphs, and of the checkpoints above two: each is a row of one command.
# Each of 40,000 inputs was looked up in all of them, for the number that its open dimension's name stands for. Fields without end: counted
# at each of the passes before the child is started. Where their weights lie: nothing outside of the folder is opened, one file is read
# once, and a model that is refused is a row.
bounded 2 8 120 "$ASSAY" $run header-value pickle-ignored pairs.onnx empties.onnx names.onnx fields.onnx endless.onnx places.onnx spelled.onnx --timeout 5 --json
json 'len(d) == 9 and d[0]["verdict"] == "failed" and "its header" in d[0]["cause"] and "bytes of headers" in d[1]["cause"]'
json '"a graph of more than 1024 inputs or outputs" in d[4]["cause"]'
json '"more than 8388608 fields" in d[3]["cause"] and "more than 262144 initializers" in d[5]["cause"]'
json '[("outside of the model" in r["cause"], "20000 files" in r["cause"]) for r in d[6:]] == [(True, False), (False, True), (False, False)]'
# Room for the sets of operators that each of 150,000 functions may import: 1.3 GB.
bounded 2 2 120 "$ASSAY" $run functions.onnx
for name in away address contexts/context; do
	bounded 0 1 100 "$ASSAY" inspect $name.onnx
	has out '^refused by all: .*outside of the model'
done
# A test of an operator is a graph, too: its address was an engine's.
for name in away address; do mkdir -p operators/$name && cp $name.onnx operators/$name/model.onnx; done
"$ASSAY" operators operators --on null --json >"$work/out" 2>"$work/err"
json 'len(d) == 2 and all(r["verdict"] == "unjudged" and "outside of the model" in r["reason"] for r in d)'
# A million empty nodes: an engine took 1.8 GB of two before it refused them.
if has_platform cpu; then
	bounded 2 2 100 "$ASSAY" run --on cpu --runs 1 --no-conform --no-db nodes.onnx --json
	json 'd[0]["cause"].endswith("a graph of more than 524288 nodes; no model has so many")'
fi
# 72,000 of them in 16 branches within each other: an engine keeps each in all that are around it.
bounded 2 2 100 "$ASSAY" $run nested.onnx ports.onnx sparse.onnx --json
json 'all(r["cause"].endswith("a graph of more than 524288 nodes; no model has so many") for r in d[:2])'
json 'd[2]["cause"].endswith("weights that an engine makes many times larger; no model has such")' # 3.1 GB of 201 bytes
bounded 1 1 100 "$ASSAY" inspect wide.onnx # 20,000 outputs took 24 s of an engine
has err 'a graph of more than 1024 inputs or outputs; no model has so many$'
# A million dimensions: 1 s and 319 MB of an engine.
bounded 1 1 100 "$ASSAY" inspect deep.onnx
has err 'an input or output of more than 8 dimensions'
if has_platform cpu; then
	bounded 2 2 100 "$ASSAY" run --on cpu --runs 1 --no-conform --no-db deep.onnx --json
	json '"an input or output of more than 8 dimensions" in d[0]["cause"]'
fi
if has_platform cpu; then
	bounded 2 2 100 "$ASSAY" run --on cpu --runs 1 --no-conform --no-db letters.onnx --json
	json 'd[0]["verdict"] == "unsupported"'
fi
# A number that is none, from a file of the user's: engines need not agree on it, and the platform was called wrong.
python3 - <<'PY'
import struct
for name, bad in ("nan", float("nan")), ("inf", float("-inf")), ("good", 1.0):
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }".ljust(117) + b"\n"
    open(name + ".npy", "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + struct.pack("<4f", 1, 2, bad, 4))
PY
for name in $(has_platform cpu && echo good nan ${ASSAY_LONG:+inf}); do
	code $([ $name = good ] && echo 0 || echo 2) "$ASSAY" run --on cpu --runs 1 --no-conform --no-db relu.onnx --input x=$name.npy --json
	[ $name != good ] || continue
	json 'd[0]["verdict"] == "unsupported" and "number 3 of" in d[0]["cause"] and "nothing could be judged" in d[0]["cause"]'
done
# Inputs of 4 GiB were made up and hashed for a minute; 2 of 2^50 bytes overflowed no sum.
bounded 2 1 100 "$ASSAY" $run relu.onnx --dim batch=1073741824 --json
json 'd[0]["verdict"] == "no_memory" and "its inputs take 4.0 GiB (predicted)" in d[0]["cause"]'
bounded 2 1 100 "$ASSAY" $run relu.onnx --shape x:1073741824,1048576 --json
json 'd[0]["verdict"] == "no_memory" and "its inputs take" in d[0]["cause"]'
if has_platform cpu; then
	ASSAY_MEMORY=0.25 bounded 2 60 1000 "$ASSAY" run --on cpu --runs 1 --no-conform --no-db computed.onnx --json
	json 'd[0]["verdict"] == "no_memory" and "limit of 256 MiB" in d[0]["cause"] and d[0]["cause"].endswith("as ASSAY_MEMORY says")'
fi
# Every node of an operator of its own: the list of them took 2.6 GB, of 7 MB; these are a fifth of that.
bounded 1 2 100 "$ASSAY" inspect operators.onnx
has err 'names more than [0-9]* operators'
# 270 MB were taken for each before it was refused: the longest is known when its samples are counted.
for name in equal.flac tiny.mp3; do
	bounded 1 1 100 "$ASSAY" preprocess hears $name
	has err "$name: more than 67108864 samples"
done
while IFS='|' read -r name words; do
	bounded 1 1 100 "$ASSAY" preprocess hears "$name"
	has err "$name: $words"
done <<'END'
long.flac|says that it has 70000 samples, and 65535 can be read
entries.ogg|codebook 1 of its Vorbis stream has 4194304 entries of 1 numbers: no encoder has such
books.ogg|codebook 33 of its Vorbis stream has 16384 entries of 1 numbers: no encoder has such
channels.ogg|255 channels in an Ogg file; at most 8 are read
pages.ogg|more than 64 of its Ogg pages are damaged
END
finish
