// SPDX-License-Identifier: Apache-2.0
// From a configuration to a spec: row, then config.json over its class's defaults, then which tensors exist. Also printing.
#include "arch/spec.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"

// Settings of encoders and decoders that would build another graph: only their usual value is built.
void resolve_refusals(struct config *c, const struct spec *s)
{
	const struct family *f = s->row->family;
	bool may_decode = f->may_decode, reads_memory = head_reads_memory(s);
	static const char *const must_be_false[] = { "add_cross_attention", "is_encoder_decoder", "is_decoder" };
	for (size_t i = 0; i < sizeof must_be_false / sizeof must_be_false[0]; i++) {
		bool needed = reads_memory && i != 1, is = config_bool(c, must_be_false[i], needed);
		if (needed ? !is : is && !(may_decode && text_is(must_be_false[i], "is_decoder")))
			config_fail(c, STATUS_UNSUPPORTED, "%s: %s is not supported %s", must_be_false[i], is ? "true" : "false",
				needed ? "of a decoder beside an encoder" : "yet");
	}
	const char *kind = config_text(c, "position_embedding_type");
	bool rotary = kind && may_decode && text_is(kind, "rotary") && config_knows(c, "position_embedding_type");
	bool none = kind && f->may_unturn && text_is(kind, "nope");
	if (kind && !rotary && !none && !text_is(kind, "absolute") && !text_is(kind, "rope"))
		config_fail(c, STATUS_UNSUPPORTED, "position_embedding_type %s is not supported yet", kind);
	const json_t *pruned = config_get(c, "pruned_heads");
	if (json_object_size(pruned))
		config_fail(c, STATUS_UNSUPPORTED, "pruned heads are not supported yet");
}

void resolve_transformer(struct config *c, struct spec *s, bool is_image)
{
	resolve_refusals(c, s);
	s->hidden_size = config_size(c, "hidden_size", -1);
	int64_t listed = resolve_listed_layers(c), layers = config_count(c, "num_hidden_layers", listed ? listed : -1);
	s->layers = s->layers_in_config = listed ? listed : layers;
	s->heads = config_size(c, "num_attention_heads", config_knows(c, "num_attention_heads") ? -1 : 1);
	s->kv_heads = config_size(c, "num_key_value_heads", s->heads);
	if (c->error.status)
		return;
	if (s->heads < 1 || s->kv_heads < 1 || s->heads % s->kv_heads || s->hidden_size < 1 || s->layers < 1) {
		config_fail(c, STATUS_BAD_INPUT, "%lld layers of %lld heads over %lld, %lld of them for keys",
			(long long)s->layers, (long long)s->heads, (long long)s->hidden_size, (long long)s->kv_heads);
		return;
	}
	s->head_width = config_size(c, "head_dim", 0);
	// Decoders round down, as transformers does; the others join their heads to hidden_size again.
	if (!s->head_width && s->hidden_size % s->heads && !s->row->family->any_heads)
		config_fail(c, STATUS_BAD_INPUT, "hidden size %lld does not divide into %lld heads", (long long)s->hidden_size,
			(long long)s->heads);
	if (!s->head_width)
		s->head_width = s->hidden_size / s->heads;
	s->ffn_size = config_size(c, "intermediate_size", 0);
	s->vocab_size = config_size(c, "vocab_size", is_image ? 0 : -1);
	if (!is_image && s->vocab_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "vocab_size %lld", (long long)s->vocab_size);
	s->max_positions = config_size(c, "max_position_embeddings",
		is_image || s->traits.alibi || !config_knows(c, "max_position_embeddings") ? 0 : -1);
	s->type_vocab_size = config_knows(c, "type_vocab_size") ? config_size(c, "type_vocab_size", 0) : 0;
	s->embedding_size = config_size(c, "embedding_size", s->hidden_size);
	s->layer_groups = config_count(c, "layer_groups", 1);
	s->relative_buckets = config_size(c, "relative_buckets", 0);
	s->norm_eps = config_real(c, "layer_norm_eps", config_real(c, "rms_norm_eps", 1e-12));
	s->act = config_activation(c, "hidden_act", ACT_GELU);
	if (s->layer_groups < 1 || s->layer_groups > s->layers)
		config_fail(c, STATUS_BAD_INPUT, "%lld groups of %lld layers", (long long)s->layer_groups, (long long)s->layers);
	double scalar = config_real(c, "query_pre_attn_scalar", (double)s->head_width);
	s->attention_scale = 1 / sqrt(scalar > 0 ? scalar : 1);
	s->attention_softcap = config_real(c, "attn_logit_softcapping", 0);
	s->logit_softcap = config_real(c, "final_logit_softcapping", 0);
}

