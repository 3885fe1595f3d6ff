// SPDX-License-Identifier: Apache-2.0
// Reading zip.h's table, every number checked against the file.
#include "checkpoint/zip.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { END_NBYTES = 22, LOCATOR_NBYTES = 20, END64_NBYTES = 56, CENTRAL_NBYTES = 46, LOCAL_NBYTES = 30, COMMENT_MOST = 65535 };
enum { ENCRYPTED = 1, ZIP64_EXTRA = 1, DOS_FOLDER = 16 };
enum { ENTRIES_MOST = 200000, DIRECTORY_MOST = 32 << 20 }; // a checkpoint has an entry a tensor

static uint64_t number(const uint8_t *p, size_t nbytes)
{
	uint64_t n = 0;
	for (size_t i = 0; i < nbytes; i++)
		n |= (uint64_t)p[i] << 8 * i;
	return n;
}

static bool is_at(const uint8_t *p, uint8_t a, uint8_t b)
{
	return p[0] == 'P' && p[1] == 'K' && p[2] == a && p[3] == b;
}

struct directory {
	uint64_t offset, nbytes, count, end;
}; // `end`: where what follows it begins

// The end record is the last thing in the file but for a comment of its own length. PyTorch takes the last that begins like one,
// which may stand in that comment, and would read other weights.
static enum status find_end(const uint8_t *data, size_t nbytes, size_t *out, struct error *err)
{
	for (size_t back = END_NBYTES; back <= nbytes && back <= END_NBYTES + COMMENT_MOST; back++) {
		const uint8_t *p = data + nbytes - back;
		if (!is_at(p, 5, 6))
			continue;
		if (number(p + 20, 2) != back - END_NBYTES)
			return error_set(err, STATUS_BAD_INPUT,
				"two tables of contents end in it, one in the comment of the other: which is meant is not known");
		*out = nbytes - back;
		return STATUS_OK;
	}
	return error_set(err, STATUS_BAD_INPUT, "its table of contents is missing: cut off; download it again");
}

static enum status find_directory(struct directory *out, const uint8_t *data, size_t nbytes, struct error *err)
{
	size_t end = 0;
	enum status s = find_end(data, nbytes, &end, err);
	if (s)
		return s;
	const uint8_t *p = data + end;
	bool many_disks = number(p + 4, 2) != 0 || number(p + 6, 2) != 0;
	struct directory d = { .count = number(p + 10, 2), .nbytes = number(p + 12, 4), .offset = number(p + 16, 4), .end = end };
	if (end >= LOCATOR_NBYTES && is_at(p - LOCATOR_NBYTES, 6, 7)) {
		uint64_t at = number(p - LOCATOR_NBYTES + 8, 8);
		if (end - LOCATOR_NBYTES < END64_NBYTES || at > end - LOCATOR_NBYTES - END64_NBYTES || !is_at(data + at, 6, 6))
			return error_set(err, STATUS_BAD_INPUT, "its table of contents (zip64) is damaged");
		p = data + at;
		many_disks = number(p + 16, 4) != 0 || number(p + 20, 4) != 0;
		d = (struct directory){
			.count = number(p + 32, 8), .nbytes = number(p + 40, 8), .offset = number(p + 48, 8), .end = at
		};
	}
	if (many_disks || d.offset > d.end || d.nbytes > d.end - d.offset || d.count > d.nbytes / CENTRAL_NBYTES)
		return error_set(err, STATUS_BAD_INPUT,
			"its table of contents (%" PRIu64 " entries in %" PRIu64 " bytes at byte %" PRIu64
			") does not fit into the file: damaged",
			d.count, d.nbytes, d.offset);
	*out = d;
	return STATUS_OK;
}

// Sizes and offsets beyond 32 bits stand in an extra field, in this order, and only those that do not fit.
static bool read_zip64(const uint8_t *extra, size_t nbytes, uint64_t *size, uint64_t *packed, uint64_t *offset)
{
	uint64_t *const wanted[] = { size, packed, offset };
	while (nbytes >= 4) {
		size_t n = (size_t)number(extra + 2, 2), used = 4;
		if (n > nbytes - 4)
			return false;
		for (int i = 0; i < 3 && number(extra, 2) == ZIP64_EXTRA; i++) {
			if (*wanted[i] != UINT32_MAX)
				continue;
			if (used + 8 > n + 4)
				return false;
			*wanted[i] = number(extra + used, 8);
			used += 8;
		}
		extra += n + 4;
		nbytes -= n + 4;
	}
	return true;
}

