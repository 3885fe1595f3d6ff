# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# matrix: the plan, the reports, --resume that repeats nothing, an interruption that loses nothing.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/vit" -o "$work/vit"
quick="--runs 3 --no-conform --output-dir $work/dir"
stopped='synthetic weights(, nothing computed)?'          # which engine it was is known only where it was open by then

# The plan alone: nothing is made.
code 0 "$ASSAY" matrix --key --synthetic --on cpu,openvino,cuda --dry-run --output-dir "$work/dir"
has out '^Plan: [0-9]+ cells = [0-9]+ models x 3 platforms; database '
has out 'google-bert/bert-base-uncased +[0-9.]+ MiB of synthetic weights'
has out 'openai/whisper-tiny +[0-9.]+ MiB of synthetic weights'
has out 'on cuda +unavailable: .'
has out '^Disk: up to .* free$'
has out '^Time: about .* A guess: '
[ -e "$work/dir" ] && fail "--dry-run made the folder"
code 0 "$ASSAY" matrix --key --synthetic --on cpu --memory 0.03 --dry-run --output-dir "$work/dir"
has out '^    on cpu +no_memory: not tried: it needs .* are allowed'
has out '; 14 cells are answered without running$'
grep -q '^Disk: ' "$work/out" && fail "the plan counts weights that are never written"
code 1 "$ASSAY" matrix --key --dry-run
has err 'add --synthetic'

# Small cells: two models, three platforms.
code 2 "$ASSAY" matrix --models "$work/bert,$work/vit" --on null,null:fail=open,cuda $quick
has err '^\[1/6\] .*/bert on null: (right|unjudged), [0-9.]+ ms \(synthetic weights, nothing computed\)$'
has err '^\[5/6\] .*/vit on null: failed \(synthetic weights, nothing computed\): '
has err '^\[6/6\] .*/vit on cuda: unavailable \(synthetic weights\): '
has out '^2 (right|unjudged) \(synthetic weights, nothing computed\), 2 unavailable \(synthetic weights\), 2 failed \(synthetic weights, nothing computed\)$'
for file in assay.duckdb report.html report.md matrix.json matrix.yaml; do
	[ -s "$work/dir/$file" ] || fail "no $file"
done

# The same again with --resume: nothing is run, the verdicts count as before.
code 2 "$ASSAY" matrix --models "$work/bert,$work/vit" --on null,null:fail=open,cuda $quick --resume
has out '^no row was written$'
lacks out '^run:'
has err '^\[1/6\] .*: finished before, row 1: (right|unjudged)$'
has out '; 6 finished before$'
code 0 "$ASSAY" query --format csv --db "$work/dir/assay.duckdb" 'SELECT count(*) AS n FROM result'
has out '^6$'
# What another machine measured, or another database brought, answers nothing here.
bert=(--models "$work/bert" --on null --runs 3 --no-conform --resume)
code 0 "$ASSAY" export "$work/all.json" --db "$work/dir/assay.duckdb"
code 0 "$ASSAY" import "$work/all.json" --db "$work/imported.duckdb"
cp "$work/dir/assay.duckdb" "$work/moved.duckdb"
"$BUILD/tests/duckdb_shell" "$work/moved.duckdb" "UPDATE run SET machine = 'another'; UPDATE machine SET id = 'another'" >/dev/null || fail "no other machine"
for one in imported moved; do
	code 0 "$ASSAY" matrix "${bert[@]}" --db "$work/$one.duckdb" --output-dir "$work/$one"
	lacks err 'finished before'
	code 0 "$ASSAY" matrix "${bert[@]}" --db "$work/$one.duckdb" --output-dir "$work/$one"
	has err 'finished before, row 7: '
done
# One more platform: only its cells are run.
code 2 "$ASSAY" matrix --models "$work/bert,$work/vit" --on null,null:fail=open,cuda,rocm $quick --resume --json
json 'len(d) == 2 and all(x["requested"] == "rocm" for x in d)'
has err '^Plan: 8 cells'

# Ctrl-C: the running cell is interrupted, the rest is not started, the summary is there, and --resume runs it again.
"$ASSAY" matrix --models "$work/bert,$work/vit" --on null:hang=run --runs 3 --no-conform --output-dir "$work/stopped" >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 100); do
	"$ASSAY" query --format csv --db "$work/stopped/assay.duckdb" "SELECT count(*) AS n FROM event WHERE kind = 'started'" 2>/dev/null |
		grep -qx 1 && break
	sleep 0.1
done
kill -INT $pid
kill -INT $pid # as timeout(1) sends it: to the program and to its group
wait $pid
[ $? -eq 2 ] || fail "an interrupted matrix did not end with 2"
has out "^1 interrupted \\($stopped\\)\$"
has err 'interrupted \((SIGINT|SIGTERM)\); 1 cell was not started'
code 0 "$ASSAY" query --db "$work/stopped/assay.duckdb" "SELECT state, verdict FROM result"
has out 'interrupted'
code 2 "$ASSAY" matrix --models "$work/bert,$work/vit" --on null:hang=run --runs 3 --no-conform --output-dir "$work/stopped" --resume --timeout 1
lacks err 'finished before'
has out "^2 timeout \\(($stopped|1: $stopped; 1: $stopped)\\)\$"

# Two at once share the cells: each has one row, from one of them.
for i in 1 2; do
	"$ASSAY" matrix --models "$work/bert,$work/vit" --on null,cuda --runs 3 --seq 8,16,24 --no-conform --output-dir "$work/both" --resume >/dev/null 2>"$work/err$i" &
	pids[i]=$!
