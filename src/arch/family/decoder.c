// SPDX-License-Identifier: Apache-2.0
// GPT, LLaMA and their kin: a causal transformer (Radford et al. 2019; Touvron et al. 2023, https://arxiv.org/abs/2302.13971;
// Mistral, https://arxiv.org/abs/2310.06825; Qwen2, https://arxiv.org/abs/2407.10671; Gemma 2, https://arxiv.org/abs/2408.00118).
// Positions are rotary, learned, or a linear bias; causal language models have a key-value cache; classifiers and bare models,
// which read a text once, have none.
//
//   ids -> tokens (+ positions) -> layers -> norm -> head
//   usual:     x -+- norm - attention -(norm)-(+)-+- norm - feed-forward -(norm)-(+)-
//                 +----------------------------+  +---------------------------+
//   reordered: x -+- attention - norm -(+)-+- feed-forward - norm -(+)-
//                 +---------------------+  +-----------------------+
//   post-norm: x -+- attention -(+)- norm -+- feed-forward -(+)- norm -
//                 +--------------+         +-----------------+
//   parallel:  x -+- norm -+- attention ----+
//                 |        +- feed-forward -+
//                 +------------------------(+)-
// In hybrids some layers have a recurrence or a convolution in the place of attention, or beside it.
#include <math.h>

#include "arch/block/recurrent.h"
#include "arch/family/decoder.h"

// What all layers share: for layers without a window [0] and with one [1]. NO_VALUE where no layer needs it.
struct shared {
	graph_value mask[2], cos[2], sin[2], query_scale;
	graph_value tokens; // mask_of_new
};

// Does this layer have attention?
static bool attends(const struct spec *s, int64_t layer)
{
	return !s->mixers || s->mixers[layer] == MIX_ATTENTION || TRAITS_OF(s, decoder)->mixer_beside;
}

static bool turns(const struct spec *s, int64_t layer)
{
	return !s->nope || !s->nope[layer];
}

static graph_value attention(struct build *b, graph_value x, const struct shared *p, struct cache *cache)
{
	const struct spec *s = b->s;
	int window = s->sliding[b->layer];
	struct attention_extras e = { .bias = p->mask[window], .query_scale = p->query_scale };
	if (turns(s, b->layer))
		e.cos = p->cos[window], e.sin = p->sin[window];
	if (s->latent.key_rank)
		return latent_attention(b, x, &e, cache);
	return self_attention_with(b, x, &e, s->traits.qkv_bias, s->traits.out_bias, cache);
}

static graph_value times(struct build *b, graph_value x, double factor)
{
	return factor == 1 ? x : op_scale(b->g, x, (float)factor);
}

// What mixes the tokens of this layer.
static graph_value mix(struct build *b, struct body *io, graph_value x, const struct shared *p)
{
	static recurrent_mixer *const mixers[] = { NULL, convolution_mixer, mamba_mixer, mamba2_mixer, delta_mixer };
	const struct spec *s = b->s;
	const struct multipliers *m = s->multipliers;
	recurrent_mixer *mixer = s->mixers ? mixers[s->mixers[b->layer]] : NULL;
	if (!mixer)
		return attention(b, x, p, io->cache);
	graph_value y = mixer(b, io, m ? times(b, x, m->mixer_in) : x, p->tokens);
	if (!attends(s, b->layer))
		return y;
	graph_value z = attention(b, m ? times(b, x, m->attention_in) : x, p, io->cache);
	return m ? op_add(b->g, times(b, y, m->mixer_out), times(b, z, m->attention_out)) : op_add(b->g, y, z);
}

static graph_value feed(struct build *b, graph_value x)
{
	if (b->s->moe && b->s->sparse[b->layer])
		return mixture(b, x);
	return ffn_of(b, "layers.ffn", x, b->s->ffn_size, b->s->traits.ffn_bias);
}

// x + residual_scale * y
static graph_value residual(struct build *b, graph_value x, graph_value y)
{
	const struct spec *s = b->s;
	return op_add(b->g, x, s->residual_scale > 0 ? op_scale(b->g, y, (float)s->residual_scale) : y);
}

