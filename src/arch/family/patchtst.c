// SPDX-License-Identifier: Apache-2.0
// PatchTST (Nie et al. 2022, https://arxiv.org/abs/2211.14730): each channel of a time series is cut into patches, which are the
// tokens of a transformer; all channels have the same weights.
//
//   past_values [batch, length, channels] - scaled - patches - linear + positions -> [batch * channels, tokens, hidden]
//   layers: attention over time, where asked for over channels, feed-forward; norms before or after
//   -> forecast [batch, steps, channels], classes or numbers [batch, targets]
#include "arch/block/series.h"

enum pooling { POOL_NONE, POOL_MEAN, POOL_MAX, POOL_CLASS };

struct patchtst {
	struct series series;
	int64_t tokens, targets;
	bool batch_norm, channel_attention, shared, ffn_bias, norm_first, bounded;
	enum pooling pooling;
	double low, high;
};

static void resolve_range(struct config *c, struct patchtst *o)
{
	const json_t *range = config_get(c, "output_range");
	o->bounded = range != NULL;
	o->low = json_number_value(json_array_get(range, 0));
	o->high = json_number_value(json_array_get(range, 1));
	if (range && json_array_size(range) != 2)
		config_fail(c, STATUS_BAD_INPUT, "output_range should be two numbers");
}

static void resolve_pooling(struct config *c, struct patchtst *o)
{
	const char *word = config_text(c, "pooling_type");
	bool class_token = config_bool(c, "use_cls_token", false);
	o->pooling = class_token                ? POOL_CLASS
		: word && text_is(word, "mean") ? POOL_MEAN
		: word && text_is(word, "max")  ? POOL_MAX
						: POOL_NONE;
	if (word && o->pooling == POOL_NONE)
		config_fail(c, STATUS_UNSUPPORTED, "pooling_type %s is not supported yet", word);
	o->tokens = o->series.patches + class_token;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct patchtst *o = ARENA_NEW(a, struct patchtst);
	const char *norm = config_text(c, "norm_type");
	s->own = o;
	resolve_transformer(c, s, true);
	series_resolve(c, &o->series);
	resolve_pooling(c, o);
	resolve_range(c, o);
	o->targets = config_size(c, "num_targets", 1);
	o->batch_norm = norm && text_is(norm, "batchnorm");
	o->channel_attention = config_bool(c, "channel_attention", false);
	o->shared = config_bool(c, "share_embedding", true);
	o->ffn_bias = config_bool(c, "bias", true);
	o->norm_first = config_bool(c, "pre_norm", true);
	if (norm && !o->batch_norm && !text_is(norm, "layernorm"))
		config_fail(c, STATUS_UNSUPPORTED, "norm_type %s is not supported yet", norm);
	if (config_bool(c, "do_mask_input", false) && s->head == &head_model)
		config_fail(c, STATUS_UNSUPPORTED, "do_mask_input: patches masked at random are not supported yet");
	if (!config_bool(c, "share_projection", true) && s->head == &head_forecast)
		config_fail(c, STATUS_UNSUPPORTED, "share_projection: false is not supported yet");
	if (c->error.status)
		return;
	if (s->ffn_size < 1 || o->targets < 1)
		config_fail(c, STATUS_BAD_INPUT, "a feed-forward %lld wide, %lld targets", (long long)s->ffn_size,
			(long long)o->targets);
	else if (o->pooling == POOL_NONE && (s->head == &head_series || s->head == &head_regression))
		config_fail(c, STATUS_UNSUPPORTED, "pooling_type: null is not supported yet with this head");
}

// patches [batch, channels, patches, patch] -> [batch * channels, tokens, hidden]
static graph_value embed(struct build *b, graph_value x)
{
	const struct patchtst *o = b->s->own;
	const struct series *series = &o->series;
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	if (o->shared) {
		x = linear(b, "embed.patch", x, series->patch, h, true);
	} else {
		graph_value *each = GRAPH_TABLE(g, NULL, series->channels, 1, graph_value);
		for (b->layer = 0; each && b->layer < series->channels && !graph_failed(g); b->layer++)
			each[b->layer] =
				linear(b, "embed.channel", op_slice(g, x, 1, b->layer, b->layer + 1), series->patch, h, true);
		x = each ? op_concat(g, (int)series->channels, each, 1) : NO_VALUE;
	}
	graph_value places = WEIGHT(b, "embed.position", "", o->tokens, h);
	bool class_token = o->pooling == POOL_CLASS;
	x = op_add(g, x, op_slice(g, places, 0, class_token, o->tokens));
	x = op_reshape(g, x, 3, (int64_t[]){ -1, series->patches, h });
	if (!class_token)
		return x;
	graph_value first = op_add(g, WEIGHT(b, "embed.class", "", 1, 1, 1, h), op_slice(g, places, 0, 0, 1));
	graph_value rows = op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), graph_i64s(g, 2, (int64_t[]){ 1, h }) }, 0);
	first = op_expand(g, op_reshape(g, first, 3, (int64_t[]){ 1, 1, h }), rows);
	return op_concat(g, 2, (graph_value[]){ first, x }, 1);
}

