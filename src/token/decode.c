// SPDX-License-Identifier: Apache-2.0
// Decoders: from the texts of tokens to text. Each works on the list that the one before left; at the end it is joined.
#include "token/inside.h"

#include "base/visible.h"
#include "token/unicode.h"

// Of the tokens that are decoded, all decoders together: what they go over and what they make.
enum { DECODE_MOST = 32 << 20 };

bool strings_pay(struct strings *t, size_t nbytes)
{
	if (!t->failed.status && nbytes > t->room)
		error_set(&t->failed, STATUS_BAD_INPUT, "the decoders make more than %d MiB of these tokens", DECODE_MOST >> 20);
	if (t->failed.status)
		return false;
	t->room -= nbytes;
	return true;
}

static void replace_text(struct strings *t, struct text *out, struct slice s, struct slice what, struct slice with)
{
	size_t done = 0;

	if (!what.n) { // between all characters, and around them
		size_t length;
		for (size_t i = 0; i < s.n && strings_pay(t, with.n); i += length) {
			length = utf8_length(s.s[i]);
			text_add_bytes(out, with.s, with.n);
			text_add_bytes(out, s.s + i, length);
		}
		text_add_bytes(out, with.s, with.n);
		return;
	}
	while (strings_pay(t, with.n)) {
		const char *at = s.n - done ? memmem(s.s + done, s.n - done, what.s, what.n) : NULL;
		if (!at)
			break;
		text_add_bytes(out, s.s + done, (size_t)(at - s.s) - done);
		text_add_bytes(out, with.s, with.n);
		done = (size_t)(at - s.s) + what.n;
	}
	text_add_bytes(out, s.s + done, s.n - done);
}

static struct slice replaced(struct strings *t, struct slice s, struct slice what, struct slice with)
{
	struct text out = { 0 };

	if ((what.n && !memmem(s.s, s.n, what.s, what.n)) || !strings_pay(t, s.n))
		return s;
	replace_text(t, &out, s, what, with);
	s = slice_copy(t->a, (struct slice){ text_get(&out), out.length });
	text_done(&out);
	return s;
}

static size_t bytes_of(const struct strings *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->items[i].n;
	return n;
}

static void join(struct strings *t)
{
	struct text all = { 0 };

	if (strings_pay(t, bytes_of(t)))
		for (size_t i = 0; i < t->count; i++)
			text_add_bytes(&all, t->items[i].s, t->items[i].n);
	if (!t->items)
		t->items = ARENA_NEW(t->a, struct slice);
	t->items[0] = slice_copy(t->a, (struct slice){ text_get(&all), all.length });
	t->count = 1;
	text_done(&all);
}

static void fuse(struct strings *t, const void *own)
{
	(void)own;
	join(t);
}

// ---- ByteLevel ------------------------------------------------------------------------------------------------------------

// As Rust's from_utf8_lossy: U+FFFD for each longest beginning of a character that is not one.
static void add_lossy(struct text *out, const char *s, size_t n)
{
	size_t length;

	for (size_t i = 0; i < n;) {
		length = visible_utf8(s + i, n - i, NULL);
		if (length) {
			text_add_bytes(out, s + i, length);
			i += length;
			continue;
		}
		unsigned char c = (unsigned char)s[i++], low = 0x80, high = 0xBF;
		int more = c >= 0xC2 && c < 0xE0 ? 1 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xF0 && c < 0xF5 ? 3 : 0;
		low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : low;
		high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : high;
		for (; more && i < n && (unsigned char)s[i] >= low && (unsigned char)s[i] <= high; more--, i++) {
			low = 0x80;
			high = 0xBF;
		}
		text_add(out, "\xEF\xBF\xBD");
	}
}

// The bytes that a token's characters stand for; where one stands for none, the token's own.
static void byte_level(struct strings *t, const void *own)
{
	struct text bytes = { 0 }, all = { 0 };
	size_t length;

	(void)own;
	for (size_t i = 0; i < t->count; i++) {
		struct slice s = t->items[i];
		size_t before = bytes.length;
		for (size_t k = 0; k < s.n; k += length) {
			int byte = character_to_byte(utf8_next(s.s + k, &length));
			if (byte < 0) {
				bytes.length = before;
				text_add_bytes(&bytes, s.s, s.n);
				break;
			}
			char c = (char)byte;
			text_add_bytes(&bytes, &c, 1);
		}
	}
	add_lossy(&all, text_get(&bytes), bytes.length);
	t->count = 0;
	join(t);
	t->items[0] = slice_copy(t->a, (struct slice){ text_get(&all), all.length });
	text_done(&bytes);
	text_done(&all);
}

// ---- WordPiece, CTC -------------------------------------------------------------------------------------------------------

