// SPDX-License-Identifier: Apache-2.0
// fetch_http.h: hops, headers, and when to try again. What an answer means is fetch.c's matter.
#include "hub/fetch_http.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/watcher.h"
#include "hub/fetch_curl.h"
#include "hub/fetch_inside.h"

// FLOOR: bytes a second that must come, over the time after which nothing at all is a stall too. Below it a small model takes a
// day. CONNECT_S: until a request can be made, through a proxy and its tunnel too.
enum {
	HOPS = 10,
	TRIES = 5,
	SLOW_TRIES = 2,
	LONGEST_WAIT_S = 300,
	FLOOR = 1024,
	PAGE_MOST = 64 << 10,
	HEADERS_MOST = 256 << 10,
	SOCKETS = 16,
	WAKE_MS = 250,
	CONNECT_S = 10
};

struct http {
	const struct curl_table *curl;
	CURL *easy;
	const struct fetch_watch *watch;
	const char *token, *origin, *host; // origin: "https://host:443"
	const char *authorities;           // file of the certificates that are trusted, instead of the system's; may be NULL
	const char *authorities_in;        // the variable that names it
	long stall_s;
	double left_ms, until_ms, budget_ms; // what is left of http_budget; by clock_ms, while a request runs; all of it
	bool answered;                       // by anybody, ever: the network works
	char words[CURL_ERROR_SIZE];
	// Of the hop that runs.
	const struct http_request *request;
	struct http_answer *answer;
	bool begun;
	double opened_s; // connected_s when its newest connection was begun
	size_t passed;   // bytes of a page that is not read
	size_t headers;  // bytes of headers, interim answers and trailers: libcurl keeps each, and older ones without a limit
	struct error failure; // of begin or take
	// The thread beside it: libcurl, and the TLS library below, read on as long as there is anything to read.
	struct watcher watcher; // is held for the following
	int sockets[SOCKETS];   // that are open
	int socket_count;
	double heard_ms; // when libcurl last called, or began to connect; INFINITY: it does not run, or what it called does
	bool cut;        // the connections were ended because it did not call any more
};

static bool stopped(const struct http *h)
{
	return h->watch->stop && *h->watch->stop;
}

static bool is_spent(const struct http *h)
{
	return clock_ms() >= h->until_ms;
}

// ---- what does not come back ---------------------------------------------------------------------------------------------

// For a call of libcurl, and for a connection.
static long patience_s(const struct http *h)
{
	return h->stall_s < CONNECT_S ? h->stall_s : CONNECT_S;
}

// libcurl calls each second, whatever it waits for. A server whose TLS handshake has no end, one record after the other, holds it
// in one call, which hears of no limit of time; a proxy whose refusal has no end does where it looks at none, though it calls.
static void look_at_calls(void *context)
{
	enum { STOP_MS = 1000 };
	struct http *h = context;
	const double limit_ms = stopped(h) || is_spent(h) ? STOP_MS : 1e3 * (double)patience_s(h);

	if (clock_ms() - h->heard_ms < limit_ms)
		return;
	h->cut = h->socket_count > 0;
	for (int i = 0; i < h->socket_count; i++)
		shutdown(h->sockets[i], SHUT_RDWR);
}

static void called(struct http *h, double now_ms)
{
	watcher_hold(&h->watcher);
	h->heard_ms = now_ms;
	watcher_release(&h->watcher);
}

// How long it took until a request could be made, a proxy's tunnel and TLS among it; where libcurl connects anew within a hop,
// for the connection before was closed, all together. 0: not yet.
static double connected_s(const struct http *h)
{
	double seconds = 0;

	return h->curl->getinfo(h->easy, CURLINFO_PRETRANSFER_TIME, &seconds) ? 0 : seconds;
}

