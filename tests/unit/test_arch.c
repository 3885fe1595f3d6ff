// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The architecture table: sorted and unique, every type has its class's defaults and is built from its defaults alone (its first
// layers, with few experts; all of them in test_arch_whole.c); no Transpose ever meets a weight; the graph of one small
// configuration of each type as text (tests/graph/NAME.txt; ASSAY_UPDATE=1 writes them); what must be refused is refused with the
// place in words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/spec.h"
#include "base/file.h"
#include "onnx/inside.h"
#include "pretended.h"

static void fill(struct checkpoint *c, const char *name, const char *config, const struct graph_form *form, struct graph **g)
{
	struct spec *s = open_full(c, name, config, true);
	*g = build_whole(s, c, form);
}

static void table_is_sorted(void **state)
{
	(void)state;
	for (size_t i = 1; i < arch_type_count(); i++)
		assert_true(strcmp(arch_type_name(i - 1), arch_type_name(i)) < 0);
}

// How many Transposes there are; none of them is of a weight.
static int transposes(const struct graph *g, const struct checkpoint *c)
{
	int count = 0;
	for (int i = 0; i < g->node_count; i++) {
		const struct node *n = &g->nodes[i];
		if (!n->live || strcmp(n->op, "Transpose"))
			continue;
		if (checkpoint_find(c, g->values[n->inputs[0].id].name))
			fail_msg("%s: %s is transposed", c->path, g->values[n->inputs[0].id].name);
		count++;
	}
	return count;
}

static void every_type_is_built_from_its_defaults(void **state)
{
	(void)state;
	static const struct graph_form forms[] = { { .linear = LINEAR_GEMM },
		{ .linear = LINEAR_FUSED_MATMUL, .attention = ATTENTION_MHA } };
	int moved = 0;
	for (size_t i = 0; i < arch_type_count(); i++) {
		char config[256];
		if (!arch_find(arch_type_name(i))->family->heads) // a part of others only
			continue;
		json_t *defaults = config_defaults(arch_type_name(i));
		if (!defaults)
			fail_msg("%s: no line of it in src/arch/defaults.jsonl (tools/make_case.py, tools/defaults.py)",
				arch_type_name(i));
		json_decref(defaults);
		type_config(config, sizeof config, arch_type_name(i));
		struct checkpoint c;
		struct spec *s = open_full(&c, arch_type_name(i), config, false);
		for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
			struct graph *g = build_whole(s, &c, &forms[f]);
			struct graph_summary sum;
			graph_summarise(g, &sum);
			if (!(sum.node_count > 20 && sum.external_nbytes > 1u << 20))
				fail_msg("%s: %zu nodes, %llu bytes of weights", arch_type_name(i), sum.node_count,
					(unsigned long long)sum.external_nbytes);
			moved += transposes(g, &c);
			graph_free(g);
		}
		checkpoint_close(&c);
	}
	assert_true(moved > 10 * (int)arch_type_count());
}

static const char *const golden[] = {
	"albert",
	"bert",
	"clap",
	"clip",
	"deit",
	"dinov2",
	"distilbert",
	"electra",
	"gemma2",
	"llama-rope-dynamic",
	"llava_next",
	"mistral",
	"mpnet",
	"qwen2-sliding",
	"mamba",
	"mamba2",
	"qwen3",
	"roberta-question-answering",
	"swin-pad",
	"t5",
	"vit",
	"wav2vec2-conformer",
	"wav2vec2-layer-norm",
	"whisper",
};

static void graphs_are_as_stored(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
		struct arena a = { 0 };
		struct error err = { 0 };
		struct checkpoint c;
		struct graph *g;
		char *config, *expected;
		size_t nbytes;
		if (file_read(&a, arena_printf(&a, "%s/tests/conform/cases/%s/config.json", TEST_SOURCE, golden[i]), 1 << 20,
			    &config, &nbytes, &err))
			fail_msg("%s", err.text);
		fill(&c, golden[i], config, NULL, &g);
		struct text t = { 0 };
		graph_text(g, &t);
		const char *path = arena_printf(&a, "%s/tests/graph/%s.txt", TEST_SOURCE, golden[i]);
		if (getenv("ASSAY_UPDATE"))
			file_write(path, t.data, t.length, &err);
		if (file_read(&a, path, 1 << 20, &expected, &nbytes, &err))
			fail_msg("%s", err.text);
		if (strcmp(expected, text_get(&t))) {
			size_t at = 0, line = 1;
			while (expected[at] && expected[at] == t.data[at])
				line += expected[at++] == '\n';
			fail_msg("%s: line %zu differs; ASSAY_UPDATE=1 writes the new graph", path, line);
		}
		text_done(&t);
		graph_free(g);
		checkpoint_close(&c);
		arena_done(&a);
	}
}

