// SPDX-License-Identifier: Apache-2.0
// assay build: the ONNX graph beside its weights. It builds and writes; no engine, no database and no child are involved, so that
// the whole process takes milliseconds.
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "artifact/artifact.h"
#include "base/clock.h"
#include "command.h"
#include "emit.h"
#include "fetching.h"
#include "progress.h"
#include "cell/inputs.h"
#include "platform/platform.h"
#include "show.h"

struct build {
	const char *folder, *platform, *graph, *precision;
	struct precise precise;
	bool link, explain, text, is_static, synthetic, json;
	int64_t batch, sequence, layers, form;
};

// One line a choice: what stands in the graph, and why there. The platform's row decides; this only puts it in words.
// In which case a form is taken that is not the first: by what it differs in from the one before.
static const char *why_form(const struct graph_form *f, const struct graph_form *before)
{
	if (f->is_static != before->is_static)
		return f->is_static ? "fixed shapes, where dynamic ones are refused"
				    : "dynamic shapes, where a length has to stay open, as in generation";
	if (f->gelu != before->gelu)
		return f->gelu == GELU_ERF ? "Gelu taken apart, where the operator is refused"
					   : "Gelu as one operator, where Erf is refused";
	if (f->index32 != before->index32)
		return f->index32 ? "int32 indices, where int64 is refused" : "int64 indices";
	if (f->sine_tables != before->sine_tables)
		return f->sine_tables ? "rotary angles by tables" : "rotary angles by Sin and Cos";
	if (f->attention != before->attention)
		return f->attention == ATTENTION_PLAIN ? "attention taken apart, where the operator is refused"
						       : "attention as one operator";
	if (f->norm != before->norm)
		return f->norm == NORM_PLAIN_RMS ? "RMS norm taken apart, where the operator is refused"
						 : "RMS norm as one operator";
	if (f->experts != before->experts)
		return f->experts == EXPERTS_ALL ? "every expert computes every token" : "experts compute what chose them";
	return f->linear != before->linear ? "another form of the linear layers" : "the same";
}

static void explain_variants(const struct platform *p, size_t built, struct arena *a)
{
	emit("variants of platform %s, the next one where an operator, a type or a shape of the one before is refused:\n",
		p->name);
	for (size_t i = 0; i < p->form_count; i++)
		emit("  %zu %c %-50s %s\n", i + 1, i == built ? '*' : ' ', graph_form_text(a, &p->forms[i]),
			i ? why_form(&p->forms[i], &p->forms[i - 1]) : "tried first");
}

