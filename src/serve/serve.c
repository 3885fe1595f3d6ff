// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd with a thread a connection, so that a handler may wait: for a command, for a page's end. One lock for everything
// that is shared; bytes of files are read outside of it.
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "serve/page_asset.h"
#include "serve/peer.h"
#include "serve/range.h"

enum {
	CONNECTIONS = 256,
	STRANGER_S = 10,
	STACK_NBYTES = 512 << 10,
	BLOCK_NBYTES = 1 << 20,
	POLL_S = 20,
	LOOK_MS = 250,
	GONE_MS = 3000,
	STOOD_STILL_MS = 2000, // so much longer takes a wait of a process that was paused
	SILENT_MS = 60000
};
#define HELLO_LIMIT ((size_t)1 << 20) // with every operator of a browser's WebNN some 100 KiB
#define NOTE_LIMIT ((size_t)64 << 10)
#define KEPT_LIMIT ((size_t)8 << 20) // of all bodies that nobody waits for, together: connections are 256

struct file {
	struct file *next;
	char *name;
	struct serve_file how;
	int readers; // serve_remove waits for them
};

struct folder {
	struct folder *next;
	char *prefix, *path;
	int fd;
};

struct page {
	char instance[64]; // of the browser that has joined; "" before
	struct text hello, notes, reply;
	const void *command;
	size_t command_nbytes, reply_most;
	uint64_t number; // of the last command
	bool asked, replied, gone, alone;
	const struct request *receiving; // the one that brings the reply; NULL: none yet
	bool too_large;                  // the reply
	double beat;                     // when it, or its worker, was last heard, ms; 0: it has not joined
	char url[512];
};

struct serve {
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct file *files;
	struct folder *folders;
	struct page pages[SERVE_PAGES];
	struct strangers strangers;
	char token[33];
	char origin[300];
	char *name;
	unsigned port; // ours; 0: it cannot be told
	size_t kept;   // bytes of bodies that nobody waits for, of requests that are under way
	bool own_user, closing;
	struct sockaddr_storage at; // where it listens; its port is below
	struct error unread;        // the first file of a folder that is there and could not be read
};

struct request { // of one upload
	struct text body;
	size_t limit, kept;   // kept: of the server's
	struct page *awaited; // the page whose reply it was when it began; NULL: none
	bool too_large;
	bool refused; // of another name or another page
};

// ---- waiting ------------------------------------------------------------------------------------------------------------

static void wait_ms(struct serve *s, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

static bool hung_up(struct MHD_Connection *c, int ms)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd p = { .fd = info ? info->connect_fd : -1, .events = POLLRDHUP };

	return p.fd < 0 || (poll(&p, 1, ms) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)));
}

// ---- answers ------------------------------------------------------------------------------------------------------------

