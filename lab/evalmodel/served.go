package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// served is what a server of a language model answered, as its client should have recorded it.
type served struct {
	mu sync.Mutex
	tokens
	refused map[string]int // by request: entries about something that was not shown, or answered before
}

// tokens is what answers cost.
type tokens struct{ Answers, In, Out int }

// entries are the requests that are answered with an entry for each thing shown: the list, the member with the reference,
// and the first letter of references.
var entries = map[string]struct{ list, member, letter string }{"signals": {"signals", "turn", "t"},
	"judge": {"judgements", "fact", "f"}, "resolve": {"resolutions", "conflict", "c"}}

type questionKey struct{}

type asked struct {
	Format struct {
		Schema struct {
			Name string `json:"name"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Messages []struct {
		Content string `json:"content"`
	} `json:"messages"`
}

type answered struct {
	Choices []struct {
		Reason  string                   `json:"finish_reason"`
		Message struct{ Content string } `json:"message"`
	} `json:"choices"`
	Usage struct {
		In  int `json:"prompt_tokens"`
		Out int `json:"completion_tokens"`
	} `json:"usage"`
}

// listen starts a server that passes requests on to the one at the URL. It ends with the program.
func (s *served) listen(to string) string {
	target := must.Get(url.Parse(to))
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			r.Body = io.NopCloser(bytes.NewReader(raw))
			question, _ := r.Request.Context().Value(questionKey{}).([]byte)
			s.count(question, raw)
			return nil
		},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), questionKey{}, raw)))
	})).URL
}

var reference = regexp.MustCompile(`"ref":"([a-z]\d+)"`)

func (s *served) count(question, raw []byte) {
	var q asked
	var a answered
	if json.Unmarshal(question, &q) != nil || json.Unmarshal(raw, &a) != nil || len(a.Choices) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Answers++
	s.In, s.Out = s.In+a.Usage.In, s.Out+a.Usage.Out
	purpose := q.Format.Schema.Name
	of, known := entries[purpose]
	var answer map[string]any
	if !known || a.Choices[0].Reason != "stop" || json.Unmarshal([]byte(a.Choices[0].Message.Content), &answer) != nil {
		return
	}
	waiting := map[string]bool{}
	for _, m := range q.Messages {
		for _, found := range reference.FindAllStringSubmatch(m.Content, -1) {
			waiting[found[1]] = strings.HasPrefix(found[1], of.letter)
		}
	}
	entries, _ := answer[of.list].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		ref, _ := entry[of.member].(string)
		if !waiting[ref] {
			s.refused[purpose]++
		}
		delete(waiting, ref)
	}
}
