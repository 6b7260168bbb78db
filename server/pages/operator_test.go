package pages_test

import (
	"bytes"
	"fmt"
	"html"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// hostile is in every text that users or providers write. No page may contain it as it is.
const hostile = `<script>alert("x")</script>'`

// operated is a site whose user has something on each of the operator's pages.
type operated struct {
	*site
	user              string
	trait             uuid.UUID
	fact, secret      uuid.UUID
	key               store.APIKey
	failed, failedToo int64
}

func operatedSite(t *testing.T, change ...func(*server.Config)) *operated {
	t.Helper()
	s := &operated{site: setup(t, change...), user: "ada " + hostile}
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := s.pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	remember := func(m oxbow.NewMemory) uuid.UUID {
		t.Helper()
		m.UserID = s.user
		id, err := s.site.client.Remember(t.Context(), m)
		require.NoError(t, err)
		return id
	}
	s.fact = remember(oxbow.NewMemory{Content: "The ferry sails at noon. " + hostile, SessionID: hostile, Speaker: hostile,
		AgentID: hostile})
	for i := range 3 {
		remember(oxbow.NewMemory{Content: fmt.Sprintf("Ferry number %d has a blue funnel.", i)})
	}
	gone := remember(oxbow.NewMemory{Content: "The ferry ticket is in the drawer. " + hostile})
	s.secret = remember(oxbow.NewMemory{Content: "The ferry pin is 1234.", Sensitivity: 2})
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: pgtest.As(t, s.pool.Config().ConnString(), "worker"),
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, w.RunUntilIdle(t.Context(), nil))
	w.Close()
	require.NoError(t, s.site.client.Forget(t.Context(), s.user, gone, "no longer true"))
	at := func(days int) time.Time { return time.Now().AddDate(0, 0, -days) }
	s.trait = traittest.Trait{UserID: s.user, Content: "Gets up early. " + hostile, Events: []traittest.Event{
		traittest.Created(at(10), 0.4, traittest.Evidence{Content: "Rowed at dawn.", At: at(11), Session: "s1"}),
		traittest.Contradicted(at(5), 0.2, traittest.Evidence{Content: "Slept until noon. " + hostile, At: at(6), Session: "s2",
			Against: true})}}.Insert(t, s.pool)
	exec(`update oxbow.memories_trait set trait_review_due_at = now() - interval '4 days' where id = $1`, s.trait)
	job := func(kind string) int64 {
		return one[int64](t, s.site, `insert into oxbow.river_job (kind, queue, args, state, attempt, finalized_at, errors)
			values ($1, 'embed', jsonb_build_object('user_id', $2::text), 'discarded', 25, now(),
			        array[jsonb_build_object('error', $3::text)]) returning id`, kind, s.user, "the provider said "+hostile)
	}
	s.failed, s.failedToo = job("embed"), job("embed")
	exec(`insert into oxbow.weight_log (user_id, memory_type, memory_id, at, cause, before, after)
		values ($1, 'fact', $2, now() - interval '30 hours', 'used', 0.5, 0.6)`, s.user, s.fact)
	_, err = store.ProposePolicy(t.Context(), s.pool, "recall_recency", 0.1, hostile, "request")
	require.NoError(t, err)
	exec(`insert into oxbow.webhooks (url, secret) values ('https://example.invalid/' || replace($1, ' ', ''), '\x00')`, hostile)
	for _, status := range []string{"200 first", "200", "200", "200", "200", "503 " + hostile} { // the last five are kept
		exec(`select oxbow.record_delivery(id, $1, false) from oxbow.webhooks`, status)
	}
	exec(`select oxbow.publish_patterns(now(), 1, 20, 3, 200, '{dimension:openness_high}', '{work}', '{40}')`)
	s.key, _, err = store.CreateAPIKey(t.Context(), s.pool, store.APIKey{Role: store.RolePerson, UserID: s.user, Name: hostile})
	require.NoError(t, err)
	return s
}

var untranslated = regexp.MustCompile(`\b(op|nav|done)_[a-z_]+|%!|\(MISSING\)`)

