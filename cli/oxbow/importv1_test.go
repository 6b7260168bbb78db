package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/importv1"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// v1Table creates the table of version 1.
const v1Table = `
	create table public.embeddings (
	  id               uuid primary key default gen_random_uuid(),
	  user_id          varchar(1000),
	  content          text,
	  embedding        vector,
	  memory_type      varchar(50),
	  metadata         jsonb,
	  valid_from       timestamptz,
	  valid_until      timestamptz,
	  superseded_by    uuid,
	  version          integer default 1,
	  access_count     integer default 0,
	  last_accessed_at timestamp,
	  created_at       timestamptz default now(),
	  extracted_from   text
	)`

// v1id returns an id that is easy to recognise: v1id(7) ends in 7.
func v1id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// v1Sample fills the table with a small example: facts and their versions, episodes, a document,
// and traits with evidence.
func v1Sample(d on) {
	d.exec(v1Table)
	for i, row := range []struct{ kind, content, metadata, more string }{
		1: {"fact", "Ada lives in Lisbon",
			`{"importance": 8, "emotion": {"arousal": 0.4}, "category": "home", "session_id": "chat-1", "tags": ["x"]}`,
			`superseded_by = '` + v1id(2) + `', valid_from = '2023-01-01', created_at = '2023-01-02'`},
		2: {"general", "Ada lives in Porto", `{"importance": 5}`,
			`valid_from = '2024-05-01', created_at = '2024-05-02', access_count = 3, last_accessed_at = '2024-06-01 10:00'`},
		3: {"episodic", "Ada ran by the river at night", `{"session_id": "chat-2", "context": "personal"}`,
			`created_at = '2024-03-01'`},
		4: {"Episodic", "Ada ran again after midnight", `{"source_episode_ids": ["chat-3", "chat-4"]}`,
			`valid_from = '2024-03-09 00:30+00', created_at = '2024-03-09'`},
		5: {"document", "Chapter one", `{"file_name": "book.md", "chunk_index": 0}`, ``},
		6: {"insight", "Ada thinks of a new job", `{"evidence": [{"id": "` + v1id(3) + `"}]}`, ``},
		7: {"trait", "Ada is active late at night", `{"trait_subtype": "behavior", "trait_stage": "emerging", ` +
			`"confidence": 0.5, "context": "personal", "reinforcement_count": 2, "contradiction_count": 0, "first_observed": ` +
			`"2024-03-01", "last_reinforced": "2024-03-09", "derived_from": "reflection", "note": "kept",
		      "evidence": {"supporting": [{"id": "` + v1id(3) + `", "quality": "C"}, {"id": "` + v1id(4) +
			`", "quality": ` +
			`"B"}, {"id": "` + v1id(999) + `", "quality": "A"}], "contradicting": [{"id": "` + v1id(2) +
			`", "quality": ` +
			`"D"}], "parent_trait": "` + v1id(8) + `"}}`, `created_at = '2024-03-10'`},
		8: {"trait", "Ada prefers the night",
			`{"trait_subtype": "preference", "trait_stage": "established", "confidence": 0.7, "last_reinforced": ` +
				`"2024-02-31", "evidence": {"child_traits": ["` + v1id(7) + `"]}}`, `created_at = '2024-03-11'`},
		9: {"trait", "Ada used to paint",
			`{"importance": 1e999, "reinforcement_count": -1e999, "confidence": "high", "trait_stage": "dissolved", ` +
				`"trait_subtype": "core"}`, ``},
		10: {"fact", "Ada had a dog", `{}`, `superseded_by = '` + v1id(777) + `', valid_until = '2020-01-01'`},
	} {
		if row.kind == "" {
			continue
		}
		d.exec(`insert into embeddings (id, user_id, content, memory_type, metadata) values ($1, 'ada', $2, $3, $4)`,
			v1id(i), row.content, row.kind, row.metadata)
		if row.more != "" {
			d.exec(`update embeddings set `+row.more+` where id = $1`, v1id(i))
		}
	}
}

