// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, as far as to pass over it: a structure is fields, each a byte with its number's distance and its
// type, up to a zero byte.
#include "store/parquet.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
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

struct reader {
	const uint8_t *at, *end;
	const char *wrong; // the first thing that is; NULL: nothing is
	const uint8_t *data;
	size_t nbytes;     // of the whole file
	bool has_root;     // the first element of the schema is passed
	uint64_t unpacked; // bytes of the pages so far, decompressed
};

static uint64_t take_varint(struct reader *f)
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

static void pass(struct reader *f, uint64_t nbytes)
{
	if (nbytes > (uint64_t)(f->end - f->at)) {
		f->wrong = "is cut off";
		nbytes = (uint64_t)(f->end - f->at);
	}
	f->at += nbytes;
}

static uint8_t take_byte(struct reader *f)
{
	if (f->at < f->end)
		return *f->at++;
	f->wrong = "is cut off";
	return 0;
}

// How many elements follow. Each takes a byte at least.
static uint64_t check_count(struct reader *f, uint64_t count)
{
	if (count > (uint64_t)(f->end - f->at))
		f->wrong = "is cut off";
	return count;
}

// The type of the next field, whose number takes the place of *number; STOP at the structure's end. Of a field that is there
// twice DuckDB may take another one.
static enum type take_field(struct reader *f, int16_t *number)
{
	const int16_t before = *number;
	const uint8_t head = take_byte(f);

	if ((head & 15) == STOP)
		return STOP;
	if (head >> 4 != 0) {
		*number = (int16_t)(*number + (head >> 4));
	} else {
		const uint64_t zigzag = take_varint(f);
		*number = (int16_t)((zigzag >> 1) ^ -(zigzag & 1));
	}
	if (*number <= before)
		f->wrong = "says something twice, or not in the order of the format";
	return (enum type)(head & 15);
}

// How many elements a list has, and their type.
static uint64_t take_list(struct reader *f, enum type *of)
{
	const uint8_t head = take_byte(f);

	*of = (enum type)(head & 15);
	return check_count(f, head >> 4 < 15 ? head >> 4 : take_varint(f));
}

static void pass_value(struct reader *f, enum type type, bool in_list, int depth);

static void pass_structure(struct reader *f, int depth)
{
	int16_t number = 0;
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP)
		pass_value(f, type, false, depth);
}

static void pass_value(struct reader *f, enum type type, bool in_list, int depth)
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

static int64_t take_zigzag(struct reader *f)
{
	const uint64_t zigzag = take_varint(f);

	return (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
}

// A field of another type than the format's DuckDB passes over, as if it were not there.
static const char other_type[] = "has a field of another type than the format's";

static int64_t take_i64(struct reader *f, enum type type)
{
	if (f->wrong == NULL && type != INT64)
		f->wrong = other_type;
	return f->wrong == NULL ? take_zigzag(f) : -1;
}

// Of one with more bits the lower 32 count.
static int64_t take_i32(struct reader *f, enum type type)
{
	if (f->wrong == NULL && type != INT32)
		f->wrong = other_type;
	return f->wrong == NULL ? (int32_t)take_zigzag(f) : -1;
}

// A SchemaElement. The first is the root, whose children are the columns; assay's have none.
static void pass_element(struct reader *f)
{
	enum { NUM_CHILDREN = 5 };
	int16_t number = 0;
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		if (number != NUM_CHILDREN)
			pass_value(f, type, false, 1);
		else if (take_i32(f, type) != 0 && f->has_root)
			f->wrong = "has columns within columns, which assay does not write";
	}
	f->has_root = true;
}

// ---- pages --------------------------------------------------------------------------------------------------------------

struct page {
	int64_t kind, unpacked, packed, values, encoding;
};

// DataPageHeader, DataPageHeaderV2: both begin with num_values.
static void take_data_header(struct reader *f, struct page *p, int16_t encoding)
{
	enum { NUM_VALUES = 1 };
	int16_t number = 0;
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		if (number == NUM_VALUES)
			p->values = take_i32(f, type);
		else if (number == encoding)
			p->encoding = take_i32(f, type);
		else
			pass_value(f, type, false, 2);
	}
}