static enum status read_entry(struct zip_entry *out, const uint8_t *data, const struct directory *d, const uint8_t *p,
	size_t left, size_t *used, struct error *err)
{
	if (left < CENTRAL_NBYTES || !is_at(p, 1, 2))
		return error_set(err, STATUS_BAD_INPUT, "its table of contents is damaged");
	size_t name = (size_t)number(p + 28, 2), extra = (size_t)number(p + 30, 2), comment = (size_t)number(p + 32, 2);
	if (name + extra + comment > left - CENTRAL_NBYTES)
		return error_set(err, STATUS_BAD_INPUT, "its table of contents is damaged");
	uint64_t packed = number(p + 20, 4), size = number(p + 24, 4), offset = number(p + 42, 4);
	const char *text = (const char *)p + CENTRAL_NBYTES;
	int shown = name < 100 ? (int)name : 100;
	if (!read_zip64(p + CENTRAL_NBYTES + name, extra, &size, &packed, &offset))
		return error_set(err, STATUS_BAD_INPUT, "%.*s: its entry (zip64) is damaged", shown, text);
	if (d->offset < LOCAL_NBYTES || offset > d->offset - LOCAL_NBYTES || !is_at(data + offset, 3, 4))
		return error_set(err, STATUS_BAD_INPUT, "%.*s: is not where the table of contents says: damaged", shown, text);
	const uint8_t *local = data + offset;
	uint64_t begin = offset + LOCAL_NBYTES + number(local + 26, 2) + number(local + 28, 2);
	// Who reads from the front to the back goes by the name there, and would see another file.
	if (number(local + 26, 2) != name || name > d->offset - offset - LOCAL_NBYTES || memcmp(local + LOCAL_NBYTES, text, name))
		return error_set(err, STATUS_BAD_INPUT,
			"%.*s: has another name where it lies than in the table of contents: damaged", shown, text);
	if (begin > d->offset || packed > d->offset - begin)
		return error_set(err, STATUS_BAD_INPUT,
			"%.*s: %" PRIu64 " bytes do not fit into the file: cut off; download it again", shown, text, packed);
	// PyTorch's reader takes nothing of a folder, and says nothing.
	if ((packed || size) && (p[38] & DOS_FOLDER || (name && text[name - 1] == '/')))
		return error_set(err, STATUS_BAD_INPUT, "%.*s: is a folder with contents: damaged", shown, text);
	*out = (struct zip_entry){ text, name, offset, begin, packed,
		!(number(p + 8, 2) & ENCRYPTED) && !number(p + 10, 2) && packed == size };
	*used = CENTRAL_NBYTES + name + extra + comment;
	return STATUS_OK;
}

static int compare(const char *a, size_t n, const char *b, size_t m)
{
	int order = memcmp(a, b, n < m ? n : m);
	return order ? order : n < m ? -1 : n > m;
}

static int by_name(const void *a, const void *b)
{
	const struct zip_entry *x = a, *y = b;
	return compare(x->name, x->name_nbytes, y->name, y->name_nbytes);
}

// As by_name, but capital letters are small ones.
static int by_folded_name(const void *a, const void *b)
{
	const struct zip_entry *x = a, *y = b;
	const size_t least = x->name_nbytes < y->name_nbytes ? x->name_nbytes : y->name_nbytes;

	for (size_t i = 0; i < least; i++) {
		int of_x = tolower((unsigned char)x->name[i]), of_y = tolower((unsigned char)y->name[i]);
		if (of_x != of_y)
			return of_x - of_y;
	}
	return x->name_nbytes < y->name_nbytes ? -1 : x->name_nbytes > y->name_nbytes;
}

static int by_place(const void *a, const void *b)
{
	const struct zip_entry *x = a, *y = b;
	return x->head < y->head ? -1 : x->head > y->head;
}

static int name_shown(const struct zip_entry *e)
{
	return e->name_nbytes < 100 ? (int)e->name_nbytes : 100;
}

// Bytes that belong to several entries make a small file say that it holds much.
static enum status check_places(struct zip_entry *entries, size_t count, struct error *err)
{
	if (count)
		qsort(entries, count, sizeof *entries, by_place);
	for (size_t i = 1; i < count; i++) {
		const struct zip_entry *e = &entries[i - 1], *next = &entries[i];
		if (e->offset + e->nbytes > next->head)
			return error_set(err, STATUS_BAD_INPUT, "%.*s and %.*s: lie in the same bytes: damaged", name_shown(e),
				e->name, name_shown(next), next->name);
	}
	return STATUS_OK;
}

enum status zip_read(
	const struct zip_entry **out, size_t *count, struct arena *a, const uint8_t *data, size_t nbytes, struct error *err)
{
	struct directory d = { 0 };
	enum status s = find_directory(&d, data, nbytes, err);
	if (s)
		return s;
	if (d.count > ENTRIES_MOST || d.nbytes > DIRECTORY_MOST)
		return error_set(err, STATUS_BAD_INPUT,
			"its table of contents has %" PRIu64 " entries in %" PRIu64 " bytes; at most %d and %d are read", d.count,
			d.nbytes, ENTRIES_MOST, DIRECTORY_MOST);
	struct zip_entry *entries = ARENA_ARRAY(a, (size_t)d.count, struct zip_entry);
	const uint8_t *p = data + d.offset;
	size_t left = (size_t)d.nbytes, used = 0;
	for (size_t i = 0; i < d.count; i++) {
		if ((s = read_entry(&entries[i], data, &d, p, left, &used, err)))
			return s;
		p += used;
		left -= used;
	}
	if ((s = check_places(entries, (size_t)d.count, err)))
		return s;
	if (d.count)
		qsort(entries, (size_t)d.count, sizeof *entries, by_folded_name);
	// PyTorch's reader does not tell capital letters from small ones, and takes one of them.
	for (size_t i = 1; i < d.count; i++)
		if (!by_folded_name(&entries[i - 1], &entries[i]))
			return error_set(err, STATUS_BAD_INPUT, "%.*s: is in it twice%s", name_shown(&entries[i]),
				entries[i].name, by_name(&entries[i - 1], &entries[i]) ? " but for capital letters" : "");
	if (d.count)
		qsort(entries, (size_t)d.count, sizeof *entries, by_name);
	*out = entries;
	*count = (size_t)d.count;
	return STATUS_OK;
}

const struct zip_entry *zip_find(const struct zip_entry *entries, size_t count, const char *name, size_t name_nbytes)
{
	for (size_t low = 0, high = count; low < high;) {
		size_t middle = (low + high) / 2;
		int order = compare(name, name_nbytes, entries[middle].name, entries[middle].name_nbytes);
		if (!order)
			return &entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