// v1Bad adds rows that Oxbow rejects.
func v1Bad(d on) {
	// Only json stores values that jsonb rejects.
	d.exec(`alter table embeddings alter metadata type json;
		insert into embeddings (id, user_id, content, memory_type, metadata, valid_from, valid_until, created_at) values
		('` + v1id(101) + `', null, 'x', 'fact', '{}', null, null, now()),
		('` + v1id(102) + `', repeat('u', 256), 'x', 'fact', '{}', null, null, now()),
		('` + v1id(103) + `', 'ada', E' \n\t', 'fact', '{}', null, null, now()),
		('` + v1id(104) + `', 'ada', repeat('é', 524289), 'fact', '{}', null, null, now()),
		('` + v1id(105) + `', 'ada', 'x', 'preference', '{}', null, null, now()),
		('` + v1id(106) + `', 'ada', 'x', null, '{}', null, null, now()),
		('` + v1id(107) + `', 'ada', 'x', 'fact', '{}', 'infinity', null, now()),
		('` + v1id(108) + `', 'ada', 'x', 'fact', '{}', '2024-01-02', '2024-01-01', now()),
		('` + v1id(109) + `', 'ada', 'x', 'fact', '{"a": "\u0000"}', null, null, now()),
		('` + v1id(110) + `', 'ada', 'x', 'fact', '{}', null, null, '-infinity'),
		('` + v1id(111) + `', 'ada', null, 'episodic', '{}', null, null, now())`)
}

// v1Imported returns everything that an import stores, except for generated values.
func (d on) v1Imported() string {
	d.t.Helper()
	return d.text(`
		select string_agg(line::text, E'\n' order by line::text) from (
		  select to_jsonb(m) - 'trait_window_end' - 'trait_next_transition_at' - 'created_at' - 'seq' - 'trait_confidence_at'
		  	- 'expired_at' - 'stored_at' - 'trait_window_start' from oxbow.memories m
		  union all select to_jsonb(e) - 'created_at' from oxbow.trait_evidence e
		  union all select to_jsonb(e) - 'created_at' - 'window_end' - 'at' from oxbow.trait_events e
		  union all select to_jsonb(h) - 'created_at' - 'new_metadata' - 'old_metadata' from oxbow.memory_history h
		  union all select to_jsonb(l) - 'created_at' from oxbow.memory_links l
		  union all select to_jsonb(s) - 'created_at' from oxbow.memory_sources s) l(line)`)
}

