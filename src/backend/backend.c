// SPDX-License-Identifier: Apache-2.0
// The list of engines, and the one way into them: options, checks of what goes in and comes out, half-open sessions.
// It knows no engine's API and measures nothing: the caller of session_run reads the clock.
#include "backend/backend.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "artifact/parts.h"
#include "base/file.h"
#include "base/text.h"
#include "onnx/flow.h"

static const struct backend *const backends[] = { &backend_ort, &backend_openvino, &backend_browser, &backend_null };

size_t backend_count(void)
{
	return sizeof backends / sizeof *backends;
}

const struct backend *backend_get(size_t i)
{
	return backends[i];
}

const struct backend *backend_find(const char *name)
{
	for (size_t i = 0; i < backend_count(); i++)
		if (text_is(backends[i]->name, name))
			return backends[i];
	return NULL;
}

const struct provider *backend_provider(const struct backend *b, const char *name)
{
	for (const struct provider *p = b->providers; p->name; p++)
		if (!name || text_is(p->name, name))
			return p;
	return NULL;
}

static enum status said_by(const struct backend *b, const char *doing, struct error *err)
{
	if (err)
		err->of_engine = true;
	return error_prefix(err, "%s%s", b->name, doing);
}

// An engine loads libraries, which read settings from where they are (SwiftShader.ini, libnative_tls.conf; the Vulkan loader of
// browsers a list of libraries to load): wherever it may do so, it is called from another folder.
static enum status leave_folder(const struct backend *b, int *here, struct error *err)
{
	return b->caps & BACKEND_SOFTWARE ? STATUS_OK : file_leave_folder(here, err);
}

// ---- devices ------------------------------------------------------------------------------------------------------------

enum status backend_devices(const struct backend *b, const char *build, struct device_list *out, struct error *err)
{
	struct device_list list = { .arena = out->arena };
	int here = -1;
	enum status st = leave_folder(b, &here, err);

	st = st ? st : b->devices(build, &list, err);
	file_return_folder(here);
	if (!st)
		*out = list;
	return st ? error_prefix(err, "%s", b->name) : STATUS_OK;
}

