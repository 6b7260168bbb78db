package pages

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/doctor"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// operatorRoutes are the operator's pages. They run as oxbow_operator. Those that show a user's data name the user in
// visit.about, for the log.
var operatorRoutes = []route{
	{"GET /operator", store.RoleOperator, "", "queue", (*Site).operate},
	{"GET /operator/problems", store.RoleOperator, "", "problems", (*Site).problems},
	{"POST /operator/jobs/{job}/retry", store.RoleOperator, "", "problems", (*Site).retryJob},
	{"POST /operator/jobs/retry", store.RoleOperator, "", "problems", (*Site).retryKind},
	{"GET /operator/history", store.RoleOperator, "", "history", (*Site).history},
	{"GET /operator/reviews", store.RoleOperator, "list-traits", "reviews", (*Site).reviews},
	{"GET /operator/recall", store.RoleOperator, "recall", "recall", (*Site).debugRecall},
	{"GET /operator/users", store.RoleOperator, "", "users", (*Site).users},
	{"GET /operator/user", store.RoleOperator, "list-log", "users", (*Site).user},
	{"GET /operator/molt", store.RoleOperator, "", "molt", (*Site).molt},
	{"POST /operator/molt/mode", store.RoleOperator, "", "molt", (*Site).setMoltMode},
	{"POST /operator/molt/{version}/adopt", store.RoleOperator, "", "molt", moltChange("adopted", store.AdoptStrategy)},
	{"POST /operator/molt/{version}/rollback", store.RoleOperator, "", "molt",
		moltChange("rolled_back", store.RollbackStrategy)},
	{"GET /operator/patterns", store.RoleOperator, "", "patterns", (*Site).patterns},
	{"GET /operator/webhooks", store.RoleOperator, "", "webhooks", (*Site).webhooks},
	{"POST /operator/webhooks", store.RoleOperator, "", "webhooks", (*Site).addWebhook},
	{"POST /operator/webhooks/{id}/pause", store.RoleOperator, "", "webhooks", webhookChange("webhook_paused", pauseWebhook)},
	{"POST /operator/webhooks/{id}/resume", store.RoleOperator, "", "webhooks",
		webhookChange("webhook_resumed", resumeWebhook)},
	{"POST /operator/webhooks/{id}/remove", store.RoleOperator, "", "webhooks",
		webhookChange("webhook_removed", store.DeleteWebhook)},
	{"GET /operator/keys", store.RoleOperator, "", "keys", (*Site).keys},
	{"POST /operator/keys/{id}/revoke", store.RoleOperator, "", "keys", (*Site).revokeKey},
}

var operatorSections = []section{{"queue", "/operator"}, {"problems", "/operator/problems"},
	{"history", "/operator/history"}, {"reviews", "/operator/reviews"}, {"recall", "/operator/recall"},
	{"molt", "/operator/molt"}, {"patterns", "/operator/patterns"}, {"webhooks", "/operator/webhooks"},
	{"users", "/operator/users"}, {"keys", "/operator/keys"}}

// pulsePeriod is the time for which the queue's page counts completed jobs. They are kept for at least twice as long.
const pulsePeriod = 5 * time.Minute

// queueView is the page of the queue.
type queueView struct {
	gauges.Pulse
	Kinds            []gauges.KindPulse
	Jobs             map[string]int64 // by state
	DueSeconds       float64          // the longest that a job has been due
	Errors, Warnings int              // of the last examination
	Chart            template.HTML
}

// operate shows the queue.
func (s *Site) operate(v *visit) error {
	q := queueView{Jobs: map[string]int64{}}
	var err error
	if q.Pulse, err = gauges.ReadPulse(v.Context(), s.Operators, pulsePeriod); err != nil {
		return err
	}
	q.Kinds = q.Pulse.Kinds()
	for _, k := range q.Kinds {
		q.DueSeconds = max(q.DueSeconds, k.DueSeconds)
		for state, n := range k.Jobs {
			q.Jobs[state] += n
		}
	}
	found, _, err := s.findings(v.Context())
	if err != nil {
		return err
	}
	for _, f := range found {
		switch f.Level {
		case doctor.LevelError:
			q.Errors++
		case doctor.LevelWarning:
			q.Warnings++
		}
	}
	done, err := gauges.ReadThroughput(v.Context(), s.Operators, throughputMinutes)
	if err != nil {
		return err
	}
	q.Chart = throughput(v, done, q.At)
	return v.render("operator", q)
}

// throughputMinutes is how far back the chart of completed jobs goes.
const throughputMinutes = 10

