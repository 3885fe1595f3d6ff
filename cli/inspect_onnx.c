// SPDX-License-Identifier: Apache-2.0
// inspect_onnx.h: what an .onnx file is, from the file alone. No engine is asked: what one would refuse is said where it was
// measured before.
#include "inspect_onnx.h"

#include <string.h>
#include <sys/stat.h>

#include "artifact/identity.h"
#include "backend/contents.h"
#include "backend/outline.h"
#include "base/file.h"
#include "base/text.h"
#include "base/visible.h"
#include "emit.h"
#include "platform/platform.h"
#include "show.h"

struct seen {
	const struct hub_model *hub;
	struct outline outline;
	struct contents contents;
	struct model_file *files; // with the .onnx itself
	size_t file_count;
	const char *no_places; // why no platform is given its files; NULL: they lie where they may
};

static enum status look(struct seen *x, struct arena *a, struct error *err)
{
	struct error why = { 0 };
	const uint8_t *map;
	size_t nbytes;
	enum status st;

	if ((st = file_map(a, x->hub->path, &map, &nbytes, err)))
		return st;
	if ((st = outline_read(&x->outline, a, map, nbytes, err)) || (st = contents_read(&x->contents, a, map, nbytes, err)))
		return error_prefix(err, "%s", x->hub->path);
	if (model_check_places(x->hub->path, &why))
		x->no_places = arena_strdup(a, why.text);
	else
		model_files(x->hub->path, a, &x->files, &x->file_count);
	return STATUS_OK;
}

// The list has the file itself, too.
static bool is_itself(const struct seen *x, const struct model_file *f)
{
	return text_is(f->path, x->hub->path);
}

