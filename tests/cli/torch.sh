# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Models published as pytorch_model.bin, from both layouts of torch.save: what transformers computed with those weights is what
# comes out, on every engine that is here; inspect says what was copied; a pickle that wants more than tensors is refused by name.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
for model in bert llama; do
	case=$SOURCE/tests/conform/cases/$model
	for how in zip stream views sharded; do
		folder=$work/$model-$how
		python3 "$SOURCE/tests/cli/torch_file.py" "$case" "$folder" $how || fail "no folder for $model, $how"
		for platform in cpu openvino; do
			has_platform $platform || continue
			code 0 "$ASSAY" run "$folder" --on $platform --runs 1 --no-conform --golden "$case/io.safetensors" --json
			json 'd[0]["verdict"] == "right" and d[0]["reference"] == "golden" and d[0]["weights"] == "real"'
		done
	done
done

# The same parameters as the case has; tensors written column by column were copied, and only those.
code 0 "$ASSAY" inspect "$work/bert-zip" --json
json 'd["parameters"] == 20141 and d["copied_tensors"] == 0 and d["copied_bytes"] == 0 and d["ignored"] == []'
code 0 "$ASSAY" inspect "$work/bert-views" --json
json 'd["parameters"] == 20141 and d["copied_tensors"] == 16 and 0 < d["copied_bytes"] < 4 * 20141 and d["ignored"] == ["epoch"]'
code 0 "$ASSAY" inspect "$work/bert-views"
has out '^copied: 16 tensors, '
has out '^not tensors, left aside: epoch$'

# Copies never go into the user's folder.
[ "$(ls "$work/bert-views")" = "$(printf 'config.json\npytorch_model.bin')" ] || fail "something was written beside the weights"

# A folder for somebody else's program has them, and the graph there is right.
if has_platform cpu; then
	code 0 "$ASSAY" build "$work/llama-views" -o "$work/onnx" --platform cpu
	[ -s "$work/onnx/pytorch_model.views.safetensors" ] || fail "the copies are not beside the graph"
	code 0 "$ASSAY" run "$work/onnx/model.onnx" --on cpu --runs 1 --no-conform --golden "$SOURCE/tests/conform/cases/llama/io.safetensors" --json
	json 'd[0]["verdict"] == "right" and d[0]["reference"] == "golden"'
fi

python3 "$SOURCE/tests/cli/torch_file.py" "$SOURCE/tests/conform/cases/bert" "$work/evil" evil
code 1 "$ASSAY" inspect "$work/evil"
empty out
has err 'pytorch_model\.bin: its pickle asks for (posix|nt|os)\.system;'
code 2 "$ASSAY" run "$work/evil" --on null --no-conform --json
json 'd[0]["verdict"] == "unsupported" and ".system" in d[0]["cause"]'

# Weights that somebody trained are not replaced by synthetic ones.
code 1 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert-zip"
has err 'not synthetic'
finish
