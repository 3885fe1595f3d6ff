# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# import of other tools' results (tests/store/foreign: their forms, made-up numbers) and export: units, marks, twice, hostile and cut-off files.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
foreign=$SOURCE/tests/store/foreign
cd "$work" || exit 1

code 1 "$ASSAY" import
code 1 "$ASSAY" export
has err 'says where to'
code 1 "$ASSAY" export -o x.parquet result
has err 'there is no database'

code 0 "$ASSAY" import "$foreign/llama.json" "$foreign/llama.jsonl" "$foreign/llama.csv" "$foreign/optimum.json" "$foreign/benchmark_app.json" "$foreign/benchmark_app.csv" \
	"$foreign/perf_test.csv" "$foreign/perf_test.txt"
has out 'llama.json: 2 rows of llama-bench 5163$'
has out 'llama.jsonl: 2 rows of llama-bench 6000$'
has out 'llama.csv: 2 rows of llama-bench 5163$'
has out 'optimum.json: 1 row of optimum-benchmark 0.6.0$'
has out 'perf_test.txt: 1 row of onnxruntime_perf_test$'
code 0 "$ASSAY" query runs --format json
json 'd and all(r["imported"] and (r["machine"].startswith("of a file: ") or len(r["machine"]) == 8) for r in d)'
"$ASSAY" query --json "SELECT id, model, requested, device, engine, verdict, source, batch, sequence, prompt_tokens, new_tokens, latency_ms, latency_min_ms, latency_max_ms, prefill_ms, token_ms,
	tokens_per_s, load_ms, first_ms, throughput_per_s, peak_resident_mib, samples, threads, state FROM result ORDER BY id" >"$work/out"
json 'len(d) == 11 and all(r["verdict"] == "unjudged" and r["source"] and r["state"] == "finished" for r in d)'
json '[d[0][k] for k in ("source", "latency_ms", "latency_min_ms", "latency_max_ms", "prefill_ms", "prompt_tokens", "new_tokens", "samples", "threads", "requested")] == ["llama-bench 5163", 2000, 1900, 2100, 2000, 512, 0, 3, 4, "cpu"]'
json 'd[1]["token_ms"] == 50 and d[1]["tokens_per_s"] == 20 and d[1]["new_tokens"] == 100'
json 'd[4]["latency_ms"] == 2000 and d[4]["samples"] is None'
json '[d[6][k] for k in ("model", "latency_ms", "load_ms", "peak_resident_mib", "batch", "sequence", "throughput_per_s", "samples")] == ["made-up/bert", 22, 1500, 1000, 2, 16, 90.9, 5]'
json '[d[7][k] for k in ("model", "requested", "device", "latency_ms", "latency_max_ms", "load_ms", "first_ms", "throughput_per_s", "samples")] == ["made-up.onnx", "openvino", "CPU", 4.75, 7.25, 332.84, 8.5, 200, 20]'
json '[d[8][k] for k in ("model", "latency_ms", "latency_min_ms", "batch", "samples")] == ["made-up.xml", 10.5, 9.5, 4, 50]'
json '[round(d[9][k], 6) for k in ("latency_ms", "latency_min_ms", "latency_max_ms", "peak_resident_mib", "samples")] == [4.2, 4, 4.4, 100, 3]'
json 'd[9]["requested"] == d[10]["requested"] == "unknown" and d[7]["requested"] == "openvino"'       # its files name no provider
json '[d[10][k] for k in ("model", "latency_ms", "load_ms", "first_ms", "peak_resident_mib", "samples")] == ["perf_test.txt", 4, 250, 9, 200, 100]'

# Never a success of ours, never a platform's best.
code 0 "$ASSAY" query --json "SELECT count(*) AS n, count(*) FILTER (success) AS good, min(error) AS why FROM hardware_results"
json 'd == [{"n": 11, "good": 0, "why": "imported from benchmark_app: not checked by assay"}]'
code 0 "$ASSAY" query fastest --json
json 'd == []'
has err 'rows imported from other tools'
code 0 "$ASSAY" query coverage --json
json 'sum(r["imported"] for r in d) == 11'

code 0 "$ASSAY" report --format md -o imported.md
grep -q '(batch 1, time of all 100 generated' imported.md || fail "no row of generated tokens says what its time is of"
grep -q 'time of each' imported.md && fail "the time of a whole test is called the time of each token"

grep -q 'Q4.\?_0' imported.md || fail "no row says what its weights were rounded to"

# A build for a GPU that was given no layer computes on the CPU; a rate that contradicts its time is refused.
sed 's/"backends": "CPU"/"backends": "CUDA"/' "$foreign/llama.json" >gpu.json
sed 's/"n_gpu_layers": 0/"n_gpu_layers": 99/' gpu.json >layers.json
code 0 "$ASSAY" import gpu.json layers.json --db gpu.duckdb
code 0 "$ASSAY" query --db gpu.duckdb --json "SELECT requested, actual, precision FROM result ORDER BY id"
json '[list(r.values()) for r in d] == [["cpu", "cpu", "Q4_0"]] * 2 + [["cuda", "cuda", "Q4_0"]] * 2'
sed 's/"avg_ts": 256.0/"avg_ts": 1e9/' "$foreign/llama.json" >rate.json
code 1 "$ASSAY" import rate.json --db gpu.duckdb
has err 'contradicts itself: avg_ts says 1e\+09 tokens a second, avg_ns 256$'