// What GroupQueryAttention can say is built with it, layer by layer; any other model as if nobody had asked.
static void a_cache_is_shared_where_it_can_be(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int nodes;
		const char *has;
	} cases[] = { { "llama", 2, " num_heads=4 kv_num_heads=2 scale=" }, { "qwen2-sliding", 3, " local_window_size=" },
		{ "gemma2", 4, " softcap=" }, { "gpt_oss", 4, ", -, -, -, -, model.layers.0.self_attn.sinks) num_heads=" },
		{ "bloom", 0, " = Softmax(" }, { "deepseek_v3", 0, " = Softmax(" } };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena a = { 0 };
		struct error err = { 0 };
		struct text t[2] = { { 0 }, { 0 } };
		char *config, *expected;
		size_t nbytes;
		int nodes = 0;
		if (file_read(&a, arena_printf(&a, "%s/tests/conform/cases/%s/config.json", TEST_SOURCE, cases[i].name), 1 << 20,
			    &config, &nbytes, &err))
			fail_msg("%s", err.text);
		for (int shared = 0; shared < 2; shared++) {
			struct checkpoint c;
			struct graph *g;
			fill(&c, cases[i].name, config, &(struct graph_form){ .cache = shared ? CACHE_SHARED : CACHE_PLAIN }, &g);
			graph_text(g, &t[shared]);
			graph_free(g);
			checkpoint_close(&c);
		}
		for (const char *at = text_get(&t[1]); (at = strstr(at, " = com.microsoft.GroupQueryAttention(")); at++)
			nodes++;
		assert_int_equal(nodes, cases[i].nodes);
		assert_null(strstr(text_get(&t[0]), "GroupQueryAttention"));
		assert_non_null(strstr(text_get(&t[1]), cases[i].has));
		assert_int_equal(!strcmp(text_get(&t[0]), text_get(&t[1])), !cases[i].nodes);
		if (i == 0) {
			const char *path = arena_printf(&a, "%s/tests/graph/llama-shared.txt", TEST_SOURCE);
			if (getenv("ASSAY_UPDATE"))
				file_write(path, t[1].data, t[1].length, &err);
			if (file_read(&a, path, 1 << 20, &expected, &nbytes, &err))
				fail_msg("%s", err.text);
			assert_string_equal(expected, text_get(&t[1]));
		}
		text_done(&t[0]);
		text_done(&t[1]);
		arena_done(&a);
	}
}

// That the numbers are right is tested where Sin and Cos are not: on WebGPU (tests/browser).
static void rotary_angles_may_be_tables(void **state)
{
	(void)state;
	for (int tables = 0; tables < 2; tables++) {
		struct checkpoint c;
		struct graph *g;
		struct text t = { 0 };
		char config[256];

		type_config(config, sizeof config, "llama");
		fill(&c, "llama", config, &(struct graph_form){ .sine_tables = tables }, &g);
		graph_text(g, &t);
		assert_int_equal(strstr(text_get(&t), " = Sin(") == NULL, tables);
		assert_int_equal(strstr(text_get(&t), " = Cos(") == NULL, tables);
		assert_int_equal(strstr(text_get(&t), " = Floor(") != NULL, tables);
		text_done(&t);
		graph_free(g);
		checkpoint_close(&c);
	}
}

// A model is cut to its first layers where it has as many, and where leaving the others out leaves a model.
static void layers_are_cut_where_they_can_be(void **state)
{
	(void)state;
	static const struct {
		const char *type;
		int64_t layers;
		bool cut;
	} cases[] = { { "bert", 12, true }, { "bert", 1, true }, { "bert", 13, false }, { "bert", 0, false },
		{ "hrm_text", 2, false } }; // it goes through two stacks of layers in cycles
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char config[256];
		struct checkpoint c;
		type_config(config, sizeof config, cases[i].type);
		struct spec *s = open_full(&c, cases[i].type, config, true);
		assert_int_equal(arch_shorten(s, cases[i].layers), cases[i].cut);
		checkpoint_close(&c);
	}
}

