package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// webhookFaults are the ways in which the far end of the webhook misbehaves after a message has arrived.
var webhookFaults = []string{"429", "500", "503", "hang", "slow"}

var webhookSecret = []byte("the secret of the webhook of a chaos run")

// notice is a message that the webhook got.
type notice struct {
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		UserID  string    `json:"user_id"`
		ID      uuid.UUID `json:"id"`
		Content string    `json:"content"`
	} `json:"data"`
}

// event identifies one time that an intention is due.
func (n notice) event() string { return eventOf(n.Data.ID.String(), n.Timestamp.UnixMicro()) }

func eventOf(intention string, at int64) string { return fmt.Sprint(intention, " at ", at) }

// notices are the messages that the webhook got, by their ids.
type notices struct {
	hook  *standardwebhooks.Webhook
	got   map[string]notice
	taken map[string]bool // was answered with 2xx
}

func newNotices() (*notices, error) {
	hook, err := standardwebhooks.NewWebhookRaw(webhookSecret)
	return &notices{hook: hook, got: map[string]notice{}, taken: map[string]bool{}}, err
}

// read returns a message and its id, or says what is wrong with it.
func (n *notices) read(message []byte, header http.Header) (id string, got notice, err error) {
	id = header.Get(standardwebhooks.HeaderWebhookID)
	if err := n.hook.Verify(message, header); err != nil {
		return id, got, err
	}
	if err := json.Unmarshal(message, &got); err != nil {
		return id, got, err
	}
	if before, ok := n.got[id]; ok && before != got {
		return id, got, fmt.Errorf("before, it was %v", before)
	}
	n.got[id] = got
	return id, got, nil
}

// notify is the far end of the webhook. A message that it notes and does not take is posted again.
func (p *provider) notify(w http.ResponseWriter, r *http.Request) {
	message, err := io.ReadAll(r.Body)
	if err != nil {
		return // the worker is gone
	}
	p.mu.Lock()
	id, _, err := p.notices.read(message, r.Header)
	p.mu.Unlock()
	if err != nil {
		p.violate(Violation{Check: "webhook", ID: id, Expected: "a signed message, always the same under its id",
			Found: fmt.Sprintf("%v: %s", err, message)})
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, done := p.misbehave("webhook", w, r); done {
		return
	}
	p.mu.Lock()
	p.notices.taken[id] = true
	p.mu.Unlock()
}

// delivered checks that the webhook took each intention that is due, and got nothing else.
func (k *checker) delivered() int {
	k.provider.mu.Lock()
	defer k.provider.mu.Unlock()
	n := k.provider.notices
	bad, _ := k.ledger.badMarks()
	ids := map[string]string{}
	for id, got := range n.got {
		if other, ok := ids[got.event()]; ok {
			k.violate("webhook", got.Data.UserID, got.Data.ID.String(), "", "one message each time that it is due",
				id+" and "+other)
		}
		ids[got.event()] = id
		for _, m := range marksIn(got.Data.Content) {
			if userName(m.user) != got.Data.UserID {
				k.violate("isolation", got.Data.UserID, m.String(), "webhook", "nothing of "+userName(m.user), got.Data.Content)
			}
			if bad[m] == "rolled back" {
				k.violate("rolled back", got.Data.UserID, m.String(), "webhook", "no trace of a text that was rolled back",
					got.Data.Content)
			}
		}
	}
	k.each(`select user_id, id, content, (extract(epoch from became_due_at) * 1000000)::bigint from oxbow.intentions
		where state = 'due'`, func(c []string) {
		var at int64
		_, _ = fmt.Sscan(c[3], &at) // a number, by its column
		id := ids[eventOf(c[1], at)]
		if got := n.got[id]; !n.taken[id] || got.Data.UserID != c[0] || got.Data.Content != c[2] {
			k.violate("webhook", c[0], c[1], "", "posted until the webhook took it: "+c[2], fmt.Sprint(id, " ", got))
		}
	})
	return len(n.got)
}
