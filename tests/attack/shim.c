// SPDX-License-Identifier: Apache-2.0
// Preloaded (LD_PRELOAD), so that a healthy machine behaves like a failing one. With none of its variables it changes nothing.
//   SHIM_EIO=WORD        reading and writing files whose path has that word fails with EIO, and so do the pages of their maps
//                        (SIGBUS)
//   SHIM_LIST=WORD       listing folders whose path has that word fails with EIO
//   SHIM_PAGES=WORD      the pages of such maps alone
//   SHIM_FULL=WORD       writing to files whose path has that word fails with ENOSPC
//   SHIM_NO_PROCESS=1    no process can be started: EAGAIN
//   SHIM_NO_THREAD=1     no thread can be started: EAGAIN
//   SHIM_CRASH=A:WORD,.. a process with the argument A that opens a file whose path has that word writes to address 0
//   SHIM_KILL=A:WORD     ... is killed as from outside, SIGKILL
//   SHIM_STOP=END:N:I:PART   a process is killed, SIGKILL, in the I-th of its writes of N bytes (0: of any length) to files
//                        whose path ends so, when PART of the bytes are written
//   SHIM_ONCE=FILE       ... of all of these with A, the first process alone: then that file is made
//   SHIM_INTERRUPT=A:WORD ... gets a SIGINT, the first time
//   SHIM_GROW=A:WORD     ... takes memory without end
//   SHIM_FORK=A:WORD     ... starts a process that does, and goes on when that has ended
//   SHIM_HANG=A:WORD     ... never goes on
//   SHIM_GONE=A:WORD     ... and one that looks what lies there, is told that its file system is gone: ENOTCONN, or the
//                        number of SHIM_ERROR
//   SHIM_SINCE=FILE      ... for each process, from when an engine (ONNX Runtime) has opened it, or that process where A is its
//                        argument: then that file is made. What lies there can still be looked at
//   SHIM_WAITS=1         it waits while it is loaded, preloaded or in the place of an engine's library
//   SHIM_FAULTS=1        ... writes to address 0 while it is loaded
//   SHIM_FLOODS=1        ... writes to descriptor 3 without an end while it is loaded, a line that never ends
//   SHIM_KEEPS=1         ... makes a segment, a set of semaphores and a queue with a message (System V) while it is loaded
//   SHIM_HERE=FILE       ... writes the current folder there while it is loaded
//   SHIM_EXITS=1         ... ends the program while it is loaded, with an exit code that says all is well
//   SHIM_RESOLVE=FILE    every host is 127.0.0.1, but while that file has bytes, of which each try takes one, no name is found
//   SHIM_CLOSES=LOG:WORD a file whose path ends so, and that is closed while the process has it open for writing by another
//                        descriptor, is written into that log: its locks of POSIX are gone then
//   SHIM_FOLD=WORD       below a folder with that word a file system that does not tell capital letters from small ones
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAL(name) (__extension__((__typeof__(&name))dlsym(RTLD_NEXT, #name)))

static int fails(int fd, const char *variable, int with)
{
	const char *word = getenv(variable);
	char link[64], path[PATH_MAX];
	ssize_t n;

	if (!word)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return 0;
	path[n] = 0;
	if (!strstr(path, word))
		return 0;
	errno = with;
	return 1;
}

static int is_bad(int fd)
{
	return fails(fd, "SHIM_EIO", EIO);
}

static int is_full(int fd)
{
	return fails(fd, "SHIM_FULL", ENOSPC);
}

struct dirent *readdir(DIR *dir)
{
	return fails(dirfd(dir), "SHIM_LIST", EIO) ? NULL : REAL(readdir)(dir);
}

// Is this what the variable asks for: a process with that argument, and a path with that word?
static int is_first(void)
{
	const char *once = getenv("SHIM_ONCE");
	int fd = once ? REAL(open)(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

	if (fd >= 0)
		close(fd);
	return !once || fd >= 0;
}

static int is_met(const char *variable, const char *path)
{
	const char *asked = getenv(variable), *word = NULL;
	char arguments[4096], wanted[256];
	ssize_t n;
	int fd;

	for (; asked; asked = strchr(asked, ',') ? strchr(asked, ',') + 1 : NULL) {
		word = strchr(asked, ':');
		snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(word + 1, ","), word + 1);
		if (strstr(path, wanted))
			break;
	}
	if (!asked || (fd = REAL(open)("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)) < 0)
		return 0;
	n = REAL(read)(fd, arguments, sizeof arguments - 1);
	close(fd);
	arguments[n > 0 ? n : 0] = 0;
	for (const char *at = arguments; at < arguments + n; at += strlen(at) + 1)
		if (strlen(at) == (size_t)(word - asked) && !strncmp(at, asked, strlen(at)))
			return is_first();
	return 0;
}

static int is_gone_since(const char *since, const char *path, const void *caller)
{
	const char *word = strchr(getenv("SHIM_GONE"), ':') + 1;
	Dl_info by;

	if (!caller || !strstr(path, word))
		return 0;
	if (access(since, F_OK)) {
		const int is_engine = dladdr(caller, &by) && by.dli_fname && strstr(by.dli_fname, "onnxruntime");
		if (is_engine || is_met("SHIM_GONE", path))
			close(REAL(open)(since, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		return is_engine;
	}
	return 1;
}

// `caller`: where it is opened from; NULL: it is looked at.
static int is_gone(const char *path, const void *caller)
{
	const char *number = getenv("SHIM_ERROR"), *since = getenv("SHIM_SINCE");
	const int is = since && getenv("SHIM_GONE") ? is_gone_since(since, path, caller) : is_met("SHIM_GONE", path);

	errno = !is ? errno : number ? atoi(number) : ENOTCONN;
	return is;
}

int open(const char *path, int flags, ...)
{
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (is_met("SHIM_CRASH", path))
		*(volatile int *)NULL = 1;
	if (is_met("SHIM_KILL", path))
		raise(SIGKILL);
	static atomic_flag interrupted = ATOMIC_FLAG_INIT;
	if (is_met("SHIM_INTERRUPT", path) && !atomic_flag_test_and_set(&interrupted))
		raise(SIGINT);
	const pid_t beside = is_met("SHIM_FORK", path) ? fork() : -1;
	if (beside > 0)
		waitpid(beside, NULL, 0);
	while (beside == 0 ||
		is_met("SHIM_GROW", path)) // all pages at once, which takes two thirds of the time of one after the other
		*(char *)mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) = 1;
	while (is_met("SHIM_HANG", path))
		pause();
	return is_gone(path, __builtin_return_address(0)) ? -1 : REAL(open)(path, flags, mode);
}

ssize_t read(int fd, void *out, size_t n)
{
	return is_bad(fd) ? -1 : REAL(read)(fd, out, n);
}

ssize_t pread(int fd, void *out, size_t n, off_t at)
{
	return is_bad(fd) ? -1 : REAL(pread)(fd, out, n, at);
}

// Is this the write in which the process is killed? *part: so many bytes are written before.
static int is_stop(int fd, size_t n, size_t *part)
{
	static atomic_ulong seen;
	const char *asked = getenv("SHIM_STOP");
	char link[64], path[PATH_MAX], end[64];
	unsigned long nbytes, nth;
	ssize_t length;

	if (!asked || sscanf(asked, "%63[^:]:%lu:%lu:%zu", end, &nbytes, &nth, part) != 4 || (nbytes && nbytes != n))
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	return length >= (ssize_t)strlen(end) && !memcmp(path + length - strlen(end), end, strlen(end)) && ++seen == nth;
}

ssize_t write(int fd, const void *data, size_t n)
{
	size_t part;

	if (is_stop(fd, n, &part)) {
		REAL(write)(fd, data, part < n ? part : n);
		raise(SIGKILL);
	}
	return is_bad(fd) || is_full(fd) ? -1 : REAL(write)(fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
	size_t part;

	if (is_stop(fd, n, &part)) {
		REAL(pwrite)(fd, data, part < n ? part : n, at);
		raise(SIGKILL);
	}
	return is_bad(fd) || is_full(fd) ? -1 : REAL(pwrite)(fd, data, n, at);
}

// Pages behind the end of a file: what is left of a disk that fails.
void *mmap(void *at, size_t n, int access, int kind, int fd, off_t from)
{
	if (fd < 0 || !(is_bad(fd) || fails(fd, "SHIM_PAGES", EIO)))
		return REAL(mmap)(at, n, access, kind, fd, from);

	const char *name = getenv("SHIM_EIO") ? getenv("SHIM_EIO") : getenv("SHIM_PAGES");
	int empty = memfd_create(name, MFD_CLOEXEC);
	void *map = REAL(mmap)(at, n, access, kind, empty, 0);
	close(empty);
	return map;
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
	char *const argv[], char *const environment[])
{
	return getenv("SHIM_NO_PROCESS") ? EAGAIN : REAL(posix_spawn)(pid, path, actions, attributes, argv, environment);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
	return getenv("SHIM_NO_THREAD") ? EAGAIN : REAL(pthread_create)(thread, attributes, run, context);
}

// The path as such a file system finds it: the last name in small letters.
static const char *fold(const char *path, char out[PATH_MAX])
{
	const char *word = getenv("SHIM_FOLD");

	if (!word || !strstr(path, word) || strlen(path) >= PATH_MAX)
		return path;
	strcpy(out, path);
	for (char *p = strrchr(out, '/'); p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return out;
}

int symlink(const char *to, const char *path)
{
	char folded[PATH_MAX];

	return REAL(symlink)(to, fold(path, folded));
}

int unlink(const char *path)
{
	char folded[PATH_MAX];

	return REAL(unlink)(fold(path, folded));
}

int lstat(const char *path, struct stat *out)
{
	char folded[PATH_MAX];

	return REAL(lstat)(fold(path, folded), out);
}

int stat(const char *path, struct stat *out)
{
	char folded[PATH_MAX];

	return is_gone(path, NULL) ? -1 : REAL(stat)(fold(path, folded), out);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	const char *path = getenv("SHIM_RESOLVE");
	struct stat st;

	if (!path)
		return REAL(getaddrinfo)(node, service, hints, out);
	if (!REAL(stat)(path, &st) && st.st_size && !truncate(path, st.st_size - 1))
		return EAI_AGAIN;
	return REAL(getaddrinfo)("127.0.0.1", service, hints, out);
}

// Says so where a file that SHIM_CLOSES names stays open for writing when `fd` is closed.
static void tell_second(int fd)
{
	const char *asked = getenv("SHIM_CLOSES"), *word = asked ? strchr(asked, ':') : NULL;
	char link[64], path[PATH_MAX + 1], other[PATH_MAX + 1], log[PATH_MAX];
	size_t n, length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t got = word ? readlink(link, path, PATH_MAX) : -1;
	if (got <= 0)
		return;
	path[got] = 0;
	n = strlen(path), length = strlen(word + 1);
	if (n < length || strcmp(path + n - length, word + 1))
		return;
	for (int i = 0; i < 256; i++) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", i);
		got = i == fd ? -1 : readlink(link, other, PATH_MAX);
		if (got > 0 && (size_t)got == n && !memcmp(other, path, n) && (fcntl(i, F_GETFL) & O_ACCMODE) == O_RDWR) {
			snprintf(log, sizeof log, "%.*s", (int)(word - asked), asked);
			FILE *f = fopen(log, "a");
			if (f) {
				fprintf(f, "%s\n", path);
				fclose(f);
			}
			return;
		}
	}
}

int close(int fd)
{
	static int (*real)(int);
	static _Thread_local bool within;

	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "close");
	if (!within && getenv("SHIM_CLOSES")) {
		within = true;
		tell_second(fd);
		within = false;
	}
	return real(fd);
}

__attribute__((constructor)) static void wait_when_loaded(void)
{
	if (getenv("SHIM_FAULTS"))
		*(volatile int *)NULL = 1;
	if (getenv("SHIM_KEEPS")) {
		struct {
			long type;
			char text[8];
		} message = { .type = 1 };
		const int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
		const int semaphores = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);

		if (segment < 0 || shmat(segment, NULL, 0) == (void *)-1 || semctl(semaphores, 1, SETVAL, 1) ||
			msgsnd(queue, &message, sizeof message.text, 0))
			_exit(3);
	}
	const char *here = getenv("SHIM_HERE");
	FILE *told = here ? fopen(here, "w") : NULL;

	if (told) {
		char folder[PATH_MAX];

		fputs(getcwd(folder, sizeof folder) ? folder : "nowhere", told);
		fclose(told);
	}
	if (getenv("SHIM_EXITS"))
		_exit(0);
	static const char flood[65536] = { ' ' };
	while (getenv("SHIM_FLOODS") && fcntl(3, F_GETFD) >= 0 && write(3, flood, sizeof flood) > 0) {
	}
	while (getenv("SHIM_WAITS"))
		pause();
}
