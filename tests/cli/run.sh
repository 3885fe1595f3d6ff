# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# run on a tiny model: the row's keys, every exit code, refusals as rows, real engines where they are.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
case=$SOURCE/tests/conform/cases/bert
code 0 "$ASSAY" synth "$case" -o "$work/bert"
quick="--runs 3 --no-conform"

keys="row model model_type requested actual device emulated verdict reference type_conformance cause weights shortened weights_dtype
compute_dtype batch sequence padding form options attempts build_ms load_ms first_ms latency_ms samples peak_anonymous_mib peak_pss_mib nodes
nodes_on_platform max_abs_error cosine samples_ms checks"

# The null engine: the whole way of a cell on any machine.
code 0 "$ASSAY" run "$work//bert/" --on null $quick --json
json 'd[0]["model"] == work + "/bert"' # a folder by one name, however it was spelled
json 'len(d) == 1 and d[0]["verdict"] in ("right", "unjudged") and d[0]["requested"] == d[0]["actual"] == "null"'
json "all(k in d[0] for k in '''$keys'''.split())"
json 'd[0]["samples"] == 3 == len(d[0]["samples_ms"]) and d[0]["row"] == 1 and d[0]["weights"] == "synthetic"'
json 'isinstance(d[0]["options"], dict) and d[0]["batch"] == 1 and d[0]["attempts"] == 1'
json '0.2 <= d[0]["padding"] <= 0.35'
[ -s "$ASSAY_DB" ] || fail "no database"
# The machine's state stands beside the times; a wait that was asked for says how it ended.
json 'isinstance(d[0]["machine_state"]["disturbed"], list) and d[0]["machine_state"]["other_cpus"] >= 0 and "calm" not in d[0]["machine_state"]'
code 0 "$ASSAY" run "$work/bert" --on null $quick --quiet-wait 0.2 --json --db "$work/quiet.duckdb"
json 'd[0]["machine_state"]["calm"] is False and 0.2 <= d[0]["machine_state"]["waited_s"]'

code 2 "$ASSAY" run "$work/bert" --on null:fail=run@2 $quick --json
json 'd[0]["verdict"] == "failed" and d[0]["cause"] and d[0]["row"] == 2'
code 2 "$ASSAY" run "$work/bert" --on null:crash=open $quick --json
json 'd[0]["verdict"] == "crashed" and d[0]["cause"]'
code 2 "$ASSAY" run "$work/bert" --on null:hang=run $quick --timeout 1 --json
json 'd[0]["verdict"] == "timeout" and d[0]["cause"]'

# A platform that is not here and a model that is not supported are rows, not the end of the run.
mkdir "$work/new"
echo '{"model_type": "no-such-type", "architectures": ["NoSuchModel"]}' >"$work/new/config.json"
code 2 "$ASSAY" run "$work/bert" "$work/new" --on cuda,null $quick --json
json '[x["requested"] for x in d] == ["cuda", "null"] * 2'
json 'd[0]["verdict"] == "unavailable" and d[2]["verdict"] == "unsupported" and d[3]["verdict"] == "unsupported"'
json 'd[0]["actual"] is None and "no-such-type" in d[2]["cause"] and d[2]["model_type"] == "no-such-type" and d[2]["attempts"] == 0'
json 'd[0]["latency_ms"] is None and d[0]["nodes_on_platform"] is None'

# For people: the verdict with its sentence, and no JSON.
code 2 "$ASSAY" run "$work/bert" --on null:fail=open,cuda $quick -v
has out '^  failed +the engine, or what it was given, failed with an error \(synthetic weights, nothing computed\)$'
has out '^  cause +.'
has out '^  unavailable +the platform, its library or its device is not on this machine \(synthetic weights\)$'
has out '^1 unavailable \(synthetic weights\), 1 failed \(synthetic weights, nothing computed\)$'
empty err

