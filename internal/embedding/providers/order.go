package providers

import (
	"encoding/json"
	"slices"
)

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
