# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Pipelines on a platform that takes fixed shapes only (QNN, or its emulator): a graph for the shapes at hand, a text without a cache,
# answers as on the processor but for float16; what a model's lengths follow from its run for is a sentence.
. "$SOURCE/tests/cli/lib.sh" || exit 1
has_platform qnn || exit 77
from=$SOURCE/tests/conform/pipeline
model() # NAME FILE...
{
	local name=$1
	shift
	code 0 "$ASSAY" synth "$from/$name" -o "$work/$name"
	(cd "$from/$name" && cp "$@" "$work/$name")
}
model text-classification-roberta-pair tokenizer.json tokenizer_config.json
model text-generation-opt-penalties tokenizer.json tokenizer_config.json
model text-to-audio-vits vocab.json tokenizer_config.json

# Two lengths: two openings of one graph.
both() # MODEL WORD...: as on cpu in "$work/cpu", as on qnn in "$work/out"
{
	local folder=$work/$1
	shift
	code 0 "$ASSAY" pipeline --no-db --no-reference "$folder" "$@" --json
	cp "$work/out" "$work/cpu"
	code 0 "$ASSAY" pipeline --no-db --no-reference "$folder" "$@" --json --on qnn
}
both text-classification-roberta-pair 'Hello, world' 'A text that is longer' --option top_k=null
json '[[x["label"] for x in a["answer"]] for a in d["answers"]] == [[x["label"] for x in a["answer"]] for a in json.load(open(work + "/cpu"))["answers"]]'
json 'all(abs(x["score"] - y["score"]) < 0.025 * y["score"] for a, b in zip(d["answers"], json.load(open(work + "/cpu"))["answers"]) for x, y in zip(a["answer"], b["answer"]))'
json 'd["times"]["graphs"][0]["runs"] == 2 and d["times"]["graphs"][0]["form"].startswith("static")'
both text-generation-opt-penalties 'The weather' --option max_new_tokens=5
json 'd["answers"][0]["answer"]["token_ids"] == json.load(open(work + "/cpu"))["answers"][0]["answer"]["token_ids"]'
json '[g["runs"] for g in d["times"]["graphs"]] == [5] and d["times"]["graphs"][0]["form"].endswith("tokens at each step, padded, without a past")'
both text-generation-opt-penalties 'The weather' --option max_new_tokens=3 --option num_beams=2
json 'd["answers"][0]["answer"]["token_ids"] == json.load(open(work + "/cpu"))["answers"][0]["answer"]["token_ids"]'
code 2 "$ASSAY" pipeline --no-db --no-reference "$work/text-to-audio-vits" 'Hello' --on qnn
has err 'qnn takes graphs with fixed shapes only, and those of model.onnx follow from its run$'
finish
