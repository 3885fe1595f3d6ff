# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# run --task generate --input: a prompt of a chat, of a picture and a text, of a recording. The tokens are those that transformers
# answered (tests/conform/pipeline, whose weights are by formula) and those of `assay pipeline`.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
cd "$work" || exit 1
from=$SOURCE/tests/conform/pipeline
quick="--task generate --on cpu --runs 1 --no-conform --json"

# model NAME: its folder, with the weights that the answers are of.
model()
{
	mkdir "$1"
	cp "$from/$1"/*.json* "$from/$1"/*.jinja "$from/$1"/input* "$1" 2>/dev/null
	chmod u+w "$1"/*
	python3 - "$SOURCE/tests/cli" "$from/$1/weights.tsv" "$1/model.safetensors" <<-'PY' || fail "weights"
		import json, struct, sys
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		from torch_file import formula
		head, body = {}, b""
		for line in open(sys.argv[2]):
		    name, dtype, shape = line.rstrip("\n").split("\t")
		    assert dtype == "F32"
		    shape = [int(n) for n in shape.split(",")]
		    values = formula(name, shape)
		    head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + 4 * len(values)]}
		    body += struct.pack("<%df" % len(values), *values)
		head = json.dumps(head).encode()
		open(sys.argv[3], "wb").write(struct.pack("<Q", len(head)) + head + body)
	PY
}
# answer_of MODEL N: what transformers answered to the question of this number, in Python.
answer_of() { echo "json.load(open('$1/pipeline.json'))['answers'][$2]"; }

# A chat: a file with messages. The language model has a buffer for its cache.
m=text-generation-qwen2-moe-chat
model $m
python3 -c 'import json; json.dump(json.load(open("'$m'/pipeline.json"))["inputs"][0], open("chat.json", "w"))'
code 0 "$ASSAY" run $m $quick --new-tokens 12 --input chat.json
json "d[0]['verdict'] == 'right' and d[0]['tokens'] == $(answer_of $m 0)['token_ids'][-12:] and d[0]['generated_text'] == $(answer_of $m 0)['generated_text']"
json "d[0]['prompt_tokens'] == len($(answer_of $m 0)['token_ids']) - 12 and d[0]['cache_form'] == 'shared' and d[0]['tokens_unlike_uncached'] == 0 and d[0]['reference'] == 'engine:openvino-f32'"
json 'd[0]["input_files"][0]["sha256"] == __import__("hashlib").sha256(open("chat.json", "rb").read()).hexdigest() and len(d[0]["inputs_hash"]) == 64 and d[0]["prefill_ms"] > 0 and d[0]["samples"] == 11'
row=$("$ASSAY" query --format csv "SELECT max(id) AS id FROM cell" | tail -1)
code 0 "$ASSAY" reproduce "$row" --command
has out "--input.*file:$work/chat.json"
lacks out 'prompt-tokens'

# A prompt of three million tokens is not encoded to the end to be refused.
python3 -c 'import json; json.dump([{"role": "user", "content": "a" * 3000000}], open("huge.json", "w"))'
bounded 1 2 150 "$ASSAY" run $m $quick --new-tokens 4 --input huge.json
has err 'a text of 3000050 bytes; at most 262144 are given to a model that takes 256 tokens'

# A picture and a text.
m=image-text-to-text-llava
model $m
code 0 "$ASSAY" run $m $quick --new-tokens 10 --input $m/input0.png --input $'USER: <image>\nWhat is shown here? ASSISTANT:'
json "d[0]['verdict'] == 'right' and d[0]['tokens'] == $(answer_of $m 0)['token_ids'][-10:] and d[0]['tokens_unlike_uncached'] == 0"
json "$(answer_of $m 0)['generated_text'].endswith(d[0]['generated_text']) and [f['is'] for f in d[0]['input_files']] == ['picture']"

# set KEY=JSON...: in the model's generation_config.json.
set_of()
{
	python3 - $m/generation_config.json "$@" <<-'PY'
		import json, sys
		c = json.load(open(sys.argv[1]))
		c |= {word.split("=")[0]: json.loads(word.split("=")[1]) for word in sys.argv[2:]}
		json.dump(c, open(sys.argv[1], "w"))
	PY
}

# A recording. What generation_config.json says of scores acts on each token here, without a cache and in the reference; 459 would be the
# likeliest. The language is heard where nobody names one.
m=automatic-speech-recognition-whisper
model $m
code 0 "$ASSAY" run $m $quick --new-tokens 10 --input $m/input0.wav
json 'd[0]["tokens"].count(459) > 1'
cp $m/generation_config.json kept
set_of repetition_penalty=1.3 no_repeat_ngram_size=2
code 0 "$ASSAY" pipeline --no-db --no-reference $m $m/input0.wav --option num_beams=1 --option max_new_tokens=12 --json
python3 -c 'import json; print(json.dumps(json.load(open("out"))["answers"][0]["answer"]["text"]))' >text
code 0 "$ASSAY" run $m $quick --new-tokens 12 --input $m/input0.wav
json 'd[0]["verdict"] == "right" and d[0]["generated_text"] == json.load(open("text")) and d[0]["prompt_tokens"] == 3 and d[0]["encoder_ms"] > 0 and d[0]["tokens_unlike_uncached"] == 0 and d[0]["tokens"].count(459) == 1 and "the model heard, token 70" in d[0]["inputs_note"]'
code 0 "$ASSAY" run $m $quick --new-tokens 4 --precision int8-weights --input $m/input0.wav
json 'd[0]["verdict"] == "right" and "the reference in float32 heard, token 70" in d[0]["inputs_note"] and d[0]["token_agreement"] >= 0.5'
mv kept $m/generation_config.json
set_of 'language="en"' 'task="transcribe"'
code 0 "$ASSAY" run $m $quick --new-tokens 10 --input $m/input0.wav
json "d[0]['verdict'] == 'right' and d[0]['generated_text'] == $(answer_of $m 0)['text'] and d[0]['prompt_tokens'] == 4 and d[0]['tokens_unlike_uncached'] == 0 and 'heard' not in d[0]['inputs_note']"

# What does not go.
while IFS='|' read -r words arguments; do
	code 1 "$ASSAY" run $quick $arguments
	has err "$words"
done <<LINES
automatic-speech-recognition takes audio|$m --input word
no picture, no sound|$m --input $m/model.safetensors
--input: .*text|image-text-to-text-llava --input image-text-to-text-llava/input0.png
LINES
finish
