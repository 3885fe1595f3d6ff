// SPDX-License-Identifier: Apache-2.0
// Opening and closing the file: waiting for its lock, making it, migrating it, and settling what dead runs left behind.
// A new file is made complete under another name and then linked into place, so that no reader, no second program and no
// kill ever sees half a schema. What is written into it during a run is in record.c.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/owned.h"
#include "base/process.h"
#include "base/text.h"
#include "store/guard.h"
#include "store/objects.h"
#include "store/opened.h"
#include "store/run_lock.h"
#include "store/schema.h"
#include "store/transaction.h"

#define LOOK_MEMORY ((int64_t)1536 << 20) // as cli/reading.c has it

enum { LOCK_WAIT_S = 60, NOTICE_AFTER_MS = 500, BACK_OFF_MS = 100 };

const char *table_get(const struct table *t, size_t row, const char *column)
{
	for (size_t i = 0; i < t->column_count && row < t->row_count; i++) {
		if (text_is(t->columns[i], column))
			return t->cells[row * t->column_count + i];
	}
	return NULL;
}

int64_t table_integer(const struct table *t, size_t row, const char *column)
{
	const char *text = table_get(t, row, column);
	int64_t out;

	return text != NULL && text_to_int(text, INT64_MIN + 1, INT64_MAX, &out) ? out : ROW_NONE;
}

// "(PID 123)" of DuckDB's message about the lock, or "".
static const char *lock_holder(const struct error *err, char out[32])
{
	const char *p = strstr(err->text, "(PID ");

	out[0] = '\0';
	if (p != NULL)
		snprintf(out, 32, " (process %ld)", strtol(p + 5, NULL, 10));
	return out;
}

static double lock_wait_s(const struct store *s)
{
	const char *asked = getenv("ASSAY_DB_WAIT");
	double seconds;

	if (s->lock_wait_s > 0)
		return s->lock_wait_s;
	return asked != NULL && text_to_double(asked, 0.01, 86400, &seconds) ? seconds : LOCK_WAIT_S;
}

// Opens, waiting for the lock with growing, random pauses: two programs that wait for each other must not keep step.
static enum status open_waiting_with(struct store *s, const struct db_opening *how, struct db *d, struct error *err)
{
	const char *path = how->path;
	double begin = clock_ms(), wait_ms = 1e3 * lock_wait_s(s), pause_ms = 1;
	unsigned seed = (unsigned)clock_ns() ^ (unsigned)getpid();
	bool noticed = false, locked;
	char holder[32];

	for (;;) {
		struct error attempt = { 0 };
		enum status status = db_open(d, s->duckdb, how, &locked, &attempt);
		if (status == STATUS_OK)
			return status;
		if (!locked)
			return error_set(err, status, "%s", attempt.text);
		double waited_ms = clock_ms() - begin;
		if (waited_ms >= wait_ms)
			return error_set(err, STATUS_TIMEOUT,
				"%s is held by another program%s, and was for %.0f s: end it or wait for it, or choose another "
				"file",
				path, lock_holder(&attempt, holder), waited_ms / 1e3);
		if (s->limits.stop != NULL && *s->limits.stop)
			return error_set(err, STATUS_INTERRUPTED, "stopped while %s was held by another program", path);
		if (!noticed && waited_ms >= NOTICE_AFTER_MS && s->notice != NULL) {
			s->notice(s->context,
				arena_printf(&s->arena, "%s is in use by another program%s; waiting up to %.0f s for it", path,
					lock_holder(&attempt, holder), wait_ms / 1e3));
			noticed = true;
		}
		double ms = pause_ms * (0.5 + (double)rand_r(&seed) / RAND_MAX);
		nanosleep(&(struct timespec){ .tv_sec = (time_t)(ms / 1e3), .tv_nsec = (long)(ms * 1e6) % 1000000000 }, NULL);
		pause_ms = pause_ms * 1.5 > BACK_OFF_MS ? BACK_OFF_MS : pause_ms * 1.5;
	}
}

