// SPDX-License-Identifier: Apache-2.0
// What rows of decoders may set: traits.h.
#ifndef ASSAY_ARCH_FAMILY_DECODER_H
#define ASSAY_ARCH_FAMILY_DECODER_H

#include "arch/spec.h"

#define DECODER_TRAITS(X, T) \
	X(T, FLAG, sandwich_norm, "a norm after attention and feed-forward too, inside the residual") \
	X(T, FLAG, reordered_norm, "the norms stand after attention and feed-forward only, inside the residual") \
	X(T, FLAG, no_last_norm, "no norm after the last layer") \
	X(T, FLAG, parallel, "attention and feed-forward side by side, from one norm") \
	X(T, FLAG, parallel_norms, "attention and feed-forward side by side, each from a norm of its own") \
	X(T, FLAG, scaled_embedding, "token embeddings times sqrt(hidden)") \
	X(T, COUNT, sinusoids, \
		"sines and cosines of the position are added to the embedding; the slowest takes 2 pi 10000 tokens, or (2) " \
		"would be one further") \
	X(T, FLAG, window_rope, "only layers with a window have rotary positions") \
	X(T, FLAG, may_be_bidirectional, "use_bidirectional_attention takes the causal mask away") \
	X(T, FLAG, uncapped_scores, "attn_logit_softcapping has no effect") \
	X(T, FLAG, unscaled_attention, "scores are not divided by the root of the head's width") \
	X(T, FLAG, qkv_bias_only, "attention_bias does not mean the output projection") \
	X(T, FLAG, lm_bias_too, "use_bias means the language model's head too") \
	X(T, FLAG, gelu_by_tanh, "gelu means its tanh approximation") \
	X(T, ACT, usual_act, "the activation where the configuration names none") \
	X(T, FLAG, sigmoid_router, "experts are weighed by the sigmoid of their scores, not by their softmax") \
	X(T, FLAG, normalised_experts, "the chosen experts' weights sum to 1, whatever the configuration says") \
	X(T, FLAG, router_linear_bias, "the router has a bias") \
	X(T, FLAG, choice_of_logits, "experts are chosen by their scores before the sigmoid") \
	X(T, FLAG, choice_bias_row, "the bias of the experts' choice lies as [1, experts]") \
	X(T, FLAG, sparse_mixer, "experts are chosen one by one, each weighed against those near it") \
	X(T, FLAG, group_of_one, "a group of experts is worth its best one") \
	X(T, COUNT, one_shared_expert, "shared experts where the configuration does not say how many") \
	X(T, FLAG, last_unwindowed, "the last layer has no window, whatever the configuration says") \
	X(T, FLAG, last_unwindowed_usually, "the last layer has no window, where config.json lists no layer types") \
	X(T, FLAG, two_heads, "layers without a window have heads of their own width and number") \
	X(T, FLAG, moe_beside, \
		"experts stand beside the feed-forward, each with norms of its own, and look at the sum before it") \
	X(T, FLAG, one_branch, "a layer is attention, a recurrence, a feed-forward or experts, with one norm") \
	X(T, FLAG, mixer_eps, "the norm of what the delta rule gives has an epsilon of 1e-5, whatever the configuration says") \
	X(T, FLAG, decay_each, "the delta rule has a decay for each element of a key, and a sigmoid as the gate") \
	X(T, FLAG, weighed_inputs, "an expert's input is weighed, not what it gives") \
	X(T, FLAG, first_unwindowed, "where window_pattern counts, the first layer has no window either") \
	X(T, FLAG, window_keys_doubled, "layers with a window have twice as many heads of keys") \
	X(T, FLAG, shared_block, \
		"before some recurrences stands a block of attention and feed-forward, whose weights several layers share") \
	X(T, FLAG, least_step, "a recurrence's time step is at least time_step_min") \
	X(T, FLAG, window_inclusive, "tokens that see both ways see the one as far away as their window is wide") \
	X(T, FLAG, indexer_interleaved, "the indexer's rotary pairs lie side by side") \
	X(T, FLAG, paired, \
		"layers go by twos, of one number; experts stand beside the first's feed-forward and are added after the " \
		"second's") \
	X(T, FLAG, scaled_latents, "the latents of attention are scaled by the roots of how much narrower they are") \
	X(T, FLAG, never_tied, "the output head is a layer of its own, whatever tie_word_embeddings says") \
	X(T, FLAG, first_unnormed, "the first layer's attention has no norm before it") \
	X(T, FLAG, half_window, "local_attention is twice the window") \
	X(T, COUNT, window_every, "where config.json lists no layer types: every Nth layer has the window") \
	X(T, FLAG, out_bias_always, "the attention's output projection has a bias, whatever attention_bias says") \
	X(T, FLAG, half_ffn, "the feed-forward is half as wide as the configuration says") \
	X(T, FLAG, bfloat16_scale, "the embedding's scale is rounded to bfloat16") \
	X(T, COUNT, mixer, \
		"what layers without attention have: 1 a short convolution, 2 Mamba, 3 Mamba-2, 4 the gated delta rule, 5 " \
		"RG-LRU, 8 lightning attention") \
	X(T, COUNT, attention_every, "where the configuration does not say which layers have attention, every Nth has it") \
	X(T, FLAG, mixer_beside, "every layer has attention and such a mixer side by side") \
	X(T, FLAG, no_rotary, "there are no rotary positions") \
	X(T, FLAG, experts_in_out, "the experts' weights lie as [experts, in, out]") \
	X(T, FLAG, may_encode, "all tokens see each other where is_decoder is false") \
	X(T, FLAG, sees_ahead, "every token sees those ahead; windows reach sliding_window tokens both ways") \
	X(T, COUNT, unpredicted, "the last words of the vocabulary that the language model's head does not give") \
	X(T, COUNT, uncounted, "words of the vocabulary that vocab_size does not count") \
	X(T, FLAG, gives_last, "last_hidden_state comes out beside the language model's logits") \
	X(T, FLAG, last_norm_plain, "norm_plus_one does not mean the last norm") \
	X(T, FLAG, gated_residuals, "sums weigh each element of x and y by a learned gate") \
	X(T, FLAG, scales_first, "norms after a branch multiply by 1 + weight before they norm, or have no weight") \
	X(T, FLAG, depth_scaled, "sum n of a residual, from 2, is x sqrt((n - 1) / n) + y / sqrt(n)") \
	X(T, FLAG, scaled_nope, \
		"layers whose rotary parameters are null have none, and queries times (1 + (position + 1) / 2048)^0.1") \
	X(T, COUNT, window_edges, \
		"where config.json lists no layer types the first two layers, every fourth after the second and (1) the last " \
		"have no window") \
	X(T, FLAG, window_from_last, \
		"window_pattern counts from the last layer; layers without a window have no rotary positions where " \
		"layer_rope_theta does not say which") \
	X(T, FLAG, swiglu_halves, "clamped_swiglu: gate and up are halves") \
	X(T, FLAG, clamped_swiglu, \
		"experts: (up + 1) * gate * sigmoid(alpha * gate), clamped, gate and up side by side, with biases where there " \
		"are words for them") \
	X(T, FLAG, clamped_silu, "experts: silu(gate) * up, clamped, gate and up in halves") \
	X(T, FLAG, latent_eps, "the norms of latents have rms_norm_eps, not 1e-6") \
	X(T, FLAG, doubled_latent, "queries are made of the latent, normed, and of the latent as it is, side by side") \
	X(T, FLAG, joined_nope, "in layers without rotary positions the rotated part of keys is one of each head") \
	X(T, FLAG, indexer_rope_last, "the indexer's heads are turned at their end, and the norm of its keys has rms_norm_eps") \
	X(T, FLAG, clamped_ffn, "feed-forwards, too: clamped_swiglu, in halves") \
	X(T, FLAG, clamped_gates, "feed-forwards and experts, one by one: the gate is at most swiglu_limit, up within it") \
	X(T, FLAG, silu_experts, "experts have silu, whatever hidden_act says")
FAMILY_TRAITS(decoder, DECODER_TRAITS);

void decoder_resolve(struct config *c, struct spec *s, struct arena *a);

#endif
