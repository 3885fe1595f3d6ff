# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# assay fetch against a server that behaves like the Hub (tests/hub/server.py): what is fetched, where it lies, what is checked, what is
# taken up again, who gets the token, what is refused and how that reads.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/hub/lib.sh"

model()
{
	mkdir -p "$repos/$1/onnx"
	(cd "$repos/$1" && echo '{"model_type": "bert"}' >config.json && echo '{}' >tokenizer.json && : >merges.txt && echo "# $1" >README.md &&
		echo x >onnx/model.onnx && head -c 300000 /dev/urandom >model.safetensors && head -c 5000 /dev/urandom >tf_model.h5)
}
for m in org/tiny gated/m private/m org/big; do model $m; done
head -c 6000000 /dev/urandom >"$repos/org/big/model.safetensors"
model org/shards
(cd "$repos/org/shards" && mv model.safetensors model-00001-of-00002.safetensors && head -c 70000 /dev/urandom >model-00002-of-00002.safetensors &&
	head -c 10 /dev/urandom >pytorch_model.bin && head -c 9 /dev/urandom >model-00003-of-00003.safetensors &&
	echo '{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"}}' >model.safetensors.index.json)
model org/old
mv "$repos/org/old/model.safetensors" "$repos/org/old/pytorch_model.bin"
model org/none
rm "$repos/org/none/model.safetensors"
model org/noconfig
rm "$repos/org/noconfig/config.json"
model org/odd
mkdir "$repos/org/odd/a b" && echo y >"$repos/org/odd/a b/c#1%.txt"

start_server

