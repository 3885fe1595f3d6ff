// SPDX-License-Identifier: Apache-2.0
// The graph's book-keeping: values, nodes, scopes, names, symbols, the sticky error, and what is left at the end.
// Operations are in op*.c and fused.c, the protobuf in write.c.
#include "onnx/half.h"
#include "onnx/inside.h"
#include "onnx/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------- life

void *graph_grow(void *items, int count, int *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	int wanted = *capacity ? *capacity * 2 : 64;
	void *more = realloc(items, (size_t)wanted * size);
	if (!more)
		abort();
	*capacity = wanted;
	return more;
}

struct graph *graph_new(const struct graph_form *form)
{
	struct graph *g = calloc(1, sizeof *g);
	if (!g)
		abort();
	if (form)
		g->form = *form;
	g->opset = OPSET_LEAST;
	g->values = graph_grow(g->values, 0, &g->value_capacity, sizeof *g->values);
	memset(&g->values[0], 0, sizeof g->values[0]);
	g->value_count = 1;
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->values);
	free(g->nodes);
	free(g->symbols);
	free(g->symbol_values);
	free(g->bodies);
	free(g->inputs);
	free(g->outputs);
	free(g->constants);
	free(g->left_out);
	free(g->name_slots);
	free(g->names);
	free(g->constant_slots);
	free(g->node_slots);
	text_done(&g->scope);
	arena_done(&g->arena);
	free(g);
}

struct arena *graph_arena(struct graph *g)
{
	return &g->arena;
}

const struct graph_form *graph_get_form(const struct graph *g)
{
	return &g->form;
}

// ---------------------------------------------------------------------------------------------------- errors and scopes

void graph_fail(struct graph *g, enum status s, const char *format, ...)
{
	if (g->failed)
		return;
	va_list ap;
	va_start(ap, format);
	char *text = arena_vprintf(&g->arena, format, ap);
	va_end(ap);
	g->failed = true;
	if (g->scope.length)
		error_set(&g->error, s, "%s: %s", text_get(&g->scope), text);
	else
		error_set(&g->error, s, "%s", text);
}

void graph_limit(struct graph *g, int64_t values)
{
	g->values_most = values;
}

void graph_set_layers(struct graph *g, int64_t layers)
{
	g->layers = layers;
}

// Counts bytes; false when they are more than `most`.
static bool count_numbers(struct graph *g, size_t *all, size_t nbytes, size_t most, const char *before, const char *after)
{
	if (nbytes > most - *all)
		graph_fail(g, STATUS_UNSUPPORTED, "%stables of more than %zu MiB%s: the configuration's sizes are no model's",
			before, most >> 20, after);
	else
		*all += nbytes;
	return !g->failed;
}

// Of numbers that stay in the graph.
static bool take_numbers(struct graph *g, size_t nbytes)
{
	return count_numbers(g, &g->numbers_nbytes, nbytes, GRAPH_NUMBERS_MOST, "", " inside the graph");
}

// Of numbers that are made and looked at, though a layer before may have had the same.
static bool look_at_numbers(struct graph *g, size_t nbytes)
{
	return count_numbers(g, &g->looked_nbytes, nbytes, GRAPH_LOOKED_MOST, "all layers together make ", "");
}

void *graph_table(struct graph *g, struct arena *a, int64_t rows, int64_t columns, size_t size)
{
	size_t nbytes;
	if (g->failed)
		return NULL;
	if (rows < 0 || columns < 0 || __builtin_mul_overflow((size_t)rows, (size_t)columns, &nbytes) ||
		__builtin_mul_overflow(nbytes, size, &nbytes))
		nbytes = SIZE_MAX;
	if (!take_numbers(g, nbytes) || !look_at_numbers(g, nbytes))
		return NULL;
	if (a) // it passes: only what becomes a constant stays
		g->numbers_nbytes -= nbytes;
	return arena_alloc(a ? a : &g->arena, nbytes);
}

void graph_assume(struct graph *g, graph_value v, int axis, int64_t dim)
{
	if (!graph_alive(g, v))
		return;
	int64_t *known = &VALUE(g, v)->dim[graph_axis(g, v, axis)];
	if (*known < 0)
		*known = dim;
	else if (dim >= 0 && *known != dim)
		graph_fail(g, STATUS_FAILED, "a dimension of %lld was taken for %lld", (long long)*known, (long long)dim);
}

bool graph_failed(const struct graph *g)
{
	return g->failed;
}

bool graph_alive(struct graph *g, graph_value v)
{
	if (g->failed)
		return false;
	if (v.id <= 0 || v.id >= g->value_count) {
		graph_fail(g, STATUS_FAILED, "an operation was given no value");
		return false;
	}
	return true;
}

