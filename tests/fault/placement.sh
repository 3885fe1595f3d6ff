# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# What a cell does where a platform refuses, leaves nodes to others, emulates or only compiles: the form that ran and why, the
# row's placement, the verdict; `assay explain` of such rows. On the null engine, but for what two engines say in words of their own.
. "$SOURCE/tests/fault/lib.sh"

run()
{
	local wanted=$1
	shift
	code "$wanted" "$ASSAY" run "$model" --no-conform --json "$@"
}

# sql QUERY WANTED: one value of the database.
sql()
{
	local got
	got=$("$ASSAY" query --format csv "$1" | tail -n 1)
	[ "$got" = "$2" ] || fail "$1 gives '$got', not '$2'"
}

# An operator that is refused when the graph is opened: the next form is built, and the row says both.
run 0 --on null:refuse=Erf --runs 3
is verdict right
is form 'dynamic gemm plain gelu-op rms-plain'
says form_why '^dynamic gemm plain gelu-erf rms-plain: .*Erf is refused'
run 0 --on null --runs 3
is form 'dynamic gemm plain gelu-erf rms-plain'
[ -z "$(all form_why | grep -v '^nul')" ] || fail "a first form needs no reason: $(all form_why)"
# All are refused: the last one's cause, and the reasons of those before.
run 2 --on null:refuse=Gemm --runs 3
is verdict unsupported
says cause 'Gemm is refused'
says form_why 'gelu-erf rms-plain: .*; dynamic gemm plain gelu-op rms-plain: '
is form 'static gemm plain gelu-op rms-plain'
# What is not about the graph is not tried again.
run 2 --on null:fail=open --runs 3
is verdict failed
[ "$(all form_why)" = null ] || [ -z "$(all form_why)" ] || fail "another form was tried for: $(all form_why)"
# --static makes two of the forms the same: it is tried once.
run 2 --on null:refuse=Gemm --static --runs 3
[ "$(all form_why | grep -o 'rms-plain: ' | wc -l)" = 1 ] || fail "static forms were tried again: $(all form_why)"

# Nodes left to others are in the row: counted, named by operator with the first node.
run 0 --on null:leave=Gemm --runs 3
is verdict right
is actual null
is nodes_elsewhere 14
says partitions '^1[0-9]$'
says op '^Gemm$'
says first '^layers.0/'
says reason 'left, as asked'
row=$(all row)
code 0 "$ASSAY" explain "$row"
grep -Eq '^  placement +77 of 91 nodes on null in [0-9]+ partitions, 14 elsewhere; first refused: Gemm$' "$work/out" || fail "explain has no such placement"
grep -Eq '^  cpu +Gemm .* 14 ' "$work/out" || fail "explain does not list the nodes elsewhere"
code 0 "$ASSAY" explain "$row" --json
is nodes_elsewhere 14
says place '^cpu$'
sql "SELECT count(*) FROM placement WHERE cell = $row AND elsewhere AND reason IS NOT NULL" 14
code 0 "$ASSAY" run "$model" --no-conform --on null:leave=Gemm --runs 3
grep -q "; 14 of 91 nodes ran elsewhere$" "$work/out" || fail "the verdict does not say that some nodes ran elsewhere"
code 0 "$ASSAY" run "$model" --no-conform --on null:leave=Gemm --runs 3 -v
grep -Eq '^  elsewhere +14 of 91 nodes ran elsewhere, on cpu: 14 Gemm' "$work/out" || fail "people are not told what ran elsewhere"