static void refusals_say_what_and_where(void **state)
{
	(void)state;
	static const struct {
		const char *config, *says;
		enum status status;
	} cases[] = {
		{ "{\"model_type\": \"no-such-type\"}", "no-such-type", STATUS_UNSUPPORTED },
		{ "{}", "model_type", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"bert\", \"architectures\": [\"BertForGuessing\"]}", "BertForGuessing", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"bert\", \"hidden_act\": \"prelu\"}", "prelu", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"bert\", \"add_cross_attention\": true}", "add_cross_attention", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"bert\", \"position_embedding_type\": \"relative_key\"}", "relative_key",
			STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"bert\", \"frobnicate\": 1}", "frobnicate", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"bert\", \"hidden_size\": -4}", "hidden_size", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"bert\", \"hidden_size\": 1e300}", "hidden_size", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"bert\", \"num_attention_heads\": 0}", "heads", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"bert\", \"hidden_size\": \"32\"}", "hidden_size", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"llama\", \"rope_scaling\": {\"type\": \"longrope\"}}", "rotary", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"llama\", \"rope_scaling\": {\"type\": \"spiral\"}}", "spiral", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"llama\", \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 0}}", "rotary",
			STATUS_BAD_INPUT },
		// transformers 5 computes otherwise than without these keys
		{ "{\"model_type\": \"llama\", \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 10000}, "
		  "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 2}}",
			"rope_scaling beside other rope_parameters", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"llama\", \"is_causal\": false}", "is_causal: false", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"qwen2_moe\", \"num_hidden_layers\": 1, \"layer_types\": [\"sliding_attention\"]}",
			"sliding layers beside use_sliding_window: false", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"llama\", \"quantization_config\": {}}", "quantization_config", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"llama\", \"unheard_of\": 1, \"nor_of_this\": 2}",
			"unheard_of, nor_of_this: assay does not know these keys", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"bert\", \"encoder_stride\": 32}", "encoder_stride: assay does not know this key",
			STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"llava\", \"image_token_index\": 5, \"image_token_id\": 6}",
			"image_token_id: assay does not know this key", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"qwen2\", \"num_hidden_layers\": 2, \"layer_types\": [\"full_attention\"]}", "layer_types",
			STATUS_BAD_INPUT },
		{ "{\"model_type\": \"mistral\", \"sliding_window\": 0}", "sliding_window: 0, a window of no token",
			STATUS_BAD_INPUT },
		{ "{\"model_type\": \"modernbert\", \"local_attention\": 0}", "local_attention: 0, a window of no token",
			STATUS_BAD_INPUT },
		{ "{\"model_type\": \"mimi\", \"sliding_window\": 0}", "sliding_window: 0, a window of no token",
			STATUS_BAD_INPUT },
		{ "{\"model_type\": \"vit\", \"patch_size\": 0}", "patches", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"parakeet_encoder\", \"architectures\": [\"SomeForTokenClassification\"]}",
			"the head of SomeForTokenClassification on a model of type parakeet_encoder is not supported yet; its "
			"family, "
			"conformer, has: model, encoder",
			STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"trocr\", \"architectures\": [\"SomeForConditionalGeneration\"]}", "the head of",
			STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"parakeet_ctc\", \"encoder_config\": {\"model_type\": \"llama\"}}",
			"only parakeet_encoder is supported here yet", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"parakeet_rnnt\", \"encoder_config\": {\"model_type\": \"llama\"}}",
			"only parakeet_encoder is supported here yet", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"parakeet_tdt\", \"durations\": 5}", "durations that are no list", STATUS_BAD_INPUT },
		{ "{\"model_type\": \"bart\", \"architectures\": [\"SomeForCausalLM\"]}", "the head of", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"llama\", \"architectures\": [\"SomeForMaskedLM\"]}", "the head of", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"clip\", \"architectures\": [\"SomeEncoderModel\"]}", "the head of", STATUS_UNSUPPORTED },
		{ "{\"model_type\": \"vision-text-dual-encoder\", \"architectures\": [\"SomeForCTC\"]}", "the head of",
			STATUS_UNSUPPORTED },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct checkpoint c;
		struct spec *s;
		struct error err = { 0 };
		assert_int_equal(
			checkpoint_open_config(&c, "some/model", cases[i].config, strlen(cases[i].config), &err), STATUS_OK);
		if (arch_resolve(&s, &c.arena, &c, &err) != cases[i].status || !strstr(err.text, cases[i].says) ||
			!strstr(err.text, "some/model"))
			fail_msg("%s gave: %s", cases[i].config, err.text);
		checkpoint_close(&c);
	}
}

