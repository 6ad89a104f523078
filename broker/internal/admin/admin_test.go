package admin_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moldau-broker/moldau/broker/internal/admin"
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
