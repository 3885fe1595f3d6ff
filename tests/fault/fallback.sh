# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Every platform's fallback chain, with the null engine in the place of each platform (ASSAY_NULL): what was asked for against what
# ran, in the answer, in the database and in the report.
. "$SOURCE/tests/fault/lib.sh"

# The chains as the manual has them. A platform that is missing here fails below.
chains='cpu:
openvino: cpu
cuda: openvino cpu
rocm: openvino cpu
mps: openvino cpu
qnn: openvino cpu
webgpu: webnn cpu
webnn: cpu
tensorrt: cuda openvino cpu
tensorrt-rtx: cuda openvino cpu
ane: mps cpu
mlx: mps cpu
npu: openvino cpu
xnnpack: cpu'

unavailable=fail=open,status=unavailable
"$ASSAY" platforms >"$work/out"
known=$(sed -n 's/^\([a-z0-9-]*\) .*/\1/p' "$work/out")
[ "$(wc -w <<<"$known")" -ge 9 ] || fail "fewer platforms than eight and null"

# Stand-ins for all the others too: then no engine is loaded to see what is here, which is most of the time of a run.
others()
{
	local name
	for name in $known; do
		[ "$name" = null ] || grep -Eq "(^| )$name(:| |$)" <<<"$ASSAY_NULL" || printf ' %s' "$name"
	done
}

# fallback WANTED PLATFORM [ARGUMENT...]: asks for it, with its chain.
fallback()
{
	local wanted=$1 platform=$2
	shift 2
	ASSAY_NULL="$ASSAY_NULL$(others)" code "$wanted" "$ASSAY" run "$model" --on "$platform" --fallback --runs 3 --no-conform --json "$@"
}

# database SQL LINE...: the rows of an answer, without its header.
database()
{
	local sql=$1 wanted got
	shift
	wanted=$(printf '%s\n' "$@")
	got=$("$ASSAY" query --format csv "$sql" | tail -n +2)
	[ "$got" = "$wanted" ] || fail "$sql: '$got', not '$wanted'"
}

fresh()
{
	rm -f "$ASSAY_DB"
}

# ---- every chain, to its end -----------------------------------------------------------------------------------------------

for name in $known; do
	! sed -n "/^$name /,/^[a-z]/p" "$work/out" | sed 1d | grep -q 'falls back to' || grep -q "^$name:" <<<"$chains" || fail "no chain is expected of $name"
done

