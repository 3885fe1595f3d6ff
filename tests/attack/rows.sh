# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# How much a stranger's small database can take. What its rows say: false_rows.sh.
. "$SOURCE/tests/attack/lib_database.sh" || exit 1

# ---- how much it takes ----------------------------------------------------------------------------------------------

# What is refused is given to one command, which tells of each file. Millions of rows that are all the same: 900 MB of 8 of them, of a file
# of 2 MB; the same in other forms, with a lower limit. Fewer rows than --rows allows, and shorter texts: 4.9 million equal ones are a file
# of 36 KB, 300 texts of 1 MB one of 57 KB, and they took 1.2 GB. Lines of JSON without values: 92 MB took 30 s.
forge rows "INSERT INTO sample SELECT 1, 3, 0, 1.0 FROM range(5000010)"
bounded 1 1 100 "$ASSAY" import rows.duckdb --db new.duckdb
has err 'hold more than 5000000 rows'
cp new.duckdb empty.duckdb # what assay makes, and nothing in it
mkdir folder lines
sql "$base" "SELECT table_name FROM duckdb_tables() WHERE table_name <> 'schema_version'" >tables
for table in $(<tables); do # as `export` writes them
	copies="${copies:-}COPY $table TO 'folder/$table.parquet'; COPY $table TO 'lines/$table.csv';"
done
sql "$base" "$copies
	COPY (SELECT s.* FROM (FROM sample LIMIT 1) s, range(500010)) TO 'folder/sample.parquet';
	COPY (SELECT 'sample' AS assay_table, s.* FROM (FROM sample LIMIT 1) s, range(500010)) TO 'rows.parquet';
	COPY (SELECT 'cell' AS assay_table, * REPLACE (repeat('x', 20000000) AS model) FROM cell) TO 'text.parquet';
	COPY (SELECT 'cell' AS assay_table, * REPLACE ([model] AS model) FROM cell) TO 'list.parquet';
	COPY (SELECT 'sample' AS assay_table, 1 AS cell, 3 AS event, 0 AS number, 1.0 AS ms FROM range(490000)) TO 'alike.parquet';
	COPY (SELECT 'cell' AS assay_table, c.* REPLACE (i AS id, repeat('x', 1000000) AS model) FROM cell c, range(300) r(i)) TO 'alike_texts.parquet';
	COPY (FROM sample LIMIT 1) TO 'sample.parquet'" >/dev/null || fail "no Parquet: $(tail -3 forged)"
for kind in text list alike odd; do
	cp -r folder texts_$kind && cp sample.parquet texts_$kind/sample.parquet
done
cp -r folder link
yes '{"assay_table":"machine"}' | head -490000 >lines.json
# A link in a folder that is imported could lead anywhere.
rm link/sample.parquet
ln -s "$work/secret" link/sample.csv
# Texts in a folder: one that is long, many that are less, of a file of 12 KB, and what is no text at all.
sql "$base" "COPY (SELECT * REPLACE (repeat('x', 20000000) AS model) FROM cell) TO 'texts_text/cell.parquet';
	COPY (SELECT c.* REPLACE (i AS id, repeat('x', 900000) AS model) FROM cell c, range(120) r(i)) TO 'texts_alike/cell.parquet' (COMPRESSION zstd);
	COPY (SELECT * REPLACE ((SELECT string_agg(md5(i::VARCHAR), '') FROM range(10000) r(i)) AS model) FROM cell) TO 'texts_odd/cell.parquet';
	COPY (SELECT * REPLACE ([model] AS model) FROM cell) TO 'texts_list/cell.parquet'" >/dev/null || fail "no Parquet: $(tail -3 forged)"
# Lines without end: of names of columns, which took 300 MB, and of nothing, which took 22 s.
cp -r lines lines_blank && mv lines_blank/cell.csv . && cp -r lines_blank lines_json
seq -s, 2000000 >lines/cell.csv
head -c 30000000 /dev/zero | tr '\0' '\n' >lines_blank/cell.csv
cp lines_blank/cell.csv lines_json/cell.json
{ echo -n build_commit,; seq -s, 2000000; } >names.csv
# Footers alone: columns 20,000 deep, and 20,000 beside one another. DuckDB crashed, and took a minute for ten times as many.
python3 - <<'PY'
def number(n):
    return (bytes([n & 127 | 128]) + number(n >> 7)) if n > 127 else bytes([n])

