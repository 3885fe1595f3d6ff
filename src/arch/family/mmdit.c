// SPDX-License-Identifier: Apache-2.0
// Transformers that denoise the latents of a picture beside a text, each with weights of its own, which attend to both together
// (MMDiT: Esser et al. 2024, https://arxiv.org/abs/2403.03206), and blocks after them that have both in one sequence (Flux:
// https://github.com/black-forest-labs/flux).
//
//   picture - in -+-----------------------------+- joint.. --- single.. - norm - out ->
//   text  - in ---|-----------------------------+
//   condition = two layers (sines of timestep) (+ two layers (sines of guidance)) (+ two layers (pooled text))
//   joint:  each of both: norm - modulate - q, k, v; attention over both; gate -(+)- norm - modulate - feed-forward - gate -(+)-
//   single: norm - modulate - (attention, feed-forward) side by side - gate -(+)-
//
// Chroma makes all modulations at once, by a network of its own. Texts are without padding: every token is attended to.
//
//   in:  hidden_states: SD3 latents [batch, channels, height, width]; others packed [batch, image_sequence, channels], patches by
//        row; encoder_hidden_states [batch, sequence, width]; timestep f32 [batch]; pooled_projections [batch, width]; guidance
//        [batch]; img_ids [image_sequence, axes], txt_ids [sequence, axes]
//   out: out_sample, as hidden_states
//
// Qwen-Image places patches by the grid they stand on. model.onnx has the grid nearest to a square that the number of patches
// allows, at least as wide as high; model_of_shape.onnx has img_shapes i64 [1, 3] besides: frames (1), height, width in patches.
#include "arch/block/diffusion.h"
#include "arch/block/modulation.h"

#include <float.h>
#include <math.h>

struct mmdit {
	int64_t width, heads, layers, singles;
	int64_t in, out, patch, text;
	int64_t pooled;    // width of the pooled text; 0: there is none
	int64_t positions; // rows and columns of the table of positions; 0: rotary embedding by `axes`
	struct axes axes;
	const bool *alone;                             // [layers]: the picture attends to itself besides; NULL: in none
	int64_t channels, distilled, distilled_layers; // of the network that makes all modulations; 0: each block makes its own
	double time_scale;
	bool head_norm, guided, text_norm, placed; // placed: img_ids and txt_ids come in
	bool text_ends;                            // in the last layer
	int64_t size[2];                           // height and width that it was trained on
};

enum { TIME_WIDTH = 256 }; // of the sines
static const double EPSILON = 1e-6;

static const struct arch_graph shape_graph = { .file = "model_of_shape.onnx" };
// Chroma: attention_mask [batch, joint_sequence] of the text and the picture, besides. As the class has it, attention between two
// places has the product of their masks added to its score, which is 1 or 0 in its pipeline.
static const struct arch_graph masked_graph = { .file = "model_masked.onnx", .by_name = true };
static const struct arch_graph *const chroma_graphs[] = { &masked_graph, NULL };
static const struct arch_graph *const qwen_graphs[] = { &shape_graph, NULL };

// ---- resolve --------------------------------------------------------------------------------------------------------------

static struct mmdit *resolve_sizes(struct config *c, struct spec *s, struct arena *a, int64_t *head_width)
{
	enum { WIDEST_HEAD = 1 << 14, WIDEST_PATCH = 64 };
	struct mmdit *m = s->own = ARENA_NEW(a, struct mmdit);
	int64_t head = config_size(c, "attention_head_dim", 64);

