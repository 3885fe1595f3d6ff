// SPDX-License-Identifier: Apache-2.0
// The graph as an ONNX ModelProto, by protobuf-c from ONNX's own onnx.proto. Weights are external data: location, offset
// and length of a range in a safetensors file; only small constants are inside.
#include "onnx/inside.h"

#include <limits.h>
#include <string.h>

#include "onnx.pb-c.h"

struct writer {
	struct graph *g;
	struct arena *a;
};

static char *copy(struct writer *w, const char *s)
{
	return arena_strdup(w->a, s);
}

static Onnx__ValueInfoProto *value_info(struct writer *w, int id)
{
	const struct value_info *v = &w->g->values[id];
	Onnx__ValueInfoProto *info = ARENA_NEW(w->a, Onnx__ValueInfoProto);
	Onnx__TypeProto *type = ARENA_NEW(w->a, Onnx__TypeProto);
	Onnx__TypeProto__Tensor *tensor = ARENA_NEW(w->a, Onnx__TypeProto__Tensor);
	Onnx__TensorShapeProto *shape = ARENA_NEW(w->a, Onnx__TensorShapeProto);
	onnx__value_info_proto__init(info);
	onnx__type_proto__init(type);
	onnx__type_proto__tensor__init(tensor);
	onnx__tensor_shape_proto__init(shape);
	shape->n_dim = (size_t)v->rank;
	shape->dim = ARENA_ARRAY(w->a, (size_t)v->rank + 1, Onnx__TensorShapeProto__Dimension *);
	for (int i = 0; i < v->rank; i++) {
		Onnx__TensorShapeProto__Dimension *d = shape->dim[i] = ARENA_NEW(w->a, Onnx__TensorShapeProto__Dimension);
		onnx__tensor_shape_proto__dimension__init(d);
		const char *symbol = graph_symbol_name(w->g, v->dim[i]);
		if (v->dim[i] >= 0) {
			d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
			d->dim_value = v->dim[i];
		} else if (symbol) {
			d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
			d->dim_param = copy(w, symbol);
		}
	}
	tensor->has_elem_type = 1;
	tensor->elem_type = dtype_onnx(v->dtype);
	tensor->shape = shape;
	type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	type->tensor_type = tensor;
	info->name = copy(w, v->name);
	info->type = type;
	return info;
}

static Onnx__StringStringEntryProto *entry(struct writer *w, const char *key, const char *text)
{
	Onnx__StringStringEntryProto *e = ARENA_NEW(w->a, Onnx__StringStringEntryProto);
	onnx__string_string_entry_proto__init(e);
	e->key = copy(w, key);
	e->value = copy(w, text);
	return e;
}

static Onnx__TensorProto *tensor_proto(struct writer *w, const struct value_info *v)
{
	Onnx__TensorProto *t = ARENA_NEW(w->a, Onnx__TensorProto);
	onnx__tensor_proto__init(t);
	t->name = copy(w, v->name);
	t->has_data_type = 1;
	t->data_type = dtype_onnx(v->dtype);
	t->n_dims = (size_t)v->rank;
	t->dims = ARENA_ARRAY(w->a, (size_t)v->rank + 1, int64_t);
	memcpy(t->dims, v->dim, (size_t)v->rank * sizeof *t->dims);
	if (v->kind == VALUE_CONSTANT) {
		t->has_raw_data = 1;
		t->raw_data.data = v->constant->data;
		t->raw_data.len = v->constant->nbytes;
		return t;
	}
	t->has_data_location = 1;
	t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	t->n_external_data = 3;
	t->external_data = ARENA_ARRAY(w->a, 3, Onnx__StringStringEntryProto *);
	t->external_data[0] = entry(w, "location", v->location);
	t->external_data[1] = entry(w, "offset", arena_printf(w->a, "%llu", (unsigned long long)v->offset));
	t->external_data[2] = entry(w, "length", arena_printf(w->a, "%llu", (unsigned long long)v->nbytes));
	return t;
}

