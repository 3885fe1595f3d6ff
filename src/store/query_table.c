// SPDX-License-Identifier: Apache-2.0
// The named questions: what each answers and its SQL. Each text stands behind these relations (questions.c):
//     asked    finished and running rows of the model and platform that were asked for
//     latest   the finished row that has the last word on each question on each machine (same_question.h: as a report has it,
//              so a cell that `assay ab` or another effort timed answers the same question); an interrupted try hides nothing
//     timed    of these, rows that count (question/standing.h) with a time that hardware took: no emulator
//     processes  of each question, machine and version of the engine: how many rows took such a time, the least median and the
//     largest
// In all of them an imported row is of a machine of its own (same_question.h). Numbers carry the count of rows behind them. What
// is compared with each other has the same machine, model, model files, weights, layers and shapes.
//     detected  what detections of platforms said (question_detected_sql)
//     files    in these: of which files the model was; of a row that does not know, those that its name has now
#include "question/standing.h"
#include "store/questions.h"

// The SQL is laid out by hand.
// clang-format off
// What must be equal for two times to be compared; platform, device, precision, threads and options are what may differ.
#define LINE "machine, model, files, head, weights, layers, batch, sequence, task, prompt_tokens, new_tokens" QUESTION_LINE_SQL
#define SAME_LINE \
	"a.machine = b.machine AND a.model = b.model AND a.head IS NOT DISTINCT FROM b.head AND a.weights IS NOT DISTINCT FROM " \
	"b.weights AND a.layers IS NOT DISTINCT FROM b.layers AND a.batch IS NOT DISTINCT FROM b.batch" \
	" AND a.sequence IS NOT DISTINCT FROM b.sequence AND a.task IS NOT DISTINCT FROM b.task" \
	" AND a.prompt_tokens IS NOT DISTINCT FROM b.prompt_tokens AND a.new_tokens IS NOT DISTINCT FROM b.new_tokens" \
	" AND a.files IS NOT DISTINCT FROM b.files" QUESTION_ALIKE_SQL
// A difference is claimed of 6 rows a side (each a process, as COMPARE_LEAST) of which every one of one side took more than 1.02
// times as long as every one of the other: by chance that comes in 1 of 462 cases (rank-sum test), which is what `assay compare`
// asks, 99 %, and more.
#define CLAIM(n, least, m, most) \
	"CASE WHEN " n " >= 6 AND " m " >= 6 AND " least " > 1.02 * " most " THEN 'slower' WHEN " n " >= 6 AND " m " >= 6" \
	" THEN 'cannot tell: the rows overlap' ELSE 'cannot tell: ' || " n " || ' and ' || " m \
	" || ' rows, 6 a side are needed' END"
// Rows of one question that one run gave several times (a model beside itself), and those that could not be asked: all rows of
// the last run that asked, and where it gave no answer also those of the last one that did.
#define NEWEST_RUN " OVER (PARTITION BY machine, cell_key)"
#define OF_NEWEST_RUN \
	"source IS NULL AND state = 'finished' QUALIFY run = max(run)" NEWEST_RUN \
	" OR run = max(run) FILTER (verdict NOT IN " VERDICT_NO_ANSWER_SQL ")" NEWEST_RUN
// Beside a model's name: its files, where the name had others as well.
#define FILES(of) "CASE WHEN " of "file_sets > 1 THEN left(" of "files, 8) END"
#define SHAPE "weights, layers, batch, sequence, new_tokens"
// Computed in less than float32, by --precision, in a user's .onnx or as the device likes.
#define REDUCED(o) \
	"(COALESCE(" o "precision, 'stored') NOT IN ('stored', 'float32') OR COALESCE(" o \
	"compute_dtype, 'f32') NOT IN ('f32', 'none'))"
// Counts of verdicts, and times of those that count. A row that is right and does not count (it ran elsewhere, or the null engine
// stood in) is among the others.
#define COUNTS \
	"count(*) AS n, count(DISTINCT l.model) AS models, count(*) FILTER (" ROW_COUNTS_SQL("l.") \
	") AS \"right\", count(*) FILTER (l.verdict = 'unjudged') AS unjudged," \
	" count(*) FILTER (l.verdict = 'wrong') AS wrong, count(*) FILTER (l.verdict NOT IN ('unjudged', 'wrong') AND NOT " \
	ROW_COUNTS_SQL("l.") ") AS others, count(*) FILTER (" ROW_EMULATED_SQL("l.") ") AS emulated, count(*) FILTER" \
	" (l.weights = 'synthetic') AS synthetic, count(*) FILTER (" ROW_SHORTENED_SQL("l.") \
	") AS shortened, count(*) FILTER (l.imported) AS imported, count(*) FILTER (" REDUCED("l.") \
	") AS reduced, count(t.id) AS timed, round(avg(t.latency_ms)," \
	" 3) AS avg_ms, round(min(t.latency_ms), 3) AS min_ms, round(max(t.latency_ms), 3) AS max_ms"

