// SPDX-License-Identifier: Apache-2.0
// Small files of the kernel, and how facts are put into JSON: absent where they are not known.
#include "platform/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_SIZE = 1 << 16 };

static char *read_below(const struct sysfs *s, const char *format, va_list ap)
{
	const char *path = arena_vprintf(s->arena, format, ap);
	// Files of /proc and /sys say that they have no bytes: file_read is for real ones.
	FILE *f = fopen(arena_printf(s->arena, "%s%s", s->root, path), "re");
	char *buffer, *out;
	size_t n;

	if (!f)
		return NULL;
	buffer = malloc(TEXT_SIZE);
	n = buffer ? fread(buffer, 1, TEXT_SIZE - 1, f) : 0;
	// Some answer EINVAL or EIO when they are read ("hidden by the firmware"): that is not an empty value.
	if (!buffer || ferror(f)) {
		fclose(f);
		free(buffer);
		return NULL;
	}
	fclose(f);
	while (n && isspace((unsigned char)buffer[n - 1]))
		n--;
	out = arena_strndup(s->arena, buffer, n);
	free(buffer);
	return out;
}

char *sysfs_text(const struct sysfs *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	char *out = read_below(s, format, ap);
	va_end(ap);
	return out;
}

char *sysfs_line(const struct sysfs *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	char *out = read_below(s, format, ap);
	va_end(ap);
	if (out)
		out[strcspn(out, "\n")] = 0;
	return out;
}

int64_t sysfs_number(const struct sysfs *s, int64_t otherwise, const char *format, ...)
{
	va_list ap;
	char *end;

	va_start(ap, format);
	const char *text = read_below(s, format, ap);
	va_end(ap);
	if (!text || !*text)
		return otherwise;
	errno = 0;
	const long long n = strtoll(text, &end, 0);
	return errno || end == text || (*end && !isspace((unsigned char)*end)) ? otherwise : n;
}

const char *sysfs_value(const struct sysfs *s, const char *text, const char *key)
{
	const size_t n = strlen(key);

	for (const char *at = text; at && *at;) {
		const size_t length = strcspn(at, "\n");

		if (length > n && !strncmp(at, key, n) && strchr(" \t:=", at[n])) {
			const char *value = at + n + strspn(at + n, " \t:=");

			return value <= at + length ? arena_strndup(s->arena, value, (size_t)(at + length - value)) : "";
		}
		at += length + (at[length] == '\n');
	}
	return NULL;
}

static int by_version(const void *x, const void *y)
{
	return strverscmp(*(const char *const *)x, *(const char *const *)y);
}

size_t sysfs_list(const struct sysfs *s, const char *folder, const char *prefix, bool numbered, const char ***out)
{
	const char **names = NULL;
	size_t count = 0, capacity = 0;
	DIR *dir = opendir(arena_printf(s->arena, "%s%s", s->root, folder));
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *rest = entry->d_name + strlen(prefix);

		if (entry->d_name[0] == '.' || !text_starts(entry->d_name, prefix))
			continue;
		if (numbered && (!*rest || rest[strspn(rest, "0123456789")]))
			continue;
		if (count == capacity) {
			const char **more = ARENA_ARRAY(s->arena, capacity ? 2 * capacity : 16, const char *);

			if (count)
				memcpy(more, names, count * sizeof *names);
			names = more;
			capacity = capacity ? 2 * capacity : 16;
		}
		names[count++] = arena_strdup(s->arena, entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (count)
		qsort(names, count, sizeof *names, by_version);
	*out = names;
	return count;
}

bool sysfs_exists(const struct sysfs *s, const char *path)
{
	return access(arena_printf(s->arena, "%s%s", s->root, path), F_OK) == 0;
}

json_t *sysfs_device(const struct sysfs *s, const char *path)
{
	const char *file = arena_printf(s->arena, "%s%s", s->root, path);
	struct stat info;
	char buffer[4096];
	struct group group, *found = NULL;

	if (stat(file, &info))
		return NULL;
	if (!access(file, R_OK | W_OK))
		return json_pack("{s:s, s:b}", "path", path, "usable", 1);
	// Whose group would be allowed?
	if (errno != EACCES || !(info.st_mode & S_IWGRP) || getgrgid_r(info.st_gid, &group, buffer, sizeof buffer, &found) ||
		!found)
		return json_pack("{s:s, s:b, s:s}", "path", path, "usable", 0, "reason",
			errno == EACCES ? "not permitted" : strerror(errno));
	json_t *out = json_pack("{s:s, s:b}", "path", path, "usable", 0);
	json_object_set_new(out, "reason",
		json_sprintf("not permitted: group %s may; add this user to it (usermod -aG %s USER) and log in again",
			group.gr_name, group.gr_name));
	return out;
}

void facts_text(json_t *facts, const char *key, const char *value)
{
	if (value && *value)
		json_object_set_new(facts, key, json_string(value));
}

void facts_number(json_t *facts, const char *key, int64_t value)
{
	if (value >= 0)
		json_object_set_new(facts, key, json_integer(value));
}

void facts_add(json_t *facts, const char *key, json_t *value)
{
	if (json_is_object(value) ? json_object_size(value) : json_is_array(value) ? json_array_size(value) : value != NULL)
		json_object_set_new(facts, key, value);
	else
		json_decref(value);
}

static void add_finding(json_t *facts, bool cause, const char *format, va_list ap)
{
	json_t *list = json_object_get(facts, "findings");
	struct text t = { 0 };

	if (!list) {
		list = json_array();
		json_object_set_new(facts, "findings", list);
	}
	text_addv(&t, format, ap);
	json_array_append_new(list, json_string(text_get(&t)));
	if (cause && !json_object_get(facts, "cause"))
		json_object_set_new(facts, "cause", json_string(text_get(&t)));
	text_done(&t);
}

void facts_finding(json_t *facts, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_finding(facts, false, format, ap);
	va_end(ap);
}

void facts_cause(json_t *facts, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_finding(facts, true, format, ap);
	va_end(ap);
}

void facts_environment(json_t *facts, const char *const *names)
{
	json_t *set = json_object();

	for (size_t i = 0; names[i]; i++)
		if (getenv(names[i]))
			json_object_set_new(set, names[i], json_string(getenv(names[i])));
	facts_add(facts, "environment", set);
}
