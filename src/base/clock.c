// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

int64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

double clock_ms(void)
{
	return (double)clock_ns() * 1e-6;
}

static double processor_ms(clockid_t of)
{
	struct timespec t;
	clock_gettime(of, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double clock_thread_ms(void)
{
	return processor_ms(CLOCK_THREAD_CPUTIME_ID);
}

double clock_process_ms(void)
{
	return processor_ms(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_unix_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

const char *clock_utc(char out[32])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return out;
}
