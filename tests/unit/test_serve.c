// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The conversation with a browser's page, and who else wants a word in it: another browser that has the key, answers that nobody
// waits for, the same answer again, answers to another command or of another page, and bodies that are too long. Host, Origin and
// other users: tests/attack/browser.sh.
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/serve.h"

enum { REPLY_MOST = 200000 };
static struct serve *server;
static char token[64], host[64];

// The status of the answer; 0: there was none. `nbytes` of zeros follow the text of the body, as many as are taken.
static int ask(const char *method, const char *path, const char *body, size_t nbytes)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static const char zeros[1 << 16];
	char head[1024], answer[64];
	int status = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), length;

	address.sin_port = htons((uint16_t)strtol(strchr(host, ':') + 1, NULL, 10));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	length = snprintf(head, sizeof head,
		"%s /%s/page/%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", method, token, path,
		host, strlen(body) + nbytes, body);
	assert_int_equal(send(fd, head, (size_t)length, MSG_NOSIGNAL), length);
	while (nbytes > 0) {
		ssize_t n = send(fd, zeros, nbytes < sizeof zeros ? nbytes : sizeof zeros, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		nbytes -= (size_t)n;
	}
	ssize_t n = recv(fd, answer, sizeof answer - 1, 0);
	if (n > 12) {
		answer[n] = '\0';
		sscanf(answer, "HTTP/1.1 %d", &status);
	}
	close(fd);
	return status;
}

// What serve_ask has got, in a thread of its own.
struct asking {
	struct text reply;
	struct error err;
	enum status status;
};

static void *ask_page(void *context)
{
	struct asking *a = context;

	a->status = serve_ask(server, 0, "do this", 7, REPLY_MOST, NULL, NULL, &a->reply, &a->err);
	return NULL;
}

// Until the page has the command.
static void wait_for_command(const char *path)
{
	int status = 204;

	for (int i = 0; i < 1000 && status == 204; i++)
		status = ask("GET", path, "", 0);
	assert_int_equal(status, 200);
}

