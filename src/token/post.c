// SPDX-License-Identifier: Apache-2.0
// Post-processors: what is put around the tokens of a text or of a pair.
#include "token/inside.h"
#include "token/unicode.h"

enum { PARTS_MOST = 1000 };

static struct encoding one_token(struct arena *a, uint32_t id, uint32_t type, struct slice text)
{
	struct encoding e = { ARENA_NEW(a, struct token), 1, NULL, 0 };

	e.tokens[0] =
		(struct token){ .id = id, .type = type, .nbytes = (uint32_t)text.n, .flags = TOKEN_SPECIAL, .text = text.s };
	return e;
}

static void set_types(struct encoding *e, uint32_t type)
{
	for (size_t i = 0; i < e->count; i++)
		e->tokens[i].type = type;
}

// ---- ByteLevel: offsets without the blanks that a token begins or ends with -----------------------------------------------

static bool is_blank(uint32_t c)
{
	return c == 0x120 || unicode_is(c, UNICODE_SPACE);
}

static void trim_tokens(struct encoding *e, bool prefix_space)
{
	size_t length;

	for (size_t i = 0; i < e->count; i++) {
		struct token *t = &e->tokens[i];
		uint32_t leading = 0, trailing = 0;
		size_t at = 0, end = t->nbytes;
		for (; at < end && is_blank(utf8_next(t->text + at, &length)); at += length)
			leading++;
		for (; end > 0 && is_blank(utf8_last(t->text, t->text + end, &length)); end -= length)
			trailing++;
		if (leading) {
			if ((i == 0 || t->begin == 0) && prefix_space && leading == 1)
				leading = 0;
			t->begin = t->begin + leading < t->end ? t->begin + leading : t->end;
		}
		if (trailing && t->end >= trailing)
			t->end = t->end - trailing > t->begin ? t->end - trailing : t->begin;
	}
}

static void trim(struct parts *p, bool prefix_space)
{
	for (size_t i = 0; i < p->count; i++) {
		trim_tokens(&p->items[i], prefix_space);
		for (size_t k = 0; k < p->items[i].overflow_count; k++)
			trim_tokens(&p->items[i].overflow[k], prefix_space);
	}
}

static enum status byte_level(struct parts *p, const void *own, struct error *err)
{
	const struct byte_level *b = own;

	(void)err;
	if (b->trim)
		trim(p, b->prefix_space);
	return STATUS_OK;
}

// ---- BertProcessing, RobertaProcessing ------------------------------------------------------------------------------------

struct ends {
	struct slice sep, cls;
	uint32_t sep_id, cls_id;
	bool trim, prefix_space;
};

static enum status end_parse(
	const json_t *from, const char *key, struct arena *a, struct slice *text, uint32_t *id, struct error *err)
{
	const json_t *pair = json_object_get(from, key), *s = json_array_get(pair, 0), *n = json_array_get(pair, 1);

	if (!json_is_string(s) || !json_is_integer(n) || json_integer_value(n) < 0 || json_integer_value(n) > UINT32_MAX)
		return error_set(err, STATUS_BAD_INPUT, "\"%s\" is no pair of a text and an id", key);
	*text = slice_copy(a, (struct slice){ json_string_value(s), json_string_length(s) });
	*id = (uint32_t)json_integer_value(n);
	return STATUS_OK;
}

static enum status ends_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct ends *e = s->own = ARENA_NEW(a, struct ends);
	enum status status;

	e->trim = e->prefix_space = true;
	if ((status = end_parse(from, "sep", a, &e->sep, &e->sep_id, err)) ||
		(status = end_parse(from, "cls", a, &e->cls, &e->cls_id, err)) ||
		(status = member_bool(from, "trim_offsets", &e->trim, err)))
		return status;
	return member_bool(from, "add_prefix_space", &e->prefix_space, err);
}

// `first` (may be of no token) tokens `last`; the same around what was cut off.
static void surround(struct encoding *e, struct arena *a, const struct encoding *first, const struct encoding *last)
{
	struct token *tokens = ARENA_ARRAY(a, first->count + e->count + last->count, struct token);

	if (first->count)
		tokens[0] = first->tokens[0];
	if (e->count)
		memcpy(tokens + first->count, e->tokens, e->count * sizeof *tokens);
	for (size_t i = 0; i < last->count; i++)
		tokens[first->count + e->count + i] = last->tokens[i];
	e->tokens = tokens;
	e->count += first->count + last->count;
	for (size_t i = 0; i < e->overflow_count; i++)
		surround(&e->overflow[i], a, first, last);
}

static void clear_flags(struct encoding *e)
{
	for (size_t i = 0; i < e->count; i++)
		e->tokens[i].flags = 0;
}

static enum status bert(struct parts *p, const void *own, struct error *err)
{
	const struct ends *e = own;
	const struct encoding none = { 0 };