	*m = (struct mmdit){ .heads = config_count(c, "num_attention_heads", 18),
		.layers = config_count(c, "num_layers", 18),
		.in = config_size(c, "in_channels", 16),
		.patch = config_size(c, "patch_size", 2),
		.text = config_size(c, "joint_attention_dim", 4096),
		.time_scale = 1 };
	m->out = config_size(c, "out_channels", m->in);
	m->width = m->heads * head;
	s->hidden_size = m->width;
	*head_width = head;
	if (head < 1 || head > WIDEST_HEAD || m->heads < 1 || m->layers < 1 || m->in < 1 || m->out < 1 || m->text < 1 ||
		m->patch < 1 || m->patch > WIDEST_PATCH)
		config_fail(c, STATUS_BAD_INPUT,
			"%lld layers, %lld heads of %lld, patches of %lld, %lld channels in and %lld out, a text of %lld",
			(long long)m->layers, (long long)m->heads, (long long)head, (long long)m->patch, (long long)m->in,
			(long long)m->out, (long long)m->text);
	return c->error.status ? NULL : m;
}

// dual_attention_layers: numbers of layers; those of layers that are not there change nothing.
static const bool *layers_listed(struct config *c, const char *key, struct arena *a, int64_t layers)
{
	const json_t *list = config_get(c, key);
	bool *out = ARENA_ARRAY(a, (size_t)layers, bool);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *n = json_array_get(list, i);
		if (!json_is_integer(n))
			config_fail(c, STATUS_BAD_INPUT, "%s should be a list of whole numbers", key);
		else if (json_integer_value(n) >= 0 && json_integer_value(n) < layers)
			out[json_integer_value(n)] = true;
	}
	return out;
}

static void resolve_sd3(struct config *c, struct spec *s, struct arena *a)
{
	enum { POSITIONS_MOST = 1 << 14 };
	int64_t head;
	struct mmdit *m = resolve_sizes(c, s, a, &head);

	if (!m)
		return;
	int64_t text = config_size(c, "caption_projection_dim", m->width);
	const char *norm = config_text(c, "qk_norm");
	m->pooled = config_size(c, "pooled_projection_dim", 2048);
	m->positions = config_size(c, "pos_embed_max_size", 96);
	m->alone = layers_listed(c, "dual_attention_layers", a, m->layers);
	m->head_norm = norm != NULL;
	m->text_ends = true;
	resolve_sample_size(c, a, m->size, 128);
	if (norm && !text_is(norm, "rms_norm"))
		config_fail(c, STATUS_UNSUPPORTED, "qk_norm %.64s is not supported yet", norm);
	if (text != m->width)
		config_fail(c, STATUS_BAD_INPUT, "caption_projection_dim %lld is not the width of the layers, %lld",
			(long long)text, (long long)m->width);
	if (m->positions < 1 || m->positions > POSITIONS_MOST || m->pooled < 1)
		config_fail(c, STATUS_BAD_INPUT, "pos_embed_max_size %lld, pooled_projection_dim %lld", (long long)m->positions,
			(long long)m->pooled);
}

// Of those that take packed patches and turn by three axes.
static struct mmdit *resolve_packed(struct config *c, struct spec *s, struct arena *a)
{
	int64_t head;
	struct mmdit *m = resolve_sizes(c, s, a, &head);

	if (!m)
		return NULL;
	m->head_norm = true;
	resolve_axes(c, "axes_dims_rope", a, 0, head, &m->axes);
	return m;
}

static void resolve_flux(struct config *c, struct spec *s, struct arena *a)
{
	struct mmdit *m = resolve_packed(c, s, a);

	if (!m)
		return;
	m->singles = config_count(c, "num_single_layers", 38);
	m->pooled = config_size(c, "pooled_projection_dim", 768);
	m->guided = config_bool(c, "guidance_embeds", false);
	m->placed = true;
	m->time_scale = 1000;
	if (m->pooled < 1)
		config_fail(c, STATUS_BAD_INPUT, "pooled_projection_dim should be at least 1");
}

static void resolve_chroma(struct config *c, struct spec *s, struct arena *a)
{
	struct mmdit *m = resolve_packed(c, s, a);

	if (!m)
		return;
	m->singles = config_count(c, "num_single_layers", 38);
	m->channels = config_size(c, "approximator_num_channels", 64);
	m->distilled = config_size(c, "approximator_hidden_dim", 5120);
	m->distilled_layers = config_count(c, "approximator_layers", 5);
	m->placed = true;
	m->time_scale = 1000;
	if (m->channels < 8 || m->channels % 8 || m->channels > 1 << 14 || m->distilled < 1)
		config_fail(c, STATUS_BAD_INPUT,
			"approximator_num_channels %lld should be a multiple of 8, approximator_hidden_dim %lld",
			(long long)m->channels, (long long)m->distilled);
}

