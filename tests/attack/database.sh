# SPDX-License-Identifier: Apache-2.0
# A stranger's database stays data: what its views, macros and columns compute, what SQL and names of databases reach, how much a small file can
# take. Files are forged with DuckDB itself (duckdb_shell); each part does to the program of before what its first line says. More statements, altered
# tables and names: tests/unit/test_store.c, where each is a call and not a process.
. "$SOURCE/tests/cli/lib.sh" || exit 1
shell=$BUILD/tests/duckdb_shell bounded=$BUILD/tests/bounded
cd "$work" || exit 1
base=$work/base.duckdb secret="a line of this machine"
echo "$secret" >secret
"$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db "$base" >out 2>err || fail "no database: $(tail -3 err)"

# forge NAME SQL: NAME.duckdb, which is base.duckdb with this done to it.
forge() { cp "$base" "$1.duckdb" && "$shell" "$1.duckdb" "$2" >forged 2>&1 || fail "forging $1: $(tail -3 forged)"; }
# refused WORDS COMMAND...: exit code 1 and a sentence with the words; nothing of this machine in what it says.
refused()
{
	local words=$1
	shift
	code 1 "$@"
	has err "$words"
	lacks err "$secret"
	lacks out "$secret"
}
# within SECONDS MIB EXIT COMMAND...
within()
{
	local seconds=$1 mib=$2 wanted=$3
	shift 3
	code "$wanted" "$bounded" "$seconds" "$mib" "$@"
}

# ---- what a file computes -------------------------------------------------------------------------------------------

# The view `result` read a file of this machine into every report: only a comment said whose it was.
real=$("$shell" "$base" "SELECT sql FROM duckdb_views() WHERE view_name = 'result'")
mark=$("$shell" "$base" "SELECT comment FROM duckdb_views() WHERE view_name = 'result'")
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
commands=("query memory" report "compare run:1 run:1" "export -o exported" "import $base" "run $SOURCE/tests/conform/cases/bert --synthetic --on null --runs 3 --no-conform")
[ -z "${ASSAY_LONG:-}" ] || commands+=("query 'SELECT 1'" "history bert --on null" "recommend bert" "explain 1" "reproduce 1 --command" "profile --row 1" "detect null" "ab $SOURCE/tests/conform/cases/bert --a null --b null")
for command in "${commands[@]}"; do
	eval "set -- $command"
	refused 'it holds the macro round' "$ASSAY" "$@" --db macro.duckdb
done
refused 'it holds the macro round' "$ASSAY" import macro.duckdb --db new.duckdb
forge hides "CREATE MACRO count(x) AS 0; CREATE MACRO \"=\"(a, b) AS false; CREATE MACRO duckdb_functions() AS TABLE SELECT 'x' AS function_name, 'x' AS function_type, true AS internal"
refused 'it holds the macro' "$ASSAY" query fastest --db hides.duckdb

# Tables that compute, a table in a view's place, a view in a table's.
forge generated "DROP TABLE sample; CREATE TABLE sample(cell BIGINT NOT NULL, event BIGINT NOT NULL, number BIGINT NOT NULL, ms DOUBLE AS (pi()))"
refused 'table sample .* plain columns only: ms DOUBLE GENERATED' "$ASSAY" query coverage --db generated.duckdb
forge table "DROP VIEW hardware_results; DROP VIEW result; CREATE TABLE result AS SELECT 1 AS id"
refused 'its result is a table' "$ASSAY" query coverage --db table.duckdb
forge instead "DROP TABLE sample; CREATE VIEW sample AS SELECT 1 AS cell, 1 AS event, 1 AS number, length(content)::DOUBLE AS ms FROM read_text('$work/secret')"
refused 'its sample is a view' "$ASSAY" query coverage --db instead.duckdb
# What a file has besides is left alone, and is not taken for assay's.
forge besides "CREATE SCHEMA other; CREATE TABLE other.cell AS FROM cell LIMIT 0; CREATE TABLE mine(x INTEGER PRIMARY KEY DEFAULT 7)"
code 0 "$ASSAY" query --format csv --db besides.duckdb 'SELECT count(*) FROM result'
has out '^1$'
# All tables were those of the file: each was a file of its own, where its name led.
forge tables "$(seq -f 'CREATE TABLE t%.0f(x INTEGER);' 1000) CREATE TABLE \"../out of it\"(x INTEGER); CREATE TABLE mine(x INTEGER)"
within 60 1000 0 "$ASSAY" export -o exports/all --db tables.duckdb
[ "$(ls exports)" = all ] || fail "exported outside of the folder: $(ls exports)"
[ ! -e exports/all/t1.parquet ] && [ -e exports/all/cell.parquet ] || fail "exported: $(ls exports/all)"
code 0 "$ASSAY" import exports/all --db all.duckdb
code 0 "$ASSAY" export -o mine.csv --db tables.duckdb mine
grep -qx x mine.csv || fail "a table of the user's own: $(cat mine.csv)"

