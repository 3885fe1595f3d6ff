# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# --precision: what the row says of it, weights converted once and shared, what is refused and why, a full disk, `build`.
. "$SOURCE/tests/cli/lib.sh" || exit 1
quick="--runs 3 --no-conform"
cases=$SOURCE/tests/conform/cases
for type in llama bart gpt2; do
	code 0 "$ASSAY" synth "$cases/$type" -o "$work/$type"
done

code 1 "$ASSAY" run "$work/llama" --on null --precision int5
has err 'no precision is called "int5"; there are .*int4-weights'
code 1 "$ASSAY" run "$work/llama" --on null --precision int4-weights:block=33
has err 'block=16\|32'
code 1 "$ASSAY" build "$work/llama" -o "$work/onnx" --precision float16:block=32
has err 'float16 takes no'

# One row, and the same again: the second finds the weights in the cache.
code 0 "$ASSAY" run "$work/llama" --on null --precision int4-weights:head=float32 $quick --json
json 'd[0]["precision"] == "int4-weights:head=float32" and d[0]["precision_by"] == "graph" and d[0]["weights_dtype"] == "f32"'
json 'd[0]["converted_bytes"] > 1000 and d[0]["convert_ms"] > 0 and "int4-weights block-32 accuracy-4 head-stored" in d[0]["form"]'
json '(lambda q: q["block"] == 32 and q["symmetric"] and q["accuracy_level"] == 4 and q["head"] == "as stored")(d[0]["quantization"])'
json 'len(d[0]["quantization"]["left"]) == 1 and d[0]["quantization"]["left"][0]["count"] == 1 and "head=float32" in d[0]["quantization"]["left"][0]["why"]'
code 0 "$ASSAY" run "$work/llama" --on null --precision int4-weights:head=float32 $quick --json
json 'd[0]["converted_bytes"] > 1000 and d[0]["convert_ms"] is None'
code 0 "$ASSAY" run "$work/llama" --on null --precision int4-weights $quick --json
json 'd[0]["quantization"]["head"] == "int4-weights" and d[0]["quantization"]["left"] == []'
code 0 "$ASSAY" cache --json
json 'd["converted"] == 2 and d["converted_bytes"] > 2000'
# A file of the cache that was cut off is made again.
for file in "$work"/cache/converted/*/*.safetensors; do
	truncate -s -100 "$file"
done
code 0 "$ASSAY" run "$work/llama" --on null --precision int4-weights $quick --json
json 'd[0]["convert_ms"] > 0'

# Stored as asked already: nothing to convert. Weights that lie [in, out], and an encoder-decoder's three graphs: one file.
code 0 "$ASSAY" run "$work/llama" --on null --precision float32 $quick --json
json 'd[0]["converted_bytes"] is None and d[0]["precision_by"] == "graph"'
code 0 "$ASSAY" run "$work/gpt2" --on null --precision int8-weights:zero=stored $quick --json
json 'd[0]["quantization"]["symmetric"] is False and d[0]["converted_bytes"] > 1000'
before=$(ls "$work"/cache/converted | grep -c -v lock)
code 0 "$ASSAY" build "$work/bart" -o "$work/bart-float16" --precision float16
has out 'decoder_with_past_model'
[ "$(ls "$work"/cache/converted | grep -c -v lock)" -eq $((before + 1)) ] || fail "an encoder-decoder's weights are not one file"

# What nobody makes is a verdict.
code 0 "$ASSAY" build "$work/llama" -o "$work/plain"
code 2 "$ASSAY" run "$work/plain/model.onnx" --on null --precision int4-weights $quick --json
json 'd[0]["verdict"] == "unsupported" and "an .onnx file is run as it is" in d[0]["cause"]'

# The graph beside weights of its own; the same graphs that a run builds.
code 0 "$ASSAY" build "$work/bart" -o "$work/bart-int4" --precision int4-weights --text
has out 'MatMulNBits\(.*\) K=[0-9]+ N=[0-9]+ bits=4 block_size=32 accuracy_level=4'
has out 'int4-weights: .* of weights converted'
ls "$work/bart-int4" | grep -q '^converted-[0-9a-f]*\.safetensors$' || fail "no converted weights beside the graph"

# No room for them: a row that names what is needed. A file system of 1 MiB needs root.
if small_disk 1m; then
	mkdir "$work/small/run"
	head -c 1040000 /dev/zero >"$work/small/fill" 2>/dev/null
	ASSAY_CACHE=$work/small code 2 "$ASSAY" run "$work/llama" --on null --precision float16 $quick --json
	json 'd[0]["verdict"] == "not_asked" and "are needed and" in d[0]["cause"]'
	ls "$work/small/converted" 2>/dev/null | grep -Eq '^[0-9a-f]{64}(\.tmp)?$' && fail "half a conversion was left"
	umount "$work/small"
fi

# Real engines, judged: the smallest cases of three kinds.
"$ASSAY" detect cpu --json >"$work/detect" 2>/dev/null
if grep -q '"cpu"' "$work/detect" && [ -n "$(find "${BUILD:-.}/../.deps/engines/onnxruntime" -name 'libonnxruntime.so*' 2>/dev/null)" ]; then
	for precision in int8-weights float16; do
		for type in llama bart gpt2; do
			code 0 "$ASSAY" run "$work/$type" --on cpu --precision $precision $quick --json
			json 'd[0]["verdict"] == "right" and d[0]["cosine"] > 0.999'
		done
	done
	code 2 "$ASSAY" run "$work/llama" --on cpu --precision bfloat16 $quick --json
	json 'd[0]["verdict"] == "unsupported" and "no kernel for" in d[0]["cause"]'
fi
finish
