#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Installs into a scratch prefix, moves the prefix, takes the source folder away where that can be done, and runs a cell with
# the installed program and with the example of assay.h, built as its comment says.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_CACHE_HOME=$scratch/cache HOME=$scratch
unset ASSAY_ENGINE_PATH ASSAY_PROGRAM XDG_DATA_HOME
fail() { echo "FAILED: $*"; exit 1; }

cmake --install "$BUILD" --prefix "$scratch/first" >"$scratch/install.log" || { cat "$scratch/install.log"; fail "cmake --install"; }
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
lib=$(dirname "$(find "$prefix" -name libassay.a)")
for file in bin/assay include/assay.h share/doc/assay/LICENSE share/man/man1/assay.1 share/assay/conform/cases/bert/case.json share/assay/conform/pipeline/image-classification-vit/pipeline.json share/assay/deps.lock share/assay/tools/deps share/assay/tools/steps.sh; do
	[ -f "$prefix/$file" ] || fail "$file is not installed"
done
[ -L "$lib/libassay.so" ] || fail "libassay.so is not installed"

echo "only assay_* is exported:"
nm -D --defined-only "$lib/libassay.so" | awk '{ print $3 }' >"$scratch/exported"
grep -q '^assay_run' "$scratch/exported" || fail "assay_run is not exported"
if [ "$SANITIZE" = 0 ] && grep -v '^assay_' "$scratch/exported"; then fail "these names are exported too"; fi

echo "the example of assay.h, with pkg-config:"
sed -n '/#include <assay\.h>/,/^ \*     cc /s/^ \*     //p' "$prefix/include/assay.h" | sed '/^cc /d' >"$scratch/example.c"
grep -q 'int main' "$scratch/example.c" || fail "assay.h opens without an example"
flags=()
[ "$SANITIZE" = 0 ] || flags=(-fsanitize=address,undefined)
export PKG_CONFIG_PATH=$lib/pkgconfig
# shellcheck disable=SC2046
cc -std=c17 -Wall -Wextra -Werror "${flags[@]}" -o "$scratch/example" "$scratch/example.c" $(pkg-config --cflags --libs assay)
# shellcheck disable=SC2046
cc -std=c17 "${flags[@]}" -o "$scratch/example-static" "$scratch/example.c" $(pkg-config --static --cflags --libs assay | sed 's/-lassay/-l:libassay.a/')

echo "the header by itself, as C++ too:"
for flags_of in "cc -std=c17 -x c" "c++ -std=c++11 -x c++"; do
	echo '#include <assay.h>' | $flags_of -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -fsyntax-only - || fail "assay.h with $flags_of"
done

echo "the same with find_package:"
cat >"$scratch/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(example C)
find_package(assay 0.1 REQUIRED)
add_executable(found example.c)
target_link_libraries(found assay::assay)
END
cmake -S "$scratch" -B "$scratch/found" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="${flags[*]}" >"$scratch/found.log" &&
	cmake --build "$scratch/found" >>"$scratch/found.log" || { cat "$scratch/found.log"; fail "find_package(assay)"; }

cat >"$scratch/run.sh" <<'END'
set -eu
cd "$scratch"
"$prefix/bin/assay" run bert-base-uncased --synthetic --layers 1 --runs 3 --seq 16 --on cpu --db "$scratch/rows.duckdb" --json >"$scratch/rows.json" ||
	{ cat "$scratch/rows.json"; exit 1; }
grep -q '"verdict": "right"' "$scratch/rows.json" || { cat "$scratch/rows.json"; exit 1; }
"$prefix/bin/assay" doctor cpu:CPU >"$scratch/doctor" || { cat "$scratch/doctor"; exit 1; }
grep -q "  ok    library      $prefix/lib/assay/engines/onnxruntime/libonnxruntime" "$scratch/doctor" || { cat "$scratch/doctor"; exit 1; }
"$prefix/bin/assay" setup qnn --list >"$scratch/setup" || { cat "$scratch/setup"; exit 1; }
grep -qx "into $scratch/.local/share/assay" "$scratch/setup" && grep -q 'Qualcomm' "$scratch/setup" || { cat "$scratch/setup"; exit 1; }
said() { [ "$(grep -c "$1" "$scratch/said")" = "$2" ] || { cat "$scratch/said"; exit 1; }; }
rm rows.duckdb
LD_LIBRARY_PATH=$lib ./example | tee "$scratch/said"
said ': right, ' 2
# What is finished is not measured again, by whichever of them.
ASSAY_PROGRAM=$prefix/bin/assay ./example-static >"$scratch/said"
said 'finished before, right' 2
LD_LIBRARY_PATH=$lib ./found/found >"$scratch/said"
said 'finished before, right' 2
END
export scratch prefix lib SOURCE
# A mount namespace of its own can lay an empty folder over the source, so that nothing can come from there.
if unshare -m true 2>/dev/null; then
	echo "cells, with the source folder taken away:"
	unshare -m bash -c 'cd / && mount -t tmpfs none "$SOURCE" && exec bash "$scratch/run.sh"' || fail "the installed assay does not run on its own"
else
	echo "cells (no mount namespace here, so the source folder stays):"
	bash "$scratch/run.sh" || fail "the installed assay does not run"
fi
