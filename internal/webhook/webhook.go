// Package webhook sends signed messages to addresses that an operator chose, as Standard Webhooks describes
// (https://www.standardwebhooks.com).
package webhook

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/oxbow-memory/oxbow/internal/provider"
)

// Timeout is the time that the far end has to answer.
const Timeout = 10 * time.Second

// ErrGone reports that the far end wants no more messages: it answered 410.
var ErrGone = errors.New("the far end answered 410: it wants no more messages")

// Sender sends messages. It is safe for concurrent use.
type Sender struct{ client *http.Client }

// NewSender returns a sender. It connects only to public addresses unless private is set, and follows no redirects, so
// that an address that an operator chose cannot lead into the network of the worker.
func NewSender(private bool) *Sender {
	dialer := &net.Dialer{Timeout: Timeout}
	if !private {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return refusePrivate(address) }
	}
	return &Sender{&http.Client{
		Timeout: Timeout,
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true,
			MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// Send posts a message, which is JSON, and returns the status of the answer. Every attempt at a message has the same
// id. The error is ErrGone, or says what went wrong: any status other than 2xx is an error. It quotes neither the
// address, which may contain a secret, nor what the receiver says besides its status, which may be long and not even
// text.
func (s *Sender) Send(ctx context.Context, url string, secret []byte, id string, at time.Time, message []byte) (string,
	error) {
	hook, err := standardwebhooks.NewWebhookRaw(secret)
	if err != nil {
		return "", err
	}
	signature, err := hook.Sign(id, at, message)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(message))
	if err != nil {
		return "", errors.New("the webhook has an invalid address")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "oxbow")
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	answer, err := s.client.Do(request)
	if err != nil {
		return "", errors.New(provider.Reason(err))
	}
	_ = answer.Body.Close()
	status := strings.TrimSpace(strconv.Itoa(answer.StatusCode) + " " + http.StatusText(answer.StatusCode))
	switch {
	case answer.StatusCode == http.StatusGone:
		return status, ErrGone
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return status, errors.New("the far end answered " + status)
	}
	return status, nil
}

// Gone reports whether an error of Send means that the far end wants no more messages.
func (s *Sender) Gone(err error) bool { return errors.Is(err, ErrGone) }
