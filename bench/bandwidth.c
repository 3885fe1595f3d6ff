// SPDX-License-Identifier: Apache-2.0
// How fast this machine's memory can be read: every thread sums its part of one large array, as a step of decoding reads
// every weight once. Prints {"gb_per_s": median, "samples": [...]}; GB are 10^9 bytes.
//
//	bandwidth THREADS MIB SECONDS
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MOST = 512 };

struct slice { const uint64_t *begin; size_t count; uint64_t sum; };

static void *read_all(void *slice)
{
	struct slice *s = slice;
	uint64_t sum[16] = { 0 };
	for (size_t i = 0; i + 16 <= s->count; i += 16)          // wide enough for the compiler's widest loads
		for (int k = 0; k < 16; k++)
			sum[k] += s->begin[i + k];
	for (int k = 0; k < 16; k++)
		s->sum += sum[k];
	return NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	size_t threads = strtoul(argv[1], NULL, 10), nbytes = strtoul(argv[2], NULL, 10) << 20;
	double seconds = strtod(argv[3], NULL), samples[SAMPLES_MOST], sorted[SAMPLES_MOST], begin = now();
	uint64_t *data = aligned_alloc(4096, nbytes), check = 0;
	size_t count = 0;
	if (!data || !threads || threads > 256)
		return 1;
	memset(data, 1, nbytes);
	while (count < SAMPLES_MOST && (count < 3 || now() - begin < seconds)) {
		pthread_t ids[256];
		struct slice slices[256];
		size_t each = nbytes / 8 / threads;
		double start = now();
		for (size_t i = 0; i < threads; i++) {
			slices[i] = (struct slice){ data + i * each, each, 0 };
			if (pthread_create(&ids[i], NULL, read_all, &slices[i]))
				return 1;
		}
		for (size_t i = 0; i < threads; i++) {
			pthread_join(ids[i], NULL);
			check += slices[i].sum;
		}
		samples[count++] = (double)(each * threads * 8) / (now() - start) / 1e9;
	}
	memcpy(sorted, samples, count * sizeof *samples);
	qsort(sorted, count, sizeof *sorted, by_value);
	printf("{\"gb_per_s\":%.3f,\"fastest\":%.3f,\"check\":%llu,\"samples\":[", sorted[count / 2], sorted[count - 1], (unsigned long long)check);
	for (size_t i = 0; i < count; i++)
		printf("%s%.2f", i ? "," : "", samples[i]);
	puts("]}");
	free(data);
	return 0;
}
