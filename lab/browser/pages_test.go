package browser

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// pictures of the pages are in the documentation: make pictures.
var pictures = flag.String("pictures", "", "write pictures of the pages to this `directory`")

//go:embed testdata/axe.min.js
var axe string

// personPages are the pages of a person. A word in braces stands for the first link of that kind.
var personPages = []string{"/", "{trait}", "{trait}/delete", "/facts", "/memories", "/memories?q=bread", "{memory}",
	"{memory}/erase", "/wishes", "/profile", "/activity", "/activity?show=accesses", "/settings", "/erase", "/login"}

func TestPages(t *testing.T) {
	s := setup(t)
	visitors := map[string]visitor{
		"light":      {user: "mira", language: "en"},
		"dark":       {user: "mira", language: "en", dark: true},
		"phone":      {user: "xiaowen", language: "zh-CN", phone: true},
		"dark phone": {user: "xiaowen", language: "zh-CN", phone: true, dark: true},
	}
	for name, v := range visitors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.open(t, v)
			w.staysHere()
			for _, path := range personPages {
				if kind, rest, ok := strings.Cut(strings.TrimPrefix(path, "{"), "}"); ok {
					path = w.first(kind) + rest
				}
				w.goTo(path)
				w.accessible(path)
				width := evaluate[int](w, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
				require.LessOrEqual(t, width, 0, "%s does not fit", path)
			}
		})
	}
	t.Run("keyboard", func(t *testing.T) { t.Parallel(); keyboard(s.open(t, visitor{user: "mira", language: "en"})) })
	for name, v := range map[string]visitor{
		"acts":                      {language: "en"},
		"acts by phone, no scripts": {language: "zh-CN", phone: true, noScript: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			life := mira
			if v.language != "en" {
				life = xiaowen
			}
			life.user += " who " + name
			life.live(t, s.pool)
			v.user = life.user
			acts(s.open(t, v), v, life)
		})
	}
	if *pictures != "" {
		t.Run("pictures", func(t *testing.T) { picture(t, s) })
	}
}

// first returns the path of the first link to a trait or a memory.
func (w *tab) first(kind string) string {
	w.Helper()
	w.goTo(map[string]string{"trait": "/", "memory": "/memories"}[kind])
	return evaluate[string](w, `document.querySelector(".card a, .rows a").getAttribute("href")`)
}

// accessible runs axe-core, which knows the rules of WCAG.
func (w *tab) accessible(path string) {
	w.Helper()
	evaluate[any](w, axe+"; 0")
	found := do(w, path, chromedp.Evaluate[string](`axe.run().then(r => JSON.stringify({passes: r.passes.length,
		violations: r.violations.map(v => v.impact + " " + v.id + ": " + v.nodes.map(n => n.html + " " + n.failureSummary))}))`,
		chromedp.EvalAwaitPromise))
	var result struct {
		Passes     int
		Violations []string
	}
	require.NoError(w, json.Unmarshal([]byte(found), &result))
	require.Greater(w, result.Passes, 15, path)
	require.Empty(w, result.Violations, path)
}

// staysHere fails the test if a page asks another host for anything.
func (w *tab) staysHere() {
	requests := chromedp.Events(w.ctx, network.RequestWillBeSent)
	go func() {
		for r, err := range requests {
			if err != nil {
				return // the window is closed
			}
			if !strings.HasPrefix(r.Request.URL, w.url) && !strings.HasPrefix(r.Request.URL, "data:") {
				w.Errorf("a page asks for %s", r.Request.URL)
			}
		}
	}()
}

