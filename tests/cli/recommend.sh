# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# assay recommend: rows that there are, one that is not chosen, nothing to choose from, bad use.
. "$SOURCE/tests/cli/lib.sh"
need_python

bert=$SOURCE/tests/conform/cases/bert
code 1 "$ASSAY" recommend "$bert"
has err "there is no database"
code 0 "$ASSAY" run "$bert" --on cpu --synthetic --runs 11 --no-conform
code 0 env ASSAY_NULL="cuda" "$ASSAY" run "$bert" --on cuda --synthetic --runs 11 --no-conform

code 0 "$ASSAY" recommend "$bert"
has out "^$bert, for latency: batch 1, "
has out '^  use +cpu: .*; row 1$'
has out "^  measure it +assay run $bert --on cpu:CPU --runs 11 --synthetic --no-conform$"
has out '^  left out +cuda: the null engine stood in for it: nothing was computed$'
lacks out PREDICTED
code 0 "$ASSAY" recommend "$bert" --json
json 'd["for"] == "latency" and [c["row"] for c in d["choices"]] == [1] and d["predictions"] == [] and d["prediction_test"] is None'
json 'd["choices"][0]["predicted"] is False and d["choices"][0]["figure"] > 0 and d["left_out"][0]["use"] == "cuda"'

# What came from another database is said to.
code 0 "$ASSAY" export rows.json
code 0 "$ASSAY" import rows.json --db "$work/imported.duckdb"
code 0 "$ASSAY" recommend "$bert" --db "$work/imported.duckdb"
has out '^  use +cpu: .*; row 1, imported from another database$'

# Nor does what was asked for another length.
code 2 "$ASSAY" run "$bert" --on cpu --synthetic --no-conform --seq 1000 --db "$work/imported.duckdb"
code 0 "$ASSAY" recommend "$bert" --db "$work/imported.duckdb"
has out '^ +cpu: unsupported with 1000 tokens, which is another question$'

# Rows of another batch answer another question, and how to ask it is said.
code 0 "$ASSAY" run "$bert" --on cpu --synthetic --runs 11 --no-conform --batch 4 --db "$work/batch.duckdb"
code 2 "$ASSAY" recommend "$bert" --db "$work/batch.duckdb"
has out '^  left out +cpu: has batch 4: --batch 4$'
code 0 "$ASSAY" recommend "$bert" --db "$work/batch.duckdb" --batch 4
lacks out 'left out'

code 0 "$ASSAY" recommend "$bert" --for cost --price cpu=0.10EUR
has out 'EUR a million samples'
code 0 "$ASSAY" recommend "$bert" --for memory
has out 'MiB at the peak'
code 2 "$ASSAY" recommend "$bert" --max-memory 0.001
has out 'more than 1.02 MiB'
code 2 "$ASSAY" recommend "$SOURCE/tests/conform/cases/vit"
has out 'there is no row of this model here'
has out 'no guess +cpu: too few models to predict from: 1 have a time here, and 10 are needed'
for goal in memory throughput; do
	code 2 "$ASSAY" recommend "$SOURCE/tests/conform/cases/vit" --for $goal
	has out '^  no guess +cpu: only times are predicted: --for latency$'
	lacks out 'too few models'
done
code 1 "$ASSAY" recommend bert-base-uncasd
has err 'bert-base-uncasd: no such folder, .*the nearest known names are google-bert/bert-base-uncased'
code 0 "$ASSAY" run "$bert" --on cpu --synthetic --runs 11 --no-conform --threads 1,2,3,4,5,6,7
code 0 "$ASSAY" recommend "$bert"
has out '^ +and [12] more, which --json has$'
code 1 "$ASSAY" recommend "$bert" --for cost
has err 'cost needs prices'
code 1 "$ASSAY" recommend "$bert" --for speed
has err '^assay: --for speed: there are latency, throughput, memory and cost$'
finish