static void resolve_qwen(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const others[] = { "zero_cond_t", "use_additional_t_cond", "use_layer3d_rope" };
	struct mmdit *m = resolve_packed(c, s, a);

	if (!m)
		return;
	m->text_norm = true;
	m->time_scale = 1000;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (config_bool(c, others[i], false))
			config_fail(c, STATUS_UNSUPPORTED, "%s is not supported yet", others[i]);
	if (m->axes.count != 3 && !c->error.status)
		config_fail(c, STATUS_BAD_INPUT, "axes_dims_rope should have three numbers: frames, height, width");
}

// ---- build ----------------------------------------------------------------------------------------------------------------

// What every block reads.
struct steering {
	graph_value time; // [batch, width], activated
	graph_value rows; // [batch, n * width]: the modulations of all blocks; NO_VALUE: each makes its own of `time`
	graph_value cos, sin;
	graph_value bias; // of attention, [batch, 1, places, places]; NO_VALUE: none
};

struct stream {
	const char *name; // the stems' first word
	graph_value x;
	struct modulation first, second, alone; // before attention, before the feed-forward, before the picture's own attention
};

struct projected {
	graph_value q, k, v;
};

static const char *stem_of(struct build *b, const char *name, const char *what)
{
	return arena_printf(graph_arena(b->g), "%s.%s", name, what);
}

static struct projected project(struct build *b, const char *name, graph_value x)
{
	const struct mmdit *m = b->s->own;
	int64_t w = m->width;
	struct projected p = { .q = linear(b, stem_of(b, name, "q"), x, w, w, true),
		.k = linear(b, stem_of(b, name, "k"), x, w, w, true),
		.v = linear(b, stem_of(b, name, "v"), x, w, w, true) };

	if (m->head_norm) {
		p.q = heads_normed(b, stem_of(b, name, "q.norm"), p.q, m->heads, EPSILON);
		p.k = heads_normed(b, stem_of(b, name, "k.norm"), p.k, m->heads, EPSILON);
	}
	return p;
}

static graph_value attend(struct build *b, struct projected p, const struct steering *by)
{
	const struct mmdit *m = b->s->own;

	if (by && by->cos.id) {
		p.q = rope_turn_by(b, p.q, by->cos, by->sin, m->heads, true);
		p.k = rope_turn_by(b, p.k, by->cos, by->sin, m->heads, true);
	}
	return op_attention(b->g,
		&(struct attention){ p.q, p.k, p.v, .bias = by ? by->bias : NO_VALUE, .heads = m->heads,
			.scale = (float)(1 / sqrt((double)m->width / (double)m->heads)) });
}

static graph_value joined(struct build *b, graph_value text, graph_value picture)
{
	return op_concat(b->g, 2, (graph_value[]){ text, picture }, 1);
}

// The first tokens of x, as many as the text has, or those after them.
static graph_value part_of_joined(struct build *b, graph_value x, graph_value text, bool after)
{
	struct graph *g = b->g;
	graph_value zero = graph_i64s(g, 1, (int64_t[]){ 0 }), end = graph_i64s(g, 1, (int64_t[]){ INT64_MAX }),
		    length = op_dim(g, text, 1);

	return after ? op_slice_to(g, x, 1, length, end) : op_slice_to(g, x, 1, zero, length);
}

static graph_value project_out(struct build *b, const char *name, graph_value x)
{
	const struct mmdit *m = b->s->own;
	return linear(b, stem_of(b, name, "o"), x, m->width, m->width, true);
}