static void test_conversation(void **state)
{
	const char *hello;
	struct asking a = { 0 };
	struct text notes = { 0 };
	pthread_t thread;

	(void)state;
	assert_int_equal(ask("POST", "0/reply?i=own&n=1", "too early", 0), 409);
	assert_int_equal(ask("POST", "0/hello?i=own", "{}", 5 << 20), 413);
	assert_int_equal(ask("POST", "0/hello?i=own", "{}", 0), 200);
	assert_int_equal(serve_hello(server, 0, 10, NULL, NULL, &hello, NULL), STATUS_OK);
	assert_string_equal(hello, "{}");
	// Another browser, and the same one that says something else.
	assert_int_equal(ask("POST", "0/hello?i=other", "{\"x\":1}", 0), 409);
	assert_int_equal(ask("POST", "0/hello?i=own", "{\"x\":1}", 0), 409);
	assert_int_equal(ask("GET", "0/next?i=other&n=1", "", 0), 409);
	assert_string_equal(hello, "{}");
	// One that nobody waits for is not kept.
	assert_int_equal(ask("POST", "0/reply?i=own&n=1", "", 65537), 413);
	assert_int_equal(ask("POST", "0/note?i=own", "", 65537), 413);

	assert_int_equal(pthread_create(&thread, NULL, ask_page, &a), 0);
	wait_for_command("0/next?i=own&n=1");
	assert_int_equal(ask("POST", "0/reply?i=other&n=1", "another browser's", 0), 409);
	assert_int_equal(ask("POST", "1/reply?i=own&n=1", "another page's", 0), 409);
	assert_int_equal(ask("POST", "0/reply?i=own&n=2", "to another command", 0), 409);
	assert_int_equal(ask("POST", "0/reply?i=own", "to none", 0), 409);
	assert_int_equal(ask("POST", "0/reply?i=other&n=1", "", 65537), 413);
	assert_int_equal(ask("POST", "9/reply?i=own&n=1", "no page", 0), 404);
	assert_int_equal(ask("POST", "0/reply?i=own&n=1", "done", 100000), 200);
	pthread_join(thread, NULL);
	assert_int_equal(a.status, STATUS_OK);
	assert_int_equal(a.reply.length, 100004);
	assert_memory_equal(text_get(&a.reply), "done", 4);
	// The same answer again, and to the next command.
	assert_int_equal(ask("POST", "0/reply?i=own&n=1", "done", 0), 409);
	text_done(&a.reply);
	a = (struct asking){ 0 };
	assert_int_equal(pthread_create(&thread, NULL, ask_page, &a), 0);
	wait_for_command("0/next?i=own&n=2");
	assert_int_equal(ask("POST", "0/reply?i=own&n=1", "done", 0), 409);
	assert_int_equal(ask("POST", "0/reply?i=own&n=2", "and this", 0), 200);
	pthread_join(thread, NULL);
	assert_int_equal(a.status, STATUS_OK);
	assert_string_equal(text_get(&a.reply), "and this");
	text_done(&a.reply);
	// One that is longer than it can be: who waits is told while it comes.
	a = (struct asking){ 0 };
	assert_int_equal(pthread_create(&thread, NULL, ask_page, &a), 0);
	wait_for_command("0/next?i=own&n=3");
	assert_int_equal(ask("POST", "0/reply?i=own&n=3", "", REPLY_MOST + 1), 413);
	pthread_join(thread, NULL);
	assert_int_equal(a.status, STATUS_FAILED);
	assert_non_null(strstr(a.err.text, "larger than the 200000 bytes"));
	assert_int_equal(a.reply.length, 0);
	// Notes without an end are cut.
	for (int i = 0; i < 5; i++)
		assert_int_equal(ask("POST", "0/note?i=own", "a note", 60000), 200);
	serve_notes(server, 0, &notes);
	assert_true(notes.length < 3 * 65536);
	text_done(&notes);
}

enum { BEGUN_NBYTES = 1000000 };

// A body that begins and does not end. Returns its socket.
static int begin_body(int i)
{
	static const char body[BEGUN_NBYTES];
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_port = htons((uint16_t)strtol(strchr(host, ':') + 1, NULL, 10));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	dprintf(fd, "POST /%s/page/3/hello?i=x%d HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", token, i, host,
		BEGUN_NBYTES + 1);
	for (size_t sent = 0; sent < BEGUN_NBYTES;) {
		ssize_t n = send(fd, body + sent, BEGUN_NBYTES - sent, MSG_NOSIGNAL);
		assert_true(n > 0);
		sent += (size_t)n;
	}
	return fd;
}

// Bodies that begin and do not end take 8 MiB together, however many they are: the others are turned away, and when they are gone
// there is room again.
static void test_begun(void **state)
{
	enum { FIRST = 12, MOST = 100 };
	int fd[MOST], count = 0, status;

	(void)state;
	while (count < FIRST)
		fd[count] = begin_body(count), count++;
	// While there is room it joins, and is told so. Its own body may have been what the begun ones were too large beside:
	// then they are kept no more, and leave as much room as it takes, which the next one fills.
	for (int i = 0; i < 500 && (status = ask("POST", "2/hello?i=late", "{}", 400000)) != 413; i++) {
		usleep(10000);
		if (count < MOST)
			fd[count] = begin_body(count), count++;
	}
	assert_int_equal(status, 413);
	while (count > 0)
		close(fd[--count]);
	for (int i = 0; i < 500 && (status = ask("POST", "3/hello?i=late", "{}", 400000)) != 200; i++)
		usleep(10000);
	assert_int_equal(status, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_conversation), cmocka_unit_test(test_begun) };

	if (serve_open(&server, NULL, NULL) != STATUS_OK ||
		sscanf(serve_url(server, 0), "http://%63[^/]/%63[^/]/", host, token) != 2)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	serve_close(server);
	return failed;
}
