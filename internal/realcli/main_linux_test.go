package realcli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"aisync.dev/aisync/internal/fakemcp"
	"aisync.dev/aisync/internal/netjail"
)

// binary is the aisync whose work the programs judge. Without it nothing is
// installed and nothing run: make test-runtimes sets it.
var binary = os.Getenv("AISYNC_TEST_RUNTIMES")

// everyWay asks for each program in each way, where one of them is enough to see
// that both work.
var everyWay = os.Getenv("AISYNC_TEST_WAYS") == "full"

var update = flag.Bool("update", false, "rewrite catalog/proved.json")

// inside marks the copy of this process that has no network but loopback.
const inside = "AISYNC_TEST_INSIDE"

// TestMain is three programs. As "fake-mcp NAME TOOL" it is an MCP server. Else
// it installs the agent programs and an MCP server, while there is a network, and runs itself once
// more without one; the tests are in there.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "fake-mcp" {
		if fakemcp.Serve(os.Stdin, os.Stdout, os.Args[2], os.Args[3]) != nil {
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if binary != "" && os.Getenv(inside) == "" {
		os.Exit(outside())
	}
	if os.Getenv(inside) == "cut" {
		if err := netjail.LoopbackUp(); err != nil {
			fmt.Fprintln(os.Stderr, "realcli: loopback:", err)
			os.Exit(1)
		}
	}
	code := m.Run()
	times.print()
	if file := os.Getenv(SeenVariable); file != "" {
		if err := writeSeen(file); err != nil {
			fmt.Fprintln(os.Stderr, "realcli:", err)
			code = 1
		}
	} else if binary != "" && flag.Lookup("test.run").Value.String() == "" { // else not everything ran
		compare := compareProved
		if testing.Short() {
			compare = compareTried
		}
		if err := compare(); err != nil {
			fmt.Fprintln(os.Stderr, "realcli:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// outside installs, then runs the tests in a separate network, or, where
// the machine does not allow one, as they are: TestTheNetworkIsCut says so.
func outside() int {
	runtime.LockOSThread() // Pdeathsig is about the thread
	packages, trees := tested, os.Getenv(peersEnv)+os.Getenv(treeEnv) != ""
	if os.Getenv(peersEnv) != "" {
		packages = slices.Concat(tested, Peers[:2])
	}
	cache, err := DefaultCache()
	if everyWay {
		packages = slices.Concat(packages, Parsers)
	}
	if err == nil {
		err = cache.Install(context.Background(), func(f string, a ...any) { fmt.Printf(f+"\n", a...) }, packages...)
	}
	if err != nil && os.Getenv(peersEnv) != "" {
		os.Setenv(uninstalled, err.Error()) // TestPeersTrees says so
		err = nil
	}
	home := ""
	if err == nil && !trees {
		home, err = installServer(cache)
		defer os.RemoveAll(home)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "realcli:", err)
		return 1
	}
	os.Setenv(serverHome, home)
	cut := netjail.Namespaces()
	cut.Pdeathsig = syscall.SIGKILL
	err = again("cut", cut)
	if _, started := err.(*exec.ExitError); err != nil && !started {
		err = again(err.Error(), &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL})
	}
	if err != nil {
		return 1
	}
	return 0
}

// again runs this process once more, with the same flags.
func again(network string, attr *syscall.SysProcAttr) error {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"="+network)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	return cmd.Run()
}
