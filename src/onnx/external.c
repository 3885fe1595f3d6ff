// SPDX-License-Identifier: Apache-2.0
#include "onnx/external.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "onnx/messages.h"

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, ATTRIBUTE_NAME = 1, ATTRIBUTE_TEXT = 4, NAMES_MOST = 1 << 18, NAME_MOST = 4096 };
enum {
	MODEL_GRAPH = 7,
	ATTRIBUTE_TENSOR = 5,
	ATTRIBUTE_GRAPH = 6,
	ATTRIBUTE_SPARSE = 22,
	GRAPH_NODE = 1,
	GRAPH_INITIALIZER = 5,
	GRAPH_INPUT = 11,
	GRAPH_SPARSE = 15,
	INPUT_NAME = 1,
	FUNCTION_INPUT = 4,
	FUNCTION_NODE = 7,
	SPARSE_VALUES = 1,
	TENSOR_NAME = 8
};
enum {
	NODE_OUTPUT = 2,
	NODE_OPERATOR = 4,
	NODE_ATTRIBUTE = 5,
	TENSOR_DIMS = 1,
	TENSOR_TYPE = 2,
	TENSOR_INT32 = 5,
	TENSOR_RAW = 9,
	TENSOR_ENTRY = 13
};
enum { TYPE_BOOL = 9, TRUTHS_MOST = 4096 };
enum { MODEL_OPSET = 8, FUNCTION_OPSET = 9, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };

// A graph, or a function's body, and what lies around it.
struct scope {
	struct scope *around; // NULL: nothing
	enum onnx_message is; // ONNX_GRAPH or ONNX_FUNCTION
	struct wire message;
	struct wire *names; // of its inputs, weights and nodes' outputs, sorted; NULL: nobody has asked yet
	size_t count;
};
struct found {
	struct arena *arena;
	struct scope *scope; // in which the walk is
	uint64_t lookups;
	const char **names;
	size_t count, capacity;
	uint64_t fields;
	const char *lacks; // why there may be more
	struct onnx_truths *truths;
	size_t truths_count;
};

// False at the end, and where the message is damaged: then the list may lack some.
static bool next(struct found *f, struct wire *w, struct wire_field *out)
{
	enum wire_got got = wire_next_of(w, out, &f->fields);
	if (got == WIRE_DAMAGED)
		f->lacks = "is damaged: it cannot be read to its end, so the files of weights that it names are not known";
	else if (got == WIRE_MANY)
		f->lacks =
			"has more than 8388608 fields, so the files of weights that it names are not known; no graph has so many";
	return got == WIRE_FIELD && !f->lacks;
}

static void add_name(struct found *f, struct wire name)
{
	if (name.end - name.at > NAME_MOST)
		f->lacks = "names a file of weights by more than 4096 bytes";
	else if (f->count == NAMES_MOST)
		f->lacks = "changes the file of weights more than 262144 times";
	if (f->lacks)
		return;
	if (f->count == f->capacity) {
		f->capacity = f->capacity ? 2 * f->capacity : 16;
		const char **more = ARENA_ARRAY(f->arena, f->capacity, const char *);
		for (size_t i = 0; i < f->count; i++)
			more[i] = f->names[i];
		f->names = more;
	}
	f->names[f->count++] = arena_strndup(f->arena, (const char *)name.at, (size_t)(name.end - name.at));
}

static bool is_last(const struct found *f, struct wire name)
{
	size_t n = (size_t)(name.end - name.at);
	const char *last = f->count ? f->names[f->count - 1] : NULL;
	return last && strlen(last) == n && !memcmp(last, name.at, n);
}

static bool is_word(struct wire w, const char *word)
{
	return (size_t)(w.end - w.at) == strlen(word) && !memcmp(w.at, word, strlen(word));
}

// Of an entry of external data, by protobuf's rule the last of each.
static void read_entry(struct found *f, struct wire s, struct wire *key, struct wire *value)
{
	struct wire_field field;
	*key = *value = (struct wire){ 0 };
	while (next(f, &s, &field))
		if (field.kind == WIRE_BYTES && field.number == ENTRY_KEY)
			*key = field.bytes;
		else if (field.kind == WIRE_BYTES && field.number == ENTRY_VALUE)
			*value = field.bytes;
}

