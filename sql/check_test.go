package sqlcode_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestBadMemoriesAreRefusedByFieldAndValue(t *testing.T) {
	t.Parallel()
	good := row{"user_id": "ann", "content": "one"}
	for name, c := range map[string]struct {
		row          row
		field, value string
	}{
		"empty content":     {row{"content": ""}, "content", "''"},
		"blank content":     {row{"content": " \t\r\n"}, "content", "' \t\r\n'"},
		"content too long":  {row{"content": strings.Repeat("x", 1<<20+1)}, "content", "1048577 bytes"},
		"wide text":         {row{"content": strings.Repeat("水", 1<<20/3+1)}, "content", "1048578 bytes"},
		"empty user":        {row{"user_id": ""}, "user_id", "''"},
		"long user":         {row{"user_id": strings.Repeat("u", 256)}, "user_id", "256 bytes"},
		"unknown type":      {row{"memory_type": "opinion"}, "memory_type", "'opinion'"},
		"empty type":        {row{"memory_type": ""}, "memory_type", "''"},
		"importance 1.01":   {row{"importance": 1.01}, "importance", "'1.01'"},
		"blank topic":       {row{"topic": " \n"}, "topic", "' \n'"},
		"importance -0.01":  {row{"importance": -0.01}, "importance", "'-0.01'"},
		"importance NaN":    {row{"importance": math.NaN()}, "importance", "'NaN'"},
		"importance inf":    {row{"importance": math.Inf(1)}, "importance", "'Infinity'"},
		"metadata array":    {row{"metadata": `["a"]`}, "metadata", `'["a"]'`},
		"metadata null":     {row{"metadata": `null`}, "metadata", "'null'"},
		"metadata string":   {row{"metadata": `"a"`}, "metadata", `'"a"'`},
		"metadata number":   {row{"metadata": `7`}, "metadata", "'7'"},
		"ends before start": {row{"valid_at": ago(0), "invalid_at": ago(time.Hour)}, "invalid_at", "2025-10-12"},
		"valid for ever": {row{"valid_at": pgtype.Timestamptz{Valid: true, InfinityModifier: pgtype.Infinity}},
			"valid_at", "'infinity'"},
		"never ends": {row{"invalid_at": pgtype.Timestamptz{Valid: true, InfinityModifier: pgtype.Infinity}},
			"invalid_at", "'infinity'"},
		"created in 10000": {row{"created_at": time.Date(10000, 1, 2, 0, 0, 0, 0, time.UTC)}, "created_at",
			"10000-01-0"},
		"expires never": {row{"expires_at": pgtype.Timestamptz{Valid: true, InfinityModifier: pgtype.Infinity}},
			"expires_at", "'infinity'"},
		"was never believed": {row{"expired_at": pgtype.Timestamptz{Valid: true,
			InfinityModifier: pgtype.NegativeInfinity}}, "expired_at", "'-infinity'"},
		"valid before 1":   {row{"valid_at": time.Date(0, 12, 30, 0, 0, 0, 0, time.UTC)}, "valid_at", "0001-12-30"},
		"long external id": {row{"external_id": strings.Repeat("x", 1025)}, "external_id", "1025 bytes"},
		"long session":     {row{"session_id": strings.Repeat("x", 1025)}, "session_id", "1025 bytes"},
		"long speaker":     {row{"speaker": strings.Repeat("x", 1025)}, "speaker", "1025 bytes"},
		"strength -1":      {row{"strength": -1.0}, "strength", "'-1'"},
		"mentions -1":      {row{"mention_count": -1}, "mention_count", "'-1'"},
		"strength NaN":     {row{"strength": math.NaN()}, "strength", "'NaN'"},
		"strength inf":     {row{"strength": math.Inf(1)}, "strength", "'Infinity'"},
		"trait":            {row{"memory_type": "trait"}, "memory_type", "'trait'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sql, args := good.with(c.row).statement("oxbow.memories")
			err := fails(t, pgtest.Tx(t), sql, args...)
			require.Equal(t, "23514", err.Code, "a check violation: %v", err)
			require.Equal(t, c.field, err.ColumnName)
			require.Contains(t, err.Message, c.field)
			require.Contains(t, err.Detail, c.value)
			require.Less(t, len(err.Detail), 300, "a long value is not repeated whole")
		})
	}
}

