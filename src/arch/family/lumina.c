// SPDX-License-Identifier: Apache-2.0
// Lumina-Image 2.0 (Qin et al. 2025, https://arxiv.org/abs/2503.21758): a text and the patches of latents, each refined by layers
// of its own, then one sequence of both.
//
//   patches - in - layer.. (noise refiner) -+
//                                           +- layer.. - norm - scale - out ->
//   text - norm - in - layer.. (context) ---+
//   layer: norm - scale - attention - norm - gate -(+)- norm - scale - gated feed-forward - norm - gate -(+)-
//   Scales and gates (by tanh) are made from the timestep, in [0, 1]; the context refiner has none.
//
//   in:  hidden_states [batch, channels, height, width], timestep f32 [batch], encoder_hidden_states [batch, sequence, width],
//        encoder_attention_mask i64 [batch, sequence]: padding stands after the text
//   out: out_sample [batch, channels, height, width]
#include "arch/block/diffusion.h"
#include "arch/block/modulation.h"

#include <math.h>

struct lumina {
	int64_t width, time, heads, kv_heads, layers, refiner_layers, ffn;
	int64_t in, out, patch, text;
	double eps;
	struct axes axes;
	int64_t size[2]; // height and width that it was trained on
};

enum { TIME_WIDTH = 256 }; // of the sines

// A multiple of multiple_of that has room for four times the width, times ffn_dim_multiplier.
static int64_t resolve_ffn(struct config *c, int64_t width)
{
	enum { TIMES_MOST = 1 << 16 };
	double times = config_real(c, "ffn_dim_multiplier", 1);
	int64_t multiple = config_size(c, "multiple_of", 256);

	if (multiple < 1 || !(times > 0 && times <= TIMES_MOST)) {
		config_fail(c, STATUS_BAD_INPUT, "multiple_of %lld, ffn_dim_multiplier %g", (long long)multiple, times);
		return 0;
	}
	int64_t inner = (int64_t)(times * (double)(4 * width));
	return (inner + multiple - 1) / multiple * multiple;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	enum { WIDEST_PATCH = 64, TIME_MOST = 1024 };
	struct lumina *m = s->own = ARENA_NEW(a, struct lumina);

	*m = (struct lumina){ .width = config_size(c, "hidden_size", 2304),
		.heads = config_count(c, "num_attention_heads", 24),
		.layers = config_count(c, "num_layers", 26),
		.refiner_layers = config_count(c, "num_refiner_layers", 2),
		.in = config_size(c, "in_channels", 16),
		.patch = config_size(c, "patch_size", 2),
		.text = config_size(c, "cap_feat_dim", 1024),
		.eps = config_real(c, "norm_eps", 1e-5) };
	m->kv_heads = config_count(c, "num_kv_heads", m->heads);
	m->out = config_size(c, "out_channels", m->in);
	m->time = m->width < TIME_MOST ? m->width : TIME_MOST;
	m->ffn = resolve_ffn(c, m->width);
	s->hidden_size = m->width;
	resolve_sample_size(c, a, m->size, 128);
	if (m->heads < 1 || m->kv_heads < 1 || m->heads % m->kv_heads || m->width < 1 || m->width % m->heads || m->in < 1 ||
		m->out < 1 || m->text < 1 || m->patch < 1 || m->patch > WIDEST_PATCH) {
		config_fail(c, STATUS_BAD_INPUT,
			"a width of %lld, %lld heads, %lld of keys, patches of %lld, %lld channels in and %lld out, a text of "
			"%lld",
			(long long)m->width, (long long)m->heads, (long long)m->kv_heads, (long long)m->patch, (long long)m->in,
			(long long)m->out, (long long)m->text);
		return;
	}
	resolve_axes(c, "axes_dim_rope", a, 3, m->width / m->heads, &m->axes);
}

// What layers read.
struct steering {
	graph_value time;     // [batch, m->time], activated; NO_VALUE: layers without scales and gates
	graph_value cos, sin; // of the layer's tokens
	graph_value bias;     // of padding; NO_VALUE: there is none
};

