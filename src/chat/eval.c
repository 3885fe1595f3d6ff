// SPDX-License-Identifier: Apache-2.0
// Expressions and statements. A scope is made for a loop's pass, a macro's call and each block that jinja2 gives a frame; `if`
// has none.
#include "chat/inside.h"

#include <math.h>

enum flow { GOES_ON, BREAKS, CONTINUES };
static struct value eval(struct run *r, struct scope *s, const struct node *n);
static enum flow execute(struct run *r, struct scope *s, const struct nodes *body);

// ---- variables ------------------------------------------------------------------------------------------------------------

static void bind(struct run *r, struct scope *s, const char *name, struct value v)
{
	for (struct binding *b = s->bindings; b && run_step(r, strlen(name)); b = b->next) {
		if (!strcmp(b->name, name)) {
			b->value = v;
			return;
		}
	}
	struct binding *b = RUN_NEW(r, struct binding);
	*b = (struct binding){ s->bindings, name, v };
	s->bindings = b;
}

static struct value look_up(struct run *r, const struct scope *s, const char *name)
{
	size_t nbytes = strlen(name);

	for (; s; s = s->parent)
		for (const struct binding *b = s->bindings; b && run_step(r, nbytes); b = b->next)
			if (!strcmp(b->name, name))
				return b->value;
	struct value *v = dict_text(r, r->variables, name, nbytes);
	if (v)
		return *v;
	for (const struct function *f = global_functions; f->name; f++)
		if (!strcmp(f->name, name))
			return (struct value){ .kind = V_FUNCTION, .function = f };
	return value_undefined(r, "'%.100s' is undefined", name);
}

static struct scope *inner(struct run *r, struct scope *parent)
{
	struct scope *s = RUN_NEW(r, struct scope);

	s->parent = parent;
	return s;
}

static void assign(struct run *r, struct scope *s, const struct node *target, struct value v)
{
	if (target->kind == N_NAME) {
		bind(r, s, target->name, v);
	} else if (target->kind == N_NSREF) {
		struct value ns = look_up(r, s, target->name);
		if (ns.kind != V_NAMESPACE)
			run_bad(r, "cannot assign attribute on non-namespace object");
		else if (target->attribute[0] == '_')
			run_bad(r, "Chat templates cannot store underscore-prefixed attributes on a namespace");
		else
			dict_set(r, ns.dict, value_of_text(target->attribute), v);
	} else {
		struct value items = value_iterate(r, v);
		if (!r->failed && items.list->count != target->list.count)
			run_bad(r, "%zu values where %zu are expected", items.list->count, target->list.count);
		for (size_t i = 0; i < target->list.count && !r->failed; i++)
			assign(r, s, target->list.items[i], items.list->items[i]);
	}
}

// ---- items ----------------------------------------------------------------------------------------------------------------

static struct value no_item(struct run *r, struct value v, struct value key)
{
	struct build b = BUILD(r);

	if (v.kind == V_UNDEFINED)
		return run_bad(r, "%.*s", (int)v.n, v.s);
	value_repr(&b, key);
	const char *type = v.kind == V_NONE ? "None" : value_type(v), *object = v.kind == V_NONE ? "" : " object";
	if (key.kind != V_STRING)
		return value_undefined(r, "%s%s has no element %.*s", type, object, (int)(b.length < 80 ? b.length : 80), b.data);
	return value_undefined(r, "'%s%s' has no attribute %.*s", type, object, (int)(b.length < 80 ? b.length : 80), b.data);
}

static bool sequence_item(struct run *r, struct value v, int64_t i, struct value *out)
{
	size_t n;

	if (v.kind == V_VIEW || v.kind == V_LOOP || v.kind == V_DICT || v.kind == V_UNDEFINED || !value_length(v, &n))
		return false;
	if (i < 0)
		i += (int64_t)n;
	if (i < 0 || (uint64_t)i >= n)
		return false;
	if (v.kind == V_RANGE)
		*out = value_int(range_at(v.range, (size_t)i));
	else if (v.kind == V_STRING)
		*out = get_slice(r, v, value_int(i), value_int(i + 1), (struct value){ .kind = V_NONE });
	else
		*out = v.list->items[i];
	return true;
}

