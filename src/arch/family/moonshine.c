// SPDX-License-Identifier: Apache-2.0
// Moonshine: an encoder-decoder that reads sound itself through three convolutions, with rotary positions in both halves and a
// gated feed-forward in the decoder (Jeffries et al. 2024, https://arxiv.org/abs/2410.15608). Masks are those of the samples.
//
//   sound [batch, samples] -> conv / 64, tanh, norm -> conv / 3, gelu -> conv / 2, gelu -> layers -> norm
//   ids -> tokens -> layers -> norm -> tokens, transposed
//   layer:  x -+- norm - attention -(+)-[+- norm - attention to the encoder -(+)-]+- norm - fc2(act(fc1)) -(+)-
//              +---------------------+   +------------------------------------+   +-----------------------+
#include <math.h>

#include "arch/block/seq2seq.h"

enum { STRIDES = 64 * 3 * 2 };

struct moonshine { // of the whole and of both halves
	double theta;
	int64_t rotary_dim; // this many of a head's elements set the frequencies; an odd number rotates one more
	bool bias, is_decoder;
};

static graph_value plain_norm(struct build *b, const char *stem, graph_value x)
{
	return op_layer_norm(b->g, x, WEIGHT(b, stem, "weight", b->s->hidden_size), NO_VALUE, (float)b->s->norm_eps);
}

static void inputs(struct build *b, struct body *io)
{
	int64_t shape[] = { graph_symbol(b->g, "batch"), graph_symbol(b->g, "samples") };
	io->features = graph_input(b->g, "input_values", DTYPE_F32, 2, shape);
	io->mask = graph_input(b->g, "attention_mask", DTYPE_I64, 2, shape);
}

// [batch, samples] -> [batch, steps]: the mask of every 384th sample. steps: i64 [1].
static graph_value fewer(struct build *b, graph_value mask, graph_value steps)
{
	struct graph *g = b->g;
	graph_value at = op_range(g, graph_i64(g, 0), op_squeeze(g, steps, 0), graph_i64(g, 1));
	return op_gather(g, mask, op_mul(g, at, graph_i64(g, STRIDES)), 1);
}

static graph_value convolve(
	struct build *b, const char *stem, graph_value x, int64_t in, int64_t out, int64_t kernel, int64_t stride, bool bias)
{
	graph_value w = WEIGHT(b, stem, "weight", out, in, kernel);
	return op_conv(b->g, x, w, bias ? WEIGHT(b, stem, "bias", out) : NO_VALUE, (int64_t[]){ stride }, (int64_t[]){ 0, 0 },
		(int64_t[]){ 1 }, 1);
}

// cos and sin [1, seq, 1, rotary_dim / 2] of places [seq, 1]
static void rotary_angles(struct build *b, graph_value places, graph_value *cos, graph_value *sin)
{
	struct graph *g = b->g;
	const struct moonshine *m = b->s->own;
	int64_t half = (m->rotary_dim + 1) / 2;
	float *f = GRAPH_TABLE(g, NULL, half, 1, float);
	for (int64_t i = 0; f && i < half; i++)
		f[i] = (float)(1 / pow(m->theta, (double)(2 * i) / (double)m->rotary_dim));
	graph_value angle = op_mul(g, op_cast(g, places, DTYPE_F32), graph_constant(g, DTYPE_F32, 1, (int64_t[]){ half }, f));
	angle = op_unsqueeze(g, op_unsqueeze(g, angle, 1), 0);
	*cos = op_cos(g, angle);
	*sin = op_sin(g, angle);
}

