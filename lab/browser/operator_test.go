package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/program"
	"github.com/oxbow-memory/oxbow/store"
)

// operatedSite starts the program on a database in which something waits for an operator. No worker runs, so that it
// stays so.
func operatedSite(t *testing.T) *site {
	t.Helper()
	binary, err := program.Build(t.Context())
	require.NoError(t, err)
	dsn := pgtest.Database(t)
	s := &site{pool: pgtest.Open(t, dsn, "")}
	mira.live(t, s.pool)
	xiaowen.live(t, s.pool)
	people(t, s.pool)
	t.Run("work", func(t *testing.T) { // until all memories are embedded
		start(t, binary, dsn, "", "work")
		require.Eventually(t, func() bool {
			var left int
			require.NoError(t, s.pool.QueryRow(t.Context(), `select count(*) from oxbow.river_job
				where state in ('available', 'retryable', 'running')`).Scan(&left))
			return left == 0
		}, 5*waitAtMost, 5*tick)
	})
	operate(t, s.pool)
	s.url = start(t, binary, dsn, "Pages for people at ", "serve", "--addr", "127.0.0.1:0")
	s.chrome = chrome(t)
	return s
}

// operatorPages are the pages of an operator, and an element that each has.
var operatorPages = []struct{ path, has string }{
	{"/operator", "table"},
	{"/operator/problems", ".failed"},
	{"/operator/history?days=90", ".chart"},
	{"/operator/reviews", ".rows"},
	{"/operator/recall", ".ask"},
	{"/operator/recall?user=mira&q=Where+does+Mira+bake+bread%3F&limit=3", ".answer"},
	{"/operator/molt", ".rows"},
	{"/operator/patterns", "table"},
	{"/operator/webhooks", ".rows"},
	{"/operator/users", ".users"},
	{"/operator/users?find=nobody", ".note"},
	{"/operator/user?id=mira", "dl"},
	{"/operator/keys", ".rows"},
}

func TestOperator(t *testing.T) {
	s := operatedSite(t)
	for name, v := range map[string]visitor{
		"light":      {language: "en"},
		"dark":       {language: "zh-CN", dark: true},
		"phone":      {language: "zh-CN", phone: true},
		"dark phone": {language: "en", phone: true, dark: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.open(t, v)
			w.staysHere()
			for _, page := range operatorPages {
				w.goTo(page.path)
				w.see(page.has)
				evaluate[any](w, `document.querySelectorAll("details").forEach(d => d.open = true)`)
				w.accessible(page.path)
				width := evaluate[int](w, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
				require.LessOrEqual(t, width, 0, "%s does not fit", page.path)
			}
		})
	}
	if *pictures != "" {
		t.Run("pictures", func(t *testing.T) { operatorPictures(t, s) })
	}
	// One after another, because they change the same jobs and keys.
	t.Run("acts", func(t *testing.T) { operatorActs(s.open(t, visitor{language: "en"}), true) })
	t.Run("acts by phone, no scripts", func(t *testing.T) {
		operatorActs(s.open(t, visitor{language: "zh-CN", phone: true, noScript: true}), false)
	})
}

