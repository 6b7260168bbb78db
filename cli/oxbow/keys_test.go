package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// service imitates two key management services, Vault's transit engine and AWS KMS. It holds keys
// by name.
type service struct {
	*httptest.Server
	keys   map[string]cipher.AEAD
	denies atomic.Bool
	asked  atomic.Int64
}

func newService(t *testing.T, names ...string) *service {
	t.Helper()
	s := &service{keys: map[string]cipher.AEAD{}}
	for _, name := range names {
		key := make([]byte, 32)
		_, _ = rand.Read(key)
		block, err := aes.NewCipher(key)
		require.NoError(t, err)
		s.keys[name], err = cipher.NewGCMWithRandomNonce(block)
		require.NoError(t, err)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	body, _ := io.ReadAll(r.Body)
	if operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "TrentService."); ok {
		s.serveAWS(w, r, operation, body)
		return
	}
	var in struct{ Plaintext, Ciphertext string }
	path := strings.Split(r.URL.Path, "/") // /v1/transit/encrypt/NAME
	if json.Unmarshal(body, &in) != nil || len(path) != 5 || path[2] != "transit" || s.denies.Load() ||
		r.Header.Get("X-Vault-Token") != "a-token" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"errors": ["1 error occurred:\n\t* permission denied\n\n"]}`)
		return
	}
	key, data := s.keys[path[4]], map[string]string{}
	if key == nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"errors": ["encryption key not found"]}`)
		return
	}
	if path[3] == "encrypt" {
		plain, _ := base64.StdEncoding.DecodeString(in.Plaintext)
		data["ciphertext"] = "vault:v1:" + base64.StdEncoding.EncodeToString(key.Seal(nil, nil, plain, nil))
	} else {
		sealed, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(in.Ciphertext, "vault:v1:"))
		plain, err := key.Open(nil, nil, sealed, nil)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"errors": ["cipher: message authentication failed"]}`)
			return
		}
		data["plaintext"] = base64.StdEncoding.EncodeToString(plain)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

func (s *service) serveAWS(w http.ResponseWriter, r *http.Request, operation string, body []byte) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	refuse := func(code, message string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
	}
	var in struct {
		KeyID                     string `json:"KeyId"`
		Plaintext, CiphertextBlob []byte
	}
	if json.Unmarshal(body, &in) != nil || s.denies.Load() || !strings.Contains(r.Header.Get("Authorization"),
		"Credential=AKIATEST/") {
		refuse("AccessDeniedException", "User is not authorized to perform kms:"+operation)
		return
	}
	key := s.keys[in.KeyID[strings.LastIndexByte(in.KeyID, '/')+1:]]
	if key == nil {
		refuse("NotFoundException", "Key is not found")
		return
	}
	out := map[string]any{"KeyId": in.KeyID}
	if operation == "Encrypt" {
		out["CiphertextBlob"] = key.Seal(nil, nil, in.Plaintext, nil)
	} else {
		plain, err := key.Open(nil, nil, in.CiphertextBlob, nil)
		if err != nil {
			refuse("IncorrectKeyException",
				"The key ID in the request does not identify a CMK that can perform this operation.")
			return
		}
		out["Plaintext"] = plain
	}
	_ = json.NewEncoder(w).Encode(out)
}

// The keyset is unusable without the service, which is needed to create, extend, rotate and read
// it.
func TestKeyManagementServices(t *testing.T) {
	for _, kind := range []string{"vault", "aws"} {
		t.Run(kind, func(t *testing.T) {
			d := onDatabase(t)
			s := newService(t, "seal", "other")
			host := strings.TrimPrefix(s.URL, "http://")
			uri, other, missing := "hcvault://"+host+"/transit/keys/seal", "hcvault://"+host+"/transit/keys/other",
				"hcvault://"+host+"/transit/keys/none"
			t.Setenv("VAULT_ADDR", s.URL)
			t.Setenv("VAULT_TOKEN", "a-token")
			if kind == "aws" {
				const arn = "aws-kms://arn:aws:kms:eu-central-1:111122223333:key/"
				uri, other, missing = arn+"seal", arn+"other", arn+"none"
				t.Setenv("AWS_ENDPOINT_URL_KMS", s.URL)
				t.Setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
				t.Setenv("AWS_SECRET_ACCESS_KEY", "a-token")
				t.Setenv("AWS_CONFIG_FILE", "none")
				t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "none")
			}
			clear := d.ok("keys", "new")
			material := secretOf(t, clear)

			t.Setenv("OXBOW_KMS_URI", uri)
			t.Setenv("OXBOW_KEYSET", clear)
			r := d.run("keys", "add")
			require.Contains(t, r.err,
				"the keyset is not encrypted, but the key "+uri+" was given: encrypt it with oxbow keys encrypt")
			keyset := d.ok("keys", "encrypt")
			require.NotContains(t, keyset, material)
			t.Setenv("OXBOW_KEYSET", keyset)
			id := d.ok("remember", "ada", "The code is 剑鱼.", "--sensitivity", "3")
			require.Contains(t, d.ok("show", id), "The code is 剑鱼.\n")
			t.Setenv("OXBOW_KEYSET", d.ok("keys", "add"))
			require.Contains(t, d.ok("rotate-keys"), "; 1 text resealed.")
			require.Contains(t, d.ok("show", id), "The code is 剑鱼.\n")
			keyset = d.ok("keys", "add")
			t.Setenv("OXBOW_KEYSET", keyset)
			require.NotContains(t, d.ok("keys", "new"), `"value"`)

			fails := func(says ...string) {
				t.Helper()
				r := d.run("show", id)
				require.Equal(t, exitFailed, r.code)
				for _, s := range append(says, "OXBOW_K") {
					require.Contains(t, r.err, s)
				}
				require.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
				for _, secret := range []string{material, "a-token", "剑鱼", secretOf(t, keyset)} {
					require.NotContains(t, r.err, secret)
				}
			}
			t.Setenv("OXBOW_KMS_URI", other)
			fails("OXBOW_KEYSET: the keyset cannot be opened with " + other)
			t.Setenv("OXBOW_KMS_URI", missing)
			fails("cannot be opened with "+missing, "not found")
			t.Setenv("OXBOW_KMS_URI", "")
			fails("the keyset is encrypted: also set the URI of the key that opens it (OXBOW_KMS_URI)")
			t.Setenv("OXBOW_KMS_URI", uri)
			s.denies.Store(true)
			fails("cannot be opened with "+uri, map[string]string{"vault": "permission denied",
				"aws": "not authorized to perform kms:Decrypt"}[kind])
			s.denies.Store(false)

			// Commands that need no key do not call the service.
			asked := s.asked.Load()
			s.Close()
			require.Contains(t, d.ok("status"), "memories")
			d.ok("remember", "ada", "The boat is blue.", "--sensitivity", "1")
			d.ok("forget", "ada", id)
			d.ok("restore", "ada", id)
			require.Equal(t, asked, s.asked.Load())
			fails("cannot be opened with "+uri, "refused")
			d.ok("erase", "--memory", id, "--user", "ada", "--yes")
		})
	}
}

// secretOf returns the secret part of a keyset.
func secretOf(t *testing.T, keyset string) string {
	t.Helper()
	found := regexp.MustCompile(`"(?:value|encryptedKeyset)":"([^"]{20,})"`).FindStringSubmatch(keyset)
	require.NotNil(t, found)
	return found[1]
}

