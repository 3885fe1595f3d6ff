// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <string.h>

#include <nettle/version.h>

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
