// SPDX-License-Identifier: Apache-2.0
// What config.json says of rotary positions and of windows, in the spellings of transformers 4 (rope_theta, rope_scaling, with
// `type` or `rope_type`) and 5 (rope_parameters: one object, or one a layer type). block/rope.c computes from it.
#include "arch/spec.h"

#include <math.h>

static double number(struct config *c, const json_t *o, const char *key, double fallback)
{
	const json_t *v = json_object_get(o, key);
	if (v && !json_is_null(v) && !json_is_number(v))
		config_fail(c, STATUS_BAD_INPUT, "%s should be a number", key);
	return json_is_number(v) ? json_number_value(v) : fallback;
}

static const double *factors(struct arena *a, const json_t *list, int64_t *count)
{
	*count = (int64_t)json_array_size(list);
	double *out = ARENA_ARRAY(a, json_array_size(list) + 1, double);
	for (size_t i = 0; i < json_array_size(list); i++)
		out[i] = json_number_value(json_array_get(list, i));
	return out;
}

// One object: {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, ..}
// False, and failed, for a scaling that is not built.
static bool read_kind(struct config *c, const json_t *o, struct rope *r)
{
	static const struct {
		const char *word;
		enum rope_kind kind;
	} kinds[] = {
		{ "default", ROPE_DEFAULT },
		{ "mrope", ROPE_DEFAULT },
		{ "linear", ROPE_LINEAR },
		{ "dynamic", ROPE_DYNAMIC },
		{ "llama3", ROPE_LLAMA3 },
		{ "yarn", ROPE_YARN },
		{ "longrope", ROPE_LONGROPE },
		{ "su", ROPE_LONGROPE },
		{ "proportional", ROPE_PROPORTIONAL },
	};
	const json_t *new_name = json_object_get(o, "rope_type"), *type = new_name ? new_name : json_object_get(o, "type");
	const char *word = json_string_value(type);
	size_t k = 0;
	if (type && !word && !json_is_null(type)) {
		config_fail(c, STATUS_BAD_INPUT, "the kind of the rotary embedding is no text");
		return false;
	}
	while (word && k < sizeof kinds / sizeof kinds[0] && !text_is(kinds[k].word, word))
		k++;
	if (k == sizeof kinds / sizeof kinds[0]) {
		config_fail(c, STATUS_UNSUPPORTED, "the rotary scaling %s is not supported yet", word);
		return false;
	}
	r->kind = kinds[k].kind;
	return true;
}

static void check_parameters(struct config *c, const json_t *o)
{
	static const char *const known[] = { "rope_theta", "rope_type", "type", "factor", "low_freq_factor", "high_freq_factor",
		"beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim", "truncate",
		"original_max_position_embeddings", "partial_rotary_factor", "short_factor", "long_factor",
		"llama_4_scaling_beta", "max_position_embeddings", "finetuned", "alpha", "mrope_section", "mrope_interleaved" };
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)o, key, v)
	{
		size_t i = 0;
		while (i < sizeof known / sizeof known[0] && !text_is(known[i], key))
			i++;
		if (i == sizeof known / sizeof known[0] && !json_is_null(v))
			config_fail(c, STATUS_UNSUPPORTED, "the rotary parameter %s is not supported yet", key);
	}
}

static bool go_together(const struct rope *r, int64_t width, int64_t longs)
{
	const int64_t dim = r->dim ? r->dim : width;
	bool scales = r->kind == ROPE_DEFAULT || r->kind == ROPE_LINEAR || r->original_max_positions > 0;
	scales &= r->kind != ROPE_LLAMA3 || (r->high_freq_factor > r->low_freq_factor && r->low_freq_factor > 0);
	scales &= r->kind != ROPE_LONGROPE || (r->factor_count == dim / 2 && longs == dim / 2);
	scales &= r->kind != ROPE_DYNAMIC || dim > 2;
	return scales && r->theta > 1 && r->factor > 0 && dim >= 2 && dim % 2 == 0 && dim <= width;
}