void graph_enter(struct graph *g, const char *format, ...)
{
	if (g->scope_depth == (int)(sizeof g->scope_ends / sizeof g->scope_ends[0])) {
		graph_fail(g, STATUS_FAILED, "scopes are nested too deep");
		return;
	}
	g->scope_ends[g->scope_depth++] = g->scope.length;
	if (g->failed) // nothing more gets a name
		return;
	va_list ap;
	va_start(ap, format);
	if (g->scope.length)
		text_add(&g->scope, "/");
	text_addv(&g->scope, format, ap);
	va_end(ap);
}

void graph_leave(struct graph *g)
{
	if (!g->scope_depth)
		return;
	g->scope.length = g->scope_ends[--g->scope_depth];
	if (g->scope.data)
		g->scope.data[g->scope.length] = 0;
}

// ---------------------------------------------------------------------------------------------------- names

// The table of slots, twice as large once it is half full. A slot keeps its hash: growing and passing by look at nothing else.
static void slots_grow(struct slot **slots, size_t *slot_count, size_t count)
{
	if (count * 2 < *slot_count)
		return;
	size_t wanted = *slot_count ? *slot_count * 2 : 1024;
	struct slot *more = calloc(wanted, sizeof *more);
	if (!more)
		abort();
	for (size_t i = 0; i < *slot_count; i++) {
		size_t at = (*slots)[i].hash & (wanted - 1);
		if (!(*slots)[i].index)
			continue;
		while (more[at].index)
			at = (at + 1) & (wanted - 1);
		more[at] = (*slots)[i];
	}
	free(*slots);
	*slots = more;
	*slot_count = wanted;
}

// Index of `name` in g->names, added when it is new.
static size_t name_index(struct graph *g, const char *name, size_t length)
{
	slots_grow(&g->name_slots, &g->name_slot_count, g->name_count);
	uint32_t hash = (uint32_t)splitmix64(fnv1a64(name, length), 0);
	size_t at = hash & (g->name_slot_count - 1);
	for (; g->name_slots[at].index; at = (at + 1) & (g->name_slot_count - 1)) {
		const struct name *n = &g->names[g->name_slots[at].index - 1];
		if (g->name_slots[at].hash == hash && n->length == length && !memcmp(n->text, name, length))
			return g->name_slots[at].index - 1;
	}
	if (g->name_count == g->name_capacity) {
		g->name_capacity = g->name_capacity ? g->name_capacity * 2 : 512;
		g->names = realloc(g->names, g->name_capacity * sizeof *g->names);
		if (!g->names)
			abort();
	}
	g->names[g->name_count] = (struct name){ .text = arena_strndup(&g->arena, name, length), .length = length };
	g->name_slots[at] = (struct slot){ hash, (uint32_t)g->name_count + 1 };
	return g->name_count++;
}

// "SCOPE/WORD", then "SCOPE/WORD_1", ...; put together in g->scope, which is as before afterwards.
static const char *name_unique(struct graph *g, const char *word)
{
	size_t scope = g->scope.length;
	if (scope)
		text_add(&g->scope, "/");
	text_add(&g->scope, word);
	size_t wanted = g->scope.length, first = name_index(g, g->scope.data, wanted), i = first;
	for (int number = g->names[first].uses; g->names[i].uses; number++) {
		g->scope.length = wanted;
		text_addf(&g->scope, "_%d", number);
		i = name_index(g, g->scope.data, g->scope.length);
	}
	g->scope.length = scope;
	g->scope.data[scope] = 0;
	g->names[i].uses++;
	if (i != first)
		g->names[first].uses++;
	return g->names[i].text;
}

// A name that must be exactly this.
static const char *name_take(struct graph *g, const char *name)
{
	size_t i = name_index(g, name, strlen(name));
	if (g->names[i].uses++)
		graph_fail(g, STATUS_FAILED, "the name %s is used twice", name);
	return g->names[i].text;
}

// ---------------------------------------------------------------------------------------------------- values

static graph_value value_add(struct graph *g, enum value_kind kind, const char *name, enum dtype t, int rank, const int64_t *dim)
{
	if (rank < 0 || rank > TENSOR_MAX_RANK) {
		graph_fail(g, STATUS_FAILED, "%s: rank %d", name, rank);
		return NO_VALUE;
	}
	for (int i = 0; i < rank; i++)
		if (dim[i] < -(int64_t)g->symbol_count) {
			graph_fail(g, STATUS_FAILED, "%s: dimension %d is %lld, which is neither a length nor a symbol", name, i,
				(long long)dim[i]);
			return NO_VALUE;
		}
	if (g->values_most && g->value_count >= g->values_most) {
		graph_fail(g, STATUS_UNSUPPORTED, "a graph of more than %lld values: no model of this kind has so many",
			(long long)g->values_most);
		return NO_VALUE;
	}
	g->values = graph_grow(g->values, g->value_count, &g->value_capacity, sizeof *g->values);
	struct value_info *v = &g->values[g->value_count];
	*v = (struct value_info){ .kind = kind, .name = name, .dtype = t, .rank = rank };
	if (kind == VALUE_NODE || kind == VALUE_BODY)
		v->body = g->in_body;
	if (rank)
		memcpy(v->dim, dim, (size_t)rank * sizeof *dim);
	return (graph_value){ g->value_count++ };
}

