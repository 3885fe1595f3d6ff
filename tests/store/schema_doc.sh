#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# docs/SCHEMA.md is what tools/schema makes of a fresh database, and every table and column has a comment.
set -euo pipefail
command -v python3 >/dev/null || { echo "skip: tools/schema needs python3"; exit 77; }
"$SOURCE/tools/schema" "$ASSAY" --check
# The check can fail: of a copy with another text it says so.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/docs" "$work/tests/conform/cases"
cp "$SOURCE/tools/schema" "$SOURCE/tools/made.py" "$work/tools/"
cp -r "$SOURCE/tests/conform/cases/bert" "$work/tests/conform/cases/"
sed 's/never null/sometimes null/' "$SOURCE/docs/SCHEMA.md" >"$work/docs/SCHEMA.md"
if "$work/tools/schema" "$ASSAY" --check >"$work/out" 2>&1; then
	echo "FAILED: a changed file was not noticed"
	exit 1
fi
grep -q '^-.*sometimes null' "$work/out"
"$work/tools/schema" "$ASSAY"
cmp "$work/docs/SCHEMA.md" "$SOURCE/docs/SCHEMA.md"
echo good
