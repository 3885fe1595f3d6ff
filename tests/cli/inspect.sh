# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# inspect: a folder with nothing but a configuration, a published name, a checkpoint, and what is not supported.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python

code 0 "$ASSAY" inspect "$SOURCE/tests/conform/cases/bert"
empty err
has out '^where: folder'
has out 'bert'
has out '^parameters: [0-9]+ \(as the configuration says; no weights here\)$'
has out '^bytes: f32 [0-9.]+ [KM]iB$'
has out '^memory: .* to .* \(predicted from sizes, not measured'

# The parameters of bert-base with its masked-lm head: 109,514,298 with the decoder tied to the embeddings.
code 0 "$ASSAY" inspect bert-base-uncased --json
empty err
json 'd["supported"] is True and d["reason"] is None'
json 'all(k in d for k in "model type family dialect traits parameters bytes_by_dtype memory weights path".split())'
json 'd["type"] == "bert" and d["family"] == "encoder" and d["weights"] == "absent" and d["path"] is None'
json 'd["parameters"] == 109514298 and d["bytes_by_dtype"] == {"f32": 4 * 109514298}'
json 'd["memory"]["predicted"] is True and 4 * d["parameters"] < d["memory"]["low_bytes"] < d["memory"]["high_bytes"]'
# What ONNX Runtime and OpenVINO took of it, 581 and 957 MiB, is within, and the range ends not far above.
json 'd["memory"]["low_bytes"] < 581 * 2**20 and 957 * 2**20 < d["memory"]["high_bytes"] < 1.1 * 957 * 2**20'
# A configuration that asks for another dtype: 2 bytes a parameter.
code 0 "$ASSAY" inspect Qwen/Qwen2-0.5B-Instruct --json
json 'd["type"] == "qwen2" and d["family"] == "decoder" and d["bytes_by_dtype"] == {"bf16": 2 * d["parameters"]}'

# Of a mixture of experts: how many, how many a token is given to, what it is computed with. Two layers of 4 experts with three
# matrices of 32 x 24 each; 2 are not chosen.
code 0 "$ASSAY" inspect "$SOURCE/tests/conform/cases/qwen3_moe"
has out '^sizes: .* experts 4 experts_chosen 2 expert_size 24'
has out '^active: 28848 parameters for a token, which is given to 2 of 4 experts$'
code 0 "$ASSAY" inspect "$SOURCE/tests/conform/cases/qwen3_moe" --json
json 'd["parameters"] - d["active_parameters"] == 2 * 2 * 3 * 32 * 24 and d["sizes"]["experts_chosen"] == 2'
code 0 "$ASSAY" inspect "$SOURCE/tests/conform/cases/bert" --json
json '"active_parameters" not in d and "experts" not in d["sizes"]'

# What is written is what is read back.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert" --dtype f16
code 0 "$ASSAY" inspect "$SOURCE/tests/conform/cases/bert" --json
cp "$work/out" "$work/planned"
code 0 "$ASSAY" inspect "$work/bert" --json
json 'd["weights"] == "present" and list(d["bytes_by_dtype"]) == ["f16"]'
json "d['parameters'] == __import__('json').load(open('$work/planned'))['parameters']"

# Not supported: an answer with a sentence, exit code 2.
mkdir "$work/strange"
echo '{"model_type": "perpetuum", "architectures": ["PerpetuumModel"]}' >"$work/strange/config.json"
code 2 "$ASSAY" inspect "$work/strange"
has out '^type: perpetuum$'
has out '^not supported yet: .*perpetuum'
code 2 "$ASSAY" inspect "$work/strange" --json
json 'd["supported"] is False and "perpetuum" in d["reason"] and d["type"] == "perpetuum" and d["parameters"] is None'

# What it is most like, and what is not that type's: keys, parts, tensors.
python3 - "$SOURCE/tests/conform/cases/bert/config.json" "$work/strange/config.json" <<'END'
import json, sys
config = json.load(open(sys.argv[1]))
config.update(model_type='perpetuum', flywheel_size=3, tower_config={'model_type': 'vit'}, motor_config={'model_type': 'steam'})
json.dump(config, open(sys.argv[2], 'w'))
END
cp "$work/bert/model.safetensors" "$work/strange/"
code 2 "$ASSAY" inspect "$work/strange"
has out '^not supported yet: .* most like that of '
has out '^most like: .*, of family encoder: .* not .*flywheel_size'
has out '^tensors: '
has out '^parts: tower_config: vit, supported; motor_config: steam, not supported$'
code 2 "$ASSAY" inspect "$work/strange" --json
json 'd["like"]["family"] == "encoder" and d["like"]["keys"] - d["like"]["keys_shared"] == 3 and d["like"]["kinds"] > 20'
rm "$work/strange/model.safetensors"

