// SPDX-License-Identifier: Apache-2.0
// assay inspect: what assay understands of a model, from config.json and the headers of its files of weights alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "command.h"
#include "base/file.h"
#include "base/visible.h"
#include "emit.h"
#include "fetching.h"
#include "inspect_onnx.h"
#include "show.h"

struct inspection {
	struct hub_model hub;
	struct checkpoint checkpoint;
	struct spec *spec; // NULL: not supported
	struct error refusal;
	struct arch_likeness like;    // of what is not supported
	const struct weight *weights; // of the file, else as the configuration wants them
	size_t weight_count;
	bool planned;
	uint64_t parameters, bytes[DTYPE_COUNT], total_bytes;
	struct arch_experts experts; // 0: none
	uint64_t routed;             // of the parameters: those of experts, of which a token uses some
	bool differ;                 // parts of the model choose among other numbers of experts
};

// Buffers such as position_ids are integers; parameters are what is not.
static bool is_parameter(enum dtype t)
{
	return t != DTYPE_I64 && t != DTYPE_I32 && t != DTYPE_U64 && t != DTYPE_U32 && t != DTYPE_BOOL;
}

static int by_place(const void *a, const void *b)
{
	const struct weight *x = *(const struct weight *const *)a, *y = *(const struct weight *const *)b;
	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void count_parameters(struct inspection *x, const struct weight *w, uint64_t elements)
{
	struct arch_experts of;
	x->parameters += elements;
	if (!x->spec || !arch_expert_weight(x->spec, w->name, &of))
		return;
	x->differ |= x->routed && (of.experts != x->experts.experts || of.chosen != x->experts.chosen);
	x->experts = of;
	x->routed += elements;
}

// What one token is computed with; 0: all, or not known.
static uint64_t active_parameters(const struct inspection *x)
{
	uint64_t experts = (uint64_t)x->experts.experts;
	if (!x->routed || x->differ || x->routed % experts)
		return 0;
	return x->parameters - x->routed / experts * (experts - (uint64_t)x->experts.chosen);
}

// Tied weights that share their bytes in a pickle count once.
static void count_weights(struct inspection *x, struct arena *a)
{
	const struct weight **order = ARENA_ARRAY(a, x->weight_count + 1, const struct weight *);
	for (size_t i = 0; i < x->weight_count; i++)
		order[i] = &x->weights[i];
	if (!x->planned && x->weight_count)
		qsort(order, x->weight_count, sizeof *order, by_place);
	for (size_t i = 0; i < x->weight_count; i++) {
		const struct weight *w = order[i];
		size_t elements;
		if (!tensor_count(w->rank, w->dim, &elements))
			continue;
		if (!x->planned && i && !by_place(&order[i - 1], &order[i]) && w->nbytes && order[i - 1]->nbytes == w->nbytes)
			continue;
		x->bytes[w->dtype] += elements * dtype_size(w->dtype);
		x->total_bytes += elements * dtype_size(w->dtype);
		if (is_parameter(w->dtype))
			count_parameters(x, w, elements);
	}
}

// The dtype that a configuration without weights asks for: "dtype" (transformers 5), "torch_dtype" (4), else float32.
static enum dtype config_dtype(const json_t *config)
{
	const char *word = json_string_value(json_object_get(config, "dtype"));
	if (!word)
		word = json_string_value(json_object_get(config, "torch_dtype"));
	enum dtype t = word ? dtype_find(word) : DTYPE_NONE;
	return t == DTYPE_F16 || t == DTYPE_BF16 ? t : DTYPE_F32;
}

static enum status inspect(struct inspection *x, struct arena *a, const char *model, struct error *err)
{
	struct weight *planned;

	enum status s = hub_find(&x->hub, a, model, err);
	if (s != STATUS_OK)
		return s;
	s = plan_checkpoint(&x->checkpoint, &x->hub, err);
	if (s != STATUS_OK)
		return s;
	x->weights = x->checkpoint.weights;
	x->weight_count = x->checkpoint.weight_count;
	if (arch_resolve(&x->spec, a, &x->checkpoint, &x->refusal) != STATUS_OK) {
		x->spec = NULL;
		// A configuration that cannot be read is an error; one that is read and not known is an answer.
		if (x->refusal.status != STATUS_UNSUPPORTED)
			return error_set(err, x->refusal.status, "%s", x->refusal.text);
		arch_resemble(&x->like, a, &x->checkpoint);
	} else if (x->weight_count == 0) {
		x->planned = true;
		s = arch_plan_weights(x->spec, a, config_dtype(x->checkpoint.config), &planned, &x->weight_count, err);
		if (s)
			error_prefix(err, "%s/config.json", x->checkpoint.path);
		x->weights = planned;
	}
	if (s == STATUS_UNSUPPORTED) {
		x->refusal = *err;
		x->spec = NULL;
		s = STATUS_OK;
	}
	count_weights(x, a);
	return s;
}

// A prediction, said to be one. Below: the weights mapped from their file, none copied. Above: every weight again in anonymous
// memory, in float32, as an engine does that repacks them all; of those that lie in another type, and are converted first,
// twice. Measured against it (MiB; the high-water mark of the resident set at 1x128, ONNX Runtime and OpenVINO): a BERT of 0.1
// MiB 37 and 69 of 32 to 80, bert-base 581 and 957 of 450 to 985, gpt2 730 and 1085 of 507 to 1109; proportional set size:
// vit-base 374 and 725 of 362 to 795, Qwen2-0.5B in bfloat16 2187 and 4032 of 974 to 4791.
struct memory_range {
	uint64_t low, high;
};

static struct memory_range predict_memory(const struct inspection *x)
{
	const uint64_t least = 32u << 20, most = 80u << 20; // ONNX Runtime and OpenVINO with a tiny model, and a little more
	const uint64_t all = x->parameters * 4, as_it_lies = x->bytes[DTYPE_F32] < all ? x->bytes[DTYPE_F32] : all;

	return (struct memory_range){ x->total_bytes + least,
		x->total_bytes + as_it_lies + as_it_lies / 6 + 2 * (all - as_it_lies) + most };
}

static const char memory_how[] =
	"predicted from sizes, not measured: from weights that are mapped and never copied, to an engine that keeps "
	"a repacked float32 copy, and of weights in other types a second one while loading; what a large batch or a long text "
	"needs comes on top; `assay run` predicts the platform that it is asked for";

static const char *where(const struct inspection *x)
{
	switch (x->hub.kind) {
	case HUB_CACHED:
		return "the Hub's cache";
	case HUB_PUBLISHED:
		return "the program's own copy of the published configuration";
	case HUB_FOLDER:
	case HUB_ONNX_FILE:
		break;
	}
	return file_is_dir(x->hub.path) ? "folder" : "file"; // of GGUF
}

static size_t ignored_count(const struct checkpoint *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->shard_count; i++)
		n += c->shards[i].ignored_count + c->shards[i].ignored_more;
	return n;
}

