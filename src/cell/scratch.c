// SPDX-License-Identifier: Apache-2.0
#include "cell/scratch.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/claim.h"
#include "base/file.h"
#include "base/text.h"

static void sweep_folder(const char *folder, const char *token)
{
	struct arena a = { 0 };
	DIR *d = folder ? opendir(folder) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strstr(e->d_name, token))
			// Processes of it that were just killed may still be finishing a write into it.
			for (int i = 0; i < 20 && file_remove_tree(arena_printf(&a, "%s/%s", folder, e->d_name), NULL); i++)
				usleep(10000);
	if (d)
		closedir(d);
	arena_done(&a);
}

static void over(void *unused, const char *token)
{
	static const char *const folders[] = { "run", "reference", "conform" };
	struct arena a = { 0 };

	(void)unused;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		sweep_folder(cache_find(&a, folders[i]), token);
	arena_done(&a);
}

void scratch_sweep(void)
{
	claim_sweep(over, NULL);
}