done
wait "${pids[1]}" "${pids[2]}"
code 0 "$ASSAY" query --format csv --db "$work/both/assay.duckdb" 'SELECT count(*) = count(DISTINCT cell_key) AS once, count(*) AS n FROM cell'
has out '^true,8$'

# The options of the original's generator. Lists with spaces as well as commas; --hardware is --on.
code 2 "$ASSAY" matrix --models "$work/bert" "$work/vit" --hardware null cuda $quick --output-dir "$work/spaces"
has out '^Plan: 4 cells = 2 models x 2 platforms; '
code 0 "$ASSAY" matrix --all --architectures vision multimodal --synthetic --hardware all --dry-run --output-dir "$work/all"
has out ' models x 8 platforms; '
has out '^  google/vit-base-patch16-224 '
has out '^  openai/clip-vit-base-patch32 '
lacks out 'bert-base-uncased'
# Those that stand for an architecture are all carried.
code 0 "$ASSAY" matrix --architectures encoder-only,decoder-only,encoder-decoder,vision,multimodal,audio --synthetic --on null --dry-run --output-dir "$work/stand"
has out '^Plan: 18 cells = 18 models x 1 platform'
code 1 "$ASSAY" matrix --architectures vison
has err 'no architecture is called so; did you mean vision\?'
code 1 "$ASSAY" matrix --architectures qqqqqqqq
has err 'no architecture is called so; there are encoder-only, .*, rag$'
code 1 "$ASSAY" matrix --models --on null
has err '^assay: --models wants a value, MODEL,\.\.\., and not another option: --on$'
code 1 "$ASSAY" matrix --architectures rag
has err 'no models stand for it; name some with --models'
code 1 "$ASSAY" matrix --all --models "$work/bert"
code 0 "$ASSAY" matrix --detect-only --hardware cpu --output-dir "$work/found" --json
json '[p["name"] for p in d["platforms"]] == ["cpu"]'
code 0 "$ASSAY" query --format csv --db "$work/found/assay.duckdb" "SELECT count(*) AS n FROM hardware_detection WHERE hardware_type = 'cpu'"
has out '^[1-9]'
[ -e "$work/found/report.html" ] && fail "--detect-only wrote a report"

# --workers: cells of different devices run beside each other. Each of these two waits in its first run until the other is in its own.
code 1 "$ASSAY" matrix --models "$work/bert" --on null --workers 2 --quiet-wait 1
mkdir "$work/meet" "$work/again"
export ASSAY_NULL="cuda:meet=$work/meet@2 cpu:meet=$work/meet@2"
code 0 "$ASSAY" matrix --models "$work/bert" --on cuda,cpu --workers 2 --timeout 300 $quick --output-dir "$work/beside"
# A stand-in is an emulated device, which runs 16 tokens where no length was asked for.
has out '^2 (right|unjudged) \(synthetic weights, 16 tokens of the usual 64, nothing computed\)$'
# What is on the processor never does: who finds another one at it fails. Four lines of cells, two names for one device.
export ASSAY_NULL="openvino:alone=$work/one,sleep_ms=3 cpu:alone=$work/one,sleep_ms=3"
code 0 "$ASSAY" matrix --models "$work/bert" "$work/vit" --on openvino,cpu --batch 1,2 --no-sweep-stop --workers 4 $quick --output-dir "$work/alone" --json
json 'len(d) == 8 and all(x["verdict"] in ("right", "unjudged") for x in d)'
json '[(x["requested"], x["batch"]) for x in d] == [(p, b) for p in ("openvino", "cpu") for b in (1, 2)] * 2'
# The same trap with two devices: it closes, so it would have closed above.
export ASSAY_NULL="cuda:alone=$work/two,meet=$work/again@2 cpu:alone=$work/two,meet=$work/again@2"
code 2 "$ASSAY" matrix --models "$work/bert" --on cuda,cpu --workers 2 --timeout 10 $quick --output-dir "$work/trap" --json
json 'sorted(x["verdict"] for x in d) == ["failed", "timeout"] and any("two at once on one device" in (x["cause"] or "") for x in d)'

# Ctrl-C ends both at once, and both are rows.
export ASSAY_NULL='cuda:hang=run cpu:hang=run'
"$ASSAY" matrix --models "$work/bert,$work/vit" --on cuda,cpu --workers 2 $quick --output-dir "$work/ended" >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 300); do
	"$ASSAY" query --format csv --db "$work/ended/assay.duckdb" "SELECT count(*) AS n FROM event WHERE kind = 'started'" 2>/dev/null |
		grep -qx 2 && break
	sleep 0.1
done
kill -INT $pid
wait $pid
[ $? -eq 2 ] || fail "an interrupted matrix with two workers did not end with 2"
stopped='synthetic weights(, 16 tokens of the usual 64, nothing computed|, nothing computed)?'
has out "^2 interrupted \\(($stopped|1: $stopped; 1: $stopped)\\)\$"
has err 'interrupted \((SIGINT|SIGTERM)\); 2 cells were not started'
unset ASSAY_NULL
# A wrong cell wins over reports that cannot be written; where all is right, these are the error.
mkdir -p "$work/full/report.md"
for wrong in 3:null:wrong=1 1:null; do
	code "${wrong%%:*}" "$ASSAY" matrix --models "$work/bert" --on "${wrong#*:}" --runs 3 --no-conform --output-dir "$work/full" --db "$work/full${wrong%%:*}.duckdb"
	has err 'report\.md'
done
finish