static bool find_item(struct run *r, struct value v, struct value key, struct value *out)
{
	int64_t i;

	if (v.kind == V_DICT) {
		struct value *found = key.kind == V_LIST || key.kind == V_DICT ? NULL : dict_get(r, v.dict, key);
		if (found)
			*out = *found;
		return found != NULL;
	}
	return value_integer(key, &i) && sequence_item(r, v, i, out);
}

static bool loop_attribute(struct run *r, struct loop *l, struct value name, struct value *out)
{
	size_t n = l->items->count, i = l->index;

	if (is_text(name, "index"))
		*out = value_int((int64_t)i + 1);
	else if (is_text(name, "index0"))
		*out = value_int((int64_t)i);
	else if (is_text(name, "revindex"))
		*out = value_int((int64_t)(n - i));
	else if (is_text(name, "revindex0"))
		*out = value_int((int64_t)(n - i) - 1);
	else if (is_text(name, "first"))
		*out = value_bool(i == 0);
	else if (is_text(name, "last"))
		*out = value_bool(i + 1 == n);
	else if (is_text(name, "length"))
		*out = value_int((int64_t)n);
	else if (is_text(name, "depth") || is_text(name, "depth0"))
		*out = value_int(l->depth + (name.n == 5));
	else if (is_text(name, "previtem"))
		*out = i ? l->items->items[i - 1] : value_undefined(r, "there is no previous item");
	else if (is_text(name, "nextitem"))
		*out = i + 1 < n ? l->items->items[i + 1] : value_undefined(r, "there is no next item");
	else
		return false;
	return true;
}

static bool find_attribute(struct run *r, struct value v, const char *name, size_t n, struct value *out)
{
	const struct function *f;
	bool changes = false;

	if (v.kind == V_NAMESPACE) {
		struct value *found = dict_text(r, v.dict, name, n);
		if (found)
			*out = *found;
		return found != NULL;
	}
	if (v.kind == V_LOOP && loop_attribute(r, v.loop, value_string(name, n), out))
		return true;
	if ((f = method_find(v, name, n))) {
		struct method *m = RUN_NEW(r, struct method);
		*m = (struct method){ v, f };
		*out = (struct value){ .kind = V_METHOD, .method = m };
		return true;
	}
	if (!method_refused(v, name, n, &changes))
		return false;
	if (changes)
		*out = value_undefined(r, "access to attribute '%.*s' of '%s' object is unsafe.", (int)n, name, value_type(v));
	else
		*out = run_fail(r, STATUS_UNSUPPORTED, "the method %.*s of a %s is not supported", (int)n, name, value_type(v));
	return true;
}

struct value get_attribute(struct run *r, struct value v, const char *name, size_t n)
{
	struct value out;

	if (find_attribute(r, v, name, n, &out) || find_item(r, v, value_string(name, n), &out))
		return out;
	return no_item(r, v, value_string(name, n));
}

struct value get_item(struct run *r, struct value v, struct value key)
{
	struct value out;

	if (find_item(r, v, key, &out))
		return out;
	if (key.kind == V_STRING && v.kind != V_NAMESPACE && find_attribute(r, v, key.s, key.n, &out))
		return out;
	return no_item(r, v, key);
}

// One end of a slice of n items, as Python's slice.indices has it.
static int64_t slice_end(struct run *r, struct value v, int64_t n, int64_t low, int64_t high, int64_t otherwise)
{
	int64_t i;

	if (v.kind == V_NONE)
		return otherwise;
	if (!value_integer(v, &i)) {
		run_bad(r, "slice indices must be integers or None or have an __index__ method");
		return 0;
	}
	i = i < 0 ? (i < -n ? low : i + n) : i;
	return i < low ? low : i > high ? high : i;
}

