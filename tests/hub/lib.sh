# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced behind tests/cli/lib.sh by what needs a Hub: starts tests/hub/server.py on $repos and asks nobody else.
need_python
unset HF_HUB_OFFLINE TRANSFORMERS_OFFLINE HF_TOKEN HF_TOKEN_PATH HUGGING_FACE_HUB_TOKEN HF_ENDPOINT HF_HUB_DISABLE_IMPLICIT_TOKEN
unset CURL_CA_BUNDLE REQUESTS_CA_BUNDLE SSL_CERT_FILE
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
export no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
repos=$work/repos

# start_server [CERTIFICATE]: its log is $server_log, or $work/log.
start_server()
{
	python3 "$SOURCE/tests/hub/server.py" "$repos" "$work/ports" "${server_log:-$work/log}" "$@" 2>"$work/server.err" &
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
	local what=${1:-{\}} port=${HF_ENDPOINT##*:} encoded= answer= i
	for ((i = 0; i < ${#what}; i++)); do
		printf -v encoded '%s%%%02x' "$encoded" "'${what:i:1}"
	done
	{ printf 'GET /control?%s HTTP/1.0\r\n\r\n' "$encoded" >&"$i" && read -r answer <&"$i" && cat <&"$i" >/dev/null; } {i}<>"/dev/tcp/127.0.0.1/${port%/}"
	[[ $answer == *' 200 '* ]] || fail "the server does not take $1: $answer"
	: >"$work/log"
}

clear_cache() { rm -rf "$HF_HUB_CACHE"; }
snapshot() { echo "$HF_HUB_CACHE/models--${1/\//--}/snapshots/"*; }
files_of() { (cd "$(snapshot "$1")" 2>/dev/null && find . -type l | sed 's,^\./,,' | LC_ALL=C sort | tr '\n' ' '); }
asked() { grep -c . "$work/log"; }
