// SPDX-License-Identifier: Apache-2.0
// What a browser needs to run without a person, and how all of its processes are ended. Its processes stay in our process group,
// so killing the group ends them; those that outlive the first one come to us as children, because we ask to be their reaper.
#include "serve/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/claim.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { ARGUMENTS = 48, FOUND_MOST = 16, END_MS = 10000 };

extern char **environ;

// ---- finding ------------------------------------------------------------------------------------------------------------

static const struct {
	const char *name;
	enum browser_kind kind;
} known[] = {
	{ "chromium", BROWSER_CHROMIUM },
	{ "chromium-browser", BROWSER_CHROMIUM },
	{ "google-chrome", BROWSER_CHROMIUM },
	{ "google-chrome-stable", BROWSER_CHROMIUM },
	{ "chrome", BROWSER_CHROMIUM },
	{ "microsoft-edge", BROWSER_CHROMIUM },
	{ "firefox-esr", BROWSER_FIREFOX },
	{ "firefox", BROWSER_FIREFOX },
	{ "firefox-bin", BROWSER_FIREFOX },
};

struct finding {
	struct arena *arena;
	struct browser *items;
	dev_t device[FOUND_MOST];
	ino_t inode[FOUND_MOST];
	size_t count;
	const char **barred; // of each kind
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

// A small script that starts one that was found already: Debian's "firefox" is `exec firefox-esr`.
static bool names_other(const char *path, const struct stat *st, const char *other)
{
	struct arena a = { 0 };
	char *text;
	size_t nbytes;
	bool does = st->st_size < 1024 && !file_read(&a, path, 1024, &text, &nbytes, NULL) && text_starts(text, "#!") &&
		strstr(text, arena_printf(&a, "exec %s", other));

	arena_done(&a);
	return does;
}

static void bar_folder(struct finding *f, enum browser_kind kind, const char *folder, int code)
{
	if (!f->barred[kind])
		f->barred[kind] = arena_printf(
			f->arena, "%s, in which a browser may be, cannot be looked into: %s", folder, strerror(code));
}

static void add_program(struct finding *f, const char *path, bool any_name)
{
	const char *name = base_name(path);
	enum browser_kind kind = strcasestr(name, "firefox") ? BROWSER_FIREFOX : BROWSER_CHROMIUM;
	struct stat st;
	bool is_known = any_name;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		is_known |= text_is(known[i].name, name);
	if (!is_known || f->count == FOUND_MOST)
		return;
	if (access(path, X_OK) || stat(path, &st)) {
		const int code = errno;
		if (error_is_of_name(code) || f->barred[kind])
			return;
		if (lstat(path, &st))
			bar_folder(f, kind, arena_strndup(f->arena, path, (size_t)(name - path) - (name > path + 1)), code);
		else
			f->barred[kind] = arena_printf(f->arena, "%s is there, and cannot be started: %s", path, strerror(code));
		return;
	}
	if (!S_ISREG(st.st_mode))
		return;
	for (size_t i = 0; i < f->count; i++)
		// One launcher may be the program of both kinds, by the name that it is started by.
		if ((f->items[i].kind == kind && f->device[i] == st.st_dev && f->inode[i] == st.st_ino) ||
			names_other(path, &st, f->items[i].name))
			return;
	f->device[f->count] = st.st_dev;
	f->inode[f->count] = st.st_ino;
	f->items[f->count++] = (struct browser){ .kind = kind,
		.path = arena_strdup(f->arena, path),
		.name = arena_strdup(f->arena, name),
		.identity = arena_printf(f->arena, "%s %lld %lld.%09ld", path, (long long)st.st_size,
			(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec) };
}

static void add_folder(struct finding *f, const char *folder)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		add_program(f, arena_printf(f->arena, "%s/%s", folder, known[i].name), false);
}

static void add_list(struct finding *f, const char *list, bool programs)
{
	for (const char *at = list; at && *at;) {
		size_t n = strcspn(at, ":");
		const char *item = arena_strndup(f->arena, at, n);

		// A relative entry of PATH is the current folder or below it, which may be a stranger's.
		const bool looks = n && (programs || *item == '/');
		struct stat st;
		const int code = looks && stat(item, &st) ? errno : 0;

		if (!error_is_of_name(code))
			for (int i = 0; i < BROWSER_KINDS; i++)
				bar_folder(f, (enum browser_kind)i, item, code);
		else if (looks && !code && S_ISDIR(st.st_mode))
			add_folder(f, item);
		else if (looks && programs)
			add_program(f, item, true);
		at += n + (at[n] == ':');
	}
}

bool browser_unwanted(void)
{
	return text_is(getenv("ASSAY_BROWSER_PATH"), "none");
}

size_t browser_find(struct arena *a, const char *const *more, struct browser **out, const char *barred[BROWSER_KINDS])
{
	struct finding f = { .arena = a, .items = ARENA_ARRAY(a, FOUND_MOST, struct browser), .barred = barred };

	*out = f.items;
	for (int i = 0; i < BROWSER_KINDS; i++)
		barred[i] = NULL;
	if (browser_unwanted())
		return 0;
	add_list(&f, getenv("ASSAY_BROWSER_PATH"), true);
	add_list(&f, getenv("PATH"), false);
	for (size_t i = 0; more && more[i]; i++)
		add_program(&f, more[i], true);
	return f.count;
}

// ---- starting -----------------------------------------------------------------------------------------------------------

static const char firefox_prefs[] = "user_pref('dom.webgpu.enabled', true);\n"
				    "user_pref('dom.webgpu.workers.enabled', true);\n"
				    "user_pref('gfx.webgpu.ignore-blocklist', true);\n"
				    "user_pref('dom.max_script_run_time', 0);\n"
				    "user_pref('dom.max_chrome_script_run_time', 0);\n"
				    "user_pref('app.update.enabled', false);\n"
				    "user_pref('app.update.auto', false);\n"
				    "user_pref('app.normandy.enabled', false);\n"
				    "user_pref('app.shield.optoutstudies.enabled', false);\n"
				    "user_pref('browser.aboutwelcome.enabled', false);\n"
				    "user_pref('browser.cache.disk.enable', false);\n"
				    "user_pref('browser.newtabpage.enabled', false);\n"
				    "user_pref('browser.safebrowsing.malware.enabled', false);\n"
				    "user_pref('browser.safebrowsing.phishing.enabled', false);\n"
				    "user_pref('browser.sessionstore.resume_from_crash', false);\n"
				    "user_pref('browser.shell.checkDefaultBrowser', false);\n"
				    "user_pref('browser.startup.homepage_override.mstone', 'ignore');\n"
				    "user_pref('browser.tabs.crashReporting.sendReport', false);\n"
				    "user_pref('browser.tabs.unloadOnLowMemory', false);\n"
				    "user_pref('datareporting.healthreport.uploadEnabled', false);\n"
				    "user_pref('datareporting.policy.dataSubmissionEnabled', false);\n"
				    "user_pref('extensions.update.enabled', false);\n"
				    "user_pref('network.captive-portal-service.enabled', false);\n"
				    "user_pref('network.connectivity-service.enabled', false);\n"
				    "user_pref('network.http.response.timeout', 0);\n"
				    "user_pref('network.proxy.type', 0);\n"
				    "user_pref('services.settings.server', 'data:,');\n"
				    "user_pref('toolkit.telemetry.enabled', false);\n"
				    "user_pref('toolkit.startup.max_resumed_crashes', -1);\n"
				    "user_pref('trailhead.firstrun.didSeeAboutWelcome', true);\n";

struct command {
	struct arena *arena;
	const char *argv[ARGUMENTS];
	size_t count;
};

static void add(struct command *c, const char *argument)
{
	if (c->count + 1 < ARGUMENTS)
		c->argv[c->count++] = argument;
}

static void chromium_arguments(struct command *c, const char *profile, const struct launch_how *how)
{
	static const char *const always[] = { "--headless=new", "--no-first-run", "--no-default-browser-check",
		"--disable-extensions", "--disable-sync", "--disable-background-networking", "--disable-component-update",
		"--disable-default-apps", "--disable-breakpad", "--disable-crash-reporter", "--disable-hang-monitor",
		"--disable-dev-shm-usage", "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding", "--mute-audio", "--password-store=basic", "--use-mock-keychain",
		"--no-proxy-server", "--noerrdialogs", "--enable-unsafe-webgpu" };

	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		add(c, always[i]);
	add(c, "--enable-features=Vulkan,WebMachineLearningNeuralNetwork");
	if (how->software) {
		add(c, "--use-webgpu-adapter=swiftshader");
		add(c, "--use-vulkan=swiftshader");
	}
	if (geteuid() == 0) // its sandbox refuses to work for the super-user
		add(c, "--no-sandbox");
	add(c, arena_printf(c->arena, "--user-data-dir=%s", profile));
}

static void firefox_arguments(struct command *c, const char *profile)
{
	add(c, "--headless");
	add(c, "--no-remote");
	add(c, "--new-instance");
	add(c, "--profile");
	add(c, profile);
}

// Every user of the machine can read the arguments of a process, and the URL has the key to the page in it. So the browser is
// given a file that no other user can read, and that sends it there; as its address, with what a path may hold that an address
// may not.
static enum status add_start(struct command *c, const char *profile, const char *url, struct error *err)
{
	const char *path = arena_printf(c->arena, "%s/start.html", profile);
	struct text page = { 0 }, address = { 0 };
	enum status st = STATUS_OK;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	text_add(&page,
		"<!doctype html><meta charset=\"utf-8\"><title>assay</title><meta http-equiv=\"refresh\" content=\"0;url=");
	for (const char *p = url; *p; p++)
		text_add(&page, *p == '&' ? "&amp;" : (char[]){ *p, 0 });
	text_add(&page, "\">\n");
	errno = fd < 0 ? errno : file_write_at(fd, text_get(&page), page.length, 0);
	if (fd < 0 || errno)
		st = error_errno(err, "%s", path);
	if (fd >= 0)
		close(fd);
	text_add(&address, "file://");
	text_add_url(&address, path, true);
	add(c, arena_strdup(c->arena, text_get(&address)));
	text_done(&page);
	text_done(&address);
	return st;
}

// What the browser's processes inherit: ours, but everything that is written goes into the profile folder.
static char **make_environment(struct arena *a, const struct browser *b, const char *profile, const struct launch_how *how)
{
	static const char *const replaced[] = { "HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=", "TMPDIR=",
		"MOZ_HEADLESS=", "MOZ_CRASHREPORTER_DISABLE=", "LD_PRELOAD=", "ASAN_OPTIONS=", "DBUS_SESSION_BUS_ADDRESS=",
		"XDG_RUNTIME_DIR=" };
	size_t n = 0, count = 0;
	char **out;

	while (environ[n])
		n++;
	out = ARENA_ARRAY(a, n + 12, char *);
	for (size_t i = 0; i < n; i++) {
		bool ours = how->software_vulkan &&
			(text_starts(environ[i], "VK_ICD_FILENAMES=") || text_starts(environ[i], "VK_DRIVER_FILES="));

		for (size_t k = 0; k < sizeof replaced / sizeof *replaced; k++)
			ours |= text_starts(environ[i], replaced[k]);
		if (!ours)
			out[count++] = environ[i];
	}
	out[count++] = arena_printf(a, "HOME=%s", profile);
	if (strlen(profile) < 60) // the name of a socket in it has room for 108 bytes
		out[count++] = arena_printf(a, "TMPDIR=%s", profile);
	// A bus starts services for who asks, which would outlive it.
	out[count++] = "DBUS_SESSION_BUS_ADDRESS=disabled:";
	out[count++] = "MOZ_HEADLESS=1";
	out[count++] = "MOZ_CRASHREPORTER_DISABLE=1";
	if (how->software_vulkan)
		out[count++] = arena_printf(a, "VK_ICD_FILENAMES=%s", how->software_vulkan);
	// A browser that came with libraries of its own has them in lib/.
	const char *slash = strrchr(b->path, '/'),
		   *own = slash ? arena_printf(a, "%.*s/lib/libnss3.so", (int)(slash - b->path), b->path) : NULL;
	if (own && file_exists(own)) {
		const char *before = getenv("LD_LIBRARY_PATH");

		out[count++] = arena_printf(a, "LD_LIBRARY_PATH=%.*s/lib%s%s", (int)(slash - b->path), b->path,
			before && *before ? ":" : "", before ? before : "");
	}
	return out;
}

// With less a browser dies, or waits without a word, and the model would be blamed. Measured with a model of one node on
// WebAssembly and WebGPU, right | not right. Chromium 147: stack 256 | 192 KiB, files 160 | 140, a file 2500 | 2000 KiB,
// addresses 124 | 95 GiB, data (156) 4292 | 2861 MiB, disk 6 | 3 MB where two are asked at once. Firefox ESR: files 120 | 110,
// addresses 19 | 15 GiB, data 586 | 488 MiB, disk 14 | 12 MB. A file, with a small BERT: Chromium 156 on WebGPU 5000 | 4000 KiB,
// the 147 with WebNN 16384 | 16000 (memory that its processes share, and which WebNN's dies of without a word), Firefox 153
// 14000 | 12000; the bound has a margin.
enum { BROWSER_FILE = 32 << 20, BROWSER_CPU_S = 60 }; // of the model above; its processes ended with 4 s each
static const struct process_limit chromium_needs[] = {
	{ RLIMIT_STACK, 256ULL << 10, false }, { RLIMIT_NOFILE, 160, true }, { RLIMIT_FSIZE, BROWSER_FILE, false },
	{ RLIMIT_AS, 128ULL << 30, false }, { RLIMIT_CPU, BROWSER_CPU_S, false },
	{ RLIMIT_DATA, 4608ULL << 20, true }, // the soft one is assay's own while it reads a database
};
static const struct process_limit firefox_needs[] = {
	{ RLIMIT_NOFILE, 128, true },
	{ RLIMIT_FSIZE, BROWSER_FILE, false },
	{ RLIMIT_AS, 20ULL << 30, false },
	{ RLIMIT_CPU, BROWSER_CPU_S, false },
	{ RLIMIT_DATA, 576ULL << 20, true },
};
static const unsigned long long chromium_profile_mib = 5, firefox_profile_mib = 16;
enum { profile_files = 256 }; // with 60 they waited without a word

// False where it cannot be told.
static bool loopback_is_down(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool told = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &lo) == 0;