	(void)err;
	if (!p->add_special)
		return STATUS_OK;
	for (size_t i = 0; i < p->count; i++) {
		struct encoding cls = one_token(p->a, e->cls_id, 0, e->cls), sep = one_token(p->a, e->sep_id, i > 0, e->sep);
		clear_flags(&p->items[i]);
		surround(&p->items[i], p->a, i ? &none : &cls, &sep);
	}
	return STATUS_OK;
}

static enum status roberta(struct parts *p, const void *own, struct error *err)
{
	const struct ends *e = own;

	(void)err;
	if (e->trim)
		trim(p, e->prefix_space);
	for (size_t i = 0; i < p->count; i++)
		set_types(&p->items[i], 0);
	if (!p->add_special)
		return STATUS_OK;
	for (size_t i = 0; i < p->count; i++) {
		for (size_t k = 0; k < p->items[i].overflow_count; k++)
			set_types(&p->items[i].overflow[k], 0);
		struct encoding first = i ? one_token(p->a, e->sep_id, 0, e->sep) : one_token(p->a, e->cls_id, 0, e->cls),
				last = one_token(p->a, e->sep_id, 0, e->sep);
		clear_flags(&p->items[i]);
		surround(&p->items[i], p->a, &first, &last);
	}
	return STATUS_OK;
}

static size_t bert_adds(const void *own, bool pair)
{
	(void)own;
	return pair ? 3 : 2;
}

static size_t roberta_adds(const void *own, bool pair)
{
	(void)own;
	return pair ? 4 : 2;
}

// ---- TemplateProcessing ---------------------------------------------------------------------------------------------------

struct part { // of a template: a sequence (tokens NULL) or special tokens
	unsigned sequence;
	uint32_t type;
	struct encoding special; // of type 0; parts that name the same share it
	const json_t *named;     // while the file is read: what `special` was made of
	bool is_special;
};
struct template
{
	struct part *parts[2]; // of one text, of a pair
	size_t counts[2];
};

static enum status special_parse(struct part *p, struct arena *a, const char *id, const json_t *tokens, struct error *err)
{
	const json_t *token = json_object_get(tokens, id), *ids = json_object_get(token, "ids"),
		     *texts = json_object_get(token, "tokens");
	size_t n = json_array_size(ids);

	if (!json_is_array(ids) || json_array_size(texts) != n)
		return error_set(err, STATUS_BAD_INPUT, "the special token \"%s\" has no \"ids\" and \"tokens\"", id);
	p->special = (struct encoding){ ARENA_ARRAY(a, n + 1, struct token), n, NULL, 0 };
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(ids, i), *text = json_array_get(texts, i);
		if (!json_is_integer(one) || json_integer_value(one) < 0 || json_integer_value(one) > UINT32_MAX ||
			!json_is_string(text))
			return error_set(err, STATUS_BAD_INPUT, "an id or text of the special token \"%s\"", id);
		struct slice s = slice_copy(a, (struct slice){ json_string_value(text), json_string_length(text) });
		p->special.tokens[i] = (struct token){
			.id = (uint32_t)json_integer_value(one), .nbytes = (uint32_t)s.n, .flags = TOKEN_SPECIAL, .text = s.s
		};
	}
	return STATUS_OK;
}

// A part may be named a thousand times, and have any number of tokens: they are read once.
static enum status special_find(
	struct template *t, struct part *p, struct arena *a, const char *id, const json_t *tokens, struct error *err)
{
	p->is_special = true;
	p->named = json_object_get(tokens, id);
	for (int pair = 0; pair < 2; pair++)
		for (const struct part *q = t->parts[pair]; p->named && q && q < t->parts[pair] + t->counts[pair] && q != p; q++)
			if (q->named == p->named) {
				p->special = q->special;
				return STATUS_OK;
			}
	return special_parse(p, a, id, tokens, err);
}

static enum status part_parse(struct template *t, struct part *p, struct arena *a, const json_t *from, const json_t *tokens,
	bool pair, struct error *err)
{
	const json_t *special = json_object_get(from, "SpecialToken"), *sequence = json_object_get(from, "Sequence");
	const json_t *one = special ? special : sequence, *type = json_object_get(one, "type_id");
	const char *id = json_string_value(json_object_get(one, "id"));

	if (!id || !json_is_integer(type) || json_integer_value(type) < 0 || json_integer_value(type) > UINT32_MAX)
		return error_set(err, STATUS_BAD_INPUT, "a part of a template that is neither Sequence nor SpecialToken");
	p->type = (uint32_t)json_integer_value(type);
	if (special)
		return special_find(t, p, a, id, tokens, err);
	if (!text_is(id, "A") && !text_is(id, "B"))
		return error_set(err, STATUS_BAD_INPUT, "a template's sequence \"%s\"", id);
	p->sequence = id[0] == 'B';
	if (p->sequence && !pair)
		return error_set(err, STATUS_BAD_INPUT, "the template of a single text has the sequence B");
	return STATUS_OK;
}

