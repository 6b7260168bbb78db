package pages_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/server/pages"
	"github.com/oxbow-memory/oxbow/store"
)

const planted = "cormorant" // in every text of the attacked person

// pageCase is a request to a route that succeeds for who may make it. Words in braces are ids of the person (owned).
type pageCase struct {
	path string
	form url.Values // of a POST
}

// pageCases has a request for each route that is not an operator's.
var pageCases = map[string]pageCase{
	"GET /login": {path: "/login"}, "POST /login": {path: "/login"}, "POST /logout": {path: "/logout"},
	"GET /signin": {path: "/signin"}, "GET /signin/callback": {path: "/signin/callback"}, "/": {path: "/none"},
	"POST /language": {path: "/language", form: url.Values{"language": {"zh"}}},

	"GET /{$}": {path: "/"}, "GET /traits/{id}": {path: "/traits/{trait}"},
	"POST /traits/{id}/confirm":  {path: "/traits/{trait}/confirm", form: url.Values{}},
	"POST /traits/{id}/correct":  {path: "/traits/{trait}/correct", form: url.Values{"content": {"x"}, "reason": {"x"}}},
	"POST /traits/{id}/dissolve": {path: "/traits/{trait}/dissolve", form: url.Values{"reason": {"x"}}},
	"GET /traits/{id}/delete":    {path: "/traits/{trait}/delete"},
	"POST /traits/{id}/delete":   {path: "/traits/{trait}/delete", form: url.Values{"sure": {"1"}}},

	"GET /facts":    {path: "/facts?true=2026-03-31&known=2026-03-31"},
	"GET /memories": {path: "/memories?q=" + planted + "&type=fact&all=1"}, "GET /memories/{id}": {path: "/memories/{memory}"},
	"POST /memories/{id}/correct": {path: "/memories/{memory}/correct",
		form: url.Values{"content": {"x"}, "since": {""}, "reason": {"x"}}},
	"POST /memories/{id}/confirm": {path: "/memories/{memory}/confirm", form: url.Values{"withdraw": {""}}},
	"POST /memories/{id}/forget":  {path: "/memories/{memory}/forget", form: url.Values{"reason": {"x"}}},
	"POST /memories/{id}/restore": {path: "/memories/{forgotten}/restore", form: url.Values{}},
	"GET /memories/{id}/erase":    {path: "/memories/{memory}/erase"},
	"POST /memories/{id}/erase":   {path: "/memories/{memory}/erase", form: url.Values{"sure": {"1"}}},

	"POST /memories/{id}/feedback": {path: "/memories/{memory}/feedback",
		form: url.Values{"kind": {"wrong"}, "question": {"x"}, "reason": {"x"}}},
	"POST /traits/{id}/feedback": {path: "/traits/{trait}/feedback",
		form: url.Values{"kind": {"helpful"}, "question": {"x"}, "reason": {"x"}}},
	"GET /wishes":                        {path: "/wishes"},
	"POST /wishes/instructions":          {path: "/wishes/instructions", form: url.Values{"content": {"x"}}},
	"POST /wishes/instructions/{id}/end": {path: "/wishes/instructions/{instruction}/end", form: url.Values{}},
	"POST /wishes/plans":                 {path: "/wishes/plans", form: url.Values{"content": {"x"}, "due": {""}}},
	"POST /wishes/plans/{id}/done":       {path: "/wishes/plans/{plan}/done", form: url.Values{}},
	"POST /wishes/plans/{id}/drop":       {path: "/wishes/plans/{plan}/drop", form: url.Values{}},
	"POST /wishes/adjustments/{id}/undo": {path: "/wishes/adjustments/{adjustment}/undo", form: url.Values{}},

	"GET /profile":         {path: "/profile"},
	"POST /profile/remove": {path: "/profile/remove", form: url.Values{"key": {"occupation"}}},

	"GET /activity": {path: "/activity?show=accesses&before="},
	"GET /settings": {path: "/settings"}, "GET /export": {path: "/export"}, "GET /erase": {path: "/erase"},
	"POST /settings": {path: "/settings", form: url.Values{"timezone": {"UTC"}, "opted_out": {""}, "share_patterns": {""}}},
	"POST /erase":    {path: "/erase", form: url.Values{"sure": {"1"}}},
}

