// SPDX-License-Identifier: Apache-2.0
// SAM 3's vision tower (https://arxiv.org/abs/2511.16719): a plain vision transformer most of whose layers attend within windows,
// with queries and keys rotated by row and column (EVA-02, https://arxiv.org/abs/2303.11331), learned positions repeated over the
// picture; and a pyramid of maps made of its last state alone (ViTDet, https://arxiv.org/abs/2203.16527).
// States are [batch, rows, cols, hidden].
//
//   pixels -> patches + positions -> norm -> layers -> each larger or smaller - 1x1 - 3x3 -> maps
//   layer:  x -+- norm - (windows -) attention (- back) -(+)-+- norm - up - act - down -(+)-
//              +-----------------------------------------+  +--------------------------+
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/sam3_vision.h"

// spec.own of the transformer.
struct sam3_vit {
	int64_t window, rows, cols; // of patches
	int64_t trained;            // rows, and columns, of the learned positions
	const bool *whole;          // [layers]: without windows
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	static const int64_t usual[] = { 7, 15, 23, 31 };
	struct sam3_vit *v = ARENA_NEW(a, struct sam3_vit);
	int64_t trained[2], count = 4;
	s->own = v;
	resolve_transformer(c, s, true);
	resolve_image(c, s);
	resolve_pair(c, a, "pretrain_image_size", 336, 1, trained);
	const json_t *list = config_get(c, "global_attn_indexes"), *rope = config_get(c, "rope_parameters");
	const json_t *theta = json_object_get(rope, "rope_theta");
	const char *kind = json_string_value(json_object_get(rope, "rope_type"));
	bool none = json_is_array(list) && !json_array_size(list);
	const int64_t *global = none ? NULL : list ? config_sizes(c, "global_attn_indexes", a, 0, &count) : usual;
	v->window = config_size(c, "window_size", 24);
	s->rope.theta = json_is_number(theta) ? json_number_value(theta) : 10000;
	if (kind && !text_is(kind, "axial"))
		config_fail(c, STATUS_UNSUPPORTED, "rope_type %s is not axial", kind);
	if (c->error.status)
		return;
	v->rows = s->image_size / s->patch_size;
	v->cols = s->image_width / s->patch_width;
	v->trained = trained[0] / s->patch_size;
	if (v->rows != v->cols || s->patch_size != s->patch_width || trained[0] != trained[1] || v->trained < 1 ||
		s->head_width % 4 || !(s->rope.theta > 1))
		config_fail(c, STATUS_UNSUPPORTED, "pictures and patches should be square, and heads divide by 4");
	bool *whole = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	for (int64_t i = 0; i < s->layers; i++)
		whole[i] = !v->window;
	for (int64_t i = 0; global && i < count; i++)
		if (global[i] < s->layers)
			whole[global[i]] = true;
	v->whole = whole;
}

// Cosines and sines [1, side * side, 1, head_width / 2]: half of the angles by column, half by row, of places `step` apart.
static void tables(struct build *b, int64_t side, double step, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t half = b->s->head_width / 2, few = half / 2, shape[] = { 1, side * side, 1, half };
	float *angle = GRAPH_TABLE(g, NULL, side * side, half, float);
	for (int64_t i = 0; angle && i < side * side; i++)
		for (int64_t k = 0; k < half; k++) {
			float at = (float)(k < few ? i % side : i / side) * (float)step;
			angle[i * half + k] = at * (float)(1 / pow(b->s->rope.theta, (double)(2 * (k % few)) / (double)half));
		}
	graph_value all = graph_constant(g, DTYPE_F32, 4, shape, angle);
	*cos = op_cos(g, all), *sin = op_sin(g, all);
}