graph_value graph_input(struct graph *g, const char *name, enum dtype t, int rank, const int64_t *dim)
{
	if (g->failed)
		return NO_VALUE;
	graph_value v = value_add(g, VALUE_INPUT, name_take(g, name), t, rank, dim);
	if (g->failed)
		return NO_VALUE;
	g->inputs = graph_grow(g->inputs, g->input_count, &g->input_capacity, sizeof *g->inputs);
	g->inputs[g->input_count++] = v.id;
	return v;
}

static graph_value external_again(struct graph *g, graph_value v, enum dtype t, int rank, const int64_t *dim)
{
	const struct value_info *i = VALUE(g, v);

	if (i->dtype == t && i->rank == rank && !memcmp(i->dim, dim, (size_t)rank * sizeof *dim))
		return v;
	graph_fail(
		g, STATUS_FAILED, "%s is taken for %s%s", graph_value_text(g, v), dtype_word(t), graph_shape_text(g, rank, dim));
	return NO_VALUE;
}

graph_value graph_external(struct graph *g, const char *name, enum dtype t, int rank, const int64_t *dim, const char *location,
	uint64_t offset, uint64_t nbytes)
{
	if (g->failed)
		return NO_VALUE;
	// The same tensor may be read twice (tied weights): it is one initializer.
	size_t i = name_index(g, name, strlen(name));
	struct name *n = &g->names[i];
	if (n->value)
		return external_again(g, (graph_value){ n->value }, t, rank, dim);
	if (n->uses++)
		graph_fail(g, STATUS_FAILED, "the name %s is used twice", name);
	graph_value v = value_add(g, VALUE_EXTERNAL, n->text, t, rank, dim);
	if (g->failed)
		return NO_VALUE;
	n->value = v.id;
	VALUE(g, v)->location = arena_strdup(&g->arena, location);
	VALUE(g, v)->offset = offset;
	VALUE(g, v)->nbytes = nbytes;
	return v;
}

static uint64_t constant_hash(const struct tensor *c)
{
	uint64_t hash = fnv1a64(c->dim, (size_t)c->rank * sizeof *c->dim) ^ (uint64_t)c->dtype, word;
	size_t words = c->nbytes / sizeof word;

	for (size_t i = 0; i < words; i++) {
		memcpy(&word, (const char *)c->data + i * sizeof word, sizeof word);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	return splitmix64(hash, fnv1a64((const char *)c->data + words * sizeof word, c->nbytes % sizeof word));
}

static bool constant_equal(const struct tensor *a, const struct tensor *b)
{
	return a->dtype == b->dtype && a->rank == b->rank && a->nbytes == b->nbytes &&
		!memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) && !memcmp(a->data, b->data, a->nbytes);
}

// Where this constant stands in the table, or the free place where it belongs.
static uint32_t *constant_slot(struct graph *g, const struct tensor *c)
{
	if ((size_t)g->constant_count * 2 >= g->constant_slot_count) {
		size_t wanted = g->constant_slot_count ? g->constant_slot_count * 2 : 256;
		uint32_t *slots = calloc(wanted, sizeof *slots);
		if (!slots)
			abort();
		for (int i = 0; i < g->constant_count; i++) {
			size_t at = constant_hash(g->values[g->constants[i]].constant) & (wanted - 1);
			while (slots[at])
				at = (at + 1) & (wanted - 1);
			slots[at] = (uint32_t)i + 1;
		}
		free(g->constant_slots);
		g->constant_slots = slots;
		g->constant_slot_count = wanted;
	}
	size_t at = constant_hash(c) & (g->constant_slot_count - 1);
	while (g->constant_slots[at] && !constant_equal(g->values[g->constants[g->constant_slots[at] - 1]].constant, c))
		at = (at + 1) & (g->constant_slot_count - 1);
	return &g->constant_slots[at];
}