static graph_value parallel_layer(struct build *b, struct body *io, graph_value x, const struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_enter(g, "attn");
	bool two = TRAITS_OF(s, decoder)->parallel_norms, apart = two && weight_named(b, "layers.attn.norm_apart");
	graph_value normed = norm(b, apart ? "layers.attn.norm_apart" : "layers.attn.norm", x, s->hidden_size);
	graph_value y = mix(b, io, normed, p);
	graph_leave(g);
	graph_enter(g, "ffn");
	graph_value z = feed(b, two ? norm(b, apart ? "layers.ffn.norm_apart" : "layers.ffn.norm", x, s->hidden_size) : normed);
	graph_leave(g);
	return residual(b, residual(b, x, y), z);
}

static graph_value layer(struct build *b, struct body *io, graph_value x, const struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	const struct decoder_traits *t = TRAITS_OF(s, decoder);
	bool post = s->traits.post_norm;
	if (t->parallel || t->parallel_norms)
		return parallel_layer(b, io, x, p);
	bool before = !t->reordered_norm && !post, after = t->reordered_norm || t->sandwich_norm;
	graph_enter(g, "attn");
	graph_value y = before ? norm(b, "layers.attn.norm", x, s->hidden_size) : x;
	y = mix(b, io, y, p);
	x = residual(b, x, after ? norm(b, "layers.attn.after", y, s->hidden_size) : y);
	x = post ? norm(b, "layers.attn.norm", x, s->hidden_size) : x;
	graph_leave(g);
	graph_enter(g, "ffn");
	y = feed(b, before ? norm(b, "layers.ffn.norm", x, s->hidden_size) : x);
	x = residual(b, x, after ? norm(b, "layers.ffn.after", y, s->hidden_size) : y);
	x = post ? norm(b, "layers.ffn.norm", x, s->hidden_size) : x;
	graph_leave(g);
	return x;
}

static bool has_word(const struct spec *s, const char *stem)
{
	for (const struct weight_name *n = s->row->dialect->weights; n->canonical; n++)
		if (text_is(n->canonical, stem))
			return true;
	return false;
}

// A switch that the class has and that is on.
static bool says(struct config *c, const char *key)
{
	bool on = config_bool(c, key, false);
	return on && config_knows(c, key);
}

// Which linear layers have biases, in the words of several classes.
static void resolve_biases(struct config *c, struct spec *s)
{
	struct traits *t = &s->traits;
	const struct decoder_traits *own = TRAITS_OF(s, decoder);
	bool attention = says(c, "attention_bias"), all = says(c, "use_bias");
	t->qkv_bias |= attention || all || says(c, "use_qkv_bias") || says(c, "qkv_bias");
	t->out_bias |= (attention && !own->qkv_bias_only) || all || says(c, "attention_out_bias");
	t->ffn_bias |= says(c, "mlp_bias") || all;
	t->lm_bias |= says(c, "lm_head_bias") || (own->lm_bias_too && all);
}

// [count] numbers, or 1 each.
static const double *factors(struct config *c, const char *key, struct arena *a, size_t count)
{
	const json_t *list = config_get(c, key);
	double *out = ARENA_ARRAY(a, count, double);
	if (list && json_array_size(list) != count)
		config_fail(c, STATUS_BAD_INPUT, "%s should have %zu numbers", key, count);
	for (size_t i = 0; i < count; i++)
		out[i] = list ? json_number_value(json_array_get(list, i)) : 1;
	return out;
}

// LFM2's feed-forward is two thirds as wide as it says, times a factor, rounded up.
static void resolve_adjusted(struct config *c, struct spec *s)
{
	const json_t *factor = config_get(c, "block_ffn_dim_multiplier");
	int64_t multiple = config_size(c, "block_multiple_of", 1);
	if (!config_bool(c, "block_auto_adjust_ff_dim", false))
		return;
	s->ffn_size = 2 * s->ffn_size / 3;
	if (!factor)
		return;
	double wide = config_real(c, "block_ffn_dim_multiplier", 1) * (double)s->ffn_size;
	if (!(wide >= 1 && wide <= INT32_MAX) || multiple < 1)
		config_fail(c, STATUS_BAD_INPUT, "block_ffn_dim_multiplier and block_multiple_of do not go together");
	else
		s->ffn_size = ((int64_t)wide + multiple - 1) / multiple * multiple;
}