# As shipped: what the options came to. Where the engine's defaults are not known to assay, it says so.
code 0 "$ASSAY" run "$work/bert" --on null $quick --as-shipped --json --db "$work/shipped.duckdb"
json 'd[0]["as_shipped"] is True and d[0]["shipped_defaults"] == "threads=1" and d[0]["options"]["threads"] == "1"'
code 0 "$ASSAY" run "$work/bert" --on null $quick --as-shipped --threads 3 --db "$work/shipped.duckdb"
has out '^  shipped +the engine.s own defaults: threads=3 [(]asked[)]$'
code 0 "$ASSAY" query --db "$work/shipped.duckdb" --format csv "SELECT count(DISTINCT cell_key) AS n FROM result WHERE as_shipped"
has out '^2$'
code 0 "$ASSAY" run "$work/bert" --on null $quick --json --db "$work/shipped.duckdb"
json 'd[0]["as_shipped"] is None and d[0]["shipped_defaults"] is None'
code 0 "$ASSAY" reproduce 1 --command --db "$work/shipped.duckdb"
has out ' --as-shipped( |$)'

# Every row is there.
code 0 "$ASSAY" query --format csv 'SELECT count(*) AS n, count(DISTINCT run) AS runs, count(*) FILTER (verdict IS NULL) AS open FROM result'
has out '^10,6,0$'
# What was asked for was looked at, and nothing else.
code 0 "$ASSAY" query --format csv "SELECT string_agg(DISTINCT hardware_type, ' ' ORDER BY hardware_type) AS platforms FROM hardware_detection"
has out '^cuda$'

# The database cannot be written: a sentence, exit code 1, before anything is measured.
code 1 "$ASSAY" run "$work/bert" --on null $quick --db "$work/none/assay.duckdb"
has err '/none cannot be written.*--db'
empty out

# Real engines.
for platform in cpu openvino; do
	has_platform "$platform" || continue
	code 0 "$ASSAY" run "$work/bert" --on "$platform" --runs 3 --json
	json "d[0]['verdict'] in ('right', 'unjudged') and d[0]['actual'] == '$platform'"
	json 'd[0]["nodes"] > 10 and d[0]["max_abs_error"] is None or d[0]["max_abs_error"] < 1e-4'
	json 'd[0]["type_conformance"] and len(set(d[0]["type_conformance"].split("/"))) == 1'
	json 'd[0]["peak_anonymous_mib"] > 1 and d[0]["load_ms"] > 0 and d[0]["compute_dtype"] == "f32"'
	# Golden outputs judge: those of transformers for this very case need its formula weights, so conform does that; here
	# outputs that are not those of this model must be found wrong.
	code 3 "$ASSAY" run "$work/bert" --on "$platform" $quick --golden "$case/../bert-relu/io.safetensors" --json
	json 'd[0]["verdict"] == "wrong" and d[0]["reference"] == "golden" and d[0]["worst"]'
	# Wrong wins over another verdict.
	code 3 "$ASSAY" run "$work/bert" --on "$platform,cuda" $quick --golden "$case/../bert-relu/io.safetensors"
	# A stand-alone graph is measured like any other .onnx file.
	code 0 "$ASSAY" build "$work/bert" -o "$work/onnx-$platform" --platform "$platform"
	code 0 "$ASSAY" run "$work/onnx-$platform/model.onnx" --on "$platform" $quick --seq 32 --json
	json 'd[0]["model_type"] is None and d[0]["verdict"] in ("right", "unjudged") and d[0]["padding"] == 0'
	json 'd[0]["inputs_note"] == "input_ids: below 99, the rows of the table that it indexes"'
	# As many at a time as it likes best, each of them right; nothing depends on which that is.
	code 0 "$ASSAY" run "$work/bert" --on "$platform" --no-conform --effort rapid --scenario offline --batch 2 --json
	json 'd[0]["verdict"] == "right" and d[0]["scenario_result"]["requests"] in [t["requests"] for t in d[0]["scenario_result"]["tried"]]'
	json 'd[0]["scenario_result"]["batch"] == 2 and any(t["requests"] > 1 for t in d[0]["scenario_result"]["tried"]) or d[0]["scenario_result"]["engine_threads"] == "1"'
	# Its own defaults: what they were is what it says, and the verdict is of that precision.
	code 0 "$ASSAY" run "$work/bert" --on "$platform" $quick --as-shipped --json
	json 'd[0]["verdict"] == "right" and all(p.split("=")[1] not in ("", "default") for p in d[0]["shipped_defaults"].split(", "))'
	json '"threads=" + d[0]["options"]["threads"] in d[0]["shipped_defaults"].split(", ")'
	[ "$platform" = cpu ] || json '"precision=" + d[0]["compute_dtype"] in d[0]["shipped_defaults"] and d[0]["options"]["INFERENCE_PRECISION_HINT"] == d[0]["compute_dtype"]'
	code 0 "$ASSAY" run "$work/bert" --on "$platform" $quick --static --batch 2 --seq 7 --json
	json 'd[0]["batch"] == 2 and d[0]["sequence"] == 7 and d[0]["padding"] == 0 and "static" in d[0]["form"]'
