// SPDX-License-Identifier: Apache-2.0
// Filters and tests, as jinja2 has them; tojson as transformers has it.
#include "chat/inside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "token/unicode.h"

typedef struct value V;
#define FILTER(name) static V name(struct run *r, V self, const V *p, const struct call *c)
#define UNUSED (void)r, (void)self, (void)p, (void)c

// ---- arguments ------------------------------------------------------------------------------------------------------------

bool run_bind(struct run *r, const struct function *f, const struct call *c, V *p)
{
	size_t at = 0, used = 0;

	for (const char *s = f->params; *s && at < PARAMS_MOST; at++) {
		size_t n = strcspn(s, " ");
		bool optional = s[n - 1] == '=';
		V name = value_string(s, n - optional);
		p[at] = at < c->count ? c->args[at] : (V){ .kind = V_MISSING };
		for (size_t k = 0; k < c->named_count; k++) {
			if (c->named[k].n != name.n || memcmp(c->named[k].name, name.s, name.n) != 0)
				continue;
			if (at < c->count)
				run_bad(r, "%s got multiple values for argument '%.*s'", f->name, (int)name.n, name.s);
			p[at] = c->named[k].value;
			used++;
		}
		if (p[at].kind == V_MISSING && !optional)
			run_bad(r, "%s is missing the argument '%.*s'", f->name, (int)name.n, name.s);
		s += n + (s[n] == ' ');
	}
	if (c->count > at || used < c->named_count)
		run_bad(r, "%s was given an argument that it does not take", f->name);
	return !r->failed;
}

V run_function(struct run *r, const struct function *f, V self, const struct call *c)
{
	V p[PARAMS_MOST] = { 0 };

	run_characters(r, self);
	for (size_t i = 0; i < c->count; i++)
		run_characters(r, c->args[i]);
	for (size_t i = 0; i < c->named_count; i++)
		run_characters(r, c->named[i].value);
	if (r->failed)
		return self;
	if (f->params && !run_bind(r, f, c, p))
		return self;
	return f->call(r, self, p, c);
}

// a.b.0 of a value, as map(attribute=...) and selectattr take it.
static V attribute_of(struct run *r, V v, V path)
{
	int64_t index;

	if (value_integer(path, &index))
		return get_item(r, v, path);
	if (path.kind != V_STRING)
		return v;
	for (size_t at = 0; run_step(r, 0);) {
		const char *dot = memchr(path.s + at, '.', path.n - at);
		size_t end = dot ? (size_t)(dot - path.s) : path.n;
		V key = value_string(path.s + at, end - at);
		bool digits = key.n > 0 && key.n < 10;
		index = 0;
		for (size_t i = 0; i < key.n && digits; i++) {
			digits = key.s[i] >= '0' && key.s[i] <= '9';
			index = index * 10 + (key.s[i] - '0');
		}
		v = get_item(r, v, digits ? value_int(index) : key);
		if (!dot)
			break;
		at = end + 1;
	}
	return v;
}

// ---- texts ----------------------------------------------------------------------------------------------------------------

FILTER(trim)
{
	UNUSED;
	return text_strip(r, value_str(r, self), p[0], true, true);
}

FILTER(upper)
{
	UNUSED;
	return text_upper(r, value_str(r, self));
}

FILTER(lower)
{
	UNUSED;
	return text_lower(r, value_str(r, self));
}

FILTER(capitalize)
{
	UNUSED;
	return text_capitalize(r, value_str(r, self));
}

// A capital after white space and after - ( { [ <.
FILTER(title)
{
	struct build b = BUILD(r);
	V text = value_str(r, self);
	bool begins = true;

	UNUSED;
	for (size_t i = 0, n; i < text.n && !r->failed; i += n) {
		uint32_t code = utf8_next(text.s + i, &n);
		V one = value_string(text.s + i, n), put = begins ? text_upper(r, one) : text_lower(r, one);
		build_add(&b, put.s, put.n);
		begins = is_space(code) || (code && code < 0x80 && strchr("-({[<", (char)code));
	}
	return build_value(&b);
}

FILTER(string)
{
	UNUSED;
	return value_str(r, self);
}

FILTER(replace)
{
	int64_t most = -1;

	UNUSED;
	if (p[2].kind != V_MISSING && p[2].kind != V_NONE && !value_integer(p[2], &most))
		return run_bad(r, "a count is expected");
	return text_replace(r, value_str(r, self), value_str(r, p[0]), value_str(r, p[1]), most);
}

