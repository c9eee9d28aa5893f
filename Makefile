# Every target works on a fresh machine with Go 1.26; nothing else is needed for build and tests.

GO ?= go
SEEDS ?= 2000
ROUNDS ?= 1000
CRASH_SEEDS ?= 20

.PHONY: build test race vet lint fuzz crash crash-breakages crash-long sim-long kill-long bench ci

build:
	$(GO) build -o bin/galgo ./cmd/galgo

# The tests of every package.
test:
	$(GO) test ./...

# The packages where goroutines meet, under the race detector.
race:
	$(GO) test -race -short ./internal/buffer ./internal/partition ./internal/node ./internal/session ./internal/transport ./internal/vsr ./internal/rawclient
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

# Every file operation of every path as a place to die at, with every policy for what was not synced.
crash:
	GOGC=400 $(GO) test ./internal/sim -run '^TestCrashPoints$$' -count=1 -timeout 20m -v -crash-stride 1

# The same over file systems that leave out a sync, a rename or a removal: every one must be noticed.
crash-breakages:
	GOGC=400 $(GO) test ./internal/sim -run '^TestCrashPoints_CatchBreakages$$' -count=1 -timeout 1h -v -crash-breakages

# Longer proofs, run by hand.
crash-long:
	GOGC=400 $(GO) test ./internal/sim -run '^TestCrashPoints$$' -count=1 -timeout 6h -v -crash-stride 1 -crash-seeds $(CRASH_SEEDS)

sim-long:
	$(GO) test ./internal/sim -timeout 2h -v -seeds $(SEEDS)

kill-long:
	$(GO) test ./test/crash -timeout 3h -v -rounds $(ROUNDS)

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/batch ./internal/segment ./internal/vsr ./internal/node ./internal/transport

ci: vet
	$(GO) test -count=1 ./...
	$(MAKE) crash crash-breakages
	$(MAKE) race