const struct store_question store_questions[] = {
	{ "fastest",
		"the fastest platform for each model and shape, by the newest row of each question; against: how many rows it"
		" was compared with; of_cpu: cpu's time over its time",
		", ranked AS (SELECT *, row_number() OVER w AS place, count(*) OVER (PARTITION BY " LINE
		") AS n,  min(latency_ms) FILTER (requested = 'cpu') OVER (PARTITION BY " LINE ") AS cpu_ms"
		" FROM timed "
		" WINDOW w AS (PARTITION BY " LINE
		" ORDER BY latency_ms, id))"
		" SELECT model, " FILES("") " AS files, " ROW_PUBLISHED_SQL("") " AS published_as, " SHAPE
		", requested AS platform, device, precision, threads, as_shipped,"
		" compute_dtype AS computed_in" QUESTION_LINE_SQL
		", round(latency_ms, 3) AS ms, round(latency_low_ms, 3) AS low_ms, round(latency_high_ms, 3) AS high_ms,"
		" samples, round(cpu_ms / latency_ms, 2) AS of_cpu, n - 1 AS against, verdict, not_judged, stability,"
		" imported, id AS \"row\""
		" FROM ranked"
		" WHERE place = 1"
		" ORDER BY model, batch, sequence, id",
		true },

	{ "runs",
		"the runs of the program, the last first, as `assay compare` and `assay history --rows` name them"
		" (run:N): rows, of them right, and the command",
		" SELECT run, started_at, machine, version, rows, \"right\", models, platforms, imported, command"
		" FROM (SELECT u.id AS number, 'run:' || u.id AS run, strftime(u.started_at,"
		" '%Y-%m-%dT%H:%M:%SZ') AS started_at, CASE WHEN starts_with(u.machine, 'of a file: ')"
		" THEN u.machine ELSE left(u.machine, 8) END AS machine, u.program_version AS version,"
		" count(a.id) AS rows, count(*) FILTER (a.verdict = 'right') AS \"right\","
		" string_agg(DISTINCT a.model, ', ' ORDER BY a.model) AS models,"
		" string_agg(DISTINCT a.requested, ', ' ORDER BY a.requested) AS platforms,"
		" bool_or(a.imported OR a.source IS NOT NULL) AS imported, u.command"
		" FROM run u"
		" JOIN cell c ON c.run = u.id"
		" JOIN asked a ON a.id = c.id"
		" GROUP BY ALL)"
		" ORDER BY number DESC",
		false },

	{ "by-hardware",
		"the newest row of each question: how many and with which verdict on each platform, how many are qualified,"
		" and times of forward passes; an average goes over different models: `fastest` compares like with like",
		" SELECT l.requested AS platform, " COUNTS
		" FROM latest l"
		" LEFT JOIN timed t ON t.id = l.id AND t.new_tokens IS NULL"
		" WHERE l.source IS NULL"
		" GROUP BY l.requested"
		" ORDER BY l.requested",
		true },

	{ "by-architecture",
		"the same of each architecture on each platform",
		" SELECT l.architecture, l.requested AS platform, " COUNTS
		" FROM latest l"
		" LEFT JOIN timed t ON t.id = l.id AND t.new_tokens IS NULL"
		" WHERE l.source IS NULL"
		" GROUP BY l.architecture, l.requested"
		" ORDER BY l.architecture, l.requested",
		true },

	{ "memory",
		"the largest peaks first, beside what was predicted and the weights; a peak is of one row",
		" SELECT model, requested AS platform, CASE WHEN actual <> requested THEN actual END AS ran_on, " SHAPE
		", precision, compute_dtype AS computed_in, round(peak_resident_mib, 1) AS resident_mib,"
		" round(peak_pss_mib, 1) AS pss_mib,"
		" round(peak_anonymous_mib, 1) AS anonymous_mib, round(device_memory_mib, 1) AS device_mib,"
		" round(predicted_mib, 1) AS predicted_mib, round(predicted_mib / peak_resident_mib,"
		" 2) AS predicted_of_peak, round(weights_bytes / 1048576.0, 1) AS weights_mib, emulated, imported, id AS \"row\""
		" FROM latest"
		" WHERE source IS NULL AND greatest(peak_resident_mib, peak_pss_mib, peak_anonymous_mib) IS NOT NULL"
		" AND (COALESCE(engine, '') <> 'null' OR $2 = 'null')"
		" ORDER BY greatest(peak_resident_mib, peak_pss_mib, peak_anonymous_mib) DESC, id",
		false },

	{ "failures",
		"what did not run or was wrong, by verdict and cause; n: questions whose newest row has this cause; those that"
		" were imported apart",
		" SELECT verdict, cause, imported, count(*) AS n, string_agg(DISTINCT model, ', ' ORDER BY model) AS models,"
		" string_agg(DISTINCT requested, ', ' ORDER BY requested) AS platforms, arg_max(hint, id) AS hint,"
		" max(id) AS last_row"
		" FROM latest"
		" WHERE verdict NOT IN ('right', 'unjudged', 'compiles') AND source IS NULL"
		" GROUP BY verdict, cause, imported"
		" ORDER BY n DESC, last_row",
		false },

	{ "fallbacks",
		"what ran somewhere else than it was asked to: another platform tried after, without a word,"
		" allowed by --allow-fallback, or some of the nodes",
		" SELECT model, concat_ws(',', requested, pipeline_parts) AS asked_for,"
		" actual || coalesce(',' || pipeline_parts, '') AS ran_on,"
		" CASE WHEN fallback_of IS NOT NULL THEN 'tried after row ' || fallback_of  WHEN actual <> requested"
		" AND fallback_allowed THEN 'allowed by --allow-fallback' WHEN actual <> requested THEN 'without a word'"
		" ELSE 'some of its nodes' END AS how, nodes_elsewhere, nodes, verdict, round(latency_ms, 3) AS ms,"
		" round(fallback_factor, 2) AS factor, fallback_against AS against_row,"
		" COALESCE(fallback_reason, placement_note) AS reason, imported, id AS \"row\""
		" FROM latest"
		" WHERE source IS NULL AND (fallback_of IS NOT NULL OR actual <> requested"
		" OR (nodes_elsewhere > 0 AND actual IS NOT NULL))"
		" ORDER BY id",
		false },

	{ "together",
		"models that ran at the same time (assay run A B --together): the median and the throughput there"
		" and alone, and which share of the timed runs was beside all others",
		" SELECT model, requested AS platform, together, verdict, round(latency_ms, 3) AS ms,"
		" round(alone_ms, 3) AS alone_ms, round(together_factor, 2) AS factor,"
		" round(together_throughput, 2) AS throughput, round(together_share, 4) AS share,"
		" round(peak_anonymous_mib, 1) AS anonymous_mib, emulated, weights, layers, cause, alone_row,"
		" imported, id AS \"row\""
		" FROM asked"
		" WHERE together IS NOT NULL AND " OF_NEWEST_RUN
		" ORDER BY id",
		false },

	{ "switches",
		"models that one process moved from platform to platform (assay run MODEL --switch): what it took,"
		" and how far the outputs are apart",
		" SELECT model, switched_from, requested AS platform, verdict, round(switch_ms, 3) AS switch_ms,"
		" round(switch_release_ms, 3) AS release_ms, round(load_ms, 3) AS load_ms,"
		" round(first_ms, 3) AS first_ms, switch_max_difference AS max_difference, switch_not_compared AS not_compared,"
		" round(switch_left_mib, 1) AS left_mib, emulated, weights, layers, cause, imported, id AS \"row\""
		" FROM asked"
		" WHERE switched_from IS NOT NULL AND " OF_NEWEST_RUN
		" ORDER BY id",
		false },

	{ "answers",
		"whole pipelines (assay pipeline): verdict, how much alike the answer and the reference's are, what a text or a"
		" picture took",
		" SELECT model, pipeline, requested AS platform, pipeline_parts AS parts, verdict, reference,"
		" answer_measures AS measures, round(answer_first_token_ms, 3) AS first_token_ms,"
		" round(1000 / answer_token_ms, 1) AS tokens_per_s, round(answer_steps_per_s, 2) AS steps_per_s,"
		" round(peak_resident_mib, 1) AS resident_mib, round(wall_ms, 1) AS wall_ms, precision, emulated, weights,"
		" pipeline_asked AS asked, cause, imported, id AS \"row\""
		" FROM latest"
		" WHERE pipeline_asked IS NOT NULL"
		" ORDER BY id",
		false },

	{ "slower-than-cpu",
		"platforms whose median is above cpu's for the same, by the newest row of each question; sure: slower, where"
		" each of 6 rows a side says so, else what is missing",
		" SELECT a.model, " FILES("a.") " AS files, a.weights, a.layers, a.batch, a.sequence, a.new_tokens,"
		" a.precision, a.requested AS platform, round(a.latency_ms, 3) AS ms, round(b.latency_ms, 3) AS cpu_ms,"
		" round(a.latency_ms / b.latency_ms, 2) AS times, " CLAIM("p.n", "p.least", "q.n", "q.most")
		" AS sure, a.samples, b.samples AS cpu_samples, a.imported, a.id AS \"row\", b.id AS cpu_row"
		" FROM timed a"
		" JOIN timed_anywhere b ON b.requested = 'cpu' AND a.requested <> 'cpu' AND " SAME_LINE
		" AND a.precision IS NOT DISTINCT FROM b.precision AND a.threads IS NOT DISTINCT FROM b.threads"
		" AND a.as_shipped IS NOT DISTINCT FROM b.as_shipped AND a.latency_ms > b.latency_ms"
		" JOIN processes p ON p.machine = a.machine AND p.cell_key = a.cell_key"
		" AND p.engine_version IS NOT DISTINCT FROM a.engine_version"
		" JOIN processes q ON q.machine = b.machine AND q.cell_key = b.cell_key"
		" AND q.engine_version IS NOT DISTINCT FROM b.engine_version"
		" QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.latency_ms, b.id) = 1"
		" ORDER BY times DESC, a.id",
		true },

	{ "unstable",
		"newest rows of their questions whose runs did not settle, with the reason: no number of theirs should be quoted",
		" SELECT model, requested AS platform, CASE WHEN actual <> requested THEN actual END AS ran_on, " SHAPE
		", round(latency_ms, 3) AS ms, round(latency_min_ms,"
		" 3) AS min_ms, round(latency_max_ms, 3) AS max_ms, round(latency_cv, 3) AS cv, samples,"
		" stability_why AS why, emulated, imported, id AS \"row\""
		" FROM latest"
		" WHERE stability = 'unstable' AND source IS NULL"
		" ORDER BY model, id",
		false },

	{ "accuracy",
		"rows that were asked about examples (--data): the metric, its interval, float32's on the same examples",
		" SELECT model, " FILES("") " AS files, requested AS platform, actual, precision, verdict,"
		" data_metric AS metric, round(data_value, 5) AS value, round(data_low, 5) AS low,"
		" round(data_high, 5) AS high, round(data_reference, 5) AS float32, data_examples AS examples,"
		" data_unlike AS unlike, data_worse AS worse, data_better AS better, data AS examples_from, emulated,"
		" imported, id AS \"row\""
		" FROM latest"
		" WHERE data_metric IS NOT NULL"
		" ORDER BY model, id",
		false },

	{ "wrong",
		"rows whose outputs differ from the reference by more than the bound",
		" SELECT model, " FILES("") " AS files, requested AS platform, actual, " SHAPE
		", precision, reference, max_abs_error, nmse, cosine, top1_agreement, non_finite, worst, bound, cause,"
		" emulated, imported, id AS \"row\""
		" FROM latest"
		" WHERE verdict = 'wrong'"
		" ORDER BY model, id",
		false },

	{ "untested",
		"pairs of a model and a platform on which nobody tried it: no finished row, or unavailable; here: was the"
		" platform found when somebody looked last",
		", models AS (SELECT DISTINCT model"
		" FROM result"
		" WHERE $1 = '' OR model = $1 OR regexp_extract(model, '[^/]*$') = $1)"
		", looked AS (SELECT platform, available, reason"
		" FROM detected"
		" QUALIFY row_number() OVER (PARTITION BY platform ORDER BY id DESC) = 1)"
		", platforms AS (SELECT platform"
		" FROM looked UNION"
		" SELECT DISTINCT requested"
		" FROM result)"
		" SELECT m.model, p.platform, looked.available AS here,"
		" CASE WHEN looked.available THEN NULL ELSE looked.reason END AS reason"
		" FROM models m"
		" CROSS JOIN platforms p"
		" LEFT JOIN looked ON looked.platform = p.platform"
		" WHERE ($2 = '' OR p.platform = $2) AND (p.platform <> 'null' OR $2 = 'null') AND NOT EXISTS (SELECT 1"
		" FROM of_model r"
		" WHERE r.model = m.model AND COALESCE(r.tried, r.requested) = p.platform AND NOT r.profiled"
		" AND r.state = 'finished' AND r.verdict NOT IN " VERDICT_NO_ANSWER_SQL
		" AND r.verdict <> 'unavailable' AND r.source IS NULL"
		" AND (COALESCE(r.engine, '') <> 'null' OR p.platform = 'null'))"
		" ORDER BY looked.available DESC NULLS LAST, m.model, p.platform",
		false },

	{ "regressions",
		"questions whose median went up by 5 % on the same machine, between two versions of the engine,"
		" else in the newest row; sure: slower, where each of 6 rows a side says so, else what is missing",
		", keyed AS (SELECT *, first_value(engine_version) OVER w AS newest, row_number() OVER w AS back"
		" FROM timed_ever"
		" WINDOW w AS (PARTITION BY machine, cell_key ORDER BY id DESC))"
		", previous AS (SELECT machine, cell_key, arg_max(engine_version, id) AS version, TRUE AS changed"
		" FROM keyed"
		" WHERE engine_version IS DISTINCT FROM newest"
		" GROUP BY machine, cell_key)"
		", sided AS (SELECT k.*, CASE WHEN p.changed THEN k.engine_version IS NOT DISTINCT FROM k.newest ELSE"
		" k.back = 1 END AS is_now "
		" FROM keyed k"
		" LEFT JOIN previous p ON p.machine = k.machine AND p.cell_key = k.cell_key "
		" WHERE p.changed IS NULL OR k.engine_version IS NOT DISTINCT FROM k.newest OR k.engine_version IS NOT"
		" DISTINCT FROM p.version)"
		", sides AS (SELECT machine, cell_key, max(id) AS id, max(id) FILTER (NOT is_now) AS before,"
		" median(latency_ms) FILTER (NOT is_now) AS before_ms,  median(latency_ms) FILTER (is_now) AS now_ms,"
		" count(*) FILTER (is_now) AS n, count(*) FILTER (NOT is_now) AS m,"
		" min(latency_ms) FILTER (is_now) AS least,  max(latency_ms) FILTER (NOT is_now) AS most,"
		" arg_max(engine_version, id) FILTER (NOT is_now) AS before_version"
		" FROM sided"
		" GROUP BY machine, cell_key)"
		" SELECT r.model, r.requested AS platform, r.weights, r.layers, r.batch, r.sequence, r.new_tokens,"
		" r.precision, round(s.before_ms, 3) AS before_ms, round(s.now_ms, 3) AS ms,"
		" round(s.now_ms / s.before_ms, 3) AS times, " CLAIM("s.n", "s.least", "s.m", "s.most")
		" AS sure, s.m AS rows_before, s.n AS rows_now, s.before_version AS engine_before,"
		" r.engine_version AS engine_now, s.before AS before_row, s.id AS \"row\""
		" FROM sides s"
		" JOIN timed_ever r ON r.id = s.id"
		" WHERE s.now_ms > 1.05 * s.before_ms"
		" ORDER BY times DESC, s.id",
		true },

	{ "coverage",
		"how many rows each platform has, by verdict, and how many of them are no measurement of hardware",
		" SELECT requested AS platform, count(*) AS \"rows\", count(DISTINCT model) AS models,"
		" count(DISTINCT model_type) AS types, count(*) FILTER (" ROW_COUNTS_SQL("")
		") AS \"right\", count(*) FILTER (verdict = 'right' AND source IS NULL"
		" AND actual <> requested) AS elsewhere, count(*) FILTER (verdict = 'unjudged') AS unjudged,"
		" count(*) FILTER (verdict = 'wrong') AS wrong, count(*) FILTER (verdict = 'compiles') AS compiles,"
		" count(*) FILTER (verdict = 'unavailable') AS unavailable,"
		" count(*) FILTER (verdict = 'unsupported') AS unsupported,"
		" count(*) FILTER (verdict = 'no_memory') AS no_memory,"
		" count(*) FILTER (verdict IN ('timeout', 'crashed', 'failed')) AS broken,"
		" count(*) FILTER (verdict = 'interrupted') AS interrupted,"
		" count(*) FILTER (verdict = 'not_asked') AS not_asked, count(*) FILTER (state = 'running') AS running,"
		" count(*) FILTER (emulated) AS emulated, count(*) FILTER (engine = 'null') AS nothing_computed,"
		" count(*) FILTER (weights = 'synthetic') AS synthetic,"
		" count(*) FILTER (layers IS NOT NULL) AS shortened, count(*) FILTER (source IS NOT NULL OR imported) AS imported"
		" FROM asked"
		" GROUP BY requested"
		" ORDER BY requested",
		false },

	{ 0 },
};
// clang-format on
