#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only: a conformance case of a diffusers model, as a variation of another. Needs torch and diffusers.
#     tools/make_diffusers_case.py CASE NAME --set KEY=JSON --shape sample=2,4,15,10 --input timestep_cond=2,8 -o tests/conform/cases
# Weights and inputs are those of make_case.py; an input that is not given a shape has the one that it has in CASE.
import argparse, json, os, sys
import numpy as np
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_case


def nearest_to_square(count):
    """Frames, height and width of so many patches: the greatest height that is not more than the width."""
    height = max(n for n in range(1, count + 1) if count % n == 0 and n * n <= count)
    return [1, height, count // height]


def answers(model, given):
    """What a case holds of a class: its outputs by name."""
    kind = type(model).__name__
    if kind.startswith("Autoencoder") and "latent" in given:
        return {"sample": model.decode(given["latent"]).sample}
    if kind == "AutoencoderKL":
        found = model.encode(given["sample"]).latent_dist
        return {"mean": found.mean, "logvar": found.logvar, "parameters": found.parameters}
    if kind.startswith("Autoencoder"):
        found = model.encode(given["sample"])
        return {"latents": found.latent if kind == "AutoencoderDC" else found.latents}
    added = {k: given.pop(k) for k in ("text_embeds", "time_ids", "resolution", "aspect_ratio") if k in given}
    if added:
        given["added_cond_kwargs"] = added
    if kind == "QwenImageTransformer2DModel":
        grid = given.pop("img_shapes").tolist() if "img_shapes" in given else [nearest_to_square(given["hidden_states"].shape[1])]
        given["img_shapes"] = [[tuple(g) for g in grid]] * len(given["hidden_states"])
    out = model(**given)
    if kind == "ControlNetModel":
        return {f"down.{i}": v for i, v in enumerate(out.down_block_res_samples)} | {"mid": out.mid_block_res_sample}
    return {"sample": out.sample}


def main():
    p = argparse.ArgumentParser(description="Makes conformance cases of diffusers' models; the comment at the top of this file has an example.")
    p.add_argument("case")
    p.add_argument("name")
    p.add_argument("--set", action="append", default=[], metavar="KEY=JSON")
    p.add_argument("--shape", action="append", default=[], metavar="INPUT=2,4,16,12")
    p.add_argument("--input", action="append", default=[], metavar="INPUT=2,8", help="one that CASE has not, of f32")
    p.add_argument("--numbers", action="append", default=[], metavar="INPUT=JSON", help="one of whole numbers, as they are given")
    p.add_argument("--without", action="append", default=[], metavar="INPUT")
    p.add_argument("-o", "--output", default=".")
    a = p.parse_args()
    import diffusers, torch
    case, values, _, inputs, _ = make_case.read_case(a.case)
    for text in a.set:
        make_case.set_value(values, text)
    for text in a.shape + a.input:
        key, _, shape = text.partition("=")
        shape = tuple(int(n) for n in shape.split(","))
        inputs[key] = inputs[key].ravel()[np.arange(np.prod(shape)) % inputs[key].size].reshape(shape) if key in inputs \
            else (make_case.formula(f"{a.name}.{key}", shape) * np.sqrt(shape[-1])).astype(np.float32)
    for key, v in inputs.items():
        if v.dtype == np.float32 and v.ndim > 1 and not key.endswith("_ids"):
            inputs[key] = (make_case.formula(f"{a.name}.{key}", v.shape) * np.sqrt(np.prod(v.shape[1:]))).astype(np.float32)
    for key in a.without:
        del inputs[key]
    for text in a.numbers:
        key, _, value = text.partition("=")
        inputs[key] = np.array(json.loads(value), dtype=np.int64)
    cls = getattr(diffusers, case["class"])
    model = cls.from_config({k: v for k, v in values.items() if not k.startswith("_")}).to(torch.float32).eval()
    names = [(k, "F32", tuple(v.shape)) for k, v in sorted(model.state_dict().items())]
    model.load_state_dict({k: torch.from_numpy(v) for k, v in make_case.fill(names, {}).items()})
    with torch.no_grad():
        out = answers(model, {k: torch.from_numpy(v) for k, v in inputs.items()})
    outputs = {k: v.numpy() for k, v in out.items()}
    folder = f"{a.output}/{a.name}"
    make_case.write(folder, cls, json.dumps(values | {"model_type": case["model_type"]}), names, {}, inputs, outputs, None)
    with open(f"{folder}/config.json", "w") as f:
        f.write(json.dumps(values, indent=1, sort_keys=True))
    with open(f"{folder}/case.json") as f:
        made = json.load(f)
    made.pop("transformers")
    with open(f"{folder}/case.json", "w") as f:
        f.write(json.dumps(made | {"library": "diffusers", "diffusers": diffusers.__version__, "weights_file": case["weights_file"]}, indent=1))
    print(f"{folder}: " + ", ".join(f"{k} {list(v.shape)}" for k, v in outputs.items()))


if __name__ == "__main__":
    main()