static struct value too_large(struct run *r)
{
	return run_fail(r, STATUS_UNSUPPORTED, "a number of more than 64 bits");
}

struct value get_slice(struct run *r, struct value v, struct value start, struct value stop, struct value step)
{
	int64_t by = 1;
	size_t count;

	if (v.kind == V_UNDEFINED)
		return run_bad(r, "%.*s", (int)v.n, v.s);
	if (v.kind != V_STRING && v.kind != V_LIST && v.kind != V_TUPLE && v.kind != V_RANGE)
		return run_bad(r, "'%s' object has no slices", value_type(v));
	if (step.kind != V_NONE && !value_integer(step, &by))
		return run_bad(r, "slice indices must be integers or None or have an __index__ method");
	if (by == 0)
		return run_bad(r, "slice step cannot be zero");
	value_length(v, &count);
	int64_t n = (int64_t)count, low = by < 0 ? -1 : 0, high = by < 0 ? n - 1 : n;
	int64_t from = slice_end(r, start, n, low, high, by < 0 ? high : 0),
		to = slice_end(r, stop, n, low, high, by < 0 ? -1 : n);
	if (v.kind == V_RANGE && !r->failed) {
		struct range *part = RUN_NEW(r, struct range);
		__int128 size = by > 0 ? ((__int128)to - from + by - 1) / by : ((__int128)from - to - by - 1) / -(__int128)by;
		__int128 wide = v.range->step, begin = v.range->start + from * wide, end = v.range->start + to * wide;
		wide *= by;
		if (wide != (int64_t)wide || begin != (int64_t)begin || end != (int64_t)end)
			return too_large(r);
		*part = (struct range){ (int64_t)begin, (int64_t)end, (int64_t)wide, size > 0 ? (size_t)size : 0 };
		return (struct value){ .kind = V_RANGE, .range = part };
	}
	if (!run_step(r, v.kind == V_STRING ? v.n : count * 16))
		return v;
	if (v.kind == V_STRING && by == 1 && count == v.n)
		return to > from ? value_string(v.s + from, (size_t)(to - from)) : value_string("", 0);
	struct value items = value_iterate(r, v), out = value_list(r, v.kind == V_TUPLE ? V_TUPLE : V_LIST);
	struct build b = BUILD(r);
	for (int64_t i = from; (by > 0 ? i < to : i > to) && !r->failed;) {
		if (v.kind == V_STRING)
			build_add(&b, items.list->items[i].s, items.list->items[i].n);
		else
			list_add(r, out.list, items.list->items[i]);
		if (__builtin_add_overflow(i, by, &i))
			break;
	}
	return v.kind == V_STRING ? build_value(&b) : out;
}

// ---- arithmetic -----------------------------------------------------------------------------------------------------------

static struct value repeat(struct run *r, struct value v, int64_t times)
{
	struct value out = v.kind == V_STRING ? v : value_list(r, v.kind);
	struct build b = BUILD(r);

	if (v.kind == V_STRING ? v.n == 0 : v.list->count == 0)
		return v;
	for (int64_t i = 0; i < times && run_step(r, 0); i++) {
		if (v.kind == V_STRING)
			build_add(&b, v.s, v.n);
		for (size_t k = 0; v.kind != V_STRING && k < v.list->count && run_step(r, 0); k++)
			list_add(r, out.list, v.list->items[k]);
	}
	return v.kind == V_STRING ? build_value(&b) : out;
}

static struct value whole(struct run *r, enum node_kind op, int64_t x, int64_t y)
{
	int64_t out = 1, k;

