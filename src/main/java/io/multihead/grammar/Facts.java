package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The limits of schemas that apply together: types, values, numbers and strings. */
final class Facts {
    /** The largest magnitude of a decimal exponent, and the largest number of digits. Larger ones have no use, and would take memory. */
    private static final int MOST_SCALE = 400;

    private final Set<SchemaNode> nodes;
    private final Set<JsonType> types = EnumSet.allOf(JsonType.class);
    /** The values that all schemas with {@code enum} or {@code const} allow; null if there is no such limit. */
    private final @Nullable List<@Nullable Object> named;
    /** The {@link JsonType#key} of each of these values. */
    private final Set<Object> keys;
    /** The automaton of {@link #pattern(Map)}, empty if there is none; null until it is first requested. */
    private @Nullable Optional<Dfa> pattern;

    Facts(Set<SchemaNode> nodes) {
        this.nodes = nodes;
        for (SchemaNode node : nodes) {
            types.retainAll(JsonType.of(node));
        }
        named = named(nodes);
        keys = named == null ? Set.of() : JsonType.keys(named);
    }

    Set<SchemaNode> nodes() {
        return nodes;
    }

    Set<JsonType> types() {
        return types;
    }

    /** Returns the path of the first schema, for errors. */
    String path() {
        return nodes.isEmpty() ? "#" : nodes.iterator().next().path();
    }

    /** Returns the path of a member of a keyword, for errors. */
    String path(String keyword, String member) {
        return SchemaNode.pointer(SchemaNode.pointer(path(), keyword), member);
    }

    /** Returns the values that all schemas with {@code enum} or {@code const} allow; null if there is no such limit. */
    @Nullable
    List<@Nullable Object> named() {
        return named;
    }

    /** Returns whether a value is one of the named values, if there are any. */
    boolean allows(@Nullable Object value) {
        return named == null || keys.contains(JsonType.key(value));
    }

    private static @Nullable List<@Nullable Object> named(Set<SchemaNode> nodes) {
        List<@Nullable Object> values = null;
        for (SchemaNode node : nodes) {
            List<@Nullable Object> more = JsonType.named(node);
            values = values == null ? more : more == null ? values : shared(values, more);
        }
        return values;
    }

    private static List<@Nullable Object> shared(List<@Nullable Object> some, List<@Nullable Object> others) {
        Set<Object> keys = JsonType.keys(others);
        List<@Nullable Object> shared = new ArrayList<>();
        for (Object value : some) {
            if (keys.contains(JsonType.key(value))) {
                shared.add(value);
            }
        }
        return shared;
    }

    /** Returns the largest of the minimum counts. */
    int least(String keyword) {
        return nodes.stream().mapToInt(node -> node.count(keyword, 0)).max().orElse(0);
    }

    /** Returns the smallest of the maximum counts; -1 for no limit. */
    int most(String keyword) {
        int most = nodes.stream()
                .mapToInt(node -> node.count(keyword, Integer.MAX_VALUE))
                .min()
                .orElse(Integer.MAX_VALUE);
        return most == Integer.MAX_VALUE ? -1 : most;
    }

    /** Returns the schemas that have a keyword. */
    Set<SchemaNode> having(String keyword) {
        Set<SchemaNode> having = new LinkedHashSet<>();
        nodes.stream().filter(node -> node.has(keyword)).forEach(having::add);
        return having;
    }

    JsonNumbers.Range range() {
        boolean integer = !types.contains(JsonType.NUMBER);
        BigDecimal low = null;
        BigDecimal high = null;
        boolean above = false;
        boolean below = false;
        BigDecimal step = null;
        for (SchemaNode node : nodes) {
            for (String keyword : List.of("minimum", "exclusiveMinimum")) {
                BigDecimal value = number(node, keyword);
                int order = value == null ? 0 : low == null ? 1 : value.compareTo(low);
                above = order > 0
                        ? keyword.startsWith("ex")
                        : above || order == 0 && value != null && keyword.startsWith("ex");
                low = order > 0 ? value : low;
            }
            for (String keyword : List.of("maximum", "exclusiveMaximum")) {
                BigDecimal value = number(node, keyword);
                int order = value == null ? 0 : high == null ? -1 : value.compareTo(high);
                below = order < 0
                        ? keyword.startsWith("ex")
                        : below || order == 0 && value != null && keyword.startsWith("ex");
                high = order < 0 ? value : high;
            }
            BigDecimal multiple = number(node, "multipleOf");
            if (multiple != null && multiple.signum() <= 0) {
                throw node.fail("multipleOf", "expected a number above 0");
            }
            step = multiple == null ? step : step == null ? multiple : common(node, step, multiple);
        }
        return new JsonNumbers.Range(integer, low, above, high, below, step);
    }

    /** Returns the least common multiple of both numbers. */
    private static BigDecimal common(SchemaNode node, BigDecimal one, BigDecimal other) {
        int scale = Math.max(Math.max(one.scale(), other.scale()), 0);
        BigInteger a = one.movePointRight(scale).toBigInteger();
        BigInteger b = other.movePointRight(scale).toBigInteger();
        if (a.bitLength() + b.bitLength() > Long.SIZE) {
            throw node.fail("multipleOf", "expected smaller numbers");
        }
        return new BigDecimal(a.multiply(b).divide(a.gcd(b)), scale);
    }

    private static @Nullable BigDecimal number(SchemaNode node, String keyword) {
        if (!node.has(keyword)) {
            return null;
        }
        if (!(node.keywords().get(keyword) instanceof Number number)) {
            throw node.fail(keyword, "expected a number");
        }
        BigDecimal value = JsonType.decimal(number);
        if (Math.abs((long) value.scale()) > MOST_SCALE || value.precision() > MOST_SCALE) {
            throw node.fail(keyword, "expected a number of at most " + MOST_SCALE + " digits");
        }
        return value;
    }

    /**
     * Returns the automaton of a string's patterns and formats together with its length limits; null if there are no patterns and formats.
     * {@code known} has the automata of patterns.
     */
    @Nullable
    Dfa pattern(Map<String, Dfa> known) {
        Optional<Dfa> made = pattern;
        if (made == null) {
            made = Optional.ofNullable(compile(known));
            pattern = made;
        }
        return made.orElse(null);
    }

    private @Nullable Dfa compile(Map<String, Dfa> known) {
        Dfa dfa = null;
        for (SchemaNode node : having("pattern")) {
            String text = node.string("pattern");
            Dfa found = known.computeIfAbsent(text, pattern -> PatternParser.parse(node.path("pattern"), pattern));
            dfa = and(node.path("pattern"), dfa, found);
        }
        for (SchemaNode node : having("format")) {
            String text = Formats.pattern(node);
            Dfa found = known.computeIfAbsent(text, pattern -> PatternParser.parse(node.path("format"), pattern));
            dfa = and(node.path("format"), dfa, found);
        }
        int least = least("minLength");
        int most = most("maxLength");
        if (dfa == null || least == 0 && most < 0) {
            return dfa;
        }
        return dfa.and(path(), Dfa.lengths(path(), least, most));
    }

    private static Dfa and(String path, @Nullable Dfa one, Dfa other) {
        return one == null ? other : one.and(path, other);
    }

    /** Fails if a count exceeds its limit. */
    void requireCount(String keyword, int count, int most) {
        if (count > most) {
            throw Checks.fail(path() + "/" + keyword, String.valueOf(count), "expected at most " + most);
        }
    }
}
