package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const (
	maxRecalled = 50
	maxMessage  = 4000 // characters of a user's new message; maxText for the others
)

// Roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// talk is a conversation as shown to the model.
type talk struct {
	data     talkData
	messages map[string]int // references to indexes of said
	said     []saying
	recalled map[string]reasoner.Held
	unread   notes
}

// saying is a message as shown to the model.
type saying struct {
	reasoner.Message
	folded  string
	suspect bool // it reads like an instruction
}

type talkData struct {
	Now      string
	Language string
	Messages []messageShown
	Recalled []heldShown
}

type messageShown struct {
	Ref     string `json:"ref"`
	New     bool   `json:"new"`
	Role    string `json:"role"`
	Speaker string `json:"speaker,omitempty"`
	Time    string `json:"time"`
	Text    string `json:"text"`
}

type heldShown struct {
	Ref      string `json:"ref"`
	Type     string `json:"type"`
	Category string `json:"category,omitempty"`
	Speaker  string `json:"speaker,omitempty"`
	Time     string `json:"time"`
	Text     string `json:"text"`
}

// listen selects the messages to send and assigns references.
func listen(c reasoner.Conversation) *talk {
	t := &talk{messages: map[string]int{}, recalled: map[string]reasoner.Held{}}
	t.data = talkData{Now: local(c.Now), Language: language(c.Language), Messages: []messageShown{}, Recalled: []heldShown{}}
	for _, m := range c.Messages {
		if !strings.ContainsFunc(m.Content, visible) {
			continue
		}
		most := maxText
		if m.New && m.Role == roleUser {
			most = maxMessage
			if n := len([]rune(m.Content)); n > most {
				t.unread.drop(map[string]any{"message": m.ID, "characters": n},
					"only the first %d characters of the message were read", most)
			}
		}
		m.Content = oneline.Shorten(m.Content, most)
		ref := fmt.Sprintf("m%d", len(t.said)+1)
		t.messages[ref] = len(t.said)
		t.said = append(t.said, saying{m, folded(m.Content), wording.Instructs(m.Content)})
		t.data.Messages = append(t.data.Messages, messageShown{Ref: ref, New: m.New, Role: m.Role,
			Speaker: oneline.Shorten(m.Speaker, maxName), Time: local(m.Time), Text: m.Content})
	}
	size := 0
	for i, h := range c.Recalled[:min(len(c.Recalled), maxRecalled)] {
		ref := fmt.Sprintf("h%d", i+1)
		shown := showHeld(ref, h)
		if size += len([]rune(shown.Text)); size > docketSize {
			break // a message alone may have recalled them, so asking about fewer messages would not help
		}
		t.recalled[ref] = h
		t.data.Recalled = append(t.data.Recalled, shown)
	}
	return t
}

func visible(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) }

// asked returns the number of new messages. After an unusable answer, the model is asked about them one by one.
func (t *talk) asked() (n int) {
	for _, m := range t.said {
		if m.New {
			n++
		}
	}
	return n
}

// bytesPerEntry is the minimum length of the user's messages for each entry of a list in the answer.
const bytesPerEntry = 25

// bounds returns the bounds of an answer. A candidate is not much longer than its message.
func (t *talk) bounds() bounds {
	size, longest := 0, 0
	for _, m := range t.said {
		if m.New && m.Role == roleUser {
			size, longest = size+len(m.Content), max(longest, len([]rune(m.Content)))
		}
	}
	return boundsFor(max(size/bytesPerEntry, len(t.recalled)), longest*3/2)
}

func showHeld(ref string, h reasoner.Held) heldShown {
	return heldShown{Ref: ref, Type: h.Type, Category: string(h.Category), Speaker: oneline.Shorten(h.Speaker,
		maxName), Time: local(h.Time), Text: oneline.Shorten(h.Content, maxText)}
}

// worthAsking reports whether an answer could propose anything.
func (t *talk) worthAsking() bool {
	for _, m := range t.said {
		if m.New && (m.Role == roleUser || m.Role == roleAssistant && len(t.recalled) > 0) {
			return true
		}
	}
	return false
}

// places are the layouts of times that models write. Times without a zone are in the message's
// zone.
var places = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04 -07:00", "Mon 2006-01-02 15:04 -07:00",
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, "2006-01",
	"2006",
}

// maxYears is the largest distance of a time from its message.
const maxYears = 100

// moment parses a time that the model gives for something said at said. The date of said itself
// adds nothing and gives no time.
func moment(text string, said time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	for _, place := range places {
		at, err := time.ParseInLocation(place, text, said.Location())
		switch {
		case err != nil:
			continue
		case at.Before(said.AddDate(-maxYears, 0, 0)) || at.After(said.AddDate(maxYears, 0, 0)):
			return time.Time{}, fmt.Errorf("the time is more than %d years from its message", maxYears)
		case place == time.DateOnly && text == said.Format(time.DateOnly):
			return time.Time{}, nil
		}
		return at.In(said.Location()), nil
	}
	if text != "" {
		return time.Time{}, errors.New("the time is not a date")
	}
	return time.Time{}, nil
}
