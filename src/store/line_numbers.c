// SPDX-License-Identifier: Apache-2.0
#include "store/line_numbers.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/guard.h"
#include "store/one_file.h"

#define BEGINS "{\"assay_table\":\""

// Numbers are given one after the other, from 1: those of the events of a file that is read are below NUMBER_MOST.
enum { HEAD_MOST = 128, NUMBER_MOST = 1 << 26, WORDS = NUMBER_MOST / 64 };

struct set { // of numbers below NUMBER_MOST; pages that nobody writes to are no memory
	uint64_t *words;
};

static bool has(const struct set *s, int64_t n)
{
	return (s->words[n / 64] >> (n % 64) & 1) != 0;
}

static void add(struct set *s, int64_t n)
{
	s->words[n / 64] |= (uint64_t)1 << (n % 64);
}

// Tables with a number that stands once, what is before it, and of whose events rows must be there.
enum numbered { RUN, CELL, EVENT, MEASUREMENT, NUMBERED };
static const struct {
	const char *table, *before;
} numbered[NUMBERED] = {
	[RUN] = { "run", "\"id\":" },
	[CELL] = { "cell", "\"id\":" },
	[EVENT] = { "event", "\"id\":" },
	[MEASUREMENT] = { "measurement", "\"cell\":*,\"event\":" },
};
static const char *const of_events[] = { "measurement", "sample", "placement", "profile_node", "output_check" };

struct numbers {
	struct set seen[NUMBERED], named; // named: events that rows are of
	int64_t count[NUMBERED], line;
	struct error *err;
};

// The number after `before`, in which a * stands for another one; -1: the text begins otherwise.
static int64_t number_after(const char *at, const char *before)
{
	int64_t n = 0;

	for (; *before != '\0'; before++) {
		if (*before == '*')
			at += strspn(at, "0123456789");
		else if (*at++ != *before)
			return -1;
	}
	size_t digits = strspn(at, "0123456789");
	if (digits == 0 || digits > 9)
		return -1;
	for (; digits > 0; digits--)
		n = 10 * n + (*at++ - '0');
	return n < NUMBER_MOST ? n : -1;
}

static enum status odd(struct numbers *l, const char *table)
{
	return error_set(l->err, STATUS_BAD_INPUT,
		"its line %lld does not begin as those of `assay export` do%s%s: with its table, and the row's number",
		(long long)l->line, *table != '\0' ? ", a row of " : "", table);
}

static enum status look_at_numbered(struct numbers *l, enum numbered k, const char *at)
{
	const int64_t n = number_after(at, numbered[k].before);

	if (n < 0)
		return odd(l, numbered[k].table);
	if (has(&l->seen[k], n))
		return error_set(l->err, STATUS_BAD_INPUT,
			"rows of its table %s stand twice, the second of number %lld in line %lld: assay writes each once",
			numbered[k].table, (long long)n, (long long)l->line);
	add(&l->seen[k], n);
	return guard_many(numbered[k].table, ++l->count[k], l->err);
}

static bool is_of_event(const char *table, size_t length)
{
	for (size_t i = 0; i < sizeof of_events / sizeof *of_events; i++) {
		if (strlen(of_events[i]) == length && strncmp(of_events[i], table, length) == 0)
			return true;
	}
	return false;
}

static enum status look_at_line(struct numbers *l, const char *head)
{
	const char *table = head + strlen(BEGINS);
	size_t length;

	if (!text_starts(head, BEGINS) || table[length = strcspn(table, "\"")] == '\0')
		return odd(l, "");
	const char *at = table + length + 1;
	if (*at != ',') // a row without values, of which assay has none
		return odd(l, "");
	if (!absorb_has_table(table, length))
		return error_set(l->err, STATUS_BAD_INPUT,
			"its line %lld begins rows of a table %.*s, and this assay has none of that name: a newer one wrote it, "
			"or another "
			"program",
			(long long)l->line, (int)(length < 100 ? length : 100), table);
	if (is_of_event(table, length)) {
		int64_t event = number_after(at + 1, numbered[MEASUREMENT].before);
		if (event < 0)
			return odd(l, "an event's");
		add(&l->named, event);
	}
	for (enum numbered k = 0; k < NUMBERED; k++) {
		if (strlen(numbered[k].table) == length && strncmp(numbered[k].table, table, length) == 0)
			return look_at_numbered(l, k, at + 1);
	}
	return STATUS_OK;
}

// Lines are as long as 2 MiB; of each only the beginning is kept.
static enum status look_at_lines(struct numbers *l, FILE *f, char *data, size_t room)
{
	char head[HEAD_MOST + 1];
	size_t length = 0, n;
	bool is_empty = true;
	enum status status = STATUS_OK;

	l->line = 1;
	while (status == STATUS_OK && (n = fread(data, 1, room, f)) > 0) {
		for (size_t i = 0; i < n && status == STATUS_OK;) {
			const char *end = memchr(data + i, '\n', n - i);
			size_t part = end != NULL ? (size_t)(end - (data + i)) : n - i;
			size_t kept = part < HEAD_MOST - length ? part : HEAD_MOST - length;
			memcpy(head + length, data + i, kept);
			length += kept;
			is_empty = is_empty && part == 0;
			i += part + (end != NULL);
			if (end == NULL)
				break;
			head[length] = '\0';
			status = is_empty ? STATUS_OK : look_at_line(l, head);
			l->line++;
			length = 0;
			is_empty = true;
		}
	}
	head[length] = '\0';
	return status == STATUS_OK && !is_empty ? look_at_line(l, head) : status;
}

static enum status look_at_events(const struct numbers *l)
{
	for (size_t i = 0; i < WORDS; i++) {
		if ((l->named.words[i] & ~l->seen[EVENT].words[i]) != 0)
			return error_set(
				l->err, STATUS_BAD_INPUT, "its rows do not belong together: some name events that are not there");
	}
	return STATUS_OK;
}

enum status line_numbers_look(const char *path, struct error *err)
{
	enum { ROOM = 1 << 18 };
	struct numbers l = { .err = err };
	FILE *f = fopen(path, "re");
	char *data = malloc(ROOM);
	enum status status;

	if (f == NULL)
		error_errno(err, "it cannot be read");
	l.named.words = calloc(WORDS, sizeof *l.named.words);
	bool has_room = data != NULL && l.named.words != NULL;
	for (size_t k = 0; k < NUMBERED; k++) {
		l.seen[k].words = calloc(WORDS, sizeof *l.seen[k].words);
		has_room = has_room && l.seen[k].words != NULL;
	}
	if (!has_room)
		abort(); // as an arena does
	status = f != NULL ? look_at_lines(&l, f, data, ROOM) : STATUS_FAILED;
	if (status == STATUS_OK)
		status = look_at_events(&l);
	for (size_t k = 0; k < NUMBERED; k++)
		free(l.seen[k].words);
	free(l.named.words);
	free(data);
	if (f != NULL)
		fclose(f);
	return status;
}
