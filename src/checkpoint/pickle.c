// SPDX-License-Identifier: Apache-2.0
// The stack machine of pickle.h. Whatever the bytes are, the stack, the marks, the memo and all that is made stay within
// limits, and no step looks at more than its own arguments: there is no recursion.
#include "checkpoint/pickle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_LIMIT = 1 << 20, MARK_LIMIT = 1000, MEMO_LIMIT = 1 << 20, NAME_SHOWN = 100 };

// A checkpoint makes about 40 values a tensor and 200 bytes.
const struct pickle_budget pickle_budget_of_file = { .values = 3 << 19, .nbytes = 20 << 20 };

enum global_kind { G_DICT, G_TENSOR, G_TENSOR_V2, G_TENSOR_V3, G_PARAMETER, G_SIZE, G_DEVICE, G_STORAGE, G_DTYPE };

struct pickle_global {
	const char *module, *name;
	enum global_kind kind;
	enum dtype dtype;
};

// All that a pickle may ask for.
static const struct pickle_global globals[] = {
	{ "collections", "OrderedDict", G_DICT, DTYPE_NONE },
	{ "torch._utils", "_rebuild_tensor", G_TENSOR, DTYPE_NONE },
	{ "torch._utils", "_rebuild_tensor_v2", G_TENSOR_V2, DTYPE_NONE },
	{ "torch._utils", "_rebuild_tensor_v3", G_TENSOR_V3, DTYPE_NONE },
	{ "torch._utils", "_rebuild_parameter", G_PARAMETER, DTYPE_NONE },
	{ "torch", "Size", G_SIZE, DTYPE_NONE },
	{ "torch", "device", G_DEVICE, DTYPE_NONE },
	{ "torch", "FloatStorage", G_STORAGE, DTYPE_F32 },
	{ "torch", "DoubleStorage", G_STORAGE, DTYPE_F64 },
	{ "torch", "HalfStorage", G_STORAGE, DTYPE_F16 },
	{ "torch", "BFloat16Storage", G_STORAGE, DTYPE_BF16 },
	{ "torch", "LongStorage", G_STORAGE, DTYPE_I64 },
	{ "torch", "IntStorage", G_STORAGE, DTYPE_I32 },
	{ "torch", "ShortStorage", G_STORAGE, DTYPE_I16 },
	{ "torch", "CharStorage", G_STORAGE, DTYPE_I8 },
	{ "torch", "ByteStorage", G_STORAGE, DTYPE_U8 },
	{ "torch", "BoolStorage", G_STORAGE, DTYPE_BOOL },
	{ "torch.storage", "UntypedStorage", G_STORAGE, DTYPE_NONE },
	{ "torch", "UntypedStorage", G_STORAGE, DTYPE_NONE },
	{ "torch", "float32", G_DTYPE, DTYPE_F32 },
	{ "torch", "float64", G_DTYPE, DTYPE_F64 },
	{ "torch", "float16", G_DTYPE, DTYPE_F16 },
	{ "torch", "bfloat16", G_DTYPE, DTYPE_BF16 },
	{ "torch", "int64", G_DTYPE, DTYPE_I64 },
	{ "torch", "int32", G_DTYPE, DTYPE_I32 },
	{ "torch", "int16", G_DTYPE, DTYPE_I16 },
	{ "torch", "int8", G_DTYPE, DTYPE_I8 },
	{ "torch", "uint8", G_DTYPE, DTYPE_U8 },
	{ "torch", "uint16", G_DTYPE, DTYPE_U16 },
	{ "torch", "uint32", G_DTYPE, DTYPE_U32 },
	{ "torch", "uint64", G_DTYPE, DTYPE_U64 },
	{ "torch", "bool", G_DTYPE, DTYPE_BOOL },
	{ "torch", "float8_e4m3fn", G_DTYPE, DTYPE_F8_E4M3 },
	{ "torch", "float8_e5m2", G_DTYPE, DTYPE_F8_E5M2 },
};

struct machine {
	struct arena *a;
	const uint8_t *at, *begin, *end;
	struct pickle **stack, **memo;
	size_t depth, stack_capacity, memo_count, memo_capacity;
	uint32_t marks[MARK_LIMIT];
	size_t mark_count;
	struct pickle_budget *budget;
	const struct pickle_storage *storages;
	struct error *err;
};