static bool is_connected(const struct http *h)
{
	return connected_s(h) > h->opened_s;
}

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http *h = context;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

	h->opened_s = connected_s(h);
	(void)purpose;
	watcher_hold(&h->watcher);
	if (fd >= 0 && h->socket_count == SOCKETS) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		h->sockets[h->socket_count++] = fd;
	watcher_release(&h->watcher);
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close(void *context, curl_socket_t fd)
{
	struct http *h = context;

	watcher_hold(&h->watcher);
	for (int i = 0; i < h->socket_count; i++)
		if (h->sockets[i] == fd)
			h->sockets[i] = h->sockets[--h->socket_count];
	int failure = close(fd);
	watcher_release(&h->watcher);
	return failure;
}

static enum status interrupted(struct error *err)
{
	return error_set(err, STATUS_INTERRUPTED, "stopped; what has come is kept and the rest is fetched the next time");
}

static enum status spent(const struct http *h, struct error *err)
{
	return error_set(err, STATUS_UNAVAILABLE,
		"%s takes too long: all requests for a model may take %.0f s together (ASSAY_FETCH_TIMEOUT sets another limit); "
		"what has "
		"come is kept and the rest is fetched the next time",
		h->host, h->budget_ms / 1e3);
}

void http_budget(struct http *h, double seconds)
{
	h->left_ms = h->budget_ms = 1e3 * seconds;
}

const char *http_host(const struct http *h)
{
	return h->host;
}

bool http_has_token(const struct http *h)
{
	return h->token != NULL;
}

const char *http_quote(struct arena *a, const char *text, bool keep_slashes)
{
	struct text t = { 0 };
	text_add_url(&t, text, keep_slashes);
	const char *out = arena_strdup(a, text_get(&t));
	text_done(&t);
	return out;
}

// "scheme://host:port" with the default port written out; NULL for what is not http or https.
static char *origin_of(const struct curl_table *curl, struct arena *a, const char *url)
{
	CURLU *u = curl->url();
	char *scheme = NULL, *host = NULL, *port = NULL, *out = NULL;
	if (u && !curl->url_set(u, CURLUPART_URL, url, 0) && !curl->url_get(u, CURLUPART_SCHEME, &scheme, 0) &&
		!curl->url_get(u, CURLUPART_HOST, &host, 0) && !curl->url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) &&
		(!strcmp(scheme, "http") || !strcmp(scheme, "https"))) {
		out = arena_printf(a, "%s://%s:%s", scheme, host, port);
		for (char *p = out; *p; p++)
			*p = (char)tolower((unsigned char)*p);
	}
	curl->free(scheme);
	curl->free(host);
	curl->free(port);
	curl->url_cleanup(u);
	return out;
}

static void release(void *handle)
{
	struct http *h = handle;
	h->curl->cleanup(h->easy);
	watcher_end(&h->watcher);
}

enum status http_open(struct http **out, struct arena *a, const char *endpoint, const char *token,
	const struct fetch_watch *watch, struct error *err)
{
	struct http *h = ARENA_NEW(a, struct http);
	enum status s = curl_load(&h->curl, err);
	if (s)
		return s;
	h->watch = watch;
	h->token = token;
	h->origin = origin_of(h->curl, a, endpoint);
	if (!h->origin)
		return error_set(err, STATUS_BAD_INPUT,
			"HF_ENDPOINT is \"%s\"; it should be like https://HOST or http://HOST:PORT", endpoint);
	h->host = strstr(fetch_endpoint(a), "://") + 3; // without a password
	// libcurl itself reads none of these; people behind a company's proxy set one of them.
	static const char *const files[] = { "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE" };
	for (size_t i = 0; i < sizeof files / sizeof *files && !h->authorities; i++) {
		const char *file = getenv(files[i]);

		if (file && *file) {
			h->authorities = file;
			h->authorities_in = files[i];
		}
	}
	struct stat st;
	// A pipe would be waited for within libcurl, and no limit of time ends that.
	if (h->authorities && stat(h->authorities, &st) == 0 && !S_ISREG(st.st_mode))
		return error_set(err, STATUS_BAD_INPUT, "%s names %s, which is no file of certificates", h->authorities_in,
			h->authorities);
	int64_t stall = 30;
	const char *asked = getenv("HF_HUB_DOWNLOAD_TIMEOUT");
	if (asked)
		text_to_int(asked, 1, 86400, &stall);
	h->stall_s = (long)stall;
	http_budget(h, fetch_time_s(0));
	h->easy = h->curl->easy_init();
	if (!h->easy)
		return error_set(err, STATUS_NO_MEMORY, "libcurl gives no handle");
	h->heard_ms = INFINITY;
	int failure = watcher_begin(&h->watcher, WAKE_MS, look_at_calls, h);
	if (failure) {
		h->curl->cleanup(h->easy);
		return error_set(err, STATUS_FAILED, "no thread can be made to limit its time: %s", strerror(failure));
	}
	arena_defer(a, release, h);
	*out = h;
	return STATUS_OK;
}

