package llm

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// The prompts: for each purpose a file with what the model is (system) and what it is shown (data),
// and what both have in common.
//
//go:embed prompts/*.tmpl
var promptFiles embed.FS

var prompts = template.Must(template.New("").Funcs(template.FuncMap{
	"fence": func(string, any) (string, error) { return "", nil }, // bound to a boundary for each prompt
}).ParseFS(promptFiles, "prompts/*.tmpl"))

// filling is what a prompt is filled with.
type filling struct {
	Boundary string // of what is data; new for each prompt, so that no memory can end it
	Schema   string // empty where the server sees to it
	Data     any
	Problem  string // of a bad answer
}

// messages writes the question, and with a bad answer that answer and what is wrong with it.
func (q question) messages(withSchema bool, bad *reasoner.AnswerError) ([]llms.MessageContent, error) {
	f := filling{Boundary: rand.Text(), Data: q.data, Problem: bad.Problem}
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
	data, err := f.write(q.purpose + ".data")
	if err != nil {
		return nil, err
	}
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, system), llms.TextParts(llms.ChatMessageTypeHuman, data)}
	if bad.Problem == "" {
		return messages, nil
	}
	repair, err := f.write("repair")
	if err != nil {
		return nil, err
	}
	if bad.Answer != "" { // some servers refuse an empty message
		messages = append(messages, llms.TextParts(llms.ChatMessageTypeAI, bad.Answer))
	}
	return append(messages, llms.TextParts(llms.ChatMessageTypeHuman, repair)), nil
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

// fence writes data as a JSON array, an object a line, between two lines that hold the boundary.
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

// marshal writes JSON without \u003c and the like, which cost tokens and stand for nothing here.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