// ---- memory -------------------------------------------------------------------------------------------------------------

static enum status spend(struct machine *m, size_t values)
{
	if (values > m->budget->values)
		return error_set(m->err, STATUS_BAD_INPUT, "its pickles make more than %zu values; no checkpoint does",
			pickle_budget_of_file.values);
	m->budget->values -= values;
	return STATUS_OK;
}

static enum status new_value(struct machine *m, enum pickle_kind kind, struct pickle **out)
{
	enum status s = spend(m, kind == PICKLE_STORAGE || kind == PICKLE_TENSOR ? 3 : 1); // these are larger
	if (s)
		return s;
	*out = ARENA_NEW(m->a, struct pickle);
	(*out)->kind = kind;
	return STATUS_OK;
}

static enum status grow(struct machine *m, struct pickle ***array, size_t *capacity, size_t wanted)
{
	if (wanted <= *capacity)
		return STATUS_OK;
	size_t n = *capacity ? *capacity * 2 : 256;
	if (n < wanted)
		n = wanted;
	struct pickle **more = realloc(*array, n * sizeof *more);
	if (!more)
		return error_set(m->err, STATUS_NO_MEMORY, "not enough memory for its pickle");
	memset(more + *capacity, 0, (n - *capacity) * sizeof *more);
	*array = more;
	*capacity = n;
	return STATUS_OK;
}

static enum status push(struct machine *m, struct pickle *p)
{
	if (m->depth == STACK_LIMIT)
		return error_set(m->err, STATUS_BAD_INPUT, "its pickle needs a stack of more than %d values", STACK_LIMIT);
	enum status s = grow(m, &m->stack, &m->stack_capacity, m->depth + 1);
	if (!s)
		m->stack[m->depth++] = p;
	return s;
}

static enum status push_new(struct machine *m, enum pickle_kind kind, struct pickle **out)
{
	enum status s = new_value(m, kind, out);
	return s ? s : push(m, *out);
}

// Where the values since the last mark begin; what lies below is out of reach until the mark is taken.
static size_t floor_of(const struct machine *m)
{
	return m->mark_count ? m->marks[m->mark_count - 1] : 0;
}

static enum status empty(struct machine *m)
{
	return error_set(m->err, STATUS_BAD_INPUT, "its pickle takes a value where there is none (byte %zu): damaged",
		(size_t)(m->at - m->begin));
}

static enum status pop(struct machine *m, struct pickle **out)
{
	if (m->depth <= floor_of(m))
		return empty(m);
	*out = m->stack[--m->depth];
	return STATUS_OK;
}

static enum status append(struct machine *m, struct pickle *to, struct pickle *const *items, size_t count)
{
	struct pickle_items *t = &to->items;
	enum status s = spend(m, count);
	if (s)
		return s;
	if (t->count + count > t->capacity) {
		size_t capacity = t->capacity * 2 > t->count + count ? t->capacity * 2 : t->count + count;
		const struct pickle **more = ARENA_ARRAY(m->a, capacity, const struct pickle *);
		if (t->count)
			memcpy(more, t->at, t->count * sizeof *more);
		t->at = more;
		t->capacity = (uint32_t)capacity; // at most twice a budget's values
	}
	for (size_t i = 0; i < count; i++) {
		t->tensors += to->kind == PICKLE_DICT && t->count % 2 && items[i]->kind == PICKLE_TENSOR;
		t->at[t->count++] = items[i];
	}
	return STATUS_OK;
}

// ---- bytes --------------------------------------------------------------------------------------------------------------

static enum status cut_off(struct machine *m)
{
	if ((size_t)(m->end - m->begin) == m->budget->nbytes)
		return error_set(m->err, STATUS_BAD_INPUT, "its pickles are longer than %zu bytes; no checkpoint's are",
			pickle_budget_of_file.nbytes);
	return error_set(m->err, STATUS_BAD_INPUT,
		"its pickle ends in the middle of a step (byte %zu): cut off; download it again", (size_t)(m->at - m->begin));
}

