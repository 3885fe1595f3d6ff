# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A stranger's conformance case: each refusal is quick and small, it says what is wrong, nothing is left of it, and the cases behind it are
# run.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cd "$work" || exit 1
python3 - "$SOURCE/tests/conform" <<'PY' || exit 1
import json, os, shutil, struct, sys

CASES = sys.argv[1] + "/"


def copy(name, of):
    shutil.copytree(CASES + of, name)
    return name + "/"


def write(path, text):
    open(path, "w").write(text)


def change(path, how):
    content = json.load(open(path))
    how(content)
    json.dump(content, open(path, "w"))


def tensors(path, counts, value=0.0):
    header, at = {}, 0
    for name, count in counts.items():
        header[name] = {"dtype": "F32", "shape": [count], "data_offsets": [at, at + 4 * count]}
        at += 4 * count
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.write(struct.pack("<f", value) * (at // 4) if value else b"")
        f.truncate(8 + len(text) + at)


# Weights of 2 GB for a configuration that is none, is of no model that is known, or does not use them; of a pipeline in many folders.
LARGE = "x\tF32\t500000000\n"
for name, config in ("no_config", "{"), ("no_model", '{"model_type":"none"}'):
    folder = copy(name, "cases/bert-model")
    write(folder + "config.json", config)
    write(folder + "weights.tsv", LARGE)
write(copy("small", "cases/bert-model") + "config.json", '{"model_type":"none"}')
open(copy("unread", "cases/bert-model") + "weights.tsv", "a").write(LARGE)
folder = copy("folders", "pipeline/text-classification-roberta-pair")
for i in range(6):
    os.mkdir(folder + "part%d" % i)
    write(folder + "part%d/weights.tsv" % i, "x\tF32\t30000000\n")
change(copy("options", "pipeline/text-classification-roberta-pair") + "pipeline.json", lambda j: j.update(options=1))


def all_new(j, count, top2):
    j["runs"] = j["runs"][:1]
    run = j["runs"][0]
    run["generated"] = [[8] * count for _ in run["generated"]]
    if top2:
        run["top2"] = [[[8, 1, 9, 0]] * count for _ in run["generated"]]


change(copy("generated", "cases/afmoe") + "gen.json", lambda j: all_new(j, 20000, True))
change(copy("listed", "cases/afmoe") + "gen.json", lambda j: j["runs"][0].update(input_ids=[[1] * 200000] + [[]] * 100000))
change(copy("top2", "cases/afmoe") + "gen.json", lambda j: all_new(j, 200, False))
# A scheduler with 1000 steps of 4 MB, of which one is there; with 5 of 64 MB.
for name, steps, count in ("one_step", 1000, 1 << 20), ("steps", 5, 1 << 24), ("no_steps", 1000, 100):
    folder = copy(name, "schedulers/ddpm")
    change(folder + "case.json", lambda j: j.update(num_inference_steps=steps))
    tensors(folder + "io.safetensors", {"step.0": count})

# All that a scheduler is to give but the last number of each is NaN.
path = copy("nan", "schedulers/ddim") + "io.safetensors"
data = bytearray(open(path, "rb").read())
n = struct.unpack("<Q", data[:8])[0]
for name, at in json.loads(data[8:8 + n]).items():
    size, nan = {"F32": (4, struct.pack("<f", float("nan"))), "F64": (8, struct.pack("<d", float("nan")))}.get(at.get("dtype"), (0, b""))
    first, end = (8 + n + x for x in at.get("data_offsets", (0, 0)))
    if size and end - first > size:
        data[first:end - size] = nan * ((end - first) // size - 1)
open(path, "wb").write(data)


def meta(name, of, **content):
    write(copy(name, of) + "meta.json", json.dumps(content))


def picture(side, **output):
    made = {"name": "va", "width": side, "height": side, "mode": "RGB"}
    return [{"case": "s0", "images": [made] * 4, "outputs": {"pixel_values": {
        "shape": [4, 3, 224, 224], "stride": 509, "dtype": "float32", **output}}}]


def sound(samples, stride=1):
    return [{"case": "s0", "audio": [{"name": "v", "samples": samples, "rate": 16000}], "options": {},
             "outputs": {"input_features": {"shape": [1, 80, 3000], "stride": stride, "dtype": "float32"}}}]


meta("pictures", "preprocess/vit", cases=picture(8000))
meta("many", "preprocess/vit", cases=picture(1000) * 60)
meta("stride", "preprocess/vit", cases=picture(8, stride=10 ** 9))
meta("samples", "preprocess/whisper", tolerance=1e-4, cases=sound(10 ** 7) * 50)
meta("no_tolerance", "preprocess/whisper", cases=sound(4800))
# Wrong in every element, and its own word for it that this is right.
meta("forged", "preprocess/whisper", tolerance=1e300, cases=sound(4800))
tensors("forged/expected.safetensors", {"s0/input_features": 240000}, 12345.0)
for name, line in (("misspelled", '{"decode_ids":[1,2],"decodedd":"zzz"}'), ("empty", '{"batch":[],"out":[]}'), ("no_batch", '{"batch":"x"}'),
                   ("fewer", '{"batch":["a"],"out":[]}')):
    write(copy(name, "tokenizer/gpt2") + "cases.jsonl", line + "\n")
PY
before=$SOURCE/tests/conform/schedulers/ddim
behind=$SOURCE/tests/conform/schedulers/euler
# refuses NAME WORDS
refuses()
{
	bounded 2 1 100 "$ASSAY" conform "$1"
	has out "^FAIL $1  .*$2"
	has out '^0 passed, 1 failed$'
}
refuses no_config 'config.json: not valid JSON'
refuses no_model 'the model type none is not supported'
refuses small 'the model type none is not supported'
refuses unread 'the tensor x was not read'
refuses folders 'the weights of all folders have more than 128 MiB'
refuses options 'pipeline.json: options is no object'
refuses generated '20000 new tokens; at most 64 of 256'
refuses listed 'the prompt of 100001 by 200000 tokens; at most 64 by 4096'
refuses top2 'top2 should be four numbers a token'
refuses one_step '1000 steps of 1048576 elements'
refuses steps '5 steps of 16777216 elements'
refuses no_steps 'not every step is there'
bounded 3 1 100 "$ASSAY" conform nan
has out '^FAIL nan  .*: nan off, allowed'
refuses pictures 'its pictures have more than 16777216 samples together'
refuses many 'more than 33554432 elements with those before it'
refuses stride 'its stride is not 1 to 16384'
refuses samples 'its sounds have more than 2097152 samples together'
refuses no_tolerance 'tolerance is a number from 0 to 0.001'
refuses forged 'tolerance is a number from 0 to 0.001'
refuses misspelled 'line 1: nothing in it can be compared'
refuses empty 'line 1: nothing in it can be compared'
refuses no_batch 'line 1: nothing in it can be compared'
refuses fewer 'line 1: a batch, and not as many encodings of it'
# A line of what a link leads to was told.
cp -r "$SOURCE/tests/conform/cases/bert" linked && echo 'a line of this machine' >secret && ln -sf "$work/secret" linked/weights.tsv
refuses linked 'linked/weights.tsv: a link that leads out of the folder'
lacks out 'a line of this'
# Also of afmoe, which is made and opened before the case's gen.json is refused.
left=$(find "$ASSAY_CACHE/conform" -name '*.safetensors' 2>/dev/null | wc -l)
[ "$left" = 0 ] || fail "left of refused cases: $left files of weights"
# No case takes those after it along, not even one that takes all the memory that it may have.
python3 - "$SOURCE/tests/conform/tokenizer/gpt2" <<'PY' || exit 1
import json, os, sys
os.mkdir("eats")
content = json.load(open(sys.argv[1] + "/tokenizer.json"))
content["added_tokens"] = []
content["model"] = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": "t0000000"}
vocabulary = ",".join(['"t%07d":%d' % (i, i) for i in range(900000)]) # a dictionary of them takes four times as long
open("eats/tokenizer.json", "w").write(json.dumps(content).replace('{"": 0}', "{" + vocabulary + "}"))
open("eats/cases.jsonl", "w").write('{"text":"a","ids":[0]}\n')
PY
bounded 2 3 300 "$ASSAY" conform --memory 0.03 "$before" eats "$behind"
has out '^ok   ddim'
has out '^FAIL eats  '
has out '^ok   euler'
has out '^2 passed, 1 failed$'
finish
