#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only (torch and transformers from PyPI): makes folders of tests/conform/preprocess whose settings or calls are unlike
# those of published models, in the format that tests/conform/preprocess/README.md has.
#     tools/make_sound_case.py [FOLDER...]
# Where an extractor draws at random, it is given the first of the values that it may draw: that is what assay takes.
import json, os, sys
import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")

# folder: class, settings, [case, sounds (samples, or samples and channels), options]
FOLDERS = {
    "ast-left": ("ASTFeatureExtractor", {"num_mel_bins": 20, "max_length": 40, "padding_side": "left", "padding_value": 3.0, "mean": 1.5, "std": 0.5}, [
        ("pair", [9000, 5000], {})]),
    "clap-fusion": ("ClapFeatureExtractor", {"sampling_rate": 16000, "max_length_s": 1, "fft_window_size": 512, "hop_length": 160, "frequency_min": 0, "frequency_max": 7000}, [
        ("short", [9000], {}),
        ("corner", [16100], {}),
        ("long", [40000], {}),
        ("pair", [4000, 17000], {}),
        ("few-places", [16320], {}),
        ("repeat", [7000], {"padding": "repeat"}),
        ("pad", [7000], {"padding": "pad"}),
        ("cut", [20000], {"truncation": "rand_trunc"})]),
    "cohere-asr": ("CohereAsrFeatureExtractor", {}, [
        ("pair", [9000, 5000], {}),
        ("cut", [9007], {"padding": "max_length", "max_length": 6000, "truncation": True})]),
    "cohere-asr-split": ("CohereAsrFeatureExtractor", {"feature_size": 40, "max_audio_clip_s": 0.5, "overlap_chunk_second": 0.2, "min_energy_window_samples": 160, "dither": 0.01}, [
        ("long", [24003], {}),
        ("pair", [9000, 4700], {})]),
    "encodec-chunks": ("EncodecFeatureExtractor", {"sampling_rate": 24000, "feature_size": 2, "chunk_length_s": 0.25, "overlap": 0.1, "padding_value": 0.5}, [
        ("pair", [(7000, 2), (13000, 2)], {}),
        ("truncated", [(7000, 2), (13000, 2)], {"truncation": True}),
        ("longer", [(7000, 2)], {"max_length": 8000, "padding": "max_length"})]),
    "lasr": ("LasrFeatureExtractor", {}, [
        ("alone", [9000], {}),
        ("pair", [9000, 5000], {"return_attention_mask": True})]),
    "parakeet-variant": ("ParakeetFeatureExtractor", {"feature_size": 128, "n_fft": 400, "win_length": 320, "hop_length": 128, "preemphasis": None, "padding_side": "left"}, [
        ("pair", [9000, 5000], {}),
        ("cut", [9000, 5000], {"padding": "max_length", "max_length": 6000, "truncation": True})]),
    "speech-to-text-left": ("Speech2TextFeatureExtractor", {"num_mel_bins": 40, "feature_size": 40, "padding_side": "left", "padding_value": -1.0, "normalize_vars": False}, [
        ("pair", [9000, 5000], {"padding": True}),
        ("multiple", [9000, 5000], {"padding": "max_length", "max_length": 50, "truncation": True, "pad_to_multiple_of": 8})]),
    "speecht5-variant": ("SpeechT5FeatureExtractor", {"do_normalize": True, "num_mel_bins": 33, "hop_length": 10, "win_length": 23, "win_function": "hamming_window", "fmin": 0, "fmax": 8000}, [
        ("pair", [9000, 5000], {"padding": True}),
        ("unmasked", [9000, 5000], {"padding": True, "return_attention_mask": False}),
        ("target", [5000], {"audio_target": True}),
        ("mirrored", [100], {"audio_target": True})]),
    "wav2vec2-bert-stride": ("SeamlessM4TFeatureExtractor", {"stride": 3, "num_mel_bins": 40, "feature_size": 40, "padding_value": 1.0}, [
        ("pair", [9000, 5000], {}),
        ("multiple", [9000, 5000], {"pad_to_multiple_of": 5}),
        ("unmasked", [5000], {"return_attention_mask": False})]),
    "whisper-variant": ("WhisperFeatureExtractor", {"feature_size": 40, "n_fft": 331, "hop_length": 150, "chunk_length": 2, "return_attention_mask": True, "sampling_rate": 22050}, [
        ("pair", [9000, 5000], {}),
        ("uneven", [9001], {"padding": "longest", "return_attention_mask": True}),
        ("unmasked", [9000], {"return_attention_mask": False}),
        ("normalize", [9000, 5000], {"do_normalize": True, "return_attention_mask": False})]),
}


