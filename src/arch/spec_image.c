// SPDX-License-Identifier: Apache-2.0
// From a configuration to a spec: what models that look at images say of sizes, and what backbones say of their results.
#include <ctype.h>
#include <string.h>

#include "arch/spec.h"

// A number, or a list of height and width.
static void pair(struct config *c, const char *key, int64_t *height, int64_t *width)
{
	const json_t *v = config_get(c, key);
	if (!json_is_array(v)) {
		*height = *width = config_size(c, key, -1);
		return;
	}
	int64_t n[2] = { 0, 0 };
	for (size_t i = 0; i < 2; i++) {
		const json_t *x = json_array_get(v, i);
		n[i] = json_is_integer(x) && json_integer_value(x) > 0 && json_integer_value(x) <= 1 << 16 ? json_integer_value(x)
													   : 0;
	}
	if (json_array_size(v) != 2 || !n[0] || !n[1])
		config_fail(c, STATUS_BAD_INPUT, "%s should be a number or a list of height and width", key);
	*height = n[0];
	*width = n[1];
}

void resolve_image(struct config *c, struct spec *s)
{
	pair(c, "image_size", &s->image_size, &s->image_width);
	pair(c, "patch_size", &s->patch_size, &s->patch_width);
	s->channels = config_size(c, "num_channels", 3);
	s->pooler_size = config_size(c, "pooler_output_size", s->hidden_size);
	s->pooler_act = config_activation(c, "pooler_act", ACT_TANH);
	s->swiglu = config_bool(c, "use_swiglu_ffn", false);
	if (!s->ffn_size)
		s->ffn_size = (int64_t)((double)s->hidden_size * config_real(c, "mlp_ratio", 4));
	bool bad = s->patch_size < 1 || s->patch_width < 1 || s->image_size < s->patch_size || s->image_width < s->patch_width ||
		s->image_size > 1 << 16 || s->image_width > 1 << 16 || s->channels < 1;
	if (!c->error.status && bad)
		config_fail(c, STATUS_BAD_INPUT, "images of %lld by %lld in patches of %lld by %lld", (long long)s->image_size,
			(long long)s->image_width, (long long)s->patch_size, (long long)s->patch_width);
	if (!c->error.status)
		s->image_tokens = (s->image_size / s->patch_size) * (s->image_width / s->patch_width) + 1;
}

// "stem", "stage1", .. in transformers; "act1", "layer1", .. in timm: the first has no number that counts.
static int64_t stage_of(const char *name)
{
	size_t n = name ? strlen(name) : 0, digits = n;
	if (!n || text_is(name, "stem") || text_is(name, "act1"))
		return n ? 0 : -1;
	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	int64_t number;
	return digits < n && text_to_int(name + digits, 0, 1 << 16, &number) ? number : -1;
}

void resolve_outputs_from(struct config *c, struct spec *s, struct arena *a, int64_t first, int64_t stages)
{
	const json_t *names = config_get(c, "out_features"), *numbers = config_get(c, "out_indices");
	const json_t *list = json_is_array(names) ? names : numbers;
	size_t n = json_is_array(list) ? json_array_size(list) : 1;
	if (n > (size_t)stages + 1) { // each once; who reads them holds each against the others
		config_fail(c, STATUS_BAD_INPUT, "out_features or out_indices name %zu stages, and there are %lld", n,
			(long long)stages + 1);
		n = 0;
	}
	int64_t *out = ARENA_ARRAY(a, n + 1, int64_t);
	out[0] = stages;
	for (size_t i = 0; json_is_array(list) && i < n; i++) {
		const json_t *v = json_array_get(list, i);
		int64_t at = json_is_string(v) ? stage_of(json_string_value(v))
			: json_is_integer(v)   ? json_integer_value(v)
					       : INT64_MAX;
		out[i] = json_is_string(v) ? at : at < 0 ? at + stages + 1 : at == INT64_MAX ? at : at + first;
		if (out[i] < first || out[i] > stages)
			config_fail(c, STATUS_BAD_INPUT, "out_features or out_indices name a stage that is not there");
	}
	s->out_indices = out;
	s->out_count = (int64_t)n;
}

void resolve_outputs(struct config *c, struct spec *s, struct arena *a, int64_t stages)
{
	resolve_outputs_from(c, s, a, 0, stages);
}

const int64_t *resolve_stages(struct config *c, const char *key, struct arena *a, int64_t stages, int64_t least)
{
	int64_t n = 0;
	const int64_t *x = config_sizes(c, key, a, 0, &n);
	if (!c->error.status && n < stages)
		config_fail(c, STATUS_BAD_INPUT, "%s should have a number for each of %lld stages", key, (long long)stages);
	for (int64_t i = 0; !c->error.status && i < stages; i++)
		if (x[i] < least || x[i] > 1 << 20)
			config_fail(c, STATUS_BAD_INPUT, "%s has a number that cannot be", key);
	return x;
}

void resolve_pair(struct config *c, struct arena *a, const char *key, int64_t usual, int64_t least, int64_t out[2])
{
	int64_t count = 0;
	const int64_t *v = config_sizes(c, key, a, 2, &count);
	out[0] = v && count ? v[0] : usual;
	out[1] = v && count > 1 ? v[1] : out[0];
	if (!c->error.status && (out[0] < least || out[1] < least || out[0] > 1 << 14 || out[1] > 1 << 14))
		config_fail(c, STATUS_BAD_INPUT, "%s: %lld and %lld", key, (long long)out[0], (long long)out[1]);
}

void resolve_backbone_image(struct spec *s, const struct spec *backbone)
{
	bool any = backbone->row->family->hints != NULL;
	s->channels = backbone->channels;
	s->image_size = any ? 0 : backbone->image_size;
	s->image_width = any ? 0 : backbone->image_width;
}
