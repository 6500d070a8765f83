package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Compiles a JSON schema to a machine. Each set of schemas that apply at one place has a rule, so that a recursive schema is a rule that
 * calls itself.
 */
final class SchemaCompiler {
    private static final int MOST_RULES = 10_000;

    private final Machine machine;
    private final Notation notation;
    /** The text before JSON pointers in an error, which distinguishes the schemas of a grammar. */
    private final String place;

    private final SchemaExpander expander;
    private final SchemaValues named;
    private final Map<Set<SchemaNode>, Integer> rules = new HashMap<>();
    private final Map<Dfa, Integer> strings = new IdentityHashMap<>();
    private final Deque<Set<SchemaNode>> waiting = new ArrayDeque<>();

    private SchemaCompiler(Notation notation, String place, SchemaNode root) {
        this.notation = notation;
        this.place = place;
        machine = notation.machine;
        expander = new SchemaExpander(root);
        named = new SchemaValues(expander);
    }

    /** Adds the texts of a schema to the machine of a notation. Returns their first state. */
    static int compile(Notation notation, String place, SchemaNode root) {
        SchemaCompiler compiler = new SchemaCompiler(notation, place, root);
        int start = compiler.rule(new TreeSet<>(Set.of(root)));
        notation.machine.addRoot(start);
        while (!compiler.waiting.isEmpty()) {
            compiler.build(compiler.waiting.remove());
        }
        return start;
    }

    private int rule(Set<SchemaNode> schemas) {
        Set<SchemaNode> all = new TreeSet<>(schemas);
        all.removeIf(schema -> Boolean.TRUE.equals(schema.value()));
        Integer known = rules.get(all);
        if (known == null) {
            if (rules.size() == MOST_RULES) {
                throw Checks.fail("schema", "more than " + MOST_RULES + " combinations of schemas", "expected fewer");
            }
            known = machine.state();
            machine.setSchema(
                    known, place + (all.isEmpty() ? "#" : all.iterator().next().path()));
            rules.put(all, known);
            waiting.add(all);
        }
        return known;
    }

    private void build(Set<SchemaNode> schemas) {
        int from = rule(schemas);
        int to = machine.state();
        machine.setEnd(to);
        for (Set<SchemaNode> alternative : expander.expand(schemas)) {
            Facts facts = new Facts(alternative);
            List<@Nullable Object> values = facts.named();
            int begin = machine.state();
            machine.skip(from, begin);
            if (values == null) {
                for (JsonType type : facts.types()) {
                    add(type, facts, begin, to);
                }
            } else {
                values = values.stream()
                        .filter(value -> named.isValidFor(value, facts))
                        .toList();
                new Literals(notation, facts.path()).add(values, begin, to);
            }
        }
    }

    private void add(JsonType type, Facts facts, int from, int to) {
        switch (type) {
            case NULL -> notation.nulls().forEach(word -> word(from, word, to));
            case BOOLEAN -> {
                word(from, "true", to);
                word(from, "false", to);
            }
            case INTEGER -> {
                // the rule of numbers includes integers
                if (!facts.types().contains(JsonType.NUMBER)) {
                    JsonNumbers.add(machine, facts.path(), facts.range(), from, to);
                }
            }
            case NUMBER -> JsonNumbers.add(machine, facts.path(), facts.range(), from, to);
            case STRING -> string(facts, from, to);
            case ARRAY -> ArrayRules.add(notation, this::rule, facts, new int[] {from, to});
            case OBJECT -> {
                ObjectParts parts = ObjectParts.of(facts.nodes(), named.patterns());
                ObjectRules.add(notation, this::rule, facts, parts, new int[] {from, to});
            }
        }
    }

    private void word(int from, String word, int to) {
        machine.skip(machine.read(from, word.getBytes(StandardCharsets.US_ASCII)), to);
    }

    /** Returns the rule of strings that an automaton accepts. Several schemas may share this rule. */
    private int matching(String path, Dfa pattern) {
        Integer known = strings.get(pattern);
        if (known == null) {
            known = machine.state();
            int end = machine.state();
            machine.setEnd(end);
            notation.matching(path, known, pattern, end);
            strings.put(pattern, known);
        }
        return known;
    }

    private void string(Facts facts, int from, int to) {
        Dfa pattern = facts.pattern(named.patterns());
        if (pattern != null) {
            machine.call(from, matching(facts.path(), pattern), to);
            return;
        }
        int least = facts.least("minLength");
        int most = facts.most("maxLength");
        facts.requireCount("minLength", least, Notation.MOST_LENGTH);
        facts.requireCount("maxLength", most, Notation.MOST_LENGTH);
        if (most < 0 || least <= most) {
            notation.free(facts.path(), from, least, most, to);
        }
    }
}
