#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# The three published queries of the original system, unchanged, on a database that was made just now, with the `duckdb` client of PyPI
# (group client of deps.lock: pinned, unpacked, imported by this machine's Python). Its module is for CPython 3.11 on x86_64 Linux.
set -euo pipefail
python=$SOURCE/.deps/python
skip() { echo "skip: $*"; exit 77; }
fail() { echo "FAILED: $*" >&2; exit 1; }
[ -f "$SOURCE/.deps/.complete-client" ] || skip "the client is not here; tools/deps --group client brings it"
command -v python3 >/dev/null || skip "no python3"
this=$(python3 -c 'import platform, sys; print(sys.implementation.name, "%d.%d" % sys.version_info[:2], platform.system(), platform.machine())')
[ "$this" = "cpython 3.11 Linux x86_64" ] || skip "the pinned client is for cpython 3.11 Linux x86_64, and this is $this"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_CACHE="$work/cache" PYTHONPATH="$python" PYTHONDONTWRITEBYTECODE=1

# A fresh assay.duckdb in a folder of its own: rows that count as a success, one that failed, and one whose platform is not here.
cd "$work"
unset ASSAY_DB
"$ASSAY" run "$SOURCE/tests/conform/cases/bert" "$SOURCE/tests/conform/cases/vit" --synthetic --on null,cpu --runs 11 >/dev/null 2>run.err || true
"$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null:fail=run@1 --runs 11 >/dev/null 2>>run.err && fail "a failing cell must not exit 0"
[ -f assay.duckdb ] || fail "no database: $(tail -3 run.err)"

cat >published.py <<'PY'
import sys
import duckdb
assert duckdb.__version__ == sys.argv[1], f"the client is {duckdb.__version__}, the lock says {sys.argv[1]}"
c = duckdb.connect("assay.duckdb", read_only=True)
queries = [
    "SELECT hardware, AVG(inference_time) as avg_time FROM hardware_results WHERE success = TRUE GROUP BY hardware ORDER BY avg_time ASC;",
    "SELECT model_type, hardware, AVG(inference_time) as avg_time FROM hardware_results WHERE success = TRUE GROUP BY model_type, hardware ORDER BY model_type, avg_time ASC;",
    "SELECT model_id, hardware, memory_usage FROM hardware_results WHERE success = TRUE ORDER BY memory_usage DESC LIMIT 20;",
]
hardware, architecture, memory = [c.sql(q).fetchall() for q in queries]
print(hardware, architecture, memory, sep="\n")
ran = {h for h, in c.sql("SELECT DISTINCT hardware FROM hardware_results WHERE success").fetchall()}
assert "null" in ran, "the null engine's own platform counts"
assert {h for h, t in hardware} == ran and all(t > 0 for h, t in hardware)
assert [t for h, t in hardware] == sorted(t for h, t in hardware)
assert {(a, "null") for a in ("encoder-only", "vision")} <= {(a, h) for a, h, t in architecture}
assert [a for a, h, t in architecture] == sorted(a for a, h, t in architecture)
n, good = c.sql("SELECT count(*), count(*) FILTER (success) FROM hardware_results").fetchone()
assert n == 5 and len(memory) == good <= 4, "the failed row is no success"
assert [m for i, h, m in memory] == sorted((m for i, h, m in memory), reverse=True) and all(m > 0 for i, h, m in memory)

# The two tables have the columns that they had, with their types.
had = {
    "hardware_results": "id INTEGER, model_id VARCHAR, model_type VARCHAR, hardware VARCHAR, success BOOLEAN, load_time DOUBLE, inference_time DOUBLE, "
                        "memory_usage DOUBLE, error VARCHAR, timestamp TIMESTAMP, output_shape VARCHAR",
    "hardware_detection": "id INTEGER, hardware_type VARCHAR, available BOOLEAN, name VARCHAR, features VARCHAR, timestamp TIMESTAMP",
}
for table, columns in had.items():
    got = ", ".join(f"{name} {kind}" for name, kind, *_ in c.sql(f"DESCRIBE {table}").fetchall())
    assert got == columns, f"{table}: {got}"
assert c.sql("SELECT count(*) FROM hardware_detection WHERE available").fetchone()[0] > 0
try:
    c.execute("DELETE FROM cell")
    sys.exit("a client that opened it for reading could delete")
except duckdb.Error:
    pass
PY
version=$(sed -n '/^package duckdb$/,/^sha256/s/^version //p' "$SOURCE/deps.lock")
python3 published.py "$version" || fail "the published queries"
echo good
