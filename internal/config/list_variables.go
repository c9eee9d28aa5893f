package config

import (
	"strconv"
	"strings"
)

// listVariables gathers the variables of list elements: CLUSTER_NODES_0_NAME,
// CLUSTER_NODES_0_ADVERTISED_ADDRESSES_1_ADDRESS, HTTP_JWT_TRUSTED_ISSUERS_0_ISSUER. A list is as long as
// its highest index says; gaps are empty elements, which are refused as incomplete.
type listVariables struct {
	nodes   rawList
	issuers rawList
}

// rawList is a list of tables in the shape that a file gives it. It is nil while no variable names it.
type rawList []any

func newListVariables() *listVariables { return &listVariables{} }

// add takes a variable if it belongs to a list, and gives the key that it sets.
func (lv *listVariables) add(suffix string, v variable) (string, bool) {
	if rest, ok := strings.CutPrefix(suffix, variableSuffix(nodesPath)+"_"); ok {
		return lv.addNode(rest, v)
	}
	if rest, ok := strings.CutPrefix(suffix, variableSuffix(issuersPath)+"_"); ok {
		index, field, ok := cutIndex(rest, listMax)
		if !ok {
			return "", false
		}
		if path, ok := fieldOf(issuerKeys, field); ok {
			setField(lv.issuers.element(index), path, v)
			return elementPath(issuersPath, index, path), true
		}
	}
	return "", false
}

func (lv *listVariables) addNode(rest string, v variable) (string, bool) {
	index, field, ok := cutIndex(rest, listMax)
	if !ok {
		return "", false
	}
	if path, ok := fieldOf(nodeKeys, field); ok {
		setField(lv.nodes.element(index), path, v)
		return elementPath(nodesPath, index, path), true
	}
	inner, ok := strings.CutPrefix(field, strings.ToUpper(advertisedName)+"_")
	if !ok {
		return "", false
	}
	second, field, ok := cutIndex(inner, advertisedMax)
	if !ok {
		return "", false
	}
	path, ok := fieldOf(advertisedKeys, field)
	if !ok {
		return "", false
	}
	node := lv.nodes.element(index)
	addresses, _ := node[advertisedName].([]any)
	list := rawList(addresses)
	setField(list.element(second), path, v)
	node[advertisedName] = []any(list)
	return elementPath(elementPath(nodesPath, index, advertisedName), second, path), true
}

// element gives the table at an index, making the list longer where needed.
func (list *rawList) element(index int) map[string]any {
	for len(*list) <= index {
		*list = append(*list, map[string]any{})
	}
	table, _ := (*list)[index].(map[string]any)
	return table
}

// setField puts a value at a path of at most two parts.
func setField(table map[string]any, path string, v variable) {
	outer, inner, nested := strings.Cut(path, ".")
	if !nested {
		table[path] = fromVariable{name: v.name, text: v.value}
		return
	}
	below, ok := table[outer].(map[string]any)
	if !ok {
		below = map[string]any{}
		table[outer] = below
	}
	below[inner] = fromVariable{name: v.name, text: v.value}
}

// cutIndex splits "12_NAME" into 12 and NAME. Indices are below limit.
func cutIndex(text string, limit int) (int, string, bool) {
	digits, field, ok := strings.Cut(text, "_")
	index, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil || int(index) >= limit {
		return 0, "", false
	}
	return int(index), field, true
}

func fieldOf[C any](keys []key[C], suffix string) (string, bool) {
	for i := range keys {
		if variableSuffix(keys[i].path) == suffix {
			return keys[i].path, true
		}
	}
	return "", false
}

func elementPath(list string, index int, field string) string {
	return list + "[" + strconv.Itoa(index) + "]." + field
}

// applyListVariables replaces every list that a variable named.
func (l *loader) applyListVariables(lv *listVariables) {
	if lv.nodes != nil {
		l.loadList(nodesPath, []any(lv.nodes), l.listSource(nodesPath))
	}
	if lv.issuers != nil {
		l.loadList(issuersPath, []any(lv.issuers), l.listSource(issuersPath))
	}
}

// listSource names the variables of a list as a whole: those of the native spelling if there are any.
func (l *loader) listSource(path string) string {
	prefix := foreignPrefix
	start := variableSuffix(path) + "_"
	for suffix, v := range l.env.vars {
		if strings.HasPrefix(suffix, start) && strings.HasPrefix(v.name, nativePrefix) {
			prefix = nativePrefix
		}
	}
	return prefix + start + "*"
}

// listVariableExamples are the names of the first elements, for suggestions.
func listVariableExamples() []string {
	var names []string
	for i := range nodeKeys {
		names = append(names, variableSuffix(nodesPath)+"_0_"+variableSuffix(nodeKeys[i].path))
	}
	for i := range advertisedKeys {
		names = append(names, variableSuffix(nodesPath)+"_0_"+strings.ToUpper(advertisedName)+"_0_"+
			variableSuffix(advertisedKeys[i].path))
	}
	for i := range issuerKeys {
		names = append(names, variableSuffix(issuersPath)+"_0_"+variableSuffix(issuerKeys[i].path))
	}
	return names
}
