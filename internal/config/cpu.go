package config

import (
	"fmt"
	"strconv"
	"strings"
)

// CPUMode is the form of a CPUAllocation.
type CPUMode uint8

// The forms of system.sharding.cpu_allocation.
const (
	CPUAll   CPUMode = iota // "all"
	CPUCount                // "4"
	CPURange                // "5..8", the end is exclusive
	CPUNUMA                 // "numa:auto" or "numa:nodes=0,1;cores=4;no_ht=true"
)

// CPUAllocation says how many shards the server runs. It is a concurrency hint: nothing is pinned to a core.
type CPUAllocation struct {
	Mode       CPUMode
	Start, End int   // CPURange; for CPUCount End is the count
	Nodes      []int // CPUNUMA: nil for automatic
	Cores      int   // CPUNUMA: cores for each node, 0 for all
	NoHT       bool  // CPUNUMA: one thread for each core
}

// cpuMax bounds the numbers of an allocation.
const cpuMax = 4096

// ParseCPUAllocation reads "all", a count, a range "a..b" (b exclusive), "numa:auto" or
// "numa:nodes=0,1;cores=4;no_ht=true" with every part optional.
func ParseCPUAllocation(text string) (CPUAllocation, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "all":
		return CPUAllocation{Mode: CPUAll}, nil
	case strings.HasPrefix(text, "numa:"):
		return parseNUMA(text)
	case strings.Contains(text, ".."):
		from, to, _ := strings.Cut(text, "..")
		start, errStart := cpuNumber(from)
		end, errEnd := cpuNumber(to)
		if errStart != nil || errEnd != nil {
			return CPUAllocation{}, fmt.Errorf("%q is not a range of cores such as 0..4", text)
		}
		if start >= end {
			return CPUAllocation{}, fmt.Errorf("range %q is empty: the start must be below the end", text)
		}
		return CPUAllocation{Mode: CPURange, Start: start, End: end}, nil
	}
	count, err := cpuNumber(text)
	if err != nil {
		return CPUAllocation{}, fmt.Errorf("%q is not all, a count, a range such as 0..4, or numa:auto", text)
	}
	if count == 0 {
		return CPUAllocation{}, fmt.Errorf("at least one core is needed")
	}
	return CPUAllocation{Mode: CPUCount, End: count}, nil
}

func parseNUMA(text string) (CPUAllocation, error) {
	a := CPUAllocation{Mode: CPUNUMA, NoHT: true}
	rest := strings.TrimPrefix(text, "numa:")
	if rest == "auto" {
		return a, nil
	}
	for _, part := range strings.Split(rest, ";") {
		name, value, _ := strings.Cut(part, "=")
		var err error
		switch strings.TrimSpace(name) {
		case "nodes":
			for _, number := range strings.Split(value, ",") {
				node, nodeErr := cpuNumber(number)
				if nodeErr != nil {
					err = nodeErr
				}
				a.Nodes = append(a.Nodes, node)
			}
		case "cores":
			a.Cores, err = cpuNumber(value)
		case "no_ht":
			a.NoHT, err = parseBool(strings.TrimSpace(value))
		default:
			err = fmt.Errorf("unknown part %q", part)
		}
		if err != nil {
			return CPUAllocation{}, fmt.Errorf("%q is not numa:auto or numa:nodes=0,1;cores=4;no_ht=true: %w", text, err)
		}
	}
	return a, nil
}

func cpuNumber(text string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	if err != nil || n > cpuMax {
		return 0, fmt.Errorf("%q is not a number up to %d", text, cpuMax)
	}
	return int(n), nil
}

// String writes the allocation as ParseCPUAllocation reads it.
func (a CPUAllocation) String() string {
	switch a.Mode {
	case CPUCount:
		return strconv.Itoa(a.End)
	case CPURange:
		return strconv.Itoa(a.Start) + ".." + strconv.Itoa(a.End)
	case CPUNUMA:
		if a.Nodes == nil && a.Cores == 0 && a.NoHT {
			return "numa:auto"
		}
		return a.numaText()
	}
	return "all"
}

func (a CPUAllocation) numaText() string {
	var parts []string
	if a.Nodes != nil {
		nodes := make([]string, len(a.Nodes))
		for i, node := range a.Nodes {
			nodes[i] = strconv.Itoa(node)
		}
		parts = append(parts, "nodes="+strings.Join(nodes, ","))
	}
	parts = append(parts, "cores="+strconv.Itoa(a.Cores), "no_ht="+strconv.FormatBool(a.NoHT))
	return "numa:" + strings.Join(parts, ";")
}

// Shards is the number of shards on a machine with the given number of usable processors: all of them for
// "all" and "numa:auto", else what is asked for. Asking for more than there are is an error.
func (a CPUAllocation) Shards(processors int) (int, error) {
	wanted := processors
	switch a.Mode {
	case CPUCount:
		wanted = a.End
	case CPURange:
		wanted = a.End - a.Start
	case CPUNUMA:
		if a.Cores > 0 {
			return min(a.Cores*max(len(a.Nodes), 1), processors), nil
		}
	}
	if wanted > processors {
		return 0, fmt.Errorf("%d cores asked for, %d usable", wanted, processors)
	}
	return wanted, nil
}
