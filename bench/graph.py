# SPDX-License-Identifier: Apache-2.0
# Is the graph that assay draws at least as fast as the one the usual exporter (optimum-onnx) makes of the same checkpoint?
# Both graphs run in the same engine with the same options, in two processes that work in turn (A B B A ..., one waits while the
# other works), a few runs a block: what else the machine does, and a clock that changes, meet both. Several such pairs of
# processes, since where memory lies differs from process to process. bench/graph starts this file and says what is missing.
#
#     graph.py WORK RESULT.json ASSAY MODEL...       all models, both engines
#     graph.py --export CHECKPOINT FOLDER TASK       one export, in a process of its own (time and memory are the process's)
#     graph.py --side ENGINE GRAPH INPUTS.npz OUTPUTS.npz       one side of a pair: each line it reads is a number of runs
#
# PAIRS (6), BLOCKS (8 a side), RUNS (3 a block), THREADS (2) and STATIC (1: fixed against dynamic shapes too) are environment
# variables. WORK keeps checkpoints and exports.
import datetime
import json
import os
import resource
import shutil
import subprocess
import sys
import time

THREADS = int(os.environ.get("THREADS", 2))
DRAWS = 10000

def decoder(layers, heads, width, past, new):
    """Inputs of a causal model with a cache of `past` tokens."""
    x = {"input_ids": ("ids", (1, new)), "attention_mask": ("ones", (1, past + new)), "position_ids": ("from", (1, new), past)}
    return x | {f"past_key_values.{i}.{k}": ("normal", (1, heads, past, width)) for i in range(layers) for k in ("key", "value")}


TEXT = {"input_ids": ("ids", (1, 128)), "attention_mask": ("ones", (1, 128)), "token_type_ids": ("zeros", (1, 128))}
CLIP = {"input_ids": ("ids", (2, 77)), "attention_mask": ("ones", (2, 77)), "pixel_values": ("normal", (1, 3, 224, 224))}
T5_DECODER = {"input_ids": ("ids", (1, 32)), "encoder_hidden_states": ("normal", (1, 128, 512)), "encoder_attention_mask": ("ones", (1, 128))}
WHISPER_DECODER = {"input_ids": ("ids", (1, 32)), "encoder_hidden_states": ("normal", (1, 1500, 384))}
# The published configuration, the exporter's task, the class that makes the weights, the graph among several, layers where
# not all (so that the exporter fits into memory), inputs.
MODELS = {
    "bert-base-uncased": ("google-bert--bert-base-uncased", "fill-mask", "AutoModelForMaskedLM", "model.onnx", None, TEXT),
    "vit-base-patch16-224": ("google--vit-base-patch16-224", "image-classification", "AutoModelForImageClassification", "model.onnx", None, {"pixel_values": ("normal", (1, 3, 224, 224))}),
    "clip-vit-base-patch32": ("openai--clip-vit-base-patch32", "zero-shot-image-classification", "CLIPModel", "model.onnx", None, CLIP),
    "wav2vec2-base": ("facebook--wav2vec2-base", "feature-extraction", "Wav2Vec2Model", "model.onnx", None, {"input_values": ("normal", (1, 32000)), "attention_mask": ("ones", (1, 32000))}),
    "detr-resnet-50": ("facebook--detr-resnet-50", "object-detection", "DetrForObjectDetection", "model.onnx", None, {"pixel_values": ("normal", (1, 3, 480, 640)), "pixel_mask": ("ones", (1, 480, 640))}),
    "t5-small-encoder": ("google-t5--t5-small", "text2text-generation-with-past", "T5ForConditionalGeneration", "encoder_model.onnx", None, TEXT),
    "t5-small-decoder": ("google-t5--t5-small", "text2text-generation-with-past", "T5ForConditionalGeneration", "decoder_model.onnx", None, T5_DECODER),
    "whisper-tiny-encoder": ("openai--whisper-tiny", "automatic-speech-recognition-with-past", "WhisperForConditionalGeneration", "encoder_model.onnx", None, {"input_features": ("normal", (1, 80, 3000))}),
    "whisper-tiny-decoder": ("openai--whisper-tiny", "automatic-speech-recognition-with-past", "WhisperForConditionalGeneration", "decoder_model.onnx", None, WHISPER_DECODER),
    "tinyllama-1.1b": ("TinyLlama--TinyLlama-1.1B-Chat-v1.0", "text-generation-with-past", "AutoModelForCausalLM", "model.onnx", 4, decoder(4, 4, 64, 0, 128)),
    "tinyllama-1.1b-step": ("TinyLlama--TinyLlama-1.1B-Chat-v1.0", "text-generation-with-past", "AutoModelForCausalLM", "model.onnx", 4, decoder(4, 4, 64, 128, 1)),
    "qwen2-0.5b": ("Qwen--Qwen2-0.5B-Instruct", "text-generation-with-past", "AutoModelForCausalLM", "model.onnx", 8, decoder(8, 2, 64, 0, 128)),
    "qwen2-0.5b-step": ("Qwen--Qwen2-0.5B-Instruct", "text-generation-with-past", "AutoModelForCausalLM", "model.onnx", 8, decoder(8, 2, 64, 128, 1)),
    "qwen3-0.6b": ("Qwen--Qwen3-0.6B", "text-generation-with-past", "AutoModelForCausalLM", "model.onnx", 8, decoder(8, 8, 128, 0, 128)),
}
ENGINES = {"ort": "cpu", "openvino": "openvino"}    # and the platform whose forms assay draws


