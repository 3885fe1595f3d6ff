// SPDX-License-Identifier: Apache-2.0
// Mask2Former: queries that become masks with a class each, and look only where their mask so far is (Cheng et al. 2021,
// https://arxiv.org/abs/2112.01527), and OneFormer, whose queries begin as what a task's words ask for and see the map of pixels
// before that (Jain et al. 2022, https://arxiv.org/abs/2211.06220).
//
//   pixels -> backbone -> the three coarsest maps -> attention to a few places -> (finer maps added) -> map of pixels
//   queries -> layers, each on one of the three maps in turn -> norm -> class; MLP * map of pixels -> mask
//   OneFormer's queries: task's words -> MLP -+-> norm -> one for each query but the last -> layers that see the map -> norm -+
//                                             +-----------------------------------------------------------------------(concat)
#include <float.h>
#include <math.h>

#include "arch/block/deform.h"
#include "arch/block/detect.h"

enum { LEVELS = 3, POINTS = 4 };

struct mask2former {
	int64_t width, mask_width; // of the pixels' maps; of the map that masks are made of
	int64_t encoder_layers, encoder_ffn, queries;
	int64_t finer; // maps that are added
	bool project;
	int64_t task_width; // of the words that say what is asked; 0: nothing is
	bool task_first;    // the queries begin as the task, not as zeros
	int64_t query_layers;
};

// OneFormer's keys.
static void resolve_task(struct config *c, struct spec *s)
{
	struct mask2former *o = s->own;
	o->task_width = config_size(c, "task_seq_len", 77);
	o->task_first = config_bool(c, "use_task_norm", true);
	o->query_layers = config_count(c, "query_dec_layers", 2);
	s->norm_eps = config_real(c, "layer_norm_eps", 1e-5);
	if (config_bool(c, "is_training", false))
		config_fail(c, STATUS_UNSUPPORTED, "is_training: true, which takes texts too, is not supported");
	else if (o->project) // its class makes such layers anew each time, they are in no file
		config_fail(c, STATUS_UNSUPPORTED, "maps that are projected, which no file has weights for, are not supported");
	else if (o->task_width < 1 || o->width != o->mask_width || o->queries < 2)
		config_fail(c, STATUS_BAD_INPUT, "task_seq_len %lld, conv_dim %lld with mask_dim %lld, %lld queries",
			(long long)o->task_width, (long long)o->width, (long long)o->mask_width, (long long)o->queries);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct mask2former *o = ARENA_NEW(a, struct mask2former);
	int64_t strides = 0, stride = 0, common = config_size(c, "common_stride", 4);
	s->own = o;
	s->hidden_size = config_size(c, "hidden_dim", 256);
	s->heads = s->kv_heads = config_size(c, "num_attention_heads", 8);
	s->ffn_size = config_size(c, "dim_feedforward", 2048);
	s->act = config_activation(c, "activation_function", ACT_RELU);
	s->norm_eps = 1e-5;
	s->traits.norm_first = config_bool(c, "pre_norm", false);
	s->layers = s->layers_in_config = config_count(c, "decoder_layers", 10) - 1;
	o->width = config_size(c, "feature_size", 256);
	o->mask_width = config_size(c, "mask_feature_size", 256);
	o->encoder_layers = config_count(c, "encoder_layers", 6);
	o->encoder_ffn = config_size(c, "encoder_feedforward_dim", 1024);
	o->queries = config_size(c, "num_queries", 100);
	o->project = config_bool(c, "enforce_input_projection", false) || o->width != s->hidden_size;
	const int64_t *each = config_sizes(c, "feature_strides", a, 0, &strides);
	if (config_knows(c, "task_seq_len"))
		resolve_task(c, s);
	if (config_text(c, "backbone"))
		config_fail(c, STATUS_UNSUPPORTED, "a backbone whose configuration lies elsewhere is not supported");
	struct spec *backbone = resolve_part(c, s, a, "backbone", "backbone_config", NULL, &head_backbone,
		(const char *const[]){ "model.pixel_level_module.encoder.", NULL });
	if (!backbone || c->error.status)
		return;
	s->channels = backbone->channels;
	resolve_backbone_image(s, backbone);
	for (int64_t i = strides - LEVELS; i >= 0 && i < strides; i++)
		stride = !stride || each[i] < stride ? each[i] : stride;
	while (common > 0 && common << o->finer < stride)
		o->finer++;
	bool bad = strides < LEVELS || common < 1 || stride < common || backbone->out_count < LEVELS ||
		o->finer > backbone->out_count || o->width % 32 || o->width < 32 || s->hidden_size % 4 || s->hidden_size < 4 ||
		s->heads < 1 || s->hidden_size % s->heads || o->width % s->heads || s->ffn_size < 1 || o->mask_width < 1 ||
		o->queries < 1 || s->layers < 1;
	if (bad)
		config_fail(c, STATUS_BAD_INPUT,
			"%lld heads over %lld and %lld, %lld maps of the backbone, a common_stride of %lld, %lld layers",
			(long long)s->heads, (long long)s->hidden_size, (long long)o->width, (long long)backbone->out_count,
			(long long)common, (long long)s->layers);
}

