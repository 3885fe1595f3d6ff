# SPDX-License-Identifier: Apache-2.0
# Tier: long
# Program: plain
# A writer killed in the middle of each write that a row takes, one after the other: the database opens, and every row is there.
set -eu
: "${BUILD:?the build folder}"
"$BUILD/tests/test_store_crash" all
