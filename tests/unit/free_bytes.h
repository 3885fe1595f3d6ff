// SPDX-License-Identifier: Apache-2.0
// A disk with as much space as a test wants: this program's own statvfs, which stands before the C library's.
#ifndef ASSAY_TESTS_FREE_BYTES_H
#define ASSAY_TESTS_FREE_BYTES_H

#include <dlfcn.h>
#include <stdint.h>
#include <sys/statvfs.h>

static uint64_t free_bytes; // what statvfs says; 0: the truth

int statvfs(const char *restrict path, struct statvfs *restrict out)
{
	int (*real)(const char *, struct statvfs *) = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs");
	int rc = real(path, out);

	if (!rc && free_bytes) {
		out->f_frsize = 1;
		out->f_bavail = free_bytes;
	}
	return rc;
}

#endif
