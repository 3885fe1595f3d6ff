// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "checkpoint/adapter.h"

#include <ctype.h>
#include <math.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/computing.h"
#include "checkpoint/inside.h"
#include "hub/hub.h"

enum { CONFIG_LIMIT = 1 << 20, RANK_MOST = 1 << 14, PIECE = 256 };
// Each module of the adapter is looked for in each list of its configuration: 800 modules that a diffusion model names one by one
// are 640,000 of these.
enum { LOOKS_MOST = 1 << 22 };
enum { EXPRESSION_MOST = 4096, MATCH_LIMIT = 10000, HEAP_KIB = 1024 }; // bytes of one, steps of PCRE2 for a name
enum { EXPRESSIONS_MS = 500 }; // of the processor, for all names: a step may go over the whole name

#define PREFIX "base_model.model."

bool adapter_is(const char *folder)
{
	struct arena passing = { 0 };
	const char *const *names;
	size_t count;
	bool found = file_exists(arena_printf(&passing, "%s/adapter_config.json", folder));

	if (found)
		checkpoint_files(folder, &passing, &names, &count);
	found = found && !count;
	arena_done(&passing);
	return found;
}

const char *adapter_file(const char *folder)
{
	struct arena passing = { 0 };
	bool pickled = !file_exists(arena_printf(&passing, "%s/adapter_model.safetensors", folder)) &&
		file_exists(arena_printf(&passing, "%s/adapter_model.bin", folder));

	arena_done(&passing);
	return pickled ? "adapter_model.bin" : "adapter_model.safetensors";
}

static enum status read_config(json_t **out, struct arena *a, const char *folder, struct error *err)
{
	const char *path = arena_printf(a, "%s/adapter_config.json", folder);
	enum status s = json_file(path, CONFIG_LIMIT, out, err);

	return s || json_is_object(*out) ? s : error_set(err, STATUS_BAD_INPUT, "%s: not a JSON object", path);
}

enum status adapter_base(const char **base, struct arena *a, const char *folder, struct error *err)
{
	json_t *config = NULL;
	struct hub_model found;
	enum status s = read_config(&config, a, folder, err);
	const char *name = arena_strdup(a, json_string_value(json_object_get(config, "base_model_name_or_path")));

	json_decref(config);
	if (s)
		return s;
	if (!name || !*name)
		return error_set(err, STATUS_BAD_INPUT, "%s/adapter_config.json: names no base_model_name_or_path", folder);
	if ((s = hub_find(&found, a, name, err)))
		return error_prefix(err, "%s: an adapter (adapter_config.json), whose base model is not here", folder);
	if (found.kind != HUB_FOLDER && found.kind != HUB_CACHED)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: an adapter (adapter_config.json), and the weights of its base model %s are not here; `assay fetch "
			"%s` "
			"brings them",
			folder, name, name);
	if (adapter_is(found.path))
		return error_set(err, STATUS_UNSUPPORTED, "%s: its base model %s is an adapter itself", folder, name);
	*base = found.path;
	return STATUS_OK;
}

// ---- one weight ---------------------------------------------------------------------------------------------------------

// a [r, columns], b [rows, r], as the weight lies; for `turned` a [r, rows], b [columns, r]
struct low_rank {
	const struct weight *base, *a, *b;
	int64_t rank;
	bool turned;
	float scale;
};

// Elements [column, column + count) of a row of B A, at most PIECE.
static void product(const struct low_rank *l, const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct weight *across = l->turned ? l->b : l->a, *down = l->turned ? l->a : l->b;
	float x[PIECE];

	memset(out, 0, count * sizeof *out);
	for (int64_t r = 0; r < l->rank; r++) {
		const float factor = number_at(down, (uint64_t)(l->turned ? r * k->rows + row : row * l->rank + r));

		if (!l->turned)
			weight_numbers(across, (uint64_t)(r * k->length + column), count, x);
		for (size_t i = 0; i < count; i++)
			out[i] +=
				factor * (l->turned ? number_at(across, (uint64_t)((column + (int64_t)i) * l->rank + r)) : x[i]);
	}
}

