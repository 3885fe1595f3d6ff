# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Commands that fetch on their own what is not here, against tests/hub/server.py: run, matrix, inspect, build, synth; what they do not
# fetch; and what they say without a Hub.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/hub/lib.sh"

mkdir -p "$repos/org" "$repos/gated"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$repos/org/bert"
cp -r "$repos/org/bert" "$repos/gated/bert"
cp -r "$repos/org/bert" "$repos/org/strange"
echo '{"model_type": "no-such-type", "architectures": ["NoSuchModel"]}' >"$repos/org/strange/config.json"
cp -r "$repos/org/bert" "$repos/org/shards"
(cd "$repos/org/shards" && python3 - <<'PY'
import json, struct
data = open("model.safetensors", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header, body = json.loads(data[8:8 + n]), data[8 + n:]
names = sorted(k for k in header if k != "__metadata__")
where = {}
for i, part in enumerate((names[::2], names[1::2]), 1):
    file, h, out = "model-%05d-of-00002.safetensors" % i, {}, b""
    for k in part:
        b, e = header[k]["data_offsets"]
        h[k] = dict(header[k], data_offsets=[len(out), len(out) + e - b])
        out += body[b:e]
        where[k] = file
    text = json.dumps(h).encode()
    open(file, "wb").write(struct.pack("<Q", len(text)) + text + out)
json.dump({"weight_map": where}, open("model.safetensors.index.json", "w"))
PY
rm model.safetensors)
start_server

# inspect: the configuration alone. run: the rest, with the sizes before; afterwards nobody is asked.
code 0 "$ASSAY" inspect org/bert
has err '^assay: fetching org/bert, commit [0-9a-f]{7} of main at http://127.0.0.1:[0-9]+: 1 of its 2 files, 0.7 KiB$'
[ "$(files_of org/bert)" = "config.json " ] || fail "inspect fetched: $(files_of org/bert)"
code 0 "$ASSAY" run org/bert --on null --runs 1 --no-conform -v
has err '^assay: fetching org/bert, commit [0-9a-f]{7} .*: 2 of its 2 files, 83.8 KiB, 0.7 KiB of it here$'
has err 'model.safetensors: 83.1 KiB, sha256$'
has out 'org/bert on null'
[ "$(files_of org/bert)" = "config.json model.safetensors " ] || fail "run fetched: $(files_of org/bert)"
control
code 0 "$ASSAY" run org/bert --on null --runs 1 --no-conform --json
json 'len(d) == 1 and d[0]["revision"] is not None'
empty err
[ "$(asked)" = 0 ] || fail "the Hub was asked about what is here: $(cat "$work/log")"
# A revision that is not here.
code 0 "$ASSAY" inspect org/bert@v1
[ "$(asked)" -gt 0 ] || fail "a new revision was not asked for"
code 1 "$ASSAY" inspect org/bert@v9
has err 'not its revision "v9"; and org/bert: http.* has no revision "v9" of it'

# build with its weights, synth and --synthetic with the configuration alone.
clear_cache
code 0 "$ASSAY" build org/bert -o "$work/built"
[ -e "$work/built/model.onnx" ] || fail "nothing was built"
clear_cache
code 0 "$ASSAY" synth org/bert -o "$work/synthetic"
[ "$(files_of org/bert)" = "config.json " ] || fail "synth fetched: $(files_of org/bert)"
clear_cache
code 0 "$ASSAY" run org/bert --synthetic --on null --runs 1 --no-conform
[ "$(files_of org/bert)" = "config.json " ] || fail "--synthetic fetched: $(files_of org/bert)"

# A model that assay cannot build gets its answer without its weights.
code 2 "$ASSAY" run org/strange --on null
has out 'unsupported'
[ "$(files_of org/strange)" = "config.json " ] || fail "fetched for a refusal: $(files_of org/strange)"

# A snapshot that lacks a shard is made whole.
code 0 "$ASSAY" run org/shards --on null --runs 1 --no-conform
rm "$(snapshot org/shards)/model-00002-of-00002.safetensors"
code 0 "$ASSAY" run org/shards --on null --runs 1 --no-conform
has err 'fetching org/shards'
[ -e "$(snapshot org/shards)/model-00002-of-00002.safetensors" ] || fail "the shard did not come back"

# matrix: nothing in a dry run; all sizes before the first byte.
clear_cache
code 0 "$ASSAY" matrix --models org/bert,org/shards --on null --dry-run --output-dir "$work/m"
has err '^assay: would fetch org/bert, '
has err '^assay: .* to fetch in all; .* free under '
[ -e "$HF_HUB_CACHE" ] && fail "a dry run wrote to the cache"
code 0 "$ASSAY" matrix --models org/bert,org/shards --on null --runs 1 --no-conform --output-dir "$work/m"
[ "$(grep -n 'fetching org/shards, .*MiB\|fetching org/shards, .*KiB' "$work/err" | tail -1 | cut -d: -f1)" -lt "$(grep -n 'safetensors: ' "$work/err" | head -1 | cut -d: -f1)" ] ||
	fail "not all sizes before the first weights"

# No such model: what is known here, and what the Hub says. Refusals.
code 1 "$ASSAY" run org/bret --on null
has err 'org/bret: no such folder.*the nearest known names are org/bert.*; and org/bret: http.* has no such model'
[ "$(wc -l <"$work/err")" = 1 ] || fail "more than one line"
clear_cache
code 1 "$ASSAY" run gated/bert --on null
has err 'gated/bert: .*is gated: agree to its conditions'
HF_TOKEN=hf_good code 0 "$ASSAY" run gated/bert --on null --runs 1 --no-conform

# Offline by option or variable: nobody is asked.
clear_cache
control
for name in org/bert bert-base-uncased no-such-model; do
	code 1 "$ASSAY" run $name --on null --offline
	HF_HUB_OFFLINE=1 code 1 "$ASSAY" run $name --on null
done
code 1 "$ASSAY" inspect org/bert --offline
has err 'no model of this name.*; the Hub was not asked, because this is offline$'
code 0 "$ASSAY" inspect bert-base-uncased
[ "$(asked)" = 0 ] || fail "asked although offline: $(cat "$work/log")"

# A published name without --synthetic asks for the real one; it is not on this Hub.
code 1 "$ASSAY" run bert-base-uncased --on null
has err 'google-bert/bert-base-uncased: http.* has no such model'

# No Hub: said, and then what is here decides.
kill $server
wait $server 2>/dev/null
code 1 "$ASSAY" run bert-base-uncased --on null
has err '^assay: the Hub cannot be asked: google-bert/bert-base-uncased: .*going on with what is here$'
has err 'only its configuration is here.*--synthetic'
code 0 "$ASSAY" inspect bert-base-uncased
empty err
finish