static const char *kept(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

void device_add(struct device_list *l, const struct device *d)
{
	struct device *items = ARENA_ARRAY(l->arena, l->count + 1, struct device);

	if (l->count)
		memcpy(items, l->items, l->count * sizeof *items);
	items[l->count] = *d;
	items[l->count].name = kept(l->arena, d->name);
	items[l->count].description = kept(l->arena, d->description);
	items[l->count].features = kept(l->arena, d->features);
	l->items = items;
	l->count++;
}

void device_absent(struct device_list *l, const char *provider, const char *format, ...)
{
	struct absence *absent = ARENA_ARRAY(l->arena, l->absent_count + 1, struct absence);
	struct text reason = { 0 };
	va_list ap;

	if (l->absent_count)
		memcpy(absent, l->absent, l->absent_count * sizeof *absent);
	va_start(ap, format);
	text_addv(&reason, format, ap);
	va_end(ap);
	absent[l->absent_count++] = (struct absence){ provider, arena_strdup(l->arena, text_get(&reason)) };
	l->absent = absent;
	text_done(&reason);
}

// ---- options ------------------------------------------------------------------------------------------------------------

static const struct option *find_in(const struct option *o, const char *name, size_t length)
{
	for (; o && o->name; o++)
		if (strlen(o->name) == length && !strncmp(o->name, name, length))
			return o;
	return NULL;
}

static const struct option *find_option(const struct backend *b, const struct provider *p, const char *name, size_t length)
{
	const struct option *own = p ? find_in(p->options, name, length) : NULL;

	return own ? own : find_in(b->options, name, length);
}

bool backend_has_option(const struct backend *b, const struct provider *p, const char *name, size_t length)
{
	return find_option(b, p, name, length) != NULL;
}

static enum status unknown_option(
	const struct backend *b, const struct provider *p, const char *item, size_t length, struct error *err)
{
	const struct option *lists[] = { b->options, p ? p->options : NULL };
	struct text known = { 0 };
	enum status st;

	for (size_t i = 0; i < 2; i++)
		for (const struct option *o = lists[i]; o && o->name; o++)
			text_addf(&known, "%s%s", known.length ? ", " : "", o->name);
	st = error_set(
		err, STATUS_BAD_INPUT, "%s has no option \"%.*s\"; it has %s", b->name, (int)length, item, text_get(&known));
	text_done(&known);
	return st;
}

static const char *const yes[] = { "on", "1", "yes", "true" }, *const no[] = { "off", "0", "no", "false" };
enum { SWITCH_WORDS = sizeof yes / sizeof *yes };

// The value of a switch in *on; false: it is none.
static bool is_switch(const char *text, bool *on)
{
	for (size_t i = 0; i < SWITCH_WORDS; i++)
		if (text_is(text, yes[i]) || text_is(text, no[i])) {
			*on = text_is(text, yes[i]);
			return true;
		}
	return false;
}

// Is it the word, or a number of the range, that stands at `takes`?
static bool is_of(const char *takes, size_t length, const char *text)
{
	const char *dots = strstr(takes, "..");
	int64_t n;
	bool on;

	if (dots && dots < takes + length)
		return text_to_int(text, strtoll(takes, NULL, 10), strtoll(dots + 2, NULL, 10), &n);
	if ((length == 2 && !strncmp(takes, "on", 2)) || (length == 3 && !strncmp(takes, "off", 3)))
		return is_switch(text, &on);
	return strlen(text) == length && !strncasecmp(takes, text, length);
}

static enum status check_value(const struct backend *b, const struct option *o, const char *text, struct error *err)
{
	struct text known = { 0 };
	enum status st;

	for (const char *at = o->takes; at && *at;) {
		const size_t length = strcspn(at, " "), dots = strcspn(at, ".");

		if (is_of(at, length, text)) {
			text_done(&known);
			return STATUS_OK;
		}
		text_add(&known, known.length ? ", " : "");
		if (dots < length)
			text_addf(&known, "a number from %.*s to %.*s", (int)dots, at, (int)(length - dots - 2), at + dots + 2);
		else
			text_addf(&known, "%.*s", (int)length, at);
		at += length + (at[length] == ' ');
	}
	st = known.length ? error_set(err, STATUS_BAD_INPUT, "%s: option %s is \"%s\"; it takes %s", b->name, o->name, text,
				    text_get(&known))
			  : STATUS_OK;
	text_done(&known);
	return st;
}

enum status backend_check_options(const struct backend *b, const struct provider *p, const char *options, struct error *err)
{
	for (const char *at = options; at && *at;) {
		size_t length = strcspn(at, ","), name = strcspn(at, "=,");
		const struct option *o = length ? find_option(b, p, at, name) : NULL;

		if (length && !o)
			return unknown_option(b, p, at, name, err);
		if (o && name == length)
			return error_set(err, STATUS_BAD_INPUT, "%s: option %s needs a value: %s=...", b->name, o->name, o->name);
		if (o) {
			char *value = strndup(at + name + 1, length - name - 1);
			enum status st = value ? check_value(b, o, value, err) : error_set(err, STATUS_NO_MEMORY, "no memory");

			free(value);
			if (st)
				return st;
		}
		at += length + (at[length] == ',');
	}
	return STATUS_OK;
}

const char *backend_reaches_out(const struct backend *b, const struct provider *p, const char *options)
{
	for (const char *at = options; at && *at;) {
		size_t length = strcspn(at, ",");
		const struct option *o = length ? find_option(b, p, at, strcspn(at, "=,")) : NULL;

		if (o && o->reaches_out)
			return o->name;
		at += length + (at[length] == ',');
	}
	return NULL;
}

static enum status parse_options(struct session *s, const char *options, struct error *err)
{
	const struct option *lists[] = { s->backend->options, s->provider->options };
	enum status st = backend_check_options(s->backend, s->provider, options, err);

	if (st)
		return st;
	for (size_t i = 0; i < 2; i++)
		for (const struct option *o = lists[i]; o && o->name; o++)
			if (o->value)
				session_set_option(s, o->name, o->value);
	for (const char *at = options; at && *at;) {
		size_t length = strcspn(at, ","), name = strcspn(at, "=,");

		if (length)
			session_set_option(s, find_option(s->backend, s->provider, at, name)->name,
				arena_strndup(&s->arena, at + name + 1, length - name - 1));
		at += length + (at[length] == ',');
	}
	return STATUS_OK;
}

const char *session_option(const struct session *s, const char *name)
{
	return json_string_value(json_object_get(s->options, name));
}

void session_set_option(struct session *s, const char *name, const char *text)
{
	json_object_set_new(s->options, name, json_string(text));
}

bool session_option_is_own(const struct session *s, const char *name)
{
	return text_is(session_option(s, name), "default");
}

enum status session_option_int(
	const struct session *s, const char *name, int64_t min, int64_t max, int64_t otherwise, int64_t *out, struct error *err)
{
	const char *text = session_option(s, name);

	if (!text)
		*out = otherwise;
	else if (!text_to_int(text, min, max, out))
		return error_set(err, STATUS_BAD_INPUT, "option %s is \"%s\"; it takes a number from %lld to %lld", name, text,
			(long long)min, (long long)max);
	return STATUS_OK;
}

enum status session_option_bool(struct session *s, const char *name, bool *out, struct error *err)
{
	const char *text = session_option(s, name);

	if (text && is_switch(text, out)) {
		session_set_option(s, name, *out ? "on" : "off");
		return STATUS_OK;
	}
	return error_set(err, STATUS_BAD_INPUT, "option %s is \"%s\"; it takes on or off", name, text ? text : "");
}

enum status session_option_word(
	const struct session *s, const char *name, const char *const *words, size_t count, size_t *out, struct error *err)
{
	const char *text = session_option(s, name);
	struct text known = { 0 };
	enum status st;

	for (size_t i = 0; i < count; i++) {
		if (text && !strcasecmp(text, words[i])) {
			*out = i;
			text_done(&known);
			return STATUS_OK;
		}
		text_addf(&known, "%s%s", i ? ", " : "", words[i]);
	}
	st = error_set(
		err, STATUS_BAD_INPUT, "option %s is \"%s\"; it takes one of %s", name, text ? text : "", text_get(&known));
	text_done(&known);
	return st;
}

// ---- sessions -----------------------------------------------------------------------------------------------------------

static enum status open_zeroed(struct session *s, const struct backend *b, const struct provider *p, const char *device,
	const char *options, const struct artifact *a, struct error *err)
{
	enum status st;
	int here = -1;

	s->backend = b;
	s->provider = p ? p : b->providers;
	s->node_count = a->summary.node_count ? (int64_t)a->summary.node_count : -1;
	s->device = device && *device ? arena_strdup(&s->arena, device) : NULL;
	s->options = json_object();
	s->state = arena_alloc(&s->arena, b->session_size);
	st = parse_options(s, options, err);
	if (!st && (b->caps & BACKEND_NEEDS_PATH) && !a->graph_path)
		st = error_set(err, STATUS_BAD_INPUT, "%s reads graphs from files, and this one has no path", b->name);
	st = st ? st : leave_folder(b, &here, err);
	if (!st && (st = b->open(s, a, err))) {
		said_by(b, "", err);
		if (st == STATUS_FAILED || st == STATUS_UNSUPPORTED || st == STATUS_BAD_INPUT)
			st = artifact_check_given(a, err ? arena_strdup(&s->arena, err->text) : NULL, err) ? STATUS_NOT_ASKED
													   : st;
	}
	if (st)
		session_close(s);
	file_return_folder(here);
	return st;
}

enum status session_open(struct session *s, const struct backend *b, const struct provider *p, const char *device,
	const char *options, const struct artifact *a, struct error *err)
{
	*s = (struct session){ 0 };
	return open_zeroed(s, b, p, device, options, a, err);
}

enum status session_open_untimed(struct session *s, const struct backend *b, const struct provider *p, const char *device,
	const char *options, const struct artifact *a, struct error *err)
{
	*s = (struct session){ .is_untimed = true };
	return open_zeroed(s, b, p, device, options, a, err);
}

// `have` against what the engine declares; -1 takes anything.
static enum status check_tensor(
	const struct session *s, const char *what, const struct tensor_type *want, const struct tensor *have, struct error *err)
{
	char shape[2][128];
	size_t count;
	bool same = want->rank == have->rank;

	if (have->name && !text_is(have->name, want->name))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s %s was given where %s is expected", s->backend->name, what,
			have->name, want->name);
	if (want->dtype != have->dtype)
		return error_set(err, STATUS_BAD_INPUT, "%s: %s %s has type %s, expected %s", s->backend->name, what, want->name,
			dtype_word(have->dtype), dtype_word(want->dtype));
	for (int i = 0; same && i < want->rank; i++)
		same = want->dim[i] < 0 || want->dim[i] == have->dim[i];
	if (!same)
		return error_set(err, STATUS_BAD_INPUT, "%s: %s %s has shape %s, expected %s", s->backend->name, what, want->name,
			tensor_shape_text(have->rank, have->dim, shape[0], sizeof shape[0]),
			tensor_shape_text(want->rank, want->dim, shape[1], sizeof shape[1]));
	if (!tensor_count(have->rank, have->dim, &count) || have->nbytes != count * dtype_size(have->dtype) ||
		(count && !have->data))
		return error_set(err, STATUS_BAD_INPUT, "%s: %s %s of shape %s has %zu bytes", s->backend->name, what, want->name,
			tensor_shape_text(have->rank, have->dim, shape[0], sizeof shape[0]), have->nbytes);
	return STATUS_OK;
}

