// SPDX-License-Identifier: Apache-2.0
// A small HTTP server for browsers: on the loopback address unless told otherwise, at a random port, with a random token in every
// path; who may ask is peer.h's matter. It gives out the page, files of the disk and virtual files (range requests, several at a
// time), and holds a conversation with each page: commands go out, replies come in. Every answer isolates the page from other
// origins (COOP, COEP), so that it has threads and a fine clock.
//   /TOKEN/page/K/            the page of conversation K; ?facts=all|webgpu|webnn|none
//   /TOKEN/page/K/{hello,next,reply,note,beat,alive}
//   /TOKEN/file/NAME          what serve_add has
// Its threads end with serve_close. It knows nothing of engines or models.
#ifndef ASSAY_SERVE_SERVE_H
#define ASSAY_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum { SERVE_PAGES = 8 };

struct serve;

struct serve_at {
	const char *address; // "ADDR:PORT", "[ADDR]:PORT" or ":PORT" (loopback); NULL: loopback, any free port
	const char *name;    // by which browsers may come too, behind a proxy, say; NULL: none
	bool own_user;       // connections of this machine's other users are not taken, nor on a loopback address without a name
};
enum status serve_open(struct serve **out, const struct serve_at *at, struct error *err);
void serve_close(struct serve *s); // NULL is fine
// "http://127.0.0.1:40123/TOKEN/page/0/"; the server's.
const char *serve_url(struct serve *s, int page);

// Virtual files, by name; the same name again replaces it. `read` gives `nbytes` bytes at `at`; fewer is an error; it is called
// from several threads at once. Names are copied.
struct serve_file {
	uint64_t nbytes;
	size_t (*read)(const void *context, uint64_t at, void *out, size_t nbytes);
	const void *context;
};
void serve_add(struct serve *s, const char *name, const struct serve_file *f);
// Every file of a folder, under file/PREFIX/NAME. Links that lead out of it are not followed.
void serve_folder(struct serve *s, const char *prefix, const char *folder);
// Takes all names that begin so away, after the last of their readers is gone.
void serve_remove(struct serve *s, const char *prefix);

// What the page says while it is waited for; called twice a second. Not OK ends the waiting with this status.
typedef enum status serve_alive(void *context, struct error *err);

// Waits until page K has said what it is: *hello is its JSON, the server's. `timeout_s` 0: for ever.
enum status serve_hello(
	struct serve *s, int page, double timeout_s, serve_alive *alive, void *context, const char **hello, struct error *err);
// Only one browser has this page's address: a second page there is the first one, loaded again (Firefox does that when its
// process dies).
void serve_alone(struct serve *s, int page);
bool serve_has_hello(struct serve *s, int page);
// One command, one reply of at most `most` bytes; a longer one is FAILED as soon as that is known, and not kept. A page that is
// closed, reloaded or dies is FAILED.
enum status serve_ask(struct serve *s, int page, const void *command, size_t nbytes, size_t most, serve_alive *alive,
	void *context, struct text *reply, struct error *err);
// What pages noted since (errors outside of a command), and forgets it.
void serve_notes(struct serve *s, int page, struct text *out);
// NOT_ASKED with its name and why, where a file of a folder is there and could not be read: a page tells that as a failure of its
// own. Which page asked for it is not kept.
enum status serve_unread(struct serve *s, struct error *err);
// A conversation from its beginning, for another browser.
void serve_reset(struct serve *s, int page);

#endif
