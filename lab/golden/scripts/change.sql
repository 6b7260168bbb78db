-- What changes a memory, and what is left of it.

-- name: two lives
select golden.people();

-- name: after the worker
-- $ oxbow work --until-idle --now 2024-08-01
select count(*) from oxbow.memory_vectors;

-- name: supersede
select oxbow.supersede('nora', golden.id(102), 'Nora lives in Ovar by the lagoon.', '2024-05-01 12:00+00',
  reason => 'she moved', actor => 'golden') is not null as new;
select content, valid_at, invalid_at, expired_at, version, category, importance, agent_id, external_id, metadata,
  superseded_by is not null as superseded
  from oxbow.memories where user_id = 'nora' and category = 'identity' order by version;
select l.relation, f.content as "from", t.content as "to", l.weight from oxbow.memory_links l
  join oxbow.memories f on f.user_id = l.user_id and f.id = l.from_id
    join oxbow.memories t on t.user_id = l.user_id and t.id = l.to_id where l.user_id = 'nora';

-- name: supersede without a time and with other metadata
select oxbow.supersede('nora', golden.id(103), 'Nora cannot eat prawns.',
  metadata => '{"checked": true}') is not null as new;
select content, valid_at, invalid_at, expired_at, version, metadata from oxbow.memories
  where user_id = 'nora' and content like 'Nora cannot%' order by version;

-- name: supersede from the start
select oxbow.supersede('小林', golden.id(203), '小林养了一只叫圆子的橘猫。', '2023-03-01 12:00+00',
  reason => '听错了') is not null as new;
select content, valid_at, invalid_at, version from oxbow.memories where user_id = '小林' and content like '%橘猫%'
  order by version;

-- name: history and versions
select at, event, memory_id, memory_type, version, old_content, new_content, old_metadata, new_metadata, actor,
  reason, message_ids from oxbow.history('nora', golden.id(102));
select v.memory_type, m.content from oxbow.versions('nora', golden.id(101)) v
  join oxbow.memories m on m.user_id = 'nora' and m.id = v.memory_id order by m.version, m.id;
select event, old_content, new_content, actor, reason from oxbow.history('小林', golden.id(203));

-- name: the view of all history
select at, event, memory_id, memory_type, old_content, new_content, actor, reason from oxbow.history
  where user_id = '小林' order by at, memory_id, event;

-- name: superseded twice
select oxbow.supersede('nora', golden.id(101), 'again');

-- name: recall after the change
-- $ oxbow work --until-idle --now 2024-08-01
select content, score from oxbow.recall('nora', 'where does Nora live', now => '2024-08-01');
select content, score from oxbow.recall('nora', 'where does Nora live', valid_as_of => '2024-04-01',
  now => '2024-08-01');
select content, current, invalid_at, score from oxbow.timeline('nora', 'where does Nora live');
select content, valid_at, invalid_at from oxbow.facts_as_of('nora', '2024-01-01') order by content;

-- name: forget
select oxbow.forget('nora', golden.id(112), 'she asked');
select forgotten_at, updated_at from oxbow.memories where user_id = 'nora' and id = golden.id(112);
select id, content from oxbow.recall('nora', 'lighthouse salt pans', now => '2024-08-01');
select id, content from oxbow.recall('nora', 'lighthouse salt pans', believed_as_of => '2024-04-01',
  now => '2024-08-01');
select id from oxbow.timeline('nora', 'lighthouse salt pans');
select name from oxbow.entities_of('nora') order by name;
select event, old_content, new_content, actor, reason from oxbow.history('nora', golden.id(112));

-- name: forget twice, supersede what is forgotten
select oxbow.forget('nora', golden.id(112));
select count(*) from oxbow.memory_history where user_id = 'nora' and memory_id = golden.id(112);
select oxbow.supersede('nora', golden.id(112), 'x');

-- name: restore
select oxbow.restore('nora', golden.id(112));
select id, content from oxbow.recall('nora', 'lighthouse salt pans', max_results => 1, now => '2024-08-01');
select event, old_content, new_content, actor, reason from oxbow.history('nora', golden.id(112));

-- name: restore what is not forgotten
select oxbow.restore('nora', golden.id(112));

-- name: touch
select oxbow.touch('nora', array[golden.id(102), golden.id(115), golden.id(115), golden.id(999)]);
select i.memory_id, count(*) from oxbow.activity a, unnest(a.memory_ids) i(memory_id) where a.user_id = 'nora'
 group by 1 order by 1;

-- name: after the touch
-- $ oxbow work --until-idle
select oxbow.fold_activity(1000) >= 0 as folded;
select id, access_count, mention_count, strength, last_accessed_at from oxbow.memories
  where user_id = 'nora' and access_count > 0 order by id;

-- name: promote
update oxbow.memories set expires_at = '2024-09-01' where user_id = 'nora' and id = golden.id(114);
select oxbow.promote('nora', golden.id(114), 'kept');
select oxbow.promote('nora', golden.id(114));
select expires_at from oxbow.memories where user_id = 'nora' and id = golden.id(114);
select event, actor, reason from oxbow.history('nora', golden.id(114));

