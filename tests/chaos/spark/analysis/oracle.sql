-- The oracle of the queries: the same questions in DuckDB's SQL, written without a look at how Spark is asked. `trace` holds the observations with file, pos, side, source_release.
-- cause_of(reason, own words of who left, is initial) and left_because(own words) are Python's, and read reasons as `trace explain` does.

CREATE TABLE o AS SELECT * FROM trace QUALIFY row_number() OVER (PARTITION BY side, run, "case", seq ORDER BY file, pos) = 1;

CREATE MACRO rank_of(side, who) AS CASE WHEN side = 'tap' THEN 0 WHEN who <> 'member' THEN 1 ELSE 2 END;
CREATE MACRO own_rank_of(side, who) AS CASE WHEN side = 'tap' THEN 0 WHEN who = 'member' THEN 1 ELSE 2 END;
CREATE MACRO tenths(ns) AS (ns) // 100000 / 10.0;

CREATE TABLE spoken AS
  SELECT * FROM o WHERE kind IN ('request', 'response') AND api IN ('JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup', 'OffsetCommit') AND "group" IS NOT NULL;
CREATE TABLE saw AS
  SELECT run, "case", min(rank_of(side, who)) AS best, min(own_rank_of(side, who)) AS best_own FROM spoken WHERE kind = 'response' GROUP BY ALL;
CREATE TABLE fr AS SELECT s.* FROM spoken s JOIN saw USING (run, "case") WHERE best = rank_of(side, who);

-- Who is who

CREATE TABLE rel AS
  WITH said AS (
    SELECT run, "case", client, 1 AS rank, trim(concat_ws(' ', body ->> 'client', body ->> 'version')) AS words FROM o
    WHERE who = 'kit' AND kind = 'event' AND body ->> 'name' = 'hello'
    UNION ALL
    SELECT run, "case", client, 0, trim(concat_ws(' ', body ->> 'client_software_name', body ->> 'client_software_version')) FROM o
    WHERE api = 'ApiVersions' AND kind = 'request' AND who <> 'member')
  SELECT run, "case", client, max((rank, words))[2] AS words FROM said WHERE client IS NOT NULL AND words <> '' GROUP BY run, "case", client;
CREATE TABLE run_rel AS SELECT run, "case", max(source_release) AS run_words FROM o GROUP BY ALL;

CREATE TABLE ex0 AS
  WITH q AS (SELECT * FROM fr WHERE kind = 'request' AND connection IS NOT NULL AND correlation IS NOT NULL
             QUALIFY row_number() OVER (PARTITION BY run, "case", connection, correlation, api ORDER BY seq) = 1),
       a AS (SELECT * FROM fr WHERE kind = 'response' AND connection IS NOT NULL AND correlation IS NOT NULL
             QUALIFY row_number() OVER (PARTITION BY run, "case", connection, correlation, api ORDER BY seq) = 1)
  SELECT run, "case", api, connection, correlation, coalesce(a."group", q."group") AS "group", coalesce(a.client, q.client) AS client,
         coalesce(nullif(a.member, ''), nullif(q.member, '')) AS member, nullif(q.member, '') AS asked_member,
         CASE WHEN api = 'JoinGroup' THEN a.generation ELSE coalesce(q.generation, a.generation) END AS generation,
         q.seq AS q_seq, q.at_ns AS q_ns, a.seq AS a_seq, a.at_ns AS a_ns, CASE WHEN a.seq IS NOT NULL THEN coalesce(a.error, 0) END AS error,
         coalesce(len(q.offsets), 0) AS offsets, CASE WHEN api = 'SyncGroup' THEN a.partitions END AS partitions,
         CASE WHEN api = 'JoinGroup' THEN a.body ->> 'protocol_name' END AS protocol,
         CASE WHEN api = 'LeaveGroup' THEN q.body -> 'members' -> 0 ->> 'reason' END AS reason
  FROM q FULL JOIN a USING (run, "case", api, connection, correlation);
CREATE TABLE ex AS SELECT ex0.*, coalesce(words, run_words) AS release FROM ex0 LEFT JOIN rel USING (run, "case", client) LEFT JOIN run_rel USING (run, "case");
CREATE TABLE named AS
  SELECT run, "case", member, max(client) AS named FROM ex WHERE api = 'JoinGroup' AND error IN (0, 79) AND client IS NOT NULL AND member IS NOT NULL GROUP BY ALL;