static void shapes_are_checked_against_the_file(void **state)
{
	(void)state;
	const char *config = "{\"model_type\": \"bert\", \"num_hidden_layers\": 1}";
	struct checkpoint c;
	struct graph *g;
	fill(&c, "m", config, NULL, &g);
	graph_free(g);
	for (int i = 0; i < 3; i++) {
		struct error err = { 0 };
		struct spec *s;
		struct weight saved = c.weights[c.weight_count - 1];
		g = graph_new(NULL);
		if (i == 0)
			c.weights[c.weight_count - 1].dim[0]++;
		else if (i == 1)
			c.weights[c.weight_count - 1].dtype = DTYPE_I64;
		else
			c.weights[c.weight_count - 1].name = "zzz.unheard_of.weight";
		assert_int_equal(arch_resolve(&s, &c.arena, &c, &err), STATUS_OK);
		assert_int_not_equal(arch_build(s, &c, &arch_whole, g, &err), STATUS_OK);
		assert_non_null(strstr(err.text, i < 2 ? saved.name : "zzz.unheard_of.weight was not read"));
		c.weights[c.weight_count - 1] = saved;
		graph_free(g);
	}
	// One of that shape by another name is named too.
	struct error err = { 0 };
	struct spec *s;
	for (size_t i = 0; i < c.weight_count; i++)
		if (!strcmp(c.weights[i].name, "embeddings.word_embeddings.weight"))
			c.weights[i].name = "embeddings.word_embeddingz.weight";
	g = graph_new(NULL);
	assert_int_equal(arch_resolve(&s, &c.arena, &c, &err), STATUS_OK);
	assert_int_equal(arch_build(s, &c, &arch_whole, g, &err), STATUS_BAD_INPUT);
	assert_non_null(strstr(err.text,
		"word_embeddings.weight[30522,768] is missing; unread with that shape: "
		"embeddings.word_embeddingz.weight"));
	graph_free(g);
	checkpoint_close(&c);
}

// Who generates opens the graphs of the loop one after the other.
static void loop_is_known(const struct spec *s, const char *type)
{
	const struct arch_graph *loop[ARCH_STEPS_MOST];
	size_t count = arch_graphs_of_loop(s, loop);
	for (size_t i = 0; i < count; i++)
		if (!loop[i])
			fail_msg("%s: its graphs make no loop that arch_graphs_of_loop (src/arch/build.c) knows: the %zu. of its "
				 "steps has none; CONTRIBUTING.md, \"A model made of models, or of several graphs\", 4",
				type, i + 1);
}

struct head_names {
	const char *names[64];
	size_t count;
};

// Is it one of them? It is from now on.
static bool is_among(struct head_names *h, const char *name)
{
	for (size_t i = 0; i < h->count; i++)
		if (!strcmp(h->names[i], name))
			return true;
	assert_true(h->count < sizeof h->names / sizeof h->names[0]);
	h->names[h->count++] = name;
	return false;
}

// Whatever head a type is asked with, it is built, or refused in words of our own: no gap of a dialect, a family or a head is a
// failure, for which an engine would be blamed. One layer, few experts: what is missing there is missing in all. Of classes that
// have the same head of a type the first one's weights are planned.
static void every_head_is_built_or_refused(void **state)
{
	size_t built = 0, refused = 0, gaps = 0;
	(void)state;
	for (size_t i = 0; i < arch_type_count(); i++) {
		struct head_names planned = { 0 };

		for (const struct head_class *h = head_classes; h->suffix; h++) {
			char config[384], type[256];
			struct checkpoint c;
			struct spec *s;
			struct error err = { 0 };
			type_config(type, sizeof type, arch_type_name(i));
			snprintf(config, sizeof config, "{\"architectures\": [\"Some%s\"], %s", h->suffix, type + 1);
			assert_int_equal(checkpoint_open_config(&c, "some/model", config, strlen(config), &err), STATUS_OK);
			enum status st = arch_resolve(&s, &c.arena, &c, &err);
			if (!st && is_among(&planned, arch_head(s))) {
				checkpoint_close(&c);
				continue;
			}
			if (!st) {
				loop_is_known(s, arch_type_name(i));
				arch_shorten(s, 1);
				leave_experts_out(s);
				st = arch_plan_weights(s, &c.arena, DTYPE_F32, &c.weights, &c.weight_count, &err);
			}
			if ((st != STATUS_OK && st != STATUS_UNSUPPORTED && st != STATUS_BAD_INPUT) ||
				(st && strlen(err.text) < 20))
				fail_msg("%s gave %s: %s", config, status_word(st), err.text);
			if (strstr(err.text, "its dialect")) {
				char says[160];
				snprintf(says, sizeof says, "the head %s of type %s is not built yet", h->head->name,
					arch_type_name(i));
				assert_int_equal(st, STATUS_UNSUPPORTED);
				assert_non_null(strstr(err.text, says));
				gaps++;
			}
			*(st ? &refused : &built) += 1;
			checkpoint_close(&c);
		}
	}
	assert_true(built > arch_type_count() && refused > 0 && gaps > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_head_is_built_or_refused),
		cmocka_unit_test(table_is_sorted),
		cmocka_unit_test(every_type_is_built_from_its_defaults),
		cmocka_unit_test(graphs_are_as_stored),
		cmocka_unit_test(a_cache_is_shared_where_it_can_be),
		cmocka_unit_test(rotary_angles_may_be_tables),
		cmocka_unit_test(layers_are_cut_where_they_can_be),
		cmocka_unit_test(refusals_say_what_and_where),
		cmocka_unit_test(shapes_are_checked_against_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
