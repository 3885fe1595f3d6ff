# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# What a maintainer of a hub of models does in the first hour, and what each step must show: what of a folder of uploads runs where, with
# a type that nobody has built, a download that was cut off and a Ctrl-C among them; nothing is lost, nothing is measured twice, and the
# answers go to others as files.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
cases=$SOURCE/tests/conform/cases
cd "$work" || exit 1
for name in bert gpt2 t5 resnet; do
	"$ASSAY" synth "$cases/$name" -o "$name" >/dev/null || fail "no checkpoint of $name"
done
mkdir novel broken
sed 's/"model_type": "gpt2"/"model_type": "novelty"/' gpt2/config.json >novel/config.json
cp bert/config.json broken && head -c 5000 bert/model.safetensors >broken/model.safetensors

# An upload of a type that is not built: an answer all the same.
code 2 "$ASSAY" inspect novel
has out '^not supported yet: .*the model type novelty'
has out '^most like: gpt2, of family decoder'

# All of them, and Ctrl-C when three answers are there. What was answered is kept.
all="--models bert,gpt2,t5,resnet,novel,broken --on cpu,null:sleep_ms=20 --runs 3 --no-conform --output-dir site"
# shellcheck disable=SC2086
env --default-signal=INT "$ASSAY" matrix $all >first.out 2>first.err </dev/null &
pid=$!
for _ in $(seq 1200); do
	grep -q '^\[3/12\]' first.err first.out && break
	sleep 0.05
done
kill -INT $pid
wait $pid && fail "an interrupted matrix ends with 0"
answered()
{
	"$ASSAY" query "SELECT count(*) AS n FROM result WHERE verdict NOT IN ('interrupted', 'not_asked')" --db site/assay.duckdb --json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["n"])'
}
kept=$(answered)
[ "$kept" -ge 3 ] && [ "$kept" -lt 12 ] || fail "$kept answers are kept of the first run"
# shellcheck disable=SC2086
code 2 "$ASSAY" matrix $all --resume
# Asked once more there is nothing left to do.
# shellcheck disable=SC2086
"$ASSAY" matrix $all --resume >again.out 2>again.err </dev/null
grep -q "^Time: about .*, less what --resume finds finished" again.out || fail "the plan counts what is finished"
[ "$(grep -hc '^\[[0-9]*/12\] .*: finished before, row' again.err)" = 12 ] || fail "what is finished was measured again"
[ "$(answered)" = 12 ] || fail "$(answered) answers, not 12"

# What runs and what does not, each with its reason.
code 0 "$ASSAY" query "SELECT model, requested, verdict, cause FROM result ORDER BY model, requested" --db site/assay.duckdb --json
d12="[r for r in d if r['verdict'] != 'interrupted']"
json "len($d12) == 12 and sum(r['verdict'] == 'right' for r in $d12) == 8"
json 'all("the model type novelty is not supported" in r["cause"] for r in d if r["model"] == "novel")'
json 'all("it is cut off; download it again" in r["cause"] for r in d if r["model"] == "broken")'
for file in report.html report.md matrix.json matrix.yaml; do
	[ -s site/$file ] || fail "no site/$file"
done
grep -q 'novelty' site/report.md || fail "the report does not say why novel does not run"

# To others and back: nothing twice.
code 0 "$ASSAY" export -o result.csv result --db site/assay.duckdb
[ "$(tail -n +2 result.csv | wc -l)" -ge 12 ] || fail "result.csv has not every answer"
code 0 "$ASSAY" import site/assay.duckdb --db other.duckdb
code 0 "$ASSAY" import site/assay.duckdb --db other.duckdb
code 0 "$ASSAY" query "SELECT count(*) AS n FROM result WHERE verdict <> 'interrupted'" --db other.duckdb --json
json 'd[0]["n"] == 12'
code 0 "$ASSAY" query coverage --db other.duckdb
has out '^cpu '
finish
