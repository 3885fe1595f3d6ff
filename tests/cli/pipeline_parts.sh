# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Parts of one pipeline on platforms of their own: the answers of diffusers and transformers still, what is told of each graph, and
# what --on cannot mean.
. "$SOURCE/tests/cli/lib.sh" || exit 1
has_platform cpu && has_platform openvino || exit 77
from=$SOURCE/tests/conform/pipeline
places='{g["graph"]: g["platform"] for g in d[0]["graphs"]}'

# judged FOLDER ON PLACES: right, and where the graphs ran.
judged()
{
	code 0 "$ASSAY" conform "$from/$1" --json --on "$2"
	json "d[0][\"verdict\"] == \"right\" and d[0][\"platform\"] == \"$2\" and $places == $3"
}
judged text-to-image-sd15 cpu,unet=openvino \
	'{"unet/model.onnx": "openvino", "vae/vae_decoder.onnx": "cpu", "text_encoder/model.onnx": "cpu"}'
json 'all(g["device"] == "CPU" and g["nodes"] > 0 and g["emulated"] is False and g["elsewhere"] == 0 for g in d[0]["graphs"])'
json '"unet/model.onnx on openvino: " in d[0]["placement"] and "vae/vae_decoder.onnx on cpu: " in d[0]["placement"]'
judged automatic-speech-recognition-whisper openvino:CPU,decoder=cpu,threads=1 \
	'{"encoder_model.onnx": "openvino", "decoder_model.onnx": "cpu", "decoder_with_past_model.onnx": "cpu", "model.onnx": "openvino"}'
judged text-to-audio-speecht5 vocoder=openvino \
	'{"encoder_model.onnx": "cpu", "decoder_model.onnx": "cpu", "decoder_with_past_model.onnx": "cpu", "decoder_postnet.onnx": "cpu", "vocoder/model.onnx": "openvino"}'
judged retrieval-augmented-generation-bert-llama cpu,encoder=openvino '{"encoder/model.onnx": "openvino", "decoder/model.onnx": "cpu"}'

# A pipeline without parts has one, its model.
code 0 "$ASSAY" synth "$from/text-classification-roberta-pair" -o "$work/model"
cp "$from/text-classification-roberta-pair/"*token* "$work/model"
ask() # CODE ARGUMENT...
{
	local want=$1
	shift
	code "$want" "$ASSAY" pipeline --no-db --no-reference "$work/model" 'Hello, world' "$@"
}
ask 0 --task text-classification --on cpu,model=openvino
[ "$(cat "$work/err")" = "model.onnx on openvino:CPU" ] || fail "where it ran: $(cat "$work/err")"
ask 0 --on cpu,model=openvino --json
json 'd["platform"] == "cpu,model=openvino" and [g["platform"] for g in d["placement"]["graphs"]] == ["openvino"]'
# A precision is every platform's.
ask 0 --on cpu,model=openvino --precision int8-weights --json
ask 2 --on openvino,model=null --precision bfloat16

refused() # CODE ON PATTERN
{
	ask "$1" --on "$2"
	has err "$3"
}
refused 1 cpu,encoder=openvino '^assay: --on: text-classification of this model has no part encoder; it has model$'
refused 1 cpu,model=openvino,model=cpu '^assay: --on: the part model is there twice$'
refused 1 cpu,model=opnvino '^assay: --on: model=opnvino is no option of cpu, and no PART=PLATFORM: no platform is called "opnvino"$'
refused 1 openvino:CPU,model=cpu,thread=4 'thread=4 is no option of cpu, and no PART=PLATFORM: no platform is called "4"$'
refused 1 cpu,openvino '^assay: --on: one platform, and others by the part that runs there, as in cpu,unet=openvino$'
refused 1 cpu,model=cpu,openvino 'one platform, and others by the part'
refused 1 cpu,model= 'model=: PART=PLATFORM has both'
refused 1 cpu,model=cpu:threads=none 'threads'
refused 2 'cpu,model=null:fail=open' '^assay: '
code 2 "$ASSAY" conform "$from/text-to-image-sd15" --on cpu,wings=openvino
has out 'text-to-image of this model has no part wings; it has text_encoder, unet, vae$'
code 2 "$ASSAY" conform "$from/text-to-audio-speecht5" --on cpu,model=openvino
has out 'text-to-audio of this model has no part model; it has encoder, decoder, vocoder$'
code 1 "$ASSAY" conform "$SOURCE/tests/conform/cases/bert" --on cpu,model=openvino
has err '^assay: --on cpu,model=openvino: bert is no whole pipeline, and has no parts$'
# What cannot be had is said, with the part.
if "$ASSAY" detect cuda | grep -Eq '^  cuda +yes'; then
	skip_part "cuda is here"
else
	code 2 "$ASSAY" pipeline --no-db --no-reference "$work/model" 'Hello, world' --on cpu,model=cuda
	has err '^assay: the part model on cuda: '
	code 2 "$ASSAY" pipeline --no-db --no-reference "$work/model" 'Hello, world' --on cuda
	has err '^assay: no NVIDIA card: .*; ort: '
fi
finish
