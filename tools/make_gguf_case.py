#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only (torch, transformers, gguf from PyPI; llama.cpp's converters, whose folder LLAMA_CPP names): makes the files of
# tests/unit/data/gguf. NAME.gguf is a tiny model of transformers, with weights by the formula of conformance cases, as llama.cpp's own
# converter writes it; NAME.safetensors is what transformers computes with the model that was converted.
#     LLAMA_CPP=FOLDER tools/make_gguf_case.py [NAME...]
# types.gguf has a matrix of every type of numbers that is read: its numbers are in types.expected.safetensors as gguf's own code
# (gguf.quants) makes them of the blocks, its outputs are those of transformers' own reader of GGUF files.
#     tools/make_gguf_case.py --types
# gguf-NAME of tests/conform/tokenizer: the tokenizer of another folder there, in a GGUF file.
#     tools/make_gguf_case.py --tokenizers
#     tools/make_gguf_case.py --corpus    inputs of fuzz_gguf, from all files
import json, os, re, sys, tempfile
import numpy as np
import torch
from pathlib import Path
from safetensors.torch import save_file

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make_case import formula

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/unit/data/gguf")
VOCABULARY = 32
SIZES = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=VOCABULARY,
             max_position_embeddings=32, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GPT = dict(n_embd=16, n_layer=2, n_head=4, n_positions=32, vocab_size=VOCABULARY, pad_token_id=0, bos_token_id=1, eos_token_id=2)
PARTIAL = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}

# Name: class, its configuration beside SIZES, without these keys.
CASES = {
    "llama": ("Llama", {}, ()),
    "llama-tied-bias": ("Llama", dict(tie_word_embeddings=True, attention_bias=True, mlp_bias=True, head_dim=8), ()),
    "llama3": ("Llama", dict(rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
                                              "high_freq_factor": 4.0, "original_max_position_embeddings": 16}), ()),
    "llama-linear": ("Llama", dict(rope_parameters={"rope_type": "linear", "rope_theta": 5000.0, "factor": 2.0}), ()),
    "llama-yarn": ("Llama", dict(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                                  "original_max_position_embeddings": 8}), ()),
    "mixtral": ("Mixtral", dict(num_local_experts=4, num_experts_per_tok=2), ()),
    "qwen2": ("Qwen2", {}, ()),
    "qwen2moe": ("Qwen2Moe", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=24), ()),
    "qwen3": ("Qwen3", dict(head_dim=8), ()),
    "qwen3moe": ("Qwen3Moe", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, head_dim=8, norm_topk_prob=True), ()),
    "gemma": ("Gemma", dict(head_dim=8, tie_word_embeddings=True), ()),
    "gemma2": ("Gemma2", dict(head_dim=8, query_pre_attn_scalar=8, tie_word_embeddings=True, sliding_window=4), ()),
    "gemma3": ("Gemma3Text", dict(head_dim=8, query_pre_attn_scalar=8, tie_word_embeddings=True, sliding_window=4, num_hidden_layers=7), ()),
    "phi2": ("Phi", dict(num_key_value_heads=4, intermediate_size=64, rope_parameters=PARTIAL), ()),
    "phi3": ("Phi3", dict(rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.5], "long_factor": [2.0, 4.0],
                                           "partial_rotary_factor": 1.0, "original_max_position_embeddings": 8},
                          original_max_position_embeddings=8), ()),
    "starcoder2": ("Starcoder2", dict(use_bias=True), ()),
    "gpt2": ("GPT2LMHead", GPT, SIZES),
    "falcon": ("Falcon", dict(new_decoder_architecture=False, multi_query=True, num_kv_heads=1, parallel_attn=True, bias=False, tie_word_embeddings=True,
                              ffn_hidden_size=64), ("intermediate_size", "num_key_value_heads")),
    "falcon40b": ("Falcon", dict(new_decoder_architecture=True, num_kv_heads=2, bias=False, tie_word_embeddings=True, ffn_hidden_size=64),
                  ("intermediate_size", "num_key_value_heads")),
    "bloom": ("Bloom", dict(hidden_size=16, n_layer=2, n_head=4, vocab_size=VOCABULARY, pad_token_id=0, bos_token_id=1, eos_token_id=2), SIZES),
    "gptneox": ("GPTNeoX", dict(rope_parameters=PARTIAL, use_parallel_residual=True), ("num_key_value_heads",)),
    "stablelm": ("StableLm", dict(rope_parameters=PARTIAL, use_qkv_bias=True), ()),
    "stablelm-parallel": ("StableLm", dict(rope_parameters=PARTIAL, use_parallel_residual=True), ()),
    "olmo": ("Olmo", dict(clip_qkv=1.5), ()),
    "olmo2": ("Olmo2", {}, ()),
    "olmoe": ("Olmoe", dict(num_experts=4, num_experts_per_tok=2, intermediate_size=8), ()),
    "granite": ("Granite", dict(attention_multiplier=0.3, embedding_multiplier=2.0, residual_multiplier=0.5, logits_scaling=3.0), ()),
    "command-r": ("Cohere", dict(logit_scale=0.25, tie_word_embeddings=True), ()),
    "nemotron": ("Nemotron", dict(rope_parameters=PARTIAL), ()),
    "smollm3": ("SmolLM3", dict(num_hidden_layers=4), ()),
    "bert": ("Bert", {}, ("tie_word_embeddings",)),
}
# What the class calls otherwise than the files that it saves.
NAMED = {"mixtral": (".mlp.", ".block_sparse_moe."), "gpt_neox": ("lm_head", "embed_out")}
# Keys that older configurations have and a converter asks for.
OLDER = {"gpt2": {"n_ctx": 32}, "gptneox": {"rotary_pct": 0.5}}


