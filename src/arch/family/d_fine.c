// SPDX-License-Identifier: Apache-2.0
// D-FINE: RT-DETR whose boxes are found by a distribution for each side (Peng et al. 2024, https://arxiv.org/abs/2410.13842).
// A layer adds to the logits of the layer before; what they mean is counted from the box that the first layer finds.
//
//   fusion:  x - 1x1 -+- half ---------------------------------+- concat - 1x1
//                     +- half -+- branches - 3x3 -+------------+
//                                                 +- branches - 3x3
#include <math.h>

#include "arch/family/rt_detr.h"

void d_fine_resolve(struct config *c, struct spec *s, struct rt_detr *o)
{
	int64_t index = json_integer_value(config_get(c, "eval_idx"));
	o->blocks = (int64_t)nearbyint(3 * config_real(c, "depth_mult", 1));
	o->bins = config_count(c, "max_num_bins", 32);
	o->best = config_count(c, "top_prob_values", 4);
	o->best_ffn = config_size(c, "lqe_hidden_dim", 64);
	o->best_layers = config_count(c, "lqe_layers", 2);
	(void)s;
	if (!c->error.status && index != -1 && index != o->detect.decoder_layers - 1)
		config_fail(c, STATUS_UNSUPPORTED, "eval_idx: results of a layer before the last are not supported yet");
	if (!c->error.status &&
		(o->bins < 4 || o->bins % 2 || o->best < 1 || o->best > o->bins + 1 || o->best_layers < 1 || o->best_ffn < 1 ||
			o->blocks < 0 || o->blocks > CONFIG_COUNT_MOST))
		config_fail(c, STATUS_BAD_INPUT,
			"max_num_bins should be an even number of 4 or more, top_prob_values at most one more, lqe_layers and "
			"lqe_hidden_dim 1 or more");
}

static const struct rt_detr *own(const struct build *b)
{
	return b->s->own;
}

graph_value d_fine_fusion(struct build *b, const char *stem, graph_value both, int64_t number)
{
	struct graph *g = b->g;
	struct arena *a = graph_arena(g);
	int64_t w = own(b)->width, fused = own(b)->fused;
	b->layer = number;
	graph_value x = rt_detr_conv(b, arena_printf(a, "%s.whole", stem), both, 2 * w, 1, 1, ACT_SILU);
	graph_value one = rt_detr_branches(b, arena_printf(a, "%s.first", stem), op_slice(g, x, 1, w, 2 * w), number);
	one = rt_detr_conv(b, arena_printf(a, "%s.first.out", stem), one, fused, 3, 1, ACT_SILU);
	graph_value two = rt_detr_branches(b, arena_printf(a, "%s.second", stem), one, number);
	two = rt_detr_conv(b, arena_printf(a, "%s.second.out", stem), two, fused, 3, 1, ACT_SILU);
	x = op_concat(g, 3, (graph_value[]){ x, one, two }, 1);
	return rt_detr_conv(b, arena_printf(a, "%s.out", stem), x, w, 1, 1, ACT_SILU);
}

graph_value d_fine_smaller(struct build *b, graph_value x)
{
	int64_t w = own(b)->width;
	x = rt_detr_conv(b, "smaller.point", x, w, 1, 1, ACT_NONE);
	return conv_norm(b, "smaller.channel", "smaller.channel.norm", x,
		(struct conv){ .out = w, .kernel = 3, .stride = 2, .pad = 1, .group = w }, own(b)->norm_eps, ACT_NONE);
}

graph_value d_fine_gate(struct build *b, graph_value x, graph_value y)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value gate = linear(b, "decoder.gate", op_concat(g, 2, (graph_value[]){ x, y }, 2), 2 * h, 2 * h, true);
	gate = op_sigmoid(g, gate);
	x = op_mul(g, op_slice(g, gate, 2, 0, h), x);
	x = op_add(g, x, op_mul(g, op_slice(g, gate, 2, h, 2 * h), y));
	return TRAITS_OF(b->s, rt_detr)->lean ? deim_norm(b, "decoder.gate.norm", x) : layer_norm(b, "decoder.gate.norm", x, h);
}

