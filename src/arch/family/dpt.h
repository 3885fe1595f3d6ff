// SPDX-License-Identifier: Apache-2.0
// What dense prediction transformers share: a transformer's states as maps for the neck.
#ifndef ASSAY_ARCH_FAMILY_DPT_H
#define ASSAY_ARCH_FAMILY_DPT_H

#include "arch/block/neck.h"
#include "arch/block/vit.h"

enum readout { READOUT_PROJECT, READOUT_IGNORE, READOUT_ADD };

// spec.own of the family. It begins as vit's does, whose layers it has.
struct dpt {
	struct vit vit;
	struct neck neck;
	enum readout readout;
	bool hybrid, backbone; // the two exclude each other
	bool projected;        // one more convolution in the head
	const bool *chosen;    // [layers]: is what the layer gives a state for the neck
};

// states [neck.states] of [batch, 1 + patches, hidden], or maps already -> maps for neck_fuse.
graph_value *dpt_maps(struct build *b, graph_value pixels, const graph_value *states);

#endif
