# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A stranger's database: rows that stand twice and of what cannot be, its log of changes, its file of locks, and what crashes the database
# library.
. "$SOURCE/tests/attack/lib_database.sh" || exit 1

# ---- rows that stand twice ------------------------------------------------------------------------------------------

# One database with a model or a run twice was taken in, and after it no honest one that had them: "More than one row returned by a subquery".
# All files that are refused are given to one command, which tells of each: that costs half as much.
forgeries=()
for table in machine run model artifact cell event; do
	again="INSERT INTO $table SELECT * REPLACE (id + 1000 AS id) FROM $table"
	case $table in
	machine | artifact) again="INSERT INTO $table FROM $table" ;;
	cell) again="INSERT INTO cell SELECT * REPLACE (id + 1000 AS id, id AS origin_id) FROM cell" ;;
	esac
	all="${all:-}$again;"
	[ -n "${ASSAY_LONG:-}" ] || [ "$table" = cell ] || continue
	forgeries+=("twice_$table" "$again")
done
# Of another machine, with an event of no cell.
stranger="INSERT INTO run SELECT r.* REPLACE (99 AS id, pid + 5 AS pid, 'another' AS machine) FROM run r; INSERT INTO event SELECT e.* REPLACE (999 AS id, 99 AS run, NULL AS cell, 'note' AS kind) FROM event e WHERE kind = 'verdict';"
apart=(of_no_cell "$stranger INSERT INTO sample SELECT s.* REPLACE (999 AS event, ms / 1000 AS ms) FROM sample s")
[ -z "${ASSAY_LONG:-}" ] || apart+=(placed "$stranger INSERT INTO placement BY NAME SELECT 999 AS event, 1 AS cell, 1 AS number, 'a' AS node, 'cpu' AS place"
	tries "$stranger INSERT INTO cell SELECT c.* REPLACE (77 AS id, 99 AS run, 1 AS fallback_of, 2 AS attempt) FROM cell c"
	numbers_twice "INSERT INTO measurement FROM measurement" never "UPDATE cell SET started_at = '100000-01-01'")
forge_each "${forgeries[@]}" all_twice "$all" "${apart[@]}" \
	zero "INSERT INTO run SELECT * REPLACE (0 AS id, 1 AS pid) FROM run" astray "INSERT INTO sample SELECT s.* REPLACE (7 AS cell) FROM sample s" \
	infinite "UPDATE sample SET ms = '-inf'::DOUBLE WHERE number = 1" two_verdicts "UPDATE measurement SET verdict = 'wrong'"