static struct slice clean_up(struct strings *t, struct slice s)
{
	static const char *const pairs[][2] = { { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" },
		{ " n't", "n't" }, { " 'm", "'m" }, { " do not", " don't" }, { " 's", "'s" }, { " 've", "'ve" },
		{ " 're", "'re" } };

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		s = replaced(t, s, slice_text(pairs[i][0]), slice_text(pairs[i][1]));
	return s;
}

struct wordpiece {
	struct slice prefix;
	bool cleanup;
};

static enum status wordpiece_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct wordpiece *w = s->own = ARENA_NEW(a, struct wordpiece);
	enum status status;

	if ((status = member_needed(from, "prefix", err)) || (status = member_needed(from, "cleanup", err)) ||
		(status = member_text(from, "prefix", a, &w->prefix, err)))
		return status;
	return member_bool(from, "cleanup", &w->cleanup, err);
}

static void wordpiece(struct strings *t, const void *own)
{
	const struct wordpiece *w = own;

	for (size_t i = 0; i < t->count && strings_pay(t, 1); i++) {
		struct slice s = t->items[i];
		if (i && s.n >= w->prefix.n && (!w->prefix.n || !memcmp(s.s, w->prefix.s, w->prefix.n))) {
			s = (struct slice){ s.s + w->prefix.n, s.n - w->prefix.n };
		} else if (i) {
			char *spaced = arena_alloc(t->a, s.n + 2);
			spaced[0] = ' ';
			if (s.n)
				memcpy(spaced + 1, s.s, s.n);
			s = (struct slice){ spaced, s.n + 1 };
		}
		t->items[i] = w->cleanup ? clean_up(t, s) : s;
	}
}

struct ctc {
	struct slice pad, delimiter;
	bool cleanup;
};

static enum status ctc_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct ctc *c = s->own = ARENA_NEW(a, struct ctc);
	enum status status;

	if ((status = member_needed(from, "pad_token", err)) || (status = member_needed(from, "word_delimiter_token", err)) ||
		(status = member_needed(from, "cleanup", err)) || (status = member_text(from, "pad_token", a, &c->pad, err)) ||
		(status = member_text(from, "word_delimiter_token", a, &c->delimiter, err)))
		return status;
	return member_bool(from, "cleanup", &c->cleanup, err);
}

static bool same(struct slice a, struct slice b)
{
	return a.n == b.n && (!a.n || !memcmp(a.s, b.s, a.n));
}

static void ctc(struct strings *t, const void *own)
{
	const struct ctc *c = own;
	struct slice last = { NULL, 0 };
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct slice s = t->items[i];
		if (i && same(s, last))
			continue;
		last = s;
		s = replaced(t, s, c->pad, slice_text(""));
		if (c->cleanup)
			s = replaced(t, clean_up(t, s), c->delimiter, slice_text(" "));
		if (s.n)
			t->items[kept++] = s;
	}
	t->count = kept;
}

// ---- Metaspace, BPEDecoder, Strip, ByteFallback ---------------------------------------------------------------------------

static void metaspace(struct strings *t, const void *own)
{
	const struct metaspace *m = own;

	for (size_t i = 0; i < t->count; i++)
		t->items[i] = replaced(t, t->items[i], (struct slice){ m->text, m->nbytes },
			slice_text(i == 0 && m->prepend != PREPEND_NEVER ? "" : " "));
}

static enum status suffix_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct slice *suffix = s->own = ARENA_NEW(a, struct slice);
	enum status status = member_needed(from, "suffix", err);

	return status ? status : member_text(from, "suffix", a, suffix, err);
}

static void bpe(struct strings *t, const void *own)
{
	for (size_t i = 0; i < t->count; i++)
		t->items[i] = replaced(t, t->items[i], *(const struct slice *)own, slice_text(i + 1 == t->count ? "" : " "));
}

struct strip {
	uint32_t content;
	size_t start, stop;
};

static enum status strip_parse(struct step *s, struct arena *a, const json_t *from, struct error *err)
{
	struct strip *p = s->own = ARENA_NEW(a, struct strip);
	enum status status;

	if ((status = member_char(from, "content", &p->content, err)) || (status = member_needed(from, "start", err)) ||
		(status = member_needed(from, "stop", err)) || (status = member_size(from, "start", &p->start, err)))
		return status;
	return member_size(from, "stop", &p->stop, err);
}

static void strip(struct strings *t, const void *own)
{
	const struct strip *p = own;
	size_t length;

	for (size_t i = 0; i < t->count; i++) {
		struct slice s = t->items[i];
		size_t begin = 0, end = s.n;
		for (size_t k = 0; k < p->start && begin < end && utf8_next(s.s + begin, &length) == p->content; k++)
			begin += length;
		for (size_t k = 0; k < p->stop && end > begin && utf8_last(s.s + begin, s.s + end, &length) == p->content; k++)
			end -= length;
		t->items[i] = (struct slice){ s.s + begin, end - begin };
	}
}

