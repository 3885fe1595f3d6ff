# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# pipeline of pictures and sounds: a line for each thing that is found, and what --save writes.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
cases=$SOURCE/tests/conform/pipeline

# model NAME: the folder with seeded weights.
model()
{
	code 0 "$ASSAY" synth "$cases/$1" -o "$work/$1"
	(cd "$cases/$1" && cp ./*processor* ./*token* ./vocab* ./special* ./generation* ./chat* "$work/$1" 2>/dev/null)
	return 0
}
for name in image-classification-vit object-detection-yolos image-segmentation-segformer depth-estimation-dpt \
	automatic-speech-recognition-wav2vec2 automatic-speech-recognition-whisper zero-shot-image-classification-clip mask-generation-sam image-text-to-text-llava; do
	model "$name"
done

# By the model's class; the labels and scores of the folder's answer.
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/image-classification-vit" "$cases/image-classification-vit/input0.png" --option top_k=2
has out '^0\.4290  tench$'
has out '^0\.2368  goldfish$'
[ "$(grep -c . "$work/out")" = 3 ] || fail "two labels, and a line about the weights"
has out '^synthetic weights: .*; this answer means nothing$'
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/object-detection-yolos" "$cases/object-detection-yolos/input0.png" --option threshold=0.32
[ "$(head -1 "$work/out")" = '0.3269  car  box xmin 38 ymin 31 xmax 71 ymax 58' ] || fail "one box: $(cat "$work/out")"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/object-detection-yolos" "$cases/object-detection-yolos/input0.png" --option threshold=0.99
[ "$(head -1 "$work/out")" = 'nothing was found' ] || fail "no box: $(cat "$work/out")"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/automatic-speech-recognition-wav2vec2" \
	"$cases/automatic-speech-recognition-wav2vec2/input3.wav" --option return_timestamps=char
has out '^KDE</s>LELMPMLVLE'
has out '^  D  timestamp 0\.0200 0\.0400$'
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/zero-shot-image-classification-clip" "$cases/zero-shot-image-classification-clip/input1.jpg" \
	river mountain
has err "^zero-shot-image-classification \(by the model's class\); --task names another$"
has out '^0\.5122  river$'

cp "$work/out" "$work/each"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/zero-shot-image-classification-clip" "$cases/zero-shot-image-classification-clip/input1.jpg" river,mountain
cmp "$work/out" "$work/each" || fail "labels with a comma between them: $(cat "$work/out")"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/image-classification-vit" "$work/photo.jpg"
has err 'photo.jpg: no such file'
# What -o cannot give is said before anything runs.
asked() { "$ASSAY" pipeline --no-db --no-reference "$work/object-detection-yolos" "$cases/object-detection-yolos/input0.png" -o "$1"; }
code 1 asked "$work/none/a.png"
has err 'none/a\.png: .*/none: No such file or directory'
code 1 asked "$work/a.jpg"
has err 'a\.jpg: pictures are written as PNG files'
code 1 asked "$work"
has err 'is a folder$'

# An input as a file, also of a task that takes JSON among its inputs; a conversation.
printf '{"image": "%s", "input_points": [[[30, 20]]], "input_labels": [[1]]}' "$cases/mask-generation-sam/input0.png" >"$work/point.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/mask-generation-sam" "$work/point.json"
has out '^iou_scores -0\.58[0-9]* 0\.37[0-9]* 0\.20[0-9]*$'
has out '^  80 x 60, [0-9.]+ % of the pixels$'
printf '[{"role": "user", "content": [{"type": "image", "path": "%s"}, {"type": "text", "text": "What?"}]}]' \
	"$cases/image-text-to-text-llava/input0.png" >"$work/chat.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/image-text-to-text-llava" "$work/chat.json" \
	--option 'generate_kwargs={"max_new_tokens": 3}' --json
json 'd["answers"][0]["answer"]["generated_text"][-1]["role"] == "assistant" and d["answers"][0]["answer"]["token_ids"].count(1214) == 16'

# Options of a text that is written, by their own names or in generate_kwargs.
cp "$work/out" "$work/kwargs"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/image-text-to-text-llava" "$work/chat.json" --option max_new_tokens=3 --json
json 'd["answers"][0]["answer"] == json.load(open(work + "/kwargs"))["answers"][0]["answer"]'
whisper="$work/automatic-speech-recognition-whisper $cases/automatic-speech-recognition-whisper/input0.wav"
for option in 'generate_kwargs={"language": "en", "max_new_tokens": 4}' 'language=en --option max_new_tokens=4' 'language=en --option max_new_tokens=9'; do
	# shellcheck disable=SC2086
	if [ "${option#generate}" = "$option" ]; then
		code 0 "$ASSAY" pipeline --no-db --no-reference $whisper --option $option
	else
		code 0 "$ASSAY" pipeline --no-db --no-reference $whisper --option "$option"
	fi
	head -1 "$work/out" >>"$work/dictated"
done
[ "$(sed -n 1p "$work/dictated")" = "$(sed -n 2p "$work/dictated")" ] || fail "two ways to say it: $(cat "$work/dictated")"
[ "$(sed -n 2p "$work/dictated")" != "$(sed -n 3p "$work/dictated")" ] || fail "max_new_tokens: $(cat "$work/dictated")"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/automatic-speech-recognition-wav2vec2" "$cases/automatic-speech-recognition-wav2vec2/input3.wav" --option max_new_tokens=3
has err 'this model gives labels of frames'

# Masks and depths are told of, and written where that is asked for.
segments="$work/image-segmentation-segformer $cases/image-segmentation-segformer/input1.jpg"
# shellcheck disable=SC2086
code 0 "$ASSAY" pipeline --no-db --no-reference $segments --save "$work/saved/here"
has out '^wall  mask .*/saved/here/0\.mask\.png 90 x 60, 7[0-9]\.[0-9] % of the pixels$'
[ "$(ls "$work/saved/here")" = "$(printf '0.mask.png\n1.mask.png\n2.mask.png')" ] || fail "files: $(ls "$work/saved/here")"
# One file for several masks is refused: which of them it would be nobody said.
# shellcheck disable=SC2086
code 1 "$ASSAY" pipeline --no-db --no-reference $segments -o "$work/one.png"
has err 'one file, and 3 pictures: --save FOLDER writes them all'
[ -e "$work/one.png" ] && fail "one of three masks was written"
# Only files that were written are named: of several inputs with the input's number.
# shellcheck disable=SC2086
code 0 "$ASSAY" pipeline --no-db --no-reference $segments
has out '^wall  mask 90 x 60, 7'
# shellcheck disable=SC2086
code 0 "$ASSAY" pipeline --no-db --no-reference $segments "$cases/image-segmentation-segformer/input1.jpg" --save "$work/saved/two"
has out '^wall  mask .*/saved/two/1\.0\.mask\.png 90 x 60, 7'
[ -s "$work/saved/two/1.0.mask.png" ] || fail "the file that was named"
# shellcheck disable=SC2086
code 0 "$ASSAY" pipeline --no-db --no-reference $segments --json
json 'd["answers"][0]["pictures"]["0.mask.png"]["width"] == 90 and d["answers"][0]["pictures"]["0.mask.png"]["height"] == 60'
json 'abs(sum(x["share"] for x in d["answers"][0]["pictures"].values()) - 1) < 1e-9'
python3 - "$work/saved/here" "$work/large.png" <<'PY' || fail "masks"
import struct, sys, zlib
def pixels(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, idat = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (width, height, depth, colour) == (90, 60, 8, 0), (width, height, depth, colour)
        idat += body if kind == b"IDAT" else b""
        at += 12 + size
    return zlib.decompress(idat)
for i in range(3):
    assert len(pixels(f"{sys.argv[1]}/{i}.mask.png")) == 60 * 91
# A picture with more pixels than numbers are told of.
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
rows = b"".join(b"\0" + bytes((x ^ y) & 255 for x in range(800)) for y in range(700))
open(sys.argv[2], "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 800, 700, 8, 0, 0, 0, 0)) +
                              chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PY
depth=$cases/depth-estimation-dpt
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/depth-estimation-dpt" "$depth/input0.png" "$depth/input1.jpg" "$work/large.png" --json --save "$work/saved"
json 'len(d["answers"][0]["tensors"]["predicted_depth"]) == 44 and len(d["answers"][0]["tensors"]["predicted_depth"][0]) == 60'
json 'd["answers"][2]["tensors"]["predicted_depth"] is None'
json 'd["answers"][2]["answer"]["predicted_depth"]["shape"] == [700, 800]'
json 'd["answers"][2]["pictures"]["depth.png"] == {"width": 800, "height": 700, "share": None}'
for i in 0 1 2; do
	[ -s "$work/saved/$i.depth.png" ] && [ -s "$work/saved/$i.answer.safetensors" ] || fail "no files of input $i"
done
[ "$(wc -c <"$work/saved/2.answer.safetensors")" -gt 2240000 ] || fail "not all numbers of a large depth"

# What cannot be is a sentence.
code 2 "$ASSAY" pipeline --no-db --no-reference "$work/image-segmentation-segformer" "$cases/image-segmentation-segformer/input1.jpg" --option subtask=instance
has err 'this model gives labels of pixels alone'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/image-classification-vit" 'a text'
has err 'image-classification takes image'
: >"$work/empty.png"
code 1 "$ASSAY" pipeline "$work/image-classification-vit" "$work/empty.png"
has err '^assay: an INPUT without text, or an empty file: image-classification takes image$'
mv "$work/image-classification-vit/preprocessor_config.json" "$work/prepared.json"
code 1 "$ASSAY" pipeline "$work/image-classification-vit" "$cases/image-classification-vit/input0.png"
has err 'image-classification-vit has no preprocessor_config.json, which says how the pictures of ViTForImageClassification are prepared'
mv "$work/prepared.json" "$work/image-classification-vit/preprocessor_config.json"
# What ran on no hardware says so, whether parts are named or not.
code 0 "$ASSAY" pipeline "$work/image-classification-vit" "$cases/image-classification-vit/input0.png"
lacks out 'nothing was computed|EMULATED'
code 0 "$ASSAY" pipeline "$work/image-classification-vit" "$cases/image-classification-vit/input0.png" --on null
has out '^null: nothing was computed: the answer means nothing$'
echo >"$work/file"
# shellcheck disable=SC2086
"$ASSAY" pipeline --no-db --no-reference $segments --save "$work/file/folder" >"$work/out" 2>"$work/err" && fail "a folder below a file"
has err 'file/folder'

finish