graph_value graph_constant(struct graph *g, enum dtype t, int rank, const int64_t *dim, const void *data)
{
	if (g->failed)
		return NO_VALUE;
	size_t count;
	if (!tensor_count(rank, dim, &count) || !dtype_size(t)) {
		graph_fail(g, STATUS_FAILED, "a constant needs a type and known dimensions");
		return NO_VALUE;
	}
	if (!look_at_numbers(g, count * dtype_size(t)))
		return NO_VALUE;
	// Only read.
	struct tensor wanted = { .dtype = t, .rank = rank, .nbytes = count * dtype_size(t), .data = (void *)(uintptr_t)data };
	if (rank)
		memcpy(wanted.dim, dim, (size_t)rank * sizeof *dim);
	uint32_t *slot = constant_slot(g, &wanted);
	if (*slot)
		return (graph_value){ g->constants[*slot - 1] };
	char word[64];
	snprintf(word, sizeof word, "constant.%d", g->constant_count);
	graph_value v =
		take_numbers(g, wanted.nbytes) ? value_add(g, VALUE_CONSTANT, name_take(g, word), t, rank, dim) : NO_VALUE;
	if (g->failed)
		return NO_VALUE;
	struct tensor *c = ARENA_NEW(&g->arena, struct tensor);
	*c = wanted;
	c->name = VALUE(g, v)->name;
	c->data = arena_alloc(&g->arena, wanted.nbytes + 1);
	memcpy(c->data, data, wanted.nbytes);
	VALUE(g, v)->constant = c;
	g->constants = graph_grow(g->constants, g->constant_count, &g->constant_capacity, sizeof *g->constants);
	g->constants[g->constant_count++] = v.id;
	*slot = (uint32_t)g->constant_count;
	return v;
}

graph_value graph_f32(struct graph *g, float x)
{
	return graph_constant(g, DTYPE_F32, 0, (int64_t[]){ 0 }, &x);
}

graph_value graph_i64(struct graph *g, int64_t x)
{
	return graph_constant(g, DTYPE_I64, 0, (int64_t[]){ 0 }, &x);
}

graph_value graph_i64s(struct graph *g, int count, const int64_t *x)
{
	return graph_constant(g, DTYPE_I64, 1, (int64_t[]){ count }, x);
}

enum dtype value_dtype(const struct graph *g, graph_value v)
{
	return g->values[v.id].dtype;
}

int value_rank(const struct graph *g, graph_value v)
{
	return g->values[v.id].rank;
}

int64_t value_dim(const struct graph *g, graph_value v, int axis)
{
	const struct value_info *i = &g->values[v.id];
	if (axis < 0)
		axis += i->rank;
	return axis >= 0 && axis < i->rank ? i->dim[axis] : 0;
}

const struct tensor *value_constant(const struct graph *g, graph_value v)
{
	return v.id ? g->values[v.id].constant : NULL;
}

int graph_axis(struct graph *g, graph_value v, int axis)
{
	int rank = value_rank(g, v), at = axis < 0 ? axis + rank : axis;
	if (at < 0 || at >= rank) {
		graph_fail(g, STATUS_FAILED, "%s has rank %d: there is no axis %d", graph_value_text(g, v), rank, axis);
		return 0;
	}
	return at;
}

bool graph_ints(const struct graph *g, graph_value v, int64_t *out, int max, int *count)
{
	const struct tensor *c = value_constant(g, v);
	if (!c || c->dtype != DTYPE_I64 || c->rank > 1)
		return false;
	int n = (int)(c->nbytes / sizeof *out);
	if (n > max)
		return false;
	memcpy(out, c->data, (size_t)n * sizeof *out);
	*count = n;
	return true;
}

// ---------------------------------------------------------------------------------------------------- nodes

static bool attribute_equal(const struct attribute *a, const struct attribute *b)
{
	if (!text_is(a->name, b->name) || a->kind != b->kind)
		return false;
	switch (a->kind) {
	case ATTRIBUTE_INT:
	case ATTRIBUTE_BODY:
		return a->i == b->i;
	case ATTRIBUTE_FLOAT:
		return !memcmp(&a->f, &b->f, sizeof a->f);
	case ATTRIBUTE_TEXT:
		return text_is(a->text, b->text);
	case ATTRIBUTE_INTS:
		return a->count == b->count && !memcmp(a->ints, b->ints, (size_t)a->count * sizeof *a->ints);
	}
	return false;
}

static bool node_equal(const struct node *n, int in_body, const struct operator* row, const graph_value *in, int in_count,
	const struct attribute *at, int at_count, int out_count)
{
	if (n->row != row || n->body != in_body || n->input_count != in_count || n->attribute_count != at_count ||
		n->output_count != out_count)
		return false;
	if (memcmp(n->inputs, in, (size_t)in_count * sizeof *in))
		return false;
	for (int i = 0; i < at_count; i++)
		if (!attribute_equal(&n->attributes[i], &at[i]))
			return false;
	return true;
}

static uint32_t node_hash(const struct operator* row, const graph_value *in, int in_count)
{
	uint64_t hash = (uint64_t)(row - operators);
	for (int i = 0; i < in_count; i++)
		hash = splitmix64(hash, (uint64_t)in[i].id);
	return (uint32_t)hash;
}