// ---- one hop -----------------------------------------------------------------------------------------------------

// "NAME: VALUE" with this name? The value without white space around it into `out`, cut to its size, unprintable bytes replaced.
static bool header(const char *line, size_t length, const char *name, char *out, size_t size)
{
	size_t n = strlen(name);
	if (length <= n || line[n] != ':' || strncasecmp(line, name, n))
		return false;
	const char *p = line + n + 1, *end = line + length;
	while (p < end && isspace((unsigned char)*p))
		p++;
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	n = (size_t)(end - p) < size ? (size_t)(end - p) : size - 1;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)p[i] < 32 || p[i] == 127 ? '?' : p[i];
	out[n] = 0;
	return true;
}

// W/"abc" -> abc
static void plain_etag(char *etag)
{
	char *p = etag;
	if (text_starts(p, "W/"))
		p += 2;
	size_t n = strlen(p);
	if (n >= 2 && *p == '"' && p[n - 1] == '"') {
		p++;
		n -= 2;
	}
	memmove(etag, p, n);
	etag[n] = 0;
}

void http_header(struct http_answer *x, const char *line, size_t length)
{
	char value[256];
	int64_t number;

	if (length > 5 &&
		!strncmp(line, "HTTP/", 5)) { // of this hop: what came before belongs to "100 Continue" or the hop before
		x->etag[0] = x->error_code[0] = x->error_message[0] = 0;
		x->length = x->range_from = x->range_last = x->range_total = -1;
		x->is_weak = false;
		x->has_end = length > 6 && line[5] != '1'; // HTTP/2 and later
		x->retry_after_s = 0;
	} else if (header(line, length, "ETag", x->etag, sizeof x->etag)) {
		x->is_weak = text_starts(x->etag, "W/");
		plain_etag(x->etag);
	} else if (header(line, length, "X-Linked-ETag", x->linked_etag, sizeof x->linked_etag)) {
		plain_etag(x->linked_etag);
	} else if (header(line, length, "X-Linked-Size", value, sizeof value)) {
		if (text_to_int(value, 0, INT64_MAX, &number))
			x->linked_size = number;
	} else if (header(line, length, "Content-Length", value, sizeof value)) {
		if (text_to_int(value, 0, INT64_MAX, &number)) {
			x->length = number;
			x->has_end = true;
		}
	} else if (header(line, length, "Transfer-Encoding", value, sizeof value)) {
		const size_t n = strlen(value), last = strlen("chunked");
		x->has_end = x->has_end || (n >= last && !strcasecmp(value + n - last, "chunked"));
	} else if (header(line, length, "Content-Range", value, sizeof value)) {
		char *dash = strchr(value, '-'), *slash = strchr(value, '/');
		if (slash && text_to_int(slash + 1, 0, INT64_MAX, &number))
			x->range_total = number;
		if (text_starts(value, "bytes ") && dash) {
			*dash = 0;
			if (text_to_int(value + 6, 0, INT64_MAX, &number))
				x->range_from = number;
			dash[1 + strspn(dash + 1, "0123456789")] = 0;
			if (text_to_int(dash + 1, 0, INT64_MAX, &number))
				x->range_last = number;
		}
	} else if (header(line, length, "X-Repo-Commit", x->commit, sizeof x->commit) ||
		header(line, length, "X-Error-Code", x->error_code, sizeof x->error_code) ||
		header(line, length, "X-Error-Message", x->error_message, sizeof x->error_message)) {
		return;
	} else if (header(line, length, "RateLimit", value, sizeof value)) {
		// The Hub's own: "api";r=0;t=57, so many seconds until it starts to count anew.
		char *t = strstr(value, ";t=");
		if (t)
			t[3 + strspn(t + 3, "0123456789")] = 0;
		if (t && text_to_int(t + 3, 0, 1000000, &number))
			x->retry_after_s = (long)number;
	}
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct http *h = context;
	called(h, clock_ms());
	if ((h->headers += size * count) > HEADERS_MOST) {
		error_set(&h->failure, STATUS_FAILED, "an answer with more than %d bytes of headers", HEADERS_MOST);
		return 0;
	}
	http_header(h->answer, line, size * count);
	return size * count;
}