static const char *type_of(const char *name)
{
	static const char *const types[][2] = { { ".mjs", "text/javascript" }, { ".js", "text/javascript" },
		{ ".wasm", "application/wasm" }, { ".html", "text/html; charset=utf-8" }, { ".json", "application/json" },
		{ ".txt", "text/plain; charset=utf-8" } };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (text_ends(name, types[i][0]))
			return types[i][1];
	return "application/octet-stream";
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned code, struct MHD_Response *r, const char *type)
{
	enum MHD_Result queued;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cross-Origin-Opener-Policy", "same-origin");
	MHD_add_response_header(r, "Cross-Origin-Embedder-Policy", "require-corp");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	queued = MHD_queue_response(c, code, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result answer_bytes(
	struct MHD_Connection *c, unsigned code, const void *data, size_t nbytes, const char *type, bool copy)
{
	return answer(c, code,
		MHD_create_response_from_buffer(
			nbytes, (void *)(uintptr_t)data, copy ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT),
		type);
}

static enum MHD_Result answer_words(struct MHD_Connection *c, unsigned code, const char *words)
{
	return answer_bytes(c, code, words, strlen(words), "text/plain; charset=utf-8", true);
}

// ---- files --------------------------------------------------------------------------------------------------------------

struct reading {
	struct serve *serve;
	struct file *file; // or a descriptor
	int fd;
	uint64_t begin;
	char *path; // of the descriptor
};

static void note_unread(struct serve *s, const char *path, const char *why)
{
	pthread_mutex_lock(&s->lock);
	if (!s->unread.status)
		error_set(&s->unread, STATUS_NOT_ASKED, "%s: %s", path, why);
	pthread_mutex_unlock(&s->lock);
}

static ssize_t read_some(void *context, uint64_t pos, char *out, size_t most)
{
	struct reading *r = context;
	size_t n = r->file ? r->file->how.read(r->file->how.context, r->begin + pos, out, most) : 0;

	if (!r->file) {
		ssize_t got = pread(r->fd, out, most, (off_t)(r->begin + pos));

		n = got > 0 ? (size_t)got : 0;
		if (!n)
			note_unread(r->serve, r->path, got < 0 ? strerror(errno) : "ends early");
	}
	return n ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_file(struct file *f)
{
	free(f->name);
	free(f);
}

static void read_end(void *context)
{
	struct reading *r = context;

	if (r->file) {
		pthread_mutex_lock(&r->serve->lock);
		r->file->readers--;
		pthread_cond_broadcast(&r->serve->changed);
		pthread_mutex_unlock(&r->serve->lock);
	} else {
		close(r->fd);
	}
	free(r->path);
	free(r);
}

// Takes over `r`.
static enum MHD_Result answer_reading(struct MHD_Connection *c, struct reading *r, uint64_t nbytes, const char *type)
{
	const char *asked = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Range");
	uint64_t begin = 0, count = nbytes;
	enum range range = range_parse(asked, nbytes, &begin, &count);
	char text[96];
	struct MHD_Response *response;

	if (range == RANGE_NONE) {
		read_end(r);
		response = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
		snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)nbytes);
		MHD_add_response_header(response, "Content-Range", text);
		return answer(c, MHD_HTTP_RANGE_NOT_SATISFIABLE, response, type);
	}
	r->begin = begin;
	response = MHD_create_response_from_callback(count, BLOCK_NBYTES, read_some, r, read_end);
	if (!response) {
		read_end(r);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Accept-Ranges", "bytes");
	if (range == RANGE_PART) {
		snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)begin,
			(unsigned long long)(begin + count - 1), (unsigned long long)nbytes);
		MHD_add_response_header(response, "Content-Range", text);
	}
	return answer(c, range == RANGE_PART ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response, type);
}

static char *path_of(const struct folder *f, const char *name)
{
	char *out = NULL;

	if (asprintf(&out, "%s/%s", f->path, name) < 0)
		abort();
	return out;
}

static enum MHD_Result give_file(struct serve *s, struct MHD_Connection *c, const char *name)
{
	struct reading *r = calloc(1, sizeof *r);
	const char *slash = strchr(name, '/');
	struct stat st;
	int code = 0;

	if (!r)
		return MHD_NO;
	r->serve = s;
	r->fd = -1;
	pthread_mutex_lock(&s->lock);
	for (struct file *f = s->files; f && !r->file; f = f->next)
		if (!strcmp(f->name, name)) {
			r->file = f;
			f->readers++;
		}
	for (struct folder *f = s->folders; f && !r->file && slash && r->fd < 0; f = f->next)
		if (strlen(f->prefix) == (size_t)(slash - name) && !strncmp(f->prefix, name, (size_t)(slash - name)) &&
			!strchr(slash + 1, '/')) {
			r->fd = openat(f->fd, slash + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
			code = r->fd < 0 ? errno : 0;
			free(r->path);
			r->path = path_of(f, slash + 1);
		}
	pthread_mutex_unlock(&s->lock);
	if (r->file)
		return answer_reading(c, r, r->file->how.nbytes, type_of(name));
	if (r->fd >= 0 && !fstat(r->fd, &st) && S_ISREG(st.st_mode))
		return answer_reading(c, r, (uint64_t)st.st_size, type_of(name));
	if (r->fd >= 0)
		close(r->fd);
	else if (r->path && code != ENOENT && code != ELOOP && code != ENAMETOOLONG)
		note_unread(s, r->path, strerror(code));
	free(r->path);
	free(r);
	return answer_words(c, MHD_HTTP_NOT_FOUND, "there is no such file\n");
}

static enum MHD_Result give_asset(struct MHD_Connection *c, const char *name)
{
	for (size_t i = 0; i < page_assets_count; i++)
		if (!strcmp(page_assets[i].name, name))
			return answer_bytes(c, MHD_HTTP_OK, page_assets[i].data, page_assets[i].size, type_of(name), false);
	return answer_words(c, MHD_HTTP_NOT_FOUND, "there is no such file\n");
}

// ---- the conversation ---------------------------------------------------------------------------------------------------

static uint64_t number_of(struct MHD_Connection *c)
{
	const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "n");
	int64_t n = 0;

