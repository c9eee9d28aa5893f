package process_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/galgolog/galgo/test/drive"
	"github.com/galgolog/galgo/test/process"
)

func TestMain(m *testing.M) { process.Main(m) }

func TestServer_StartsServesAndStopsCleanly(t *testing.T) {
	s := process.Start(t, process.Options{})
	drive.Root(t, s)
	s.Stop()
	log := s.LifeLog()
	for _, line := range []string{"server client listeners started", "server shutdown complete"} {
		if !strings.Contains(log, line) {
			t.Errorf("no line %q in\n%s", line, log)
		}
	}
	if s.Alive() {
		t.Error("the process still runs")
	}
}

func TestServer_IsTheServerUnderItsOtherNameAndWithoutSubcommand(t *testing.T) {
	for name, opts := range map[string]process.Options{
		"other name":    {Name: "iggy-server", Args: []string{}},
		"no subcommand": {Args: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := process.Start(t, opts)
			drive.Root(t, s)
			s.Stop()
		})
	}
}

func TestServer_ServesOnTheSameDataAfterStopAndKill(t *testing.T) {
	s := process.Start(t, process.Options{})
	topic := drive.Root(t, s).NewTopic("orders", "events", 1)
	for life, again := range []func(){s.Restart, s.Crash, s.Crash, s.Restart} {
		c := drive.Root(t, s)
		c.Send(topic.TopicRef, 0, "message")
		again()
		if got := len(drive.Root(t, s).All(topic.TopicRef, 0)); got != life+1 {
			t.Fatalf("%d messages after life %d; want %d", got, life+1, life+1)
		}
	}
}

func TestServer_RefusesADirectoryInUse(t *testing.T) {
	first := process.Start(t, process.Options{})
	second := process.New(t, process.Options{Data: first.Data()})
	code, log := second.Refused()
	if code != 1 || !strings.Contains(log, "in use") {
		t.Errorf("exit code %d and log %q; want 1 and a line that says that the directory is in use", code, log)
	}
	drive.Root(t, first)
}

func TestServer_StopsWhileClientsAreConnectedAndBusy(t *testing.T) {
	s := process.Start(t, process.Options{})
	c := drive.Root(t, s)
	topic := c.NewTopic("orders", "events", 1)
	idle := drive.Dial(t, s)
	if err := idle.Ping(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		record := drive.Record("busy")
		for {
			if _, err := c.SendMessages(topic.TopicRef, drive.To(0), record); err != nil {
				return
			}
		}
	}()
	s.Stop()
	<-stopped
}

func TestServer_ObeysEveryStopSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			s := process.Start(t, process.Options{})
			s.Signal(sig)
			if code := s.Wait(); code != 0 {
				t.Errorf("exit code %d; want 0", code)
			}
		})
	}
}