static void read_low_rank(const struct computed *k, int64_t row, int64_t column, size_t count, float *out)
{
	const struct low_rank *l = k->own;
	float change[PIECE];

	weight_numbers(l->base, (uint64_t)(row * k->length + column), count, out);
	for (size_t done = 0, n; done < count; done += n) {
		n = count - done < PIECE ? count - done : PIECE;
		product(l, k, row, column + (int64_t)done, n, change);
		for (size_t i = 0; i < n; i++)
			out[done + i] += change[i] * l->scale;
	}
}

// ---- the adapter --------------------------------------------------------------------------------------------------------

struct adapter {
	struct computing k; // of the base
	const json_t *config;
	const struct weight *tensors; // the adapter's, by name
	size_t count;
	int64_t rank, ranks[2]; // of adapter_config.json; the smallest and largest that were merged
	double alpha;
	size_t merged, replaced;
	double *expressions_ms; // so far
};

// Does the key hold nothing?
static bool is_idle(const json_t *v)
{
	return !v || json_is_null(v) || json_is_false(v) || (json_is_array(v) && !json_array_size(v)) ||
		(json_is_object(v) && !json_object_size(v));
}

// What peft 0.21 writes of LoRA besides `keys` below, and what older releases wrote.
static bool is_known(const char *key)
{
	static const char *const known[] = { "alpha_pattern", "auto_mapping", "base_model_name_or_path", "bias",
		"ensure_weight_tying", "eva_config", "exclude_modules", "fan_in_fan_out", "inference_mode", "init_lora_weights",
		"layers_pattern", "layers_to_transform", "loftq_config", "lora_alpha", "lora_dropout", "megatron_config",
		"megatron_core", "merge_weights", "modules_to_save", "peft_type", "peft_version", "qalora_group_size", "r",
		"rank_pattern", "revision", "runtime_config", "target_modules", "task_type", "use_rslora" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (text_is(known[i], key))
			return true;
	return false;
}

// How much a list of names, or the keys of a pattern, take to be held against one module.
static size_t looks_of(const json_t *list)
{
	enum { BYTES_A_LOOK = 64 };
	const char *key;
	json_t *v;
	size_t i, looks = 0;

	json_array_foreach((json_t *)(uintptr_t)list, i, v) looks += 1 + json_string_length(v) / BYTES_A_LOOK;
	json_object_foreach((json_t *)(uintptr_t)list, key, v) looks += 1 + strlen(key) / BYTES_A_LOOK;
	return looks;
}

// Keys that change what the tensors mean, or what is computed beside them; what they hold where they do nothing.
static enum status check_config(const struct adapter *d, struct error *err)
{
	static const char *const keys[] = { "use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication",
		"alora_invocation_tokens", "trainable_token_indices", "target_parameters", "arrow_config", "lora_ga_config",
		"corda_config", "kasa_config", "monteclora_config" };
	static const char *const lists[] = { "target_modules", "exclude_modules", "layers_to_transform", "rank_pattern",
		"alpha_pattern" };
	const char *type = json_string_value(json_object_get(d->config, "peft_type"));
	const json_t *init = json_object_get(d->config, "init_lora_weights");
	const char *key;
	json_t *value;

	if (!text_is(type, "LORA"))
		return error_set(err, STATUS_UNSUPPORTED, "%s: adapters of peft_type \"%.60s\" are not read yet; LORA is",
			d->k.file, type ? type : "(none)");
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const json_t *v = json_object_get(d->config, lists[i]);
		const size_t n = json_array_size(v) + json_object_size(v);

		if (looks_of(v) > LOOKS_MOST / (d->count + 1))
			return error_set(err, STATUS_BAD_INPUT,
				"%s: \"%s\" has %zu entries for %zu tensors: no adapter has as many, or as long ones", d->k.file,
				lists[i], n, d->count);
	}
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!is_idle(json_object_get(d->config, keys[i])))
			return error_set(
				err, STATUS_UNSUPPORTED, "%s: adapters with \"%s\" are not read yet", d->k.file, keys[i]);
	json_object_foreach((json_t *)(uintptr_t)d->config, key, value)
	{
		if (!is_idle(value) && !is_known(key))
			return error_set(err, STATUS_UNSUPPORTED,
				"%s: assay does not know \"%.60s\", so it cannot merge what that changes", d->k.file, key);
	}
	const json_t *revision = json_object_get(d->config, "revision");
	if (!is_idle(revision) && !text_is(json_string_value(revision), "main"))
		return error_set(
			err, STATUS_UNSUPPORTED, "%s: adapters of a \"revision\" of their base are not read yet", d->k.file);
	if (json_is_string(init) && !text_is(json_string_value(init), "gaussian"))
		return error_set(err, STATUS_UNSUPPORTED,
			"%s: adapters with init_lora_weights \"%.60s\" are not read yet: their base is changed when they are "
			"made",
			d->k.file, json_string_value(init));
	return STATUS_OK;
}

