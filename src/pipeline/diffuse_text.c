// SPDX-License-Identifier: Apache-2.0
// Texts of the pipelines of diffusers: which text an encoder reads, and what several encoders give together.
#include <string.h>

#include "base/text.h"
#include "pipeline/diffuse.h"
#include "pipeline/pictures.h"

enum status diffuse_length(struct diffusion *d, const struct diffuse_encoder *encoder, int64_t *out, struct error *err)
{
	struct part *m;
	enum status st = part_open(d->c->p, encoder->name, &m, err);

	if (st || (st = part_words(m, encoder->tokenizer, err)))
		return st;
	int64_t own = (int64_t)part_max_length(m), most = m->hints.max_sequence;
	*out = own > 0 && (most <= 0 || own <= most) ? own : most;
	return *out > 0 && *out <= DIFFUSE_SEQUENCE_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "%s: texts of %lld tokens, and 1 to %d are supported", encoder->tokenizer,
			  (long long)*out, DIFFUSE_SEQUENCE_MOST);
}

static enum status open_words(struct diffusion *d, const struct diffuse_encoder *encoder, struct part **out, struct error *err)
{
	enum status st = part_open(d->c->p, encoder->name, out, err);

	if (st || (st = part_words(*out, encoder->tokenizer, err)))
		return st;
	return part_tokenizer_class(*out, diffuse_class_of(d, encoder->tokenizer), err);
}

static enum status run_texts(struct diffusion *d, struct part *m, const struct diffuse_encoder *encoder, const struct inputs *in,
	struct diffuse_output *out, size_t out_count, struct error *err)
{
	const struct arch_graph *graph = part_graph_named(m, encoder->graph);
	struct outputs given;
	enum status st;

	if (!graph)
		return error_set(err, STATUS_UNSUPPORTED, "%s: a model without layers", encoder->name);
	if ((st = part_run(m, graph, in->items, in->count, d->c->a, &given.items, &given.count, err)))
		return st;
	for (size_t i = 0; i < out_count; i++) {
		if (!(out[i].is = part_output(given.items, given.count, out[i].name, out[i].rank, err)))
			return err->status;
		if (out[i].is->dim[0] != in->items[0].dim[0])
			return error_set(err, STATUS_FAILED, "%s: not one %s a text", encoder->name, out[i].name);
	}
	return STATUS_OK;
}

enum status diffuse_texts(struct diffusion *d, const struct diffuse_encoder *encoder, const char *const *texts, size_t count,
	int64_t length, struct diffuse_output *out, size_t out_count, struct error *err)
{
	struct inputs in = { 0 };
	struct part *m;
	enum status st;

	if ((st = open_words(d, encoder, &m, err)) || (st = texts_inputs(d->c, m, texts, count, (size_t)length, &in, err)))
		return st;
	if (json_is_true(json_object_get(m->config, "use_attention_mask")))
		return error_set(err, STATUS_UNSUPPORTED, "%s: use_attention_mask is not supported yet", encoder->name);
	in.count = 1; // without the mask
	return run_texts(d, m, encoder, &in, out, out_count, err);
}

enum status diffuse_masked_texts(struct diffusion *d, const struct diffuse_encoder *encoder, const char *const *texts,
	size_t count, int64_t length, struct diffuse_output *out, struct tensor *mask, struct error *err)
{
	struct inputs in = { 0 };
	struct part *m;
	enum status st;

	if ((st = open_words(d, encoder, &m, err)) || (st = texts_inputs(d->c, m, texts, count, (size_t)length, &in, err)) ||
		(st = run_texts(d, m, encoder, &in, out, 1, err)))
		return st;
	const size_t n = count * (size_t)length;
	float *all = ARENA_ARRAY(d->c->a, n + 1, float);
	for (size_t i = 0; i < n; i++)
		all[i] = (float)((const int64_t *)in.items[1].data)[i];
	*mask = (struct tensor){
		.dtype = DTYPE_F32, .rank = 2, .dim = { (int64_t)count, length }, .data = all, .nbytes = n * sizeof *all
	};
	return STATUS_OK;
}

enum status diffuse_tokens(
	struct diffusion *d, const struct diffuse_encoder *encoder, const char *text, int64_t *out, struct error *err)
{
	struct encoding e;
	struct part *m;
	enum status st = open_words(d, encoder, &m, err);

	if (st || (st = text_encode(m, d->c->a, text, NULL, NULL, &e, err)))
		return st;
	*out = (int64_t)e.count;
	return STATUS_OK;
}

