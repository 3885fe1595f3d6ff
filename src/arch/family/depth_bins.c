// SPDX-License-Identifier: Apache-2.0
// Depth as a mean over fixed depths, each weighed by what a dense prediction transformer says of it, over a vision transformer
// whose class token is read out into every patch (CHMv2, on DINOv3: Simeoni et al. 2025, https://arxiv.org/abs/2508.10104;
// TIPSv2 has the same for classes of every place).
//
//   pixels -> backbone -> patches and class token of some states -> act(linear of both) -> neck -> convs
//   -> a weight for each depth
#include <math.h>

#include "arch/block/neck.h"
#include "arch/block/vit.h"

enum readout { READOUT_PROJECT, READOUT_ADD, READOUT_IGNORE };
enum spacing { SPACING_LINEAR, SPACING_LOG, SPACING_MIXED };
enum weighing { WEIGHING_LINEAR, WEIGHING_SOFTMAX, WEIGHING_SIGMOID, WEIGHING_MIXED };

struct depth_bins {
	struct neck neck;
	enum readout readout;
	enum activation readout_act;
	int64_t special; // tokens before the patches in the backbone's results
	int64_t bins, inner;
	double nearest, farthest;
	enum spacing spacing;
	enum weighing weighing;
};

// The number of a key's word in a list that ends with NULL; what is not there is refused, or the list's end where it may be.
static int word_of(struct config *c, const char *key, const char *const *words, bool any)
{
	const char *word = config_text(c, key);
	int i = 0;
	while (word && words[i] && !text_is(word, words[i]))
		i++;
	if (!any && !words[i])
		config_fail(c, STATUS_BAD_INPUT, "%s is %s", key, word);
	return i;
}

static struct spec *resolve_both(
	struct config *c, struct spec *s, struct arena *a, struct depth_bins *d, const char *channels, const struct head *head)
{
	s->own = d;
	resolve_neck(c, a, &d->neck, channels);
	struct spec *p = resolve_part(c, s, a, "backbone", "backbone_config", NULL, head,
		(const char *const[]){ "backbone.", "vision_encoder.", NULL });
	if (!p || !part_is_usual(c, s, "backbone"))
		return NULL;
	resolve_backbone_image(s, p);
	s->hidden_size = p->hidden_size;
	s->layers = s->layers_in_config = p->layers;
	s->patch_size = p->patch_size, s->patch_width = p->patch_width;
	if (p->out_count != d->neck.states)
		config_fail(c, STATUS_BAD_INPUT, "a backbone of %lld states, %s for %lld", (long long)p->out_count, channels,
			(long long)d->neck.states);
	return p;
}

static void check_depths(struct config *c, const struct depth_bins *d)
{
	if (!c->error.status && (d->bins < 1 || d->bins > 1 << 16 || !(d->nearest > 0) || !(d->farthest > d->nearest)))
		config_fail(c, STATUS_BAD_INPUT, "%lld depths between min_depth %g and max_depth %g", (long long)d->bins,
			d->nearest, d->farthest);
}

static void resolve_chmv2(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const readouts[] = { "project", "add", NULL };
	static const char *const spacings[] = { "linear", "log", "chmv2_mixlog", NULL };
	static const char *const weighings[] = { "linear", "softmax", "sigmoid", "chmv2_mixlog", NULL };
	struct depth_bins *d = ARENA_NEW(a, struct depth_bins);
	int64_t patch = config_size(c, "patch_size", 16);
	d->readout = (enum readout)word_of(c, "readout_type", readouts, true);
	d->readout_act = ACT_GELU;
	d->special = 1;
	d->bins = config_size(c, "number_output_channels", 256);
	d->inner = config_size(c, "head_hidden_size", 128);
	d->nearest = config_real(c, "min_depth", 0.001);
	d->farthest = config_real(c, "max_depth", 96);
	d->spacing = (enum spacing)word_of(c, "bins_strategy", spacings, false);
	d->weighing = (enum weighing)word_of(c, "norm_strategy", weighings, false);
	check_depths(c, d);
	const struct spec *p = resolve_both(c, s, a, d, "post_process_channels", &head_backbone_classed);
	if (p && !c->error.status && (d->inner < 1 || patch != p->patch_size))
		config_fail(c, STATUS_BAD_INPUT, "patch_size %lld is not the backbone's, or head_hidden_size %lld",
			(long long)patch, (long long)d->inner);
}