// Does the module's name end with `word`, whole words? Nothing ends with an empty one.
static bool ends_with(const char *module, const char *word)
{
	const size_t n = word ? strlen(word) : 0, m = strlen(module);

	return n && text_ends(module, word) && (n == m || module[m - n - 1] == '.');
}

static bool is_expression(const char *word)
{
	return strpbrk(word, "\\^$*+?()[]{}|") != NULL;
}

// The same of a key of a pattern, which is an expression to peft: a dot in it is any character.
static bool ends_like(const char *module, const char *key)
{
	const size_t n = strlen(key), m = strlen(module);
	const char *end = n <= m ? module + m - n : NULL;

	for (size_t i = 0; end && i < n; i++)
		if (key[i] != '.' && key[i] != end[i])
			return false;
	return n && end && (end == module || end[-1] == '.');
}

// The value of a pattern's key that this module ends with, whole words; NULL: none. Other expressions are refused.
static enum status pattern_value(
	const struct adapter *d, const char *name, const char *module, const json_t **out, struct error *err)
{
	const json_t *patterns = json_object_get(d->config, name);
	const char *key;
	json_t *v;

	*out = NULL;
	json_object_foreach((json_t *)(uintptr_t)patterns, key, v)
	{
		if (is_expression(key))
			return error_set(err, STATUS_UNSUPPORTED, "%s: \"%s\" with the expression \"%.60s\" is not read yet",
				d->k.file, name, key);
		if (!*out && ends_like(module, key))
			*out = v;
	}
	return STATUS_OK;
}

// alpha / r of a module whose matrices have this rank.
static enum status scale_of(struct adapter *d, const char *module, int64_t rank, float *out, struct error *err)
{
	const json_t *of_rank, *of_alpha;
	enum status s = pattern_value(d, "rank_pattern", module, &of_rank, err);

	if (s || (s = pattern_value(d, "alpha_pattern", module, &of_alpha, err)))
		return s;
	if ((of_rank && !json_is_integer(of_rank)) || (of_alpha && !json_is_number(of_alpha)))
		return error_set(
			err, STATUS_BAD_INPUT, "%s: rank_pattern or alpha_pattern of %.200s is no number", d->k.file, module);
	const int64_t wanted = of_rank ? (int64_t)json_integer_value(of_rank) : d->rank;
	const double alpha = of_alpha ? json_number_value(of_alpha) : d->alpha;

	if (wanted != rank || rank < 1 || rank > RANK_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: %.200s has matrices of rank %lld, and the configuration says %lld",
			d->k.file, module, (long long)rank, (long long)wanted);
	const json_t *stable = json_object_get(d->config, "use_rslora");
	if (stable && !json_is_null(stable) && !json_is_boolean(stable))
		return error_set(err, STATUS_BAD_INPUT, "%s: \"use_rslora\" is no boolean", d->k.file);
	*out = (float)(alpha / (json_is_true(stable) ? sqrt((double)rank) : (double)rank));
	d->ranks[0] = d->ranks[0] && d->ranks[0] < rank ? d->ranks[0] : rank;
	d->ranks[1] = d->ranks[1] > rank ? d->ranks[1] : rank;
	return STATUS_OK;
}

