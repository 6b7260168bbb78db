package worker

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/molt"
)

var updateAcceptance = flag.Bool("update", false, "write docs/acceptance.md")

// acceptance is a row of docs/acceptance.md: what a seed demands, and what was measured.
type acceptance struct {
	seed, demands string
	measure       func(b *bundle) string
}

// figures reads one number of each of several queries and returns them as text.
func (b *bundle) figures(format string, queries ...string) string {
	b.Helper()
	values := make([]any, len(queries))
	for i, query := range queries {
		values[i] = get[float64](b, query)
	}
	return fmt.Sprintf(format, values...)
}

// aged stores an episode and returns the query of a factor of its weight after some days.
func (b *bundle) aged(category string) func(factor string, days int) string {
	b.Helper()
	id := uuid.New()
	b.exec(`insert into oxbow.memories (user_id, memory_type, id, content, category, created_at)
		values ('ann', 'episodic', $1::uuid, 'The boat was painted ' || $1::uuid::text, nullif($2, ''), now())`, id, category)
	return func(factor string, days int) string {
		return fmt.Sprintf(`select w.%s from oxbow.weight('ann', '%s', now() + interval '%d days') w`, factor, id, days)
	}
}

// mentioned returns a query of a factor of a memory that was mentioned n times within the last n minutes, days later.
func mentioned(function string, n, days int) string {
	return fmt.Sprintf(`select oxbow.weight_%s(array(select row(now() - n * interval '1 minute', false)::oxbow.mention
		from generate_series(0, %d) n), now() + interval '%d days', oxbow.recall_rules('ann', 'infinity'))`, function, n-1, days)
}

// negated returns a query of the conflict factor some days after a negation, with the curve that W prints.
func negated(days int) string {
	return fmt.Sprintf(`select oxbow.weight_conflict(now() - interval '%d days', now(), jsonb_populate_record(
		oxbow.recall_rules('ann', 'infinity'), '{"weight_conflict_fade": 1}'))`, days)
}

// strength returns a query of the strength of a memory without use.
func strength(source string, value float64, days int) string {
	return fmt.Sprintf(`select oxbow.strength_now(%g, now() - interval '%d days', 'normal', '%s', now(),
		oxbow.recall_rules('ann', 'infinity'))`, value, days, source)
}

// confidence returns a query of the confidence of a trait, from 0.8, after 100 days.
func confidence(subtype string, cycles int) string {
	return fmt.Sprintf(`select oxbow.trait_confidence_at(0.8, '%s', %d, now() - interval '100 days', now(),
		oxbow.trait_rules())`, subtype, cycles)
}

// recallRank asks each question, reports the old memory as used, and returns the mean reciprocal rank.
func (b *bundle) recallRank(questions []string) (sum float64) {
	b.Helper()
	for _, question := range questions {
		var recalled, used []uuid.UUID
		require.NoError(b, b.pool.QueryRow(b.Context(), `
			select array_agg(id order by nth), array_agg(id) filter (where content like '%harbour%')
			  from (select r.id, r.content, row_number() over () as nth from oxbow.recall('ann', $1) r) r`, question).
			Scan(&recalled, &used))
		b.exec(`select oxbow.answered('ann', $1, $2, $3)`, question, recalled, used)
		sum += molt.Measure(molt.MRR, recalled, used) / float64(len(questions))
	}
	return sum
}

