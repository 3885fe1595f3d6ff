#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# `assay query` and `assay report` on a database made by the null engine: formats, refusals, and both while a run goes on.
set -euo pipefail
skipped=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export ASSAY_CACHE="$work/cache" ASSAY_DB="$work/a.duckdb"

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { [ "$1" = "$2" ] || fail "expected '$2', got '$1'"; }
refused() { # words, command...: exit 1 and a sentence with the words
	local words=$1 code=0 text
	shift
	text=$("$@" 2>&1 >/dev/null) || code=$?
	expect "$code" 1
	case $text in *"$words"*) ;; *) fail "'$text' does not say '$words'" ;; esac
}

refused "there is no database" "$ASSAY" query 'SELECT 1'
refused "there is no database" "$ASSAY" report
[ ! -e a.duckdb ] || fail "a query made a file"
refused "unknown format" "$ASSAY" query --format xml 'SELECT 1'
refused "unknown format" "$ASSAY" report --format pdf

mkdir model
cat >model/config.json <<'JSON'
{ "model_type": "bert", "architectures": ["BertModel"], "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
  "intermediate_size": 37, "max_position_embeddings": 64, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0 }
JSON
"$ASSAY" run model --synthetic --on null,null:fail=run@3 --runs 11 >/dev/null 2>run.err && fail "a failing cell must not exit 0"
expect "$("$ASSAY" query --format csv 'SELECT count(*) AS n FROM result')" "$(printf 'n\n2')"
expect "$("$ASSAY" query --format csv "SELECT 'a,b' AS x, NULL AS y, '' AS z")" "$(printf 'x,y,z\n"a,b",,""')"
expect "$("$ASSAY" query "SELECT 1 AS n, 'é' AS t, NULL AS nothing")" "$(printf 'n  t  nothing\n-  -  -------\n1  é     NULL\n(1 row)')"
expect "$("$ASSAY" query --format md "SELECT 'a|b<' AS x")" "$(printf '| x |\n| --- |\n| a\\|b&lt; |')"
expect "$("$ASSAY" query --format json 'SELECT 1 AS i, 1.5 AS d, true AS b, NULL AS n, 2 AS i' | tr -d ' \n')" '[{"i":1,"d":1.5,"b":true,"n":null,"i_2":2}]'
refused "read-only" "$ASSAY" query 'DELETE FROM cell'
refused "Parser Error" "$ASSAY" query 'SELEKT 1'
refused "did you mean 'fastest'?" "$ASSAY" query fastets
refused "too few arguments" "$ASSAY" query
expect "$("$ASSAY" query --format csv 'SELECT count(*) FROM hardware_results' | tail -1)" 2
# Every query that docs/SCHEMA.md shows runs.
awk '/^```sql/ { on = 1; next } /^```/ { on = 0 } on' "$SOURCE/docs/SCHEMA.md" >all.sql
while IFS= read -r -d ';' sql; do
	"$ASSAY" query "$sql" >/dev/null || fail "a query of docs/SCHEMA.md does not run: $sql"
	asked=$((${asked:-0} + 1))
done <all.sql
[ "$asked" -ge 5 ] || fail "only $asked queries were found in docs/SCHEMA.md"

"$ASSAY" report >report.md
head -1 report.md | grep -q '^# ' || fail "the Markdown report has no title"
"$ASSAY" report -o report.html
grep -q '^<!doctype html>' report.html || fail "no HTML"
# -o goes where a shell's > would: through a link, into a pipe; what is full is an error and stays what it is.
ln -s pointed.md link.md
mkfifo pipe.md
cat pipe.md >piped.md & reader=$!
"$ASSAY" report -o link.md
"$ASSAY" report -o pipe.md
wait $reader
[ -L link.md ] && [ -p pipe.md ] || fail "-o replaced a link or a pipe"
head -1 pointed.md | grep -q '^# ' || fail "-o did not follow a link"
head -1 piped.md | grep -q '^# ' || fail "-o did not write into a pipe"
if mknod full.md c 1 7 2>/dev/null && : 2>/dev/null >full.md; then
	refused "No space left on device" "$ASSAY" report -o full.md
	[ -c full.md ] || fail "-o replaced a device"
fi
"$ASSAY" report --format json -o report.json
ask() { "$BUILD/tests/duckdb_shell" :memory: "$1"; }
expect "$(ask "SELECT rows FROM read_json('report.json')")" 2
# Each other format is what its name says: readers of the format take it, and YAML says what JSON says.
for format in yaml junit matrix matrix-yaml; do
	"$ASSAY" report --format $format -o report.$format
done
expect "$("$ASSAY" report --format yaml | grep -c '^"rows": 2$')" 1
for name in report.yaml report.yml; do
	"$ASSAY" report -o $name
	grep -q '^"assay": "' $name || fail "$name is no YAML"
done
"$ASSAY" report -o report.xml
grep -q '^<testsuites name="assay" tests="2" failures="1" errors="0" skipped="1"' report.xml || fail "$(sed -n 2p report.xml)"
expect "$(ask "SELECT json_extract_string(content, '$.encoder-only.null.performance'), json_extract(content, '$.encoder-only.null.rows') FROM read_text('report.matrix')")" "n/a|2"
expect "$(ask "SELECT json_extract(content, '$.encoder-only.null.compatible') FROM read_text('report.matrix')")" "null"
refused "is no price" "$ASSAY" report --price cpu
refused "no platform 'abacus'" "$ASSAY" report --price abacus=1
"$ASSAY" report --price null=0.36EUR >priced.md
grep -q '^## Cost' priced.md && fail "what computes nothing has a cost"
# Python reads the formats where it has a reader.
for python in python3 /usr/bin/python3; do
	"$python" -c 'import yaml' 2>/dev/null && break
	python=
done
if [ -n "$python" ]; then
	"$python" - <<'PY' || fail "a YAML reader reads something else than the JSON"
import json, yaml
x, y = json.load(open("report.json")), yaml.safe_load(open("report.yaml"))
x["made_at"] = y["made_at"]
assert x == y
assert json.load(open("report.matrix")) == yaml.safe_load(open("report.matrix-yaml"))
PY
else
	echo "skip: no YAML reader is here (python3-yaml), so only the unit test's exact text was checked"
	skipped=77
fi
if command -v xmllint >/dev/null; then
	xmllint --noout report.junit
elif command -v python3 >/dev/null; then
	python3 -c 'import xml.etree.ElementTree as x; r = x.parse("report.junit").getroot(); assert len(r.findall("testsuite/testcase")) == 2' || fail "no XML"
fi
refused "nowhere/x.md" "$ASSAY" report -o nowhere/x.md
echo junk >junk.duckdb
refused "not a valid DuckDB" "$ASSAY" report --db junk.duckdb

# While a run goes on, its cell shows as running; after kill -9 of the run it reads as interrupted.
"$ASSAY" run model --synthetic --on null:hang=run@1 --timeout 60 >/dev/null 2>&1 &
run=$!
for _ in $(seq 200); do
	state=$("$ASSAY" query --format csv 'SELECT state FROM result ORDER BY id DESC LIMIT 1' | tail -1)
	[ "$state" = running ] && break
	sleep 0.1
done
expect "$state" running
"$ASSAY" report >report.md
grep -q 'running' report.md || fail "the report does not show the running cell"
kill -9 "$run"
wait "$run" 2>/dev/null || true
expect "$("$ASSAY" query --format csv 'SELECT verdict FROM result ORDER BY id DESC LIMIT 1' | tail -1)" interrupted
[ "$skipped" = 0 ] || exit 77
echo ok