static enum status take_number(struct machine *m, int nbytes, uint64_t *out)
{
	uint64_t n = 0;
	if (m->end - m->at < nbytes)
		return cut_off(m);
	for (int i = 0; i < nbytes; i++)
		n |= (uint64_t)*m->at++ << 8 * i;
	*out = n;
	return STATUS_OK;
}

// Bytes after their length, which takes `width` bytes itself.
static enum status take_bytes(struct machine *m, int width, struct pickle_bytes *out)
{
	uint64_t n = 0;
	enum status s = take_number(m, width, &n);
	if (s)
		return s;
	if (n > (uint64_t)(m->end - m->at))
		return cut_off(m);
	*out = (struct pickle_bytes){ m->at, (size_t)n };
	m->at += n;
	return STATUS_OK;
}

static enum status take_line(struct machine *m, struct pickle_bytes *out)
{
	const uint8_t *newline = m->at < m->end ? memchr(m->at, '\n', (size_t)(m->end - m->at)) : NULL;
	if (!newline)
		return cut_off(m);
	*out = (struct pickle_bytes){ m->at, (size_t)(newline - m->at) };
	m->at = newline + 1;
	return STATUS_OK;
}

static enum status push_bytes(struct machine *m, enum pickle_kind kind, int width)
{
	struct pickle_bytes bytes = { 0 };
	struct pickle *p = NULL;
	enum status s;
	if ((s = take_bytes(m, width, &bytes)) || (s = push_new(m, kind, &p)))
		return s;
	p->bytes = bytes;
	return STATUS_OK;
}

static enum status push_integer(struct machine *m, int width)
{
	uint64_t n = 0;
	struct pickle *p = NULL;
	enum status s;
	if ((s = take_number(m, width, &n)) || (s = push_new(m, PICKLE_INT, &p)))
		return s;
	p->integer = width == 4 ? (int32_t)(uint32_t)n : (int64_t)n;
	return STATUS_OK;
}

static enum status push_long(struct machine *m, int width)
{
	struct pickle_bytes bytes = { 0 };
	struct pickle *p = NULL;
	enum status s;
	if ((s = take_bytes(m, width, &bytes)) || (s = push_new(m, bytes.nbytes > 8 ? PICKLE_LONG : PICKLE_INT, &p)))
		return s;
	if (p->kind == PICKLE_LONG) {
		p->bytes = bytes;
		return STATUS_OK;
	}
	uint64_t n = bytes.nbytes && bytes.at[bytes.nbytes - 1] & 0x80 ? ~(uint64_t)0 : 0;
	for (size_t i = bytes.nbytes; i--;)
		n = n << 8 | bytes.at[i];
	p->integer = (int64_t)n;
	return STATUS_OK;
}

static enum status push_real(struct machine *m)
{
	struct pickle *p = NULL;
	enum status s;
	if (m->end - m->at < 8)
		return cut_off(m);
	uint64_t n = 0;
	for (int i = 0; i < 8; i++) // the one big-endian number of a pickle
		n = n << 8 | *m->at++;
	if ((s = push_new(m, PICKLE_FLOAT, &p)))
		return s;
	memcpy(&p->real, &n, sizeof n);
	return STATUS_OK;
}

// ---- names --------------------------------------------------------------------------------------------------------------

static bool spells(struct pickle_bytes b, const char *text)
{
	return b.nbytes == strlen(text) && !memcmp(b.at, text, b.nbytes);
}

bool pickle_is_text(const struct pickle *p, const char *text)
{
	return p->kind == PICKLE_TEXT && spells(p->bytes, text);
}

// A name from the file as it may be shown: short, and nothing a terminal would act on.
static const char *shown(struct machine *m, struct pickle_bytes b)
{
	size_t n = b.nbytes < NAME_SHOWN ? b.nbytes : NAME_SHOWN;
	char *text = arena_strndup(m->a, n ? (const char *)b.at : "", n);
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	return text;
}

