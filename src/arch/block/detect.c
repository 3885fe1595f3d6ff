// SPDX-License-Identifier: Apache-2.0
// What detection transformers have in common (detect.h).
#include "arch/block/detect.h"

#include <math.h>
#include <string.h>

// Do they say what transformers 4 itself passes on: all four stages, the model's channels, dilation as a stride?
static bool usual_kwargs(const json_t *kwargs, int64_t channels, bool dilation)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)kwargs, key, v)
	{
		bool usual = text_is(key, "in_chans")   ? json_integer_value(v) == channels
			: text_is(key, "output_stride") ? dilation && json_integer_value(v) == 16
							: text_is(key, "out_indices") && json_array_size(v) == 4;
		for (size_t i = 0; usual && i < json_array_size(v); i++)
			usual = json_integer_value(json_array_get(v, i)) == (json_int_t)i + 1;
		if (!usual)
			return false;
	}
	return true;
}

// The row says what a backbone is called: as "backbone" that of timm, as "vision" the class's own.
// Either backbone_config says it all, or `backbone` names one of timm's, or the class's default backbone is meant.
static void resolve_backbone(struct config *c, struct spec *s, struct arena *a, const struct detect *d)
{
	const char *name = config_text(c, "backbone");
	const json_t *given = config_given(c, "backbone_config");
	bool timm = config_bool(c, "use_timm_backbone", !d->described), dilation = config_bool(c, "dilation", false);
	if (json_object_size(config_get(c, "backbone_kwargs")) &&
		!usual_kwargs(config_get(c, "backbone_kwargs"), s->channels, dilation))
		config_fail(c, STATUS_UNSUPPORTED, "backbone_kwargs other than those of the class are not supported yet");
	if (!given && !timm && name)
		config_fail(c, STATUS_UNSUPPORTED, "the backbone %s, whose configuration lies elsewhere, is not supported", name);
	if (c->error.status)
		return;
	json_t *made = NULL;
	if (!given && timm) {
		made = json_pack("{s:s, s:s, s:I, s:[i,i,i,i]}", "model_type", part_type(s->row, "backbone"), "backbone",
			name ? name : "resnet50", "num_channels", (json_int_t)s->channels, "out_indices", 1, 2, 3, 4);
		for (int64_t i = 0; d->maps && i < 4 - d->maps; i++)
			json_array_remove(json_object_get(made, "out_indices"), 0);
		if (dilation)
			json_object_set_new(made, "output_stride", json_integer(16));
	} else if (!given && !d->described)
		made = json_pack("{s:s, s:[s]}", "model_type", part_type(s->row, "vision"), "out_features", "stage4");
	bool bare = s->head && s->head->bare;
	const char *bottom = d->wrapped ? "_backbone." : "";
	const char *const roots[] = { arena_printf(a, "%sbackbone.conv_encoder.model.%s", bare ? "" : "model.", bottom),
		arena_printf(a, "model.backbone.conv_encoder.model.%s", bottom),
		arena_printf(a, "backbone.conv_encoder.model.%s", bottom), "model.backbone.conv_encoder.model.",
		"backbone.conv_encoder.model.", "model.backbone.model.", "backbone.model.", NULL };
	struct config said = *c; // as if config.json had said it
	json_t *holder = made ? json_pack("{s:o}", "backbone_config", made) : NULL;
	if (holder)
		said.given = holder;
	struct spec *backbone = resolve_part(&said, s, a, "backbone", "backbone_config", NULL, &head_backbone, roots);
	if (backbone && !c->checkpoint->weight_count)
		backbone->prefix = "";
	c->error = said.error;
	json_decref(holder);
}

static bool sloped(const struct config *c)
{
	for (const struct weight_name *w = c->dialect->weights; w->canonical; w++)
		if (text_is(w->canonical, "decoder.ffn.slope"))
			return true;
	return false;
}

