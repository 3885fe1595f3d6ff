// SPDX-License-Identifier: Apache-2.0
// A profile as one HTML page. The flame graph is boxes in boxes: the width of each is its time, below it lies what it is made of;
// a click widens one, a click on what stands above goes back. Layers that repeat are one box ("layers.* × 12"), or each by itself
// in a second graph. Without scripts it can still be read: every box has its figures as its title.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "question/standing.h"
#include "report/html/html.h"
#include "report/profile/profile.h"

struct frame {
	const char *name, *path;         // path: as struct profile_scope has it, of a scope
	const struct profile_node *node; // of a leaf that is one node
	bool is_leaf;
	struct frame *child, *next, *last;
	struct profile_sum sum;
};

// `merge`: one that is there already with this name is taken.
static struct frame *child_of(struct arena *a, struct frame *f, const char *name, bool leaf, bool merge)
{
	struct frame *c;

	for (c = f->child; c && merge; c = c->next)
		if (c->is_leaf == leaf && text_is(c->name, name))
			return c;
	c = ARENA_NEW(a, struct frame);
	*c = (struct frame){ .name = name, .is_leaf = leaf };
	if (f->last)
		f->last->next = c;
	else
		f->child = c;
	f->last = c;
	return c;
}

// `fold`: "layers.0" to "layers.11" are one frame, and so are their nodes of one name.
static void add_node(struct arena *a, struct frame *root, const struct profile_node *n, bool fold)
{
	const char *scope = n->scope ? n->scope : "(not named)", *name = strrchr(n->name, '/');
	const char *shown = fold ? profile_without_numbers(a, scope) : scope;
	struct frame *f = root;

	profile_sum_add(&f->sum, &n->sum);
	for (const char *at = shown; *at;) {
		size_t length = strcspn(at, "/");

		f = child_of(a, f, arena_strndup(a, at, length), false, true);
		f->path = arena_strndup(a, shown, (size_t)(at - shown) + length);
		profile_sum_add(&f->sum, &n->sum);
		at += length + (at[length] == '/');
	}
	// "MatMul/MatMulScaleFusion/" is known by what stands before the engine's own word.
	const char *own = n->scope && *n->scope && text_starts(n->name, n->scope)
		? n->name + strlen(n->scope) + (n->name[strlen(n->scope)] == '/')
		: name && name[1] ? name + 1
				  : n->name;
	own = arena_printf(a, "%s%s", own, text_starts(own, n->op) ? "" : arena_printf(a, " (%s)", n->op));
	f = child_of(a, f, own, true, fold);
	f->node = f->sum.nodes == 0 ? n : NULL;
	profile_sum_add(&f->sum, &n->sum);
}

// "layers.* × 12".
static const char *frame_words(const struct profile_view *v, const struct frame *f)
{
	for (size_t i = 0; f->path && strchr(f->name, '*') && i < v->scope_count; i++)
		if (text_is(v->scopes[i].path, f->path) && v->scopes[i].instances > 1)
			return arena_printf(v->arena, "%s × %zu", f->name, v->scopes[i].instances);
	return f->name;
}

static const char *figures(
	const struct profile_view *v, const char *name, const struct profile_sum *s, const struct profile_node *n)
{
	struct arena *a = v->arena;
	const char *flops = profile_rate(a, s, s->flops), *bytes = profile_rate(a, s, s->bytes);
	double roof = profile_share(s);

	return arena_printf(a, "%s: %s, %.1f %% of the run%s%s%s%s", name, report_ms(a, s->ms), s->ms / v->whole_ms * 100,
		s->nodes > 1 ? arena_printf(a, ", %zu nodes", s->nodes) : "",
		*flops || *bytes ? arena_printf(a, "%s%s%s%s%s%s", *flops ? ", " : "", flops, *flops ? " GFLOP/s" : "",
					   *bytes ? ", " : "", bytes, *bytes ? " GB/s" : "")
				 : "",
		isnan(roof) ? ""
			    : arena_printf(a, ", %.0f %% of the roofline (%s)", roof * 100,
				      s->memory_ms > s->roof_ms / 2 ? "memory" : "compute"),
		n ? arena_printf(a, "; %s%s%s; %s", n->op, n->kernel ? " " : "", n->kernel ? n->kernel : "", n->name) : "");
}

static int by_place(const void *a, const void *b)
{
	const struct frame *x = *(const struct frame *const *)a, *y = *(const struct frame *const *)b;
	double d = (x->sum.ms > 0 ? x->sum.at / x->sum.ms : 0) - (y->sum.ms > 0 ? y->sum.at / y->sum.ms : 0);

	return (d > 0) - (d < 0);
}

