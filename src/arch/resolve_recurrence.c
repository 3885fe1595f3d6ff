// SPDX-License-Identifier: Apache-2.0
// What config.json says of recurrences and short convolutions, and which of a decoder's layers have them in the place of
// attention, in the words of several classes.
#include <math.h>
#include <string.h>

#include "arch/spec.h"

// [least, most]; infinity is written {"__float__": "Infinity"}, or as the word
static double limit_of(const json_t *limits, size_t i, double otherwise)
{
	const json_t *x = json_array_get(limits, i);

	return json_is_number(x) ? json_number_value(x) : otherwise;
}

struct recurrence *resolve_recurrence(struct config *c, struct spec *s, struct arena *a, enum mixer kind)
{
	struct recurrence *r = ARENA_NEW(a, struct recurrence);
	bool bias = config_bool(c, "mixer_bias", false), headed = kind == MIX_MAMBA2 || kind == MIX_DELTA;

	s->recurrence = r;
	*r = (struct recurrence){ .kernel = config_count(c, "conv_kernel", 4),
		.conv_bias = config_bool(c, "use_conv_bias", kind == MIX_MAMBA || kind == MIX_MAMBA2),
		.in_bias = bias,
		.out_bias = config_bool(c, "mixer_out_bias", bias),
		.act = config_activation(c, "mixer_act", s->act),
		.gate_act = ACT_SILU,
		.eps = s->norm_eps,
		.channels = s->hidden_size,
		.state = 1,
		.heads = 1,
		.groups = 1,
		.rank = 1 };
	if (kind == MIX_MAMBA || kind == MIX_MAMBA2)
		r->state = config_count(c, "state_size", -1);
	if (kind == MIX_MAMBA) {
		const json_t *rank = config_get(c, "time_step_rank");

		r->rank = json_is_integer(rank) ? json_integer_value(rank) : (s->hidden_size + 15) / 16; // "auto"
		r->channels = config_count(c, "expand", 2) * s->hidden_size;
		r->heads = config_count(c, "selecting_heads", 1);
	}
	if (headed) {
		const json_t *width = config_get(c, "mixer_head_dim");

		r->heads = config_size(c, "mixer_heads", kind == MIX_DELTA ? s->heads : -1);
		r->groups = config_count(c, "n_groups", kind == MIX_DELTA ? s->heads : 1);
		if (kind == MIX_MAMBA2) {
			int64_t expanded = config_count(c, "expand", 2) * s->hidden_size;
			bool by_heads = config_get(c, "mixer_by_heads") && json_is_integer(width);
			r->channels = config_size(c, "mixer_width", by_heads ? r->heads * json_integer_value(width) : expanded);
		} else {
			r->state = config_count(c, "state_size", 3 * s->hidden_size / 4 / (r->groups > 0 ? r->groups : 1));
			r->channels = r->heads * config_count(c, "mixer_head_dim", 2 * r->state);
			r->beta_doubled = config_bool(c, "linear_allow_neg_eigval", false);
		}
		if (json_is_integer(width) && json_integer_value(width) * r->heads != r->channels)
			config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld are not %lld channels", (long long)r->heads,
				(long long)json_integer_value(width), (long long)r->channels);
	}
	if (kind == MIX_RGLRU) {
		r->heads = s->heads;
		r->channels = config_size(c, "lru_width", s->hidden_size);
	}
	if (kind == MIX_MAMBA2) {
		const json_t *limits = config_get(c, "time_step_limit");

		r->least_step = limit_of(limits, 0, 0);
		r->most_step = limit_of(limits, 1, (double)INFINITY);
	}
	if (!c->error.status &&
		(r->kernel < 1 || r->state < 1 || r->rank < 1 || r->rank > INT32_MAX || r->channels < 1 || r->heads < 1 ||
			r->groups < 1 || r->heads % r->groups || r->channels % r->heads))
		config_fail(c, STATUS_BAD_INPUT,
			"a recurrence of %lld channels in %lld heads and %lld groups, with states of %lld, a convolution "
			"over %lld and time steps of rank %lld",
			(long long)r->channels, (long long)r->heads, (long long)r->groups, (long long)r->state,
			(long long)r->kernel, (long long)r->rank);
	return r;
}

static bool in_list(const json_t *list, int64_t n)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_integer_value(json_array_get(list, i)) == n)
			return true;
	return false;
}

static bool is_attention(const char *word)
{
	return text_is(word, "full_attention") || text_is(word, "sliding_attention") || text_is(word, "attention") ||
		text_is(word, "indexed_attention");
}

