package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Resolves keywords that combine schemas: references, {@code allOf}, {@code anyOf} and {@code oneOf}. All schemas that apply at one place
 * become alternatives. The schemas of an alternative apply together, without such keywords.
 */
final class SchemaExpander {
    private static final int MOST_ALTERNATIVES = 1000;
    private static final int DEEPEST = 500;
    private static final int HEXADECIMAL = 16;
    private static final int MOST_WORK = 200_000;

    /** Keywords without an effect on the valid values. */
    private static final Set<String> ANNOTATIONS = Set.of(
            "$schema",
            "$comment",
            "$defs",
            "definitions",
            "$anchor",
            "title",
            "description",
            "default",
            "examples",
            "deprecated",
            "readOnly",
            "writeOnly",
            "contentEncoding",
            "contentMediaType",
            "contentSchema");

    private static final Set<String> KEYWORDS = Set.of(
            "type",
            "enum",
            "const",
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "minProperties",
            "maxProperties",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf");

    private static final Set<String> COMBINING = Set.of("$ref", "allOf", "anyOf", "oneOf");

    private final SchemaNode root;
    private final Map<String, SchemaNode> anchors = new HashMap<>();
    private int work;

    SchemaExpander(SchemaNode root) {
        this.root = root;
        collectAnchors(root.path(), root.value(), true);
    }

    private void collectAnchors(String path, @Nullable Object value, boolean top) {
        if (value instanceof Map<?, ?> map) {
            if (map.get("$anchor") instanceof String name) {
                anchors.put("#" + name, SchemaNode.of(path, value));
            }
            if (!top && map.get("$id") instanceof String && !path.endsWith("/properties")) {
                throw Checks.fail(path + "/$id", String.valueOf(map.get("$id")), "expected it only at the root");
            }
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                String key = String.valueOf(entry.getKey());
                if (!Set.of("enum", "const", "default", "examples").contains(key)) {
                    String step = key.replace("~", "~0").replace("/", "~1");
                    collectAnchors(path + "/" + step, entry.getValue(), false);
                }
            }
        } else if (value instanceof List<?> list) {
            for (int i = 0; i < list.size(); i++) {
                collectAnchors(path + "/" + i, list.get(i), false);
            }
        }
    }

    /** Returns the alternatives of schemas that all apply; empty if no value is valid. */
    List<Set<SchemaNode>> expand(Iterable<SchemaNode> nodes) {
        List<Set<SchemaNode>> alternatives = List.of(new TreeSet<>());
        for (SchemaNode node : nodes) {
            alternatives = both(node, alternatives, expand(node, new HashSet<>()));
        }
        return alternatives;
    }

    private List<Set<SchemaNode>> expand(SchemaNode node, Set<String> open) {
        if (node.value() instanceof Boolean allowed) {
            return allowed ? List.of(new TreeSet<>()) : List.of();
        }
        requireKnown(node);
        work++;
        if (work > MOST_WORK) {
            throw Checks.fail(
                    node.path(), "more than " + MOST_WORK + " schemas that refer to each other", "expected fewer");
        }
        if (!open.add(node.path()) || open.size() > DEEPEST) {
            throw Checks.fail(
                    node.path(),
                    "a schema that refers only to itself",
                    "expected a property or an item between the references");
        }
        Set<SchemaNode> own = new TreeSet<>();
        own.add(node);
        List<Set<SchemaNode>> alternatives = List.of(own);
        if (node.has("$ref")) {
            alternatives = both(node, alternatives, expand(resolve(node), open));
        }
        if (node.has("allOf")) {
            for (int i = 0; i < size(node, "allOf"); i++) {
                alternatives = both(node, alternatives, expand(node.child("allOf", i), open));
            }
        }
        for (String keyword : List.of("anyOf", "oneOf")) {
            if (node.has(keyword)) {
                alternatives = both(node, alternatives, any(node, keyword, open));
            }
        }
        open.remove(node.path());
        return alternatives;
    }

