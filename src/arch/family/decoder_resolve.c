// SPDX-License-Identifier: Apache-2.0
// What config.json says of decoders, in the words of many classes.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/family/decoder.h"

// A switch that the class has and that is on.
static bool says(struct config *c, const char *key)
{
	bool on = config_bool(c, key, false);
	return on && config_knows(c, key);
}

// The layers' heads where they are of two kinds: by per_layer_config, or by keys of the layers without a window.
static void resolve_two_heads(struct config *c, struct spec *s)
{
	struct heads n[2], usual = { s->heads, s->kv_heads, s->head_width, s->head_width };
	bool set[2] = { false, false };
	const json_t *each = config_get(c, "per_layer_config");
	int64_t width = config_size(c, "global_head_dim", 512),
		kv_heads = config_size(c, "num_global_key_value_heads", usual.kv_heads);
	n[0] = n[1] = usual;
	const char *key;
	json_t *o, *v;
	if (!each) {
		n[0].width = width;
		n[0].kv_heads = s->keys_are_values || !config_knows(c, "attention_k_eq_v") ? kv_heads : usual.kv_heads;
	}
	for (int64_t i = 0; each && i < s->layers; i++) {
		struct heads own = usual;
		json_object_foreach((json_t *)each, key, o)
		{
			char *end;
			if (strtoll(key, &end, 10) != i || *end || end == key)
				continue;
			const char *word;
			json_object_foreach(o, word, v)
			{
				int64_t *at = text_is(word, "head_dim")        ? &own.width
					: text_is(word, "num_key_value_heads") ? &own.kv_heads
									       : NULL;
				double x = json_number_value(v);
				if (!at || !json_is_integer(v) || !(x >= 1 && x <= 1 << 20))
					config_fail(c, STATUS_UNSUPPORTED, "per_layer_config: %s is not supported yet", word);
				else
					*at = (int64_t)x;
			}
		}
		struct heads *kind = &n[s->sliding[i]];
		if (set[s->sliding[i]] && (kind->width != own.width || kind->kv_heads != own.kv_heads))
			config_fail(c, STATUS_UNSUPPORTED, "heads that differ among layers of one type are not supported yet");
		*kind = own;
		set[s->sliding[i]] = true;
	}
	for (int w = 0; w < 2; w++)
		if (n[w].width < 1 || n[w].width % 2 || n[w].kv_heads < 1 || n[w].heads % n[w].kv_heads)
			config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld, %lld of them for keys", (long long)n[w].heads,
				(long long)n[w].width, (long long)n[w].kv_heads);
	s->kv_heads = n[0].kv_heads;
	s->head_width = n[0].width;
	s->window_heads = n[1];
	s->window_heads.value_width = n[1].width;
}

// The last layers take keys and values of the last one of their type before them.
static void resolve_shared_keys(struct config *c, struct spec *s, struct arena *a)
{
	int64_t shared = config_size(c, "num_kv_shared_layers", 0), first = s->layers - shared, last[2] = { -1, -1 };
	if (!shared)
		return;
	int64_t *of = ARENA_ARRAY(a, (size_t)s->layers + 1, int64_t);
	for (int64_t i = 0; i < s->layers; i++) {
		int64_t *of_kind = &last[s->sliding[i]];
		*of_kind = i < first ? i : *of_kind;
		of[i] = *of_kind;
		if (*of_kind < 0)
			config_fail(c, STATUS_BAD_INPUT, "num_kv_shared_layers %lld: layer %lld has nothing to share",
				(long long)shared, (long long)i);
	}
	s->keys_of = of;
}

// How many standard deviations a normal distribution has below this share.
static double deviations(double share)
{
	double low = -40, high = 40;
	for (int i = 0; i < 200; i++) {
		double x = (low + high) / 2;
		*(0.5 * erfc(-x / sqrt(2)) < share ? &low : &high) = x;
	}
	return (low + high) / 2;
}

// Queries that grow with the column, where they have no rotary positions (Llama 4).
static void resolve_columns(struct config *c, struct spec *s)
{
	if (!c->defaults || !config_knows(c, "attn_temperature_tuning"))
		return;
	double beta = config_real(c, "attn_scale", 0.1);
	s->column_floor = config_size(c, "floor_scale", 8192);
	s->column_beta = config_bool(c, "attn_temperature_tuning", true) ? beta : 0;
	if (s->column_floor < 1)
		config_fail(c, STATUS_BAD_INPUT, "floor_scale 0");
}

