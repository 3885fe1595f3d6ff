# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# What is skipped is told: a part of a unit test (tests/unit/skips.h) or of a script (lib.sh) makes the whole one skipped, and tools/skipped
# says how many and why before ctest's closing lines.
. "$SOURCE/tests/cli/lib.sh" || exit 1
cd "$work" || exit 1
cat >parts.c <<'END'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "skips.h"
static void passes(void **state) { (void)state; }
static void skips(void **state) { (void)state; SKIP_PART("there is no %s", "moon"); }
static void fails(void **state) { (void)state; fail(); }
int main(int argc, char **argv)
{
	const struct CMUnitTest good[] = { cmocka_unit_test(passes) }, some[] = { cmocka_unit_test(passes), cmocka_unit_test(skips) },
		bad[] = { cmocka_unit_test(skips), cmocka_unit_test(fails) };
	if (argc > 1 && !strcmp(argv[1], "some"))
		return exit_code(cmocka_run_group_tests(some, NULL, NULL));
	return argc > 1 ? exit_code(cmocka_run_group_tests(bad, NULL, NULL)) : exit_code(cmocka_run_group_tests(good, NULL, NULL));
}
END
# shellcheck disable=SC2046
cc -I"$SOURCE/tests/unit" -o parts parts.c $(pkg-config --cflags --libs cmocka) || fail "tests/unit/skips.h does not compile"
code 0 ./parts
code 77 ./parts some
cat "$work/out" "$work/err" | grep -q '^skip: there is no moon$' || fail "a unit test does not say why a part was skipped"
code 1 ./parts bad

cat >script.sh <<'END'
. "$SOURCE/tests/cli/lib.sh"
skip_part "no sun today"
skip_part "no stars"
finish
END
code 77 bash script.sh
has out '^skip: no sun today$'

cat >CTestTestfile.cmake <<END
add_test(good "$work/parts")
add_test(part "$work/parts" some)
add_test(script bash "$work/script.sh")
add_test(silent bash -c "exit 77")
set_tests_properties(part script silent PROPERTIES SKIP_RETURN_CODE 77)
END
told() { (ctest -j1 "$@" 2>&1 | "$SOURCE/tools/skipped" Testing/Temporary/LastTest.log); }
code 0 told
sed -n '/skipped, or parts/,$p' "$work/out" >told
diff - <(sed -n 1,5p told) <<'END' || fail "not what was skipped"
3 tests were skipped, or parts of them:
  part: there is no moon
  script: no sun today
  script: no stars
  silent: it gave no reason
END
grep -q '^100% tests passed, 0 tests failed out of 4$' told || fail "ctest's closing lines do not stand behind it"
code 0 told -R good
has out '^No test was skipped\.$'
echo "add_test(bad \"$work/parts\" bad)" >>CTestTestfile.cmake
code 1 told
[ "$(tail -1 "$work/out")" = "Errors while running CTest" ] || grep -q '^The following tests FAILED:' "$work/out" || fail "a failure is not told"
code 1 told -R none --no-tests=error
finish
