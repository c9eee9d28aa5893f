package session

import (
	"github.com/galgolog/galgo/internal/node"
	"github.com/galgolog/galgo/internal/telemetry"
)

// metrics are the counters of a Server. They are read through Metrics.
type metrics struct {
	signIns        telemetry.Counter
	signInsRefused telemetry.Counter // wrong credentials, versions and bodies
	signInsCrowded telemetry.Counter // answered 58 because too many waited
	hashing        telemetry.Gauge   // computations of a password hash that run or wait
	denials        telemetry.Counter
	evictions      telemetry.Counter
	silent         telemetry.Counter
	departed       telemetry.Counter
}

// Metrics returns the current numbers.
func (s *Server) Metrics() []node.Metric {
	m := &s.metrics
	s.mu.Lock()
	conns, bound, leaving := len(s.conns), len(s.bound), len(s.leaving)
	s.mu.Unlock()
	return []node.Metric{
		{Name: "galgo_clients", Help: "Connections of clients, signed in or not.", Value: float64(conns), Gauge: true},
		{Name: "galgo_clients_signed_in", Help: "Connections that are signed in.", Value: float64(bound), Gauge: true},
		{Name: "galgo_clients_departed", Help: "Sessions whose connection closed and that wait for it to come back.", Value: float64(leaving), Gauge: true},
		{Name: "galgo_password_hashing", Help: "Password hashes that are computed or wait for it.", Value: float64(m.hashing.Value()), Gauge: true},
		{Name: "galgo_sign_ins_total", Help: "Sign-ins that succeeded.", Value: float64(m.signIns.Value())},
		{Name: "galgo_sign_ins_refused_total", Help: "Sign-ins with a wrong credential, version or body.", Value: float64(m.signInsRefused.Value())},
		{Name: "galgo_sign_ins_crowded_total", Help: "Sign-ins answered 58 because too many waited.", Value: float64(m.signInsCrowded.Value())},
		{Name: "galgo_requests_denied_total", Help: "Requests denied before any group was asked.", Value: float64(m.denials.Value())},
		{Name: "galgo_evictions_total", Help: "Requests answered by an eviction.", Value: float64(m.evictions.Value())},
		{Name: "galgo_silent_members_evicted_total", Help: "Group members evicted because they sent nothing.", Value: float64(m.silent.Value())},
		{Name: "galgo_clients_logged_out_total", Help: "Sessions logged out because their connection did not come back.", Value: float64(m.departed.Value())},
	}
}