static const struct weight *adapter_tensor(const struct adapter *d, const char *module, const char *end)
{
	const char *name = arena_printf(&d->k.c->arena, PREFIX "%s%s", module, end);

	for (size_t low = 0, high = d->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(name, d->tensors[middle].name);

		if (!order)
			return &d->tensors[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

// Does the module's name begin with what transformers' classes call the model without its head? Those that have no common word
// call it as the type is called.
static bool has_own_prefix(const struct adapter *d, const char *module)
{
	static const char *const common[] = { "model", "transformer", "decoder", "base_model" };
	const char *type = json_string_value(json_object_get(d->k.c->config, "model_type"));
	const size_t n = strcspn(module, ".");
	bool found = type && strlen(type) == n && !strncmp(type, module, n);

	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		found = found || (strlen(common[i]) == n && !strncmp(common[i], module, n));
	return found && module[n] == '.';
}

// The base's tensor; files of a model without its head leave that prefix out.
static const struct weight *base_named(const struct adapter *d, const char *module, const char *end)
{
	const struct weight *w = computing_find(&d->k, module, end);

	return w || !has_own_prefix(d, module) ? w : computing_find(&d->k, strchr(module, '.') + 1, end);
}

// Does an expression mean to Python what it means to PCRE2? Groups with names or options, classes by names, references, and what
// one of the two has alone are not taken.
static bool is_common(const char *expression)
{
	static const char *const groups[] = { "(?:", "(?=", "(?!", "(?<=", "(?<!" };

	for (const char *at = expression; *at; at++) {
		bool is_known = *at != '(' || (at[1] != '?' && at[1] != '*');
		for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
			is_known = is_known || text_starts(at, groups[i]);
		if (!is_known || text_starts(at, "{,") || (*at == '[' && at[1] && strchr(":.=[", at[1])))
			return false;
		if (*at == '\\' && (!*++at || (isalnum((unsigned char)*at) && !strchr("dwsDWSbB", *at))))
			return false;
	}
	return true;
}

// Python's re.fullmatch of a module's name.
static enum status full_match(
	const struct adapter *d, const char *key, const char *expression, const char *module, bool *out, struct error *err)
{
	const double begin = clock_thread_ms();
	int code, found = 0;
	if (!is_common(expression))
		return error_set(err, STATUS_UNSUPPORTED, "%s: \"%s\" with the expression \"%.60s\" is not read yet", d->k.file,
			key, expression);
	size_t where;
	pcre2_code *c = strlen(expression) > EXPRESSION_MOST
		? NULL
		: pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED,
			  PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C, &code, &where,
			  NULL);
	pcre2_match_data *data = c ? pcre2_match_data_create(1, NULL) : NULL;
	pcre2_match_context *limits = c ? pcre2_match_context_create(NULL) : NULL;

	if (data && limits) {
		pcre2_set_match_limit(limits, MATCH_LIMIT);
		pcre2_set_heap_limit(limits, HEAP_KIB);
		found = pcre2_match(c, (PCRE2_SPTR)module, strlen(module), 0, 0, data, limits);
	}
	*d->expressions_ms += clock_thread_ms() - begin;
	bool done = data && limits && (found >= 0 || found == PCRE2_ERROR_NOMATCH) && *d->expressions_ms <= EXPRESSIONS_MS;
	pcre2_match_context_free(limits);
	pcre2_match_data_free(data);
	pcre2_code_free(c);
	*out = found >= 0;
	return done ? STATUS_OK
		    : error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": the expression \"%.60s\" %s", d->k.file, key, expression,
			      c ? "takes too long" : "is not valid");
}

// Modules that peft's "all-linear" leaves out beside embeddings: the head, of a model that makes text or chooses a class.
static bool is_head(const char *module)
{
	static const char *const heads[] = { "lm_head", "embed_out", "score", "classifier" };
	bool found = false;

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		found = found || ends_with(module, heads[i]);
	return found;
}

// peft's rule of target_modules and exclude_modules: a list's word is the module's name or ends it, whole words; a text is an
// expression that the name is all of, but for "all-linear". *exactly: a word is the name.
static enum status names_module(
	const struct adapter *d, const char *key, const char *module, bool *out, bool *exactly, struct error *err)
{
	const json_t *names = json_object_get(d->config, key), *v;
	const char *text = json_string_value(names);
	size_t i;

	*out = *exactly = false;
	if (text && !strcasecmp(text, "all-linear") && text_is(key, "target_modules")) {
		*out = !is_head(module);
		return STATUS_OK;
	}
	if (text)
		return full_match(d, key, text, module, out, err);
	if (!json_is_array(names))
		return error_set(
			err, STATUS_BAD_INPUT, "%s: \"%s\" is neither a list of names nor an expression", d->k.file, key);
	json_array_foreach((json_t *)(uintptr_t)names, i, v)
	{
		const char *word = json_string_value(v);

		if (!word)
			return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\" names something that is no text", d->k.file, key);
		*out = *out || ends_with(module, word);
		*exactly = *exactly || text_is(word, module);
	}
	return STATUS_OK;
}