	if (fd >= 0)
		close(fd);
	return told && !(lo.ifr_flags & IFF_UP);
}

// A browser's launchers, which are scripts, and its processes add to it. execve(2): "Limits on size of arguments and
// environment".
enum { environment_room = 64 << 10 };

static int64_t environment_left(void)
{
	const int64_t least = 128 << 10, most = 6 << 20;
	struct rlimit stack;
	int64_t limit = most, bytes = 0;

	if (!getrlimit(RLIMIT_STACK, &stack) && stack.rlim_cur / 4 < (rlim_t)most)
		limit = (int64_t)stack.rlim_cur / 4;
	for (char *const *e = environ; e && *e; e++)
		bytes += (int64_t)(strlen(*e) + 1 + sizeof *e);
	return (limit < least ? least : limit) - bytes;
}

// cause.c knows these sentences. `folder`: its profile will lie there.
static enum status check_machine(const struct browser *b, const char *folder, struct error *err)
{
	const bool firefox = b->kind == BROWSER_FIREFOX;
	const unsigned long long needs = firefox ? firefox_profile_mib : chromium_profile_mib;
	struct statvfs disk;
	const int64_t user = process_limited_by_user();
	enum status st = firefox ? process_check_limits(user, firefox_needs, COUNT(firefox_needs), b->name, err)
				 : process_check_limits(user, chromium_needs, COUNT(chromium_needs), b->name, err);