static enum status push_global(struct machine *m, struct pickle_bytes module, struct pickle_bytes name)
{
	struct pickle *p = NULL;
	for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
		if (spells(module, globals[i].module) && spells(name, globals[i].name)) {
			enum status s = push_new(m, PICKLE_GLOBAL, &p);
			if (!s)
				p->global = &globals[i];
			return s;
		}
	return error_set(m->err, STATUS_UNSUPPORTED,
		"its pickle asks for %s.%s; only tensors are read, and nothing in the file is ever run: save the weights alone "
		"(a state dict), best as safetensors",
		shown(m, module), shown(m, name));
}

static enum status stack_global(struct machine *m)
{
	struct pickle *module = NULL, *name = NULL;
	enum status s;
	if ((s = pop(m, &name)) || (s = pop(m, &module)))
		return s;
	if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT)
		return error_set(m->err, STATUS_BAD_INPUT, "its pickle asks for something without a name: damaged");
	return push_global(m, module->bytes, name->bytes);
}

// ---- what is made -------------------------------------------------------------------------------------------------------

static enum status broken(struct machine *m, const char *what)
{
	return error_set(m->err, STATUS_BAD_INPUT, "its pickle makes %s in a way that torch.save does not (byte %zu)", what,
		(size_t)(m->at - m->begin));
}

static bool is_integer_at(const struct pickle_items *t, size_t i)
{
	return i < t->count && t->at[i]->kind == PICKLE_INT;
}

static bool is_kind_at(const struct pickle_items *t, size_t i, enum pickle_kind kind)
{
	return i < t->count && t->at[i]->kind == kind;
}

static enum status persistent(struct machine *m)
{
	struct pickle *id = NULL, *p = NULL;
	enum status s;
	if ((s = pop(m, &id)))
		return s;
	if (id->kind == PICKLE_TUPLE && id->items.count && pickle_is_text(id->items.at[0], "module"))
		return error_set(m->err, STATUS_UNSUPPORTED,
			"holds a whole model as Python objects, not its weights: save model.state_dict(), best as safetensors");
	const struct pickle_items *t = &id->items;
	if (id->kind != PICKLE_TUPLE || t->count < 5 || !pickle_is_text(t->at[0], "storage") ||
		!is_kind_at(t, 1, PICKLE_GLOBAL) || t->at[1]->global->kind != G_STORAGE || !is_kind_at(t, 2, PICKLE_TEXT) ||
		!is_integer_at(t, 4) || t->at[4]->integer < 0)
		return broken(m, "a storage");
	struct pickle_storage *storage = ARENA_NEW(m->a, struct pickle_storage);
	*storage = (struct pickle_storage){
		.key = t->at[2]->bytes, .dtype = t->at[1]->global->dtype, .count = (uint64_t)t->at[4]->integer
	};
	// PyTorch keeps views and storages by their keys in one table, of which the first counts.
	if (t->count > 5 && t->at[5]->kind != PICKLE_NONE)
		return error_set(m->err, STATUS_UNSUPPORTED,
			"its pickle names views of storages, as PyTorch wrote them before 0.4: load and save it again");
	if ((s = push_new(m, PICKLE_STORAGE, &p)))
		return s;
	p->storage = storage;
	storage->next = m->storages;
	m->storages = storage;
	return STATUS_OK;
}

static enum status make_tensor(struct machine *m, enum global_kind how, const struct pickle_items *t)
{
	struct pickle *p = NULL;
	enum status s;
	size_t least = how == G_TENSOR ? 4 : how == G_TENSOR_V2 ? 6 : 7, most = least + (how != G_TENSOR);
	if (t->count < least || t->count > most || !is_kind_at(t, 0, PICKLE_STORAGE) || !is_integer_at(t, 1) ||
		!is_kind_at(t, 2, PICKLE_TUPLE) || !is_kind_at(t, 3, PICKLE_TUPLE) ||
		(how == G_TENSOR_V3 && (!is_kind_at(t, 6, PICKLE_GLOBAL) || t->at[6]->global->kind != G_DTYPE)))
		return broken(m, "a tensor");
	// The last is what is set on it: {"neg": True} negates all its values (torch._utils.set_tensor_metadata).
	if (t->count > least &&
		(t->at[least]->kind == PICKLE_DICT ? t->at[least]->items.count != 0 : t->at[least]->kind != PICKLE_NONE))
		return error_set(m->err, STATUS_UNSUPPORTED,
			"a tensor with metadata, which says that its values are negated or conjugate");
	struct pickle_tensor *tensor = ARENA_NEW(m->a, struct pickle_tensor);
	*tensor = (struct pickle_tensor){
		.storage = t->at[0]->storage, .offset = t->at[1]->integer, .size = t->at[2], .stride = t->at[3]
	};
	tensor->dtype = how == G_TENSOR_V3 ? t->at[6]->global->dtype : tensor->storage->dtype;
	if (tensor->dtype == DTYPE_NONE || (tensor->storage->dtype != DTYPE_NONE && tensor->dtype != tensor->storage->dtype))
		return broken(m, "a tensor of bytes");
	if ((s = push_new(m, PICKLE_TENSOR, &p)))
		return s;
	p->tensor = tensor;
	return STATUS_OK;
}

