// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// src/artifact/file_place.c: link, share or copy, and what happens when each of them fails. Faults come from this program's own
// linkat, ioctl, copy_file_range and statvfs, which stand before the C library's; and from real file systems where one can be
// had.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "free_bytes.h"
#include "scratch.h"

#include "artifact/artifact.h"
#include "artifact/inside.h"
#include "base/file.h"
#include "base/text.h"

static struct {
	int linkat, ioctl, copy; // errno to fail with; 0: the real call
	int links_tried, clones_tried, copies_tried;
} fault;

int linkat(int old_at, const char *old, int new_at, const char *new, int flags)
{
	int (*real)(int, const char *, int, const char *, int) =
		(int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat");
	fault.links_tried++;
	if (fault.linkat) {
		errno = fault.linkat;
		return -1;
	}
	return real(old_at, old, new_at, new, flags);
}

int ioctl(int fd, unsigned long request, ...)
{
	int (*real)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	va_list ap;
	va_start(ap, request);
	long argument = va_arg(ap, long);
	va_end(ap);
	fault.clones_tried++;
	if (fault.ioctl) {
		errno = fault.ioctl;
		return -1;
	}
	return real(fd, request, argument);
}

ssize_t copy_file_range(int in, off_t *in_at, int out, off_t *out_at, size_t n, unsigned flags)
{
	ssize_t (*real)(int, off_t *, int, off_t *, size_t, unsigned) =
		(ssize_t(*)(int, off_t *, int, off_t *, size_t, unsigned))dlsym(RTLD_NEXT, "copy_file_range");
	fault.copies_tried++;
	if (fault.copy) {
		errno = fault.copy;
		return -1;
	}
	return real(in, in_at, out, out_at, n, flags);
}

enum { NBYTES = 300000 };
static char content[NBYTES];

static int setup(void **state)
{
	for (size_t i = 0; i < NBYTES; i++)
		content[i] = (char)(uint8_t)(i * 7 + i / 251);
	return !scratch_make(state) && !chmod(scratch, 0755) && !file_write(path("from"), content, NBYTES, NULL) ? 0 : -1;
}

static void assert_content(const char *file)
{
	char *data;
	size_t n;
	assert_int_equal(file_read(&arena, file, NBYTES, &data, &n, NULL), STATUS_OK);
	assert_int_equal(n, NBYTES);
	assert_memory_equal(data, content, NBYTES);
}

// Nothing but these files lies in the folder: no temporary is left.
static void assert_only(const char *folder, size_t count)
{
	assert_int_equal(names_in(folder), count);
}

static const char *fresh(const char *name)
{
	const char *folder = path(name);
	fault = (__typeof__(fault)){ 0 };
	free_bytes = 0;
	assert_int_equal(file_remove_tree(folder, NULL), STATUS_OK);
	assert_int_equal(file_mkdirs(folder, NULL), STATUS_OK);
	return arena_printf(&arena, "%s/to", folder);
}

static void links(void **state)
{
	(void)state;
	const char *how = NULL, *to = fresh("links");
	struct error e = { 0 };
	assert_int_equal(file_place(path("from"), to, PLACE_LINK, &how, &e), STATUS_OK);
	assert_string_equal(how, "hardlink");
	assert_true(same_file(path("from"), to));
	// Again: it is there already. Over another file: replaced in one step.
	fault.links_tried = 0;
	assert_int_equal(file_place(path("from"), to, PLACE_LINK, &how, &e), STATUS_OK);
	assert_int_equal(fault.links_tried, 0);
	assert_int_equal(file_write(to, "other", 5, &e), STATUS_OK);
	assert_int_equal(file_place(path("from"), to, PLACE_LINK | PLACE_COPY, &how, &e), STATUS_OK);
	assert_true(same_file(path("from"), to));
	assert_only(path("links"), 1);
	// Through a symbolic link: the file, never the link.
	assert_int_equal(symlink("../from", path("links/symbolic")), 0);
	assert_int_equal(unlink(to), 0);
	assert_int_equal(file_place(path("links/symbolic"), to, PLACE_LINK, &how, &e), STATUS_OK);
	assert_true(same_file(path("from"), to));
	struct stat st;
	assert_true(!lstat(to, &st) && S_ISREG(st.st_mode));
	// A file on itself stays what it is.
	assert_int_equal(file_place(path("from"), path("from"), PLACE_COPY, &how, &e), STATUS_OK);
	assert_string_equal(how, "file");
	assert_content(path("from"));
}

static void copies(void **state)
{
	(void)state;
	const char *how = NULL, *to = fresh("copies");
	struct error e = { 0 };
	assert_int_equal(file_place(path("from"), to, PLACE_COPY, &how, &e), STATUS_OK);
	assert_string_equal(how, "copy");
	assert_int_equal(fault.links_tried + fault.clones_tried, 0);
	assert_false(same_file(path("from"), to));
	assert_content(to);
	// A hard link that was asked to stand alone becomes a copy.
	assert_int_equal(file_place(path("from"), to, PLACE_LINK, &how, &e), STATUS_OK);
	assert_true(same_file(path("from"), to));
	assert_int_equal(file_place(path("from"), to, PLACE_REFLINK | PLACE_COPY, &how, &e), STATUS_OK);
	assert_false(same_file(path("from"), to));
	assert_content(to);
	static const int refusals[] = { EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM };
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		to = fresh("copies");
		fault.copy = refusals[i];
		assert_int_equal(file_place(path("from"), to, PLACE_COPY, &how, &e), STATUS_OK);
		assert_content(to);
		assert_int_equal(fault.copies_tried, 1);
	}
	// What a killed process left is written over.
	to = fresh("copies");
	assert_int_equal(file_write(path("copies/.to.partial"), "half", 4, &e), STATUS_OK);
	assert_int_equal(file_place(path("from"), to, PLACE_COPY, &how, &e), STATUS_OK);
	assert_content(to);
	assert_only(path("copies"), 1);
	// What a living one writes is left alone.
	to = fresh("copies");
	int fd = partial_open(to, &e);
	assert_true(fd >= 0);
	assert_true(file_place(path("from"), to, PLACE_COPY, &how, &e) != STATUS_OK);
	assert_non_null(strstr(e.text, "being written by another process"));
	partial_drop(fd, to);
	assert_only(path("copies"), 0);
}

