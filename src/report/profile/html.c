// SPDX-License-Identifier: Apache-2.0
// A profile as one HTML page. The flame graph is boxes in boxes: the width of each is its time, below it lies what it is made of;
// a click widens one, a click on what stands above goes back. Without scripts it can still be read: every box has its figures as
// its title.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "report/profile/profile.h"

struct frame {
	const char *name;
	const struct profile_node *node;
	struct frame *child, *next, *last;
	struct profile_sum sum;
};

static const char style[] = ":root{color-scheme:light "
			    "dark;--bg:#fff;--fg:#1b1f24;--dim:#57606a;--line:#d0d7de;--cpu:#f2b36b;--mem:#7fb2e5;--non:#cfd4da;-"
			    "-rest:#e9ecef;--ink:#1b1f24}\n"
			    "@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e8eb;--dim:#9aa4af;--line:#343b44;--"
			    "cpu:#b9772b;--mem:#2f6fab;--non:#4a525c;--rest:#262b31;--ink:#fff}}\n"
			    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.45 "
			    "system-ui,sans-serif}main{max-width:1200px;margin:0 auto;padding:20px}\n"
			    "h1{font-size:1.35rem;margin:0 0 .3rem}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}p{margin:.3rem "
			    "0}.dim{color:var(--dim)}\n"
			    ".flame{border:1px solid "
			    "var(--line);border-radius:4px;padding:3px;overflow:hidden}.f{display:flex;flex-direction:column;min-"
			    "width:0;overflow:hidden}\n"
			    ".k{display:flex;align-items:flex-start;min-width:0}.b{display:block;width:100%;height:22px;border:0;"
			    "border-right:1px solid var(--bg);border-bottom:1px solid var(--bg);\n"
			    "padding:0 4px;margin:0;font:12px/21px "
			    "system-ui,sans-serif;text-align:left;color:var(--ink);white-space:nowrap;overflow:hidden;text-"
			    "overflow:ellipsis;cursor:pointer;border-radius:2px}\n"
			    ".b:focus-visible{outline:2px solid "
			    "var(--fg);outline-offset:-2px}.cpu{background:var(--cpu)}.mem{background:var(--mem)}.non{background:"
			    "var(--non)}.rest{background:var(--rest);color:var(--dim)}\n"
			    "#now{min-height:3em;margin-top:6px;font-variant-numeric:tabular-nums}.key "
			    "span{display:inline-block;padding:0 8px;margin-right:6px;border-radius:2px;color:var(--ink)}\n"
			    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}th,td{padding:3px "
			    "8px;border-bottom:1px solid var(--line);text-align:right}\n"
			    "th:first-child,td:first-child{text-align:left;word-break:break-word}.wide{overflow-x:auto}\n";

// Widening: what is beside the box and beside what holds it is hidden.
static const char script[] =
	"(function(){var now=document.getElementById('now'),root=document.querySelector('.flame>.f');\n"
	"function show(b){now.textContent=b.title}\n"
	"function widen(f){root.parentNode.querySelectorAll('.f').forEach(function(x){x.style.display=''});\n"
	"for(var "
	"p=f;p&&p!==root;p=p.parentNode.closest('.f')){Array.prototype.forEach.call(p.parentNode.children,function(s){if(s!==p)s."
	"style.display='none'})}}\n"
	"root.addEventListener('click',function(e){var b=e.target.closest('.b');if(b){widen(b.parentNode);show(b)}});\n"
	"['mouseover','focusin'].forEach(function(t){root.addEventListener(t,function(e){var "
	"b=e.target.closest('.b');if(b)show(b)})});\n"
	"})();\n";

static struct frame *child_of(struct arena *a, struct frame *f, const char *name)
{
	struct frame *c;

	for (c = f->child; c; c = c->next)
		if (!c->node && text_is(c->name, name))
			return c;
	c = ARENA_NEW(a, struct frame);
	*c = (struct frame){ .name = name };
	if (f->last)
		f->last->next = c;
	else
		f->child = c;
	f->last = c;
	return c;
}

static void add_node(struct arena *a, struct frame *root, const struct profile_node *n)
{
	const char *scope = n->scope ? n->scope : "(not named)", *name = strrchr(n->name, '/');
	struct frame *f = root;

	profile_sum_add(&f->sum, &n->sum);
	for (const char *at = scope; *at;) {
		size_t length = strcspn(at, "/");

		f = child_of(a, f, arena_strndup(a, at, length));
		profile_sum_add(&f->sum, &n->sum);
		at += length + (at[length] == '/');
	}
	// "MatMul/MatMulScaleFusion/" is known by what stands before the engine's own word.
	const char *own = n->scope && *n->scope && text_starts(n->name, n->scope)
		? n->name + strlen(n->scope) + (n->name[strlen(n->scope)] == '/')
		: name && name[1] ? name + 1
				  : n->name;
	f = child_of(a, f, arena_printf(a, "%s%s", own, text_starts(own, n->op) ? "" : arena_printf(a, " (%s)", n->op)));
	f->node = n;
	profile_sum_add(&f->sum, &n->sum);
}

static const char *figures(
	const struct profile_view *v, const char *name, const struct profile_sum *s, const struct profile_node *n)
{
	struct arena *a = v->arena;
	double roof = profile_share(s);

	return arena_printf(a, "%s: %s, %.1f %% of the run%s%s%s%s", name, report_ms(a, s->ms), s->ms / v->whole_ms * 100,
		s->nodes > 1 ? arena_printf(a, ", %zu nodes", s->nodes) : "",
		s->costed_ms > 0 ? arena_printf(a, ", %.1f GFLOP/s, %.1f GB/s", s->flops / s->ms / 1e6, s->bytes / s->ms / 1e6)
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

static void write_frame(const struct profile_view *v, const struct frame *f, double of_ms, struct text *out)
{
	struct arena *a = v->arena;
	const char *roof = !(f->sum.roof_ms > 0) ? "non" : f->sum.memory_ms > f->sum.roof_ms / 2 ? "mem" : "cpu";

	if (!(f->sum.ms > 0))
		return;
	text_addf(out, "<div class=f style=\"flex:%.6f 1 0\"><button class=\"b %s\" title=\"%s\">%s</button>", f->sum.ms / of_ms,
		roof, html_esc(a, figures(v, f->name, &f->sum, f->node)), html_esc(a, f->name));
	if (f->child) {
		size_t count;
		const struct frame **parts = parts_of(a, f, &count);

		text_add(out, "<div class=k>");
		for (size_t i = 0; i < count; i++)
			write_frame(v, parts[i], f->sum.ms, out);
		text_add(out, "</div>");
	}
	text_add(out, "</div>\n");
}

static void write_flame(const struct profile_view *v, struct text *out)
{
	struct arena *a = v->arena;
	struct frame root = { .name = v->row->model ? v->row->model : "run" };

	for (size_t i = 0; i < v->node_count; i++)
		add_node(a, &root, &v->nodes[i]);
	text_addf(out, "<div class=flame><div class=f><button class=\"b rest\" title=\"%s\">%s: %s</button><div class=k>",
		html_esc(a, arena_printf(a, "the whole run: %s", report_ms(a, v->whole_ms))), html_esc(a, root.name),
		report_ms(a, v->whole_ms));
	size_t count;
	const struct frame **parts = parts_of(a, &root, &count);
	for (size_t i = 0; i < count; i++)
		write_frame(v, parts[i], v->whole_ms, out);
	if (v->between_ms > 0)
		text_addf(out,
			"<div class=f style=\"flex:%.6f 1 0\"><button class=\"b rest\" title=\"between nodes: %s\">between "
			"nodes</button></div>",
			v->between_ms / v->whole_ms, report_ms(a, v->between_ms));
	text_add(out,
		"</div></div></div>\n<p id=now class=dim>Point at a box for its figures; click to widen it, click what stands "
		"above to go back.</p>\n"
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
	if (s->costed_ms > 0)
		text_addf(out, "<td>%.1f</td><td>%.1f</td>", s->flops / s->ms / 1e6, s->bytes / s->ms / 1e6);
	else
		text_add(out, "<td></td><td></td>");
	text_addf(out, "<td>%s</td></tr>\n",
		isnan(roof)
			? ""
			: arena_printf(v->arena, "%.0f %s", roof * 100, s->memory_ms > s->roof_ms / 2 ? "memory" : "compute"));
}

void profile_view_html(const struct profile_view *v, struct text *out)
{
	struct arena *a = v->arena;
	const struct row *r = v->row;

	text_addf(out,
		"<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width, "
		"initial-scale=1\">"
		"<title>profile: %s on %s</title>\n<style>%s</style></head>\n<body><main>\n",
		html_esc(a, r->model ? r->model : ""), html_esc(a, r->requested ? r->requested : ""), style);
	text_addf(out, "<h1>%s on %s</h1>\n<p class=dim>%s %s, row %lld, %s%s: %lld profiled runs of %s",
		html_esc(a, r->model ? r->model : ""), html_esc(a, r->requested ? r->requested : ""),
		html_esc(a, r->engine ? r->engine : ""), html_esc(a, r->engine_version ? r->engine_version : ""),
		(long long)r->row, text_is(r->weights, "synthetic") ? "synthetic weights, " : "",
		r->sequence == ROW_NONE ? "one input" : arena_printf(a, "%lld tokens", (long long)r->sequence),
		(long long)json_integer_value(json_object_get(v->facts, "runs")), report_ms(a, v->whole_ms));
	if (r->latency_ms > 0)
		text_addf(out, ", without the profile %s", report_ms(a, r->latency_ms));
	text_addf(out, ". The nodes make up %.1f %% of it.</p>\n", v->nodes_ms / v->whole_ms * 100);
	for (size_t i = 0; i < v->sentence_count; i++)
		text_addf(out, "<p>%s</p>\n", html_esc(a, v->sentences[i]));
	text_add(out, "<h2>Where the time is</h2>\n");
	write_flame(v, out);
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
		isfinite(r->bandwidth_gb_s) ? arena_printf(a, ", %.1f GB/s from memory", r->bandwidth_gb_s) : "");
	text_addf(out, "</main>\n<script>%s</script>\n</body></html>\n", script);
}