func TestImportV1(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	v1Sample(d)
	d.exec(`select oxbow.set_policy('trait_window_days', 40)`)
	report := decoded[importv1.Report](t, d.ok("import-v1", "--json"))
	require.Equal(t, importv1.Type{Rows: 10, New: 10}, report.Sum())
	require.Equal(t, "done", report.Stage)
	require.Equal(t, map[string]int64{"superseded_by": 1, "evidence": 1}, report.Orphans)
	require.Equal(t, []string{"extracted_from"}, report.Unread)
	require.InDelta(t, 10, report.ImportanceScale, 0)

	of := func(n int, columns string) string {
		return d.text(`select row(`+columns+`)::text from oxbow.memories where user_id = 'ada' and id = $1`, v1id(n))
	}
	require.Equal(t,
		`(fact,"Ada lives in Lisbon",0.8,home,chat-1,"{""tags"": [""x""], ""emotion"": {""arousal"": 0.4}}")`,
		of(1, "memory_type, content, importance, category, session_id, metadata"))
	require.Equal(t, `("2023-01-01 00:00:00+00","2024-05-01 00:00:00+00","2023-01-02 00:00:00+00","2024-05-02 `+
		`00:00:00+00",`+v1id(2)+`)`,
		of(1, "valid_at, invalid_at, created_at, expired_at, superseded_by"),
		"true until the next was, believed until that came")
	require.Equal(t, `(fact,0.5,3,"2024-06-01 10:00:00+00",{})`, of(2,
		"memory_type, importance, access_count, last_accessed_at, metadata"))
	require.Equal(t, `(episodic,"2024-03-09 00:30:00+00",`+fmt.Sprint(time.Date(2024, 3, 9, 0, 0, 0, 0,
		time.UTC).UnixMicro())+`)`, of(4, "memory_type, valid_at, seq"))
	require.Equal(t, `(document,"{""file_name"": ""book.md"", ""chunk_index"": 0}")`, of(5, "memory_type, metadata"))
	require.Equal(t, `(trait,trend,behavior,t)`,
		of(6, "memory_type, trait_stage, trait_subtype, trait_window_end > now() + interval '39 days'"))
	require.Equal(t, `(emerging,behavior,0.5,personal,2,1,"2024-03-01 00:00:00+00","2024-03-09 `+
		`00:00:00+00",reflection,`+v1id(8)+`,"{""note"": ""kept""}")`,
		of(7, "trait_stage, trait_subtype, trait_confidence, trait_context, trait_reinforcement_count, "+
			"trait_contradiction_count, trait_first_observed, trait_last_reinforced, trait_derived_from, trait_parent_id, "+
			"metadata"))
	require.Equal(t, `(established,preference,)`, of(8, "trait_stage, trait_subtype, trait_last_reinforced"),
		"there is no 31 February")
	require.Equal(t, `(dissolved,core,0.5,0,t)`,
		of(9, "trait_stage, trait_subtype, importance, trait_reinforcement_count, metadata ? 'importance'"),
		"what is no measure stays in the metadata")
	require.Equal(t, `("2020-01-01 00:00:00+00",,t)`, of(10, "invalid_at, superseded_by, expired_at is not null"))

	require.Equal(t, `["C", "B", "D"]`,
		d.text(`select jsonb_agg(quality order by direction desc, memory_id)::text from oxbow.trait_evidence
			where trait_id = $1`, v1id(7)))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.trait_evidence where trait_id = $1 and memory_id = $2
		and session_key = 'chat-2' and context = 'personal' and not stated`, v1id(7), v1id(3)))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.trait_evidence where trait_id = $1 and memory_id = $2
		and session_key = 'day 2024-03-09' and stated`, v1id(7), v1id(4)))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.trait_evidence where trait_id = $1`, v1id(6)))
	require.Equal(t, 2, d.number(`select count(*) from oxbow.memory_sources where memory_id = $1`, v1id(4)))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memory_links where from_id = $1 and to_id = $2
		and relation = 'supersedes'`, v1id(2), v1id(1)))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memory_history where memory_id = $1 and event = 'SUPERSEDE'
		and actor = 'import'`, v1id(1)))
	require.Contains(t, d.ok("check"), "no problems")

	before := d.v1Imported()
	require.Contains(t, d.ok("import-v1"), "Nothing to do: public.embeddings was imported on")
	d.exec(`insert into embeddings (user_id, content, memory_type) values ('ada', 'Ada has a cat', 'fact')`)
	again := decoded[importv1.Report](t, d.ok("import-v1", "--again", "--json"))
	require.Equal(t, importv1.Type{Rows: 11, New: 1, Existing: 10}, again.Sum())
	dry := decoded[importv1.Report](t, d.ok("import-v1", "--dry-run", "--json"))
	require.Equal(t, importv1.Type{Rows: 11, Existing: 11}, dry.Sum())
	d.exec(`delete from oxbow.memories where content = 'Ada has a cat'`)
	require.Equal(t, before, d.v1Imported(), "nothing twice, and nothing changed")

	d.exec(`update embeddings set content = 'x'`)
	d.work()
	require.Equal(t, "Ada lives in Porto", contents(d.recall("ada", "where does Ada live", "-n", "1"))[0])
	require.Contains(t, d.ok("check"), "no problems")
}

func TestImportV1RejectsRows(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	v1Sample(d)
	v1Bad(d)
	empty := d.rows()
	r := d.run("import-v1", "--dry-run")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "set it with --importance-scale 1 or 10")
	dry := d.ok("import-v1", "--dry-run", "--importance-scale", "10")
	require.Equal(t, empty, d.rows(), "nothing is written")
	require.Zero(t, d.number(`select count(*) from oxbow.settings where key = 'import_v1'`))
	for _, says := range []string{"would import", "nothing was written.", "1 row rejected: PostgreSQL rejects it",
		"2 rows rejected: unknown memory_type", "2 rows rejected: a time is outside the years 1 to 9999",
		"2 rows rejected: content is blank", "1 row rejected: content is longer than 1 MiB",
		"1 row rejected: invalid_at precedes valid_at", "1 row rejected: user_id is null",
		"1 row rejected: user_id must have 1 to 255 bytes", v1id(105) + "  unknown memory_type", "preference"} {
		require.Contains(t, dry, says)
	}

	moved := d.ok("import-v1", "--importance-scale", "10")
	require.Contains(t, moved, "1 row rejected: PostgreSQL rejects it")
	require.Contains(t, moved, v1id(109))
	require.Equal(t, 10, d.number(`select count(*) from oxbow.memories`))
	report := decoded[importv1.Report](t, d.ok("import-v1", "--json"))
	require.True(t, report.Already)
	require.Equal(t, importv1.Type{Rows: 21, New: 10, Rejected: 11}, report.Sum())
	require.Len(t, report.Rejections, 11)

	mapped := decoded[importv1.Report](t, d.ok("import-v1", "--again", "--map", "preference=fact", "--importance-scale",
		"10", "--json"))
	require.Equal(t, importv1.Type{Rows: 21, New: 1, Existing: 10, Rejected: 10}, mapped.Sum())
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where memory_type = 'fact' and id = $1`,
		v1id(105)))
}

