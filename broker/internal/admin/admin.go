// Package admin serves what operators ask of a broker over HTTP: metrics, health
// and profiles. It is meant for loopback: nothing here is authenticated, and
// nothing changes the broker.
//
//	/metrics       Prometheus metrics
//	/livez         200 while the process works
//	/readyz        200 while clients are served; otherwise 503 and what it waits for
//	/debug/pprof/  profiles, see net/http/pprof
//
// Not here: Kafka's own protocol (server, api).
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options says what is served.
type Options struct {
	Metrics prometheus.Gatherer
	// Ready tells what the broker still waits for; "" when clients are served.
	Ready  func() string
	Logger *slog.Logger
}

// Handler is the HTTP side without a listener.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if waiting := o.Ready(); waiting != "" {
			say(w, http.StatusServiceUnavailable, waiting)
			return
		}
		say(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // A client that is gone does not read it.
}

// Serve serves l until ctx ends, and then gives requests under way a second.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	s := &http.Server{
		Handler:           Handler(o),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		end, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
	})
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped // http.Server.Serve does not wait for what is under way.
	return nil
}
