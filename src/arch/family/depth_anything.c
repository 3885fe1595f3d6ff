// SPDX-License-Identifier: Apache-2.0
// Depth Anything: DPT's neck over a backbone, without its readout, trained on unlabelled pictures (Yang et al. 2024,
// https://arxiv.org/abs/2401.10891; with a coarse depth as a prompt: Lin et al. 2024, https://arxiv.org/abs/2412.14015).
//
//   pixels -> backbone -> patches of some states -> neck -> 3x3 - resize to whole patches - 3x3 - relu - 1x1 - relu or sigmoid
//   prompt: scaled to 0 .. 1 of its own range, added in the neck; the depth is scaled back to that range
#include "arch/block/neck.h"
#include "arch/family/depth_anything.h"

// spec.own of the family.
struct depth_anything {
	struct neck neck;
	int64_t hidden; // of the states
	int64_t inner;  // of the head
	bool metric;
	double farthest;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct depth_anything *d = ARENA_NEW(a, struct depth_anything);
	static const char *const roots[] = { "backbone.", NULL };
	*d = (struct depth_anything){ .hidden = config_size(c, "reassemble_hidden_size", 384),
		.inner = config_size(c, "head_hidden_size", 32),
		.farthest = 1 };
	resolve_neck(c, a, &d->neck, "neck_hidden_sizes");
	d->neck.to_next = true;
	bool prompted = TRAITS_OF(s, depth_anything)->prompted;
	if (prompted)
		d->neck.chosen = d->neck.states - 1;
	else
		d->farthest = config_real(c, "max_depth", 1);
	d->farthest = d->farthest > 0 || d->farthest < 0 ? d->farthest : 1; // 0: as if it were not given
	const char *kind = config_text(c, "depth_estimation_type");
	d->metric = text_is(kind, "metric");
	if (kind && !d->metric && !text_is(kind, "relative"))
		config_fail(c, STATUS_BAD_INPUT, "depth_estimation_type %s is neither relative nor metric", kind);
	s->patch_size = s->patch_width = config_size(c, "patch_size", 14);
	s->own = d;
	if (config_text(c, "backbone") && !config_given(c, "backbone_config"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	if (config_bool(c, "use_timm_backbone", false))
		config_fail(c, STATUS_UNSUPPORTED, "use_timm_backbone: true is not supported yet");
	struct spec *p = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
	if (!p)
		return;
	resolve_backbone_image(s, p);
	s->hidden_size = p->hidden_size;
	s->layers = s->layers_in_config = p->layers;
	if (p->out_count != d->neck.states || s->patch_size < 1 || d->inner < 1 || p->hidden_size != d->hidden)
		config_fail(c, STATUS_BAD_INPUT, "a backbone of %lld states of %lld, a neck for %lld of %lld",
			(long long)p->out_count, (long long)p->hidden_size, (long long)d->neck.states, (long long)d->hidden);
}

// The least or the greatest of each image's prompt: [batch, 1, 1, 1]
static graph_value extreme(struct build *b, graph_value prompt, bool greatest)
{
	struct graph *g = b->g;
	graph_value x = greatest ? prompt : op_neg(g, prompt);
	x = op_reduce_max(g, op_reduce_max(g, op_reduce_max(g, x, 3, true), 2, true), 1, true);
	return greatest ? x : op_neg(g, x);
}

static void build_depth(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct depth_anything *d = s->own;
	int64_t count;
	bool prompted = TRAITS_OF(s, depth_anything)->prompted;
	graph_value patch = graph_i64s(g, 1, &s->patch_size), rows = op_div(g, op_dim(g, io->pixels, 2), patch),
		    cols = op_div(g, op_dim(g, io->pixels, 3), patch);
	const graph_value *states = backbone_features(b, "backbone", io->pixels, &count);
	graph_value *maps = ARENA_ARRAY(graph_arena(g), (size_t)d->neck.states, graph_value), prompt = NO_VALUE;
	for (b->layer = 0; b->layer < count && !graph_failed(g); b->layer++) // without the class token
		maps[b->layer] =
			neck_reassemble(b, &d->neck, map_of_grid(b, op_slice(g, states[b->layer], 1, 1, INT64_MAX), rows, cols));
	graph_value least = prompted ? extreme(b, io->features, false) : NO_VALUE, range = NO_VALUE;
	if (prompted) {
		range = op_sub(g, extreme(b, io->features, true), least);
		prompt = op_div(g, op_sub(g, io->features, least), range);
	}
	graph_value x = neck_fuse(b, &d->neck, maps, prompt);
	x = conv(b, "head.depth.1", x, (struct conv){ .out = d->neck.width / 2, .kernel = 3, .bias = true });
	x = neck_resize(b, x, op_mul(g, rows, patch), op_mul(g, cols, patch));
	x = op_relu(g, conv(b, "head.depth.2", x, (struct conv){ .out = d->inner, .kernel = 3, .bias = true }));
	x = conv(b, "head.depth.3", x, (struct conv){ .out = 1, .kernel = 1, .bias = true });
	x = op_scale(g, d->metric ? op_sigmoid(g, x) : op_relu(g, x), (float)d->farthest);
	if (prompted)
		x = op_add(g, op_mul(g, x, range), least);
	graph_output(g, "predicted_depth", op_squeeze(g, x, 1)); // [batch, height, width]
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	if (TRAITS_OF(b->s, depth_anything)->prompted)
		io.features = graph_input(g, "prompt_depth", DTYPE_F32, 4,
			(int64_t[]){
				graph_symbol(g, "batch"), 1, graph_symbol(g, "prompt_height"), graph_symbol(g, "prompt_width") });
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct spec *p = part_of(s, "backbone");
	if (!s->image_size)
		image_hints(out, p->image_size, p->image_width);
}

static const struct family_head heads[] = { { &head_depth, build_depth }, { 0 } };

const struct family depth_anything = {
	.name = "depth_anything",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(depth_anything, DEPTH_ANYTHING_TRAITS),
};
