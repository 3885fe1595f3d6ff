# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# detect: all eight platforms, each with devices or the reason it is absent; the parent loads no engine.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python

code 0 "$ASSAY" detect webnn
has out "ASSAY_BROWSER_PATH=none: browsers are not looked for"
unset ASSAY_BROWSER_PATH

code 0 "$ASSAY" detect --json
empty err
json 'sorted(d) == ["machine", "platforms"]'
json '[p["name"] for p in d["platforms"] if not p["extra"]] == "cpu cuda rocm mps openvino qnn webnn webgpu".split()'
json 'all(set("name available reason devices features".split()) <= set(p) for p in d["platforms"])'
json 'all(p["available"] == bool(p["devices"]) and p["available"] == (p["reason"] is None) for p in d["platforms"])'
json 'all(p["reason"] is None or len(p["reason"]) > 20 for p in d["platforms"])'
json 'd["machine"]["usable_cpus"] >= 1 and d["machine"]["memory_bytes"] > 2**28 and d["machine"]["cpu_model"]'
json 'd["machine"]["usable_cpus"] <= d["machine"]["threads"]'

json 'all(isinstance(p["facts"], dict) for p in d["platforms"])'
json 'all(isinstance(s, str) and s for p in d["platforms"] for s in p["facts"].get("findings", []))'
json '[p for p in d["platforms"] if p["name"] == "cpu"][0]["facts"]["limits"]["allowed_cpus"]'
# What a browser's adapter and WebNN's contexts are stands with its devices.
json 'all(v["facts"]["limits"]["maxBufferSize"] > 0 for p in d["platforms"] if p["name"] == "webgpu" for v in p["devices"] if v["engine"] == "browser")'
json 'all(any(c.get("limits") for c in v["facts"]["contexts"].values()) for p in d["platforms"] if p["name"] == "webnn" for v in p["devices"])'
# What hides a device is shown, set or not.
code 0 env CUDA_VISIBLE_DEVICES=-1 HIP_VISIBLE_DEVICES= "$ASSAY" detect cuda rocm --json
json '[p["name"] for p in d["platforms"]] == ["cuda", "rocm"]'
json 'd["platforms"][0]["facts"]["environment"] == {"CUDA_VISIBLE_DEVICES": "-1"}'
json 'd["platforms"][1]["facts"]["environment"] == {"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "-1"}'

code 1 "$ASSAY" detect opnvino
has err 'did you mean openvino'

# Measured, not known: the figures are positive and in order.
code 0 "$ASSAY" detect cpu --bandwidth --json
json 'all(len(b["samples"]) >= 5 and 0 < b["min"] <= b["gb_per_s"] <= b["max"] for b in (d["machine"]["bandwidth"][k] for k in ("triad", "read")))'
json 'd["machine"]["bandwidth"]["threads"] == d["machine"]["usable_cpus"]'

# Into a database, with the original system's columns.
code 0 "$ASSAY" detect --db "$work/d.duckdb"
code 0 "$ASSAY" query --db "$work/d.duckdb" --format json "SELECT * FROM hardware_detection ORDER BY id"
json '[list(r) for r in d][0] == ["id", "hardware_type", "available", "name", "features", "timestamp"]'
json 'set("cpu cuda rocm mps openvino qnn webnn webgpu".split()) <= {r["hardware_type"] for r in d}'
json 'all(bool(r["name"]) == bool(r["available"] in (True, "true")) and r["features"] for r in d)'
json 'all("facts" in r["features"] for r in d if r["name"] and r["hardware_type"] in ("cpu", "openvino"))'

code 0 "$ASSAY" detect
for name in cpu cuda rocm mps openvino qnn webnn webgpu; do
	has out "^  $name +(yes|no) +."
done
lacks out '^  null '
lacks out 'line 0\.1 KiB|shared by [0-9-]+, shared by'

# Without any engine every platform says what is missing, and that is no error. An empty folder first in the path hides
# nothing, so this looks only where a library that cannot be opened comes first.
mkdir -p "$work/engines"
for name in onnxruntime openvino_c; do
	echo 'not a library' >"$work/engines/lib$name.so.99.99.99"
done
code 0 env ASSAY_ENGINE_PATH="$work/engines" "$ASSAY" detect --json
json 'all("libonnxruntime" in p["features"]["absent_routes"]["CPU"] and not any(v["engine"] == "ort" for v in p["devices"]) for p in d["platforms"] if p["name"] == "cpu")'
json 'all(not p["available"] and "libopenvino_c" in p["reason"] for p in d["platforms"] if p["name"] == "openvino")'
finish