	switch (op) {
	case N_ADD:
		return __builtin_add_overflow(x, y, &out) ? too_large(r) : value_int(out);
	case N_SUB:
		return __builtin_sub_overflow(x, y, &out) ? too_large(r) : value_int(out);
	case N_MUL:
		return __builtin_mul_overflow(x, y, &out) ? too_large(r) : value_int(out);
	case N_POW:
		if (y < 0)
			return x ? value_float(pow((double)x, (double)y))
				 : run_bad(r, "0.0 cannot be raised to a negative power");
		for (k = 0; k < y && out != 0 && (out != 1 || x != 1 || k == 0); k++) {
			if (x == -1)
				return value_int(y % 2 ? -1 : 1);
			if (__builtin_mul_overflow(out, x, &out))
				return too_large(r);
		}
		return value_int(out);
	default:
		break;
	}
	if (y == 0)
		return run_bad(r, op == N_MOD ? "integer modulo by zero" : "division by zero");
	if (op == N_DIV)
		return value_float((double)x / (double)y);
	if (x == INT64_MIN && y == -1)
		return op == N_MOD ? value_int(0) : too_large(r);
	k = x % y;
	bool down = k && (k < 0) != (y < 0);
	return value_int(op == N_MOD ? (down ? k + y : k) : x / y - down);
}

static struct value arithmetic(struct run *r, enum node_kind op, struct value a, struct value b)
{
	static const char *const signs[] = { [N_ADD] = "+",
		[N_SUB] = "-",
		[N_MUL] = "*",
		[N_DIV] = "/",
		[N_FLOORDIV] = "//",
		[N_MOD] = "%",
		[N_POW] = "** or pow()" };
	int64_t i, k;
	double x, y, m;

	if (value_integer(a, &i) && value_integer(b, &k))
		return whole(r, op, i, k);
	if (value_number(a, &x) && value_number(b, &y)) {
		switch (op) {
		case N_ADD:
			return value_float(x + y);
		case N_SUB:
			return value_float(x - y);
		case N_MUL:
			return value_float(x * y);
		case N_POW:
			return value_float(pow(x, y));
		default:
			break;
		}
		if (y == 0)
			return run_bad(r, "float division by zero");
		if (op == N_DIV)
			return value_float(x / y);
		m = fmod(x, y);
		if (m != 0 && (m < 0) != (y < 0))
			m += y;
		return value_float(op == N_MOD ? (m != 0 ? m : copysign(0, y)) : floor((x - m) / y + 0.5));
	}
	if (a.kind == V_UNDEFINED || b.kind == V_UNDEFINED) {
		struct value u = a.kind == V_UNDEFINED ? a : b;
		if (op != N_MOD || a.kind != V_STRING)
			return run_bad(r, "%.*s", (int)u.n, u.s);
	}
	bool text = a.kind == V_STRING, listed = a.kind == V_LIST || a.kind == V_TUPLE;
	if (op == N_ADD && text && b.kind == V_STRING) {
		struct build out = BUILD(r);
		build_add(&out, a.s, a.n);
		build_add(&out, b.s, b.n);
		return build_value(&out);
	}
	if (op == N_ADD && listed && a.kind == b.kind) {
		struct value out = value_list(r, a.kind);
		for (size_t n = 0; n < a.list->count + b.list->count && run_step(r, 0); n++)
			list_add(r, out.list, n < a.list->count ? a.list->items[n] : b.list->items[n - a.list->count]);
		return out;
	}
	if (op == N_MUL && (text || listed) && value_integer(b, &k))
		return repeat(r, a, k);
	if (op == N_MUL && (b.kind == V_STRING || b.kind == V_LIST || b.kind == V_TUPLE) && value_integer(a, &i))
		return repeat(r, b, i);
	if (op == N_MOD && text)
		return run_mod(r, a, b);
	return run_bad(r, "unsupported operand type(s) for %s: '%s' and '%s'", signs[op], value_type(a), value_type(b));
}

static bool compare(struct run *r, enum comparison op, struct value a, struct value b)
{
	static const char *const signs[] = { "==", "!=", "<", "<=", ">", ">=" };
	int d;

	if (op == C_EQ || op == C_NE)
		return value_equal(r, a, b) == (op == C_EQ);
	if (op == C_IN || op == C_NOT_IN)
		return value_in(r, a, b) == (op == C_IN);
	d = value_order(r, a, b, signs[op]);
	if (d == 2)
		return false;
	return op == C_LT ? d < 0 : op == C_LE ? d <= 0 : op == C_GT ? d > 0 : d >= 0;
}