CREATE TABLE joined AS SELECT * FROM ex WHERE api = 'JoinGroup' AND error = 0 AND generation > 0;
CREATE TABLE gone AS
  SELECT run, "case", "group", member, reason, q_seq, a_seq FROM ex WHERE api = 'LeaveGroup' AND error = 0 AND member IS NOT NULL AND q_seq IS NOT NULL;

-- Rebalances

CREATE TABLE moves AS SELECT *, body ->> 'members' AS count, (body ->> 'line') IS NOT NULL AS is_logged FROM o WHERE kind = 'transition' AND "group" IS NOT NULL;
CREATE TABLE tells AS SELECT DISTINCT run, "case", "group" FROM moves WHERE state_after = 'PreparingRebalance';
CREATE TABLE gens AS SELECT run, "case", "group", generation, min(a_seq) AS seq, min(a_ns) AS at_ns FROM joined GROUP BY ALL;
CREATE TABLE made AS
  SELECT run, "case", "group", generation, min(seq) AS seq, min(at_ns) AS at_ns FROM moves WHERE state_after = 'CompletingRebalance' GROUP BY ALL
  UNION ALL SELECT * FROM gens ANTI JOIN tells USING (run, "case", "group");
CREATE TABLE heard AS
  SELECT run, "case", "group", generation, count(DISTINCT coalesce(nullif(member, ''), client)) AS answered FROM spoken JOIN saw USING (run, "case")
  WHERE kind = 'response' AND api = 'JoinGroup' AND coalesce(error, 0) = 0 AND generation > 0 AND best_own = own_rank_of(side, who) GROUP BY ALL;
CREATE TABLE begun AS
  SELECT *, row_number() OVER w AS number, lead(seq) OVER w AS next_seq FROM moves
  WHERE state_after = 'PreparingRebalance' AND state_before IS DISTINCT FROM 'PreparingRebalance' WINDOW w AS (PARTITION BY run, "case", "group" ORDER BY seq);
CREATE TABLE course AS
  SELECT b.run, b."case", b."group", b.number, b.seq, b.at_ns, b.generation AS old, b.state_before AS before, b.detail, b.is_logged, b.next_seq,
         arg_min(m.generation, m.seq) FILTER (m.state_after = 'CompletingRebalance') AS generation,
         min(m.at_ns) FILTER (m.state_after = 'CompletingRebalance') AS c_ns, min(m.count) FILTER (m.state_after = 'CompletingRebalance') AS count,
         min(m.at_ns) FILTER (m.state_after = 'Stable') AS s_ns, min(m.at_ns) FILTER (m.state_after = 'Empty') AS e_ns, min(m.at_ns) FILTER (m.state_after = 'Dead') AS d_ns
  FROM begun b JOIN moves m ON m.run = b.run AND m."case" = b."case" AND m."group" = b."group" AND m.seq >= b.seq AND m.seq < coalesce(b.next_seq, 9223372036854775807)
  GROUP BY ALL;
CREATE TABLE leaving AS
  SELECT c.run, c."case", c."group", c.number, arg_max(g.member, g.q_seq) AS member, max((g.q_seq, g.member, g.reason))[3] AS reason
  FROM course c JOIN gone g ON g.run = c.run AND g."case" = c."case" AND g."group" = c."group" AND g.q_seq < c.seq AND (g.a_seq IS NULL OR g.a_seq > c.seq)
  WHERE NOT c.is_logged AND c.detail LIKE '%LeaveGroup%' GROUP BY ALL;
