# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A stranger's database stays data: what its views, macros and columns compute, what SQL and names of databases reach. Each part does to the
# program of before what its first line says. More statements, altered tables and names: tests/unit/test_store.c, where each is a call and not
# a process. How much a small file can take: rows.sh.
. "$SOURCE/tests/attack/lib_database.sh" || exit 1

# ---- what a file computes -------------------------------------------------------------------------------------------

# The view `result` read a file of this machine into every report: only a comment said whose it was.
sql "$base" "SELECT comment, sql FROM duckdb_views() WHERE view_name = 'result'" >view
real=$(<view) mark=${real%%|*} real=${real#*|}
[ -n "$mark" ] || fail "the view result has no comment"
forge view "${real/VIEW result/VIEW hidden}; CREATE OR REPLACE VIEW result AS SELECT * REPLACE ((SELECT content FROM read_text('$work/secret')) AS cause) FROM hidden;
	COMMENT ON VIEW result IS '$mark'"
cp view.duckdb view2.duckdb
code 0 "$ASSAY" report --db view.duckdb --format json
lacks out "$secret"
code 0 "$ASSAY" query --db view2.duckdb 'SELECT cause FROM result'
lacks out "$secret"

# A macro called as a function stood in for it, in intact views too; called as DuckDB's own lists, it hid itself.
forge macro "CREATE MACRO round(x, n) AS (SELECT content FROM read_text('$work/secret'))"
# Who reads, who takes in and who writes; the others open a database as one of these does.
commands=("query memory" "import $base" "run $SOURCE/tests/conform/cases/bert --synthetic --on null --runs 3 --no-conform")
[ -z "${ASSAY_LONG:-}" ] || commands+=(report "compare run:1 run:1" "export -o exported" "query 'SELECT 1'" "history bert --on null" "recommend bert" "explain 1" "reproduce 1 --command" "profile --row 1" "detect null" "ab $SOURCE/tests/conform/cases/bert --synthetic --a null --b null")
for command in "${commands[@]}"; do
	eval "set -- $command"
	refused 'it holds the macro round' "$ASSAY" "$@" --db macro.duckdb
done
refused 'it holds the macro round' "$ASSAY" import macro.duckdb --db new.duckdb
cp new.duckdb again.duckdb # what assay makes, and nothing in it

# Tables that compute, a table in a view's place, a view in a table's: this one, and all of them in tests/unit/test_store.c.
forge instead "DROP TABLE sample; CREATE VIEW sample AS SELECT 1 AS cell, 1 AS event, 1 AS number, length(content)::DOUBLE AS ms FROM read_text('$work/secret')"
refused 'its sample is a view' "$ASSAY" query coverage --db instead.duckdb
# A row without a model and without a platform: reports and `explain` said "(null)".
forge nameless "UPDATE measurement SET model = NULL, requested = NULL"
code 0 "$ASSAY" report --db nameless.duckdb --format md
lacks out '\(null\)'
has out 'on null|null:|\| null'
alter="DROP VIEW result"
for column in model requested; do
	alter="$alter; ALTER TABLE cell ALTER $column DROP NOT NULL; UPDATE cell SET $column = NULL"
done
sql nameless.duckdb "$alter" >/dev/null || fail "forging nameless: $(cat forged)"
for command in "explain 1" ${ASSAY_LONG:+"report --format md" "query fastest"}; do
	# shellcheck disable=SC2086
	code 0 "$ASSAY" $command --db nameless.duckdb
	lacks out '\(null\)'
done
# What a file has besides is left alone, and is not taken for assay's.
forge besides "CREATE SCHEMA other; CREATE TABLE other.cell AS FROM cell LIMIT 0; CREATE TABLE mine(x INTEGER PRIMARY KEY DEFAULT 7)"
code 0 "$ASSAY" query --format csv --db besides.duckdb 'SELECT count(*) FROM result'
has out '^1$'
# All tables were those of the file: each was a file of its own, where its name led.
forge tables "$(seq -f 'CREATE TABLE t%.0f(x INTEGER);' 20) CREATE TABLE \"../out of it\"(x INTEGER); CREATE TABLE mine(x INTEGER)"
bounded 0 60 1000 "$ASSAY" export -o exports/all --db tables.duckdb
[ "$(ls exports)" = all ] || fail "exported outside of the folder: $(ls exports)"
[ ! -e exports/all/t1.parquet ] && [ -e exports/all/cell.parquet ] || fail "exported: $(ls exports/all)"
if [ -n "${ASSAY_LONG:-}" ]; then # cli.import_export does
	code 0 "$ASSAY" import exports/all --db new.duckdb
	has out '1 of them new'
fi
code 0 "$ASSAY" export -o mine.csv --db tables.duckdb mine
grep -qx x mine.csv || fail "a table of the user's own: $(cat mine.csv)"

# ---- what is asked of it --------------------------------------------------------------------------------------------

# "Changes nothing": it wrote files, and reached for the network. SELECT reads the database and nothing else. One of each kind that is
# refused; what else is: tests/unit/test_store.c.
# A file that was opened may be written by DuckDB: a SELECT put a profile in the database's place. Others wrote logs, or ended the program by its stack.
before=$(sha256sum <"$base")
while IFS='|' read -r words sql; do
	refused "$words" "$ASSAY" query --db "$base" "$sql"
done <<'SQL'
read-only SELECT|COPY result TO 'copied.csv'
functions that a query may take rows from|SELECT content FROM read_text('secret')
functions that a query may take rows from|FROM enable_profiling(save_location = 'base.duckdb')
functions that a query may call|SELECT json_structure(repeat('[', 200000) || '1' || repeat(']', 200000))
a query has no parameters|SELECT $1
types that a query may cast to|SELECT (repeat('[', 200000) || repeat(']', 200000))::JSON::VARIANT
SQL
[ ! -e copied.csv ] || fail "a query made a file"
[ "$(sha256sum <"$base")" = "$before" ] || fail "a query changed the database"
# SQL that came with the file: it called any address, by a tree of SQL that no parser makes.
forge overview "CREATE VIEW overview AS SELECT 41 + count(*) AS x FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))"
refused 'is a view of the file' "$ASSAY" query --db overview.duckdb 'FROM overview'
# Endless questions ended with the machine's memory, or not at all.
bounded 1 60 1000 "$ASSAY" query --db "$base" --timeout 0.2 'SELECT count(*) FROM range(10000000000000)'
has err 'not done within 0.2 s; --timeout allows more'
bounded 1 60 1000 "$ASSAY" query --db "$base" 'FROM range(10000000000000)'
has err 'more than 100000 rows; .*--rows allows more'
# One long value, many that are no row, a sort, and a result: up to 2.4 GB were taken between two looks at what was there.
while IFS='|' read -r gib mib words sql; do
	[ "$sql" != "${sql% -- long}" ] && [ -z "${ASSAY_LONG:-}" ] && continue
	bounded 1 20 "$mib" "$ASSAY" query --db "$base" --memory "$gib" "$sql"
	has err "^assay: the database takes more than $words of memory for it: ask for less at once; --memory allows more\$"
done <<'SQL'
0.5|700|512 MiB|SELECT len(range(4000000000))
0.5|700|512 MiB|SELECT len(list_transform(range(30000000), x -> repeat('y', 100))) -- long
0.1|200|102 MiB|SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY hash(range)) FROM range(100000000))
0.5|700|512 MiB|SELECT len(list(a.range::VARCHAR || 'a text that lies elsewhere')) FROM range(100000000) a -- long
0.1|200|102 MiB|SELECT range, s FROM range(2000), (SELECT repeat('x', 1000000) AS s)
0.1|200|102 MiB|SELECT range, repeat('x', 100000) FROM range(60000)
SQL
bounded 1 20 700 "$ASSAY" query --db "$base" "SELECT range, repeat('x', 100000) FROM range(60000)" # the usual limit
has err 'takes more than 512 MiB of memory for it'
bounded 0 20 400 "$ASSAY" query --db "$base" --memory 1 --format json "SELECT range, repeat('x', 1000) FROM range(20000)"
json 'len(d) == 20000 and list(d[19999].values()) == [19999, "x" * 1000]'
code 0 "$ASSAY" query --db "$base" --rows 3 --format csv 'FROM range(3)'
code 1 "$ASSAY" query --db "$base" --rows 2 --format csv 'FROM range(3)'

