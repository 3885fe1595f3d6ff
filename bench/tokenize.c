// SPDX-License-Identifier: Apache-2.0
// What bench/tokenize runs beside the Python library: one tokenizer, texts on standard input, each as a length of 4 bytes and
// its bytes.
//     tokenize answer FOLDER    for each text: 4-byte numbers: 0 or 1 for a refusal, count, then id, type, begin, end, flags,
// length and
//                               bytes of each token; length and bytes of the decoded ids (special tokens left out)
//     tokenize time FOLDER S    encodes all of them again and again for S seconds; prints passes, seconds, bytes of a pass, ids
// of a pass
//     tokenize load FOLDER N    loads it N times; prints the median of the wall time and of the processor's time in ms, and the
// most
//                               resident memory of the process in KiB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "token/token.h"

static double clock_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int fail(const struct error *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

static void put(uint32_t v)
{
	fwrite(&v, 4, 1, stdout);
}

static void put_text(const char *s, size_t n)
{
	put((uint32_t)n);
	fwrite(s, 1, n, stdout);
}

static void answer(struct tokenizer *t, const struct token_text *in)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct encoding e = { 0 };
	size_t nbytes = 0;
	char *text = "";

	if (tokenizer_encode_batch(t, &a, in, 1, true, NULL, NULL, &e, &err)) {
		put(1);
		put_text(err.text, strlen(err.text));
		arena_done(&a);
		return;
	}
	uint32_t *ids = ARENA_ARRAY(&a, e.count + 1, uint32_t);
	put(0);
	put((uint32_t)e.count);
	for (size_t i = 0; i < e.count; i++) {
		const struct token *k = &e.tokens[i];
		uint32_t row[] = { ids[i] = k->id, k->type, k->begin, k->end, k->flags };
		fwrite(row, sizeof row, 1, stdout);
		put_text(k->text, k->nbytes);
	}
	tokenizer_decode(t, &a, ids, e.count, true, &text, &nbytes, &err);
	put_text(text, nbytes);
	arena_done(&a);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

// VmHWM: what getrusage says is at least that of the process that started this one.
static long peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof line, f))
		sscanf(line, "VmHWM: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

static int load(const char *folder, int times)
{
	double *wall = calloc((size_t)times, sizeof *wall), *cpu = calloc((size_t)times, sizeof *cpu);

	for (int i = 0; i < times; i++) {
		struct arena a = { 0 };
		struct error err = { 0 };
		struct tokenizer *t;
		double begin = clock_s(CLOCK_MONOTONIC), from = clock_s(CLOCK_PROCESS_CPUTIME_ID);
		if (tokenizer_open(&t, &a, folder, &err))
			return fail(&err);
		wall[i] = (clock_s(CLOCK_MONOTONIC) - begin) * 1000;
		cpu[i] = (clock_s(CLOCK_PROCESS_CPUTIME_ID) - from) * 1000;
		arena_done(&a);
	}
	qsort(wall, (size_t)times, sizeof *wall, by_value);
	qsort(cpu, (size_t)times, sizeof *cpu, by_value);
	printf("%.3f %.3f %ld\n", wall[times / 2], cpu[times / 2], peak_kib());
	free(wall);
	free(cpu);
	return 0;
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct error err = { 0 };
	struct tokenizer *t;
	struct token_text *texts = NULL;
	size_t count = 0, room = 0, bytes = 0, ids = 0, passes = 0;
	uint32_t n;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "load"))
		return load(argv[2], argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1);
	if (tokenizer_open(&t, &a, argv[2], &err))
		return fail(&err);
	while (fread(&n, 4, 1, stdin) == 1) {
		char *text = malloc(n + 1);
		if (fread(text, 1, n, stdin) != n)
			return 2;
		if (count == room)
			texts = realloc(texts, (room = room * 2 + 64) * sizeof *texts);
		texts[count++] = (struct token_text){ text, n, NULL, 0 };
		bytes += n;
	}
	if (!strcmp(argv[1], "answer")) {
		for (size_t i = 0; i < count; i++)
			answer(t, &texts[i]);
		return 0;
	}
	double begin = clock_s(CLOCK_MONOTONIC), end = begin + (argc > 3 ? strtod(argv[3], NULL) : 1);
	while (clock_s(CLOCK_MONOTONIC) < end) {
		ids = 0;
		for (size_t i = 0; i < count; i++) {
			struct arena one = { 0 };
			struct encoding e;
			if (tokenizer_encode_batch(t, &one, &texts[i], 1, true, NULL, NULL, &e, &err))
				return fail(&err);
			ids += e.count;
			arena_done(&one);
		}
		passes++;
	}
	printf("%zu %.6f %zu %zu\n", passes, clock_s(CLOCK_MONOTONIC) - begin, bytes, ids);
	arena_done(&a);
	return 0;
}
