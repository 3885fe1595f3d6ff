# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# --data of real files: recordings, detections, masks and folders of classes, each against what `assay pipeline` (held against transformers) says of the same files.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
cd "$work" || exit 1
quick="--on cpu --runs 3 --no-conform"

# model TASK: synthetic weights and all that prepares its inputs.
model() {
	"$ASSAY" synth "$SOURCE/tests/conform/pipeline/$1" -o "$1" >out 2>err || fail "synth: $(cat err)"
	cp "$SOURCE/tests/conform/pipeline/$1"/*.json "$SOURCE/tests/conform/pipeline/$1"/input* "$1" || fail "copy"
}
# set FOLDER and, from standard input, Python that prints lines of its set.jsonl; d: what the last command printed.
set_of() {
	python3 -c 'import json, sys; d = json.load(open("out")) if open("out").read(1) in "[{" else None
exec(sys.stdin.read())' >"$1/set.jsonl" || fail "no set"
}

# Words: of what the model says two are left out, and one text is right.
model automatic-speech-recognition-wav2vec2
m=automatic-speech-recognition-wav2vec2
code 0 "$ASSAY" pipeline --no-db --no-reference $m $m/input3.wav $m/input5.wav --json
set_of $m <<'PY'
said = [a["answer"]["text"] for a in d["answers"]]
print(json.dumps({"sound": "input3.wav", "transcript": said[0] + " and more"}))
print(json.dumps({"sound": "input5.wav", "transcript": said[1]}))
open("words", "w").write(str(2 / (len(said[0].split()) + 2 + len(said[1].split()))))
PY
code 0 "$ASSAY" run $m $quick --data $m/set.jsonl --json
json 'd[0]["data_metric"] == "word error rate" and abs(d[0]["data_value"] - float(open("words").read())) < 1e-9 and d[0]["data_reference"] == d[0]["data_value"] and d[0]["data_examples"] == 2'

# The same of a model that writes: with other words in the middle, of which the distance is computed here, by its definition.
model automatic-speech-recognition-whisper
m=automatic-speech-recognition-whisper
code 0 "$ASSAY" pipeline --no-db --no-reference $m $m/input0.wav --json
set_of $m <<'PY'
from functools import lru_cache
said = d["answers"][0]["answer"]["text"]
wanted = ["so"] + said.split()[:1] + ["on", "and"] + said.split()[2:] + ["end"]
@lru_cache(None)
def edits(i, k): # of the first i words of what is said before the first k that are wanted
    return i + k if not i or not k else min(edits(i - 1, k) + 1, edits(i, k - 1) + 1, edits(i - 1, k - 1) + (said.split()[i - 1] != wanted[k - 1]))
open("words", "w").write(str(edits(len(said.split()), len(wanted)) / len(wanted)))
print(json.dumps({"sound": "input0.wav", "transcript": "  ".join(wanted) + " "}))
PY
code 0 "$ASSAY" run $m $quick --data $m/set.jsonl --json
json 'd[0]["data_metric"] == "word error rate" and abs(d[0]["data_value"] - float(open("words").read())) < 1e-9 and d[0]["data_value"] > 0 and d[0]["data_reference"] == d[0]["data_value"] and d[0]["data_unlike"] == 0'

# Masks: all of it is one class, and the pipeline says which share of the picture it is of the classes that it finds.
model image-segmentation-segformer
m=image-segmentation-segformer
code 0 "$ASSAY" pipeline --no-db --no-reference $m $m/input0.png --json
python3 - >png <<'PY'
import json, struct, zlib
d = json.load(open("out"))
width, height = struct.unpack(">II", open("image-segmentation-segformer/input0.png", "rb").read()[16:24])
def png(path, of, colour=0, width=width):
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + of * width for _ in range(height))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))
number = json.load(open("image-segmentation-segformer/config.json"))["label2id"]
answer = d["answers"][0]["answer"]
first = answer[0]
png("image-segmentation-segformer/mask.png", bytes([number[first["label"]] + 1])) # do_reduce_labels: class 0 is not judged
png("image-segmentation-segformer/far.png", b"\x63")
png("image-segmentation-segformer/red.png", b"\1\0\0", 2)
png("image-segmentation-segformer/narrow.png", b"\1", width=width - 1)
print(d["answers"][0]["pictures"][first["mask"]["png"]]["share"] / len(answer))
PY
echo '{"image": "input0.png", "mask": "mask.png"}' >$m/set.jsonl
code 0 "$ASSAY" run $m $quick --data $m/set.jsonl --json
json 'd[0]["data_metric"] == "mean IoU" and abs(d[0]["data_value"] - float(open("png").read())) < 1e-6 and d[0]["data_reference"] == d[0]["data_value"] and d[0]["data_low"] is None'
# Where two files have settings, those of processor_config.json are taken, and of its masks as of its pictures.
cp -r $m both
python3 - both <<'PY'
import json, sys
name = sys.argv[1] + "/preprocessor_config.json"
d = json.load(open(name))
json.dump({"image_processor": d}, open(sys.argv[1] + "/processor_config.json", "w"))
json.dump({**d, "do_reduce_labels": False, "do_normalize": not d.get("do_normalize", True)}, open(name, "w"))
PY
code 0 "$ASSAY" run both $quick --data both/set.jsonl --json
json 'abs(d[0]["data_value"] - float(open("png").read())) < 1e-6'
for x in far:'the mask has the class 98, and the model 6 classes' red:'a mask is a grey picture, and this one has colours' narrow:'narrow.png: a mask of '; do
	echo "{\"image\": \"input0.png\", \"mask\": \"${x%%:*}.png\"}" >$m/bad.jsonl
	code 2 "$ASSAY" run $m $quick --data $m/bad.jsonl --json
	has out "\"cause\": \"--data.*${x#*:}"
done

# Boxes: one where something is found, and one where nothing can be.
model object-detection-detr
m=object-detection-detr
code 0 "$ASSAY" pipeline --no-db --no-reference $m $m/input0.png --option threshold=0.3 --json
set_of $m <<'PY'
best = max(d["answers"][0]["answer"], key=lambda x: x["score"])
b = best["box"]
box = [b["xmin"], b["ymin"], b["xmax"] - b["xmin"], b["ymax"] - b["ymin"]]
print(json.dumps({"image": "input0.png", "boxes": [{"label": best["label"], "box": box}, {"label": best["label"], "box": [0, 0, 9, 9], "crowd": True}]}))
PY
code 0 "$ASSAY" run $m $quick --data $m/set.jsonl --json
json 'd[0]["data_metric"] == "mAP" and 0 < d[0]["data_value"] <= d[0]["data_map50"] <= 1 and d[0]["data_reference"] == d[0]["data_value"]'
echo '{"image": "input0.png", "boxes": [{"label": 0, "box": [60000, 60000, 5, 5]}]}' >$m/far.jsonl
code 0 "$ASSAY" run $m $quick --data $m/far.jsonl
has out '^  data +mAP 0 of 1 example, float32.s 0;'

# Folders of classes; among 7 classes there are 5 largest.
model image-classification-vit
m=image-classification-vit
mkdir -p set/tench set/teapot set/2
cp $m/input0.png $m/input1.jpg set/tench
cp $m/input2.png set/teapot
cp $m/input3.png set/2
touch set/tench/.hidden
code 0 "$ASSAY" pipeline --no-db --no-reference $m set/tench/input0.png set/tench/input1.jpg set/teapot/input2.png set/2/input3.png --option top_k=5 --json
python3 - >wanted <<'PY'
import json
answers = [a["answer"] for a in json.load(open("out"))["answers"]]
labels = ["tench", "tench", "teapot", "tabby cat"]
print(sum(a[0]["label"] == l for a, l in zip(answers, labels)) / 4, sum(l in [x["label"] for x in a] for a, l in zip(answers, labels)) / 4)
PY
code 0 "$ASSAY" run $m $quick --data set --json
json '[d[0]["data_value"], d[0]["data_top5"]] == [float(x) for x in open("wanted").read().split()] and d[0]["data_examples"] == 4 and d[0]["data_metric"] == "accuracy" and d[0]["data_top5_reference"] == d[0]["data_top5"]'
touch set/tench/notes.pdf
code 1 "$ASSAY" run $m $quick --data set
has err 'tench/notes.pdf is neither a picture nor a sound nor a text'
rm set/tench/notes.pdf
mkdir set/dragon
cp $m/input3.png set/dragon
code 1 "$ASSAY" run $m $quick --data set
has err '"dragon" is not in the configuration'

# What is refused before anything runs.
cd $m || exit 1
while IFS='|' read -r line words; do
	echo "$line" >bad.jsonl
	code 1 "$ASSAY" run . $quick --data bad.jsonl
	has err "$words"
done <<'LINES'
{"image": "input0.png", "transcript": "  "}|transcript has no word
{"image": "input0.png", "boxes": [{"label": 1, "box": [1, 1, 0, 4]}]}|box 1: .*is wanted
{"image": "input0.png", "boxes": [{"label": 1, "box": [1, 1, 2, 4], "score": 1}]}|box 1: .*is wanted
{"image": "input0.png", "boxes": {}}|boxes is no array
{"text": "a", "mask": "input0.png"}|mask are of an image, and it has text
{"image": "input0.png", "mask": "../set/2/input3.png"}|leads out of the folder
{"image": "input0.png", "mask": "gone.png"}|No such file
LINES
python3 -c 'import json; print(json.dumps({"image": "input0.png", "boxes": [{"label": 1, "box": [1, 1, 2, 4]}] * 1001}))' >bad.jsonl
code 1 "$ASSAY" run . $quick --data bad.jsonl
has err 'boxes is no array of at most 1000 boxes'
echo '{"image": "input0.png", "boxes": [{"label": 1, "box": [1, 1, 2, 4]}]}' >bad.jsonl
code 2 "$ASSAY" run . $quick --data bad.jsonl -v
has out 'boxes of a model whose processor is ViT'
echo '{"image": "input0.png", "transcript": "one"}' >bad.jsonl
code 1 "$ASSAY" run . $quick --data bad.jsonl
has err 'a transcript is judged of models that label the frames of a sound .CTC. and of Whisper, and this one is vit'
finish