void resolve_qk_norm_type(struct config *c, struct spec *s)
{
	const char *kind = config_text(c, "qk_norm_type");
	bool whole = kind && text_is(kind, "olmo");
	*(whole ? &s->traits.qk_norm_whole : &s->traits.qk_norm) = true;
	if (kind && !whole && !text_is(kind, "qwen3"))
		config_fail(c, STATUS_UNSUPPORTED, "qk_norm_type %s is not supported yet", kind);
}

bool has_word(const struct spec *s, const char *stem)
{
	for (const struct weight_name *n = s->row->dialect->weights; n->canonical; n++)
		if (text_is(n->canonical, stem))
			return true;
	return false;
}

// What every class may say, whatever builds it.
static void resolve_common(struct config *c, struct spec *s)
{
	const json_t *pad = config_get(c, "pad_token_id");
	s->pad_token_id = json_is_integer(pad) && json_integer_value(pad) >= 0 ? json_integer_value(pad) : -1;
	const json_t *labels = config_given(c, "id2label");
	int64_t label_count = config_size(c, "num_labels", 2);
	s->labels = labels ? (int64_t)json_object_size(labels) : label_count;
	s->tied = config_bool(c, "tie_word_embeddings", true);
}

static bool any_starts(const struct checkpoint *c, const char *start)
{
	for (size_t i = 0; i < c->weight_count; i++)
		if (text_starts(c->weights[i].name, start))
			return true;
	return false;
}

// Does any tensor of this checkpoint carry the base-model prefix? A plan follows transformers: a bare model is saved without.
static const char *prefix_of(const struct spec *s, const struct checkpoint *c)
{
	const char *prefix = s->row->dialect->prefix;
	if (any_starts(c, prefix))
		return prefix;
	for (const char *const *p = s->row->dialect->other_prefixes; p && *p; p++)
		if (any_starts(c, *p))
			return *p;
	if (s->head->other_prefix && any_starts(c, s->head->other_prefix))
		return s->head->other_prefix;
	return c->weight_count || s->head->bare ? "" : prefix;
}

static const struct head *head_of_class(const char *class_name)
{
	for (const struct head_class *h = head_classes; h->suffix; h++)
		if (text_ends(class_name, h->suffix))
			return h->head;
	return NULL;
}

const char *arch_class_head(const char *class_name)
{
	const struct head *h = head_of_class(class_name);
	return h ? h->name : NULL;
}

struct spec *part_of(const struct spec *s, const char *name)
{
	for (int i = 0; i < PARTS_MOST; i++)
		if (s->parts[i].spec && text_is(s->parts[i].name, name))
			return s->parts[i].spec;
	return NULL;
}

void part_set(struct spec *s, const char *name, struct spec *part)
{
	size_t i = 0;
	while (i < PARTS_MOST && s->parts[i].name && !text_is(s->parts[i].name, name))
		i++;
	if (i == PARTS_MOST)
		abort(); // a family that names more: PARTS_MOST is too small
	s->parts[i] = (struct spec_part){ name, part };
}

const char *part_type(const struct arch *row, const char *name)
{
	for (size_t i = 0; i < PARTS_MOST && row->part_types[i].part; i++)
		if (text_is(row->part_types[i].part, name))
			return row->part_types[i].type;
	return NULL;
}

