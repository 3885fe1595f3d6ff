// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Who may ask a server of ours: names, origins, and connections that have not said who they are. tests/attack/browser.sh asks a
// real one.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/peer.h"

static void names(void **state)
{
	static const char *const good[] = { "127.0.0.1", "127.0.0.1:80", "10.0.0.7:40123", "[::1]:40123", "[2001:db8::1]",
		"localhost", "LOCALHOST:1", "proxy.example:443" };
	static const char *const bad[] = { "", ":80", "evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example",
		"127.1:80", "0x7f000001", "2130706433", "[evil]:80", "[::1", "[::1]x", "::1", "[]:80", "proxy.example.evil",
		"127.0.0.1 evil" };
	char own[256] = "", local[300];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		if (!peer_names_us(good[i], "proxy.example"))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (peer_names_us(bad[i], "proxy.example"))
			fail_msg("%s is taken", bad[i]);
	assert_false(peer_names_us(NULL, NULL));
	assert_false(peer_names_us("proxy.example", NULL));
	gethostname(own, sizeof own - 1);
	snprintf(local, sizeof local, "%s.local:80", own);
	assert_true(peer_names_us(own, NULL) && peer_names_us(local, NULL));
	snprintf(local, sizeof local, "%s.evil.example", own);
	assert_false(peer_names_us(local, NULL));
}

static void origins(void **state)
{
	(void)state;
	assert_true(peer_origin_is_ours(NULL, "127.0.0.1:80"));
	assert_true(peer_origin_is_ours("http://127.0.0.1:80", "127.0.0.1:80"));
	assert_true(peer_origin_is_ours("https://proxy.example", "proxy.example"));
	assert_false(peer_origin_is_ours("http://127.0.0.1:81", "127.0.0.1:80"));
	assert_false(peer_origin_is_ours("null", "127.0.0.1:80"));
	assert_false(peer_origin_is_ours("file://127.0.0.1:80", "127.0.0.1:80"));
	assert_false(peer_origin_is_ours("http://evil.example", "127.0.0.1:80"));
	assert_false(peer_origin_is_ours("http://127.0.0.1:80", NULL));
}

// One more than there is room for closes the oldest; one that has left or is trusted is not closed.
static void strangers(void **state)
{
	struct strangers s;
	int ends[STRANGERS_MOST + 2][2];
	char byte;

	(void)state;
	strangers_init(&s);
	for (size_t i = 0; i < STRANGERS_MOST + 2; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends[i]), 0);
	for (size_t i = 0; i < STRANGERS_MOST; i++)
		strangers_add(&s, &ends[i], ends[i][0]);
	strangers_remove(&s, &ends[0]); // trusted now
	strangers_remove(&s, &ends[0]);
	strangers_add(&s, &ends[STRANGERS_MOST], ends[STRANGERS_MOST][0]);
	assert_int_equal(read(ends[1][1], &byte, 1), -1);
	strangers_add(&s, &ends[STRANGERS_MOST + 1], ends[STRANGERS_MOST + 1][0]);
	assert_int_equal(read(ends[1][1], &byte, 1), 0); // closed
	for (size_t i = 0; i < STRANGERS_MOST + 2; i++) {
		assert_int_equal(read(ends[i][1], &byte, 1), i == 1 ? 0 : -1);
		close(ends[i][0]);
		close(ends[i][1]);
	}
	strangers_done(&s);
}

// Our own connection is nobody else's; one that is closed or reset before it was taken is refused: it may have been anybody's.
static void connections(void **state)
{
	static const struct linger reset = { .l_onoff = 1 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, from;
	socklen_t size = sizeof at;
	int listens = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(bind(listens, (void *)&at, sizeof at), 0);
	assert_int_equal(listen(listens, 8), 0);
	assert_int_equal(getsockname(listens, (void *)&at, &size), 0);
	for (int how = 0; how < 3; how++) { // open, closed, reset
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		assert_int_equal(connect(fd, (void *)&at, sizeof at), 0);
		size = sizeof from;
		assert_int_equal(getsockname(fd, (void *)&from, &size), 0);
		if (how == 2)
			assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
		if (how)
			close(fd);
		assert_int_equal(peer_is_other_user((void *)&from, (void *)&at, ntohs(at.sin_port)), how > 0);
		int taken = accept(listens, NULL, NULL);
		assert_int_equal(peer_is_other_user((void *)&from, (void *)&at, ntohs(at.sin_port)), how > 0);
		close(taken);
		if (!how)
			close(fd);
	}
	close(listens);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names), cmocka_unit_test(origins), cmocka_unit_test(strangers),
		cmocka_unit_test(connections) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
