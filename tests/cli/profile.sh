# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# profile on a model of two layers: its scopes are named, its parts sum to the whole that it states, the same profile comes from the database
# again, the page is whole, and who has no profile says so. No speed is looked at.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
case=$SOURCE/tests/conform/cases/bert
code 0 "$ASSAY" synth "$case" -o "$work/bert"
quick="--runs 3 --no-conform"

code 1 "$ASSAY" profile
has err 'MODEL is missing'
code 1 "$ASSAY" profile "$work/bert" --row 1
has err 'MODEL is left out'
code 1 "$ASSAY" profile "$work/bert" --on cpu,openvino
has err 'names 2 platforms'
code 1 "$ASSAY" profile "$work/bert" --task generate
has err '--task generate: what is profiled is one forward pass'
code 1 "$ASSAY" profile "$work/bert" --batch 1,2
has err 'that is 2 cells: a profile is of one'

# A network of diffusion is told apart by its blocks.
if has_platform cpu; then
	code 0 "$ASSAY" profile "$SOURCE/tests/conform/cases/diffusers-unet-sdxl" --synthetic --on cpu $quick --json
	json '{"embed", "down_blocks.*", "down_blocks.*/residual", "down_blocks.*/attn", "mid_block", "up_blocks.*"} <= {s["scope"] for s in d["scopes"]}'
	rm -f "$ASSAY_DB"
fi

# Who cannot: before anything is loaded, as a verdict.
code 2 "$ASSAY" profile "$work/bert" --on null $quick --json
json 'd[0]["verdict"] == "unsupported" and "how long its nodes take" in d[0]["cause"] and d[0]["load_ms"] is None'
code 1 "$ASSAY" profile --row 1
has err 'row 1 of .* holds no profile'

# A profile that gave nothing takes nothing back: the model's own answer is the last word on its question.
plain="--on null --runs 3 --no-conform"
rm -f "$ASSAY_DB"
code 0 "$ASSAY" run "$work/bert" $plain
code 2 "$ASSAY" profile "$work/bert" $plain
code 0 "$ASSAY" query --format json --on null fastest
json '[r["row"] for r in d] == [1]'
code 0 "$ASSAY" query --format json --on null by-hardware
json 'd[0]["n"] == 2 and d[0]["right"] == 1 and d[0]["others"] == 1'
code 0 "$ASSAY" report --format md
has out 'bert .*right.*; profiled: .*unsupported'
code 0 "$ASSAY" reproduce 2 --command
has out '^assay profile '
code 0 "$ASSAY" reproduce 2
has out '^  verdict +holds: unsupported then and now$'