// ---- calls ----------------------------------------------------------------------------------------------------------------

static void add_named(struct run *r, struct call *c, struct named n)
{
	struct named *more = run_take(r, c->named_count + 1, sizeof *more);

	for (size_t i = 0; i < c->named_count; i++)
		if (c->named[i].n == n.n && run_step(r, n.n) && !memcmp(c->named[i].name, n.name, n.n))
			run_bad(r, "an argument is given twice: '%.*s'", (int)n.n, n.name);
	if (!more || r->failed)
		return;
	if (c->named_count)
		memcpy(more, c->named, c->named_count * sizeof *more);
	more[c->named_count++] = n;
	c->named = more;
}

static struct call arguments(struct run *r, struct scope *s, const struct arguments *a)
{
	struct value list = value_list(r, V_LIST);
	struct call c = { 0 };

	for (size_t i = 0; i < a->args.count && !r->failed; i++)
		list_add(r, list.list, eval(r, s, a->args.items[i]));
	if (a->star) {
		struct value more = value_iterate(r, eval(r, s, a->star));
		for (size_t i = 0; !r->failed && i < more.list->count; i++)
			list_add(r, list.list, more.list->items[i]);
	}
	for (size_t i = 0; i < a->values.count && !r->failed; i++)
		add_named(r, &c, (struct named){ a->names[i], strlen(a->names[i]), eval(r, s, a->values.items[i]) });
	if (a->star_star) {
		struct value d = eval(r, s, a->star_star);
		if (d.kind != V_DICT)
			run_bad(r, "argument after ** must be a mapping, not %s", value_type(d));
		for (size_t i = 0; !r->failed && i < d.dict->count; i++) {
			struct pair *p = &d.dict->pairs[i];
			if (p->key.kind != V_STRING)
				run_bad(r, "keywords must be strings");
			add_named(r, &c, (struct named){ p->key.s, p->key.n, p->value });
		}
	}
	c.args = list.list->items;
	c.count = list.list->count;
	return c;
}

static struct value captured(struct run *r, struct scope *s, const struct nodes *body)
{
	struct build b = BUILD(r), *out = r->out;

	r->out = &b;
	execute(r, s, body);
	r->out = out;
	return build_value(&b);
}

static struct value call_macro(struct run *r, const struct macro *m, const struct call *c)
{
	const struct node *n = m->node;
	struct scope *s = inner(r, m->scope);
	size_t count = n->list.count, first_default = count - n->defaults.count, used = 0;
	struct value more = value_list(r, V_TUPLE), kwargs = value_dict(r, V_DICT), caller = { .kind = V_MISSING };

	if (c->count > count && !(n->uses & USES_VARARGS))
		return run_bad(r, "macro '%s' takes not more than %zu argument(s)", n->name, count);
	for (size_t i = count; i < c->count; i++)
		list_add(r, more.list, c->args[i]);
	for (size_t i = 0; i < count && !r->failed; i++) {
		const char *name = n->list.items[i]->name;
		struct value v = i < c->count ? c->args[i] : (struct value){ .kind = V_MISSING };
		for (size_t k = 0; k < c->named_count; k++) {
			if (!is_text(value_string(c->named[k].name, c->named[k].n), name))
				continue;
			if (i < c->count)
				return run_bad(r, "macro '%s' got multiple values for argument '%s'", n->name, name);
			v = c->named[k].value;
			used++;
		}
		if (v.kind == V_MISSING)
			v = i >= first_default ? eval(r, s, n->defaults.items[i - first_default])
					       : value_undefined(r, "parameter '%.100s' was not provided", name);
		bind(r, s, name, v);
	}
	for (size_t k = 0; k < c->named_count && used < c->named_count && !r->failed; k++) {
		struct value name = value_string(c->named[k].name, c->named[k].n);
		bool parameter = false;
		for (size_t i = 0; i < count; i++)
			parameter |= is_text(name, n->list.items[i]->name);
		if (is_text(name, "caller") && (n->uses & USES_CALLER))
			caller = c->named[k].value;
		else if (!parameter && !(n->uses & USES_KWARGS))
			return run_bad(r, "macro '%s' takes no keyword argument '%.*s'", n->name, (int)name.n, name.s);
		else if (!parameter)
			dict_set(r, kwargs.dict, name, c->named[k].value);
	}
	if (n->uses & USES_CALLER && n->kind == N_MACRO)
		bind(r, s, "caller", caller.kind ? caller : value_undefined(r, "No caller defined"));
	if (n->uses & USES_VARARGS)
		bind(r, s, "varargs", more);
	if (n->uses & USES_KWARGS)
		bind(r, s, "kwargs", kwargs);
	return captured(r, s, &n->body);
}