// Layers that have something else in the place of attention, or beside it.
static void resolve_hybrid(struct config *c, struct spec *s, struct arena *a)
{
	const struct decoder_traits *t = TRAITS_OF(s, decoder);
	struct recurrence *r = resolve_recurrence(c, s, a, (enum mixer)t->mixer);
	resolve_mixers(c, s, a, (enum mixer)t->mixer, t->attention_every);
	resolve_adjusted(c, s);
	if (!t->mixer_beside)
		return;
	struct multipliers *m = ARENA_NEW(a, struct multipliers);
	const double *ffn = factors(c, "mlp_multipliers", a, 2);
	*m = (struct multipliers){ .attention_in = config_real(c, "attention_in_multiplier", 1),
		.attention_out = config_real(c, "attention_out_multiplier", 1),
		.mixer_in = config_real(c, "ssm_in_multiplier", 1),
		.mixer_out = config_real(c, "ssm_out_multiplier", 1),
		.ffn_gate = ffn[0],
		.ffn_down = ffn[1] };
	s->multipliers = m;
	s->attention_scale *= config_real(c, "key_multiplier", 1);
	r->part_scale = factors(c, "ssm_multipliers", a, 5);
	r->no_gated_norm = !config_bool(c, "mamba_rms_norm", false);
	r->gate_last = config_bool(c, "mamba_norm_before_gate", true);
}

// Layers without rotary positions: all, a list of 0 and 1, or every Nth, or those without a window.
static void resolve_unturned(struct config *c, struct spec *s, struct arena *a)
{
	bool known = c->defaults && config_knows(c, "position_embedding_type"), none = TRAITS_OF(s, decoder)->unturned;
	const char *kind = config_text(c, "position_embedding_type");
	if (none || (known && !(kind && text_is(kind, "rope")))) {
		bool *all = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
		for (int64_t i = 0; i < s->layers; i++)
			all[i] = true;
		s->nope = all;
		return;
	}
	const json_t *list = config_get(c, "no_rope_layers");
	int64_t interval = config_size(c, "no_rope_layer_interval", 0);
	if (!TRAITS_OF(s, decoder)->window_rope && !interval && !json_array_size(list))
		return;
	bool *nope = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	if (json_array_size(list) && json_array_size(list) != (size_t)s->layers)
		config_fail(
			c, STATUS_BAD_INPUT, "no_rope_layers should have a number for each of %lld layers", (long long)s->layers);
	for (int64_t i = 0; i < s->layers; i++)
		nope[i] = TRAITS_OF(s, decoder)->window_rope ? s->sliding_window > 0 && !s->sliding[i]
			: json_array_size(list)              ? json_integer_value(json_array_get(list, (size_t)i)) == 0
							     : (i + 1) % interval == 0;
	s->nope = nope;
	if (interval && !config_get(c, "layer_types")) // there the layers without rotary positions are those with the window
		s->sliding = s->sliding_window > 0 ? nope : s->sliding;
}

// Rotary bases layer by layer: those of the layers without a window are one, and those with one.
static void resolve_layer_thetas(struct config *c, struct spec *s)
{
	const json_t *list = config_get(c, "layer_rope_theta");
	if (!list)
		return;
	double theta[2] = { 0, 0 };
	for (int64_t i = 0; i < s->layers; i++) {
		double t = json_number_value(json_array_get(list, (size_t)i)), *known = &theta[s->sliding[i]];
		if (!(t > 1) || (*known > 0 && *known != t))
			config_fail(c, STATUS_UNSUPPORTED,
				"layer_rope_theta that differs among layers of one type is not supported yet");
		*known = t;
	}
	s->rope.theta = theta[0] > 0 ? theta[0] : s->rope.theta;
	s->window_rope.theta = theta[1] > 0 ? theta[1] : s->window_rope.theta;
}