done

# A library that is another one: where a browser answers in its place the first line says so. In the place of one that is damaged none does.
unset ASSAY_BROWSER_PATH
mkdir "$work/text" "$work/another"
echo "no library" >"$work/text/libonnxruntime.so"
cp "$(ldd "$ASSAY" | sed -n 's/.*libm\.so[^ ]* => \([^ ]*\) .*/\1/p')" "$work/another/libonnxruntime.so"
if has_device cpu:chromium; then
	ASSAY_ENGINE_PATH=$work/another code 0 "$ASSAY" run "$work/bert" --on cpu $quick
	has out ' on cpu \(by chromium\): '
	ASSAY_ENGINE_PATH=$work/text code 2 "$ASSAY" run "$work/bert" --on cpu $quick
	has out 'libonnxruntime.so is here, and is damaged'
fi
export ASSAY_BROWSER_PATH=none

# Synthetic weights: made once, kept in the cache, named in the row.
code 0 "$ASSAY" run "$case" --synthetic --layers 1 --on null $quick --json
json 'd[0]["weights"] == "synthetic" and d[0]["shortened"] is True and d[0]["layers"] == 1'
code 0 "$ASSAY" cache --json
json 'd["synthetics"] == 1 and d["synthetic_bytes"] > 1000'
code 0 "$ASSAY" cache --trim --cache-limit 0 --json
json 'd["synthetics"] == 0 and d["removed_bytes"] > 1000'
# --clear leaves nothing, graphs neither; what is asked next is made again.
code 0 "$ASSAY" run "$case" --synthetic --layers 1 --on null $quick --json
code 0 "$ASSAY" cache --json
json 'd["artifacts"] > 0'
code 0 "$ASSAY" cache --clear --json
json 'd["synthetics"] == d["artifacts"] == d["references"] == d["digests"] == 0 and d["removed_bytes"] > 1000'
code 1 "$ASSAY" cache --clear --trim
# A cell may be about to open what it would remove.
"$ASSAY" run "$case" --synthetic --layers 1 --on null:hang=run $quick >/dev/null 2>&1 &
cell=$!
for _ in {1..200}; do "$ASSAY" cache --clear >"$work/out" 2>"$work/err" </dev/null || break; done
has err 'another assay uses it now'
kill $cell
wait $cell
code 0 "$ASSAY" run "$case" --synthetic --layers 1 --on null $quick --json
code 0 "$ASSAY" cache --clear

