// SPDX-License-Identifier: Apache-2.0
// SHA-256 (libnettle) for keys, FNV-1a and splitmix64 for seeded weights, hashes with a secret for strangers' texts.
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

// ---- tables of what strangers choose --------------------------------------------------------------------------------------
// Hashes with a secret of this process: without one a small file can have texts that all begin in one place of a table, and
// looking them up takes the square of their number. No answer may depend on them.
//
// That of a text is the polynomial of its bytes, behind a leading 1, at a secret place, modulo 2^61 - 1 (Carter, Wegman 1979):
// two texts of n bytes have the same one with a probability of n / 2^60, whatever they are.
struct table_secret {
	uint64_t at, add, times; // at: below 2^60; times: odd
};
extern struct table_secret table_secret; // set before main

#define TABLE_HASH_PRIME (((uint64_t)1 << 61) - 1)
static inline uint64_t table_hash_fold(unsigned __int128 x) // less than 2^61 + x / 2^61, and the same modulo the prime
{
	return ((uint64_t)x & TABLE_HASH_PRIME) + (uint64_t)(x >> 61);
}
// Goes on: table_hash(table_hash(TABLE_HASH_START, a), b) is that of ab. Below 2^63.
#define TABLE_HASH_START ((uint64_t)1)
static inline uint64_t table_hash(uint64_t h, const char *s, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		h = table_hash_fold((unsigned __int128)h * table_secret.at) + (unsigned char)s[i];
	return h;
}
// From the other end: what goes before a text whose hash is sum + power; the empty one's is TABLE_HASH_TAIL.
struct table_tail {
	uint64_t sum, power;
};
#define TABLE_HASH_TAIL ((struct table_tail){ 0, 1 })
static inline void table_hash_before(struct table_tail *t, char c)
{
	t->sum = table_hash_fold((unsigned __int128)t->power * (unsigned char)c + t->sum);
	t->power = table_hash_fold((unsigned __int128)t->power * table_secret.at);
}
// The place of a number in a table, as many bits of it as are wanted.
static inline uint64_t table_place(uint64_t number)
{
	unsigned __int128 p = (unsigned __int128)(number ^ table_secret.add) * table_secret.times;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}
// .. of a text with this hash, however it was put together.
static inline uint64_t table_place_of(uint64_t h)
{
	h = table_hash_fold(h);
	return table_place(h < TABLE_HASH_PRIME ? h : h - TABLE_HASH_PRIME);
}

#endif
