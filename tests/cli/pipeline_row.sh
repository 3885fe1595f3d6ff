# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# pipeline: the row that it keeps, the verdict, what report and query have of it, and what is no row.
. "$SOURCE/tests/cli/lib.sh" || exit 1
has_platform openvino || exit 77
need_python
from=$SOURCE/tests/conform/pipeline
cd "$work" || exit 1
model() # NAME FILE...
{
	local name=$1
	shift
	code 0 "$ASSAY" synth "$from/$name" -o "$name"
	(cd "$from/$name" && cp -r "$@" "$work/$name")
}
model text-classification-roberta-pair tokenizer.json tokenizer_config.json
model text-generation-opt-penalties tokenizer.json tokenizer_config.json
classes=text-classification-roberta-pair writes=text-generation-opt-penalties
mkdir pictures
cp -r "$from/text-to-image-sd15/model_index.json" "$from/text-to-image-sd15/scheduler" "$from/text-to-image-sd15/tokenizer" pictures
for part in text_encoder unet vae; do
	code 0 "$ASSAY" synth "$from/text-to-image-sd15/$part" -o "pictures/$part"
done

# Labels of two inputs, one of them a file: right where another platform says the same.
printf 'And another\n' >another.txt
code 0 "$ASSAY" pipeline "$classes" 'Hello, world' another.txt
has err '^right: 2 of 2 labels the same, scores at most [0-9.e-]+ apart; against engine:openvino-f32; row 1 of '
# A text: its tokens, the first and each after it.
code 0 "$ASSAY" pipeline "$writes" 'The weather' --option max_new_tokens=4 --json
json 'd["row"] == 2 and d["verdict"] == "right" and d["measures"]["tokens_same"] == d["measures"]["tokens"] == 4 < len(d["answers"][0]["answer"]["token_ids"]) and d["measures"]["wer"] == 0'
# A picture, all of it on cpu and with the denoiser elsewhere: a small copy, the SHA-256 of the file that -o writes.
code 0 "$ASSAY" pipeline pictures 'a red fox' --steps 2 --seed 1 -o fox.png --no-reference
code 0 "$ASSAY" pipeline pictures 'a red fox' --steps 2 --seed 1 --on cpu,unet=openvino
has err '^right: tensors at most [0-9.e-]+ apart, (PSNR [0-9.]+ dB|pictures the same); against engine:ort-cpu-unoptimised; row 4 of '
# Nothing was compared: unjudged, with the reason. What differs is wrong (the null engine can be told to).
code 0 "$ASSAY" pipeline "$classes" 'Hello, world' --on cpu,model=null
code 3 "$ASSAY" pipeline "$classes" 'Hello, world' --on null:wrong=on
has err '^wrong: answer\[0\]\.(label|score): .*expected'
ASSAY_NULL=openvino code 0 "$ASSAY" pipeline "$classes" 'Hello, world'
# Failures have their row; what was mistyped has none.
code 2 "$ASSAY" pipeline "$classes" 'Hello, world' --on null:fail=run@1 --json
json '(d["row"], d["verdict"], d["task"], d["answers"]) == (8, "failed", "text-classification", []) and "run 1" in d["cause"]'
code 2 "$ASSAY" pipeline "$classes" 'Hello, world' --precision int8-static
code 1 "$ASSAY" pipeline "$classes" 'Hello, world' --option topk=3
code 1 "$ASSAY" pipeline "$classes"
photo=$from/text-to-image-sd15-pictures/input-photo.png
for wrong in '--option width=33' "$photo --option strength=1.5" '--on cpu,unt=openvino' absent.png '--option eta=2' '--steps 1000'; do
	# shellcheck disable=SC2086
	code 1 "$ASSAY" pipeline pictures 'a red fox' $wrong
done
# Stopped in the middle.
"$ASSAY" pipeline "$classes" 'Hello, world' --on null:sleep_ms=60000 >out 2>err &
stopped=$!
for _ in $(seq 100); do
	"$ASSAY" query 'SELECT id FROM result WHERE id = 10' --json 2>/dev/null | grep -q 10 && break
	sleep 0.1
