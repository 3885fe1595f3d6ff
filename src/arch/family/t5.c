// SPDX-License-Identifier: Apache-2.0
// T5 and its kin: an encoder-decoder without absolute positions: a learned bias by bucket of distance is added to the scores,
// which are not scaled; RMS norms before each branch, no biases (Raffel et al. 2019, https://arxiv.org/abs/1910.10683; mT5,
// https://arxiv.org/abs/2010.11934; UMT5, https://arxiv.org/abs/2304.09151; Switch Transformers,
// https://arxiv.org/abs/2101.03961; LongT5 with local attention, https://arxiv.org/abs/2112.07916).
//
//   ids -> tokens -> layers -> norm
//   layer:  x -+- norm - attention + bias(distance) -(+)-[+- norm - attention to the encoder -(+)-]+- norm - act(wi) - wo -(+)-
//              +------------------------------------+     +------------------------------------+   +---------------------+
#include <float.h>
#include <math.h>

#include "arch/block/seq2seq.h"
#include "arch/family/t5.h"

// Each token goes to the expert it scores highest, whose result is weighed by that score; an expert takes the first `capacity`
// tokens of a text, and what comes later passes by.
static graph_value experts(struct build *b, graph_value x, const char *place)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct t5 *t = s->own;
	graph_enter(g, "experts");
	graph_value scores = op_softmax(g,
		linear(b, arena_printf(graph_arena(g), "%s.router", place), x, s->hidden_size, t->experts, t->router_bias), -1);
	int64_t *every = ARENA_ARRAY(graph_arena(g), (size_t)t->experts, int64_t), layer = b->layer, stage = b->stage;
	for (int64_t i = 0; i < t->experts; i++)
		every[i] = i;
	graph_value chosen =
		op_equal(g, op_argmax(g, scores, -1, true), graph_i64s(g, (int)t->experts, every)); // [batch, seq, experts]
	graph_value count = op_cumsum(g, op_cast(g, chosen, DTYPE_I64), 1);
	chosen = op_and(g, chosen, op_less_or_equal(g, count, graph_i64(g, t->capacity)));
	graph_value share = op_mul(g, op_cast(g, chosen, DTYPE_F32), op_reduce_max(g, scores, -1, true)), sum = NO_VALUE;
	for (b->stage = layer, b->layer = 0; b->layer < t->experts; b->layer++) { // names: layer, expert
		graph_value y = activate(b, s->act,
			linear(b, arena_printf(graph_arena(g), "%s.expert.up", place), x, s->hidden_size, s->ffn_size, false));
		y = linear(b, arena_printf(graph_arena(g), "%s.expert.down", place), y, s->ffn_size, s->hidden_size, false);
		y = op_mul(g, y, op_slice(g, share, 2, b->layer, b->layer + 1));
		sum = sum.id ? op_add(g, sum, y) : y;
	}
	b->layer = layer;
	b->stage = stage;
	graph_leave(g);
	return sum;
}

static graph_value feed_forward(struct build *b, graph_value x)
{
	const struct spec *s = b->s;
	const struct t5 *t = s->own;
	struct graph *g = b->g;
	const char *place = t->is_decoder ? "layers.last" : "layers.ffn"; // its number in the layer differs
#define STEM(word) arena_printf(graph_arena(g), "%s.%s", place, word)
	graph_value y = rms_norm(b, STEM("norm"), x, s->hidden_size);
	if (t->sparse_step > 0 && (t->sparse_step == 1 || b->layer % t->sparse_step == 1))
		return op_add(g, x, experts(b, y, place));
	graph_value up =
		activate(b, s->act, linear(b, STEM(t->gated ? "gate" : "up_alone"), y, s->hidden_size, s->ffn_size, false));
	if (t->gated)
		up = op_mul(g, up, linear(b, STEM("up"), y, s->hidden_size, s->ffn_size, false)); // [batch, seq, ffn]
	return op_add(g, x, linear(b, STEM("down"), up, s->ffn_size, s->hidden_size, false));
#undef STEM
}

