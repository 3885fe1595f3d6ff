// SPDX-License-Identifier: Apache-2.0
// What went wrong, in words. The last parameter of everything that can fail is `struct error *err`: untouched on
// success, so that calls chain with ||, filled where the fact is known and prefixed on the way up:
//     "model.safetensors: layers.3.q_proj: expected [64,64], found [64,32]"
// `err` may be NULL. Both functions return the status, so `return error_set(err, STATUS_FAILED, ...)` is the idiom.
#ifndef ASSAY_BASE_ERROR_H
#define ASSAY_BASE_ERROR_H

#include <stdbool.h>

#include "base/status.h"

struct error {
	enum status status;
	bool of_engine;  // an engine says it, whose words a table knows (backend/cause.h); false: we do
	char text[2048]; // one sentence, no newline at the end; cut with "..." when longer
};

enum status error_set(struct error *err, enum status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
// Puts "PREFIX: " before the text of a filled error and returns its status.
enum status error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Does this number of errno say something of what was named (it is not there, is of another kind, is no name)? All others say it
// of this machine: of its disks, rights, limits or network.
bool error_is_of_name(int code);
// *err is then `from` with this status, which is returned.
enum status error_copy(struct error *err, enum status status, const struct error *from);
// error_set with ": " and strerror(errno) after the text; ENOSPC, EDQUOT and EFBIG give NO_SPACE, ENOMEM NO_MEMORY, what is of a
// name FAILED, all else NOT_ASKED.
enum status error_errno(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
