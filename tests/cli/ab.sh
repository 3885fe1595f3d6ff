# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# ab: two sides in alternation. The null engine says how long its runs took and takes no time (clock=told), so that nothing that this
# machine does besides decides what is found.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"

# A difference of 20 % is found, in a line of the table and in words; the rows are rows like any other.
code 0 "$ASSAY" ab "$work/bert" --on null:clock=told,noise_ms=0.5 --a sleep_ms=10 --b sleep_ms=12 --runs 5 --metric latency_ms,first_ms
has out '^  A  null:NULL clock=told,noise_ms=0.5,sleep_ms=10 \(synthetic weights, nothing computed\)$'
has out '^  latency_ms +A 10\.[0-9] ms +B 12\.[0-9] ms +B/A 1\.19[0-9] by pairs, 99 % interval 1\.1[0-9]+ to 1\.[0-9]+: slower$'
has out '^  first_ms .*: slower$'
lacks out 'load_ms'
has out '^  rows +A \[[0-9,]+\], B \[[0-9,]+\]; 6 pairs, load average'
code 0 "$ASSAY" query --format csv "SELECT metric, verdict, pairs, samples_a, low > 1.02 AS clear FROM comparison ORDER BY id"
has out '^first_ms,slower,6,6,true$'
has out '^latency_ms,slower,6,30,true$'
code 0 "$ASSAY" query --format csv "SELECT count(*) AS n, count(DISTINCT asked_options) AS sides FROM cell"
has out '^14,2$'                       # six of each side, and one before that does not count
# A B, B A, A B, ...
code 0 "$ASSAY" query --format csv "SELECT string_agg(CASE WHEN asked_options LIKE '%=10' THEN 'A' ELSE 'B' END, '' ORDER BY id) AS turns FROM cell WHERE id > 2"
has out '^ABBAABBAABBA$'

# A thing against itself is not called different; nor is anything of too few pairs.
code 0 "$ASSAY" ab "$work/bert" --on null:clock=told,noise_ms=0.1,sleep_ms=10 --runs 5 --metric latency_ms --json
json 'len(d) == 1 and d[0]["verdict"] == "same" and abs(d[0]["ratio"] - 1) < 1e-9 and d[0]["side_a"] == d[0]["side_b"]'
code 0 "$ASSAY" ab "$work/bert" --on null:clock=told,sleep_ms=20 --b static,sleep_ms=10 --runs 3 --metric latency_ms --pairs 2 --json
json 'd[0]["verdict"] == "cannot tell" and d[0]["ratio"] < 0.6 and d[0]["cause"].startswith("n too small: 2 of 6") and d[0]["pairs"] == 2'
json 'd[0]["static_b"] and not d[0]["static_a"] and d[0]["side_b"].endswith(" static")'
# A precision is a side too, and its name says so.
code 0 "$ASSAY" ab "$work/bert" --on null:clock=told,sleep_ms=1 --b float16 --threads 2 --runs 3 --metric latency_ms --pairs 1 --json
json 'd[0]["side_a"].endswith("sleep_ms=1 2 threads") and d[0]["side_b"].endswith("sleep_ms=1 float16 2 threads")'
code 0 "$ASSAY" query --format csv "SELECT COALESCE(precision, '-') FROM result WHERE id > (SELECT max(id) FROM result) - 2 ORDER BY 1"
has out '^-$'
has out '^float16$'
code 1 "$ASSAY" ab "$work/bert" --on null --b float17
has err "'float17' is no option: NAME=VALUE, static, dynamic, a precision or a platform"

