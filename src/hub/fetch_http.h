// SPDX-License-Identifier: Apache-2.0
// Requests to the Hub, and to wherever it redirects. Redirects are followed here, one hop at a time: the token goes to the Hub's
// own scheme, host and port and nowhere else, and never from https to http. What may pass (no answer, a cut connection, 408,
// 429, 5xx) is tried again with back-off or after as long as the server says; what arrived in between is not asked for again.
#ifndef ASSAY_HUB_FETCH_HTTP_H
#define ASSAY_HUB_FETCH_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "hub/fetch.h"

struct http;

struct http_answer { // of the last hop; linked_* and commit of the last hop that gave them
	long status;
	char etag[264];        // without W/ and quotes; "" when there is none
	char linked_etag[264]; // of the file behind a redirect
	char commit[72];
	char error_code[64];            // X-Error-Code: GatedRepo, RepoNotFound, RevisionNotFound, EntryNotFound
	char error_message[512];        // for people; printable
	int64_t linked_size, length;    // -1: not given
	bool has_end;                   // it says where it ends (a length, chunks, HTTP/2); else where the connection does
	bool is_weak;                   // the ETag is: two versions that are not the same, byte by byte, may have it
	int64_t range_from, range_last; // of Content-Range; -1: none
	int64_t range_total;            // of Content-Range, the whole file; -1: none or "*"
	long retry_after_s;             // of Retry-After, else of RateLimit; 0: not given
	char other[264];                // "https://host:443" that a redirect led to, which knows no token; "": the Hub itself
};

struct http_request {
	const char *url;
	bool head;            // HEAD; a redirect to another host is then not followed but is the answer
	const uint64_t *from; // where the next byte belongs: a Range is asked for when it is not 0; NULL: no ranges
	// Called when a 2xx answer begins, also one without a body, and for each piece of the body. Failing ends the request.
	enum status (*begin)(void *context, const struct http_answer *answer, struct error *err);
	enum status (*take)(void *context, const void *data, size_t nbytes, struct error *err);
	void *context;
};

// `endpoint` and `token` (NULL: none) outlive it; so does `watch`. Released with the arena.
enum status http_open(struct http **out, struct arena *a, const char *endpoint, const char *token,
	const struct fetch_watch *watch, struct error *err);
// From here on all requests together, waits between tries among them, take no longer; http_open sets fetch_time_s(0).
void http_budget(struct http *h, double seconds);
// OK: there is an answer, whatever its status says. UNAVAILABLE: the server cannot be reached, or
// the budget is spent. INTERRUPTED: watch->stop.
enum status http_do(struct http *h, const struct http_request *request, struct http_answer *out, struct error *err);
// A whole text of at most `limit` bytes; the answer may be of any status, the text is that of a 2xx one.
enum status http_text(struct http *h, struct arena *a, const char *url, size_t limit, char **out, size_t *nbytes,
	struct http_answer *answer, struct error *err);
// One line of an answer's header, as it came and without a NUL after it; what it says, if anything that is wanted, goes into
// `x`.
void http_header(struct http_answer *x, const char *line, size_t length);
const char *http_host(const struct http *h); // of the endpoint, for messages: "localhost:8000"
bool http_has_token(const struct http *h);
// Percent-encoded; '/' stays when keep_slashes.
const char *http_quote(struct arena *a, const char *text, bool keep_slashes);

#endif
