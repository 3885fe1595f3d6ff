// SPDX-License-Identifier: Apache-2.0
// What mixes a layer's tokens in the place of attention: a convolution or a recurrence, whose state has a fixed size. Families
// made of nothing else use these (family/mamba.c), and so do decoders that have attention in some layers only (family/decoder.c).
// Their weights are layers.in, layers.conv, layers.out and those of each kind below.
#ifndef ASSAY_ARCH_BLOCK_RECURRENT_H
#define ASSAY_ARCH_BLOCK_RECURRENT_H

#include "arch/block/block.h"

// x [batch, seq, hidden] and mask_of_new -> [batch, seq, hidden], by b->s->recurrence.
graph_value mamba_mixer(struct build *b, struct body *io, graph_value x, graph_value mask);
graph_value mamba2_mixer(struct build *b, struct body *io, graph_value x, graph_value mask);
graph_value convolution_mixer(struct build *b, struct body *io, graph_value x, graph_value mask);
graph_value lightning_mixer(struct build *b, struct body *io, graph_value x, graph_value mask);
graph_value rglru_mixer(struct build *b, struct body *io, graph_value x, graph_value mask);
graph_value delta_mixer(struct build *b, struct body *io, graph_value x, graph_value mask);

#endif
