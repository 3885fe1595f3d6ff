# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# --help of the program and of every command, word for word: the options are an interface. With UPDATE=1 the expected texts
# are written anew.
. "$SOURCE/tests/cli/lib.sh" || exit 1

expected=$SOURCE/tests/cli/help
commands=$("$ASSAY" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -v '^assay$')

code 0 "$ASSAY" --help
empty err
for name in detect doctor setup platforms inspect run matrix verify profile ab compare history reproduce recommend report query export import explain build fetch synth pipeline tokenize preprocess conform models types operators cache completion; do
	has out "^  $name +[A-Za-z]"
done
lacks out '^  cell '
# What people do comes first.
[ "$(echo $commands | cut -d' ' -f1-4)" = "run inspect report recommend" ] || fail "assay --help begins with $(echo $commands | cut -d' ' -f1-4)"
has out '^Run a model$'
# Engines for tests stand at the end of lists.
[ "$("$ASSAY" platforms | grep -oE '^[a-z-]+' | tail -1)" = null ] || fail "null is not the last platform"

for name in $commands cell; do
	code 0 "$ASSAY" "$name" --help
	empty err
	has out "^usage: assay $name"
	has out '^  --help'
	cp "$work/out" "$work/first"
	if [ -n "${UPDATE-}" ]; then
		mkdir -p "$expected" && cp "$work/out" "$expected/$name.txt"
	fi
	diff -u "$expected/$name.txt" "$work/out" || fail "the help of $name changed; UPDATE=1 takes the new text over"
	code 0 "$ASSAY" help "$name"
	cmp -s "$work/first" "$work/out" || fail "assay help $name differs from assay $name --help"
	awk 'length > 110 { exit 1 }' "$work/out" || fail "the help of $name has lines of more than 110 columns"
	# Every option is in the manual.
	for option in $(sed -n 's/^  \(--*[a-z-]*\).*/\1/p' "$work/out" | grep -vx -- --help); do
		[ "$name" = cell ] && continue
		grep -q -- "$(printf '%s' "$option" | sed 's/-/\\\\-/g')" "$SOURCE/docs/assay.1" || fail "docs/assay.1 lacks $option of $name"
	done
done

# The manual has every verdict with its sentence, in the words of base/status.h.
sed -n '/^#define VERDICT_LIST/,/^$/s/^\tX([A-Z_]*, "\([a-z_]*\)", [0-9], "\(.*\)").*/\1 \2/p' "$SOURCE/src/base/status.h" >"$work/verdicts"
[ "$(wc -l <"$work/verdicts")" -ge 11 ] || fail "no verdicts found in base/status.h"
while read -r word sentence; do
	grep -A1 "^\.B $word$" "$SOURCE/docs/assay.1" | grep -qiFx "$sentence." || fail "docs/assay.1 does not say of $word: $sentence"
done <"$work/verdicts"

code 0 "$ASSAY" --version
has out '^assay [0-9]+\.[0-9]+\.[0-9]+$'
finish
