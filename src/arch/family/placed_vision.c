// SPDX-License-Identifier: Apache-2.0
// Vision towers whose patches come as rows with the place of each (Gemma 4, https://ai.google.dev/gemma/docs/core/model_card_4).
// Squares of patches become one feature, their mean; what is of no picture has the place -1, -1.
//
//   pixels [pictures, patches, channels * size * size] -> linear + positions -> layers -> means of squares * sqrt(hidden)
//   layer:  x -+- norm - attention, rotated by column and row - norm -(+)-+- norm - feed-forward - norm -(+)-
//              +------------------------------------------------------+  +-------------------------------+
#include <math.h>

#include "arch/block/image.h"
#include "arch/family/vlm.h"

// spec.own of the family.
struct placed_vision {
	int64_t places, pool;
	bool standardised;
};

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct placed_vision *v = ARENA_NEW(a, struct placed_vision);
	s->own = v;
	resolve_transformer(c, s, true);
	s->channels = 3;
	s->patch_size = s->patch_width = config_size(c, "patch_size", -1);
	v->places = config_size(c, "position_embedding_size", -1);
	v->pool = config_size(c, "pooling_kernel_size", 3);
	v->standardised = config_bool(c, "standardize", false);
	s->attention_scale = 1;
	const json_t *o = config_get(c, "rope_parameters"), *theta = json_object_get(o, "rope_theta");
	const char *kind = json_string_value(json_object_get(o, "rope_type"));
	s->rope.theta = json_is_number(theta) ? json_number_value(theta) : config_real(c, "rope_theta", 100);
	if (config_bool(c, "use_clipped_linears", false) || (kind && !text_is(kind, "axial") && !text_is(kind, "default")))
		config_fail(c, STATUS_UNSUPPORTED, "use_clipped_linears, or a rotary scaling, is not supported yet");
	if (!c->error.status &&
		(s->patch_size < 1 || s->patch_size > 4096 || v->places < 1 || v->pool < 2 || v->pool > 64 || s->head_width % 4 ||
			!(s->rope.theta > 1)))
		config_fail(c, STATUS_BAD_INPUT, "the patches' sizes do not go together");
	s->image_size = s->image_width = s->patch_size * v->pool * 4;
	s->image_tokens = 1; // made-up patches are all at one place
}

// cos and sin [pictures, patches, 1, 2, head / 4]: by column, then by row
static void tables(struct build *b, graph_value places, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	int64_t few = b->s->head_width / 4;
	float *f = GRAPH_TABLE(g, NULL, few, 1, float);
	for (int64_t k = 0; f && k < few; k++)
		f[k] = (float)(1 / pow(b->s->rope.theta, (double)k / (double)few));
	graph_value angle =
		op_mul(g, op_unsqueeze(g, op_cast(g, places, DTYPE_F32), 3), graph_constant(g, DTYPE_F32, 1, &few, f));
	angle = op_unsqueeze(g, angle, 2);
	*cos = op_cos(g, angle), *sin = op_sin(g, angle);
}

// Each half of a head by itself, its halves against each other. x [pictures, patches, heads * head]
static graph_value turned(struct build *b, graph_value x, graph_value cos, graph_value sin, int64_t heads)
{
	struct graph *g = b->g;
	int64_t d = b->s->head_width, few = d / 4;
	x = op_reshape(g, x, 5, (int64_t[]){ 0, 0, heads, 2, d / 2 });
	graph_value near = op_slice(g, x, 4, 0, few), far = op_slice(g, x, 4, few, 2 * few);
	graph_value y[] = { op_sub(g, op_mul(g, near, cos), op_mul(g, far, sin)),
		op_add(g, op_mul(g, far, cos), op_mul(g, near, sin)) };
	return op_reshape(g, op_concat(g, 2, y, 4), 3, (int64_t[]){ 0, 0, heads * d });
}

// RMS norm over each head; stem NULL: without a weight
static graph_value head_norm(struct build *b, const char *stem, graph_value x, int64_t heads)
{
	struct graph *g = b->g;
	int64_t d = b->s->head_width;
	x = op_reshape(g, x, 4, (int64_t[]){ 0, 0, heads, d });
	x = op_rms_norm(g, x, stem ? WEIGHT(b, stem, "weight", d) : ones_of(b, d), (float)b->s->norm_eps);
	return op_reshape(g, x, 3, (int64_t[]){ 0, 0, heads * d });
}

