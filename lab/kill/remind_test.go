package kill

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// received are the messages that a webhook got: the intention of each id, and how often it came.
type received struct {
	mu    sync.Mutex
	about map[string]string
	times map[string]int
}

func (k *killing) webhook(dsn string) *received {
	got := &received{about: map[string]string{}, times: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			Data struct {
				UserID  string `json:"user_id"`
				Content string `json:"content"`
				DueAt   string `json:"due_at"`
			}
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &message)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		got.mu.Lock()
		defer got.mu.Unlock()
		id := r.Header.Get("webhook-id")
		got.about[id] = fmt.Sprint(message.Data.UserID, message.Data.Content, message.Data.DueAt)
		got.times[id]++
	}))
	k.Cleanup(server.Close)
	k.exec(dsn, fmt.Sprintf(`insert into oxbow.webhooks (url, secret) values ('%s', '\x%064d')`, server.URL, 0))
	return got
}

// abouts returns what the messages were about, each id once.
func (r *received) abouts() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, about := range r.about {
		all = append(all, about)
	}
	slices.Sort(all)
	return all
}

// However often the worker is killed while it makes intentions due and announces them, each is due once, and a webhook
// gets it at least once, under one id. OXBOW_KILL_PEOPLE makes it a long run.
func TestKilledRemindersComeOnce(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	people := k.number("OXBOW_KILL_PEOPLE", 120) // more than two batches
	k.exec(k.dsn, fmt.Sprintf(`
		insert into oxbow.intentions (user_id, content, due_at, precision, remind_at, recurrence, starts_at)
		select 'person ' || i, n.content, t.at, 'minute', t.at, n.recurrence, case when n.recurrence is not null then t.at end
		  from generate_series(1, %d) i,
		       (values ('Swim', null), ('喝水', 'FREQ=DAILY')) n(content, recurrence),
		       (select date_trunc('hour', now()) - interval '30 minutes') t(at);
		insert into oxbow.intentions (user_id, content, due_at, precision, remind_at)
		select 'person ' || i, 'Later', now() + interval '1 day', 'minute', now() + interval '1 day'
		  from generate_series(1, %d) i`, people, people))
	calm, wild := k.clone("calm"), k.clone("wild")
	calmly, wildly := k.webhook(calm), k.webhook(wild)
	k.run("remind", calm, wild)
	k.work(calm, wild, k.intended, []string{failpoint.RemindWritten, failpoint.RemindBatch, failpoint.NotifySent},
		"--webhook-private")
	require.Equal(t, 2*people, k.count(wild, `oxbow.intentions where state = 'due'`))
	require.Len(t, calmly.abouts(), 2*people)
	require.Equal(t, calmly.abouts(), wildly.abouts(), "a repetition has the id of the first attempt")
	k.oxbow(wild, "check")
}

// intended returns the intentions, except what depends on the clock.
func (k *killing) intended(dsn string) []string {
	return k.lines(dsn, `
		select jsonb_build_array(user_id, content, due_at, precision, recurrence, state, parent_id is null,
		         remind_at, became_due_at is null) from oxbow.intentions where content <> 'Later'`,
		`select jsonb_build_array(user_id, state) from oxbow.intentions where content = 'Later'`)
}
