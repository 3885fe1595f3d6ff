# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A stranger's tokenizer.json: texts that grow, expressions that never end, counts that are no counts. Each is refused, quickly and small.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cd "$work" || exit 1
python3 - <<'PY' || exit 1
import json, os
VOCABULARY = {"a": 0, "b": 1, "aa": 2, "[UNK]": 3}


def write(name, text=None, **parts):
    os.makedirs(name)
    json.dump({"model_type": "bert"}, open(name + "/config.json", "w"))
    whole = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
             "model": {"type": "BPE", "vocab": VOCABULARY, "merges": ["a a"], "unk_token": "[UNK]"}}
    open(name + "/tokenizer.json", "w").write(text or json.dumps({**whole, **parts}))


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def chain(steps):
    return {"type": "Sequence", "normalizers": steps}


def split(expression):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}


write("good")
# Each place of a long word is the beginning of a piece that is nearly as long.
write("pieces", model={"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 10 ** 9,
                       "vocab": {"a": 0, "##a": 1, "##" + "a" * 200000: 2, "[UNK]": 3}})
write("sums", model={"type": "Unigram", "unk_id": 0, "vocab": [["[UNK]", 0]] + [["a" * n, -n] for n in range(1, 4000)]})
write("doubles", normalizer=chain([replace({"String": "a"}, "aa")] * 40))
write("prepends", normalizer=chain([{"type": "Prepend", "prepend": "a" * 30000}] * 200))
write("backtracks", normalizer=replace({"Regex": "(a+)+$"}, "b"))
write("chain", normalizer=chain([replace({"Regex": "a.*?b"}, "")] * 10000))
nested = {"type": "Lowercase"}
for _ in range(300):
    nested = chain([nested])
write("nested", normalizer=nested)
write("deep", text='{"model":' + "[" * 5000000)
write("places", pre_tokenizer=split("a?" * 2000 + "a" * 2000))
write("matches", pre_tokenizer=split("(?:" + ".?" * 18 + "(?!))|."))
long = {"type": "BPE", "vocab": {"a": 0, "a" * 30000 + "c": 1, "a" * 500000: 2}, "merges": []}
write("grows", decoder={"type": "Sequence", "decoders": [replace({"String": "a"}, "aa")] * 50}, model=long)
write("between", decoder={"type": "Sequence", "decoders": [replace({"String": ""}, "a" * 1000)] * 4}, model=long)
write("unsaid", decoder=replace({"Regex": "(a+)+$"}, "b"), model=long)
write("joined", model=long)
write("trie", normalizer={"type": "Precompiled", "precompiled_charsmap": "/////w=="})
write("parentheses", pre_tokenizer=split("(" * 60000 + "a" + ")" * 60000))
write("repeats", pre_tokenizer=split("(?:(?:(?:(?:a{1,1000}){1,1000}){1,1000}){1,1000})"))
write("ids", model={"type": "BPE", "vocab": {"a": 2**62, "b": -1, "c": 2**32 + 1}, "merges": []})
write("template", post_processor={"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 100000,
                                  "pair": [], "special_tokens": {}})
PY
text=$(head -c 30000 /dev/zero | tr '\0' a)b
bounded 0 2 100 "$ASSAY" tokenize good "$text"
# refuses NAME WORDS
refuses()
{
	bounded 1 2 150 "$ASSAY" tokenize "$1" "$text"
	has err "$2"
}
long=$(printf '%080000d' 0 | tr 0 a)
for each in pieces sums; do
	bounded 1 3 150 "$ASSAY" tokenize "$each" "$long"
	has err 'the pieces of its vocabulary are too long for words as long as this'
done
refuses doubles 'the normalizer makes more than 64 times its length of a text'
refuses prepends 'the normalizer makes more than 64 times its length of a text'
refuses backtracks 'a regular expression takes too long on this text'
refuses places 'a regular expression takes too long on this text'          # limits of its library begin anew at each place
refuses matches 'a regular expression takes too long on this text'         # and for each match
refuses chain 'normalizer: a chain of 10000 steps'
refuses nested 'too deep'
refuses deep '"model" is no object'
refuses trie 'precompiled_charsmap: a trie of 4294967295 bytes in 4'
refuses parentheses 'a regular expression of 120001 bytes'
refuses repeats 'regular expression is too large'
refuses ids 'an id that is too large'
refuses template 'of JSON would take more than the 48 MiB of memory'
# Back to text: decoders doubled it without a limit, and what an expression did not come to the end of was printed as it was.
decodes()
{
	bounded 1 2 100 "$ASSAY" tokenize "$1" --decode $2
	has err "$3"
}
decodes grows "$(printf '0 %.0s' $(seq 300))" 'the decoders make more than 32 MiB'
decodes between 0 'the decoders make more than 32 MiB'
decodes joined "$(printf '2 %.0s' $(seq 100))" 'the decoders make more than 32 MiB'
decodes unsaid 1 'a regular expression takes too long on this text'
finish
