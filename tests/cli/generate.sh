# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# run --task generate: tokens, times apart, the check against a run without a cache; causal models and encoder-decoders; what
# does not generate is refused.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
cases=$SOURCE/tests/conform/cases
platforms=
for p in cpu openvino; do
	has_platform $p && platforms=$platforms,$p
done
platforms=${platforms#,}
if [ -z "$platforms" ]; then
	echo "skip: no engine is here"
	exit 77
fi

code 0 "$ASSAY" run "$cases/llama" "$cases/t5" "$cases/gemma2" --synthetic --task generate --prompt-tokens 5 --new-tokens 7 --batch 2 --runs 2 --on "$platforms" --no-conform --json
json 'all(r["verdict"] == "right" and r["task"] == "generate" and (r["prompt_tokens"], r["new_tokens"]) == (5, 7) for r in d)'
json 'all(len(r["tokens"]) == 7 and r["tokens_unlike_uncached"] == 0 and r["uncached_max_error"] < 1e-4 for r in d)'
json 'all(r["samples"] == 2 * 6 and r["token_ms"] == r["latency_ms"] and r["prefill_ms"] > 0 and r["tokens_per_s"] > 0 for r in d)'
json 'all((r["encoder_ms"] is not None) == (r["model_type"] == "t5") for r in d)'
# 2 layers, keys and values, batch 2, two key heads of 8, 5 + 6 tokens, float32.
json '[r["cache_bytes"] for r in d if r["model_type"] == "llama"][0] == 2 * 2 * 2 * 2 * 8 * 11 * 4'
# On cpu a causal model's cache is one buffer: a token's entries are written, the others stay where they are. Elsewhere, and where
# an encoder gives keys too, the engine lays all of it out anew.
json 'all((r["cache_form"] == "shared") == (r["requested"] == "cpu" and r["model_type"] != "t5") for r in d)'
json 'all(r["cache_copied_bytes"] * 11 == r["cache_bytes"] for r in d if r["cache_form"] == "shared")'
json 'all(r["cache_copied_bytes"] == r["cache_bytes"] for r in d if r["cache_form"] == "plain" and r["model_type"] != "t5")'
json 'all(("cache-shared" in r["form"]) == (r["cache_form"] == "shared") and r["cache_why"] is None for r in d)'
json 'len({str(r["tokens"]) for r in d if r["model_type"] == "llama"}) == 1'

code 0 "$ASSAY" run "$cases/llama" --synthetic --task generate --new-tokens 4 --runs 1 --on "${platforms%,*}" --no-conform -v
has out 'tokens +all 4 as without a cache'
has out 'then [0-9.]+ tokens/s'

# What the one operator cannot say is built in the plain form, and the row says why.
if has_platform cpu; then
	code 0 "$ASSAY" run "$cases/bloom" "$cases/llama" "$cases/deepseek_v4" --synthetic --task generate --prompt-tokens 5 --new-tokens 4 --runs 1 --on cpu --no-conform --json
	json '[r["cache_form"] for r in d] == ["plain", "shared", "plain"] and "bias by position" in d[0]["cache_why"] and "indexer" in d[2]["cache_why"]'
	json 'all(r["verdict"] == "right" and r["tokens_unlike_uncached"] == 0 for r in d)'
	"$ASSAY" synth "$cases/bloom" -o "$work/bloom" >"$work/out"
	code 0 "$ASSAY" build "$work/bloom" --explain --platform cpu -o "$work/graph"
	has out 'likewise, because its scores have a bias by position'
fi

# What assay does between two runs of the engine is said of a token, and grows with the vocabulary that a token is chosen from.
for size in 128 200000; do
	cp -r "$cases/llama" "$work/vocabulary$size"
	rm -f "$work/vocabulary$size"/*.safetensors
	python3 - "$work/vocabulary$size/config.json" $size <<-'EOF'
		import json, sys
		c = json.load(open(sys.argv[1]))
		c["vocab_size"] = int(sys.argv[2])
		json.dump(c, open(sys.argv[1], "w"))
	EOF
	code 0 "$ASSAY" run "$work/vocabulary$size" --synthetic --task generate --prompt-tokens 4 --new-tokens 6 --runs 2 --on "${platforms%%,*}" --no-conform --json
	json '0 < d[0]["harness_overhead_us"] < 1000 * d[0]["token_ms"]'
	cp "$work/out" "$work/$size.json"
done
python3 - "$work"/{128,200000}.json <<-'EOF' || fail "the time to choose a token does not show in harness_overhead_us"
	import json, sys
	small, big = (json.load(open(f))[0]["harness_overhead_us"] for f in sys.argv[1:])
	sys.exit(not big > small + 5)  # 800 kB are not read in less, however few are compared one by one
EOF

# More tokens than there are places for is no failure of the engine.
code 2 "$ASSAY" run "$cases/gpt2" --synthetic --task generate --prompt-tokens 40 --new-tokens 40 --on "${platforms%%,*}" --no-conform --json
json 'd[0]["verdict"] == "unsupported" and d[0]["cause"] == "40 tokens and 40 generated: this model has places for 64; --prompt-tokens and --new-tokens say how many"'
# A transducer has a loop of its own; one whose blank is no token has none.
code 0 "$ASSAY" run "$cases/parakeet_tdt-loop" --synthetic --task generate --new-tokens 9 --runs 2 --on "${platforms%%,*}" --no-conform --json
json 'len(d[0]["tokens"]) == 9 and d[0]["tokens_unlike_uncached"] == 0 and d[0]["encoder_ms"] > 0 and d[0]["cache_bytes"] > 0'
# A case whose texts are more than its sounds is refused before anything is read behind them.
cp -r "$cases/parakeet_tdt-loop" "$work/texts"
python3 - "$work/texts/gen.json" <<-'EOF'
	import json, sys
	d = json.load(open(sys.argv[1]))
	d["runs"][0].update({key: 8 * d["runs"][0][key] for key in ("decoder_input_ids", "generated", "top2")})
	json.dump(d, open(sys.argv[1], "w"))
EOF
"$ASSAY" conform "$work/texts" --on "${platforms%%,*}" >"$work/out" 2>"$work/err"
has out '^FAIL texts .*16 texts begin, and 2 sounds were heard'
# Token types that nobody gives are those of a first text, as in transformers' classes.
code 0 "$ASSAY" run "$cases/bert-decoder" --synthetic --task generate --new-tokens 3 --runs 2 --on "${platforms%%,*}" --no-conform --json
json 'd[0]["verdict"] == "right" and d[0]["tokens_unlike_uncached"] == 0'
mkdir "$work/blank"
sed 's/"blank_token_id": [0-9]*/"blank_token_id": 23/' "$cases/parakeet_tdt-loop/config.json" >"$work/blank/config.json"
code 2 "$ASSAY" run "$work/blank" --synthetic --task generate --on "${platforms%%,*}" --no-conform --json
json '"the blank is token 23 of 23" in d[0]["cause"]'
code 2 "$ASSAY" run "$cases/bert" --synthetic --task generate --on "${platforms%,*}" --no-conform
has out 'unsupported'
has out 'does not generate'
code 1 "$ASSAY" run "$cases/llama" --synthetic --task dance
has err 'forward and generate'
code 1 "$ASSAY" run "$cases/llama" --synthetic --new-tokens 4
has err 'belong to --task generate'
code 1 "$ASSAY" run "$cases/llama" --synthetic --task generate --seq 4
has err 'prompt-tokens'
code 1 "$ASSAY" run "$cases/llama" --synthetic --task generate --input input_ids=ones
has err 'a prompt is --input TEXT or FILE, or --prompt-tokens random tokens'
code 1 "$ASSAY" run "$cases/llama" --synthetic --task generate --prompt-tokens 4 --input text:Hello
has err 'that of --input is the input.s'
# The tokens of a picture are in a random prompt, too.
code 0 "$ASSAY" run "$cases/llava" --synthetic --task generate --prompt-tokens 24 --new-tokens 3 --runs 1 --on "${platforms%%,*}" --no-conform --json
json 'd[0]["verdict"] == "right" and len(d[0]["tokens"]) == 3 and d[0]["cache_bytes"] == 0 and d[0]["generated_text"] is None'
finish