sed 's/1900000000, 2000000000, 2100000000/1, 1, 1/' "$foreign/llama.json" >mean.json
printf ',0.5,100,1,1\n' >nameless.csv
printf '{"cmd_options": {"-m": "x"}, "execution_results": {"latency (ms)": 5, "min latency": 50, "max latency": 60}}' >between.json
for f in 'mean:avg_ns is not the mean of samples_ns' 'nameless:names no model' 'between:its median time is 5 ms, its smallest 50'; do
	name=${f%%:*}
	code 1 "$ASSAY" import "$name".[cj]s* --db gpu.duckdb
	has err "$name.*${f#*:}"
done
# What is longer than a name is cut, so that assay takes its own export; a time that is none is not kept.
sed "s/Made-up CPU/$(printf '%05000d' 0)/; s/2026-01-02T03:04:05Z/garbage/" "$foreign/llama.json" >long.json
code 0 "$ASSAY" import long.json --db long.duckdb
code 0 "$ASSAY" query --db long.duckdb --json "SELECT started_at IS NULL AS none FROM measurement ORDER BY cell"
json '[r["none"] for r in d] == [True, False]'
code 0 "$ASSAY" export long.parquet --db long.duckdb
code 0 "$ASSAY" import long.parquet --db again.duckdb

# The same bytes again, also under another name: nothing.
cp "$foreign/llama.json" other.json
code 0 "$ASSAY" import other.json "$foreign/optimum.json"
has out 'other.json: imported before, nothing added'
has out 'optimum.json: imported before, nothing added'
code 0 "$ASSAY" query --json "SELECT (SELECT count(*) FROM cell) AS cells, (SELECT count(*) FROM import) AS imports, (SELECT count(*) FROM sample) AS samples"
json 'd == [{"cells": 11, "imports": 8, "samples": 20}]'

# What is no result, or half of one, is refused with a sentence that names it, and adds nothing; the next file is taken all the same.
printf '' >empty.json
printf '{"a": 1}' >strange.json
printf '\177ELF\000\001' >binary.csv
head -c 900 "$foreign/llama.json" >cut.json
head -6 "$foreign/perf_test.txt" >cut.txt
printf 'build_commit,build_number\n"x","1"\n' >columns.csv
printf '[{"model_filename": "x", "avg_ns": -5, "n_prompt": 1, "n_gen": 0}]' >negative.json
printf '[{"model_filename": "x", "avg_ns": 5, "n_prompt": 1, "n_gen": 0, "samples_ns": ["a"]}]' >samples.json
printf '{"forward": {"latency": {"unit": "s", "p50": 1}}}' >report.json
printf '{"cmd_options": {"-m": "x"}, "execution_results": {"error": "Input is dynamic"}}' >failed.json
printf 'a,b,c\n1,2,3\n' >table.csv
printf "x',0.1); DROP TABLE cell; --,1,2,3\n" >sql.csv
printf '[{"model_filename": "x", "avg_ns": 5e6, "n_prompt": 1, "n_gen": 0, "n_threads": -5}]' >threads.json
sed 's/"batch_size": 2/"batch_size": 0/' "$foreign/optimum.json" >batch.json
sed 's/1048.576/-5/' "$foreign/optimum.json" >memory.json
for f in threads:threads batch:batch memory:memory; do
	code 1 "$ASSAY" import "${f%:*}.json"
	has err "result 1 of .*${f#*:}.* which cannot be$"
done
for f in threads.json batch.json memory.json empty.json strange.json binary.csv cut.json cut.txt columns.csv negative.json samples.json report.json failed.json table.csv sql.csv nowhere.json; do
	code 1 "$ASSAY" import "$f"
	has err "$f"
	empty out
done
code 1 "$ASSAY" import report.json
has err 'import benchmark.json'
code 1 "$ASSAY" import failed.json
has err 'Input is dynamic'
code 0 "$ASSAY" query --json "SELECT count(*) AS n FROM cell"
json 'd == [{"n": 11}]'
sed 's/5163/7000/' "$foreign/llama.json" >"new'; --.json"
code 1 "$ASSAY" import strange.json "new'; --.json"
has out "2 rows of llama-bench 7000"

