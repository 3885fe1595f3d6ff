# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced behind tests/cli/lib.sh by what needs a Hub: starts tests/hub/server.py on $repos and asks nobody else.
need_python
unset HF_HUB_OFFLINE TRANSFORMERS_OFFLINE HF_TOKEN HF_TOKEN_PATH HUGGING_FACE_HUB_TOKEN HF_ENDPOINT HF_HUB_DISABLE_IMPLICIT_TOKEN
unset CURL_CA_BUNDLE REQUESTS_CA_BUNDLE SSL_CERT_FILE
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
export no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
repos=$work/repos

# start_server [CERTIFICATE]
start_server()
{
	python3 "$SOURCE/tests/hub/server.py" "$repos" "$work/ports" "$work/log" "$@" 2>"$work/server.err" &
	server=$!
	trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
	for _ in $(seq 200); do [ -e "$work/ports" ] && break; sleep 0.05; done
	[ -e "$work/ports" ] || { cat "$work/server.err"; echo "the server does not start"; exit 1; }
	read -r hub_port cdn_port <"$work/ports"
	export HF_ENDPOINT=http://127.0.0.1:$hub_port/
}

# control JSON: what the server does wrong from now on; empties its log.
control()
{
	python3 -c 'import sys, urllib.parse, urllib.request
urllib.request.urlopen(sys.argv[1] + "control?" + urllib.parse.quote(sys.argv[2])).read()' "$HF_ENDPOINT" "${1:-{\}}" || fail "the server does not take $1"
	: >"$work/log"
}

clear_cache() { rm -rf "$HF_HUB_CACHE"; }
snapshot() { echo "$HF_HUB_CACHE/models--${1/\//--}/snapshots/"*; }
files_of() { (cd "$(snapshot "$1")" 2>/dev/null && find . -type l | sed 's,^\./,,' | LC_ALL=C sort | tr '\n' ' '); }
asked() { grep -c . "$work/log"; }
