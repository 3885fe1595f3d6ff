# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# run --precision on tiny models: who makes it, what stays as it is, judged against float32, and its time against float32's row.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
cases=$SOURCE/tests/conform/cases
quick="--runs 3 --no-conform"
for c in bert llama gpt2 albert resnet; do
	code 0 "$ASSAY" synth "$cases/$c" -o "$work/$c"
done

# Words that do not exist, and what goes with them.
code 1 "$ASSAY" run "$work/bert" --on null $quick --precision int3
has err 'no precision is called "int3"; there are .*int8-dynamic'
code 2 "$ASSAY" build "$work/bert" --precision int8-static --text
has err 'int8-static needs ranges of activations'

# The null engine computes nothing: the way of a row. The same question in float32 stands before it, another one does not count.
null=null:sleep_ms=2,clock=told
code 0 "$ASSAY" run "$work/bert" --on "$null" $quick --json
code 0 "$ASSAY" run "$work/bert" --on "$null" $quick --precision int8-weights --json
json 'd[0]["precision"] == "int8-weights" and d[0]["precision_by"] == "graph" and d[0]["converted_bytes"] > 0'
json 'd[0]["against_float32"] == 1 and d[0]["against_float32_row"] == 1'
code 0 "$ASSAY" run "$work/bert" --on "$null" $quick --precision int8-weights -v
has out '^  precision +int8-weights, by the graph; whether it is faster than float32 here: cannot tell \(1 process'
code 0 "$ASSAY" run "$work/bert" --on "$null" $quick --precision int8-weights --seq 17 --json
json 'd[0]["against_float32"] is None and d[0]["against_float32_row"] is None'
code 0 "$ASSAY" run "$work/bert" --on "$null" $quick --seq 18 --precision int8-weights -v
has out '^  precision +.*was not measured in float32 here'

if ! has_platform cpu; then
	finish
fi
code 0 "$ASSAY" run "$work/bert" --on cpu $quick --json
json 'd[0]["precision"] is None and d[0]["against_float32"] is None and d[0]["max_abs_error"] < 1e-4'
for p in int8-dynamic int8-static; do
	# gpt2's weights lie the other way round, albert's layers share theirs.
	[ $p = int8-static ] && others="$work/gpt2 $work/albert" || others=$work/llama
	code 0 "$ASSAY" run "$work/bert" $others --on cpu $quick --precision $p --json
	json "len(d) > 1 and all(x['verdict'] in ('right', 'unjudged') and x['precision'] == '$p' and x['precision_by'] == 'graph' for x in d)"
	# Wrong by as much as rounding is, not more; and not the graph in float32.
	json 'all(x["max_abs_error"] is None or (1e-7 < x["nmse"] < 0.01 and x["cosine"] > 0.995 and x["non_finite"] == 0) for x in d)'
	json "all(x['quantization']['weights'] == '$p' and x['quantization']['left'] == [] and x['converted_bytes'] > 0 for x in d)"
	json "all((x['quantization'].get('calibration') or {}).get('inputs') == (8 if '$p' == 'int8-static' else None) for x in d)"
	json 'all(x["form"].endswith(x["precision"]) for x in d)'
	# Products of integers are seen in the nodes; of QDQ the engine multiplies in float32, and that is said.
	[ $p = int8-static ] && in=f32 || in="f32 and int8"
	json "all(x['compute_dtype'] == '$in' and ('no product of integers ran' in x['placement_note']) == ('$p' == 'int8-static') for x in d)"
	json "all(x['arithmetic_reference'] is None or x['arithmetic_reference'].endswith(', dequantised weights, activations rounded alike') for x in d)"
	# The time of the first one has a row to be held against; the flag is what the figures say.
	json 'd[0]["against_float32"] > 0 and d[0]["against_float32_row"] > 0 and all(x["against_float32"] is None for x in d[1:])'
	# Of a model of convolutions nothing becomes an integer, which is no success.
	code 2 "$ASSAY" run "$work/resnet" --on cpu $quick --precision $p --json
	json 'd[0]["verdict"] == "unsupported" and "a convolution" in d[0]["cause"] and d[0]["quantization"]["left"][0]["count"] > 20'
done
code 0 "$ASSAY" query --format csv "SELECT count(*) FROM result r JOIN result f ON f.id = r.against_float32_row WHERE r.engine = 'ort'
	AND f.precision IS NULL AND f.model = r.model AND abs(r.against_float32 - r.latency_ms / f.latency_ms) < 1e-9"
