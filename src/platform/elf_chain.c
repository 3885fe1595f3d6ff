// SPDX-License-Identifier: Apache-2.0
// elf.h: the chain of a library. Folders in the loader's order: those that the caller opens first, RPATH (of a file without
// RUNPATH, and of the library that loaded it), LD_LIBRARY_PATH, RUNPATH, ld.so.cache, the system's. What is not done: hwcaps
// folders, LD_PRELOAD, audit.
#include "platform/elf.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { FILES_MOST = 512, GAPS_MOST = 256 };

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

static const char *const system_folders[] = { "/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib",
	"/usr/lib", NULL };
// Where vendors put libraries without telling the loader: looked at only to say so.
static const char *const vendor_folders[] = { "/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/rocm*/lib",
	"/opt/intel/*/lib", "/usr/local/lib", NULL };

struct found {
	const char *soname, *path;
	struct elf elf;
	size_t parent; // who loaded it first; itself for the library that was asked for
};

struct walk {
	struct arena *arena;
	const char *root;
	const char *const *folders;
	const uint8_t *cache; // /etc/ld.so.cache
	size_t cache_nbytes;
	struct found file[FILES_MOST];
	size_t count;
	struct elf_gap gap[GAPS_MOST];
	size_t gap_count;
	const char *refused; // why a file of that name was passed over
};

// ---- ld.so.cache --------------------------------------------------------------------------------------------------------

struct cache_head {
	char magic[20];
	uint32_t entries, strings;
	uint8_t flags, padding[3];
	uint32_t extension, unused[3];
};
struct cache_entry {
	int32_t flags;
	uint32_t key, value, os;
	uint64_t hwcap;
};

// The i-th entry's name and path, strings ended within the file; false after the last.
static bool cache_get(const struct walk *w, size_t i, const char **name, const char **path)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	struct cache_head head;
	struct cache_entry e;
	size_t at = sizeof head + i * sizeof e;

	if (w->cache_nbytes < sizeof head)
		return false;
	memcpy(&head, w->cache, sizeof head);
	if (memcmp(head.magic, magic, sizeof head.magic) || i >= head.entries || at > w->cache_nbytes ||
		sizeof e > w->cache_nbytes - at)
		return false;
	memcpy(&e, w->cache + at, sizeof e);
	*name = *path = "";
	if (e.key < w->cache_nbytes && memchr(w->cache + e.key, 0, w->cache_nbytes - e.key))
		*name = (const char *)w->cache + e.key;
	if (e.value < w->cache_nbytes && memchr(w->cache + e.value, 0, w->cache_nbytes - e.value))
		*path = (const char *)w->cache + e.value;
	return true;
}

// ---- looking for one file -----------------------------------------------------------------------------------------------

// A file that the loader would take: it passes over those of another architecture, and stops at a damaged one.
static bool take(struct walk *w, const char *path, struct elf *out)
{
	struct error why = { 0 };
	enum status st;

	if (access(path, F_OK))
		return false;
	st = elf_open(out, w->arena, path, &why);
	if (st)
		w->refused = arena_strdup(w->arena, why.text);
	return !st;
}

static const char *expand(struct arena *a, const char *item, size_t n, const char *owner)
{
	static const char *const words[] = { "${ORIGIN}", "$ORIGIN" };
	const char *slash = strrchr(owner, '/');
	struct text out = { 0 };

	for (size_t i = 0; i < n;) {
		size_t skip = 0;
		for (size_t k = 0; k < 2 && !skip; k++)
			if (n - i >= strlen(words[k]) && !strncmp(item + i, words[k], strlen(words[k])))
				skip = strlen(words[k]);
		if (skip)
			text_add_bytes(&out, slash ? owner : ".", slash ? (size_t)(slash - owner) : 1);
		else
			text_add_bytes(&out, item + i, 1);
		i += skip ? skip : 1;
	}
	const char *folder = arena_strdup(a, text_get(&out));
	text_done(&out);
	return folder;
}

static const char *in_list(struct walk *w, const char *list, const char *owner, const char *soname, struct elf *out)
{
	for (const char *at = list; at && *at;) {
		size_t n = strcspn(at, ":");
		const char *path = arena_printf(w->arena, "%s/%s", expand(w->arena, at, n, owner), soname);

		if (n && take(w, path, out))
			return path;
		at += n + (at[n] == ':');
	}
	return NULL;
}

static const char *in_cache(struct walk *w, const char *soname, struct elf *out)
{
	const char *name, *path;

	for (size_t i = 0; cache_get(w, i, &name, &path); i++) {
		if (strcmp(name, soname) || !*path)
			continue;
		const char *at = arena_printf(w->arena, "%s%s", w->root, path);
		if (take(w, at, out))
			return at;
	}
	return NULL;
}

static const char *in_folders(struct walk *w, const char *root, const char *const *folders, const char *soname, struct elf *out)
{
	for (size_t i = 0; folders && folders[i]; i++) {
		const char *path = arena_printf(w->arena, "%s%s/%s", root, folders[i], soname);
		if (take(w, path, out))
			return path;
	}
	return NULL;
}

