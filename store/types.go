package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"
	pgxvec "github.com/pgvector/pgvector-go/pgx"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// RegisterTypes lets a connection send and receive halfvec in binary form, whichever schema the
// extension is in. Without it, vectors can only be sent one at a time, as text. Use it as
// pgxpool.Config.AfterConnect.
func RegisterTypes(ctx context.Context, conn *pgx.Conn) error {
	var oid, array uint32
	err := conn.QueryRow(ctx, `
		select t.oid, t.typarray from pg_type t
		  join pg_depend d on d.classid = 'pg_type'::regclass and d.objid = t.oid
		   and d.refclassid = 'pg_extension'::regclass
		  join pg_extension e on e.oid = d.refobjid
		 where e.extname = 'vector' and t.typname = 'halfvec'`).Scan(&oid, &array)
	if err != nil {
		return fmt.Errorf("look up the type halfvec of the extension vector: %w", err)
	}
	element := &pgtype.Type{Name: "halfvec", OID: oid, Codec: pgxvec.HalfVectorCodec{}}
	types := conn.TypeMap()
	types.RegisterType(element)
	types.RegisterType(&pgtype.Type{Name: "_halfvec", OID: array, Codec: &pgtype.ArrayCodec{ElementType: element}})
	// For the query modes of pgx that do not ask the server for parameter types.
	types.RegisterDefaultPgType(pgvector.HalfVector{}, "halfvec")
	types.RegisterDefaultPgType([]pgvector.HalfVector{}, "_halfvec")
	pgxuuid.Register(types) // binary, where pgx would send and scan text
	types.RegisterDefaultPgType([]uuid.UUID{}, "_uuid")
	return nil
}
