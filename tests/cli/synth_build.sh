# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# synth and build on a tiny model: the same seed gives the same bytes, the graph lies beside its weights, text and explain.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
case=$SOURCE/tests/conform/cases/bert

code 0 "$ASSAY" synth "$case" -o "$work/a"
has out 'synthetic weights, seed 0$'
empty err
code 0 "$ASSAY" synth "$case" -o "$work/b"
code 0 "$ASSAY" synth "$case" -o "$work/c" --seed 7
cmp -s "$work/a/model.safetensors" "$work/b/model.safetensors" || fail "the same seed gave other bytes"
cmp -s "$work/a/model.safetensors" "$work/c/model.safetensors" && fail "another seed gave the same bytes"
code 0 "$ASSAY" synth "$case" -o "$work/short" --layers 1 --dtype bf16
grep -Eq '"num_hidden_layers": *1\b' "$work/short/config.json" || fail "config.json does not say one layer"
[ "$(stat -c %s "$work/short/model.safetensors")" -lt "$(stat -c %s "$work/a/model.safetensors")" ] || fail "one layer in bf16 is not smaller"
code 1 "$ASSAY" synth "$case" -o "$case/config.json"
has err 'config\.json'
mkdir "$work/nonesuch" && echo '{"model_type": "nonesuch", "architectures": ["NoneSuchModel"]}' >"$work/nonesuch/config.json"
code 2 "$ASSAY" synth "$work/nonesuch" -o "$work/unknown"
has err 'nonesuch is not supported'
[ -e "$work/unknown/model.safetensors" ] && fail "weights of an unsupported model were written"

code 0 "$ASSAY" build "$work/a" -o "$work/onnx"
has out 'model\.onnx: [0-9]+ nodes, opset [0-9]+, .* by (reflink|copy)'
empty err
[ -s "$work/onnx/model.onnx" ] || fail "no model.onnx"
[ "$(stat -c %h "$work/onnx/model.safetensors")" -eq 1 ] || fail "a file that should stand alone is linked"
code 0 "$ASSAY" build "$work/a" -o "$work/linked" --link
has out 'by hardlink'
[ "$work/linked/model.safetensors" -ef "$work/a/model.safetensors" ] || fail "--link made no hard link"
cmp -s "$work/onnx/model.onnx" "$work/linked/model.onnx" || fail "--link changed the graph"
code 0 "$ASSAY" build "$work/a" -o "$work/linked" --link

# A configuration alone: its weights are made, said with their size, and stay where they were linked when the cache goes.
code 1 "$ASSAY" build "$case" -o "$work/bare"
has err 'its weights are not here; --synthetic makes seeded random ones'
code 0 "$ASSAY" build "$case" -o "$work/made" --synthetic --link
has err 'its weights are not here: synthetic ones, [0-9.]+ [kKMG]i?B, seed 0'
code 0 "$ASSAY" cache --clear
cmp -s "$work/made/model.onnx" "$work/linked/model.onnx" || fail "--synthetic built another graph than synth and build"
cmp -s "$work/made/model.safetensors" "$work/a/model.safetensors" || fail "--synthetic made other weights than synth"
code 0 "$ASSAY" build "$work/a" -o "$work/again" --synthetic
empty err
code 2 "$ASSAY" build "$work/nonesuch" -o "$work/unknown" --synthetic
has err 'nonesuch is not supported'

# A graph of the first layers says so itself (the null engine takes none from a file): its rows are not those of the whole model.
code 0 "$ASSAY" build "$work/a" -o "$work/one" --layers 1
code 2 "$ASSAY" run "$work/one/model.onnx" --on null --runs 1 --no-conform -v
has out 'SHORTENED to 1 layer$'
code 0 "$ASSAY" query --format csv "SELECT shortened, layers FROM result ORDER BY id DESC LIMIT 1"
has out '^true,1$'
code 2 "$ASSAY" run "$work/onnx/model.onnx" --on null --runs 1 --no-conform -v
lacks out 'SHORTENED'

# An encoder-decoder: several graphs, one copy of the weights, and what other programs look for beside them.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/t5" -o "$work/t5"
for again in 1 2; do
	code 0 "$ASSAY" build "$work/t5" -o "$work/t5-onnx"
	for graph in model encoder_model decoder_model decoder_with_past_model decoder_model_merged; do
		has out "/$graph\\.onnx: [0-9]+ nodes"
		[ -s "$work/t5-onnx/$graph.onnx" ] || fail "no $graph.onnx"
	done
	cmp -s "$work/t5/config.json" "$work/t5-onnx/config.json" || fail "no config.json beside the graphs"