// A service that accepts the connection and never answers does not block a command.
func TestWrongKeyURI(t *testing.T) {
	t.Setenv("VAULT_TOKEN", "")
	for uri, says := range map[string]string{
		"gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k": "OXBOW_KMS_URI: " +
			"gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k: expected aws-kms://arn:… or hcvault://",
		"密钥": "OXBOW_KMS_URI: 密钥: expected aws-kms://",
		"aws-kms://alias/oxbow": "expected a URI like " +
			"aws-kms://arn:aws:kms:eu-central-1:111122223333:key/ID",
		"hcvault://vault:8200/transit/seal":         "expected a URI like hcvault://vault.example.com:8200/transit/keys/NAME",
		"hcvault://me:pw@vault:8200/transit/keys/a": "a URI with a user or a password is not supported",
		"hcvault://vault:8200/transit/keys/%zz":     "expected a URI like hcvault://vault.example.com:8200/transit/keys/NAME",
		"hcvault://vault:8200/transit/keys/seal":    "VAULT_TOKEN is not set",
	} {
		t.Setenv("OXBOW_KMS_URI", uri)
		r := cli(t, "keys", "new")
		require.Equal(t, exitFailed, r.code, uri)
		require.Contains(t, r.err, says)
		require.Empty(t, r.out)
	}
}