// owner: index of who needs it; SIZE_MAX: none, it is opened by its name.
static const char *look(struct walk *w, size_t owner, const char *soname, struct elf *out)
{
	const char *path = in_folders(w, "", w->folders, soname, out);

	if (strchr(soname, '/')) // a path is taken as one
		return take(w, soname, out) ? soname : NULL;
	if (!path && owner != SIZE_MAX && !w->file[owner].elf.runpath) {
		for (size_t i = owner;; i = w->file[i].parent) {
			if (!path && !w->file[i].elf.runpath)
				path = in_list(w, w->file[i].elf.rpath, w->file[i].path, soname, out);
			if (w->file[i].parent == i)
				break;
		}
	}
	if (!path)
		path = in_list(w, getenv("LD_LIBRARY_PATH"), "", soname, out);
	if (!path && owner != SIZE_MAX)
		path = in_list(w, w->file[owner].elf.runpath, w->file[owner].path, soname, out);
	if (!path)
		path = in_cache(w, soname, out);
	return path ? path : in_folders(w, w->root, system_folders, soname, out);
}

// ---- what is wrong ------------------------------------------------------------------------------------------------------

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

// "libcudart.so." of libcudart.so.13: what another version of it begins with.
static size_t stem_of(const char *soname)
{
	const char *at = strstr(soname, ".so.");

	return at ? (size_t)(at - soname) + 4 : 0;
}

static const char *glob_one(struct arena *a, const char *pattern)
{
	const char *path = NULL;
	glob_t found;

	if (!glob(pattern, 0, NULL, &found)) {
		path = arena_strdup(a, found.gl_pathv[found.gl_pathc - 1]);
		globfree(&found);
	}
	return path;
}

static const char *other_version(struct walk *w, size_t owner, const char *soname)
{
	size_t stem = stem_of(soname);
	const char *name, *path, *found = NULL;
	const char *lists[] = { getenv("LD_LIBRARY_PATH"), owner == SIZE_MAX ? NULL : w->file[owner].elf.runpath };

	if (!stem)
		return NULL;
	for (size_t i = 0; w->folders && w->folders[i] && !found; i++)
		found = glob_one(w->arena, arena_printf(w->arena, "%s/%.*s*", w->folders[i], (int)stem, soname));
	for (size_t k = 0; k < 2; k++) {
		for (const char *at = lists[k]; at && *at && !found;) {
			size_t n = strcspn(at, ":");
			if (n)
				found = glob_one(w->arena,
					arena_printf(w->arena, "%s/%.*s*", expand(w->arena, at, n, k ? w->file[owner].path : ""),
						(int)stem, soname));
			at += n + (at[n] == ':');
		}
	}
	for (size_t i = 0; !found && cache_get(w, i, &name, &path); i++)
		if (!strncmp(name, soname, stem) && strcmp(name, soname) && *path)
			found = arena_printf(w->arena, "%s%s", w->root, path);
	for (size_t i = 0; system_folders[i] && !found; i++)
		found = glob_one(w->arena, arena_printf(w->arena, "%s%s/%.*s*", w->root, system_folders[i], (int)stem, soname));
	return found;
}

static void add_gap(struct walk *w, struct elf_gap gap)
{
	for (size_t i = 0; i < w->gap_count; i++)
		if (text_is(w->gap[i].soname, gap.soname) && text_is(w->gap[i].version, gap.version))
			return;
	if (w->gap_count < GAPS_MOST)
		w->gap[w->gap_count++] = gap;
}

static void missing(struct walk *w, size_t owner, const char *soname)
{
	struct text t = { 0 };
	const char *bringer = soname_bringer(w->arena, soname), *wanted_by = owner == SIZE_MAX ? NULL : w->file[owner].path,
		   *other = NULL, *unused = NULL;

	if (w->refused && bringer && strstr(bringer, "assay setup ")) // what is there counts as here
		bringer = arena_printf(w->arena, "%s --again", bringer);
	if (w->refused)
		text_addf(&t, "%s cannot be used: %s", soname, w->refused);
	else
		text_addf(&t, "%s is missing", soname);
	if (wanted_by)
		text_addf(&t, "; %s needs it", base_of(wanted_by));
	for (size_t i = 0; vendor_folders[i] && !w->refused && !unused; i++)
		unused = glob_one(w->arena, arena_printf(w->arena, "%s%s/%s", w->root, vendor_folders[i], soname));
	if (unused) {
		text_addf(&t, "; %s is where the loader does not look", unused);
		bringer = arena_printf(w->arena, "add %.*s to LD_LIBRARY_PATH", (int)(base_of(unused) - unused - 1), unused);
	} else if (!w->refused && (other = other_version(w, owner, soname))) {
		text_addf(&t, "; found is another version, %s", other);
	}
	add_gap(w,
		(struct elf_gap){ .soname = soname,
			.wanted_by = wanted_by,
			.sentence = arena_strdup(w->arena, text_get(&t)),
			.bringer = bringer });
	text_done(&t);
}

