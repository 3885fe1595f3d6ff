# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests here, behind tests/cli/lib.sh: what an attack costs, and other users.

# bounded CODES SECONDS MIB COMMAND...: as code, with upper bounds (bounded.c): seconds of processor time, not of the clock. Limits are
# those of the program without sanitizers. CODES may be several, with commas between them.
bounded()
{
	"$BUILD/tests/bounded" "$@" 3>"$work/bounds" >"$work/out" 2>"$work/err" </dev/null && return
	fail "${*/$ASSAY/assay}"
	cat "$work/bounds"
	sed 's/^/    /' "$work/out" "$work/err" | tail -20
}

# can_be UID: the program can be started as another user; where it cannot, a part is skipped.
can_be()
{
	setpriv --reuid="$1" --regid="$1" --clear-groups "$ASSAY" --version >/dev/null 2>&1 && return
	skip_part "the program cannot be started as another user here (setpriv wants root, and folders that others may enter)"
	return 1
}

# become UID COMMAND...
become()
{
	local uid=$1
	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