// Each of the four, injected: the next way is taken, and where there is none, a sentence.
static void link_fails(void **state)
{
	(void)state;
	static const struct {
		int code;
		const char *says;
	} codes[] = {
		{ EXDEV, "Invalid cross-device link" },
		{ EPERM, "Operation not permitted" },
		{ EMLINK, "Too many links" },
		{ EROFS, "Read-only file system" },
	};
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		const char *how = NULL, *to = fresh("fails");
		struct error e = { 0 };
		fault.linkat = codes[i].code;
		fault.ioctl = EOPNOTSUPP;
		assert_int_equal(file_place(path("from"), to, PLACE_LINK | PLACE_REFLINK | PLACE_COPY, &how, &e), STATUS_OK);
		assert_string_equal(how, "copy");
		assert_content(to);
		assert_int_equal(fault.links_tried, 1);
		assert_int_equal(fault.clones_tried, 1);
		assert_int_equal(e.status, STATUS_OK);
		assert_only(path("fails"), 1);

		to = fresh("fails");
		how = NULL;
		fault.linkat = codes[i].code;
		assert_int_equal(file_place(path("from"), to, PLACE_LINK, &how, &e), STATUS_NOT_ASKED);
		print_message("%s\n", e.text);
		assert_true(text_starts(e.text, to));
		assert_non_null(strstr(e.text, codes[i].says));
		assert_null(how);
		assert_only(path("fails"), 0);

		fault.ioctl = EOPNOTSUPP;
		assert_int_equal(file_place(path("from"), to, PLACE_LINK | PLACE_REFLINK, &how, &e), STATUS_NOT_ASKED);
		assert_non_null(strstr(e.text, "cannot share the blocks"));
		assert_only(path("fails"), 0);
	}
	// A full disk is not a reason to copy.
	const char *how = NULL, *to = fresh("fails");
	struct error e = { 0 };
	fault.linkat = ENOSPC;
	assert_int_equal(file_place(path("from"), to, PLACE_LINK | PLACE_COPY, &how, &e), STATUS_NO_SPACE);
	assert_int_equal(fault.copies_tried, 0);
}

static void no_space(void **state)
{
	(void)state;
	const char *how = NULL, *to = fresh("space");
	struct error e = { 0 };
	fault.linkat = EXDEV;
	fault.ioctl = EOPNOTSUPP;
	free_bytes = 1000;
	assert_int_equal(file_place(path("from"), to, PLACE_LINK | PLACE_REFLINK | PLACE_COPY, &how, &e), STATUS_NO_SPACE);
	print_message("%s\n", e.text);
	assert_non_null(strstr(e.text, "293.0 KiB are needed and 1000 bytes are free"));
	assert_int_equal(fault.copies_tried, 0);
	assert_only(path("space"), 0);
	// It fills up while it is written.
	free_bytes = 0;
	fault.copy = ENOSPC;
	assert_int_equal(file_place(path("from"), to, PLACE_COPY, &how, &e), STATUS_NO_SPACE);
	assert_true(text_starts(e.text, to));
	assert_only(path("space"), 0);
}

static void bad_arguments(void **state)
{
	(void)state;
	const char *how = NULL, *to = fresh("bad");
	struct error e = { 0 };
	assert_true(file_place(path("absent"), to, PLACE_LINK, &how, &e) != STATUS_OK);
	assert_true(text_starts(e.text, path("absent")));
	assert_true(file_place(path("from"), path("no/folder/to"), PLACE_LINK | PLACE_COPY, &how, &e) != STATUS_OK);
	assert_true(file_place(scratch, to, PLACE_COPY, &how, &e) != STATUS_OK);
	assert_int_equal(mkdir(to, 0755), 0);
	assert_true(file_place(path("from"), to, PLACE_COPY, &how, &e) != STATUS_OK);
	assert_true(file_place(path("from"), to, PLACE_LINK, &how, &e) != STATUS_OK);
	assert_only(path("bad"), 1);
}

