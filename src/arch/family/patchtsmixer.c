// SPDX-License-Identifier: Apache-2.0
// PatchTSMixer (Ekambaram et al. 2023, https://arxiv.org/abs/2306.09364): patches of a time series go through feed-forwards that
// mix channels, patches and features in turn, each gated by a softmax over what it mixes.
//
//   past_values [batch, length, channels] - scaled - patches - linear (+ positions) -> [batch, channels, patches, hidden]
//   mixer:  x -+- norm - feed-forward over one axis - gate -(+)-
#include <stdlib.h>

#include "arch/block/series.h"

struct mixer_sizes {
	struct series series;
	int64_t expansion;
	const int64_t *chosen; // channels that are forecast, [chosen_count]; 0: all
	int64_t chosen_count;
	bool mixes_channels, gated, batch_norm, attends, placed;
};

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void resolve_chosen(struct config *c, struct mixer_sizes *o, struct arena *a)
{
	const json_t *list = config_get(c, "prediction_channel_indices");
	size_t n = json_array_size(list);
	int64_t *chosen = ARENA_ARRAY(a, n + 1, int64_t);
	for (size_t i = 0; i < n; i++) {
		const json_t *channel = json_array_get(list, i);
		chosen[i] = json_integer_value(channel);
		if (!json_is_integer(channel) || chosen[i] < 0 || chosen[i] >= o->series.channels)
			config_fail(c, STATUS_BAD_INPUT, "prediction_channel_indices should be numbers of channels");
	}
	if (list && !n)
		config_fail(c, STATUS_BAD_INPUT, "prediction_channel_indices names no channel");
	if (n)
		qsort(chosen, n, sizeof *chosen, by_number);
	o->chosen = chosen;
	o->chosen_count = (int64_t)n;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mixer_sizes *o = ARENA_NEW(a, struct mixer_sizes);
	const char *mode = config_text(c, "mode"), *norm = config_text(c, "norm_mlp");
	s->own = o;
	resolve_transformer(c, s, true);
	series_resolve(c, &o->series);
	if (c->error.status)
		return;
	resolve_chosen(c, o, a);
	o->expansion = config_size(c, "expansion_factor", 2);
	o->mixes_channels = mode && text_is(mode, "mix_channel");
	o->gated = config_bool(c, "gated_attn", true);
	o->attends = config_bool(c, "self_attn", false);
	o->placed = config_bool(c, "use_positional_encoding", false);
	o->batch_norm = norm && text_is(norm, "BatchNorm");
	if (mode && !o->mixes_channels && !text_is(mode, "common_channel"))
		config_fail(c, STATUS_UNSUPPORTED, "mode %s is not supported yet", mode);
	if (norm && !o->batch_norm && !text_is(norm, "LayerNorm"))
		config_fail(c, STATUS_UNSUPPORTED, "norm_mlp %s is not supported yet", norm);
	if (o->expansion < 1 || o->expansion > 1 << 10)
		config_fail(c, STATUS_BAD_INPUT, "expansion_factor %lld", (long long)o->expansion);
}

// Over the last axis of x, `width` long; the feed-forward and its gate. The patch mixer's gate comes after, the channel mixer's
// before.
static graph_value gate(struct build *b, const char *stem, graph_value x, int64_t width)
{
	const struct mixer_sizes *o = b->s->own;
	const char *name = arena_printf(graph_arena(b->g), "%s.gate", stem);
	return o->gated ? op_mul(b->g, x, op_softmax(b->g, linear(b, name, x, width, width, true), -1)) : x;
}

static graph_value mix(struct build *b, const char *stem, graph_value x, int64_t width)
{
	const struct mixer_sizes *o = b->s->own;
	struct arena *a = graph_arena(b->g);
	int64_t wide = width * o->expansion;
	x = op_gelu(b->g, linear(b, arena_printf(a, "%s.up", stem), x, width, wide, true));
	return linear(b, arena_printf(a, "%s.down", stem), x, wide, width, true);
}

