# SPDX-License-Identifier: Apache-2.0
# detect: all eight platforms, each with devices or the reason it is absent; the parent loads no engine.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python

code 0 "$ASSAY" detect --json
empty err
json 'sorted(d) == ["machine", "platforms"]'
json '[p["name"] for p in d["platforms"]] == "cpu cuda rocm mps openvino qnn webnn webgpu".split()'
json 'all(set("name available reason devices features".split()) <= set(p) for p in d["platforms"])'
json 'all(p["available"] == bool(p["devices"]) and p["available"] == (p["reason"] is None) for p in d["platforms"])'
json 'all(p["reason"] is None or len(p["reason"]) > 20 for p in d["platforms"])'
json 'd["machine"]["usable_cpus"] >= 1 and d["machine"]["memory_bytes"] > 2**28 and d["machine"]["cpu_model"]'
json 'd["machine"]["usable_cpus"] <= d["machine"]["threads"]'

code 0 "$ASSAY" detect
for name in cpu cuda rocm mps openvino qnn webnn webgpu; do
	has out "^  $name +(yes|no) +."
done
lacks out '^  null '

# Without any engine every platform says what is missing, and that is no error. An empty folder first in the path hides
# nothing, so this looks only where a library that cannot be opened comes first.
mkdir -p "$work/engines"
for name in onnxruntime openvino_c; do
	echo 'not a library' >"$work/engines/lib$name.so.99.99.99"
done
code 0 env ASSAY_ENGINE_PATH="$work/engines" "$ASSAY" detect --json
json 'all(not p["available"] and ("lib" + n) in p["reason"] for p in d["platforms"] for m, n in (("cpu", "onnxruntime"), ("openvino", "openvino_c")) if p["name"] == m)'
finish