static graph_value attend(struct build *b, graph_value x, const struct steering *by)
{
	struct graph *g = b->g;
	const struct lumina *m = b->s->own;
	int64_t w = m->width, head = w / m->heads, kv = m->kv_heads * head;
	graph_value q = heads_normed(b, "q.norm", linear(b, "q", x, w, w, false), m->heads, 1e-5),
		    k = heads_normed(b, "k.norm", linear(b, "k", x, w, kv, false), m->kv_heads, 1e-5);

	x = op_attention(g,
		&(struct attention){ rope_turn_by(b, q, by->cos, by->sin, m->heads, true),
			rope_turn_by(b, k, by->cos, by->sin, m->kv_heads, true), linear(b, "v", x, w, kv, false),
			.bias = by->bias, .heads = m->heads, .kv_heads = m->kv_heads, .scale = (float)(1 / sqrt((double)head)) });
	return linear(b, "o", x, w, w, false);
}

static graph_value feed_forward(struct build *b, graph_value x)
{
	const struct lumina *m = b->s->own;
	graph_value gate = op_silu(b->g, linear(b, "ffn.gate", x, m->width, m->ffn, false));

	x = op_mul(b->g, gate, linear(b, "ffn.up", x, m->width, m->ffn, false));
	return linear(b, "ffn.down", x, m->ffn, m->width, false);
}

static graph_value normed(struct build *b, const char *stem, graph_value x)
{
	const struct lumina *m = b->s->own;
	return op_rms_norm(b->g, x, WEIGHT(b, stem, "weight", value_dim(b->g, x, -1)), (float)m->eps);
}

// Layer b->layer of the list b->item_name.
static graph_value layer(struct build *b, graph_value x, const struct steering *by)
{
	struct graph *g = b->g;
	const struct lumina *m = b->s->own;
	int64_t w = m->width;

	if (graph_failed(g))
		return NO_VALUE;
	if (!by->time.id) {
		x = op_add(g, x, normed(b, "norm.2", attend(b, normed(b, "norm.1", x), by)));
		return op_add(g, x, normed(b, "ffn.norm.2", feed_forward(b, normed(b, "ffn.norm.1", x))));
	}
	graph_value rows = linear(b, "modulation", by->time, m->time, 4 * w, true), y;
	struct modulation first = { .scale = modulation_row(b, rows, 0, w), .gate = modulation_row(b, rows, 1, w) },
			  second = { .scale = modulation_row(b, rows, 2, w), .gate = modulation_row(b, rows, 3, w) };
	y = attend(b, modulate(b, normed(b, "norm.1.modulated", x), first), by);
	x = gated(b, x, op_tanh(g, first.gate), normed(b, "norm.2", y));
	y = feed_forward(b, modulate(b, normed(b, "ffn.norm.1", x), second));
	return gated(b, x, op_tanh(g, second.gate), normed(b, "ffn.norm.2", y));
}

static graph_value layers(struct build *b, const char *list, int64_t count, graph_value x, const struct steering *by)
{
	b->item_name = list;
	for (b->layer = 0; b->layer < count && !graph_failed(b->g); b->layer++) {
		graph_enter(b->g, "%s.%lld", list, (long long)b->layer);
		x = layer(b, x, by);
		graph_leave(b->g);
	}
	return x;
}

// Frame, row and column of each patch, beside the length of its text: [batch, height * width, 3]; lengths i64 [batch, 1].
static graph_value places_of_patches(struct build *b, graph_value map, graph_value lengths)
{
	struct graph *g = b->g;
	graph_value width = op_dim(g, map, 3), count = op_mul(g, op_dim(g, map, 2), width);
	graph_value index = op_range(g, graph_i64(g, 0), op_squeeze(g, count, 0), graph_i64(g, 1));
	graph_value axis[] = { lengths, op_div(g, index, width), op_mod(g, index, width) },
		    shape = op_concat(g, 2, (graph_value[]){ op_dim(g, map, 0), count }, 0);

	for (int i = 0; i < 3; i++)
		axis[i] = op_unsqueeze(g, op_expand(g, axis[i], shape), 2);
	return op_cast(g, op_concat(g, 3, axis, 2), DTYPE_F32);
}

// Words are placed along the first axis only: [1, sequence, 3].
static graph_value places_of_words(struct build *b, graph_value text)
{
	struct graph *g = b->g;
	graph_value word = places_of(g, text), none = op_mul(g, word, graph_i64(g, 0)), axis[] = { word, none, none };

	for (int i = 0; i < 3; i++)
		axis[i] = op_unsqueeze(g, op_unsqueeze(g, axis[i], 0), 2);
	return op_cast(g, op_concat(g, 3, axis, 2), DTYPE_F32);
}

