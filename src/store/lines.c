// SPDX-License-Identifier: Apache-2.0
#include "store/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

struct look {
	bool csv, quoted; // quoted: a line of CSV goes on behind its end
	int64_t lines, length, columns;
	const char *why;
};

static void look_at(struct look *l, const char *data, size_t n, int64_t most)
{
	for (size_t i = 0; i < n && l->why == NULL; i++) {
		char c = data[i];
		l->length++;
		if (l->csv && c == '"')
			l->quoted = !l->quoted;
		if (l->csv && l->lines == 0)
			l->columns += c == ',';
		if (c == '\n' && !l->quoted) {
			l->lines++;
			l->length = 0;
		}
		if (l->csv && l->lines == 0 && (l->length > HEADER_MOST || l->columns >= COLUMNS_MOST))
			l->why = "has more names of columns than any that assay writes";
		else if (l->length > LINE_MOST)
			l->why = "has a line of more than 2 MiB, and assay writes none";
		else if (l->lines > most + l->csv)
			l->why = "has too many lines; --rows allows more";
	}
}

enum status lines_look(const char *path, int64_t most, struct error *err)
{
	enum { CHUNK = 1 << 18 };
	const char *slash = strrchr(path, '/');
	struct look l = { .csv = text_ends(path, ".csv") };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *data = malloc(CHUNK);
	ssize_t n = 0;

	if (data == NULL)
		abort(); // as an arena does
	while (fd >= 0 && l.why == NULL && ((n = read(fd, data, CHUNK)) > 0 || (n < 0 && errno == EINTR)))
		look_at(&l, data, n > 0 ? (size_t)n : 0, most);
	free(data);
	if (fd < 0 || n < 0)
		error_errno(err, "%s", path);
	else if (l.why != NULL)
		error_set(err, STATUS_BAD_INPUT, "its %s %s", slash != NULL ? slash + 1 : path, l.why);
	if (fd >= 0)
		close(fd);
	return fd < 0 || n < 0 ? STATUS_FAILED : l.why != NULL ? STATUS_BAD_INPUT : STATUS_OK;
}