static bool is_recurrence(const char *word)
{
	return text_is(word, "linear_attention") || text_is(word, "hybrid") || text_is(word, "recurrent") ||
		text_is(word, "conv") || text_is(word, "mamba");
}

// The words or letters that a class lists its layers by (Nemotron-H); what config.json says comes before the class's default.
static const json_t *listed(struct config *c)
{
	const json_t *words = config_given(c, "listed_layers"), *letters = config_given(c, "layer_letters");
	return words ? words : letters ? letters : config_get(c, "listed_layers");
}

int64_t resolve_listed_layers(struct config *c)
{
	const json_t *list = listed(c);
	size_t n = json_is_string(list) ? json_string_length(list) : json_array_size(list);
	if (n > CONFIG_COUNT_MOST)
		config_fail(c, STATUS_UNSUPPORTED, "%zu layers; at most %d are built", n, CONFIG_COUNT_MOST);
	return (int64_t)n;
}

static enum mixer of_letter(char letter, enum mixer kind)
{
	return letter == 'M' ? kind : letter == '*' ? MIX_ATTENTION : letter == 'E' ? MIX_EXPERTS : MIX_NONE;
}

// Which layers have attention: by words, by a list of numbers, or one in so many.
void resolve_mixers(struct config *c, struct spec *s, struct arena *a, enum mixer kind, int64_t usual)
{
	enum mixer *mixers = ARENA_ARRAY(a, (size_t)s->layers + 1, enum mixer);
	const json_t *list = listed(c),
		     *words = json_is_array(list) ? list
		: config_knows(c, "layer_types")  ? config_get(c, "layer_types")
						  : NULL;
	const char *letters = json_string_value(list);
	const json_t *cycle = config_get(c, "block_types"); // RecurrentGemma repeats it
	words = cycle ? cycle : words;
	const json_t *numbers = config_get(c, "attn_layer_indices"), *apart = config_get(c, "linear_attn_config");
	const json_t *from_one = json_object_get(apart, "full_attn_layers"); // Kimi Linear counts from 1
	int64_t period = config_size(c, "attn_layer_period", 0),
		every = config_size(c, "full_attention_interval", usual < 0 ? -usual : usual);
	int64_t offset = config_size(c, "attn_layer_offset", every > 0 && usual >= 0 ? every - 1 : 0);

	period = period ? period : every;
	if (words && !cycle && json_array_size(words) != (size_t)s->layers)
		config_fail(c, STATUS_BAD_INPUT, "layer_types should name %lld layer%s", (long long)s->layers,
			s->layers == 1 ? "" : "s");
	if (period && !(offset >= 0 && offset < period))
		config_fail(c, STATUS_BAD_INPUT, "no layer is the %lldth of %lld", (long long)offset, (long long)period);
	for (int64_t i = 0; i < s->layers && !c->error.status; i++) {
		size_t at = cycle && json_array_size(words) ? (size_t)i % json_array_size(words) : (size_t)i;
		const char *word = json_string_value(json_array_get(words, at));
		bool first = usual < 0 && i == 0; // not the first for -N
		bool attends = !words && from_one ? in_list(from_one, i + 1)
			: words                   ? is_attention(word)
			: numbers                 ? in_list(numbers, i)
						  : period && i % period == offset && !first;

		bool alone = words && list && (text_is(word, "mlp") || text_is(word, "moe"));
		mixers[i] = letters ? of_letter(letters[i], kind)
			: alone     ? text_is(word, "moe") ? MIX_EXPERTS : MIX_NONE
			: attends   ? MIX_ATTENTION
				    : kind;
		if (letters && !strchr("M*E-", letters[i]))
			config_fail(c, STATUS_UNSUPPORTED, "layers of type %c are not supported yet", letters[i]);
		if (words && !attends && !alone && !is_recurrence(word))
			config_fail(c, STATUS_UNSUPPORTED, "layers of type %s are not supported yet", word ? word : "?");
	}
	s->mixers = mixers;
}

void recurrence_sizes(const struct spec *s, json_t *out)
{
	const struct recurrence *r = s->recurrence;
	const struct {
		const char *name;
		int64_t n, usual; // what it is where it means nothing
	} rows[] = {
		{ "state_size", r ? r->state : 1, 1 },
		{ "conv_kernel", r ? r->kernel : 0, 0 },
		{ "time_step_rank", r ? r->rank : 1, 1 },
		{ "groups", r ? r->groups : 1, 1 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].n != rows[i].usual)
			json_object_set_new(out, rows[i].name, json_integer(rows[i].n));
}