// ---- real file systems --------------------------------------------------------------------------------------------------

static void other_file_system(void **state)
{
	(void)state;
	static const char *const places[] = { "/dev/shm", "/var/tmp", "/tmp", "/run" };
	struct stat here, there;
	assert_int_equal(stat(scratch, &here), 0);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char folder[64];
		snprintf(folder, sizeof folder, "%s/assay-place-XXXXXX", places[i]);
		if (stat(places[i], &there) || there.st_dev == here.st_dev || !mkdtemp(folder))
			continue;
		fault = (__typeof__(fault)){ 0 };
		free_bytes = 0;
		const char *how = NULL, *to = arena_printf(&arena, "%s/to", folder);
		struct error e = { 0 };
		print_message("really across file systems: %s\n", folder);
		enum status alone = file_place(path("from"), to, PLACE_LINK, &how, &e),
			    any = file_place(path("from"), to, PLACE_LINK | PLACE_REFLINK | PLACE_COPY, &how, NULL);
		assert_int_equal(any, STATUS_OK);
		assert_string_equal(how, "copy");
		assert_content(to);
		file_remove_tree(folder, NULL);
		assert_int_equal(alone, STATUS_NOT_ASKED);
		assert_non_null(strstr(e.text, "cross-device"));
		return;
	}
	print_message("no second file system to write to here: EXDEV was tested injected only\n");
}

static int write_map(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 || write(fd, text, strlen(text)) < 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

// In a child that may mount: 77 when this machine does not allow that, 0 when the body was satisfied.
static int in_mount_namespace(int (*body)(void))
{
	pid_t pid = fork();
	if (!pid) {
		uid_t uid = getuid();
		if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS))
			_exit(77);
		if (uid && write_map("/proc/self/uid_map", arena_printf(&arena, "0 %d 1", (int)uid)))
			_exit(77);
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(77);
		_exit(body());
	}
	int status = 0;
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int full_and_read_only(void)
{
	const char *folder = path("mounted"), *to = path("mounted/to"), *how = NULL;
	struct error e = { 0 };
	if (mkdir(folder, 0755) || mount("tmpfs", folder, "tmpfs", 0, "size=64k"))
		return 77;
	if (file_place(path("from"), to, PLACE_LINK | PLACE_REFLINK | PLACE_COPY, &how, &e) != STATUS_NO_SPACE ||
		!strstr(e.text, "293.0 KiB are needed and 64.0 KiB are free"))
		return 1;
	print_message("really full: %s\n", e.text);
	// Even when nobody could know beforehand.
	free_bytes = 1 << 30;
	if (file_place(path("from"), to, PLACE_COPY, &how, &e) != STATUS_NO_SPACE || file_exists(to) ||
		file_exists(path("mounted/.to.partial")))
		return 2;
	print_message("really full, found out late: %s\n", e.text);
	free_bytes = 0;
	if (mount("tmpfs", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k"))
		return 77;
	if (file_place(path("from"), to, PLACE_LINK | PLACE_REFLINK | PLACE_COPY, &how, &e) != STATUS_NOT_ASKED ||
		!strstr(e.text, "Read-only file system"))
		return 3;
	print_message("really read-only: %s\n", e.text);
	return how ? 4 : 0;
}

static void full_and_read_only_disk(void **state)
{
	(void)state;
	fresh("unused");
	int rc = in_mount_namespace(full_and_read_only);
	if (rc == 77)
		print_message("mounting is not allowed here: EROFS and a full disk were tested injected only\n");
	else
		assert_int_equal(rc, 0);
}

// Another user's file, as in a shared cache: linking is refused where the kernel protects hard links.
static void other_user(void **state)
{
	(void)state;
	char *protect = "";
	size_t n;
	file_read(&arena, "/proc/sys/fs/protected_hardlinks", 16, &protect, &n, NULL);
	if (getuid() || *protect != '1') {
		print_message("not root, or the kernel does not protect hard links: EPERM was tested injected only\n");
		return;
	}
	fresh("other");
	assert_int_equal(chmod(path("other"), 0777), 0);
	assert_int_equal(chmod(path("from"), 0644), 0);
	pid_t pid = fork();
	if (!pid) {
		struct error e = { 0 };
		const char *how = NULL;
		if (setgid(65534) || setuid(65534))
			_exit(1);
		if (file_place(path("from"), path("other/to"), PLACE_LINK, &how, &e) != STATUS_NOT_ASKED ||
			!strstr(e.text, "Operation not permitted"))
			_exit(2);
		if (file_place(path("from"), path("other/to"), PLACE_LINK | PLACE_REFLINK | PLACE_COPY, &how, &e) ||
			!(text_is(how, "copy") || text_is(how, "reflink")))
			_exit(3);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_content(path("other/to"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links),
		cmocka_unit_test(copies),
		cmocka_unit_test(link_fails),
		cmocka_unit_test(no_space),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(other_file_system),
		cmocka_unit_test(full_and_read_only_disk),
		cmocka_unit_test(other_user),
	};
	return cmocka_run_group_tests(tests, setup, scratch_remove);
}
