-- What recall, context and timeline answer. Every question names its now, so that recency does not depend on the clock.

-- name: two lives
select golden.people(), golden.ask('where does she live?', 'rowing on the water', 'the ferry', '他住在哪里', '爬山',
  '学校门口的车站', 'market stops', 'bridge budget');

-- name: after the worker
-- $ oxbow work --until-idle --now 2024-08-01
select user_id, memory_type, documents, terms from oxbow.memory_term_stats where user_id <> 'asker' order by 1, 2;
select user_id, memory_type, count(*) from oxbow.memory_vectors where user_id <> 'asker' group by 1, 2 order by 1, 2;
select memory_id, len, tsv from oxbow.memory_terms where user_id in ('nora', '小林') order by memory_id;
select memory_id, round((embedding <=> golden.vector('rowing on the water'))::numeric, 5) as distance
  from oxbow.memory_vectors where user_id in ('nora', '小林') order by 1;
select u.user_id, e.name, e.kind, e.mentions, e.memories, e.valid_at, e.invalid_at, e.created_at, e.expired_at,
  e.last_seen
  from oxbow.users u, lateral oxbow.entities_of(u.user_id) e order by 1, 2;
select from_name, relation, to_name, to_kind, valid_at, invalid_at, memory_id, holds
  from oxbow.entity_edges_of('nora') order by from_name, relation, to_name, memory_id;

-- name: words
select id, memory_type, content, score, explain from oxbow.recall('nora', 'where does she live?', now => '2024-08-01');

-- name: words and vector
select id, score, explain from oxbow.recall('nora', 'where does she live?', golden.vector('where does she live?'),
  now => '2024-08-01');

-- name: a vector alone
select id, score, explain from oxbow.recall('nora', null, golden.vector('rowing on the water'), now => '2024-08-01');

-- name: neighbours in the conversation
select id, score, explain -> 'text' as text, explain -> 'vector' as vector
  from oxbow.recall('nora', 'rowed to the salt pans', golden.vector('rowing on the water'), types => '{episodic}',
  now => '2024-08-01');

-- name: every column
select * from oxbow.recall('nora', 'bridge drawings', max_results => 2, now => '2024-08-01');

-- name: an entity
select id, content, score, explain -> 'entity' as entity from oxbow.recall('nora', 'What is Duarte up to?',
  now => '2024-08-01');

-- name: an entity that an edge leads to
select id, content, explain -> 'entity' as entity from oxbow.recall('nora', 'How is Aveiro?', now => '2024-08-01');

-- name: a date in the question
select id, content, score from oxbow.recall('nora', 'what happened in March 2024?', now => '2024-08-01');
select id, content, score from oxbow.recall('小林', '4月5日做了什么', now => '2024-08-01');

-- name: Chinese
select id, content, score, explain from oxbow.recall('小林', '他住在哪里', golden.vector('他住在哪里'), now => '2024-08-01');
select id, content, score from oxbow.recall('小林', '爬山累不累', golden.vector('爬山'), now => '2024-08-01');
select id, content, score from oxbow.recall('小林', '老周', now => '2024-08-01');

-- name: recency counts
select id, score, explain -> 'recency' as recency from oxbow.recall('nora', 'Nora', now => '2024-03-10');

-- name: types
select id, memory_type from oxbow.recall('nora', 'the ferry', types => '{document}', now => '2024-08-01');
select id, memory_type, score from oxbow.recall('nora', 'the ferry', golden.vector('the ferry'),
  types => '{fact,document}', now => '2024-03-01');

-- name: contexts
select id, content, score from oxbow.recall('nora', 'Nora Duarte bridge ferry', contexts => '{work}',
  now => '2024-06-01');
select id, content, score from oxbow.recall('nora', 'Nora Duarte bridge ferry', contexts => '{personal,learning}',
  now => '2024-06-01');

-- name: agent
select id, content, score from oxbow.recall('nora', 'Nora plans', golden.vector('the ferry'), agent => 'coach',
  now => '2024-08-01');
select id, content from oxbow.recall('nora', 'Nora plans', agent => 'nobody', now => '2024-08-01');

-- name: metadata
select id, content, score from oxbow.recall('nora', 'Nora', metadata_contains => '{"tags": ["food"]}',
  now => '2024-08-01');
select id, content, score from oxbow.recall('nora', 'Nora project',
  metadata_contains => '{"project": {"name": "ferry"}}', now => '2024-02-01');
select id, score from oxbow.recall('hist', 'market', metadata_contains => '{"line": 1}', max_results => 50,
  now => '2024-01-01');

-- name: all filters at once
select id, content, score from oxbow.recall('nora', 'ferry project Duarte bridge', golden.vector('the ferry'),
  types => '{fact,episodic}', contexts => '{work}', agent => 'coach',
  metadata_contains => '{"context": "work"}', valid_as_of => '2024-06-01', now => '2024-08-01');

-- name: ended memories are found until their end
select id, content from oxbow.recall('nora', 'who leads the ferry timetable', now => '2024-06-29');
select id, content from oxbow.recall('nora', 'who leads the ferry timetable', now => '2024-07-01');

-- name: true then
select id, content, score from oxbow.recall('nora', 'where does Nora live', valid_as_of => '2020-01-01',
  now => '2024-08-01');
select id, content, score from oxbow.recall('nora', 'where does Nora live', valid_as_of => '2023-09-01',
  now => '2024-08-01');
select id, content, score from oxbow.recall('nora', 'where does Nora live', valid_as_of => '2018-01-01',
  now => '2024-08-01');