	if (st || (st = process_check_code(b->name, err)))
		return st;
	if (environment_left() < environment_room)
		return error_set(err, STATUS_NOT_ASKED,
			"%lld KiB are left for the environment here, and %s may need %d: raise the limit (ulimit -s, a quarter "
			"of "
			"which the kernel takes), or unset variables",
			(long long)environment_left() >> 10, b->name, environment_room >> 10);
	if (loopback_is_down())
		return error_set(err, STATUS_NOT_ASKED,
			"the loopback interface is down, and %s reaches its page through it: `ip link set lo up`", b->name);
	// A tmpfs without a limit has no blocks.
	if (statvfs(folder, &disk) == 0 && disk.f_blocks && (unsigned long long)disk.f_bavail * disk.f_frsize < needs << 20)
		return error_set(err, STATUS_NOT_ASKED,
			"%s: %llu KiB of the disk are free, and %s needs %llu MiB for its profile; name another folder in "
			"ASSAY_CACHE",
			folder, (unsigned long long)disk.f_bavail * disk.f_frsize >> 10, b->name, needs);
	if (statvfs(folder, &disk) == 0 && disk.f_files && disk.f_favail < profile_files)
		return error_set(err, STATUS_NOT_ASKED,
			"%s: %llu more files may be made on the disk, and %s needs %d for its profile; name another folder in "
			"ASSAY_CACHE",
			folder, (unsigned long long)disk.f_favail, b->name, profile_files);
	return STATUS_OK;
}