// What a pickle makes different: views that had to be copied, and what is in it beside tensors.
static void print_pickle(const struct checkpoint *c, struct arena *a)
{
	enum { SHOWN = 10 };
	size_t shown = 0, ignored = ignored_count(c);
	if (c->copied_count)
		emit("copied: %zu tensors, %s, which do not lie row by row in their file; the copies go into the cache\n",
			c->copied_count, show_size(a, c->copied_nbytes));
	if (!ignored)
		return;
	emit("not tensors, left aside:");
	for (size_t i = 0; i < c->shard_count; i++)
		for (size_t j = 0; j < c->shards[i].ignored_count && shown < SHOWN; j++) {
			emit("%s %.100s", shown++ ? "," : "", c->shards[i].ignored[j]);
		}
	if (ignored > shown)
		emit(", and %zu more", ignored - shown);
	emit("\n");
}

static json_t *ignored_json(const struct checkpoint *c)
{
	json_t *out = json_array();
	for (size_t i = 0; i < c->shard_count; i++)
		for (size_t j = 0; j < c->shards[i].ignored_count; j++)
			json_array_append_new(out, json_string(c->shards[i].ignored[j]));
	return out;
}

static void print_likeness(const struct arch_likeness *l)
{
	if (l->type) {
		emit("most like: %s, of family %s: %zu of the %zu keys that a graph may depend on are its keys%s%s\n", l->type,
			l->family, l->shared, l->keys, l->unknown ? "; not " : "", l->unknown ? l->unknown : "");
		if (l->kinds)
			emit("tensors: %zu of %zu kinds are those of %s%s%s%s%s\n", l->kinds_shared, l->kinds, l->type,
				l->kinds_unknown ? "; not " : "", l->kinds_unknown ? l->kinds_unknown : "",
				l->kinds_missing ? "; it has besides " : "", l->kinds_missing ? l->kinds_missing : "");
	}
	if (l->parts)
		emit("parts: %s\n", l->parts);
}

