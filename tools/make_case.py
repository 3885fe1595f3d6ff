#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Development only (torch and transformers from PyPI): makes a conformance case, a folder of some kB with a tiny model's config.json,
# the names and shapes of its weights, and what transformers computes with them. The format is that of tests/conform/README.md.
#     tools/make_case.py LlamaForCausalLM --config tiny.json --name llama-foo [--inputs batch=2,seq=11]
#     tools/make_case.py --like tests/conform/cases/llama --set attention_bias=true --set rope_parameters.rope_theta=500 --name llama-biased
#     tools/make_case.py --generate tests/conform/cases/llama --tokens 12
#     tools/make_case.py --check tests/conform/cases/llama tests/conform/cases/bert
# --config and --set say what differs from the class's defaults, so a tiny.json has to make everything tiny. --like takes class, inputs
# and outputs from a case. --generate writes gen.json of a case: what generate() gives greedily after its inputs. --check makes cases again and says how far the outputs are from those on disk. A type of which
# src/arch/defaults.jsonl does not know the class's defaults yet gets its line there.
import argparse, copy, json, os, shutil, sys, tempfile, zlib
import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")
INTEGER = {"I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}


# ---- weights by formula (tests/conform/README.md) ----------------------------------------------------------------------------

def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def formula(name, shape):
    n = int(np.prod(shape, dtype=np.int64))
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a64(name.encode())) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    u = (z >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1
    if len(shape) >= 2:
        v = (u * np.sqrt(3.0 / np.prod(shape[1:], dtype=np.float64))).astype(np.float32)
    elif name.endswith("running_var") or (len(shape) == 1 and name.endswith(("weight", "gamma"))):
        v = (u * 0.1).astype(np.float32) + np.float32(1)
    else:
        v = (u * 0.1).astype(np.float32)
    return v.reshape(shape)


def fill(names, integers):
    tensors = {}
    for name, dtype, shape in names:
        if dtype == "F32":
            tensors[name] = formula(name, shape)
            continue
        t = np.zeros(int(np.prod(shape, dtype=np.int64)), INTEGER[dtype])
        given = np.asarray(integers.get(name, []), dtype=t.dtype).ravel()
        t[:len(given)] = given
        tensors[name] = t.reshape(shape)
    return tensors


# ---- the model ---------------------------------------------------------------------------------------------------------------

def class_named(name):
    import transformers
    found = getattr(transformers, name, None)
    return found or sys.exit(f"transformers {transformers.__version__} has no class {name}")


# The class's own configuration, or that of another type that is the same class by its name.
def kind_of(cls, values):
    kind = cls.config_class
    if kind is None or values.get("model_type") != kind.model_type:
        from transformers import CONFIG_MAPPING
        kind = CONFIG_MAPPING[values["model_type"]] if values.get("model_type") in CONFIG_MAPPING else kind
    return kind


def configuration(cls, values):
    kind = kind_of(cls, values)
    values = {k: v for k, v in values.items() if k not in ("architectures", "dtype", "torch_dtype")}
    return kind.from_dict(values)


def saved(folder):
    """Names, dtypes, shapes and the integers' contents, as they lie in a checkpoint."""
    from safetensors import safe_open
    names, integers = [], {}
    with safe_open(f"{folder}/model.safetensors", "np") as f:
        for name in sorted(f.keys()):
            s = f.get_slice(name)
            names.append((name, s.get_dtype(), tuple(s.get_shape())))
            if s.get_dtype() != "F32":
                integers[name] = f.get_tensor(name).astype(np.int64).ravel().tolist()
    return names, integers


def with_formula(cls, folder, names, integers):
    """The model, loaded the way a published one is: config.json and weights from a folder."""
    from safetensors.numpy import save_file
    import torch
    tensors = {k: np.array(v, order="C") for k, v in fill(names, integers).items()}
    save_file(tensors, f"{folder}/model.safetensors", {"format": "pt"})
    with open(f"{folder}/config.json") as f:
        kind = kind_of(cls, json.load(f))
    config = {} if kind is cls.config_class else {"config": kind.from_pretrained(folder)}
    model, info = cls.from_pretrained(folder, **config, attn_implementation="eager", dtype=torch.float32, output_loading_info=True)
    lost = sorted(info["missing_keys"]) + [str(x) for x in info["mismatched_keys"]]
    if lost:
        print(f"warning: not loaded: {', '.join(map(str, lost[:8]))}", file=sys.stderr)
    return model.eval()


def build(cls, values, folder):
    import torch
    config = configuration(cls, values)
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    cls(config).to(torch.float32).save_pretrained(folder, max_shard_size="100GB")
    names, integers = saved(folder)
    return with_formula(cls, folder, names, integers), names, integers


# ---- inputs ------------------------------------------------------------------------------------------------------------------

def part(config, *names):
    for name in names:
        found = getattr(config, name, None)
        if found is not None and not isinstance(found, dict):
            return found
    return config


def special_ids(config):
    ids, left = set(), [config.to_dict()]
    while left:
        for key, value in left.pop().items():
            if isinstance(value, dict):
                left.append(value)
            elif str(key).endswith(("token_id", "token_index")):
                ids |= {i for i in (value if isinstance(value, list) else [value]) if isinstance(i, int)}
    return ids


class Inputs:
    """Inputs of the right shapes for a model; `like` is {name: shape} of a case, `asked` what --inputs says."""

    def __init__(self, model, like, asked, name):
        self.model, self.config, self.like, self.asked = model, model.config, like, asked
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.text = part(self.config, "text_config")
        self.vision = part(self.config, "vision_config")
        self.coded = part(self.config, "decoder", "decoder_config")
        if hasattr(self.coded, "num_codebooks") or hasattr(self.coded, "num_channels"):  # words of a codec after a text
            self.text = part(self.config, "text_encoder", "encoder_config")
        elif not hasattr(self.config, "vocab_size") and hasattr(self.config, "decoder"):  # two models: tokens that both know
            halves = [half for half in (self.config.encoder, self.config.decoder) if getattr(half, "vocab_size", 0)]
            self.text, self.vision = min(halves, key=lambda half: half.vocab_size), self.config.encoder
        self.made = {}

    def size(self, word, name, axis, default):
        if word in self.asked:
            return self.asked[word]
        shape = self.like.get(name)
        return shape[axis] if shape else default

    def sound(self, *shape):
        return self.rng.uniform(-1, 1, shape).astype(np.float32)

    def tokens(self, batch, length, vocab):
        allowed = np.array(sorted(set(range(3, vocab)) - special_ids(self.config) - {vocab - 1, vocab - 2}))
        return self.rng.choice(allowed, (batch, length)).astype(np.int64)

    # All ones; the second row ends early.
    def mask(self, batch, length):
        m = np.ones((batch, length), np.int64)
        if batch > 1 and self.asked.get("mask", 1):
            m[1, length - max(1, length * 3 // 11):] = 0
        return m

    def input_ids(self):
        inserted = hasattr(self.config, "image_token_id") or hasattr(self.config, "image_token_index")
        images = self.image_tokens() if inserted else []
        batch = len(images) or self.size("text_batch" if "pixel_values" in self.like else "batch", "input_ids", 0, 2)
        length = self.size("seq", "input_ids", 1, 11)
        length = max([length] + [n + 5 for n in images]) if images and "seq" not in self.asked else length
        ids, mask = self.tokens(batch, length, self.text.vocab_size), self.mask(batch, length)
        pad, eos = getattr(self.text, "pad_token_id", None), getattr(self.text, "eos_token_id", None)
        kind = self.text.model_type
        if "clip" in kind and "clap" not in kind:
            last = self.text.vocab_size - 1 if eos == 2 or not isinstance(eos, int) else eos
            ids[:, 0] = self.text.vocab_size - 2 if last != self.text.vocab_size - 2 else 3
            for row in range(batch):
                ids[row, mask[row].sum() - 1:] = last
        elif pad is not None:
            if kind.endswith(("roberta", "clap_text_model")):
                ids[:, 0] = getattr(self.text, "bos_token_id", None) or 0
            ids[mask == 0] = pad
        if "grounding" in self.config.model_type and self.text.vocab_size > 1029:    # phrases, which end with "." or "?"
            ids[:, 0], ids[:, length // 3], ids[::2, length // 2] = 101, 1012, 1029
            ids[range(batch), mask.sum(1) - 1] = 102
        if self.config.model_type == "clvp":   # whose class looks for 0, whatever the padding is
            ids[mask == 0] = 0
        token = getattr(self.config, "image_token_id", None)
        token = getattr(self.config, "image_token_index", None) if token is None else token
        for row, n in enumerate(images):
            if 2 + n > mask[row].sum():
                mask[row, :2 + n + 1] = 1
            ids[row, 2:2 + n] = token
        self.made["attention_mask"] = mask
        return ids

    def attention_mask(self):
        if "input_ids" in self.wanted:
            self.get("input_ids")
            return self.made["attention_mask"]
        if "flattened_patches" in self.wanted:
            return (self.get("flattened_patches")[:, :, 0] > 0).astype(np.float32)
        if "states" in self.wanted:
            return self.mask(*self.get("states").shape[:2])
        name = "input_values" if "input_values" in self.wanted else "input_features"
        x, like = self.get(name), self.like.get(name, ())
        by_frame = len(like) == 3 and self.like.get("attention_mask", (0, 0))[1] == like[1]
        return self.mask(x.shape[0], x.shape[1 if by_frame else -1])

    def token_type_ids(self):
        ids = self.get("input_ids")
        if hasattr(self.text, "type_vocab_sizes"):
            return np.stack([self.rng.integers(0, min(n, 4), ids.shape, dtype=np.int64) for n in self.text.type_vocab_sizes], -1)
        return self.rng.integers(0, self.text.type_vocab_size, ids.shape, dtype=np.int64)

    def langs(self):
        return self.rng.integers(0, self.text.n_langs, self.get("input_ids").shape, dtype=np.int64)

    def task_type_ids(self):
        return self.rng.integers(0, self.text.task_type_vocab_size, self.get("input_ids").shape, dtype=np.int64)

    def input_shape_ids(self):
        return self.rng.integers(0, self.text.shape_vocab_size, self.get("input_ids").shape, dtype=np.int64)

    def input_pronunciation_ids(self):
        return self.rng.integers(0, self.text.pronunciation_vocab_size, self.get("input_ids").shape, dtype=np.int64)

    def xpath_tags_seq(self):
        return self.rng.integers(0, self.text.max_xpath_tag_unit_embeddings, (*self.get("input_ids").shape, self.text.max_depth), dtype=np.int64)

    def xpath_subs_seq(self):
        return self.rng.integers(0, self.text.max_xpath_subs_unit_embeddings, (*self.get("input_ids").shape, self.text.max_depth), dtype=np.int64)

    def visual_embeds(self):
        return self.sound(len(self.get("input_ids")), self.size("regions", "visual_embeds", 1, 5), self.text.visual_embedding_dim)

    def visual_attention_mask(self):
        return self.mask(*self.get("visual_embeds").shape[:2])

    def visual_token_type_ids(self):
        return self.rng.integers(0, self.text.type_vocab_size, self.get("visual_embeds").shape[:2], dtype=np.int64)

    # Boxes on a page of 1000 by 1000: left and top before right and bottom.
    def bbox(self):
        x, y = np.sort(self.rng.integers(0, 1000, (2, *self.get("input_ids").shape, 2), dtype=np.int64), -1)
        box = np.stack([x[..., 0], y[..., 0], x[..., 1], y[..., 1]], -1)
        return (box / 1000).astype(np.float32) if self.config.model_type == "udop" else box

    def decoder_input_ids(self):
        batch, length = self.size("batch", "input_ids", 0, 2), self.size("decoder_seq", "decoder_input_ids", 1, 7)
        if hasattr(self.coded, "num_codebooks"):
            return self.rng.integers(0, self.coded.vocab_size, (batch * self.coded.num_codebooks, length), dtype=np.int64)
        if hasattr(self.coded, "num_channels"):
            return self.rng.integers(0, self.coded.vocab_size, (batch, length, self.coded.num_channels), dtype=np.int64)
        batch = self.size("batch", "decoder_input_ids", 0, 2)
        return self.tokens(batch, self.size("decoder_seq", "decoder_input_ids", 1, 7), self.text.vocab_size)

    def pixel_values(self):
        batch = self.size("batch", "pixel_values", 0, 2)
        channels = getattr(self.vision, "num_channels", 3)
        size = getattr(self.vision, "image_size", None) or self.like.get("pixel_values", (64,))[-1]
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        width, height = self.asked.get("width", width), self.asked.get("height", height)
        if hasattr(self.vision, "num_frames") and "video" in self.config.model_type + self.config.model_type.replace("xclip", "video"):
            return self.sound(batch, self.vision.num_frames, channels, height, width)
        if "prompt_masks" in self.wanted:                              # a picture and a prompt are the halves of one
            return self.sound(batch, channels, height // 2, width)
        like = self.like.get("pixel_values", ())
        if len(like) == 5:                                             # several pictures a row, each like the first
            one = self.sound(batch, 1, channels, self.asked.get("height", like[3]), self.asked.get("width", like[4]))
            return np.concatenate([np.roll(one, 3 * i, -1) * np.float32(1 - i / 10) for i in range(like[1])], 1)
        if "image_sizes" in self.wanted:
            return self.sound(batch, max(self.patches()), channels, height, width)
        if "image_size" in self.vision.to_dict() or "height" in self.asked:
            return self.sound(batch, channels, height, width)
        return self.sound(batch, channels, *self.like.get("pixel_values", (0, 0, 64, 64))[2:])

    def prompt_pixel_values(self):
        return self.sound(*self.get("pixel_values").shape)

    def prompt_masks(self):
        return self.sound(*self.get("pixel_values").shape)

    def pixel_values_videos(self):
        batch, c = self.size("batch", "pixel_values_videos", 0, 2), self.config
        return self.sound(batch, c.frames_per_clip, c.in_chans, c.crop_size, c.crop_size)

    # LayoutLMv2's picture: 0 to 255
    def image(self):
        batch, channels, height, width = self.like.get("image", (2, 3, 64, 64))
        shape = self.size("batch", "image", 0, batch), channels, self.asked.get("height", height), self.asked.get("width", width)
        return self.rng.integers(0, 256, shape).astype(np.float32)

    # Of a masked autoencoder: the patches with the least are kept.
    def noise(self):
        if hasattr(self.config, "flow_size"):                          # of VITS, repeated over the frames
            return self.rng.standard_normal((len(self.get("input_ids")), 20, self.config.flow_size)).astype(np.float32)
        return self.rng.random(self.like["noise"]).astype(np.float32)

    def duration_noise(self):
        batch, length = self.get("input_ids").shape
        return self.rng.standard_normal((batch, length, 2)).astype(np.float32)

    def pixel_mask(self):
        x = self.get("pixel_values")
        m = np.ones((x.shape[0],) + x.shape[2:], np.int64)
        if len(m) > 1:
            m[1, m.shape[1] * 3 // 4:, :] = 0
            m[1, :, m.shape[2] * 5 // 8:] = 0
        return m

    # Pix2Struct's: row and column, counted from 1, before the numbers of each patch; 0 where there is none.
    def flattened_patches(self):
        batch, n = self.size("batch", "flattened_patches", 0, 2), self.size("seq", "flattened_patches", 1, 12)
        x = self.sound(batch, n, 2 + self.config.vision_config.patch_embed_hidden_size)
        x[:, :, 0], x[:, :, 1] = np.arange(n) // 4 + 1, np.arange(n) % 4 + 1
        return x * self.mask(batch, n)[:, :, None].astype(np.float32)

    # IDEFICS's: a token sees pictures from some token on; the first ones see none.
    def image_attention_mask(self):
        batch, seq = self.get("input_ids").shape
        images = self.get("pixel_values").shape[1]
        first = 1 + np.arange(images) * (seq // (images + 1))
        return np.broadcast_to(np.arange(seq)[:, None] >= first, (batch, seq, images)).astype(np.int64)

    # OmDet-Turbo's: classes of all pictures, one after the other, and a task of each picture. A text ends with the greatest id.
    def texts(self, name, rows):
        length = self.asked.get("seq", self.like[name][1])
        ids, mask = self.tokens(rows, length, self.text.vocab_size), self.mask(rows, length)
        for row in range(rows):
            ids[row, mask[row].sum() - 1:] = self.text.vocab_size - 1
        self.made[name.replace("input_ids", "attention_mask")] = mask
        return ids

    def classes_structure(self):
        return np.arange(2, 2 + self.size("batch", "classes_structure", 0, 1), dtype=np.int64)

    def classes_input_ids(self):
        return self.texts("classes_input_ids", int(self.get("classes_structure").sum()))

    def classes_attention_mask(self):
        self.get("classes_input_ids")
        return self.made["classes_attention_mask"]

    def tasks_input_ids(self):
        return self.texts("tasks_input_ids", len(self.get("pixel_values")))

    def tasks_attention_mask(self):
        self.get("tasks_input_ids")
        return self.made["tasks_attention_mask"]

    # What OneFormer is asked for, as many numbers as its configuration says.
    def task_inputs(self):
        return self.sound(len(self.get("pixel_values")), self.config.task_seq_len)

    def image_sizes(self):
        given = [[50, 60], [30, 70], [64, 20], [33, 33]]
        return np.array(given[:self.size("batch", "image_sizes", 0, 2)], np.int64)

    # llava_next and its relatives: tiles of each picture.
    def patches(self):
        from transformers.models.llava_next.modeling_llava_next import image_size_to_num_patches
        return [image_size_to_num_patches(list(map(int, s)), self.config.image_grid_pinpoints, self.vision.image_size) for s in self.get("image_sizes")]

    def image_tokens(self):
        import torch
        if "pixel_values" not in self.wanted:
            return []
        given = {k: torch.from_numpy(self.get(k)) for k in ("pixel_values", "image_sizes") if k in self.wanted}
        with torch.no_grad():
            found = self.model.get_image_features(**given)
        found = getattr(found, "pooler_output", found)
        return [len(x) for x in found]

    def input_features(self):
        batch = self.size("batch", "input_features", 0, 2)
        audio = part(self.config, "audio_config")
        if audio.model_type.startswith("clap"):
            return self.sound(batch, 4 if audio.enable_fusion else 1, self.size("frames", "input_features", 2, 500), audio.num_mel_bins)
        if hasattr(self.config, "max_source_positions") and hasattr(self.config, "num_mel_bins"):
            return self.sound(batch, self.config.num_mel_bins, 2 * self.config.max_source_positions)
        if hasattr(self.config, "num_chroma"):
            return self.sound(batch, self.size("frames", "input_features", 1, 10), self.config.num_chroma)
        _, frames, bins = self.like["input_features"]
        bins = getattr(self.config, "num_mel_bins", getattr(self.config, "feature_projection_input_dim", bins))
        return self.sound(batch, self.size("frames", "input_features", 1, frames), bins)

    def noise_sequence(self):
        return self.sound(*self.get("input_features").shape[:2], self.config.model_in_channels)

    def padding_mask(self):
        return self.mask(*self.get("input_features").shape[:2])

    def is_longer(self):
        batch = self.size("batch", "is_longer", 0, 2)
        longer = np.zeros((batch, 1), bool)
        longer[:1] = part(self.config, "audio_config").enable_fusion
        return longer

    def speaker_id(self):
        return np.array([self.config.num_speakers - 1], np.int64)

    def speaker_ids(self):
        return self.rng.integers(0, self.config.num_speakers, (len(self.get("input_ids")), 1), dtype=np.int64)

    def lang_ids(self):
        return self.rng.integers(0, self.config.num_languages, (len(self.get("input_ids")), 1), dtype=np.int64)

    def speaker_embedding(self):
        return self.sound(len(self.get("input_ids")), self.config.speaker_embed_dim)

    # SpeechT5's frames, a voice, and what the dropout that is never switched off leaves.
    def decoder_input_values(self):
        batch = self.size("batch", "decoder_input_values", 0, 2)
        return self.sound(batch, self.size("decoder_seq", "decoder_input_values", 1, 5), self.config.num_mel_bins)

    def speaker_embeddings(self):
        return self.sound(len(self.get("input_ids")), self.config.speaker_embedding_dim)

    def prenet_kept(self):
        c = self.config
        shape = self.get("decoder_input_values").shape[1], c.speech_decoder_prenet_layers, c.speech_decoder_prenet_units
        return (self.rng.random(shape) < c.speech_decoder_prenet_dropout).astype(np.float32)

    def spectrogram(self):
        return self.sound(*self.like.get("spectrogram", (2, 20))[:2], self.config.model_in_dim)

    def input_values(self):
        batch, like = self.size("batch", "input_values", 0, 2), self.like.get("input_values", (2, 2000))
        samples = self.asked.get("samples", like[-1])
        if len(like) == 3:      # of a codec
            return self.sound(batch, getattr(self.config, "audio_channels", 1), samples)
        return self.sound(batch, samples)

    def raw_audio(self):
        batch, samples, _ = self.like["raw_audio"]
        return self.sound(self.asked.get("batch", batch), self.asked.get("samples", samples), self.config.conv_input_shape)

    # Bark's: of each transformer, and the codec's.
    def words(self, name, vocab, *more):
        batch, length = self.like[name][:2]
        return self.rng.integers(0, vocab, (self.asked.get("batch", batch), self.asked.get("seq", length), *more), dtype=np.int64)

    def semantic_ids(self):
        return self.words("semantic_ids", self.config.semantic_config.input_vocab_size)

    def coarse_ids(self):
        return self.words("coarse_ids", self.config.coarse_acoustics_config.input_vocab_size)

    def fine_ids(self):
        return self.words("fine_ids", self.config.fine_acoustics_config.input_vocab_size, self.config.fine_acoustics_config.n_codes_total)

    def codes(self):
        batch, _, frames = self.like["codes"]
        shape = (self.asked.get("batch", batch), self.config.fine_acoustics_config.n_codes_total, self.asked.get("frames", frames))
        return self.rng.integers(0, self.config.codec_config.codebook_size, shape, dtype=np.int64)

    # Of an episode of decision_transformer: numbers of so many elements a step.
    def episode(self, width):
        return self.sound(self.size("batch", "states", 0, 2), self.size("seq", "states", 1, 6), width)

    def states(self):
        return self.episode(self.config.state_dim)

    def actions(self):
        return self.episode(self.config.act_dim)

    def rewards(self):
        return self.episode(1)

    def returns_to_go(self):
        return self.episode(1)

    def timesteps(self):
        return self.rng.integers(0, self.config.max_ep_len, self.get("states").shape[:2], dtype=np.int64)

    def past_values(self):
        if hasattr(self.config, "lags_sequence"):
            return self.series("past_values", self.config.context_length + max(self.config.lags_sequence))
        return self.sound(self.size("batch", "past_values", 0, 2), self.config.context_length, self.config.num_input_channels)

    # Of models that forecast a distribution.
    def series(self, name, steps):
        width = [self.config.input_size] if self.config.input_size > 1 else []
        values = 3 * self.sound(self.size("batch", "past_values", 0, 2), steps, *width)
        return np.abs(np.rint(values)) if self.config.distribution_output == "negative_binomial" else values # which counts

    def past_observed_mask(self):
        m = np.ones_like(self.get("past_values"))
        m[0, 2:-1:5] = 0
        if self.asked.get("unseen", 0):
            m[-1, -self.config.context_length:] = 0
        return m

    # What Informer draws in a layer whose name ends with "encoder.0" or the like.
    def sampled_keys(self, layer):
        half, number = layer.split(".")
        steps = self.config.context_length if half == "encoder" else self.config.prediction_length
        for _ in range(int(number) if half == "encoder" and self.config.distil else 0):
            steps = (steps - 1) // 2 + 1
        return self.rng.integers(0, steps, steps, dtype=np.int64)

    def future_values(self):
        return self.series("future_values", self.config.prediction_length)

    def past_time_features(self):
        width = self.config.num_time_features + self.config.num_dynamic_real_features
        return self.sound(*self.get("past_values").shape[:2], width)

    def future_time_features(self):
        width = self.config.num_time_features + self.config.num_dynamic_real_features
        return self.sound(*self.get("future_values").shape[:2], width)

    def static_categorical_features(self):
        rows = len(self.get("past_values"))
        return np.stack([self.rng.integers(0, n, rows, dtype=np.int64) for n in self.config.cardinality], -1)

    def static_real_features(self):
        return self.sound(len(self.get("past_values")), self.config.num_static_real_features)

    def get(self, name):
        if name not in self.made:
            if name.startswith("sampled_keys."):
                self.made[name] = self.sampled_keys(name.partition(".")[2])
                return self.made[name]
            make = getattr(self, name, None)
            if make is None:
                sys.exit(f"how to make the input {name} is not known here: add a function of its name to class Inputs, or give --io FILE")
            self.made[name] = make()
        return self.made[name]

    def all(self, wanted):
        self.wanted = wanted
        made = {name: self.get(name) for name in wanted}
        if type(self.model).__name__.endswith("ForMultipleChoice"):      # [batch, 2, seq]: two texts each
            made = {name: np.stack([x, np.roll(x, 1, 0) if name == "attention_mask" else x[:, ::-1]], 1) for name, x in made.items()}
        return made


USUAL = {"pixel_values": "pixel_values", "input_ids": "input_ids", "input_values": "input_values", "input_features": "input_features", "past_values": "past_values"}


def wanted_inputs(model):
    import inspect
    known = inspect.signature(model.forward).parameters
    main = [n for n in USUAL if n in known]
    names = main + (["attention_mask"] if "input_ids" in main and "attention_mask" in known else [])
    if "token_type_ids" in known and getattr(model.config, "type_vocab_size", 0) > 1:
        names.append("token_type_ids")
    if "decoder_input_ids" in known and getattr(model.config, "is_encoder_decoder", False):
        names.append("decoder_input_ids")
    if "decoder_input_values" in known and hasattr(model.config, "speaker_embedding_dim"):
        names += ["decoder_input_values", "speaker_embeddings"] + ["prenet_kept"] * bool(model.config.speech_decoder_prenet_dropout)
    if "past_observed_mask" in known and hasattr(model.config, "lags_sequence"):
        names += ["past_time_features", "past_observed_mask", "future_values", "future_time_features"]
        names += ["static_categorical_features"] if model.config.num_static_categorical_features else []
        names += ["static_real_features"] if model.config.num_static_real_features else []
    return names + [n for n in ("image_sizes", "is_longer") if n in known]


# ---- running and writing -----------------------------------------------------------------------------------------------------

class Drawn:
    """What a class draws at random and does not take as an argument: the inputs of these names in its place, noise of any length."""

    def __init__(self, model, given, known):
        self.of = {name: given.pop(name).transpose(1, 2) for name in ("duration_noise", "noise") if name in given and name not in known}
        # Informer: once in each layer.
        layers = [f"{half}.{i}" for half in ("encoder", "decoder") for i in range(getattr(model.config, f"{half}_layers", None) or 0)]
        keys = {layer: given.pop(f"sampled_keys.{layer}", None) for layer in layers}
        self.keys = iter(keys.values()) if any(k is not None for k in keys.values()) else None
        kept = given.pop("prenet_kept", None)
        self.prenet = None if kept is None else iter(kept.unbind(1))

    def randint(self, *args, **words):
        keys = next(self.keys)
        return self.kept[2](*args, **words) if keys is None else keys

    def __enter__(self):
        import torch
        self.kept = torch.randn, torch.randn_like, torch.randint, torch.bernoulli
        if self.prenet:
            torch.bernoulli = lambda x, p: next(self.prenet)
        if self.of:
            torch.randn = lambda *shape, **_: self.of["duration_noise"]
            torch.randn_like = lambda x: self.of["noise"][..., torch.arange(x.shape[-1]) % self.of["noise"].shape[-1]]
        if self.keys:
            torch.randint = self.randint

    def __exit__(self, *_):
        import torch
        torch.randn, torch.randn_like, torch.randint, torch.bernoulli = self.kept


def run(model, inputs):
    import inspect
    import torch
    given = {k: torch.from_numpy(v) for k, v in inputs.items()}
    known = inspect.signature(model.forward).parameters
    drawn = Drawn(model, given, known)
    if "use_cache" in known:
        given["use_cache"] = False
    if type(model).__name__ == "JukeboxVQVAE":
        with torch.no_grad():
            found = {"music_tokens": model.encode(given["raw_audio"]), "dequantised": model(given["raw_audio"])[0]}
        return {f"{k}_{i}": v.numpy() for k, values in found.items() for i, v in enumerate(values)}
    if type(model).__name__ == "BarkModel":  # three transformers and a codec, each on ids of its own
        with torch.no_grad():
            found = {f"{k}_logits": m(given[f"{k}_ids"], use_cache=False).logits for k, m in (("semantic", model.semantic), ("coarse", model.coarse_acoustics))}
            found["fine_logits"] = model.fine_acoustics(2, given["fine_ids"]).logits
            found["audio"] = model.codec_model.decoder(model.codec_model.quantizer.decode(given["codes"].transpose(0, 1)))
        return {k: v.numpy() for k, v in found.items()}
    with torch.no_grad(), drawn:
        out = model(**given, return_dict=True) if "return_dict" in known or "kwargs" in known else model(**given)
        out = {"waveform": out} if isinstance(out, torch.Tensor) else out
    found = {k: v.numpy() for k, v in out.items() if isinstance(v, torch.Tensor) and k != "loss"}
    for k in found.keys() & {"logits"}:     # a masked one is -10000 in the files
        found[k] = np.where(np.isneginf(found[k]), np.float32(-1e4), found[k])
    several = {k: out.get(k) for k in ("feature_maps", "logits", "params") if isinstance(out.get(k), (tuple, list))}
    return found | {f"{k}.{i}": v.numpy() for k, values in several.items() for i, v in enumerate(values)}


def write(folder, cls, config_text, names, integers, inputs, outputs, notes):
    import transformers
    from safetensors.numpy import save_file
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/config.json", "w") as f:
        f.write(config_text)
    with open(f"{folder}/weights.tsv", "w") as f:
        f.writelines(f"{n}\t{d}\t{','.join(map(str, s))}\n" for n, d, s in names)
    tensors = {f"in.{k}": v for k, v in inputs.items()} | {f"out.{k}": v for k, v in outputs.items()}
    save_file({k: np.array(v, order="C") for k, v in tensors.items()}, f"{folder}/io.safetensors")
    case = {"model_type": json.loads(config_text)["model_type"], "class": cls.__name__, "transformers": transformers.__version__,
            "inputs": {k: list(v.shape) for k, v in inputs.items()}, "outputs": {k: list(v.shape) for k, v in outputs.items()},
            "out_absmax": {k: float(np.abs(v.astype(np.float64)).max()) if v.size else 0.0 for k, v in outputs.items()}}
    if integers:
        case["integer_tensors"] = integers
    if notes:
        case["notes"] = notes
    with open(f"{folder}/case.json", "w") as f:
        f.write(json.dumps(case, indent=1))


def config_text(folder):
    with open(f"{folder}/config.json") as f:
        values = json.load(f)
    values.pop("transformers_version", None)
    return json.dumps(values, indent=1, sort_keys=True)


def read_case(folder):
    from safetensors.numpy import load_file
    with open(f"{folder}/case.json") as f:
        case = json.load(f)
    with open(f"{folder}/config.json") as f:
        values = json.load(f)
    io = load_file(f"{folder}/io.safetensors")
    names = []
    with open(f"{folder}/weights.tsv") as f:
        for line in f:
            name, dtype, shape = line.rstrip("\n").split("\t")
            names.append((name, dtype, tuple(int(d) for d in shape.split(",")) if shape else ()))
    return case, values, names, {k[3:]: v for k, v in io.items() if k.startswith("in.")}, {k[4:]: v for k, v in io.items() if k.startswith("out.")}


def set_value(values, text):
    path, _, value = text.partition("=")
    try:
        value = json.loads(value)
    except json.JSONDecodeError:
        pass
    *outer, last = path.split(".")
    for key in outer:
        if not isinstance(values.get(key), dict):
            values[key] = {}
        values = values[key]
    if value == "DELETE":
        values.pop(last, None)
    else:
        values[last] = value


def make(cls, values, folder, name, like=None, asked=None, add=(), drop=(), outputs=None, notes=None):
    with tempfile.TemporaryDirectory() as scratch:
        model, names, integers = build(cls, values, scratch)
        text = config_text(scratch)
        wanted = [n for n in (like or wanted_inputs(model)) if n not in drop] + list(add)
        inputs = Inputs(model, like or {}, asked or {}, name).all(wanted)
        out = run(model, inputs)
    if outputs:
        out = {k: out[k] for k in outputs if k in out}
    if not out or not all(np.isfinite(v).all() for v in out.values() if v.dtype.kind == "f"):
        raise ValueError(f"{name}: outputs are missing or not finite")
    write(folder, cls, text, names, integers, inputs, out, notes)
    return out


def check(folder):
    case, values, names, inputs, outputs = read_case(folder)
    cls = class_named(case["class"])
    with tempfile.TemporaryDirectory() as scratch:
        model, made, integers = build(cls, values, scratch)
        same = made == names and integers == case.get("integer_tensors", {})
        shutil.copy(f"{folder}/config.json", scratch)
        model = with_formula(cls, scratch, names, case.get("integer_tensors", {}))
        out = run(model, inputs)
    worst = 0.0
    for k, v in outputs.items():
        if k not in out or out[k].shape != v.shape:
            return f"{folder}: the output {k} is not the same: {out[k].shape if k in out else 'absent'}"
        difference = np.abs(out[k].astype(np.float64) - v.astype(np.float64))
        worst = max(worst, float(difference.max()) / max(1.0, case["out_absmax"][k])) if v.size else worst
    return f"{folder}: {worst:.2e} of the largest value at most; names and shapes {'the same' if same else 'differ from those that transformers saves'}"


# ---- generation --------------------------------------------------------------------------------------------------------------

def loaded(folder, case, names):
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(f"{folder}/config.json", scratch)
        return with_formula(class_named(case["class"]), scratch, names, case.get("integer_tensors", {}))


# Greedily and nothing else: no token ends it, none is forced, suppressed or made less likely. -> ids [rows, tokens] and logits of each.
def greedily(model, given, tokens, **more):
    import torch
    from transformers import GenerationConfig
    plain = GenerationConfig(max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, num_beams=1, return_dict_in_generate=True,
                             output_logits=True, pad_token_id=getattr(model.config, "pad_token_id", None), **more)
    model.generation_config = GenerationConfig()
    with torch.no_grad():
        out = model.generate(**given, generation_config=plain)
    return out.sequences[:, -tokens:].tolist(), [[step[row].float().numpy() for step in out.logits] for row in range(len(out.sequences))]


# A transducer's generate() gives no logits: forward is listened to. Tokens are the first of them, durations follow. It ends with the
# sound, and so do the rows of a run: the shortest counts.
def transduced(model, given, tokens):
    import functools, torch
    heard, forward, tokens_end = [], model.forward, model.config.vocab_size
    durations = list(range(tokens_end, tokens_end + len(getattr(model.config, "durations", []))))

    @functools.wraps(forward)
    def listen(*args, **more):
        out = forward(*args, **more)
        heard.append(out.logits.reshape(len(out.logits), -1)[:, :tokens_end].clone())
        return out

    model.forward = listen
    with torch.no_grad():
        ids = model.generate(**given, max_new_tokens=tokens, do_sample=False, decoder_start_token_id=model.config.blank_token_id,
                             suppress_tokens=durations or None).sequences[:, 1:]
    model.forward = forward
    ended = [int(w[0]) if len(w := (ids[row] != torch.stack(heard, 1)[row].argmax(-1)).nonzero()) else ids.shape[1] for row in range(len(ids))]
    n = min(ended)
    return ids[:, :n].tolist(), [[step[row].numpy() for step in heard[:n]] for row in range(len(ids))]


def generation_run(name, ids, logits, **prompt):
    top2, margin = [], np.inf
    for row in logits:
        pairs = [[int(i) for i in np.argsort(-x, kind="stable")[:2]] for x in row]
        top2.append([[p[0], float(f"{x[p[0]]:.9g}"), p[1], float(f"{x[p[1]]:.9g}")] for p, x in zip(pairs, row)])
        margin = min([margin] + [float(x[p[0]] - x[p[1]]) for p, x in zip(pairs, row)])
    if margin < 1e-3:
        sys.exit(f"{name}: two tokens are {margin:.1e} from each other, so that rounding decides: take another configuration")
    return {"name": name, **prompt, "generated": ids, "top2": top2, "min_margin": float(f"{margin:.4g}")}


def generate(folder, tokens):
    import torch
    case, values, names, inputs, _ = read_case(folder)
    model = loaded(folder, case, names)
    given = {k: torch.from_numpy(v) for k, v in inputs.items()}
    others = [k for k in inputs if k not in ("decoder_input_ids", "input_ids", "attention_mask", "position_ids", "token_type_ids")]
    if "blank_token_id" in model.config.to_dict():
        given.pop("decoder_input_ids", None)
        ids, logits = transduced(model, given, tokens)
        first = [[model.config.blank_token_id]] * len(ids)
        runs = [generation_run("transducer", ids, logits, from_io=[f"in.{k}" for k in given], decoder_input_ids=first)]
    elif model.config.is_encoder_decoder:
        prompt = inputs["decoder_input_ids"][:, :3].tolist()
        given["decoder_input_ids"] = torch.tensor(prompt)
        runs = [generation_run("encoder", *greedily(model, given, tokens, decoder_start_token_id=prompt[0][0]), from_io=[f"in.{k}" for k in given if k != "decoder_input_ids"],
                               decoder_input_ids=prompt)]
    elif others:
        mask = inputs.get("attention_mask", np.ones_like(inputs["input_ids"]))
        rows = [i for i in range(len(mask)) if mask[i].all()]     # padding on the right is no prompt
        given = {k: v[rows] if len(v) == len(mask) else v for k, v in given.items()}
        if len(rows) != len(mask) and any(len(inputs[k]) != len(mask) for k in others):
            sys.exit(f"{folder}: rows with padding, and inputs that are not by rows")
        text = part(model.config, "text_config")                  # what is generated must have places
        length = min(given["input_ids"].shape[1], (getattr(text, "max_position_embeddings", None) or 10**6) - tokens)
        given |= {k: given[k][:, :length] for k in ("input_ids", "attention_mask", "token_type_ids", "position_ids") if k in given}
        runs = [generation_run("image", *greedily(model, given, tokens), from_io=[f"in.{k}" for k in others], rows=rows,
                               input_ids=given["input_ids"].tolist())]
    else:
        text = inputs["input_ids"][:1, :7]
        runs = [generation_run("single", *greedily(model, {"input_ids": torch.from_numpy(text)}, tokens), input_ids=text.tolist())]
        pad = getattr(model.config, "pad_token_id", None) or 0
        padded = np.concatenate([text, np.concatenate([np.full((1, 3), pad, np.int64), text[:, ::-1][:, :4]], 1)])
        mask = np.ones_like(padded)
        mask[1, :3] = 0
        both = {"input_ids": torch.from_numpy(padded), "attention_mask": torch.from_numpy(mask)}
        runs += [generation_run("left-padded", *greedily(model, both, tokens), input_ids=padded.tolist(), attention_mask=mask.tolist())]
    import transformers
    with open(f"{folder}/gen.json", "w") as f:
        json.dump({"case": os.path.basename(folder), "model_type": case["model_type"], "class": case["class"],
                   "transformers": transformers.__version__, "new_tokens": len(runs[0]["generated"][0]), "runs": runs}, f, indent=1)
        f.write("\n")
    return f"{folder}/gen.json: " + "; ".join(f"{r['name']}: {r['generated'][0]}" for r in runs)


# What config.json may leave out is looked up in src/arch/defaults.jsonl: the lines that are missing for this type and its parts.
def learn_defaults(kind):
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, "..", "src", "arch", "defaults.jsonl")
    sys.path.insert(0, here)
    import defaults
    with open(path) as f:
        lines = f.read().splitlines()
    known = {json.loads(x)["model_type"] for x in lines}
    config = kind()
    new = {}
    for c in [config, *(getattr(config, k) for k in config.sub_configs)]:
        if c is not None and getattr(c, "model_type", "") and c.model_type not in known:
            new[c.model_type] = defaults.line(c.model_type, json.loads(c.to_json_string(use_diff=False)))
    if new:
        with open(path, "w") as f:
            f.write("\n".join(sorted(lines + list(new.values()), key=lambda x: json.loads(x)["model_type"])) + "\n")
        print("src/arch/defaults.jsonl: " + ", ".join(new))


def main():
    p = argparse.ArgumentParser(description="Makes conformance cases; the comment at the top of this file has examples.")
    p.add_argument("cls", nargs="?", metavar="CLASS")
    p.add_argument("--config", help="JSON file: the configuration")
    p.add_argument("--like", help="a case whose class, configuration, inputs and outputs are the start")
    p.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="a key of the configuration, KEY.KEY inside another; DELETE removes it")
    p.add_argument("--inputs", default="", help="batch=2,seq=11,decoder_seq=7,samples=2000,frames=40,height=64,width=48,mask=0")
    p.add_argument("--add-input", action="append", default=[])
    p.add_argument("--drop-input", action="append", default=[])
    p.add_argument("--name")
    p.add_argument("-o", "--output", default="tests/conform/cases")
    p.add_argument("--notes")
    p.add_argument("--generate", nargs="+", metavar="CASE", help="write gen.json of these")
    p.add_argument("--tokens", type=int, default=12, help="how many --generate makes")
    p.add_argument("--check", nargs="+", metavar="CASE", help="make these again and compare")
    o = p.parse_args()
    import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if o.check:
        for folder in o.check:
            print(check(folder.rstrip("/")), flush=True)
        return
    if o.generate:
        for folder in o.generate:
            print(generate(folder.rstrip("/"), o.tokens), flush=True)
        return
    if not o.name or not (o.like or (o.cls and o.config)):
        p.error("CLASS --config FILE --name NAME, or --like CASE --name NAME")
    values, like, outputs, cls = {}, None, None, o.cls
    if o.like:
        case, values, _, inputs, out = read_case(o.like)
        like, outputs, cls = {k: v.shape for k, v in inputs.items()}, list(out), cls or case["class"]
        outputs = outputs if cls == case["class"] else None
    if o.config:
        with open(o.config) as f:
            values = copy.deepcopy(values) | json.load(f)
    for text in o.set:
        set_value(values, text)
    cls = class_named(cls)
    values.setdefault("model_type", cls.config_class.model_type)
    asked = {k: int(v) for k, _, v in (x.partition("=") for x in o.inputs.split(",") if x)}
    out = make(cls, values, f"{o.output}/{o.name}", o.name, like, asked, o.add_input, o.drop_input, outputs, o.notes)
    learn_defaults(kind_of(cls, values))
    print(f"{o.output}/{o.name}: " + ", ".join(f"{k} {list(v.shape)}" for k, v in out.items()))


if __name__ == "__main__":
    main()
