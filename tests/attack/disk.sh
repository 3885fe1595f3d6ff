# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A disk that fails (EIO, and pages that cannot be had): under the database and its log, weights, and what the cache holds. Each is told as
# what it is, a crash of no engine and no damaged file; no row is lost, and none says "right" of what could not be judged.
. "$SOURCE/tests/attack/lib_database.sh" || exit 1
need_python
shim()
{
	LD_PRELOAD=$BUILD/tests/attack_shim.so ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 "$@"
}
"$ASSAY" synth "$SOURCE/tests/conform/cases/llama" -o llama >/dev/null && "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o bert >/dev/null || fail "no weights"
quick=(--on null --runs 1 --no-conform --json)
fails="its disk fails, or it became shorter while it was read"
rows=
# row CODE VERDICT WORDS WHERE MODEL...: a run while files whose path has WHERE fail ends with that row, which is in the database, too.
row()
{
	local wanted=$1 verdict=$2 words=$3 where=$4
	shift 4
	SHIM_EIO=$where code "$wanted" shim "$ASSAY" run "$@" "${quick[@]}" --db rows.duckdb
	json "len(d) == 1 and d[0]['verdict'] == '$verdict' and '$words' in (d[0]['cause'] or '')"
	rows="$rows$verdict "
}

# ---- what a model is read from

row 2 not_asked 'config.json: Input/output error' bert/config.json bert
row 2 not_asked "$fails" bert/model.safetensors bert

# Its file system goes while a process plans or runs it, or before.
for where in memory:/bert cell:/bert/model; do
	SHIM_GONE=$where code 2 shim "$ASSAY" run "$PWD/bert" "${quick[@]}" --no-db
	json "d[0]['verdict'] == 'not_asked' and 'Transport endpoint is not connected' in d[0]['cause']"
done
# Other numbers of what fails: a damaged ext4 (EUCLEAN), a key that was withdrawn (ENOKEY), a file system that is shut down (ESHUTDOWN).
for number in 117 ${ASSAY_LONG:+126 108}; do
	SHIM_ERROR=$number SHIM_GONE=cell:/bert/model code 2 shim "$ASSAY" run "$PWD/bert" "${quick[@]}" --no-db
	json "d[0]['verdict'] == 'not_asked' and 'model.safetensors: ' in d[0]['cause']"
done
# It goes while an engine reads it, which says of that what it likes, or dies of it.
for how in null:crash=run@1 cpu; do
	rm -f since
	SHIM_SINCE=$PWD/since SHIM_ERROR=112 SHIM_GONE=cell:/bert/model code 2 shim "$ASSAY" run "$PWD/bert" "${quick[@]/null/$how}" --no-db
	json "d[0]['verdict'] == 'not_asked' and 'model.safetensors: Host is down' in d[0]['cause']"
done
SHIM_ERROR=22 SHIM_SINCE=$PWD/since_converted SHIM_GONE=none:/converted/ code 2 shim "$ASSAY" run bert "${quick[@]/null/cpu}" --precision float16 --no-db
json "d[0]['verdict'] == 'not_asked' and '.safetensors: Invalid argument' in d[0]['cause']"
for where in run:/bert model:/bert; do
	SHIM_GONE=$where code 1 shim "$ASSAY" run "$PWD/bert" "${quick[@]}" --no-db
	has err 'bert: Transport endpoint is not connected'
done

# The parent reads an .onnx file, too, and what the child computed: it ended there, without a row of this model or of the next.
"$ASSAY" build bert -o onnx >/dev/null || fail "no .onnx file"
SHIM_EIO=onnx/model.onnx code 2 shim "$ASSAY" run onnx/model.onnx bert "${quick[@]}" --db onnx.duckdb
json "d[0]['verdict'] == 'not_asked' and '$fails' in d[0]['cause'] and d[1]['verdict'] == 'right'"
SHIM_PAGES=/run/ code 2 shim "$ASSAY" run bert "${quick[@]}" --db onnx.duckdb
json "d[0]['verdict'] == 'not_asked' and '$fails' in d[0]['cause'] and d[0]['max_abs_error'] is None"

# A folder that cannot be listed to its end: of engines ("not installed"), of examples (those before it, as if they were all).
for e in openvino/openvino onnxruntime/cpu; do
	SHIM_LIST=.deps/engines/${e%/*} code 2 shim "$ASSAY" run bert --on "${e#*/}" --runs 1 --no-conform --db list.duckdb --json
	json 'd[0]["verdict"] == "not_asked" and "cannot be read: Input/output error" in d[0]["cause"]'
