// SPDX-License-Identifier: Apache-2.0
// Files of one process in the cache that must not outlive it; their names hold its token (base/claim.h): "TOKEN-N.safetensors" in
// CACHE/run, and "KEY.TOKEN.part" there, in CACHE/reference and in CACHE/conform for what is made under a temporary name and then
// renamed. Private to cell/.
#ifndef ASSAY_CELL_SCRATCH_H
#define ASSAY_CELL_SCRATCH_H

// Removes those of processes that are gone; what cannot be removed stays, and so does what has no known owner.
void scratch_sweep(void);

#endif
