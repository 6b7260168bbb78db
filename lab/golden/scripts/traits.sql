-- Traits: those of the samples at a given time, and corrections by people.

-- name: habits
-- $ grep -v '2025-0[567]-' examples/habits.jsonl > spring.jsonl
-- $ oxbow import spring.jsonl
-- $ oxbow work --until-idle --now 2025-05-01
-- $ grep -v '2025-0[67]-' examples/habits.jsonl > may.jsonl
-- $ oxbow import may.jsonl
-- $ oxbow work --until-idle --now 2025-06-01
-- $ oxbow import examples/habits.jsonl
-- $ oxbow work --until-idle --now 2025-07-05
select user_id, content, subtype, stored_stage, stored_confidence, confidence_at, context, contexts,
  reinforcement_count, contradiction_count, supporting, contradicting,
       first_observed, last_reinforced, window_start, window_end, derived_from, key, version, edited_at
  from oxbow.traits order by user_id, content;

-- name: evidence
select t.content as trait, e.direction, e.quality, e.context, e.stated, e.observed_at, e.timezone, m.external_id
  from oxbow.trait_evidence e join oxbow.memories t on t.user_id = e.user_id and t.id = e.trait_id
  join oxbow.memories m on m.user_id = e.user_id and m.memory_type = e.memory_type and m.id = e.memory_id
    order by 1, e.observed_at, m.external_id;

-- name: events
select t.content as trait, e.seq, e.event, e.at, e.factor, e.sets, e.memories, e.subtype, e.window_end, e.confidence,
  e.stage, e.actor, e.reason
  from oxbow.trait_events e join oxbow.memories t on t.user_id = e.user_id and t.id = e.trait_id order by 1, e.seq;

-- name: links
select f.content as "from", l.relation, t.content as "to" from oxbow.memory_links l
  join oxbow.memories f on f.user_id = l.user_id and f.id = l.from_id
  join oxbow.memories t on t.user_id = l.user_id and t.id = l.to_id where f.memory_type = 'trait' order by 1, 2, 3;

-- name: as of
select content, subtype, stage, confidence, context, reinforcement_count, contradiction_count
  from oxbow.traits_as_of('demo-ilse', '2025-04-10') order by 1;
select content, subtype, stage, confidence, context, reinforcement_count, contradiction_count
  from oxbow.traits_as_of('demo-ilse', '2025-07-10') order by 1;
select content, stage, confidence from oxbow.traits_as_of('demo-hao', '2025-06-20') order by 1;
select content, stage, confidence from oxbow.traits_as_of('demo-hao', '2026-01-01') order by 1;

-- name: in recall and in the context
select memory_type, content, score, explain from oxbow.recall('demo-ilse', 'ramen', now => '2025-07-10');
select content, score, explain from oxbow.recall('demo-hao', '内向', types => '{trait}', now => '2025-07-10');
select content, score, explain from oxbow.recall('demo-hao', '内向', types => '{trait}', now => '2027-07-10');
select content, explain -> 'stage' as stage, explain -> 'confidence' as confidence
  from oxbow.recall('demo-hao', '跑步', types => '{trait}', believed_as_of => '2025-05-01', now => '2025-07-10');
select oxbow.context('demo-ilse', now => '2025-07-10', max_tokens => 200);
select section, stage, text, tokens from oxbow.context_parts('demo-hao', '周末做什么', now => '2025-07-10')
  where section = 'behavior' order by text collate "C";
select oxbow.context('demo-hao', '周末做什么', now => '2025-07-10', max_tokens => 60, types => '{episodic}');

-- name: policies
select name, value, "default", minimum, maximum, unit, source from oxbow.policies order by name;

-- name: numbers
select oxbow.trait_stage_of(c) || ' ' || c as fact from unnest(array[0.05, 0.3, 0.31, 0.6, 0.85, 0.86]) c;
select s, n, oxbow.trait_confidence_at(0.8, s, n, '2023-01-01', '2023-12-31') as after_a_year,
  oxbow.trait_next_transition('established', 0.8, s, n, '2023-01-01', null) as next
  from unnest(array['behavior', 'preference', 'core']) s, unnest(array[0, 1, 10]) n;

-- name: settling
begin; select settled > 0 as settled from oxbow.settle_traits('2027-06-01', 1000);
select user_id, content, stored_stage, stored_confidence from oxbow.traits order by user_id, content;
select t.content as trait, e.seq, e.event, e.at, e.confidence, e.stage from oxbow.trait_events e
  join oxbow.memories t on t.user_id = e.user_id and t.id = e.trait_id
 where e.event in ('decayed', 'dissolved') order by 1, e.seq;

