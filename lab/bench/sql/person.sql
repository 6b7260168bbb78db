-- Creates grow(first, last), which writes the memories first to last of the user 'grown', and as many rows of what the
-- jobs read: answers, signals, adjustments, intentions, messages, clues, webhooks; and a tenth as many other users who
-- share their patterns. All of it is done: nothing waits for a job. Triggers and foreign keys are off meanwhile.

create function grown_id(kind text, n integer) returns uuid language sql immutable
return md5(kind || ' ' || n)::uuid;

create function grown_name(person integer) returns text language sql immutable
return case person when -1 then 'Anna' else 'Friend' || person end;

-- The people of memory n: two of a group of ten, whom a hundred memories name, and in every tenth memory the same friend.
create function grown_people(n integer) returns integer[] language sql immutable
return array[n / 100 * 10 + n % 10, n / 100 * 10 + (n % 10 + 1 + n / 10 % 9) % 10]
  || case when n % 10 = 0 then '{-1}'::integer[] else '{}' end;

create function grow(_first integer, _last integer) returns void
language plpgsql set session_replication_role = replica as $$
begin
  insert into oxbow.memories (user_id, memory_type, id, content, valid_at, created_at, session_id, seq, metadata)
  select 'grown', case n % 10 when 9 then 'fact' else 'episodic' end, grown_id('memory', n),
         format('Went %s with %s and %s in place%s, round %s',
                (array['running', 'sailing', 'climbing', 'swimming'])[1 + n / 3 % 4], grown_name(p[1]),
                grown_name(p[2]), n / 10, n),
         at, at, 'talk ' || n / 20, n,
         jsonb_build_object('entities', (select jsonb_agg(jsonb_build_object('name', grown_name(x), 'kind', 'person'))
                                           from unnest(p) x))
    from generate_series(_first, _last) n, grown_people(n) p, lateral (select now() - n * interval '10 minutes') a(at);
  insert into oxbow.memory_terms (user_id, memory_type, memory_id, len, tsv)
  select m.user_id, m.memory_type, m.id, t.len, t.tsv
    from oxbow.memories m, oxbow.terms(m.content) t where m.user_id = 'grown' and m.seq between _first and _last;
  insert into oxbow.memory_term_stats as s (user_id, memory_type, documents, terms)
  select t.user_id, t.memory_type, count(*), sum(t.len)
    from oxbow.memory_terms t where t.user_id = 'grown' group by 1, 2
  on conflict (user_id, memory_type) do update set documents = excluded.documents, terms = excluded.terms;

  insert into oxbow.entities (user_id, id, kind, name, key, head, community_id, community_due)
  select distinct 'grown', grown_id('friend', p), 'person', grown_name(p), lower(grown_name(p)),
         lower(grown_name(p)), grown_id('friend', p / 10 * 10), false
    from generate_series(_first, _last) n, unnest(grown_people(n)) p
  on conflict do nothing;
  insert into oxbow.entity_mentions (user_id, entity_id, memory_type, memory_id)
  select m.user_id, grown_id('friend', p), m.memory_type, m.id
    from oxbow.memories m, unnest(grown_people(m.seq::integer)) p
   where m.user_id = 'grown' and m.seq between _first and _last;
  insert into oxbow.entity_edges (user_id, from_id, relation, to_id, memory_type, memory_id, valid_at, created_at)
  select m.user_id, grown_id('friend', p[1]), 'related', grown_id('friend', p[i]), m.memory_type, m.id, m.valid_at,
         m.created_at
    from oxbow.memories m, grown_people(m.seq::integer) p, generate_series(2, cardinality(p)) i
   where m.user_id = 'grown' and m.seq between _first and _last;
  insert into oxbow.communities (user_id, id, members, central, sources, due)
  select 'grown', grown_id('friend', n / 10), 10, array(select grown_id('friend', n / 10 + i) from generate_series(0, 7) i),
         array[grown_id('memory', n), grown_id('memory', n + 1)], false
    from generate_series(_first, _last) n where n % 100 = 0;
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation, weight)
  select 'grown', a.memory_type, a.id, b.memory_type, b.id, 'related_to', 0.5
    from oxbow.memories a join oxbow.memories b on b.user_id = 'grown' and b.seq between a.seq - 3 and a.seq - 1
   where a.user_id = 'grown' and a.seq between _first and _last;

  insert into oxbow.topic_fragments (user_id, topic, memory_type, memory_id, at)
  select m.user_id, case when m.seq % 10 = 0 then 'do:running' else 'do:topic ' || m.seq / 20 end, m.memory_type, m.id,
         m.valid_at
    from oxbow.memories m where m.user_id = 'grown' and m.seq between _first and _last;
  insert into oxbow.topics (user_id, topic, pending, due)
  select user_id, topic, count(*), topic = 'do:running' from oxbow.topic_fragments where user_id = 'grown' group by 1, 2
  on conflict do nothing;
  -- a conclusion of every second topic, with the sources that its fragments are
  insert into oxbow.memories (user_id, memory_type, id, content, source, created_at, seq)
  select 'grown', 'fact', grown_id('conclusion', n), 'Loves subject' || n, 'abstract',
         now() - n * interval '1 hour', n
    from generate_series(_first / 20, (_last - 1) / 20) n where n % 2 = 0;
  insert into oxbow.conclusions (user_id, memory_id, topic, voices, confidence, fragments, sessions, made_by)
  select 'grown', grown_id('conclusion', n), 'do:topic ' || n, '{""}', 0.5 + n % 50 * 0.01, 18, 1, 'bench'
    from generate_series(_first / 20, (_last - 1) / 20) n where n % 2 = 0;
  update oxbow.topics t set concluded = true, pending = 0
    from oxbow.conclusions c where c.user_id = t.user_id and c.topic = t.topic and not t.concluded;
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  select m.user_id, 'fact', grown_id('conclusion', m.seq::integer / 20), m.memory_type, m.id, 'source'
    from oxbow.memories m
   where m.user_id = 'grown' and m.seq between _first and _last and m.seq / 20 % 2 = 0 and m.source is null;

  insert into oxbow.sessions (user_id, id, started_at, last_activity_at, last_reflected_at, judged_seq)
  select 'grown', t.id, now() - interval '2 days', now() - interval '1 day', now(), 1000000000
    from (select distinct 'talk ' || n / 20 from generate_series(_first, _last) n union select 'long talk') t(id)
  on conflict do nothing;
  insert into oxbow.messages (user_id, session_id, seq, role, content, created_at, extracted_at)
  select 'grown', case n % 4 when 0 then 'long talk' else 'talk ' || n / 20 end, n,
         case n / 2 % 2 when 0 then 'user' else 'assistant' end, 'We went running in place' || n, now(), now()
    from generate_series(_first, _last) n;
  insert into oxbow.answers (user_id, id, at, session_id, query, recalled, used)
  select 'grown', grown_id('answer', n), now() - n * interval '2 minutes',
         case n % 4 when 0 then 'long talk' else 'talk ' || n / 20 end, 'Where did I go with Friend' || n,
         array(select grown_id('memory', o) from generate_series(greatest(n - 4, 0), n) o), array[grown_id('memory', n)]
    from generate_series(_first, _last) n;
  insert into oxbow.feedback_signals (user_id, id, at, source, kind, type, confidence, targets, answer_id, message_id,
                                      dispatched_at)
  select 'grown', grown_id('signal', n), now() - n * interval '5 minutes', 'judge', 'thanks', 'positive', 0.7,
         '{final_answer}', grown_id('answer', n), grown_id('message', n), now()
    from generate_series(_first, _last) n;
  insert into oxbow.feedback_subjects (user_id, signal_id, memory_type, memory_id)
  select m.user_id, grown_id('signal', m.seq::integer), m.memory_type, m.id
    from oxbow.memories m where m.user_id = 'grown' and m.seq between _first and _last and m.source is null;
  insert into oxbow.adjustments (user_id, id, at, kind, memory_type, memory_id, before, after, cause, signals, expires_at,
                                 undone_at, undone_by)
  select m.user_id, grown_id('adjustment', m.seq::integer), now() - m.seq * interval '5 minutes', 'memory_weight',
         m.memory_type, m.id, 1, 0.5, '2 signals against it', array[grown_id('signal', m.seq::integer)],
         now() + interval '1 year', case when m.seq % 4 = 0 then now() end, case when m.seq % 4 = 0 then 'person' end
    from oxbow.memories m
   where m.user_id = 'grown' and m.seq between _first and _last and m.seq % 2 = 0 and m.source is null;
  insert into oxbow.intentions (user_id, id, content, due_at, precision, remind_at, state, became_due_at, closed_at)
  select 'grown', grown_id('intention', n), 'Call Friend' || n, at, 'minute', at,
         case n % 10 when 0 then 'open' else 'done' end, case n % 10 when 0 then null else now() end,
         case n % 10 when 0 then null else now() end
    from generate_series(_first, _last) n,
         lateral (select now() + (case n % 10 when 0 then 1 else -1 end) * (n + 1000) * interval '1 hour') a(at);
  insert into oxbow.webhooks (url, secret, disabled_at)
  select 'https://example.com/' || n, '\x00', now() from generate_series(_first, _last) n;

  insert into oxbow.trait_clues (user_id, key, memory_type, memory_id, content, session_key, observed_at, created_at)
  select m.user_id, 'do:clue ' || m.seq / 10, m.memory_type, m.id, 'Often goes to place' || m.seq / 10, m.session_id,
         m.valid_at, m.created_at
    from oxbow.memories m where m.user_id = 'grown' and m.seq between _first and _last and m.source is null;
  insert into oxbow.night_questions (user_id, hash, asked_at)
  select 'grown', oxbow.trait_hash('do:clue ' || n / 10), now() from generate_series(_first, _last) n where n % 20 = 0;
  insert into oxbow.users (user_id, share_patterns)
  select 'stranger ' || n, true from generate_series(_first / 10, (_last - 1) / 10) n on conflict do nothing;
  insert into oxbow.nights (user_id, due_at)
  select 'stranger ' || n, 'infinity' from generate_series(_first / 10, (_last - 1) / 10) n on conflict do nothing;
  insert into oxbow.memories (user_id, memory_type, id, content, trait_key, trait_subtype, trait_stage, trait_confidence,
    trait_confidence_at, trait_context, trait_reinforcement_count, trait_contradiction_count)
  select 'stranger ' || n, 'trait', gen_random_uuid(), 'Is curious', 'openness', 'core', 'established', 0.7, now(), 'work',
         3, 0
    from generate_series(_first / 10, (_last - 1) / 10) n;
end $$;