static enum status open_waiting(struct store *s, const char *path, bool write, struct db *d, struct error *err)
{
	return open_waiting_with(s, &(struct db_opening){ .path = path, .write = write, .limits = s->limits }, d, err);
}

static const char *folder_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? "." : slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

// DuckDB's words for a folder that cannot be written name neither the folder nor a way out.
static enum status check_writable(struct store *s, struct error *err)
{
	const char *folder = folder_of(&s->arena, s->path);

	if (access(s->path, F_OK) == 0 && access(s->path, W_OK) != 0)
		return error_errno(err, "%s cannot be written; name another database with --db or ASSAY_DB", s->path);
	if (access(folder, W_OK | X_OK) != 0)
		return error_errno(err,
			"the folder %s cannot be written, so no database can be kept there; name another with --db or ASSAY_DB",
			folder);
	return STATUS_OK;
}

// Is it a limit on the size of files that a file could not grow, and not the disk, which has more room than that?
static bool is_limited(const struct store *s, const char *text)
{
	struct rlimit limit;

	return strstr(text, strerror(EFBIG)) != NULL ||
		(!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
			file_free_bytes(s->path) > limit.rlim_cur);
}

// Adds what helps to an error about space; leaves others as they are.
static enum status explain_space(const struct store *s, struct error *err, enum status status)
{
	if (status != STATUS_NO_SPACE || err == NULL)
		return status;
	char text[sizeof err->text];
	snprintf(text, sizeof text, "%s", err->text);
	if (is_limited(s, text))
		return error_set(err, STATUS_NO_SPACE,
			"a limit of this process on the size of files (ulimit -f) keeps %s from growing: raise it; nothing that "
			"was stored is lost (%s)",
			s->path, text);
	return error_set(err, STATUS_NO_SPACE,
		"the disk that holds %s is full (%.1f MiB free): make room or name another database with --db or ASSAY_DB; "
		"nothing that was stored is lost (%s)",
		s->path, (double)file_free_bytes(s->path) / 1048576.0, text);
}

enum status transaction_begin(struct store *s, bool write, struct db *d, struct error *err)
{
	return transaction_begin_with(s, write, (struct db_opening){ 0 }, d, err);
}

// On the file that the store keeps open, which is opened by the first who asks: its limits count from there.
static enum status share(struct store *s, struct db *d, struct error *err)
{
	struct db *kept = s->kept ? s->kept : ARENA_NEW(&s->arena, struct db);
	enum status status = s->kept ? STATUS_OK : open_waiting(s, s->path, !s->read_only, kept, err);

	if (status != STATUS_OK)
		return status;
	s->kept = kept;
	return db_share(d, kept, err);
}

static void take_looked_at(struct store *s, struct db *d)
{
	*d = *(struct db *)s->looked_at;
	s->looked_at = NULL;
}

// Another file may have been put in the place of the one that this run began in: what it writes goes to its own numbers.
static enum status check_run(const struct store *s, struct db *d, struct error *err)
{
	const struct db_parameter is[] = { { .integer = s->run }, { .integer = s->run_started_us } };
	struct arena a = { 0 };
	struct table t;
	enum status status = db_query(d, &a, "SELECT 1 FROM run WHERE id = ? AND started_at = make_timestamp(?)", is, 2, &t, err);

	if (status == STATUS_OK && t.row_count == 0)
		status = error_set(
			err, STATUS_BAD_INPUT, "%s was replaced by another file, which does not have this run", s->path);
	arena_done(&a);
	return status;
}

enum status transaction_begin_with(struct store *s, bool write, struct db_opening how, struct db *d, struct error *err)
{
	enum status status = STATUS_OK;