// What a frame is made of, in the order in which it ran; *count of them.
static const struct frame **parts_of(struct arena *a, const struct frame *f, size_t *count)
{
	const struct frame **parts;

	*count = 0;
	for (const struct frame *c = f->child; c; c = c->next)
		++*count;
	parts = ARENA_ARRAY(a, *count + 1, const struct frame *);
	*count = 0;
	for (const struct frame *c = f->child; c; c = c->next)
		parts[(*count)++] = c;
	qsort(parts, *count, sizeof *parts, by_place);
	return parts;
}

// A share as flex-grow. Below 1 in sum a box that is widened alone would not fill its line.
static double grows(double share)
{
	return fmax(1, share * 1e6);
}

static void write_box(const struct profile_view *v, const char *roof, const char *title, const char *name, double ms, int level,
	struct text *out)
{
	text_addf(out,
		"<button type=button class=\"b %s\" role=treeitem aria-level=%d tabindex=%d data-ms=%.6g title=\"%s\" "
		"aria-label=\"%s\">%s</button>",
		roof, level, level == 1 ? 0 : -1, ms, html_esc(v->arena, title), html_esc(v->arena, title),
		html_esc(v->arena, name));
}

static void write_frame(const struct profile_view *v, const struct frame *f, double of_ms, int level, struct text *out)
{
	struct arena *a = v->arena;
	const char *roof = !(f->sum.roof_ms > 0) ? "non" : f->sum.memory_ms > f->sum.roof_ms / 2 ? "mem" : "cpu";

	if (!(f->sum.ms > 0))
		return;
	const char *name = frame_words(v, f);
	text_addf(out, "<div class=f role=none style=\"flex:%.0f 1 0\">", grows(f->sum.ms / of_ms));
	write_box(v, roof, figures(v, name, &f->sum, f->node), name, f->sum.ms, level, out);
	if (f->child) {
		size_t count;
		const struct frame **parts = parts_of(a, f, &count);

		text_add(out, "<div class=k role=group>");
		for (size_t i = 0; i < count; i++)
			write_frame(v, parts[i], f->sum.ms, level + 1, out);
		text_add(out, "</div>");
	}
	text_add(out, "</div>\n");
}

static void write_flame(const struct profile_view *v, bool fold, bool hidden, struct text *out)
{
	struct arena *a = v->arena;
	struct frame root = { .name = report_model_name(v->row->model) };
	size_t count;

	for (size_t i = 0; i < v->node_count; i++)
		add_node(a, &root, &v->nodes[i], fold);
	text_addf(out, "<div class=flame role=tree aria-label=\"Flame graph%s\"%s><div class=f role=none>",
		fold ? "" : ", each layer by itself", hidden ? " hidden" : "");
	write_box(v, "rest", arena_printf(a, "the whole run: %s", report_ms(a, v->whole_ms)),
		arena_printf(a, "%s: %s", root.name, report_ms(a, v->whole_ms)), v->whole_ms, 1, out);
	text_add(out, "<div class=k role=group>");
	const struct frame **parts = parts_of(a, &root, &count);
	for (size_t i = 0; i < count; i++)
		write_frame(v, parts[i], v->whole_ms, 2, out);
	if (v->between_ms > 0) {
		text_addf(out, "<div class=f role=none style=\"flex:%.0f 1 0\">", grows(v->between_ms / v->whole_ms));
		write_box(v, "rest", arena_printf(a, "between nodes: %s", report_ms(a, v->between_ms)), "between nodes",
			v->between_ms, 2, out);
		text_add(out, "</div>\n");
	}
	text_add(out, "</div></div></div>\n");
}

// The graph with its layers folded, where any repeat, and with each by itself.
static void write_flames(const struct profile_view *v, struct text *out)
{
	bool repeats = false;

	for (size_t i = 0; i < v->scope_count; i++)
		repeats = repeats || (strchr(v->scopes[i].name, '*') && v->scopes[i].instances > 1);
	text_addf(out,
		"<div class=tools><input id=find type=search placeholder=\"Find (/)\" aria-label=\"Find boxes by name, kind or "
		"kernel\"><span id=found class=dim role=status></span>%s</div>\n",
		repeats ? "<button type=button id=each aria-pressed=false title=\"Layers that repeat, one by one\">Each layer by "
			  "itself</button>"
			: "");
	if (repeats)
		write_flame(v, true, false, out);
	write_flame(v, false, repeats, out);
	text_add(out,
		"<p id=now class=dim aria-live=polite>Point at a box for its figures; click to widen it, click what stands above "
		"to go "
		"back. Arrows go from box to box, Enter widens, Escape goes back.</p>\n"
		"<p class=\"key dim\"><span class=cpu>arithmetic</span><span class=mem>memory</span><span "
		"class=non>unknown</span>which roof is the nearer one</p>\n");
}

static void table_head(struct text *out, const char *title, const char *first)
{
	text_addf(out,
		"<h2>%s</h2><div class=wide><table><thead><tr><th>%s</th><th>ms</th><th>%% of "
		"time</th><th>nodes</th><th>GFLOP/s</th><th>GB/s</th><th>%% of roof</th></tr></thead><tbody>\n",
		title, first);
}

