// SPDX-License-Identifier: Apache-2.0
// Fuyu (https://www.adept.ai/blog/fuyu-8b): there is no vision tower; a linear layer makes a token of each patch.
//
//   patches [batch, patches, patch_size^2 * channels] - linear -> in the places of the picture's tokens
#include "arch/family/vlm.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const text_roots[] = { "language_model.", "model.language_model.", NULL };
	if (!c->checkpoint->weight_count)
		s->prefix = ""; // a new file has each part's place first
	if (!config_given(c, "text_config") && json_object_get(c->given, "hidden_size"))
		config_fail(c, STATUS_UNSUPPORTED, "a hidden_size beside no text_config is not supported yet");
	s->patch_size = config_size(c, "patch_size", 30);
	s->channels = config_size(c, "num_channels", 3);
	if (s->patch_size < 1 || s->channels < 1)
		config_fail(c, STATUS_BAD_INPUT, "patches of %lld by %lld, %lld channels", (long long)s->patch_size,
			(long long)s->patch_size, (long long)s->channels);
	(void)vlm_resolve_text(c, s, a, false, text_roots); // an error stays in c
}

static graph_value see(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t in = s->patch_size * s->patch_size * s->channels, out = part_of(s, "text")->hidden_size;
	int64_t shape[] = { graph_symbol(g, "image_batch"), graph_symbol(g, "patches"), in };
	graph_value x = linear(b, "projector", graph_input(g, "image_patches", DTYPE_F32, 3, shape), in, out, true);
	graph_value is_image, number;
	(void)text;
	if (!ids.id)
		return x;
	vlm_places(b, ids, &is_image, &number);
	return vlm_merge(b, ids, is_image, number, op_reshape(g, x, 2, (int64_t[]){ -1, out }));
}

static void build(struct build *b)
{
	vlm_build(b, see);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	out->image_token_id = vlm_of(s)->image_token_id;
	out->image_tokens = 4;
	out->symbols[0] = (struct input_symbol){ "patches", 4, false };
}

static const struct family_head heads[] = { { &head_model }, { &head_causal_lm, NULL, VLM_GENERATES }, { 0 } };

const struct family vlm_patches = {
	.name = "vision-language-patches",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.graphs = vlm_graphs,
	.hints = hints,
	.heads = heads,
};