static enum flow run_loop(struct run *r, struct scope *s, const struct node *n, struct value over, int64_t depth);

struct value run_call(struct run *r, struct value callee, const struct call *c)
{
	struct value out = { .kind = V_NONE };

	if (!run_deeper(r))
		return out;
	switch (callee.kind) {
	case V_MACRO:
		out = call_macro(r, callee.macro, c);
		break;
	case V_FUNCTION:
		out = run_function(r, callee.function, out, c);
		break;
	case V_METHOD:
		out = run_function(r, callee.method->function, callee.method->self, c);
		break;
	case V_LOOP:
		if (callee.loop->node->recursive && c->count == 1) {
			struct build b = BUILD(r), *before = r->out;
			r->out = &b;
			run_loop(r, callee.loop->scope, callee.loop->node, c->args[0], callee.loop->depth + 1);
			r->out = before;
			out = build_value(&b);
			break;
		}
		run_bad(r, "The loop must have the 'recursive' marker to be called recursively.");
		break;
	case V_UNDEFINED:
		run_bad(r, "%.*s", (int)callee.n, callee.s);
		break;
	default:
		run_bad(r, "'%s' object is not callable", value_type(callee));
	}
	r->depth--;
	return out;
}

// ---- expressions ----------------------------------------------------------------------------------------------------------

static struct value eval_or_none(struct run *r, struct scope *s, const struct node *n)
{
	return n ? eval(r, s, n) : (struct value){ .kind = V_NONE };
}

static struct value eval_items(struct run *r, struct scope *s, const struct node *n)
{
	struct value out = value_list(r, n->kind == N_LIST ? V_LIST : V_TUPLE), b;

	if (n->kind == N_DICT) {
		out = value_dict(r, V_DICT);
		for (size_t i = 0; i + 1 < n->list.count && !r->failed; i += 2) {
			b = eval(r, s, n->list.items[i]);
			dict_set(r, out.dict, b, eval(r, s, n->list.items[i + 1]));
		}
		return out;
	}
	for (size_t i = 0; i < n->list.count && !r->failed; i++)
		list_add(r, out.list, eval(r, s, n->list.items[i]));
	return out;
}

static struct value eval_compare(struct run *r, struct scope *s, const struct node *n)
{
	struct value left = eval(r, s, n->a);
	bool holds = true;

	for (size_t i = 0; i < n->list.count && holds && !r->failed; i++) {
		struct value right = eval(r, s, n->list.items[i]);
		if (!r->failed)
			holds = compare(r, n->operators[i], left, right);
		left = right;
	}
	return value_bool(holds);
}

static struct value eval_sign(struct run *r, struct value v, bool negative)
{
	int64_t i;

	if (v.kind == V_FLOAT)
		return value_float(negative ? -v.f : v.f);
	if (value_integer(v, &i))
		return !negative ? value_int(i) : i == INT64_MIN ? too_large(r) : value_int(-i);
	if (v.kind == V_UNDEFINED)
		return run_bad(r, "%.*s", (int)v.n, v.s);
	return run_bad(r, "bad operand type for unary %c: '%s'", negative ? '-' : '+', value_type(v));
}

