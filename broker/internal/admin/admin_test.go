package admin_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moldau-broker/moldau/broker/internal/admin"
	"github.com/moldau-broker/moldau/broker/internal/memnet"
)

func TestHandler(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "moldau_test_total", Help: "A count."})
	reg.MustRegister(c)
	c.Inc()
	waiting := "recovering logs"
	s := httptest.NewServer(admin.Handler(admin.Options{
		Metrics: reg, Ready: func() string { return waiting }, Logger: slog.New(slog.DiscardHandler),
	}))
	defer s.Close()

	get := func(path string, status int, want string) {
		t.Helper()
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %q, want %d and %q", path, resp.StatusCode, body, status, want)
		}
	}
	get("/livez", 200, "ok")
	get("/readyz", 503, "recovering logs")
	waiting = ""
	get("/readyz", 200, "ok")
	get("/metrics", 200, "moldau_test_total 1")
	get("/debug/pprof/goroutine?debug=1", 200, "goroutine profile")
	get("/nothing", 404, "")
}

// A request that is under way when the end comes is answered, and Serve waits for it.
func TestServeWaitsForRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address = "127.0.0.1:9644"
		network := memnet.New()
		l, err := network.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		release := make(chan struct{})
		served, answered := make(chan error, 1), make(chan error, 1)
		go func() {
			served <- admin.Serve(ctx, l, admin.Options{
				Metrics: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
				Ready: func() string { <-release; return "" },
			})
		}()
		go func() {
			web := &http.Client{Transport: &http.Transport{DialContext: network.Dial, DisableKeepAlives: true}}
			resp, err := web.Get("http://" + address + "/readyz")
			if err == nil {
				err = resp.Body.Close()
			}
			answered <- err
		}()
		synctest.Wait()
		stop()
		synctest.Wait()
		select {
		case err := <-served:
			t.Errorf("Serve returned %v while a request is under way", err)
			served <- err
		default:
		}
		close(release)
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // In the bubble: a shutdown that nobody waits for ends.
	})
}
