# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# preprocess: the file that is written, what is printed, JSON, both backends, where settings are found, and what is refused.
. "$SOURCE/tests/cli/lib.sh" || exit 1
cases=$SOURCE/tests/conform/preprocess
files=$cases/files

code 0 "$ASSAY" preprocess "$cases/vit" "$files/rotated.jpg" "$files/alpha.png" -o "$work/inputs.safetensors"
empty err
has out '^pixel_values +f32 \[2,3,224,224\]  least -0\.[0-9]+, most '
python3 - "$work/inputs.safetensors" <<'PY' || fail "the file that was written"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
(name, entry), = ((k, v) for k, v in header.items() if k != "__metadata__")
assert name == "pixel_values" and entry["dtype"] == "F32" and entry["shape"] == [2, 3, 224, 224], header
values = struct.unpack("<%df" % (2 * 3 * 224 * 224), data[8 + size:])
assert all(-1 <= v <= 1 for v in values)
PY

# Turned as its EXIF says: 61 x 97, and not 97 x 61.
code 0 "$ASSAY" preprocess "$cases/qwen2-vl" "$files/rotated.jpg" --json
json 'd["processor"] == "Qwen2VL" and d["pictures"] == [{"file": d["pictures"][0]["file"], "width": 61, "height": 97}]'
json '[o["name"] for o in d["outputs"]] == ["pixel_values", "image_grid_thw"] and d["outputs"][0]["shape"][1] == 1176'
json 'd["outputs"][1] == {"name": "image_grid_thw", "dtype": "i64", "shape": [1, 3], "least": 1, "most": d["outputs"][1]["most"], "mean": d["outputs"][1]["mean"]}'

# The two implementations of a class are not the same; that of timm is one.
for one in clip timm-vit; do
	for backend in torchvision pil; do
		code 0 "$ASSAY" preprocess "$cases/$one" "$files/alpha.png" --backend "$backend" -o "$work/$one-$backend"
	done
done
cmp -s "$work/clip-torchvision" "$work/clip-pil" && fail "torchvision and pil give the same for CLIP"
cmp -s "$work/timm-vit-torchvision" "$work/timm-vit-pil" || fail "timm's transform depends on --backend"

# Settings in processor_config.json, as transformers 5 writes them.
mkdir "$work/nested"
printf '{"processor_class": "X", "image_processor": %s}\n' "$(cat "$cases/vit/preprocessor_config.json")" >"$work/nested/processor_config.json"
code 0 "$ASSAY" preprocess "$work/nested" "$files/rotated.jpg" "$files/alpha.png" -o "$work/nested.safetensors"
cmp -s "$work/inputs.safetensors" "$work/nested.safetensors" || fail "processor_config.json gives something else"

# Of a sound that is shorter than a stride there is nothing: a least value of infinity was printed, and of JSON no tensor at all.
mkdir "$work/strides"
echo '{"feature_extractor_type": "SeamlessM4TFeatureExtractor", "feature_size": 80, "num_mel_bins": 80, "sampling_rate": 16000, "padding_side": "right", "padding_value": 1, "return_attention_mask": true, "stride": 16}' >"$work/strides/preprocessor_config.json"
code 0 "$ASSAY" preprocess "$work/strides" "$files/pcm16.wav"
has out '^input_features +f32 \[1,0,[0-9]*\]  no values$'
code 0 "$ASSAY" preprocess "$work/strides" "$files/pcm16.wav" --json
json 'd["outputs"][0]["least"] is None and d["outputs"][0]["mean"] is None'

# A file of float samples that has what is no number: which one it is.
python3 - "$work/nan.wav" <<'PY'
import struct, sys
d = struct.pack("<1600f", *[float("nan") if i == 5 else 0.25 for i in range(1600)])
open(sys.argv[1], "wb").write(b"RIFF" + struct.pack("<I", 36 + len(d)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 3, 1, 16000, 64000, 4, 32) + b"data" + struct.pack("<I", len(d)) + d)
PY
code 1 "$ASSAY" preprocess "$cases/whisper" "$work/nan.wav"
has err 'nan\.wav: sample 5 of channel 0 is not a number$'
code 1 "$ASSAY" preprocess "$cases/vit"
code 1 "$ASSAY" preprocess "$cases/vit" "$files/alpha.png" --backend none
has err "^assay: --backend is torchvision or pil, not 'none'"
code 1 "$ASSAY" preprocess "$work" "$files/alpha.png"
has err 'no preprocessor_config.json, no image_processor in processor_config.json, no pretrained_cfg in config.json$'
code 1 "$ASSAY" preprocess no/such-model "$files/alpha.png"
code 1 "$ASSAY" preprocess "$cases/vit" "$files/none.png"
has err 'none\.png'
code 1 "$ASSAY" preprocess "$cases/vit" "$cases/vit/meta.json"
has err 'meta\.json: no picture that is read here: JPEG, PNG, WebP or GIF$'
mkdir "$work/strange"
echo '{"image_processor_type": "Strange\u001b[2JImageProcessor"}' >"$work/strange/preprocessor_config.json"
code 1 "$ASSAY" preprocess "$work/strange" "$files/alpha.png"
has err 'Strange.*ImageProcessor is no processor that is known here$'
grep -q "$(printf '\033')" "$work/err" && fail "a control character of a class's name came out"
code 1 "$ASSAY" preprocess "$cases/swin2sr" "$files/alpha.png" "$files/gray16.png"
has err 'picture 2 becomes 32 x 24, and those before it 48 x 40: this class does not take them together$'
code 1 "$ASSAY" preprocess "$cases/vit" "$files/alpha.png" -o "$work/none/inputs.safetensors"
has err 'none/inputs\.safetensors'
# Sounds: the settings say what the files are.
code 0 "$ASSAY" preprocess "$cases/whisper" "$files/pcm16.wav" "$files/stereo.wav" -o "$work/heard.safetensors" --json
json 'd["processor"] == "WhisperFeatureExtractor" and [s["rate"] for s in d["sounds"]] == [16000, 16000]'
json '[(o["name"], o["shape"]) for o in d["outputs"]] == [("input_features", [2, 80, 3000])]'
[ -s "$work/heard.safetensors" ] || fail "no features were written"
code 0 "$ASSAY" preprocess "$cases/wav2vec2-mask" "$files/pcm16.wav" "$files/stereo.wav"
has out '^input_values +f32 \[2,[0-9]+\] '
code 1 "$ASSAY" preprocess "$cases/whisper" "$files/alpha.png"
has err 'alpha.png'
finish
