package config

import (
	"cmp"
	"slices"
)

// nearest gives up to count of the names that are likely meant by a misspelt one, best first. A name counts
// as likely when fewer than a third of its letters (at least two) differ.
func nearest(name string, names []string, count int) []string {
	type match struct {
		name     string
		distance int
	}
	var matches []match
	for _, candidate := range names {
		limit := max(2, max(len(name), len(candidate))/3)
		if d := editDistance(name, candidate); d <= limit {
			matches = append(matches, match{candidate, d})
		}
	}
	slices.SortFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	result := make([]string, 0, count)
	for _, m := range matches[:min(count, len(matches))] {
		result = append(result, m.name)
	}
	return result
}

// editDistance counts the single-byte insertions, deletions and replacements between two names. Names longer
// than any of ours are cut.
func editDistance(a, b string) int {
	const considered = 128
	a, b = a[:min(len(a), considered)], b[:min(len(b), considered)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := diagonal
			if a[i-1] != b[j-1] {
				replace++
			}
			diagonal = row[j]
			row[j] = min(replace, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
