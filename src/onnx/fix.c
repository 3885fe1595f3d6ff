// SPDX-License-Identifier: Apache-2.0
// fix.h, on protobuf-c's structures.
#include "onnx/fix.h"

#include <limits.h>
#include <stdlib.h>

#include "base/text.h"
#include "onnx/unpack.h"

struct named {
	const char *symbol;
	int64_t number;
};
struct fixing {
	struct named *names;
	size_t count;
};

static Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *v)
{
	const Onnx__TypeProto *t = v->type;

	return t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? t->tensor_type->shape : NULL;
}

static const char *symbol_of(const Onnx__TensorShapeProto__Dimension *d)
{
	return d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *d->dim_param ? d->dim_param : NULL;
}

static struct named *find(const struct fixing *f, const char *symbol)
{
	for (size_t i = 0; symbol && i < f->count; i++)
		if (text_is(f->names[i].symbol, symbol))
			return &f->names[i];
	return NULL;
}

// What the names of dimensions stand for: -1 where inputs have unlike numbers for one name, which then says nothing of other
// values.
static void take_names(struct fixing *f, const Onnx__GraphProto *g, const struct tensor *given, size_t count, struct arena *a)
{
	for (size_t i = 0; i < g->n_input; i++) {
		const Onnx__TensorShapeProto *shape = shape_of(g->input[i]);
		const struct tensor *t = tensor_named(given, count, g->input[i]->name);

		for (size_t k = 0; shape && t && k < shape->n_dim && k < (size_t)t->rank; k++) {
			const char *symbol = symbol_of(shape->dim[k]);
			struct named *known = find(f, symbol);

			if (known && known->number != t->dim[k])
				known->number = -1;
			if (symbol && !known)
				f->names[f->count++] = (struct named){ arena_strdup(a, symbol), t->dim[k] };
		}
	}
}

// The message owns its names, which protobuf-c took by malloc; the empty one of a field that is not there is its own.
static void set(Onnx__TensorShapeProto__Dimension *d, int64_t number)
{
	if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
		free(d->dim_param);
	d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
	d->dim_value = number;
}

static bool is_open(const Onnx__TensorShapeProto__Dimension *d)
{
	return d->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE || d->dim_value < 0;
}

static void fix_named(const struct fixing *f, Onnx__ValueInfoProto **values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		Onnx__TensorShapeProto *shape = shape_of(values[i]);

		for (size_t k = 0; shape && k < shape->n_dim; k++) {
			const struct named *known = find(f, symbol_of(shape->dim[k]));
			if (known && known->number >= 0)
				set(shape->dim[k], known->number);
		}
	}
}

static void fix_graph(Onnx__GraphProto *g, const struct tensor *given, size_t count, struct arena *a)
{
	struct fixing f = { .names = ARENA_ARRAY(a, g->n_input * TENSOR_MAX_RANK + 1, struct named) };

	take_names(&f, g, given, count, a);
	for (size_t i = 0; i < g->n_input; i++) {
		Onnx__TensorShapeProto *shape = shape_of(g->input[i]);
		const struct tensor *t = tensor_named(given, count, g->input[i]->name);

		for (size_t k = 0; shape && t && k < shape->n_dim && k < (size_t)t->rank; k++)
			if (is_open(shape->dim[k]))
				set(shape->dim[k], t->dim[k]);
	}
	fix_named(&f, g->output, g->n_output);
	fix_named(&f, g->value_info, g->n_value_info);
}

enum status onnx_fix_shapes(void **out, size_t *n, struct arena *a, const void *onnx, size_t nbytes, const struct tensor *given,
	size_t count, struct error *err)
{
	Onnx__ModelProto *model = NULL;
	enum status st = onnx_unpack(&model, onnx, nbytes, err);

	if (st)
		return st;
	if (model->graph)
		fix_graph(model->graph, given, count, a);
	const size_t size = onnx__model_proto__get_packed_size(model);
	if (!st && size > INT_MAX)
		st = error_set(err, STATUS_UNSUPPORTED, "the graph takes %zu bytes; protobuf holds 2 GiB", size);
	if (!st) {
		*out = arena_alloc(a, size + 1);
		*n = onnx__model_proto__pack(model, *out);
	}
	onnx__model_proto__free_unpacked(model, NULL);
	return st;
}