graph_value d_fine_clamp(struct build *b, graph_value x, float most)
{
	return op_min(b->g, op_max(b->g, x, graph_f32(b->g, -most)), graph_f32(b->g, most));
}

// What each step of a distribution stands for, in units of the box (formula 4): dense around 0, [bins + 1].
static graph_value steps(struct build *b, graph_value curve)
{
	struct graph *g = b->g;
	int64_t n = own(b)->bins, inner = n - 1;
	float *power = GRAPH_TABLE(g, NULL, inner, 1, float), *sign = GRAPH_TABLE(g, NULL, inner, 1, float);
	if (!power || !sign)
		return NO_VALUE;
	for (int64_t i = 0; i < inner; i++) {
		int64_t at = i - (n / 2 - 1);
		power[i] = (float)(at < 0 ? -at : at);
		sign[i] = (float)((at > 0) - (at < 0));
	}
	graph_value one = graph_f32(g, 1), most = op_mul(g, op_abs(g, WEIGHT(b, "decoder.reach", "", 1)), curve);
	graph_value base = op_pow(g, op_add(g, most, one), graph_f32(g, (float)(2.0 / (double)(n - 2))));
	graph_value x = op_sub(g, op_pow(g, base, graph_constant(g, DTYPE_F32, 1, &inner, power)), one);
	x = op_mul(g, x, graph_constant(g, DTYPE_F32, 1, &inner, sign));
	return op_concat(g, 3, (graph_value[]){ op_scale(g, most, -2), x, op_scale(g, most, 2) }, 0);
}

// Logits [batch, queries, 4 * (bins + 1)] -> [batch, queries, 4, bins + 1], which add up to 1
static graph_value distributions(struct build *b, graph_value corners)
{
	return op_softmax(b->g, op_reshape(b->g, corners, 4, (int64_t[]){ 0, 0, 4, own(b)->bins + 1 }), -1);
}

graph_value d_fine_box(struct build *b, struct d_fine *f, graph_value x, graph_value box)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	if (!f->first.id)
		f->first = op_sigmoid(g, op_add(g, detect_mlp(b, "decoder.box", x, 3, h, 4), inverse_sigmoid(g, box)));
	graph_value seen = f->before.id ? op_add(g, x, f->before) : x;
	graph_value corners = detect_mlp(b, "head.boxes", seen, 3, h, 4 * (own(b)->bins + 1));
	f->corners = f->corners.id ? op_add(g, corners, f->corners) : corners;
	f->before = x;
	graph_value curve = op_abs(g, WEIGHT(b, "decoder.curve", "", 1));
	graph_value far = op_reduce_sum(g, op_mul(g, distributions(b, f->corners), steps(b, curve)), -1, false); // [.., 4]
	graph_value size = op_slice(g, f->first, 2, 2, 4), unit = op_div(g, size, curve);
	graph_value less = op_slice(g, far, 2, 0, 2), more = op_slice(g, far, 2, 2, 4);
	graph_value middle = op_scale(g, op_mul(g, op_sub(g, more, less), unit), 0.5f);
	graph_value wider = op_mul(g, op_add(g, more, less), unit);
	return op_concat(g, 2, (graph_value[]){ op_add(g, op_slice(g, f->first, 2, 0, 2), middle), op_add(g, size, wider) }, 2);
}

graph_value d_fine_quality(struct build *b, const struct d_fine *f)
{
	struct graph *g = b->g;
	int64_t best = own(b)->best;
	graph_value x = op_topk(g, distributions(b, f->corners), best);
	x = op_concat(g, 2, (graph_value[]){ x, op_reduce_mean(g, x, -1, true) }, 3);
	x = op_reshape(g, x, 3, (int64_t[]){ 0, 0, 4 * (best + 1) });
	return detect_mlp(b, "decoder.quality", x, own(b)->best_layers, own(b)->best_ffn, 1);
}
