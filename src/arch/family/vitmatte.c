// SPDX-License-Identifier: Apache-2.0
// ViTMatte: how much of each pixel is foreground, from a vision transformer's map and a few convolutions over the picture, whose
// fourth channel says what is known (Yao et al. 2023, https://arxiv.org/abs/2305.15272).
//
//   d_0 = pixels, d_i = step(d_i-1) /2;  f = backbone(pixels), then for each d from the smallest: f = step(d, twice f)
//   alphas = sigmoid(1x1(relu(norm(3x3(f)))));  step: 3x3 conv - norm - relu
#include "arch/block/image.h"

// spec.own of the family.
struct vitmatte {
	int64_t details;
	const int64_t *detail_widths, *fused_widths; // [details], [details + 1]
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct vitmatte *m = ARENA_NEW(a, struct vitmatte);
	static const char *const roots[] = { "backbone.", NULL };
	if (!config_sizes(c, "convstream_hidden_sizes", a, 0, &m->details) || m->details > 16)
		config_fail(c, STATUS_BAD_INPUT, "convstream_hidden_sizes should have a number for each step");
	m->detail_widths = resolve_stages(c, "convstream_hidden_sizes", a, m->details, 1);
	m->fused_widths = resolve_stages(c, "fusion_hidden_sizes", a, m->details + 1, 1);
	s->norm_eps = config_real(c, "batch_norm_eps", 1e-5);
	s->hidden_size = config_size(c, "hidden_size", 384);
	s->own = m;
	if (config_text(c, "backbone") && !config_given(c, "backbone_config"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	struct spec *p = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
	if (!p)
		return;
	resolve_backbone_image(s, p);
	s->layers = s->layers_in_config = p->layers;
}

static graph_value step(struct build *b, const char *stem, const char *norm, graph_value x, int64_t out, int64_t stride)
{
	return conv_norm(b, stem, norm, x, (struct conv){ .out = out, .kernel = 3, .stride = stride }, b->s->norm_eps, ACT_RELU);
}

static void build_alphas(struct build *b, const struct body *io)
{
	struct graph *g = b->g;
	const struct vitmatte *m = b->s->own;
	int64_t count;
	graph_value *details = GRAPH_TABLE(g, NULL, m->details + 1, 1, graph_value);
	const graph_value *maps = backbone_features(b, "backbone", io->pixels, &count);
	if (!details || graph_failed(g))
		return;
	details[0] = io->pixels;
	for (b->layer = 0; b->layer < m->details && !graph_failed(g); b->layer++)
		details[b->layer + 1] = step(b, "detail", "detail.norm", details[b->layer], m->detail_widths[b->layer], 2);
	graph_value x = maps[count - 1];
	for (b->layer = 0; b->layer <= m->details && !graph_failed(g); b->layer++) {
		graph_value both[] = { details[m->details - b->layer], resized_by(b, x, 2) };
		x = step(b, "fused", "fused.norm", op_concat(g, 2, both, 1), m->fused_widths[b->layer], 1);
	}
	x = conv_norm(b, "head.1", "head.1.norm", x, (struct conv){ .out = 16, .kernel = 3, .bias = true }, 1e-5, ACT_RELU);
	x = conv(b, "head.2", x, (struct conv){ .out = 1, .kernel = 1, .bias = true });
	graph_output(g, "alphas", op_sigmoid(g, x)); // [batch, 1, height, width]
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	head_build(b, &io);
}

static const struct family_head heads[] = { { &head_matting, build_alphas }, { 0 } };

const struct family vitmatte = {
	.name = "vitmatte",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