static Onnx__NodeProto *node_proto(struct writer *w, const struct node *n);

static Onnx__GraphProto *body_proto(struct writer *w, int number)
{
	const struct graph *g = w->g;
	const struct body *b = &g->bodies[number];
	Onnx__GraphProto *p = ARENA_NEW(w->a, Onnx__GraphProto);
	size_t nodes = 0;

	onnx__graph_proto__init(p);
	p->name = arena_printf(w->a, "body.%d", number);
	p->input = ARENA_ARRAY(w->a, BODY_VALUES, Onnx__ValueInfoProto *);
	p->output = ARENA_ARRAY(w->a, BODY_VALUES, Onnx__ValueInfoProto *);
	for (int i = 0; i < b->input_count; i++)
		p->input[p->n_input++] = value_info(w, b->inputs[i]);
	for (int i = 0; i < b->output_count; i++)
		p->output[p->n_output++] = value_info(w, b->outputs[i]);
	for (int i = 0; i < g->node_count; i++)
		nodes += g->nodes[i].body == number;
	p->node = ARENA_ARRAY(w->a, nodes + 1, Onnx__NodeProto *);
	for (int i = 0; i < g->node_count; i++)
		if (g->nodes[i].live && g->nodes[i].body == number)
			p->node[p->n_node++] = node_proto(w, &g->nodes[i]);
	return p;
}

static Onnx__AttributeProto *attribute_proto(struct writer *w, const struct attribute *a)
{
	Onnx__AttributeProto *p = ARENA_NEW(w->a, Onnx__AttributeProto);
	onnx__attribute_proto__init(p);
	p->name = copy(w, a->name);
	p->has_type = 1;
	switch (a->kind) {
	case ATTRIBUTE_INT:
		p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
		p->has_i = 1;
		p->i = a->i;
		break;
	case ATTRIBUTE_FLOAT:
		p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
		p->has_f = 1;
		p->f = a->f;
		break;
	case ATTRIBUTE_INTS:
		p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
		p->n_ints = (size_t)a->count;
		p->ints = (int64_t *)a->ints;
		break;
	case ATTRIBUTE_BODY:
		p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
		p->g = body_proto(w, (int)a->i);
		break;
	case ATTRIBUTE_TEXT:
		p->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
		p->has_s = 1;
		p->s.data = (uint8_t *)a->text;
		p->s.len = strlen(a->text);
		break;
	}
	return p;
}

static Onnx__NodeProto *node_proto(struct writer *w, const struct node *n)
{
	Onnx__NodeProto *p = ARENA_NEW(w->a, Onnx__NodeProto);
	onnx__node_proto__init(p);
	p->name = copy(w, n->name);
	p->op_type = copy(w, n->op);
	if (n->domain[0])
		p->domain = copy(w, n->domain);
	p->n_input = (size_t)n->input_count;
	p->input = ARENA_ARRAY(w->a, p->n_input + 1, char *);
	for (int i = 0; i < n->input_count; i++)
		p->input[i] = copy(w, n->inputs[i].id ? w->g->values[n->inputs[i].id].name : "");
	p->n_output = (size_t)n->output_count;
	p->output = ARENA_ARRAY(w->a, p->n_output + 1, char *);
	for (int i = 0; i < n->output_count; i++)
		p->output[i] = copy(w, w->g->values[n->outputs[i]].name);
	p->attribute = ARENA_ARRAY(w->a, (size_t)n->attribute_count + 1, Onnx__AttributeProto *);
	for (int i = 0; i < n->attribute_count; i++)
		if (n->attributes[i].name[0])
			p->attribute[p->n_attribute++] = attribute_proto(w, &n->attributes[i]);
	return p;
}

