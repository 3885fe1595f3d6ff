# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Tokenizers: every folder of tests/conform/tokenizer agrees with the library to the last id, offset and decoded text, one result a
# folder; and what differs is seen and shown.
. "${SOURCE:?the source folder}/tests/conform/lib_folders.sh"
cases=$SOURCE/tests/conform/tokenizer
all_agree 44 '^ok ' "$cases"/*/

# A wrong id, a wrong offset, a wrong decoded text, a wrong mask, a wrong text of frames: each is found, with its text.
damage() { # FOLDER SED-EXPRESSION WHAT
	wrong "$cases/$1" cases.jsonl "$2" "^FAIL copy  line [0-9]*: .*$3 expected .* got "
}
damage gpt2 's/"ids":\[39,312/"ids":[39,313/' ids
damage bert-cased '0,/"offsets":\[\[0,0\],\[0,1\]/s//"offsets":[[0,0],[0,2]/' offsets
damage llama2 's/"decoded":"Hello/"decoded":"hello/' decoded
damage roberta 's/"attention_mask":\[1,1/"attention_mask":[1,0/' attention_mask
damage ctc-decoder 's/"decoded":"\(.\)/"decoded":"?\1/' decoded

# A folder that cannot be read fails, and is counted beside the others; so is one without a line.
mkdir "$work/broken" "$work/none"
echo '{"model": {"type": "BPE"' >"$work/broken/tokenizer.json"
echo '{"text": "a", "ids": []}' >"$work/broken/cases.jsonl"
cp "$SOURCE/tests/conform/tokenizer/gpt2/tokenizer.json" "$work/none/"
: >"$work/none/cases.jsonl"
code=0
"$ASSAY" conform "$work/broken" "$SOURCE/tests/conform/tokenizer/gpt2" "$work/none" >"$work/out" 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "a broken folder: exit code $code"
grep -q '^FAIL broken .*not valid JSON' "$work/out" || fail "no reason"
grep -q '^FAIL none .*no lines' "$work/out" || fail "no lines"
[ "$(tail -1 "$work/out")" = "1 passed, 2 failed" ] || fail "the last line"
