// SPDX-License-Identifier: Apache-2.0
// Files: whole reads with a limit, maps, atomic writes, folders. Every error names the path.
#ifndef ASSAY_BASE_FILE_H
#define ASSAY_BASE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"

// The whole file, NUL-terminated after its last byte, in the arena. Larger than `limit` bytes is BAD_INPUT.
enum status file_read(struct arena *a, const char *path, size_t limit, char **out, size_t *nbytes, struct error *err);
// Maps a regular file read-only; unmapped with the arena. BAD_INPUT for one of holes (file_check_holes). An empty file gives *out
// = NULL, *nbytes = 0.
enum status file_map(struct arena *a, const char *path, const uint8_t **out, size_t *nbytes, struct error *err);
// The descriptor is closed with the arena.
void file_close_with(struct arena *a, int fd);
// What is read once and is large: the whole pages within go back to the system. A mapped file is read again where it is looked
// at; memory of an arena is zero then.
void pages_forget(const void *at, size_t nbytes);
// What the owner, the group and all others may do with the file *st at `path`. Where an access control list gives further users
// rights, or takes from them what all others have, nobody but the owner is taken to have any: the bits alone do not say.
mode_t file_rights(const char *path, const struct stat *st);
// The rights of a new file of that group that nobody gets who has not those of the file *st at `path`.
mode_t file_rights_like(const char *path, const struct stat *st, gid_t group);
// The group of an open file, and of one that this process makes beside `path`: of a folder with the setgid bit, and of any where
// the file system is mounted so, it is that folder's. (gid_t)-1: it is not known.
gid_t file_group(int fd);
gid_t file_group_beside(const char *path);
// Rights of further users that a new file has by its folder's default list go.
void file_drop_list(int fd);
// A new file that only its owner may open, whatever list its folder has: fchmod gives what it is to have. -1: errno.
int file_new(const char *path, int flags);
mode_t file_mask(void); // this process's (umask)
// From now on, until file_widen with what this gives, this process makes no file that others have more than these rights of. What
// other code than assay's makes (DuckDB's log of changes) has the rights of its folder's default list, too.
mode_t file_narrow(mode_t rights);
void file_widen(mode_t before);
// Writes beside the target, syncs, renames: readers see the old file or the new one, never half of one.
enum status file_write(const char *path, const void *data, size_t nbytes, struct error *err);
// The same without waiting for the disk: for what can be made again, and is checked when it is used.
enum status file_put(const char *path, const void *data, size_t nbytes, struct error *err);
// The same of file_write for a path that a person typed: a link is followed and what it leads to replaced, a device or a pipe is
// written as it is. BAD_INPUT: a FIFO that nobody reads, a socket, a disk. Not for files of the cache, where nothing may be
// followed.
enum status file_write_user(const char *path, const void *data, size_t nbytes, struct error *err);
// The same for what another library writes: it opens `path`, an empty file beside the one that it `becomes`, or what is there and
// is no file, with `becomes` NULL. file_end_user puts it in place, or away where `s`, which it gives back, is none.
struct file_begun {
	const char *path, *becomes;
};
enum status file_begin_user(struct arena *a, const char *path, struct file_begun *out, struct error *err);
enum status file_end_user(const struct file_begun *f, enum status s, struct error *err);
// BAD_INPUT: a link on the way to what the path names is another user's, and lies where all may write (file_write_user and
// file_mkdirs ask).
enum status file_check_links(const char *path, struct error *err);
// All of it at this offset of an open file. 0, or errno.
int file_write_at(int fd, const void *data, size_t nbytes, uint64_t offset);
enum status file_mkdirs(const char *path, struct error *err);         // mkdir -p
enum status file_mkdirs_private(const char *path, struct error *err); // what is made has mode 0700
enum { FILE_LARGE = 1 << 30, FILE_SHARE = 64 };
// BAD_INPUT for a file of more than FILE_LARGE bytes of which its disk holds less than a part of FILE_SHARE: what a few bytes
// made that large (`truncate`, a download that was only begun) reads as zeros for hours.
enum status file_check_holes(int fd, const char *path, struct error *err);
// The path of a file in `folder` that a file in there names, in the arena. BAD_INPUT: an absolute name or one with a ".." part, a
// link that leads out of the folder, or nothing there. For folders of others: what is named is shown or compared.
enum status file_inside(struct arena *a, const char *folder, const char *name, const char **out, struct error *err);
bool file_exists(const char *path); // follows links; true too where that cannot be told: opening it says why
// Of a regular file its size, or what its disk holds of it where that is less than a 64th; of anything else, and NULL, 0.
int64_t file_bytes(const char *path);
bool file_is_dir(const char *path);
// OK where it can be said whether the path is there; else why not: its disk fails, its file system is gone.
enum status file_reach(const char *path, struct error *err);
// readdir: NULL at the end with *code 0, or with errno where the folder cannot be read on.
struct dirent *file_next(DIR *dir, int *code);
bool file_is_same(const char *x, const char *y); // both are there, and are one file
// Is the open file the one that lies at `path`? Between an open and a lock somebody may have removed or replaced it: then the
// lock is worth nothing. Follows no link. errno is 0, or why it cannot be told.
bool file_lies_at(int fd, const char *path);
// What others wrote reads files of fixed names in the current folder, which may be a stranger's: it is called between these two,
// from a folder in which nobody but the administrator puts anything. *here: for the second.
enum status file_leave_folder(int *here, struct error *err);
void file_return_folder(int here);
uint64_t file_free_bytes(const char *path); // free space of the file system that holds path or its nearest parent
enum status file_remove_tree(const char *path, struct error *err); // rm -rf; absent is fine
// Does the file system give the first and the last byte of this file, and all between where its name is in what an engine said
// (NULL: nothing)? NOT_ASKED with its name and why. OK, too, for one that is not there.
enum status file_check_given(const char *path, const char *said, struct error *err);

#endif
