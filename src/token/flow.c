// SPDX-License-Identifier: Apache-2.0
#include "token/flow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "token/grown.h"
#include "token/unicode.h"

void flow_done(struct flow *f)
{
	free(f->text);
	free(f->other);
	free(f->align);
	free(f->other_align);
	free(f->pieces);
	free(f->other_pieces);
	free(f->matches);
	*f = (struct flow){ 0 };
}

void flow_fail(struct flow *f, const char *format, ...)
{
	char text[400];
	va_list ap;

	if (f->failed.status != STATUS_OK)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	error_set(&f->failed, STATUS_BAD_INPUT, "%s", text);
}

static void reserve_text(struct flow *f, size_t nbytes)
{
	if (nbytes <= f->room)
		return;
	f->room = nbytes + nbytes / 2 + 256;
	f->text = grown(f->text, f->room, 1);
	f->align = grown(f->align, f->room, sizeof *f->align);
}

static struct piece *add_piece(struct flow *f)
{
	if (f->count == f->piece_room) {
		f->piece_room = f->piece_room * 2 + 64;
		f->pieces = grown(f->pieces, f->piece_room, sizeof *f->pieces);
	}
	return &f->pieces[f->count++];
}

void flow_start(struct flow *f, const char *text, size_t nbytes)
{
	size_t length;

	f->failed.status = STATUS_OK;
	f->limit = nbytes * 64 + (1 << 20);
	f->work = 0;
	f->work_most = nbytes * FLOW_PASSES_MOST + (4 << 20);
	f->count = 0;
	f->begun_ms = f->look_ms = 0;
	f->used = nbytes;
	reserve_text(f, nbytes + 1); // an empty text lies somewhere, too
	if (nbytes)
		memcpy(f->text, text, nbytes);
	for (size_t i = 0; i < nbytes; i += length) {
		length = utf8_length(text[i]);
		for (size_t k = 0; k < length; k++)
			f->align[i + k] = (struct span){ (uint32_t)i, (uint32_t)(i + length) };
	}
	if (nbytes)
		*add_piece(f) = (struct piece){ .nbytes = (uint32_t)nbytes, .end = (uint32_t)nbytes };
}

static void swap_text(struct flow *f)
{
	char *text = f->text;
	struct span *align = f->align;
	size_t room = f->room;

	f->text = f->other;
	f->align = f->other_align;
	f->room = f->other_room;
	f->other = text;
	f->other_align = align;
	f->other_room = room;
	f->used = 0;
	reserve_text(f, 1);
}

static void swap_pieces(struct flow *f)
{
	struct piece *pieces = f->pieces;
	size_t room = f->piece_room;

	f->pieces = f->other_pieces;
	f->piece_room = f->other_piece_room;
	f->other_pieces = pieces;
	f->other_piece_room = room;
	f->count = 0;
}

// ---- changing text --------------------------------------------------------------------------------------------------------

bool piece_is_ascii(const char *s, size_t nbytes)
{
	unsigned char all = 0;

	for (size_t i = 0; i < nbytes; i++)
		all |= (unsigned char)s[i];
	return all < 0x80;
}

void flow_put_at(struct change *c, const char *s, size_t nbytes, struct span at)
{
	struct flow *f = c->f;

	if (f->used + nbytes > f->limit) {
		flow_fail(f, "the normalizer makes more than 64 times its length of a text");
		return;
	}
	reserve_text(f, f->used + nbytes);
	memcpy(f->text + f->used, s, nbytes);
	for (size_t i = 0; i < nbytes; i++)
		f->align[f->used + i] = at;
	f->used += nbytes;
}

void flow_keep(struct change *c, size_t begin, size_t end)
{
	struct flow *f = c->f;

	if (end <= begin)
		return;
	if (f->used + (end - begin) > f->limit) {
		flow_fail(f, "the normalizer makes more than 64 times its length of a text");
		return;
	}
	reserve_text(f, f->used + (end - begin));
	memcpy(f->text + f->used, c->text + begin, end - begin);
	memcpy(f->align + f->used, c->align + begin, (end - begin) * sizeof *f->align);
	f->used += end - begin;
}

void flow_whole(struct change *c)
{
	c->f->used -= c->from;
	c->from = c->at = 0;
	c->until = c->nbytes;
}

void flow_keep_all(struct change *c)
{
	flow_keep(c, c->from, c->nbytes);
	c->until = c->nbytes;
	c->at = c->nbytes;
}

void flow_skip(struct change *c, size_t characters)
{
	while (characters-- && c->at < c->nbytes)
		c->at += utf8_length(c->text[c->at]);
}

void flow_put(struct change *c, uint32_t code, long change)
{
	char s[4];
	size_t length = utf8_put(s, code);
	struct span at = { c->piece->begin, c->piece->begin };

	if (change > 0) {
		if (c->at > 0)
			at = c->align[c->at - 1];
	} else if (c->at < c->nbytes) {
		at = c->align[c->at];
		flow_skip(c, 1 + (size_t)-change);
	} else if (c->nbytes) {
		at = c->align[c->nbytes - 1];
	}
	flow_put_at(c, s, length, at);
}

