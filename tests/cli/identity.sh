# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A model is the contents of its files. What was answered for other contents is not found again, whatever the files' names, sizes and
# times: by --resume, and by the cache of references.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
case=$SOURCE/tests/conform/cases/bert
code 0 "$ASSAY" synth "$case" -o "$work/bert"
quick="--on null --runs 1 --no-conform --output-dir $work/dir"

# split FOLDER: its model.safetensors as two shards and an index.
split()
{
	python3 - "$1" <<'PY'
import json, os, struct, sys
folder = sys.argv[1]
whole = folder + "/model.safetensors"
data = open(whole, "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
names = sorted(k for k in header if k != "__metadata__")
index = {}
for i, part in enumerate((names[::2], names[1::2])):
    file, own, body = f"model-{i + 1:05}-of-00002.safetensors", {}, b""
    for name in part:
        a, b = header[name]["data_offsets"]
        own[name] = dict(header[name], data_offsets=[len(body), len(body) + b - a])
        body += data[8 + n + a:8 + n + b]
        index[name] = file
    text = json.dumps(own).encode()
    open(f"{folder}/{file}", "wb").write(struct.pack("<Q", len(text)) + text + body)
json.dump({"weight_map": index}, open(whole + ".index.json", "w"))
os.remove(whole)
PY
}

# scale FILE FACTOR: the last 2000 bytes as float32, times so much; size and mtime stay.
scale()
{
	python3 - "$1" "$2" <<'PY'
import array, os, sys
path, factor = sys.argv[1], float(sys.argv[2])
times = os.stat(path)
with open(path, "r+b") as f:
    f.seek(-2000, 2)
    at = f.tell()
    x = array.array("f", f.read())
    f.seek(at)
    f.write(array.array("f", [factor * v for v in x]).tobytes())
os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
PY
}

# What --resume does with the cell of a model.
found()
{
	"$ASSAY" matrix --models "$1" $quick --resume >"$work/out" 2>"$work/err"
	has err 'finished before, row [0-9]+: '
}
measured()
{
	"$ASSAY" matrix --models "$1" $quick --resume >"$work/out" 2>"$work/err"
	lacks err 'finished before'
}

cp -r "$work/bert" "$work/sharded"
split "$work/sharded"
code 0 "$ASSAY" build "$work/bert" -o "$work/built"
chmod u+w "$work"/built/*
outside=$(find "$work/built" -name '*.safetensors' -o -name '*.data' | head -1)
shard=$work/sharded/model-00002-of-00002.safetensors
cp "$shard" "$work/kept"
measured "$work/sharded"
found "$work/sharded"
scale "$shard" 1.7
measured "$work/sharded"
cp "$work/kept" "$shard"
found "$work/sharded"
measured "$work/built/model.onnx"
found "$work/built/model.onnx"
scale "$outside" 1.1
measured "$work/built/model.onnx"

# Written to while it is measured: which contents an answer would be of is not known, and it is asked again when they are as they were.
# That they are so again at its end, times too, does not tell.
cp -r "$work/bert" "$work/written"
cp -p "$work/written/model.safetensors" "$work/kept"
for how in written moved gone; do
	"$ASSAY" matrix --models "$work/written" --on null:sleep_ms=20 --seq 8,16 --runs 50 --no-conform --output-dir "$work/$how-dir" >"$work/out" 2>"$work/err" </dev/null &
	running=$!
	for _ in $(seq 600); do
		for cell in /proc/[0-9]*/status; do
			grep -q "^PPid:[[:space:]]*$running\$" "$cell" 2>/dev/null && tr '\0' ' ' <"${cell%status}cmdline" | grep -q ' cell $' && break 2
		done
		sleep 0.05
	done
	if [ $how = written ]; then
		scale "$work/written/model.safetensors" 1.7
		cat "$work/kept" >"$work/written/model.safetensors" && touch -r "$work/kept" "$work/written/model.safetensors"
	else
		mv "$work/written" "$work/away" && { [ $how = gone ] || mv "$work/away" "$work/written"; }
	fi
	wait "$running"
	has err 'not.asked'
	code 0 "$ASSAY" query --db "$work/$how-dir/assay.duckdb" --format csv "SELECT verdict, regexp_extract(cause, 'changed while|is gone') FROM result ORDER BY id"
	[ $how = gone ] && second='not_asked,is gone' || second='right,'
	[ "$(sed 1d "$work/out")" = "not_asked,changed while
$second" ] || fail "$how"
done
mv "$work/away" "$work/written"
"$ASSAY" matrix --models "$work/written" --on null:sleep_ms=20 --runs 2 --no-conform --output-dir "$work/moved-dir" --resume >"$work/out" 2>"$work/err"
lacks err 'finished before'

# Every reference is of the weights that are there: scaled, both engines agree as before.
if has_platform cpu && has_platform openvino; then
	for factor in 1 1.7; do
		scale "$outside" $factor
		code 0 "$ASSAY" run "$work/built/model.onnx" --on cpu --seq 16 --runs 1 --no-conform --json
		json 'd[0]["verdict"] == "right" and d[0]["reference"] == "engine:openvino-f32"'
	done
	# A reference says itself whose it is: those of the two weights, each under the other's name, are not believed.
	mapfile -t references < <(find "$ASSAY_CACHE/reference" -name '*.safetensors' -printf '%T@ %p\n' | sort -n | tail -2 | cut -d' ' -f2-)
	mv "${references[0]}" "$work/reference" && mv "${references[1]}" "${references[0]}" && mv "$work/reference" "${references[1]}"
	code 0 "$ASSAY" run "$work/built/model.onnx" --on cpu --seq 16 --runs 1 --no-conform --json
	json 'd[0]["verdict"] == "right" and d[0]["reference"] == "engine:openvino-f32"'
fi
finish