# Weights by their names; of experts that the class stacks, by the names that published files have.
def put_weights(model):
    with torch.no_grad():
        for name, p in model.named_parameters():  # the head is not named where it is the embedding
            saved = name.replace(*NAMED.get(model.config.model_type, ("", "")))
            stacked = re.match(r"(.*)\.mlp\.experts\.(gate_up_proj|down_proj)$", name)
            if not stacked or p.ndim != 3:
                p.copy_(torch.from_numpy(formula(saved, tuple(p.shape))))
                continue
            mixtral = model.config.model_type == "mixtral"
            stem = stacked[1] + (".block_sparse_moe.experts." if mixtral else ".mlp.experts.")
            gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
            for e in range(p.shape[0]):
                one = lambda which, shape: torch.from_numpy(formula(f"{stem}{e}.{which}.weight", tuple(shape)))
                half = (p.shape[1] // 2, p.shape[2])
                p[e] = one(down, p.shape[1:]) if stacked[2] == "down_proj" else torch.cat([one(gate, half), one(up, half)])


def outputs(model, folder, name):
    ids = torch.arange(24).reshape(2, 12) * 7 % VOCABULARY
    mask = torch.ones_like(ids)
    with torch.no_grad():
        out = model(input_ids=ids, attention_mask=mask)
    named = {"out.logits": out.logits} if "logits" in out else {"out.last_hidden_state": out.last_hidden_state}
    file = os.path.join(folder, name + ".safetensors")
    save_file({"in.input_ids": ids, "in.attention_mask": mask} | {k: v.contiguous() for k, v in named.items()}, file)
    os.chmod(file, 0o644)


# llama.cpp's converter, without a tokenizer: the file names its tokens and no more.
def convert(folder, out, older):
    sys.path[:0] = [os.path.join(os.environ["LLAMA_CPP"], "gguf-py"), os.environ["LLAMA_CPP"]]
    import gguf
    from conversion import ModelBase, ModelType, get_model_class
    from conversion.base import get_model_architecture

    hparams = ModelBase.load_hparams(Path(folder), False) | older
    known = get_model_class(get_model_architecture(hparams, ModelType.TEXT))
    known.set_vocab = lambda self: self.gguf_writer.add_token_list([f"t{i}" for i in range(VOCABULARY)])
    known.get_tensors_vocab = None
    with torch.inference_mode():
        known(Path(folder), gguf.LlamaFileType.ALL_F32, Path(out), hparams=hparams).write()


def make(name):
    import transformers

    kind, keys, without = CASES[name]
    sizes = {k: v for k, v in SIZES.items() if k not in without} | keys
    config = getattr(transformers, kind.replace("LMHead", "") + "Config")(**sizes)
    whole = kind if kind.endswith("LMHead") else kind.replace("Gemma3Text", "Gemma3") + "ForCausalLM"
    known = transformers.BertModel if kind == "Bert" else getattr(transformers, whole + "Model" * kind.endswith("LMHead"))
    model = known._from_config(config, attn_implementation="eager").eval()
    put_weights(model)
    outputs(model, ROOT, name)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, safe_serialization=True)
        if name == "gemma3":
            open(os.path.join(folder, "tokenizer.json"), "w").write('{"model": {"vocab": {%s}}, "added_tokens": []}' % ",".join(f'"t{i}": {i}' for i in range(VOCABULARY)))
        convert(folder, os.path.join(ROOT, name + ".gguf"), OLDER.get(name, {}))
    os.chmod(os.path.join(ROOT, name + ".gguf"), 0o644)
    print(name, os.path.getsize(os.path.join(ROOT, name + ".gguf")))