void resolve_detector(struct config *c, struct spec *s, struct arena *a, struct detect *d)
{
	s->channels = config_size(c, "num_channels", 3);
	s->hidden_size = config_size(c, "d_model", 256);
	bool slope = sloped(c) && text_is(config_text(c, "activation_function"), "prelu");
	s->act = slope ? ACT_NONE : config_activation(c, "activation_function", ACT_RELU);
	s->norm_eps = 1e-5;
	d->queries = config_size(c, "num_queries", 100);
	d->encoder_layers = config_count(c, "encoder_layers", 6);
	d->encoder_heads = config_size(c, "encoder_attention_heads", 8);
	d->encoder_ffn = config_size(c, "encoder_ffn_dim", 2048);
	d->decoder_layers = config_count(c, "decoder_layers", 6);
	d->decoder_heads = config_size(c, "decoder_attention_heads", 8);
	d->decoder_ffn = config_size(c, "decoder_ffn_dim", 2048);
	d->auxiliary = config_bool(c, "auxiliary_loss", false);
	d->temperature = 10000;
	const char *positions = config_text(c, "position_embedding_type");
	d->learned_positions = text_is(positions, "learned");
	if (positions && !d->learned_positions && !text_is(positions, "sine"))
		config_fail(c, STATUS_BAD_INPUT, "position_embedding_type %s is neither sine nor learned", positions);
	s->heads = s->kv_heads = d->encoder_heads;
	s->ffn_size = d->encoder_ffn;
	s->layers = s->layers_in_config = d->encoder_layers > d->decoder_layers ? d->encoder_layers : d->decoder_layers;
	bool bad = s->hidden_size < 4 || s->hidden_size % 4 || d->encoder_heads < 1 || d->decoder_heads < 1 ||
		s->hidden_size % d->encoder_heads || s->hidden_size % d->decoder_heads || d->encoder_layers > 10000 ||
		d->decoder_layers > 10000 || d->queries < 1;
	if (!c->error.status && bad)
		config_fail(c, STATUS_BAD_INPUT, "d_model %lld with %lld and %lld heads, %lld queries", (long long)s->hidden_size,
			(long long)d->encoder_heads, (long long)d->decoder_heads, (long long)d->queries);
	s->own = d;
	resolve_backbone(c, s, a, d);
	const struct spec *backbone = part_of(s, "backbone");
	int64_t channels = s->channels;
	if (!backbone || c->error.status)
		return;
	resolve_backbone_image(s, backbone);
	s->channels = channels;
}

int64_t detect_layers(const struct spec *s, int64_t layers)
{
	return layers < s->layers ? layers : s->layers;
}

struct detect_inputs detect_inputs(struct build *b)
{
	struct graph *g = b->g;
	graph_value pixels = pixel_input(b, b->s->channels, b->s->image_size, b->s->image_width);
	if (graph_failed(g))
		return (struct detect_inputs){ NO_VALUE, NO_VALUE };
	int64_t shape[] = { value_dim(g, pixels, 0), value_dim(g, pixels, 2), value_dim(g, pixels, 3) };
	return (struct detect_inputs){ pixels, graph_input(g, "pixel_mask", DTYPE_I64, 3, shape) };
}

graph_value detect_mask(struct build *b, graph_value mask, graph_value map)
{
	struct graph *g = b->g;
	graph_value x = op_unsqueeze(g, op_cast(g, mask, DTYPE_F32), 0); // [1, batch, height, width]
	graph_value sizes[] = { graph_i64s(g, 1, (int64_t[]){ 1 }), op_dim(g, mask, 0), op_dim(g, map, 2), op_dim(g, map, 3) };
	return op_squeeze(g, op_resize(g, x, op_concat(g, 4, sizes, 0), "nearest"), 0);
}

graph_value detect_mask_bias(struct build *b, graph_value mask)
{
	struct graph *g = b->g;
	graph_value flat = op_reshape(g, op_cast(g, mask, DTYPE_I64), 2, (int64_t[]){ 0, -1 });
	return mask_bidirectional(b, flat);
}

graph_value detect_sines(struct build *b, graph_value x, int64_t width, double temperature)
{
	struct graph *g = b->g;
	float *length = GRAPH_TABLE(g, NULL, width, 1, float), *phase = GRAPH_TABLE(g, NULL, width, 1, float);
	if (!length || !phase)
		return NO_VALUE;
	for (int64_t i = 0; i < width; i++) {
		length[i] = powf((float)temperature, (float)(2 * (i / 2)) / (float)width);
		phase[i] = i % 2 ? (float)M_PI_2 : 0; // cos x = sin(x + pi / 2)
	}
	graph_value angle = op_div(g, x, graph_constant(g, DTYPE_F32, 1, &width, length));
	return op_sin(g, op_add(g, angle, graph_constant(g, DTYPE_F32, 1, &width, phase)));
}

