// SPDX-License-Identifier: Apache-2.0
#ifndef ASSAY_BASE_CLOCK_H
#define ASSAY_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ns(void);              // CLOCK_MONOTONIC
double clock_ms(void);               // the same in milliseconds
int64_t clock_unix_us(void);         // wall clock, microseconds since 1970 UTC

#endif
