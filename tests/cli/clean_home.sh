# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# A run leaves nothing in the home folder but assay's own cache: no engine's telemetry, no device id.
. "$(dirname "$0")/lib.sh" || exit 1
unset ASSAY_CACHE XDG_CACHE_HOME
export HOME=$work/home
mkdir -p "$HOME"
cp -r "$SOURCE/tests/conform/cases/bert" "$work/bert"
for on in cpu openvino; do
	has_platform $on || continue
	code 0 "$ASSAY" conform --on "$on" "$work/bert"
	code 0 "$ASSAY" run bert-base-uncased --synthetic --layers 1 --seq 8 --runs 1 --no-conform --on "$on"
done
others=$(cd "$HOME" && find . -type f -not -path './.cache/assay/*')
[ -z "$others" ] || fail "files in the home folder: $others"
finish