// OrderedDict() and, from Python 2, OrderedDict([[key, value], ...]).
static enum status make_dict(struct machine *m, const struct pickle_items *t)
{
	struct pickle *p = NULL;
	enum status s = push_new(m, PICKLE_DICT, &p);
	if (s || !t->count)
		return s;
	if (t->count > 1 || !is_kind_at(t, 0, PICKLE_LIST))
		return broken(m, "a dictionary");
	const struct pickle_items *pairs = &t->at[0]->items;
	for (size_t i = 0; i < pairs->count && !s; i++) {
		const struct pickle *pair = pairs->at[i];
		if ((pair->kind != PICKLE_LIST && pair->kind != PICKLE_TUPLE) || pair->items.count != 2)
			return broken(m, "a dictionary");
		s = append(m, p, (struct pickle *const *)pair->items.at, 2);
	}
	return s;
}

static enum status reduce(struct machine *m)
{
	struct pickle *args = NULL, *called = NULL, *p = NULL;
	enum status s;
	if ((s = pop(m, &args)) || (s = pop(m, &called)))
		return s;
	if (called->kind != PICKLE_GLOBAL || args->kind != PICKLE_TUPLE)
		return broken(m, "a call");
	const struct pickle_items *t = &args->items;
	switch (called->global->kind) {
	case G_DICT:
		return make_dict(m, t);
	case G_TENSOR:
	case G_TENSOR_V2:
	case G_TENSOR_V3:
		return make_tensor(m, called->global->kind, t);
	case G_PARAMETER:
		return is_kind_at(t, 0, PICKLE_TENSOR) ? push(m, (struct pickle *)t->at[0]) : broken(m, "a parameter");
	case G_SIZE:
		return t->count == 1 && is_kind_at(t, 0, PICKLE_TUPLE) ? push(m, (struct pickle *)t->at[0]) : broken(m, "a size");
	case G_DEVICE:
		return push_new(m, PICKLE_OTHER, &p);
	case G_STORAGE:
	case G_DTYPE:
		break;
	}
	return error_set(m->err, STATUS_UNSUPPORTED, "its pickle calls %s.%s, which makes no tensor", called->global->module,
		called->global->name);
}

// ---- steps --------------------------------------------------------------------------------------------------------------

// The values since the last mark, which is taken.
static enum status take_marked(struct machine *m, struct pickle *const **items, size_t *count)
{
	if (!m->mark_count)
		return empty(m);
	size_t first = m->marks[--m->mark_count];
	*items = m->stack + first;
	*count = m->depth - first;
	m->depth = first;
	return STATUS_OK;
}

static enum status make_sequence(struct machine *m, enum pickle_kind kind, size_t last)
{
	struct pickle *const *items = NULL;
	struct pickle *p = NULL;
	enum status s;
	size_t count = last;
	if (last == SIZE_MAX) {
		if ((s = take_marked(m, &items, &count)))
			return s;
	} else if (m->depth - floor_of(m) < last) {
		return empty(m);
	} else {
		m->depth -= last;
		items = m->stack + m->depth;
	}
	// The items still lie where they were until the next push.
	if (kind == PICKLE_DICT && count % 2)
		return broken(m, "a dictionary");
	if ((s = new_value(m, kind, &p)) || (count && (s = append(m, p, items, count))))
		return s;
	return push(m, p);
}