// operatorCases are the cases of the operator's routes.
var operatorCases = map[string]pageCase{
	"GET /operator":          {path: "/operator"},
	"GET /operator/problems": {path: "/operator/problems"}, "GET /operator/history": {path: "/operator/history"},
	"GET /operator/reviews": {path: "/operator/reviews"}, "GET /operator/users": {path: "/operator/users"},
	"GET /operator/recall": {path: "/operator/recall?user=ada&q=cormorant"},
	"GET /operator/user":   {path: "/operator/user?id=ada"}, "GET /operator/keys": {path: "/operator/keys"},
	"POST /operator/jobs/{job}/retry":        {path: "/operator/jobs/1/retry", form: url.Values{}},
	"GET /operator/molt":                     {path: "/operator/molt"},
	"POST /operator/molt/{version}/adopt":    {path: "/operator/molt/1/adopt", form: url.Values{}},
	"POST /operator/molt/{version}/rollback": {path: "/operator/molt/2/rollback", form: url.Values{}},
	"POST /operator/molt/mode":               {path: "/operator/molt/mode", form: url.Values{"mode": {"suggest"}}},
	"GET /operator/patterns":                 {path: "/operator/patterns"},
	"GET /operator/webhooks":                 {path: "/operator/webhooks"},
	"POST /operator/webhooks":                {path: "/operator/webhooks", form: url.Values{"url": {"https://example.invalid/x"}}},
	"POST /operator/webhooks/{id}/pause":     {path: "/operator/webhooks/{webhook}/pause", form: url.Values{}},
	"POST /operator/webhooks/{id}/resume":    {path: "/operator/webhooks/{webhook}/resume", form: url.Values{}},
	"POST /operator/webhooks/{id}/remove":    {path: "/operator/webhooks/{webhook}/remove", form: url.Values{}},
	"POST /operator/jobs/retry":              {path: "/operator/jobs/retry", form: url.Values{"kind": {"embed"}}},
	"POST /operator/keys/{id}/revoke":        {path: "/operator/keys/{key}/revoke", form: url.Values{}},
}

// attacks are texts for every field.
var attacks = []string{
	`'; drop table oxbow.memories; --`, `" or "1"="1`, `{{.}}`, `%s%n`, `../../etc/passwd`, "a\x00b", "\xff", "😀",
	`<script>alert(1)</script>`, "", " ", strings.Repeat("x", 2000),
}

// owner is a person with data, signed in. ids are the ids for the words in paths.
type owner struct {
	*browser
	user string
	ids  *strings.Replacer
}

func (s *site) owner(t testing.TB, user string) *owner {
	t.Helper()
	remember := func(m oxbow.NewMemory) string {
		m.UserID = user
		id, err := s.client.Remember(t.Context(), m)
		require.NoError(t, err)
		return id.String()
	}
	memory := remember(oxbow.NewMemory{Content: user + " saw a " + planted})
	forgotten := remember(oxbow.NewMemory{Content: "A forgotten " + planted})
	_, err := s.pool.Exec(t.Context(), `select oxbow.forget(user_id => $1, id => $2)`, user, forgotten)
	require.NoError(t, err)
	trait := traittest.Trait{UserID: user, Content: "Likes the " + planted, Events: []traittest.Event{
		traittest.Created(traittest.Day(1, 10), 0.4, traittest.Evidence{Content: "Fed a " + planted, At: traittest.Day(1, 9)}),
	}}.Insert(t, s.pool)
	instruction := one[string](t, s, "select oxbow.instruct($1, $2)::text", user, "Mention the "+planted)
	plan := one[string](t, s, "select oxbow.intend($1, $2, now() + interval '1 day')::text", user, "Feed the "+planted)
	adjustment := one[string](t, s, "select oxbow.adjust($1, 'fact', $2, 0.5, 'two signals', '{}', -2, now())::text", user, memory)
	key, _, err := store.CreateAPIKey(t.Context(), s.pool, store.APIKey{Role: store.RoleApp, Name: planted})
	require.NoError(t, err)
	webhook, err := store.AddWebhook(t.Context(), s.pool, "https://example.invalid/"+planted)
	require.NoError(t, err)
	_, err = s.client.SetValue(t.Context(), user, "occupation", planted)
	require.NoError(t, err)
	return &owner{s.signedIn(t, user), user, strings.NewReplacer("{memory}", memory, "{forgotten}", forgotten,
		"{trait}", trait.String(), "{key}", key.ID.String(), "{instruction}", instruction, "{plan}", plan,
		"{adjustment}", adjustment, "{webhook}", webhook.ID.String())}
}