has out '^2$'
# Measured once: the second run finds its ranges.
[ "$(ls "$work"/cache/reference/*.ranges.json | wc -l)" -eq 4 ] || fail "$(ls "$work/cache/reference")"
code 0 "$ASSAY" run "$work/bert" --on cpu $quick --precision int8-static --json
[ "$(ls "$work"/cache/reference/*.ranges.json | wc -l)" -eq 4 ] || fail "$(ls "$work/cache/reference")"

# The type in the files is not the type of what was converted; in what a float16 graph is computed here nobody confirms.
code 0 "$ASSAY" run "$work/bert" --on cpu $quick --precision float16 -v
has out '^  weights +SYNTHETIC .*, f32 in its files, '
tr -s ' \n' ' ' <"$work/out" >"$work/flat"
has flat 'in the graph, converted for float16, reached by [a-z]+ shape '

# Generation: asked about the tokens of float32.
code 0 "$ASSAY" run "$work/llama" --on cpu $quick --task generate --prompt-tokens 6 --new-tokens 5 --precision int8-weights --json
json 'd[0]["verdict"] in ("right", "unjudged") and (d[0]["reference"] is None or 0 <= d[0]["token_agreement"] <= 1)'
json 'd[0]["reference"] is None or [c["name"] for c in d[0]["checks"]] == ["best_logits", "tokens"]'
code 0 "$ASSAY" run "$work/llama" --on cpu $quick --task generate --prompt-tokens 6 --new-tokens 5 --json
json 'd[0]["token_agreement"] is None'

# Where the engine makes it, it says so itself.
if has_platform openvino; then
	for p in bfloat16:bf16 float16:f16; do               # not every processor has them: then it is unsupported, and not called by the name
		"$ASSAY" run "$work/bert" --on openvino $quick --precision ${p%:*} --json >"$work/out" 2>"$work/err"
		json "d[0]['precision_by'] == 'engine' and d[0]['options']['precision'] == '${p#*:}'"
		json "(d[0]['verdict'] in ('right', 'unjudged')) == (d[0]['compute_dtype'] == '${p#*:}') and d[0]['verdict'] in ('right', 'unjudged', 'unsupported')"
	done
	code 0 "$ASSAY" run "$work/bert" --on openvino $quick --precision int8-static --json
	json 'all(x["verdict"] in ("right", "unjudged") and (x["nmse"] is None or 1e-7 < x["nmse"] < 0.01) for x in d)'
	code 0 "$ASSAY" run "$work/bert" --on openvino $quick --precision int8-dynamic --json
	json 'd[0]["options"]["dynamic_quantization"] == "128" and d[0]["form"].endswith("activations-by-engine")'
	# Of weights alone it rounds activations where the accuracy level lets it, and where no option says otherwise.
	for way in int4:32:'0.012 ' int4:accuracy=1:0:'1e-07 ' "int4 --options dynamic_quantization=0:0:0.012 "; do
		asked=${way%:*:*} rest=${way#"${way%:*:*}":}
		code 0 "$ASSAY" run "$work/llama" --on openvino $quick --precision $asked --json
		json "d[0]['options']['dynamic_quantization'] == '${rest%:*}' and 'NMSE ${rest#*:}' in d[0]['bound']"
		json 'd[0]["arithmetic_verdict"] == "right"'
	done
fi

# float32 by name where the device computes in 16 bits alone is not given; without a name that is the answer.
if has_platform qnn; then
	code 2 "$ASSAY" run "$work/bert" --on qnn $quick --precision float32 --json
	json 'd[0]["verdict"] == "unsupported" and d[0]["cause"].startswith("--precision float32: qnn computes in f16 on this device; ")'
	code 0 "$ASSAY" run "$work/bert" --on qnn $quick --json
	json 'd[0]["verdict"] == "right" and d[0]["compute_dtype"] == "f16" and d[0]["precision"] is None'
fi

# Perplexity is on the tokens that came in. The reference's is that of transformers, whose logits lie in the file (118.81691158533695 by
# Python, from the file, without the padded places).
code 0 "$ASSAY" run "$work/llama" --golden "$cases/llama/io.safetensors" --on cpu $quick --json
json 'abs(d[0]["perplexity_float32"] - 118.81691158533695) < 1e-3 and abs(d[0]["perplexity"] - 118.81691158533695) < 1e-2'
code 0 "$ASSAY" run "$work/llama" --golden "$cases/llama/io.safetensors" --on cpu $quick --precision int4-weights --json
json 'abs(d[0]["perplexity_float32"] - 118.81691158533695) < 1e-3 and abs(d[0]["perplexity"] - d[0]["perplexity_float32"]) > 0.1'
code 0 "$ASSAY" run "$work/llama" --on cpu $quick -v
has out 'perplexity [0-9.]+'
code 0 "$ASSAY" run "$work/bert" --on cpu $quick --json
json 'd[0]["perplexity"] is None'
finish
