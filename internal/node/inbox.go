package node

import "sync"

// inbox is where everything that concerns a shard waits for a pass. take hands all of it over at once.
type inbox struct {
	mu   sync.Mutex
	next inboxContent
}

type inboxContent struct {
	completions []completion
	control     []control
	works       []*Work
}

// completion is a finished task: done runs under ownership.
type completion struct {
	g    *group // nil for the metadata group and shard-wide tasks
	done func()
}

// control is a message from elsewhere in the node, run under ownership.
type control func(s *shard)

func (b *inbox) pushWorks(works []*Work) {
	b.mu.Lock()
	b.next.works = append(b.next.works, works...)
	b.mu.Unlock()
}

func (b *inbox) pushCompletion(c completion) {
	b.mu.Lock()
	b.next.completions = append(b.next.completions, c)
	b.mu.Unlock()
}

func (b *inbox) pushControl(c control) {
	b.mu.Lock()
	b.next.control = append(b.next.control, c)
	b.mu.Unlock()
}

// take swaps the content with spare, which becomes the next one, emptied.
func (b *inbox) take(spare *inboxContent) {
	clear(spare.completions)
	clear(spare.control)
	clear(spare.works)
	spare.completions, spare.control, spare.works = spare.completions[:0], spare.control[:0], spare.works[:0]
	b.mu.Lock()
	b.next, *spare = *spare, b.next
	b.mu.Unlock()
}

func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.next.completions) == 0 && len(b.next.control) == 0 && len(b.next.works) == 0
}
