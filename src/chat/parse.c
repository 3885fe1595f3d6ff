// SPDX-License-Identifier: Apache-2.0
// Lexemes as a tree. The grammar, and what binds how tightly, is jinja2's: filters and tests bind to what stands before them,
// ** is left-associative, and "-x | f" is "(-x) | f".
#include "chat/inside.h"

#include "base/visible.h"

struct parser {
	struct run *r;
	const struct lexeme *at;
	struct node *macros[CHAT_DEPTH_MOST]; // that are open
	size_t macro_count, loops;
};

static struct node *parse_expression(struct parser *p, bool conditional);
static struct node *parse_unary(struct parser *p, bool filters);
static void parse_body(struct parser *p, struct nodes *out, const char *const *ends);

// ---- lexemes --------------------------------------------------------------------------------------------------------------

static bool is(const struct lexeme *t, enum token_kind kind, const char *word)
{
	return t->kind == kind && is_text(t->value, word);
}

static bool is_op(const struct parser *p, const char *word)
{
	return is(p->at, T_OPERATOR, word);
}

static bool is_name(const struct parser *p, const char *word)
{
	return is(p->at, T_NAME, word);
}

static void next(struct parser *p)
{
	if (p->at->kind != T_END)
		p->at++;
}

static bool take_op(struct parser *p, const char *word)
{
	if (!is_op(p, word))
		return false;
	next(p);
	return true;
}

static bool take_name(struct parser *p, const char *word)
{
	if (!is_name(p, word))
		return false;
	next(p);
	return true;
}

static void unexpected(struct parser *p, const char *wanted)
{
	static const char *const words[] = { [T_END] = "the end of the template",
		[T_DATA] = "text",
		[T_VAR_BEGIN] = "{{",
		[T_VAR_END] = "}}",
		[T_BLOCK_BEGIN] = "{%",
		[T_BLOCK_END] = "%}" };
	size_t n = visible_fit(p->at->value.s, p->at->value.n, 80);

	p->r->line = p->at->line;
	if (p->at->kind < sizeof words / sizeof *words)
		run_bad(p->r, "expected %s, got %s", wanted, words[p->at->kind]);
	else
		run_bad(p->r, "expected %s, got '%.*s'", wanted, (int)n, p->at->value.s);
}

static void expect_op(struct parser *p, const char *word)
{
	if (!take_op(p, word))
		unexpected(p, word);
}

static void expect_end(struct parser *p)
{
	if (p->at->kind != T_BLOCK_END)
		unexpected(p, "%}");
	next(p);
}

static const char *name_of(struct parser *p)
{
	if (p->at->kind != T_NAME) {
		unexpected(p, "a name");
		return "";
	}
	const struct value v = p->at->value;
	char *name = run_take(p->r, v.n + 1, 1);
	if (name)
		memcpy(name, v.s, v.n);
	next(p);
	return name ? name : "";
}

// ---- nodes ----------------------------------------------------------------------------------------------------------------

void nodes_add(struct run *r, struct nodes *n, struct node *node)
{
	if (n->count == n->room) {
		size_t room = n->room ? n->room * 2 : 4;
		struct node **more = run_take(r, room, sizeof *more);
		if (!more || r->failed)
			return;
		if (n->count)
			memcpy(more, n->items, n->count * sizeof *more);
		n->items = more;
		n->room = room;
	}
	n->items[n->count++] = node;
}

static struct node *make(struct parser *p, enum node_kind kind)
{
	struct node *n = RUN_NEW(p->r, struct node);

	n->kind = kind;
	n->line = p->at->line;
	return n;
}

static struct node *make_constant(struct parser *p, struct value v)
{
	struct node *n = make(p, N_CONST);

	n->value = v;
	return n;
}

static struct node *make_two(struct parser *p, enum node_kind kind, struct node *a, struct node *b)
{
	struct node *n = make(p, kind);

	n->a = a;
	n->b = b;
	return n;
}

// A chain of operators is a deep tree: each operand of it counts as a level.
static bool deeper(struct parser *p)
{
	return !p->r->failed && run_deeper(p->r);
}

// ---- expressions ----------------------------------------------------------------------------------------------------------

static bool tuple_ends(const struct parser *p, const char *end)
{
	return p->at->kind == T_VAR_END || p->at->kind == T_BLOCK_END || is_op(p, ")") || (end && is_name(p, end));
}

static struct node *parse_primary(struct parser *p, bool namespaces);

