package io.multihead.grammar;

import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Decides for {@code oneOf} whether two alternatives have no value in common. If this cannot be shown, the answer is false. */
final class Exclusion {
    private Exclusion() {}

    static boolean excludes(Set<SchemaNode> one, Set<SchemaNode> other) {
        Set<JsonType> shared = types(one);
        shared.retainAll(types(other));
        if (shared.isEmpty() || differ(named(one), named(other))) {
            return true;
        }
        return shared.equals(EnumSet.of(JsonType.OBJECT)) && excludesByProperty(one, other);
    }

    private static boolean excludesByProperty(Set<SchemaNode> one, Set<SchemaNode> other) {
        Set<Object> required = required(one);
        required.retainAll(required(other));
        for (Object name : required) {
            if (excludes(property(one, String.valueOf(name)), property(other, String.valueOf(name)))) {
                return true;
            }
        }
        return false;
    }

    private static Set<JsonType> types(Set<SchemaNode> nodes) {
        Set<JsonType> types = EnumSet.allOf(JsonType.class);
        for (SchemaNode node : nodes) {
            types.retainAll(JsonType.of(node));
            List<@Nullable Object> named = JsonType.named(node);
            if (named != null) {
                Set<JsonType> ofValues = EnumSet.noneOf(JsonType.class);
                named.forEach(value -> ofValues.add(JsonType.of(value)));
                types.retainAll(ofValues);
            }
        }
        return types;
    }

    private static @Nullable List<@Nullable Object> named(Set<SchemaNode> nodes) {
        for (SchemaNode node : nodes) {
            List<@Nullable Object> named = JsonType.named(node);
            if (named != null) {
                return named;
            }
        }
        return null;
    }

    private static boolean differ(@Nullable List<@Nullable Object> some, @Nullable List<@Nullable Object> others) {
        return some != null && others != null && Collections.disjoint(JsonType.keys(some), JsonType.keys(others));
    }

    private static Set<Object> required(Set<SchemaNode> nodes) {
        Set<Object> required = new HashSet<>();
        for (SchemaNode node : nodes) {
            if (node.has("required")) {
                node.list("required").stream().filter(name -> name != null).forEach(required::add);
            }
        }
        return required;
    }

    private static Set<SchemaNode> property(Set<SchemaNode> nodes, String name) {
        Set<SchemaNode> schemas = new HashSet<>();
        for (SchemaNode node : nodes) {
            if (node.map("properties").containsKey(name)) {
                schemas.add(node.child("properties", name));
            }
        }
        return schemas;
    }
}