static graph_value self(struct build *b, graph_value x, graph_value bias, graph_value cos, graph_value sin, struct cache *cache)
{
	const struct spec *s = b->s;
	const struct moonshine *m = s->own;
	int64_t width = s->heads * s->head_width;
	graph_value q = rope_turn(b, linear(b, "layers.attn.q", x, s->hidden_size, width, m->bias), cos, sin, s->heads);
	graph_value k = rope_turn(b, linear(b, "layers.attn.k", x, s->hidden_size, width, m->bias), cos, sin, s->heads);
	graph_value v = linear(b, "layers.attn.v", x, s->hidden_size, width, m->bias);
	if (cache)
		cache_extend(b, cache, &k, &v, s->heads, s->head_width, s->head_width);
	graph_value y = op_attention(
		b->g, &(struct attention){ q, k, v, .bias = bias, .heads = s->heads, .scale = (float)s->attention_scale });
	return linear(b, "layers.attn.o", y, width, s->hidden_size, false);
}

static graph_value feed_forward(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	struct graph *g = b->g;
	if (!((const struct moonshine *)s->own)->is_decoder)
		x = activate(b, s->act, linear(b, "layers.ffn.up", x, s->hidden_size, s->ffn_size, true));
	else {
		x = linear(b, "layers.ffn.up", x, s->hidden_size, 2 * s->ffn_size, true); // [batch, seq, values and gates]
		graph_value gate = activate(b, s->act, op_slice(g, x, 2, s->ffn_size, 2 * s->ffn_size));
		x = op_mul(g, gate, op_slice(g, x, 2, 0, s->ffn_size));
	}
	return linear(b, "layers.ffn.down", x, s->ffn_size, s->hidden_size, true);
}

// Either half: io->embeds, masks and caches -> last
static void stack(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct moonshine *m = s->own;
	graph_value x = io->embeds, query, key, cos, sin, own = NO_VALUE, cross = NO_VALUE;
	decoder_places(b, io, &query, &key);
	rotary_angles(b, query, &cos, &sin);
	own = m->is_decoder ? causal_bias(b, query, key) : mask_bidirectional(b, io->mask);
	if (io->memory_mask.id)
		cross = mask_bidirectional(b, io->memory_mask);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_enter(g, "attn");
		x = op_add(g, x, self(b, plain_norm(b, "layers.attn.norm", x), own, cos, sin, io->cache));
		graph_leave(g);
		if (m->is_decoder) {
			graph_enter(g, "cross");
			graph_value y = plain_norm(b, "layers.cross.norm", x);
			x = op_add(g, x,
				attend(b, "layers.cross", y, io->memory, cross, io->cross,
					m->bias ? BIAS_Q | BIAS_K | BIAS_V : 0));
			graph_leave(g);
		}
		graph_enter(g, "ffn");
		x = op_add(g, x, feed_forward(b, plain_norm(b, m->is_decoder ? "layers.last.norm" : "layers.cross.norm", x)));
		graph_leave(g);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = plain_norm(b, m->is_decoder ? "norm" : "norm.encoder", x);
}

static void encode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	int64_t h = b->s->hidden_size;
	graph_enter(g, "stem");
	graph_value x = op_tanh(
		g, convolve(b, "stem.first", op_unsqueeze(g, io->features, 1), 1, h, 127, 64, false)); // [batch, hidden, steps]
	graph_value w = WEIGHT(b, "stem.norm", "weight", h);
	x = op_group_norm(g, x, 1, w, WEIGHT(b, "stem.norm", "bias", h), 1e-5f);
	x = op_gelu(g, convolve(b, "stem.second", x, h, 2 * h, 7, 3, true));
	x = op_gelu(g, convolve(b, "stem.third", x, 2 * h, h, 3, 2, true));
	io->embeds = op_transpose(g, x, 3, (int[]){ 0, 2, 1 }); // [batch, steps, hidden]
	io->mask = fewer(b, io->mask, op_dim(g, io->embeds, 1));
	graph_leave(g);
	stack(b, io);
}

