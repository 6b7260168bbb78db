package providers

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow/internal/provider"
)

// maxAnswer is more bytes than 2,048 vectors of embedding.MaxDimension take as text.
const maxAnswer = 256 << 20

// exchange records how a request ended, which the client library does not report.
type exchange struct {
	status     int           // 0 without an answer
	retryAfter time.Duration // of the answer
	message    string        // the provider's message, if the status is not a success
	failure    error         // why there was no answer
}

type exchangeKey struct{}

// withExchange returns a context that records its requests in the exchange. The last request wins.
func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// transport adds the key, limits the time of a request, records how it ended, and sorts an OpenAI
// answer.
type transport struct {
	server provider.Server
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := req.Context().Value(exchangeKey{}).(*exchange)
	*x = exchange{}
	resp, body, err := t.server.Send(req)
	if err != nil {
		x.failure = err
		return nil, err
	}
	x.status = resp.StatusCode
	if resp.StatusCode == http.StatusOK {
		body = inOrder(body)
	} else {
		x.retryAfter = provider.RetryAfter(resp.Header, time.Now())
		x.message, _ = t.server.Problem(body)
	}
	provider.SetBody(resp, body)
	return resp, nil
}

// inOrder sorts the vectors of an OpenAI answer by the position of their text. The protocol allows
// any order and numbers the vectors, but the library ignores the numbers, so texts would get each
// other's vectors. inOrder returns an answer of another form unchanged.
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
			return body // a server that sends no positions keeps the order
		}
		if *item.Index < 0 || *item.Index >= len(taken) || taken[*item.Index] {
			return []byte(`{"data": []}`) // contradictory positions: no vector can be trusted
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