CREATE TABLE told AS
  SELECT c.run, c."case", c."group", c.generation,
         cause_of(c.detail, l.reason, CASE WHEN c.before IS NOT NULL THEN c.before = 'Empty' WHEN c.number > 1 THEN p.e_ns IS NOT NULL AND p.c_ns IS NULL
                                      ELSE coalesce(c.old, 0) <= 0 END) AS cause,
         coalesce(nullif(regexp_extract(c.detail, '[^\s(\[{,]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'), ''), l.member) AS member,
         CASE WHEN c.s_ns IS NOT NULL THEN 'settled' WHEN c.c_ns IS NULL AND c.e_ns IS NOT NULL THEN 'emptied' WHEN c.d_ns IS NOT NULL THEN 'moved'
              WHEN c.next_seq IS NOT NULL THEN 'begun anew' ELSE 'cut off' END AS outcome,
         c.at_ns AS started_ns, tenths(c.c_ns - c.at_ns) AS join_ms, tenths(c.s_ns - c.c_ns) AS sync_ms,
         tenths(coalesce(c.s_ns, c.c_ns, c.e_ns, c.d_ns) - c.at_ns) AS lasted_ms, c.count::BIGINT AS members, c.c_ns IS NOT NULL AS by_coordinator
  FROM course c LEFT JOIN course p ON p.run = c.run AND p."case" = c."case" AND p."group" = c."group" AND p.number = c.number - 1
  LEFT JOIN leaving l ON l.run = c.run AND l."case" = c."case" AND l."group" = c."group" AND l.number = c.number;

CREATE TABLE wire AS
  WITH f AS (SELECT run, "case", "group", generation, min(q_ns) AS q_ns, min(a_ns) AS a_ns, min(a_seq) AS a_seq, max(q_seq) AS last_q, list(DISTINCT member) AS ids
             FROM joined ANTI JOIN tells USING (run, "case", "group") GROUP BY run, "case", "group", generation)
  SELECT *, lag(ids) OVER w AS before, lead(generation) OVER w IS NOT NULL AS has_next FROM f WINDOW w AS (PARTITION BY run, "case", "group" ORDER BY generation);
CREATE TABLE left_for AS
  SELECT g.run, g."case", g."group", g.member, g.reason, g.q_seq, min((k.seq, k.generation))[2] AS generation FROM gone g
  JOIN gens k ON k.run = g.run AND k."case" = g."case" AND k."group" = g."group" AND k.seq > g.q_seq GROUP BY ALL;
CREATE TABLE came AS
  SELECT w.run, w."case", w."group", w.generation, min(j.q_seq) AS seq, arg_min(j.member, j.q_seq) AS member FROM wire w
  JOIN joined j USING (run, "case", "group", generation) WHERE w.before IS NULL OR NOT list_contains(w.before, j.member) GROUP BY ALL;
CREATE TABLE departed AS
  SELECT run, "case", "group", generation, min(q_seq) AS seq, arg_min(member, q_seq) AS member, min((q_seq, member, reason))[3] AS reason FROM left_for GROUP BY ALL;
CREATE TABLE missed AS
  WITH each AS (SELECT run, "case", "group", generation, ids, unnest(before) AS member FROM wire WHERE before IS NOT NULL)
  SELECT run, "case", "group", generation, min(member) AS member FROM each ANTI JOIN left_for USING (run, "case", "group", generation, member)
  WHERE NOT list_contains(ids, member) GROUP BY ALL;
CREATE TABLE synced AS SELECT run, "case", "group", generation, min(a_ns) AS s_ns FROM ex WHERE api = 'SyncGroup' AND error = 0 GROUP BY ALL;
CREATE TABLE seen AS
  SELECT w.run, w."case", w."group", w.generation,
         CASE WHEN w.before IS NULL THEN 'first-member' WHEN c.seq IS NOT NULL AND (d.seq IS NULL OR c.seq < d.seq) THEN 'new-member'
              WHEN d.seq IS NOT NULL THEN left_because(d.reason) WHEN m.member IS NOT NULL THEN 'heartbeat-timeout' ELSE 'client-change-untold' END AS cause,
         CASE WHEN w.before IS NULL OR (c.seq IS NOT NULL AND (d.seq IS NULL OR c.seq < d.seq)) THEN c.member WHEN d.seq IS NOT NULL THEN d.member ELSE m.member END AS member,
         CASE WHEN s.s_ns IS NOT NULL THEN 'settled' WHEN w.has_next THEN 'begun anew' ELSE 'cut off' END AS outcome, w.q_ns AS started_ns,
         tenths(w.a_ns - w.q_ns) AS join_ms, tenths(s.s_ns - w.a_ns) AS sync_ms, tenths(coalesce(s.s_ns, w.a_ns) - w.q_ns) AS lasted_ms,
         len(w.ids) AS members, false AS by_coordinator
  FROM wire w LEFT JOIN came c USING (run, "case", "group", generation) LEFT JOIN departed d USING (run, "case", "group", generation)
  LEFT JOIN missed m USING (run, "case", "group", generation) LEFT JOIN synced s USING (run, "case", "group", generation);

