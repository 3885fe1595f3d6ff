# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Every way in which an engine goes wrong is a row with its verdict and its cause, and the run goes on to the next cell.
. "$SOURCE/tests/fault/lib.sh"

run()
{
	local wanted=$1
	shift
	code "$wanted" "$ASSAY" run "$model" --runs 3 --json "$@"
}

# fault OPTIONS VERDICT CAUSE [ARGUMENT...]: and a healthy cell behind it, in the same run.
fault()
{
	local on=null:$1 verdict=$2 cause=$3
	shift 3
	run 2 --on "$on" --on null "$@"
	is verdict "$verdict" right
	says cause "$cause"
	says samples '^3$'
}

run 0 --on null
is verdict right
fault fail=open failed 'failed while opening'
fault fail=run@1 failed 'failed in run 1'
fault fail=run@5 failed 'failed in run 5'
fault crash=open crashed '^load: .*signal 11'
fault crash=run@1 crashed '^first: .*signal 11'
fault crash=run@4 crashed '^warm: .*signal 11'
fault exit=7 crashed 'ended with exit code 7 before it was done'
fault exit=0 crashed 'ended with exit code 0 before it was done'
fault rubbish=on failed 'no event came'
run 3 --on null:wrong=1 --on null
is verdict wrong right
says cause ' off at \['

# However outputs are wrong, a row says so. What is less than its shape says never comes to the judge.
words="nan one_nan infinite zeros constant rows bit exponent shape type name short"
run 3 --no-conform $(for how in $words; do echo "--on null:wrong=$how"; done)
is verdict wrong wrong wrong wrong wrong wrong wrong wrong wrong wrong wrong failed
sed -n 's/^    "cause": "\(.*\)",$/\1/p' "$work/out" >"$work/causes"        # of the rows, not of their checks
exec 3<"$work/causes"
for pattern in 'values .* are not finite' '1 values .* are not finite' '1 values .* are not finite' ' off at ' ' off at ' ' off at ' \
	' off at .*0\.625, reference 0\.875' ' off at .*1\.75, reference 0\.875' 'shape .*, reference ' 'holds i32, reference f32' 'the model has not' 'holds .* bytes, its shape takes '; do
	read -r cause <&3
	echo "$cause" | grep -Eq "$pattern" || fail "the cause is '$cause', not like '$pattern'"
done
exec 3<&-

# Nor is it right in a reduced precision, whose bound is wider: the graph in float32 is right there, the arithmetic is not. One flipped bit of a
# mantissa is 0.25 of values up to 2: the bound of bfloat16 sees it, those of int8-dynamic and int4-weights allow 0.4 and 0.3.
for precision in int8-dynamic int4-weights bfloat16; do
	words="on one_nan exponent type"
	[ $precision != bfloat16 ] || words="$words bit"
	run 3 --no-conform --precision $precision --on null $(for how in $words; do echo "--on null:wrong=$how"; done)
	is verdict right $(for how in $words; do echo wrong; done)
	is arithmetic_verdict $(all verdict)
	[ "$(all graph_verdict | sort -u)" = right ] || fail "graph_verdict is '$(all graph_verdict)'"
	all cause | grep -q '^its arithmetic, against .* off at .*1\.75, reference 0\.875' || fail "causes are '$(all cause)'"
done

# What was measured before the end stays in the row.
run 2 --on null:crash=run@5
says build_ms '^[0-9]'
says load_ms '^[0-9]'
says first_ms '^[0-9]'
says nodes '^[1-9]'
says actual '^null$'
run 2 --on null:crash=open
[ "$(all actual)" = null ] || fail "something ran: $(all actual)"
[ "$(grep -c '"actual": null' "$work/out")" = 1 ] || fail "a cell that was never opened says what ran it"

# Time: the whole group is ended. The limit is short because nothing comes.
run 2 --on null:hang=open --timeout 1
is verdict timeout
says cause '^load: not finished'
run 2 --on null:hang=run@3 --timeout 1
is verdict timeout
says cause '^warm: not finished'

# Memory: by a control group, or without one.
run 2 --on null:eat=4 --memory 0.3
is verdict no_memory
says memory_sampling 'limit by '
ASSAY_CGROUP=off run 2 --on null:eat=4 --memory 0.3
is verdict no_memory
says memory_sampling 'limit by (rlimit_data\+)?sampler'

# A rubbish writer's words are kept as text, and the JSON stays JSON.
run 2 --on null:rubbish=on
grep -q 'rubbish from the null engine' "$work/out" || fail "what it wrote was not kept"

nothing_left '*'
echo good
