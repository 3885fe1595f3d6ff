# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# --data: each kind of set and its metric against what PyTorch computes of the same (by hand, below), in every place that shows it; lossy; what is refused.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
cases=$SOURCE/tests/conform/cases
cd "$work" || exit 1
quick="--on cpu --runs 3 --no-conform"

cat >sets.py <<'PY'
import json, math, os, random, struct
random.seed(1)
def put(path, **tensors):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    head, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        raw = struct.pack("<%d%s" % (len(values), {"I64": "q", "F32": "f"}[dtype]), *values)
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)
for kind in "sequence", "token", "llama":
    for i in range(20):
        n = 5 + i % 4
        t = {"input_ids": ("I64", [1, n], [random.randrange(3, 90) for _ in range(n)])}
        if kind == "sequence":
            t["label"] = ("I64", [1], [random.randrange(2)])
        else:
            t["labels"] = ("I64", [1, n], [-100] + [random.randrange(2) for _ in range(n - 1)])
        put("%s/%02d.safetensors" % (kind, i), **t)
with open("list.jsonl", "w") as f:
    for i in range(20):
        f.write(json.dumps({"file": "sequence/%02d.safetensors" % i}) + "\n\n")
ids, label = ("I64", [1, 4], [5, 6, 7, 8]), ("I64", [1], [1])
bad = lambda name, **t: put("bad/%s/a.safetensors" % name, **t)
bad("neither", input_ids=ids)
bad("noinput", label=label)
bad("range", input_ids=ids, label=("I64", [1], [7]))
bad("float", input_ids=ids, label=("F32", [1], [1.0]))
bad("nan", input_ids=ids, logits=("F32", [1, 2], [1.0, math.nan]))
bad("shape", input_ids=ids, logits=("F32", [1, 3], [1.0, 2, 3]))
bad("name", input_ids=ids, lowgits=("F32", [1, 2], [1.0, 2]))
bad("mixed", input_ids=ids, label=label)
bad("targets", input_ids=ids, label=label, logits=("F32", [1, 2], [1.0, 2]))
open("bad/golden.jsonl", "w").write('{"file": "mixed/b.safetensors", "label": 1}\n')
put("bad/mixed/b.safetensors", input_ids=ids, logits=("F32", [1, 2], [1.0, 2]))
os.makedirs("bad/empty")
os.makedirs("bad/bytes")
open("bad/bytes/a.safetensors", "wb").write(bytes(9))
os.makedirs("bad/cut")
open("bad/cut/a.safetensors", "wb").write(open("bad/range/a.safetensors", "rb").read()[:60])
for name, text in {"no": "\n", "array": "[1]\n", "twice": '{"text": "a", "label": 0, "transcript": "a"}\n', "key": '{"txt": "a"}\n', "both": '{"text": "a", "label": 0, "labels": [0]}\n', "two": '{"text": "a", "file": "b"}\n', "root": '{"file": "/etc/passwd"}\n', "out": '{"file": "../list.jsonl"}\n',
        "gone": '{"file": "x.safetensors"}\n', "class": '{"text": "hello", "label": 2}\n', "label": '{"text": "hello", "label": "ugly"}\n', "long": '{"text": "' + "x" * (1 << 20) + '"}\n'}.items():
    open("bad/%s.jsonl" % name, "w").write(text)
os.symlink(os.path.abspath("sets.py"), "bad/link.safetensors")
open("bad/link.jsonl", "w").write('{"file": "link.safetensors"}\n')
with open("text.jsonl", "w") as f:
    for i in range(12):
        f.write(json.dumps({"text": "this is text %d, which goes on " % i * (1 + i), "label": ["bad", "good", 1][i % 3]}) + "\n")
PY
python3 sets.py || fail "no sets"
for kind in sequence token; do "$ASSAY" synth "$cases/bert-$kind-classification" -o m/$kind >out 2>err || fail "synth: $(cat err)"; done
"$ASSAY" synth "$cases/llama" -o m/llama >out 2>err || fail "synth: $(cat err)"

