// SPDX-License-Identifier: Apache-2.0
// What this machine is, from /proc, /sys and, where a virtual machine hides its caches, the processor itself. Everything is
// optional: what cannot be read is 0 or NULL.
#include "platform/platform.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "backend/host.h"
#include "base/hash.h"
#include "base/text.h"
#include "platform/facts.h"

static char *read_text(struct arena *a, const char *root, const char *path)
{
	char *text = NULL;
	size_t n;

	// Files of /proc say that they have no bytes: file_read is for real ones.
	FILE *f = fopen(arena_printf(a, "%s%s", root, path), "re");
	if (!f)
		return NULL;
	text = arena_alloc(a, 4096);
	n = fread(text, 1, 4095, f);
	fclose(f);
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return text;
}

// ---- processor ----------------------------------------------------------------------------------------------------------

// Instruction sets that decide how fast a model runs, in the order in which they are told.
static const char *const known_features[] = { "sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw",
	"avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16",
	"amx_fp16", "neon", "asimd", "asimdhp", "asimddp", "asimdfhm", "sve", "sve2", "bf16", "i8mm", "sme", "avx_vnni_int8",
	"amx_complex", "svebf16", "svei8mm", "sme2" };

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at && *at;) {
		size_t length = strcspn(at, " ");

		if (length == n && !strncmp(at, word, n))
			return true;
		at += length + (at[length] == ' ');
	}
	return false;
}

