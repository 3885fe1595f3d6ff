// SPDX-License-Identifier: Apache-2.0
// The table of a zip file: where each entry's bytes lie, and whether they are stored as they are. Zip64 too.
//
//   entry: local header, name, extra, data    ...    central directory    [zip64 end, its locator]    end
//
// Sizes come from the central directory: writers that stream leave them out of the local header. Checksums are not looked at:
// torch.save can be told to leave them out, and reading them means reading all weights.
#ifndef ASSAY_CHECKPOINT_ZIP_H
#define ASSAY_CHECKPOINT_ZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct zip_entry {
	const char *name; // in the file, not terminated
	size_t name_nbytes;
	uint64_t head;           // where its local header begins
	uint64_t offset, nbytes; // of the data, inside the file
	bool stored;             // as it is: neither compressed nor encrypted
};

// Entries sorted by name, no name twice, no byte in two of them, each under the same name where it lies.
enum status zip_read(
	const struct zip_entry **out, size_t *count, struct arena *a, const uint8_t *data, size_t nbytes, struct error *err);
const struct zip_entry *zip_find(const struct zip_entry *entries, size_t count, const char *name, size_t name_nbytes); // or NULL

#endif
