// SPDX-License-Identifier: Apache-2.0
// The library, and opening a database with it: the only place that does. Every opened one is shut in (db.h): extensions are
// neither installed nor loaded, files and the network are out of reach, settings are locked, nothing is put aside on a disk. One
// thread a connection and blocks of 16 KiB: a file of few rows stays below 1 MiB and opens in about 15 ms, and no worker thread
// of the database exists while a cell is timed (the store closes the file between transactions anyway).
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/owned.h"
#include "base/text.h"
#include "store/db.h"
#include "store/db_watch.h"
#include "store/journal.h"
#include "store/opened.h"
#include "store/sql_name.h"

static enum status load(struct arena *a, struct db_api *api, struct error *err)
{
	void *handle = NULL;
	const char *path = NULL;

	if (library_open_lazily(a, "duckdb", "libduckdb.so*", &handle, &path, err) != STATUS_OK)
		return error_prefix(err, "the database library");
#define X(name) \
	api->name = (__typeof__(api->name))dlsym(handle, "duckdb_" #name); \
	if (api->name == NULL) \
		return error_set(err, STATUS_UNAVAILABLE, "%s has no duckdb_%s: assay needs DuckDB %d.%d.%d or newer", path, \
			#name, DUCKDB_API_VERSION_MAJOR, DUCKDB_API_VERSION_MINOR, DUCKDB_API_VERSION_PATCH);
	DB_FUNCTIONS(X)
#undef X
	api->library = path;
	return STATUS_OK;
}

enum status db_load(const struct db_api **out, struct error *err)
{
	static struct arena arena; // of the process: never ends
	static struct db_api api;
	static bool loaded;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	enum status status = STATUS_OK;

	pthread_mutex_lock(&lock);
	if (!loaded)
		status = load(&arena, &api, err);
	loaded = status == STATUS_OK;
	pthread_mutex_unlock(&lock);
	if (loaded)
		*out = &api;
	return status;
}

// ---- which file --------------------------------------------------------------------------------------------------

// "md:name" loads an extension that reaches for a network, "sqlite:name" another, and ":memory:" is no file.
static enum status check_name(const char *path, struct error *err)
{
	char here[4096];
	size_t n = 0;

	while (isalnum((unsigned char)path[n]) || path[n] == '_')
		n++;
	if (*path == '\0')
		return error_set(err, STATUS_BAD_INPUT, "the name of the database is empty");
	if (*path != '/' && getcwd(here, sizeof here) == NULL && errno == ENOENT) // DuckDB ends the program then
		return error_set(
			err, STATUS_BAD_INPUT, "%s: the current folder was removed; --db names a database elsewhere", path);
	if (text_is(path, ":memory:"))
		return error_set(err, STATUS_BAD_INPUT,
			":memory: is DuckDB's word for a database that is gone when the program ends; name a file (./:memory: if "
			"it has that name)");
	if (n > 0 && path[n] == ':')
		return error_set(err, STATUS_BAD_INPUT,
			"%s names no file of this machine: what begins with '%.*s:' DuckDB looks for with an extension, and "
			"assay loads none (./%s if that is its name)",
			path, (int)n, path, path);
	if (strchr(path, '?') != NULL || (*path != '/' && getcwd(here, sizeof here) != NULL && strchr(here, '?') != NULL))
		return error_set(err, STATUS_BAD_INPUT,
			"%s: there is a ? in its name or in that of a folder that it is in, and DuckDB would keep its log of "
			"changes "
			"elsewhere: give it another name",
			path);
	return STATUS_OK;
}

// Beside each of its names would be a log and a journal, of which the others know nothing.
static enum status check_one_name(const char *path, struct error *err)
{
	struct stat st;

	return stat(path, &st) != 0 || st.st_nlink < 2
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT,
			  "%s is one file under %ju names (hard links), of which each would have a log of changes of its own: it "
			  "is only read; write to a copy, or remove the other names",
			  path, (uintmax_t)st.st_nlink);
}

static const char *kind_of(mode_t mode)
{
	return S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : S_ISDIR(mode) ? "a folder" : "a device";
}

// A file that is there is a regular one and begins as DuckDB's do: DuckDB opens other forms by extensions, and waits for a pipe
// for ever.
static enum status check_file(const char *path, struct error *err)
{
	enum { MAGIC_AT = 8, MAGIC_LENGTH = 4 };
	char begin[MAGIC_AT + MAGIC_LENGTH];
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return STATUS_OK;
	if (fd < 0 && errno == ENXIO) // a socket
		return error_set(err, STATUS_BAD_INPUT, "%s is no file; a database is a regular file", path);
	if (fd < 0)
		return error_errno(err, "%s", path);
	bool is_regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	ssize_t got = is_regular ? pread(fd, begin, sizeof begin, 0) : 0;
	int failure = got < 0 ? errno : 0; // of its disk, and no word about what the file is
	bool is_duckdb = got == sizeof begin && memcmp(begin + MAGIC_AT, "DUCK", MAGIC_LENGTH) == 0;
	close(fd);
	errno = failure;
	if (failure != 0)
		return error_errno(err, "%s", path);
	if (!is_regular)
		return error_set(err, STATUS_BAD_INPUT, "%s is %s; a database is a regular file", path, kind_of(st.st_mode));
	if (st.st_size == 0)
		return error_set(
			err, STATUS_BAD_INPUT, "%s is a file of 0 bytes and no database: remove it or name another", path);
	if (!is_duckdb)
		return error_set(err, STATUS_BAD_INPUT, "%s is not a valid DuckDB database file", path);
	return STATUS_OK;
}

bool db_believes(const struct stat *database, const struct stat *beside)
{
	enum { OTHERS_WRITE = 0022 };

	return beside->st_uid == database->st_uid || owned_by_us(beside->st_uid) || (database->st_mode & OTHERS_WRITE);
}

enum status db_check_beside(const char *path, const char *beside, struct error *err)
{
	struct stat file, st;

