// SPDX-License-Identifier: Apache-2.0
// Two towers and how alike what they see is (Radford et al. 2021, https://arxiv.org/abs/2103.00020; SigLIP,
// https://arxiv.org/abs/2303.15343). Any text type with any image type: the parts' own families build them (clip.c and others).
//
//   ids    -> text tower   -> pooled (-> projection) -> / length -+
//                                                                 x * exp(scale) (+ bias) -> logits
//   pixels -> vision tower -> pooled (-> projection) -> / length -+
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/clip.h"
#include "arch/family/dual.h"

// Flags of heads: the picture alone is classified; there is such a class where towers are rooted only; it finds objects; regions.
enum { DUAL_PICTURE_ONLY = 1, DUAL_ROOTED = 2, DUAL_OBJECTS = 4, DUAL_REGIONS = 8 };

struct dual {
	int64_t projection_size, inner_size; // inner_size 0: projections are single linear layers
	double scale_most;                   // of bounded_scale, its logarithm
	const struct clipseg *regions;       // of DUAL_REGIONS
};

// Files of before 2023 may hold the part's configuration a second time under KEY_dict; that one counts.
static void resolve_tower(struct config *c, struct spec *s, struct arena *a, const char *part, const char *key)
{
	const char *older = arena_printf(a, "%s_dict", key);
	if (!TRAITS_OF(s, dual)->rooted_towers) {
		resolve_part_fixed(
			c, s, a, part, config_get(c, older) ? older : key, NULL, NULL, (const char *const[]){ s->prefix, NULL });
		return;
	}
	struct spec *tower = resolve_part(c, s, a, part, key, NULL, NULL,
		(const char *const[]){ text_is(part, "text") ? "text_model." : "vision_model.", NULL });
	if (tower && !c->checkpoint->weight_count)
		tower->prefix = "";
}

void dual_resolve_towers(struct config *c, struct spec *s, struct arena *a)
{
	resolve_tower(c, s, a, "text", "text_config");
	resolve_tower(c, s, a, "vision", "vision_config");
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	if (head_how(s) & DUAL_ROOTED && !TRAITS_OF(s, dual)->rooted_towers)
		head_refused(c, s);
	if (head_how(s) & DUAL_OBJECTS && !TRAITS_OF(s, dual)->finds_objects)
		head_refused(c, s);
	if (head_how(s) & DUAL_REGIONS && !TRAITS_OF(s, dual)->segments)
		head_refused(c, s);
	dual_resolve_towers(c, s, a);
	if (head_how(s) & (DUAL_OBJECTS | DUAL_REGIONS) && !part_is_usual(c, s, "vision"))
		return;
	struct dual *d = ARENA_NEW(a, struct dual);
	d->projection_size = TRAITS_OF(s, dual)->compared_as_pooled ? 0 : config_size(c, "projection_dim", -1);
	if (config_knows(c, "projection_intermediate_dim"))
		d->inner_size = config_size(c, "projection_intermediate_dim", -1);
	if (config_knows(c, "output_segmentation") && config_bool(c, "output_segmentation", false))
		config_fail(c, STATUS_UNSUPPORTED, "output_segmentation: true is not supported yet");
	s->own = d;
	if (head_how(s) & DUAL_REGIONS)
		d->regions = clipseg_resolve(c, s, a);
	if (!TRAITS_OF(s, dual)->bounded_scale)
		return;
	double most = config_real(c, "max_logit_scale", 100);
	d->scale_most = log(most);
	if (!(most > 1))
		config_fail(c, STATUS_BAD_INPUT, "max_logit_scale should be more than 1");
}

// A linear layer, or two with a batch norm between.
static graph_value project(struct build *b, const char *stem, graph_value x, bool biased)
{
	const struct dual *d = b->s->own;
	int64_t in = value_dim(b->g, x, -1);
	if (!d->inner_size)
		return linear(b, stem, x, in, d->projection_size, biased);
	struct arena *a = graph_arena(b->g);
	x = linear(b, stem, x, in, d->inner_size, true);
	x = op_relu(b->g, batch_norm(b, arena_printf(a, "%s.norm", stem), x, 1e-5));
	return linear(b, arena_printf(a, "%s.out", stem), x, d->inner_size, d->projection_size, true);
}

// x / |x| over the last axis
graph_value unit_length(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	return op_div(g, x, op_sqrt(g, op_reduce_sum(g, op_mul(g, x, x), -1, true)));
}

