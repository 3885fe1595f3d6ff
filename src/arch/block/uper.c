// SPDX-License-Identifier: Apache-2.0
// UPerNet's head (uper.h). Every convolution is followed by a norm and relu.
//
//   coarsest -+- mean of cells - 1x1 - resize, for each scale -+- concat - 3x3 -> p_n
//             +------------------------------------------------+
//   p_i = 1x1(map_i) + resize(p_i+1);  classes = 1x1(3x3(concat(3x3(p_1), resize(3x3(p_2)), .., resize(p_n))))
#include "arch/block/uper.h"

void resolve_uper(struct config *c, struct arena *a, struct uper *u, int64_t width)
{
	static const int64_t usual[] = { 1, 2, 3, 6 };
	*u = (struct uper){ .width = width };
	u->scales = config_sizes(c, "pool_scales", a, 0, &u->count);
	if (!u->scales)
		u->scales = usual, u->count = 4;
	if (!c->error.status && (u->count > 64 || width < 1))
		config_fail(
			c, STATUS_BAD_INPUT, "%lld pool_scales, maps of %lld channels", (long long)u->count, (long long)width);
	for (int64_t i = 0; i < u->count && !c->error.status; i++)
		if (u->scales[i] < 1 || u->scales[i] > 4096)
			config_fail(c, STATUS_BAD_INPUT, "pool_scales has a number that cannot be");
}

static graph_value step(struct build *b, const char *conv_stem, const char *norm_stem, graph_value x, int64_t out, int64_t kernel)
{
	return conv_norm(b, conv_stem, norm_stem, x, (struct conv){ .out = out, .kernel = kernel }, 1e-5, ACT_RELU);
}

static graph_value pyramid(struct build *b, const struct uper *u, graph_value x)
{
	graph_value *all = GRAPH_TABLE(b->g, NULL, u->count + 1, 1, graph_value);
	if (!all)
		return NO_VALUE;
	all[0] = x;
	for (b->layer = 0; b->layer < u->count && !graph_failed(b->g); b->layer++) {
		int64_t n = u->scales[b->layer];
		graph_value y = step(b, "uper.pool.conv", "uper.pool.norm", adaptive_pool(b, x, n, n), u->width, 1);
		all[b->layer + 1] = resized_like(b, y, x, "linear");
	}
	return step(b, "uper.pooled.conv", "uper.pooled.norm", op_concat(b->g, (int)u->count + 1, all, 1), u->width, 3);
}

graph_value uper_classes(struct build *b, const struct uper *u, const graph_value *maps, int64_t map_count)
{
	struct graph *g = b->g;
	graph_value *p = GRAPH_TABLE(g, NULL, map_count, 1, graph_value);
	if (!p)
		return NO_VALUE;
	graph_enter(g, "head");
	p[map_count - 1] = pyramid(b, u, maps[map_count - 1]);
	for (b->layer = map_count - 2; b->layer >= 0 && !graph_failed(g); b->layer--) {
		graph_value own = step(b, "uper.lateral.conv", "uper.lateral.norm", maps[b->layer], u->width, 1);
		p[b->layer] = op_add(g, own, resized_like(b, p[b->layer + 1], own, "linear"));
	}
	for (b->layer = 0; b->layer < map_count && !graph_failed(g); b->layer++) {
		if (b->layer < map_count - 1)
			p[b->layer] = step(b, "uper.fpn.conv", "uper.fpn.norm", p[b->layer], u->width, 3);
		p[b->layer] = b->layer ? resized_like(b, p[b->layer], p[0], "linear") : p[0];
	}
	graph_value x = step(b, "uper.fused.conv", "uper.fused.norm", op_concat(g, (int)map_count, p, 1), u->width, 3);
	x = conv(b, "uper.classes", x, (struct conv){ .out = b->s->labels, .kernel = 1, .bias = true });
	graph_leave(g);
	return x;
}
