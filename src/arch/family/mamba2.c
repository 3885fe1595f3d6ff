// SPDX-License-Identifier: Apache-2.0
// Mamba-2 (Dao, Gu 2024, https://arxiv.org/abs/2405.21060): a state space whose decay is one number a head.
// Each layer is x + mixer(norm(x)); block/state_space.c has the mixer and its states.
#include "arch/block/recurrent.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, false);
	if (!c->error.status)
		s->ffn_size = resolve_recurrence(c, s, a, MIX_MAMBA2)->channels;
}

static void body(struct build *b, struct body *io)
{
	recurrent_layers(b, io, mamba2_mixer);
}

const struct family mamba2 = {
	.name = "mamba2",
	.architecture = "state-space",
	.resolve = resolve,
	.build = recurrent_build,
	.body = body,
	.heads = recurrent_heads,
	.sizes = recurrence_sizes,
};
