package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Adds the rules of objects. The named properties are in the order of the notation, and other properties follow. If the number of
 * properties is limited, the current count is part of a state.
 */
final class ObjectRules {
    private static final int MOST_PATTERNS = 4;

    /** The rule of the values to which some schemas apply. */
    @FunctionalInterface
    interface Values {
        /** Returns the first state of the rule. */
        int rule(Set<SchemaNode> schemas);
    }

    /**
     * A place before or after a property: the index of the next name, the number of previous named properties, and the number of previous
     * other properties.
     */
    private record Place(boolean before, int index, int named, int others) {}

    private final Machine machine;
    private final Notation notation;
    private final int space;
    private final Values values;
    private final Facts facts;
    private final ObjectParts parts;
    private final List<String> names;
    private final int least;
    private final int most;
    private final Map<Place, Integer> states = new HashMap<>();
    private final Deque<Place> waiting = new ArrayDeque<>();

    private ObjectRules(Notation notation, Values values, Facts facts, ObjectParts parts) {
        this.notation = notation;
        this.machine = notation.machine;
        this.space = notation.space;
        this.values = values;
        this.facts = facts;
        this.parts = parts;
        names = notation.ordered(parts.names());
        least = facts.least("minProperties");
        most = facts.most("maxProperties");
        facts.requireCount("minProperties", least, Notation.MOST_LENGTH);
    }

    static void add(Notation notation, Values values, Facts facts, ObjectParts parts, int[] fromAndTo) {
        new ObjectRules(notation, values, facts, parts).build(fromAndTo[0], fromAndTo[1]);
    }

    private void build(int from, int to) {
        List<Integer> named = new ArrayList<>();
        for (String name : names) {
            named.add(property(name));
        }
        List<Integer> others = others();
        if (!others.isEmpty() && least > names.size() + 1) {
            throw Checks.fail(
                    facts.path() + "/minProperties",
                    String.valueOf(least),
                    "expected at most " + (names.size() + 1)
                            + ", since names that the schema does not give may repeat");
        }
        int open = machine.state();
        int begin = machine.state();
        machine.read(from, '{', '{', open);
        machine.call(open, space, begin);
        machine.skip(begin, state(new Place(true, 0, 0, 0)));
        if (parts.required().isEmpty() && least == 0) {
            machine.read(begin, '}', '}', to);
        }
        while (!waiting.isEmpty()) {
            Place place = waiting.remove();
            if (place.before) {
                before(place, named, others);
            } else {
                behind(place, to);
            }
        }
    }

    private int state(Place place) {
        Integer known = states.get(place);
        if (known == null) {
            known = machine.state();
            states.put(place, known);
            waiting.add(place);
        }
        return known;
    }

    private void before(Place place, List<Integer> named, List<Integer> others) {
        int from = state(place);
        boolean full = most >= 0 && place.named + place.others >= most;
        if (place.index == names.size()) {
            for (int rule : full ? List.<Integer>of() : others) {
                int count = most >= 0 ? place.others + 1 : Math.min(least, 1);
                machine.call(from, rule, state(new Place(false, place.index, place.named, count)));
            }
            return;
        }
        int rule = named.get(place.index);
        if (!full && rule != Machine.NONE) {
            int count = most >= 0 ? place.named + 1 : Math.min(place.named + 1, least);
            machine.call(from, rule, state(new Place(false, place.index + 1, count, place.others)));
        }
        if (!parts.required().contains(names.get(place.index))) {
            machine.skip(from, state(new Place(true, place.index + 1, place.named, place.others)));
        }
    }

    private void behind(Place place, int to) {
        int from = state(place);
        boolean complete = names.stream().skip(place.index).noneMatch(parts.required()::contains)
                && place.named + Math.min(place.others, 1) >= least;
        if (complete) {
            int close = machine.state();
            machine.call(from, space, close);
            machine.read(close, '}', '}', to);
        }
        int comma = machine.state();
        machine.read(from, ',', ',', comma);
        machine.call(comma, space, state(new Place(true, place.index, place.named, place.others)));
    }

    /** Returns the rule of a named property, or {@link Machine#NONE} if the property is not allowed. */
    private int property(String name) {
        Set<SchemaNode> schemas = parts.schemas(name);
        if (schemas.stream().anyMatch(SchemaNode::isFalse)) {
            return Machine.NONE;
        }
        int rule = machine.state();
        value(notation.name(facts.path("properties", name), rule, name), schemas);
        return rule;
    }

    private void value(int behindName, Set<SchemaNode> schemas) {
        int colon = machine.state();
        int value = machine.state();
        int end = machine.state();
        machine.read(behindName, ':', ':', colon);
        machine.call(colon, space, value);
        machine.call(value, values.rule(schemas), end);
        machine.setEnd(end);
    }

    /** Returns the rules of properties without a name in the schema: one for each combination of matching patterns. */
    private List<Integer> others() {
        List<String> patterns = List.copyOf(parts.patterns().keySet());
        facts.requireCount("patternProperties", patterns.size(), MOST_PATTERNS);
        List<Integer> rules = new ArrayList<>();
        for (int subset = 0; subset < 1 << patterns.size(); subset++) {
            List<String> matching = new ArrayList<>();
            for (int i = 0; i < patterns.size(); i++) {
                if ((subset >> i & 1) != 0) {
                    matching.add(patterns.get(i));
                }
            }
            Set<SchemaNode> schemas = parts.schemas(matching);
            boolean allowed = schemas.stream().noneMatch(SchemaNode::isFalse);
            if (allowed && (subset != 0 || parts.isOpen())) {
                int rule = machine.state();
                int behind = machine.state();
                notation.names(facts.path(), rule, names(patterns, matching), behind);
                value(behind, schemas);
                rules.add(rule);
            }
        }
        return rules;
    }

    private Dfa names(List<String> patterns, List<String> matching) {
        String path = facts.path() + "/patternProperties";
        Dfa dfa = Dfa.lengths(path, 0, -1).minus(path, Dfa.texts(path, names));
        for (String pattern : patterns) {
            Dfa other = parts.patterns().get(pattern);
            if (other != null) {
                dfa = matching.contains(pattern) ? dfa.and(path, other) : dfa.minus(path, other);
            }
        }
        return dfa;
    }
}
