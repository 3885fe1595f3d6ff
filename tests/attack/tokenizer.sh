# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A stranger's tokenizer.json: texts that grow, expressions that never end or are never compiled, counts that are no counts. Each is
# refused, quickly and small.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cd "$work" || exit 1
python3 - <<'PY' || exit 1
import base64, json, os, struct
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
write("words", pre_tokenizer={"type": "WhitespaceSplit"}, model={"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"})
# Each place of a long word is the beginning of a piece that is nearly as long.
write("pieces", model={"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 10 ** 9,
                       "vocab": {"a": 0, "##a": 1, "##" + "a" * 200000: 2, "[UNK]": 3}})
write("sums", model={"type": "Unigram", "unk_id": 0, "vocab": [["[UNK]", 0]] + [["a" * n, -n] for n in range(1, 4000)]})
write("doubles", normalizer=chain([replace({"String": "a"}, "aa")] * 40))
write("prepends", normalizer=chain([{"type": "Prepend", "prepend": "a" * 30000}] * 200))
write("passes", normalizer=chain([{"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": True}] * 900))
write("splits", pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": False}] * 900})
write("backtracks", normalizer=replace({"Regex": "(a+)+$"}, "b"))
write("ahead", normalizer=replace({"Regex": "(?=a*a*c)a"}, "b"))
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
write("tens", decoder={"type": "Sequence", "decoders": [replace({"String": "a"}, "a" * 10)] * 12}, model=long)
write("between", decoder={"type": "Sequence", "decoders": [replace({"String": ""}, "a" * 1000)] * 4}, model=long)
write("unsaid", decoder=replace({"Regex": "(a+)+$"}, "b"), model=long)
write("joined", model=long)
write("trie", normalizer={"type": "Precompiled", "precompiled_charsmap": "/////w=="})
write("parentheses", pre_tokenizer=split("(" * 60000 + "a" + ")" * 60000))
write("repeats", pre_tokenizer=split("(?:(?:(?:(?:a{1,1000}){1,1000}){1,1000}){1,1000})"))
write("ids", model={"type": "BPE", "vocab": {"a": 2**62, "b": -1, "c": 2**32 + 1}, "merges": []})
write("template", post_processor={"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 100000,
                                  "pair": [], "special_tokens": {}})


def special(parts, count):
    return {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}] * parts, "pair": [],
            "special_tokens": {"x": {"id": "x", "ids": list(range(count)), "tokens": ["x"] * count}}}


write("specials", post_processor=special(300, 10000))
write("specials_good", post_processor=special(1000, 250))
# A prefix is put before each letter but the first, and with byte_fallback each of its bytes is a token.
BYTES = {"<0x%02X>" % i: i for i in range(256)}


def prefixed(length):
    return {"type": "BPE", "vocab": BYTES, "merges": [], "byte_fallback": True, "continuing_subword_prefix": "x" * length}


