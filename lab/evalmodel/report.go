package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/doctor"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// calls is what was asked for one purpose.
type calls struct {
	Purpose    string
	Asked      int     // questions
	Once       int     // answered with the first answer
	Repaired   int     // answered with the second
	In         float64 // tokens of prompts
	Out        float64 // tokens of answers
	PromptSize float64 // median tokens
	Seconds    float64
	Median     float64
	Slowest    float64
}

func (r *run) report(out io.Writer, took time.Duration) {
	fmt.Fprintf(out, "%d messages in %.0f s.\n", r.messages, took.Seconds())
	if len(r.reasoner) > 0 {
		r.requests(out)
	}
	for _, made := range []struct{ what, sql string }{
		{"facts and episodes", `select count(*) from oxbow.memories where memory_type in ('fact', 'episodic')
		                         and exists (select from oxbow.memory_sources s where s.user_id = memories.user_id and s.memory_id = memories.id)`},
		{"summaries", `select count(*) from oxbow.sessions where summary_id is not null`},
		{"traits", `select count(*) from oxbow.memories_trait`},
		{"feedback signals", `select count(*) from oxbow.feedback_signals`},
	} {
		fmt.Fprintf(out, "%d %s. ", number[int64](r, made.sql), made.what)
	}
	fmt.Fprintln(out)
}

// requests prints how the model answered.
func (r *run) requests(out io.Writer) {
	all := must.Get(pgx.CollectRows(must.Get(r.pool.Query(r.ctx, `
		select coalesce(purpose, 'all') as purpose, count(*) filter (where attempt = 1)::int as asked,
		       count(*) filter (where attempt = 1 and error is null)::int as once,
		       count(*) filter (where attempt = 2 and error is null)::int as repaired,
		       sum(prompt_tokens)::float8 as "in", sum(completion_tokens)::float8 as out,
		       coalesce(percentile_disc(0.5) within group (order by prompt_tokens) filter (where attempt = 1), 0)::float8
		         as prompt_size,
		       sum(extract(epoch from latency))::float8 as seconds,
		       percentile_cont(0.5) within group (order by extract(epoch from latency)) as median,
		       max(extract(epoch from latency))::float8 as slowest
		  from oxbow.llm_calls group by grouping sets (purpose, ()) order by llm_calls.purpose`)), pgx.RowToStructByName[calls]))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "| request\t| asked\t| usable at once\t| after the repair\t| prompt, median\t| fixed\t| schema\t"+
		"| tokens in\t| out\t| s each, median\t| longest\t| s\t|")
	fmt.Fprintln(t, strings.Repeat("|---\t", 12)+"|")
	var sum fixed
	for _, c := range all {
		same := r.served.fixed[c.Purpose]
		sum.Prompt, sum.Schema = sum.Prompt+same.Prompt, sum.Schema+same.Schema
		if c.Purpose == "all" {
			same = sum
		}
		fmt.Fprintf(t, "| %s\t| %d\t| %d %%\t| %d %%\t| %.0f\t| %d\t| %d\t| %.0f\t| %.0f\t| %.1f\t| %.1f\t| %.0f\t|\n", c.Purpose,
			c.Asked, percent(c.Once, c.Asked), percent(c.Once+c.Repaired, c.Asked), c.PromptSize, same.Prompt, same.Schema,
			c.In, c.Out, c.Median, c.Slowest, c.Seconds)
	}
	must.OK(t.Flush())
	n := float64(r.messages)
	fmt.Fprintf(out, "%.0f tokens in and %.0f out for each message.\n", all[len(all)-1].In/n, all[len(all)-1].Out/n)
}

func percent(n, of int) int { return (100*n + of/2) / max(of, 1) }

// verify prints what was refused, and returns an error if a job or message is stuck, a row is invalid, or something is not
// recorded.
func (r *run) verify(out io.Writer) (err error) {
	err = errors.Join(r.refusals(out), r.costs(out))
	for _, stuck := range []struct{ what, sql string }{
		{"jobs that did not end", `select count(*) from oxbow.river_job where state not in ('completed', 'cancelled')`},
		{"messages not extracted", `select count(*) from oxbow.messages where extracted_at is null`},
	} {
		n := number[int64](r, stuck.sql)
		fmt.Fprintf(out, "%d %s.\n", n, stuck.what)
		if n > 0 {
			err = errors.Join(err, fmt.Errorf("%d %s", n, stuck.what))
		}
	}
	checked, wrong := r.oxbow(nil, "check")
	fmt.Fprint(out, checked)
	return errors.Join(err, wrong, r.diagnosed(out))
}