	if (write && s->read_only)
		return error_set(err, STATUS_BAD_INPUT, "%s was opened for reading only", s->path);
	if (!file_exists(s->path)) // it was there when the store was opened; DuckDB would make an empty one
		status = error_set(err, STATUS_BAD_INPUT, "%s was removed while this command used it", s->path);
	else if (write)
		status = check_writable(s, err);
	how.path = s->path;
	how.write = write;
	how.limits = s->limits;
	if (status == STATUS_OK) {
		const bool as_it_is = !how.source && !how.files;
		if (!write && as_it_is && s->looked_at != NULL)
			take_looked_at(s, d);
		else
			status = s->keeps_open && as_it_is ? share(s, d, err) : open_waiting_with(s, &how, d, err);
	}
	if (status == STATUS_OK && (write || s->views != NULL)) {
		status = db_exec(d, write ? "BEGIN" : s->views, err);
		if (status == STATUS_OK && write && s->run > 0)
			status = check_run(s, d, err);
		if (status != STATUS_OK)
			db_close(d);
	}
	return explain_space(s, err, status);
}

enum status transaction_end(struct store *s, struct db *d, enum status status, struct error *err)
{
	if (status == STATUS_OK)
		status = db_exec(d, "COMMIT", err);
	db_close(d);
	return explain_space(s, err, status);
}

int64_t transaction_now_us(void)
{
	const int64_t now = clock_unix_us();

	return now < 1 ? 1 : now > TRANSACTION_LAST_US ? TRANSACTION_LAST_US : now;
}

enum status transaction_next_id(struct db *d, const char *table, int64_t *out, struct error *err)
{
	struct arena a = { 0 };
	struct table t = { 0 };
	enum status status =
		db_query(d, &a, arena_printf(&a, "SELECT COALESCE(max(id), 0) + 1 AS id FROM %s", table), NULL, 0, &t, err);

	if (status == STATUS_OK) {
		*out = table_integer(&t, 0, "id");
		if (*out == ROW_NONE)
			status = error_set(err, STATUS_FAILED, "table %s gives no next number", table);
	}
	arena_done(&a);
	return status;
}

// A program that was killed while it made a new file leaves that file behind: "PATH.new.NONCE" and its log. Only for a caller
// that knows that no other program makes one now (run_lock_make). Names with a process number are an older program's, which holds
// no lock.
static void remove_stale(struct store *s)
{
	enum { NONCE_LENGTH = 16 };
	const char *folder = folder_of(&s->arena, s->path), *slash = strrchr(s->path, '/');
	const char *prefix = arena_printf(&s->arena, "%s.new.", slash != NULL ? slash + 1 : s->path);
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		const char *nonce = text_starts(entry->d_name, prefix) ? entry->d_name + strlen(prefix) : "";
		const char *end = nonce + strspn(nonce, "0123456789abcdef");
		if (end - nonce == NONCE_LENGTH && (*end == '\0' || text_is(end, ".wal")))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
}

// *own: the file in place is the one made here, and not that of a program that was faster.
static enum status create(struct store *s, bool *own, struct error *err)
{
	const char *fresh = arena_printf(&s->arena, "%s.new.%016llx", s->path, (unsigned long long)process_nonce());
	const char *wal = arena_printf(&s->arena, "%s.wal", s->path), *fresh_wal = arena_printf(&s->arena, "%s.wal", fresh);
	struct db d = { 0 };
	enum status status;
	bool alone;
	int lock;

	// In this order: another program that makes the file at this moment has put it in place before it writes a log.
	if (file_exists(wal) && !file_exists(s->path))
		return error_set(err, STATUS_BAD_INPUT,
			"%s is not there but its log %s is: put the database back, or move the log away", s->path, wal);
	lock = run_lock_make(s->path, &alone);
	if (alone)
		remove_stale(s);
	run_lock_share(lock);
	status = open_waiting(s, fresh, true, &d, err);
	if (status == STATUS_OK) {
		status = schema_migrate(&d, schema_migrations, schema_migration_count, err);
		db_close(&d);
	}
	// A log left behind means that the file itself did not take everything (a full disk).
	if (status == STATUS_OK && file_exists(fresh_wal))
		status = error_set(err, STATUS_NO_SPACE, "%s could not be written whole", fresh);
	// The second program finds the other's file in place, and it has the same schema.
	*own = status == STATUS_OK &&
		(renameat2(AT_FDCWD, fresh, AT_FDCWD, s->path, RENAME_NOREPLACE) == 0 ||
			(errno != EEXIST && link(fresh, s->path) == 0)); // some file systems know only the second
	if (status == STATUS_OK && !*own && errno != EEXIST)
		status = error_errno(err, "%s", s->path);
	unlink(fresh);
	unlink(fresh_wal);
	if (lock >= 0)
		close(lock);
	return explain_space(s, err, status);
}

