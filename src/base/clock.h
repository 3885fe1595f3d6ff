// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_BASE_CLOCK_H
#define ASSAY_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ns(void);        // CLOCK_MONOTONIC
double clock_ms(void);         // the same in milliseconds
double clock_thread_ms(void);  // processor time of this thread
double clock_process_ms(void); // and of all threads of this process
int64_t clock_unix_us(void);   // wall clock, microseconds since 1970 UTC

// The wall clock now, "2026-11-21T20:34:28Z"; returns out.
const char *clock_utc(char out[32]);

#endif
