// SPDX-License-Identifier: Apache-2.0
// Values, trees and a run of a template. Private to chat/.
//
// Errors are sticky: the first one is kept in the run, what comes after it computes nothing and is thrown away. Loops end when
// run.failed is set, and what is built then may be empty.
#ifndef ASSAY_CHAT_INSIDE_H
#define ASSAY_CHAT_INSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "chat/chat.h"

// ---- values ---------------------------------------------------------------------------------------------------------------

enum value_kind {
	V_MISSING, // an argument that was not given
	V_UNDEFINED,
	V_NONE,
	V_BOOL,
	V_INT, // of 64 bits; what does not fit is refused
	V_FLOAT,
	V_STRING, // UTF-8, not NUL-terminated
	V_LIST,
	V_TUPLE,
	V_GENERATOR, // what map, select, items give: made at once, read once
	V_VIEW,      // keys(), values(), items() of a mapping
	V_DICT,
	V_NAMESPACE,
	V_RANGE,
	V_LOOP,
	V_MACRO,
	V_FUNCTION, // raise_exception, range, ...
	V_METHOD,   // of a value
};

struct value {
	enum value_kind kind;
	union {
		bool b;
		int64_t i;
		double f;
		struct {
			const char *s; // V_UNDEFINED: the sentence about it
			size_t n;
		};
		struct list *list;
		struct dict *dict;
		struct range *range;
		struct loop *loop;
		struct macro *macro;
		const struct function *function;
		struct method *method;
	};
};

struct list {
	struct value *items;
	size_t count, room;
	const char *name; // V_VIEW: "dict_keys"
	bool spent;       // V_GENERATOR
};
struct pair {
	struct value key, value;
};
struct dict { // in the order of insertion
	struct pair *pairs;
	size_t count, room;
	uint32_t *slots; // index of a pair + 1; 0: free. NULL below 8 pairs
	size_t slot_count;
};
struct range {
	int64_t start, stop, step;
	size_t count;
};
struct loop {
	const struct list *items;
	size_t index;
	int64_t depth;
	const struct node *node; // a recursive loop's, to be called
	struct scope *scope;
	struct value *changed; // what loop.changed was last given, a tuple
};
struct macro {
	const struct node *node;
	struct scope *scope; // where it was defined
};
struct named {
	const char *name;
	size_t n;
	struct value value;
};
struct call { // arguments
	struct value *args;
	size_t count;
	struct named *named;
	size_t named_count;
};
struct run;
struct function { // a row of a table: a function, filter, test or method
	const char *name;
	const char *params; // "width=80 first": names, with = where there is a default; NULL: takes the call as it is
	// self: the value that is filtered, tested or has the method; p: by the order of params, V_MISSING where not given.
	struct value (*call)(struct run *r, struct value self, const struct value *p, const struct call *c);
};
struct method {
	struct value self;
	const struct function *function;
};

// ---- trees ----------------------------------------------------------------------------------------------------------------

enum node_kind {
	// expressions
	N_CONST,
	N_NAME,
	N_LIST,
	N_TUPLE,
	N_DICT,
	N_ATTR,
	N_ITEM,
	N_SLICE,
	N_CALL,
	N_FILTER,
	N_TEST,
	N_NOT,
	N_NEG,
	N_POS,
	N_AND,
	N_OR,
	N_IF_ELSE,
	N_CONCAT,
	N_COMPARE,
	N_ADD,
	N_SUB,
	N_MUL,
	N_DIV,
	N_FLOORDIV,
	N_MOD,
	N_POW,
	N_NSREF,
	// statements
	N_DATA,
	N_OUTPUT,
	N_FOR,
	N_IF,
	N_SET,
	N_SET_BLOCK,
	N_MACRO,
	N_CALL_BLOCK,
	N_FILTER_BLOCK,
	N_WITH,
	N_SCOPE,
	N_BREAK,
	N_CONTINUE,

};

struct nodes {
	struct node **items;
	size_t count, room;
};
struct arguments {
	struct nodes args, values; // values: of the names
	const char **names;
	size_t names_room;
	struct node *star, *star_star;
};
struct node {
	enum node_kind kind;
	unsigned line;
	uint32_t uses; // N_MACRO, N_CALL_BLOCK: USES_*
	bool recursive, negated;
	const char *name;      // NUL-terminated: variable, attribute, filter, test, macro; of N_NSREF the namespace
	const char *attribute; // N_NSREF
	struct value value;    // N_CONST, N_DATA
	struct node *a, *b, *c;
	struct nodes list;     // items; of N_DICT keys and values in turn; parameters; N_COMPARE's operands
	struct nodes defaults; // of the last parameters; N_WITH's values
	struct nodes body, other;
	struct arguments *arguments;
	uint8_t *operators; // N_COMPARE: enum comparison
};
enum { USES_CALLER = 1, USES_KWARGS = 2, USES_VARARGS = 4 };
enum comparison { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_IN, C_NOT_IN };

// ---- a run ----------------------------------------------------------------------------------------------------------------

struct build { // a text that grows, in the run's arena
	struct run *r;
	char *data;
	size_t length, room;
};
struct binding {
	struct binding *next;
	const char *name;
	struct value value;
};
struct scope {
	struct scope *parent;
	struct binding *bindings;
};
struct run {
	struct arena *a;
	const char *name;
	struct error *err;
	enum status failed; // STATUS_OK: not yet
	unsigned line;      // of the statement or expression that is looked at
	size_t memory, steps;
	unsigned depth;
	time_t now;
	struct build *out; // where statements write
	struct scope *top;
	struct dict *variables;
};

