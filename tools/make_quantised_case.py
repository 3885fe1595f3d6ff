#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only (torch, transformers, and the libraries that own the formats, from PyPI): makes the folders of tests/unit/data/quantised,
# tiny models as people publish them quantised. Each has config.json, model.safetensors, expected.safetensors (the numbers that the format's own
# library makes of its tensors, F32) and io.safetensors (what transformers computes with those numbers).
#     tools/make_quantised_case.py [NAME...]
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


CASES = {
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
    for case in sys.argv[1:] or CASES:
        CASES[case]()
