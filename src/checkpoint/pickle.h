// SPDX-License-Identifier: Apache-2.0
// The pickles inside files of torch.save, read as data. A pickle is a program for a stack machine that may call any function of
// Python; this machine knows the calls that make dictionaries and tensors, and refuses every other one by its name. Nothing is
// ever executed. Protocols 2 to 5, as torch.save writes them; the text opcodes of protocol 0 are refused.
#ifndef ASSAY_CHECKPOINT_PICKLE_H
#define ASSAY_CHECKPOINT_PICKLE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/error.h"

enum pickle_kind {
	PICKLE_NONE,
	PICKLE_BOOL,
	PICKLE_INT,
	PICKLE_FLOAT,
	PICKLE_LONG, // beyond 64 bits: its bytes, little-endian
	PICKLE_TEXT,
	PICKLE_BYTES,
	PICKLE_TUPLE,
	PICKLE_LIST,
	PICKLE_DICT, // items: key, value, key, value; a later key replaces an earlier one
	PICKLE_GLOBAL,
	PICKLE_STORAGE,
	PICKLE_TENSOR,
	PICKLE_OTHER // harmless and of no use: a device
};

struct pickle;

struct pickle_bytes {
	const uint8_t *at;
	size_t nbytes;
}; // in the file, no terminator
// `tensors` counts those among the values of a dictionary.
struct pickle_items {
	const struct pickle **at;
	uint32_t count, capacity, tensors;
};

// ("storage", torch.FloatStorage, KEY, DEVICE, ELEMENTS[, None])
struct pickle_storage {
	struct pickle_bytes key;
	enum dtype dtype;                  // DTYPE_NONE: bytes, whose type the tensor says
	uint64_t count;                    // elements
	const struct pickle_storage *next; // the one named before it
};

struct pickle_tensor {
	const struct pickle_storage *storage;
	enum dtype dtype;
	int64_t offset;                     // elements from the start of the storage
	const struct pickle *size, *stride; // tuples of integers
};

struct pickle {
	enum pickle_kind kind;
	union {
		int64_t integer;
		double real;
		struct pickle_bytes bytes;
		struct pickle_items items;
		const struct pickle_global *global;
		struct pickle_storage *storage;
		struct pickle_tensor *tensor;
	};
};

struct pickle_result {
	const struct pickle *value;
	size_t used;                           // bytes
	const struct pickle_storage *storages; // all it names, the last one first; one name may come often
};

// What is left to all pickles of one file: values and places in containers (32 bytes each), and bytes that are read.
struct pickle_budget {
	size_t values, nbytes;
};
extern const struct pickle_budget pickle_budget_of_file;

// The first pickle of `data`. Memory in `a`, texts point into `data`; both must outlive it. Takes what it makes from *budget:
// with that of a file at most 72 MiB. BAD_INPUT for what is no pickle or beyond the budget, UNSUPPORTED for one that asks for
// more than tensors.
enum status pickle_read(struct pickle_result *out, struct arena *a, const uint8_t *data, size_t nbytes,
	struct pickle_budget *budget, struct error *err);

bool pickle_is_text(const struct pickle *p, const char *text);

#endif
