// SPDX-License-Identifier: Apache-2.0
#include "preprocess/sound_random.h"

#include <math.h>

enum { STATE = 624, SHIFT = 397 };

struct twister {
	uint32_t state[STATE];
	size_t at;
};

static void twister_seed(struct twister *t, uint32_t seed)
{
	t->state[0] = seed;
	for (uint32_t i = 1; i < STATE; i++)
		t->state[i] = 1812433253u * (t->state[i - 1] ^ t->state[i - 1] >> 30) + i;
	t->at = STATE;
}

static void twister_turn(struct twister *t)
{
	for (size_t i = 0; i < STATE; i++) {
		uint32_t y = (t->state[i] & 0x80000000u) | (t->state[(i + 1) % STATE] & 0x7FFFFFFFu);

		t->state[i] = t->state[(i + SHIFT) % STATE] ^ y >> 1 ^ (y & 1 ? 0x9908B0DFu : 0);
	}
	t->at = 0;
}

static float twister_uniform(struct twister *t)
{
	if (t->at == STATE)
		twister_turn(t);
	uint32_t y = t->state[t->at++];
	y ^= y >> 11;
	y ^= y << 7 & 0x9D2C5680u;
	y ^= y << 15 & 0xEFC60000u;
	y ^= y >> 18;
	return (float)(y & 0xFFFFFF) * 0x1p-24f;
}

static void normal_16(float *x)
{
	for (size_t i = 0; i < 8; i++) {
		double radius = sqrt(-2 * log(1 - x[i])), angle = 2 * M_PI * x[i + 8];

		x[i] = (float)(radius * cos(angle));
		x[i + 8] = (float)(radius * sin(angle));
	}
}

void torch_randn(uint32_t seed, float *out, size_t count)
{
	struct twister t;
	size_t i;

	twister_seed(&t, seed);
	for (i = 0; i < count; i++)
		out[i] = twister_uniform(&t);
	for (i = 0; i + 16 <= count; i += 16)
		normal_16(out + i);
	if (count % 16 == 0)
		return;
	for (i = count - 16; i < count; i++) // the last 16 are drawn anew, those that were done among them
		out[i] = twister_uniform(&t);
	normal_16(out + count - 16);
}
