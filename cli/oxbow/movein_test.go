package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/movein"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// moveInData returns the path of a file that testdata/movein/make.py made.
func moveInData(name string) string { return filepath.Join("testdata/movein", name) }

// otherDatabase returns the URL of a database with the tables of another system.
func otherDatabase(t *testing.T, name string) string {
	t.Helper()
	dump, err := os.ReadFile(moveInData(name))
	require.NoError(t, err)
	other := on{t, pgtest.Empty(t)}
	other.exec("create extension vector schema public")
	other.exec(string(dump))
	return other.dsn
}

// mem0History returns the path of a history.db.
func mem0History(t *testing.T) string {
	t.Helper()
	dump, err := os.ReadFile(moveInData("mem0-history.sql"))
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "history.db")
	db, err := sql.Open("sqlite", name)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), string(dump))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return name
}

// moveIn imports twice, after a dry run, and returns the report of the first import. Only the first may write.
func (d on) moveIn(args ...string) movein.Report {
	d.t.Helper()
	args = append([]string{"import", "--json", "--from"}, args...)
	before := d.rows()
	dry := decoded[movein.Report](d.t, d.ok(append(args, "--dry-run")...))
	require.Equal(d.t, before, d.rows(), "a dry run writes nothing")
	first := decoded[movein.Report](d.t, d.ok(args...))
	after := d.rows()
	again := decoded[movein.Report](d.t, d.ok(args...))
	require.Equal(d.t, after, d.rows(), "a second import adds nothing")
	require.Zero(d.t, again.New)
	dry.DryRun, dry.Seconds, again.Seconds, again.New = false, first.Seconds, first.Seconds, first.New
	require.Equal(d.t, first, dry)
	require.Equal(d.t, first, again)
	return first
}

// reasons returns how many rows each finding concerns.
func reasons(findings []*movein.Finding) map[string]int64 {
	found := map[string]int64{}
	for _, f := range findings {
		found[f.Reason] = f.Rows
	}
	return found
}

// moved lists what the database has of a source, one memory a line.
func (d on) moved(source, columns string) []string {
	d.t.Helper()
	return strings.Split(d.text(`select coalesce(string_agg(concat_ws(' | ', user_id, memory_type, content, `+columns+`),
		E'\n' order by user_id, created_at, seq), '') from oxbow.memories where source = $1`, source), "\n")
}

const noUser = "no user: --user NAME imports such rows as NAME's"

func TestMoveInFromMem0(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	history := mem0History(t)
	from := otherDatabase(t, "mem0.sql")
	report := d.moveIn("mem0", from, history)
	require.EqualValues(t, 7, report.New)
	require.Equal(t, map[string]int64{"ada": 6, "林": 1}, report.Users)
	require.Equal(t, map[string]int64{noUser: 1, "deleted in mem0": 1}, reasons(report.Skipped))
	require.Equal(t, map[string]int64{"attributed_to": 1, "category": 1, "confidence": 1, "来源": 1}, report.Kept)
	require.Equal(t, []string{
		"ada | fact | Ada lives in Lisbon. | 1 | f",
		"ada | fact | Ada lives in Porto. | 2 | f",
		"ada | fact | Ada lives in Oslo. | 3 | t",
	}, strings.Split(d.text(`select string_agg(concat_ws(' | ', user_id, memory_type, content, version, superseded_by is null),
		E'\n' order by version) from oxbow.memories where content like '%lives in%'`), "\n"))
	require.Equal(t, 2, d.number(`select count(*) from oxbow.memory_links l
		join oxbow.memories old on old.user_id = l.user_id and old.id = l.to_id
		join oxbow.memories new on new.user_id = l.user_id and new.id = l.from_id
		where l.relation = 'supersedes' and old.superseded_by = new.id and old.expired_at = new.created_at`))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where content like '%Heron%' and session_id = 'chat-1'
		and agent_id = 'coach' and source = 'mem0' and external_id ~ '^mem0:[0-9a-f-]{36}$'`))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where content like '%walnuts%' and speaker = 'Ada'
		and metadata = '{"role": "user"}'`))
	d.work()
	require.Equal(t, []string{"Ada lives in Oslo."}, contents(d.recall("ada", "Where does Ada live?", "-n", "1")))
	require.Equal(t, []string{"林的船叫白鹭。"}, contents(d.recall("林", "船叫什么?", "-n", "1")))
	id := d.text(`select id::text from oxbow.memories where version = 3`)
	require.Regexp(t, `(?s)Lisbon.*Porto.*Oslo`, d.ok("history", id, "--user", "ada"))

	// The JSON of get_all gives the same memories the same ids.
	require.Contains(t, d.ok("import", "--from", "mem0", moveInData("mem0.json")),
		"mem0.json: 4 rows read from mem0, 0 memories added, 4 unchanged, 0 skipped.")
	r := d.run("import", "--from", "mem0", moveInData("mem0.json"), history, "--user", "eve")
	require.Zero(t, r.code, r.err)
	require.Equal(t, 6, d.number(`select count(*) from oxbow.memories where user_id = 'eve'`), "with older versions")

	alone := d.moveIn("mem0", history, "--user", "eve")
	require.EqualValues(t, 2, alone.New, "those that the export of ada's did not have")
	require.Equal(t, map[string]int64{"deleted in mem0": 1}, reasons(alone.Skipped))
	require.Equal(t, map[string]int64{"coach": 2}, d.moveIn("mem0", from, "--user-from", "agent_id").Users)
}

