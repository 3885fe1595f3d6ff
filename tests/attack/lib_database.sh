# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of databases here: $base is one with a row, and files are forged from it with DuckDB itself (duckdb_shell).
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
shell=$BUILD/tests/duckdb_shell
cd "$work" || exit 1
base=$work/base.duckdb secret="a line of this machine"
echo "$secret" >secret
"$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 3 --no-conform --db "$base" >out 2>err || fail "no database: $(tail -3 err)"

# sql FILE SQL: the last result of the statements in that database, by one process that does all that a script asks; exit code 1 where one
# failed, and why is in the file forged.
sql()
{
	local answer
	[ -n "${shell_process_PID:-}" ] || { coproc shell_process { exec "$shell" 2>forged; }; }
	printf '%s\0%s\0' "$1" "$2" >&"${shell_process[1]}"
	IFS= read -r -d '' answer <&"${shell_process[0]}" || { fail "duckdb_shell ended: $(tail -3 forged)"; return 1; }
	printf %s "${answer:1}"
	[ "${answer:0:1}" = 0 ]
}
# forge NAME SQL: NAME.duckdb, which is base.duckdb with this done to it.
forge() { cp "$base" "$1.duckdb" && sql "$1.duckdb" "$2" >/dev/null || fail "forging $1: $(tail -3 forged)"; }
# forge_each NAME SQL NAME SQL...: the same of several.
forge_each()
{
	for (( ; $# > 0; )); do
		forge "$1" "$2"
		shift 2
	done
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