	if (stat(path, &file) != 0 || lstat(beside, &st) != 0 || db_believes(&file, &st))
		return STATUS_OK;
	return error_set(err, STATUS_BAD_INPUT,
		"%s belongs to user %ju, who may not write %s: it would change what is in there; remove it", beside,
		(uintmax_t)st.st_uid, path);
}

// A log that is a link or a pipe would be written to, or waited for, as the database is opened.
static enum status check_log(const char *path, struct error *err)
{
	static const char *const during[] = { ".checkpoint", ".recovery" };
	struct text log = { 0 }, other = { 0 };
	struct stat st;
	enum status status = STATUS_OK;

	text_addf(&log, "%s.wal", path);
	if (lstat(text_get(&log), &st) == 0 && !S_ISREG(st.st_mode))
		status = error_set(
			err, STATUS_BAD_INPUT, "%s is no regular file, and the log of %s belongs there", text_get(&log), path);
	else
		status = db_check_beside(path, text_get(&log), err);
	// DuckDB's while it puts a log into the file as others write. It reads the first, and writes the second through whatever
	// link is there; assay's databases have one writer, and neither.
	for (size_t i = 0; i < sizeof during / sizeof *during && status == STATUS_OK; i++) {
		text_addf(&other, "%s%s", text_get(&log), during[i]);
		if (lstat(text_get(&other), &st) == 0)
			status = error_set(err, STATUS_BAD_INPUT,
				"%s: %s lies beside it, and assay leaves no such file: DuckDB itself takes it over, or it is to "
				"be "
				"removed",
				path, text_get(&other));
		text_done(&other);
	}
	text_done(&log);
	return status;
}

enum status db_check_path(const char *path, struct error *err)
{
	enum status status = check_name(path, err);

	if (status == STATUS_OK)
		status = file_check_links(path, err);
	if (status == STATUS_OK)
		status = check_file(path, err);
	return status == STATUS_OK ? check_log(path, err) : status;
}

const char *db_file_of(struct arena *a, const char *path)
{
	char real[PATH_MAX];
	struct stat st;

	return arena_strdup(a, lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, real) != NULL ? real : path);
}

enum status db_check_not_pattern(const char *file, struct error *err)
{
	glob_t found = { 0 };
	const int code = glob(file, GLOB_NOSORT, NULL, &found);
	const bool is_itself = code == GLOB_NOMATCH || (code == 0 && found.gl_pathc == 1 && text_is(found.gl_pathv[0], file));

	globfree(&found);
	return is_itself
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT,
			  "its name is a pattern (with *, ? or [) that stands for other files, too: give it another name");
}

int64_t db_bytes(const char *path)
{
	struct stat st; // as file_bytes: a file system may store less than was written

	if (stat(path, &st) != 0)
		return 0;
	return (int64_t)st.st_blocks * 512 < st.st_size / FILE_SHARE ? (int64_t)st.st_blocks * 512 : (int64_t)st.st_size;
}

// ---- opening -----------------------------------------------------------------------------------------------------