static json_t *likeness_json(const struct arch_likeness *l)
{
	return json_pack("{s:s?, s:s?, s:I, s:I, s:s?, s:I, s:I, s:s?, s:s?, s:s?}", "type", l->type, "family", l->family, "keys",
		(json_int_t)l->keys, "keys_shared", (json_int_t)l->shared, "keys_unknown", l->unknown, "kinds",
		(json_int_t)l->kinds, "kinds_shared", (json_int_t)l->kinds_shared, "kinds_unknown", l->kinds_unknown,
		"kinds_missing", l->kinds_missing, "parts", l->parts);
}

static void print_text(const struct inspection *x, struct arena *a)
{
	struct text t = { 0 };

	emit("%s\n", x->hub.name);
	emit("where: %s%s%s\n", where(x), x->hub.path ? " " : "", x->hub.path ? x->hub.path : "");
	if (x->spec) {
		arch_print(x->spec, &t);
		emit_lines(text_get(&t));
		text_done(&t);
	} else {
		const char *type = visible_short(a, json_string_value(json_object_get(x->checkpoint.config, "model_type")));
		emit("type: %s\n", type ? type : "not given in config.json");
	}
	if (x->weight_count > 0) {
		struct memory_range m = predict_memory(x);
		emit("parameters: %llu%s\n", (unsigned long long)x->parameters,
			x->planned ? " (as the configuration says; no weights here)" : "");
		if (active_parameters(x))
			emit("active: %llu parameters for a token, which is given to %lld of %lld experts\n",
				(unsigned long long)active_parameters(x), (long long)x->experts.chosen,
				(long long)x->experts.experts);
		emit("bytes:");
		for (int d = 0; d < DTYPE_COUNT; d++)
			if (x->bytes[d])
				emit(" %s %s", dtype_word((enum dtype)d), show_size(a, x->bytes[d]));
		emit("\nmemory: %s to %s (%s)\n", show_size(a, m.low), show_size(a, m.high), memory_how);
		if (x->checkpoint.weights_from)
			emit("published as: %s%s\n", x->checkpoint.weights_from,
				x->checkpoint.computed_count ? " when a graph reads them; what is made goes into the cache" : "");
		print_pickle(&x->checkpoint, a);
	} else {
		emit("parameters: not known: no weights here, and the configuration alone does not tell for a model that is not "
		     "supported\n");
	}
	if (!x->spec) {
		emit("not supported yet: %s\n", x->refusal.text);
		print_likeness(&x->like);
	}
}

static json_t *bytes_json(const struct inspection *x)
{
	json_t *out = json_object();
	for (int d = 0; d < DTYPE_COUNT; d++)
		if (x->bytes[d])
			json_object_set_new(out, dtype_word((enum dtype)d), json_integer((json_int_t)x->bytes[d]));
	return out;
}

