# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# assay models: what the program carries. The parameters are those of the published weights: a size that was written down wrong comes to
# another number.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python

code 0 "$ASSAY" models --help
has out '^usage: assay models'
code 0 "$ASSAY" models --json
json 'len(d) >= 100 and len({m["name"] for m in d}) == len(d) and sum(m["key"] for m in d) == 14 and all(m["key"] for m in d[:14])'
json 'all(m["licence"] != "not known" and m["source"] in ("file", "sizes") and m["parameters"] > 1e6 and m["bytes"] > m["parameters"] for m in d)'
json 'len({m["type"] for m in d}) >= 38 and {"encoder-only", "decoder-only", "encoder-decoder", "vision", "multimodal"} <= {m["architecture"] for m in d}'
# Counted without what is no parameter (running statistics, tables of positions), as the safetensors files have them.
python3 - "$work/out" <<'PY' || fail "parameters are not those of the published weights"
import json, sys
have = {m["name"]: m["parameters"] for m in json.load(open(sys.argv[1]))}
known = {
    "openai-community/gpt2": 124439808, "openai-community/gpt2-medium": 354823168, "openai-community/gpt2-large": 774030080, "openai-community/gpt2-xl": 1557611200,
    "distilbert/distilgpt2": 81912576, "facebook/opt-1.3b": 1315758080, "facebook/opt-6.7b": 6658473984, "EleutherAI/pythia-410m": 405334016,
    "EleutherAI/pythia-1.4b": 1414647808, "EleutherAI/pythia-2.8b": 2775208960, "EleutherAI/pythia-6.9b": 6857302016, "EleutherAI/gpt-j-6b": 6050882784,
    "bigscience/bloom-560m": 559214592, "bigscience/bloom-7b1": 7069016064, "meta-llama/Llama-2-7b-hf": 6738415616, "meta-llama/Llama-2-13b-hf": 13015864320,
    "meta-llama/Meta-Llama-3-8B": 8030261248, "meta-llama/Llama-3.2-1B": 1235814400, "meta-llama/Llama-3.2-3B": 3212749824,
    "HuggingFaceTB/SmolLM-135M": 134515008, "HuggingFaceTB/SmolLM2-360M": 361821120, "HuggingFaceTB/SmolLM2-1.7B": 1711376384,
    "mistralai/Mistral-7B-v0.1": 7241732096, "mistralai/Mistral-7B-Instruct-v0.3": 7248023552, "mistralai/Mixtral-8x7B-v0.1": 46702792704,
    "Qwen/Qwen2.5-0.5B": 494032768, "Qwen/Qwen2.5-1.5B": 1543714304, "Qwen/Qwen2.5-3B": 3085938688, "Qwen/Qwen2.5-7B": 7615616512,
    "microsoft/phi-1_5": 1418270720, "microsoft/phi-2": 2779683840, "google/gemma-2b": 2506172416, "google/gemma-7b": 8537680896,
    "state-spaces/mamba-130m-hf": 129135360, "google-t5/t5-base": 222903552, "google-t5/t5-large": 737668096,
    "google/flan-t5-small": 76961152, "google/flan-t5-base": 247577856, "google/flan-t5-large": 783150080, "google/mt5-small": 300176768,
    "google/vit-large-patch16-224": 304326632, "facebook/deit-base-patch16-224": 86567656, "facebook/deit-small-patch16-224": 22050664, "microsoft/swin-tiny-patch4-window7-224": 28288354,
    "facebook/convnext-tiny-224": 28589128, "openai/clip-vit-large-patch14": 427616513, "openai/whisper-small": 241734912,
    "openai/whisper-large-v3": 1543490560, "openai/whisper-large-v3-turbo": 808878080, "openai/whisper-base": 72593920, "openai/whisper-medium": 763857920,
    "FacebookAI/roberta-base": 124697433, "FacebookAI/xlm-roberta-base": 278295186, "distilbert/distilbert-base-uncased": 66985530,
}
bad = {n: (have.get(n), k) for n, k in known.items() if have.get(n) != k}
print(bad) if bad else None
sys.exit(1 if bad else 0)
PY
code 0 "$ASSAY" models --type llama
has out '^meta-llama/Llama-3\.2-1B +llama +decoder-only, causal-lm +1235\.8 M .* llama3\.2 +sizes$'
lacks out ' bert '
code 1 "$ASSAY" models --type lama
has err 'no model of this type'
code 1 "$ASSAY" models x
# Each can be asked for by its short name; a folder with nothing but a configuration is one more.
code 0 "$ASSAY" run pythia-70m --synthetic --on null --layers 1 --runs 1 --no-conform
has out '^pythia-70m on null: '
mkdir "$work/mine"
echo '{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_layer": 2, "n_head": 2}' >"$work/mine/config.json"
code 0 "$ASSAY" run "$work/mine" --synthetic --on null --runs 1 --no-conform
finish