for on in cpu openvino; do
	has_platform $on || continue
	rm -f "$ASSAY_DB"
	code 0 "$ASSAY" profile "$work/bert" --on $on $quick --json -o "$work/$on.html"
	cp "$work/out" "$work/first"
	json 'd["row"] == 1 and d["verdict"] in ("right", "unjudged") and d["profile"]["runs"] >= 5'
	# The parts are the whole: nodes, what is not named, what lies between.
	json 'abs(sum(n["ms"] for n in d["nodes"]) - d["nodes_ms"]) < 1e-6 and abs(d["nodes_ms"] + d["between_nodes_ms"] - d["whole_ms"]) < 1e-6'
	json 'abs(sum(s["ms"] for s in d["scopes"] if s["depth"] == 0) + d["not_named_ms"] - d["nodes_ms"]) < 1e-6'
	json 'abs(sum(o["ms"] for o in d["ops"]) - d["nodes_ms"]) < 1e-6 and sum(o["nodes"] for o in d["ops"]) == len(d["nodes"])'
	json 'abs(sum(n["ms"] for n in d["nodes"] if n["scope"] is None) - d["not_named_ms"]) < 1e-6'
	json 'd["device_ms"] is None and 0 < d["nodes_ms"] and d["profile"]["least_ms"] <= d["whole_ms"] <= d["profile"]["most_ms"]'
	# Both layers have both of their parts, and the work is in them: products above all.
	json '{"embed", "layers.*", "layers.*/attn", "layers.*/ffn", "head"} <= {s["scope"] for s in d["scopes"]}'
	json '[s["instances"] for s in d["scopes"] if s["scope"] == "layers.*"] == [2]'
	json 'sum(bool(n["scope"]) and n["scope"].startswith("layers.") for n in d["nodes"]) > 10'
	json 'all(n["scope"] is not None for n in d["nodes"] if n["ms"] > 0.1 * d["whole_ms"])'
	# Roofs are measured, and no figure is without them.
	json 'd["peak_gflops"] > 0 and d["bandwidth_gb_s"] > 0 and 0 < d["roofline_share"] and d["profile"]["peak_by"]'
	json 'any(n["gflops"] and n["roofline_share"] and n["roof"] in ("compute", "memory") for n in d["nodes"]) and d["bottlenecks"]'

	# From the database, nothing runs: the same.
	code 0 "$ASSAY" profile --row 1 --json
	cmp -s "$work/first" "$work/out" || fail "--row prints another profile than the run did"
	code 0 "$ASSAY" profile --row 1 --top 3
	has out '^  layer .* ms'
	has out '^  layers\.\* '
	has out '^  \(between nodes\)'
	has out '^Roofs: [0-9]+ GFLOP/s'
	[ "$(sed -n '/^  slowest nodes/,/^$/p' "$work/out" | grep -c '^  [a-zA-Z].*[0-9]')" = 3 ] || fail "--top 3 does not list three nodes"

	# A node's operations are the graph's: nothing is lost on the way through the engine's names.
	code 0 "$ASSAY" query --format json "SELECT flops, roofline_share, peak_gflops, bandwidth_gb_s, profile FROM result WHERE id = 1"
	json 'd[0]["flops"] > 0 and d[0]["roofline_share"] > 0'
	code 0 "$ASSAY" query --format json "SELECT sum(n.flops) AS f, max(r.flops) AS g, count(*) AS k FROM profile_node n JOIN result r ON r.id = n.cell"
	json 'abs(float(d[0]["f"]) / float(d[0]["g"]) - 1) < 0.01'

	# The page needs nothing else and is well formed.
	python3 - "$work/$on.html" <<'PY' || fail "the page of $on"
import sys
from html.parser import HTMLParser
page = open(sys.argv[1], encoding="utf-8").read()
assert "http:" not in page and "https:" not in page and "src=" not in page
stack, boxes = [], []
class Page(HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "link", "input"):
            stack.append(tag)
        if tag == "button":
            boxes.append(dict(attrs))
    def handle_endtag(self, tag):
        assert stack.pop() == tag, tag
Page().feed(page)
assert not stack and len(boxes) > 20 and all(b.get("title") for b in boxes)
assert any("layers.1" in b["title"] for b in boxes)
assert ", 0.0 GFLOP/s, 0.0 GB/s" not in page and "<td></td>" in page # what is not known has no figure
PY
done

# WebGPU outside browsers: times are the adapter's, by its own clock, and a software one is called so. What the processor did is not among them.
if has_device webgpu:native; then
	rm -f "$ASSAY_DB"
	code 0 "$ASSAY" profile "$work/bert" --on webgpu:native --seq 8 --no-conform --json
	json '0 < d["device_ms"] <= d["nodes_ms"] + 1e-9 and abs(sum(n["ms"] for n in d["nodes"]) - d["nodes_ms"]) < 1e-6'
	json '{"embed", "layers.*/attn", "layers.*/ffn", "head"} <= {s["scope"] for s in d["scopes"]} and all(n["kernel"] for n in d["nodes"] if n["op"] == "Softmax")'
	code 0 "$ASSAY" query --format json "SELECT r.device_ms AS device, sum(n.ms) FILTER (n.place = 'WebGpuExecutionProvider') AS kernels, bool_or(r.emulated) AS emulated
		FROM result r JOIN profile_node n ON n.cell = r.id GROUP BY ALL"
	json 'len(d) == 1 and abs(float(d[0]["device"]) - float(d[0]["kernels"])) < 1e-6'
	code 0 "$ASSAY" profile --row 1
	has out "by the device's own clock\\. EMULATED: a software device"
fi
finish