static enum status set(const struct db_api *api, duckdb_config config, const char *name, const char *to, struct error *err)
{
	if (api->set_config(config, name, to) == DuckDBError)
		return error_set(err, STATUS_UNAVAILABLE, "%s does not know the setting %s", api->library, name);
	return STATUS_OK;
}

static enum status configure(const struct db_api *api, duckdb_config config, const struct db_opening *how, struct error *err)
{
	char memory[32];
	snprintf(memory, sizeof memory, "%lldMiB", (long long)(how->limits.memory_bytes >> 20));
	const char *const settings[][2] = {
		{ "threads", "1" },
		{ "default_block_size", "16384" },
		{ "memory_limit",
			how->memory != NULL                    ? how->memory
				: how->limits.memory_bytes > 0 ? memory
							       : DB_MEMORY },
		{ "temp_directory", "" },
		// Only closing checkpoints: a COMMIT that has made all durable and then finds no room for that is told as failed.
		{ "wal_autocheckpoint", "1TB" },
		{ "autoinstall_known_extensions", "false" },
		{ "autoload_known_extensions", "false" },
		{ "allow_community_extensions", "false" },
		{ "allow_persistent_secrets", "false" },
	};
	enum status status = STATUS_OK;

	for (size_t i = 0; i < sizeof settings / sizeof settings[0] && status == STATUS_OK; i++)
		status = set(api, config, settings[i][0], settings[i][1], err);
	if (status == STATUS_OK)
		status = set(api, config, "access_mode", how->write || how->path == NULL ? "READ_WRITE" : "READ_ONLY", err);
	if (status == STATUS_OK && how->files == NULL && how->source == NULL) {
		status = set(api, config, "enable_external_access", "false", err);
		if (status == STATUS_OK && !how->looks)
			status = set(api, config, "lock_configuration", "true", err);
	}
	return status;
}

// What a file says of its values by parts is used in many places of DuckDB's optimizer: nothing of it is left but what needs none
// of that, and without which a whole row would be read for each column.
static enum status read_all_values(struct db *d, struct error *err)
{
	static const char *const harmless[] = { "expression_rewriter", "unused_columns", "column_lifetime", "join_order",
		"build_side_probe_side" };
	struct text sql = { 0 };
	struct arena a = { 0 };
	struct table t;
	enum status status = db_query(d, &a, "SELECT name FROM system.main.duckdb_optimizers()", NULL, 0, &t, err);

	for (size_t i = 0; status == STATUS_OK && i < t.row_count; i++) {
		const char *name = table_get(&t, i, "name");
		bool is_harmless = false;

		for (size_t k = 0; k < sizeof harmless / sizeof harmless[0]; k++)
			is_harmless = is_harmless || text_is(name, harmless[k]);
		if (!is_harmless)
			text_addf(&sql, "%s%s", sql.length > 0 ? "," : "SET disabled_optimizers = '", name);
	}
	text_add(&sql, "'");
	if (status == STATUS_OK)
		status = db_exec(d, text_get(&sql), err);
	text_done(&sql);
	arena_done(&a);
	return status;
}

// What is allowed besides the database can only be said to one that is open; after this nothing more can be.
static enum status shut_in(struct db *d, const struct db_opening *how, struct error *err)
{
	struct text sql = { 0 };
	enum status status;

	if (how->files == NULL && how->source == NULL)
		return STATUS_OK;
	if (how->source != NULL) {
		text_add(&sql, "ATTACH ");
		sql_add_file(&sql, how->source);
		text_add(&sql, " AS \"" DB_SOURCE "\" (TYPE duckdb, READ_ONLY);");
	}
	for (size_t i = 0; how->files != NULL && how->files[i] != NULL; i++) {
		text_add(&sql, i == 0 ? "SET allowed_paths = [" : ", ");
		sql_add_file(&sql, how->files[i]);
		text_add(&sql, how->files[i + 1] == NULL ? "];" : "");
	}
	text_addf(&sql, "SET enable_external_access = false;%s", how->looks ? "" : " SET lock_configuration = true");
	status = db_exec(d, text_get(&sql), err);
	text_done(&sql);
	return status;
}

enum status db_settle(struct db *d, bool trusts, struct error *err)
{
	const char *const sql =
		trusts ? "SET disabled_optimizers = ''; SET lock_configuration = true" : "SET lock_configuration = true";

	return db_exec(d, sql, err);
}