// o: what the configuration says of it. width: of a head. heeds_partial: partial_rotary_factor means something in this class.
static void read_rope(
	struct config *c, struct spec *s, struct arena *a, const json_t *o, int64_t width, bool heeds_partial, struct rope *r)
{
	if (!read_kind(c, o, r))
		return;
	check_parameters(c, o);
	// Sections rotate by a token's time, row and column, which in a text are all its place.
	for (size_t i = 0; i < 3; i++) {
		const json_t *n = json_array_get(json_object_get(o, "mrope_section"), i);
		r->section[i] = json_is_integer(n) && json_integer_value(n) >= 0 && json_integer_value(n) <= 1 << 16
			? json_integer_value(n)
			: 0;
	}
	r->theta = number(c, o, "rope_theta", r->theta);
	double original = number(c, o, "original_max_position_embeddings", (double)s->max_positions);
	original = (double)config_size(c, "original_max_position_embeddings", (int64_t)fmin(fmax(original, 0), 1e9));
	r->original_max_positions = (int64_t)original;
	r->factor = number(c, o, "factor",
		r->kind == ROPE_YARN || r->kind == ROPE_LONGROPE ? (double)s->max_positions / fmax(original, 1) : 1);
	r->low_freq_factor = number(c, o, "low_freq_factor", 0);
	r->high_freq_factor = number(c, o, "high_freq_factor", 0);
	r->beta_fast = number(c, o, "beta_fast", 32);
	r->beta_slow = number(c, o, "beta_slow", 1);
	r->attention_factor = number(c, o, "attention_factor", (double)NAN);
	r->mscale = number(c, o, "mscale", 0);
	r->mscale_all_dim = number(c, o, "mscale_all_dim", 0);
	r->truncate = !json_is_false(json_object_get(o, "truncate"));
	if (r->kind == ROPE_DYNAMIC && number(c, o, "alpha", 0) > 0) { // a larger base, whatever the length
		r->kind = ROPE_DEFAULT;
		r->theta *= pow(number(c, o, "alpha", 1), (double)width / (double)(width - 2));
	}
	r->position_beta = number(c, o, "llama_4_scaling_beta", 0);
	double partial = number(c, o, "partial_rotary_factor", 1);
	if (r->kind == ROPE_PROPORTIONAL) { // rotates a whole head, most of it by nothing
		r->factor = number(c, o, "factor", 1);
		r->partial = partial;
	} else if (!r->dim && partial != 1 && heeds_partial) {
		int64_t odd = (int64_t)((double)width * partial);
		r->dim = odd + odd % 2; // an odd number has one pair more, at the frequencies of the odd number
		r->steps = odd % 2 ? odd : 0;
	}
	int64_t longs = 0;
	r->short_factors = factors(a, json_object_get(o, "short_factor"), &r->factor_count);
	r->long_factors = factors(a, json_object_get(o, "long_factor"), &longs);
	if (!go_together(r, width, longs))
		config_fail(c, STATUS_BAD_INPUT, "the rotary parameters do not go together");
}

// What is said of layers without a window, in the words of several classes.
static const json_t *without_window(const json_t *parameters)
{
	static const char *const words[] = { "full_attention", "indexed_attention", "hybrid", "compress" };
	const json_t *found = NULL;
	for (size_t i = 0; i < 4 && !found; i++)
		found = json_object_get(parameters, words[i]);
	return found;
}

static const json_t *with_window(const json_t *parameters)
{
	static const char *const words[] = { "sliding_attention", "hybrid_sliding", "main" };
	const json_t *found = NULL;
	for (size_t i = 0; i < 3 && !found; i++)
		found = json_object_get(parameters, words[i]);
	return found;
}