// LongT5's encoder: tokens at most `radius` away. The class works on blocks of radius + 1 and lets a padded token take the plain
// mean over its own block and both neighbours, zeros included; nothing real depends on that, but the padding's states do.
static graph_value local_attention(
	struct build *b, graph_value x, graph_value mask, graph_value query, graph_value key, graph_value relative)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t radius = ((const struct t5 *)s->own)->radius, width = s->heads * s->head_width;
	graph_value q = linear(b, "layers.source.q", x, s->hidden_size, width, false),
		    k = linear(b, "layers.source.k", x, s->hidden_size, width, false);
	graph_value v = linear(b, "layers.source.v", x, s->hidden_size, width, false);
	graph_value zero = graph_f32(g, 0), lowest = graph_f32(g, -FLT_MAX);
	graph_value near = op_less_or_equal(g, op_abs(g, op_sub(g, query, key)), graph_i64(g, radius)); // [seq, keys]
	graph_value bias = op_add(g, relative, op_add(g, op_where(g, near, zero, lowest), mask_bidirectional(b, mask)));
	graph_value y =
		op_attention(g, &(struct attention){ q, k, v, .bias = op_max(g, bias, lowest), .heads = s->heads, .scale = 1 });
	float block = (float)(radius + 1);
	graph_value half = graph_f32(g, 0.5f); // block of a place: floor((place + 1/2) / size), safe in floats
	graph_value of_query = op_floor(g, op_scale(g, op_add(g, op_cast(g, query, DTYPE_F32), half), 1 / block));
	graph_value of_key = op_floor(g, op_scale(g, op_add(g, op_cast(g, key, DTYPE_F32), half), 1 / block));
	graph_value beside = op_less_or_equal(g, op_abs(g, op_sub(g, of_query, of_key)), graph_f32(g, 1));
	graph_value mean = op_matmul(g, op_where(g, beside, graph_f32(g, 1 / (3 * block)), zero), v); // [batch, seq, heads*width]
	y = op_where(g, op_unsqueeze(g, op_cast(g, mask, DTYPE_BOOL), 2), y, mean);
	return linear(b, "layers.source.o", y, width, s->hidden_size, false);
}

void t5_stack(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct t5 *t = s->own;
	graph_value x = io->embeds, query, key, memory = io->memory, cross = NO_VALUE, bias = NO_VALUE;
	decoder_places(b, io, &query, &key);
	bool local = !t->is_decoder && t->radius > 0;
	graph_value allowed = t->is_decoder ? causal_bias(b, query, key) : mask_bidirectional(b, io->mask);
	const struct t5_page *page = t->is_decoder ? NULL : t->page;
	const struct t5_seen *seen = io->own;
	if (page)
		x = t5_page_embed(b, page, seen, x);
	if (io->memory_mask.id)
		cross = mask_bidirectional(b, io->memory_mask); // [batch, 1, 1, source]
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		graph_enter(g, "attn");
		if (page && b->layer == 0)
			bias = t5_page_bias(b, page, seen->boxes);
		else if (!page && (b->layer == 0 || t->relative_each_layer)) // [batch or 1, heads, seq, keys]
			bias = distance_bias(b, local ? "layers.source.relative" : "layers.attn.relative", query, key,
				s->relative_buckets, t->farthest, !t->is_decoder);
		graph_value y = rms_norm(b, "layers.attn.norm", x, s->hidden_size);
		y = local ? local_attention(b, y, io->mask, query, key, bias)
			  : attend(b, "layers.attn", y, y, bias.id ? op_add(g, bias, allowed) : allowed, io->cache, 0);
		x = op_add(g, x, y);
		graph_leave(g);
		if (t->is_decoder) {
			graph_enter(g, "cross");
			y = rms_norm(b, "layers.cross.norm", x, s->hidden_size);
			x = op_add(g, x, attend(b, "layers.cross", y, memory, cross, io->cross, 0));
			graph_leave(g);
		}
		graph_enter(g, "ffn");
		x = feed_forward(b, x);
		graph_leave(g);
		graph_leave(g);
		states_add(io, x);
	}
	io->last = rms_norm(b, "norm", x, s->hidden_size);
}

