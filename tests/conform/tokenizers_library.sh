# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# 10,000 random strings and 50 random chains of steps against the Python library `tokenizers`.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}" "${BUILD:?the build folder}"
python=${PYTHON:-python3}
export PYTHONPATH=$SOURCE/.deps/python PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import tokenizers, sys; sys.exit(not tokenizers.__version__.startswith("0.23."))' 2>/dev/null ||
	{ echo "skip: no Python library tokenizers 0.23 here (tools/deps --group client)"; exit 77; }
library=$BUILD/tests/libassay_plain_static.a
[ -e "$library" ] || library=$BUILD/libassay.a
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$ASSAY" "$work/assay"
ln -s "$library" "$work/libassay.a"
export ASSAY=$work/assay
"$python" "$SOURCE/bench/tokenize" --fuzz 10000 --seed 3
"$python" "$SOURCE/bench/tokenize" --chains 50 --seed 3 2>/dev/null # the library's own panics are told there