-- name: edit
select golden.trait('demo-ilse', 'ramen') is not null as there;
select oxbow.edit_trait('demo-ilse', golden.trait('demo-ilse', 'ramen'), content => 'Loves noodle soups',
  confidence => 0.7, context => 'social', reason => 'she said so') is not null as edited;
select content, subtype, stored_stage, stored_confidence, context, version, edited_at, supporting from oxbow.traits
  where user_id = 'demo-ilse' and content ilike '%noodle%';
select content, stage from oxbow.traits_as_of('demo-ilse', '2025-07-10') where content ~ 'noodle|amen';
select event, old_content, new_content, actor, reason from oxbow.history('demo-ilse', golden.trait('demo-ilse',
  'noodle'));
select seq, event, confidence, stage, actor, reason from oxbow.trait_events
  where trait_id = golden.trait('demo-ilse', 'noodle') order by seq;

-- name: edit without words
select oxbow.edit_trait('demo-hao', golden.trait('demo-hao', '内向')) is not null as edited;
select content, stored_stage, stored_confidence, version from oxbow.traits
  where user_id = 'demo-hao' and content like '%内向%';

-- name: edit as reflection
select oxbow.edit_trait('demo-hao', golden.trait('demo-hao', '内向'), 'x', actor => 'reflection');
-- name: edit, confidence above 1
select oxbow.edit_trait('demo-hao', golden.trait('demo-hao', '内向'), confidence => 1.5);
-- name: edit, an unknown context
select oxbow.edit_trait('demo-hao', golden.trait('demo-hao', '内向'), context => 'space');
-- name: edit, blank words
select oxbow.edit_trait('demo-hao', golden.trait('demo-hao', '内向'), ' ');
-- name: supersede a trait
select oxbow.supersede('demo-hao', golden.trait('demo-hao', '内向'), 'x');

-- name: dissolve
select oxbow.dissolve_trait('demo-hao', golden.trait('demo-hao', '牛肉面'), reason => '不吃了');
select content, stored_stage from oxbow.traits where user_id = 'demo-hao' and content like '%牛肉面%';
select content from oxbow.recall('demo-hao', '牛肉面', types => '{trait}', now => '2025-07-10');

-- name: delete
select oxbow.delete_trait('demo-hao', golden.trait('demo-hao', '跑步')) > 0 as deleted;
select count(*) from oxbow.traits where user_id = 'demo-hao' and content like '%跑步%';
select count(*) from oxbow.trait_refusals where user_id = 'demo-hao';

-- name: erasing a memory erases its evidence
select supporting, stored_confidence, stored_stage from oxbow.traits
  where user_id = 'demo-ilse' and content ilike '%quiet%';
select oxbow.erase_memory('demo-ilse', (select id from oxbow.memories
  where user_id = 'demo-ilse' and external_id = 'h5')) > 0 as erased;
select supporting, stored_confidence, stored_stage from oxbow.traits
  where user_id = 'demo-ilse' and content ilike '%quiet%';
select seq, event, confidence, stage from oxbow.trait_events where trait_id = golden.trait('demo-ilse', 'quiet')
  order by seq;
select oxbow.erase_memory('demo-ilse', (select id from oxbow.memories
  where user_id = 'demo-ilse' and external_id = 'h20')) > 0 as erased;
select seq, event, factor, confidence, stage from oxbow.trait_events
  where trait_id = golden.trait('demo-ilse', 'climbing') order by seq;
select supporting, contradicting, stored_confidence, stored_stage from oxbow.traits
  where user_id = 'demo-ilse' and content ilike '%climbing%';

-- name: check finds nothing
-- $ oxbow check
select count(*) > 0 as there from oxbow.trait_events;

-- name: every policy changes, and the past stays
create table golden.then as
  select u.user_id, t.* from oxbow.users u, unnest(array['2025-05-10', '2025-07-10', '2026-01-01']::timestamptz[]) at,
    lateral oxbow.traits_as_of(u.user_id, at) t;
select count(*) > 20 as changed
  from (select oxbow.set_policy(p.name, least(greatest(p.value * 1.02, p.minimum), p.maximum)) from oxbow.policies p) c;
select count(*) > 5 as compared from golden.then;
(select u.user_id, t.* from oxbow.users u, unnest(array['2025-05-10', '2025-07-10', '2026-01-01']::timestamptz[]) at,
    lateral oxbow.traits_as_of(u.user_id, at) t) except select * from golden.then;

-- name: check finds nothing after that either
-- $ oxbow work --until-idle
-- $ oxbow check
select count(*) > 20 as changed from oxbow.policies p where p.value <> p."default";
