package node

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/galgolog/galgo/internal/vfs"
)

// durableDirs remembers which folders of partitions have names that are on the device, all the way up. That such a
// folder is there says nothing: whoever made it may have died, or may still be about to sync it.
type durableDirs struct {
	mu    sync.Mutex
	known map[string]struct{} // by path of the folder that holds the partitions of a topic
}

func (d *durableDirs) has(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.known[dir]
	return ok
}

func (d *durableDirs) add(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = make(map[string]struct{})
	}
	d.known[dir] = struct{}{}
}

// makePartitionDir creates the directory of a partition, its name and those above durable when it returns.
func (n *Node) makePartitionDir(dir string) error {
	partitions := path.Dir(dir)
	if n.dirs.has(partitions) {
		if err := n.fs.MkdirAll(dir); err != nil {
			return err
		}
		return n.fs.SyncDir(partitions)
	}
	if err := makeDirs(n.fs, n.layout.Path(), dir); err != nil {
		return err
	}
	n.dirs.add(partitions)
	return nil
}

// makeDirs creates dir below root, with every name on the way durable, that of root too when it was missing. All
// are made before the first is synced: where the file system commits in transactions, one commit covers them.
func makeDirs(fsys vfs.FS, root, dir string) error {
	top := root
	if _, err := fsys.Stat(root); errors.Is(err, fs.ErrNotExist) {
		top = path.Dir(root)
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	parents := []string{path.Dir(dir)}
	for at := path.Dir(dir); at != top && at != path.Dir(at); {
		at = path.Dir(at)
		parents = append(parents, at)
	}
	slices.Reverse(parents)
	for _, p := range parents {
		if err := fsys.SyncDir(p); err != nil {
			return err
		}
	}
	return nil
}
