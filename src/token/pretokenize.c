// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers: steps that take the text apart into words.
#include "token/inside.h"
#include "token/unicode.h"

// ---- by a property of characters ------------------------------------------------------------------------------------------

static bool is_space(uint32_t c)
{
	return unicode_is(c, UNICODE_SPACE);
}

static bool is_punct(uint32_t c)
{
	return c < 0x80 ? ascii_is_punct(c) : unicode_is(c, UNICODE_PUNCT);
}

static bool is_numeric(uint32_t c)
{
	return unicode_is(c, UNICODE_NUMERIC);
}

static void find_spaces(struct flow *f, const char *s, size_t n, const void *own)
{
	(void)own;
	flow_match_each(f, s, n, is_space);
}

static void find_punct(struct flow *f, const char *s, size_t n, const void *own)
{
	(void)own;
	flow_match_each(f, s, n, is_punct);
}

static void find_numeric(struct flow *f, const char *s, size_t n, const void *own)
{
	(void)own;
	flow_match_each(f, s, n, is_numeric);
}

static void whitespace_split(struct flow *f, const void *own)
{
	(void)own;
	flow_split(f, find_spaces, NULL, REMOVED, false);
}

static void bert(struct flow *f, const void *own)
{
	(void)own;
	flow_split(f, find_spaces, NULL, REMOVED, false);
	flow_split(f, find_punct, NULL, ISOLATED, false);
}

// \w+|[^\w\s]+: runs of one kind; white space falls out.
static void cut_words(struct flow *f, const struct piece *p, void *own)
{
	const char *s = f->text + p->at;
	size_t begin = 0, length;
	unsigned kind = UNICODE_SPACE;

	(void)own;
	for (size_t i = 0; i < p->nbytes; i += length) {
		unsigned flags = unicode_of(utf8_next(s + i, &length))->flags;
		unsigned now = flags & UNICODE_WORD ? UNICODE_WORD : flags & UNICODE_SPACE;
		if (now == kind)
			continue;
		if (kind != UNICODE_SPACE)
			flow_piece(f, p, begin, i);
		begin = i;
		kind = now;
	}
	if (kind != UNICODE_SPACE)
		flow_piece(f, p, begin, p->nbytes);
}

static void whitespace(struct flow *f, const void *own)
{
	(void)own;
	flow_cut(f, cut_words, NULL);
}

struct digits {
	bool individual;
};

static enum status digits_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct digits *d = s->own = ARENA_NEW(a, struct digits);
	enum status status = member_needed(from, "individual_digits", err);

	return status ? status : member_bool(from, "individual_digits", &d->individual, err);
}

static void digits(struct flow *f, const void *own)
{
	const struct digits *d = own;

	flow_split(f, find_numeric, NULL, d->individual ? ISOLATED : CONTIGUOUS, false);
}

static enum status behaviour_parse(const json_t *from, enum behaviour *out, struct error *err)
{
	static const char *const names[] = { "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous" };
	const char *word = json_string_value(json_object_get(from, "behavior"));

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (text_is(word, names[i])) {
			*out = (enum behaviour)i;
			return STATUS_OK;
		}
	return error_set(err, STATUS_BAD_INPUT, "\"behavior\" \"%s\" is not known", word ? word : "(none)");
}

static enum status punctuation_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	enum behaviour *b = s->own = ARENA_NEW(a, enum behaviour);

	*b = ISOLATED;
	return json_object_get(from, "behavior") ? behaviour_parse(from, b, err) : STATUS_OK;
}

static void punctuation(struct flow *f, const void *own)
{
	flow_split(f, find_punct, NULL, *(const enum behaviour *)own, false);
}

// ---- by a text, by a length, by script ------------------------------------------------------------------------------------

struct split {
	struct pattern *pattern;
	enum behaviour behaviour;
	bool invert;
};

static enum status split_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct split *p = s->own = ARENA_NEW(a, struct split);
	enum status status;

	if ((status = member_pattern(from, s->patterns, &p->pattern, err)) ||
		(status = behaviour_parse(from, &p->behaviour, err)) || (status = member_needed(from, "invert", err)))
		return status;
	return member_bool(from, "invert", &p->invert, err);
}

static void split(struct flow *f, const void *own)
{
	const struct split *p = own;

	flow_split(f, pattern_find, p->pattern, p->behaviour, p->invert);
}

static enum status delimiter_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	uint32_t code;
	char text[4];
	enum status status = member_char(from, "delimiter", &code, err);

	if (status == STATUS_OK)
		s->own = pattern_literal(a, text, utf8_put(text, code));
	return status;
}

