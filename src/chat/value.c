// SPDX-License-Identifier: Apache-2.0
// Values: made, compared, looked through, and written as Python's str, repr and json.dumps write them.
#include "chat/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "token/unicode.h"

// ---- making ---------------------------------------------------------------------------------------------------------------

struct value value_string(const char *s, size_t n)
{
	return (struct value){ .kind = V_STRING, .s = n ? s : "", .n = n };
}

struct value value_of_text(const char *s)
{
	return value_string(s, strlen(s));
}

struct value value_bool(bool b)
{
	return (struct value){ .kind = V_BOOL, .b = b };
}

struct value value_int(int64_t i)
{
	return (struct value){ .kind = V_INT, .i = i };
}

struct value value_float(double f)
{
	return (struct value){ .kind = V_FLOAT, .f = f };
}

struct value value_undefined(struct run *r, const char *format, ...)
{
	struct build b = BUILD(r);
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	build_text(&b, text);
	struct value v = build_value(&b);
	v.kind = V_UNDEFINED;
	return v;
}

struct value value_list(struct run *r, enum value_kind kind)
{
	return (struct value){ .kind = kind, .list = RUN_NEW(r, struct list) };
}

void list_add(struct run *r, struct list *l, struct value v)
{
	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 4;
		struct value *more = run_take(r, room, sizeof *more);
		if (!more || r->failed)
			return;
		if (l->count)
			memcpy(more, l->items, l->count * sizeof *more);
		l->items = more;
		l->room = room;
	}
	l->items[l->count++] = v;
}

// In between it may leave 64 bits, the item never does.
int64_t range_at(const struct range *range, size_t i)
{
	return (int64_t)((uint64_t)range->start + i * (uint64_t)range->step);
}

struct value value_pair(struct run *r, struct value a, struct value b)
{
	struct value v = value_list(r, V_TUPLE);

	list_add(r, v.list, a);
	list_add(r, v.list, b);
	return v;
}

struct value value_dict(struct run *r, enum value_kind kind)
{
	return (struct value){ .kind = kind, .dict = RUN_NEW(r, struct dict) };
}

// Equal values have equal hashes: 1, 1.0 and true.
static uint64_t hash_of(struct run *r, struct value v)
{
	double f;
	uint64_t h = 1469598103934665603u;
	bool paid = run_characters(r, v);

	if (value_number(v, &f)) {
		f += 0.0; // -0
		memcpy(&h, &f, sizeof h);
		h *= 0x9E3779B97F4A7C15u;
		return h ^ h >> 32; // a number's low bits are mostly 0
	}
	if (v.kind == V_STRING) {
		for (size_t i = 0; i < v.n && paid; i++)
			h = (h ^ (unsigned char)v.s[i]) * 1099511628211u;
	} else if (v.kind == V_TUPLE) {
		if (!run_deeper(r))
			return 0;
		for (size_t i = 0; i < v.list->count && run_step(r, 0); i++)
			h = (h ^ hash_of(r, v.list->items[i])) * 1099511628211u;
		r->depth--;
	} else if (v.kind == V_LIST || v.kind == V_DICT) {
		run_bad(r, "unhashable type: '%s'", value_type(v));
	} else {
		h = (uint64_t)v.kind * 0x9E3779B97F4A7C15u;
	}
	return h;
}

static void dict_index(struct run *r, struct dict *d)
{
	size_t count = d->slot_count ? d->slot_count * 2 : 32;
	uint32_t *slots = run_take(r, count, sizeof *slots);

	if (!slots || r->failed)
		return;
	for (size_t i = 0; i < d->count; i++) {
		size_t at = hash_of(r, d->pairs[i].key) & (count - 1);
		while (slots[at])
			at = (at + 1) & (count - 1);
		slots[at] = (uint32_t)i + 1;
	}
	d->slots = slots;
	d->slot_count = count;
}

struct value *dict_get(struct run *r, const struct dict *d, struct value key)
{
	uint64_t h = hash_of(r, key);