def session(engine, path):
    """(version, run): run takes a dict of arrays and gives a dict of arrays."""
    if engine == "ort":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.log_severity_level = 3
        s = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [o.name for o in s.get_outputs()]
        wanted = {i.name for i in s.get_inputs()}
        return onnxruntime.__version__, wanted, lambda x: dict(zip(names, s.run(names, x)))
    import openvino

    hints = {
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
        "INFERENCE_NUM_THREADS": str(THREADS),
        "PERFORMANCE_HINT": "LATENCY",
    }
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", hints)
    for key in ("INFERENCE_PRECISION_HINT", "KV_CACHE_PRECISION"):
        kind = compiled.get_property(key).to_string()
        if kind != "f32":
            raise SystemExit(f"{key} is {kind}, not f32")
    request = compiled.create_infer_request()
    wanted = {next((n for n in i.get_names() if "/" not in n), i.any_name) for i in compiled.inputs}      # a tensor may have several

    def run(x):
        result = request.infer(x, share_inputs=True, share_outputs=True)
        return {name: result[o] for o in compiled.outputs for name in o.get_names()}   # a tensor may have several

    return openvino.__version__, wanted, run


def ahead_of_others():
    """Where this process may, it goes before whatever else the machine does, so that pairs differ less; in words."""
    try:
        os.setsid()
        os.nice(-20)
        if os.path.exists("/proc/self/autogroup"):
            with open("/proc/self/autogroup", "w") as f:
                f.write("-20")
        return "timed runs at nice -20, as a scheduling group too"
    except OSError:
        return "timed runs at ordinary priority"


def side(engine, path, inputs, outputs):
    import numpy

    before = time.perf_counter()
    version, wanted, run = session(engine, path)
    load = (time.perf_counter() - before) * 1e3
    x = {k: v for k, v in numpy.load(inputs).items() if k in wanted}
    if set(x) != wanted:
        raise SystemExit(f"{path} wants {sorted(wanted)}, there is {sorted(x)}")
    numpy.savez(outputs, **run(x))
    priority = ahead_of_others()
    print(json.dumps({"version": version, "priority": priority, "load_ms": round(load, 1)}), flush=True)
    for line in sys.stdin:
        ms, cpu = [], []
        for i in range(int(line) + 1):               # the first is not timed: the other side's data lies in the caches
            used, before = time.process_time(), time.perf_counter()
            run(x)
            after = time.perf_counter()
            ms.append(round((after - before) * 1e3, 3))
            cpu.append(round((time.process_time() - used) * 1e3, 3))
        print(json.dumps({"ms": ms[1:], "cpu_ms": cpu[1:]}), flush=True)


def make_checkpoint(name, folder):
    """Random weights by transformers' own initialisation, seeded, saved as safetensors."""
    import torch
    import transformers

    published, _, auto, _, layers, _ = MODELS[name]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(root, "src", "hub", "published", published, "config.json")) as f:
        values = json.load(f)
    if (values.get("backbone_config") or {}).get("model_type") == "timm_backbone":      # the exporter's transformers spells it so
        values |= {"backbone": values.pop("backbone_config")["backbone"], "use_timm_backbone": True}
    config = transformers.AutoConfig.for_model(**values)
    if layers:
        config.num_hidden_layers = layers
        config.layer_types = config.layer_types[:layers] if getattr(config, "layer_types", None) else None
    if hasattr(config, "use_pretrained_backbone"):
        config.use_pretrained_backbone = False
    torch.manual_seed(0)
    cls = getattr(transformers, auto)
    model = cls.from_config(config, torch_dtype=torch.float32) if auto.startswith("Auto") else cls(config)
    model.save_pretrained(folder + ".part", safe_serialization=True)
    os.rename(folder + ".part", folder)


def export(checkpoint, folder, task):
    from optimum.exporters.onnx import main_export

    main_export(checkpoint, folder, task=task, framework="pt", do_validation=False, no_post_process=False)


