#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only (torch, transformers, and the libraries that own the formats, from PyPI): makes the folders of tests/unit/data/quantised,
# tiny models as people publish them quantised. Each has config.json, model.safetensors, expected.safetensors (the numbers that the format's own
# library makes of its tensors, F32) and io.safetensors (what transformers computes with those numbers).
#     tools/make_quantised_case.py [NAME...]
#     tools/make_quantised_case.py --adapters    the folders of tests/unit/data/adapters
#     tools/make_quantised_case.py --corpus      inputs of fuzz_computed, from all folders
import json, os, sys
import torch
from safetensors.torch import save_file

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make_case import formula

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/unit/data/quantised")
SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=64,
             max_position_embeddings=32, tie_word_embeddings=False, pad_token_id=0)


def tiny(dtype="float32", kind="Llama", **keys):
    import transformers

    config = getattr(transformers, kind + "Config")(**(SIZES | keys))
    model = getattr(transformers, kind + "ForCausalLM")._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, p in model.state_dict().items():
            p.copy_(torch.from_numpy(formula(name, tuple(p.shape))))
    config.dtype = dtype
    return model


# The matrices that such a library quantises: linear layers but the head.
def linears(model):
    return [n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear) and n != "lm_head"]


def write(name, model, tensors, expected, how):
    folder = os.path.join(ROOT, name)
    os.makedirs(folder, exist_ok=True)
    dtype = getattr(torch, str(model.config.dtype).replace("torch.", ""))
    left = {k: v.to(dtype) for k, v in model.state_dict().items() if k not in expected}
    config = json.loads(model.config.to_json_string()) | {"dtype": str(dtype)[6:], "architectures": [type(model).__name__]}
    if how:
        config["quantization_config"] = how
    json.dump(config, open(os.path.join(folder, "config.json"), "w"), indent=1)
    save_file({k: v.contiguous() for k, v in (left | tensors).items()}, os.path.join(folder, "model.safetensors"))
    save_file({k: v.float().contiguous() for k, v in expected.items()}, os.path.join(folder, "expected.safetensors"))
    with torch.no_grad():
        model.load_state_dict({k: v.float() for k, v in (left | expected).items()})
        ids = torch.arange(18).reshape(2, 9) * 7 % model.config.vocab_size
        mask = torch.ones_like(ids)
        out = model(input_ids=ids, attention_mask=mask).logits
    save_file({"in.input_ids": ids, "in.attention_mask": mask, "out.logits": out}, os.path.join(folder, "io.safetensors"))
    for file in os.listdir(folder):
        os.chmod(os.path.join(folder, file), 0o644)
    print(name, len(expected), "weights")


