# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Pipelines of pictures and sounds: answers that are not those of a folder's inputs, settings and options fail (conform.pipelines has
# the folders as they are).
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
folders=$SOURCE/tests/conform/pipeline
# changed NAME FOLDER STATEMENT: a copy of a folder in which Python's STATEMENT has changed the answers `a`, the inputs `i`, the
# processor's settings `p`, or a file in the folder `f`.
changed()
{
	cp -r "$folders/$2" "$work/$1"
	python3 - "$work/$1" "$3" <<'PY' || fail "$1: $3"
import json, os, shutil, sys
f = sys.argv[1] + "/"
read = lambda name: json.load(open(f + name))
file, p = read("pipeline.json"), read("preprocessor_config.json")
a, i = file["answers"], file["inputs"]
exec(sys.argv[2])
json.dump(file, open(f + "pipeline.json", "w"))
json.dump(p, open(f + "preprocessor_config.json", "w"))
PY
	set_of_changed="$set_of_changed $work/$1"
	count=$((count + 1))
}
set_of_changed=
count=0
changed label image-classification-vit 'a[0][0]["label"], a[0][1]["label"] = a[0][1]["label"], a[0][0]["label"]'
changed score image-classification-vit 'a[0][0]["score"] *= 1.01'
changed fewer image-classification-vit 'del a[1][2]'
changed turned image-classification-vit 'i[0], i[1] = i[1], i[0]'
changed normalised image-classification-vit 'p["do_normalize"] = False'
changed feature image-feature-extraction-dinov2 'a[0], a[1] = a[1], a[0]'
changed box object-detection-detr 'a[0][0]["box"]["xmin"] += 3'
changed order object-detection-yolos 'a[0][0], a[0][1] = a[0][1], a[0][0]'
changed lost object-detection-yolos 'del a[0][-1]'
changed threshold object-detection-yolos 'file["options"]["threshold"] = 0.9'
changed found zero-shot-object-detection-owlvit 'a[1][0]["label"] = "bush"'
changed mask image-segmentation-segformer 'a[0][0]["mask"], a[0][1]["mask"] = a[0][1]["mask"], a[0][0]["mask"]'
changed subtask image-segmentation-mask2former 'i[0]["options"]["subtask"] = "semantic"'
changed overlap image-segmentation-mask2former 'file["options"]["overlap_mask_area_threshold"] = 0.9'
changed point mask-generation-sam 'i[0]["input_points"][0][0] = [5, 5]'
changed corner mask-generation-sam 'i[1]["input_boxes"][0][0] = [0, 0, 20, 20]'
changed depth depth-estimation-dpt 'shutil.copy(f + "answer.1.depth.png", f + "answer.0.depth.png")'
changed map depth-estimation-dpt 'a[0]["predicted_depth"] = a[1]["predicted_depth"]'
changed picture image-to-image-swin2sr 'shutil.copy(f + "input0.png", f + "answer.0.png.png")'
changed answer visual-question-answering-vilt 'i[0]["question"] = "Is it red?"'
changed frames video-classification-videomae 'i[0]["frames"].reverse()'
changed candidates zero-shot-image-classification-clip 'file["options"]["hypothesis_template"] = "{}"'
changed sound zero-shot-audio-classification-clap 'i[0]["candidate_labels"].reverse(); a[0].reverse()'
changed rate audio-classification-wav2vec2 'p["sampling_rate"] = 8000'
changed rain audio-classification-ast 'a[0][0]["label"] = "snow"'
changed text automatic-speech-recognition-wav2vec2 'a[1]["text"] += "A"'
changed time automatic-speech-recognition-wav2vec2 'a[0]["chunks"][3]["timestamp"][1] += 0.02'
changed windows automatic-speech-recognition-wav2vec2 'i[1]["options"] = {}'
changed caption image-captioning-blip 'a[1]["token_ids"][-1] += 1'
changed prompt_of_caption image-captioning-blip 'i[1]["text"] = "a picture"'
changed tokens image-captioning-blip 'file["options"]["max_new_tokens"] = 9'
changed place image-text-to-text-llava 'i[0]["text"] = "<image>" + i[0]["text"].replace("<image>", "")'
changed colours image-text-to-text-llava 'i[0]["image"], i[1]["messages"][0]["content"][0]["path"] = "input1.jpg", "input0.png"'
changed tiles image-text-to-text-idefics3 'p["do_image_splitting"] = False'
changed reply image-text-to-text-idefics3 'a[0]["generated_text"] += "."'
changed language automatic-speech-recognition-whisper 'i[0]["options"]["generate_kwargs"]["language"] = "de"'
changed heard automatic-speech-recognition-whisper 'a[0]["text"] = a[0]["text"].strip() + "!"'
# shellcheck disable=SC2086
code 3 "$ASSAY" conform $set_of_changed
[ "$(tail -1 "$work/out")" = "0 passed, $count failed" ] || fail "not all of $count changed folders failed: $(cat "$work/out")"
grep -qE 'not supported|no such|is missing' "$work/out" && fail "a changed folder failed for another reason: $(cat "$work/out")"

# What the folders do not ask, with the texts of transformers' generate(): a language that is to be heard, a task, beams, and older
# files, which name the tokens behind the first one.
heard()
{
	rm -rf "$work/asked"
	changed asked automatic-speech-recognition-whisper "
g = read('generation_config.json')
g['forced_decoder_ids'] = $3
json.dump(g, open(f + 'generation_config.json', 'w'))
del i[1:], a[1:]
i[0]['options']['generate_kwargs'] = dict({'num_beams': 1, 'max_new_tokens': 8}, **$1)
a[0]['text'] = $2"
	code 0 "$ASSAY" conform "$work/asked"
}
heard '{}' "' thKK' + 3 * chr(0xfffd) + chr(0xc768)" None
heard '{"language": "de"}' "' thKKKKKKK'" '[[1, None], [2, 705]]'
heard '{"task": "translate"}' "2 * 'K' + 2 * chr(6) + 4 * chr(0xfffd)" None
heard '{"language": "<|fr|>", "task": "translate", "num_beams": 3}' '4 * chr(6) + 4 * chr(0xfffd)' None
heard '{}' "2 * 'K' + 2 * chr(6) + 4 * chr(0xfffd)" '[[1, None], [2, 705]]'

# Options that a task does not know, and inputs that are none, are refused in words.
changed option image-classification-vit 'file["options"]["wings"] = 2'
code 2 "$ASSAY" conform "$work/option"
has out 'the option wings of image-classification is not supported yet'
changed lacking object-detection-detr 'del i[0]["image"]'
code 2 "$ASSAY" conform "$work/lacking"
has out 'object-detection needs the input image'
changed prompt mask-generation-sam 'i[0]["input_labels"] = [[1, 0]]'
code 2 "$ASSAY" conform "$work/prompt"
has out 'input_points \[\[\[x, y\], ..\]\]'
changed parts automatic-speech-recognition-wav2vec2 'i[1]["options"]["stride_length_s"] = [0.3, 0.2]'
code 2 "$ASSAY" conform "$work/parts"
has out 'chunk_length_s must be above'

finish
