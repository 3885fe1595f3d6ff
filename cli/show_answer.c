// SPDX-License-Identifier: Apache-2.0
// A pipeline's answer for a person: a line for each thing that was found, its score first. What a picture or a tensor holds is in
// figures.
#include "show_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "emit.h"

struct showing {
	const json_t *tensors, *pictures;
	const struct shown_files *files;
};

static bool is_plain(const json_t *x)
{
	return !json_is_object(x) && !json_is_array(x);
}

// What stands for a picture or a tensor. An answer may have a member of such a name that holds one.
static bool is_pointer(const json_t *x)
{
	return json_is_string(json_object_get(x, "png")) || json_is_string(json_object_get(x, "tensor"));
}

// A picture, a tensor, or a few plain values: said on the line of what it belongs to.
static bool is_short(const json_t *x)
{
	enum { VALUES_MOST = 4 };
	const char *key;
	const json_t *one;
	size_t i;

	if (is_pointer(x))
		return true;
	json_object_foreach((json_t *)(uintptr_t)x, key, one) if (!is_plain(one)) return false;
	json_array_foreach(x, i, one) if (!is_plain(one) || json_is_string(one)) return false;
	return json_object_size(x) + json_array_size(x) <= VALUES_MOST;
}

static void add_value(struct text *line, const json_t *x)
{
	if (json_is_string(x)) {
		visible_add(line, json_string_value(x), json_string_length(x));
	} else if (json_is_real(x)) {
		text_addf(line, "%.4f", json_real_value(x));
	} else {
		char *text = visible_json(x, JSON_ENCODE_ANY | JSON_COMPACT);
		text_add(line, text ? text : "");
		free(text);
	}
}

// The file that a picture was written to, as far as it was.
static void add_file(struct text *line, const struct showing *s, const char *name)
{
	const char *first = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)s->pictures)), *output = s->files->output;

	if (s->files->saved) {
		visible_add(line, s->files->saved, strlen(s->files->saved));
		text_add(line, text_ends(s->files->saved, "/") ? "" : "/");
		text_add(line, s->files->before);
		visible_add(line, name, strlen(name));
		text_add(line, " ");
	} else if (output && text_is(name, first)) {
		visible_add(line, output, strlen(output));
		text_add(line, " ");
	}
}

// "0.mask.png 640 x 480, 12.3 % of the pixels"
static void add_picture(struct text *line, const struct showing *s, const char *name)
{
	const json_t *p = json_object_get(s->pictures, name), *share = json_object_get(p, "share");

	add_file(line, s, name);
	if (p)
		text_addf(line, "%lld x %lld", (long long)json_integer_value(json_object_get(p, "width")),
			(long long)json_integer_value(json_object_get(p, "height")));
	if (json_is_real(share))
		text_addf(line, ", %.1f %% of the pixels", 100 * json_real_value(share));
}

static void add_short(struct text *line, const struct showing *s, const json_t *x)
{
	const json_t *picture = json_object_get(x, "png"), *tensor = json_object_get(x, "tensor"), *one;
	const char *key, *between = "";
	size_t i;

	if (json_is_string(picture)) {
		add_picture(line, s, json_string_value(picture));
	} else if (json_is_string(tensor)) {
		char *shape = visible_json(json_object_get(x, "shape"), JSON_ENCODE_ANY | JSON_COMPACT);
		text_add(line, shape ? shape : "");
		free(shape);
		if (s->files->output && !json_object_size(s->pictures) && text_is(json_string_value(tensor), "audio"))
			text_addf(line, " %s", s->files->output);
	} else {
		json_object_foreach((json_t *)(uintptr_t)x, key, one)
		{
			text_add(line, between);
			visible_add(line, key, strlen(key));
			text_add(line, " ");
			add_value(line, one);
			between = " ";
		}
		json_array_foreach(x, i, one)
		{
			text_add(line, i ? " " : "");
			add_value(line, one);
		}
	}
}

static void add_member(struct text *line, const struct showing *s, const char *key, const json_t *x)
{
	text_add(line, line->length ? "  " : "");
	visible_add(line, key, strlen(key));
	text_add(line, " ");
	if (is_plain(x))
		add_value(line, x);
	else
		add_short(line, s, x);
}