def fp8(name, block, dtype, kind=torch.float8_e4m3fn):
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize

    model, tensors, expected = tiny(dtype), {}, {}
    for n in linears(model):
        w = model.get_submodule(n).weight.detach()
        rows, columns = block or w.shape
        blocks = w.reshape(w.shape[0] // rows, rows, w.shape[1] // columns, columns)
        scale = blocks.abs().amax((1, 3)) / torch.finfo(kind).max
        codes = (blocks / scale[:, None, :, None]).reshape(w.shape).to(kind)
        tensors[n + ".weight"] = codes
        tensors[n + ".weight_scale_inv"] = scale if block else scale.reshape(())
        expected[n + ".weight"] = Fp8Dequantize(None)._dequantize_one(codes, scale, getattr(torch, dtype))
    how = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": block, "modules_to_not_convert": ["lm_head"]}
    write(name, model, tensors, expected, how)


def f8_cast():
    model = tiny("bfloat16")
    tensors = {n + ".weight": model.get_submodule(n).weight.detach().to(torch.float8_e5m2) for n in linears(model)}
    write("f8-e5m2-cast", model, tensors, {n: w.bfloat16() for n, w in tensors.items()}, None)


def compressed(name, format, dtype="float32", **weights):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.utils import calculate_qparams

    model, tensors, expected = tiny(dtype), {}, {}
    args = QuantizationArgs(**weights)
    scheme = QuantizationScheme(targets=["Linear"], weights=args, format=format)
    library = BaseCompressor.get_value_from_registry(format)
    for n in linears(model):
        w = model.get_submodule(n).weight.detach().to(getattr(torch, dtype))
        state, order = {"weight": w}, None
        if args.strategy == "tensor":
            low, high = w.min().reshape(1), w.max().reshape(1)
        elif args.strategy == "channel":
            low, high = w.amin(1, keepdim=True), w.amax(1, keepdim=True)
        elif args.strategy == "block":
            rows, columns = args.block_structure
            blocks = w.reshape(w.shape[0] // rows, rows, w.shape[1] // columns, columns)
            low, high = blocks.amin((1, 3)), blocks.amax((1, 3))
        else:
            groups = w.reshape(w.shape[0], -1, args.group_size)
            low, high = groups.amin(-1), groups.amax(-1)
        state["weight_scale"], state["weight_zero_point"] = calculate_qparams(low, high, args)
        packed = library.compress(state, scheme)
        made = library.decompress({k: v.clone() for k, v in packed.items()}, scheme)["weight"]
        tensors |= {f"{n}.{k}": v for k, v in packed.items() if not (args.symmetric and k == "weight_zero_point")}
        expected[n + ".weight"] = made
    how = {"quant_method": "compressed-tensors", "format": format, "ignore": ["lm_head"], "quantization_status": "compressed",
           "config_groups": {"group_0": {"targets": ["Linear"], "weights": args.model_dump(mode="json")}}}
    write(name, model, tensors, expected, how)


# The formulas of AutoGPTQ (qlinear_cuda.py) and AutoAWQ (utils/packing_utils.py), written down from their definition.
def groupwise(name, method, bits, group, order=False, v2=False, dtype="float16", symmetric=False):
    model, tensors, expected = tiny(dtype), {}, {}
    each, top = 32 // bits, 2**bits - 1

    def pack(codes, dim, places):
        codes = codes.to(torch.int64).movedim(dim, -1)
        words = sum(codes[..., place::each] << (bits * i) for i, place in enumerate(places))
        return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32).movedim(-1, dim).contiguous()

    places = [0, 2, 4, 6, 1, 3, 5, 7] if method == "awq" else list(range(each))
    for n in linears(model):
        w = model.get_submodule(n).weight.detach().t()  # [in, out]
        rows = w.shape[0]
        of = torch.arange(rows) // group
        if order:
            of = of[torch.randperm(rows, generator=torch.Generator().manual_seed(len(n)))]
        scales, zeros = torch.empty(rows // group, w.shape[1], dtype=torch.float16), torch.empty(rows // group, w.shape[1], dtype=torch.int64)
        for g in range(rows // group):
            part = w[of == g]
            low, high = part.amin(0).clamp(max=0), part.amax(0).clamp(min=0)
            if symmetric:
                high = torch.maximum(high, -low)
                low = -high
            scales[g] = ((high - low) / top).half()
            zeros[g] = 2 ** (bits - 1) if symmetric else (-low / scales[g].float()).round().clamp(1, top).to(torch.int64)
        codes = (w / scales.float()[of] + zeros[of]).round().clamp(0, top).to(torch.int64)
        stored = zeros if method == "awq" or v2 else zeros - 1
        tensors[n + ".qweight"] = pack(codes, 1 if method == "awq" else 0, places)
        tensors[n + ".qzeros"] = pack(stored, 1, places)
        tensors[n + ".scales"] = scales
        if method == "gptq":
            tensors[n + ".g_idx"] = of.to(torch.int32)
        expected[n + ".weight"] = ((codes - zeros[of]).float() * scales.float()[of]).to(getattr(torch, dtype)).t()
    how = {"quant_method": method, "bits": bits, "group_size": group}
    how |= {"version": "gemm", "zero_point": True} if method == "awq" else {"desc_act": order, "sym": symmetric, "checkpoint_format": "gptq_v2" if v2 else "gptq"}
    write(name, model, tensors, expected, how)


def bitsandbytes(name, kind, nested=False, dtype="float16"):
    import bitsandbytes.functional as F

    model, tensors, expected = tiny(dtype, hidden_size=64, intermediate_size=64), {}, {}
    for n in linears(model):
        w = model.get_submodule(n).weight.detach().to(getattr(torch, dtype))
        if kind == "int8":
            codes, scales, _ = F.int8_vectorwise_quant(w.half())
            tensors |= {n + ".weight": codes, n + ".SCB": scales, n + ".weight_format": torch.tensor(0, dtype=torch.uint8)}
            expected[n + ".weight"] = F.int8_vectorwise_dequant(codes, scales).to(getattr(torch, dtype))
            continue
        codes, state = F.quantize_4bit(w, blocksize=64, compress_statistics=nested, quant_type=kind)
        tensors |= {f"{n}.weight": codes} | {f"{n}.weight.{k}": v for k, v in state.as_dict(packed=True).items()}
        expected[n + ".weight"] = F.dequantize_4bit(codes, state)
    how = {"quant_method": "bitsandbytes", "load_in_8bit": kind == "int8", "load_in_4bit": kind != "int8", "bnb_4bit_quant_type": kind,
           "bnb_4bit_use_double_quant": nested}
    write(name, model, tensors, expected, how)


def mxfp4():
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    model = tiny("bfloat16", "GptOss", num_local_experts=2, num_experts_per_tok=1, head_dim=8, intermediate_size=32, layer_types=["full_attention"])
    tensors, expected, random = {}, {}, torch.Generator().manual_seed(1)
    for n, p in model.state_dict().items():
        if n.endswith("_proj") and p.ndim == 3:
            experts, rows, columns = p.shape
            blocks = torch.randint(0, 256, (experts, columns, rows // 32, 16), generator=random, dtype=torch.uint8)
            scales = torch.randint(120, 126, (experts, columns, rows // 32), generator=random, dtype=torch.uint8)
            tensors |= {n + "_blocks": blocks, n + "_scales": scales}
            expected[n] = convert_moe_packed_tensors(blocks, scales)
    write("mxfp4", model, tensors, expected, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})


CASES = {
    "gptq-4": lambda: groupwise("gptq-4", "gptq", 4, 16),
    "gptq-4-order": lambda: groupwise("gptq-4-order", "gptq", 4, 16, order=True, dtype="float32"),
    "gptq-8-v2": lambda: groupwise("gptq-8-v2", "gptq", 8, 16, v2=True),
    "gptq-4-symmetric": lambda: groupwise("gptq-4-symmetric", "gptq", 4, 16, symmetric=True),
    "awq": lambda: groupwise("awq", "awq", 4, 16),
    "bnb-nf4": lambda: bitsandbytes("bnb-nf4", "nf4"),
    "bnb-nf4-nested": lambda: bitsandbytes("bnb-nf4-nested", "nf4", True, "bfloat16"),
    "bnb-fp4": lambda: bitsandbytes("bnb-fp4", "fp4", dtype="float32"),
    "bnb-int8": lambda: bitsandbytes("bnb-int8", "int8"),
    "mxfp4": mxfp4,
    "fp8-blocks": lambda: fp8("fp8-blocks", [16, 16], "bfloat16"),
    "fp8-tensor": lambda: fp8("fp8-tensor", None, "float32"),
    "f8-e5m2-cast": f8_cast,
    "ct-float-channel": lambda: compressed("ct-float-channel", "float-quantized", num_bits=8, type="float", strategy="channel", symmetric=True),
    "ct-float-tensor": lambda: compressed("ct-float-tensor", "float-quantized", "bfloat16", num_bits=8, type="float", strategy="tensor", symmetric=True),
    "ct-float-block": lambda: compressed("ct-float-block", "float-quantized", num_bits=8, type="float", strategy="block", block_structure=[16, 16], symmetric=True),
    "ct-int8-channel": lambda: compressed("ct-int8-channel", "int-quantized", num_bits=8, type="int", strategy="channel", symmetric=False),
    "ct-int4-group": lambda: compressed("ct-int4-group", "pack-quantized", "bfloat16", num_bits=4, type="int", strategy="group", group_size=16, symmetric=True),
    "ct-int4-zeros": lambda: compressed("ct-int4-zeros", "pack-quantized", num_bits=4, type="int", strategy="group", group_size=16, symmetric=False),
    "ct-int8-packed": lambda: compressed("ct-int8-packed", "pack-quantized", num_bits=8, type="int", strategy="channel", symmetric=True),
}

# Adapters (peft) beside their base models in data/adapters. adapter_config.json names the base as BASE; the test puts its path there.
def adapter(name, model, base, change, **config):
    from peft import LoraConfig, get_peft_model

    root = os.path.join(ROOT, "../adapters")
    torch.manual_seed(len(name))
    given = {k: v.clone() for k, v in model.state_dict().items()}
    model.save_pretrained(os.path.join(root, base), safe_serialization=True)
    tuned = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **config))
    with torch.no_grad():
        for n, p in tuned.named_parameters():
            if "lora_" in n or change(n):
                p.copy_(torch.randn_like(p) * 0.1)
    folder = os.path.join(root, name)
    tuned.eval().save_pretrained(folder)
    merged = tuned.merge_and_unload()
    file = os.path.join(folder, "adapter_config.json")
    json.dump(json.load(open(file)) | {"base_model_name_or_path": "BASE"}, open(file, "w"), indent=1)
    os.remove(os.path.join(folder, "README.md"))
    save_file({k: v.clone() for k, v in merged.state_dict().items() if not torch.equal(v, given[k])}, os.path.join(folder, "expected.safetensors"))
    with torch.no_grad():
        ids = torch.arange(18).reshape(2, 9) * 7 % model.config.vocab_size
        out = merged(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    save_file({"in.input_ids": ids, "in.attention_mask": torch.ones_like(ids), "out.logits": out}, os.path.join(folder, "io.safetensors"))
    for where in folder, os.path.join(root, base):
        for file in os.listdir(where):
            os.chmod(os.path.join(where, file), 0o644)
    print(name)


def adapters():
    import transformers

    adapter("lora", tiny(), "base-llama", lambda n: "modules_to_save" in n, r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"],
            modules_to_save=["lm_head"])
    adapter("rslora-patterns", tiny(), "base-llama", lambda n: False, r=4, lora_alpha=8, use_rslora=True, rank_pattern={"q_proj": 2},
            alpha_pattern={"mlp.down_proj": 3}, target_modules=["q_proj", "k_proj", "down_proj", "embed_tokens"])
    adapter("lora-tied", tiny(tie_word_embeddings=True), "base-tied", lambda n: False, r=4, lora_alpha=8, target_modules=["q_proj"])
    gpt2 = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=64, n_positions=32)).eval()
    adapter("fan-in-fan-out", gpt2, "base-gpt2", lambda n: "c_attn" in n and n.endswith("bias"), r=4, lora_alpha=8, fan_in_fan_out=True,
            bias="lora_only", target_modules=["c_attn", "c_proj"])


# One matrix of each folder as an input of tests/fuzz/fuzz_computed.c.
def corpus():
    from safetensors.torch import load_file, save

    folder = os.path.join(ROOT, "../../../fuzz/corpus/computed")
    os.makedirs(folder, exist_ok=True)
    for case in sorted(os.listdir(ROOT)):
        tensors = load_file(os.path.join(ROOT, case, "model.safetensors"))
        how = json.load(open(os.path.join(ROOT, case, "config.json"))).get("quantization_config")
        one = {k: v.contiguous() for k, v in tensors.items() if ".k_proj." in k or ".experts." in k}
        open(os.path.join(folder, case), "wb").write(json.dumps(how).encode() + b"\0" + save(one))


if __name__ == "__main__":
    if sys.argv[1:] == ["--corpus"]:
        sys.exit(corpus())
    if sys.argv[1:] == ["--adapters"]:
        sys.exit(adapters())
    for case in sys.argv[1:] or CASES:
        CASES[case]()
