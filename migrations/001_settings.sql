-- Settings, policies, and the functions that tables refer to. sql/code replaces the bodies of the functions
-- that check constraints call.

-- reject raises the error of a failed check.
create function oxbow.reject(field text, value text, rule text) returns boolean
language plpgsql immutable as $$ begin return false; end $$;

create function oxbow.is_timezone(name text) returns boolean
language plpgsql stable as $$ begin return false; end $$;

create function oxbow.valid_time(_field text, _at timestamptz) returns boolean
language plpgsql immutable as $$ begin return false; end $$;

-- A mention of a memory after its insertion. Whether it was frequent is decided when it is made.
create type oxbow.mention as (at timestamptz, frequent boolean);

create function oxbow.valid_memory(_user_id text, _content text, _valid_at timestamptz, _invalid_at timestamptz,
  _created_at timestamptz, _expired_at timestamptz, _updated_at timestamptz, _forgotten_at timestamptz,
  _forgotten_by text, _last_accessed_at timestamptz, _expires_at timestamptz, _activated_at timestamptz,
  _used_at timestamptz, _negated_at timestamptz, _session_id text, _speaker text, _external_id text, _source text,
  _importance double precision, _strength double precision, _tier text, _topic text, _metadata jsonb,
  _sensitivity smallint, _sealed bytea, _sealed_key text, _modality text, _reference text,
  _mention_count integer, _mentions oxbow.mention[],
  _level text) returns boolean
language plpgsql immutable as $$ begin return false; end $$;

create function oxbow.valid_message(_user_id text, _session_id text, _role text, _content text, _speaker text,
  _metadata jsonb, _created_at timestamptz, _sensitivity smallint, _sealed bytea, _sealed_key text) returns boolean
language plpgsql immutable as $$ begin return false; end $$;

-- content_hash returns a hash of a text, equal for texts that differ only in the case of the first letter,
-- in trailing spaces and full stops, in repeated spaces, or in full-width punctuation. Case elsewhere, ?, !
-- and … can change the meaning, so they count. A text longer than 4 kB is hashed unchanged. The function is
-- defined here and not in sql/code because stored columns hold its values, and in PL/pgSQL because a function
-- in SQL would be parsed and inlined at every INSERT.
create function oxbow.content_hash(content text) returns uuid
language plpgsql immutable parallel safe as $$
declare
  _spaced constant text := case when octet_length(content) = length(content) then content
                                else translate(content, '，；：（）！？　', ',;:()!? ') end;
begin
  if octet_length(content) > 4096 then
    return md5(content)::uuid;
  end if;
  return md5(upper(left(ltrim(content), 1) collate "C")
    || rtrim(substr(ltrim(replace(_spaced, '  ', ' ')), 2), E' \t\r\n.。｡'))::uuid;
end $$;

