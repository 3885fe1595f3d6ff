# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Who computed a golden file is known only of those that assay ships, by their contents. Of any other the row says its name and quotes what
# the file says; a planted case does not count among those that agree with transformers.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
case=$SOURCE/tests/conform/cases/bert
code 0 "$ASSAY" synth "$case" -o "$work/bert"
code 0 "$ASSAY" conform "$case"
folder=$(find "$ASSAY_CACHE/conform" -mindepth 1 -maxdepth 1 -type d | head -1)
quick="--on cpu --runs 1 --no-conform"

code 0 "$ASSAY" run "$folder" $quick --golden "$case/io.safetensors" -v
has out "^ *reference +golden: agrees with transformers' outputs \(case bert that assay"
code 0 "$ASSAY" run "$folder" $quick --golden "$case/io.safetensors" --json
json 'd[0]["golden_file"] == "io.safetensors" and d[0]["golden_case"] == "bert" and len(d[0]["golden_sha256"]) == 64 and d[0]["golden_word"] == "transformers 5.23.0"'

# The same tensors in a file of somebody's, who says what he likes, to the terminal too.
python3 - "$case/io.safetensors" "$work/mine.safetensors" <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
header["__metadata__"] = {"made_by": "transformers \x1b[31m5.23" + "x" * 500}
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + n:])
PY
code 0 "$ASSAY" run "$folder" $quick --golden "$work/mine.safetensors" -v
has out '^ *reference +golden: agrees with the golden file mine.safetensors; the file'
has out '^ +"transformers .x1b.31m5.23x+\.\.\."$'
lacks out "$(printf '\033')"
lacks out 'x{90}'
lacks out 'with transformers'
# An edited copy of a case beside the model: its word, not the program's.
cp "$case/io.safetensors" "$work/copy.safetensors"
cp "$case/case.json" "$folder/case.json" && cp "$work/mine.safetensors" "$folder/io.safetensors"
code 0 "$ASSAY" run "$folder" $quick --json
json 'd[0]["reference"] == "golden" and d[0]["golden_case"] is None and d[0]["golden_word"].startswith("transformers \\x1b[31m5.23")'
# What it is called does not matter, what it contains does.
code 0 "$ASSAY" run "$folder" $quick --golden "$work/copy.safetensors" --json
json 'd[0]["golden_case"] == "bert"'

# A truth value that is neither 0 nor 1, of which engines make different things.
other=$SOURCE/tests/conform/cases/granite_speech
"$ASSAY" synth "$other" -o "$work/speech" >"$work/out" || fail "synth: $(cat "$work/out")"
python3 - "$other/io.safetensors" "$work/truth.safetensors" <<'PY'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
n = struct.unpack("<Q", data[:8])[0]
mask = json.loads(data[8:8 + n])["in.input_features_mask"]
assert mask["dtype"] == "BOOL"
data[8 + n + mask["data_offsets"][0]] = 2
open(sys.argv[2], "wb").write(data)
PY
code 0 "$ASSAY" run "$work/speech" $quick --golden "$other/io.safetensors" --no-db --json
json 'd[0]["reference"] == "golden"'
code 2 "$ASSAY" run "$work/speech" $quick --golden "$work/truth.safetensors" --no-db --json
json 'd[0]["verdict"] == "failed" and "truth value that is neither 0 nor 1" in d[0]["cause"]'

# One that is exchanged meanwhile: inputs of the one and outputs of the other are no answer.
cp "$work/copy.safetensors" "$work/exchanged.safetensors"
"$ASSAY" run "$folder" --on null:sleep_ms=20 --runs 50 --no-conform --golden "$work/exchanged.safetensors" --db "$work/exchanged.duckdb" --json >"$work/out" 2>"$work/err" </dev/null &
running=$!
while kill -0 "$running" 2>"$work/gone"; do
	for other in mine copy; do
		cp "$work/$other.safetensors" "$work/next.safetensors" && mv "$work/next.safetensors" "$work/exchanged.safetensors"
		sleep 0.05
	done
done
wait "$running"
json 'd[0]["verdict"] == "not_asked" and "golden file was changed" in d[0]["cause"]'

# Reports say it alike, of the last answer.
code 0 "$ASSAY" report --format md -o "$work/report.md"
grep -q "agrees with transformers' outputs (case bert that assay ships)" "$work/report.md" || fail "the report does not name the shipped case"