// Every window_pattern-th layer, counted from the last, which is one.
static bool unwindowed_from_last(const struct spec *s, int64_t layer)
{
	int64_t every = s->traits.window_pattern;
	return every > 0 && (s->layers - 1 - layer) % every == 0;
}

// Windows that no other class has so: after resolve_window.
static void resolve_own_windows(struct config *c, struct spec *s, struct arena *a)
{
	const struct decoder_traits *t = TRAITS_OF(s, decoder);
	bool listed = config_get(c, "layer_types") != NULL;
	int64_t whole = t->half_window ? config_size(c, "global_attn_every_n_layers", 0) : 0; // all of these see everything
	bool *sliding = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	memcpy(sliding, s->sliding, (size_t)s->layers * sizeof *sliding);
	for (int64_t i = 0; (t->window_every || whole) && !listed && s->sliding_window > 0 && i < s->layers; i++)
		sliding[i] = whole ? i % whole != 0 : i % t->window_every == 0;
	for (int64_t i = 0; t->window_from_last && !listed && i < s->layers; i++)
		sliding[i] = s->sliding_window > 0 && !unwindowed_from_last(s, i);
	for (int64_t i = 0; t->window_edges && !listed && i < s->layers; i++)
		sliding[i] = s->sliding_window > 0 && i >= 2 && i % 4 != 1 && !(t->window_edges == 1 && i == s->layers - 1);
	if (t->last_unwindowed || (t->last_unwindowed_usually && !listed))
		sliding[s->layers - 1] = false;
	if (t->first_unwindowed && !listed)
		sliding[0] = false;
	for (int64_t i = 0; s->weighed && i < s->layers; i++) // MiniMax: of all, whatever word layer_types has for them
		sliding[i] = s->sliding_window > 0;
	s->sliding = sliding;
	bool twice = t->half_window && config_get(c, "local_attention") && json_object_get(c->given, "local_attention");
	if (twice && !json_object_get(c->given, "sliding_window"))
		s->sliding_window /= 2;
	if (!t->window_keys_doubled)
		return;
	s->value_width = config_size(c, "v_head_dim", 0);
	s->value_scale = config_real(c, "attention_value_scale", 0);
	s->window_heads =
		(struct heads){ s->heads, 2 * s->kv_heads, s->head_width, s->value_width ? s->value_width : s->head_width };
	if (s->heads % (2 * s->kv_heads))
		config_fail(c, STATUS_BAD_INPUT, "%lld heads, %lld of them for keys in a window", (long long)s->heads,
			2 * (long long)s->kv_heads);
}

// Several states, and gates that let few values pass (Gemma 3n).
static void resolve_altup(struct config *c, struct spec *s, struct arena *a)
{
	struct altup *up = ARENA_NEW(a, struct altup);
	*up = (struct altup){ .inputs = config_count(c, "altup_num_inputs", -1),
		.active = config_size(c, "altup_active_idx", 0),
		.laurel_rank = config_size(c, "laurel_rank", -1),
		.scaled = config_bool(c, "altup_correct_scale", true) };
	if (up->inputs < 2 || up->active >= up->inputs || up->laurel_rank < 1 || s->token_width < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld states, the %lldth of them active, rank %lld", (long long)up->inputs,
			(long long)up->active, (long long)up->laurel_rank);
	s->altup = up;
	int64_t count;
	s->ffn_sizes = config_sizes(c, "ffn_sizes", a, s->layers, &count);
	const json_t *shares = config_get(c, "activation_sparsity_pattern");
	if ((s->ffn_sizes && count != s->layers) || (shares && json_array_size(shares) != (size_t)s->layers))
		config_fail(c, STATUS_BAD_INPUT,
			"intermediate_size and activation_sparsity_pattern should have a number for each of %lld layers",
			(long long)s->layers);
	double *sparsity = ARENA_ARRAY(a, (size_t)s->layers + 1, double);
	for (int64_t i = 0; i < s->layers && !c->error.status; i++) {
		double share = s->layers > 10 && i < 10 ? 0.95 : 0; // the class's rule
		share = shares ? json_number_value(json_array_get(shares, (size_t)i)) : share;
		sparsity[i] = share > 0 ? deviations(share) : 0;
		if (!(share < 1) || (s->ffn_sizes && s->ffn_sizes[i] < 1))
			config_fail(c, STATUS_BAD_INPUT, "layer %lld: a sparsity of %g, or a feed-forward of no width",
				(long long)i, share);
	}
	s->ffn_size = s->ffn_sizes && count > 0 ? s->ffn_sizes[0] : s->ffn_size;
	s->sparsity = sparsity;
}