CREATE TABLE every_rebalance AS
  WITH sides AS (SELECT * FROM told UNION ALL SELECT * FROM seen),
  whole AS (
    SELECT b.* EXCLUDE (members), coalesce(b.members, h.answered) AS members, h.answered IS NOT NULL AS by_members FROM sides b
    LEFT JOIN heard h ON h.run = b.run AND h."case" = b."case" AND h."group" = b."group" AND h.generation = b.generation
    UNION ALL BY NAME
    SELECT run, "case", "group", generation, 'members alone' AS outcome, false AS by_coordinator, answered AS members, true AS by_members
    FROM heard JOIN tells USING (run, "case", "group") ANTI JOIN told USING (run, "case", "group", generation))
  SELECT w.*, coalesce(n.named, regexp_replace(w.member, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '')) AS client FROM whole w LEFT JOIN named n USING (run, "case", member);
CREATE VIEW "facts rebalances" AS
  SELECT r.*, coalesce(words, run_words) AS release FROM every_rebalance r LEFT JOIN rel USING (run, "case", client) LEFT JOIN run_rel USING (run, "case");

CREATE VIEW "facts storms" AS
  WITH b AS (SELECT *, started_ns + (lasted_ms * 1000000)::BIGINT AS ended_ns FROM every_rebalance WHERE started_ns IS NOT NULL),
  l AS (SELECT *, lag(ended_ns) OVER (PARTITION BY run, "case", "group" ORDER BY started_ns) AS last_ns,
               row_number() OVER (PARTITION BY run, "case", "group" ORDER BY started_ns) AS nth FROM b),
  s AS (SELECT *, sum(CASE WHEN nth = 1 OR last_ns IS NULL OR started_ns - last_ns >= 10000000000 THEN 1 ELSE 0 END)
               OVER (PARTITION BY run, "case", "group" ORDER BY started_ns) AS storm FROM l)
  SELECT run, "case", "group", min(started_ns) AS started_ns, tenths(max(coalesce(ended_ns, started_ns)) - min(started_ns)) AS lasted_ms, count(*) AS rebalances,
         sum(lasted_ms) AS rebalancing_ms, list_aggregate(list_sort(list(DISTINCT cause)), 'string_agg', ', ') AS causes
  FROM s GROUP BY run, "case", "group", storm HAVING count(*) >= 5;

CREATE VIEW "facts generation-gaps" AS
  WITH p AS (SELECT *, lag(generation) OVER w AS before, lag(seq) OVER w AS before_seq FROM made WINDOW w AS (PARTITION BY run, "case", "group" ORDER BY seq)),
  g AS (SELECT p.*, (SELECT count(*) FROM moves m WHERE m.run = p.run AND m."case" = p."case" AND m."group" = p."group" AND m.seq > p.before_seq AND m.seq < p.seq
                     AND m.state_after = 'Empty' AND coalesce(m.state_before, '') <> '') AS emptied,
               (SELECT count(*) FROM moves m WHERE m.run = p.run AND m."case" = p."case" AND m."group" = p."group" AND m.seq > p.before_seq AND m.seq < p.seq
                     AND m.state_before IS NULL AND m.state_after IN ('Empty', 'Stable', 'CompletingRebalance')) AS anew
        FROM p WHERE before IS NOT NULL AND generation <> before + 1)
  SELECT g.run, g."case", g."group", at_ns, before, generation, generation - before - 1 AS missing, emptied,
         CASE WHEN t.run IS NULL THEN 'untold' WHEN anew > 0 THEN 'anew' WHEN generation <= before THEN 'fall' WHEN emptied >= generation - before - 1 THEN 'emptied' ELSE 'gap' END AS kind
  FROM g LEFT JOIN tells t USING (run, "case", "group");

-- Members