static bool begin(struct http *h)
{
	long status = 0;
	h->curl->getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
	h->answer->status = status;
	h->begun = true;
	return status / 100 != 2 || !h->request->begin || !h->request->begin(h->request->context, h->answer, &h->failure);
}

static size_t take_body(struct http *h, char *data, size_t nbytes)
{
	if (stopped(h) || (!h->begun && !begin(h)))
		return 0;
	// The page that comes with a redirect or a refusal is read, so that the connection can be used again; one without an end
	// is not.
	if (h->answer->status / 100 != 2 || !h->request->take)
		return (h->passed += nbytes) > PAGE_MOST ? 0 : nbytes;
	return h->request->take(h->request->context, data, nbytes, &h->failure) ? 0 : nbytes;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	struct http *h = context;

	called(h, INFINITY); // a disk may be slow
	size_t taken = take_body(h, data, size * count);
	called(h, clock_ms());
	return taken;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct http *h = context;

	(void)a, (void)b, (void)c, (void)d;
	if (is_connected(h))
		called(h, clock_ms());
	return stopped(h) || is_spent(h);
}

// False: no memory, and `list` is as it was.
static bool add_header(const struct http *h, struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = h->curl->append(*list, line);
	if (longer)
		*list = longer;
	return longer != NULL;
}

static bool make_headers(const struct http *h, bool to_hub, struct curl_slist **out)
{
	bool made = add_header(h, out, "Accept-Encoding: identity");
	if (made && to_hub && h->token) {
		struct text t = { 0 };
		text_addf(&t, "Authorization: Bearer %s", h->token);
		made = add_header(h, out, text_get(&t));
		text_done(&t);
	}
	return made;
}

// No other protocol, wherever a redirect leads. The option's name is of libcurl 7.85; before, it was a set of bits.
static CURLcode only_http(const struct http *h)
{
	enum { NAMES = CURLOPTTYPE_OBJECTPOINT + 318, BITS = CURLOPTTYPE_LONG + 181 };
	CURLcode code = h->curl->setopt(h->easy, (CURLoption)NAMES, "http,https");
	return code == CURLE_UNKNOWN_OPTION ? h->curl->setopt(h->easy, (CURLoption)BITS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS))
					    : code;
}

// Each option is a limit, a rule, or where the answer goes: without one of them nothing is asked.
static CURLcode set_options(const struct http *h, const char *url, const struct curl_slist *headers)
{
	const struct curl_table *c = h->curl;
	CURLcode code = CURLE_OK;
	char range[32];
#define SET(option, value) (code = code ? code : c->setopt(h->easy, option, value))
	c->reset(h->easy);                               // the connections stay
	c->setopt(h->easy, CURLOPT_BUFFERSIZE, 262144L); // for speed; not taken where a buffer is left of the try before
	SET(CURLOPT_URL, url);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_USERAGENT, "assay/" ASSAY_VERSION);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_ERRORBUFFER, h->words);
	SET(CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	SET(CURLOPT_LOW_SPEED_LIMIT, (long)FLOOR);
	SET(CURLOPT_LOW_SPEED_TIME, h->stall_s);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, h);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, h);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, on_progress);
	SET(CURLOPT_XFERINFODATA, h);
	SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
	SET(CURLOPT_OPENSOCKETDATA, h);
	SET(CURLOPT_CLOSESOCKETFUNCTION, on_close);
	SET(CURLOPT_CLOSESOCKETDATA, h);
	code = code ? code : only_http(h);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (h->authorities)
		SET(CURLOPT_CAINFO, h->authorities);
	// Of a proxy that is spoken to by TLS. A libcurl that knows no such proxy knows neither option.
	c->setopt(h->easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (h->authorities)
		c->setopt(h->easy, CURLOPT_PROXY_CAINFO, h->authorities);
	if (h->request->head)
		SET(CURLOPT_NOBODY, 1L);
	if (h->request->from && *h->request->from) {
		snprintf(range, sizeof range, "%llu-", (unsigned long long)*h->request->from);
		SET(CURLOPT_RANGE, range);
	}
#undef SET
	return code;
}