-- Settings of the database, such as the embedding model in use. No user data.
create table oxbow.settings (
  key        text primary key,
  value      jsonb not null,
  updated_at timestamptz not null default now(),
  constraint sensory_setting check (key <> 'sensory'
    or jsonb_typeof(value) = 'object'
      and not value @? '$.days ? ((@ >= 1 && @ <= 30 && @.floor() == @) is unknown '
          '|| !(@ >= 1 && @ <= 30 && @.floor() == @))'
      and not value @? '$.times ? ((@ >= 2 && @ <= 1000 && @.floor() == @) is unknown '
          '|| !(@ >= 2 && @ <= 1000 && @.floor() == @))'
    or oxbow.reject('sensory', value::text,
         'must be an object with days, 1 to 30, and times, 2 to 1000, both whole numbers')),
  constraint secrets_setting check (key <> 'secrets'
    or jsonb_typeof(value) = 'object' and coalesce(value ->> 'policy' in ('mark', 'refuse', 'store'), false)
      and value - 'policy' = '{}'
    or oxbow.reject('secrets', value::text, 'must be an object with policy, mark, refuse or store')),
  constraint conversations_setting check (key <> 'conversations'
    or jsonb_typeof(value) = 'object'
      and not value @? '$.keyvalue() ? (@.key like_regex "^(quiet_seconds|messages|summary_after|summary_days)$")'
          '.value ? ((@ >= 0 && @ <= 1000000000 && @.floor() == @) is unknown '
          '|| !(@ >= 0 && @ <= 1000000000 && @.floor() == @))'
    or oxbow.reject('conversations', value::text, 'must be an object in which quiet_seconds, messages, summary_after '
         'and summary_days are whole numbers from 0')),
  constraint conversations_ended_session check (key <> 'conversations'
    or coalesce(value ->> 'ended_session' in ('reopen', 'reject'), not value ? 'ended_session')
    or oxbow.reject('conversations.ended_session', value ->> 'ended_session', 'must be reopen or reject')),
  constraint conversations_policies check (key <> 'conversations'
    or not value ? 'policies'
    or jsonb_typeof(value -> 'policies') = 'object'
      and (value -> 'policies')
          - '{identity,stable_preference,short_preference,fact,skill,temporary}'::text[] = '{}'
      and not value @? '$.policies.* ? (!(@ like_regex "^(latest_wins|version_keep|weight_balance)$") '
          '|| (@ like_regex "^.") is unknown)'
    or oxbow.reject('conversations.policies', (value -> 'policies')::text,
         'must have latest_wins, version_keep or weight_balance for any of identity, stable_preference, '
         'short_preference, fact, skill and temporary')),
  constraint recall_setting check (key <> 'recall'
    or jsonb_typeof(value) = 'object'
      and value - '{text,vector,entity,nearest,unrelated,related}'::text[] = '{}'
      and not value @? '$.* ? ((@ >= 0 && @ <= 1000) is unknown || !(@ >= 0 && @ <= 1000))'
      and not value @? '$.nearest ? (@.floor() != @)'
      and (not value ?| '{unrelated,related}'
        or coalesce(value -> 'unrelated' < value -> 'related' and value -> 'related' <= '1', false))
    or oxbow.reject('recall', value::text, 'must be an object in which text, vector and entity are from 0 to 1000, '
         'nearest is a whole number from 0 to 1000, and unrelated is less than related, both from 0 to 1')),
  constraint switch_setting check (key not in ('reconcile', 'merge', 'patterns')
    or value in ('{"enabled": true}', '{"enabled": false}')
    or oxbow.reject(key, value::text, 'must be an object with enabled, true or false')),
  constraint vector_index_setting check (key <> 'vector_index'
    or jsonb_typeof(value) = 'object' and coalesce(value ->> 'policy' in ('auto', 'always', 'never'), false)
      and value - '{policy,from,most}'::text[] = '{}'
      and not value @? '$.from ? ((@ >= 100 && @ <= 1000000000 && @.floor() == @) is unknown '
          '|| !(@ >= 100 && @ <= 1000000000 && @.floor() == @))'
      and not value @? '$.most ? ((@ >= 1 && @ <= 16 && @.floor() == @) is unknown '
          '|| !(@ >= 1 && @ <= 16 && @.floor() == @))'
    or oxbow.reject('vector_index', value::text,
         'must be an object with policy, auto, always or never, '
         'and for auto from, 100 to 1,000,000,000 memories, and most, 1 to 16 users, both whole numbers'))
);
insert into oxbow.settings (key, value) values
  ('embedding',     '{"model": "local-v1", "dimension": 1024}'),
  ('conversations', '{"quiet_seconds": 10, "messages": 20, "ended_session": "reopen"}'), -- docs/conversations.md
  ('sensory',       '{"days": 3, "times": 3}'),
  ('vector_index',  '{"policy": "auto", "from": 50000, "most": 8}');

