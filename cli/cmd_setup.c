// SPDX-License-Identifier: Apache-2.0
// assay setup: brings what deps.lock pins for a platform, by running the tools/deps that also builds use: one way of fetching.
// Beside the source tree they go to its dependency folder, from an installed program to the user's data folder.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "platform/platform.h"
#include "platform/doctor.h"
#include "emit.h"
#include "show.h"

extern char **environ;

struct setup {
	struct arena arena;
	const char *script, *into; // tools/deps; the folder it fills
	bool installed;            // engines only, into the user's data folder
	bool yes, list, json, again, offline;
	const char *groups;          // "base,qnn"
	json_t *about;               // what the script says of them
	uint64_t download, unpacked; // of what is not here, bytes
};

// Where the program lies decides: PREFIX/bin/assay has PREFIX/share/assay/tools/deps.
static enum status find_script(struct setup *s, struct error *err)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	for (int up = 0; n > 0 && up < 2; up++)
		while (n > 0 && self[--n] != '/')
			;
	if (n >= 0) {
		s->script = arena_printf(&s->arena, "%.*s/share/assay/tools/deps", (int)n, self);
		s->installed = file_exists(s->script);
	}
	if (s->installed) {
		if (data && *data == '/') // the XDG specification: a relative path is ignored, and so is a relative HOME
			s->into = arena_printf(&s->arena, "%s/assay", data);
		else if (home && *home == '/')
			s->into = arena_printf(&s->arena, "%s/.local/share/assay", home);
		else
			return error_set(err, STATUS_BAD_INPUT,
				"neither XDG_DATA_HOME nor HOME names a folder from the root, so there is none to bring engines "
				"to");
		return STATUS_OK;
	}
#if defined(ASSAY_BUILD_TOOLS) && defined(ASSAY_BUILD_DEPS)
	s->script = ASSAY_BUILD_TOOLS "/deps";
	s->into = ASSAY_BUILD_DEPS;
	if (file_exists(s->script))
		return STATUS_OK;
#endif
	return error_set(err, STATUS_UNAVAILABLE,
		"tools/deps, which fetches, is neither beside this program (../share/assay/tools/deps) nor in its source folder");
}

enum status cli_setup_folder(const char **folder, struct arena *a, struct error *err)
{
	struct setup s = { 0 };
	enum status st = find_script(&s, err);

	*folder = st ? NULL : arena_strdup(a, s.into);
	arena_done(&s.arena);
	return st;
}

static bool has_word(const char *list, const char *word, size_t n)
{
	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		if (length == n && !strncmp(at, word, n))
			return true;
		at += length + (at[length] == ',');
	}
	return false;
}

// The groups of these platforms, once each. An installed program has the base already, unless somebody left it out.
static enum status choose_groups(struct setup *s, const char **words, size_t count, struct error *err)
{
	struct text groups = { 0 };
	struct error ignored = { 0 };
	const char *path;
	for (size_t i = 0; i < count; i++) {
		const struct platform *p = platform_named(words[i]);

		if (p)
			words[i] = p->name;
	}
	bool has_base = s->installed && !library_find(&s->arena, "onnxruntime", "libonnxruntime.so*", &path, &ignored) &&
		!library_find(&s->arena, "openvino", "libopenvino_c.so*", &path, &ignored) &&
		!library_find(&s->arena, "duckdb", "libduckdb.so*", &path, &ignored);

	for (size_t i = 0; i < count; i++) {
		const char *own = text_is(words[i], "operators") // no platform: the tests that `assay operators` runs
			? words[i]
			: doctor_groups(arena_strndup(&s->arena, words[i], strcspn(words[i], ":"))); // "webgpu:native" too
		if (!own) {
			text_done(&groups);
			if (text_is(words[i], "mps"))
				return error_set(err, STATUS_UNAVAILABLE,
					"mps needs macOS, whose ONNX Runtime has Core ML built in: there is nothing to bring "
					"here");
			return error_set(err, STATUS_BAD_INPUT,
				"nothing is known that setup could bring for \"%s\"; it knows cpu, openvino, qnn, webgpu, webnn, "
				"cuda, tensorrt, rocm, and operators, ONNX's own tests of them",
				words[i]);
		}
		for (const char *at = own; *at;) {
			size_t n = strcspn(at, " ");
			bool is_base = n == 4 && !strncmp(at, "base", 4) && strchr(own, ' ');
			if (!(is_base && has_base) && !has_word(text_get(&groups), at, n))
				text_addf(&groups, "%s%.*s", groups.length ? "," : "", (int)n, at);
			at += n + (at[n] == ' ');
		}
	}
	s->groups = arena_strdup(&s->arena, text_get(&groups));
	text_done(&groups);
	return STATUS_OK;
}