// "gated-gelu" is the tanh form, but on a page; "relu" and the like are one activation; keys that the class derives from it may
// be given.
static void resolve_feed_forward(struct config *c, struct spec *s, struct t5 *t)
{
	const char *word = config_text(c, "feed_forward_proj");
	t->gated = text_starts(word ? word : "relu", "gated-");
	const char *act = word && t->gated ? word + 6 : word;
	const json_t *given = config_get(c, "dense_act_fn"), *gated = config_get(c, "is_gated_act");
	if (gated)
		t->gated = json_is_true(gated);
	if (given)
		s->act = config_activation(c, "dense_act_fn", ACT_RELU);
	else if (text_is(word, "gated-gelu") && !t->page)
		s->act = ACT_GELU_TANH;
	else
		s->act = config_activation_word(c, "feed_forward_proj", act ? act : "relu");
}

// The step between layers with experts, from how many there are of `layers`; the step itself may be given.
static int64_t sparse_step(struct config *c, const char *step, const char *sparse, int64_t layers)
{
	int64_t n = config_size(c, sparse, 0), by_count = n > 0 ? layers / n : layers;
	return config_given(c, step) ? config_size(c, step, 0) : by_count;
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct t5 *t = ARENA_NEW(a, struct t5);
	s->own = t;
	t->relative_each_layer = TRAITS_OF(s, t5)->relative_each_layer;
	if (s->key && s->head != &head_encoder && s->head != &head_conditional) {
		config_fail(c, STATUS_UNSUPPORTED, "the model type %s is not supported yet as this part of another",
			s->row->model_type);
		return;
	}
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->layers = s->layers_in_config = config_count(c, "num_hidden_layers", -1);
	int64_t decoder_layers = config_count(c, "num_decoder_layers", s->layers);
	s->heads = s->kv_heads = config_size(c, "num_attention_heads", -1);
	s->head_width = config_size(c, "head_dim", 64);
	s->ffn_size = config_size(c, "intermediate_size", -1);
	s->vocab_size = config_size(c, "vocab_size", -1);
	s->relative_buckets = config_size(c, "relative_attention_num_buckets", 32);
	t->farthest = config_size(c, "relative_attention_max_distance", 128);
	s->norm_eps = config_real(c, "layer_norm_epsilon", 1e-6);
	s->attention_scale = 1;
	t->page = t5_resolve_page(c, s, a, s->relative_buckets);
	resolve_feed_forward(c, s, t);
	t->eos = json_is_integer(config_get(c, "eos_token_id")) ? config_size(c, "eos_token_id", 1) : 1;
	t->start = config_get(c, "decoder_start_token_id") ? config_size(c, "decoder_start_token_id", 0) : -1;
	// An untied head was the sign of an unscaled one before there was a key for it.
	const json_t *scaled = config_given(c, "scale_decoder_outputs"), *tied = config_given(c, "tie_word_embeddings");
	const bool says = json_object_get(c->given, "scale_decoder_outputs") != NULL; // null, too, is false
	t->scaled_head = !TRAITS_OF(s, t5)->unscaled_head && (says ? json_is_true(scaled) : !json_is_false(tied));
	const char *kind = config_text(c, "encoder_attention_type");
	t->radius = config_size(c, "local_radius", 0);
	if (kind && !text_is(kind, "local"))
		config_fail(c, STATUS_UNSUPPORTED, "encoder_attention_type %s is not supported yet", kind);
	if (kind && t->radius < 1)
		config_fail(c, STATUS_BAD_INPUT, "local_radius should be at least 1");
	s->tied |= t->page != NULL; // whatever the configuration says
	t->scaled_head |= t->page != NULL;
	t->experts = config_size(c, "num_experts", 0);
	t->capacity = config_size(c, "expert_capacity", 0);
	t->router_bias = config_bool(c, "router_bias", false);
	int64_t decoder_step = sparse_step(c, "decoder_sparse_step", "num_sparse_decoder_layers", decoder_layers);
	t->sparse_step = sparse_step(c, "encoder_sparse_step", "num_sparse_encoder_layers", s->layers);
	if (!t->experts)
		t->sparse_step = decoder_step = 0;
	resolve_experts(c, s, t->experts,
		(t->sparse_step > 0 ? s->layers / t->sparse_step + 1 : 0) +
			(decoder_step > 0 ? decoder_layers / decoder_step + 1 : 0));
	if (config_bool(c, "is_decoder", false) || config_bool(c, "tie_encoder_decoder", false))
		config_fail(c, STATUS_UNSUPPORTED, "a decoder by itself or halves of one set of weights are not supported yet");
	if (c->error.status)
		return;
	if (s->hidden_size < 1 || s->layers < 1 || decoder_layers < 1 || s->heads < 1 || s->head_width < 1 || s->ffn_size < 1 ||
		s->vocab_size < 1) {
		config_fail(c, STATUS_BAD_INPUT, "a size is 0");
		return;
	}
	if (!c->checkpoint->weight_count && !(head_how(s) & SEQ2SEQ_WRAPPED))
		s->prefix = "";
	resolve_half(s, a, "encoder", "encoder.");
	if (head_how(s) & SEQ2SEQ_ENCODER_ONLY) {
		static const char *const decoder_names[] = { "*decoder.*", NULL };
		s->unused = decoder_names;
		return;
	}
	struct t5 *of_decoder = ARENA_NEW(a, struct t5);
	*of_decoder = *t;
	of_decoder->is_decoder = true;
	of_decoder->sparse_step = decoder_step;
	struct spec *second = resolve_half(s, a, "decoder", "decoder.");
	second->layers = second->layers_in_config = decoder_layers;
	second->own = of_decoder;
}