// ---- which text -----------------------------------------------------------------------------------------------------------

// A member of the input or an option; without it, or where it is empty, `otherwise`.
static enum status asked_text(
	const struct diffusion *d, const char *key, const char *otherwise, const char **out, struct error *err)
{
	enum status st = call_has(d->c, key) ? call_text(d->c, key, out, err) : option_text(d->c, key, otherwise, out, err);

	if (!st && !**out)
		*out = otherwise;
	return st;
}

enum status diffuse_prompts(const struct diffusion *d, size_t which, const char *texts[2], struct error *err)
{
	static const char *const more[][2] = { { "negative_prompt_2", "prompt_2" }, { "negative_prompt_3", "prompt_3" } };
	enum status st = call_text(d->c, "prompt", &texts[1], err);

	if (!st)
		st = asked_text(d, "negative_prompt", "", &texts[0], err);
	for (size_t i = 0; i < 2 && which > 0 && !st; i++)
		st = asked_text(d, more[which - 1][i], texts[i], &texts[i], err);
	return st;
}

// ---- several encoders -------------------------------------------------------------------------------------------------------

struct tensor diffuse_beside(struct arena *a, const struct tensor *const *parts, size_t count, int64_t least)
{
	struct tensor out = *parts[0];
	int64_t width = 0, rows = 1, at = 0;

	for (int i = 0; i + 1 < out.rank; i++)
		rows *= out.dim[i];
	for (size_t i = 0; i < count; i++)
		width += parts[i]->dim[out.rank - 1];
	width = width > least ? width : least;
	out.dim[out.rank - 1] = width;
	out.nbytes = (size_t)(rows * width) * sizeof(float);
	float *all = out.data = ARENA_ARRAY(a, rows * width + 1, float);
	for (size_t i = 0; i < count; i++) {
		int64_t own = parts[i]->dim[out.rank - 1];

		for (int64_t r = 0; r < rows; r++)
			memcpy(all + r * width + at, (const float *)parts[i]->data + r * own, (size_t)own * sizeof *all);
		at += own;
	}
	return out;
}

enum status diffuse_clip(struct diffusion *d, const struct diffuse_encoder *encoders, const bool *pooled, size_t count,
	size_t rows, struct tensor *states, struct tensor *pooled_states, struct error *err)
{
	const struct tensor *each[DIFFUSE_ENCODERS_MOST], *projected[DIFFUSE_ENCODERS_MOST];
	size_t projected_count = 0;
	int64_t first = 0, length;
	enum status st;

	for (size_t i = 0; i < count; i++) {
		struct diffuse_output out[] = { { "penultimate_hidden_state", 3, NULL }, { "text_embeds", 2, NULL } };
		const char *texts[2];

		if ((st = diffuse_length(d, &encoders[i], &length, err)) || (st = diffuse_prompts(d, i, texts, err)))
			return st;
		first = i ? first : length;
		if (length != first)
			return error_set(err, STATUS_UNSUPPORTED, "%s: texts of %lld tokens, those of %s have %lld",
				encoders[i].tokenizer, (long long)length, encoders[0].tokenizer, (long long)first);
		if ((st = diffuse_texts(d, &encoders[i], texts + 2 - rows, rows, length, out, pooled[i] ? 2 : 1, err)))
			return st;
		each[i] = out[0].is;
		if (pooled[i])
			projected[projected_count++] = out[1].is;
	}
	*states = diffuse_beside(d->c->a, each, count, 0);
	*pooled_states = diffuse_beside(d->c->a, projected, projected_count, 0);
	return STATUS_OK;
}

enum status diffuse_joint_texts(
	struct diffusion *d, int64_t usual, struct diffuse_output *states, struct tensor *mask, struct error *err)
{
	static const struct diffuse_encoder encoder = { "text_encoder", "tokenizer", "model.onnx" };
	const char *texts[2];
	int64_t length;
	enum status st;

	d->guided = d->guidance > 1;
	*states = (struct diffuse_output){ "last_hidden_state", 3, NULL };
	if ((st = option_integer(d->c, "max_sequence_length", 1, DIFFUSE_SEQUENCE_MOST, usual, &length, err)) ||
		(st = diffuse_prompts(d, 0, texts, err)) ||
		(st = diffuse_masked_texts(
			 d, &encoder, d->guided ? texts : texts + 1, d->guided ? 2 : 1, length, states, mask, err)))
		return st;
	return diffuse_check_width(d, "joint_attention_dim", states->is->dim[2], encoder.name, err);
}
