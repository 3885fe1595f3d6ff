# SPDX-License-Identifier: Apache-2.0
browser=chromium providers="webnn"
. "$SOURCE/tests/browser/lib_cells.sh"