static void explain(const struct platform *p, const struct graph_form *f, const struct spec *spec)
{
	const char *unshared = arch_unshared(spec);

	static const char *const linear[] = {
		[LINEAR_GEMM] =
			"Gemm with transB: the [out, in] weight of the file is used as it lies, and nothing is folded at load",
		[LINEAR_FUSED_MATMUL] =
			"com.microsoft.FusedMatMul with transB: any rank, the [out, in] weight of the file is used as it lies",
		[LINEAR_MATMUL_TRANSPOSED] =
			"Transpose + MatMul: standard operators; an engine may fold a copy of every weight at load",
	};
	static const char *const attention[] = {
		[ATTENTION_PLAIN] = "MatMul, Softmax, MatMul: taken by every engine; the engine fuses it where it can",
		[ATTENTION_MHA] = "com.microsoft.MultiHeadAttention: one kernel, no score matrix kept",
	};
	static const char *const gelu[] = {
		[GELU_ERF] = "taken apart with Erf: opset 17 has no Gelu; engines fuse the pattern",
		[GELU_OP] = "Gelu of opset 20: raises the graph's opset to 20",
		[GELU_MICROSOFT] = "com.microsoft.Gelu: one kernel, opset stays 17",
	};
	static const char *const norm[] = {
		[NORM_PLAIN_RMS] =
			"LayerNormalization fused (taken apart it overflows in float16); RMS norm taken apart in float32",
		[NORM_FUSED_RMS] = "LayerNormalization fused; RMS norm as SimplifiedLayerNormalization, one kernel",
	};
	emit("choices in the one that was built (%s):\n", p->summary);
	emit("  linear       %s\n", linear[f->linear]);
	emit("  attention    %s\n", attention[f->attention]);
	emit("  gelu         %s\n", gelu[f->gelu]);
	emit("  norm         %s\n", norm[f->norm]);
	if (!strcmp(arch_head(spec), "causal-lm")) {
		emit("  cache        Concat of past and new: right for every batch and padding\n");
		if (p->cache == CACHE_SHARED && !unshared)
			emit("               `run --task generate`: com.microsoft.GroupQueryAttention, which writes into one "
			     "buffer\n");
		else
			emit("               `run --task generate`: likewise, because %s\n",
				p->cache == CACHE_SHARED ? unshared : "no other form is known to be right here");
	}
	emit("  indices      %s\n",
		f->index32 ? "int32: cast once, where a Gather reads them" : "int64, as the model's inputs are");
	if (f->sine_tables)
		emit("  angles       rotary ones by tables, others by a polynomial: Sin and Cos may be wrong by 2^-11 here\n");
	if (f->around_webgpu)
		emit("  kernels      floats to int64 by way of int32, convolutions in channels that WebGPU computes right\n");
	if (f->corners_by_matmul)
		emit("  resizing     with corners on corners by products: Resize does not look at align_corners here\n");
	if (f->around_qnn)
		emit("  kernels      sums with rows by Sub, RMS norms of three dimensions: what QNN computes right\n");
	if (f->experts == EXPERTS_CHOSEN)
		emit("  experts      each computes the tokens that chose it, sorted by expert and cut by Split\n");
	if (f->torch_ties)
		emit("  equal scores an indexer chooses those that torch.topk does, by a Loop that runs where they are 0\n");
	emit("  shapes       %s\n",
		f->is_static ? "static: every dimension is a number" : "dynamic: batch and sequence are decided at run time");
}

static size_t stem_of(const char *file)
{
	return strlen(file) - strlen(".onnx");
}

// Is it the file, with or without its ending?
static bool is_named(const char *name, const char *file)
{
	return text_is(name, file) || (strlen(name) == stem_of(file) && text_starts(file, name));
}

// The graphs that were asked for: the one by name, or all that the model has, the whole one first.
static enum status choose(const struct build *b, const struct spec *spec, const char *asked, const struct arch_graph **out,
	size_t *count, struct error *err)
{
	struct text there = { 0 };

	*count = 0;
	const struct arch_graph *g;
	for (size_t i = 0; (g = arch_graph_at(spec, i)); i++) {
		const char *file = g->file;
		size_t stem = stem_of(file);

		text_addf(&there, "%s%.*s", there.length ? ", " : "", (int)stem, file);
		if (b->graph ? is_named(b->graph, file) : !g->by_name)
			out[(*count)++] = g;
	}
	enum status s = *count
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT, "%s has no graph called %s; it has %s", asked, b->graph, text_get(&there));
	text_done(&there);
	return s;
}

static struct graph *new_graph(const struct build *b, const struct graph_form *form, const struct arch_graph *which)
{
	struct graph *g = graph_new(form);
	bool goes_on = which->step == STEP_NEXT || which->step == STEP_TRANSDUCE; // one token after as many as --seq says

	if (form->is_static) {
		graph_bind(g, "batch", b->batch);
		graph_bind(g, "sequence", goes_on ? 1 : b->sequence);
		graph_bind(g, "encoder_sequence", b->sequence);
		graph_bind(g, "past_sequence_length", goes_on ? b->sequence : 0);
	}
	return g;
}

// set: without graphs, which are made and freed here.
static enum status build_all(const struct build *b, struct checkpoint *c, const struct spec *spec, const struct graph_form *form,
	struct artifact_set *set, struct conversion *made, struct arena *a, struct error *err)
{
	struct graph **graphs = ARENA_ARRAY(a, set->count + 1, struct graph *);

