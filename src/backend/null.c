// SPDX-License-Identifier: Apache-2.0
// An engine that computes nothing, so that everything around engines can be tested on any machine: outputs of the declared
// shapes whose element i is a fixed function of i, and on demand every way in which an engine goes wrong.
//
//   fail=open  fail=run@3     an error          crash=open|run@N     SIGSEGV         hang=open|run@N      never comes back
//   status=no_memory          the status of that error           fits=2              run fails with no_memory at a batch above 2
//   exit=7                    ends its process in the first run                  eat=2                touches 2 GiB while opening
//   rubbish=1                 writes what no child may write: to fd 3 and to standard output
//   wrong=1                   outputs that are off; or wrong=nan and the other words of WRONG_LIST
//   sleep_ms=5 noise_ms=2    a run takes 5 to 7 ms, and with item_ms=1 that much more for each input of the batch
//   clock=told               says so and takes none: figures on which no other program has an influence
//   leak=1                   each session leaves 1 MiB behind
//   daemon=FILE              starts a process that leaves its session and its parent, writes its number there and stays
//   share=0.5                touches as many GiB of memory that is shared and has no file, while opening
//   tables=0.5               maps so far and wide that page tables alone take as many GiB
//   refuse=Erf               does not open a graph with that operator       leave=Erf  leaves such nodes to the CPU (leave=all)
//   keeps_quiet=1            does not tell where nodes ran       threads=4            says so, up to 64
//   alone=FILE               does not open while another process has it open      meet=FOLDER@2        waits in the first run for
//                            a second cell
//
// Its devices: NULL; EMULATED, which says that it is a stand-in for other hardware; VIRTUAL, for which it only compiles.
// Rows of it say engine null, so that they cannot be taken for a measurement.
#include "backend/backend.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/outline.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"

enum { POLL_US = 2000 };
enum { OTHER_DIM = 4 }; // of a symbolic dimension that is neither batch nor sequence
static const size_t output_limit = (size_t)1 << 32;

static const struct option options[] = {
	{ "fail", NULL, "open, or run@N: report an error there" },
	{ "status", "failed", "failed, unavailable, unsupported, no_memory or timeout: what that error is" },
	{ "fits", NULL, "the largest batch that has room; a larger one is no_memory" },
	{ "crash", NULL, "open, or run@N: die of SIGSEGV there" },
	{ "hang", NULL, "open, or run@N: never come back from there" },
	{ "exit", NULL, "end the process with this code in the first run" },
	{ "leak", NULL, "MiB of memory that each session leaves behind when it is closed" },
	{ "eat", NULL, "GiB of memory to take and touch while opening" },
	{ "tables", NULL, "GiB of page tables to take while opening" },
	{ "share", NULL, "GiB of shared memory without a file to take and touch while opening" },
	{ "daemon", NULL, "a file: a process that leaves session and parent writes its number there and stays",
		.reaches_out = true },
	{ "rubbish", "off", "write rubbish to descriptor 3 and to standard output" },
	{ "wrong", "off",
		"outputs that are off, or how they are: nan, one_nan, infinite, zeros, constant, rows, bit, exponent, shape, "
		"type, name, short" },
	{ "sleep_ms", "0", "milliseconds that a run takes" },
	{ "item_ms", "0", "milliseconds more for each input of the batch" },
	{ "noise_ms", "0", "up to so many milliseconds more, by a fixed sequence" },
	{ "clock", "real", "told: a run only says that it took so long" },
	{ "refuse", NULL, "an operator: a graph that has it does not open" },
	{ "leave", NULL, "an operator, or all: its nodes are left to the CPU" },
	{ "keeps_quiet", "off", "does not tell where nodes ran" },
	{ "lanes", "1", "how many runs it takes at the same time; a run in a lane sleeps, and computes beside the others" },
	{ "wrong_lane", NULL, "the lane from 1 whose outputs are off" },
	{ "threads", "1", "says that it computes with so many, or with 64 where more are asked for" },
	{ "alone", NULL, "a file that is held while a session is open; where another process holds it, opening fails",
		.reaches_out = true },
	{ "meet", NULL, "FOLDER@N: the first run waits until N cells have come there", .reaches_out = true },
	{ .name = NULL },
};

