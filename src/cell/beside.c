// SPDX-License-Identifier: Apache-2.0
// beside.h. The threads are there and wait before the clock starts; between two queries of a lane there is one addition that all
// share.
#include "cell/beside.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

struct shared {
	const struct beside *b;
	const struct beside_limits *l;
	int64_t *latency_ns;
	pthread_barrier_t ready;
	int64_t begin_ns;
	atomic_size_t next; // the query that begins next
	atomic_bool failed;
};

struct lane {
	struct shared *s;
	size_t number;
	int64_t end_ns; // of its last query
	enum status status;
	struct error err;
	pthread_t thread;
};

static void wait_until(int64_t ns)
{
	const int64_t left = ns - clock_ns();

	if (left > 0)
		nanosleep(&(struct timespec){ .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 }, NULL);
}

static void *work(void *context)
{
	struct lane *lane = context;
	struct shared *s = lane->s;
	const struct beside_limits *l = s->l;

	pthread_barrier_wait(&s->ready); // all are here
	pthread_barrier_wait(&s->ready); // and the clock has started
	while (!atomic_load(&s->failed)) {
		int64_t from = clock_ns();
		// Before it is taken: a query that is taken is answered. All lanes have had as many, or one would idle while
		// others end.
		const size_t taken = atomic_load(&s->next);
		if (l->limit_ns > 0 && from - s->begin_ns >= l->limit_ns && taken >= l->least &&
			(l->arrive_ns || taken % s->b->lanes == 0))
			break;
		const size_t i = atomic_fetch_add(&s->next, 1);
		if (i >= l->most || (l->arrive_ns && l->limit_ns > 0 && l->arrive_ns[i] >= l->limit_ns))
			break;
		if (l->arrive_ns) {
			wait_until(s->begin_ns + l->arrive_ns[i]);
			from = s->begin_ns + l->arrive_ns[i];
		}
		if ((lane->status = s->b->run(s->b->context, lane->number, &lane->err))) {
			atomic_store(&s->failed, true);
			break;
		}
		lane->end_ns = clock_ns();
		s->latency_ns[i] = lane->end_ns - from;
	}
	return NULL;
}

enum status beside_run(
	const struct beside *b, const struct beside_limits *l, struct arena *a, struct beside_sample *out, struct error *err)
{
	struct lane *lanes = ARENA_ARRAY(a, b->lanes, struct lane);
	struct shared *s = ARENA_NEW(a, struct shared);
	size_t started = 0;
	int64_t end = 0;

	s->b = b;
	s->l = l;
	s->latency_ns = ARENA_ARRAY(a, l->most + 1, int64_t);
	memset(s->latency_ns, 0xff, (l->most + 1) * sizeof *s->latency_ns); // below 0: not answered; its pages are there
	*out = (struct beside_sample){ .latency_ns = s->latency_ns };
	pthread_barrier_init(&s->ready, NULL, (unsigned)b->lanes + 1);
	for (; started < b->lanes; started++) {
		lanes[started] = (struct lane){ .s = s, .number = started };
		if (pthread_create(&lanes[started].thread, NULL, work, &lanes[started])) {
			// Those that wait at the barrier would wait for ever: the process ends with this error.
			return error_set(err, STATUS_NOT_ASKED, "no thread could be made for request %zu", started + 1);
		}
	}
	pthread_barrier_wait(&s->ready);
	s->begin_ns = clock_ns();
	pthread_barrier_wait(&s->ready);
	for (size_t i = 0; i < started; i++)
		pthread_join(lanes[i].thread, NULL);
	pthread_barrier_destroy(&s->ready);
	for (size_t i = 0; i < started; i++) {
		if (lanes[i].status) {
			error_copy(err, lanes[i].status, &lanes[i].err);
			return error_prefix(err, "request %zu of %zu", i + 1, b->lanes);
		}
		end = lanes[i].end_ns > end ? lanes[i].end_ns : end;
	}
	while (out->count < l->most && s->latency_ns[out->count] >= 0)
		out->count++;
	out->elapsed_ns = end - s->begin_ns;
	for (size_t i = out->count; l->arrive_ns && i < l->most && l->arrive_ns[i] <= out->elapsed_ns; i++)
		out->unanswered++;
	return STATUS_OK;
}
