# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Platforms and devices that are not on this machine: a row each that names the library or the device file. OpenVINO's devices
# that hand the work to others, and its compiled models that are kept.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
quick="--runs 3 --no-conform"

# What each says where it is missing. Where one is here its row says something else, and that is not this test's business.
code 0 "$ASSAY" detect --json
python3 - "$work/out" <<'PY' >"$work/absent"
import json, sys
for p in json.load(open(sys.argv[1]))["platforms"]:
    if not p["available"]:
        print(p["name"])
PY
cause()
{
	grep -qx "$1" "$work/absent" || { echo "$1 is here, or its absence is not looked at"; return; }
	code 2 "$ASSAY" run "$work/bert" --on "$1" $quick --json
	json "d[0]['verdict'] == 'unavailable' and d[0]['requested'] == '$1' and d[0]['latency_ms'] is None"
	has out "\"cause\": \".*($2)"
}
cause cuda 'libcuda\.so\.1|/dev/nvidia0|libcudart\.so\.13|assay setup cuda'
cause rocm '/dev/kfd|libmigraphx_c\.so\.3|assay setup rocm'
cause mps 'Core ML needs macOS|CoreMLExecutionProvider'
cause tensorrt 'libnvinfer\.so\.10|libcuda\.so\.1|assay setup cuda'
cause tensorrt-rtx 'NvTensorRTRTXExecutionProvider|libcuda\.so\.1|assay setup cuda'
cause ane 'Core ML needs macOS|CoreMLExecutionProvider'
cause mlx 'MLX needs macOS'
cause npu 'libze_loader\.so\.1|/dev/accel'
cause xnnpack 'without XnnpackExecutionProvider'

code 0 "$ASSAY" run "$work/bert" --on openvino:AUTO,openvino:HETERO:CPU $quick --json
json 'all(x["verdict"] == "right" and x["compute_dtype"] == "f32" and x["options"]["EXECUTION_DEVICES"] == "CPU" for x in d)'
json 'all(x["nodes_on_platform"] > 0 and x["nodes_elsewhere"] == 0 and x["partitions"] == 1 for x in d)'
code 2 "$ASSAY" run "$work/bert" --on openvino:HETERO $quick --json
has out 'HETERO needs the devices to share the work: HETERO:GPU,CPU'
code 2 "$ASSAY" run "$work/bert" --on openvino:HETERO:XPU,CPU $quick --json
json 'd[0]["verdict"] == "unavailable"'
has out 'HETERO:XPU,CPU: no device XPU; OpenVINO.s devices here: .*CPU'

# A compiled model is found again, by the same options only, and not when its file was changed.
code 0 "$ASSAY" run "$work/bert" --on openvino:cache=on $quick --json
json 'd[0]["options"]["cache"] == "new" and d[0]["options"]["LOADED_FROM_CACHE"] == "NO" and d[0]["compiled_bytes"] > 0'
code 0 "$ASSAY" run "$work/bert" --on openvino:cache=on $quick --json
json 'd[0]["options"]["cache"] == "found" and d[0]["options"]["LOADED_FROM_CACHE"] == "YES" and d[0]["verdict"] == "right"'
code 0 "$ASSAY" run "$work/bert" --on openvino:cache=on,threads=1 $quick --json
json 'd[0]["options"]["cache"] == "new"'
blob=$(find "$ASSAY_CACHE/compiled" -name '*.blob' | head -1)
[ -s "$blob" ] || fail "no compiled model in $ASSAY_CACHE/compiled"
for each in "$ASSAY_CACHE"/compiled/*/*.blob; do # another byte in its middle: as many bytes as before
	printf '\x5a' | dd of="$each" bs=1 seek=$(($(stat -c %s "$each") / 2)) conv=notrunc status=none
	printf '\xa5' | dd of="$each" bs=1 seek=$(($(stat -c %s "$each") / 2 + 1)) conv=notrunc status=none
done
code 0 "$ASSAY" run "$work/bert" --on openvino:cache=on $quick --json
json 'd[0]["options"]["cache"].startswith("stale, made again: ") and d[0]["verdict"] == "right"'
code 0 "$ASSAY" run "$work/bert" --on openvino:cache=on $quick --json
json 'd[0]["options"]["cache"] == "found"'
finish
