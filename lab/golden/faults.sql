-- Faults that the suite must notice. A fault is SQL, applied to the migrated database before anything is stored, or,
-- with "-- program:", a shell script that stands in for the program. Every section named with it must record a
-- difference.
-- golden.patch changes functions by a regular expression and fails where nothing matches.

-- Ranking

-- fault: rare words weigh like common ones
-- noticed by: recall rank-samples
select golden.patch('^recall', '\^ 1\.5', '^ 0');

-- fault: neighbours get no share of a score
-- noticed by: recall rank-samples
select golden.patch('^recall', 'then 0\.5::double precision else 0\.25', 'then 0::double precision else 0');

-- fault: the farthest vector comes first
-- noticed by: recall rank-samples
select golden.patch('^recall', '1 - n\.distance', 'n.distance');

-- fault: entities weigh ten times as much
-- noticed by: recall
select golden.patch('weights', $$'entity'\)::double precision, 0\.1$$, $$'entity')::double precision, 1$$);

-- fault: importance is ignored
-- noticed by: recall rank-samples
select oxbow.set_policy('recall_importance', 0);

-- fault: recency fades in a tenth of the time
-- noticed by: recall
select oxbow.set_policy('recall_recency_days', 3);

-- fault: an emerging trait is raised like a core one
-- noticed by: traits
select oxbow.set_policy('recall_emerging', 0.25);

-- fault: the month of a question is one too late
-- noticed by: recall rank-samples
select golden.patch('month_number', 'WHEN \(name ~ ''\^\[0-9\]\+\$''::text\) THEN \(name\)::integer',
  'WHEN (name ~ ''^[0-9]+$''::text) THEN 1 + (name)::integer');

-- fault: Chinese words are not split into pairs
-- noticed by: recall rank-samples
select golden.patch('terms', '\\u4E00-\\u9FFF', '\\u4E00-\\u4E01');

-- fault: the lists of the channels are cut at ten
-- noticed by: recall
select golden.patch('^recall$', '60 \+ recall\.max_results', '10');

-- fault: another session is worth a little more
-- noticed by: traits
select oxbow.set_policy('trait_factor_c', 0.16);

-- As of

-- fault: a version is not believed yet at the moment when it was stored
-- noticed by: recall
select golden.patch('holds', 'created_at > _believed', 'created_at >= _believed');

-- fault: a version is still true at the moment when it ended
-- noticed by: recall
select golden.patch('holds', '_believed\) > _valid', '_believed) >= _valid');

-- fault: superseded versions are found
-- noticed by: recall
select golden.patch('^recall$', 'and not oxbow\.recall_is_filtered\([^)]*\)', '');

-- fault: superseded versions pass a filter
-- noticed by: recall
select golden.patch('holds', 'THEN \(\(expired_at IS NULL\) AND', 'THEN (true AND');

-- fault: recall ignores beliefs
-- noticed by: recall
select golden.patch('^recall$', '_filter\.believed := recall\.believed_as_of', '_filter.believed := null');

-- fault: superseding does not end the old version in the world
-- noticed by: change
select golden.patch('supersede', 'set invalid_at = least\([^;]*?\),\n', E'set invalid_at = old.invalid_at,\n');

-- fault: past traits have the confidence of today
-- noticed by: traits
select golden.patch('traits_as_of', 'r\.confidence_at,\s+traits_as_of\.at', 'r.confidence_at, ''2026-06-01''');

-- fault: facts as of ignore beliefs
-- noticed by: recall
select golden.patch('facts_as_of', 'facts_as_of\.valid, facts_as_of\.believed', 'facts_as_of.valid, null');

-- Rights

-- fault: apps may read the queue
-- noticed by: catalog
grant select on oxbow.river_job to oxbow_app;

-- fault: apps may settle traits
-- noticed by: catalog
grant execute on function oxbow.settle_traits to public;

-- fault: every user is seen in a partition
-- noticed by: rights
alter policy app_select on oxbow.memories_fact using (true);

-- fault: apps see no episodes of their own
-- noticed by: rights
drop policy app_select on oxbow.memories; drop policy app_select on oxbow.memories_episodic;