-- name: expiry
update oxbow.memories set expires_at = '2024-09-01' where user_id = 'nora' and id = golden.id(113);
select * from oxbow.expire_memories('2024-08-31', 10);
select * from oxbow.expire_memories('2024-09-02', 10);
select invalid_at, expired_at, expires_at from oxbow.memories where user_id = 'nora' and id = golden.id(113);
select event, actor, reason from oxbow.history('nora', golden.id(113));

-- name: allowed and refused updates
update oxbow.memories set importance = 0.2, metadata = metadata || '{"seen": 1}'
  where user_id = 'nora' and id = golden.id(117);
update oxbow.memories set content = 'x' where user_id = 'nora' and id = golden.id(117);

-- name: a repeated fact is folded
insert into oxbow.memories (user_id, memory_type, id, created_at, agent_id, metadata, content)
  values ('nora', 'fact', golden.id(151), '2024-07-10', 'coach', '{"context": "work"}',
    'Nora plans the tram extension with Duarte.'),
  ('小林', 'fact', golden.id(251), '2024-07-10', null, '{}', '小林住在青岛的海边。');

-- name: after the fold
-- $ oxbow work --until-idle --now 2024-08-01
select user_id, id, superseded_by, expired_at, mention_count, importance from oxbow.memories
  where id in (golden.id(105), golden.id(151), golden.id(202), golden.id(251)) order by 1, 2;

-- name: a fold is forgotten and restored as one
select oxbow.forget('nora', golden.id(105));
select id, forgotten_at from oxbow.memories where user_id = 'nora' and id in (golden.id(105), golden.id(151))
  order by id;
select oxbow.restore('nora', golden.id(105));
select id, forgotten_at from oxbow.memories where user_id = 'nora' and id in (golden.id(105), golden.id(151))
  order by id;

-- name: erase a memory
select oxbow.erase_memory('nora', golden.id(105), proof => 'proof-of-the-tram-1') > 0 as erased;
select table_name, count(*) from (
  select 'memories' as table_name from oxbow.memories where user_id = 'nora' and id in (golden.id(105), golden.id(151))
  union all select 'vectors' from oxbow.memory_vectors where user_id = 'nora' and memory_id in (golden.id(105),
    golden.id(151))
  union all select 'terms' from oxbow.memory_terms where user_id = 'nora' and memory_id in (golden.id(105),
    golden.id(151))
  union all select 'history' from oxbow.memory_history where user_id = 'nora' and memory_id in (golden.id(105),
    golden.id(151))) t group by 1;
select id, content from oxbow.recall('nora', 'tram extension', now => '2024-08-01');
select kind, rows - 'river_job' - 'reflection_inbox' - 'reflection_cycles' - 'trait_clues' as rows
  from oxbow.erasure('nora', 'proof-of-the-tram-1', golden.id(105));
select kind, rows - 'river_job' - 'reflection_inbox' - 'reflection_cycles' - 'trait_clues' as rows
  from oxbow.erasure('nora', 'another-proof-of-it', golden.id(105));
select kind, rows - 'river_job' - 'reflection_inbox' - 'reflection_cycles' - 'trait_clues' as rows
  from oxbow.erasure('nora', 'proof-of-the-tram-1');
select user_id, memory_type, documents, terms from oxbow.memory_term_stats order by 1, 2;

-- name: erase the last memory that names somebody
select oxbow.erase_memory('nora', golden.id(117)) > 0 as erased;
select e.name, e.mentions from oxbow.entities_of('nora') e order by name;
select from_name, relation, to_name from oxbow.entity_edges_of('nora') order by 1, 2, 3;

-- name: erase a version in the middle
select oxbow.erase_memory('nora', golden.id(102)) > 0 as erased;
select content, version, superseded_by is null as last from oxbow.memories
  where user_id = 'nora' and category = 'identity' order by version;
select event, old_content, new_content from oxbow.history('nora', golden.id(101));

-- name: erase a user
insert into oxbow.sensory (user_id, content) values ('nora', 'opened a page');
insert into oxbow.messages (user_id, session_id, content) values ('nora', 'tea-9', 'I bought a red kayak.');
select * from oxbow.erase_user('nora', proof => 'proof-of-nora-2024')
  where table_name !~ '^(river_|reflection_|trait_clues)';
select kind, rows - 'river_job' - 'reflection_inbox' - 'reflection_cycles' - 'trait_clues' as rows
  from oxbow.erasure('nora', 'proof-of-nora-2024');
select * from oxbow.recall('nora', 'where does Nora live');
select kind, state, count(*) from oxbow.river_job where args::text like '%nora%' group by 1, 2;

-- name: nothing of the user is left in any table
create function golden.left_of(_text text) returns table (left_in text, rows bigint) language plpgsql as $$
declare _table text;
begin
  for _table in select c.oid::regclass from pg_class c where c.relnamespace = 'oxbow'::regnamespace
    and c.relkind = 'r' order by 1 loop
    execute format('select count(*) from %s t where t::text ilike %L', _table, '%' || _text || '%') into rows;
    left_in := _table;
    if rows > 0 then return next; end if;
  end loop;
end $$;
select * from golden.left_of('nora');
select * from golden.left_of('lighthouse');
select count(*) > 0 as others_stay from golden.left_of('小林');

-- name: the other user is as before
select id, content, score from oxbow.recall('小林', '住在哪里', now => '2024-08-01');

-- name: erase unknown ids
select * from oxbow.erase_user('nora');
select oxbow.erase_memory('nora', golden.id(101));
