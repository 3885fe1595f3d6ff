# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A reduced precision is judged twice, its loss is a figure, and what is not a number is never right.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || skip "cpu is not here, so nothing computes"
has_platform openvino || skip "openvino is not here: without golden outputs nothing judges the graph in float32"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
quick="--on cpu --runs 1 --no-conform"

# Without a golden file a second engine judges the graph; both engines and what was compared are in the row.
code 0 "$ASSAY" run "$work/bert" $quick --precision int4-weights --json
json 'd[0]["verdict"] == "right" and d[0]["graph_verdict"] == "right" and d[0]["arithmetic_verdict"] == "right"'
json 'd[0]["graph_reference"] == "engine:openvino-f32" and d[0]["graph_nmse"] < 1e-8 and d[0]["graph_max_abs_error"] < 1e-4'
json '"dequantised" in d[0]["arithmetic_reference"] and d[0]["arithmetic_nmse"] < 1e-2 < d[0]["nmse"] < 1'
json 'd[0]["bound_by"] and d[0]["left_out"] is not None'
# What MatMulNBits multiplies in nobody confirms.
json 'd[0]["compute_dtype"] is None and d[0]["weights_dtype"] == "f32"'
# Activations that stay float32 leave nothing but float32's rounding.
code 0 "$ASSAY" run "$work/bert" $quick --precision int4-weights:accuracy=1 --json
json 'd[0]["verdict"] == "right" and d[0]["arithmetic_nmse"] < 1e-9 and d[0]["nmse"] > 1e-3'
code 0 "$ASSAY" run "$work/bert" $quick --precision float32 --json
json 'd[0]["graph_verdict"] is None and d[0]["arithmetic_verdict"] is None'

# In a window a padded token may see no key at all: what its own keys are in later layers is no disagreement. Its places are counted.
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/mistral" --synthetic $quick --precision float16 --json
json 'd[0]["verdict"] == "right" and d[0]["arithmetic_nmse"] < 1e-4 and d[0]["left_out"] > 0'
json 'all(c["left_out"] > 0 for c in d[0]["checks"] if c["name"].startswith("present."))'

# What a person accepts of the loss is theirs to say.
code 0 "$ASSAY" run "$work/bert" $quick --precision int4-weights --max-loss cosine=50%,nmse=1 --json
json 'd[0]["verdict"] == "right" and d[0]["max_loss"] == "cosine=50%,nmse=1"'
code 2 "$ASSAY" run "$work/bert" $quick --precision int4-weights --max-loss cosine=0.0001 -v
has out '^  lossy +computed as asked, and loses more against float32'
has out '^  cause +--max-loss: 1 - cosine similarity is .* allowed 0.0001$'
# The engine that computed the graph's side, and the one that judged it.
tr -s ' \n' ' ' <"$work/out" >"$work/flat"
has flat ' graph right in float32: max [^ ]+, NMSE [^ ]+ of engine:ort-cpu-unoptimised against engine:openvino-f32, by float32.s bound '
has out '^  arithmetic +right: '
# A limit on a figure that the outputs do not have is not kept in silence.
code 2 "$ASSAY" run "$work/bert" $quick --precision int4-weights --max-loss perplexity=5% --json
json 'd[0]["verdict"] == "unsupported" and d[0]["cause"] == "--max-loss: the limit perplexity=0.05 cannot be applied: the outputs of this model have no perplexity"'
code 2 "$ASSAY" run "$work/bert" $quick --precision int4-weights --max-loss perplexity=5% -v
has out '^  unsupported +computed as asked, but the limit of --max-loss cannot be applied'
code 1 "$ASSAY" run "$work/bert" $quick --max-loss cos=1
has err 'max-loss cos=1.*words: cosine, top1, perplexity, nmse'

# A file of a reduced precision is its own graph: held to the bound of its own arithmetic, and called what it is. A plain one stays under float32's.
for file in 'int8-weights:f32, quantised (MatMulNBits):integer weights' 'float16:f32 and f16 mixed:float16' 'float32:f32:'; do
	precision=${file%%:*} bound=${file##*:} computes=${file#*:} computes=${computes%:*}
	code 0 "$ASSAY" build "$work/bert" -o "$work/$precision" --precision "$precision"
	code 0 "$ASSAY" run "$work/$precision/model.onnx" --seq 16 $quick --json
	json "d[0]['verdict'] == 'right' and d[0]['compute_dtype'] == '$computes'"
	json "('own arithmetic ($bound)' in d[0]['bound']) == ('$bound' != '') and ('(0.0001 x max(1, ' in d[0]['bound']) == ('$bound' == '')"
done

# What is judged once has limits too: a file, and what was built in float32.
code 0 "$ASSAY" run "$work/float32/model.onnx" --seq 16 $quick --max-loss cosine=1%,nmse=1 --json
json 'd[0]["verdict"] == "right" and d[0]["graph_verdict"] is None'
code 2 "$ASSAY" run "$work/int8-weights/model.onnx" --seq 16 $quick --max-loss nmse=0 --json
json 'd[0]["verdict"] == "lossy" and d[0]["cause"].startswith("--max-loss: normalised mean squared error is ")'
for model in "$work/float32/model.onnx --seq 16" "$work/bert"; do
	code 2 "$ASSAY" run $model $quick --max-loss perplexity=5% --json
	json 'd[0]["verdict"] == "unsupported" and d[0]["cause"] == "--max-loss: the limit perplexity=0.05 cannot be applied: the outputs of this model have no perplexity"'
done
code 2 "$ASSAY" run "$work/bert" $quick --max-loss perplexity=5% -v
has out '^  unsupported +computed as asked, but the limit of --max-loss cannot be applied'

# Both engines give NaN everywhere, which once was: max 0, NMSE 0, cosine 1.
cp -r "$work/bert" "$work/nan"
python3 - "$work/nan" <<'P'
import glob, json, struct, sys
path = glob.glob(sys.argv[1] + '/*.safetensors')[0]
data = bytearray(open(path, 'rb').read())
n = struct.unpack('<Q', data[:8])[0]
entry = next(v for k, v in json.loads(data[8:8 + n]).items() if k.endswith('embeddings.LayerNorm.weight'))
begin = 8 + n + entry['data_offsets'][0]
data[begin:begin + 4] = struct.pack('<f', float('nan'))
open(path, 'wb').write(data)
P
code 3 "$ASSAY" run "$work/nan" $quick --json
json 'd[0]["verdict"] == "wrong" and "not finite" in d[0]["cause"] and d[0]["cosine"] is None and d[0]["non_finite"] > 0'
code 3 "$ASSAY" run "$work/nan" $quick --precision float16 --json
json 'd[0]["verdict"] == "wrong" and d[0]["graph_verdict"] == "wrong"'
finish