// An expression, or a tuple where commas follow. `simple`: names and constants only, for targets; `end`: a word that ends it.
static struct node *parse_tuple(struct parser *p, bool simple, bool conditional, const char *end, bool brackets, bool namespaces)
{
	struct nodes items = { 0 };
	bool is_tuple = false;

	while (!p->r->failed) {
		if (items.count)
			expect_op(p, ",");
		if (tuple_ends(p, end))
			break;
		nodes_add(p->r, &items, simple ? parse_primary(p, namespaces) : parse_expression(p, conditional));
		if (!is_op(p, ","))
			break;
		is_tuple = true;
	}
	if (!is_tuple && items.count)
		return items.items[0];
	if (!is_tuple && !brackets)
		unexpected(p, "an expression");
	struct node *n = make(p, N_TUPLE);
	n->list = items;
	return n;
}

static struct node *parse_list(struct parser *p)
{
	struct node *n = make(p, N_LIST);

	expect_op(p, "[");
	while (!is_op(p, "]") && !p->r->failed) {
		if (n->list.count)
			expect_op(p, ",");
		if (is_op(p, "]"))
			break;
		nodes_add(p->r, &n->list, parse_expression(p, true));
	}
	expect_op(p, "]");
	return n;
}

static struct node *parse_dict(struct parser *p)
{
	struct node *n = make(p, N_DICT);

	expect_op(p, "{");
	while (!is_op(p, "}") && !p->r->failed) {
		if (n->list.count)
			expect_op(p, ",");
		if (is_op(p, "}"))
			break;
		nodes_add(p->r, &n->list, parse_expression(p, true));
		expect_op(p, ":");
		nodes_add(p->r, &n->list, parse_expression(p, true));
	}
	expect_op(p, "}");
	return n;
}

static void note_use(struct parser *p, const char *name)
{
	uint32_t use = !strcmp(name, "caller") ? USES_CALLER : !strcmp(name, "kwargs") ? USES_KWARGS : 0;

	if (!strcmp(name, "varargs"))
		use = USES_VARARGS;
	for (size_t i = 0; use && i < p->macro_count; i++)
		p->macros[i]->uses |= use;
}

static struct node *parse_primary(struct parser *p, bool namespaces)
{
	struct node *n;

	p->r->line = p->at->line;
	switch (p->at->kind) {
	case T_NAME:
		if (is_name(p, "true") || is_name(p, "True") || is_name(p, "false") || is_name(p, "False"))
			n = make_constant(p, value_bool((p->at->value.s[0] | 32) == 't'));
		else if (is_name(p, "none") || is_name(p, "None"))
			n = make_constant(p, (struct value){ .kind = V_NONE });
		else
			n = make(p, N_NAME);
		n->name = name_of(p);
		if (n->kind == N_NAME && namespaces && take_op(p, ".")) {
			n->kind = N_NSREF;
			n->attribute = name_of(p);
		} else if (n->kind == N_NAME) {
			note_use(p, n->name);
		}
		return n;
	case T_STRING:
		n = make(p, N_CONST);
		n->value = chat_string(p->r, &p->at);
		return n;
	case T_NUMBER:
		n = make(p, N_CONST);
		n->value = chat_number(p->r, p->at);
		next(p);
		return n;
	default:
		break;
	}
	if (take_op(p, "(")) {
		n = parse_tuple(p, false, true, NULL, true, false);
		expect_op(p, ")");
		return n;
	}
	if (is_op(p, "["))
		return parse_list(p);
	if (is_op(p, "{"))
		return parse_dict(p);
	unexpected(p, "an expression");
	return make(p, N_CONST);
}

static void add_name(struct parser *p, struct arguments *a, const char *name)
{
	if (a->values.count == a->names_room) {
		size_t room = a->names_room ? a->names_room * 2 : 4;
		const char **more = run_take(p->r, room, sizeof *more);
		if (!more || p->r->failed)
			return;
		if (a->values.count)
			memcpy(more, a->names, a->values.count * sizeof *more);
		a->names = more;
		a->names_room = room;
	}
	a->names[a->values.count] = name;
	nodes_add(p->r, &a->values, parse_expression(p, true));
}

static struct arguments *parse_arguments(struct parser *p)
{
	struct arguments *a = RUN_NEW(p->r, struct arguments);
	bool comma = false;

