// SPDX-License-Identifier: Apache-2.0
// prove.h. The model is BERT with two layers of width 64 and random weights, some hundred kB in assay's cache: every platform has
// its operators, and its graph has what platforms stumble over (Gather, LayerNormalization, Erf, Softmax).
#include "analysis/prove.h"

#include <math.h>
#include <string.h>

#include "backend/cause.h"
#include "base/cache.h"
#include "base/file.h"
#include "base/text.h"
#include "run/cell.h"

static const char config[] =
	"{\n"
	"  \"architectures\": [\"BertModel\"], \"model_type\": \"bert\", \"hidden_act\": \"gelu\",\n"
	"  \"hidden_size\": 64, \"intermediate_size\": 128, \"num_attention_heads\": 2, \"num_hidden_layers\": 2,\n"
	"  \"max_position_embeddings\": 64, \"type_vocab_size\": 2, \"vocab_size\": 512, \"layer_norm_eps\": 1e-12\n"
	"}\n";

enum { SEQUENCE = 16 };

// The folder is always the same, so that its synthetic weights are made once.
static enum status place_model(const char **folder, struct arena *a, struct error *err)
{
	const char *part;
	enum status st = cache_part(&part, a, "doctor", err);

	if (st)
		return st;
	*folder = arena_printf(a, "%s/bert", part);
	if ((st = file_mkdirs_private(*folder, err)))
		return st;
	return file_put(arena_printf(a, "%s/config.json", *folder), config, strlen(config), err);
}

// The first device of the route's provider, where the platform's default is not among them; NULL: none.
static const char *device_of(struct checkup *c, const struct target *t, const json_t *probe)
{
	const json_t *d;
	const char *first = NULL;
	size_t i;

	json_array_foreach(json_object_get(probe, "devices"), i, d)
	{
		const char *name = json_string_value(json_object_get(d, "name")),
			   *provider = json_string_value(json_object_get(d, "provider"));
		if (!name || !text_is(provider, t->route->provider) || platform_route(t->platform, name) != t->route)
			continue;
		if (text_is(name, t->device) || (!t->device && text_is(name, t->route->device)))
			return arena_strdup(c->arena, name);
		first = first ? first : name;
	}
	return arena_strdup(c->arena, first);
}

// Sets the target's device to one that is here. False: there is none, and the check says why.
static bool check_loads(struct checkup *c, struct target *t, const struct probe_limits *l)
{
	json_t *probe = cell_probe(route_backend(t->route), route_provider(t->route)->build, l);
	const char *version = json_string_value(json_object_get(probe, "version"));
	const char *own = json_string_value(json_object_get(json_object_get(probe, "absent"), t->route->provider));
	const char *why = own ? own : json_string_value(json_object_get(probe, "reason"));
	const char *device = device_of(c, t, probe);

	if (device) {
		checkup_add(c, CHECK_OK, "loads", NULL, "in a child process: %s %s, device %s", t->route->engine,
			version ? version : "", device);
		if (!t->chosen)
			t->device = device;
	} else {
		checkup_add(c, CHECK_BAD, "loads", NULL, "%s", why ? why : "the engine lists no device for it");
		c->unasked = own ? cause_status(t->route->engine, t->route->provider, own, STATUS_UNAVAILABLE) == STATUS_NOT_ASKED
				 : verdict_find(json_string_value(json_object_get(probe, "verdict"))) == VERDICT_NOT_ASKED;
	}
	json_decref(probe);
	return device != NULL;
}

static const char *where_it_ran(struct arena *a, const struct row *r)
{
	return r->placement_note ? arena_printf(a, "; %s", r->placement_note) : "";
}