// Counted over what the mask leaves, from 0 to 2 pi (Carion et al. 2020, https://arxiv.org/abs/2005.12872, appendix A.4).
static graph_value along(struct build *b, graph_value mask, int axis)
{
	struct graph *g = b->g;
	const struct detect *d = b->s->own;
	double turn = d->turn != 0 ? d->turn : 2 * M_PI;
	graph_value count = op_cumsum(g, mask, axis); // [batch, height, width]
	graph_value all = op_add(g, op_slice(g, count, axis, -1, INT64_MAX), graph_f32(g, 1e-6f));
	return op_unsqueeze(g, op_mul(g, op_div(g, count, all), graph_f32(g, (float)turn)), 3);
}

static graph_value learned(struct build *b, const char *stem, graph_value map, int axis)
{
	struct graph *g = b->g;
	enum { ROWS = 50 };
	graph_value table = WEIGHT(b, stem, "weight", ROWS, b->s->hidden_size / 2);
	return op_slice_to(g, table, 0, graph_i64s(g, 1, (int64_t[]){ 0 }), op_dim(g, map, axis));
}

graph_value detect_positions(struct build *b, graph_value mask, graph_value map)
{
	struct graph *g = b->g;
	const struct detect *d = b->s->own;
	int64_t half = b->s->hidden_size / 2, across = d->temperature_across ? d->temperature_across : d->temperature;
	graph_enter(g, "positions");
	graph_value both;
	if (d->learned_positions) { // first the column's, then the row's
		bool old = !weight_exists(b, "positions.row", "weight");
		graph_value x = learned(b, old ? "positions.column.old" : "positions.column", map, 3),
			    y = learned(b, old ? "positions.row.old" : "positions.row", map, 2);
		graph_value each[] = { op_dim(g, map, 2), op_dim(g, map, 3), graph_i64s(g, 1, &half) };
		graph_value shape = op_concat(g, 3, each, 0);
		both = op_concat(g, 2,
			(graph_value[]){ op_expand(g, op_unsqueeze(g, x, 0), shape), op_expand(g, op_unsqueeze(g, y, 1), shape) },
			2);
		graph_value all[] = { op_dim(g, map, 0), each[0], each[1], graph_i64s(g, 1, (int64_t[]){ 2 * half }) };
		both = op_expand(g, op_unsqueeze(g, both, 0), op_concat(g, 4, all, 0)); // [batch, height, width, hidden]
	} else {
		graph_value y = detect_sines(b, along(b, mask, 1), half, (double)d->temperature),
			    x = detect_sines(b, along(b, mask, 2), half, (double)across);
		both = op_concat(g, 2, (graph_value[]){ y, x }, 3); // [batch, height, width, hidden]
	}
	graph_leave(g);
	return op_reshape(g, both, 3, (int64_t[]){ 0, -1, 2 * half });
}

static const char *word(struct build *b, const char *stem, const char *end)
{
	return arena_printf(graph_arena(b->g), "%s.%s", stem, end);
}

graph_value detect_attention(
	struct build *b, const char *stem, graph_value q, graph_value k, graph_value v, graph_value bias, int64_t heads)
{
	int64_t h = b->s->hidden_size;
	q = linear(b, word(b, stem, "q"), q, h, h, true);
	k = linear(b, word(b, stem, "k"), k, h, h, true);
	v = linear(b, word(b, stem, "v"), v, h, h, true);
	graph_value y = op_attention(b->g,
		&(struct attention){
			q, k, v, .bias = bias, .heads = heads, .scale = (float)(1 / sqrt((double)h / (double)heads)) });
	return linear(b, word(b, stem, "o"), y, h, h, true);
}