# Wanted: transformers 5 on the same weights and examples.
code 0 "$ASSAY" run m/sequence $quick --data sequence --json
json 'd[0]["verdict"] == "right" and d[0]["data_metric"] == "accuracy" and d[0]["data_value"] == d[0]["data_reference"] == 0.4 and d[0]["data_examples"] == 20 and d[0]["data"] == "sequence"'
json 'abs(d[0]["data_macro_f1"] - 2 / 7) < 1e-8 and abs(d[0]["data_low"] - 0.21880) < 1e-4 and d[0]["data_unlike"] == d[0]["data_worse"] == 0 and d[0]["data_p"] == 1 and len(d[0]["data_sha256"]) == 64'
cp "$work/out" folder.json
code 0 "$ASSAY" run m/sequence $quick --data list.jsonl --json
json 'd[0]["data_value"] == 0.4 and d[0]["data_sha256"] != __import__("json").load(open("folder.json"))[0]["data_sha256"]'
code 0 "$ASSAY" run m/token $quick --data token
has out '^  data +token accuracy 0.43636 [(]95 % interval 0\.[0-9]+ to 0\.[0-9]+[)] of 20 examples, float32.s 0.43636; 0 answered otherwise, 0 worse and 0 better$'
code 0 "$ASSAY" run m/llama $quick --data llama --json
json 'd[0]["data_metric"] == "perplexity" and abs(d[0]["data_value"] - 178.46311) < 1e-3 and abs(d[0]["data_reference"] - 178.46311) < 1e-3 and d[0]["data_low"] < 178 < 179 < d[0]["data_high"]'

# Golden outputs: the case's own, seven times. Four bits are farther from them in each: lossy, and not without --data.
code 0 "$ASSAY" conform "$cases/bert"
real=$(find "$ASSAY_CACHE/conform" -mindepth 1 -maxdepth 1 -type d | head -1) # the case's weights
mkdir golden
for i in 1 2 3 4 5 6 7; do cp "$cases/bert/io.safetensors" golden/$i.safetensors; done
code 0 "$ASSAY" run "$real" $quick --data golden --json
json 'd[0]["data_metric"] == "cosine" and d[0]["data_value"] > 1 - 1e-9 and d[0]["data_max_rel_error"] < 1e-3 and d[0]["data_reference"] > 1 - 1e-9'
code 2 "$ASSAY" run "$real" $quick --data golden --precision int4-weights --json
json 'd[0]["verdict"] == "lossy" and d[0]["cause"].startswith("--data: cosine 0.") and d[0]["cause"].endswith("float32\x27s 1 on the same 7 examples: 7 are worse and 0 better (sign test p = 0.016)")'
code 0 "$ASSAY" run "$real" $quick --precision int4-weights

# Texts by the model's own tokenizer, labels by label2id.
mkdir m/text
python3 - "$cases/bert-sequence-classification/config.json" >m/text/config.json <<'PY'
import json, sys
c = json.load(open(sys.argv[1]))
c.update(vocab_size=30522, label2id={"bad": 0, "good": 1}, id2label={"0": "bad", "1": "good"})
json.dump(c, sys.stdout)
PY
"$ASSAY" synth m/text -o m/words >out 2>err || fail "synth: $(cat err)"
cp m/text/config.json "$SOURCE/tests/conform/tokenizer/bert-uncased/tokenizer.json" m/words
echo "{" >m/words/processor_config.json # which none of its examples needs
code 0 "$ASSAY" run m/words $quick --data text.jsonl --json
json 'd[0]["data_examples"] == 12 and d[0]["data_metric"] == "accuracy" and d[0]["data_note"] == "8 texts were cut to the length that model and graph take"'
# A snapshot of the Hub's cache is links into the blobs beside it.
mkdir -p datasets--me--toy/blobs datasets--me--toy/snapshots/1 && echo "a good one" >datasets--me--toy/blobs/0
ln -s ../../blobs/0 datasets--me--toy/snapshots/1/a.txt && echo '{"text_file": "a.txt", "label": 0}' >datasets--me--toy/snapshots/1/set.jsonl
code 0 "$ASSAY" run m/words $quick --data datasets--me--toy/snapshots/1/set.jsonl
code 0 "$ASSAY" run m/words $quick --data text.jsonl --static --seq 16 --json
json 'd[0]["data_examples"] == 12 and d[0]["data_note"].startswith("12 texts were cut")'

