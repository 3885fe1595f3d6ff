# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# The cache: folders that others own or may write into, links in it, files planted under the right name, and what fills it.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cases=$SOURCE/tests/conform/cases
for type in bert llama; do
	code 0 "$ASSAY" synth "$cases/$type" -o "$work/$type"
done
chmod 755 "$work"
mkdir "$work/target"
quick=(--on null --runs 1 --no-conform --no-db)
victim=54321 attacker=54322

# other NAME: a cache of that name from here on.
other()
{
	ASSAY_CACHE=$work/$1
}

# in_cache: what lies there and where links of it could lead.
in_cache()
{
	find "$ASSAY_CACHE" "$work/target" -printf '%p %l\n' 2>/dev/null | sort
}

# refused PATTERN WORDS...: assay WORDS ends at once with that sentence, and nothing was written.
refused()
{
	local pattern=$1 before
	shift
	before=$(in_cache)
	bounded 1 10 300 "$ASSAY" "$@"
	has err "^assay: the cache is not used: .*$pattern"
	[ "$(in_cache)" = "$before" ] || fail "written into a cache that is not to be used: ${*:1:2}"
}

# ---- whose folder it is ----------------------------------------------------------------------------------------------------

other open
for mode in 0775 1777 0777; do
	rm -rf "$ASSAY_CACHE" && mkdir "$ASSAY_CACHE" && chmod $mode "$ASSAY_CACHE"
	refused "others may write into $ASSAY_CACHE \(mode $mode\)" run "$work/bert" "${quick[@]}"
done
refused 'others may write' matrix --models "$work/bert" --on null --runs 1 --no-conform --output-dir "$work/dir"
refused 'others may write' conform "$cases/bert"
refused 'others may write' doctor null
refused 'others may write' types
refused 'others may write' cache --trim
bounded 0 10 300 "$ASSAY" cache
has out '^  problem  .*others may write into '
bounded 0 10 300 "$ASSAY" cache --json
json '"others may write" in d["problem"]'

# The parts are looked at one by one: a folder in a cache that is its user's may have been there before the cache was closed.
other part
mkdir "$ASSAY_CACHE" "$ASSAY_CACHE/reference" && chmod 0777 "$ASSAY_CACHE/reference"
refused "others may write into $ASSAY_CACHE/reference" run "$work/bert" "${quick[@]}"

# What assay makes is closed, whatever the umask.
other new/deep
before=$(umask)
umask 0
bounded 0 60 1500 "$ASSAY" run "$work/llama" --precision int4-weights --on null --runs 1 --no-conform
umask "$before"
open=$(find "$work/new" -type d -perm /022)
[ -z "$open" ] || fail "made for everybody to write into: $open"

# Everybody may exchange it.
mkdir "$work/public" && chmod 0777 "$work/public"
other public/cache
mkdir -m 0700 "$ASSAY_CACHE"
refused "everybody may write into $work/public" run "$work/bert" "${quick[@]}"

# Links.
for part in run reference synthetic claim; do
	other "link-$part"
	mkdir -m 0700 "$ASSAY_CACHE" && ln -s "$work/target" "$ASSAY_CACHE/$part"
	refused "$ASSAY_CACHE/$part is a link" run "$work/bert" "${quick[@]}"
done

# Engines in the user's data folder were taken whoever had put them there, and executed: another user in a shared HOME, or anybody where all
# may write.
planted=$work/home/.local/share/assay/engines
mkdir -p "$planted/onnxruntime" "$planted/duckdb" && : >"$planted/onnxruntime/libonnxruntime.so.99.0" && : >"$planted/duckdb/libduckdb.so"
other engines
at_home() { env -u ASSAY_ENGINE_PATH -u XDG_DATA_HOME HOME="$work/home" "$ASSAY" "$@"; }
code 2 at_home run "$work/bert" --on cpu --runs 1 --no-conform --no-db # its own: what lies there is taken
has out 'libonnxruntime.so.99.0'
chmod 0777 "$planted/onnxruntime" "$planted/duckdb"
code 0 at_home run "$work/bert" --on cpu --runs 1 --no-conform --db "$work/home.duckdb"
code 0 at_home query runs --db "$work/home.duckdb"
if [ "$(id -u)" -eq 0 ]; then
	chmod 0755 "$planted/onnxruntime" && chown $attacker "$planted/onnxruntime"
	code 0 at_home run "$work/bert" --on cpu --runs 1 --no-conform --no-db
fi