// x [batch, side * side, hidden]
static graph_value attention(struct build *b, graph_value x, int64_t side, double step)
{
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_value cos, sin;
	tables(b, side, step, &cos, &sin);
	graph_value q = rope_turn_by(b, linear(b, "layers.attn.q", x, h, h, true), cos, sin, s->heads, true);
	graph_value k = rope_turn_by(b, linear(b, "layers.attn.k", x, h, h, true), cos, sin, s->heads, true);
	graph_value y = op_attention(b->g,
		&(struct attention){
			q, k, linear(b, "layers.attn.v", x, h, h, true), .heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, h, h, true);
}

// x [batch, rows, cols, hidden]; zeros fill the last windows.
static graph_value in_windows(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct sam3_vit *v = b->s->own;
	int64_t w = v->window, h = b->s->hidden_size, down = (v->rows + w - 1) / w, right = (v->cols + w - 1) / w;
	graph_value y = op_pad(g, op_pad(g, x, 1, 0, down * w - v->rows), 2, 0, right * w - v->cols);
	y = op_transpose(g, op_reshape(g, y, 6, (int64_t[]){ 0, down, w, right, w, h }), 6, (int[]){ 0, 1, 3, 2, 4, 5 });
	y = attention(b, op_reshape(g, y, 3, (int64_t[]){ -1, w * w, h }), w, 1);
	graph_value sizes = graph_i64s(g, 5, (int64_t[]){ down, right, w, w, h });
	y = op_reshape_to(g, y, op_concat(g, 2, (graph_value[]){ op_dim(g, x, 0), sizes }, 0));
	y = op_reshape(g, op_transpose(g, y, 6, (int[]){ 0, 1, 3, 2, 4, 5 }), 4, (int64_t[]){ 0, down * w, right * w, h });
	return op_slice(g, op_slice(g, y, 1, 0, v->rows), 2, 0, v->cols);
}

static graph_value layer(struct build *b, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct sam3_vit *v = s->own;
	int64_t h = s->hidden_size, n = v->rows;
	graph_value y = layer_norm(b, "layers.attn.norm", x, h);
	if (v->whole[b->layer]) {
		y = attention(b, op_reshape(g, y, 3, (int64_t[]){ 0, n * n, h }), n, (double)v->window / (double)n);
		y = op_reshape(g, y, 4, (int64_t[]){ 0, n, n, h });
	} else
		y = in_windows(b, y);
	x = op_add(g, x, y);
	return op_add(g, x, prenorm_ffn(b, "layers.ffn.up", "layers.ffn.down", layer_norm(b, "layers.ffn.norm", x, h)));
}

static graph_value embed(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct sam3_vit *v = s->own;
	int64_t h = s->hidden_size, p = s->patch_size, n = v->trained, count = v->rows * v->cols;
	int64_t *at = GRAPH_TABLE(g, NULL, v->rows, v->cols, int64_t);
	for (int64_t i = 0; at && i < count; i++)
		at[i] = i / v->cols % n * n + i % v->cols % n;
	graph_value x = op_conv(g, pixels, WEIGHT(b, "embed.patch", "weight", h, s->channels, p, p), NO_VALUE,
		(int64_t[]){ p, p }, (int64_t[4]){ 0 }, (int64_t[]){ 1, 1 }, 1);
	graph_value places = graph_constant(g, DTYPE_I64, 1, &count, at);
	graph_value table = op_gather(g, WEIGHT(b, "embed.position", "", 1, n * n, h), places, 1);
	x = op_add(g, tokens_of(b, x), table);
	return layer_norm(b, "embed.norm", op_reshape(g, x, 4, (int64_t[]){ 0, v->rows, v->cols, h }), h);
}

static void body(struct build *b, struct body *io)
{
	graph_value x = embed(b, io->pixels);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < b->s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "layers.%lld", (long long)b->layer);
		x = layer(b, x);
		graph_leave(b->g);
		states_add(io, x);
	}
	io->last = x;
}

static void give(struct build *b, const struct body *io)
{
	int64_t rows[] = { 0, -1, b->s->hidden_size };
	graph_output(b->g, "last_hidden_state", op_reshape(b->g, io->last, 3, rows));
}

static const struct family_head heads[] = { { &head_model, give }, { 0 } };

const struct family sam3_vit = {
	.name = "sam3-vit",
	.architecture = "vision",
	.resolve = resolve,
	.build = picture_build,
	.body = body,
	.heads = heads,
};

// ---- with a pyramid -----------------------------------------------------------------------------------------------------

struct sam3_pyramid {
	int64_t levels, width;
	double scale[16]; // [levels]: 4, 2, 1 or 0.5
};

int64_t sam3_vision_levels(const struct spec *s)
{
	return ((const struct sam3_pyramid *)s->own)->levels;
}