FILTER(format)
{
	V args = value_list(r, V_TUPLE);

	UNUSED;
	if (c->count && c->named_count)
		return run_bad(r, "can't handle positional and keyword arguments at the same time");
	for (size_t i = 0; i < c->count; i++)
		list_add(r, args.list, c->args[i]);
	if (c->named_count)
		args = value_dict(r, V_DICT);
	for (size_t i = 0; i < c->named_count; i++)
		dict_set(r, args.dict, value_string(c->named[i].name, c->named[i].n), c->named[i].value);
	return run_mod(r, value_str(r, self), args);
}

FILTER(indent)
{
	struct build b = BUILD(r);
	V text = self, by = p[0];
	int64_t width = 4;

	UNUSED;
	if (self.kind != V_STRING)
		return run_bad(r, "indent takes a text, not '%s'", value_type(self));
	if (p[0].kind != V_STRING) {
		if (p[0].kind && !value_integer(p[0], &width))
			return run_bad(r, "a width is expected");
		for (int64_t i = 0; i < width && run_step(r, 0); i++)
			build_add(&b, " ", 1);
		by = build_value(&b);
		b = BUILD(r);
	}
	for (size_t at = 0, line = 0; run_step(r, 0); line++) {
		const char *feed = memchr(text.s + at, '\n', text.n - at);
		size_t end = feed ? (size_t)(feed - text.s) : text.n;
		if (line == 0 ? value_true(p[1]) : end > at || value_true(p[2]))
			build_add(&b, by.s, by.n);
		build_add(&b, text.s + at, end - at + (feed != NULL));
		if (!feed)
			break;
		at = end + 1;
	}
	return build_value(&b);
}

FILTER(tojson)
{
	struct build b = BUILD(r);
	struct tojson how = {
		.ascii = value_true(p[0]), .sort = value_true(p[3]), .item = value_of_text(", "), .key = value_of_text(": ")
	};
	int64_t width;

	UNUSED;
	if (p[1].kind && p[1].kind != V_NONE) {
		how.pretty = true;
		how.indent = p[1];
		how.item = value_of_text(",");
		if (value_integer(p[1], &width)) {
			struct build blanks = BUILD(r);
			for (int64_t i = 0; i < width && run_step(r, 0); i++)
				build_add(&blanks, " ", 1);
			how.indent = build_value(&blanks);
		} else if (p[1].kind != V_STRING) {
			return run_bad(r, "indent is no number and no text");
		}
	}
	if (p[2].kind && p[2].kind != V_NONE) {
		V two = value_iterate(r, p[2]);
		if (r->failed || two.list->count != 2 || two.list->items[0].kind != V_STRING ||
			two.list->items[1].kind != V_STRING)
			return run_bad(r, "separators are no pair of texts");
		how.item = two.list->items[0];
		how.key = two.list->items[1];
	}
	value_tojson(&b, self, &how, 0);
	return build_value(&b);
}

// ---- numbers --------------------------------------------------------------------------------------------------------------

static bool read_number(struct run *r, V text, bool whole, V *out)
{
	struct build b = BUILD(r);
	V all = text_strip(r, text, (V){ .kind = V_MISSING }, true, true);
	char *end;

	build_add(&b, all.s, all.n);
	build_add(&b, "", 1);
	if (r->failed || !all.n || strspn(b.data, whole ? "+-0123456789" : "+-.0123456789eE") != all.n)
		return false;
	errno = 0;
	*out = whole ? value_int(strtoll(b.data, &end, 10)) : value_float(strtod(b.data, &end));
	if (whole && errno == ERANGE)
		run_fail(r, STATUS_UNSUPPORTED, "a number of more than 64 bits");
	return !*end && end != b.data;
}

FILTER(to_int)
{
	V out = p[0].kind ? p[0] : value_int(0), number;
	int64_t i;

	UNUSED;
	if (p[1].kind)
		return run_fail(r, STATUS_UNSUPPORTED, "int with a base is not supported");
	if (value_integer(self, &i))
		return value_int(i);
	if (self.kind == V_STRING && read_number(r, self, true, &number))
		return number;
	if (self.kind == V_STRING && read_number(r, self, false, &number))
		self = number;
	if (self.kind == V_FLOAT && fabs(self.f) < 9e18)
		return value_int((int64_t)self.f);
	return self.kind == V_UNDEFINED ? run_bad(r, "%.*s", (int)self.n, self.s) : out;
}

