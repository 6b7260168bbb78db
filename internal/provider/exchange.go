package provider

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Exchange records how a request ended, which the client libraries do not report.
type Exchange struct {
	Status     int           // 0 without an answer
	RetryAfter time.Duration // of the answer
	Message    string        // the provider's message, if the status is not a success
	Code       string        // OpenAI's error code, likewise
	Answer     []byte        // the body
	Err        error         // why there was no answer
	TimedOut   bool          // there was no answer within the time limit
}

type exchangeKey struct{}

// Record returns a context whose requests are recorded in the exchange. The last request wins.
func Record(ctx context.Context) (context.Context, *Exchange) {
	x := &Exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// Failure describes an exchange without a usable answer, and says what to check.
func (x *Exchange) Failure(url, model string) string {
	where := secrets.StripURL(url)
	if x.Status == 0 {
		reason := "no request could be made"
		if x.Err != nil { // from below the HTTP client, which would add the URL with its secrets
			reason = oneline.Of(x.Err.Error())
		}
		return where + " does not answer: " + reason
	}
	said := where + " said: " + cmp.Or(x.Message, strings.ToLower(http.StatusText(x.Status)))
	switch {
	case x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden:
		return said + "; check the API key"
	case x.Status == http.StatusNotFound:
		return fmt.Sprintf("%s; check the model %q and the URL", said, model)
	case x.Status >= 300 && x.Status < 400:
		return where + " sends to another address, which is not followed; check the URL"
	}
	return said
}

// MaxRetryAfter is the longest time that a provider may ask to wait. Some ask for a day because of a quota that an
// administrator raises within minutes.
const MaxRetryAfter = 10 * time.Minute

// retryAfter parses either form of the Retry-After header: seconds or a date. The result is between
// 0 and MaxRetryAfter, and 0 without a valid header.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && !math.IsNaN(seconds) {
		return time.Duration(min(max(seconds, 0), MaxRetryAfter.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), MaxRetryAfter)
	}
	return 0
}