done
code 0 "$ASSAY" build "$work/t5" -o "$work/t5-one" --graph encoder_model
[ "$(ls "$work/t5-one")" = "$(printf 'encoder_model.onnx\nmodel.safetensors')" ] || fail "--graph wrote more than one graph"
code 1 "$ASSAY" build "$work/t5" -o "$work/x" --graph nonesuch
has err 'no graph called nonesuch; it has model, encoder_model'
# One that few have a use for, by its name alone.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/diffusers-unet-sd15" -o "$work/unet"
code 0 "$ASSAY" build "$work/unet" -o "$work/unet-onnx"
[ ! -e "$work/unet-onnx/model_controlled.onnx" ] && [ -s "$work/unet-onnx/model.onnx" ] || fail "other graphs than the whole model's"
code 0 "$ASSAY" build "$work/unet" -o "$work/unet-onnx" --graph model_controlled
[ -s "$work/unet-onnx/model_controlled.onnx" ] || fail "no model_controlled.onnx"

code 0 "$ASSAY" build "$work/a" --text
cp "$work/out" "$work/dynamic.txt"
has out 'LayerNormalization'
has out 'batch'
code 0 "$ASSAY" build "$work/a" --text
cmp -s "$work/out" "$work/dynamic.txt" || fail "the text of a graph is not the same twice"
code 0 "$ASSAY" build "$work/a" --text --static --batch 3 --seq 5
lacks out 'Shape\('
has out '\b3,5'
code 0 "$ASSAY" build "$work/a" -o "$work/x" --explain --platform openvino
for word in linear attention gelu norm shapes; do
	has out "^  $word +."
done
# A row of an .onnx file says whose weights it has, and how many bytes, also where the engine refuses it (the null engine does): synthetic ones
# by their mark, others as nobody knows.
weights_are()
{
	local data
	data=$(python3 -c 'import sys; b = open(sys.argv[1], "rb").read(); print(len(b) - 8 - int.from_bytes(b[:8], "little"))' "$1/model.safetensors")
	ASSAY_NULL=cpu code 2 "$ASSAY" run "$1/model.onnx" --on cpu --runs 1 --seq 16 --no-conform --json
	json "d[0]['weights'] == '$2' and d[0]['weights_dtype'] == 'f32' and 0.9 * $data < d[0]['weights_bytes'] < 1.1 * $data"
}
weights_are "$work/onnx" synthetic
code 0 "$ASSAY" query --format csv "SELECT weights FROM result" && has out '^synthetic$'
cp -r "$work/onnx" "$work/stranger"
sed -i 's/"assay":"synthetic"/"maker":"anybody--"/' "$work/stranger/model.safetensors"       # as many bytes
weights_are "$work/stranger" "as in the file"
code 1 "$ASSAY" build "$work/a" -o "$work/x" --platform cpuu
has err 'cpuu'
code 1 "$ASSAY" build "$case" -o "$work/x"
has err 'weights are not here.*assay synth'
code 2 "$ASSAY" build "$work/nonesuch" -o "$work/x"
has err 'nonesuch is not supported'
code 0 "$ASSAY" synth google-t5/t5-small -o "$work/t5-short" --layers 2 --dtype bf16
grep -Eq '"num_decoder_layers": *2\b' "$work/t5-short/config.json" || fail "config.json does not say two layers for the decoder"
code 0 "$ASSAY" synth google-t5/t5-small -o "$work/t5-short" --layers 1 --json
json 'd["seed"] == 0 and [x["bytes"] for x in d["files"]] == [os.stat(work + "/t5-short/" + f).st_size for f in ("config.json", "model.safetensors")]'
code 0 "$ASSAY" build "$work/t5-short" -o "$work/t5-built" --json
json 'len(d["graphs"]) > 3 and all(x["nodes"] > 0 and x["bytes"] == os.stat(x["file"]).st_size and x["weights_bytes"] > 0 for x in d["graphs"])'
code 1 "$ASSAY" build "$work/t5-short" --text --json
has err '--json says what was written'
# What somebody else has in a folder is not replaced; what assay wrote is.
mkdir "$work/theirs" && echo theirs >"$work/theirs/model.onnx"
code 1 "$ASSAY" build "$work/a" -o "$work/theirs"
has err 'theirs/model.onnx: was not written by assay'
mv "$work/theirs/model.onnx" "$work/theirs/model.safetensors"
code 1 "$ASSAY" build "$work/a" -o "$work/theirs"
has err 'theirs/model.safetensors: holds other weights'
grep -q theirs "$work/theirs/model.safetensors" || fail "somebody's weights were replaced"
rm "$work/theirs/model.safetensors"
code 0 "$ASSAY" build "$work/a" -o "$work/theirs"
code 0 "$ASSAY" build "$work/a" -o "$work/theirs" --static
mkdir "$work/readonly" && chmod 555 "$work/readonly"
if [ ! -w "$work/readonly" ]; then
	code 1 "$ASSAY" build "$work/a" -o "$work/readonly/x"
	has err 'readonly'
fi
# A head that the configuration ties to the table, and that the file has with other numbers, is not tied (transformers 5); with the
# same numbers it is.
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/tied"
for times in 1 3; do
	rm -rf "$work/headed" && cp -r "$work/tied" "$work/headed"
	python3 - "$work/headed/model.safetensors" $times <<'PY' || fail "no second head"