def make_inputs(name, path):
    import numpy

    r = numpy.random.default_rng(1)
    make = {
        "ids": lambda shape: r.integers(5, 30000, shape),
        "ones": lambda shape: numpy.ones(shape, "int64"),
        "zeros": lambda shape: numpy.zeros(shape, "int64"),
        "from": lambda shape, begin: numpy.arange(begin, begin + shape[1])[None].repeat(shape[0], 0),
        "normal": lambda shape: r.standard_normal(shape).astype("float32"),
    }
    x = {k: make[kind](*shape) for k, (kind, *shape) in MODELS[name][5].items()}
    numpy.savez(path, **x)


def child(*words):
    """Runs this file with these words; its output, wall time and peak memory."""
    before = time.perf_counter()
    p = subprocess.Popen([sys.executable, os.path.abspath(__file__), *words], stdout=subprocess.PIPE, text=True)
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"bench/graph: {' '.join(words)} ended with {p.returncode}")
    return out, time.perf_counter() - before, usage.ru_maxrss / 1024


def ratio_of(theirs, ours):
    """ours / theirs, block by block: the median of a pair's blocks, the mean of pairs, and its 95 % interval over draws of pairs
    and of blocks within them. theirs and ours are [pairs, blocks]."""
    import numpy

    logs = numpy.log(numpy.array(ours) / numpy.array(theirs))
    pairs, blocks = logs.shape
    r = numpy.random.default_rng(20261121)
    drawn = logs[r.integers(0, pairs, (DRAWS, pairs))]                                       # [draws, pairs, blocks]
    drawn = numpy.take_along_axis(drawn, r.integers(0, blocks, (DRAWS, pairs, blocks)), 2)
    draws = numpy.exp(numpy.median(drawn, 2).mean(1))
    return round(float(numpy.exp(numpy.median(logs, 1).mean())), 4), [round(float(v), 4) for v in numpy.quantile(draws, [0.025, 0.975])]


def compare(name, engine, sides, inputs, work, pairs, blocks, runs):
    """Pairs of processes over two graphs, (label, path) each; the first label is what the second is divided by."""
    import numpy

    got, facts, load = {label: [] for label, _ in sides}, {label: [] for label, _ in sides}, []
    for i in range(pairs):
        children = {}
        for label, path in sides if i % 2 else sides[::-1]:
            words = [sys.executable, os.path.abspath(__file__), "--side", engine, path, inputs, os.path.join(work, f"{label}.npz")]
            children[label] = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            facts[label].append(json.loads(children[label].stdout.readline()))               # loaded: it waits from now on
            got[label].append([])
        for k in range(blocks):
            for label, _ in sides if (i + k) % 2 else sides[::-1]:
                children[label].stdin.write(f"{runs}\n")
                children[label].stdin.flush()
                got[label][-1].append(json.loads(children[label].stdout.readline()))
        for label, p in children.items():
            p.stdin.close()
            if p.wait():
                raise SystemExit(f"bench/graph: {name} in {engine}, {label}: ended with {p.returncode}")
        load.append(round(os.getloadavg()[0], 2))
        print(f"{name} {engine}: pair {i + 1} of {pairs}", file=sys.stderr)
    a, b = (numpy.load(os.path.join(work, f"{label}.npz")) for label, _ in sides)
    common = sorted(set(a) & set(b))
    error = max((float(numpy.abs(a[k] - b[k]).max()) for k in common), default=float("nan"))
    largest = max((float(numpy.abs(a[k]).max()) for k in common), default=float("nan"))
    if not error <= 1e-4 * max(1.0, largest):
        raise SystemExit(f"bench/graph: {name} in {engine}: the graphs differ by {error} of {largest} over {common}")
    first, second = (label for label, _ in sides)
    row = {"model": name, "graph": MODELS[name][3], "layers": MODELS[name][4], "shape": {k: v[1] for k, v in list(MODELS[name][5].items())[:4]}, "engine": engine, "engine_version": facts[first][0]["version"],
           "divided": f"{second} / {first}", "pairs": pairs, "blocks": blocks, "runs_a_block": runs, "priority": facts[first][0]["priority"],
           "outputs_compared": common, "max_abs_difference": error, "largest_output": largest}
    for label, key, take in (("", "ms", numpy.median), ("fastest_", "ms", min), ("cpu_", "cpu_ms", numpy.median)):
        of = {s: [[float(take(block[key])) for block in pair] for pair in got[s]] for s in got}
        row[f"{label}ratio"], row[f"{label}ratio_interval_95"] = ratio_of(of[first], of[second])
        for s in of:
            middle = numpy.min if label == "fastest_" else numpy.median
            row[f"{s}_{label or 'median_'}ms"] = round(float(middle(of[s])), 2)
    for s in got:
        row[f"{s}_load_ms"] = round(float(numpy.median([f["load_ms"] for f in facts[s]])), 1)
        row[f"{s}_blocks_ms"] = [[block["ms"] for block in pair] for pair in got[s]]
    row["load_average"] = load
    print(f"{name} {engine}: {first} {row[first + '_median_ms']} ms, {second} {row[second + '_median_ms']} ms: ratio "
          f"{row['ratio']} {row['ratio_interval_95']}, fastest runs {row['fastest_ratio']} {row['fastest_ratio_interval_95']}, "
          f"processor time {row['cpu_ratio']} {row['cpu_ratio_interval_95']}", flush=True)
    return row


