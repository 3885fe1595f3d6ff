// SPDX-License-Identifier: Apache-2.0
// libcurl, opened when something is fetched and not before: linked, it and the 30 libraries behind it would cost every start of
// the program, and every child that measures, 5 ms and a TLS library it does not need.
#ifndef ASSAY_HUB_FETCH_CURL_H
#define ASSAY_HUB_FETCH_CURL_H

#include <curl/curl.h>

#include "base/error.h"

#define CURL_FUNCTIONS(X) \
	X(global_init, curl_global_init) \
	X(easy_init, curl_easy_init) \
	X(setopt, curl_easy_setopt) \
	X(getinfo, curl_easy_getinfo) \
	X(perform, curl_easy_perform) \
	X(reset, curl_easy_reset) \
	X(cleanup, curl_easy_cleanup) \
	X(strerror, curl_easy_strerror) \
	X(append, curl_slist_append) \
	X(free_list, curl_slist_free_all) \
	X(url, curl_url) \
	X(url_set, curl_url_set) \
	X(url_get, curl_url_get) \
	X(url_cleanup, curl_url_cleanup) \
	X(free, curl_free)

struct curl_table {
#define X(member, function) __typeof__(&function) member;
	CURL_FUNCTIONS(X)
#undef X
};

// The functions of libcurl, which stays loaded till exit. UNAVAILABLE when it is not on this machine.
enum status curl_load(const struct curl_table **out, struct error *err);

#endif
