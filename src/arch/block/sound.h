// SPDX-License-Identifier: Apache-2.0
// Speech encoders from the inside: what the family's resolve finds in config.json, and the blocks that only these models have.
// Their stems are those of dialect/speech.c.
#ifndef ASSAY_ARCH_BLOCK_SOUND_H
#define ASSAY_ARCH_BLOCK_SOUND_H

#include "arch/block/block.h"

enum sound_positions { POSITIONS_NONE, POSITIONS_ROTARY, POSITIONS_RELATIVE, POSITIONS_RELATIVE_KEY };

// spec.own of the family.
struct sound {
	// stem: convolutions over the samples, or features as they come
	int64_t conv_count; // 0: features
	const int64_t *conv_dim, *conv_kernel, *conv_stride;
	bool conv_bias,
		conv_first_norm; // conv_first_norm: one norm after the first, over time; else one after each, over channels
	enum activation conv_act;
	int64_t feature_size; // what the stem gives
	bool feature_norm, feature_projection;
	bool gives_features; // they are a result of the bare model
	// positions by convolution
	int64_t position_kernel, position_groups, position_layers; // position_layers 0: one, weight-normed
	bool position_batch_norm;
	// layers
	bool norm_first;
	double inner_eps;     // of norms that are not given layer_norm_eps
	int64_t squeeze;      // 0: none; the layers see means of so many frames
	int64_t buckets, far; // 0: none; a gated bias by bucket of distance
	int64_t bottleneck;   // 0: none; a narrow residual after each layer
	// conformer layers
	int64_t conformer_kernel; // 0: these are not
	bool causal_convolution;  // theirs sees the past only and is layer-normed
	bool zeroed_convolution;  // what it reads is 0 where there is padding, as it is in a causal one
	bool last_norm;           // after the last of them
	int64_t chunk,
		left_chunks; // a frame sees those of its chunk and of so many before, -1: of all before; chunk 0: all frames
	enum sound_positions positions;
	int64_t key_left, key_right; // of POSITIONS_RELATIVE_KEY
	// what shortens the result
	int64_t adapter_layers, adapter_kernel, adapter_stride, out_size;
	bool adapter_ffn;      // half a feed-forward before it
	bool adapter_from_all; // each of its layers takes the mask for what one layer leaves of all frames
	enum activation adapter_act;
	// heads
	bool weighted_sum;
	int64_t projector_size, xvector_size, tdnn_count;
	int64_t code_groups, codes, code_size, code_out; // of pre-training's quantizer; codes are those of a group
	const int64_t *tdnn_dim, *tdnn_kernel, *tdnn_dilation;
};

static inline const struct sound *sound_of(const struct build *b)
{
	return b->s->own;
}

// Layer norm with an epsilon of its own; without stem, without weights.
graph_value sound_norm(struct build *b, const char *stem, graph_value x, int64_t width, double epsilon);
graph_value sound_glu(struct graph *g, graph_value x, int axis, int64_t width); // halves of 2*width: first * sigmoid(second)

// STEM's kernel [first, second, kernel] of weight norm, which has a length for each of `first`, in newer and older files' words.
graph_value sound_normed_kernel(struct build *b, const char *stem, int64_t first, int64_t second, int64_t kernel);

// A convolution over time that keeps its length, padded by zeros, by one more behind for an even kernel: x [batch, in, frames] ->
// [batch, out, frames].
struct sound_kernel {
	int64_t in, out, kernel, dilation, groups; // dilation, groups: 0 is 1
	bool no_bias;
};
graph_value sound_conv(struct build *b, const char *stem, graph_value x, const struct sound_kernel *k);
// The same by a kernel w [out, in / groups, kernel] that is at hand; STEM has its bias.
graph_value sound_conv_by(struct build *b, const char *stem, graph_value w, graph_value x, const struct sound_kernel *k);
graph_value sound_transposed(struct graph *g, graph_value x); // [batch, a, b] -> [batch, b, a]

graph_value sound_batch_norm(struct build *b, const char *stem, graph_value x, int64_t width); // [batch, width, frames]
// What is added to a spectrogram [batch, frames, bins] behind a decoder: convolutions over the frames, "post.conv", each with
// batch norm and, but for the last, tanh.
struct sound_postnet {
	int64_t bins, layers, width, kernel;
};
graph_value sound_after(struct build *b, graph_value mel, const struct sound_postnet *p);
// Of how many frames each token takes, whole numbers in f32 [batch, seq], which frame is which token's: f32 [batch, seq, frames].
// *lengths: f32 [batch], the frames of each row, 1 at least.
graph_value sound_repeats(struct build *b, graph_value durations, graph_value *lengths);

// resblock_dilation_sizes, a list for each of so many kernels: [wanted], each [counts[i]], in `a`.
const int64_t **sound_dilations(struct config *c, struct arena *a, int64_t wanted, const int64_t **counts);

// [batch, samples] -> [batch, frames, feature_size]
graph_value sound_stem(struct build *b, graph_value samples);
// A mask [batch, samples] -> f32 [batch]: how many frames the stem gives for so many; then what one adapter layer leaves.
graph_value sound_lengths(struct build *b, graph_value mask);
graph_value sound_adapter_length(struct build *b, graph_value lengths);
graph_value sound_conv_length(struct graph *g, graph_value lengths, int64_t kernel, int64_t stride);
// Is frame t * step of x [batch, frames, ..] one of `lengths`: bool [batch, frames]
graph_value sound_frames(struct build *b, graph_value x, graph_value lengths, int64_t step);
// The same for classes that mark the last frame, at lengths - 1, and all before it: what is 0 or less counts from the end.
graph_value sound_frames_to_last(struct build *b, graph_value x, graph_value lengths);
graph_value sound_zeroed(struct build *b, graph_value x, graph_value frames); // 0 where frames [batch, frames] is false
// What the convolutional positions of x [batch, frames, hidden] are.
graph_value sound_positions(struct build *b, graph_value x);
// The gated bias: buckets of distance, the same for all layers [1, heads, frames, frames]; for x it is gated and gets the mask.
graph_value sound_bias(struct build *b, graph_value x);
graph_value sound_gated(struct build *b, graph_value x, graph_value bias, graph_value mask);

// conformer.c: [batch, frames, hidden]; mask [batch, 1, 1 or frames, frames], frames [batch, frames] or NO_VALUE where padding is
// not cleared.
graph_value conformer_positions(struct build *b, graph_value x); // POSITIONS_RELATIVE: sines [2*frames-1, hidden]
// (q + v) positions^T by relative distance, not scaled: [batch, heads, frames, frames]. q [batch, frames, heads * head_width].
graph_value conformer_relative(struct build *b, graph_value q, graph_value positions, graph_value x);
// q e^T, where e is the row of "layers.attn.distance" by how far the key is ahead of the query, or behind it, between -key_left
// and key_right: x [batch, frames, ..], q [batch, frames, heads * head_width] -> [batch, heads, frames, frames].
graph_value sound_distance_bias(struct build *b, graph_value q, graph_value x, bool behind);
graph_value conformer_layer(struct build *b, graph_value x, graph_value mask, graph_value frames, graph_value positions,
	graph_value cos, graph_value sin);

#endif
