// SPDX-License-Identifier: Apache-2.0
// assay build: the ONNX graph beside its weights. It draws and writes; no engine, no database and no child are involved, so that
// the whole process takes milliseconds.
#include <stdio.h>

#include "api/plan.h"
#include "artifact/artifact.h"
#include "base/clock.h"
#include "command.h"
#include "platform/platform.h"
#include "show.h"

struct build {
	const char *folder, *platform;
	bool link, explain, text, is_static;
	int64_t batch, sequence, layers;
};

// One line a choice: what stands in the graph, and why there. The platform's row decides; this only puts it in words.
static void explain(const struct platform *p, const struct graph_form *f)
{
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
		[NORM_PLAIN_RMS] = "LayerNormalization fused (taken apart it overflows in float16); RMS norm taken apart in float32",
		[NORM_FUSED_RMS] = "LayerNormalization fused; RMS norm as SimplifiedLayerNormalization, one kernel",
	};
	printf("forms for platform %s (%s):\n", p->name, p->summary);
	printf("  linear       %s\n", linear[f->linear]);
	printf("  attention    %s\n", attention[f->attention]);
	printf("  gelu         %s\n", gelu[f->gelu]);
	printf("  norm         %s\n", norm[f->norm]);
	printf("  shapes       %s\n",
		f->is_static ? "static: every dimension is a number" : "dynamic: batch and sequence are decided at run time");
}

static enum status draw(const struct build *b, struct checkpoint *c, const struct hub_model *hub, const struct platform *p,
	struct arena *a, struct error *err)
{
	struct graph_form form = p->form;
	struct artifact art;
	struct spec *spec;
	const char *placed_by = NULL;
	double begin = clock_ms();

	enum status s = arch_resolve(&spec, a, c, err);
	if (s != STATUS_OK)
		return s;
	if (c->weight_count == 0)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: its weights are not here; make some with `assay synth %s -o DIR` and build DIR", hub->asked,
			hub->asked);
	if (b->layers > 0 && !arch_shorten(spec, b->layers))
		return error_set(err, STATUS_BAD_INPUT, "%s has fewer than %lld layers", hub->asked, (long long)b->layers);
	form.is_static = form.is_static || b->is_static;
	struct graph *g = graph_new(&form);
	if (form.is_static) {
		graph_bind(g, "batch", b->batch);
		graph_bind(g, "sequence", b->sequence);
		graph_bind(g, "past_sequence_length", 0);
	}
	checkpoint_plain_locations(c);
	s = artifact_build(&art, a, c, spec, ARCH_WHOLE, g, err);
	if (s == STATUS_OK && b->text) {
		struct text t = { 0 };
		graph_text(g, &t);
		fputs(text_get(&t), stdout);
		text_done(&t);
	}
	if (s == STATUS_OK && b->folder)
		s = artifact_export(&art, c, b->folder, b->link, &placed_by, err);
	if (s == STATUS_OK && b->explain)
		explain(p, &form);
	if (s == STATUS_OK && b->folder)
		printf("%s/model.onnx: %zu nodes, opset %d, graph %s, weights %s by %s, %.1f ms\n", b->folder,
			art.summary.node_count, art.summary.opset, show_size(a, art.graph_nbytes),
			show_size(a, art.weights_nbytes), placed_by ? placed_by : "nothing", clock_ms() - begin);
	graph_free(g);
	return s;
}

static enum status build(const struct build *b, const char *model, struct arena *a, struct error *err)
{
	const struct platform *p = platform_find(b->platform);
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
	s = plan_checkpoint(&c, &hub, err);
	if (s == STATUS_OK)
		s = draw(b, &c, &hub, p, a, err);
	checkpoint_close(&c);
	return s;
}

static int run(int argc, char **argv)
{
	struct build b = { .platform = "cpu", .batch = 1, .sequence = 128 };
	int64_t batch = 0, sequence = 0;
	const struct cli_option options[] = {
		{ "o", CLI_TEXT, &b.folder, "DIR", "the folder to write (--output DIR is the same)" },
		{ "output", CLI_TEXT, &b.folder, "DIR", NULL },
		{ "link", CLI_FLAG, &b.link, NULL,
			"hard links to the weights, in milliseconds; default: files that stand alone (reflink or copy)" },
		{ "explain", CLI_FLAG, &b.explain, NULL, "say which form of each operation was chosen and why" },
		{ "text", CLI_FLAG, &b.text, NULL, "print the graph as text, one line a value; -o may then be left out" },
		{ "platform", CLI_TEXT, &b.platform, "NAME", "whose forms to draw: cpu, openvino, ...; default cpu" },
		{ "static", CLI_FLAG, &b.is_static, NULL, "fixed shapes; default: batch and sequence are decided at run time" },
		{ "batch", CLI_INTEGER, &batch, "N", "with --static; default 1", 1, 65536 },
		{ "seq", CLI_INTEGER, &sequence, "N", "with --static; default 128", 1, 1048576 },
		{ "layers", CLI_INTEGER, &b.layers, "N", "only the first N layers", 1, 100000 },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay build MODEL -o DIR [--link] [--explain] [--text] [--platform NAME] [--static]",
		.text = "Draws the model's graph from config.json and the header of its safetensors files. DIR gets\n"
			"model.onnx (some kB) and, beside it, the weights it points into. Python's onnx package refuses\n"
			"hard-linked weights: for it leave --link out.\n\n"
			"  assay build ./bert -o bert-onnx --link --explain\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct arena arena = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0)
		return code;
	if (!b.folder && !b.text && !b.explain)
		return cli_bad_use("where to? Add -o DIR, or --text to print the graph");
	if ((batch || sequence) && !b.is_static)
		return cli_bad_use("--batch and --seq need --static: without it they are decided at run time");
	if (batch)
		b.batch = batch;
	if (sequence)
		b.sequence = sequence;
	enum status s = build(&b, argv[1], &arena, &err);
	if (s != STATUS_OK)
		cli_error(&err);
	arena_done(&arena);
	return s == STATUS_OK ? EXIT_GOOD : s == STATUS_UNSUPPORTED ? EXIT_VERDICT : EXIT_USE;
}

const struct command command_build = { "build", "draw a model's ONNX graph beside its weights, in milliseconds", run };