enum status session_check(const struct session *s, const struct tensor *in, size_t in_count, struct error *err)
{
	enum status st = STATUS_OK;

	if (in_count != s->input_count)
		return error_set(
			err, STATUS_BAD_INPUT, "%s takes %zu inputs, %zu were given", s->backend->name, s->input_count, in_count);
	for (size_t i = 0; i < in_count && !st; i++)
		st = check_tensor(s, "input", &s->inputs[i], &in[i], err);
	return st;
}

enum status session_run(
	struct session *s, const struct tensor *in, size_t in_count, struct tensor *out, size_t out_count, struct error *err)
{
	enum status st = session_check(s, in, in_count, err);
	int here = -1;

	if (!st && out_count != s->output_count)
		st = error_set(err, STATUS_BAD_INPUT, "%s gives %zu outputs, room was made for %zu", s->backend->name,
			s->output_count, out_count);
	if (st)
		return st;
	if (!s->run_count++) // which may load more
		st = leave_folder(s->backend, &here, err);
	if (!st && (st = s->backend->run(s, in, out, err)))
		said_by(s->backend, "", err);
	file_return_folder(here);
	return st;
}

enum status session_lanes(struct session *s, size_t count, struct error *err)
{
	if (!s->backend->lanes)
		return error_set(err, STATUS_UNSUPPORTED, "%s runs one after the other", s->backend->name);
	return s->backend->lanes(s, count, err);
}