# A side that does not run: said, stored, exit code 2. Wrong outputs: compared, said, exit code 3.
code 2 "$ASSAY" ab "$work/bert" --on null --b fail=open --runs 3 --metric load_ms --json
json 'd[0]["ratio"] is None and d[0]["verdict"] == "cannot tell" and d[0]["cause"].startswith("B did not run: failed: ") and d[0]["verdict_b"] == "failed"'
code 3 "$ASSAY" ab "$work/bert" --on null:clock=told,sleep_ms=1 --b wrong=1 --runs 3 --pairs 1 --metric latency_ms
has out 'note: .*the outputs of B are wrong'
code 2 "$ASSAY" ab "$work/bert" --on null --against cuda:7 --runs 3 --metric load_ms
has out 'no answer: +B did not run: unavailable'

# An emulated device runs fewer tokens where no length was asked for: no time of one shape is held against another's.
code 2 "$ASSAY" ab "$work/bert" --on null --against null:EMULATED --runs 3 --pairs 1 --metric latency_ms --json
json 'd[0]["ratio"] is None and "tokens and B" in d[0]["cause"] and "--seq" in d[0]["cause"]'
code 0 "$ASSAY" ab "$work/bert" --on null --against null:EMULATED --seq 16 --runs 3 --pairs 1 --metric latency_ms --json
json 'd[0]["ratio"] > 0'

# Stopped: the rows stay, no comparison is stored.
code 0 "$ASSAY" query --format csv "SELECT count(*) AS n FROM comparison"
before=$(tail -1 "$work/out")
"$ASSAY" ab "$work/bert" --on null --a hang=run --runs 3 --db "$work/stopped.duckdb" >"$work/out" 2>"$work/err" </dev/null &
pid=$!
for _ in $(seq 300); do
	"$ASSAY" query --db "$work/stopped.duckdb" --format csv "SELECT count(*) FROM cell" 2>/dev/null | grep -qx 2 && break
	sleep 0.1
done
kill -INT $pid
wait $pid
[ $? -eq 2 ] || fail "a stopped comparison did not end with 2"
has err 'interrupted \((SIGINT|SIGTERM)\)'
has out 'the rows are stored, the comparison is not'
code 0 "$ASSAY" query --db "$work/stopped.duckdb" --format csv "SELECT (SELECT count(*) FROM comparison) AS lines, count(*) AS rows, max(verdict) FILTER (verdict = 'interrupted') AS word FROM result"
has out '^0,2,interrupted$'
code 0 "$ASSAY" query --format csv "SELECT count(*) AS n FROM comparison"
[ "$(tail -1 "$work/out")" = "$before" ] || fail "the other database changed"

# Presets.
code 0 "$ASSAY" ab --list
has out '^parallel-loading +weights'
has out 'not measured: the API does not allow it'
code 0 "$ASSAY" ab --list --json
json 'len(d) >= 9 and all(p["what"] and (p["why_not"] or p["a"]["on"]) for p in d) and len({p["name"] for p in d}) == len(d)'
code 0 "$ASSAY" ab "$work/bert" --preset workgroup --json
json 'd[0]["preset"] == "workgroup" and d[0]["cause"].startswith("the API does not allow it") and d[0]["ratio"] is None and "20-35" in d[0]["claim"] and d[0]["rows_a"] == []'

code 1 "$ASSAY" ab
# Nothing was said of what B is.
code 0 "$ASSAY" ab "$work/bert" --on null:clock=told,noise_ms=0.5 --pairs 2 --runs 3 --seq 16 --metric latency_ms --json
json 'd[0]["cause"] == "A and B are the same question: what differs is noise"'
code 1 "$ASSAY" ab "$work/bert" --preset nonsense
has err "there is no preset 'nonsense'"
code 1 "$ASSAY" ab "$work/bert" --preset layout --on cpu
code 1 "$ASSAY" ab "$work/bert" --web --preset layout
code 1 "$ASSAY" ab "$work/bert" --on cpu,openvino
has err 'a side is one platform'
code 1 "$ASSAY" ab "$work/bert" --a quickly
has err "'quickly' is no option"
code 1 "$ASSAY" ab "$work/bert" --on null --a nonsense=1
code 1 "$ASSAY" ab "$work/bert" --metric tokens
has err "no metric 'tokens'"
finish