	expect_op(p, "(");
	while (!is_op(p, ")") && !p->r->failed) {
		if (comma) {
			expect_op(p, ",");
			if (is_op(p, ")"))
				break;
		}
		comma = true;
		p->r->line = p->at->line;
		if (take_op(p, "*")) {
			if (a->star || a->star_star)
				run_bad(p->r, "invalid syntax for function call expression");
			a->star = parse_expression(p, true);
		} else if (take_op(p, "**")) {
			if (a->star_star)
				run_bad(p->r, "invalid syntax for function call expression");
			a->star_star = parse_expression(p, true);
		} else if (p->at->kind == T_NAME && is(p->at + 1, T_OPERATOR, "=")) {
			const char *name = name_of(p);
			next(p);
			if (a->star_star)
				run_bad(p->r, "invalid syntax for function call expression");
			add_name(p, a, name);
		} else {
			if (a->star || a->star_star || a->values.count)
				run_bad(p->r, "invalid syntax for function call expression");
			nodes_add(p->r, &a->args, parse_expression(p, true));
		}
	}
	expect_op(p, ")");
	return a;
}

// What stands in [ ]: an expression, or a slice.
static struct node *parse_subscribed(struct parser *p)
{
	struct node *first = NULL, *n;

	if (!is_op(p, ":")) {
		first = parse_expression(p, true);
		if (!is_op(p, ":"))
			return first;
	}
	n = make(p, N_SLICE);
	next(p);
	n->a = first;
	if (!is_op(p, ":") && !is_op(p, "]") && !is_op(p, ","))
		n->b = parse_expression(p, true);
	if (take_op(p, ":") && !is_op(p, "]") && !is_op(p, ","))
		n->c = parse_expression(p, true);
	return n;
}

static struct node *parse_subscript(struct parser *p, struct node *of)
{
	struct node *n = make(p, N_ITEM);

	n->a = of;
	if (take_op(p, ".")) {
		if (p->at->kind == T_NAME) {
			n->kind = N_ATTR;
			n->name = name_of(p);
		} else if (p->at->kind == T_NUMBER) {
			n->b = parse_primary(p, false);
		} else {
			unexpected(p, "name or number");
		}
		return n;
	}
	expect_op(p, "[");
	struct nodes items = { 0 };
	while (!is_op(p, "]") && !p->r->failed) {
		if (items.count)
			expect_op(p, ",");
		nodes_add(p->r, &items, parse_subscribed(p));
	}
	expect_op(p, "]");
	n->b = items.count == 1 ? items.items[0] : make(p, N_TUPLE);
	if (items.count != 1)
		n->b->list = items;
	return n;
}

static struct node *parse_call(struct parser *p, struct node *of)
{
	struct node *n = make(p, N_CALL);

	n->a = of;
	n->arguments = parse_arguments(p);
	return n;
}

static const char *dotted_name(struct parser *p)
{
	const char *name = name_of(p);

	if (is_op(p, "."))
		run_bad(p->r, "No filter or test named '%s.'", name);
	return name;
}

static struct node *parse_filter(struct parser *p, struct node *of)
{
	struct node *n = make(p, N_FILTER);

	n->a = of;
	n->name = dotted_name(p);
	n->arguments = is_op(p, "(") ? parse_arguments(p) : RUN_NEW(p->r, struct arguments);
	return n;
}

static struct node *parse_postfix(struct parser *p, struct node *n)
{
	for (unsigned before = p->r->depth; !p->r->failed;) {
		if (is_op(p, ".") || is_op(p, "[")) {
			n = parse_subscript(p, n);
		} else if (is_op(p, "(")) {
			n = parse_call(p, n);
		} else {
			p->r->depth = before;
			break;
		}
		deeper(p);
	}
	return n;
}

static struct node *parse_test(struct parser *p, struct node *of)
{
	struct node *n = make(p, N_TEST);

	n->a = of;
	n->negated = take_name(p, "not");
	n->name = dotted_name(p);
	if (is_op(p, "(")) {
		n->arguments = parse_arguments(p);
		return n;
	}
	n->arguments = RUN_NEW(p->r, struct arguments);
	bool primary =
		p->at->kind == T_NAME || p->at->kind == T_STRING || p->at->kind == T_NUMBER || is_op(p, "[") || is_op(p, "{");
	if (!primary || is_name(p, "else") || is_name(p, "or") || is_name(p, "and"))
		return n;
	if (is_name(p, "is"))
		run_bad(p->r, "You cannot chain multiple tests with is");
	nodes_add(p->r, &n->arguments->args, parse_postfix(p, parse_primary(p, false)));
	return n;
}

static struct node *parse_unary(struct parser *p, bool filters)
{
	struct node *n;
	unsigned before = p->r->depth;