static struct spec *part_of_type(struct config *c, struct spec *s, struct arena *a, const char *which, const char *key,
	const char *type, const struct head *head, const char *const *roots)
{
	const json_t *given = config_get(c, key);
	const struct arch *row = arch_find(type);
	if (!row || !row->family->body)
		config_fail(c, STATUS_UNSUPPORTED, "%s: the model type %s is not supported yet%s", key, type ? type : "?",
			row ? " as a part of another" : "");
	if (c->error.status)
		return NULL;
	struct spec *p = ARENA_NEW(a, struct spec);
	*p = (struct spec){ .row = row,
		.head = head,
		.class_name = s->class_name,
		.key = arena_strdup(a, key),
		.root = roots[0],
		.dtype = s->dtype };
	traits_of_row(p, a);
	for (const char *const *root = roots; *root; root++)
		if (any_starts(c->checkpoint, arena_printf(a, "%s%s", s->root, *root))) {
			p->root = *root;
			break;
		}
	p->root = arena_printf(a, "%s%s", s->root, p->root);
	const char *prefix = row->dialect->prefix;
	p->prefix =
		!c->checkpoint->weight_count || any_starts(c->checkpoint, arena_printf(a, "%s%s", p->root, prefix)) ? prefix : "";
	json_t *empty = json_object();
	struct config sub;
	config_open(&sub, given ? given : empty, row->model_type, row->dialect);
	config_check_size(&sub);
	sub.checkpoint = c->checkpoint;
	sub.within = arena_printf(a, "%s%s.", c->within, key);
	resolve_common(&sub, p);
	if (head && !head_row(p))
		head_refused(&sub, p);
	else
		row->family->resolve(&sub, p, a);
	if (!sub.error.status)
		config_check_unread(&sub);
	config_check_kinds(&sub);
	if (sub.error.status && !c->error.status)
		c->error = sub.error;
	config_close(&sub);
	json_decref(empty);
	part_set(s, which, p);
	return c->error.status ? NULL : p;
}

bool part_is_usual(struct config *c, const struct spec *s, const char *which)
{
	const struct spec *part = part_of(s, which);
	const struct arch *usual = arch_find(part_type(s->row, which));
	if (c->error.status || !part || !usual || part->row->family == usual->family)
		return !c->error.status;
	config_fail(c, STATUS_UNSUPPORTED, "%s: the type %s is not supported here yet, only %s and its kin", part->key,
		part->row->model_type, usual->model_type);
	return false;
}

void resolve_part_sees_all(struct config *c, const char *key)
{
	if (json_is_true(json_object_get(config_get(c, key), "is_decoder")))
		config_fail(
			c, STATUS_UNSUPPORTED, "%s.is_decoder: true is not supported of a part that sees all of its tokens", key);
}

struct spec *resolve_part_fixed(struct config *c, struct spec *s, struct arena *a, const char *which, const char *key,
	const char *type, const struct head *head, const char *const *roots)
{
	const json_t *given = config_get(c, key);
	if (given && !json_is_object(given))
		config_fail(c, STATUS_BAD_INPUT, "%s should be an object", key);
	return part_of_type(c, s, a, which, key, type ? type : part_type(s->row, which), head, roots);
}

struct spec *resolve_part(struct config *c, struct spec *s, struct arena *a, const char *which, const char *key, const char *type,
	const struct head *head, const char *const *roots)
{
	const char *own_type = json_string_value(json_object_get(config_get(c, key), "model_type"));
	if (own_type && text_is(own_type, s->row->model_type)) // older files name the whole in its part
		own_type = NULL;
	const struct arch *whole = arch_find(own_type); // or another whole, whose part of that name is meant
	if (whole && part_type(whole, which))
		own_type = part_type(whole, which);
	return resolve_part_fixed(c, s, a, which, key, own_type ? own_type : type, head, roots);
}

enum status arch_resolve(struct spec **out, struct arena *a, const struct checkpoint *c, struct error *err)
{
	const char *type = json_string_value(json_object_get(c->config, "model_type"));
	const char *class_name = json_string_value(json_array_get(json_object_get(c->config, "architectures"), 0));
	if (!type)
		return error_set(err, STATUS_BAD_INPUT, "%s/config.json: there is no model_type", c->path);
	struct config size = { .given = c->config, .within = "" };
	config_check_size(&size);
	if (size.error.status)
		return error_set(err, size.error.status, "%s/%s", c->path, size.error.text);
	const struct arch *row = arch_find(type);
	if (!row) {
		struct arch_likeness like;
		arch_resemble(&like, a, c);
		const char *near = like.shared * 2 >= like.keys ? like.type : NULL;
		return error_set(err, STATUS_UNSUPPORTED, "%s/config.json: the model type %s is not supported yet%s%s", c->path,
			type, near ? "; its configuration is most like that of " : "", near ? near : "");
	}
	bool unsaid = !class_name; // then the bare model, or the first head of a family that has none
	if (unsaid)
		class_name = "Model";
	struct spec *s = ARENA_NEW(a, struct spec);
	s->row = row;
	traits_of_row(s, a);
	s->class_name = arena_strdup(a, class_name);
	s->head = head_of_class(class_name);
	if (unsaid && !head_row(s) && row->family->heads)
		s->head = row->family->heads->head;
	if (!s->head)
		return error_set(err, STATUS_UNSUPPORTED, "%s/config.json: the class %s has a head that is not supported yet",
			c->path, class_name);
	const json_t *dtype = json_object_get(c->config, "dtype");
	s->dtype = dtype_find(json_string_value(json_is_string(dtype) ? dtype : json_object_get(c->config, "torch_dtype")));
	s->root = "";
	s->prefix = prefix_of(s, c);

