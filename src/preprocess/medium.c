// SPDX-License-Identifier: Apache-2.0
#include "preprocess/medium.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { HEAD = 16 };

static const struct {
	const char *at_0;
	size_t nbytes;
	const char *at_8; // four bytes; NULL: any
	enum medium kind;
} magics[] = {
	{ "\x89PNG", 4, NULL, MEDIUM_PICTURE },
	{ "\xff\xd8\xff", 3, NULL, MEDIUM_PICTURE },
	{ "GIF8", 4, NULL, MEDIUM_PICTURE },
	{ "RIFF", 4, "WEBP", MEDIUM_PICTURE },
	{ "RIFF", 4, "WAVE", MEDIUM_SOUND },
	{ "FORM", 4, "AIFF", MEDIUM_SOUND },
	{ "fLaC", 4, NULL, MEDIUM_SOUND },
	{ "OggS", 4, NULL, MEDIUM_SOUND },
	{ "ID3", 3, NULL, MEDIUM_SOUND },
	{ "\xff\xfb", 2, NULL, MEDIUM_SOUND },
	{ "{", 1, NULL, MEDIUM_JSON },
	{ "[", 1, NULL, MEDIUM_JSON },
};

enum medium medium_of(const uint8_t *data, size_t nbytes)
{
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (nbytes >= magics[i].nbytes && !memcmp(data, magics[i].at_0, magics[i].nbytes) &&
			(!magics[i].at_8 || (nbytes >= HEAD && !memcmp(data + 8, magics[i].at_8, 4))))
			return magics[i].kind;
	return MEDIUM_TEXT;
}

bool medium_names_file(struct arena *a, const char *word)
{
	static const char *const endings[] = { ".txt", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".wav", ".flac", ".mp3", ".json",
		".jsonl" };
	const char *slash = strrchr(word, '/');

	if (strchr(word, '\n'))
		return false;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (text_ends(word, endings[i]) && strlen(word) > strlen(endings[i]))
			return true;
	if (!slash || strpbrk(word, " \t"))
		return false; // "and/or" in a sentence is none
	return *word == '/' || *word == '.' || *word == '~' || file_is_dir(arena_strndup(a, word, (size_t)(slash - word)));
}
