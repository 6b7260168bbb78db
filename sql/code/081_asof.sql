-- facts_as_of returns the facts that were true of a user at the moment valid, as believed at the moment
-- believed, earliest first. invalid_at is the end as known then. Forgotten and secret facts are left out at all times.
create or replace function oxbow.facts_as_of(user_id text, valid timestamptz default now(),
  believed timestamptz default now())
returns table (id uuid, content text, category text, valid_at timestamptz, invalid_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(facts_as_of.user_id);
  return query
  select m.id, m.content, m.category, coalesce(m.valid_at, m.created_at),
         oxbow.end_believed(m.expired_at, m.invalid_at, m.former_ends, facts_as_of.believed)
    from oxbow.memories_fact m
   where m.user_id = facts_as_of.user_id and m.forgotten_at is null and m.sensitivity < 2
     and oxbow.holds(m.created_at, m.expired_at, m.valid_at, m.invalid_at, facts_as_of.valid, facts_as_of.believed,
           now(), m.former_ends, m.expires_at)
   order by coalesce(m.valid_at, m.created_at), m.id;
end $$;
call oxbow.grant_app('facts_as_of');