static graph_value with_batch(struct build *b, graph_value table, graph_value like)
{
	struct graph *g = b->g;
	graph_value shape[] = { op_dim(g, like, 0), op_dim(g, table, 1), op_dim(g, table, 2), op_dim(g, table, 3) };
	return op_expand(g, table, op_concat(g, 4, shape, 0));
}

// Layers over text and patches in one sequence; the first words of a text, as many as its mask has, are seen. Its result is what
// becomes of the patches.
static graph_value both(struct build *b, graph_value text, graph_value patches, graph_value lengths, struct steering *of_text,
	const struct steering *of_patches)
{
	struct graph *g = b->g;
	const struct lumina *m = b->s->own;
	graph_value seen = op_cast(g, op_less(g, op_unsqueeze(g, places_of(g, text), 0), lengths), DTYPE_I64);
	graph_value shape = op_concat(g, 2, (graph_value[]){ op_dim(g, patches, 0), op_dim(g, patches, 1) }, 0);
	graph_value mask = op_concat(g, 2, (graph_value[]){ seen, op_expand(g, graph_i64(g, 1), shape) }, 1);
	graph_value cos[] = { with_batch(b, of_text->cos, patches), of_patches->cos },
		    sin[] = { with_batch(b, of_text->sin, patches), of_patches->sin };
	struct steering by = { .time = of_patches->time,
		.cos = op_concat(g, 2, cos, 1),
		.sin = op_concat(g, 2, sin, 1),
		.bias = mask_bidirectional(b, mask) };
	graph_value x = layers(b, "layers", m->layers, op_concat(g, 2, (graph_value[]){ text, patches }, 1), &by);

	return op_slice_to(g, x, 1, op_dim(g, text, 1), graph_i64s(g, 1, (int64_t[]){ INT64_MAX }));
}

static void build(struct build *b)
{
	struct graph *g = b->g;
	const struct lumina *m = b->s->own;
	int64_t batch = graph_symbol(g, "batch"), sequence = graph_symbol(g, "sequence"), w = m->width;
	int64_t shape[] = { batch, m->in, graph_symbol(g, "height"), graph_symbol(g, "width") };
	graph_value map = graph_input(g, "hidden_states", DTYPE_F32, 4, shape),
		    step = graph_input(g, "timestep", DTYPE_F32, 1, &batch);
	graph_value text = graph_input(g, "encoder_hidden_states", DTYPE_F32, 3, (int64_t[]){ batch, sequence, m->text });
	graph_value mask = graph_input(g, "encoder_attention_mask", DTYPE_I64, 2, (int64_t[]){ batch, sequence });
	struct steering of_text = { .bias = mask_bidirectional(b, mask) }, of_patches = { 0 };

	step = timestep_layers(b, "time", timestep_embedding(b, step, TIME_WIDTH, true, 0), TIME_WIDTH, m->time, ACT_SILU);
	of_patches.time = op_silu(g, step);
	map = op_space_to_depth(g, map, m->patch);
	graph_value lengths = op_reduce_sum(g, mask, 1, true);
	graph_value patches = linear(b, "patches.in", tokens_of(b, map), m->patch * m->patch * m->in, w, true);
	text = linear(b, "text.in", normed(b, "text.norm", text), m->text, w, true);
	axes_tables(b, &m->axes, places_of_words(b, text), &of_text.cos, &of_text.sin);
	axes_tables(b, &m->axes, places_of_patches(b, map, lengths), &of_patches.cos, &of_patches.sin);
	text = layers(b, "context_refiner", m->refiner_layers, text, &of_text);
	patches = layers(b, "noise_refiner", m->refiner_layers, patches, &of_patches);
	graph_value x = both(b, text, patches, lengths, &of_text, &of_patches);
	struct modulation last = { .scale = op_unsqueeze(g, linear(b, "out.modulation", of_patches.time, m->time, w, true), 1) };
	x = linear(b, "out", modulate(b, norm_unlearned(b, x, 1e-6), last), w, m->patch * m->patch * m->out, true);
	graph_output(g, "out_sample", op_depth_to_space(g, map_of(b, x, map), m->patch, false));
}

static void hints(const struct spec *s, struct input_hints *out)
{
	const struct lumina *m = s->own;

	image_hints(out, m->size[0], m->size[1]);
}

static const struct family_head heads[] = { { &head_model, NULL }, { 0 } };

const struct family lumina = {
	.name = "lumina",
	.architecture = "diffusion",
	.resolve = resolve,
	.build = build,
	.heads = heads,
	.hints = hints,
};