// rows is a digest of what a person has.
func (s *site) rows(t testing.TB, user string) string {
	t.Helper()
	return one[string](t, s, `
		select concat_ws(' ', (select md5(string_agg(m::text, '|' order by m.id)) from oxbow.memories m where user_id = $1),
		  (select count(*) from oxbow.memory_history where user_id = $1), (select u::text from oxbow.users u where user_id = $1),
		  (select count(*) from oxbow.trait_events where user_id = $1))`, user)
}

// Every route is attacked without a session, with a revoked key, as another person, in another role, from another site,
// and with hostile texts. A new route without a case fails.
func TestRoutes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	all := maps.Clone(pageCases)
	maps.Copy(all, operatorCases)
	require.ElementsMatch(t, slices.Collect(maps.Keys(pages.Routes())), slices.Collect(maps.Keys(all)),
		"each route needs a case")
	operator, out, revoked := s.signedIn(t, ""), s.visitor(t), s.signedIn(t, "ada")
	eve := s.owner(t, "eve")
	for _, sql := range []string{"select oxbow.propose_policy('recall_recency', 0.1, 'x')",
		"select oxbow.propose_policy('recall_recency', 0.2, 'x')", "select oxbow.adopt_strategy(2)"} {
		_, err := s.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.NoError(t, store.RevokeAPIKey(t.Context(), s.pool, revoked.key.ID))
	for _, pattern := range slices.Sorted(maps.Keys(all)) {
		role := pages.Routes()[pattern]
		if role == "" {
			continue
		}
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			c, o := all[pattern], s.owner(t, "user of "+pattern)
			method, _, _ := strings.Cut(pattern, " ")
			send := func(b *browser, form url.Values, headers ...string) answer {
				return secured(t, b.do(t, method, o.ids.Replace(c.path), form, headers...))
			}
			before := s.rows(t, o.user)
			require.True(t, strings.HasPrefix(send(out, c.form).path, "/login"))
			require.True(t, strings.HasPrefix(send(revoked, c.form).path, "/login"))
			mine, other := o.browser, operator
			if role == store.RoleOperator {
				mine, other = operator, o.browser
			}
			if pattern != "GET /{$}" { // from where an operator is sent to the operator's pages
				require.Equal(t, 403, send(other, c.form).status)
			}
			if method == http.MethodPost {
				require.Equal(t, 403, send(mine, c.form, "Sec-Fetch-Site", "cross-site").status)
				require.Equal(t, 403, send(mine, c.form, "Sec-Fetch-Site", "", "Origin", "https://evil.example").status)
			}
			if strings.Contains(pattern, "{id}") && role == store.RolePerson {
				stranger := send(eve.browser, c.form)
				require.Equal(t, 404, stranger.status, stranger.text)
				require.NotContains(t, stranger.text, planted)
			}
			require.Equal(t, before, s.rows(t, o.user), "the attacks changed nothing")
			for _, text := range attacks {
				for field := range c.form {
					if field == "sure" {
						continue
					}
					form := maps.Clone(c.form)
					form[field] = []string{text}
					require.NotContains(t, send(mine, form).text, "<script>alert", field)
				}
				if path, query, ok := strings.Cut(c.path, "?"); ok {
					values, _ := url.ParseQuery(query)
					for field := range values {
						changed := maps.Clone(values)
						changed[field] = []string{text}
						a := secured(t, mine.get(t, o.ids.Replace(path)+"?"+changed.Encode()))
						require.NotContains(t, a.text, "<script>alert", field)
					}
				}
			}
			o = s.owner(t, "again "+pattern) // hostile texts may have changed the first
			if mine != operator {
				mine = o.browser
			}
			done := send(mine, c.form)
			require.Equal(t, 200, done.status, done.text)
		})
	}
}

// Each page of a person reads or changes data, and is in the log of accesses.
func TestVisitsAreLogged(t *testing.T) {
	t.Parallel()
	s := setup(t)
	o := s.owner(t, "ada")
	visits := 0
	for _, pattern := range slices.Sorted(maps.Keys(pageCases)) {
		method, _, _ := strings.Cut(pattern, " ")
		if c := pageCases[pattern]; pages.Routes()[pattern] == store.RolePerson && pattern != "POST /erase" {
			o.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			require.Less(t, o.do(t, method, o.ids.Replace(c.path), c.form).status, 500, pattern)
			visits++
		}
	}
	s.server.Close() // which writes what waits
	require.Equal(t, visits, one[int](t, s, `select count(*)::int from oxbow.api_log where user_id = 'ada'`))
}

