# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Vendors' libraries are asked in children: what NVML, HIP, amdsmi and Vulkan answer (stand-ins, unit/fake/driver.c), that they fail, that
# they crash; and the real Vulkan loader with the software adapter that Chromium brings, where it is installed.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
# A stand-in that was built with a sanitizer needs the sanitizer's library first, which the program has.
fake=$BUILD/tests/fake/libfake_driver.so
[ -f "$fake" ] || { echo "no $fake: build the tests"; exit 1; }
mkdir "$work/lib"
for name in libnvidia-ml.so.1 libamdhip64.so.6 libamd_smi.so.25 libvulkan.so.1; do
	cp "$fake" "$work/lib/$name"
done
with() { env LD_LIBRARY_PATH="$work/lib" "$@"; }
# A child ends itself and its group when its descriptor 0 ends: this one stays open.
mkfifo "$work/request"
exec 9<>"$work/request"
# ask NAME [VARIABLE=VALUE...]: what the child says, as $work/out.
ask()
{
	local name=$1
	shift
	echo '{}' >&9
	env "$@" setsid -w "$ASSAY" cell --driver "$name" <&9 3>"$work/events" >/dev/null 2>"$work/err"
	grep '"probe"' "$work/events" | sed 's/.*"facts": *\(.*\)}$/\1/' >"$work/out"
}

code 0 with "$ASSAY" detect cuda --json
json 'd["platforms"][0]["facts"]["nvml"] == {"driver": "580.65.06", "nvml": "13.580.65.06", "cuda": "13.0"}'
json '[g.get("name") for g in d["platforms"][0]["facts"]["gpus"]] == ["NVIDIA H100 PCIe", "NVIDIA L4", None]'
json 'd["platforms"][0]["facts"]["gpus"][0]["memory_bytes"] == 80000000000 and d["platforms"][0]["facts"]["gpus"][0]["memory_free_bytes"] == 70000000000'
json '[g.get("compute_capability") for g in d["platforms"][0]["facts"]["gpus"]] == ["9.0", "8.9", None]'
json '[g.get("power_limit_w") for g in d["platforms"][0]["facts"]["gpus"]] == [350.5, None, None]'
json '[g.get("temperature_c") for g in d["platforms"][0]["facts"]["gpus"]] == [41, 42, None]'
json '[g.get("slowdown_reasons") for g in d["platforms"][0]["facts"]["gpus"]] == [None, "0x21", None]'
json 'd["platforms"][0]["facts"]["gpus"][2] == {"index": 2, "error": "Insufficient Permissions", "visible": True}'
# A cell looks before it loads, behind that, the first run and the extra run. The null engine stands in for the card.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
code 0 with ASSAY_NULL=cuda FAKE_DRIVER_TAKES=100 "$ASSAY" run "$work/bert" --on cuda --no-conform --runs 3 --json
json 'd[0]["device_memory_mib"] == 300 and d[0]["engine"] == "null"'
code 0 "$ASSAY" run "$work/bert" --on null --no-conform --runs 3 --json
json 'd[0]["device_memory_mib"] is None'
# Energy by the cards' own counters: 100 J each in the timed runs, a tenth of one in half a second of idle. Rows of both vendors.
energy() { code 0 with ASSAY_SYSFS="$work/none" "$@" "$ASSAY" run "$work/bert" --on "$on" --no-conform --runs 30 --options sleep_ms=10 --json; }
on=cuda energy ASSAY_NULL=cuda
json 'd[0]["energy_source"].startswith("GPU 0, GPU 1 (without the processor: ") and d[0]["energy_why"] is None and d[0]["batch"] == 1'
json 'abs(d[0]["energy"]["with_idle_j"] - 200) < 1e-6 and 0 < d[0]["idle_w"] <= 0.4 and [c["counter"] for c in d[0]["energy"]["counters"]] == ["GPU 0", "GPU 1"]'
json 'abs(d[0]["energy_j_per_sample"] * 30 - (200 - d[0]["idle_w"] * d[0]["energy"]["seconds"])) < 1e-6'
on=rocm energy ASSAY_NULL=rocm
json 'd[0]["energy_source"].startswith("GPU 0 (") and abs(d[0]["energy"]["with_idle_j"] - 100) < 1e-4 and d[0]["energy_j_per_sample"] > 3'
on=cuda energy ASSAY_NULL=cuda FAKE_DRIVER_ENERGY=still
json 'd[0]["energy_j_per_sample"] is None and "GPU 0 stood still" in d[0]["energy_why"]'
on=cuda energy ASSAY_NULL=cuda FAKE_DRIVER_ENERGY=none
json 'd[0]["energy_j_per_sample"] is None and d[0]["energy_why"] == "GPU 0 has no counter of energy; GPU 1 has no counter of energy"'
on=cuda energy ASSAY_NULL=cuda FAKE_DRIVER=fail
json 'd[0]["energy_j_per_sample"] is None and d[0]["energy_why"] == "NVML counts no energy here"'
code 0 with CUDA_VISIBLE_DEVICES=GPU-2 "$ASSAY" detect cuda --json
json '[g["visible"] for g in d["platforms"][0]["facts"]["gpus"]] == [False, True, False]'
code 0 with FAKE_DRIVER=fail "$ASSAY" detect cuda --json
json 'd["platforms"][0]["facts"]["nvml"]["error"] == "nvmlInit: Unknown Error (999)"'
code 0 with FAKE_DRIVER=crash "$ASSAY" detect cuda --json
json '"signal 6" in d["platforms"][0]["facts"]["nvml"]["error"] or "SIGABRT" in d["platforms"][0]["facts"]["nvml"]["error"] or "abort" in d["platforms"][0]["facts"]["nvml"]["error"].lower()'

