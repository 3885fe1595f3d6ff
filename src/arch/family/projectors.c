// SPDX-License-Identifier: Apache-2.0
// Vision-language models that differ from LLaVA in what joins the vision tower to the text.
//
//   aligned:   the tower's last result - linear - GELU - linear                      (DeepSeek-VL,
//              https://arxiv.org/abs/2403.05525)
//   linear:    the tower's last result - linear          (PaliGemma, https://arxiv.org/abs/2407.07726; every token looks back
//              only, as the class does without token_type_ids)
//   shuffled:  squares of features become one, wide - (norm) - linear - x * silu(gate) - linear
//                                                    (Aya Vision, https://arxiv.org/abs/2505.08751; Command A Vision)
#include "arch/family/vlm.h"

// ---- aligned ------------------------------------------------------------------------------------------------------------

static void resolve_aligned(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve_below(c, s, a, "vision_model."))
		return;
	struct vlm *v = s->own;
	v->looks_last = v->bias = true;
	s->act = ACT_GELU;
}

static graph_value align(struct build *b, graph_value x)
{
	return vlm_project(b, x, vlm_vision_width(b->s));
}

static graph_value see_aligned(struct build *b, graph_value ids)
{
	return vlm_see(b, ids, align);
}

static void build_aligned(struct build *b)
{
	vlm_build(b, see_aligned);
}

const struct family vlm_aligned = {
	.name = "vision-language-aligned",
	.architecture = "multimodal",
	.resolve = resolve_aligned,
	.build = build_aligned,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
};

// ---- linear -------------------------------------------------------------------------------------------------------------

static void resolve_linear(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, true))
		return;
	struct vlm *v = s->own;
	v->looks_last = true;
}

static graph_value join_linear(struct build *b, graph_value x)
{
	return linear(b, "projector", x, vlm_vision_width(b->s), part_of(b->s, "text")->hidden_size, true);
}

static graph_value see_linear(struct build *b, graph_value ids)
{
	return vlm_see(b, ids, join_linear);
}

static void build_linear(struct build *b)
{
	vlm_build(b, see_linear);
}

const struct family vlm_linear = {
	.name = "vision-language-linear",
	.architecture = "multimodal",
	.resolve = resolve_linear,
	.build = build_linear,
	.graphs = vlm_graphs,
	.hints = vlm_hints,
	.heads = vlm_heads,
};

// ---- shuffled -----------------------------------------------------------------------------------------------------------

static void resolve_shuffled(struct config *c, struct spec *s, struct arena *a)
{
	bool has_norm = TRAITS_OF(s, vlm_shuffled)->projector_norm;
	if (!(has_norm ? vlm_resolve(c, s, a, true) : vlm_resolve_below(c, s, a, "vision_tower.")))
		return;
	struct vlm *v = s->own;
	if (has_norm)
		vlm_resolve_layers(c, s, a, false);
	v->norm = has_norm;
	v->looks_last = !has_norm;
	v->downsample = config_size(c, "downsample_factor", -1);
	v->wide = config_size(c, "alignment_intermediate_size", part_of(s, "text")->hidden_size);
	s->norm_eps = config_real(c, "adapter_layer_norm_eps", 1e-6);
	const struct spec *tower = part_of(s, "vision");
	int64_t side = tower->image_size / tower->patch_size;
	if (!c->error.status && (v->downsample < 1 || side % v->downsample || vlm_picture_tokens(s) != side * side))
		config_fail(c, STATUS_BAD_INPUT, "downsample_factor %lld: %lld features are not %lld lines that divide by it",
			(long long)v->downsample, (long long)vlm_picture_tokens(s), (long long)side);
	if (!c->error.status && (v->wide < 2 || v->wide % 2))
		config_fail(c, STATUS_BAD_INPUT, "alignment_intermediate_size should be even");
}

// x [pictures, side * side, width] -> [pictures, (side / f)^2, width * f * f]
static graph_value shuffle(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision");
	const struct vlm *v = vlm_of(s);
	int64_t f = v->downsample, side = tower->image_size / tower->patch_size, few = side / f, wide = vlm_vision_width(s);
	x = op_reshape(g, x, 4, (int64_t[]){ -1, side, few, wide * f });
	x = op_reshape(g, op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 }), 4, (int64_t[]){ -1, few, few, wide * f * f });
	x = op_reshape(g, op_transpose(g, x, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ -1, few * few, wide * f * f });
	graph_enter(g, "projector");
	if (v->norm)
		x = layer_norm(b, "projector.norm", x, wide * f * f);
	x = linear(b, "projector.1", x, wide * f * f, v->wide, true);
	x = op_mul(g, op_silu(g, op_slice(g, x, 2, v->wide / 2, v->wide)), op_slice(g, x, 2, 0, v->wide / 2));
	x = linear(b, "projector.2", x, v->wide / 2, part_of(s, "text")->hidden_size, true);
	graph_leave(g);
	return x;
}

static graph_value see_shuffled(struct build *b, graph_value ids)
{
	return vlm_see(b, ids, shuffle);
}

static void build_shuffled(struct build *b)
{
	vlm_build(b, see_shuffled);
}

static void hints_shuffled(const struct spec *s, struct input_hints *out)
{
	const struct vlm *v = vlm_of(s);
	out->image_token_id = v->image_token_id;
	out->image_tokens = vlm_picture_tokens(s) / (v->downsample * v->downsample);
}

const struct family vlm_shuffled = {
	.name = "vision-language-shuffled",
	.architecture = "multimodal",
	.resolve = resolve_shuffled,
	.build = build_shuffled,
	.graphs = vlm_graphs,
	.hints = hints_shuffled,
	.heads = vlm_heads,
	.traits = FAMILY_TRAIT_LIST(vlm_shuffled, VLM_SHUFFLED_TRAITS),
};