static const char *find_features(struct arena *a, const char *flags)
{
	struct text t = { 0 };
	const char *out;

	for (size_t i = 0; i < sizeof known_features / sizeof *known_features; i++)
		if (has_word(flags, known_features[i]))
			text_addf(&t, "%s%s", t.length ? " " : "", known_features[i]);
	out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

struct core {
	long package, core;
};

static int by_core(const void *x, const void *y)
{
	const struct core *a = x, *b = y;

	return a->package != b->package ? (a->package > b->package) - (a->package < b->package)
					: (a->core > b->core) - (a->core < b->core);
}

// Counts threads, cores (pairs of package and core number) and packages. ARM's /proc/cpuinfo has neither number: there sysfs is
// asked, and where it does not know either, a thread is a core.
static void count_cpus(struct machine *m, struct arena *a, const char *root)
{
	size_t count = 0, capacity = 64;
	struct core *cores = malloc(capacity * sizeof *cores);
	const struct sysfs files = { a, root };
	bool numbered = false;
	char *line = NULL;
	size_t line_size = 0;
	FILE *f = fopen(arena_printf(a, "%s/proc/cpuinfo", root), "re");

	while (cores && f && getline(&line, &line_size, f) > 0) {
		const char *number = strchr(line, ':');

		if (!number)
			continue;
		if (text_starts(line, "processor")) {
			if (count == capacity) {
				struct core *more = realloc(cores, 2 * capacity * sizeof *cores);

				if (!more)
					break;
				cores = more;
				capacity *= 2;
			}
			cores[count] = (struct core){ 0, (long)count };
			count++;
		} else if (count && text_starts(line, "physical id")) {
			cores[count - 1].package = strtol(number + 1, NULL, 10);
		} else if (count && text_starts(line, "core id")) {
			cores[count - 1].core = strtol(number + 1, NULL, 10);
			numbered = true;
		}
	}
	for (size_t i = 0; cores && !numbered && i < count; i++) {
		const char *folder = arena_printf(a, "/sys/devices/system/cpu/cpu%zu/topology", i);
		const int64_t package = sysfs_number(&files, -1, "%s/physical_package_id", folder),
			      core = sysfs_number(&files, -1, "%s/core_id", folder);

		if (core >= 0)
			cores[i] = (struct core){ package >= 0 ? (long)package : 0, (long)core };
	}
	free(line);
	if (f)
		fclose(f);
	if (cores && count) {
		qsort(cores, count, sizeof *cores, by_core);
		m->threads = (int)count;
		for (size_t i = 0; i < count; i++) {
			m->cores += i == 0 || by_core(&cores[i], &cores[i - 1]) != 0;
			m->sockets += i == 0 || cores[i].package != cores[i - 1].package;
		}
	}
	free(cores);
}

// ---- caches -------------------------------------------------------------------------------------------------------------

static void keep_cache(struct machine *m, int level, char type, int64_t nbytes)
{
	if (level == 1 && (type == 'D' || type == 'U'))
		m->l1d_bytes = nbytes;
	else if (level == 2 && type != 'I')
		m->l2_bytes = nbytes;
	else if (level == 3 && type != 'I')
		m->l3_bytes = nbytes;
}

static void find_caches(struct machine *m, struct arena *a, const char *root)
{
	for (int i = 0; i < 8; i++) {
		const char *folder = arena_printf(a, "/sys/devices/system/cpu/cpu0/cache/index%d", i);
		const char *level = read_text(a, root, arena_printf(a, "%s/level", folder));
		const char *type = read_text(a, root, arena_printf(a, "%s/type", folder));
		const char *size = read_text(a, root, arena_printf(a, "%s/size", folder));
		char *unit;
		int64_t n;

		if (!level || !type || !size)
			break;
		n = strtoll(size, &unit, 10);
		keep_cache(m, (int)strtol(level, NULL, 10), type[0], *unit == 'K' ? n << 10 : *unit == 'M' ? n << 20 : n);
	}
}

#if defined(__x86_64__) || defined(__i386__)
// Leaf 4 of Intel, 0x8000001D of AMD: one cache a subleaf, type 0 ends.
static void ask_caches(struct machine *m)
{
	static const unsigned leaves[] = { 4, 0x8000001D };
	static const char types[] = { 0, 'D', 'I', 'U' };

	for (size_t k = 0; k < 2 && !m->l1d_bytes; k++)
		for (unsigned i = 0; i < 8; i++) {
			unsigned a, b, c, d;

			if (!__get_cpuid_count(leaves[k], i, &a, &b, &c, &d) || !(a & 31) || (a & 31) > 3)
				break;
			keep_cache(m, (int)(a >> 5 & 7), types[a & 31],
				(int64_t)((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * ((int64_t)c + 1));
		}
}

static const char *ask_hypervisor(struct arena *a)
{
	unsigned eax, words[3];
	char name[13] = "";

	__cpuid(0x40000000, eax, words[0], words[1], words[2]);
	memcpy(name, words, 12);
	name[12] = 0;
	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			return "unknown";
	return *name ? arena_strdup(a, name) : "unknown";
}
#else
static void ask_caches(struct machine *m)
{
	(void)m;
}
static const char *ask_hypervisor(struct arena *a)
{
	(void)a;
	return "unknown";
}
#endif

// ---- the rest -----------------------------------------------------------------------------------------------------------

void machine_memory_at(struct machine *m, struct arena *a, const char *root)
{
	char line[256];
	FILE *f = fopen(arena_printf(a, "%s/proc/meminfo", root), "re");

	while (f && fgets(line, sizeof line, f)) {
		long long kib;

		if (sscanf(line, "MemTotal: %lld", &kib) == 1)
			m->memory_bytes = kib * 1024;
		else if (sscanf(line, "MemAvailable: %lld", &kib) == 1)
			m->memory_available_bytes = kib * 1024;
	}
	if (f)
		fclose(f);
	m->memory_limit_bytes = host_memory_limit(root);
	if (m->memory_limit_bytes >= m->memory_bytes)
		m->memory_limit_bytes = 0; // no limit in effect
	if (m->memory_limit_bytes && host_memory_left(root) < m->memory_available_bytes)
		m->memory_available_bytes = host_memory_left(root);
}

static const char *find_os(struct arena *a, const char *root)
{
	char line[512];
	const char *name = NULL;
	FILE *f = fopen(arena_printf(a, "%s/etc/os-release", root), "re");

	while (f && fgets(line, sizeof line, f))
		if (text_starts(line, "PRETTY_NAME=")) {
			char *at = line + strlen("PRETTY_NAME=");

			at[strcspn(at, "\n")] = 0;
			if (*at == '"' && strlen(at) > 1) {
				at++;
				at[strcspn(at, "\"")] = 0;
			}
			name = arena_strdup(a, at);
		}
	if (f)
		fclose(f);
	return name ? name : "Linux";
}

// Not the system's version, not limits, not memory to the byte (a new kernel keeps another few MiB for itself).
static const char *make_id(const struct machine *m, struct arena *a)
{
	char *hex = arena_alloc(a, 65);
	struct hash h;

	hash_init(&h);
	hash_add_text(&h, m->architecture);
	hash_add_text(&h, m->cpu_vendor);
	hash_add_text(&h, m->cpu_model);
	hash_add_text(&h, m->features);
	hash_add_text(&h, m->hypervisor ? m->hypervisor : "");
	hash_add_text(&h,
		arena_printf(a, "%d %d %d %lld %lld %lld %lld", m->sockets, m->cores, m->threads, (long long)m->l1d_bytes,
			(long long)m->l2_bytes, (long long)m->l3_bytes, (long long)((m->memory_bytes + (1 << 29)) >> 30)));
	hash_hex(&h, hex);
	hex[16] = 0;
	return hex;
}

void machine_detect_at(struct machine *out, struct arena *a, const char *root)
{
	struct machine m = { 0 };
	struct utsname u = { 0 };
	enum { TEXT_SIZE = 8192 };
	char *text = arena_alloc(a, TEXT_SIZE);
	const char *flags;

	uname(&u);
	m.hostname = arena_strdup(a, u.nodename);
	m.kernel = arena_strdup(a, u.release);
	m.architecture = arena_strdup(a, u.machine);
	m.os = find_os(a, root);
	m.cpu_vendor = arena_strdup(a, host_cpuinfo(root, "vendor_id", text, TEXT_SIZE));
	if (!*m.cpu_vendor)
		m.cpu_vendor = arena_strdup(a, host_cpuinfo(root, "CPU implementer", text, TEXT_SIZE));
	m.cpu_model = arena_strdup(a, host_cpuinfo(root, "model name", text, TEXT_SIZE));
	if (!*m.cpu_model) {
		const char *part = arena_strdup(a, host_cpuinfo(root, "CPU part", text, TEXT_SIZE));
		const char *name = cpu_arm_name(strtol(m.cpu_vendor, NULL, 0), strtol(part, NULL, 0));

		m.cpu_model = name ? name : part;
	}
	flags = arena_strdup(a, host_cpuinfo(root, "flags", text, TEXT_SIZE));
	if (!*flags)
		flags = arena_strdup(a, host_cpuinfo(root, "Features", text, TEXT_SIZE));
	m.features = find_features(a, flags);
	count_cpus(&m, a, root);
	find_caches(&m, a, root);
	if (!*root && !m.l1d_bytes)
		ask_caches(&m);
	if (has_word(flags, "hypervisor"))
		m.hypervisor = *root ? "unknown" : ask_hypervisor(a);
	m.usable_cpus = host_cpus(root);
	machine_memory_at(&m, a, root);
	m.boot_id = read_text(a, root, "/proc/sys/kernel/random/boot_id");
	m.id = make_id(&m, a);
	*out = m;
}

void machine_detect(struct machine *out, struct arena *a)
{
	machine_detect_at(out, a, "");
}

static json_t *known(int64_t n)
{
	return n ? json_integer(n) : json_null();
}

json_t *machine_json(const struct machine *m)
{
	json_t *features = json_array();

	for (const char *at = m->features; at && *at;) {
		size_t n = strcspn(at, " ");

		json_array_append_new(features, json_stringn(at, n));
		at += n + (at[n] == ' ');
	}
	return json_pack(
		"{s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:s?, s:o, s:o, s:o, s:s?}",
		"id", m->id, "hostname", m->hostname, "os", m->os, "kernel", m->kernel, "architecture", m->architecture,
		"cpu_vendor", m->cpu_vendor, "cpu_model", m->cpu_model, "sockets", known(m->sockets), "cores", known(m->cores),
		"threads", known(m->threads), "usable_cpus", m->usable_cpus, "l1d_bytes", known(m->l1d_bytes), "l2_bytes",
		known(m->l2_bytes), "l3_bytes", known(m->l3_bytes), "features", features, "hypervisor", m->hypervisor,
		"memory_bytes", known(m->memory_bytes), "memory_available_bytes", known(m->memory_available_bytes),
		"memory_limit_bytes", known(m->memory_limit_bytes), "boot_id", m->boot_id);
}
