// SPDX-License-Identifier: Apache-2.0
// DEIMv2: a leaner D-FINE (Huang et al. 2025, https://arxiv.org/abs/2509.20787). Maps are added where D-FINE joins them, a branch
// is half of one convolution, the decoder has RMS norms and a gated feed-forward. On DINOv3, whose maps are of one size, a few
// convolutions of the picture itself bring the details; the smallest models have an encoder of two maps without attention.
#include <math.h>

#include "arch/family/rt_detr.h"

void deim_resolve(struct config *c, struct spec *s, struct rt_detr *o)
{
	const char *kind = config_text(c, "encoder_type"), *joined = config_text(c, "encoder_fuse_op");
	o->lite = text_is(kind, "lite");
	o->gated = config_bool(c, "use_gateway", true);
	o->shared_boxes = config_bool(c, "share_bbox_head", false);
	o->trailing = config_bool(c, "encoder_has_trailing_conv", true);
	o->details = config_size(c, "spatial_tuning_adapter_inplanes", 16);
	if (kind && !o->lite && !text_is(kind, "hybrid"))
		config_fail(c, STATUS_BAD_INPUT, "encoder_type %s is neither hybrid nor lite", kind);
	if (joined && !text_is(joined, "sum"))
		config_fail(c, STATUS_BAD_INPUT, "encoder_fuse_op %s: the class can run with sum only", joined);
	if (o->details < 1 || o->details > 1 << 16 || o->detect.decoder_ffn < 2)
		config_fail(c, STATUS_BAD_INPUT, "spatial_tuning_adapter_inplanes %lld, decoder_ffn_dim %lld",
			(long long)o->details, (long long)o->detect.decoder_ffn);
	(void)s;
}

static const struct rt_detr *own(const struct build *b)
{
	return b->s->own;
}

static const char *word(struct build *b, const char *stem, const char *more)
{
	return arena_printf(graph_arena(b->g), "%s.%s", stem, more);
}

graph_value deim_norm(struct build *b, const char *stem, graph_value x)
{
	return op_rms_norm(b->g, x, WEIGHT(b, stem, "weight", b->s->hidden_size), 1e-6f);
}

graph_value deim_feed(struct build *b, const char *stem, graph_value x)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size, inner = own(b)->detect.decoder_ffn / 2;
	graph_value gate = op_silu(g, linear(b, word(b, stem, "gate"), x, h, inner, true));
	x = op_mul(g, gate, linear(b, word(b, stem, "up"), x, h, inner, true));
	return linear(b, word(b, stem, "down"), x, inner, h, true);
}

// Three linear layers: [batch, queries, 4] -> [.., hidden]
graph_value deim_position(struct build *b, graph_value box)
{
	int64_t layer = b->layer, h = b->s->hidden_size;
	for (b->layer = 0; b->layer < 3 && !graph_failed(b->g); b->layer++) {
		box = linear(b, "decoder.position", box, b->layer ? h : 4, h, true);
		box = b->layer < 2 ? activate(b, own(b)->decoder_act, box) : box;
	}
	b->layer = layer;
	return box;
}

//   x - 1x1 -+- half ----------------(+)- (3x3)
//            +- half - bottlenecks ---+
static graph_value branch(struct build *b, const char *stem, graph_value x, int64_t number)
{
	struct graph *g = b->g;
	const struct rt_detr *o = own(b);
	b->layer = number;
	x = rt_detr_conv(b, word(b, stem, "1"), x, 2 * o->fused, 1, 1, o->conv_act);
	graph_value rest = rt_detr_bottlenecks(b, stem, op_slice(g, x, 1, o->fused, 2 * o->fused), number);
	x = op_add(g, op_slice(g, x, 1, 0, o->fused), rest);
	return o->trailing ? rt_detr_conv(b, word(b, stem, "out"), x, o->fused, 3, 1, o->conv_act) : x;
}

