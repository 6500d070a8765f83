package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.List;

/** Tests, which {@code is} applies to a value. */
final class Tests {
    private Tests() {}

    /** Returns the result of a test; arguments are bound. */
    static boolean test(String name, Object value, List<Object> arguments, Budget budget) {
        return switch (Signature.OPERATORS.getOrDefault(name, name)) {
            case "defined" -> !(value instanceof Undefined);
            case "undefined" -> value instanceof Undefined;
            case "none" -> value == Special.NONE;
            case "string" -> value instanceof PromptText;
            case "boolean" -> value instanceof Boolean;
            case "true" -> Boolean.TRUE.equals(value);
            case "false" -> Boolean.FALSE.equals(value);
            case "integer" -> value instanceof Long;
            case "float" -> value instanceof Double;
            case "number" -> Values.isNumber(value);
            case "mapping" -> value instanceof Dict;
            case "iterable" ->
                value instanceof Items
                        || value instanceof Dict
                        || value instanceof PromptText
                        || value instanceof Undefined;
            case "sequence" ->
                value instanceof Items items && items.kind() != Items.Kind.STREAM
                        || value instanceof Dict
                        || value instanceof PromptText
                        || value instanceof Undefined;
            case "callable" -> value instanceof Callable;
            case "odd" -> Math.floorMod(Methods.whole(value), 2) == 1;
            case "even" -> Math.floorMod(Methods.whole(value), 2) == 0;
            case "divisibleby" -> {
                long divisor = Methods.whole(arguments.get(0));
                if (divisor == 0) {
                    throw new Fault("divisibleby 0");
                }
                yield Methods.whole(value) % divisor == 0;
            }
            case "lower" -> isCased(value, false, budget);
            case "upper" -> isCased(value, true, budget);
            case "in" -> Values.contains(arguments.get(0), value, budget);
            case "eq", "equalto" -> Values.same(value, arguments.get(0), budget);
            case "ne" -> !Values.same(value, arguments.get(0), budget);
            case "lt", "lessthan" -> Values.compare(value, arguments.get(0), budget) < 0;
            case "le" -> Values.compare(value, arguments.get(0), budget) <= 0;
            case "gt", "greaterthan" -> Values.compare(value, arguments.get(0), budget) > 0;
            case "ge" -> Values.compare(value, arguments.get(0), budget) >= 0;
            default -> throw new Fault("test " + name + " is not implemented");
        };
    }

    /** Returns whether a text has letters, all of them upper case or all lower case. */
    private static boolean isCased(Object value, boolean upper, Budget budget) {
        PromptText text = Values.text(value, budget);
        String chars = text.toString();
        String other = (upper ? Texts.lower(text) : Texts.upper(text)).toString();
        return chars.equals((upper ? Texts.upper(text) : Texts.lower(text)).toString()) && !chars.equals(other);
    }
}