-- The policies: numbers such as decay rates, thresholds and boosts (docs/policies.md). The view oxbow.policies
-- shows the values in force. migrate recognizes this schema, as opposed to the earlier unreleased one, by
-- this table.
create table oxbow.policy_definitions (
  name      text primary key,
  "default" double precision not null,
  minimum   double precision not null,
  maximum   double precision not null,
  unit      text not null,
  source    text not null, -- of the default: a section of the design (C is the classification) or decisions (docs)
  meaning   text not null,
  check ("default" between minimum and maximum)
);
insert into oxbow.policy_definitions (name, "default", minimum, maximum, unit, source, meaning) values
  ('trait_decay_behavior', 0.005, 0.000001, 1, 'per day', 'C §4.2', 'decay rate of a behavior''s confidence'),
  ('trait_decay_preference', 0.002, 0.000001, 1, 'per day', 'C §4.2', 'decay rate of a preference''s confidence'),
  ('trait_decay_core', 0.001, 0.000001, 1, 'per day', 'C §4.2',
    'decay rate of the confidence of a trait of subtype core'),
  ('trait_spacing', 0.1, 0, 10, 'per cycle', 'C §4.2', 'slows the decay for each cycle that reinforced the trait'),
  ('trait_dissolve_below', 0.05, 0.001, 0.15, 'confidence', 'C §4.2', 'confidence below which a trait is dissolved'),
  ('trait_candidate_max', 0.3, 0.2, 0.45, 'confidence', 'C §4.1', 'maximum for stage candidate; above it, emerging'),
  ('trait_established_min', 0.6, 0.5, 0.75, 'confidence', 'C §4.1', 'minimum for stage established'),
  ('trait_core_above', 0.85, 0.8, 0.99, 'confidence', 'C §4.1', 'confidence above which a trait is in stage core'),
  ('trait_factor_a', 0.25, 0, 0.9, 'of the doubt', 'C §4.2', 'removed by evidence of quality A: a second context'),
  ('trait_factor_b', 0.2, 0, 0.9, 'of the doubt', 'C §4.2', 'removed by evidence of quality B: stated explicitly'),
  ('trait_factor_c', 0.15, 0, 0.9, 'of the doubt', 'C §4.2', 'removed by evidence of quality C: another session'),
  ('trait_factor_d', 0.05, 0, 0.9, 'of the doubt', 'C §4.2',
    'removed by evidence of quality D: the same session, or inferred'),
  ('trait_factor_used', 0.02, 0, 0.5, 'of the doubt', 'C §8.2', 'removed by a use in a reply'),
  ('trait_use_hours', 24, 1, 8760, 'hours', 'C §8.2', 'minimum time between two uses that count'),
  ('trait_contradiction', 0.2, 0, 0.9, 'of the confidence', 'C §4.2', 'removed by the first contradiction of a cycle'),
  ('trait_contradiction_step', 0.1, 0, 0.9, 'of the confidence', 'C §4.2',
    'removed by each further contradiction of a cycle'),
  ('trait_contradiction_max', 0.4, 0, 0.95, 'of the confidence', 'C §4.2', 'maximum removed by one cycle'),
  ('trait_review_share', 0.3, 0.01, 0.99, 'of the evidence', 'C §4.4',
    'share of contradictions above which a review is due'),
  ('trait_sessions_min', 2, 2, 100, 'sessions', 'design §5',
    'minimum number of sessions with evidence for an inference'),
  ('trait_memories_min', 3, 2, 1000, 'memories', 'C §3.3', 'number of memories that create a behavior directly'),
  ('trait_span_days', 14, 1, 3650, 'days', 'C §3.3', 'minimum span of fewer memories that create a candidate'),
  ('trait_window_days', 30, 1, 3650, 'days', 'C §4.1', 'observation window of a trend'),
  ('trait_window_mood_days', 14, 1, 3650, 'days', 'C §4.1', 'observation window of the trend of a mood'),
  ('trait_promoting_cycles', 2, 1, 100, 'cycles', 'C §3.3',
    'number of reinforcing cycles within its window that promote a trend'),
  ('trait_start_behavior', 0.4, 0.16, 0.99, 'confidence', 'C §4.1', 'initial confidence of a behavior'),
  ('trait_start_candidate', 0.2, 0.16, 0.99, 'confidence', 'C §4.1',
    'initial confidence of a candidate, and of a revived trait'),
  ('trait_start_trend', 0.3, 0.16, 0.99, 'confidence', 'C §4.1', 'initial confidence of a promoted trend'),
  ('trait_promote_preference', 0.5, 0.01, 0.99, 'confidence', 'C §3.3',
    'minimum for a behavior to become part of a preference'),
  ('trait_promote_core', 0.6, 0.01, 0.99, 'confidence', 'C §3.3',
    'minimum for a preference to become part of a core trait'),
  ('trait_span_bonus', 0.05, 0, 0.5, 'confidence', 'C §3.2', 'added if the parts of a trait span several contexts'),
  ('correction_confidence', 0.9, 0.16, 0.99, 'confidence', 'design §5',
    'of a trait that a person corrected without stating a confidence'),
  ('memory_strength_used', 0.3, 0, 10, 'strength', 'L', 'added by each reply that used a memory'),
  ('memory_strength_permanent', 2.5, 1, 100, 'strength', 'L', 'minimum strength of a memory that does not expire'),
  ('memory_strength_decay', 0.95, 0.01, 1, 'of the strength', 'L',
    'kept after each full memory_strength_days without use'),
  ('memory_strength_decay_summary', 0.8, 0.01, 1, 'of the strength', 'L', 'the same for summaries of conversations'),
  ('memory_strength_days', 7, 0.1, 3650, 'days', 'L', 'period without use after which the strength decays once'),
  ('memory_strength_exempt', 3, 1, 100, 'strength', 'L', 'minimum strength of a memory whose strength does not decay'),
  ('review_promote_strength', 2.5, 1, 100, 'strength', 'L', 'from which on a fact is reviewed for promotion'),
  ('review_keep_strength', 0.5, 0.01, 1, 'strength', 'L', 'down to which a fact falls until it is reviewed'),
  ('review_keep_days', 90, 1, 3650, 'days', 'design §11', 'until the next review; each further one takes twice as long'),
  ('reviews_per_run', 1000, 0, 1000000, 'facts', 'design §11', 'that sweep looks at for users with due reviews'),
  ('merge_repeats', 3, 2, 1000, 'episodes', 'W', 'number of like episodes that are merged'),
  ('merge_archive_days', 30, 0, 36500, 'days', 'design §11', 'after which the originals of a merged memory are archived'),
  ('merge_lasting', 10, 2, 1000, 'memories', 'W', 'number of like ones from which a taste is a lasting preference'),
  ('merge_identity', 0.6, 0, 1, 'cosine', 'W', 'similarity from which memories of the category are compared to be merged'),
  ('merge_stable_preference', 0.6, 0, 1, 'cosine', 'W', 'the same for the category stable_preference'),
  ('merge_short_preference', 0.6, 0, 1, 'cosine', 'W', 'the same for the category short_preference'),
  ('merge_fact', 0.6, 0, 1, 'cosine', 'W', 'the same for the category fact, and for unknown ones'),
  ('merge_skill', 0.6, 0, 1, 'cosine', 'W', 'the same for the category skill'),
  ('merge_temporary', 0.6, 0, 1, 'cosine', 'W', 'the same for the category temporary'),
  ('weight_decay', 0.01, 0, 10, 'per day', 'W',
    'rate of w_time, before the category and the user''s forgetting factor'),
  ('weight_identity', 1.5, 0.1, 10, 'of the weight', 'W', 'importance of the category identity'),
  ('weight_stable_preference', 1.3, 0.1, 10, 'of the weight', 'W', 'importance of the category stable_preference'),
  ('weight_short_preference', 0.9, 0.1, 10, 'of the weight', 'W', 'importance of the category short_preference'),
  ('weight_fact', 1.1, 0.1, 10, 'of the weight', 'W', 'importance of the category fact, and of unknown ones'),
  ('weight_skill', 1.2, 0.1, 10, 'of the weight', 'W', 'importance of the category skill'),
  ('weight_temporary', 0.8, 0.1, 10, 'of the weight', 'W', 'importance of the category temporary'),
  ('weight_mention', 0.5, 0, 10, 'of the weight', 'W', 'added by a mention at first (s_max)'),
  ('weight_mention_frequent', 0.3, 0, 10, 'of the weight', 'W', 'added by a frequent mention at first'),
  ('weight_mention_decay', 0.05, 0, 10, 'per day', 'W', 'rate at which what a mention added decays (λ_s)'),
  ('weight_conflict_min', 0.3, 0, 1, 'of the weight', 'W', 'kept by a memory that was just negated (c_min)'),
  ('weight_conflict_recovery', 0.01, 0, 10, 'per day', 'W', 'rate at which a negated memory recovers (λ_c)'),
  ('weight_conflict_fade', 0, 0, 1, 'share', 'W',
    'of the curve that W prints, which falls from 1 to weight_conflict_min, in the conflict factor'),
  ('weight_momentum', 0.3, 0, 10, 'of the weight', 'W', 'added at most by the number of recent mentions (m)'),
  ('weight_momentum_rate', 0.5, 0, 10, 'per mention', 'W', 'rate at which recent mentions approach that (λ_m)'),
  ('weight_momentum_frequent', 0.2, 0, 10, 'of the weight', 'W', 'added while a recent mention is a frequent one'),
  ('weight_recent_days', 3, 0.1, 365, 'days', 'W', 'during which a mention is recent'),
  ('weight_frequent_mentions', 3, 2, 100, 'mentions', 'W',
    'number within weight_frequent_hours from which a mention is frequent'),
  ('weight_frequent_hours', 24, 1, 720, 'hours', 'W', 'period in which frequent mentions are counted'),
  ('weight_strength', 0.3, 0, 1, 'of the weight', 'design §11',
    'gained by each 1 of strength; without any, 1 - this is left'),
  ('weight_strength_max', 3, 1, 100, 'strength', 'design §11', 'strength above which the weight gains no more'),
  ('weight_min', 0.01, 0, 1, 'weight', 'W', 'minimum that is shown'),
  ('weight_max', 2, 1, 100, 'weight', 'W', 'maximum that is shown'),
  ('weight_log_days', 90, 1, 3650, 'days', 'design §11', 'for which the log keeps a change of a weight'),
  ('api_log_days', 365, 1, 3650, 'days', 'design §12', 'for which the log keeps who read or changed what over HTTP'),
  ('related_links', 5, 0, 100, 'links', 'C §8.3', 'to related memories, of a memory when it is indexed'),
  ('related_shared', 20, 1, 500, 'memories', 'C §8.3', 'maximum that share a name or a subject which relates them'),
  ('level_summary_weight', 0.3, 0, 10, 'weight', 'W', 'below which a memory is kept as a summary'),
  ('level_summary_days', 90, 1, 36500, 'days', 'W', 'without activation, after which it is'),
  ('level_summary_tokens', 40, 8, 10000, 'tokens', 'W', 'that a summary has at most, unless one sentence is longer'),
  ('level_tag_weight', 0.15, 0, 10, 'weight', 'W', 'below which a memory is kept as a tag'),
  ('level_tag_days', 180, 1, 36500, 'days', 'W', 'without activation, after which it is'),
  ('level_trace_weight', 0.1, 0, 10, 'weight', 'W', 'below which a memory is kept as a trace'),
  ('level_trace_days', 365, 1, 36500, 'days', 'W', 'without activation, after which it is'),
  ('level_archive_weight', 0.05, 0, 10, 'weight', 'W', 'below which a memory is archived'),
  ('level_archive_days', 730, 1, 36500, 'days', 'W', 'without activation, after which it is'),
  ('archive_delete_days', 0, 0, 36500, 'days', 'W', 'after which an archived memory is forgotten; 0: never'),
  ('recall_normal_weight', 0.3, 0, 10, 'weight', 'W', 'minimum of what recall returns in the mode normal'),
  ('attach_words', 0.75, 0.3, 1, 'of the words', 'W',
    'minimum share of the words of a caption in the text that the image or recording is attached to'),
  ('recall_weight', 0.3, 0, 0.9, 'of the score', 'design §11', 'maximum that the weight of a memory adds or removes'),
  ('recall_weight_slope', 1, 0, 10, 'per unit of ln(weight)', 'design §11', 'how fast it approaches that (γ)'),
  ('recall_image', 1, 0.5, 2, 'times the score', 'W', 'of an image'),
  ('recall_audio', 1, 0.5, 2, 'times the score', 'W', 'of a recording'),
  ('recall_video', 1, 0.5, 2, 'times the score', 'W', 'of a video'),
  ('recall_code', 1, 0.5, 2, 'times the score', 'W', 'of code'),
  ('recall_file', 1, 0.5, 2, 'times the score', 'W', 'of a file'),
  ('recall_variety', 50, 0, 1000, 'results', 'design §11',
    'the best ones, among which a repetition of a better one comes after all others; 0: none'),
  ('recall_recency', 0.15, 0, 10, 'of the score', 'S §6.1', 'maximum added for recency'),
  ('recall_recency_days', 30, 1, 3650, 'days', 'S §6.1', 'age at which 1/e of the recency boost remains'),
  ('recall_arousal', 0.5, 0, 10, 'of recall_recency_days', 'S §6.1',
    'added to the period for the highest emotional arousal'),
  ('recall_importance', 0.15, 0, 10, 'of the score', 'S §6.1', 'added for an importance of 1'),
  ('recall_speaker', 0.5, 0, 10, 'of the score', 'decisions', 'added if the question names who said it'),
  ('recall_emerging', 0.05, 0, 10, 'of the score', 'C §4.1', 'added to the score of an emerging trait'),
  ('recall_established', 0.15, 0, 10, 'of the score', 'C §4.1', 'added to the score of an established trait'),
  ('recall_core', 0.25, 0, 10, 'of the score', 'C §4.1', 'added to the score of a core trait'),
  ('reflection_importance', 30, 1, 10000, 'importance × 10', 'design §4',
    'sum in an inbox that makes a reflection due'),
  ('reflection_hours', 24, 0.1, 8760, 'hours', 'design §4',
    'time since the last reflection after which the next is due'),
  ('reflection_idle_minutes', 30, 1, 10080, 'minutes', 'design §4',
    'time without a message after which a session counts as ended'),
  ('answer_days', 90, 1, 3650, 'days', 'U §10', 'for which it is kept what replies recalled and used'),
  ('feedback_window_days', 7, 0.1, 365, 'days', 'U §5', 'within which signals about a memory add up'),
  ('feedback_confidence', 0.6, 0, 1, 'confidence', 'U §5', 'minimum of a signal that counts'),
  ('feedback_agreeing', 2, 1, 100, 'signals', 'U §6', 'number of signals of one direction that adjust a memory'),
  ('feedback_certain', 0.95, 0.5, 1, 'confidence', 'U §6', 'of a single signal that adjusts a memory by itself'),
  ('feedback_penalty', 0.5, 0.05, 1, 'of the strength', 'U §6', 'kept of a memory''s strength after a penalty'),
  ('feedback_reward', 1.3, 1, 3, 'times the strength', 'U §6', 'of a memory that helped repeatedly'),
  ('feedback_adjustment_days', 90, 1, 3650, 'days', 'U §6', 'after which an adjustment is undone by itself'),
  ('feedback_suppress_days', 30, 0.1, 3650, 'days', 'U §6', 'for which a wrong memory is left out for similar questions'),
  ('feedback_similar', 0.5, 0.1, 1, 'of the words', 'U §6',
    'common to two questions (Jaccard index, rare words count more) from which they are similar'),
  ('feedback_trait', 0.2, 0, 0.9, 'of the confidence', 'U §6', 'removed from a trait by agreeing signals against it'),
  ('feedback_skill', 0.25, 0, 0.9, 'reliability', 'U §6', 'of a version of a skill, below which signals against it retire it'),
  ('feedback_people', 20, 1, 500, 'people', 'U §10', 'who make the same complaint before another value of a policy is proposed'),
  ('context_instructions', 0.5, 0.05, 1, 'of the block', 'C §8.3', 'that standing instructions take at most'),
  ('instructions_max', 50, 1, 1000, 'instructions', 'C §8.3',
    'a user may have at once; a further one ends the oldest of the lowest priority'),
  ('abstract_fragments', 4, 2, 1000, 'memories', 'U §3', 'of one topic from which a conclusion is drawn'),
  ('abstract_sessions', 2, 1, 100, 'conversations', 'U §3', 'minimum that the sources of a conclusion are from'),
  ('abstract_more', 2, 1, 1000, 'memories', 'U §3', 'new ones of a topic after which its conclusion is drawn again'),
  ('abstract_similarity', 0.3, 0, 1, 'cosine similarity', 'U §3',
    'from which two memories about one person, thing or subject are near in meaning'),
  ('abstract_condition', 0.7, 0.5, 1, 'of the sources', 'U §2', 'that share a condition of a conclusion'),
  ('abstract_gain', 0.2, 0.01, 0.9, 'of the doubt', 'U §2', 'removed from a conclusion by each conversation'),
  ('abstract_voice_gain', 0.1, 0, 0.9, 'of the doubt', 'U §2', 'removed by each further source that says the same'),
  ('remind_hour', 9, 0, 23, 'o''clock', 'C §8.3', 'of the user''s day, when what has no time of day becomes due'),
  ('context_due_hours', 24, 0, 8760, 'hours', 'C §8.3', 'ahead, for which the prompt block shows what comes up'),
  ('context_due', 0.2, 0.02, 1, 'of the block', 'C §8.3', 'that due and coming intentions take at most'),
  ('emotion_days', 90, 1, 3650, 'days', 'S §7.2', 'after which an emotion counts 1/e in the baseline'),
  ('emotion_mood_days', 7, 0.1, 365, 'days', 'S §7.2', 'the same for the current mood'),
  ('emotion_shift', 0.2, 0.01, 2, 'valence', 'S §7.2', 'minimum difference from the baseline of a trigger'),
  ('emotion_times', 3, 2, 100, 'memories', 'S §7.2', 'minimum number of a trigger, and two thirds of it of what calms'),
  ('molt_mode', 0, 0, 2, 'mode', 'U §10', 'of the job molt; 0: off, 1: it suggests changes of policies, 2: it adopts them'),
  ('molt_answers', 40, 8, 500, 'answers', 'U §10', 'minimum on which a change is tried, and after which it is judged'),
  ('molt_sample', 100, 8, 500, 'answers', 'U §10', 'the latest ones that a run replays'),
  ('molt_gain', 0.02, 0.001, 0.5, 'of the metric', 'U §10', 'minimum that a change must gain to be adopted'),
  ('molt_rest_days', 7, 0, 365, 'days', 'U §10', 'for which a change that was rejected or rolled back is not tried again'),
  ('molt_rank', 0.8, 0, 1, 'reciprocal rank', 'U §10', 'mean of the first used memory, below which recall is poor'),
  ('molt_share', 0.3, 0, 1, 'of the recalled', 'U §10', 'share that replies use, below which too much is recalled'),
  ('molt_faded', 0.1, 0, 1, 'of the used', 'U §10', 'share that are compressed, above which memories fade too early'),
  ('molt_conflicts', 0.1, 0, 1, 'of the recalled', 'U §10', 'share that are negated or contradicted, above which it is much'),
  ('recall_threshold', 0, 0, 0.95, 'of the best score', 'U §10', 'minimum of a result of recall; 0: none'),
  ('weight_decay_used', 0, 0, 10, 'per strength', 'U §9', 'slows weight_decay for each unit of strength above 1, which use adds'),
  ('weight_decay_conclusion', 1, 0, 10, 'of weight_decay', 'U §9', 'the rate for conclusions, which are long-term memory'),
  ('pattern_users_min', 20, 5, 1000000, 'users', 'C §8.3', 'that share a pattern before it is published'),
  ('pattern_epsilon', 1, 0.01, 10, 'ε', 'C §8.3', 'of differential privacy that one release of patterns spends'),
  ('pattern_budget', 6, 0, 1000, 'ε', 'C §8.3', 'that all releases within pattern_budget_days may spend; 0: no release'),
  ('pattern_budget_days', 365, 1, 36500, 'days', 'C §8.3', 'for which a release counts against pattern_budget'),
  ('pattern_days', 61, 1, 3650, 'days', 'C §8.3', 'between two releases of patterns'),
  ('pattern_per_user', 3, 1, 100, 'patterns', 'C §8.3', 'of one user that a release counts at most, the surest ones'),
  ('quiet_from', 1, 0, 23, 'o''clock', 'C §8.3', 'of the user''s day, from which deep reflection may run'),
  ('quiet_to', 6, 0, 23, 'o''clock', 'C §8.3', 'until which it may'),
  ('sleep_questions', 10, 0, 1000, 'questions', 'C §8.3', 'that deep reflection asks about a user in a night; 0: none'),
  ('sleep_recall', 20, 1, 100, 'memories', 'C §8.3', 'that it recalls for a question'),
  ('sleep_memories', 200, 1, 100000, 'memories', 'C §8.3', 'that it recalls for a user in a night'),
  ('sleep_tokens', 50000, 0, 100000000, 'tokens', 'C §8.3', 'of a language model that it uses for a user in a night'),
  ('predict_days', 180, 14, 730, 'days', 'C §8.3', 'before a prediction that it takes into account'),
  ('predict_half_life', 60, 1, 3650, 'days', 'C §8.3', 'after which a day counts half in a prediction'),
  ('predict_least', 3, 2, 100, 'days', 'C §8.3', 'on which something must have happened to be predicted'),
  ('predict_prior', 4, 0.1, 1000, 'days', 'C §8.3', 'of evidence that a rate must have to count as much as the base rate'),
  ('predict_lift_prior', 20, 0.1, 1000, 'days', 'C §8.3',
    'of evidence that a day of the week or an interval must have to count as much as the rate'),
  ('predict_lift', 0.6, 0, 1, 'of the log odds', 'C §8.3', 'that the day of the week and the interval change the base rate by'),
  ('related_gain', 0.2, 0, 1, 'of the distance to 1', 'S §4.1', 'by which a reply that uses two related memories raises their weight'),
  ('related_days', 30, 0.1, 3650, 'days', 'S §4.1', 'after which joint uses of two related memories count half');

