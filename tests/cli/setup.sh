# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# assay setup and the tools/deps behind it, on a lock and packages of the test's own: what it says first, what it refuses, and that
# nothing half stays behind an interruption, a wrong archive, a full disk. No registry is asked.
. "$SOURCE/tests/cli/lib.sh" || exit 1
unset ASSAY_ENGINE_PATH ASSAY_LOG_DIR
command -v brotli >/dev/null || command -v node >/dev/null || { echo "skip: neither brotli nor node is here"; exit 77; }

# An installed program: PREFIX/bin/assay with PREFIX/share/assay beside it.
share=$work/prefix/share/assay
mkdir -p "$work/prefix/bin" "$share/tools" "$work/archives" "$work/bin" "$work/package/a"
cp "$ASSAY" "$work/prefix/bin/assay"
cp "$SOURCE/tools/deps" "$SOURCE/tools/steps.sh" "$share/tools/"
export XDG_DATA_HOME=$work/data XDG_CACHE_HOME=$work/xdg
program=$work/prefix/bin/assay cache=$work/xdg/assay-deps into=$work/data/assay

# Two packages of npm, which is a script that copies them: one of them has a program packed with brotli.
squeeze()
{
	if command -v brotli >/dev/null; then brotli --stdout "$1" >"$1.br"; else
		node -e 'const fs = require("fs"); fs.writeFileSync(process.argv[1] + ".br", require("zlib").brotliCompressSync(fs.readFileSync(process.argv[1])))' "$1"
	fi
}
echo 'library one' >"$work/package/a/libone.so"
echo 'header one' >"$work/package/a/one.h"
echo 'licence one' >"$work/package/a/LICENSE"
(cd "$work" && tar -czf archives/one-1.0.tgz package)
rm -rf "$work/package/a" && mkdir -p "$work/package/b"
printf '#!/bin/sh\necho ran\n' >"$work/package/b/tool"
(cd "$work/package/b" && echo inside >first && echo more >second && tar -cf files.tar first second && rm first second)
squeeze "$work/package/b/tool" && squeeze "$work/package/b/files.tar" && rm "$work/package/b/tool" "$work/package/b/files.tar"
(cd "$work" && tar -czf archives/two-2.0.tgz package)
# More than its group says.
rm -rf "$work/package" && mkdir -p "$work/package/c"
head -c 80000000 /dev/zero >"$work/package/c/libbig.so"
(cd "$work" && tar -czf archives/three-3.0.tgz package)
cat >"$work/bin/npm" <<'END'
#!/bin/bash
while [ $# -gt 1 ]; do case $1 in --pack-destination) to=$2; shift ;; --prefix) settings=$2; shift ;; esac; shift; done
echo "${settings:-$PWD}" >"$work/npm_reads"
[ ! -f "$work/npm_fails" ] || { echo "npm ERR! ENOTFOUND" >&2; exit 1; }
head -c 10 "$work/archives/${1%@*}-${1#*@}.tgz" >"$to/half"
[ ! -f "$work/npm_waits" ] || { : >"$work/npm_began"; sleep 60; }
cp "$work/archives/${1%@*}-${1#*@}.tgz" "$to/" && rm "$to/half"
echo "$1" >>"$work/npm_said"
END
chmod +x "$work/bin/npm"
export work PATH=$work/bin:$PATH

lock()
{
	cat <<END
platform linux $(uname -m)
group base 1 what every platform needs
group qnn 1 a test's own
group rocm 1 larger than it says
group operators 1 no platform
package one
manager npm
version 1.0
archive one-1.0.tgz
bytes $(stat -c %s "$work/archives/one-1.0.tgz")
sha256 $(sha256sum "$work/archives/one-1.0.tgz" | cut -d' ' -f1)
license MIT
file package/a/libone.so engines/one
file package/a/one.h include
file package/a/LICENSE licenses/one
package two
in qnn
manager npm
version 2.0
archive two-2.0.tgz
bytes $(stat -c %s "$work/archives/two-2.0.tgz")
sha256 $(sha256sum "$work/archives/two-2.0.tgz" | cut -d' ' -f1)
license LicenseRef-Theirs (with words)
brotli package/b/tool browsers/two
brotli package/b/files.tar browsers/two
package three
in rocm
manager npm
version 3.0
archive three-3.0.tgz
bytes $(stat -c %s "$work/archives/three-3.0.tgz")
sha256 $(sha256sum "$work/archives/three-3.0.tgz" | cut -d' ' -f1)
license MIT
file package/c/libbig.so engines/three
END
}
lock >"$share/deps.lock"

# nothing_half: no archive in parts, no folder that is being filled.
nothing_half()
{
	local left
	left=$(find "$cache" "$into" \( -name 'part.*' -o -name '.stage' -o -name 'half' \) 2>/dev/null)
	[ -z "$left" ] || fail "$1 left behind: $left"
}

code 1 "$program" setup nonesuch
has err 'nothing is known that setup could bring for "nonesuch"'
code 1 "$program" setup
code 1 "$program" setup mps
has err 'mps needs macOS'
code 0 "$program" setup operators --list

# Only said: sizes and licences; nothing is fetched, also where nobody can be asked.
code 0 "$program" setup qnn --list
empty err
has out '^qnn +is not here: .* to download, 1\.?0? MiB unpacked'
has out 'two 2\.0 .*LicenseRef-Theirs \(with words\)'
has out "^into $into"
code 1 "$program" setup qnn
has err 'nothing was fetched: add --yes'
[ ! -e "$work/npm_said" ] && [ ! -e "$into/browsers" ] || fail "something was fetched without being asked for"

# No network; then one that brings something else.
: >"$work/npm_fails"
code 1 "$program" setup qnn --yes
has err 'no network: .*cannot be fetched with npm'
nothing_half "no network"
rm "$work/npm_fails"
code 1 "$program" setup qnn --yes --offline
has err 'is not in .*assay-deps, and --offline was asked'
cp "$work/archives/two-2.0.tgz" "$work/two.whole"
echo tampered >>"$work/archives/two-2.0.tgz"
# Beside it, what a killed setup left of a download, and what another is at.
mkdir "$cache/part.left" "$cache/part.running" && : >"$cache/part.left/.lock" && exec 7>"$cache/part.running/.lock" && flock 7 || fail "no parts"
code 1 "$program" setup qnn --yes
has err 'is not what deps\.lock pins: SHA-256'
[ -e "$cache/part.running" ] || fail "the download of another setup was removed"
exec 7>&-
rm -r "$cache/part.running"
nothing_half "a wrong archive"
[ ! -e "$cache/two-2.0.tgz" ] && [ ! -e "$into/browsers/two" ] || fail "a wrong archive was kept or used"
cp "$work/two.whole" "$work/archives/two-2.0.tgz"

# Stopped in the middle of a download: nothing half, no process, and the next try does it.
: >"$work/npm_waits"
rm -f "$work/npm_began"
"$program" setup qnn --yes >"$work/out" 2>"$work/err" </dev/null &
pid=$!
for _ in $(seq 300); do [ -e "$work/npm_began" ] && break; sleep 0.1; done
kill -TERM $pid
wait $pid && fail "a stopped setup ended with exit code 0"
for _ in $(seq 100); do [ -n "$(find "$cache" -name 'part.*')" ] || break; sleep 0.1; done
nothing_half "a stop"
rm "$work/npm_waits"

# A disk that is full.
if small_disk 200k; then
	XDG_DATA_HOME=$work/small code 1 "$program" setup qnn --yes
	has err 'no space: .* needs [0-9]+ MiB in .*, and [01] MiB are free'
	umount "$work/small"
	mount -t tmpfs -o size=60m none "$work/small"
	XDG_DATA_HOME=$work/small code 1 "$program" setup rocm --yes
	has err 'unpacking rocm: no space left: [0-9]+ MiB are free'
	left=$(find "$work/small" -name '*.so' -o -name '.stage' -o -name '.complete-rocm')
	[ -z "$left" ] || fail "a full disk left behind: $left"
	umount "$work/small"
fi

code 0 "$program" setup cpu qnn --yes
has out 'Everything is here\. `assay doctor cpu qnn` proves it\.'
[ "$(cat "$into/browsers/two/first" "$into/browsers/two/second" 2>/dev/null)" = "inside
more" ] || fail "the packed files are not there"
[ "$("$into/browsers/two/tool")" = ran ] || fail "the packed program does not run"
[ -f "$into/engines/one/libone.so" ] && [ -f "$into/licenses/one/LICENSE" ] || fail "the base's engine is not there"
[ ! -e "$into/include" ] || fail "an installed program fetched headers"
nothing_half "a good setup"

# Again: nothing to do, no manager is started. A damaged file comes back with --again, a deleted one by itself, both from the cache.
said=$(wc -l <"$work/npm_said")
code 0 "$program" setup qnn --yes
echo damaged >"$into/browsers/two/first"
code 0 "$program" setup qnn --again --yes --offline
[ "$(cat "$into/browsers/two/first")" = inside ] || fail "--again did not bring a damaged file back"
rm "$into/browsers/two/second"
code 0 "$program" setup qnn --yes --offline
[ -f "$into/browsers/two/second" ] || fail "a deleted file did not come back"
[ "$(wc -l <"$work/npm_said")" = "$said" ] || fail "a manager was started for what is in the cache"
code 0 "$program" setup qnn --json
has out '"complete": true'
has out '"license": "LicenseRef-Theirs \(with words\)"'
has out '"left_to_download_bytes": 0'

# What a newer lock no longer lists is dropped, and what nobody listed stays; the other group is not touched.
echo mine >"$into/browsers/two/mine"
before=$(stat -c '%i %Y' "$into/engines/one/libone.so")
sed -i '/files\.tar/d' "$share/deps.lock"
code 0 "$program" setup qnn --yes --offline
[ ! -e "$into/browsers/two/first" ] || fail "a file that the lock no longer lists stayed"
[ -f "$into/browsers/two/mine" ] && [ -x "$into/browsers/two/tool" ] || fail "what belongs there was dropped"
[ "$(stat -c '%i %Y' "$into/engines/one/libone.so")" = "$before" ] || fail "a group that did not change was unpacked again"

# Nothing of the current folder is run: a module that Python would find there or by PYTHONPATH, programs where PATH has an empty entry, the
# settings of npm.
mkdir "$work/evil"
for name in pip zipfile; do echo "open('$work/ran', 'a').write('$name\n')" >"$work/evil/$name.py"; done
for name in bash dirname npm python3 sha256sum; do
	printf '#!/bin/sh\necho %s >>"%s"\nexit 1\n' $name "$work/ran" >"$work/evil/$name" && chmod +x "$work/evil/$name"
done
rm -rf "$cache" "$into"
(failures=0; cd "$work/evil" && PATH=:$PATH code 0 "$program" setup cpu qnn --yes; exit $failures) || fail "setup in a stranger's folder"
case $(cat "$work/npm_reads") in "$cache"/part.*) ;; *) fail "npm reads the settings of $(cat "$work/npm_reads")" ;; esac
[ "$(stat -c %a "$cache")" = 700 ] || fail "the folder of archives has mode $(stat -c %a "$cache")"
if python3 -I -m pip --version >/dev/null 2>&1; then
	mkdir "$work/wheels"
	(cd "$work/wheels" && python3 -I -) <<'PY'