static enum status open_checked(struct db *d, struct arena *a, const struct db_opening *how, bool *locked, struct error *err)
{
	const struct db_api *api = d->api;
	duckdb_config config = NULL;
	char *message = NULL;
	enum status status;

	if (api->create_config(&config) == DuckDBError)
		return error_set(err, STATUS_NO_MEMORY, "DuckDB makes no configuration");
	status = configure(api, config, how, err);
	duckdb_state state = status != STATUS_OK
		? DuckDBSuccess
		: api->open_ext(how->path != NULL ? arena_printf(a, "%s%s", sql_file_prefix(how->path), how->path) : ":memory:",
			  &d->database, config, &message);
	api->destroy_config(&config);
	if (status != STATUS_OK)
		return status;
	if (state == DuckDBError) {
		*locked = message != NULL &&
			(strstr(message, "Could not set lock") != NULL || strstr(message, "Conflicting lock") != NULL);
		status = db_error(err, how->path != NULL ? how->path : "a database in memory", message);
		api->free(message);
		return status;
	}
	if (api->connect(d->database, &d->connection) == DuckDBError)
		return error_set(err, STATUS_FAILED, "%s: DuckDB opens the file but gives no connection",
			how->path != NULL ? how->path : ":memory:");
	db_watch_connection(d->watch, d->connection);
	if (how->write)
		status = db_exec(d, "PRAGMA disable_checkpoint_on_shutdown", err); // db_close makes it
	if (status == STATUS_OK)
		status = shut_in(d, how, err);
	return status == STATUS_OK && how->looks ? read_all_values(d, err) : status;
}

// ---- which one is open -------------------------------------------------------------------------------------------

// A handler of a signal reads these and can take no lock: a name is written once, stays as long as the program, and becomes the
// opened one by one store.
struct opened_name {
	struct opened_name *next;
	char path[];
};
static struct opened_name *opened_names; // each path once
static _Atomic(const char *) opened_path;
static atomic_int opened_count;
static atomic_bool opened_write;
static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER; // of those who write

static const char *keep_name(const char *path)
{
	struct opened_name *n = opened_names;

	while (n != NULL && !text_is(n->path, path))
		n = n->next;
	if (n == NULL && (n = malloc(sizeof *n + strlen(path) + 1)) != NULL) {
		memcpy(n->path, path, strlen(path) + 1);
		n->next = opened_names;
		opened_names = n;
	}
	return n != NULL ? n->path : "a database";
}

static void count_opened(const struct db_opening *how)
{
	const char *path = how->source != NULL                ? how->source
		: how->path != NULL                           ? how->path
		: how->files != NULL && how->files[0] != NULL ? how->files[0]
							      : "a database in memory";

	pthread_mutex_lock(&opened_lock);
	opened_path = keep_name(path);
	opened_write = (opened_count > 0 && opened_write) || how->write;
	opened_count++;
	pthread_mutex_unlock(&opened_lock);
}

static void count_closed(void)
{
	pthread_mutex_lock(&opened_lock);
	opened_count--;
	pthread_mutex_unlock(&opened_lock);
}

const char *store_opened(bool *write)
{
	*write = opened_write;
	return opened_count > 0 ? opened_path : NULL;
}

// DuckDB ends the program where it gets no descriptor for the file, its log or its locks.
static enum status check_descriptors(struct error *err)
{
	enum { ENOUGH = 4 };
	int got[ENOUGH], n = 0;

	while (n < ENOUGH && (got[n] = open("/", O_PATH | O_CLOEXEC)) >= 0)
		n++;
	bool are_enough = n == ENOUGH;
	while (n > 0)
		close(got[--n]);
	return are_enough ? STATUS_OK
			  : error_set(err, STATUS_FAILED,
				    "a limit of this process on open files is too low for the database library (ulimit -n)");
}

// Bytes of the log of changes beside it; 0: there is none.
static int64_t log_bytes(struct arena *a, const char *path)
{
	struct stat st;

	return path != NULL && stat(arena_printf(a, "%s.wal", path), &st) == 0 ? (int64_t)st.st_size : 0;
}

// DuckDB reads a log whole, and takes four times as much memory. What assay leaves is what one command wrote.
static enum status check_log_size(struct arena *a, const char *path, struct error *err)
{
	enum { LOG_MOST_MIB = 64 };
	const int64_t nbytes = log_bytes(a, path);