int64_t sam3_vision_width(const struct spec *s)
{
	return ((const struct sam3_pyramid *)s->own)->width;
}

static void resolve_pyramid(struct config *c, struct spec *s, struct arena *a)
{
	static const double usual[] = { 4, 2, 1, 0.5 };
	struct sam3_pyramid *o = ARENA_NEW(a, struct sam3_pyramid);
	s->own = o;
	const struct spec *backbone =
		resolve_part(c, s, a, "backbone", "backbone_config", NULL, NULL, (const char *const[]){ "backbone.", NULL });
	const json_t *scales = config_get(c, "scale_factors");
	o->width = config_size(c, "fpn_hidden_size", 256);
	o->levels = scales ? (int64_t)json_array_size(scales) : 4;
	if (!backbone || !part_is_usual(c, s, "backbone"))
		return;
	s->hidden_size = backbone->hidden_size;
	s->image_size = backbone->image_size, s->image_width = backbone->image_width;
	s->channels = backbone->channels;
	if (o->width < 1 || o->levels < 1 || o->levels > 16 || s->hidden_size < 4)
		config_fail(c, STATUS_BAD_INPUT, "scale_factors should be a list of at most 16, fpn_hidden_size above 0");
	for (int64_t i = 0; i < o->levels && !c->error.status; i++) {
		double scale = scales ? json_number_value(json_array_get(scales, (size_t)i)) : usual[i];
		o->scale[i] = scale;
		if (scale != 4 && scale != 2 && scale != 1 && scale != 0.5)
			config_fail(c, STATUS_UNSUPPORTED, "scale_factors should be 4, 2, 1 or 0.5");
	}
}

static graph_value doubled(struct build *b, const char *stem, graph_value x, int64_t in)
{
	return op_conv_transpose(b->g, x, WEIGHT(b, stem, "weight", in, in / 2, 2, 2), WEIGHT(b, stem, "bias", in / 2), 2,
		(int64_t[]){ 2, 2 }, (int64_t[]){ 0, 0, 0, 0 }, 1);
}

// Level b->layer: x [batch, hidden, rows, cols]
static graph_value level(struct build *b, graph_value x)
{
	const struct sam3_pyramid *o = b->s->own;
	const int64_t two[] = { 2, 2 }, none[4] = { 0 };
	double scale = o->scale[b->layer];
	int64_t h = b->s->hidden_size;
	if (scale > 1)
		x = doubled(b, "neck.up.1", x, h);
	if (scale > 2)
		x = doubled(b, "neck.up.2", op_gelu(b->g, x), h / 2);
	if (scale < 1)
		x = op_max_pool(b->g, x, 2, two, two, none, false);
	x = conv(b, "neck.1", x, (struct conv){ .out = o->width, .kernel = 1, .bias = true });
	return conv(b, "neck.2", x, (struct conv){ .out = o->width, .kernel = 3, .bias = true });
}

static void body_pyramid(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct sam3_pyramid *o = b->s->own;
	struct body from = { .pixels = io->pixels };
	const struct spec *outer = part_enter(b, "backbone");
	b->s->row->family->body(b, &from);
	part_leave(b, outer);
	io->last = from.last;
	io->states = ARENA_ARRAY(graph_arena(g), (size_t)o->levels + 1, graph_value);
	graph_value map = op_transpose(g, from.last, 4, (int[]){ 0, 3, 1, 2 });
	for (b->layer = 0; b->layer < o->levels && !graph_failed(g); b->layer++)
		io->states[io->state_count++] = level(b, map);
}

static void give_pyramid(struct build *b, const struct body *io)
{
	give(b, io);
	for (int64_t i = 0; i < io->state_count; i++)
		graph_output(b->g, arena_printf(graph_arena(b->g), "fpn_hidden_states.%lld", (long long)i), io->states[i]);
}

static const struct family_head pyramid_heads[] = { { &head_model, give_pyramid }, { 0 } };

const struct family sam3_pyramid = {
	.name = "sam3-pyramid",
	.architecture = "vision",
	.resolve = resolve_pyramid,
	.build = picture_build,
	.body = body_pyramid,
	.heads = pyramid_heads,
};