// Runs the script with `more` after what is always said; its standard output goes to fd. Returns its exit code, -1: not started.
static int run_script(struct setup *s, const char *const *more, int fd, struct error *err)
{
	const char *argv[16] = { "bash", s->script, "--group", s->groups, "--into", s->into };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	size_t n = 6;
	pid_t pid;
	int status = 0, code;

	if (s->installed)
		argv[n++] = "--engines";
	if (s->offline)
		argv[n++] = "--offline";
	while (*more && n < sizeof argv / sizeof *argv - 1)
		argv[n++] = *more++;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	// Not in the current folder, which may be a stranger's: where PATH has an empty entry, its bash would be started.
	posix_spawn_file_actions_addchdir_np(&actions, arena_strndup(&s->arena, s->script, strlen(s->script) - strlen("/deps")));
	posix_spawnattr_init(&attributes);
	// A group of its own, so that a stop reaches what the script has started too, once.
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	code = posix_spawnp(&pid, "bash", &actions, &attributes, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (code) {
		error_set(err, STATUS_UNAVAILABLE, "bash cannot be started: %s", strerror(code));
		return -1;
	}
	for (bool told = false; waitpid(pid, &status, 0) < 0 && errno == EINTR;) {
		if (cli_stop && !told)
			kill(-pid, SIGTERM);
		told = cli_stop;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What the groups are, from `tools/deps --list --plain`: lines of words parted by tabs.
static enum status read_about(struct setup *s, struct error *err)
{
	static const char *const more[] = { "--list", "--plain", NULL };
	char line[4096], template[] = "/tmp/assay-setup-XXXXXX";
	const char *folder = getenv("TMPDIR");
	char *name = folder && *folder ? arena_printf(&s->arena, "%s/assay-setup-XXXXXX", folder) : template;
	int fd = mkstemp(name), code;
	json_t *group = NULL;

	if (fd < 0)
		return error_errno(err, "%s", name);
	unlink(name);
	code = run_script(s, more, fd, err);
	if (code) {
		close(fd);
		return code < 0 ? err->status : error_set(err, STATUS_FAILED, "%s ended with exit code %d", s->script, code);
	}
	FILE *f = lseek(fd, 0, SEEK_SET) ? NULL : fdopen(fd, "r");
	s->about = json_array();
	while (f && fgets(line, sizeof line, f)) {
		char *field[7] = { 0 }, *at = line;
		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; i < 7 && at; i++) {
			field[i] = at;
			at = strchr(at, '\t');
			if (at)
				*at++ = 0;
		}
		if (!field[6])
			continue;
		int64_t bytes = 0, left = 0;
		text_to_int(field[2], 0, INT64_MAX, &bytes);
		text_to_int(field[3], 0, INT64_MAX, &left);
		if (text_is(field[0], "group")) {
			bool here = text_is(field[4], "here");
			int64_t unpacked = 0;
			text_to_int(field[5], 0, INT64_MAX, &unpacked);
			group = json_pack("{s:s, s:b, s:I, s:I, s:I, s:s, s:[]}", "group", field[1], "here", (int)here,
				"download_bytes", (json_int_t)bytes, "left_to_download_bytes", (json_int_t)(here ? 0 : left),
				"unpacked_bytes", (json_int_t)unpacked, "about", field[6], "packages");
			json_array_append_new(s->about, group);
			s->download += here && !s->again ? 0 : (uint64_t)left;
			s->unpacked += here && !s->again ? 0 : (uint64_t)unpacked;
		} else if (group) {
			json_array_append_new(json_object_get(group, "packages"),
				json_pack("{s:s, s:s, s:I, s:s}", "name", field[1], "version", field[5], "download_bytes",
					(json_int_t)bytes, "license", field[6]));
		}
	}
	if (f)
		fclose(f);
	else
		close(fd);
	return STATUS_OK;
}

static void print_about(struct setup *s)
{
	const json_t *group, *package;
	size_t i, k;

	json_array_foreach(s->about, i, group)
	{
		bool here = json_is_true(json_object_get(group, "here"));
		const char *name = json_string_value(json_object_get(group, "group"));
		const char *unpacked =
			show_size(&s->arena, (uint64_t)json_integer_value(json_object_get(group, "unpacked_bytes")));
		if (here)
			emit("%-7s is here (%s)\n", name, unpacked);
		else
			emit("%-7s is not here: %s to download, %s unpacked\n", name,
				show_size(&s->arena,
					(uint64_t)json_integer_value(json_object_get(group, "left_to_download_bytes"))),
				unpacked);
		emit("        %s\n", json_string_value(json_object_get(group, "about")));
		json_array_foreach(json_object_get(group, "packages"), k, package) emit("        %-38s %9s  %s\n",
			arena_printf(&s->arena, "%s %s", json_string_value(json_object_get(package, "name")),
				json_string_value(json_object_get(package, "version"))),
			show_size(&s->arena, (uint64_t)json_integer_value(json_object_get(package, "download_bytes"))),
			json_string_value(json_object_get(package, "license")));
	}
	emit("into %s\n", s->into);
	emit_flush();
}

static bool everything_here(const struct setup *s)
{
	const json_t *group;
	size_t i;

	json_array_foreach(s->about, i, group) if (!json_is_true(json_object_get(group, "here"))) return false;
	return !s->again;
}

// A question only where somebody can answer it.
static int ask(struct setup *s)
{
	char answer[64] = "";

	if (s->yes)
		return EXIT_GOOD;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return cli_bad_use("nothing was fetched: add --yes to download %s and unpack %s",
			show_size(&s->arena, s->download), show_size(&s->arena, s->unpacked));
	emit("Download %s and unpack %s? [y/N] ", show_size(&s->arena, s->download), show_size(&s->arena, s->unpacked));
	emit_flush();
	if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return EXIT_GOOD;
	emit("Nothing was fetched.\n");
	return EXIT_USE;
}

static int fetch(struct setup *s)
{
	const char *more[] = { s->again ? "--again" : NULL, NULL };
	struct error err = { 0 };
	int code = ask(s);

	if (code)
		return code;
	emit_flush();
	code = run_script(s, more, s->json ? STDERR_FILENO : STDOUT_FILENO, &err);
	if (code < 0)
		return cli_error(&err);
	if (cli_stop)
		emit_error("assay: interrupted (%s); what was fetched whole is kept, nothing half is\n", cli_stop_name());
	return code ? EXIT_USE : EXIT_GOOD;
}

// What proves that it works: of platforms the doctor, of ONNX's tests the command that runs them.
static void print_proof(const char **words, size_t count)
{
	size_t platforms = 0;

	emit("Everything is here. `assay ");
	for (size_t i = 0; i < count; i++)
		if (!text_is(words[i], "operators")) // "web" is no platform, but of several
			emit("%s%s%s", platforms++ == 0 ? "doctor" : "", platform_find(words[i]) ? " " : "",
				platform_find(words[i]) ? words[i] : "");
	emit("%s` %s it.\n",
		platforms == count       ? count == 0 ? "doctor" : ""
			: platforms == 0 ? "operators"
					 : "` and `assay operators",
		platforms > 0 && platforms < count ? "prove" : "proves");
}

static int run(int argc, char **argv)
{
	struct setup s = { 0 };
	const struct cli_option options[] = {
		{ "yes", CLI_FLAG, &s.yes, NULL, "fetch without asking; needed where nobody can answer" },
		{ "list", CLI_FLAG, &s.list, NULL, "only say what it would bring, its size and its licence" },
		{ "again", CLI_FLAG, &s.again, NULL, "unpack what is there once more: for a damaged library" },
		{ "offline", CLI_FLAG, &s.offline, NULL, "ask no registry: only from what was downloaded before" },
		{ "json", CLI_FLAG, &s.json, NULL, "{\"into\": FOLDER, \"groups\": [...]} on standard output" },
		{ .kind = CLI_END },
	};
	const struct cli_usage usage = {
		.synopsis = "assay setup PLATFORM|operators... [options]",
		.text = "Brings the engine's libraries for a platform, or the tests that `assay operators` runs: the packages\n"
			"that deps.lock pins, fetched with their own package managers (pip, npm), compared by SHA-256, unpacked\n"
			"for assay alone; nothing is installed into the system but a package manager that is missing. Sizes\n"
			"and licences are shown first. An installed program puts them under $XDG_DATA_HOME/assay, one in its\n"
			"source tree into .deps.\n\n"
			"  assay setup qnn\n"
			"  assay setup webgpu webnn --yes\n\n"
			"Exit codes: 0 everything is here; 1 bad use, not fetched, or an error.\n",
		.options = options,
		.min_words = 1,
		.max_words = -1,
	};
	struct error err = { 0 };
	int words, code = cli_parse(&usage, argc, argv, &words);

	if (code < 0) {
		cli_catch_stop();
		if (find_script(&s, &err) || choose_groups(&s, (const char **)argv + 1, (size_t)words, &err) ||
			read_about(&s, &err)) {
			code = cli_error(&err);
		} else {
			if (!s.json)
				print_about(&s);
			code = s.list || everything_here(&s) ? EXIT_GOOD : fetch(&s);
			if (!code && !s.list && !s.json)
				print_proof((const char **)argv + 1, (size_t)words);
			if (s.json) {
				json_t *all = json_pack("{s:s, s:b, s:O}", "into", s.into, "complete",
					code == EXIT_GOOD && (!s.list || everything_here(&s)), "groups", s.about);
				show_json(all);
				json_decref(all);
			}
		}
	}
	json_decref(s.about);
	arena_done(&s.arena);
	return code;
}

const struct command command_setup = { "setup", "fetch the engine's libraries for a platform, pinned and verified", run };