// check finds each rule that a secret memory can break, and nothing else.
func TestCheckSecrets(t *testing.T) {
	d := onDatabase(t)
	t.Setenv("OXBOW_KMS_URI", "")
	t.Setenv("OXBOW_KEYSET", d.ok("keys", "new"))
	id := d.ok("remember", "林", "门的密码是剑鱼。", "--sensitivity", "3")
	d.ok("remember", "ada", "The code is swordfish.", "--sensitivity", "3")
	plain := d.ok("remember", "ada", "Ada's boat is blue.")
	d.work()
	d.ok("forget", "林", id)
	d.ok("restore", "林", id)
	conn, err := pgx.Connect(t.Context(), d.dsn)
	require.NoError(t, err)
	trait := traittest.Trait{UserID: "林", Content: "林早起。"}.Insert(t, conn)
	require.NoError(t, conn.Close(t.Context()))
	require.Equal(t, "Checked the memories of 2 users (1 trait, 2 secrets): no problems.", d.ok("check"))
	require.Equal(t, "Checked the memories of 1 user (0 traits, 1 secret): no problems.", d.ok("check", "ada"))

	for says, sql := range map[string]string{
		"exposed +fact: a row of memory_vectors +nothing, because it is secret": `insert into oxbow.memory_vectors
			select '林', 'fact', $1, embedding from oxbow.memory_vectors where memory_id = '` + plain + `'`,
		"exposed +fact: a row of memory_terms +nothing": `insert into oxbow.memory_terms (user_id,
			memory_type, memory_id, len, tsv) values ('林', 'fact', $1, 1, 'a')`,
		"exposed +fact: a row of reflection_inbox +nothing": `insert into oxbow.reflection_inbox (user_id,
			memory_type, memory_id, importance, valid_at) values ('林', 'fact', $1, 0.5, now())`,
		"exposed +fact: a row of entity_mentions +nothing": `with e as (insert into oxbow.entities (user_id, kind, name,
			key,
			head) values ('林', 'person', 'Bo', 'bo', 'bo') returning id)
			insert into oxbow.entity_mentions select '林', id, 'fact', $1 from e`,
		"exposed +fact: a row of entity_edges +nothing": `with e as (select gen_random_uuid() as id)
			insert into oxbow.entity_edges (user_id, from_id, relation, to_id, memory_type, memory_id, valid_at,
			created_at)
			select '林', id, 'sister', id, 'fact', $1, now(), now() from e`,
		"exposed +fact: a row of trait_evidence +nothing": `insert into oxbow.trait_evidence (user_id, trait_id,
			memory_type,
			memory_id, direction, quality, session_key, observed_at, timezone, event_seq)
			values ('林', '` + trait.String() + `', 'fact', $1, 'supporting', 'C', 's', now(), 'UTC', 1)`,
		"exposed +fact: a row of trait_clues +nothing": `insert into oxbow.trait_clues (user_id, key, content,
			memory_type, memory_id, session_key, observed_at) values ('林', 'k', 'c', 'fact', $1, 's', now())`,
		"exposed +fact: a row of memory_history in clear text +nothing": `update oxbow.memory_history
			set old_content = 'swordfish'
			where memory_id = $1`,
		`not sealed +fact: no sealed text +a text that the client`: `update oxbow.memories
			set sealed = convert_to('门的密码是剑鱼。 The code is swordfish.', 'UTF8') where id = $1`,
		"key +fact: sealed with the key 7 +one of [0-9]+": `update oxbow.memories set sealed_key = '7'
			where id = $1`,
	} {
		t.Run(says, func(t *testing.T) {
			d := on{t, d.dsn}
			d.exec(`create table public.saved as select user_id, sealed, sealed_key from oxbow.memories where id = '` +
				id + `'`)
			d.exec(`set local session_replication_role = replica; ` + strings.ReplaceAll(sql, "$1", "'"+id+"'"))
			r := d.run("check", "林")
			require.Equal(t, exitFailed, r.code)
			require.Regexp(t, "林 +"+id+" +"+says, r.out)
			require.NotContains(t, r.out, "剑鱼")
			require.NotContains(t, r.out, "swordfish")
			require.Zero(t, d.run("check", "ada").code, "that of another user")
			d.exec(`set local session_replication_role = replica;
				delete from oxbow.memory_vectors where memory_id = '` + id +
				`'; delete from oxbow.memory_terms where ` +
				`memory_id = '` + id + `';
				delete from oxbow.reflection_inbox where memory_id = '` + id +
				`'; delete from oxbow.entity_mentions where ` +
				`memory_id = '` + id + `';
				delete from oxbow.entities where user_id = '林'; delete from oxbow.entity_edges where memory_id = '` +
				id + `';
				delete from oxbow.trait_evidence where memory_id = '` + id + `'; delete from oxbow.trait_clues where ` +
				`memory_id = '` + id + `';
				update oxbow.memory_history set old_content = '[sealed]' where memory_id = '` + id +
				`' and old_content <> ` +
				`'[sealed]';
				update oxbow.memories m set sealed = s.sealed, sealed_key = s.sealed_key from public.saved s where ` +
				`m.id = '` + id + `'; drop table public.saved`)
			require.Equal(t, "Checked the memories of 1 user (1 trait, 1 secret): no problems.", d.ok("check", "林"))
		})
	}

	// Messages too; and a row whose content is not the placeholder, which only the constraint
	// rejects.
	d.exec(`insert into oxbow.messages (user_id, session_id, content, sensitivity, sealed, sealed_key)
		values ('mia', 's', '[sealed]', 3, 'swordfish', '7')`)
	r := d.run("check", "mia")
	require.Regexp(t, `mia +[0-9a-f-]{36} +not sealed +message: no sealed text`, r.out)
	require.Regexp(t, `mia +[0-9a-f-]{36} +key +message: sealed with the key 7`, r.out)
	d.exec(`delete from oxbow.messages; alter table oxbow.memories drop constraint valid;
		insert into oxbow.memories (user_id, content, sensitivity) values ('mia', 'swordfish', 3)`)
	r = d.run("check")
	require.Regexp(t, `mia +[0-9a-f-]{36} +not sealed +fact: no sealed text`, r.out)
	require.NotContains(t, r.out, "swordfish")
	require.Contains(t, r.out, "the memories of 3 users (1 trait, 3 secrets): 1 problem.")
	t.Setenv("OXBOW_KEYSET", "")
	require.Contains(t, d.run("check").out, "3 secrets): 1 problem.", "without keys any key is right")
}
