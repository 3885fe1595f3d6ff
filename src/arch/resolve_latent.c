// SPDX-License-Identifier: Apache-2.0
// What config.json says of latent attention, of the indexer that chooses for it, and of residual streams.
#include "arch/family/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Which layers share the choice of the one before: words, a pattern of letters, or all but every Nth from an offset.
static const bool *shared_choices(struct config *c, struct spec *s, struct arena *a)
{
	bool *shared = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	const json_t *words = config_get(c, "indexer_types"), *pattern = config_get(c, "index_topk_pattern");
	const char *letters = json_string_value(pattern);
	int64_t every = config_size(c, "index_topk_freq", 1), offset = config_size(c, "index_skip_topk_offset", 2);
	words = words ? words : json_is_array(pattern) ? pattern : NULL;
	if ((words && json_array_size(words) < (size_t)s->layers) || (letters && json_string_length(pattern) < (size_t)s->layers))
		config_fail(c, STATUS_BAD_INPUT, "indexer_types should name %lld layer%s", (long long)s->layers,
			s->layers == 1 ? "" : "s");
	every = every > 1 ? every : 1;
	for (int64_t i = 0; i < s->layers && !c->error.status; i++) {
		int64_t after = i - offset + 1 > 0 ? i - offset + 1 : 0;
		shared[i] = words ? text_is(json_string_value(json_array_get(words, (size_t)i)), "shared")
			: letters ? letters[i] == 'S'
				  : after % every != 0;
	}
	if (shared[0])
		config_fail(c, STATUS_BAD_INPUT, "the first layer has no choice to share");
	return shared;
}

void resolve_indexer(struct config *c, struct spec *s, struct arena *a)
{
	struct indexer *i = ARENA_NEW(a, struct indexer);
	*i = (struct indexer){ .heads = config_count(c, "index_n_heads", -1),
		.width = config_count(c, "index_head_dim", -1),
		.top_k = config_size(c, "index_topk", -1),
		.eps = TRAITS_OF(s, decoder)->indexer_rope_last ? s->norm_eps : 1e-6,
		.interleaved = TRAITS_OF(s, decoder)->indexer_interleaved,
		.rope_last = TRAITS_OF(s, decoder)->indexer_rope_last };
	i->shared = config_knows(c, "indexer_types") ? shared_choices(c, s, a) : NULL;
	i->no_tail = !config_bool(c, "index_kpool_always_select_tail", true);
	i->block = has_word(s, "layers.index.pool") ? config_count(c, "index_kpool", 16) : 0;
	if (has_word(s, "layers.index.pool") && (i->block < 1 || i->top_k % i->block))
		config_fail(c, STATUS_BAD_INPUT, "index_topk %lld is not a multiple of index_kpool %lld", (long long)i->top_k,
			(long long)i->block);
	i->top_k /= i->block > 0 ? i->block : 1;
	if (!c->error.status &&
		(i->heads < 1 || i->top_k < 1 || i->width < s->latent.rope ||
			(s->latent.query_rank < 1 && !has_word(s, "layers.index.q_norm"))))
		config_fail(c, STATUS_BAD_INPUT, "an indexer of %lld heads of %lld that chooses %lld", (long long)i->heads,
			(long long)i->width, (long long)i->top_k);
	s->indexer = i;
}