// Heads, keys and feed-forward that differ from layer to layer, and an embedding for each layer (Gemma 3n and 4).
static void resolve_gemma(struct config *c, struct spec *s, struct arena *a)
{
	s->token_width = config_size(c, "hidden_size_per_layer_input", 0);
	s->token_rows = config_size(c, "vocab_size_per_layer_input", s->vocab_size);
	s->keys_are_values = config_bool(c, "attention_k_eq_v", false);
	if (TRAITS_OF(s, decoder)->two_heads)
		resolve_two_heads(c, s);
	resolve_shared_keys(c, s, a);
	bool double_wide = config_bool(c, "use_double_wide_mlp", false);
	if (s->keys_of && double_wide) {
		int64_t *sizes = ARENA_ARRAY(a, (size_t)s->layers + 1, int64_t);
		for (int64_t i = 0; i < s->layers; i++)
			sizes[i] = s->ffn_size * (s->keys_of[i] == i ? 1 : 2);
		s->ffn_sizes = sizes;
	}
	if (c->defaults && config_knows(c, "altup_num_inputs"))
		resolve_altup(c, s, a);
}

// Which linear layers have biases, in the words of several classes.
static void resolve_biases(struct config *c, struct spec *s)
{
	struct traits *t = &s->traits;
	const struct decoder_traits *own = TRAITS_OF(s, decoder);
	bool attention = says(c, "attention_bias"), all = says(c, "use_bias");
	t->qkv_bias |= attention || all || says(c, "use_qkv_bias") || says(c, "qkv_bias");
	t->out_bias |= (attention && !own->qkv_bias_only) || all || says(c, "attention_out_bias");
	t->ffn_bias |= says(c, "mlp_bias") || says(c, "add_bias_linear") || all;
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

static double rounded_to_bfloat16(double x)
{
	int exponent;
	double fraction = frexp(x, &exponent); // 8 bits of it
	return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

// Zamba: a block before the recurrences of "hybrid" layers, with the weights of one of the first num_mem_blocks such layers.
static void resolve_shared_blocks(struct config *c, struct spec *s, struct arena *a, struct recurrence *r)
{
	int64_t *of = ARENA_ARRAY(a, (size_t)s->layers + 1, int64_t), count = 0;
	int64_t blocks = config_count(c, "num_mem_blocks", 1), period = config_size(c, "block_period", 6),
		offset = config_size(c, "block_offset", 4), wide = config_size(c, "attention_hidden_size", 2 * s->hidden_size);
	int64_t *first = ARENA_ARRAY(a, (size_t)blocks + 1, int64_t);
	const json_t *words = config_get(c, "layer_types");
	if (blocks < 1 || period < 1 || wide != 2 * s->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "num_mem_blocks %lld, attn_layer_period %lld, attention_hidden_size %lld",
			(long long)blocks, (long long)period, (long long)wide);
	for (int64_t i = 0; i < s->layers && !c->error.status; i++) {
		bool by_rule = i == 2 || (i > 2 && (i - 3) % period == offset);
		of[i] = -1;
		if (words ? !text_is(json_string_value(json_array_get(words, (size_t)i)), "hybrid") : !by_rule)
			continue;
		if (count < blocks)
			first[count] = i;
		of[i] = first[count++ % blocks];
	}
	s->block_of = of;
	s->attention_in = wide;
	bool attention_adapters = config_bool(c, "use_shared_attention_adapter", false);
	int64_t rank = config_size(c, "adapter_rank", 0);
	s->adapter_rank = has_word(s, "layers.ffn.gate_up.adapter_a") ? rank : 0;
	s->attention_adapters = attention_adapters && s->adapter_rank > 0;
	if (!config_get(c, "head_dim"))
		s->head_width = wide / s->heads;
	s->attention_scale = 1 / sqrt((double)s->head_width / 2);
	r->apart = has_word(s, "layers.time.weight");
	r->act = r->apart ? r->act : ACT_SILU; // Zamba2's recurrence heeds no hidden_act
}

static void resolve_weighed(struct config *c, struct spec *s, struct arena *a)
{
	struct weighed_sums *w = ARENA_NEW(a, struct weighed_sums);
	*w = (struct weighed_sums){
		.attention = { config_real(c, "full_attn_alpha_factor", 1), config_real(c, "full_attn_beta_factor", 1) },
		.recurrence = { config_real(c, "linear_attn_alpha_factor", 1), config_real(c, "linear_attn_beta_factor", 1) },
		.ffn = { config_real(c, "mlp_alpha_factor", 1), config_real(c, "mlp_beta_factor", 1) },
	};
	s->weighed = w;
}

// Layers that have something else in the place of attention, or beside it.
static void resolve_hybrid(struct config *c, struct spec *s, struct arena *a)
{
	const struct decoder_traits *t = TRAITS_OF(s, decoder);
	struct recurrence *r = resolve_recurrence(c, s, a, (enum mixer)t->mixer);
	resolve_mixers(c, s, a, (enum mixer)t->mixer, t->attention_every);
	resolve_adjusted(c, s);
	r->eps = t->mixer_eps ? 1e-5 : r->eps;
	r->decay_each = t->decay_each;
	if (t->least_step)
		r->least_step = config_real(c, "time_step_min", 0.001);
	if (t->shared_block)
		resolve_shared_blocks(c, s, a, r);
	r->gate_act = t->decay_each ? ACT_SIGMOID : r->gate_act;
	if (config_knows(c, "output_gate_type"))
		r->gate_act = config_activation(c, "output_gate_type", s->act);
	double floor = config_real(c, "kda_lower_bound", 0);
	r->decay_floor = config_bool(c, "kda_safe_gate", config_knows(c, "kda_lower_bound")) ? floor : 0;
	const json_t *apart = config_get(c, "linear_attn_config"); // Kimi Linear's older files
	const json_t *least = json_object_get(apart, "gate_lower_bound");
	if (least)
		r->decay_floor = json_is_number(least)                       ? json_number_value(least)
			: json_is_false(json_object_get(apart, "safe_gate")) ? 0
									     : -5;
	if (r->decay_floor > 0)
		config_fail(c, STATUS_BAD_INPUT, "kda_lower_bound %g is above 0", r->decay_floor);
	for (size_t i = 0; i < 3; i++) {
		static const char *const words[] = { "head_dim", "num_heads", "short_conv_kernel_size" };
		const json_t *v = json_object_get(apart, words[i]);
		int64_t n = json_integer_value(v);
		if (!v)
			continue;
		if (n < 1 || n > CONFIG_COUNT_MOST)
			config_fail(c, STATUS_BAD_INPUT, "linear_attn_config.%s %lld", words[i], (long long)n);
		else if (i == 0)
			r->channels = r->heads * n, r->state = n;
		else if (i == 1)
			r->channels = r->channels / r->heads * n, r->heads = r->groups = n;
		else
			r->kernel = n;
	}
	if (t->mixer == MIX_LIGHTNING) {
		r->block = config_size(c, "block_size", 256);
		resolve_weighed(c, s, a);
		if (r->block < 1)
			config_fail(c, STATUS_BAD_INPUT, "block_size 0");
	}
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
static void resolve_nope(struct config *c, struct spec *s, struct arena *a)
{
	if (TRAITS_OF(s, decoder)->scaled_nope) {
		static const char *const kinds[] = { "full_attention", "sliding_attention" };
		const json_t *rope = config_get(c, "rope_parameters");
		bool *nope = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
		for (int64_t i = 0; i < s->layers; i++)
			nope[i] = json_is_null(json_object_get(rope, kinds[s->sliding[i]]));
		s->nope = nope;
		return;
	}
	bool known = c->defaults && config_knows(c, "position_embedding_type");
	bool none = TRAITS_OF(s, decoder)->no_rotary || !config_bool(c, "use_mem_rope", true);
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
	if (s->chunk && !config_get(c, "layer_types")) { // Llama 4: chunks are of the layers that have positions
		bool *chunks = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
		for (int64_t i = 0; i < s->layers; i++)
			chunks[i] = !nope[i];
		s->sliding = chunks;
		return;
	}
	if (interval && !config_get(c, "layer_types")) // there the layers without rotary positions are those with the window
		s->sliding = s->sliding_window > 0 ? nope : s->sliding;
}

// Rotary bases layer by layer: those of the layers without a window are one, and those with one.
static void resolve_layer_thetas(struct config *c, struct spec *s, struct arena *a)
{
	const json_t *list = config_get(c, "layer_rope_theta");
	bool counted = TRAITS_OF(s, decoder)->window_from_last; // and then all other layers have the one base
	if (!list && !counted)
		return;
	double theta[2] = { 0, 0 };
	bool *nope = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	for (int64_t i = 0; i < s->layers; i++) {
		double t = json_number_value(json_array_get(list, (size_t)i)), *known = &theta[s->sliding[i]];
		nope[i] = list ? t == 0 : unwindowed_from_last(s, i);
		if (nope[i] || counted)
			continue;
		if (!(t > 1) || (*known > 0 && *known != t))
			config_fail(c, STATUS_UNSUPPORTED,
				"layer_rope_theta that differs among layers of one type is not supported yet");
		*known = t;
	}
	s->nope = nope;
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
	if (TRAITS_OF(s, decoder)->gated_residuals) {
		s->gate_temperature = config_real(c, "residual_gate_temperature", 0.3);
		if (!(s->gate_temperature > 0))
			config_fail(c, STATUS_BAD_INPUT, "residual_gate_temperature %g", s->gate_temperature);
	}
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
	const json_t *attention = config_knows(c, "attn_config") ? config_get(c, "attn_config") : NULL;
	const json_t *max = json_object_get(attention, "alibi_bias_max"), *scale = json_object_get(attention, "softmax_scale"),
		     *clip = json_object_get(attention, "clip_qkv");
	// Not its rope_theta, which transformers 4 took: since 5 the angles are of rope_parameters, and of 10000 without them.
	const json_t *keys = json_object_get(attention, "kv_n_heads");
	if (json_is_integer(keys) && has_word(s, "layers.moe.router")) { // dbrx
		double n = json_number_value(keys);
		s->kv_heads = n >= 1 && n <= 1 << 16 ? (int64_t)n : 0;
		if (s->kv_heads < 1 || s->heads % s->kv_heads)
			config_fail(
				c, STATUS_BAD_INPUT, "attn_config.kv_n_heads does not divide %lld heads", (long long)s->heads);
	}
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

static void resolve_causality(struct config *c, struct spec *s)
{
	const struct decoder_traits *t = TRAITS_OF(s, decoder);
	const json_t *way = config_get(c, "use_bidirectional_attention"); // "vision" is of models with pictures
	bool ahead = json_is_string(way) ? text_is(json_string_value(way), "all") : json_is_true(way);
	bool causal = config_bool(c, "is_causal", true);
	bool encodes = t->sees_ahead || (t->may_encode && !config_bool(c, "is_decoder", false));
	s->bidirectional = encodes || (t->may_be_bidirectional && ahead);
	if (!causal && !s->bidirectional) // transformers sees ahead then
		config_fail(c, STATUS_UNSUPPORTED, "is_causal: false without use_bidirectional_attention is not supported yet");
	if (encodes)
		s->sliding_window++;
	else if (s->bidirectional)
		s->sliding_window = s->sliding_window / 2 + 1 + t->window_inclusive; // half of it on each side
}

static void resolve_attention_experts(struct config *c, struct spec *s)
{
	s->attention_experts = has_word(s, "layers.attn.experts.in");
	if (s->attention_experts && (!s->moe || s->norm_eps != 1e-6)) // its layers' norms heed no rms_norm_eps
		config_fail(
			c, STATUS_UNSUPPORTED, "attention of no experts, or rms_norm_eps other than 1e-6, is not supported yet");
	if (TRAITS_OF(s, decoder)->paired && !s->moe)
		config_fail(c, STATUS_UNSUPPORTED, "layers by twos without experts are not supported yet");
	if (!config_bool(c, "enable_moe_block", true))
		s->moe = NULL;
}

// ModernBERT's head: a dense layer before the product with the vocabulary.
static void resolve_lm_dense(struct config *c, struct spec *s)
{
	s->lm_act = config_activation(c, "classifier_activation", ACT_GELU);
	s->lm_dense_bias = config_bool(c, "classifier_bias", false);
	s->traits.lm_bias |= config_bool(c, "decoder_bias", true);
}

// Stacks that go round (HRM): num_hidden_layers counts every round, or, where nothing says how many layers a stack has, those.
static void resolve_cycles(struct config *c, struct spec *s)
{
	s->cycles = config_count(c, "H_cycles", 2);
	s->low_cycles = config_count(c, "L_cycles", 3);
	s->stack_layers = config_count(c, "num_layers_per_stack", 0);
	int64_t rounds = s->cycles * (s->low_cycles + 1);
	bool counts = s->stack_layers > 0;
	s->stack_layers = counts ? s->stack_layers : s->layers;
	if (s->cycles < 1 || s->low_cycles < 1 || s->stack_layers * rounds > CONFIG_COUNT_MOST ||
		(counts && s->layers != s->stack_layers * rounds))
		config_fail(c, STATUS_BAD_INPUT, "%lld layers for %lld cycles of %lld low ones, of stacks of %lld",
			(long long)s->layers, (long long)s->cycles, (long long)s->low_cycles, (long long)s->stack_layers);
	s->layers = s->layers_in_config = s->stack_layers * rounds;
	if (config_bool(c, "attention_bias", false) || config_bool(c, "mlp_bias", false))
		config_fail(c, STATUS_UNSUPPORTED, "biases of layers in stacks that go round are not supported yet");
}

// Llama 3.2 Vision: some layers look at pictures. Of a text alone they are left out, whatever the file has of them.
static void resolve_crossing(struct config *c, struct spec *s, struct arena *a)
{
	static const int64_t usual[] = { 3, 8, 13, 18, 23, 28, 33, 38 };
	const json_t *list = config_get(c, "cross_attention_layers");
	int64_t count = list ? (int64_t)json_array_size(list) : 8;
	bool *crossing = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	const char **unread = ARENA_ARRAY(a, (size_t)s->layers + 1, const char *);
	size_t n = 0;
	for (int64_t i = 0; i < count; i++) {
		int64_t layer = list ? json_integer_value(json_array_get(list, (size_t)i)) : usual[i];
		if (layer < 0 || layer >= s->layers || crossing[layer])
			continue;
		crossing[layer] = true;
		unread[n++] = arena_printf(a, "*layers.%lld.*", (long long)layer);
	}
	s->crossing = crossing;
	if (!s->key)
		s->unused = unread;
	if (s->head_width != s->hidden_size / s->heads)
		config_fail(c, STATUS_UNSUPPORTED, "head_dim %lld for %lld heads over %lld is not supported yet",
			(long long)s->head_width, (long long)s->heads, (long long)s->hidden_size);
}

// Chameleon: pictures are words, which its language model does not say.
static void resolve_pictured_words(struct config *c, struct spec *s, struct arena *a)
{
	const json_t *map = config_get(c, "vocabulary_map");
	const char *word;
	json_t *id;
	bool *unsaid = ARENA_ARRAY(a, (size_t)s->vocab_size + 1, bool);
	if (!json_is_object(map) && (map || (s->head && s->head->predicts_next))) // the bare model can do without
		config_fail(c, STATUS_BAD_INPUT, "vocabulary_map should be an object");
	json_object_foreach((json_t *)map, word, id)
	{
		json_int_t at = json_integer_value(id);
		if (!text_starts(word, "IMGIMG"))
			continue;
		if (!json_is_integer(id) || at < 0 || at >= s->vocab_size)
			config_fail(c, STATUS_BAD_INPUT, "vocabulary_map: a word beyond vocab_size");
		else
			unsaid[at] = true;
	}
	s->unsaid = unsaid;
	TRAITS_OF(s, decoder)->reordered_norm = config_bool(c, "swin_norm", false);
}

// What few classes say of the vocabulary, of norms and of what comes out.
static void resolve_ends(struct config *c, struct spec *s)
{
	const struct decoder_traits *t = TRAITS_OF(s, decoder);
	s->stable_embedding = says(c, "use_stable_embedding");
	s->tied |= says(c, "shared_input_output_embedding");
	s->further_words = has_word(s, "embed.further") ? config_size(c, "additional_vocab_size", 128) : 0;
	s->vocab_size += s->further_words;
	s->vocab_size += t->uncounted;
	s->gives_last = t->gives_last;
	s->codebooks = has_word(s, "embed.codes") ? config_count(c, "num_codebooks", 32) : 0;
	s->output_size = t->unpredicted ? s->vocab_size - t->unpredicted : 0;
	s->project_size = has_word(s, "project.last") ? config_size(c, "embedding_dim", 0) : 0;
	s->after_eps = config_real(c, "post_norm_eps", 0);
	s->last_eps = config_real(c, "last_norm_eps", 0); // of which the layers' norms take no notice
	s->norm_eps = s->last_eps > 0 ? 1e-6 : s->norm_eps;
	if (s->traits.positions_from_pad && s->pad_token_id < 0)
		config_fail(c, STATUS_UNSUPPORTED, "positions that count from pad_token_id, which is not given");
	if (t->sinusoids && s->hidden_size % 2)
		config_fail(c, STATUS_BAD_INPUT, "sines and cosines of a position need an even width, not %lld",
			(long long)s->hidden_size);
	s->attention_scale *= config_real(c, "qk_scale_factor", 1);
	double deviation = s->cycles ? config_real(c, "initializer_range", 0.02) : 0;
	if (s->cycles && !config_get(c, "embedding_multiplier"))
		s->embedding_scale = deviation > 0 ? 1 / deviation : 0;
	if (s->vocab_size <= t->unpredicted)
		config_fail(c, STATUS_BAD_INPUT, "vocab_size %lld", (long long)s->vocab_size);
}

// Doge: which keys a token sees goes by their values.
static void resolve_dynamic_mask(struct config *c, struct spec *s)
{
	s->most_keys = config_size(c, "keep_window_size", 2048);
	if (s->most_keys < 1)
		config_fail(c, STATUS_BAD_INPUT, "keep_window_size 0");
	if (config_bool(c, "is_moe", false))
		config_fail(c, STATUS_UNSUPPORTED, "is_moe: true is not supported yet");
}

// Molmo 2: norms before or after, of query and key by head or whole, and rotary positions that are scaled in some layers.
static void resolve_molmo(struct config *c, struct spec *s)
{
	const json_t *scaled = config_get(c, "rope_scaling_layers");
	TRAITS_OF(s, decoder)->reordered_norm = config_bool(c, "norm_after", false);
	resolve_qk_norm_type(c, s);
	if (scaled && json_array_size(scaled) < (size_t)s->layers && s->rope.kind != ROPE_DEFAULT)
		config_fail(c, STATUS_UNSUPPORTED, "rotary positions that are scaled in some layers only are not supported yet");
}

// Qwen4's embeddings of several tokens together, in some layers.
static void refuse_ngrams(struct config *c)
{
	if (json_array_size(config_get(c, "ple_layer_ids")) > 0)
		config_fail(c, STATUS_UNSUPPORTED, "ple_layer_ids: embeddings of n-grams are not supported yet");
}

// What its layers hold beside attention, and what stands before and after them.
static void resolve_layers(struct config *c, struct spec *s, struct arena *a)
{
	struct decoder_traits *t = TRAITS_OF(s, decoder);

	if (has_word(s, "layers.moe.router"))
		resolve_moe(c, s, a);
	if (t->clamped_gates) {
		s->gate_limit = config_real(c, "swiglu_limit", 10);
		if (!(s->gate_limit > 0))
			config_fail(c, STATUS_UNSUPPORTED, "swiglu_limit %g is not supported yet", s->gate_limit);
	}
	if (t->clamped_ffn) {
		s->glu_alpha = config_real(c, "swiglu_alpha", 1.702);
		s->glu_limit = config_real(c, "swiglu_limit", 7);
	}
	refuse_ngrams(c);
	resolve_attention_experts(c, s);
	resolve_nope(c, s, a);
	if (has_word(s, "layers.attn.log_scale"))
		resolve_latent_sources(c, s, a);
	resolve_layer_thetas(c, s, a);
	resolve_biases(c, s);
	s->traits.out_bias |= t->out_bias_always;
	s->traits.norm_no_bias &= !says(c, "norm_bias");
	s->tied &= !t->never_tied;
	if (t->half_ffn)
		s->ffn_size /= 2;
	if (has_word(s, "head.lm.dense"))
		resolve_lm_dense(c, s);
	if (!config_bool(c, "use_attention_gate", true))
		s->traits.attention_gate = GATE_NONE;
	if (!config_bool(c, "use_sandwich_norm", true))
		t->sandwich_norm = false;
	resolve_scales(c, s);
	resolve_older(c, s, a);
	resolve_ends(c, s);
	if (config_knows(c, "vocabulary_map") && c->defaults)
		resolve_pictured_words(c, s, a);
	if (has_word(s, "layers.crossing.q"))
		resolve_crossing(c, s, a);
	if (has_word(s, "layers.attn.decay"))
		resolve_dynamic_mask(c, s);
	if (has_word(s, "embed.further"))
		resolve_molmo(c, s);
	if (t->bfloat16_scale)
		s->embedding_scale = rounded_to_bfloat16(s->embedding_scale);
}

// Keys that overrule what is usual for the type.
static void resolve_flags(struct config *c, struct spec *s, struct decoder_traits *t)
{
	s->attention_softcap = t->uncapped_scores ? 0 : s->attention_softcap;
	resolve_causality(c, s);
	if (says(c, "use_qk_norm"))
		*(s->traits.layer_norm ? &s->qk_norm_heads : &s->traits.qk_norm) = true;
	if (config_bool(c, "qk_layernorm", false))
		*(has_word(s, "layers.attn.q_norms") ? &s->qk_norm_heads : &s->traits.qk_norm) = true;
	t->sandwich_norm |= config_bool(c, "use_post_norm", false);
	bool parallel = config_bool(c, "use_parallel_residual", t->parallel || t->parallel_norms);
	t->parallel_norms &= parallel;
	t->parallel |= parallel && !t->parallel_norms;
}

void decoder_resolve(struct config *c, struct spec *s, struct arena *a)
{
	struct decoder_traits *t = TRAITS_OF(s, decoder);
	resolve_transformer(c, s, false);
	if (c->error.status)
		return;
	if (head_reads_memory(s) && !has_word(s, "layers.cross.q"))
		config_fail(c, STATUS_UNSUPPORTED, "the model type %s is not supported yet as a decoder beside an encoder",
			s->row->model_type);
	if (t->paired)
		s->layers = s->layers_in_config = 2 * s->layers;
	if (has_word(s, "state.low"))
		resolve_cycles(c, s);
	if (c->error.status)
		return;
	if (!s->ffn_size)
		s->ffn_size = 4 * s->hidden_size;
	if (!config_get(c, "layer_norm_eps") && !config_get(c, "rms_norm_eps"))
		s->norm_eps = 1e-5; // what layers have that no configuration speaks of
	if (has_word(s, "layers.attn.kv_a"))
		resolve_latent(c, s);
	if (has_word(s, "layers.attn.norm.down"))
		s->norm_rank = config_count(c, "gated_norm_rank", 16);
	if (has_word(s, "layers.attn.hyper.fn") || has_word(s, "layers.attn.hyper.down"))
		resolve_hyper(c, s, a);
	if (has_word(s, "layers.compress.kv"))
		resolve_compressed(c, s, a);
	if (has_word(s, "layers.index.q"))
		resolve_indexer(c, s, a);
	if (t->mixer)
		resolve_hybrid(c, s, a);
	resolve_window(c, s, a);
	if (c->error.status)
		return;
	resolve_own_windows(c, s, a);
	if (s->compressed)
		resolve_compressed_layers(c, s, a);
	if (has_word(s, "layers.attn.k_rope_norm"))
		resolve_window_latent(c, s);
	if (t->scaled_latents)
		scale_latents(s);
	resolve_columns(c, s);
	resolve_gemma(c, s, a);
	if (c->error.status)
		return;
	resolve_rope(c, s, a);
	if (s->compressed)
		resolve_compressed_rope(c, s);
	if (has_word(s, "layers.index.qk"))
		resolve_block_indexer(c, s, a);
	if (s->latent.key_rank) {
		s->rope.dim = s->window_rope.dim = s->rope.steps = s->window_rope.steps =
			0; // what the embedding rotates lies apart already
		resolve_latent_scale(s);
	}
	resolve_layers(c, s, a);
	resolve_flags(c, s, t);
}