# What this user may not read is no failure of the model, and no engine that is not there.
if can_be $victim; then
	cp -r "$work/bert" "$work/closed" && chmod 600 "$work/closed/model.safetensors"
	mkdir -m 0700 "$work/victim" && chown $victim:$victim "$work/victim"
	ASSAY_CACHE=$work/victim code 2 become $victim "$ASSAY" run "$work/closed" "${quick[@]}" --json
	json 'd[0]["verdict"] == "not_asked" and "model.safetensors: Permission denied" in d[0]["cause"]'
	mkdir -m 0755 "$work/unread" && cp -r "${ASSAY_ENGINE_PATH:-$SOURCE/.deps/engines}/openvino" "$work/unread" && chmod 600 "$work/unread/openvino"/libtbb.so.*
	ASSAY_ENGINE_PATH=$work/unread ASSAY_CACHE=$work/victim code 2 become $victim "$ASSAY" run "$work/bert" --on openvino "${quick[@]:2}" --json
	json 'd[0]["verdict"] == "not_asked" and "this user may not read" in d[0]["cause"] and "libtbb.so" in d[0]["cause"]'
	# What the loader cannot open for another reason, of a disk among them, it says is nowhere.
	tbb=$(basename "$(find "$work/unread/openvino" -name 'libtbb.so.*' | head -1)")
	rm "$work/unread/openvino"/libtbb.so* && python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$work/unread/openvino/$tbb"
	ASSAY_ENGINE_PATH=$work/unread ASSAY_CACHE=$work/victim code 2 become $victim "$ASSAY" run "$work/bert" --on openvino "${quick[@]:2}" --json
	json "d[0]['verdict'] == 'not_asked' and '$tbb cannot be read: No such device or address' in d[0]['cause']"
	# A browser may lie in a folder that this user may not enter.
	mkdir -m 0700 "$work/browsers"
	ASSAY_CACHE=$work/victim code 2 become $victim env PATH="$work/none" ASSAY_BROWSER_PATH="$work/browsers" "$ASSAY" run "$work/bert" --on webgpu:firefox "${quick[@]:2}" --json
	json "d[0]['verdict'] == 'not_asked' and '$work/browsers, in which a browser may be, cannot be looked into: Permission denied' in d[0]['cause']"
fi

if [ "$(id -u)" -eq 0 ]; then
	other theirs
	mkdir -m 0700 "$ASSAY_CACHE" && chown $attacker "$ASSAY_CACHE"
	refused "$ASSAY_CACHE belongs to user $attacker" run "$work/bert" "${quick[@]}"
	other theirs-within
	mkdir -m 0700 "$ASSAY_CACHE" "$ASSAY_CACHE/reference" && chown $attacker "$ASSAY_CACHE/reference"
	refused "$ASSAY_CACHE/reference belongs to user $attacker" run "$work/bert" "${quick[@]}"
	# Another user's link to a folder of ours.
	other lure
	mkdir -m 0700 "$work/own" && ln -s "$work/own" "$ASSAY_CACHE" && chown -h $attacker "$ASSAY_CACHE"
	refused "$ASSAY_CACHE belongs to user $attacker" run "$work/bert" "${quick[@]}"
else
	skip_part "only root can give a folder to another user"
fi

if can_be $victim; then
	# A user without a home has no folder that is everybody's.
	mkdir -m 0755 "$work/db" && chown $victim "$work/db"
	bounded 0 10 300 setpriv --reuid=$victim --regid=$victim --clear-groups env -u ASSAY_CACHE -u XDG_CACHE_HOME -u HOME "$ASSAY" cache
	has out "^/var/tmp/assay-$victim\$"
	# A folder that another user made, closed to everybody else.
	other victims
	mkdir -m 0755 "$ASSAY_CACHE" && chown $attacker "$ASSAY_CACHE"
	bounded 1 10 300 setpriv --reuid=$victim --regid=$victim --clear-groups "$ASSAY" run "$work/bert" "${quick[@]}"
	has err "the cache is not used: .* belongs to user $attacker"
	# Root's own is used. Where no claim can be made it is said, and the cell runs.
	chown 0 "$ASSAY_CACHE" && chmod -R a+rX "$work/bert"
	for part in run reference artifact digest; do
		mkdir -m 0700 "$ASSAY_CACHE/$part" && chown $victim "$ASSAY_CACHE/$part"
	done
	bounded 0 60 1500 setpriv --reuid=$victim --regid=$victim --clear-groups "$ASSAY" run "$work/bert" "${quick[@]}"
	has err "^assay: what killed programs leave in the cache is not removed, because nobody can tell whether they live: .*$ASSAY_CACHE/claim: .*Permission denied"
	become $victim "$ASSAY" cache >"$work/out" 2>"$work/err"
	has out '^  problem +what killed programs leave'
