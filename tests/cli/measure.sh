# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# How a cell is measured: warm-up, efforts, percentiles, scenarios, another shape, memory that stays behind. The null engine's clock is
# told, so that no figure here depends on the machine.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
cell() {
	local expected=$1 on=$2
	shift 2
	code "$expected" "$ASSAY" run "$work/bert" --on "$on" --no-conform --json "$@"
}
steady=null:sleep_ms=5,clock=told
# A limit of ten seconds is waited for beside all else; what came is looked at below.
ASSAY_DB=$work/timeout.duckdb "$ASSAY" run "$work/bert" --on $steady --no-conform --json --runs 3 --delay 9.999 --timeout 10 >"$work/timeout" 2>/dev/null </dev/null &
delayed=$!
waited_for() # PID FILE
{
	local got=0
	wait "$1" || got=$?
	cat "$work/$2"
	return $got
}
noisy=null:sleep_ms=5,noise_ms=2,clock=told

# Warm-up until it agrees, then as many runs as the effort says, and only those percentiles that so many can say.
cell 0 $noisy
json 'd[0]["samples"] == len(d[0]["samples_ms"]) == 503 and d[0]["latency_p95_ms"] > d[0]["latency_p90_ms"] and d[0]["latency_p99_ms"] is None'
json 'd[0]["warmup_end"] == "three windows agree within 5 %" and d[0]["warmup_runs"] >= 10 and d[0]["warmup_ms"] > 50 and len(d[0]["warmup_samples_ms"]) == d[0]["warmup_runs"] and sum(d[0]["warmup_samples_ms"]) <= d[0]["warmup_ms"] + 1e-6'
json 'd[0]["stability"] == "stable" and d[0]["stability_why"] is None and d[0]["effort"] is None'
json '5 < d[0]["latency_low_ms"] < d[0]["latency_ms"] < d[0]["latency_high_ms"] < 7 and 0.08 < d[0]["latency_cv"] < 0.12'
json 'abs(d[0]["throughput_per_s"] - 1000 * 503 / sum(d[0]["samples_ms"])) < 1e-6'
json 'd[0]["clock_overhead_us"] >= 0 and d[0]["harness_overhead_us"] >= 0 and d[0]["device_ms"] is None'
first=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["latency_high_ms"])' "$work/out")
cell 0 $noisy
json "d[0]['latency_high_ms'] == $first"
cell 0 null:sleep_ms=1,clock=told
json 'd[0]["samples"] == 662 and d[0]["latency_p99_ms"] == 1 and d[0]["latency_cv"] == 0'
cell 0 $steady --effort rapid
json 'd[0]["samples"] == 11 and d[0]["latency_p90_ms"] is None and d[0]["latency_low_ms"] == 5 and d[0]["effort"] == "rapid"'
cell 0 $steady --effort quick
json 'd[0]["samples"] == 64 and d[0]["latency_p90_ms"] == 5 and d[0]["latency_p95_ms"] is None'
cell 0 $steady --runs 4 --effort rapid
json 'd[0]["samples"] == 4 and d[0]["warmup_runs"] == 4 and d[0]["warmup_end"] == "the limit of runs"'
json 'd[0]["stability"] == "n too small" and d[0]["latency_low_ms"] is None'
cell 0 null:sleep_ms=800,clock=told
json 'd[0]["samples"] == 11 and d[0]["warmup_runs"] == 2 and d[0]["warmup_end"] == "the limit of time"'
cell 0 null:sleep_ms=1,noise_ms=30,clock=told --runs 9
json 'd[0]["stability"] == "unstable" and "windows of 3 runs" in d[0]["stability_why"] and d[0]["stability_why"].split(":")[0] in ("drift", "scatter")'

# Another shape, where the shapes are open, and not where a copy of the question would not tell.
cell 0 $steady --runs 3
json 'd[0]["new_shape_ms"] == 5'
cell 0 $steady --runs 3 --static
json 'd[0]["new_shape_ms"] is None'
cell 0 null:EMULATED --options sleep_ms=5,clock=told
json 'd[0]["new_shape_ms"] is None and d[0]["samples"] == 0 and d[0]["warmup_runs"] is None'
# It is the ninth run: behind the answer, so its death harms nothing and is told.
for fault in crash fail; do
	cell 0 null:$fault=run@9,sleep_ms=5,clock=told --runs 3
	json 'd[0]["verdict"] in ("right", "unjudged") and d[0]["new_shape_ms"] is None and d[0]["samples"] == 3'