// The next entry of a tensor's external data; false: there is none.
static bool next_entry(struct found *f, struct wire *tensor, struct wire *key, struct wire *value)
{
	struct wire_field field;

	while (next(f, tensor, &field))
		if (field.kind == WIRE_BYTES && field.number == TENSOR_ENTRY) {
			read_entry(f, field.bytes, key, value);
			return true;
		}
	return false;
}

static void take_entry(struct found *f, struct wire s)
{
	struct wire key, name;
	read_entry(f, s, &key, &name);
	// Thousands of tensors in a row lie in one file.
	if (is_word(key, "location") && name.at && !is_last(f, name))
		add_name(f, name);
}

// What was compiled for a device lies in a file that an attribute of com.microsoft::EPContext names, or in the attribute itself:
// then it is no text, or longer than any name.
static void take_context(struct found *f, struct wire s)
{
	struct wire text = { 0 };
	struct wire_field field;
	bool is_context = false;
	while (next(f, &s, &field)) {
		const struct wire value = field.bytes;
		if (field.kind == WIRE_BYTES && field.number == ATTRIBUTE_NAME)
			is_context = is_word(value, "ep_cache_context");
		else if (field.kind == WIRE_BYTES && field.number == ATTRIBUTE_TEXT)
			text = value;
	}
	const bool is_name = text.at && text.end > text.at && text.end - text.at <= NAME_MOST &&
		!memchr(text.at, 0, (size_t)(text.end - text.at));
	if (is_context && is_name && !is_last(f, text))
		add_name(f, text);
}

// The name of an initializer, dense or sparse; at NULL: it has none.
static struct wire initializer_name(struct found *f, const struct wire_field *of)
{
	struct wire s = of->bytes, name = { 0 };
	struct wire_field field;
	if (of->number == GRAPH_SPARSE) {
		struct wire values = { 0 };
		while (next(f, &s, &field))
			if (field.kind == WIRE_BYTES && field.number == SPARSE_VALUES) {
				if (values.at)
					f->lacks = "has a sparse weight in several pieces";
				values = field.bytes;
			}
		s = values;
	}
	while (s.at && next(f, &s, &field))
		if (field.kind == WIRE_BYTES && field.number == TENSOR_NAME)
			name = field.bytes;
	return name.at < name.end ? name : (struct wire){ 0 };
}

static int by_bytes(const void *a, const void *b)
{
	const struct wire *x = a, *y = b;
	const size_t n = (size_t)(x->end - x->at), m = (size_t)(y->end - y->at);
	return n != m ? (n > m) - (n < m) : memcmp(x->at, y->at, n);
}

static bool is_weight(const struct wire_field *field)
{
	return field->kind == WIRE_BYTES && (field->number == GRAPH_INITIALIZER || field->number == GRAPH_SPARSE);
}

// Of two weights of one name ONNX Runtime takes one and OpenVINO the other: the file is two models.
static void check_weights(struct found *f, struct wire graph)
{
	struct wire s = graph, *names;
	struct wire_field field;
	size_t count = 0, room = 0;

	while (next(f, &s, &field))
		room += is_weight(&field);
	if (room > NAMES_MOST)
		f->lacks = "has more than 262144 initializers in a graph; no model has so many";
	if (f->lacks || room < 2)
		return;
	names = ARENA_ARRAY(f->arena, room, struct wire);
	s = graph;
	while (count < room && next(f, &s, &field))
		if (is_weight(&field)) {
			names[count] = initializer_name(f, &field);
			count += names[count].at != NULL;
		}
	qsort(names, count, sizeof *names, by_bytes);
	for (size_t i = 1; i < count && !f->lacks; i++)
		if (!by_bytes(&names[i - 1], &names[i])) {
			const size_t n = (size_t)(names[i].end - names[i].at);

			f->lacks = arena_printf(f->arena,
				"has two weights that are called %.*s, of which engines take one or the other: it is two models",
				(int)(n < 128 ? n : 128), (const char *)names[i].at);
		}
}

