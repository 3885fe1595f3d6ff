# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# --input of files and texts: the tensors are those of `assay preprocess` and `assay tokenize`, the row names the files, and a changed file is measured again.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
cd "$work" || exit 1
quick="--on cpu --runs 3 --no-conform"

model() {
	"$ASSAY" synth "$SOURCE/tests/conform/pipeline/$1" -o "$2" >out 2>err || fail "synth: $(cat err)"
	cp "$SOURCE/tests/conform/pipeline/$1"/*.json "$SOURCE/tests/conform/pipeline/$1"/*.txt "$SOURCE/tests/conform/pipeline/$1"/input* "$2" 2>/dev/null
}
model image-classification-vit vit
model text-classification-roberta-pair pair
model zero-shot-image-classification-clip clip
model automatic-speech-recognition-wav2vec2 speech

# A picture: the same tensor as a golden file that `assay preprocess` wrote, so the same inputs_hash.
code 0 "$ASSAY" preprocess vit vit/input0.png -o pixels.safetensors
python3 - <<'PY'
import json, struct
raw = open("pixels.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:8 + n])
head = json.dumps({"in." + k if k != "__metadata__" else k: v for k, v in head.items()}).encode()
open("golden.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + raw[8 + n:])
PY
code 0 "$ASSAY" run vit $quick --golden golden.safetensors --json
python3 -c 'import json; print(json.load(open("out"))[0]["inputs_hash"])' >hash
code 0 "$ASSAY" run vit $quick --input vit/input0.png --json
json 'd[0]["verdict"] == "right" and d[0]["inputs_hash"] == open("hash").read().strip() and d[0]["reference"] == "engine:openvino-f32"'
json '[f["file"] for f in d[0]["input_files"]] == ["input0.png"] and d[0]["input_files"][0]["is"] == "picture" and d[0]["input_files"][0]["sha256"] == __import__("hashlib").sha256(open("vit/input0.png", "rb").read()).hexdigest()'
json 'd[0]["golden_file"] is None and d[0]["inputs_note"].startswith("made by the model") and d[0]["inputs"].startswith("file:/")'

# Texts have the length that they have; a pair; fixed shapes are those of the input; "%" and ";" stay what they are.
count() { "$ASSAY" tokenize "$@" --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
d = d if isinstance(d, dict) else d[0]
print(len(d["ids"] if "ids" in d else d["input_ids"]))' >tokens; }
count pair "100% of it; all"
code 0 "$ASSAY" run pair $quick --input "100% of it; all" --json
json 'd[0]["verdict"] == "right" and d[0]["sequence"] == int(open("tokens").read()) and d[0]["inputs"] == "text:100%25 of it%3B all" and d[0]["input_files"] is None and d[0]["padding"] == 0'
printf 'one text\n' >one.txt
code 0 "$ASSAY" run pair $quick --input one.txt --input "text:two.txt" --static --json
json 'd[0]["verdict"] == "right" and d[0]["input_files"][0]["is"] == "text" and d[0]["sequence"] > 4'
code 0 "$ASSAY" run clip $quick --input clip/input0.png --input "a photo" --json
json 'd[0]["verdict"] == "right" and len(d[0]["input_files"]) == 1'
code 0 "$ASSAY" run speech $quick --input speech/input3.wav --json
json 'd[0]["verdict"] == "right" and d[0]["input_files"][0]["is"] == "sound"'

# The same question from another folder; another content is another question; so is `reproduce`.
matrix="$ASSAY matrix --models $work/vit $quick --resume --output-dir $work/matrix"
cp vit/input0.png picture.png
code 0 $matrix --input picture.png
(cd / && code 0 $matrix --input "$work/picture.png")
has out '1 finished before'
code 0 "$ASSAY" run vit $quick --input picture.png
row=$("$ASSAY" query --format csv "SELECT max(id) AS id FROM cell" | tail -1)
code 0 "$ASSAY" reproduce "$row" --command
has out "file:$work/picture.png"
cp vit/input2.png picture.png
code 0 $matrix --input picture.png
lacks out 'finished before'
"$ASSAY" reproduce "$row" >out 2>err
has out 'inputs: [0-9a-f]{12} then, [0-9a-f]{12} now'

# What does not go.
while IFS='|' read -r exit words arguments; do
	code "$exit" "$ASSAY" run $quick $arguments
	cat out err >all
	has all "$words"
done <<'LINES'
1|gone.png: No such file|vit --input gone.png
1|the model's tokenizer|vit --input word
1|one picture is taken|vit --input vit/input0.png --input vit/input2.png
1|a text or a pair of them|pair --input a --input b --input c
1|no feature extractor of sounds|pair --input speech/input3.wav
1|--batch, --seq and --image-size do not go with it|vit --input vit/input0.png --batch 2
1|are about .onnx files|vit --input pixel_values=ones
1|--golden has inputs|vit --input vit/input0.png --golden golden.safetensors
2|what --input gives has no tensor in.pixel_values|clip --input word
LINES
cp vit/preprocessor_config.json pair
code 2 "$ASSAY" run pair $quick --input word --input vit/input0.png
has out 'the model takes no pixel_values, which a picture comes to'

# An .onnx file beside the files that prepare its inputs.
code 0 "$ASSAY" build vit -o vit/onnx
code 0 "$ASSAY" run vit/onnx/model.onnx $quick --input vit/input0.png --json
json 'd[0]["verdict"] == "right" and d[0]["inputs_hash"] == open("hash").read().strip()'
code 1 "$ASSAY" run vit/onnx/model.onnx $quick --input vit/input0.png --input pixel_values=ones
has err 'have shapes of their own'
finish
