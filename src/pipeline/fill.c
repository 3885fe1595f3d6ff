// SPDX-License-Identifier: Apache-2.0
// fill-mask (FillMaskPipeline): the likeliest tokens at each mask of a text, all of the vocabulary's or those of `targets`.
#include <string.h>

#include "base/text.h"
#include "pipeline/inside.h"

struct filling {
	struct call *c;
	struct part *m;
	const struct encoding *e;
	const struct tensor *logits; // [1, tokens, vocabulary]
	const uint32_t *targets;     // NULL: the whole vocabulary
	size_t target_count, top, masks;
	int64_t pad;
};

// A target that is no token by itself stands for the first of its tokens.
static enum status read_targets(struct filling *f, struct error *err)
{
	const json_t *list = json_object_get(f->c->options, "targets"), *x;
	uint32_t *ids, id;
	struct encoding e;
	struct tokenizer *t;
	size_t i;
	enum status st = part_tokenizer(f->m, &t, err);

	if (st || !list || json_is_null(list))
		return st;
	if (!json_is_array(list) || !json_array_size(list) || json_array_size(list) > PIPELINE_LIST_MOST)
		return error_set(err, STATUS_BAD_INPUT, "targets should be a list of 1 to %d texts", PIPELINE_LIST_MOST);
	f->targets = ids = ARENA_ARRAY(f->c->a, json_array_size(list), uint32_t);
	json_array_foreach(list, i, x)
	{
		const struct token_text in = { .text = json_string_value(x), .nbytes = json_string_length(x) };
		size_t k = 0;

		if (!in.text)
			return error_set(err, STATUS_BAD_INPUT, "targets has something that is no text");
		if (!tokenizer_id(t, in.text, in.nbytes, &id)) {
			if ((st = tokenizer_encode_batch(t, f->c->a, &in, 1, false, NULL, NULL, &e, err)))
				return st;
			if (!e.count)
				continue;
			id = e.tokens[0].id;
		}
		while (k < f->target_count && ids[k] != id)
			k++;
		if (k == f->target_count)
			ids[f->target_count++] = id;
	}
	return f->target_count ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "no target is a token");
}

// The text with `id` at place `at`, without padding.
static enum status filled(const struct filling *f, size_t at, uint32_t id, char **out, struct error *err)
{
	uint32_t *ids = ARENA_ARRAY(f->c->a, f->e->count + 1, uint32_t);
	size_t n = 0;

	for (size_t i = 0; i < f->e->count; i++) {
		ids[n] = i == at ? id : f->e->tokens[i].id;
		n += ids[n] != f->pad;
	}
	return text_decode(f->m, f->c->a, ids, n, f->masks == 1, out, err);
}

static enum status fill_one(const struct filling *f, size_t at, json_t *row, struct error *err)
{
	size_t words = (size_t)f->logits->dim[2], count = f->targets ? f->target_count : words;
	double *all = elements_of(f->c->a, f->logits, at * words, words), *scores = all;
	enum status st;

	scores_softmax(all, words, all);
	if (f->targets)
		scores = ARENA_ARRAY(f->c->a, count, double);
	for (size_t i = 0; f->targets && i < count; i++) {
		if (f->targets[i] >= words)
			return error_set(err, STATUS_BAD_INPUT, "token %u is none of the model's", f->targets[i]);
		scores[i] = all[f->targets[i]];
	}
	const size_t *order = scores_order(f->c->a, scores, count);
	for (size_t i = 0; i < count && i < f->top; i++) {
		uint32_t id = f->targets ? f->targets[order[i]] : (uint32_t)order[i];
		char *sequence, *token;

		if ((st = filled(f, at, id, &sequence, err)) || (st = text_decode(f->m, f->c->a, &id, 1, false, &token, err)))
			return st;
		json_array_append_new(row,
			json_pack("{s:o, s:I, s:s, s:s}", "score", json_real(scores[order[i]]), "token", (json_int_t)id,
				"token_str", token, "sequence", sequence));
	}
	return STATUS_OK;
}

// A list; of several masks a list of lists.
static enum status fill_all(struct filling *f, int64_t mask, json_t **out, struct error *err)
{
	json_t *rows = json_array();
	enum status st = STATUS_OK;

	for (size_t i = 0; i < f->e->count && !st; i++) {
		if (f->e->tokens[i].id != mask)
			continue;
		json_t *row = json_array();
		st = fill_one(f, i, row, err);
		json_array_append_new(rows, row);
	}
	*out = st ? NULL : json_incref(f->masks == 1 ? json_array_get(rows, 0) : rows);
	json_decref(rows);
	return st;
}

TASK(fill_mask)
{
	struct filling f = { .c = c };
	struct encoding e;
	struct tensor *given;
	const char *text;
	int64_t top, mask;
	size_t n;
	enum status st = part_open(c->p, ".", &f.m, err);

	if (st || (st = call_text(c, "text", &text, err)) ||
		(st = option_integer(c, "top_k", 1, PIPELINE_LIST_MOST, 5, &top, err)) || (st = read_targets(&f, err)) ||
		(st = text_encode(f.m, c->a, text, NULL, NULL, &e, err)))
		return st;
	if ((mask = part_special_id(f.m, "mask_token")) < 0)
		return error_set(err, STATUS_BAD_INPUT, "the tokenizer has no mask token");
	for (size_t i = 0; i < e.count; i++)
		f.masks += e.tokens[i].id == mask;
	if (!f.masks)
		return error_set(err, STATUS_BAD_INPUT, "the text has no %s", part_special(f.m, "mask_token"));
	if ((st = text_run(f.m, c->a, &e, &given, &n, err)))
		return st;
	if (!(f.logits = part_output(given, n, "logits", 3, err)) || f.logits->dim[1] != (int64_t)e.count)
		return f.logits ? error_set(err, STATUS_UNSUPPORTED, "the model gives no logits of each token") : err->status;
	f.e = &e;
	f.top = (size_t)top;
	f.pad = part_special_id(f.m, "pad_token");
	return fill_all(&f, mask, &out->json, err);
}