// Puts the names that a scope has for its values into `names`, unless that is NULL; how many. ONNX_FUNCTION's inputs are texts.
static size_t gather_names(struct found *f, const struct scope *scope, struct wire *names)
{
	const bool is_graph = scope->is == ONNX_GRAPH;
	struct wire s = scope->message;
	struct wire_field field, part;
	size_t n = 0;

	while (next(f, &s, &field)) {
		if (field.kind != WIRE_BYTES)
			continue;
		struct wire within = field.bytes, name = { 0 };
		if (field.number == (is_graph ? GRAPH_NODE : FUNCTION_NODE)) {
			while (next(f, &within, &part))
				if (part.kind == WIRE_BYTES && part.number == NODE_OUTPUT) {
					if (names)
						names[n] = part.bytes;
					n++;
				}
			continue;
		}
		if (is_graph && (field.number == GRAPH_INITIALIZER || field.number == GRAPH_SPARSE))
			name = initializer_name(f, &field);
		else if (is_graph && field.number == GRAPH_INPUT) {
			while (next(f, &within, &part))
				if (part.kind == WIRE_BYTES && part.number == INPUT_NAME)
					name = part.bytes;
		} else if (!is_graph && field.number == FUNCTION_INPUT)
			name = field.bytes;
		if (!name.at)
			continue;
		if (names)
			names[n] = name;
		n++;
	}
	return n;
}

static bool has_name(struct found *f, struct scope *scope, struct wire name)
{
	enum { VALUES_MOST = 1 << 20 };
	if (!scope->names) {
		struct found own = { .arena = f->arena }; // counts its fields by itself
		const size_t n = gather_names(&own, scope, NULL);
		if (n > VALUES_MOST)
			own.lacks = "has more than 1048576 values around a graph with weights of its own; no model has so many";
		if (!own.lacks) {
			scope->names = ARENA_ARRAY(f->arena, n + 1, struct wire);
			scope->count = gather_names(&own, scope, scope->names);
			qsort(scope->names, scope->count, sizeof *scope->names, by_bytes);
		}
		f->lacks = own.lacks;
		if (f->lacks)
			return false;
	}
	return bsearch(&name, scope->names, scope->count, sizeof name, by_bytes) != NULL;
}

// A weight of a branch that is called as a value around it: ONNX forbids it, checkers let it by, and engines take one or the
// other.
static void check_shadows(struct found *f, struct wire s)
{
	enum { LOOKUPS_MOST = 1 << 22 };
	struct wire_field field;

	while (f->scope && next(f, &s, &field)) {
		if (!is_weight(&field))
			continue;
		const struct wire name = initializer_name(f, &field);
		for (struct scope *around = f->scope; name.at && around && !f->lacks; around = around->around)
			if (++f->lookups > LOOKUPS_MOST)
				f->lacks = "has too many weights in graphs within graphs; no model has so many";
			else if (has_name(f, around, name) && !f->lacks)
				f->lacks = arena_printf(f->arena,
					"has a weight in a graph within the graph that is called %.*s, as a value around it is, "
					"of which "
					"engines take one or the other: it is two models",
					(int)(name.end - name.at < 128 ? name.end - name.at : 128), (const char *)name.at);
	}
}

struct opset {
	struct wire domain;
	uint64_t version;
};

static int by_domain(const void *a, const void *b)
{
	const struct opset *x = a, *y = b;

	return by_bytes(&x->domain, &y->domain);
}

static struct opset opset_of(struct found *f, struct wire s)
{
	struct opset out = { .domain = { s.at, s.at } };
	struct wire_field field;

	while (next(f, &s, &field)) {
		if (field.kind == WIRE_BYTES && field.number == OPSET_DOMAIN)
			out.domain = field.bytes;
		if (field.kind == WIRE_VARINT && field.number == OPSET_VERSION)
			out.version = field.varint;
	}
	if (is_word(out.domain, "ai.onnx")) // the long word for the empty one
		out.domain.end = out.domain.at;
	return out;
}

// Of two versions of one domain's operators likewise; the same one twice is one.
static void check_opsets(struct found *f, unsigned number, struct wire message)
{
	struct wire s = message;
	struct wire_field field;
	struct opset *all;
	size_t count = 0, room = 0;

	while (next(f, &s, &field))
		room += field.kind == WIRE_BYTES && field.number == number;
	if (room > NAMES_MOST)
		f->lacks = "imports more than 262144 sets of operators";
	if (f->lacks || room < 2)
		return;
	all = ARENA_ARRAY(f->arena, room, struct opset);
	s = message;
	while (count < room && next(f, &s, &field))
		if (field.kind == WIRE_BYTES && field.number == number)
			all[count++] = opset_of(f, field.bytes);
	qsort(all, count, sizeof *all, by_domain);
	for (size_t i = 1; i < count && !f->lacks; i++)
		if (!by_domain(&all[i - 1], &all[i]) && all[i - 1].version != all[i].version)
			f->lacks = "imports one set of operators twice, of which engines take one or the other: it is two models";
}