# Export: what is written is what is there; a name is a name.
code 0 "$ASSAY" export -o "it's result.parquet" result
has out '13 rows$'
code 0 "$BUILD/tests/duckdb_shell" "$ASSAY_DB" "SELECT count(*) FROM (FROM result EXCEPT FROM 'it''s result.parquet')"
has out '^0$'
code 0 "$ASSAY" export --format csv -o tables
for t in machine run cell event measurement sample import; do [ -s "tables/$t.csv" ] || fail "no tables/$t.csv"; done
code 0 "$BUILD/tests/duckdb_shell" "$ASSAY_DB" "SELECT (SELECT count(*) FROM 'tables/sample.csv'), (SELECT count(*) FROM sample)"
has out '^26[|]26$'
code 0 "$ASSAY" export --format json -o two hardware_results run
[ -s two/run.json ] || fail "no two/run.json"
# The ending decides, as it does for a report; what contradicts it, or says nothing, is an error and no file.
code 0 "$ASSAY" export -o by-ending.csv result
head -1 by-ending.csv | grep -q '^row,\|,model,' || fail "x.csv is no CSV: $(head -c 40 by-ending.csv | od -c | head -2)"
code 0 "$ASSAY" export -o by-ending.jsonl run
head -c 1 by-ending.jsonl | grep -q '{' || fail "x.jsonl is no JSON"
code 0 "$ASSAY" export -o by-ending.csv result --json
json '[sorted(x) for x in d] == [["bytes", "file", "rows", "table"]] and d[0]["rows"] == 13 and d[0]["bytes"] == os.stat("by-ending.csv").st_size and d[0]["table"] == "result"'
code 1 "$ASSAY" export -o - result --json
has err '--json tells of files'
code 1 "$ASSAY" export -o by-ending.xlsx result
has err 'by-ending.xlsx: the ending says no format: .parquet, .csv'
code 1 "$ASSAY" export --format json -o two.csv result
has err 'two.csv is the name of a csv file, and --format json was asked for'
[ ! -e by-ending.xlsx ] && [ ! -e two.csv ] || fail "an export that was refused wrote a file"
code 0 "$ASSAY" export --format csv -o by-ending.txt result
# To standard output, where no file is called "-".
code 0 "$ASSAY" export -o - result
head -1 "$work/out" | grep -q '^id,row,model,' || fail "-o - wrote no CSV"
code 0 "$ASSAY" export -o - --format parquet result
head -c 4 "$work/out" | grep -q PAR1 || fail "-o - wrote no Parquet"
code 1 "$ASSAY" export -o -
has err 'standard output takes one table'
[ ! -e ./- ] || fail "a file is called -"
# Rows whose single times are missing are taken, and it is said.
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --db timed.duckdb
code 0 "$ASSAY" export --db timed.duckdb -o whole.csv
grep -v '^sample,' whole.csv >timeless.csv
code 0 "$ASSAY" import whole.csv "$foreign/llama.json" --db told.duckdb --json
json '[(x["file"], x["from"]) for x in d] == [("whole.csv", "assay"), (os.environ["SOURCE"] + "/tests/store/foreign/llama.json", "llama-bench")] and d[0]["rows"] == d[0]["new_rows"] == 1 and d[1]["new_rows"] == d[1]["rows"] > 0'
code 0 "$ASSAY" import whole.csv "$foreign/llama.json" --db told.duckdb --json
json 'd[0]["new_rows"] == d[1]["new_rows"] == 0 and d[1]["rows"] > 0'
code 0 "$ASSAY" import timeless.csv --db timeless.duckdb
has err 'timeless.csv: 1 of them came without the single times of their runs'
code 0 "$ASSAY" import whole.csv --db entire.duckdb
lacks err 'single times'
# A row has one verdict.
sed 's/^event,\(.*\),right,/event,\1,wrong,/' whole.csv >two.csv
cmp -s whole.csv two.csv && fail "no verdict was changed"
code 1 "$ASSAY" import two.csv --db entire.duckdb
has err 'two.csv: row 1: its event says wrong, and its measurement right'
# An empty text is one after it, and not NULL.
"$BUILD/tests/duckdb_shell" timed.duckdb "UPDATE run SET command = ''" >/dev/null || fail "no empty text"
for format in csv json parquet; do
	code 0 "$ASSAY" export --db timed.duckdb -o "empty.$format"
	code 0 "$ASSAY" import "empty.$format" --db "empty-$format.duckdb"
	code 0 "$ASSAY" query --db "empty-$format.duckdb" --json "SELECT DISTINCT command FROM run WHERE command IS NULL OR command = ''"
	json 'd == [{"command": ""}]'
done
# What is no database, or this one, is said so.
code 1 "$ASSAY" import "$ASSAY_DB"
has err 'it is the database that its rows would go into'
: >zero.duckdb
code 1 "$ASSAY" import zero.duckdb
has err 'a file of 0 bytes and no database'
code 1 "$ASSAY" query --db zero.duckdb fastest
has err 'a file of 0 bytes and no database'
code 0 "$ASSAY" export -o whole
: >whole/cell.parquet
code 1 "$ASSAY" import whole --db other.duckdb
has err 'its cell.parquet has 0 bytes'
code 1 "$ASSAY" export -o x 'cell; DROP TABLE cell'
has err "there is no table or view"
code 1 "$ASSAY" export --format xml -o x result
code 1 "$ASSAY" export -o nowhere/x.parquet result
finish
