package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/fetch/hubtest"
	"aisync.dev/aisync/internal/fetch/ocitest"
)

// The section of docs/fleet.md about a registry is one session, with three homes, a
// registry and a hub; -update writes what the commands print. ssh changes the machine:
// berta gets the lock that anna made, and neither she nor carla reaches the hub; at the
// end the registry is gone.
func TestRegistryPageIsTrue(t *testing.T) {
	b, err := os.ReadFile(fleetPage)
	must(t, err)
	doc := string(b)
	from, to := section(t, doc, "## A registry for many machines")
	spec := regexp.MustCompile("(?ms)^```cue registry.cue\n(.*?)^```$").FindStringSubmatch(doc[from:to])
	if spec == nil {
		t.Fatal("the page shows no spec")
	}
	registry, hub := ocitest.New(), hubtest.New(t)
	t.Cleanup(registry.Close)
	tiny, err := os.ReadFile("../../golden/contract/models/tiny.gguf")
	must(t, err)
	hub.Add("me/tiny-GGUF", hubtest.File{Path: "tiny-F32.gguf", Data: tiny})
	top := t.TempDir()
	recorded, ok := hosts.Recorded("velox")
	if !ok {
		t.Fatal("no recorded facts")
	}
	config := func(host string) string { return filepath.Join(top, host, ".config", "aisync") }
	for _, host := range []string{"anna", "berta", "carla"} {
		recorded.Hostname = host
		facts, err := json.Marshal(recorded)
		must(t, err)
		must(t, os.MkdirAll(config(host), 0o755))
		must(t, os.WriteFile(filepath.Join(top, host+".json"), facts, 0o644))
		text := strings.ReplaceAll(spec[1], "registry.lan:5000", registry.Host)
		if host == "carla" {
			text = "package aisync\n\nhosts: carla: match: hostname: \"carla\"\n"
		}
		must(t, os.WriteFile(filepath.Join(config(host), "machines.cue"), []byte(text), 0o644))
	}
	host, gone, asked := "anna", false, []hubtest.Request(nil)
	types := func(command string) string {
		switch {
		case command == "ssh berta":
			lock, err := os.ReadFile(filepath.Join(config("anna"), "aisync.lock"))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(config("berta"), "aisync.lock"), lock, 0o644))
			host = "berta"
			hub.Forget()
			return ""
		case command == "ssh carla":
			host = "carla"
			return ""
		case strings.HasPrefix(command, "rm "):
			registry.Close()
			host, gone, asked = "berta", true, hub.Requests()
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "registry.lan:5000", registry.Host))
		cmd.Dir = filepath.Join(top, host)
		endpoint := hub.URL
		if host != "anna" && !gone {
			endpoint = "http://127.0.0.1:1"
		}
		cmd.Env = []string{"HOME=" + filepath.Join(top, host), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", quickRaceExit,
			"HF_ENDPOINT=" + endpoint, "AISYNC_CLI_ARGS=--facts " + filepath.Join(top, host+".json")}
		out, _ := cmd.CombinedOutput() // the page shows what it says
		return string(out)
	}
	settled := unsteady{
		{regexp.MustCompile(regexp.QuoteMeta(registry.Host)), "registry.lan:5000"},
		{regexp.MustCompile(regexp.QuoteMeta(top) + `/\w+`), "/home/me"},
		{regexp.MustCompile(`: [0-9.]+ [GTM]B now, [0-9.]+ [GTM]B after`), ": 90.1 GB now, 90.1 GB after"},
		{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "4f1c2d8a9be0"},
		{regexp.MustCompile(`\b\d{8}T\d{6}\.\d+Z-[0-9a-f]{6}\b`), "20260202T100000.123Z-1a2b3c"},
	}.settle
	is, commands := walked(doc[from:to], types, settled)
	asOnPage(t, fleetPage, doc, doc[:from]+is+doc[to:])
	if commands < 10 {
		t.Errorf("only %d commands were found", commands)
	}
	for _, r := range asked {
		t.Errorf("berta or carla asked the hub for %s", r.Path)
	}
}
