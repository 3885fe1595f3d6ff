# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Experts compute the tokens that chose them where the engine can cut by lengths that only the run knows; with fixed shapes every expert
# computes every token. Both give what transformers gave, and the arithmetic that is counted is that of the form.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
quick="--on cpu --runs 1 --no-conform"

# Experts apart, of one tensor, with inputs that are weighed, behind a sparse mixer, with ones that give back what they get.
for case in mixtral gpt_oss llama4_text phimoe longcat_flash; do
	code 0 "$ASSAY" conform "$SOURCE/tests/conform/cases/$case"
	folder=$(find "$ASSAY_CACHE/conform" -mindepth 1 -maxdepth 1 -type d | head -1)
	for form in '' --static; do
		code 0 "$ASSAY" run "$folder" $quick $form --golden "$SOURCE/tests/conform/cases/$case/io.safetensors" --json
		json "d[0]['verdict'] == 'right' and d[0]['form'].endswith('experts-chosen') == (${form:+not }True)"
	done
	rm -rf "$ASSAY_CACHE/conform"
done

# A model without experts has no form of them; ranges for int8-static are measured with all of them.
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic $quick --json
json "'experts' not in d[0]['form']"
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/qwen3_moe" --synthetic $quick --precision int8-static --json
json "d[0]['verdict'] == 'right' and d[0]['form'].find('experts-chosen') > 0"

# A router that gives what is no number chooses experts all the same, so that it is seen.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/mixtral" --dtype f32 -o "$work/nan"
not_a_number "$work/nan" model.layers.0.block_sparse_moe.gate.weight
for form in '' --static; do
	code 3 "$ASSAY" run "$work/nan" $quick $form --json
	json "d[0]['verdict'] == 'wrong' and 'not finite' in d[0]['cause']"
done

# Of 4 experts a token chooses 2: half of their products.
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/mixtral" --synthetic $quick --json
cp "$work/out" "$work/chosen"
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/mixtral" --synthetic $quick --static --json
python3 - "$work/chosen" "$work/out" <<'PY' || fail "the arithmetic is not that of the form"
import json, sys
chosen, every = (json.load(open(f))[0] for f in sys.argv[1:])
print(chosen["flops"], every["flops"])
sys.exit(not (0.4 < chosen["flops"] / every["flops"] < 0.9))
PY
finish