CREATE TABLE silenced AS
  SELECT run, "case", "group", member, seq, at_ns, CASE kind WHEN 'timer' THEN 'timer' ELSE 'log' END AS known_by FROM o WHERE "group" IS NOT NULL AND (
    kind = 'timer' AND (rule LIKE 'SessionEnd/%/session-ends' OR rule LIKE 'SessionEnd/%/newcomer-waited-too-long')
    OR kind = 'event' AND member IS NOT NULL AND who = 'coordinator' AND body ->> 'name' IN ('expired', 'consumer-expired'))
  UNION ALL
  SELECT w.run, w."case", w."group", w.member, w.a_seq, w.a_ns, 'missing' FROM (SELECT run, "case", "group", a_seq, a_ns, ids, unnest(before) AS member FROM wire WHERE before IS NOT NULL) w
  WHERE NOT list_contains(ids, member) AND coalesce((SELECT max(g.q_seq) FROM ex g WHERE g.api = 'LeaveGroup' AND g.error = 0 AND g.run = w.run AND g."case" = w."case"
    AND g."group" = w."group" AND g.member = w.member), 9223372036854775807) > w.a_seq;
CREATE VIEW "facts session-expiries" AS
  WITH h AS (
    SELECT s.*, (SELECT max(greatest(e.q_ns, CASE WHEN e.a_seq < s.seq THEN e.a_ns END)) FROM ex e WHERE e.asked_member = s.member AND e.run = s.run AND e."case" = s."case"
                 AND e."group" = s."group" AND e.q_seq < s.seq AND s.known_by <> 'log') AS heard_ns FROM silenced s),
  c AS (SELECT h.*, coalesce(named, regexp_replace(member, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '')) AS client FROM h LEFT JOIN named USING (run, "case", member))
  SELECT c.run, c."case", "group", member, client, at_ns, known_by, tenths(at_ns - heard_ns) AS silent_ms, coalesce(words, run_words) AS release
  FROM c LEFT JOIN rel USING (run, "case", client) LEFT JOIN run_rel USING (run, "case");

CREATE VIEW "facts slowest-joiners" AS
  SELECT run, "case", "group", client, release, member, generation, q_ns AS asked_ns, tenths(q_ns - min(q_ns) OVER w) AS after_ms, tenths(a_ns - q_ns) AS held_ms,
         count(*) OVER w > 1 AND q_ns = max(q_ns) OVER w AS is_last
  FROM joined WINDOW w AS (PARTITION BY run, "case", "group", generation);

CREATE VIEW "facts heartbeat-jitter" AS
  WITH b AS (SELECT *, lag(at_ns) OVER w AS last_ns, lag(generation) OVER w AS last_generation FROM fr WHERE api = 'Heartbeat' AND kind = 'request' AND member IS NOT NULL
             WINDOW w AS (PARTITION BY run, "case", "group", member ORDER BY seq))
  SELECT run, "case", "group", client, member, (at_ns - last_ns) // 1000000 AS interval_ms, coalesce(words, run_words) AS release
  FROM b LEFT JOIN rel USING (run, "case", client) LEFT JOIN run_rel USING (run, "case") WHERE last_ns IS NOT NULL AND generation IS NOT DISTINCT FROM last_generation;

-- Commits and requests

CREATE VIEW "facts zombie-commits" AS
  WITH c AS (SELECT e.*, (SELECT max(k.generation) FROM gens k WHERE k.run = e.run AND k."case" = e."case" AND k."group" = e."group" AND k.seq <= e.q_seq) AS newest
             FROM ex e WHERE api = 'OffsetCommit' AND generation >= 0)
  SELECT run, "case", "group", client, release, member, generation, newest, q_ns AS asked_ns, error, offsets,
         CASE WHEN error IS NULL THEN 'unanswered' WHEN error = 0 THEN 'accepted' ELSE 'refused' END AS outcome
  FROM c WHERE generation < newest OR error IN (22, 25, 82);

CREATE VIEW "facts commits-per-rebalance" AS
  WITH c AS (SELECT run, "case", "group", client, release, member, generation, count(*) AS commits, count(*) FILTER (error = 0) AS accepted,
                    count(*) FILTER (error <> 0) AS refused, sum(offsets)::BIGINT AS offsets
             FROM ex WHERE api = 'OffsetCommit' AND generation > 0 GROUP BY ALL)
  SELECT * FROM c UNION ALL BY NAME
  SELECT run, "case", "group", generation, 0 AS commits, 0 AS accepted, 0 AS refused, 0 AS offsets FROM made ANTI JOIN c USING (run, "case", "group", generation);

