# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Models as people publish them quantised: what transformers computed with the numbers that the format's own library made is what comes
# out, on every engine that is here; the row and inspect name the format and say that it was dequantised; integers are made of it as of
# any other model; a method that is not read is refused by its name.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
data=$SOURCE/tests/unit/data/quantised
platforms=
for platform in cpu openvino; do
	has_platform $platform && platforms=$platforms${platforms:+,}$platform
done
if [ -n "$platforms" ]; then
	for name in fp8-blocks ct-int4-group gptq-4-order awq bnb-nf4-nested mxfp4; do # unit.quantised has the numbers of all
		folder=$data/$name
		code 0 "$ASSAY" run "$folder" --on $platforms --runs 1 --no-conform --golden "$folder/io.safetensors" --json
		json 'all(r["verdict"] == "right" and r["reference"] == "golden" and r["weights"] == "real" for r in d)'
		json 'all(" weights dequantised to " in r["weights_from"] for r in d)'
	done
fi

code 0 "$ASSAY" inspect "$data/fp8-blocks" --json
json 'd["weights_from"] == "fp8, f8e4m3 in blocks of 16 x 16, 7 weights dequantised to bf16" and d["parameters"] == 11872'
code 0 "$ASSAY" inspect "$data/fp8-blocks"
has out '^published as: fp8, f8e4m3 in blocks of 16 x 16, 7 weights dequantised to bf16 '
[ "$(ls "$data/fp8-blocks" | wc -l)" = 4 ] || fail "something was written beside the weights"

if has_platform cpu; then
	code 0 "$ASSAY" run "$data/fp8-blocks" --on cpu --runs 1 --no-conform
	has out 'published as fp8, f8e4m3\)'
	code 0 "$ASSAY" query fastest
	has out 'published_as'
	has out ' fp8, f8e4m3 '
	code 0 "$ASSAY" report --format md
	has out '^\| fp8-blocks \(batch 1, .*f32; published as fp8, f8e4m3\) \|'
	code 0 "$ASSAY" run "$data/ct-int4-group" --on cpu --runs 1 --no-conform --precision int8-weights:block=16 --json
	json 'd[0]["verdict"] == "right" and d[0]["converted_bytes"] > 0 and d[0]["weights_from"].startswith("compressed-tensors, pack-quantized")'
	code 0 "$ASSAY" build "$data/ct-int4-group" -o "$work/onnx" --platform cpu
	code 0 "$ASSAY" run "$work/onnx/model.onnx" --on cpu --runs 1 --no-conform --golden "$data/ct-int4-group/io.safetensors" --json
	json 'd[0]["verdict"] == "right" and d[0]["reference"] == "golden"'
fi

mkdir "$work/hqq" && cp "$data/fp8-blocks/model.safetensors" "$work/hqq" && sed 's/"fp8"/"hqq"/' "$data/fp8-blocks/config.json" >"$work/hqq/config.json"
code 2 "$ASSAY" run "$work/hqq" --on null --no-conform --json
json 'd[0]["verdict"] == "unsupported" and "weights quantised by \"hqq\" are not read yet" in d[0]["cause"]'
finish
