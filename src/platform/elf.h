// SPDX-License-Identifier: Apache-2.0
// A shared library read as data, and the chain of what it needs, walked the way the loader walks it; nothing is opened with
// dlopen and no line of it runs. So a missing or unfitting neighbour is named before a driver is loaded, and also where the
// loader's own words ("cannot open shared object file") name no cause.
#ifndef ASSAY_PLATFORM_ELF_H
#define ASSAY_PLATFORM_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct elf_version {
	const char *soname, *version;
	bool weak;
};
struct elf {
	const char *soname, *rpath, *runpath; // NULL: none
	const char **needed;
	size_t needed_count;
	struct elf_version *wanted; // of the files it needs: libc.so.6, GLIBC_2.34
	size_t wanted_count;
	const char **versions; // that it has itself: VERS_1.31.1
	size_t version_count;
};
// Bounds are checked: a file never makes this read beyond nbytes. BAD_INPUT: not an ELF file, or cut off; UNSUPPORTED: another
// architecture, named. `name` stands before the sentence.
enum status elf_read(struct elf *out, struct arena *a, const char *name, const uint8_t *bytes, size_t nbytes, struct error *err);
enum status elf_open(struct elf *out, struct arena *a, const char *path, struct error *err);
const char *elf_machine(unsigned e_machine); // "AArch64"; NULL: not a known one

// What the chain of one library lacks.
struct elf_gap {
	const char *soname;    // the file that is wanted, or that does not fit
	const char *wanted_by; // path of who wants it; NULL: it was asked for itself
	const char *version;   // of it that is wanted: GLIBC_2.38; NULL: any
	const char *sentence;  // "libfoo.so.3 is missing: PATH needs it", "libc.so.6 here has GLIBC_2.36 at most, and PATH needs
			       // GLIBC_2.38"
	const char *bringer;   // what to do about it; NULL: not known
};
struct elf_chain {
	const char **paths; // what was found, the library itself first
	size_t path_count;
	struct elf_gap *gaps;
	size_t gap_count;
};
// `folders` (NULL or ends with NULL): where else a library is taken from, because those are opened before this one.
// `root` goes before the system's folders ("" is this machine). A library of one of the folders is not searched by name twice.
struct elf_search {
	const char *root;
	const char *const *folders;
};
enum status elf_walk(struct elf_chain *out, struct arena *a, const char *path, const struct elf_search *where, struct error *err);
// A library that is opened by its soname: where the loader would find it; NULL: nowhere.
const char *elf_find(struct arena *a, const char *soname, const struct elf_search *where);

// soname.c: who brings a library, as something to do: "run: assay setup cuda", "apt-get install libvulkan1". NULL: not known.
const char *soname_bringer(struct arena *a, const char *soname);

#endif