static struct value eval_node(struct run *r, struct scope *s, const struct node *n)
{
	struct value v;
	struct call c;

	switch (n->kind) {
	case N_CONST:
		return n->value;
	case N_NAME:
		return look_up(r, s, n->name);
	case N_LIST:
	case N_TUPLE:
	case N_DICT:
		return eval_items(r, s, n);
	case N_ATTR:
		v = eval(r, s, n->a);
		return r->failed ? v : get_attribute(r, v, n->name, strlen(n->name));
	case N_ITEM:
		v = eval(r, s, n->a);
		if (n->b->kind == N_SLICE) {
			struct value start = eval_or_none(r, s, n->b->a), stop = eval_or_none(r, s, n->b->b);
			struct value step = eval_or_none(r, s, n->b->c);
			return r->failed ? v : get_slice(r, v, start, stop, step);
		} else {
			struct value key = eval(r, s, n->b);
			return r->failed ? v : get_item(r, v, key);
		}
	case N_CALL:
		v = eval(r, s, n->a);
		c = arguments(r, s, n->arguments);
		return r->failed ? v : run_call(r, v, &c);
	case N_FILTER:
		v = eval(r, s, n->a);
		c = arguments(r, s, n->arguments);
		return r->failed ? v : run_filter(r, n->name, v, &c);
	case N_TEST:
		v = eval(r, s, n->a);
		c = arguments(r, s, n->arguments);
		return value_bool(!r->failed && run_test(r, n->name, v, &c) != n->negated);
	case N_NOT:
		return value_bool(!value_true(eval(r, s, n->a)));
	case N_NEG:
	case N_POS:
		v = eval(r, s, n->a);
		return r->failed ? v : eval_sign(r, v, n->kind == N_NEG);
	case N_AND:
		v = eval(r, s, n->a);
		return value_true(v) ? eval(r, s, n->b) : v;
	case N_OR:
		v = eval(r, s, n->a);
		return value_true(v) ? v : eval(r, s, n->b);
	case N_IF_ELSE:
		if (value_true(eval(r, s, n->a)))
			return eval(r, s, n->b);
		return n->c ? eval(r, s, n->c)
			    : value_undefined(r,
				      "the inline if-expression on line %u evaluated to false and no else section was defined.",
				      n->line);
	case N_CONCAT: {
		struct build b = BUILD(r);
		for (size_t i = 0; i < n->list.count && !r->failed; i++)
			value_write(&b, eval(r, s, n->list.items[i]));
		return build_value(&b);
	}
	case N_COMPARE:
		return eval_compare(r, s, n);
	default:
		if (n->kind >= N_ADD && n->kind <= N_POW) {
			struct value b;
			v = eval(r, s, n->a);
			b = eval(r, s, n->b);
			return r->failed ? v : arithmetic(r, n->kind, v, b);
		}
		return run_bad(r, "a slice outside of brackets");
	}
}

static struct value eval(struct run *r, struct scope *s, const struct node *n)
{
	struct value v = { .kind = V_NONE };

	if (r->failed || !run_step(r, 0) || !run_deeper(r))
		return v;
	r->line = n->line;
	v = eval_node(r, s, n);
	r->depth--;
	return v;
}

// ---- statements -----------------------------------------------------------------------------------------------------------

static enum flow run_loop(struct run *r, struct scope *s, const struct node *n, struct value over, int64_t depth)
{
	struct value items = value_iterate(r, over);
	enum flow flow = GOES_ON;

