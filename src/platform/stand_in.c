// SPDX-License-Identifier: Apache-2.0
// Stand-ins: $ASSAY_NULL names platforms that the null engine is to serve, each with its options after a colon, apart by spaces:
//
//   ASSAY_NULL='cuda:fail=open,status=unavailable openvino:fail=run@1 cpu' assay run MODEL --on cuda --fallback
//
// A stand-in keeps its platform's name, forms and fallback chain, and nothing else: its route is the null engine, its reference a
// healthy null engine. So nothing can be taken for hardware: the row says engine null, device NULL; `detect` leaves the
// platform out; hardware_results counts it as no success; the command that runs cells says it on standard error.
#include "platform/platform.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { ROWS_MOST = 32, WORDS_MOST = 4096 };

static struct {
	pthread_mutex_t mutex;
	bool done;
	struct platform rows[ROWS_MOST];
	char words[WORDS_MOST]; // the variable, cut into texts
	size_t count;           // of stand-ins
	struct error err;
} made = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void stand_in(struct platform *p, const char *options)
{
	p->summary = "the null engine stands in for it (ASSAY_NULL): computes nothing";
	memset(p->routes, 0, sizeof p->routes);
	p->routes[0] = (struct route){ "null", "null", NULL, "EMULATED", options && *options ? options : NULL };
	p->reference = "null";
	p->environment = NULL;
}

static void make(const struct platform *rows, size_t count, const char *asked)
{
	char *rest = NULL;

	if (count > ROWS_MOST || strlen(asked) >= WORDS_MOST) {
		error_set(&made.err, STATUS_BAD_INPUT, "ASSAY_NULL: longer than anybody needs");
		return;
	}
	memcpy(made.rows, rows, count * sizeof *rows);
	memcpy(made.words, asked, strlen(asked) + 1);
	for (char *word = strtok_r(made.words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *options = strchr(word, ':');
		size_t i = 0;

		if (options)
			*options++ = '\0';
		while (i < count && !text_is(rows[i].name, word))
			i++;
		if (i == count || text_is(rows[i].routes[0].engine, "null")) {
			error_set(&made.err, STATUS_BAD_INPUT, "ASSAY_NULL: there is no platform \"%s\" to stand in for", word);
			return;
		}
		stand_in(&made.rows[i], options);
		made.count++;
	}
}

const struct platform *platform_stand_ins(const struct platform *rows, size_t count, struct error *err)
{
	const char *asked;

	pthread_mutex_lock(&made.mutex);
	if (!made.done) {
		asked = getenv("ASSAY_NULL");
		if (asked)
			make(rows, count, asked);
		made.done = true;
	}
	pthread_mutex_unlock(&made.mutex);
	if (made.err.status != STATUS_OK) {
		if (!err)
			return rows;
		error_set(err, made.err.status, "%s", made.err.text);
		return NULL;
	}
	return made.count ? made.rows : rows;
}

bool platform_is_stand_in(const struct platform *p)
{
	return text_is(p->routes[0].engine, "null") && !text_is(p->name, "null");
}