def main(work, result, assay, names):
    import importlib.metadata

    pairs, blocks, runs = (int(os.environ.get(k, d)) for k, d in (("PAIRS", 6), ("BLOCKS", 8), ("RUNS", 3)))
    os.makedirs(work, exist_ok=True)
    machine = json.loads(subprocess.check_output([assay, "detect", "--json"], cwd=work))["machine"]
    rows, exports = [], []
    for name in names:
        published, task, _, file, _, shapes = MODELS[name]
        folder = os.path.join(work, published)       # the graphs of one model share a checkpoint and an export
        checkpoint, theirs, inputs = (os.path.join(folder, n) for n in ("checkpoint", "exported", "inputs.npz"))
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(checkpoint):
            child("--checkpoint", name, checkpoint)
        if not os.path.exists(theirs):
            shutil.rmtree(theirs + ".part", ignore_errors=True)
            _, wall, mib = child("--export", checkpoint, theirs + ".part", task)
            with open(theirs + ".part/cost.json", "w") as f:
                json.dump({"model": name, "task": task, "wall_s": round(wall, 2), "peak_rss_mib": round(mib)}, f)
            os.rename(theirs + ".part", theirs)
        with open(theirs + "/cost.json") as f:
            cost = json.load(f)
        if cost not in exports:
            exports.append(cost)
        make_inputs(name, inputs)
        for engine, platform in ENGINES.items():
            graph, forms = {}, {"dynamic": []}
            if os.environ.get("STATIC", "1") == "1" and "input_ids" in shapes and file == "model.onnx" and "past_key_values.0.key" not in shapes:
                batch, length = shapes["input_ids"][1]
                forms["static"] = ["--static", "--batch", str(batch), "--seq", str(length)]
            for form, words in forms.items():
                graph[form] = os.path.join(folder, f"{engine}-{form}")
                shutil.rmtree(graph[form], ignore_errors=True)
                subprocess.run([assay, "build", checkpoint, "-o", graph[form], "--link", "--platform", platform, *words], check=True, cwd=work, stdout=subprocess.DEVNULL)
                graph[form] += "/" + file
            rows.append(compare(name, engine, [("theirs", theirs + "/" + file), ("ours", graph["dynamic"])], inputs, folder, pairs, blocks, runs))
            if "static" in graph:
                rows.append(compare(name, engine, [("ours", graph["dynamic"]), ("ours_static", graph["static"])], inputs, folder, max(2, pairs // 2), blocks, runs))
    report = {
        "what": "latency of assay's graph against the usual exporter's, same weights, same engine and options: the ratio, block by block, and its 95 % interval; below 1 assay's is faster",
        "date": datetime.date.today().isoformat(),
        "machine": {k: machine[k] for k in ("cpu_model", "cores", "usable_cpus", "features", "memory_bytes", "kernel", "hypervisor")},
        "shared": "the machine ran other work at the same time; both sides work in turn, and load_average is what it was after each pair",
        "threads": THREADS,
        "versions": {p: importlib.metadata.version(p) for p in ("optimum-onnx", "optimum", "transformers", "torch", "onnx", "onnxruntime", "openvino")},
        "assay": subprocess.check_output([assay, "--version"], text=True).strip(),
        "exports": exports,
        "rows": rows,
    }
    with open(result, "w") as f:
        json.dump(report, f, separators=(",", ":"))
        f.write("\n")
    slower = [r for r in rows if r["divided"] == "ours / theirs" and r["ratio_interval_95"][0] > 1]
    for r in slower:
        print(f"slower: {r['model']} in {r['engine']}")
    return bool(slower)


if __name__ == "__main__":
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", OPENVINO_TELEMETRY_DISABLED="1")
    if sys.argv[1] == "--side":
        side(*sys.argv[2:])
    elif sys.argv[1] == "--checkpoint":
        make_checkpoint(*sys.argv[2:])
    elif sys.argv[1] == "--export":
        export(*sys.argv[2:])
    else:
        sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3]), sys.argv[4:]))