def stream(name, n):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(h) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1).astype(np.float32)


def sound(name, n, rate):
    t = np.arange(n, dtype=np.float64) / rate
    s = 0.4 * np.sin(2 * np.pi * (80 * t + 350 * t * t)) * (0.6 + 0.4 * np.cos(2 * np.pi * 1.5 * t))
    return (s + 0.05 * stream(name, n).astype(np.float64)).astype(np.float32)


def audio_of(folder, case, i, spec, rate):
    samples, channels = spec if isinstance(spec, tuple) else (spec, 1)
    name = "%s-%s-%d" % (folder, case, i)
    if channels == 1:
        return {"name": name, "samples": samples, "rate": rate}, sound(name, samples, rate)
    names = [name + side for side in "lr"]
    return {"names": names, "samples": samples, "rate": rate}, np.stack([sound(n, samples, rate) for n in names])


def store(tensors, case, name, value):
    value = np.asarray(value)
    value = value.astype(np.int64 if value.dtype.kind in "biu" else np.float32)
    stride = max(1, value.size // 500 | 1)
    said = {"shape": list(value.shape), "stride": stride, "dtype": str(value.dtype)}
    tensors["%s/%s" % (case, name)] = value.reshape(-1)[::stride].copy()
    if stride > 1:
        said["sum_axes"] = [value.ndim - 1]
        tensors["%s/%s.sum" % (case, name)] = value.astype(np.float64).sum(-1).reshape(-1)
    return said


def make(folder):
    import torch, transformers
    from safetensors.numpy import save_file
    name, settings, cases = FOLDERS[folder]
    extractor = getattr(transformers, name)(**settings)
    np.random.choice, np.random.randint = lambda values: values[0], lambda low, high: low
    meta = {"transformers": transformers.__version__, "class": name, "reference": "tools/make_sound_case.py",
            "tolerance": 1e-3 if name[:4] in ("ASTF", "Clap", "Cohe", "Lasr", "Para", "Spee", "Seam") else 1e-4, "cases": []}
    tensors = {}
    for case, specs, options in cases:
        said, sounds = zip(*[audio_of(folder, case, i, spec, extractor.sampling_rate) for i, spec in enumerate(specs)])
        key = "audio_target" if options.get("audio_target") else None
        call = {k: v for k, v in options.items() if k != "audio_target"}
        if len(sounds) == 1:
            sounds = sounds[0]
        first = [] if key else [list(sounds) if isinstance(sounds, tuple) else sounds]
        out = extractor(*first, **({key: list(sounds) if isinstance(sounds, tuple) else sounds} if key else {}),
                        sampling_rate=extractor.sampling_rate, return_tensors="np", **call)
        meta["cases"].append({"case": case, "audio": list(said), "options": options,
                              "outputs": {k: store(tensors, case, k, v) for k, v in out.items() if k != "audio_chunk_index"}})
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "conform", "preprocess", folder)
    os.makedirs(where, exist_ok=True)
    json.dump({"feature_extractor_type": name, **settings}, open(os.path.join(where, "preprocessor_config.json"), "w"), indent=1)
    json.dump(meta, open(os.path.join(where, "meta.json"), "w"), indent=1)
    save_file(tensors, os.path.join(where, "expected.safetensors"))


for folder in sys.argv[1:] or FOLDERS:
    make(folder)
