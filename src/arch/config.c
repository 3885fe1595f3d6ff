// SPDX-License-Identifier: Apache-2.0
// config.json over its class's default configuration (defaults.jsonl, carried inside the program: one line a model type, what
// CLASS().to_dict() says in transformers; keys that a class derives from others are null there). A key left out has the
// default; a key that is null is null. Unread keys that are not known to be inert are an error.
#include "arch/spec.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch/defaults.h"
#include "base/json.h"
#include "checkpoint/computed.h"

json_t *config_defaults(const char *model_type)
{
	char start[128];
	int length = snprintf(start, sizeof start, "{\"model_type\": \"%s\"", model_type);
	if (length < 0 || (size_t)length >= sizeof start)
		return NULL;
	for (size_t i = 0; i < arch_defaults_rows_count; i++) {
		const char *line = arch_defaults_rows[i].data, *end = line + arch_defaults_rows[i].size;
		for (const char *next; line < end; line = next) {
			const char *stop = memchr(line, '\n', (size_t)(end - line));
			next = stop ? stop + 1 : end;
			if ((size_t)(end - line) > (size_t)length && !memcmp(line, start, (size_t)length))
				return json_line(line, (size_t)((stop ? stop : end) - line));
		}
	}
	return NULL;
}

void config_open(struct config *c, const json_t *given, const char *model_type, const struct dialect *d)
{
	*c = (struct config){
		.given = given, .dialect = d, .defaults = config_defaults(model_type), .read = json_object(), .within = ""
	};
}

void config_open_within(struct config *sub, struct config *c, const char *key, struct arena *a)
{
	const json_t *given = config_get(c, key);
	if (!json_is_object(given))
		config_fail(c, STATUS_BAD_INPUT, "%s should be an object", key);
	config_open(sub, given, "", c->dialect);
	sub->defaults = json_deep_copy(json_object_get(c->defaults, key));
	sub->checkpoint = c->checkpoint;
	sub->within = arena_printf(a, "%s%s.", c->within, key);
}

void config_close_within(struct config *sub, struct config *c)
{
	if (!sub->error.status)
		config_check_unread(sub);
	if (sub->error.status && !c->error.status)
		c->error = sub->error;
	config_close(sub);
}

void config_close(struct config *c)
{
	json_decref(c->defaults);
	json_decref(c->read);
}

void config_fail(struct config *c, enum status s, const char *format, ...)
{
	if (c->error.status)
		return;
	char text[1024];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	error_set(&c->error, s, "config.json: %s%s", c->within, text);
}

// A key may have several words: the first that config.json has, else the first that the class has, else the first.
static const char *config_key(const struct config *c, const char *canonical)
{
	const char *first = NULL, *of_class = NULL;
	for (const struct key_name *k = c->dialect->keys; k->canonical; k++) {
		if (!text_is(k->canonical, canonical))
			continue;
		if (json_object_get(c->given, k->config))
			return k->config;
		if (!of_class && json_object_get(c->defaults, k->config))
			of_class = k->config;
		if (!first)
			first = k->config;
	}
	return of_class ? of_class : first ? first : canonical;
}

