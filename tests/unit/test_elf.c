// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// Libraries read as data: this program and its C library, copies of them that are broken in every way, and a system made of
// files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sanitizer/asan_interface.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/doctor.h"
#include "platform/elf.h"

static struct arena arena;

static bool lists(const char *const *of, size_t count, const char *what)
{
	for (size_t i = 0; i < count; i++)
		if (text_starts(of[i], what))
			return true;
	return false;
}

static void test_this_program(void **state)
{
	struct error err = { 0 };
	struct elf_chain chain;
	struct elf elf;

	(void)state;
	assert_int_equal(elf_open(&elf, &arena, "/proc/self/exe", &err), STATUS_OK);
	assert_true(lists(elf.needed, elf.needed_count, "libcmocka.so"));
	assert_true(lists(elf.needed, elf.needed_count, "libc.so"));
	assert_null(elf.soname);
	assert_true(elf.wanted_count > 0);
	assert_int_equal(elf_walk(&chain, &arena, "/proc/self/exe", NULL, &err), STATUS_OK);
	for (size_t i = 0; i < chain.gap_count; i++)
		print_error("%s\n", chain.gaps[i].sentence);
	assert_int_equal(chain.gap_count, 0); // it runs, so nothing is missing
	assert_true(chain.path_count > elf.needed_count);
}

static void test_c_library(void **state)
{
	const char *path = elf_find(&arena, "libc.so.6", NULL);
	struct error err = { 0 };
	struct elf elf;

	(void)state;
	assert_non_null(path);
	assert_int_equal(elf_open(&elf, &arena, path, &err), STATUS_OK);
	assert_string_equal(elf.soname, "libc.so.6");
	assert_true(lists(elf.versions, elf.version_count, "GLIBC_2.17"));
	assert_false(lists(elf.versions, elf.version_count, "GLIBC_9"));
	assert_null(elf_find(&arena, "libnobody-has-this.so.7", NULL));
}

// Cut at any length it is refused with a sentence; so are other machines.
// By 64 KiB, and the first 4 KiB by 64 bytes.
static size_t shorter(size_t n)
{
	enum { STEP = 1 << 16, HEAD = 4096 };

	return n > STEP ? (n - 1) / STEP * STEP : n > HEAD ? HEAD : (n - 1) / 64 * 64;
}

static void test_broken(void **state)
{
	struct error err = { 0 };
	const uint8_t *whole;
	struct elf elf;
	size_t nbytes;

	(void)state;
	assert_int_equal(file_map(&arena, "/proc/self/exe", &whole, &nbytes, &err), STATUS_OK);
	// A sanitizer sees a read beyond what is left. Debug sections at the end may be missing.
	uint8_t *cut = malloc(nbytes);
	memcpy(cut, whole, nbytes);
	for (size_t n = nbytes - 1, end = nbytes;; end = n, n = shorter(n)) {
		ASAN_POISON_MEMORY_REGION(cut + n, end - n);
		err = (struct error){ 0 };
		elf = (struct elf){ 0 };
		if (elf_read(&elf, &arena, "cut.so", cut, n, &err)) {
			assert_true(text_starts(err.text, "cut.so: "));
			assert_null(elf.needed);
		} else {
			assert_true(n > 4096);
		}
		if (n == 0)
			break;
	}
	ASAN_UNPOISON_MEMORY_REGION(cut, nbytes);
	free(cut);
	uint8_t *other = malloc(nbytes);
	memcpy(other, whole, nbytes);
	other[18] = 243; // e_machine: RISC-V
	other[19] = 0;
	assert_int_equal(elf_read(&elf, &arena, "other.so", other, nbytes, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.text, "built for RISC-V, and this is "));
	other[4] = 1; // 32 bits
	assert_int_equal(elf_read(&elf, &arena, "other.so", other, nbytes, &err), STATUS_UNSUPPORTED);
	other[0] = 'M';
	assert_int_equal(elf_read(&elf, &arena, "other.so", other, nbytes, &err), STATUS_BAD_INPUT);
	free(other);
}

static void test_bringers(void **state)
{
	(void)state;
	assert_string_equal(soname_bringer(&arena, "libcudart.so.13"), "run: assay setup cuda");
	assert_string_equal(soname_bringer(&arena, "libcudnn_ops.so.9"), "run: assay setup cuda");
	assert_string_equal(soname_bringer(&arena, "libvulkan.so.1"), "apt-get install libvulkan1");
	assert_string_equal(soname_bringer(&arena, "libQnnHtp.so"), "run: assay setup qnn");
	assert_non_null(strstr(soname_bringer(&arena, "libcuda.so.1"), "NVIDIA's driver"));
	assert_non_null(strstr(soname_bringer(&arena, "libmigraphx_c.so.3"), "ROCm"));
	assert_null(soname_bringer(&arena, "libnobody-has-this.so.7"));
	// Another major version than the one that setup brings is not promised.
	assert_null(soname_bringer(&arena, "libcudart.so.12"));
}

