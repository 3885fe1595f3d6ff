# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by ./try, ./check, tools/deps and tools/fuzz: a named step with its time, one clear sentence when something cannot be had, and
# the system packages that building takes. It installs nothing that is already there, from whatever source.
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)   # no program is started before that folder is the current one
log_dir=${ASSAY_LOG_DIR:-$root/.deps/log}
exec 3>&2                        # a step's own output goes to its log; die still reaches the person
ticker=

die() {
	stop_ticker
	printf '%s: %s\n' "${program:-assay}" "$*" >&3
	exit 1
}

stop_ticker() {
	[ -z "$ticker" ] || { kill "$ticker" 2>/dev/null && wait "$ticker" 2>/dev/null; ticker=; }
}
trap stop_ticker EXIT
trap 'exit 130' INT TERM           # a program that takes Ctrl-C gracefully must not let the next step start

# step WORDS COMMAND...: runs the command with its output in a log; says what runs while it runs, then how long it took.
# Returns the command's status; $log names the log.
step() {
	local words=$1 start=${EPOCHREALTIME//[.,]/} status=0
	shift
	mkdir -p "$log_dir" || die "cannot write to $log_dir"
	log=$log_dir/$(printf '%s' "$words" | tr -cs 'A-Za-z0-9\n' '-').log
	if [ -t 1 ]; then
		( s=0; while printf '\r  %-46s %4d s' "$words" $s; do sleep 1; s=$((s + 1)); done ) &
		ticker=$!
	else
		printf '  %-46s ' "$words"
	fi
	"$@" >"$log" 2>&1 || status=$?
	stop_ticker
	local ms=$(((${EPOCHREALTIME//[.,]/} - start) / 1000)) mark=
	[ $status = 0 ] || mark="  (exit code $status)"
	[ -t 1 ] && printf '\r  %-46s ' "$words"
	printf '%6d.%d s%s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$mark"
	return $status
}

# must WORDS COMMAND...: a step without which nothing goes on.
must() {
	step "$@" && return
	why_failed "$1" "$log"
}

# Turns the log of what failed into a sentence.
why_failed() {
	local what=$1 file=$2 last
	# The log may lie on the full disk itself, and then be empty.
	if grep -qiE 'No space left on device|enough free space|ENOSPC' "$file" || [ "$(free_mib "${file%/*}")" -lt 2 ]; then
		die "$what: no space left: $(free_mib "${file%/*}") MiB are free in ${file%/*}, $(free_mib /) MiB in / (log: $file)"
	fi
	if no_network "$file"; then
		die "$what: no network, or a package registry does not answer (log: $file)"
	fi
	last=$(grep -E 'error:|Error|FAILED|^E: |ERROR' "$file" | head -1) || true
	[ -n "$last" ] || last=$(grep -v '^[[:space:]]*$' "$file" | tail -1) || true
	die "$what failed: ${last:-it printed nothing} (log: $file)"
}

no_network() {
	grep -qiE 'Temporary failure|resolv(e|ing) |name resolution|Name or service not known|no such host|ENOTFOUND|EAI_AGAIN|ENETUNREACH|Network is unreachable|NewConnectionError|Connection (refused|timed out)|ECONNREFUSED|ETIMEDOUT|dial tcp' "$1"
}

free_mib() {
	local folder=$1
	until [ -d "$folder" ]; do folder=$(dirname "$folder"); done
	df -Pm "$folder" | awk 'NR == 2 { print $4 }'
}

# need_space FOLDER MIB WHAT
need_space() {
	local free
	free=$(free_mib "$1")
	[ "$free" -ge "$2" ] || die "no space: $3 needs $2 MiB in $1, and $free MiB are free"
}

# What is looked for, and the Debian package that has it. $1: build, test, pip, npm, go, brotli, chromium, yaml, vulkan, shells,
# firefox, format, clang or fuzzer.
missing_packages() {
	local kind
	for kind in "$@"; do
		case $kind in
		build)
			echo '#include <stdio.h>' | cc -E -x c - >/dev/null 2>&1 || echo "gcc libc6-dev"
			command -v cmake >/dev/null || echo cmake
			command -v ninja >/dev/null || echo ninja-build
			command -v protoc-c >/dev/null || echo protobuf-c-compiler
			command -v pkg-config >/dev/null || { echo pkg-config libjansson-dev nettle-dev libprotobuf-c-dev libcurl4-openssl-dev libmicrohttpd-dev libpcre2-dev libsndfile1-dev libsoxr-dev libjpeg-dev libpng-dev libwebp-dev libgif-dev ca-certificates; continue; }
			pkg-config --exists jansson || echo libjansson-dev
			pkg-config --exists nettle || echo nettle-dev
			pkg-config --exists libprotobuf-c || echo libprotobuf-c-dev
			pkg-config --exists libcurl || echo libcurl4-openssl-dev
			pkg-config --exists libmicrohttpd || echo libmicrohttpd-dev
			pkg-config --exists libpcre2-8 || echo libpcre2-dev
			pkg-config --exists sndfile || echo libsndfile1-dev
			pkg-config --exists soxr || echo libsoxr-dev
			pkg-config --exists libjpeg || echo libjpeg-dev
			pkg-config --exists libpng || echo libpng-dev
			pkg-config --exists libwebpdemux || echo libwebp-dev
			echo '#include <stdio.h>
#include <gif_lib.h>' | cc -E -x c - >/dev/null 2>&1 || echo libgif-dev
			[ -n "$(ls -A /etc/ssl/certs 2>/dev/null)" ] || echo ca-certificates ;;
		test)
			{ command -v pkg-config >/dev/null && pkg-config --exists cmocka; } || echo libcmocka-dev ;;
		pip) python3 -I -m pip --version >/dev/null 2>&1 || echo python3-pip ;;
		npm) command -v npm >/dev/null || echo npm ;;
		go) command -v go >/dev/null || echo golang-go ;;
		brotli) command -v brotli >/dev/null || command -v node >/dev/null || echo brotli ;;
		chromium) command -v chromium >/dev/null || command -v google-chrome >/dev/null || echo chromium ;;
		yaml)            # what reads the YAML of a report in a test
			python3 -I -c 'import yaml' 2>/dev/null || /usr/bin/python3 -I -c 'import yaml' 2>/dev/null || echo python3-yaml ;;
		vulkan)          # the loader, for native WebGPU and Firefox; SwiftShader comes with Chromium
			ldconfig -p 2>/dev/null | grep 'libvulkan\.so\.1 ' >/dev/null || echo libvulkan1 ;;
		shells)          # bash is there; a test asks each what it completes
			command -v zsh >/dev/null || echo zsh
			command -v fish >/dev/null || echo fish ;;
		firefox) command -v firefox-esr >/dev/null || command -v firefox >/dev/null || echo firefox-esr ;;
		format) command -v clang-format >/dev/null || echo clang-format ;;
		clang) command -v clang >/dev/null || echo clang ;;
		fuzzer)          # its version is clang's, so clang must be there first
			echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
				clang -fsanitize=fuzzer,address -x c -o /dev/null - 2>/dev/null || echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev" ;;
		esac
	done | tr ' ' '\n' | sort -u | tr '\n' ' '
}

apt() {
	local get=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0)
	[ "$(id -u)" = 0 ] || get=(sudo -n "${get[@]}")
	# Package lists may be absent or old: the second try brings them up to date first.
	"${get[@]}" install --no-install-recommends "$@" && return
	"${get[@]}" update && "${get[@]}" install --no-install-recommends "$@"
}

# need WHAT...: installs what is missing of these kinds.
need() {
	local packages
	packages=$(missing_packages "$@")
	packages=${packages% }
	[ -n "$packages" ] || return 0
	command -v apt-get >/dev/null ||
		die "missing here: what Debian calls $packages; install them with this system's package manager and run again"
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null ||
		die "missing packages, and installing them needs root; ask an administrator to run: apt-get install --no-install-recommends $packages"
	local count
	count=$(wc -w <<<"$packages")
	# shellcheck disable=SC2086
	if ! step "system packages ($count to install)" apt $packages; then
		no_network "$log" && die "no network: these packages are missing and cannot be downloaded: $packages (log: $log)"
		why_failed "installing $packages" "$log"
	fi
	packages=$(missing_packages "$@")
	[ -z "$packages" ] || die "still missing after installing: $packages(log: $log)"
}

# want KIND...: like need, one by one, for what can be done without: says in one line what is missing, and goes on.
want() {
	local kind why
	for kind in "$@"; do
		[ -n "$(missing_packages "$kind")" ] || continue
		{ why=$( (need "$kind") 3>&1 >&4); } 4>&1 || printf '  without %s: %s\n' "$kind" "${why#*: }"
	done
}

# configure FOLDER OPTIONS...: again only when the folder is new or came along with a moved checkout.
configure() {
	local folder=$1
	shift
	if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
		rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
	fi
	[ -f "$folder/build.ninja" ] || cmake -S . -B "$folder" -G Ninja "$@"
}
