// SPDX-License-Identifier: Apache-2.0
// What config.json says of experts, in the words of several classes.
#include "arch/family/decoder.h"

#include <math.h>

// The first of these keys that the file has, else the first of which the class has a default.
static int64_t size_of(struct config *c, const char *const *keys, int64_t fallback)
{
	const char *found = NULL;
	bool in_file = false;
	for (; *keys; keys++) {
		bool given = config_given(c, *keys) != NULL;
		if (config_get(c, *keys) && (!found || (given && !in_file))) {
			found = *keys;
			in_file = given;
		}
	}
	return found ? config_size(c, found, fallback) : fallback;
}
#define SIZE(c, fallback, ...) size_of((c), (const char *const[]){ __VA_ARGS__, NULL }, (fallback))

static bool in_list(const json_t *list, int64_t n)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_integer_value(json_array_get(list, i)) == n)
			return true;
	return false;
}

// moe_layer_freq: every Nth layer from the first on, or a flag for each. All where there is none.
static bool is_due(struct config *c, const json_t *every, int64_t layers, int64_t i)
{
	const json_t *flag = json_array_get(every, (size_t)i);

	if (!every)
		return true;
	if (json_is_integer(every) && json_integer_value(every) > 0)
		return i % json_integer_value(every) == 0;
	if (json_array_size(every) != (size_t)layers || (!json_is_integer(flag) && !json_is_boolean(flag)))
		config_fail(c, STATUS_BAD_INPUT, "moe_layer_freq should be a number above 0, or a flag for each of %lld layers",
			(long long)layers);
	return json_is_true(flag) || json_integer_value(flag) != 0;
}

// Which layers have experts: by a list of words, a list of those that have none, the first with them, or every Nth.
static const bool *sparse_layers(struct config *c, struct spec *s, struct arena *a, int64_t experts)
{
	bool *sparse = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	const json_t *words = config_get(c, "mlp_layer_types"), *dense = config_get(c, "mlp_only_layers");
	const json_t *numbers = config_get(c, "moe_layers");
	int64_t step = SIZE(c, 1, "decoder_sparse_step", "moe_layer_interval", "interleave_moe_layer_step");
	int64_t first = SIZE(c, 0, "first_k_dense_replace", "moe_layer_start_index", "num_dense_layers");
	int64_t period = SIZE(c, 0, "expert_layer_period"), offset = SIZE(c, 0, "expert_layer_offset"); // jamba
	const json_t *end = config_get(c, "moe_layer_end_index"), *every = config_get(c, "moe_layer_freq");
	int64_t last = json_is_integer(end) && json_integer_value(end) >= 0 ? json_integer_value(end) : s->layers - 1;
	if (json_is_integer(end) && json_integer_value(end) < -1)
		config_fail(c, STATUS_BAD_INPUT, "moe_layer_end_index should be a layer, or -1 for the last");
	if (words && json_array_size(words) != (size_t)s->layers)
		config_fail(c, STATUS_BAD_INPUT, "mlp_layer_types should name %lld layer%s", (long long)s->layers,
			s->layers == 1 ? "" : "s");
	for (int64_t i = 0; i < s->layers; i++) {
		bool by_rule = step > 0 && (i + 1) % step == 0 && i >= first && i <= last && !in_list(dense, i) &&
			is_due(c, every, s->layers, i);
		by_rule = period ? i % period == offset && experts > 1 : by_rule;
		if (s->mixers && TRAITS_OF(s, decoder)->one_branch)
			by_rule = s->mixers[i] == MIX_EXPERTS;
		by_rule = numbers ? in_list(numbers, i) : by_rule;
		const char *word = json_string_value(json_array_get(words, (size_t)i));
		sparse[i] = words ? text_is(word, "sparse") || text_is(word, "moe") || text_is(word, "hash_moe") : by_rule;
		sparse[i] &= experts > 0; // a configuration may have none
	}
	return sparse;
}