// In what way outputs are wrong. Only floating point can be nan or infinite; integers are then off.
#define WRONG_LIST(X) \
	X(off)      /* they are not */ \
	X(on)       /* each third element is 1 larger */ \
	X(nan)      /* all of them */ \
	X(one_nan)  /* the last element */ \
	X(infinite) /* the first element */ \
	X(zeros) \
	X(constant) /* all elements are the second one */ \
	X(rows)     /* each row of the last dimension has the values of the next one */ \
	X(bit)      /* the highest bit of the second element's mantissa is flipped */ \
	X(exponent) /* the lowest bit of the second element's exponent is flipped */ \
	X(shape)    /* the last dimension is half as large */ \
	X(type)     /* 32-bit floating point comes as integers */ \
	X(name)     /* another one */ \
	X(short)    /* half of the bytes that the shape takes */
enum wrong {
#define X(word) WRONG_##word,
	WRONG_LIST(X)
#undef X
};

struct null {
	int64_t fail, crash, hang; // -1 never, 0 open, N the Nth run
	int64_t exit_code;         // -1: does not
	int64_t fits;              // -1: any batch
	enum status status;        // of `fail`
	double sleep_ms, item_ms, noise_ms, leak_mib;
	enum wrong wrong;
	bool tells, keeps_quiet;
	const char *meet; // NULL: none
	void **data;      // of the outputs
	void **lane_data; // [lane_count][outputs]
	size_t lane_count;
	int64_t wrong_lane;     // from 1; 0: none
	pthread_mutex_t making; // `data`, from several lanes
	size_t *capacity;
};

static const struct provider providers[] = {
	{ .name = "null",
		.build = "null",
		.threads = "threads",
		.shipped = "threads=default",
		.fill = "clock=real",
		.fill_told = "lanes" },
	{ .name = NULL },
};

static const struct device devices[] = {
	{ .provider = "null", .name = "NULL", .description = "computes nothing" },
	{ .provider = "null",
		.name = "EMULATED",
		.description = "computes nothing, and stands in for hardware",
		.emulated = true },
	{ .provider = "null", .name = "VIRTUAL", .description = "is not there", .compiles_only = true },
};

static enum status null_devices(const char *build, struct device_list *out, struct error *err)
{
	(void)build;
	(void)err;
	out->version = "1";
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		device_add(out, &devices[i]);
	return STATUS_OK;
}

static enum status when(struct session *s, const char *name, int64_t *out, struct error *err)
{
	const char *text = session_option(s, name);

	*out = -1;
	if (!text)
		return STATUS_OK;
	if (text_is(text, "open"))
		*out = 0;
	else if (text_is(text, "run"))
		*out = 1;
	else if (!text_starts(text, "run@") || !text_to_int(text + 4, 1, INT64_MAX, out))
		return error_set(
			err, STATUS_BAD_INPUT, "option %s is \"%s\"; it takes open, run or run@N with N from 1", name, text);
	return STATUS_OK;
}

static enum status number(struct session *s, const char *name, double max, double *out, struct error *err)
{
	const char *text = session_option(s, name);

	*out = 0;
	if (text && !text_to_double(text, 0, max, out))
		return error_set(err, STATUS_BAD_INPUT, "option %s is \"%s\"; it takes a number from 0 to %g", name, text, max);
	return STATUS_OK;
}

// Touched page by page and kept, until there is no more or somebody ends this.
static enum status eat(double gib, int kind, struct error *err)
{
	const size_t bite = (size_t)16 << 20;
	size_t left = (size_t)(gib * 0x1p30);

