// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, as far as to pass over it: a structure is fields, each a byte with its number's distance and its
// type, up to a zero byte.
#include "store/footer.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/lines.h"

enum type {
	STOP = 0,
	YES = 1, // of a field that is a boolean, the type is its value
	NO = 2,
	BYTE = 3,
	INT16 = 4,
	INT32 = 5,
	INT64 = 6,
	DOUBLE = 7,
	BINARY = 8,
	LIST = 9,
	SET = 10,
	MAP = 11,
	STRUCTURE = 12,
};

struct footer {
	const uint8_t *at, *end;
	const char *wrong; // the first thing that is; NULL: nothing is
	bool has_root;     // the first element of the schema is passed
};

static uint64_t take_varint(struct footer *f)
{
	uint64_t n = 0;

	for (int shift = 0; shift < 64 && f->at < f->end; shift += 7) {
		n |= (uint64_t)(*f->at & 127) << shift;
		if (*f->at++ < 128)
			return n;
	}
	f->wrong = "is cut off";
	f->at = f->end;
	return 0;
}

static void pass(struct footer *f, uint64_t nbytes)
{
	if (nbytes > (uint64_t)(f->end - f->at)) {
		f->wrong = "is cut off";
		nbytes = (uint64_t)(f->end - f->at);
	}
	f->at += nbytes;
}

static uint8_t take_byte(struct footer *f)
{
	if (f->at < f->end)
		return *f->at++;
	f->wrong = "is cut off";
	return 0;
}

// How many elements follow. Each takes a byte at least.
static uint64_t check_count(struct footer *f, uint64_t count)
{
	if (count > (uint64_t)(f->end - f->at))
		f->wrong = "is cut off";
	return count;
}

// The type of the next field, whose number takes the place of *number; STOP at the structure's end.
static enum type take_field(struct footer *f, int16_t *number)
{
	const uint8_t head = take_byte(f);

	if ((head & 15) == STOP)
		return STOP;
	if (head >> 4 != 0) {
		*number = (int16_t)(*number + (head >> 4));
	} else {
		const uint64_t zigzag = take_varint(f);
		*number = (int16_t)((zigzag >> 1) ^ -(zigzag & 1));
	}
	return (enum type)(head & 15);
}

// How many elements a list has, and their type.
static uint64_t take_list(struct footer *f, enum type *of)
{
	const uint8_t head = take_byte(f);

	*of = (enum type)(head & 15);
	return check_count(f, head >> 4 < 15 ? head >> 4 : take_varint(f));
}

static void pass_value(struct footer *f, enum type type, bool in_list, int depth);

static void pass_structure(struct footer *f, int depth)
{
	int16_t number = 0;
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP)
		pass_value(f, type, false, depth);
}

static void pass_value(struct footer *f, enum type type, bool in_list, int depth)
{
	enum { DEPTH_MOST = 16 }; // FileMetaData, row groups, columns, their metadata, statistics
	enum type key, value;
	uint64_t count;
	uint8_t types;

	if (depth >= DEPTH_MOST) {
		f->wrong = "has structures that lie in one another";
		return;
	}
	switch (type) {
	case YES:
	case NO:
		pass(f, in_list);
		break;
	case BYTE:
		pass(f, 1);
		break;
	case INT16:
	case INT32:
	case INT64:
		take_varint(f);
		break;
	case DOUBLE:
		pass(f, 8);
		break;
	case BINARY:
		pass(f, take_varint(f));
		break;
	case LIST:
	case SET:
		for (count = take_list(f, &value); count > 0 && f->wrong == NULL; count--)
			pass_value(f, value, true, depth + 1);
		break;
	case MAP:
		if ((count = check_count(f, take_varint(f))) == 0)
			break;
		types = take_byte(f);
		key = (enum type)(types >> 4);
		value = (enum type)(types & 15);
		for (; count > 0 && f->wrong == NULL; count--) {
			pass_value(f, key, true, depth + 1);
			if (f->wrong == NULL)
				pass_value(f, value, true, depth + 1);
		}
		break;
	case STRUCTURE:
		pass_structure(f, depth + 1);
		break;
	case STOP:
	default:
		f->wrong = "has a value of an unknown type";
	}
}

// A SchemaElement. The first is the root, whose children are the columns; assay's have none.
static void pass_element(struct footer *f)
{
	enum { NUM_CHILDREN = 5 };
	int16_t number = 0;
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		const uint8_t *from = f->at;
		pass_value(f, type, false, 1);
		if (number == NUM_CHILDREN && f->has_root && f->wrong == NULL && f->at > from && *from != 0)
			f->wrong = "has columns within columns, which assay does not write";
	}
	f->has_root = true;
}

enum status footer_check(const uint8_t *data, size_t nbytes, struct error *err)
{
	enum { SCHEMA = 2 };
	struct footer f = { .at = data, .end = data + nbytes };
	int16_t number = 0;
	enum type type, of;

	while (f.wrong == NULL && (type = take_field(&f, &number)) != STOP) {
		if (number != SCHEMA) {
			pass_value(&f, type, false, 0);
			continue;
		}
		uint64_t count = type == LIST ? take_list(&f, &of) : 0;
		if (type != LIST || of != STRUCTURE)
			f.wrong = "has no list of columns";
		else if (count > COLUMNS_MOST + 1)
			f.wrong = "has more columns than assay's tables";
		while (count-- > 0 && f.wrong == NULL)
			pass_element(&f);
	}
	return f.wrong == NULL ? STATUS_OK
			       : error_set(err, STATUS_BAD_INPUT, "it is no Parquet file of assay: its footer %s", f.wrong);
}

enum status footer_look(const char *path, struct error *err)
{
	enum { MAGIC = 4, TAIL = 8 }; // at the end: the footer's bytes as a number, and the letters
	static const char magic[] = { 'P', 'A', 'R', '1' };
	uint8_t first[MAGIC] = { 0 }, tail[TAIL] = { 0 }, *footer = NULL;
	struct stat st;
	size_t nbytes = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= MAGIC + TAIL && pread(fd, first, MAGIC, 0) == MAGIC &&
		pread(fd, tail, TAIL, st.st_size - TAIL) == TAIL && memcmp(first, magic, MAGIC) == 0 &&
		memcmp(tail + TAIL - MAGIC, magic, MAGIC) == 0;
	enum status status = is ? STATUS_OK
				: error_set(err, STATUS_BAD_INPUT,
					  "it is no Parquet file, or was cut off: one begins and ends with the letters PAR1");

	if (status == STATUS_OK) {
		nbytes = (size_t)tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24;
		if (nbytes > (size_t)st.st_size - MAGIC - TAIL)
			status = error_set(
				err, STATUS_BAD_INPUT, "it is no Parquet file, or was cut off: its footer has %zu bytes", nbytes);
		else if (nbytes > FOOTER_MOST + (size_t)st.st_size / 8)
			status = error_set(err, STATUS_BAD_INPUT,
				"its footer has %zu of its %lld bytes: more than those that assay writes", nbytes,
				(long long)st.st_size);
		else if ((footer = malloc(nbytes + 1)) == NULL)
			status = error_set(err, STATUS_NO_MEMORY, "no memory for its footer");
		else if (pread(fd, footer, nbytes, st.st_size - TAIL - (off_t)nbytes) != (ssize_t)nbytes)
			status = error_errno(err, "its footer cannot be read");
	}
	if (status == STATUS_OK)
		status = footer_check(footer, nbytes, err);
	free(footer);
	if (fd >= 0)
		close(fd);
	return status;
}
