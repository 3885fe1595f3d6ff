// SPDX-License-Identifier: Apache-2.0
// How fast this machine's memory can be read, by the same code as `assay detect --bandwidth`. Prints {"gb_per_s": median, "fastest",
// "samples": [...]}; GB are 10^9 bytes.
//
//	bandwidth THREADS MIB SECONDS
#include <stdio.h>
#include <stdlib.h>

#include "platform/bandwidth.h"

int main(int argc, char **argv)
{
	static struct bandwidth b;
	struct error err = { 0 };

	if (argc != 4)
		return 2;
	if (bandwidth_measure(&b, BANDWIDTH_READ, (int)strtol(argv[1], NULL, 10), strtoull(argv[2], NULL, 10) << 20, strtod(argv[3], NULL), &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("{\"gb_per_s\":%.3f,\"fastest\":%.3f,\"samples\":[", b.median, b.max);
	for (size_t i = 0; i < b.count; i++)
		printf("%s%.2f", i ? "," : "", b.gb_per_s[i]);
	puts("]}");
	return 0;
}