	for (size_t i = 0; i < set->count; i++)
		graphs[i] = new_graph(b, form, set->which[i]);
	set->graphs = graphs;
	enum status s = artifact_build_all(set, a, c, spec, made, err);
	for (size_t i = 0; i < set->count; i++) {
		struct text t = { 0 };
		if (s == STATUS_OK && b->text) {
			graph_text(graphs[i], &t);
			emit_lines(text_get(&t));
		}
		text_done(&t);
		graph_free(graphs[i]);
	}
	return s;
}

// As `assay run` takes it: 128 tokens, or what the model takes if that is less.
static enum status usual_sequence(const struct build *b, const struct spec *spec, struct build *out, struct error *err)
{
	struct input_hints hints = { 0 };
	struct input_shape shape;

	*out = *b;
	arch_input_hints(spec, &hints);
	enum status s = inputs_shape(&shape, &hints, b->batch, b->sequence, err);
	if (s == STATUS_OK)
		out->sequence = shape.sequence;
	return s;
}

static void print_json(
	const struct build *b, const struct artifact *arts, size_t count, const char *placed_by, double ms, struct arena *a)
{
	json_t *graphs = json_array(), *out;

	for (size_t i = 0; i < count; i++) {
		json_t *one = show_written(arena_printf(a, "%s/%s", b->folder, arts[i].file));

		json_object_set_new(one, "nodes", json_integer((json_int_t)arts[i].summary.node_count));
		json_object_set_new(one, "opset", json_integer(arts[i].summary.opset));
		json_object_set_new(one, "weights_bytes", json_integer((json_int_t)arts[i].weights_nbytes));
		json_array_append_new(graphs, one);
	}
	out = json_pack("{s:o, s:s?, s:f}", "graphs", graphs, "weights_by", placed_by, "ms", ms);
	show_json(out);
	json_decref(out);
}

static enum status build_into(const struct build *b, struct checkpoint *c, const struct hub_model *hub, const struct platform *p,
	struct arena *a, struct error *err)
{
	struct graph_form form;
	struct build sized;
	struct artifact *arts = NULL;
	const struct arch_graph **which = NULL;
	size_t count = 0;
	struct spec *spec;
	struct conversion made = { 0 };
	const char *placed_by = NULL;
	double begin = clock_ms();

	if (b->form > (int64_t)p->form_count)
		return error_set(err, STATUS_BAD_INPUT, "--form %lld: %s has %zu", (long long)b->form, p->name, p->form_count);
	const struct precision_way *way = platform_precision(p->routes, b->precise.precision);
	if (way->by != PRECISION_BY_GRAPH)
		return error_set(err, STATUS_UNSUPPORTED, "%s",
			way->why ? way->why
				 : "on this platform the engine makes that precision: the graph is the same without --precision");
	if (b->precise.precision == PRECISION_INT8_STATIC)
		return error_set(err, STATUS_UNSUPPORTED,
			"int8-static needs ranges of activations, which are measured where a model is run: `assay run %s "
			"--precision int8-static`",
			hub->asked);
	form = p->forms[b->form - 1];
	enum status s = arch_resolve(&spec, a, c, err);
	if (s != STATUS_OK)
		return s;
	arch_settle_form(spec, &form);
	if (c->weight_count == 0)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: its weights are not here; --synthetic makes seeded random ones, `assay synth %s -o DIR` a folder of "
			"them",
			hub->asked, hub->asked);
	if (b->layers > 0 && !arch_shorten(spec, b->layers))
		return error_set(err, STATUS_BAD_INPUT, "%s: has %lld layer%s, which cannot be cut to %lld", hub->asked,
			(long long)arch_layers(spec), arch_layers(spec) == 1 ? "" : "s", (long long)b->layers);
	s = usual_sequence(b, spec, &sized, err);
	if (s == STATUS_OK) {
		while (arch_graph_at(spec, count))
			count++;
		which = ARENA_ARRAY(a, count, const struct arch_graph *);
		arts = ARENA_ARRAY(a, count, struct artifact);
		s = choose(b, spec, hub->asked, which, &count, err);
	}
	form.is_static = form.is_static || b->is_static;
	if (form.is_static)
		form.experts = EXPERTS_ALL;
	form.precise = b->precise;
	form.precise.by_engine = way->quantises;
	if (s == STATUS_OK)
		checkpoint_plain_locations(c);
	if (s == STATUS_OK)
		s = build_all(&sized, c, spec, &form, &(struct artifact_set){ .count = count, .which = which, .out = arts },
			&made, a, err);
	if (s == STATUS_OK && b->folder)
		s = artifact_export(arts, count, c, b->folder, b->link, &placed_by, err);
	if (s == STATUS_OK && b->explain) {
		explain_variants(p, (size_t)b->form - 1, a);
		explain(p, &form, spec);
	}
	if (s == STATUS_OK && b->json) {
		print_json(b, arts, count, placed_by, clock_ms() - begin, a);
		return s;
	}
	if (s == STATUS_OK && made.nbytes)
		emit("%s: %s of weights converted%s\n", precision_word(b->precise.precision), show_size(a, made.nbytes),
			made.ms >= 0 ? "" : " before, from the cache");
	for (size_t i = 0; s == STATUS_OK && b->folder && i < count; i++)
		emit("%s/%s: %zu nodes, opset %d, graph %s, weights %s by %s, %.1f ms\n", b->folder, arts[i].file,
			arts[i].summary.node_count, arts[i].summary.opset, show_size(a, arts[i].graph_nbytes),
			show_size(a, arts[i].weights_nbytes), placed_by ? placed_by : "nothing", clock_ms() - begin);
	return s;
}