void resolve_experts(struct config *c, struct spec *s, int64_t experts, int64_t layers)
{
	s->expert_layers = experts * layers; // neither is above 2^31
	if (s->expert_layers > EXPERT_LAYERS_MOST)
		config_fail(c, STATUS_UNSUPPORTED,
			"%lld layers of %lld experts; at most %d experts are built in all layers together", (long long)layers,
			(long long)experts, EXPERT_LAYERS_MOST);
}

static int64_t whole(struct config *c, const json_t *o, const char *key, int64_t fallback)
{
	const json_t *v = json_object_get(o, key);
	double x = json_is_null(v) || !v ? (double)fallback : json_is_number(v) ? json_number_value(v) : 0;
	if (x != floor(x) || !(x >= 1 && x <= INT32_MAX))
		config_fail(c, STATUS_BAD_INPUT, "ffn_config.%s should be a whole number", key);
	return (int64_t)fmax(fmin(x, INT32_MAX), 1);
}

// DBRX says it in an object of its own.
static void resolve_ffn_config(struct config *c, struct spec *s, struct moe *m)
{
	const json_t *o = config_get(c, "ffn_config"), *act = json_object_get(json_object_get(o, "ffn_act_fn"), "name"),
		     *power = json_object_get(o, "moe_normalize_expert_weights");
	if (!json_is_object(o))
		return;
	m->experts = whole(c, o, "moe_num_experts", 4);
	m->top_k = whole(c, o, "moe_top_k", 1);
	m->width = whole(c, o, "ffn_hidden_size", 3584);
	m->normalise = !power || !json_is_null(power);
	if (json_is_number(power) && json_number_value(power) != 1)
		config_fail(c, STATUS_UNSUPPORTED, "ffn_config.moe_normalize_expert_weights other than 1 is not supported yet");
	if (whole(c, o, "hidden_size", s->hidden_size) != s->hidden_size)
		config_fail(c, STATUS_BAD_INPUT, "ffn_config.hidden_size is not d_model");
	TRAITS_OF(s, decoder)->usual_act =
		act ? config_activation_word(c, "ffn_config", json_string_value(act) ? json_string_value(act) : "?") : ACT_SILU;
}

static void refuse_unknown(struct config *c, const struct spec *s)
{
	if (config_get(c, "prefix_dense_intermediate_size"))
		config_fail(c, STATUS_UNSUPPORTED, "prefix_dense_intermediate_size is not supported yet");
	if (config_real(c, "moe_router_logit_softcapping", 0) > 0 || config_bool(c, "moe_apply_router_weight_on_input", false))
		config_fail(c, STATUS_UNSUPPORTED,
			"router logits that are capped, or weights on an expert's input, are not supported yet");
	const json_t *heads = config_get(c, "num_attention_heads_per_layer"), *gating = config_get(c, "gating");
	for (size_t i = 0; i < json_array_size(heads); i++)
		if (json_integer_value(json_array_get(heads, i)) != s->heads)
			config_fail(
				c, STATUS_UNSUPPORTED, "numbers of heads that differ from layer to layer are not supported yet");
	if (gating && !json_is_true(gating) && !text_is(json_string_value(gating), "per-head"))
		config_fail(c, STATUS_UNSUPPORTED, "gating other than per-head is not supported yet");
}

// DeepSeek-V4: in some layers, the first where nothing says which, a table chooses; the router's scores are an activation.
static void resolve_hashed(struct config *c, const struct spec *s, struct moe *m, struct arena *a)
{
	bool *hashed = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	const json_t *words = config_get(c, "mlp_layer_types");
	int64_t first = config_size(c, "num_hash_layers", 3);
	for (int64_t i = 0; i < s->layers; i++)
		hashed[i] = words ? text_is(json_string_value(json_array_get(words, (size_t)i)), "hash_moe") : i < first;
	m->hashed = hashed;
	m->activated = true;
	m->score = config_activation(c, "scoring_func", ACT_SQRT_SOFTPLUS);
}