// keyboard uses the pages without a mouse.
func keyboard(w *tab) {
	press := func(keys string) { do(w, "press", chromedp.KeyEvent(keys)) }
	focus := func() string { return evaluate[string](w, `document.activeElement.textContent.trim()`) }
	w.goTo("/")
	press(kb.Tab)
	require.Equal(w, "Skip to the content", focus())
	require.Equal(w, "3px", evaluate[string](w, `getComputedStyle(document.activeElement).outlineWidth`), "it is marked")
	require.Zero(w, evaluate[int](w, `document.activeElement.getBoundingClientRect().left`), "it is visible")
	press(kb.Enter)
	require.Equal(w, "main", evaluate[string](w, `document.activeElement.id`))
	press(kb.Tab)
	require.True(w, evaluate[bool](w, `document.activeElement.matches(".card a")`))
	w.goTo("/")
	for range 4 { // skip, brand, about you, facts
		press(kb.Tab)
	}
	require.Equal(w, "Facts", focus())
	w.leads("enter", chromedp.KeyEvent(kb.Enter))
	require.Equal(w, "/facts", w.path())
	evaluate[any](w, `document.querySelector("input[type=range]").focus()`)
	press(kb.Home)
	w.reads("#known-facts", "lives in Utrecht")
	require.NotEmpty(w, evaluate[string](w, `document.activeElement.getAttribute("aria-valuetext")`))
}

// acts does everything that a person can do.
func acts(w *tab, v visitor, l life) {
	done := ".done"
	w.see(".card svg")
	w.click(".card a")
	w.see("figure svg")
	w.reads("blockquote", l.traits[0].events[1].said)
	w.click(`form[action$="/confirm"] button`)
	w.reads(".mark", "90%")
	w.click(`form[action$="/dissolve"] button`)
	w.see(done)
	w.unfold()
	w.fill("#content", "It is like this: <b>so</b>.")
	w.fill("#reason", "I know")
	w.click(`form[action$="/correct"] button`)
	w.reads("h1", "It is like this: <b>so</b>.")
	w.click(`a[href$="/delete"]`)
	w.click(`input[name="sure"]`, false)
	w.click(`form[action$="/delete"] button`)
	w.see(done)
	require.Equal(w, "/?done=trait_deleted", w.path())

	former, now := l.facts[0].content, l.facts[1].content
	w.goTo("/facts")
	w.reads("#known-facts", now)
	day := evaluate[string](w, `new Date(Date.now() - 500 * 86400000).toISOString().slice(0, 10)`)
	w.fill("#true", day)
	if v.noScript {
		w.click(".days button")
	} else {
		evaluate[any](w, `document.getElementById("true").dispatchEvent(new Event("input", {bubbles: true}))`)
	}
	w.reads("#known-facts", former)
	require.NotContains(w, do(w, "facts", chromedp.Text(chromedp.CSS("#known-facts"))), now)

	w.goTo("/memories")
	w.fill("#q", l.facts[3].content)
	w.click(".search button")
	w.reads(".rows", l.facts[3].content)
	w.goTo("/memories?type=fact")
	w.click(".rows a")
	w.click(`form[action$="/confirm"] button`)
	w.see(".mark.good")
	w.click(`form[action$="/confirm"] button`)
	w.click(`form[action$="/forget"] button`)
	w.see(".wrong")
	w.click(`form[action$="/restore"] button`)
	w.unfold()
	w.fill("#content", "The shop is blue.")
	w.click(`form[action$="/correct"] button`)
	w.reads(".statement", "The shop is blue.")
	w.click(`a[href$="/erase"]`)
	w.click(`input[name="sure"]`, false)
	w.click(`form[action$="/erase"] button`)
	w.see("code")
	w.saves("a[download]", "oxbow-receipt.json", `"proof"`)

	w.goTo("/memories?type=episodic")
	w.click(".rows a")
	w.click(`details:has([action$="/feedback"]) summary`, false)
	w.see("#question")
	w.click(`input[value="too_much"]`, false)
	w.fill("#question", "What did I say?")
	w.click(`form[action$="/feedback"] button`)
	w.see(done)
	w.goTo("/profile")
	w.see("#mood svg")
	w.reads("#mood", l.moods[0].about)
	w.reads("#likely", l.wishes[1])
	require.Equal(w, len(l.values), evaluate[int](w, `document.querySelectorAll("[action='/profile/remove']").length`))
	w.click(`form:has([value="languages"]) button`)
	w.see(done)
	require.Zero(w, evaluate[int](w, `document.querySelectorAll("[value=languages]").length`))

	w.goTo("/wishes")
	w.fill("#instruction", "Answer me in Portuguese")
	w.click(`form[action$="/instructions"] button`)
	w.reads(".rows", "Answer me in Portuguese")
	w.click(`form[action$="/end"] button`)
	w.see(done)
	for _, end := range []string{"done", "drop"} {
		w.fill("#plan", "Water the figs")
		w.fill("#due", "2035-05-20")
		w.click(`form[action$="/plans"] button`)
		w.reads("#plans", "Water the figs")
		w.click(`form[action$="/` + end + `"] button`)
		w.see(done)
	}
	w.click(`form[action$="/undo"] button`)
	w.see(done)

	w.goTo("/settings")
	w.click(`input[name="share_patterns"]`, false)
	w.fill("#timezone", "the Moon")
	w.refuses("main form button", "")
	agrees := func() bool { return evaluate[bool](w, `document.querySelector("[name=share_patterns]").checked`) }
	for _, agreed := range []bool{false, true} { // to opt in, and out again
		require.Equal(w, agreed, agrees())
		w.click(`input[name="share_patterns"]`, false)
		w.click("main form button")
		w.see(done)
	}
	require.False(w, agrees())
	w.fill("#timezone", "Pacific/Auckland")
	w.click(`input[name="opted_out"]`, false)
	w.click("main form button")
	w.see(done)
	w.saves("a[download]", "oxbow.jsonl", l.facts[1].content)
	w.goTo("/activity")
	w.reads(".rows", l.traits[2].content)
	w.click(".tabs li:last-child a")
	w.see("table")
	w.click("footer button[name=language]:not([aria-current])")
	require.Equal(w, map[string]string{"en": "zh", "zh-CN": "en"}[v.language], evaluate[string](w, `document.documentElement.lang`))
	w.goTo("/erase")
	w.click(`input[name="sure"]`, false)
	w.click(`form[action="/erase"] button`)
	w.see("code")
	w.goTo("/")
	require.Equal(w, "/login", w.path())
}