// It takes them in one piece of shared memory, which is a file, and beyond the limit it waits without a word: 69 MB were right
// with 70000 KiB and not with 33000.
enum status launch_check_webnn(const struct browser *b, uint64_t weights_nbytes, struct error *err)
{
	const struct process_limit needs = { RLIMIT_FSIZE, BROWSER_FILE + weights_nbytes, false };

	return process_check_limits(process_limited_by_user(), &needs, 1, b->name, err);
}

static enum status make_profile(struct launch *l, struct error *err)
{
	static atomic_uint counter;
	struct arena a = { 0 };
	const char *run;
	char real[PATH_MAX];
	enum status st = cache_part(&run, &a, "run", err);

	if (!st && !realpath(run, real))
		st = error_errno(err, "%s", run);
	st = st ? st : check_machine(l->browser, real, err);
	if (!st) {
		const char *path = arena_printf(&a, "%s/browser%u.%s.part", real, atomic_fetch_add(&counter, 1), claim_token());

		if (mkdir(path, 0700))
			st = error_errno(err, "%s: cannot be made; name another folder in ASSAY_CACHE", path);
		else if (!(l->profile = strdup(path)))
			abort();
	}
	if (!st && l->browser->kind == BROWSER_FIREFOX)
		st = file_put(arena_printf(&a, "%s/user.js", l->profile), firefox_prefs, sizeof firefox_prefs - 1, err);
	arena_done(&a);
	return st;
}

