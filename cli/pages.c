// SPDX-License-Identifier: Apache-2.0
// Checkpoints are mapped, not read. Where a page of one cannot be had any more, because its disk fails or the file became
// shorter, the kernel has no other way to say so than SIGBUS. It is turned into a sentence that names the file, or, where rows
// are made, into zeros that these rows learn of (base/pages.h). In the handler nothing but system calls: the name comes from
// /proc/self/maps.
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/pages.h"
#include "command.h"
#include "emit.h"

static bool dies_of_it;

// The line of /proc/self/maps that the address is in, cut to its path; "" for none. True: it is one that file_map made, and no
// library's.
static bool find_path(uintptr_t address, char *line, size_t size)
{
	char buffer[4096];
	size_t length = 0;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			uintptr_t number[2] = { 0, 0 };
			size_t at = 0;

			if (buffer[i] != '\n') {
				if (length + 1 < size)
					line[length++] = buffer[i];
				continue;
			}
			line[length] = 0;
			for (int k = 0; k < 2; k++, at++)
				for (; line[at] && line[at] != '-' && line[at] != ' '; at++)
					number[k] = number[k] * 16 +
						(uintptr_t)(line[at] <= '9' ? line[at] - '0' : line[at] - 'a' + 10);
			char *path = strchr(line, '/');
			if (address >= number[0] && address < number[1] && path) {
				bool is_ours = strncmp(line + at, "r--s", 4) == 0;
				memmove(line, path, strlen(path) + 1);
				close(fd);
				return is_ours;
			}
			length = 0;
		}
	}
	if (fd >= 0)
		close(fd);
	line[0] = 0;
	return false;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	char line[4096];

	(void)context;
	if (find_path((uintptr_t)info->si_addr, line, sizeof line) && pages_lose((uintptr_t)info->si_addr, line))
		return;
	emit_in_handler((const char *const[]){ "assay: ", *line ? line : "a mapped file", PAGES_LOST_WORDS, NULL });
	if (!dies_of_it)
		_exit(EXIT_USE);
	signal(number, SIG_DFL);
	raise(number);
}

void cli_watch_pages(bool is_child)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	dies_of_it = is_child;
	sigaction(SIGBUS, &action, NULL);
}
