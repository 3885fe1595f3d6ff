// SPDX-License-Identifier: Apache-2.0
// npy.h: a header of three keys, read as data; nothing of Python is evaluated.
#include "checkpoint/npy.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { MAGIC = 6, HEADER_MOST = 1 << 16 };

// What is left of the header.
struct header {
	const char *at, *end;
};

static void space(struct header *h)
{
	while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t'))
		h->at++;
}

static bool takes(struct header *h, const char *word)
{
	size_t n = strlen(word);

	space(h);
	if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0)
		return false;
	h->at += n;
	return true;
}

// 'text' or "text", without escapes: none of the keys and types has any.
static bool quoted(struct header *h, char *out, size_t room)
{
	space(h);
	if (h->at == h->end || (*h->at != '\'' && *h->at != '"'))
		return false;
	const char quote = *h->at++, *from = h->at;
	while (h->at < h->end && *h->at != quote)
		h->at++;
	const size_t n = (size_t)(h->at - from);
	if (h->at == h->end || n >= room)
		return false;
	memcpy(out, from, n);
	out[n] = 0;
	h->at++;
	return true;
}

static bool number(struct header *h, int64_t *out)
{
	int64_t n = 0;
	bool any = false;

	space(h);
	for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++, any = true)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *h->at - '0', &n))
			return false;
	if (any && h->at < h->end && *h->at == 'L') // of Python 2
		h->at++;
	*out = n;
	return any;
}

// (), (3,), (2, 3)
static bool shape(struct header *h, struct weight *out)
{
	if (!takes(h, "("))
		return false;
	for (out->rank = 0; !takes(h, ")"); out->rank++) {
		if (out->rank == TENSOR_MAX_RANK || !number(h, &out->dim[out->rank]))
			return false;
		if (!takes(h, ",")) {
			out->rank++;
			return takes(h, ")");
		}
	}
	return true;
}

static enum dtype dtype_of(const char *descr)
{
	static const struct {
		const char *descr;
		enum dtype dtype;
	} all[] = { { "<f4", DTYPE_F32 }, { "<f2", DTYPE_F16 }, { "<f8", DTYPE_F64 }, { "<i8", DTYPE_I64 }, { "<i4", DTYPE_I32 },
		{ "<i2", DTYPE_I16 }, { "|i1", DTYPE_I8 }, { "<u8", DTYPE_U64 }, { "<u4", DTYPE_U32 }, { "<u2", DTYPE_U16 },
		{ "|u1", DTYPE_U8 }, { "|b1", DTYPE_BOOL } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (text_is(all[i].descr, descr))
			return all[i].dtype;
	return DTYPE_NONE;
}

static enum status read_header(struct weight *out, struct header h, struct error *err)
{
	bool has_type = false, has_order = false, has_shape = false;
	char key[16], descr[16];

	if (!takes(&h, "{"))
		return error_set(err, STATUS_BAD_INPUT, "its header is not a dictionary");
	while (!takes(&h, "}")) {
		if (!quoted(&h, key, sizeof key) || !takes(&h, ":"))
			return error_set(err, STATUS_BAD_INPUT, "its header has something else than keys and values");
		if (text_is(key, "descr") && !has_type) {
			if (!quoted(&h, descr, sizeof descr))
				return error_set(err, STATUS_BAD_INPUT, "its elements are no plain numbers");
			if (!(out->dtype = dtype_of(descr)))
				return error_set(err, STATUS_BAD_INPUT, "its elements are of a type that is not read");
			has_type = true;
		} else if (text_is(key, "fortran_order") && !has_order) {
			if (!takes(&h, "False"))
				return error_set(err, STATUS_BAD_INPUT,
					"its elements lie column by column; save numpy.ascontiguousarray of it");
			has_order = true;
		} else if (text_is(key, "shape") && !has_shape) {
			if (!shape(&h, out))
				return error_set(err, STATUS_BAD_INPUT, "its shape is none, or has more than %d dimensions",
					TENSOR_MAX_RANK);
			has_shape = true;
		} else {
			return error_set(err, STATUS_BAD_INPUT, "its header has a key twice or one that is not known");
		}
		if (!takes(&h, ",")) {
			if (!takes(&h, "}"))
				return error_set(err, STATUS_BAD_INPUT, "its header does not end");
			break;
		}
	}
	return has_type && has_order && has_shape ? STATUS_OK
						  : error_set(err, STATUS_BAD_INPUT, "its header lacks type, order or shape");
}

enum status npy_parse(struct weight *out, const void *file, size_t nbytes, struct error *err)
{
	const uint8_t *at = file;
	struct weight w = { .name = "" };
	size_t header, begin, count;
	enum status st;

	if (nbytes < MAGIC + 6 || memcmp(at, "\x93NUMPY", MAGIC) != 0)
		return error_set(err, STATUS_BAD_INPUT, "not a .npy file");
	if (at[6] < 1 || at[6] > 3)
		return error_set(err, STATUS_BAD_INPUT, "version %d of the .npy format is not known", at[6]);
	begin = at[6] == 1 ? MAGIC + 4 : MAGIC + 6;
	header = (size_t)at[8] | (size_t)at[9] << 8;
	if (at[6] > 1)
		header |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
	if (header > HEADER_MOST || header > nbytes - begin)
		return error_set(err, STATUS_BAD_INPUT, "its header is longer than the file or than any array's");
	if ((st = read_header(&w, (struct header){ (const char *)at + begin, (const char *)at + begin + header }, err)))
		return st;
	begin += header;
	if (!tensor_count(w.rank, w.dim, &count) || count > (nbytes - begin) / dtype_size(w.dtype) ||
		count * dtype_size(w.dtype) != nbytes - begin)
		return error_set(err, STATUS_BAD_INPUT, "its shape asks for another number of bytes than the %zu it holds",
			nbytes - begin);
	w.offset = begin;
	w.nbytes = nbytes - begin;
	w.data = at + begin;
	*out = w;
	return STATUS_OK;
}

enum status npy_open(struct arena *a, const char *path, struct weight *out, struct error *err)
{
	const uint8_t *map;
	size_t nbytes;
	enum status st = file_map(a, path, &map, &nbytes, err);

	if (!st && (st = npy_parse(out, map, nbytes, err)))
		error_prefix(err, "%s", path);
	return st;
}