# What does not fit is not tried: no engine is opened, no weights are written; the row has the prediction and what would fit.
code 2 "$ASSAY" run "$work/bert" --on cpu --memory 0.01 $quick --json
json 'd[0]["verdict"] == "no_memory" and d[0]["cause"].startswith("not tried: it needs ") and d[0]["attempts"] == 0'
json 'd[0]["predicted_mib"] > 10 and d[0]["peak_resident_mib"] is None and "--force" in d[0]["cause"]'
code 2 "$ASSAY" run bert-base-uncased --synthetic --on cpu,openvino --memory 0.3 $quick --json
json 'len(d) == 2 and all(r["verdict"] == "no_memory" and "predicted to fit: " in r["cause"] and "--layers " in r["cause"] for r in d)'
json '"--options precision=bf16" not in d[0]["cause"] and d[1]["predicted_mib"] > d[0]["predicted_mib"] > 500'
[ -z "$(ls -A "$ASSAY_CACHE/synthetic" 2>/dev/null)" ] || fail "weights were written for what is not tried"
json 'd[0]["would_fit"][0]["precision"] == "int8-weights" and d[0]["would_fit"][0]["layers"] is None and d[0]["would_fit"][0]["bytes"] < 300 << 20'
json 'd[0]["would_fit"][-1]["layers"] > 0 and d[0]["fitted"] is None'
"$ASSAY" report --format md | grep -q '| [0-9]* MiB | not tried |' || fail "the report does not say what was predicted"

code 1 "$ASSAY" run "$work/bert" --on cpu --fit --force
has err '--fit and --force do not go together'

# In a chain of fallbacks the nodes of a try are counted of the platform that was tried.
code 2 env ASSAY_NULL="cuda:leave=all openvino:leave=all cpu:fail=open" "$ASSAY" run "$work/bert" --on cuda --fallback $quick -v
has out '^  nodes +0 of [0-9]+ on cuda '
has out '^  nodes +0 of [0-9]+ on openvino '

# Line ends end lines; escapes are for text from outside.
code 0 "$ASSAY" cache --verify
has out '^0 do not match$'
code 0 "$ASSAY" doctor null null
lacks out '\\n'

# A full disk behind standard output is told by its own words, whatever was called since.
if [ -c /dev/full ]; then
	"$ASSAY" run "$work/bert" --on null $quick >/dev/full 2>"$work/err" && fail "what cannot be written is no success"
	has err 'standard output cannot be written: No space left on device'
else
	skip_part "there is no /dev/full"
fi

# As many layers as it has are the whole model, and a platform that is named twice is asked once.
code 0 "$ASSAY" run "$case" --synthetic --layers 2 --on null,null $quick --json
json 'len(d) == 1 and d[0]["shortened"] is False and d[0]["layers"] is None'
code 1 "$ASSAY" run "$case" --synthetic --layers 3 --on null $quick
has err '--layers 3: .* has 2$'

# Another program takes the database while the first of three cells is measured: what has no row is counted, and is no verdict.
held=$work/held.duckdb
python3 - "$work/alone" "$held" "$work/locked" <<'PY' &
import fcntl, os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
with open(sys.argv[2], "r+b") as f:
    fcntl.lockf(f, fcntl.LOCK_EX)
    open(sys.argv[3], "w").close()
    time.sleep(60)
PY
holder=$!
ASSAY_DB_WAIT=0.5 code 1 "$ASSAY" run "$case" --synthetic --on "null:alone=$work/alone,sleep_ms=700,null,null:sleep_ms=1" --runs 1 --no-conform --db "$held"
kill $holder
[ -e "$work/locked" ] || fail "nobody held the database"
has err '^assay: .*on null.*: [a-z]+, and the database did not take its row'
has err '^assay: .*held.duckdb is held by another program .process [0-9]+., and was for [0-9]+ s: '
has err '^assay: 1 cell was measured and has no row; 2 cells were not started$'
code 0 "$ASSAY" query --db "$held" --json 'SELECT count(*) AS n FROM cell'
json 'd[0]["n"] == 1'

# A folder for cases that is none is told, and not passed over.
ASSAY_SHARE=$work/absent code 1 "$ASSAY" run "$case" --synthetic --on null --runs 1
has err '^assay: ASSAY_SHARE is .*/absent, and .*/absent/conform is no folder'
finish