void resolve_rope(struct config *c, struct spec *s, struct arena *a)
{
	const json_t *given = config_given(c, "rope_parameters"), *theta = config_given(c, "rope_theta"),
		     *local = config_given(c, "rope_local_base_freq");
	const json_t *scaling = config_given(c, "rope_scaling"), *partial = config_get(c, "partial_rotary_factor");
	const json_t *usual = json_object_get(c->defaults, "rope_parameters");
	// transformers 5 takes one of two, and which one is the class's affair.
	if (given && json_object_size(scaling) && !json_equal(given, scaling))
		config_fail(c, STATUS_UNSUPPORTED, "rope_scaling beside other rope_parameters is not supported yet");
	const json_t *full = without_window(usual), *window = with_window(usual);
	if (!json_is_object(full))
		full = window = usual;
	const json_t *apart = config_get(c, "compress_rope_theta"); // of layers without a window, where the two are not named
	if (!given && !scaling && !apart &&
		(!theta || !text_is(json_string_value(json_object_get(full, "rope_type")), "default")))
		given = usual;
	struct rope start = { .theta = 10000, .dim = config_size(c, "rotary_dim", 0) };
	if (start.dim == s->head_width)
		start.dim = 0;
	const json_t *layers[2] = { given ? given : scaling, given ? given : scaling }, *defaults[2] = { full, window };
	if ((given || scaling) && !json_is_object(layers[0])) {
		config_fail(c, STATUS_BAD_INPUT, "rope_parameters should be an object");
		return;
	}
	if (json_is_object(without_window(layers[0])) || json_is_object(with_window(layers[0]))) {
		layers[1] = with_window(layers[0]);
		layers[0] = without_window(layers[0]);
		apart = NULL;
	} else if (full != window)
		layers[1] = NULL; // one scaling where the class has two is that of the layers without a window
	struct rope *out[2] = { &s->rope, &s->window_rope };
	for (int i = 0; i < 2; i++) {
		*out[i] = start;
		// transformers 5 completes what is there: rope_theta beside, then the class's own.
		json_t *o = layers[i] ? json_deep_copy(layers[i]) : json_object();
		const json_t *beside = i == 1 && full != window && local ? local : theta;
		const json_t *own = json_object_get(defaults[i], "rope_theta"),
			     *part = partial ? partial : json_object_get(defaults[i], "partial_rotary_factor");
		if (i == 0 && apart) {
			json_object_set(o, "rope_theta", (json_t *)apart);
			if (!json_object_get(o, "attention_factor"))
				json_object_set_new(o, "attention_factor", json_integer(1));
		}
		if (!json_object_get(o, "rope_theta") && (beside || own))
			json_object_set(o, "rope_theta", (json_t *)(beside ? beside : own));
		if (!json_object_get(o, "partial_rotary_factor") && part)
			json_object_set(o, "partial_rotary_factor", (json_t *)part);
		// A class whose own parameters do not speak of it does not look at it.
		read_rope(c, s, a, o, i && s->window_heads.width ? s->window_heads.width : s->head_width,
			!defaults[i] || json_object_get(defaults[i], "partial_rotary_factor"), out[i]);
		json_decref(o);
	}
}

// Which layers see a window only: a list, or a rule: all, or all from one on, or all but every Nth (the first for -N).
void resolve_window(struct config *c, struct spec *s, struct arena *a)
{
	const json_t *types = config_get(c, "layer_types");
	types = config_knows(c, "layer_types") ? types : NULL; // others do not look at it
	bool switched = !config_knows(c, "use_sliding_window") || config_bool(c, "use_sliding_window", true);
	const json_t *rule = config_get(c, "sliding_window_pattern"); // a number, or a word like "LLLG" whose length it is
	int64_t from = config_size(c, "max_window_layers", 0);
	int64_t pattern = json_is_string(rule) ? (int64_t)json_string_length(rule)
		: rule                         ? config_size(c, "sliding_window_pattern", 0)
					       : s->traits.window_pattern;
	int64_t window = config_size(c, "sliding_window", 0);
	bool slides = false; // a layer, if there is a window
	s->chunk = config_size(c, "attention_chunk_size", 0);
	s->sliding_window = switched ? window : 0;
	if (s->chunk)
		s->sliding_window = s->chunk;
	bool *sliding = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	s->sliding = sliding;
	if (types && (!json_is_array(types) || json_array_size(types) != (size_t)s->layers)) {
		config_fail(c, STATUS_BAD_INPUT, "layer_types should name %lld layers", (long long)s->layers);
		return;
	}
	for (int64_t i = 0; i < s->layers; i++) {
		const char *word = json_string_value(json_array_get(types, (size_t)i));
		bool indexed = s->indexer && text_is(word, "indexed_attention");
		bool chunked = s->chunk > 0 && text_is(word, "chunked_attention");
		if (types && !s->mixers && !s->compressed && !chunked && !indexed && !text_is(word, "sliding_attention") &&
			!text_is(word, "full_attention"))
			config_fail(c, STATUS_UNSUPPORTED, "layers of type %s are not supported yet", word ? word : "?");
		bool within = s->traits.window_until ? i < from : i >= from;
		bool by_rule = within && (pattern > 0 ? (i + 1) % pattern != 0 : pattern == 0 || i % -pattern != 0);
		slides |= types ? text_is(word, "sliding_attention") : by_rule;
		sliding[i] = s->sliding_window > 0 && (types ? text_is(word, "sliding_attention") || chunked : by_rule);
	}
	if (slides && types && !switched)
		config_fail(c, STATUS_UNSUPPORTED, "sliding layers beside use_sliding_window: false are not supported yet");
	if (slides && switched && !s->sliding_window) // beside layers that all see everything, 0 is what some classes write
		resolve_window_size(c);
}
