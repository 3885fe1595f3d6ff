// SPDX-License-Identifier: Apache-2.0
// Who may ask a server of ours. The token in every path is the key; this is what keeps those who have none from trying it, from
// using a browser's page as their hands, and from taking all connections for themselves.
#ifndef ASSAY_SERVE_PEER_H
#define ASSAY_SERVE_PEER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

// Whether the process at the other end of a connection from this machine to our `port` at the address `own` is of another user,
// neither us nor the super-user, or has closed or reset it already. False where the kernel does not tell.
bool peer_is_other_user(const struct sockaddr *peer, const struct sockaddr *own, unsigned port);

// A Host header that can mean us: an address as a number, "localhost", the name of this machine, or `name` (NULL: none). Any
// other name may be an attacker's, who lets it point here (DNS rebinding).
bool peer_names_us(const char *host, const char *name);
// An Origin header is the page's own when it has the host that was asked; NULL, which is no header, is fine.
bool peer_origin_is_ours(const char *origin, const char *host);

// Connections that have not named the token yet. There is room for so many; one more closes the oldest.
enum { STRANGERS_MOST = 32 };

struct strangers {
	pthread_mutex_t lock;
	struct {
		const void *connection;
		int fd;
	} items[STRANGERS_MOST]; // the oldest first
	size_t count;
};

void strangers_init(struct strangers *s);
void strangers_add(struct strangers *s, const void *connection, int fd);
// It has named the token, or has ended; to be called before its descriptor is closed. Not among them is fine.
void strangers_remove(struct strangers *s, const void *connection);
void strangers_done(struct strangers *s);

#endif