def element(name, children):  # of the list of columns: name, num_children
    return b"\x48" + number(len(name)) + name + b"\x15" + number(2 * children) + b"\0"

def write(file, elements, more=b"", groups=b"\x0c", pages=b""):
    footer = b"\x15\x02\x19\xfc" + number(len(elements)) + b"".join(elements) + b"\x16\0\x19" + groups + b"\0" + more
    with open(file, "wb") as out:
        out.write(b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1")

write("deep.parquet", [element(b"a", 1)] * 1000 + [element(b"a", 0)])
write("wide.parquet", [element(b"schema", 20000)] + [element(b"%d" % i, 0) for i in range(20000)])
# Each group of rows names one page, of 32 MiB when it is decompressed: type, both sizes, one plain value.
page = b"\x15\0\x15" + number(64 << 20) + b"\x15\0\x2c\x15\x02\x15\0\x15\x06\x15\x06\0\0"
group = b"\x19\x1c\x3c\x96" + number(8) + b"\0\0\x26\x02\0"  # columns: [{meta_data: {data_page_offset: 4}}], num_rows: 1
write("pages.parquet", [element(b"schema", 1), element(b"assay_table", 0)], groups=b"\x5c" + group * 5, pages=page)
write("rows_apart.parquet", [element(b"schema", 1), element(b"assay_table", 0)], groups=b"\x1c" + group.replace(b"\x26\x02", b"\x26\x06"), pages=page)
# DuckDB begins at the dictionary, wherever it is said to be; what lies before it was looked at.
late = b"\x19\x1c\x3c\x96" + number(8) + b"\x26" + number(400) + b"\0\0\x26\x02\0"  # data_page_offset 4, dictionary_page_offset 200
write("dictionary.parquet", [element(b"schema", 1), element(b"assay_table", 0)], groups=b"\x1c" + late, pages=page)
write("long.parquet", [element(b"schema", 1), element(b"assay_table", 0)], bytes(1 << 20))
PY
# What DuckDB reads out of a name: columns out of a folder's, a home, and how a file is compressed; 40 KB of this are 1.3 GB of lines.
mkdir 's=5' '~'
echo m.onnx,0.0123,1000,20,100 | tee s=5/p.csv '~/p.csv' >p.csv
HOME=$work/s=5 bounded 0 1 100 "$ASSAY" import s=5/p.csv p.csv '~/p.csv' --db names.duckdb
has out '^p.csv: imported before, nothing added$'
code 0 "$ASSAY" query 'select count(*), max(latency_ms) from result' --format csv --db names.duckdb
has out '^1,12.3$'
# With a ? in it DuckDB's log lies elsewhere: 60,000 changes were taken over unseen, and a pipe of that name waited for.
cp names.duckdb 'q?1.duckdb' && mkfifo 'q.wal?1.duckdb'
bounded 1 1 100 "$ASSAY" import 'q?1.duckdb' --db names.duckdb
has err 'there is a . in its name'
# The log of what a link names lies beside that, and was not seen either.
mkdir y && cp names.duckdb y/z.duckdb && mkfifo y/z.duckdb.wal && ln -s y/z.duckdb link.duckdb
bounded 1 1 100 "$ASSAY" import link.duckdb --db names.duckdb
has err 'it has a log of changes beside it'
code 0 "$ASSAY" export 'all.gz?.csv' --db names.duckdb && grep -q '^assay_table,' 'all.gz?.csv' || fail "an export was compressed by its name"
code 0 "$ASSAY" export '~/all.csv' --db names.duckdb && [ -s '~/all.csv' ] || fail "an export went elsewhere"
python3 -c 'import sys
sys.stdout.buffer.write(b"\x28\xb5\x2f\xfd\x10\x58" + b"\xfa\xff\x0f\n" * 10000 + b"\xfb\xff\x0f\n")' >lines.csv.zst
cp -r texts_list footers && cp deep.parquet footers/cell.parquet
refused_files=(folder rows.parquet text.parquet list.parquet alike.parquet alike_texts.parquet lines.json link texts_text texts_alike texts_list
	deep.parquet wide.parquet long.parquet pages.parquet rows_apart.parquet dictionary.parquet footers
	lines lines_blank lines_json names.csv lines.csv.zst)
bounded 1 4 200 "$ASSAY" import "${refused_files[@]}" --rows 500000 --db new.duckdb
while IFS='|' read -r file words; do
	has err "^assay: $file: .*$words"
done <<'END'
folder|hold more than 500000 rows
rows.parquet|hold more than 500000 rows
text.parquet|holds a text of 20000000 bytes
list.parquet|its footer has columns within columns
deep.parquet|its footer has columns within columns
wide.parquet|its footer has more columns than
long.parquet|its footer has [0-9]* of its [0-9]* bytes
pages.parquet|its footer leads to pages that take more, decompressed
rows_apart.parquet|its footer leads to a page that is cut off
dictionary.parquet|its footer leads to a dictionary that comes after what it is for
footers|its cell.parquet: .* columns within columns
alike.parquet|its tables hold 490000 rows in [0-9]* bytes: they are alike
alike_texts.parquet|its texts take 300[0-9]* bytes, and the file [0-9]*: they are alike
lines.json|its line 1 does not begin as those of `assay export` do
link|its sample.csv is no regular file
texts_text|its table cell holds a text of 20000000 bytes
texts_alike|its texts take 108[0-9]* bytes, and the file [0-9]*: they are alike
texts_list|its cell.parquet: .* columns within columns
lines|its cell.csv has more names of columns
lines_blank|its cell.csv has too many lines
lines_json|its cell.json has too many lines
names.csv|a line of [0-9]* bytes
lines.csv.zst|no result of a tool that is known, and no CSV either
END
[ "$(grep -c '^assay: ' err)" = ${#refused_files[@]} ] || fail "not all of ${#refused_files[@]} files were refused: $(cat err)"
lacks err "$secret"
{ echo assay_table,id && yes run,1 | head -1000000; } >few.csv
bounded 1 1 100 "$ASSAY" import few.csv --db new.duckdb
has err 'few.csv: it has no column of the table artifact'
mkdir gone && (cd gone && rmdir ../gone && failures=0 && code 1 "$ASSAY" import "$SOURCE/tests/store/foreign/llama.json" --db x.duckdb && has err "the current folder was removed"; exit $failures) || fail "a folder that is gone"
bounded 1 1 100 "$ASSAY" import texts_odd --rows 1000 --db new.duckdb
has err 'its texts take more than 100000 bytes .*; --rows allows more'
rm -r "${refused_files[@]}"
forge unversioned "DELETE FROM schema_version"
bounded 1 1 100 "$ASSAY" import unversioned.duckdb --db new.duckdb
has err 'its table schema_version holds no version'
# Each list, and each number of one, was looked for among all cells: 4 MB took 56 s, and 54 MB, of 0.8 MB packed, 37 s.
forge lists "INSERT INTO cell SELECT c.* REPLACE (i AS id, NULL AS origin_id) FROM cell c, range(2, 3002) r(i); INSERT INTO comparison BY NAME SELECT i AS id, 1 AS run, 'm' AS model, 'latency_ms' AS metric, 'faster' AS verdict, 'x' || i AS compared_at, '[' || i || ']' AS rows_a FROM range(1, 15000) r(i)"
bounded 0 2 200 "$ASSAY" import lists.duckdb --db listed.duckdb
[ "$(sql listed.duckdb "SELECT count(rows_a) FROM comparison")" = 3001 ] || fail "lists: $(sql listed.duckdb "SELECT count(*), count(rows_a) FROM comparison")"
# Events came over in parts, of which each was a look over all: 8.6 MB took 18 s, and their square of more.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge lists_long "INSERT INTO comparison BY NAME SELECT i AS id, 1 AS run, 'm' AS model, 'latency_ms' AS metric, 'faster' AS verdict, 'x' || i AS compared_at, '[' || repeat('1,', 400000) || '1]' AS rows_a FROM range(1, 50) r(i)"
	bounded 1 4 300 "$ASSAY" import lists_long.duckdb --db new.duckdb
	has err 'its comparisons name more rows than it may have'
	forge events "INSERT INTO event BY NAME SELECT 1000 + i AS id, (SELECT min(id) FROM run) AS run, 'note' AS kind, (SELECT min(happened_at) FROM event) + to_microseconds(i) AS happened_at FROM range(400000) r(i)"
	bounded 0 9 800 "$ASSAY" import events.duckdb --db events_new.duckdb
fi
# Read where they are.
forge alike "INSERT INTO sample SELECT 1, 3, 0, 1.0 FROM range(4600000)"
bounded 1 1 100 "$ASSAY" report --db alike.duckdb
has err 'alike.duckdb: its tables hold 4600[0-9]* rows in [0-9]* bytes: they are alike'
rm alike.duckdb
if [ -n "${ASSAY_LONG:-}" ]; then
	forge alike "INSERT INTO event SELECT e.* REPLACE (i AS id, repeat('x', 4000) AS cause) FROM (FROM event LIMIT 1) e, range(100, 40000) r(i)"
	bounded 1 1 100 "$ASSAY" report --db alike.duckdb
	has err 'alike.duckdb: its texts take 1600[0-9]* bytes, and the file [0-9]*: they are alike'
	rm alike.duckdb
fi
# Read where they are: 1.4 GB of 30 million equal samples, 1 GB of a text of 60 MB and of 4 million events whose numbers stand twice
# 150 MB. A file says of itself how many rows it has, and how long its texts are.
if [ -n "${ASSAY_LONG:-}" ]; then # of a million runs always, see below
	forge many "INSERT INTO sample SELECT 1, 3, 0, 1.0 FROM range(16777217)"
	bounded 1 1 100 "$ASSAY" report --db many.duckdb
	has err 'many.duckdb: its table sample has 167772[0-9]* rows; at most 16777216 are read'
	rm many.duckdb
	forge halves "UPDATE event SET id = id + 4000000000; INSERT INTO event SELECT e.* REPLACE (i // 2 AS id) FROM (FROM event LIMIT 1) e, range(4100000) r(i)"
	bounded 1 2 100 "$ASSAY" report --db halves.duckdb
	has err '2050000 of the rows of its table event stand twice, by id'
	rm halves.duckdb
fi
# A table of anybody's, a column of which is a tree of 3000 levels: DuckDB took 700 MB to open the file, and 16 s to export it.
deep=$(printf '{"a":%.0s' {1..1000})'"INTEGER"'$(printf '}%.0s' {1..1000})
forge deep "CREATE TABLE z AS SELECT json_transform('{}', '$deep') AS a LIMIT 0"
commands=('query --db deep.duckdb coverage')
[ -z "${ASSAY_LONG:-}" ] || commands+=('import deep.duckdb --db new.duckdb' 'report --db deep.duckdb' 'export -o deep --db deep.duckdb')
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	bounded 1 1 100 "$ASSAY" $command
	has err 'deep.duckdb: opening it takes more than 24 MiB: it has tables that assay does not make'
done
# What is taken in is held to what the database that has it then may hold: it was taken, and the user's own was refused from then on.
forge packed "UPDATE run SET pid = 9; INSERT INTO placement BY NAME SELECT 3 AS event, 1 AS cell, i AS number, repeat('y', 4000) AS node, repeat('y', 4000) AS op, 'cpu' AS place FROM range(1000, 18500) r(i)"
cp empty.duckdb own.duckdb
bounded 1 2 200 "$ASSAY" import packed.duckdb --db own.duckdb
has err 'with it the texts of own.duckdb would take 140[0-9]* bytes, and the file [0-9]*: they are alike'
[ -z "$(find . -name 'own.duckdb.new*')" ] || fail "left: $(ls)"
code 0 "$ASSAY" query runs --db own.duckdb
rm packed.duckdb own.duckdb
# What is held is memory of the file's, and no stack of a thread: an honest file opens whatever size those have.
# shellcheck disable=SC2016
code 0 bash -c 'ulimit -s 65536 2>/dev/null; exec "$@"' sh "$ASSAY" query coverage --db "$base"
# A limit of this process was told as tables of a stranger's, or as too much that was asked.
for kib in 25000 30000; do
	(failures=0; ulimit -d $kib; code 1 "$ASSAY" query coverage --db "$base"; exit $failures) || fail "with ulimit -d $kib"
	has err '^assay: .*a limit of this process \(ulimit -d, ulimit -v\)'
done
# DuckDB ended the program where it got no descriptor.
for files in 4 5 6 7 8 9 10 11 12; do # the first that is enough for the loader: 127 is its exit code
	prlimit --nofile=$files:$files "$ASSAY" report --db "$base" >"$work/out" 2>"$work/err" </dev/null && fail "a report with $files descriptors"
	grep -q 'error while loading shared libraries' "$work/err" || break
done
has err '^assay: .*a limit of this process on open files is too low for the database library .ulimit -n.$'
# A long text in a database.
forge text "UPDATE run SET pid = 2; UPDATE cell SET model = repeat('x', 20000000)"
if [ -n "${ASSAY_LONG:-}" ]; then # as below
	bounded 1 1 100 "$ASSAY" report --db text.duckdb
	has err 'text.duckdb: its table cell holds a text of 20000000 bytes; assay writes none above 1048576'
fi
# Each of a length that assay writes, and together less than --rows allows: those of 2048 rows were in memory at once, 1.4 GB of 3000.
forge side "UPDATE run SET pid = 4; INSERT INTO cell SELECT c.* REPLACE (i AS id, repeat('x', 900000) AS model) FROM cell c, range(2, 152) r(i)"
# Names of 4 KB in one list: each was joined to a copy of all before, 23 GB of 5000.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge names "UPDATE run SET pid = 5; INSERT INTO cell SELECT c.* REPLACE (i AS id, repeat('n', 3900) || i AS model) FROM cell c, range(2, 502) r(i)"
	bounded 0 5 250 "$ASSAY" report --format md -o names.md --db names.duckdb
	rm names.duckdb
fi
# A text of another tool is stored as its beginning.
awk 'BEGIN { printf "[{\"avg_ns\":1000,\"n_prompt\":1,\"n_gen\":0,\"model_filename\":\"m\",\"model_type\":\""; for (i = 0; i < 200000; i++) printf "0123456789"; print "\"}]" }' >long.json
cp empty.duckdb long.duckdb
bounded 0 60 500 "$ASSAY" import long.json --db long.duckdb
code 0 "$ASSAY" query --format csv --db long.duckdb 'SELECT max(strlen(model_type)) < 70000 AS short, max(model_type[-31:]) FROM result'
has out '^true,.*\(cut: it had 2000000 bytes\)$'
# Cells that no run finished: the process of each was looked for, of 3,000,000 in a file of 11 MB for half a minute and more.
forge open "INSERT INTO cell SELECT c.* REPLACE (i AS id) FROM cell c, range(100, 16500) r(i) WHERE c.id = 1"
bounded 1 20 300 "$ASSAY" run bert-base-uncased --synthetic --on null --db open.duckdb
has err 'more than 16384 cells have neither a verdict nor an end'
# What is refused of those above, by one command.
bounded 1 20 300 "$ASSAY" import text.duckdb side.duckdb open.duckdb --db new.duckdb
has err '^assay: text.duckdb: its table cell holds a text of 20000000 bytes; assay writes none above 1048576'
has err '^assay: side.duckdb: its texts take more than 128MiB in rows that stand side by side'
has err '^assay: open.duckdb: more than 16384 cells have neither a verdict nor an end'
rm side.duckdb
# A report of very many cells: 80,000 with --long, and the tables that stand for others below.
report_of()
{
	forge cells "INSERT INTO cell SELECT c.* REPLACE (i AS id) FROM cell c, range(2, $1) r(i);
		INSERT INTO event SELECT e.* REPLACE (e.id + 10 * i AS id, i AS cell) FROM event e, range(2, $1) r(i) WHERE e.cell = 1;
		INSERT INTO measurement SELECT m.* REPLACE (m.event + 10 * i AS event, i AS cell) FROM measurement m, range(2, $1) r(i) WHERE m.cell = 1"
	bounded 0 120 "$2" "$ASSAY" report --db cells.duckdb
	has out '^null: 1 of 1 cells good'
}
if [ -z "${ASSAY_LONG:-}" ]; then report_of 3001 200; else report_of 20001 300 && report_of 80001 600; fi
# Of very many questions, and of platforms that nobody has.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge questions "INSERT INTO cell SELECT c.* REPLACE (i AS id, i AS batch) FROM cell c, range(2, 5011) r(i)"
	bounded 0 120 600 "$ASSAY" report --db questions.duckdb
	has err 'answers to 5010 questions; the report has the newest 5000'
	has out 'answers to 5010 questions; this report has the newest 5000'
	forge platforms "INSERT INTO cell SELECT c.* REPLACE (i AS id, 'p' || i AS requested) FROM cell c, range(2, 132) r(i)"
	code 0 "$ASSAY" report --db platforms.duckdb
	has err 'names 131 platforms and devices; the report has the 100 that most rows name, and leaves 31 rows out'
	has out '31 rows are left out'
fi
# Columns that are JSON became one tree of all rows: 6 GB of 5 MB.
forge trees "INSERT INTO cell SELECT c.* REPLACE (i AS id, i AS batch) FROM cell c, range(2, 16) r(i); INSERT INTO event SELECT e.* REPLACE (1000 * i + e.id AS id, i AS cell) FROM event e, range(2, 16) r(i) WHERE e.cell = 1; INSERT INTO measurement SELECT m.* REPLACE (1000 * i + m.event AS event, i AS cell, i AS batch, '[' || repeat('{},', 200000) || '{}]' AS op_mix) FROM measurement m, range(2, 16) r(i) WHERE m.cell = 1"
bounded 1 20 400 "$ASSAY" report --db trees.duckdb --format json
has err 'the JSON in its rows takes more than 512 MiB as a tree'
# Rows that are compared: 100,000 of them took 1.6 GB. All pairs of those of one question are drawn again and again: 500 took 17 s.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge sides "INSERT INTO cell SELECT c.* REPLACE (i AS id) FROM cell c, range(2, 201) r(i); INSERT INTO event SELECT e.* REPLACE (1000 * i + e.id AS id, i AS cell) FROM event e, range(2, 201) r(i) WHERE e.cell IS NOT NULL; INSERT INTO measurement SELECT m.* REPLACE (1000 * i + m.event AS event, i AS cell) FROM measurement m, range(2, 201) r(i)"
	bounded 0 20 300 "$ASSAY" compare run:1 run:1 --db sides.duckdb
	has out '^1 question in common'
	forge sides "INSERT INTO cell SELECT c.* REPLACE (i AS id) FROM cell c, range(2, 5101) r(i)"
	bounded 1 20 200 "$ASSAY" compare run:1 run:1 --db sides.duckdb
	has err 'run:1 are 5100 rows, and at most 5000 are taken'
fi
# As many results of another tool as are imported, 10,000, took 4 minutes and 1.4 GB, and failed; so did results with columns that nobody
# reads. The time went with the square of them.
awk 'BEGIN { for (i = 0; i < 1500; i++) printf "%s{\"avg_ns\":1500,\"n_prompt\":1,\"n_gen\":0,\"model_filename\":\"m%d\",\"samples_ns\":[1000,2000]}", i ? "," : "[", i; print "]" }' >most.json
cp empty.duckdb most.duckdb
bounded 0 2 200 "$ASSAY" import most.json --db most.duckdb
code 0 "$ASSAY" query --format csv --db most.duckdb 'SELECT count(*), count(DISTINCT model), count(DISTINCT cell_key), min(latency_ms), max(latency_ms) FROM result'
has out '^1500,1500,1500,0.0015,0.0015$'
code 0 "$ASSAY" query --format csv --db most.duckdb "SELECT count(*), count(DISTINCT s.event), sum(s.number), count(*) FILTER (e.kind = 'verdict' AND e.cell = s.cell) FROM sample s JOIN event e ON e.id = s.event"
has out '^3000,1500,1500,3000$'
awk 'BEGIN { OFS = ","; $200 = ""; wide = $0; print "build_commit,model_filename,avg_ns,n_prompt,n_gen" wide; for (i = 0; i < 1500; i++) print "a,m" i ",1000,1,0" wide }' >wide.csv
cp empty.duckdb wide.duckdb
bounded 0 2 200 "$ASSAY" import wide.csv --db wide.duckdb
has out ': 1500 rows of llama-bench'

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
# A transaction that is durable was told as failed where there was no room for putting a long log into the file.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge texts "UPDATE run SET pid = 3; INSERT INTO cell SELECT c.* REPLACE (i AS id, repeat(md5(i::VARCHAR), 20000) AS asked_options) FROM cell c, range(2, 30) r(i)"
	cp "$base" small/log.duckdb
	(failures=0; ulimit -f 18500; code 0 "$ASSAY" import texts.duckdb --db small/log.duckdb
		[ "$(stat -c %s small/log.duckdb.wal)" -gt 16777216 ] || fail "no long log: $(ls -l small)"
		code 0 "$ASSAY" import "$SOURCE/tests/store/foreign/llama.json" --db small/log.duckdb; exit $failures) || fail "a log that stays"
	code 0 "$ASSAY" query --format csv --db small/log.duckdb 'SELECT count(*) FROM result'
	has out '^32$'
	code 0 "$ASSAY" import "$SOURCE/tests/store/foreign/llama.json" --db small/log.duckdb
	has out 'imported before'
	[ ! -e small/log.duckdb.wal ] || fail "the log stays where there is room"
fi
finish
