// SPDX-License-Identifier: Apache-2.0
// Methods of texts, mappings and lists, as Python has them, and the functions that every template can call.
#include "chat/inside.h"

#include <stdio.h>

#include "token/unicode.h"

typedef struct value V;
#define METHOD(name) static V name(struct run *r, V self, const V *p, const struct call *c)
#define UNUSED (void)r, (void)self, (void)p, (void)c

static bool text_or_fail(struct run *r, V v)
{
	if (v.kind != V_STRING)
		run_bad(r, "a text is expected, not '%s'", value_type(v));
	return v.kind == V_STRING;
}

static int64_t integer_or(struct run *r, V v, int64_t otherwise)
{
	int64_t i = otherwise;

	if (v.kind != V_MISSING && !value_integer(v, &i))
		run_bad(r, "'%s' object cannot be interpreted as an integer", value_type(v));
	return i;
}

// ---- texts ----------------------------------------------------------------------------------------------------------------

static bool stripped(uint32_t code, V chars)
{
	if (chars.kind != V_STRING)
		return is_space(code);
	for (size_t i = 0, n; i < chars.n; i += n)
		if (utf8_next(chars.s + i, &n) == code)
			return true;
	return false;
}

V text_strip(struct run *r, V v, V chars, bool left, bool right)
{
	const char *begin = v.s, *end = v.s + v.n;
	size_t n;

	if (chars.kind != V_MISSING && chars.kind != V_NONE && !text_or_fail(r, chars))
		return v;
	if (!run_step(r, v.n * (chars.kind == V_STRING ? chars.n : 1) * 8))
		return v;
	while (left && begin < end && stripped(utf8_next(begin, &n), chars))
		begin += n;
	while (right && begin < end && stripped(utf8_last(begin, end, &n), chars))
		end -= n;
	return value_string(begin, (size_t)(end - begin));
}

METHOD(strip)
{
	UNUSED;
	return text_strip(r, self, p[0], true, true);
}

METHOD(lstrip)
{
	UNUSED;
	return text_strip(r, self, p[0], true, false);
}

METHOD(rstrip)
{
	UNUSED;
	return text_strip(r, self, p[0], false, true);
}