	return nbytes >> 20 < LOG_MOST_MIB ? STATUS_OK
					   : error_set(err, STATUS_BAD_INPUT,
						     "%s: its log of changes %s.wal has %lld MiB, and at most %d are taken over "
						     "in reading: `assay run` or DuckDB itself takes it over; nothing is lost",
						     path, path, (long long)(nbytes >> 20), LOG_MOST_MIB);
}

// DuckDB writes a table anew for each column that a log adds: 3,000 of them, 416 KB, took a minute and 1 GB. A log begins with
// its version (without one, DuckDB takes it for the first, whose entries have no lengths); then each entry is its length and a
// checksum, 8 bytes each, and an object that first names what it is. What does not look so is left to DuckDB, which stops there.
static enum status check_log_changes(struct arena *a, const char *path, bool is_taken, struct error *err)
{
	enum { VERSION = 8, HEAD = 16, WORD = 2, ALTER = 20, ROWS = 25, ALTER_WHAT = 11, ALTER_TABLE = 1, LONGER = 128 };
	enum { TABLES_MOST = 512, COMMENTS_MOST = 4096 }; // a file that becomes one of a newer assay: 300 and 1,000
	enum { ROWS_MOST = 8192 };                        // parts of up to 2,048: 0.16 ms each, whatever is in them
	static const uint8_t version[VERSION] = { 0x64, 0, 98, 0x65, 0, 2, 0xff, 0xff }, object[WORD] = { 0x64, 0 };
	const uint8_t *data, *entry;
	size_t nbytes, tables = 0, comments = 0, rows = 0;
	uint64_t length;

	if (log_bytes(a, path) <= VERSION || file_map(a, arena_printf(a, "%s.wal", path), &data, &nbytes, NULL) != STATUS_OK ||
		nbytes <= VERSION)
		return STATUS_OK;
	if (memcmp(data, version, VERSION) != 0)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: its log of changes %s.wal is not of the version that assay writes: what wrote it takes it over",
			path, path);
	for (size_t at = VERSION; nbytes - at > HEAD; at += length) {
		memcpy(&length, data + at, sizeof length);
		at += HEAD;
		entry = data + at;
		if (length <= WORD || length > nbytes - at || memcmp(entry, object, WORD) != 0)
			break;
		if (entry[WORD] == ALTER && length > ALTER_WHAT && entry[ALTER_WHAT] != ALTER_TABLE && entry[ALTER_WHAT] < LONGER)
			comments++;
		else if (entry[WORD] < ROWS || entry[WORD] >= LONGER)
			tables++;
		else
			rows++;
	}
	if (rows > ROWS_MOST && !is_taken)
		return error_set(err, STATUS_BAD_INPUT,
			"%s: its log of changes %s.wal changes rows %zu times, and at most %d are taken over in reading: `assay "
			"run` or "
			"DuckDB itself takes it over; nothing is lost",
			path, path, rows, ROWS_MOST);
	return tables <= TABLES_MOST && comments <= COMMENTS_MOST
		? STATUS_OK
		: error_set(err, STATUS_BAD_INPUT,
			  "%s: its log of changes %s.wal makes or changes tables %zu times, and comments %zu times; assay's do "
			  "so "
			  "at most %d and %d times",
			  path, path, tables, comments, TABLES_MOST, COMMENTS_MOST);
}

// The C++ library makes its part of a thread's own memory at the first exception that the thread throws. glibc ends the program
// where there is no memory for that, and the exception of a held opening is that there is none: so one is thrown before.
static void throw_once(const struct db_api *api)
{
	static _Thread_local bool has_thrown;
	duckdb_config config = NULL;

	if (!has_thrown && api->create_config(&config) != DuckDBError) {
		api->set_config(config, "threads", "no number");
		api->destroy_config(&config);
	}
	has_thrown = true;
}

// A file that is only opened, and takes more than assay's: a column's type can be a tree of thousands of levels, of which DuckDB
// makes 700 MB.
static enum status open_held(struct db *d, struct arena *a, const struct db_opening *how, bool *locked, struct error *err)
{
	const char *file = how->source != NULL ? how->source : how->path; // NULL: in memory
	const int64_t log = log_bytes(a, how->path);
	const bool is_small = file != NULL && log == 0; // what a log of changes says is computed
	struct error own = { 0 };