// throughput draws the number of jobs completed in each minute.
func throughput(v *visit, done []float64, now time.Time) template.HTML {
	c := newSeriesChart("throughput", v.words.T("op_throughput"))
	c.date = func(at time.Time) string {
		if at.Equal(now) {
			return v.words.T("op_now")
		}
		return v.words.T("op_minutes_ago", int(now.Sub(at).Minutes()+0.5))
	}
	for i := range done {
		c.times = append(c.times, now.Add(-time.Duration(len(done)-1-i)*time.Minute))
	}
	return c.draw([]namedSeries{{v.words.T("op_jobs_done"), done}})
}

// examined is the last result of doctor.
type examined struct {
	mu    sync.Mutex
	at    time.Time
	found []doctor.Finding
}

// examineEvery is how long the findings of doctor are shown before the next examination.
const examineEvery = time.Minute

// findings returns what doctor finds, the worst first, and when. It examines the database at most once a minute.
func (s *Site) findings(ctx context.Context) ([]doctor.Finding, time.Time, error) {
	s.examined.mu.Lock()
	defer s.examined.mu.Unlock()
	if time.Since(s.examined.at) > examineEvery {
		want := doctor.Expected{Model: s.Model}
		for _, x := range migrations.Indexes() {
			want.Indexes = append(want.Indexes, doctor.ExpectedIndex(x))
		}
		found := doctor.Examine(ctx, s.Operators, want)
		if ctx.Err() != nil {
			return nil, time.Time{}, ctx.Err()
		}
		levels := []doctor.Level{doctor.LevelError, doctor.LevelWarning, doctor.LevelAdvice, doctor.LevelUnseen, doctor.LevelOK}
		slices.SortStableFunc(found, func(a, b doctor.Finding) int {
			return cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level))
		})
		s.examined.found, s.examined.at = found, time.Now()
	}
	return s.examined.found, s.examined.at, nil
}

// problemsView is the page of problems.
type problemsView struct {
	Found, Fine []doctor.Finding
	At          time.Time
	Failed      []failedKind
	Running     []gauges.RunningJob
	Next        int64 // the parameter before of the next page
}

// failedKind is a kind with jobs that failed, and doctor's advice about them.
type failedKind struct {
	Kind    string
	Advice  []doctor.Finding
	Jobs    []store.QueuedJob
	GivenUp int // of Jobs
}

// failedPage is how many failed jobs a page shows.
const failedPage = 50