	if (r->failed)
		return NULL;
	if (!d->slots) {
		for (size_t i = 0; i < d->count; i++)
			if (value_equal(r, d->pairs[i].key, key))
				return &d->pairs[i].value;
		return NULL;
	}
	for (size_t at = h & (d->slot_count - 1); d->slots[at]; at = (at + 1) & (d->slot_count - 1)) {
		struct pair *p = &d->pairs[d->slots[at] - 1];
		if (!run_step(r, 0))
			return NULL;
		if (value_equal(r, p->key, key))
			return &p->value;
	}
	return NULL;
}

struct value *dict_text(struct run *r, const struct dict *d, const char *key, size_t n)
{
	return dict_get(r, d, value_string(key, n));
}

void dict_set(struct run *r, struct dict *d, struct value key, struct value v)
{
	struct value *old = dict_get(r, d, key);

	if (r->failed)
		return;
	if (old) {
		*old = v;
		return;
	}
	if (d->count == d->room) {
		size_t room = d->room ? d->room * 2 : 4;
		struct pair *more = run_take(r, room, sizeof *more);
		if (!more || r->failed)
			return;
		if (d->count)
			memcpy(more, d->pairs, d->count * sizeof *more);
		d->pairs = more;
		d->room = room;
	}
	d->pairs[d->count++] = (struct pair){ key, v };
	if (!d->slots ? d->count > 8 : d->count * 2 > d->slot_count) {
		dict_index(r, d);
	} else if (d->slots) {
		size_t at = hash_of(r, key) & (d->slot_count - 1);
		while (d->slots[at])
			at = (at + 1) & (d->slot_count - 1);
		d->slots[at] = (uint32_t)d->count;
	}
}

struct value value_json(struct run *r, const json_t *from)
{
	struct value out = { .kind = V_NONE };
	const char *key;
	json_t *item;
	size_t i;

	if (!run_deeper(r))
		return out;
	switch (json_typeof(from)) {
	case JSON_OBJECT:
		out = value_dict(r, V_DICT);
		json_object_foreach((json_t *)from, key, item) dict_set(r, out.dict, value_of_text(key), value_json(r, item));
		break;
	case JSON_ARRAY:
		out = value_list(r, V_LIST);
		json_array_foreach(from, i, item) list_add(r, out.list, value_json(r, item));
		break;
	case JSON_STRING:
		out = value_string(json_string_value(from), json_string_length(from));
		break;
	case JSON_INTEGER:
		out = value_int(json_integer_value(from));
		break;
	case JSON_REAL:
		out = value_float(json_real_value(from));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		out = value_bool(json_is_true(from));
		break;
	case JSON_NULL:
		break;
	}
	r->depth--;
	return out;
}

// ---- asking ---------------------------------------------------------------------------------------------------------------

const char *value_type(struct value v)
{
	static const char *const names[] = { [V_MISSING] = "missing",
		[V_UNDEFINED] = "Undefined",
		[V_NONE] = "NoneType",
		[V_BOOL] = "bool",
		[V_INT] = "int",
		[V_FLOAT] = "float",
		[V_STRING] = "str",
		[V_LIST] = "list",
		[V_TUPLE] = "tuple",
		[V_GENERATOR] = "generator",
		[V_VIEW] = "dict_items",
		[V_DICT] = "dict",
		[V_NAMESPACE] = "Namespace",
		[V_RANGE] = "range",
		[V_LOOP] = "LoopContext",
		[V_MACRO] = "Macro",
		[V_FUNCTION] = "function",
		[V_METHOD] = "builtin_function_or_method" };

	return v.kind == V_VIEW ? v.list->name : names[v.kind];
}

bool is_text(struct value v, const char *s)
{
	return v.n == strlen(s) && !memcmp(v.s, s, v.n);
}

bool value_integer(struct value v, int64_t *i)
{
	if (v.kind != V_INT && v.kind != V_BOOL)
		return false;
	*i = v.kind == V_BOOL ? v.b : v.i;
	return true;
}

bool value_number(struct value v, double *f)
{
	int64_t i;

	if (v.kind == V_FLOAT)
		*f = v.f;
	else if (value_integer(v, &i))
		*f = (double)i;
	else
		return false;
	return true;
}

