package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// modes are all query modes of pgx, the default first.
var modes = []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
	pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}

// TestQueryModes calls every function with a database, with values and with zero values, on connections with and
// without RegisterTypes, in every query mode of pgx. Each must end as in the default mode.
func TestQueryModes(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	for _, registered := range []bool{false, true} {
		for _, filled := range []bool{false, true} {
			want := callAll(t, dsn, pgx.QueryExecModeCacheStatement, registered, filled)
			for _, mode := range modes[1:] {
				require.Equal(t, want, callAll(t, dsn, mode, registered, filled), "%s, filled: %t, registered: %t", mode,
					filled, registered)
			}
		}
	}
}

// Behind PgBouncer in transaction mode, the modes without descriptions of statements work.
func TestQueryModesBehindPgBouncer(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	want := callAll(t, dsn, pgx.QueryExecModeCacheStatement, true, true)
	pooled := pgtest.Pooled(t, dsn, "transaction")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		require.Equal(t, want, callAll(t, pooled, mode, true, true), mode)
	}
}

// callAll calls all functions in a transaction that is rolled back, and returns how each ended.
func callAll(t *testing.T, dsn string, mode pgx.QueryExecMode, registered, filled bool) map[string]string {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	sent := &statements{}
	cfg.DefaultQueryExecMode, cfg.Tracer = mode, sent
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	if registered {
		require.NoError(t, store.RegisterTypes(t.Context(), conn))
	}
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	seed(t, tx)
	ended := map[string]string{}
	for name, f := range functions() {
		sent.n = 0
		func() {
			save, err := tx.Begin(t.Context())
			require.NoError(t, err)
			defer func() {
				if !filled && recover() != nil {
					ended[name] = "panics" // for arguments that no caller passes
				}
				require.NoError(t, save.Rollback(t.Context()), name)
			}()
			ended[name] = outcome(f.Call(arguments(t.Context(), f.Type(), save, filled)))
		}()
		if filled { // two statements are of the savepoint
			require.Equal(t, sendsNothing[name], sent.n == 2, "%s sent %d statements: %s", name, sent.n-2, ended[name])
		}
	}
	return ended
}

// seed adds what the functions read, change and find.
func seed(t *testing.T, tx pgx.Tx) {
	t.Helper()
	for _, sql := range []string{
		`insert into oxbow.memories (user_id, memory_type, id, content, session_id, valid_at, metadata)
		 values ('ada', 'fact', '` + sampleID.String() + `', 'Ada lives in Lisbon', 'ada', now(), '{"a": [1]}')`,
		`insert into oxbow.messages (user_id, session_id, role, content) values ('ada', 'ada', 'user', 'I like tea')`,
	} {
		_, err := tx.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
}

// statements counts statements.
type statements struct{ n int }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n++
	return ctx
}
func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.n++
	return ctx
}
func (*statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// outcome describes how a call ended: PostgreSQL's code, another error, or the types of the results.
func outcome(results []reflect.Value) string {
	for _, r := range results {
		err, _ := r.Interface().(error)
		var pg *pgconn.PgError
		if errors.As(err, &pg) {
			return pg.Code + " " + pg.Message
		} else if err != nil {
			return err.Error()
		}
	}
	return "ok"
}

var (
	sampleID   = uuid.MustParse("0198c2f0-0000-7000-8000-000000000001")
	sampleTime = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
)

// arguments returns arguments for a function: the user ada, and values or zero values.
func arguments(ctx context.Context, f reflect.Type, tx pgx.Tx, filled bool) []reflect.Value {
	values := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(tx)}
	for i := 2; i < f.NumIn(); i++ {
		in := f.In(i)
		if f.IsVariadic() && i == f.NumIn()-1 {
			in = in.Elem()
		}
		v := reflect.New(in).Elem()
		switch k := in.Kind(); {
		case filled, i == 2 && k == reflect.String, k == reflect.Int, k == reflect.Interface, k == reflect.Func:
			fill(v)
		}
		values = append(values, v)
	}
	return values
}

// fill sets a value, and all of a composite one.
func fill(v reflect.Value) {
	var sample any
	switch v.Interface().(type) {
	case uuid.UUID:
		sample = sampleID
	case time.Time:
		sample = sampleTime
	case time.Duration:
		sample = time.Hour
	case json.RawMessage:
		sample = json.RawMessage(`{"a": [1, "b", null]}`)
	case []byte:
		sample = []byte{0, 1, 0xff}
	case store.MemoryType:
		sample = store.Fact
	case []float32:
		vector := make([]float32, 1024)
		vector[0] = float32(math.Pi)
		sample = vector
	case io.Reader, io.Writer, store.Sealer, nil:
	}
	if sample != nil {
		v.Set(reflect.ValueOf(sample))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("ada")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				fill(v.Field(i))
				if sample, ok := valid[v.Type().Name()+"."+field.Name]; ok {
					v.Field(i).SetString(sample)
				}
			}
		}
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) (results []reflect.Value) {
			for i := range v.Type().NumOut() {
				results = append(results, reflect.Zero(v.Type().Out(i)))
			}
			return results
		}))
	case reflect.Interface:
		for _, value := range []any{io.Discard, strings.NewReader(""), &map[string]any{"a": []int{1}},
			plain{}} {
			if reflect.TypeOf(value).Implements(v.Type()) {
				v.Set(reflect.ValueOf(value))
				break
			}
		}
	}
}

