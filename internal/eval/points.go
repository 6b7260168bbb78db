package eval

import "context"

// WordsAgree is the minimum cosine similarity of the local embedder's vectors at which two texts state the
// same. docs/evaluation.md describes how it was chosen.
const WordsAgree = 0.262

// Fact is a text of a user, and the session it comes from, "" if it is of none.
type Fact struct{ User, Session, Text string }

// Points measures extraction. Precision is the share of extracted memories that state one of the
// points, and recall the share of points that one of the memories states. A point of a session is only
// compared with memories of that session.
type Points struct {
	Memories  int     `json:"memories"`
	Points    int     `json:"points"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// PointScores holds the measures by words, and by the vectors of the model if that was asked for.
type PointScores struct {
	Words     Points  `json:"words"`
	Embedding *Points `json:"embedding,omitempty"`
}

// MeasurePoints compares extracted memories with points. Two texts state the same if the cosine of
// their vectors is at least agree.
func MeasurePoints(ctx context.Context, memories, points []Fact, agree float64,
	embed func(context.Context, []string) ([][]float32, error),
) (none Points, err error) {
	ofMemories, err := vectors(ctx, memories, embed)
	if err != nil {
		return none, err
	}
	ofPoints, err := vectors(ctx, points, embed)
	if err != nil {
		return none, err
	}
	byUser := map[string][]int{} // memories
	for i, m := range memories {
		byUser[m.User] = append(byUser[m.User], i)
	}
	stated, found := make([]bool, len(memories)), 0
	for i, p := range points {
		hit := false
		for _, j := range byUser[p.User] {
			if (p.Session == "" || p.Session == memories[j].Session) && cosine(ofPoints[i], ofMemories[j]) >= agree {
				hit, stated[j] = true, true
			}
		}
		found += number(hit)
	}
	right := 0
	for _, is := range stated {
		right += number(is)
	}
	return Points{Memories: len(memories), Points: len(points),
		Precision: float64(right) / float64(max(len(memories), 1)), Recall: float64(found) / float64(max(len(points), 1))}, nil
}

const pointBatch = 64 // texts per call of the embedder

func vectors(ctx context.Context, facts []Fact, embed func(context.Context, []string) ([][]float32, error)) (
	all [][]float32, err error) {
	texts := make([]string, len(facts))
	for i, f := range facts {
		texts[i] = f.Text
	}
	for len(texts) > 0 {
		n := min(len(texts), pointBatch)
		some, err := embed(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		all, texts = append(all, some...), texts[n:]
	}
	return all, nil
}

// cosine is the product of vectors of length 1.
func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
