// SPDX-License-Identifier: Apache-2.0
// Files of one process in the cache that must not outlive it: "PID-N.safetensors", and "KEY.PID.part" for what is made under a
// temporary name and then renamed. Private to measure/.
#ifndef ASSAY_MEASURE_SCRATCH_H
#define ASSAY_MEASURE_SCRATCH_H

// Removes those of processes that are gone; what cannot be removed stays. An absent folder is fine.
void scratch_sweep(const char *folder);

#endif