// Seeded random weights in the cache, where the model has none here; *hub is then the checkpoint there. Says how large they are
// before they are written. While `a` lives they stay.
static enum status make_weights(
	const struct build *b, const struct platform *p, struct hub_model *hub, struct arena *a, struct error *err)
{
	struct question q = { .synthetic = true, .layers = b->layers };
	struct plan_model m;
	struct target t;
	enum status s = plan_model(&m, a, hub->asked, &q, err);

	if (s == STATUS_OK)
		s = platform_target(&t, a, p->name, err);
	if (s != STATUS_OK)
		return s;
	if (m.refused)
		return error_set(err, m.refused, "%s", m.cause);
	if (!m.makes_weights)
		return STATUS_OK;
	emit_error("%s: its weights are not here: synthetic ones, %s, seed 0\n", hub->asked, show_size(a, m.synthetic_bytes));
	cli_catch_stop();
	s = plan_weights(&m, a, &t, &q, plan_cache_limit(), progress_bytes, (void *)(uintptr_t)hub->asked, err);
	progress_clear();
	if (s == STATUS_OK && m.refused)
		s = error_set(err, m.refused, "%s", m.cause);
	return s == STATUS_OK ? hub_find(hub, a, m.path, err) : s;
}

static enum status build(const struct build *b, const char *model, struct arena *a, struct error *err)
{
	const struct platform *p = platform_named(b->platform);
	struct hub_model hub;
	struct checkpoint c = { 0 };

	if (!p) {
		struct target t;
		enum status s = platform_target(&t, a, b->platform, err);
		if (s != STATUS_OK)
			return s;
		p = t.platform;
	}
	enum status s = hub_find(&hub, a, model, err);
	if (s != STATUS_OK)
		return s;
	if (b->synthetic)
		s = make_weights(b, p, &hub, a, err);
	if (s == STATUS_OK)
		s = plan_checkpoint(&c, &hub, err);
	if (s == STATUS_OK)
		s = build_into(b, &c, &hub, p, a, err);
	checkpoint_close(&c);
	return s;
}

static bool is_static_form(const struct build *b)
{
	const struct platform *p = platform_named(b->platform);

	return p && b->form <= (int64_t)p->form_count && p->forms[b->form - 1].is_static;
}