    private List<Set<SchemaNode>> any(SchemaNode node, String keyword, Set<String> open) {
        List<Set<SchemaNode>> any = new ArrayList<>();
        for (int i = 0; i < size(node, keyword); i++) {
            List<Set<SchemaNode>> option = expand(node.child(keyword, i), open);
            for (Set<SchemaNode> one : option) {
                for (Set<SchemaNode> before : any) {
                    if (keyword.equals("oneOf") && !Exclusion.excludes(before, one)) {
                        throw Checks.fail(
                                node.path(keyword),
                                "alternatives that one value may match both",
                                "expected alternatives with different types, const or enum, also of a required property; or anyOf");
                    }
                }
            }
            option.stream().filter(one -> !any.contains(one)).forEach(any::add);
        }
        return any;
    }

    private static int size(SchemaNode node, String keyword) {
        int size = node.list(keyword).size();
        if (size == 0) {
            throw node.fail(keyword, "expected at least one schema");
        }
        return size;
    }

    private static List<Set<SchemaNode>> both(
            SchemaNode node, List<Set<SchemaNode>> some, List<Set<SchemaNode>> others) {
        if ((long) some.size() * others.size() > MOST_ALTERNATIVES) {
            throw Checks.fail(
                    node.path(), "more than " + MOST_ALTERNATIVES + " combinations of alternatives", "expected fewer");
        }
        List<Set<SchemaNode>> all = new ArrayList<>();
        for (Set<SchemaNode> one : some) {
            for (Set<SchemaNode> other : others) {
                Set<SchemaNode> merged = new TreeSet<>(one);
                merged.addAll(other);
                if (!all.contains(merged)) {
                    all.add(merged);
                }
            }
        }
        return all;
    }

    private static void requireKnown(SchemaNode node) {
        for (String keyword : node.keywords().keySet()) {
            boolean root = node.path().equals("#") && keyword.equals("$id");
            if (!root
                    && !ANNOTATIONS.contains(keyword)
                    && !KEYWORDS.contains(keyword)
                    && !COMBINING.contains(keyword)) {
                throw node.fail(keyword, "expected a keyword that is supported");
            }
        }
    }

    /** Returns a fragment of a URI with its percent-encoding decoded. */
    private static String decoded(SchemaNode node, String fragment) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int at = 0; at < fragment.length(); ) {
            int codePoint = fragment.codePointAt(at);
            if (codePoint != '%') {
                bytes.writeBytes(Character.toString(codePoint).getBytes(StandardCharsets.UTF_8));
                at += Character.charCount(codePoint);
                continue;
            }
            int end = Math.min(at + 3, fragment.length());
            int high = end == at + 3 ? Character.digit(fragment.charAt(at + 1), HEXADECIMAL) : -1;
            int low = end == at + 3 ? Character.digit(fragment.charAt(at + 2), HEXADECIMAL) : -1;
            if (high < 0 || low < 0) {
                throw node.fail("$ref", "expected two hexadecimal digits behind %");
            }
            bytes.write(HEXADECIMAL * high + low);
            at = end;
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** Returns the schema that a reference names. */
    private SchemaNode resolve(SchemaNode node) {
        String reference = node.string("$ref");
        if (root.keywords().get("$id") instanceof String id && reference.startsWith(id)) {
            reference = reference.substring(id.length());
            reference = reference.isEmpty() ? "#" : reference;
        }
        SchemaNode anchor = anchors.get(reference);
        if (anchor != null) {
            return anchor;
        }
        if (!reference.equals("#") && !reference.startsWith("#/")) {
            throw node.fail("$ref", "expected a reference within this schema, which begins with #");
        }
        Object value = root.value();
        StringBuilder path = new StringBuilder("#");
        if (reference.length() > 1) {
            String pointer = decoded(node, reference.substring(2));
            for (String step : pointer.split("/", -1)) {
                String name = step.replace("~1", "/").replace("~0", "~");
                value = value instanceof Map<?, ?> map
                        ? map.get(name)
                        : value instanceof List<?> list
                                        && name.matches("\\d{1,6}")
                                        && Integer.parseInt(name) < list.size()
                                ? list.get(Integer.parseInt(name))
                                : null;
                path.append('/').append(step);
            }
        }
        if (value == null) {
            throw node.fail("$ref", "expected a place of this schema");
        }
        return SchemaNode.of(path.toString(), value);
    }
}
