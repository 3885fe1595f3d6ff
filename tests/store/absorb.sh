# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# assay import of assay's own rows: as a file, as Parquet, CSV and JSON; the same rows behind it, new numbers where there were some, nothing twice, and
# nothing at all of what is cut or does not belong together.
. "$SOURCE/tests/cli/lib.sh"

bert=$SOURCE/tests/conform/cases/bert
from=$work/from.duckdb
export ASSAY_NULL="cuda:fail=open,status=unavailable openvino:fail=open,status=unavailable cpu"
run() { "$ASSAY" run "$bert" --synthetic --runs 3 --no-conform "$@" >"$work/out" 2>"$work/err"; }
run --on null --db "$from" || fail "null"
run --on cuda --fallback --db "$from" || fail "the chain: $(tail -3 "$work/err")"       # rows that name rows
code 0 "$ASSAY" ab "$bert" --synthetic --on null --a sleep_ms=1 --b sleep_ms=2 --pairs 2 --runs 3 --db "$from"
run --on null:fail=run@1 --db "$from" && fail "it should fail"

# dump DB: everything that is told of a row, without the numbers that differ by where it lies.
dump()
{
	local ask sql=
	for ask in \
		"SELECT * EXCLUDE (id, \"row\", run, fallback_of, fallback_against, against_float32_row, imported) FROM result" \
		"SELECT r.started_at, r.latency_ms, f.requested, f.verdict FROM result r JOIN result f ON f.id = r.fallback_of" \
		"SELECT r.finished_at, s.number, s.ms FROM sample s JOIN result r ON r.id = s.cell" \
		"SELECT c.ratio, c.metric, x.started_at FROM comparison c JOIN result x ON list_contains(CAST(c.rows_a AS BIGINT[]), x.id)" \
		"SELECT kind, verdict, happened_at, count(*) FROM event GROUP BY ALL" \
		"SELECT r.finished_at, count(*) FROM placement p JOIN result r ON r.id = p.cell GROUP BY ALL"; do
		sql="$sql${sql:+ UNION ALL }SELECT CAST(q AS VARCHAR) AS q FROM ($ask) q"
	done
	"$ASSAY" query --db "$1" --format csv "$sql ORDER BY ALL" || fail "dump of $1"
}
dump "$from" >"$work/wanted"
[ "$(wc -l <"$work/wanted")" -gt 60 ] || fail "too little to compare: $(wc -l <"$work/wanted") lines"

code 0 "$ASSAY" import "$from" --db "$work/file.duckdb"
has out '^.*from.duckdb: 11 rows, 11 of them new, of 4 new runs$'
dump "$work/file.duckdb" | diff "$work/wanted" - >"$work/diff" || fail "a file: $(head -5 "$work/diff")"
for format in parquet csv json; do
	code 0 "$ASSAY" export --db "$from" --format $format -o "$work/$format"
	code 0 "$ASSAY" import "$work/$format" --db "$work/$format.duckdb"
	has out '11 rows, 11 of them new, of 4 new runs$'
	dump "$work/$format.duckdb" | diff "$work/wanted" - >"$work/diff" || fail "$format: $(head -5 "$work/diff")"
done

# The same by one file of all tables (store.one_file has the rest).
for ending in parquet csv json; do
	code 0 "$ASSAY" export "$work/one.$ending" --db "$from"
	code 0 "$ASSAY" import "$work/one.$ending" --db "$work/one-$ending.duckdb"
	has out '/one.[a-z]*: 11 rows, 11 of them new, of 4 new runs$'
	dump "$work/one-$ending.duckdb" | diff "$work/wanted" - >"$work/diff" || fail "one.$ending: $(head -5 "$work/diff")"
done

# Behind rows that are there already, twice, and in a circle: nothing is doubled, and the sums are right.
other=$work/source.duckdb
run --on null --db "$other" || fail "another"
code 0 "$ASSAY" import "$from" --db "$other"
has out '11 rows, 11 of them new'
code 0 "$ASSAY" import "$work/parquet" "$from" --db "$other"
has out '^.*parquet: 11 rows, 0 of them new, of 0 new runs$'
has out '^.*from.duckdb: 11 rows, 0 of them new, of 0 new runs$'
code 0 "$ASSAY" import "$other" --db "$from"
has out '12 rows, 1 of them new, of 1 new run$'
dump "$other" >"$work/a"
dump "$from" | diff "$work/a" - >"$work/diff" || fail "a circle: $(head -5 "$work/diff")"
# What a run gained since is added.
run --on null --db "$from" || fail "once more"
code 0 "$ASSAY" import "$from" --db "$other"
has out '13 rows, 1 of them new, of 1 new run$'
code 0 "$ASSAY" query --db "$other" --format csv "SELECT count(*) - count(DISTINCT id), count(*) FILTER (state = 'running') FROM result"
has out '^0,0$'

# Cut files, a table that is not there, no database at all: nothing is added.
cp -r "$work/parquet" "$work/cut"
head -c 500 "$work/parquet/sample.parquet" >"$work/cut/sample.parquet"
code 1 "$ASSAY" import "$work/cut" --db "$work/none.duckdb"
cp -r "$work/csv" "$work/lost"
head -3 "$work/csv/event.csv" >"$work/lost/event.csv"
code 1 "$ASSAY" import "$work/lost" --db "$work/none.duckdb"
has err 'do not belong together'
rm "$work/lost/run.csv"
code 1 "$ASSAY" import "$work/lost" --db "$work/none.duckdb"
has err 'has no run.parquet, .csv or .json'
head -c 5000 "$from" >"$work/broken.duckdb"
code 1 "$ASSAY" import "$work/broken.duckdb" --db "$work/none.duckdb"
code 1 "$ASSAY" import "$work/absent.duckdb" --db "$work/none.duckdb"
has err 'no such file or folder'
code 0 "$ASSAY" query --db "$work/none.duckdb" --format csv "SELECT (SELECT count(*) FROM cell) + (SELECT count(*) FROM run) + (SELECT count(*) FROM event) + (SELECT count(*) FROM machine)"
has out '^0$'
finish
