// SPDX-License-Identifier: Apache-2.0
// The graph as text: one line an input, initializer, node and output. For golden tests and `assay build --text`.
//   node  NAME = Op(inputs) {attribute=value} : dtype[shape]           several outputs: each that somebody reads, after the
//   first
//   body N NAME = ...                                                  the same, in body N: an attribute of a node after it
#include "onnx/inside.h"

const char *graph_form_text(struct arena *a, const struct graph_form *f)
{
	static const char *const linear[] = { "gemm", "fused-matmul", "matmul" };
	static const char *const attention[] = { "plain", "mha" };
	static const char *const gelu[] = { "gelu-erf", "gelu-op", "gelu-microsoft" };
	static const char *const norm[] = { "rms-plain", "rms-fused" };
	static const char *const cache[] = { "", " cache-shared" };
	static const char *const experts[] = { "", " experts-chosen" };

	static const char *const heads[] = { "", " head-stored" };
	const struct precise *p = &f->precise;
	const char *dequantised = p->dequantised ? " dequantised" : "";
	const char *precise = !p->precision ? ""
		: p->block == 0
		? arena_printf(a, " %s%s", precision_word(p->precision), p->by_engine ? " activations-by-engine" : "")
		: arena_printf(a, " %s block-%d accuracy-%d%s%s", precision_word(p->precision), p->block, p->accuracy,
			  p->asymmetric ? " zero-points" : "", heads[p->float_head]);

	return arena_printf(a, "%s %s %s %s %s%s%s%s%s%s%s%s%s%s%s%s", f->is_static ? "static" : "dynamic", linear[f->linear],
		attention[f->attention], gelu[f->gelu], norm[f->norm], cache[f->cache], f->logits_chosen ? " logits-chosen" : "",
		experts[f->experts], f->index32 ? " index32" : "", f->sine_tables ? " sine-tables" : "",
		f->around_webgpu ? " around-webgpu" : "", f->corners_by_matmul ? " corners-by-matmul" : "",
		f->around_qnn ? " around-qnn" : "", f->torch_ties ? " torch-ties" : "", precise, dequantised);
}

static void add_shape(const struct graph *g, int rank, const int64_t *dim, struct text *out)
{
	text_add(out, "[");
	for (int i = 0; i < rank; i++) {
		const char *symbol = graph_symbol_name(g, dim[i]);
		if (i)
			text_add(out, ",");
		if (dim[i] >= 0)
			text_addf(out, "%lld", (long long)dim[i]);
		else
			text_add(out, symbol ? symbol : "?");
	}
	text_add(out, "]");
}

static void type_text(const struct graph *g, const struct value_info *v, struct text *out)
{
	text_add(out, dtype_word(v->dtype));
	add_shape(g, v->rank, v->dim, out);
}

static const char *in_arena(struct graph *g, struct text *t)
{
	const char *copy = arena_strdup(&g->arena, text_get(t));

	text_done(t);
	return copy;
}

const char *graph_shape_text(struct graph *g, int rank, const int64_t *dim)
{
	struct text t = { 0 };

	add_shape(g, rank, dim, &t);
	return in_arena(g, &t);
}

const char *graph_numbers_text(struct graph *g, int count, const int64_t *x)
{
	struct text t = { 0 };

	for (int i = 0; i < count; i++)
		text_addf(&t, i ? ",%lld" : "[%lld", (long long)x[i]);
	text_add(&t, count ? "]" : "[]");
	return in_arena(g, &t);
}

const char *graph_value_text(struct graph *g, graph_value v)
{
	struct text t = { 0 };

	text_addf(&t, "%s ", VALUE(g, v)->name);
	type_text(g, VALUE(g, v), &t);
	return in_arena(g, &t);
}

const char *graph_values_text(struct graph *g, const graph_value *v, int count)
{
	struct text t = { 0 };
	int left = 0;

	for (int i = 0; i < count; i++)
		left += v[i].id != 0;
	for (int i = 0; i < count; i++) {
		if (!v[i].id)
			continue;
		text_add(&t, !t.length ? "" : left == 1 ? " and " : ", ");
		text_add(&t, graph_value_text(g, v[i]));
		left--;
	}
	return in_arena(g, &t);
}

