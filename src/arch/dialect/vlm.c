// SPDX-License-Identifier: Apache-2.0
// What checkpoints of vision-language models call what lies between their parts. Newer files have everything but the head
// behind "model.".
#include "arch/dialect.h"

const struct dialect llava_names = {
	.name = "llava", .prefix = "model.", .keys = NO_KEYS,
	.weights = WEIGHTS(
		{ "projector.norm", "@multi_modal_projector.projector_layernorm" },
		{ "projector.1", "@multi_modal_projector.linear_1" },
		{ "projector.2", "@multi_modal_projector.linear_2" },
		{ "newline", "@image_newline" },
		{ "head.lm.out", "lm_head" }),
	.ignored = IGNORED("*embeddings.position_ids", "*rotary_emb.inv_freq"),
};