fi

# ---- files under the right name ---------------------------------------------------------------------------------------------

# flip FILE: another byte in the middle of the largest tensor; size and mtime stay.
flip()
{
	python3 - "$1" <<'PY'
import json, os, struct, sys
path = sys.argv[1]
times = os.stat(path)
data = bytearray(open(path, "rb").read())
n = 8 + struct.unpack("<Q", data[:8])[0]
begin, end = max((t["data_offsets"] for k, t in json.loads(data[8:n]).items() if k != "__metadata__"), key=lambda o: o[1] - o[0])
# The highest byte of a number of four: a weight, or an output, of another order.
data[n + begin + (end - begin) // 8 * 4 + 3] ^= 0x40
open(path, "r+b").write(data)
os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
PY
}

# only PATTERN: the one file of that name.
only()
{
	local found
	found=$(find "$ASSAY_CACHE" -type f -path "$1")
	[ "$(wc -l <<<"$found")" -eq 1 ] && [ -n "$found" ] || fail "not one file $1: $found"
	echo "$found"
}

# A reference that was changed, one of another question, nothing: none decides a verdict, and each is made again.
other planted
right()
{
	bounded 0 60 1500 "$ASSAY" run "$work/bert" "${quick[@]}" --seq "$1" --json
	json 'd[0]["verdict"] == "right" and d[0]["reference"] == "engine:null"'
}
right 8
reference=$(only '*/reference/*.safetensors')
cp "$reference" "$work/reference-8"
right 16
sixteen=$(find "$ASSAY_CACHE/reference" -type f ! -samefile "$reference")
right 8
for plant in flipped copied ${ASSAY_LONG:+empty}; do
	case $plant in
	flipped) flip "$reference" ;;
	copied) cp "$sixteen" "$reference" ;;
	empty) : >"$reference" ;;
	esac
	right 8
	cmp -s "$reference" "$work/reference-8" || fail "a reference that was $plant is not made again"
done
# Files of a folder that everybody could write into once: any of them may be another's, hashes and all.
chmod 0755 "$ASSAY_CACHE" "$ASSAY_CACHE/reference"
find "$ASSAY_CACHE" -type f -path '*/reference/*' -exec chmod 0666 {} +
right 8
[ "$(stat -c %a "$reference")" != 666 ] || fail "a reference that everybody may write is believed"
ln -sf "$sixteen" "$reference"
right 8
[ ! -L "$reference" ] || fail "a link is a reference"

# Weights in another precision: a byte in the middle.
other planted-converted
code 0 "$ASSAY" run "$work/llama" "${quick[@]}" --precision int4-weights --json
weights=$(only '*/converted/*.safetensors')
cp "$weights" "$work/weights"
flip "$weights"
code 2 "$ASSAY" cache --verify
has out "$(basename "$weights"): its SHA-256 is .*: remove its folder, and it is made again"
bounded 0 60 1500 "$ASSAY" run "$work/llama" "${quick[@]}" --precision int4-weights --json
json 'd[0]["convert_ms"] > 0'
cmp -s "$weights" "$work/weights" || fail "converted weights with another byte are used"

# A FIFO in the place of each file: nobody waits for its other end, and what needs it is made again or told.
other fifo
synthetic() { timeout 60 "$ASSAY" run --synthetic "$cases/llama" "${quick[@]}" --seq 8 --precision int4-weights >"$work/out" 2>"$work/err" </dev/null; }
synthetic || fail "a run"
find "$ASSAY_CACHE" -type f >"$work/files"
for part in artifact/ .lock /used model.safetensors converted/ reference/ made.json; do
	grep -q -e "$part" "$work/files" || fail "no file of $part in the cache"
done
# One of a kind will do: files whose names differ in digests and numbers only are opened by the same code, and so are locks, marks of use and
# the weights of an artifact, wherever they lie.
if [ -z "${ASSAY_LONG:-}" ]; then
	paste <(sed -E 's/[0-9a-f]{8,}|[0-9]+/N/g; s,.*(\.lock|/used)$,\1,; s,(/artifact/.*/).*safetensors$,\1weights,' "$work/files") "$work/files" | awk -F'\t' '!seen[$1]++ { print $2 }' >"$work/kinds"
	mv "$work/kinds" "$work/files"
