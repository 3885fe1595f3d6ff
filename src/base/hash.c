// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <string.h>
#include <unistd.h>

#include <sys/random.h>

#include <nettle/version.h>

#include "base/clock.h"

void hash_init(struct hash *h)
{
	sha256_init(&h->sha);
}

void hash_add(struct hash *h, const void *data, size_t nbytes)
{
	if (nbytes)
		sha256_update(&h->sha, nbytes, data);
}

void hash_add_text(struct hash *h, const char *s)
{
	hash_add(h, s, strlen(s) + 1);
}

void hash_hex(struct hash *h, char out[65])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[SHA256_DIGEST_SIZE];
#if NETTLE_VERSION_MAJOR >= 4
	sha256_digest(&h->sha, digest);
#else
	sha256_digest(&h->sha, sizeof digest, digest);
#endif
	for (size_t i = 0; i < sizeof digest; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[64] = 0;
}

uint64_t fnv1a64(const void *data, size_t nbytes)
{
	const uint8_t *p = data;
	uint64_t h = 0xCBF29CE484222325u;
	for (size_t i = 0; i < nbytes; i++)
		h = (h ^ p[i]) * 0x100000001B3u;
	return h;
}

uint64_t fnv1a64_text(const char *text)
{
	return text ? fnv1a64(text, strlen(text)) : 0;
}

struct table_secret table_secret;

// Before main, and so before any thread; a process that is forked has its parent's tables, and its secret.
__attribute__((constructor)) static void make_table_secret(void)
{
	if (getrandom(&table_secret, sizeof table_secret, GRND_NONBLOCK) != sizeof table_secret) {
		const uint64_t seed = splitmix64((uint64_t)clock_ns(), (uint64_t)getpid());

		table_secret = (struct table_secret){ splitmix64(seed, 0), splitmix64(seed, 1), splitmix64(seed, 2) };
	}
	table_secret.at &= ((uint64_t)1 << 60) - 1;
	table_secret.times |= 1;
}
