package worker

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// expressions returns the expressions of the dashboard's panels, at any depth.
func expressions(v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if text, ok := member.(string); ok && key == "expr" {
				all = append(all, text)
			}
			all = append(all, expressions(member)...)
		}
	case []any:
		for _, member := range v {
			all = append(all, expressions(member)...)
		}
	}
	return all
}

var (
	quoted     = regexp.MustCompile(`"[^"]*"`)
	metricName = regexp.MustCompile(`\b(oxbow|process|go)_[a-z_]+`)
	ofOne      = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// used returns the metrics that an expression names.
func used(expression string) []string {
	return metricName.FindAllString(quoted.ReplaceAllString(expression, `""`), -1)
}

// known reports whether a worker has a metric. The suffixes of a histogram's series are ignored.
func known(all []string, name string) bool {
	return slices.Contains(all, name) || slices.Contains(all, ofOne.ReplaceAllString(name, ""))
}

// servers finds the documentation of the metrics of oxbow serve, whose own test reads it.
var servers = regexp.MustCompile("(?s)\n`oxbow serve --metrics-addr.*?\n## ")

// A worker exports every metric that the dashboard and the alarms use, and the docs describe every metric.
func TestDashboardAndAlarms(t *testing.T) {
	b := setup(t)
	w := b.worker()
	all := names(w)
	_, text := scrape(t, w)
	for line := range strings.Lines(text) { // includes the metrics of Go and the process
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			all = append(all, strings.Fields(name)[0])
		}
	}

	file, err := os.ReadFile("../docs/grafana/oxbow.json")
	require.NoError(t, err)
	var dashboard any
	require.NoError(t, json.Unmarshal(file, &dashboard))
	asked := expressions(dashboard)
	require.Greater(t, len(asked), 30)

	file, err = os.ReadFile("../docs/grafana/alerts.yaml")
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				For         string            `yaml:"for"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(file)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&rules))
	page, err := os.ReadFile("../docs/observability.md")
	require.NoError(t, err)
	require.NotEmpty(t, rules.Groups)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			asked = append(asked, rule.Expr)
			require.NotRegexp(t, `kind[!=~]`, rule.Expr, "a rule covers new kinds")
			require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			require.NotEmpty(t, rule.Labels["severity"], rule.Alert)
			require.Contains(t, string(page), "| `"+rule.Alert+"` |", "what it means and what to do")
		}
	}
	for _, expression := range asked {
		require.NotEmpty(t, used(expression), expression)
		for _, name := range used(expression) {
			require.True(t, known(all, name), "%s in %s", name, expression)
		}
		require.Equal(t, strings.Count(expression, "("), strings.Count(expression, ")"), expression)
	}
	for _, name := range names(w) {
		if strings.HasPrefix(name, "oxbow_") {
			require.Contains(t, string(page), "| `"+name+"` |", "every metric has its line")
		}
	}
	for _, name := range metricName.FindAllString(servers.ReplaceAllString(string(page), ""), -1) {
		if strings.HasPrefix(name, "oxbow_") && name != "oxbow_worker" && name != "oxbow_app" {
			require.True(t, known(all, name), "%s in the docs", name)
		}
	}
}
