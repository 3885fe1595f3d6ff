// SPDX-License-Identifier: Apache-2.0
// Pairs of processes compared by the code of `assay ab`: standard input has a line a process, "a" or "b" and its times in ms, in
// the order in which they ran. Prints {"pairs", "ratio", "low", "high", "verdict", "log_sd"}: B's time over A's with its 99 %
// interval, and how far the logarithms of the pairs' ratios scatter (standard deviation).
//
//	pairs SEED
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats/compare.h"
#include "stats/stats.h"

enum { PROCESSES_MOST = 256, TIMES_MOST = 1024, LINE_MOST = 65536 };

static struct side {
	struct compare_process process[PROCESSES_MOST];
	double ms[PROCESSES_MOST][TIMES_MOST];
	size_t count;
} sides[2];

static void take(char *line)
{
	struct side *s = &sides[line[0] == 'b'];
	double *ms = s->ms[s->count];
	size_t n = 0;

	for (char *at = line + 1, *end; n < TIMES_MOST; at = end) {
		ms[n] = strtod(at, &end);
		if (end == at)
			break;
		n++;
	}
	if (n)
		s->process[s->count++] = (struct compare_process){ ms, n };
}

static double log_sd(size_t pairs)
{
	double mean = 0, squares = 0, x[PROCESSES_MOST];

	for (size_t i = 0; i < pairs; i++) {
		x[i] = log(stats_median(sides[1].ms[i], sides[1].process[i].count) /
			stats_median(sides[0].ms[i], sides[0].process[i].count));
		mean += x[i] / (double)pairs;
	}
	for (size_t i = 0; i < pairs; i++)
		squares += (x[i] - mean) * (x[i] - mean);
	return sqrt(squares / (double)(pairs - 1));
}

int main(int argc, char **argv)
{
	static char line[LINE_MOST];
	struct comparison c;
	struct error err = { 0 };

	while (fgets(line, sizeof line, stdin) && sides[0].count < PROCESSES_MOST && sides[1].count < PROCESSES_MOST)
		take(line);
	if (argc != 2 || sides[0].count != sides[1].count || sides[0].count < 2) {
		fprintf(stderr, "usage: pairs SEED <processes; as many of a as of b, two at least\n");
		return 2;
	}
	if (compare_paired(sides[0].process, sides[1].process, sides[0].count, strtoull(argv[1], NULL, 10), &c, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("{\"pairs\": %zu, \"ratio\": %.5f, \"low\": %.5f, \"high\": %.5f, \"verdict\": \"%s\", \"log_sd\": %.5f}\n",
		sides[0].count, c.ratio, c.low, c.high, compare_word(c.verdict), log_sd(sides[0].count));
	return 0;
}
