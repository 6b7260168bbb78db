package store

import (
	"context"
	"fmt"

	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

// FoldActivity adds up to limit uses that oxbow.touch reported to their memories, and returns how many it took: fewer
// than limit means that there are no more.
func FoldActivity(ctx context.Context, db DB, limit int) (int, error) {
	taken, err := dbsqlc.New().ActivityFold(ctx, db, int32(limit))
	if err != nil {
		return 0, fmt.Errorf("add up the uses of memories: %w", err)
	}
	return int(taken), nil
}