graph_value deim_fusion(struct build *b, const char *stem, graph_value x, int64_t number)
{
	struct graph *g = b->g;
	const struct rt_detr *o = own(b);
	int64_t w = o->width;
	b->layer = number;
	x = rt_detr_conv(b, word(b, stem, "whole"), x, 2 * w, 1, 1, o->conv_act);
	graph_value one = branch(b, word(b, stem, "first"), op_slice(g, x, 1, w, 2 * w), number),
		    two = branch(b, word(b, stem, "second"), one, number);
	b->layer = number;
	return rt_detr_conv(b, word(b, stem, "out"), op_concat(g, 3, (graph_value[]){ x, one, two }, 1), w, 1, 1, o->conv_act);
}

static graph_value halved(struct build *b, graph_value x, int64_t number)
{
	x = op_average_pool(b->g, x, 2, (int64_t[]){ 3, 3 }, (int64_t[]){ 2, 2 }, (int64_t[]){ 1, 1, 1, 1 }, false, true);
	b->layer = number;
	return rt_detr_conv(b, "lite.smaller", x, own(b)->width, 1, 1, own(b)->conv_act);
}

void deim_lite(struct build *b, graph_value *maps, int64_t count)
{
	struct graph *g = b->g;
	const struct rt_detr *o = own(b);
	graph_value all[DEFORM_LEVELS_MOST + 1];
	for (b->layer = 0; b->layer < count; b->layer++)
		all[b->layer] = rt_detr_conv(b, "lite.input", maps[b->layer], o->width, 1, 1, ACT_NONE);
	all[count] = halved(b, all[count - 1], 1);
	all[count] = op_add(g, all[count], op_global_average_pool(g, all[count]));
	all[count] = rt_detr_conv(b, "lite.mixed", all[count], o->width, 1, 1, o->conv_act);
	maps[0] = deim_fusion(b, "lite.down", op_add(g, all[0], resized_like(b, all[1], all[0], "nearest")), 0);
	maps[1] = deim_fusion(b, "lite.up", op_add(g, all[1], halved(b, maps[0], 2)), 0);
}

void deim_detailed(struct build *b, graph_value pixels, graph_value *maps, int64_t count)
{
	struct graph *g = b->g;
	const struct rt_detr *o = own(b);
	int64_t n = o->details, patch = part_of(b->s, "backbone")->patch_size;
	graph_value two = graph_i64s(g, 1, (int64_t[]){ 2 }), size = graph_i64s(g, 1, &patch);
	graph_enter(g, "details");
	graph_value x = rt_detr_conv(b, "details.stem", pixels, n, 3, 2, ACT_GELU);
	x = op_max_pool(g, x, 2, (int64_t[]){ 3, 3 }, (int64_t[]){ 2, 2 }, (int64_t[]){ 1, 1, 1, 1 }, false);
	for (int64_t i = 0; i < count && !graph_failed(g); i++) {
		b->layer = 2 + i;
		x = rt_detr_conv(b, "details.conv", x, (i ? 4 : 2) * n, 3, 2, ACT_NONE);
		graph_value sides[2];
		for (int k = 0; k < 2; k++) {
			sides[k] = op_div(g, op_dim(g, pixels, 2 + k), size);
			for (int64_t times = i; times < count - 2; times++)
				sides[k] = op_mul(g, sides[k], two);
			sides[k] = i == count - 1 ? op_div(g, sides[k], two) : sides[k];
		}
		graph_value to[] = { op_dim(g, maps[i], 0), op_dim(g, maps[i], 1), sides[0], sides[1] };
		graph_value map = op_resize(g, maps[i], op_concat(g, 4, to, 0), "linear");
		for (int k = 0; k < 2; k++)
			graph_assume(g, map, 2 + k, value_dim(g, x, 2 + k));
		b->layer = i;
		maps[i] = rt_detr_conv(b, "details.out", op_concat(g, 2, (graph_value[]){ map, x }, 1), o->width, 1, 1, ACT_NONE);
		x = op_gelu(g, x);
	}
	graph_leave(g);
}