write("prefix", model=prefixed(17))
write("prefix_long", model=prefixed(9000000))
write("prefix_good", model=prefixed(16))
write("suffix", model={"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "x" * 1000})


def splits(expressions):
    return {"type": "Sequence", "pretokenizers": [split(one) for one in expressions]}


# What an expression is compiled from is many times its text: sets of Unicode as ranges, computed ones, and each again for PCRE2 and its code.
write("unassigned", pre_tokenizer=split(r"\p{Cn}" * 10900))
write("unassigned_in_one", pre_tokenizer=split("[" + r"\p{Cn}" * 10900 + "]"))
write("boundaries", pre_tokenizer=split(r"\b" * 32000))
write("same_sets", pre_tokenizer=splits([r"[\P{Alpha}]"] * 500 + ["("]))
write("sets", pre_tokenizer=splits([r"[\P{Alpha}]" + "a" * i for i in range(250)]))
write("ranges", pre_tokenizer=split("(?i)" + r"[\x{0}-\x{10ffff}]" * 3000))
write("intersections", pre_tokenizer=split("[" + r"\p{Cn}" * 4000 + "&&a]("))
write("properties", pre_tokenizer=splits([r"[\P{%s}&&a]" % name for name in (
    "Greek Latin Han Cyrillic Arabic Hebrew Thai Lao Tibetan Hangul Khmer Runic Ogham Gothic Osage Coptic Yi Lisu Braille").split()]))
write("expressions", pre_tokenizer=splits(["a" * i for i in range(1, 300)]))
write("expressions_long", pre_tokenizer=splits(["(?:a|b|c|d|e)*" * 20 + "x" * i for i in range(250)]))
write("byte_levels", pre_tokenizer={"type": "Sequence", "pretokenizers": [
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}] * 900 + [split("(")]})


def added(content):
    return {"id": 9, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}


write("added_grow", normalizer=replace({"String": "a"}, "a" * 1000), added_tokens=[added("a" * 900 + "b%d" % i) for i in range(2000)])
write("added_long", added_tokens=[added("%04000d" % i) for i in range(600)])
write("added_slow", normalizer=chain([{"type": "NFKD"}] * 1000), added_tokens=[added("\u00e9" * 1900 + "%d" % i) for i in range(400)])
# Most of a token stands at each place of a text, and blanks that tokens take stand there again and again.
write("added_again", normalizer=replace({"String": "a"}, "a" * 32), added_tokens=[added("a" * 4000 + "b")])
write("added_raw", added_tokens=[{**added("a" * 4000 + "b"), "normalized": False}])
blank = {**added(" "), "normalized": False}
write("added_blanks", added_tokens=[{**blank, "lstrip": True, "rstrip": True}])
write("added_behind", added_tokens=[{**blank, "rstrip": True}])
write("trees", **{key: [[0] * 300000] for key in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens")})


def padding(length, token):
    return {"strategy": {"Fixed": length}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": token}


write("pads", padding=padding(10000000, "[PAD]"))
write("pad_long", padding=padding(1000, "x" * 10000))
write("unknown_long", pre_tokenizer={"type": "Whitespace"}, model={"type": "WordLevel", "vocab": {"u" * 1024: 0}, "unk_token": "u" * 1024})
# A good one: published models have tens of thousands of added tokens.
flags = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
write("added", text=json.dumps({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
                                "added_tokens": [dict(flags, id=1 + i, content="<t%d>" % i, special=True) for i in range(65536)]}))
for name, passages in ("long", ["a" * 4000000]), ("many", ["a" * 20000] * 20), ("template", ["a" * 100000]), ("prefix", ["a"] * 4000):
    open("passages_" + name + ".json", "w").write(json.dumps(passages))
open("many.json", "w").write(json.dumps([{"text": "a " * 60}] * 1500))
# Large files.
entries = ",".join(['"%d":%d' % (i, i) for i in range(1050000)])
write("many", text='{"model":{"type":"BPE","vocab":{' + entries + '},"merges":["a b"]}}')
write("wide", text='{"model":{"type":"BPE","vocab":{' + ",".join('"' + "0" * 994 + '%06d":%d' % (i, i) for i in range(26000)) + '},"merges":[]}}')
write("strings", text='{"version":"' + "\\n" * 4500000 + '"}')
write("blanks", text="{" + " " * 60000000)


def string(text):
    return struct.pack("<Q", len(text)) + text


def gguf(name, tokens):
    pairs = [string(key) + struct.pack("<I", 8) + string(value) for key, value in (
        (b"general.architecture", b"qwen2"), (b"tokenizer.ggml.model", b"gpt2"), (b"tokenizer.ggml.pre", b"qwen2"))]
    pairs += [string(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(string, values)) for key, values in (
        (b"tokenizer.ggml.tokens", tokens), (b"tokenizer.ggml.merges", [b"a b"]))]
    os.makedirs(name)
    open(name + "/model.gguf", "wb").write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs) + bytes(64))


def field(number, content):
    head = number << 3 | 2, len(content)
    return b"".join(bytes([*[n >> 7 * k & 127 | 128 for k in range((n.bit_length() - 1) // 7)], n >> (n.bit_length() - 1) // 7 * 7])
                    for n in head) + content


# Of BPE, and in bytes of tiktoken: each cut of a piece in two is looked for.
os.makedirs("piece")
open("piece/spiece.model", "wb").write(b"".join(field(1, field(1, text) + b"\x15\0\0\0\0\x18" + kind) for text, kind in (
    (b"<unk>", b"\2"), (b"a", b"\1"), (b"a" * 60000, b"\1"))) + field(2, b"\x18\2"))
os.makedirs("ranks")
open("ranks/tokenizer.model", "wb").write(b"\n".join(base64.b64encode(b"\xC0" * 246 + struct.pack(">I", i)) + b" %d" % i for i in range(24000)))
gguf("gguf_wide", [b"0" * 49990 + b"%010d" % i for i in range(800)])
gguf("gguf_many", [b"%d" % i for i in range(524289 if os.environ.get("ASSAY_LONG") else 2)])
gguf("gguf_escapes", [b"\x01" * 30000 + b"%d" % i for i in range(270)])
for name, line in ("lines", "abcdefghijklmnop\n" * 1600000), ("blank_lines", "\n" * 1100000):
    os.makedirs(name)
    open(name + "/vocab.txt", "w").write(line)
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
for each in pieces ${ASSAY_LONG:+sums}; do
	bounded 1 2 100 "$ASSAY" tokenize "$each" "$long"
	has err 'the pieces of its vocabulary are too long for words as long as this'
done
for each in passes ${ASSAY_LONG:+splits}; do # 4 and 5 s of 120,000 bytes
	bounded 1 2 100 "$ASSAY" tokenize "$each" "$long"
	has err 'its steps go over the text more than 32 times: no tokenizer in use does'
done
refuses doubles 'the normalizer makes more than 64 times its length of a text'
refuses prepends 'its steps go over the text more than 32 times'
bounded 1 2 100 "$ASSAY" tokenize ahead "$(printf "a%.0s" $(seq 12000))" # 64 places at a time took 9 s for 20,000 before the clock was looked at
has err 'a regular expression takes too long on this text'
refuses backtracks 'a regular expression takes too long on this text'
refuses places 'a regular expression takes too long on this text'          # limits of its library begin anew at each place
[ -z "${ASSAY_LONG:-}" ] || refuses matches 'a regular expression takes too long on this text' # and for each match
refuses chain 'normalizer: a chain of 10000 steps'
refuses nested 'too deep'
refuses deep '"model" is no object'
refuses trie 'precompiled_charsmap: a trie of 4294967295 bytes in 4'
refuses parentheses 'a regular expression of 120001 bytes'
refuses repeats 'regular expression is too large'
refuses ids 'an id that is too large'
refuses template 'of JSON would take more than the 48 MiB of memory'
# Special tokens that a template names again and again: they were not counted, and copied once more for each part of it.
bounded 1 1 100 "$ASSAY" tokenize specials a
has err 'template makes 270000 tokens of a text of 1; at most 262148 are made'
bounded 0 1 100 "$ASSAY" tokenize specials_good a
# refuses_small NAME WORDS [TEXT OPTIONS]: nothing of what is refused is built.
refuses_small()
{
	local name=$1 why=$2
	shift 2
	bounded 1 1 100 "$ASSAY" tokenize "$name" "${@:-$text}"
	has err "$why"
}
refuses_small prefix '"continuing_subword_prefix" of 17 bytes and "end_of_word_suffix" of 0; each has 16 at most'
refuses_small suffix '"end_of_word_suffix" of 1000'
refuses_small prefix_long 'a string that is too long'
bounded 0 1 100 "$ASSAY" tokenize prefix_good "${text:0:20000}"
for each in unassigned unassigned_in_one boundaries sets ranges; do
	refuses_small $each "its sets, or those of the file's expressions together, are too large"
done
refuses_small same_sets 'missing closing parenthesis'
refuses_small byte_levels 'missing closing parenthesis'
[ -z "${ASSAY_LONG:-}" ] || refuses_small intersections 'missing closing parenthesis'
refuses_small properties 'too many properties in sets that must be computed'
refuses_small expressions "of the file's the number 257"
refuses_small expressions_long 'at most 256 of 65536 bytes together are taken'
refuses_small added_grow 'more than 2 MiB of added tokens'
refuses_small added_long 'more than 2 MiB of added tokens'
refuses_small added_slow '(the normalizer takes too long on the added tokens|its steps go over the text more than 32 times)'
refuses_small trees 'what stands beside the model would take more than 48 MiB of memory'
refuses_small pads 'makes 10000000 tokens of a text of'
refuses_small pad_long '"pad_token" of 10000 bytes'
words=$(printf '%060000d' 0 | sed 's/0/b /g')
refuses_small unknown_long 'the texts of the tokens have' "$words" --offsets --pair "$words"
refuses_small many 'a vocabulary of more than 1048576 entries or 24 MiB of text'
refuses_small wide 'a vocabulary of more than 1048576 entries or 24 MiB of text'
refuses_small strings 'a string that is too long'
bounded 1 1 40 "$ASSAY" tokenize blanks "$text"
has err 'a string expected .byte 60000001'
refuses_small gguf_wide '"tokenizer.ggml.tokens": more than 8 MiB of text'
[ -z "${ASSAY_LONG:-}" ] || refuses_small gguf_many 'has more than 524288 values'
refuses_small gguf_escapes 'the texts of its tokens are too long'
refuses_small lines 'at most 25165824 are read'
refuses_small blank_lines 'a vocabulary of more than 1048576 entries or 24 MiB of text'
# What a file of some KB made of a short text took the square of, and more.
bounded 0 1 100 "$ASSAY" tokenize added_again "${text:0:3000}"
head -c 300000 /dev/zero | tr '\0' a >letters
bounded 0 1 100 sh -c '"$0" tokenize added_raw - <letters' "$ASSAY"
head -c 50000 /dev/zero | tr '\0' ' ' >typed
bounded 0 1 100 sh -c '"$0" tokenize added_blanks - <typed' "$ASSAY"
bounded 0 1 100 sh -c '"$0" tokenize added_behind - <typed' "$ASSAY"
bounded 0 1 100 "$ASSAY" tokenize piece aaa
bounded 0 1 100 "$ASSAY" tokenize ranks a
# Back to text: decoders doubled it without a limit, and what an expression did not come to the end of was printed as it was.
decodes()
{
	bounded 1 2 100 "$ASSAY" tokenize "$1" --decode $2
	has err "$3"
}
decodes grows "$(printf '0 %.0s' $(seq 300))" 'the decoders make more than 32 MiB'
decodes tens 0 'the decoders make more than 32 MiB'
decodes between 0 'the decoders make more than 32 MiB'
decodes joined "$(printf '2 %.0s' $(seq 100))" 'the decoders make more than 32 MiB'
decodes unsaid 1 'a regular expression takes too long on this text'
# Passages of a stranger's folder, for models that take 64 tokens and less: one that is long, many that are put together.
mkdir "$work/rag"
for part in encoder decoder; do
	code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/$([ $part = encoder ] && echo bert-model || echo gpt2)" -o "$work/rag/$part"
	cp "$work/words/tokenizer.json" "$work/rag/$part"
done
retrieves()
{
	cp "passages_$1.json" rag/passages.json
	bounded 1 1 100 "$ASSAY" pipeline rag q --task retrieval-augmented-generation --no-db --no-reference \
		--option "retrieval={\"passages\":\"passages.json\",\"top_k\":4000$2}"
	has err "$3"
}
retrieves long '' 'retrieval: a passage of 4000000 bytes; at most 262144 are given to the model encoder'
retrieves many '' 'retrieval: a context of [0-9]* bytes; at most 262144 are given to the model decoder'
retrieves template ',"template":"{context}{context}{context}"' 'retrieval: a prompt of 300000 bytes'
retrieves prefix ",\"passage_prefix\":\"$(printf '%05000d' 0)\"" 'retrieval: passages of more than 16 MiB'
# A text of one's own, for a model that takes 64 tokens: 950 MB before any of them was given to it.
yes '.,' | head -c 4000000 | tr -d '\n' >long.txt
bounded 1 1 100 "$ASSAY" pipeline rag/encoder long.txt --task feature-extraction --no-db --no-reference
has err 'a text of 2666667 bytes; at most 262144 are given to a model that takes 64 tokens'
# Answers that are too many for the memory that they are given: those before are told.
if [ -n "${ASSAY_LONG:-}" ]; then
	bounded 2 3 150 "$ASSAY" pipeline rag/encoder many.json --task feature-extraction --no-db --no-reference --json
	has err 'the answers to more than the first [0-9]+ inputs take more than the 96 MiB'
	json '1 < len(d["answers"]) < 1500'
fi
# Good ones are read.
bounded 0 1 100 "$ASSAY" tokenize "$work/added" '<t65535>'
has out '^65536$'
finish