-- fault: access is not checked
-- noticed by: rights
select golden.patch('check_access', 'raise exception using', 'raise notice using');

-- fault: an app moves its settings to another user
-- noticed by: rights
alter policy app_update on oxbow.users with check (true);

-- fault: messages are without row security
-- noticed by: catalog
alter table oxbow.messages disable row level security;

-- fault: recall runs with the rights of the caller
-- noticed by: rights
do $$ begin execute (select 'alter function ' || oid::regprocedure || ' security invoker' from pg_proc
  where oid = 'oxbow.recall'::regproc); end $$;

-- Erasure

-- fault: the jobs of an erased user stay
-- noticed by: change
select golden.patch('erase_rows',
  'delete from oxbow\.river_job j where j\.args ->> ''user_id'' = _user_id',
  'delete from oxbow.river_job j where false');

-- fault: repeats folded into an erased fact stay
-- noticed by: change
select golden.patch('repeats_of', '= r\.content_hash', '= r.content_hash and false');

-- fault: the sensory stream of an erased user stays
-- noticed by: change
select golden.patch('erase_rows', 'not c\.relispartition', 'not c.relispartition and c.relname <> ''sensory''');

-- fault: a summary outlives a forgotten memory
-- noticed by: conversations
select golden.patch('forget', 'm\.id = any\(_summaries\)', 'false');

-- fault: a trait keeps the evidence of an erased memory in its confidence
-- noticed by: catalog traits
drop trigger reweigh_traits on oxbow.trait_evidence;

-- fault: forgotten memories are found as of the time before
-- noticed by: change
select golden.patch('recallable', 'forgotten_at IS NULL', 'true');

-- Errors

-- fault: an unknown memory has another code
-- noticed by: errors
select golden.patch('lock_memory', 'OX101', 'OX100');

-- fault: an invalid value has the code of any exception
-- noticed by: errors
select golden.patch('reject', 'check_violation', 'raise_exception');

-- fault: ten thousand results are allowed
-- noticed by: errors
select golden.patch('.', 'max_results not between 1 and 1000\M', 'max_results not between 1 and 10000');

-- fault: importance has no bounds
-- noticed by: errors
select golden.patch('^valid_memory$', '_importance not between 0 and 1', 'false');

-- fault: content may be changed in place
-- noticed by: errors
drop trigger refuse_change on oxbow.memories;

-- Catalog

-- fault: an index is missing
-- noticed by: catalog
drop index oxbow.memories_due_idx;

-- fault: vectors are stored out of line
-- noticed by: catalog
alter table oxbow.memory_vectors_fact alter column embedding set storage extended;

-- fault: a partition has another fillfactor
-- noticed by: catalog
alter table oxbow.memories_fact reset (fillfactor);

-- fault: a function plans by the rows that it expects
-- noticed by: catalog
do $$ begin execute (select 'alter function ' || oid::regprocedure || ' reset plan_cache_mode' from pg_proc
  where oid = 'oxbow.recall'::regproc); end $$;

-- fault: terms may not run in parallel
-- noticed by: catalog
alter function oxbow.terms parallel unsafe;

-- fault: a default has changed
-- noticed by: catalog
alter table oxbow.memories alter column importance set default 0.4;

-- Command line

-- fault: bad usage exits like any failure
-- noticed by: cli-errors
-- program: "$OXBOW" "$@"; code=$?; [ $code != 2 ] || code=1; exit $code

-- fault: errors are written to standard output
-- noticed by: cli-errors
-- program: exec "$OXBOW" "$@" 2>&1

-- fault: recall leaves the vectors out
-- noticed by: cli
-- program: [ "$1" != recall ] || set -- "$@" --words-only; exec "$OXBOW" "$@"

-- fault: a key of the JSON has another name
-- noticed by: cli
-- program: "$OXBOW" "$@" > out.$$; code=$?; sed 's/"memory_type":/"type":/' out.$$; exit $code

-- fault: the given clock is ignored
-- noticed by: traits
-- program: [ "$1" != work ] || set -- work --until-idle; exec "$OXBOW" "$@"

-- fault: a flag is missing from the help
-- noticed by: help
-- program: "$OXBOW" "$@" | grep -v -e '--max-tokens'