static void delimiter(struct flow *f, const void *own)
{
	flow_split(f, pattern_find, own, REMOVED, false);
}

static enum status fixed_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	size_t *length = s->own = ARENA_NEW(a, size_t);
	enum status status;

	*length = 5;
	if ((status = member_size(from, "length", length, err)))
		return status;
	return *length ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "a length of 0");
}

static void cut_fixed(struct flow *f, const struct piece *p, void *own)
{
	const char *s = f->text + p->at;
	size_t most = *(size_t *)own, begin = 0, n = 0;

	for (size_t i = 0; i < p->nbytes; i += utf8_length(s[i]))
		if (n++ == most) {
			flow_piece(f, p, begin, i);
			begin = i;
			n = 1;
		}
	flow_piece(f, p, begin, p->nbytes);
}

static void fixed_length(struct flow *f, const void *own)
{
	flow_cut(f, cut_fixed, (void *)(uintptr_t)own);
}

// Scripts as sentencepiece joins them: kana are Han, a blank and what is of no script go with what was before.
static unsigned script_of(uint32_t code)
{
	unsigned han = unicode_of(0x4EAC)->script;

	if (code == 0x30FC)
		return han;
	if (code == ' ')
		return 0;
	unsigned script = unicode_of(code)->script;
	return script == unicode_of(0x3044)->script || script == unicode_of(0x30B0)->script ? han : script;
}

static void cut_scripts(struct flow *f, const struct piece *p, void *own)
{
	const char *s = f->text + p->at;
	size_t begin = 0, length;
	unsigned last = UINT32_MAX; // nothing yet: the library begins its first piece there, and drops what is before
	bool begun = false;

	(void)own;
	for (size_t i = 0; i < p->nbytes; i += length) {
		unsigned script = script_of(utf8_next(s + i, &length));
		if (script && last && last != script) {
			if (begun)
				flow_piece(f, p, begin, i);
			begin = i;
			begun = true;
		}
		last = script ? script : last;
	}
	if (begun)
		flow_piece(f, p, begin, p->nbytes);
}

static void unicode_scripts(struct flow *f, const void *own)
{
	(void)own;
	flow_cut(f, cut_scripts, NULL);
}

// ---- Metaspace ------------------------------------------------------------------------------------------------------------

enum status metaspace_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct metaspace *m = s->own = ARENA_NEW(a, struct metaspace);
	const json_t *scheme = json_object_get(from, "prepend_scheme");
	const char *word = json_string_value(scheme);
	bool prefix = true;
	enum status status;

	m->split = true;
	if ((status = member_char(from, "replacement", &m->replacement, err)) ||
		(status = member_bool(from, "split", &m->split, err)) ||
		(status = member_bool(from, "add_prefix_space", &prefix, err)))
		return status;
	m->nbytes = utf8_put(m->text, m->replacement);
	if (scheme && !text_is(word, "always") && !text_is(word, "first") && !text_is(word, "never"))
		return error_set(err, STATUS_BAD_INPUT, "\"prepend_scheme\" is not always, first or never");
	m->prepend = text_is(word, "first") ? PREPEND_FIRST : text_is(word, "never") ? PREPEND_NEVER : PREPEND_ALWAYS;
	if (!prefix && scheme && m->prepend != PREPEND_NEVER)
		return error_set(err, STATUS_BAD_INPUT, "\"add_prefix_space\" and \"prepend_scheme\" do not agree");
	if (!prefix)
		m->prepend = PREPEND_NEVER;
	return STATUS_OK;
}

static void metaspace_piece(struct change *c, void *own)
{
	const struct metaspace *m = own;
	size_t done = 0;
	bool begins = c->text[0] == ' ' || (c->nbytes >= m->nbytes && !memcmp(c->text, m->text, m->nbytes));

	flow_whole(c);
	if (!begins && (m->prepend == PREPEND_ALWAYS || (m->prepend == PREPEND_FIRST && c->piece->begin == 0)))
		flow_put_at(c, m->text, m->nbytes, c->align[0]);
	for (size_t i = 0; i < c->nbytes; i++) {
		if (c->text[i] != ' ')
			continue;
		flow_keep(c, done, i);
		flow_put_at(c, m->text, m->nbytes, c->align[i]);
		done = i + 1;
	}
	flow_keep(c, done, c->nbytes);
}