// Cells without a last word, and the process of the run that started each. A run has as many as it has workers, and the next
// program that opens the file settles those of a dead one; there are never more than OPEN_CELLS_MOST, which are asked one by one.
enum { OPEN_CELLS_MOST = 16384 };
static const char open_cells[] =
	"SELECT c.id AS cell, r.id AS run, r.pid AS pid, r.start_ticks AS start_ticks, r.boot_id AS boot_id, r.pid_namespace AS "
	"pid_namespace"
	" FROM cell c JOIN run r ON r.id = c.run"
	" WHERE c.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM event e WHERE e.cell = c.id AND e.kind IN ('verdict', "
	"'interrupted')) ORDER BY c.id"
	" LIMIT ?"; // one more than that
static const struct db_parameter open_cells_limit = { .integer = OPEN_CELLS_MOST + 1 };

static bool run_may_live(const struct store *s, const struct table *t, size_t row)
{
	const char *boot_id = table_get(t, row, "boot_id");
	int64_t namespace = table_integer(t, row, "pid_namespace");
	struct process p = {
		.pid = table_integer(t, row, "pid"),
		.start_ticks = table_integer(t, row, "start_ticks"),
		.pid_namespace = namespace == ROW_NONE ? 0 : namespace,
	};

	snprintf(p.boot_id, sizeof p.boot_id, "%s", boot_id != NULL ? boot_id : "");
	enum run_life life = run_lock_ask(s->path, table_integer(t, row, "run"), &p);
	return life == RUN_UNKNOWN ? process_may_live(&p) : life == RUN_LIVES;
}

static enum status check_open_cells(const struct table *t, struct error *err)
{
	return t->row_count <= OPEN_CELLS_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT,
			  "more than %d cells have neither a verdict nor an end: assay made no such file", OPEN_CELLS_MOST);
}

static enum status count_orphans(const struct store *s, struct db *d, size_t *out, struct error *err)
{
	struct arena a = { 0 };
	struct table t = { 0 };
	enum status status = db_query(d, &a, open_cells, &open_cells_limit, 1, &t, err);

	*out = 0;
	if (status == STATUS_OK)
		status = check_open_cells(&t, err);
	for (size_t i = 0; status == STATUS_OK && i < t.row_count; i++)
		*out += !run_may_live(s, &t, i);
	arena_done(&a);
	return status;
}

enum status transaction_check_open_cells(struct db *d, struct error *err)
{
	struct arena a = { 0 };
	struct table t = { 0 };
	enum status status = db_query(d, &a, open_cells, &open_cells_limit, 1, &t, err);

	if (status == STATUS_OK)
		status = check_open_cells(&t, err);
	arena_done(&a);
	return status;
}

static enum status settle_orphans(struct store *s, struct error *err)
{
	struct arena a = { 0 };
	struct table t = { 0 };
	struct db d = { 0 };
	int64_t id;
	enum status status = transaction_begin(s, true, &d, err);

