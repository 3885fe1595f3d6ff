// SPDX-License-Identifier: Apache-2.0
// profile.h: gathering, and the sentences.
#include "report/profile/profile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "report/summary.h"

enum { SENTENCE_PARTS = 4 };
static const double part_least = 0.03, uneven = 1.3;

const char *profile_rate(struct arena *a, const struct profile_sum *s, double amount)
{
	const double rate = s->costed_ms > 0 ? amount / s->ms / 1e6 : 0;

	return isfinite(rate) && rate > 0 ? arena_printf(a, "%.1f", rate) : "";
}

double profile_share(const struct profile_sum *s)
{
	return s->roof_ms > 0 && s->costed_ms > 0 ? s->roof_ms / s->costed_ms : (double)NAN;
}

static double real_of(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const char *text_of(struct arena *a, const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? arena_strdup(a, s) : NULL;
}

void profile_sum_add(struct profile_sum *sum, const struct profile_sum *other)
{
	sum->ms += other->ms;
	sum->at += other->at;
	sum->roof_ms += other->roof_ms;
	sum->costed_ms += other->costed_ms;
	sum->flops += other->flops;
	sum->bytes += other->bytes;
	sum->memory_ms += other->memory_ms;
	sum->nodes += other->nodes;
}

static void read_node(struct profile_node *out, struct arena *a, const json_t *n)
{
	double roof = real_of(n, "roof_ms"), flops = real_of(n, "flops"), bytes = real_of(n, "bytes"), ms = real_of(n, "ms");
	const char *by = json_string_value(json_object_get(n, "roof")), *name = text_of(a, n, "name"), *op = text_of(a, n, "op");

	*out = (struct profile_node){ .name = name ? name : "",
		.op = op && *op ? op : "?",
		.kernel = text_of(a, n, "kernel"),
		.scope = text_of(a, n, "scope"),
		.built = (int)json_integer_value(json_object_get(n, "drawn_nodes")) };
	while (out->scope && *out->scope == '/') // exporters of others begin their names so
		out->scope++;
	out->sum = (struct profile_sum){
		.ms = isnan(ms) ? 0 : ms, .nodes = 1, .flops = isnan(flops) ? 0 : flops, .bytes = isnan(bytes) ? 0 : bytes
	};
	if (!isnan(roof)) {
		out->sum.roof_ms = roof;
		out->sum.costed_ms = out->sum.ms;
		out->sum.memory_ms = text_is(by, "memory") ? roof : 0;
	}
}

// ---- scopes -------------------------------------------------------------------------------------------------------------

const char *profile_without_numbers(struct arena *a, const char *scope)
{
	char *out = arena_strdup(a, scope), *to = out;

	for (const char *at = scope; *at;) {
		if (*at == '.' && isdigit((unsigned char)at[1])) {
			const char *end = at + 1;

			while (isdigit((unsigned char)*end))
				end++;
			if (!*end || *end == '/' || *end == '.') {
				*to++ = '.';
				*to++ = '*';
				at = end;
				continue;
			}
		}
		*to++ = *at++;
	}
	*to = '\0';
	return out;
}

struct instance {
	const char *path, *of;
	double ms;
}; // a scope as it is called, and its line

struct gathering {
	struct profile_view *v;
	struct instance *instances;
	size_t instance_count;
};

static struct profile_scope *scope_line(struct profile_view *v, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct profile_scope *s = &v->scopes[v->scope_count];

	for (size_t i = 0; i < v->scope_count; i++)
		if (text_is(v->scopes[i].path, path))
			return &v->scopes[i];
	v->scope_count++;
	*s = (struct profile_scope){ .path = path, .name = slash ? slash + 1 : path, .least_ms = HUGE_VAL };
	for (const char *c = path; *c; c++)
		s->depth += *c == '/';
	return s;
}

static void add_instance(struct gathering *g, const char *path, const char *of, double ms)
{
	for (size_t i = 0; i < g->instance_count; i++)
		if (text_is(g->instances[i].path, path)) {
			g->instances[i].ms += ms;
			return;
		}
	g->instances[g->instance_count++] = (struct instance){ path, of, ms };
}

static void add_to_scopes(struct gathering *g, const struct profile_node *n)
{
	struct arena *a = g->v->arena;
	const char *end = n->scope;

	for (bool more = true; more;) {
		end = strchr(end, '/');
		more = end != NULL;
		const char *path = more ? arena_strndup(a, n->scope, (size_t)(end++ - n->scope)) : n->scope,
			   *of = profile_without_numbers(a, path);

		profile_sum_add(&scope_line(g->v, *of ? of : "(top)")->sum, &n->sum);
		add_instance(g, *path ? path : "(top)", *of ? of : "(top)", n->sum.ms);
	}
}

static double lies_at(const struct profile_sum *s)
{
	return s->ms > 0 ? s->at / s->ms : 0;
}

static int by_place(const void *a, const void *b)
{
	double x = lies_at(&((const struct profile_scope *)a)->sum), y = lies_at(&((const struct profile_scope *)b)->sum);

	return (x > y) - (x < y);
}

// Parts of `of` (NULL: the top) in the order in which their time lies in the run, each with its own parts after it.
static void order_scopes(const struct profile_scope *from, size_t count, const struct profile_scope *of, struct arena *a,
	struct profile_scope **to)
{
	struct profile_scope *parts = ARENA_ARRAY(a, count + 1, struct profile_scope);
	size_t n = 0, length = of ? strlen(of->path) : 0;

	for (size_t i = 0; i < count; i++)
		if (of ? from[i].depth == of->depth + 1 && !strncmp(from[i].path, of->path, length) && from[i].path[length] == '/'
		       : from[i].depth == 0)
			parts[n++] = from[i];
	qsort(parts, n, sizeof *parts, by_place);
	for (size_t i = 0; i < n; i++) {
		*(*to)++ = parts[i];
		order_scopes(from, count, &parts[i], a, to);
	}
}

static void close_scopes(struct gathering *g)
{
	struct profile_scope *ordered = ARENA_ARRAY(g->v->arena, g->v->scope_count + 1, struct profile_scope), *end = ordered;

	for (size_t i = 0; i < g->instance_count; i++) {
		const struct instance *x = &g->instances[i];
		struct profile_scope *s = scope_line(g->v, x->of);

		if (!s->instances++)
			s->first = x->path;
		s->last = x->path;
		s->least_ms = x->ms < s->least_ms ? x->ms : s->least_ms;
		if (x->ms > s->most_ms) {
			s->most_ms = x->ms;
			s->slowest = x->path;
		}
	}
	order_scopes(g->v->scopes, g->v->scope_count, NULL, g->v->arena, &end);
	g->v->scopes = ordered;
	g->v->scope_count = (size_t)(end - ordered);
}

// ---- kinds --------------------------------------------------------------------------------------------------------------

static void add_kind(struct profile_kind *kinds, size_t *count, const char *op, const char *scope, const struct profile_sum *sum)
{
	size_t i = 0;

	while (i < *count &&
		!(text_is(kinds[i].op, op) && (kinds[i].scope == scope || (scope && text_is(kinds[i].scope, scope)))))
		i++;
	if (i == *count)
		kinds[(*count)++] = (struct profile_kind){ .op = op, .scope = scope };
	profile_sum_add(&kinds[i].sum, sum);
}

static int most_time(const void *a, const void *b)
{
	double x = ((const struct profile_kind *)a)->sum.ms, y = ((const struct profile_kind *)b)->sum.ms;

	return (x < y) - (x > y);
}

static const struct profile_node *ordering;

static int slower(const void *a, const void *b)
{
	double x = ordering[*(const size_t *)a].sum.ms, y = ordering[*(const size_t *)b].sum.ms;

	return (x < y) - (x > y);
}

// ---- sentences ----------------------------------------------------------------------------------------------------------

static void sentence(struct profile_view *v, const char *text)
{
	v->sentences[v->sentence_count++] = text;
}

static const char *percent(struct arena *a, double share)
{
	return arena_printf(a, "%.*f %%", fabs(share) < 0.0995 ? 1 : 0, share * 100);
}

static void say_parts(struct profile_view *v)
{
	struct arena *a = v->arena;

	for (size_t i = 0; i < v->part_count && i < SENTENCE_PARTS; i++) {
		const struct profile_kind *k = &v->parts[i];
		double share = k->sum.ms / v->whole_ms, roof = profile_share(&k->sum);
		const char *where = !k->scope ? ", which are not named after a layer"
			: *k->scope           ? arena_printf(a, " of %s", k->scope)
					      : " at the top of the graph";

		if (share < part_least)
			break;
		sentence(v,
			arena_printf(a, "%s of the time is in %zu %s%s%s.", percent(a, share), k->sum.nodes, k->op, where,
				isnan(roof) ? ""
					    : arena_printf(a, ", at %s of what this machine can do (%s)", percent(a, roof),
						      k->sum.memory_ms > k->sum.roof_ms / 2 ? "memory-bound" : "compute-bound")));
	}
}

static void say_uneven(struct profile_view *v)
{
	for (size_t i = 0; i < v->scope_count; i++) {
		const struct profile_scope *s = &v->scopes[i];
		double mean = s->sum.ms / (double)s->instances;

		if (s->depth == 0 && s->instances > 2 && s->most_ms > uneven * mean)
			sentence(v,
				arena_printf(v->arena, "%s takes %.1f times as long as the mean of the %zu %s.", s->slowest,
					s->most_ms / mean, s->instances, s->name));
	}
}

static void say_all(struct profile_view *v)
{
	struct arena *a = v->arena;
	const struct row *r = v->row;

	v->sentences = ARENA_ARRAY(a, SENTENCE_PARTS + v->scope_count + 5, const char *);
	if (!isnan(r->roofline_share)) { // the time without profiling, where the row has it
		const double allowed_ms = r->roofline_share * v->whole_ms,
			     took_ms = r->latency_ms > 0 ? r->latency_ms : v->whole_ms;

		sentence(v,
			arena_printf(a, "The roofs of this machine, %.0f GFLOP/s and %.1f GB/s, allow %s for what took %s: %s.",
				r->peak_gflops, r->bandwidth_gb_s, report_ms(a, allowed_ms), report_ms(a, took_ms),
				percent(a, allowed_ms / took_ms)));
	}
	say_parts(v);
	say_uneven(v);
	if (v->not_named_ms / v->whole_ms >= 0.01)
		sentence(v,
			arena_printf(a,
				"%s of the time is in nodes that the engine made and that could not be brought back to a layer.",
				percent(a, v->not_named_ms / v->whole_ms)));
	for (size_t i = 0; i < v->op_count; i++)
		if (v->ops[i].sum.ms / v->whole_ms > 0.01 && profile_share(&v->ops[i].sum) > 1.05) {
			sentence(v,
				arena_printf(a,
					"%s went beyond a roof (%s): the roofs were measured while the machine was slower, or "
					"what it reads was still in a cache.",
					v->ops[i].op, percent(a, profile_share(&v->ops[i].sum))));
			break;
		}
	if (v->overhead > 1.1)
		sentence(v,
			arena_printf(a, "Profiling made a run %.2f times as long: small nodes are shown longer than they are.",
				v->overhead));
}

// ---- the view -----------------------------------------------------------------------------------------------------------

static void drop_json(void *json)
{
	json_decref(json);
}

enum status profile_view(struct profile_view **out, struct arena *a, const struct row *r, const json_t *nodes, struct error *err)
{
	struct profile_view *v = ARENA_NEW(a, struct profile_view);
	size_t count = json_array_size(nodes), parts = count;
	struct gathering g = { .v = v };

	*v = (struct profile_view){ .arena = a, .row = r, .facts = json_parse(r->profile), .node_count = count };
	arena_defer(a, drop_json, v->facts);
	v->whole_ms = real_of(v->facts, "whole_ms");
	if (!count || !(v->whole_ms > 0))
		return error_set(err, STATUS_BAD_INPUT, "row %lld holds no profile", (long long)r->row);
	v->overhead = r->latency_ms > 0 ? v->whole_ms / r->latency_ms : (double)NAN;
	v->nodes = ARENA_ARRAY(a, count, struct profile_node);
	v->slowest = ARENA_ARRAY(a, count, size_t);
	v->ops = ARENA_ARRAY(a, count, struct profile_kind);
	v->parts = ARENA_ARRAY(a, count, struct profile_kind);
	for (size_t i = 0; i < count; i++) {
		read_node(&v->nodes[i], a, json_array_get(nodes, i));
		for (const char *c = v->nodes[i].scope; c && *c; c++)
			parts += *c == '/';
	}
	v->scopes = ARENA_ARRAY(a, parts + 1, struct profile_scope);
	g.instances = ARENA_ARRAY(a, parts + 1, struct instance);
	for (size_t i = 0; i < count; i++) {
		const struct profile_node *n = &v->nodes[i];

		v->slowest[i] = i;
		v->nodes[i].sum.at = (double)i * n->sum.ms;
		v->nodes_ms += n->sum.ms;
		add_kind(v->ops, &v->op_count, n->op, NULL, &n->sum);
		add_kind(v->parts, &v->part_count, n->op, n->scope ? profile_without_numbers(a, n->scope) : NULL, &n->sum);
		if (n->scope)
			add_to_scopes(&g, n);
		else
			v->not_named_ms += n->sum.ms;
	}
	close_scopes(&g);
	v->between_ms = v->whole_ms - v->nodes_ms;
	qsort(v->ops, v->op_count, sizeof *v->ops, most_time);
	qsort(v->parts, v->part_count, sizeof *v->parts, most_time);
	ordering = v->nodes;
	qsort(v->slowest, count, sizeof *v->slowest, slower);
	say_all(v);
	*out = v;
	return STATUS_OK;
}

// ---- JSON ---------------------------------------------------------------------------------------------------------------

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *sum_json(const struct profile_view *v, const struct profile_sum *s)
{
	return json_pack("{s:I, s:f, s:f, s:o, s:o, s:o, s:o}", "nodes", (json_int_t)s->nodes, "ms", s->ms, "share",
		s->ms / v->whole_ms, "gflops", s->costed_ms > 0 ? number(s->flops / s->ms / 1e6) : json_null(), "gb_s",
		s->costed_ms > 0 ? number(s->bytes / s->ms / 1e6) : json_null(), "roofline_share", number(profile_share(s)),
		"roof", s->roof_ms > 0 ? json_string(s->memory_ms > s->roof_ms / 2 ? "memory" : "compute") : json_null());
}

static json_t *with(json_t *object, const char *key, json_t *what)
{
	json_object_set_new(object, key, what);
	return object;
}

json_t *profile_view_json(const struct profile_view *v)
{
	const struct row *r = v->row;
	json_t *scopes = json_array(), *ops = json_array(), *nodes = json_array(), *sentences = json_array();

	for (size_t i = 0; i < v->scope_count; i++) {
		const struct profile_scope *s = &v->scopes[i];
		json_t *one = with(sum_json(v, &s->sum), "scope", json_string(s->path));

		with(with(one, "depth", json_integer(s->depth)), "instances", json_integer((json_int_t)s->instances));
		json_array_append_new(scopes, with(with(one, "least_ms", number(s->least_ms)), "most_ms", number(s->most_ms)));
	}
	for (size_t i = 0; i < v->op_count; i++)
		json_array_append_new(ops, with(sum_json(v, &v->ops[i].sum), "op", json_string(v->ops[i].op)));
	for (size_t i = 0; i < v->node_count; i++) {
		const struct profile_node *n = &v->nodes[i];
		json_t *one = with(with(sum_json(v, &n->sum), "name", json_string(n->name)), "op", json_string(n->op));

		with(one, "scope", n->scope ? json_string(n->scope) : json_null());
		json_array_append_new(nodes,
			with(with(one, "kernel", n->kernel ? json_string(n->kernel) : json_null()), "drawn_nodes",
				json_integer(n->built)));
	}
	for (size_t i = 0; i < v->sentence_count; i++)
		json_array_append_new(sentences, json_string(v->sentences[i]));
	return json_pack(
		"{s:I, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:O, s:o, s:o, s:o, s:o}",
		"row", (json_int_t)r->row, "model", r->model, "requested", r->requested, "engine", r->engine, "engine_version",
		r->engine_version, "verdict", r->verdict, "latency_ms", number(r->latency_ms), "whole_ms", v->whole_ms,
		"nodes_ms", v->nodes_ms, "between_nodes_ms", v->between_ms, "not_named_ms", v->not_named_ms, "device_ms",
		number(r->device_ms), "overhead", number(v->overhead), "peak_gflops", number(r->peak_gflops), "bandwidth_gb_s",
		number(r->bandwidth_gb_s), "roofline_share", number(r->roofline_share), "profile", v->facts, "bottlenecks",
		sentences, "scopes", scopes, "ops", ops, "nodes", nodes);
}