	struct config config;
	config_open(&config, c->config, type, row->dialect);
	config.checkpoint = c;
	resolve_common(&config, s);
	if (!head_row(s))
		head_refused(&config, s);
	else
		row->family->resolve(&config, s, a);
	if (!config.error.status)
		config_check_unread(&config);
	config_check_kinds(&config);
	struct error bad = config.error;
	config_close(&config);
	if (bad.status)
		return error_set(err, bad.status, "%s/%s", c->path, bad.text);
	*out = s;
	return STATUS_OK;
}

// Whose layers count: of a model made of models its text part's.
static const struct spec *layered(const struct spec *s)
{
	return part_of(s, "text") ? part_of(s, "text") : s;
}

static bool has_experts(const struct spec *s)
{
	return s->moe;
}

static bool has_indexer(const struct spec *s)
{
	return s->indexer;
}

static bool any_part(const struct spec *s, bool (*has)(const struct spec *s))
{
	bool any = has(s);
	for (int i = 0; i < PARTS_MOST && !any; i++)
		any = s->parts[i].spec && any_part(s->parts[i].spec, has);
	return any;
}

void arch_settle_form(const struct spec *s, struct graph_form *form)
{
	if (!any_part(s, has_experts))
		form->experts = EXPERTS_ALL;
	form->torch_ties = form->torch_ties && any_part(s, has_indexer);
}

bool arch_shorten(struct spec *s, int64_t layers)
{
	struct spec *own = (struct spec *)(uintptr_t)layered(s); // s may be changed, and so its parts
	if (layers < 1 || layers > own->layers || own->cycles)
		return false;
	own->layers = layers;
	for (int i = 0; i < PARTS_MOST; i++) { // halves share the row
		struct spec *half = own->parts[i].spec;
		if (half && half->row == own->row && half->layers > layers)
			half->layers = layers;
	}
	return true;
}

int64_t arch_layers(const struct spec *s)
{
	return layered(s)->layers;
}

int64_t arch_shortened_to(const struct spec *s)
{
	return layered(s)->layers < layered(s)->layers_in_config ? layered(s)->layers : 0;
}

const char *arch_model_type(const struct spec *s)
{
	return s->row->model_type;
}

const char *arch_architecture(const struct spec *s)
{
	return s->row->family->architecture;
}

const char *arch_family(const struct spec *s)
{
	return s->row->family->name;
}

const char *arch_head(const struct spec *s)
{
	return s->head ? s->head->name : "none";
}

// A network of diffusion whose latents have a height and a width, and no picture of another size beside them.
static bool takes_latents(const struct spec *s)
{
	struct input_hints hints = { 0 };
	bool is_map = false, is_alone = true;

	if (!text_is(arch_architecture(s), "diffusion"))
		return false;
	arch_input_hints(s, &hints);
	for (size_t i = 0; i < sizeof hints.symbols / sizeof *hints.symbols && hints.symbols[i].name; i++) {
		is_map |= text_is(hints.symbols[i].name, "height");
		is_alone &= !text_is(hints.symbols[i].name, "control_height");
	}
	return is_map && is_alone;
}

bool arch_takes_images(const struct spec *s)
{
	bool takes = s->channels > 0 || takes_latents(s);
	for (int i = 0; i < PARTS_MOST; i++) { // a spectrogram has channels too
		const struct spec *part = s->parts[i].spec;
		takes |= part && !text_is(arch_architecture(part), "audio") && part->channels > 0;
	}
	return takes;
}