fi
# All at once; a FIFO that is still there may not have been looked at, because another was met before it: it is tried alone.
mkdir "$work/kept-files"
while read -r file; do
	cp -p "$file" "$work/kept-files/${file//\//_}" && rm "$file" && mkfifo "$file" || fail "no FIFO in the place of $file"
done <"$work/files"
synthetic
[ $? -le 3 ] || fail "FIFOs in the place of all files: not finished"
cp "$work/files" "$work/all" && : >"$work/files"
while read -r file; do
	if [ -p "$file" ]; then
		rm "$file" && cp -p "$work/kept-files/${file//\//_}" "$file" && echo "$file" >>"$work/files"
	fi
done <"$work/all"
synthetic || fail "a run after FIFOs"
while read -r file; do
	[ -f "$file" ] || continue
	cp -p "$file" "$work/kept"
	rm "$file" && mkfifo "$file"
	synthetic
	[ $? -le 3 ] || fail "a FIFO as ${file#"$ASSAY_CACHE/"}: not finished"
	[ ! -p "$file" ] || { rm "$file" && cp -p "$work/kept" "$file"; }
done <"$work/files"
weights=$(only '*/converted/*.safetensors')
rm "$weights" && mkfifo "$weights"
code 2 timeout 60 "$ASSAY" cache --verify
has out "$(basename "$weights"): is no file: remove its folder, and it is made again"

