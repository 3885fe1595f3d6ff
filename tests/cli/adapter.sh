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

# Other weights than the file of the model's, by what lies in the folder or what its configuration names: transformers takes those.
cp -rL "$data/base-llama" "$work/both" && chmod -R u+w "$work/both"
cp "$work/lora/"* "$work/both"
code 1 "$ASSAY" inspect "$work/both"
has err 'both: has an adapter beside the weights of its model, which transformers merges into them'
rm "$work/both/adapter_config.json"
sed -i 's/^{/{"transformers_weights": "adapter_model.safetensors",/' "$work/both/config.json"
code 1 "$ASSAY" inspect "$work/both"
has err 'both/config.json: "transformers_weights" names adapter_model.safetensors, which is not read yet in the place of model.safetensors'
sed -i 's/"adapter_model.safetensors",/"model.safetensors",/' "$work/both/config.json"
code 0 "$ASSAY" inspect "$work/both"

# The base alone has other outputs: the adapter's golden file says that it is wrong.
if has_platform cpu; then
	code 3 "$ASSAY" run "$data/base-llama" --on cpu --runs 1 --no-conform --golden "$data/lora/io.safetensors" --json
	json 'd[0]["verdict"] == "wrong" and d[0]["weights_from"] is None'
fi

# By its name in the Hub's cache.
mkdir -p "$HF_HUB_CACHE/models--org--lora/snapshots"
cp -r "$work/lora" "$HF_HUB_CACHE/models--org--lora/snapshots/0123456789012345678901234567890123456789"
code 0 "$ASSAY" inspect org/lora --json
json 'd["parameters"] == 11872 and d["type"] == "llama"'

# A pipeline of it: the base model's files, and the answer of the merged model, which is not that of the base alone.
if has_platform cpu; then
	cp -r "$data/base-llama" "$work/base"
	chmod -R u+w "$work/base"
	cp -r "$work/base" "$work/merged"
	cp -r "$work/lora" "$work/asked"
	sed -i "s|$data/base-llama|$work/base|" "$work/asked/adapter_config.json"
	python3 - "$work" "$data/lora/expected.safetensors" <<'PY'
import json, struct, sys
work, expected = sys.argv[1:]
def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in head.items()}
tensors = read(work + "/base/model.safetensors")
tensors.update(read(expected))
head, body = {}, b""
for name, (dtype, shape, data) in tensors.items():
    head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
    body += data
head = json.dumps(head).encode()
open(work + "/merged/model.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + body)
words = {"w%d" % i: i for i in range(64)}
for name in "base", "merged":
    json.dump({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
        "decoder": None, "model": {"type": "WordLevel", "vocab": words, "unk_token": "w3"}}, open("%s/%s/tokenizer.json" % (work, name), "w"))
PY
	for name in base merged asked; do
		code 0 "$ASSAY" pipeline --no-db --no-reference "$work/$name" 'w5 w9 w33 w7' --option max_new_tokens=8 --json
		json 'd["task"] == "text-generation" and d["weights"] == "real"'
		cp "$work/out" "$work/$name.json"
	done
	json 'd["answers"] == json.load(open(work + "/merged.json"))["answers"] and d["answers"] != json.load(open(work + "/base.json"))["answers"]'
fi
# Its base is not here: said before anything is a row.
cp -r "$work/lora" "$work/lost"
sed -i "s|$data/base-llama|$work/nowhere|" "$work/lost/adapter_config.json"
for command in 'inspect' 'run --on null' 'pipeline --on null'; do
	words=
	[ "$command" = 'pipeline --on null' ] && words=w5
	# shellcheck disable=SC2086
	code 1 "$ASSAY" $command "$work/lost" $words
	has err "^assay: $work/lost: an adapter .adapter_config.json., whose base model is not here: $work/nowhere: there is no such"
done

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
