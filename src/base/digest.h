// SPDX-License-Identifier: Apache-2.0
// SHA-256 of what a file contains. Names, sizes and times prove nothing about content, so keys of caches and of rows are made of
// this. A file of 1 MiB or more is hashed once and remembered:
//
//   CACHE/digest/DEVICE-INODE    "SIZE MTIME CTIME SHA-256\n", the times in seconds and nanoseconds
//
// A note counts while device, inode, size, mtime and ctime are the same. The kernel sets ctime to its own clock at every write
// and every change of mtime, and no program can set it: a changed file has another ctime. Three ways around it are met, one
// remains:
//   - a write within the granularity of that clock (a few ms) leaves the same ctime: the digest of a file is not remembered when
//   its
//     ctime was less than 2 s old when hashing began;
//   - a store through a shared mapping changes no time on tmpfs once the page is dirty: nothing there is remembered;
//   - a file that changes while it is read has another ctime at the end: it is read again;
//   - who may set the machine's clock back, or write below the file system, may forge a ctime. Nothing is done about that.
#ifndef ASSAY_BASE_DIGEST_H
#define ASSAY_BASE_DIGEST_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

// Told of every 16 MiB that are hashed; a non-zero result stops: INTERRUPTED. A digest that was remembered is told by one call.
struct digest_watch {
	int (*progress)(void *context, uint64_t done, uint64_t total); // bytes
	void *context;
	uint64_t done, total; // of several files: the caller sets total, file_digest adds to done
};

// 64 lower-case hexadecimal digits and NUL. Follows links. Not a regular file, or one that gives more than its size: BAD_INPUT;
// absent or unreadable: as errno says. `watch` may be NULL.
enum status file_digest(char out[65], const char *path, struct digest_watch *watch, struct error *err);

// For keys, in `a`: the same, or digest_unknown where there is none.
const char *file_digest_key(struct arena *a, const char *path);
// In the place of a digest that cannot be had: another text at every call, so that a key made of it is no other key. What is not
// known equals nothing.
const char *digest_unknown(struct arena *a);
bool digest_is_known(const char *digest); // false for NULL, "" and what digest_unknown gave

#endif