	if (n->c && !r->failed) {
		struct value kept = value_list(r, V_LIST);
		for (size_t i = 0; i < items.list->count && run_step(r, 0); i++) {
			struct scope *test = inner(r, s);
			assign(r, test, n->a, items.list->items[i]);
			if (value_true(eval(r, test, n->c)) && !r->failed)
				list_add(r, kept.list, items.list->items[i]);
		}
		items = kept;
	}
	if (r->failed)
		return GOES_ON;
	struct loop *l = RUN_NEW(r, struct loop);
	*l = (struct loop){ .items = items.list, .depth = depth, .node = n, .scope = s };
	for (; l->index < items.list->count && flow != BREAKS && run_step(r, 0); l->index++) {
		struct scope *pass = inner(r, s);
		bind(r, pass, "loop", (struct value){ .kind = V_LOOP, .loop = l });
		assign(r, pass, n->a, items.list->items[l->index]);
		flow = execute(r, pass, &n->body);
	}
	if (!items.list->count)
		return execute(r, inner(r, s), &n->other);
	return GOES_ON;
}

static struct value filtered(struct run *r, struct scope *s, const struct node *filter, struct value v)
{
	if (!filter || !run_deeper(r))
		return v;
	v = filtered(r, s, filter->a, v);
	r->depth--;
	struct call c = arguments(r, s, filter->arguments);
	return r->failed ? v : run_filter(r, filter->name, v, &c);
}

static void call_block(struct run *r, struct scope *s, const struct node *n)
{
	struct macro *m = RUN_NEW(r, struct macro);
	struct value callee = eval(r, s, n->a->a);
	struct call c = arguments(r, s, n->a->arguments);

	*m = (struct macro){ n, s };
	add_named(r, &c, (struct named){ "caller", 6, { .kind = V_MACRO, .macro = m } });
	if (!r->failed)
		value_write(r->out, run_call(r, callee, &c));
}

static enum flow execute_one(struct run *r, struct scope *s, const struct node *n)
{
	struct macro *m;
	struct scope *own;

	switch (n->kind) {
	case N_DATA:
		build_add(r->out, n->value.s, n->value.n);
		break;
	case N_OUTPUT:
		for (size_t i = 0; i < n->list.count && !r->failed; i++)
			value_write(r->out, eval(r, s, n->list.items[i]));
		break;
	case N_FOR:
		return run_loop(r, s, n, eval(r, s, n->b), 0);
	case N_IF:
		for (; n && !r->failed; n = n->b) {
			if (value_true(eval(r, s, n->a)))
				return execute(r, s, &n->body);
			if (!n->b)
				return execute(r, s, &n->other);
		}
		break;
	case N_SET:
		assign(r, s, n->a, eval(r, s, n->b));
		break;
	case N_SET_BLOCK:
		assign(r, s, n->a, filtered(r, s, n->b, captured(r, inner(r, s), &n->body)));
		break;
	case N_MACRO:
		m = RUN_NEW(r, struct macro);
		*m = (struct macro){ n, s };
		bind(r, s, n->name, (struct value){ .kind = V_MACRO, .macro = m });
		break;
	case N_CALL_BLOCK:
		call_block(r, s, n);
		break;
	case N_FILTER_BLOCK:
		value_write(r->out, filtered(r, s, n->a, captured(r, inner(r, s), &n->body)));
		break;
	case N_WITH:
		own = inner(r, s);
		for (size_t i = 0; i < n->list.count && !r->failed; i++)
			assign(r, own, n->list.items[i], eval(r, s, n->defaults.items[i]));
		return execute(r, own, &n->body);
	case N_SCOPE:
		execute(r, inner(r, s), &n->body);
		break;
	case N_BREAK:
		return BREAKS;
	case N_CONTINUE:
		return CONTINUES;
	default:
		break;
	}
	return GOES_ON;
}

static enum flow execute(struct run *r, struct scope *s, const struct nodes *body)
{
	enum flow flow = GOES_ON;

	if (!run_deeper(r))
		return BREAKS;
	for (size_t i = 0; i < body->count && flow == GOES_ON && run_step(r, 0); i++) {
		r->line = body->items[i]->line;
		flow = execute_one(r, s, body->items[i]);
	}
	r->depth--;
	return flow;
}

void chat_execute(struct run *r, const struct nodes *body)
{
	r->top = inner(r, NULL);
	execute(r, r->top, body);
}
