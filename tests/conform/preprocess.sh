# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# Processors: every folder of tests/conform/preprocess agrees with transformers, one result a folder; and what differs is seen.
# Plain, because the sanitizers would be at the resizing of a million pixels; unit.preprocess has them.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_CACHE=$work/cache LC_ALL=C
fail() { echo "$*"; cat "$work/out" "$work/err"; exit 1; }

# resample/ is no processor's: unit.sound has it.
folders=$(for f in "$SOURCE"/tests/conform/preprocess/*/meta.json; do dirname "$f"; done | grep -v '/resample$')
count=$(echo "$folders" | wc -l)
[ "$count" -ge 63 ] || { echo "$count folders"; exit 1; }
# shellcheck disable=SC2086
"$ASSAY" conform $folders >"$work/out" 2>"$work/err" || fail "a folder differs"
[ "$(tail -1 "$work/out")" = "$count passed, 0 failed" ] || fail "the last line"
[ "$(grep -cE '^ok .*  [0-9]+ cases  max ' "$work/out")" = "$count" ] || fail "one line a folder"

# Another filter, mean, size or class than the outputs were made with is found, with the case and the backend.
damage() { # FOLDER SED-EXPRESSION WHAT
	rm -rf "$work/copy"
	cp -r "$SOURCE/tests/conform/preprocess/$1" "$work/copy"
	chmod -R u+w "$work/copy"
	sed -i "$2" "$work/copy/preprocessor_config.json"
	cmp -s "$work/copy/preprocessor_config.json" "$SOURCE/tests/conform/preprocess/$1/preprocessor_config.json" && { echo "$2 changed nothing"; exit 1; }
	code=0
	"$ASSAY" conform "$work/copy" >"$work/out" 2>"$work/err" || code=$?
	[ "$code" = 3 ] || fail "$1, $2: exit code $code"
	grep -qE "^FAIL copy .*$3" "$work/out" || fail "$1, $2: the difference is not shown"
	[ "$(tail -1 "$work/out")" = "0 passed, 1 failed" ] || fail "$1, $2: the last line"
}
damage clip 's/"resample": 3/"resample": 2/' 's0/pixel_values .torchvision.: element 0: expected .* got '
damage beit 's/0\.5/0.51/' 's0/pixel_values .torchvision.: element 0: expected'
damage siglip 's/224/225/' 'expected float32 .1,3,224,224., got .1,3,225,225.'
damage detr 's/DetrFeature/YolosFeature/' 's0/'
damage whisper 's/"hop_length": 160/"hop_length": 161/' '.'
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
