package io.multihead.grammar;

import java.math.BigDecimal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Decides whether a value that a schema names is valid against the schema's other keywords. */
final class SchemaValues {
    private final SchemaExpander expander;
    private final Map<String, Dfa> patterns = new HashMap<>();
    /** The alternatives of schemas that apply together. */
    private final Map<Set<SchemaNode>, List<Facts>> known = new HashMap<>();

    SchemaValues(SchemaExpander expander) {
        this.expander = expander;
    }

    Map<String, Dfa> patterns() {
        return patterns;
    }

    private boolean isValid(@Nullable Object value, Set<SchemaNode> schemas) {
        List<Facts> alternatives = known.get(schemas);
        if (alternatives == null) {
            alternatives = expander.expand(schemas).stream().map(Facts::new).toList();
            known.put(schemas, alternatives);
        }
        return alternatives.stream().anyMatch(facts -> isValidFor(value, facts));
    }

    /** Returns whether a value is valid against schemas without combining keywords. */
    boolean isValidFor(@Nullable Object value, Facts facts) {
        if (!facts.types().contains(JsonType.of(value))) {
            return false;
        }
        if (!facts.allows(value)) {
            return false;
        }
        return switch (value) {
            case Number number -> inRange(JsonType.decimal(number), facts.range());
            case String text -> fits(text, facts);
            case List<?> list -> fits(list, facts);
            case Map<?, ?> map -> fits(map, facts);
            case null, default -> true;
        };
    }

    private static boolean inRange(BigDecimal number, JsonNumbers.Range range) {
        int toLow = range.low() == null ? 1 : number.compareTo(range.low());
        int toHigh = range.high() == null ? -1 : number.compareTo(range.high());
        boolean multiple =
                range.step() == null || number.remainder(range.step()).signum() == 0;
        return multiple && toLow >= (range.aboveLow() ? 1 : 0) && toHigh <= (range.belowHigh() ? -1 : 0);
    }

    private static boolean count(int count, Facts facts, String least, String most) {
        int limit = facts.most(most);
        return count >= facts.least(least) && (limit < 0 || count <= limit);
    }

    private boolean fits(String text, Facts facts) {
        Dfa pattern = facts.pattern(patterns);
        return count(text.codePointCount(0, text.length()), facts, "minLength", "maxLength")
                && (pattern == null || pattern.matches(text));
    }

    private boolean fits(List<?> list, Facts facts) {
        for (int i = 0; i < list.size(); i++) {
            if (!isValid(list.get(i), ArrayRules.schemas(facts.nodes(), i))) {
                return false;
            }
        }
        return count(list.size(), facts, "minItems", "maxItems");
    }

    private boolean fits(Map<?, ?> map, Facts facts) {
        ObjectParts parts = ObjectParts.of(facts.nodes(), patterns);
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (!isValid(entry.getValue(), parts.schemas(String.valueOf(entry.getKey())))) {
                return false;
            }
        }
        return map.keySet().containsAll(parts.required()) && count(map.size(), facts, "minProperties", "maxProperties");
    }
}
