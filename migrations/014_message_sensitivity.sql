-- Messages have a level like memories: the text of a secret one is sealed by the client.
alter table oxbow.messages
  add column sensitivity smallint not null default 0,
  add column sealed      bytea,
  add column sealed_key  text,          -- the id of the key that opens it
  add constraint sensitivity_range check (sensitivity between 0 and 3
    or oxbow.reject('sensitivity', sensitivity::text, 'must be 0, 1, 2 or 3')) not valid,
  add constraint sensitivity_sealed check (sensitivity <> 3 or (sealed is not null and sealed_key is not null and content = '[sealed]')
    or oxbow.reject('sensitivity', sensitivity::text,
         'must be below 3 for plain text: what is secret is sealed by the client, so that the database never has it in clear')) not valid,
  add constraint sealed_plain check (sensitivity <> 3 or (speaker is null and metadata = '{}')
    or oxbow.reject('sensitivity', sensitivity::text, 'must be below 3 for a message with speaker or metadata, which are not sealed')) not valid,
  add constraint sealed_level check (sensitivity = 3 or (sealed is null and sealed_key is null)
    or oxbow.reject('sensitivity', sensitivity::text, 'must be 3 for what is sealed')) not valid;
alter table oxbow.messages validate constraint sensitivity_range;
alter table oxbow.messages validate constraint sensitivity_sealed;
alter table oxbow.messages validate constraint sealed_plain;
alter table oxbow.messages validate constraint sealed_level;
-- find what a rotation of the keys has to do, and what a check looks at
create index messages_secret_idx on oxbow.messages (user_id, id, sealed_key) where sensitivity = 3;
create index memories_secret_idx on oxbow.memories (user_id, memory_type, id, sealed_key) where sensitivity = 3;
drop index oxbow.memories_sealed_idx;

---- create above / drop below ----

drop trigger if exists pass_over_secret on oxbow.messages;
drop function if exists oxbow.pass_over_secret();
-- without its key a secret message says nothing
delete from oxbow.messages where sensitivity = 3;
create index memories_sealed_idx on oxbow.memories (sealed_key, user_id, memory_type, id) where sealed is not null;
drop index oxbow.memories_secret_idx, oxbow.messages_secret_idx;
alter table oxbow.messages drop column sensitivity, drop column sealed, drop column sealed_key;