static void table_line(const struct profile_view *v, struct text *out, int depth, const char *name, const struct profile_sum *s)
{
	double roof = profile_share(s);

	text_addf(out, "<tr><td style=\"padding-left:%dpx\">%s</td><td>%.3f</td><td>%.1f</td><td>%zu</td>", 8 + 18 * depth,
		html_esc(v->arena, name), s->ms, s->ms / v->whole_ms * 100, s->nodes);
	text_addf(out, "<td>%s</td><td>%s</td><td>%s</td></tr>\n", profile_rate(v->arena, s, s->flops),
		profile_rate(v->arena, s, s->bytes),
		isnan(roof)
			? ""
			: arena_printf(v->arena, "%.0f %s", roof * 100, s->memory_ms > s->roof_ms / 2 ? "memory" : "compute"));
}

void profile_view_html(const struct profile_view *v, struct text *out)
{
	struct arena *a = v->arena;
	const struct row *r = v->row;
	const char *marks = row_qualifiers(a, r, QUALIFY_ALL);
	struct text script = { 0 };
	size_t first = v->sentence_count < 2 ? v->sentence_count : 2; // the conclusion

	html_asset(&script, "profile.js");
	text_addf(out,
		"<!doctype html>\n<html lang=en><head><meta charset=utf-8>%s<meta name=viewport content=\"width=device-width, "
		"initial-scale=1\">"
		"<title>profile: %s on %s</title>\n<style>",
		html_policy(a, text_get(&script), script.length), html_esc(a, report_model_name(r->model)),
		html_esc(a, r->requested ? r->requested : ""));
	html_asset(out, "profile.css");
	text_addf(out, "</style></head>\n<body><main>\n<h1>%s on %s</h1>\n", html_esc(a, report_model_name(r->model)),
		html_esc(a, r->requested ? r->requested : ""));
	for (size_t i = 0; i < first; i++)
		text_addf(out, "<p class=lede>%s</p>\n", html_esc(a, v->sentences[i]));
	text_addf(out, "<p class=dim>%s %s, row %lld, %s%s%s: %lld profiled runs of %s", html_esc(a, r->engine ? r->engine : ""),
		html_esc(a, r->engine_version ? r->engine_version : ""), (long long)r->row,
		marks != NULL ? html_esc(a, marks) : "", marks != NULL ? ", " : "",
		r->sequence == ROW_NONE ? "one input" : arena_printf(a, "%lld tokens", (long long)r->sequence),
		(long long)json_integer_value(json_object_get(v->facts, "runs")), report_ms(a, v->whole_ms));
	if (r->latency_ms > 0)
		text_addf(out, ", without the profile %s", report_ms(a, r->latency_ms));
	text_addf(out, ". The nodes make up %.1f %% of it.</p>\n", v->nodes_ms / v->whole_ms * 100);
	text_add(out, "<h2>Where the time is</h2>\n");
	write_flames(v, out);
	for (size_t i = first; i < v->sentence_count; i++)
		text_addf(out, "<p>%s</p>\n", html_esc(a, v->sentences[i]));
	table_head(out, "By layer", "layer");
	for (size_t i = 0; i < v->scope_count; i++)
		table_line(v, out, v->scopes[i].depth,
			v->scopes[i].instances > 1 ? arena_printf(a, "%s (%zu)", v->scopes[i].name, v->scopes[i].instances)
						   : v->scopes[i].name,
			&v->scopes[i].sum);
	if (v->not_named_ms > 0)
		text_addf(out, "<tr><td>(not named)</td><td>%.3f</td><td>%.1f</td></tr>\n", v->not_named_ms,
			v->not_named_ms / v->whole_ms * 100);
	text_addf(out, "<tr><td>(between nodes)</td><td>%.3f</td><td>%.1f</td></tr>\n</tbody></table></div>\n", v->between_ms,
		v->between_ms / v->whole_ms * 100);
	table_head(out, "By kind of node", "kind");
	for (size_t i = 0; i < v->op_count; i++)
		table_line(v, out, 0, v->ops[i].op, &v->ops[i].sum);
	text_addf(out, "</tbody></table></div>\n<p class=dim>Roofs: %s GFLOP/s (%s)%s, measured in the same process.</p>\n",
		isfinite(r->peak_gflops) ? arena_printf(a, "%.0f", r->peak_gflops) : "?",
		html_esc(a,
			json_string_value(json_object_get(v->facts, "peak_by"))
				? json_string_value(json_object_get(v->facts, "peak_by"))
				: "?"),
		isfinite(r->bandwidth_gb_s)
			? arena_printf(a, ", %.1f GB/s from memory and %.0f GB/s within the caches", r->bandwidth_gb_s,
				  json_number_value(json_object_get(v->facts, "cache_gb_s")))
			: "");
	text_addf(out, "</main>\n<script>%s</script>\n</body></html>\n", text_get(&script));
	text_done(&script);
}