// Into the container below them: values since the mark, or the last `last` ones.
static enum status add_items(struct machine *m, enum pickle_kind kind, size_t last)
{
	struct pickle *const *items = NULL;
	enum status s;
	size_t count = last;
	if (last == SIZE_MAX) {
		if ((s = take_marked(m, &items, &count)))
			return s;
	} else if (m->depth - floor_of(m) < last) {
		return empty(m);
	} else {
		m->depth -= last;
		items = m->stack + m->depth;
	}
	if (m->depth <= floor_of(m))
		return empty(m);
	struct pickle *to = m->stack[m->depth - 1];
	if (to->kind != kind || (kind == PICKLE_DICT && count % 2))
		return broken(m, kind == PICKLE_DICT ? "a dictionary" : "a list");
	return count ? append(m, to, items, count) : STATUS_OK;
}

static enum status memo_put(struct machine *m, uint64_t i)
{
	enum status s;
	if (m->depth <= floor_of(m))
		return empty(m);
	// No pickler counts faster than it writes.
	if (i >= MEMO_LIMIT || i > (uint64_t)(m->at - m->begin))
		return error_set(m->err, STATUS_BAD_INPUT, "its pickle remembers a value as number %" PRIu64 ": damaged", i);
	if ((s = grow(m, &m->memo, &m->memo_capacity, (size_t)i + 1)))
		return s;
	m->memo[i] = m->stack[m->depth - 1];
	if (i >= m->memo_count)
		m->memo_count = (size_t)i + 1;
	return STATUS_OK;
}

static enum status memo_get(struct machine *m, uint64_t i)
{
	if (i >= m->memo_count || !m->memo[i])
		return error_set(m->err, STATUS_BAD_INPUT,
			"its pickle wants value number %" PRIu64 ", which it never remembered: damaged", i);
	return push(m, m->memo[i]);
}

static enum status memo_numbered(struct machine *m, int width, enum status (*step)(struct machine *, uint64_t))
{
	uint64_t i = 0;
	enum status s = take_number(m, width, &i);
	return s ? s : step(m, i);
}

// What __setstate__ would be given. Of a dictionary these are attributes: _metadata of a state dict, which is of no use here.
// Others may stand in place of its methods.
static enum status build(struct machine *m)
{
	struct pickle *state = NULL;
	enum status s = pop(m, &state);
	if (s)
		return s;
	if (m->depth <= floor_of(m))
		return empty(m);
	if (m->stack[m->depth - 1]->kind != PICKLE_DICT)
		return broken(m, "an object");
	for (size_t i = 0; state->kind == PICKLE_DICT && i < state->items.count; i += 2)
		if (!pickle_is_text(state->items.at[i], "_metadata"))
			return error_set(m->err, STATUS_UNSUPPORTED,
				"its pickle gives a dictionary attributes beside \"_metadata\": save model.state_dict(), best as "
				"safetensors");
	return state->kind == PICKLE_DICT || state->kind == PICKLE_NONE ? STATUS_OK : broken(m, "a dictionary's attributes");
}