// The operator's row; NULL: the builder has none. The last one found is kept by the letters that set operators apart.
static const struct operator* row_of(struct graph *g, const char *op, const char *domain)
{
	size_t length = strlen(op);
	unsigned mixed =
		7u * (unsigned char)op[0] + 31u * (unsigned char)op[length / 2] + (unsigned char)op[length - (length > 0)];
	const struct operator** kept = & g->rows[(mixed + length) % (sizeof g->rows / sizeof *g->rows)];
	if (!*kept || !text_is((*kept)->name, op) || !text_is((*kept)->domain, domain))
		*kept = operator_find(op, domain);
	return *kept;
}

void graph_need_opset(struct graph *g, int opset)
{
	if (opset > OPSET_MOST) {
		graph_fail(
			g, STATUS_FAILED, "opset %d: the builder knows the forms of operators up to opset %d", opset, OPSET_MOST);
		return;
	}
	if (g->opset < opset)
		g->opset = opset;
}

// May the operator have this value as its input number i? `shared`: the type of those before that have one type together.
static bool input_fits(struct graph *g, const struct operator* o, const graph_value *inputs, int count, int i, enum dtype *shared)
{
	struct operator_input takes;

	if (!operator_input(o, i, &takes)) {
		graph_fail(
			g, STATUS_FAILED, "%s of %s: there is no input %d", o->name, graph_values_text(g, inputs, count), i + 1);
		return false;
	}
	if (i >= count || !inputs[i].id) {
		if (!takes.optional)
			graph_fail(g, STATUS_FAILED, "%s of %s: input %d is missing", o->name,
				graph_values_text(g, inputs, count), i + 1);
		return takes.optional;
	}
	enum dtype t = value_dtype(g, inputs[i]);
	if (!(takes.types >> t & 1)) {
		graph_fail(g, STATUS_FAILED, "%s of %s: it takes %s as input %d", o->name, graph_values_text(g, inputs, count),
			takes.words, i + 1);
		return false;
	}
	if (takes.shared && *shared && t != *shared) {
		graph_fail(g, STATUS_FAILED, "%s of %s: types differ", o->name, graph_values_text(g, inputs, count));
		return false;
	}
	if (takes.shared)
		*shared = t;
	return true;
}

static bool types_fit(struct graph *g, const struct operator* o, const graph_value *inputs, int count)
{
	enum dtype shared = DTYPE_NONE;
	int all = operator_inputs(o) > count ? operator_inputs(o) : count;

	for (int i = 0; i < all; i++)
		if (!input_fits(g, o, inputs, count, i, &shared))
			return false;
	return true;
}

// "NODE/WORD", of an output behind the first; "NODE/WORD_1" where one of that word is before it.
static const char *output_name(struct graph *g, const char *node, const struct node_output *outputs, int i)
{
	int before = 0;

	for (int k = 1; k < i; k++)
		before += text_is(outputs[k].word, outputs[i].word);
	return name_take(g,
		before ? arena_printf(&g->arena, "%s/%s_%d", node, outputs[i].word, before)
		       : arena_printf(&g->arena, "%s/%s", node, outputs[i].word));
}

bool graph_node_of(struct graph *g, const char *op, const char *domain, const graph_value *inputs, int input_count,
	const struct attribute *attributes, int attribute_count, const struct node_outputs *made)
{
	const struct node_output *outputs = made->outputs;
	const int output_count = made->count;
	graph_value *out = made->out;

	for (int i = 0; i < output_count; i++)
		out[i] = NO_VALUE;
	if (g->failed)
		return false;
	const struct operator* row = row_of(g, op, domain);
	if (!row) {
		graph_fail(g, STATUS_FAILED, "%s is not in the builder's list of operators (onnx/operator.h)", op);
		return false;
	}
	slots_grow(&g->node_slots, &g->node_slot_count, (size_t)g->node_count);
	uint32_t hash = node_hash(row, inputs, input_count);
	size_t at = hash & (g->node_slot_count - 1);
	for (; g->node_slots[at].index; at = (at + 1) & (g->node_slot_count - 1)) {
		const struct node *n = &g->nodes[g->node_slots[at].index - 1];
		if (g->node_slots[at].hash != hash ||
			!node_equal(n, g->in_body, row, inputs, input_count, attributes, attribute_count, output_count))
			continue;
		for (int i = 0; i < output_count; i++)
			out[i] = (graph_value){ n->outputs[i] };
		return true;
	}
	if (!types_fit(g, row, inputs, input_count))
		return false;
	if (!domain[0])
		graph_need_opset(g, row->opset);
	const char *name = name_unique(g, op);
	for (int i = 0; i < output_count; i++) {
		const struct node_output *o = &outputs[i];
		out[i] = value_add(g, VALUE_NODE, i ? output_name(g, name, outputs, i) : name, o->dtype, o->rank, o->dim);
	}
	if (g->failed)
		return false;
	g->nodes = graph_grow(g->nodes, g->node_count, &g->node_capacity, sizeof *g->nodes);
	struct node *n = &g->nodes[g->node_count];
	*n = (struct node){ .name = name,
		.row = row,
		.op = op,
		.domain = domain,
		.input_count = input_count,
		.attribute_count = attribute_count,
		.output_count = output_count,
		.body = g->in_body };
	n->inputs = ARENA_ARRAY(&g->arena, (size_t)input_count + 1, graph_value);
	memcpy(n->inputs, inputs, (size_t)input_count * sizeof *inputs);
	if (attribute_count)
		n->attributes = ARENA_ARRAY(&g->arena, (size_t)attribute_count, struct attribute);
	for (int i = 0; i < attribute_count; i++) {
		n->attributes[i] = attributes[i];
		n->attributes[i].text = arena_strdup(&g->arena, attributes[i].text);
		if (attributes[i].kind == ATTRIBUTE_INTS) {
			int64_t *ints = ARENA_ARRAY(&g->arena, (size_t)attributes[i].count + 1, int64_t);
			memcpy(ints, attributes[i].ints, (size_t)attributes[i].count * sizeof *ints);
			n->attributes[i].ints = ints;
		}
	}
	n->outputs = ARENA_ARRAY(&g->arena, (size_t)output_count + 1, int);
	for (int i = 0; i < output_count; i++) {
		n->outputs[i] = out[i].id;
		VALUE(g, out[i])->node = g->node_count;
	}
	g->node_slots[at] = (struct slot){ hash, (uint32_t)++g->node_count };
	return true;
}