// What a node or a tensor says of itself, as its fields come.
struct said {
	struct wire op, raw;
	uint64_t type, values; // of dimensions so far, saturated
	size_t attributes;
	bool has_more_than_one, is_external; // int32_data above 1; entries of external data
};

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t out;

	return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

// A repeated number, of which some may be packed into one field.
static void take_numbers(struct said *x, const struct wire_field *field)
{
	struct wire packed = field->bytes;
	uint64_t n = field->varint;
	const bool one = field->kind == WIRE_VARINT;

	while (one || (field->kind == WIRE_BYTES && packed.at < packed.end && wire_varint(&packed, &n))) {
		if (field->number == TENSOR_DIMS)
			x->values = times(x->values, n);
		else
			x->has_more_than_one = x->has_more_than_one || n > 1;
		if (one)
			break;
	}
}

static void take_said(struct said *x, enum onnx_message within, const struct wire_field *field)
{
	if (within == ONNX_NODE && field->kind == WIRE_BYTES && field->number == NODE_OPERATOR)
		x->op = field->bytes;
	x->attributes += within == ONNX_NODE && field->kind == WIRE_BYTES && field->number == NODE_ATTRIBUTE;
	if (within == ONNX_TENSOR && field->kind == WIRE_VARINT && field->number == TENSOR_TYPE)
		x->type = (uint32_t)field->varint; // protobuf takes so many bits of an int32
	if (within == ONNX_TENSOR && field->kind == WIRE_BYTES && field->number == TENSOR_RAW)
		x->raw = field->bytes;
	if (within == ONNX_TENSOR && (field->number == TENSOR_DIMS || field->number == TENSOR_INT32))
		take_numbers(x, field);
	x->is_external = x->is_external || (within == ONNX_TENSOR && field->number == TENSOR_ENTRY);
}

// Where the bytes of a tensor of truth values lie, in another file.
static void add_truths(struct found *f, const struct said *x, struct wire tensor)
{
	struct onnx_truths at = { .nbytes = x->values };
	struct wire key, value;

	while (next_entry(f, &tensor, &key, &value)) {
		if (!key.at || !value.at || value.end - value.at > NAME_MOST)
			continue;
		const char *text = arena_strndup(f->arena, (const char *)value.at, (size_t)(value.end - value.at));
		if (is_word(key, "location"))
			at.location = text;
		else if (is_word(key, "offset"))
			at.offset = strtoull(text, NULL, 10);
	}
	if (!at.location || f->lacks)
		return;
	if (f->truths_count == TRUTHS_MOST) {
		f->lacks = "has more than 4096 tensors of truth values in other files";
		return;
	}
	if ((f->truths_count & (f->truths_count - 1)) == 0) { // room for twice as many
		struct onnx_truths *more = ARENA_ARRAY(f->arena, f->truths_count ? 2 * f->truths_count : 1, struct onnx_truths);
		for (size_t i = 0; i < f->truths_count; i++)
			more[i] = f->truths[i];
		f->truths = more;
	}
	f->truths[f->truths_count++] = at;
}

static const char no_truth[] = "has a truth value that is neither 0 nor 1, of which engines make different things";

const char *onnx_check_truths(const uint8_t *bytes, size_t nbytes)
{
	enum { BLOCK = 4096 };

	for (size_t at = 0; at < nbytes; at += BLOCK) {
		const size_t n = nbytes - at < BLOCK ? nbytes - at : BLOCK;
		uint8_t all = 0;
		for (size_t i = 0; i < n; i++)
			all |= bytes[at + i];
		if (all > 1)
			return no_truth;
	}
	return NULL;
}

static bool has_nul(struct wire w)
{
	return w.at && memchr(w.at, 0, (size_t)(w.end - w.at));
}

