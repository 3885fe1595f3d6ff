#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# docs/PLATFORMS.md and docs/TYPES.md are of this program and of these conformance cases (docs/SCHEMA.md: schema_doc.sh), the tools that make
# them say so when they are not, and one that dies leaves the file as it was.
set -euo pipefail
command -v python3 >/dev/null || { echo "skip: tools/platforms and tools/types need python3"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
export PYTHONDONTWRITEBYTECODE=1 ASSAY_BROWSER_PATH=none
"$SOURCE/tools/platforms" "$ASSAY" --check
"$SOURCE/tools/types" "$ASSAY" --check

# A copy of the tree, as far as they look at it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_CACHE=$work/cache
mkdir -p "$work/tools" "$work/docs" "$work/tests/conform/cases"
cp "$SOURCE"/tools/{platforms,types,made.py} "$work/tools/"
cp -r "$SOURCE/tests/conform/cases/bert" "$work/tests/conform/cases/"

# stale TOOL FILE SED WORDS: with that change the check fails and says so.
stale()
{
	sed "$3" "$SOURCE/docs/$2" >"$work/docs/$2"
	! cmp -s "$SOURCE/docs/$2" "$work/docs/$2" || fail "nothing was changed in $2: $3"
	if "$work/tools/$1" "$ASSAY" --check >"$work/out" 2>&1; then fail "$2: '$3' was not noticed"; fi
	grep -q "$4" "$work/out" || fail "$2: '$3': $(cat "$work/out")"
}
ln -sfn "$SOURCE/tests/conform/cases" "$work/all"
rm -r "$work/tests/conform/cases" && ln -s "$work/all" "$work/tests/conform/cases"
stale platforms PLATFORMS.md 's/^| rocm | ort/| rocm | tro/' 'the table of platforms'
stale platforms PLATFORMS.md 's/^| xnnpack .*//' 'the table of platforms'
stale platforms PLATFORMS.md 's/^| spinning/| sleeping/' 'the options'
stale platforms PLATFORMS.md 's/^<!-- cases: ...*/<!-- cases: 1, 00 -->/' 'cases: 9'
stale types TYPES.md 's/^| albert | encoder/| albert | decoder/' 'albert (decoder)'
stale types TYPES.md '/^| vit | vit /d' 'vit (vit)'
stale types TYPES.md 's/^<!-- cases: ...*/<!-- cases: 1, 00 -->/' 'other conformance cases'

# What the program answers to conform is made up: three answers and their exit codes, or an error.
rm "$work/tests/conform/cases" && mkdir "$work/tests/conform/cases"
cp -r "$SOURCE"/tests/conform/cases/{bert,bert-relu} "$work/tests/conform/cases/"
cat >"$work/assay" <<'END'
#!/usr/bin/env bash
[ "$1" = conform ] || exec "$ASSAY" "$@"
[ "$CODE" != 1 ] || { echo "assay: an error of its own" >&2; exit 1; }
folder=${*: -1}
printf '[{"folder": "%s-", "passed": true, "reason": null}, {"folder": "%s", "passed": false, "reason": "off | by one"}]\n' "$folder" "$folder"
exit "$CODE"
END
chmod +x "$work/assay"
for code in 2 3; do
	cp "$SOURCE/docs/PLATFORMS.md" "$work/docs/"
	CODE=$code "$work/tools/platforms" "$work/assay" --on null --types bert || fail "tools/platforms ends where conform has exit code $code"
	grep -q '^| bert | 1/2 |$' "$work/docs/PLATFORMS.md" || fail "what was answered does not stand in the file"
	grep -q '^| null | bert-relu | off \\| by one |$' "$work/docs/PLATFORMS.md" || fail "what does not pass does not stand in the file"
done
cp "$SOURCE/docs/PLATFORMS.md" "$work/docs/"
if CODE=1 "$work/tools/platforms" "$work/assay" --on null --types bert 2>"$work/err"; then fail "an error was not noticed"; fi
cmp "$SOURCE/docs/PLATFORMS.md" "$work/docs/PLATFORMS.md" || fail "the file changed though the tool died"
[ "$(ls "$work/docs" | grep -c PLATFORMS)" = 1 ] || fail "something was left beside the file: $(ls "$work/docs")"
echo good