if has_platform cpu; then
	# Which cases pass, and the weights that cases are made into.
	other planted-cases
	mkdir -p "$work/share/conform/cases"
	cp -r "$cases/bert" "$work/share/conform/cases/"
	types() { ASSAY_SHARE=$work/share bounded "$1" 120 3000 "$ASSAY" types --json; }
	types 0
	kept=$(grep -l '"verdict":"right"' "$ASSAY_CACHE"/conform-results/*) || fail "no kept result says right"
	sed -i 's/"verdict":"right"/"verdict":"wrong"/' "$kept"
	types 0
	json '[x["cases_passed"] for x in d if x["type"] == "bert"] == [1]'
	flip "$(only '*/conform/*/model.safetensors')"
	bounded 0 120 3000 "$ASSAY" conform "$cases/bert"

	# Ranges of activations, which decide what int8-static rounds to.
	other planted-ranges
	static=(--on cpu --precision int8-static --seq 8 --runs 1 --no-conform --no-db --json)
	bounded 0 120 3000 "$ASSAY" run "$work/bert" "${static[@]}"
	ranges=$(only '*.ranges.json')
	cp "$ranges" "$work/ranges"
	sed -i 's/"high": *\([-0-9]\)/"high":1\1/g; s/"high":1-/"high":1/g' "$ranges"
	! cmp -s "$ranges" "$work/ranges" || fail "the ranges were not changed"
	bounded 0 120 3000 "$ASSAY" run "$work/bert" "${static[@]}"
	cmp -s "$ranges" "$work/ranges" || fail "ranges of activations that were changed are used"
fi

# A result is written through links of ours, not through those that others left in a folder of everybody.
if [ "$(id -u)" = 0 ]; then
	mkdir -m 1777 "$work/everybody"
	echo keep >"$work/kept"
	ln -s "$work/kept" "$work/everybody/r.html"
	chown -h 65534 "$work/everybody/r.html"
	code 1 "$ASSAY" report -o "$work/everybody/r.html"
	has err 'r\.html: a link that another user made'
	[ "$(cat "$work/kept")" = keep ] || fail "written through another user's link"
	chown -h 0 "$work/everybody/r.html"
	code 0 "$ASSAY" report -o "$work/everybody/r.html"
	[ -L "$work/everybody/r.html" ] && grep -qi html "$work/kept" || fail "a link of ours is not followed"
fi

# One that may not be written says nothing of who is asked.
if can_be 54321; then
	mkdir -m 0755 "$work/of-root" && mkdir -m 0777 "$work/anybody" && chmod 0755 "$work"
	ASSAY_CACHE=$work/of-root code 2 become 54321 "$ASSAY" run "$cases/bert" --synthetic "${quick[@]}" --db "$work/anybody/own.duckdb" --json
	json 'd[0]["verdict"] == "not_asked" and "the folder cannot be made: Permission denied" in d[0]["cause"]'
	ASSAY_CACHE=$work/of-root code 2 become 54321 "$ASSAY" conform --on null "$cases/bert"
	has out '^0 passed, 1 failed .1 of them not asked.$'
fi

# Nor is a database that nobody named, where another user may have put it.
if can_be $victim && [ "$(id -u)" -eq 0 ]; then
	mkdir -m 1777 "$work/sticky" && code 0 "$ASSAY" run "$work/bert" --on null --runs 1 --no-conform --db "$work/sticky/assay.duckdb"
	chown $attacker "$work/sticky/assay.duckdb" && chmod 0666 "$work/sticky/assay.duckdb"
	for command in "run $work/bert --on null --runs 1 --no-conform" "recommend $work/bert" report; do
		# shellcheck disable=SC2086
		(cd "$work/sticky" && failures=0 && ASSAY_DB='' ASSAY_CACHE=$work/victim code 1 become $victim "$ASSAY" $command && has err "belongs to user $attacker, and is not opened by the name that is the default"; exit $failures) ||
			fail "a planted database: $command"
	done
	(cd "$work/sticky" && failures=0 && ASSAY_CACHE=$work/victim code 0 become $victim "$ASSAY" query runs --db ./assay.duckdb; exit $failures) || fail "one that is named"
fi

# Weights that a process may not map are not damaged: it removed them while others read them, and made them again without end.
other unmapped
model=(bert-base-uncased --synthetic --layers 1 --seq 8 --runs 1 --on null --no-conform --no-db)
code 0 "$ASSAY" run "${model[@]}"
weights=$(find "$ASSAY_CACHE/synthetic" -name model.safetensors -printf '%i %p\n')
(ulimit -v 200000 && exec timeout 30 "$ASSAY" run "${model[@]}") >"$work/out" 2>"$work/err"
[ $? -lt 124 ] || fail "a run that may not map its weights did not end"
[ -n "$weights" ] && [ "$weights" = "$(find "$ASSAY_CACHE/synthetic" -name model.safetensors -printf '%i %p\n')" ] ||
	fail "weights that could not be mapped were made again"

# ---- what fills it ------------------------------------------------------------------------------------------------------------

# All that assay makes is shown and counts.
other full
key=$(printf '0a%.0s' $(seq 32))
mkdir -p "$ASSAY_CACHE/reference" "$ASSAY_CACHE/compiled/$key/deep" "$ASSAY_CACHE/digest" "$ASSAY_CACHE/claim"
fill() { head -c 1048576 /dev/zero >"$1" && touch -d '2 days ago' "$1"; }
fill "$ASSAY_CACHE/reference/$key.safetensors"
fill "$ASSAY_CACHE/compiled/$key/deep/blob"
fill "$ASSAY_CACHE/compiled/$key/made.json"
fill "$ASSAY_CACHE/digest/1-2"
: >"$ASSAY_CACHE/claim/0123456789abcdef"
bounded 0 10 300 "$ASSAY" cache --json
json 'd["problem"] is None and d["other_bytes"] == 0 and d["claims"] >= 1'
json 'd["references"] == d["compiled"] == d["digests"] == 1 and d["reference_bytes"] >= 2**20 and d["compiled_bytes"] >= 2**21 and d["digest_bytes"] >= 2**20'
bounded 0 10 300 "$ASSAY" cache
has out '^  compiled +2\.0 MiB in 1;'
# A run holds the limit, with real weights too.
bounded 0 60 1500 "$ASSAY" run "$work/bert" "${quick[@]}" --cache-limit 0.0035
[ ! -e "$ASSAY_CACHE/reference/$key.safetensors" ] || fail "the oldest is over the limit and still there"
[ -e "$ASSAY_CACHE/compiled/$key/made.json" ] || fail "removed, though it was within the limit"
# A folder where assay puts files kept all others; so did a limit that is none.
mkdir -p "$ASSAY_CACHE/reference/folder/in"
ASSAY_CACHE_LIMIT=abc code 1 "$ASSAY" cache --trim
has err '^assay: ASSAY_CACHE_LIMIT=abc: a number of GiB from 0 to 1000000 is wanted$'
bounded 0 10 300 "$ASSAY" cache --trim --cache-limit 0 --json
json 'd["removed_bytes"] >= 3 * 2**20 and d["references"] == d["compiled"] == d["digests"] == 0 and d["reference_bytes"] == d["compiled_bytes"] == d["digest_bytes"] == 0'
[ ! -e "$ASSAY_CACHE/claim/0123456789abcdef" ] || fail "the claim of a program that is gone stays"
finish
