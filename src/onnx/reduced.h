// SPDX-License-Identifier: Apache-2.0
// Linear layers whose weights are built in fewer bits. Private to onnx/.
#ifndef ASSAY_ONNX_REDUCED_H
#define ASSAY_ONNX_REDUCED_H

#include "onnx/graph.h"

// x [.., in] times a weight, [out, in] or with in_out [in, out], + b, in the form that graph_form.precise asks for. False: this
// one stays as it is (graph_left_out says why, where anything was asked for), and the caller builds it. Shapes were checked.
bool linear_reduced(struct graph *g, graph_value x, graph_value w, graph_value b, bool in_out, graph_value *y);

// A weight [out, in] in blocks of `block` along the input, as com.microsoft.MatMulNBits takes it.
struct block_weight {
	graph_value values; // u8 [out, blocks, block * bits / 8]: of 4 bits the earlier element is the low half of a byte
	graph_value scales; // f32 [out * blocks]
	graph_value zeros;  // u8 [out * ceil(blocks * bits / 8)], packed like values; NO_VALUE: 2^(bits - 1)
	int64_t in, out, block;
	int bits; // 4 or 8
};

graph_value dequantised_blocks(
	struct graph *g, graph_value x, const struct block_weight *w); // dequantised.c: x [.., in] -> [.., out]

// quantised.c: activations in integers. `stored`: the weight in its file.
const char *quantised_name(struct graph *g, graph_value stored);  // of this use of it; counts
const char *quantised_why_not(struct graph *g, const char *name); // NULL: it can be
graph_value quantised_linear(
	struct graph *g, graph_value x, graph_value stored, const char *name, int64_t in, int64_t out, bool in_out);
void quantised_watch(struct graph *g, graph_value x, graph_value stored);
void quantised_range(float low, float high, float *scale, uint8_t *zero);

// Says of a convolution that it stays as it is, where integers were asked for.
void convolution_left_out(struct graph *g, graph_value w);

#endif