// accepted are the rows, in the order of the seeds.
var accepted = []acceptance{
	{"U §11", "the importance of an episode falls by itself", func(b *bundle) string {
		at := b.aged("")
		require.Greater(b, get[float64](b, at("weight", 0)), get[float64](b, at("weight", 30)))
		return b.figures("weight %.2f new, %.2f after 30 days, %.2f after 180", at("weight", 0), at("weight", 30),
			at("weight", 180))
	}},
	{"U §11", "a memory that is used often becomes stronger", func(b *bundle) string {
		at := b.aged("")
		before := get[float64](b, at("weight", 0))
		for range 3 {
			b.exec(`select oxbow.touch('ann', array_agg(id)) from oxbow.memories where user_id = 'ann'`)
		}
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('flush_activity', 'default', 1, '{}')`)
		b.work()
		require.Greater(b, get[float64](b, at("weight", 0)), before)
		return fmt.Sprintf("weight %.2f, after three uses %.2f", before, get[float64](b, at("weight", 0)))
	}},
	{"U §11", "dense fragments of one topic become a conclusion", func(b *bundle) string {
		notes := []string{"Went running along the canal", "I was running before breakfast", "A long run: I ran ten kilometres"}
		for i, note := range notes {
			b.note("ann", note, fmt.Sprintf("2026-10-%02d 06:30Z", 4+7*i), "")
		}
		b.work()
		require.Empty(b, b.conclusions("ann"))
		b.note("ann", "Went running again", "2026-10-25 06:30Z", "")
		b.others("ann")
		b.work()
		require.Len(b, b.conclusions("ann"), 1)
		return "none from 3 memories, one from 4"
	}},
	{"U §11", "conflicting conclusions of different sources both stay", func(b *bundle) string {
		for i := range 5 {
			b.note("ann", fmt.Sprintf("The user goes running before work %d", i), fmt.Sprintf("2026-10-%02d 10:00Z", i+1), "coach")
		}
		b.work()
		b.note("ann", "The user gave up running", "2026-10-10 10:00Z", "diary")
		b.others("ann")
		b.work()
		require.Len(b, b.conclusions("ann"), 2)
		return fmt.Sprintf("%d conclusions, each names the other",
			b.count(`oxbow.conclusions_of('ann') where cardinality(conflicts) = 1`))
	}},
	{"U §11", "a change of policies improves the figure of recall", func(b *bundle) string {
		var questions []string
		for i := range 24 {
			one, other := fmt.Sprintf("Qa%cr%ck", 'a'+i, 'z'-i), fmt.Sprintf("Wo%cl%cm", 'a'+i, 'z'-i)
			questions = append(questions, one+" "+other)
			b.exec(`insert into oxbow.memories (user_id, content, created_at, valid_at)
				values ('ann', $1, now() - interval '300 days', now() - interval '300 days')`, one+" harbour "+other)
			for n := range 5 {
				b.exec(`insert into oxbow.memories (user_id, content, created_at, valid_at)
					values ('ann', $1, now() - $2 * interval '1 hour', now() - $2 * interval '1 hour')`,
					fmt.Sprintf("%s lantern Zu%c%cx", one, 'a'+n, 'a'+i), i+n)
			}
		}
		b.exec(`delete from oxbow.river_job`)
		b.exec(`select oxbow.index_memories(array['ann'], array(select id from oxbow.memories where user_id = 'ann'))`)
		for policy, value := range map[string]float64{"molt_mode": 2, "molt_answers": 20, "recall_recency": 6} {
			b.exec(`select oxbow.set_policy($1, $2)`, policy, value)
		}
		before := b.recallRank(questions)
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('molt', 'default', 1, '{}')`)
		require.NoError(b, b.drain())
		after := b.recallRank(questions)
		require.Greater(b, after, before)
		return fmt.Sprintf("mean reciprocal rank %.2f, after the change %.2f", before, after)
	}},
	{"U §11", "why a memory is kept, the events it is from, and when it expires or became stronger", func(b *bundle) string {
		b.note("ann", "The boat is green", "2026-10-04 06:30Z", "")
		b.work()
		id := get[uuid.UUID](b, `select id from oxbow.memories where user_id = 'ann'`)
		b.exec(`select oxbow.touch('ann', array[$1::uuid])`, id)
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('flush_activity', 'default', 1, '{}')`)
		b.work()
		said := get[[]string](b, `select array_agg(distinct aspect order by aspect) from oxbow.why('ann', $1)`, id)
		require.Subset(b, said, []string{"origin", "kept", "used", "fades"})
		return "sentences about " + strings.Join(said, ", ")
	}},
	{"W", "identity fades more slowly than what is temporary: 0.4545 and 0.3077 after 180 days", func(b *bundle) string {
		return b.figures("%.4f and %.4f", b.aged("identity")(`"time"`, 180), b.aged("temporary")(`"time"`, 180))
	}},
	{"W", "a mention strengthens: 1.50, 1.35 after 7 days, 1.11 after 30", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f", mentioned("reinforcement", 1, 0), mentioned("reinforcement", 1, 7),
			mentioned("reinforcement", 1, 30))
	}},
	{"W", "a negation, by the printed curve: 1.00, 0.82 after 30 days, 0.58 after 90", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f", negated(0), negated(30), negated(90))
	}},
	{"W", "the momentum is limited: 3 mentions 1.23, 10 mentions 1.30", func(b *bundle) string {
		return b.figures("%.2f, %.2f", mentioned("momentum", 3, 0), mentioned("momentum", 10, 0))
	}},
	{"L", "strength × 0.95 after 7 days without use, summaries × 0.8, none from 3.0 on", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f", strength("", 1, 7), strength("summary", 1, 7), strength("", 3, 70))
	}},
	{"C §4.2", "a behavior decays by 0.005 a day, half as fast after 10 cycles, a core trait by 0.001", func(b *bundle) string {
		return b.figures("0.8 falls in 100 days to %.3f, %.3f, %.3f", confidence("behavior", 0), confidence("behavior", 10),
			confidence("core", 0))
	}},
	{"C §8.2", "recall prefers emerging, established and core traits by 0.05, 0.15 and 0.25", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f", `select oxbow.policy('recall_emerging')`,
			`select oxbow.policy('recall_established')`, `select oxbow.policy('recall_core')`)
	}},
}

// TestAcceptance measures what the seeds demand, and compares the page docs/acceptance.md with it. -update writes it.
func TestAcceptance(t *testing.T) {
	lines := make([]string, len(accepted))
	t.Run("rows", func(t *testing.T) {
		for i, a := range accepted {
			t.Run(strings.NewReplacer(" ", "_", "/", "_").Replace(a.seed+" "+a.demands), func(t *testing.T) {
				lines[i] = fmt.Sprintf("| %s | %s | %s |\n", a.seed, a.demands, a.measure(setup(t)))
			})
		}
	})
	if t.Failed() {
		return
	}
	page := `# What the design demands, measured

The design of Oxbow rests on five documents: U (the unified specification), C (classification), S (storage), W (weights)
and L (layered companion). This page has what they demand in figures or as a test, and what the test
` + "`TestAcceptance`" + ` in ` + "`worker/acceptance_test.go`" + ` measured. The test writes the page, and fails if it would differ:

` + "```sh\ngo test ./worker -run TestAcceptance -update\n```" + `

| source | what it demands | measured |
|---|---|---|
` + strings.Join(lines, "")
	const name = "../docs/acceptance.md"
	if *updateAcceptance {
		require.NoError(t, os.WriteFile(name, []byte(page), 0o644))
	}
	kept, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(kept), page, "run go test ./worker -run TestAcceptance -update")
}