// The rows of a matrix that is small enough to be read; NULL of any other value.
static const json_t *small_matrix(const struct showing *s, const json_t *x)
{
	enum { NUMBERS_MOST = 64 };
	const char *name = json_string_value(json_object_get(x, "tensor"));
	const json_t *rows = name ? json_object_get(s->tensors, name) : NULL, *first = json_array_get(rows, 0);

	return json_array_size(first) && is_plain(json_array_get(first, 0)) &&
			json_array_size(rows) * json_array_size(first) <= NUMBERS_MOST
		? rows
		: NULL;
}

static void print_matrix(const json_t *rows, int depth)
{
	const json_t *row, *x;
	size_t i, k;

	json_array_foreach(rows, i, row)
	{
		struct text line = { 0 };

		json_array_foreach(row, k, x) text_addf(&line, "%s%7.4f", k ? "  " : "", json_number_value(x));
		emit("%*s%s\n", 2 * depth, "", text_get(&line));
		text_done(&line);
	}
}

// Is a member said below the line of the object it belongs to?
static bool stands_below(const struct showing *s, const char *key, const json_t *x)
{
	return !text_is(key, "token_ids") && !is_plain(x) && (!is_short(x) || small_matrix(s, x));
}

static void print_value(const struct showing *s, const json_t *x, int depth);

// The members that say most stand without their names and come first; lists stand below.
static void print_object(const struct showing *s, const json_t *o, int depth)
{
	static const char *const first[] = { "score", "label", "entity", "entity_group", "answer", "token_str", "word", "text",
		"generated_text", "translation_text", "summary_text" };
	struct text line = { 0 };
	const char *key;
	const json_t *x;

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if ((x = json_object_get(o, first[i])) && is_plain(x) && !json_is_null(x)) {
			text_add(&line, line.length ? "  " : "");
			add_value(&line, x);
		}
	json_object_foreach((json_t *)(uintptr_t)o, key, x)
	{
		bool told = stands_below(s, key, x) || text_is(key, "token_ids");

		for (size_t i = 0; i < sizeof first / sizeof *first; i++)
			told |= text_is(key, first[i]) && is_plain(x);
		if (!told)
			add_member(&line, s, key, x);
	}
	if (line.length)
		emit("%*s%s\n", 2 * depth, "", text_get(&line));
	text_done(&line);
	json_object_foreach((json_t *)(uintptr_t)o, key, x)
	{
		if (!stands_below(s, key, x))
			continue;
		emit("%*s%s:\n", 2 * depth, "", key);
		if (small_matrix(s, x))
			print_matrix(small_matrix(s, x), depth + 1);
		else
			print_value(s, x, depth + 1);
	}
}

static void print_value(const struct showing *s, const json_t *x, int depth)
{
	struct text line = { 0 };
	const json_t *one;
	size_t i;

	if (is_pointer(x) || is_plain(x)) {
		if (is_plain(x))
			add_value(&line, x);
		else
			add_short(&line, s, x);
		emit("%*s%s\n", 2 * depth, "", text_get(&line));
	} else if (json_is_object(x)) {
		print_object(s, x, depth);
	} else {
		json_array_foreach(x, i, one)
		{
			if (json_is_array(one) && i)
				emit("\n");
			print_value(s, one, depth);
		}
	}
	text_done(&line);
}

void show_answer(const json_t *one, const struct shown_files *files)
{
	const struct showing s = { json_object_get(one, "tensors"), json_object_get(one, "pictures"), files };
	const json_t *answer = json_object_get(one, "answer");
	const char *name = json_string_value(json_object_get(answer, "tensor"));
	struct text line = { 0 };

	if (json_is_array(answer) && !json_array_size(answer))
		emit("nothing was found\n");
	if (!name) {
		print_value(&s, answer, 0);
		return;
	}
	add_short(&line, &s, answer);
	emit("%s %s: the numbers are in --json%s\n", name, text_get(&line),
		json_is_null(json_object_get(s.tensors, name)) ? ", where they are not too many, and with --save"
							       : " and with --save");
	text_done(&line);
}
