#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only: what a pipeline of diffusers answers for a folder of tests/conform/pipeline. Needs torch, transformers, diffusers.
#     tools/make_diffusers_pipeline.py [--check] FOLDER...
# A folder has model_index.json, the scheduler's, the models' and the tokenizers' configurations, and in pipeline.json the inputs and the
# options. Weights by formula (weights.tsv), latents that an input names and that are not there, and the answers are written; --check
# writes nothing, and says how far the answers are from those of the folder. Noise that is drawn is that of src/denoise/noise.h. An
# image, and a mask_image, is asked of the class that AutoPipelineForImage2Image or AutoPipelineForInpainting has for that of the folder.
import argparse, json, os, shutil, sys, tempfile
import numpy as np
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_case


def splitmix64(seed, i):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def normal(seed, first, shape):
    """Numbers first, first + 1, .. of a seed's normal noise."""
    i = np.uint64(first) + np.arange(np.prod(shape), dtype=np.uint64)
    u = ((splitmix64(seed, i & ~np.uint64(1)) >> np.uint64(11)).astype(np.float64) + 1) * 2.0**-53
    angle = 2 * np.pi * (splitmix64(seed, i | np.uint64(1)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    wave = np.where(i & np.uint64(1), np.sin(angle), np.cos(angle))
    return (np.sqrt(-2 * np.log(u)) * wave).astype(np.float32).reshape(shape)


class Noise:
    """Stands for the generator of torch in schedulers that draw."""

    def __init__(self, seed):
        self.seed, self.drawn = seed, 0

    def __call__(self, shape, **_):
        import torch
        out = normal(self.seed, self.drawn, tuple(shape))
        self.drawn += out.size
        return torch.from_numpy(out)


def read(path):
    with open(path) as f:
        return json.load(f)


def models(folder):
    """The components with weights: name and class."""
    import diffusers, transformers
    for name, value in read(f"{folder}/model_index.json").items():
        if isinstance(value, list) and value[1] and name != "scheduler" and not name.startswith("tokenizer"):
            yield name, getattr(diffusers if value[0] == "diffusers" else transformers, value[1])


def weights(cls, folder):
    """Of a component: names, types and shapes, and the contents of integers."""
    config = read(f"{folder}/config.json")
    with tempfile.TemporaryDirectory() as scratch:
        if "_class_name" in config:
            state = cls.from_config({k: v for k, v in config.items() if not k.startswith("_")}).state_dict()
            return [(k, "F32", tuple(v.shape)) for k, v in sorted(state.items())], {}
        cls(make_case.configuration(cls, config)).save_pretrained(scratch)
        return make_case.saved(scratch)


def filled(folder, scratch):
    """A copy that diffusers can load; integer tensors by component."""
    from safetensors.numpy import save_file
    shutil.copytree(folder, scratch, dirs_exist_ok=True)
    integers = {}
    for name, cls in models(folder):
        names, whole = weights(cls, f"{folder}/{name}")
        integers |= {name: whole} if whole else {}
        with open(f"{scratch}/{name}/weights.tsv", "w") as f:
            f.writelines(f"{n}\t{d}\t{','.join(map(str, s))}\n" for n, d, s in names)
        file = "diffusion_pytorch_model" if cls.__module__.startswith("diffusers") else "model"
        tensors = {k: np.array(v, order="C") for k, v in make_case.fill(names, whole).items()}
        save_file(tensors, f"{scratch}/{name}/{file}.safetensors", {"format": "pt"})
    return integers


def latents_of(pipe, path, options):
    from safetensors.numpy import load_file, save_file
    if not os.path.exists(path):
        shape = (1, pipe.vae.config.latent_channels, options["height"] // pipe.vae_scale_factor, options["width"] // pipe.vae_scale_factor)
        save_file({"latents": normal(0, 0, shape)}, path)
    return load_file(path)["latents"]


def answer(pipe, folder, given, options):
    import diffusers, torch
    options = dict(options) | given.get("options", {})
    noise = Noise(options.pop("seed", 0))
    asked = {k: v for k, v in given.items() if k != "options"}
    for k in ("image", "mask_image"):
        if k in asked:
            asked[k] = diffusers.utils.load_image(f"{folder}/{asked[k]}")
    if type(pipe).__name__ in ("StableDiffusionPipeline", "StableDiffusionXLPipeline", "StableDiffusion3Pipeline", "FluxPipeline") and "image" in asked:
        auto = diffusers.AutoPipelineForInpainting if "mask_image" in asked else diffusers.AutoPipelineForImage2Image
        pipe = auto.from_pipe(pipe)
        pipe.set_progress_bar_config(disable=True)
    if "latents" in asked:
        asked["latents"] = torch.from_numpy(latents_of(pipe, f"{folder}/{asked['latents']}", options))
    for module in {sys.modules[c.__module__] for c in (*type(pipe.scheduler).__mro__, *type(pipe).__mro__, diffusers.models.autoencoders.vae.DiagonalGaussianDistribution)}:
        if hasattr(module, "randn_tensor"):
            module.randn_tensor = noise
    return pipe(**asked, **options, output_type="np").images[0]


def make(folder, check):
    import diffusers, torch, transformers
    from PIL import Image
    from safetensors.numpy import load_file, save_file
    file = read(f"{folder}/pipeline.json")
    with tempfile.TemporaryDirectory() as scratch:
        integers = filled(folder, scratch)
        absent = {k: None for k, v in read(f"{folder}/model_index.json").items() if isinstance(v, list) and not v[1]}
        pipe = diffusers.DiffusionPipeline.from_pretrained(scratch, torch_dtype=torch.float32, **absent)
        pipe.set_progress_bar_config(disable=True)
        print(f"{folder}: " + ", ".join(f"{k} {type(v).__name__}" for k, v in pipe.components.items() if v is not None))
        images = [answer(pipe, folder, given, file["options"]) for given in file["inputs"]]
        if check:
            stored = load_file(f"{folder}/answers.safetensors")
            for i, image in enumerate(images):
                print(f"  {i}: {np.abs(image - stored[f'{i}.image']).max():.3g} off, within {image.min():.3g} to {image.max():.3g}, spread {image.std():.3g}")
            return
        for name, _ in models(folder):
            shutil.copy(f"{scratch}/{name}/weights.tsv", f"{folder}/{name}/weights.tsv")
    save_file({f"{i}.image": np.ascontiguousarray(x) for i, x in enumerate(images)}, f"{folder}/answers.safetensors")
    for i, image in enumerate(images):
        Image.fromarray(np.rint(image * 255).astype(np.uint8)).save(f"{folder}/answer.{i}.png.png")
    file["answers"] = [{"image": {"tensor": f"{i}.image", "shape": list(x.shape)}, "png": {"png": f"answer.{i}.png.png"}} for i, x in enumerate(images)]
    file["tolerance"] = {"levels": 2, "tensor": 0.002}
    if integers:
        file["integer_tensors"] = integers
    file["made_by"] = {"transformers": transformers.__version__, "torch": torch.__version__.partition("+")[0], "diffusers": diffusers.__version__}
    with open(f"{folder}/pipeline.json", "w") as f:
        json.dump(file, f, indent=1)
    print(f"  {len(images)} answers, from {min(x.min() for x in images):.3g} to {max(x.max() for x in images):.3g}")


def main():
    p = argparse.ArgumentParser(description="Makes the answers of pipelines of diffusers; the comment at the top of this file says of what.")
    p.add_argument("folders", nargs="+")
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    for folder in a.folders:
        make(folder.rstrip("/"), a.check)


if __name__ == "__main__":
    main()