static void constant_text(const struct tensor *c, struct text *out)
{
	size_t count = c->nbytes / dtype_size(c->dtype);
	text_add(out, " {");
	for (size_t i = 0; i < count && i < 8; i++)
		text_addf(out, i ? " %.9g" : "%.9g", tensor_get(c, i));
	if (count > 8)
		text_addf(out, " .. fnv1a64 %016llx", (unsigned long long)fnv1a64(c->data, c->nbytes));
	text_add(out, "}");
}

// "1(a,b)->c,d"
static void body_text(const struct graph *g, int number, struct text *out)
{
	const struct body *b = &g->bodies[number];

	text_addf(out, "%d(", number);
	for (int i = 0; i < b->input_count; i++)
		text_addf(out, i ? ",%s" : "%s", g->values[b->inputs[i]].name);
	for (int i = 0; i < b->output_count; i++)
		text_addf(out, i ? ",%s" : ")->%s", g->values[b->outputs[i]].name);
}

void graph_text(const struct graph *g, struct text *out)
{
	text_addf(out, "opset %d ir %d\n", g->opset, g->ir_version);
	for (int i = 0; i < g->input_count; i++) {
		const struct value_info *v = &g->values[g->inputs[i]];
		text_addf(out, "input  %s : ", v->name);
		type_text(g, v, out);
		text_add(out, v->live ? "\n" : " (unused)\n");
	}
	for (int i = 1; i < g->value_count; i++) {
		const struct value_info *v = &g->values[i];
		if (!v->live || (v->kind != VALUE_EXTERNAL && v->kind != VALUE_CONSTANT))
			continue;
		text_addf(out, "%s %s : ", v->kind == VALUE_EXTERNAL ? "weight" : "const ", v->name);
		type_text(g, v, out);
		if (v->constant)
			constant_text(v->constant, out);
		text_add(out, "\n");
	}
	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		if (!n->live)
			continue;
		if (n->body)
			text_addf(out, "body %d %s", n->body, n->name);
		else
			text_addf(out, "node   %s", n->name);
		for (int k = 1; k < n->output_count; k++)
			if (g->values[n->outputs[k]].live)
				text_addf(out, ", %s", g->values[n->outputs[k]].name);
		text_addf(out, " = %s%s%s(", n->domain, n->domain[0] ? "." : "", n->op);
		for (int k = 0; k < n->input_count; k++)
			text_addf(out, k ? ", %s" : "%s", n->inputs[k].id ? g->values[n->inputs[k].id].name : "-");
		text_add(out, ")");
		for (int k = 0; k < n->attribute_count; k++) {
			const struct attribute *a = &n->attributes[k];
			if (!a->name[0])
				continue;
			text_addf(out, " %s=", a->name);
			if (a->kind == ATTRIBUTE_INT)
				text_addf(out, "%lld", (long long)a->i);
			else if (a->kind == ATTRIBUTE_FLOAT)
				text_addf(out, "%.9g", (double)a->f);
			else if (a->kind == ATTRIBUTE_TEXT)
				text_add(out, a->text);
			else if (a->kind == ATTRIBUTE_BODY)
				body_text(g, (int)a->i, out);
			for (int j = 0; a->kind == ATTRIBUTE_INTS && j < a->count; j++)
				text_addf(out, j ? ",%lld" : "%lld", (long long)a->ints[j]);
		}
		text_add(out, " : ");
		type_text(g, &g->values[n->outputs[0]], out);
		for (int k = 1; k < n->output_count; k++)
			if (g->values[n->outputs[k]].live) {
				text_add(out, ", ");
				type_text(g, &g->values[n->outputs[k]], out);
			}
		text_add(out, "\n");
	}
	for (int i = 0; i < g->output_count; i++)
		text_addf(out, "output %s\n", g->values[g->outputs[i]].name);
}