func TestMoveInFromZep(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	report := d.moveIn("zep", moveInData("zep.json"))
	require.EqualValues(t, 7, report.New)
	require.Equal(t, map[string]int64{"edge without a fact": 1, "entity or community: a worker finds entities anew": 2},
		reasons(report.Skipped))
	require.Equal(t, map[string]int64{"invalid_at is before valid_at: it is in the metadata": 1},
		reasons(report.Unmapped))
	const times = `valid_at::date, invalid_at::date, created_at::date, expired_at::date`
	require.Equal(t, []string{
		"ada | fact | Ada lives in Lisbon. | 2023-03-31 | 2025-03-09 | 2025-03-01 | 2025-03-10",
		"ada | fact | Ada lives in Oslo. | 2025-03-09 | 2025-03-10",
		"ada | episodic | Ada: I moved from Lisbon to Oslo in March. | 2025-03-10 | 2025-03-10",
		"ada | fact | Ada sold her boat Heron. | 2025-03-12 | 2025-03-12",
		`ada | episodic | {"event": "sale", "boat": "Heron"} | 2025-03-12 | 2025-03-12`,
		"林 | fact | 林的船叫白鹭。 | 2025-03-11",
		"林 | episodic | 林: 我的船叫白鹭。 | 2025-03-11 | 2025-03-11",
	}, d.moved("zep", times))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where metadata @> '{"relation": "LIVES_IN",
		"since": "March"}'`))
	require.Equal(t, []string{"Ada lives in Lisbon."}, factsAsOf(d, "2024-01-01"))
	require.Equal(t, []string{"Ada lives in Oslo."}, factsAsOf(d, "2025-03-11"))

	neo4j := onDatabase(t)
	report = neo4j.moveIn("zep", moveInData("zep-apoc.jsonl"))
	require.EqualValues(t, 3, report.New)
	require.Equal(t, []string{
		"ada | fact | Ada lives in Lisbon. | 2023-03-31 | 2025-03-09 | 2025-03-01 | 2025-03-10",
		"ada | episodic | Ada: I moved from Lisbon to Oslo in March. | 2025-03-10 | 2025-03-10",
		"ada | fact | Ada lives in Oslo. | 2025-03-09 | 2025-03-10",
	}, neo4j.moved("zep", times))

	ce := onDatabase(t)
	report = ce.moveIn("zep", otherDatabase(t, "zep-ce.sql"))
	require.Equal(t, map[string]int64{noUser: 1}, reasons(report.Skipped))
	require.Equal(t, []string{
		"ada | episodic | I moved from Lisbon to Oslo. | chat-1 | Ada | user",
		"ada | episodic | How is Oslo? | chat-1 | Helper | assistant",
		"林 | episodic | 我的船叫白鹭。 | chat-2 | 林",
	}, ce.moved("zep", "session_id, speaker, metadata->>'role'"))
}

// factsAsOf returns where Ada lived on a day.
func factsAsOf(d on, day string) []string {
	return strings.Split(d.text(`select coalesce(string_agg(content, E'\n'), '') from oxbow.memories
		where user_id = 'ada' and memory_type = 'fact' and content like '%lives%'
		  and valid_at <= $1::text::date and coalesce(invalid_at > $1::text::date, true)`, day), "\n")
}