// Of two places of one tensor's data assay takes the first, ONNX Runtime and OpenVINO the last; a text with a NUL ends there for
// some; keys that ONNX does not have ONNX Runtime refuses, and a browser would get a file without them.
static void check_entries(struct found *f, struct wire tensor)
{
	static const char *const keys[] = { "location", "offset", "length", "checksum", "basepath" };
	unsigned seen = 0;
	struct wire key, value;

	while (next_entry(f, &tensor, &key, &value)) {
		bool is_known = false;
		if (key.end - key.at >= 9 && !memcmp(key.at, "prepacked", 9))
			f->lacks = "has a weight beside which lies what ONNX Runtime packed of it for one kind of processor: "
				   "only it "
				   "takes that for the weight, and nothing says that the two are equal";
		for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
			if (!key.at || !is_word(key, keys[i]))
				continue;
			is_known = true;
			if (seen >> i & 1)
				f->lacks = "has a weight whose data lies in two places, of which readers take one or the other: "
					   "it is two models";
			seen |= 1u << i;
		}
		if (!f->lacks && (!is_known || has_nul(key) || has_nul(value)))
			f->lacks = "has a weight in another file with a word that ONNX does not have, of which readers make "
				   "different things";
	}
}

// Of a constant that has two values, and of truth values that are neither 0 nor 1, engines make different things.
static void check_said(struct found *f, const struct said *x, struct wire message)
{
	if (x->attributes > 1 && is_word(x->op, "Constant"))
		f->lacks = "has a constant with two values, of which engines take one or the other: it is two models";
	if (x->is_external && !f->lacks)
		check_entries(f, message);
	if (x->type != TYPE_BOOL || f->lacks)
		return;
	f->lacks = x->has_more_than_one ? no_truth : onnx_check_truths(x->raw.at, (size_t)(x->raw.end - x->raw.at));
	if (x->is_external && !f->lacks)
		add_truths(f, x, message);
}

// A message of which there is one in a model, and in an attribute one of these.
static bool is_once(enum onnx_message within, const struct wire_field *field)
{
	const unsigned n = field->number;

	return field->kind == WIRE_BYTES &&
		((within == ONNX_MODEL && n == MODEL_GRAPH) ||
			(within == ONNX_ATTRIBUTE && (n == ATTRIBUTE_GRAPH || n == ATTRIBUTE_TENSOR || n == ATTRIBUTE_SPARSE)));
}

static void walk(struct found *f, enum onnx_message within, struct wire s, int depth)
{
	const struct wire message = s;
	struct wire_field field;
	if (depth == ONNX_DEPTH_MOST) {
		f->lacks = "is nested deeper than 64 messages";
		return;
	}
	if (within == ONNX_ATTRIBUTE)
		take_context(f, s);
	struct scope scope = { .around = f->scope, .is = within, .message = s };
	if (within == ONNX_GRAPH) {
		check_weights(f, s);
		check_shadows(f, s);
	}
	if (within == ONNX_GRAPH || within == ONNX_FUNCTION)
		f->scope = &scope;
	if (within == ONNX_MODEL || within == ONNX_FUNCTION)
		check_opsets(f, within == ONNX_MODEL ? MODEL_OPSET : FUNCTION_OPSET, s);
	struct said said = { .values = 1 };
	size_t once = 0;
	while (next(f, &s, &field)) {
		enum onnx_message is;
		take_said(&said, within, &field);
		// protobuf joins the pieces of a field that is there once by its schema.
		if (is_once(within, &field) && ++once > 1)
			f->lacks = within == ONNX_MODEL || field.number == ATTRIBUTE_GRAPH ? "has a graph in several pieces"
											   : "has a tensor in several pieces";
		if (!onnx_leads(within, &field, &is))
			continue;
		if (is == ONNX_ENTRY)
			take_entry(f, field.bytes);
		else
			walk(f, is, field.bytes, depth + 1);
	}
	f->scope = scope.around;
	if (!f->lacks)
		check_said(f, &said, message);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *onnx_external_read(const uint8_t *onnx, size_t nbytes, struct arena *a, struct onnx_external *out)
{
	struct found f = { .arena = a };
	size_t kept = 0;
	if (nbytes)
		walk(&f, ONNX_MODEL, (struct wire){ onnx, onnx + nbytes }, 0);
	if (f.count)
		qsort(f.names, f.count, sizeof *f.names, by_text);
	for (size_t i = 0; i < f.count; i++)
		if (!kept || strcmp(f.names[kept - 1], f.names[i]))
			f.names[kept++] = f.names[i];
	*out = (struct onnx_external){ f.names, kept, f.truths, f.truths_count };
	return f.lacks;
}