// secured checks what every answer must have.
func secured(t testing.TB, a answer) answer {
	t.Helper()
	require.Less(t, a.status, 500, a.text)
	require.Contains(t, a.header.Get("Content-Security-Policy"), "default-src 'none'")
	require.NotContains(t, a.header.Get("Content-Security-Policy"), "unsafe")
	require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-referrer", a.header.Get("Referrer-Policy"))
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	require.NotContains(t, a.text, " style=")
	require.NotRegexp(t, ` on[a-z]+="|<script[^>]*>[^<]`, a.text)
	return a
}

// What is stored is text, wherever a page shows it.
func TestTextsAreEscaped(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const attack = `<script>alert(1)</script><img src=x onerror=alert(1)>"'`
	ada := s.owner(t, "ada"+attack)
	post := func(path string, form url.Values) answer {
		a := ada.post(t, ada.ids.Replace(path), form)
		require.Equal(t, 200, a.status, a.text)
		return a
	}
	text := url.Values{"content": {attack}, "reason": {attack}}
	memory := post("/memories/{memory}/correct", text).path
	trait := post("/traits/{trait}/correct", text).path
	memory, _, _ = strings.Cut(memory, "?")
	trait, _, _ = strings.Cut(trait, "?")
	post(memory+"/forget", text)
	post(memory+"/restore", nil)
	_, err := s.client.SetValue(t.Context(), ada.user, attack, []any{attack})
	require.NoError(t, err)
	for _, path := range []string{"/", trait, trait + "/delete", "/facts", "/memories", "/memories?q=" + url.QueryEscape(attack),
		memory, memory + "/erase", "/activity", "/profile", "/settings?done=" + url.QueryEscape(attack)} {
		a := secured(t, ada.get(t, path))
		require.Equal(t, 200, a.status, path)
		require.NotContains(t, a.text, "<script>alert", path)
		require.NotContains(t, a.text, "<img src=x", path)
		require.Contains(t, a.text, "&lt;script&gt;alert", path)
	}
}

// A list shows the beginning of a long text.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id, err := s.client.Remember(t.Context(), oxbow.NewMemory{UserID: "ada", Content: strings.Repeat("鸬鹚", 100_000)})
	require.NoError(t, err)
	ada := s.signedIn(t, "ada")
	for _, path := range []string{"/memories", "/facts", "/activity"} {
		list := ada.get(t, path).text
		require.Contains(t, list, strings.Repeat("鸬鹚", 150)+"…", path)
		require.Less(t, len(list), 10_000, path)
	}
	require.Contains(t, ada.get(t, "/memories/"+id.String()).text, strings.Repeat("鸬鹚", 100_000))
}

func TestSensitiveTexts(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedIn(t, "ada")
	_, err := s.pool.Exec(t.Context(), `insert into oxbow.memories (user_id, content, sensitivity, sealed, sealed_key)
		values ('ada', '[sealed]', 3, '\x00', 'k'), ('ada', 'The code is 4711', 2, null, null)`)
	require.NoError(t, err)
	list := ada.get(t, "/memories").text
	require.Contains(t, list, "[sealed]")
	require.Contains(t, list, ">sealed<")
	require.Contains(t, list, ">sensitive<")
	sealed := one[string](t, s, `select id::text from oxbow.memories where sensitivity = 3`)
	page := ada.get(t, "/memories/"+sealed)
	require.Equal(t, 200, page.status)
	require.Contains(t, page.text, "this page cannot open it")
	require.NotContains(t, page.text, `name="content"`, "it cannot be corrected")
	require.NotContains(t, ada.get(t, "/memories?q=code").text, "4711", "it is never recalled")
}