static void cut_metaspace(struct flow *f, const struct piece *p, void *own)
{
	const struct metaspace *m = own;
	const char *s = f->text + p->at;
	size_t begin = 0;

	for (size_t i = 1; i < p->nbytes; i++)
		if (s[i] == m->text[0] && p->nbytes - i >= m->nbytes && !memcmp(s + i, m->text, m->nbytes)) {
			// The library joins a mark with what follows it, unless that is a mark, too.
			flow_piece(f, p, begin, i);
			begin = i;
		}
	flow_piece(f, p, begin, p->nbytes);
}

static void metaspace(struct flow *f, const void *own)
{
	const struct metaspace *m = own;

	flow_each(f, metaspace_piece, (void *)(uintptr_t)own);
	if (m->split)
		flow_cut(f, cut_metaspace, (void *)(uintptr_t)own);
}

// ---- ByteLevel ------------------------------------------------------------------------------------------------------------

static bool byte_is_itself(unsigned b)
{
	return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
}

uint32_t byte_to_character(unsigned char byte)
{
	// What is no visible character of Latin-1 follows U+0100, in its order: 0 to 32, 127 to 160, 173.
	if (byte_is_itself(byte))
		return byte;
	return 0x100u + (byte <= 32 ? byte : byte <= 160 ? byte - 127u + 33 : 67);
}

int character_to_byte(uint32_t code)
{
	if (code < 0x100)
		return byte_is_itself(code) ? (int)code : -1;
	code -= 0x100;
	return code < 33 ? (int)code : code < 67 ? (int)code - 33 + 127 : code == 67 ? 173 : -1;
}

void bytes_to_characters(struct change *c, void *own)
{
	char s[4];

	(void)own;
	if (c->from || c->until != c->nbytes) { // rare: what stands for nothing is in front
		for (size_t i = 0; i < c->nbytes; i++)
			flow_put(c, byte_to_character((unsigned char)c->text[i]), (c->text[i] & 0xC0) == 0x80);
		return;
	}
	for (size_t i = 0; i < c->nbytes; i++) {
		unsigned char b = (unsigned char)c->text[i];
		if (b > ' ' && b < 0x7F)
			flow_put_at(c, &c->text[i], 1, c->align[i]);
		else
			flow_put_at(c, s, utf8_put(s, byte_to_character(b)), c->align[i]);
	}
	c->at = c->nbytes;
}

enum status byte_level_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	static const char words[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
	struct byte_level *b = s->own = ARENA_NEW(a, struct byte_level);
	enum status status;

	b->regex = true;
	if ((status = member_needed(from, "add_prefix_space", err)) || (status = member_needed(from, "trim_offsets", err)) ||
		(status = member_bool(from, "add_prefix_space", &b->prefix_space, err)) ||
		(status = member_bool(from, "trim_offsets", &b->trim, err)) ||
		(status = member_bool(from, "use_regex", &b->regex, err)))
		return status;
	return pattern_regex(&b->pattern, s->patterns, words, sizeof words - 1, err);
}

static void prefix_space(struct change *c, void *own)
{
	(void)own;
	flow_whole(c);
	if (c->text[0] != ' ')
		flow_put_at(c, " ", 1, c->align[0]);
	flow_keep(c, 0, c->nbytes);
}

static void byte_level(struct flow *f, const void *own)
{
	const struct byte_level *b = own;

	if (b->prefix_space)
		flow_each(f, prefix_space, NULL);
	if (b->regex)
		flow_split(f, pattern_find, b->pattern, ISOLATED, false);
	flow_each(f, bytes_to_characters, NULL);
}

// ---- the table ------------------------------------------------------------------------------------------------------------

const struct step_kind pretokenizer_kinds[] = {
	{ "BertPreTokenizer", .flow = bert },
	{ "ByteLevel", byte_level_parse, .flow = byte_level },
	{ "CharDelimiterSplit", delimiter_parse, .flow = delimiter },
	{ "Delimiter", delimiter_parse, .flow = delimiter },
	{ "Digits", digits_parse, .flow = digits },
	{ "FixedLength", fixed_parse, .flow = fixed_length },
	{ "Metaspace", metaspace_parse, .flow = metaspace },
	{ "Punctuation", punctuation_parse, .flow = punctuation },
	{ "Split", split_parse, .flow = split },
	{ "UnicodeScripts", .flow = unicode_scripts },
	{ "Whitespace", .flow = whitespace },
	{ "WhitespaceSplit", .flow = whitespace_split },
	{ .name = NULL },
};
