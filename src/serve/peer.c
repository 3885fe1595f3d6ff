// SPDX-License-Identifier: Apache-2.0
#include "serve/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#ifdef __linux__
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#endif
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"

// ---- users --------------------------------------------------------------------------------------------------------------

// As /proc/net/tcp writes addresses: words of 32 bits as this machine reads them, and the port.
static void address_text(char *out, size_t size, const struct sockaddr *peer, bool mapped)
{
	uint32_t w[4] = { 0 };

	if (peer->sa_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)peer;

		memcpy(w, &six->sin6_addr, sizeof w);
		snprintf(out, size, "%08X%08X%08X%08X:%04X", w[0], w[1], w[2], w[3], ntohs(six->sin6_port));
		return;
	}
	const struct sockaddr_in *four = (const void *)peer;

	if (mapped)
		snprintf(out, size, "0000000000000000%08X%08X:%04X", htonl(0xffff), four->sin_addr.s_addr, ntohs(four->sin_port));
	else
		snprintf(out, size, "%08X:%04X", four->sin_addr.s_addr, ntohs(four->sin_port));
}

// ENDED: its process has closed it, and its user is not known. UNASKED: the kernel was not asked, or has not the protocol.
// LISTENS: no connection, but a socket that waits for some at that address.
enum { UNLISTED = -1, ENDED = -2, UNASKED = -3, LISTENS = -4 };

#ifdef __linux__
// The user of the socket at `from` that is connected to `to`, from the kernel.
static long long ask_kernel(const struct sockaddr *from, const struct sockaddr *to, unsigned from_port, unsigned to_port)
{
	const struct sockaddr_in *from_four = (const void *)from, *to_four = (const void *)to;
	const struct sockaddr_in6 *from_six = (const void *)from, *to_six = (const void *)to;
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 ask;
	} asked = { .head = { sizeof asked, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST },
		.ask = { .sdiag_family = (uint8_t)from->sa_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX } };
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} told;
	struct inet_diag_sockid *id = &asked.ask.id;
	const struct inet_diag_msg *found = NLMSG_DATA(&told.head);
	const struct nlmsgerr *failed = NLMSG_DATA(&told.head);

	if (from->sa_family == AF_INET) {
		id->idiag_src[0] = from_four->sin_addr.s_addr;
		id->idiag_dst[0] = to_four->sin_addr.s_addr;
	} else {
		memcpy(id->idiag_src, &from_six->sin6_addr, sizeof id->idiag_src);
		memcpy(id->idiag_dst, &to_six->sin6_addr, sizeof id->idiag_dst);
	}
	id->idiag_sport = htons((uint16_t)from_port);
	id->idiag_dport = htons((uint16_t)to_port);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n = fd >= 0 && send(fd, &asked, sizeof asked, 0) == sizeof asked ? recv(fd, &told, sizeof told, 0) : -1;
	if (fd >= 0)
		close(fd);
	if (n >= (ssize_t)NLMSG_LENGTH(sizeof *failed) && told.head.nlmsg_type == NLMSG_ERROR && failed->error == -ENOENT)
		return UNLISTED;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof *found) || told.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return UNASKED;
	enum { TCP_LISTEN = 10 };
	return found->idiag_state == TCP_LISTEN ? LISTENS : found->idiag_inode ? (long long)found->idiag_uid : ENDED;
}

// user_of of one connection, which the kernel finds by its addresses: with the thousands that another user opens, each look at
// the whole list takes milliseconds. A connection that was reset before we took it is in no list, which a kernel without the
// protocol says of every one: it knows our own end, or where we listen.
static long long user_by_addresses(const struct sockaddr *peer, const struct sockaddr *own, unsigned port)
{
	const struct sockaddr_in *four = (const void *)peer, *own_four = (const void *)own;
	const struct sockaddr_in6 *six = (const void *)peer, *own_six = (const void *)own;
	const unsigned from = ntohs(peer->sa_family == AF_INET ? four->sin_port : six->sin6_port);

	if (peer->sa_family != own->sa_family || (peer->sa_family != AF_INET && peer->sa_family != AF_INET6) ||
		(peer->sa_family == AF_INET && own_four->sin_addr.s_addr == htonl(INADDR_ANY)) ||
		(peer->sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&own_six->sin6_addr)))
		return UNASKED;
	long long user = ask_kernel(peer, own, from, port);
	if (user == UNLISTED) {
		user = ask_kernel(own, peer, port, from);
		return user == UNLISTED || user == UNASKED ? UNASKED : ENDED;
	}
	return user == LISTENS ? ENDED : user;
}
#else
static long long user_by_addresses(const struct sockaddr *peer, const struct sockaddr *own, unsigned port)
{
	(void)peer, (void)own, (void)port;
	return UNASKED;
}
#endif

