# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# What a buyer of accelerators does in the first hour, and what each step must show: models of which only the configuration is there, what
# this machine has, what would fit, what was measured and what is only predicted; nothing made up or emulated passes for hardware.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
cd "$work" || exit 1
mkdir small large
cp "$SOURCE/tests/conform/cases/llama/config.json" small
python3 - <<'PY'
import json
config = json.load(open("small/config.json"))
config.update(hidden_size=512, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=8, head_dim=64,
              vocab_size=8192)
json.dump(config, open("large/config.json", "w"))
PY

# What is this machine?
code 0 "$ASSAY" detect
has out '^  cpu +yes'
has out '^  cuda +(yes|no)'

# A configuration alone is not run under a name that is not its own: random weights are asked for by name, and every line says so.
code 1 "$ASSAY" run small --on cpu
has err 'only its configuration is here, not its weights; add --synthetic'
code 2 "$ASSAY" run small --synthetic --on cpu,cuda --runs 8 --no-conform
has out '^small on cpu: right \(synthetic weights\)'
has out '^small on cuda: unavailable'
has out '^  hint +`assay doctor cuda`'
has out '^1 right \(synthetic weights\), 1 unavailable'

# What does not fit says what would; --fit takes it, and no row hides that it was taken.
code 2 "$ASSAY" run large --synthetic --on cpu --memory 0.08 --runs 3 --no-conform --json
json 'd[0]["verdict"] == "no_memory" and d[0]["latency_ms"] is None and d[0]["would_fit"][0]["precision"] == "int8-weights"'
code 0 "$ASSAY" run large --synthetic --on cpu --memory 0.08 --runs 3 --no-conform --fit --json
json 'd[0]["verdict"] == "right" and d[0]["precision"] == "int8-weights" and "does not fit" in d[0]["fitted"]'

# How many a second, when it is kept busy; joules, or why there are none.
code 0 "$ASSAY" run small --synthetic --on cpu --scenario offline --runs 8 --no-conform --json
json 'd[0]["scenario"] == "offline" and d[0]["throughput_per_s"] > 0'
json 'd[0]["energy_j_per_sample"] is not None or d[0]["energy_why"]'

# Which one to take: from rows. What nobody ran is called a prediction, or is not said at all.
code 0 "$ASSAY" recommend small
has out '^  use +cpu: .*row [0-9]+$'
has out 'synthetic weights'
has out 'cuda: unavailable'

# The report for those who pay.
code 0 "$ASSAY" report -o report.md
cp report.md "$work/out"
has out 'synthetic weights'
has out 'unavailable'
finish