// Which of several numbers of a name is its layer's: "encoder.block.0.layer.1.k" has two. peft takes the last before release
// 0.20, the first from there on.
enum of_numbers { NUMBER_FIRST, NUMBER_LAST };

// The number of the layer that a module is in, by peft's rule: a number of its name behind `pattern`, whole words, or, where that
// is NULL, behind two names; -1: none. Before 0.21 the name must not begin with the pattern; NUMBER_LAST keeps to that.
static int64_t layer_of(const char *module, const char *pattern, enum of_numbers which)
{
	const size_t word = pattern ? strlen(pattern) : 0;
	const char *first = strchr(module, '.');
	int64_t layer = -1;

	for (const char *dot = first; dot; dot = strchr(dot + 1, '.')) {
		const size_t digits = strspn(dot + 1, "0123456789"), before = (size_t)(dot - module);
		const bool ends = word && before >= word && !strncmp(dot - word, pattern, word), begins = ends && before == word;

		if (!digits || digits >= 10 || dot[1 + digits] != '.' ||
			!(pattern ? begins || (ends && dot[-(ptrdiff_t)word - 1] == '.') : dot != first) ||
			(begins && which == NUMBER_LAST))
			continue;
		layer = strtoll(dot + 1, NULL, 10);
		if (which == NUMBER_FIRST)
			break;
	}
	return layer;
}

// The same by layers_pattern: a word or a list of words.
static enum status layer_by_pattern(
	const struct adapter *d, const char *module, enum of_numbers which, int64_t *out, struct error *err)
{
	enum { PATTERNS_MOST = 64 };
	const json_t *patterns = json_object_get(d->config, "layers_pattern");
	const bool is_list = json_is_array(patterns);
	const size_t count = is_list ? json_array_size(patterns) : json_is_string(patterns) && json_string_length(patterns);

	if (count > PATTERNS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "%s: \"layers_pattern\" of more than %d words", d->k.file, PATTERNS_MOST);
	*out = count ? -1 : layer_of(module, NULL, which);
	for (size_t i = 0; i < count && *out < 0; i++) {
		const char *word = json_string_value(is_list ? json_array_get(patterns, i) : patterns);

		if (!word || is_expression(word))
			return error_set(err, STATUS_UNSUPPORTED, "%s: \"layers_pattern\" that is no plain word is not read yet",
				d->k.file);
		*out = layer_of(module, word, which);
	}
	return STATUS_OK;
}

// Is the module in one of layers_to_transform, a number or a list of them, by one of the two rules?
static enum status is_in_layer_by(
	const struct adapter *d, const char *module, enum of_numbers which, bool *out, struct error *err)
{
	const json_t *layers = json_object_get(d->config, "layers_to_transform");
	const bool is_list = json_is_array(layers);
	const size_t count = is_list ? json_array_size(layers) : 1;
	int64_t layer;
	enum status s = layer_by_pattern(d, module, which, &layer, err);

	*out = false;
	for (size_t i = 0; i < count && !s; i++) {
		const json_t *v = is_list ? json_array_get(layers, i) : layers;

		if (!json_is_integer(v))
			s = error_set(err, STATUS_BAD_INPUT, "%s: \"layers_to_transform\" is no number of a layer", d->k.file);
		*out = *out || (layer >= 0 && json_integer_value(v) == layer);
	}
	return s;
}

// Where there are no layers_to_transform, each module is in one. Where peft's releases disagree, what the adapter computes
// depends on which of them reads it: nothing can be held against that.
static enum status is_in_layer(const struct adapter *d, const char *module, bool *out, struct error *err)
{
	const json_t *layers = json_object_get(d->config, "layers_to_transform");
	bool before = true;
	enum status s;