static struct page take_page(struct reader *f)
{
	enum { KIND = 1, UNPACKED, PACKED, DATA = 5, DATA_V2 = 8 };
	enum { KIND_DATA = 0, KIND_DATA_V2 = 3 };
	enum { ENCODING = 2, ENCODING_V2 = 4 };
	struct page p = { -1, -1, -1, 0, 0 };
	int16_t number = 0, header = 0;
	bool is_twice = false; // it says what it is in two ways, of which DuckDB goes by one
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		if (number == KIND)
			p.kind = take_i32(f, type);
		else if (number == UNPACKED)
			p.unpacked = take_i32(f, type);
		else if (number == PACKED)
			p.packed = take_i32(f, type);
		else if (number == DATA || number == DATA_V2) {
			if (f->wrong == NULL && type != STRUCTURE)
				f->wrong = other_type;
			take_data_header(f, &p, number == DATA ? ENCODING : ENCODING_V2);
			is_twice = is_twice || header != 0;
			header = number;
		} else
			pass_value(f, type, false, 1);
	}
	if (is_twice || (header == DATA ? p.kind != KIND_DATA : header == DATA_V2 && p.kind != KIND_DATA_V2))
		p.kind = -1; // which no page is
	return p;
}

// The pages from here on, as DuckDB reads them: until there is a value for each row.
static void walk_pages(struct reader *f, int64_t at, int64_t rows)
{
	enum { DATA, INDEX, DICTIONARY, DATA_V2 };
	enum { PAGE_NBYTES = 64 }; // one without values costs something too
	enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, RLE_DICTIONARY = 8 };
	struct reader pages = { .data = f->data, .nbytes = f->nbytes, .end = f->data + f->nbytes };
	int64_t values = 0;

	if (at < 0 || (uint64_t)at > f->nbytes)
		f->wrong = "says of pages that they lie outside of the file";
	for (pages.at = f->data + (f->wrong ? 0 : at); f->wrong == NULL && values < rows;) {
		const struct page p = take_page(&pages);

		if (pages.wrong == NULL && p.packed >= 0)
			pass(&pages, (uint64_t)p.packed);
		if (pages.wrong != NULL || p.packed < 0 || p.unpacked < 0 || p.kind < DATA || p.kind > DATA_V2 || p.values < 0)
			f->wrong = "leads to a page that is cut off or damaged";
		else if (p.encoding != PLAIN && p.encoding != PLAIN_DICTIONARY && p.encoding != RLE &&
			p.encoding != RLE_DICTIONARY)
			f->wrong = "leads to a page of an encoding that assay does not write";
		else if ((f->unpacked += (uint64_t)p.unpacked + PAGE_NBYTES) > PAGES_MOST + (uint64_t)PAGES_A_BYTE * f->nbytes)
			f->wrong = "leads to pages that take more, decompressed, than those of assay";
		else
			values += p.kind == DATA || p.kind == DATA_V2 ? p.values : 0;
	}
	if (f->wrong == NULL && values != rows)
		f->wrong = "leads to pages of another number of values than rows";
}

// ---- groups of rows -----------------------------------------------------------------------------------------------------

struct chunk { // of a column
	int64_t data, dictionary;
};

// ColumnMetaData.
static struct chunk take_metadata(struct reader *f)
{
	enum { DATA_PAGE_OFFSET = 9, DICTIONARY_PAGE_OFFSET = 11 };
	struct chunk c = { -1, -1 };
	int16_t number = 0;
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		if (number == DATA_PAGE_OFFSET)
			c.data = take_i64(f, type);
		else if (number == DICTIONARY_PAGE_OFFSET)
			c.dictionary = take_i64(f, type);
		else
			pass_value(f, type, false, 4);
	}
	return c;
}

static struct chunk take_column(struct reader *f)
{
	enum { FILE_PATH = 1, META_DATA = 3, ENCRYPTED = 8 };
	struct chunk c = { -1, -1 };
	int16_t number = 0;
	enum type type;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		if (number == META_DATA) {
			if (f->wrong == NULL && type != STRUCTURE)
				f->wrong = other_type;
			c = take_metadata(f);
		} else if (number == FILE_PATH || number >= ENCRYPTED)
			f->wrong = "leads to another file, or is encrypted";
		else
			pass_value(f, type, false, 3);
	}
	return c;
}