// unfold opens the form of a correction.
func (w *tab) unfold() {
	w.Helper()
	w.click(".actions summary", false)
	w.see("#content")
}

// saves clicks on a link to a file, which must contain a text.
func (w *tab) saves(selector, name, text string) {
	w.Helper()
	dir := w.downloads()
	w.click(selector, false)
	var read []byte
	require.Eventually(w, func() bool {
		var err error
		read, err = os.ReadFile(filepath.Join(dir, name))
		return err == nil && strings.Contains(string(read), text)
	}, waitAtMost, tick, "no %q in %s", text, name)
}

// picture writes the pictures of the documentation.
func picture(t *testing.T, s *site) {
	contradicted := fmt.Sprintf(`[...document.querySelectorAll(".card a")].find(a => a.textContent == %q).href`,
		mira.traits[2].content)
	for name, of := range map[string]struct {
		visitor
		path string // or an expression on the first page, for a link
	}{
		"profile":      {visitor{user: "mira", language: "en"}, "/profile"},
		"person":       {visitor{user: "mira", language: "en"}, "/"},
		"person-phone": {visitor{user: "xiaowen", language: "zh-CN", phone: true, dark: true}, "/"},
		"trait":        {visitor{user: "mira", language: "en"}, contradicted},
		"facts":        {visitor{user: "mira", language: "en"}, "/facts"},
	} {
		w := s.open(t, of.visitor)
		if !strings.HasPrefix(of.path, "/") {
			of.path = strings.TrimPrefix(evaluate[string](w, of.path), w.url)
		}
		w.goTo(of.path)
		png := do(w, name, chromedp.CaptureScreenshot())
		require.NoError(t, os.WriteFile(filepath.Join(*pictures, "pages-"+name+".png"), png, 0o644))
	}
}
