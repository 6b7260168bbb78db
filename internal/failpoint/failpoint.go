// Package failpoint names the points at which a program may be killed to see what it leaves. A
// program built with the tag "failpoints" kills itself with SIGKILL at the point that the variable
// OXBOW_FAILPOINT names: a name, or a name and the number of the visit, as in "embed.written:3", or several
// names with commas, of which the first that it reaches counts.
// Without the tag Reach does nothing and costs nothing.
package failpoint

// Variable is the environment variable that chooses a point.
const Variable = "OXBOW_FAILPOINT"

// The points.
const (
	EmbedComputed        = "embed.computed"  // the provider has answered, nothing is written
	EmbedSaved           = "embed.saved"     // the vectors of one of several calls are stored
	EmbedWritten         = "embed.written"   // everything is written, nothing is committed
	EmbedCommitted       = "embed.committed" // committed, but not yet reported to River
	ExtractDecided       = "extract.decided" // the reasoner and the embedder have answered
	ExtractWritten       = "extract.written" // memories and sources are written, the job is not completed
	ExtractDone          = "extract.done"    // nothing is committed
	ExtractCommitted     = "extract.committed"
	ReconcileDecided     = "reconcile.decided" // the reasoner has answered
	ReconcileWritten     = "reconcile.written" // nothing is committed
	ReconcileCommitted   = "reconcile.committed"
	MergeDecided         = "merge.decided"
	MergeWritten         = "merge.written" // nothing is committed
	MergeCommitted       = "merge.committed"
	SummaryMade          = "summarize.made"
	SummaryWritten       = "summarize.written"
	SummaryCommitted     = "summarize.committed"
	ReflectAsked         = "reflect.asked"
	ReflectLocked        = "reflect.locked" // the job is completed in the transaction, nothing of the traits is written
	ReflectWritten       = "reflect.written"
	ReflectCommitted     = "reflect.committed"
	ContradictionWritten = "contradiction_review.written"
	ReviewDecided        = "review.decided" // the reviewer has answered
	ReviewWritten        = "review.written" // nothing is committed
	ReviewCommitted      = "review.committed"
	SettleBatch          = "settle.batch" // between two transactions
	SettleWalked         = "settle.walked"
	SettleLeveled        = "settle.leveled"
	FlushBatch           = "flush_activity.batch"
	SensoryBatch         = "sensory.batch"
	RemindWritten        = "remind.written" // nothing is committed
	RemindBatch          = "remind.batch"   // between two transactions
	NotifySent           = "notify.sent"    // the far end has answered, nothing is written
	JudgeDecided         = "judge.decided"  // the judge has answered
	JudgeWritten         = "judge.written"  // nothing is committed
	JudgeCommitted       = "judge.committed"
	SleepAsked           = "sleep.asked"   // the reasoner has answered
	SleepWritten         = "sleep.written" // nothing is committed
	SleepCommitted       = "sleep.committed"
	PatternWritten       = "pattern.written" // nothing is committed
	PatternCommitted     = "pattern.committed"
	DispatchWritten      = "dispatch.written" // nothing is committed
	DispatchBatch        = "dispatch.batch"   // between two transactions
	AbstractDecided      = "abstract.decided" // the abstracter has answered
	AbstractWritten      = "abstract.written" // nothing is committed
	AbstractCommitted    = "abstract.committed"
	MoltProposed         = "molt.proposed" // the best candidate is recorded, but not yet measured
	MoltTried            = "molt.tried"
	MoltAdopted          = "molt.adopted"
	MoltJudged           = "molt.judged"
	CommunityBatch       = "community.batch" // between two transactions
	SweepStep            = "sweep.step"
	TriggerAsked         = "check_trigger.asked"
	MigrateStep          = "migrate.step"      // between two steps of a migration
	ImportWritten        = "import_v1.written" // a batch is written, nothing is committed
	ImportCommitted      = "import_v1.committed"
)

// Worker returns the points that a worker reaches.
func Worker() []string {
	return []string{EmbedComputed, EmbedSaved, EmbedWritten, EmbedCommitted, ExtractDecided, ExtractWritten,
		ExtractDone, ExtractCommitted, ReconcileDecided, ReconcileWritten, ReconcileCommitted,
		MergeDecided, MergeWritten, MergeCommitted, SummaryMade, SummaryWritten, SummaryCommitted, ReflectAsked, ReflectLocked,
		ReflectWritten, ReflectCommitted, ContradictionWritten, ReviewDecided, ReviewWritten,
		ReviewCommitted, SettleBatch, SettleWalked, SettleLeveled, FlushBatch, SensoryBatch, RemindWritten, RemindBatch, NotifySent, JudgeDecided, JudgeWritten, JudgeCommitted, SleepAsked, SleepWritten, SleepCommitted, PatternWritten, PatternCommitted, DispatchWritten, DispatchBatch, AbstractDecided, AbstractWritten, AbstractCommitted,
		MoltProposed, MoltTried, MoltAdopted, MoltJudged, CommunityBatch, SweepStep, TriggerAsked}
}