done
cell 0 null:crash=run@9,sleep_ms=5,clock=told --runs 3
json '"signal 11" in d[0]["placement_note"] and d[0]["placement_note"].startswith("shape:")'

# Scenarios. What the machine cannot hold ends, and is not valid.
cell 0 $steady --scenario single-stream
json 'd[0]["scenario_result"]["valid"] and d[0]["scenario_result"]["percentile"] == 90 and d[0]["scenario_result"]["estimate_ms"] == 5'
json 'd[0]["samples"] == 256 and d[0]["scenario"] == "single-stream"'
cell 0 null:sleep_ms=1,clock=told --scenario multi-stream --streams 4 --batch 2 --effort rapid
json 'd[0]["samples"] == 662 and d[0]["scenario_result"]["estimate_ms"] == 2 and d[0]["scenario_result"]["valid"] and d[0]["throughput_per_s"] == 2000'
cell 0 $steady --scenario offline --batch 4
json 'd[0]["throughput_per_s"] == 800 and d[0]["scenario_result"]["valid"] and d[0]["samples"] == 600'
cell 0 $steady --scenario server --rate 100 --latency-bound 60
json 'd[0]["scenario_result"]["valid"] and d[0]["samples"] == 2648 == d[0]["scenario_result"]["queries"] and d[0]["rate_per_s"] == 100'
json 'd[0]["latency_min_ms"] == 5 and d[0]["latency_ms"] > 5 and d[0]["latency_max_ms"] < 60'
cell 2 null:sleep_ms=50,clock=told --scenario server --rate 1000 --latency-bound 60 --effort rapid
json 'not d[0]["scenario_result"]["valid"] and d[0]["scenario_result"]["unanswered"] > 500 and "a second of the 1000 that arrived" in d[0]["scenario_result"]["why"]'
json '19 < d[0]["throughput_per_s"] <= 20 and d[0]["scenario_result"]["elapsed_s"] < 6'
code 2 "$ASSAY" run "$work/bert" --on $steady --no-conform --scenario server --rate 300 --latency-bound 10
has out '^  scenario +server, NOT VALID: .* queries took longer than 10 ms'
code 0 "$ASSAY" run "$work/bert" --on $steady --no-conform --scenario server --rate 20 --latency-bound 60 --runs 500
has out '^  scenario +server: 0 of 500 queries took longer than 60 ms: 99th percentile within the bound'
# A question of its own: another scenario is another cell.
code 0 "$ASSAY" query --format csv "SELECT count(DISTINCT cell_key) AS n FROM result WHERE scenario = 'server'"
has out '^4$'
# One whose rule did not hold is no success and has no time; a valid one stands by itself, with what was asked.
code 0 "$ASSAY" query --format json --on null fastest
json 'sum((r["scenario"], r["rate_per_s"], r["latency_bound_ms"]) == ("server", 100, 60) for r in d) == 1 and not any(r["rate_per_s"] == 1000 for r in d)'
json 'any(r["scenario"] == "single-stream" for r in d) and any(r["scenario"] is None for r in d)'
has err 'times left out: .*2 rows of scenarios that are NOT VALID'
code 0 "$ASSAY" report --format junit
[ "$(grep -c 'type="right, NOT VALID"' "$work/out")" = 0 ] || fail "what the null engine computed is called a failure"
# An engine that takes several at a time: tried, stated, and the outputs of every request are looked at.
cell 0 null:sleep_ms=20,lanes=4 --scenario offline --effort rapid
json 'd[0]["verdict"] == "right" and [t["requests"] for t in d[0]["scenario_result"]["tried"]] == [1, 4, 8] and d[0]["scenario_result"]["requests"] in (4, 8)'
json 'all(t["samples_per_s"] > 0 and t["why"] is None for t in d[0]["scenario_result"]["tried"]) and d[0]["scenario_result"]["batch"] == 1'
json 'd[0]["scenario_result"]["queries"] % d[0]["scenario_result"]["requests"] == 0 and d[0]["samples"] == d[0]["scenario_result"]["queries"] >= 16'
json 'd[0]["scenario_result"]["outputs"].startswith("all requests gave the same") and d[0]["throughput_per_s"] > 0'
cell 0 null:sleep_ms=5,lanes=3 --scenario offline --runs 7
json 'd[0]["samples"] == 7 == len(d[0]["samples_ms"])'
cell 3 null:sleep_ms=20,lanes=4,wrong_lane=3 --scenario offline --effort rapid
json 'd[0]["verdict"] == "wrong" and d[0]["scenario_result"]["outputs"].startswith("requests differ") and abs(d[0]["max_abs_error"] - 1) < 1e-3'
code 2 "$ASSAY" run "$work/bert" --on null:sleep_ms=5,lanes=2 --no-conform --scenario server --rate 50 --latency-bound 5000 --runs 40
has out '^  scenario +server, NOT VALID: 0 of 40 queries took longer.* [124] requests? at a time of batch 1'

