// SPDX-License-Identifier: Apache-2.0
// elf.h, one file: its dynamic section by its program headers. Section headers are not looked at: a stripped library has none.
// It knows 64-bit little-endian files, which is every machine that has an engine.
#include "platform/elf.h"

#include <elf.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_NONE
#endif

enum { ENTRIES_MOST = 4096, NAME_MOST = 4096 }; // of each list, of each string; real libraries have dozens

struct file {
	const char *name;
	const uint8_t *bytes;
	size_t nbytes;
	Elf64_Ehdr head;
	uint64_t strings, strings_size; // offset of the string table in the file
};

const char *elf_machine(unsigned e_machine)
{
	static const struct {
		unsigned id;
		const char *name;
	} machines[] = {
		{ EM_X86_64, "x86-64" },
		{ EM_AARCH64, "AArch64" },
		{ EM_386, "32-bit x86" },
		{ EM_ARM, "32-bit ARM" },
		{ EM_RISCV, "RISC-V" },
		{ EM_PPC64, "PowerPC 64" },
		{ EM_S390, "S/390" },
	};
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machines[i].id == e_machine)
			return machines[i].name;
	return NULL;
}

static bool inside(const struct file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->nbytes && size <= f->nbytes - offset;
}

// Copies, because nothing in a file need be aligned.
static bool fetch(const struct file *f, uint64_t offset, void *out, size_t size)
{
	if (!inside(f, offset, size))
		return false;
	memcpy(out, f->bytes + offset, size);
	return true;
}

static bool program_header(const struct file *f, unsigned i, Elf64_Phdr *out)
{
	return f->head.e_phentsize >= sizeof *out && f->head.e_phoff <= f->nbytes &&
		fetch(f, f->head.e_phoff + (uint64_t)i * f->head.e_phentsize, out, sizeof *out);
}

// Where an address of the loaded library lies in the file; UINT64_MAX: nowhere.
static uint64_t offset_of(const struct file *f, uint64_t address)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < f->head.e_phnum && program_header(f, i, &p); i++)
		if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz && p.p_offset <= f->nbytes)
			return p.p_offset + (address - p.p_vaddr);
	return UINT64_MAX;
}

// A string of the string table, ended within it; NULL: it is not.
static const char *string(const struct file *f, struct arena *a, uint64_t at)
{
	const uint8_t *from;
	size_t most;

	if (at >= f->strings_size || !inside(f, f->strings, f->strings_size))
		return NULL;
	from = f->bytes + f->strings + at;
	most = f->strings_size - at < NAME_MOST ? (size_t)(f->strings_size - at) : NAME_MOST;
	return memchr(from, 0, most) ? arena_strdup(a, (const char *)from) : NULL;
}

static enum status cut_off(const struct file *f, const char *what, struct error *err)
{
	return error_set(err, STATUS_BAD_INPUT, "%s: damaged or cut off: its %s lies beyond its end (%zu bytes); fetch it again",
		f->name, what, f->nbytes);
}

static enum status check_head(struct file *f, struct error *err)
{
	uint64_t needs = 0;
	Elf64_Phdr p;

	if (f->nbytes == 0)
		return error_set(err, STATUS_BAD_INPUT, "%s: empty; fetch it again", f->name);
	if (!fetch(f, 0, &f->head, sizeof f->head) || memcmp(f->head.e_ident, ELFMAG, SELFMAG))
		return error_set(err, STATUS_BAD_INPUT, "%s: not a shared library (no ELF header)", f->name);
	if (f->head.e_ident[EI_CLASS] != ELFCLASS64 || f->head.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(err, STATUS_UNSUPPORTED, "%s: a 32-bit or big-endian library", f->name);
	if (OWN_MACHINE != EM_NONE && f->head.e_machine != OWN_MACHINE) {
		const char *theirs = elf_machine(f->head.e_machine);
		return error_set(err, STATUS_UNSUPPORTED, "%s: built for %s, and this is %s", f->name,
			theirs ? theirs : "an unknown machine", elf_machine(OWN_MACHINE));
	}
	for (unsigned i = 0; i < f->head.e_phnum; i++) {
		if (!program_header(f, i, &p))
			return cut_off(f, "program header", err);
		if (p.p_type == PT_LOAD && !inside(f, p.p_offset, p.p_filesz))
			needs = p.p_offset + p.p_filesz < p.p_offset ? UINT64_MAX
				: p.p_offset + p.p_filesz > needs    ? p.p_offset + p.p_filesz
								     : needs;
	}
	if (needs)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: damaged or cut off: it has %zu bytes, and its headers speak of %llu; fetch it again", f->name,
			f->nbytes, (unsigned long long)needs);
	return STATUS_OK;
}

// ---- versions -----------------------------------------------------------------------------------------------------------

static enum status read_wanted(
	struct elf *out, const struct file *f, struct arena *a, uint64_t at, uint64_t count, struct error *err)
{
	size_t room = 0;

