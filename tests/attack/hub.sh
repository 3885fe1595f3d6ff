# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A Hub that means ill, lines to it that do, and what they bring: slow bytes, other bytes, other certificates, a disk that fails, names that
# differ in capital letters, zip files that are not what they say.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/hub/lib.sh"
shim()
{
	LD_PRELOAD=$BUILD/tests/attack_shim.so ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 "$@"
}
model()
{
	mkdir -p "$repos/$1"
	echo '{"model_type": "bert"}' >"$repos/$1/config.json"
	head -c 300000 /dev/urandom >"$repos/$1/model.safetensors"
}
for m in org/slow org/drops org/text org/other org/tls org/case; do model $m; done
# What was refused before anything was written has made no cache.
partial() { if [ -d "$HF_HUB_CACHE" ]; then find "$HF_HUB_CACHE" -name '*.incomplete' -size +"${1:-0}"c | wc -l; else echo 0; fi; }
is_whole() { cmp -s "$repos/$1/model.safetensors" "$(snapshot "$1")/model.safetensors" || fail "$1 is not what the server has"; }

# ---- slow: bytes that come one by one are given up, and what has come is not lost. That takes its time: it runs beside all that follows, of a
# server and in a cache of its own, and is looked at in the end.

server_log=$work/slow.log
start_server
server_log=
slow_server=$server slow_endpoint=$HF_ENDPOINT
head -c 3000 /dev/urandom >"$repos/org/drops/README.md"
control '{"drip": {"model.safetensors": 200000, "config.json": 0}, "cut": {"README.md": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}'
pids=
for f in slow:model.safetensors text:config.json drops:README.md; do
	HF_HUB_CACHE=$work/slow HF_HUB_DOWNLOAD_TIMEOUT=1 timeout 100 "$ASSAY" fetch "org/${f%:*}" --include "${f#*:}" >"$work/${f%:*}.out" 2>"$work/${f%:*}.err" &
	pids="$pids $!"
done
# Headers, interim answers, the list, the page of a redirect, redirects of which each comes in time, the headers of a file.
python3 "$SOURCE/tests/attack/drip.py" >"$work/drip.port" 2>"$work/drip.err" &
drip_server=$!
for _ in $(seq 200); do [ -s "$work/drip.port" ] && break; sleep 0.05; done
drip()
{
	HF_ENDPOINT=http://127.0.0.1:$(cat "$work/drip.port") HF_HUB_CACHE=$work/drip timeout 100 "$ASSAY" fetch "$@" >"$work/${1#*/}.out" 2>"$work/${1#*/}.err"
}
for f in headers hints list page hops file; do
	HF_HUB_DOWNLOAD_TIMEOUT=1 drip org/$f &
	pids="$pids $!"
done
# Each request is within its time, and all together are not: bytes, and waiting to be asked again. More files than a model has.
ASSAY_FETCH_TIMEOUT=2 drip org/list.together &
pids="$pids $!"
ASSAY_FETCH_TIMEOUT=2 drip org/busy &
pids="$pids $!"
drip org/many --all &
pids="$pids $!"
rm "$work/ports"
start_server
trap 'kill $server $slow_server $drip_server 2>/dev/null; rm -rf "$work"' EXIT

# ---- a 206 with another part of the file: told, or not; nothing of it is taken for the file

for how in told untold; do
	clear_cache
	control '{"cut": {"model.safetensors": [100000]}, "other_part": {"model.safetensors": "'$how'"}}'
	code 1 "$ASSAY" fetch org/other
	[ -e "$(snapshot org/other)/model.safetensors" ] && fail "$how: another part was taken for the file"
	[ "$how" = untold ] || has err 'byte 100000 was asked for, and the server answers with another part'
	[ "$how" = told ] || has err 'SHA-256 of what came is .*; what came is thrown away'
	control
	code 0 "$ASSAY" fetch org/other
	is_whole org/other
done

