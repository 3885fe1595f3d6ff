# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# kill -9 at 40 moments of a matrix (200 in the tier "long"; MOMENTS=N: so many), each taken up again with --resume: no row is lost, none is doubled, and the database opens every time.
# A third of the kills come some time after the start, a third behind a line of progress, a third while a cell's process is there, so that slow
# machines meet all moments too. Four matrices go on side by side, each with its own database. SEED=N repeats the dice (not the moments: those are the
# machine's), MOMENTS=N changes their number.
. "$SOURCE/tests/fault/lib.sh"

lanes=4 moments=${MOMENTS:-${ASSAY_LONG:+200}} seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
moments=$((${moments:-40} / 4))
models_of_round=3
echo "seed $seed"
mkdir "$work/models"
# Different questions: what has the same configuration and weights is the same question under any name.
for i in $(seq $models_of_round); do
	mkdir "$work/models/m$i"
	sed "s/\"vocab_size\": \([0-9]*\)/\"vocab_size\": 2$i\1/" "$SOURCE/tests/conform/cases/bert/config.json" >"$work/models/m$i/config.json"
done
names=$(printf '%s,' "$work"/models/m*)
names=${names%,}

# Stand-ins for every other platform: no engine is loaded to see what is here, which is most of the time of a matrix of cells without work.
ASSAY_NULL=$("$ASSAY" platforms | sed -n 's/^\([a-z0-9-]*\) .*/\1/p' | grep -vx null | tr '\n' ' ')
export ASSAY_NULL

# matrix NAME: sets $program, the command line of a matrix with the database NAME.
matrix() { program=("$ASSAY" matrix --models "$names" --on null:sleep_ms=20,null:fail=run@1,sleep_ms=100 --synthetic --runs 3 --no-conform --db "$work/$1.duckdb" --output-dir "$work/out$1" --resume); }

# round NAME KILLS: a matrix that is killed up to KILLS times, and then left to end; prints how many kills it took.
# What the program says when it ends by itself: 0 or 2 (a cell fails on purpose); everything else is the end of this test.
round()
{
	local n=0 pid got line wanted ms
	matrix "$1"
	while [ $n -lt "$2" ]; do
		n=$((n + 1))
		ms=$((RANDOM % 900)) wanted=1
		: >"$work/err$1"
		"${program[@]}" >"$work/out.$1" 2>"$work/err$1" </dev/null &
		pid=$!
		if [ $((n % 3)) = 1 ]; then
			for _ in $(seq 3000); do
				! in_cell "$pid" && kill -0 "$pid" 2>/dev/null || break
				sleep 0.01
			done
			ms=$((ms % 60))
		elif [ $((n % 3)) = 2 ]; then
			# Behind the line about a cell that ran, then some milliseconds more.
			for _ in $(seq 3000); do
				line=$(grep '^\[' "$work/err$1" | grep -vc 'finished before' || true)
				[ "$line" -lt "$wanted" ] && kill -0 "$pid" 2>/dev/null || break
				sleep 0.01
			done
			ms=$((ms % 300))
		fi
		sleep "$(printf '0.%03d' "$ms")"
		kill -9 "$pid" 2>/dev/null || true
		got=0
		wait "$pid" 2>/dev/null || got=$?
		case $got in
		137) ;;
		0|2) n=$((n - 1)); break ;;                  # it ended before
		*) echo "kill $n of $1: exit code $got: $(tail -3 "$work/err$1")"; return 1 ;;
		esac
	done
	echo "$n" >"$work/kills$1"
	got=0
	"${program[@]}" >"$work/out.$1" 2>"$work/err$1" </dev/null || got=$?
	[ $got = 2 ] || { echo "the last run of $1: exit code $got: $(tail -3 "$work/err$1")"; return 1; }
}