func TestMoveInFromLangGraph(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	from := otherDatabase(t, "langgraph.sql")
	r := d.run("import", "--from", "langgraph", from)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "which part of the namespace is the user?")
	require.Contains(t, r.err, "Namespaces: memories.ada, memories.林, profiles.ada")

	report := d.moveIn("langgraph", from, "--user-from", "2")
	require.Equal(t, map[string]int64{"ada": 4, "林": 1}, report.Users)
	require.Equal(t, map[string]int64{noUser: 1}, reasons(report.Skipped))
	require.Equal(t, map[string]int64{"no text in the value: its JSON is the content": 1}, reasons(report.Unmapped))
	require.Equal(t, []string{
		`ada | fact | Ada's boat is called Heron. | langgraph:memories.ada/1 | f | {"key": "1", "kind": "Memory", ` +
			`"namespace": ["memories", "ada"]}`,
		`ada | fact | Ada is allergic to walnuts. | langgraph:memories.ada/2 | f | {"key": "2", "source": "chat", ` +
			`"namespace": ["memories", "ada"]}`,
		`ada | fact | {"age": 36, "home": {"city": "Oslo"}, "name": "Ada"} | langgraph:profiles.ada/profile | f | ` +
			`{"key": "profile", "namespace": ["profiles", "ada"]}`,
		`ada | fact | Ada waits for a parcel. | langgraph:memories.ada/3 | t | {"key": "3", "namespace": ["memories", "ada"]}`,
		`林 | fact | 林的船叫白鹭。 | langgraph:memories.林/1 | f | {"key": "1", "namespace": ["memories", "林"]}`,
	}, d.moved("langgraph", "external_id, expires_at is not null, metadata"))

	all := d.moveIn("langgraph", from, "--user-from", "-1", "--map", "content=data")
	require.Equal(t, map[string]int64{"ada": 4, "林": 1, "settings": 1}, all.Users)
	require.EqualValues(t, 5, reasons(all.Unmapped)["no text in the value: its JSON is the content"])
}

func TestMoveInFromLetta(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	from := otherDatabase(t, "letta.sql")
	report := d.moveIn("letta", from)
	require.Equal(t, map[string]int64{"ada": 5, "林": 1}, report.Users)
	require.Equal(t, map[string]int64{"persona block: it is about the agent": 1,
		"user message without words of the person or the agent":   1,
		"tool message without words of the person or the agent":   1,
		"system message without words of the person or the agent": 1}, reasons(report.Skipped))
	require.Equal(t, []string{
		"ada | fact | Ada lives in Oslo.", "Her boat is called Heron. | agent-1",
		"ada | fact | Ada is allergic to walnuts. | agent-1",
		"ada | episodic | I moved to Oslo. | agent-1 | agent-1 | user",
		"ada | episodic | What is my boat called? | agent-1 | agent-1 | user",
		"ada | episodic | Heron. | agent-1 | agent-1 | assistant",
		"林 | fact | 林住在杭州。 | agent-2",
	}, d.moved("letta", "agent_id, session_id, metadata->>'role'"))

	r := d.run("import", "--from", "letta", moveInData("letta.af"))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "an agent file does not say whose agents these are: give --user")
	file := onDatabase(t)
	require.EqualValues(t, 4, file.moveIn("letta", moveInData("letta.af"), "--user", "ada").New)
	require.Equal(t, map[string]int64{"ada-assistant": 4},
		file.moveIn("letta", moveInData("letta.af"), "--user-from", "agent_name").Users)

	// the first format of agent files, as Letta's AgentSchema of serialize_schemas has it
	old := filepath.Join(t.TempDir(), "old.af")
	require.NoError(t, os.WriteFile(old, []byte(`{"agent_type": "memgpt_agent", "core_memory": [{"created_at": `+
		`"2025-03-01 09:00:00", "label": "human", "limit": 5000, "value": "Ada likes tea.", "updated_at": ""}], `+
		`"messages": [{"created_at": "2025-03-04T09:00:00+00:00", "role": "user", "content": [{"type": "text", "text": `+
		`"I like tea."}], "tool_calls": [], "tool_returns": [], "name": null}], "name": "old", "version": "0.6.43"}`), 0o600))
	require.EqualValues(t, 2, file.moveIn("letta", old, "--user", "ada").New)
}