// A vocabulary may also be what comes out: of visual tokens, or of letters heard in a waveform, whose length is its samples'.
bool arch_takes_tokens(const struct spec *s)
{
	const struct spec *text = layered(s);
	const char *architecture = arch_architecture(s);
	bool reads = text->vocab_size > 0 && !text_is(architecture, "vision") &&
		!(text_is(architecture, "audio") && text->max_positions <= 0);
	reads |= part_of(s, "decoder") && part_of(s, "decoder")->vocab_size > 0;
	return reads;
}

void arch_input_hints(const struct spec *whole, struct input_hints *out)
{
	const struct spec *s = part_of(whole, "text") ? part_of(whole, "text") : whole;
	int64_t reserved = s->traits.positions_from_pad ? s->pad_token_id + 1 : 0; // positions start after the pad's
	*out = (struct input_hints){ .vocab_size = s->vocab_size,
		.pad_token_id = s->pad_token_id,
		.type_vocab_size = s->type_vocab_size,
		.max_sequence = s->max_positions > reserved ? s->max_positions - reserved : 0,
		.cache_ends = s->rope.theta > 0 && s->rope.kind == ROPE_LONGROPE ? s->rope.original_max_positions + 1 : 0,
		.predicts_next = whole->head->predicts_next };
	for (int i = 0; i < PARTS_MOST; i++)
		if (whole->parts[i].spec && whole->parts[i].spec->row->family->hints)
			whole->parts[i].spec->row->family->hints(whole->parts[i].spec, out);
	if (whole->row->family->hints)
		whole->row->family->hints(whole, out);
}

// "qkv_bias" -> "qkv-bias"
static void add_trait(json_t *traits, const char *name)
{
	char word[64];
	size_t n = 0;
	for (; name[n] && n + 1 < sizeof word; n++)
		word[n] = name[n] == '_' ? '-' : name[n];
	word[n] = 0;
	json_array_append_new(traits, json_string(word));
}

// Traits that are one of several, in words: from 1 on.
static const struct {
	const char *name, *words[5];
} choices[] = {
	{ "attention_gate",
		{ "attention-gate-sigmoid", "attention-gate-softplus-heads", "attention-gate-beside-query",
			"attention-gate-sigmoid-heads" } },
	{ "qkv_layout", { "qkv-by-head", "qkv-four-parts", "qkv-after-gate" } },
	{ "alibi", { "alibi", "alibi-columns", "alibi-bfloat16" } },
};

static const char *choice_word(const char *name, int n)
{
	for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
		if (text_is(choices[i].name, name))
			return n > 0 && n < 5 ? choices[i].words[n - 1] : NULL;
	return NULL;
}

static void add_traits(json_t *words, const struct trait *list, const void *traits)
{
	for (; list && list->name; list++) {
		int n = list->kind == TRAIT_ACT ? 0 : trait_get(list, traits); // an activation is told below
		const char *word = choice_word(list->name, n);
		char text[64];

		snprintf(text, sizeof text, list->kind == TRAIT_COUNT && !word ? "%s %d" : "%s", word ? word : list->name, n);
		if (n)
			add_trait(words, text);
	}
}

static bool has_trait(const struct trait *list, const void *traits, const char *name)
{
	for (; list && list->name; list++)
		if (text_is(list->name, name))
			return trait_get(list, traits) != 0;
	return false;
}

// A base is what every configuration has; it is read where positions turn, and not where they are added, embedded or a bias.
static bool is_rotary(const struct spec *s)
{
	const struct weight_name *w = s->row->dialect->weights;

	for (; w && w->canonical; w++)
		if (text_is(w->canonical, "embed.position"))
			return false;
	return s->rope.theta > 0 && !s->traits.alibi && !has_trait(s->row->family->traits.traits, s->own_traits, "sinusoids");
}

int64_t moe_chosen(const struct moe *m)
{
	return m->sparse_mixer ? 2 : m->top_k < m->experts ? m->top_k : m->experts;
}

static void add_experts(json_t *sizes, const struct moe *m)
{
	json_object_set_new(sizes, "experts", json_integer(m->experts));
	json_object_set_new(sizes, "experts_chosen", json_integer(moe_chosen(m)));
	json_object_set_new(sizes, "expert_size", json_integer(m->width));
	if (m->shared_width)
		json_object_set_new(sizes, "shared_expert_size", json_integer(m->shared_width));
}

