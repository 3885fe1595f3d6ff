// SPDX-License-Identifier: Apache-2.0
// VITS from the inside: what its resolve finds in config.json, and what its halves hand each other. Everything that convolutions
// read is [batch, width, time]; a mask is f32 [batch, 1, time].
#ifndef ASSAY_ARCH_FAMILY_VITS_H
#define ASSAY_ARCH_FAMILY_VITS_H

#include "arch/family/vocoder.h"

struct vits {
	int64_t window, ffn_kernel, flow_size; // window: keys that far away have a vector of their own; 0: none has
	bool bias;                             // of the attention's layers
	int64_t flows, wave_layers, wave_kernel, wave_rate;
	int64_t speakers, speaker_size; // speakers 0: nobody in particular
	double pace, noise, duration_noise;
	// of durations; stochastic: by a flow that noise goes backwards through, else by two convolutions
	bool stochastic;
	int64_t separable_layers, bins, kernel, channels, duration_flows;
	double bound;
	struct vocoder vocoder;
};

// Who speaks: a vector f32 [1, speaker_size, 1] and 1, or 0 for nobody. NO_VALUE both: the model knows of none.
struct vits_voice {
	graph_value vector, there;
};

static inline const struct vits *vits_of(const struct build *b)
{
	return b->s->own;
}

// What STEM makes of the voice, to be added: [1, width, 1], or NO_VALUE. `normed`: STEM's kernel has weight norm.
graph_value vits_told(struct build *b, const char *stem, const struct vits_voice *voice, int64_t width, bool normed);
graph_value vits_conv(struct build *b, const char *stem, graph_value x, int64_t in, int64_t out); // a kernel of 1

// vits_durations.c: of x [batch, hidden, seq] the logarithm of how many frames each token takes, [batch, 1, seq].
graph_value vits_durations(struct build *b, graph_value x, graph_value mask, const struct vits_voice *voice);

#endif