static bool is_listed(struct value v)
{
	return v.kind == V_LIST || v.kind == V_TUPLE || v.kind == V_VIEW;
}

bool value_length(struct value v, size_t *n)
{
	if (v.kind == V_STRING)
		*n = utf8_count(v.s, v.n);
	else if (is_listed(v))
		*n = v.list->count;
	else if (v.kind == V_DICT)
		*n = v.dict->count;
	else if (v.kind == V_RANGE)
		*n = v.range->count;
	else if (v.kind == V_LOOP)
		*n = v.loop->items->count;
	else if (v.kind == V_UNDEFINED)
		*n = 0;
	else
		return false;
	return true;
}

bool value_true(struct value v)
{
	double f;
	size_t n;

	if (v.kind == V_MISSING || v.kind == V_NONE)
		return false;
	if (value_number(v, &f))
		return f != 0;
	if (v.kind == V_STRING)
		return v.n != 0;
	return !value_length(v, &n) || n != 0;
}

bool value_equal(struct run *r, struct value a, struct value b)
{
	double x, y;
	bool same = true;

	if (value_number(a, &x) && value_number(b, &y)) {
		int64_t i, k;
		return value_integer(a, &i) && value_integer(b, &k) ? i == k : x == y;
	}
	if (a.kind != b.kind)
		return false;
	switch (a.kind) {
	case V_MISSING:
	case V_UNDEFINED:
	case V_NONE:
		return true;
	case V_STRING:
		return a.n == b.n && run_step(r, a.n) && !memcmp(a.s, b.s, a.n);
	case V_LIST:
	case V_TUPLE:
		if (a.list->count != b.list->count || !run_deeper(r))
			return false;
		for (size_t i = 0; i < a.list->count && same && !r->failed; i++)
			same = run_step(r, 0) && value_equal(r, a.list->items[i], b.list->items[i]);
		r->depth--;
		return same;
	case V_DICT:
		if (a.dict->count != b.dict->count || !run_deeper(r))
			return false;
		for (size_t i = 0; i < a.dict->count && same && !r->failed; i++) {
			struct value *other = dict_get(r, b.dict, a.dict->pairs[i].key);
			same = other && run_step(r, 0) && value_equal(r, a.dict->pairs[i].value, *other);
		}
		r->depth--;
		return same;
	case V_RANGE:
		return a.range->count == b.range->count &&
			(!a.range->count ||
				(a.range->start == b.range->start && (a.range->count == 1 || a.range->step == b.range->step)));
	default:
		return a.list == b.list;
	}
}

int value_order(struct run *r, struct value a, struct value b, const char *sign)
{
	double x, y;

	if (value_number(a, &x) && value_number(b, &y)) {
		int64_t i, k;
		if (value_integer(a, &i) && value_integer(b, &k))
			return (i > k) - (i < k);
		return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
	}
	if (a.kind == V_STRING && b.kind == V_STRING) {
		run_step(r, a.n);
		int d = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
		return d ? (d > 0) - (d < 0) : (a.n > b.n) - (a.n < b.n);
	}
	if (a.kind == b.kind && (a.kind == V_LIST || a.kind == V_TUPLE)) {
		size_t n = a.list->count < b.list->count ? a.list->count : b.list->count;
		int d = 0;
		if (!run_deeper(r))
			return 0;
		for (size_t i = 0; i < n && !d && run_step(r, 0); i++)
			if (!value_equal(r, a.list->items[i], b.list->items[i]))
				d = value_order(r, a.list->items[i], b.list->items[i], sign);
		r->depth--;
		return d ? d : (a.list->count > b.list->count) - (a.list->count < b.list->count);
	}
	if (a.kind == V_UNDEFINED || b.kind == V_UNDEFINED) {
		struct value u = a.kind == V_UNDEFINED ? a : b;
		run_bad(r, "%.*s", (int)u.n, u.s);
	} else {
		run_bad(r, "'%s' not supported between instances of '%s' and '%s'", sign, value_type(a), value_type(b));
	}
	return 0;
}