json_t *arch_json(const struct spec *s)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", s->row->model_type, "class", s->class_name, "family",
		s->row->family->name, "dialect", s->row->dialect->name, "head", s->head ? s->head->name : "none", "architecture",
		s->row->family->architecture);
	json_t *sizes = json_object(), *traits = json_array(), *parts = json_object();
	static const struct {
		const char *name;
		size_t offset;
	} rows[] = {
		{ "vocab_size", offsetof(struct spec, vocab_size) },
		{ "hidden_size", offsetof(struct spec, hidden_size) },
		{ "layers", offsetof(struct spec, layers) },
		{ "heads", offsetof(struct spec, heads) },
		{ "kv_heads", offsetof(struct spec, kv_heads) },
		{ "head_width", offsetof(struct spec, head_width) },
		{ "ffn_size", offsetof(struct spec, ffn_size) },
		{ "max_positions", offsetof(struct spec, max_positions) },
		{ "type_vocab_size", offsetof(struct spec, type_vocab_size) },
		{ "embedding_size", offsetof(struct spec, embedding_size) },
		{ "image_size", offsetof(struct spec, image_size) },
		{ "patch_size", offsetof(struct spec, patch_size) },
		{ "relative_buckets", offsetof(struct spec, relative_buckets) },
		{ "sliding_window", offsetof(struct spec, sliding_window) },
		{ "labels", offsetof(struct spec, labels) },
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int64_t n = *(const int64_t *)((const char *)s + rows[i].offset);
		bool is_read = rows[i].offset != offsetof(struct spec, labels) || (s->head && !s->head->bare);
		if (n && is_read)
			json_object_set_new(sizes, rows[i].name, json_integer(n));
	}
	if (s->moe)
		add_experts(sizes, s->moe);
	if (s->row->family->sizes)
		s->row->family->sizes(s, sizes);
	static const char *const ropes[] = { "rope", "rope-linear", "rope-dynamic", "rope-llama3", "rope-yarn", "rope-longrope",
		"rope-proportional" };
	if (is_rotary(s))
		add_trait(traits, ropes[s->rope.kind]);
	add_traits(traits, shared_traits, &s->traits);
	add_traits(traits, s->row->family->traits.traits, s->own_traits);
	const struct {
		bool is;
		const char *name;
	} words[] = {
		{ s->tied && s->head && !s->head->bare, "tied-head" },
		{ s->qk_norm_heads, "qk-norm-heads" },
		{ s->bidirectional, "bidirectional" },
		{ s->kv_heads != s->heads, "grouped-keys" },
		{ s->swiglu, "swiglu" },
		{ s->attention_softcap > 0, "softcap" },
	};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (words[i].is)
			add_trait(traits, words[i].name);
	if (!text_is(s->row->family->architecture, "diffusion")) // these have several, each where its class has it
		add_trait(traits, activation_word(s->act));
	json_object_set_new(o, "traits", traits);
	json_object_set_new(o, "sizes", sizes);
	for (int i = 0; i < PARTS_MOST; i++)
		if (s->parts[i].spec)
			json_object_set_new(parts, s->parts[i].name, arch_json(s->parts[i].spec));
	json_object_set_new(o, "parts", parts);
	return o;
}

static void print_object(const json_t *o, const char *before, struct text *out)
{
	json_t *v, *n;
	const char *key, *name;
	json_object_foreach((json_t *)o, key, v)
	{
		if (text_is(key, "parts")) {
			json_object_foreach(v, name, n)
			{
				char deeper[128];
				snprintf(deeper, sizeof deeper, "%s%s.", before, name);
				print_object(n, deeper, out);
			}
			continue;
		}
		visible_addf(out, "%s%s:", before, key);
		if (json_is_string(v))
			visible_addf(out, " %s", json_string_value(v));
		json_object_foreach(v, name, n) visible_addf(out, " %s %lld", name, (long long)json_integer_value(n));
		for (size_t i = 0; i < json_array_size(v); i++)
			visible_addf(out, " %s", json_string_value(json_array_get(v, i)));
		text_add(out, "\n");
	}
}

void arch_print(const struct spec *s, struct text *out)
{
	json_t *o = arch_json(s);
	print_object(o, "", out);
	json_decref(o);
}