static Onnx__OperatorSetIdProto *opset(struct writer *w, const char *domain, int version)
{
	Onnx__OperatorSetIdProto *o = ARENA_NEW(w->a, Onnx__OperatorSetIdProto);
	onnx__operator_set_id_proto__init(o);
	o->domain = copy(w, domain);
	o->has_version = 1;
	o->version = version;
	return o;
}

// Those of constants alone first. Of several inputs of a node, ONNX Runtime unoptimised computes the one whose node is the last
// in the file first, and all that this reads: with a weight's cast behind the node that makes x, each branch of each layer kept
// its cast weight until the layers below were done (llava of 20 layers, 374 million weights of float16: 762 MiB, and 339 so).
static void add_nodes(struct writer *w, Onnx__GraphProto *out)
{
	const struct graph *g = w->g;
	bool *constant = ARENA_ARRAY(w->a, (size_t)g->value_count, bool);

	graph_constants(g, constant);
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < g->node_count; i++) {
			const struct node *n = &g->nodes[i];

			if (n->live && !n->body && constant[n->outputs[0]] == (turn == 0))
				out->node[out->n_node++] = node_proto(w, n);
		}
}

enum status graph_write(struct graph *g, const void **out, size_t *nbytes, struct error *err)
{
	struct writer w = { g, &g->arena };
	if (!g->finished)
		return error_set(err, STATUS_UNSUPPORTED, "this graph is not built yet: assay did not finish it");
	struct graph_summary summary;
	graph_summarise(g, &summary);

	Onnx__GraphProto graph;
	onnx__graph_proto__init(&graph);
	graph.name = copy(&w, "assay");
	graph.input = ARENA_ARRAY(w.a, (size_t)g->input_count + 1, Onnx__ValueInfoProto *);
	for (int i = 0; i < g->input_count; i++)
		graph.input[graph.n_input++] = value_info(&w, g->inputs[i]);
	graph.output = ARENA_ARRAY(w.a, (size_t)g->output_count + 1, Onnx__ValueInfoProto *);
	for (int i = 0; i < g->output_count; i++)
		graph.output[graph.n_output++] = value_info(&w, g->outputs[i]);
	graph.initializer = ARENA_ARRAY(w.a, summary.initializer_count + 1, Onnx__TensorProto *);
	for (int i = 1; i < g->value_count; i++)
		if (g->values[i].live && (g->values[i].kind == VALUE_CONSTANT || g->values[i].kind == VALUE_EXTERNAL))
			graph.initializer[graph.n_initializer++] = tensor_proto(&w, &g->values[i]);
	graph.node = ARENA_ARRAY(w.a, summary.node_count + 1, Onnx__NodeProto *);
	add_nodes(&w, &graph);

	Onnx__ModelProto model;
	onnx__model_proto__init(&model);
	model.has_ir_version = 1;
	model.ir_version = g->ir_version;
	model.producer_name = copy(&w, "assay");
	model.graph = &graph;
	Onnx__OperatorSetIdProto *sets[2] = { opset(&w, "", g->opset), opset(&w, DOMAIN_MICROSOFT, 1) };
	model.opset_import = sets;
	model.n_opset_import = summary.uses_microsoft ? 2 : 1;
	Onnx__StringStringEntryProto layers, *metadata[1] = { &layers };
	onnx__string_string_entry_proto__init(&layers);
	layers.key = copy(&w, "assay.layers");
	layers.value = copy(&w, arena_printf(w.a, "%lld", (long long)g->layers));
	model.metadata_props = metadata;
	model.n_metadata_props = g->layers > 0;

	size_t size = onnx__model_proto__get_packed_size(&model);
	if (size > INT_MAX)
		return error_set(err, STATUS_UNSUPPORTED,
			"the graph takes %zu bytes without its weights: assay writes it as one protobuf message, which holds 2 "
			"GiB",
			size);
	uint8_t *data = arena_alloc(w.a, size + 1);
	onnx__model_proto__pack(&model, data);
	*out = data;
	*nbytes = size;
	return STATUS_OK;
}