	*out = !layers || json_is_null(layers) || (json_is_array(layers) && !json_array_size(layers));
	if (*out)
		return STATUS_OK;
	if ((s = is_in_layer_by(d, module, NUMBER_FIRST, out, err)) || (s = is_in_layer_by(d, module, NUMBER_LAST, &before, err)))
		return s;
	return before == *out
		? STATUS_OK
		: error_set(err, STATUS_UNSUPPORTED,
			  "%s: whether \"layers_to_transform\" has %.200s depends on peft's release: the last number of "
			  "a name is its layer before 0.20, the first from there on",
			  d->k.file, module);
}

// peft passes over matrices of modules that its configuration leaves out; a file that has them is contradictory.
static enum status check_module(const struct adapter *d, const char *module, struct error *err)
{
	const json_t *targets = json_object_get(d->config, "target_modules"),
		     *excluded = json_object_get(d->config, "exclude_modules");
	bool fits = false, in_layer = true, is_excluded = false, exactly, passing;
	enum status s;

	if (!targets || json_is_null(targets))
		return error_set(err, STATUS_UNSUPPORTED,
			"%s: adapters without \"target_modules\" are not read yet: peft chooses them by the model's type",
			d->k.file);
	s = names_module(d, "target_modules", module, &fits, &exactly, err);
	if (!s && fits && !exactly)
		s = is_in_layer(d, module, &in_layer, err);
	if (!s && !in_layer && json_is_string(targets))
		s = error_set(err, STATUS_BAD_INPUT, "%s: \"layers_to_transform\" beside a \"target_modules\" that is a text",
			d->k.file);
	if (!s && excluded && !json_is_null(excluded))
		s = names_module(d, "exclude_modules", module, &is_excluded, &passing, err);
	if (s)
		return s;
	return fits && in_layer && !is_excluded
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "%s: its adapter has matrices for %.200s, which the configuration leaves out",
			  d->k.file, module);
}

// transformers' Conv1D, whose matrices lie [in, out]; of other modules peft overrides fan_in_fan_out.
static bool is_conv1d(const struct adapter *d, const char *module)
{
	static const char *const types[] = { "gpt2", "openai-gpt", "imagegpt", "decision_transformer" };
	static const char *const modules[] = { "c_attn", "c_proj", "c_fc", "q_attn" };
	const char *type = json_string_value(json_object_get(d->k.c->config, "model_type")), *dot = strrchr(module, '.');
	bool of_type = false, of_name = false;

	for (size_t i = 0; i < 4; i++) {
		of_type = of_type || text_is(types[i], type);
		of_name = of_name || text_is(modules[i], dot ? dot + 1 : module);
	}
	return of_type && of_name;
}

// Is w [.., ..] what a [r, x] and b [y, r] change: [y, x], or [x, y] and *turned?
static bool fits(const struct adapter *d, const char *module, const struct low_rank *l, bool embedding, bool *turned)
{
	const struct weight *w = l->base, *a = l->a, *b = l->b;
	bool plain, other;

	if (!is_float(w) || !is_float(a) || !is_float(b) || w->rank != 2 || a->rank != 2 || b->rank != 2 ||
		a->dim[0] != b->dim[1])
		return false;
	plain = !embedding && w->dim[0] == b->dim[0] && w->dim[1] == a->dim[1];
	other = w->dim[0] == a->dim[1] && w->dim[1] == b->dim[0];
	*turned = embedding || (other && (!plain || is_conv1d(d, module)));
	return plain || other;
}

static int64_t vocabulary_of(const json_t *config)
{
	static const char *const keys[] = { "vocab_size", "n_words", "n_vocab" };
	const json_t *text = json_object_get(config, "text_config");
	int64_t n = 0;

	for (size_t i = 0; i < sizeof keys / sizeof *keys && n <= 0; i++)
		n = json_integer_value(json_object_get(config, keys[i]));
	return n <= 0 && json_is_object(text) ? vocabulary_of(text) : n;
}

