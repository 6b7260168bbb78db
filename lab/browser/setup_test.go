// Package browser tests the pages of "oxbow serve" in a real browser, against the real program with a worker.
package browser

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/program"
	"github.com/oxbow-memory/oxbow/store"
)

// waitAtMost is generous, because the machine may be busy.
const (
	waitAtMost = time.Minute
	tick       = 20 * time.Millisecond
)

// site is a running server with a worker, and a browser.
type site struct {
	url    string
	pool   *pgxpool.Pool // as the owner
	chrome context.Context
}

// setup starts the program on a database with both lives.
func setup(t *testing.T) *site {
	t.Helper()
	binary, err := program.Build(t.Context())
	require.NoError(t, err)
	dsn := pgtest.Database(t)
	s := &site{pool: pgtest.Open(t, dsn, "")}
	mira.live(t, s.pool)
	xiaowen.live(t, s.pool)
	start(t, binary, dsn, "", "work")
	s.url = start(t, binary, dsn, "Pages for people at ", "serve", "--addr", "127.0.0.1:0")
	s.chrome = chrome(t)
	return s
}

// start runs a worker or a server, with its login, until the test ends, and returns what follows a text on a line of its
// output.
func start(t *testing.T, binary, dsn, after string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...)
	login := map[string]string{"work": "worker", "serve": "server"}[args[0]]
	cmd.Env = append(os.Environ(), "DATABASE_URL="+pgtest.As(t, dsn, login), "OXBOW_REQUESTS_PER_SECOND=100000")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if after == "" {
		return ""
	}
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), after); ok {
			go func() {
				for lines.Scan() { // so that it can go on writing
				}
			}()
			return strings.TrimSuffix(rest, "/")
		}
	}
	t.Fatalf("oxbow %s ended", args[0])
	return ""
}

// chrome starts a Chromium that can reach this machine only.
func chrome(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("no-pings", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("font-render-hinting", "none"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(format string, args ...any) {
		slog.New(slog.NewTextHandler(t.Output(), nil)).Debug(fmt.Sprintf(format, args...)) // events that it does not know
	}))
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx), "Chromium does not start")
	return ctx
}

// visitor is how somebody looks at the pages.
type visitor struct {
	user     string // "": an operator
	language string // of the browser
	dark     bool
	phone    bool
	noScript bool
}

// tab is a window of a visitor, with cookies of its own.
type tab struct {
	testing.TB
	*site
	ctx context.Context
}

// open opens a window and signs in.
func (s *site) open(t testing.TB, v visitor) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(s.chrome, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	w := &tab{t, s, ctx}
	scheme, width, height := "light", int64(1280), int64(900)
	if v.dark {
		scheme = "dark"
	}
	if v.phone {
		width, height = 390, 844
	}
	require.NoError(t, chromedp.Do(ctx)) // opens it, without a limit of time
	call(w, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"Accept-Language": v.language}})
	call(w, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
		DeviceScaleFactor: 1, Mobile: v.phone})
	call(w, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(w, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.noScript})
	key := store.APIKey{Role: store.RolePerson, UserID: v.user, Name: "browser"}
	if v.user == "" {
		key.Role = store.RoleOperator
	}
	_, text, err := store.CreateAPIKey(t.Context(), s.pool, key)
	require.NoError(t, err)
	w.goTo("/login")
	w.fill("#key", text)
	w.click("main form button")
	w.see("nav")
	return w
}

// do runs an action, and returns its result.
func do[T any](w *tab, what string, action chromedp.Action[T]) T {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, waitAtMost)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	require.NoError(w, err, what)
	return v
}

// call sends a command of the DevTools protocol.
func call[P, R any](w *tab, command cdp.Command[P, R], params P) R {
	w.Helper()
	return do(w, command.Method, func(ctx context.Context, t *chromedp.Target) (R, error) {
		return cdp.Call(ctx, t, command, params)
	})
}

// leads waits for the page that an action leads to, and returns its status.
func (w *tab) leads(what string, action chromedp.Action[chromedp.Void]) int64 {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, waitAtMost)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, action)
	require.NoError(w, err, what)
	return answer.Status
}

// goTo opens a page.
func (w *tab) goTo(path string) {
	w.Helper()
	require.Less(w, w.leads(path, chromedp.Navigate(w.url+path)), int64(400), path)
}

// click clicks on an element, which leads to another page unless leads is false.
func (w *tab) click(selector string, leads ...bool) {
	w.Helper()
	click := chromedp.Click(chromedp.CSS(selector))
	if len(leads) > 0 && !leads[0] {
		do(w, selector, click)
		return
	}
	require.Less(w, w.leads(selector, click), int64(400), selector)
}

// refuses clicks on the button of a form that the server refuses, after a change of the page, and returns to the page.
func (w *tab) refuses(selector, change string) {
	w.Helper()
	evaluate[any](w, change+"; 0")
	require.Equal(w, int64(422), w.leads(selector, chromedp.Click(chromedp.CSS(selector))), selector)
	w.see(`.quiet[lang="en"]`) // what is wrong
	w.goTo(strings.TrimSuffix(w.path(), "/mode"))
}

// fill replaces the text of a field.
func (w *tab) fill(selector, text string) {
	w.Helper()
	do(w, selector, chromedp.SetValue(chromedp.CSS(selector), text))
}

// see waits until an element is visible.
func (w *tab) see(selector string) {
	w.Helper()
	do(w, selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// reads waits until the text of an element contains a text.
func (w *tab) reads(selector, text string) {
	w.Helper()
	var last string
	require.Eventually(w, func() bool {
		var err error
		last, err = chromedp.Run(w.ctx, chromedp.Text(chromedp.CSS(selector)))
		return err == nil && strings.Contains(last, text)
	}, waitAtMost, tick, "%s does not read %q", selector, text)
}

// path returns the path and the query of the page.
func (w *tab) path() string {
	w.Helper()
	return strings.TrimPrefix(do(w, "location", chromedp.Location()), w.url)
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](w *tab, expression string) T {
	w.Helper()
	return do(w, expression, chromedp.Evaluate[T](expression))
}

// downloads makes the browser store files in a directory and returns it.
func (w *tab) downloads() string {
	w.Helper()
	dir := w.TempDir()
	call(w, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
		BrowserContextID: chromedp.FromContext(w.ctx).BrowserContextID})
	return dir
}
