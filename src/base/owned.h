// SPDX-License-Identifier: Apache-2.0
// Could another user have put what lies in a folder there, or exchange it? Asked of what is believed or executed and that nobody
// named: the cache, and the engines of the user's data folder.
//
//   - the folder belongs to this user or to root, and neither its group nor others may write into it;
//   - it is no link, or one of this user's or root's, to such a folder;
//   - no folder above it may be written by everybody, by a group that others are in, or through an access control list (but with
//     the sticky bit, as /tmp): there it could be exchanged while it is used.
//
// Not promised: anything against root and its group, against this user's own programs, or against the owner of a folder above.
#ifndef ASSAY_BASE_OWNED_H
#define ASSAY_BASE_OWNED_H

#include <pwd.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct owned_words {
	const char *unused;   // begins the sentence: "the cache is not used"
	const char *variable; // the one that names another folder
};

bool owned_by_us(uid_t owner); // this user or root
// In `buffer` and *user; NULL: no such user is known.
const struct passwd *owned_find_user(uid_t uid, struct passwd *user, char *buffer, size_t size);
// Of what is there, of which *st is lstat's. FAILED: why not, and what to do.
enum status owned_folder(const char *path, const struct stat *st, const struct owned_words *words, struct error *err);
// Of the folder, and of what is above. *absent: there is nothing yet. FAILED, or as errno says.
enum status owned_look(const char *path, const struct owned_words *words, bool *absent, struct error *err);

#endif
