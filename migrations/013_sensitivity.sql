-- How delicate a memory is (W): 0 not at all, 1 somewhat, 2 sensitive, 3 secret. The text of a secret one is not here: the client
-- seals it, and content only says so.
alter table oxbow.memories
  add column sensitivity smallint not null default 0,
  add column sealed      bytea,
  add column sealed_key  text,          -- the id of the key that opens it
  add constraint sensitivity_range check (sensitivity between 0 and 3
    or oxbow.reject('sensitivity', sensitivity::text, 'must be 0, 1, 2 or 3')) not valid,
  add constraint sensitivity_sealed check (sensitivity <> 3 or (sealed is not null and sealed_key is not null and content = '[sealed]')
    or oxbow.reject('sensitivity', sensitivity::text,
         'must be below 3 for plain text: what is secret is sealed by the client, so that the database never has it in clear')) not valid,
  add constraint sealed_plain check (sensitivity <> 3 or (speaker is null and metadata = '{}')
    or oxbow.reject('sensitivity', sensitivity::text, 'must be below 3 for a memory with speaker or metadata, which are not sealed')) not valid,
  add constraint sealed_level check (sensitivity = 3 or (sealed is null and sealed_key is null)
    or oxbow.reject('sensitivity', sensitivity::text, 'must be 3 for what is sealed')) not valid;
alter table oxbow.memories validate constraint sensitivity_range;
alter table oxbow.memories validate constraint sensitivity_sealed;
alter table oxbow.memories validate constraint sealed_plain;
alter table oxbow.memories validate constraint sealed_level;
-- finds what a rotation of the keys has to do
create index memories_sealed_idx on oxbow.memories (sealed_key, user_id, memory_type, id) where sealed is not null;

---- create above / drop below ----

-- without its key a secret memory says nothing
delete from oxbow.memories where sensitivity = 3;
drop index oxbow.memories_sealed_idx;
alter table oxbow.memories drop column sensitivity, drop column sealed, drop column sealed_key;
