# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# tokenize: ids, pairs, offsets, decoding, JSON, standard input, and what is refused.
. "$SOURCE/tests/cli/lib.sh" || exit 1
folders=$SOURCE/tests/conform/tokenizer

code 0 "$ASSAY" tokenize "$folders/bert-cased" 'Hello, world!' ab
empty err
[ "$(cat "$work/out")" = '2 179 310 28 31 158 341 355 5 3
2 193 18 3' ] || fail "the ids: $(cat "$work/out")"
code 0 "$ASSAY" tokenize "$folders/bert-cased" ab --no-special
[ "$(cat "$work/out")" = '193 18' ] || fail "without special tokens: $(cat "$work/out")"
code 0 "$ASSAY" tokenize "$folders/bert-cased" ab --pair a
has out '^2 193 18 3 193 3$'
code 0 "$ASSAY" tokenize "$folders/gpt2" 'Héllo' --offsets
has out '^ +39 +0 +1  H$'
has out '^ +533 +2 +4  ll$'
code 0 "$ASSAY" tokenize "$folders/gpt2" --json 'Héllo' $'a\tb'
json 'len(d) == 2 and d[0]["text"] == "Héllo" and d[0]["ids"] == [39, 324, 533, 78] and d[0]["offsets"] == [[0, 1], [1, 2], [2, 4], [4, 5]]'
json 'd[0]["tokens"][3] == "o" and d[0]["type_ids"] == [0] * 4 and d[0]["special_tokens_mask"] == [0] * 4 and d[1]["text"] == "a\tb"'
code 0 "$ASSAY" tokenize "$folders/gpt2" --decode 39 324,533 '[78]'
[ "$(cat "$work/out")" = Héllo ] || fail "decoded: $(cat "$work/out")"
code 0 "$ASSAY" tokenize "$folders/bert-cased" --decode 2 193 18 3
has out '^\[CLS\] ab \[SEP\]$'
code 0 "$ASSAY" tokenize "$folders/bert-cased" --decode --no-special --json 2 193 18 3
json 'd == {"text": "ab"}'
code 0 "$ASSAY" tokenize "$folders/wav2vec2-ctc" --decode 11 11 0 11 4 13
has out '^HH R$'

# Standard input, with a NUL and without a newline of its own.
printf 'a\0b' | "$ASSAY" tokenize "$folders/gpt2" - --json >"$work/out" 2>"$work/err" || fail "standard input"
json 'd[0]["text"] == "a\0b" and len(d[0]["ids"]) == 3'

# A token may hold a control character: it is shown as an escape.
code 0 "$ASSAY" tokenize "$folders/wordlevel-whitespace" --decode 4000000000
has err '^assay: no token of this tokenizer, left out: 4000000000$'
[ "$(cat "$work/out")" = '' ] || fail "an id that is no token's: $(cat "$work/out")"
code 0 "$ASSAY" tokenize "$folders/gpt2" --decode 39 9999999 39 9999999 9999998
has err 'left out: 9999999, 9999998$'
code 0 "$ASSAY" tokenize "$folders/gpt2" --decode 27 91
lacks out "$(printf '\033')"

code 1 "$ASSAY" tokenize "$folders/gpt2" $'a\xff'
has err 'the text is no UTF-8 from byte 1 on'
code 1 "$ASSAY" tokenize "$folders/gpt2" --decode x
has err "'x' is no id"
code 1 "$ASSAY" tokenize "$folders/gpt2" a --decode --offsets
has err '\-\-decode goes with neither'
code 1 "$ASSAY" tokenize "$folders/gpt2"
code 1 "$ASSAY" tokenize "$work" a
has err 'there is no tokenizer\.json, spiece\.model'
code 1 "$ASSAY" tokenize nonesuch-model a
# A vocabulary of tiktoken with two tokens of one rank: an id would stand for both.
cp -r "$folders/files-tiktoken" "$work/ranks"
echo 'enp6eno= 2' >>"$work/ranks/tokenizer.model"
code 1 "$ASSAY" tokenize "$work/ranks" a
has err 'line [0-9]*: another token has the rank 2$'

# A chat: chat_template.jinja, or what tokenizer_config.json has.
mkdir "$work/chat"
cp "$folders/gpt2/tokenizer.json" "$work/chat"
code 1 "$ASSAY" tokenize "$work/chat" --chat 'user: hi'
has err 'there is no chat template'
cat >"$work/chat/tokenizer_config.json" <<'JSON'
{"eos_token": {"content": "<e>"}, "chat_template": [{"name": "default", "template": "{% for m in messages %}{{ m.role }}={{ m.content }}{{ eos_token }}{% endfor %}{{ add_generation_prompt }}"},
 {"name": "tool_use", "template": "{{ tools | tojson }}{{ messages | length }}"}]}
JSON
code 0 "$ASSAY" tokenize "$work/chat" --chat --json 'system: a: b' 'user:hé'
json 'd["text"] == "system=a: b<e>user=hé<e>True" and len(d["ids"]) > 5'
echo '{"messages": [{"role": "user", "content": "a"}], "tools": [{"b": "é"}]}' >"$work/m.json"
code 0 "$ASSAY" tokenize "$work/chat" --messages "$work/m.json"
has out '^\[\{"b": "é"\}\]1$'
echo '{{ messages[0].content }}|{{ bos_token }}{{ eos_token }}{{ raise_exception("no tool") if tools }}' >"$work/chat/chat_template.jinja"
code 0 "$ASSAY" tokenize "$work/chat" --chat 'user: 1'
[ "$(head -1 "$work/out")" = '1|<e>' ] || fail "the prompt: $(cat "$work/out")"
code 1 "$ASSAY" tokenize "$work/chat" --messages "$work/m.json"
has err 'chat_template\.jinja: line 1: no tool'
code 1 "$ASSAY" tokenize "$work/chat" --chat hi
has err 'a message is ROLE: TEXT'
code 1 "$ASSAY" tokenize "$work/chat" --chat --decode 'user: 1'
code 1 "$ASSAY" tokenize "$work/chat" --messages "$work/m.json" a
echo '{{ messages | tojson }}' >"$work/chat/chat_template.jinja"
echo '[{"role": "a", "reasoning": "r"}, {"role": "b", "reasoning_content": null, "thinking": null}]' >"$work/m.json"
code 0 "$ASSAY" tokenize "$work/chat" --messages "$work/m.json" --json
json 'd["text"] == """[{"thinking": "r", "role": "a", "reasoning": "r", "reasoning_content": "r"}, {"role": "b", "reasoning_content": null, "thinking": null}]"""'
echo '{"messages": 1}' >"$work/m.json"
code 1 "$ASSAY" tokenize "$work/chat" --messages "$work/m.json"
has err 'no list of messages'

mkdir "$work/bad"
echo '{"model": 1}' >"$work/bad/tokenizer.json"
code 1 "$ASSAY" tokenize "$work/bad" a
has err 'bad/tokenizer\.json: "model" is no object'
finish