# Files that cannot be read: exit code 1, the sentence names the file.
echo '{"model_type": ' >"$work/strange/config.json"
code 1 "$ASSAY" inspect "$work/strange"
empty out
has err 'config\.json'
cp "$SOURCE/tests/conform/cases/bert/config.json" "$work/strange/config.json"
head -c 1000 "$work/bert/model.safetensors" >"$work/strange/model.safetensors"
code 1 "$ASSAY" inspect "$work/strange"
empty out
has err 'model\.safetensors'
code 1 "$ASSAY" inspect "$work/none"
has err 'none'

# An .onnx file that assay did not build: what it holds, which versions the engines take, and who would refuse it.
onnx()
{
	python3 "$SOURCE/tests/cli/tiny_onnx.py" "$work/$1.onnx" "$2" "$3" "$4" || fail "$1.onnx was not written"
}
onnx open MatMul,Relu,Relu x:batch,8 y:batch,8
code 0 "$ASSAY" inspect "$work/open.onnx"
has out '^format: ONNX, IR version 8 \(onnxruntime [0-9.]+ takes up to [0-9]+\)$'
has out '^opset: 17 of ai.onnx \(onnxruntime [0-9.]+ takes [0-9]+ to [0-9]+\)$'
has out '^input x: f32 \[batch,8\]$'
has out '^nodes: 3, operators: 2$'
has out '^ +2 Relu$'
has out '^parameters: 64$'
has out '^shapes fixed for: qnn, webnn.*; `assay run` gives open dimensions the numbers'
lacks out '^refused by qnn'
lacks out '^weights in'
code 0 "$ASSAY" inspect "$work/open.onnx" --json
json 'd["inputs"] == [{"name": "x", "dtype": "f32", "shape": ["batch", 8]}] and d["operators"][1] == {"domain": "", "operator": "Relu", "count": 2, "function": False}'
json 'd["ir_version"] == 8 and d["opsets"] == [{"domain": "", "version": 17}] and d["bytes_by_dtype"] == {"f32": 256} and d["external"] == []'
onnx fixed Gelu x:4,8 y:4,8
code 0 "$ASSAY" inspect "$work/fixed.onnx" --json
json '{"platform": "cpu", "why": "Gelu is there since opset 20, the file imports 17"} in d["refusals"]'
json 'not [r for r in d["refusals"] if r["platform"] in (None, "openvino")]' # which does not look at the opset
# An operator that no opset has is refused by both engines, each where it was measured; one of old files is known to OpenVINO.
onnx unknown Relu,Frobnicate x:4,8 y:4,8
code 0 "$ASSAY" inspect "$work/unknown.onnx"
has out '^refused by cpu: ort [0-9.]+ knows no operator Frobnicate: ai\.onnx has none up to opset [0-9]+$'
has out '^refused by openvino: openvino [0-9.]+ knows no operator Frobnicate'
lacks out 'refused by: no platform'
onnx old Affine x:4,8 y:4,8
code 0 "$ASSAY" inspect "$work/old.onnx"
has out '^refused by cpu: .* knows no operator Affine'
lacks out '^refused by openvino'
# The tiny writer's last two bytes are the opset.
onnx plain Relu x:4,8 y:4,8
code 0 "$ASSAY" inspect "$work/plain.onnx"
has out '^refused by: no platform, as far as the file alone tells$'
(head -c -1 "$work/plain.onnx" && printf '\143') >"$work/new.onnx"
code 0 "$ASSAY" inspect "$work/new.onnx"
has out '^refused by cpu: ort [0-9.]+ takes opsets up to [0-9]+ of ai.onnx$'
lacks out '^refused by openvino'
# An operator without a name is in no list of words; looking for it once never ended.
onnx nameless '' x:4,8 y:4,8
"$ASSAY" inspect "$work/nameless.onnx" >"$work/out" 2>"$work/err" || :
head -c 30 "$work/open.onnx" >"$work/cut.onnx"
code 1 "$ASSAY" inspect "$work/cut.onnx"
empty out
has err 'cut\.onnx: not a readable ONNX file'

# Traits are those that the graph has: no rope where positions are embedded or a bias, words for what is one of several, a head where one is.
trait() { code 0 "$ASSAY" inspect "$SOURCE/tests/conform/cases/$1" --json; json "$2"; }
trait gpt2 '"rope" not in d["traits"] and "tied-head" in d["traits"]'
trait opt '"rope" not in d["traits"]'
trait bloom '"rope" not in d["traits"] and {"alibi", "qkv-by-head"} <= set(d["traits"])'
trait llama '"rope" in d["traits"]'
trait gpt2-model '"tied-head" not in d["traits"]'

# A count that the file has under a later word is not the class's default of an earlier one.
mkdir "$work/few"
echo '{"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 1, "num_experts": 4, "num_experts_per_tok": 2}' >"$work/few/config.json"
code 0 "$ASSAY" inspect "$work/few"
has out 'given to 2 of 4 experts'

# No engine, no database: nothing was written and nothing foreign was loaded.
[ -e "$ASSAY_DB" ] && fail "inspect made a database"
finish
