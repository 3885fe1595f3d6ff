// SPDX-License-Identifier: Apache-2.0
// Between the formats of quantised weights and what they share: a format looks for its tensors, takes them, and puts the weights
// that they mean in their place.
#ifndef ASSAY_CHECKPOINT_COMPUTING_H
#define ASSAY_CHECKPOINT_COMPUTING_H

#include <jansson.h>

#include "base/text.h"
#include "checkpoint/computed.h"

enum { COMPUTING_MODULES_MOST = 4096 }; // that a configuration lists: each weight is held against each

struct computing {
	struct checkpoint *c;
	const json_t *how;   // quantization_config; NULL: config.json has none
	const char *file;    // config.json's path, for messages
	enum dtype dtype;    // of what is computed
	bool *taken;         // of c->weights
	struct weight *made; // they need no order
	size_t count, capacity;
	// Of computing_groups: columns that were looked at, bytes that were copied, and the last copy.
	int64_t columns;
	uint64_t copied;
	struct {
		const void *data;
		int64_t columns;
		const int32_t *copy;
	} order;
	int64_t steps;      // of computing_step
	struct text format; // words for people: "fp8 (f8e4m3 in blocks of 128 x 128)"
};

// c->weights[i] has a name that ends so: the part before it, in the checkpoint's arena; NULL: it ends otherwise, or is taken.
const char *computing_stem(struct computing *k, size_t i, const char *end);
// The tensor called `stem` and `end` together; NULL: there is none, or it is taken. What is found here lives as long as the
// checkpoint.
const struct weight *computing_find(const struct computing *k, const char *stem, const char *end);
// BAD_INPUT: the configuration lists more than COMPUTING_MODULES_MOST modules.
enum status computing_check_modules(const struct computing *k, size_t count, struct error *err);
// So many steps more for the lists of modules, each of which every weight is held against. BAD_INPUT: they take too many.
enum status computing_step(struct computing *k, int64_t steps, struct error *err);
// UNSUPPORTED: "modules_to_not_convert" names the module of this quantised weight, which transformers then leaves as it is.
enum status computing_check_converted(struct computing *k, const struct weight *w, const char *stem, struct error *err);
// Does the configuration quantise the module `stem`, whose weight is w? UNSUPPORTED: it leaves it out, or may do so.
typedef enum status computing_converts(struct computing *k, const struct weight *w, const char *stem, struct error *err);
computing_converts gptq_converts, compressed_tensors_converts;
// A module's name without what classes of one version begin it by ("model.", "language_model."), and those of another, or a base
// model that is saved alone, do not.
const char *computing_behind_prefix(const char *module);
// Does a module of this name hold the table of the tokens' embeddings?
bool computing_is_embedding(const char *module);
void computing_take(struct computing *k, const struct weight *w); // it stands for no weight by itself; NULL: nothing
// A weight that is computed; `codes` and `own` live as long as the checkpoint.
enum status computing_add(struct computing *k, const char *name, int rank, const int64_t *dim, computed_read *read,
	const struct weight *codes, const void *own, struct error *err);

// The taken tensors go, the computed weights come; the checkpoint's order by names is restored. BAD_INPUT: a name twice.
enum status computing_replace(struct computing *k, struct error *err);

// A count of a configuration: `usual` where the key is absent or null; BAD_INPUT below `least` or above 2^31.
enum status computing_count(const struct computing *k, const json_t *of, const char *key, int64_t usual, int64_t least,
	int64_t *out, struct error *err);
// A sentence about a tensor: its file, its name.
enum status computing_refuse(const struct weight *w, enum status s, struct error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
// Of F32, F16 or BF16.
bool is_float(const struct weight *w);
// Of this type and shape; a sentence that says what it is otherwise.
enum status computing_check(const struct weight *w, enum dtype t, int rank, const int64_t *dim, struct error *err);
// Integer `at` of `bits` bits, from the lowest bits up, of word `word` of an i32 tensor.
int packed_at(const struct weight *w, uint64_t word, int at, int bits);
// One number of a tensor of any type of numbers.
float number_at(const struct weight *w, uint64_t i);
// Which group a column belongs to: i32 [columns], each at least 0 and below `groups`. *out in the checkpoint's arena; NULL where
// it is column / block for all.
enum status computing_groups(struct computing *k, const struct weight *w, int64_t columns, int64_t groups, int64_t block,
	const int32_t **out, struct error *err);

// The formats, by quant_method. Each takes what it knows.
enum status take_scaled(struct computing *k, struct error *err); // fp8, and f8 without a scale
enum status take_compressed_tensors(struct computing *k, struct error *err);
enum status take_gptq(struct computing *k, struct error *err);
enum status take_awq(struct computing *k, struct error *err);
enum status take_bitsandbytes(struct computing *k, struct error *err);
enum status take_mxfp4(struct computing *k, struct error *err);

// adapter.c. Merges the adapter of this folder into the weights of its base, which are open; what they are made from besides is
// added to `facts`. There must be room for a shard more.
enum status adapter_apply(struct checkpoint *c, const char *folder, struct text *facts, struct error *err);

// computed.c. All of it, after the files are open; nothing to do where nothing is quantised and `adapter`, a folder, is NULL.
// There must be room for two shards more.
enum status computed_find(struct checkpoint *c, const char *adapter, struct error *err);

#endif