for bad in "--effort fast" "--scenario Server" "--scenario server" "--scenario server --rate 5" "--scenario server --rate 0.001 --latency-bound 5" "--rate 5" "--streams 8" "--latency-bound 5" \
	"--scenario multi-stream --streams 3 --batch 2" "--task generate --cycles 5" "--task generate --scenario offline" "--cycles 4"; do
	code 1 "$ASSAY" run "$work/bert" --on null $bad
	empty out
done

# Energy, by a made-up counter. It is a pipe whose other end gives a number each time that it is read: when it is found, twice around half a
# second of idle (1 J), twice around the timed runs (50 J), and at no other time, or the next cell would get another's numbers.
rapl=$work/sysfs/sys/class/powercap/intel-rapl:0
mkdir -p "$rapl"
echo package-0 >"$rapl/name"
echo 262143328850 >"$rapl/max_energy_range_uj"
mkfifo "$rapl/energy_uj"
python3 - "$rapl/energy_uj" <<'PY' &
import os, sys, time
while True:
    for uj in (7, 1000000, 2000000, 2000000, 52000000):
        fd = os.open(sys.argv[1], os.O_WRONLY)
        os.write(fd, b"%d\n" % uj)
        os.close(fd)
        time.sleep(0.05)
PY
counter=$!
export ASSAY_SYSFS=$work/sysfs
cell 0 null:sleep_ms=20 --runs 40 --batch 2
json 'd[0]["energy_why"] is None and d[0]["energy_source"].startswith("package-0; ") and d[0]["energy_j_per_token"] is None'
json '0 < d[0]["idle_w"] <= 2 and d[0]["energy"]["seconds"] > 0.8 and d[0]["energy"]["with_idle_j"] == 50'
json 'abs(d[0]["energy_j_per_sample"] * 80 - (50 - d[0]["idle_w"] * d[0]["energy"]["seconds"])) < 1e-6'
code 0 "$ASSAY" run "$work/bert" --on null:sleep_ms=20 --no-conform --runs 40
has out '^  energy +1.[0-9]+ J a sample over [0-9.]+ W idle, by package-0; everything'
cell 0 null:sleep_ms=20 --scenario offline --runs 40
json 'd[0]["energy"]["with_idle_j"] == 50 and 0.9 < d[0]["energy_j_per_sample"] < 1.25'
code 0 "$ASSAY" report --format json
json 'len(d["energy"]) >= 2 and all(0 < e["energy_j_per_sample"] <= 1.25 and e["idle_w"] <= 2 for e in d["energy"])'
# Too short, or told: no figure.
cell 0 null:sleep_ms=1 --runs 3
json 'd[0]["energy_j_per_sample"] is None and "a counter needs" in d[0]["energy_why"]'
cell 0 $steady --runs 40
json 'd[0]["energy_j_per_sample"] is None and d[0]["energy_why"]'
kill $counter
wait $counter 2>/dev/null
rm "$rapl/energy_uj"
echo 1 >"$rapl/energy_uj"
# It stands still: never 0 J.
code 0 "$ASSAY" run "$work/bert" --on null:sleep_ms=20 --no-conform --runs 40 -v
has out '^  energy +no figure: package-0 stood still'
cell 0 null:sleep_ms=20 --runs 40
json 'd[0]["energy_j_per_sample"] is None and "stood still" in d[0]["energy_why"] and d[0]["energy"]["counters"][0]["joules"] is None'
export ASSAY_SYSFS=$work/none
cell 0 null:sleep_ms=20 --runs 4
json 'd[0]["energy_j_per_sample"] is None and "/sys/class/powercap" in d[0]["energy_why"] and d[0]["idle_w"] is None'
unset ASSAY_SYSFS