fresh
wanted=
while IFS=: read -r asked rest; do
	chain="$asked $rest"
	last=${chain##* }
	[ -n "$rest" ] || last=$asked
	stand_ins=
	verdicts=
	actual=
	attempts=
	firsts=
	n=0
	for name in $chain; do
		n=$((n + 1))
		attempts="$attempts $n"
		firsts="$firsts $asked"
		if [ "$name" = "$last" ]; then
			stand_ins="$stand_ins $name"
			verdicts="$verdicts right"
			actual="$actual $name"
			wanted="$wanted$asked,$name,right,$n,$([ $n = 1 ] && echo false || echo true),null
"
		else
			stand_ins="$stand_ins $name:$unavailable"
			verdicts="$verdicts unavailable"
			actual="$actual null"
			wanted="$wanted$asked,-,unavailable,$n,$([ $n = 1 ] && echo false || echo true),null
"
		fi
	done
	ASSAY_NULL="$stand_ins" fallback 0 "$asked"
	is requested $firsts
	is verdict $verdicts
	is attempt $attempts
	is actual $actual
	is engine $(for name in $chain; do echo null; done)
	grep -q "ASSAY_NULL: the null engine stands in for .*$asked.*; nothing is computed" "$work/err" || fail "nobody said that $asked is the null engine"
done <<<"$chains"
# Expected against actual in the database, each row a fallback of its chain's first, and in the report.
database "SELECT requested, COALESCE(actual, '-'), verdict, attempt, COALESCE(fallback_of = (SELECT min(id) FROM result f WHERE f.requested = r.requested), false),
	engine FROM result r ORDER BY id" ${wanted}
# The tables of the original system count none of it as a success of that hardware.
database "SELECT count(DISTINCT hardware) AS n, bool_or(success) FROM hardware_results" "$(wc -l <<<"$chains"),false"
"$ASSAY" report --format md -o "$work/report.md"
while IFS=: read -r asked rest; do
	chain="$asked $rest"
	last=${chain##* }
	[ -z "$rest" ] || grep -Eq "^\\| model[^|]* \\| $asked \\| $(echo $chain | sed 's/ /, /g') \\| unavailable: .*; $last: right, .*nothing computed[)] \\|$" "$work/report.md" ||
		fail "the report does not say that $last answered for $asked: $(grep "^| model | $asked " "$work/report.md")"
done <<<"$chains"

# All of a chain may fail: the last try's verdict is the chain's.
for asked in cuda webgpu; do
	chain="$asked $(sed -n "s/^$asked: //p" <<<"$chains")"
	ASSAY_NULL="$(for name in $chain; do echo "$name:$unavailable "; done | tr -d '\n')" fallback 2 "$asked"
	is verdict $(for name in $chain; do echo unavailable; done)
done

# ---- what goes on, and what does not ---------------------------------------------------------------------------------------

fresh
for fault in "$unavailable" fail=open,status=unsupported fail=run@1,status=no_memory fail=run@2 crash=open crash=run@1 exit=7; do
	ASSAY_NULL="cuda:$fault openvino" fallback 0 cuda
	[ "$(all actual | tail -1)" = openvino ] || fail "after $fault '$(all actual | tail -1)' ran"
	[ "$(all verdict | tail -1)" = right ] || fail "after $fault it is $(all verdict | tail -1)"
	is requested cuda cuda
done
ASSAY_NULL="cuda:hang=open openvino" fallback 0 cuda --timeout 1
is verdict timeout right
says fallback_reason '^timeout: load: not finished'
ASSAY_NULL="cuda:wrong=1 openvino" fallback 3 cuda
is verdict wrong
ASSAY_NULL="cuda openvino" fallback 0 cuda
is verdict right
is attempt 1
# Success with every node elsewhere is none; some of them elsewhere is one.
ASSAY_NULL="cuda:leave=all openvino" fallback 0 cuda
is verdict fell_back right
is actual cpu openvino
says fallback_reason '^fell_back: cuda took none of the graph: '
# Unless that is allowed: then the first try has answered.
ASSAY_NULL="cuda:leave=all openvino" fallback 0 cuda --allow-fallback
is verdict right
is actual cpu
ASSAY_NULL="cuda:leave=Softmax openvino" fallback 0 cuda
is verdict right
is actual cuda
# Without --fallback nothing is tried.
ASSAY_NULL="cuda:fail=open openvino" code 2 "$ASSAY" run "$model" --on cuda --runs 3 --json
is verdict failed
# A model that assay cannot build has the same answer everywhere.
mkdir "$work/strange"
echo '{"model_type": "not_a_type", "architectures": ["NotAModel"]}' >"$work/strange/config.json"
ASSAY_NULL="cuda openvino cpu" code 2 "$ASSAY" run "$work/strange" --synthetic --on cuda --fallback --json
is verdict unsupported
# A variable with a name that is no platform is told, and nothing runs.
ASSAY_NULL="cude" code 1 "$ASSAY" run "$model" --on cuda --fallback
grep -q 'ASSAY_NULL: there is no platform "cude"' "$work/err" || fail "a wrong name is not told"

# ---- half the batch --------------------------------------------------------------------------------------------------------

fresh
ASSAY_NULL="cuda:fits=2 openvino" fallback 0 cuda --batch 8
is actual cuda cuda cuda
is batch 8 4 2
is verdict no_memory no_memory right
says fallback_reason '^no_memory: .*half the batch: 2$'
# The next platform begins with the batch that was asked for.
ASSAY_NULL="cuda:fail=run@1,status=no_memory openvino:fits=3" fallback 0 cuda --batch 4
is batch 4 2 1 4 2
is actual cuda cuda cuda openvino openvino
is verdict no_memory no_memory no_memory no_memory right
says fallback_reason 'with the batch that was asked for: 4'

# ---- what it costs ---------------------------------------------------------------------------------------------------------

fresh
ASSAY_NULL="cuda:sleep_ms=5" fallback 0 cuda
ASSAY_NULL="cuda:sleep_ms=5" fallback 0 cuda --batch 2
ASSAY_NULL="cuda:$unavailable openvino:sleep_ms=50" fallback 0 cuda
database "SELECT id, fallback_against, fallback_factor > 1 FROM result WHERE fallback_factor IS NOT NULL" 4,1,true
ASSAY_NULL="cuda:$unavailable openvino" fallback 0 cuda --batch 3   # nothing to hold it against
database "SELECT count(*) FROM result WHERE fallback_factor IS NOT NULL" 1
ASSAY_NULL="cuda:$unavailable openvino:sleep_ms=50" code 0 "$ASSAY" run "$model" --on cuda --fallback --runs 3
grep -Eq '^  cuda: unavailable: ' "$work/out" || fail "the first try has no line"
grep -Eq "^  openvino instead of cuda: right, [0-9.]+ ms, [0-9.]+x the time of cuda's row 1 \(one process each: no claim\)" "$work/out" || fail "the fallback has no line with its cost"

# ---- resumed ---------------------------------------------------------------------------------------------------------------

fresh
resume()
{
	local wanted=$1
	shift
	ASSAY_NULL="$ASSAY_NULL$(others)" code "$wanted" "$ASSAY" matrix --models "$model" --on cuda --fallback --runs 3 --no-conform --db "$ASSAY_DB" --output-dir "$work/matrix" --resume "$@"
}
# Killed in the second try: the next run takes the chain up there, and the one after that finds it finished.
ASSAY_NULL="cuda:$unavailable openvino:hang=run@1 cpu" "$ASSAY" matrix --models "$model" --on cuda --fallback --runs 3 --no-conform --db "$ASSAY_DB" \
	--output-dir "$work/matrix" >"$work/out" 2>"$work/err" </dev/null &
parent=$!
started="$started $parent"
second()
{
	grep -q 'on cuda: unavailable' "$work/err" && in_cell "$parent"
}
until_true second
kill -9 "$parent"
wait "$parent" 2>/dev/null || true
until_true gone "$cell"
ASSAY_NULL="cuda:$unavailable openvino:hang=run@1 cpu" resume 0 --timeout 2
database "SELECT attempt, verdict, COALESCE(actual, '-'), COALESCE(fallback_of, 0) FROM result ORDER BY id" 1,unavailable,-,0 2,interrupted,-,1 2,timeout,openvino,1 \
	3,right,cpu,1
ASSAY_NULL="cuda:$unavailable openvino:hang=run@1 cpu" resume 0 --timeout 2
database "SELECT count(*) FROM result" 4
grep -q 'row 4: cpu instead of cuda: right' "$work/err" || fail "the finished chain's end is not told"

nothing_left '*'
echo good
