// SPDX-License-Identifier: Apache-2.0
// Time series: scaling by their own level and spread, and patches.
#include "arch/block/series.h"

enum series_scaling series_scaling_of(struct config *c)
{
	const json_t *said = config_get(c, "scaling");
	const char *word = json_string_value(said);
	if (json_is_true(said) || (word && text_is(word, "mean")))
		return SCALING_MEAN;
	return word && text_is(word, "std") ? SCALING_DEVIATION : SCALING_NONE;
}

void series_resolve(struct config *c, struct series *o)
{
	const char *loss = config_text(c, "loss");
	o->length = config_size(c, "context_length", -1);
	o->channels = config_count(c, "num_input_channels", -1);
	o->patch = config_size(c, "patch_length", -1);
	o->stride = config_size(c, "patch_stride", -1);
	o->prediction = config_size(c, "prediction_length", -1);
	o->scaling = series_scaling_of(c);
	if (loss && !text_is(loss, "mse"))
		config_fail(c, STATUS_UNSUPPORTED, "loss %s: a head that gives a distribution is not supported yet", loss);
	if (c->error.status)
		return;
	if (o->channels < 1 || o->patch < 1 || o->stride < 1 || o->length <= o->patch || o->prediction < 1)
		config_fail(c, STATUS_BAD_INPUT, "context_length %lld, patch_length %lld, patch_stride %lld do not go together",
			(long long)o->length, (long long)o->patch, (long long)o->stride);
	else
		o->patches = (o->length - o->patch) / o->stride + 1;
}

// (x - mean) / sqrt(variance + 1e-5), or x / mean(|x|), over time
static graph_value scaled(struct build *b, struct series *o, graph_value x)
{
	struct graph *g = b->g;
	graph_enter(g, "scaler");
	if (o->scaling == SCALING_DEVIATION) {
		o->level = op_reduce_mean(g, x, 1, true);
		x = op_sub(g, x, o->level);
		o->scale = op_sqrt(g, op_add(g, op_reduce_mean(g, op_mul(g, x, x), 1, true), graph_f32(g, 1e-5f)));
	} else if (o->scaling == SCALING_MEAN)
		o->scale = op_max(g, op_reduce_mean(g, op_abs(g, x), 1, true), graph_f32(g, 1e-10f));
	x = o->scale.id ? op_div(g, x, o->scale) : x;
	graph_leave(g);
	return x;
}

graph_value series_unscaled(struct build *b, const struct series *o, graph_value x)
{
	x = o->scale.id ? op_mul(b->g, x, o->scale) : x;
	return o->level.id ? op_add(b->g, x, o->level) : x;
}

graph_value series_patches(struct build *b, struct series *o)
{
	struct graph *g = b->g;
	int64_t dim[] = { graph_symbol(g, "batch"), o->length, o->channels };
	graph_value x = scaled(b, o, graph_input(g, "past_values", DTYPE_F32, 3, dim));
	int64_t first = o->length - o->patch - o->stride * (o->patches - 1);
	int64_t *at = GRAPH_TABLE(g, NULL, o->patches, o->patch, int64_t);
	for (int64_t i = 0; at && i < o->patches * o->patch; i++)
		at[i] = first + i / o->patch * o->stride + i % o->patch;
	graph_value places = graph_constant(g, DTYPE_I64, 2, (int64_t[]){ o->patches, o->patch }, at);
	return op_gather(g, op_transpose(g, x, 3, (int[]){ 0, 2, 1 }), places, 2);
}

graph_value series_norm(struct build *b, const char *stem, graph_value x, int64_t width, bool batch)
{
	struct graph *g = b->g;
	if (!batch)
		return layer_norm(b, stem, x, width);
	graph_value w = WEIGHT(b, stem, "batchnorm.weight", width), bias = WEIGHT(b, stem, "batchnorm.bias", width);
	graph_value mean = WEIGHT(b, stem, "batchnorm.running_mean", width),
		    variance = WEIGHT(b, stem, "batchnorm.running_var", width);
	graph_value spread = op_sqrt(g, op_add(g, variance, graph_f32(g, (float)b->s->norm_eps)));
	w = op_div(g, w, spread); // of the weights alone: engines fold it
	return op_add(g, op_mul(g, x, w), op_sub(g, bias, op_mul(g, mean, w)));
}
