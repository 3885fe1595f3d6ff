// SPDX-License-Identifier: Apache-2.0
// Mamba (Gu, Dao 2023, https://arxiv.org/abs/2312.00752) and Falcon Mamba (https://arxiv.org/abs/2410.05355): a selective state
// space.
// Each layer is x + mixer(norm(x)); block/state_space.c has the mixer and its states.
#include "arch/family/mamba.h"

#include "arch/block/recurrent.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	resolve_transformer(c, s, false);
	if (c->error.status)
		return;
	struct recurrence *r = resolve_recurrence(c, s, a, MIX_MAMBA);

	if (config_given(c, "intermediate_size"))
		r->channels = config_size(c, "intermediate_size", -1);
	r->normed_selection = TRAITS_OF(s, mamba)->normed_selection;
	r->eps = config_real(c, "mixer_rms_eps", 1e-6);
	s->ffn_size = r->channels;
	if (s->ffn_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "intermediate_size %lld", (long long)s->ffn_size);
}

static void body(struct build *b, struct body *io)
{
	recurrent_layers(b, io, mamba_mixer);
}

const struct family mamba = {
	.name = "mamba",
	.architecture = "state-space",
	.resolve = resolve,
	.build = recurrent_build,
	.body = body,
	.heads = recurrent_heads,
	.sizes = recurrence_sizes,
	.traits = FAMILY_TRAIT_LIST(mamba, MAMBA_TRAITS),
};