FILTER(to_float)
{
	V number;
	double f;

	UNUSED;
	if (value_number(self, &f))
		return value_float(f);
	if (self.kind == V_STRING && read_number(r, self, false, &number))
		return number;
	if (self.kind == V_UNDEFINED)
		return run_bad(r, "%.*s", (int)self.n, self.s);
	return p[0].kind ? p[0] : value_float(0);
}

FILTER(absolute)
{
	double f;

	UNUSED;
	if (!value_number(self, &f))
		return run_bad(r, "bad operand type for abs(): '%s'", value_type(self));
	if (self.kind == V_FLOAT)
		return value_float(fabs(self.f));
	int64_t i = 0;
	value_integer(self, &i);
	return i == INT64_MIN ? run_fail(r, STATUS_UNSUPPORTED, "a number of more than 64 bits") : value_int(i < 0 ? -i : i);
}

// ---- lists and mappings ---------------------------------------------------------------------------------------------------

FILTER(length)
{
	size_t n;

	UNUSED;
	return value_length(self, &n) ? value_int((int64_t)n) : run_bad(r, "object of type '%s' has no len()", value_type(self));
}

FILTER(list)
{
	V items = value_iterate(r, self), out = value_list(r, V_LIST);

	UNUSED;
	for (size_t i = 0; !r->failed && i < items.list->count && run_step(r, 0); i++)
		list_add(r, out.list, items.list->items[i]);
	return out;
}

FILTER(join)
{
	UNUSED;
	V items = value_iterate(r, self), all = value_list(r, V_LIST);
	for (size_t i = 0; !r->failed && i < items.list->count; i++)
		list_add(r, all.list, p[1].kind ? attribute_of(r, items.list->items[i], p[1]) : items.list->items[i]);
	return text_join(r, p[0].kind ? value_str(r, p[0]) : value_of_text(""), all, false);
}

FILTER(first)
{
	V items = value_iterate(r, self);

	UNUSED;
	if (r->failed || !items.list->count)
		return value_undefined(r, "No first item, sequence was empty.");
	return items.list->items[0];
}

FILTER(last)
{
	UNUSED;
	if (self.kind == V_GENERATOR)
		return run_bad(r, "'generator' object is not reversible");
	V items = value_iterate(r, self);
	if (r->failed || !items.list->count)
		return value_undefined(r, "No last item, sequence was empty.");
	return items.list->items[items.list->count - 1];
}

FILTER(items)
{
	V out = value_list(r, V_GENERATOR);

	UNUSED;
	if (self.kind == V_UNDEFINED)
		return out;
	if (self.kind != V_DICT)
		return run_bad(r, "Can only get item pairs from a mapping.");
	for (size_t i = 0; i < self.dict->count && run_step(r, 0); i++)
		list_add(r, out.list, value_pair(r, self.dict->pairs[i].key, self.dict->pairs[i].value));
	return out;
}

FILTER(otherwise)
{
	UNUSED;
	if (self.kind == V_UNDEFINED || (value_true(p[1]) && !value_true(self)))
		return p[0].kind ? p[0] : value_of_text("");
	return self;
}

FILTER(reverse)
{
	V items = value_iterate(r, self), out = value_list(r, V_GENERATOR);
	struct build b = BUILD(r);

	UNUSED;
	for (size_t i = r->failed ? 0 : items.list->count; i-- > 0 && run_step(r, 0);) {
		if (self.kind == V_STRING)
			build_add(&b, items.list->items[i].s, items.list->items[i].n);
		else
			list_add(r, out.list, items.list->items[i]);
	}
	return self.kind == V_STRING ? build_value(&b) : out;
}

// Stable: by merging runs of growing length. The keys are beside the items.
static V sorted(struct run *r, V items, const struct list *keys, bool backwards, enum value_kind kind)
{
	size_t n = items.list->count;
	size_t *order = run_take(r, n + 1, 2 * sizeof *order);
	V out = value_list(r, kind);

	if (!order || r->failed)
		return out;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t *from = order, *to = order + n, width = 1; width < n && !r->failed; width *= 2) {
		for (size_t at = 0; at < n; at += 2 * width) {
			size_t i = at, middle = at + width < n ? at + width : n, k = middle,
			       end = at + 2 * width < n ? at + 2 * width : n;
			for (size_t o = at; o < end && run_step(r, 0); o++) {
				bool second = i == middle;
				if (!second && k < end) {
					int d = value_order(r, keys->items[from[k]], keys->items[from[i]], "<");
					second = backwards ? d > 0 && d != 2 : d < 0;
				}
				to[o] = second ? from[k++] : from[i++];
			}
		}
		size_t *swap = from;
		from = to;
		to = swap;
		order = from;
	}
	for (size_t i = 0; i < n && !r->failed; i++)
		list_add(r, out.list, items.list->items[order[i]]);
	return out;
}