static graph_value attend_over(struct build *b, const char *stem, graph_value x)
{
	const struct patchtst *o = b->s->own;
	int64_t h = b->s->hidden_size;
	graph_value y = o->norm_first ? series_norm(b, stem, x, h, o->batch_norm) : x;
	y = op_add(b->g, x, self_attention(b, y, NO_VALUE, NO_VALUE, NO_VALUE, true, true, NULL));
	return o->norm_first ? y : series_norm(b, stem, y, h, o->batch_norm);
}

// x [batch * first, second, hidden] -> [batch * second, first, hidden]
static graph_value turned(struct build *b, graph_value x, int64_t first, int64_t second)
{
	int64_t h = b->s->hidden_size;
	x = op_reshape(b->g, x, 4, (int64_t[]){ -1, first, second, h });
	return op_reshape(b->g, op_transpose(b->g, x, 4, (int[]){ 0, 2, 1, 3 }), 3, (int64_t[]){ -1, first, h });
}

static graph_value layer(struct build *b, graph_value x)
{
	const struct patchtst *o = b->s->own;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, channels = o->series.channels;
	x = attend_over(b, "layers.attn.norm", x);
	if (o->channel_attention) {
		x = attend_over(b, "layers.channels.norm", turned(b, x, channels, o->tokens));
		x = turned(b, x, o->tokens, channels);
	}
	graph_value y = o->norm_first ? series_norm(b, "layers.ffn.norm", x, h, o->batch_norm) : x;
	y = activate(b, s->act, linear(b, "layers.ffn.up", y, h, s->ffn_size, o->ffn_bias));
	x = op_add(b->g, x, linear(b, "layers.ffn.down", y, s->ffn_size, h, o->ffn_bias));
	return o->norm_first ? x : series_norm(b, "layers.ffn.norm", x, h, o->batch_norm);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct patchtst *o = b->s->own;
	struct body io = { 0 };
	o->series.level = o->series.scale = NO_VALUE;
	graph_value x = embed(b, series_patches(b, &o->series));
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		graph_leave(g);
	}
	io.last = op_reshape(g, x, 4, (int64_t[]){ -1, o->series.channels, o->tokens, b->s->hidden_size });
	graph_assume(g, io.last, 0, graph_symbol(g, "batch"));
	head_build(b, &io);
}

static graph_value pooled(struct build *b, graph_value x) // [batch, channels, tokens, hidden] -> [batch, channels, ..]
{
	const struct patchtst *o = b->s->own;
	struct graph *g = b->g;
	switch (o->pooling) {
	case POOL_CLASS:
		return op_squeeze(g, op_slice(g, x, 2, 0, 1), 2);
	case POOL_MEAN:
		return op_reduce_mean(g, x, 2, false);
	case POOL_MAX:
		return op_reduce_max(g, x, 2, false);
	case POOL_NONE:
		break;
	}
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, o->tokens * b->s->hidden_size });
}

static void give_forecast(struct build *b, const struct body *io)
{
	const struct patchtst *o = b->s->own;
	int64_t width = b->s->hidden_size * (o->pooling == POOL_NONE ? o->tokens : 1);
	graph_value x = linear(b, "head.forecast", pooled(b, io->last), width, o->series.prediction, true);
	x = series_unscaled(b, &o->series, op_transpose(b->g, x, 3, (int[]){ 0, 2, 1 }));
	graph_output(b->g, "prediction_outputs", x); // [batch, prediction, channels]
}

static graph_value targets(struct build *b, const struct body *io, const char *stem)
{
	const struct patchtst *o = b->s->own;
	int64_t width = b->s->hidden_size * o->series.channels;
	return linear(b, stem, op_reshape(b->g, pooled(b, io->last), 2, (int64_t[]){ 0, width }), width, o->targets, true);
}

static void give_classes(struct build *b, const struct body *io)
{
	graph_output(b->g, "prediction_logits", targets(b, io, "head.classes")); // [batch, targets]
}

static void give_numbers(struct build *b, const struct body *io)
{
	const struct patchtst *o = b->s->own;
	struct graph *g = b->g;
	graph_value x = targets(b, io, "head.forecast");
	if (o->bounded)
		x = op_add(g, op_scale(g, op_sigmoid(g, x), (float)(o->high - o->low)), graph_f32(g, (float)o->low));
	graph_output(g, "regression_outputs", x); // [batch, targets]
}

static const struct family_head heads[] = {
	{ &head_model, head_give_last },
	{ &head_forecast, give_forecast },
	{ &head_series, give_classes },
	{ &head_regression, give_numbers },
	{ 0 },
};

const struct family patchtst = {
	.name = "patchtst",
	.architecture = "time series",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
