# SPDX-License-Identifier: Apache-2.0
# Program: plain
# The HTML report in Chromium, from a file and without a network: its script runs under its own policy, and what ran on no hardware is
# drawn only when the switch is pressed; the legend has what is drawn.
. "$SOURCE/tests/browser/lib.sh"
program=$(command -v chromium || command -v google-chrome) || { echo "skip: no chromium here"; exit 77; }
case=$SOURCE/tests/conform/cases/bert

"$ASSAY" run "$case" --on cpu,null --synthetic --runs 3 --no-conform >"$work/run" 2>&1 || fail "no rows: $(cat "$work/run")"
"$ASSAY" report -o "$work/report.html"

# dom NAME [FRAGMENT]: the page after its scripts ran.
dom()
{
	"$program" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --virtual-time-budget=3000 --dump-dom \
		"file://$work/report.html${2:-}" >"$work/$1" 2>"$work/$1.log" || fail "chromium ended badly: $(tail -3 "$work/$1.log")"
}
# legend NAME: the platforms that it shows.
legend()
{
	grep -o '<span class="key"[^>]*>.\{0,90\}</span>[a-z]*</span>' "$work/$1" | grep -v ' hidden' | sed 's/.*<\/span>\([a-z]*\)<\/span>/\1/' | paste -sd, -
}

dom off
grep -q '<canvas' "$work/off" || fail "the script did not run under the page's policy"
[ "$(legend off)" = cpu ] || fail "without the switch the legend has: $(legend off)"
grep -q 'id="latency-soft" aria-pressed="false"' "$work/off" || fail "no switch"
dom on '#latency-soft'
[ "$(legend on)" = cpu,null ] || fail "with the switch the legend has: $(legend on)"
grep -q 'id="latency-soft" aria-pressed="true"' "$work/on" || fail "the switch is not pressed"
# Another script than the page's own does not run.
sed 's|</main>|</main><script>document.title = "changed"</script>|' "$work/report.html" >"$work/other.html" && mv "$work/other.html" "$work/report.html"
dom other
grep -q '<canvas' "$work/other" || fail "the page's own script did not run"
grep -q '<title>changed' "$work/other" && fail "a script that is not the page's own ran"
echo good
