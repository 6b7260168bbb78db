package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

const (
	clients       = 6
	usersAClient  = 5
	sharedUser    = clients * usersAClient // all clients write about this one
	users         = sharedUser + 1
	workers       = 4 // at most
	burstMemories = 2000
)

// Steady users lose nothing, so the checks count their rows exactly. Others may be erased.
func isSteady(user int) bool { return user%usersAClient == 0 && user != sharedUser }
func isErased(user int) bool { return user%usersAClient == usersAClient-1 }

// Plan lists a run's actions and faults with their times. All of it follows from the seed.
type Plan struct {
	Seed     uint64
	Duration time.Duration
	Behind   bool       // the run begins with the previous version's schema
	Workers  int        // at the beginning
	Actions  [][]Action // of each client, in order
	Faults   []Fault
}

// Action is one action of a client. Pick chooses its memory or trait among those that exist by then.
type Action struct {
	At       time.Duration
	Kind     string
	User     int
	Pick     uint32
	Many     int  // rows
	Rollback bool // the transaction is rolled back at its end
	Direct   bool // without a transaction of the client
}

// Fault is a disturbance.
type Fault struct {
	At    time.Duration
	Kind  string
	Slot  int           // of a worker
	Point string        // a failpoint, or how a provider misbehaves
	Nth   int           // which arrival at the point; or a number of workers, connections or days
	For   time.Duration // how long it lasts
}

type weighted struct {
	kind   string
	weight int
}

func choose(r *rand.Rand, from []weighted) string {
	sum := 0
	for _, w := range from {
		sum += w.weight
	}
	n := r.IntN(sum)
	for _, w := range from {
		if n -= w.weight; n < 0 {
			return w.kind
		}
	}
	panic("unreachable")
}

var steadyActions = []weighted{{"remember", 20}, {"rows", 10}, {"again", 8}, {"say", 25}, {"sensory", 4},
	{"working", 3}, {"recall", 12}, {"context", 4}, {"end session", 5}, {"post", 12}, {"ask", 5}, {"feedback", 5}, {"answer", 6},
	{"instruction", 2}, {"intention", 3}, {"skill", 1}, {"end", 4}}

var otherActions = slices.Concat(steadyActions, []weighted{{"repeat", 5}, {"supersede", 7}, {"forget", 4},
	{"restore", 2}, {"erase memory", 6}, {"merge", 2}, {"unmerge", 3}, {"erase merged", 2},
	{"edit trait", 2}, {"dissolve trait", 1}, {"delete trait", 1}, {"settings", 1}})

var faultKinds = []weighted{{"worker killed", 5}, {"worker killed at a point", 12}, {"worker stopped", 2},
	{"server killed", 3}, {"server stopped", 2},
	{"number of workers", 2}, {"worker with another clock", 2},
	{"PostgreSQL stopped at once", 2}, {"backend killed", 1}, {"backends terminated", 4}, {"connections cut", 3},
	{"answers lost", 3}, {"network stalled", 2},
	{"embedding provider", 5}, {"chat provider", 5}, {"webhook", 4}, {"burst", 1}, {"hostile client", 2}, {"migration", 2}}

// NewPlan makes the plan of a seed.
func NewPlan(seed uint64, duration time.Duration) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := Plan{Seed: seed, Duration: duration, Behind: r.IntN(2) == 0, Workers: []int{1, 2, 4}[r.IntN(3)]}
	for client := range clients {
		p.Actions = append(p.Actions, clientActions(rand.New(rand.NewPCG(seed, uint64(client+1))), client, duration))
	}
	points := append(failpoint.Worker(), failpoint.MergeWritten, failpoint.MergeWritten) // few jobs merge anything
	r.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	if p.Behind {
		p.Faults = append(p.Faults, Fault{At: min(3*time.Second, duration/4), Kind: "migration", Nth: 1})
	}
	next := 0
	for at := 500 * time.Millisecond; at < duration; at += 200*time.Millisecond +
		time.Duration(r.ExpFloat64()*float64(time.Second)) {
		f := Fault{At: at.Round(time.Millisecond), Kind: choose(r, faultKinds), Slot: r.IntN(workers), Nth: 1 +
			r.IntN(5), For: time.Duration(500+r.IntN(2500)) * time.Millisecond}
		switch f.Kind {
		case "worker killed at a point":
			f.Point = points[next%len(points)]
			next++
		case "number of workers":
			f.Nth = []int{0, 1, 2, 4}[r.IntN(4)]
		case "worker with another clock":
			f.Nth = []int{-400, -30, 3, 20, 60, 400}[r.IntN(6)] // days
		case "embedding provider":
			f.Point = embeddingFaults[r.IntN(len(embeddingFaults))]
		case "chat provider":
			f.Point = chatFaults[r.IntN(len(chatFaults))]
		case "webhook":
			f.Point = webhookFaults[r.IntN(len(webhookFaults))]
		}
		p.Faults = append(p.Faults, f)
	}
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	return p
}

func clientActions(r *rand.Rand, client int, duration time.Duration) (actions []Action) {
	for at := time.Duration(0); at < duration; at += time.Duration(r.ExpFloat64() * float64(180*time.Millisecond)) {
		a := Action{At: at.Round(time.Millisecond), User: client*usersAClient + r.IntN(usersAClient), Pick: r.Uint32(),
			Many: 1, Rollback: r.IntN(12) == 0, Direct: r.IntN(3) == 0}
		switch shared := r.IntN(8) == 0; {
		case shared:
			a.User, a.Kind = sharedUser, choose(r, []weighted{{"common", 4}, {"recall", 1}, {"remember", 1}})
		case client%2 == 0 && r.IntN(40) == 0: // it connects as the owner
			a.Kind = "strategy"
		case isSteady(a.User):
			a.Kind = choose(r, steadyActions)
		case isErased(a.User) && r.IntN(25) == 0:
			a.Kind = "erase user"
		default:
			a.Kind = choose(r, otherActions)
		}
		switch a.Kind {
		case "rows":
			a.Many = 2 + r.IntN(40)
		case "say", "repeat", "again", "working", "common", "sensory", "post":
			a.Many = 1 + r.IntN(4)
		}
		actions = append(actions, a)
	}
	return actions
}

// Digest identifies the plan: runs with equal digests had the same plan.
func (p Plan) Digest() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers and texts are always JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// actionCount returns the number of actions.
func (p Plan) actionCount() (n int) {
	for _, a := range p.Actions {
		n += len(a)
	}
	return n
}
