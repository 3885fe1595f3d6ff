# SPDX-License-Identifier: Apache-2.0
browser=chromium providers="wasm webgpu"
. "$SOURCE/tests/browser/lib_cells.sh"
