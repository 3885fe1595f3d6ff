# SPDX-License-Identifier: Apache-2.0
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
json 'len({str(r["tokens"]) for r in d if r["model_type"] == "llama"}) == 1'

code 0 "$ASSAY" run "$cases/llama" --synthetic --task generate --new-tokens 4 --runs 1 --on "${platforms%,*}" --no-conform
has out 'tokens +all 4 as without a cache'
has out 'then [0-9.]+ tokens a second'

code 2 "$ASSAY" run "$cases/bert" --synthetic --task generate --on "${platforms%,*}" --no-conform
has out 'unsupported'
has out 'does not generate'
code 1 "$ASSAY" run "$cases/llama" --synthetic --task dance
has err 'forward and generate'
code 1 "$ASSAY" run "$cases/llama" --synthetic --new-tokens 4
has err 'belong to --task generate'
code 1 "$ASSAY" run "$cases/llama" --synthetic --task generate --seq 4
has err 'prompt-tokens'
finish