# ---- what is asked of it --------------------------------------------------------------------------------------------

# "Changes nothing": it wrote files, and reached for the network.
while IFS= read -r sql; do
	refused 'read-only SELECT' "$ASSAY" query --db "$base" "$sql"
done <<'SQL'
COPY result TO 'copied.csv'
EXPORT DATABASE 'exported'
INSTALL httpfs
SELECT 1; SELECT 2
SQL
# SELECT reads the database and nothing else.
while IFS= read -r sql; do
	refused 'read-only SELECT|no table or view|functions that a query may' "$ASSAY" query --db "$base" "$sql"
done <<'SQL'
SELECT content FROM read_blob('base.duckdb')
FROM 'secret'
SELECT content FROM read_text('secret')
FROM glob('*')
FROM read_csv('secret', header = false)
SQL
for made in copied.csv exported; do [ ! -e "$made" ] || fail "a query made $made"; done
# A file that was opened may be written by DuckDB: a SELECT put a profile in the database's place. Others wrote logs, or ended the program by its stack.
before=$(sha256sum <"$base")
while IFS= read -r sql; do
	refused 'functions that a query may|types that a query may cast to' "$ASSAY" query --db "$base" "$sql"
done <<'SQL'
FROM enable_profiling(save_location = 'base.duckdb')
FROM enable_logging(storage = 'file', storage_path = 'logs')
FROM enable_logging(storage = 'stdout')
SELECT json_structure(repeat('[', 200000) || '1' || repeat(']', 200000))
SELECT (repeat('[', 200000) || repeat(']', 200000))::JSON::VARIANT
FROM check_peg_parser(repeat('(', 50000))
SQL
[ "$(sha256sum <"$base")" = "$before" ] || fail "a query changed the database"
# SQL that came with the file: it called any address, by a tree of SQL that no parser makes.
forge overview "CREATE VIEW overview AS SELECT 41 + count(*) AS x FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))"
for sql in 'FROM overview' 'DESCRIBE overview' "FROM query_table('overview')" "FROM json_execute_serialized_sql(json_serialize_sql('FROM overview'))"; do
	refused 'is a view of the file|functions that a query may' "$ASSAY" query --db overview.duckdb "$sql"
done
refused 'is a view of the file' "$ASSAY" export -o overview.csv --db overview.duckdb overview
[ ! -e overview.csv ] || fail "a view of the file was exported"
# Endless questions ended with the machine's memory, or not at all.
within 60 1000 1 "$ASSAY" query --db "$base" --timeout 1 'SELECT count(*) FROM range(10000000000000)'
has err 'not done within 1 s; --timeout allows more'
within 60 1000 1 "$ASSAY" query --db "$base" 'FROM range(10000000000000)'
has err 'more than 100000 rows; .*--rows allows more'
within 60 4000 1 "$ASSAY" query --db "$base" 'SELECT len(range(4000000000))'
has err 'memory'
code 0 "$ASSAY" query --db "$base" --rows 3 --format csv 'FROM range(3)'
code 1 "$ASSAY" query --db "$base" --rows 2 --format csv 'FROM range(3)'

# ---- which file it is -----------------------------------------------------------------------------------------------

mkfifo pipe.duckdb
cp "$base" linked.duckdb
ln -s "$work/secret" linked.duckdb.wal
for name in 'md:x|names no file of this machine' ':memory:|gone when the program ends' 'pipe.duckdb|is a pipe' 'linked.duckdb|is no regular file'; do
	within 20 1000 1 "$ASSAY" query --db "${name%%|*}" 'SELECT 1'
	has err "${name##*|}"
	[ "$(grep -c . err)" = 2 ] || fail "${name%%|*}: not one sentence: $(cat err)"       # and what bounded says
done
[ "$(cat secret)" = "$secret" ] || fail "a log was written through a link"
refused 'names no file of this machine' "$ASSAY" import "$base" --db md:x
within 20 1000 1 "$ASSAY" import pipe.duckdb --db new.duckdb
has err 'is a pipe'

# ---- how much it takes ----------------------------------------------------------------------------------------------