# ---- which file it is -----------------------------------------------------------------------------------------------

mkfifo pipe.duckdb
cp "$base" linked.duckdb
ln -s "$work/secret" linked.duckdb.wal
for name in 'md:x|names no file of this machine' ':memory:|gone when the program ends' 'pipe.duckdb|is a pipe' 'linked.duckdb|is no regular file'; do
	bounded 1 20 1000 "$ASSAY" query --db "${name%%|*}" 'SELECT 1'
	has err "${name##*|}"
	[ "$(grep -c . err)" = 1 ] || fail "${name%%|*}: not one sentence: $(cat err)"
done
[ "$(cat secret)" = "$secret" ] || fail "a log was written through a link"
refused 'names no file of this machine' "$ASSAY" import "$base" --db md:x
bounded 1 20 1000 "$ASSAY" import pipe.duckdb --db new.duckdb
has err 'is a pipe'
# A list in the file that leads to itself: no statement runs yet that could be stopped, and an import never ended.
forge loop "CREATE TABLE t AS FROM range(10000); DROP TABLE t; UPDATE cell SET model = 'm'"
python3 "$SOURCE/tests/attack/duckdb_file.py" loop.duckdb loop || fail "no list of free blocks"
if [ -n "${ASSAY_LONG:-}" ]; then # 3 s of a processor each; nor did a run that was to write to it
	bounded 1 20 200 "$ASSAY" import loop.duckdb --db new.duckdb
	has err '^assay: loop.duckdb: opening it takes more than 3 s of a processor'
	bounded 1 20 200 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 1 --no-conform --db loop.duckdb
	has err '^assay: loop.duckdb: opening it takes more than [34] s of a processor'