done
kill -INT $stopped
wait $stopped
[ $? = 2 ] || fail "stopped: $(cat err)"

# The rows, with what is JSON in them read; d[N] is row N.
code 0 "$ASSAY" query 'SELECT * FROM result ORDER BY id' --json
python3 - "$work/out" <<'PY' >read || fail "the rows"
import json, sys
texts = ("answer", "answer_parts", "answer_measures", "pipeline_asked", "input_files")
rows = [{k: json.loads(v) if k in texts and v else v for k, v in r.items()} for r in json.load(open(sys.argv[1]))]
json.dump([None] + rows, sys.stdout)
PY
mv read "$work/out"
row() { json "(lambda r: $2)(d[$1])"; }
row 1 '(r["verdict"], r["pipeline"], r["task"], r["requested"], r["actual"], r["reference"], r["weights"], r["model"]) == ("right", "text-classification", "pipeline", "cpu", "cpu", "engine:openvino-f32", "synthetic", "'$classes'")'
row 1 'r["pipeline_asked"]["words"] == ["Hello, world", "another.txt"] and [f["sha256"] for f in r["input_files"]] == r["pipeline_asked"]["files"]'
row 1 '[a["answer"][0]["label"] in ("contradiction", "neutral", "entailment") for a in r["answer"]] == [True, True] and r["answer_measures"]["labels_same"] == 2'
row 1 'len(r["model_sha256"]) == 64 and r["peak_resident_mib"] > 0 and r["wall_ms"] > 0 and r["latency_ms"] is None and r["answer_picture"] is None'
row 1 '[(g["graph"], g["platform"], g["runs"], g["elsewhere"]) for g in r["answer_parts"]["graphs"]] == [("model.onnx", "cpu", 2, 0)]'
row 1 'all(r["answer_parts"][k] >= 0 for k in ("preprocess_ms", "between_ms", "postprocess_ms")) and r["answer_parts"]["graphs"][0]["open_ms"] > 0'
row 2 'r["answer_first_token_ms"] > 0 and r["answer_token_ms"] > 0 and r["answer_steps_per_s"] is None and r["answer"][0]["answer"]["generated_text"].startswith("The weather")'
row 3 'r["answer"][0]["pictures"]["image.png"]["sha256"] == "'"$(sha256sum <fox.png | cut -d' ' -f1)"'" and r["pipeline_asked"]["options"] == {"num_inference_steps": 2, "seed": 1}'
row 3 '__import__("base64").b64decode(r["answer_picture"])[:8] == b"\x89PNG\r\n\x1a\n" and r["answer_steps_per_s"] > 0'
row 4 'r["pipeline_parts"] == "unet=openvino" and {g["graph"].split("/")[0]: g["platform"] for g in r["answer_parts"]["graphs"]} == {"text_encoder": "cpu", "unet": "openvino", "vae": "cpu"}'
row 4 'r["max_abs_error"] >= 0 and all(g["anonymous_mib"] is not None for g in r["answer_parts"]["graphs"])'
row 3 'r["verdict"] == "unjudged" and "--no-reference" in r["cause"] and r["reference"] is None'
row 5 'r["verdict"] == "unjudged" and "computes nothing" in r["cause"]'
row 7 'r["verdict"] == "right" and r["reference"] == "engine:ort-cpu-unoptimised"'
row 8 'r["verdict"] == "failed" and r["cause"] and r["answer"] is None'
row 9 'r["verdict"] == "unsupported" and "ranges" in r["cause"] and r["precision"] == "int8-static"'
row 10 'r["verdict"] == "interrupted"'

row 4 '(lambda n: n["unet/model.onnx on openvino"] and n["vae/vae_decoder.onnx on cpu"])(dict(x.split(": ", 1) for x in r["placement_note"].split("; ") if " on " in x.split(": ")[0]))'
row 3 'r["nodes_on_platform"] == sum(g["on_platform"] for g in r["answer_parts"]["graphs"])'
code 0 "$ASSAY" explain 4
has out '^row 4: pictures on cpu,unet=openvino: right$'
has out '^  graphs      unet/model.onnx on openvino: not known$'
has out '^ {14}vae/vae_decoder.onnx on cpu: [0-9]+ of [0-9]+ nodes$'

