package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Embedder makes vectors of texts. It may be used by several goroutines at once.
type Embedder interface {
	Model() string
	Dimension() int
	// Embed returns a vector for each text, in their order. The error is an *UnavailableError, or a *RefusedError, with
	// which the vectors of the other texts are returned, or of any other kind, when asking again may help.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// UnavailableError says that a provider is down, slow, over its limits or wrongly configured. The texts are all right.
type UnavailableError struct {
	RetryAfter time.Duration // what the provider asked for; 0: it did not say
	Err        error
}

func (e *UnavailableError) Error() string { return e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

// RefusedError says that a provider will not make vectors of some of the texts, however often it is asked.
type RefusedError struct {
	Texts []int // their positions
	Err   error
}

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

const (
	minPause = 5 * time.Second
	maxPause = time.Minute
)

// Provider is what the jobs of one process know of a provider's health. While it is down one job at
// a time asks it, after pauses that grow from 5 to 60 seconds or last as long as the provider
// demands, and the others do not wait for it.
type Provider struct {
	now func() time.Time

	mu     sync.Mutex
	status ProviderStatus
	asking bool // a job is finding out whether it is back
}

// ProviderStatus is how the last calls of a provider ended.
type ProviderStatus struct {
	Failures int       // in a row
	Err      error     // why the last of them failed; nil while it works
	RetryAt  time.Time // when it is asked again
	WorkedAt time.Time // when it last answered; zero: not yet
}

// Down tells whether the last call failed.
func (s ProviderStatus) Down() bool { return s.Failures > 0 }

// NewProvider returns the record of a provider that was not asked yet.
func NewProvider() *Provider { return &Provider{now: time.Now} }

// Status returns what is known.
func (p *Provider) Status() ProviderStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// pausedError is why a job did not even ask.
type pausedError struct{ because error }

func (e pausedError) Error() string { return fmt.Sprintf("the provider is left alone: %s", e.because) }
func (e pausedError) Unwrap() error { return e.because }

// call runs ask unless the provider is being left alone. Its error then is an *UnavailableError, as when ask finds the
// provider down.
func (p *Provider) call(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	if err := p.enter(); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := ask(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = &UnavailableError{Err: fmt.Errorf("no answer within %s", limit)}
	}
	return p.leave(err)
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

func (p *Provider) leave(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	wasAsking := p.asking
	p.asking = false
	var down *UnavailableError
	switch {
	case errors.As(err, &down):
		pause := max(down.RetryAfter, min(minPause<<min(p.status.Failures, 10), maxPause))
		// Of several calls that fail together, the first sets the pause.
		if wasAsking || !p.status.Down() {
			p.status.Failures++
			p.status.RetryAt = p.now().Add(pause)
		}
		p.status.Err = down.Err
		return &UnavailableError{RetryAfter: pause, Err: down.Err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// the job was stopped, or had no time left: nothing was learnt
	default:
		p.status = ProviderStatus{WorkedAt: p.now()}
	}
	return err
}