func TestMoveInFromHindsight(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	from := otherDatabase(t, "hindsight.sql")
	report := d.moveIn("hindsight", from)
	require.Equal(t, map[string]int64{"document: import its text with oxbow ingest": 1}, reasons(report.Skipped))
	const columns = `valid_at::date, expired_at::date, metadata->>'fact_type', metadata->>'invalidation_reason'`
	units := []string{
		"family | fact | Ada lives in Bergen. | 2025-03-05 | 2025-03-06 | a joke",
		"family | fact | Ada lives in Oslo. | 2025-03-09",
		"family | episodic | Ada sold her boat Heron at the harbour. | 2025-03-12",
		"family | fact | 林的船叫白鹭。 | 2025-03-10",
		"family | fact | Ada likes to live near the water. | 2025-03-10 | observation",
	}
	require.Equal(t, units, d.moved("hindsight", columns))
	require.Contains(t, d.ok("import", "--from", "hindsight", moveInData("hindsight.zip")),
		"hindsight.zip: 6 rows read from hindsight, 1 memory added, 4 unchanged, 1 skipped.",
		"the same memories, but the retired one has no id there")
	tagged := d.moveIn("hindsight", from, "--user-from", "tag:user:")
	require.Equal(t, map[string]int64{"ada": 3, "林": 1}, tagged.Users)

	archive := onDatabase(t)
	require.EqualValues(t, 5, archive.moveIn("hindsight", moveInData("hindsight.zip")).New)
	require.Equal(t, units, archive.moved("hindsight", columns))
}

func TestMoveInFromJSONLines(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	file := lines(t,
		`{"note": "Ada's boat is called Heron.", "owner": {"name": "ada"}, "when": 1741600800, "place": "Oslo"}`,
		`{"note": "林的船叫白鹭。", "owner": {"name": "林"}, "when": "2025-03-10T18:00:00+08:00"}`)
	report := d.moveIn("jsonl", file, "--map", "content=note,user=owner.name,at=when", "--type", "fact")
	require.EqualValues(t, 2, report.New)
	require.Equal(t, []string{
		`ada | fact | Ada's boat is called Heron. | 2025-03-10 10:00:00+00 | {"place": "Oslo"}`,
		`林 | fact | 林的船叫白鹭。 | 2025-03-10 10:00:00+00 | {}`,
	}, d.moved("jsonl", "valid_at, metadata"))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.users where user_id = '林' and timezone = 'Etc/GMT-8'`))

	r := d.input(`[{"id": 7, "text": "An array on standard input.", "user_id": "bo", "thread_id": "t"}]`,
		"import", "--from", "jsonl", "-")
	require.Zero(t, r.code, r.err)
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where external_id = 'jsonl:7' and session_id = 't'
		and memory_type = 'episodic'`))
}