// Each page shows what it is for, in both languages, escapes what users wrote, and hides what is secret.
func TestOperatorPages(t *testing.T) {
	t.Parallel()
	s := operatedSite(t)
	b := s.signedIn(t, "")
	recall := "/operator/recall?" + url.Values{"user": {s.user}, "q": {"When does the ferry sail? " + hostile}, "limit": {"2"},
		"id": {s.secret.String()}}.Encode()
	b.get(t, recall)
	for _, language := range []string{"en", "zh"} {
		require.Equal(t, 200, b.post(t, "/language", url.Values{"language": {language}, "next": {"/operator"}}).status)
		for path, says := range map[string][]string{
			"/operator":          {"<code>embed</code>", "local-v1"},
			"/operator/problems": {"the provider said", "2 jobs of kind embed given up", "Sweep embeds the memories"},
			"/operator/history":  {`aria-labelledby="memories-title`, `aria-labelledby="stages-title`, "changes-title", "fading-title"},
			"/operator/reviews":  {"Gets up early.", "Slept until noon."},
			recall:               {"The ferry sails at noon.", "The ferry ticket", "Ferry number", s.secret.String()},
			"/operator/users":    {"/operator/user?id="},
			"/operator/keys":     {s.key.ID.String()},
			"/operator/molt":     {"recall_recency → 0.1", `value="off" required checked`},
			"/operator/patterns": {"1 / 6", "dimension:openness_high", "40"},
			"/operator/webhooks": {"https://example.invalid/", "503"},
			"/operator/user?id=" + url.QueryEscape(s.user):     {"<code>recall</code>"},
			"/operator/users?find=nobody":                      {"nobody"},
			"/operator/users?find=" + url.QueryEscape(hostile): {"alert"},
		} {
			page := b.get(t, path)
			require.Equal(t, 200, page.status, "%s: %s", path, page.text)
			for _, text := range says {
				require.Contains(t, page.text, text, path)
			}
			require.NotContains(t, page.text, hostile, path)
			require.NotContains(t, page.text, "<script>alert", path)
			require.NotContains(t, page.text, "1234", path)
			require.Empty(t, untranslated.FindString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page.text, "")), path)
		}
	}
	found := b.get(t, "/operator/users?find="+url.QueryEscape(s.user))
	require.Equal(t, "/operator/user?id="+url.QueryEscape(s.user), found.path)
	require.Equal(t, 404, b.get(t, "/operator/user?id=nobody").status)
	require.Equal(t, 404, b.get(t, "/operator/user").status)
	require.Equal(t, 422, b.get(t, "/operator/recall?user=ada&q=x&limit=5000").status)
	require.Equal(t, 422, b.get(t, "/operator/recall?user=ada&q=x&id=x").status)
	require.Equal(t, 422, b.get(t, "/operator/recall?user=ada&q=x&valid=tomorrow").status)
}

// What operators see of a user is in that user's log.
func TestOperatorIsLogged(t *testing.T) {
	t.Parallel()
	s := operatedSite(t)
	b := s.signedIn(t, "")
	b.get(t, "/operator")
	b.get(t, "/operator/users")
	b.get(t, "/operator/recall?"+url.Values{"user": {s.user}, "q": {"ferry"}}.Encode())
	b.get(t, "/operator/reviews")
	b.get(t, "/operator/user?id="+url.QueryEscape(s.user))
	var seen []string
	require.Eventually(t, func() bool {
		seen = nil
		entries, err := store.AccessLog(t.Context(), s.pool, s.user, uuid.Nil, 10)
		require.NoError(t, err)
		for _, e := range entries {
			seen = append(seen, fmt.Sprint(e.Role, " ", e.Operation, " ", e.Status))
		}
		return len(seen) == 3
	}, time.Minute, 20*time.Millisecond, "%v", seen)
	require.ElementsMatch(t, []string{"operator recall 200", "operator list-traits 200", "operator list-log 200"}, seen)
	require.Zero(t, one[int](t, s.site, `select sum(access_count)::int from oxbow.memories where user_id = $1`, s.user),
		"a look is no access")
}