size_t text_find(struct run *r, const char *s, size_t n, struct value what)
{
	const char *found = memmem(s, n, what.s, what.n);
	size_t at = found ? (size_t)(found - s) : SIZE_MAX;

	// What was gone through; linear in both texts, but of a short one the bytes may be compared at each place.
	run_step(r, ((found ? at : n) + what.n) * 8);
	return at;
}

bool value_in(struct run *r, struct value item, struct value in)
{
	if (in.kind == V_STRING) {
		if (item.kind != V_STRING) {
			if (item.kind == V_UNDEFINED)
				run_bad(r, "'in <string>' requires string as left operand, not Undefined");
			else
				run_bad(r, "'in <string>' requires string as left operand, not %s", value_type(item));
			return false;
		}
		return text_find(r, in.s, in.n, item) != SIZE_MAX;
	}
	if (in.kind == V_DICT)
		return dict_get(r, in.dict, item) != NULL;
	struct value items = value_iterate(r, in);
	for (size_t i = 0; !r->failed && i < items.list->count && run_step(r, 0); i++)
		if (value_equal(r, items.list->items[i], item))
			return true;
	return false;
}

struct value value_iterate(struct run *r, struct value v)
{
	struct value out;

	if (is_listed(v)) {
		run_step(r, v.list->count * 64);
		return v;
	}
	out = value_list(r, V_LIST);
	if (v.kind == V_GENERATOR) {
		if (!v.list->spent)
			*out.list = *v.list;
		v.list->spent = true;
	} else if (v.kind == V_DICT) {
		for (size_t i = 0; i < v.dict->count; i++)
			list_add(r, out.list, v.dict->pairs[i].key);
	} else if (v.kind == V_STRING) {
		for (size_t i = 0, n; i < v.n && !r->failed; i += n) {
			n = utf8_length(v.s[i]);
			list_add(r, out.list, value_string(v.s + i, n));
		}
	} else if (v.kind == V_RANGE) {
		for (size_t i = 0; i < v.range->count && !r->failed; i++)
			list_add(r, out.list, value_int(range_at(v.range, i)));
	} else if (v.kind == V_LOOP) {
		run_fail(r, STATUS_UNSUPPORTED, "a loop over `loop` is not supported");
	} else if (v.kind != V_UNDEFINED) {
		run_bad(r, "'%s' object is not iterable", value_type(v));
	}
	run_step(r, out.list->count * 16);
	return out;
}

// ---- writing --------------------------------------------------------------------------------------------------------------