static graph_value feed_forward(struct build *b, const struct stream *s)
{
	const struct mmdit *m = b->s->own;
	graph_value y = modulate(b, norm_unlearned(b, s->x, 1e-6), s->second);

	y = op_gelu_tanh(b->g, linear(b, stem_of(b, s->name, "up"), y, m->width, 4 * m->width, true));
	y = linear(b, stem_of(b, s->name, "down"), y, 4 * m->width, m->width, true);
	return gated(b, s->x, s->second.gate, y);
}

// Modulations of a block's stream: `first` is the row of those that were made at once.
static void modulations(struct build *b, struct stream *s, const struct steering *by, int64_t first, bool alone, bool ends)
{
	const struct mmdit *m = b->s->own;
	int64_t w = m->width;
	graph_value rows = by->rows;

	if (!rows.id) {
		first = 0;
		rows = linear(b, stem_of(b, s->name, "modulation"), by->time, w, (alone ? 9 : ends ? 2 : 6) * w, true);
	}
	if (ends) {
		s->first = (struct modulation){ .scale = modulation_row(b, rows, 0, w), .shift = modulation_row(b, rows, 1, w) };
		return;
	}
	s->first = modulation_of(b, rows, first, w);
	s->second = modulation_of(b, rows, first + 3, w);
	if (alone)
		s->alone = modulation_of(b, rows, first + 6, w);
}

static void joint_block(struct build *b, struct stream *picture, struct stream *text, const struct steering *by)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	bool alone = m->alone && m->alone[b->layer], ends = m->text_ends && b->layer + 1 == m->layers;
	int64_t first = 3 * m->singles + 6 * b->layer;

	modulations(b, picture, by, first, alone, false);
	modulations(b, text, by, first + 6 * m->layers, false, ends);
	graph_value normed = norm_unlearned(b, picture->x, 1e-6), y = NO_VALUE;
	if (alone)
		y = attend(b, project(b, "alone", modulate(b, normed, picture->alone)), NULL);
	struct projected p = project(b, "picture", modulate(b, normed, picture->first)),
			 t = project(b, "text", modulate(b, norm_unlearned(b, text->x, 1e-6), text->first));
	graph_value both = attend(b, (struct projected){ joined(b, t.q, p.q), joined(b, t.k, p.k), joined(b, t.v, p.v) }, by);
	picture->x = gated(b, picture->x, picture->first.gate, project_out(b, "picture", part_of_joined(b, both, text->x, true)));
	if (alone)
		picture->x = gated(b, picture->x, picture->alone.gate, project_out(b, "alone", y));
	picture->x = feed_forward(b, picture);
	if (ends || graph_failed(g))
		return;
	text->x = gated(b, text->x, text->first.gate, project_out(b, "text", part_of_joined(b, both, text->x, false)));
	text->x = feed_forward(b, text);
}

static graph_value single_block(struct build *b, graph_value x, const struct steering *by)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	int64_t w = m->width;
	graph_value rows = by->rows.id ? by->rows : linear(b, "single.modulation", by->time, w, 3 * w, true);
	struct modulation how = modulation_of(b, rows, by->rows.id ? 3 * b->layer : 0, w);
	graph_value y = modulate(b, norm_unlearned(b, x, 1e-6), how),
		    up = op_gelu_tanh(g, linear(b, "single.up", y, w, 4 * w, true));

	y = attend(b, project(b, "single", y), by);
	y = linear(b, "single.out", op_concat(g, 2, (graph_value[]){ y, up }, 2), 5 * w, w, true);
	return gated(b, x, how.gate, y);
}