var quoted = regexp.MustCompile(`"[^"]*"|\d+`)

// refusals prints why parts of answers were refused, and returns an error if the log lacks some.
func (r *run) refusals(out io.Writer) error {
	reasons, logged, total := map[string]int{}, map[string]int{}, 0
	for line := range strings.Lines(r.log.String()) {
		message, attributes, ok := strings.Cut(line, "dropped a p")
		if !ok || !strings.Contains(message, "msg=") {
			continue
		}
		purpose := "extract"
		if _, after, ok := strings.Cut(attributes, "purpose="); ok {
			purpose, _, _ = strings.Cut(after, " ")
		}
		_, reason, _ := strings.Cut(strings.TrimSpace(attributes), "reason=")
		if unquoted, err := strconv.Unquote(reason); err == nil {
			reason = unquoted
		}
		if compared := comparable[purpose]; compared != nil && compared.MatchString(reason) {
			logged[purpose]++
		}
		reasons[purpose+": "+quoted.ReplaceAllString(reason, "…")]++
		total++
	}
	dropped := must.Get(pgx.CollectRows(must.Get(r.pool.Query(r.ctx,
		`select d ->> 'reason' from oxbow.reflection_cycles, jsonb_array_elements(dropped) d`)), pgx.RowTo[string]))
	for _, reason := range dropped {
		if comparable["reflect"].MatchString(reason) {
			logged["reflect"]++
		}
		reasons["reflect: "+quoted.ReplaceAllString(reason, "…")]++
	}
	fmt.Fprintf(out, "%d refusals in the log, and %d in the cycles of reflections:\n", total, len(dropped))
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(out, "  %d × %s\n", reasons[reason], reason)
	}
	if r.served.tokens.Answers == 0 { // what the rules refuse is not part of an answer
		return nil
	}
	var err error
	for _, purpose := range slices.Sorted(maps.Keys(comparable)) {
		fmt.Fprintf(out, "%s: %d parts of the answers had to be refused for reasons to compare, %d are recorded.\n", purpose,
			r.served.refused[purpose], logged[purpose])
		if logged[purpose] != r.served.refused[purpose] {
			err = errors.Join(err, fmt.Errorf("%s: not all refusals are recorded", purpose))
		}
	}
	return err
}

// costs returns an error if answers of the server or their tokens are not recorded.
func (r *run) costs(out io.Writer) error {
	recorded := must.Get(pgx.CollectExactlyOneRow(must.Get(r.pool.Query(r.ctx, `
		select count(*) filter (where completion_tokens > 0)::int, coalesce(sum(prompt_tokens), 0)::int,
		       coalesce(sum(completion_tokens), 0)::int from oxbow.llm_calls`)), pgx.RowToStructByPos[tokens]))
	s := r.served.tokens
	fmt.Fprintf(out, "The server gave %d answers to %d tokens in %d tokens, of which %d, %d and %d are recorded.\n",
		s.Answers, s.In, s.Out, recorded.Answers, recorded.In, recorded.Out)
	if s != recorded {
		return errors.New("not all answers are recorded")
	}
	return nil
}

// diagnosed prints what the doctor found, and returns an error if anything is wrong but the settings of the server, which
// is a test's.
func (r *run) diagnosed(out io.Writer) error {
	var examined struct{ Findings []doctor.Finding }
	if err := json.Unmarshal([]byte(r.health), &examined); err != nil {
		return fmt.Errorf("oxbow doctor: %w", err)
	}
	bad := 0
	for _, f := range examined.Findings {
		if f.About != "settings" && (f.Level == doctor.LevelError || f.Level == doctor.LevelWarning) {
			bad++
			fmt.Fprintf(out, "The doctor: %s: %s.\n", f.About, f.What)
		}
	}
	if bad > 0 {
		return fmt.Errorf("the doctor found %d problems", bad)
	}
	fmt.Fprintf(out, "The doctor found no problems among %d parts.\n", len(examined.Findings))
	return nil
}
