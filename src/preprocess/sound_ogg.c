// SPDX-License-Identifier: Apache-2.0
// Pages and packets as RFC 3533 has them, codebooks as the Vorbis I specification has them (section 3.2.1), Opus's header as RFC
// 7845. libvorbis makes of a codebook entries times dimensions numbers, for each residue again, and keeps a pointer for each
// entry on its stack; libopus decodes each channel by itself.
#include "preprocess/sound_ogg.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Encoders have some 40 codebooks, the largest of 6,561 entries and 52,488 numbers.
enum {
	STREAMS_MOST = 8,
	CHANNELS_MOST = 8,
	STREAM_MOST = 64 << 20,
	ENTRIES_MOST = 1 << 14,
	BOOK_MOST = 1 << 17,
	BOOKS_MOST = 1 << 20
};

// ---- pages ----------------------------------------------------------------------------------------------------------------

struct page {
	const uint8_t *data;
	size_t nbytes;
	uint32_t serial;
};

enum { HEADER = 27, SUM_AT = 22, SUM_NBYTES = 4, ODD_MOST = 64 };

struct pages {
	const uint8_t *data;
	size_t nbytes, at, odd; // odd: what looked like pages and was none
	uint32_t sums[256];     // of a byte, for the sum of a page
};

static uint32_t number(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static struct pages pages_of(const uint8_t *data, size_t nbytes)
{
	struct pages out = { .data = data, .nbytes = nbytes };

	for (uint32_t i = 0; i < 256; i++) {
		out.sums[i] = i << 24;
		for (int k = 0; k < 8; k++)
			out.sums[i] = out.sums[i] << 1 ^ (out.sums[i] >> 31 ? 0x04c11db7 : 0);
	}
	return out;
}

// Over a page, in which its own sum counts as zeros.
static uint32_t sum_of(const struct pages *p, const uint8_t *page, size_t nbytes)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < nbytes; i++)
		sum = sum << 8 ^ p->sums[sum >> 24 ^ (i - SUM_AT < SUM_NBYTES ? 0 : page[i])];
	return sum;
}

// False: there is none. As libogg, it goes on behind the first byte of what looks like a page and is none.
static bool next_page(struct pages *p, struct page *out)
{
	while (p->nbytes - p->at >= HEADER) {
		const uint8_t *begin = p->data + p->at, *page = memchr(begin, 'O', p->nbytes - p->at - HEADER + 1);
		size_t left, count, nbytes = 0;

		if (!page)
			return false;
		p->at = (size_t)(page - p->data) + 1;
		left = p->nbytes - p->at + 1 - HEADER;
		count = page[26];
		if (memcmp(page, "OggS", 4) || count > left)
			continue;
		for (size_t i = 0; i < count; i++)
			nbytes += page[HEADER + i];
		if (nbytes > left - count || sum_of(p, page, HEADER + count + nbytes) != number(page + SUM_AT)) {
			if (++p->odd > ODD_MOST)
				return false;
			continue;
		}
		p->at += HEADER - 1 + count + nbytes;
		if (page[4]) // of a version that nobody knows
			continue;
		*out = (struct page){ page + HEADER + count, nbytes, number(page + 14) };
		return true;
	}
	return false;
}

// ---- the setup of Vorbis ----------------------------------------------------------------------------------------------------

struct bits { // the lowest of a byte comes first; behind the end they are 0
	const uint8_t *data;
	size_t nbytes, at;
};

static uint32_t take(struct bits *b, unsigned count)
{
	uint32_t out = 0;

	for (unsigned i = 0; i < count; i++, b->at++)
		out |= b->at / 8 < b->nbytes ? (uint32_t)(b->data[b->at / 8] >> b->at % 8 & 1) << i : 0;
	return out;
}

static bool is_over(const struct bits *b)
{
	return b->at / 8 > b->nbytes;
}

static unsigned bits_of(uint32_t x)
{
	unsigned n = 0;

	for (; x; x >>= 1)
		n++;
	return n;
}

// The largest whose power of `dimensions` is at most `entries`.
static uint32_t root(uint32_t entries, uint32_t dimensions)
{
	uint32_t out = 0;

	for (;; out++) {
		uint64_t power = 1;

		for (uint32_t i = 0; i < dimensions && power <= entries; i++)
			power *= out + 1;
		if (power > entries)
			return out;
	}
}

