// SPDX-License-Identifier: Apache-2.0
#include "run/child_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "cell/predict.h"
#include "platform/platform.h"

#define TABLES_USUAL (16 * 1024.0 * 1024) // page tables: so much belongs to what is counted
#define MEMBERS_MS 250.0                  // between two looks at who is below
#define SHARED_MS 50.0                    // between two looks at what is shared, which is counted page by page
#define SHARED_STEP (1024.0 * 1024)       // a smaller change is not looked at
#define SHARED_AGAIN_MS 1000.0            // without a change others may have left their part of so much to it
#define STATUS_MOST (1 << 20)             // bytes: of a user in 65536 groups, which stand before the memory

void child_memory_begin(struct child_memory *m, int64_t top)
{
	*m = (struct child_memory){
		.top = top, .members = calloc(CHILD_MEMBERS, sizeof *m->members), .below = calloc(CHILD_MEMBERS, sizeof *m->below)
	};
	if (!m->members || !m->below)
		abort();
}

static struct child_member *find(struct child_memory *m, int64_t pid)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->members[i].pid == pid)
			return &m->members[i];
	return NULL;
}

static void close_status(struct child_memory *m, struct child_member *x)
{
	if (x->status_fd < 0)
		return;
	close(x->status_fd);
	x->status_fd = -1;
	m->open--;
}

static void drop(struct child_memory *m, size_t i)
{
	close_status(m, &m->members[i]);
	m->members[i] = m->members[--m->count];
}

// The status of a member's memory, kept open where there is room; -1: it cannot be read.
static int open_status(struct child_memory *m, struct child_member *x)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%lld/status", (long long)x->thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && m->open < CHILD_OPEN) {
		x->status_fd = fd;
		m->open++;
	}
	return fd;
}

static void look_below(struct child_memory *m)
{
	int64_t *below = m->below;
	size_t n = process_below(m->top, below, CHILD_MEMBERS);

	for (size_t i = m->count; i-- > 0;) {
		bool is_there = false;

		for (size_t k = 0; k < n; k++)
			is_there |= below[k] == m->members[i].pid;
		if (!is_there)
			drop(m, i);
	}
	for (size_t k = 0; k < n; k++) {
		if (!find(m, below[k]) && m->count < CHILD_MEMBERS)
			m->members[m->count++] = (struct child_member){ .pid = below[k], .thread = below[k], .status_fd = -1 };
	}
}

// The bytes after "\nKEY:" in a text of such lines; NaN: there is none.
static double bytes_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtod(at + strlen(key), NULL) * 1024 : (double)NAN;
}

// The whole text, which is the next call's, too; "" where there is none.
static const char *read_status(struct child_memory *m, int fd)
{
	for (;;) {
		ssize_t n = fd >= 0 && m->room ? pread(fd, m->status, m->room - 1, 0) : 0;
		if (m->room && (n < (ssize_t)m->room - 1 || m->room >= STATUS_MOST)) {
			m->status[n > 0 ? n : 0] = 0;
			return m->status;
		}
		m->room = m->room ? 2 * m->room : 4096;
		if (!(m->status = realloc(m->status, m->room)))
			abort();
	}
}

static double read_member(struct child_memory *m, struct child_member *x, double now_ms)
{
	int fd = x->status_fd >= 0 ? x->status_fd : open_status(m, x);
	const char *buffer = read_status(m, fd);

	if (fd >= 0 && fd != x->status_fd)
		close(fd);
	double anonymous = bytes_of(buffer, "\nRssAnon:"), resident = bytes_of(buffer, "\nRssShmem:");
	if (isnan(anonymous) && now_ms - x->searched_ms >= SHARED_MS) { // that thread has ended, or all of it
		int64_t thread = process_memory_thread(x->pid);

		x->searched_ms = now_ms;
		if (thread >= 0 && thread != x->thread) {
			close_status(m, x);
			x->thread = thread;
			return read_member(m, x, now_ms);
		}
	}
	const bool is_other = fabs(resident - x->resident_shared) >= SHARED_STEP, may_be = resident >= SHARED_STEP;
	if ((is_other || may_be) && now_ms - x->looked_ms >= (is_other ? SHARED_MS : SHARED_AGAIN_MS)) {
		int64_t kib = process_shared_kib(x->pid);

		x->shared = kib > 0 ? (double)kib * 1024 : 0;
		x->resident_shared = resident;
		x->looked_ms = now_ms;
	}
	double swapped = bytes_of(buffer, "\nVmSwap:"), huge = bytes_of(buffer, "\nHugetlbPages:"); // in no RssAnon
	double tables = bytes_of(buffer, "\nVmPTE:") - TABLES_USUAL; // what is mapped far and wide takes them alone
	return anonymous + x->shared + (isnan(swapped) ? 0 : swapped) + (isnan(huge) ? 0 : huge) + (tables > 0 ? tables : 0);
}

double child_memory_read(struct child_memory *m, double now_ms)
{
	double sum = (double)NAN;

	if (!m->count || now_ms - m->looked_ms >= MEMBERS_MS) {
		look_below(m);
		m->looked_ms = now_ms;
	}
	for (size_t i = 0; i < m->count; i++) {
		double bytes = read_member(m, &m->members[i], now_ms);

		if (!isnan(bytes))
			sum = isnan(sum) ? bytes : sum + bytes;
	}
	return m->count < CHILD_MEMBERS ? sum : (double)INFINITY;
}

void child_memory_end(struct child_memory *m)
{
	while (m->count)
		drop(m, m->count - 1);
	free(m->members);
	free(m->below);
	free(m->status);
	m->status = NULL;
	m->room = 0;
	m->members = NULL;
	m->below = NULL;
}

// Far from where a child starts at all: a machine that has less is told by what fails.
#define DEFAULT_LEAST ((int64_t)64 << 20)

enum status child_memory_default(int64_t *bytes, const char **from, struct arena *a, const char *root, struct error *err)
{
	const char *given = getenv("ASSAY_MEMORY");
	struct machine m = { 0 };
	char *end;

	*bytes = 0;
	*from = "";
	if (given && *given) {
		double gib = strtod(given, &end);

		if (*end || !(gib >= 0.01 && gib <= 1e6))
			return error_set(
				err, STATUS_BAD_INPUT, "ASSAY_MEMORY=%s: a number of GiB from 0.01 to 1000000 is wanted", given);
		*bytes = (int64_t)(gib * 0x1p30);
		*from = ", as ASSAY_MEMORY says";
		return STATUS_OK;
	}
	machine_memory_at(&m, a, root);
	if (m.memory_available_bytes <= 0)
		return STATUS_OK;
	int64_t available = m.memory_available_bytes, margin = (int64_t)predict_margin(&m), half = available / 2;
	*bytes = available - margin > half ? available - margin : half;
	if (*bytes < DEFAULT_LEAST)
		*bytes = DEFAULT_LEAST;
	*from = arena_printf(a, ", since %s were available when it began (--memory gives another limit)",
		predict_amount(a, (uint64_t)available));
	return STATUS_OK;
}

int64_t child_mapped_bytes(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *folder = file_is_dir(path) ? path : slash ? arena_strndup(a, path, (size_t)(slash - path) + 1) : ".";
	DIR *d = opendir(folder);
	struct dirent *e;
	struct stat st;
	int64_t sum = 0;

	while (d && (e = readdir(d)))
		if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
			sum += st.st_size;
	if (d)
		closedir(d);
	return sum;
}
