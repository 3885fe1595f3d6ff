// SPDX-License-Identifier: Apache-2.0
// Any bytes on a connection to the server of browsers' pages; "TOKEN" and "HOST" in them stand for its secret and its address,
// which a stranger does not know. It answers with HTTP or not at all, lives on, gives nothing to who has no token, and to nobody
// a file outside of its folders.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "fuzz.h"
#include "serve/serve.h"

static const char given[] = "what is given out", hidden[] = "this lies outside of the folder";

static struct serve *server;
static char token[64], host[64];
static struct sockaddr_in address;

static size_t read_given(const void *context, uint64_t at, void *out, size_t nbytes)
{
	const char *text = context;

	memcpy(out, text + at, nbytes);
	return nbytes;
}

static void start(void)
{
	const struct serve_file file = { sizeof given - 1, read_given, given };
	char folder[4200];
	unsigned port;

	if (serve_open(&server, NULL, NULL))
		abort();
	if (sscanf(serve_url(server, 0), "http://%63[^/]/%63[^/]/page/0/", host, token) != 2 ||
		sscanf(host, "127.0.0.1:%u", &port) != 1)
		abort();
	address = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	snprintf(folder, sizeof folder, "%s/public", fuzz_folder());
	if (mkdir(folder, 0700))
		abort();
	fuzz_put("hidden", hidden, sizeof hidden - 1);
	fuzz_put("public/a.txt", given, sizeof given - 1);
	snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/link");
	if (symlink("../hidden", folder))
		abort();
	folder[strlen(folder) - strlen("/link")] = 0;
	serve_add(server, "w.bin", &file);
	serve_folder(server, "ort", folder);
}

// The words replaced.
static void fill(struct text *out, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size;) {
		if (size - i >= 5 && !memcmp(data + i, "TOKEN", 5)) {
			text_add(out, token);
			i += 5;
		} else if (size - i >= 4 && !memcmp(data + i, "HOST", 4)) {
			text_add(out, host);
			i += 4;
		} else {
			text_add_bytes(out, data + i++, 1);
		}
	}
}

static void talk(const struct text *request, struct text *answer)
{
	const struct timeval patience = { .tv_sec = 30 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char buffer[8192];
	ssize_t n = 0;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
		connect(fd, (struct sockaddr *)&address, sizeof address)) {
		perror("fuzz: the server takes no connection");
		abort();
	}
	for (size_t at = 0; at < request->length && n >= 0; at += (size_t)n) // it may hang up before it has read everything
		if ((n = send(fd, request->data + at, request->length - at, MSG_NOSIGNAL)) < 0)
			break;
	shutdown(fd, SHUT_WR);
	while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0)
		text_add_bytes(answer, buffer, (size_t)n);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		fprintf(stderr, "fuzz: the server neither answers nor hangs up\n");
		abort();
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text request = { 0 }, answer = { 0 }, notes = { 0 };

	if (!server)
		start();
	fill(&request, data, size);
	fuzz_memory_begin();
	talk(&request, &answer);
	fuzz_memory_end(request.length, 8 << 20, 64); // a connection has blocks of 1 MiB for files
	bool has_token = request.length && memmem(request.data, request.length, token, strlen(token));
	const char *all = text_get(&answer);

	if (answer.length && !text_starts(all, "HTTP/1."))
		abort();
	if (!has_token && (strstr(all, "HTTP/1.1 2") || strstr(all, "HTTP/1.0 2")))
		abort();
	if (answer.length &&
		(memmem(all, answer.length, hidden, sizeof hidden - 1) ||
			(!has_token && memmem(all, answer.length, given, sizeof given - 1))))
		abort();
	for (int page = 0; page < SERVE_PAGES; page++) {
		serve_notes(server, page, &notes);
		serve_reset(server, page);
	}
	text_done(&request);
	text_done(&answer);
	text_done(&notes);
	return 0;
}