enum status session_run_lane(
	struct session *s, size_t lane, const struct tensor *in, size_t in_count, struct tensor *out, struct error *err)
{
	enum status st = session_check(s, in, in_count, err);

	if (st)
		return st;
	return (st = s->backend->run_lane(s, lane, in, out, err)) ? said_by(s->backend, "", err) : STATUS_OK;
}

enum status session_share_cache(struct session *s, struct error *err)
{
	int *past_of = ARENA_ARRAY(&s->arena, s->output_count + 1, int), pairs = 0;

	if (!(s->backend->caps & BACKEND_WRITES_IN_PLACE))
		return error_set(err, STATUS_UNSUPPORTED, "%s cannot write a cache in place", s->backend->name);
	for (size_t i = 0; i < s->output_count; i++) {
		const char *next =
			flow_output(s->outputs[i].name) == FLOW_CACHE ? flow_next(&s->arena, s->outputs[i].name) : NULL;

		past_of[i] = -1;
		for (size_t k = 0; next && k < s->input_count; k++)
			if (text_is(s->inputs[k].name, next)) {
				past_of[i] = (int)k;
				pairs++;
			}
	}
	if (!pairs)
		return error_set(err, STATUS_BAD_INPUT, "the graph has no cache to share");
	s->past_of = past_of;
	return STATUS_OK;
}

// An engine that spells places otherwise than the provider marks the nodes itself.
static void mark_elsewhere(const struct session *s, struct placement *p)
{
	const char *asked = session_option(s, "provider");
	bool comparable = p->on_platform == 0 && p->elsewhere > 0;
	int64_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		comparable |= asked && p->nodes[i].where && !strcmp(p->nodes[i].where, asked);
	for (size_t i = 0; i < p->count; i++) {
		struct placed_node *n = &p->nodes[i];

		n->elsewhere |= n->reason || (comparable && asked && n->where && strcmp(n->where, asked));
		n->elsewhere &= !n->fused_away;
		count += n->elsewhere;
	}
	if (p->elsewhere < 0 && p->on_platform >= 0 && p->count)
		p->elsewhere = count;
}

enum status session_explain(struct session *s, const struct artifact *a, const struct tensor *in, size_t in_count,
	struct placement *out, struct error *err)
{
	struct placement p = { .arena = out->arena, .on_platform = -1, .elsewhere = -1, .partitions = -1, .copies = -1 };
	enum status st = in ? session_check(s, in, in_count, err) : STATUS_OK;
	int here = -1;