import array, json, struct, sys
b = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", b[:8])[0]
head, data = json.loads(b[8:8 + n]), b[8 + n:]
of = next(v for k, v in head.items() if k.endswith("word_embeddings.weight"))
x = array.array("f", data[slice(*of["data_offsets"])])
y = array.array("f", [v * int(sys.argv[2]) for v in x]).tobytes()
head["cls.predictions.decoder.weight"] = dict(of, data_offsets=[len(data), len(data) + len(y)])
text = json.dumps(head).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data + y)
PY
	code 0 "$ASSAY" build "$work/headed" -o "$work/headed.$times"
	if grep -aq 'cls\.predictions\.decoder\.weight' "$work/headed.$times/model.onnx"; then read=3; else read=1; fi
	[ $read = $times ] || fail "a head of $times times the table"
done
# What takes the place of a private file, or is a copy of one, is private.
umask 022
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/private"
chmod 0600 "$work/private/model.safetensors"
code 0 "$ASSAY" build "$work/private" -o "$work/private-built"
code 0 "$ASSAY" build "$work/private" -o "$work/private-halves" --precision float16
: >"$work/private.md" && chmod 0600 "$work/private.md"
code 0 "$ASSAY" run "$work/private" --on null --runs 1 --no-conform --db "$work/private.duckdb"
code 0 "$ASSAY" report --db "$work/private.duckdb" -o "$work/private.md"
[ "$(stat -c %a "$work"/private-built/model.safetensors "$work"/private-halves/converted-*.safetensors "$work/private.md" | sort -u)" = 600 ] || fail "private files became readable by others"
# So are a bias and a table under a second name: cases whose files have them with other numbers, and transformers 5.24's outputs.
code 0 "$ASSAY" conform "$SOURCE"/tests/conform/ties/* --on cpu
has out '^3 passed, 0 failed$'
# A buffer that the class takes from the file, with numbers of its own, is not what a graph computes (transformers 5); the usual one is.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/mra" -o "$work/mra"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/donut-swin" -o "$work/donut"
for how in usual turned short; do
	rm -rf "$work/buffered" "$work/indexed"
	cp -r "$work/mra" "$work/buffered" && cp -r "$work/donut" "$work/indexed"
	python3 - "$work" $how <<'PY' || fail "no buffers"
import json, struct, sys
def add(path, name, shape, numbers):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    head, data = json.loads(b[8:8 + n]), b[8 + n:]
    form, dtype = ("h", "I16") if sys.argv[2] == "short" else ("q", "I64")
    more = struct.pack("<%d%s" % (len(numbers), form), *(numbers if sys.argv[2] == "usual" else numbers[::-1]))
    head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data + more)
    return head
rows = 96
add(sys.argv[1] + "/buffered/model.safetensors", "mra.embeddings.position_ids", [1, rows], [i + 2 for i in range(rows)])
config = json.load(open(sys.argv[1] + "/indexed/config.json"))
w = config["window_size"]
places = [(y, x) for y in range(w) for x in range(w)]
add(sys.argv[1] + "/indexed/model.safetensors", "donut.encoder.layers.0.blocks.0.attention.self.relative_position_index", [w * w, w * w],
    [(a[0] - b[0] + w - 1) * (2 * w - 1) + a[1] - b[1] + w - 1 for a in places for b in places])
PY
	for model in buffered indexed; do
		if [ $how = usual ]; then
			code 0 "$ASSAY" build "$work/$model" -o "$work/$model.built"
		else
			code 2 "$ASSAY" build "$work/$model" -o "$work/$model.built"
			has err 'the tensor .* has other numbers than the p[a-z]* that are computed here, and .* takes it'
		fi
	done
done
# A detector's heads are of its decoder, too: under that name with other numbers they are not what was read.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/deformable_detr-two-stage" -o "$work/detector"
for times in 1 3 double; do
	rm -rf "$work/headed" && cp -r "$work/detector" "$work/headed"
	python3 - "$work/headed/model.safetensors" $times <<'PY' || fail "no second head"
import array, json, struct, sys
times, form, dtype = (3, "d", "F64") if sys.argv[2] == "double" else (int(sys.argv[2]), "f", "F32")
b = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", b[:8])[0]
head, data = json.loads(b[8:8 + n]), b[8 + n:]
of = head["bbox_embed.0.layers.0.weight"]
y = array.array(form, [v * times for v in array.array("f", data[slice(*of["data_offsets"])])]).tobytes()
head["model.decoder.bbox_embed.0.layers.0.weight"] = dict(of, dtype=dtype, data_offsets=[len(data), len(data) + len(y)])
text = json.dumps(head).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data + y)
PY
	code "$([ $times = 1 ] && echo 0 || echo 2)" "$ASSAY" build "$work/headed" -o "$work/headed.$times"
	[ $times = 1 ] || has err 'the tensor model.decoder.bbox_embed.0.layers.0.weight has other numbers than bbox_embed.0.layers.0.weight,'
done
finish
