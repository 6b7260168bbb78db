-- Jobs of a session are looked for by every extraction, also while many wait.
create index river_job_extract_idx on oxbow.river_job ((args ->> 'user_id'), (args ->> 'session_id'))
  where kind = 'extract' and state in ('available', 'scheduled', 'retryable', 'running');

-- What a fact tells of that people have one of at a time (home, job, …) is looked for by every extraction that tells of it too.
create index memories_fact_about_idx on oxbow.memories_fact (user_id) where expired_at is null and metadata ? 'about';

-- write_extraction has got another parameter; sql/code makes it anew.
drop function if exists oxbow.write_extraction(text, text, text, uuid[], json, uuid[]);

---- create above / drop below ----

drop index oxbow.memories_fact_about_idx;
drop index oxbow.river_job_extract_idx;
drop function if exists oxbow.write_extraction(text, text, text, uuid[], json, uuid[], boolean);