// operatorActs does everything that an operator can do.
func operatorActs(w *tab, scripts bool) {
	exec := executor(w, w.pool)
	fail := func(kind string) {
		exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, finalized_at, errors)
			values ($1, 'default', '{"user_id": "mira"}', 'discarded', 25, now(), array['{"error": "no answer"}'::jsonb])`, kind)
	}
	failed := func(kind string) (n int) {
		require.NoError(w, w.pool.QueryRow(w.Context(), `select count(*) from oxbow.river_job
			where kind = $1 and state = 'discarded'`, kind).Scan(&n))
		return n
	}
	if scripts {
		w.reads("#queue tbody", "summarize")
		fail("reembed") // a kind that the page did not show
		w.reads("#queue tbody", "reembed")
	}
	fail("molt")
	fail("molt")
	w.goTo("/operator")
	w.click(`td a[href="/operator/problems"]`)
	w.reads(".reason", "no answer")
	w.click(".failed:has(#kind-molt) .job button")
	w.see(".done")
	require.Equal(w, 1, failed("molt"))
	w.click(".failed:has(#kind-molt) .head button")
	w.see(".done")
	require.Zero(w, failed("molt"))

	exec(`update oxbow.river_job set state = 'retryable', scheduled_at = now() + interval '1 hour'
		where kind = 'contradiction_review' and args ->> 'user_id' = 'mira'`)
	w.goTo("/operator/reviews")
	w.click(".rows form button")
	w.see(".done")

	w.goTo("/operator/history")
	w.click(`a[href="/operator/history?days=365"]`)
	w.see(`a[href="/operator/history?days=365"][aria-current]`)

	w.goTo("/operator/recall")
	w.fill("#user", "mira")
	w.fill("#q", "Where does Mira bake bread?")
	w.fill("#limit", "2")
	w.click(".ask button")
	w.reads(".answer", "bread")
	require.Equal(w, 2, evaluate[int](w, `document.querySelectorAll(".answer > li").length`))
	id := evaluate[string](w, `[...document.querySelectorAll(".missed li")].find(li =>
		li.textContent.includes("a rented oven")).querySelector("code").textContent`)
	w.click(".ask summary", false)
	w.see("#id")
	w.fill("#id", id)
	w.click(".ask button")
	w.reads(".missed[open]", "Mira bakes bread in a rented oven.")
	w.fill("#valid", "2026-03-01")
	w.fill("#believed", "1999-01-01")
	w.click(`input[value="fact"]`, false)
	w.click(".ask button")
	require.Zero(w, evaluate[int](w, `document.querySelectorAll(".answer > li").length`))
	w.reads(".missed[open]", "Mira bakes bread in a rented oven.")

	w.goTo("/operator/users")
	w.fill("#find", "mira")
	w.click(".find button")
	require.Equal(w, "/operator/user?id=mira", w.path())
	w.reads("table.nowrap", "recall")
	w.fill("#q", "When does she swim?")
	w.click(".find button")
	w.reads(".answer", "swam")

	w.goTo("/operator/molt")
	w.click(`input[value="suggest"]`, false)
	w.click(`form[action$="/mode"] button`)
	w.see(".done")
	require.True(w, evaluate[bool](w, `document.querySelector("input[value=suggest]").checked`))
	w.click(`form[action$="/rollback"] button`)
	w.see(".done")
	w.see(".rows .warn")
	exec(`select oxbow.adopt_strategy(3)`)
	w.refuses(`form[action$="/mode"] button`, `document.querySelector("input[name=mode]:checked").value = "often"`)

	w.goTo("/operator/webhooks")
	for _, bad := range []string{"", "hooks.example.com"} { // which the browser does not send
		if bad != "" {
			w.fill("#url", bad)
		}
		w.click(`form[action="/operator/webhooks"] button`, false)
		require.False(w, evaluate[bool](w, `document.getElementById("url").validity.valid`), bad)
		require.Equal(w, "/operator/webhooks", w.path())
	}
	w.fill("#url", "https://hooks.example.net/new")
	w.click(`form[action="/operator/webhooks"] button`)
	w.reads(".done code", "whsec_")
	hook := `li:has([aria-label$="https://hooks.example.net/new"])`
	w.click(hook + ` form[action$="/pause"] button`)
	w.see(".done")
	w.click(hook + ` form[action$="/resume"] button`)
	w.see(".done")
	w.click(hook+" summary", false)
	w.see(hook + ` form[action$="/remove"] button`)
	w.click(hook + ` form[action$="/remove"] button`)
	w.see(".done")
	require.Zero(w, evaluate[int](w, `document.querySelectorAll('`+hook+`').length`))
	w.fill("#url", "ftp://hooks.example.net/new")
	w.refuses(`form[action="/operator/webhooks"] button`, "")

	key, _, err := store.CreateAPIKey(w.Context(), w.pool, store.APIKey{Role: store.RoleApp, Name: "An old kiosk"})
	require.NoError(w, err)
	w.goTo("/operator/keys")
	form := fmt.Sprintf(`form[action="/operator/keys/%s/revoke"]`, key.ID)
	w.click(fmt.Sprintf(`details:has(%s) summary`, form), false)
	w.see(form + " button")
	w.click(form + " button")
	w.see(".done")
	w.click("footer button[name=language]:not([aria-current])")
	w.goTo("/operator/keys")
	w.click(`li:has(.mark:nth-of-type(3)) summary`, false)
	w.see(`li:has(.mark:nth-of-type(3)) form button`)
	w.click(`li:has(.mark:nth-of-type(3)) form button`) // its own key
	require.Equal(w, "/login?next=%2Foperator%2Fkeys%3Fdone%3Dkey_revoked", w.path())
}

// operatorPictures writes the pictures of the documentation.
func operatorPictures(t *testing.T, s *site) {
	for name, path := range map[string]string{"recall": operatorPages[5].path, "history": operatorPages[2].path} {
		w := s.open(t, visitor{language: "en"})
		w.goTo(path)
		png := do(w, name, chromedp.FullScreenshot(100))
		require.NoError(t, os.WriteFile(filepath.Join(*pictures, fmt.Sprintf("pages-operator-%s.png", name)), png, 0o644))
	}
}