# ---- types of numbers -----------------------------------------------------------------------------------------------------


# Blocks of random codes, whose scales make numbers of a weight's size.
def blocks(kind, rows, columns, random):
    import gguf

    size, nbytes = gguf.GGML_QUANT_SIZES[kind]
    out = random.integers(0, 256, (rows, columns // size, nbytes), dtype=np.uint8)
    half = lambda at, most: out.__setitem__((..., slice(at, at + 2)), (random.uniform(-most, most, out.shape[:2]).astype(np.float16)[..., None]).view(np.uint8))
    at = {"Q2_K": {80: 2e-3, 82: 2e-3}, "Q3_K": {108: 5e-4}, "Q4_K": {0: 2e-4, 2: 2e-4}, "Q5_K": {0: 1e-4, 2: 2e-4}, "Q6_K": {208: 2e-5},
          "IQ4_XS": {0: 3e-5}, "IQ4_NL": {0: 1e-3}}[kind.name]
    for place, most in at.items():
        half(place, most)
    return out.reshape(rows, -1)


def types():
    import gguf, transformers
    from gguf import GGMLQuantizationType as T, quants

    random = np.random.default_rng(7)
    order = [T.Q4_K, T.Q6_K, T.Q5_K, T.Q2_K, T.Q3_K, T.Q8_0, T.IQ4_XS, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.IQ4_NL, T.F16, T.BF16, T.Q8_0, T.Q5_0]
    config = transformers.LlamaConfig(**SIZES | dict(hidden_size=256, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1, head_dim=16))
    model = transformers.LlamaForCausalLM(config)
    path = os.path.join(ROOT, "types.gguf")
    w = gguf.GGUFWriter(path, "llama")
    w.add_name("types")
    w.add_block_count(2), w.add_context_length(32), w.add_embedding_length(256), w.add_feed_forward_length(32), w.add_head_count(2)
    w.add_head_count_kv(1), w.add_layer_norm_rms_eps(1e-6), w.add_key_length(16), w.add_value_length(16), w.add_rope_dimension_count(16)
    w.add_token_list([f"t{i}" for i in range(VOCABULARY)])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 2)
    for name, p in sorted(model.state_dict().items()):
        stem = names.get_name(name.removesuffix(".weight"))
        values = formula(name, tuple(p.shape))
        if p.ndim == 1:
            w.add_tensor(stem + ".weight", values)
            continue
        k = next(i for i, t in enumerate(order) if p.shape[1] % gguf.GGML_QUANT_SIZES[t][0] == 0)
        kind = order.pop(k)
        if kind.name in ("F16", "BF16"):
            data = values.astype(np.float16) if kind == T.F16 else quants.quantize(values, kind)
        else:
            try:
                data = quants.quantize(values, kind)
            except NotImplementedError:
                data = blocks(kind, *p.shape, random)
        w.add_tensor(stem + ".weight", data, raw_dtype=kind)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
    assert not order, order
    read = transformers.AutoModelForCausalLM.from_pretrained(ROOT, gguf_file="types.gguf", dtype=torch.float32, attn_implementation="eager").eval()
    outputs(read, ROOT, "types")
    save_file({k: v.contiguous() for k, v in read.state_dict().items()}, os.path.join(ROOT, "types.expected.safetensors"))
    for file in "types.gguf", "types.expected.safetensors":
        os.chmod(os.path.join(ROOT, file), 0o644)
    print("types", os.path.getsize(path))


# Folders of tests/conform/tokenizer as a GGUF file has their tokenizers; every third line of their cases.
def tokenizers():
    import gguf
    import sentencepiece

    root = os.path.join(ROOT, "../../../conform/tokenizer")
    for name, pre, first, last in ("gpt2", "gpt-2", None, "<|endoftext|>"), ("qwen2", "qwen2", None, "<|im_end|>"), \
            ("llama3", "llama-bpe", "<|begin_of_text|>", "<|end_of_text|>"), ("files-spm-bpe-bytes", None, None, None):
        folder = os.path.join(root, "gguf-" + name.removeprefix("files-"))
        os.makedirs(folder, exist_ok=True)
        w = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), "llama")
        if pre:
            said = json.load(open(os.path.join(root, name, "tokenizer.json")))
            ids = said["model"]["vocab"] | {t["content"]: t["id"] for t in said["added_tokens"]}
            # What a GGUF file cannot say of tokens, those from the first on that is so.
            odd = [t["id"] for t in said["added_tokens"] if t["lstrip"] or t["rstrip"] or t["single_word"] or t["normalized"]]
            most = min(odd + [len(ids)])
            ids = {k: v for k, v in ids.items() if v < most}
            special = {t["content"]: 3 if t["special"] else 4 for t in said["added_tokens"]}
            tokens = sorted(ids, key=ids.get)
            assert [ids[t] for t in tokens] == list(range(len(tokens)))
            w.add_tokenizer_model("gpt2"), w.add_tokenizer_pre(pre), w.add_token_list(tokens)
            w.add_token_types([special.get(t, 1) for t in tokens])
            w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in said["model"]["merges"]])
            for key, token in ("bos", first), ("eos", last):
                if token:
                    getattr(w, f"add_{key}_token_id")(ids[token])
        else:
            p = sentencepiece.SentencePieceProcessor(model_file=os.path.join(root, name, "spiece.model"))
            count = range(p.get_piece_size())
            kind = lambda i: 2 if p.is_unknown(i) else 3 if p.is_control(i) else 6 if p.is_byte(i) else 5 if p.is_unused(i) else 1
            w.add_tokenizer_model("llama"), w.add_token_list([p.id_to_piece(i) for i in count])
            w.add_token_scores([p.get_score(i) for i in count]), w.add_token_types([kind(i) for i in count])
            w.add_add_bos_token(False), w.add_bos_token_id(p.bos_id()), w.add_eos_token_id(p.eos_id())
        w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
        lines = open(os.path.join(root, name, "cases.jsonl")).read().splitlines()[::3 if pre else 1]
        beyond = lambda line: pre and any(i >= most for i in json.loads(line).get("ids", []))
        open(os.path.join(folder, "cases.jsonl"), "w").write("\n".join(line for line in lines if not beyond(line)) + "\n")
        for file in "model.gguf", "cases.jsonl":
            os.chmod(os.path.join(folder, file), 0o644)


def corpus():
    folder = os.path.join(ROOT, "../../../fuzz/corpus/gguf")
    os.makedirs(folder, exist_ok=True)
    for name in "llama3", "qwen2moe", "gpt2", "falcon40b", "gemma2", "phi3", "types":
        open(os.path.join(folder, name), "wb").write(open(os.path.join(ROOT, name + ".gguf"), "rb").read())


if __name__ == "__main__":
    os.makedirs(ROOT, exist_ok=True)
    if sys.argv[1:] == ["--corpus"]:
        sys.exit(corpus())
    if sys.argv[1:] == ["--tokenizers"]:
        sys.exit(tokenizers())
    if sys.argv[1:] == ["--types"]:
        sys.exit(types())
    for case in sys.argv[1:] or CASES:
        make(case)