-- Changes made by set_policy. Append-only, because past states are computed with the values in force at the
-- time.
create table oxbow.policy_changes (
  name       text not null references oxbow.policy_definitions,
  valid_from timestamptz not null,
  value      double precision not null,
  actor      text not null default session_user,
  primary key (name, valid_from)
);

-- The policies that govern how time changes traits, one row per change. A trigger derives them from
-- policy_changes, because a statement over many traits needs all of them together.
create table oxbow.trait_rules (
  valid_from       timestamptz primary key,
  decay_behavior   double precision not null, -- per day
  decay_preference double precision not null,
  decay_core       double precision not null,
  spacing          double precision not null,
  dissolve_below   double precision not null,
  candidate_max    double precision not null,
  established_min  double precision not null,
  core_above       double precision not null
);

-- The policies that a recall reads at once, in force from valid_from on.
create table oxbow.recall_rules (
  valid_from                    timestamptz primary key,
  recall_recency                double precision not null,
  recall_recency_days           double precision not null,
  recall_arousal                double precision not null,
  recall_importance             double precision not null,
  recall_speaker                double precision not null,
  recall_emerging               double precision not null,
  recall_established            double precision not null,
  recall_core                   double precision not null,
  recall_image                  double precision not null,
  recall_audio                  double precision not null,
  recall_video                  double precision not null,
  recall_code                   double precision not null,
  recall_file                   double precision not null,
  recall_weight                 double precision not null,
  recall_weight_slope           double precision not null,
  recall_variety                double precision not null,
  recall_normal_weight          double precision not null,
  review_promote_strength       double precision not null,
  review_keep_strength          double precision not null,
  memory_strength_used          double precision not null,
  memory_strength_decay         double precision not null,
  memory_strength_decay_summary double precision not null,
  memory_strength_days          double precision not null,
  memory_strength_exempt        double precision not null,
  weight_decay                  double precision not null,
  weight_identity               double precision not null,
  weight_stable_preference      double precision not null,
  weight_short_preference       double precision not null,
  weight_fact                   double precision not null,
  weight_skill                  double precision not null,
  weight_temporary              double precision not null,
  weight_mention                double precision not null,
  weight_mention_frequent       double precision not null,
  weight_mention_decay          double precision not null,
  weight_conflict_min           double precision not null,
  weight_conflict_recovery      double precision not null,
  weight_conflict_fade          double precision not null,
  weight_momentum               double precision not null,
  weight_momentum_rate          double precision not null,
  weight_momentum_frequent      double precision not null,
  weight_recent_days            double precision not null,
  weight_frequent_mentions      double precision not null,
  weight_frequent_hours         double precision not null,
  weight_strength               double precision not null,
  weight_strength_max           double precision not null,
  weight_min                    double precision not null,
  weight_max                    double precision not null,
  level_summary_weight          double precision not null,
  level_summary_days            double precision not null,
  level_tag_weight              double precision not null,
  level_tag_days                double precision not null,
  level_trace_weight            double precision not null,
  level_trace_days              double precision not null,
  level_archive_weight          double precision not null,
  level_archive_days            double precision not null
);

---- create above / drop below ----

drop table oxbow.recall_rules, oxbow.trait_rules, oxbow.policy_changes, oxbow.policy_definitions cascade;
drop table oxbow.settings;
drop function oxbow.content_hash, oxbow.valid_message, oxbow.valid_memory, oxbow.valid_time, oxbow.is_timezone, oxbow.reject;
drop type oxbow.mention;