	if (!deeper(p))
		return make(p, N_CONST);
	if (is_op(p, "-") || is_op(p, "+")) {
		n = make(p, is_op(p, "-") ? N_NEG : N_POS);
		next(p);
		n->a = parse_unary(p, false);
	} else {
		n = parse_primary(p, false);
	}
	n = parse_postfix(p, n);
	while (filters && !p->r->failed) {
		if (take_op(p, "|"))
			n = parse_filter(p, n);
		else if (take_name(p, "is"))
			n = parse_test(p, n);
		else if (is_op(p, "("))
			n = parse_call(p, n);
		else
			break;
		deeper(p);
	}
	p->r->depth = before;
	return n;
}

// Operators of one strength, from the left; `next_one` reads what binds more tightly.
struct strength {
	const char *word[4];
	enum node_kind kind[4];
};

static struct node *parse_chain(struct parser *p, const struct strength *s, struct node *(*next_one)(struct parser *))
{
	unsigned before = p->r->depth;
	struct node *left = next_one(p);

	while (!p->r->failed) {
		size_t i = 0;
		while (i < 4 && s->word[i] && !is_op(p, s->word[i]) && !is_name(p, s->word[i]))
			i++;
		if (i == 4 || !s->word[i])
			break;
		next(p);
		left = make_two(p, s->kind[i], left, next_one(p));
		deeper(p);
	}
	p->r->depth = before;
	return left;
}

static struct node *parse_factor(struct parser *p)
{
	return parse_unary(p, true);
}

static struct node *parse_pow(struct parser *p)
{
	return parse_chain(p, &(struct strength){ { "**" }, { N_POW } }, parse_factor);
}

static struct node *parse_product(struct parser *p)
{
	return parse_chain(p, &(struct strength){ { "*", "/", "//", "%" }, { N_MUL, N_DIV, N_FLOORDIV, N_MOD } }, parse_pow);
}

static struct node *parse_concat(struct parser *p)
{
	struct node *first = parse_product(p), *n;

	if (!is_op(p, "~"))
		return first;
	n = make(p, N_CONCAT);
	nodes_add(p->r, &n->list, first);
	while (take_op(p, "~") && !p->r->failed)
		nodes_add(p->r, &n->list, parse_product(p));
	return n;
}

static struct node *parse_sum(struct parser *p)
{
	return parse_chain(p, &(struct strength){ { "+", "-" }, { N_ADD, N_SUB } }, parse_concat);
}

static struct node *parse_compare(struct parser *p)
{
	static const char *const words[] = { "==", "!=", "<", "<=", ">", ">=" };
	struct node *first = parse_sum(p), *n = NULL;
	uint8_t found[64];
	size_t count = 0;

	while (!p->r->failed) {
		size_t i = 0;
		while (i < 6 && !is_op(p, words[i]))
			i++;
		if (i == 6 && is_name(p, "in"))
			i = C_IN;
		else if (i == 6 && is_name(p, "not") && is(p->at + 1, T_NAME, "in"))
			i = C_NOT_IN;
		else if (i == 6)
			break;
		if (count == sizeof found) {
			run_bad(p->r, "a chain of more than 64 comparisons");
			break;
		}
		next(p);
		if (i == C_NOT_IN)
			next(p);
		if (!n) {
			n = make(p, N_COMPARE);
			n->a = first;
		}
		found[count++] = (uint8_t)i;
		nodes_add(p->r, &n->list, parse_sum(p));
	}
	if (!n)
		return first;
	n->operators = run_take(p->r, count, 1);
	memcpy(n->operators, found, count);
	return n;
}

static struct node *parse_not(struct parser *p)
{
	struct node *n;
	unsigned before = p->r->depth;

	if (!is_name(p, "not"))
		return parse_compare(p);
	n = make(p, N_NOT);
	next(p);
	if (deeper(p))
		n->a = parse_not(p);
	p->r->depth = before;
	return n;
}

static struct node *parse_and(struct parser *p)
{
	return parse_chain(p, &(struct strength){ { "and" }, { N_AND } }, parse_not);
}

static struct node *parse_or(struct parser *p)
{
	return parse_chain(p, &(struct strength){ { "or" }, { N_OR } }, parse_and);
}

static struct node *parse_expression(struct parser *p, bool conditional)
{
	unsigned before = p->r->depth;
	struct node *n;

