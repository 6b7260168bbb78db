-- The owner of the schema and the logins of the worker and the server, for a new database. A superuser runs it once in
-- that database, with psql; "oxbow migrate up" as the owner then creates the schema. compose.yaml runs it too.
\set ON_ERROR_STOP
\getenv owner OWNER_PASSWORD
\getenv worker WORKER_PASSWORD
\getenv server SERVER_PASSWORD
create role oxbow_app nologin;
create role oxbow_worker nologin;
create role oxbow_operator nologin;
create role oxbow login password :'owner';
create role worker login password :'worker' in role oxbow_worker;
create role server login password :'server' in role oxbow_app, oxbow_operator;
alter database :"DBNAME" owner to oxbow;
create extension vector;
create extension btree_gin;