static void pass_lengths(struct bits *b, uint32_t entries)
{
	const bool is_ordered = take(b, 1);

	if (is_ordered) {
		take(b, 5);
		for (uint32_t i = 0; i < entries && !is_over(b);) {
			uint32_t n = take(b, bits_of(entries - i));

			i += n < entries - i ? n : entries - i;
		}
		return;
	}
	const bool is_sparse = take(b, 1);
	for (uint32_t i = 0; i < entries && !is_over(b); i++)
		if (!is_sparse || take(b, 1))
			take(b, 5);
}

static enum status check_setup(const char *name, const uint8_t *data, size_t nbytes, struct error *err)
{
	struct bits b = { data, nbytes, 7 * 8 };
	uint64_t all = 0;

	for (uint32_t i = 0, count = take(&b, 8) + 1; i < count; i++) {
		if (take(&b, 24) != 0x564342) // libvorbis ends here, too
			return STATUS_OK;
		uint64_t dimensions = take(&b, 16), entries = take(&b, 24), numbers = dimensions * entries;

		all += numbers + entries;
		if (dimensions == 0 || entries > ENTRIES_MOST || numbers > BOOK_MOST || all > BOOKS_MOST)
			return error_set(err, STATUS_BAD_INPUT,
				"%s: codebook %u of its Vorbis stream has %llu entries of %llu numbers: no encoder has such",
				name, i + 1, (unsigned long long)entries, (unsigned long long)dimensions);
		pass_lengths(&b, (uint32_t)entries);
		const uint32_t kind = take(&b, 4);
		if (kind > 2 || is_over(&b))
			return STATUS_OK;
		if (kind > 0) {
			take(&b, 32);
			take(&b, 32);
			const unsigned width = take(&b, 4) + 1;
			take(&b, 1);
			const uint64_t values = kind == 1 ? root((uint32_t)entries, (uint32_t)dimensions) : numbers;
			b.at += values * width;
		}
	}
	return STATUS_OK;
}

// ---- streams ----------------------------------------------------------------------------------------------------------------

// What the pages of a stream hold from here on, put together: a setup is somewhere in it, whichever packets libogg makes of that,
// and nothing else begins so.
static enum status check_vorbis(const char *name, struct pages p, uint32_t serial, struct error *err)
{
	size_t room = p.nbytes - p.at < STREAM_MOST ? p.nbytes - p.at : STREAM_MOST, length = 0;
	uint8_t *all = malloc(room + 1);
	enum status st = all ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "%s: no memory", name);
	struct page page;

	while (all && next_page(&p, &page) && length < room) {
		size_t n = page.nbytes < room - length ? page.nbytes : room - length;

		if (page.serial == serial && n > 0)
			memcpy(all + length, page.data, n);
		length += page.serial == serial ? n : 0;
	}
	for (size_t at = 0; !st && length - at >= 7; at++) {
		const uint8_t *found = memchr(all + at, 5, length - at - 6);

		if (!found)
			break;
		at = (size_t)(found - all);
		if (!memcmp(found, "\5vorbis", 7))
			st = check_setup(name, found, length - at, err);
	}
	free(all);
	return st;
}

enum status ogg_check(const char *name, const uint8_t *data, size_t nbytes, struct error *err)
{
	enum status st = STATUS_OK;
	size_t streams = 0;
	struct page page;

	if (nbytes < 4 || memcmp(data, "OggS", 4))
		return STATUS_OK;
	struct pages p = pages_of(data, nbytes);
	while (!st && next_page(&p, &page)) {
		const bool is_vorbis = page.nbytes > 11 && !memcmp(page.data, "\1vorbis", 7),
			   is_opus = page.nbytes > 9 && !memcmp(page.data, "OpusHead", 8);
		const unsigned channels = is_vorbis ? page.data[11] : is_opus ? page.data[9] : 0;

		if (!is_vorbis && !is_opus)
			continue;
		if (++streams > STREAMS_MOST)
			st = error_set(err, STATUS_BAD_INPUT, "%s: more than %d streams", name, STREAMS_MOST);
		else if (channels > CHANNELS_MOST)
			st = error_set(err, STATUS_BAD_INPUT, "%s: %u channels in an Ogg file; at most %d are read", name,
				channels, CHANNELS_MOST);
		else if (is_vorbis)
			st = check_vorbis(name, p, page.serial, err);
	}
	// libogg computes the sum of each, anew from the next byte on.
	return st || p.odd <= ODD_MOST
		? st
		: error_set(err, STATUS_BAD_INPUT, "%s: more than %d of its Ogg pages are damaged", name, ODD_MOST);
}