static V sort_key(struct run *r, V v, bool case_sensitive)
{
	return v.kind == V_STRING && !case_sensitive ? text_lower(r, v) : v;
}

FILTER(sort)
{
	V items = value_iterate(r, self), keys = value_list(r, V_LIST);

	UNUSED;
	if (p[2].kind == V_STRING && memchr(p[2].s, ',', p[2].n))
		return run_fail(r, STATUS_UNSUPPORTED, "sort by several attributes is not supported");
	for (size_t i = 0; !r->failed && i < items.list->count; i++)
		list_add(r, keys.list, sort_key(r, attribute_of(r, items.list->items[i], p[2]), value_true(p[1])));
	return r->failed ? keys : sorted(r, items, keys.list, value_true(p[0]), V_LIST);
}

FILTER(dictsort)
{
	V pairs = value_list(r, V_LIST), keys = value_list(r, V_LIST);
	bool by_value = p[1].kind == V_STRING && is_text(p[1], "value");

	UNUSED;
	if (self.kind != V_DICT || (p[1].kind && !by_value && !(p[1].kind == V_STRING && is_text(p[1], "key"))))
		return run_bad(r, "dictsort takes a mapping, by key or value");
	for (size_t i = 0; i < self.dict->count && run_step(r, 0); i++) {
		const struct pair *one = &self.dict->pairs[i];
		list_add(r, pairs.list, value_pair(r, one->key, one->value));
		list_add(r, keys.list, sort_key(r, by_value ? one->value : one->key, value_true(p[0])));
	}
	return r->failed ? keys : sorted(r, pairs, keys.list, value_true(p[2]), V_LIST);
}

FILTER(unique)
{
	V items = value_iterate(r, self), out = value_list(r, V_GENERATOR), seen = value_dict(r, V_DICT);

	UNUSED;
	for (size_t i = 0; !r->failed && i < items.list->count; i++) {
		V key = sort_key(r, attribute_of(r, items.list->items[i], p[1]), value_true(p[0]));
		if (r->failed || dict_get(r, seen.dict, key))
			continue;
		dict_set(r, seen.dict, key, key);
		list_add(r, out.list, items.list->items[i]);
	}
	return out;
}

static V extreme(struct run *r, V self, const V *p, bool largest)
{
	V items = value_iterate(r, self), best = { .kind = V_MISSING }, best_key = best;

	for (size_t i = 0; !r->failed && i < items.list->count; i++) {
		V key = sort_key(r, attribute_of(r, items.list->items[i], p[1]), value_true(p[0]));
		int d = best.kind ? value_order(r, key, best_key, largest ? ">" : "<") : 0;
		if (!best.kind || (d != 2 && (largest ? d > 0 : d < 0))) {
			best = items.list->items[i];
			best_key = key;
		}
	}
	return best.kind ? best : value_undefined(r, "No aggregated item, sequence was empty.");
}

FILTER(smallest)
{
	UNUSED;
	return extreme(r, self, p, false);
}

FILTER(largest)
{
	UNUSED;
	return extreme(r, self, p, true);
}

FILTER(attr)
{
	UNUSED;
	if (p[0].kind != V_STRING)
		return run_bad(r, "a name is expected");
	return self.kind == V_DICT && !method_find(self, p[0].s, p[0].n) ? value_undefined(r, "the object has no such attribute")
									 : get_attribute(r, self, p[0].s, p[0].n);
}