static void decode(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	if (graph_failed(g)) // the encoder's states may be missing, and there may be no cache instead
		return;
	graph_value steps = io->memory.id ? op_dim(g, io->memory, 1) : op_dim(g, io->cross->past_key[0], 2);
	if (b->which == &seq2seq_merged) // the states are cut to nothing when the past has their keys
		steps = op_add(g, steps, op_dim(g, io->cross->past_key[0], 2));
	io->memory_mask = fewer(b, io->memory_mask, steps);
	stack(b, io);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct moonshine *m = ARENA_NEW(a, struct moonshine), *of_decoder = ARENA_NEW(a, struct moonshine);
	s->own = m;
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->ffn_size = config_size(c, "intermediate_size", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->max_positions = config_size(c, "max_position_embeddings", -1);
	s->layers = s->layers_in_config = config_count(c, "num_hidden_layers", -1);
	s->heads = s->kv_heads = config_size(c, "encoder_num_attention_heads", -1);
	s->act = config_activation(c, "encoder_hidden_act", ACT_GELU);
	s->norm_eps = 1e-5;
	struct halves_sizes d = { config_count(c, "num_decoder_layers", -1), config_size(c, "decoder_num_attention_heads", -1),
		s->ffn_size, s->vocab_size };
	enum activation decoder_act = config_activation(c, "decoder_hidden_act", ACT_SILU);
	bool grouped = config_size(c, "encoder_num_key_value_heads", s->heads) != s->heads ||
		config_size(c, "decoder_num_key_value_heads", d.heads) != d.heads;
	m->bias = config_bool(c, "attention_bias", false);
	if (c->error.status)
		return;
	if (grouped || s->heads < 1 || d.heads < 1 || s->hidden_size % s->heads || s->hidden_size % d.heads || s->layers < 1 ||
		d.layers < 1) {
		config_fail(c, STATUS_BAD_INPUT, "%lld and %lld heads over %lld%s", (long long)s->heads, (long long)d.heads,
			(long long)s->hidden_size, grouped ? ", fewer of them for keys: the class itself cannot run so" : "");
		return;
	}
	// What config.json says of rotary positions in either spelling; both halves have the same share of their own heads.
	const json_t *rope = config_get(c, "rope_parameters"), *scaling = config_given(c, "rope_scaling"),
		     *theta = config_given(c, "rope_theta");
	const json_t *part = config_given(c, "partial_rotary_factor"), *type = json_object_get(rope, "rope_type");
	theta = theta ? theta : json_object_get(rope, "rope_theta");
	part = part ? part : json_object_get(rope, "partial_rotary_factor");
	double share = json_is_number(part) ? json_number_value(part) : 0.9;
	m->theta = json_is_number(theta) ? json_number_value(theta) : 10000;
	if (scaling || (type && !text_is(json_string_value(type), "default")))
		config_fail(c, STATUS_UNSUPPORTED, "scaled rotary positions are not supported here yet");
	s->head_width = s->hidden_size / s->heads;
	s->attention_scale = 1 / sqrt((double)s->head_width);
	m->rotary_dim = (int64_t)((double)s->head_width * share);
	s->traits.interleaved_rope = true;
	resolve_halves(s, a, &d);
	struct spec *second = part_of(s, "decoder");
	*of_decoder = *m;
	of_decoder->is_decoder = true;
	of_decoder->rotary_dim = (int64_t)((double)second->head_width * share);
	second->own = of_decoder;
	second->act = decoder_act;
	bool bad = m->rotary_dim < 1 || of_decoder->rotary_dim < 1 || (m->rotary_dim + 1) / 2 * 2 > s->head_width ||
		(of_decoder->rotary_dim + 1) / 2 * 2 > second->head_width;
	if (bad)
		config_fail(c, STATUS_BAD_INPUT, "partial_rotary_factor %g of heads of %lld", share, (long long)s->head_width);
}

static void build(struct build *b)
{
	struct seq2seq f = { .inputs = inputs, .encode = encode, .decode = decode, .masks_frames = true };
	seq2seq_build(b, &f);
}

static void hints(const struct spec *s, struct input_hints *out)
{
	(void)s;
	out->symbols[0] = (struct input_symbol){ "samples", 16000 };
}

const struct family moonshine = {
	.name = "moonshine",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.graphs = seq2seq_graphs,
	.hints = hints,
	.heads = seq2seq_speech_heads,
};