static void resolve_scales(struct config *c, struct spec *s)
{
	s->embedding_scale = config_real(
		c, "embedding_multiplier", TRAITS_OF(s, decoder)->scaled_embedding ? sqrt((double)s->hidden_size) : 0);
	s->residual_scale = config_real(c, "residual_multiplier", 0);
	s->attention_scale = config_real(c, "attention_multiplier", s->attention_scale);
	double divisor = config_real(c, "logits_scaling", 1), base = config_real(c, "dim_model_base", 0),
	       depth = config_real(c, "scale_depth", 0);
	s->embedding_scale = config_real(c, "scale_emb", s->embedding_scale);
	if (config_bool(c, "mup_enabled", false))
		s->embedding_scale = sqrt((double)s->hidden_size);
	if (depth > 0)
		s->residual_scale = depth / sqrt((double)s->layers);
	divisor *= base > 0 ? (double)s->hidden_size / base : 1;
	s->logit_scale = config_real(c, "logit_scale", divisor > 0 && divisor != 1 ? 1 / divisor : 0);
	s->clip_qkv = config_real(c, "clip_qkv", 0);
}

// What the older classes say in words of their own.
static void resolve_older(struct config *c, struct spec *s, struct arena *a)
{
	struct decoder_traits *t = TRAITS_OF(s, decoder);
	if (!config_get(c, "hidden_act"))
		s->act = t->usual_act;
	if (t->gelu_by_tanh && s->act == ACT_GELU)
		s->act = ACT_GELU_TANH;
	// falcon, gpt_bigcode
	const json_t *one = config_get(c, "multi_query");
	bool newer = config_bool(c, "new_decoder_architecture", false);
	int64_t key_heads = config_size(c, "num_kv_heads", s->heads),
		norms = config_size(c, "num_ln_in_parallel_attn", newer ? 2 : 1);
	if (one)
		s->kv_heads = newer ? key_heads : json_is_true(one) ? 1 : key_heads;
	if (s->kv_heads < 1 || s->heads % s->kv_heads)
		config_fail(
			c, STATUS_BAD_INPUT, "%lld heads, %lld of them for keys", (long long)s->heads, (long long)s->kv_heads);
	if (config_bool(c, "parallel_attn", false) || newer)
		*(norms == 2 && newer ? &t->parallel_norms : &t->parallel) = true;
	if (config_bool(c, "alibi", false))
		s->traits.alibi = ALIBI_BFLOAT16;
	// gpt2, gpt_neo
	if (!config_bool(c, "scale_attn_weights", true) || t->unscaled_attention)
		s->attention_scale = 1;
	s->scale_by_layer = config_bool(c, "scale_attn_by_inverse_layer_idx", false);
	const json_t *layers = config_get(c, "attention_layers"), *types = config_get(c, "attention_types");
	if (layers || types) { // ["global", "local", ..] or [[["global", "local"], 12]]
		bool *local = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
		int64_t n = 0;
		for (size_t i = 0; i < (layers ? 1 : json_array_size(types)); i++) {
			const json_t *pair = json_array_get(types, i), *words = layers ? layers : json_array_get(pair, 0);
			int64_t times = layers ? 1 : json_integer_value(json_array_get(pair, 1));
			for (int64_t k = 0; k < times && n < s->layers; k++)
				for (size_t j = 0; j < json_array_size(words) && n < s->layers; j++)
					local[n++] = text_is(json_string_value(json_array_get(words, j)), "local");
		}
		if (n < s->layers)
			config_fail(c, STATUS_BAD_INPUT, "attention_layers should name %lld layers", (long long)s->layers);
		s->sliding = local;
	}
	// bloom, mpt
	if (config_bool(c, "apply_residual_connection_post_layernorm", false))
		config_fail(c, STATUS_UNSUPPORTED, "apply_residual_connection_post_layernorm: true is not supported yet");
	const json_t *attention = config_get(c, "attn_config");
	const json_t *max = json_object_get(attention, "alibi_bias_max"), *scale = json_object_get(attention, "softmax_scale"),
		     *clip = json_object_get(attention, "clip_qkv");
	s->alibi_max = json_is_number(max) ? json_number_value(max) : 8;
	s->attention_scale = json_is_number(scale) ? json_number_value(scale) : s->attention_scale;
	s->clip_qkv = json_is_number(clip) ? json_number_value(clip) : s->clip_qkv;
	s->ffn_size = config_get(c, "ffn_multiple") ? config_size(c, "ffn_multiple", 4) * s->hidden_size : s->ffn_size;
	// opt, biogpt, xglm
	bool before = config_bool(c, "do_layer_norm_before", true);
	s->traits.post_norm |= !before;
	t->no_last_norm |= config_bool(c, "_remove_final_layer_norm", false) || !before;
	s->traits.norm_no_weight |= !config_bool(c, "layer_norm_elementwise_affine", true);
	if (config_bool(c, "scale_embedding", false))
		s->embedding_scale = sqrt((double)s->hidden_size);
}

