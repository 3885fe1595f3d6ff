# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# verify: kinds of pipelines x platforms. A grid of verdicts from runs, a cause for each that is not right, rows of the graphs.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
# Bad use: words that are no kind, a platform that is not known, folders that are not there.
code 1 "$ASSAY" verify --task audoi
has err 'no kind of pipelines is called so; did you mean audio\?'
code 1 "$ASSAY" verify --task encodr
has err 'did you mean encoder\?'
code 1 "$ASSAY" verify bert
code 1 "$ASSAY" verify --on cpux --task vision
has err 'cpux'
[ -e "$ASSAY_DB" ] && fail "bad use made a database"

code 0 "$ASSAY" verify --on cpu,null --task vision,rag,encoder
has out '^kind +asked +cpu +null *$'
has out '^text, encoder +graphs +right +(right|unjudged) *$'
has out '^ +answer +right +unjudged *$'
has out '^rag +graphs +right '
lacks out 'decoder'
lacks out '(, on cpu: |wrong|failed)'
has out '^vision, answer, on null: unjudged: the null engine computes nothing'
# A row for each model and platform: a retrieval has two models.
has out "; rows of the graphs in $ASSAY_DB, run:1 of it\$"
code 0 "$ASSAY" query --format csv "SELECT count(*) AS n, count(DISTINCT model) AS m FROM result WHERE weights = 'synthetic'"
has out '^8,4$'

# A platform that is not here: unavailable with its cause, in one line. JSON has every answer.
code 2 "$ASSAY" verify --on cpu,mps --task vision --json
json 'len(d) == 4 and [x["verdict"] for x in d] == ["right", "right", "unavailable", "unavailable"]'
json '[len(x["rows"]) for x in d] == [1, 0, 1, 0] and all(x["kind"] == "vision" for x in d)'
json 'd[0]["cause"] is None and "Apple" in d[3]["cause"]'
has err '^2 right, 2 unavailable; '
has err '^1 of 1 answers: image-classification-vit on cpu: right$'
code 2 "$ASSAY" verify --on mps --task vision
has out '^all on mps: unavailable: .'
lacks out '^vision, '

# Stopped before its first cell: no row is spoken of.
python3 - "$ASSAY_DB" "$work/locked" <<'PY' &
import fcntl, sys, time
with open(sys.argv[1], "r+b") as f:
    fcntl.lockf(f, fcntl.LOCK_EX)
    open(sys.argv[2], "w").close()
    time.sleep(60)
PY
holder=$!
for _ in $(seq 200); do [ -e "$work/locked" ] && break; sleep 0.05; done
: >"$work/err" # nothing of before is taken for its words
"$ASSAY" verify --on null --task vision >"$work/out" 2>"$work/err" &
child=$!
for _ in $(seq 400); do grep -q 'is in use by another program' "$work/err" && break; sleep 0.05; done
kill -INT $child
kill $holder
wait $child
[ $? = 2 ] || fail "a stopped verify does not end with 2: $(cat "$work/err")"
has out '^2 not_asked; no row was written$'
has out '^on null: what is not_asked had not begun when assay was stopped$'
lacks out '^vision, (graphs|answer), on null'
has err '^assay: interrupted .*; 1 cell was not started$'

# What is wrong is seen: another answer of transformers, another model. ASSAY_SHARE has the folders.
mkdir -p "$work/share/conform"
cp -r "$SOURCE/tests/conform/pipeline" "$work/share/conform/pipeline"
chmod -R u+w "$work/share"
export ASSAY_SHARE=$work/share
at=$work/share/conform/pipeline/image-classification-vit
sed -i '0,/"score": 0\.[0-9]*/s//"score": 0.99/' "$at/pipeline.json"
code 3 "$ASSAY" verify --task vision
has out '^vision, answer, on cpu: wrong: answers.0..0..score: 0\.[0-9]*, expected 0\.99$'
has out '^1 right, 1 wrong; '
# A model that is refused, of several: its name.
sed -i 's/"model_type": "bert"/"model_type": "berd"/' "$work/share/conform/pipeline/retrieval-augmented-generation-bert-llama/encoder/config.json"
code 2 "$ASSAY" verify --task rag
has out '^rag, graphs, on cpu: unsupported: .*; of encoder$'
has out '^rag, answer, on cpu: unsupported: '
rm -r "$at"
code 1 "$ASSAY" verify --task vision
has err 'share/assay/conform/pipeline/image-classification-vit is not there'
# Reduced to what is not about it, it works without the others.
code 0 "$ASSAY" verify --task encoder
finish
