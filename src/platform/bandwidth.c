// SPDX-License-Identifier: Apache-2.0
// The threads live through the whole measurement and touch their own part first, so that its pages lie where they run; a barrier
// begins and ends each repetition. A repetition lasts from the first thread's start to the last one's end: where CPUs are shared,
// a thread may wake up when others are done.
#include "platform/bandwidth.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "stats/order.h"

struct worker;
struct job {
	enum bandwidth_kernel kernel;
	int threads;
	struct worker *workers;
	double *a, *b, *c; // BANDWIDTH_READ: a alone
	size_t each;       // elements a thread
	double seconds;
	pthread_mutex_t gate; // held until every thread is there
	bool abandoned;
	pthread_barrier_t barrier;
	bool stop;
	struct bandwidth *out;
};
struct worker {
	struct job *job;
	int number;
	double start, end;
	double sum; // kept, so that nothing can be left out
	pthread_t thread;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// A sanitizer would check every element and measure itself.
#define BARE __attribute__((noinline, no_sanitize("address"), no_sanitize("undefined")))

BARE static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + 3.0 * c[i];
}

BARE double bandwidth_read(const void *data, size_t nbytes)
{
	enum { ROWS = 8, WORDS = 8, AHEAD = 16 }; // a cache line of 64 bytes is 8 words; it is asked for 16 lines ahead
	const uint64_t *words = data;
	const size_t count = nbytes / sizeof *words, row = count / ROWS / WORDS * WORDS;
	uint64_t sum[ROWS][WORDS] = { 0 }, all = 0;

	for (size_t i = 0; i < row; i += WORDS)
		for (size_t r = 0; r < ROWS; r++) {
			const uint64_t *at = words + r * row + i;

			__builtin_prefetch(at + AHEAD * WORDS);
			for (size_t k = 0; k < WORDS; k++)
				sum[r][k] += at[k];
		}
	for (size_t i = ROWS * row; i < count; i++)
		all += words[i];
	for (size_t r = 0; r < ROWS; r++)
		for (size_t k = 0; k < WORDS; k++)
			all += sum[r][k];
	return (double)all;
}

BARE static void touch(double *a, double with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = with;
}

static double lasted(const struct job *j)
{
	double start = j->workers[0].start, end = j->workers[0].end;

	for (int i = 1; i < j->threads; i++) {
		start = j->workers[i].start < start ? j->workers[i].start : start;
		end = j->workers[i].end > end ? j->workers[i].end : end;
	}
	return end - start;
}

static void *work(void *context)
{
	struct worker *w = context;
	struct job *j = w->job;
	const size_t from = (size_t)w->number * j->each;
	const double arrays = j->kernel == BANDWIDTH_TRIAD ? 3 : 1;
	double begin;

	pthread_mutex_lock(&j->gate);
	pthread_mutex_unlock(&j->gate);
	if (j->abandoned)
		return NULL;
	touch(j->a + from, 1, j->each);
	if (j->b) {
		touch(j->b + from, 2, j->each);
		touch(j->c + from, 0.5, j->each);
	}
	begin = now();
	for (size_t i = 0;; i++) {
		pthread_barrier_wait(&j->barrier);
		if (j->stop)
			return NULL;
		w->start = now();
		if (j->kernel == BANDWIDTH_TRIAD)
			triad(j->a + from, j->b + from, j->c + from, j->each);
		else
			w->sum += bandwidth_read(j->a + from, j->each * sizeof *j->a);
		w->end = now();
		pthread_barrier_wait(&j->barrier);
		if (w->number)
			continue;
		if (i)
			j->out->gb_per_s[j->out->count++] = arrays * 8 * (double)j->each * j->threads / lasted(j) / 1e9;
		j->stop = j->out->count == BANDWIDTH_SAMPLES_MOST || (j->out->count >= 5 && now() - begin >= j->seconds);
	}
}

static enum status run(struct job *j, struct worker *workers, struct error *err)
{
	int started = 0;

	pthread_mutex_init(&j->gate, NULL);
	pthread_mutex_lock(&j->gate);
	while (started < j->threads && !pthread_create(&workers[started].thread, NULL, work, &workers[started]))
		started++;
	j->abandoned = started < j->threads;
	pthread_mutex_unlock(&j->gate);
	for (int i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_mutex_destroy(&j->gate);
	return j->abandoned ? error_set(err, STATUS_FAILED, "only %d of %d threads could be started", started, j->threads)
			    : STATUS_OK;
}

enum status bandwidth_measure(
	struct bandwidth *out, enum bandwidth_kernel kernel, int threads, uint64_t nbytes, double seconds, struct error *err)
{
	const size_t arrays = kernel == BANDWIDTH_TRIAD ? 3 : 1;
	struct job j = { .kernel = kernel, .threads = threads, .seconds = seconds, .out = out };
	struct worker *workers;
	double sorted[BANDWIDTH_SAMPLES_MOST];
	enum status st;

	*out = (struct bandwidth){ .threads = threads };
	if (threads < 1 || nbytes / arrays / 8 / (size_t)threads < 16)
		return error_set(
			err, STATUS_BAD_INPUT, "bandwidth: at least one thread and 128 bytes an array for it are wanted");
	j.each = nbytes / arrays / 8 / (size_t)threads / 16 * 16;
	const size_t each_array = j.each * (size_t)threads * 8, whole = (each_array + 4095) / 4096 * 4096;
	j.workers = workers = calloc((size_t)threads, sizeof *workers);
	j.a = aligned_alloc(4096, whole);
	if (arrays > 1) {
		j.b = aligned_alloc(4096, whole);
		j.c = aligned_alloc(4096, whole);
	}
	if (!workers || !j.a || (arrays > 1 && (!j.b || !j.c)) || pthread_barrier_init(&j.barrier, NULL, (unsigned)threads)) {
		st = error_set(
			err, STATUS_NO_MEMORY, "%llu bytes for measuring bandwidth cannot be had", (unsigned long long)nbytes);
	} else {
		for (int i = 0; i < threads; i++)
			workers[i] = (struct worker){ .job = &j, .number = i };
		st = run(&j, workers, err);
		pthread_barrier_destroy(&j.barrier);
	}
	free(workers);
	free(j.a);
	free(j.b);
	free(j.c);
	if (st)
		return st;
	out->bytes = (uint64_t)each_array * arrays;
	for (size_t i = 0; i < out->count; i++)
		sorted[i] = out->gb_per_s[i];
	order_ascending(sorted, out->count);
	out->min = sorted[0];
	out->max = sorted[out->count - 1];
	out->median = order_quantile(sorted, out->count, 0.5);
	return STATUS_OK;
}