// An embedding of tokens that is the head, too, or that head, of which the file may have a copy: by their names, or by a row for
// each token. What modules_to_save replaces takes the one's place alone, and so does a change where peft adds it as it computes;
// where peft merges it, it changes both.
static bool is_tied(const struct adapter *d, const struct weight *base)
{
	static const char *const heads[] = { "lm_head.weight", "embed_out.weight" };
	static const char end[] = ".weight";
	const json_t *config = d->k.c->config;
	const size_t n = strlen(base->name) - (text_ends(base->name, end) ? strlen(end) : 0);
	bool is = base->name[n] && computing_is_embedding(arena_strndup(&d->k.c->arena, base->name, n));

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		is = is || text_is(base->name, heads[i]);
	is = is || (base->rank == 2 && base->dim[0] == vocabulary_of(config));
	return is && !json_is_false(json_object_get(config, "tie_word_embeddings"));
}

static enum status merge(struct adapter *d, const char *module, const struct weight *a, const struct weight *b, struct error *err)
{
	struct low_rank *l = ARENA_NEW(&d->k.c->arena, struct low_rank);
	enum status s;

	*l = (struct low_rank){ .base = base_named(d, module, ".weight"), .a = a, .b = b };
	if (!l->base)
		return computing_refuse(
			a, STATUS_BAD_INPUT, err, "the base model has no %.200s.weight that it could change", module);
	if (is_tied(d, l->base))
		return computing_refuse(a, STATUS_UNSUPPORTED, err,
			"changes an embedding that is the head, too: merged into the base or beside it, peft computes two "
			"things");
	if ((s = check_module(d, module, err)))
		return s;
	if (!b || !fits(d, module, l, text_ends(a->name, "lora_embedding_A"), &l->turned))
		return computing_refuse(a, STATUS_UNSUPPORTED, err,
			"with its B it is no change of rank r to the base model's %.200s", l->base->name);
	l->rank = a->dim[0];
	if ((s = scale_of(d, module, l->rank, &l->scale, err)))
		return s;
	computing_take(&d->k, l->base);
	d->k.dtype = l->base->dtype;
	d->merged++;
	return computing_add(&d->k, l->base->name, 2, l->base->dim, read_low_rank, l->base, l, err);
}

// A tensor that takes the place of the base's: modules_to_save, bias; `is_base`: of the base's own matrix under a changed one.
static enum status replace(
	struct adapter *d, const struct weight *w, const char *module, const char *end, bool is_base, struct error *err)
{
	const struct weight *base = base_named(d, module, end);

	if (!base || w->stride || w->rank != base->rank || memcmp(w->dim, base->dim, (size_t)w->rank * sizeof *w->dim))
		return computing_refuse(w, STATUS_UNSUPPORTED, err, "the base model has no such tensor of the same shape");
	if (base->shard == w->shard)
		return computing_refuse(w, STATUS_BAD_INPUT, err, "the adapter has this tensor twice, also as a base_layer");
	if (!is_base && is_tied(d, base))
		return computing_refuse(w, STATUS_UNSUPPORTED, err,
			"replaces an embedding that is the head, too, which stays as it was: that is not read yet");
	struct weight *own = &d->k.c->weights[base - d->k.c->weights];
	const char *name = own->name;
	*own = *w;
	own->name = name;
	d->replaced++;
	return STATUS_OK;
}

static enum status apply_tensor(struct adapter *d, const struct weight *w, struct error *err)
{
	static const char *const seconds[] = { ".lora_B.weight", ".lora_embedding_B" };
	static const char *const firsts[] = { ".lora_A.weight", ".lora_embedding_A" };
	struct arena *a = &d->k.c->arena;

