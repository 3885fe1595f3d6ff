// SPDX-License-Identifier: Apache-2.0
#include "run/golden.h"

#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"
#include "checkpoint/checkpoint.h"
#include "run/shipped.h"

enum { WORD_MOST = 80 };

enum status golden_check(const char *path, struct error *err)
{
	struct arena a = { 0 };
	struct shard shard;
	struct weight *tensors;
	size_t count;
	enum status st = safetensors_open(&a, path, &shard, &tensors, &count, err);

	arena_done(&a);
	if (st)
		return error_prefix(err, "golden outputs");
	if (count > GOLDEN_TENSORS_MOST)
		return error_set(err, STATUS_BAD_INPUT, "golden outputs: %s: holds %zu tensors; at most %d are read", path, count,
			GOLDEN_TENSORS_MOST);
	return STATUS_OK;
}

static const char *word_of(const json_t *json, struct arena *a)
{
	static const char *const keys[] = { "made_by", "producer", "generator" };
	const char *version = json_string_value(json_object_get(json, "transformers"));

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *word = json_string_value(json_object_get(json, keys[i]));

		if (word && *word)
			return arena_strdup(a, word);
	}
	return version && *version ? arena_printf(a, "transformers %s", version) : NULL;
}

// A stranger's text: without what a terminal would obey, and not longer than a line.
static const char *tame(struct arena *a, const char *word)
{
	size_t n = word ? visible_fit(word, strlen(word), WORD_MOST) : 0;

	return word ? visible_copy(a, arena_printf(a, "%.*s%s", (int)n, word, word[n] ? "..." : "")) : NULL;
}

void golden_describe(struct row *r, const char *path, struct arena *a)
{
	const char *slash = strrchr(path, '/'), *word;
	char *digest = arena_alloc(a, 65);
	json_t *metadata = NULL, *beside = NULL;

	r->golden_file = slash ? slash + 1 : path;
	if (file_digest(digest, path, NULL, NULL) == STATUS_OK) {
		r->golden_sha256 = digest;
		r->golden_case = shipped_golden(digest);
	}
	safetensors_metadata(path, &metadata, NULL);
	word = word_of(metadata, a);
	json_decref(metadata);
	if (!word &&
		json_file(arena_printf(a, "%.*scase.json", slash ? (int)(slash - path + 1) : 0, path), 1 << 24, &beside, NULL) ==
			STATUS_OK) {
		word = word_of(beside, a);
		json_decref(beside);
	}
	r->golden_word = tame(a, word);
}

const char *golden_what(const struct row *r, struct arena *a)
{
	if (r->golden_case)
		return arena_printf(a, "transformers' outputs (case %s that assay ships)", r->golden_case);
	return r->golden_file ? arena_printf(a, "the golden file %s", visible_copy(a, r->golden_file))
			      : "a golden file whose name is not known";
}