void flow_each(struct flow *f, void (*step)(struct change *, void *), void *context)
{
	swap_text(f);
	for (size_t i = 0; i < f->count && f->failed.status == STATUS_OK; i++) {
		struct piece *p = &f->pieces[i];
		struct change c = { f, p, f->other + p->at, f->other_align + p->at, p->nbytes, 0, 0, p->nbytes };
		size_t begin = f->used;

		if (p->is_token || !p->nbytes) {
			flow_keep(&c, 0, p->nbytes);
		} else {
			// What stands for nothing at a piece's beginning is out of the library's reach, and all of a piece that
			// stands for nothing.
			while (c.from < c.nbytes && c.align[c.from].begin == c.align[c.from].end)
				c.from++;
			if (p->begin == p->end)
				c.from = c.until = 0;
			flow_keep(&c, 0, c.from);
			c.at = c.from;
			step(&c, context);
			flow_keep(&c, c.until, c.nbytes);
		}
		p->at = (uint32_t)begin;
		p->nbytes = (uint32_t)(f->used - begin);
	}
}

// ---- taking pieces apart --------------------------------------------------------------------------------------------------

void flow_match(struct flow *f, size_t begin, size_t end, bool matched)
{
	if (f->match_count == f->match_room) {
		f->match_room = f->match_room * 2 + 256;
		f->matches = grown(f->matches, f->match_room, sizeof *f->matches);
	}
	f->matches[f->match_count++] = (struct match){ (uint32_t)begin, (uint32_t)end, matched };
}

void flow_match_each(struct flow *f, const char *text, size_t nbytes, bool (*is)(uint32_t code))
{
	size_t done = 0, length;

	for (size_t i = 0; i < nbytes; i += length) {
		if (!is(utf8_next(text + i, &length)))
			continue;
		if (done < i)
			flow_match(f, done, i, false);
		done = i + length;
		flow_match(f, i, done, true);
	}
	if (done < nbytes)
		flow_match(f, done, nbytes, false);
}

void flow_piece(struct flow *f, const struct piece *of, size_t begin, size_t end)
{
	const struct span *align = f->align + of->at;

	if (begin < end)
		*add_piece(f) = (struct piece){ of->at + (uint32_t)begin, (uint32_t)(end - begin), align[begin].begin,
			align[end - 1].end, 0, false };
}

void flow_cut(struct flow *f, void (*cut)(struct flow *, const struct piece *, void *), void *context)
{
	size_t count = f->count;

	swap_pieces(f);
	for (size_t i = 0; i < count; i++) {
		const struct piece *p = &f->other_pieces[i];
		if (p->is_token)
			*add_piece(f) = *p;
		else
			cut(f, p, context);
	}
}

struct split {
	flow_find *find;
	const void *context;
	enum behaviour behaviour;
	bool invert;
};

// Matches joined as the library folds them: what joins is seen from the match before (from the end: the match behind).
static void join(struct flow *f, const struct piece *p, enum behaviour behaviour)
{
	const struct match *m = f->matches;
	size_t n = f->match_count, begin = 0, end = 0;
	bool any = false, previous = false;

	for (size_t k = 0; k < n; k++) {
		size_t i = behaviour == MERGED_WITH_NEXT ? n - 1 - k : k;
		bool joins = any && (behaviour == CONTIGUOUS ? m[i].matched == previous : m[i].matched && !previous);

		if (joins && behaviour == MERGED_WITH_NEXT) {
			begin = m[i].begin;
		} else if (joins) {
			end = m[i].end;
		} else {
			if (any)
				flow_piece(f, p, begin, end);
			begin = m[i].begin;
			end = m[i].end;
			any = true;
		}
		previous = m[i].matched;
	}
	if (any)
		flow_piece(f, p, begin, end);
}

static void reverse(struct piece *pieces, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct piece p = pieces[i];
		pieces[i] = pieces[n - 1 - i];
		pieces[n - 1 - i] = p;
	}
}

static void split_piece(struct flow *f, const struct piece *p, void *context)
{
	const struct split *s = context;
	size_t before = f->count;

	f->match_count = 0;
	s->find(f, f->text + p->at, p->nbytes, s->context);
	if (s->invert)
		for (size_t i = 0; i < f->match_count; i++)
			f->matches[i].matched = !f->matches[i].matched;
	if (s->behaviour == REMOVED || s->behaviour == ISOLATED) {
		for (size_t i = 0; i < f->match_count; i++)
			if (s->behaviour == ISOLATED || !f->matches[i].matched)
				flow_piece(f, p, f->matches[i].begin, f->matches[i].end);
		return;
	}
	join(f, p, s->behaviour);
	if (s->behaviour == MERGED_WITH_NEXT)
		reverse(f->pieces + before, f->count - before);
}

void flow_split(struct flow *f, flow_find *find, const void *context, enum behaviour behaviour, bool invert)
{
	flow_cut(f, split_piece, &(struct split){ find, context, behaviour, invert });
}