graph_value graph_node(struct graph *g, const char *op, const char *domain, const graph_value *inputs, int input_count,
	const struct attribute *attributes, int attribute_count, struct node_output output)
{
	graph_value v;
	graph_node_of(g, op, domain, inputs, input_count, attributes, attribute_count, &(struct node_outputs){ 1, &output, &v });
	return v;
}

// ---------------------------------------------------------------------------------------------------- bodies

// Lengths that were read off in a body are that body's, and those around it are not for one that reads nothing there.
int graph_body_begin(struct graph *g, bool reads_around)
{
	if (g->in_body)
		graph_fail(g, STATUS_FAILED, "a body within a body");
	g->symbols_around = ARENA_ARRAY(&g->arena, (size_t)g->symbol_count + 1, graph_value);
	g->symbol_count_around = g->symbol_count;
	for (int i = 0; i < g->symbol_count; i++) {
		g->symbols_around[i] = g->symbol_values[i];
		g->symbol_values[i] = reads_around ? g->symbol_values[i] : NO_VALUE;
	}
	if (!g->body_count)
		g->body_count = 1;
	g->bodies = graph_grow(g->bodies, g->body_count, &g->body_capacity, sizeof *g->bodies);
	g->bodies[g->body_count] = (struct body){ .reads_around = reads_around };
	g->in_body = g->body_count++;
	return g->in_body;
}

graph_value graph_body_input(struct graph *g, const char *word, enum dtype t, int rank, const int64_t *dim)
{
	struct body *b = &g->bodies[g->in_body];

	if (g->failed || b->input_count == BODY_VALUES) {
		graph_fail(g, STATUS_FAILED, "a body takes at most %d values", BODY_VALUES);
		return NO_VALUE;
	}
	graph_value v = value_add(g, VALUE_BODY, name_unique(g, word), t, rank, dim);
	b->inputs[b->input_count++] = v.id;
	return v;
}

void graph_body_end(struct graph *g, const graph_value *outputs, int count)
{
	struct body *b = &g->bodies[g->in_body];

	for (int i = 0; i < count && !g->failed; i++) {
		graph_value v = outputs[i];
		const struct value_info o = *VALUE(g, v);
		bool is_own = o.kind == VALUE_NODE && o.body == g->in_body && b->output_count < BODY_VALUES;

		for (int k = 0; k < b->output_count; k++)
			is_own &= b->outputs[k] != v.id;
		if (!is_own) // as graph_output keeps two of one value apart
			v = graph_node(g, "Identity", "", &v, 1,
				(struct attribute[]){ ATTR_S("", arena_printf(&g->arena, "%d", i)) }, 1,
				NODE_OUTPUT(o.dtype, o.rank, o.dim));
		if (b->output_count == BODY_VALUES)
			graph_fail(g, STATUS_FAILED, "a body gives at most %d values", BODY_VALUES);
		else if (!g->failed)
			b->outputs[b->output_count++] = v.id;
	}
	g->in_body = 0;
	for (int i = 0; i < g->symbol_count; i++)
		g->symbol_values[i] = i < g->symbol_count_around ? g->symbols_around[i] : NO_VALUE;
}

static bool has_body(const struct node *n, int body)
{
	for (int k = 0; k < n->attribute_count; k++)
		if (n->attributes[k].kind == ATTRIBUTE_BODY && n->attributes[k].i == body)
			return true;
	return false;
}

