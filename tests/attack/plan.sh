# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A model that is read, and a graph that is built, in a process of their own: one that crashes, takes all memory, never ends or is killed is a row,
# and the models behind it have theirs.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cd "$work" || exit 1
shim()
{
	LD_PRELOAD=$BUILD/tests/attack_shim.so ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 "$@"
}
"$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o bert >/dev/null || fail "no weights"
for model in bad first second behind; do cp -r bert $model; done
run="run --on null --runs 1 --no-conform bert bad behind --json"
# three VERDICT WORDS: of the second model; the others are not touched.
three()
{
	json "[r['verdict'] for r in d] == ['right', '$1', 'right'] and d[0]['cause'] == d[2]['cause'] and \
		'$2' in d[1]['cause'] and d[1]['row'] and '/bad/' not in d[1]['cause']"
}

SHIM_CRASH=model:first/,memory:second/ SHIM_GROW=memory:bad/ code 2 shim "$ASSAY" ${run/bert bad behind/bert first second bad behind}
json "[r['verdict'] for r in d] == ['right', 'failed', 'failed', 'no_memory', 'right'] and d[0]['cause'] == d[4]['cause'] and \
	all('reading the model or building its graph crashed: plan: the process died of signal 11' in r['cause'] for r in d[1:3]) and \
	'reading a model and building its graph gets no more' in d[3]['cause'] and \
	all(r['row'] and '/' + n + '/' not in r['cause'] for r, n in zip(d[1:4], ('first', 'second', 'bad')))"
# The sampler alone, without a control group: the way of a build with sanitizers, which allows no limit of the address space. And a graph that
# never ends.
if [ -n "${ASSAY_LONG:-}" ]; then
	ASSAY_CGROUP=off SHIM_GROW=model:first/ code 2 shim "$ASSAY" ${run/bert bad behind/bert first behind}
	three no_memory 'went over the limit of 2.00 GiB'
fi
SHIM_HANG=memory:bad/ code 2 shim "$ASSAY" $run --timeout 3
three timeout 'plan: not finished when the limit of 3 s'

# Of a child that somebody else killed, and of a disk that was full, nothing is known: a row that says so, and --resume asks again.
matrix="matrix --models bert bad behind --on null --scenario single-stream --runs 1 --no-conform --json"
for what in ${ASSAY_LONG:+model} memory; do
	cp "$ASSAY_DB" killed-$what.duckdb # a new one takes longer
	SHIM_KILL=$what:bad/ code 2 shim "$ASSAY" $matrix --db killed-$what.duckdb
	three not_asked 'plan: the process died of signal 9, Killed; somebody, or the kernel for want of memory, ended it'
	[ -n "${ASSAY_LONG:-}" ] || continue # below one is asked again
	code 2 "$ASSAY" $matrix --db killed-$what.duckdb --resume # right; of one run a scenario is not valid
	json "[r['verdict'] for r in d][-1] == 'right' and len(d) in (1, 3)"
done
full="matrix --models $SOURCE/tests/conform/cases/bert --synthetic --on null --scenario single-stream --precision int8 --runs 1 --no-conform --json --db full.duckdb"
export ASSAY_CACHE=$work/full
cp "$ASSAY_DB" full.duckdb
SHIM_FULL=/full/converted/ code 2 shim "$ASSAY" $full
json "d[0]['verdict'] == 'not_asked' and d[0]['cause'] == 'the disk is full' and 'No space left' in d[0]['raw_error'] and 'cache --trim' in d[0]['hint']"
code 2 "$ASSAY" $full --resume # likewise
json "d[0]['verdict'] == 'right'"
finish
