# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# GGUF files: what transformers computed with the model that llama.cpp's converter was given is what comes out (two files, and with
# ASSAY_LONG all, on every engine that is here); of a file with numbers of every type, what transformers' own reader of GGUF computes; the row and inspect say what the file has.
# A folder with one such file is the file; what is cut off, or of an architecture that is not read, is refused.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
data=$SOURCE/tests/unit/data/gguf
platforms=
for platform in cpu openvino; do
	has_platform $platform && platforms=$platforms${platforms:+,}$platform
done
if [ -n "$platforms" ]; then
	for file in "$data"/*.gguf; do
		name=$(basename "$file" .gguf)
		on=$platforms
		# An engine gets the same graph and the same numbers wherever they came from.
		case $name in llama | types) ;; *) [ -n "${ASSAY_LONG:-}" ] || on=${platforms%%,*} ;; esac
		code 0 "$ASSAY" run "$file" --on "$on" --runs 1 --no-conform --golden "$data/$name.safetensors" --json
		json 'all(r["verdict"] == "right" and r["reference"] == "golden" and r["weights"] == "real" for r in d)'
		json 'all(r["weights_from"].startswith("gguf (") for r in d)'
	done
fi

code 0 "$ASSAY" inspect "$data/llama.gguf" --json
json 'd["weights_from"] == "gguf (F32), 4 weights in another order" and d["parameters"] == 4944'
code 0 "$ASSAY" inspect "$data/types.gguf"
has out '^published as: gguf .F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, .*, 14 weights dequantised to f32'

cp "$data/llama.gguf" "$work/here.gguf"
(cd "$work" && failures=0 && code 0 "$ASSAY" build here.gguf -o linked --link && exit $failures) || fail "a file of the current folder"
mkdir "$work/folder" && cp "$data/qwen3.gguf" "$work/folder/any.gguf"
code 0 "$ASSAY" inspect "$work/folder" --json
json 'd["type"] == "qwen3" and d["weights_from"] == "gguf (F32)"'
if has_platform cpu; then
	code 0 "$ASSAY" run "$work/folder" --on cpu --runs 1 --no-conform --golden "$data/qwen3.safetensors" --json
	json 'd[0]["verdict"] == "right" and d[0]["reference"] == "golden"'
	code 0 "$ASSAY" run "$data/types.gguf" --on cpu --runs 1 --no-conform --precision f16 --json
	json 'd[0]["verdict"] == "right" and d[0]["weights_from"].startswith("gguf (")'
	code 0 "$ASSAY" run "$data/llama.gguf" --on cpu --runs 1 --no-conform --task generate --prompt-tokens 8 --new-tokens 8 --json
	json 'd[0]["verdict"] == "right"'
	code 0 "$ASSAY" build "$data/types.gguf" -o "$work/onnx" --platform cpu
	code 0 "$ASSAY" run "$work/onnx/model.onnx" --on cpu --runs 1 --no-conform --golden "$data/types.safetensors" --json
	json 'd[0]["verdict"] == "right" and d[0]["reference"] == "golden"'
fi
cp "$data/gemma.gguf" "$work/folder/second.gguf"
code 1 "$ASSAY" inspect "$work/folder"
has err 'has no config.json'

head -c 9000 "$data/llama.gguf" >"$work/cut.gguf"
code 2 "$ASSAY" run "$work/cut.gguf" --on null --no-conform --json
json '"it is cut off; download it again" in d[0]["cause"]'
sed 's/llama/clip-/g' "$data/llama.gguf" >"$work/clip.gguf"
code 2 "$ASSAY" run "$work/clip.gguf" --on null --no-conform --json
json 'd[0]["verdict"] == "unsupported" and "this architecture of GGUF is not read yet: clip-" in d[0]["cause"]'
finish
