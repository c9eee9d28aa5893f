package config

import "strings"

// removedKeys are keys of older servers, with the topic option that took over. Their presence refuses the
// boot: the operator relies on something that would silently not happen.
var removedKeys = []struct{ path, instead string }{
	{"system.topic.max_size", "topic option max_topic_size"},
	{"system.topic.message_expiry", "topic option message_expiry"},
	{"system.partition.enforce_fsync", "topic option enforce_fsync"},
	{"system.partition.messages_required_to_save", "topic option messages_required_to_save"},
	{"system.partition.size_of_messages_required_to_save", "topic option size_of_messages_required_to_save"},
	{"system.segment.size", "topic option segment_size"},
	{"system.segment.preallocate", "topic option preallocate_segments"},
	{"system.message_deduplication", ""},
	{"extra", ""},
}

// refuseRemoved reports a removed key, or one below a removed table.
func (l *loader) refuseRemoved(path, source string) bool {
	for _, removed := range removedKeys {
		if path != removed.path && !strings.HasPrefix(path, removed.path+".") {
			continue
		}
		remedy := "remove it"
		if removed.instead != "" {
			remedy = "remove it and set the " + removed.instead + " when creating topics"
		}
		l.refuse(Refusal{Reason: ErrRemovedKey, Key: path, Source: source, Problem: "this key was removed", Remedy: remedy})
		return true
	}
	return false
}

// removedVariable finds the removed key behind the rest of a variable's name.
func removedVariable(suffix string) (path string, ok bool) {
	for _, removed := range removedKeys {
		name := variableSuffix(removed.path)
		whole := !strings.Contains(removed.path, ".") || strings.HasSuffix(removed.path, "_deduplication")
		if suffix == name || whole && strings.HasPrefix(suffix, name+"_") {
			return removed.path, true
		}
	}
	return "", false
}