// valid are values of fields that are checked before a statement is sent.
var valid = map[string]string{"NewMessage.Role": "user", "TraitEdit.Context": "work", "Listing.After": "",
	"Listing.Cursor": "", "Field.Value": "my password is hunter2-Kx9!"}

// sendsNothing are the functions that send no statement for these values. The tests of jobs and server call them.
var sendsNothing = map[string]bool{"DecayTraits": true, "FindAPIKey": true, "RemoveFromInbox": true, "Screen": true,
	"SealSecretMessages": true}

// functions are the functions of the package that take a database, by name.
func functions() map[string]reflect.Value {
	found := map[string]reflect.Value{}
	for _, f := range allFunctions {
		v := reflect.ValueOf(f)
		name := runtime.FuncForPC(v.Pointer()).Name()
		found[name[strings.LastIndexByte(name, '.')+1:]] = v
	}
	return found
}

// TestAllFunctionsAreCalled fails for a new function that allFunctions lacks.
func TestAllFunctionsAreCalled(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	known := functions()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Recv != nil || f.Type.TypeParams != nil || f.Name.Name == "Exec" ||
				len(f.Type.Params.List) < 2 {
				continue
			}
			if db := types.ExprString(f.Type.Params.List[1].Type); db == "DB" || db == "pgx.Tx" {
				require.True(t, known[f.Name.Name].IsValid(), "allFunctions lacks %s", f.Name.Name)
			}
		}
	}
}