void value_float_text(struct build *b, double f)
{
	char text[40];
	int digits = 1;

	if (!run_step(b->r, 64 * 256)) // up to 17 tries
		return;
	if (isnan(f) || isinf(f)) {
		build_text(b, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
		return;
	}
	do // the shortest that reads as the same number
		snprintf(text, sizeof text, "%.*e", digits - 1, f);
	while (strtod(text, NULL) != f && digits++ < 17);
	char *e = strchr(text, 'e');
	int exponent = (int)strtol(e + 1, NULL, 10);
	if (exponent >= -4 && exponent < 16) {
		snprintf(text, sizeof text, "%.*f", digits - 1 - exponent > 0 ? digits - 1 - exponent : 0, f);
		build_text(b, text);
		if (!strchr(text, '.'))
			build_text(b, ".0");
		return;
	}
	build_add(b, text, (size_t)(e - text));
	build_format(b, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

static bool printable(uint32_t code)
{
	unsigned c = unicode_of(code)->category; // in the order of UNICODE_CATEGORIES: Cn to Cs come first, Zl to Zs last

	return code == ' ' || (c > 4 && c < 27);
}

static void repr_text(struct build *b, const char *s, size_t n)
{
	char quote = memchr(s, '\'', n) && !memchr(s, '"', n) ? '"' : '\'';

	build_add(b, &quote, 1);
	for (size_t i = 0, k; i < n && !b->r->failed; i += k) {
		uint32_t code = utf8_next(s + i, &k);
		if (code == (unsigned char)quote || code == '\\')
			build_format(b, "\\%c", (char)code);
		else if (code == '\n' || code == '\r' || code == '\t')
			build_format(b, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
		else if (printable(code))
			build_add(b, s + i, k);
		else
			build_format(b, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
	}
	build_add(b, &quote, 1);
}

static void repr_pairs(struct build *b, const struct dict *d)
{
	build_text(b, "{");
	for (size_t i = 0; i < d->count && !b->r->failed; i++) {
		build_text(b, i ? ", " : "");
		value_repr(b, d->pairs[i].key);
		build_text(b, ": ");
		value_repr(b, d->pairs[i].value);
	}
	build_text(b, "}");
}

static void repr_items(struct build *b, const struct list *l, const char *begin, const char *end)
{
	build_text(b, begin);
	for (size_t i = 0; i < l->count && !b->r->failed; i++) {
		build_text(b, i ? ", " : "");
		value_repr(b, l->items[i]);
	}
	build_text(b, end);
}

void value_repr(struct build *b, struct value v)
{
	if (!run_step(b->r, 0) || !run_deeper(b->r))
		return;
	switch (v.kind) {
	case V_UNDEFINED:
		build_text(b, "Undefined");
		break;
	case V_NONE:
		build_text(b, "None");
		break;
	case V_BOOL:
		build_text(b, v.b ? "True" : "False");
		break;
	case V_INT:
		build_format(b, "%lld", (long long)v.i);
		break;
	case V_FLOAT:
		value_float_text(b, v.f);
		break;
	case V_STRING:
		repr_text(b, v.s, v.n);
		break;
	case V_LIST:
		repr_items(b, v.list, "[", "]");
		break;
	case V_TUPLE:
		repr_items(b, v.list, "(", v.list->count == 1 ? ",)" : ")");
		break;
	case V_VIEW:
		build_text(b, v.list->name);
		repr_items(b, v.list, "([", "])");
		break;
	case V_DICT:
		repr_pairs(b, v.dict);
		break;
	case V_NAMESPACE:
		build_text(b, "<Namespace ");
		repr_pairs(b, v.dict);
		build_text(b, ">");
		break;
	case V_RANGE:
		build_format(b, "range(%lld, %lld", (long long)v.range->start, (long long)v.range->stop);
		if (v.range->step != 1)
			build_format(b, ", %lld", (long long)v.range->step);
		build_text(b, ")");
		break;
	case V_MACRO:
		build_text(b, "<Macro '");
		build_text(b, v.macro->node->name);
		build_text(b, "'>");
		break;
	case V_LOOP:
		build_format(b, "<LoopContext %zu/%zu>", v.loop->index + 1, v.loop->items->count);
		break;
	default: // jinja2 writes an address
		run_fail(b->r, STATUS_UNSUPPORTED,
			"a %s has no text that is the same each time; |list makes a list of a generator", value_type(v));
	}
	b->r->depth--;
}

void value_write(struct build *b, struct value v)
{
	if (v.kind == V_STRING)
		build_add(b, v.s, v.n);
	else if (v.kind != V_UNDEFINED)
		value_repr(b, v);
}

struct value value_str(struct run *r, struct value v)
{
	struct build b = BUILD(r);

	if (v.kind == V_STRING)
		return v;
	value_write(&b, v);
	return build_value(&b);
}

// ---- json.dumps -----------------------------------------------------------------------------------------------------------

static void json_text(struct build *b, const char *s, size_t n, bool ascii)
{
	static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";

	build_text(b, "\"");
	for (size_t i = 0, k; i < n && !b->r->failed; i += k) {
		uint32_t code = utf8_next(s + i, &k);
		const char *known = code && code < 0x80 ? strchr(from, (char)code) : NULL;
		if (known)
			build_format(b, "\\%c", to[known - from]);
		else if (code < 0x20 || (ascii && code >= 0x7F && code < 0x10000 && code != 0x7F))
			build_format(b, "\\u%04x", code);
		else if (ascii && code >= 0x10000)
			build_format(b, "\\u%04x\\u%04x", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF));
		else
			build_add(b, s + i, k);
	}
	build_text(b, "\"");
}

static void json_line(struct build *b, const struct tojson *how, unsigned level, const char *bracket)
{
	if (how->pretty && !*bracket)
		build_add(b, how->item.s, how->item.n);
	if (how->pretty) {
		build_text(b, "\n");
		for (unsigned i = 0; i < level; i++)
			build_add(b, how->indent.s, how->indent.n);
	}
}

static int by_key(const void *a, const void *b)
{
	const struct value *x = &((const struct pair *)a)->key, *y = &((const struct pair *)b)->key;
	int d = memcmp(x->s, y->s, x->n < y->n ? x->n : y->n);

	return d ? d : (x->n > y->n) - (x->n < y->n);
}

static void json_key(struct build *b, struct value key, const struct tojson *how)
{
	if (key.kind == V_STRING) {
		json_text(b, key.s, key.n, how->ascii);
	} else if (key.kind == V_BOOL || key.kind == V_NONE || key.kind == V_INT || key.kind == V_FLOAT) {
		build_text(b, "\"");
		value_tojson(b, key, how, 0);
		build_text(b, "\"");
	} else {
		run_bad(b->r, "keys must be str, int, float, bool or None, not %s", value_type(key));
	}
}

static void json_dict(struct build *b, const struct dict *d, const struct tojson *how, unsigned level)
{
	struct pair *pairs = d->pairs;

	if (!d->count) {
		build_text(b, "{}");
		return;
	}
	if (how->sort) {
		pairs = run_take(b->r, d->count, sizeof *pairs);
		for (size_t i = 0; pairs && i < d->count; i++) {
			pairs[i] = d->pairs[i];
			if (pairs[i].key.kind != V_STRING)
				run_fail(b->r, STATUS_UNSUPPORTED, "sort_keys of keys that are no texts is not supported");
		}
		if (b->r->failed)
			return;
		qsort(pairs, d->count, sizeof *pairs, by_key);
	}
	build_text(b, "{");
	for (size_t i = 0; i < d->count && !b->r->failed; i++) {
		if (i && !how->pretty)
			build_add(b, how->item.s, how->item.n);
		json_line(b, how, level + 1, i ? "" : "{");
		json_key(b, pairs[i].key, how);
		build_add(b, how->key.s, how->key.n);
		value_tojson(b, pairs[i].value, how, level + 1);
	}
	json_line(b, how, level, "}");
	build_text(b, "}");
}

static void json_list(struct build *b, const struct list *l, const struct tojson *how, unsigned level)
{
	if (!l->count) {
		build_text(b, "[]");
		return;
	}
	build_text(b, "[");
	for (size_t i = 0; i < l->count && !b->r->failed; i++) {
		if (i && !how->pretty)
			build_add(b, how->item.s, how->item.n);
		json_line(b, how, level + 1, i ? "" : "[");
		value_tojson(b, l->items[i], how, level + 1);
	}
	json_line(b, how, level, "]");
	build_text(b, "]");
}

void value_tojson(struct build *b, struct value v, const struct tojson *how, unsigned level)
{
	if (!run_step(b->r, 0) || !run_deeper(b->r))
		return;
	if (v.kind == V_STRING)
		json_text(b, v.s, v.n, how->ascii);
	else if (v.kind == V_NONE)
		build_text(b, "null");
	else if (v.kind == V_BOOL)
		build_text(b, v.b ? "true" : "false");
	else if (v.kind == V_FLOAT && (isnan(v.f) || isinf(v.f)))
		build_text(b, isnan(v.f) ? "NaN" : v.f < 0 ? "-Infinity" : "Infinity");
	else if (v.kind == V_INT || v.kind == V_FLOAT)
		value_repr(b, v);
	else if (v.kind == V_LIST || v.kind == V_TUPLE)
		json_list(b, v.list, how, level);
	else if (v.kind == V_DICT)
		json_dict(b, v.dict, how, level);
	else
		run_bad(b->r, "Object of type %s is not JSON serializable", value_type(v));
	b->r->depth--;
}
