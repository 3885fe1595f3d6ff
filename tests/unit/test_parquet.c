// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// A Parquet file of one column of one row, written by hand, and what is refused of it before DuckDB has it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/parquet.h"

struct file {
	uint8_t bytes[256];
	size_t n;
};

static void add(struct file *f, const void *bytes, size_t n)
{
	assert_true(f->n + n <= sizeof f->bytes);
	memcpy(f->bytes + f->n, bytes, n);
	f->n += n;
}

// Thrift's compact protocol: a field is (distance of its number << 4 | type), 5 being an int32, 6 an int64, 12 a structure, 0 the
// end of one; numbers are zigzag, so n is 2 n.
#define ADD(f, ...) add(f, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define PAGE(kind, nbytes) 0x15, (kind)*2, 0x15, (nbytes)*2, 0x15, (nbytes)*2 // type, size, size compressed: fields 1 to 3
#define DATA_HEADER(distance) (distance) << 4 | 12, 0x15, 1 * 2, 0x15, 0, 0   // of one value, plain
#define DICTIONARY_HEADER 0x4c, 0x15, 1 * 2, 0x15, 0, 0                       // field 7
enum { DATA = 0, DICTIONARY = 2, DATA_V2 = 3 };

static void begin(struct file *f)
{
	*f = (struct file){ 0 };
	add(f, "PAR1", 4);
}

// The footer of a group of one row. dictionary: where its page lies, 0: it has none.
static void end(struct file *f, uint8_t data, uint8_t dictionary)
{
	const size_t footer = f->n;

	ADD(f, 0x29, 0x2c, 0x55, 1 * 2, 0, 0); // the schema, field 2: a list of a root of one child (field 5) and its column
	ADD(f, 0x29, 0x1c, 0x19, 0x1c, 0x3c);  // field 4: a list of a group, whose list of columns (field 1) has one with field 3
	ADD(f, 0x96, data * 2);                // data_page_offset, field 9
	if (dictionary > 0)
		ADD(f, 0x26, dictionary * 2); // field 11
	ADD(f, 0, 0, 0x26, 1 * 2, 0, 0);      // the group's number of rows, field 3
	ADD(f, (uint8_t)(f->n - footer), 0, 0, 0, 'P', 'A', 'R', '1');
}

static void is(const struct file *f, const char *refusal)
{
	struct error err = { 0 };
	const enum status s = parquet_check(f->bytes, f->n, &err);

	if (refusal == NULL ? s != STATUS_OK : s != STATUS_BAD_INPUT || strstr(err.text, refusal) == NULL)
		fail_msg("not \"%s\": %s", refusal ? refusal : "taken", err.text);
}

static void test_pages(void **state)
{
	struct file f;

	(void)state;
	begin(&f);
	ADD(&f, PAGE(DATA, 1), DATA_HEADER(2), 0, 'x');
	end(&f, 4, 0);
	is(&f, NULL);

	begin(&f);
	ADD(&f, PAGE(DATA_V2, 1), DATA_HEADER(5), 0, 'x');
	end(&f, 4, 0);
	is(&f, NULL);

	// Headers of two kinds: DuckDB goes by the page's kind, so that the other header could say how many values there are.
	begin(&f);
	ADD(&f, PAGE(DATA, 1), DATA_HEADER(2), DATA_HEADER(3), 0, 'x');
	end(&f, 4, 0);
	is(&f, "leads to a page that is cut off or damaged");

	begin(&f);
	ADD(&f, PAGE(DATA_V2, 1), DATA_HEADER(2), 0, 'x');
	end(&f, 4, 0);
	is(&f, "leads to a page that is cut off or damaged");
}

// What comes last need not be what DuckDB takes.
static void test_twice(void **state)
{
	struct file f;

	(void)state;
	begin(&f);
	ADD(&f, PAGE(DATA, 1), DATA_HEADER(2), 0x05, 3 * 2, 100 * 2, 0, 'x'); // the compressed size, field 3, again
	end(&f, 4, 0);
	is(&f, "leads to a page that is cut off or damaged");

	begin(&f);
	ADD(&f, PAGE(DATA, 1), DATA_HEADER(2), 0, 'x');
	end(&f, 4, 0);
	uint8_t *rows = f.bytes + f.n - 8 - 4; // of the group: its number, then the ends of two structures
	assert_int_equal(rows[0], 0x26);
	rows[0] = 0x06; // with its number apart, which is the first's
	is(&f, "says something twice");
}

// A number of another type is none to DuckDB, and of one with too many bits it takes the lower ones: pages that nobody had
// looked at were read.
static void test_types(void **state)
{
	struct file f;

	(void)state;
	begin(&f);
	ADD(&f, PAGE(DICTIONARY, 1), DICTIONARY_HEADER, 0, 'd');
	const uint8_t data = (uint8_t)f.n;
	ADD(&f, PAGE(DATA, 1), DATA_HEADER(2), 0, 'x');
	end(&f, data, 4);
	uint8_t *dictionary = f.bytes + f.n - 8 - 8; // its field and number, ends of two structures, the rows, two more ends
	assert_int_equal(dictionary[0], 0x26);
	assert_int_equal(dictionary[1], 4 * 2);
	for (uint8_t type = 4; type < 6; type++) {
		dictionary[0] = (uint8_t)(0x20 | type);
		is(&f, "has a field of another type than the format's");
	}
	begin(&f);
	ADD(&f, PAGE(DATA, 1), 0x2c, 0x16, 1 * 2, 0x15, 0, 0, 0, 'x'); // the number of values as an int64
	end(&f, 4, 0);
	is(&f, "leads to a page that is cut off or damaged");
	begin(&f);
	ADD(&f, PAGE(DATA, 1), 0x2c, 0x15, 0x82, 0x80, 0x80, 0x80, 0x20, 0x15, 0, 0, 0, 'x'); // 2^32 + 1 values, which are 1
	end(&f, 4, 0);
	is(&f, NULL);
}

static void test_dictionary(void **state)
{
	struct file f;
	uint8_t data;

	(void)state;
	begin(&f);
	ADD(&f, PAGE(DICTIONARY, 1), DICTIONARY_HEADER, 0, 'd');
	data = (uint8_t)f.n;
	ADD(&f, PAGE(DATA, 1), DATA_HEADER(2), 0, 'x');
	end(&f, data, 4);
	is(&f, NULL);

	begin(&f);
	ADD(&f, PAGE(DATA, 1), DATA_HEADER(2), 0, 'x');
	const uint8_t dictionary = (uint8_t)f.n;
	ADD(&f, PAGE(DICTIONARY, 1), DICTIONARY_HEADER, 0, 'd');
	end(&f, 4, dictionary);
	is(&f, "leads to a dictionary that comes after what it is for");
}

static void test_rows(void **state)
{
	struct file f;

	(void)state;
	begin(&f);
	ADD(&f, PAGE(DATA, 1), 0x2c, 0x15, 2 * 2, 0x15, 0, 0, 0, 'x'); // two values
	end(&f, 4, 0);
	is(&f, "leads to pages of another number of values than rows");

	begin(&f);
	ADD(&f, PAGE(DATA, 100), DATA_HEADER(2), 0, 'x');
	end(&f, 4, 0);
	is(&f, "leads to a page that is cut off or damaged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_dictionary),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
