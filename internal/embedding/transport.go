package embedding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxAnswer is more than 2,048 vectors of MaxDimension take as text.
const maxAnswer = 256 << 20

// exchange is what the client library does not tell about a request: how it ended.
type exchange struct {
	status     int           // 0 without an answer
	retryAfter time.Duration // of the answer
	message    string        // the provider's, of an answer that is no success
	failure    error         // why there was no answer
}

type exchangeKey struct{}

// withExchange returns a context whose requests are noted in the exchange; the last one stands.
func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// transport sends the key, limits the time of a request, notes how it ended, and puts an OpenAI answer in order.
type transport struct {
	next    http.RoundTripper
	apiKey  string
	timeout time.Duration // for the whole answer
}

// errTimeout stands for whatever error a request ends with that took too long.
var errTimeout = errors.New("timeout")

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, _ := req.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = &exchange{}
	}
	*x = exchange{}
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	defer cancel()
	resp, body, err := t.answer(req.Clone(ctx))
	if err != nil {
		if ctx.Err() != nil && req.Context().Err() == nil {
			err = errTimeout
		}
		x.failure = err
		return nil, err
	}
	x.status = resp.StatusCode
	if resp.StatusCode == http.StatusOK {
		body = inOrder(body)
	} else {
		x.retryAfter = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		x.message = t.message(body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

// answer sends the request and reads all of the answer.
func (t *transport) answer(req *http.Request) (*http.Response, []byte, error) {
	req.Header.Del("Authorization") // the library sends one even where there is no key
	if t.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+t.apiKey)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, fmt.Errorf("the answer broke off: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return resp, body, nil
}

// inOrder sorts the vectors of an OpenAI answer by the position of their text. The protocol allows any order and gives
// each its position, which the library ignores: texts would get each other's vectors. An answer of another form is
// returned as it is.
func inOrder(body []byte) []byte {
	var answer struct {
		Data []json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Data) < 2 {
		return body
	}
	type place struct {
		at     int
		vector json.RawMessage
	}
	places := make([]place, len(answer.Data))
	taken := make([]bool, len(answer.Data))
	for i, raw := range answer.Data {
		var item struct {
			Index *int `json:"index"`
		}
		if json.Unmarshal(raw, &item) != nil || item.Index == nil {
			return body // a server that gives no positions keeps the order
		}
		if *item.Index < 0 || *item.Index >= len(taken) || taken[*item.Index] {
			return []byte(`{"data": []}`) // positions that contradict each other: no vector can be trusted
		}
		taken[*item.Index] = true
		places[i] = place{*item.Index, raw}
	}
	byPlace := func(a, b place) int { return a.at - b.at }
	if slices.IsSortedFunc(places, byPlace) {
		return body
	}
	slices.SortFunc(places, byPlace)
	for i, p := range places {
		answer.Data[i] = p.vector
	}
	sorted, err := json.Marshal(answer)
	if err != nil {
		return body
	}
	return sorted
}

// message finds what the provider says in the forms that are in use. Anything else is left out, because some servers
// send the request, with its texts, back. The key is cut out of it.
func (t *transport) message(body []byte) string {
	var answer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var nested struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(answer.Error, &nested) // not an object: tried as text below
	text := nested.Message
	for _, raw := range []json.RawMessage{answer.Error, answer.Message, answer.Detail} {
		if text == "" {
			_ = json.Unmarshal(raw, &text) // not a text: the next
		}
	}
	if t.apiKey != "" {
		text = strings.ReplaceAll(text, t.apiKey, "(API key)")
	}
	text = strings.Map(func(r rune) rune { // it is shown in terminals and logs
		if unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + "…"
	}
	return text
}

// retryAfter reads either form of the header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && !math.IsNaN(seconds) {
		return time.Duration(min(max(seconds, 0), most.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}