static void page_inputs(struct build *b, struct body *io)
{
	struct t5_seen *seen = ARENA_NEW(graph_arena(b->g), struct t5_seen);
	t5_page_inputs(b, io, ((const struct t5 *)b->s->own)->page, seen);
	io->own = seen;
}

struct seq2seq t5_halves(const struct build *b)
{
	const struct t5 *t = b->s->own;
	struct seq2seq f = { .encode = t5_stack, .decode = t5_stack, .one_table = true, .eos = t->eos, .start = t->start };
	if (t->page)
		f.inputs = page_inputs, f.gives_mask = true;
	if (t->scaled_head)
		f.head_scale = (float)(1 / sqrt((double)b->s->hidden_size));
	return f;
}

static void build(struct build *b)
{
	struct seq2seq f = t5_halves(b);
	seq2seq_build(b, &f);
}

// The encoder as a part.
static void body(struct build *b, struct body *io)
{
	struct seq2seq f = { .encode = t5_stack, .one_table = true };
	seq2seq_run(b, &f, "encoder", io);
}

static const struct family_head heads[] = {
	{ &head_conditional, seq2seq_logits },
	{ &head_model, head_give_last },
	{ &head_encoder, NULL, SEQ2SEQ_ENCODER_ONLY },
	{ &head_sequence, seq2seq_classify, SEQ2SEQ_TWICE | SEQ2SEQ_WRAPPED },
	{ &head_token, NULL, SEQ2SEQ_ENCODER_ONLY | SEQ2SEQ_WRAPPED },
	{ &head_span, NULL, SEQ2SEQ_TWICE },
	{ 0 },
};

// Of a model that has it as a part, and no page for it.
static struct seq2seq part_halves(const struct build *b)
{
	if (((const struct t5 *)b->s->own)->page)
		graph_fail(b->g, STATUS_UNSUPPORTED, "the type %s is not supported as a part yet", b->s->row->model_type);
	return t5_halves(b);
}

const struct family t5 = {
	.name = "t5",
	.architecture = "encoder-decoder",
	.resolve = resolve,
	.build = build,
	.body = body,
	.halves = part_halves,
	.graphs = seq2seq_graphs,
	.heads = heads,
	.traits = FAMILY_TRAIT_LIST(t5, T5_TRAITS),
};