files=(zero.duckdb astray.duckdb of_no_cell.duckdb ${ASSAY_LONG:+placed.duckdb tries.duckdb numbers_twice.duckdb never.duckdb} infinite.duckdb two_verdicts.duckdb twice_*.duckdb)
code 1 "$ASSAY" import "${files[@]}" --db new.duckdb
for file in twice_*.duckdb; do
	table=${file#twice_} table=${table%.duckdb}
	has err "^assay: $file: .* of the rows of its table $table stand twice"
done
has err '^assay: zero.duckdb: .*do not belong together'
for file in astray of_no_cell ${ASSAY_LONG:+placed tries}; do has err "^assay: $file.duckdb: .*do not belong together"; done
[ -z "${ASSAY_LONG:-}" ] || has err '^assay: numbers_twice.duckdb: .*rows of its table measurement stand twice, by event'
has err '^assay: infinite.duckdb: row 1: sample.ms is -inf'
has err '^assay: two_verdicts.duckdb: row 1: its event says right, and its measurement wrong'
[ -z "${ASSAY_LONG:-}" ] || has err '^assay: never.duckdb: row 1: cell.started_at is 100000'
[ "$(grep -c '^assay: ' err)" = ${#files[@]} ] || fail "not all of ${#files[@]} files were refused: $(cat err)"
lacks err "$secret"
# A database that has them twice already takes in what is honest.
if [ -n "${ASSAY_LONG:-}" ]; then
	code 0 "$ASSAY" import "$base" --db all_twice.duckdb
	has out ': 1 row, [01] of them new, of 0 new runs$'
fi
# Numbers that rows are joined by: 100,000 cells whose events had all the same took longer than anybody waited.
forge numbers "INSERT INTO cell SELECT c.* REPLACE (i AS id) FROM cell c, range(2, 20001) r(i); INSERT INTO event SELECT e.* REPLACE (i AS cell) FROM event e, range(2, 20001) r(i)"
commands=(report)
[ -z "${ASSAY_LONG:-}" ] || commands+=("run $SOURCE/tests/conform/cases/bert --synthetic --on null" 'history bert' 'recommend bert' 'query coverage')
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	bounded 1 20 200 "$ASSAY" $command --db numbers.duckdb
	has err 'numbers.duckdb: [0-9]* of the rows of its table event stand twice, by id'
done
# They are counted before they are looked up: 1.1 GB of a million.
forge many "INSERT INTO model(id, name, first_seen_at) SELECT i, 'x', now()::TIMESTAMP FROM range(2, 300003) n(i)"
bounded 1 60 200 "$ASSAY" import many.duckdb --db new.duckdb
has err '300000 of the rows of its table model stand twice'
[ -z "${ASSAY_LONG:-}" ] || bounded 0 60 200 "$ASSAY" import "$base" --db many.duckdb
if [ -n "${ASSAY_LONG:-}" ]; then
	forge million "INSERT INTO run SELECT r.* REPLACE (i AS id) FROM run r, range(2, 1000002) n(i)"
	bounded 1 60 500 "$ASSAY" import million.duckdb --db new.duckdb
	bounded 0 60 600 "$ASSAY" import "$base" --db million.duckdb
fi

# A copy of one's own database that comes back: its runs are known, and what it has besides became rows of one's own, "right" on hardware that
# is not here; --resume took them for answers.
forge theirs "INSERT INTO event SELECT e.* REPLACE (900 AS id, happened_at + INTERVAL 1 MINUTE AS happened_at) FROM event e WHERE cell = 1 AND kind = 'verdict';
	INSERT INTO measurement SELECT m.* REPLACE (900 AS event, 'cuda' AS requested, 'cuda' AS actual, 'NVIDIA H100' AS device) FROM measurement m; INSERT INTO sample SELECT s.* REPLACE (900 AS event) FROM sample s;
	INSERT INTO cell SELECT c.* REPLACE (2 AS id, 'cuda' AS requested) FROM cell c; INSERT INTO event SELECT e.* REPLACE (id + 1000 AS id, 2 AS cell) FROM event e WHERE cell = 1;
	INSERT INTO measurement SELECT m.* REPLACE (m.event + 1000 AS event, 2 AS cell) FROM measurement m; INSERT INTO comparison BY NAME SELECT 1 AS id, 1 AS run, 'm' AS model, 'latency_ms' AS metric, 'faster' AS verdict, 'x' AS compared_at"
cp "$base" mine.duckdb
code 0 "$ASSAY" import theirs.duckdb --db mine.duckdb
has out ': 1 row, 0 of them new, of 0 new runs$'
has err 'theirs.duckdb: it says otherwise of 2 rows that are here, and that is left out: no file changes what is here$'
code 0 "$ASSAY" query --format csv --db mine.duckdb "SELECT count(*), any_value(requested), (SELECT count(*) FROM event WHERE cell IS NOT NULL), (SELECT count(*) FROM comparison) FROM result"
sql "$base" "SELECT count(*) FROM event WHERE cell IS NOT NULL" >events
has out "^1,null,$(<events),0$"
# Of somebody else's rows a first file's verdict stays, too; and samples are of the cell of their event.
if [ -n "${ASSAY_LONG:-}" ]; then
	code 0 "$ASSAY" import "$base" theirs.duckdb --db third.duckdb
	has out '^theirs.duckdb: 2 rows, 1 of them new, of 0 new runs$'
	has err 'says otherwise of 1 row that is here'
	# So does one whose measurements were left out.
	forge without "DELETE FROM measurement; DELETE FROM sample"
	code 0 "$ASSAY" import without.duckdb "$base" --db without_first.duckdb
	has err 'base.duckdb: it says otherwise of 1 row that is here, and that is left out'
fi
# A changed copy that came before the true file is told when that comes; and what it says of this machine gives way to what that is.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge others "UPDATE machine SET cpu_model = 'FORGED', memory_bytes = 1; UPDATE measurement SET device = 'FORGED'"
	code 0 "$ASSAY" import others.duckdb "$base" --db fourth.duckdb
	has out 'base.duckdb: 1 row, 0 of them new, of 0 new runs$'
	has err 'base.duckdb: it says otherwise of 1 row that is here'
	has err 'base.duckdb: it says otherwise of 1 machine that is here'
	code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 1 --no-conform --db fourth.duckdb
fi
# Another's run tells nothing of a row that is here: neither in a comparison nor as what it is held against, and what he found on his machine
# is not this one's.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge tells "$stranger INSERT INTO comparison BY NAME SELECT 1 AS id, 99 AS run, 'm' AS model, 'latency_ms' AS metric, 'faster' AS verdict, 'x' AS compared_at, '[1]' AS rows_a;
		INSERT INTO cell SELECT c.* REPLACE (77 AS id, 99 AS run) FROM cell c; INSERT INTO event SELECT e.* REPLACE (1000 + id AS id, 99 AS run, 77 AS cell) FROM event e WHERE cell = 1;
		INSERT INTO measurement SELECT m.* REPLACE (1000 + event AS event, 77 AS cell, 1 AS fallback_against, 0.001 AS fallback_factor) FROM measurement m;
		INSERT INTO platform_detection BY NAME SELECT 50 AS id, 99 AS run, 'cuda' AS platform, 'FORGED' AS device, TRUE AS available, now()::TIMESTAMP AS detected_at"
	code 0 "$ASSAY" import tells.duckdb --db mine.duckdb
	has out ': 2 rows, 1 of them new, of 1 new run$'
	code 0 "$ASSAY" query --format csv --db mine.duckdb "SELECT (SELECT count(*) FROM result WHERE fallback_against IS NOT NULL), (SELECT count(rows_a) FROM comparison), (SELECT count(*) FROM platform_detection WHERE device = 'FORGED') > 0"
	has out '^0,0,true$'
	code 0 "$ASSAY" report --db mine.duckdb --format md
	lacks out FORGED
	has out '1 of 2 cells were imported'
fi
# A database that says of a file that it has imported it: the file was "imported before", and no row of it was there.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge says "INSERT INTO import SELECT 1, 'x', '$(sha256sum <"$SOURCE/tests/store/foreign/llama.json" | cut -d' ' -f1)', 'llama-bench', NULL, 1, 0, now()::TIMESTAMP"
	llama=$SOURCE/tests/store/foreign/llama.json
	code 0 "$ASSAY" import says.duckdb "$llama" "$llama" --db third.duckdb
	[ "$(sed -E -n 's/.*: ([1-9][0-9]* rows? of llama-bench|imported before, nothing added).*/\1/p' out | sed 's/[0-9]* rows\?/some/')" = "some of llama-bench
imported before, nothing added" ] || fail "a file that another says it has: $(cat out)"
fi

# ---- rows of what cannot be -----------------------------------------------------------------------------------------

# A time of -5 ms, of 1e308 and NaN were "right" in the report, and NaN the fastest; a row that says right, and its own figures otherwise,
# counted as right; so did one whose event and measurement say two things. Each column and each contradiction: tests/unit/test_guard.c;
# `import` is above.
for command in 'query fastest' ${ASSAY_LONG:+report} 'export -o cannot.csv result'; do
	# shellcheck disable=SC2086
	refused 'infinite.duckdb: row 1: sample.ms is -inf, which nothing can have measured' "$ASSAY" $command --db infinite.duckdb
done
refused 'two_verdicts.duckdb: row 1: its event says right, and its measurement wrong' "$ASSAY" report --db two_verdicts.duckdb
# The file says of its values what they are at least and at most, and DuckDB leaves out what by that is not asked for: -5 ms were looked for
# among what is said to begin above 0. The import made the user's own database one that is refused.
# false_statistics NAME TABLE COLUMN IS SAYS: of a DOUBLE.
false_statistics()
{
	local place
	place=$(sql $1.duckdb "SELECT block_id || ' ' || block_offset FROM pragma_storage_info('$2') WHERE column_name = '$3' AND segment_type = 'DOUBLE'")
	# shellcheck disable=SC2086
	python3 "$SOURCE/tests/attack/duckdb_file.py" $1.duckdb statistics $place "$4" "$5" || fail "no statistics of $1 that say otherwise"
}
forge statistics "UPDATE sample SET ms = -5.0123 WHERE number = 1"
false_statistics statistics sample ms -5.0123 1e-9
[ "$(sql statistics.duckdb "SELECT count(*) || ' ' || (SELECT min(ms) FROM sample) FROM sample WHERE ms < 0")" = "0 1e-09" ] || fail "DuckDB goes by other statistics"
for command in ${ASSAY_LONG:+'query fastest'} 'import statistics.duckdb'; do
	db=statistics.duckdb
	[ "$command" = 'query fastest' ] || db=taken.duckdb
	# shellcheck disable=SC2086
	refused 'statistics.duckdb: row 1: sample.ms is -5.0123, which nothing can have measured' "$ASSAY" $command --db $db
done
# Where tables are joined, parts are left out by what the other table has: the verdict's event is said to be none of those.
forge joined "DROP VIEW hardware_results; DROP VIEW result; ALTER TABLE event ALTER COLUMN id TYPE DOUBLE; UPDATE event SET id = id + 100000;
	UPDATE measurement SET event = event + 100000; UPDATE sample SET event = event + 100000; UPDATE event SET verdict = 'wrong' WHERE kind = 'verdict'"
false_statistics joined event id 100004 100002.5
refused 'joined.duckdb: row 1: its event says wrong, and its measurement right' "$ASSAY" query runs --db joined.duckdb
# A column of another type becomes another number where it is taken in: 0.4 of a run is none.
forge type "DROP VIEW hardware_results; DROP VIEW result; ALTER TABLE measurement ALTER COLUMN samples TYPE DOUBLE; UPDATE measurement SET samples = 0.4"
refused 'type.duckdb: row 1 says right, and its samples is 0: assay wrote no such row' "$ASSAY" import type.duckdb --db taken.duckdb
[ -z "${ASSAY_LONG:-}" ] || code 0 "$ASSAY" import "$base" --db taken.duckdb
# A schema of a name that DuckDB has for a catalog: its own sentence, which names no cause, was all that was said.
forge catalogs "CREATE SCHEMA temp; CREATE SCHEMA system; CREATE SCHEMA memory; CREATE SCHEMA catalogs"
code 0 "$ASSAY" query runs --db catalogs.duckdb
# Rows of a run without end, in a file of some MB: 1.2 GB and 7 s of 10^7.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge runs "INSERT INTO run(id, machine, pid, start_ticks, started_at) SELECT i, 'x', 1, 1, now()::TIMESTAMP FROM range(2, 1048580) n(i)"
	bounded 1 2 200 "$ASSAY" report --db runs.duckdb
	has err 'its table run has 1048579 rows; at most 1048576 are read'
fi
# Words that are no verdict, rows of a run that is not there: none is right, and none is the fastest.
forge word "UPDATE measurement SET engine = 'onnxruntime', requested = 'cpu'; UPDATE cell SET requested = 'cpu'; UPDATE event SET verdict = 'perfect' WHERE kind = 'verdict'; UPDATE measurement SET verdict = 'perfect'"
code 0 "$ASSAY" report --db word.duckdb
has err "1 row is left out of the report: row 1 has the verdict 'perfect', which this assay does not know"
lacks out 'perfect'
code 0 "$ASSAY" query fastest --format csv --db word.duckdb
[ "$(grep -c . out)" -le 1 ] || fail "a word that is no verdict is the fastest: $(cat out)"
# A row that no report takes is left out of it and told in a line; of a database that is imported it is refused, so that it makes none
# of somebody's own unusable. Rows 2 to 4, each in its own way.
good="UPDATE run SET pid = 5; INSERT INTO cell SELECT c.* REPLACE (i AS id, i AS batch) FROM cell c, range(2, 5) r(i); INSERT INTO event SELECT e.* REPLACE (e.id + 10 * i AS id, i AS cell) FROM event e, range(2, 5) r(i) WHERE e.cell = 1; INSERT INTO measurement SELECT m.* REPLACE (m.event + 10 * i AS event, i AS cell, i AS batch) FROM measurement m, range(2, 5) r(i)"
bogus="UPDATE event SET verdict = 'bogus' WHERE cell = 2 AND kind = 'verdict'; UPDATE measurement SET verdict = 'bogus' WHERE cell = 2"
long="UPDATE measurement SET actual = repeat('E', 5000) WHERE cell = 3" odd="UPDATE cell SET question = '[' WHERE id = 4"
forge_each bogus "$good; $bogus" long "$good; $long" odd "$good; $odd" bad "$good; $bogus; $long; $odd"
refused 'bogus.duckdb: row 2 has the verdict .bogus., which this assay does not know' "$ASSAY" import bogus.duckdb long.duckdb odd.duckdb --db new.duckdb
has err 'long.duckdb: row 3: measurement.actual is a name of more than 4096 characters'
has err 'odd.duckdb: row 4: its column `question` is no JSON object'
code 0 "$ASSAY" report --db bad.duckdb
has err '3 rows are left out of the report: row 4: its column `question`'
has out '3 rows are left out'
[ -z "${ASSAY_LONG:-}" ] || code 2 "$ASSAY" recommend "$SOURCE/tests/conform/cases/bert" --db bad.duckdb # nothing was computed
code 0 "$ASSAY" history "$SOURCE/tests/conform/cases/bert" --db bad.duckdb
has err '1 row is left out, whose column `question` is no JSON object'
awk 'BEGIN { m = sprintf("%5000s", ""); gsub(" ", "m", m); print "[{\"avg_ns\":1000,\"n_prompt\":1,\"n_gen\":0,\"model_filename\":\"" m "\"}]" }' >name.json
refused 'model is a name of more than 4096 characters' "$ASSAY" import name.json --db new.duckdb
# Lines of a whole database that stand twice, or name events that are not there: 36 s and 1.1 GB of 5 million.
yes '{"assay_table":"cell","id":1}' | head -200000 >lines_twice.json
bounded 1 1 100 "$ASSAY" import lines_twice.json --db new.duckdb
has err 'rows of its table cell stand twice, the second of number 1 in line 2'
awk 'BEGIN { for (i = 0; i < 200000; i++) print "{\"assay_table\":\"sample\",\"cell\":1,\"event\":" i + 5 ",\"number\":0,\"ms\":1}" }' >lines_of_none.json
bounded 1 1 100 "$ASSAY" import lines_of_none.json --db new.duckdb
has err 'some name events that are not there'
rm lines_*.json
# More words than assay's files have (of an enumeration; schemas and types by the ten thousands did it, too): glibc ended the program, since an
# exception had no memory for its own.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge types "CREATE TYPE t AS ENUM (SELECT 'v' || i FROM range(450000) r(i))"
	bounded 1 1 100 "$ASSAY" query fastest --db types.duckdb
	has err 'types.duckdb: opening it takes more than 24 MiB'
	refused 'opening it takes more than 24 MiB' "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db types.duckdb
fi
# A long log beside it is not read, and not called damaged.
cp "$base" long_log.duckdb
truncate -s 100M long_log.duckdb.wal
bounded 1 1 100 "$ASSAY" query fastest --db long_log.duckdb
has err 'its log of changes long_log.duckdb.wal has 100 MiB, and at most 64 are taken over in reading'
lacks err 'damaged'
rm long_log.duckdb.wal
# In a folder where others may make files: a log of another user's, whose rows were shown as one's own, and written into the file.
if [ "$(id -u)" = 0 ]; then
	for ending in wal journal; do
		cp "$base" mine.duckdb && cp "$base" mine.duckdb.$ending && chown 54321 mine.duckdb.$ending && chmod 0644 mine.duckdb
		refused "mine.duckdb.$ending belongs to user 54321, who may not write mine.duckdb: it would change what is in there" "$ASSAY" query fastest --db mine.duckdb
		rm mine.duckdb.$ending
	done
fi
# DuckDB's logs of a checkpoint that was interrupted: it read the one, with none of the limits of a log, and wrote the other through a link.
for ending in checkpoint recovery; do
	ln -s "$work/victim" base.duckdb.wal.$ending
	refused "base.duckdb.wal.$ending lies beside it" "$ASSAY" query fastest --db base.duckdb
	rm base.duckdb.wal.$ending
done
forge nowhere "UPDATE cell SET run = 77"
code 0 "$ASSAY" report --db nowhere.duckdb
lacks out 'cells good|✓ right'

# ---- a log beside it, and a row that opens a port --------------------------------------------------------------------

# Its expressions were computed before anything was looked at: 12 s and 2.4 GB of 67 KB.
cp "$base" log.duckdb
echo changes >log.duckdb.wal
refused 'a log of changes beside it' "$ASSAY" import log.duckdb --db new.duckdb
# DuckDB writes a table anew for each column: 3,000 in a log of 416 KB took a minute and 1 GB to refuse.
cp "$base" columns.duckdb
sql columns.duckdb "PRAGMA disable_checkpoint_on_shutdown; $(printf 'ALTER TABLE sample ADD COLUMN z%d BIGINT;' $(seq 513))" >"$work/out" || fail "no log"
bounded 1 20 200 "$ASSAY" query --db columns.duckdb 'SELECT 1'
has err 'its log of changes columns.duckdb.wal makes or changes tables 513 times'
# Rows that are put in one by one: 4 MB of them took 6 s.
cp "$base" one_by_one.duckdb
sql one_by_one.duckdb "PRAGMA disable_checkpoint_on_shutdown; INSERT INTO import SELECT 1, 'x', 'x', 'x', NULL, 1, 0, now()::TIMESTAMP" >"$work/out" || fail "no log"
python3 - one_by_one.duckdb.wal <<'PY'
import sys
log = open(sys.argv[1], "rb").read()
at = 8
while at < len(log):
    begin, at = at, at + 16 + int.from_bytes(log[at:at + 8], "little")
    if log[begin + 18] == 25: # the table that the next rows are of
        first = begin
open(sys.argv[1], "ab").write(log[first:] * 3000)
PY
bounded 1 1 100 "$ASSAY" query --db one_by_one.duckdb 'SELECT 1'
has err 'its log of changes one_by_one.duckdb.wal changes rows 9[0-9]* times, and at most 8192'
# The same as a log of the first version, which has no lengths, no checksums and no name of its version.
python3 - columns.duckdb.wal <<'PY'
import sys
with open(sys.argv[1], "r+b") as log:
    data, at, entries = log.read(), 8, b""
    while at < len(data):
        n = int.from_bytes(data[at:at + 8], "little")
        entries += data[at + 16:at + 16 + n]
        at += 16 + n
    log.seek(0)
    log.write(entries)
    log.truncate()
PY
bounded 1 1 100 "$ASSAY" query --db columns.duckdb 'SELECT 1'
has err 'its log of changes columns.duckdb.wal is not of the version that assay writes'
# By each way in which a question names an option; the null engine has some that write the file they name.
ways=('"own_options": "threads=1, daemon=victim"' '"platform": "cpu", "device": "remote,listen=0.0.0.0:1"')
[ -z "${ASSAY_LONG:-}" ] || ways+=('"device": "NULL,alone=victim"' '"own_options": "threads=1,daemon=victim"' '"switched_from": "null:NULL,daemon=victim"')
for asks in "${ways[@]}"; do
	forge reaches "UPDATE cell SET question = json_merge_patch(question::JSON, '{$asks}')"
	refused '^assay: (row 1 was asked with the option [a-z]+, which opens a port or writes|row 1 says that it ran on null, and its question is of cpu|null has no option " daemon")' "$ASSAY" reproduce 1 --db reaches.duckdb
	[ ! -e victim ] || fail "it wrote: $asks"
done
code 0 "$ASSAY" reproduce 1 --command --db reaches.duckdb
# A model whose name is an option: who copied the command wrote the file of the stranger's choice.
forge named "UPDATE cell SET question = json_merge_patch(question::JSON, '{\"model\": \"--db=victim\", \"model_file\": null}')"
code 0 "$ASSAY" reproduce 1 --command --db named.duckdb
has out '^assay run --on .* -- --db=victim$'
# A row of one model whose question is of another: "holds", of what was never asked. So did a time whose runs were not there.
forge another "UPDATE measurement SET model = 'meta-llama/Llama-3-70B', batch = 64; UPDATE cell SET model = 'meta-llama/Llama-3-70B', batch = 64"
refused '^assay: row 1 says that it is of meta-llama/Llama-3-70B, and its question is of ' "$ASSAY" reproduce 1 --db another.duckdb
# What imported rows say of others: the row of the run alone had the number of another one here; what an artifact is was a stranger's word.
if [ -n "${ASSAY_LONG:-}" ]; then
	forge timeless "DELETE FROM sample"
	code 0 "$ASSAY" reproduce 1 --db timeless.duckdb
	has out '^  latency +not told: .*the times of its runs are not there'
	forge alone "$stranger INSERT INTO cell SELECT c.* REPLACE (77 AS id, 99 AS run) FROM cell c; INSERT INTO event SELECT e.* REPLACE (1000 + id AS id, 99 AS run, 77 AS cell) FROM event e WHERE cell = 1; INSERT INTO measurement SELECT m.* REPLACE (1000 + event AS event, 77 AS cell, 1 AS alone_row) FROM measurement m; UPDATE artifact SET form = 'FORGED'"
	code 0 "$ASSAY" import alone.duckdb --db told.duckdb
	code 0 "$ASSAY" import alone.duckdb --db mine.duckdb
	code 0 "$ASSAY" query --format csv --db mine.duckdb "SELECT count(*) FROM result WHERE imported AND alone_row IN (SELECT id FROM result WHERE NOT imported)"
	has out '^0$'
	code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db told.duckdb
	code 0 "$ASSAY" query --format csv --db told.duckdb "SELECT count(*) FROM artifact WHERE form = 'FORGED'"
	has out '^0$'
fi
# Numbers that no option takes were asked all the same.
for member in sequence=-5 ${ASSAY_LONG:+layers=-1 image_size=1099511627776}; do
	forge asks "UPDATE cell SET question = json_merge_patch(question::JSON, '{\"${member%=*}\": ${member#*=}}')"
	refused "^assay: row 1: --[a-z-]+ wants a whole number from 1 to [0-9]+, not '${member#*=}'" "$ASSAY" reproduce 1 --db asks.duckdb
done

# A log of another database beside it was told with a stack trace.
cp "$base" log2.duckdb
printf '%b' '\0144\0000\0142\0145\0000\0002\0377\0377\0020\0000\0000\0000\0000\0000\0000\0000\0240\0037\0067\0011\0214\0200\0106\0216\0144\0000\0031\0145\0000\0004\0155\0141\0151\0156\0146\0000\0001\0164\0377\0377\0041\0040\0000\0000\0000\0000\0000\0000\0207\0302\0072\0125\0132\0256\0306\0341\0144\0000\0032\0145\0000\0144\0000\0200\0020\0145\0000' >log2.duckdb.wal
refused 'its log of changes log2.duckdb.wal is not taken over; it may be damaged' "$ASSAY" query --db log2.duckdb 'SELECT 1'
lacks err 'assertion|INTERNAL|Stack'

# ---- the file of locks ----------------------------------------------------------------------------------------------

# A pipe in its place was waited for by a program that asked whether the run of an open cell lives. A run of number 10^12 made it 8 TB.
forge open "DELETE FROM event WHERE cell IS NOT NULL; UPDATE run SET pid = 1"
mkfifo open.duckdb.lock
bounded 0 60 1000 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db open.duckdb
forge far "INSERT INTO run BY NAME SELECT * REPLACE (1000000000000 AS id) FROM run"
refused 'its last run has the number 1000000000000' "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db far.duckdb
[ "$(stat -c %s far.duckdb.lock 2>/dev/null || echo 0)" -lt 4096 ] || fail "a file of locks of $(stat -c %s far.duckdb.lock) bytes"

# A descriptor of the database that is closed takes DuckDB's lock away, whichever it is: two programs wrote at once then, and tore the file.
forge other "UPDATE run SET pid = 5"
cp "$base" locked.duckdb
SHIM_CLOSES=$work/closed:locked.duckdb LD_PRELOAD=$BUILD/tests/attack_shim.so code 0 "$ASSAY" import other.duckdb --db locked.duckdb
[ ! -e closed ] || fail "closed while it is open: $(cat closed)"

# ---- where DuckDB crashes -------------------------------------------------------------------------------------------

# A file with one changed byte and right checksums ended the program with a bare signal. The signal is sent here: which byte does it is DuckDB's.
crash()
{
	local pid seen=0 got=0
	# A sanitizer leaves these signals to the program where it is told to.
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_abort=0 "$ASSAY" query --db "$base" 'SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b' >out 2>err </dev/null &
	pid=$!
	for _ in $(seq 300); do                              # open for long, and not for one of the short looks before
		if ls -l "/proc/$pid/fd" 2>/dev/null | grep -q 'base\.duckdb$'; then seen=$((seen + 1)); else seen=0; fi
		[ "$seen" -lt 4 ] || break
		sleep 0.05
	done
	kill -s "$1" "$pid"
	wait "$pid" 2>/dev/null || got=$?
	[ "$got" = 1 ] || fail "$1 while a database is open: exit code $got"
	has err 'the database library crashed on .*base\.duckdb: the file is damaged, or made to do this(, or it wants more memory than it gets)?; nothing was changed'
}
for signal in SEGV ${ASSAY_LONG:+ABRT}; do crash "$signal"; done
# Without descriptors or memory it aborts too, and the file was said to be damaged.
refusals=0
for files in 4 5 6 7 8 9; do                            # below the first that will do the loader already has too few: 127
	prlimit --nofile=$files:$files "$ASSAY" query --db "$base" 'SELECT 1' >out 2>err </dev/null
	case $? in
	1) refusals=$((refusals + 1)) && has err 'ulimit -n|Too many open files' && lacks err ': the file is damaged' ;;
	0) break ;;                                     # so will more do
	127) ;;
	*) fail "with $files descriptors: $(tail -3 err)" ;;
	esac
done
[ $refusals -gt 0 ] || fail "no number of descriptors is too small for the database alone"
finish