// The modulations of all blocks at once, as a network reads them from the time, no guidance, and their numbers.
static graph_value distilled_rows(struct build *b, graph_value time)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	int64_t rows = 3 * m->singles + 12 * m->layers + 2, quarter = m->channels / 4;
	graph_value batch = op_dim(g, time, 0), count = graph_i64s(g, 1, &rows);
	graph_value parts[] = { timestep_embedding(b, time, quarter, true, 0), timestep_table(b, 1, 0, quarter),
		timestep_table(b, rows, 1000, 2 * quarter) };

	for (int i = 0; i < 3; i++) { // each [batch, rows, ..]
		graph_value width = graph_i64s(g, 1, (int64_t[]){ (i == 2 ? 2 : 1) * quarter }),
			    shape = op_concat(g, 3, (graph_value[]){ batch, count, width }, 0);
		parts[i] = op_expand(g, op_unsqueeze(g, parts[i], i == 2 ? 0 : 1), shape);
	}
	graph_value x = linear(b, "distilled.in", op_concat(g, 3, parts, 2), m->channels, m->distilled, true);
	for (b->layer = 0; b->layer < m->distilled_layers && !graph_failed(g); b->layer++) {
		graph_value y = op_rms_norm(g, x, WEIGHT(b, "distilled.norm", "weight", m->distilled), FLT_EPSILON);
		x = op_add(g, x, timestep_layers(b, "distilled", y, m->distilled, m->distilled, ACT_SILU));
	}
	x = linear(b, "distilled.out", x, m->distilled, m->width, true);
	return op_reshape(g, x, 2, (int64_t[]){ 0, rows * m->width });
}

static graph_value sines_layers(struct build *b, const char *stem, graph_value step)
{
	const struct mmdit *m = b->s->own;
	return timestep_layers(b, stem, timestep_embedding(b, step, TIME_WIDTH, true, 0), TIME_WIDTH, m->width, ACT_SILU);
}

// The inputs beside picture and text, and what they come to.
static void steer(struct build *b, struct steering *by)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	int64_t batch = graph_symbol(g, "batch");
	graph_value step = graph_input(g, "timestep", DTYPE_F32, 1, &batch);

	step = op_scale(g, step, (float)m->time_scale);
	if (m->channels) {
		by->rows = distilled_rows(b, step);
		return;
	}
	graph_value time = sines_layers(b, "time", step);
	if (m->guided) {
		graph_value guidance = graph_input(g, "guidance", DTYPE_F32, 1, &batch);
		time = op_add(g, time, sines_layers(b, "guidance", op_scale(g, guidance, (float)m->time_scale)));
	}
	if (m->pooled) {
		graph_value pooled = graph_input(g, "pooled_projections", DTYPE_F32, 2, (int64_t[]){ batch, m->pooled });
		time = op_add(g, time, timestep_layers(b, "pooled", pooled, m->pooled, m->width, ACT_SILU));
	}
	by->time = op_silu(g, time);
}

static graph_value text_input(struct build *b)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "sequence"), m->text };
	graph_value x = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3, shape);

	if (m->text_norm)
		x = op_rms_norm(g, x, WEIGHT(b, "text.norm", "weight", m->text), (float)EPSILON);
	return linear(b, "text.in", x, m->text, m->width, true);
}

static graph_value packed_input(struct build *b)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), graph_symbol(g, "image_sequence"), m->in };

	return linear(b, "picture.in", graph_input(g, "hidden_states", DTYPE_F32, 3, shape), m->in, m->width, true);
}

static void run_blocks(struct build *b, struct stream *picture, struct stream *text, const struct steering *by)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;

	for (b->layer = 0; b->layer < m->layers && !graph_failed(g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		joint_block(b, picture, text, by);
		graph_leave(g);
	}
	if (!m->singles)
		return;
	graph_value x = joined(b, text->x, picture->x);
	for (b->layer = 0; b->layer < m->singles && !graph_failed(g); b->layer++) {
		graph_enter(g, "singles.%lld", (long long)b->layer);
		x = single_block(b, x, by);
		graph_leave(g);
	}
	picture->x = part_of_joined(b, x, text->x, true);
}