done
mkdir -p examples/positive && echo good >examples/positive/a.txt || fail "no examples"
for folder in examples examples/positive; do
	SHIM_LIST=$folder code 1 shim "$ASSAY" run bert --data examples --no-db
	has err "^assay: --data $folder: Input/output error"
done

# ---- what the cache holds: as it is written, and as it is read

row 2 not_asked 'Input/output error' /converted/ llama --precision int4-weights
row 0 right '' /nothing/ llama --precision int4-weights
row 2 not_asked "$fails" /converted/ llama --precision int4-weights
row 0 unjudged 'cannot be written: Input/output error' /reference/ bert --seq 8
row 0 right '' /nothing/ bert --seq 8
row 0 unjudged "$fails" /reference/ bert --seq 8
row 0 right '' /nothing/ bert --seq 8
SHIM_EIO=/reference/ code 2 shim "$ASSAY" reproduce "$(sql rows.duckdb "SELECT max(cell) FROM measurement")" --db rows.duckdb
has out '^not told: the answer could not be judged here'
rows="${rows}unjudged "

# ---- what the cases of its type answer: where the cache's disk is full they have none, which was remembered as "do not pass"

if [ -n "${ASSAY_LONG:-}" ] && small_disk 600k; then
	chmod 700 small
	for wanted in '[0-9]*/14 .[0-9]* without an answer.' 14/14; do
		ASSAY_CACHE=$work/small code 0 "$ASSAY" run bert --on cpu --runs 1 --db types.duckdb -v
		has out "^ *conformance  $wanted cases of type bert "
		mount -o remount,size=64m small
	done
	umount small
fi
# An engine that cannot write its profile says nothing of it.
if small_disk 300k; then
	chmod 700 small
	ASSAY_CACHE=$work/small code 2 "$ASSAY" profile bert --on cpu --runs 1 --no-conform --db types.duckdb --json
	json "d[0]['verdict'] == 'not_asked' and d[0]['cause'] == 'the disk is full'"
	umount small
fi

# Ranges for int8-static that cannot be written say nothing of the model or its platform.
SHIM_FULL=.ranges.json code 2 shim "$ASSAY" run bert "${quick[@]}" --precision int8-static --no-db
json "d[0]['verdict'] == 'not_asked' and 'No space left' in d[0]['cause']"

# A limit of this cell that they took is the cell's, and a loss that nothing could be held against is none of the model.
SHIM_HANG=cell:.ranges.json code 2 shim "$ASSAY" run bert "${quick[@]}" --precision int8-static --no-db --timeout 2
json "d[0]['verdict'] == 'timeout' and 'the ranges of activations could not be measured: ' in d[0]['cause']"
SHIM_FULL=/reference/ code 2 shim "$ASSAY" run bert "${quick[@]}" --precision int8-weights --seq 10 --max-loss cosine=0.5 --no-db
json "d[0]['verdict'] == 'not_asked' and d[0]['cause'].startswith('--max-loss: cannot be applied: ') and 'No space left' in d[0]['cause']"

# The tokens of float32 that a reduced precision is asked about: where the child that says them was killed, the judge asked again, and other
# tokens were "wrong".
SHIM_ONCE=$work/killed SHIM_KILL=cell:/reference/ code 0 shim "$ASSAY" run llama "${quick[@]}" --task generate --new-tokens 4 --precision int8-weights --no-db
json "d[0]['verdict'] == 'unjudged' and 'the tokens of float32, about which it was to be asked, are not known: ' in d[0]['cause'] and 'signal 9' in d[0]['cause']"

# ---- the database: a good one was said to be none

before=$(sha256sum <rows.duckdb)
for command in 'query fastest' report "import $base" 'run bert --on null --runs 1 --no-conform'; do
	# shellcheck disable=SC2086
	SHIM_EIO=rows.duckdb code 1 shim "$ASSAY" $command --db rows.duckdb
	has err 'rows.duckdb: Input/output error'
	lacks err 'not a valid DuckDB|crashed'
done
SHIM_EIO=rows.duckdb.wal code 1 shim "$ASSAY" run bert "${quick[@]}" --db rows.duckdb
has err 'rows.duckdb.wal": Input/output error'
[ "$(sha256sum <rows.duckdb)" = "$before" ] || fail "a database was changed while its disk failed"
SHIM_EIO=new.duckdb.new code 1 shim "$ASSAY" run bert "${quick[@]}" --db new.duckdb
has err 'Input/output error'
[ ! -e new.duckdb ] || fail "half a database is left"
row 0 right '' /nothing/ bert --seq 9
code 0 "$ASSAY" query --db rows.duckdb --format csv "SELECT string_agg(verdict || ' ', '' ORDER BY id) FROM result"
has out "^\"?$rows\"?$"
finish