code 0 with "$ASSAY" detect rocm --json
json 'd["platforms"][0]["facts"]["hip"] == {"library": "libamdhip64.so.6", "gpus": [{"index": 0, "name": "AMD Instinct MI250X", "memory_bytes": 68702699520}], "runtime": "6.3.42134", "driver": "6.3.42134"}'
json 'd["platforms"][0]["facts"]["amdsmi"] == {"library": "libamd_smi.so.25", "gpus": [{"memory_bytes": 68702699520, "memory_used_bytes": 11000000}]}'
json 'any("HIP sees 1 GPUs, the kernel and the environment" in f for f in d["platforms"][0]["facts"]["findings"])'
code 0 with FAKE_DRIVER=fail "$ASSAY" detect rocm --json
json 'd["platforms"][0]["facts"]["hip"]["error"] == "hipGetDeviceCount: no ROCm-capable device is detected (100)"'
json 'd["platforms"][0]["facts"]["amdsmi"]["error"] == "amdsmi answers with error 2"'

ask vulkan LD_LIBRARY_PATH="$work/lib"
json '[a["name"] for a in d["adapters"]] == ["AMD Radeon RX 7900 XTX (RADV NAVI31)", "a software adapter"]'
json '[(a["type"], a["software"]) for a in d["adapters"]] == [("discrete", False), ("cpu", True)]'
json 'd["adapters"][0]["driver"] == "radv Mesa 25.0.1" and d["adapters"][0]["api_version"] == "1.3.277" and d["adapters"][0]["id"] == "1002:744c"'
json 'd["adapters"][0]["memory_bytes"] == 25753026560 and d["adapters"][0]["shader_float16"] is True and d["adapters"][0]["shader_int8"] is False'
json '"driver" not in d["adapters"][1] and "shader_float16" not in d["adapters"][1] and d["adapters"][1]["api_version"] == "1.1.0"'
ask vulkan LD_LIBRARY_PATH="$work/lib" FAKE_DRIVER=fail VK_DRIVER_FILES="$work/none.json"
json 'd["adapters"] == [] and "no Vulkan driver works here; the loader tried" in d["error"] and "none.json" in d["error"]'

# The real loader.
icd=/usr/lib/chromium/vk_swiftshader_icd.json
if [ -f $icd ] && ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1'; then
	ask vulkan VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
	json 'len(d["adapters"]) == 1 and d["adapters"][0]["software"] and "SwiftShader" in d["adapters"][0]["name"] and d["adapters"][0]["type"] == "cpu"'
else
	echo "not tried: SwiftShader through the real Vulkan loader ($icd or libvulkan.so.1 is not here)"
fi

ask nonesuch
grep -q 'no driver is called nonesuch' "$work/events" || fail "an unknown driver is not refused: $(cat "$work/events")"
code 1 "$ASSAY" cell --driver nvml --probe ort/onnxruntime
has err 'do not go together'
finish