static void print_json(const struct inspection *x, struct arena *a)
{
	json_t *out = json_pack("{s:o, s:o, s:s?, s:b, s:s?}", "model", visible_json_string(x->hub.name), "path",
		visible_json_string(x->hub.path), "revision", x->hub.revision, "supported", x->spec != NULL, "reason",
		x->spec ? NULL : x->refusal.text);
	if (x->spec) {
		json_t *spec = arch_json(x->spec);
		json_object_update_missing(out, spec);
		json_decref(spec);
	} else {
		json_object_set_new(out, "type",
			json_string(visible_short(a, json_string_value(json_object_get(x->checkpoint.config, "model_type")))));
		if (!json_object_get(out, "type"))
			json_object_set_new(out, "type", json_null());
		json_object_set_new(out, "like", likeness_json(&x->like));
	}
	if (x->weight_count > 0) {
		struct memory_range m = predict_memory(x);
		json_object_set_new(out, "parameters", json_integer((json_int_t)x->parameters));
		if (active_parameters(x))
			json_object_set_new(out, "active_parameters", json_integer((json_int_t)active_parameters(x)));
		json_object_set_new(out, "weights", json_string(x->planned ? "absent" : "present"));
		json_object_set_new(out, "bytes_by_dtype", bytes_json(x));
		json_object_set_new(out, "memory",
			json_pack("{s:b, s:I, s:I, s:s}", "predicted", 1, "low_bytes", (json_int_t)m.low, "high_bytes",
				(json_int_t)m.high, "how", memory_how));
	} else {
		json_object_set_new(out, "parameters", json_null());
		json_object_set_new(out, "weights", json_string("absent"));
		json_object_set_new(out, "bytes_by_dtype", json_object());
		json_object_set_new(out, "memory", json_null());
	}
	json_object_set_new(out, "copied_tensors", json_integer((json_int_t)x->checkpoint.copied_count));
	json_object_set_new(out, "copied_bytes", json_integer((json_int_t)x->checkpoint.copied_nbytes));
	json_object_set_new(
		out, "weights_from", x->checkpoint.weights_from ? json_string(x->checkpoint.weights_from) : json_null());
	json_object_set_new(out, "ignored", ignored_json(&x->checkpoint));
	show_json(out);
	json_decref(out);
}

static int run(int argc, char **argv)
{
	bool json = false, offline = false;
	const struct cli_option options[] = {
		{ "offline", CLI_FLAG, &offline, NULL, "fetch nothing from the Hub, as with HF_HUB_OFFLINE=1" },
		{ "json", CLI_FLAG, &json, NULL, "an object on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay inspect MODEL [--offline] [--json]",
		.text = "Of an .onnx file: IR version, opsets and what the engines take of them, inputs, outputs, operators,\n"
			"parameters, files of weights, and what each platform would refuse as far as the file alone tells.\n\n"
			"Type, family, dialect, traits, parameter count (of a mixture of experts also those that a token is\n"
			"computed with), bytes by dtype and the memory needed to run (a prediction),\n"
			"from config.json and the "
			"headers of the files of weights (safetensors, or\n"
			"pytorch_model.bin) alone; or what is not supported yet. Of a model that is not here config.json alone\n"
			"is fetched from the Hub.\n\n"
			"Exit codes: 0 supported; 1 bad use, or files that cannot be read; 2 not supported yet.\n",
		.options = options,
		.min_words = 1,
		.max_words = 1,
	};
	struct inspection x = { 0 };
	struct arena arena = { 0 };
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code >= 0 || (code = fetching_ensure(argv[1], FETCH_CONFIG, offline)) >= 0)
		return code;
	if (hub_find(&x.hub, &arena, argv[1], &err) == STATUS_OK && x.hub.kind == HUB_ONNX_FILE) {
		code = inspect_onnx(&x.hub, json, &err) ? cli_error(&err) : EXIT_GOOD;
	} else if (inspect(&x, &arena, argv[1], &err) != STATUS_OK) {
		code = cli_error(&err);
	} else {
		if (json)
			print_json(&x, &arena);
		else
			print_text(&x, &arena);
		code = x.spec ? EXIT_GOOD : EXIT_VERDICT;
	}
	checkpoint_close(&x.checkpoint);
	arena_done(&arena);
	return code;
}

const struct command command_inspect = { "inspect", "what a model is: type, family, traits, parameters, bytes, memory", run };
