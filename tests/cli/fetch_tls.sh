# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# assay fetch over https: a certificate that nobody vouches for, one that a file vouches for, and a way from https to http.
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
trap 'kill "$server" "$flood" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -s "$work/flood.port" ] && break; sleep 0.05; done
HF_ENDPOINT=https://127.0.0.1:$(cat "$work/flood.port") HF_HUB_DOWNLOAD_TIMEOUT=1 code 1 timeout 30 "$ASSAY" fetch org/m
has err 'sends without an end what is no answer; tried 2 times'
HF_ENDPOINT=https://127.0.0.1:$(cat "$work/flood.port") code 2 timeout --preserve-status --signal INT --kill-after 10 1 "$ASSAY" fetch org/m
has err 'stopped; what has come is kept'
kill $flood
finish
