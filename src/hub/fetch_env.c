// SPDX-License-Identifier: Apache-2.0
// What the environment says about the Hub, read as huggingface_hub reads it.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "hub/fetch_inside.h"

static const char public_hub[] = "https://huggingface.co";

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

static bool is_true(const char *name)
{
	const char *value = variable(name);
	return value &&
		(!strcmp(value, "1") || !strcasecmp(value, "on") || !strcasecmp(value, "yes") || !strcasecmp(value, "true"));
}

bool fetch_is_offline(void)
{
	return variable("HF_HUB_OFFLINE") ? is_true("HF_HUB_OFFLINE") : is_true("TRANSFORMERS_OFFLINE");
}

const char *fetch_endpoint(struct arena *a)
{
	const char *url = fetch_endpoint_url(a), *scheme = strstr(url, "://"), *at = NULL;

	for (const char *p = scheme ? scheme + 3 : ""; *p && !strchr("/?#", *p); p++)
		at = *p == '@' ? p : at; // of several the last: a password may have one
	return at ? arena_printf(a, "%.*s%s", (int)(scheme + 3 - url), url, at + 1) : url;
}

const char *fetch_endpoint_url(struct arena *a)
{
	char *endpoint = arena_strdup(a, variable("HF_ENDPOINT") ? variable("HF_ENDPOINT") : public_hub);
	for (size_t n = strlen(endpoint); n && endpoint[n - 1] == '/'; n--)
		endpoint[n - 1] = 0;
	return endpoint;
}

double fetch_time_s(uint64_t nbytes)
{
	enum { LEAST_S = 1800, RATE = 16 << 10, MOST_S = 30 * 86400 };
	const char *asked = variable("ASSAY_FETCH_TIMEOUT");
	int64_t seconds;

	return asked && text_to_int(asked, 1, MOST_S, &seconds) ? (double)seconds : LEAST_S + (double)nbytes / RATE;
}

static const char *token_file(struct arena *a)
{
	if (variable("HF_TOKEN_PATH"))
		return variable("HF_TOKEN_PATH");
	if (variable("HF_HOME"))
		return arena_printf(a, "%s/token", variable("HF_HOME"));
	if (variable("XDG_CACHE_HOME"))
		return arena_printf(a, "%s/huggingface/token", variable("XDG_CACHE_HOME"));
	return arena_printf(a, "%s/.cache/huggingface/token", variable("HOME") ? variable("HOME") : "");
}

enum status fetch_token(const char **out, struct arena *a, struct error *err)
{
	const char *from = variable("HF_TOKEN") ? "HF_TOKEN" : "HUGGING_FACE_HUB_TOKEN", *given = variable(from);
	char *token = given ? arena_strdup(a, given) : NULL;
	size_t nbytes;
	*out = NULL;
	if (is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN"))
		return STATUS_OK;
	if (!token) {
		from = token_file(a);
		if (file_read(a, from, 4096, &token, &nbytes, NULL))
			return STATUS_OK;
	}
	token += strspn(token, " \t\r\n");
	for (size_t n = strlen(token); n && strchr(" \t\r\n", token[n - 1]); n--)
		token[n - 1] = 0;
	for (const char *p = token; *p; p++)
		if (*p <= 32 || *p == 127)
			return error_set(err, STATUS_BAD_INPUT, "%s: the token in it has a character that no token has", from);
	*out = *token ? token : NULL;
	return STATUS_OK;
}
