package oxbow

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Conclusion is drawn from several facts and episodes of one topic. It has the conditions under which it holds, who
// says so, and the memories it rests on. It is also a memory, which Recall finds.
type Conclusion = store.Conclusion

// ConclusionsQuery selects conclusions.
type ConclusionsQuery struct {
	// Topic restricts them to one topic, such as "do:running". Default: all.
	Topic string
	// Versions includes versions that were replaced or have ended. Default: only current ones.
	Versions bool
	// Limit is the maximum number, 1 to 1,000. Default: 100.
	Limit int
}

// Conclusions returns the conclusions about a user, the surest first. Those of different sources that say the opposite
// stand side by side and name each other in Conflicts. An invalid value is an *InvalidError.
func (c *Client) Conclusions(ctx context.Context, userID string, q ConclusionsQuery) ([]Conclusion, error) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Conclusion, error) {
		return store.Conclusions(ctx, tx, userID, q.Topic, q.Versions, q.Limit)
	})
}