// Behind fork: nothing but system calls.
static void become(char *const *argv, char *const *environment, int null, int log, pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	syscall(SYS_close_range, 3U, ~0U, 0U); // the pipe to our own parent among them
	for (int fd = 3; fd < 64; fd++)
		close(fd); // a kernel before 5.9
	execve(argv[0], argv, environment);
	_exit(127);
}

enum status launch_start(struct launch *l, const struct browser *b, const struct launch_how *how, struct error *err)
{
	struct arena a = { 0 };
	struct command c = { .arena = &a };
	int null = -1, log = -1;
	enum status st;

	*l = (struct launch){ .browser = b };
	if ((st = make_profile(l, err)))
		return st;
	add(&c, b->path);
	if (b->kind == BROWSER_FIREFOX)
		firefox_arguments(&c, l->profile);
	else
		chromium_arguments(&c, l->profile, how);
	if ((st = add_start(&c, l->profile, how->url, err))) {
		arena_done(&a);
		launch_end(l);
		return st;
	}
	char **environment = make_environment(&a, b, l->profile, how);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	log = open(arena_printf(&a, "%s/output.log", l->profile), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t parent = getpid(), pid = null >= 0 && log >= 0 ? fork() : -1;
	if (pid == 0)
		become((char *const *)(uintptr_t)c.argv, environment, null, log, parent);
	if (pid < 0)
		st = error_errno(err, "cannot start %s", b->path);
	else
		l->pid = pid;
	if (null >= 0)
		close(null);
	if (log >= 0)
		close(log);
	arena_done(&a);
	if (st)
		launch_end(l);
	return st;
}

// ---- watching -----------------------------------------------------------------------------------------------------------

// The last lines of its output, without what Chromium says about every machine without a desktop.
static void last_words(const struct launch *l, struct text *out)
{
	struct arena a = { 0 };
	const uint8_t *bytes;
	size_t nbytes, end, lines = 0;

	if (!l->profile || file_map(&a, arena_printf(&a, "%s/output.log", l->profile), &bytes, &nbytes, NULL))
		nbytes = 0;
	for (end = nbytes; end && lines < 3;) {
		size_t begin = end;

		while (begin && bytes[begin - 1] != '\n')
			begin--;
		if (end - begin > 1 && !memmem(bytes + begin, end - begin, "dbus", 4) &&
			!memmem(bytes + begin, end - begin, "/bus/", 5)) {
			text_addf(out, "%s'%.*s'",
				lines ? ", before it " : "; it said last: ", (int)(end - begin < 300 ? end - begin : 300),
				(const char *)bytes + begin);
			lines++;
		}
		end = begin ? begin - 1 : 0;
	}
	arena_done(&a);
}

enum status launch_alive(struct launch *l, struct error *err)
{
	struct text words = { 0 };
	struct error limit = { 0 };
	enum status st = STATUS_OK;
	int how;