// Columns that only an import or the worker may insert are checked too.
func TestChecksOfTraits(t *testing.T) {
	t.Parallel()
	for field, bad := range map[string]any{"trait_stage": "elated", "trait_subtype": "mood",
		"trait_confidence": math.NaN()} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			_, err := tx.Exec(t.Context(), "select set_config('oxbow.origin', 'import', true)")
			require.NoError(t, err)
			sql, args := row{"user_id": "ann", "memory_type": "trait", "content": "Rows at dawn",
				field: bad}.statement("oxbow.memories")
			refused := fails(t, tx, sql, args...)
			require.Equal(t, "23514", refused.Code, "a check violation: %v", refused)
			require.Equal(t, field, refused.ColumnName)
		})
	}
}

func TestNullIsRefusedByField(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, field := range []string{"user_id", "content", "importance", "metadata"} {
		sql, args := row{"user_id": "ann", "content": "one"}.with(row{field: nil}).statement("oxbow.memories")
		err := fails(t, tx, sql, args...)
		require.Equal(t, "23502", err.Code)
		require.Contains(t, err.Message, field)
	}
}

func TestInvalidTextIsRefused(t *testing.T) {
	t.Parallel()
	for text, shown := range map[string]string{"a\x00b": "0x00", "a\xffb": "0xff", "a\xed\xa0\x80b": "0xed 0xa0 0x80"} {
		sql, args := row{"user_id": "ann", "content": text}.statement("oxbow.memories")
		err := fails(t, pgtest.Tx(t), sql, args...)
		require.Equal(t, "22021", err.Code)
		require.Contains(t, err.Message, shown)
	}
}

func TestWhatIsJustAllowed(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]row{
		"1 MiB":             {"content": strings.Repeat("x", 1<<20)},
		"one character":     {"content": "x"},
		"one wide one":      {"content": "水"},
		"255 bytes of user": {"user_id": strings.Repeat("w", 255)},
		"importance 0":      {"importance": 0.0},
		"importance 1":      {"importance": 1.0},
		"a moment":          {"valid_at": ago(0), "invalid_at": ago(0)},
		"end, no start":     {"invalid_at": ago(0)},
		"empty object":      {"metadata": "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			r := row{"user_id": ann(t)}.with(r)
			id := remember(t, tx, r)
			require.Equal(t, []string{id}, index(t, tx, r["user_id"].(string)))
		})
	}
}

func TestBadVectorsAreRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": "ann"})
	const insert = `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		values ('ann', 'fact', $1, $2::text::halfvec)`
	for vector, message := range map[string]string{
		"[1,2,3]":                                  "expected 1024 dimensions, not 3",
		strings.Replace(axis(), "0", "NaN", 1):     "NaN not allowed",
		strings.Replace(axis(), "0", "inf", 1):     "infinite value not allowed",
		strings.Replace(axis(), "0", "70000", 1):   `"70000" is out of range for type halfvec`,
		strings.Replace(axis(), "]", ",0]", 1):     "expected 1024 dimensions, not 1025",
		strings.Replace(axis(), "0", "\"one\"", 1): "invalid input syntax for type halfvec",
	} {
		require.Contains(t, fails(t, tx, insert, id, vector).Message, message)
	}
	exec(t, tx, insert, id, axis(0))
	require.Equal(t, "23505", fails(t, tx, insert, id, axis(0)).Code, "a memory has one vector")
}

func TestVectorNeedsItsMemory(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": "ann"})
	const insert = `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		values ($1, $2, $3, $4::text::halfvec)`
	require.Equal(t, "23503", fails(t, tx, insert, "bob", "fact", id, axis(0)).Code)
	require.Equal(t, "23503", fails(t, tx, insert, "ann", "episodic", id, axis(0)).Code)
}

func TestBadMentionsAreRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for mentions, refused := range map[string]bool{
		"array[('-infinity', false)::oxbow.mention]": true, "array[(null, false)::oxbow.mention]": true,
		"array[null::oxbow.mention]": true, "array[('2025-01-01', false)::oxbow.mention]": false,
	} {
		sql := "insert into oxbow.memories (user_id, content, mentions) values ('ann', 'one', " + mentions + ")"
		if !refused {
			exec(t, tx, sql)
			continue
		}
		require.Equal(t, "mentions", fails(t, tx, sql).ColumnName, mentions)
	}
}

func TestBadLinksAreRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": "ann"})
	for field, value := range map[string]string{"relation": "'likes'", "weight": "'NaN'"} {
		link := map[string]string{"relation": "'source'", "weight": "1"}
		link[field] = value
		require.Equal(t, field, fails(t, tx, fmt.Sprintf(`insert into oxbow.memory_links
			(user_id, from_type, from_id, to_type, to_id, relation, weight) values ('ann', 'fact', '%[1]s', 'fact', '%[1]s',
			%[2]s, %[3]s)`, id, link["relation"], link["weight"])).ColumnName)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	set := `insert into oxbow.settings (key, value) values ('%s', '%s')
		on conflict (key) do update set value = excluded.value`
	for key, values := range map[string][]string{
		"conversations": {`[]`, `{"quiet_seconds": "x"}`, `{"messages": -5}`, `{"messages": 2.5}`,
			`{"summary_days": 1e10}`},
		"conversations.policies": {`{"policies": {"fact": "newest"}}`, `{"policies": {"fruit": "latest_wins"}}`,
			`{"policies": {"fact": 1}}`, `{"policies": {"fact": null}}`, `{"policies": "latest_wins"}`, `{"policies": null}`},
		"conversations.ended_session": {`{"ended_session": "ignore"}`, `{"ended_session": null}`},
		"recall": {`7`, `[]`, `{"text": "x"}`, `{"vector": "NaN"}`, `{"entity": -1}`, `{"vectors": 1}`,
			`{"nearest": 2.5}`, `{"unrelated": 0.9}`, `{"related": 0.9}`, `{"unrelated": 0.5, "related": 0.5}`,
			`{"unrelated": 0.6, "related": 0.5}`, `{"unrelated": 0.5, "related": 1.1}`, `{"unrelated": null, "related": 1}`},
		"reconcile": {`{}`, `3`, `{"enabled": "no"}`},
		"merge":     {`[]`, `{"enabled": 3}`, `{"enabled": null}`, `{"enabled": true, "x": 1}`},
	} {
		for _, value := range values {
			name, _, _ := strings.Cut(key, ".")
			require.Equal(t, key, fails(t, tx, fmt.Sprintf(set, name, value)).ColumnName, value)
		}
	}
	exec(t, tx, fmt.Sprintf(set, "conversations",
		`{"quiet_seconds": 0, "messages": 1, "policies": {"fact": "version_keep"}}`))
	exec(t, tx, fmt.Sprintf(set, "recall", `{"text": 0.5, "vector": 1, "entity": 0}`))
	exec(t, tx, fmt.Sprintf(set, "recall", `{"nearest": 100, "unrelated": 0, "related": 0.4}`))
	exec(t, tx, fmt.Sprintf(set, "merge", `{"enabled": false}`))
}

func TestBadUsersAreRefused(t *testing.T) {
	t.Parallel()
	for field, values := range map[string][]any{
		"timezone":          {"Europe/Atlantis", "", "'; drop table users", "+08:00", "CST-8", "Foo5"},
		"forgetting_factor": {0.0, -1.0, 5e-324, 1e308, math.NaN(), math.Inf(1)},
		"metadata":          {"[]"},
		"user_id":           {""},
	} {
		for _, value := range values {
			sql, args := row{"user_id": "ann"}.with(row{field: value}).statement("oxbow.users")
			err := fails(t, pgtest.Tx(t), sql, args...)
			require.Equal(t, "23514", err.Code, "%s %v: %v", field, value, err)
			require.Equal(t, field, err.ColumnName)
			require.Contains(t, err.Message, field)
		}
	}
}

func TestTimeZones(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for i, zone := range []string{"UTC", "Asia/Shanghai", "Etc/GMT-8", "<+05:30>-05:30", "America/St_Johns"} {
		exec(t, tx, "insert into oxbow.users (user_id, timezone) values ($1::int::text, $2)", i, zone)
	}
}

func TestBadMessagesAreRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	good := row{"user_id": "ann", "session_id": "s", "content": "one"}
	sql, args := good.statement("oxbow.messages")
	exec(t, tx, sql, args...)
	for field, value := range map[string]any{"role": "robot", "content": " ", "user_id": "", "session_id": "",
		"speaker": strings.Repeat("x", 1025), "metadata": "[1]",
		"created_at": time.Date(10000, 1, 2, 0, 0, 0, 0, time.UTC)} {
		sql, args := good.with(row{field: value}).statement("oxbow.messages")
		err := fails(t, tx, sql, args...)
		require.Equal(t, "23514", err.Code)
		require.Equal(t, field, err.ColumnName)
	}
}

// A time that nothing can be added to would stop the search for due reflections of all users.
func TestBadSessionsAreRefused(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, field := range []string{"started_at", "last_activity_at", "ended_at", "last_reflected_at"} {
		err := fails(t, tx, "insert into oxbow.sessions (user_id, id, "+field+") values ($1, 's', '294276-12-31')", ann(t))
		require.Equal(t, "23514", err.Code)
		require.Equal(t, field, err.ColumnName)
	}
}