	if (!deeper(p))
		return make(p, N_CONST);
	n = parse_or(p);
	while (conditional && !p->r->failed && is_name(p, "if")) {
		struct node *all = make(p, N_IF_ELSE);
		next(p);
		all->b = n;
		all->a = parse_or(p);
		if (take_name(p, "else"))
			all->c = parse_expression(p, true);
		n = all;
		deeper(p);
	}
	p->r->depth = before;
	return n;
}

// ---- statements -----------------------------------------------------------------------------------------------------------

static void check_target(struct parser *p, const struct node *n)
{
	if (n->kind == N_TUPLE)
		for (size_t i = 0; i < n->list.count; i++)
			check_target(p, n->list.items[i]);
	else if (n->kind != N_NAME && n->kind != N_NSREF)
		run_bad(p->r, "can't assign to what is no name");
}

static struct node *parse_target(struct parser *p, const char *end, bool namespaces)
{
	struct node *n = parse_tuple(p, true, true, end, false, namespaces);

	check_target(p, n);
	return n;
}

static const char *const ends_for[] = { "endfor", "else", NULL }, *const ends_if[] = { "elif", "else", "endif", NULL };

static void parse_until(struct parser *p, struct nodes *out, const char *end)
{
	const char *const ends[] = { end, NULL };

	parse_body(p, out, ends);
	next(p);
	expect_end(p);
}

static struct node *parse_for(struct parser *p)
{
	struct node *n = make(p, N_FOR);

	n->a = parse_target(p, "in", false);
	if (!take_name(p, "in"))
		unexpected(p, "in");
	n->b = parse_tuple(p, false, false, "recursive", false, false);
	if (take_name(p, "if"))
		n->c = parse_expression(p, true);
	n->recursive = take_name(p, "recursive");
	p->loops++;
	parse_body(p, &n->body, ends_for);
	p->loops--;
	if (take_name(p, "else"))
		parse_until(p, &n->other, "endfor");
	else {
		next(p);
		expect_end(p);
	}
	return n;
}

static struct node *parse_if(struct parser *p)
{
	struct node *first = make(p, N_IF), *n = first;

	for (;;) {
		n->a = parse_tuple(p, false, false, NULL, false, false);
		parse_body(p, &n->body, ends_if);
		if (p->r->failed)
			break;
		if (take_name(p, "elif")) { // as a list: a long chain is no deep tree
			struct node *other = make(p, N_IF);
			n->b = other;
			n = other;
			continue;
		}
		if (take_name(p, "else"))
			parse_until(p, &n->other, "endif");
		else {
			next(p);
			expect_end(p);
		}
		break;
	}
	return first;
}

static struct node *parse_set(struct parser *p)
{
	struct node *n = make(p, N_SET);

	n->a = parse_target(p, NULL, true);
	if (take_op(p, "=")) {
		n->b = parse_tuple(p, false, true, NULL, false, false);
		expect_end(p);
		return n;
	}
	n->kind = N_SET_BLOCK;
	while (take_op(p, "|") && !p->r->failed)
		n->b = parse_filter(p, n->b);
	parse_until(p, &n->body, "endset");
	return n;
}

static void parse_signature(struct parser *p, struct node *n)
{
	expect_op(p, "(");
	while (!is_op(p, ")") && !p->r->failed) {
		struct node *parameter;
		if (n->list.count)
			expect_op(p, ",");
		parameter = make(p, N_NAME);
		parameter->name = name_of(p);
		if (take_op(p, "="))
			nodes_add(p->r, &n->defaults, parse_expression(p, true));
		else if (n->defaults.count)
			run_bad(p->r, "non-default argument follows default argument");
		nodes_add(p->r, &n->list, parameter);
	}
	expect_op(p, ")");
}

static void parse_macro_body(struct parser *p, struct node *n, const char *end)
{
	size_t loops = p->loops;

	if (p->macro_count == CHAT_DEPTH_MOST) {
		run_bad(p->r, "macros that are nested too deeply");
		return;
	}
	p->macros[p->macro_count++] = n;
	p->loops = 0;
	parse_until(p, &n->body, end);
	p->loops = loops;
	p->macro_count--;
}

static struct node *parse_macro(struct parser *p)
{
	struct node *n = make(p, N_MACRO);

	n->name = name_of(p);
	parse_signature(p, n);
	parse_macro_body(p, n, "endmacro");
	return n;
}

static struct node *parse_call_block(struct parser *p)
{
	struct node *n = make(p, N_CALL_BLOCK);

	n->name = "caller";
	if (is_op(p, "("))
		parse_signature(p, n);
	n->a = parse_expression(p, true);
	if (n->a->kind != N_CALL)
		run_bad(p->r, "expected call");
	parse_macro_body(p, n, "endcall");
	return n;
}

