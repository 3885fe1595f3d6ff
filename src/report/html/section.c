// SPDX-License-Identifier: Apache-2.0
// A table of the report as HTML; on a narrow page every row becomes a card of its own.
#include "report/html/html.h"

#include <nettle/base64.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	PICTURE_MOST = 64 << 10, // bytes of a PNG file
	PICTURE_SIDE = 128,      // pixels; as src/plan/answer.c makes them
};

static uint32_t big_endian(const uint8_t *x)
{
	return (uint32_t)x[0] << 24 | (uint32_t)x[1] << 16 | (uint32_t)x[2] << 8 | x[3];
}

// The chunks that libpng writes of its own: no text, no colour profile, no animation.
static bool is_plain_chunk(const uint8_t *type, size_t length)
{
	return memcmp(type, "IDAT", 4) == 0 || (memcmp(type, "gAMA", 4) == 0 && length == 4) ||
		(memcmp(type, "sRGB", 4) == 0 && length == 1) || (memcmp(type, "cHRM", 4) == 0 && length == 32);
}

static bool is_small_png(const uint8_t *file, size_t nbytes)
{
	static const uint8_t begin[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R' };
	enum { WIDTH = sizeof begin, HEIGHT = WIDTH + 4, AFTER_HEADER = WIDTH + 13 + 4, OF_CHUNK = 12 };

	if (nbytes < AFTER_HEADER || memcmp(file, begin, sizeof begin) != 0 || big_endian(file + WIDTH) - 1 >= PICTURE_SIDE ||
		big_endian(file + HEIGHT) - 1 >= PICTURE_SIDE)
		return false;
	for (size_t at = AFTER_HEADER; nbytes - at >= OF_CHUNK;) {
		const size_t length = big_endian(file + at);

		if (length > nbytes - at - OF_CHUNK)
			return false;
		if (memcmp(file + at + 4, "IEND", 4) == 0)
			return length == 0 && at + OF_CHUNK == nbytes;
		if (!is_plain_chunk(file + at + 4, length))
			return false;
		at += OF_CHUNK + length;
	}
	return false;
}

// A row may be a stranger's: nothing but base64 of a small picture goes into the attribute.
static bool is_picture(const char *text)
{
	const size_t length = text ? strlen(text) : 0;
	struct base64_decode_ctx context;
	size_t nbytes = 0;
	uint8_t *file;

	if (!length || length > BASE64_ENCODE_RAW_LENGTH(PICTURE_MOST) ||
		text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")] != '\0' ||
		!(file = malloc(BASE64_DECODE_LENGTH(length))))
		return false;
	base64_decode_init(&context);
	const bool is = base64_decode_update(&context, &nbytes, file, length, text) && base64_decode_final(&context) &&
		is_small_png(file, nbytes);
	free(file);
	return is;
}

static void add_value(const struct report_section *t, size_t k, const struct report_value *v, struct arena *a, struct text *out)
{
	const struct report_column *c = &t->columns[k];

	text_addf(out, "<td data-label=\"%s\"%s><span%s>", html_esc(a, c->title), c->is_number ? " class=\"number\"" : "",
		v->text == NULL && v->note == NULL ? " class=\"none\""
			: k == 0                   ? " class=\"strong\""
						   : "");
	if (v->text != NULL)
		text_addf(out, v->is_warning ? "<span class=\"tag warn\">%s</span>" : "%s", html_esc(a, v->text));
	if (is_picture(v->picture))
		text_addf(out, "<img class=\"answer\" alt=\"%s\" src=\"data:image/png;base64,%s\">",
			v->picture_words != NULL ? html_esc(a, v->picture_words) : "", v->picture);
	if (v->note != NULL)
		text_addf(out, "<span class=\"sub\">%s</span>", html_esc(a, v->note));
	text_add(out, "</span></td>");
}

void html_section(const struct report_section *t, struct arena *a, struct text *out)
{
	if (t->row_count == 0)
		return;
	text_addf(out, "<h2 id=\"%s\">%s</h2>\n", t->id, html_esc(a, t->title));
	if (t->hint != NULL)
		text_addf(out, "<p class=\"hint\">%s</p>\n", html_prose(a, t->hint));
	text_addf(out, "<div class=\"scroll stack facts\"><table aria-labelledby=\"%s\"><thead><tr>", t->id);
	for (size_t k = 0; k < t->column_count; k++)
		if (t->columns[k].title != NULL)
			text_addf(out, "<th scope=\"col\"%s>%s</th>", t->columns[k].is_number ? " class=\"number\"" : "",
				html_esc(a, t->columns[k].title));
	text_add(out, "</tr></thead><tbody>\n");
	for (size_t i = 0; i < t->row_count; i++) {
		text_add(out, "<tr>");
		for (size_t k = 0; k < t->column_count; k++)
			if (t->columns[k].title != NULL)
				add_value(t, k, &t->values[i * t->column_count + k], a, out);
		text_add(out, "</tr>\n");
	}
	text_add(out, "</tbody></table></div>\n");
}