	while (left) {
		size_t n = left < bite ? left : bite;
		void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return error_errno(err, "%g GiB were asked for, the last %zu bytes could not be allocated", gib, left);
		memset(p, 1, n);
		left -= n;
	}
	return STATUS_OK;
}

// A table of 4 KiB for each 2 MiB of addresses, of which one byte is read: all of them are the one page of zeros, which is
// nobody's.
static enum status eat_tables(double gib, struct error *err)
{
	const size_t each = (size_t)2 << 20, count = (size_t)(gib * 0x1p30) / 4096;
	const volatile char *p =
		count ? mmap(NULL, count * each, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : NULL;

	if (p == MAP_FAILED)
		return error_errno(err, "%zu page tables were asked for", count);
	for (size_t i = 0; i < count; i++)
		(void)p[i * each];
	return STATUS_OK;
}

// As daemons are started: a session of its own, a parent that ends at once, nothing kept open.
static enum status start_daemon(const char *path, struct error *err)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	pid_t pid = file < 0 ? -1 : fork();

	if (pid == 0) {
		char number[24];

		setsid();
		pid = fork();
		if (pid)
			_exit(pid < 0);
		if (write(file, number, (size_t)snprintf(number, sizeof number, "%ld\n", (long)getpid())) < 0)
			_exit(1);
		for (int fd = 0; fd <= file; fd++)
			close(fd);
		for (;;)
			pause();
	}
	enum status st = pid < 0 ? error_errno(err, "option daemon: %s", path) : STATUS_OK;
	if (pid > 0)
		waitpid(pid, NULL, 0);
	// Not before it is there: what follows may be the end of this process.
	for (struct stat now; pid > 0 && fstat(file, &now) == 0 && !now.st_size;)
		usleep(POLL_US);
	if (file >= 0)
		close(file);
	return st;
}

static void rubbish(void)
{
	static const char text[] = "\x01\xfe{\"event\":\"row\",\"verdict\":\"right\", rubbish from the null engine\n";

	for (int fd = 1; fd <= 3; fd += 2)
		if (write(fd, text, sizeof text - 1) < 0)
			continue; // a closed descriptor is as good a place as any
}

static enum status fault(const struct null *n, int64_t now, struct error *err)
{
	if (n->hang == now)
		for (;;)
			pause();
	if (n->crash == now) {
		// No core file, and no handler of a sanitizer: the process dies of the signal itself.
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	if (now && n->exit_code >= 0)
		_exit((int)n->exit_code);
	if (n->fail == now)
		return now ? error_set(err, n->status, "failed in run %lld, as asked", (long long)now)
			   : error_set(err, n->status, "failed while opening, as asked");
	return STATUS_OK;
}

static enum status status_of(struct session *s, enum status *out, struct error *err)
{
	static const enum status codes[] = { STATUS_FAILED, STATUS_UNAVAILABLE, STATUS_UNSUPPORTED, STATUS_NO_MEMORY,
		STATUS_TIMEOUT };
	static const char *const words[] = { "failed", "unavailable", "unsupported", "no_memory", "timeout" };
	size_t which;
	enum status st = session_option_word(s, "status", words, sizeof words / sizeof *words, &which, err);

	if (!st)
		*out = codes[which];
	return st;
}

static enum status clock_of(struct session *s, bool *tells, struct error *err)
{
	static const char *const words[] = { "real", "told" };
	size_t which;
	enum status st = session_option_word(s, "clock", words, 2, &which, err);

	if (!st)
		*tells = which == 1;
	return st;
}

// on and off in all their spellings, or a word of the list.
static enum status wrong_of(struct session *s, enum wrong *out, struct error *err)
{
	static const char *const words[] = {
#define X(word) #word,
		WRONG_LIST(X)
#undef X
	};
	size_t which;
	bool is_on = false;