static graph_value last_layers(struct build *b, graph_value x, const struct steering *by)
{
	const struct mmdit *m = b->s->own;
	int64_t w = m->width;
	struct modulation how;

	if (by->rows.id) {
		int64_t last = 3 * m->singles + 12 * m->layers;
		how = (struct modulation){ .shift = modulation_row(b, by->rows, last, w),
			.scale = modulation_row(b, by->rows, last + 1, w) };
	} else {
		graph_value rows = linear(b, "out.modulation", by->time, w, 2 * w, true);
		how = (struct modulation){ .scale = modulation_row(b, rows, 0, w), .shift = modulation_row(b, rows, 1, w) };
	}
	return linear(b, "out", modulate(b, norm_unlearned(b, x, 1e-6), how), w, m->patch * m->patch * m->out, true);
}

// The middle of the table, as many rows and columns as the map has: [1, height * width, width of the layers].
static graph_value positions_in_middle(struct build *b, graph_value map)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	int64_t side = m->positions;
	graph_value table = WEIGHT(b, "positions", "", 1, side * side, m->width), two = graph_i64s(g, 1, (int64_t[]){ 2 });

	table = op_reshape(g, table, 4, (int64_t[]){ 1, side, side, m->width });
	for (int axis = 1; axis < 3; axis++) {
		graph_value length = op_dim(g, map, axis + 1), begin = op_div(g, op_sub(g, graph_i64s(g, 1, &side), length), two);
		table = op_slice_to(g, table, axis, begin, op_add(g, begin, length));
	}
	return op_reshape(g, table, 3, (int64_t[]){ 1, -1, m->width });
}

static void build_sd3(struct build *b)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	int64_t shape[] = { graph_symbol(g, "batch"), m->in, graph_symbol(g, "height"), graph_symbol(g, "width") };
	struct conv patches = { .out = m->width, .kernel = m->patch, .stride = m->patch, .pad = PAD_NONE, .bias = true };
	graph_value map = conv(b, "picture.in", graph_input(g, "hidden_states", DTYPE_F32, 4, shape), patches);
	struct stream picture = { .name = "picture" }, text = { .name = "text" };
	struct steering by = { 0 };

	picture.x = op_add(g, tokens_of(b, map), positions_in_middle(b, map));
	text.x = text_input(b);
	steer(b, &by);
	run_blocks(b, &picture, &text, &by);
	map = map_of(b, last_layers(b, picture.x, &by), map);
	graph_output(g, "out_sample", op_depth_to_space(g, map, m->patch, false));
}

static void build_packed(
	struct build *b, void (*place)(struct build *b, struct steering *by, graph_value picture, graph_value text))
{
	struct stream picture = { .name = "picture", .x = packed_input(b) }, text = { .name = "text", .x = text_input(b) };
	struct steering by = { 0 };

	steer(b, &by);
	place(b, &by, picture.x, text.x);
	run_blocks(b, &picture, &text, &by);
	graph_output(b->g, "out_sample", last_layers(b, picture.x, &by));
}

static void place_given(struct build *b, struct steering *by, graph_value picture, graph_value text)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	(void)picture, (void)text;
	int64_t shape[] = { graph_symbol(g, "image_sequence"), m->axes.count };
	graph_value of_picture = graph_input(g, "img_ids", DTYPE_F32, 2, shape);

	shape[0] = graph_symbol(g, "sequence");
	graph_value of_text = graph_input(g, "txt_ids", DTYPE_F32, 2, shape);
	graph_value all = op_concat(g, 2, (graph_value[]){ of_text, of_picture }, 0);
	axes_tables(b, &m->axes, op_unsqueeze(g, all, 0), &by->cos, &by->sin);
	if (b->which != &masked_graph)
		return;
	int64_t rows[] = { graph_symbol(g, "batch"), graph_symbol(g, "joint_sequence") };
	graph_value mask = op_unsqueeze(g, graph_input(g, "attention_mask", DTYPE_F32, 2, rows), 1);
	by->bias = op_mul(g, op_unsqueeze(g, mask, 1), op_unsqueeze(g, mask, 3));
}

static void build_flux(struct build *b)
{
	build_packed(b, place_given);
}