graph_value detect_ffn(struct build *b, const char *stem, graph_value x, int64_t inner)
{
	struct graph *g = b->g;
	const char *slope = word(b, stem, "slope");
	graph_value y = linear(b, word(b, stem, "up"), x, b->s->hidden_size, inner, true);
	if (b->s->act == ACT_NONE && weight_named(b, slope)) {
		graph_value below = op_mul(g, op_min(g, y, graph_f32(g, 0)), WEIGHT(b, slope, "weight", 1));
		y = op_add(g, op_relu(g, y), below);
	} else
		y = activate(b, b->s->act, y);
	return linear(b, word(b, stem, "down"), y, inner, b->s->hidden_size, true);
}

// Norms after:  x -+- attention -(+)- norm -+- up - act - down -(+)- norm
//                  +--------------+         +------------------+
// Norms first:  the norm stands before each branch, and one after the last layer.
// Queries and keys have the positions added, values have not.
graph_value detect_encoder(struct build *b, graph_value x, graph_value positions, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct detect *d = s->own;
	bool first = s->traits.norm_first;
	for (b->layer = 0; b->layer < detect_layers(s, d->encoder_layers) && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "encoder.%lld", (long long)b->layer);
		graph_value y = first ? layer_norm(b, "encoder.attn.norm", x, s->hidden_size) : x, at = positions;
		if (weight_named(b, "encoder.scale"))
			at = op_mul(g, at, detect_mlp(b, "encoder.scale", x, 2, s->hidden_size, s->hidden_size));
		graph_value placed = op_add(g, y, at);
		x = op_add(g, x, detect_attention(b, "encoder.attn", placed, placed, y, bias, d->encoder_heads));
		x = first ? x : layer_norm(b, "encoder.attn.norm", x, s->hidden_size);
		y = first ? layer_norm(b, "encoder.ffn.norm", x, s->hidden_size) : x;
		x = op_add(g, x, detect_ffn(b, "encoder.ffn", y, d->encoder_ffn));
		x = first ? x : layer_norm(b, "encoder.ffn.norm", x, s->hidden_size);
		graph_leave(g);
	}
	return first ? layer_norm(b, "encoder.norm", x, s->hidden_size) : x;
}

graph_value detect_mlp(struct build *b, const char *stem, graph_value x, int64_t layers, int64_t inner, int64_t out)
{
	int64_t layer = b->layer;
	for (b->layer = 0; b->layer < layers && !graph_failed(b->g); b->layer++) {
		bool last = b->layer == layers - 1;
		x = linear(b, stem, x, value_dim(b->g, x, -1), last ? out : inner, true);
		x = last ? x : op_relu(b->g, x);
	}
	b->layer = layer;
	return x;
}

graph_value detect_queries(struct build *b, const char *stem, int64_t count, int64_t width)
{
	return op_unsqueeze(b->g, WEIGHT(b, stem, "weight", count, width), 0);
}

graph_value detect_zeros(struct build *b, graph_value like_batch, int64_t count, int64_t width)
{
	struct graph *g = b->g;
	graph_value zero = graph_constant(g, DTYPE_F32, 3, (int64_t[]){ 1, 1, 1 }, &(float){ 0 });
	return op_expand(g, zero,
		op_concat(g, 2, (graph_value[]){ op_dim(g, like_batch, 0), graph_i64s(g, 2, (int64_t[]){ count, width }) }, 0));
}

graph_value detect_places(struct build *b, graph_value height, graph_value width, int64_t w)
{
	struct graph *g = b->g;
	graph_value sides[] = { height, width }, half[2];
	graph_value shape = op_concat(g, 3, (graph_value[]){ height, width, graph_i64s(g, 1, (int64_t[]){ w / 2 }) }, 0);
	for (int i = 0; i < 2; i++) {
		graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, sides[i], 0), graph_i64(g, 1));
		at = op_add(g, op_cast(g, at, DTYPE_F32), graph_f32(g, 1));
		at = op_div(g, at, op_add(g, op_cast(g, sides[i], DTYPE_F32), graph_f32(g, 1e-6f)));
		at = detect_sines(b, op_unsqueeze(g, op_scale(g, at, (float)(2 * M_PI)), 1), w / 2, 10000); // [n, w / 2]
		half[i] = op_expand(g, op_unsqueeze(g, at, i ? 0 : 1), shape);
	}
	return op_reshape(g, op_concat(g, 2, half, 2), 3, (int64_t[]){ 1, -1, w });
}