var allFunctions = []any{
	store.APIKeyNames, store.APIKeyUsed, store.APIKeys, store.AbstractPolicies, store.AccessLog,
	store.AddMemoryV1, store.AddMessages, store.AddSignal, store.AddWebhook, store.Adjust, store.Adjustments,
	store.Admit, store.AnySensitive, store.CheckWrites, store.ErasingUsers, store.FinishErasures, store.Outlived, store.AdoptStrategy, store.AdvanceIntention, store.AgeSensoryCandidates, store.AnswerOnce,
	store.AnswersBetween, store.AnswersOf, store.AssignSlots, store.AttachUploads, store.BeginReembed,
	store.CheckModel, store.CheckSchema, store.ClearTopics, store.CloseIntention, store.CluesByKey,
	store.Communities, store.CompleteJobs, store.Conclusions, store.Context, store.Contradictions,
	store.CountInboxAfter, store.CountMemories, store.CountPatterns, store.CountSensory, store.CountTraits,
	store.CountWeightEvents, store.CreateAPIKey, store.CreatePageSession, store.CurrentConclusions,
	store.CurrentModel, store.DecayTraits, store.DelayNight, store.DeleteCompleted, store.DeleteFile,
	store.DeleteMessages, store.DeletePageSession, store.DeleteTrait, store.DeleteWebhook, store.DeposeLeader,
	store.DissolveTrait, store.DropSkill, store.DueIntentions, store.DueNights, store.DueReviews, store.DueTopics,
	store.DueTriggers, store.EditTrait, store.EmbedQueueIsLong, store.Embeddables, store.EmotionProfile,
	store.EmptyInbox, store.EndInstruction, store.EndNight, store.EndSession, store.EndSlots, store.Entities,
	store.EntitiesNamed, store.EraseForgotten, store.EraseMemory, store.EraseUser, store.ExpireFeedback,
	store.ExpireMemories, store.Export, store.ExtractedOf, store.ExtractionDone, store.ExtractionFailed,
	store.FactVectors, store.FactsAbout, store.FactsAsOf, store.FactsDue, store.FactsToReconcile,
	store.FactsToReview, store.FailedJobs, store.FeedbackPolicies, store.Files, store.FindAPIKey,
	store.FindPageSession, store.FindReceipt, store.FinishReembed, store.FirstFact, store.FoldActivity,
	store.FollowPolicies, store.Forget, store.FragmentsOf, store.GetMemory, store.GetTrait, store.GiveFeedback,
	store.GivenUpEmbeds, store.HeldTraits, store.HideFromWorkers, store.History, store.Import, store.InboxHasMore,
	store.InboxMemories, store.InboxTriggers, store.IndexMemories, store.IndexVectors, store.IndexedUsers,
	store.Ingest, store.InsertAt, store.Instruct, store.Instructions, store.Intend, store.JudgeStrategy,
	store.KeepSensoryDays, store.KeysOf, store.LatestClues, store.LatestSensory, store.LearnSkill,
	store.LimitLocks, store.ListMemories, store.LiveTraits, store.LiveWebhooks, store.LockChanges,
	store.LockExtraction, store.LockMerges, store.LockReconciliation, store.LogAccess, store.LostAnywhere,
	store.LostMessages, store.LostRecently, store.MakeDenseTopicsDue, store.ManagesAPIKeys, store.MarkGivenUp,
	store.MarkSecretMessages, store.MarkSecrets, store.MemoriesAbout, store.MemoriesToMerge, store.MemoryIDs,
	store.MessagesFromMemories, store.NotePause, store.EndPauses, store.Pauses,
	store.Merge, store.MergeMemories, store.Messages, store.MessagesLeft, store.MoltMode,
	store.MoltPolicies,
	store.NearMemories, store.NewToMerge, store.NextQuestion, store.NoteFragments, store.NoteGists,
	store.NoteNextRuns, store.NoteOldEntities, store.NoteQuestion, store.NoteRun, store.NoteTrial,
	store.OldestActivity, store.OperationOf, store.OptedOut, store.OwnerOf, store.PassOverMessages,
	store.PassOverSummary, store.PendingMemoryJobs, store.PersonOf, store.PlanNight, store.Predict, store.Profile,
	store.Promote, store.Propagate, store.ProposeFromFeedback, store.ProposePolicy, store.Provenance,
	store.PublishPatterns, store.PutBackJobs, store.ReadBacklog, store.ReadChannelWeights, store.ReadDelivery,
	store.ReadNight, store.ReadPatternAccount, store.ReadPatternBudget, store.ReadPerson, store.ReadSession,
	store.ReadSetting, store.ReadSimilarities, store.ReadSummary, store.Recall, store.RecallDebug,
	store.RecalledInto, store.RecentMemories, store.RecordAnswer, store.RecordCalls, store.RecordCycle,
	store.RecordDelivery, store.RecountTerms, store.ReembedPage, store.ReflectionTriggers, store.RefuseVector,
	store.Refused, store.RejectedTraits, store.RelatedTo, store.RemoveFromInbox, store.ReplayAnswer,
	store.ReplayedAnswers, store.Reseal, store.ResealMessages, store.Restore, store.RetryFailed, store.RetryJob,
	store.RetryOperation, store.ReviewDue, store.ReviewEvidence, store.RevokeAPIKey, store.RingReflect,
	store.Rollback, store.RollbackStrategy, store.SaidIn, store.SameFile, store.Schedules, store.Screen,
	store.SealSecretMessages, store.SecretsAreStored, store.SecretsPolicy, store.SeenEvidence, store.SeesEveryone,
	store.SensoryCandidates, store.SessionEnded, store.SessionIsWorked, store.SessionMessages,
	store.SetForgetting, store.SetMoltMode, store.SetSettings, store.SetTier, store.SetValue, store.SetWebhook,
	store.SettingsOf, store.SettleLevels, store.SettleTraits, store.SettleUser, store.SignalsCounted,
	store.SimilarFacts, store.SimilarToFacts, store.SkillOutcome, store.SkillsFor, store.SnoozeIntention,
	store.States, store.Strategies, store.SummarizeCommunities, store.SummaryDue, store.Supersede, store.TakeJobs,
	store.Timeline, store.TokensSince, store.TopicsDue, store.Touch, store.TraitCurves, store.TraitPolicies,
	store.TraitSightings, store.TraitsAsOf, store.TraitsBeginning, store.TraitsByKey, store.TraitsByWording,
	store.TraitsToReview, store.TrendWindow, store.TrimAPI, store.TrimWeightLog, store.TurnsToJudge,
	store.Unembedded, store.Unmerge, store.UnsummarizedMessages, store.Upcoming, store.UserChanges,
	store.UserPresence, store.UserTraitsPresence, store.UserZone, store.Users, store.UsersToReview,
	store.UsersWithTopicsDue, store.Verify, store.Versions, store.WaitingSignals, store.WakeJobs,
	store.WalkLevels, store.WalkReviews, store.WalkVectors, store.Webhooks, store.WeightCrossings,
	store.WeightLog, store.Weights, store.Why, store.WhyStrategy, store.WithdrawPatterns, store.WorkOf,
	store.WriteChanges, store.WriteConclusions, store.WriteExtraction, store.WriteReconciliation,
	store.WriteReembedded, store.WriteReviews, store.WriteSetting, store.WriteSignals, store.WriteSummary,
	store.WriteVectors,
}

// plain is a sealer that does not encrypt.
type plain struct{}

func (plain) ID() string                                   { return "ada" }
func (plain) Name(text string) string                      { return text }
func (plain) Seal(text, _ string) ([]byte, error)          { return []byte(text), nil }
func (plain) Open(sealed []byte, _ string) (string, error) { return string(sealed), nil }