static const struct mask2former *own(const struct build *b)
{
	return b->s->own;
}

static graph_value grouped(struct build *b, const char *stem, graph_value x)
{
	int64_t w = own(b)->width;
	return op_group_norm(b->g, x, 32, WEIGHT(b, stem, "weight", w), WEIGHT(b, stem, "bias", w), 1e-5f);
}

// maps [count], the finest first. The three coarsest, the coarsest first, become the result's memory; *pixels: the finest map.
static struct deform_levels decode_pixels(struct build *b, const graph_value *maps, int64_t count, graph_value *pixels)
{
	struct graph *g = b->g;
	const struct mask2former *o = own(b);
	int64_t w = o->width;
	graph_value source[LEVELS], at[LEVELS], table = WEIGHT(b, "pixels.levels", "", LEVELS, w);
	for (int64_t i = 0; i < LEVELS; i++) {
		b->layer = i;
		source[i] = conv(b, "pixels.source", maps[count - 1 - i], (struct conv){ .out = w, .kernel = 1, .bias = true });
		source[i] = grouped(b, "pixels.source.norm", source[i]);
	}
	struct deform_levels l = deform_levels(b, source, LEVELS);
	if (graph_failed(g))
		return l;
	for (int64_t i = 0; i < LEVELS; i++)
		at[i] = op_add(g, detect_places(b, l.height[i], l.width[i], w), op_slice(g, table, 0, i, i + 1));
	graph_value x = l.memory, positions = op_concat(g, LEVELS, at, 1);
	graph_value centres = op_unsqueeze(g, deform_all_centres(b, &l, NO_VALUE), 0);
	static const int64_t points[LEVELS] = { POINTS, POINTS, POINTS };
	for (b->layer = 0; b->layer < o->encoder_layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "pixels.%lld", (long long)b->layer);
		struct deform d = { .heads = b->s->heads, .points = points, .memory = x, .reference = centres };
		x = op_add(g, x, deform_attention(b, "pixels.attn", op_add(g, x, positions), &l, &d));
		x = layer_norm(b, "pixels.attn.norm", x, w);
		graph_value y = op_relu(g, linear(b, "pixels.ffn.up", x, w, o->encoder_ffn, true));
		x = op_add(g, x, linear(b, "pixels.ffn.down", y, o->encoder_ffn, w, true));
		x = layer_norm(b, "pixels.ffn.norm", x, w);
		graph_leave(g);
	}
	l.memory = x;
	x = graph_failed(g) ? NO_VALUE : deform_level(b, &l, x, LEVELS - 1);
	for (int64_t i = o->finer - 1; i >= 0 && !graph_failed(g); i--) {
		b->layer = i + 1;
		graph_value y = conv(b, "pixels.adapter", maps[i], (struct conv){ .out = w, .kernel = 1 });
		y = grouped(b, "pixels.adapter.norm", y);
		x = op_add(g, y, resized_like(b, x, y, "linear"));
		x = conv(b, "pixels.finer", x, (struct conv){ .out = w, .kernel = 3 });
		x = op_relu(g, grouped(b, "pixels.finer.norm", x));
	}
	*pixels = conv(b, "pixels.out", x, (struct conv){ .out = o->mask_width, .kernel = 1, .bias = true });
	return l;
}