static void resolve_tipsv2(struct config *c, struct spec *s, struct arena *a)
{
	struct depth_bins *d = ARENA_NEW(a, struct depth_bins);
	d->readout_act = config_activation(c, "readout_activation", ACT_GELU_TANH);
	if (s->head == &head_depth) {
		d->bins = config_size(c, "num_depth_bins", 256);
		d->nearest = config_real(c, "min_depth", 0.001);
		d->farthest = config_real(c, "max_depth", 10);
		s->act = config_activation(c, "depth_decoder_activation", ACT_RELU);
		check_depths(c, d);
	}
	const struct spec *p = resolve_both(c, s, a, d, "neck_hidden_sizes", &head_backbone);
	d->neck.bias = false;
	if (!p || c->error.status)
		return;
	const struct vit *v = p->own;
	d->special = v->classes + v->registers;
	if (v->map_outputs || v->classes != 1)
		config_fail(c, STATUS_UNSUPPORTED, "reshape_hidden_states: true leaves no class token to be read");
}

// What the neck makes of the backbone's states: [batch, width, height, width]
static graph_value neck_map(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct depth_bins *d = s->own;
	int64_t count, h = s->hidden_size;
	graph_value rows = op_div(g, op_dim(g, pixels, 2), graph_i64s(g, 1, &s->patch_size)),
		    cols = op_div(g, op_dim(g, pixels, 3), graph_i64s(g, 1, &s->patch_width));
	const graph_value *states = backbone_features(b, "backbone", pixels, &count);
	graph_value *maps = ARENA_ARRAY(graph_arena(g), (size_t)d->neck.states, graph_value);
	for (b->layer = 0; b->layer < count && !graph_failed(g); b->layer++) {
		graph_value first = op_slice(g, states[b->layer], 1, 0, 1);
		graph_value x = op_slice(g, states[b->layer], 1, d->special, INT64_MAX);
		if (d->readout == READOUT_ADD)
			x = op_add(g, x, first);
		if (d->readout == READOUT_PROJECT) {
			graph_value both[] = { x, op_expand(g, first, op_shape(g, x)) };
			x = activate(b, d->readout_act, linear(b, "neck.readout", op_concat(g, 2, both, 2), 2 * h, h, true));
		}
		maps[b->layer] = neck_reassemble(b, &d->neck, map_of_grid(b, x, rows, cols));
	}
	return neck_fuse(b, &d->neck, maps, NO_VALUE);
}

// Depths: evenly, by logarithm, or between both from the one to the other, an eighth as far: [bins, 1, 1]
static graph_value depths(struct build *b)
{
	const struct depth_bins *d = b->s->own;
	float *at = GRAPH_TABLE(b->g, NULL, d->bins, 1, float);
	double far = d->spacing == SPACING_MIXED ? d->farthest / 8 : d->farthest;
	for (int64_t i = 0; at && i < d->bins; i++) {
		double share = d->bins > 1 ? (double)i / (double)(d->bins - 1) : 0;
		double even = d->nearest + share * (far - d->nearest);
		double by_log = exp(log(d->nearest) + share * (log(far) - log(d->nearest)));
		at[i] = (float)(d->spacing == SPACING_LINEAR ? even
				: d->spacing == SPACING_LOG  ? by_log
							     : (1 - share) * by_log + share * even);
	}
	return graph_constant(b->g, DTYPE_F32, 3, (int64_t[]){ d->bins, 1, 1 }, at);
}

