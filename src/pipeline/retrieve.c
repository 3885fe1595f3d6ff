// SPDX-License-Identifier: Apache-2.0
// retrieval-augmented-generation: the passages nearest to a question by an encoder's vectors, put into a template, and what a
// decoder writes behind it. Which models, passages, template: the option `retrieval`, an object.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "pipeline/choose.h"
#include "pipeline/states.h"

enum { PASSAGES_MOST = 16 << 20 }; // bytes of all, each with the prefix

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

static enum status check_bytes(const struct part *m, const char *what, size_t nbytes, struct error *err)
{
	size_t tokens = text_most(m), most = tokenizer_bytes_most(tokens);
	char takes[64] = "";

	if (nbytes <= most)
		return STATUS_OK;
	if (tokens)
		snprintf(takes, sizeof takes, ", which takes %zu tokens", tokens);
	return error_set(err, STATUS_BAD_INPUT, "retrieval: %s of %zu bytes; at most %zu are given to the model %s%s", what,
		nbytes, most, m->name, takes);
}

static const char *word(const struct retrieval *r, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(r->o, key));

	return text ? text : otherwise;
}

static enum status read_passages(struct retrieval *r, struct error *err)
{
	const json_t *x = json_object_get(r->o, "passages");
	const char *file = json_string_value(x), *path;
	size_t prefix = strlen(word(r, "passage_prefix", "")), total = 0;
	enum status st;

	if (file && (!part_is_within(file) || !text_ends(file, ".json")))
		return error_set(err, STATUS_BAD_INPUT, "retrieval: %s is no .json file of the model's folder", file);
	if (file &&
		((st = file_inside(r->c->a, r->c->p->folder, file, &path, err)) ||
			(st = json_file(path, PIPELINE_JSON_MOST, &r->file, err))))
		return st;
	r->passages = file ? r->file : x;
	if (!json_array_size(r->passages) || json_array_size(r->passages) > PIPELINE_LIST_MOST)
		return error_set(
			err, STATUS_BAD_INPUT, "retrieval: passages should be a list of 1 to %d texts", PIPELINE_LIST_MOST);
	for (size_t i = 0; i < json_array_size(r->passages); i++) {
		const json_t *passage = json_array_get(r->passages, i);
		size_t nbytes = json_string_length(passage) + prefix;
		if (!json_is_string(passage))
			return error_set(err, STATUS_BAD_INPUT, "retrieval: a passage that is no text");
		if ((st = check_bytes(r->encoder, "a passage", nbytes, err)))
			return st;
		if ((total += nbytes) > PASSAGES_MOST)
			return error_set(err, STATUS_BAD_INPUT, "retrieval: passages of more than %d MiB with their prefixes",
				PASSAGES_MOST >> 20);
	}
	return STATUS_OK;
}

static enum status check_members(const json_t *o, struct error *err)
{
	static const char *const texts[] = { "encoder", "decoder", "template", "separator", "pooling", "query_prefix",
		"passage_prefix" };
	const char *name;
	const json_t *x;

	json_object_foreach((json_t *)(uintptr_t)o, name, x)
	{
		bool is_known = text_is(name, "passages") || (text_is(name, "top_k") && json_is_integer(x)) ||
			(text_is(name, "normalize") && json_is_boolean(x));

		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			is_known = is_known || (text_is(name, texts[i]) && json_is_string(x));
		if (!is_known)
			return error_set(err, STATUS_BAD_INPUT,
				"retrieval: %s is no member of it, or not of its type: passages; encoder, decoder, template, "
				"separator, pooling, query_prefix, passage_prefix (texts); top_k (a number); normalize (true or "
				"false)",
				name);
	}
	return STATUS_OK;
}

static enum status read_retrieval(struct retrieval *r, struct error *err)
{
	const char *pooling;
	const json_t *top;
	enum status st;

	r->o = json_object_get(r->c->options, "retrieval");
	if (!json_is_object(r->o))
		return error_set(err, STATUS_BAD_INPUT,
			"%s needs the option retrieval, an object: passages, encoder, decoder, template, ...",
			r->c->p->task->name);
	if ((st = check_members(r->o, err)))
		return st;
	pooling = word(r, "pooling", "mean");
	if (!text_is(pooling, "mean") && !text_is(pooling, "cls"))
		return error_set(err, STATUS_BAD_INPUT, "retrieval: pooling is mean or cls, not '%s'", pooling);
	r->pooling = 1u << (text_is(pooling, "cls") ? POOL_FIRST : POOL_MEAN);
	r->unit = !json_is_false(json_object_get(r->o, "normalize"));
	top = json_object_get(r->o, "top_k");
	if (top && (json_integer_value(top) < 1 || json_integer_value(top) > PIPELINE_LIST_MOST))
		return error_set(err, STATUS_BAD_INPUT, "retrieval: top_k is a number from 1 to %d", PIPELINE_LIST_MOST);
	r->top = top ? (size_t)json_integer_value(top) : 1;
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

// The best passages, a separator between.
static enum status join(struct retrieval *r, const size_t *order, size_t count, struct text *out, struct error *err)
{
	const char *separator = word(r, "separator", "\n");
	enum status st = STATUS_OK;

	for (size_t i = 0; i < count && !st; i++) {
		text_add(out, i ? separator : "");
		text_add(out, json_string_value(json_array_get(r->passages, order[i])));
		st = check_bytes(r->decoder, "a context", out->length, err);
	}
	return st;
}

// The template with {context} and {question}; a "{" that begins neither stands for itself.
static enum status fill(struct retrieval *r, const char *context, const char *question, const char **prompt, struct error *err)
{
	struct text out = { 0 };
	const char *at = word(r, "template", "{context}\n{question}");
	enum status st = STATUS_OK;

	while (*at && !st) {
		const char *from = text_starts(at, "{context}") ? context : text_starts(at, "{question}") ? question : NULL;
		if (from)
			text_add(&out, from);
		else
			text_add_bytes(&out, at, 1);
		at += from ? strcspn(at, "}") + 1 : 1;
		st = check_bytes(r->decoder, "a prompt", out.length, err);
	}
	*prompt = arena_strdup(r->c->a, st ? "" : text_get(&out));
	text_done(&out);
	return st;
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
	const char *prompt;
	struct text context = { 0 };
	double *scores;
	size_t asked = strlen(word(r, "query_prefix", "")) + strlen(question);
	enum status st = check_bytes(r->encoder, "a question", asked, err);

	json_object_set_new(o, "passages", places);
	json_object_set_new(o, "scores", numbers);
	if (st || (st = score(r, question, &scores, err)))
		return st;
	const size_t *order = scores_order(r->c->a, scores, count);
	for (size_t i = 0; i < count && i < r->top; i++) {
		json_array_append_new(places, json_integer((json_int_t)order[i]));
		json_array_append_new(numbers, json_real(scores[order[i]]));
	}
	json_object_set_new(o, "next_score", r->top < count ? json_real(scores[order[r->top]]) : json_null());
	if (!(st = join(r, order, r->top < count ? r->top : count, &context, err)) &&
		!(st = fill(r, text_get(&context), question, &prompt, err)))
		st = write_answer(r, prompt, o, err);
	text_done(&context);
	return st;
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
