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
# forge_each NAME SQL NAME SQL...: the same of several, in one process. SQL that makes schemas or opens files is not for it.
forge_each()
{
	local all=
	while [ $# -gt 0 ]; do
		cp "$base" "$1.duckdb" || fail "no $1.duckdb"
		all="$all ATTACH '$1.duckdb' AS forged; USE forged; $2; USE memory; DETACH forged;"
		shift 2
	done
	"$shell" :memory: "$all" >forged 2>&1 || fail "forging: $(tail -3 forged)"
}
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
