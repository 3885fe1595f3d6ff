// SPDX-License-Identifier: Apache-2.0
// What the configurations of BART's kin have in common: sizes by half, and keys that older programs wrote.
#include <math.h>

#include "arch/block/seq2seq.h"

#include <string.h>

struct spec *resolve_half(struct spec *s, struct arena *a, const char *part, const char *within)
{
	struct spec *half = ARENA_NEW(a, struct spec);
	*half = *s;
	half->prefix = arena_printf(a, "%s%s", s->prefix, within);
	memset(half->parts, 0, sizeof half->parts);
	part_set(s, part, half);
	return half;
}

void resolve_halves_sizes(struct config *c, struct spec *s, struct halves_sizes *d)
{
	s->hidden_size = s->embedding_size = config_size(c, "hidden_size", -1);
	s->layers = s->layers_in_config = config_count(c, d->alone ? "num_decoder_layers" : "num_hidden_layers", -1);
	s->heads = s->kv_heads = config_size(c, d->alone ? "decoder_attention_heads" : "encoder_attention_heads", -1);
	s->ffn_size = config_size(c, d->alone ? "decoder_ffn_dim" : "encoder_ffn_dim", -1);
	s->vocab_size = d->without_tokens ? 0 : config_size(c, "vocab_size", -1);
	s->act = config_activation(c, "activation_function", ACT_GELU);
	s->norm_eps = 1e-5;
	d->layers = d->alone ? s->layers : config_count(c, "num_decoder_layers", -1);
	d->heads = config_size(c, "decoder_attention_heads", -1);
	d->ffn_size = config_size(c, "decoder_ffn_dim", -1);
	d->vocab_size = s->vocab_size;
	if (!d->alone &&
		(!config_bool(c, "is_encoder_decoder", true) || config_bool(c, "is_decoder", false) ||
			config_bool(c, "tie_encoder_decoder", false)))
		config_fail(c, STATUS_UNSUPPORTED, "a decoder by itself or halves of one set of weights are not supported yet");
	if (c->error.status)
		return;
	if (s->heads < 1 || d->heads < 1 || s->hidden_size % s->heads || s->hidden_size % d->heads || s->layers < 1 ||
		d->layers < 1 || s->hidden_size < 4 || s->hidden_size % 2 || s->ffn_size < 1 || d->ffn_size < 1)
		config_fail(c, STATUS_BAD_INPUT, "%lld and %lld heads over %lld", (long long)s->heads, (long long)d->heads,
			(long long)s->hidden_size);
	else {
		s->head_width = s->hidden_size / s->heads;
		s->attention_scale = 1 / sqrt((double)s->head_width);
	}
}

void resolve_halves(struct spec *s, struct arena *a, const struct halves_sizes *d)
{
	if (!d->alone)
		resolve_half(s, a, "encoder", "encoder.");
	struct spec *second = resolve_half(s, a, "decoder", "decoder.");
	second->layers = second->layers_in_config = d->layers;
	second->heads = second->kv_heads = d->heads;
	second->ffn_size = d->ffn_size;
	second->vocab_size = d->vocab_size;
	second->head_width = s->hidden_size / d->heads;
	second->attention_scale = 1 / sqrt((double)second->head_width);
}