static void judge(struct checkup *c, const struct target *t, const struct cell_result *got)
{
	const struct row *r = &got->row;
	const char *device = r->device ? r->device : t->device ? t->device : t->route->device;
	const char *reference = t->platform->reference;

	switch (got->verdict) {
	case VERDICT_RIGHT:
		c->works = true;
		checkup_add(c, CHECK_OK, "runs", NULL,
			"a BERT of 2 layers is right on %s%s%s: largest error %.2g, judged by %s%s", device,
			r->emulated == 1 ? " (EMULATED)" : "",
			isnan(r->latency_ms) ? "" : arena_printf(c->arena, ", %.3g ms", r->latency_ms), r->max_abs_error,
			r->reference ? r->reference : "its reference", where_it_ran(c->arena, r));
		return;
	case VERDICT_FELL_BACK:
		checkup_add(c, CHECK_BAD, "runs", NULL, "every node ran elsewhere: %s took nothing%s", device,
			where_it_ran(c->arena, r));
		return;
	case VERDICT_UNJUDGED:
		c->unasked = true;
		checkup_add(c, CHECK_BAD, "runs",
			reference ? arena_printf(c->arena, "run: assay doctor %.*s", (int)strcspn(reference, ":"), reference)
				  : NULL,
			"a BERT of 2 layers ran on %s, but what would judge it (%s) is not to be had%s%s", device,
			reference ? reference : "nothing", r->cause ? ": " : "", r->cause ? r->cause : "");
		return;
	case VERDICT_WRONG:
		checkup_add(c, CHECK_BAD, "runs", r->hint ? r->hint : "do not use this device: update its driver and its library",
			"WRONG results on %s: %s%s%s", device, r->cause ? r->cause : "the outputs differ from the reference",
			r->worst ? "; worst " : "", r->worst ? r->worst : "");
		return;
	case VERDICT_COMPILES:
		checkup_add(c, CHECK_NONE, "runs", NULL, "it compiles for %s, which is not here: nothing ran", device);
		return;
	default:
		c->unasked = !verdict_answers(got->verdict);
		checkup_add(c, CHECK_BAD, "runs", r->hint, "%s: %s", verdict_word(got->verdict),
			r->cause ? r->cause : verdict_sentence(got->verdict));
	}
}

// Does it fit what this process may use? A little model may take what is otherwise left for others: that is no reason to say that
// a platform does not work.
static bool check_memory(struct checkup *c, const struct plan_memory *memory, struct question *q)
{
	struct machine m;

	if (!memory->refused)
		return true;
	machine_detect(&m, c->arena);
	bool limited = m.memory_limit_bytes > 0 && (m.memory_bytes <= 0 || m.memory_limit_bytes < m.memory_bytes);
	double need = (double)memory->predicted_bytes / 1048576.0, left = (double)m.memory_available_bytes / 1048576.0;
	const char *limit = limited
		? arena_printf(c->arena, "; its control group is limited to %.0f MiB", (double)m.memory_limit_bytes / 1048576.0)
		: "";

	if (left > need) {
		checkup_add(c, CHECK_NONE, "memory", NULL, "tight: %.0f MiB are needed (predicted) and %.0f available%s", need,
			left, limit);
		q->force = true;
		return true;
	}
	c->unasked = true;
	checkup_add(c, CHECK_BAD, "memory",
		limited ? "raise the memory limit of the control group (memory.max, or the container's --memory)"
			: "free some memory",
		"too little: %.0f MiB are needed (predicted) and %.0f available%s", need, left, limit);
	return false;
}

static enum status run_model(
	struct checkup *c, const struct target *t, struct question *q, const struct cell_watch *watch, struct error *err)
{
	struct plan_model model;
	struct plan_memory memory = { 0 };
	struct cell_result got;
	const char *folder;
	enum status st = place_model(&folder, c->arena, err);

	if (st || (st = plan_model(&model, c->arena, folder, q, err)))
		return st;
	plan_memory(&memory, c->arena, &model, t, q, NULL);
	if (!check_memory(c, &memory, q))
		return STATUS_OK;
	if (q->force)
		memory.refused = NULL;
	if ((st = plan_weights(&model, c->arena, t, q, plan_cache_limit(), NULL, NULL, err)) ||
		(st = plan_run(&(struct plan_asked){ .model = &model, .target = t, .question = q, .memory = &memory }, NULL,
			 watch, c->arena, &got, err)))
		return st;
	judge(c, t, &got);
	return STATUS_OK;
}

void prove_route(struct checkup *c, const struct target *target, double timeout_s, const struct cell_watch *watch)
{
	struct question q = { .synthetic = true, .sequence = SEQUENCE, .runs = 1, .no_conform = true, .timeout_s = timeout_s };
	const struct probe_limits limits = { .timeout_s = timeout_s, .stop = watch ? watch->stop : NULL };
	struct target t = *target;
	struct error err = { 0 };
	enum status st;

	if (c->hopeless) {
		checkup_add(c, CHECK_NONE, "runs", NULL, "not tried: what is wrong above comes first");
		return;
	}
	if (!check_loads(c, &t, &limits)) {
		checkup_add(c, CHECK_NONE, "runs", NULL, "not tried: %s",
			c->unasked ? "what is wrong above comes first" : "there is no device");
	} else if ((st = run_model(c, &t, &q, watch, &err))) {
		c->unasked = !verdict_answers(verdict_of_status(st));
		checkup_add(c, CHECK_BAD, "runs", NULL, "%s", err.text);
	}
}
