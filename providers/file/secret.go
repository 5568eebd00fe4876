package file

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/reconcile"
)

// Seal returns the fingerprint of a value that holds a secret, keyed to this
// machine: a plain digest of a short secret could be guessed.
type Seal func(v []byte) reconcile.Fingerprint

// sealedPrefix begins every fingerprint that a Seal makes.
const sealedPrefix = "hmac-sha256:"

// NewSeal returns a Seal with key.
func NewSeal(key []byte) Seal {
	return func(v []byte) reconcile.Fingerprint {
		mac := hmac.New(sha256.New, key)
		mac.Write(v)
		return reconcile.Fingerprint(sealedPrefix + hex.EncodeToString(mac.Sum(nil)))
	}
}

// Secret is Value for a v that contains the secret itself, because the program
// that reads the file cannot be told of it in another way. shown is v with the
// secret's name instead: plans, logs and people see only that. A file that is
// created or changed for it is readable by its owner alone.
func Secret(v, shown merge.Value, seal Seal) reconcile.Body {
	return secretBody{v: v, shown: shown, print: sealed(seal, v)}
}

// Kept stands for a Secret that was recorded as print and cannot be read now:
// what is there stays, and nothing else can be written.
func Kept(print reconcile.Fingerprint) reconcile.Body { return secretBody{print: print} }

type secretBody struct {
	v, shown merge.Value // v is nil where it is not known
	print    reconcile.Fingerprint
	fields   *Fields // nil: all of the value is aisync's
}

func (s secretBody) Fingerprint() reconcile.Fingerprint { return s.print }
func (s secretBody) Redacted() json.RawMessage {
	if s.shown == nil {
		return json.RawMessage(`"` + secret.Hidden + `"`)
	}
	return s.shown
}

// sealed is valueFingerprint for a value that holds a secret.
func sealed(seal Seal, v merge.Value) reconcile.Fingerprint {
	c, err := merge.Canonical(v)
	if err != nil {
		c = v
	}
	return seal(c)
}

// IsSealed reports whether print is that of a value that holds a secret.
func IsSealed(print reconcile.Fingerprint) bool {
	return strings.HasPrefix(string(print), sealedPrefix)
}

// holdsSecret reports whether the wanted or recorded value of a leaf is secret.
func holdsSecret(l reconcile.LeafChange) bool {
	if l.Want != nil {
		if _, ok := l.Want.Body.(secretBody); ok {
			return true
		}
	}
	return l.Last != nil && (IsSealed(l.Last.Live) || IsSealed(l.Last.Wanted()))
}

// isClaimed reports whether only a lock says that l is ours. Such a value is
// never shown: a lock may name any key of any file in the project.
func isClaimed(l reconcile.LeafChange) bool {
	return l.Want == nil && l.Last != nil && l.Last.Claimed
}

// isSecret is holdsSecret for a key of t.
func isSecret(t reconcile.Target, key reconcile.LeafKey) bool {
	for _, l := range t.Resource.Leaves {
		if _, ok := l.Body.(secretBody); ok && l.Key == key {
			return true
		}
	}
	for _, l := range t.Last {
		if l.Key == key && (IsSealed(l.Live) || IsSealed(l.Wanted())) {
			return true
		}
	}
	return false
}

// explainSecret shows that a leaf changes, without its value.
func explainSecret(l reconcile.LeafChange, there bool) reconcile.Line {
	wanted := l.Want != nil
	switch {
	case wanted && !there:
		return reconcile.Line{Op: '+', Text: label(l.Key) + ": " + string(compact(l.Want.Body.Redacted()))}
	case !wanted:
		return reconcile.Line{Op: '-', Text: label(l.Key)}
	}
	return reconcile.Line{Op: '~', Text: label(l.Key) + " holds a secret and is not shown; want " + string(compact(l.Want.Body.Redacted()))}
}

// errSecretUnknown is why a Kept cannot be written.
var errSecretUnknown = errors.New("its secret cannot be read now: set the variable, or create the file, that the spec names and run the command again")
