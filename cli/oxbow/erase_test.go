package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// pgDump returns pg_dump's output for the whole database.
func (d on) pgDump() string {
	d.t.Helper()
	return strings.ToLower(pgtest.PgDump(d.t, d.dsn))
}

// tablesWith returns the tables of a dump whose rows contain one of the words.
func tablesWith(dump string, words ...string) map[string]bool {
	found := map[string]bool{}
	table := ""
	for line := range strings.Lines(dump) {
		if name, ok := strings.CutPrefix(line, "copy oxbow."); ok {
			table, _, _ = strings.Cut(name, " ")
			continue
		}
		for _, word := range words {
			if strings.Contains(line, word) {
				found[table] = true
			}
		}
	}
	return found
}

// live stores the word for a user in every possible way: conversations, imports, files, working
// memory, the sensory stream, reflection, corrections, failures. It returns the id of the corrected
// trait.
func (d on) live(user, word string) (trait string) {
	d.t.Helper()
	t := d.t
	d.exec(`insert into oxbow.users (user_id, timezone, metadata)
		values ($1::text, 'Asia/Shanghai', jsonb_build_object('home', $2::text))`, user, word)
	d.exec(`insert into oxbow.messages (user_id, session_id, speaker, content)
		select $1::text, 'long ' || $2::text, $2::text, format('I live in %s. %s号：我住在%s。', $2::text, n, $2::text)
		from generate_series(1, 40) n`, user, word)
	d.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id, agent_id, external_id,
		category, metadata)
		select $1::text, 'episodic', format('I went climbing with friends, number %s, at %s', n, $2::text),
			'2025-03-01 15:30+00'::timestamptz + n * interval '10 days',
		       'chat ' || $2::text || n, $2::text, $2::text || n, $2::text, jsonb_build_object('entities',
		       jsonb_build_array(jsonb_build_object('name', $2::text, 'kind', 'place')))
		  from generate_series(1, 5) n`, user, word)
	require.Zero(t, d.input(fmt.Sprintf(`{"user": %q, "id": "i1", "session": "s %s", "speaker": "Ann", "at": `+
		`"2025-10-12T08:30:00Z", "content": "I adopted a cat in %s."}`, user, word, word)+"\n", "import", "-").code)
	file := files(t, map[string]string{"of-" + word + ".md": "# Boats of " + word + "\n\nThey sail to " + word + ".\n"})
	d.ok("ingest", filepath.Join(file, "of-"+word+".md"), "--user", user)
	d.exec(`insert into oxbow.sensory (user_id, content) select $1::text, 'opened ' || $2::text
		from generate_series(1, 4)`, user, word)
	client, err := oxbow.New(d.pool())
	require.NoError(t, err)
	working, err := oxbow.NewWorkingMemory(user, "working "+word, 0)
	require.NoError(t, err)
	_, err = working.Add(oxbow.WorkingItem{Key: word, Content: "A table in " + word, Importance: new(0.9)})
	require.NoError(t, err)
	_, err = client.CommitWorkingMemory(t.Context(), working, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.NoError(t, client.Close(t.Context()))
	d.ok("end-session", user, "long "+word)
	d.work()
	d.exec(`insert into oxbow.sensory_candidates (user_id, hash, content, times, first_at, last_at)
		values ($1::text, md5($2::text)::uuid, $2::text, 3, now(), now()) on conflict do nothing`, user, word)
	d.ok("reflect", user, "--now", "2025-06-01")
	trait = decoded[[]oxbow.Trait](t, d.ok("traits", user, "--json"))[0].ID.String()
	edited := d.ok("trait", "edit", trait, "--content", "Climbs at "+word, "--reason", "it is "+word)
	trait = edited[len(edited)-37 : len(edited)-1]
	old, gone := d.ok("remember", user, "The boat is in "+word), d.ok("remember", user, "The house is in "+word)
	d.exec(`select oxbow.supersede($1::text, $2::text::uuid, 'The boat left ' || $3, reason => 'from ' || $3)`, user,
		old, word)
	d.ok("forget", user, gone, "--reason", "no more "+word)
	d.work()
	// Failed jobs record the reason, and jobs that walk over all users record where they stopped.
	d.ok("remember", user, "Waits in "+word)
	for _, sql := range []string{
		`update oxbow.river_job
			set state = 'discarded', finalized_at = now(), errors = array[jsonb_build_object('error',
			'cannot embed ' || $2::text || ' of ' || $1::text)]
		  where args ->> 'user_id' = $1::text and state = 'available'`,
		`insert into oxbow.llm_calls (user_id, purpose, model, attempt, started_at, latency, error)
			values ($1::text, 'reflect', 'm', 1, now(), '1.5 seconds', $2::text)`,
		`insert into oxbow.embedding_refusals (user_id, memory_type, memory_id, model, reason)
			select user_id, memory_type, id, 'm', $2::text from oxbow.memories where user_id = $1::text limit 1`,
	} {
		d.exec(sql, user, word)
	}
	for _, says := range []string{fmt.Sprintf("user %s: %s", user, word), fmt.Sprintf("user %q: %s", user, word)} {
		d.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args, errors, state, finalized_at)
			select kind, 'default', 1, '{}', array[jsonb_build_object('error', $1::text)], 'discarded', now()
			  from unnest(array['sweep', 'settle', 'flush_activity', 'consistency_check', 'sensory', 'vector_index']) `+
			`kind`, says)
	}
	for key, value := range map[string]string{
		"sweep.inbox": `%s`, "sweep.stats": `%s`, "sweep.reviews": `%s`, "sweep.entities": `%s`,
		"sweep.walk":     `{"user_id": %s, "memory_type": "fact", "id": "00000000-0000-4000-8000-000000000001"}`,
		"sweep.messages": `{"user_id": %s, "session_id": "s"}`,
		"reembed":        `{"model": "m", "dimension": 8, "cursor": {"user_id": %s}}`,
		"consistency":    `{"users": 3, "after": %s}`,
		"import_v1":      `{"refusals": [{"id": "00000000-0000-4000-8000-000000000001", "reason": "r", "detail": %s}]}`,
	} {
		d.exec(`insert into oxbow.settings (key, value) values ($1::text, format($2::text, to_jsonb($3::text))::jsonb)
			on conflict (key) do update set value = excluded.value`, key, value, user)
	}
	return trait
}

