package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/localpg"
)

// Machine is what was measured on.
type Machine struct {
	CPUs       int    `json:"cpus"`
	CPU        string `json:"cpu,omitzero"` // its model; empty: not known
	MemoryGiB  int    `json:"memory_gib,omitzero"`
	System     string `json:"system"`
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
	Pgvector   string `json:"pgvector"`
	Revision   string `json:"revision,omitzero"` // of Oxbow, with "+" if something was changed since; empty: it was built without

	Settings []string `json:"settings,omitempty"` // of PostgreSQL: those that are not its defaults, and those that say what a commit is
}

// mostBuffers is the most memory that PostgreSQL gets for its pages.
const mostBuffers = 8 << 10 // MiB

// serverSettings are those that oxbow doctor advises, and not those of a small database of a developer.
func (o Options) serverSettings() map[string]string {
	settings := map[string]string{"random_page_cost": "1.1"}
	if kib := memoryKiB(); kib > 0 {
		settings["shared_buffers"] = fmt.Sprintf("%dMB", min(kib>>12, mostBuffers))
	}
	maps.Copy(settings, o.server)
	return settings
}

// memoryKiB is the machine's memory; 0: not known.
func memoryKiB() int {
	kib, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"))
	if err != nil {
		return 0
	}
	return kib
}

func (m Machine) String() string {
	parts := []string{fmt.Sprintf("%d CPUs", m.CPUs)}
	if m.CPU != "" {
		parts[0] += " (" + m.CPU + ")"
	}
	if m.MemoryGiB > 0 {
		parts = append(parts, fmt.Sprintf("%d GiB", m.MemoryGiB))
	}
	parts = append(parts, m.System, m.Go, "PostgreSQL "+m.PostgreSQL, "pgvector "+m.Pgvector)
	parts = append(parts, "Oxbow "+cmp.Or(m.Revision, "of an unknown revision"))
	if len(m.Settings) > 0 {
		parts = append(parts, "PostgreSQL's settings "+strings.Join(m.Settings, ", "))
	}
	return strings.Join(parts, ", ")
}

func machine(ctx context.Context, server *localpg.Server) (Machine, error) {
	m := Machine{CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Revision: revision()}
	m.CPU = field("/proc/cpuinfo", "model name")
	m.MemoryGiB = (memoryKiB() + 1<<19) >> 20
	conn, err := pgx.Connect(ctx, server.DSN("postgres"))
	if err != nil {
		return m, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// the names of files, languages and logs say nothing of how fast it is
	err = conn.QueryRow(ctx, `
		select split_part(current_setting('server_version'), ' ', 1), coalesce((select default_version from pg_available_extensions where name = 'vector'), ''),
		       (select array_agg(s.name || ' = ' || current_setting(s.name) order by s.name) from pg_settings s
		         where s.name in ('fsync', 'synchronous_commit', 'autovacuum')
		            or s.source not in ('default', 'override', 'client') and s.setting is distinct from s.boot_val
		               and s.name not in ('listen_addresses', 'port') and s.name not like 'unix\_socket\_%'
		               and s.category not like 'Reporting and Logging%' and s.category not like 'Client Connection Defaults / Locale%')`).
		Scan(&m.PostgreSQL, &m.Pgvector, &m.Settings)
	return m, err
}

// field returns the first value of a name in a file of lines "name: value"; empty where there is none.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	found := map[string]string{}
	for _, s := range info.Settings {
		found[s.Key] = s.Value
	}
	short := found["vcs.revision"]
	short = short[:min(len(short), 10)]
	if short != "" && found["vcs.modified"] == "true" {
		short += "+"
	}
	return short
}

// load is the system's load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	first, _, found := strings.Cut(string(text), " ")
	if err != nil || !found {
		return "unknown"
	}
	return first
}
