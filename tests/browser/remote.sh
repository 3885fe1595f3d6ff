# SPDX-License-Identifier: Apache-2.0
# A browser that somebody else starts joins by opening the address that is told; a second one is turned away.
. "$SOURCE/tests/browser/lib.sh"
needs wasm chromium
program=$(command -v chromium || command -v google-chrome || true)
[ -n "$program" ] || { echo "skip: no Chromium in PATH to start by hand"; exit 77; }

"$ASSAY" run "$model" --on cpu:remote --runs 3 --json >"$work/out" 2>"$work/err" </dev/null &
parent=$!
started="$started $parent"
told()
{
	address=$(sed -n 's/.*open this address.*\(http:[^ ]*\).*/\1/p' "$work/err" | head -1)
	[ -n "$address" ]
}
until_true told
# The address is worth nothing without its token.
base=${address%%/page/*}
sandbox=
[ "$(id -u)" != 0 ] || sandbox=--no-sandbox
HOME=$work "$program" --headless=new $sandbox --disable-breakpad --no-first-run --user-data-dir="$work/profile" "${base%/*}/00000000000000000000000000000000/page/0/" >"$work/stranger" 2>&1 &
stranger=$!
started="$started $stranger"
HOME=$work "$program" --headless=new $sandbox --disable-breakpad --no-first-run --user-data-dir="$work/profile2" "$address" >"$work/browser" 2>&1 &
browser=$!
started="$started $browser"
got=0
wait "$parent" || got=$?
[ "$got" -eq 0 ] || fail "exit code $got"
is verdict right
is device remote
grep -q '"remote": true' "$work/out" || fail "the row does not say that the browser came from elsewhere"
for p in $stranger $browser; do
	kill "$p" 2>/dev/null || true
	wait "$p" 2>/dev/null || true
done
echo good
