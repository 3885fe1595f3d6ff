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
finish