	if (!l->pid)
		return error_set(err, STATUS_FAILED, "the browser is not running");
	if (waitpid(l->pid, &how, WNOHANG) != l->pid)
		return STATUS_OK;
	l->pid = 0;
	last_words(l, &words);
	if (WIFSIGNALED(how)) {
		st = process_check_end(process_limited_by_user(), WTERMSIG(how), l->browser->name, &limit);
		if (!st && process_is_others_signal(WTERMSIG(how)))
			st = error_set(&limit, STATUS_NOT_ASKED, "somebody, or the kernel for want of memory, ended it");
		st = error_set(err, st ? st : STATUS_FAILED, "%s died of signal %d, %s%s%s%s", l->browser->path, WTERMSIG(how),
			strsignal(WTERMSIG(how)), st ? "; " : "", limit.text, text_get(&words));
	} else {
		st = error_set(
			err, STATUS_FAILED, "%s ended with exit code %d%s", l->browser->path, WEXITSTATUS(how), text_get(&words));
	}
	text_done(&words);
	return st;
}

void launch_end(struct launch *l)
{
	// The browser's children come to us when it ends.
	if (l->pid > 0 || l->profile) {
		process_end_below(getpid(), END_MS);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	l->pid = 0;
	if (l->profile) {
		for (int i = 0; i < 20 && file_remove_tree(l->profile, NULL); i++)
			usleep(10000);
		free(l->profile);
	}
	l->profile = NULL;
}

bool launch_memory(const struct launch *l, long long *pss_kib, long long *anonymous_kib)
{
	int64_t pids[512], shared;
	size_t n = l->pid ? process_below(l->pid, pids, sizeof pids / sizeof *pids - 1) : 0;
	bool any = false;

	*pss_kib = *anonymous_kib = 0;
	if (l->pid)
		pids[n++] = l->pid;
	for (size_t i = 0; i < n; i++) {
		char path[64], line[256];
		long long kib;
		FILE *f;

		snprintf(path, sizeof path, "/proc/%lld/smaps_rollup", (long long)pids[i]);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof line, f)) {
			if (sscanf(line, "Pss: %lld", &kib) == 1) {
				*pss_kib += kib;
				any = true;
			} else if (sscanf(line, "Pss_Anon: %lld", &kib) == 1) {
				*anonymous_kib += kib;
			}
		}
		if (f)
			fclose(f);
		if ((shared = process_shared_kib(pids[i])) > 0)
			*anonymous_kib += shared;
	}
	return any;
}