	return text && text_to_int(text, 0, INT64_MAX, &n) ? (uint64_t)n : 0;
}

// With the lock held. The first that comes has the page; later ones are told so.
static bool is_ours(struct page *p, struct MHD_Connection *c, bool joins)
{
	const char *id = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "i");

	if (!id || !*id || strlen(id) >= sizeof p->instance)
		return false;
	if (joins && !p->instance[0])
		memcpy(p->instance, id, strlen(id) + 1);
	return !strcmp(p->instance, id);
}

static enum MHD_Result next_command(struct serve *s, struct page *p, struct MHD_Connection *c)
{
	double until = clock_ms() + POLL_S * 1000.0;
	uint64_t n = number_of(c);
	enum MHD_Result result;
	void *copy = NULL;
	size_t nbytes = 0;
	bool waiting = true;

	pthread_mutex_lock(&s->lock);
	while (waiting) {
		if (s->closing || p->gone || clock_ms() >= until)
			break;
		if (p->asked && !p->replied && p->number == n) {
			nbytes = p->command_nbytes;
			if ((copy = malloc(nbytes + 1)))
				memcpy(copy, p->command, nbytes);
			break;
		}
		wait_ms(s, LOOK_MS);
		pthread_mutex_unlock(&s->lock);
		waiting = !hung_up(c, 0);
		pthread_mutex_lock(&s->lock);
	}
	bool closing = s->closing;
	pthread_mutex_unlock(&s->lock);
	if (copy)
		return answer(c, MHD_HTTP_OK, MHD_create_response_from_buffer(nbytes, copy, MHD_RESPMEM_MUST_FREE),
			"application/octet-stream");
	result = answer_words(c, closing ? MHD_HTTP_GONE : MHD_HTTP_NO_CONTENT, "");
	return result;
}

static enum MHD_Result watch_page(struct serve *s, struct page *p, struct MHD_Connection *c)
{
	bool closing = false;

	while (!closing && !hung_up(c, LOOK_MS)) {
		pthread_mutex_lock(&s->lock);
		closing = s->closing;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_lock(&s->lock);
	p->gone = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return answer_words(c, MHD_HTTP_GONE, "");
}

static enum MHD_Result take(struct serve *s, struct page *p, struct MHD_Connection *c, const char *what, struct request *r)
{
	bool taken = false;

	if (r->too_large)
		return answer_words(c, MHD_HTTP_CONTENT_TOO_LARGE, "too large\n");
	pthread_mutex_lock(&s->lock);
	if (!is_ours(p, c, !strcmp(what, "hello"))) {
		p->gone |= p->alone && !strcmp(what, "hello");
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		return answer_words(c, MHD_HTTP_CONFLICT, "another browser has joined\n");
	}
	if (!strcmp(what, "hello") && !p->hello.length) {
		p->hello = r->body;
		r->body = (struct text){ 0 };
		p->beat = clock_ms(); // its process may die before its worker has said anything
		taken = true;
	} else if (!strcmp(what, "beat")) {
		p->beat = clock_ms();
		taken = true;
	} else if (!strcmp(what, "note")) {
		if (p->notes.length < NOTE_LIMIT) {
			text_add_bytes(&p->notes, text_get(&r->body), r->body.length);
			text_add(&p->notes, "\n");
		}
		taken = true;
	} else if (!strcmp(what, "reply") && p->asked && !p->replied && number_of(c) == p->number) {
		text_done(&p->reply);
		p->reply = r->body;
		r->body = (struct text){ 0 };
		p->replied = taken = true;
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return answer_words(c, taken ? MHD_HTTP_OK : MHD_HTTP_CONFLICT, "");
}

static enum MHD_Result converse(struct serve *s, struct MHD_Connection *c, const char *rest, bool posts, struct request *r)
{
	int k = rest[0] >= '0' && rest[0] < '0' + SERVE_PAGES ? rest[0] - '0' : -1;
	struct page *p = k >= 0 ? &s->pages[k] : NULL;
	const char *what = rest + 2;
	bool ours;