	if (status != STATUS_OK)
		return status;
	status = db_query(&d, &a, open_cells, &open_cells_limit, 1, &t, err);
	if (status == STATUS_OK)
		status = transaction_next_id(&d, "event", &id, err);
	if (status == STATUS_OK) {
		struct insert in;
		insert_begin(&in, &d, "event");
		for (size_t i = 0; i < t.row_count; i++) {
			if (run_may_live(s, &t, i))
				continue;
			// run 0: written by the next program that opened the file, not by the run itself
			const struct db_value row[] = {
				V_INTEGER("id", id++),
				V_INTEGER("run", 0),
				V_INTEGER("cell", table_integer(&t, i, "cell")),
				V_TEXT("kind", "interrupted"),
				V_TEXT("verdict", verdict_word(VERDICT_INTERRUPTED)),
				V_TEXT("cause", "its run ended before the cell did"),
				V_TIME("happened_at", transaction_now_us()),
			};
			insert_row(&in, row, sizeof row / sizeof row[0]);
		}
		status = insert_end(&in, err);
	}
	arena_done(&a);
	return transaction_end(s, &d, status, err);
}

static enum status migrate(struct store *s, struct error *err)
{
	struct db d = { 0 };
	enum status status = check_writable(s, err);

	if (status == STATUS_OK)
		status = open_waiting(s, s->path, true, &d, err);
	if (status != STATUS_OK)
		return status;
	status = schema_migrate(&d, schema_migrations, schema_migration_count, err);
	db_close(&d);
	return status == STATUS_OK ? status : explain_space(s, err, error_prefix(err, "%s", s->path));
}

static void (*ends_process)(const char *sentence); // NULL: the process is not assay's own

void store_owns_process(void (*give_up)(const char *sentence))
{
	ends_process = give_up;
}

// What the file brings, before anything is asked of it: its state, and how many cells dead runs left behind. Who only reads
// afterwards goes on with what was opened here.
static enum status look_at(struct store *s, bool reads, enum schema_state *state, size_t *orphans, struct error *err)
{
	struct db d = { 0 };
	int version = 0;
	struct db_opening how = { .path = s->path, .takes_log = !reads, .limits = s->limits, .looks = true };

	if (ends_process && !reads && how.limits.memory_bytes <= 0) { // who writes takes no file that readers refuse
		how.limits.memory_bytes = LOOK_MEMORY;
		how.limits.holds_memory = true;
		how.limits.give_up = ends_process; // nothing was measured yet
	}
	enum status status = open_waiting_with(s, &how, &d, err);

	if (status != STATUS_OK)
		return status;
	status = guard_look(&d, err);
	if (status == STATUS_OK)
		status = guard_numbers(&d, err);
	if (status == STATUS_OK)
		status = schema_look(&d, schema_migrations, schema_migration_count, state, &version, err);
	if (status == STATUS_OK && *state != SCHEMA_EMPTY)
		status = guard_values(&d, "", err);
	if (status == STATUS_OK)
		status = db_settle(&d, true, err);
	if (status == STATUS_OK && s->read_only && *state != SCHEMA_EMPTY)
		status = schema_views(&d, &s->arena, *state, &s->views, err);
	if (status == STATUS_OK && *state == SCHEMA_CURRENT && !s->read_only)
		status = count_orphans(s, &d, orphans, err);
	if (status == STATUS_OK && reads && *orphans == 0 && (s->read_only || *state == SCHEMA_CURRENT)) {
		s->looked_at = ARENA_NEW(&s->arena, struct db);
		*(struct db *)s->looked_at = d;
		return STATUS_OK;
	}
	db_close(&d);
	if (status != STATUS_OK)
		error_prefix(err, "%s", s->path);
	return status;
}

// In a folder where anybody may create files, one of the name that is taken where none is named may lie already.
static enum status check_default(const char *path, struct error *err)
{
	struct stat file, link, folder;

	if (!text_is(path, STORE_DEFAULT) || lstat(path, &link) != 0 || stat(path, &file) != 0 || stat(".", &folder) != 0)
		return STATUS_OK;
	const uid_t owner = owned_by_us(link.st_uid) ? file.st_uid : link.st_uid;
	return owned_by_us(owner) || owner == folder.st_uid ? STATUS_OK
							    : error_set(err, STATUS_BAD_INPUT,
								      "%s in this folder belongs to user %ju, and is not "
								      "opened by the name that is the default: --db ./%s "
								      "takes it all the same, --db FILE or ASSAY_DB name "
								      "another",
								      path, (uintmax_t)owner, path);
}