static void resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct decoder_traits *t = TRAITS_OF(s, decoder);
	resolve_transformer(c, s, false);
	if (c->error.status)
		return;
	if (!s->ffn_size)
		s->ffn_size = 4 * s->hidden_size;
	if (!config_get(c, "layer_norm_eps") && !config_get(c, "rms_norm_eps"))
		s->norm_eps = 1e-5; // what layers have that no configuration speaks of
	if (has_word(s, "layers.attn.kv_a"))
		resolve_latent(c, s);
	if (t->mixer)
		resolve_hybrid(c, s, a);
	resolve_rope(c, s, a);
	if (s->latent.key_rank) {
		s->rope.dim = s->window_rope.dim = s->rope.steps = s->window_rope.steps =
			0; // what the embedding rotates lies apart already
		resolve_latent_scale(s);
	}
	if (has_word(s, "layers.moe.router"))
		resolve_moe(c, s, a);
	resolve_window(c, s, a);
	resolve_unturned(c, s, a);
	resolve_layer_thetas(c, s);
	resolve_biases(c, s);
	resolve_scales(c, s);
	resolve_older(c, s, a);
	s->attention_softcap = t->uncapped_scores ? 0 : s->attention_softcap;
	bool ahead = config_bool(c, "use_bidirectional_attention", false);
	s->bidirectional = t->may_be_bidirectional && ahead;
	if (s->bidirectional)
		s->sliding_window = s->sliding_window / 2 + 1; // half of it on each side
	if (says(c, "use_qk_norm"))
		*(s->traits.layer_norm ? &s->qk_norm_heads : &s->traits.qk_norm) = true;
	if (config_bool(c, "qk_layernorm", false))
		*(has_word(s, "layers.attn.q_norms") ? &s->qk_norm_heads : &s->traits.qk_norm) = true;
	t->sandwich_norm |= config_bool(c, "use_post_norm", false);
	bool parallel = config_bool(c, "use_parallel_residual", t->parallel || t->parallel_norms);
	t->parallel_norms &= parallel;
	t->parallel |= parallel && !t->parallel_norms;
}

static void make_shared(struct build *b, struct body *io, graph_value x, struct shared *p)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	bool needed[2] = { false, false }, turned[2] = { false, false };
	for (int64_t i = 0; i < s->layers; i++) {
		needed[s->sliding[i]] |= attends(s, i);
		turned[s->sliding[i]] |= attends(s, i) && turns(s, i);
	}
	if (s->mixers)
		p->tokens = mask_of_new(b, io, x);
	for (int w = 0; w < 2; w++) {
		if (!needed[w])
			continue;
		const struct rope *r = w ? &s->window_rope : &s->rope;
		if (!turned[w])
			;
		else if (io->axes.id)
			rope_tables_by_section(b, r, r->dim ? r->dim : s->head_width, x, io->axes, &p->cos[w], &p->sin[w]);
		else if (!s->traits.alibi && !TRAITS_OF(s, decoder)->sinusoids && !weight_named(b, "embed.position"))
			rope_tables_of(b, r, r->dim ? r->dim : s->head_width, x, io->positions, &p->cos[w], &p->sin[w]);
		int64_t window = w ? s->sliding_window : 0;
		if (!s->bidirectional || io->blocks.id) // blocks say who looks ahead
			p->mask[w] = mask_causal_blocks(b, io->mask, x, window, io->blocks);
		else
			p->mask[w] = w ? mask_window_both(b, io->mask, x, window) : mask_bidirectional(b, io->mask);
		if (s->traits.alibi)
			p->mask[w] = op_add(g, mask_alibi(b, io->mask), p->mask[w]);
	}
	if (s->rope.position_beta > 0)
		p->query_scale = rope_query_scale(b, &s->rope, x, io->positions);
}

