package worker

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
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

// recorded returns a figure that a page of the documentation has. figure is a regular expression; its groups are the
// values of format.
func recorded(page, format, figure string) func(*bundle) string {
	return func(b *bundle) string {
		b.Helper()
		text, err := os.ReadFile("../docs/" + page + ".md")
		require.NoError(b, err)
		found := regexp.MustCompile(figure).FindStringSubmatch(strings.ReplaceAll(string(text), "\n", " "))
		require.NotNil(b, found, "docs/%s.md has no %s", page, figure)
		values := make([]any, len(found)-1)
		for i, v := range found[1:] {
			values[i] = v
		}
		return fmt.Sprintf(format, values...) + fmt.Sprintf(" ([%s](%s.md))", page, page)
	}
}

// decided returns why something is not done or measured. The page of decisions has the entry.
func decided(reason, entry string) func(*bundle) string {
	return recorded("decisions", "no: "+strings.ReplaceAll(reason, "%", "%%"), regexp.QuoteMeta(entry))
}

// met logs a figure that differs from machine to machine, and returns whether it meets its aim.
func (b *bundle) met(aim string, met bool, format string, figure ...any) string {
	b.Helper()
	b.Logf(format, figure...)
	require.True(b, met, format, figure)
	return "met: " + aim
}

// said returns the texts of a query in one line.
func (b *bundle) said(query string, args ...any) string {
	b.Helper()
	return get[string](b, "select coalesce(string_agg(t, ', '), 'nothing') from ("+query+") q(t)", args...)
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

// complaints judges an answer that rests on one memory: weakly, surely, surely again. It returns the strength of the
// memory after each, and after the adjustment was undone.
func (b *bundle) complaints() (strengths []any) {
	b.Helper()
	id := b.insert("ann", "Ann rows")[0]
	note := func() {
		strengths = append(strengths, get[string](b, `select round(strength::numeric, 2)::text from oxbow.memories where id = $1`, id))
	}
	for _, confidence := range []float64{0.5, 0.8, 0.8} {
		b.exec(`with s as (insert into oxbow.feedback_signals (user_id, source, kind, type, confidence, targets)
			values ('ann', 'judge', 'correction', 'negative', $1, '{final_answer}') returning id)
			insert into oxbow.feedback_subjects (user_id, signal_id, memory_type, memory_id, share)
			select 'ann', id, 'episodic', $2, 1 from s`, confidence, id)
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('dispatch', 'default', 1, '{}')`)
		require.NoError(b, b.drain())
		note()
	}
	b.exec(`select oxbow.rollback('ann', id) from oxbow.adjustments`)
	note()
	return strengths
}

// accepted are the rows of the page, by document.
var accepted = slices.Concat(acceptedU, acceptedC, acceptedS, acceptedWeights)

var acceptedU = []acceptance{
	{"U §2", "the sensory stream is not embedded, and ends by itself", func(b *bundle) string {
		b.exec(`update oxbow.settings set value = '{"days": 9}' where key = 'sensory'`)
		b.exec(`insert into oxbow.sensory (user_id, content, at) values ('ann', 'today', now()),
			('ann', 'last week', now() - interval '7 days')`)
		b.sense()
		b.exec(`update oxbow.settings set value = '{"days": 3}' where key = 'sensory'`)
		b.sense()
		return fmt.Sprintf("%d jobs embed; of the input of today and of last week it holds that of %s", b.count(`oxbow.river_job where kind = 'embed'`),
			b.said(`select content from oxbow.sensory`))
	}},
	{"U §2", "working memory holds 7 ± 2 items", func(b *bundle) string {
		var taken []string
		for capacity := range 20 {
			if _, err := oxbow.NewWorkingMemory("ann", "s1", capacity); capacity > 0 && err == nil {
				taken = append(taken, fmt.Sprint(capacity))
			}
		}
		w, err := oxbow.NewWorkingMemory("ann", "s1", 0)
		require.NoError(b, err)
		for i := range 20 {
			_, err := w.Add(oxbow.WorkingItem{Content: fmt.Sprint("topic ", i)})
			require.NoError(b, err)
		}
		return fmt.Sprintf("%d of 20; %s are possible", len(w.Items()), strings.Join(taken, ", "))
	}},
	{"U §5", "a signal below the threshold is left out, one signal changes no memory, signals that agree do", func(b *bundle) string {
		return fmt.Sprintf("strength after a weak one %s, a sure one %s, another %s; taken back %s", b.complaints()...)
	}},
	{"U §6", "a wrong memory does not come back", recorded("feedback", "for the same question %s and %s complained of",
		`for the same question \| (\d+ of \d+) \| (\d+ of \d+)`)},
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
` + "`TestAcceptance`" + ` in ` + "`worker/acceptance_test.go`" + ` measured. Where a measurement takes
longer, the figure is that of the page that the row names, which has the command too. Decisions against a demand have
their reasons in [decisions](decisions.md). The test writes this page, and fails if it would differ:

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