static int byte_of(struct slice s)
{
	int value = 0;

	if (s.n != 6 || memcmp(s.s, "<0x", 3) != 0 || s.s[5] != '>')
		return -1;
	for (int i = 3; i < 5; i++) {
		char c = s.s[i], l = (char)(c | 32);
		int digit = c >= '0' && c <= '9' ? c - '0' : l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
		if (i == 3 && c == '+') // Rust reads a sign
			digit = 0;
		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

// A run of bytes is one text, or, where it is no UTF-8, a U+FFFD each.
static void byte_fallback(struct strings *t, const void *own)
{
	struct slice *out = ARENA_ARRAY(t->a, t->count + 1, struct slice);
	size_t n = 0;

	(void)own;
	for (size_t i = 0; i < t->count;) {
		size_t end = i;
		while (end < t->count && byte_of(t->items[end]) >= 0)
			end++;
		if (end == i) {
			out[n++] = t->items[i++];
			continue;
		}
		char *bytes = arena_alloc(t->a, end - i + 1);
		for (size_t k = i; k < end; k++)
			bytes[k - i] = (char)byte_of(t->items[k]);
		if (visible_not_utf8(bytes, end - i) == end - i)
			out[n++] = (struct slice){ bytes, end - i };
		else
			for (size_t k = i; k < end; k++)
				out[n++] = slice_text("\xEF\xBF\xBD");
		i = end;
	}
	t->items = out;
	t->count = n;
}

const struct step_kind decoder_kinds[] = {
	{ "BPEDecoder", suffix_parse, .decode = bpe },
	{ "ByteFallback", .decode = byte_fallback },
	{ "ByteLevel", .decode = byte_level },
	{ "CTC", ctc_parse, .decode = ctc },
	{ "Fuse", .decode = fuse },
	{ "Metaspace", metaspace_parse, .decode = metaspace },
	{ "Replace", replace_parse, .decode = replace_decode },
	{ "Strip", strip_parse, .decode = strip },
	{ "WordPiece", wordpiece_parse, .decode = wordpiece },
	{ .name = NULL },
};

// ---- of a tokenizer -------------------------------------------------------------------------------------------------------

// What the decoders make of the tokens; without any they are joined by blanks.
static enum status run_decoders(const struct tokenizer *t, struct strings *all, char **text, size_t *nbytes, struct error *err)
{
	if (!t->decoders.count && strings_pay(all, bytes_of(all))) {
		struct text out = { 0 };
		for (size_t i = 0; i < all->count; i++) {
			text_add(&out, i ? " " : "");
			text_add_bytes(&out, all->items[i].s, all->items[i].n);
		}
		*text = (char *)(uintptr_t)slice_copy(all->a, (struct slice){ text_get(&out), out.length }).s;
		*nbytes = out.length;
		text_done(&out);
		return STATUS_OK;
	}
	for (size_t i = 0; i < t->decoders.count && strings_pay(all, all->count + bytes_of(all)); i++)
		t->decoders.steps[i].kind->decode(all, t->decoders.steps[i].own);
	join(all);
	if (all->failed.status)
		return error_set(err, all->failed.status, "%s", all->failed.text);
	*text = (char *)(uintptr_t)all->items[0].s;
	*nbytes = all->items[0].n;
	return STATUS_OK;
}

static enum status decode(struct tokenizer *t, struct arena *a, const uint32_t *ids, size_t count, bool skip_special, bool frames,
	char **text, size_t *nbytes, struct error *err)
{
	struct strings all = { .a = a, .items = ARENA_ARRAY(a, count + 1, struct slice), .room = DECODE_MOST };

	for (size_t i = 0; i < count; i++) {
		struct slice s;
		s.s = tokenizer_token(t, ids[i], &s.n);
		if (!s.s && t->ctc)
			s = t->model.unk;
		if (!s.s || (skip_special && added_is_special(&t->added, s)))
			continue;
		if (!frames || !all.count || !same(s, all.items[all.count - 1]))
			all.items[all.count++] = s;
	}
	return run_decoders(t, &all, text, nbytes, err);
}

enum status tokenizer_join(struct tokenizer *t, struct arena *a, const char *const *tokens, size_t count, char **text,
	size_t *nbytes, struct error *err)
{
	struct strings all = { .a = a, .items = ARENA_ARRAY(a, count + 1, struct slice), .count = count, .room = DECODE_MOST };

	for (size_t i = 0; i < count; i++)
		all.items[i] = slice_text(tokens[i]);
	return run_decoders(t, &all, text, nbytes, err);
}

enum status tokenizer_decode(struct tokenizer *t, struct arena *a, const uint32_t *ids, size_t count, bool skip_special,
	char **text, size_t *nbytes, struct error *err)
{
	return decode(t, a, ids, count, skip_special, false, text, nbytes, err);
}

enum status tokenizer_decode_frames(struct tokenizer *t, struct arena *a, const uint32_t *ids, size_t count, bool skip_special,
	char **text, size_t *nbytes, struct error *err)
{
	return decode(t, a, ids, count, skip_special, t->ctc, text, nbytes, err);
}