func TestOperatorActs(t *testing.T) {
	t.Parallel()
	var noted bytes.Buffer
	s := operatedSite(t, func(c *server.Config) { c.Logger = slog.New(slog.NewTextHandler(&noted, nil)) })
	b := s.signedIn(t, "")
	state := func(id int64) string {
		return one[string](t, s.site, `select state::text from oxbow.river_job where id = $1`, id)
	}
	done := b.post(t, fmt.Sprintf("/operator/jobs/%d/retry", s.failed), url.Values{})
	require.Equal(t, "/operator/problems?done=job_retried", done.path)
	require.Contains(t, done.text, "The job is due now.")
	require.Contains(t, done.text, "1 job of kind embed given up", "the findings are new")
	require.Equal(t, "available", state(s.failed))
	require.Equal(t, "discarded", state(s.failedToo))
	require.Contains(t, b.post(t, "/operator/jobs/retry", url.Values{"kind": {"embed"}}).path, "jobs_retried")
	require.Equal(t, "available", state(s.failedToo))
	require.Contains(t, b.post(t, "/operator/jobs/retry", url.Values{"kind": {"embed"}}).path, "job_not_retried")
	require.Equal(t, 404, b.post(t, "/operator/jobs/x/retry", url.Values{}).status)

	mode := func() string {
		return one[string](t, s.site, `select value::text from oxbow.policies where name = 'molt_mode'`)
	}
	require.Contains(t, b.post(t, "/operator/molt/mode", url.Values{"mode": {"auto"}}).path, "molt_mode")
	require.Equal(t, "2", mode())
	for _, bad := range []string{"", "often", "2"} {
		require.Equal(t, 422, b.post(t, "/operator/molt/mode", url.Values{"mode": {bad}}).status, bad)
	}
	require.Equal(t, "2", mode())
	require.Equal(t, 404, b.post(t, "/operator/molt/99/adopt", url.Values{}).status)
	require.Contains(t, b.post(t, "/operator/molt/1/adopt", url.Values{}).text, "recall_recency 0.15 → 0.1")

	added := b.post(t, "/operator/webhooks", url.Values{"url": {"https://example.invalid/due"}})
	require.Equal(t, "/operator/webhooks", added.path)
	require.Equal(t, 4, strings.Count(added.text, "200</span>"))
	require.NotContains(t, added.text, "200 first")
	secret := regexp.MustCompile(`<code>(whsec_[^<]+)</code>`).FindStringSubmatch(added.text)
	require.Len(t, secret, 2, added.text)
	require.NotContains(t, b.get(t, "/operator/webhooks").text, "whsec_", "it is shown once")
	hook := one[string](t, s.site, `select id::text from oxbow.webhooks where url ~ 'due$'
		and 'whsec_' || encode(secret, 'base64') = $1`, html.UnescapeString(secret[1]))
	for _, bad := range []string{"", "example.invalid", "ftp://example.invalid", "https://a b", "javascript:alert(1)"} {
		require.Equal(t, 422, b.post(t, "/operator/webhooks", url.Values{"url": {bad}}).status, bad)
	}
	for _, step := range []struct{ change, says string }{{"pause", "paused since"}, {"resume", "Delivery has resumed."},
		{"remove", "Removed."}} {
		require.Contains(t, b.post(t, "/operator/webhooks/"+hook+"/"+step.change, url.Values{}).text, step.says)
	}
	require.Equal(t, 404, b.post(t, "/operator/webhooks/"+hook+"/pause", url.Values{}).status)
	require.Equal(t, 404, b.post(t, "/operator/webhooks/x/remove", url.Values{}).status)

	revoked := b.post(t, "/operator/keys/"+s.key.ID.String()+"/revoke", url.Values{})
	require.Contains(t, revoked.text, "The key is revoked.")
	require.True(t, one[bool](t, s.site, `select revoked_at is not null from oxbow.api_keys where id = $1`, s.key.ID))
	require.Equal(t, 404, b.post(t, "/operator/keys/"+uuid.NewString()+"/revoke", url.Values{}).status)
	own := b.post(t, "/operator/keys/"+b.key.ID.String()+"/revoke", url.Values{})
	require.Contains(t, own.path, "/login", "signed out")
	for _, note := range []string{
		fmt.Sprintf(`msg="an operator retried a job" job=%d retried=true key=%s`, s.failed, b.key.ID),
		`msg="an operator retried the jobs of a kind" kind=embed retried=1`,
		`msg="an operator revoked a key" revoked=` + s.key.ID.String(),
		`msg="an operator set the mode of molt" mode=auto`, `msg="an operator changed policies" strategy=1 now=adopted`,
		`msg="an operator added a webhook" webhook=` + hook, `now=webhook_removed`,
	} {
		require.Contains(t, noted.String(), note)
	}
}
