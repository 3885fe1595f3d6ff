// SPDX-License-Identifier: Apache-2.0
// Memory read as a decoder reads it: a pass goes through matrices of given sizes, one behind the other, each once, each cut into
// a slice a thread, and no thread begins the next matrix before all have finished this one. Nothing is computed but a sum
// (bandwidth_read, the kernel of `assay detect --bandwidth` and of the roofline), so no engine should be faster with the same
// threads. Prints {"bytes", "median_gb_s", "best_gb_s", "passes": [...]}; GB are 10^9 bytes.
//
//	stream THREADS SECONDS BYTES...
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "platform/bandwidth.h"

enum { MATRICES_MOST = 4096, PASSES_MOST = 4096, ALIGNMENT = 4096, LINE = 128 };

static struct {
	uint64_t *data;
	size_t nbytes;
} matrix[MATRICES_MOST];
static size_t matrix_count, passes;
static double gb_s[PASSES_MOST], total_bytes, seconds;
static int threads;
static pthread_barrier_t barrier;
static int stop;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void slice(size_t m, int number, size_t *from, size_t *count)
{
	size_t lines = matrix[m].nbytes / LINE, first = lines * (size_t)number / (size_t)threads,
	       end = lines * (size_t)(number + 1) / (size_t)threads;

	*from = first * (LINE / 8);
	*count = (end - first) * (LINE / 8);
}

static void *work(void *context)
{
	const int number = (int)(intptr_t)context;
	double sum = 0;
	size_t from, count;
	double begin, began = 0;

	for (size_t m = 0; m < matrix_count; m++) { // its pages lie where it runs
		slice(m, number, &from, &count);
		memset(matrix[m].data + from, 1, count * 8);
	}
	pthread_barrier_wait(&barrier);
	begin = now();
	while (!stop) {
		began = now();
		for (size_t m = 0; m < matrix_count; m++) {
			slice(m, number, &from, &count);
			sum += bandwidth_read(matrix[m].data + from, count * 8);
			pthread_barrier_wait(&barrier);
		}
		if (number == 0) {
			gb_s[passes++] = total_bytes / (now() - began) / 1e9;
			stop = passes == PASSES_MOST || (passes >= 5 && now() - begin >= seconds);
		}
		pthread_barrier_wait(&barrier);
	}
	return (void *)(uintptr_t)(uint64_t)sum;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	pthread_t thread[256];

	if (argc < 4 || argc - 3 > MATRICES_MOST || (threads = (int)strtol(argv[1], NULL, 10)) < 1 || threads > 256)
		return 2;
	seconds = strtod(argv[2], NULL);
	for (int i = 3; i < argc; i++) {
		size_t nbytes = (strtoull(argv[i], NULL, 10) + LINE - 1) / LINE * LINE;

		if (!nbytes ||
			!(matrix[matrix_count].data = aligned_alloc(ALIGNMENT, (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)))
			return 1;
		matrix[matrix_count++].nbytes = nbytes;
		total_bytes += (double)nbytes;
	}
	if (pthread_barrier_init(&barrier, NULL, (unsigned)threads))
		return 1;
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i))
			return 1;
	uint64_t sum = (uint64_t)(uintptr_t)work((void *)0);
	for (int i = 1; i < threads; i++) {
		void *more;

		pthread_join(thread[i], &more);
		sum += (uint64_t)(uintptr_t)more;
	}
	qsort(gb_s, passes, sizeof *gb_s, ascending);
	printf("{\"bytes\": %.0f, \"median_gb_s\": %.3f, \"best_gb_s\": %.3f, \"sum\": %llu, \"passes\": [", total_bytes,
		gb_s[passes / 2], gb_s[passes - 1], (unsigned long long)sum);
	for (size_t i = 0; i < passes; i++)
		printf("%s%.2f", i ? ", " : "", gb_s[i]);
	puts("]}");
	return 0;
}
