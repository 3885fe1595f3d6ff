# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# query: the named questions, what a word and what SQL is, the formats, bad use. The answers themselves: tests/unit/test_query.c.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
names='fastest runs by-hardware by-architecture memory failures fallbacks together switches answers slower-than-cpu unstable accuracy wrong untested regressions coverage'

code 0 "$ASSAY" query --list
empty err
for name in $names; do has out "^  $name +[a-z]"; done
[ "$(wc -l <"$work/out")" -eq 17 ] || fail "--list has $(wc -l <"$work/out") names"
code 0 "$ASSAY" query --list --json
json '[x["name"] for x in d] == "'"$names"'".split() and all(x["answers"] for x in d)'

# Bad use, before any database is opened.
code 1 "$ASSAY" query
has err 'too few arguments'
code 1 "$ASSAY" query fastets
has err "unknown query 'fastets'; did you mean 'fastest'\?"
code 1 "$ASSAY" query zzzzzzzz
has err 'assay query --list'
code 1 "$ASSAY" query fastest --limit 0
code 1 "$ASSAY" query 'SELECT 1' --on cpu
has err 'WHERE and LIMIT'
code 1 "$ASSAY" query --list fastest
code 1 "$ASSAY" query fastest
has err 'there is no database'
[ ! -e "$ASSAY_DB" ] || fail "a query made a database"

# Who asks for what is not here has not tried it.
if "$ASSAY" detect mps | grep -Eq "^  mps +no"; then
	code 2 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on mps --db "$work/absent.duckdb"
	code 0 "$ASSAY" query untested --on mps --db "$work/absent.duckdb" --json
	json '[(r["platform"], r["here"], bool(r["reason"])) for r in d] == [("mps", False, True)]'
fi

# A database of the null engine: it computes nothing, and no question about times counts it unless it is asked for.
"$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null,null:fail=run@1 --runs 11 >/dev/null 2>"$work/err"
code 0 "$ASSAY" query fastest --json
json 'd == []'
has err 'left out: 1 row of the null engine'
code 0 "$ASSAY" query fastest --on null --format json
json 'len(d) == 1 and d[0]["platform"] == "null" and d[0]["samples"] == 11 and d[0]["row"] == 1'
empty err
code 0 "$ASSAY" query failures --json
json 'len(d) == 1 and d[0]["n"] == 1 and d[0]["platforms"] == "null" and d[0]["last_row"] == 2'
code 0 "$ASSAY" query coverage --format csv
has out '^null,2,1,1,'
code 1 "$ASSAY" query failures --model nothing-of-that-name --json
has err 'has no row of a model "nothing-of-that-name"$'
empty out
code 1 "$ASSAY" query fastest --on nosuch
has err 'no platform is called "nosuch", and .* has no row of it'
code 0 "$ASSAY" query fastest --on cpu --json          # there is one, and nobody asked it
json 'd == []'
for name in $names; do
	code 0 "$ASSAY" query "$name" --format md --limit 3
	has out '^\| '
done

# A wide table: what is the same in every row is said once, and columns without a value are left out.
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --batch 1,2 --runs 3 --db "$work/wide.duckdb"
code 0 "$ASSAY" query fastest --on null --db "$work/wide.duckdb"
has out '^every row: .*platform null'
has out '^batch  '
lacks out 'switched_from'
code 0 "$ASSAY" query fastest --on null --db "$work/wide.duckdb" --format csv
has out '^model,files,published_as,weights,'

# SQL as ever; one word that begins a statement is SQL too.
code 0 "$ASSAY" query 'SELECT count(*) AS n FROM result' --json
json 'd == [{"n": 2}]'
# The shortest digits that are read as the same number of the column's type.
code 0 "$ASSAY" query --json "SELECT CAST(0.212 AS FLOAT) AS f, CAST(0.1 AS DOUBLE) + 0.2 AS d, CAST('nan' AS DOUBLE) AS n, 1e300 AS big, 'a\"b' AS t"
has out '^    "f": 0\.212,$'
json 'd == [{"f": 0.212, "d": 0.1 + 0.2, "n": "nan", "big": 1e300, "t": "a\"b"}]'
# Numbers and times are in the words of DuckDB's own cast.
code 0 "$ASSAY" query --format csv "SELECT 1e-7::DOUBLE, 1e16::DOUBLE, 1e15::DOUBLE, '290000-01-01'::TIMESTAMP, '0044-03-15 (BC) 01:02:03.000004'::TIMESTAMP, 'infinity'::TIMESTAMP"
has out '^1e-07,1e\+16,1000000000000000\.0,290000-01-01 00:00:00,0044-03-15 \(BC\) 01:02:03\.000004,infinity$'
code 0 "$ASSAY" query 'FROM(SELECT 1 AS n)' --format csv
has out '^1$'
code 1 "$ASSAY" query select
has err 'Parser Error'
finish
