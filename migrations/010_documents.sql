-- Documents: the files from which chunks were read.

create table oxbow.document_files (
  user_id      text not null,
  id           uuid not null default gen_random_uuid(),
  path         text not null,               -- as given, or a URL
  media_type   text not null,
  bytes        bigint not null,
  content_hash text not null,               -- SHA-256 of the file, in hexadecimal
  settings     jsonb not null default '{}', -- how it was read and split
  chunks       integer not null default 0,
  metadata     jsonb not null default '{}',
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint path_length check (octet_length(path) between 1 and 1024
    or oxbow.reject('path', path, 'must have 1 to 1024 bytes')),
  constraint metadata_object check (jsonb_typeof(metadata) = 'object'
    or oxbow.reject('metadata', metadata::text, 'must be a JSON object')),
  primary key (user_id, id),
  unique (user_id, path)
);

-- The memories that are the chunks of a file, in order.
create table oxbow.document_chunks (
  user_id     text not null,
  file_id     uuid not null,
  nth         integer not null,             -- from 1
  memory_type oxbow.memory_type not null default 'document' check (memory_type = 'document'),
  memory_id   uuid not null,
  primary key (user_id, file_id, nth),
  unique (user_id, memory_type, memory_id), -- a memory is a chunk of one file
  foreign key (user_id, file_id) references oxbow.document_files on delete cascade,
  -- references the partition, so that the check is a lookup in one index
  foreign key (user_id, memory_type, memory_id) references oxbow.memories_document (user_id, memory_type, id)
    on delete cascade
);

---- create above / drop below ----

drop table oxbow.document_chunks, oxbow.document_files cascade;