# Its inputs have a batch and a length of their own, whatever is the default.
code 0 "$ASSAY" history "$folder" --db "$ASSAY_DB"
lacks out 'batch 1'
code 1 "$ASSAY" run "$folder" $quick --golden "$case/io.safetensors" --batch 4
has err '^assay: --golden has the shapes of the file: --batch, --seq and --image-size do not go with it$'

# Cases: one as it is shipped, one planted.
mkdir -p "$work/share/conform/cases"
cp -r "$case" "$work/share/conform/cases/bert"
cp -r "$case" "$work/share/conform/cases/bert-planted"
cp "$work/mine.safetensors" "$work/share/conform/cases/bert-planted/io.safetensors"
ASSAY_SHARE=$work/share code 0 "$ASSAY" run "$folder" --on cpu --runs 1 --json --golden "$case/io.safetensors"
json 'd[0]["type_conformance"] == "1/1"'

# An answer that another judge gave, or of other inputs, takes none back: what was wrong against golden outputs stays in every report.
cp -rL "$folder" "$work/other" && chmod -R u+w "$work/other" && rm -f "$work/other/io.safetensors" "$work/other/case.json"
sed -i 's/"hidden_act": "gelu"/"hidden_act": "gelu_new"/' "$work/other/config.json"
grep -q gelu_new "$work/other/config.json" || fail "the activation was not exchanged"
code 3 "$ASSAY" run "$work/other" $quick --golden "$case/io.safetensors" --db "$work/other.duckdb"
code 0 "$ASSAY" run "$work/other" $quick --batch 2 --seq 7 --db "$work/other.duckdb"
code 0 "$ASSAY" run "$work/other" $quick --batch 2 --seq 7 --seed 3 --db "$work/other.duckdb"
code 0 "$ASSAY" report --db "$work/other.duckdb" --format junit -o "$work/other.xml"
grep -q 'tests="3" failures="1"' "$work/other.xml" || fail "JUnit: $(grep '<testsuite' "$work/other.xml")"
code 0 "$ASSAY" report --db "$work/other.duckdb" --format md -o "$work/other.md"
grep -q 'golden file io.safetensors' "$work/other.md" && grep -q 'seed 3' "$work/other.md" && grep -q wrong "$work/other.md" || fail "the report does not tell the answers apart"
! grep -q 'was found right' "$work/other.md" || fail "the report says that all was right"
# One that is no golden file is told before anything is a row; what one lacks is said.
code 1 "$ASSAY" run "$folder" $quick --golden "$SOURCE/README.md" --db "$work/none.duckdb"
has err 'not a safetensors file'
python3 - "$case/io.safetensors" "$work/neither.safetensors" <<'PY'
import sys
open(sys.argv[2], "wb").write(open(sys.argv[1], "rb").read().replace(b'"in.', b'"of.').replace(b'"out.', b'"was.'))
PY
code 1 "$ASSAY" run "$folder" $quick --golden "$work/neither.safetensors" --db "$work/none.duckdb"
has err 'holds neither inputs nor outputs'
[ ! -e "$work/none.duckdb" ] || [ "$("$ASSAY" query --db "$work/none.duckdb" --format csv 'SELECT count(*) FROM result' | tail -1)" = 0 ] || fail "a row of a golden file that cannot be read"
python3 - "$case/io.safetensors" "$work/lacks.safetensors" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
assert data.count(b'"in.token_type_ids"') == 1
open(sys.argv[2], "wb").write(data.replace(b'"in.token_type_ids"', b'"in.token_type_idz"'))
PY
"$ASSAY" run "$folder" $quick --golden "$work/lacks.safetensors" --json >"$work/out" 2>"$work/err"
json 'd[0]["inputs_note"] == "not in the golden file, and given their usual values: token_type_ids (0); in the golden file, and taken by no input of the model: in.token_type_idz"'

# A folder's own that is damaged ends no other model's cells.
cp -rL "$work/other" "$work/damaged" && cp "$case/case.json" "$work/damaged" && echo '{' >"$work/damaged/io.safetensors"
code 2 "$ASSAY" run "$work/damaged" "$work/other" $quick --db "$work/damaged.duckdb" --json
json 'd[0]["verdict"] == "not_asked" and "damaged/io.safetensors" in d[0]["cause"] and d[1]["verdict"] == "right"'

code 0 "$ASSAY" history "$work/other" --db "$work/other.duckdb" --json
! grep -q '"from": "wrong"' "$work/out" || fail "history: an answer of another judge after a wrong one is a change"
finish