static int run(int argc, char **argv)
{
	struct build b = { .platform = "cpu", .batch = 1, .form = 1 };
	int64_t batch = 0, sequence = 0;
	const struct cli_option options[] = {
		{ "o", CLI_TEXT, &b.folder, "DIR", "the folder to write (--output DIR is the same)" },
		{ "output", CLI_TEXT, &b.folder, "DIR", NULL },
		{ "link", CLI_FLAG, &b.link, NULL,
			"hard links to the weights, in milliseconds; default: files that stand alone (reflink or copy)" },
		{ "graph", CLI_TEXT, &b.graph, "NAME",
			"only this one of the model's graphs: model, encoder_model, ...; default: all but those that are written "
			"by name alone" },
		{ "explain", CLI_FLAG, &b.explain, NULL, "say which form of each operation was chosen and why" },
		{ "text", CLI_FLAG, &b.text, NULL, "print the graph as text, one line a value; -o may then be left out" },
		{ "platform", CLI_TEXT, &b.platform, "NAME", "whose forms to build: cpu, openvino, ...; default cpu" },
		{ "form", CLI_INTEGER, &b.form, "N", "which of the platform's variants, as --explain counts them; default 1", 1,
			16 },
		{ "precision", CLI_TEXT, &b.precision, "P",
			"weights converted: float32, float16, bfloat16, int8-dynamic, int8-weights, int4-weights; default as "
			"stored" },
		{ "static", CLI_FLAG, &b.is_static, NULL, "fixed shapes; default: batch and sequence are decided at run time" },
		{ "batch", CLI_INTEGER, &batch, "N", "with --static; default 1", 1, 65536 },
		{ "seq", CLI_INTEGER, &sequence, "N", "with --static; default 128", 1, 1048576 },
		{ "synthetic", CLI_FLAG, &b.synthetic, NULL,
			"seeded random weights where the model has none here; their size is said before they are written" },
		{ "layers", CLI_INTEGER, &b.layers, "N", "only the first N layers", 1, 100000 },
		{ "json", CLI_FLAG, &b.json, NULL, "with -o: an object on standard output: the graphs, their nodes and bytes" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay build MODEL -o DIR [--link] [--explain] [--text] [--platform NAME] [--static] [--json]",
		.text = "Builds the model's graph from config.json and the header of its safetensors files. DIR gets\n"
			"model.onnx (some kB) and, beside it, the weights it points into. An encoder-decoder has\n"
			"encoder_model.onnx, decoder_model.onnx, decoder_with_past_model.onnx and, both in one,\n"
			"decoder_model_merged.onnx too, and DIR its\n"
			"config.json and tokenizer, as optimum expects them. Some graphs are written where --graph names\n"
			"them alone: model_controlled of a U-Net, model_masked of Chroma, text_encoder\n"
			"of a decoder without a head. Python's onnx package refuses hard-linked weights: for it leave --link\n"
			"out.\n\n"
			"  assay build ./bert -o bert-onnx --link --explain\n"
			"  assay build bert-base-uncased -o bert-onnx --synthetic\n\n"
			"Exit codes: 0 built; 1 bad use or an error of assay's own; 2 the model is not supported.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct arena arena = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	b.precision = precision_typed(&arena, b.precision);
	if (precision_parse(&b.precise, b.precision, &err) != STATUS_OK)
		return cli_bad_use("--precision %s", err.text);
	if (!b.folder && !b.text && !b.explain)
		return cli_bad_use("where to? Add -o DIR, or --text to print the graph");
	if (b.json && (!b.folder || b.text || b.explain))
		return cli_bad_use(
			"--json says what was written: it needs -o DIR, and --text and --explain print what is no JSON");
	if ((batch || sequence) && !b.is_static && !is_static_form(&b))
		return cli_bad_use("--batch and --seq need --static: without it they are decided at run time");
	if (batch)
		b.batch = batch;
	b.sequence = sequence;
	if ((code = fetching_ensure(argv[1], b.synthetic ? FETCH_CONFIG : FETCH_MODEL, false)) >= 0)
		return code;
	enum status s = build(&b, argv[1], &arena, &err);
	if (s != STATUS_OK)
		cli_error(&err);
	arena_done(&arena);
	return s == STATUS_OK ? EXIT_GOOD : s == STATUS_UNSUPPORTED ? EXIT_VERDICT : EXIT_USE;
}

const struct command command_build = { "build", "build a model's ONNX graph beside its weights, in milliseconds", run };