static graph_value attention(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size, d = s->head_width, wide = s->heads * d, few = s->kv_heads * d;
	graph_value q = head_norm(b, "layers.attn.q_norm", linear(b, "layers.attn.q", x, h, wide, false), s->heads),
		    k = head_norm(b, "layers.attn.k_norm", linear(b, "layers.attn.k", x, h, few, false), s->kv_heads),
		    v = head_norm(b, NULL, linear(b, "layers.attn.v", x, h, few, false), s->kv_heads);
	graph_value y = op_attention(g,
		&(struct attention){ turned(b, q, cos, sin, s->heads), turned(b, k, cos, sin, s->kv_heads), v, .bias = bias,
			.heads = s->heads, .kv_heads = s->kv_heads, .scale = 1 });
	return linear(b, "layers.attn.o", y, wide, h, false);
}

// Rows of the learned table of an axis, [2, places, hidden]: [pictures, patches, hidden]
static graph_value positions(struct build *b, graph_value places, graph_value real)
{
	struct graph *g = b->g;
	int64_t n = ((const struct placed_vision *)b->s->own)->places;
	graph_value table = WEIGHT(b, "embed.position", "", 2, n, b->s->hidden_size), sum = NO_VALUE;
	for (int axis = 0; axis < 2; axis++) {
		graph_value rows = op_squeeze(g, op_slice(g, table, 0, axis, axis + 1), 0);
		graph_value part = op_gather(g, rows, op_squeeze(g, op_slice(g, places, 2, axis, axis + 1), 2), 0);
		sum = axis ? op_add(g, sum, part) : part;
	}
	return op_mul(g, sum, real);
}

// Means of squares of pool * pool patches, of all pictures one after another: [features, hidden]. A square without a patch is
// none; what is of no picture counts as a patch of zeros at the first place.
static graph_value means(struct build *b, graph_value x, graph_value places, graph_value real)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct placed_vision *v = s->own;
	graph_value k = graph_i64(g, v->pool), one = graph_i64(g, 1), column = op_squeeze(g, op_slice(g, places, 2, 0, 1), 2),
		    row = op_squeeze(g, op_slice(g, places, 2, 1, 2), 2); // [pictures, patches]
	graph_value columns = op_div(g, op_add(g, op_reduce_max(g, column, 1, true), one), k);
	graph_value square = op_add(g, op_div(g, column, k), op_mul(g, columns, op_div(g, row, k)));
	graph_value count = op_div(g, op_squeeze(g, op_dim(g, x, 1), 0), graph_i64(g, v->pool * v->pool));
	graph_value all = op_unsqueeze(g, op_range(g, graph_i64(g, 0), count, one), 1);       // [squares, 1]
	graph_value is = op_cast(g, op_equal(g, all, op_unsqueeze(g, square, 1)), DTYPE_F32); // [pictures, squares, patches]
	graph_value y = op_scale(
		g, op_matmul(g, is, op_mul(g, x, real)), (float)(sqrt((double)s->hidden_size) / (double)(v->pool * v->pool)));
	graph_value some = op_reshape(g, op_reduce_max(g, is, 2, false), 1, (int64_t[]){ -1 });
	graph_value kept = op_squeeze(g, op_nonzero(g, some), 0);
	y = op_gather(g, op_reshape(g, y, 2, (int64_t[]){ -1, s->hidden_size }), kept, 0);
	if (v->standardised)
		y = op_mul(g, op_sub(g, y, WEIGHT(b, "standard.bias", "", s->hidden_size)),
			WEIGHT(b, "standard.scale", "", s->hidden_size));
	return y;
}

// io->pixels, and io->grid: the places i64 [pictures, patches, 2], column and row
static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t h = s->hidden_size;
	graph_enter(g, "embed");
	graph_value there = op_cast(g, op_less(g, graph_i64(g, -2), op_reduce_sum(g, io->grid, 2, false)), DTYPE_I64);
	graph_value real = op_unsqueeze(g, op_cast(g, there, DTYPE_F32), 2), bias = mask_bidirectional(b, there);
	graph_value places = op_max(g, io->grid, graph_i64(g, 0)), cos, sin;
	graph_value x = op_sub(g, op_scale(g, io->pixels, 2), graph_f32(g, 1));
	x = linear(b, "embed.patch", x, s->channels * s->patch_size * s->patch_size, h, false);
	x = op_add(g, x, positions(b, places, real));
	tables(b, io->grid, &cos, &sin);
	graph_leave(g);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_value y = attention(b, rms_norm(b, "layers.attn.norm", x, h), bias, cos, sin);
		x = op_add(g, x, rms_norm(b, "layers.attn.after", y, h));
		y = ffn_of(b, "layers.ffn", rms_norm(b, "layers.ffn.norm", x, h), s->ffn_size, false);
		x = op_add(g, x, rms_norm(b, "layers.ffn.after", y, h));
		graph_leave(g);
	}
	graph_enter(g, "pool");
	io->last = means(b, x, places, real);
	graph_leave(g);
}