	throw_once(d->api);
	if (is_small)
		db_watch_hold_most(d->watch, DB_OPENING_MEMORY);
	else
		db_watch_hold(d->watch);
	// What this process may write to, it takes a log of any size over for.
	db_watch_opening(d->watch, file, how->write || how->takes_log ? log : 0);
	enum status status = open_checked(d, a, how, locked, &own);
	db_watch_opening(d->watch, NULL, 0);
	bool is_held = store_holds_memory();
	db_watch_release(d->watch);
	if (status == STATUS_NO_MEMORY && is_held && is_small && !db_watch_is_cramped(d->watch) &&
		how->limits.memory_bytes >= DB_OPENING_MEMORY)
		return error_set(err, STATUS_BAD_INPUT,
			"%s%sopening it takes more than %d MiB: it has tables that assay does not make",
			how->source != NULL ? "" : file, how->source != NULL ? "" : ": ", (int)(DB_OPENING_MEMORY >> 20));
	return status == STATUS_OK ? status : error_set(err, status, "%s", own.text);
}

// DuckDB makes the log of changes, which is for nobody who may not read the database: until it is closed this process makes no
// file of more rights.
static void keep_private(struct db *d, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return;
	d->mask = file_narrow(file_rights_like(path, &st, file_group_beside(path)));
	d->is_masked = true;
}

enum status db_open(struct db *d, const struct db_api *api, const struct db_opening *how, bool *locked, struct error *err)
{
	struct db opened = { .api = api };
	struct arena a = { 0 };
	bool journal_stays = false;
	enum status status = how->path != NULL ? db_check_path(how->path, err) : STATUS_OK;

	*locked = false;
	if (status == STATUS_OK && how->path != NULL && (how->write || how->takes_log))
		status = check_one_name(how->path, err);
	if (status == STATUS_OK)
		status = check_descriptors(err);
	if (status == STATUS_OK && !how->write && !how->takes_log)
		status = check_log_size(&a, how->path, err);
	if (status == STATUS_OK)
		status = check_log_changes(&a, how->path, how->write || how->takes_log, err);
	if (status == STATUS_OK && how->source != NULL)
		status = db_check_path(how->source, err);
	if (status == STATUS_OK && how->path != NULL)
		status = journal_roll_back(how->path, &journal_stays, err);
	if (status == STATUS_OK && (opened.watch = db_watch_begin(&how->limits, api->interrupt, err)) == NULL)
		status = STATUS_FAILED;
	if (status == STATUS_OK) {
		if (how->path != NULL && (how->write || how->takes_log))
			keep_private(&opened, how->path);
		count_opened(how);
		opened.counted = true;
		status = open_held(&opened, &a, how, locked, err);
		if (how->path != NULL && !*locked && !journal_stays && journal_is_there(how->path)) {
			*locked = true; // until the next attempt
			status = error_set(err, STATUS_FAILED, "%s: its writer was killed while it was opened", how->path);
		}
	}
	if (status == STATUS_OK && how->path != NULL && how->write)
		opened.written = strdup(how->path);
	arena_done(&a);
	if (status == STATUS_OK)
		*d = opened;
	else
		db_close(&opened);
	return status;
}

enum status db_share(struct db *d, const struct db *open, struct error *err)
{
	*d = (struct db){ .api = open->api, .database = open->database, .watch = open->watch, .shared = true };
	if (d->api->connect(d->database, &d->connection) == DuckDBError)
		return error_set(err, STATUS_FAILED, "DuckDB gives no second connection");
	db_watch_connection(d->watch, d->connection);
	return STATUS_OK;
}

// What was committed goes from the log into the file. Where that fails, or must not be tried, it stays in the log, which is read
// by who opens the file next. *file: see journal_begin.
static void checkpoint(struct db *d, int *file)
{
	struct arena a = { 0 };
	struct error err = { 0 };

	*file = -1;
	if (d->written != NULL && log_bytes(&a, d->written) > 0 && d->api->connect(d->database, &d->connection) != DuckDBError) {
		if (journal_begin(d, d->written, file, &err) == STATUS_OK && db_exec(d, "CHECKPOINT", &err) == STATUS_OK)
			journal_end(d->written);
		d->api->disconnect(&d->connection);
	}
	arena_done(&a);
}

void db_close(struct db *d)
{
	int file = -1;

	if (d->shared)
		db_watch_connection(d->watch, NULL);
	else
		db_watch_end(d->watch);
	if (d->connection != NULL)
		d->api->disconnect(&d->connection);
	d->watch = NULL;
	if (d->database != NULL && !d->shared) {
		checkpoint(d, &file);
		d->api->close(&d->database);
	}
	if (file >= 0)
		close(file);
	free(d->written);
	if (d->is_masked)
		file_widen(d->mask);
	if (d->counted)
		count_closed();
	*d = (struct db){ 0 };
}