FILTER(map)
{
	V out = value_list(r, V_GENERATOR), attribute = { 0 }, missing = { 0 }, items;
	struct call rest = *c;

	UNUSED;
	if (!value_true(self))
		return out;
	items = value_iterate(r, self);
	for (size_t i = 0; i < c->named_count && !c->count; i++) {
		V name = value_string(c->named[i].name, c->named[i].n);
		if (is_text(name, "attribute"))
			attribute = c->named[i].value;
		else if (is_text(name, "default"))
			missing = c->named[i].value;
		else
			run_bad(r, "Unexpected keyword argument '%.*s'", (int)name.n, name.s);
	}
	if (!attribute.kind && (!c->count || c->args[0].kind != V_STRING))
		return run_bad(r, "map requires a filter argument");
	struct build name = BUILD(r);
	if (!attribute.kind) {
		build_add(&name, c->args[0].s, c->args[0].n);
		rest.args++;
		rest.count--;
	}
	build_add(&name, "", 1);
	for (size_t i = 0; !r->failed && i < items.list->count; i++) {
		V v = items.list->items[i];
		v = attribute.kind ? attribute_of(r, v, attribute) : run_filter(r, name.data, v, &rest);
		list_add(r, out.list, v.kind == V_UNDEFINED && missing.kind ? missing : v);
	}
	return out;
}

static V chosen(struct run *r, V self, const struct call *c, bool wanted, bool by_attribute)
{
	V out = value_list(r, V_GENERATOR), items;
	struct call rest = *c;
	size_t skip = by_attribute;

	if (!value_true(self))
		return out;
	items = value_iterate(r, self);
	if (by_attribute && !c->count)
		return run_bad(r, "Missing parameter for attribute name");
	bool test = c->count > skip;
	if (test && c->args[skip].kind != V_STRING)
		return run_bad(r, "a test's name is expected");
	if (skip + test > 0) // without arguments there is no list of them
		rest.args += skip + test;
	rest.count -= skip + test;
	struct build name = BUILD(r);
	if (test)
		build_add(&name, c->args[skip].s, c->args[skip].n);
	build_add(&name, "", 1);
	for (size_t i = 0; !r->failed && i < items.list->count; i++) {
		V v = by_attribute ? attribute_of(r, items.list->items[i], c->args[0]) : items.list->items[i];
		if (!r->failed && (test ? run_test(r, name.data, v, &rest) : value_true(v)) == wanted)
			list_add(r, out.list, items.list->items[i]);
	}
	return out;
}

FILTER(do_select)
{
	UNUSED;
	return chosen(r, self, c, true, false);
}

FILTER(reject)
{
	UNUSED;
	return chosen(r, self, c, false, false);
}

FILTER(selectattr)
{
	UNUSED;
	return chosen(r, self, c, true, true);
}

FILTER(rejectattr)
{
	UNUSED;
	return chosen(r, self, c, false, true);
}

FILTER(safe)
{
	UNUSED;
	return value_str(r, self);
}

const struct function chat_filters[] = { { "abs", "", absolute }, { "attr", "name", attr }, { "capitalize", "", capitalize },
	{ "count", "", length }, { "d", "default_value= boolean=", otherwise },
	{ "default", "default_value= boolean=", otherwise }, { "dictsort", "case_sensitive= by= reverse=", dictsort },
	{ "first", "", first }, { "float", "default=", to_float }, { "format", NULL, format },
	{ "indent", "width= first= blank=", indent }, { "int", "default= base=", to_int }, { "items", "", items },
	{ "join", "d= attribute=", join }, { "last", "", last }, { "length", "", length }, { "list", "", list },
	{ "lower", "", lower }, { "map", NULL, map }, { "max", "case_sensitive= attribute=", largest },
	{ "min", "case_sensitive= attribute=", smallest }, { "reject", NULL, reject }, { "rejectattr", NULL, rejectattr },
	{ "replace", "old new count=", replace }, { "reverse", "", reverse }, { "safe", "", safe }, { "select", NULL, do_select },
	{ "selectattr", NULL, selectattr }, { "sort", "reverse= case_sensitive= attribute=", sort }, { "string", "", string },
	{ "title", "", title }, { "tojson", "ensure_ascii= indent= separators= sort_keys=", tojson }, { "trim", "chars=", trim },
	{ "unique", "case_sensitive= attribute=", unique }, { "upper", "", upper }, { 0 } };

V run_filter(struct run *r, const char *name, V v, const struct call *c)
{
	for (const struct function *f = chat_filters; f->name; f++)
		if (!strcmp(f->name, name))
			return run_function(r, f, v, c);
	return run_fail(r, STATUS_UNSUPPORTED, "there is no filter %s, or it is not supported", name);
}

// ---- tests ----------------------------------------------------------------------------------------------------------------

