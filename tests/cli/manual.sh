# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# docs/assay.1 has every command, option, environment variable, platform, verdict and exit code that there is, and no other.
. "$SOURCE/tests/cli/lib.sh" || exit 1
manual=$SOURCE/docs/assay.1

# same WHAT: the sorted words of $work/there and of $work/told are the same.
same()
{
	sort -u "$work/there" -o "$work/there"
	sort -u "$work/told" -o "$work/told"
	[ "$(wc -l <"$work/there")" -ge "$2" ] || fail "$1: only $(wc -l <"$work/there") were found, so the test looks in the wrong place"
	for word in $(comm -23 "$work/there" "$work/told"); do fail "$1 $word is not in docs/assay.1"; done
	for word in $(comm -13 "$work/there" "$work/told"); do fail "$1 $word of docs/assay.1 is not there"; done
}

# section NAME: the lines of one, without the dashes' backslashes.
section()
{
	sed -n "/^\.SH $1\$/,/^\.SH /p" "$manual" | sed 's/\\f[A-Z]/ /g; s/\\-/-/g'
}

commands=$("$ASSAY" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -v '^assay$')
printf '%s\n' $commands >"$work/there"
section COMMANDS | grep -A1 '^\.TP$' | sed -n 's/^\.[BIR]* "*assay \([a-z]*\).*/\1/p' >"$work/told"
same "the command" 24

# Options, of every command: the manual tells some once for several commands.
for name in $commands; do
	"$ASSAY" "$name" --help | sed -n 's/^  \(--*[a-z0-9-]*\).*/\1/p'
done | grep -vx -e -a -e -b >"$work/there"
for short in a b; do grep -q -- "\\\\-\\\\-$short" "$manual" || fail "option --$short is not in docs/assay.1"; done
{ section COMMANDS; section 'OPTIONS OF RUN, MATRIX AND AB'; } | grep -oE '(^|[^-[:alnum:]])--?[a-z][a-z0-9-]*' | grep -oE -- '-.*' | grep -E -- '^--..|^-.$' | grep -vxE -- '--?[ab]' >"$work/told"
# Other spellings of an option are in no help, and may be in the manual.
grep -hoE '^[[:space:]]*\{ "[a-z-]+", CLI_' "$SOURCE"/cli/*.[ch] | sed 's/.*"\(.*\)".*/--\1/' | sort -u | comm -12 - <(sort -u "$work/told") >>"$work/there"
same "the option" 60

# Variables: those read by name, and those in tables of the files that read them.
tables=$(grep -rlE 'getenv\([^"]|facts_environment\(|\.environment' "$SOURCE/src" "$SOURCE/cli" --include=*.c)
{
	grep -rhoE '\b(getenv|variable|is_true)\("[A-Z][A-Z0-9_]+"' "$SOURCE/src" "$SOURCE/cli" --include=*.c
	grep -hoE '"[A-Z][A-Z0-9]+(_[A-Z0-9]+)+( [A-Z_]+)*"' $tables
} | grep -oE '"[A-Z][A-Z0-9_ ]+"' | tr -d '"' | tr ' ' '\n' >"$work/there"
section ENVIRONMENT | grep -E '^\.BR? ' | grep -oE '\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b(HOME|PATH|TMPDIR)\b' >"$work/told"
same "the variable" 30

"$ASSAY" platforms | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p' >"$work/there"
sed -n '/^\.I PLATFORM$/,/^\.SH/p' "$manual" | sed -n '/^is one of$/,/^an engine/p' | grep '^\.BR' | sed 's/^\.BR //' | tr -d '",' | tr ' ' '\n' | grep . >"$work/told"
same "the platform" 15

sed -n '/^#define VERDICT_LIST/,/^$/s/^\tX([A-Z_]*, "\([a-z_]*\)", [0-9], ".*/\1/p' "$SOURCE/src/base/status.h" >"$work/there"
section VERDICTS | sed -n 's/^\.B \([a-z_]*\)$/\1/p' >"$work/told"
same "the verdict" 11

# As cli/command.h has them.
sed -n 's/^enum { EXIT_GOOD = \([0-9]\), EXIT_USE = \([0-9]\), EXIT_VERDICT = \([0-9]\), EXIT_WRONG = \([0-9]\) };.*/\1\n\2\n\3\n\4/p' "$SOURCE/cli/command.h" >"$work/there"
section 'EXIT STATUS' | sed -n 's/^\.B \([0-9]\)$/\1/p' >"$work/told"
same "the exit code" 4
finish
