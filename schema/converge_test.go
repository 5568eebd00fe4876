package schema

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestConvergeInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{"10m": 10 * time.Minute, "4h": 4 * time.Hour, "1d": 24 * time.Hour, "30d": 720 * time.Hour, "9m": 0, "0h": 0, "31d": 0, "1h30m": 0, "hourly": 0} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "me.cue"), []byte("package aisync\n\nhosts: me: converge: every: \""+text+"\"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Load(context.Background(), Options{HostDir: dir, HostName: "me"})
		switch {
		case want == 0 && (err == nil || !strings.Contains(err.Error(), `want a time such as "30m", "4h" or "1d"`)):
			t.Errorf("%s: error %v", text, err)
		case want > 0 && (err != nil || s.Host.Converge == nil || s.Host.Converge.Every != want):
			t.Errorf("%s: %v", text, err)
		}
	}
}
