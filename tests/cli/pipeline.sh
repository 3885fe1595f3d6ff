# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# pipeline: what is printed, JSON with times and placement, inputs by their content, options, and every exit code.
. "$SOURCE/tests/cli/lib.sh" || exit 1
cases=$SOURCE/tests/conform/pipeline

# model NAME: the folder with seeded weights.
model()
{
	code 0 "$ASSAY" synth "$cases/$1" -o "$work/$1"
	(cd "$cases/$1" && cp ./*token* ./special* ./generation* ./chat* "$work/$1" 2>/dev/null)
	return 0
}
model text-classification-roberta-pair
model question-answering-roberta-windows
model text-generation-qwen2-moe-chat
classes=$work/text-classification-roberta-pair

code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' 'And another'
[ "$(cat "$work/err")" = "text-classification (by the model's class), 2 inputs; --task names another" ] || fail "the task: $(cat "$work/err")"
has out '^0\.[0-9]{4}  (contradiction|neutral|entailment)$'
[ "$(grep -c . "$work/out")" = 3 ] || fail "one line a text, and one about the weights"
has out '^synthetic weights: seeded random numbers, not the trained ones; these answers mean nothing$'
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' --task text-classification
empty err
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' --json
empty err
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' --option top_k=null --json
json 'd["task"] == "text-classification" and len(d["answers"]) == 1 and len(d["answers"][0]["answer"]) == 3'
json 'abs(sum(x["score"] for x in d["answers"][0]["answer"]) - 1) < 1e-6'
json 'd["answers"][0]["input"] == {"text": "Hello, world"} and d["weights"] == "synthetic"'
json 'd["times"]["graphs"][0]["graph"] == "model.onnx" and d["times"]["graphs"][0]["runs"] == 1'
json 'all(d["times"][k] >= 0 for k in ("preprocess_ms", "between_ms", "postprocess_ms"))'
json 'd["placement"]["nodes"] > 0 and d["placement"]["elsewhere"] == 0'
# A pair is an object; a list of inputs, too; a text that is a file is what it holds.
printf '[{"text": "one", "text_pair": "two"}, {"text": "three"}]' >"$work/inputs.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" "$work/inputs.json" --json
json 'len(d["answers"]) == 2 and d["answers"][0]["input"]["text_pair"] == "two"'
printf 'Hello, world\n' >"$work/text.txt"
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" "$work/text.txt" --json
json 'd["answers"][0]["input"] == {"text": "Hello, world"}'
# A task by name; several inputs, in the order of words; a conversation.
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'A sequence' sport politics --task zero-shot-classification --json
json 'd["answers"][0]["answer"]["sequence"] == "A sequence" and sorted(d["answers"][0]["answer"]["labels"]) == ["politics", "sport"]'
# Labels: an INPUT each, or one with commas; the same scores.
cp "$work/out" "$work/each"
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'A sequence' 'sport, politics,' --task zero-shot-classification --json
json 'd["answers"][0]["answer"] == json.load(open(work + "/each"))["answers"][0]["answer"]'
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'A sequence' 'sport, or play' 'TCP/IP' --task zero-shot-classification --json
json 'sorted(d["answers"][0]["answer"]["labels"]) == ["TCP/IP", "sport, or play"]'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'A sequence' ' ,' --task zero-shot-classification
has err 'candidate_labels should be 1 to'
# JSON as it is typed, and standard input.
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" '[{"text": "one", "text_pair": "two"}, {"text": "three"}]' '[two' --json
json '[a["input"] for a in d["answers"]] == [{"text": "one", "text_pair": "two"}, {"text": "three"}, {"text": "[two"}]'
printf 'Hello, world\n' | "$ASSAY" pipeline --no-db --no-reference "$classes" - --json >"$work/out" || fail "standard input"
json 'd["answers"][0]["input"] == {"text": "Hello, world"}'
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/question-answering-roberta-windows" 'Who?' 'The man in the house.' --option top_k=2
[ "$(grep -c 'start [0-9]* *end [0-9]*' "$work/out")" = 2 ] || fail "two answers"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/text-generation-qwen2-moe-chat" 'The weather' --option max_new_tokens=3 --option return_full_text=false --json
json 'len(d["answers"][0]["answer"]["token_ids"]) > 3'
printf '[{"text": "one"}, {"text": "two"}]' >"$work/inputs.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/text-generation-qwen2-moe-chat" "$work/inputs.json" --option max_new_tokens=2 --json
json '[a["input"] for a in d["answers"]] == [{"text": "one"}, {"text": "two"}]'
printf '[{"role": "user", "content": "Hello"}]' >"$work/chat.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/text-generation-qwen2-moe-chat" "$work/chat.json" --option max_new_tokens=2 --json
json 'd["answers"][0]["answer"]["generated_text"][-1]["role"] == "assistant" and "<|im_start|>" in d["answers"][0]["answer"]["prompt"]'

# The same conversation as it is typed; drawn tokens: the same for a seed, whatever the rest.
cp "$work/out" "$work/each"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/text-generation-qwen2-moe-chat" --chat 'user: Hello' --option max_new_tokens=2 --json
json 'd["answers"][0]["answer"] == json.load(open(work + "/each"))["answers"][0]["answer"]'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/text-generation-qwen2-moe-chat" --chat 'Hello'
has err 'a message is ROLE: TEXT in UTF-8'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" --chat 'user: Hello'
has err 'JSON without an input of text-classification, which takes text'
drawn() { # OPTION...: the tokens are the next line of $work/ids
	code 0 "$ASSAY" pipeline --no-db --no-reference "$work/text-generation-qwen2-moe-chat" 'The weather' --option max_new_tokens=8 --option do_sample=true --json "$@"
	python3 -c 'import json, sys; print(json.load(sys.stdin)["answers"][0]["answer"]["token_ids"])' <"$work/out" >>"$work/drawn"
}
drawn --seed 1
drawn --seed 1
drawn --seed 2
drawn --seed 2 --option top_k=1
drawn --seed 1 --option temperature=0.001
[ "$(sort -u "$work/drawn" | wc -l)" = 3 ] && [ "$(sed -n 1p "$work/drawn")" = "$(sed -n 2p "$work/drawn")" ] &&
	[ "$(sed -n 4p "$work/drawn")" = "$(sed -n 5p "$work/drawn")" ] || fail "seeds: $(cat "$work/drawn")"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/text-generation-qwen2-moe-chat" 'The weather' --seed 1
has err 'seed changes nothing without do_sample=true'
# Other names of tasks; languages in the name of one.
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello' --task sentiment-analysis --json
json 'd["task"] == "text-classification"'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello' --task mask-generation
has err 'promptable-segmentation gives'
model translation-mbart-forced
for task in 'translation_eng_Latn_to_fra_Latn' 'translation --option src_lang=eng_Latn --option forced_bos_token=fra_Latn' \
	'translation_deu_Latn_to_eng_Latn' 'translation_xx_to_yy' 'text2text-generation'; do
	# shellcheck disable=SC2086
	code 0 "$ASSAY" pipeline --no-db --no-reference "$work/translation-mbart-forced" 'The weather' --option max_new_tokens=6 --task $task --json
	python3 -c 'import json, sys; print(json.load(sys.stdin)["answers"][0]["answer"]["token_ids"])' <"$work/out" >>"$work/ids"
done
nth() { sed -n "$1p" "$work/ids"; }
[ "$(nth 1)" = "$(nth 2)" ] && [ "$(nth 1)" != "$(nth 3)" ] && [ "$(nth 4)" = "$(nth 5)" ] && [ "$(nth 1)" != "$(nth 4)" ] ||
	fail "languages in the name of a task: $(cat "$work/ids")"

# A matrix that is small enough is printed: likenesses of sentences, 1 of each to itself.
model sentence-similarity-roberta-cls-dense
cp -r "$cases/sentence-similarity-roberta-cls-dense/"[1c]* "$work/sentence-similarity-roberta-cls-dense/" 2>/dev/null
python3 - "$cases" "$work" <<'PY'
import json, sys
name = "/sentence-similarity-roberta-cls-dense/modules.json"
json.dump([m for m in json.load(open(sys.argv[1] + name)) if not m["type"].endswith("Dense")], open(sys.argv[2] + name, "w"))
PY
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/sentence-similarity-roberta-cls-dense" 'One sentence' 'Another one' 'And more' --option normalize_embeddings=true
has out '^embeddings \[3,[0-9]+\]$'
[ "$(grep -cE '^  ( *-?[01]\.[0-9]{4}){3}$' "$work/out")" = 3 ] || fail "similarity: $(cat "$work/out")"
has out '^   1\.0000( +-?[01]\.[0-9]{4}){2}$'

# Each file of a model is read once, however often a list names it: 150 lines took 6 GB.
python3 - "$work/sentence-similarity-roberta-cls-dense" <<'PY'
import json, sys
modules = json.load(open(sys.argv[1] + "/modules.json"))
pooling = next(m for m in modules if m["type"].endswith("Pooling"))
json.dump(modules + [pooling] * 60, open(sys.argv[1] + "/modules.json", "w"))
path = sys.argv[1] + "/" + pooling["path"] + "/config.json"
config = json.load(open(path))
config["x"] = [{}] * 180000
json.dump(config, open(path, "w"))
PY
code 0 "$ASSAY" pipeline --no-db --no-reference --on null --memory 1.5 "$work/sentence-similarity-roberta-cls-dense" 'One sentence' 'Another one'

# What a download lacks may be in its repository.
mv "$work/sentence-similarity-roberta-cls-dense/modules.json" "$work/modules.json"
mkdir -p "$work/sentence-similarity-roberta-cls-dense/.cache/huggingface"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/sentence-similarity-roberta-cls-dense" 'One sentence' 'Another one' --task sentence-similarity
has err 'needs modules.json, which is not there or has no modules; `assay fetch MODEL --all` brings all files of a repository$'

# What cannot be is a sentence.
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes"
for name in nofile.txt my\ film.jpeg ./nofile "$work/nofile"; do
	code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" "$name"
	has err "^assay: $name: no such file"
done
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" "$work"
has err ': a folder; an INPUT is a text or a file$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'one' $'caf\xe9'
has err "^assay: INPUT 2, 'caf.*': no UTF-8$"
printf 'caf\xe9' >"$work/latin.txt"
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" "$work/latin.txt"
has err 'latin.txt: no picture, no sound and no text'
printf '{"text": "caf\xe9"}' | "$ASSAY" pipeline --no-db --no-reference "$classes" - >"$work/out" 2>"$work/err" && fail "JSON that is no UTF-8 is answered"
has err '^assay: standard input: not valid JSON'
printf 'caf\xe9' | "$ASSAY" pipeline --no-db --no-reference "$classes" - >"$work/out" 2>"$work/err" && fail "standard input that is no UTF-8 is answered"
has err '^assay: standard input: no picture, no sound and no text'
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'One and/or two.' and/or
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" '{"text": "one", "txt_pair": "two"}'
has err 'text-classification has no input txt_pair; it takes text \[text_pair\]'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" '{"txt": "one"}'
has err 'JSON without an input of text-classification, which takes text'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" '[]'
has err 'JSON without an input'
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" '{"text": "one"'
has err 'INPUT 1 begins with \{ and is no JSON: it is taken for a text$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" - -
has err 'standard input is one INPUT'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/nothing" 'Hello'
has err 'no such file or folder'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello' --task fill-musk
has err 'the task fill-musk is not supported yet; did you mean fill-mask'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello' --option top_k
has err 'KEY=VALUE'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello' --option top_k=many
has err 'the option top_k is a whole number'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello' --option topk=3
has err 'the option topk of text-classification is not supported yet; did you mean top_k\?$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello' --option wings=3
has err 'the option wings of text-classification is not supported yet$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/question-answering-roberta-windows" 'Who?'
has err 'question-answering needs the input context'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/question-answering-roberta-windows" 'Who?' 'He.' 'It.'
has err 'question-answering takes question context'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" "$SOURCE/tests/conform/preprocess/files/alpha.png"
has err 'text-classification takes text \[text_pair\]'
rm "$work/text-classification-roberta-pair/tokenizer.json"
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello'
has err 'tokenizer'
# No class says which task a model that rewrites texts is for.
code 0 "$ASSAY" synth "$cases/summarization-bart-beams" -o "$work/bart"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/bart" 'Hello'
has err 'cannot be told from its class BartForConditionalGeneration: name it with --task, such as translation, summarization$'
# An encoder and a decoder in folders of their own have no class; which passages, the option says.
mkdir -p "$work/rag/encoder" "$work/rag/decoder"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/rag" 'Who?'
has err 'name it with --task, such as retrieval-augmented-generation$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/rag" 'Who?' --task retrieval-augmented-generation
has err 'retrieval-augmented-generation needs the option retrieval, an object: passages, encoder, decoder, template'
# Classes whose head is that of another task.
cp -r "$work/question-answering-roberta-windows" "$work/other"
class() # NAME: the model says that it is of this class
{
	sed -i "s/\"[A-Za-z0-9]*ForQuestionAnswering\"/\"$1\"/" "$work/other/config.json"
}
class LayoutLMForQuestionAnswering
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/other" 'Who?'
has err '^document-question-answering \(by the model.s class\); --task names another$'
sed -i 's/"LayoutLMForQuestionAnswering"/"VitsModel"/' "$work/other/config.json"
code 2 "$ASSAY" pipeline --no-db --no-reference "$work/other" 'Who?'
has err '^text-to-audio \(by the model.s class\); --task names another$'
# A table is a JSON file of columns, or of rows.
model table-question-answering-tapas
table=$work/table-question-answering-tapas
cp "$cases/table-question-answering-tapas/vocab.txt" "$table"
echo '{"Name": ["a fox", "the dog"], "Number": ["5", "7"]}' >"$work/columns.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$table" "$work/columns.json" 'What is more than 5?' --json
mv "$work/out" "$work/first"
code 0 "$ASSAY" pipeline --no-db --no-reference "$table" '{"table": [{"Name": "a fox", "Number": "5"}, {"Name": "the dog", "Number": "7"}], "query": "What is more than 5?"}' --json
python3 - "$work/first" "$work/out" <<'PY' || fail "a table of rows is not as one of columns"
import json, sys
a, b = (json.load(open(f))["answers"][0] for f in sys.argv[1:])
sys.exit(a["answer"] != b["answer"] or set(a["answer"]) != {"answer", "coordinates", "cells", "aggregator"})
PY
code 1 "$ASSAY" pipeline --no-db --no-reference "$table" '{"table": [], "query": "What?"}'
has err 'table: 0 rows and 0 columns'
code 1 "$ASSAY" pipeline --no-db --no-reference "$table" '{"table": [{"a": "5"}, {"b": "6"}], "query": "What?"}'
has err 'table: row 2 of column 1 is no text'
# A child that dies is a sentence.
code 2 "$ASSAY" pipeline --no-db --no-reference "$work/question-answering-roberta-windows" 'Who?' 'He.' --on null:fail=run@1
has err 'null'
rm -rf "$classes"
model text-classification-roberta-pair
# A file of JSON is one however short it is.
printf '{"text": "a"}' >"$work/short.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" "$work/short.json" --json
json 'd["answers"][0]["input"] == {"text": "a"}'
# Its graphs in a precision: the weights are converted, and what would have to be measured or made by the engine is refused.
code 0 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' --precision INT4 --json
json 'd["precision"] == "int4-weights" and " int4-weights " in d["times"]["graphs"][0]["form"]'
code 2 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' --precision int8-static
has err 'a pipeline in int8-static on cpu is not supported yet: ranges'
code 2 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' --precision fp16 --on openvino
has err 'a pipeline in float16 on openvino is not supported yet: the engine makes it'
code 1 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world' --precision int5
has err 'no precision is called "int5"'
# What is no number is no answer.
not_a_number "$classes" classifier.out_proj.bias
code 2 "$ASSAY" pipeline --no-db --no-reference "$classes" 'Hello, world'
empty out
has err 'logits holds what is no number'
finish