	if (!session_option_word(s, "wrong", words, sizeof words / sizeof *words, &which, NULL)) {
		*out = (enum wrong)which;
		return STATUS_OK;
	}
	enum status st = session_option_bool(s, "wrong", &is_on, err);
	*out = is_on ? WRONG_on : WRONG_off;
	return st;
}

// As real engines say it: operator, type, node.
static enum status refuse(const struct artifact *a, struct arena *arena, const char *op, struct error *err)
{
	struct outline built;
	enum status st = a->graph ? outline_read(&built, arena, a->graph, a->graph_nbytes, err) : STATUS_OK;

	for (size_t i = 0; a->graph && !st && i < built.node_count; i++)
		if (text_is(built.nodes[i].op, op))
			return error_set(err, STATUS_UNSUPPORTED, "%s is refused, as asked: node %s", op, built.nodes[i].name);
	return st;
}

enum { THREADS_MOST = 64 };

static enum status threads_of(struct session *s, struct error *err)
{
	char number[24];
	int64_t n;
	enum status st = STATUS_OK;

	if (session_option_is_own(s, "threads"))
		n = 1;
	else
		st = session_option_int(s, "threads", 1, 4096, 1, &n, err);
	if (st)
		return st;
	snprintf(number, sizeof number, "%lld", (long long)(n < THREADS_MOST ? n : THREADS_MOST));
	session_set_option(s, "threads", number);
	return STATUS_OK;
}

// The lock ends with the process, as what it stands for does.
static enum status be_alone(const char *path, struct error *err)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;

	if (!path)
		return STATUS_OK;
	if (fd < 0)
		return error_errno(err, "option alone: %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return STATUS_OK;
	close(fd);
	return error_set(err, STATUS_FAILED, "another process has %s: two at once on one device", path);
}

static size_t entries(const char *folder)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

// "FOLDER@2": leaves a mark there and waits for the other ones' marks. Who waits alone waits for ever: the cell's limit ends it.
static enum status meet(const char *where, struct error *err)
{
	const char *at = strrchr(where, '@');
	char path[4096];
	int64_t wanted;

	if (!at || at - where > 4000 || !text_to_int(at + 1, 1, 1000, &wanted))
		return error_set(err, STATUS_BAD_INPUT, "option meet is \"%s\"; it takes FOLDER@N", where);
	snprintf(path, sizeof path, "%.*s/%ld", (int)(at - where), where, (long)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return error_errno(err, "option meet: %s", path);
	close(fd);
	path[at - where] = '\0';
	while (entries(path) < (size_t)wanted)
		usleep(POLL_US);
	return STATUS_OK;
}

static enum status null_open(struct session *s, const struct artifact *a, struct error *err)
{
	struct null *n = s->state;
	const struct device *d = NULL;
	double gib, shared_gib, tables_gib;
	bool dirty;
	enum status st;