// The user of the socket at `address` that is connected to our port. ENDED: its process has closed it, and its user is not known.
static long long user_of(const char *list, const char *address, unsigned port)
{
	char line[512], local[64], remote[64], wanted[8];
	long long user = UNLISTED;
	unsigned long inode;
	unsigned uid;
	FILE *f = fopen(list, "re");

	snprintf(wanted, sizeof wanted, ":%04X", port);
	while (f && user == UNLISTED && fgets(line, sizeof line, f))
		if (sscanf(line, " %*d: %63[0-9A-F:] %63[0-9A-F:] %*x %*x:%*x %*x:%*x %*x %u %*d %lu", local, remote, &uid,
			    &inode) == 4 &&
			!strcmp(local, address) && text_ends(remote, wanted))
			user = inode ? (long long)uid : ENDED;
	if (f)
		fclose(f);
	return user;
}

bool peer_is_other_user(const struct sockaddr *peer, const struct sockaddr *own, unsigned port)
{
	char address[64];
	long long user = user_by_addresses(peer, own, port);
	const bool is_asked = user != UNASKED;

	if (!is_asked && peer->sa_family == AF_INET) {
		address_text(address, sizeof address, peer, false);
		user = user_of("/proc/self/net/tcp", address, port);
	}
	if (!is_asked && user < 0 && user != ENDED && (peer->sa_family == AF_INET || peer->sa_family == AF_INET6)) {
		address_text(address, sizeof address, peer, true);
		user = user_of("/proc/self/net/tcp6", address, port);
	}
	return user == ENDED || (user > 0 && user != (long long)geteuid());
}

// ---- names --------------------------------------------------------------------------------------------------------------

// Of "host:port" or "[address]:port"; false: neither.
static bool host_of(const char *text, char *out, size_t size, bool *in_brackets)
{
	const char *end;

	*in_brackets = *text == '[';
	end = *in_brackets ? strchr(++text, ']') : text + strcspn(text, ":");
	if (!end || end == text || (size_t)(end - text) >= size)
		return false;
	memcpy(out, text, (size_t)(end - text));
	out[end - text] = 0;
	end += *in_brackets;
	return !*end || *end == ':';
}

bool peer_names_us(const char *host, const char *name)
{
	char asked[256], own[256] = "", local[sizeof own + 8];
	unsigned char ignored[16];
	bool in_brackets;

	if (!host || !host_of(host, asked, sizeof asked, &in_brackets))
		return false;
	if (in_brackets)
		return inet_pton(AF_INET6, asked, ignored) == 1;
	gethostname(own, sizeof own - 1);
	snprintf(local, sizeof local, "%s.local", own);
	return inet_pton(AF_INET, asked, ignored) == 1 || !strcasecmp(asked, "localhost") ||
		(*own && (!strcasecmp(asked, own) || !strcasecmp(asked, local))) || (name && !strcasecmp(asked, name));
}

bool peer_origin_is_ours(const char *origin, const char *host)
{
	if (!origin)
		return true;
	if (text_starts(origin, "http://"))
		origin += 7;
	else if (text_starts(origin, "https://"))
		origin += 8;
	else
		return false;
	return host && !strcasecmp(origin, host);
}

// ---- strangers ----------------------------------------------------------------------------------------------------------

void strangers_init(struct strangers *s)
{
	s->count = 0;
	pthread_mutex_init(&s->lock, NULL);
}

void strangers_done(struct strangers *s)
{
	pthread_mutex_destroy(&s->lock);
}

static void take_out(struct strangers *s, size_t i)
{
	s->count--;
	memmove(&s->items[i], &s->items[i + 1], (s->count - i) * sizeof *s->items);
}

void strangers_add(struct strangers *s, const void *connection, int fd)
{
	pthread_mutex_lock(&s->lock);
	if (s->count == STRANGERS_MOST) {
		shutdown(s->items[0].fd, SHUT_RDWR); // the thread that reads from it closes it
		take_out(s, 0);
	}
	s->items[s->count].connection = connection;
	s->items[s->count++].fd = fd;
	pthread_mutex_unlock(&s->lock);
}

void strangers_remove(struct strangers *s, const void *connection)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].connection == connection) {
			take_out(s, i);
			break;
		}
	pthread_mutex_unlock(&s->lock);
}