// A class takes any key of config.json, and its model reads its own. These are read of classes that do not name them: by the
// base class, by what all models call (masking_utils.py, modeling_rope_utils.py), by getattr, as another word for a key
// (attribute_map), or by several classes that make keys of their own of them (kwargs).
bool config_reads_unnamed(const char *key)
{
	static const char *const keys[] = { // the base class's, and what all models share
		"add_cross_attention", "decoder_start_token_id", "id2label", "is_causal", "is_decoder", "is_encoder_decoder",
		"layer_types", "num_labels", "original_max_position_embeddings", "pad_token_id", "partial_rotary_factor",
		"position_embedding_type", "pruned_heads", "rope_local_base_freq", "rope_parameters", "rope_scaling",
		"rope_theta", "tie_encoder_decoder", "tie_word_embeddings", "transformers_version",
		// getattr
		"adapter_attn_dim", "attention_head_size", "conv_act", "conv_groups", "conv_kernel_size", "embedding_size",
		"head_dim", "max_relative_positions", "norm_rel_ebd", "pooler_hidden_act", "pooler_hidden_size",
		"position_buckets", "return_class_token", "share_att_key", "summary_activation", "summary_type",
		"summary_use_proj", "talking_head",
		// another word for it
		"n_shared_experts", "num_experts", "num_experts_per_tok", "num_local_experts",
		// made into others, of the towers that many have
		"backbone", "backbone_kwargs", "dilation", "text_config_dict", "use_timm_backbone", "vision_config_dict"
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (text_is(keys[i], key))
			return true;
	return false;
}

struct key_of_type {
	const char *model_type, *key;
};

static bool is_of_type(const struct config *c, const char *key, const struct key_of_type *rows, size_t count)
{
	const char *type = json_string_value(json_object_get(c->defaults, "model_type"));

	for (size_t i = 0; type && i < count; i++)
		if (text_is(rows[i].model_type, type) && text_is(rows[i].key, key))
			return true;
	return false;
}

// These one class takes and makes others of them, which it names.
static bool is_made_into_others(const struct config *c, const char *key)
{
	static const struct key_of_type rows[] = { { "axk1", "moe_layer_freq" }, { "axk2", "moe_layer_freq" },
		{ "cohere2", "sliding_window_pattern" }, { "cohere2_moe", "first_k_dense_replace" },
		{ "deepseek_v4", "compress_rate_csa" }, { "deepseek_v4", "compress_rate_hca" },
		{ "deepseek_v4", "compress_ratios" }, { "deepseek_v4", "num_hash_layers" },
		{ "dots3_note_text", "moe_layer_freq" }, { "gemma3_text", "sliding_window_pattern" },
		{ "gemma4_text", "global_head_dim" }, { "gemma4_text", "num_global_key_value_heads" },
		{ "gemma4_unified_text", "global_head_dim" }, { "gemma4_unified_text", "num_global_key_value_heads" },
		{ "glm5_next_text", "index_skip_topk_offset" }, { "glm5_next_text", "index_topk_freq" },
		{ "glm5_next_text", "index_topk_pattern" }, { "glm5_next_text", "linear_attn_config" },
		{ "glm_moe_dsa", "index_skip_topk_offset" }, { "glm_moe_dsa", "index_topk_freq" },
		{ "glm_moe_dsa", "index_topk_pattern" }, { "inkling_text", "dense_intermediate_size" },
		{ "inkling_text", "dense_mlp_idx" }, { "kimi_linear", "linear_attn_config" }, { "mimi", "frame_rate" },
		{ "minimax_m2", "rotary_dim" }, { "minimax_m3_vl_text", "moe_layer_freq" },
		{ "mistral_large4_text", "index_skip_topk_offset" }, { "mistral_large4_text", "index_topk_freq" },
		{ "mistral_large4_text", "index_topk_pattern" }, { "modernbert", "global_attn_every_n_layers" },
		{ "modernbert-decoder", "global_attn_every_n_layers" }, { "qwen3_5_moe_text", "full_attention_interval" },
		{ "qwen3_5_text", "full_attention_interval" }, { "qwen3_next", "full_attention_interval" },
		{ "qwen4_exp_text", "full_attention_interval" } };

	return is_of_type(c, key, rows, sizeof rows / sizeof *rows);
}

// And these a class names, and its model does not read them.
static bool is_named_unread(const struct config *c, const char *key)
{
	static const struct key_of_type rows[] = { { "deepseek_v2", "norm_topk_prob" }, { "deepseek_v4", "norm_topk_prob" },
		{ "mpt", "logit_scale" }, { "qwen3_vl_moe_text", "sliding_window" } };
	return is_of_type(c, key, rows, sizeof rows / sizeof *rows);
}

static bool is_passed_over(const struct config *c, const char *key)
{
	if (config_knows(c, key))
		return is_named_unread(c, key);
	if (config_reads_unnamed(key) || is_made_into_others(c, key))
		return false;
	for (const struct key_name *k = c->dialect->keys; k->canonical; k++)
		if (text_is(k->canonical, key))
			return false; // the dialect says what it is called there
	return true;
}

const json_t *config_given(struct config *c, const char *key)
{
	const char *name = config_key(c, key);
	json_object_set_new(c->read, name, json_true());
	const json_t *v = is_passed_over(c, key) ? NULL : json_object_get(c->given, name);
	for (const struct key_name *k = c->dialect->keys; v && k->canonical; k++) // said twice and alike: both are read
		if (text_is(k->canonical, key) && json_equal(json_object_get(c->given, k->config), (json_t *)v))
			json_object_set_new(c->read, k->config, json_true());
	return json_is_null(v) ? NULL : v;
}

const json_t *config_get(struct config *c, const char *key)
{
	const char *name = config_key(c, key);
	const json_t *v = config_given(c, key);
	if (!v && !json_object_get(c->given, name))
		v = json_object_get(c->defaults, name);
	return json_is_null(v) ? NULL : v;
}

bool config_knows(const struct config *c, const char *key)
{
	if (!json_object_get(c->defaults, "model_type")) // none, or an object that is no class of its own
		return true;
	if (json_object_get(c->defaults, config_key(c, key)))
		return true;
	for (const struct key_name *k = c->dialect->keys; k->canonical; k++)
		if (text_is(k->canonical, key) && json_object_get(c->defaults, k->config))
			return true;
	return false;
}

int64_t config_size(struct config *c, const char *key, int64_t fallback)
{
	const json_t *v = config_get(c, key);
	if (!v && fallback < 0)
		config_fail(c, STATUS_BAD_INPUT, "%s is missing", config_key(c, key));
	if (!v)
		return fallback;
	double x = json_number_value(v);
	if (!json_is_number(v) || !(x >= 0 && x <= INT32_MAX) || x != floor(x)) {
		config_fail(c, STATUS_BAD_INPUT, "%s should be a whole number from 0 to 2147483647", config_key(c, key));
		return fallback;
	}
	return (int64_t)x;
}

int64_t config_count(struct config *c, const char *key, int64_t fallback)
{
	int64_t n = config_size(c, key, fallback);
	if (n <= CONFIG_COUNT_MOST)
		return n;
	config_fail(c, STATUS_UNSUPPORTED, "%s: %lld; at most %d are built", config_key(c, key), (long long)n, CONFIG_COUNT_MOST);
	return CONFIG_COUNT_MOST;
}

int64_t resolve_window_size(struct config *c)
{
	int64_t window = config_size(c, "sliding_window", 0);
	if (!window && config_get(c, "sliding_window"))
		config_fail(c, STATUS_BAD_INPUT, "%s: 0, a window of no token; null is none", config_key(c, "sliding_window"));
	return window;
}

const int64_t *config_sizes(struct config *c, const char *key, struct arena *a, int64_t single, int64_t *count)
{
	const json_t *v = config_get(c, key);
	size_t n = json_is_array(v) ? json_array_size(v) : v ? (size_t)single : 0;
	int64_t *out = ARENA_ARRAY(a, n + 1, int64_t);
	*count = 0;
	if (v && (!n || n > 4096)) {
		config_fail(c, STATUS_BAD_INPUT, "%s should be a list of whole numbers", config_key(c, key));
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_is_array(v) ? json_array_get(v, i) : v;
		double x = json_number_value(item);
		if (!json_is_number(item) || !(x >= 0 && x <= INT32_MAX) || x != floor(x)) {
			config_fail(c, STATUS_BAD_INPUT, "%s should be a list of whole numbers from 0 to 2147483647",
				config_key(c, key));
			return NULL;
		}
		out[i] = (int64_t)x;
	}
	*count = (int64_t)n;
	return n ? out : NULL;
}

double config_real(struct config *c, const char *key, double fallback)
{
	const json_t *v = config_get(c, key);
	if (v && !json_is_number(v))
		config_fail(c, STATUS_BAD_INPUT, "%s should be a number", config_key(c, key));
	return json_is_number(v) ? json_number_value(v) : fallback;
}

bool config_bool(struct config *c, const char *key, bool fallback)
{
	const json_t *v = config_get(c, key);
	if (v && !json_is_boolean(v))
		config_fail(c, STATUS_BAD_INPUT, "%s should be true or false", config_key(c, key));
	return json_is_boolean(v) ? json_is_true(v) : fallback;
}

const char *config_text(struct config *c, const char *key)
{
	const json_t *v = config_get(c, key);
	if (v && !json_is_string(v))
		config_fail(c, STATUS_BAD_INPUT, "%s should be text", config_key(c, key));
	return json_string_value(v);
}

// transformers' names of activations (activations.py, ACT2FN) that are built here.
static const struct {
	const char *name;
	enum activation act;
} activation_rows[] = {
	{ "gelu", ACT_GELU },
	{ "gelu_python", ACT_GELU },
	{ "gelu_new", ACT_GELU_TANH },
	{ "gelu_fast", ACT_GELU_TANH },
	{ "gelu_pytorch_tanh", ACT_GELU_TANH },
	{ "relu", ACT_RELU },
	{ "silu", ACT_SILU },
	{ "swish", ACT_SILU },
	{ "tanh", ACT_TANH },
	{ "quick_gelu", ACT_QUICK_GELU },
	{ "linear", ACT_NONE },
	{ "relu2", ACT_RELU2 },
	{ "relu_squared", ACT_RELU2 },
	{ "sigmoid", ACT_SIGMOID },
	{ "mish", ACT_MISH },
	{ "leaky_relu", ACT_LEAKY_RELU },
	{ "relu6", ACT_RELU6 },
	{ "xielu", ACT_XIELU },
	{ "gelu_accurate", ACT_GELU_TANH },
	{ "gelu_python_tanh", ACT_GELU_TANH },
	{ "hardswish", ACT_HARD_SWISH },
	{ "gelu_10", ACT_GELU_10 },
	{ "laplace", ACT_LAPLACE },
	{ "sqrtsoftplus", ACT_SQRT_SOFTPLUS },
};

const char *activation_word(enum activation a)
{
	for (size_t i = 0; i < sizeof activation_rows / sizeof activation_rows[0]; i++)
		if (activation_rows[i].act == a)
			return activation_rows[i].name;
	return "?";
}

enum activation config_activation(struct config *c, const char *key, enum activation fallback)
{
	const char *word = config_text(c, key);
	return word ? config_activation_word(c, key, word) : fallback;
}

enum activation config_activation_word(struct config *c, const char *key, const char *word)
{
	for (size_t i = 0; i < sizeof activation_rows / sizeof activation_rows[0]; i++)
		if (text_is(activation_rows[i].name, word))
			return activation_rows[i].act;
	config_fail(c, STATUS_UNSUPPORTED, "the activation %s (%s) is not supported yet", word, config_key(c, key));
	return ACT_NONE;
}

// Keys that cannot change what any graph computes: training, generation, tokenizers, book-keeping. Globs. What changes the
// graph of some family stands in the lists of the dialects for which it does not.
// clang-format off
static const char *const inert[] = {
	"_*", "architectures", "model_type", "transformers*", "torch_dtype", "dtype", "auto_map", "*dropout*",
	"*drop_path*", "drop_out*", "*initializer_*", "use_cache", "bos_token_id", "eos_token_id", "sep_token_id",
	"cls_token_id", "mask_token_id", "unk_token_id", "decoder_start_token_id", "forced_*", "id2label", "label2id",
	"problem_type", "return_dict", "output_attentions", "output_hidden_states", "output_past", "torchscript",
	"gradient_checkpointing", "chunk_size_feed_forward", "pretraining_tp", "attn_implementation", "finetuning_task",
	"tokenizer_class", "language", "model_max_length", "sinusoidal_pos_embds", "tie_weights_", "directionality",
	"pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
	"down_scale_factor", "net_structure_type", "num_memory_blocks", "gap_size", "task_specific_params", "prefix",
	"max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty",
	"temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
	"encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
	"return_dict_in_generate", "suppress_tokens", "begin_suppress_tokens", "exponential_decay_length_penalty",
	"remove_invalid_values", "use_bfloat16", "tf_legacy_loss",
	// speech: masks while training, quantizers, losses
	"*layerdrop", "apply_spec_augment", "mask_time_*", "mask_feature_*", "ctc_*", "contrastive_*", "diversity_loss_*",
	"num_negatives", "mask_channel_*", "no_mask_*", "freeze_feat_extract_train", "num_ctc_classes",
	"num_clusters", "replace_prob",
	// of Swin and CLAP, in older files: their classes never read them
	"path_norm", "fusion_num_hidden_layers", "fusion_hidden_size",
	"cross_attention_hidden_size", "tie_encoder_decoder",
	"max_new_tokens", "hidden_act_fn", "cache_implementation", "unsloth_*", "use_return_dict", "vocab_file", "name_or_path",
	"num_image_tokens",
	"*pdrop", "eod_token_id", "output_router_logits", "router_*_coef", "*layerdrop", "init_std", "init_device",
	"slow_but_exact", "n_ctx", "lambda_std_dev",
	"reorder_and_upcast_attn", "*softmax_in_fp32", "emb_*_drop", "scale_attention_softmax_in_fp32", "validate_runner_input",
};
// clang-format on

void config_check_size(struct config *c)
{
	enum { KEYS_MOST = 4096, KEY_LENGTH_MOST = 256 };
	const char *key;
	json_t *v;

	if (json_object_size(c->given) > KEYS_MOST) {
		config_fail(c, STATUS_BAD_INPUT, "%zu keys; at most %d are read", json_object_size(c->given), KEYS_MOST);
		return;
	}
	json_object_foreach((json_t *)c->given, key, v) if (strlen(key) > KEY_LENGTH_MOST) config_fail(
		c, STATUS_BAD_INPUT, "a key of %zu bytes, \"%.16s..\"; at most %d are read", strlen(key), key, KEY_LENGTH_MOST);
}

bool config_is_inert(const char *key)
{
	for (size_t i = 0; i < sizeof inert / sizeof inert[0]; i++)
		if (!fnmatch(inert[i], key, 0))
			return true;
	return false;
}

void config_check_unread(struct config *c)
{
	enum { LISTED = 16 };
	const char *key;
	json_t *v;
	size_t count = 0;
	struct text unread = { 0 };
	json_object_foreach((json_t *)c->given, key, v)
	{
		bool known = json_object_get(c->read, key) != NULL;
		bool named = false; // a key that the dialect has a word for does something, whatever it means elsewhere
		for (const struct key_name *k = c->dialect->keys; !named && k->canonical; k++)
			named = text_is(k->config, key);
		known = known || (!named && config_is_inert(key)) ||
			(text_is(key, "quantization_config") && quantisation_is_read(v));
		for (const char *const *glob = c->dialect->inert; !known && glob && *glob; glob++)
			known = fnmatch(*glob, key, 0) == 0;
		if (!known && count++ < LISTED)
			text_addf(&unread, "%s%.48s", count > 1 ? ", " : "", key);
	}
	if (count > LISTED)
		text_addf(&unread, " and %zu more", count - LISTED);
	if (count)
		config_fail(c, STATUS_UNSUPPORTED,
			count > 1 ? "%s: assay does not know these keys, so it cannot build what they change"
				  : "%s: assay does not know this key, so it cannot build what it changes",
			text_get(&unread));
	text_done(&unread);
}

// ---- kinds --------------------------------------------------------------------------------------------------------------

enum { NUMBER = 1, WHOLE = 2, FLAG = 4, TEXT = 8, LIST = 16, OBJECT = 32, AUTO = 64 }; // AUTO: the word "auto"

static unsigned kind_of(const json_t *v)
{
	double x = json_number_value(v);

	return json_is_number(v)     ? x == floor(x) ? NUMBER | WHOLE : NUMBER
		: json_is_boolean(v) ? FLAG
		: json_is_string(v)  ? text_is(json_string_value(v), "auto") ? TEXT | AUTO : TEXT
		: json_is_array(v)   ? LIST
		: json_is_object(v)  ? OBJECT
				     : 0;
}

// `each`: of a list. Lists of lists are their reader's.
struct kinds {
	unsigned takes, each;
};

// Keys whose class says null, or a word for a number, or nothing, inside of other keys too.
static const struct {
	const char *key;
	struct kinds kinds;
} known_kinds[] = {
	{ "alibi", { FLAG, 0 } },
	{ "alibi_bias_max", { NUMBER, 0 } },
	{ "attention_types", { LIST, 0 } },
	{ "attn_layer_indices", { LIST, WHOLE } },
	{ "clip_qkv", { NUMBER, 0 } },
	{ "decoder_act_fns", { TEXT | LIST, TEXT } },
	{ "decoder_block_types", { TEXT | LIST, TEXT } },
	{ "decoder_norm_types", { TEXT | LIST, TEXT } },
	{ "depthwise_padding", { LIST, WHOLE } },
	{ "down_ops", { LIST, LIST } },
	{ "downsamples", { LIST, FLAG } },
	{ "encoder_block_types", { TEXT | LIST, TEXT } },
	{ "full_attn_idxs", { LIST, WHOLE } },
	{ "global_attn_indexes", { LIST, WHOLE } },
	{ "head_in_index", { WHOLE, 0 } },
	{ "is_gated_act", { FLAG, 0 } },
	{ "kv_n_heads", { WHOLE, 0 } },
	{ "languages", { LIST, TEXT } },
	{ "layer_rope_theta", { LIST, NUMBER } },
	{ "local_attention", { WHOLE, 0 } },
	{ "mamba_d_head", { WHOLE | AUTO, 0 } },
	{ "mamba_dt_rank", { WHOLE | AUTO, 0 } },
	{ "mamba_head_dim", { WHOLE, 0 } },
	{ "mamba_headdim", { WHOLE, 0 } },
	{ "max_relative_positions", { WHOLE, 0 } },
	{ "mlp_only_layers", { LIST, WHOLE } },
	{ "moe_layer_end_index", { WHOLE, 0 } },
	{ "moe_layers", { LIST, WHOLE } },
	{ "mrope_interleaved", { FLAG, 0 } },
	{ "mrope_section", { LIST, WHOLE } },
	{ "multi_query", { FLAG, 0 } },
	{ "no_rope_layers", { LIST, WHOLE } },
	{ "num_attention_heads_per_layer", { LIST, WHOLE } },
	{ "original_max_position_embeddings", { WHOLE, 0 } },
	{ "out_features", { LIST, TEXT } },
	{ "out_indices", { WHOLE | LIST, WHOLE } },
	{ "pad_token_id", { WHOLE, 0 } },
	{ "per_layer_config", { OBJECT, 0 } },
	{ "pos_att_type", { TEXT | LIST, TEXT } },
	{ "position_buckets", { WHOLE, 0 } },
	{ "rope_scaling_layers", { LIST, WHOLE } },
	{ "rope_type", { TEXT, 0 } },
	{ "scale_decoder_outputs", { FLAG, 0 } },
	{ "scaling", { FLAG | TEXT, 0 } },
	{ "softmax_scale", { NUMBER, 0 } },
	{ "time_step_rank", { WHOLE | AUTO, 0 } },
	{ "truncate", { FLAG, 0 } },
	{ "use_bidirectional_attention", { FLAG | TEXT, 0 } },
};

// What a key may be given as, from the table or from what its class says: sides that differ for one number, one number for a
// list of equal ones. What a reader takes of these it says itself. A class whose own list is of other things has these.
static struct kinds kinds_of(const char *key, const json_t *usual)
{
	unsigned first = json_is_array(usual) ? kind_of(json_array_get(usual, 0)) : 0;

	for (size_t i = 0; i < sizeof known_kinds / sizeof *known_kinds; i++)
		if (text_is(known_kinds[i].key, key)) {
			struct kinds kinds = known_kinds[i].kinds;

			if (kinds.each && first && !(first & kinds.each))
				kinds.each = first & NUMBER ? NUMBER : first;
			return kinds;
		}
	if (json_is_number(usual))
		return (struct kinds){ NUMBER | LIST, NUMBER };
	if (json_is_array(usual)) {
		unsigned each = first & ~(unsigned)WHOLE;

		return (struct kinds){ LIST | NUMBER, each & NUMBER ? NUMBER : each };
	}
	return (struct kinds){ kind_of(usual) & ~(unsigned)AUTO, 0 };
}

// A number that JSON has none for.
static bool is_infinite(const json_t *v)
{
	return json_object_get(v, "__float__") || text_is(json_string_value(v), "inf") ||
		text_is(json_string_value(v), "Infinity");
}

static const char *kinds_words(unsigned takes)
{
	static const char *const words[] = { "a number", "a whole number", "true or false", "text", "a list", "an object" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (takes & 1u << i)
			return words[i];
	return "another value";
}

// What scales or bounds: classes differ in what they make of none or less of it, and no published model has that.
static bool is_factor(const char *key)
{
	static const char *const keys[] = { "clip_qkv", "embedding_multiplier", "linear_lower_bound", "logit_scale",
		"logits_scaling", "partial_rotary_factor", "residual_multiplier", "scale_depth", "scale_emb" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (text_is(key, keys[i]))
			return true;
	return false;
}

static void check_factor(struct config *c, const char *within, const char *key, const json_t *v, const json_t *usual)
{
	const double x = json_number_value(v);

	if (json_is_number(v) && is_factor(key) && (x == 0 || (x < 0 && !text_is(key, "linear_lower_bound"))) &&
		!(json_is_number(usual) && json_number_value(usual) == x))
		config_fail(c, STATUS_UNSUPPORTED, "%s%s of %g is not supported yet", within, key, x);
}

static void check_kinds(struct config *c, const char *within, const json_t *given, const json_t *usual)
{
	const char *key;
	json_t *v, *item;
	size_t i;

	json_object_foreach((json_t *)given, key, v)
	{
		const json_t *own = json_object_get(usual, key);
		const struct kinds kinds = kinds_of(key, own);
		char deeper[200];

		if (!*within && !json_object_get(c->read, key))
			continue;
		check_factor(c, within, key, v, own);
		if (json_is_null(v) || !kinds.takes || (*within && config_is_inert(key)))
			continue;
		if (!(kind_of(v) & kinds.takes))
			config_fail(c, STATUS_BAD_INPUT, "%s%.64s should be %s", within, key, kinds_words(kinds.takes));
		json_array_foreach(v, i, item) if (kinds.each && !(kind_of(item) & kinds.each) &&
			!(kinds.each & NUMBER && is_infinite(item))) config_fail(c, STATUS_BAD_INPUT,
			"%s%.64s should be a list, each of it %s", within, key, kinds_words(kinds.each));
		snprintf(deeper, sizeof deeper, "%.100s%.64s.", within, key);
		if (json_is_object(v) && json_is_object(own) && !json_string_length(json_object_get(own, "model_type")))
			check_kinds(c, deeper, v, own);
	}
}

void config_check_kinds(struct config *c)
{
	check_kinds(c, "", c->given, c->defaults);
}