// Blocks of tokens, which are chosen whole (Qwen4).
void resolve_block_indexer(struct config *c, struct spec *s, struct arena *a)
{
	struct indexer *i = ARENA_NEW(a, struct indexer);
	bool any = false;
	for (int64_t k = 0; k < s->layers; k++)
		any |= !s->mixers || s->mixers[k] == MIX_ATTENTION;
	*i = (struct indexer){ .heads = config_count(c, "index_n_heads", 0),
		.width = config_count(c, "index_head_dim", 0),
		.top_k = config_size(c, "index_topk", 0),
		.block = config_size(c, "indexer_compress_ratio", 0),
		.eps = s->norm_eps };
	int64_t key_heads = config_size(c, "indexer_kv_heads", 0);
	if (c->error.status || !any)
		return;
	if (i->heads < 1 || key_heads != 1 || i->block < 1 || i->top_k < i->block || i->top_k % i->block ||
		s->rope.dim > i->width)
		config_fail(c, STATUS_BAD_INPUT,
			"an indexer of %lld heads of %lld, %lld of keys, that chooses %lld tokens in blocks of %lld",
			(long long)i->heads, (long long)i->width, (long long)key_heads, (long long)i->top_k, (long long)i->block);
	i->top_k /= i->block > 0 ? i->block : 1;
	s->indexer = i;
}

void resolve_latent(struct config *c, struct spec *s)
{
	struct latent *l = &s->latent;
	l->query_rank = config_size(c, "q_lora_rank", 0);
	l->key_rank = config_size(c, "kv_lora_rank", -1);
	l->nope = config_size(c, "qk_nope_head_dim", -1);
	l->rope = config_size(c, "qk_rope_head_dim", -1);
	l->value = config_size(c, "v_head_dim", -1);
	l->eps = TRAITS_OF(s, decoder)->latent_eps ? s->norm_eps : 1e-6; // or whatever the other norms have
	l->doubled = TRAITS_OF(s, decoder)->doubled_latent;
	l->joined = TRAITS_OF(s, decoder)->joined_nope;
	bool rotary = !TRAITS_OF(s, decoder)->no_rotary || l->rope > 0;
	if (!c->error.status && (l->key_rank < 1 || l->nope < 1 || (rotary && l->rope < 2) || l->rope % 2 || l->value < 1))
		config_fail(c, STATUS_BAD_INPUT, "the sizes of latent attention do not go together");
	s->kv_heads = s->heads;
	s->head_width = rotary ? l->rope : l->nope; // what the rotary positions turn, where there are some
	s->attention_scale = 1 / sqrt((double)(l->nope + l->rope));
	s->traits.interleaved_rope = config_bool(c, "rope_interleave", s->traits.interleaved_rope);
}

// DeepSeek's YaRN takes its own scale of the scores twice.
void resolve_latent_scale(struct spec *s)
{
	const struct rope *r = &s->rope;
	if (r->kind == ROPE_DEFAULT || !(r->mscale_all_dim > 0) || r->factor <= 1)
		return;
	double m = 0.1 * r->mscale_all_dim * log(r->factor) + 1;
	s->attention_scale *= m * m;
}