import zipfile
with zipfile.ZipFile("four-4.0-py3-none-any.whl", "w") as z:
    z.writestr("four/libfour.so", "library four")
    z.writestr("four-4.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: four\nVersion: 4.0\n")
    z.writestr("four-4.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("four-4.0.dist-info/RECORD", "")
PY
	cp "$share/deps.lock" "$work/lock"
	cat >>"$share/deps.lock" <<-END
		package four
		in operators
		manager pip
		version 4.0
		archive four-4.0-py3-none-any.whl
		bytes 1
		sha256 $(sha256sum "$work/wheels/four-4.0-py3-none-any.whl" | cut -d' ' -f1)
		license MIT
		file four/libfour.so engines/four
	END
	(failures=0; cd "$work/evil" && PIP_NO_INDEX=1 PIP_FIND_LINKS=$work/wheels PYTHONPATH=$work/evil code 0 "$program" setup operators --yes; exit $failures) ||
		fail "pip in a stranger's folder"
	[ -f "$into/engines/four/libfour.so" ] || fail "pip brought nothing"
	mv "$work/lock" "$share/deps.lock"
else
	skip_part "pip is not there"
fi
[ ! -e "$work/ran" ] || fail "run from the current folder: $(sort "$work/ran" | uniq -c | tr '\n' ' ')"

# The folders of archives and of engines are used where nobody else can write into them, and what is unpacked is what was hashed.
refused() { has err "^tools/deps: other users may write into $1 \(of user $2\) and could put anything there; name a folder of your own in XDG_"; }
for folder in "$cache" "$into" "$into/browsers" "$work/xdg"; do
	before=$(stat -c %a "$folder")
	chmod 777 "$folder"
	code 1 "$program" setup qnn --again --yes --offline
	refused "$folder" '.*, mode 0777'
	chmod "$before" "$folder"
done
chmod 775 "$into"
code 1 "$program" setup qnn --yes                # also where everything seems to be there
refused "$into" '.*, mode 0775'
chmod 755 "$into"
if [ "$(id -u)" = 0 ]; then
	for folder in "$cache" "$into"; do
		mv "$folder" "$folder.real" && ln -s "$folder.real" "$folder"
		code 0 "$program" setup qnn --again --yes --offline
		chown 1234 "$folder.real"
		code 1 "$program" setup qnn --again --yes --offline
		refused "$folder.real" '1234, mode 07[05][05]'
		chown 0 "$folder.real"
		chown -h 1234 "$folder"
		code 1 "$program" setup qnn --again --yes --offline
		refused "$folder" '1234, mode 0777'
		rm "$folder" && mv "$folder.real" "$folder"
	done
fi
rm -rf "$work/package" && mkdir -p "$work/package/b" && echo theirs >"$work/package/b/tool" && squeeze "$work/package/b/tool"
(cd "$work" && tar -czf theirs.tgz package)
cat >"$work/bin/sha256sum" <<END
#!/bin/sh
$(command -v sha256sum) "\$@"
case \$1 in "$cache"/two*) cp "$work/theirs.tgz" "\$1" ;; esac
END
chmod +x "$work/bin/sha256sum"
code 1 "$program" setup qnn --again --yes --offline
has err "$cache/two-2.0.tgz is not what deps.lock pins: SHA-256 is"
[ "$("$into/browsers/two/tool")" = ran ] || fail "another archive than the one that was hashed was unpacked"
rm "$work/bin/sha256sum"
nothing_half "an archive that was exchanged"

# The project's own lock: every group has packages, every package a size, a version and a licence.
code 0 bash "$SOURCE/tools/deps" --list --plain --into "$work/none"
awk -F'\t' 'NF != 7 || $3 < 1 || $6 == "" || $7 == "" { print "line " NR ": " $0; bad = 1 } $1 == "group" { if (seen && !n) bad = 1; seen = $2; n = 0 } $1 == "package" { n++ }
	END { exit bad || !n }' "$work/out" || fail "deps.lock lacks something"
for group in base qnn webgpu web client cuda rocm zoo operators; do has out "^group	$group	"; done
code 1 bash "$SOURCE/tools/deps" --group nonesuch
has err 'no group nonesuch; there are: base qnn'
finish
