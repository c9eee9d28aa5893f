package config

import "fmt"

// RootUser are the credentials of the first user. They count only while no user exists yet.
type RootUser struct {
	Given    bool // the environment names them; otherwise a single node makes a password up
	Username string
	Password string // secret
}

// Bounds of the root credentials in bytes, and the user name that stands in.
const (
	usernameBytesMin = 3
	usernameBytesMax = 50
	passwordBytesMin = 3
	passwordBytesMax = 100
	// DefaultRootName is the root user when nobody names one.
	DefaultRootName = "iggy"
)

// loadOutside reads what has no key in the file.
func (l *loader) loadOutside() {
	display := l.env.get("DISPLAY_CONFIG")
	l.out.Display = display == "" || display == "1" || display == "true"
	l.out.LogFilter = l.cfg.System.Logging.Level
	if l.env.logFilter != "" {
		l.out.LogFilter = l.env.logFilter
	}
	l.loadRoot()
}

func (l *loader) loadRoot() {
	username, password := l.env.vars["ROOT_USERNAME"], l.env.vars["ROOT_PASSWORD"]
	if l.src.DefaultRoot {
		if username.value != "" && password.value != "" {
			l.warn("--with-default-root-credentials: ignored, both root credentials are in the environment")
		} else {
			l.warn("--with-default-root-credentials: a new root user gets well-known credentials, do not use this in production")
		}
		username.value = orText(username.value, DefaultRootName)
		password.value = orText(password.value, DefaultRootName)
	}
	if username.value == "" && password.value == "" {
		l.cfg.Root = RootUser{Username: DefaultRootName}
		return
	}
	if username.value == "" || password.value == "" {
		missing := "ROOT_USERNAME"
		if password.value == "" {
			missing = "ROOT_PASSWORD"
		}
		l.refuseRoot(missing, "is missing while the other root credential is set", "set both or neither")
		return
	}
	l.checkLength("ROOT_USERNAME", len(username.value), usernameBytesMin, usernameBytesMax)
	l.checkLength("ROOT_PASSWORD", len(password.value), passwordBytesMin, passwordBytesMax)
	l.cfg.Root = RootUser{Given: true, Username: username.value, Password: password.value}
}

func (l *loader) checkLength(suffix string, length, low, high int) {
	if length < low || length > high {
		l.refuseRoot(suffix, fmt.Sprintf("has %d bytes", length), fmt.Sprintf("give %d to %d bytes", low, high))
	}
}

func (l *loader) refuseRoot(suffix, problem, remedy string) {
	name := foreignPrefix + suffix
	if v, ok := l.env.vars[suffix]; ok {
		name = v.name
	}
	l.refuse(Refusal{Reason: ErrRootCredentials, Key: name, Problem: problem, Remedy: remedy})
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// MissingRoot is the refusal of a cluster node that starts for the first time without root credentials. It
// would otherwise invent a password that differs from that of its peers.
func MissingRoot() error {
	return Refusals{{Reason: ErrRootCredentials, Key: foreignPrefix + "ROOT_USERNAME",
		Problem: "root credentials are needed for the first start of a cluster node",
		Remedy:  "set " + foreignPrefix + "ROOT_USERNAME and " + foreignPrefix + "ROOT_PASSWORD to the same values on every node"}}
}