// Layers with a window whose latents and heads are of sizes of their own (dots3 note): by per_layer_config, or by keys swa_*.
void resolve_window_latent(struct config *c, struct spec *s)
{
	static const char *const words[] = { "num_attention_heads", "num_key_value_heads", "q_lora_rank", "kv_lora_rank",
		"head_dim", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim" };
	const struct latent *l = &s->latent;
	const json_t *each = config_get(c, "per_layer_config");
	int64_t wide = config_size(c, "swa_head_dim", 256), nope = config_size(c, "swa_qk_nope_head_dim", 192);
	int64_t n[] = { config_size(c, "swa_num_attention_heads", 64), config_size(c, "swa_num_key_value_heads", 64),
		config_size(c, "swa_q_lora_rank", 1024), config_size(c, "swa_kv_lora_rank", 1024), wide, nope,
		config_size(c, "swa_qk_rope_head_dim", wide - nope), config_size(c, "swa_v_head_dim", 128) };
	const int64_t usual[] = { s->heads, s->heads, l->query_rank, l->key_rank, l->nope + l->rope, l->nope, l->rope, l->value };
	bool first = true;
	const char *key, *word;
	json_t *o, *v;
	json_object_foreach((json_t *)each, key, o)
	{
		int64_t own[8], layer = strtoll(key, NULL, 10);
		memcpy(own, usual, sizeof own);
		json_object_foreach(o, word, v)
		{
			size_t i = 0;
			while (i < 8 && !text_is(word, words[i]))
				i++;
			double x = json_number_value(v);
			if (i == 8 || !json_is_integer(v) || !(x >= 1 && x <= 1 << 20))
				config_fail(c, STATUS_UNSUPPORTED, "per_layer_config: this %s is not supported yet", word);
			else
				own[i] = (int64_t)x;
		}
		if (layer < 0 || layer >= s->layers || !s->sliding[layer] || (!first && memcmp(own, n, sizeof n) != 0))
			config_fail(c, STATUS_UNSUPPORTED,
				"per_layer_config of layer %s: only layers with a window may differ, all alike", key);
		memcpy(n, own, sizeof n);
		first = false;
	}
	struct latent *w = &s->window_latent;
	*w = *l;
	w->query_rank = n[2], w->key_rank = n[3], w->nope = n[5], w->rope = n[6], w->value = n[7];
	s->window_heads = (struct heads){ n[0], n[0], w->rope, w->value };
	s->window_scale = 1 / sqrt((double)(w->nope + w->rope));
	if (!c->error.status &&
		(n[0] < 1 || w->query_rank < 1 || w->key_rank < 1 || w->nope < 1 || w->value < 1 || w->rope < 2 || w->rope % 2))
		config_fail(c, STATUS_BAD_INPUT, "the sizes of latent attention with a window do not go together");
	w->query_scale = w->key_scale = 0;
}

static void scale_latent(const struct spec *s, struct latent *l)
{
	if (l->query_rank > 0 && l->key_rank > 0) {
		l->query_scale = sqrt((double)s->hidden_size / (double)l->query_rank);
		l->key_scale = sqrt((double)s->hidden_size / (double)l->key_rank);
	}
}

void scale_latents(struct spec *s)
{
	scale_latent(s, &s->latent);
	scale_latent(s, &s->window_latent);
}

// Layers that take the latents of others before them (Mistral Large 4).
void resolve_latent_sources(struct config *c, struct spec *s, struct arena *a)
{
	const json_t *list = config_get(c, "kv_source_layers");
	int64_t *of = ARENA_ARRAY(a, (size_t)s->layers + 1, int64_t);
	bool shared = false;
	for (int64_t i = 0; list && i < s->layers && !c->error.status; i++) {
		const json_t *v = json_array_get(list, (size_t)i);
		of[i] = json_is_integer(v) ? json_integer_value(v) : -1;
		bool alike = of[i] >= 0 && of[i] <= i && of[of[i]] == of[i] && s->nope[i] == s->nope[of[i]];
		shared |= of[i] != i;
		if (!alike)
			config_fail(c, STATUS_BAD_INPUT, "kv_source_layers: layer %lld has no layer like it to take latents from",
				(long long)i);
	}
	s->keys_of = shared ? of : s->keys_of;
}

// Residual streams (block/hyper.c).
void resolve_hyper(struct config *c, struct spec *s, struct arena *a)
{
	struct hyper *h = ARENA_NEW(a, struct hyper);
	*h = (struct hyper){ .streams = config_count(c, "hc_mult", 4),
		.rounds = config_count(c, "hc_sinkhorn_iters", 0),
		.rank = has_word(s, "layers.attn.hyper.down") ? config_count(c, "hc_lowrank", 320) : 0,
		.eps = config_real(c, "hc_eps", 1e-6),
		.magnitude = config_real(c, "hc_magnitude", 2) };
	if (h->streams < 1 || h->streams > 64 || (has_word(s, "layers.attn.hyper.down") && h->rank < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld residual streams, gates of rank %lld", (long long)h->streams,
			(long long)h->rank);
	s->hyper = h;
}

// DeepSeek-V4: sizes of attention to compressed entries.
void resolve_compressed(struct config *c, struct spec *s, struct arena *a)
{
	struct compressed *k = ARENA_NEW(a, struct compressed);
	*k = (struct compressed){ .groups = config_count(c, "o_groups", -1), .out_rank = config_size(c, "o_lora_rank", -1) };
	s->latent.query_rank = config_size(c, "q_lora_rank", -1);
	s->kv_heads = 1; // whatever the configuration says
	s->compressed = k;
	if (!c->error.status &&
		(k->groups < 1 || s->heads * s->head_width % k->groups || k->out_rank < 1 || s->latent.query_rank < 1))
		config_fail(c, STATUS_BAD_INPUT, "%lld heads of %lld in %lld groups of rank %lld", (long long)s->heads,
			(long long)s->head_width, (long long)k->groups, (long long)k->out_rank);
}

static int64_t compress_rate(struct config *c, const char *kind, const char *older, int64_t usual)
{
	const json_t *v = json_object_get(config_get(c, "compress_rates"), kind);
	int64_t n = config_count(c, older, json_is_integer(v) ? json_integer_value(v) : v ? 0 : usual);
	if (n < 1 || n > 1 << 20)
		config_fail(c, STATUS_BAD_INPUT, "compress_rates: %s should be a number of tokens", kind);
	return n;
}

// Which layers have entries, of how many tokens: by words, by older numbers, or all heavily compressed, from the third on every
// second one sparse.
void resolve_compressed_layers(struct config *c, struct spec *s, struct arena *a)
{
	static const char *const kinds[] = { "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention" };
	static const int64_t older[] = { 0, 4, 128 };
	struct compressed *k = ARENA_NEW(a, struct compressed);
	int64_t *rates = ARENA_ARRAY(a, (size_t)s->layers + 1, int64_t), of_kind[3] = { 0 };
	bool *overlaps = ARENA_ARRAY(a, (size_t)s->layers + 1, bool), *sliding = ARENA_ARRAY(a, (size_t)s->layers + 1, bool);
	const json_t *words = config_get(c, "layer_types"), *numbers = config_get(c, "compress_ratios");
	of_kind[1] = compress_rate(c, kinds[1], "compress_rate_csa", 4);
	of_kind[2] = compress_rate(c, kinds[2], "compress_rate_hca", 128);
	for (int64_t i = 0; i < s->layers && !c->error.status; i++) {
		const json_t *v = json_array_get(words ? words : numbers, (size_t)i);
		int kind = 0;
		while (kind < 3 && (words ? !text_is(json_string_value(v), kinds[kind]) : json_integer_value(v) != older[kind]))
			kind++;
		if (!words && !numbers)
			kind = i < 2 || i % 2 == 0 ? 2 : 1;
		else if (kind == 3 || (!words && !json_is_integer(v))) {
			config_fail(c, STATUS_UNSUPPORTED, "layer_types: layer %lld is of a type that is not supported yet",
				(long long)i);
			return;
		}
		rates[i] = of_kind[kind], overlaps[i] = kind == 1, sliding[i] = kind == 0;
	}
	*k = *s->compressed;
	k->rates = rates, k->overlaps = overlaps;
	s->compressed = k, s->sliding = sliding;
	if (s->sliding_window < 1)
		config_fail(c, STATUS_BAD_INPUT, "sliding_window %lld", (long long)s->sliding_window);
}

// Older files say how much of a head is turned by a number, not by a share.
void resolve_compressed_rope(struct config *c, struct spec *s)
{
	const json_t *given = config_given(c, "rope_parameters");
	int64_t width = config_size(c, "qk_rope_head_dim", 0);
	if (width > 0 && !config_get(c, "partial_rotary_factor") && !json_is_object(json_object_get(given, "main")))
		s->rope.dim = s->window_rope.dim = width;
	int64_t dim = s->rope.dim ? s->rope.dim : s->head_width;
	if (!c->error.status && (dim > s->head_width || dim % 2 || dim > s->indexer->width || s->rope.dim != s->window_rope.dim))
		config_fail(c, STATUS_BAD_INPUT, "rotary positions turn %lld elements of heads of %lld", (long long)dim,
			(long long)s->head_width);
}