// -1: it is not there.
static int64_t size_of(const struct model_file *f)
{
	struct stat st;

	return f->path && !stat(f->path, &st) && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static const char *shape_of(struct arena *a, const struct tensor_type *t)
{
	const char *out = NULL;

	for (int k = 0; k < t->rank; k++)
		out = arena_join(a, out, ",",
			t->dim[k] >= 0                          ? arena_printf(a, "%lld", (long long)t->dim[k])
				: t->symbol[k] && *t->symbol[k] ? arena_printf(a, "%.60s", t->symbol[k])
								: "?");
	return arena_printf(a, "[%s]", out ? out : "");
}

// ---- what would be refused ----------------------------------------------------------------------------------------------

static bool has_word(const char *words, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = words; n && (at = strstr(at, word)) != NULL; at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

static int64_t opset_of(const struct contents *c, const char *domain)
{
	for (size_t i = 0; i < c->opset_count; i++)
		if (text_is(c->opsets[i].domain, domain))
			return c->opsets[i].version;
	return 0;
}

static void add(json_t *all, const char *text)
{
	json_array_append_new(all, visible_json_string(text));
}

// What no engine can compute: the file contradicts itself, or assay has nothing to give it.
static json_t *of_all(const struct seen *x, struct arena *a)
{
	const struct contents *c = &x->contents;
	json_t *out = json_array();

	if (x->no_places)
		add(out, x->no_places);
	for (size_t i = 0; i < x->file_count; i++)
		if (!is_itself(x, &x->files[i]) && size_of(&x->files[i]) < 0)
			add(out, arena_printf(a, "%s, which holds weights, is not there", x->files[i].name));
	for (size_t i = 0; i < x->outline.input_count; i++)
		if (!dtype_size(x->outline.inputs[i].dtype))
			add(out,
				arena_printf(
					a, "input %s has an element type that assay cannot fill", x->outline.inputs[i].name));
	for (size_t i = 0; i < c->operator_count; i++) {
		const struct contents_operator *o = &c->operators[i];
		const int64_t opset = opset_of(c, o->domain);

		if (o->defined)
			continue;
		if (!opset)
			add(out,
				arena_printf(a, "%s is of domain %s, of which the file imports no opset", o->op,
					*o->domain ? o->domain : "ai.onnx"));
	}
	return out;
}

// Those whose routes are all of one engine that was measured.
static const struct contents_bounds *bounds_of(const struct platform *p)
{
	return p->routes[0].engine ? contents_bounds(p->routes[0].engine) : NULL;
}

// Why an engine would refuse an operator that the file does not define; NULL: nothing is known against it.
static const char *of_operator(const struct contents_bounds *b, const struct contents_operator *o, int64_t opset,
	const char *last_domain, struct arena *a)
{
	const int since = contents_since(o->op);

	if (*o->domain)
		return has_word(b->domains, o->domain) || text_is(last_domain, o->domain)
			? NULL
			: arena_printf(a, "%s %s knows no domain %s (%s)", b->engine, b->version, o->domain, o->op);
	if (!since)
		return opset > CONTENTS_OPSET || has_word(b->more, o->op)
			? NULL
			: arena_printf(a, "%s %s knows no operator %s: ai.onnx has none up to opset %d", b->engine, b->version,
				  o->op, CONTENTS_OPSET);
	return opset && since > opset && b->holds_to_opset
		? arena_printf(a, "%s is there since opset %d, the file imports %lld", o->op, since, (long long)opset)
		: NULL;
}

static json_t *of_platform(const struct seen *x, const struct platform *p, struct arena *a)
{
	const struct contents_bounds *b = bounds_of(p);
	const struct contents *c = &x->contents;
	const int64_t opset = opset_of(c, "");
	const char *domain = NULL;
	json_t *out = json_array();

	if (!b)
		return out;
	if (b->opset_most && opset > b->opset_most)
		add(out,
			arena_printf(
				a, "%s %s takes opsets up to %lld of ai.onnx", b->engine, b->version, (long long)b->opset_most));
	if (b->opset_least && opset && opset < b->opset_least)
		add(out,
			arena_printf(a, "%s %s has kernels from opset %lld of ai.onnx on", b->engine, b->version,
				(long long)b->opset_least));
	if (b->ir_most && c->ir_version > b->ir_most)
		add(out, arena_printf(a, "%s %s takes IR versions up to %lld", b->engine, b->version, (long long)b->ir_most));
	for (size_t i = 0; i < c->operator_count; i++) {
		const struct contents_operator *o = &c->operators[i];
		const char *why = o->defined ? NULL : of_operator(b, o, opset, domain, a);

		if (why)
			add(out, why);
		domain = o->domain;
	}
	return out;
}

static json_t *refusals(const struct seen *x, struct arena *a)
{
	json_t *all = of_all(x, a), *out = json_array();
	const char *word;
	json_t *why;
	size_t k;

	json_array_foreach(all, k, why) json_array_append_new(out, json_pack("{s:n, s:O}", "platform", "why", why));
	json_decref(all);
	for (size_t i = 0; i < platform_count(); i++) {
		const struct platform *p = platform_get(i);
		json_t *own = platform_is_software(p) ? json_array() : of_platform(x, p, a);

		word = p->name;
		json_array_foreach(own, k, why) json_array_append_new(out, json_pack("{s:s, s:O}", "platform", word, "why", why));
		json_decref(own);
	}
	return out;
}

static bool is_static_only(const struct platform *p)
{
	bool only = p->form_count > 0;

	for (size_t i = 0; i < p->form_count; i++)
		only = only && p->forms[i].is_static;
	return only;
}

// Open dimensions are no obstacle: a run gives each a number before such a platform sees the graph.
static const char *fixed_for(const struct seen *x, struct arena *a)
{
	const char *out = NULL;
	bool is_open = false;

	for (size_t i = 0; i < x->outline.input_count; i++)
		for (int k = 0; k < x->outline.inputs[i].rank; k++)
			is_open |= x->outline.inputs[i].dim[k] < 0;
	for (size_t i = 0; i < platform_count() && is_open; i++)
		if (is_static_only(platform_get(i)) && !platform_is_software(platform_get(i)))
			out = arena_join(a, out, ", ", platform_get(i)->name);
	return out;
}

// ---- said ---------------------------------------------------------------------------------------------------------------

static void print_types(const char *what, const struct tensor_type *t, size_t count, struct arena *a)
{
	for (size_t i = 0; i < count; i++)
		emit("%s %s: %s %s\n", what, t[i].name, t[i].dtype ? dtype_word(t[i].dtype) : "another type", shape_of(a, &t[i]));
}

static void print_operators(const struct contents *c)
{
	emit("nodes: %zu, operators: %zu%s\n", c->node_count, c->operator_count, c->too_deep ? "; " : "");
	if (c->too_deep)
		emit("%s\n", c->too_deep);
	for (size_t i = 0; i < c->operator_count; i++)
		emit("  %6zu %s%s%s%s\n", c->operators[i].count, c->operators[i].domain, *c->operators[i].domain ? "." : "",
			c->operators[i].op, c->operators[i].defined ? " (a function of the file)" : "");
}

static void print_text(const struct seen *x, struct arena *a)
{
	const struct contents *c = &x->contents;
	const struct contents_bounds *ort = contents_bounds("ort");
	json_t *all = refusals(x, a), *one;
	size_t k;

	emit("%s\n", x->hub->name);
	emit("where: file %s\n", x->hub->path);
	emit("format: ONNX, IR version %lld (onnxruntime %s takes up to %lld)\n", (long long)c->ir_version, ort->version,
		(long long)ort->ir_most);
	for (size_t i = 0; i < c->opset_count; i++)
		emit("opset: %lld of %s\n", (long long)c->opsets[i].version,
			*c->opsets[i].domain ? c->opsets[i].domain
					     : arena_printf(a, "ai.onnx (onnxruntime %s takes %lld to %lld)", ort->version,
						       (long long)ort->opset_least, (long long)ort->opset_most));
	if (c->producer)
		emit("producer: %s%s%s\n", c->producer, c->producer_version && *c->producer_version ? " " : "",
			c->producer_version ? c->producer_version : "");
	print_types("input", x->outline.inputs, x->outline.input_count, a);
	print_types("output", x->outline.outputs, x->outline.output_count, a);
	print_operators(c);
	emit("parameters: %llu\nbytes:", (unsigned long long)c->parameters);
	for (int d = 0; d < DTYPE_COUNT; d++)
		if (c->bytes[d])
			emit(" %s %s", d ? dtype_word((enum dtype)d) : "other", show_size(a, c->bytes[d]));
	emit("\n");
	for (size_t i = 0; i < x->file_count; i++)
		if (!is_itself(x, &x->files[i]))
			emit("weights in: %s, %s\n", x->files[i].name,
				size_of(&x->files[i]) < 0 ? "which is not there" : show_size(a, (uint64_t)size_of(&x->files[i])));
	if (fixed_for(x, a))
		emit("shapes fixed for: %s; `assay run` gives open dimensions the numbers of --dim or --shape, or guesses them\n",
			fixed_for(x, a));
	json_array_foreach(all, k, one)
	{
		const char *platform = json_string_value(json_object_get(one, "platform"));

		emit("refused by %s: %s\n", platform ? platform : "all", json_string_value(json_object_get(one, "why")));
	}
	if (!k)
		emit("refused by: no platform, as far as the file alone tells\n");
	json_decref(all);
}

static json_t *types_json(const struct tensor_type *t, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *shape = json_array();

		for (int k = 0; k < t[i].rank; k++)
			json_array_append_new(shape,
				t[i].dim[k] >= 0                            ? json_integer(t[i].dim[k])
					: t[i].symbol[k] && *t[i].symbol[k] ? visible_json_string(t[i].symbol[k])
									    : json_null());
		json_array_append_new(out,
			json_pack("{s:o, s:s?, s:o}", "name", visible_json_string(t[i].name), "dtype",
				t[i].dtype ? dtype_word(t[i].dtype) : NULL, "shape", shape));
	}
	return out;
}

static void print_json(const struct seen *x, struct arena *a)
{
	const struct contents *c = &x->contents;
	const struct contents_bounds *ort = contents_bounds("ort");
	json_t *opsets = json_array(), *operators = json_array(), *bytes = json_object(), *external = json_array(), *out;

	for (size_t i = 0; i < c->opset_count; i++)
		json_array_append_new(opsets,
			json_pack("{s:o, s:I}", "domain", visible_json_string(c->opsets[i].domain), "version",
				(json_int_t)c->opsets[i].version));
	for (size_t i = 0; i < c->operator_count; i++)
		json_array_append_new(operators,
			json_pack("{s:o, s:o, s:I, s:b}", "domain", visible_json_string(c->operators[i].domain), "operator",
				visible_json_string(c->operators[i].op), "count", (json_int_t)c->operators[i].count, "function",
				(int)c->operators[i].defined));
	for (int d = 0; d < DTYPE_COUNT; d++)
		if (c->bytes[d])
			json_object_set_new(bytes, d ? dtype_word((enum dtype)d) : "other",
				json_integer(c->bytes[d] > INT64_MAX ? INT64_MAX : (json_int_t)c->bytes[d]));
	for (size_t i = 0; i < x->file_count; i++)
		if (!is_itself(x, &x->files[i]))
			json_array_append_new(external,
				json_pack("{s:o, s:o}", "file", visible_json_string(x->files[i].name), "bytes",
					size_of(&x->files[i]) < 0 ? json_null() : json_integer(size_of(&x->files[i]))));
	out = json_pack("{s:o, s:o, s:s, s:I, s:I, s:o, s:I, s:I, s:o, s:o}", "model", visible_json_string(x->hub->name), "path",
		visible_json_string(x->hub->path), "format", "onnx", "ir_version", (json_int_t)c->ir_version, "ir_version_most",
		(json_int_t)ort->ir_most, "opsets", opsets, "opset_least", (json_int_t)ort->opset_least, "opset_most",
		(json_int_t)ort->opset_most, "producer", c->producer ? visible_json_string(c->producer) : json_null(), "inputs",
		types_json(x->outline.inputs, x->outline.input_count));
	json_object_set_new(out, "outputs", types_json(x->outline.outputs, x->outline.output_count));
	json_object_set_new(out, "nodes", json_integer((json_int_t)c->node_count));
	json_object_set_new(out, "operators", operators);
	json_object_set_new(out, "parameters", json_integer(c->parameters > INT64_MAX ? INT64_MAX : (json_int_t)c->parameters));
	json_object_set_new(out, "bytes_by_dtype", bytes);
	json_object_set_new(out, "external", external);
	json_object_set_new(out, "refusals", refusals(x, a));
	json_object_set_new(out, "shapes_fixed_for", fixed_for(x, a) ? json_string(fixed_for(x, a)) : json_null());
	show_json(out);
	json_decref(out);
}

enum status inspect_onnx(const struct hub_model *hub, bool json, struct error *err)
{
	struct seen x = { .hub = hub };
	struct arena a = { 0 };
	enum status st = look(&x, &a, err);

	if (!st && json)
		print_json(&x, &a);
	else if (!st)
		print_text(&x, &a);
	arena_done(&a);
	return st;
}
