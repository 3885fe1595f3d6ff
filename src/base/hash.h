// SPDX-License-Identifier: Apache-2.0
// SHA-256 (libnettle) for keys, FNV-1a and splitmix64 for seeded weights.
#ifndef ASSAY_BASE_HASH_H
#define ASSAY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include <nettle/sha2.h>

struct hash {
	struct sha256_ctx sha;
};

void hash_init(struct hash *h);
void hash_add(struct hash *h, const void *data, size_t nbytes);
void hash_add_text(struct hash *h, const char *s); // with its terminator, so that "ab","c" differs from "a","bc"
void hash_hex(struct hash *h, char out[65]);       // 64 lower-case digits and NUL; the hash is finished

uint64_t fnv1a64(const void *data, size_t nbytes);
uint64_t fnv1a64_text(const char *text); // of its characters; NULL: 0
// splitmix64's output for counter i of a stream (Steele, Lea, Flood 2014): i counts from 0.
static inline uint64_t splitmix64(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}
// Its upper 24 bits as a number in [-1, 1), exact in float: what seeded weights, inputs and conformance cases are made of.
static inline double splitmix64_unit(uint64_t z)
{
	return (double)(z >> 40) * 0x1p-23 - 1;
}
// Its upper 53 bits as a share of 1, in [0, 1): what is drawn at random.
static inline double splitmix64_share(uint64_t z)
{
	return (double)(z >> 11) * 0x1p-53;
}

#endif