// After erasing a user with data of every kind, a dump of the whole database contains neither the user's id nor their
// words, in any language, but all data of other users.
func TestErasedUserIsInNoDump(t *testing.T) {
	t.Parallel()
	for user, word := range map[string]string{"Zebedee Zed": "Quokkaville", "小明珠": "翡翠湾", `o'"\x`: "Zyzzyvas"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			d := onDatabase(t)
			d.exec(`insert into oxbow.memories (user_id, content) values ('bob', 'Bob keeps bees.')`)
			d.live(user, word)
			// Words are stemmed, and Chinese words are split into pairs.
			traces := []string{strings.ToLower(user), strings.ToLower(word)[:6]}
			before := tablesWith(d.pgDump(), traces...)
			for _, table := range []string{"memories_fact", "memories_episodic", "memories_trait", "memories_document",
				"memory_terms_fact", "memory_history",
				"memory_sources", "messages", "sessions", "users", "trait_evidence", "trait_events", "entities",
				"document_files", "sensory_candidates", "river_job", "llm_calls", "embedding_refusals"} {
				if strings.Contains(user, "o'") && table == "river_job" {
					continue // the dump quotes it differently
				}
				require.Contains(t, before, table, "the life has nothing there")
			}
			if user == "Zebedee Zed" {
				require.Contains(t, before, "settings")
			}

			receipt := decoded[oxbow.Receipt](t, d.ok("erase", user, "--yes", "--json"))
			require.Equal(t, "user", receipt.Kind)
			require.Greater(t, receipt.Rows(), int64(100))
			dump := d.pgDump()
			require.Empty(t, tablesWith(dump, traces...))
			require.NotContains(t, dump, strings.ToLower(word)[:6])
			require.NotContains(t, dump, strings.ToLower(receipt.Proof))
			require.Contains(t, dump, receipt.ID.String())
			require.Contains(t, dump, "bob keeps bees.")
			quoted := strings.Trim(strings.ToLower(fmt.Sprintf("%q", user)), `"`)
			require.NotContains(t, dump, quoted)
			require.NotContains(t, dump, strings.ReplaceAll(quoted, `\`, `\\`), "as COPY writes it")

			d.work() // nothing reappears
			require.Empty(t, tablesWith(d.pgDump(), traces...))
			shown := d.ok("erase", user, "--receipt", receipt.Proof)
			require.Contains(t, shown, "Erased user ")
			require.Contains(t, shown, "Receipt "+receipt.ID.String()+" of "+receipt.At.UTC().Format(
				time.DateTime)+" UTC")
			r := d.run("erase", "bob", "--receipt", receipt.Proof)
			require.Equal(t, exitFailed, r.code)
			require.Contains(t, r.err, "no such receipt")
			require.Equal(t, exitFailed, d.run("erase", "bob", "--receipt", "too short").code)
		})
	}
}

// Erasing one memory also removes what was derived from it: the trait based on it alone, its
// conversation's summary, its history and its jobs.
func TestErasedMemoryIsInNoDump(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"Quokkaville", "翡翠湾"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			d := onDatabase(t)
			d.exec(`insert into oxbow.messages (user_id, session_id, speaker, content)
				select 'ann', 's1', 'Ann', 'We talked about boat number ' || n from generate_series(1, 40) n`)
			d.ok("end-session", "ann", "s1")
			d.work()
			other := d.number(`select count(*) from oxbow.memories where source <> 'summary'`)
			secret := d.ok("remember", "ann", "Ann's secret is kept in "+word+" 。", "--session", "s1", "--external-id",
				word)
			summaries := d.number(`select count(*) from oxbow.memories where source = 'summary'`)
			require.Positive(t, summaries)
			d.exec(`update oxbow.memories
				set metadata = jsonb_build_object('entities', jsonb_build_array(jsonb_build_object('name',
				$1::text, 'kind',
				'place'))) where id = $2::text::uuid`, word, secret)
			// A summary and a trait that may repeat the memory.
			summary := d.text(`select id::text from oxbow.memories where source = 'summary' and expired_at is null`)
			d.exec(`select oxbow.supersede('ann', $1::text::uuid, 'They spoke about ' || $2)`, summary, word)
			d.work()
			d.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id)
				select 'ann', 'episodic', 'I went climbing with friends, number ' || n,
				'2025-03-01 15:30+00'::timestamptz + n * interval '10 days', 'chat ' || n from generate_series(1, 5) n`)
			d.work()
			d.ok("reflect", "ann", "--now", "2025-06-01")
			trait := decoded[[]oxbow.Trait](t, d.ok("traits", "ann", "--json"))[0].ID.String()
			confidence := d.text(`select trait_confidence::text from oxbow.memories_trait where id = $1::text::uuid`,
				trait)
			d.exec(`insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
				session_key,
				observed_at, timezone, event_seq)
				select 'ann', $1::text::uuid, 'supporting', 'fact', $2::text::uuid, 'B', 's1', now(), 'UTC',
				max(seq) + 1
				from oxbow.trait_events where trait_id = $1::text::uuid`, trait, secret)
			d.exec(`insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, memories, reason,
				subtype,
				confidence, stage)
				select user_id, trait_id, seq + 1, 'reinforced', at, 0.2, 1, 'because of ' || $2, subtype, confidence,
				stage
				  from oxbow.trait_events where trait_id = $1::text::uuid order by seq desc limit 1`, trait, word)
			d.exec(`update oxbow.memories_trait m set trait_confidence = 0.99 where id = $1::text::uuid`, trait)
			d.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args, errors, state, finalized_at)
				values ('embed', 'embed', 1, jsonb_build_object('user_id', 'ann', 'ids', $1::text),
				array[jsonb_build_object('error', 'cannot embed ' || $2)], 'discarded', now())`, secret, word)
			d.exec(`insert into oxbow.settings (key, value)
				values ('sweep.walk', jsonb_build_object('user_id', 'ann', 'memory_type', 'fact', 'id', $1::text))
				on conflict (key) do update set value = excluded.value`, secret)
			traces := []string{strings.ToLower(word)[:6], secret}
			before := tablesWith(d.pgDump(), traces...)
			for _, table := range []string{"memories_fact", "memories_episodic", "memory_terms_fact", "memory_history",
				"entities", "river_job", "settings", "trait_evidence", "trait_events"} {
				require.Contains(t, before, table)
			}

			receipt := decoded[oxbow.Receipt](t, d.ok("erase", "--memory", secret, "--user", "ann", "--yes", "--json"))
			require.Equal(t, "memory", receipt.Kind)
			require.Contains(t, receipt.Erased, oxbow.Erased{Table: "memories", Rows: 3},
				"itself and both versions of the summary")
			require.Empty(t, tablesWith(d.pgDump(), traces...))
			require.Zero(t, d.number(`select count(*) from oxbow.memories where source = 'summary'`))
			require.Equal(t, confidence,
				d.text(`select trait_confidence::text from oxbow.memories_trait where id = $1::text::uuid`, trait),
				"replayed without the evidence")
			require.Equal(t, other+5, d.number(`select count(*) from oxbow.memories where memory_type <> 'trait' and source is distinct from 'abstract'`),
				"others' stay")
			d.ok("check")
			require.Contains(t, d.ok("erase", "--memory", secret, "--user", "ann", "--receipt", receipt.Proof),
				"Erased memory "+secret+": ")
		})
	}
}