static enum status step(struct machine *m, uint8_t code)
{
	struct pickle *p = NULL;
	struct pickle *const *items = NULL;
	struct pickle_bytes module = { 0 }, name = { 0 };
	enum status s;
	uint64_t n = 0;
	size_t count;
	switch (code) {
	case 0x80: // PROTO
		if (!(s = take_number(m, 1, &n)) && (n < 2 || n > 5))
			s = error_set(m->err, STATUS_UNSUPPORTED, "its pickle is of protocol %" PRIu64 "; 2 to 5 are read", n);
		return s;
	case 0x95: // FRAME: a hint for reading ahead
		return take_number(m, 8, &n);
	case '(':
		if (m->mark_count == MARK_LIMIT)
			return error_set(m->err, STATUS_BAD_INPUT, "its pickle is nested deeper than %d levels", MARK_LIMIT);
		m->marks[m->mark_count++] = (uint32_t)m->depth;
		return STATUS_OK;
	case '0':
		return m->depth > floor_of(m) || !m->mark_count ? pop(m, &p) : take_marked(m, &items, &count);
	case '1':
		return take_marked(m, &items, &count);
	case '2':
		return m->depth > floor_of(m) ? push(m, m->stack[m->depth - 1]) : empty(m);
	case 'N':
		return push_new(m, PICKLE_NONE, &p);
	case 0x88:
	case 0x89:
		if (!(s = push_new(m, PICKLE_BOOL, &p)))
			p->integer = code == 0x88;
		return s;
	case 'J':
		return push_integer(m, 4);
	case 'K':
		return push_integer(m, 1);
	case 'M':
		return push_integer(m, 2);
	case 0x8a:
		return push_long(m, 1);
	case 0x8b:
		return push_long(m, 4);
	case 'G':
		return push_real(m);
	case 'X':
	case 'T':
		return push_bytes(m, PICKLE_TEXT, 4); // T and U are the strings of Python 2
	case 'U':
	case 0x8c:
		return push_bytes(m, PICKLE_TEXT, 1);
	case 0x8d:
		return push_bytes(m, PICKLE_TEXT, 8);
	case 'B':
		return push_bytes(m, PICKLE_BYTES, 4);
	case 'C':
		return push_bytes(m, PICKLE_BYTES, 1);
	case 0x8e:
		return push_bytes(m, PICKLE_BYTES, 8);
	case ')':
		return make_sequence(m, PICKLE_TUPLE, 0);
	case 0x85:
	case 0x86:
	case 0x87:
		return make_sequence(m, PICKLE_TUPLE, (size_t)(code - 0x84));
	case 't':
		return make_sequence(m, PICKLE_TUPLE, SIZE_MAX);
	case ']':
		return make_sequence(m, PICKLE_LIST, 0);
	case 'l':
		return make_sequence(m, PICKLE_LIST, SIZE_MAX);
	case '}':
		return make_sequence(m, PICKLE_DICT, 0);
	case 'd':
		return make_sequence(m, PICKLE_DICT, SIZE_MAX);
	case 'a':
		return add_items(m, PICKLE_LIST, 1);
	case 'e':
		return add_items(m, PICKLE_LIST, SIZE_MAX);
	case 's':
		return add_items(m, PICKLE_DICT, 2);
	case 'u':
		return add_items(m, PICKLE_DICT, SIZE_MAX);
	case 'q':
		return memo_numbered(m, 1, memo_put);
	case 'r':
		return memo_numbered(m, 4, memo_put);
	case 0x94:
		return memo_put(m, m->memo_count);
	case 'h':
		return memo_numbered(m, 1, memo_get);
	case 'j':
		return memo_numbered(m, 4, memo_get);
	case 'c':
		if ((s = take_line(m, &module)) || (s = take_line(m, &name)))
			return s;
		return push_global(m, module, name);
	case 0x93:
		return stack_global(m);
	case 'R':
		return reduce(m);
	case 'b':
		return build(m);
	case 'Q':
		return persistent(m);
	default:
		return error_set(m->err, STATUS_BAD_INPUT, "byte %zu of its pickle (0x%02x) is no step that torch.save writes",
			(size_t)(m->at - m->begin) - 1, code);
	}
}

enum status pickle_read(struct pickle_result *out, struct arena *a, const uint8_t *data, size_t nbytes,
	struct pickle_budget *budget, struct error *err)
{
	size_t most = nbytes < budget->nbytes ? nbytes : budget->nbytes;
	struct machine m = { .a = a, .at = data, .begin = data, .end = data + most, .budget = budget, .err = err };
	struct pickle *result = NULL;
	enum status s = grow(&m, &m.stack, &m.stack_capacity, 1);
	while (!s && !result) {
		if (m.at == m.end)
			s = cut_off(&m);
		else if (*m.at == '.')
			s = pop(&m, &result);
		else
			s = step(&m, *m.at++);
	}
	free(m.stack);
	free(m.memo);
	if (s)
		return s;
	*out = (struct pickle_result){ result, (size_t)(m.at - data) + 1, m.storages };
	budget->nbytes -= out->used;
	return STATUS_OK;
}
