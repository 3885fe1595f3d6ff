// SPDX-License-Identifier: Apache-2.0
// retrieval-augmented-generation: the passages nearest to a question by an encoder's vectors, put into a template, and what a
// decoder writes behind it. Which models, passages, template: the option `retrieval`, an object.
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "pipeline/choose.h"
#include "pipeline/states.h"

struct retrieval {
	struct call *c;
	const json_t *o;
	struct part *encoder, *decoder;
	json_t *file; // passages, where they are a file's
	const json_t *passages;
	size_t top;
	unsigned pooling;
	bool unit;
};

static const char *word(const struct retrieval *r, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(r->o, key));

	return text ? text : otherwise;
}

static enum status read_passages(struct retrieval *r, struct error *err)
{
	const json_t *x = json_object_get(r->o, "passages");
	const char *file = json_string_value(x);
	enum status st;

	if (file && (*file == '/' || strstr(file, "..")))
		return error_set(err, STATUS_BAD_INPUT, "retrieval: %s is no file of the model's folder", file);
	if (file && (st = json_file(arena_printf(r->c->a, "%s/%s", r->c->p->folder, file), PIPELINE_JSON_MOST, &r->file, err)))
		return st;
	r->passages = file ? r->file : x;
	if (!json_array_size(r->passages) || json_array_size(r->passages) > PIPELINE_LIST_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "retrieval: passages should be a list of 1 to %d texts", PIPELINE_LIST_MOST);
	for (size_t i = 0; i < json_array_size(r->passages); i++)
		if (!json_is_string(json_array_get(r->passages, i)))
			return error_set(err, STATUS_BAD_INPUT, "retrieval: a passage that is no text");
	return STATUS_OK;
}

static enum status read_retrieval(struct retrieval *r, struct error *err)
{
	const char *pooling;
	json_int_t top;
	enum status st;

	r->o = json_object_get(r->c->options, "retrieval");
	if (!json_is_object(r->o))
		return error_set(err, STATUS_BAD_INPUT,
			"%s needs the option retrieval, an object: passages, encoder, decoder, template, ...",
			r->c->p->task->name);
	pooling = word(r, "pooling", "mean");
	if (!text_is(pooling, "mean") && !text_is(pooling, "cls"))
		return error_set(err, STATUS_BAD_INPUT, "retrieval: pooling is mean or cls, not '%s'", pooling);
	r->pooling = 1u << (text_is(pooling, "cls") ? POOL_FIRST : POOL_MEAN);
	r->unit = !json_is_false(json_object_get(r->o, "normalize"));
	top = json_integer_value(json_object_get(r->o, "top_k"));
	r->top = top > 0 && top <= PIPELINE_LIST_MOST ? (size_t)top : 1;
	if ((st = part_open(r->c->p, word(r, "encoder", "encoder"), &r->encoder, err)) ||
		(st = part_open(r->c->p, word(r, "decoder", "decoder"), &r->decoder, err)) ||
		(st = parts_known_of((struct part *[]){ r->encoder, r->decoder }, 2, err)))
		return st;
	return read_passages(r, err);
}

static enum status vector(struct retrieval *r, const char *prefix, const char *text, struct vector *out, struct error *err)
{
	struct truncation cut;
	bool cuts = text_cut(r->encoder, LONGEST_FIRST, &cut);

	return vector_of(
		r->c, r->encoder, arena_printf(r->c->a, "%s%s", prefix, text), cuts ? &cut : NULL, r->pooling, r->unit, out, err);
}

static enum status score(struct retrieval *r, const char *question, double **out, struct error *err)
{
	size_t count = json_array_size(r->passages);
	struct vector asked, one;
	enum status st = vector(r, word(r, "query_prefix", ""), question, &asked, err);

	*out = ARENA_ARRAY(r->c->a, count + 1, double);
	for (size_t i = 0; i < count && !st; i++)
		if (!(st = vector(
			      r, word(r, "passage_prefix", ""), json_string_value(json_array_get(r->passages, i)), &one, err)))
			(*out)[i] = vector_dot(&asked, &one);
	return st;
}

// The template with {context} and {question}; a "{" that begins neither stands for itself.
static const char *fill(struct retrieval *r, const char *context, const char *question)
{
	struct text out = { 0 };
	const char *at = word(r, "template", "{context}\n{question}");

	while (*at)
		if (text_starts(at, "{context}")) {
			text_add(&out, context);
			at += strlen("{context}");
		} else if (text_starts(at, "{question}")) {
			text_add(&out, question);
			at += strlen("{question}");
		} else {
			text_add_bytes(&out, at++, 1);
		}
	const char *text = arena_strdup(r->c->a, text_get(&out));
	text_done(&out);
	return text;
}

static enum status write_answer(struct retrieval *r, const char *prompt, json_t *o, struct error *err)
{
	struct part *m = r->decoder;
	struct encoding e;
	struct tensor *in;
	struct decoding d;
	int64_t *ids;
	size_t n, count;
	char *text;
	enum status st = text_encode(m, r->c->a, prompt, NULL, NULL, &e, err);

	if (st || (st = text_tensors(m, r->c->a, &e, &in, &n, err)) ||
		(st = decoding_read(m, r->c->a, r->c->options, (int64_t)e.count, NEW_TOKENS_USUAL, &d, err)) ||
		(st = generate_text(m, r->c->a, &d, in[0].data, NULL, 0, &ids, &count, err)) ||
		(st = generated_decode(m, r->c->a, ids + e.count, count - e.count, &text, err)))
		return st;
	json_object_set_new(o, "prompt", json_string(prompt));
	json_object_set_new(o, "token_ids", generated_ids(ids + e.count, count - e.count));
	json_object_set_new(o, "text", json_string(text));
	return STATUS_OK;
}

static enum status answer(struct retrieval *r, const char *question, json_t *o, struct error *err)
{
	size_t count = json_array_size(r->passages);
	json_t *places = json_array(), *numbers = json_array();
	const char *context = "";
	double *scores;
	enum status st = score(r, question, &scores, err);

	json_object_set_new(o, "passages", places);
	json_object_set_new(o, "scores", numbers);
	if (st)
		return st;
	const size_t *order = scores_order(r->c->a, scores, count);
	for (size_t i = 0; i < count && i < r->top; i++) {
		const char *passage = json_string_value(json_array_get(r->passages, order[i]));
		json_array_append_new(places, json_integer((json_int_t)order[i]));
		json_array_append_new(numbers, json_real(scores[order[i]]));
		context = arena_printf(r->c->a, "%s%s%s", context, i ? word(r, "separator", "\n") : "", passage);
	}
	json_object_set_new(o, "next_score", r->top < count ? json_real(scores[order[r->top]]) : json_null());
	return write_answer(r, fill(r, context, question), o, err);
}

TASK(retrieval_augmented_generation)
{
	struct retrieval r = { .c = c };
	const char *question;
	enum status st = call_text(c, "question", &question, err);

	if (!st)
		st = read_retrieval(&r, err);
	out->json = json_object();
	if (!st)
		st = answer(&r, question, out->json, err);
	json_decref(r.file);
	return st;
}