	if (!text_starts(w->name, PREFIX))
		return computing_refuse(w, STATUS_UNSUPPORTED, err, "is not called " PREFIX "..");
	const char *module = w->name + strlen(PREFIX);
	if (w->stride)
		return computing_refuse(w, STATUS_UNSUPPORTED, err, "does not lie row by row");
	for (size_t i = 0; i < 2; i++) {
		if (text_ends(module, seconds[i])) {
			const char *stem = arena_strndup(a, module, strlen(module) - strlen(seconds[i]));

			return adapter_tensor(d, stem, firsts[i])
				? STATUS_OK
				: computing_refuse(w, STATUS_BAD_INPUT, err, "there is no A beside it");
		}
		if (text_ends(module, firsts[i])) {
			const char *stem = arena_strndup(a, module, strlen(module) - strlen(firsts[i]));

			return merge(d, stem, w, adapter_tensor(d, stem, seconds[i]), err);
		}
	}
	const char *dot = strrchr(module, '.');
	if (strstr(module, "lora_") || !dot || (!text_is(dot, ".weight") && !text_is(dot, ".bias")))
		return computing_refuse(w, STATUS_UNSUPPORTED, err, "is no part of an adapter that is read");
	// The base's own matrix under a changed one: embeddings, which may have grown. It comes before its A.
	const size_t n = (size_t)(dot - module), within = strlen(".base_layer");
	const bool is_base = n > within && !strncmp(dot - within, ".base_layer", within);
	const char *stem = arena_strndup(a, module, is_base ? n - within : n);
	const bool is_changed = adapter_tensor(d, stem, firsts[0]) || adapter_tensor(d, stem, firsts[1]);
	if (is_base && !is_changed)
		return computing_refuse(w, STATUS_BAD_INPUT, err, "there is no A of its module: peft passes over it");
	if (!is_base && is_changed && text_is(dot, ".bias"))
		return computing_refuse(w, STATUS_UNSUPPORTED, err,
			"is the bias of a changed module, which peft calls base_layer.bias since 0.6, and passes over so");
	return replace(d, w, stem, dot, is_base, err);
}

static enum status apply_all(struct adapter *d, struct error *err)
{
	enum status s = check_config(d, err);

	if (s || (s = computing_count(&d->k, d->config, "r", 8, 1, &d->rank, err)))
		return s;
	const json_t *alpha = json_object_get(d->config, "lora_alpha");
	d->alpha = alpha ? json_number_value(alpha) : 8;
	if (alpha && !json_is_number(alpha))
		return error_set(err, STATUS_BAD_INPUT, "%s: \"lora_alpha\" is no number", d->k.file);
	for (size_t i = 0; i < d->count && !s; i++)
		s = apply_tensor(d, &d->tensors[i], err);
	if (!s && !d->merged && !d->replaced)
		s = error_set(err, STATUS_BAD_INPUT, "%s: no tensor of it changes the base model", d->k.file);
	return s ? s : computing_replace(&d->k, err);
}

// "LoRA adapter of rank 8 (alpha 16), 14 weights merged into its base model, 1 replaced; the base model fp8, ..".
static void say(struct adapter *d, const char *base_from)
{
	struct checkpoint *c = d->k.c;
	const char *rank = d->ranks[0] == d->ranks[1]
		? arena_printf(&c->arena, "%lld", (long long)d->ranks[1])
		: arena_printf(&c->arena, "%lld to %lld", (long long)d->ranks[0], (long long)d->ranks[1]);

	c->weights_from = arena_printf(&c->arena,
		"LoRA adapter of rank %s (alpha %g), %zu weight%s merged into its base model%s%s%s", rank, d->alpha, d->merged,
		d->merged == 1 ? "" : "s", d->replaced ? arena_printf(&c->arena, ", %zu replaced", d->replaced) : "",
		base_from ? "; the base model: " : "", base_from ? base_from : "");
}

enum status adapter_apply(struct checkpoint *c, const char *folder, struct text *facts, struct error *err)
{
	double expressions_ms = 0;
	struct adapter d = { .expressions_ms = &expressions_ms,
		.k = { .c = c, .file = arena_printf(&c->arena, "%s/adapter_config.json", folder) } };
	const char *file = adapter_file(folder);
	struct weight *tensors;
	json_t *config = NULL;
	enum status s = read_config(&config, &c->arena, folder, err);

	if (!s)
		s = (text_ends(file, ".bin") ? torch_open : safetensors_open)(&c->arena,
			arena_printf(&c->arena, "%s/%s", folder, file), &c->shards[c->shard_count], &tensors, &d.count, err);
	if (!s) {
		c->shard_count++;
		d.tensors = tensors;
		d.config = config;
		d.k.taken = ARENA_ARRAY(&c->arena, c->weight_count, bool);
		s = apply_all(&d, err);
	}
	char *text = s ? NULL : json_dumps(config, JSON_COMPACT | JSON_SORT_KEYS);
	text_addf(facts, " adapter %s", text ? text : "");
	free(text);
	json_decref(config);
	if (!s)
		say(&d, c->weights_from);
	return s;
}
