// SPDX-License-Identifier: Apache-2.0
// Tier: fast
// The platform table and the words of --on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/platform.h"

static void test_table(void **state)
{
	static const char *const asked[] = { "cpu", "cuda", "rocm", "mps", "openvino", "qnn", "webnn", "webgpu" };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		assert_non_null(platform_find(asked[i]));
	assert_null(platform_find("CPU"));
	assert_null(platform_find(""));
	assert_null(platform_find(NULL));
	for (size_t i = 0; i < platform_count(); i++) {
		const struct platform *p = platform_get(i);
		struct error err = { 0 };
		struct target reference;

		assert_ptr_equal(platform_find(p->name), p); // no name twice
		assert_non_null(p->summary);
		assert_true(p->form_count >= 1 && p->form_count <= sizeof p->forms / sizeof *p->forms);
		assert_non_null(p->routes[0].engine);
		for (const struct route *r = p->routes; r->engine; r++) {
			assert_non_null(route_backend(r));
			assert_non_null(route_provider(r));
			assert_ptr_equal(platform_route(p, r->device), r); // its default device is one of its own
		}
		for (size_t k = 0; p->fallback[k]; k++)
			assert_true(platform_find(p->fallback[k]) && platform_find(p->fallback[k]) != p);
		if (platform_target(&reference, &a, p->reference, &err))
			fail_msg("%s: %s", p->name, err.text);
		if (!platform_is_software(p)) // no platform is judged by itself
			assert_ptr_not_equal(reference.platform, p);
	}
	arena_done(&a);
}

static void test_target(void **state)
{
	static const struct {
		const char *text, *platform, *device, *options;
	} cases[] = {
		{ "cpu", "cpu", "CPU", NULL },
		{ "cpu:", "cpu", "CPU", NULL },
		{ "cpu:CPU", "cpu", "CPU", NULL },
		{ "cpu:optimisation=none", "cpu", "CPU", "optimisation=none" },
		{ "openvino:GPU", "openvino", "GPU", NULL },
		{ "openvino:GPU.1,precision=f16", "openvino", "GPU.1", "precision=f16" },
		{ "openvino:precision=f16,GPU", "openvino", "GPU", "precision=f16" },
		{ "openvino:HETERO:GPU,CPU,threads=2,precision=bf16", "openvino", "HETERO:GPU,CPU", "threads=2,precision=bf16" },
		{ "null:fail=run@3", "null", "NULL", "fail=run@3" },
		{ "null:sleep_ms=2,crash=run@3", "null", "NULL", "sleep_ms=2,crash=run@3" },
		{ "cuda", "cuda", "0", NULL },
		{ "Nvidia", "cuda", "0", NULL },
		{ "OPENVINO:GPU", "openvino", "GPU", NULL },
		{ "qnn:69", "qnn", "69", NULL },
		{ "webgpu", "webgpu", "native", NULL },
		{ "webgpu:chromium", "webgpu", "chromium", NULL },
		{ "cpu:firefox", "cpu", "firefox", NULL },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error err = { 0 };
		struct target t;

		if (platform_target(&t, &a, cases[i].text, &err))
			fail_msg("%s: %s", cases[i].text, err.text);
		if (!text_is(t.platform->name, cases[i].platform) || !text_is(t.device, cases[i].device) ||
			!text_is(t.options, cases[i].options))
			fail_msg("%s: platform %s device %s options %s", cases[i].text, t.platform->name, t.device, t.options);
	}
	arena_done(&a);
}

static void test_unknown(void **state)
{
	static const char *const cases[] = { "", "gpux", "openvino,GPU", "cpu2", ":CPU", "=" };
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct target t = { 0 };
		struct error err = { 0 };

		assert_int_equal(platform_target(&t, &a, cases[i], &err), STATUS_BAD_INPUT);
		assert_null(t.platform);
		assert_non_null(strstr(err.text, "openvino, qnn, webnn, webgpu"));
		assert_null(strstr(err.text, "null"));
	}
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