// A RowGroup. Its number of rows may come after its columns.
static void take_group(struct reader *f)
{
	enum { COLUMNS = 1, NUM_ROWS = 3 };
	struct chunk chunks[COLUMNS_MOST];
	uint64_t count = 0;
	int64_t rows = 0;
	int16_t number = 0;
	enum type type, of;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		if (number == COLUMNS) {
			if (f->wrong == NULL && type != LIST)
				f->wrong = other_type;
			count = f->wrong == NULL ? take_list(f, &of) : 0;
			if (f->wrong == NULL && (count > COLUMNS_MOST || (count > 0 && of != STRUCTURE)))
				f->wrong = "has a group of more columns than assay's tables";
			for (uint64_t i = 0; i < count && f->wrong == NULL; i++)
				chunks[i] = take_column(f);
		} else if (number == NUM_ROWS) {
			rows = take_i64(f, type);
		} else {
			pass_value(f, type, false, 2);
		}
	}
	for (uint64_t i = 0; i < count && f->wrong == NULL; i++) {
		const bool has_dictionary = chunks[i].dictionary >= 4;

		if (has_dictionary && chunks[i].dictionary > chunks[i].data) // where DuckDB begins all the same
			f->wrong = "leads to a dictionary that comes after what it is for";
		else
			walk_pages(f, has_dictionary ? chunks[i].dictionary : chunks[i].data, rows);
	}
}

// ---- the file -----------------------------------------------------------------------------------------------------------

// FileMetaData.
static void take_footer(struct reader *f)
{
	enum { SCHEMA = 2, ROW_GROUPS = 4 };
	int16_t number = 0;
	enum type type, of;

	while (f->wrong == NULL && (type = take_field(f, &number)) != STOP) {
		if (number != SCHEMA && number != ROW_GROUPS) {
			pass_value(f, type, false, 0);
			continue;
		}
		uint64_t count = type == LIST ? take_list(f, &of) : 0;
		if (f->wrong == NULL && (type != LIST || (count > 0 && of != STRUCTURE)))
			f->wrong = "has no list of columns or of groups of rows";
		else if (number == SCHEMA && count > COLUMNS_MOST + 1)
			f->wrong = "has more columns than assay's tables";
		while (count-- > 0 && f->wrong == NULL) {
			if (number == SCHEMA)
				pass_element(f);
			else
				take_group(f);
		}
	}
}

enum status parquet_check(const uint8_t *data, size_t nbytes, struct error *err)
{
	enum { MAGIC = 4, TAIL = 8 }; // at the end: the footer's bytes as a number, and the letters
	static const char magic[MAGIC] = { 'P', 'A', 'R', '1' };
	struct reader f = { .data = data, .nbytes = nbytes };

	if (nbytes < MAGIC + TAIL || memcmp(data, magic, MAGIC) != 0 || memcmp(data + nbytes - MAGIC, magic, MAGIC) != 0)
		return error_set(err, STATUS_BAD_INPUT,
			"it is no Parquet file, or was cut off: one begins and ends with the letters PAR1");
	const uint8_t *tail = data + nbytes - TAIL;
	const size_t footer = (size_t)tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24;
	if (footer > nbytes - MAGIC - TAIL)
		return error_set(
			err, STATUS_BAD_INPUT, "it is no Parquet file, or was cut off: its footer has %zu bytes", footer);
	if (footer > FOOTER_MOST + nbytes / 2)
		return error_set(err, STATUS_BAD_INPUT, "its footer has %zu of its %zu bytes: more than those that assay writes",
			footer, nbytes);
	f.end = tail;
	f.at = tail - footer;
	take_footer(&f);
	return f.wrong == NULL ? STATUS_OK
			       : error_set(err, STATUS_BAD_INPUT, "it is no Parquet file of assay: its footer %s", f.wrong);
}

enum status parquet_look(const char *path, struct error *err)
{
	struct arena a = { 0 };
	const uint8_t *data;
	size_t nbytes;
	enum status status = file_map(&a, path, &data, &nbytes, err);

	if (status == STATUS_OK)
		status = parquet_check(data, nbytes, err);
	arena_done(&a);
	return status;
}