# The rest is of another version than the part that came, or of nobody knows which, and no hash says so: it is fetched from its beginning.
for etag in moves weak; do
	clear_cache
	control '{"cut": {"config.json": [5]}, "etag": "'$etag'", "bare": true}'
	code 0 "$ASSAY" fetch org/text --include config.json
	cmp -s "$repos/org/text/config.json" "$(snapshot org/text)/config.json" || fail "two versions were joined"
	[ "$(grep -c 'GET .*range=bytes' "$work/log")" = 1 ] && [ "$(grep 'GET .*/resolve/' "$work/log" | tail -1 | grep -c 'range=bytes')" = 0 ] ||
		fail "$etag: the rest of another version was taken: $(cat "$work/log")"
done
# A password in the endpoint is not told.
HF_ENDPOINT=${HF_ENDPOINT/:\/\//://user:secretpw@} code 1 "$ASSAY" fetch org/text --include config.json
has err "no such model, or it is private"
lacks err secretpw

# ---- ETags: one for two files of the same size, which was taken for the second's bytes; one that is the name of another's unfinished ones,
# where those of a file that had been checked were written over

head -c 300000 /dev/urandom >"$repos/org/other/second.safetensors"
clear_cache
control '{"etag": "same", "cdn_direct": true}'
code 0 "$ASSAY" fetch org/other --all
is_whole org/other
cmp -s "$repos/org/other/second.safetensors" "$(snapshot org/other)/second.safetensors" || fail "the bytes of one file under the name of another"
clear_cache
control '{"etag": "same", "bare": true, "cdn_direct": true}' # nothing tells of hashes: one was the other
code 0 "$ASSAY" fetch org/other --include config.json --include model.safetensors
is_whole org/other
cmp -s "$repos/org/other/config.json" "$(snapshot org/other)/config.json" || fail "the bytes of one file under the name of another, without hashes"
clear_cache
control '{"etag": "partial", "cdn_direct": true}'
code 1 "$ASSAY" fetch org/other
has err 'an odd ETag, which cannot name it in the cache'
rm "$repos/org/other/second.safetensors"
control
# One that is the name of a blob that was checked, for another commit's file that nothing checks: an earlier commit's had other bytes then.
clear_cache
code 0 "$ASSAY" fetch org/text --include config.json
earlier=$(readlink -f "$(snapshot org/text)/config.json")
cp "$earlier" "$work/earlier" && echo ' ' >>"$repos/org/text/config.json"
control '{"etag": "='"$(basename "$earlier")"'", "bare": true}'
code 0 "$ASSAY" fetch org/text --include config.json
cmp -s "$work/earlier" "$earlier" || fail "a blob that was checked was written over"
of=$HF_HUB_CACHE/models--org--text
cmp -s "$repos/org/text/config.json" "$of/snapshots/$(cat "$of/refs/main")/config.json" || fail "the later commit has not its own file"
control

# ---- the cache: a file of the right size under the name of a hash is read before it is taken for that file, in the place of a blob and as
# a file of the snapshot; folders of it that are links are not written through

wrong() { head -c 300000 /dev/zero >"$work/zeros" && cp "$work/zeros" "$1"; }
clear_cache
control
code 0 "$ASSAY" fetch org/other
blob=$(readlink -f "$(snapshot org/other)/model.safetensors")
for planted in blob file; do
	[ $planted = file ] || rm "$(snapshot org/other)/model.safetensors"
	wrong "$blob"
	code 0 "$ASSAY" fetch org/other
	has err 'model.safetensors: what lies in the cache in its place has another hash'
	is_whole org/other
done
mkdir "$work/elsewhere"
for folder in models--org--other/blobs "models--org--other/snapshots/$(basename "$(snapshot org/other)")" .locks .locks/models--org--other; do
	clear_cache
	mkdir -p "$(dirname "$HF_HUB_CACHE/$folder")"
	ln -s "$work/elsewhere" "$HF_HUB_CACHE/$folder"
	code 1 "$ASSAY" fetch org/other
	has err "$folder is a link, and the Hub's cache has none there"
	[ -z "$(ls -A "$work/elsewhere")" ] || fail "$folder: written through a link"
done

# ---- without an end: the page of a refusal, of a redirect, a text whose size nobody lists, headers before the answer and behind it

cat >"$work/endless.py" <<'PY'
import http.server, json
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *a): pass
    def do_GET(self):
        listing = self.path.startswith("/api/")
        kind = next(k for k in ("404", "302", "text", "hints", "trailers", "line", "away", "403") if "org/" + k in self.path)
        if kind == "line":
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                while True:
                    self.wfile.write(b"y" * 100000)
            except OSError:
                self.close_connection = True
            return
        if kind in ("away", "403"):
            self.send_response(302 if kind == "away" else 403)
            self.send_header("Location", "http://localhost:%d/org/403" % s.server_port)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if kind in ("hints", "trailers"):
            line = b"X: " + b"y" * 1000 + b"\r\n"
            try:
                if kind == "trailers":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
                while True:
                    self.wfile.write(line * 1000 if kind == "trailers" else (b"HTTP/1.1 103 Early Hints\r\n" + line + b"\r\n") * 1000)
            except OSError:
                self.close_connection = True
            return
        body = json.dumps({"sha": "a" * 40, "siblings": [{"rfilename": "config.json"}, {"rfilename": "model.safetensors", "size": 1}]}).encode()
        ends = listing and kind == "text"
        self.send_response(200 if kind == "text" else int(kind))
        self.send_header("ETag", '"abc"')
        self.send_header("X-Repo-Commit", "a" * 40)
        if kind == "302":
            self.send_header("Location", self.path)
        self.send_header(*(("Content-Length", str(len(body))) if ends else ("Transfer-Encoding", "chunked")))
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            if ends:
                self.wfile.write(body)
            while not ends:
                self.wfile.write(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
        except OSError:
            self.close_connection = True
    do_HEAD = do_GET
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
print(s.server_port, flush=True)
s.serve_forever()
PY
python3 "$work/endless.py" >"$work/endless.port" 2>"$work/endless.err" &
endless=$!
trap 'kill $server $slow_server $drip_server $endless 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -s "$work/endless.port" ] && break; sleep 0.1; done
for kind in 404:'has no such model' 302:'answers 302' text:'size is not listed, and it has more than the 67108864 bytes' \
	hints:'more than 262144 bytes of headers' trailers:'more than 262144 bytes of headers' \
	line:'a line of headers that is too long, or without an end' \
	away:'redirects to http://localhost:[0-9]*, which answers 403: no reason given$'; do
	clear_cache
	(failures=0; ulimit -f 400000; HF_ENDPOINT=http://127.0.0.1:$(cat "$work/endless.port") code 1 timeout 20 "$ASSAY" fetch "org/${kind%%:*}"; exit $failures) ||
		fail "${kind%%:*}: an answer without an end"
	has err "${kind#*:}"
	[ "$(partial)" = 0 ] || fail "$kind: what was refused stays on the disk"
done
kill $endless

# ---- a name that is not found for a moment: in the middle of a download it is looked for again, and at its beginning it is told at once

clear_cache
control '{"downgrade": "http://hub.example:'"$cdn_port"'/org/other//model.safetensors"}'
echo >"$work/lost"
SHIM_RESOLVE=$work/lost code 0 shim "$ASSAY" fetch org/other
is_whole org/other
has err 'hub.example.*; trying again in 1 s'
echo >"$work/lost"
SHIM_RESOLVE=$work/lost HF_ENDPOINT=http://hub.example:$hub_port code 1 shim "$ASSAY" fetch org/other
lacks err 'trying again'
control

# ---- the disk fails: while what has come is read, while more is written, while a model is read

control '{"cut": {"model.safetensors": [100000, 100, 100, 100, 100]}}'
clear_cache
SHIM_EIO=.incomplete code 1 shim "$ASSAY" fetch org/other
has err 'incomplete: Input/output error'
# A file that has that name, too: it was written over.
part=$(find "$HF_HUB_CACHE" -name '*.incomplete')
echo mine >"$work/victim" && ln -f "$work/victim" "$part" || fail "no part of a file: $part"
control
code 0 "$ASSAY" fetch org/other
is_whole org/other
[ "$(cat "$work/victim")" = mine ] || fail "a file of several names was written over"
# What another user is bringing stays his: it was removed while he wrote, and all that he had was lost. When it is whole nobody needs it.
if [ "$(id -u)" = 0 ]; then
	blob=$(readlink -f "$(snapshot org/other)/model.safetensors")
	clear_cache
	mkdir -p "$(dirname "$blob")"
	head -c 100000 "$repos/org/other/model.safetensors" >"$blob.incomplete"
	chown 65534 "$blob.incomplete" && ln "$blob.incomplete" "$work/his"
	SHIM_EIO=.incomplete code 1 shim "$ASSAY" fetch org/other --include model.safetensors
	[ "$blob.incomplete" -ef "$work/his" ] || fail "the unfinished download of another user is gone"
	head -c 150000 "$repos/org/other/model.safetensors" >"$blob.0.incomplete"
	control
	code 0 "$ASSAY" fetch org/other
	is_whole org/other
	grep -q 'GET .*range=bytes=150000-' "$work/log" || fail "what had come was fetched again"
	[ "$(find "$HF_HUB_CACHE" -name '*.incomplete' | wc -l)" = 0 ] || fail "parts of what is whole stay"
else
	skip_part "only the super-user can give a file to another user"
fi
SHIM_EIO=config.json code 1 shim "$ASSAY" inspect "$repos/org/other"
has err 'config.json: Input/output error'
"$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert" >/dev/null || fail "synth"
SHIM_EIO=model.safetensors code 1 shim "$ASSAY" inspect "$work/bert"        # its pages, which a program sees as SIGBUS
has err '^assay: .*model.safetensors.*: a part of it cannot be read: its disk fails'
SHIM_EIO=/run/ code 2 shim "$ASSAY" run "$work/bert" --on null --runs 1 --no-conform --no-db --json
json 'd[0]["verdict"] == "not_asked" and d[0]["cause"].endswith("Input/output error")'

# ---- names that differ in capital letters: two files, or a sentence where they cannot be

echo '{"not": "this"}' >"$repos/org/case/CONFIG.json"
head -c 300000 /dev/zero >"$repos/org/case/Model.safetensors"
control
code 0 "$ASSAY" fetch org/case --all
is_whole org/case
cmp -s "$repos/org/case/CONFIG.json" "$(snapshot org/case)/CONFIG.json" || fail "CONFIG.json"
clear_cache
SHIM_FOLD=/snapshots/ code 1 shim "$ASSAY" fetch org/case --all
has err 'are one file here: this file system does not tell capital letters from small ones'
find "$HF_HUB_CACHE" -name main | grep -q . && fail "a snapshot with another file in the place of one counts"

# ---- zip files

case_of=$SOURCE/tests/conform/cases/bert
python3 "$SOURCE/tests/cli/torch_file.py" "$case_of" "$work/torch" zip || fail "no pytorch_model.bin"
cp "$work/torch/pytorch_model.bin" "$work/whole.bin"
mkdir "$work/zips"
python3 "$SOURCE/tests/attack/zip_file.py" "$work/whole.bin" "$work/zips" zip64 case far long cut many over same inside name folder || fail "no files"
zipped() { cp "$work/zips/$1" "$work/torch/pytorch_model.bin"; }
zipped zip64
code 0 "$ASSAY" inspect "$work/torch"
code 0 "$ASSAY" run "$work/torch" --on null --runs 1 --no-conform --no-db
while read -r how words; do
	zipped "$how"
	code 1 "$ASSAY" inspect "$work/torch"
	has err "$words"
done <<'END'
case is in it twice but for capital letters
far is not where the table of contents says
long bytes do not fit into the file
cut its entry .zip64. is damaged
many table of contents .1099511627776 entries .* does not fit into the file
over lie in the same bytes
same lie in the same bytes|another name where it lies
inside lie in the same bytes
folder is a folder with contents
name has another name where it lies than in the table of contents
END

# ---- the slow ones, when all has been tried that needs no word from their server

slow_ones()
{
	for pid in $pids; do
		wait "$pid"
		got=$?
		[ $got = 1 ] || fail "exit code $got of a download that comes to no end"
	done
	for f in slow text; do
		grep -q 'less than 1024 bytes a second for 1 s; tried 2 times' "$work/$f.err" || fail "$f: $(cat "$work/$f.err")"
	done
	for f in headers hints list page file; do
		grep -Eq '(less than 1024 bytes a second for 1 s|Less than 1024 bytes/sec transferred the last 1 seconds); tried [25] times' "$work/$f.err" ||
			fail "$f: $(cat "$work/$f.err")"
	done
	grep -q 'nothing but redirects for 1 s; tried 2 times' "$work/hops.err" || fail "hops: $(cat "$work/hops.err")"
	for f in list.together busy; do
		grep -q '^assay: .*127.0.0.1:[0-9]* takes too long: all requests for a model may take 2 s together' "$work/$f.err" || fail "$f: $(cat "$work/$f.err")"
	done
	grep -q 'answers 503: 127' "$work/busy.err" || fail "busy: $(cat "$work/busy.err")"
	grep -q '10001 of its files are wanted, and at most 10000 of a model are fetched' "$work/many.err" || fail "many: $(cat "$work/many.err")"
	grep -q 'what has come is kept and the rest is fetched the next time' "$work/slow.err" || fail "slow: $(cat "$work/slow.err")"
	grep -q 'tried 5 times' "$work/drops.err" || fail "drops: $(cat "$work/drops.err")"
	local HF_HUB_CACHE=$work/slow HF_ENDPOINT=$slow_endpoint
	[ "$(partial 199999)" = 1 ] || fail "what had come is lost"
	control
	: >"$work/slow.log"
	code 0 "$ASSAY" fetch org/slow
	is_whole org/slow
	grep -q '^cdn GET .*range=bytes=2000[0-9][0-9]- ' "$work/slow.log" || fail "what had come was fetched again: $(cat "$work/slow.log")"
}

# ---- TLS: certificates that are too old, of another name, of nobody; what is no TLS; a connection that is cut within it

command -v openssl >/dev/null || { skip_part "openssl is not there to make certificates"; slow_ones; finish; }
make_certificate()
{
	local name=$1 san=$2 end=$3
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=127.0.0.1" -keyout "$work/$name.key" -out "$work/$name.csr" 2>/dev/null &&
		: >"$work/index" && echo 01 >"$work/serial" &&
		printf '[ca]\ndefault_ca = a\n[a]\ndatabase = %s\nserial = %s\nnew_certs_dir = %s\ndefault_md = sha256\npolicy = p\nx509_extensions = e\n[p]\ncommonName = supplied\n[e]\nsubjectAltName = %s\nbasicConstraints = critical,CA:TRUE\n' \
			"$work/index" "$work/serial" "$work" "$san" >"$work/ca.conf" &&
		openssl ca -batch -config "$work/ca.conf" -selfsign -keyfile "$work/$name.key" -in "$work/$name.csr" -out "$work/$name.pem" -notext \
			-startdate 20200101000000Z -enddate "$end" 2>/dev/null && cat "$work/$name.key" "$work/$name.pem" >"$work/$name.both"
}
make_certificate old IP:127.0.0.1 20200102000000Z && make_certificate other DNS:other.example 20991231000000Z &&
	make_certificate good IP:127.0.0.1 20991231000000Z || { skip_part "this openssl makes no such certificates"; slow_ones; finish; }
plain_port=$hub_port
tls()                                    # of that certificate, which is trusted
{
	kill $server; wait $server 2>/dev/null
	rm -f "$work/ports"
	: >"$work/log"
	start_server "$work/$1.both"
	trap 'kill $server $slow_server $drip_server 2>/dev/null; rm -rf "$work"' EXIT
	export HF_ENDPOINT=https://127.0.0.1:$hub_port SSL_CERT_FILE=$work/$1.pem
}
HF_ENDPOINT=https://127.0.0.1:$plain_port code 1 "$ASSAY" fetch org/tls
lacks err 'tried'
for name in old other; do
	tls $name
	code 1 "$ASSAY" fetch org/tls
	has err '^assay: org/tls: https://127.0.0.1:[0-9]+: .*certificate|^assay: org/tls: https://127.0.0.1:[0-9]+: .*SSL: no alternative'
	lacks err 'tried'
	[ -s "$work/log" ] && fail "$name: something was asked for behind a certificate that does not hold"
done
tls good
clear_cache
mkfifo "$work/certificates"
SSL_CERT_FILE=$work/certificates code 1 timeout 20 "$ASSAY" fetch org/tls
has err 'SSL_CERT_FILE names .*/certificates, which is no file of certificates'
# Of nobody: asked directly, and where a file is redirected to it.
(unset SSL_CERT_FILE; failures=0; code 1 "$ASSAY" fetch org/tls; exit $failures) || fail "a certificate of nobody"
has err '^assay: org/tls: https://127.0.0.1:[0-9]+: .*certificate.*SSL_CERT_FILE names a file with others to trust'
[ -s "$work/log" ] && fail "something was asked for behind a certificate of nobody: $(cat "$work/log")"
clear_cache
python3 - "$HF_ENDPOINT" <<'PY' || fail "the server does not take a control"
import json, ssl, sys, urllib.parse, urllib.request
c = ssl._create_unverified_context()
urllib.request.urlopen(sys.argv[1] + "/control?" + urllib.parse.quote(json.dumps({"cdn_direct": True, "cut": {"model.safetensors": [100000]}})), context=c).read()
PY
code 0 "$ASSAY" fetch org/tls
is_whole org/tls
grep -q 'GET .*range=bytes=100000- ' "$work/log" || fail "a connection that was cut within TLS was not taken up"

# A server that has no TLS newer than 1.1, and a system that would take it.
python3 -W ignore - "$work/good.both" >"$work/old.log" 2>&1 <<'PY' &
import socket, ssl, sys
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain(sys.argv[1])
c.set_ciphers("DEFAULT@SECLEVEL=0")
c.minimum_version, c.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
    try:
        k = c.wrap_socket(s.accept()[0], server_side=True)
        print("spoken:", k.version(), k.recv(100), flush=True)
        k.close()
    except OSError as e:
        print(e, flush=True)
PY
old=$!
trap 'kill $server $slow_server $drip_server $old 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -s "$work/old.log" ] && break; sleep 0.1; done
printf 'openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMinProtocol = TLSv1\nCipherString = DEFAULT@SECLEVEL=0\n' >"$work/weak.conf"
OPENSSL_CONF=$work/weak.conf HF_ENDPOINT=https://127.0.0.1:$(head -1 "$work/old.log") code 1 timeout 60 "$ASSAY" fetch org/tls
has err '^assay: org/tls: https://127.0.0.1:[0-9]+: '
lacks err 'tried'
[ "$(wc -l <"$work/old.log")" -gt 1 ] || fail "the server without newer TLS was not asked"
grep -q '^spoken' "$work/old.log" && fail "TLS 1.1 is spoken: $(cat "$work/old.log")"

# A redirect to a certificate of nobody, by the server of the slow ones.
slow_ones
clear_cache
(
	failures=0 tls_endpoint=$HF_ENDPOINT HF_ENDPOINT=$slow_endpoint
	unset SSL_CERT_FILE
	control '{"downgrade": "'"$tls_endpoint"'/org/tls/resolve/main/model.safetensors"}'
	code 1 "$ASSAY" fetch org/tls
	has err 'https://127.0.0.1:[0-9]+: .*certificate.*SSL_CERT_FILE'
	[ "$(partial)" = 0 ] || fail "bytes from behind a certificate of nobody"
	control
	exit $failures
) || fail "a redirect to a certificate of nobody"
finish
