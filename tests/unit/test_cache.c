// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The cache is used where nobody but this user and root could have put something there, and nowhere else. tests/attack/cache.sh
// asks the program the same.
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "scratch.h"

#include "artifact/artifact.h"
#include "base/cache.h"
#include "base/claim.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "cell/scratch.h"
#include "conform/conform.h"
#include "skips.h"

// A cache of its own for every test.
static const char *use_cache(const char *name)
{
	setenv("ASSAY_CACHE", path(name), 1);
	return path(name);
}

static void make(const char *name, mode_t mode)
{
	assert_int_equal(mkdir(path(name), 0700), 0);
	assert_int_equal(chmod(path(name), mode), 0);
}

// The sentence; "" where the part is used.
static const char *refusal(const char *part)
{
	struct error e = { 0 };
	const char *folder = NULL;
	enum status st = cache_part(&folder, &arena, part, &e);

	assert_true(!st == (folder != NULL));
	assert_true(!st == (cache_find(&arena, part) != NULL));
	return st ? arena_strdup(&arena, e.text) : "";
}

// A file that a group may write is believed where that group does not get at it, and nowhere else.
static void files_of_a_group(void **state)
{
	struct error e = { 0 };
	const char *part, *file;

	(void)state;
	use_cache("grouped");
	assert_int_equal(cache_part(&part, &arena, "reference", &e), STATUS_OK);
	file = arena_printf(&arena, "%s/file", part);
	assert_int_equal(file_put(file, "x", 1, &e), STATUS_OK);
	assert_int_equal(chmod(file, 0664), 0);
	assert_true(cache_is_own(file));
	assert_int_equal(chmod(part, 0755), 0);
	assert_false(cache_is_own(file));
	assert_int_equal(chmod(file, 0644), 0);
	assert_true(cache_is_own(file));
}

static void places(void **state)
{
	struct passwd *user = getpwuid(geteuid());

	(void)state;
	setenv("ASSAY_CACHE", "/somewhere//", 1);
	assert_string_equal(cache_dir(&arena), "/somewhere");
	unsetenv("ASSAY_CACHE");
	setenv("XDG_CACHE_HOME", "/xdg", 1);
	assert_string_equal(cache_dir(&arena), "/xdg/assay");
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "/home/x", 1);
	assert_string_equal(cache_dir(&arena), "/home/x/.cache/assay");
	// None, or one of another folder for each command: engines are called from the root folder.
	for (int i = 0; i < 2 && user && *user->pw_dir; i++) {
		if (i)
			setenv("HOME", "relative", 1);
		else
			unsetenv("HOME");
		assert_string_equal(cache_dir(&arena), arena_printf(&arena, "%s/.cache/assay", user->pw_dir));
	}
	setenv("HOME", scratch, 1);
}

