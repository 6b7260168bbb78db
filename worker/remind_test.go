package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

// farEnd is what a webhook points to. It answers with the statuses in turn, then 204.
type farEnd struct {
	mu       sync.Mutex
	hook     *standardwebhooks.Webhook
	statuses []int
	ids      []string
	said     []string
}

func (f *farEnd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	message, err := io.ReadAll(r.Body)
	if err == nil {
		err = f.hook.Verify(message, r.Header)
	}
	var notice struct {
		Type string
		Data struct{ Content string }
	}
	if err == nil {
		err = json.Unmarshal(message, &notice)
	}
	if err != nil || notice.Type != "intention.due" {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	f.ids, f.said = append(f.ids, r.Header.Get("webhook-id")), append(f.said, notice.Data.Content)
	status := http.StatusNoContent
	if len(f.statuses) > 0 {
		status, f.statuses = f.statuses[0], f.statuses[1:]
	}
	w.WriteHeader(status)
}

// What a person wants to be reminded of becomes due once, is announced, and is posted until the far end takes it.
func TestRemind(t *testing.T) {
	b := setup(t)
	far := &farEnd{statuses: []int{http.StatusInternalServerError}}
	server := httptest.NewServer(far)
	t.Cleanup(server.Close)
	added, err := store.AddWebhook(t.Context(), b.pool, server.URL)
	require.NoError(t, err)
	far.hook, err = standardwebhooks.NewWebhook(added.Secret)
	require.NoError(t, err)
	b.cfg.WebhookPrivate = true
	start := time.Date(2026, 5, 13, 10, 20, 0, 0, time.UTC)
	for i, content := range []string{"Remind me every day at 8 to water the plants", "Sure.",
		"And remind me tomorrow at 9:30 to call mom"} {
		_, err := b.pool.Exec(t.Context(), `insert into oxbow.messages (user_id, session_id, role, content, created_at)
			values ('ada', 's', $1, $2, $3)`, []string{"user", "assistant"}[i%2], content, start.Add(time.Duration(i)*time.Second))
		require.NoError(t, err)
	}
	_, err = b.pool.Exec(t.Context(), `select oxbow.end_session('ada', 's')`)
	require.NoError(t, err)
	b.work()
	listening, err := b.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer listening.Release()
	_, err = listening.Exec(t.Context(), `listen "oxbow.due"`)
	require.NoError(t, err)

	remind := func(at time.Time) {
		t.Helper()
		b.cfg.Now = func() time.Time { return at }
		_, err := b.pool.Exec(t.Context(), `insert into oxbow.river_job (kind, queue, max_attempts, args)
			values ('remind', 'default', 1, '{}')`)
		require.NoError(t, err)
		b.work()
	}
	count := func(what string) (n int) {
		t.Helper()
		require.NoError(t, b.pool.QueryRow(t.Context(), `select count(*) from oxbow.intentions where `+what).Scan(&n))
		return n
	}
	day := start.AddDate(0, 0, 1).Truncate(24 * time.Hour)
	remind(day.Add(7 * time.Hour))
	require.Zero(t, count(`state = 'due'`))
	remind(day.Add(10 * time.Hour))
	require.Equal(t, 2, count(`state = 'due'`))
	require.Equal(t, 1, count(`recurrence = 'FREQ=DAILY' and state = 'open' and due_at = '2026-05-15 08:00+00'`))
	// set back to a time that was announced, it goes on without another announcement
	_, err = b.pool.Exec(t.Context(), `update oxbow.intentions set due_at = due_at - interval '1 day',
		remind_at = remind_at - interval '1 day' where recurrence is not null`)
	require.NoError(t, err)
	remind(day.Add(10 * time.Hour))
	require.Equal(t, 2, count(`state = 'due'`))
	require.Equal(t, 1, count(`recurrence = 'FREQ=DAILY' and state = 'open' and due_at = '2026-05-15 08:00+00'`))
	for range 2 {
		n, err := listening.Conn().WaitForNotification(t.Context())
		require.NoError(t, err)
		require.Contains(t, n.Payload, `"user_id": "ada"`)
	}

	// the one that was refused is tried again, with the same id
	_, err = b.pool.Exec(t.Context(), `update oxbow.river_job set state = 'available', scheduled_at = now()
		where kind = 'notify' and state = 'retryable'`)
	require.NoError(t, err)
	b.work()
	require.ElementsMatch(t, []string{"water the plants", "call mom"}, far.said[1:])
	require.Contains(t, far.ids[1:], far.ids[0])

	// one that is snoozed is due again, and posted with another id
	_, err = b.pool.Exec(t.Context(), `select oxbow.snooze_intention('ada', id, $1) from oxbow.intentions
		where content = 'call mom'`, day.Add(11*time.Hour))
	require.NoError(t, err)
	remind(day.Add(11 * time.Hour))
	require.Equal(t, []string{"call mom"}, far.said[3:])
	require.NotContains(t, far.ids[:3], far.ids[3])

	far.statuses = []int{http.StatusGone}
	remind(day.AddDate(0, 0, 1).Add(9 * time.Hour))
	hooks, err := store.Webhooks(t.Context(), b.pool)
	require.NoError(t, err)
	require.Contains(t, hooks[0].DisabledBy, "410")
	require.Len(t, hooks[0].Deliveries, 5)
	require.Contains(t, hooks[0].Deliveries[0].Status, "410")
	require.Contains(t, hooks[0].Deliveries[3].Status+hooks[0].Deliveries[4].Status, "500", "the first two, in any order")
	remind(day.AddDate(0, 0, 2).Add(9 * time.Hour))
	require.Len(t, far.said, 5, "a disabled webhook gets nothing")
	require.Equal(t, 4, count(`state = 'due'`))
}

// A far end that says strange things gets each attempt once, and nothing of it or of the webhook's secrets is stored or
// logged.
func TestStrangeFarEnd(t *testing.T) {
	b := setup(t)
	var log bytes.Buffer
	b.cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.cfg.WebhookPrivate = true
	posts, answers := 0, []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		said := answers[min(posts, len(answers)-1)]
		posts++
		conn, out, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, err = out.WriteString("HTTP/1.1 " + said + strings.Repeat("\x00strange", 5000) + "\r\nContent-Length: 0\r\n\r\n")
		}
		if assert.NoError(t, err) {
			assert.NoError(t, errors.Join(out.Flush(), conn.Close()))
		}
	}))
	t.Cleanup(server.Close)
	address := strings.Replace(server.URL, "http://", "http://robin:hunter22@", 1) + "/x?token=hunter22"
	_, err := store.AddWebhook(t.Context(), b.pool, address)
	require.NoError(t, err)
	for _, c := range []struct{ answers, statuses []string }{
		{[]string{"204 "}, []string{"204 No Content"}},
		{[]string{"500 ", "200 "}, []string{"the far end answered 500 Internal Server Error", "200 OK"}},
		{[]string{"410 "}, []string{"the far end answered 410: it wants no more messages"}},
	} {
		posts, answers = 0, c.answers
		_, err := b.pool.Exec(t.Context(), `select oxbow.intend('ada', $1, due_at => now() + interval '1 minute')`, c.answers[0])
		require.NoError(t, err)
		b.cfg.Now = func() time.Time { return time.Now().Add(time.Hour) }
		_, err = b.pool.Exec(t.Context(), `insert into oxbow.river_job (kind, queue, max_attempts, args)
			values ('remind', 'default', 1, '{}')`)
		require.NoError(t, err)
		b.work()
		require.Equal(t, len(c.answers), posts, "one attempt is one post")
		hooks, err := store.Webhooks(t.Context(), b.pool)
		require.NoError(t, err)
		for i, status := range c.statuses {
			require.Equal(t, status, hooks[0].Deliveries[len(c.statuses)-1-i].Status)
		}
		require.NotContains(t, hooks[0].URL, "hunter22")
		var state, job string
		require.NoError(t, b.pool.QueryRow(t.Context(), `select state::text, j::text from oxbow.river_job j
			where kind = 'notify' order by id desc limit 1`).Scan(&state, &job))
		require.Equal(t, "completed", state)
		require.NotContains(t, job+log.String(), "hunter22")
		require.NotContains(t, job+log.String(), "strange")
	}
}