// Masks [batch, queries, height, width] of normed states.
static graph_value masks(struct build *b, graph_value x, graph_value pixels)
{
	struct graph *g = b->g;
	const struct mask2former *o = own(b);
	int64_t h = b->s->hidden_size, layer = b->layer;
	x = detect_mlp(b, "masks", x, 3, h, o->mask_width);
	b->layer = layer;
	return map_of(b,
		op_transpose(g, op_matmul(g, x, op_reshape(g, pixels, 3, (int64_t[]){ 0, 0, -1 })), 3, (int[]){ 0, 2, 1 }),
		pixels);
}

// Where a query may look: not where its mask, at the map's size, is likely to be off; everywhere when that is all of it.
static graph_value looks(struct build *b, graph_value masks, graph_value height, graph_value width)
{
	struct graph *g = b->g;
	graph_value sizes[] = { op_dim(g, masks, 0), op_dim(g, masks, 1), height, width };
	graph_value x = op_resize(g, masks, op_concat(g, 4, sizes, 0), "linear");
	x = op_reshape(g, x, 3, (int64_t[]){ 0, 0, -1 });                                          // [batch, queries, places]
	graph_value off = op_cast(g, op_less(g, op_sigmoid(g, x), graph_f32(g, 0.5f)), DTYPE_F32); // 1: not here
	off = op_mul(g, off, op_sub(g, graph_f32(g, 1), op_reduce_min(g, off, -1, true)));
	return op_unsqueeze(g, op_scale(g, off, -FLT_MAX), 1); // [batch, 1, queries, places]
}

// Weights of query, key and value lie in one tensor.
static graph_value joined(struct build *b, const char *stem, graph_value q, graph_value k, graph_value v, graph_value bias)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_value w = WEIGHT(b, stem, "in_proj_weight", 3 * h, h), offset = WEIGHT(b, stem, "in_proj_bias", 3 * h),
		    in[] = { q, k, v }, y[3];
	for (int i = 0; i < 3; i++)
		y[i] = op_linear(g, in[i], op_slice(g, w, 0, i * h, (i + 1) * h), op_slice(g, offset, 0, i * h, (i + 1) * h));
	float scale = (float)sqrt((double)b->s->heads / (double)h);
	graph_value x =
		op_attention(g, &(struct attention){ y[0], y[1], y[2], .bias = bias, .heads = b->s->heads, .scale = scale });
	return linear(b, arena_printf(graph_arena(g), "%s.o", stem), x, h, h, true);
}

static graph_value layer(struct build *b, graph_value x, graph_value query, graph_value map, graph_value at, graph_value bias)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool first = s->traits.norm_first;
	int64_t h = s->hidden_size;
	graph_value y = first ? layer_norm(b, "layers.cross.norm", x, h) : x;
	x = op_add(g, x, joined(b, "layers.cross", op_add(g, y, query), op_add(g, map, at), map, bias));
	x = first ? x : layer_norm(b, "layers.cross.norm", x, h);
	y = first ? layer_norm(b, "layers.attn.norm", x, h) : x;
	graph_value placed = op_add(g, y, query);
	x = op_add(g, x, detect_attention(b, "layers.attn", placed, placed, y, NO_VALUE, s->heads));
	x = first ? x : layer_norm(b, "layers.attn.norm", x, h);
	y = first ? layer_norm(b, "layers.ffn.norm", x, h) : x;
	x = op_add(g, x, detect_ffn(b, "layers.ffn", y, s->ffn_size));
	return first ? x : layer_norm(b, "layers.ffn.norm", x, h);
}

static graph_value asking_layer(struct build *b, graph_value x, graph_value query, graph_value memory, graph_value placed)
{
	struct graph *g = b->g;
	bool first = b->s->traits.norm_first;
	int64_t h = b->s->hidden_size;
	graph_value y = first ? layer_norm(b, "asking.attn.norm", x, h) : x, at = op_add(g, y, query);
	x = op_add(g, x, joined(b, "asking.attn", at, at, y, NO_VALUE));
	x = first ? x : layer_norm(b, "asking.attn.norm", x, h);
	y = first ? layer_norm(b, "asking.cross.norm", x, h) : x;
	x = op_add(g, x, joined(b, "asking.cross", op_add(g, y, query), placed, memory, NO_VALUE));
	x = first ? x : layer_norm(b, "asking.cross.norm", x, h);
	y = first ? layer_norm(b, "asking.ffn.norm", x, h) : x;
	x = op_add(g, x, detect_ffn(b, "asking.ffn", y, b->s->ffn_size));
	return first ? x : layer_norm(b, "asking.ffn.norm", x, h);
}

