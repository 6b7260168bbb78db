-- write_extraction has got another parameter; sql/code makes it anew.
drop function if exists oxbow.write_extraction(text, text, text, uuid[], json, uuid[]);

---- create above / drop below ----

drop function if exists oxbow.write_extraction(text, text, text, uuid[], json, uuid[], boolean);