// The first of them is kept. Every %s is shown by visible.h. Gives undefined.
struct value run_fail(struct run *r, enum status s, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define run_bad(r, ...) run_fail((r), STATUS_BAD_INPUT, __VA_ARGS__)
// Zeroed. NULL, and failed, beyond the bound; pieces of up to 1 KiB are given even then.
void *run_take(struct run *r, size_t count, size_t size);
#define RUN_NEW(r, type) ((type *)run_take((r), 1, sizeof(type)))
// False, and failed, beyond the bound. Whatever goes over a text, a list or a chain of names pays for it, before it does.
bool run_step(struct run *r, size_t nbytes);
// The same of a text that is looked at a character at a time; what is no text costs a step.
bool run_characters(struct run *r, struct value v);
bool run_deeper(struct run *r);

void build_add(struct build *b, const char *s, size_t n);
void build_text(struct build *b, const char *s);
void build_code(struct build *b, uint32_t code);
void build_format(struct build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct value build_value(const struct build *b);
#define BUILD(run) ((struct build){ .r = (run) })

// ---- value.c --------------------------------------------------------------------------------------------------------------

struct value value_string(const char *s, size_t n);
struct value value_of_text(const char *s); // NUL-terminated
struct value value_bool(bool b);
struct value value_int(int64_t i);
struct value value_float(double f);
struct value value_undefined(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct value value_list(struct run *r, enum value_kind kind);
int64_t range_at(const struct range *range, size_t i); // item i, below count
void list_add(struct run *r, struct list *l, struct value v);
struct value value_pair(struct run *r, struct value a, struct value b); // a tuple
struct value value_dict(struct run *r, enum value_kind kind);
void dict_set(struct run *r, struct dict *d, struct value key, struct value v);
// NULL: not there. A key that cannot be one fails.
struct value *dict_get(struct run *r, const struct dict *d, struct value key);
struct value *dict_text(struct run *r, const struct dict *d, const char *key, size_t n);
struct value value_json(struct run *r, const json_t *from);

bool is_text(struct value v, const char *s);
bool value_true(struct value v);
bool value_equal(struct run *r, struct value a, struct value b);
int value_order(struct run *r, struct value a, struct value b, const char *sign); // <0, 0, >0; fails where there is none; 2: NaN
bool value_in(struct run *r, struct value item, struct value in);
bool value_number(struct value v, double *f);              // bool, int, float
bool value_integer(struct value v, int64_t *i);            // bool, int
const char *value_type(struct value v);                    // "str"
struct value value_iterate(struct run *r, struct value v); // a list; fails where v has no items
bool value_length(struct value v, size_t *n);
struct value value_str(struct run *r, struct value v); // a string, as str() has it
void value_write(struct build *b, struct value v);     // the same
void value_repr(struct build *b, struct value v);
void value_float_text(struct build *b, double f);
struct tojson {
	bool ascii, sort, pretty;
	struct value indent; // a string
	struct value item, key;
};
void value_tojson(struct build *b, struct value v, const struct tojson *how, unsigned level);

// ---- the rest -------------------------------------------------------------------------------------------------------------

enum token_kind { T_END, T_DATA, T_VAR_BEGIN, T_VAR_END, T_BLOCK_BEGIN, T_BLOCK_END, T_NAME, T_STRING, T_NUMBER, T_OPERATOR };
struct lexeme {
	enum token_kind kind;
	unsigned line;
	struct value value; // a text: T_DATA, T_NAME, T_OPERATOR; what was written: T_STRING, T_NUMBER
};
// Ends with T_END; empty when it failed.
struct lexeme *chat_lex(struct run *r, const char *source, size_t nbytes, size_t *count);
// Texts beside each other are one; *at goes behind them.
struct value chat_string(struct run *r, const struct lexeme **at);
struct value chat_number(struct run *r, const struct lexeme *at);
void chat_parse(struct run *r, const struct lexeme *lexemes, size_t count, struct nodes *out);
void nodes_add(struct run *r, struct nodes *n, struct node *node);

void chat_execute(struct run *r, const struct nodes *body);
struct value run_call(struct run *r, struct value callee, const struct call *c);
// Arguments by a function's params into p (16 of them).
enum { PARAMS_MOST = 16 };
bool run_bind(struct run *r, const struct function *f, const struct call *c, struct value *p);
struct value run_function(struct run *r, const struct function *f, struct value self, const struct call *c);
struct value get_attribute(struct run *r, struct value v, const char *name, size_t n);
struct value get_item(struct run *r, struct value v, struct value key);
struct value get_slice(struct run *r, struct value v, struct value start, struct value stop, struct value step);
bool run_test(struct run *r, const char *name, struct value v, const struct call *c);
struct value run_filter(struct run *r, const char *name, struct value v, const struct call *c);
struct value run_mod(struct run *r, struct value format, struct value args); // "%s" % args

const struct function *method_find(struct value v, const char *name, size_t n);
// A method that Python's type has and that is not there, or that changes the value.
bool method_refused(struct value v, const char *name, size_t n, bool *changes);
extern const struct function global_functions[];
extern const struct function chat_filters[], chat_tests[];

struct capital {
	uint32_t code;
	const char *upper, *title;
};
extern const struct capital capital_table[];
extern const size_t capital_count;
bool is_space(uint32_t code);
struct value text_strip(struct run *r, struct value v, struct value chars, bool left, bool right);
struct value text_upper(struct run *r, struct value v);
struct value text_lower(struct run *r, struct value v);
struct value text_capitalize(struct run *r, struct value v);
struct value text_replace(struct run *r, struct value v, struct value from, struct value to, int64_t most);
struct value text_join(struct run *r, struct value between, struct value items, bool strict);
bool text_is_case(struct value v, bool upper);
size_t text_find(struct run *r, const char *s, size_t n, struct value what); // SIZE_MAX: not there

#endif