# The platform took nothing: a verdict of its own that no script takes for a success, in every way that a cell runs.
fell_back()
{
	is verdict fell_back
	is actual cpu
	is nodes_on_platform 0
	says cause "^$1 took none of the graph: [0-9]+ nodes are on cpu"
	sql "SELECT success FROM hardware_results WHERE id = $(all row)" false
	sql "SELECT count(*) FROM result WHERE id = $(all row) AND hint LIKE '%--allow-fallback%'" 1
}
run 2 --on null:leave=all --runs 3
fell_back null
is nodes_elsewhere 91
run 2 --on null:leave=all --scenario offline --effort rapid
fell_back null
code 0 "$ASSAY" report --format junit
grep -q '<failure type="ran elsewhere" message="ran elsewhere: null took none of the graph' "$work/out" || fail "JUnit has no failure"
code 0 "$ASSAY" report --format md
grep -q '| ran elsewhere |' "$work/out" || fail "the report does not say it"
# Wrong stays wrong, wherever it was computed. What is not known is not claimed.
run 3 --on null:leave=all,wrong=on --runs 3
is verdict wrong
run 0 --on null:leave=all,keeps_quiet=on --runs 3
is verdict right
is nodes_on_platform null
# --allow-fallback accepts it, and the row still says where it ran; no success of the platform. It is another question.
run 0 --on null:leave=all --runs 3 --allow-fallback
is verdict right
is actual cpu
is fallback_allowed true
says fallback_reason 'took none of the graph: 91 nodes are on cpu'
sql "SELECT success FROM hardware_results WHERE id = $(all row)" false
sql "SELECT count(DISTINCT cell_key) FROM cell WHERE asked_options = 'leave=all' AND runs = 3" 2
code 0 "$ASSAY" run "$model" --no-conform --on null:leave=all --runs 3 --allow-fallback --db "$work/allowed.duckdb"
grep -q ' on null (ran on cpu): ' "$work/out" || fail "people are not told where it ran"
code 0 "$ASSAY" report --format junit --db "$work/allowed.duckdb"
grep -q 'failures="0".*skipped="1"' "$work/out" || fail "what was allowed is a failure in JUnit, or what computes nothing passes"
grep -q 'took none of the graph' "$work/out" || fail "JUnit does not say where it ran"
grep -q 'ran on cpu instead of null, allowed by --allow-fallback' "$work/out" || fail "JUnit does not say that it was allowed"
code 0 "$ASSAY" query fallbacks --db "$work/allowed.duckdb"
grep -q 'allowed by --allow-fallback' "$work/out" || fail "query fallbacks does not say that it was allowed"
code 1 "$ASSAY" run "$model" --on null --no-fallback --allow-fallback
# Two sides in alternation: one that took nothing ends it, unless that is allowed.
code 2 "$ASSAY" ab "$model" --on null --a leave=Erf --b leave=all --pairs 2 --runs 3
grep -q 'B was asked for on null and ran on cpu' "$work/out" || fail "ab compares what ran elsewhere"
code 0 "$ASSAY" ab "$model" --on null --a leave=Erf --b leave=all --pairs 2 --runs 3 --allow-fallback
grep -q 'no node of B ran on the platform' "$work/out" || fail "ab does not say where B ran"
sql "SELECT count(*) FROM result r JOIN cell c ON c.id = r.id WHERE c.asked_options = 'leave=all' AND r.fallback_allowed AND r.actual = 'null'" 0
code 2 "$ASSAY" doctor null:leave=all
grep -q 'every node ran elsewhere: NULL took nothing' "$work/out" || fail "doctor calls it working"

# --no-fallback: the next form where it helps, else unsupported with operator and node, and nothing ran.
run 0 --on null:leave=Erf --no-fallback --runs 3
is verdict right
is nodes_elsewhere 0
is form 'dynamic gemm plain gelu-op rms-plain'
says form_why '3 of 91 nodes are left to cpu; the first: Erf, node layers.0/ffn/Erf'
run 2 --on null:leave=Gemm --no-fallback --runs 3
is verdict unsupported
says cause '^--no-fallback: 14 of [0-9]+ nodes are left to cpu; the first: Gemm, node layers.0/'
[ "$(all first_ms)$(all actual)" = nullnull ] || fail "it ran all the same"
run 0 --on null:leave=Gemm --runs 3
is verdict right
run 2 --on null:keeps_quiet=on --no-fallback --runs 3
is verdict unsupported
says cause 'cannot be known before it runs'
# The question is another one: --resume must not take one for the other.
sql "SELECT count(DISTINCT cell_key) FROM cell WHERE asked_options = 'leave=Gemm'" 2