static enum status template_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	static const char *const keys[] = { "single", "pair" };
	struct template *t = s->own = ARENA_NEW(a, struct template);
	enum status status = member_needed(from, "special_tokens", err);

	for (int pair = 0; pair < 2 && status == STATUS_OK; pair++) {
		const json_t *list = json_object_get(from, keys[pair]), *one;
		size_t i;
		if (!json_is_array(list) || json_array_size(list) > PARTS_MOST)
			return error_set(err, STATUS_BAD_INPUT, "\"%s\" is no list of at most %d parts", keys[pair], PARTS_MOST);
		t->counts[pair] = json_array_size(list);
		t->parts[pair] = ARENA_ARRAY(a, t->counts[pair] + 1, struct part);
		json_array_foreach(list, i, one) if ((status = part_parse(t, &t->parts[pair][i], a, one,
							      json_object_get(from, "special_tokens"), pair, err))) return status;
	}
	return status;
}

static struct encoding copy_encoding(struct arena *a, const struct encoding *e)
{
	struct encoding out = { ARENA_ARRAY(a, e->count + 1, struct token), e->count, NULL, e->overflow_count };

	if (e->count)
		memcpy(out.tokens, e->tokens, e->count * sizeof *e->tokens);
	out.overflow = ARENA_ARRAY(a, e->overflow_count + 1, struct encoding);
	for (size_t i = 0; i < e->overflow_count; i++)
		out.overflow[i] = copy_encoding(a, &e->overflow[i]);
	return out;
}

static enum status template_post(struct parts *p, const void *own, struct error *err)
{
	const struct template *t = own;
	bool pair = p->count > 1;
	size_t n = 0, tokens = 0, before = encoding_tokens(p->items, p->count);

	if (p->count > 2 || !p->count)
		return error_set(err, STATUS_BAD_INPUT, "a template behind a post-processor that leaves %zu parts", p->count);
	struct encoding *out = ARENA_ARRAY(p->a, t->counts[pair] + 1, struct encoding);
	for (size_t i = 0; i < t->counts[pair]; i++) {
		const struct part *part = &t->parts[pair][i];
		const struct encoding *e = part->is_special ? &part->special : &p->items[part->sequence];
		if (part->is_special && !p->add_special)
			continue;
		tokens += encoding_tokens(e, 1);
		enum status s = tokens_within(tokens, before, err);
		if (s)
			return s;
		out[n] = copy_encoding(p->a, e);
		set_types(&out[n++], part->type);
	}
	p->items = out;
	p->count = n;
	return STATUS_OK;
}

static size_t template_adds(const void *own, bool pair)
{
	const struct template *t = own;
	size_t n = 0;

	for (size_t i = 0; i < t->counts[pair]; i++)
		n += t->parts[pair][i].is_special ? t->parts[pair][i].special.count : 0;
	return n;
}

const struct step_kind post_kinds[] = {
	{ "BertProcessing", ends_parse, .post = bert, .adds = bert_adds },
	{ "ByteLevel", byte_level_parse, .post = byte_level },
	{ "RobertaProcessing", ends_parse, .post = roberta, .adds = roberta_adds },
	{ "TemplateProcessing", template_parse, .post = template_post, .adds = template_adds },
	{ .name = NULL },
};

size_t post_adds(const struct chain *c, bool pair)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->steps[i].kind->adds ? c->steps[i].kind->adds(c->steps[i].own, pair) : 0;
	return n;
}

// How many of the parts from `first` on have nothing that was cut off; one that has: 1.
static size_t whole_parts(const struct parts *p, size_t first)
{
	size_t n = first;

	while (n < p->count && !p->items[n].overflow_count)
		n++;
	return n > first ? n - first : 1;
}

// All of them in one list, which is made once: one merge for each part would copy what is there a thousand times.
static struct encoding one_list(struct arena *a, const struct encoding *parts, size_t count)
{
	if (count == 1)
		return parts[0];
	struct encoding e = { ARENA_ARRAY(a, encoding_tokens(parts, count) + 1, struct token), 0, NULL, 0 };
	for (size_t i = 0; i < count; i++) {
		if (parts[i].count)
			memcpy(e.tokens + e.count, parts[i].tokens, parts[i].count * sizeof *e.tokens);
		e.count += parts[i].count;
	}
	return e;
}

enum status post_process(const struct chain *c, struct parts *p, struct encoding *out, struct error *err)
{
	enum status s = STATUS_OK;

	for (size_t i = 0; c->count && i < p->count; i++)
		set_types(&p->items[i], (uint32_t)i);
	for (size_t i = 0; i < c->count && s == STATUS_OK; i++)
		s = c->steps[i].kind->post(p, c->steps[i].own, err);
	*out = (struct encoding){ 0 };
	for (size_t i = 0, n; i < p->count && s == STATUS_OK; i += n) {
		n = whole_parts(p, i);
		struct encoding list = one_list(p->a, &p->items[i], n);
		if (i)
			s = encoding_merge(out, p->a, &list, err);
		else
			*out = list;
	}
	return s;
}