# 8 million rows that are all the same: 900 MB, of a file of 2 MB.
forge rows "INSERT INTO sample SELECT 1, 3, 0, 1.0 FROM range(8000000)"
within 60 500 1 "$ASSAY" import rows.duckdb --db new.duckdb
has err 'hold more than 5000000 rows'
code 0 "$ASSAY" export -o folder --db "$base"
"$shell" rows.duckdb "COPY sample TO 'folder/sample.parquet'" >forged || fail "no Parquet"
within 60 500 1 "$ASSAY" import folder --db new.duckdb
has err 'hold more than 5000000 rows'
# A link in a folder that is imported could lead anywhere.
rm folder/sample.parquet
ln -s "$work/secret" folder/sample.csv
refused 'sample.csv is no regular file' "$ASSAY" import folder --db new.duckdb
# A report of very many cells.
forge cells "INSERT INTO cell SELECT c.* REPLACE (i AS id) FROM cell c, range(2, 80001) r(i);
	INSERT INTO event SELECT e.* REPLACE (e.id + 10 * i AS id, i AS cell) FROM event e, range(2, 80001) r(i) WHERE e.cell = 1;
	INSERT INTO measurement SELECT m.* REPLACE (m.event + 10 * i AS event, i AS cell) FROM measurement m, range(2, 80001) r(i) WHERE m.cell = 1"
within 120 600 0 "$ASSAY" report --db cells.duckdb
has out '^null: 1 of 1 cells good'
# Of very many questions, and of platforms that nobody has.
forge questions "INSERT INTO cell SELECT c.* REPLACE (i AS id, i AS batch) FROM cell c, range(2, 5101) r(i)"
within 120 600 0 "$ASSAY" report --db questions.duckdb
has err 'answers to 5100 questions; the report has the newest 5000'
has out 'answers to 5100 questions; this report has the newest 5000'
forge platforms "INSERT INTO cell SELECT c.* REPLACE (i AS id, 'p' || i AS requested) FROM cell c, range(2, 402) r(i)"
refused 'more than 100 platforms and devices' "$ASSAY" report --db platforms.duckdb
# As many results of another tool as are imported took 4 minutes and 1.4 GB, and failed; so did results with columns that nobody reads.
awk 'BEGIN { for (i = 0; i < 10000; i++) printf "%s{\"avg_ns\":1000000,\"n_prompt\":1,\"n_gen\":0,\"model_filename\":\"m%d\",\"samples_ns\":[1000,2000]}", i ? "," : "[", i; print "]" }' >most.json
within 60 600 0 "$ASSAY" import most.json --db most.duckdb
code 0 "$ASSAY" query --format csv --db most.duckdb 'SELECT count(*), count(DISTINCT model), count(DISTINCT cell_key), min(latency_ms), max(latency_ms) FROM result'
has out '^10000,10000,10000,0.0015,0.0015$'
code 0 "$ASSAY" query --format csv --db most.duckdb "SELECT count(*), count(DISTINCT s.event), sum(s.number), count(*) FILTER (e.kind = 'verdict' AND e.cell = s.cell) FROM sample s JOIN event e ON e.id = s.event"
has out '^20000,10000,10000,20000$'
awk 'BEGIN { OFS = ","; $200 = ""; wide = $0; print "build_commit,model_filename,avg_ns,n_prompt,n_gen" wide; for (i = 0; i < 9000; i++) print "a,m" i ",1000,1,0" wide }' >wide.csv
within 60 600 0 "$ASSAY" import wide.csv --db wide.duckdb
has out ': 9000 rows of llama-bench'

# A limit of file sizes ended the program without a word, and left a file behind.
mkdir small
(failures=0; ulimit -f 100; code 1 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db small/new.duckdb; exit $failures) ||
	fail "at a limit of file sizes"
has err 'ulimit -f'
[ "$(ls small)" = new.duckdb.lock ] || fail "left behind: $(ls small)"
cp "$base" small/there.duckdb
(failures=0; ulimit -f 4; code 1 "$ASSAY" import "$SOURCE/tests/store/foreign/llama.json" --db small/there.duckdb; exit $failures) ||
	fail "at a limit of file sizes, of a database that is there"
has err 'ulimit -f'
code 0 "$ASSAY" query --format csv --db small/there.duckdb 'SELECT count(*), min(id) FROM result'
has out '^1,1$'
# ---- rows that stand twice ------------------------------------------------------------------------------------------

# One database with a model or a run twice was taken in, and after it no honest one that had them: "More than one row returned by a subquery".
for table in machine run model artifact cell event; do
	again="INSERT INTO $table SELECT * REPLACE (id + 1000 AS id) FROM $table"
	case $table in
	machine | artifact) again="INSERT INTO $table FROM $table" ;;
	cell) again="INSERT INTO cell SELECT * REPLACE (id + 1000 AS id, id AS origin_id) FROM cell" ;;
	esac
	forge twice "$again"
	refused "of the rows of its table $table stand twice" "$ASSAY" import twice.duckdb --db new.duckdb
	# A database that has them twice already takes in what is honest.
	code 0 "$ASSAY" import "$base" --db twice.duckdb
	has out ': 1 row, [01] of them new, of 0 new runs$'
	code 0 "$ASSAY" import "$base" --db twice.duckdb
	has out ': 1 row, 0 of them new, of 0 new runs$'
