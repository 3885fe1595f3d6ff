// SPDX-License-Identifier: Apache-2.0
// question.h: a question as the command that asks it. Whatever prints a command prints this one.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "store/question.h"

static void add_word(struct text *t, const char *flag, const char *word)
{
	if (!word || !*word)
		return;
	text_addf(t, " %s%s", flag, *flag ? " " : "");
	if (!word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@+")]) {
		text_add(t, word);
		return;
	}
	text_add(t, "'");
	for (const char *p = word; *p; p++)
		text_add_bytes(t, *p == '\'' ? "'\\''" : p, *p == '\'' ? 4 : 1);
	text_add(t, "'");
}

static void add_number(struct text *t, const char *flag, int64_t n)
{
	if (n > 0)
		text_addf(t, " %s %lld", flag, (long long)n);
}

static void add_real(struct text *t, const char *flag, double x)
{
	if (x > 0)
		text_addf(t, " %s %.17g", flag, x);
}

static void add_flag(struct text *t, const char *flag, bool is)
{
	text_addf(t, is ? " %s" : "", flag);
}

// "latency_bound_ms" is --latency-bound.
static const char *flag_of(struct arena *a, const char *name)
{
	size_t n = strlen(name) - (text_ends(name, "_per_s") ? 6 : text_ends(name, "_ms") ? 3 : 0);
	char *out = arena_printf(a, "--%.*s", (int)n, name);

	for (char *p = out; *p; p++)
		*p = *p == '_' ? '-' : *p;
	return out;
}

const char *question_target(struct arena *a, const struct store_question *q)
{
	return q->cell.device && *q->cell.device ? arena_printf(a, "%s:%s", q->cell.platform, q->cell.device) : q->cell.platform;
}

const char *question_command(struct arena *a, const struct store_question *q, const struct row *r)
{
	const struct cell *c = &q->cell;
	bool from_row = q->is_rebuilt && r->new_tokens != ROW_NONE; // the question is older than its record
	int64_t new_tokens = from_row ? r->new_tokens : c->new_tokens;
	struct text t = { 0 };

	text_add(&t, "assay run");
	add_word(&t, "", c->model ? c->model : "?");
	add_word(&t, "--on", question_target(a, q));
	add_word(&t, "--options", q->own_options);
	if (new_tokens > 0) {
		text_add(&t, " --task generate");
		add_number(&t, "--prompt-tokens", from_row ? r->prompt_tokens : c->prompt_tokens);
		add_number(&t, "--new-tokens", new_tokens);
	} else {
		add_number(&t, "--seq", c->sequence);
	}
	add_number(&t, "--batch", c->batch > 1 ? c->batch : 0);
	add_number(&t, "--runs", c->runs);
	add_number(&t, "--layers", c->layers);
	add_number(&t, "--seed", (int64_t)c->seed);
	add_flag(&t, "--synthetic", c->synthetic);
	add_flag(&t, "--static", c->is_static);
	add_flag(&t, "--dynamic", c->is_dynamic);
	add_flag(&t, "--no-fallback", c->no_fallback);
	add_flag(&t, "--allow-fallback", c->allow_fallback);
	add_flag(&t, "--no-conform", r->type_conformance == NULL);
	add_flag(&t, "--force", c->force);
	add_real(&t, "--timeout", fabs(c->timeout_s - 600) < 1e-9 ? 0 : c->timeout_s);
	add_real(&t, "--quiet-wait", c->quiet_wait_s);
	add_real(&t, "--memory", (double)c->memory_bytes / 1073741824.0);
	add_word(&t, "--golden", c->golden);
	// The options of VARIANT_LIST have its names without their units, with - for _.
#define ADD_TEXT add_word
#define ADD_INTEGER add_number
#define ADD_REAL add_real
#define X(kind, name, meaning) ADD_##kind(&t, flag_of(a, #name), c->variant.name);
	VARIANT_LIST(X)
#undef X
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}