// libcurl keeps a line of headers until its end, at most 100 KiB, and says of a longer one that there is no memory, or since 8.6
// CURLE_TOO_LARGE.
static CURLcode refuse_line(struct http *h, CURLcode code)
{
	enum { TOO_LARGE = 100 };
	void *memory = code == CURLE_OUT_OF_MEMORY ? malloc(1 << 20) : NULL;

	if (memory || code == (CURLcode)TOO_LARGE)
		error_set(&h->failure, STATUS_FAILED, "an answer with a line of headers that is too long, or without an end");
	free(memory);
	return code;
}

static CURLcode hop(struct http *h, const char *url, bool to_hub)
{
	const struct curl_table *c = h->curl;
	struct curl_slist *headers = NULL;
	h->begun = false;
	h->opened_s = 0;
	h->passed = h->headers = 0;
	h->failure = (struct error){ 0 };
	h->words[0] = 0;
	CURLcode code = make_headers(h, to_hub, &headers) ? set_options(h, url, headers) : CURLE_OUT_OF_MEMORY;
	h->cut = false;
	called(h, clock_ms());
	if (!code)
		code = refuse_line(h, c->perform(h->easy));
	called(h, INFINITY);
	long status = 0;
	curl_off_t wait = 0;
	c->getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
	c->getinfo(h->easy, CURLINFO_RETRY_AFTER, &wait);
	h->answer->status = status;
	if (wait > 0 && wait < 1000000)
		h->answer->retry_after_s = (long)wait;
	else if (status != 429)
		h->answer->retry_after_s = 0; // RateLimit stands in every answer
	if (code == CURLE_WRITE_ERROR && h->passed > PAGE_MOST && !h->failure.status)
		code = CURLE_OK; // what it answers is known
	if (code == CURLE_OK && !h->begun && !h->request->head && !begin(h))
		code = CURLE_WRITE_ERROR;
	c->free_list(headers);
	return code;
}

// ---- redirects ---------------------------------------------------------------------------------------------------

// Whether another try may do better. A certificate, a URL or a full disk will not change.
static bool may_pass(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return true;
	default:
		return false;
	}
}