// ---- the doctor on a machine made of files ------------------------------------------------------------------------------

static const struct check *find(const struct checkup *c, const char *name, const char *words)
{
	for (size_t i = 0; i < c->count; i++)
		if (text_is(c->check[i].name, name) && strstr(c->check[i].text, words))
			return &c->check[i];
	return NULL;
}

static void put(const char *root, const char *path, mode_t mode)
{
	const char *at = arena_printf(&arena, "%s%s", root, path);
	struct error err = { 0 };

	assert_int_equal(file_mkdirs(arena_strndup(&arena, at, (size_t)(strrchr(at, '/') - at)), &err), STATUS_OK);
	assert_int_equal(file_write(at, "", 0, &err), STATUS_OK);
	assert_int_equal(chmod(at, mode), 0);
}

static void test_devices(void **state)
{
	char root[] = "/tmp/assay-doctor-XXXXXX";
	struct checkup c = { .arena = &arena };
	struct target t;
	struct error err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(platform_target(&t, &arena, "rocm", &err), STATUS_OK);
	doctor_devices(&c, &t, root);
	assert_int_equal(find(&c, "device", "/dev/kfd is missing")->state, CHECK_BAD);
	assert_non_null(find(&c, "device", "/dev/kfd is missing (AMD's compute driver), and the PCI bus cannot be seen (/"));
	assert_int_equal(find(&c, "device", "/dev/dri/renderD* is missing")->state, CHECK_BAD);
	assert_non_null(strstr(checkup_fix(&c), "--device /dev/kfd"));

	put(root, "/dev/kfd", 0666);
	put(root, "/dev/dri/renderD128", geteuid() ? 0 : 0666);
	c = (struct checkup){ .arena = &arena };
	doctor_devices(&c, &t, root);
	assert_int_equal(find(&c, "device", "/dev/kfd: may be read and written")->state, CHECK_OK);
	if (geteuid()) // root may everything
		assert_int_equal(find(&c, "device", "renderD128: no permission")->state, CHECK_BAD);

	// A GPU of OpenVINO needs a device file, its CPU none.
	c = (struct checkup){ .arena = &arena };
	assert_int_equal(platform_target(&t, &arena, "openvino", &err), STATUS_OK);
	doctor_devices(&c, &t, root);
	assert_int_equal(find(&c, "device", "needs no device file")->state, CHECK_NONE);
	c = (struct checkup){ .arena = &arena };
	assert_int_equal(platform_target(&t, &arena, "openvino:GPU.0", &err), STATUS_OK);
	doctor_devices(&c, &t, root);
	assert_non_null(find(&c, "device", "renderD128"));
	file_remove_tree(root, &err);
}

static void test_environment(void **state)
{
	static const struct {
		const char *value;
		enum check_state wanted;
	} cases[] = {
		{ "", CHECK_BAD },
		{ "-1", CHECK_BAD },
		{ "NoDevFiles", CHECK_BAD },
		{ "0", CHECK_OK },
		{ "1,0", CHECK_OK },
	};
	struct checkup c = { .arena = &arena };
	struct error err = { 0 };
	struct target t;

	(void)state;
	assert_int_equal(platform_target(&t, &arena, "cuda", &err), STATUS_OK);
	unsetenv("CUDA_VISIBLE_DEVICES");
	doctor_environment(&c, &t);
	assert_int_equal(find(&c, "environment", "nothing hides")->state, CHECK_OK);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		c = (struct checkup){ .arena = &arena };
		setenv("CUDA_VISIBLE_DEVICES", cases[i].value, 1);
		doctor_environment(&c, &t);
		assert_int_equal(find(&c, "environment", "CUDA_VISIBLE_DEVICES=")->state, cases[i].wanted);
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
}

// Each remedy once, in the order of the checks; what is good has none.
static void test_fix(void **state)
{
	struct checkup c = { .arena = &arena };

	(void)state;
	assert_null(checkup_fix(&c));
	checkup_add(&c, CHECK_OK, "library", "never said", "good");
	checkup_add(&c, CHECK_BAD, "chain", "do this", "bad");
	checkup_add(&c, CHECK_BAD, "chain", "do this", "bad too");
	checkup_add(&c, CHECK_BAD, "runs", NULL, "bad, and nobody knows why");
	checkup_add(&c, CHECK_BAD, "device", "do that", "bad as well");
	assert_string_equal(checkup_fix(&c), "do this; then do that");
}

// Every platform that setup knows is one, and the eight are known, but for the one that needs another system.
static void test_groups(void **state)
{
	(void)state;
	for (size_t i = 0; i < platform_count(); i++) {
		const struct platform *p = platform_get(i);
		if (!(p->flags & PLATFORM_EXTRA) && strcmp(p->name, "mps"))
			assert_non_null(doctor_groups(p->name));
	}
	assert_null(doctor_groups("mps"));
	assert_null(doctor_groups("nonesuch"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_c_library),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_bringers),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_fix),
		cmocka_unit_test(test_groups),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_done(&arena);
	return failed;
}
