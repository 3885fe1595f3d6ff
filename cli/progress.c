// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "command.h"
#include "emit.h"

static bool shown;

static int terminal_width(void)
{
	struct winsize w;
	if (!isatty(STDERR_FILENO))
		return 0;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < 20)
		return 80;
	return w.ws_col;
}

void progress_line(const char *format, ...)
{
	int width = terminal_width();
	char text[512];
	va_list ap;

	if (width == 0)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	emit_progress(text, width - 1);
	shown = true;
}

bool progress_is_shown(void)
{
	return terminal_width() != 0;
}

void progress_step(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (progress_is_shown())
		progress_line("%s", text);
	else
		emit_error("%s\n", text);
}

void progress_clear(void)
{
	if (!shown)
		return;
	emit_progress("", 0);
	shown = false;
}

void progress_notice(const char *sentence)
{
	progress_clear();
	emit_error("assay: %s\n", sentence);
}

int progress_bytes(void *context, uint64_t done, uint64_t total)
{
	static double last_ms;
	double now = clock_ms();
	// A terminal needs no more than ten lines a second, and the writer should not wait for it.
	if (total > 0 && (now - last_ms > 100 || done == total)) {
		last_ms = now;
		progress_line("%s: %.0f of %.0f MiB, %.0f %%", (const char *)context, (double)done / 1048576,
			(double)total / 1048576, 100.0 * (double)done / (double)total);
	}
	return cli_stop != 0;
}

const char *progress_duration(double seconds)
{
	static char text[32];
	if (seconds < 90)
		snprintf(text, sizeof text, "%.0f s", seconds);
	else if (seconds < 90 * 60)
		snprintf(text, sizeof text, "%.0f min", seconds / 60);
	else
		snprintf(text, sizeof text, "%d h %d min", (int)(seconds / 3600), (int)(seconds / 60) % 60);
	return text;
}