// Is there a file, or may one be made?
static enum status check_path(const char *path, bool read_only, struct error *err)
{
	struct stat st;

	if (file_is_dir(path))
		return error_set(err, STATUS_BAD_INPUT, "%s is a folder; --db and ASSAY_DB name a file", path);
	if (access(path, F_OK) != 0 && errno != ENOENT)
		return error_errno(err, "%s", path);
	if (!file_exists(path) && lstat(path, &st) == 0)
		return error_set(err, STATUS_BAD_INPUT, "%s is a link, and what it names is not there", path);
	enum status status = db_check_path(path, err);
	if (status == STATUS_OK)
		status = check_default(path, err);
	if (status == STATUS_OK && !file_exists(path) && read_only)
		return error_set(err, STATUS_BAD_INPUT,
			"there is no database %s: `assay run` makes one; --db or ASSAY_DB name another", path);
	return status;
}

// `reads`: nothing will be written once it is open.
static enum status open_store(struct store *s, const char *path, bool read_only, bool reads, struct error *err)
{
	enum schema_state state = SCHEMA_CURRENT;
	size_t orphans = 0;
	bool own = false; // made here: it has what assay makes, and nothing else
	const struct db_api *api = NULL;
	enum status status = db_load(&api, err);

	if (status != STATUS_OK)
		return status;
	s->duckdb = api;
	s->path = db_file_of(&s->arena, path);
	s->read_only = read_only;
	s->run = 0;
	status = check_path(path, read_only, err);
	if (status == STATUS_OK && !reads)
		status = check_writable(s, err); // here, and not after an hour of work
	if (status == STATUS_OK && !file_exists(path))
		status = create(s, &own, err);
	if (status == STATUS_OK && !own)
		status = look_at(s, reads, &state, &orphans, err);
	if (status == STATUS_OK && read_only && state == SCHEMA_EMPTY)
		status = error_set(err, STATUS_BAD_INPUT, "%s is a DuckDB file, but assay has stored nothing in it", path);
	if (status == STATUS_OK && !read_only && state != SCHEMA_CURRENT) {
		status = migrate(s, err);
		orphans = status == STATUS_OK; // not counted yet
	}
	if (status == STATUS_OK && orphans > 0)
		status = settle_orphans(s, err);
	if (status != STATUS_OK)
		store_close(s);
	return status;
}

enum status store_open(struct store *s, const char *path, bool read_only, struct error *err)
{
	return open_store(s, path, read_only, read_only, err);
}

enum status store_open_settled(struct store *s, const char *path, struct error *err)
{
	// A file that is not there is not made. Whatever stands against writing (a full disk, a schema of a newer assay) does
	// not stand against reading, and if it does, reading says it. Who holds the file keeps readers out, too.
	struct error why = { 0 };
	const enum status st = file_exists(path) ? open_store(s, path, false, true, &why) : STATUS_BAD_INPUT;

	if (st == STATUS_TIMEOUT)
		return error_set(err, st, "%s", why.text);
	if (st)
		return store_open(s, path, true, err);
	s->read_only = true;
	return STATUS_OK;
}

void store_let_go(struct store *s)
{
	if (s->kept != NULL)
		db_close(s->kept);
	if (s->looked_at != NULL)
		db_close(s->looked_at);
	s->kept = s->looked_at = NULL;
}

void store_close(struct store *s)
{
	void (*notice)(void *, const char *) = s->notice;
	void *context = s->context;
	struct store_limits limits = s->limits;
	double lock_wait_s = s->lock_wait_s;

	store_read_end(s);
	store_let_go(s);
	if (s->lock > 0)
		close(s->lock);
	arena_done(&s->arena);
	*s = (struct store){ .notice = notice, .context = context, .limits = limits, .lock_wait_s = lock_wait_s };
}