// Who failed while it was connected to: the origin, or the proxy in its place, by the variables that libcurl goes by.
static const char *find_culprit(const struct http *h, struct arena *a, const char *origin)
{
	const char *const https[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" };
	const char *const http[] = { "http_proxy", "all_proxy", "ALL_PROXY" };
	const bool is_https = text_starts(origin, "https:");
	const size_t count = is_https ? sizeof https / sizeof *https : sizeof http / sizeof *http;
	long refused = 0, untrusted = 0;

	h->curl->getinfo(h->easy, CURLINFO_HTTP_CONNECTCODE, &refused);
	h->curl->getinfo(h->easy, CURLINFO_PROXY_SSL_VERIFYRESULT, &untrusted);
	if (!untrusted && (!refused || refused / 100 == 2))
		return origin;
	for (size_t i = 0; i < count; i++) {
		const char *name = (is_https ? https : http)[i], *url = getenv(name), *proxy;

		if (!url || !*url)
			continue;
		proxy = origin_of(h->curl, a, url); // without a password in it
		return arena_printf(a, "the proxy%s%s (%s)", proxy ? " " : "", proxy ? proxy : "", name);
	}
	return arena_printf(a, "the proxy before %s", origin);
}

enum outcome { FINAL, TRANSIENT, TOO_SLOW };

// All hops of one try. *outcome: may another one do better?
static enum status try_once(struct http *h, struct arena *a, enum outcome *outcome, struct error *err)
{
	struct http_answer *x = h->answer;
	const char *url = h->request->url;
	double since = clock_ms();
	*x = (struct http_answer){ .linked_size = -1, .length = -1, .range_from = -1, .range_total = -1 };
	*outcome = FINAL;
	for (int i = 0; i < HOPS; i++) {
		const char *origin = origin_of(h->curl, a, url);
		if (!origin)
			return error_set(err, STATUS_FAILED, "%s redirects to something that is neither http nor https", h->host);
		CURLcode code = hop(h, url, !strcmp(origin, h->origin));
		if (stopped(h))
			return interrupted(err);
		if (code == CURLE_ABORTED_BY_CALLBACK && is_spent(h))
			return spent(h, err);
		if (h->failure.status) {
			if (err)
				*err = h->failure;
			return h->failure.status;
		}
		if (code != CURLE_OK) {
			bool first = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
				code == CURLE_SSL_CONNECT_ERROR;
			if (may_pass(code) && (h->answered || !first))
				*outcome = code == CURLE_OPERATION_TIMEDOUT && h->answer->status ? TOO_SLOW : TRANSIENT;
			if (*outcome == TOO_SLOW)
				return error_set(err, STATUS_UNAVAILABLE, "%s: less than %d bytes a second for %ld s", origin,
					FLOOR, h->stall_s);
			if (h->cut) {
				*outcome = TOO_SLOW;
				if (is_connected(h))
					return error_set(
						err, STATUS_UNAVAILABLE, "%s sends without an end what is no answer", origin);
				return error_set(err, STATUS_UNAVAILABLE, "%s: no connection within %ld s",
					find_culprit(h, a, origin), patience_s(h));
			}
			bool untrusted = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
			const char *hint = !untrusted ? ""
				: h->authorities
				? arena_printf(a, "; the certificates to trust are those of %s, which %s names", h->authorities,
					  h->authorities_in)
				: "; are ca-certificates installed? SSL_CERT_FILE names a file with others to trust";
			return error_set(err, STATUS_UNAVAILABLE, "%s: %s%s", find_culprit(h, a, origin),
				h->words[0] ? h->words : h->curl->strerror(code), hint);
		}
		h->answered = true;
		char *to = NULL;
		h->curl->getinfo(h->easy, CURLINFO_REDIRECT_URL, &to);
		if (x->status / 100 != 3 || !to) {
			if (!text_is(origin, h->origin))
				snprintf(x->other, sizeof x->other, "%s", origin);
			if (x->status == 408 || x->status == 429 || (x->status >= 500 && x->status != 501 && x->status != 505))
				*outcome = TRANSIENT;
			if (*outcome == TRANSIENT)
				error_set(err, STATUS_UNAVAILABLE, "%s answers %ld%s%s%s", origin, x->status,
					x->status == 429 ? " (too many requests)" : "", x->error_message[0] ? ": " : "",
					x->error_message);
			return STATUS_OK;
		}
		const char *next = arena_strdup(a, to), *next_origin = origin_of(h->curl, a, next);
		if (clock_ms() - since > 1e3 * (double)h->stall_s) {
			*outcome = TOO_SLOW; // each hop within its time
			return error_set(err, STATUS_UNAVAILABLE, "%s: nothing but redirects for %ld s", h->host, h->stall_s);
		}
		if (next_origin && text_starts(origin, "https:") && text_starts(next_origin, "http:"))
			return error_set(err, STATUS_FAILED, "%s redirects from https to http (%s), which is not followed",
				origin, next_origin);
		if (h->request->head && text_is(origin, h->origin) && !text_is(next_origin, h->origin))
			return STATUS_OK;
		url = next;
	}
	return error_set(err, STATUS_FAILED, "%s redirects more than %d times", h->host, HOPS);
}

// Waits in short steps, so that a stop is heard. False when stopped.
static bool wait_s(const struct http *h, double seconds)
{
	for (double end = clock_ms() + seconds * 1e3; clock_ms() < end;) {
		if (stopped(h))
			return false;
		poll(NULL, 0, 50);
	}
	return !stopped(h);
}

enum status http_do(struct http *h, const struct http_request *request, struct http_answer *out, struct error *err)
{
	struct arena a = { 0 };
	enum status s;
	double begin = clock_ms(), since = begin;
	uint64_t before = request->from ? *request->from : 0;
	h->request = request;
	h->answer = out;
	h->until_ms = begin + h->left_ms;
	for (int tries = 1;; tries++) {
		struct error why = { 0 };
		enum outcome outcome;
		if (stopped(h) || is_spent(h)) {
			s = stopped(h) ? interrupted(err) : spent(h, err);
			break;
		}
		s = try_once(h, &a, &outcome, &why);
		if (outcome == FINAL) {
			if (s)
				error_set(err, why.status, "%s", why.text);
			break;
		}
		// As many bytes came as must come in that time: it is not the same failure again and again.
		if (request->from && *request->from > before &&
			(double)(*request->from - before) * 1e3 >= FLOOR * (clock_ms() - since)) {
			tries = 1;
			before = *request->from;
			since = clock_ms();
		}
		long wait = out->retry_after_s ? out->retry_after_s : 1L << (tries - 1);
		if (tries >= (outcome == TOO_SLOW ? SLOW_TRIES : TRIES) || wait > LONGEST_WAIT_S) {
			s = wait > LONGEST_WAIT_S
				? error_set(err, STATUS_UNAVAILABLE, "%s, and asks to be left alone for %ld s; try again then",
					  why.text, wait)
				: error_set(err, STATUS_UNAVAILABLE, "%s; tried %d times%s", why.text, tries,
					  request->from && *request->from
						  ? "; what has come is kept and the rest is fetched the next time"
						  : "");
			break;
		}
		if (clock_ms() + 1e3 * (double)wait >= h->until_ms) {
			s = spent(h, err);
			error_prefix(err, "%s", why.text);
			break;
		}
		if (h->watch->note) {
			struct text t = { 0 };
			text_addf(&t, "%s; trying again in %ld s", why.text, wait);
			h->watch->note(h->watch->context, text_get(&t));
			text_done(&t);
		}
		if (!wait_s(h, (double)wait)) {
			s = interrupted(err);
			break;
		}
	}
	h->left_ms -= clock_ms() - begin;
	arena_done(&a);
	return s;
}

// ---- texts -------------------------------------------------------------------------------------------------------

struct whole {
	struct text text;
	size_t limit;
};

static enum status whole_begin(void *context, const struct http_answer *answer, struct error *err)
{
	struct whole *w = context;
	if (answer->length > 0 && (uint64_t)answer->length > w->limit)
		return error_set(err, STATUS_FAILED, "an answer of %lld bytes, and at most %zu are read",
			(long long)answer->length, w->limit);
	w->text.length = 0;
	return STATUS_OK;
}

static enum status whole_take(void *context, const void *data, size_t nbytes, struct error *err)
{
	struct whole *w = context;
	if (nbytes > w->limit - w->text.length)
		return error_set(err, STATUS_FAILED, "an answer of more than %zu bytes", w->limit);
	text_add_bytes(&w->text, data, nbytes);
	return STATUS_OK;
}

enum status http_text(struct http *h, struct arena *a, const char *url, size_t limit, char **out, size_t *nbytes,
	struct http_answer *answer, struct error *err)
{
	struct whole w = { .limit = limit };
	struct http_request request = { .url = url, .begin = whole_begin, .take = whole_take, .context = &w };
	enum status s = http_do(h, &request, answer, err);
	if (s) {
		text_done(&w.text);
		return s;
	}
	if (!w.text.data)
		text_add(&w.text, "");
	arena_defer(a, free, w.text.data);
	*out = w.text.data;
	*nbytes = w.text.length;
	return STATUS_OK;
}