	for (uint64_t i = 0; i < count && i < ENTRIES_MOST; i++) {
		Elf64_Verneed need;
		if (!fetch(f, at, &need, sizeof need))
			return cut_off(f, "table of wanted versions", err);
		const char *soname = string(f, a, need.vn_file);
		uint64_t entry = at + need.vn_aux;
		for (unsigned k = 0; k < need.vn_cnt && out->wanted_count < ENTRIES_MOST; k++) {
			Elf64_Vernaux aux;
			if (!fetch(f, entry, &aux, sizeof aux))
				return cut_off(f, "table of wanted versions", err);
			const char *version = string(f, a, aux.vna_name);
			if (soname && version) {
				if (out->wanted_count == room) {
					struct elf_version *more = ARENA_ARRAY(a, room * 2 + 16, struct elf_version);
					if (room)
						memcpy(more, out->wanted, room * sizeof *more);
					out->wanted = more;
					room = room * 2 + 16;
				}
				out->wanted[out->wanted_count++] =
					(struct elf_version){ soname, version, aux.vna_flags & VER_FLG_WEAK };
			}
			if (!aux.vna_next)
				break;
			entry += aux.vna_next;
		}
		if (!need.vn_next)
			break;
		at += need.vn_next;
	}
	return STATUS_OK;
}

static enum status read_versions(
	struct elf *out, const struct file *f, struct arena *a, uint64_t at, uint64_t count, struct error *err)
{
	size_t most = count < ENTRIES_MOST ? (size_t)count : ENTRIES_MOST;

	if (most > f->nbytes / sizeof(Elf64_Verdef))
		return cut_off(f, "table of versions", err);
	out->versions = ARENA_ARRAY(a, most + 1, const char *);
	for (size_t i = 0; i < most; i++) {
		Elf64_Verdef def;
		Elf64_Verdaux aux;
		if (!fetch(f, at, &def, sizeof def) || !fetch(f, at + def.vd_aux, &aux, sizeof aux))
			return cut_off(f, "table of versions", err);
		const char *version = string(f, a, aux.vda_name);
		if (version && !(def.vd_flags & VER_FLG_BASE))
			out->versions[out->version_count++] = version;
		if (!def.vd_next)
			break;
		at += def.vd_next;
	}
	return STATUS_OK;
}

// ---- the dynamic section ------------------------------------------------------------------------------------------------

struct dynamic {
	uint64_t at, count;
};

static bool entry(const struct file *f, const struct dynamic *d, uint64_t i, Elf64_Dyn *out)
{
	return i < d->count && fetch(f, d->at + i * sizeof *out, out, sizeof *out) && out->d_tag != DT_NULL;
}

static uint64_t value_of(const struct file *f, const struct dynamic *d, Elf64_Sxword tag)
{
	Elf64_Dyn e;

	for (uint64_t i = 0; entry(f, d, i, &e); i++)
		if (e.d_tag == tag)
			return e.d_un.d_val;
	return UINT64_MAX;
}

static const char *text_of(const struct file *f, const struct dynamic *d, struct arena *a, Elf64_Sxword tag)
{
	uint64_t at = value_of(f, d, tag);

	return at == UINT64_MAX ? NULL : string(f, a, at);
}

static enum status read_dynamic(struct elf *out, struct file *f, struct arena *a, const struct dynamic *d, struct error *err)
{
	uint64_t wanted = value_of(f, d, DT_VERNEED), versions = value_of(f, d, DT_VERDEF);
	enum status st = STATUS_OK;
	Elf64_Dyn e;

	f->strings = offset_of(f, value_of(f, d, DT_STRTAB));
	f->strings_size = value_of(f, d, DT_STRSZ);
	if (!inside(f, f->strings, f->strings_size))
		return cut_off(f, "string table", err);
	out->soname = text_of(f, d, a, DT_SONAME);
	out->rpath = text_of(f, d, a, DT_RPATH);
	out->runpath = text_of(f, d, a, DT_RUNPATH);
	for (uint64_t i = 0; entry(f, d, i, &e) && out->needed_count < ENTRIES_MOST; i++)
		out->needed_count += e.d_tag == DT_NEEDED;
	size_t room = out->needed_count;
	out->needed = ARENA_ARRAY(a, room + 1, const char *);
	out->needed_count = 0;
	for (uint64_t i = 0; entry(f, d, i, &e) && out->needed_count < room; i++) {
		const char *name = e.d_tag == DT_NEEDED ? string(f, a, e.d_un.d_val) : NULL;
		if (name && *name)
			out->needed[out->needed_count++] = name;
	}
	if (wanted != UINT64_MAX)
		st = read_wanted(out, f, a, offset_of(f, wanted), value_of(f, d, DT_VERNEEDNUM), err);
	if (!st && versions != UINT64_MAX)
		st = read_versions(out, f, a, offset_of(f, versions), value_of(f, d, DT_VERDEFNUM), err);
	return st;
}

enum status elf_read(struct elf *out, struct arena *a, const char *name, const uint8_t *bytes, size_t nbytes, struct error *err)
{
	struct file f = { .name = name, .bytes = bytes, .nbytes = nbytes };
	struct elf read = { 0 };
	Elf64_Phdr p;
	enum status st = check_head(&f, err);

	for (unsigned i = 0; !st && i < f.head.e_phnum; i++) {
		if (!program_header(&f, i, &p) || p.p_type != PT_DYNAMIC)
			continue;
		if (!inside(&f, p.p_offset, p.p_filesz))
			return cut_off(&f, "dynamic section", err);
		st = read_dynamic(&read, &f, a, &(struct dynamic){ p.p_offset, p.p_filesz / sizeof(Elf64_Dyn) }, err);
		break;
	}
	if (!st)
		*out = read;
	return st;
}

enum status elf_open(struct elf *out, struct arena *a, const char *path, struct error *err)
{
	struct arena mapping = { 0 };
	const uint8_t *bytes = NULL;
	size_t nbytes = 0;
	enum status st = file_map(&mapping, path, &bytes, &nbytes, err);

	if (!st)
		st = elf_read(out, a, path, bytes, nbytes, err);
	arena_done(&mapping);
	return st;
}
