package io.multihead.grammar;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The schemas that apply to the properties of an object. */
final class ObjectParts {
    private final Set<SchemaNode> nodes;
    private final Set<String> names = new LinkedHashSet<>();
    private final Set<String> required = new LinkedHashSet<>();
    /** The automata of the patterns of names, by the texts of the patterns. */
    private final Map<String, Dfa> patterns = new LinkedHashMap<>();

    private ObjectParts(Set<SchemaNode> nodes) {
        this.nodes = nodes;
    }

    /** Reads the keywords of schemas that apply together. {@code known} has the automata of patterns. */
    static ObjectParts of(Set<SchemaNode> nodes, Map<String, Dfa> known) {
        ObjectParts parts = new ObjectParts(nodes);
        for (SchemaNode node : nodes) {
            parts.names.addAll(node.map("properties").keySet());
            for (String pattern : node.map("patternProperties").keySet()) {
                String path = node.path("patternProperties");
                Dfa dfa = known.computeIfAbsent(pattern, text -> PatternParser.parse(path, text));
                parts.patterns.put(pattern, dfa);
            }
            if (node.has("required")) {
                for (Object name : node.list("required")) {
                    if (!(name instanceof String text)) {
                        throw node.fail("required", "expected strings");
                    }
                    parts.required.add(text);
                }
            }
        }
        return parts;
    }

    /** Returns the names that schemas have, in their order, followed by names that are only required. */
    Set<String> names() {
        Set<String> all = new LinkedHashSet<>(names);
        all.addAll(required);
        return all;
    }

    Set<String> required() {
        return required;
    }

    Map<String, Dfa> patterns() {
        return patterns;
    }

    Set<SchemaNode> schemas(String name) {
        Map<String, Boolean> matches = new HashMap<>();
        patterns.forEach((pattern, dfa) -> matches.put(pattern, dfa.matches(name)));
        Set<SchemaNode> schemas = new TreeSet<>();
        for (SchemaNode node : nodes) {
            boolean own = node.map("properties").containsKey(name);
            if (own) {
                schemas.add(node.child("properties", name));
            }
            add(node, matches, own, schemas);
        }
        return schemas;
    }

    /** Returns the schemas of properties that no schema names. The names of these properties match the given patterns and no others. */
    Set<SchemaNode> schemas(List<String> matching) {
        Map<String, Boolean> matches = new HashMap<>();
        patterns.keySet().forEach(pattern -> matches.put(pattern, matching.contains(pattern)));
        Set<SchemaNode> schemas = new TreeSet<>();
        for (SchemaNode node : nodes) {
            add(node, matches, false, schemas);
        }
        return schemas;
    }

    private static void add(SchemaNode node, Map<String, Boolean> matches, boolean own, Set<SchemaNode> schemas) {
        boolean found = own;
        for (String pattern : node.map("patternProperties").keySet()) {
            if (Boolean.TRUE.equals(matches.get(pattern))) {
                schemas.add(node.child("patternProperties", pattern));
                found = true;
            }
        }
        if (!found && node.has("additionalProperties")) {
            schemas.add(node.child("additionalProperties"));
        }
    }

    /**
     * Returns whether properties are written that have no name in a schema and no matching pattern. This is the case if a schema describes
     * {@code additionalProperties}, or if the schemas describe no properties.
     */
    boolean isOpen() {
        return nodes.stream().anyMatch(node -> node.has("additionalProperties"))
                || nodes.stream().noneMatch(node -> node.has("properties") || node.has("patternProperties"));
    }
}