# What the examples contain is part of the question; where they are shown.
code 0 "$ASSAY" matrix --models m/sequence $quick --data sequence --resume --output-dir set
code 0 "$ASSAY" matrix --models m/sequence $quick --data sequence --resume --output-dir set
has out '1 finished before'
python3 -c 'exec(open("sets.py").read().split("for kind")[0]); put("sequence/00.safetensors", input_ids=("I64", [1, 3], [5, 6, 7]), label=("I64", [1], [1]))'
code 0 "$ASSAY" matrix --models m/sequence $quick --data sequence --resume --output-dir set
lacks out 'finished before'
code 0 "$ASSAY" query accuracy --json
json 'len(d) >= 6 and {r["metric"] for r in d} == {"accuracy", "token accuracy", "perplexity", "cosine"} and all(r["value"] is not None for r in d)'
code 0 "$ASSAY" report --format md
has out '^## Accuracy on data'
row=$("$ASSAY" query --format csv "SELECT max(id) AS id FROM cell" | tail -1)
code 0 "$ASSAY" reproduce "$row" --command
has out ' --data '

# What is refused, before anything runs or by the example's name.
for x in empty:'there is no .safetensors file' bytes:'a.safetensors has 9 bytes, a safetensors file at least 10' no.jsonl:'no line with an example' array.jsonl:'line 1: no JSON object' key.jsonl:'"txt" means nothing' \
	two.jsonl:'one of file, text, text_file, image and sound' twice.jsonl:'line 1: it has more than one of label' both.jsonl:'both label and labels' root.jsonl:'as seen from the folder' out.jsonl:'leads out of the folder' gone.jsonl:'No such file' link.jsonl:'leads out of the folder' \
	long.jsonl:'more than 1048576 bytes' nowhere:'no such file or folder' a.txt:'no such file'; do
	code 1 "$ASSAY" run m/words $quick --data "bad/${x%%:*}"
	has err "${x#*:}"
done
for x in neither:'a.safetensors: it has neither label nor labels' noinput:'has no tensor in.input_ids' range:'the label 7 is none of 2' float:'label is f32: integers' \
	nan:'element 1 of logits is not a finite number' shape:'logits is \[1,2\], the example has \[1,3\]' name:'lowgits is neither an input' \
	mixed:'b.safetensors: it asks for cosine' targets:'it has both labels and outputs to be held against' \
	golden.jsonl:'line 1: the line has label, and its file outputs to be held against' cut:'its header would be'; do
	code 2 "$ASSAY" run m/words $quick --data "bad/${x%%:*}" -v
	has out '^  not_asked +could not be asked'
	has out "^  cause +--data.*${x#*:}"
done
# Labels are held against the configuration before anything is loaded or a row.
rows() { "$ASSAY" query --format csv 'SELECT count(*) AS n FROM cell' | tail -1; }
before=$(rows)
for x in label.jsonl:'line 1: the label "ugly" is not in the configuration' class.jsonl:'line 1: the label 2 is none of 2 classes'; do
	code 1 "$ASSAY" run m/words $quick --data "bad/${x%%:*}"
	has err "^assay: m/words: --data bad/.*${x#*:}"
done
[ "$(rows)" = "$before" ] || fail "a mistake in --data made a row"
code 1 "$ASSAY" run m/llama $quick --data llama --task generate
has err '\-\-data goes with none of'
finish
