-- The parts of imports that arrive over HTTP. They wait here until the last one has come, so that no transaction is open
-- meanwhile; the import reads and deletes them. settle deletes what is left after an hour.
create table oxbow.import_parts (
  user_id   text not null,
  import_id uuid not null,
  part      integer not null, -- from 1
  content   bytea not null,   -- of the file, as it came
  stored_at timestamptz not null default now(),
  primary key (user_id, import_id, part),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint content_length check (octet_length(content) between 1 and 1048576
    or oxbow.reject('content', 'of ' || octet_length(content) || ' bytes', 'must have 1 byte to 1 MiB'))
);
create index import_parts_stored_at_idx on oxbow.import_parts (stored_at);

---- create above / drop below ----

drop table oxbow.import_parts;
