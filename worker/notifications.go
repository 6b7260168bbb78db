package worker

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// hearTime is how long a notification may take to arrive through a pooler.
const hearTime = 2 * time.Second

// hears reports whether the worker receives notifications, which a pooler in transaction mode does not pass on.
func (w *Worker) hears(ctx context.Context) (heard bool, err error) {
	err = w.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		listening := c.Conn()
		var pid uint32
		if err := listening.QueryRow(ctx, `select pg_backend_pid()`).Scan(&pid); err != nil {
			return err
		}
		if heard = pid == listening.PgConn().PID(); heard {
			return nil // there is no pooler
		}
		sending, err := pgx.ConnectConfig(ctx, w.pool.Config().ConnConfig)
		if err != nil {
			return err
		}
		defer sending.Close(context.WithoutCancel(ctx))
		if _, err := listening.Exec(ctx, `listen oxbow_check`); err != nil {
			return err
		}
		if _, err := sending.Exec(ctx, `notify oxbow_check`); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, hearTime)
		defer cancel()
		_, err = listening.WaitForNotification(within)
		if heard = err == nil; errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil
		}
		_, stopErr := listening.Exec(ctx, `unlisten oxbow_check`)
		return errors.Join(err, stopErr)
	})
	return heard, err
}