# The wait between warm-up and sample is in no time, though the time limit counts it, and Ctrl-C ends it at once. A question of its own.
since=$(date +%s%N)
cell 0 $steady --runs 3 --delay 3
[ $(($(date +%s%N) - since)) -ge 3000000000 ] || fail "nothing waited"
json 'd[0]["delay_s"] == 3 and d[0]["samples_ms"] == [5, 5, 5] and d[0]["warmup_ms"] == 15 and d[0]["harness_overhead_us"] < 1e6'
took=$((($(date +%s%N) - since) / 1000000))
json "d[0]['wall_ms'] <= $took - 3000"
cell 0 $steady --runs 3 --delay 0
json 'd[0]["delay_s"] is None'
cell 0 $steady --delay 0.5 --scenario offline --effort rapid
json 'd[0]["delay_s"] == 0.5 and d[0]["throughput_per_s"] == 200 and d[0]["scenario_result"]["elapsed_s"] < 1.1'
cell 0 null:EMULATED --options sleep_ms=5,clock=told --runs 2 --delay 0.1
json 'd[0]["delay_s"] == 0.1 and d[0]["samples"] == 2'
code 0 "$ASSAY" query --format csv "SELECT count(DISTINCT cell_key) AS n FROM result WHERE requested = 'null' AND samples = 3 AND delay_s IS NOT NULL"
has out '^1$'
code 2 waited_for "$delayed" timeout
json 'd[0]["verdict"] == "timeout" and d[0]["cause"].startswith("delay: ")'
for bad in "--delay 3601" "--delay -1" "--delay x" "--delay 600" "--delay 5 --timeout 5"; do
	code 1 "$ASSAY" run "$work/bert" --on null $bad
	has err '^assay: --delay '
done
# Which phase it is in stands on a terminal alone.
script -qfc "echo \$\$ >'$work/pid'; exec '$ASSAY' run '$work/bert' --on $steady --no-conform --runs 3 --delay 500 --json >'$work/out'" "$work/err" >/dev/null 2>&1 </dev/null &
terminal=$!
for _ in $(seq 600); do
	grep -q ': delay' "$work/err" 2>/dev/null && break
	sleep 0.1
done
has err ': delay'
since=$(date +%s)
kill -INT "$(cat "$work/pid")"
wait $terminal
[ $(($(date +%s) - since)) -lt 30 ] || fail "Ctrl-C did not end the wait"
json 'd[0]["verdict"] == "interrupted" and d[0]["cause"].endswith("in its phase \"delay\"") and d[0]["wall_ms"] < 100000'

# Memory that stays behind is found, and none where there is none.
cell 0 null:leak=1 --runs 1 --cycles 8
json '0.9 < d[0]["leak_low_mib"] <= d[0]["leak_mib_per_cycle"] <= d[0]["leak_high_mib"] < 1.2 and d[0]["cycles"] == 8'
cell 0 null --runs 1 --cycles 8
json 'd[0]["leak_low_mib"] < 0.02 and d[0]["leak_mib_per_cycle"] < 0.05'
code 0 "$ASSAY" run "$work/bert" --on null:leak=1 --no-conform --runs 1 --cycles 8 -v
has out '^  leak +it leaks: (0\.99|1\.0)[0-9]* MiB'
# Every figure of memory by its own name (the null engine has no prediction).
tr -s ' \n' ' ' <"$work/out" >"$work/line"
has line ' memory peak anonymous [0-9.]+ MiB; largest PSS at the end of a phase [0-9.]+ MiB; high-water mark of the resident set [0-9.]+ MiB .*\[RssAnon and shared memory at 100 Hz'
lacks out '^  predicted'
lacks out 'share of mapped files'
finish
