// SPDX-License-Identifier: Apache-2.0
// Apart from shipped.c, because the tool that makes the table of shipped cases is built without it.
#include <stdio.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/hash.h"
#include "run/shipped.h"

enum status case_digest(char out[65], const char *folder, struct error *err)
{
	static const char *const names[] = { "config.json", "weights.tsv", "case.json", "io.safetensors", "gen.json" };
	enum status s = STATUS_OK;
	struct hash h;

	hash_init(&h);
	hash_add_text(&h, "case 1");
	for (size_t i = 0; i < sizeof names / sizeof *names && !s; i++) {
		char path[4096], digest[65];

		if (snprintf(path, sizeof path, "%s/%s", folder, names[i]) >= (int)sizeof path)
			s = error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", folder);
		else if (file_exists(path) && !(s = file_digest(digest, path, NULL, err))) {
			hash_add_text(&h, names[i]);
			hash_add_text(&h, digest);
		}
	}
	hash_hex(&h, out);
	return s;
}