# same MODEL FILE...: these files of the cache are those of the server
same()
{
	local m=$1 f
	shift
	for f in "$@"; do cmp -s "$repos/$m/$f" "$(snapshot $m)/$f" || fail "$m/$f is not what the server has"; done
}
incomplete() { find "$HF_HUB_CACHE" -name '*.incomplete' | wc -l; }
no_blob_is_wrong()
{
	find "$HF_HUB_CACHE" -path '*/blobs/*' -type f ! -name '*.incomplete' | while read -r f; do
		sum=$(sha256sum <"$f" | cut -d' ' -f1)
		git=$({ printf 'blob %d\0' "$(stat -c %s "$f")"; cat "$f"; } | sha1sum | cut -d' ' -f1)
		case ${f##*/} in "$sum"|"$git") ;; *) echo "$f" ;; esac
	done | grep -q . && fail "a blob is not what its name says"
	return 0
}

# ---- what is fetched, and where it lies
code 0 "$ASSAY" fetch org/tiny --dry-run
has out '^org/tiny, commit [0-9a-f]{7} of main at http://127.0.0.1:[0-9]+: 4 of its 7 files, 293.0 KiB$'
has out ' 293.0 KiB  model.safetensors$'
has out '^to fetch: 293.0 KiB; .* free under '
lacks out 'tf_model'
[ -e "$HF_HUB_CACHE" ] && fail "--dry-run wrote something"
code 0 "$ASSAY" fetch org/tiny
has out '^fetched 293.0 KiB in '
has err 'model.safetensors: 293.0 KiB, sha256$'
[ "$(tail -1 "$work/out")" = "$(snapshot org/tiny)" ] || fail "the last line is not the snapshot"
[ "$(files_of org/tiny)" = "config.json merges.txt model.safetensors tokenizer.json " ] || fail "files: $(files_of org/tiny)"
same org/tiny config.json merges.txt model.safetensors tokenizer.json
sha=$(sha256sum <"$repos/org/tiny/model.safetensors" | cut -d' ' -f1)
[ "$(readlink "$(snapshot org/tiny)/model.safetensors")" = "../../blobs/$sha" ] || fail "the link: $(readlink "$(snapshot org/tiny)/model.safetensors")"
[ "$(cat "$HF_HUB_CACHE/models--org--tiny/refs/main")" = "$(basename "$(snapshot org/tiny)")" ] || fail "refs/main"
[ -e "$HF_HUB_CACHE/.locks/models--org--tiny/$sha.lock" ] || fail "no lock file"
[ -e "$HF_HUB_CACHE/models--org--tiny/.no_exist/$(cat "$HF_HUB_CACHE/models--org--tiny/refs/main")/generation_config.json" ] || fail "no .no_exist"
no_blob_is_wrong

# Again: one question, no bytes.
control
code 0 "$ASSAY" fetch org/tiny --json
json 'd["fetched_bytes"] == 0 and d["here_bytes"] == d["total_bytes"] and all(f["state"] == "here" for f in d["files"])'
json 'd["revision"] == "main" and len(d["commit"]) == 40 and d["path"].endswith(d["commit"]) and d["listed_files"] == 7 and not d["dry_run"]'
[ "$(wc -l <"$work/log")" = 1 ] || fail "more than one request: $(cat "$work/log")"
# A revision of the same commit costs its ref alone; a commit costs nothing.
code 0 "$ASSAY" fetch org/tiny@refs/pr/1
grep -q '^hub GET /api/models/org/tiny/revision/refs%2Fpr%2F1?' "$work/log" || fail "the revision was not quoted"
[ -e "$HF_HUB_CACHE/models--org--tiny/refs/refs/pr/1" ] || fail "no ref for refs/pr/1"
code 0 "$ASSAY" fetch "org/tiny@$(cat "$HF_HUB_CACHE/models--org--tiny/refs/main")"
[ "$(find "$HF_HUB_CACHE/models--org--tiny/refs" -type f | wc -l)" = 2 ] || fail "a commit got a ref"

# Shards by their index, and nothing else of weights; an old checkpoint; everything; by pattern.
code 0 "$ASSAY" fetch org/shards
[ "$(files_of org/shards)" = "config.json merges.txt model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json tokenizer.json " ] ||
	fail "shards: $(files_of org/shards)"
code 0 "$ASSAY" fetch org/old
[ "$(files_of org/old)" = "config.json merges.txt pytorch_model.bin tokenizer.json " ] || fail "old: $(files_of org/old)"
code 0 "$ASSAY" fetch org/odd --all
same org/odd README.md onnx/model.onnx tf_model.h5 "a b/c#1%.txt"
[ "$(readlink "$(snapshot org/odd)/onnx/model.onnx")" = "../../../blobs/$(cd "$repos/org/odd" && git hash-object onnx/model.onnx 2>/dev/null ||
	{ printf 'blob 2\0x\n' | sha1sum | cut -d' ' -f1; })" ] || fail "the link of a file in a folder"
clear_cache
code 0 "$ASSAY" fetch org/odd --include '*.md,onnx/*'
[ "$(files_of org/odd)" = "README.md onnx/model.onnx " ] || fail "--include: $(files_of org/odd)"
code 1 "$ASSAY" fetch org/odd --include '*.gguf'
has err 'org/odd: none of its 8 files is called like that'
code 1 "$ASSAY" fetch org/none
has err '^assay: org/none: it has neither model.safetensors nor pytorch_model.bin.*\(but .*tf_model.h5\)'
code 1 "$ASSAY" fetch org/noconfig
has err 'no config.json'
code 1 "$ASSAY" fetch org/tiny --all --include x
has err 'do not go together'

# ---- refusals, each with what to do
clear_cache
code 1 "$ASSAY" fetch org/absent
has err '^assay: org/absent: http://127.0.0.1:[0-9]+ has no such model, or it is private; for a private one set HF_TOKEN$'
code 1 "$ASSAY" fetch org/tiny@v9
has err 'has no revision "v9"'
code 1 "$ASSAY" fetch private/m
has err 'set HF_TOKEN'
HF_TOKEN=hf_good code 0 "$ASSAY" fetch private/m
code 1 "$ASSAY" fetch gated/m
has err '^assay: gated/m: is gated: agree to its conditions at http://127.0.0.1:[0-9]+/gated/m, then set HF_TOKEN'
HF_TOKEN=hf_stranger code 1 "$ASSAY" fetch gated/m
has err 'no access to it yet: ask for it at'
HF_TOKEN=hf_old code 1 "$ASSAY" fetch org/tiny
has err 'refuses the token \(Invalid credentials.*out of date'
HF_TOKEN=$'hf\nX-Evil: 1' code 1 "$ASSAY" fetch org/tiny
has err 'HF_TOKEN: the token in it has a character that no token has'
for bad in /abs ../x a/b/c org/.hidden 'org/a b' org/tiny@../x; do
	code 1 "$ASSAY" fetch "$bad"
	has err 'cannot be the name of a model'
done
mkdir -p "$work/here/folder" && echo '{}' >"$work/here/folder/config.json"
code 1 "$ASSAY" fetch "$work/here/folder"
has err 'is here: a file or folder'
HF_ENDPOINT=ftp://x code 1 "$ASSAY" fetch org/tiny
has err 'HF_ENDPOINT is "ftp://x"'
HF_HUB_OFFLINE=1 code 1 "$ASSAY" fetch org/tiny
HF_HUB_OFFLINE=1 code 0 "$ASSAY" fetch private/m
has out 'in the cache; offline'
code 0 "$ASSAY" fetch private/m --offline --json
json 'd["offline"] and d["path"].startswith("/")'

# ---- the token goes to the Hub and to nobody else
clear_cache
control
mkdir -p "$HF_HOME" && printf 'hf_good\n' >"$HF_HOME/token"
code 0 "$ASSAY" fetch gated/m
grep -q '^hub GET .*authorization=Bearer_hf_good' "$work/log" || fail "the token of the file was not used"
grep -q '^cdn GET ' "$work/log" || fail "nothing came from the other host"
grep '^cdn ' "$work/log" | grep -q 'authorization=Bearer' && fail "the token went to another host"
grep '^hub ' "$work/log" | grep -q 'authorization=-' && fail "the Hub was asked without the token"
rm -r "$HF_HOME"
printf hf_good >"$work/token"
clear_cache
HF_TOKEN_PATH=$work/token code 0 "$ASSAY" fetch private/m
clear_cache

# ---- a connection that is cut, resumed; without ranges, from the start
control '{"cut": {"model.safetensors": [100000, 50000, 1]}}'
code 0 "$ASSAY" fetch org/tiny
has err 'trying again in 1 s'
same org/tiny model.safetensors
[ "$(grep '^cdn GET' "$work/log" | sed 's/.*range=//; s/ .*//' | tr '\n' ' ')" = "- bytes=100000- bytes=150000- bytes=150001- " ] ||
	fail "ranges: $(grep '^cdn' "$work/log")"
clear_cache
control '{"cut": {"model.safetensors": [100000]}, "no_ranges": true}'
code 0 "$ASSAY" fetch org/tiny
same org/tiny model.safetensors
clear_cache
control '{"chunked": true, "cdn_direct": true, "bare": true}'
code 0 "$ASSAY" fetch org/tiny
same org/tiny model.safetensors config.json merges.txt
no_blob_is_wrong

# Stopped in the middle: what came stays, and the next time asks for the rest only.
clear_cache
control '{"hold": {"model.safetensors": 30}}'
"$ASSAY" fetch org/big >"$work/out" 2>"$work/err" &
child=$!
for _ in $(seq 400); do
	[ "$(find "$HF_HUB_CACHE" -name '*.incomplete' -size +2999999c 2>/dev/null | wc -l)" = 1 ] && break
	sleep 0.05
done
kill -INT $child
wait $child
[ $? = 2 ] || fail "a stopped fetch does not end with 2: $(cat "$work/err")"
has err 'stopped; what has come is kept'
[ "$(incomplete)" = 1 ] || fail "nothing was kept"
[ -e "$HF_HUB_CACHE/models--org--big/refs/main" ] && fail "a half snapshot has a ref"
control
code 0 "$ASSAY" fetch org/big --json
json 'd["fetched_bytes"] == 3000000 and [f for f in d["files"] if f["name"] == "model.safetensors"][0]["checked"] == "sha256"'
grep -q '^cdn GET .*range=bytes=3000000- status=206' "$work/log" || fail "not resumed: $(cat "$work/log")"
same org/big model.safetensors
[ "$(incomplete)" = 0 ] || fail "something .incomplete is left"
# Killed: the same.
clear_cache
control '{"hold": {"model.safetensors": 30}}'
"$ASSAY" fetch org/big >"$work/out" 2>"$work/err" &
child=$!
for _ in $(seq 400); do
	[ "$(find "$HF_HUB_CACHE" -name '*.incomplete' -size +2900000c 2>/dev/null | wc -l)" = 1 ] && break
	sleep 0.05
done
kill -KILL $child
wait $child 2>/dev/null
control
code 0 "$ASSAY" fetch org/big
grep -q 'range=bytes=3000000-' "$work/log" || fail "not resumed after kill -9"
same org/big model.safetensors
# What lies there is not the start of it: noticed, and fetched from the beginning. More than all of it: too.
blob=$(readlink -f "$(snapshot org/big)/model.safetensors")
for bytes in 1000 6000000 6000001; do
	clear_cache
	mkdir -p "$(dirname "$blob")" && head -c $bytes /dev/zero >"$blob.incomplete"
	code 0 "$ASSAY" fetch org/big
	same org/big model.safetensors
	no_blob_is_wrong
done
# A blob cut short by somebody else is not taken for whole.
truncate -s 1000 "$blob"
code 0 "$ASSAY" fetch org/big
same org/big model.safetensors

# ---- busy, broken and lying servers
clear_cache
control '{"status": [{"match": "/api/", "code": 429, "headers": {"Retry-After": "1"}, "times": 2}, {"match": "config.json", "code": 503, "times": 1}]}'
code 0 "$ASSAY" fetch org/tiny
has err '429 \(too many requests\); trying again in 1 s'
has err 'answers 503; trying again in 1 s'
control '{"status": [{"match": "/api/", "code": 429, "headers": {"Retry-After": "4000"}, "times": 1}]}'
code 1 "$ASSAY" fetch org/tiny
has err 'asks to be left alone for 4000 s'
control '{"status": [{"match": "/api/", "code": 429, "headers": {"RateLimit": "\"api\";r=0;t=3000"}, "times": 1}]}'
code 1 "$ASSAY" fetch org/tiny
has err 'asks to be left alone for 3000 s'
# A 503 without a word on how long, again and again: five tries with growing pauses would take 15 s; a stop ends them at once.
control '{"status": [{"match": "/api/", "code": 503, "times": 99}]}'
: >"$work/err" # nothing of before is taken for its words
"$ASSAY" fetch org/tiny >"$work/out" 2>"$work/err" &
child=$!
for _ in $(seq 400); do grep -q 'trying again' "$work/err" && break; sleep 0.05; done
kill -INT $child
wait $child
[ $? = 2 ] || fail "a pause is not stopped: $(cat "$work/err")"
control '{"status": [{"match": "/api/", "code": 404, "headers": {}, "times": 1}]}'
code 1 "$ASSAY" fetch org/tiny
control '{"status": [{"match": "/api/", "code": 418, "headers": {"X-Error-Message": "a teapot\u001b[31m"}, "times": 1}]}'
code 1 "$ASSAY" fetch org/tiny
has err 'answers 418: a teapot'
grep -q $'\033' "$work/err" && fail "a control character of the server reached the terminal"
clear_cache
control '{"corrupt": {"model.safetensors": 1}}'
code 1 "$ASSAY" fetch org/tiny
has err 'org/tiny: model.safetensors: SHA-256 of what came is [0-9a-f]{64}, and the Hub says [0-9a-f]{64}; what came is thrown away'
[ "$(incomplete)" = 0 ] || fail "wrong bytes were kept to be resumed"
[ -e "$(snapshot org/tiny)/model.safetensors" ] && fail "a wrong file was linked"
no_blob_is_wrong
clear_cache
control '{"corrupt": {"config.json": 1}}'
code 1 "$ASSAY" fetch org/tiny
has err "config.json: git's SHA-1 of what came is"
clear_cache
for n in 299999 300001; do
	control '{"size": {"model.safetensors": '$n'}}'
	code 1 "$ASSAY" fetch org/tiny
	has err "model.safetensors: the Hub lists $n bytes, and its server says 300000"
done
control '{"size": {"config.json": 5}, "etag": "none"}'
code 1 "$ASSAY" fetch org/tiny
has err 'config.json: the Hub lists 5 bytes'
clear_cache
control '{"size": {"model.safetensors": 9000000000000000000}}'
code 1 "$ASSAY" fetch org/tiny
has err 'are to be fetched, and .* are free'
[ -e "$(snapshot org/tiny)/config.json" ] && fail "something was fetched though the disk cannot hold it all"
control '{"commit": "0000000000000000000000000000000000000000"}'
code 1 "$ASSAY" fetch org/tiny
has err 'answers with commit 0000'

# ---- ETags of all kinds
for etag in weak plain; do
	clear_cache
	control '{"etag": "'$etag'", "cdn_direct": true}'
	code 0 "$ASSAY" fetch org/tiny
	same org/tiny config.json model.safetensors
	no_blob_is_wrong
done
clear_cache
control '{"etag": "odd", "cdn_direct": true}'
code 1 "$ASSAY" fetch org/tiny
has err 'an odd ETag, which cannot name it in the cache'
[ -e "$HF_HUB_CACHE/x" ] || [ -e "$HF_HUB_CACHE/../x" ] && fail "the ETag was taken for a path"
# A server without hashes: the size is all there is to check, and that is said.
control '{"etag": "other", "cdn_direct": true, "bare": true}'
code 0 "$ASSAY" fetch org/tiny --json
json 'all(f["checked"] == "size" and not f["sha256"] and not f["git_sha1"] for f in d["files"])'
same org/tiny config.json model.safetensors
clear_cache
control '{"etag": "none", "cdn_direct": true, "bare": true}'
code 1 "$ASSAY" fetch org/tiny
has err 'no ETag'

# ---- hostile lists and redirects
clear_cache
before=$(cd "$work" && find . -path ./hub -prune -o -type f -print | sort | md5sum)
for extra in ../../../../evil /etc/evil a/../../evil a//b ./x a/. '..' 'x\u0001' 'a\\\\b'; do
	control '{"extra": ["'$extra'"]}'
	code 1 "$ASSAY" fetch org/tiny --all
	has err 'which could lie outside of the model.s folder: nothing is fetched'
	[ "$(wc -l <"$work/err")" = 1 ] || fail "more than a line"
done
[ -e "$HF_HUB_CACHE" ] && fail "a hostile list made something be written"
[ "$before" = "$(cd "$work" && find . -path ./hub -prune -o -type f -print | sort | md5sum)" ] || fail "a file appeared"
for list in '' '[]' '{}' 'null' '{"sha": "x"}' '{"sha": "../../../../../x", "siblings": []}' '<html>' '{"sha": 1, "siblings": [' ; do
	control "$(python3 -c 'import json, sys; print(json.dumps({"list": sys.argv[1]}))' "$list")"
	code 1 "$ASSAY" fetch org/tiny
	has err 'the list of files'
done
control '{"extra": ["config.json"]}'
code 1 "$ASSAY" fetch org/tiny
has err 'config.json is listed twice'
control '{"downgrade": "file:///etc/passwd"}'
code 1 "$ASSAY" fetch org/tiny
has err 'neither http nor https'
control '{"downgrade": "http://127.0.0.1:'$hub_port'/org/tiny/resolve/main/model.safetensors"}'
code 1 "$ASSAY" fetch org/tiny
has err 'redirects more than'
control '{"rename": {"old/name": "org/tiny"}}'
clear_cache
code 0 "$ASSAY" fetch old/name
cmp -s "$repos/org/tiny/model.safetensors" "$(snapshot old/name)/model.safetensors" || fail "a renamed model"

# ---- two at once: one fetches, the other waits, both have it
clear_cache
control '{"hold": {"model.safetensors": 2}}'
"$ASSAY" fetch org/big >"$work/out1" 2>"$work/err1" &
first=$!
code 0 "$ASSAY" fetch org/big
wait $first || fail "the first of two failed: $(cat "$work/err1")"
[ "$(grep -c '^cdn GET' "$work/log")" = 1 ] || fail "fetched twice: $(grep '^cdn' "$work/log")"
cat "$work/err" "$work/err1" | grep -q 'another download of it runs; waiting' || fail "nobody said that it waited"
same org/big model.safetensors
# The lock is flock on the lock file, as Python's filelock takes it.
clear_cache
control
lock=$HF_HUB_CACHE/.locks/models--org--tiny/$sha.lock
mkdir -p "$(dirname "$lock")"
python3 - "$lock" "$work/locked" <<'PY' &
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o664)
fcntl.flock(fd, fcntl.LOCK_EX)
open(sys.argv[2], "w").close()
time.sleep(3)
PY
holder=$!
for _ in $(seq 200); do [ -e "$work/locked" ] && break; sleep 0.05; done
code 1 env ASSAY_FETCH_TIMEOUT=1 "$ASSAY" fetch org/tiny
has err 'model.safetensors: another process has had .*\.lock locked for 1 s'
code 0 "$ASSAY" fetch org/tiny
has err 'model.safetensors: another download of it runs'
wait $holder

# ---- no Hub at all
clear_cache
kill $server
wait $server 2>/dev/null
code 1 "$ASSAY" fetch org/tiny
has err '^assay: org/tiny: http://127.0.0.1:[0-9]+: .*onnect'
finish