# What is asked of the database.
code 0 "$ASSAY" query answers --json
json '[(r["row"], r["verdict"]) for r in d if r["row"] in (2, 3, 4, 6, 8)] == [(2, "right"), (3, "unjudged"), (4, "right"), (6, "wrong"), (8, "failed")]'
code 0 "$ASSAY" report --format json
json 'len(d["answers"]) == 10 and {(r["model"], r["verdict"]) for r in d["answers"]} >= {("pictures", "right"), ("'$classes'", "failed")}'
json '[r["steps_per_s"] > 0 for r in d["answers"] if r["model"] == "pictures"] == [True, True] and any(r["platform"] == "cpu, unet=openvino" for r in d["answers"])'
json '{r["platform"] for r in d["answer_parts"] if r["part"] == "unet/model.onnx"} == {"cpu", "openvino"} and all(r["run_ms"] >= 0 for r in d["answer_parts"])'
json 'not d.get("performance_by_platform") and not d.get("best_latency")'
code 0 "$ASSAY" report -o report.html
[ "$(grep -o '<img class="answer" alt="[^"]*a red fox" src="data:image/png;base64,[A-Za-z0-9+/=]*">' report.html | wc -l)" = 2 ] || fail "two pictures in the report"
code 0 "$ASSAY" report --format junit -o report.xml
python3 - report.xml <<'PY' || fail "cases of one name"
import sys, xml.etree.ElementTree as tree
cases = [(c.get("classname"), c.get("name")) for c in tree.parse(sys.argv[1]).iter("testcase")]
sys.exit(len(set(cases)) != len(cases) or not any("num_inference_steps=2, seed=1; a red fox" in n for _, n in cases))
PY
code 0 "$ASSAY" report --format matrix
has err 'the matrix is empty: no row has an architecture'
code 1 "$ASSAY" reproduce 4
has err 'row 4 is of a whole pipeline: `assay pipeline pictures .a red fox. --task text-to-image --on cpu:CPU,unet=openvino --option num_inference_steps=2 --option seed=1` asks it again'
code 0 "$ASSAY" reproduce 4 --command
has out "^assay pipeline pictures 'a red fox' --task text-to-image --on cpu:CPU,unet=openvino --option num_inference_steps=2 --option seed=1\$"
# An empty prompt is one.
code 0 "$ASSAY" pipeline pictures '' --steps 1 --no-reference --db empty.duckdb
code 0 "$ASSAY" reproduce 1 --command --db empty.duckdb
has out "^assay pipeline pictures '' --task text-to-image "
code 0 "$ASSAY" compare 3 4
has out '1 process a side; a claim needs 6$'
lacks out 'batch'
# A limit on the size of files is no full disk.
code 1 bash -c "ulimit -f 300; exec '$ASSAY' pipeline $classes 'Hello, world' --no-reference --db limited.duckdb"
has err 'a limit of this process on the size of files \(ulimit -f\) keeps .*limited.duckdb from growing'
# Each text is a question of its own, also where the task takes conversations.
code 0 "$ASSAY" pipeline "$writes" 'The weather' 'A fox' --option max_new_tokens=2 --no-reference --no-db --json
json '[a["input"] for a in d["answers"]] == [{"text": "The weather"}, {"text": "A fox"}]'
# A file of an assay before there were such rows.
cp assay.duckdb old.duckdb
code 0 "$BUILD/tests/duckdb_shell" old.duckdb 'ALTER TABLE measurement DROP COLUMN answer; ALTER TABLE measurement DROP COLUMN pipeline; ALTER TABLE measurement DROP COLUMN pipeline_asked'
chmod a-w old.duckdb
code 0 "$ASSAY" report --db old.duckdb --format json
chmod u+w old.duckdb
code 0 "$ASSAY" pipeline "$classes" 'Hello, world' --no-reference --db old.duckdb --json
json 'd["row"] == 11'
code 0 "$ASSAY" query 'SELECT pipeline, answer FROM result WHERE id IN (1, 11) ORDER BY id' --db old.duckdb --json
json 'd[0] == {"pipeline": None, "answer": None} and d[1]["pipeline"] == "text-classification" and d[1]["answer"]'
# In less than float32 no bound through a whole pipeline is known: what is beyond that of float32 is unjudged, not wrong, and the
# measures say how far. A step is a run of the denoiser that was done: 5 of the 100 that were asked for.
code 0 "$ASSAY" pipeline pictures 'a red fox' "$photo" --steps 100 --option strength=0.05 --precision int8-weights --db less.duckdb --json
json 'd["verdict"] == "unjudged" and "; beyond the bound of float32, and for int8-weights through a whole pipeline none is known: the measures say how far" in d["cause"] and d["measures"]["tensor_difference"] > 0.002'
code 0 "$ASSAY" query 'SELECT answer_steps_per_s, answer_parts FROM result' --db less.duckdb --json
json '[(g["runs"], g["run_ms"] * r["answer_steps_per_s"] < 5001) for r in d for g in __import__("json").loads(r["answer_parts"])["graphs"] if g["graph"] == "unet/model.onnx"] == [(5, True)]'
# A file that cannot be written costs the file: the answer is there and judged. The name of the task that was found makes no other
# question.
code 1 "$ASSAY" pipeline pictures 'a red fox' --steps 1 -o /dev/full --db less.duckdb
has out '^image \[32,32,3\]  png 32 x 32$'
has err '^assay: /dev/full: '
code 0 "$ASSAY" pipeline pictures 'a red fox' --steps 1 --task text-to-image --no-reference --db less.duckdb
code 0 "$ASSAY" query 'SELECT verdict, cell_key FROM result WHERE id > 1 ORDER BY id' --db less.duckdb --json
json '[r["verdict"] for r in d] == ["right", "unjudged"] and d[0]["cell_key"] == d[1]["cell_key"]'
# The model's folder may be the one that the database and the answer are written into.
(cd pictures && code 0 "$ASSAY" pipeline . 'a red fox' --steps 1 -o fox.png --db here.duckdb && code 0 "$ASSAY" pipeline . 'a red fox' --steps 1 -o hare.png --db here.duckdb; exit $failures) ||
	fail "an answer among the model's files"
# Its files are read again and again, a tokenizer's too: of one that is written to meanwhile nothing is said, though nothing changed.
cp -p "$classes/tokenizer.json" kept.json
(while :; do cat kept.json >"$classes/tokenizer.json" && touch -r kept.json "$classes/tokenizer.json" && sleep 0.2; done) &
writer=$!
"$ASSAY" pipeline "$classes" 'Hello, world' --db written.duckdb --json >"$work/out" 2>"$work/err" </dev/null
kill "$writer"
json 'd["verdict"] == "not_asked" and "were changed while it answered" in d["cause"]'

# What lies in the folder belongs to the question: a model in a folder of a folder, and the files beside weights.
mkdir -p nested/x
cp "$from/retrieval-augmented-generation-bert-llama/passages.json" nested
for part in encoder decoder; do
	code 0 "$ASSAY" synth "$from/retrieval-augmented-generation-bert-llama/$part" -o "nested/x/$part"
	cp "$from/retrieval-augmented-generation-bert-llama/$part/"tokenizer* "nested/x/$part"
done
asked() { code 0 "$ASSAY" pipeline nested 'Who?' --task retrieval-augmented-generation --no-reference --db nested.duckdb --option "retrieval={\"passages\":\"passages.json\",\"encoder\":\"x/encoder\",\"decoder\":\"x/decoder\"}" --option max_new_tokens=2; }
asked
asked
"$ASSAY" synth "$from/retrieval-augmented-generation-bert-llama/decoder" -o other --seed 5 >out 2>err || fail "other weights"
cp other/model.safetensors nested/x/decoder
asked
python3 -c 'import json; d = json.load(open("nested/passages.json")); json.dump(d[::-1], open("nested/passages.json", "w"))'
asked
code 0 "$ASSAY" query --format csv --db nested.duckdb 'SELECT count(DISTINCT cell_key), count(DISTINCT model_sha256), count(DISTINCT inputs_hash) FROM result'
has out '^3,2,2$'
finish
