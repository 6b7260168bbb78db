-- Fills the table of version 1 from the texts: facts, episodes, a twentieth documents and insights, and a hundredth
-- traits with evidence. One row in 33 was superseded.
insert into embeddings (id, user_id, content, memory_type, metadata, valid_from, superseded_by, version, access_count,
  created_at)
select md5('v1 ' || n)::uuid, 'user ' || n % 200, content,
       case when n % 100 = 1 then 'trait' when n % 20 = 18 then 'document' when n % 20 = 19 then 'insight'
            else (array['general', 'fact', 'episodic'])[1 + n % 3] end,
       case when n % 100 = 1 then jsonb_build_object(
              'trait_stage', 'established', 'trait_subtype', 'behavior', 'confidence', 0.7, 'reinforcement_count', 3,
              'evidence', jsonb_build_object('supporting', jsonb_build_array(
                jsonb_build_object('id', md5('v1 ' || n - 400)::uuid, 'quality', 'C'))))
            else jsonb_build_object('importance', 1 + n % 10, 'source', 'conversation',
                                    'session_id', 'chat-' || n / 20) end,
       '2024-01-01'::timestamptz + n * interval '20 seconds',
       case when n % 33 = 5 then md5('v1 ' || n + 200)::uuid end, 1, n % 4,
       '2024-01-01'::timestamptz + n * interval '20 seconds'
  from text
 order by n
