package provider

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Protocols of servers.
const (
	OpenAI = "openai"
	Ollama = "ollama"
)

// defaultURLs holds every protocol.
var defaultURLs = map[string]string{OpenAI: "https://api.openai.com/v1", Ollama: "http://127.0.0.1:11434"}

// Known reports whether a protocol exists.
func Known(protocol string) bool {
	_, known := defaultURLs[protocol]
	return known
}

// Endpoint is a model on a server, as a user configures it.
type Endpoint struct {
	Protocol string // one of the protocols above
	Model    string
	URL      string // "": the protocol's own
	APIKey   string
	Timeout  time.Duration
}

// Resolve returns the URL and checks the fields. An error begins with the purpose, such as "reasoner", and names the
// field and its value.
func (e Endpoint) Resolve(purpose string) (string, error) {
	base := cmp.Or(e.URL, defaultURLs[e.Protocol])
	address, err := url.Parse(base)
	switch {
	case strings.TrimSpace(e.Model) == "":
		return "", fmt.Errorf("%s model is empty: the provider %s requires one (OXBOW_%s_MODEL)", purpose, e.Protocol,
			strings.ToUpper(purpose))
	case err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "":
		return "", fmt.Errorf("%s URL %q is not an http or https address", purpose, secrets.StripURL(base))
	case e.Protocol == OpenAI && e.APIKey == "" && address.Host == "api.openai.com":
		return "", fmt.Errorf("%s API key is empty: %s requires one (OXBOW_%s_API_KEY)", purpose, secrets.StripURL(base),
			strings.ToUpper(purpose))
	case strings.ContainsAny(e.APIKey, "\r\n"):
		return "", fmt.Errorf("%s API key contains a line break", purpose)
	case e.Timeout < 0:
		return "", fmt.Errorf("%s timeout %s is negative", purpose, e.Timeout)
	}
	return base, nil
}