// x [batch, bins, height, width] -> [batch, height, width]: the mean of the depths, of weights floor + relu(x) or other ones
static graph_value mean_depth(struct build *b, graph_value x, float floor)
{
	struct graph *g = b->g;
	enum weighing how = ((const struct depth_bins *)b->s->own)->weighing;
	if (how == WEIGHING_SOFTMAX)
		x = op_softmax(g, x, 1);
	else if (how == WEIGHING_SIGMOID)
		x = op_sigmoid(g, x);
	else
		x = op_add(g, op_relu(g, x), graph_f32(g, floor));
	graph_value sum = op_reduce_sum(g, x, 1, false);
	if (how == WEIGHING_MIXED)
		sum = op_max(g, sum, graph_f32(g, 1e-12f));
	return op_div(g, op_reduce_sum(g, op_mul(g, x, depths(b)), 1, false), sum);
}

static void build_chmv2(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct depth_bins *d = b->s->own;
	graph_value x = neck_map(b, io->pixels);
	graph_enter(g, "head");
	x = neck_doubled(b, conv(b, "head.depth.1", x, (struct conv){ .out = d->neck.width / 2, .kernel = 3, .bias = true }));
	x = op_relu(g, conv(b, "head.depth.2", x, (struct conv){ .out = d->inner, .kernel = 3, .bias = true }));
	x = conv(b, "head.depth.3", x, (struct conv){ .out = d->bins, .kernel = 1, .bias = true });
	if (d->bins == 1)
		x = op_squeeze(g, op_add(g, op_relu(g, x), graph_f32(g, (float)d->nearest)), 1);
	else if (d->weighing == WEIGHING_MIXED)
		x = op_scale(g, op_max(g, mean_depth(b, x, 1e-8f), graph_f32(g, 1e-12f)), 8);
	else
		x = mean_depth(b, x, 0.1f);
	graph_leave(g);
	graph_output(g, "predicted_depth", x); // [batch, height, width]
}

// [batch, out, height, width]; `name`: of the head, in the file
static graph_value decoded(struct build *b, const struct body *io, const char *name, enum activation act, int64_t out)
{
	struct graph *g = b->g;
	int64_t w = ((const struct depth_bins *)b->s->own)->neck.width;
	b->item_name = name;
	graph_value x = neck_map(b, io->pixels);
	graph_enter(g, "head");
	x = activate(b, act, conv(b, "head.project", x, (struct conv){ .out = w, .kernel = 3, .bias = true }));
	x = linear(b, "head.out", op_transpose(g, x, 4, (int[]){ 0, 2, 3, 1 }), w, out, true);
	x = op_transpose(g, x, 4, (int[]){ 0, 3, 1, 2 });
	graph_leave(g);
	return x;
}

static void build_tipsv2_depth(struct build *b, const struct body *io)
{
	const struct depth_bins *d = b->s->own;
	graph_value x = decoded(b, io, "depth", b->s->act, d->bins);
	graph_output(b->g, "predicted_depth", mean_depth(b, x, (float)d->nearest)); // [batch, height, width]
}

static void build_tipsv2_classes(struct build *b, const struct body *io)
{
	graph_output(b->g, "logits", decoded(b, io, "segmentation", ACT_NONE, b->s->labels)); // [batch, labels, height, width]
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct spec *p = part_of(s, "backbone");
	if (!s->image_size)
		image_hints(out, p->image_size, p->image_width);
}

static const struct family_head chmv2_heads[] = { { &head_depth, build_chmv2 }, { 0 } };
static const struct family_head tipsv2_heads[] = {
	{ &head_depth, build_tipsv2_depth },
	{ &head_segments, build_tipsv2_classes },
	{ 0 },
};

const struct family chmv2 = {
	.name = "chmv2",
	.architecture = "vision",
	.resolve = resolve_chmv2,
	.build = build,
	.hints = hints,
	.heads = chmv2_heads,
};

const struct family tipsv2_dpt = {
	.name = "tipsv2-dpt",
	.architecture = "vision",
	.resolve = resolve_tipsv2,
	.build = build,
	.hints = hints,
	.heads = tipsv2_heads,
};