-- name: believed then
select id, content, score from oxbow.recall('nora', 'where does Nora live', believed_as_of => '2023-09-02',
  now => '2024-08-01');
select id, content, score from oxbow.recall('nora', 'where does Nora live', believed_as_of => '2023-09-03',
  now => '2024-08-01');
select id, content, score from oxbow.recall('nora', 'where does Nora live', believed_as_of => '2021-01-01',
  now => '2024-08-01');

-- name: at the very moment of a change
select id, score from oxbow.recall('nora', 'where does Nora live', valid_as_of => '2023-09-01 12:00',
  now => '2024-08-01');
select id, score from oxbow.recall('nora', 'where does Nora live', believed_as_of => '2023-09-03 12:00',
  now => '2024-08-01');
select id, score from oxbow.recall('nora', 'ferry timetable', valid_as_of => '2024-06-30 12:00', types => '{fact}',
  now => '2024-08-01');

-- name: true then as believed then
select id, content, score from oxbow.recall('nora', 'where does Nora live', valid_as_of => '2023-09-02',
  believed_as_of => '2023-09-02', now => '2024-08-01');
select id, content, score from oxbow.recall('nora', 'where does Nora live', golden.vector('where does she live?'),
  valid_as_of => '2023-09-02', believed_as_of => '2024-01-01', now => '2024-08-01');

-- name: expired without a successor
select id, content from oxbow.recall('nora', 'bees on the roof', now => '2024-08-01');
select id, content from oxbow.recall('nora', 'bees on the roof', types => '{fact}', metadata_contains => '{}',
  now => '2024-08-01');
select id, content from oxbow.recall('nora', 'bees on the roof', believed_as_of => '2024-02-01', now => '2024-08-01');
select id, content, current from oxbow.timeline('nora', 'bees on the roof');

-- name: as of, in Chinese
select id, content, score from oxbow.recall('小林', '小林住在哪里', golden.vector('他住在哪里'), valid_as_of => '2023-01-01',
  now => '2024-08-01');
select id, content, score from oxbow.recall('小林', '小林住在哪里', believed_as_of => '2024-02-01 12:00', now => '2024-08-01');

-- name: half of the history superseded
select id, content, score from oxbow.recall('hist', 'stops at the market', golden.vector('market stops'),
  max_results => 40, now => '2023-12-01');
select id, score from oxbow.recall('hist', 'stops at the market', golden.vector('market stops'), max_results => 40,
  valid_as_of => '2023-06-01', now => '2023-12-01');
select id, score from oxbow.recall('hist', 'stops at the market', golden.vector('market stops'), max_results => 40,
  believed_as_of => '2023-06-01', now => '2023-12-01');
select id, score from oxbow.recall('hist', '学校门口', golden.vector('学校门口的车站'), max_results => 40, now => '2023-12-01');
select id, score from oxbow.recall('hist', null, golden.vector('market stops'), max_results => 60, now => '2023-12-01');

-- name: limits
select count(*) from oxbow.recall('hist', 'stops', max_results => 1000, now => '2024-01-01');
select id, score from oxbow.recall('hist', 'stops harbour', max_results => 3, now => '2024-01-01');

-- name: forgotten and secret memories are not found
select id, content from oxbow.recall('nora', 'spare key under a pot', now => '2024-08-01');
select id, content from oxbow.recall('nora', 'spare key under a pot', valid_as_of => '2024-01-15',
  believed_as_of => '2024-01-15', now => '2024-08-01');
select id, content from oxbow.recall('nora', 'sealed', now => '2024-08-01');

-- name: an unknown user, and no match
select * from oxbow.recall('nobody', 'anything');
select * from oxbow.recall('nora', 'zzz qqq');

-- name: context
select oxbow.context('nora', 'where does she live?', golden.vector('where does she live?'), now => '2024-08-01');
select oxbow.context('nora', now => '2024-08-01');
select oxbow.context('nora', 'bridge', max_tokens => 40, types => '{episodic}', agent => 'coach',
  contexts => '{work}', now => '2024-08-01');
select oxbow.context('小林', '周末去爬山', max_tokens => 60, now => '2024-08-01');
select oxbow.context('nobody', 'x');

-- name: parts of the context
select section, id, memory_type, stage, at, text, tokens from oxbow.context_parts('nora', 'ferry Duarte',
  max_tokens => 120, types => '{fact,episodic,document}', now => '2024-08-01');
select oxbow.estimate_tokens('Nora rows'), oxbow.estimate_tokens('小林爬山，很累。'), oxbow.estimate_tokens(''),
  oxbow.estimate_tokens(null);

-- name: timeline
select * from oxbow.timeline('nora', 'where does Nora live', golden.vector('where does she live?'));
select id, content, valid_at, invalid_at, current, superseded_by, score from oxbow.timeline('小林', '小林住在哪里');
select id, valid_at, current, score from oxbow.timeline('hist', 'the mill', max_results => 12);
select id, score from oxbow.timeline('nora', 'Duarte bridge', types => '{episodic}');

-- name: facts as of
select * from oxbow.facts_as_of('nora', '2020-01-01', '2024-08-01') order by id;
select id, content from oxbow.facts_as_of('nora', '2023-10-01', '2023-09-02') order by id;
select id from oxbow.facts_as_of('hist', '2023-06-01', '2023-06-15') order by id;

-- name: a setting weighs the channels
begin;
insert into oxbow.settings (key, value) values ('recall', '{"text": 0.2, "vector": 1, "entity": 0.5}');
select id, score from oxbow.recall('nora', 'Duarte and the bridge', golden.vector('bridge budget'),
  now => '2024-08-01');