// problems shows what doctor finds, and the jobs that failed.
func (s *Site) problems(v *visit) error {
	found, at, err := s.findings(v.Context())
	if err != nil {
		return err
	}
	page := problemsView{At: at}
	before, err := v.number("before", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	jobs, err := store.FailedJobs(v.Context(), s.Operators, before, failedPage)
	if err != nil {
		return err
	}
	if len(jobs) == failedPage {
		page.Next = jobs[failedPage-1].ID
	}
	for _, j := range jobs {
		i := slices.IndexFunc(page.Failed, func(k failedKind) bool { return k.Kind == j.Kind })
		if i < 0 {
			i = len(page.Failed)
			page.Failed = append(page.Failed, failedKind{Kind: j.Kind})
		}
		k := &page.Failed[i]
		k.Jobs = append(k.Jobs, j)
		if j.State == "discarded" {
			k.GivenUp++
		}
	}
	for _, f := range found {
		i := slices.IndexFunc(page.Failed, func(k failedKind) bool { return k.Kind == f.Kind })
		switch {
		case i >= 0:
			page.Failed[i].Advice = append(page.Failed[i].Advice, f)
		case f.Level == doctor.LevelOK:
			page.Fine = append(page.Fine, f)
		default:
			page.Found = append(page.Found, f)
		}
	}
	return v.render("operator_problems", page)
}

// retryJob makes a job due now.
func (s *Site) retryJob(v *visit) error {
	id, err := strconv.ParseInt(v.PathValue("job"), 10, 64)
	if err != nil {
		return errNoPage
	}
	retried, err := store.RetryJob(v.Context(), s.Operators, id)
	if err != nil {
		return err
	}
	s.Host.Note(v.Context(), "an operator retried a job", "job", id, "retried", retried, "key", v.session.KeyID)
	return s.retried(v, map[bool]string{true: "job_retried", false: "job_not_retried"}[retried])
}

// retryKind makes the jobs of a kind due now that were given up.
func (s *Site) retryKind(v *visit) error {
	n, err := store.RetryFailed(v.Context(), s.Operators, v.value("kind"))
	if err != nil {
		return err
	}
	s.Host.Note(v.Context(), "an operator retried the jobs of a kind", "kind", v.value("kind"), "retried", n,
		"key", v.session.KeyID)
	return s.retried(v, map[bool]string{true: "jobs_retried", false: "job_not_retried"}[n > 0])
}

func (s *Site) retried(v *visit, done string) error {
	s.examined.mu.Lock()
	s.examined.at = time.Time{} // the findings are about the jobs as they were
	s.examined.mu.Unlock()
	return v.redirect("/operator/problems", done)
}

// reviewsPage is how many contradictions a page shows.
const reviewsPage = 200

// reviewsView is the page of contradictions under review.
type reviewsView struct {
	Items []store.Contradiction
	More  bool // there may be more
	Facts int64
}

// reviews shows the traits whose evidence is contradictory.
func (s *Site) reviews(v *visit) error {
	items, err := store.Contradictions(v.Context(), s.Operators, reviewsPage)
	if err != nil {
		return err
	}
	page := reviewsView{Items: items, More: len(items) == reviewsPage}
	for _, c := range items {
		if !slices.Contains(v.about, c.UserID) {
			v.about = append(v.about, c.UserID)
		}
	}
	if page.Facts, err = store.FactsDue(v.Context(), s.Operators); err != nil {
		return err
	}
	return v.render("operator_reviews", page)
}

// number returns a field that holds a whole number between two bounds, or the default without one.
func (v *visit) number(name string, none, least, most int64) (int64, error) {
	text := v.value(name)
	if text == "" {
		return none, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return none, store.Invalid(name, text, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n, nil
}

// thousands formats a number with separators, rounded to a whole one.
func thousands(n float64) string {
	text := strconv.FormatFloat(math.Abs(math.Round(n)), 'f', 0, 64)
	var b strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if n <= -0.5 {
		return "−" + b.String()
	}
	return b.String()
}

// The methods below are for templates.

// Number formats a number with separators.
func (p *view) Number(n any) string {
	switch n := n.(type) {
	case int:
		return thousands(float64(n))
	case int64:
		return thousands(float64(n))
	case float64:
		return thousands(n)
	}
	return fmt.Sprint(n)
}

// Jobs formats a number of jobs, which are counted up to gauges.Limit.
func (p *view) Jobs(n int64) string {
	if n >= gauges.Limit {
		return thousands(float64(n)) + "+"
	}
	return thousands(float64(n))
}

// Rate formats a number per second as one per minute.
func (p *view) Rate(n float64) string {
	switch perMinute := 60 * n; {
	case n == 0:
		return ""
	case perMinute < 10:
		return strconv.FormatFloat(perMinute, 'f', 1, 64)
	default:
		return thousands(perMinute)
	}
}

// Decimals formats a number with three decimals.
func (p *view) Decimals(n float64) string { return strconv.FormatFloat(n, 'f', 3, 64) }

// Change formats a share as a change in percent, such as +12.3 %.
func (p *view) Change(share float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*share), "-", "−", 1)
}

// Age formats a number of seconds in its largest unit, "" for 0.
func (p *view) Age(seconds float64) string {
	switch {
	case seconds <= 0:
		return ""
	case seconds < 1:
		return p.T("op_milliseconds", int(math.Ceil(seconds*1000)))
	case seconds < 120:
		return p.T("op_seconds", int(seconds))
	case seconds < 2*3600:
		return p.T("op_minutes", int(seconds/60))
	case seconds < 48*3600:
		return p.T("op_hours", int(seconds/3600))
	}
	return p.T("op_days", int(seconds/86400))
}

// Since formats the time that has passed.
func (p *view) Since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return p.Age(max(time.Since(at).Seconds(), 1))
}

// Counted formats a number that store.Person counts up to a limit.
func (p *view) Counted(n int64) string {
	if (store.Person{}).Many(n) {
		return thousands(float64(n)) + "+"
	}
	return thousands(float64(n))
}

// UserPath returns the URL of the page of a user.
func (p *view) UserPath(id string) string { return userPath(id) }

// Types returns all types of memories.
func (p *view) Types() []string {
	var names []string
	for _, t := range store.MemoryTypes() {
		names = append(names, string(t))
	}
	return names
}

// KeyValid reports whether a key can be used.
func (p *view) KeyValid(k store.APIKey) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(time.Now()))
}

// KeyState says whether a key can be used.
func (p *view) KeyState(k store.APIKey) string {
	switch {
	case !k.RevokedAt.IsZero():
		return p.T("op_key_revoked", p.Minute(k.RevokedAt))
	case !p.KeyValid(k):
		return p.T("op_key_expired", p.Minute(k.ExpiresAt))
	}
	return p.T("op_key_valid")
}

// More reports whether an id is there, such as that of the next page.
func (p *view) More(id uuid.UUID) bool { return id != uuid.Nil }