// Rows that cannot be imported are reported with their ids and do not stop the import.
func TestMoveInSkipsBadRows(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	big, err := json.Marshal(map[string]string{"id": "big", "user_id": "ada", "memory": strings.Repeat("x", 1<<20+1)})
	require.NoError(t, err)
	file := []string{
		`{"id": "1", "user_id": "ada", "memory": " "}`,
		`{"id": "2", "user_id": "ada", "memory": "No date.", "created_at": "yesterday"}`,
		`{"id": "3", "user_id": "ada", "memory": "a\u0000b"}`,
		`{"id": "4", "user_id": "ada", "memory": "Expired.", "created_at": "2025-01-01", "expiration_date": "2024-01-01"}`,
		`{"id": "5", "user_id": "ada", "memory": "Far.", "created_at": "infinity"}`,
		`{"id": 6, "user_id": 7, "memory": "Numbers."}`,
		`{"id": 6, "user_id": 7, "memory": "The same id."}`,
		string(big),
		`{"id": "9", "user_id": "` + strings.Repeat("u", 256) + `", "memory": "x"}`,
		`{"id": "10", "memory": "Of nobody."}`,
		`{"note": "not a memory"}`,
	}
	for i := range 2000 { // more than is read at once
		file = append(file, fmt.Sprintf(`{"id": "m%d", "user_id": "bo", "memory": "%s"}`, i,
			strings.TrimSpace(strings.Repeat("word ", i%2))))
	}
	report := d.moveIn("mem0", lines(t, file...))
	require.EqualValues(t, 1004, report.New)
	require.Equal(t, map[string]int64{"ada": 3, "7": 2, "bo": 1000}, report.Users)
	require.Equal(t, map[string]int64{"content must not be blank": 1001, "content must not contain a NUL character": 1,
		"content must not be longer than 1 MiB": 1, "user_id must have 1 to 255 bytes": 1, noUser: 1,
		"not a memory: expected memory or data": 1}, reasons(report.Skipped))
	require.Equal(t, []string{"1", "m0", "m2"}, report.Skipped[0].Examples)
	require.Equal(t, map[string]int64{"created_at is not a time: it is in the metadata": 1,
		"created_at is outside the years 1 to 9999: it is in the metadata": 1,
		"expires_at is not after created_at: it is in the metadata":        1}, reasons(report.Unmapped))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where external_id = 'mem0:2'
		and metadata = '{"created_at": "yesterday"}'`))
}

// The setting "secrets" holds for imports too.
func TestMoveInRefusesSecrets(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`insert into oxbow.settings (key, value) values ('secrets', '{"policy": "refuse"}')`)
	report := d.moveIn("jsonl", lines(t, `{"user": "ada", "text": "The password of the bank is Tr0ub4dor&3xyz", "id": "1"}`,
		`{"user": "ada", "text": "The boat is called Heron.", "id": "2"}`))
	require.EqualValues(t, 1, report.New)
	require.Equal(t, []*movein.Finding{{Reason: "content must not contain a secret, because the setting secrets refuses them",
		Rows: 1, Examples: []string{"1"}}}, report.Skipped)
}

func TestMoveInRefuses(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	whole, err := os.ReadFile(moveInData("mem0.json"))
	require.NoError(t, err)
	cut := lines(t, string(whole[:700]))
	empty := pgtest.Empty(t)
	old := on{t, pgtest.Empty(t)}
	old.exec(`create table memory_units (id uuid, bank_id text, text text)`)
	old.exec(`create table memories (id uuid, payload jsonb)`)
	for says, args := range map[string][]string{
		"the file is cut off after object 1":                       {"mem0", cut},
		"not JSON at byte 1":                                       {"mem0", lines(t, "hello")},
		"expected an array of objects, found 1 in it":              {"mem0", lines(t, "[1, 2]")},
		"this is not from mem0: expected memory or data, found an": {"mem0", moveInData("letta.af")},
		"this is not from zep: expected fact or content, found an": {"zep", lines(t, `{"bar": 1}`)},
		"there is no table mem0; nothing was imported from it":     {"mem0", empty},
		"there is no table mem0; these have its columns: memories": {"mem0", old.dsn},
		"table memory_units has no column fact_type":               {"hindsight", old.dsn},
		"there is no table memory_units":                           {"hindsight", empty},
		"there is no table block":                                  {"letta", empty},
		"there is no table messages":                               {"zep", empty},
		"this is not an archive of Hindsight":                      {"hindsight", cut},
		"jsonl is read from a file, not from a database":           {"jsonl", empty},
		"--user would merge the memories of 2 users":               {"zep", moveInData("zep.json"), "--user", "eve"},
		"/no/such/file: no such file or directory":                 {"mem0", "/no/such/file"},
		"cannot connect to PostgreSQL":                             {"mem0", "postgres://127.0.0.1:1/x"},
	} {
		r := d.run(append([]string{"import", "--from"}, args...)...)
		require.Equal(t, exitFailed, r.code, args)
		require.Contains(t, r.err, says)
		require.Empty(t, r.out)
	}
	require.Zero(t, d.number(`select count(*) from oxbow.memories`))
	for says, args := range map[string][]string{
		"expected mem0, zep, langgraph, letta, hindsight or jsonl": {"--from", "chroma", cut},
		"--map does not apply to mem0":                             {"--from", "mem0", cut, "--map", "content=x"},
		"--table does not apply to letta":                          {"--from", "letta", cut, "--table", "x"},
		"--traits does not apply to an import with --from":         {"--from", "mem0", cut, "--traits"},
		`invalid --user-from "x": expected group_id`:               {"--from", "zep", cut, "--user-from", "x"},
		`invalid --user-from "0": expected the number of a part`:   {"--from", "langgraph", cut, "--user-from", "0"},
		"invalid --map foo=x: expected agent, at, content":         {"--from", "jsonl", cut, "--map", "foo=x"},
		"--user-from requires --from":                              {cut, "--user-from", "1"},
	} {
		r := d.run(append([]string{"import"}, args...)...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.err, says)
	}
}

func TestImportDryRun(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.Equal(t, "../../examples/lives.jsonl: 120 memories added; 1 other record read; 29 lines of an evaluation ignored.\n"+
		"Dry run: nothing was written.", d.ok("import", "--dry-run", sampleFile))
	require.Zero(t, d.rows())
}