// "GLIBC_" of GLIBC_2.38.
static size_t family_of(const char *version)
{
	const char *digit = strpbrk(version, "0123456789");

	return digit ? (size_t)(digit - version) : strlen(version);
}

static bool has_version(const struct elf *e, const char *version)
{
	for (size_t i = 0; i < e->version_count; i++)
		if (!strcmp(e->versions[i], version))
			return true;
	return false;
}

// The versions that `owner` wants of a file and that it has not: one gap for each family, its highest.
static void check_versions(struct walk *w, size_t owner, const struct found *of)
{
	const struct elf *e = &w->file[owner].elf;

	for (size_t i = 0; i < e->wanted_count && of->elf.version_count; i++) {
		const char *version = e->wanted[i].version, *best = NULL;
		size_t family = family_of(version);
		bool highest = true;

		if (e->wanted[i].weak || strcmp(e->wanted[i].soname, of->soname) || has_version(&of->elf, version))
			continue;
		for (size_t k = 0; k < e->wanted_count; k++)
			if (!strcmp(e->wanted[k].soname, of->soname) && family_of(e->wanted[k].version) == family &&
				!strncmp(e->wanted[k].version, version, family) &&
				strverscmp(e->wanted[k].version, version) > 0 && !has_version(&of->elf, e->wanted[k].version))
				highest = false;
		for (size_t k = 0; k < of->elf.version_count; k++)
			if (family_of(of->elf.versions[k]) == family && !strncmp(of->elf.versions[k], version, family) &&
				(!best || strverscmp(of->elf.versions[k], best) > 0))
				best = of->elf.versions[k];
		if (!highest)
			continue;
		add_gap(w,
			(struct elf_gap){
				.soname = of->soname,
				.wanted_by = w->file[owner].path,
				.version = version,
				.sentence = best ? arena_printf(w->arena, "%s here has %s at most, and %s needs %s", of->path,
							   best, base_of(w->file[owner].path), version)
						 : arena_printf(w->arena, "%s here has no %s, which %s needs", of->path, version,
							   base_of(w->file[owner].path)),
				.bringer = text_starts(version, "GLIBC_")
					? "use a newer release of this system, or an older one of the library"
					: soname_bringer(w->arena, of->soname),
			});
	}
}

// ---- the walk -----------------------------------------------------------------------------------------------------------

static const struct found *known(const struct walk *w, const char *soname)
{
	for (size_t i = 0; i < w->count; i++)
		if (text_is(w->file[i].soname, soname) || text_is(base_of(w->file[i].path), soname))
			return &w->file[i];
	return NULL;
}

static void add(struct walk *w, const char *soname, const char *path, const struct elf *elf, size_t parent)
{
	if (w->count == FILES_MOST)
		return;
	w->file[w->count] =
		(struct found){ elf->soname ? elf->soname : soname, path, *elf, parent == SIZE_MAX ? w->count : parent };
	w->count++;
}

static void walk_file(struct walk *w, size_t at)
{
	for (size_t i = 0; i < w->file[at].elf.needed_count; i++) {
		const char *soname = w->file[at].elf.needed[i], *path;
		const struct found *have = known(w, soname);
		struct elf elf;

		w->refused = NULL;
		if (!have && (path = look(w, at, soname, &elf))) {
			add(w, soname, path, &elf, at);
			have = known(w, soname);
		}
		if (have)
			check_versions(w, at, have);
		else
			missing(w, at, soname);
	}
}

static struct walk *begin(struct arena *a, const struct elf_search *where)
{
	struct walk *w = ARENA_NEW(a, struct walk);
	struct error none = { 0 };

	w->arena = a;
	w->root = where && where->root ? where->root : "";
	w->folders = where ? where->folders : NULL;
	file_map(a, arena_printf(a, "%s/etc/ld.so.cache", w->root), &w->cache, &w->cache_nbytes, &none);
	return w;
}

enum status elf_walk(struct elf_chain *out, struct arena *a, const char *path, const struct elf_search *where, struct error *err)
{
	struct walk *w = begin(a, where);
	struct elf elf;
	enum status st = elf_open(&elf, a, path, err);

	if (st)
		return st;
	add(w, base_of(path), arena_strdup(a, path), &elf, SIZE_MAX);
	for (size_t i = 0; i < w->count; i++)
		walk_file(w, i);
	const char **paths = ARENA_ARRAY(a, w->count, const char *);
	for (size_t i = 0; i < w->count; i++)
		paths[i] = w->file[i].path;
	*out = (struct elf_chain){ paths, w->count, w->gap, w->gap_count };
	return STATUS_OK;
}

const char *elf_find(struct arena *a, const char *soname, const struct elf_search *where)
{
	struct elf elf;

	return look(begin(a, where), SIZE_MAX, soname, &elf);
}
