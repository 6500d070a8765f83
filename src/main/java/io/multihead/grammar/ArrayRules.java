package io.multihead.grammar;

import java.util.Set;
import java.util.TreeSet;

/** Adds the rules of arrays. Items have separate states by their index, as far as schemas or limits distinguish them. */
final class ArrayRules {
    private ArrayRules() {}

    static Set<SchemaNode> schemas(Set<SchemaNode> nodes, int index) {
        Set<SchemaNode> schemas = new TreeSet<>();
        for (SchemaNode node : nodes) {
            if (index < prefix(node)) {
                schemas.add(node.child("prefixItems", index));
            } else if (node.has("items")) {
                schemas.add(node.child("items"));
            }
        }
        return schemas;
    }

    private static int prefix(SchemaNode node) {
        return node.has("prefixItems") ? node.list("prefixItems").size() : 0;
    }

    /** Adds the arrays that conform to facts. */
    static void add(Notation notation, ObjectRules.Values values, Facts facts, int[] fromAndTo) {
        Machine machine = notation.machine;
        int least = facts.least("minItems");
        int most = facts.most("maxItems");
        int apart = facts.nodes().stream().mapToInt(ArrayRules::prefix).max().orElse(0);
        int last = Math.max(most, Math.max(least, apart));
        facts.requireCount("items", last, Notation.MOST_LENGTH);
        int open = machine.state();
        int begin = machine.state();
        machine.read(fromAndTo[0], '[', '[', open);
        machine.call(open, notation.space, begin);
        int close = machine.state();
        machine.read(close, ']', ']', fromAndTo[1]);
        if (least == 0) {
            machine.skip(begin, close);
        }
        // a separate state, because the array may end at the beginning
        int before = machine.state();
        machine.skip(begin, before);
        for (int index = 0; most < 0 || index < most; index++) {
            Set<SchemaNode> schemas = schemas(facts.nodes(), index);
            if (schemas.stream().anyMatch(SchemaNode::isFalse)) {
                return;
            }
            int behind = machine.state();
            machine.call(before, values.rule(schemas), behind);
            if (index + 1 >= least) {
                machine.call(behind, notation.space, close);
            }
            int comma = machine.state();
            machine.read(behind, ',', ',', comma);
            if (most < 0 && index >= last) {
                machine.call(comma, notation.space, before);
                return;
            }
            before = machine.state();
            machine.call(comma, notation.space, before);
        }
    }
}