	if (!s->device)
		s->device = devices[0].name;
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (!strcasecmp(s->device, devices[i].name))
			d = &devices[i];
	if (!d)
		return error_set(err, STATUS_UNAVAILABLE, "no device %s; this engine has NULL, EMULATED and VIRTUAL", s->device);
	s->compiles_only = d->compiles_only;
	s->compiled_bytes = d->compiles_only ? (int64_t)a->graph_nbytes : 0;
	if ((st = when(s, "fail", &n->fail, err)) || (st = when(s, "crash", &n->crash, err)) ||
		(st = when(s, "hang", &n->hang, err)) || (st = session_option_int(s, "exit", 0, 255, -1, &n->exit_code, err)) ||
		(st = status_of(s, &n->status, err)) || (st = session_option_int(s, "fits", 1, 65536, -1, &n->fits, err)) ||
		(st = number(s, "eat", 1 << 20, &gib, err)) || (st = number(s, "share", 1 << 20, &shared_gib, err)) ||
		(st = number(s, "tables", 1, &tables_gib, err)) || (st = number(s, "leak", 1024, &n->leak_mib, err)) ||
		(st = number(s, "sleep_ms", 1e7, &n->sleep_ms, err)) || (st = number(s, "item_ms", 1e7, &n->item_ms, err)) ||
		(st = number(s, "noise_ms", 1e7, &n->noise_ms, err)) || (st = clock_of(s, &n->tells, err)) ||
		(st = session_option_bool(s, "rubbish", &dirty, err)) || (st = wrong_of(s, &n->wrong, err)) ||
		(st = session_option_bool(s, "keeps_quiet", &n->keeps_quiet, err)) || (st = threads_of(s, err)) ||
		(st = be_alone(session_option(s, "alone"), err)) ||
		(session_option(s, "refuse") && (st = refuse(a, &s->arena, session_option(s, "refuse"), err))))
		return st;
	if (!a->outputs || !a->output_count)
		return error_set(
			err, STATUS_UNSUPPORTED, "needs a graph that assay built: of this one it does not know the outputs");
	for (size_t i = 0; i < a->output_count; i++)
		if (!dtype_size(a->outputs[i].dtype))
			return error_set(err, STATUS_UNSUPPORTED, "output %s has no element type", a->outputs[i].name);
	n->meet = session_option(s, "meet");
	s->inputs = a->inputs;
	s->input_count = a->input_count;
	s->outputs = a->outputs;
	s->output_count = a->output_count;
	session_set_option(s, "compute_dtype", "none");
	n->data = ARENA_ARRAY(&s->arena, s->output_count, void *);
	n->capacity = ARENA_ARRAY(&s->arena, s->output_count, size_t);
	if (dirty)
		rubbish();
	if (session_option(s, "daemon") && (st = start_daemon(session_option(s, "daemon"), err)))
		return st;
	if ((st = eat(n->leak_mib / 1024, MAP_PRIVATE, err)) || (st = eat(gib, MAP_PRIVATE, err)) ||
		(st = eat(shared_gib, MAP_SHARED, err)) || (st = eat_tables(tables_gib, err)))
		return st;
	return fault(n, 0, err);
}

static void put(struct tensor *t, size_t i, double x)
{
	union {
		float f32;
		double f64;
		uint16_t u16;
		uint8_t bytes[8];
		int64_t i64;
	} u = { .i64 = !isfinite(x) ? -1 : t->dtype == DTYPE_BOOL ? x >= 1 : (int64_t)x };

	if (t->dtype == DTYPE_F32)
		u.f32 = (float)x;
	else if (t->dtype == DTYPE_F64)
		u.f64 = x;
	else if (t->dtype == DTYPE_F16)
		u.u16 = f16_of_f32((float)x);
	else if (t->dtype == DTYPE_BF16)
		u.u16 = bf16_of_f32((float)x);
	memcpy((uint8_t *)t->data + i * dtype_size(t->dtype), u.bytes, dtype_size(t->dtype));
}

enum { RIGHT_PERIOD = 17 };

// 0.125 * ((7 i) mod 17), of which every output type holds the rounded value.
static double right_value(size_t i)
{
	return 0.125 * (double)(7 * (i % RIGHT_PERIOD) % RIGHT_PERIOD);
}

// Element i of `count`, the last dimension being `width`.
static double wrong_value(enum wrong how, size_t i, size_t count, size_t width)
{
	switch (how) {
	case WRONG_on:
		return right_value(i) + (i % 3 == 0 ? 1 : 0);
	case WRONG_nan:
		return (double)NAN;
	case WRONG_one_nan:
		return i == count - 1 ? (double)NAN : right_value(i);
	case WRONG_infinite:
		return i == 0 ? (double)INFINITY : right_value(i);
	case WRONG_zeros:
		return 0;
	case WRONG_constant:
		return right_value(1);
	case WRONG_rows:
		return right_value(i + width);
	case WRONG_bit:
		return i == 1 ? 0.625 : right_value(i); // of 0.875: 1.75 / 2 becomes 1.25 / 2
	case WRONG_exponent:
		return i == 1 ? 1.75 : right_value(i); // of 0.875: 1.75 / 2 becomes 1.75
	default:
		return right_value(i);
	}
}

static void fill(struct tensor *t, size_t count, enum wrong how)
{
	const size_t width = t->rank ? (size_t)t->dim[t->rank - 1] : 1, size = dtype_size(t->dtype);
	const size_t first = how == WRONG_off && count > RIGHT_PERIOD ? RIGHT_PERIOD : count;
	uint8_t *data = t->data;

	for (size_t i = 0; i < first; i++)
		put(t, i, wrong_value(how, i, count, width));
	for (size_t done = first, more; done < count; done += more) { // whole periods, twice as many each time
		more = done < count - done ? done : count - done;
		memcpy(data + done * size, data, more * size);
	}
}

// What is said about the values, when they are there.
static void mislabel(struct tensor *t, size_t count, enum wrong how)
{
	if (how == WRONG_name)
		t->name = "another_name";
	if (how == WRONG_short)
		t->nbytes /= 2;
	if (how == WRONG_shape && t->rank) {
		t->nbytes = t->dim[t->rank - 1] ? t->nbytes / (size_t)t->dim[t->rank - 1] : 0;
		t->dim[t->rank - 1] /= 2;
		t->nbytes *= (size_t)t->dim[t->rank - 1];
	}
	if (how == WRONG_type && t->dtype == DTYPE_F32) {
		t->dtype = DTYPE_I32;
		for (size_t i = 0; i < count; i++)
			put(t, i, right_value(i));
	}
}

// Symbols by position: the first axis is the batch of the first input, the second its sequence.
static enum status shape_output(struct session *s, const struct tensor *in, size_t i, struct tensor *out, struct error *err)
{
	const struct tensor_type *type = &s->outputs[i];
	struct null *n = s->state;
	size_t count;