func TestImportV1FromAnotherDatabase(t *testing.T) {
	t.Parallel()
	here, there, same := onDatabase(t), on{t, pgtest.Empty(t)}, onDatabase(t)
	there.exec(`create extension vector`)
	v1Sample(there)
	v1Bad(there)
	v1Sample(same)
	v1Bad(same)
	same.ok("import-v1", "--importance-scale", "10")
	report := decoded[importv1.Report](t, here.ok("import-v1", "--from", there.dsn, "--importance-scale", "10",
		"--batch", "4", "--json"))
	require.Equal(t, importv1.Type{Rows: 21, New: 10, Rejected: 11}, report.Sum())
	require.NotContains(t, report.Source, "postgres://", "no address with a password")
	require.Contains(t, report.Source, "public.embeddings")
	require.Equal(t, same.v1Imported(), here.v1Imported())
	require.Contains(t, here.ok("check"), "no problems")
	require.Zero(t, there.number(`select count(*) from pg_namespace where nspname = 'oxbow'`))
}

func TestImportV1KeepsVectors(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	v1Sample(d)
	r := d.run("import-v1", "--keep-vectors")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "a built-in model")

	d.exec(`update oxbow.settings set value = '{"model": "openai:some", "dimension": 1024}' where key = 'embedding'`)
	d.exec(`update embeddings set embedding = array_fill(0.5::real, array[1024])::vector where id in ($1, $2)`, v1id(1),
		v1id(2))
	d.exec(`update embeddings set embedding = array_fill(0::real, array[1024])::vector where id = $1`, v1id(3))
	d.exec(`update embeddings set embedding = array_fill(70000::real, array[1024])::vector where id = $1`, v1id(4))
	d.exec(`update embeddings set embedding = '[1,2,3]' where id = $1`, v1id(5))
	report := decoded[importv1.Report](t, d.ok("import-v1", "--keep-vectors", "--json"))
	require.EqualValues(t, 2, report.Vectors)
	require.EqualValues(t, 3, report.VectorsLeft)
	require.Equal(t, importv1.Type{Rows: 10, New: 10}, report.Sum())
	require.Equal(t, 2, d.number(`select count(*) from oxbow.memory_vectors`))

	floats := onDatabase(t)
	v1Sample(floats)
	floats.exec(`update oxbow.settings set value = '{"model": "openai:some", "dimension": 1024}'
		where key = 'embedding';
		alter table embeddings drop column embedding; alter table embeddings add column embedding double precision[];
		update embeddings set embedding = array_fill(0.5::float8, array[1024]);
		update embeddings set embedding[7] = 'NaN' where memory_type = 'document'`)
	report = decoded[importv1.Report](t, floats.ok("import-v1", "--keep-vectors", "--json"))
	require.EqualValues(t, 9, report.Vectors)
	require.EqualValues(t, 1, report.VectorsLeft)
}

func TestImportV1SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`create table half (id uuid primary key, user_id text); create table other (id bigint primary key);
		create table loose (id uuid, user_id text, content text, memory_type text);
		create table late (id uuid primary key, user_id text, content text, memory_type text, valid_from text)`)
	for says, args := range map[string][]string{
		`table must be an existing table that this login can see, got "public.embeddings"`: {},
		`table must be the table of version 1, not one of Oxbow's own`: {"--table",
			"oxbow.memories"},
		`public.half has no column memory_type: is it the table of version 1?`: {"--table", "half"},
		`the column id of public.other must be of type uuid, and is of type int8`: {"--table",
			"public.other"},
		`public.loose has no unique index on id`: {"--table",
			"public.loose"},
		`the column valid_from of public.late must be of type timestamptz, and is of type text`: {"--table",
			"public.late"},
		`--from: invalid database URL: `: {"--from", "postgres://x:y:z@:1:2/a"},
		`--from: cannot connect to PostgreSQL on`: {"--from",
			"postgres://h@127.0.0.1:1/d"},
	} {
		r := d.run(append([]string{"import-v1"}, args...)...)
		require.NotZero(t, r.code, args)
		require.Contains(t, r.err, says)
	}
	v1Sample(d)
	conn, err := pgx.Connect(t.Context(), d.dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(),
		`insert into oxbow.settings (key, value)
			values ('import_v1', '{"source": "public.other", "stage": "memories"}')`)
	require.NoError(t, err)
	r := d.run("import-v1")
	require.Contains(t, r.err, "an import of public.other is unfinished, in stage memories: finish it first")
}
