# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# assay fetch over https: a certificate that nobody vouches for, one that a file vouches for, a way from https to http, and proxies.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/hub/lib.sh"
command -v openssl >/dev/null || { echo "skip: openssl is not there to make a certificate"; exit 77; }

mkdir -p "$repos/org/m"
echo '{}' >"$repos/org/m/config.json"
head -c 1000 /dev/urandom >"$repos/org/m/model.safetensors"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$work/key" -out "$work/certificate" 2>/dev/null || { echo "skip: this openssl makes no certificate"; exit 77; }
cat "$work/key" "$work/certificate" >"$work/both"
start_server "$work/both"
export HF_ENDPOINT=https://127.0.0.1:$hub_port

code 1 "$ASSAY" fetch org/m
has err '^assay: org/m: https://127.0.0.1:[0-9]+: .*certificate.*SSL_CERT_FILE'
[ -s "$work/log" ] && fail "something was asked for behind a certificate that nobody vouches for"
SSL_CERT_FILE=$work/none code 1 "$ASSAY" fetch org/m
SSL_CERT_FILE=$work/certificate code 0 "$ASSAY" fetch org/m --include config.json
cmp -s "$repos/org/m/config.json" "$(snapshot org/m)/config.json" || fail "config.json did not come over https"

# Large files are sent to the other port, which is plain http.
SSL_CERT_FILE=$work/certificate HF_TOKEN=hf_good code 1 "$ASSAY" fetch org/m
has err 'redirects from https to http \(http://127.0.0.1:[0-9]+\), which is not followed'
grep -q '^cdn ' "$work/log" && fail "the http host was asked"

# Proxies: one that refuses without an end, which runs beside the rest, one that tunnels, and one that is spoken to by TLS.
cat >"$work/proxy.py" <<'PY'
import socket, ssl, sys, threading

def pass_on(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    b.close()

def tunnel(peer):
    host, port = peer.recv(5000).split()[1].rsplit(b":", 1)
    there = socket.create_connection((host.decode(), int(port)))
    peer.sendall(b"HTTP/1.1 200 yes\r\n\r\n")
    threading.Thread(target=pass_on, args=(peer, there), daemon=True).start()
    pass_on(there, peer)

def refuse(peer):
    peer.recv(5000)
    peer.sendall(b'HTTP/1.1 407 no\r\nProxy-Authenticate: Basic realm="a"\r\nContent-Length: 100000000000\r\n\r\n')
    while True:
        peer.sendall(bytes(16000))

def answer(how, peer, tls):
    try:
        how(context.wrap_socket(peer, server_side=True) if tls else peer)
    except OSError:
        pass
    peer.close()

def serve(server, how, tls):
    while True:
        threading.Thread(target=answer, args=(how, server.accept()[0], tls), daemon=True).start()

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
for server, how, tls in zip(servers, (refuse, tunnel, tunnel), (False, False, True)):
    threading.Thread(target=serve, args=(server, how, tls), daemon=True).start()
print(*(s.getsockname()[1] for s in servers), flush=True)
threading.Event().wait()
PY
python3 "$work/proxy.py" "$work/both" >"$work/proxy.ports" &
proxies=$!
trap 'kill "$server" "$proxies" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -s "$work/proxy.ports" ] && break; sleep 0.05; done
read -r refusing tunnel tls_tunnel <"$work/proxy.ports"
https_proxy=http://127.0.0.1:$refusing HF_ENDPOINT=https://hub.example HF_HUB_CACHE=$work/refused HF_HUB_DOWNLOAD_TIMEOUT=1 timeout 30 "$ASSAY" fetch org/m \
	2>"$work/refused.err" >&2 &
refused=$!
by() { https_proxy=$1 no_proxy='' NO_PROXY='' "$ASSAY" fetch org/m --include config.json; }
clear_cache
code 1 by http://127.0.0.1:$tunnel
has err '^assay: org/m: https://127.0.0.1:[0-9]+: .*certificate.*SSL_CERT_FILE names a file with others to trust$'
code 1 by https://me:secret@127.0.0.1:$tls_tunnel
lacks err secret
has err "^assay: org/m: the proxy https://127.0.0.1:$tls_tunnel \(https_proxy\): .*certificate.*SSL_CERT_FILE names a file with others to trust\$"
# The variable that counts is the one that is named.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout "$work/other.key" -out "$work/other" 2>/dev/null
CURL_CA_BUNDLE=$work/other SSL_CERT_FILE=$work/certificate code 1 by https://127.0.0.1:$tls_tunnel
has err "the proxy https://127.0.0.1:$tls_tunnel .*certificate.*; the certificates to trust are those of $work/other, which CURL_CA_BUNDLE names\$"
SSL_CERT_FILE=$work/certificate code 0 by https://127.0.0.1:$tls_tunnel
cmp -s "$repos/org/m/config.json" "$(snapshot org/m)/config.json" || fail "config.json did not come by the proxy"

# A server that never ends its part of the handshake: libcurl reads on as long as there is anything. Its limits and a signal are kept.
cat >"$work/flood.py" <<'PY'
import socket, threading

hello_requests = (b"\x16\x03\x03\x40\x00" + bytes(16384)) * 16
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)

def flood(peer):
    peer.recv(5000)
    try:
        while True:
            peer.sendall(hello_requests)
    except OSError:
        pass

while True:
    threading.Thread(target=flood, args=(server.accept()[0],), daemon=True).start()
PY
python3 "$work/flood.py" >"$work/flood.port" &
flood=$!
trap 'kill "$server" "$proxies" "$flood" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -s "$work/flood.port" ] && break; sleep 0.05; done
HF_ENDPOINT=https://127.0.0.1:$(cat "$work/flood.port") HF_HUB_DOWNLOAD_TIMEOUT=1 code 1 timeout 30 "$ASSAY" fetch org/m
has err '^assay: org/m: https://127.0.0.1:[0-9]+: no connection within 1 s; tried 2 times'
HF_ENDPOINT=https://127.0.0.1:$(cat "$work/flood.port") code 2 timeout --preserve-status --signal INT --kill-after 10 1 "$ASSAY" fetch org/m
has err 'stopped; what has come is kept'
kill $flood
wait $refused
got=$?
[ $got = 1 ] || fail "exit code $got where a proxy refuses without an end"
grep -q "^assay: org/m: the proxy http://127.0.0.1:$refusing (https_proxy): no connection within 1 s; tried 2 times" "$work/refused.err" ||
	fail "refused: $(cat "$work/refused.err")"
finish