	*out = (struct tensor){ .name = type->name, .dtype = type->dtype, .rank = type->rank };
	for (int axis = 0; axis < type->rank; axis++) {
		out->dim[axis] = type->dim[axis];
		if (type->dim[axis] < 0)
			out->dim[axis] = s->input_count && axis < 2 && axis < in[0].rank ? in[0].dim[axis] : OTHER_DIM;
	}
	if (!tensor_count(out->rank, out->dim, &count) || count > output_limit / dtype_size(out->dtype))
		return error_set(err, STATUS_NO_MEMORY, "output %s is larger than this engine makes them", type->name);
	out->nbytes = count * dtype_size(out->dtype);
	if (n->capacity[i] < out->nbytes || !n->data[i]) {
		free(n->data[i]);
		n->capacity[i] = 0;
		if (!(n->data[i] = malloc(out->nbytes ? out->nbytes : 1)))
			return error_set(err, STATUS_NO_MEMORY, "output %s needs %zu bytes", type->name, out->nbytes);
		n->capacity[i] = out->nbytes;
	}
	out->data = n->data[i];
	fill(out, count, n->wrong);
	mislabel(out, count, n->wrong);
	return STATUS_OK;
}

static enum status null_run(struct session *s, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct null *n = s->state;
	int64_t begin = clock_ns();
	double ms = n->sleep_ms;
	enum status st = fault(n, s->run_count, err);

	if (!st && n->meet && s->run_count == 1)
		st = meet(n->meet, err);

	if (!st && n->fits > 0 && s->input_count && in[0].rank && in[0].dim[0] > n->fits)
		st = error_set(err, STATUS_NO_MEMORY, "a batch of %lld does not fit, as asked; %lld would",
			(long long)in[0].dim[0], (long long)n->fits);
	for (size_t i = 0; i < s->output_count && !st; i++)
		st = shape_output(s, in, i, &out[i], err);
	if (n->item_ms > 0 && s->input_count && in[0].rank)
		ms += n->item_ms * (double)in[0].dim[0];
	if (n->noise_ms > 0)
		ms += n->noise_ms * (double)(splitmix64(1, (uint64_t)s->run_count) >> 11) * 0x1p-53;
	while (!st && !n->tells && (double)(clock_ns() - begin) < ms * 1e6)
		; // spins: sleeping would measure the scheduler
	s->run_ns = n->tells ? (int64_t)(ms * 1e6) : clock_ns() - begin;
	return st;
}

static enum status null_lanes(struct session *s, size_t count, struct error *err)
{
	struct null *n = s->state;
	enum status st = session_option_int(s, "wrong_lane", 1, INT32_MAX, 0, &n->wrong_lane, err);

