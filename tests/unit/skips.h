// SPDX-License-Identifier: Apache-2.0
// A part of a test program that cannot run on this machine. cmocka's skip() alone leaves the program's exit code 0, and ctest
// would count it as passed: a program that skipped a part and failed in none ends with 77, which ctest counts as skipped.
// Included behind cmocka.h.
#ifndef ASSAY_TESTS_SKIPS_H
#define ASSAY_TESTS_SKIPS_H

static int skipped_parts;

// Ends the test that is running. The arguments are printf's and say why; check repeats what stands behind "skip: ".
#define SKIP_PART(...) (skipped_parts++, print_message("skip: " __VA_ARGS__), print_message("\n"), skip())

// The exit code of main, from what cmocka_run_group_tests returned.
static inline int exit_code(int failed)
{
	return failed ? 1 : skipped_parts ? 77 : 0;
}

#endif