static graph_value normed(struct build *b, const char *stem, graph_value x)
{
	const struct mixer_sizes *o = b->s->own;
	return series_norm(b, stem, x, b->s->hidden_size, o->batch_norm);
}

static graph_value mix_channels(struct build *b, graph_value x)
{
	const struct mixer_sizes *o = b->s->own;
	struct graph *g = b->g;
	int64_t n = o->series.channels;
	graph_value y = op_transpose(g, normed(b, "layers.channels.norm", x), 4, (int[]){ 0, 3, 2, 1 });
	y = mix(b, "layers.channels", gate(b, "layers.channels", y, n), n);
	return op_add(g, x, op_transpose(g, y, 4, (int[]){ 0, 3, 2, 1 }));
}

static graph_value mix_patches(struct build *b, graph_value x)
{
	const struct mixer_sizes *o = b->s->own;
	struct graph *g = b->g;
	int64_t n = o->series.patches, h = b->s->hidden_size;
	graph_value y = normed(b, "layers.patches.norm", x), seen = NO_VALUE;
	if (o->attends) {
		seen = self_attention(
			b, op_reshape(g, y, 3, (int64_t[]){ -1, n, h }), NO_VALUE, NO_VALUE, NO_VALUE, true, true, NULL);
		seen = op_reshape(g, seen, 4, (int64_t[]){ -1, o->series.channels, n, h });
	}
	y = mix(b, "layers.patches", op_transpose(g, y, 4, (int[]){ 0, 1, 3, 2 }), n);
	y = op_transpose(g, gate(b, "layers.patches", y, n), 4, (int[]){ 0, 1, 3, 2 });
	if (o->attends)
		y = normed(b, "layers.attn.norm", op_add(g, y, seen));
	return op_add(g, x, y);
}

static graph_value mix_features(struct build *b, graph_value x)
{
	int64_t h = b->s->hidden_size;
	graph_value y = mix(b, "layers.features", normed(b, "layers.features.norm", x), h);
	return op_add(b->g, x, gate(b, "layers.features", y, h));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	struct mixer_sizes *o = b->s->own;
	struct body io = { 0 };
	int64_t h = b->s->hidden_size;
	o->series.level = o->series.scale = NO_VALUE;
	graph_value x = linear(b, "embed.patch", series_patches(b, &o->series), o->series.patch, h, true);
	if (o->placed)
		x = op_add(g, x, WEIGHT(b, "embed.position", "", o->series.patches, h));
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = o->mixes_channels ? mix_channels(b, x) : x;
		x = mix_features(b, mix_patches(b, x));
		graph_leave(g);
	}
	io.last = x;
	head_build(b, &io);
}

static graph_value chosen(struct build *b, graph_value x) // of the last axis
{
	const struct mixer_sizes *o = b->s->own;
	if (!o->chosen_count || !x.id)
		return x;
	return op_gather(b->g, x, graph_i64s(b->g, (int)o->chosen_count, o->chosen), value_rank(b->g, x) - 1);
}

static void give_forecast(struct build *b, const struct body *io)
{
	const struct mixer_sizes *o = b->s->own;
	struct graph *g = b->g;
	int64_t width = o->series.patches * b->s->hidden_size;
	struct series of = o->series;
	of.level = chosen(b, of.level);
	of.scale = chosen(b, of.scale);
	graph_value x = op_reshape(g, io->last, 3, (int64_t[]){ 0, 0, width });
	x = op_transpose(g, linear(b, "head.forecast", x, width, of.prediction, true), 3, (int[]){ 0, 2, 1 });
	graph_output(g, "prediction_outputs", series_unscaled(b, &of, chosen(b, x))); // [batch, prediction, channels]
	graph_output(g, "last_hidden_state", io->last);                               // [batch, channels, patches, hidden]
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { &head_forecast, give_forecast }, { 0 } };

const struct family patchtsmixer = {
	.name = "patchtsmixer",
	.architecture = "time series",
	.resolve = resolve,
	.build = build,
	.heads = heads,
};
