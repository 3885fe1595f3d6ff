# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# Processors: every folder of tests/conform/preprocess agrees with transformers, one result a folder; and what differs is seen.
# Plain, because the sanitizers would be at the resizing of a million pixels; unit.preprocess has them.
. "${SOURCE:?the source folder}/tests/conform/lib_folders.sh"
cases=$SOURCE/tests/conform/preprocess
# resample/ is no processor's: unit.sound has it.
folders=$(for f in "$cases"/*/meta.json; do dirname "$f"; done | grep -v '/resample$')
# shellcheck disable=SC2086
all_agree 63 '^ok .*  [0-9]+ cases  max ' $folders

# Another filter, mean, size or class than the outputs were made with is found, with the case and the backend.
damage() { # FOLDER SED-EXPRESSION WHAT
	wrong "$cases/$1" preprocessor_config.json "$2" "^FAIL copy .*$3"
}
damage clip 's/"resample": 3/"resample": 2/' 's0/pixel_values .torchvision.: element 0: expected .* got '
damage beit 's/0\.5/0.51/' 's0/pixel_values .torchvision.: element 0: expected'
damage siglip 's/224/225/' 'expected float32 .1,3,224,224., got .1,3,225,225.'
damage detr 's/DetrFeature/YolosFeature/' 's0/'
damage whisper 's/"hop_length": 160/"hop_length": 161/' 'input_features'
damage wav2vec2-mask 's/"do_normalize": true/"do_normalize": false/' 'input_values.*: element'
damage swin2sr 's/"pad_size": 8/"pad_size": 16/' 'expected float32 .1,3,40,56., got .1,3,48,64.'

# A stored value that is a level of 255 off in one place of a .pil alone.
rm -rf "$work/copy"
cp -r "$SOURCE/tests/conform/preprocess/siglip" "$work/copy"
chmod -R u+w "$work/copy"
python3 - "$work/copy/expected.safetensors" <<'PY'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
size = struct.unpack("<Q", data[:8])[0]
at = 8 + size + json.loads(data[8:8 + size])["s1/pixel_values.pil"]["data_offsets"][0] + 4 * 100
struct.pack_into("<f", data, at, struct.unpack_from("<f", data, at)[0] + 2 / 255)
open(sys.argv[1], "wb").write(data)
PY
code=0
"$ASSAY" conform "$work/copy" >"$work/out" 2>"$work/err" || code=$?
[ "$code" = 3 ] || fail "one level: exit code $code"
grep -qE '^FAIL copy .*s1/pixel_values .pil.: element [0-9]+: expected' "$work/out" || fail "one level: not shown"

# Settings that cannot be read, and no settings.
mkdir "$work/broken" "$work/none"
cp "$SOURCE"/tests/conform/preprocess/vit-old/* "$work/broken/"
cp "$SOURCE"/tests/conform/preprocess/vit-old/*e* "$work/none/"
rm -f "$work/none/preprocessor_config.json"
chmod -R u+w "$work/broken"
echo '{"size": ' >"$work/broken/preprocessor_config.json"
code=0
"$ASSAY" conform "$work/broken" "$SOURCE/tests/conform/preprocess/vit-old" "$work/none" >"$work/out" 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "a broken folder: exit code $code"
grep -q '^FAIL broken .*not valid JSON' "$work/out" || fail "no reason"
grep -q '^FAIL none .*no preprocessor_config.json' "$work/out" || fail "no settings"
[ "$(tail -1 "$work/out")" = "1 passed, 2 failed" ] || fail "the last line"
