# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# What `run` prints: four lines a cell and a table at the end, the honest marks among them; everything with -v.
. "$SOURCE/tests/cli/lib.sh" || exit 1
cases=$SOURCE/tests/conform/cases
quick="--synthetic --runs 7 --no-conform"

# most N: standard output has at most N lines.
most()
{
	local lines
	lines=$(wc -l <"$work/out")
	[ "$lines" -le "$1" ] || { fail "$lines lines, not $1"; cat "$work/out"; }
}

code 0 "$ASSAY" run "$cases/bert" --on null:sleep_ms=1 $quick
has out '/bert on null: (right|unjudged) \(synthetic weights, nothing computed\): .'
has out '^  latency  [0-9.]+ ms \(synthetic weights, nothing computed\), 95 % interval [0-9.]+ to [0-9.]+, 7 runs, .*; [0-9.]+ samples/s$'
has out '^  memory   [0-9.]+ MiB anonymous at its peak \(what --memory limits\), [0-9.]+ MiB resident \(with mapped weights and libraries\)$'
has out "^row 1 in $ASSAY_DB, run:1 of it; -v prints every fact of a cell$"
lacks out '^  (device|time|shape|weights|nodes|reference) '
most 5

# Two models on two platforms, eight cells: what a terminal holds.
code 2 "$ASSAY" run "$cases/bert" "$cases/gpt2" --on null,cuda $quick
most 30
has out '^row +model +on +verdict +latency +95 % interval +memory'
has out '^[0-9]+ +.*/gpt2 +cuda +unavailable +synthetic weights$'
has out '/bert on cuda: unavailable \(synthetic weights\): '
has out '^  cause    .'
code 2 "$ASSAY" run "$cases/bert" "$cases/gpt2" --on null,cuda,rocm,mps $quick
most 50

# What was asked stands in the title, and what it stands for in the marks.
code 0 "$ASSAY" run "$cases/bert" --on null:NULL $quick --batch 1,2 --layers 1 --no-sweep-stop
has out '/bert on null:NULL, batch 2: (right|unjudged) \(1 layer, synthetic weights, nothing computed\)'
# A bad verdict says why in its line or below it, in four lines at most.
code 2 "$ASSAY" run "$cases/bert" --on null:fail=open $quick
has out ' on null: failed \('
has out '^  cause    .'
most 5
code 2 "$ASSAY" run "$cases/bert" --on cpu --memory 0.01 $quick
has out '^  cause    not tried: it needs .* \(predicted\)'
has out '^  memory   predicted [0-9.]+ MiB resident, not measured$'

# What nobody makes weights for has none; a number that ends a row is where `compare` finds it.
mkdir "$work/odd"
echo '{"model_type": "nosuch", "architectures": ["NoSuchModel"]}' >"$work/odd/config.json"
code 2 "$ASSAY" run "$work/odd" --on null $quick --db "$work/odd.duckdb"
has out '/odd on null: unsupported: '
has out '^  hint     `assay inspect '
code 2 "$ASSAY" inspect "$work/odd"
lacks out 'assay inspect'
code 2 "$ASSAY" run "$work/odd" --on null $quick --db "$work/odd.duckdb"
has out 'run:2 of it'
code 0 "$ASSAY" query runs --db "$work/odd.duckdb" --format csv
[ "$(tail -n +2 "$work/out" | cut -d, -f1 | tr '\n' ' ')" = "run:2 run:1 " ] || fail "query runs: $(cat "$work/out")"

# What a reduced precision loses stands beside its error, and in the table beside its time.
if has_platform cpu; then
	code 0 "$ASSAY" run "$cases/bert" --on cpu $quick --precision int4-weights,float32 --delay 0.1
	has out '^  error    max abs [0-9.e-]+, NMSE .*; allowed max abs [0-9.]+ \(0\.4 x max\(1, largest reference value\)\), .*; loss: NMSE .*, top-1 agrees in [0-9.]+ %, to float32$'
	has out ' int4-weights, after 0.1 s of rest +right .*; loss top-1 agrees in [0-9.]+ %$'
	code 0 "$ASSAY" run "$cases/bert" --on cpu $quick --delay 0.1 --memory 0.3 -v
	has out 's of rest \(--delay\)'
	has out 'samples/s'
	code 0 "$ASSAY" recommend "$cases/bert"
	lacks out '0\.[0-9]*(00000|99999)'
fi

# -v and --verbose: every fact.
for v in -v --verbose; do
	code 0 "$ASSAY" run "$cases/bert" --on null $quick "$v"
	has out '^  device +null'
	has out '^  shape +batch 1'
	has out 'timer overhead'
	has out '^  row +[0-9]+ in '
	lacks out '-v prints'
done

# What is unstable says why in its line; a table of failures has short texts, and the other formats whole ones.
code 0 "$ASSAY" run "$cases/bert" --on null:clock=told,sleep_ms=10,noise_ms=40 --synthetic --runs 64 --no-conform
has out ', 64 runs, unstable \((drift|scatter|spread|tail): [^;]*\); [0-9.]+ samples/s$'
code 2 "$ASSAY" run "$cases/bert" --on mps $quick
code 0 "$ASSAY" query failures --on mps
has out '^unavailable +no Apple hardware.{50,60}\.\.\. '
code 0 "$ASSAY" query failures --on mps --format csv
lacks out '\.\.\.'
finish
