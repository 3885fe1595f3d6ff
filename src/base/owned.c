// SPDX-License-Identifier: Apache-2.0
#include "base/owned.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

const struct passwd *owned_find_user(uid_t uid, struct passwd *user, char *buffer, size_t size)
{
	struct passwd *found = NULL;

	return getpwuid_r(uid, user, buffer, size, &found) ? NULL : found;
}

bool owned_by_us(uid_t owner)
{
	return owner == geteuid() || owner == 0;
}

static enum status refuse_owner(const char *path, uid_t owner, const struct owned_words *words, struct error *err)
{
	char buffer[4096], number[32];
	struct passwd user;
	const struct passwd *found = owned_find_user(owner, &user, buffer, sizeof buffer);

	snprintf(number, sizeof number, "%ju", (uintmax_t)owner);
	return error_set(err, STATUS_FAILED,
		"%s: %s belongs to user %s, who could put anything there; name a folder of your own in %s", words->unused, path,
		found ? found->pw_name : number, words->variable);
}

enum status owned_folder(const char *path, const struct stat *st, const struct owned_words *words, struct error *err)
{
	if (S_ISLNK(st->st_mode))
		return error_set(err, STATUS_FAILED,
			"%s: %s is a link, and none is followed in it; remove the link, or set %s to move all of it",
			words->unused, path, words->variable);
	if (!S_ISDIR(st->st_mode))
		return error_set(err, STATUS_FAILED, "%s: %s is not a folder", words->unused, path);
	if (!owned_by_us(st->st_uid))
		return refuse_owner(path, st->st_uid, words, err);
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, STATUS_FAILED,
			"%s: others may write into %s (mode %04o) and could put anything there; name another folder in "
			"%s, or empty it and `chmod go-w` it",
			words->unused, path, (unsigned)(st->st_mode & 07777), words->variable);
	return STATUS_OK;
}

// Is there a user on this machine who begins in that group? Such a one is no member by name.
static bool has_others(gid_t gid, char *buffer, size_t nbytes)
{
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd user, *found = NULL;
	bool has = false;

	while (users && !has && !fgetpwent_r(users, &user, buffer, nbytes, &found))
		has = found->pw_gid == gid && found->pw_uid != geteuid();
	if (users)
		fclose(users);
	return has;
}

// A group that this user alone is in, as Linux distributions make one for each: its folders may be written by it. Its
// room is not of the stack, which may be small.
static bool is_private(gid_t gid)
{
	enum { USER = 4096, GROUP = 16384 };
	char *buffer = malloc(USER), *names = malloc(GROUP);
	struct passwd user;
	struct group group, *found = NULL;
	const struct passwd *self = buffer && names ? owned_find_user(geteuid(), &user, buffer, USER) : NULL;
	const bool is = self && self->pw_gid == gid && !getgrgid_r(gid, &group, names, GROUP, &found) && found &&
		!strcmp(found->gr_name, self->pw_name) && !found->gr_mem[0] && !has_others(gid, names, GROUP);

	free(buffer);
	free(names);
	return is;
}

// Where a folder has an access control list (POSIX's), the group's bits are what that allows at most: whom, only the list says.
static bool has_list(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

// A user who may rename in a folder above may put another one in this one's place, between a look at it and its use.
static enum status check_above(const char *path, const struct owned_words *words, struct error *err)
{
	const char *last = strrchr(path, '/');
	char above[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (last && snprintf(above, sizeof above, "%.*s", last == path ? 1 : (int)(last - path), path) >= (int)sizeof above)
		return error_set(err, STATUS_BAD_INPUT, "%s: the path is too long", path);
	if (!realpath(last ? above : ".", real))
		return error_errno(err, "%s", path);
	for (;;) {
		char *slash = strrchr(real, '/');

		const bool there = !stat(real, &st) && !(st.st_mode & S_ISVTX), all = there && (st.st_mode & S_IWOTH),
			   group = there && (st.st_mode & S_IWGRP), listed = group && has_list(real);

		if (all || listed || (group && st.st_gid != 0 && !is_private(st.st_gid)))
			return error_set(err, STATUS_FAILED,
				"%s: %s may write into %s (mode %04o), above %s, and could exchange it; name another folder in "
				"%s, or "
				"`chmod %s-w` that one",
				words->unused,
				all              ? "everybody"
					: listed ? "others of its access control list"
						 : "others of its group",
				real, (unsigned)(st.st_mode & 07777), path, words->variable, all ? "o" : "g");
		if (!real[1])
			return STATUS_OK;
		slash[slash == real] = 0; // the root keeps its slash
	}
}

enum status owned_look(const char *path, const struct owned_words *words, bool *absent, struct error *err)
{
	char real[PATH_MAX];
	struct stat st;
	enum status s;

	*absent = false;
	if (lstat(path, &st)) {
		*absent = errno == ENOENT;
		return *absent ? STATUS_OK : error_errno(err, "%s", path);
	}
	if ((s = check_above(path, words, err)) || !S_ISLNK(st.st_mode))
		return s ? s : owned_folder(path, &st, words, err);
	if (!owned_by_us(st.st_uid))
		return refuse_owner(path, st.st_uid, words, err);
	if (!realpath(path, real) || lstat(real, &st))
		return error_errno(err, "%s", path);
	return (s = owned_folder(real, &st, words, err)) ? s : check_above(real, words, err);
}
