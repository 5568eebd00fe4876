package fsys

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const (
	benchFiles   = 1000
	benchWorkers = 8
)

// BenchmarkReplace makes 1,000 synced files with 8 workers and divides the time
// by that of a bare loop of temp, write, fsync and rename on the same file
// system, alone and with as many workers. Both end with a sync of the folder.
func BenchmarkReplace(b *testing.B) {
	content := make([]byte, 2048)
	var ours, loop, parallel time.Duration
	for range b.N {
		w := newWorld(b, nil)
		ours += timed(b, func() error {
			err := inParallel(benchWorkers, func(i int) error {
				return w.Replace(LogicalPath(fmt.Sprintf("f%d", i)), Content{Bytes: content}, absent, nil)
			})
			if err != nil {
				return err
			}
			return w.Flush()
		})
		loop += timed(b, func() error { return bare(b.TempDir(), content, 1) })
		parallel += timed(b, func() error { return bare(b.TempDir(), content, benchWorkers) })
	}
	b.ReportMetric(float64(ours)/float64(loop), "ratio-to-loop")
	b.ReportMetric(float64(ours)/float64(parallel), "ratio-to-parallel-loop")
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/1000files")
}

func timed(b *testing.B, run func() error) time.Duration {
	start := time.Now()
	if err := run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func bare(dir string, content []byte, workers int) error {
	err := inParallel(workers, func(i int) error {
		p := filepath.Join(dir, fmt.Sprintf("f%d", i))
		f, err := os.OpenFile(p+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if _, err := f.Write(content); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		return os.Rename(p+".tmp", p)
	})
	if err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func inParallel(workers int, run func(int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for n := range workers {
		wg.Go(func() {
			for i := n; i < benchFiles && errs[n] == nil; i += workers {
				errs[n] = run(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
