// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime says in its log and nowhere else: how many nodes it added to copy between devices, why a provider left a node
// out, and errors after which it goes on without the provider. Errors also go to standard error, where they went before.
// One process has one environment and so one log; it is asked between sessions of one thread, but written by many.
#include "backend/ort.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

struct refusal {
	const char *node, *reason;
	struct refusal *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t copies;
static char last_error[800];
static struct arena *refusals_arena; // NULL: they are not collected
static struct refusal *refusals;
static struct ort_logged *placed;
static char *placed_on; // the provider whose nodes are being listed

static const char *one_line(struct arena *a, const char *from, size_t length)
{
	char *text = arena_strndup(a, from, length);

	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '\r' || *c == '\t')
			*c = ' ';
	for (size_t n = strlen(text); n && (text[n - 1] == ' ' || text[n - 1] == '.'); n--)
		text[n - 1] = 0;
	return text;
}

static void refuse(const char *node, size_t node_length, const char *reason, size_t reason_length)
{
	struct refusal *r = ARENA_ARRAY(refusals_arena, 1, struct refusal);

	*r = (struct refusal){ arena_strndup(refusals_arena, node, node_length), one_line(refusals_arena, reason, reason_length),
		refusals };
	refusals = r;
}

// QNN:    "Validation FAILED for 1 nodes in OrtNodeUnit (Erf) :\n\tOperator type: Erf Node name: erf Node index: 2\n\tREASON :
//         Operators of
//          type `Erf` are not supported by QNN EP.Erf node `erf` will not be assigned to QNN EP."
// WebGPU: "webgpu kernel not found in registries for Op type: Erf node name: erf"
static void hear_refusal(const char *message)
{
	static const char *const name_marks[] = { "Node name: ", "node name: " };
	const char *reason = strstr(message, "REASON : ");

	if (reason && strstr(message, "FAILED")) {
		const char *name = strstr(message, name_marks[0]), *end = name ? strstr(name, " Node index") : NULL;

		if (!end)
			return;
		name += strlen(name_marks[0]);
		reason += strlen("REASON : ");
		refuse(name, (size_t)(end - name), reason, strcspn(reason, "\n"));
	} else if (strstr(message, "kernel not found in registries")) {
		const char *name = strstr(message, name_marks[1]);

		if (!name)
			return;
		name += strlen(name_marks[1]);
		refuse(name, strcspn(name, "\n"), "the provider has no kernel for it",
			strlen("the provider has no kernel for it"));
	}
}

// "Node placements", then of each provider " Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 80" and a line "  Gemm
// (head/Gemm)" a node; or " All nodes placed on [WebGpuExecutionProvider]. Number of nodes: 80" and no lines. After all rewrites,
// copies included.
static void hear_placement(const char *message)
{
	static const char all[] = " All nodes placed on [", some[] = " Node(s) placed on [", nodes[] = "Number of nodes: ";
	const bool every = text_starts(message, all);
	const char *open = strrchr(message, '('), *name;
	struct ort_logged *p;
	int64_t count;

	if (every || text_starts(message, some)) {
		name = strchr(message, '[') + 1;
		placed_on = arena_strndup(refusals_arena, name, strcspn(name, "]"));
		name = strstr(message, nodes);
		if (!every || !name || !text_to_int(name + strlen(nodes), 0, INT64_MAX, &count))
			return;
		p = ARENA_ARRAY(refusals_arena, 1, struct ort_logged);
		*p = (struct ort_logged){ .provider = placed_on, .every = count, .next = placed };
		placed = p;
	} else if (placed_on && text_starts(message, "  ") && open && open > message + 3) {
		p = ARENA_ARRAY(refusals_arena, 1, struct ort_logged);
		*p = (struct ort_logged){ .provider = placed_on, .next = placed };
		p->op = arena_strndup(refusals_arena, message + 2, (size_t)(open - message) - 3);
		p->name = arena_strndup(refusals_arena, open + 1, strcspn(open + 1, ")"));
		placed = p;
	}
}

static void ORT_API_CALL hear(
	void *unused, OrtLoggingLevel level, const char *category, const char *id, const char *where, const char *message)
{
	const char *added = strstr(message, " Memcpy nodes are added to the graph");

	(void)unused;
	(void)category;
	(void)id;
	pthread_mutex_lock(&lock);
	if (added) {
		const char *begin = added;
		int64_t n = 0;

		while (begin > message && begin[-1] >= '0' && begin[-1] <= '9')
			begin--;
		for (; begin < added && n < 1000000; begin++)
			n = n * 10 + (*begin - '0');
		copies += n;
	}
	if (refusals_arena) {
		hear_refusal(message);
		if (where && strstr(where, "VerifyEachNodeIsAssignedToAnEp"))
			hear_placement(message);
	}
	if (level >= ORT_LOGGING_LEVEL_ERROR)
		snprintf(last_error, sizeof last_error, "%s", message);
	pthread_mutex_unlock(&lock);
	if (level >= ORT_LOGGING_LEVEL_ERROR)
		dprintf(STDERR_FILENO, "[%s] %s\n", where ? where : "onnxruntime", message);
}

enum status ort_start(const struct ort_library *l, OrtEnv **env, struct error *err)
{
	// Warnings of the environment would fill the row's stderr with remarks about graphs that run well.
	return ort_check(
		l->api, l->api->CreateEnvWithCustomLogger(hear, NULL, ORT_LOGGING_LEVEL_ERROR, "assay", env), "starting", err);
}

void ort_log_begin(struct arena *listen)
{
	pthread_mutex_lock(&lock);
	copies = 0;
	*last_error = 0;
	refusals = NULL;
	placed = NULL;
	placed_on = NULL;
	refusals_arena = listen;
	pthread_mutex_unlock(&lock);
}

int64_t ort_log_copies(void)
{
	return copies;
}

const char *ort_log_error(void)
{
	return *last_error ? last_error : NULL;
}

const char *ort_log_reason(const char *node)
{
	for (const struct refusal *r = refusals; r; r = r->next)
		if (!strcmp(r->node, node))
			return r->reason;
	return NULL;
}

const struct ort_logged *ort_log_placed(void)
{
	return placed;
}
