package llm

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// promptFiles are the prompts: for each purpose a file with the instructions (system) and the data
// (data), and a file of shared parts.
//
//go:embed prompts/*.tmpl
var promptFiles embed.FS

var prompts = template.Must(template.New("").Funcs(template.FuncMap{
	"fence": func(string, any) (string, error) { return "", nil }, // each prompt binds it to its boundary
}).ParseFS(promptFiles, "prompts/*.tmpl"))

// filling holds the values for a prompt.
type filling struct {
	Boundary string // of the data
	Schema   string // "" if the server enforces it
	Data     any
	Problem  string // of a bad answer
}

// boundarySize is the length of the boundary in characters of 5 bits each. The boundary is random for each prompt, so a
// memory cannot contain it on purpose, and a memory never begins a line. It is short, because each occurrence costs tokens.
const boundarySize = 4

// wrapped matches where a line of the instructions is wrapped, which costs a token.
var wrapped = regexp.MustCompile(`([^\n])\n *([^\s-])`)

// messages returns the question and, for a repair, the bad answer and its problem.
func (q question) messages(withSchema bool, bad *reasoner.AnswerError) ([]llms.MessageContent, error) {
	f := filling{Boundary: rand.Text()[:boundarySize], Data: q.data, Problem: bad.Problem}
	if withSchema {
		written, err := json.Marshal(q.schema)
		if err != nil {
			return nil, err
		}
		f.Schema = string(written)
	}
	system, err := f.write(q.purpose + ".system")
	if err != nil {
		return nil, err
	}
	system = wrapped.ReplaceAllString(system, "$1 $2")
	data, err := f.write(q.purpose + ".data")
	if err != nil {
		return nil, err
	}
	// The system message has nothing that changes from request to request, so servers can cache it.
	data = "The boundary is " + f.Boundary + ".\n\n" + data
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, system),
		llms.TextParts(llms.ChatMessageTypeHuman, data)}
	if bad.Problem == "" {
		return messages, nil
	}
	repair, err := f.write("repair")
	if err != nil {
		return nil, err
	}
	if bad.Answer == "" { // some servers refuse an empty message, or two of the user in a row
		messages[1] = llms.TextParts(llms.ChatMessageTypeHuman, data+"\n\n"+repair)
		return messages, nil
	}
	return append(messages, llms.TextParts(llms.ChatMessageTypeAI, bad.Answer),
		llms.TextParts(llms.ChatMessageTypeHuman, repair)), nil
}

func (f filling) write(name string) (string, error) {
	t, err := prompts.Clone()
	if err != nil {
		return "", err
	}
	t.Funcs(template.FuncMap{"fence": f.fence})
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, f); err != nil {
		return "", fmt.Errorf("prompt %s: %w", name, err)
	}
	return strings.TrimSpace(b.String()), nil
}

// fence writes data as a JSON array, one object per line, between two lines with the boundary.
func (f filling) fence(name string, data any) (string, error) {
	var items []json.RawMessage
	raw, err := marshal(data)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<<<%s %s\n[", f.Boundary, name)
	for i, item := range items {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n" + string(item))
	}
	fmt.Fprintf(&b, "\n]\n%s>>>", f.Boundary)
	return b.String(), nil
}

// marshal encodes JSON without escapes such as \u003c, which cost tokens and serve no purpose here.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
