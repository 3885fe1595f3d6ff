# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Adapters as peft saves them: a folder with adapter_config.json is its base model with the adapter merged; the outputs are those of the model
# that peft merged, the row says what was merged, and a row of the adapter is none of its base.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
data=$SOURCE/tests/unit/data/adapters
for name in lora rslora-patterns fan-in-fan-out; do
	base=base-llama
	[ $name = fan-in-fan-out ] && base=base-gpt2
	mkdir "$work/$name"
	cp "$data/$name/adapter_model.safetensors" "$work/$name"
	sed "s|\"BASE\"|\"$data/$base\"|" "$data/$name/adapter_config.json" >"$work/$name/adapter_config.json"
	for platform in cpu openvino; do
		has_platform $platform || continue
		code 0 "$ASSAY" run "$work/$name" --on $platform --runs 1 --no-conform --golden "$data/$name/io.safetensors" --json
		json 'd[0]["verdict"] == "right" and d[0]["reference"] == "golden" and d[0]["weights_from"].startswith("LoRA adapter of rank ")'
	done
done
code 0 "$ASSAY" inspect "$work/lora"
has out '^published as: LoRA adapter of rank 4 \(alpha 8\), 3 weights merged into its base model, 1 replaced '
code 0 "$ASSAY" inspect "$work/lora" --json
json 'd["parameters"] == 11872 and d["type"] == "llama"'

# The base alone has other outputs: the adapter's golden file says that it is wrong.
if has_platform cpu; then
	code 3 "$ASSAY" run "$data/base-llama" --on cpu --runs 1 --no-conform --golden "$data/lora/io.safetensors" --json
	json 'd[0]["verdict"] == "wrong" and d[0]["weights_from"] is None'
fi

# Another scale is another model: nothing of the first is used.
if has_platform cpu; then
	sed -i 's/"lora_alpha": 8/"lora_alpha": 16/' "$work/lora/adapter_config.json"
	code 3 "$ASSAY" run "$work/lora" --on cpu --runs 1 --no-conform --golden "$data/lora/io.safetensors" --json
	json 'd[0]["verdict"] == "wrong"'
fi

# fan_in_fan_out is what the kind of the base's layer says, as in peft, whatever the configuration says.
if has_platform cpu; then
	sed -i 's/"fan_in_fan_out": true/"fan_in_fan_out": false/' "$work/fan-in-fan-out/adapter_config.json"
	code 0 "$ASSAY" run "$work/fan-in-fan-out" --on cpu --runs 1 --no-conform --golden "$data/fan-in-fan-out/io.safetensors" --json
	json 'd[0]["verdict"] == "right"'
fi

# A configuration that contradicts the file is refused by name.
contradicts()
{
	cp -r "$work/rslora-patterns" "$work/other"
	python3 - "$work/other/adapter_config.json" "$1" <<'PY'
import json, sys
config = json.load(open(sys.argv[1])); config.update(json.loads(sys.argv[2])); json.dump(config, open(sys.argv[1], "w"))
PY
	code 1 "$ASSAY" inspect "$work/other"
	has err "$2"
	rm -r "$work/other"
}
contradicts '{"target_modules": ["nothing"]}' 'has matrices for .*, which the configuration leaves out'
contradicts '{"layers_to_transform": [77]}' 'which the configuration leaves out'
contradicts '{"alpha_pattern": {"q_proj": "32", "v_proj": "32", "down_proj": []}}' 'rank_pattern or alpha_pattern of .* is no number'

sed -i 's/"use_dora": false/"use_dora": true/' "$work/lora/adapter_config.json"
code 2 "$ASSAY" run "$work/lora" --on null --no-conform --json
json 'd[0]["verdict"] == "unsupported" and "\"use_dora\" are not read yet" in d[0]["cause"]'
finish