CREATE VIEW "facts requests" AS SELECT run, "case", "group", client, release, member, api, error, tenths(a_ns - q_ns) AS answer_ms FROM ex WHERE q_seq IS NOT NULL;

-- Owners

CREATE TABLE app AS
  SELECT e.* REPLACE (coalesce(e."group", g.spoken) AS "group"), e.body ->> 'name' AS name FROM o e
  LEFT JOIN (SELECT run, "case", client, max("group") AS spoken FROM ex WHERE client IS NOT NULL GROUP BY ALL) g USING (run, "case", client)
  WHERE kind = 'event' AND client IS NOT NULL AND who IN ('member', 'shim', 'kit');
CREATE TABLE callbacks AS
  WITH n AS (SELECT run, "case", "group", client, member, seq, at_ns, name = 'partitions_assigned' AS holds,
                    unnest(CASE WHEN len(partitions) > 0 THEN [{'topic': p.topic, 'partition': p.partition} FOR p IN partitions]
                                ELSE from_json(body -> 'partitions', '[{"topic":"VARCHAR","partition":"INTEGER"}]') END) AS place
             FROM app WHERE "group" IS NOT NULL AND who <> 'kit' AND name IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost'))
  SELECT * EXCLUDE place, place.topic AS topic, place.partition AS partition FROM n;
CREATE TABLE ended AS
  SELECT run, "case", "group", client, seq, at_ns FROM app
  WHERE who || ' ' || name IN ('shim shutdown_complete', 'member shutdown_complete', 'member left', 'member died', 'member failed', 'member started',
                               'kit kill', 'kit exit', 'kit broken', 'kit hello')
  UNION ALL
  SELECT run, "case", "group", client, seq, at_ns FROM app a WHERE who <> 'kit' AND name = 'partitions_assigned' AND NOT coalesce((
    SELECT arg_max(k.protocol, k.a_seq) = 'cooperative-sticky' FROM joined k WHERE k.run = a.run AND k."case" = a."case" AND k."group" = a."group" AND k.client = a.client AND k.a_seq < a.seq), false);
CREATE TABLE hold AS
  SELECT c.run, c."case", c."group", c.client, c.member, c.topic, c.partition, c.at_ns AS since_ns,
         coalesce(least_by.until_ns, l.seen_ns) AS until_ns
  FROM callbacks c
  LEFT JOIN LATERAL (
    SELECT arg_min(at_ns, seq) AS until_ns FROM (
      SELECT seq, at_ns FROM callbacks n WHERE n.run = c.run AND n."case" = c."case" AND n."group" = c."group" AND n.client = c.client AND n.topic = c.topic
        AND n.partition = c.partition AND n.seq > c.seq
      UNION ALL
      SELECT seq, at_ns FROM ended n WHERE n.run = c.run AND n."case" = c."case" AND n."group" = c."group" AND n.client = c.client AND n.seq > c.seq)) least_by ON true
  JOIN (SELECT run, "case", client, max(at_ns) AS seen_ns FROM o WHERE client IS NOT NULL AND who IN ('member', 'shim') GROUP BY ALL) l
    ON l.run = c.run AND l."case" = c."case" AND l.client = c.client
  WHERE c.holds;
CREATE TABLE marks AS
  SELECT run, "case", "group", member, a_seq AS seq, a_ns AS at_ns, partitions AS gets FROM ex WHERE api = 'SyncGroup' AND error = 0 AND member IS NOT NULL AND a_seq IS NOT NULL
  UNION ALL SELECT run, "case", "group", member, a_seq, a_ns, NULL FROM ex WHERE api = 'LeaveGroup' AND error = 0 AND member IS NOT NULL AND a_seq IS NOT NULL
  UNION ALL SELECT run, "case", "group", asked_member, q_seq, q_ns, NULL FROM ex j WHERE api = 'JoinGroup' AND asked_member IS NOT NULL AND q_seq IS NOT NULL AND NOT coalesce((
    SELECT arg_max(k.protocol, k.a_seq) = 'cooperative-sticky' FROM joined k WHERE k.run = j.run AND k."case" = j."case" AND k."group" = j."group" AND k.member = j.asked_member AND k.a_seq < j.q_seq), false)
  UNION ALL SELECT run, "case", "group", asked_member, a_seq, a_ns, NULL FROM (
    SELECT e.*, (SELECT arg_max(k.generation, k.a_seq) FROM joined k WHERE k.run = e.run AND k."case" = e."case" AND k."group" = e."group" AND k.member = e.asked_member AND k.a_seq < e.a_seq) AS newest
    FROM ex e WHERE asked_member IS NOT NULL AND api <> 'LeaveGroup')
  WHERE (error IN (25, 82) AND NOT coalesce(api <> 'JoinGroup' AND generation >= 0 AND generation < newest, false)) OR (error = 22 AND api <> 'JoinGroup' AND generation = newest);
INSERT INTO hold BY NAME
  WITH m AS (SELECT *, lead(at_ns) OVER (PARTITION BY run, "case", "group", member ORDER BY seq) AS next_ns FROM marks),
  h AS (SELECT run, "case", "group", member, max(greatest(q_ns, a_ns)) AS seen_ns, max(client) AS client FROM ex WHERE member IS NOT NULL GROUP BY ALL),
  g AS (SELECT m.run, m."case", m."group", m.member, h.client, m.at_ns AS since_ns, coalesce(next_ns, seen_ns) AS until_ns, unnest(gets) AS place
        FROM m JOIN h USING (run, "case", "group", member) WHERE len(gets) > 0)
  SELECT run, "case", "group", client, member, place.topic AS topic, place.partition AS partition, since_ns, until_ns FROM g
  ANTI JOIN (SELECT DISTINCT run, "case", client FROM callbacks WHERE holds) USING (run, "case", client);
DELETE FROM hold WHERE NOT coalesce(until_ns > since_ns, false);
CREATE TABLE stretch AS
  WITH edges AS (SELECT DISTINCT run, "case", "group", topic, partition, unnest([since_ns, until_ns]) AS from_ns FROM hold),
  e AS (SELECT *, lead(from_ns) OVER (PARTITION BY run, "case", "group", topic, partition ORDER BY from_ns) AS next_ns FROM edges),
  ends AS (SELECT run, "case", "group", max(until_ns) AS over_ns FROM hold GROUP BY ALL)
  SELECT e.run, e."case", e."group", e.topic, e.partition, from_ns, coalesce(next_ns, over_ns) AS to_ns,
         (SELECT count(*) FROM hold h WHERE h.run = e.run AND h."case" = e."case" AND h."group" = e."group" AND h.topic = e.topic AND h.partition = e.partition
          AND h.since_ns <= from_ns AND h.until_ns > from_ns) AS owners
  FROM e JOIN ends USING (run, "case", "group") WHERE coalesce(next_ns, over_ns) > from_ns;
CREATE VIEW "facts without-owner" AS
  SELECT run, "case", "group", topic, partition, from_ns AS since_ns, tenths(to_ns - from_ns) AS unowned_ms FROM stretch WHERE owners = 0;
CREATE VIEW "facts two-owners" AS
  WITH s AS (SELECT h.run, h."case", h."group", h.client, h.member, h.topic, h.partition, owners, from_ns AS since_ns, tenths(to_ns - from_ns) AS shared_ms,
                    tenths(to_ns - from_ns) / owners AS share_ms
             FROM stretch t JOIN hold h USING (run, "case", "group", topic, partition) WHERE owners > 1 AND h.since_ns <= from_ns AND h.until_ns >= to_ns)
  SELECT s.*, coalesce(words, run_words) AS release FROM s LEFT JOIN rel USING (run, "case", client) LEFT JOIN run_rel USING (run, "case");

-- The stream

CREATE VIEW "facts stream" AS
  WITH p AS (SELECT side, run, "case", seq, at_ns, max(seq) OVER w AS highest, max(at_ns) OVER w AS newest FROM trace
             WINDOW w AS (PARTITION BY file, run, "case" ORDER BY pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
  n AS (SELECT side, run, "case", count(*) - count(DISTINCT seq) AS twice FROM trace GROUP BY ALL)
  SELECT side, run, "case", count(*) AS rows, any_value(twice) AS twice, count(*) FILTER (seq < highest) AS displaced, count(*) FILTER (at_ns < newest - 10000000000) AS late
  FROM p JOIN n USING (side, run, "case") GROUP BY ALL;