static struct node *parse_filter_block(struct parser *p)
{
	struct node *n = make(p, N_FILTER_BLOCK);

	n->a = parse_filter(p, NULL);
	while (take_op(p, "|") && !p->r->failed)
		n->a = parse_filter(p, n->a);
	parse_until(p, &n->body, "endfilter");
	return n;
}

static struct node *parse_with(struct parser *p)
{
	struct node *n = make(p, N_WITH);

	while (p->at->kind != T_BLOCK_END && !p->r->failed) {
		if (n->list.count)
			expect_op(p, ",");
		nodes_add(p->r, &n->list, parse_target(p, NULL, false));
		expect_op(p, "=");
		nodes_add(p->r, &n->defaults, parse_expression(p, true));
	}
	parse_until(p, &n->body, "endwith");
	return n;
}

static struct node *parse_print(struct parser *p)
{
	struct node *n = make(p, N_OUTPUT);

	while (p->at->kind != T_BLOCK_END && !p->r->failed) {
		if (n->list.count)
			expect_op(p, ",");
		nodes_add(p->r, &n->list, parse_expression(p, true));
	}
	expect_end(p);
	return n;
}

// break and continue act on a loop of the same macro.
static struct node *parse_jump(struct parser *p, enum node_kind kind)
{
	struct node *n = make(p, kind);

	if (!p->loops)
		run_bad(p->r, "break or continue outside of a loop");
	expect_end(p);
	return n;
}

static struct node *parse_generation(struct parser *p)
{
	struct node *n = make(p, N_SCOPE);

	parse_macro_body(p, n, "endgeneration");
	return n;
}

static struct node *parse_statement(struct parser *p)
{
	static const char *const refused[] = { "extends", "block", "include", "import", "from", "autoescape" };

	p->r->line = p->at->line;
	if (take_name(p, "for"))
		return parse_for(p);
	if (take_name(p, "if"))
		return parse_if(p);
	if (take_name(p, "set"))
		return parse_set(p);
	if (take_name(p, "macro"))
		return parse_macro(p);
	if (take_name(p, "call"))
		return parse_call_block(p);
	if (take_name(p, "filter"))
		return parse_filter_block(p);
	if (take_name(p, "with"))
		return parse_with(p);
	if (take_name(p, "print"))
		return parse_print(p);
	if (take_name(p, "break"))
		return parse_jump(p, N_BREAK);
	if (take_name(p, "continue"))
		return parse_jump(p, N_CONTINUE);
	if (take_name(p, "generation"))
		return parse_generation(p);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (is_name(p, refused[i]))
			run_fail(
				p->r, STATUS_UNSUPPORTED, "the tag %s is not supported: a chat template is one file", refused[i]);
	unexpected(p, "a tag that Jinja has");
	return make(p, N_OUTPUT);
}

// Statements up to a block that begins with one of `ends`, the lexeme that is read next (NULL: to the end of the template).
// Reads the end of the block that stands before them.
static void parse_body(struct parser *p, struct nodes *out, const char *const *ends)
{
	unsigned before = p->r->depth;

	if (ends) {
		take_op(p, ":");
		expect_end(p);
	}
	if (!deeper(p))
		return;
	while (!p->r->failed) {
		if (p->at->kind == T_END) {
			if (ends)
				unexpected(p, ends[0]);
			break;
		}
		if (p->at->kind == T_DATA) {
			struct node *n = make(p, N_DATA);
			n->value = p->at->value;
			nodes_add(p->r, out, n);
			next(p);
		} else if (p->at->kind == T_VAR_BEGIN) {
			struct node *n = make(p, N_OUTPUT);
			next(p);
			nodes_add(p->r, &n->list, parse_tuple(p, false, true, NULL, false, false));
			if (p->at->kind != T_VAR_END)
				unexpected(p, "}}");
			next(p);
			nodes_add(p->r, out, n);
		} else {
			next(p); // {%
			for (size_t i = 0; ends && ends[i]; i++) {
				if (is_name(p, ends[i])) {
					p->r->depth = before;
					return;
				}
			}
			nodes_add(p->r, out, parse_statement(p));
		}
	}
	p->r->depth = before;
}

void chat_parse(struct run *r, const struct lexeme *lexemes, size_t count, struct nodes *out)
{
	struct parser p = { .r = r, .at = lexemes };

	if (count && !r->failed)
		parse_body(&p, out, NULL);
	r->depth = 0;
}
