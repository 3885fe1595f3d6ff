// SPDX-License-Identifier: Apache-2.0
// The conformance cases that assay ships, known by what they contain: only of their outputs does the program itself know that
// transformers computed them. Any other golden file is somebody's file, and who made it is that file's own word.
#ifndef ASSAY_RUN_SHIPPED_H
#define ASSAY_RUN_SHIPPED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct shipped_case {
	const char *name;   // "bert"
	const char *golden; // SHA-256 of its io.safetensors
	const char *whole;  // case_digest of its folder
};
// Made at build time by tools/manifest.c from tests/conform/cases and tests/conform/real.
extern const struct shipped_case shipped_cases[];
extern const size_t shipped_case_count;

// SHA-256 over the names and digests of config.json, weights.tsv, case.json, io.safetensors and gen.json, those of them that are
// there.
enum status case_digest(char out[65], const char *folder, struct error *err);

// The case whose io.safetensors has this SHA-256; NULL.
const char *shipped_golden(const char *digest);
// Whether the folder holds a shipped case, whole and unchanged.
bool shipped_is(const char *folder);

#endif
