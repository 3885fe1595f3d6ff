// SPDX-License-Identifier: Apache-2.0
// UPerNet over any backbone (Xiao et al. 2018, https://arxiv.org/abs/1807.10221): pixels -> backbone -> maps -> head, resized to
// the picture.
#include "arch/block/uper.h"

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct uper *u = ARENA_NEW(a, struct uper);
	static const char *const roots[] = { "backbone.", NULL };
	resolve_uper(c, a, u, config_size(c, "hidden_size", 512));
	s->own = u;
	if (config_text(c, "backbone") && !config_given(c, "backbone_config"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	struct spec *p = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
	if (!p)
		return;
	resolve_backbone_image(s, p);
	s->hidden_size = u->width;
	s->layers = s->layers_in_config = p->layers;
}

static void build_segments(struct build *b, const struct body *io)
{
	int64_t count;
	const graph_value *maps = backbone_features(b, "backbone", io->pixels, &count);
	if (graph_failed(b->g))
		return;
	graph_value x = uper_classes(b, b->s->own, maps, count);
	graph_output(b->g, "logits", resized_like(b, x, io->pixels, "linear")); // [batch, labels, height, width]
}

static void build(struct build *b)
{
	struct body io = { .pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width) };
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	if (!s->image_size)
		image_hints(out, 512, 512);
}

static const struct family_head heads[] = { { &head_segments, build_segments }, { 0 } };

const struct family upernet = {
	.name = "upernet",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
