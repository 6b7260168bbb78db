-- No weight depends on the day of the run: nothing decays, and never did. No policy can be changed backwards otherwise.
set session_replication_role = replica;
insert into oxbow.policy_changes (name, valid_from, value) values
  ('weight_decay', '2000-01-01', 0), ('memory_strength_decay', '2000-01-01', 1),
  ('memory_strength_decay_summary', '2000-01-01', 1);
reset session_replication_role;
select oxbow.note_rules('2000-01-01');

-- The people of the scripts. Every time is given, and ids end in the number of the memory.
create function golden.id(_n integer) returns uuid
  language sql immutable as $$ select ('00000000-0000-4000-8000-' || lpad(_n::text, 12, '0'))::uuid $$;

-- people stores two lives, one in English and one in Chinese, with every field that recall can filter by, and a user
-- with a long history, half of which is superseded.
create function golden.people() returns void language plpgsql as $people$
begin
  insert into oxbow.users (user_id, timezone, language) values
    ('nora', 'Europe/Lisbon', 'en'), ('小林', 'Asia/Shanghai', 'zh');
  insert into oxbow.users (user_id, opted_out) values ('asker', true);

  insert into oxbow.memories (user_id, memory_type, id, seq, valid_at, invalid_at, created_at, expired_at,
    superseded_by, version, session_id, speaker, agent_id, external_id, category, importance, metadata, content) values
  ('nora', 'fact', '00000000-0000-4000-8000-000000000101', 1, '2019-04-01 12:00+00', '2023-09-01 12:00+00',
    '2021-01-05 12:00+00', '2023-09-03 12:00+00', '00000000-0000-4000-8000-000000000102', 1,
   null, null, 'desk', 'home-1', 'identity', 0.8, '{"about": "home", "context": "personal"}',
     'Nora lives in Coimbra above a bakery.'),
  ('nora', 'fact', '00000000-0000-4000-8000-000000000102', 2, '2023-09-01 12:00+00', null, '2023-09-03 12:00+00',
    null, null, 2,
   null, null, 'desk', null, 'identity', 0.8, '{"about": "home", "context": "personal"}',
     'Nora lives in Aveiro beside the canal.'),
  ('nora', 'fact', '00000000-0000-4000-8000-000000000103', 3, '2022-02-10 12:00+00', null, '2022-02-10 12:00+00',
    null, null, 1,
   null, null, 'desk', 'allergy', 'health', 0.9, '{"context": "personal", "tags": ["food", "care"]}',
     'Nora cannot eat shellfish.'),
  ('nora', 'fact', '00000000-0000-4000-8000-000000000104', 4, '2023-01-15 12:00+00', '2024-06-30 12:00+00',
    '2023-01-20 12:00+00', null, null, 1,
   null, null, 'coach', null, 'job', 0.6, '{"context": "work", "project": {"name": "ferry"}}',
     'Nora leads the ferry timetable project.'),
  ('nora', 'fact', '00000000-0000-4000-8000-000000000105', 5, null, null, '2024-07-01 12:00+00', null, null, 1,
   null, null, 'coach', null, 'job', 0.6, '{"context": "work"}', 'Nora plans the tram extension with Duarte.'),
  ('nora', 'fact', '00000000-0000-4000-8000-000000000106', 6, '2024-01-15 12:00+00', null, '2024-01-15 12:00+00',
    '2024-02-20 12:00+00', null, 1,
   null, null, null, null, null, 0.5, '{}', 'Nora keeps bees on the roof of the town hall.'),
  ('nora', 'episodic', '00000000-0000-4000-8000-000000000111', 11, '2024-03-09 18:30+00', null,
    '2024-03-09 18:31+00', null, null, 1,
   'tea-1', 'assistant', null, null, null, 0.4, '{}', 'What did you do at the weekend?'),
  ('nora', 'episodic', '00000000-0000-4000-8000-000000000112', 12, '2024-03-09 18:32+00', null,
    '2024-03-09 18:33+00', null, null, 1,
   'tea-1', 'Nora', null, null, null, 0.5, '{"emotion": {"arousal": 0.9}}',
     'I rowed from the lighthouse to the salt pans with Inês.'),
  ('nora', 'episodic', '00000000-0000-4000-8000-000000000113', 13, '2024-03-09 18:34+00', null,
    '2024-03-09 18:35+00', null, null, 1,
   'tea-1', 'assistant', null, null, null, 0.4, '{}', 'Was the water calm?'),
  ('nora', 'episodic', '00000000-0000-4000-8000-000000000114', 14, '2024-03-09 18:36+00', null,
    '2024-03-09 18:37+00', null, null, 1,
   'tea-1', 'Nora', null, null, null, 0.5, '{}', 'Flat as a plate, until a barge came by.'),
  ('nora', 'episodic', '00000000-0000-4000-8000-000000000115', 15, '2024-05-20 09:00+01', null,
    '2024-05-20 09:00+01', null, null, 1,
   'tea-2', 'Nora', 'coach', null, null, 0.7,
     '{"context": "work", "entities": [{"name": "Duarte", "kind": "person"}],
     "relations": [{"relation": "colleague", "to": "Duarte"}]}',
   'Duarte showed me the new drawings of the bridge.'),
  ('nora', 'episodic', '00000000-0000-4000-8000-000000000116', 16, '2024-05-27 09:00+01', null,
    '2024-05-27 09:00+01', null, null, 1,
   'tea-3', 'Nora', 'coach', null, null, 0.3,
     '{"context": "work", "entities": [{"name": "Duarte", "kind": "person"}, {"name": "Aveiro", "kind": "place"}]}',
   'He says the budget is gone and the town has to wait.'),
  ('nora', 'episodic', '00000000-0000-4000-8000-000000000117', 17, '2024-06-02 12:00+00', null,
    '2024-06-03 12:00+00', null, null, 1,
   'tea-4', 'Nora', null, null, null, 0.5,
     '{"entities": [{"name": "Inês", "kind": "person"}], "relations": [{"relation": "sister", "to": "Inês"}]}',
   'My sister Inês bakes sweet bread for the feast in June.'),
  ('nora', 'document', '00000000-0000-4000-8000-000000000121', 21, null, null, '2024-01-01 12:00+00', null, null, 1,
   null, null, null, null, null, 0.5, '{"path": "ferry.md"}',
     'The ferry leaves the quay at seven, nine and eleven. Bicycles travel free on the ferry.'),
  ('小林', 'fact', '00000000-0000-4000-8000-000000000201', 1, '2020-05-01 12:00+00', '2024-02-01 12:00+00',
    '2021-06-01 12:00+00', '2024-02-02 12:00+00', '00000000-0000-4000-8000-000000000202', 1,
   null, null, null, null, 'identity', 0.8, '{"about": "home"}', '小林住在苏州的平江路附近。'),
  ('小林', 'fact', '00000000-0000-4000-8000-000000000202', 2, '2024-02-01 12:00+00', null, '2024-02-02 12:00+00', null,
    null, 2,
   null, null, null, null, 'identity', 0.8, '{"about": "home"}', '小林住在青岛的海边。'),
  ('小林', 'fact', '00000000-0000-4000-8000-000000000203', 3, '2023-03-01 12:00+00', null, '2023-03-01 12:00+00', null,
    null, 1,
   null, null, null, null, 'fact', 0.7, '{"context": "personal"}', '小林养了一只叫团子的橘猫。'),
  ('小林', 'episodic', '00000000-0000-4000-8000-000000000211', 11, '2024-04-05 20:00+08', null, '2024-04-05 20:00+08',
    null, null, 1,
   '聊天一', '小林', null, null, null, 0.5, '{"entities": [{"name": "老周", "kind": "person"}]}', '清明那天和老周爬了崂山，下山时下起小雨。'),
  ('小林', 'episodic', '00000000-0000-4000-8000-000000000212', 12, '2024-04-05 20:01+08', null, '2024-04-05 20:01+08',
    null, null, 1,
   '聊天一', '助手', null, null, null, 0.4, '{}', '山上的风景怎么样？'),
  ('小林', 'episodic', '00000000-0000-4000-8000-000000000213', 13, '2024-04-05 20:02+08', null, '2024-04-05 20:02+08',
    null, null, 1,
   '聊天一', '小林', null, null, null, 0.6, '{}', '云海特别壮观，就是台阶太陡，膝盖有点疼。'),
  ('小林', 'episodic', '00000000-0000-4000-8000-000000000214', 14, '2024-05-11 10:00+08', null, '2024-05-11 10:00+08',
    null, null, 1,
   '聊天二', '小林', null, null, null, 0.5, '{"context": "learning"}', '报了周六的篆刻课，老师说先练刀法。');
  -- forgotten, secret, and without an end that has come
  insert into oxbow.memories (user_id, memory_type, id, seq, valid_at, created_at, forgotten_at, content) values
  ('nora', 'fact', '00000000-0000-4000-8000-000000000131', 31, '2024-01-02 12:00+00', '2024-01-02 12:00+00',
    '2024-02-02 12:00+00', 'Nora keeps the spare key of the canal house under a pot.');
  insert into oxbow.memories (user_id, memory_type, id, seq, created_at, sensitivity, sealed, sealed_key,
    content) values
  ('nora', 'fact', '00000000-0000-4000-8000-000000000132', 32, '2024-01-02 12:00+00', 3, '\x00', '1', '[sealed]');

  -- the long history: 60 stops, each superseded version believed for 10 days
  insert into oxbow.memories (user_id, memory_type, id, seq, valid_at, invalid_at, created_at, expired_at,
    superseded_by, version, importance, metadata, content)
  select 'hist', 'fact', golden.id(1000 + n), n, timestamptz '2023-01-01 12:00+00' + n * interval '5 days',
         case when n % 2 = 0 then timestamptz '2023-01-01 12:00+00' + (n + 1) * interval '5 days' end,
         timestamptz '2023-01-02 12:00+00' + n * interval '5 days',
         case when n % 2 = 0 then timestamptz '2023-01-02 12:00+00' + (n + 1) * interval '5 days' end,
         case when n % 2 = 0 then golden.id(1001 + n) end, 1 + n % 2, (n % 10) / 10.0, jsonb_build_object('line',
           n % 3),
         format('Bus %s stops at %s number %s', n / 2, (array['the market', 'the mill', 'the harbour', '学校门口',
           'the old market hall'])[1 + n % 5], n)
    from generate_series(0, 59) n;
end $people$;

-- ask stores questions, so that the worker makes vectors of them for golden.vector.
create function golden.ask(variadic _questions text[]) returns void language sql as $$
  insert into oxbow.memories (user_id, memory_type, content, created_at) select 'asker', 'fact', q,
    '2024-01-01 12:00+00' from unnest(_questions) q
$$;