	n->lane_data = ARENA_ARRAY(&s->arena, count * (s->output_count + 1), void *);
	n->lane_count = count;
	pthread_mutex_init(&n->making, NULL);
	return st;
}

static enum status null_run_lane(struct session *s, size_t lane, const struct tensor *in, struct tensor *out, struct error *err)
{
	struct null *n = s->state;
	void **data = n->lane_data + lane * s->output_count;
	const int64_t ns = (int64_t)(n->sleep_ms * 1e6);
	enum status st = STATUS_OK;

	pthread_mutex_lock(&n->making);
	for (size_t i = 0; i < s->output_count && !st; i++) {
		st = shape_output(s, in, i, &out[i], err);
		if (!st && !data[i] && !(data[i] = malloc(out[i].nbytes + 1)))
			st = error_set(err, STATUS_NO_MEMORY, "no memory for a lane's output");
		if (st)
			break;
		memcpy(data[i], out[i].data, out[i].nbytes);
		out[i].data = data[i];
		if ((int64_t)lane + 1 == n->wrong_lane && out[i].nbytes >= sizeof(float))
			*(float *)out[i].data += 1;
	}
	pthread_mutex_unlock(&n->making);
	nanosleep(&(struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 }, NULL);
	return st;
}

static enum status null_explain(
	struct session *s, const struct artifact *a, const struct tensor *in, struct placement *out, struct error *err)
{
	const struct null *n = s->state;
	const char *leave = session_option(s, "leave");
	struct outline built = { 0 };
	bool before = false;

	(void)in;
	if (n->keeps_quiet) {
		out->note = "it keeps quiet, as asked";
		return STATUS_OK;
	}
	enum status st = outline_read(&built, out->arena, a->graph, a->graph_nbytes, err);
	if (st)
		return st;
	out->nodes = ARENA_ARRAY(out->arena, built.node_count + 1, struct placed_node);
	out->count = built.node_count;
	out->on_platform = out->elsewhere = out->partitions = out->copies = 0;
	for (size_t i = 0; i < built.node_count; i++) {
		bool left = leave && (text_is(leave, "all") || text_is(leave, built.nodes[i].op));

		out->nodes[i] = (struct placed_node){ .name = built.nodes[i].name,
			.op = built.nodes[i].op,
			.where = left ? "cpu" : "null",
			.reason = left ? "left, as asked" : NULL };
		*(left ? &out->elsewhere : &out->on_platform) += 1;
		out->partitions += !left && !before;
		before = !left;
	}
	out->note = "as asked: nothing ran anywhere";
	return STATUS_OK;
}

static void null_close(struct session *s)
{
	struct null *n = s->state;

	for (size_t i = 0; n->data && i < s->output_count; i++)
		free(n->data[i]);
	for (size_t i = 0; i < n->lane_count * s->output_count; i++)
		free(n->lane_data[i]);
	memset(n, 0, sizeof *n);
}

const struct backend backend_null = {
	.name = "null",
	.summary = "computes nothing; tests what is around engines",
	.caps = BACKEND_SOFTWARE | BACKEND_TIMES_ITSELF,
	.session_size = sizeof(struct null),
	.options = options,
	.providers = providers,
	.devices = null_devices,
	.open = null_open,
	.run = null_run,
	.lanes = null_lanes,
	.run_lane = null_run_lane,
	.close = null_close,
	.explain = null_explain,
};