fi

# ---- formulas in tables ---------------------------------------------------------------------------------------------

# A model called =cmd|... ran a program when the CSV was opened. What computes nothing is as it was: a negative number, a lone "-".
forge formula "UPDATE cell SET model = '=1+1', path = '''+x', revision = ' ' || chr(160) || '-2+3', requested = '＝z', device = '-', asked_options = '-1.5', golden = '''-', fallback_reason = '-' || chr(10) || '1', cell_key = '-5;=1;c' || chr(9) || '''-1;-5' || chr(10) || '=2;' || chr(34) || '=3'"
code 0 "$ASSAY" query --db formula.duckdb --format csv "SELECT model AS \"=a\", path, revision, requested, device, asked_options, golden, -2 AS n, 'x=' AS y FROM cell"
has out "^'=a,path,revision,requested,device,asked_options,golden,n,y$"
has out "^'=1\+1,''\+x,'[^,0-9]+-2\+3,'＝z,-,-1\.5,''-,-2,x=$"
code 0 "$ASSAY" query --db formula.duckdb --format csv "SELECT cell_key FROM cell" # spreadsheets may part it at ; and tabs, too
tail -n +2 "$work/out" | tr '\t\n' '||' | grep -qF "\"'-5;'=1;c|''-1;'-5|'=2;'\"\"=3\"|" || fail "formulas within a cell: $(cat "$work/out")"
code 0 "$ASSAY" query --db formula.duckdb --format csv --raw "SELECT model AS \"=a\", -2 AS n FROM cell"
has out '^=1\+1,-2$'
code 0 "$ASSAY" export --db formula.duckdb --format csv -o csv
grep -q ",'=1+1," csv/cell.csv || fail "a formula in cell.csv: $(cat csv/cell.csv)"
grep -q "''-1;'-5\$" csv/cell.csv || fail "formulas within a cell of cell.csv: $(cat csv/cell.csv)"
grep -q "^'=2;'\"\"=3\"" csv/cell.csv || fail "a formula behind a quote in cell.csv: $(cat csv/cell.csv)"
grep -q ",-,.*,''-," csv/cell.csv || fail "a dash in cell.csv: $(cat csv/cell.csv)"
code 0 "$ASSAY" import csv --db again.duckdb
code 0 "$ASSAY" query --db again.duckdb --format csv --raw "SELECT model, path, revision, requested, device, asked_options, golden, fallback_reason = '-' || chr(10) || '1' AND cell_key = '-5;=1;c' || chr(9) || '''-1;-5' || chr(10) || '=2;' || chr(34) || '=3' AS same FROM cell"
has out "^=1\+1,'\+x,[^-'0-9]+-2\+3,＝z,-,-1\.5,'-,true$"
code 0 "$ASSAY" export --db formula.duckdb --format csv --raw -o raw.csv cell
grep -q ',=1+1,' raw.csv || fail "--raw changed a cell: $(cat raw.csv)"
finish
