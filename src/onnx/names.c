// SPDX-License-Identifier: Apache-2.0
// What leads to no node is copied as it is. New names are of one length, so that what a message takes does not depend on which
// nodes are in it.
#include "onnx/names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/messages.h"

enum { NODE_NAME = 3, NAME_NBYTES = 13 };
static const char inlined[] = "_inlfunc_"; // so ONNX Runtime begins the names of what it takes out of functions

struct naming {
	bool bad;   // it cannot be read
	bool plain; // so far every node has one name, of letters that a log shows as they are
	uint64_t fields;
	struct wire *names; // NULL: they are counted
	size_t count, messages;
};

static bool next(struct naming *n, struct wire *w, struct wire_field *out)
{
	enum wire_got got = n->bad ? WIRE_DAMAGED : wire_next_of(w, out, &n->fields);
	n->bad = got == WIRE_DAMAGED || got == WIRE_MANY;
	return got == WIRE_FIELD;
}

// Whether nodes are in this field, and in which message.
static bool leads(enum onnx_message within, const struct wire_field *f, enum onnx_message *is)
{
	return onnx_leads(within, f, is) && *is < ONNX_SPARSE;
}

static bool is_plain(struct wire name)
{
	size_t length = (size_t)(name.end - name.at);
	if (length >= sizeof inlined - 1 && !memcmp(name.at, inlined, sizeof inlined - 1))
		return false;
	for (size_t i = 0; i < length; i++)
		if (name.at[i] < ' ' || name.at[i] > '~' || name.at[i] == '(' || name.at[i] == ')')
			return false;
	return length > 0;
}

static void look(struct naming *n, enum onnx_message within, struct wire w, int depth)
{
	struct wire name = { 0 };
	size_t given = 0;
	struct wire_field f;
	enum onnx_message is;
	n->bad = n->bad || depth == ONNX_DEPTH_MOST;
	n->messages++;
	while (next(n, &w, &f))
		if (leads(within, &f, &is)) {
			look(n, is, f.bytes, depth + 1);
		} else if (within == ONNX_NODE && f.number == NODE_NAME) {
			name = f.bytes;
			given++;
		}
	if (within != ONNX_NODE || n->bad)
		return;
	n->plain = n->plain && given == 1 && is_plain(name);
	if (n->names)
		n->names[n->count] = name;
	n->count++;
}

static int by_text(const void *a, const void *b)
{
	const struct wire *x = a, *y = b;
	size_t n = (size_t)(x->end - x->at), m = (size_t)(y->end - y->at);
	int order = memcmp(x->at, y->at, n < m ? n : m);
	return order ? order : (n > m) - (n < m);
}

static size_t varint_nbytes(uint64_t x)
{
	size_t n = 1;
	for (; x > 127; x >>= 7)
		n++;
	return n;
}

// What messages take with the new names, in the order in which they begin.
struct copy {
	size_t *rooms, next;
	size_t number; // of the next node
};

static size_t measure(struct copy *c, enum onnx_message within, struct wire w)
{
	size_t out = within == ONNX_NODE ? 2 + NAME_NBYTES : 0, place = c->next++;
	const uint8_t *at = w.at;
	struct wire_field f;
	enum onnx_message is;
	for (; wire_next(&w, &f) == WIRE_FIELD; at = w.at)
		if (leads(within, &f, &is)) {
			size_t n = measure(c, is, f.bytes);
			out += varint_nbytes(f.number << 3 | f.kind) + varint_nbytes(n) + n;
		} else if (within != ONNX_NODE || f.number != NODE_NAME) {
			out += (size_t)(w.at - at);
		}
	c->rooms[place] = out;
	return out;
}

static uint8_t *put_varint(uint8_t *out, uint64_t x)
{
	for (; x > 127; x >>= 7)
		*out++ = (uint8_t)(x | 128);
	*out++ = (uint8_t)x;
	return out;
}

static uint8_t *put(struct copy *c, uint8_t *out, enum onnx_message within, struct wire w)
{
	char name[NAME_NBYTES + 1];
	const uint8_t *at = w.at;
	struct wire_field f;
	enum onnx_message is;
	c->next++;
	if (within == ONNX_NODE) {
		snprintf(name, sizeof name, "node_%08zu", c->number++ % 100000000); // more than a file has fields
		out = put_varint(put_varint(out, NODE_NAME << 3 | WIRE_BYTES), NAME_NBYTES);
		out = (uint8_t *)memcpy(out, name, NAME_NBYTES) + NAME_NBYTES;
	}
	for (; wire_next(&w, &f) == WIRE_FIELD; at = w.at)
		if (leads(within, &f, &is)) {
			out = put_varint(put_varint(out, f.number << 3 | f.kind), c->rooms[c->next]);
			out = put(c, out, is, f.bytes);
		} else if (within != ONNX_NODE || f.number != NODE_NAME) {
			out = (uint8_t *)memcpy(out, at, (size_t)(w.at - at)) + (w.at - at);
		}
	return out;
}

const void *onnx_named(struct arena *a, const void *onnx, size_t nbytes, size_t *out_nbytes)
{
	const struct wire w = { onnx, (const uint8_t *)onnx + nbytes };
	struct naming n = { .plain = true };
	look(&n, ONNX_MODEL, w, 0);
	if (n.bad)
		return NULL;
	if (n.plain && n.count) {
		struct naming again = { .plain = true, .names = ARENA_ARRAY(a, n.count, struct wire) };
		look(&again, ONNX_MODEL, w, 0);
		qsort(again.names, again.count, sizeof *again.names, by_text);
		for (size_t i = 1; i < again.count && n.plain; i++)
			n.plain = by_text(&again.names[i - 1], &again.names[i]) != 0;
	}
	*out_nbytes = nbytes;
	if (n.plain)
		return onnx;
	struct copy c = { .rooms = ARENA_ARRAY(a, n.messages, size_t) };
	*out_nbytes = measure(&c, ONNX_MODEL, w);
	uint8_t *out = arena_alloc(a, *out_nbytes + 1);
	c.next = 0;
	put(&c, out, ONNX_MODEL, w);
	return out;
}
