package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// Embedder computes vectors of texts. It must be safe for concurrent use.
type Embedder interface {
	Model() string
	Dimension() int
	// Embed returns a vector for each text, in order. The error is an *UnavailableError; a
	// *RefusedError, in which case the vectors of the other texts are returned; or any other
	// error, after which a retry may succeed.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// EmbedQueries is like Embed for questions about the texts.
	EmbedQueries(ctx context.Context, texts []string) ([][]float32, error)
}

// UnavailableError reports that a provider is down, slow, rate-limited or misconfigured.
type UnavailableError struct {
	RetryAfter time.Duration // requested by the provider; 0: unknown
	Broke      bool          // the call itself failed or took too long, so a text of it may be the cause
	Err        error
}

func (e *UnavailableError) Error() string { return e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// RefusedError reports that a provider refuses some of the texts. Retrying does not help. A text that is neither refused
// nor has a vector was not reached in time.
type RefusedError struct {
	Texts   []int    // indexes of the refused texts
	Reasons []string // for each of them
	Err     error
}

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Vectors returns a vector for each text, or nil and the reason for a text that the provider refuses.
func Vectors(ctx context.Context, e Embedder, texts []string) (vectors [][]float32, reasons []string, err error) {
	vectors, reasons, err = vectorsInTime(ctx, e, e.Embed, texts)
	for i, v := range vectors {
		if v == nil && reasons[i] == "" {
			return nil, nil, fmt.Errorf("%s returned no vector for a text", e.Model())
		}
	}
	return vectors, reasons, err
}

// vectorsInTime is Vectors with a method of e, but a text that was not reached in time has neither a vector nor a
// reason.
func vectorsInTime(ctx context.Context, e Embedder, embed func(context.Context, []string) ([][]float32, error),
	texts []string) (made [][]float32, reasons []string, err error) {
	made, err = embed(ctx, texts)
	refusal, refused := errors.AsType[*RefusedError](err)
	if err != nil && !refused {
		return nil, nil, err
	}
	if len(made) != len(texts) {
		return nil, nil, fmt.Errorf("%s returned %d vectors for %d texts", e.Model(), len(made), len(texts))
	}
	reasons = make([]string, len(texts))
	if refused {
		for i, at := range refusal.Texts {
			made[at], reasons[at] = nil, refusal.Reasons[i]
		}
	}
	for _, v := range made {
		if len(v) != e.Dimension() && (v != nil || !refused) {
			return nil, nil, fmt.Errorf("%s returned a vector of length %d instead of %d", e.Model(), len(v),
				e.Dimension())
		}
	}
	return made, reasons, nil
}

const (
	minPause = 5 * time.Second
	maxPause = time.Minute
)

// Provider tracks the health of a provider for the jobs of one process. While the provider is
// down, one job at a time calls it and the others fail at once. The pause between calls grows from
// 5 to 60 seconds, or is as long as the provider requests.
type Provider struct {
	// Changed, if not nil, is called when calls are paused and when they succeed again. Set it before the first call.
	Changed func(context.Context, ProviderStatus)

	now func() time.Time

	mu     sync.Mutex
	status ProviderStatus
	asking bool // a job is checking whether the provider is back
}

// ProviderStatus describes how the last calls to a provider ended.
type ProviderStatus struct {
	Failures int       // consecutive
	Since    time.Time // when the first of them was made
	Err      error     // of the last failed call; nil while the provider works
	RetryAt  time.Time // when the next call is allowed
	WorkedAt time.Time // when the last call succeeded; zero: never
}

// Down reports whether the last call failed.
func (s ProviderStatus) Down() bool { return s.Failures > 0 }

// NewProvider returns a Provider that has not been called.
func NewProvider() *Provider { return &Provider{now: time.Now} }

// Status returns the current status.
func (p *Provider) Status() ProviderStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// pausedError is the reason why a job did not call the provider.
type pausedError struct{ because error }

func (e pausedError) Error() string {
	return fmt.Sprintf("calls of the provider are paused: %s", e.because)
}
func (e pausedError) Unwrap() error { return e.because }

// call runs ask unless calls are paused. The error is an *UnavailableError if they are, or if ask
// finds the provider down.
func (p *Provider) call(ctx context.Context, limit time.Duration, ask func(context.Context) error) (err error) {
	if err := p.enter(); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = context.Canceled // unless ask returns: a panic says nothing about the provider
	defer func() {
		var changed bool
		if changed, err = p.leave(err); changed && p.Changed != nil {
			p.Changed(ctx, p.Status())
		}
	}()
	err = ask(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil && !errors.As(err, new(*reasoner.AnswerError)) {
		err = &UnavailableError{Broke: true, Err: fmt.Errorf("no answer within %s", limit)}
	}
	return err
}

func (p *Provider) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status.Down() {
		if wait := p.status.RetryAt.Sub(p.now()); wait > 0 || p.asking {
			return &UnavailableError{RetryAfter: max(wait, minPause), Err: pausedError{p.status.Err}}
		}
		p.asking = true
	}
	return nil
}

// leave ends a call. It reports whether calls are now paused or no longer, and returns the error of the call.
func (p *Provider) leave(err error) (changed bool, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wasAsking := p.asking
	p.asking = false
	var down *UnavailableError
	switch {
	case errors.As(err, &down):
		pause := max(down.RetryAfter, min(minPause<<min(p.status.Failures, 10), maxPause))
		// When several concurrent calls fail, the first one sets the pause.
		if changed = wasAsking || !p.status.Down(); changed {
			if p.status.Failures++; p.status.Failures == 1 {
				p.status.Since = p.now()
			}
			p.status.RetryAt = p.now().Add(pause)
		}
		p.status.Err = down.Err
		err = &UnavailableError{RetryAfter: pause, Broke: down.Broke, Err: down.Err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The job was stopped or ran out of time, which says nothing about the provider.
	default:
		changed = p.status.Down()
		p.status = ProviderStatus{WorkedAt: p.now()}
	}
	return changed, err
}

// postpone decides when a job is retried that could not call a provider. Failures that are not caused by the job do
// not count as an attempt.
func (c Config) postpone(ctx context.Context, err error) error {
	var down *UnavailableError
	var mismatch *store.ModelMismatchError
	var spent overspentError
	switch {
	case errors.Is(err, errOutOfTime):
		return river.JobSnooze(0)
	case errors.As(err, &spent):
		c.Observer.Overspent()
		c.Logger.WarnContext(ctx, "a job was postponed", "reason", spent)
		return river.JobSnooze(spread(time.Hour))
	case errors.As(err, &down):
		if !errors.As(err, new(pausedError)) { // a job that did not call has nothing to report
			c.Logger.WarnContext(ctx, "a provider is not available", "error", down.Err, "pause", down.RetryAfter.String())
		}
		return river.JobSnooze(spread(down.RetryAfter))
	case errors.As(err, &mismatch):
		c.Logger.ErrorContext(ctx, "embedding is paused", "error", mismatch)
		return river.JobSnooze(spread(otherModelPause))
	}
	return err
}

// spread adds up to 10 % to a pause, so that jobs that waited together do not all return at once.
func spread(d time.Duration) time.Duration {
	return d + rand.N(d/10+time.Millisecond)
}