# lane LANE: rounds until its kills are spent.
lane()
{
	local left=$moments k=0 name
	RANDOM=$((seed % 32768 + $1))
	while [ "$left" -gt 0 ]; do
		k=$((k + 1)) name=$1-$k
		round "$name" $((left < 25 ? left : 25)) || return 1
		left=$((left - $(cat "$work/kills$name")))
		[ $k -lt "$moments" ] || { echo "no kill meets a matrix"; return 1; }
	done
}

# What is asked of each database, in one query: NAME WANTED, SQL.
asked=
asks() { asked="$asked${asked:+ UNION ALL }SELECT '$1' AS what, $2 AS wanted, ($3) AS got"; }
asks "questions with a finished row" $((2 * models_of_round)) "SELECT count(DISTINCT cell_key) FROM result WHERE state = 'finished' AND verdict <> 'interrupted'"
asks "finished rows" $((2 * models_of_round)) "SELECT count(*) FROM result WHERE state = 'finished' AND verdict <> 'interrupted'"
asks "cells without a last word" 0 "SELECT count(*) FROM result WHERE state = 'running'"
asks "cells with two last words or two beginnings" 0 "SELECT count(*) FROM (SELECT cell FROM event WHERE cell IS NOT NULL GROUP BY cell
	HAVING count(*) FILTER (kind = 'started') <> 1 OR count(*) FILTER (kind <> 'started') <> 1)"
asks "numbers given out twice" 0 "SELECT (SELECT count(*) - count(DISTINCT id) FROM cell) + (SELECT count(*) - count(DISTINCT id) FROM event) + (SELECT count(*) - count(DISTINCT id) FROM run)"
asks "numbers lost" 0 "SELECT max(id) - count(*) FROM cell"
asks "right rows with their three samples each" $models_of_round "SELECT count(*) FROM (SELECT r.id FROM result r JOIN sample s ON s.cell = r.id WHERE r.verdict = 'right'
	GROUP BY r.id HAVING count(*) = 3 AND count(DISTINCT number) = 3)"
asks "measurements or samples of nothing" 0 "SELECT (SELECT count(*) FROM measurement m WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.id = m.event AND e.cell = m.cell AND e.kind = 'verdict'))
	+ (SELECT count(*) FROM sample s WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.id = s.event AND e.cell = s.cell AND e.kind = 'verdict'))"
asks interrupted "-1" "SELECT count(*) FROM result WHERE verdict = 'interrupted'"

pids=
for me in $(seq $lanes); do
	lane "$me" >"$work/said$me" 2>&1 &
	pids="$pids $!"
done
bad=
me=0
for pid in $pids; do
	me=$((me + 1))
	wait "$pid" || { bad=1; echo "lane $me: $(cat "$work/said$me")"; }
done
[ -z "$bad" ] || fail "seed $seed"

kills=0 interrupted=0 rounds=0
for file in "$work"/kills*; do
	me=${file#"$work/kills"} rounds=$((rounds + 1))
	kills=$((kills + $(cat "$work/kills$me")))
	"$ASSAY" query --db "$work/$me.duckdb" --format csv "$asked" >"$work/answers" || fail "$me: the database cannot be read"
	[ "$(wc -l <"$work/answers")" = 10 ] || fail "$me: not every question was answered"
	while IFS=, read -r what wanted got; do
		case $what in
		what) ;;
		interrupted) interrupted=$((interrupted + got)) ;;
		*) [ "$got" = "$wanted" ] || { "$ASSAY" query --db "$work/$me.duckdb" "SELECT * FROM event ORDER BY id" | tail -40; fail "$me: $what: $got, not $wanted"; } ;;
		esac
	done <"$work/answers"
done
echo "$kills kills in $rounds matrices, $interrupted of them within a cell"
[ "$kills" -eq $((lanes * moments)) ] || fail "only $kills moments"
[ "$interrupted" -ge 1 ] || fail "no kill met a cell"
left=$(find "$work" -maxdepth 1 -name '*.new.*')
[ -z "$left" ] || fail "left behind: $left"
echo good
