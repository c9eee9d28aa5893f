# Every target works on a fresh machine with Go 1.26; nothing else is needed for build and tests.

GO ?= go
SEEDS ?= 2000
ROUNDS ?= 1000

.PHONY: build test race vet lint fuzz sim-long crash-long bench ci

build:
	$(GO) build -o bin/galgo ./cmd/galgo

# The tests of every package.
test:
	$(GO) test ./...

# The packages where goroutines meet, under the race detector.
race:
	$(GO) test -race ./internal/buffer ./internal/partition ./internal/node ./internal/session ./internal/transport ./internal/vsr ./internal/rawclient
	$(GO) test -race ./internal/sim -seeds 10

vet:
	$(GO) vet ./...
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'gofmt would change these files'; exit 1; }

lint:
	$(GO) run honnef.co/go/tools/cmd/staticcheck@latest ./...

# A short turn of every fuzz target.
fuzz:
	@for pkg in $$($(GO) list ./internal/...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 10s -fuzzminimizetime 10x $$pkg || exit 1; \
		done; \
	done

# Longer proofs, run by hand.
sim-long:
	$(GO) test ./internal/sim -timeout 2h -v -seeds $(SEEDS)

crash-long:
	$(GO) test ./test/crash -timeout 3h -v -rounds $(ROUNDS)

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/batch ./internal/segment ./internal/vsr ./internal/node ./internal/transport

ci: vet
	$(GO) test -count=1 ./...
	$(MAKE) race