// Of a character beyond ASCII the one whose small letter it is; the smallest of several, as Unicode numbers them.
static void put_capital(struct build *b, uint32_t code, const char *s, size_t n, bool title)
{
	size_t low = 0, high = capital_count;

	if (code < 0x80) {
		char c = code - 'a' < 26u ? (char)(code - 32) : (char)code;
		build_add(b, &c, 1);
		return;
	}
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (capital_table[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < capital_count && capital_table[low].code == code) {
		build_text(b, title ? capital_table[low].title : capital_table[low].upper);
		return;
	}
	run_step(b->r, unicode_lower_count);
	for (size_t i = 0; i < unicode_lower_count; i++) {
		if (unicode_lower[i].length == 1 && unicode_pool[unicode_lower[i].at] == code) {
			build_code(b, unicode_lower[i].code);
			return;
		}
	}
	build_add(b, s, n);
}

static void put_lower(struct build *b, uint32_t code)
{
	uint32_t out[UNICODE_MOST];
	size_t count = unicode_to_lower(code, out);

	for (size_t i = 0; i < count; i++)
		build_code(b, out[i]);
}

enum casing { UPPER, LOWER, CAPITAL, TITLE };
static V change_case(struct run *r, V v, enum casing how)
{
	struct build b = BUILD(r);
	bool begins = true;

	for (size_t i = 0, n; i < v.n && run_step(r, 0); i += n) {
		uint32_t code = utf8_next(v.s + i, &n);
		unsigned category = unicode_of(code)->category; // 5: Ll, 8: Lt, 9: Lu
		if (how == UPPER || (begins && how != LOWER))
			put_capital(&b, code, v.s + i, n, how != UPPER);
		else
			put_lower(&b, code);
		begins = how == TITLE && category != 5 && category != 8 && category != 9;
	}
	return build_value(&b);
}

V text_upper(struct run *r, V v)
{
	return change_case(r, v, UPPER);
}

V text_lower(struct run *r, V v)
{
	return change_case(r, v, LOWER);
}

V text_capitalize(struct run *r, V v)
{
	return change_case(r, v, CAPITAL);
}

METHOD(upper)
{
	UNUSED;
	return text_upper(r, self);
}

METHOD(lower)
{
	UNUSED;
	return text_lower(r, self);
}

METHOD(capitalize)
{
	UNUSED;
	return text_capitalize(r, self);
}

METHOD(title)
{
	UNUSED;
	return change_case(r, self, TITLE);
}

bool text_is_case(V v, bool upper_case)
{
	bool any = false;

	for (size_t i = 0, n; i < v.n; i += n) {
		unsigned category = unicode_of(utf8_next(v.s + i, &n))->category;
		if (category == (upper_case ? 5 : 9) || category == 8)
			return false;
		any |= category == (upper_case ? 9 : 5);
	}
	return any;
}

METHOD(text_isupper)
{
	UNUSED;
	return value_bool(text_is_case(self, true));
}

METHOD(text_islower)
{
	UNUSED;
	return value_bool(text_is_case(self, false));
}

static bool every(V v, unsigned first, unsigned last)
{
	for (size_t i = 0, n; i < v.n; i += n) {
		unsigned category = unicode_of(utf8_next(v.s + i, &n))->category;
		if (category < first || category > last)
			return false;
	}
	return v.n != 0;
}

METHOD(text_isalpha)
{
	UNUSED;
	return value_bool(every(self, 5, 9));
}

METHOD(isdecimal)
{
	UNUSED;
	return value_bool(every(self, 13, 13));
}

METHOD(text_isspace)
{
	UNUSED;
	for (size_t i = 0, n; i < self.n; i += n)
		if (!is_space(utf8_next(self.s + i, &n)))
			return value_bool(false);
	return value_bool(self.n != 0);
}

static bool matches(V v, V what, bool end)
{
	return what.n <= v.n && !memcmp(end ? v.s + v.n - what.n : v.s, what.s, what.n);
}

static V starts_or_ends(struct run *r, V self, V what, bool end)
{
	if (what.kind == V_TUPLE) {
		for (size_t i = 0; i < what.list->count && run_step(r, 0); i++)
			if (text_or_fail(r, what.list->items[i]) && matches(self, what.list->items[i], end))
				return value_bool(true);
		return value_bool(false);
	}
	return value_bool(text_or_fail(r, what) && matches(self, what, end));
}

METHOD(startswith)
{
	UNUSED;
	return starts_or_ends(r, self, p[0], false);
}

METHOD(endswith)
{
	UNUSED;
	return starts_or_ends(r, self, p[0], true);
}

METHOD(removeprefix)
{
	UNUSED;
	if (!text_or_fail(r, p[0]) || !matches(self, p[0], false))
		return self;
	return value_string(self.s + p[0].n, self.n - p[0].n);
}

METHOD(removesuffix)
{
	UNUSED;
	if (!text_or_fail(r, p[0]) || !matches(self, p[0], true))
		return self;
	return value_string(self.s, self.n - p[0].n);
}

V text_replace(struct run *r, V v, V from, V to, int64_t most)
{
	struct build b = BUILD(r);
	size_t at = 0;

	if (!text_or_fail(r, from) || !text_or_fail(r, to))
		return v;
	for (; most != 0 && run_step(r, 0); most--) {
		size_t found = at > v.n ? SIZE_MAX : text_find(r, v.s + at, v.n - at, from);
		if (found == SIZE_MAX)
			break;
		build_add(&b, v.s + at, found);
		build_add(&b, to.s, to.n);
		at += found + from.n;
		if (!from.n) { // between all characters
			size_t n = at < v.n ? utf8_length(v.s[at]) : 0;
			build_add(&b, v.s + at, n);
			at += n ? n : 1;
		}
	}
	if (at < v.n)
		build_add(&b, v.s + at, v.n - at);
	return build_value(&b);
}

METHOD(replace)
{
	UNUSED;
	return text_replace(r, self, p[0], p[1], integer_or(r, p[2], -1));
}

METHOD(split)
{
	V out = value_list(r, V_LIST);
	int64_t most = integer_or(r, p[1], -1);
	size_t at = 0, n;

	UNUSED;
	if (p[0].kind == V_STRING) {
		if (!p[0].n)
			return run_bad(r, "empty separator");
		for (; most != 0 && run_step(r, 0); most--) {
			size_t found = text_find(r, self.s + at, self.n - at, p[0]);
			if (found == SIZE_MAX)
				break;
			list_add(r, out.list, value_string(self.s + at, found));
			at += found + p[0].n;
		}
		list_add(r, out.list, value_string(self.s + at, self.n - at));
		return out;
	}
	if (p[0].kind != V_MISSING && p[0].kind != V_NONE)
		return run_bad(r, "must be str or None, not %s", value_type(p[0]));
	while (run_step(r, 0)) {
		while (at < self.n && is_space(utf8_next(self.s + at, &n)))
			at += n;
		if (at == self.n)
			break;
		size_t begin = at;
		if (most-- == 0) { // what is left, with its blanks at the end
			list_add(r, out.list, value_string(self.s + at, self.n - at));
			break;
		}
		while (at < self.n && !is_space(utf8_next(self.s + at, &n)))
			at += n;
		list_add(r, out.list, value_string(self.s + begin, at - begin));
	}
	return out;
}

METHOD(find)
{
	UNUSED;
	if (!text_or_fail(r, p[0]))
		return self;
	size_t at = text_find(r, self.s, self.n, p[0]);
	return value_int(at == SIZE_MAX ? -1 : (int64_t)utf8_count(self.s, at));
}

METHOD(count_text)
{
	int64_t count = 0;

	UNUSED;
	if (!text_or_fail(r, p[0]))
		return self;
	if (!p[0].n)
		return value_int((int64_t)utf8_count(self.s, self.n) + 1);
	for (size_t at = 0; run_step(r, 0); count++) {
		size_t found = text_find(r, self.s + at, self.n - at, p[0]);
		if (found == SIZE_MAX)
			break;
		at += found + p[0].n;
	}
	return value_int(count);
}

V text_join(struct run *r, V between, V items, bool strict)
{
	struct build b = BUILD(r);

	items = value_iterate(r, items);
	for (size_t i = 0; !r->failed && i < items.list->count; i++) {
		if (i)
			build_add(&b, between.s, between.n);
		if (strict && items.list->items[i].kind != V_STRING)
			run_bad(r, "sequence item %zu: expected str instance, %s found", i, value_type(items.list->items[i]));
		value_write(&b, items.list->items[i]);
	}
	return build_value(&b);
}

METHOD(join)
{
	UNUSED;
	return text_join(r, self, p[0], true);
}

// {} and {0} and {name}, without attributes and without what stands behind a colon.
METHOD(format)
{
	struct build b = BUILD(r);
	size_t automatic = 0;

	UNUSED;
	for (size_t i = 0; i < self.n && run_step(r, 0); i++) {
		char one = self.s[i];
		if ((one == '{' || one == '}') && i + 1 < self.n && self.s[i + 1] == one)
			i++;
		else if (one == '}')
			return run_bad(r, "Single '}' encountered in format string");
		else if (one == '{') {
			const char *end = memchr(self.s + i, '}', self.n - i);
			if (!end)
				return run_bad(r, "expected '}' before end of string");
			V name = value_string(self.s + i + 1, (size_t)(end - self.s) - i - 1);
			i = (size_t)(end - self.s);
			size_t index = SIZE_MAX, k = 0;
			if (!name.n)
				index = automatic++;
			else if (name.s[0] >= '0' && name.s[0] <= '9' && name.n < 6)
				for (index = 0; k < name.n && name.s[k] >= '0' && name.s[k] <= '9'; k++)
					index = index * 10 + (size_t)(name.s[k] - '0');
			for (k = 0; k < name.n; k++)
				if (memchr(".[!:{", name.s[k], 5))
					return run_fail(r, STATUS_UNSUPPORTED, "format with {%.*s} is not supported", (int)name.n,
						name.s);
			const V *found = index < c->count ? &c->args[index] : NULL;
			for (k = 0; !found && k < c->named_count && run_step(r, name.n); k++)
				if (c->named[k].n == name.n && !memcmp(c->named[k].name, name.s, name.n))
					found = &c->named[k].value;
			if (!found)
				return run_bad(r, "format has no value for {%.*s}", (int)name.n, name.s);
			value_write(&b, *found);
			continue;
		}
		build_add(&b, &one, 1);
	}
	return build_value(&b);
}

// One conversion of "%" at s[*i], which is moved behind it.
static void convert(struct build *b, const char *s, size_t n, size_t *i, V v)
{
	char spec[24] = "%", text[400];
	size_t k = 1;
	int64_t whole;
	double f;

	while (*i < n && k < 12 && strchr("-+ #0123456789.", s[*i]) && s[*i])
		spec[k++] = s[(*i)++];
	char kind = *i < n ? s[(*i)++] : 0;
	if (k > 6)
		run_fail(b->r, STATUS_UNSUPPORTED, "a width or precision of that length is not supported");
	else if (kind == 's' && k == 1)
		value_write(b, v);
	else if (kind == 'r' && k == 1)
		value_repr(b, v);
	else if ((kind == 'd' || kind == 'i' || kind == 'x' || kind == 'X') && value_integer(v, &whole) &&
		(whole >= 0 || (kind | 32) != 'x')) {
		snprintf(spec + k, sizeof spec - k, "ll%c", kind);
		if (snprintf(text, sizeof text, spec, (long long)whole) >= (int)sizeof text)
			run_fail(b->r, STATUS_UNSUPPORTED, "a number of so many characters is not supported");
		else
			build_text(b, text);
	} else if (kind && strchr("feg", kind) && value_number(v, &f) && f == f && f - f == 0) {
		snprintf(spec + k, sizeof spec - k, "%c", kind);
		if (snprintf(text, sizeof text, spec, f) >= (int)sizeof text)
			run_fail(b->r, STATUS_UNSUPPORTED, "a number of so many characters is not supported");
		else
			build_text(b, text);
	} else if (kind && strchr("dixXfeg", kind)) {
		run_bad(b->r, "%%%c format: a real number is required, not %s", kind, value_type(v));
	} else {
		run_fail(b->r, STATUS_UNSUPPORTED, "a conversion other than %%s, %%r, %%d, %%x, %%f, %%e, %%g is not supported");
	}
}

V run_mod(struct run *r, V format, V args)
{
	struct build b = BUILD(r);
	size_t used = 0, given = args.kind == V_TUPLE ? args.list->count : 1;

	for (size_t i = 0; i < format.n && run_step(r, 0);) {
		if (format.s[i] != '%') {
			build_add(&b, &format.s[i++], 1);
		} else if (i + 1 < format.n && format.s[i + 1] == '%') {
			build_add(&b, "%", 1);
			i += 2;
		} else if (i + 1 < format.n && format.s[i + 1] == '(') {
			const char *end = memchr(format.s + i, ')', format.n - i);
			if (!end || args.kind != V_DICT)
				return run_bad(r, "format requires a mapping");
			V *v = dict_text(r, args.dict, format.s + i + 2, (size_t)(end - format.s) - i - 2);
			if (!v)
				return run_bad(r, "a key of the format is not in the mapping");
			i = (size_t)(end - format.s) + 1;
			convert(&b, format.s, format.n, &i, *v);
			used = given;
		} else {
			if (used == given)
				return run_bad(r, "not enough arguments for format string");
			i++;
			convert(&b, format.s, format.n, &i, args.kind == V_TUPLE ? args.list->items[used] : args);
			used++;
		}
	}
	// What has items by keys may be left over.
	if (used < given && args.kind != V_DICT && args.kind != V_LIST && args.kind != V_RANGE && args.kind != V_UNDEFINED)
		return run_bad(r, "not all arguments converted during string formatting");
	return build_value(&b);
}

// ---- mappings and lists ---------------------------------------------------------------------------------------------------

static V view(struct run *r, V self, const char *name)
{
	V out = value_list(r, V_VIEW);

	out.list->name = name;
	for (size_t i = 0; i < self.dict->count && run_step(r, 0); i++) {
		const struct pair *p = &self.dict->pairs[i];
		list_add(r, out.list, name[5] == 'k' ? p->key : name[5] == 'v' ? p->value : value_pair(r, p->key, p->value));
	}
	return out;
}

METHOD(dict_items)
{
	UNUSED;
	return view(r, self, "dict_items");
}

METHOD(dict_keys)
{
	UNUSED;
	return view(r, self, "dict_keys");
}

METHOD(dict_values)
{
	UNUSED;
	return view(r, self, "dict_values");
}

METHOD(dict_get_or)
{
	UNUSED;
	V *v = dict_get(r, self.dict, p[0]);
	return v ? *v : p[1].kind ? p[1] : (V){ .kind = V_NONE };
}

METHOD(copy)
{
	UNUSED;
	return self; // nothing can change either
}

METHOD(list_count)
{
	int64_t count = 0;

	UNUSED;
	for (size_t i = 0; i < self.list->count && run_step(r, 0); i++)
		count += value_equal(r, self.list->items[i], p[0]);
	return value_int(count);
}

METHOD(list_index)
{
	UNUSED;
	for (size_t i = 0; i < self.list->count && run_step(r, 0); i++)
		if (value_equal(r, self.list->items[i], p[0]))
			return value_int((int64_t)i);
	return run_bad(r, "the value is not in the list");
}

METHOD(loop_cycle)
{
	UNUSED;
	return c->count ? c->args[self.loop->index % c->count] : run_bad(r, "no items for cycling given");
}

METHOD(loop_changed)
{
	V now = value_list(r, V_TUPLE);

	UNUSED;
	for (size_t i = 0; i < c->count; i++)
		list_add(r, now.list, c->args[i]);
	bool same = self.loop->changed && value_equal(r, *self.loop->changed, now);
	self.loop->changed = RUN_NEW(r, V);
	*self.loop->changed = now;
	return value_bool(!same);
}

static const struct function text_methods[] = { { "strip", "chars=", strip }, { "lstrip", "chars=", lstrip },
	{ "rstrip", "chars=", rstrip }, { "upper", "", upper }, { "lower", "", lower }, { "capitalize", "", capitalize },
	{ "title", "", title }, { "isupper", "", text_isupper }, { "islower", "", text_islower }, { "isalpha", "", text_isalpha },
	{ "isdecimal", "", isdecimal }, { "isspace", "", text_isspace }, { "startswith", "prefix", startswith },
	{ "endswith", "suffix", endswith }, { "removeprefix", "prefix", removeprefix },
	{ "removesuffix", "suffix", removesuffix }, { "replace", "old new count=", replace },
	{ "split", "sep= maxsplit=", split }, { "find", "sub", find }, { "count", "sub", count_text },
	{ "join", "iterable", join }, { "format", NULL, format }, { 0 } };
static const struct function dict_methods[] = { { "items", "", dict_items }, { "keys", "", dict_keys },
	{ "values", "", dict_values }, { "get", "key default=", dict_get_or }, { "copy", "", copy }, { 0 } };
static const struct function list_methods[] = { { "count", "value", list_count }, { "index", "value", list_index },
	{ "copy", "", copy }, { 0 } };
static const struct function loop_methods[] = { { "cycle", NULL, loop_cycle }, { "changed", NULL, loop_changed }, { 0 } };

const struct function *method_find(V v, const char *name, size_t n)
{
	const struct function *f = v.kind == V_STRING   ? text_methods
		: v.kind == V_DICT                      ? dict_methods
		: v.kind == V_LIST || v.kind == V_TUPLE ? list_methods
		: v.kind == V_LOOP                      ? loop_methods
							: NULL;

	for (; f && f->name; f++)
		if (is_text(value_string(name, n), f->name) && !(v.kind == V_TUPLE && name[0] == 'c' && name[2] == 'p'))
			return f;
	return NULL;
}

static bool one_of(const char *const *words, const char *name, size_t n)
{
	for (; *words; words++)
		if (is_text(value_string(name, n), *words))
			return true;
	return false;
}

bool method_refused(V v, const char *name, size_t n, bool *changes)
{
	static const char *const of_text[] = { "casefold", "center", "encode", "expandtabs", "format_map", "index", "isalnum",
		"isascii", "isdigit", "isidentifier", "isnumeric", "isprintable", "istitle", "ljust", "maketrans", "partition",
		"rfind", "rindex", "rjust", "rpartition", "rsplit", "splitlines", "swapcase", "translate", "zfill", NULL };
	static const char *const of_dict[] = { "fromkeys", NULL },
				 *const of_number[] = { "bit_length", "bit_count", "conjugate", "to_bytes", "from_bytes",
					 "as_integer_ratio", "is_integer", "real", "imag", "numerator", "denominator", "hex",
					 "fromhex", NULL };
	static const char *const change_dict[] = { "clear", "pop", "popitem", "setdefault", "update", NULL };
	static const char *const change_list[] = { "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove",
		NULL };
	static const char *const of_range[] = { "count", "index", "start", "stop", "step", NULL };
	static const char *const none[] = { NULL };
	const char *const *list = v.kind == V_STRING ? of_text : v.kind == V_DICT ? of_dict : none;

	if (v.kind == V_RANGE)
		list = of_range;
	if (v.kind == V_BOOL || v.kind == V_INT || v.kind == V_FLOAT)
		list = of_number;
	*changes = one_of(v.kind == V_DICT ? change_dict : v.kind == V_LIST ? change_list : none, name, n);
	return *changes || one_of(list, name, n);
}

// ---- functions ------------------------------------------------------------------------------------------------------------

METHOD(raise_exception)
{
	UNUSED;
	V text = value_str(r, p[0]);
	return run_bad(r, "%.*s", (int)text.n, text.s);
}

METHOD(strftime_now)
{
	char out[512], how[128];
	struct tm tm;

	UNUSED;
	if (!text_or_fail(r, p[0]))
		return self;
	if (p[0].n >= sizeof how || memchr(p[0].s, 0, p[0].n))
		return run_fail(r, STATUS_UNSUPPORTED, "strftime_now takes a format of at most %zu bytes", sizeof how - 1);
	memcpy(how, p[0].s, p[0].n);
	how[p[0].n] = 0;
	for (const char *s = strchr(how, '%'); s; s = strchr(s + 2, '%')) // widths could be of any length
		if (!s[1] || !strchr("aAbBcdHIjmMpSUwWxXyYZz%DeFTRnt", s[1] == '-' ? s[2] : s[1]))
			return run_fail(r, STATUS_UNSUPPORTED, "strftime_now does not support this format");
		else if (s[1] == '-')
			s++;
	if (!localtime_r(&r->now, &tm))
		return run_bad(r, "there is no such time");
	size_t n = strftime(out, sizeof out, how, &tm);
	struct build b = BUILD(r);
	build_add(&b, out, n);
	return build_value(&b);
}

METHOD(range_of)
{
	int64_t a = integer_or(r, p[0], 0), b = integer_or(r, p[1], 0), step = integer_or(r, p[2], 1);
	struct range *out = RUN_NEW(r, struct range);
	__int128 count;

	UNUSED;
	if (p[1].kind == V_MISSING) {
		b = a;
		a = 0;
	}
	if (step == 0)
		return run_bad(r, "range() arg 3 must not be zero");
	count = step > 0 ? ((__int128)b - a + step - 1) / step : ((__int128)a - b - step - 1) / -(__int128)step;
	if (count > 100000)
		return run_bad(r, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
	*out = (struct range){ a, b, step, count > 0 ? (size_t)count : 0 };
	return (V){ .kind = V_RANGE, .range = out };
}

static V from_pairs(struct run *r, const struct call *c, enum value_kind kind)
{
	V out = value_dict(r, kind);

	if (c->count > 1)
		return run_bad(r, "at most 1 argument is taken");
	if (c->count && c->args[0].kind == V_DICT) {
		for (size_t i = 0; i < c->args[0].dict->count && run_step(r, 0); i++)
			dict_set(r, out.dict, c->args[0].dict->pairs[i].key, c->args[0].dict->pairs[i].value);
	} else if (c->count) {
		V items = value_iterate(r, c->args[0]);
		for (size_t i = 0; !r->failed && i < items.list->count; i++) {
			V one = value_iterate(r, items.list->items[i]);
			if (!r->failed && one.list->count != 2)
				run_bad(r, "a pair is expected");
			if (!r->failed)
				dict_set(r, out.dict, one.list->items[0], one.list->items[1]);
		}
	}
	for (size_t i = 0; i < c->named_count; i++)
		dict_set(r, out.dict, value_string(c->named[i].name, c->named[i].n), c->named[i].value);
	for (size_t i = 0; kind == V_NAMESPACE && i < out.dict->count; i++) {
		V key = out.dict->pairs[i].key;
		if (key.kind == V_STRING && key.n && key.s[0] == '_')
			run_bad(r, "Chat templates cannot store underscore-prefixed attributes on a namespace");
	}
	return out;
}

METHOD(dict_of)
{
	UNUSED;
	return from_pairs(r, c, V_DICT);
}

METHOD(namespace_of)
{
	UNUSED;
	return from_pairs(r, c, V_NAMESPACE);
}

METHOD(not_there)
{
	UNUSED;
	return run_fail(r, STATUS_UNSUPPORTED, "the functions lipsum, cycler and joiner are not supported");
}

const struct function global_functions[] = { { "range", "start stop= step=", range_of }, { "dict", NULL, dict_of },
	{ "namespace", NULL, namespace_of }, { "raise_exception", "message", raise_exception },
	{ "strftime_now", "format", strftime_now }, { "lipsum", NULL, not_there }, { "cycler", NULL, not_there },
	{ "joiner", NULL, not_there }, { 0 } };
