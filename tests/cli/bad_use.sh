# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Bad use: exit code 1, one sentence on standard error that helps, nothing on standard output.
. "$SOURCE/tests/cli/lib.sh" || exit 1

# bad PATTERN ARGUMENT...
bad()
{
	local pattern=$1
	shift
	code 1 "$ASSAY" "$@"
	empty out
	has err "^assay: $pattern"
	[ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than one line on standard error: assay $*"
}

code 1 "$ASSAY"
bad "unknown command 'rum'; did you mean 'run'" rum
bad "unknown command 'xyzzy'; .assay --help" xyzzy
bad "unknown command 'matirx'; did you mean 'matrix'" help matirx
bad 'options come after the command' --json detect
bad 'too few arguments; usage: assay run MODEL' run
bad 'unknown option --bacth; did you mean --batch' run x --bacth 3
bad 'unknown option -x; usage' run x -x
bad "--batch wants a whole number from 1 to 65536, not '0'" run x --batch=0
bad "--batch wants a whole number from 1 to 65536, not '1e3'" run x --batch 1e3
bad '--batch wants a value: N' run x --batch
bad "--timeout wants a number from 0.1" run x --timeout never
bad "--db wants a value, FILE, and not another option: --no-conform" run x --db --no-conform
bad "-o wants a value, .*, and not another option: --json" report -o --json
bad '--json takes no value' run x --json=yes
bad "no platform is called extra" detect extra
bad '--golden .*: no such file' run x --golden "$work/none"
bad '.*no-such-model' run no-such-model
bad '.*bert-base-uncased' run bert-base-uncasd
bad ".*(cpu|openvino)" run bert-base-uncased --synthetic --on cpuu
bad 'bert-base-uncased: only its configuration is here.*--synthetic.*[0-9] [MG]iB' run bert-base-uncased
bad 'ort: option threads is "zzz"; it takes a number from 1 to 4096' run bert-base-uncased --synthetic --on cpu:threads=zzz
bad 'openvino: option hint is "fast"; it takes LATENCY, ' run bert-base-uncased --synthetic --on openvino --options hint=fast
bad 'ort: option prepacking is ""; it takes on, off' run bert-base-uncased --synthetic --options prepacking=
bad 'ort: option spinning is "10000001"' run bert-base-uncased --synthetic --on cpu:spinning=10000001
bad '--layers 99: .* has 12' run bert-base-uncased --synthetic --layers 99
bad 'where to' synth bert-base-uncased
bad 'where to' build bert-base-uncased
bad "--dtype wants f32, f16 or bf16, not 'f64'" synth bert-base-uncased -o "$work/x" --dtype f64
bad '--batch and --seq need --static' build bert-base-uncased -o "$work/x" --batch 2
bad '--probe, --driver, --plan, --conform and --pipeline' cell --probe ort --conform
bad '--key and --all name the models that the program carries, --models others' matrix --key --models bert-base-uncased

# Nothing was written by any of them.
[ -e "$work/assay.duckdb" ] && fail "a database was made"
[ -e "$work/x" ] && fail "a folder was made"

# Words after -- are words; a value may be joined to its letter.
bad '.*--batch' inspect -- --batch
code 1 "$ASSAY" synth no-such-model "-o$work/y"
has err 'no-such-model'
finish