static void made(void **state)
{
	struct stat st;
	mode_t before = umask(0);

	(void)state;
	use_cache("new/deep/cache");
	assert_int_equal(cache_check(NULL), STATUS_OK);
	assert_null(cache_find(&arena, "run"));
	assert_false(file_exists(path("new"))); // looking makes nothing
	assert_string_equal(refusal("run"), "");
	assert_string_equal(refusal("run"), "");
	umask(before);
	static const char *const folders[] = { "new", "new/deep", "new/deep/cache", "new/deep/cache/run" };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(stat(path(folders[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
	}
}

static void no_utf8(void **state)
{
	(void)state;
	use_cache("caf\xe9");
	assert_non_null(strstr(refusal("run"), "is no UTF-8; name another folder"));
}

static void modes(void **state)
{
	static const mode_t good[] = { 0700, 0755, 0711, 0750 }, bad[] = { 0777, 0775, 0757, 0702, 0720, 01777 };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		const char *name = arena_printf(&arena, "good%zu", i);

		use_cache(name);
		make(name, good[i]);
		assert_string_equal(refusal("run"), "");
		make(arena_printf(&arena, "%s/converted", name), good[i]);
		assert_string_equal(refusal("converted"), "");
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *name = arena_printf(&arena, "bad%zu", i);
		struct error e = { 0 };

		use_cache(name);
		make(name, bad[i]);
		assert_non_null(
			strstr(refusal("run"), arena_printf(&arena, "others may write into %s (mode %04o)", path(name), bad[i])));
		assert_int_equal(cache_check(&e), STATUS_FAILED);
		assert_false(file_exists(path(arena_printf(&arena, "%s/run", name))));
		assert_int_equal(chmod(path(name), 0700), 0);
		make(arena_printf(&arena, "%s/run", name), bad[i]);
		assert_non_null(strstr(refusal("run"), "others may write into "));
		assert_string_equal(refusal("digest"), "");
	}
}

static void links(void **state)
{
	(void)state;
	const char *cache = use_cache("linked");

	make("target", 0700);
	make("linked", 0700);
	assert_int_equal(symlink(path("target"), path("linked/run")), 0);
	assert_int_equal(symlink(path("absent"), path("linked/reference")), 0);
	assert_non_null(strstr(refusal("run"), "is a link"));
	assert_non_null(strstr(refusal("reference"), "is a link"));
	assert_int_equal(cache_check(NULL), STATUS_FAILED);
	assert_false(file_exists(path("absent")));
	put("linked/claim", "");
	assert_non_null(strstr(refusal("claim"), "is not a folder"));
	assert_int_equal(cache_check(NULL), STATUS_FAILED);
	// All of it, moved by its user.
	assert_int_equal(symlink(cache, path("moved")), 0);
	use_cache("moved");
	assert_string_equal(refusal("artifact"), "");
	use_cache("moved/");
	assert_string_equal(refusal("artifact"), "");
	assert_int_equal(chmod(cache, 0777), 0);
	assert_non_null(strstr(refusal("artifact"), "others may write into "));
	assert_int_equal(chmod(cache, 0700), 0);
	// A file in its place.
	put("file", "");
	use_cache("file");
	assert_non_null(strstr(refusal("run"), "is not a folder"));
	use_cache("file/cache");
	assert_non_null(strstr(refusal("run"), path("file")));
}

// POSIX's list in the kernel's form: a version, then a tag, rights and an id for each. Of the group's bits it is the mask.
static void listed(void **state)
{
	enum { VERSION = 2, OWNER = 1, USER = 2, GROUP = 4, MASK = 16, OTHER = 32, ANOTHER = 54321 };
	struct {
		uint32_t version;
		struct {
			uint16_t tag, rights;
			uint32_t id;
		} entry[5];
	} list = { VERSION,
		{ { OWNER, 7, UINT32_MAX }, { USER, 7, ANOTHER }, { GROUP, 5, UINT32_MAX }, { MASK, 7, UINT32_MAX },
			{ OTHER, 5, UINT32_MAX } } };

	(void)state;
	make("shared", 0755);
	make("shared/mine", 0700);
	use_cache("shared/mine/cache");
	assert_string_equal(refusal("run"), "");
	if (setxattr(path("shared"), "system.posix_acl_access", &list, sizeof list, 0))
		SKIP_PART("no access control list can be given to a folder here: %s", strerror(errno));
	assert_non_null(strstr(refusal("run"), "others of its access control list may write into "));
	list.entry[3].rights = 5;
	assert_int_equal(setxattr(path("shared"), "system.posix_acl_access", &list, sizeof list, 0), 0);
	assert_string_equal(refusal("run"), "");
}

static void above(void **state)
{
	(void)state;
	make("open", 0777);
	make("open/mine", 0700);
	make("sticky", 01777);
	make("sticky/mine", 0700);
	make("team", 0775);
	make("team/mine", 0700);
	// Of a group that others may be in; who is not root has no such group to give.
	if (geteuid() == 0 && !chown(path("team"), (uid_t)-1, 54321)) {
		use_cache("team/mine/cache");
		assert_non_null(strstr(
			refusal("run"), arena_printf(&arena, "others of its group may write into %s (mode 0775)", path("team"))));
		assert_int_equal(chown(path("team"), (uid_t)-1, 0), 0);
		assert_string_equal(refusal("run"), "");
	}
	use_cache("open/mine/cache");
	assert_non_null(strstr(refusal("run"), arena_printf(&arena, "everybody may write into %s (mode 0777)", path("open"))));
	use_cache("sticky/mine/cache");
	assert_string_equal(refusal("run"), "");
	// A link that others could exchange, to a folder that they could not.
	assert_int_equal(symlink(path("sticky/mine/cache"), path("open/link")), 0);
	use_cache("open/link");
	assert_non_null(strstr(refusal("run"), "everybody may write into "));
	// The folder above is found where the path is relative.
	char *here = getcwd(NULL, 0);
	assert_int_equal(chdir(path("open")), 0);
	setenv("ASSAY_CACHE", "relative", 1);
	assert_non_null(strstr(refusal("run"), "everybody may write into "));
	assert_int_equal(chdir(here), 0);
	free(here);
}

static void owners(void **state)
{
	enum { NOBODY = 65534, ANOTHER = 54321 };
	(void)state;
	if (geteuid() != 0)
		SKIP_PART("only root can give a folder to another user");
	use_cache("theirs");
	make("theirs", 0700);
	assert_int_equal(chown(path("theirs"), NOBODY, NOBODY), 0);
	assert_non_null(strstr(refusal("run"), "belongs to user "));
	assert_int_equal(chown(path("theirs"), 0, 0), 0);
	make("theirs/run", 0700);
	assert_int_equal(chown(path("theirs/run"), ANOTHER, ANOTHER), 0);
	assert_non_null(strstr(refusal("run"), "belongs to user 54321,"));
	assert_string_equal(refusal("reference"), "");
	// A link of another user's to a folder of ours.
	assert_int_equal(symlink(path("theirs"), path("lure")), 0);
	assert_int_equal(lchown(path("lure"), NOBODY, NOBODY), 0);
	use_cache("lure");
	assert_non_null(strstr(refusal("reference"), "belongs to user "));
	// Root's cache is anybody's to read; a user without a home has a folder of his own name, and not one that is everybody's.
	use_cache("theirs");
	assert_int_equal(chmod(scratch, 0755) | chmod(path("theirs"), 0755), 0);
	make("theirs/synthetic", 0755);
	pid_t pid = fork();
	if (!pid) {
		struct error e = { 0 };
		const char *folder;
		int bad = setgid(ANOTHER) || setuid(ANOTHER) || !cache_find(&arena, "synthetic") ||
			cache_part(&folder, &arena, "synthetic", &e) || !cache_part(&folder, &arena, "compiled", &e) ||
			cache_find(&arena, "run") == NULL;

		unsetenv("ASSAY_CACHE");
		unsetenv("XDG_CACHE_HOME");
		unsetenv("HOME");
		_exit(bad ? 1 : text_is(cache_dir(&arena), "/var/tmp/assay-54321") ? 0 : 2);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

// What is not used is neither read, nor trimmed, nor swept; and it is said.
static void left_alone(void **state)
{
	char digest[65];
	uint64_t removed = 1;
	struct cache_usage u;

	(void)state;
	use_cache("public");
	make("public", 0700);
	make("public/reference", 0700);
	make("public/claim", 0700);
	const char *reference = path("public/reference/0123456789abcdef.part"), *claim = path("public/claim/0123456789abcdef");
	put("public/reference/0123456789abcdef.part", "x");
	put("public/claim/0123456789abcdef", "");
	assert_int_equal(chmod(path("public"), 0777), 0);
	assert_int_equal(cache_trim(0, &removed, NULL), STATUS_FAILED);
	assert_int_equal(removed, 0);
	assert_int_equal(cache_usage(&u, NULL), STATUS_OK);
	assert_int_equal(u.claims + u.reference_bytes, 0);
	scratch_sweep();
	assert_true(file_exists(reference) && file_exists(claim));
	assert_non_null(claim_problem());
	assert_non_null(strstr(claim_problem(), "others may write into "));
	put("some", "x");
	assert_int_equal(file_digest(digest, path("some"), NULL, NULL), STATUS_OK);
	assert_false(file_exists(path("public/digest")));
	// As soon as it is the user's again.
	assert_int_equal(chmod(path("public"), 0700), 0);
	scratch_sweep();
	assert_false(file_exists(reference) || file_exists(claim));
}

static void claims_told(void **state)
{
	(void)state;
	use_cache("claimed");
	assert_null(claim_problem());
	use_cache("unclaimed");
	make("unclaimed", 0700);
	put("unclaimed/claim", "");
	assert_non_null(claim_problem());
	assert_non_null(strstr(claim_problem(), path("unclaimed/claim")));
	assert_int_equal(strlen(claim_token()), CLAIM_TOKEN_LENGTH);
	use_cache("claimed");
	assert_null(claim_problem());
}

static void put_old(const char *name, size_t nbytes, int64_t used)
{
	char *data = arena_alloc(&arena, nbytes + 1);
	const struct timespec when[2] = { { .tv_sec = used }, { .tv_sec = used } };

	memset(data, 'x', nbytes);
	put_bytes(name, data, nbytes);
	assert_int_equal(utimensat(AT_FDCWD, path(name), when, 0), 0);
}

static uint64_t trim(uint64_t limit)
{
	uint64_t removed;

	assert_int_equal(cache_trim(limit, &removed, NULL), STATUS_OK);
	return removed;
}

#define KEY(x) x x x x x x x x x x x x x x x x

// References, what compilers made and digests count and go, the oldest first; not what is in use, and not what is being made.
static void trims(void **state)
{
	static const char *const folders[] = { "all", "all/reference", "all/compiled", "all/compiled/" KEY("0b0b"),
		"all/compiled/" KEY("0b0b") "/deep", "all/digest" };
	static const char made_json[] = "all/compiled/" KEY("0b0b") "/made.json",
			  blob[] = "all/compiled/" KEY("0b0b") "/deep/blob", lock[] = "all/compiled/" KEY("0b0b") ".lock",
			  tensors[] = "all/reference/" KEY("0a0a") ".safetensors",
			  ranges[] = "all/reference/" KEY("0c0c") ".ranges.json",
			  part[] = "all/reference/" KEY("0a0a") ".0123456789abcdef.part", digest[] = "all/digest/1-2";
	struct cache_usage u;

	(void)state;
	use_cache("all");
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		make(folders[i], 0700);
	put_old(tensors, 65536, 1000);
	put_old(part, 65536, 1);
	put_old(blob, 65536, 1);
	put_old(made_json, 65536, 2000);
	put_old(lock, 0, 1);
	put_old(digest, 65536, 3000);
	put_old(ranges, 65536, 4000);
	// A user's own, where the folder is not assay's alone.
	put_old("all/reference/data.txt", 0, 1);
	put_old("all/digest/data.txt", 0, 1);
	assert_int_equal(cache_usage(&u, NULL), STATUS_OK);
	assert_int_equal(u.references, 2);
	assert_int_equal(u.compiled, 1);
	assert_int_equal(u.digests, 1);
	assert_int_equal(u.other_bytes, 0);
	assert_true(u.compiled_bytes >= 2 * 65536 && u.digest_bytes >= 65536);
	const uint64_t one = u.digest_bytes, all = 5 * one;

	assert_int_equal(trim(all), 0);
	// The oldest is in use: the next goes.
	int fd = open(path(tensors), O_RDONLY);
	assert_true(fd >= 0 && !flock(fd, LOCK_SH));
	int compiling = open(path(lock), O_RDONLY);
	assert_true(compiling >= 0 && !flock(compiling, LOCK_EX));
	assert_int_equal(trim(all - 1), one);
	assert_true(
		file_exists(path(tensors)) && file_exists(path(blob)) && !file_exists(path(digest)) && file_exists(path(ranges)));
	close(compiling);
	assert_int_equal(trim(4 * one - 1), 2 * one);
	assert_true(file_exists(path(tensors)) && !file_exists(path("all/compiled/" KEY("0b0b"))) && !file_exists(path(lock)) &&
		file_exists(path(ranges)));
	close(fd);
	assert_int_equal(trim(one), one);
	assert_true(!file_exists(path(tensors)) && file_exists(path(ranges)) && file_exists(path(part)));
	assert_int_equal(trim(0), one);
	assert_true(!file_exists(path(ranges)) && file_exists(path(part)));
	assert_true(file_exists(path("all/reference/data.txt")) && file_exists(path("all/digest/data.txt")));
}

// A digest that is used is the youngest.
static void digests_in_use(void **state)
{
	enum { NBYTES = 1 << 20 };
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char digest[65], again[65];
	struct stat st;

	struct statfs fs;

	(void)state;
	if (statfs(scratch, &fs) == 0 && fs.f_type == 0x01021994)
		SKIP_PART("files of tests are on tmpfs, of which no digest is remembered");
	use_cache("digests");
	put_old("large", NBYTES, 500);
	sleep(3); // younger ones are not remembered
	assert_int_equal(file_digest(digest, path("large"), NULL, NULL), STATUS_OK);
	assert_int_equal(stat(path("large"), &st), 0);
	const char *note = path(arena_printf(&arena, "digests/digest/%jx-%jx", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino));
	assert_int_equal(utimensat(AT_FDCWD, note, old, 0), 0);
	assert_int_equal(file_digest(again, path("large"), NULL, NULL), STATUS_OK);
	assert_string_equal(digest, again);
	assert_int_equal(stat(note, &st), 0);
	assert_true(st.st_mtim.tv_sec > 1000);
}

// Conformance cases count and go like the rest, but for one that is in use.
static void cases_go(void **state)
{
	static const char bert[] = TEST_SOURCE "/tests/conform/cases/bert", albert[] = TEST_SOURCE "/tests/conform/cases/albert";
	struct arena used = { 0 }, done = { 0 };
	const char *in_use, *other, *again;
	struct cache_usage u;

	(void)state;
	use_cache("cases");
	assert_int_equal(conform_materialise(&in_use, &used, bert, NULL), STATUS_OK);
	assert_int_equal(conform_materialise(&other, &done, albert, NULL), STATUS_OK);
	other = arena_strdup(&arena, other);
	arena_done(&done);
	assert_int_equal(cache_usage(&u, NULL), STATUS_OK);
	assert_int_equal(u.cases, 2);
	assert_true(u.conform_bytes > 4096);
	assert_int_equal(trim(1 << 30), 0);
	const char *killed = arena_printf(&arena, "cases/conform/" KEY("0d0d") ".tmp");
	make(killed, 0700); // of a maker that died
	assert_true(trim(0) > 0);
	assert_true(file_is_dir(in_use));
	assert_false(file_is_dir(other) || file_is_dir(path(killed)));
	in_use = arena_strdup(&arena, in_use);
	arena_done(&used);
	assert_int_equal(conform_materialise(&again, &arena, albert, NULL), STATUS_OK);
	assert_string_equal(again, other);
	assert_true(trim(0) > 0);
	assert_false(file_is_dir(in_use));
	assert_true(file_is_dir(again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(files_of_a_group),
		cmocka_unit_test(made),
		cmocka_unit_test(no_utf8),
		cmocka_unit_test(modes),
		cmocka_unit_test(links),
		cmocka_unit_test(above),
		cmocka_unit_test(listed),
		cmocka_unit_test(owners),
		cmocka_unit_test(left_alone),
		cmocka_unit_test(claims_told),
		cmocka_unit_test(trims),
		cmocka_unit_test(digests_in_use),
		cmocka_unit_test(cases_go),
	};

	return exit_code(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
