# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# assay export FILE and assay import FILE: all tables in one file of each ending; equal rows behind it, nothing twice, and nothing at all of what is cut,
# of one table, foreign, newer, or too much.
. "$SOURCE/tests/cli/lib.sh"

bert=$SOURCE/tests/conform/cases/bert
from=$work/from.duckdb
export ASSAY_NULL="cuda:fail=open,status=unavailable openvino:fail=open,status=unavailable cpu"
"$ASSAY" run "$bert" --synthetic --runs 3 --no-conform --on cuda --fallback --db "$from" >"$work/out" 2>"$work/err" || fail "the chain: $(tail -3 "$work/err")"
code 0 "$ASSAY" ab "$bert" --synthetic --on null --a sleep_ms=1 --b sleep_ms=2 --pairs 2 --runs 3 --db "$from"

# dump DB: every table but numbers that differ by where a row lies; here they do not, since all go into empty databases in their order.
dump()
{
	local table sql=
	for table in machine run model artifact cell event measurement sample placement profile_node output_check platform_detection comparison; do
		sql="$sql${sql:+ UNION ALL }SELECT '$table' AS t, CAST(r AS VARCHAR) AS r FROM "
		case $table in
		run | cell) sql="$sql(SELECT * EXCLUDE (origin_id) FROM $table) r" ;;
		*) sql="$sql$table r" ;;
		esac
	done
	"$ASSAY" query --db "$1" --format csv "$sql ORDER BY ALL" || fail "dump of $1"
}
dump "$from" >"$work/wanted"
[ "$(wc -l <"$work/wanted")" -gt 100 ] || fail "too little to compare: $(wc -l <"$work/wanted") lines"
rows=$("$ASSAY" query --db "$from" --format csv "SELECT count(*) AS n FROM cell" | tail -1)

# One file of each ending: the same rows, nothing twice.
for ending in parquet csv json jsonl ndjson; do
	code 0 "$ASSAY" export "$work/one.$ending" --db "$from"
	has out '/one.[a-z]*: [0-9]+ rows of all tables$'
	code 0 "$ASSAY" import "$work/one.$ending" --db "$work/one-$ending.duckdb"
	has out "/one.[a-z]*: $rows rows, $rows of them new, of 2 new runs\$"
	dump "$work/one-$ending.duckdb" | diff "$work/wanted" - >"$work/diff" || fail "one.$ending: $(head -5 "$work/diff")"
	code 0 "$ASSAY" import "$work/one.$ending" "$from" --db "$work/one-$ending.duckdb"
	[ "$(grep -c "$rows rows, 0 of them new, of 0 new runs\$" "$work/out")" = 2 ] || fail "one.$ending, again: $(cat "$work/out")"
	dump "$work/one-$ending.duckdb" | diff "$work/wanted" - >"$work/diff" || fail "one.$ending, twice: $(head -5 "$work/diff")"
done
cmp "$work/one.json" "$work/one.jsonl" || fail "two endings of one format are unlike"
# Cut at the end of a line, wherever that is, it is refused and adds nothing; so is what is not ours, and what is too much.
lines=$(wc -l <"$work/one.json")
for n in $((lines - 1)) $((lines - 5)) $((lines / 2)) 20; do
	head -$n "$work/one.json" >"$work/short.json"
	code 1 "$ASSAY" import "$work/short.json" --db "$work/none.duckdb"
	has err 'do not belong together'
done
head -c 3000 "$work/one.parquet" >"$work/short.parquet"
code 1 "$ASSAY" import "$work/short.parquet" --db "$work/none.duckdb"
has err 'is no Parquet file, or was cut off'
code 0 "$ASSAY" export -o "$work/result.parquet" result --db "$from"
code 1 "$ASSAY" import "$work/result.parquet" --db "$work/none.duckdb"
has err 'has no column assay_table: it is one table or another program'
sed 's/"assay_table":"sample"/"assay_table":"simple"/' "$work/one.json" >"$work/newer.json"
code 1 "$ASSAY" import "$work/newer.json" --db "$work/none.duckdb"
has err 'rows of a table simple, and this assay has none'
sed '1s/,latency_ms,/,lateness_ms,/' "$work/one.csv" >"$work/newer.csv"
code 1 "$ASSAY" import "$work/newer.csv" --db "$work/none.duckdb"
has err 'column lateness_ms is in no table of this assay'
for ending in parquet csv json; do
	code 1 "$ASSAY" import "$work/one.$ending" --rows 50 --db "$work/none.duckdb"
	has err 'rows allows more'
done
ln -s "$work/one.csv" "$work/link.csv"
code 1 "$ASSAY" import "$work/link.csv" --db "$work/none.duckdb"
has err 'is no regular file'
cp "$work/one.csv" "$work/o[a-n]e.csv"
code 1 "$ASSAY" import "$work/o[a-n]e.csv" --db "$work/none.duckdb"
has err 'its name is a pattern'
mv "$work/one.csv" "$work/two.csv"
code 0 "$ASSAY" import "$work/o[a-n]e.csv" --db "$work/brackets.duckdb"
mv "$work/two.csv" "$work/one.csv"

code 0 "$ASSAY" query --db "$work/none.duckdb" --format csv "SELECT (SELECT count(*) FROM cell) + (SELECT count(*) FROM run) + (SELECT count(*) FROM event) + (SELECT count(*) FROM machine)"
has out '^0$'
# A file of that ending which does not begin so is another tool's.
printf 'build_commit,build_number\n' >"$work/theirs.csv"
code 1 "$ASSAY" import "$work/theirs.csv" --db "$work/none.duckdb"
has err 'theirs.csv'
lacks err 'assay_table'
code 1 "$ASSAY" export --db "$from"
has err 'one FILE that ends in .parquet'
code 1 "$ASSAY" export --format csv "$work/x.parquet" --db "$from"
has err 'is the name of a parquet file'
finish