	if (!p || rest[1] != '/')
		return answer_words(c, MHD_HTTP_NOT_FOUND, "there is no such page\n");
	if (posts)
		return take(s, p, c, what, r);
	if (!*what)
		return give_asset(c, "index.html");
	if (strcmp(what, "next") && strcmp(what, "alive"))
		return give_asset(c, what);
	pthread_mutex_lock(&s->lock);
	ours = is_ours(p, c, false);
	pthread_mutex_unlock(&s->lock);
	if (!ours)
		return answer_words(c, MHD_HTTP_CONFLICT, "another browser has joined\n");
	return strcmp(what, "next") ? watch_page(s, p, c) : next_command(s, p, c);
}

// ---- requests -----------------------------------------------------------------------------------------------------------

static bool is_for_us(const struct serve *s, struct MHD_Connection *c)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");

	return peer_names_us(host, s->name) &&
		peer_origin_is_ours(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin"), host);
}

// So much of a body is kept: of a reply that nobody waits for, of another page's or to another command, no more than of a note.
static void set_limit(struct serve *s, struct MHD_Connection *c, const char *rest, struct request *r)
{
	const char *what = *rest != '\0' ? rest + 1 : rest;
	struct page *p = rest[0] >= '0' && rest[0] < '0' + SERVE_PAGES ? &s->pages[rest[0] - '0'] : NULL;

	r->limit = strcmp(what, "/hello") ? NOTE_LIMIT : HELLO_LIMIT;
	if (!p || strcmp(what, "/reply"))
		return;
	pthread_mutex_lock(&s->lock);
	if (is_ours(p, c, false) && p->asked && !p->replied && !p->receiving && number_of(c) == p->number) {
		p->receiving = r;
		r->awaited = p;
		r->limit = p->reply_most;
	}
	pthread_mutex_unlock(&s->lock);
}

// False: it is more than is kept. Who waits for a reply is told so now, and not when its last byte has come.
static bool keep_body(struct serve *s, struct request *r, const char *data, size_t nbytes)
{
	bool fits = !r->too_large && nbytes <= r->limit - r->body.length;

	pthread_mutex_lock(&s->lock);
	if (!r->awaited) {
		fits = fits && nbytes <= KEPT_LIMIT - s->kept;
		s->kept += fits ? nbytes : 0;
		r->kept += fits ? nbytes : 0;
	} else if (r->awaited->receiving != r) {
		fits = false; // it was given up
	} else if (!fits) {
		r->awaited->too_large = true;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	if (fits)
		text_add_bytes(&r->body, data, nbytes);
	else
		text_done(&r->body);
	return fits;
}

// A connection that has named the token may wait as long as it likes, and is not closed for others.
static void trust(struct serve *s, struct MHD_Connection *c)
{
	strangers_remove(&s->strangers, c);
	MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *c, const char *url, const char *method, const char *version,
	const char *upload, size_t *upload_size, void **state)
{
	struct serve *s = context;
	struct request *r = *state;
	bool posts = !strcmp(method, "POST");
	char kind[8];
	const char *rest;

	(void)version;
	if (!r) {
		*state = r = calloc(1, sizeof *r);
		if (!r)
			return MHD_NO;
		r->refused = !is_for_us(s, c);
		if (!r->refused && path_parse(url, s->token, kind, sizeof kind, &rest)) {
			set_limit(s, c, rest, r);
			trust(s, c);
		}
		return MHD_YES;
	}
	// A stranger's upload is not kept.
	bool known = !r->refused && path_parse(url, s->token, kind, sizeof kind, &rest);
	if (*upload_size) {
		if (!known || !keep_body(s, r, upload, *upload_size))
			r->too_large = true;
		*upload_size = 0;
		return MHD_YES;
	}
	if (r->refused)
		return answer_words(c, MHD_HTTP_FORBIDDEN,
			"this server is asked by its address or the machine's name, and from its own page; the option host names "
			"another\n");
	if (!known)
		return answer_words(c, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
	if (!posts && strcmp(method, "GET") && strcmp(method, "HEAD"))
		return answer_words(c, MHD_HTTP_METHOD_NOT_ALLOWED, "");
	if (!strcmp(kind, "page"))
		return converse(s, c, rest, posts, r);
	if (!strcmp(kind, "file") && !posts)
		return give_file(s, c, rest);
	return answer_words(c, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
}

static void request_done(void *context, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct serve *s = context;
	struct request *r = *state;

	(void)c;
	(void)why;
	if (r) {
		pthread_mutex_lock(&s->lock);
		s->kept -= r->kept;
		if (r->awaited && r->awaited->receiving == r)
			r->awaited->receiving = NULL;
		pthread_mutex_unlock(&s->lock);
		text_done(&r->body);
	}
	free(r);
	*state = NULL;
}

// ---- connections ---------------------------------------------------------------------------------------------------------

static enum MHD_Result take_connection(void *context, const struct sockaddr *peer, socklen_t size)
{
	struct serve *s = context;
	unsigned port;

	(void)size;
	if (!s->own_user)
		return MHD_YES;
	pthread_mutex_lock(&s->lock); // serve_open holds it until the port is known
	port = s->port;
	pthread_mutex_unlock(&s->lock);
	return port && peer_is_other_user(peer, (const struct sockaddr *)&s->at, port) ? MHD_NO : MHD_YES;
}

// At its end the descriptor is still open.
static void notice_connection(void *context, struct MHD_Connection *c, void **state, enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct serve *s = context;

	(void)state;
	if (what == MHD_CONNECTION_NOTIFY_STARTED && info)
		strangers_add(&s->strangers, c, info->connect_fd);
	else
		strangers_remove(&s->strangers, c);
}

// ---- opening ------------------------------------------------------------------------------------------------------------

static enum status read_address(const char *text, struct sockaddr_storage *out, struct error *err)
{
	const char *colon = text ? strrchr(text, ':') : NULL;
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST },
			*found = NULL;
	char host[256] = "127.0.0.1";
	int64_t port = 0;
	size_t n;

	if (text) {
		if (!colon || !text_to_int(colon + 1, 0, 65535, &port))
			return error_set(
				err, STATUS_BAD_INPUT, "%s is no address: it takes ADDR:PORT, with an address of numbers", text);
		n = (size_t)(colon - text);
		if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
			text++;
			n -= 2;
		}
		if (n >= sizeof host)
			return error_set(err, STATUS_BAD_INPUT, "the address is too long");
		if (n) {
			memcpy(host, text, n);
			host[n] = 0;
		}
	}
	char service[8];
	snprintf(service, sizeof service, "%d", (int)port);
	if (getaddrinfo(host, service, &hints, &found) || !found)
		return error_set(err, STATUS_BAD_INPUT, "%s is no address: it takes ADDR:PORT, with an address of numbers", host);
	memcpy(out, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return STATUS_OK;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

	return address->ss_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

// A wildcard is no address that one can go to: the machine's name is.
static void name_origin(struct serve *s, const struct sockaddr_storage *address, unsigned port)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	bool any = address->ss_family == AF_INET ? four->sin_addr.s_addr == INADDR_ANY : IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
	char host[256] = "";

	if (any)
		gethostname(host, sizeof host - 1);
	else
		inet_ntop(address->ss_family,
			address->ss_family == AF_INET ? (const void *)&four->sin_addr : (const void *)&six->sin6_addr, host,
			sizeof host);
	snprintf(s->origin, sizeof s->origin, strchr(host, ':') ? "http://[%s]:%u" : "http://%s:%u", host, port);
}

static void ignore_log(void *context, const char *format, va_list ap)
{
	(void)context;
	(void)format;
	(void)ap;
}

static char *copy_of(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return copy;
}

enum status serve_open(struct serve **out, const struct serve_at *how, struct error *err)
{
	const char *address = how ? how->address : NULL;
	struct sockaddr_storage at = { 0 };
	struct serve *s = calloc(1, sizeof *s);
	pthread_condattr_t attributes;
	unsigned char random[16];
	enum status st;

	if (!s)
		return error_set(err, STATUS_NO_MEMORY, "not enough memory");
	if ((st = read_address(address, &at, err))) {
		free(s);
		return st;
	}
	if (getrandom(random, sizeof random, 0) != sizeof random) {
		free(s);
		return error_errno(err, "no random numbers");
	}
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(s->token + 2 * i, 3, "%02x", random[i]);
	s->name = how && how->name ? copy_of(how->name) : NULL;
	// What comes from elsewhere through a tunnel is ours; a proxy runs as who it likes.
	s->own_user = (how && how->own_user) || (is_loopback(&at) && !(how && how->name));
	s->at = at;
	strangers_init(&s->strangers);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	errno = 0;
	pthread_mutex_lock(&s->lock);
	s->daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
			(at.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
		0, take_connection, s, handle, s, MHD_OPTION_NOTIFY_CONNECTION, notice_connection, s,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STRANGER_S, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_NBYTES,
		MHD_OPTION_NOTIFY_COMPLETED, request_done, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL, MHD_OPTION_END);
	const union MHD_DaemonInfo *info = s->daemon ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	s->port = info ? info->port : 0;
	pthread_mutex_unlock(&s->lock);
	if (!s->daemon) {
		st = error_errno(err, "cannot listen on %s", address ? address : "the loopback address");
		serve_close(s);
		return st;
	}
	name_origin(s, &at, s->port);
	for (int i = 0; i < SERVE_PAGES; i++)
		snprintf(s->pages[i].url, sizeof s->pages[i].url, "%s/%s/page/%d/", s->origin, s->token, i);
	*out = s;
	return STATUS_OK;
}

void serve_close(struct serve *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	for (struct file *f = s->files, *next; f; f = next) {
		next = f->next;
		free_file(f);
	}
	for (struct folder *f = s->folders, *next; f; f = next) {
		next = f->next;
		close(f->fd);
		free(f->prefix);
		free(f->path);
		free(f);
	}
	for (int i = 0; i < SERVE_PAGES; i++)
		serve_reset(s, i);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	strangers_done(&s->strangers);
	free(s->name);
	free(s);
}

const char *serve_url(struct serve *s, int page)
{
	return s->pages[page].url;
}

// ---- what is served -----------------------------------------------------------------------------------------------------

void serve_add(struct serve *s, const char *name, const struct serve_file *how)
{
	struct file *f = calloc(1, sizeof *f);

	if (!f)
		abort();
	f->name = copy_of(name);
	f->how = *how;
	pthread_mutex_lock(&s->lock);
	f->next = s->files; // in front: the newest of a name is found first
	s->files = f;
	pthread_mutex_unlock(&s->lock);
}

void serve_folder(struct serve *s, const char *prefix, const char *folder)
{
	struct folder *f = calloc(1, sizeof *f);

	if (!f)
		abort();
	f->prefix = copy_of(prefix);
	f->path = copy_of(folder);
	f->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pthread_mutex_lock(&s->lock);
	f->next = s->folders;
	s->folders = f;
	pthread_mutex_unlock(&s->lock);
}

void serve_remove(struct serve *s, const char *prefix)
{
	pthread_mutex_lock(&s->lock);
	for (struct file **at = &s->files; *at;) {
		struct file *f = *at;

		if (strncmp(f->name, prefix, strlen(prefix))) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		while (f->readers) // what it reads may go away behind this call
			wait_ms(s, LOOK_MS);
		free_file(f);
		at = &s->files;
	}
	pthread_mutex_unlock(&s->lock);
}

// ---- asking -------------------------------------------------------------------------------------------------------------

void serve_alone(struct serve *s, int page)
{
	pthread_mutex_lock(&s->lock);
	s->pages[page].alone = true;
	pthread_mutex_unlock(&s->lock);
}

bool serve_has_hello(struct serve *s, int page)
{
	pthread_mutex_lock(&s->lock);
	bool has = s->pages[page].hello.length > 0;
	pthread_mutex_unlock(&s->lock);
	return has;
}

static enum status look(struct serve *s, serve_alive *alive, void *context, struct error *err)
{
	enum status st;

	pthread_mutex_unlock(&s->lock);
	st = alive ? alive(context, err) : STATUS_OK;
	pthread_mutex_lock(&s->lock);
	return st;
}

enum status serve_hello(
	struct serve *s, int page, double timeout_s, serve_alive *alive, void *context, const char **hello, struct error *err)
{
	struct page *p = &s->pages[page];
	double until = clock_ms() + timeout_s * 1000;
	enum status st = STATUS_OK;

	pthread_mutex_lock(&s->lock);
	while (!p->hello.length && !st) {
		if (timeout_s > 0 && clock_ms() >= until)
			st = error_set(err, STATUS_TIMEOUT, "the browser did not open the page within %g s", timeout_s);
		else if (!(st = look(s, alive, context, err)) && !p->hello.length)
			wait_ms(s, LOOK_MS);
	}
	*hello = text_get(&p->hello);
	pthread_mutex_unlock(&s->lock);
	return st;
}

enum status serve_ask(struct serve *s, int page, const void *command, size_t nbytes, size_t most, serve_alive *alive,
	void *context, struct text *reply, struct error *err)
{
	struct page *p = &s->pages[page];
	enum status st = STATUS_OK;
	double looked = clock_ms(), gone_since = 0, late;

	pthread_mutex_lock(&s->lock);
	p->command = command;
	p->command_nbytes = nbytes;
	p->number++;
	p->asked = true;
	p->replied = p->too_large = false;
	p->receiving = NULL;
	p->reply_most = most;
	pthread_cond_broadcast(&s->changed);
	while (!p->replied && !st) {
		if (p->too_large) {
			st = error_set(
				err, STATUS_FAILED, "the page's answer is larger than the %zu bytes that it can have here", most);
			break;
		}
		const double begun = clock_ms();
		const bool gone = p->gone || (p->beat > 0 && begun - p->beat > SILENT_MS);
		// A process that ended says more than a page that is gone, and may take a moment longer to be seen.
		gone_since = !gone ? 0 : gone_since > 0 ? gone_since : begun;
		if (gone || clock_ms() - looked >= 2 * LOOK_MS) {
			st = look(s, alive, context, err);
			looked = clock_ms();
		}
		if (!st && gone && !p->replied && clock_ms() - gone_since > GONE_MS)
			st = error_set(err, STATUS_FAILED,
				"the page was closed or reloaded, or its process died or said nothing for a minute");
		if (!st && !p->replied)
			wait_ms(s, LOOK_MS);
		// Paused with everything below it (a container), it has not heard what was said meanwhile.
		late = clock_ms() - begun - LOOK_MS;
		if (late > STOOD_STILL_MS) {
			p->beat += p->beat > 0 ? late : 0;
			gone_since += gone_since > 0 ? late : 0;
		}
	}
	p->asked = false;
	p->command = NULL;
	if (!st) {
		text_done(reply);
		*reply = p->reply;
		p->reply = (struct text){ 0 };
	}
	pthread_mutex_unlock(&s->lock);
	return st;
}

void serve_notes(struct serve *s, int page, struct text *out)
{
	struct page *p = &s->pages[page];

	pthread_mutex_lock(&s->lock);
	text_add_bytes(out, text_get(&p->notes), p->notes.length);
	text_done(&p->notes);
	p->notes = (struct text){ 0 };
	pthread_mutex_unlock(&s->lock);
}

enum status serve_unread(struct serve *s, struct error *err)
{
	pthread_mutex_lock(&s->lock);
	enum status st = s->unread.status ? error_set(err, s->unread.status, "%s", s->unread.text) : STATUS_OK;
	pthread_mutex_unlock(&s->lock);
	return st;
}

void serve_reset(struct serve *s, int page)
{
	struct page *p = &s->pages[page];

	pthread_mutex_lock(&s->lock);
	text_done(&p->hello);
	text_done(&p->notes);
	text_done(&p->reply);
	p->hello = p->notes = p->reply = (struct text){ 0 };
	p->instance[0] = 0;
	p->number = 0;
	p->asked = p->replied = p->gone = p->alone = false;
	p->beat = 0;
	pthread_mutex_unlock(&s->lock);
}