done
forge import "INSERT INTO import SELECT i, 'x', 'same', 'llama-bench', NULL, NULL, 0, now()::TIMESTAMP FROM range(1, 3) r(i)"
refused 'of its table import stand twice, by sha256' "$ASSAY" import import.duckdb --db new.duckdb
forge zero "INSERT INTO run SELECT * REPLACE (0 AS id, 1 AS pid) FROM run"
refused 'do not belong together' "$ASSAY" import zero.duckdb --db new.duckdb
# They are counted before they are looked up: 1.1 GB.
forge million "INSERT INTO model SELECT m.* REPLACE (i AS id) FROM model m, range(2, 1000002) n(i)"
within 60 500 1 "$ASSAY" import million.duckdb --db new.duckdb
has err '1000000 of the rows of its table model stand twice'
within 60 500 0 "$ASSAY" import "$base" --db million.duckdb
forge million "INSERT INTO run SELECT r.* REPLACE (i AS id) FROM run r, range(2, 1000002) n(i)"
within 60 500 1 "$ASSAY" import million.duckdb --db new.duckdb
within 60 600 0 "$ASSAY" import "$base" --db million.duckdb

# ---- the file of locks ----------------------------------------------------------------------------------------------

# A pipe in its place was waited for by a program that asked whether the run of an open cell lives. A run of number 10^12 made it 8 TB.
forge open "DELETE FROM event WHERE cell IS NOT NULL; UPDATE run SET pid = 1"
mkfifo open.duckdb.lock
within 60 1000 0 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db open.duckdb
forge far "INSERT INTO run BY NAME SELECT * REPLACE (1000000000000 AS id) FROM run"
refused 'its last run has the number 1000000000000' "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db far.duckdb
[ "$(stat -c %s far.duckdb.lock 2>/dev/null || echo 0)" -lt 4096 ] || fail "a file of locks of $(stat -c %s far.duckdb.lock) bytes"

# ---- where DuckDB crashes -------------------------------------------------------------------------------------------

# A file with one changed byte and right checksums ended the program with a bare signal. The signal is sent here: which byte does it is DuckDB's.
crash()
{
	local pid seen=0 got=0
	# A sanitizer leaves these signals to the program where it is told to.
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_abort=0 "$ASSAY" query --db "$base" 'SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b' >out 2>err </dev/null &
	pid=$!
	for _ in $(seq 300); do                              # open for long, and not for one of the short looks before
		if ls -l "/proc/$pid/fd" 2>/dev/null | grep -q 'base\.duckdb$'; then seen=$((seen + 1)); else seen=0; fi
		[ "$seen" -lt 20 ] || break
		sleep 0.05
	done
	kill -s "$1" "$pid"
	wait "$pid" 2>/dev/null || got=$?
	[ "$got" = 1 ] || fail "$1 while a database is open: exit code $got"
	has err 'the database library crashed on .*base\.duckdb: the file is damaged, or made to do this; nothing was changed'
}
for signal in SEGV ABRT; do crash "$signal"; done

# ---- formulas in tables ---------------------------------------------------------------------------------------------

# A model called =cmd|... ran a program when the CSV was opened. What computes nothing is as it was: a negative number, a lone "-".
forge formula "UPDATE cell SET model = '=1+1', path = '''+x', revision = '-2+3', requested = '@z', device = '-', asked_options = '-1.5', golden = '''-', fallback_reason = '-' || chr(10) || '1'"
code 0 "$ASSAY" query --db formula.duckdb --format csv "SELECT model AS \"=a\", path, revision, requested, device, asked_options, golden, -2 AS n, 'x=' AS y FROM cell"
has out "^'=a,path,revision,requested,device,asked_options,golden,n,y$"
has out "^'=1\+1,''\+x,'-2\+3,'@z,-,-1\.5,''-,-2,x=$"
code 0 "$ASSAY" query --db formula.duckdb --format csv --raw "SELECT model AS \"=a\", -2 AS n FROM cell"
has out '^=1\+1,-2$'
code 0 "$ASSAY" export --db formula.duckdb --format csv -o csv
grep -q ",'=1+1," csv/cell.csv || fail "a formula in cell.csv: $(cat csv/cell.csv)"
grep -q ",-,.*,''-," csv/cell.csv || fail "a dash in cell.csv: $(cat csv/cell.csv)"
code 0 "$ASSAY" import csv --db again.duckdb
code 0 "$ASSAY" query --db again.duckdb --format csv --raw "SELECT model, path, revision, requested, device, asked_options, golden, fallback_reason = '-' || chr(10) || '1' AS same FROM cell"
has out "^=1\+1,'\+x,-2\+3,@z,-,-1\.5,'-,true$"
code 0 "$ASSAY" export --db formula.duckdb --format csv --raw -o raw.csv cell
grep -q ',=1+1,' raw.csv || fail "--raw changed a cell: $(cat raw.csv)"
finish
