// SPDX-License-Identifier: Apache-2.0
// The main() of a fuzz target when libFuzzer is not there: feeds it every file of the folders and files given, once. An
// empty or missing corpus is a failure, because a test that ran nothing has shown nothing.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long replayed;

static int replay(const char *path)
{
	struct stat st;
	if (stat(path, &st)) {
		fprintf(stderr, "fuzz_replay: cannot read %s\n", path);
		return 1;
	}
	if (S_ISDIR(st.st_mode)) {
		struct dirent **entries;
		int count = scandir(path, &entries, NULL, alphasort), bad = count < 0;
		for (int i = 0; i < count; i++) {
			char *child = NULL;
			if (entries[i]->d_name[0] != '.' && asprintf(&child, "%s/%s", path, entries[i]->d_name) > 0)
				bad |= replay(child);
			free(child);
			free(entries[i]);
		}
		if (count >= 0)
			free(entries);
		return bad;
	}
	FILE *file = fopen(path, "rb");
	// Exactly as many bytes as the file has, so that the sanitizer sees a read behind the end.
	size_t size = (size_t)st.st_size;
	uint8_t *data = malloc(size ? size : 1);
	if (!file || !data || fread(data, 1, size, file) != size) {
		fprintf(stderr, "fuzz_replay: cannot read %s\n", path);
		return 1;
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	replayed++;
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;
	for (int i = 1; i < argc; i++)
		bad |= replay(argv[i]);
	printf("%ld inputs replayed\n", replayed);
	return bad || replayed == 0;
}