static void inputs(struct build *b, struct body *io, const char *name)
{
	struct graph *g = b->g;
	int64_t size = b->s->patch_size, all = graph_symbol(g, "image_batch"), n = graph_symbol(g, "patches");
	io->pixels = graph_input(g, "pixel_values", DTYPE_F32, 3, (int64_t[]){ all, n, b->s->channels * size * size });
	io->grid = graph_input(g, name, DTYPE_I64, 3, (int64_t[]){ all, n, 2 });
}

static void build(struct build *b)
{
	struct body io = { 0 };
	inputs(b, &io, "pixel_position_ids");
	body(b, &io);
	head_build(b, &io);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct placed_vision *v = s->own;
	out->symbols[0] = (struct input_symbol){ "patches", 16 * v->pool * v->pool };
}

static const struct family_head heads[] = { { &head_model, head_give_last }, { 0 } };

const struct family placed_vision = {
	.name = "placed-vision",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.body = body,
	.hints = hints,
	.heads = heads,
};

// ---- in a text --------------------------------------------------------------------------------------------------------------

static void resolve_placed(struct config *c, struct spec *s, struct arena *a)
{
	if (!vlm_resolve(c, s, a, true) || !part_is_usual(c, s, "vision"))
		return;
	const json_t *way = json_object_get(config_get(c, "text_config"), "use_bidirectional_attention");
	const json_t *cap = json_object_get(config_get(c, "text_config"), "final_logit_softcapping");
	((struct spec *)(uintptr_t)part_of(s, "text"))->logit_softcap = json_is_number(cap) ? json_number_value(cap) : 0;
	((struct vlm *)s->own)->looks_last = true;
	if (json_is_string(way) && text_is(json_string_value(way), "vision"))
		config_fail(c, STATUS_UNSUPPORTED, "text_config.use_bidirectional_attention vision is not supported yet");
	if (config_get(c, "audio_config"))
		config_fail(c, STATUS_UNSUPPORTED, "audio_config: a part that hears is not supported yet");
}

static graph_value see_placed(struct build *b, graph_value ids, struct body *text)
{
	struct graph *g = b->g;
	const struct spec *s = b->s, *tower = part_of(s, "vision"), *words = part_of(s, "text");
	int64_t h = tower->hidden_size;
	struct body io = { 0 };
	const struct spec *outer = part_enter(b, "vision");
	inputs(b, &io, "image_position_ids");
	graph_enter(g, "vision");
	tower->row->family->body(b, &io);
	graph_leave(g);
	part_leave(b, outer);
	graph_enter(g, "projector");
	graph_value x = op_rms_norm(g, io.last, ones_of(b, h), (float)tower->norm_eps);
	x = linear(b, "projector", x, h, words->hidden_size, false);
	graph_leave(g);
	if (!ids.id)
		return x;
	graph_value is_image, number;
	vlm_places(b, ids, &is_image, &number);
	// What a token by itself means to each layer knows nothing of pictures: padding stands for them.
	text->ids = op_where(g, is_image, graph_i64(g, words->pad_token_id > 0 ? words->pad_token_id : 0), ids);
	return op_where(g, op_unsqueeze(g, is_image, 2), op_gather(g, x, number, 0), vlm_embed(b, text->ids));
}

static void build_placed(struct build *b)
{
	vlm_build(b, see_placed);
}

static void hints_placed(const struct spec *s, struct input_hints *out)
{
	vlm_hints(s, out);
	out->image_tokens = 1;
}

const struct family vlm_placed = {
	.name = "vision-language-placed",
	.architecture = "multimodal",
	.resolve = resolve_placed,
	.build = build_placed,
	.graphs = vlm_graphs,
	.hints = hints_placed,
	.heads = vlm_heads,
};