// Height and width in patches, i64 [1] each.
static void grid_of(struct build *b, graph_value picture, graph_value *height, graph_value *width)
{
	struct graph *g = b->g;
	graph_value count = op_dim(g, picture, 1), one = graph_i64(g, 1);

	if (b->which == &shape_graph) {
		graph_value shape = op_squeeze(g, graph_input(g, "img_shapes", DTYPE_I64, 2, (int64_t[]){ 1, 3 }), 0);
		*height = op_slice(g, shape, 0, 1, 2);
		*width = op_slice(g, shape, 0, 2, 3);
		return;
	}
	// The greatest divisor whose square is not more than the number of patches.
	graph_value n = op_add(g, places_of(g, picture), one);
	graph_value divides = op_equal(g, op_mod(g, count, n), graph_i64(g, 0)),
		    is_less = op_less_or_equal(g, op_mul(g, n, n), count);
	*height = op_reduce_max(g, op_where(g, op_and(g, divides, is_less), n, one), 0, true);
	*width = op_div(g, count, *height);
}

static graph_value half_of(struct graph *g, graph_value n)
{
	return op_div(g, n, graph_i64(g, 2));
}

// A picture's rows and columns are counted from its middle; the text goes on after the longer half, on all axes.
static void place_on_grid(struct build *b, struct steering *by, graph_value picture, graph_value text)
{
	struct graph *g = b->g;
	const struct mmdit *m = b->s->own;
	graph_value height, width, index = places_of(g, picture);

	grid_of(b, picture, &height, &width);
	graph_value row = op_sub(g, op_div(g, index, width), op_sub(g, height, half_of(g, height))),
		    column = op_sub(g, op_mod(g, index, width), op_sub(g, width, half_of(g, width))),
		    word = op_add(g, places_of(g, text), op_max(g, half_of(g, height), half_of(g, width)));
	graph_value frame = op_mul(g, index, graph_i64(g, 0)), of_picture[] = { frame, row, column }, of_text[3];

	for (int i = 0; i < 3; i++) {
		of_picture[i] = op_unsqueeze(g, of_picture[i], 1);
		of_text[i] = op_unsqueeze(g, word, 1);
	}
	graph_value all = op_concat(g, 2, (graph_value[]){ op_concat(g, 3, of_text, 1), op_concat(g, 3, of_picture, 1) }, 0);
	axes_tables(b, &m->axes, op_unsqueeze(g, op_cast(g, all, DTYPE_F32), 0), &by->cos, &by->sin);
}

static void build_qwen(struct build *b)
{
	build_packed(b, place_on_grid);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct mmdit *m = s->own;

	image_hints(out, m->size[0], m->size[1]);
	out->max_image = m->positions * m->patch;
	out->max_image_why = "pos_embed_max_size times patch_size";
}

// A picture of 1024 by 1024 is 64 by 64 patches of 16 by 16.
static void packed_hints(const struct spec *s, struct input_hints *out)
{
	enum { SIDE = 64 };
	(void)s;

	input_hint(out, "image_sequence", SIDE * SIDE);
	out->image_grid[0] = 1;
	out->image_grid[1] = out->image_grid[2] = SIDE;
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family mmdit = {
	.name = "mmdit",
	.architecture = "diffusion",
	.resolve = resolve_sd3,
	.build = build_sd3,
	.heads = heads,
	.hints = hints,
};

const struct family flux = {
	.name = "flux",
	.architecture = "diffusion",
	.resolve = resolve_flux,
	.build = build_flux,
	.heads = heads,
	.hints = packed_hints,
};

const struct family chroma = {
	.name = "chroma",
	.architecture = "diffusion",
	.resolve = resolve_chroma,
	.build = build_flux,
	.heads = heads,
	.graphs = chroma_graphs,
	.hints = packed_hints,
};

const struct family qwen_image = {
	.name = "qwen_image",
	.architecture = "diffusion",
	.resolve = resolve_qwen,
	.build = build_qwen,
	.heads = heads,
	.graphs = qwen_graphs,
	.hints = packed_hints,
};