	if (st)
		return st;
	if (!s->backend->explain) {
		p.note = "this engine does not tell where nodes run";
		*out = p;
		return STATUS_OK;
	}
	st = leave_folder(s->backend, &here, err);
	if (!st && (st = s->backend->explain(s, a, in, &p, err)))
		said_by(s->backend, "", err);
	file_return_folder(here);
	if (st)
		return st;
	mark_elsewhere(s, &p);
	*out = p;
	return STATUS_OK;
}

enum status backend_can_profile(const struct backend *b, const struct provider *p, struct error *err)
{
	if (!b->profile)
		return error_set(
			err, STATUS_UNSUPPORTED, "%s does not tell how long its nodes take; cpu and openvino do", b->name);
	return b->can_profile ? b->can_profile(p, err) : STATUS_OK;
}

enum status session_profile(struct session *s, const struct artifact *a, const struct tensor *in, size_t in_count,
	struct profile *out, struct error *err)
{
	enum status st = backend_can_profile(s->backend, s->provider, err);
	int here = -1;

	if (st || (st = session_check(s, in, in_count, err)) || (st = leave_folder(s->backend, &here, err)))
		return st;
	if ((st = s->backend->profile(s, a, in, out, err)))
		said_by(s->backend, ": profile", err);
	file_return_folder(here);
	return st;
}

struct timed_run {
	double ms;
	size_t number;
};

static int by_ms(const void *a, const void *b)
{
	const struct timed_run *x = a, *y = b;

	return x->ms != y->ms ? (x->ms < y->ms ? -1 : 1) : (x->number > y->number) - (x->number < y->number);
}

// Medians of single nodes would not add up: of a machine that is now and then disturbed, each node's median leaves its own
// disturbance out, and no run was ever as short as their sum. The means over the same runs do.
void profile_gather(struct profile *out, const double *ms, const double *whole_ms, size_t runs)
{
	struct timed_run *order = ARENA_ARRAY(out->arena, runs + 1, struct timed_run);
	size_t left_out = runs / 4, taken = runs - 2 * left_out;

	for (size_t r = 0; r < runs; r++)
		order[r] = (struct timed_run){ whole_ms[r], r };
	qsort(order, runs, sizeof *order, by_ms);
	out->runs = (int64_t)runs;
	out->taken = (int64_t)taken;
	out->least_ms = order[0].ms;
	out->most_ms = order[runs - 1].ms;
	out->whole_ms = 0;
	for (size_t r = left_out; r < left_out + taken; r++) {
		out->whole_ms += order[r].ms / (double)taken;
		for (size_t i = 0; i < out->count; i++)
			out->nodes[i].ms += ms[order[r].number * out->count + i] / (double)taken;
	}
}

void session_close(struct session *s)
{
	if (!s->backend)
		return;
	if (s->state)
		s->backend->close(s);
	json_decref(s->options);
	json_decref(s->adapter);
	arena_done(&s->arena);
	memset(s, 0, sizeof *s);
}

// ---- around sessions ----------------------------------------------------------------------------------------------------

enum status backend_prepare(
	const struct backend *b, struct artifact *art, struct arena *a, const struct checkpoint *c, struct error *err)
{
	struct artifact_parts *parts;
	enum status st = artifact_identify(art, a, c, err);

	if (st)
		return st;
	if (((b->caps & BACKEND_NEEDS_PATH) || (artifact_needs_path(art) && !(b->caps & BACKEND_NEEDS_PARTS))) &&
		(st = artifact_place(art, a, c, err)))
		return st;
	if (!(b->caps & BACKEND_NEEDS_PARTS))
		return STATUS_OK;
	parts = ARENA_NEW(a, struct artifact_parts);
	if ((st = artifact_cut(parts, a, art, c, PART_NBYTES, err)))
		return st;
	art->parts = parts;
	art->placed_by = "parts";
	return STATUS_OK;
}

bool backend_memory(int64_t *pss_kib, int64_t *anonymous_kib)
{
	bool any = false;

	*pss_kib = *anonymous_kib = 0;
	for (size_t i = 0; i < backend_count(); i++) {
		int64_t pss, anonymous;

		if (backend_get(i)->memory && backend_get(i)->memory(&pss, &anonymous)) {
			*pss_kib += pss;
			*anonymous_kib += anonymous;
			any = true;
		}
	}
	return any;
}

void backend_end(void)
{
	for (size_t i = 0; i < backend_count(); i++)
		if (backend_get(i)->end)
			backend_get(i)->end();
}

static void (*notice)(const char *);

void backend_set_notice(void (*listener)(const char *text))
{
	notice = listener;
}

void backend_notice(const char *text)
{
	if (notice)
		notice(text);
}