// What a tower pools, projected: [batch, projection]
static graph_value tower_features(struct build *b, const char *part, struct body *io, const char *stem)
{
	const struct spec *tower = part_of(b->s, part);
	const struct spec *outer = part_enter(b, part);
	graph_enter(b->g, "%s", part);
	tower->row->family->body(b, io);
	graph_value x = io->pooled;
	bool projected = TRAITS_OF(outer, dual)->text_projected;
	if (text_is(part, "text") && (TRAITS_OF(outer, dual)->compares_first || projected))
		x = first_token(b, io->last);
	else if (text_is(part, "vision") && TRAITS_OF(outer, dual)->first_pooled)
		x = first_token(b, io->last);
	else if (!x.id) // a type that pools in its bare model only
		x = activate(b, text_is(part, "text") ? ACT_TANH : tower->pooler_act,
			linear(b, "pooler", first_token(b, io->last), tower->hidden_size, tower->hidden_size, true));
	graph_leave(b->g);
	part_leave(b, outer);
	if (TRAITS_OF(b->s, dual)->compared_as_pooled || (projected && text_is(part, "vision")))
		return x;
	return project(b, stem, x, projected);
}

static graph_value build_tower(struct build *b, const char *part, struct body *io, const char *stem)
{
	return unit_length(b, tower_features(b, part, io, stem));
}

// The classifier of the picture alone: the mean of its patches.
static void build_classifier(struct build *b, const struct body *given)
{
	struct body vision = *given, *io = &vision;
	const struct spec *s = b->s, *tower = part_of(s, "vision"), *outer = part_enter(b, "vision");
	graph_enter(b->g, "vision");
	tower->row->family->body(b, io);
	graph_leave(b->g);
	part_leave(b, outer);
	graph_value patches =
		TRAITS_OF(tower, clip_vision)->attention_pool ? io->last : op_slice(b->g, io->last, 1, 1, INT64_MAX);
	graph_value mean;
	if (io->mask.id) { // of those that are of the picture
		graph_value real = op_unsqueeze(b->g, op_cast(b->g, io->mask, DTYPE_F32), 2);
		mean = op_div(
			b->g, op_reduce_sum(b->g, op_mul(b->g, patches, real), 1, false), op_reduce_sum(b->g, real, 1, false));
	} else
		mean = op_reduce_mean(b->g, patches, 1, false);
	graph_output(b->g, "logits", linear(b, "head.image", mean, tower->hidden_size, s->labels, true));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	struct body text = { 0 }, vision = { 0 };
	const struct spec *outer = part_enter(b, "vision");
	vision_tower_inputs(b, &vision, head_how(s) & (DUAL_PICTURE_ONLY | DUAL_REGIONS) ? "batch" : "image_batch");
	part_leave(b, outer);
	if (head_how(s) & DUAL_PICTURE_ONLY) {
		head_build(b, &vision);
		return;
	}
	outer = part_enter(b, "text");
	text_tower_inputs(b, &text);
	part_leave(b, outer);
	if (head_how(s) & (DUAL_OBJECTS | DUAL_REGIONS)) {
		part_enter(b, "vision");
		graph_enter(g, "vision");
		b->s->row->family->body(b, &vision);
		graph_leave(g);
		part_leave(b, s);
		if (head_how(s) & DUAL_OBJECTS)
			owl_objects(b, build_tower(b, "text", &text, "head.text"), &text, &vision);
		else
			clipseg_regions(b, ((const struct dual *)s->own)->regions, tower_features(b, "text", &text, "head.text"),
				&vision);
		return;
	}
	graph_value images = build_tower(b, "vision", &vision, "head.vision"); // [image_batch, projection]
	graph_value texts = build_tower(b, "text", &text, "head.text");        // [batch, projection]
	graph_enter(g, "head");
	int64_t scale_rank = TRAITS_OF(s, dual)->compared_as_pooled, one = 1;
	const struct dual *d = s->own;
	graph_value scale;
	if (TRAITS_OF(s, dual)->divided)
		scale = op_div(g, graph_f32(g, 1), weight(b, "head.temperature", "", 0, NULL));
	else {
		scale = weight(b, "head.logit_scale", "", (int)scale_rank, &one);
		if (TRAITS_OF(s, dual)->bounded_scale)
			scale = op_min(g, op_max(g, scale, graph_f32(g, 0)), graph_f32(g, (float)d->scale_most));
		scale = op_exp(g, scale);
	}
	graph_value logits = op_mul(g, op_matmul(g, texts, op_transpose(g, images, 2, (int[]){ 1, 0 })), scale);
	if (TRAITS_OF(s, dual)->compared_as_pooled && !TRAITS_OF(s, dual)->divided)
		logits = op_add(g, logits, WEIGHT(b, "head.logit_bias", "", 1));
	graph_leave(g);
	graph_output(g, "logits_per_image", op_transpose(g, logits, 2, (int[]){ 1, 0 }));
	graph_output(g, "logits_per_text", logits);
	graph_output(g, "text_embeds", texts);
	graph_output(g, "image_embeds", images);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_encoder, NULL, DUAL_ROOTED },
	{ &head_image, build_classifier, DUAL_PICTURE_ONLY },
	{ &head_objects, NULL, DUAL_OBJECTS },
	{ &head_segmentation, NULL, DUAL_REGIONS },
	{ 0 },
};

const struct family dual = {
	.name = "dual",
	.architecture = "multimodal",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(dual, DUAL_TRAITS),
};
