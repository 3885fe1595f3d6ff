# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of databases here: $base is one with a row, and files are forged from it with DuckDB itself (duckdb_shell).
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
shell=$BUILD/tests/duckdb_shell
cd "$work" || exit 1
base=$work/base.duckdb secret="a line of this machine"
echo "$secret" >secret
"$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db "$base" >out 2>err || fail "no database: $(tail -3 err)"

# forge NAME SQL: NAME.duckdb, which is base.duckdb with this done to it.
forge() { cp "$base" "$1.duckdb" && "$shell" "$1.duckdb" "$2" >forged 2>&1 || fail "forging $1: $(tail -3 forged)"; }
# refused WORDS COMMAND...: exit code 1 and a sentence with the words; nothing of this machine in what it says.
refused()
{
	local words=$1
	shift
	code 1 "$@"
	has err "$words"
	lacks err "$secret"
	lacks out "$secret"
}