// sin(p f_i) .. cos(p f_i) .. with f_i = 10000^(-i / (half - 1)): [batch, seq, hidden]
static graph_value sines(struct build *b, graph_value positions)
{
	struct graph *g = b->g;
	int64_t half = b->s->hidden_size / 2;
	float *f = GRAPH_TABLE(g, NULL, half, 1, float);
	for (int64_t i = 0; f && i < half; i++)
		f[i] = (float)exp(-log(10000) / (double)(half - 1) * (double)i);
	graph_value angle =
		op_mul(g, op_unsqueeze(g, op_cast(g, positions, DTYPE_F32), 2), graph_constant(g, DTYPE_F32, 1, &half, f));
	return op_concat(g, 2, (graph_value[]){ op_sin(g, angle), op_cos(g, angle) }, 2);
}

// Learned positions: rows from position_offset on.
static graph_value add_positions(struct build *b, struct body *io, graph_value x)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	int64_t rows = s->max_positions + s->traits.position_offset;
	graph_value at = io->positions;
	if (s->traits.positions_of_mask) {
		graph_value count = op_sub(g, op_mul(g, op_cumsum(g, io->mask, 1), io->mask), graph_i64(g, 1)); // [batch, keys]
		at = op_slice_to(g, count, 1, op_sub(g, op_dim(g, io->mask, 1), op_dim(g, x, 1)), op_dim(g, io->mask, 1));
	} else if (!at.id)
		at = op_unsqueeze(g, op_range(g, graph_i64(g, 0), op_squeeze(g, op_dim(g, x, 1), 0), graph_i64(g, 1)), 0);
	if (s->traits.position_offset)
		at = op_add(g, at, graph_i64(g, s->traits.position_offset));
	return op_add(
		g, x, TRAITS_OF(s, decoder)->sinusoids ? sines(b, at) : embedding(b, "embed.position", at, rows, s->hidden_size));
}

static void body(struct build *b, struct body *io)
{
	struct graph *g = b->g;
	const struct spec *s = b->s;
	graph_value x = io->embeds.id
		? io->embeds
		: embedding(b, "embed.word", io->ids, s->vocab_size, s->embedding_size); // [batch, seq, hidden]
	if (s->embedding_size != s->hidden_size && !io->embeds.id)
		x = linear(b, "embed.project", x, s->embedding_size, s->hidden_size, false);
	if (s->embedding_scale > 0 &&
		!(io->embeds.id && TRAITS_OF(s, decoder)->scaled_embedding)) // then the scale is the embedding's own
		x = op_scale(g, x, (float)s->embedding_scale);
	if (TRAITS_OF(s, decoder)->sinusoids || weight_named(b, "embed.position"))
		x = add_positions(b, io, x);
	if (s->traits.embedding_norm)
		x = norm(b, "embed.norm", x, s->hidden_size);
	struct shared p = { 0 };
	make_shared(b, io, x, &p);
	states_begin(b, io, x);
	for (b->layer = 0; b->layer < s->layers && !graph_failed(b->g); b->layer++) {
		graph_enter(g, "layers.%lld", (long long)b->layer);
		x = layer(b, io, x, &p);
		graph_leave(g);
		if (b->layer < io->deep_count)
			x = op_add(g, x, io->deep[b->layer]);
		states_add(io, x);
	}
	io->last = TRAITS_OF(s, decoder)->no_last_norm ? x : norm(b, "norm", x, s->hidden_size);
	if (s->embedding_size != s->hidden_size)
		io->last = linear(b, "project", io->last, s->hidden_size, s->embedding_size, false);
}

static void build(struct build *b)
{
	struct body io = { 0 };
	decoder_inputs(b, &io);
	body(b, &io);
	head_build(b, &io);
	if (io.cache)
		cache_outputs(b, io.cache);
	state_outputs(b, &io);
}

static const struct family_head heads[] = {
	{ &head_model },
	{ &head_causal_lm },
	{ &head_sequence, head_score_last },
	{ &head_token },
	{ &head_span },
	{ 0 },
};

const struct family decoder = {
	.name = "decoder",
	.architecture = "decoder-only",
	.resolve = resolve,
	.build = build,
	.body = body,
	.heads = heads,
	.sizes = recurrence_sizes,
	.any_heads = true,
	.may_unturn = true,
	.shares_cache = true,
	.traits = FAMILY_TRAIT_LIST(decoder, DECODER_TRAITS),
};