static bool is_listed(V v)
{
	return v.kind == V_STRING || v.kind == V_LIST || v.kind == V_TUPLE || v.kind == V_DICT || v.kind == V_RANGE ||
		v.kind == V_UNDEFINED;
}

static const char *const test_names[] = { "defined", "undefined", "none", "boolean", "true", "false", "integer", "float",
	"number", "string", "mapping", "sequence", "iterable", "callable", "lower", "upper", "escaped", NULL };

static bool test_kind(struct run *r, size_t which, V v)
{
	int64_t i;
	double f;

	switch (which) {
	case 0:
		return v.kind != V_UNDEFINED;
	case 1:
		return v.kind == V_UNDEFINED;
	case 2:
		return v.kind == V_NONE;
	case 3:
		return v.kind == V_BOOL;
	case 4:
		return v.kind == V_BOOL && v.b;
	case 5:
		return v.kind == V_BOOL && !v.b;
	case 6:
		return v.kind == V_INT && value_integer(v, &i);
	case 7:
		return v.kind == V_FLOAT;
	case 8:
		return value_number(v, &f);
	case 9:
		return v.kind == V_STRING;
	case 10:
		return v.kind == V_DICT;
	case 11:
		return is_listed(v);
	case 12:
		return is_listed(v) || v.kind == V_VIEW || v.kind == V_GENERATOR || v.kind == V_LOOP;
	case 13: // Undefined has __call__, too
		return v.kind == V_MACRO || v.kind == V_FUNCTION || v.kind == V_METHOD || v.kind == V_LOOP ||
			v.kind == V_UNDEFINED;
	case 14:
		return text_is_case(value_str(r, v), false);
	case 15:
		return text_is_case(value_str(r, v), true);
	default:
		return false;
	}
}

static const struct {
	const char *name;
	enum comparison op;
} comparisons[] = { { "==", C_EQ }, { "eq", C_EQ }, { "equalto", C_EQ }, { "!=", C_NE }, { "ne", C_NE }, { ">", C_GT },
	{ "gt", C_GT }, { "greaterthan", C_GT }, { ">=", C_GE }, { "ge", C_GE }, { "<", C_LT }, { "lt", C_LT },
	{ "lessthan", C_LT }, { "<=", C_LE }, { "le", C_LE }, { "in", C_IN } };

static bool test_comparison(struct run *r, enum comparison op, V a, V b)
{
	int d;

	if (op == C_EQ || op == C_NE)
		return value_equal(r, a, b) == (op == C_EQ);
	if (op == C_IN)
		return value_in(r, a, b);
	d = value_order(r, a, b, op == C_GT ? ">" : op == C_GE ? ">=" : op == C_LT ? "<" : "<=");
	return d != 2 && (op == C_GT ? d > 0 : op == C_GE ? d >= 0 : op == C_LT ? d < 0 : d <= 0);
}

static bool divisible(struct run *r, V v, int64_t by)
{
	int64_t i;
	double f;

	if (!by || !value_number(v, &f))
		run_bad(r, "a number is expected, not '%s'", value_type(v));
	else
		return value_integer(v, &i) ? by == -1 || i % by == 0 : fmod(f, (double)by) == 0;
	return false;
}

bool run_test(struct run *r, const char *name, V v, const struct call *c)
{
	int64_t by;

	if (!run_characters(r, v))
		return false;
	for (size_t i = 0; test_names[i]; i++) {
		if (strcmp(test_names[i], name) != 0)
			continue;
		if (c->count || c->named_count)
			run_bad(r, "the test %s takes no argument", name);
		return !r->failed && test_kind(r, i, v);
	}
	for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
		if (strcmp(comparisons[i].name, name) != 0)
			continue;
		if (c->count != 1 || c->named_count)
			run_bad(r, "the test %s takes one argument", name);
		return !r->failed && test_comparison(r, comparisons[i].op, v, c->args[0]);
	}
	if (!strcmp(name, "even"))
		return divisible(r, v, 2);
	if (!strcmp(name, "odd")) // the rest is 1: of 1.5 it is not
		return !divisible(r, v, 2) && !r->failed && (v.kind != V_FLOAT || fabs(fmod(v.f, 2)) == 1);
	if (!strcmp(name, "divisibleby") && c->count == 1 && value_integer(c->args[0], &by))
		return divisible(r, v, by);
	run_fail(r, STATUS_UNSUPPORTED, "there is no test %s, or it is not supported", name);
	return false;
}
