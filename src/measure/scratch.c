// SPDX-License-Identifier: Apache-2.0
#include "measure/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

// The process that a name belongs to; 0 when the name is not one of ours.
static long owner(const char *name)
{
	long pid = 0;
	int end = 0;

	if (text_ends(name, ".part")) {
		const char *dot = name + strlen(name) - 5;

		while (dot > name && dot[-1] >= '0' && dot[-1] <= '9')
			dot--;
		return dot > name && dot[-1] == '.' ? strtol(dot, NULL, 10) : 0;
	}
	return sscanf(name, "%ld-%*u.safetensors%n", &pid, &end) == 1 && end && !name[end] ? pid : 0;
}

void scratch_sweep(const char *folder)
{
	struct arena a = { 0 };
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		long pid = owner(e->d_name);

		if (pid > 0 && process_is_over(pid))
			// Processes of it that were just killed may still be finishing a write into it.
			for (int i = 0; i < 20 && file_remove_tree(arena_printf(&a, "%s/%s", folder, e->d_name), NULL); i++)
				usleep(10000);
	}
	if (d)
		closedir(d);
	arena_done(&a);
}