// What a person does through the pages, and its entry in the log.
func TestActions(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.owner(t, "ada")
	act := func(path string, form url.Values, says string) string {
		a := ada.post(t, ada.ids.Replace(path), form)
		require.Equal(t, 200, a.status, a.text)
		require.Contains(t, a.text, says)
		here, _, _ := strings.Cut(a.path, "?")
		return here
	}
	act("/memories/{memory}/confirm", nil, "Confirmed.")
	act("/memories/{memory}/confirm", url.Values{"withdraw": {"1"}}, "withdrawn.")
	act("/memories/{memory}/forget", nil, "Forgotten.")
	require.Contains(t, ada.get(t, ada.ids.Replace("/memories/{memory}")).text, "Restore it")
	act("/memories/{memory}/restore", nil, "Restored.")
	newer := act("/memories/{memory}/correct", url.Values{"content": {"Ada saw a heron"}, "reason": {"it was one"}}, "Corrected.")
	page := ada.get(t, newer).text
	require.Contains(t, page, "Ada saw a heron")
	require.Contains(t, page, "ada saw a cormorant", "the earlier version")
	require.Contains(t, page, "because: it was one")
	require.Contains(t, page, "· you ·")
	require.Contains(t, ada.get(t, "/facts").text, "Ada saw a heron")
	require.Equal(t, 409, ada.post(t, ada.ids.Replace("/memories/{memory}/correct"), url.Values{"content": {"x"}}).status)

	act("/traits/{trait}/confirm", nil, "surer")
	require.Contains(t, ada.get(t, ada.ids.Replace("/traits/{trait}")).text, "Very sure · 90%")
	act("/traits/{trait}/dissolve", nil, "Given up.")
	reworded := act("/traits/{trait}/correct", url.Values{"content": {"Likes herons"}}, "Corrected.")
	page = ada.get(t, reworded).text
	require.Contains(t, page, "corrected by you")
	require.Contains(t, page, "Likes the cormorant", "the earlier wording")
	require.Contains(t, page, "Fed a cormorant", "the evidence")
	require.Contains(t, page, `<svg class="chart"`)
	require.Contains(t, ada.post(t, reworded+"/delete", nil).text, "Delete this conclusion?")
	require.Equal(t, "/", act(reworded+"/delete", url.Values{"sure": {"1"}}, "Deleted."))

	require.Contains(t, ada.get(t, "/profile").text, "<strong>Occupation</strong>: "+planted)
	act("/profile/remove", url.Values{"key": {"occupation"}}, "Removed.")
	require.NotContains(t, ada.get(t, "/profile").text, "Occupation")
	require.Zero(t, one[int](t, s, `select count(*)::int from oxbow.memories where user_id = 'ada'
		and content ~ 'I work' and expired_at is null`), "its fact has ended")

	settings := func() string {
		return one[string](t, s, `select concat_ws(' ', timezone, opted_out, share_patterns) from oxbow.users where user_id = 'ada'`)
	}
	act("/settings", url.Values{"timezone": {"Asia/Shanghai"}, "share_patterns": {"1"}}, "Saved.")
	require.Equal(t, "Asia/Shanghai f t", settings())
	require.Regexp(t, `name="share_patterns" value="1" checked`, ada.get(t, "/settings").text)
	require.Equal(t, 422, ada.post(t, "/settings", url.Values{"timezone": {"Moon"}}).status)
	require.Equal(t, "Asia/Shanghai f t", settings(), "nothing changed")
	act("/settings", url.Values{"timezone": {"Asia/Shanghai"}, "opted_out": {"1"}}, "Saved.")
	require.Equal(t, "Asia/Shanghai t f", settings())
	require.Contains(t, ada.get(t, "/profile").text, "not to draw conclusions", "no predictions")
	require.Contains(t, ada.get(t, "/").text, "not to draw conclusions")
	changes := ada.get(t, "/activity").text
	require.Contains(t, changes, "Ada saw a heron")
	for _, event := range []string{"Confirmed", "Forgotten", "Restored", "Replaced"} {
		require.Regexp(t, event+`[^<]*: <a[^>]*>ada saw a cormorant</a>.*\n<p class="quiet">you · `, changes)
	}
	require.Eventually(t, func() bool {
		return one[int](t, s, `select count(*)::int from oxbow.api_log where user_id = 'ada' and operation = 'put-settings'`) > 0
	}, waitAtMost, tick)
	log := ada.get(t, "/activity?show=accesses").text
	require.Contains(t, log, "corrected a memory")
	require.Contains(t, log, "changed your settings")

	export := ada.get(t, "/export")
	require.Contains(t, export.header.Get("Content-Disposition"), "attachment")
	require.Contains(t, export.text, "Ada saw a heron")
	require.Contains(t, ada.post(t, newer+"/erase", nil).text, "Erase this memory?")
	receipt := ada.post(t, newer+"/erase", url.Values{"sure": {"1"}})
	require.Contains(t, receipt.text, "Your receipt")
	require.Contains(t, receipt.text, `href="data:application/json;base64,`)
	require.Equal(t, 404, ada.get(t, newer).status)
	require.Contains(t, ada.post(t, "/erase", nil).text, "Erase everything about you?")
	require.Contains(t, ada.post(t, "/erase", url.Values{"sure": {"1"}}).text, "Everything about you")
	require.True(t, strings.HasPrefix(ada.get(t, "/").path, "/login"))
	s.server.Close()
	require.Zero(t, one[int](t, s, `select count(*)::int from oxbow.memories where user_id = 'ada'`))
	require.Zero(t, one[int](t, s, `select count(*)::int from oxbow.api_log where user_id = 'ada'`))
}
