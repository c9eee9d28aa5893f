package partition

// queue is a first-in first-out ring that grows to the largest number of elements ever held and then stops
// allocating. Its bound is the prepare depth of the group.
type queue[T any] struct {
	buf        []T
	head, size int
}

func (q *queue[T]) len() int { return q.size }

func (q *queue[T]) push(v T) {
	if q.size == len(q.buf) {
		grown := make([]T, max(8, 2*len(q.buf)))
		for i := range q.size {
			grown[i] = *q.at(i)
		}
		q.buf, q.head = grown, 0
	}
	q.buf[(q.head+q.size)%len(q.buf)] = v
	q.size++
}

// at returns element i, counted from the oldest.
func (q *queue[T]) at(i int) *T { return &q.buf[(q.head+i)%len(q.buf)] }

func (q *queue[T]) first() *T { return q.at(0) }

func (q *queue[T]) last() *T { return q.at(q.size - 1) }

func (q *queue[T]) popFirst() T {
	v := *q.first()
	q.head = (q.head + 1) % len(q.buf)
	q.size--
	return v
}

func (q *queue[T]) popLast() T {
	v := *q.last()
	q.size--
	return v
}