// What the queries begin as: a task's words, and what the others find in the map of pixels for it. [batch, queries, hidden]
static graph_value ask(struct build *b, graph_value pixels)
{
	struct graph *g = b->g;
	const struct mask2former *o = own(b);
	int64_t h = b->s->hidden_size, others = o->queries - 1;
	graph_value words = graph_input(g, "task_inputs", DTYPE_F32, 2, (int64_t[]){ graph_symbol(g, "batch"), o->task_width });
	graph_value task = op_unsqueeze(g, detect_mlp(b, "task", words, 2, h, h), 1);
	task = o->task_first ? layer_norm(b, "norm", task, h) : task;
	graph_value query = op_slice(g, detect_queries(b, "queries.position", o->queries, h), 1, 0, others);
	// The map is where it is looked, and what is found is the place.
	graph_value memory = detect_places(b, op_dim(g, pixels, 2), op_dim(g, pixels, 3), h);
	graph_value map = conv(b, "asking.map", pixels, (struct conv){ .out = h, .kernel = 1, .bias = true });
	graph_value placed = op_add(g, tokens_of(b, map), memory), x = detect_zeros(b, pixels, others, h);
	memory = op_expand(g, memory, op_shape(g, placed));
	x = o->task_first ? op_add(g, x, task) : x;
	for (b->layer = 0; b->layer < o->query_layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "asking.%lld", (long long)b->layer);
		x = asking_layer(b, x, query, memory, placed);
		graph_leave(g);
	}
	return op_concat(g, 2, (graph_value[]){ layer_norm(b, "asking.norm", x, h), task }, 1);
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct mask2former *o = own(b);
	int64_t h = s->hidden_size, count;
	graph_value input = pixel_input(b, s->channels, s->image_size, s->image_width), pixels;
	const graph_value *maps = backbone_features(b, "backbone", input, &count);
	if (graph_failed(g))
		return;
	struct deform_levels l = decode_pixels(b, maps, count, &pixels);
	graph_value map[LEVELS], at[LEVELS], table = WEIGHT(b, "levels", "weight", LEVELS, h);
	if (graph_failed(g))
		return;
	for (int64_t i = 0; i < LEVELS; i++) {
		b->layer = i;
		map[i] = deform_level(b, &l, l.memory, i);
		if (o->project)
			map[i] = conv(b, "project", map[i], (struct conv){ .out = h, .kernel = 1, .bias = true });
		map[i] = op_add(g, tokens_of(b, map[i]), op_slice(g, table, 0, i, i + 1));
		at[i] = detect_places(b, l.height[i], l.width[i], h);
	}
	graph_value query = detect_queries(b, "queries.position", o->queries, h);
	graph_value x = o->task_width
		? ask(b, pixels)
		: op_add(g, detect_queries(b, "queries", o->queries, h), detect_zeros(b, input, o->queries, h));
	graph_value state = layer_norm(b, "norm", x, h), mask = masks(b, state, pixels);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(g); b->layer++) {
		int64_t i = b->layer % LEVELS;
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, x, query, map[i], at[i], looks(b, mask, l.height[i], l.width[i]));
		state = layer_norm(b, "norm", x, h);
		mask = masks(b, state, pixels);
		graph_leave(g);
	}
	graph_output(g, "class_queries_logits", linear(b, "head.classes", state, h, s->labels + 1, true));
	graph_output(g, "masks_queries_logits", mask);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	image_hints(out, 384, 384);
}

static const struct family_head heads[] = { { &head_segmentation }, { 0 } };

const struct family mask2former = {
	.name = "mask2former",
	.architecture = "vision",
	.resolve = resolve,
	.build = build,
	.hints = hints,
	.heads = heads,
};