# An emulated device: one judged run of a short sequence, unless more was asked for.
run 0 --on null:EMULATED
is verdict right
is emulated true
is sequence 16
is samples 0
is stability 'n too small'
says first_ms '^[0-9]'
says latency_ms '^null$'
run 0 --on null:EMULATED --runs 12 --seq 24
is sequence 24
is samples 12
says latency_ms '^[0-9]'
run 0 --on null --runs 3
is emulated false
is stability 'n too small'

# A device that is not here: compiled, not run, not judged; no success, and no failure either.
run 0 --on null:VIRTUAL
is verdict compiles
says load_ms '^[0-9]'
says compiled_bytes '^[1-9]'
for key in first_ms latency_ms actual reference max_abs_error cause; do
	[ "$(all $key)" = null ] || fail "$key of what only compiled is $(all $key)"
done
sql "SELECT success FROM hardware_results WHERE id = $(all row)" false
"$ASSAY" report --format md | grep -q compiles || fail "the report has no word of it"
run 2 --on null:VIRTUAL,leave=all
is verdict unsupported
says cause 'nothing was compiled for the device'

# explain: bad use.
code 1 "$ASSAY" explain
code 1 "$ASSAY" explain many
code 1 "$ASSAY" explain 4711
grep -q 'there is no row 4711' "$work/err" || fail "it does not say which row is missing"
code 1 "$ASSAY" explain 1 --db "$work/none.duckdb"

# build --explain: the variants of a platform, in their order; one of them built.
code 0 "$ASSAY" build "$model" --platform qnn --explain --static --seq 16
grep -Eq '^  1 \* static .* tried first$' "$work/out" || fail "no first variant"
grep -Eq '^  2   static .*gelu-op .*Erf is refused$' "$work/out" || fail "no second variant with its reason"
code 0 "$ASSAY" build "$model" --platform qnn --form 2 --static --seq 16 --text
grep -q ' = Gelu(' "$work/out" || fail "the second variant has no Gelu"
code 1 "$ASSAY" build "$model" --platform qnn --form 9 --text
code 0 "$ASSAY" build "$model" --platform webnn --form 3 --static --seq 16 --text
grep -Eq 'Cast\(.*: i32' "$work/out" || fail "no int32 indices"

# engine DEVICE: is it here?
engine()
{
	"$ASSAY" detect --json 2>/dev/null | grep -q "\"name\": \"$1\"" || { skip_part "$1 is not here"; return 1; }
}
# A provider that takes no node at all: ONNX Runtime says so in one line for all of them, and a node may have no name. None is none.
nowhere()
{
	code 2 "$ASSAY" run "$work/$1" --on "$2" --no-conform --runs 1 --json
	is verdict fell_back
	is nodes_on_platform 0
	is nodes_elsewhere 1
	code 2 "$ASSAY" run "$work/$1" --on "$2" --no-conform --runs 1 --json --no-fallback
	is verdict unsupported
}
# y = Det(x), x float32 [4,4]; y = Exp(x), x float64 [1,4], in a node without a name.
base64 -d >"$work/det.onnx" <<<CAg6PQoOCgF4EgF5GgFkIgNEZXQSAWdaFwoBeBISChAIARIMCgIIAgoCCAQKAggEYg8KAXkSCgoICAESBAoCCAJCBAoAEBE=
base64 -d >"$work/exp.onnx" <<<CAg6OgoLCgF4EgF5IgNFeHASAWdaEwoBeBIOCgwICxIICgIIAQoCCARiEwoBeRIOCgwICxIICgIIAQoCCARCBAoAEBE=
! engine native || nowhere det.onnx webgpu:native
! engine 57 || nowhere exp.onnx qnn:57

nothing_left '*'
echo good
[ "$skipped_parts" = 0 ] || exit 77