bool graph_has_bodies(const struct node *n)
{
	for (int k = 0; k < n->attribute_count; k++)
		if (n->attributes[k].kind == ATTRIBUTE_BODY)
			return true;
	return false;
}

int graph_body_reads(const struct graph *g, const struct node *n, struct arena *a, int **out)
{
	bool *seen;
	int count = 0;

	*out = NULL;
	if (!graph_has_bodies(n))
		return 0;
	*out = ARENA_ARRAY(a, (size_t)g->value_count, int);
	seen = ARENA_ARRAY(a, (size_t)g->value_count, bool);
	for (const struct node *of = g->nodes; of < n; of++)
		for (int k = 0; of->live && of->body && has_body(n, of->body) && k < of->input_count; k++) {
			int id = of->inputs[k].id;

			if (!id || seen[id] || g->values[id].body == of->body || g->values[id].kind == VALUE_CONSTANT)
				continue;
			seen[id] = true;
			(*out)[count++] = id;
		}
	return count;
}

// ---------------------------------------------------------------------------------------------------- the end

void graph_output(struct graph *g, const char *name, graph_value v)
{
	if (!graph_alive(g, v))
		return;
	if (VALUE(g, v)->body) {
		graph_fail(g, STATUS_FAILED, "the output %s is %s, which is in a body", name, graph_value_text(g, v));
		return;
	}
	bool taken = VALUE(g, v)->kind != VALUE_NODE;
	for (int i = 0; i < g->output_count; i++)
		taken |= g->outputs[i] == v.id;
	if (taken) {
		struct value_info *i = VALUE(g, v);
		enum dtype t = i->dtype;
		int rank = i->rank;
		int64_t dim[TENSOR_MAX_RANK];
		memcpy(dim, i->dim, sizeof dim);
		// The attribute keeps two outputs of one value apart; Identity itself has none, so write.c leaves it out.
		v = graph_node(g, "Identity", "", &v, 1, (struct attribute[]){ ATTR_S("", name) }, 1, NODE_OUTPUT(t, rank, dim));
	}
	const char *taken_name = name_take(g, name);
	if (g->failed)
		return;
	VALUE(g, v)->name = taken_name;
	g->outputs = graph_grow(g->outputs, g->output_count, &g->output_capacity, sizeof *g->outputs);
	g->outputs[g->output_count++] = v.id;
}

static struct tensor_type *types_of(struct graph *g, const int *ids, int count)
{
	struct tensor_type *types = ARENA_ARRAY(&g->arena, (size_t)count + 1, struct tensor_type);
	for (int i = 0; i < count; i++) {
		const struct value_info *v = &g->values[ids[i]];
		types[i] = (struct tensor_type){ .name = v->name, .dtype = v->dtype, .rank = v->rank };
		for (int k = 0; k < v->rank; k++) {
			types[i].dim[k] = v->dim[k] < 0 ? -1 : v->dim[k];
			types[i].symbol[k] = graph_symbol_name(g, v->dim[k]);
		}
	}
	return types;
}

static bool is_any(const char *op, const char *const *list)
{
	while (*list && !text_is(op, *list))
		list++;
	return *list != NULL;
}

// An attribute of one number or of several becomes input number `at`: how an operation is told it in a later opset.
static void attribute_to_input(struct graph *g, struct node *n, const char *name, int at)
{
	for (int k = 0; k < n->attribute_count; k++) {
		if (!text_is(n->attributes[k].name, name))
			continue;
		graph_value *inputs = ARENA_ARRAY(&g->arena, (size_t)at + 1, graph_value);
		memcpy(inputs, n->inputs, (size_t)n->input_count * sizeof *inputs);
		const struct attribute *a = &n->attributes[k];
		inputs[at] = a->kind == ATTRIBUTE_INT ? graph_i64(g, a->i) : graph_i64s(g, a->count, a->ints);
		n->inputs = inputs;
		n->input_count = at + 1;
		n->attributes[k--] = n->attributes[--n->attribute_count];
	}
}

static void rename_mode(struct node *n)
{
	for (int k = 0; k < n->attribute_count; k++) {
		struct attribute *a = &n->attributes[k];

		if (text_is(a->name, "mode") && text_is(a->text, "bilinear"))
			a->text = "linear";
		else if (text_is(a->name, "mode") && text_is(a->text, "bicubic"))
			a->text = "cubic";
	}
}

// Operations that a later opset has in another form are built in that of OPSET_LEAST and changed here, when the opset is known:
// any operation may raise it, also one built later, and a family need not know which.
static void settle_forms(struct graph *g)
{
	static const char *const reductions[] = { "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2", NULL };

	for (int i = 0; i < g->node_count && !g->failed; i++) {
		struct node *n = &g->nodes[i];

		if (g->opset >= 18 && is_any(n->op, reductions))
			attribute_to_input(g, n, "axes", 1);
		if (g->opset >= 20 && text_is(n->op, "GridSample"))
			rename_mode(n);
		if (g->opset >= 20 && text_is(n->op, "DFT"))
			attribute_to_input(g, n, "axis", 2);
	}
	g->ir_version = g->opset >= 19 ? 9 : 8; // onnx/onnx, docs/Versioning.md
}