enum status store_read_begin(struct store *s, struct error *err)
{
	struct db *d = ARENA_NEW(&s->arena, struct db);
	enum status status = transaction_begin(s, false, d, err);

	if (status == STATUS_OK)
		s->reading = d;
	return status;
}

void store_read_end(struct store *s)
{
	if (s->reading != NULL)
		db_close(s->reading);
	s->reading = NULL;
}

enum status store_query(struct store *s, const char *sql, struct table *out, struct error *err)
{
	struct db d = { 0 };

	if (s->reading != NULL)
		return db_query(s->reading, &s->arena, sql, NULL, 0, out, err);
	enum status status = transaction_begin(s, false, &d, err);
	if (status != STATUS_OK)
		return status;
	status = db_query(&d, &s->arena, sql, NULL, 0, out, err);
	db_close(&d);
	return status;
}

enum status store_select(struct store *s, const char *sql, int64_t most, struct table *out, struct error *err)
{
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	if (status != STATUS_OK)
		return status;
	status = db_select(&d, &s->arena, sql, most, out, err);
	db_close(&d);
	return status;
}

enum status transaction_cell_state(struct store *s, struct db *d, const char *cell_key, double timeout_s,
	enum store_cell_state *out, int64_t *row, struct error *err)
{
	static const char sql[] =
		// not the view: what is asked of a file at every cell of a long matrix is planned in no time
		"SELECT c.id AS cell, e.verdict AS verdict, c.timeout_s AS timeout_s, r.id AS run, r.pid AS pid,"
		" r.start_ticks AS start_ticks, r.boot_id AS boot_id,"
		" r.pid_namespace AS pid_namespace FROM cell c JOIN run r ON r.id = c.run"
		" LEFT JOIN (SELECT cell, arg_max(verdict, id) AS verdict FROM event WHERE kind IN ('verdict', 'interrupted') "
		"GROUP BY cell) AS e ON e.cell = c.id"
		// What was imported, or measured on another machine, answers nothing about this one.
		" WHERE c.cell_key = $1 AND r.origin_id IS NULL AND r.import IS NULL AND ($2 = '' OR r.machine = $2) ORDER BY "
		"c.id DESC";
	struct arena a = { 0 };
	struct table t = { 0 };
	const struct db_parameter asked[] = { { .text = cell_key }, { .text = s->machine != NULL ? s->machine : "" } };
	enum status status = db_query(d, &a, sql, asked, 2, &t, err);

	if (status == STATUS_OK) {
		enum store_cell_state state = STORE_NEVER;
		// A finished row wins over one that is being tried again; one without an answer counts as never run.
		for (size_t i = 0; i < t.row_count && state != STORE_FINISHED; i++) {
			const char *word = table_get(&t, i, "verdict");
			enum verdict v = verdict_find(word);
			bool proves = v != VERDICT_TIMEOUT || !(table_real(&t, i, "timeout_s") < timeout_s);
			enum store_cell_state this = word && verdict_answers(v) && proves ? STORE_FINISHED
				: !word && run_may_live(s, &t, i)                         ? STORE_TAKEN
											  : STORE_NEVER;
			if (this == STORE_FINISHED || (this == STORE_TAKEN && state == STORE_NEVER)) {
				state = this;
				if (row != NULL)
					*row = table_integer(&t, i, "cell");
			}
		}
		*out = state;
	}
	arena_done(&a);
	return status;
}

enum status store_cell_state(
	struct store *s, const char *cell_key, double timeout_s, enum store_cell_state *out, int64_t *row, struct error *err)
{
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	if (status != STATUS_OK)
		return status;
	status = transaction_cell_state(s, &d, cell_key, timeout_s, out, row, err);
	db_close(&d);
	return status;
}

enum status store_profile(struct store *s, int64_t row, json_t **out, struct error *err)
{
	struct db d = { 0 };
	enum status status = transaction_begin(s, false, &d, err);

	if (status != STATUS_OK)
		return status;
	status = objects_read(&d, &profile_table, row, out, err);
	db_close(&d);
	return status;
}