void resolve_moe(struct config *c, struct spec *s, struct arena *a)
{
	struct moe *m = ARENA_NEW(a, struct moe);
	struct decoder_traits *t = TRAITS_OF(s, decoder);
	m->experts = SIZE(c, 0, "num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts");
	m->top_k = SIZE(c, 1, "num_experts_per_tok", "moe_topk", "moe_k", "num_experts_per_token", "moe_top_k");
	m->width = SIZE(c, s->ffn_size, "moe_intermediate_size");
	int64_t shared = SIZE(
		c, t->one_shared_expert, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert");
	m->shared_width = SIZE(c, shared * config_size(c, "shared_width", m->width), "shared_expert_intermediate_size",
		"shared_intermediate_size");
	m->groups = config_knows(c, "n_group") ? SIZE(c, 0, "n_group") : 0;
	m->top_groups = SIZE(c, 1, "topk_group");
	m->group_of_two = !t->group_of_one;
	m->normalise = config_bool(c, "norm_topk_prob", false) || t->normalised_experts;
	resolve_ffn_config(c, s, m);
	m->latent = config_size(c, "moe_latent_size", 0);
	m->identities = config_count(c, "zero_expert_num", 0);
	m->scales_inputs = t->weighed_inputs;
	m->scale = config_real(
		c, "routed_scaling_factor", config_real(c, "router_scaling_factor", config_real(c, "route_scale", 1)));
	m->unbiased_choice = !config_bool(c, "use_expert_bias", true);
	m->logit_scale = config_real(c, "router_multiplier", 0);
	m->jitter = config_real(c, "router_jitter_noise", 0);
	m->alpha = config_real(c, "swiglu_alpha", 1.702);
	m->limit = config_real(c, "swiglu_limit", 7);
	m->least_sum = config_real(c, "moe_norm_min", 0);
	const char *by = config_text(c, "expert_selection_fn"), *with = config_text(c, "shared_expert_combination_strategy");
	if (by && text_is(by, "sigmoid"))
		t->sigmoid_router = true;
	else if (by) // a softmax over the chosen ones
		m->normalise = true;
	m->sigmoid = t->sigmoid_router;
	m->by_logits = t->choice_of_logits;
	m->sparse_mixer = t->sparse_mixer;
	m->router_bias = t->router_linear_bias;
	m->choice_bias_row = t->choice_bias_row;
	m->in_out = t->experts_in_out;
	m->clamped_swiglu = t->clamped_swiglu;
	m->clamped_silu = t->clamped_silu;
	m->halves = t->swiglu_halves;
	m->silu = t->silu_experts;
	if (has_word(s, "layers.moe.hash"))
		resolve_hashed(c, s, m, a);
	m->shared_average = with && text_is(with, "average");
	refuse_unknown(c, s);
	const char *method = config_text(c, "topk_method");
	if (method && text_is(method, "greedy"))
		m->groups = 0;
	if (c->error.status)
		return;
	s->sparse = sparse_layers(c, s, a, m->experts);
	if (m->experts < 1) {
		s->ffn_size = config_size(c, "shared_intermediate_size", s->ffn_size);
		return;
	}
	int64_t layers = 0;
	for (int64_t i = 0; i < s->layers; i++)
		layers += s->sparse[i];
	if (!layers) // what is said of experts then counts for nothing
		return;
	if (m->top_k < 1 || m->top_k > m->experts + m->identities || m->width < 1 || m->top_groups < 1 ||
		(m->groups > 1 && (m->experts % m->groups || m->top_groups > m->groups))) {
		config_fail(c, STATUS_BAD_INPUT, "%lld of %lld experts in %lld groups, each %lld wide", (long long)m->top_k,
			(long long)m->experts, (long long)m->groups, (long long)m->width);
		return;
	}
	s->moe = m;
	resolve_experts(c, s, m->experts, layers);
}