// Once more when all nodes stand, because what brings a graph to 16 bits changes inputs of nodes.
static void check_types(struct graph *g)
{
	for (int i = 0; i < g->node_count && !g->failed; i++) {
		const struct node *n = &g->nodes[i];

		if (!types_fit(g, n->row, n->inputs, n->input_count))
			error_prefix(&g->error, "%s", n->name);
	}
}

// Engines differ in what the body of a Scan may read of the graph around it: ours reads what it is given. And nothing outside
// reads a body's values.
static void check_bodies(struct graph *g)
{
	for (int i = 0; i < g->node_count && !g->failed; i++) {
		const struct node *n = &g->nodes[i];

		for (int k = 0; k < n->input_count && !g->failed; k++) {
			const struct value_info *v = VALUE(g, n->inputs[k]);

			if (n->inputs[k].id && v->body != n->body && v->kind != VALUE_CONSTANT && v->kind != VALUE_EXTERNAL &&
				!(n->body && !v->body && g->bodies[n->body].reads_around))
				graph_fail(g, STATUS_FAILED, "%s reads %s, which is %s", n->name,
					graph_value_text(g, n->inputs[k]),
					n->body ? "outside of its body and not given to it" : "in a body");
		}
	}
}

static void keep_body(struct graph *g, const struct body *b)
{
	for (int i = 0; i < b->output_count; i++)
		g->values[b->outputs[i]].live = true;
}

enum status graph_finish(struct graph *g, struct error *err)
{
	if (g->finished)
		return STATUS_OK;
	if (!g->failed && !g->output_count)
		graph_fail(g, STATUS_FAILED, "the graph has no output");
	if (!g->failed && g->scope_depth)
		graph_fail(g, STATUS_FAILED, "a scope was entered and not left");
	if (!g->failed && (g->form.precise.precision == PRECISION_FLOAT16 || g->form.precise.precision == PRECISION_BFLOAT16))
		graph_halve(g, g->form.precise.precision == PRECISION_FLOAT16 ? DTYPE_F16 : DTYPE_BF16);
	if (!g->failed)
		settle_forms(g);
	if (!g->failed)
		check_types(g);
	if (!g->failed)
		check_bodies(g);
	if (g->failed) {
		if (err)
			*err = g->error;
		return g->error.status;
	}
	for (int i = 0; i < g->output_count; i++)
		g->values[g->outputs[i]].live = true;
	for (int i = g->node_count; i-- > 0;) { // a node's inputs come before it
		struct node *n = &g->nodes[i];
		for (int k = 0; k < n->output_count; k++)
			n->live |= g->values[n->outputs[k]].live;
		for (int k = 0; n->live && k < n->attribute_count; k++)
			if (n->attributes[k].kind == ATTRIBUTE_BODY)
				keep_body(g, &g->bodies[n->attributes[k].i]);
		for (int k = 0; n->live && k < n->input_count; k++)
			g->values[n->inputs[k].id].live = n->inputs[k].id != 0;
	}
	g->input_types = types_of(g, g->inputs, g->input_count);
	g->output_types = types_of(g, g->outputs, g->output_count);
	g->finished = true;
	return STATUS_OK;
}

size_t graph_inputs(const struct graph *g, const struct tensor_type **out)
{
	*out = g->input_types;
	return (size_t)g->input_count;
}

const char *graph_input_symbol(const struct graph *g, size_t input, int axis)
{
	return graph_symbol_name(g, value_dim(g, (graph_value){ g->inputs[input] }, axis));
}

size_t graph_outputs(const struct graph *g, const struct tensor_type **out)
{
	*out = g->output_types;
	return (size_t)g->output_count;
}

void graph_summarise(const struct graph *g, struct graph_summary *out)
{
	*out = (struct graph_summary){ .opset = g->opset, .ir_version = g->ir_version };
	for (int i = 0; i < g->node_count; i++)
		if (g->nodes[i].live && !g->nodes[i].body) {
			out->node_count++;
			out->uses_microsoft |= text_is(g->nodes[i].domain, DOMAIN_MICROSOFT);
		}
	for (int i = 1; i < g->value_count; i++) {
		const struct value_info *v = &g->values[i];
		if (!v->live || (v->kind != VALUE_CONSTANT && v->kind != VALUE_EXTERNAL))
			continue;
		out->initializer_count++;
		if (v->kind == VALUE_CONSTANT)
			out->constant_nbytes += v->constant->nbytes;
		else
			out->external_nbytes += v->nbytes;
	}
}
